/* Stand-in for libcuda.so.1: says which card it gives, from FAKE_CUDA_UUID (32 hex digits) and FAKE_CUDA_BUS. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cuInit(unsigned flags) {
    const char *code = getenv("FAKE_CUDA_INIT");
    (void)flags;
    return code ? atoi(code) : 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal == 0 ? 0 : 101;
}

int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
    const char *text = getenv("FAKE_CUDA_UUID");
    int at;
    (void)device;
    if (!text || strlen(text) != 32) return 1;
    for (at = 0; at < 16; at++) {
        unsigned value;
        sscanf(text + 2 * at, "%2x", &value);
        uuid[at] = (unsigned char)value;
    }
    return 0;
}

int cuDeviceGetPCIBusId(char *text, int length, int device) {
    const char *bus = getenv("FAKE_CUDA_BUS");
    (void)device;
    if (!bus) return 1;
    snprintf(text, (size_t)length, "%s", bus);
    return 0;
}
