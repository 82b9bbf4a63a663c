/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 (base/rng.c) in 32-bit words and their 64-bit products, a block of four words for every four logical
 * indices of a row. Normal numbers are Box and Muller's in float64, with the device's own logarithm, cosine and sine.
 */
#include "op/lower_random.h"

typedef struct words {
    artel__hlo *hlo;
    artel__hlo_type type, wide; /* UINT32 and UINT64 [rows][blocks] */
    artel__hlo_value counter[4], key[2];
} words;

static artel__hlo_value shift(artel__hlo *h, const char *op, artel__hlo_value a, int bits)
{
    return artel__hlo_binary(h, op, a, artel__hlo_number(h, bits, a));
}

static artel__hlo_value exclusive(artel__hlo *h, artel__hlo_value a, artel__hlo_value b, artel__hlo_value c)
{
    return artel__hlo_binary(h, "xor", artel__hlo_binary(h, "xor", a, b), c);
}

/* The two halves of a times a constant. */
static void multiply(words *w, artel__hlo_value a, uint32_t by, artel__hlo_value *high, artel__hlo_value *low)
{
    artel__hlo *h = w->hlo;
    artel__hlo_value factor = artel__hlo_integer(h, by, &w->wide);
    artel__hlo_value product = artel__hlo_binary(h, "multiply", artel__hlo_convert(h, a, ARTEL_DTYPE_UINT64), factor);
    *high = artel__hlo_convert(h, shift(h, "shift_right_logical", product, 32), ARTEL_DTYPE_UINT32);
    *low = artel__hlo_convert(h, product, ARTEL_DTYPE_UINT32);
}

static void philox(words *w)
{
    artel__hlo *h = w->hlo;
    artel__hlo_value *c = w->counter, *k = w->key;
    for (int round = 0; round < 10; round++) {
        artel__hlo_value high0, low0, high1, low1;
        multiply(w, c[0], 0xD2511F53u, &high0, &low0);
        multiply(w, c[2], 0xCD9E8D57u, &high1, &low1);
        c[0] = exclusive(h, high1, c[1], k[0]);
        c[1] = low1;
        c[2] = exclusive(h, high0, c[3], k[1]);
        c[3] = low0;
        k[0] = artel__hlo_binary(h, "add", k[0], artel__hlo_integer(h, 0x9E3779B9u, &w->type));
        k[1] = artel__hlo_binary(h, "add", k[1], artel__hlo_integer(h, 0xBB67AE85u, &w->type));
    }
}

/* Counter and key as base/rng.h packs them. */
static void begin(words *w, artel__lower *lower, const artel__lower_drawing *d)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type scalar = {.dtype = ARTEL_DTYPE_UINT32};
    artel__hlo_value batch = artel__lower_scalar_of(lower, d->batch, ARTEL_DTYPE_UINT64),
                     row = artel__hlo_integer(h, 0, &w->type);
    artel__hlo_value top = artel__hlo_convert(h, shift(h, "shift_right_logical", batch, 32), ARTEL_DTYPE_UINT32);
    artel__hlo_value node =
        artel__hlo_binary(h, "or", shift(h, "shift_left", top, 24), artel__hlo_integer(h, d->ordinal, &scalar));
    if (!d->shared_rows) {
        artel__hlo_value first = artel__lower_scalar_of(lower, d->first_row, ARTEL_DTYPE_INT64);
        first = artel__hlo_broadcast(h, artel__hlo_convert(h, first, ARTEL_DTYPE_UINT32), &w->type, NULL);
        row = artel__hlo_binary(h, "add", artel__hlo_iota(h, &w->type, 0), first);
    }
    w->counter[0] = artel__hlo_iota(h, &w->type, 1);
    w->counter[1] = row;
    w->counter[2] = artel__hlo_broadcast(h, node, &w->type, NULL);
    w->counter[3] = artel__hlo_broadcast(h, artel__hlo_convert(h, batch, ARTEL_DTYPE_UINT32), &w->type, NULL);
    for (int i = 0; i < 2; i++) {
        artel__hlo_value key = artel__lower_scalar_of(lower, d->key + (size_t)i * sizeof(uint32_t), ARTEL_DTYPE_UINT32);
        w->key[i] = artel__hlo_broadcast(h, key, &w->type, NULL);
    }
}

