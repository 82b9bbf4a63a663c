/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the whole batch as an axis, and back.
 *
 *   all_rows   BATCH [...] (gathered rows), ROW [...] (these themselves) -> GLOBAL [most][...], zeros behind the batch
 *   own_rows   GLOBAL [most][...] -> ROW [...]: the owned ones
 * Each is the gradient of the other: a row's gradient stands at its place among those of all rows, which are the same
 * on every replica.
 */
#include "op/all_rows.h"

#include <string.h>

static int64_t one_task(const void *params)
{
    (void)params;
    return 1;
}

/* From and to by bytes. */
typedef struct rows_copy {
    size_t first, size, rest; /* of what is read; how much; zeros behind it */
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

static artel__value_id own_rows(artel__graph *graph, artel__value_id all);

static artel_status grad_all(artel__gradient *g)
{
    if (g->needed[1]) g->in_gradient[1] = own_rows(g->graph, g->out_gradient[0]);
    return g->graph->status;
}

const artel__op_def artel__op_all_rows_def = {
    .name = "all_rows",
    .doc = "The rows of the global batch as an axis.",
    .attribute_size = sizeof(all_attributes),
    .infer = infer_all,
    .grad = grad_all,
    .exec =
        &(const artel__op_exec){
            .kernels = copy_kernels,
            .params_size = sizeof(rows_copy),
            .fill = fill_all,
        },
};

artel__value_id artel__op_all_rows_of(artel__graph *graph, artel__value_id gathered, artel__value_id rows)
{
    const all_attributes attributes = {graph->batch_size};
    return artel__graph_add(graph, &artel__op_all_rows_def, &attributes, (artel__value_id[]){gathered, rows}, 2);
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
    *(rows_copy *)params = (rows_copy){
        .first = (size_t)fold->row * row, .size = (size_t)fold->rows * row, .from = args->in[0], .to = args->out[0]};
}

static artel_status grad_own(artel__gradient *g)
{
    g->in_gradient[0] = artel__op_all_rows(g->graph, g->out_gradient[0]);
    return g->graph->status;
}

const artel__op_def artel__op_own_rows_def = {
    .name = "own_rows",
    .doc = "The owned rows of an axis of all rows.",
    .infer = infer_own,
    .grad = grad_own,
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
