/* SPDX-License-Identifier: Apache-2.0 */
/* SpectralNormalization: in training the layer inside computes with its kernel divided by its largest singular value.
 *
 *   v = unit(u W^T), u = unit(v W), so many times; sigma = v W u^T; W := W / sigma
 * W is the kernel as a matrix of its last axis, u is kept from step to step. As in Keras, the kernel itself becomes
 * what the layer computes with, and the optimizer goes on from there; so gradient and penalties are those of the
 * normalised kernel, and nothing is differentiated through sigma. All of it is computed from variables alone: it has
 * the same bits on any number of replicas. A kernel of zeros stays. After
 * keras/src/layers/normalization/spectral_normalization.py; `u * rsqrt` is at most u * 1e7 there.
 */
#include <string.h>

#include "nn/layer_support.h"
#include "op/formula.h"
#include "op/optimize.h"
#include "op/reduce.h"
#include "op/stand_in.h"

typedef struct spectral_config {
    int64_t power_iterations;
} spectral_config;

enum {
    KERNEL, /* the variable of the layer inside, which files hold here too */
    VECTOR_U
};

/* Each adds nodes of its own to the graph. */
#define MOST_ITERATIONS 256

static const artel__option spectral_options[] = {
    {"layer", "record of the layer inside", ARTEL__OPTION_IGNORED, 0, NULL, 0, 0, NULL},
    {"power_iterations", "rounds of the iteration at each step", ARTEL__OPTION_INT,
     offsetof(spectral_config, power_iterations), "1", 1, MOST_ITERATIONS, NULL},
    ARTEL__OPTIONS_END,
};

static artel_status configure_spectral(artel__layer *layer)
{
    artel__layer *child;
    json_t *record;
    ARTEL_TRY(artel__layer_inside(layer, &record));
    return artel__layer_add_child(layer, record, "layer", &child);
}

static const artel__layer_variable *find_kernel(const artel__layer *child)
{
    for (int i = 0; i < child->variable_count; i++) {
        const char *name = child->variable[i].name;
        if (strcmp(name, "kernel") == 0 || strcmp(name, "embeddings") == 0) return &child->variable[i];
    }
    return NULL;
}

static artel_status declare_vector(artel__layer *layer, const artel_shape *kernel)
{
    json_t *record = json_pack("{s:s, s:{s:f}}", "class_name", "TruncatedNormal", "config", "stddev", 0.02);
    if (!record) return artel__fail_memory(layer->arena->ctx, layer->name, 64);
    artel__weight_parts parts = {.matrix_fans = false};
    artel_shape shape = artel__shape(2, (int64_t)1, kernel->dim[kernel->rank - 1]);
    artel_status status = artel__initializer_read(layer->arena, layer->name, record, &parts.initializer);
    json_decref(record);
    return status < 0 ? status : artel__layer_declare(layer, "vector_u", &shape, 0, false, &parts);
}

static artel_status build_spectral(artel__layer *layer, const artel__call *call)
{
    artel__layer *child = layer->child[0].layer;
    if (!child->built && child->def->build) ARTEL_TRY(child->def->build(child, call));
    child->built = true;
    const artel__layer_variable *kernel = find_kernel(child);
    if (!kernel)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "wrap a layer that has one, as Dense, Conv2D or Embedding",
                                 "the layer inside (%s) has no kernel and no embeddings", child->def->class_name);
    ARTEL_TRY(artel__layer_add_alias(layer, kernel));
    return declare_vector(layer, &layer->variables->item[kernel->index].shape);
}

static artel__value_id sum(artel__graph *graph, artel__value_id x, uint32_t axes)
{
    return artel__op_reduce(graph, ARTEL__REDUCE_SUM, x, axes, true);
}

static artel__value_id unit(artel__graph *graph, artel__value_id x)
{
    artel__value_id length = sum(graph, artel__op_unary(graph, ARTEL__UNARY_SQUARE, NULL, x), 3u);
    artel__value_id inverse = artel__op_unary(graph, ARTEL__UNARY_RSQRT, NULL, length);
    return product(graph, x, artel__op_binary(graph, ARTEL__BINARY_MIN, inverse, artel__op_scalar(graph, 1e7)));
}

