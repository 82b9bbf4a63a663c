/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and gathering the state of rows.
 *
 *   take_rows    GLOBAL [batch][...] -> ROW [...]: the owned rows
 *   place_rows   ROW [...] -> NODES [batch][...]: the rows of a node in their places, zeros elsewhere; the sum over all nodes is the state
 * Every number is normalised by + 0.0f, as leaves of a fold are, so that the sums with zeros change no bit.
 */
#include "nn/row_state.h"

#include <string.h>

#include "kernel/fold_tree.h"
#include "op/op.h"
#include "op/optimize.h"

/* One task each: a state is small. */
static int64_t one_task(const void *params)
{
    (void)params;
    return 1;
}

/* -- read -- */

typedef struct take_rows {
    const artel__fold_plan *fold;
    int64_t batch, width;
    const float *from;
    float *to;
    artel__fault_slot fault;
} take_rows;

static void take_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const take_rows *p = params;
    const artel__fold_plan *fold = p->fold;
    (void)begin, (void)end, (void)scratch;
    if (fold->batch == p->batch) {
        memcpy(p->to, p->from + fold->row * p->width, (size_t)(fold->rows * p->width) * sizeof *p->to);
        return;
    }
    memset(p->to, 0, (size_t)(fold->rows * p->width) * sizeof *p->to);
    if (fold->rows > 0) artel__fault_slot_report(&p->fault, 0, fold->batch);
}

static const artel__kernel take_kernel = {.name = "ref take_rows", .isa = ARTEL__ISA_BASELINE, .tasks = one_task, .run = take_run};
static const artel__kernel *const take_kernels[] = {&take_kernel, NULL};

static artel_status infer_take(artel__infer *infer)
{
    const artel_shape *state = &infer->in[0]->shape;
    artel_shape row = {.rank = state->rank - 1};
    for (int i = 0; i < row.rank; i++) row.dim[i] = state->dim[i + 1];
    artel__infer_output(infer, 0, ARTEL__DOMAIN_ROW, ARTEL_DTYPE_FLOAT32, &row);
    return ARTEL_OK;
}

static void fill_take(const artel__run_args *args, void *params)
{
    *(take_rows *)params = (take_rows){.fold = args->step->fold,
                                       .batch = artel__args_in(args, 0)->shape.dim[0],
                                       .width = artel__args_out(args, 0)->storage,
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

static const artel__op_def take_def = {
    .name = "take_rows",
    .doc = "The owned rows of a state.",
    .infer = infer_take,
    .grad = grad_take,
    .kernels = take_kernels,
    .params_size = sizeof(take_rows),
    .fill = fill_take,
};

artel__value_id artel__row_state_read(artel__graph *graph, artel__value_id state)
{
    if (graph->status < 0 || state < 0) return ARTEL__NO_VALUE;
    return artel__graph_add(graph, &take_def, NULL, &state, 1);
}

bool artel__row_state_fault(const artel__graph *graph, const artel__node *node, int64_t *batch)
{
    if (node->op != &take_def) return false;
    *batch = graph->value[node->input[0]].shape.dim[0];
    return true;
}

/* -- write -- */

typedef struct place_rows {
    const artel__fold_plan *fold;
    int64_t batch, width;
    const float *from;
    float *to;
} place_rows;

static void place_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const place_rows *p = params;
    const artel__fold_plan *fold = p->fold;
    (void)begin, (void)end, (void)scratch;
    for (int n = 0; n < fold->nodes; n++) {
        float *to = p->to + n * p->batch * p->width;
        int64_t first = artel__fold_begin(fold, fold->node[n].first);
        int64_t last = artel__fold_end(fold, fold->node[n].first + fold->node[n].count - 1);
        memset(to, 0, (size_t)(p->batch * p->width) * sizeof *to);
        if (fold->batch != p->batch) continue; /* the step has failed at take_rows */
        for (int64_t i = first * p->width; i < last * p->width; i++) to[fold->row * p->width + i] = p->from[i] + 0.0f;
    }
}

static const artel__kernel place_kernel = {.name = "ref place_rows", .isa = ARTEL__ISA_BASELINE, .tasks = one_task, .run = place_run};
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
    artel__infer_output(infer, 0, ARTEL__DOMAIN_NODES, ARTEL_DTYPE_FLOAT32, &state);
    return ARTEL_OK;
}

static void fill_place(const artel__run_args *args, void *params)
{
    const place_attributes *a = args->attributes;
    *(place_rows *)params = (place_rows){args->step->fold, a->batch, artel__args_in(args, 0)->storage, args->in[0], args->out[0]};
}

static const artel__op_def place_def = {
    .name = "place_rows",
    .doc = "Rows in their places among those of the global batch.",
    .attribute_size = sizeof(place_attributes),
    .infer = infer_place,
    .kernels = place_kernels,
    .params_size = sizeof(place_rows),
    .fill = fill_place,
};

void artel__row_state_write(artel__graph *graph, artel__value_id state, artel__value_id rows)
{
    if (graph->status < 0 || state < 0 || rows < 0) return;
    place_attributes attributes = {graph->value[state].shape.dim[0]};
    artel__value_id all = artel__op_all_reduce(graph, artel__graph_add(graph, &place_def, &attributes, &rows, 1));
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__op_assign(graph, state, all);
    graph->phase = phase;
}
