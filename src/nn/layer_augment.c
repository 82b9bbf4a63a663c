/* SPDX-License-Identifier: Apache-2.0 */
/* Random changes of images while training: mirrored, moved, turned, enlarged, sheared, cut, brighter, of other contrast.
 *
 * Outside training the images go on as they are, as in Keras. What is drawn is a number for each image (RandomCrop: one for the
 * batch), uniform between two bounds that the setting names; equal bounds leave nothing to chance, which is how tests compare with
 * Keras. As with Dropout the run's seed decides, and a draw depends on the row of the global batch alone: it is the same on any
 * number of replicas. After keras/src/layers/preprocessing/image_preprocessing.
 */
#include <math.h>
#include <string.h>

#include "nn/layer_support.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct augment_config {
    int data_format, mode, fill_mode, interpolation;
    double fill_value;
    int64_t height, width;
} augment_config;

/* Two bounds as Keras keeps them after its constructor. */
typedef struct bounds {
    double low, high;
} bounds;

enum {
    MODE_HORIZONTAL,
    MODE_VERTICAL,
    MODE_BOTH
};
static const char *const modes[] = {"horizontal", "vertical", "horizontal_and_vertical", NULL};
static const char *const fill_modes[] = {"constant", "reflect", "wrap", "nearest", NULL}; /* order of artel__warp_fill */
static const char *const interpolations[] = {"nearest", "bilinear", NULL};

#define CONFIG(field) offsetof(augment_config, field)
#define COMMON \
    ARTEL__PART("seed", "accepted; --seed decides"), ARTEL__PART("bounding_box_format", "accepted"), ARTEL__DATA_FORMAT(augment_config)
#define FILLING(fallback)                                                                                                   \
    {"fill_mode", "what is outside an image", ARTEL__OPTION_ENUM, CONFIG(fill_mode), fallback, 0, 0, fill_modes},           \
        {"fill_value", "the value of constant filling", ARTEL__OPTION_FLOAT, CONFIG(fill_value), "0.0", 0, 0, NULL},        \
    {                                                                                                                       \
        "interpolation", "nearest or bilinear", ARTEL__OPTION_ENUM, CONFIG(interpolation), "bilinear", 0, 0, interpolations \
    }
#define FACTOR(name) ARTEL__PART(name, "a number, or two")
#define RANGE ARTEL__PART("value_range", "least and greatest value of a pixel")

static const artel__option flip_options[] = {
    {"mode", "which way", ARTEL__OPTION_ENUM, CONFIG(mode), "horizontal_and_vertical", 0, 0, modes}, COMMON, ARTEL__OPTIONS_END};
static const artel__option crop_options[] = {{"height", "lines", ARTEL__OPTION_INT, CONFIG(height), NULL, 1, INT32_MAX, NULL},
                                             {"width", "columns", ARTEL__OPTION_INT, CONFIG(width), NULL, 1, INT32_MAX, NULL},
                                             COMMON,
                                             ARTEL__OPTIONS_END};
static const artel__option move_options[] = {FACTOR("height_factor"), FACTOR("width_factor"), FACTOR("factor"), FILLING("reflect"), COMMON,
                                             ARTEL__OPTIONS_END};
static const artel__option turn_options[] = {FACTOR("factor"), FILLING("reflect"), COMMON, ARTEL__OPTIONS_END};
static const artel__option shear_options[] = {FACTOR("x_factor"), FACTOR("y_factor"), FACTOR("factor"), FILLING("reflect"), COMMON,
                                              ARTEL__OPTIONS_END};
static const artel__option color_options[] = {FACTOR("factor"), RANGE, COMMON, ARTEL__OPTIONS_END};

/* -- settings -- */

static artel_status number_or_two(const artel__layer *layer, const char *key, double least, bounds *out)
{
    json_t *given = artel__layer_setting(layer, key);
    double number;
    if (json_is_array(given) && json_array_size(given) == 2 && artel__json_number(json_array_get(given, 0), &out->low) &&
        artel__json_number(json_array_get(given, 1), &out->high)) {
        if (out->low > out->high) *out = (bounds){out->high, out->low};
        return ARTEL_OK;
    }
    if (!artel__json_number(given, &number))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write a number, or a list of two", "the setting \"%s\" is neither", key);
    number = fabs(number);
    *out = (bounds){-number > least ? -number : least, number};
    return ARTEL_OK;
}

