/* SPDX-License-Identifier: Apache-2.0 */
/* Executing a plan: one replica's memory and the loop over the schedule.
 *
 * Compute runs everything up to the last collective and changes no variable, so a step may be abandoned anywhere and
 * begun again. Apply runs the rest: it is local, cannot fail, and is the only place where variables change.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/lend.h"
#include "exec/cpu/plan_impl.h"

/* Below this many operations, waking other threads costs more than it saves. */
#define HEAVY_COST 100000

/* Scratch of `bytes` for each thread instead of what there is. */
static artel_status take_scratch(artel__run *run, size_t bytes)
{
    size_t total = bytes * (size_t)artel__pool_threads(run->pool) + 64;
    void *block;
    ARTEL_TRY(artel__alloc_aligned(run->ctx, total, "scratch", &block));
    if (run->scratch) artel__free_aligned(run->ctx, run->scratch, run->scratch_total);
    run->scratch = block;
    run->scratch_bytes = bytes;
    run->scratch_total = total;
    return ARTEL_OK;
}

static artel_status acquire(artel__run *run)
{
    const artel__plan *plan = run->plan;
    const artel__graph *graph = plan->graph;
    void *block;
    ARTEL_TRY(artel__alloc_aligned(run->ctx, plan->block_bytes + 64, "activations", &block));
    run->block = block;
    if (plan->lent_bytes) ARTEL_TRY(artel__alloc_lendable(run->ctx, plan->lent_bytes, "sums", &block));
    if (plan->lent_bytes) run->lent = block;
    if (plan->plain_bytes) ARTEL_TRY(artel__alloc(run->ctx, plan->plain_bytes, "sums", &block));
    if (plan->plain_bytes) run->plain = block;
    ARTEL_TRY(take_scratch(run, plan->scratch_bytes));
    ARTEL_TRY(artel__calloc(run->ctx, (size_t)graph->values + 1, sizeof *run->pointer, "run", &block));
    run->pointer = block;
    ARTEL_TRY(artel__calloc(run->ctx, (size_t)plan->collectives + 1, sizeof *run->segment, "run", &block));
    run->segment = block;
    for (int i = 0; i < graph->values; i++) {
        if (graph->value[i].variable >= 0)
            run->pointer[i] = artel__state_data(run->state, graph->value[i].variable);
        else if (plan->offset[i] != ARTEL__OFFSET_EXTERNAL)
            run->pointer[i] = (plan->lent[i] ? run->lent : run->block) + plan->offset[i];
    }
    return ARTEL_OK;
}

artel_status artel__run_create(const artel__plan *plan, artel__state *state, artel__pool *pool, const artel__comm *comm,
                               artel__run **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(plan->ctx, 1, sizeof(artel__run), "run", &block));
    artel__run *run = block;
    *run = (artel__run){.ctx = plan->ctx, .plan = plan, .state = state, .pool = pool, .comm = comm, .abandon_at = -1};
    artel_status status = acquire(run);
    if (status < 0) {
        artel__run_destroy(run);
        return status;
    }
    *out = run;
    return ARTEL_OK;
}

void artel__run_destroy(artel__run *run)
{
    if (!run) return;
    artel__free(run->ctx, run->blocks);
    artel__free(run->ctx, run->peer);
    artel__free(run->ctx, run->time);
    artel__free(run->ctx, run->segment);
    artel__free(run->ctx, run->pointer);
    if (run->scratch) artel__free_aligned(run->ctx, run->scratch, run->scratch_total);
    artel__free(run->ctx, run->plain);
    artel__free_lendable(run->ctx, run->lent, run->plan->lent_bytes);
    if (run->block) artel__free_aligned(run->ctx, run->block, run->plan->block_bytes + 64);
    artel__free(run->ctx, run);
}

typedef struct kernel_call {
    const artel__kernel *kernel;
    const void *params;
    uint8_t *scratch;
    size_t scratch_bytes;
    int64_t first; /* task of this replica */
    /* Of run_summed_tasks: what is added up, and how many elements of it a task reads. */
    const artel__comm *comm;
    artel__comm_sum sum;
    /* Of run_rounded_tasks: what is done to the first result, by which kernel, and how many elements of it a task
     * writes. */
    artel__narrow round;
    const artel__kernel *narrow;
    int64_t elements;
} kernel_call;

static void run_tasks(void *user, int64_t begin, int64_t end, int thread)
{
    const kernel_call *call = user;
    call->kernel->run(call->params, begin + call->first, end + call->first,
                      call->scratch + (size_t)thread * call->scratch_bytes);
}

