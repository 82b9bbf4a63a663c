/* SPDX-License-Identifier: Apache-2.0 */
/* What a model adds to the loss by itself, as keras.Model.losses has it: the penalties of weights, and what its layers
 * have said of activities when it was last called. Of operations that have gradients of any order. */
#include "function/function_impl.h"
#include "function/tape.h"
#include "nn/parts.h"
#include "op/stand_in.h"

typedef struct losses {
    artel_graph *g;
    const artel__adopted *of;
    artel_value sum;
} losses;

static artel_value times(artel_graph *g, artel_value x, double factor)
{
    return artel_graph_binary(g, "multiply", x, artel_graph_number(g, factor));
}

static void add(losses *l, artel_value term)
{
    l->sum = l->sum < 0 ? term : artel_graph_binary(l->g, "add", l->sum, term);
}

static artel_value total(artel_graph *g, artel_value x)
{
    return artel_graph_op(g, "sum", &x, 1, NULL);
}

/* As artel__regularizer_penalty: the mean |cosine| between two rows (columns) of a matrix. */
static artel_value orthogonal(artel_graph *g, const artel__regularizer *r, artel_value x)
{
    artel_shape shape;
    if (artel_graph_describe(g, x, NULL, &shape, NULL) < 0) return ARTEL_NO_VALUE;
    if (shape.rank != 2)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "losses", "use it for matrices, as Keras does",
                                   "OrthogonalRegularizer: the weight has %d axes", shape.rank);
    if (r->columns) x = artel_graph_op(g, "transpose", &x, 1, NULL);
    int64_t n = r->columns ? shape.dim[1] : shape.dim[0];
    artel_value squares = artel_graph_unary(g, "square", x);
    squares = artel_graph_op(g, "sum", &squares, 1, "{\"axis\": 1, \"keepdims\": true}");
    artel_value inverse =
        artel_graph_binary(g, "minimum", artel_graph_unary(g, "rsqrt", squares), artel_graph_number(g, 1e7));
    artel_value unit = artel_graph_binary(g, "multiply", x, inverse), across = artel_graph_unary(g, "transpose", unit);
    artel_value cosine = artel_graph_binary(g, "matmul", unit, across);
    float *others = artel__arena_alloc(g->graph->arena, (size_t)(n * n), sizeof *others);
    if (!others) g->graph->status = ARTEL_ERROR_NO_MEMORY;
    if (g->graph->status < 0) return ARTEL_NO_VALUE;
    for (int64_t i = 0; i < n * n; i++) others[i] = i / n == i % n ? 0.0f : 1.0f;
    const artel_shape square = {2, {n, n}};
    cosine = artel_graph_binary(g, "multiply", cosine, artel_graph_constant(g, ARTEL_DTYPE_FLOAT32, &square, others));
    double pairs = (double)n * ((double)n - 1);
    return times(g, total(g, artel_graph_unary(g, "absolute", cosine)), n > 1 ? r->orthogonal / pairs : 0);
}

static artel_status add_penalty(void *user, const artel__model_variable *variable)
{
    losses *l = user;
    artel_graph *g = l->g;
    const artel__regularizer *r = &variable->variable->regularizer;
    if (!variable->trainable || artel__regularizer_is_none(r)) return ARTEL_OK;
    artel_value w = artel_graph_variable(g, l->of->item[variable->variable->index]);
    artel__value_id id = artel__graph_take(g, w);
    artel__value_id stands = g->graph->status < 0 ? id : artel__op_stood_in(g->graph, id);
    if (stands != id) w = artel__graph_give(g, stands);
    if (r->orthogonal != 0) add(l, orthogonal(g, r, w));
    if (r->l1 != 0) add(l, times(g, total(g, artel_graph_unary(g, "absolute", w)), r->l1));
    if (r->l2 != 0) add(l, times(g, total(g, artel_graph_unary(g, "square", w)), r->l2));
    return g->graph->status;
}

static artel_value sum_losses(artel_graph *g, const artel__adopted *of)
{
    losses l = {g, of, ARTEL_NO_VALUE};
    const artel__call_extras *last = g->extras;
    while (last && last->of != of) last = last->next;
    if (last && last->activity >= 0) add(&l, artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, last->activity));
    artel_status status = artel__model_visit(of->model->nn, add_penalty, &l);
    if (status < 0 && g->graph->status == ARTEL_OK) g->graph->status = status;
    return l.sum < 0 ? artel_graph_number(g, 0) : l.sum;
}

artel_value artel_graph_model_losses(artel_graph *g, artel_model *model)
{
    if (!g || g->graph->status < 0) return ARTEL_NO_VALUE;
    const artel__adopted *of = model && g->strategy ? artel__strategy_find(g->strategy, model) : NULL;
    if (!of)
        return artel__graph_refuse(g, ARTEL_ERROR_INVALID, "model", "call artel_strategy_add_model first",
                                   "the strategy does not hold the weights of this model");
    artel__tape_entry *entry =
        artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_MODEL_LOSSES, .which = of->number}, NULL, 0);
    struct artel__tape *tape = g->tape;
    g->tape = NULL; /* what it is made of is no call of the program's */
    artel_value sum = sum_losses(g, of);
    g->tape = tape;
    return artel__tape_gave(g, entry, sum);
}
