/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that draw random numbers while training, and do nothing otherwise.
 *
 * The numbers come from the run's seed, not from the layer's: what a layer draws is a function of (seed, batch, order
 * of the random operations, row of the global batch, place in the row), the same on any number of replicas. The layer's
 * own `seed` is accepted and has no effect. After keras/src/layers/regularization.
 */
#include <string.h>

#include "base/scalar_math.h"
#include "nn/layer_support.h"
#include "op/elementwise.h"

typedef struct noise_config {
    double rate, stddev;
    int data_format;
} noise_config;

#define RATE_OPTION                                                                                             \
    {                                                                                                           \
        "rate", "fraction that is dropped", ARTEL__OPTION_FLOAT, offsetof(noise_config, rate), NULL, 0, 1, NULL \
    }
#define SEED_OPTION ARTEL__PART("seed", "accepted; the run's seed decides")

static const artel__option dropout_options[] = {
    RATE_OPTION,
    ARTEL__PART("noise_shape", "extents of the mask with the batch in front; 1: one draw for the whole axis"),
    SEED_OPTION,
    ARTEL__OPTIONS_END,
};
static const artel__option spatial_options[] = {RATE_OPTION, SEED_OPTION, ARTEL__DATA_FORMAT(noise_config),
                                                ARTEL__OPTIONS_END};
static const artel__option rate_options[] = {RATE_OPTION, SEED_OPTION, ARTEL__OPTIONS_END};
static const artel__option stddev_options[] = {
    {"stddev", "standard deviation", ARTEL__OPTION_FLOAT, offsetof(noise_config, stddev), NULL, 0, 1, NULL},
    SEED_OPTION,
    ARTEL__OPTIONS_END,
};

static bool is_idle(const artel__layer *layer, bool training)
{
    const noise_config *c = layer->config;
    return !training || c->rate + c->stddev <= 0;
}

/* Whether the layer has anything to do; `out` is the input as numbers, or as it is when there is nothing to do. */
static artel_status begin(artel__layer *layer, artel__call *call, double strength, bool *active, artel__value_id *out)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    *active = call->graph->training && strength > 0;
    *out = *active ? artel__as_float(call->graph, call->in[0].value) : call->in[0].value;
    return ARTEL_OK;
}

/* The extents of the mask in a row: those of the input, 1 where the setting says so. */
static artel_status noise_shape(const artel__layer *layer, const artel_shape *in, artel_shape *out)
{
    json_t *given = artel__layer_setting(layer, "noise_shape");
    *out = *in;
    if (!given) return ARTEL_OK;
    bool fits =
        json_is_array(given) && (int)json_array_size(given) == in->rank + 1 && json_is_null(json_array_get(given, 0));
    for (int i = 0; i < in->rank && fits; i++) {
        json_t *item = json_array_get(given, (size_t)i + 1);
        int64_t extent = in->dim[i];
        fits = json_is_null(item) || (artel__json_integer(item, &extent) && (extent == 1 || extent == in->dim[i]));
        out->dim[i] = extent;
    }
    if (fits) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED,
                             "use null for the batch, and 1, null or the input's extent for each axis",
                             "this noise_shape is not supported");
}

static artel_status call_dropout(artel__layer *layer, artel__call *call)
{
    const noise_config *c = layer->config;
    bool active;
    artel__value_id x;
    artel_shape noise;
    ARTEL_TRY(begin(layer, call, c->rate, &active, &x));
    ARTEL_TRY(noise_shape(layer, artel__call_shape(call, 0), &noise)); /* a refusal must not wait for training */
    artel__call_return(call, active ? artel__op_dropout(call->graph, x, c->rate, &noise) : x);
    return ARTEL_OK;
}

