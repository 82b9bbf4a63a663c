/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients that are written anew when they are differentiated.
 *
 * A fused gradient, that of a normalisation say, is one node with a kernel. Whoever differentiates it gets the
 * operation once more, of leaves and of operations that have gradients of every order; the gradient by a leaf is that
 * of this graph, and so is the gradient of the gradient. The node itself stays, so that what is not differentiated
 * twice has the bits that it always had, and of the new nodes those that nothing reads are removed with all others.
 */
#include "op/ops.h"
#include "op/second.h"

artel__value_id artel__second_leaf(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[x].shape;
    return artel__op_reshape(graph, x, &shape);
}

artel_status artel__second_slopes(artel__graph *graph, const artel__slopes *slopes, artel__value_id *out)
{
    artel__value_id target[4], seed[4];
    artel__differentiate request = {.add = &artel__op_binary_def,
                                    .narrow = &artel__op_narrow_def,
                                    .targets = target,
                                    .seeds = seed,
                                    .wanted = slopes->leaf,
                                    .wanted_count = slopes->leaves};
    for (int k = 0; k < slopes->targets; k++) {
        if (slopes->target[k] < 0 || slopes->seed[k] < 0) continue;
        target[request.target_count] = slopes->target[k];
        seed[request.target_count++] = slopes->seed[k];
    }
    return artel__graph_differentiate(graph, &request, out);
}

artel_status artel__second_written(artel__gradient *g, artel__value_id y, artel__value_id seed,
                                   const artel__value_id leaf[2], const int input[2])
{
    artel__value_id dx;
    artel__slopes first = {{y}, {seed}, 1, leaf, 1};
    ARTEL_TRY(g->graph->status);
    ARTEL_TRY(artel__second_slopes(g->graph, &first, &dx));
    artel__slopes all = {{dx}, {g->out_gradient[0]}, 1, leaf, 2};
    return artel__second_finish(g, &all, input);
}

artel_status artel__second_finish(artel__gradient *g, const artel__slopes *slopes, const int *input)
{
    artel__graph *graph = g->graph;
    artel__value_id found[ARTEL__MAX_OPERANDS];
    ARTEL_TRY(artel__second_slopes(graph, slopes, found));
    for (int i = 0; i < slopes->leaves; i++) {
        if (found[i] < 0 || !g->needed[input[i]]) continue;
        artel_shape shape = graph->value[g->in[input[i]]].shape;
        bool same = artel__shape_equal(&shape, &graph->value[found[i]].shape);
        g->in_gradient[input[i]] = same ? found[i] : artel__op_reshape(graph, found[i], &shape);
    }
    return graph->status;
}
