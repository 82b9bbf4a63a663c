/* SPDX-License-Identifier: Apache-2.0 */
/* Random changes of the colours of images. See augment.h. Formulas and their order after
 * keras/src/layers/preprocessing/image_preprocessing; hue, saturation and value after
 * tensorflow/core/kernels/image/colorspace_op.h.
 */
#include "nn/augment.h"
#include "op/formula.h"
#include "op/histogram.h"

artel__value_id artel__augment_clip(artel__graph *graph, artel__value_id x, const artel__bounds *range)
{
    return artel__op_unary_exact(graph, ARTEL__UNARY_CLIP, (double[]){range->low, range->high, 0}, x);
}

/* In float32 of bounds that are rounded before they are subtracted. */
static double extent_of(const artel__graph *graph, const artel__bounds *range)
{
    if (graph->real == ARTEL_DTYPE_FLOAT64) return range->high - range->low;
    return (double)((float)range->high - (float)range->low);
}

artel__value_id artel__augment_rescale(artel__graph *graph, artel__value_id x, const artel__bounds *from,
                                       const artel__bounds *to)
{
    if (from->low == to->low && from->high == to->high) return x;
    x = artel__op_affine(graph, x, 1, -from->low);
    x = artel__op_binary(graph, ARTEL__BINARY_DIV, x, artel__op_scalar(graph, extent_of(graph, from)));
    return artel__op_affine(graph, x, extent_of(graph, to), to->low);
}

static const artel__bounds unit = {0, 1}, bytes = {0, 255};

artel__value_id artel__augment_brightness(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                          const artel__bounds *range)
{
    artel__value_id delta = artel__op_affine(graph, artel__augment_draw(graph, x, factor), range->high - range->low, 0);
    return artel__augment_clip(graph, artel__op_add(graph, x, artel__augment_pixel(graph, delta)), range);
}

artel__value_id artel__augment_contrast(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                        const artel__bounds *range)
{
    artel__bounds around = {1 - factor->low, 1 + factor->high};
    artel__value_id scale = artel__augment_pixel(graph, artel__augment_draw(graph, x, &around));
    artel__value_id mean = artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, 3, true);
    return artel__augment_clip(graph, artel__op_add(graph, product(graph, difference(graph, x, mean), scale), mean),
                               range);
}

/* -- hue, saturation, value -- */

typedef struct hsv {
    artel__value_id hue, saturation, value;
} hsv;

/* (a - b) * norm + offset */
static artel__value_id hue_of(artel__graph *graph, artel__value_id a, artel__value_id b, artel__value_id norm,
                              double offset)
{
    return artel__op_affine(graph, product(graph, norm, difference(graph, a, b)), 1, offset);
}

static hsv to_hsv(artel__graph *graph, artel__value_id x)
{
    artel__value_id r = artel__op_slice(graph, x, 2, 0, 1, 1), g = artel__op_slice(graph, x, 2, 1, 1, 1),
                    b = artel__op_slice(graph, x, 2, 2, 1, 1);
    artel__value_id most = artel__op_reduce(graph, ARTEL__REDUCE_MAX, x, 4, true),
                    least = artel__op_reduce(graph, ARTEL__REDUCE_MIN, x, 4, true);
    artel__value_id range = difference(graph, most, least), zero = artel__op_affine(graph, range, 0, 0);
    artel__value_id saturation = binary(graph, ARTEL__BINARY_DIV_NO_NAN, range, most);
    saturation =
        artel__op_where(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, most, 0), saturation, zero);
    artel__value_id norm = binary(graph, ARTEL__BINARY_DIV_NO_NAN, artel__op_affine(graph, range, 0, 1.0 / 6.0), range);
    artel__value_id red = artel__op_compare(graph, ARTEL__COMPARE_EQUAL, r, most),
                    green = artel__op_compare(graph, ARTEL__COMPARE_EQUAL, g, most);
    artel__value_id blue = hue_of(graph, r, g, norm, 4.0 / 6.0),
                    hue = artel__op_where(graph, green, hue_of(graph, b, r, norm, 2.0 / 6.0), blue);
    hue = artel__op_where(graph, red, hue_of(graph, g, b, norm, 0), hue);
    hue = artel__op_where(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, range, 0), hue, zero);
    artel__value_id below = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, hue, 0);
    hue = artel__op_where(graph, below, artel__op_affine(graph, hue, 1, 1), hue);
    return (hsv){hue, saturation, most};
}

