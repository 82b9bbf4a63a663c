/* SPDX-License-Identifier: Apache-2.0 */
/* ContrastLimitedAdaptiveHistogramEqualization: the contrast of an image evened out tile by tile.
 *
 *   histogram   how many pixels of a tile have each of 256 values, by channel; what is above the limit is spread over
 * all values curve       what each value becomes: its place among those of the tile, 0 .. 255 pixel       the mean of
 * the curves of the four tiles around it, weighted by how near their middles are An image that the tiles do not divide
 * is mirrored at its lower and right borders, for the histograms alone. In training and outside of it, as in Keras;
 * after keras/src/layers/preprocessing/image_preprocessing/clahe.py. No gradient passes: what is looked up are whole
 * numbers.
 */
#include <math.h>

#include "nn/augment.h"
#include "op/gather.h"
#include "op/histogram.h"

enum {
    VALUES = 256,
    MOST_CURVES = 65536 /* so that the place of a value is a whole number in float32 */
};

typedef struct tiles_config {
    artel__ints grid;
    int data_format;
    double clip_limit;
} tiles_config;

#define CONFIG(field) offsetof(tiles_config, field)
static const artel__option tiles_options[] = {
    {"tile_grid_size", "tiles down and across", ARTEL__OPTION_INTS, CONFIG(grid), "[8, 8]", 1, 4096, NULL},
    {"clip_limit", "the most that a value may have, in parts of what is even; 0: no limit", ARTEL__OPTION_FLOAT,
     CONFIG(clip_limit), "4.0", 0, 0, NULL},
    ARTEL__PART("value_range", "least and greatest value of a pixel"),
    ARTEL__PART("factor", "accepted"),
    ARTEL__PART("seed", "accepted; nothing is drawn"),
    ARTEL__PART("bounding_box_format", "accepted"),
    ARTEL__DATA_FORMAT(tiles_config),
    ARTEL__OPTIONS_END,
};

/* An image of [length 0][length 1][channels] in count[0] times count[1] tiles of extent[0] times extent[1] pixels. */
typedef struct tiling {
    int64_t length[2], count[2], extent[2], channels;
} tiling;

static artel_status read_tiling(const artel__layer *layer, const artel_shape *image, tiling *out)
{
    const tiles_config *c = layer->config;
    if (c->grid.count != 2)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write two numbers",
                                 "the setting \"tile_grid_size\" has %d", c->grid.count);
    for (int i = 0; i < 2; i++) {
        int64_t length = image->dim[i], count = c->grid.item[i], extent = (length + count - 1) / count;
        if (length < 1 || extent * count > 2 * length)
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose fewer tiles, or larger images",
                                     "an image of %lld pixels is too small for %lld tiles", (long long)length,
                                     (long long)count);
        out->length[i] = length;
        out->count[i] = count;
        out->extent[i] = extent;
    }
    out->channels = image->dim[2];
    if (out->count[0] * out->count[1] * out->channels <= MOST_CURVES) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "choose fewer tiles",
                             "more than %d tiles and channels are not supported", MOST_CURVES);
}

static void *scratch(artel__graph *graph, int64_t count, size_t size)
{
    void *memory = artel__arena_alloc(graph->arena, (size_t)count, size);
    if (!memory) graph->status = ARTEL_ERROR_NO_MEMORY;
    return memory;
}

/* -- curves -- */

/* Mirrored behind its end, until tiles fill the axis. */
static artel__value_id mirrored(artel__graph *graph, artel__value_id x, const tiling *t, int axis)
{
    int64_t whole = t->count[axis] * t->extent[axis], length = t->length[axis];
    artel_shape places = artel__shape(1, whole);
    int32_t *index = whole > length ? scratch(graph, whole, sizeof *index) : NULL;
    if (!index) return x;
    for (int64_t i = 0; i < whole; i++) index[i] = (int32_t)(i < length ? i : 2 * length - 1 - i);
    return artel__op_take(graph, x, artel__op_constant(graph, ARTEL_DTYPE_INT32, &places, index), axis);
}