static artel_status call_spatial(artel__layer *layer, artel__call *call)
{
    const noise_config *c = layer->config;
    bool active;
    artel__value_id x;
    int axes = layer->def->class_name[strlen(layer->def->class_name) - 2] - '0';
    ARTEL_TRY(artel__layer_check_input(layer, call, axes + 1, axes + 1));
    ARTEL_TRY(begin(layer, call, c->rate, &active, &x));
    if (active) {
        artel_shape noise = *artel__call_shape(call, 0);
        for (int i = 0; i < axes; i++) noise.dim[i + (c->data_format == 1 ? 1 : 0)] = 1;
        x = artel__op_dropout(call->graph, x, c->rate, &noise);
    }
    artel__call_return(call, x);
    return ARTEL_OK;
}

static artel_status call_gaussian_noise(artel__layer *layer, artel__call *call)
{
    const noise_config *c = layer->config;
    bool active;
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, c->stddev, &active, &x));
    artel__call_return(call, active ? artel__op_gaussian_noise(call->graph, x, c->stddev) : x);
    return ARTEL_OK;
}

/* x * normal(1, sqrt(rate / (1 - rate))) */
static artel_status call_gaussian_dropout(artel__layer *layer, artel__call *call)
{
    const noise_config *c = layer->config;
    bool active;
    artel__value_id x;
    ARTEL_TRY(begin(layer, call, c->rate, &active, &x));
    if (active && c->rate >= 1)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "choose a rate below 1",
                                 "a rate of 1 has no finite deviation");
    if (active) {
        artel__value_id ones = artel__op_fill_like(call->graph, x, 1);
        artel__value_id factor = artel__op_gaussian_noise(call->graph, ones, artel__sqrt64(c->rate / (1 - c->rate)));
        x = artel__op_binary(call->graph, ARTEL__BINARY_MUL, x, factor);
    }
    artel__call_return(call, x);
    return ARTEL_OK;
}

/* Dropped elements become -1.758..., then an affine map restores mean and deviation (Klambauer et al. 2017). */
static artel_status call_alpha(artel__layer *layer, artel__call *call)
{
    const noise_config *c = layer->config;
    artel__graph *graph = call->graph;
    bool active;
    artel__value_id x;
    artel_shape noise;
    ARTEL_TRY(begin(layer, call, c->rate, &active, &x));
    ARTEL_TRY(noise_shape(layer, artel__call_shape(call, 0), &noise));
    if (active) {
        double alpha = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;
        double a = 1 / artel__sqrt64((1 - c->rate) * (1 + c->rate * alpha * alpha));
        artel__value_id mask = artel__op_dropout(graph, artel__op_fill_like(graph, x, 1), c->rate, &noise);
        artel__value_id kept = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, mask, 0);
        x = artel__op_where(graph, kept, x, artel__op_scalar(graph, alpha));
        if (c->rate < 1) x = artel__op_affine(graph, x, a, -a * alpha * c->rate);
    }
    artel__call_return(call, x);
    return ARTEL_OK;
}

#define NOISE(symbol, name, kind, table, sentence)         \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(noise_config),               \
        .options = table,                                  \
        .mask = ARTEL__MASK_PASS,                          \
        .call = call_##kind,                               \
        .returns_input = is_idle,                          \
    }

NOISE(dropout, "Dropout", dropout, dropout_options, "Zeroes elements at random.");
NOISE(spatial_dropout1d, "SpatialDropout1D", spatial, spatial_options, "Zeroes channels of sequences at random.");
NOISE(spatial_dropout2d, "SpatialDropout2D", spatial, spatial_options, "Zeroes channels of images at random.");
NOISE(spatial_dropout3d, "SpatialDropout3D", spatial, spatial_options, "Zeroes channels of volumes at random.");
NOISE(gaussian_noise, "GaussianNoise", gaussian_noise, stddev_options, "Adds normal noise.");
NOISE(gaussian_dropout, "GaussianDropout", gaussian_dropout, rate_options, "Multiplies by normal noise around 1.");
NOISE(alpha_dropout, "AlphaDropout", alpha, dropout_options, "Dropout that keeps mean and deviation of SELU networks.");
