/* The script file: see README.md for its lines. Read once, at the first call into the library. */
#include "fake.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Host host;

const char *const function_names[F_COUNT] = {
#define GETTER(name) #name,
#include "functions.def"
#undef GETTER
#define UNMODELLED(name) #name,
#include "unmodelled.def"
#undef UNMODELLED
};

/* A function without an answer of its own answers as the other one does. */
static const int ALIASES[][2] = {
    {F_nvmlInit, F_nvmlInit_v2},
    {F_nvmlInitWithFlags, F_nvmlInit_v2},
    {F_nvmlSystemGetCudaDriverVersion, F_nvmlSystemGetCudaDriverVersion_v2},
    {F_nvmlDeviceGetCount, F_nvmlDeviceGetCount_v2},
    {F_nvmlDeviceGetHandleByIndex, F_nvmlDeviceGetHandleByIndex_v2},
    {F_nvmlDeviceGetHandleByUUID, F_nvmlDeviceGetHandleByIndex_v2},
    {F_nvmlDeviceGetHandleBySerial, F_nvmlDeviceGetHandleByIndex_v2},
    {F_nvmlDeviceGetHandleByPciBusId_v2, F_nvmlDeviceGetHandleByIndex_v2},
    {F_nvmlDeviceGetHandleByPciBusId, F_nvmlDeviceGetHandleByIndex_v2},
    {F_nvmlEventSetWait, F_nvmlEventSetWait_v2},
    {F_nvmlDeviceGetPciInfo_v2, F_nvmlDeviceGetPciInfo_v3},
    {F_nvmlDeviceGetPciInfo, F_nvmlDeviceGetPciInfo_v3},
    {F_nvmlDeviceGetDriverModel, F_nvmlDeviceGetDriverModel_v2},
    {F_nvmlDeviceGetRetiredPages_v2, F_nvmlDeviceGetRetiredPages},
    {F_nvmlDeviceGetPowerState, F_nvmlDeviceGetPerformanceState},
    {F_nvmlDeviceGetCurrentClocksThrottleReasons, F_nvmlDeviceGetCurrentClocksEventReasons},
    {F_nvmlDeviceGetSupportedClocksThrottleReasons, F_nvmlDeviceGetSupportedClocksEventReasons},
    {F_nvmlDeviceGetTemperatureV, F_nvmlDeviceGetTemperature},
    {F_nvmlDeviceGetFanSpeed, F_nvmlDeviceGetFanSpeed_v2},
    {F_nvmlDeviceGetGpuFabricInfo, F_nvmlDeviceGetGpuFabricInfoV},
    {F_nvmlDeviceGetComputeRunningProcesses_v2, F_nvmlDeviceGetComputeRunningProcesses_v3},
    {F_nvmlDeviceGetComputeRunningProcesses, F_nvmlDeviceGetComputeRunningProcesses_v3},
    {F_nvmlDeviceGetGraphicsRunningProcesses_v2, F_nvmlDeviceGetGraphicsRunningProcesses_v3},
    {F_nvmlDeviceGetGraphicsRunningProcesses, F_nvmlDeviceGetGraphicsRunningProcesses_v3},
    {F_nvmlDeviceGetMPSComputeRunningProcesses_v2, F_nvmlDeviceGetMPSComputeRunningProcesses_v3},
    {F_nvmlDeviceGetMPSComputeRunningProcesses, F_nvmlDeviceGetMPSComputeRunningProcesses_v3},
};

static const char *const TYPES[] = {"double", "u32", "ul", "u64", "s64", "s32", "u16"};

static char trouble_with[256];

int wrong(const char *what, const char *where)
{
    snprintf(trouble_with, sizeof trouble_with, "%s: %.120s", what, where);
    return -1;
}

static Device *device_new(int index, Device *parent)
{
    Device *device = &host.pool[host.pool_used++];
    *device = (Device){.index = index, .used = 1, .parent = parent, .lost_from = NEVER, .removed_from = NEVER,
                       .lost_until = NEVER, .removed_until = NEVER};
    return device;
}

static int function_id(const char *name)
{
    for (int id = 0; id < F_MODELLED; id++)
        if (!strcmp(function_names[id], name))
            return id;
    return -1;
}

