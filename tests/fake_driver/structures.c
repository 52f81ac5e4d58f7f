/* Getters that write a structure. A structure with a version word answers only to its own. */
#include "fake.h"

#include <string.h>
#include <stdio.h>

typedef struct { u64 total, free, used; } MemoryV1;
typedef struct { u32 version; u64 total, reserved, free, used; } MemoryV2;
typedef struct { u32 gpu, memory; } Utilization;
typedef struct { char busIdLegacy[16]; u32 domain, bus, device, pciDeviceId, pciSubSystemId; char busId[32]; } PciV3;
typedef struct { char busId[16]; u32 domain, bus, device, pciDeviceId, pciSubSystemId, reserved[4]; } PciV2;
typedef struct { u64 referenceTime, violationTime; } Violation;
typedef struct { u32 version; u64 counts[11]; u32 thresholdExceeded; } SramErrors;
typedef struct { u32 version, value; } Versioned;
typedef struct { u32 version, index, value; } Indexed;
typedef struct {
    u32 multiprocessors, copyEngines, decoders, encoders, jpeg, ofa, gpuSlices, computeSlices;
    u64 memoryMB;
} Attributes;
typedef struct {
    u32 version;
    uint8_t cluster[16];
    u32 status, clique, state, healthMask;
    uint8_t summary;
} Fabric;
typedef struct { uint8_t cluster[16]; u32 status, clique, state; } FabricV1;
typedef struct {
    u32 fieldId, scopeId;
    int64_t timestamp, latencyUsec;
    u32 valueType, nvmlReturn;
    union { double real; u32 u; u64 wide; int32_t s; int64_t swide; uint16_t small; } value;
} FieldValue;

_Static_assert(sizeof(MemoryV2) == 40, "nvmlMemory_v2_t is 0x02000028");
_Static_assert(sizeof(Fabric) == 40, "nvmlGpuFabricInfo_v3_t is 0x03000028");
_Static_assert(sizeof(FieldValue) == 40, "nvmlFieldValue_t");
_Static_assert(sizeof(SramErrors) == 0x68, "nvmlEccSramErrorStatus_v1_t is 0x01000068");
_Static_assert(sizeof(PciV3) == 68, "nvmlPciInfo_t");

/* Script: total free used reserved. */
API nvmlDeviceGetMemoryInfo_v2(void *device, MemoryV2 *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetMemoryInfo_v2, device, ANY_KEY, &got);
    if (code)
        return code;
    if (out->version != 0x02000028)
        return VERSION_MISMATCH;
    PUT(0, &out->total);
    PUT(1, &out->free);
    PUT(2, &out->used);
    PUT(3, &out->reserved);
    return SUCCESS;
}

/* Without an answer of its own: that of v2, where the reserve counts as used, as drivers do. */
API nvmlDeviceGetMemoryInfo(void *device, MemoryV1 *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetMemoryInfo, device, ANY_KEY, &got);
    int derived = code == NOT_SUPPORTED && got.variant == NULL;
    if (derived)
        code = look(&device_of(device)->slots[F_nvmlDeviceGetMemoryInfo_v2], ANY_KEY, &got);
    if (code)
        return code;
    PUT(0, &out->total);
    PUT(1, &out->free);
    PUT(2, &out->used);
    if (derived)
        out->used += got_word(&got, 3);
    return SUCCESS;
}

/* Script: total free used. */
API nvmlDeviceGetBAR1MemoryInfo(void *device, MemoryV1 *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetBAR1MemoryInfo, device, ANY_KEY, &got);
    if (code)
        return code;
    PUT(0, &out->total);
    PUT(1, &out->free);
    PUT(2, &out->used);
    return SUCCESS;
}

API nvmlDeviceGetUtilizationRates(void *device, Utilization *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetUtilizationRates, device, ANY_KEY, &got);
    if (code)
        return code;
    PUT(0, &out->gpu);
    PUT(1, &out->memory);
    return SUCCESS;
}

