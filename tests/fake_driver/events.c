/* Events: the XIDs of a script, each told once, to the first set that waits for its card. */
#include "fake.h"

#include <stdlib.h>

#define XID_EVENT 0x8
/* How long a wait sleeps at most before it looks for cards that were registered meanwhile. */
#define STEP_S 0.25

typedef struct { void *device; u64 eventType, eventData; u32 gpuInstance, computeInstance; } EventData;

API nvmlEventSetCreate(void **out)
{
    Got got;
    int code = ask_host(F_nvmlEventSetCreate, ANY_KEY, &got);
    if (!is_started())
        return UNINITIALIZED;
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
    return SUCCESS;
}

/* An event that is due, or NULL and when the next one is. */
static Xid *due(Device **from, double *next)
{
    double at = now();
    for (int i = 0; i < host.cards; i++) {
        Device *card = host.card[i];
        for (int k = 0; k < card->xid_count && card->event_types & XID_EVENT; k++) {
            Xid *xid = &card->xids[k];
            *from = card;
            if (at >= xid->at && !atomic_exchange(&xid->told, 1))
                return xid;
            if (at < xid->at && xid->at < *next)
                *next = xid->at;
        }
    }
    return NULL;
}

static int wait_for(int function, EventData *out, u32 milliseconds)
{
    Got got;
    int code = ask_host(function, ANY_KEY, &got);
    if (code && got.variant)
        return code;
    for (double until = now() + milliseconds / 1000.0;;) {
        Device *card;
        double next = until, at = now();
        const Xid *xid = due(&card, &next);
        if (xid) {
            *out = (EventData){card, XID_EVENT, xid->number, UINT32_MAX, UINT32_MAX};
            return SUCCESS;
        }
        if (at >= until)
            return TIMED_OUT;
        if (next > at)
            rest(next - at < STEP_S ? next - at : STEP_S);
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