/* min(max(sign * |6 hue - centre| + offset, 0), 1), its part of the colour. */
static artel__value_id to_channel(artel__graph *graph, const hsv *x, double centre, double sign, double offset)
{
    artel__value_id away = artel__op_unary(graph, ARTEL__UNARY_ABS, NULL, artel__op_affine(graph, x->hue, 6, -centre));
    artel__value_id d = artel__augment_clip(graph, artel__op_affine(graph, away, sign, offset), &unit);
    artel__value_id shaded = product(graph, x->saturation, d);
    d = artel__op_add(graph, artel__op_affine(graph, x->saturation, -1, 1), shaded);
    return product(graph, d, x->value);
}

static artel__value_id to_rgb(artel__graph *graph, const hsv *x)
{
    artel__value_id part[3] = {to_channel(graph, x, 3, 1, -1), to_channel(graph, x, 2, -1, 2),
                               to_channel(graph, x, 4, -1, 2)};
    return artel__op_concat(graph, part, 3, 2);
}

static bool has_colors(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return false;
    if (graph->value[x].shape.dim[2] == 3) return true;
    graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_INVALID, graph->scope,
                                "feed images of red, green and blue", "an image of %lld channels has no hue",
                                (long long)graph->value[x].shape.dim[2]);
    return false;
}

artel__value_id artel__augment_saturation(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                          const artel__bounds *range)
{
    if (!has_colors(graph, x)) return ARTEL__NO_VALUE;
    artel__value_id f = artel__augment_draw(graph, x, factor);
    f = binary(graph, ARTEL__BINARY_DIV, f, artel__op_affine(graph, artel__op_affine(graph, f, -1, 1), 1, 1e-7));
    hsv c = to_hsv(graph, x);
    c.saturation = artel__augment_clip(graph, product(graph, c.saturation, artel__augment_pixel(graph, f)), range);
    return to_rgb(graph, &c);
}

artel__value_id artel__augment_hue(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                   const artel__bounds *range)
{
    if (!has_colors(graph, x)) return ARTEL__NO_VALUE;
    artel__value_id side =
        artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, artel__augment_draw(graph, x, &unit), 0.5);
    artel__value_id f = artel__augment_draw(graph, x, factor);
    f = artel__op_affine(graph, artel__op_where(graph, side, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, f), f),
                         0.5f, 0);
    hsv c = to_hsv(graph, artel__augment_rescale(graph, x, range, &unit));
    c.hue = artel__op_add(graph, c.hue, artel__augment_pixel(graph, f));
    artel__value_id above = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, c.hue, 1);
    c.hue = artel__op_where(graph, above, artel__op_affine(graph, c.hue, 1, -1), c.hue);
    artel__value_id below = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS, c.hue, 0);
    c.hue = artel__op_where(graph, below, artel__op_affine(graph, c.hue, 1, 1), c.hue);
    return artel__augment_rescale(graph, artel__augment_clip(graph, to_rgb(graph, &c), &unit), &unit, range);
}

/* -- without colours -- */

artel__value_id artel__augment_grayscale(artel__graph *graph, artel__value_id x)
{
    static const double weights[] = {0.2989, 0.5870, 0.1140};
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    if (graph->value[x].shape.dim[2] == 1) return x;
    if (!has_colors(graph, x)) return ARTEL__NO_VALUE;
    artel_shape three = artel__shape(1, (int64_t)3);
    artel__value_id scaled = product(graph, x, artel__constant_numbers(graph, &three, weights));
    return artel__op_reduce(graph, ARTEL__REDUCE_SUM, scaled, 4, true);
}

