/* Answers: what stands behind "=" in a script, and what it comes to at a read. */
#include "fake.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *skip(char *at)
{
    while (*at == ' ' || *at == '\t')
        at++;
    return at;
}

/* --- reading --------------------------------------------------------------------------------------------------- */

/* A text with {i}, {x} and {X} (the card's index; index + 1 in hex) and \xHH, \n, \", \\. Moves *at behind it. */
char *read_text(char **at, const Device *device)
{
    char *out = malloc(strlen(*at) * 2 + 16), *to = out, *from = *at + 1;
    unsigned byte;
    for (; *from && *from != '"'; from++) {
        if (from[0] == '{' && from[1] && from[2] == '}') {
            to += sprintf(to, from[1] == 'i' ? "%d" : from[1] == 'x' ? "%02x" : "%02X",
                          device->index + (from[1] != 'i'));
            from += 2;
        } else if (*from == '\\' && from[1] == 'x' && sscanf(from + 2, "%2x", &byte) == 1) {
            *to++ = (char)byte;
            from += 3;
        } else if (*from == '\\' && from[1]) {
            from++;
            *to++ = *from == 'n' ? '\n' : *from;
        } else {
            *to++ = *from;
        }
    }
    *to = 0;
    if (*from != '"') {
        free(out);
        return NULL;
    }
    *at = from + 1;
    return out;
}

/* Behind "..": 200, 200/5 (by 5 a read), 200/60s (within 60 seconds, then it stays). */
static char *read_range(char *at, Word *word)
{
    char *end;
    word->motion = RAMP;
    word->step = 1;
    word->end = strtoll(at, &end, 0);
    if (*end == '/') {
        char *number = end + 1;
        word->step = strtoll(number, &end, 0);
        if (*end == 's' || *end == '.') {
            word->seconds = strtod(number, &end);
            word->motion = TOWARDS;
            return *end == 's' && word->seconds > 0 ? end + 1 : NULL;
        }
    }
    return word->end >= word->base && word->step >= 1 ? end : NULL;
}

/* Behind "~": 200/60s, a wave with a period of 60 seconds that begins at its low end. */
static char *read_wave(char *at, Word *word)
{
    char *end;
    word->motion = WAVE;
    word->end = strtoll(at, &end, 0);
    if (*end != '/')
        return NULL;
    word->seconds = strtod(end + 1, &end);
    return *end == 's' && word->seconds > 0 ? end + 1 : NULL;
}

/* Behind "+": 5 (more at each read), 5/s (more a second). */
static char *read_growth(char *at, Word *word)
{
    char *end;
    word->step = strtoll(at, &end, 0);
    word->motion = strncmp(end, "/s", 2) ? GROWS_BY_READ : GROWS_BY_SECOND;
    return word->motion == GROWS_BY_READ ? end : end + 2;
}

/* One number: 5, -8, 0xFF, 2.5, ones, index, or one that moves. */
static int read_word(char **at, const Device *device, Word *word)
{
    char *end;
    *word = (Word){0};
    if (!strncmp(*at, "ones", 4)) {
        word->base = -1;
        word->real = -1;
        end = *at + 4;
    } else if (!strncmp(*at, "index", 5)) {
        word->base = device->index;
        word->real = device->index;
        end = *at + 5;
    } else {
        word->base = (**at == '-') ? strtoll(*at, &end, 0) : (int64_t)strtoull(*at, &end, 0);
        if (end == *at)
            return wrong("not a number", *at);
        if (end[0] == '.' && end[1] != '.')
            word->real = strtod(*at, &end);
        else
            word->real = (double)word->base;
    }
    if (end[0] == '.' && end[1] == '.')
        end = read_range(end + 2, word);
    else if (*end == '~')
        end = read_wave(end + 1, word);
    else if (*end == '+')
        end = read_growth(end + 1, word);
    if (end == NULL)
        return wrong("not a range", *at);
    if (*end && !strchr(" \t,|@", *end))
        return wrong("text after a number", *at);
    *at = end;
    return 0;
}

static Variant *variant_new(Answer *answer, double at)
{
    answer->variants = realloc(answer->variants, (size_t)(answer->count + 1) * sizeof *answer->variants);
    Variant *variant = &answer->variants[answer->count++];
    *variant = (Variant){.at = at, .entries = 1};
    return variant;
}

