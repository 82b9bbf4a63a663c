/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that change some images while training, or a part of them: RandomErasing, RandomGaussianBlur.
 *
 * As in Keras the strength of a blur is drawn for the batch, and which images it meets for each. After
 * keras/src/layers/preprocessing/image_preprocessing.
 */
#include "nn/augment.h"

#define MOST_TAPS 1024 /* each adds nodes to the graph */

typedef struct part_config {
    int data_format;
} part_config;

#define COMMON                                                                                                   \
    ARTEL__PART("factor", "probability: a number, or two"),                                                      \
        ARTEL__PART("value_range", "least and greatest value of a pixel"),                                       \
        ARTEL__PART("seed", "accepted; the run's seed decides"), ARTEL__PART("bounding_box_format", "accepted"), \
        ARTEL__DATA_FORMAT(part_config)

static const artel__option erasing_options[] = {
    ARTEL__PART("scale", "part of the image: a number, or two"),
    ARTEL__PART("fill_value", "a number, one for each channel, or null: noise"), COMMON, ARTEL__OPTIONS_END};
static const artel__option blur_options[] = {ARTEL__PART("kernel_size", "an odd number, or two"),
                                             ARTEL__PART("sigma", "a number, or two"), COMMON, ARTEL__OPTIONS_END};

static const artel__bounds unit = {0, 1};

static artel__value_id part_of(artel__graph *graph, artel__value_id x, int64_t k)
{
    return artel__augment_pixel(graph, artel__op_slice(graph, x, 0, k, 1, 1));
}

/* -- erased -- */

static artel_status filling(artel__layer *layer, artel__graph *graph, artel__value_id x, const artel__bounds *range,
                            artel__value_id *out)
{
    json_t *given = artel__layer_setting(layer, "fill_value");
    double number = 0;
    if (!given)
        *out = artel__op_affine(graph, artel__op_gaussian_noise(graph, artel__op_fill_like(graph, x, 0), 1),
                                range->high, 0);
    else if (artel__json_number(given, &number))
        *out = artel__op_fill_like(graph, x, number);
    else if (json_is_array(given) && json_array_size(given) == 3)
        *out = artel__constant_json(graph, given);
    if ((given && !artel__json_number(given, &number) && !(json_is_array(given) && json_array_size(given) == 3)) ||
        (graph->status >= 0 && *out < 0))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write a number, or three",
                                 "the setting \"fill_value\" is neither");
    *out = artel__augment_clip(graph, *out, range);
    return graph->status;
}

static artel_status erase(artel__layer *layer, artel__graph *graph, artel__value_id *x, const artel__bounds *range)
{
    artel__bounds factor, scale;
    ARTEL_TRY(artel__augment_bounds(layer, "factor", 0, &unit, &factor));
    ARTEL_TRY(artel__augment_bounds(layer, "scale", 0, &(artel__bounds){0.02, 0.33}, &scale));
    artel_shape two = artel__shape(1, (int64_t)2), image = graph->value[*x].shape;
    artel_shape line = artel__shape(3, (int64_t)1, image.dim[1], (int64_t)1),
                column = artel__shape(3, image.dim[0], (int64_t)1, (int64_t)1);
    artel__value_id fill = ARTEL__NO_VALUE,
                    ratio = artel__augment_uniform(graph, *x, scale.low, scale.high, &two, false);
    ratio = artel__op_unary(graph, ARTEL__UNARY_SQRT, NULL, ratio);
    artel__value_id across = artel__augment_run(graph, part_of(graph, ratio, 0), &line, *x),
                    down = artel__augment_run(graph, part_of(graph, ratio, 1), &column, *x);
    artel__value_id meets = artel__augment_chance(graph, *x, &factor);
    ARTEL_TRY(filling(layer, graph, *x, range, &fill));
    meets = artel__op_logical_and(graph, artel__op_logical_and(graph, across, down), meets);
    *x = artel__op_where(graph, meets, fill, *x);
    return graph->status;
}

static artel_status call_erasing(artel__layer *layer, artel__call *call)
{
    const part_config *c = layer->config;
    artel__bounds range;
    artel__value_id x;
    ARTEL_TRY(artel__augment_range(layer, false, &range));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (call->graph->training) ARTEL_TRY(erase(layer, call->graph, &x, &range));
    return artel__augment_finish(layer, call, c->data_format, x);
}

/* -- blurred -- */