artel__value_id artel__augment_degenerate(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                          const artel__bounds *range)
{
    artel__value_id f = artel__augment_pixel(graph, artel__augment_draw(graph, x, factor));
    artel__value_id away = difference(graph, artel__augment_grayscale(graph, x), x);
    return artel__augment_clip(graph, artel__op_add(graph, x, product(graph, f, away)), range);
}

/* -- sharpness -- */

artel__value_id artel__augment_sharpness(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                         const artel__bounds *range)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    static const int64_t around[3] = {1, 1, 0};
    artel_shape shape = graph->value[x].shape;
    artel__value_id f = artel__op_affine(graph, artel__augment_draw(graph, x, factor), 2, 0), smooth = ARTEL__NO_VALUE;
    artel__value_id wide = artel__op_pad(graph, x, around, around, 0);
    for (int k = 0; k < 9; k++) {
        artel__value_id part =
            artel__op_slice(graph, artel__op_slice(graph, wide, 0, k / 3, shape.dim[0], 1), 1, k % 3, shape.dim[1], 1);
        part = artel__op_affine(graph, part, k == 4 ? 5.0 / 13.0 : 1.0 / 13.0, 0);
        smooth = k ? artel__op_add(graph, smooth, part) : part;
    }
    f = artel__augment_pixel(graph, artel__op_affine(graph, f, -1, 1));
    return artel__augment_clip(graph, artel__op_add(graph, x, product(graph, f, difference(graph, smooth, x))), range);
}

/* -- by values -- */

artel__value_id artel__augment_posterize(artel__graph *graph, artel__value_id x, const artel__bounds *bits,
                                         const artel__bounds *range)
{
    artel__value_id kept = artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, artel__augment_draw(graph, x, bits));
    /* 2^(8 - bits), exactly: doubled for each bit that goes */
    artel__value_id step = artel__op_affine(graph, kept, 0, 1);
    for (int i = 1; i <= 7; i++) {
        artel__value_id more = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS_EQUAL, kept, (double)(8 - i));
        step = artel__op_where(graph, more, artel__op_affine(graph, step, 2, 0), step);
    }
    step = artel__augment_pixel(graph, step);
    x = artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, artel__augment_rescale(graph, x, range, &bytes));
    x = artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, binary(graph, ARTEL__BINARY_DIV, x, step));
    return artel__augment_rescale(graph, product(graph, x, step), &bytes, range);
}

artel__value_id artel__augment_solarize(artel__graph *graph, artel__value_id x, const artel__bounds *addition,
                                        const artel__bounds *threshold, const artel__bounds *range)
{
    artel__bounds added = {addition->low, addition->high * 255}, limit = {threshold->low, threshold->high * 255};
    artel__value_id a = artel__augment_pixel(graph, artel__augment_draw(graph, x, &added)),
                    t = artel__augment_pixel(graph, artel__augment_draw(graph, x, &limit));
    x = artel__augment_clip(graph, artel__op_add(graph, artel__augment_rescale(graph, x, range, &bytes), a), &bytes);
    x = artel__op_where(graph, artel__op_compare(graph, ARTEL__COMPARE_LESS, x, t), x,
                        artel__op_affine(graph, x, -1, 255));
    return artel__augment_rescale(graph, x, &bytes, range);
}

artel__value_id artel__augment_autocontrast(artel__graph *graph, artel__value_id x, const artel__bounds *range)
{
    artel__value_id y = artel__augment_rescale(graph, x, range, &bytes);
    artel__value_id low = artel__op_reduce(graph, ARTEL__REDUCE_MIN, y, 3, true),
                    high = artel__op_reduce(graph, ARTEL__REDUCE_MAX, y, 3, true);
    artel__value_id full = artel__op_scalar(graph, 255), apart = difference(graph, high, low);
    artel__value_id scale = binary(graph, ARTEL__BINARY_DIV, full, apart);
    artel__value_id offset = product(graph, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, low), scale);
    y = artel__augment_clip(graph, artel__op_add(graph, product(graph, y, scale), offset), &bytes);
    y = artel__augment_rescale(graph, y, &bytes, range);
    return artel__op_where(graph, artel__op_compare(graph, ARTEL__COMPARE_EQUAL, y, y), y, x);
}