static int by_key(const void *left, const void *right)
{
    uint64_t a = (*(Answer *const *)left)->key, b = (*(Answer *const *)right)->key;
    return a < b ? -1 : a > b;
}

static int slot_put(Slot *slot, Answer *answer)
{
    for (int i = 0; i < slot->count; i++)
        if (slot->answers[i]->key == answer->key) {
            slot->answers[i] = answer;
            return 0;
        }
    slot->answers = realloc(slot->answers, (size_t)(slot->count + 1) * sizeof *slot->answers);
    slot->answers[slot->count++] = answer;
    qsort(slot->answers, (size_t)slot->count, sizeof *slot->answers, by_key);
    return 0;
}

/* "(1)", "(0,1)", "(0,1,2)", "(*)" or nothing. */
static uint64_t read_key(char *name)
{
    char *open = strchr(name, '(');
    unsigned first = 0, second = 0, third = 0;
    if (open == NULL)
        return ANY_KEY;
    *open = 0;
    int count = open[1] == '*' ? 0 : sscanf(open + 1, "%u,%u,%u", &first, &second, &third);
    return count < 1 ? ANY_KEY : count < 3 ? key2(first, second) : key3(first, second, third);
}

static int read_equation(Device *device, char *line, char *behind)
{
    char name[128] = "", type[16] = "";
    unsigned id, scope = 0;
    Answer *answer = calloc(1, sizeof *answer);
    if (read_answer(behind, device, answer) < 0)
        return -1;
    if (!strncmp(line, "field ", 6)) {
        if (sscanf(line, "field %u.%u %15s", &id, &scope, type) < 3 &&
            (scope = 0, sscanf(line, "field %u %15s", &id, type) < 2))
            return wrong("not `field ID[.SCOPE] TYPE = …`", line);
        answer->key = key2(id, scope);
        for (answer->type = 0; answer->type < 7 && strcmp(type, TYPES[answer->type]); answer->type++)
            ;
        if (answer->type == 7)
            return wrong("no such type", type);
        return slot_put(&device->slots[F_nvmlDeviceGetFieldValues], answer);
    }
    if (sscanf(line, "%127s", name) < 1)
        return wrong("no name before =", line);
    answer->key = read_key(name);
    if (!strcmp(name, "*"))
        return slot_put(&device->all, answer);
    int function = function_id(name);
    if (function < 0)
        return wrong("no such function", name);
    return slot_put(&device->slots[function], answer);
}

static int read_trouble(Device *device, char *line)
{
    char name[128], verb[16], stream[16];
    int used = 0;
    if (sscanf(line, "%127s %15s %n", name, verb, &used) < 2)
        return wrong("not understood", line);
    char *rest = line + used;
    int function = function_id(name);
    Slot *slot = !strcmp(name, "*") ? &device->all : function < 0 ? NULL : &device->slots[function];
    if (slot == NULL)
        return wrong("no such function", name);
    if (slot->trouble == NULL) {
        slot->trouble = calloc(1, sizeof *slot->trouble);
        slot->trouble->hangs_from = slot->trouble->hangs_until = NEVER;
    }
    if (!strcmp(verb, "latency")) {
        slot->trouble->latency_s = strtod(rest, NULL) / 1000;
    } else if (!strcmp(verb, "hangs")) {
        slot->trouble->hangs_from = 0;
        sscanf(rest, "@%lf until @%lf", &slot->trouble->hangs_from, &slot->trouble->hangs_until);
    } else if (!strcmp(verb, "prints") && sscanf(rest, "%15s %n", stream, &used) == 1) {
        char *quote = rest + used, *text = *quote == '"' ? read_text(&quote, device) : NULL;
        if (text == NULL)
            return wrong("no text to print", rest);
        *(strcmp(stream, "stderr") ? &slot->trouble->out : &slot->trouble->err) = text;
    } else {
        return wrong("not understood", line);
    }
    return 0;
}

