/* SPDX-License-Identifier: Apache-2.0 */
/* Reshape: the same elements under another shape. Rows keep their extent; nothing is copied. */
#include "graph/lower.h"
#include "op/op.h"

typedef struct reshape_attributes {
    artel_shape shape;
} reshape_attributes;

static artel_status infer_reshape(artel__infer *infer)
{
    const reshape_attributes *a = infer->attributes;
    const artel__value *in = infer->in[0];
    char from[128], to[128];
    if (artel_shape_count(&in->shape) != artel_shape_count(&a->shape))
        return artel__op_fail(infer, "%s cannot take the shape %s",
                              artel__shape_text(&in->shape, true, from, sizeof from),
                              artel__shape_text(&a->shape, true, to, sizeof to));
    artel__infer_output(infer, 0, in->domain, in->dtype, &a->shape);
    return ARTEL_OK;
}

static artel_status grad_reshape(artel__gradient *g)
{
    g->in_gradient[0] = artel__op_reshape(g->graph, g->out_gradient[0], &g->graph->value[g->in[0]].shape);
    return ARTEL_OK;
}

static void lower_reshape(artel__lower *lower)
{
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, lower->in[0], &to);
}

const artel__op_def artel__op_reshape_def = {
    .name = "reshape",
    .doc = "The same elements under another shape.",
    .attribute_size = sizeof(reshape_attributes),
    .placement = ARTEL__PLACE_VIEW,
    .infer = infer_reshape,
    .grad = grad_reshape,
    .lower = lower_reshape,
};

artel__value_id artel__op_reshape(artel__graph *graph, artel__value_id x, const artel_shape *shape)
{
    reshape_attributes attributes = {*shape};
    return artel__graph_add(graph, &artel__op_reshape_def, &attributes, &x, 1);
}