/* Script: "DOMAIN:BUS:DEVICE.F" device-id subsystem-id. */
static int pci(int function, void *device, u64 key, PciV3 *out)
{
    Got got;
    int code = ask(function, device, key, &got);
    if (code)
        return code;
    const char *text = got.variant->text ? got.variant->text : "";
    memset(out, 0, sizeof *out);
    snprintf(out->busId, sizeof out->busId, "%s", text);
    snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "%.15s", strlen(text) > 12 ? text + 4 : text);
    sscanf(text, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    PUT(0, &out->pciDeviceId);
    PUT(1, &out->pciSubSystemId);
    return SUCCESS;
}

static int pci_old(int function, void *device, PciV2 *out)
{
    PciV3 found;
    int code = pci(function, device, ANY_KEY, &found);
    if (code)
        return code;
    memcpy(out, &found, offsetof(PciV2, reserved));
    return SUCCESS;
}

API nvmlDeviceGetPciInfo_v3(void *device, PciV3 *out)
{
    return pci(F_nvmlDeviceGetPciInfo_v3, device, ANY_KEY, out);
}

API nvmlDeviceGetPciInfo_v2(void *device, PciV2 *out) { return pci_old(F_nvmlDeviceGetPciInfo_v2, device, out); }
API nvmlDeviceGetPciInfo(void *device, PciV2 *out) { return pci_old(F_nvmlDeviceGetPciInfo, device, out); }

/* Script: the card, or the switch, at the other end of a link. */
API nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, u32 link, PciV3 *out)
{
    return pci(F_nvmlDeviceGetNvLinkRemotePciInfo_v2, device, key2(link, 0), out);
}

/* Script: nanoseconds of violation; the reference time is the clock. */
API nvmlDeviceGetViolationStatus(void *device, u32 policy, Violation *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetViolationStatus, device, key2(policy, 0), &got);
    if (code)
        return code;
    out->referenceTime = wall_us();
    PUT(0, &out->violationTime);
    return SUCCESS;
}

/* Structures of nothing but u32 or u64. */
static int u32s(int function, void *device, u32 *out, int count)
{
    Got got;
    int code = ask(function, device, ANY_KEY, &got);
    for (int i = 0; !code && i < count; i++)
        PUT(i, &out[i]);
    return code;
}

/* Script: banks with max, high, partial, low and no spare rows. */
API nvmlDeviceGetRowRemapperHistogram(void *device, u32 *out)
{
    return u32s(F_nvmlDeviceGetRowRemapperHistogram, device, out, 5);
}

/* Script: sessions, frames a second, latency in microseconds. */
API nvmlDeviceGetFBCStats(void *device, u32 *out)
{
    return u32s(F_nvmlDeviceGetFBCStats, device, out, 3);
}

/* Script: L1, L2, device memory, registers. */
API nvmlDeviceGetDetailedEccErrors(void *device, u32 kind, u32 since, u64 *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetDetailedEccErrors, device, key2(kind, since), &got);
    for (int i = 0; !code && i < 4; i++)
        PUT(i, &out[i]);
    return code;
}

/* Script: aggregate parity, SEC-DED and corrected, the same volatile, five buckets, whether over the threshold. */
API nvmlDeviceGetSramEccErrorStatus(void *device, SramErrors *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetSramEccErrorStatus, device, ANY_KEY, &got);
    if (code)
        return code;
    if (out->version != 0x01000068)
        return VERSION_MISMATCH;
    for (int i = 0; i < 11; i++)
        PUT(i, &out->counts[i]);
    PUT(11, &out->thresholdExceeded);
    return SUCCESS;
}