/* w [rows][columns], u [1][columns]: the normalised matrix, and the next u. */
static artel__value_id normalise(artel__graph *graph, artel__value_id w, int64_t iterations, artel__value_id *u)
{
    artel__value_id next = *u, reached = ARTEL__NO_VALUE;
    for (int64_t i = 0; i < iterations; i++) {
        artel__value_id v = unit(graph, sum(graph, product(graph, w, next), 2u));
        reached = sum(graph, product(graph, w, v), 1u);
        next = unit(graph, reached);
    }
    artel__value_id sigma = sum(graph, product(graph, reached, next), 3u);
    artel__value_id size =
        artel__op_reduce(graph, ARTEL__REDUCE_MAX, artel__op_unary(graph, ARTEL__UNARY_ABS, NULL, w), 3u, true);
    *u = artel__op_where(graph, artel__op_compare_scalar(graph, ARTEL__COMPARE_EQUAL, size, 0), *u, next);
    return artel__op_binary(graph, ARTEL__BINARY_DIV_NO_NAN, w, sigma);
}

/* What stands in for the kernel in this step, and its assignment. A second call in a graph goes on from the first. */
static artel__value_id normalised_kernel(artel__layer *layer, artel__graph *graph)
{
    const spectral_config *c = layer->config;
    const artel__variable *declared = &layer->variables->item[layer->variable[KERNEL].index];
    artel__value_id variable = artel__graph_variable(graph, layer->variable[KERNEL].index);
    artel__value_id vector = artel__graph_variable(graph, layer->variable[VECTOR_U].index);
    artel__value_id u = artel__op_stood_in(graph, vector);
    int64_t columns = declared->shape.dim[declared->shape.rank - 1],
            rows = columns ? artel_shape_count(&declared->shape) / columns : 0;
    artel_shape matrix = artel__shape(2, rows, columns);
    artel__value_id w = artel__op_plain(graph, artel__op_stood_in(graph, variable), declared->rows);
    w = normalise(graph, artel__op_reshape(graph, w, &matrix), c->power_iterations, &u);
    w = artel__op_reshape(graph, w, &declared->shape);
    if (declared->layout == ARTEL__LAYOUT_PANELS) w = artel__op_panels_of(graph, w, declared->rows);
    artel__op_assign(graph, vector, u);
    artel__op_assign(graph, variable, w);
    artel__op_stand_in(graph, u, vector);
    return artel__op_stand_in(graph, w, variable);
}

static artel_status call_spectral(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__layer *child = layer->child[0].layer;
    artel__call inner = *call;
    artel_dtype dtype = call->inputs < 1 ? ARTEL_DTYPE_BOOL : graph->value[call->in[0].value].dtype;
    if (dtype != ARTEL_DTYPE_FLOAT32 && dtype != ARTEL_DTYPE_FLOAT64)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "feed it floating-point numbers, an Embedding too",
                                 "an input of integers is not supported: Keras makes integers of the result");
    if (!graph->training) {
        ARTEL_TRY(artel__layer_call(child, &inner));
    } else {
        artel_dtype precision = graph->precision;
        graph->precision = ARTEL_DTYPE_FLOAT32;
        artel__value_id kernel = normalised_kernel(layer, graph);
        graph->precision = precision;
        ARTEL_TRY(graph->status);
        artel__value_id *place = &graph->variable_value[layer->variable[KERNEL].index + graph->variable_base],
                        own = *place;
        *place = kernel;
        artel_status status = artel__layer_call(child, &inner);
        graph->variable_value[layer->variable[KERNEL].index + graph->variable_base] = own;
        ARTEL_TRY(status);
    }
    call->outputs = inner.outputs;
    return graph->status;
}

const artel__layer_def artel__layer_spectral_normalization_def = {
    .class_name = "SpectralNormalization",
    .doc = "A layer whose kernel is divided by its largest singular value while training.",
    .config_size = sizeof(spectral_config),
    .options = spectral_options,
    .mask = ARTEL__MASK_STOP,
    .configure = configure_spectral,
    .build = build_spectral,
    .call = call_spectral,
};
