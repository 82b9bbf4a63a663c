/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that move the places of some images while training: RandomPerspective, RandomElasticTransform.
 *
 * Which images they meet and how is drawn for each, the strength of an elastic change for the batch, as in Keras. After
 * keras/src/layers/preprocessing/image_preprocessing; the changes themselves: augment_place.c.
 */
#include "nn/augment.h"

typedef struct place_config {
    int data_format, fill_mode, interpolation;
    double fill_value, scale;
} place_config;

static const char *const fill_modes[] = {"constant", "reflect", "wrap", "nearest",
                                         NULL}; /* order of artel__warp_fill */
static const char *const interpolations[] = {"nearest", "bilinear", NULL};

#define CONFIG(field) offsetof(place_config, field)
#define COMMON                                                                                                    \
    {"interpolation", "nearest or bilinear", ARTEL__OPTION_ENUM, CONFIG(interpolation), "bilinear", 0, 0,         \
     interpolations},                                                                                             \
        {"fill_value", "the value outside an image", ARTEL__OPTION_FLOAT, CONFIG(fill_value), "0.0", 0, 0, NULL}, \
        ARTEL__PART("factor", "probability: a number, or two"),                                                   \
        ARTEL__PART("seed", "accepted; the run's seed decides"), ARTEL__PART("bounding_box_format", "accepted"),  \
        ARTEL__DATA_FORMAT(place_config)

static const artel__option perspective_options[] = {
    {"scale", "how far corners go", ARTEL__OPTION_FLOAT, CONFIG(scale), "1.0", 0, 1, NULL}, COMMON, ARTEL__OPTIONS_END};
static const artel__option elastic_options[] = {
    ARTEL__PART("scale", "strength: a number, or two"),
    ARTEL__PART("value_range", "least and greatest value of a pixel"),
    {"fill_mode", "what is outside an image", ARTEL__OPTION_ENUM, CONFIG(fill_mode), "reflect", 0, 0, fill_modes},
    COMMON,
    ARTEL__OPTIONS_END};

static const artel__bounds unit = {0, 1};

static artel__warp_settings filling(const place_config *c)
{
    return (artel__warp_settings){
        .bilinear = c->interpolation, .mode = (artel__warp_fill)c->fill_mode, .fill = (float)c->fill_value};
}

/* Positions need float32, whatever the results are rounded to. */
static artel_status call_perspective(artel__layer *layer, artel__call *call)
{
    const place_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__warp_settings how = filling(c);
    artel__bounds factor;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "factor", 0, &unit, &factor));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    artel_dtype precision = graph->precision;
    graph->precision = ARTEL_DTYPE_FLOAT32;
    if (graph->training) {
        artel__value_id meets = artel__augment_chance(graph, x, &factor);
        x = artel__op_where(graph, meets, artel__augment_lean(graph, x, c->scale, &how), x);
    }
    graph->precision = precision;
    return artel__augment_finish(layer, call, c->data_format, x);
}

static artel_status call_elastic(artel__layer *layer, artel__call *call)
{
    const place_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__warp_settings how = filling(c);
    artel__bounds factor, strength, range;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "factor", 0, &unit, &factor));
    ARTEL_TRY(artel__augment_bounds(layer, "scale", 0, &unit, &strength));
    ARTEL_TRY(artel__augment_range(layer, false, &range));
    if (strength.low < 0 || strength.high > 1)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write numbers between 0 and 1",
                                 "the setting \"scale\" is out of range");
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    artel_dtype precision = graph->precision;
    graph->precision = ARTEL_DTYPE_FLOAT32;
    if (graph->training && strength.high > 0 && factor.high > 0) {
        artel__value_id meets = artel__augment_chance(graph, x, &factor);
        x = artel__op_where(graph, meets, artel__augment_elastic(graph, x, &strength, &how), x);
        x = artel__augment_clip(graph, x, &range);
    }
    graph->precision = precision;
    return artel__augment_finish(layer, call, c->data_format, x);
}

const artel__layer_def artel__layer_random_perspective_def = {
    .class_name = "RandomPerspective",
    .doc = "Shows some images as if seen from another side.",
    .config_size = sizeof(place_config),
    .options = perspective_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_perspective,
    .returns_input = artel__augment_is_idle,
};
const artel__layer_def artel__layer_random_elastic_transform_def = {
    .class_name = "RandomElasticTransform",
    .doc = "Moves the places of some images by a smooth random field.",
    .config_size = sizeof(place_config),
    .options = elastic_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_elastic,
    .returns_input = artel__augment_is_idle,
};