/* The same, and adds up what each task reads just before it. */
static void run_summed_tasks(void *user, int64_t begin, int64_t end, int thread)
{
    const kernel_call *call = user;
    for (int64_t task = begin; task < end; task++) {
        artel__comm_sum part = call->sum;
        part.first = (task + call->first) * part.count;
        if (part.first + part.count > part.stride) part.count = part.stride - part.first;
        call->comm->ops->sum(call->comm->self, &part);
        run_tasks(user, task, task + 1, thread);
    }
}

/* The same, and rounds what each task has written while it is near. */
static void run_rounded_tasks(void *user, int64_t begin, int64_t end, int thread)
{
    const kernel_call *call = user;
    for (int64_t task = begin; task < end; task++) {
        run_tasks(user, task, task + 1, thread);
        artel__narrow part = call->round;
        int64_t from = task * call->elements;
        if (part.count > from + call->elements) part.count = from + call->elements;
        part.count -= from;
        part.x += from;
        part.y += from;
        call->narrow->run(&part, 0, call->narrow->tasks(&part), NULL);
    }
}

/* The rounding of what a node has computed to the 16-bit type of its value. */
static artel__narrow rounding(const artel__run *run, artel__value_id id, const artel__step *step)
{
    const artel__value *value = &run->plan->graph->value[id];
    int64_t rows = value->domain == ARTEL__DOMAIN_ROW ? step->fold->rows : 1;
    return (artel__narrow){
        .to = value->precision, .count = rows * value->storage, .x = run->pointer[id], .y = run->pointer[id]};
}

static void round_value(artel__run *run, artel__value_id id, const artel__step *step)
{
    artel__narrow params = rounding(run, id, step);
    kernel_call call = {
        .kernel = run->plan->narrow, .params = &params, .scratch = run->scratch, .scratch_bytes = run->scratch_bytes};
    artel__pool_run(run->pool, run->plan->narrow->tasks(&params),
                    params.count < HEAVY_COST ? ARTEL__POOL_CALLER : ARTEL__POOL_ALONE, run_tasks, &call);
}

/* Kernels round what they store as bfloat16 themselves. */
static bool rounds(const artel__run *run, const artel__node *node, int output)
{
    return run->plan->graph->value[node->output[output]].rounds && !run->plan->half[node->output[output]];
}

/* A step that is not to be taken leaves everything as it is; what follows a period waits for its last step. */
static bool shut(const artel__run *run, int32_t index, const artel__step *step)
{
    const artel__graph *graph = run->plan->graph;
    const artel__node *node = &graph->node[index];
    if (node->gated && graph->gate >= 0 && !isfinite(*(const double *)run->pointer[graph->gate])) return true;
    return node->period > 1 && (artel__step_of(step, node)->iteration + 1) % node->period != 0;
}

/* Where the replicas have the blocks that the node adds up itself. */
static bool list_summed(artel__run *run, int32_t index, kernel_call *call)
{
    const artel__node *sum = artel__plan_lazy_input(run->plan, index);
    if (!sum) return false;
    for (int r = 0; r < run->peers; r++) run->blocks[r] = run->peer[r]->pointer[sum->input[0]];
    call->comm = run->comm;
    call->sum = (artel__comm_sum){.in = run->blocks,
                                  .stride = run->plan->graph->value[sum->input[0]].storage,
                                  .count = run->plan->node[index].exec->piece,
                                  .out = run->pointer[sum->output[0]]};
    return true;
}

/* The optimizer's step on all of a gradient, which is taken on each part of it. */
typedef struct follower {
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    const artel__kernel *kernel;
    const artel__op_exec *exec;
} follower;

/* The step on one part, by whoever has computed it. */
static void follow_part(void *user, const float *gradient, int64_t first, int64_t count)
{
    const follower *whole = user;
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    memcpy(params, whole->params, whole->exec->params_size);
    whole->exec->part(params, gradient, first, count);
    whole->kernel->run(params, 0, whole->kernel->tasks(params), NULL);
}

/* Lets a step follow the gradient of node `index`, which is to be computed with `params`. */
static void follow(const artel__run *run, int32_t index, const artel__step *step, void *params, follower *whole)
{
    void *in[ARTEL__MAX_OPERANDS], *out[ARTEL__MAX_OPERANDS];
    artel__run_args args;
    int32_t taken = run->plan->node[index].step;
    artel__plan_args(run->plan, run, taken, step, in, out, &args);
    whole->kernel = run->plan->node[taken].kernel;
    whole->exec = run->plan->node[taken].exec;
    memset(whole->params, 0, whole->exec->params_size);
    whole->exec->fill(&args, whole->params);
    artel__consumer parts = {follow_part, whole};
    memcpy((char *)params + run->plan->node[index].exec->follow, &parts, sizeof parts);
}

