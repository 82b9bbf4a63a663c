/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the global batch as a whole: their state, their groups, their sum.
 *
 *   take_rows     GLOBAL [batch][...] -> ROW [...]: the owned rows
 *   place_rows    ROW [...] -> NODES [batch][...]: the rows of a node in their places, zeros elsewhere; the sum over
 * all nodes is the state batch_groups  ROW [groups]: 1 at the group of consecutive shards that a row belongs to, 0
 * elsewhere batch_sum     a view of a finished sum over rows, with the gradient that each row gets Rows that are placed
 * are normalised by + 0.0f, as leaves of a fold are, so that the sums with zeros change no bit.
 */
#include "op/batch_rows.h"

#include <string.h>

#include "graph/lower.h"
#include "kernel/fold_tree.h"
#include "op/elementwise.h"
#include "op/loss.h"
#include "op/reduce.h"

/* -- rows of a state -- */

/* One task each: a state is small. */
static int64_t one_task(const void *params)
{
    (void)params;
    return 1;
}

typedef struct take_rows {
    const artel__fold_plan *fold;
    int64_t batch, width, row; /* row: the first owned one, for devices; width: in bytes */
    const char *from;
    char *to;
    artel__fault_slot fault;
} take_rows;

static void take_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const take_rows *p = params;
    const artel__fold_plan *fold = p->fold;
    (void)begin, (void)end, (void)scratch;
    if (fold->batch == p->batch) {
        memcpy(p->to, p->from + fold->row * p->width, (size_t)(fold->rows * p->width));
        return;
    }
    memset(p->to, 0, (size_t)(fold->rows * p->width));
    if (fold->rows > 0) artel__fault_slot_report(&p->fault, 0, fold->batch);
}

static const artel__kernel take_kernel = {
    .name = "ref take_rows", .isa = ARTEL__ISA_BASELINE, .tasks = one_task, .run = take_run};
static const artel__kernel *const take_kernels[] = {&take_kernel, NULL};

static artel_status infer_take(artel__infer *infer)
{
    const artel_shape *state = &infer->in[0]->shape;
    artel_shape row = {.rank = state->rank - 1};
    for (int i = 0; i < row.rank; i++) row.dim[i] = state->dim[i + 1];
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, infer->in[0]->dtype, &row);
    return ARTEL_OK;
}

static void fill_take(const artel__run_args *args, void *params)
{
    *(take_rows *)params = (take_rows){.fold = args->step->fold,
                                       .batch = artel__args_in(args, 0)->shape.dim[0],
                                       .width = artel__args_out(args, 0)->storage *
                                                (int64_t)artel_dtype_size(artel__args_out(args, 0)->dtype),
                                       .row = args->step->fold->row,
                                       .from = args->in[0],
                                       .to = args->out[0],
                                       .fault = artel__args_fault_slot(args)};
}

/* Nothing flows back into the batch before. */
static artel_status grad_take(artel__gradient *g)
{
    (void)g;
    return ARTEL_OK;
}

/* Where the rows begin among those of a value of this rank. */
static void find_rows(artel__lower *lower, size_t offset, artel__hlo_value first[ARTEL__HLO_RANK])
{
    first[0] = artel__lower_scalar_of(lower, offset, ARTEL_DTYPE_INT64);
    for (int i = 1; i < ARTEL__HLO_RANK; i++) first[i] = artel__hlo_number(lower->hlo, 0, first[0]);
}

static void lower_take(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0), state = artel__lower_in_type(lower, 0);
    artel__hlo_type rows = {.dtype = ARTEL_DTYPE_BOOL, .rank = 1, .dim = {lower->rows}}, value = rows;
    artel__hlo_value first[ARTEL__HLO_RANK];
    value.dtype = ARTEL_DTYPE_INT64;
    if (state.dim[0] == artel__lower_batch(lower)) {
        find_rows(lower, offsetof(take_rows, row), first);
        lower->out[0] = artel__hlo_dynamic_slice(h, artel__hlo_reshape(h, lower->in[0], &state), first, out.dim);
        return;
    }
    lower->out[0] = artel__hlo_splat(h, 0, &out);
    artel__lower_fault_in(lower, artel__hlo_integer(h, 1, &rows),
                          artel__hlo_integer(h, (uint64_t)artel__lower_batch(lower), &value));
}