static artel_status read_size(const artel__layer *layer, int64_t size[2])
{
    json_t *given = artel__layer_setting(layer, "kernel_size");
    size[0] = size[1] = 3;
    bool good = !given || artel__json_integer(given, &size[0]);
    if (json_is_array(given) && json_array_size(given) == 2)
        good = artel__json_integer(json_array_get(given, 0), &size[0]) &&
               artel__json_integer(json_array_get(given, 1), &size[1]);
    else
        size[1] = size[0];
    for (int i = 0; i < 2; i++) good = good && size[i] % 2 == 1 && size[i] > 0 && size[i] <= MOST_TAPS;
    if (good && size[0] * size[1] <= MOST_TAPS) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write an odd number, or two, of at most 1024 places together",
                             "the setting \"kernel_size\" is none");
}

/* exp(-(x / sigma)^2 / 2) around the middle, scaled to add up to 1: [size]. */
static artel__value_id bell(artel__graph *graph, artel__value_id sigma, int64_t size)
{
    double x[MOST_TAPS];
    artel_shape shape = artel__shape(1, size);
    for (int64_t i = 0; i < size; i++) x[i] = (double)i - (double)(size - 1) / 2;
    artel__value_id at = artel__op_binary(graph, ARTEL__BINARY_DIV, artel__constant_numbers(graph, &shape, x), sigma);
    at = artel__op_affine(graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, at), -0.5f, 0);
    at = artel__op_unary(graph, ARTEL__UNARY_EXPONENTIAL, NULL, at);
    return artel__op_binary(graph, ARTEL__BINARY_DIV, at, artel__op_reduce(graph, ARTEL__REDUCE_SUM, at, 1, true));
}

/* The window has size[0] lines of size[1]; its numbers are those of the matrix of size[1] lines, one after another, as
 * Keras puts them. */
static artel__value_id blur(artel__graph *graph, artel__value_id x, const artel__bounds *sigma, const int64_t size[2])
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape two = artel__shape(1, (int64_t)2), column = artel__shape(2, size[1], (int64_t)1),
                flat = artel__shape(1, size[0] * size[1]);
    artel_shape image = graph->value[x].shape;
    int64_t around[3] = {size[0] / 2, size[1] / 2, 0};
    artel__value_id drawn =
        artel__op_affine(graph, artel__augment_uniform(graph, x, sigma->low, sigma->high, &two, true), 1, 1e-6);
    artel__value_id first = bell(graph, artel__op_slice(graph, drawn, 0, 0, 1, 1), size[0]);
    artel__value_id second =
        artel__op_reshape(graph, bell(graph, artel__op_slice(graph, drawn, 0, 1, 1, 1), size[1]), &column);
    artel__value_id taps = artel__op_reshape(graph, artel__op_binary(graph, ARTEL__BINARY_MUL, second, first), &flat);
    artel__value_id wide = artel__op_pad(graph, x, around, around, 0), sum = ARTEL__NO_VALUE;
    for (int64_t k = 0; k < size[0] * size[1]; k++) {
        artel__value_id line = artel__op_slice(graph, wide, 0, k / size[1], image.dim[0], 1);
        artel__value_id part = artel__op_slice(graph, line, 1, k % size[1], image.dim[1], 1);
        part = artel__op_binary(graph, ARTEL__BINARY_MUL, part, part_of(graph, taps, k));
        sum = k ? artel__op_add(graph, sum, part) : part;
    }
    return sum;
}

static artel_status call_blur(artel__layer *layer, artel__call *call)
{
    const part_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__bounds factor, sigma, range;
    int64_t size[2];
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "factor", 0, &unit, &factor));
    ARTEL_TRY(artel__augment_bounds(layer, "sigma", 0, &unit, &sigma));
    ARTEL_TRY(artel__augment_range(layer, false, &range));
    ARTEL_TRY(read_size(layer, size));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (graph->training) {
        artel__value_id meets = artel__augment_chance(graph, x, &factor);
        x = artel__augment_clip(graph, artel__op_where(graph, meets, blur(graph, x, &sigma, size), x), &range);
    }
    return artel__augment_finish(layer, call, c->data_format, x);
}

const artel__layer_def artel__layer_random_erasing_def = {
    .class_name = "RandomErasing",
    .doc = "Fills a rectangle of some images.",
    .config_size = sizeof(part_config),
    .options = erasing_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_erasing,
    .returns_input = artel__augment_is_idle,
};
const artel__layer_def artel__layer_random_gaussian_blur_def = {
    .class_name = "RandomGaussianBlur",
    .doc = "Blurs some images.",
    .config_size = sizeof(part_config),
    .options = blur_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_blur,
    .returns_input = artel__augment_is_idle,
};