/* -- by the batch's histogram -- */

artel__value_id artel__augment_bins(artel__graph *graph, artel__value_id x)
{
    if (graph->real != ARTEL_DTYPE_FLOAT64) return x;
    return artel__op_cast(graph, artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, x), ARTEL_DTYPE_FLOAT32);
}

/* Running sums along the last axis of [c][n]. */
static artel__value_id running(artel__graph *graph, artel__value_id x, int64_t n)
{
    int32_t *first = artel__arena_alloc(graph->arena, (size_t)n, sizeof *first);
    float *weight = artel__arena_alloc(graph->arena, (size_t)(n * n), sizeof *weight);
    if (!first || !weight) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return ARTEL__NO_VALUE;
    }
    for (int64_t i = 0; i < n * n; i++) weight[i] = i % n <= i / n ? 1 : 0;
    return artel__op_band_along(
        graph, x, 1, &(artel__op_band){.extent = n, .outputs = n, .taps = n, .first = first, .weight = weight});
}

/* What each bin becomes, GLOBAL [c][bins]: its place among the counts, those of the first bin that has any left out. */
static artel__value_id equal_places(artel__graph *graph, artel__value_id counts, int64_t bins)
{
    artel__value_id sums = artel__op_cast(graph, running(graph, counts, bins), graph->real);
    artel__value_id some = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, sums, 0);
    artel__value_id total = artel__op_reduce(graph, ARTEL__REDUCE_MAX, sums, 2, true);
    artel__value_id least =
        artel__op_reduce(graph, ARTEL__REDUCE_MIN, artel__op_where(graph, some, sums, total), 2, true);
    artel__value_id rest = difference(graph, total, least);
    artel__value_id none = artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, rest, 0);
    rest = artel__op_where(graph, none, artel__op_affine(graph, rest, 0, 1), rest);
    artel__value_id place = artel__op_affine(graph, difference(graph, sums, least), 255, 0);
    place = artel__op_unary(graph, ARTEL__UNARY_ROUND, NULL, binary(graph, ARTEL__BINARY_DIV, place, rest));
    return artel__augment_clip(graph, place, &bytes);
}

artel__value_id artel__augment_equalize(artel__graph *graph, artel__value_id x, int64_t bins,
                                        const artel__bounds *range)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    double extent = range->high - range->low, last = (double)(bins - 1);
    int64_t channels = graph->value[x].shape.dim[2];
    artel_shape by_channel = artel__shape(1, channels);
    artel__value_id full = artel__op_scalar(graph, 255);
    x = artel__op_affine(graph, x, 255 / extent, -range->low * (255 / extent));
    artel__value_id scaled = binary(graph, ARTEL__BINARY_DIV, artel__op_affine(graph, x, last, 0), full);
    artel__value_id counts = artel__op_histogram(graph, artel__augment_bins(graph, scaled), bins);
    counts = artel__op_all_reduce(graph, artel__op_fold_sum(graph, counts));
    artel__value_id place = artel__op_affine(graph, binary(graph, ARTEL__BINARY_DIV, x, full), last, 0);
    artel__value_id becomes = artel__op_cast(graph, equal_places(graph, counts, bins), ARTEL_DTYPE_FLOAT32);
    artel__value_id y = artel__op_lookup(graph, artel__augment_bins(graph, place), becomes);
    y = artel__op_cast(graph, y, graph->real);
    artel__value_id used = artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_ZERO_TEST, NULL, counts), -1, 1);
    used = artel__op_reshape(graph, artel__op_reduce(graph, ARTEL__REDUCE_SUM, used, 2, false), &by_channel);
    y = artel__op_where(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS_EQUAL, used, 1), x, y);
    return artel__op_affine(graph, y, extent / 255, range->low);
}
