/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that change images at random while training: mirrored, moved, turned, enlarged, sheared, cut; of colours:
 * layer_augment_color.c.
 *
 * Outside training the images go on as they are, as in Keras. What is drawn is a number for each image (RandomCrop: one
 * for the batch), uniform between two bounds that the setting names; equal bounds leave nothing to chance, which is how
 * tests compare with Keras. As with Dropout the run's seed decides, and a draw depends on the row of the global batch
 * alone: it is the same on any number of replicas. After keras/src/layers/preprocessing/image_preprocessing.
 */
#include "nn/augment.h"
#include "nn/filter.h"

typedef struct augment_config {
    int data_format, mode, fill_mode, interpolation;
    double fill_value;
    int64_t height, width;
} augment_config;

enum {
    MODE_HORIZONTAL,
    MODE_VERTICAL,
    MODE_BOTH
};
static const char *const modes[] = {"horizontal", "vertical", "horizontal_and_vertical", NULL};
static const char *const fill_modes[] = {"constant", "reflect", "wrap", "nearest",
                                         NULL}; /* order of artel__warp_fill */
static const char *const interpolations[] = {"nearest", "bilinear", NULL};

#define CONFIG(field) offsetof(augment_config, field)
#define COMMON                                                                                               \
    ARTEL__PART("seed", "accepted; the run's seed decides"), ARTEL__PART("bounding_box_format", "accepted"), \
        ARTEL__DATA_FORMAT(augment_config)
#define FILLING(fallback)                                                                                            \
    {"fill_mode", "what is outside an image", ARTEL__OPTION_ENUM, CONFIG(fill_mode), fallback, 0, 0, fill_modes},    \
        {"fill_value", "the value of constant filling", ARTEL__OPTION_FLOAT, CONFIG(fill_value), "0.0", 0, 0, NULL}, \
    {                                                                                                                \
        "interpolation", "nearest or bilinear", ARTEL__OPTION_ENUM, CONFIG(interpolation), "bilinear", 0, 0,         \
            interpolations                                                                                           \
    }
#define FACTOR(name) ARTEL__PART(name, "a number, or two")

static const artel__option flip_options[] = {
    {"mode", "which way", ARTEL__OPTION_ENUM, CONFIG(mode), "horizontal_and_vertical", 0, 0, modes},
    COMMON,
    ARTEL__OPTIONS_END};
static const artel__option crop_options[] = {
    {"height", "lines", ARTEL__OPTION_INT, CONFIG(height), NULL, 1, INT32_MAX, NULL},
    {"width", "columns", ARTEL__OPTION_INT, CONFIG(width), NULL, 1, INT32_MAX, NULL},
    COMMON,
    ARTEL__OPTIONS_END};
static const artel__option move_options[] = {
    FACTOR("height_factor"), FACTOR("width_factor"), FACTOR("factor"), FILLING("reflect"), COMMON, ARTEL__OPTIONS_END};
static const artel__option turn_options[] = {FACTOR("factor"), FILLING("reflect"), COMMON, ARTEL__OPTIONS_END};
static const artel__option shear_options[] = {
    FACTOR("x_factor"), FACTOR("y_factor"), FACTOR("factor"), FILLING("reflect"), COMMON, ARTEL__OPTIONS_END};

/* -- what they share -- */

static const artel__bounds unit = {0, 1};

static artel_status begin(artel__layer *layer, artel__call *call, artel__value_id *out)
{
    const augment_config *c = layer->config;
    return artel__augment_begin(layer, call, c->data_format, out);
}

static artel_status finish(artel__layer *layer, artel__call *call, artel__value_id x)
{
    const augment_config *c = layer->config;
    return artel__augment_finish(layer, call, c->data_format, x);
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
    artel__value_id u = artel__augment_pixel(graph, artel__augment_draw(graph, x, &unit));
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

static artel__warp_settings filling(const artel__layer *layer)
{
    const augment_config *c = layer->config;
    return (artel__warp_settings){
        .bilinear = c->interpolation == 1, .mode = (artel__warp_fill)c->fill_mode, .fill = (float)c->fill_value};
}

static artel_status call_translation(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__warp_settings how = filling(layer);
    artel__bounds down, across;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "height_factor", -1, NULL, &down));
    ARTEL_TRY(artel__augment_bounds(layer, "width_factor", -1, NULL, &across));
    ARTEL_TRY(begin(layer, call, &x));
    return finish(layer, call, graph->training ? artel__augment_translate(graph, x, &down, &across, &how) : x);
}

