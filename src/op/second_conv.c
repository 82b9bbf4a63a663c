/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of the gradients of convolutions: convolutions and their gradients again, for each of them is linear in
 * both operands.
 *
 *   dx from dy and w:  d dy = conv(g, w), dw = the weight gradient of (g, dy)
 *   dw from x and dy:  dx = the data gradient of (dy, g), d dy = conv(x, g), and what comes back to the bias' gradient
 */
#include "op/conv_attributes.h"
#include "op/op.h"
#include "op/ops.h"
#include "op/second.h"

/* The settings without what is fused to the convolution itself. */
static artel__conv_attributes bare(const artel__gradient *g)
{
    artel__conv_attributes a = *(const artel__conv_attributes *)g->attributes;
    a.bias = false;
    a.activation = ARTEL__FUSED_NONE;
    return a;
}

static artel__value_id add_two(artel__gradient *g, const artel__op_def *op, artel__value_id a, artel__value_id b)
{
    artel__conv_attributes attributes = bare(g);
    return artel__graph_add(g->graph, op, &attributes, (artel__value_id[]){a, b}, 2);
}

static artel__value_id turn(artel__gradient *g, artel__value_id w, bool back)
{
    const artel__conv2d_shape *s = &((const artel__conv_attributes *)g->attributes)->shape;
    int64_t in = s->ic / s->groups, out = s->oc / s->groups;
    return back ? artel__op_transpose_weights(g->graph, w, s->kh * s->kw, out, s->groups * in, s->groups)
                : artel__op_transpose_weights(g->graph, w, s->kh * s->kw, in, s->oc, s->groups);
}

/* dx from dy and the weights turned. */
artel_status artel__second_conv_data(artel__gradient *g)
{
    artel__value_id back = g->out_gradient[0];
    if (g->needed[0]) g->in_gradient[0] = add_two(g, &artel__op_conv2d_def, back, turn(g, g->in[1], true));
    if (!g->needed[1]) return g->graph->status;
    artel__value_id dw =
        artel__op_all_reduce(g->graph, add_two(g, &artel__op_conv2d_weight_gradient_def, back, g->in[0]));
    g->in_gradient[1] = turn(g, dw, false);
    return g->graph->status;
}

/* dw, and the sums of dy, from x and dy. */
artel_status artel__second_conv_weights(artel__gradient *g)
{
    artel__value_id back = g->out_gradient[0], bias = g->out_gradient[1];
    bool depthwise = g->graph->node[g->node].op == &artel__op_depthwise_weight_gradient_def;
    if (g->needed[0] && back >= 0)
        g->in_gradient[0] = depthwise ? add_two(g, &artel__op_depthwise_data_gradient_def, g->in[1], back)
                                      : add_two(g, &artel__op_conv2d_data_gradient_def, g->in[1], turn(g, back, false));
    if (!g->needed[1]) return g->graph->status;
    artel__value_id made = ARTEL__NO_VALUE;
    if (back >= 0) made = add_two(g, depthwise ? &artel__op_depthwise_def : &artel__op_conv2d_def, g->in[0], back);
    if (bias >= 0) made = artel__op_add(g->graph, back >= 0 ? made : artel__op_fill_like(g->graph, g->in[1], 0), bias);
    g->in_gradient[1] = made;
    return g->graph->status;
}

artel_status artel__second_depthwise_data(artel__gradient *g)
{
    artel__value_id back = g->out_gradient[0];
    if (g->needed[0]) g->in_gradient[0] = add_two(g, &artel__op_depthwise_def, back, g->in[1]);
    if (g->needed[1])
        g->in_gradient[1] =
            artel__op_all_reduce(g->graph, add_two(g, &artel__op_depthwise_weight_gradient_def, back, g->in[0]));
    return g->graph->status;
}
