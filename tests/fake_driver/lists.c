/* Getters that write a list. One that does not fit answers 7 and says how long it is. */
#include "fake.h"

typedef struct { u32 pid; u64 memory; } ProcessV1;
typedef struct { u32 pid; u64 memory; u32 gpuInstance, computeInstance; } ProcessV2;
typedef struct { u32 pid; u64 time; u32 sm, memory, encoder, decoder; } ProcessSample;
typedef struct { u64 time; union { u32 u; u64 wide; } value; } Sample;

_Static_assert(sizeof(ProcessV2) == 24 && sizeof(ProcessV1) == 16, "nvmlProcessInfo_t");
_Static_assert(sizeof(Sample) == 16, "nvmlSample_t");

static int per_entry(const Got *got)
{
    return got->variant->entries && got->variant->count ? got->variant->count / got->variant->entries : 0;
}

static int entries(const Got *got)
{
    return got->variant->count ? got->variant->entries : 0;
}

/* How many there are goes to *room; with too little room that is all that happens. */
static int fits(const Got *got, u32 *room)
{
    u32 had = *room, have = (u32)entries(got);
    *room = have;
    return had >= have;
}

/* Script: PID BYTES [GPU-INSTANCE COMPUTE-INSTANCE], … or `none`. */
static int processes(int function, void *device, u32 *room, void *out, int version)
{
    Got got;
    int code = ask(function, device, ANY_KEY, &got);
    if (code)
        return code;
    if (!fits(&got, room))
        return INSUFFICIENT_SIZE;
    int step = per_entry(&got);
    for (int i = 0; i < entries(&got); i++) {
        u32 pid = (u32)got_word(&got, i * step);
        u64 memory = got_word(&got, i * step + 1);
        u32 gpu = step > 2 ? (u32)got_word(&got, i * step + 2) : UINT32_MAX;
        u32 compute = step > 3 ? (u32)got_word(&got, i * step + 3) : UINT32_MAX;
        if (version == 1)
            ((ProcessV1 *)out)[i] = (ProcessV1){pid, memory};
        else
            ((ProcessV2 *)out)[i] = (ProcessV2){pid, memory, gpu, compute};
    }
    return SUCCESS;
}

#define PROCESSES(name, version) \
    API name(void *device, u32 *room, void *out) { return processes(F_##name, device, room, out, version); }
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, 3)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, 2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses, 1)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, 3)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, 2)
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses, 1)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, 3)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, 2)
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses, 1)

/* Script: PID SM MEMORY ENCODER DECODER, …; a sample is as old as the last full second. */
API nvmlDeviceGetProcessUtilization(void *device, ProcessSample *out, u32 *room, u64 since)
{
    Got got;
    int code = ask(F_nvmlDeviceGetProcessUtilization, device, ANY_KEY, &got);
    if (code)
        return code;
    u64 time = wall_us() / 1000000 * 1000000;
    if (time <= since || entries(&got) == 0) {
        *room = 0;
        return NOT_FOUND;
    }
    if (out == NULL || !fits(&got, room)) {
        *room = (u32)entries(&got);
        return INSUFFICIENT_SIZE;
    }
    int step = per_entry(&got);
    for (int i = 0; i < entries(&got); i++)
        out[i] = (ProcessSample){(u32)got_word(&got, i * step), time, (u32)got_word(&got, i * step + 1),
                                 (u32)got_word(&got, i * step + 2), (u32)got_word(&got, i * step + 3),
                                 (u32)got_word(&got, i * step + 4)};
    return SUCCESS;
}

/* --- plain numbers --------------------------------------------------------------------------------------------- */

/* Answers with as many numbers as there are; 0 when they fit. */
static int numbers(int code, const Got *got, u32 *room, const void *out)
{
    if (code)
        return code;
    u32 had = *room;
    *room = (u32)got->variant->count;
    return had < *room || (out == NULL && *room) ? INSUFFICIENT_SIZE : SUCCESS;
}

