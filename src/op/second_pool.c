/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of the gradient of pooling.
 *
 * dx is straight in dy: what comes back to it is pooled, of averages by the very operation, of maxima by taking from
 * each window what stands at its first greatest x. For this the windows are gone through place by place, all of them at
 * once: a place of all windows is a slice. Which of the places is greatest does not change with x.
 */
#include <math.h>

#include "op/ops.h"
#include "op/pool_attributes.h"
#include "op/second.h"
#include "op/shape_ops.h"

enum {
    MOST_PLACES = 4096
};

/* [in..][channels] with `number` where windows stand out. */
static artel__value_id padded(artel__graph *graph, const artel__pool_shape *s, artel__value_id x, double number)
{
    int64_t before[ARTEL_MAX_RANK] = {0}, after[ARTEL_MAX_RANK] = {0};
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int axes = graph->value[x].shape.rank - 1;
    for (int i = 0; i < axes; i++) {
        int d = 3 - axes + i;
        before[i] = s->pad[d];
        after[i] = (s->out[d] - 1) * s->stride[d] + s->window[d] - s->in[d] - s->pad[d];
    }
    return artel__op_pad(graph, x, before, after, number);
}

/* Place number n of all windows, in row-major order. */
static artel__value_id place(artel__graph *graph, const artel__pool_shape *s, artel__value_id x, int64_t n)
{
    if (graph->status < 0) return ARTEL__NO_VALUE;
    int axes = graph->value[x].shape.rank - 1;
    for (int i = axes - 1; i >= 0; i--) {
        int d = 3 - axes + i;
        x = artel__op_slice(graph, x, i, n % s->window[d], s->out[d], s->stride[d]);
        n /= s->window[d];
    }
    return x;
}

/* From each window the element of b at the first greatest of x. */
static artel__value_id picked(artel__graph *graph, const artel__pool_shape *s, artel__value_id x, artel__value_id b)
{
    x = padded(graph, s, x, -(double)INFINITY);
    b = padded(graph, s, b, 0);
    artel__value_id most = place(graph, s, x, 0), out = place(graph, s, b, 0);
    for (int64_t n = 1; n < s->window[0] * s->window[1] * s->window[2]; n++) {
        artel__value_id next = place(graph, s, x, n);
        artel__value_id greater = artel__op_compare(graph, ARTEL__COMPARE_GREATER, next, most);
        out = artel__op_where(graph, greater, place(graph, s, b, n), out);
        most = artel__op_where(graph, greater, next, most);
    }
    return out;
}

artel_status artel__second_pool(artel__gradient *g)
{
    const artel__pool_attributes *a = g->attributes;
    const artel__pool_shape *s = &a->shape;
    artel__graph *graph = g->graph;
    artel__value_id back = g->out_gradient[0];
    if (!g->needed[0]) return ARTEL_OK;
    if (a->function == ARTEL__POOL_AVERAGE) {
        g->in_gradient[0] = artel__graph_add(graph, &artel__op_pool_def, a, &back, 1);
        return graph->status;
    }
    if (s->window[0] * s->window[1] * s->window[2] > MOST_PLACES)
        return artel__second_refuse(g, "maxima of windows of more than 4,096 places");
    if (a->relu) {
        artel__value_id passed = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, g->in[1], 0);
        back = artel__op_where(graph, passed, back, ARTEL__NO_VALUE);
    }
    artel__value_id x = artel__op_stop_gradient(graph, g->in[1]);
    g->in_gradient[0] = picked(graph, s, x, back);
    return graph->status;
}
