/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that see the rows of the whole batch, on any number of replicas; numerics: kernel/batch.h.
 *
 *   shuffle  x and keys of all replicas (gathered), own x -> ROW of the same shape; its gradient is the shuffle back
 */
#include "op/batch.h"

#include "kernel/batch.h"
#include "op/elementwise.h"
#include "op/lower_batch.h"
#include "op/reduce.h"

typedef struct shuffle_attributes {
    bool back;
} shuffle_attributes;

static artel_status infer_shuffle(artel__infer *infer)
{
    const artel__value *x = infer->in[0], *keys = infer->in[1];
    bool moves = x->dtype == ARTEL_DTYPE_FLOAT32 || x->dtype == ARTEL_DTYPE_FLOAT64;
    if (x->domain != ARTEL__DOMAIN_BATCH || !moves || keys->domain != ARTEL__DOMAIN_BATCH ||
        keys->dtype != ARTEL_DTYPE_FLOAT32 || keys->storage != 1)
        return artel__op_fail(infer, "expected float32 or float64 of all rows, and one key a row");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, x->dtype, &x->shape);
    return ARTEL_OK;
}

static void fill_shuffle(const artel__run_args *args, void *params)
{
    const artel__fold_plan *fold = args->step->fold;
    const artel__value *x = artel__args_in(args, 0);
    int64_t units = (int64_t)(artel_dtype_size(x->dtype) / sizeof(float));
    *(artel__shuffle *)params = (artel__shuffle){.batch = fold->batch,
                                                 .width = x->storage * units,
                                                 .first = fold->row,
                                                 .rows = fold->rows,
                                                 .back = ((const shuffle_attributes *)args->attributes)->back,
                                                 .x = args->in[0],
                                                 .key = args->in[1],
                                                 .y = args->out[0]};
}

/* The own rows are an operand for the sake of their gradient alone. */
static uint32_t unread_by_shuffle(const artel__node *node)
{
    (void)node;
    return 4;
}

static void lower_shuffle(artel__lower *lower)
{
    artel__lower_shuffle(lower, ((const shuffle_attributes *)lower->attributes)->back);
}

static artel_status grad_shuffle(artel__gradient *g);

const artel__op_def artel__op_shuffle_def = {
    .name = "shuffle",
    .doc = "The rows of a batch in the order of keys.",
    .attribute_size = sizeof(shuffle_attributes),
    .infer = infer_shuffle,
    .grad = grad_shuffle,
    .lower = lower_shuffle,
    .moves = artel__op_always_moves,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__shuffle_kernels,
            .params_size = sizeof(artel__shuffle),
            .fill = fill_shuffle,
            .unread = unread_by_shuffle,
        },
};

static artel_status grad_shuffle(artel__gradient *g)
{
    if (!g->needed[2]) return ARTEL_OK;
    shuffle_attributes turned = {.back = !((const shuffle_attributes *)g->attributes)->back};
    artel__value_id inputs[] = {artel__op_all_gather(g->graph, g->out_gradient[0]), g->in[1], g->out_gradient[0]};
    g->in_gradient[2] = artel__graph_add(g->graph, &artel__op_shuffle_def, &turned, inputs, 3);
    return ARTEL_OK;
}

artel__value_id artel__op_shuffle(artel__graph *graph, artel__value_id x, artel__value_id keys)
{
    keys = artel__op_cast(graph, keys, ARTEL_DTYPE_FLOAT32);
    artel__value_id inputs[] = {artel__op_all_gather(graph, x), artel__op_all_gather(graph, keys), x};
    return artel__graph_add(graph, &artel__op_shuffle_def, NULL, inputs, 3);
}