/* [curves][VALUES]; curves are ordered by tile, then by channel. */
static artel__value_id histograms(artel__graph *graph, artel__value_id x, const tiling *t)
{
    artel_shape apart = artel__shape(5, t->count[0], t->extent[0], t->count[1], t->extent[1], t->channels);
    artel_shape columns = artel__shape(2, t->extent[0] * t->extent[1], t->count[0] * t->count[1] * t->channels);
    x = mirrored(graph, mirrored(graph, x, t, 0), t, 1);
    x = artel__op_transpose(graph, artel__op_reshape(graph, x, &apart), (int[]){1, 3, 0, 2, 4});
    x = artel__augment_bins(graph, artel__op_reshape(graph, x, &columns));
    return artel__op_cast(graph, artel__op_histogram(graph, x, VALUES), graph->real);
}

static artel__value_id limited(artel__graph *graph, artel__value_id counts, double limit)
{
    artel__bounds range = {0, limit};
    artel__value_id kept = artel__augment_clip(graph, counts, &range);
    artel__value_id above = artel__op_binary(graph, ARTEL__BINARY_SUB, counts, kept);
    artel__value_id share =
        artel__op_affine(graph, artel__op_reduce(graph, ARTEL__REDUCE_SUM, above, 2, true), 1.0 / VALUES, 0);
    return artel__op_add(graph, kept, share);
}

/* Running sums along the last axis of [curves][VALUES]: of 2, of 4, of 8 numbers, and so on. */
static artel__value_id running(artel__graph *graph, artel__value_id x)
{
    for (int64_t by = 1; by < VALUES; by *= 2) {
        const int64_t before[2] = {0, by}, behind[2] = {0, -by};
        x = artel__op_add(graph, x, artel__op_pad(graph, x, before, behind, 0));
    }
    return x;
}

static artel__value_id curves(artel__graph *graph, artel__value_id counts, const tiling *t)
{
    static const artel__bounds bytes = {0, 255};
    double pixels = (double)(t->extent[0] * t->extent[1]);
    artel__value_id sums = running(graph, counts);
    artel__value_id least = artel__op_reduce(graph, ARTEL__REDUCE_MIN, sums, 2, true),
                    rest = artel__op_affine(graph, least, -1, pixels);
    artel__value_id none = artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, rest, 0);
    rest = artel__op_where(graph, none, artel__op_affine(graph, rest, 0, 1), rest);
    artel__value_id place = artel__op_affine(graph, artel__op_binary(graph, ARTEL__BINARY_SUB, sums, least), 255, 0);
    return artel__augment_clip(graph, artel__op_binary(graph, ARTEL__BINARY_DIV, place, rest), &bytes);
}

/* -- pixels -- */

/* Along an axis: where the curves of the tile before each pixel and of the one behind it begin, and how much the latter
 * counts. */
typedef struct neighbours {
    artel__value_id first, second, weight;
} neighbours;

/* `stride`: curves from a tile to the next one. `shape` has that axis alone. */
static neighbours neighbours_along(artel__graph *graph, const tiling *t, int axis, int64_t stride,
                                   const artel_shape *shape)
{
    int64_t length = t->length[axis], last = t->count[axis] - 1;
    double extent = (double)t->extent[axis], *number = scratch(graph, 3 * length, sizeof *number);
    double *first = number, *second = number ? number + length : NULL, *weight = number ? second + length : NULL;
    bool wide = graph->real == ARTEL_DTYPE_FLOAT64;
    if (!number) return (neighbours){ARTEL__NO_VALUE, ARTEL__NO_VALUE, ARTEL__NO_VALUE};
    for (int64_t i = 0; i < length; i++) {
        double place = ((double)i - extent / 2) / extent; /* in tiles, half of one in front */
        place = wide ? place + 1 : (double)((float)place + 1.0f);
        double below = floor(place);
        int64_t before = (int64_t)below - 1, behind = (int64_t)below;
        before = before < 0 ? 0 : before > last ? last : before;
        behind = behind > last ? last : behind;
        first[i] = (double)(before * stride * VALUES);
        second[i] = (double)(behind * stride * VALUES);
        weight[i] = place - below;
    }
    artel__value_id a = artel__constant_numbers(graph, shape, first);
    artel__value_id b = artel__constant_numbers(graph, shape, second);
    artel__value_id w = artel__constant_numbers(graph, shape, weight);
    return (neighbours){a, b, w};
}