const artel__op_def artel__op_take_rows_def = {
    .name = "take_rows",
    .doc = "The owned rows of a state.",
    .infer = infer_take,
    .grad = grad_take,
    .lower = lower_take,
    .exec =
        &(const artel__op_exec){
            .kernels = take_kernels,
            .params_size = sizeof(take_rows),
            .fill = fill_take,
        },
};

artel__value_id artel__op_take_rows(artel__graph *graph, artel__value_id state)
{
    return artel__graph_add(graph, &artel__op_take_rows_def, NULL, &state, 1);
}

/* -- and back -- */

typedef struct place_rows {
    const artel__fold_plan *fold;
    int64_t batch, width, row;
    artel_dtype dtype; /* FLOAT32 or FLOAT64 */
    const void *from;
    void *to;
} place_rows;

static void add_zero(const place_rows *p, int64_t at, int64_t begin, int64_t end)
{
    const float *from = p->from;
    float *to = p->to;
    for (int64_t i = begin; i < end; i++) to[at + i] = from[i] + 0.0f;
}

static void add_wide_zero(const place_rows *p, int64_t at, int64_t begin, int64_t end)
{
    const double *from = p->from;
    double *to = p->to;
    for (int64_t i = begin; i < end; i++) to[at + i] = from[i] + 0.0;
}

static void place_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const place_rows *p = params;
    const artel__fold_plan *fold = p->fold;
    (void)begin, (void)end, (void)scratch;
    for (int n = 0; n < fold->nodes; n++) {
        int64_t block = p->batch * p->width, at = n * block + fold->row * p->width;
        size_t size = artel_dtype_size(p->dtype);
        int64_t first = artel__fold_begin(fold, fold->node[n].first);
        int64_t last = artel__fold_end(fold, fold->node[n].first + fold->node[n].count - 1);
        memset((char *)p->to + (size_t)(n * block) * size, 0, (size_t)block * size);
        if (fold->batch != p->batch) continue; /* the step has failed at take_rows */
        (p->dtype == ARTEL_DTYPE_FLOAT64 ? add_wide_zero : add_zero)(p, at, first * p->width, last * p->width);
    }
}

static const artel__kernel place_kernel = {
    .name = "ref place_rows", .isa = ARTEL__ISA_BASELINE, .tasks = one_task, .run = place_run};
static const artel__kernel *const place_kernels[] = {&place_kernel, NULL};

typedef struct place_attributes {
    int64_t batch;
} place_attributes;

static artel_status infer_place(artel__infer *infer)
{
    const place_attributes *a = infer->attributes;
    const artel_shape *row = &infer->in[0]->shape;
    artel_shape state = {.rank = row->rank + 1, .dim = {a->batch}};
    for (int i = 0; i < row->rank; i++) state.dim[i + 1] = row->dim[i];
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, infer->in[0]->dtype, &state);
    return ARTEL_OK;
}

static void fill_place(const artel__run_args *args, void *params)
{
    const place_attributes *a = args->attributes;
    const artel__fold_plan *fold = args->step->fold;
    *(place_rows *)params = (place_rows){
        fold,        a->batch,    artel__args_in(args, 0)->storage, fold->row, artel__args_in(args, 0)->dtype,
        args->in[0], args->out[0]};
}

