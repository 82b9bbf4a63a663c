/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that change the colours of images at random while training; AutoContrast and Solarization among them.
 *
 * A layer of one factor is a row of a table: its function (augment_color.c) and the least value that one number stands
 * for. What is drawn is a number for each image, as in layer_augment.c. AutoContrast draws nothing and works outside
 * training too, as in Keras.
 */
#include <string.h>

#include "nn/augment.h"

typedef struct color_config {
    int data_format;
    double factor;
    int64_t bins;
} color_config;

#define COMMON                                                                                               \
    ARTEL__PART("seed", "accepted; the run's seed decides"), ARTEL__PART("bounding_box_format", "accepted"), \
        ARTEL__DATA_FORMAT(color_config)
#define FACTOR(name) ARTEL__PART(name, "a number, or two")
#define RANGE ARTEL__PART("value_range", "least and greatest value of a pixel")

static const artel__option factor_options[] = {FACTOR("factor"), RANGE, COMMON, ARTEL__OPTIONS_END};
static const artel__option range_options[] = {RANGE, COMMON, ARTEL__PART("factor", "accepted"), ARTEL__OPTIONS_END};
static const artel__option solar_options[] = {
    FACTOR("addition_factor"),         FACTOR("threshold_factor"), RANGE, COMMON,
    ARTEL__PART("factor", "accepted"), ARTEL__OPTIONS_END};
static const artel__option gray_options[] = {
    {"factor", "how many of the images", ARTEL__OPTION_FLOAT, offsetof(color_config, factor), "0.5", 0, 1, NULL},
    COMMON,
    ARTEL__OPTIONS_END};
static const artel__option equal_options[] = {
    {"bins", "of the histogram", ARTEL__OPTION_INT, offsetof(color_config, bins), "256", 1, 4096, NULL},
    RANGE,
    COMMON,
    ARTEL__PART("factor", "accepted"),
    ARTEL__OPTIONS_END};
static const artel__option jitter_options[] = {FACTOR("brightness_factor"),
                                               FACTOR("contrast_factor"),
                                               FACTOR("saturation_factor"),
                                               FACTOR("hue_factor"),
                                               RANGE,
                                               COMMON,
                                               ARTEL__PART("factor", "accepted"),
                                               ARTEL__OPTIONS_END};

/* -- layers of one factor -- */

typedef artel__value_id color_fn(artel__graph *graph, artel__value_id x, const artel__bounds *factor,
                                 const artel__bounds *range);

typedef struct color_kind {
    const char *class_name;
    color_fn *change;
    double least;
    bool sorted; /* Keras sorts the range */
} color_kind;

static const color_kind kinds[] = {{"RandomBrightness", artel__augment_brightness, -1, true},
                                   {"RandomContrast", artel__augment_contrast, 0, false},
                                   {"RandomSaturation", artel__augment_saturation, -1, true},
                                   {"RandomHue", artel__augment_hue, 0, false},
                                   {"RandomColorDegeneration", artel__augment_degenerate, -1, true},
                                   {"RandomSharpness", artel__augment_sharpness, 0, true},
                                   {"RandomPosterization", artel__augment_posterize, 1, true}};

static const color_kind *kind_of(const char *class_name)
{
    size_t i = 0;
    while (strcmp(kinds[i].class_name, class_name) != 0) i++;
    return &kinds[i];
}

static artel_status call_factor(artel__layer *layer, artel__call *call)
{
    const color_config *c = layer->config;
    const color_kind *kind = kind_of(layer->def->class_name);
    artel__bounds factor, range;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "factor", kind->least, NULL, &factor));
    ARTEL_TRY(artel__augment_range(layer, kind->sorted, &range));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (call->graph->training) x = kind->change(call->graph, x, &factor, &range);
    return artel__augment_finish(layer, call, c->data_format, x);
}

/* In the order of Keras; each as the layer of its name would, whose order of channels is the usual one. */
static artel_status call_jitter(artel__layer *layer, artel__call *call)
{
    static const struct {
        const char *key, *class_name;
    } steps[] = {{"brightness_factor", "RandomBrightness"},
                 {"contrast_factor", "RandomContrast"},
                 {"saturation_factor", "RandomSaturation"},
                 {"hue_factor", "RandomHue"}};
    artel__bounds factor, range, sorted;
    artel__value_id x;
    ARTEL_TRY(artel__augment_range(layer, false, &range));
    ARTEL_TRY(artel__augment_range(layer, true, &sorted));
    ARTEL_TRY(artel__augment_begin(layer, call, 0, &x));
    for (size_t i = 0; i < ARTEL__COUNT(steps); i++) {
        const color_kind *kind = kind_of(steps[i].class_name);
        if (!artel__layer_setting(layer, steps[i].key)) continue;
        ARTEL_TRY(artel__augment_bounds(layer, steps[i].key, kind->least, NULL, &factor));
        if (call->graph->training) x = kind->change(call->graph, x, &factor, kind->sorted ? &sorted : &range);
    }
    return artel__augment_finish(layer, call, 0, x);
}

