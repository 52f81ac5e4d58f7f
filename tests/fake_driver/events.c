/* Events: the XIDs of a script, each told once, to the first set that waits for its card. */
#include "fake.h"

#include <stdlib.h>

#define XID_EVENT 0x8
#define STEP_S 0.005

typedef struct { void *device; u64 eventType, eventData; u32 gpuInstance, computeInstance; } EventData;

API nvmlEventSetCreate(void **out)
{
    Got got;
    int code = ask_host(F_nvmlEventSetCreate, &got);
    if (code != SUCCESS && code != NOT_SUPPORTED)
        return code;
    if (code == NOT_SUPPORTED && got.variant)
        return code;
    *out = malloc(1);
    return SUCCESS;
}

API nvmlEventSetFree(void *set)
{
    calls_count(F_nvmlEventSetFree, NULL);
    free(set);
    return SUCCESS;
}

API nvmlDeviceRegisterEvents(void *handle, u64 types, void *set)
{
    Got got;
    Device *device = device_of(handle);
    int code = enter(F_nvmlDeviceRegisterEvents, device, &got);
    if (code)
        return code;
    if (set == NULL)
        return INVALID_ARGUMENT;
    code = look(&device->slots[F_nvmlDeviceRegisterEvents], ANY_KEY, &got);
    if (code && got.variant)
        return code;
    device->event_types |= types;
    device->registered = got.now;
    return SUCCESS;
}

static Xid *due(Device **from)
{
    double at = now();
    for (int i = 0; i < host.cards; i++) {
        Device *card = host.card[i];
        for (int k = 0; k < card->xid_count; k++) {
            Xid *xid = &card->xids[k];
            if (!(card->event_types & XID_EVENT) || at < xid->at || at < card->registered)
                continue;
            if (!atomic_exchange(&xid->told, 1)) {
                *from = card;
                return xid;
            }
        }
    }
    return NULL;
}

static int wait_for(int function, EventData *out, u32 milliseconds)
{
    Got got;
    int code = ask_host(function, &got);
    if (code && got.variant)
        return code;
    for (double until = now() + milliseconds / 1000.0;; rest(STEP_S)) {
        Device *card;
        const Xid *xid = due(&card);
        if (xid) {
            *out = (EventData){card, XID_EVENT, xid->number, UINT32_MAX, UINT32_MAX};
            return SUCCESS;
        }
        if (now() >= until)
            return TIMED_OUT;
    }
}

API nvmlEventSetWait_v2(void *set, EventData *out, u32 milliseconds)
{
    (void)set;
    return wait_for(F_nvmlEventSetWait_v2, out, milliseconds);
}

API nvmlEventSetWait(void *set, EventData *out, u32 milliseconds)
{
    (void)set;
    return wait_for(F_nvmlEventSetWait, out, milliseconds);
}