/* (extent - 1) / 2 * (1 - zoom) */
static artel__value_id zoom_offset(artel__graph *graph, artel__value_id zoom, int64_t extent)
{
    artel__value_id rest = artel__op_affine(graph, zoom, -1, 1);
    return artel__op_affine(graph, rest, ((double)extent - 1) / 2, 0);
}

static artel_status call_zoom(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    bool apart = artel__layer_setting(layer, "width_factor");
    artel__warp_settings how = filling(layer);
    artel__bounds down, across;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "height_factor", -1, NULL, &down));
    if (apart) ARTEL_TRY(artel__augment_bounds(layer, "width_factor", -1, NULL, &across));
    down = (artel__bounds){1 + down.low, 1 + down.high};
    ARTEL_TRY(begin(layer, call, &x));
    if (!graph->training) return finish(layer, call, x);
    artel_shape shape = graph->value[x].shape;
    artel__value_id lines = artel__augment_draw(graph, x, &down), columns = lines;
    if (apart) columns = artel__augment_draw(graph, x, &(artel__bounds){1 + across.low, 1 + across.high});
    artel__value_id zero = constant(graph, lines, 0);
    artel__value_id part[6] = {columns, zero,  zoom_offset(graph, columns, shape.dim[1]),
                               zero,    lines, zoom_offset(graph, lines, shape.dim[0])};
    return finish(layer, call, artel__augment_map(graph, x, part, &how));
}

static artel_status call_rotation(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__warp_settings how = filling(layer);
    artel__bounds turns;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "factor", -1, NULL, &turns));
    ARTEL_TRY(begin(layer, call, &x));
    return finish(layer, call, graph->training ? artel__augment_rotate(graph, x, &turns, &how) : x);
}

static artel_status call_shear(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__warp_settings how = filling(layer);
    artel__bounds across, down;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "x_factor", -1, NULL, &across));
    ARTEL_TRY(artel__augment_bounds(layer, "y_factor", -1, NULL, &down));
    ARTEL_TRY(begin(layer, call, &x));
    return finish(layer, call, graph->training ? artel__augment_shear(graph, x, &across, &down, &how) : x);
}

/* -- cut -- */

/* A whole number of 0 .. most for the batch, [1]. */
static artel__value_id draw_start(artel__graph *graph, artel__value_id like, int64_t most)
{
    artel_shape one = artel__shape(1, (int64_t)1);
    artel__value_id u = artel__augment_uniform(graph, like, 0, (double)(most + 1), &one, true);
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
    return fits ? x : artel__filter_resize(graph, x, ARTEL__FILTER_BILINEAR, false, c->height, c->width);
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
    artel__value_id top = draw_start(graph, x, shape.dim[0] - c->height),
                    left = draw_start(graph, x, shape.dim[1] - c->width);
    artel__value_id one = constant(graph, top, 1), zero = constant(graph, top, 0),
                    part[6] = {one, zero, left, zero, one, top};
    artel__warp_settings warp = {.height = c->height, .width = c->width};
    return finish(layer, call, artel__augment_map(graph, x, part, &warp));
}

#define AUGMENT(symbol, name, kind, table, sentence)       \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(augment_config),             \
        .options = table,                                  \
        .mask = ARTEL__MASK_STOP,                          \
        .call = call_##kind,                               \
        .returns_input = artel__augment_is_idle,           \
    }

AUGMENT(random_flip, "RandomFlip", flip, flip_options, "Mirrors images at random.");
AUGMENT(random_translation, "RandomTranslation", translation, move_options, "Moves images at random.");
AUGMENT(random_zoom, "RandomZoom", zoom, move_options, "Enlarges images at random.");
AUGMENT(random_rotation, "RandomRotation", rotation, turn_options, "Turns images at random.");
AUGMENT(random_shear, "RandomShear", shear, shear_options, "Shears images at random.");
AUGMENT(random_crop, "RandomCrop", crop, crop_options, "Cuts a part of images at random.");
