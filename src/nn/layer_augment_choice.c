/* SPDX-License-Identifier: Apache-2.0 */
/* Layers that choose among changes of images while training: RandAugment, AugMix.
 *
 * RandAugment draws for the batch which change comes first, second and so on; all are computed and one is taken, as in
 * Keras, where a change that is chosen twice is of the same draws both times. AugMix adds up chains of changes with
 * weights of a Dirichlet distribution, and the image itself with one of a beta distribution, drawn for the batch. Which
 * changes its chains have Keras decides once, when a step is compiled, and artel once for the layer: by the layer's
 * seed, so that every replica and a continued run decide alike.
 */
#include "base/rng.h"
#include "nn/augment.h"

typedef struct choice_config {
    int data_format, interpolation;
    int64_t num_ops, num_chains, chain_depth, seed;
    double alpha;
    bool all_ops;
} choice_config;

static const char *const interpolations[] = {"nearest", "bilinear", NULL};

#define CONFIG(field) offsetof(choice_config, field)
#define COMMON                                                                                                        \
    {"interpolation", "nearest or bilinear", ARTEL__OPTION_ENUM, CONFIG(interpolation), "bilinear", 0, 0,             \
     interpolations},                                                                                                 \
        {"seed",                                                                                                      \
         "which changes AugMix makes; for the rest the run's seed does",                                              \
         ARTEL__OPTION_INT,                                                                                           \
         CONFIG(seed),                                                                                                \
         "0",                                                                                                         \
         0,                                                                                                           \
         0x1p53,                                                                                                      \
         NULL},                                                                                                       \
        ARTEL__PART("factor", "a number, or two"), ARTEL__PART("value_range", "least and greatest value of a pixel"), \
        ARTEL__PART("bounding_box_format", "accepted"), ARTEL__DATA_FORMAT(choice_config)

static const artel__option rand_options[] = {
    {"num_ops", "changes one after another", ARTEL__OPTION_INT, CONFIG(num_ops), "2", 0, 64, NULL},
    COMMON,
    ARTEL__OPTIONS_END};
static const artel__option mix_options[] = {
    {"num_chains", "chains that are added up", ARTEL__OPTION_INT, CONFIG(num_chains), "3", 1, 64, NULL},
    {"chain_depth", "most changes in a chain", ARTEL__OPTION_INT, CONFIG(chain_depth), "3", 1, 64, NULL},
    {"alpha", "of the distributions of weights", ARTEL__OPTION_FLOAT, CONFIG(alpha), "1.0", 1e-3, 1e6, NULL},
    {"all_ops", "changes of brightness, contrast, colour and sharpness too", ARTEL__OPTION_BOOL, CONFIG(all_ops),
     "true", 0, 0, NULL},
    COMMON,
    ARTEL__OPTIONS_END};

/* -- the changes -- */

typedef struct setting {
    artel__bounds factor, range, bits;
    artel__warp_settings how;
} setting;

typedef artel__value_id change_fn(artel__graph *graph, artel__value_id x, const setting *s);

static artel__value_id shear(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_shear(graph, x, &s->factor, &s->factor, &s->how);
}

static artel__value_id translate(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_translate(graph, x, &s->factor, &s->factor, &s->how);
}

static artel__value_id rotate(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_rotate(graph, x, &s->factor, &s->how);
}

static artel__value_id brightness(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_brightness(graph, x, &s->factor, &s->range);
}

static artel__value_id degenerate(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_degenerate(graph, x, &s->factor, &s->range);
}

static artel__value_id contrast(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_contrast(graph, x, &s->factor, &s->range);
}

static artel__value_id sharpness(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_sharpness(graph, x, &s->factor, &s->range);
}

static artel__value_id posterize(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_posterize(graph, x, &s->bits, &s->range);
}

static artel__value_id solarize(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_solarize(graph, x, &s->factor, &s->factor, &s->range);
}

static artel__value_id autocontrast(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_autocontrast(graph, x, &s->range);
}

static artel__value_id equalize(artel__graph *graph, artel__value_id x, const setting *s)
{
    return artel__augment_equalize(graph, x, 256, &s->range);
}

/* The first seven are those of AugMix without all_ops. */
static change_fn *const changes[] = {shear,    translate,  rotate,     posterize, solarize, autocontrast,
                                     equalize, brightness, degenerate, contrast,  sharpness};
enum {
    CHANGES = 11,
    FEW = 7
};

static artel_status read_setting(const artel__layer *layer, double fallback, setting *out)
{
    const choice_config *c = layer->config;
    ARTEL_TRY(artel__augment_bounds(layer, "factor", 0, &(artel__bounds){0, fallback}, &out->factor));
    ARTEL_TRY(artel__augment_range(layer, false, &out->range));
    int bits = (int)(8 * out->factor.high);
    out->bits = (artel__bounds){1, bits > 1 ? bits : 1};
    out->how = (artel__warp_settings){.bilinear = c->interpolation == 1, .mode = ARTEL__WARP_REFLECT};
    return ARTEL_OK;
}

