/* Getters by their shape: what they take between the handle and what they write. plain.def names them. */
#include "fake.h"

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
#define U32X3(name) \
    API name(void *device, u32 *first, u32 *second, u32 *third) { \
        Got got; \
        int code = ask(F_##name, device, ANY_KEY, &got); \
        if (!code) { PUT(0, first); PUT(1, second); PUT(2, third); } \
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
#define U64_BY3(name) \
    API name(void *device, u32 first, u32 second, u32 third, u64 *out) { \
        Got got; \
        int code = ask(F_##name, device, key3(first, second, third), &got); \
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