/* -- others -- */

static artel_status call_grayscale(artel__layer *layer, artel__call *call)
{
    const color_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id x;
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (graph->training) {
        artel__value_id chance = artel__augment_chance(graph, x, &(artel__bounds){c->factor, c->factor});
        x = artel__op_where(graph, chance, artel__augment_grayscale(graph, x), x);
    }
    return artel__augment_finish(layer, call, c->data_format, x);
}

static artel_status call_invert(artel__layer *layer, artel__call *call)
{
    const color_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__bounds probability, range;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "factor", 0, &(artel__bounds){0, 1}, &probability));
    ARTEL_TRY(artel__augment_range(layer, false, &range));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (graph->training) {
        artel__value_id chance = artel__augment_chance(graph, x, &probability);
        x = artel__op_where(graph, chance, artel__op_affine(graph, x, -1, range.high), x);
    }
    return artel__augment_finish(layer, call, c->data_format, x);
}

static artel_status call_solarize(artel__layer *layer, artel__call *call)
{
    const color_config *c = layer->config;
    static const artel__bounds none = {0, 0};
    artel__bounds addition, threshold, range;
    artel__value_id x;
    ARTEL_TRY(artel__augment_bounds(layer, "addition_factor", 0, &none, &addition));
    ARTEL_TRY(artel__augment_bounds(layer, "threshold_factor", 0, &none, &threshold));
    ARTEL_TRY(artel__augment_range(layer, true, &range));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (call->graph->training) x = artel__augment_solarize(call->graph, x, &addition, &threshold, &range);
    return artel__augment_finish(layer, call, c->data_format, x);
}

/* Over the first two axes of a row, whatever they are: Keras does not ask for the order of channels here. */
static artel_status call_autocontrast(artel__layer *layer, artel__call *call)
{
    artel__bounds range;
    artel__value_id x;
    ARTEL_TRY(artel__augment_range(layer, true, &range));
    ARTEL_TRY(artel__augment_begin(layer, call, 0, &x));
    return artel__augment_finish(layer, call, 0, artel__augment_autocontrast(call->graph, x, &range));
}

static artel_status call_equalize(artel__layer *layer, artel__call *call)
{
    const color_config *c = layer->config;
    artel__bounds range;
    artel__value_id x;
    ARTEL_TRY(artel__augment_range(layer, true, &range));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (call->graph->training) x = artel__augment_equalize(call->graph, x, c->bins, &range);
    return artel__augment_finish(layer, call, c->data_format, x);
}

#define COLOR(symbol, name, kind, table, sentence)         \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(color_config),               \
        .options = table,                                  \
        .mask = ARTEL__MASK_STOP,                          \
        .call = call_##kind,                               \
        .returns_input = artel__augment_is_idle,           \
    }

COLOR(random_brightness, "RandomBrightness", factor, factor_options, "Makes images brighter or darker at random.");
COLOR(random_contrast, "RandomContrast", factor, factor_options, "Changes the contrast of images at random.");
COLOR(random_saturation, "RandomSaturation", factor, factor_options, "Changes the saturation of images at random.");
COLOR(random_hue, "RandomHue", factor, factor_options, "Changes the hue of images at random.");
COLOR(random_color_degeneration, "RandomColorDegeneration", factor, factor_options,
      "Takes colour out of images at random.");
COLOR(random_sharpness, "RandomSharpness", factor, factor_options, "Makes images sharper or softer at random.");
COLOR(random_posterization, "RandomPosterization", factor, factor_options,
      "Keeps fewer bits of the values of pixels, at random.");
COLOR(random_color_jitter, "RandomColorJitter", jitter, jitter_options,
      "Changes brightness, contrast, saturation and hue at random.");
COLOR(random_grayscale, "RandomGrayscale", grayscale, gray_options, "Makes some images grey.");
COLOR(random_invert, "RandomInvert", invert, factor_options, "Inverts the values of some images.");
COLOR(solarization, "Solarization", solarize, solar_options, "Inverts values above a threshold.");
COLOR(auto_contrast, "AutoContrast", autocontrast, range_options,
      "Stretches the values of an image over the whole range.");
COLOR(equalization, "Equalization", equalize, equal_options,
      "Spreads the values of pixels evenly, by the histogram of the batch.");