/* -- RandAugment -- */

static artel__value_id change_one(artel__graph *graph, artel__value_id x, artel__value_id chosen, const setting *s)
{
    for (int k = 0; k < CHANGES; k++) {
        artel__value_id is_it = artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, chosen, k);
        x = artel__op_where(graph, is_it, changes[k](graph, x, s), x);
    }
    return x;
}

static artel_status call_rand(artel__layer *layer, artel__call *call)
{
    const choice_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel_shape count = artel__shape(1, c->num_ops);
    artel__value_id x;
    setting s;
    ARTEL_TRY(read_setting(layer, 0.5, &s));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (!graph->training || c->num_ops == 0) return artel__augment_finish(layer, call, c->data_format, x);
    artel__value_id chosen =
        artel__op_unary(graph, ARTEL__UNARY_FLOOR, NULL, artel__augment_uniform(graph, x, 0, CHANGES, &count, true));
    uint32_t first = graph->random_ops, behind = first;
    for (int64_t i = 0; i < c->num_ops && graph->status == ARTEL_OK; i++) {
        graph->random_ops = first; /* the same draws each time */
        artel__value_id which = artel__augment_pixel(graph, artel__op_slice(graph, chosen, 0, i, 1, 1));
        x = change_one(graph, x, which, &s);
        behind = graph->random_ops;
    }
    graph->random_ops = behind;
    return artel__augment_finish(layer, call, c->data_format, x);
}

/* -- AugMix -- */

/* A change of the chain, or none: as many places as there are changes, and one more. */
static int choose(const choice_config *c, int64_t chain, int64_t place)
{
    uint32_t word[4], choices = (uint32_t)(c->all_ops ? CHANGES : FEW) + 1;
    artel__rng_block(artel__rng_make_key((uint64_t)c->seed, ARTEL__STREAM_AUGMENT), 0, (uint32_t)chain, (uint32_t)place,
                     0, word);
    return (int)((uint64_t)word[0] * choices >> 32);
}

/* `count` weights for the batch, which add up to 1: [count]. */
static artel__value_id weights(artel__graph *graph, artel__value_id like, double alpha, int64_t count)
{
    return artel__op_softmax(graph, ARTEL__SOFTMAX, artel__augment_log_gamma(graph, like, alpha, count, true), 0);
}

static artel__value_id weighted(artel__graph *graph, artel__value_id x, artel__value_id weight, int64_t k)
{
    artel__value_id own = artel__augment_pixel(graph, artel__op_slice(graph, weight, 0, k, 1, 1));
    return artel__op_binary(graph, ARTEL__BINARY_MUL, x, own);
}

static artel_status call_mix(artel__layer *layer, artel__call *call)
{
    const choice_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__value_id x, sum = ARTEL__NO_VALUE;
    setting s;
    ARTEL_TRY(read_setting(layer, 0.3, &s));
    ARTEL_TRY(artel__augment_begin(layer, call, c->data_format, &x));
    if (!graph->training) return artel__augment_finish(layer, call, c->data_format, x);
    artel__value_id of_chain = weights(graph, x, c->alpha, c->num_chains), of_image = weights(graph, x, c->alpha, 2);
    for (int64_t i = 0; i < c->num_chains; i++) {
        artel__value_id y = x;
        for (int64_t k = 0; k < c->chain_depth; k++) {
            int chosen = choose(c, i, k);
            if (chosen < (c->all_ops ? CHANGES : FEW)) y = changes[chosen](graph, y, &s);
        }
        y = weighted(graph, y, of_chain, i);
        sum = i ? artel__op_add(graph, sum, y) : y;
    }
    artel__value_id changed = weighted(graph, sum, of_image, 1);
    x = artel__op_add(graph, weighted(graph, x, of_image, 0), changed);
    return artel__augment_finish(layer, call, c->data_format, artel__augment_clip(graph, x, &s.range));
}

const artel__layer_def artel__layer_rand_augment_def = {
    .class_name = "RandAugment",
    .doc = "Makes changes of images that are chosen at random.",
    .config_size = sizeof(choice_config),
    .options = rand_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_rand,
    .returns_input = artel__augment_is_idle,
};
const artel__layer_def artel__layer_aug_mix_def = {
    .class_name = "AugMix",
    .doc = "Adds up an image and chains of its changes.",
    .config_size = sizeof(choice_config),
    .options = mix_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_mix,
    .returns_input = artel__augment_is_idle,
};