static artel_status value_range(const artel__layer *layer, bounds *out)
{
    *out = (bounds){0, 255};
    json_t *given = artel__layer_setting(layer, "value_range");
    if (!given) return ARTEL_OK;
    if (json_array_size(given) == 2 && artel__json_number(json_array_get(given, 0), &out->low) &&
        artel__json_number(json_array_get(given, 1), &out->high))
        return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write a list of two numbers", "the setting \"value_range\" is none");
}

/* -- what they share -- */

/* Whether there is something to do; `out` is the image [h][w][c] as float32, or the input when there is not. */
static artel_status begin(artel__layer *layer, artel__call *call, artel__value_id *out)
{
    const augment_config *c = layer->config;
    ARTEL_TRY(artel__layer_check_input(layer, call, 3, 3));
    *out = artel__as_float(call->graph, call->in[0].value);
    if (call->graph->training) *out = artel__channels_last(call->graph, *out, c->data_format);
    return call->graph->status;
}

static artel_status finish(artel__layer *layer, artel__call *call, artel__value_id x)
{
    const augment_config *c = layer->config;
    artel__call_return(call, call->graph->training ? artel__channels_back(call->graph, x, c->data_format) : x);
    return call->graph->status;
}

/* A number between the bounds for each image, [1]; one number itself where they are equal. */
static artel__value_id draw(artel__graph *graph, artel__value_id like, double low, double high)
{
    artel_shape one = artel__shape(1, (int64_t)1);
    return artel__op_uniform(graph, like, low, high, &one, false);
}

static artel__value_id as_pixel(artel__graph *graph, artel__value_id x)
{
    artel_shape pixel = artel__shape(3, (int64_t)1, (int64_t)1, (int64_t)1);
    return artel__op_reshape(graph, x, &pixel);
}

static artel__value_id clip(artel__graph *graph, artel__value_id x, const bounds *range)
{
    float limits[3] = {(float)range->low, (float)range->high, 0};
    return artel__op_unary(graph, ARTEL__UNARY_CLIP, limits, x);
}

/* -- mirrored -- */

static artel_status call_flip(artel__layer *layer, artel__call *call)
{
    const augment_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, &x));
    if (!graph->training) return finish(layer, call, x);
    artel_shape shape = graph->value[x].shape;
    artel__value_id u = as_pixel(graph, draw(graph, x, 0, 1));
    artel__value_id flips = artel__op_compare_scalar(graph, ARTEL__COMPARE_LESS_EQUAL, u, 0.5);
    for (int axis = 1; axis >= 0; axis--) {
        if (c->mode == (axis ? MODE_VERTICAL : MODE_HORIZONTAL)) continue;
        x = artel__op_where(graph, flips, artel__op_slice(graph, x, axis, shape.dim[axis] - 1, shape.dim[axis], -1), x);
    }
    return finish(layer, call, x);
}

/* -- maps -- */

static artel__value_id constant(artel__graph *graph, artel__value_id like, double number)
{
    return artel__op_fill_like(graph, like, number);
}

/* Six ROW numbers, each [1], as a map. */
static artel__value_id map_of(artel__graph *graph, const artel__value_id part[6])
{
    return artel__op_concat(graph, part, 6, 0);
}

static artel_status through(artel__layer *layer, artel__call *call, artel__value_id x, const artel__value_id part[6])
{
    const augment_config *c = layer->config;
    artel__graph *graph = call->graph;
    ARTEL_TRY(graph->status);
    artel_shape shape = graph->value[x].shape;
    artel__warp_settings warp = {.height = shape.dim[0],
                                 .width = shape.dim[1],
                                 .bilinear = c->interpolation == 1,
                                 .mode = (artel__warp_fill)c->fill_mode,
                                 .fill = (float)c->fill_value};
    return finish(layer, call, artel__op_warp(graph, x, map_of(graph, part), &warp));
}

static artel_status call_translation(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    bounds down, across;
    artel__value_id x;
    ARTEL_TRY(number_or_two(layer, "height_factor", -1, &down));
    ARTEL_TRY(number_or_two(layer, "width_factor", -1, &across));
    ARTEL_TRY(begin(layer, call, &x));
    if (!graph->training) return finish(layer, call, x);
    artel_shape shape = graph->value[x].shape;
    artel__value_id dy = draw(graph, x, down.low, down.high), dx = draw(graph, x, across.low, across.high);
    artel__value_id one = constant(graph, dy, 1), zero = constant(graph, dy, 0);
    artel__value_id part[6] = {one,  zero, artel__op_affine(graph, dx, -(float)shape.dim[1], 0),
                               zero, one,  artel__op_affine(graph, dy, -(float)shape.dim[0], 0)};
    return through(layer, call, x, part);
}

