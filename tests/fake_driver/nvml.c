/* A stand-in for libnvidia-ml.so.1 that answers from a script; see README.md. Layouts, version words and codes are
 * facts of nvml.h, taken from NVIDIA's own Python bindings (nvidia-ml-py). It has no function that changes a card. */
#include "fake.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

static atomic_int users;
static double began;
static int loaded;

static double monotonic(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

u64 wall_us(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    return (u64)at.tv_sec * 1000000 + (u64)at.tv_nsec / 1000;
}

double now(void)
{
    return monotonic() - began;
}

void rest(double seconds)
{
    struct timespec span = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&span, &span) != 0)
        ;
}

static void load_once(void)
{
    calls_open(getenv("FAKE_NVML_CALLS"));
    loaded = script_load(getenv("FAKE_NVML_SCRIPT")) == 0;
    began = monotonic();
}

static int load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load_once);
    return loaded;
}

Device *device_of(void *handle)
{
    uintptr_t at = (uintptr_t)handle, first = (uintptr_t)host.pool;
    if (at < first || at >= first + (uintptr_t)host.pool_used * sizeof(Device) || (at - first) % sizeof(Device))
        return NULL;
    return handle;
}

int is_lost(const Device *device, double at)
{
    const Device *card = device->parent ? device->parent : device;
    return (at >= card->lost_from && at < card->lost_until) || at >= card->removed_from;
}

static void suffer(const Trouble *trouble, double at)
{
    if (trouble == NULL)
        return;
    if (trouble->out) {
        fputs(trouble->out, stdout);
        fflush(stdout);
    }
    if (trouble->err)
        fputs(trouble->err, stderr);
    if (trouble->latency_s > 0)
        rest(trouble->latency_s);
    while (at >= trouble->hangs_at)
        pause();
}

static const Variant *choose(Answer *answer, u64 reads, double at)
{
    const Variant *chosen = &answer->variants[0];
    if (answer->cycle)
        return &answer->variants[reads % (u64)answer->count];
    for (int i = 1; i < answer->count; i++)
        if (at >= answer->variants[i].at)
            chosen = &answer->variants[i];
    return chosen;
}

int look(const Slot *slot, u64 key, Got *got)
{
    Answer *answer = slot_find(slot, key);
    got->variant = NULL;
    if (answer == NULL)
        return NOT_SUPPORTED;
    got->reads = atomic_fetch_add_explicit(&answer->reads, 1, memory_order_relaxed);
    got->type = answer->type;
    got->variant = choose(answer, got->reads, got->now);
    return got->variant->code;
}

u64 got_word(const Got *got, int item)
{
    if (got->variant == NULL || item >= got->variant->count)
        return 0;
    const Word *word = &got->variant->words[item];
    u64 span, at;
    switch (word->motion) {
    case RAMP:
        span = (u64)((word->end - word->base) / word->step);
        at = span ? got->reads % (2 * span) : 0;
        return (u64)(word->base + word->step * (int64_t)(at > span ? 2 * span - at : at));
    case GROWS_BY_READ:
        return (u64)(word->base + word->step * (int64_t)got->reads);
    case GROWS_BY_SECOND:
        return (u64)(word->base + (int64_t)((double)word->step * got->now));
    default:
        return (u64)word->base;
    }
}

double got_real(const Got *got, int item)
{
    if (got->variant == NULL || item >= got->variant->count)
        return 0;
    const Word *word = &got->variant->words[item];
    return word->motion == FIXED ? word->real : (double)(int64_t)got_word(got, item);
}

int enter(int function, Device *device, Got *got)
{
    calls_count(function, device);
    if (atomic_load(&users) <= 0)
        return UNINITIALIZED;
    if (device == NULL)
        return INVALID_ARGUMENT;
    got->now = now();
    suffer(device->slots[function].trouble, got->now);
    suffer(device->all.trouble, got->now);
    if (is_lost(device, got->now))
        return GPU_IS_LOST;
    if (device->all.count) {
        int code = look(&device->all, ANY_KEY, got);
        if (code != SUCCESS)
            return code;
    }
    return SUCCESS;
}

int ask(int function, void *handle, u64 key, Got *got)
{
    Device *device = device_of(handle);
    int code = enter(function, device, got);
    return code ? code : look(&device->slots[function], key, got);
}

int ask_host(int function, Got *got)
{
    load();
    calls_count(function, NULL);
    got->now = now();
    suffer(host.system.slots[function].trouble, got->now);
    return look(&host.system.slots[function], ANY_KEY, got);
}

u64 key2(u32 first, u32 second)
{
    return (u64)first << 32 | second;
}

static int put_text(int code, const Got *got, char *out, u32 room)
{
    if (code != SUCCESS)
        return code;
    const char *text = got->variant->text ? got->variant->text : "";
    if (out == NULL)
        return INVALID_ARGUMENT;
    if (strlen(text) + 1 > room)
        return INSUFFICIENT_SIZE;
    strcpy(out, text);
    return SUCCESS;
}