static artel__hlo_value uniform(artel__hlo *h, artel__hlo_value word)
{
    artel__hlo_value high = artel__hlo_convert(h, shift(h, "shift_right_logical", word, 8), ARTEL_DTYPE_FLOAT32);
    return artel__hlo_binary(h, "multiply", high, artel__hlo_number(h, 0x1p-24, high));
}

/* artel__rng_normal_pair. */
static void normal_pair(artel__hlo *h, artel__hlo_value word0, artel__hlo_value word1, artel__hlo_value out[2])
{
    artel__hlo_value a = artel__hlo_convert(h, word0, ARTEL_DTYPE_FLOAT64),
                     b = artel__hlo_convert(h, word1, ARTEL_DTYPE_FLOAT64);
    a = artel__hlo_binary(h, "multiply", artel__hlo_binary(h, "add", a, artel__hlo_number(h, 1, a)),
                          artel__hlo_number(h, 0x1p-32, a));
    a = artel__hlo_binary(h, "multiply", artel__hlo_unary(h, "log", a), artel__hlo_number(h, -2, a));
    a = artel__hlo_unary(h, "sqrt", a);
    b = artel__hlo_binary(h, "multiply", b, artel__hlo_number(h, 6.283185307179586 * 0x1p-32, b));
    out[0] = artel__hlo_convert(h, artel__hlo_binary(h, "multiply", a, artel__hlo_unary(h, "cosine", b)),
                                ARTEL_DTYPE_FLOAT32);
    out[1] =
        artel__hlo_convert(h, artel__hlo_binary(h, "multiply", a, artel__hlo_unary(h, "sine", b)), ARTEL_DTYPE_FLOAT32);
}

artel__hlo_value artel__lower_draw(artel__lower *lower, const artel__lower_drawing *d)
{
    artel__hlo *h = lower->hlo;
    int64_t blocks = (d->count + 3) / 4;
    words w = {.hlo = h, .type = {.dtype = ARTEL_DTYPE_UINT32, .rank = 2, .dim = {lower->rows, blocks}}};
    artel__hlo_type one = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 3, .dim = {lower->rows, blocks, 1}};
    artel__hlo_type flat = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2, .dim = {lower->rows, 4 * blocks}};
    artel__hlo_value draw[4];
    w.wide = w.type;
    w.wide.dtype = ARTEL_DTYPE_UINT64;
    begin(&w, lower, d);
    philox(&w);
    for (int i = 0; i < 4; i++) {
        if (!d->normal)
            draw[i] = uniform(h, w.counter[i]);
        else if (i % 2 == 0)
            normal_pair(h, w.counter[i], w.counter[i + 1], draw + i);
    }
    for (int i = 0; i < 4; i++) draw[i] = artel__hlo_reshape(h, draw[i], &one);
    return artel__hlo_slice_axis(h, artel__hlo_reshape(h, artel__hlo_concatenate(h, draw, 4, 2), &flat), 1, 0,
                                 d->count);
}

artel__hlo_value artel__lower_drop(artel__hlo *h, artel__hlo_value x, artel__hlo_value draw, double rate, double scale)
{
    artel__hlo_value kept = artel__hlo_compare(h, "GE", draw, artel__hlo_number(h, rate, draw));
    artel__hlo_value scaled = artel__hlo_binary(h, "multiply", x, artel__hlo_number(h, scale, x));
    return artel__hlo_select(h, kept, scaled, artel__hlo_number(h, 0, x));
}
