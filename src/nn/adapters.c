/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters of low rank. See the header; after enable_lora of keras/src/layers/core/dense.py. */
#include "nn/adapters.h"

#include "op/elementwise.h"

artel_status artel__adapters_read(const artel__layer *layer, int64_t *rank, double *scale)
{
    json_t *given = artel__layer_setting(layer, "lora_rank"), *factor = artel__layer_setting(layer, "lora_alpha");
    double alpha = 0;
    *rank = 0;
    *scale = 1;
    if (!given) return ARTEL_OK;
    if (!artel__json_integer(given, rank) || *rank < 0 || *rank > 65536)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write a number of 1 to 65536, or null",
                                 "the setting \"lora_rank\" is no rank");
    if (*rank == 0 || !factor) return ARTEL_OK;
    if (!artel__json_number(factor, &alpha))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "write a number, or null",
                                 "the setting \"lora_alpha\" is no number");
    *scale = alpha / (double)*rank;
    return ARTEL_OK;
}

static artel_status declare(artel__layer *layer, const artel__adapters *adapters, const char *which,
                            const artel_shape *shape, int64_t rows)
{
    artel__weight weight = {
        .name = artel__arena_printf(layer->arena, "%s_%s", adapters->name, which),
        .shape = *shape,
        .rows = rows,
        .trainable = true,
        .dtype = ARTEL_DTYPE_FLOAT32, /* as in Keras, whatever the kernel is */
        .regularizer = &adapters->parts->regularizer,
    };
    artel__initializer uniform;
    if (*which == 'a') {
        json_t *name = json_string("he_uniform");
        if (!name) return artel__fail_memory(layer->arena->ctx, layer->name, 1);
        artel_status status = artel__initializer_read(layer->arena, layer->name, name, &uniform);
        json_decref(name);
        ARTEL_TRY(status);
        weight.initializer = &uniform;
    }
    if (!weight.name) return ARTEL_ERROR_NO_MEMORY;
    int n = artel__layer_add_weight(layer, &weight);
    if (n < 0) return n;
    layer->variable[n].adapter = true;
    return ARTEL_OK;
}

artel_status artel__adapters_declare(artel__layer *layer, const artel__adapters *adapters)
{
    int64_t rank;
    double scale;
    ARTEL_TRY(artel__adapters_read(layer, &rank, &scale));
    if (rank == 0) return ARTEL_OK;
    if (adapters->parts->constraint.def)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "remove one of the two, as Keras asks",
                                 "a kernel with \"lora_rank\" and a constraint is not supported");
    const artel__variable *kernel = &layer->variables->item[layer->variable[adapters->kernel].index];
    artel_shape a = kernel->shape, b = artel__shape(2, rank, a.dim[a.rank - 1]);
    a.dim[a.rank - 1] = rank;
    int first = layer->variable_count;
    bool wide = kernel->dtype == ARTEL_DTYPE_FLOAT64; /* whose products read weights as they are */
    ARTEL_TRY(declare(layer, adapters, "a", &a, wide ? 0 : adapters->rows));
    ARTEL_TRY(declare(layer, adapters, "b", &b, wide || adapters->sums ? 0 : rank));
    artel__layer_variable *own = &layer->variable[adapters->kernel];
    own->frozen = true;
    own->adapters = first;
    own->adapter_scale = scale;
    return ARTEL_OK;
}

artel__value_id artel__adapters_add(const artel__layer *layer, artel__graph *graph, int kernel, artel__value_id y,
                                    artel__value_id xa)
{
    const artel__layer_variable *own = &layer->variable[kernel];
    artel__value_id b = artel__layer_weight(layer, graph, own->adapters + 1);
    if (graph->status < 0) return ARTEL__NO_VALUE;
    artel_shape columns = artel__shape(1, graph->value[b].shape.dim[1]);
    artel__value_id more = artel__op_product(graph, xa, b, ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
    if (own->adapter_scale != 1) more = artel__op_affine(graph, more, own->adapter_scale, 0);
    return artel__op_add(graph, y, more);
}
