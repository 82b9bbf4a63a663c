/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of characters of a pattern: ranges of code points, classes by name. See pattern_impl.h. */
#include <stdlib.h>
#include <string.h>

#include "text/pattern_impl.h"

void *artel__grow(artel_context *ctx, artel__grown *array, size_t size)
{
    if (array->count == array->room) {
        int32_t room = array->room ? array->room * 2 : 16;
        if (artel__realloc(ctx, (size_t)room * size, "pattern", &array->block) < 0) return NULL;
        array->room = room;
    }
    return (char *)array->block + (size_t)array->count++ * size;
}

static bool add(artel_context *ctx, artel__grown *ranges, int32_t low, int32_t high)
{
    if (low > high) return true;
    artel__pattern_range *r = artel__grow(ctx, ranges, sizeof *r);
    if (r) *r = (artel__pattern_range){low, high};
    return r != NULL;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static int32_t smaller(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* The part between `from` and `to` again, `by` further on. */
static bool add_moved(artel_context *ctx, artel__grown *ranges, int32_t low, int32_t high, int32_t from, int32_t to,
                      int32_t by)
{
    int32_t first = larger(low, from), last = smaller(high, to);
    return first > last || add(ctx, ranges, first + by, last + by);
}

bool artel__set_add(artel_context *ctx, artel__grown *ranges, int32_t low, int32_t high, bool fold)
{
    static const int32_t signs[2][2] = {{'k', 0x212A}, {'s', 0x17F}}; /* Kelvin's, and the long s */
    bool fine = add(ctx, ranges, low, high);
    if (!fold) return fine;
    fine = fine && add_moved(ctx, ranges, low, high, 'a', 'z', 'A' - 'a');
    fine = fine && add_moved(ctx, ranges, low, high, 'A', 'Z', 'a' - 'A');
    for (int i = 0; i < 2 && fine; i++) {
        int32_t small = signs[i][0], sign = signs[i][1];
        bool has = (low <= small && small <= high) || (low <= small - 32 && small - 32 <= high);
        if (has) fine = add(ctx, ranges, sign, sign);
        if (low <= sign && sign <= high)
            fine = fine && add(ctx, ranges, small, small) && add(ctx, ranges, small - 32, small - 32);
    }
    return fine;
}

static int by_low(const void *a, const void *b)
{
    const artel__pattern_range *x = a, *y = b;
    return x->low != y->low ? (x->low < y->low ? -1 : 1) : (x->high > y->high) - (x->high < y->high);
}

void artel__set_tidy(artel__grown *ranges, int32_t first)
{
    artel__pattern_range *r = ranges->block;
    if (ranges->count - first < 2) return;
    qsort(r + first, (size_t)(ranges->count - first), sizeof *r, by_low);
    int32_t last = first;
    for (int32_t i = first + 1; i < ranges->count; i++) {
        if (r[i].low > r[last].high + 1)
            r[++last] = r[i];
        else
            r[last].high = larger(r[last].high, r[i].high);
    }
    ranges->count = last + 1;
}

bool artel__set_negate(artel_context *ctx, artel__grown *ranges, int32_t first)
{
    int32_t from = 0;
    artel__set_tidy(ranges, first);
    int32_t count = ranges->count;
    for (int32_t i = first; i < count; i++) {
        artel__pattern_range at = ((artel__pattern_range *)ranges->block)[i];
        if (!add(ctx, ranges, from, at.low - 1)) return false;
        from = at.high + 1;
    }
    if (!add(ctx, ranges, from, ARTEL__PATTERN_LAST)) return false;
    artel__pattern_range *r = ranges->block;
    int32_t made = ranges->count - count;
    if (made > 0) memmove(r + first, r + count, (size_t)made * sizeof *r);
    ranges->count = first + made;
    return true;
}

typedef struct named {
    const char *name;
    artel__pattern_range range[4]; /* up to the first with `low` above `high` */
} named;

static const named classes[] = {
    {"d", {{'0', '9'}, {1, 0}}},
    {"s", {{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}, {1, 0}}},
    {"w", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {1, 0}}},
    {"alpha", {{'A', 'Z'}, {'a', 'z'}, {1, 0}}},
    {"ascii", {{0, 0x7F}, {1, 0}}},
    {"blank", {{'\t', '\t'}, {' ', ' '}, {1, 0}}},
    {"cntrl", {{0, 0x1F}, {0x7F, 0x7F}, {1, 0}}},
    {"digit", {{'0', '9'}, {1, 0}}},
    {"graph", {{'!', '~'}, {1, 0}}},
    {"lower", {{'a', 'z'}, {1, 0}}},
    {"print", {{' ', '~'}, {1, 0}}},
    {"punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}},
    {"space", {{'\t', '\r'}, {' ', ' '}, {1, 0}}},
    {"upper", {{'A', 'Z'}, {1, 0}}},
    {"word", {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
    {"xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}, {1, 0}}},
};

int artel__set_class(artel_context *ctx, artel__grown *ranges, const char *name, size_t length, bool negated, bool fold)
{
    const named *found = NULL;
    int32_t first = ranges->count;
    for (size_t i = 0; i < ARTEL__COUNT(classes); i++) {
        if (strlen(classes[i].name) == length && memcmp(classes[i].name, name, length) == 0) found = &classes[i];
    }
    if (!found) return 0;
    for (int i = 0; i < 4 && found->range[i].low <= found->range[i].high; i++) {
        if (!artel__set_add(ctx, ranges, found->range[i].low, found->range[i].high, fold)) return -1;
    }
    return negated && !artel__set_negate(ctx, ranges, first) ? -1 : 1;
}