static void lower_place(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    artel__hlo_value first[ARTEL__HLO_RANK], none = artel__hlo_splat(h, 0, &out);
    lower->out[0] = none;
    if (out.dim[0] != artel__lower_batch(lower)) return; /* the step has failed at take_rows */
    find_rows(lower, offsetof(place_rows, row), first);
    artel__hlo_value part = artel__hlo_binary(h, "add", lower->in[0], artel__hlo_number(h, 0, lower->in[0]));
    lower->out[0] = artel__hlo_dynamic_update(h, none, part, first);
}

const artel__op_def artel__op_place_rows_def = {
    .name = "place_rows",
    .doc = "Rows in their places among those of the global batch.",
    .attribute_size = sizeof(place_attributes),
    .infer = infer_place,
    .lower = lower_place,
    .exec =
        &(const artel__op_exec){
            .kernels = place_kernels,
            .params_size = sizeof(place_rows),
            .fill = fill_place,
        },
};

artel__value_id artel__op_place_rows(artel__graph *graph, artel__value_id rows, int64_t batch)
{
    place_attributes attributes = {batch};
    return artel__graph_add(graph, &artel__op_place_rows_def, &attributes, &rows, 1);
}

/* -- membership: no inputs, ROW float32 [groups] -- */

typedef struct membership {
    const artel__fold_plan *fold;
    int32_t groups; /* divides fold->shards */
    int64_t row;    /* the first owned one, for devices */
    float *out;
} membership;

typedef struct groups_attributes {
    int32_t groups;
} groups_attributes;

/* A task is an owned shard. */
static int64_t membership_tasks(const void *params)
{
    return ((const membership *)params)->fold->count;
}

static void membership_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const membership *p = params;
    const artel__fold_plan *fold = p->fold;
    int32_t width = fold->shards / p->groups;
    (void)scratch;
    for (int64_t shard = begin; shard < end; shard++) {
        int64_t group = (fold->first + shard) / width;
        for (int64_t row = fold->start[shard]; row < fold->start[shard + 1]; row++)
            for (int64_t g = 0; g < p->groups; g++) p->out[row * p->groups + g] = g == group ? 1.0f : 0.0f;
    }
}

static const artel__kernel membership_kernel = {
    .name = "ref batch_groups", .isa = ARTEL__ISA_BASELINE, .tasks = membership_tasks, .run = membership_run};
static const artel__kernel *const membership_kernels[] = {&membership_kernel, NULL};

static artel_status infer_membership(artel__infer *infer)
{
    const groups_attributes *a = infer->attributes;
    artel_shape shape = artel__shape(1, (int64_t)a->groups);
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &shape);
    return ARTEL_OK;
}

static void fill_membership(const artel__run_args *args, void *params)
{
    const groups_attributes *a = args->attributes;
    *(membership *)params = (membership){args->step->fold, a->groups, args->step->fold->row, args->out[0]};
}

/* Group g begins where the first of its shards does, at row floor(g * batch / groups), whatever the shards are. */
static void lower_membership(artel__lower *lower)
{
    const groups_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    artel__hlo_type type = artel__lower_out_type(lower, 0);
    artel__hlo_value row = artel__lower_scalar_of(lower, offsetof(membership, row), ARTEL_DTYPE_INT64);
    type.dtype = ARTEL_DTYPE_INT64;
    row = artel__hlo_binary(h, "add", artel__hlo_iota(h, &type, 0), artel__hlo_broadcast(h, row, &type, NULL));
    artel__hlo_value batch = artel__hlo_number(h, (double)artel__lower_batch(lower), row),
                     groups = artel__hlo_number(h, a->groups, row);
    artel__hlo_value group = artel__hlo_iota(h, &type, 1),
                     next = artel__hlo_binary(h, "add", group, artel__hlo_number(h, 1, row));
    artel__hlo_value begin = artel__hlo_binary(h, "divide", artel__hlo_binary(h, "multiply", group, batch), groups);
    artel__hlo_value end = artel__hlo_binary(h, "divide", artel__hlo_binary(h, "multiply", next, batch), groups);
    artel__hlo_value in =
        artel__hlo_binary(h, "and", artel__hlo_compare(h, "GE", row, begin), artel__hlo_compare(h, "LT", row, end));
    lower->out[0] = artel__hlo_convert(h, in, ARTEL_DTYPE_FLOAT32);
}