static void run_node(artel__run *run, int32_t index, const artel__step *step)
{
    const artel__node_plan *chosen = &run->plan->node[index];
    if (!chosen->kernel || artel__run_leaves(run, index) || shut(run, index, step)) return;
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    follower whole;
    void *in[ARTEL__MAX_OPERANDS], *out[ARTEL__MAX_OPERANDS];
    artel__run_args args;
    artel__plan_args(run->plan, run, index, step, in, out, &args);
    args.fault = &run->fault;
    const artel__op_exec *exec = chosen->exec;
    memset(params, 0, exec->params_size);
    exec->fill(&args, params);
    const artel__kernel *kernel = chosen->kernel;
    kernel_call call = {
        .kernel = kernel, .params = params, .scratch = run->scratch, .scratch_bytes = run->scratch_bytes};
    int64_t grain = chosen->cost < HEAVY_COST ? ARTEL__POOL_CALLER
                    : kernel->grain           ? kernel->grain(params)
                                              : ARTEL__POOL_ALONE;
    bool at_once = args.node->outputs > 0 && rounds(run, args.node, 0) && (kernel->elements || exec->narrow);
    if (at_once && exec->narrow) {
        memcpy(params + exec->narrow, &run->plan->graph->value[args.node->output[0]].precision, sizeof(artel_dtype));
    } else if (at_once) {
        call.round = rounding(run, args.node->output[0], step);
        call.narrow = run->plan->narrow;
        call.elements = kernel->elements(params);
    }
    int64_t tasks = kernel->tasks(params);
    assert(!kernel->scratch_bytes || kernel->scratch_bytes(params) <= run->scratch_bytes);
    artel__run_share(run, index, tasks, &call.first, &tasks);
    bool summed = list_summed(run, index, &call);
    if (chosen->step) follow(run, index, step, params, &whole);
    artel__pool_run(run->pool, tasks, grain,
                    summed        ? run_summed_tasks
                    : call.narrow ? run_rounded_tasks
                                  : run_tasks,
                    &call);
    if (run->fault.node < 0 && run->fault.row != INT64_MAX) run->fault.node = index;
    for (int k = at_once; k < args.node->outputs; k++) {
        if (rounds(run, args.node, k)) round_value(run, args.node->output[k], step);
    }
}

static void run_node_timed(artel__run *run, int32_t index, const artel__step *step)
{
    if (!run->time) {
        run_node(run, index, step);
        return;
    }
    int64_t before = artel__now_ns();
    run_node(run, index, step);
    artel__note_time(&run->time[index], before);
}

/* The plan measured scratch for full batches; kernels may cut a short one so that they need more. Measured once for
 * each size of a short batch, before anything runs. */
static artel_status fit_scratch(artel__run *run, const artel__step *step)
{
    const artel__plan *plan = run->plan;
    size_t most = 0;
    if (step->fold->batch == plan->options.batch_size || step->fold->batch == run->scratch_batch) return ARTEL_OK;
    for (int i = 0; i < plan->graph->nodes; i++) {
        const artel__kernel *kernel = plan->node[i].kernel;
        if (!kernel || !kernel->scratch_bytes) continue;
        _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
        void *in[ARTEL__MAX_OPERANDS], *out[ARTEL__MAX_OPERANDS];
        artel__run_args args;
        artel__plan_args(plan, run, i, step, in, out, &args);
        const artel__op_exec *exec = plan->node[i].exec;
        memset(params, 0, exec->params_size);
        exec->fill(&args, params);
        size_t bytes = kernel->scratch_bytes(params);
        if (bytes > most) most = bytes;
    }
    most = (most + 63) / 64 * 64;
    if (most > run->scratch_bytes) ARTEL_TRY(take_scratch(run, most));
    run->scratch_batch = step->fold->batch;
    return ARTEL_OK;
}

