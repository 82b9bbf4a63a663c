/* SPDX-License-Identifier: Apache-2.0 */
/* Strings as numbers. See the header. */
#include "text/moved.h"

#include <stdlib.h>

static const artel__moved operations[] = {
    {"append", 0, false, true},       {"array_split", 0, false, true}, {"broadcast_to", 0, false, true},
    {"concatenate", 0, false, true},  {"copy", 0, false, true},        {"diagonal", 0, false, true},
    {"dstack", 0, false, true},       {"expand_dims", 0, false, true}, {"flip", 0, false, true},
    {"fliplr", 0, false, true},       {"flipud", 0, false, true},      {"hsplit", 0, false, true},
    {"hstack", 0, false, true},       {"moveaxis", 0, false, true},    {"ravel", 0, false, true},
    {"repeat", 0, false, true},       {"reshape", 0, false, true},     {"roll", 0, false, true},
    {"rot90", 0, false, true},        {"slice", 0, false, true},       {"split", 0, false, true},
    {"squeeze", 0, false, true},      {"stack", 0, false, true},       {"swapaxes", 0, false, true},
    {"take", 2, false, true},         {"tile", 0, false, true},        {"take_along_axis", 2, false, true},
    {"transpose", 0, false, true},    {"unstack", 0, false, true},     {"vsplit", 0, false, true},
    {"vstack", 0, false, true},       {"where", 1, false, true},       {"sort", 0, true, true},
    {"argsort", 0, true, false},      {"equal", 0, true, false},       {"not_equal", 0, true, false},
    {"less", 0, true, false},         {"less_equal", 0, true, false},  {"greater", 0, true, false},
    {"greater_equal", 0, true, false}};

const artel__moved *artel__moved_find(const char *name)
{
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        if (artel__same_operation(operations[i].name, name)) return &operations[i];
    }
    return NULL;
}

artel_status artel__moved_begin(artel_context *ctx, size_t count, artel__moved_words *out)
{
    void *block;
    if (count > INT32_MAX)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "strings", "take them in parts", "%zu strings in a call",
                           count);
    ARTEL_TRY(artel__alloc(ctx, count * (sizeof *out->word + sizeof *out->sorted) + 1, "strings", &block));
    *out = (artel__moved_words){block, (const artel_string **)(void *)((artel_string *)block + count), 0};
    return ARTEL_OK;
}

void artel__moved_end(artel_context *ctx, artel__moved_words *words)
{
    artel__free(ctx, words->word);
}

static int compare_places(const void *a, const void *b)
{
    const artel_string *const *one = a, *const *other = b;
    return artel__string_compare(*one, *other);
}

void artel__moved_number(const artel__moved *moved, artel__moved_words *w, int32_t *number)
{
    for (int64_t i = 0; i < w->count && !moved->order; i++) number[i] = (int32_t)i;
    if (!moved->order) return;
    for (int64_t i = 0; i < w->count; i++) w->sorted[i] = &w->word[i];
    if (w->count > 0) qsort(w->sorted, (size_t)w->count, sizeof(const artel_string *), compare_places);
    int64_t first = 0;
    for (int64_t i = 0; i < w->count; i++) {
        if (artel__string_compare(w->sorted[first], w->sorted[i]) != 0) first = i;
        number[w->sorted[i] - w->word] = (int32_t)first;
    }
}

artel_status artel__moved_strings(artel_context *ctx, const artel__moved *moved, const artel__moved_words *w,
                                  const int32_t *number, int64_t count, artel_string *out)
{
    for (int64_t i = 0; i < count; i++) {
        if (number[i] < 0 || number[i] >= w->count)
            return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, moved->name, "use settings that only move elements",
                               "with these settings it makes elements that are no strings of its operands");
        out[i] = moved->order ? *w->sorted[number[i]] : w->word[number[i]];
    }
    return ARTEL_OK;
}