const artel__op_def artel__op_batch_groups_def = {
    .name = "batch_groups",
    .doc = "To which group of shards a row belongs.",
    .attribute_size = sizeof(groups_attributes),
    .infer = infer_membership,
    .lower = lower_membership,
    .exec =
        &(const artel__op_exec){
            .kernels = membership_kernels,
            .params_size = sizeof(membership),
            .fill = fill_membership,
        },
};

artel__value_id artel__op_batch_groups(artel__graph *graph, int groups)
{
    groups_attributes attributes = {groups};
    return artel__graph_add(graph, &artel__op_batch_groups_def, &attributes, NULL, 0);
}

/* -- a sum or mean over the global batch that has a gradient: ROW -> GLOBAL -- */

typedef struct batch_sum_attributes {
    bool mean;
} batch_sum_attributes;

static artel_status infer_batch_sum(artel__infer *infer)
{
    artel_dtype dtype = infer->in[1]->dtype;
    if (infer->in[1]->domain != ARTEL__DOMAIN_ROW || (dtype != ARTEL_DTYPE_FLOAT32 && dtype != ARTEL_DTYPE_FLOAT64))
        return artel__op_fail(infer, "what was summed is not float32 by row");
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, dtype, &infer->in[0]->shape);
    return ARTEL_OK;
}

/* Every row contributed once: each gets the gradient of the sum, or its share of that of the mean, rounded once as the
 * share of a loss is. */
static artel_status grad_batch_sum(artel__gradient *g)
{
    const batch_sum_attributes *a = g->attributes;
    if (!g->needed[1]) return ARTEL_OK;
    if (!a->mean) {
        artel__value_id zeros = artel__op_fill_like(g->graph, g->in[1], 0);
        g->in_gradient[1] = artel__op_add(g->graph, zeros, g->out_gradient[0]);
        return ARTEL_OK;
    }
    /* The seed divides by all elements of the batch, the mean of rows by these alone. */
    artel__loss_seed seed = {.like = g->in[1],
                             .weights = ARTEL__NO_VALUE,
                             .denominator = ARTEL__NO_VALUE,
                             .scale = (double)g->graph->value[g->in[1]].storage};
    g->in_gradient[1] =
        artel__op_binary(g->graph, ARTEL__BINARY_MUL, artel__op_loss_seed(g->graph, &seed), g->out_gradient[0]);
    return g->graph->status;
}

static void lower_batch_sum(artel__lower *lower)
{
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, lower->in[0], &out);
}

/* Inputs: the finished number, of which this is a view, and what was summed. */
const artel__op_def artel__op_batch_sum_def = {
    .name = "batch_sum",
    .doc = "A sum or mean over the rows of the global batch, with its gradient.",
    .attribute_size = sizeof(batch_sum_attributes),
    .placement = ARTEL__PLACE_VIEW,
    .infer = infer_batch_sum,
    .grad = grad_batch_sum,
    .lower = lower_batch_sum,
};

artel__value_id artel__op_batch_sum(artel__graph *graph, artel__value_id sum, artel__value_id x)
{
    return artel__graph_add(graph, &artel__op_batch_sum_def, NULL, (artel__value_id[]){sum, x}, 2);
}

artel__value_id artel__op_batch_sums(artel__graph *graph, artel__value_id x)
{
    return artel__op_batch_sum(graph, artel__op_all_reduce(graph, artel__op_fold_sum(graph, x)), x);
}

artel__value_id artel__op_batch_mean(artel__graph *graph, artel__value_id mean, artel__value_id x)
{
    const batch_sum_attributes attributes = {.mean = true};
    return artel__graph_add(graph, &artel__op_batch_sum_def, &attributes, (artel__value_id[]){mean, x}, 2);
}
