/* A stand-in for libnvidia-ml.so.1 that answers from a script; see README.md. Layouts, version words and codes are
 * facts of nvml.h, taken from NVIDIA's own Python bindings (nvidia-ml-py). It has no function that changes a card. */
#include "fake.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    const char *start = getenv("FAKE_NVML_START");
    began = start ? strtod(start, NULL) : monotonic();
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

int is_removed(const Device *device, double at)
{
    return at >= device->removed_from && at < device->removed_until;
}

/* A slice that was taken apart is not found; a card that fell off the bus is lost, and its slices are. */
static int fate(const Device *device, double at)
{
    const Device *card = device->parent ? device->parent : device;
    if ((at >= card->lost_from && at < card->lost_until) || is_removed(card, at))
        return GPU_IS_LOST;
    return is_removed(device, at) ? NOT_FOUND : SUCCESS;
}

/* As a call into a driver that does not answer: no signal ends it but SIGKILL. */
static void hang(const Trouble *trouble)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (now() < trouble->hangs_until)
        rest(0.01);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void suffer(const Trouble *trouble)
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
    if (now() >= trouble->hangs_from)
        hang(trouble);
}

int is_started(void)
{
    return atomic_load(&users) > 0;
}

int enter(int function, Device *device, Got *got)
{
    calls_count(function, device);
    if (!is_started())
        return UNINITIALIZED;
    if (device == NULL)
        return INVALID_ARGUMENT;
    suffer(device->slots[function].trouble);
    suffer(device->all.trouble);
    got->now = now();
    int code = fate(device, got->now);
    if (code == SUCCESS && device->all.count)
        code = look(&device->all, ANY_KEY, got);
    return code;
}

int ask(int function, void *handle, u64 key, Got *got)
{
    Device *device = device_of(handle);
    int code = enter(function, device, got);
    return code ? code : look(&device->slots[function], key, got);
}

int ask_host(int function, u64 key, Got *got)
{
    load();
    calls_count(function, NULL);
    suffer(host.system.slots[function].trouble);
    got->now = now();
    return look(&host.system.slots[function], key, got);
}

int put_text(int code, const Got *got, char *out, u32 room)
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

/* --- the system ------------------------------------------------------------------------------------------------ */

static int start(int function)
{
    Got got;
    int code = ask_host(function, ANY_KEY, &got);
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
    if (!is_started())
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
        "Driver/library version mismatch", "In use", "Insufficient memory", "No data",
        "ECC mode of the virtual GPU not supported", "Insufficient resources", "Frequency not supported",
        "Argument version mismatch", "Deprecated", "Not ready", "GPU not found", "Invalid state"};
    return code >= 0 && code < (int)(sizeof words / sizeof *words) ? words[code] : "Unknown Error";
}

/* Nothing but the versions of NVML and CUDA is known before nvmlInit. */
API nvmlSystemGetNVMLVersion(char *out, u32 room)
{
    Got got;
    return put_text(ask_host(F_nvmlSystemGetNVMLVersion, ANY_KEY, &got), &got, out, room);
}

API nvmlSystemGetDriverVersion(char *out, u32 room)
{
    Got got;
    int code = ask_host(F_nvmlSystemGetDriverVersion, ANY_KEY, &got);
    return put_text(is_started() ? code : UNINITIALIZED, &got, out, room);
}

/* Script: one name for all, or by PID: nvmlSystemGetProcessName(4242) = "python". */
API nvmlSystemGetProcessName(u32 pid, char *out, u32 room)
{
    Got got;
    int code = ask_host(F_nvmlSystemGetProcessName, key2(pid, 0), &got);
    if (code == NOT_SUPPORTED && got.variant == NULL)
        code = NOT_FOUND;
    return put_text(is_started() ? code : UNINITIALIZED, &got, out, room);
}

static int cuda(int function, int *out)
{
    Got got;
    int code = ask_host(function, ANY_KEY, &got);
    if (!code)
        PUT(0, out);
    return code;
}

API nvmlSystemGetCudaDriverVersion(int *out) { return cuda(F_nvmlSystemGetCudaDriverVersion, out); }
API nvmlSystemGetCudaDriverVersion_v2(int *out) { return cuda(F_nvmlSystemGetCudaDriverVersion_v2, out); }

/* Script: how many cards the host hides. */
API nvmlGetExcludedDeviceCount(u32 *out)
{
    Got got;
    int code = ask_host(F_nvmlGetExcludedDeviceCount, ANY_KEY, &got);
    if (!code)
        PUT(0, out);
    return code;
}