/* "@5" (from second 5 on) or "@5 reads" (from the sixth read on). Before the first of them: not supported. */
static Variant *read_from(char **at, Answer *answer)
{
    double from = strtod(*at + 1, at);
    char *unit = skip(*at);
    int by_reads = !strncmp(unit, "reads", 5);
    if (by_reads)
        *at = unit + 5;
    if (answer->count == 0 && from > 0)
        variant_new(answer, 0)->code = NOT_SUPPORTED;
    Variant *variant = variant_new(answer, from);
    variant->by_reads = by_reads;
    return variant;
}

/* What stands behind "=": variants parted by "|" (the next at each read) or "@". */
int read_answer(char *at, const Device *device, Answer *answer)
{
    Variant *variant = NULL;
    for (at = skip(at); *at; at = skip(at)) {
        if (*at == '@') {
            variant = read_from(&at, answer);
            continue;
        }
        if (*at == '|') {
            answer->cycle = 1;
            variant = variant_new(answer, 0);
            at++;
            continue;
        }
        if (variant == NULL)
            variant = variant_new(answer, 0);
        if (*at == '"') {
            if (!(variant->text = read_text(&at, device)))
                return wrong("a text without its end", at);
        } else if (*at == ',') {
            variant->entries++;
            at++;
        } else if (!strncmp(at, "code ", 5)) {
            variant->code = (int)strtol(at + 5, &at, 10);
        } else if (!strncmp(at, "none", 4)) {
            variant->entries = 0;
            at += 4;
        } else {
            variant->words = realloc(variant->words, (size_t)(variant->count + 1) * sizeof(Word));
            if (read_word(&at, device, &variant->words[variant->count++]) < 0)
                return -1;
        }
    }
    return variant ? 0 : wrong("no value", at);
}

/* --- looking up ------------------------------------------------------------------------------------------------ */

Answer *slot_find(const Slot *slot, uint64_t key)
{
    int low = 0, high = slot->count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (slot->answers[middle]->key < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < slot->count && slot->answers[low]->key == key)
        return slot->answers[low];
    if (slot->count && slot->answers[slot->count - 1]->key == ANY_KEY)
        return slot->answers[slot->count - 1];
    return NULL;
}

static const Variant *choose(Answer *answer, u64 reads, double at)
{
    const Variant *chosen = &answer->variants[0];
    if (answer->cycle)
        return &answer->variants[reads % (u64)answer->count];
    for (int i = 1; i < answer->count; i++) {
        const Variant *later = &answer->variants[i];
        if (later->by_reads ? (double)reads >= later->at : at >= later->at)
            chosen = later;
    }
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

static int64_t ramp(const Word *word, u64 reads)
{
    u64 span = (u64)((word->end - word->base) / word->step);
    u64 at = span ? reads % (2 * span) : 0;
    return word->base + word->step * (int64_t)(at > span ? 2 * span - at : at);
}

/* Between base and end in double: 64-bit counters do not move this way. */
static int64_t part_of_the_way(const Word *word, double share)
{
    return word->base + (int64_t)llround((double)(word->end - word->base) * share);
}

u64 got_word(const Got *got, int item)
{
    if (got->variant == NULL || item >= got->variant->count)
        return 0;
    const Word *word = &got->variant->words[item];
    double since = got->now - (got->variant->by_reads ? 0 : got->variant->at);
    switch (word->motion) {
    case RAMP:
        return (u64)ramp(word, got->reads);
    case GROWS_BY_READ:
        return (u64)(word->base + word->step * (int64_t)got->reads);
    case GROWS_BY_SECOND:
        return (u64)(word->base + (int64_t)((double)word->step * got->now));
    case TOWARDS:
        return (u64)part_of_the_way(word, since >= word->seconds ? 1 : since / word->seconds);
    case WAVE:
        return (u64)part_of_the_way(word, (1 - cos(since / word->seconds * 2 * M_PI)) / 2);
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

u64 key2(u32 first, u32 second)
{
    return (u64)first << 32 | second;
}

u64 key3(u32 first, u32 second, u32 third)
{
    return key2(first, second << 16 | third);
}