/* (extent - 1) / 2 * (1 - zoom) */
static artel__value_id zoom_offset(artel__graph *graph, artel__value_id zoom, int64_t extent)
{
    artel__value_id rest = artel__op_affine(graph, zoom, -1, 1);
    return artel__op_affine(graph, rest, ((float)extent - 1.0f) / 2.0f, 0);
}

static artel_status call_zoom(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    bool apart = artel__layer_setting(layer, "width_factor");
    bounds down, across;
    artel__value_id x;
    ARTEL_TRY(number_or_two(layer, "height_factor", -1, &down));
    if (apart) ARTEL_TRY(number_or_two(layer, "width_factor", -1, &across));
    ARTEL_TRY(begin(layer, call, &x));
    if (!graph->training) return finish(layer, call, x);
    artel_shape shape = graph->value[x].shape;
    artel__value_id lines = draw(graph, x, 1 + down.low, 1 + down.high), columns = lines;
    if (apart) columns = draw(graph, x, 1 + across.low, 1 + across.high);
    artel__value_id zero = constant(graph, lines, 0);
    artel__value_id part[6] = {columns, zero,  zoom_offset(graph, columns, shape.dim[1]),
                               zero,    lines, zoom_offset(graph, lines, shape.dim[0])};
    return through(layer, call, x, part);
}

/* centre - centre * a - other * b */
static artel__value_id turn_offset(artel__graph *graph, float centre, artel__value_id a, float column, artel__value_id b, float line)
{
    artel__value_id at = artel__op_affine(graph, artel__op_affine(graph, a, column, 0), -1, centre);
    return artel__op_binary(graph, ARTEL__BINARY_SUB, at, artel__op_affine(graph, b, line, 0));
}

static artel_status call_rotation(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    bounds turns;
    artel__value_id x;
    ARTEL_TRY(number_or_two(layer, "factor", -1, &turns));
    ARTEL_TRY(begin(layer, call, &x));
    if (!graph->training) return finish(layer, call, x);
    artel_shape shape = graph->value[x].shape;
    artel__value_id degrees = draw(graph, x, turns.low * 360, turns.high * 360);
    artel__value_id angle = artel__op_affine(graph, degrees, (float)(3.14159265358979323846 / 180), 0);
    artel__value_id cosine = artel__op_unary(graph, ARTEL__UNARY_COS, NULL, angle),
                    sine = artel__op_unary(graph, ARTEL__UNARY_SIN, NULL, angle);
    artel__value_id minus = artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, sine);
    float column = 0.5f * ((float)shape.dim[1] - 1.0f), line = 0.5f * ((float)shape.dim[0] - 1.0f);
    artel__value_id part[6] = {cosine, minus,  turn_offset(graph, column, cosine, column, minus, line),
                               sine,   cosine, turn_offset(graph, line, sine, column, cosine, line)};
    return through(layer, call, x, part);
}

static artel_status call_shear(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    bounds across, down;
    artel__value_id x;
    ARTEL_TRY(number_or_two(layer, "x_factor", -1, &across));
    ARTEL_TRY(number_or_two(layer, "y_factor", -1, &down));
    ARTEL_TRY(begin(layer, call, &x));
    if (!graph->training) return finish(layer, call, x);
    artel__value_id side = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, draw(graph, x, 0, 1), 0.5);
    artel__value_id dy = draw(graph, x, down.low, down.high), dx = draw(graph, x, across.low, across.high);
    artel__value_id one = constant(graph, dy, 1), zero = constant(graph, dy, 0);
    dx = artel__op_where(graph, side, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, dx), dx);
    dy = artel__op_where(graph, side, artel__op_unary(graph, ARTEL__UNARY_NEG, NULL, dy), dy);
    artel__value_id part[6] = {one, dx, zero, dy, one, zero};
    return through(layer, call, x, part);
}

/* -- cut -- */

/* A whole number of 0 .. most for the batch, [1]. */
static artel__value_id draw_start(artel__graph *graph, artel__value_id like, int64_t most)
{
    artel_shape one = artel__shape(1, (int64_t)1);
    artel__value_id u = artel__op_uniform(graph, like, 0, (double)(most + 1), &one, true);
    return artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, u);
}