static artel_status run_collectives(artel__run *run, const artel__action *action, const artel__step *step)
{
    const artel__graph *graph = run->plan->graph;
    const artel__comm *comm = run->comm;
    if (action->node == ARTEL__ACTION_FINISH) {
        run->in_flight = false;
        return comm->ops->finish(comm->self);
    }
    if (action->node == ARTEL__ACTION_AWAIT) {
        run->posted = false;
        return comm->ops->await(comm->self);
    }
    for (int i = 0; i < action->count; i++) {
        const artel__node *node = &graph->node[run->plan->collective[action->first + i]];
        const artel__value *in = &graph->value[node->input[0]];
        run->segment[i] = (artel__comm_segment){.kind = node->op->collective,
                                                .dtype = in->dtype,
                                                .count = in->storage,
                                                .in = run->pointer[node->input[0]],
                                                .out = run->pointer[node->output[0]]};
    }
    if (run->plan->options.staged) return artel__run_exchange_stage(run, action, step);
    bool background = action->node == ARTEL__ACTION_BEGIN, post = action->node == ARTEL__ACTION_POST;
    run->in_flight = run->in_flight || background;
    run->posted = run->posted || post;
    return (background ? comm->ops->begin
            : post     ? comm->ops->post
                       : comm->ops->all_reduce)(comm->self, step, action->first, run->segment, action->count);
}

static artel_status run_exchange(artel__run *run, const artel__action *action, const artel__step *step)
{
    int64_t before = run->time ? artel__now_ns() : 0;
    artel_status status = run_collectives(run, action, step);
    if (run->time) artel__note_time(&run->time[run->plan->collective[action->first]], before);
    return status;
}

static artel_status run_actions(artel__run *run, const artel__step *step)
{
    const artel__plan *plan = run->plan;
    for (int a = 0; a < plan->apply_action; a++) {
        const artel__action *action = &plan->action[a];
        if (run->stop && atomic_load_explicit(run->stop, memory_order_relaxed)) return ARTEL_ERROR_CANCELLED;
        if (action->node < 0) {
            ARTEL_TRY(run_exchange(run, action, step));
            continue;
        }
        if (action->node == run->abandon_at) return ARTEL_AGAIN;
        run_node_timed(run, action->node, step);
        if (run->scan && (run->scan->node < 0 || run->scan->node > action->node))
            artel__scan_node(run, action->node, step, run->scan);
        if ((run->in_flight || run->posted) && plan->node[action->node].kernel)
            ARTEL_TRY(run->comm->ops->progress(run->comm->self));
    }
    return ARTEL_OK;
}

artel_status artel__run_compute(artel__run *run, const artel__step *step, const void *const *inputs)
{
    const artel__plan *plan = run->plan;
    for (int i = 0; i < plan->graph->inputs; i++) run->pointer[plan->graph->input[i]] = (void *)(uintptr_t)inputs[i];
    for (int i = 0; i < plan->graph->values; i++) {
        if (plan->root[i] != i && plan->offset[i] == ARTEL__OFFSET_EXTERNAL)
            run->pointer[i] = run->pointer[plan->root[i]];
    }
    run->fault = (artel__fault){.row = INT64_MAX, .node = -1};
    ARTEL_TRY(fit_scratch(run, step));
    uint32_t fp = artel__fp_enter();
    artel_status status = run_actions(run, step);
    if (status != ARTEL_OK && (run->in_flight || run->posted)) run->comm->ops->abandon(run->comm->self);
    run->in_flight = run->posted = false;
    artel__fp_leave(fp);
    return status;
}

void artel__run_apply(artel__run *run, const artel__step *step)
{
    uint32_t fp = artel__fp_enter();
    for (int a = run->plan->apply_action; a < run->plan->actions; a++)
        run_node_timed(run, run->plan->action[a].node, step);
    artel__fp_leave(fp);
}

const void *artel__run_kept(const artel__run *run, int n)
{
    return run->pointer[run->plan->graph->kept[n]];
}

const artel__fault *artel__run_fault(const artel__run *run)
{
    return &run->fault;
}

void artel__run_stop_when(artel__run *run, const atomic_bool *stop)
{
    run->stop = stop;
}

void artel__run_abandon_at(artel__run *run, int32_t node)
{
    run->abandon_at = node;
}

artel_status artel__run_profile(artel__run *run)
{
    size_t nodes = (size_t)run->plan->graph->nodes + 1;
    void *block = run->time;
    if (!block) ARTEL_TRY(artel__calloc(run->ctx, nodes, sizeof *run->time, "profile", &block));
    run->time = memset(block, 0, nodes * sizeof *run->time);
    return ARTEL_OK;
}

const artel__node_time *artel__run_times(const artel__run *run)
{
    return run->time;
}
