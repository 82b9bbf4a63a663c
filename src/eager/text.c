/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of arrays of strings: whose bytes they are.
 *
 * An array that owns elements owns their bytes: one block for all of them, each with a NUL behind it, made anew when
 * strings are written. Views, and elements that were read, point into it. Numbers become their shortest digits in
 * Python's layout; strings become numbers in text/words_element.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "eager/eager_impl.h"

/* -- bytes -- */

artel_status artel__ndarray_take_text(artel_ndarray *a, const artel_string *from)
{
    artel_string *to = (artel_string *)(void *)a->data;
    size_t bytes = (size_t)a->count + 1;
    void *block;
    for (int64_t i = 0; from && i < a->count; i++) {
        ARTEL_TRY(artel__string_check(a->eager->ctx, "array", &from[i], i));
        if (__builtin_add_overflow(bytes, from[i].length, &bytes))
            return artel__fail_memory(a->eager->ctx, "strings", SIZE_MAX);
    }
    ARTEL_TRY(artel__alloc(a->eager->ctx, bytes, "strings", &block));
    char *at = block;
    for (int64_t i = 0; i < a->count; i++) {
        size_t length = from ? from[i].length : 0;
        if (length) memcpy(at, from[i].bytes, length);
        at[length] = '\0';
        to[i] = (artel_string){at, length};
        at += length + 1;
    }
    artel__free(a->eager->ctx, a->text); /* behind the copy: `from` may be strings of this array */
    a->text = block;
    return ARTEL_OK;
}

artel_status artel__ndarray_convert(artel_eager *e, artel_dtype from, const void *source, artel_dtype to, void *target,
                                    int64_t count)
{
    if (to == ARTEL_DTYPE_STRING)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "array", "use artel_ndarray_cast, whose result owns them",
                           "numbers have no strings to be read as, or written");
    if (from == ARTEL_DTYPE_STRING) return artel__string_parse(e->ctx, "array", source, to, target, count);
    artel__convert(from, source, to, target, count);
    return ARTEL_OK;
}

/* -- strings of numbers -- */

/* The shortest digits that read back as this number of 16 bits. */
static double short_half(artel_dtype dtype, const void *element, double value)
{
    char digits[48], text[64];
    for (int count = 1; count < 6; count++) {
        double back;
        uint16_t narrow;
        snprintf(digits, sizeof digits, "%.*e", count - 1, value < 0 ? -value : value);
        const char *behind = count > 1 ? digits + 2 : digits + 1; /* the point, whatever the locale writes */
        snprintf(text, sizeof text, "%s%c%c%s", value < 0 ? "-" : "", digits[0], '.', behind);
        if (!artel__parse_double(text, &back)) continue;
        artel__convert(ARTEL_DTYPE_FLOAT64, &back, dtype, &narrow, 1);
        if (memcmp(&narrow, element, sizeof narrow) == 0) return back;
    }
    return value;
}

static void print_real(artel_dtype dtype, const void *element, char *out, size_t size)
{
    float single;
    double value;
    if (dtype == ARTEL_DTYPE_FLOAT32) {
        memcpy(&single, element, sizeof single);
        artel__format_float(out, size, single);
        return;
    }
    artel__convert(dtype, element, ARTEL_DTYPE_FLOAT64, &value, 1);
    bool half = dtype != ARTEL_DTYPE_FLOAT64 && value - value == 0 && value != 0;
    artel__format_double(out, size, half ? short_half(dtype, element, value) : value);
}

static void print_one(artel_dtype dtype, const void *element, char *out, size_t size)
{
    int64_t whole;
    uint64_t natural;
    if (artel__is_floating(dtype)) {
        print_real(dtype, element, out, size);
    } else if (dtype == ARTEL_DTYPE_BOOL) {
        snprintf(out, size, *(const uint8_t *)element ? "True" : "False");
    } else if (dtype == ARTEL_DTYPE_UINT64) {
        memcpy(&natural, element, sizeof natural);
        snprintf(out, size, "%llu", (unsigned long long)natural);
    } else {
        artel__convert(dtype, element, ARTEL_DTYPE_INT64, &whole, 1);
        snprintf(out, size, "%lld", (long long)whole);
    }
}

enum {
    PRINTED = 40 /* bytes of any number */
};

artel_status artel__ndarray_print(artel_eager *e, artel_dtype from, const void *source, const artel_shape *shape,
                                  artel_ndarray **out)
{
    artel_ndarray *made;
    void *block;
    ARTEL_TRY(artel__ndarray_new(e, ARTEL_DTYPE_STRING, shape, &made));
    artel_status status = artel__alloc(e->ctx, (size_t)made->count * PRINTED + 1, "strings", &block);
    if (status < 0) {
        artel_ndarray_release(made);
        return status;
    }
    artel_string *element = (artel_string *)(void *)made->data;
    for (int64_t i = 0; i < made->count; i++) {
        char *text = (char *)block + (size_t)i * PRINTED;
        print_one(from, (const char *)source + (size_t)i * artel_dtype_size(from), text, PRINTED);
        element[i] = (artel_string){text, strlen(text)};
    }
    status = artel__ndarray_take_text(made, element);
    artel__free(e->ctx, block);
    if (status < 0)
        artel_ndarray_release(made);
    else
        *out = made;
    return status;
}