/* Script: the addresses, or `none`. */
static int retired(int function, void *device, u32 cause, u32 *room, u64 *out, u64 *times)
{
    Got got;
    int code = numbers(ask(function, device, key2(cause, 0), &got), &got, room, out);
    for (u32 i = 0; !code && i < *room; i++) {
        PUT((int)i, &out[i]);
        if (times)
            times[i] = wall_us();
    }
    return code;
}

API nvmlDeviceGetRetiredPages(void *device, u32 cause, u32 *room, u64 *out)
{
    return retired(F_nvmlDeviceGetRetiredPages, device, cause, room, out, NULL);
}

API nvmlDeviceGetRetiredPages_v2(void *device, u32 cause, u32 *room, u64 *out, u64 *times)
{
    return retired(F_nvmlDeviceGetRetiredPages_v2, device, cause, room, out, times);
}

static int list(int function, void *device, u64 key, u32 *room, u32 *out)
{
    Got got;
    int code = numbers(ask(function, device, key, &got), &got, room, out);
    for (u32 i = 0; !code && i < *room; i++)
        PUT((int)i, &out[i]);
    return code;
}

API nvmlDeviceGetSupportedMemoryClocks(void *device, u32 *room, u32 *out)
{
    return list(F_nvmlDeviceGetSupportedMemoryClocks, device, ANY_KEY, room, out);
}

API nvmlDeviceGetSupportedGraphicsClocks(void *device, u32 memory_mhz, u32 *room, u32 *out)
{
    return list(F_nvmlDeviceGetSupportedGraphicsClocks, device, key2(memory_mhz, 0), room, out);
}

API nvmlDeviceGetAccountingPids(void *device, u32 *room, u32 *out)
{
    return list(F_nvmlDeviceGetAccountingPids, device, ANY_KEY, room, out);
}

/* Script: the P-states; those left over are "unknown" (32). */
API nvmlDeviceGetSupportedPerformanceStates(void *device, u32 *out, u32 bytes)
{
    u32 room = bytes / sizeof *out, had = room;
    int code = list(F_nvmlDeviceGetSupportedPerformanceStates, device, ANY_KEY, &room, out);
    for (u32 i = room; !code && i < had; i++)
        out[i] = 32;
    return code;
}

/* Script: words of the mask. */
static int mask(int function, void *device, u32 words, u64 *out)
{
    Got got;
    int code = ask(function, device, ANY_KEY, &got);
    for (u32 i = 0; !code && i < words; i++)
        out[i] = got_word(&got, (int)i);
    return code;
}

API nvmlDeviceGetCpuAffinity(void *device, u32 words, u64 *out)
{
    return mask(F_nvmlDeviceGetCpuAffinity, device, words, out);
}

API nvmlDeviceGetCpuAffinityWithinScope(void *device, u32 words, u64 *out, u32 scope)
{
    (void)scope;
    return mask(F_nvmlDeviceGetCpuAffinityWithinScope, device, words, out);
}

API nvmlDeviceGetMemoryAffinity(void *device, u32 words, u64 *out, u32 scope)
{
    (void)scope;
    return mask(F_nvmlDeviceGetMemoryAffinity, device, words, out);
}

/* Script: the samples of the last second, the newest last, all of them 32-bit. Without an array: how many. */
API nvmlDeviceGetSamples(void *device, u32 kind, u64 since, u32 *type, u32 *room, Sample *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetSamples, device, key2(kind, 0), &got);
    if (code)
        return code;
    int count = got.variant->count, written = 0;
    u64 step = 1000000 / (u64)(count ? count : 1), newest = wall_us() / step * step;
    *type = 1;
    if (count == 0 || newest <= since) {
        *room = 0;
        return NOT_FOUND;
    }
    for (int i = 0; out && i < count && (u32)written < *room; i++) {
        u64 time = newest - (u64)(count - 1 - i) * step;
        if (time > since)
            out[written++] = (Sample){time, {.wide = (u32)got_word(&got, i)}};
    }
    *room = out ? (u32)written : (u32)count;
    return SUCCESS;
}
