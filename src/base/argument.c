/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the C API: pointers, options, ranges.
 *
 * A call without any context has its failure kept for the calling thread (context.c), so that it has a text as all
 * others have.
 */
#include "base/argument.h"

#include <string.h>

enum {
    MOST_BYTES = 4096 /* of a struct: a size beyond is a mistake, and is not read */
};

static artel_status check_pointers(artel_context *ctx, const char *function, const char *names, va_list pointers)
{
    for (const char *name = names; *name;) {
        int length = (int)strcspn(name, " ");
        if (!va_arg(pointers, const void *))
            return artel__fail(ctx, ARTEL_ERROR_INVALID, function, "see the header of this function for what it takes",
                               "the argument `%.*s` is NULL", length, name);
        name += length;
        if (*name) name++;
    }
    return ARTEL_OK;
}

artel_status artel__enter(artel_context *ctx, const char *function, const char *names, ...)
{
    va_list pointers;
    artel__operation_begin(ctx);
    va_start(pointers, names);
    artel_status status = check_pointers(ctx, function, names, pointers);
    va_end(pointers);
    return status;
}

artel_status artel__need(artel_context *ctx, const char *function, const char *names, ...)
{
    va_list pointers;
    if (!ctx) artel__operation_begin(ctx);
    va_start(pointers, names);
    artel_status status = check_pointers(ctx, function, names, pointers);
    va_end(pointers);
    return status;
}

artel_status artel__need_context(artel_context *ctx, const artel_context *other, const char *what)
{
    if (ctx == other) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "context", "make both from one context", "%s is another context's",
                       what);
}

artel_status artel__need_count(artel_context *ctx, const char *where, int64_t number, const char *of)
{
    if (number >= 0 && number <= ARTEL__MOST_COUNTED) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "count from 0 to 2^53", "%lld %s", (long long)number, of);
}

static double value_of(const artel__range *range, const void *options)
{
    const char *at = (const char *)options + range->offset;
    int small;
    int64_t large;
    double real;
    switch (range->type) {
    case ARTEL__RANGE_INT: memcpy(&small, at, sizeof small); return small;
    case ARTEL__RANGE_INT64: memcpy(&large, at, sizeof large); return (double)large;
    default: memcpy(&real, at, sizeof real); return real;
    }
}

static artel_status check_range(artel_context *ctx, const artel__range *range, const void *options)
{
    double value = value_of(range, options);
    if (value >= range->least && value <= range->most) return ARTEL_OK;
    const char *advice = range->advice ? range->advice : "give a number in range";
    if (value < range->least)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, range->name, advice,
                           "the value does not fit (found %.15g, expected at least %.15g)", value, range->least);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, range->name, advice,
                       "the value does not fit (found %.15g, expected at most %.15g)", value, range->most);
}

/* A program that knows a longer struct than this library asks for what it does not get, unless the rest of it is zero.
 */
static artel_status check_size(artel_context *ctx, const artel__options_kind *kind, const char *given, size_t size)
{
    if (size < sizeof size)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, kind->where, kind->advice, "struct_size is not set");
    if (size > MOST_BYTES)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, kind->where, kind->advice,
                           "a struct_size of %zu, which no such struct has", size);
    for (size_t at = kind->size; at < size; at++) {
        if (given[at] != 0)
            return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, kind->where,
                               "run it with the library that it was compiled for, or leave the field alone",
                               "the program sets a field, at byte %zu, that this older library does not have", at);
    }
    return ARTEL_OK;
}

artel_status artel__take_options(artel_context *ctx, const artel__options_kind *kind, const void *given, void *chosen)
{
    size_t size;
    if (given) {
        memcpy(&size, given, sizeof size);
        ARTEL_TRY(check_size(ctx, kind, given, size));
        memcpy(chosen, given, size < kind->size ? size : kind->size);
        memcpy(chosen, &kind->size, sizeof kind->size); /* it is one of this library now */
    }
    for (const artel__range *range = kind->range; range && range->name; range++)
        ARTEL_TRY(check_range(ctx, range, chosen));
    return ARTEL_OK;
}