/* Script: multiprocessors, compute slices, MiB. */
API nvmlDeviceGetAttributes_v2(void *device, Attributes *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetAttributes_v2, device, ANY_KEY, &got);
    if (code)
        return code;
    memset(out, 0, sizeof *out);
    PUT(0, &out->multiprocessors);
    PUT(1, &out->gpuSlices);
    PUT(1, &out->computeSlices);
    PUT(2, &out->memoryMB);
    return SUCCESS;
}

static int versioned(int function, void *device, Versioned *out)
{
    Got got;
    int code = ask(function, device, ANY_KEY, &got);
    if (code)
        return code;
    if (out->version != 0x01000008)
        return VERSION_MISMATCH;
    PUT(0, &out->value);
    return SUCCESS;
}

API nvmlDeviceGetMarginTemperature(void *device, Versioned *out)
{
    return versioned(F_nvmlDeviceGetMarginTemperature, device, out);
}

API nvmlDeviceGetAddressingMode(void *device, Versioned *out)
{
    return versioned(F_nvmlDeviceGetAddressingMode, device, out);
}

static int indexed(int function, void *device, Indexed *out)
{
    Got got;
    int code = ask(function, device, key2(out->index, 0), &got);
    if (code)
        return code;
    if (out->version != 0x0100000C)
        return VERSION_MISMATCH;
    PUT(0, &out->value);
    return SUCCESS;
}

API nvmlDeviceGetFanSpeedRPM(void *device, Indexed *out) { return indexed(F_nvmlDeviceGetFanSpeedRPM, device, out); }
API nvmlDeviceGetTemperatureV(void *device, Indexed *out) { return indexed(F_nvmlDeviceGetTemperatureV, device, out); }

/* Script: state, status, clique. Versions 2 and 3 differ in what lies behind the health mask. */
API nvmlDeviceGetGpuFabricInfoV(void *device, Fabric *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetGpuFabricInfoV, device, ANY_KEY, &got);
    if (code)
        return code;
    if (out->version != 0x03000028 && out->version != 0x02000024)
        return VERSION_MISMATCH;
    PUT(0, &out->state);
    PUT(1, &out->status);
    PUT(2, &out->clique);
    out->healthMask = 0;
    if (out->version == 0x03000028)
        out->summary = 0;
    return SUCCESS;
}

API nvmlDeviceGetGpuFabricInfo(void *device, FabricV1 *out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetGpuFabricInfo, device, ANY_KEY, &got);
    if (code)
        return code;
    PUT(0, &out->state);
    PUT(1, &out->status);
    PUT(2, &out->clique);
    return SUCCESS;
}

/* --- field values ---------------------------------------------------------------------------------------------- */

static void field_value(const Slot *slot, FieldValue *field, double at)
{
    Got got = {.now = at};
    field->nvmlReturn = (u32)look(slot, key2(field->fieldId, field->scopeId), &got);
    field->timestamp = (int64_t)wall_us();
    field->latencyUsec = 0;
    if (field->nvmlReturn != SUCCESS)
        return;
    field->valueType = (u32)got.type;
    field->value.wide = 0;
    switch (got.type) {
    case 0: field->value.real = got_real(&got, 0); break;
    case 1: field->value.u = (u32)got_word(&got, 0); break;
    case 5: field->value.s = (int32_t)got_word(&got, 0); break;
    case 6: field->value.small = (uint16_t)got_word(&got, 0); break;
    default: field->value.wide = got_word(&got, 0);
    }
}

/* An answer without a key, `nvmlDeviceGetFieldValues = code N`, is that of the whole call. */
API nvmlDeviceGetFieldValues(void *handle, int count, FieldValue *fields)
{
    Got got;
    Device *device = device_of(handle);
    int code = enter(F_nvmlDeviceGetFieldValues, device, &got);
    if (code)
        return code;
    const Slot *slot = &device->slots[F_nvmlDeviceGetFieldValues];
    code = look(slot, ANY_KEY, &got);
    if (code && got.variant)
        return code;
    for (int i = 0; i < count; i++)
        field_value(slot, &fields[i], got.now);
    return SUCCESS;
}
