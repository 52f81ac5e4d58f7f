/* What the parts of the stand-in driver share: the answers of a script, and how one is looked up. */
#ifndef FAKE_NVML_H
#define FAKE_NVML_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define API __attribute__((visibility("default"))) int

typedef unsigned int u32;
typedef uint64_t u64;

#define MAX_CARDS 128
#define MAX_MIG 8
#define MAX_XIDS 16
#define ANY_KEY UINT64_MAX
#define NEVER 1e18

/* nvmlReturn_t (nvml.h); the numbers are those of pynvml's NVML_ERROR_ constants. */
enum {
    SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7,
    TIMED_OUT = 10, GPU_IS_LOST = 15, VERSION_MISMATCH = 25, UNKNOWN = 999
};

enum {
#define GETTER(name) F_##name,
#include "functions.def"
#undef GETTER
    F_MODELLED,
    F_BEFORE_UNMODELLED = F_MODELLED - 1,
#define UNMODELLED(name) F_##name,
#include "unmodelled.def"
#undef UNMODELLED
    F_COUNT
};

typedef enum { FIXED, RAMP, GROWS_BY_READ, GROWS_BY_SECOND, TOWARDS, WAVE } Motion;

/* One number, which may move: between base and end by step at each read, up by step, or from base to end in seconds. */
typedef struct {
    Motion motion;
    int64_t base, end, step;
    double real, seconds;
} Word;

/* One answer of a sequence: a code, or a text and numbers. `at` is a time, or a number of reads. */
typedef struct {
    double at;
    int by_reads, code, count, entries;
    char *text;
    Word *words;
} Variant;

/* What a function answers for one key (its arguments): its variants follow each other by time, or by reads. */
typedef struct {
    uint64_t key;
    int type, cycle, count;
    Variant *variants;
    _Atomic uint64_t reads;
} Answer;

typedef struct {
    double latency_s, hangs_from, hangs_until;
    char *out, *err;
} Trouble;

typedef struct {
    Answer **answers;
    int count;
    Trouble *trouble;
} Slot;

typedef struct {
    double at;
    uint64_t number;
    atomic_int told;
} Xid;

typedef struct Device {
    int index, used;
    struct Device *parent, *mig[MAX_MIG];
    double lost_from, lost_until, removed_from, removed_until;
    Slot slots[F_MODELLED];
    Slot all;
    Xid xids[MAX_XIDS];
    int xid_count;
    uint64_t event_types;
} Device;

typedef struct {
    const Variant *variant;
    uint64_t reads;
    double now;
    int type;
} Got;

typedef struct {
    int cards;
    Device system;
    Device *pool;
    int pool_used;
    Device *card[MAX_CARDS];
} Host;

extern Host host;
extern const char *const function_names[F_COUNT];

/* Parts of reading a script: each returns 0, or -1 after `wrong` has noted what and where. */
int wrong(const char *what, const char *where);
char *skip(char *at);
char *read_text(char **at, const Device *device);
int read_answer(char *at, const Device *device, Answer *answer);

/* Reads the script file into `host`. 0, or -1 after a line on stderr that says what is wrong where. */
int script_load(const char *path);

Answer *slot_find(const Slot *slot, uint64_t key);
uint64_t got_word(const Got *got, int item);
double got_real(const Got *got, int item);

/* Writes a number of `got` where `out` points to. */
#define PUT(item, out) \
    do { \
        if (out) \
            *(out) = (__typeof__(*(out)))got_word(&got, item); \
    } while (0)

/* Seconds since the library was first used; microseconds of the wall clock; sleep. */
double now(void);
u64 wall_us(void);
void rest(double seconds);

/* The device of a handle, NULL when it is none of ours. */
Device *device_of(void *handle);
/* Not there at a time: a card that is not counted, a MIG device that was taken apart. */
int is_removed(const Device *device, double at);

/* Whether nvmlInit has been called, and not yet nvmlShutdown. */
int is_started(void);
/* What every call does first: it is counted, held up, and fails when its device is lost. */
int enter(int function, Device *device, Got *got);
/* `enter`, then the answer for a key; the code of either. */
int ask(int function, void *handle, u64 key, Got *got);
int ask_host(int function, u64 key, Got *got);
/* The answer for a key in a slot: its code, NOT_SUPPORTED without a variant when the script has none. */
int look(const Slot *slot, u64 key, Got *got);
u64 key2(u32 first, u32 second);
u64 key3(u32 first, u32 second, u32 third);
int put_text(int code, const Got *got, char *out, u32 room);

/* Counts calls in the file FAKE_NVML_CALLS, if there is one. */
void calls_open(const char *path);
void calls_count(int function, const Device *device);

#endif