/* The pixels' values plus where the curves of their channels begin. */
static artel__value_id places_of(artel__graph *graph, artel__value_id x, const tiling *t)
{
    static const artel__bounds bytes = {0, 255};
    artel_shape by_channel = artel__shape(1, t->channels);
    artel__value_id value = artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, artel__augment_clip(graph, x, &bytes));
    artel__value_id channel = artel__op_affine(graph, artel__augment_places(graph, &by_channel), VALUES, 0);
    return artel__op_add(graph, value, channel);
}

static artel__value_id look_up(artel__graph *graph, artel__value_id table, artel__value_id place, const tiling *t)
{
    artel_shape image = artel__shape(3, t->length[0], t->length[1], t->channels),
                flat = artel__shape(1, artel_shape_count(&image));
    artel__value_id index = artel__op_cast(graph, artel__op_reshape(graph, place, &flat), ARTEL_DTYPE_INT32);
    return artel__op_reshape(graph, artel__op_take(graph, table, index, 0), &image);
}

/* a (1 - weight) + b weight */
static artel__value_id between(artel__graph *graph, artel__value_id a, artel__value_id b, artel__value_id weight)
{
    artel__value_id left = artel__op_binary(graph, ARTEL__BINARY_MUL, a, artel__op_affine(graph, weight, -1, 1));
    artel__value_id right = artel__op_binary(graph, ARTEL__BINARY_MUL, b, weight);
    return artel__op_add(graph, left, right);
}

static artel__value_id blended(artel__graph *graph, artel__value_id x, artel__value_id table, const tiling *t)
{
    artel_shape flat = artel__shape(1, t->count[0] * t->count[1] * t->channels * VALUES),
                line = artel__shape(3, (int64_t)1, t->length[1], (int64_t)1),
                column = artel__shape(3, t->length[0], (int64_t)1, (int64_t)1);
    neighbours down = neighbours_along(graph, t, 0, t->count[1] * t->channels, &column),
               across = neighbours_along(graph, t, 1, t->channels, &line);
    artel__value_id place = places_of(graph, x, t), half[2];
    table = artel__op_reshape(graph, table, &flat);
    for (int i = 0; i < 2; i++) {
        artel__value_id row = artel__op_add(graph, place, i ? down.second : down.first);
        artel__value_id left = look_up(graph, table, artel__op_add(graph, row, across.first), t);
        artel__value_id right = look_up(graph, table, artel__op_add(graph, row, across.second), t);
        half[i] = between(graph, left, right, across.weight);
    }
    return between(graph, half[0], half[1], down.weight);
}

static artel_status call_tiles(artel__layer *layer, artel__call *call)
{
    static const artel__bounds bytes = {0, 255};
    const tiles_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__bounds range;
    tiling t;
    ARTEL_TRY(artel__layer_check_input(layer, call, 3, 3));
    ARTEL_TRY(artel__augment_range(layer, false, &range));
    artel__value_id x = artel__channels_last(graph, artel__as_float(graph, call->in[0].value), c->data_format);
    ARTEL_TRY(graph->status);
    ARTEL_TRY(read_tiling(layer, &graph->value[x].shape, &t));
    x = artel__augment_rescale(graph, x, &range, &bytes);
    artel__value_id counts = histograms(graph, x, &t);
    if (c->clip_limit > 0)
        counts = limited(graph, counts, c->clip_limit * (double)(t.extent[0] * t.extent[1]) / VALUES);
    x = blended(graph, x, curves(graph, counts, &t), &t);
    x = artel__augment_rescale(graph, x, &bytes, &range);
    artel__call_return(call, artel__channels_back(graph, x, c->data_format));
    return graph->status;
}

const artel__layer_def artel__layer_contrast_limited_adaptive_histogram_equalization_def = {
    .class_name = "ContrastLimitedAdaptiveHistogramEqualization",
    .doc = "Evens out the contrast of images tile by tile.",
    .config_size = sizeof(tiles_config),
    .options = tiles_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_tiles,
};
