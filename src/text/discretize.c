/* SPDX-License-Identifier: Apache-2.0 */
/* Discretization and CategoryEncoding: numbers into bins, bins into vectors. See functions.h. */
#include "text/functions.h"

static const char *infer_discretize(const void *settings, const artel__cells *in, int inputs, artel__cells *out)
{
    const artel__discretize *s = settings;
    if (inputs != 1 || in[0].dtype == ARTEL_DTYPE_STRING) return "is not one tensor of numbers";
    return artel__encoding_infer(&s->encoding, &in[0].shape, out);
}

/* The first boundary above x, as an upper bound finds it: a NaN lies behind all. */
static int64_t find_bin(const artel__discretize *s, float x)
{
    int64_t low = 0, high = s->boundaries;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (x < s->boundary[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static artel_status run_discretize(const void *settings, const artel__cells *in, int inputs, artel__cells *out,
                                   artel__row_scratch *scratch, artel__row_fault *fault)
{
    const artel__discretize *s = settings;
    (void)inputs;
    (void)scratch;
    (void)fault;
    artel__encoding_begin(&s->encoding, out);
    for (int64_t i = 0; i < in[0].count; i++)
        artel__encoding_put(&s->encoding, &in[0].shape, i, find_bin(s, (float)artel__cell_number(&in[0], i)), 1, out);
    artel__encoding_end(&s->encoding, out);
    return ARTEL_OK;
}

const artel__row_function artel__discretize_function = {"Discretization", infer_discretize, run_discretize};

static const char *infer_categories(const void *settings, const artel__cells *in, int inputs, artel__cells *out)
{
    const artel__categories *s = settings;
    if (inputs > 2 || in[0].dtype == ARTEL_DTYPE_STRING) return "is not one tensor of integers";
    if (inputs == 2 && s->encoding.mode != ARTEL__ENCODE_COUNT)
        return "has count_weights, which go with output_mode \"count\"";
    if (inputs == 2 && (in[1].dtype == ARTEL_DTYPE_STRING || !artel__shape_equal(&in[0].shape, &in[1].shape)))
        return "and its count_weights differ in shape";
    return artel__encoding_infer(&s->encoding, &in[0].shape, out);
}

static artel_status run_categories(const void *settings, const artel__cells *in, int inputs, artel__cells *out,
                                   artel__row_scratch *scratch, artel__row_fault *fault)
{
    const artel__categories *s = settings;
    (void)scratch;
    (void)fault;
    artel__encoding_begin(&s->encoding, out);
    for (int64_t i = 0; i < in[0].count; i++) {
        float weight = inputs == 2 ? (float)artel__cell_number(&in[1], i) : 1;
        artel__encoding_put(&s->encoding, &in[0].shape, i, artel__cell_integer(&in[0], i), weight, out);
    }
    artel__encoding_end(&s->encoding, out);
    return ARTEL_OK;
}

const artel__row_function artel__categories_function = {"CategoryEncoding", infer_categories, run_categories};