static int read_fate(Device *device, char *line)
{
    double from, until = NEVER;
    unsigned long long number;
    if (sscanf(line, "lost @%lf until @%lf", &from, &until) >= 1) {
        device->lost_from = from;
        device->lost_until = until;
    } else if (sscanf(line, "removed @%lf until @%lf", &from, &until) >= 1) {
        device->removed_from = from;
        device->removed_until = until;
    } else if (sscanf(line, "xid %llu @%lf", &number, &from) == 2 && device->xid_count < MAX_XIDS) {
        device->xids[device->xid_count].at = from;
        device->xids[device->xid_count++].number = number;
    } else {
        return 1;
    }
    return 0;
}

static int read_line(Device *device, char *line)
{
    int fate = read_fate(device, line);
    if (fate <= 0)
        return fate;
    char *quote = strchr(line, '"'), *equals = strchr(line, '=');
    if (equals && (!quote || equals < quote)) {
        *equals = 0;
        int done = read_equation(device, line, equals + 1);
        *equals = '=';
        return done;
    }
    return read_trouble(device, line);
}

/* "[system]", "[*]", "[0-7]", "[1,3]", "[0/2]" (a MIG device): fills the list of devices the next lines are for. */
static int read_section(char *line, Device **chosen, int *count)
{
    *count = 0;
    char *at = line + 1;
    if (!strncmp(at, "system]", 7)) {
        chosen[(*count)++] = &host.system;
        return 0;
    }
    while (*at && *at != ']') {
        int first = 0, last = host.cards - 1, mig = -1;
        if (*at == '*') {
            at++;
        } else {
            first = last = (int)strtol(at, &at, 10);
            if (*at == '-')
                last = (int)strtol(at + 1, &at, 10);
        }
        if (*at == '/')
            mig = (int)strtol(at + 1, &at, 10);
        if (first < 0 || last >= host.cards || mig >= MAX_MIG || (*at != ',' && *at != ']'))
            return wrong("no such card", line);
        for (int i = first; i <= last; i++) {
            Device *card = host.card[i];
            if (mig >= 0 && card->mig[mig] == NULL)
                card->mig[mig] = device_new(i, card);
            chosen[(*count)++] = mig < 0 ? card : card->mig[mig];
        }
        at += *at == ',';
    }
    return 0;
}

static int read_cards(char *line)
{
    int count = (int)strtol(line + 6, NULL, 10);
    if (count < 0 || count > MAX_CARDS || host.pool_used)
        return wrong("not `cards N` with N to 128, once, at the start", line);
    for (host.cards = 0; host.cards < count; host.cards++)
        host.card[host.cards] = device_new(host.cards, NULL);
    return 0;
}

static void share_aliases(Device *device)
{
    for (unsigned i = 0; i < sizeof ALIASES / sizeof *ALIASES; i++) {
        Slot *own = &device->slots[ALIASES[i][0]];
        const Slot *other = &device->slots[ALIASES[i][1]];
        if (own->count == 0) {
            own->answers = other->answers;
            own->count = other->count;
        }
    }
}

int script_load(const char *path)
{
    static Device *chosen[MAX_CARDS * 2];
    char *line = NULL;
    size_t room = 0;
    int count = 1, number = 0, failed = 0;
    FILE *file = path ? fopen(path, "r") : NULL;
    host.pool = calloc(MAX_CARDS * (MAX_MIG + 1), sizeof *host.pool);
    host.system = (Device){.used = 1, .lost_from = NEVER, .removed_from = NEVER};
    chosen[0] = &host.system;
    if (file == NULL) {
        fprintf(stderr, "fake_driver: FAKE_NVML_SCRIPT names no file that can be read\n");
        return -1;
    }
    while (!failed && getline(&line, &room, file) >= 0) {
        number++;
        line[strcspn(line, "\r\n")] = 0;
        char *at = skip(line);
        if (*at == 0 || *at == '#')
            continue;
        if (!strncmp(at, "cards ", 6))
            failed = read_cards(at);
        else if (*at == '[')
            failed = read_section(at, chosen, &count);
        else
            for (int i = 0; i < count && !failed; i++)
                failed = read_line(chosen[i], at);
    }
    if (failed)
        fprintf(stderr, "fake_driver: %s line %d: %s\n", path, number, trouble_with);
    free(line);
    fclose(file);
    share_aliases(&host.system);
    for (int i = 0; i < host.pool_used; i++)
        share_aliases(&host.pool[i]);
    return failed;
}
