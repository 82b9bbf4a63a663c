/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the whole batch as an axis, and back.
 *
 *   all_rows        BATCH [...] (gathered rows) -> GLOBAL [most][...], zeros behind the batch
 *   gathered_rows   that, ROW [...] (the rows themselves) -> a view of the first, whose gradient goes to the rows
 *   own_rows        GLOBAL [most][...] -> ROW [...]: the owned ones
 * The last two are each other's gradients: a row's gradient stands at its place among those of all rows, which are the
 * same on every replica.
 */
#include "op/all_rows.h"

#include <string.h>

#include "graph/lower.h"

static int64_t one_task(const void *params)
{
    (void)params;
    return 1;
}

/* From and to by bytes. */
typedef struct rows_copy {
    size_t first, size, rest; /* of what is read; how much; zeros behind it */
    int64_t row;              /* the first owned one, for devices */
    const char *from;
    char *to;
} rows_copy;

static void copy_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const rows_copy *p = params;
    (void)begin, (void)end, (void)scratch;
    if (p->size) memcpy(p->to, p->from + p->first, p->size);
    memset(p->to + p->size, 0, p->rest);
}

static const artel__kernel copy_kernel = {
    .name = "ref rows_copy", .isa = ARTEL__ISA_BASELINE, .tasks = one_task, .run = copy_run};
static const artel__kernel *const copy_kernels[] = {&copy_kernel, NULL};

typedef struct all_attributes {
    int64_t most;
} all_attributes;

static size_t row_bytes(const artel__value *row)
{
    return (size_t)row->storage * artel_dtype_size(row->dtype);
}

/* -- all of them -- */

static artel_status infer_all(artel__infer *infer)
{
    const all_attributes *a = infer->attributes;
    const artel__value *in = infer->in[0];
    artel_shape shape = {.rank = in->shape.rank + 1, .dim = {a->most}};
    if (in->domain != ARTEL__DOMAIN_BATCH) return artel__op_fail(infer, "the operand is not gathered");
    if (a->most < 1 || shape.rank > ARTEL_MAX_RANK)
        return artel__op_fail(infer, "the size of batches is not known, or rows have too many axes");
    for (int i = 0; i < in->shape.rank; i++) shape.dim[i + 1] = in->shape.dim[i];
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, in->dtype, &shape);
    return ARTEL_OK;
}

static void fill_all(const artel__run_args *args, void *params)
{
    const all_attributes *a = args->attributes;
    int64_t batch = args->step->fold->batch < a->most ? args->step->fold->batch : a->most;
    size_t row = row_bytes(artel__args_in(args, 0)), size = (size_t)batch * row;
    *(rows_copy *)params =
        (rows_copy){.size = size, .rest = (size_t)a->most * row - size, .from = args->in[0], .to = args->out[0]};
}

static void lower_all(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0), rest = out;
    artel__hlo_value part[2] = {lower->in[0], -1};
    rest.dim[0] = out.dim[0] - artel__lower_batch(lower);
    lower->out[0] = lower->in[0];
    if (rest.dim[0] <= 0) return;
    part[1] = artel__hlo_splat(h, 0, &rest);
    lower->out[0] = artel__hlo_concatenate(h, part, 2, 0);
}

const artel__op_def artel__op_all_rows_def = {
    .name = "all_rows",
    .doc = "The rows of the global batch as an axis.",
    .attribute_size = sizeof(all_attributes),
    .infer = infer_all,
    .lower = lower_all,
    .exec =
        &(const artel__op_exec){
            .kernels = copy_kernels,
            .params_size = sizeof(rows_copy),
            .fill = fill_all,
        },
};

/* -- with their gradient -- */

static artel__value_id own_rows(artel__graph *graph, artel__value_id all);

static artel_status infer_gathered(artel__infer *infer)
{
    const artel__value *all = infer->in[0];
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, all->dtype, &all->shape);
    return ARTEL_OK;
}

static artel_status grad_gathered(artel__gradient *g)
{
    if (g->needed[1]) g->in_gradient[1] = own_rows(g->graph, g->out_gradient[0]);
    return g->graph->status;
}

static void lower_gathered(artel__lower *lower)
{
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, lower->in[0], &out);
}

const artel__op_def artel__op_gathered_rows_def = {
    .name = "gathered_rows",
    .doc = "The rows of the global batch as an axis, with their gradient.",
    .placement = ARTEL__PLACE_VIEW,
    .infer = infer_gathered,
    .grad = grad_gathered,
    .lower = lower_gathered,
};

artel__value_id artel__op_all_rows_of(artel__graph *graph, artel__value_id gathered, artel__value_id rows)
{
    const all_attributes attributes = {graph->batch_size};
    artel__value_id all = artel__graph_add(graph, &artel__op_all_rows_def, &attributes, &gathered, 1);
    if (rows < 0) return all;
    return artel__graph_add(graph, &artel__op_gathered_rows_def, NULL, (artel__value_id[]){all, rows}, 2);
}

artel__value_id artel__op_all_rows(artel__graph *graph, artel__value_id rows)
{
    return artel__op_all_rows_of(graph, artel__op_all_gather(graph, rows), rows);
}

/* -- the owned ones -- */

static artel_status infer_own(artel__infer *infer)
{
    const artel__value *in = infer->in[0];
    artel_shape shape = {.rank = in->shape.rank - 1};
    if (in->domain != ARTEL__DOMAIN_GLOBAL || in->shape.rank < 1)
        return artel__op_fail(infer, "the operand has no axis of rows");
    for (int i = 0; i < shape.rank; i++) shape.dim[i] = in->shape.dim[i + 1];
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, in->dtype, &shape);
    return ARTEL_OK;
}

static void fill_own(const artel__run_args *args, void *params)
{
    const artel__fold_plan *fold = args->step->fold;
    size_t row = row_bytes(artel__args_out(args, 0));
    *(rows_copy *)params = (rows_copy){.first = (size_t)fold->row * row,
                                       .size = (size_t)fold->rows * row,
                                       .row = fold->row,
                                       .from = args->in[0],
                                       .to = args->out[0]};
}

static artel_status grad_own(artel__gradient *g)
{
    g->in_gradient[0] = artel__op_all_rows(g->graph, g->out_gradient[0]);
    return g->graph->status;
}

static void lower_own(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    artel__hlo_value first[ARTEL__HLO_RANK];
    first[0] = artel__lower_scalar_of(lower, offsetof(rows_copy, row), ARTEL_DTYPE_INT64);
    for (int i = 1; i < ARTEL__HLO_RANK; i++) first[i] = artel__hlo_number(h, 0, first[0]);
    lower->out[0] = artel__hlo_dynamic_slice(h, lower->in[0], first, out.dim);
}

const artel__op_def artel__op_own_rows_def = {
    .name = "own_rows",
    .doc = "The owned rows of an axis of all rows.",
    .infer = infer_own,
    .grad = grad_own,
    .lower = lower_own,
    .exec =
        &(const artel__op_exec){
            .kernels = copy_kernels,
            .params_size = sizeof(rows_copy),
            .fill = fill_own,
        },
};

static artel__value_id own_rows(artel__graph *graph, artel__value_id all)
{
    return artel__graph_add(graph, &artel__op_own_rows_def, NULL, &all, 1);
}
