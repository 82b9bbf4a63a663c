/* SPDX-License-Identifier: Apache-2.0 */
/* What optimizers of matrices have in common: the gradient that they see, and what they write. */
#include "nn/optimizer_matrix.h"

#include "kernel/narrow.h"
#include "nn/layer_support.h"
#include "op/embed.h"
#include "op/shape_ops.h"
#include "op/step_number.h"

artel__value_id artel__matrix_scalar(artel__graph *graph, artel__value_id x)
{
    artel_shape scalar = {.rank = 0};
    return artel__op_reshape(graph, artel__op_cast(graph, x, graph->real), &scalar);
}

artel__value_id artel__matrix_decayed(artel__graph *graph, artel__value_id w, double decay)
{
    if (decay == 0) return w;
    artel__value_id lost = multiply(graph, artel__op_affine(graph, w, artel__round_to_float32(decay), 0),
                                    artel__op_step_number(graph, ARTEL__STEP_RATE, 0));
    return artel__op_binary(graph, ARTEL__BINARY_SUB, w, lost);
}

void artel__matrix_write_back(artel__graph *graph, artel__value_id variable, artel__value_id x, int64_t rows)
{
    if (graph->status < 0) return;
    bool panels = graph->value[variable].layout == ARTEL__LAYOUT_PANELS;
    artel__op_assign(graph, variable, panels ? artel__op_panels_of(graph, x, rows) : x);
}

/* The plain gradient after clipping, in Keras' order of operations (kernel/optimize.h). */
static artel__value_id clipped(artel__graph *graph, const artel__optimize *o, artel__value_id g)
{
    const double limits[3] = {-o->limit, o->limit, 0};
    if (o->clip == ARTEL__CLIP_VALUE) return artel__op_unary_exact(graph, ARTEL__UNARY_CLIP, limits, g);
    if (o->clip == ARTEL__CLIP_NONE) return o->scale >= 0 ? divide(graph, g, o->scale) : g;
    artel__value_id norm = unary(graph, ARTEL__UNARY_SQRT, artel__matrix_scalar(graph, o->squared_norm)),
                    limit = number(graph, o->limit);
    if (o->clip == ARTEL__CLIP_NORM) {
        artel__value_id most = artel__op_binary(graph, ARTEL__BINARY_MAX, norm, limit);
        return divide(graph, multiply(graph, g, limit), most);
    }
    artel__value_id least = artel__op_binary(graph, ARTEL__BINARY_MIN, unary(graph, ARTEL__UNARY_RECIPROCAL, norm),
                                             number(graph, 1 / o->limit));
    return multiply(graph, g, multiply(graph, limit, least));
}

void artel__matrix_step(const artel__optimizer *optimizer, artel__graph *graph, const artel__variable *variable,
                        const artel__optimize *o, artel__value_id gradient)
{
    artel__phase phase = graph->phase;
    artel_dtype precision = graph->precision, real = graph->real;
    artel__value_id squares = o->squares;
    graph->phase = ARTEL__PHASE_APPLY;
    graph->precision = ARTEL_DTYPE_FLOAT32;
    graph->real = variable->dtype == ARTEL_DTYPE_FLOAT64 ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32;
    artel__value_id g =
        clipped(graph, o, artel__op_reshape(graph, artel__op_plain(graph, gradient, variable->rows), &variable->shape));
    bool each = o->clip == ARTEL__CLIP_NONE || o->clip == ARTEL__CLIP_NORM; /* else Keras makes one tensor of them */
    if (squares >= 0) squares = each ? clipped(graph, o, clipped(graph, o, squares)) : ARTEL__NO_VALUE;
    optimizer->def->matrix->step(optimizer, graph, variable, o, g, squares);
    graph->phase = phase;
    graph->precision = precision;
    graph->real = real;
}
