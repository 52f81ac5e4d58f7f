/* Which cards there are, and the ways to a handle. */
#include "fake.h"

#include <strings.h>

/* The card at an index now: cards behind one that was removed move up. */
static Device *card_at(u32 index)
{
    double at = now();
    for (int i = 0; i < host.cards; i++)
        if (!is_removed(host.card[i], at) && index-- == 0)
            return host.card[i];
    return NULL;
}

static int count_cards(int function, u32 *out)
{
    Got got;
    int code = ask_host(function, ANY_KEY, &got);
    if (!is_started())
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
        if (!is_removed(device, got.now) && look(&device->slots[getter], ANY_KEY, &got) == SUCCESS &&
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

static u32 index_of(const Device *device)
{
    u32 index = 0;
    if (device->parent)
        while (device->parent->mig[index] != device)
            index++;
    else
        while (card_at(index) && card_at(index) != device)
            index++;
    return index;
}

API nvmlDeviceGetIndex(void *handle, u32 *out)
{
    Got got;
    Device *device = device_of(handle);
    int code = enter(F_nvmlDeviceGetIndex, device, &got);
    if (code == SUCCESS)
        *out = index_of(device);
    return code;
}

API nvmlDeviceGetMigDeviceHandleByIndex(void *handle, u32 index, void **out)
{
    Got got;
    Device *card = device_of(handle);
    int code = enter(F_nvmlDeviceGetMigDeviceHandleByIndex, card, &got);
    if (code)
        return code;
    if (index >= MAX_MIG || card->mig[index] == NULL || is_removed(card->mig[index], got.now))
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

/* --- two cards ------------------------------------------------------------------------------------------------- */

/* Asks the first card with the second one's place in the script as its argument. */
static int ask_pair(int function, void *handle, void *other, u32 which, u32 *out)
{
    Got got;
    const Device *second = device_of(other);
    int code = ask(function, handle, second ? key2((u32)second->index, which) : ANY_KEY, &got);
    if (!code && second == NULL)
        code = INVALID_ARGUMENT;
    if (!code)
        PUT(0, out);
    return code;
}

API nvmlDeviceGetTopologyCommonAncestor(void *device, void *other, u32 *out)
{
    return ask_pair(F_nvmlDeviceGetTopologyCommonAncestor, device, other, 0, out);
}

API nvmlDeviceOnSameBoard(void *device, void *other, u32 *out)
{
    return ask_pair(F_nvmlDeviceOnSameBoard, device, other, 0, out);
}

API nvmlDeviceGetP2PStatus(void *device, void *other, u32 capability, u32 *out)
{
    return ask_pair(F_nvmlDeviceGetP2PStatus, device, other, capability, out);
}

/* Script: the nearest cards at a level, by their places in the script. Without an array: how many. */
API nvmlDeviceGetTopologyNearestGpus(void *device, u32 level, u32 *room, void **out)
{
    Got got;
    int code = ask(F_nvmlDeviceGetTopologyNearestGpus, device, key2(level, 0), &got);
    if (code)
        return code;
    u32 had = out ? *room : 0;
    *room = (u32)got.variant->count;
    for (int i = 0; i < got.variant->count && (u32)i < had; i++) {
        u64 index = got_word(&got, i);
        out[i] = index < (u64)host.cards ? host.card[index] : NULL;
    }
    return SUCCESS;
}