/* An image that is not larger both ways is cut in the middle, then stretched. */
static artel__value_id cut_middle(artel__graph *graph, artel__value_id x, const augment_config *c)
{
    artel_shape in = graph->value[x].shape;
    int64_t wanted[2] = {c->height, c->width}, crop[2];
    crop[0] = in.dim[1] * c->height / c->width;
    crop[1] = in.dim[0] * c->width / c->height;
    for (int i = 0; i < 2; i++) {
        crop[i] = crop[i] < in.dim[i] ? crop[i] : in.dim[i];
        int64_t start = (in.dim[i] - (crop[i] > 1 ? crop[i] : 1)) / 2, length = in.dim[i] - start;
        if (length > wanted[i]) length = wanted[i];
        x = artel__op_slice(graph, x, i, start, length, 1);
    }
    if (graph->status < 0) return ARTEL__NO_VALUE;
    const artel_shape *cut = &graph->value[x].shape;
    bool fits = cut->dim[0] == c->height && cut->dim[1] == c->width;
    return fits ? x : artel__op_resize_bilinear(graph, x, c->height, c->width);
}

static artel_status call_crop(artel__layer *layer, artel__call *call)
{
    const augment_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, &x));
    if (!graph->training) return finish(layer, call, x);
    artel_shape shape = graph->value[x].shape;
    if (shape.dim[0] <= c->height || shape.dim[1] <= c->width) return finish(layer, call, cut_middle(graph, x, c));
    artel__value_id top = draw_start(graph, x, shape.dim[0] - c->height), left = draw_start(graph, x, shape.dim[1] - c->width);
    artel__value_id one = constant(graph, top, 1), zero = constant(graph, top, 0), part[6] = {one, zero, left, zero, one, top};
    artel__warp_settings warp = {.height = c->height, .width = c->width};
    return finish(layer, call, artel__op_warp(graph, x, map_of(graph, part), &warp));
}

/* -- brightness and contrast -- */

static artel_status call_brightness(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    bounds factor, range;
    artel__value_id x;
    ARTEL_TRY(number_or_two(layer, "factor", -1, &factor));
    ARTEL_TRY(value_range(layer, &range));
    ARTEL_TRY(begin(layer, call, &x));
    if (!graph->training) return finish(layer, call, x);
    artel__value_id delta = artel__op_affine(graph, draw(graph, x, factor.low, factor.high), (float)(range.high - range.low), 0);
    return finish(layer, call, clip(graph, artel__op_add(graph, x, as_pixel(graph, delta)), &range));
}

static artel_status call_contrast(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    bounds factor, range;
    artel__value_id x;
    ARTEL_TRY(number_or_two(layer, "factor", 0, &factor));
    ARTEL_TRY(value_range(layer, &range));
    ARTEL_TRY(begin(layer, call, &x));
    if (!graph->training) return finish(layer, call, x);
    artel__value_id scale = as_pixel(graph, draw(graph, x, 1 - factor.low, 1 + factor.high));
    artel__value_id mean = artel__op_reduce(graph, ARTEL__REDUCE_MEAN, x, 3, true);
    x = artel__op_binary(graph, ARTEL__BINARY_MUL, artel__op_binary(graph, ARTEL__BINARY_SUB, x, mean), scale);
    return finish(layer, call, clip(graph, artel__op_add(graph, x, mean), &range));
}

#define AUGMENT(symbol, name, kind, table, sentence)       \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(augment_config),             \
        .options = table,                                  \
        .mask = ARTEL__MASK_STOP,                          \
        .call = call_##kind,                               \
    }

AUGMENT(random_flip, "RandomFlip", flip, flip_options, "Mirrors images at random.");
AUGMENT(random_translation, "RandomTranslation", translation, move_options, "Moves images at random.");
AUGMENT(random_zoom, "RandomZoom", zoom, move_options, "Enlarges images at random.");
AUGMENT(random_rotation, "RandomRotation", rotation, turn_options, "Turns images at random.");
AUGMENT(random_shear, "RandomShear", shear, shear_options, "Shears images at random.");
AUGMENT(random_crop, "RandomCrop", crop, crop_options, "Cuts a part of images at random.");
AUGMENT(random_brightness, "RandomBrightness", brightness, color_options, "Makes images brighter or darker at random.");
AUGMENT(random_contrast, "RandomContrast", contrast, color_options, "Changes the contrast of images at random.");