/* --- getters by their shape ------------------------------------------------------------------------------------ */

#define U32(name) \
    API name(void *device, u32 *out) { \
        Got got; \
        int code = ask(F_##name, device, ANY_KEY, &got); \
        if (!code) PUT(0, out); \
        return code; \
    }
#define U32_BY1(name) \
    API name(void *device, u32 which, u32 *out) { \
        Got got; \
        int code = ask(F_##name, device, key2(which, 0), &got); \
        if (!code) PUT(0, out); \
        return code; \
    }
#define U32_BY2(name) \
    API name(void *device, u32 first, u32 second, u32 *out) { \
        Got got; \
        int code = ask(F_##name, device, key2(first, second), &got); \
        if (!code) PUT(0, out); \
        return code; \
    }
#define U32X2(name) \
    API name(void *device, u32 *first, u32 *second) { \
        Got got; \
        int code = ask(F_##name, device, ANY_KEY, &got); \
        if (!code) { PUT(0, first); PUT(1, second); } \
        return code; \
    }
#define U32X4(name) \
    API name(void *device, u32 *first, u32 *second, u32 *third, u32 *fourth) { \
        Got got; \
        int code = ask(F_##name, device, ANY_KEY, &got); \
        if (!code) { PUT(0, first); PUT(1, second); PUT(2, third); PUT(3, fourth); } \
        return code; \
    }
#define U64(name) \
    API name(void *device, u64 *out) { \
        Got got; \
        int code = ask(F_##name, device, ANY_KEY, &got); \
        if (!code) PUT(0, out); \
        return code; \
    }
#define U64_BY2(name) \
    API name(void *device, u32 first, u32 second, u64 *out) { \
        Got got; \
        int code = ask(F_##name, device, key2(first, second), &got); \
        if (!code) PUT(0, out); \
        return code; \
    }
#define TEXT(name) \
    API name(void *device, char *out, u32 room) { \
        Got got; \
        return put_text(ask(F_##name, device, ANY_KEY, &got), &got, out, room); \
    }
#define TEXT_BY1(name) \
    API name(void *device, u32 which, char *out, u32 room) { \
        Got got; \
        return put_text(ask(F_##name, device, key2(which, 0), &got), &got, out, room); \
    }
#define BARE_TEXT(name) \
    API name(void *device, char *out) { \
        Got got; \
        return put_text(ask(F_##name, device, ANY_KEY, &got), &got, out, 64); \
    }
#include "plain.def"

/* What programs look up and no script can answer: "not supported", whatever the arguments. */
#define UNMODELLED(name) API name(void) { calls_count(F_##name, NULL); return NOT_SUPPORTED; }
#include "unmodelled.def"

/* --- the system ------------------------------------------------------------------------------------------------ */

static int start(int function)
{
    Got got;
    int code = ask_host(function, &got);
    if (!loaded)
        return UNKNOWN;
    if (code == SUCCESS || code == NOT_SUPPORTED) {
        atomic_fetch_add(&users, 1);
        return SUCCESS;
    }
    return code;
}

API nvmlInit_v2(void) { return start(F_nvmlInit_v2); }
API nvmlInit(void) { return start(F_nvmlInit); }
API nvmlInitWithFlags(u32 flags) { (void)flags; return start(F_nvmlInitWithFlags); }

API nvmlShutdown(void)
{
    calls_count(F_nvmlShutdown, NULL);
    if (atomic_load(&users) <= 0)
        return UNINITIALIZED;
    atomic_fetch_sub(&users, 1);
    return SUCCESS;
}

__attribute__((visibility("default"))) const char *nvmlErrorString(int code)
{
    static const char *const words[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported", "Insufficient Permissions",
        "Already Initialized", "Not Found", "Insufficient Size", "Insufficient External Power", "Driver Not Loaded",
        "Timeout", "Interrupt Request Issue", "NVML Shared Library Not Found", "Function Not Found",
        "Corrupted infoROM", "GPU is lost", "GPU requires reset", "GPU access blocked by the operating system",
        "Driver/library version mismatch"};
    return code >= 0 && code < (int)(sizeof words / sizeof *words) ? words[code] : "Unknown Error";
}

#define SYSTEM_TEXT(name) \
    API name(char *out, u32 room) { \
        Got got; \
        return put_text(ask_host(F_##name, &got), &got, out, room); \
    }
SYSTEM_TEXT(nvmlSystemGetNVMLVersion)
SYSTEM_TEXT(nvmlSystemGetDriverVersion)

API nvmlSystemGetProcessName(u32 pid, char *out, u32 room)
{
    Got got;
    (void)pid;
    return put_text(ask_host(F_nvmlSystemGetProcessName, &got), &got, out, room);
}

static int cuda(int function, int *out)
{
    Got got;
    int code = ask_host(function, &got);
    if (!code)
        PUT(0, out);
    return code;
}

API nvmlSystemGetCudaDriverVersion(int *out) { return cuda(F_nvmlSystemGetCudaDriverVersion, out); }
API nvmlSystemGetCudaDriverVersion_v2(int *out) { return cuda(F_nvmlSystemGetCudaDriverVersion_v2, out); }

/* --- which cards there are ------------------------------------------------------------------------------------- */

/* The card at an index now: cards behind one that was removed move up. */
static Device *card_at(u32 index)
{
    double at = now();
    for (int i = 0; i < host.cards; i++)
        if (at < host.card[i]->removed_from && index-- == 0)
            return host.card[i];
    return NULL;
}

static int count_cards(int function, u32 *out)
{
    Got got;
    int code = ask_host(function, &got);
    if (atomic_load(&users) <= 0)
        return UNINITIALIZED;
    if (code != SUCCESS && code != NOT_SUPPORTED)
        return code;
    for (*out = 0; card_at(*out); ++*out)
        ;
    if (code == SUCCESS)
        PUT(0, out);
    return SUCCESS;
}

API nvmlDeviceGetCount_v2(u32 *out) { return count_cards(F_nvmlDeviceGetCount_v2, out); }
API nvmlDeviceGetCount(u32 *out) { return count_cards(F_nvmlDeviceGetCount, out); }

static int give(int function, Device *device, void **out)
{
    Got got;
    int code = enter(function, device, &got);
    if (code == SUCCESS) {
        code = look(&device->slots[function], ANY_KEY, &got);
        if (code == NOT_SUPPORTED && got.variant == NULL)
            code = SUCCESS;
    }
    if (code == SUCCESS)
        *out = device;
    return code;
}

API nvmlDeviceGetHandleByIndex_v2(u32 index, void **out)
{
    return give(F_nvmlDeviceGetHandleByIndex_v2, card_at(index), out);
}

API nvmlDeviceGetHandleByIndex(u32 index, void **out)
{
    return give(F_nvmlDeviceGetHandleByIndex, card_at(index), out);
}

static int by_text(int function, int getter, const char *text, void **out)
{
    Got got = {.now = now()};
    for (int i = 0; i < host.pool_used; i++) {
        Device *device = &host.pool[i];
        if (got.now < device->removed_from && look(&device->slots[getter], ANY_KEY, &got) == SUCCESS &&
            got.variant->text && !strcasecmp(got.variant->text, text))
            return give(function, device, out);
    }
    calls_count(function, NULL);
    return NOT_FOUND;
}

#define BY_TEXT(name, getter) \
    API name(const char *text, void **out) { return by_text(F_##name, F_##getter, text, out); }
BY_TEXT(nvmlDeviceGetHandleByUUID, nvmlDeviceGetUUID)
BY_TEXT(nvmlDeviceGetHandleBySerial, nvmlDeviceGetSerial)
BY_TEXT(nvmlDeviceGetHandleByPciBusId_v2, nvmlDeviceGetPciInfo_v3)
BY_TEXT(nvmlDeviceGetHandleByPciBusId, nvmlDeviceGetPciInfo_v3)

API nvmlDeviceGetIndex(void *device, u32 *out)
{
    Got got;
    int code = enter(F_nvmlDeviceGetIndex, device_of(device), &got);
    if (code)
        return code;
    for (*out = 0; card_at(*out) && card_at(*out) != device; ++*out)
        ;
    return SUCCESS;
}

API nvmlDeviceGetMigDeviceHandleByIndex(void *device, u32 index, void **out)
{
    Got got;
    Device *card = device_of(device);
    int code = enter(F_nvmlDeviceGetMigDeviceHandleByIndex, card, &got);
    if (code)
        return code;
    if (index >= MAX_MIG || card->mig[index] == NULL)
        return NOT_FOUND;
    *out = card->mig[index];
    return SUCCESS;
}

API nvmlDeviceGetDeviceHandleFromMigDeviceHandle(void *device, void **out)
{
    Got got;
    Device *mig = device_of(device);
    int code = enter(F_nvmlDeviceGetDeviceHandleFromMigDeviceHandle, mig, &got);
    if (code == SUCCESS && mig->parent == NULL)
        code = INVALID_ARGUMENT;
    if (code == SUCCESS)
        *out = mig->parent;
    return code;
}

API nvmlDeviceIsMigDeviceHandle(void *device, u32 *out)
{
    Got got;
    Device *mig = device_of(device);
    int code = enter(F_nvmlDeviceIsMigDeviceHandle, mig, &got);
    if (code == SUCCESS)
        *out = mig->parent != NULL;
    return code;
}
