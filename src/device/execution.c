/* SPDX-License-Identifier: Apache-2.0 */
/* Steps on a device: launches stage by stage, shard by shard, and between stages what collectives need.
 *
 * Nothing waits before the end of compute but what crosses this machine's memory: blocks for other replicas, gathered
 * rows. A replica alone keeps its sums on the device.
 */
#include <string.h>

#include "device/compute.h"
#include "device/execution_impl.h"
#include "graph/cost.h"

/* -- a step -- */

static artel_status run_stages(artel__device_execution *e, const artel__step *step)
{
    const artel__step_program *p;
    if (artel__step_is_all(e, step)) return artel__step_all_run(e, step);
    if (artel__step_take_ahead(e, step)) return ARTEL_OK;
    if (e->x->cut.step.nodes && !e->scan) {
        ARTEL_TRY(artel__step_program_find(e->x, 0, ARTEL__PART_STEP, step->fold->rows, step->fold->batch, false, &p));
        return artel__step_launch(e, p, step, 0);
    }
    for (int stage = 0; stage < e->x->cut.stages; stage++) {
        if (e->stop && atomic_load_explicit(e->stop, memory_order_relaxed)) return ARTEL_ERROR_CANCELLED;
        if (artel__step_is_grouped(e->x, stage, step->fold, e->scan != NULL)) {
            ARTEL_TRY(artel__step_group_find(e->x, stage, step->fold, &p));
            if (p) ARTEL_TRY(artel__step_launch_group(e, p, step));
        } else {
            ARTEL_TRY(
                artel__step_program_find(e->x, stage, ARTEL__PART_COMMON, 0, step->fold->batch, e->scan != NULL, &p));
            if (p) ARTEL_TRY(artel__step_launch(e, p, step, -1));
            ARTEL_TRY(artel__step_launch_rows(e, stage, step));
        }
        ARTEL_TRY(artel__step_exchange(e, stage, step));
        for (int i = 0; i < e->x->spent_count[stage]; i++) artel__step_release_value(e, e->x->spent[stage][i]);
    }
    return ARTEL_OK;
}

static artel_status begin_kept(artel__device_execution *e, const artel__step *step)
{
    const artel__graph *graph = e->x->graph;
    for (int k = 0; k < graph->kept_count; k++) {
        artel__value_id id = graph->kept[k];
        size_t rows = graph->value[id].domain == ARTEL__DOMAIN_BATCH ? (size_t)step->fold->batch : 1;
        if (graph->value[id].domain == ARTEL__DOMAIN_ROW)
            ARTEL_TRY(artel__step_begin_rows(e, id, step->fold, e->kept[k]));
        else
            ARTEL_TRY(artel__step_begin_copy(e, *artel__step_slot(e, id, 0), e->kept[k],
                                             rows * artel__step_element_bytes(e, id)));
    }
    return ARTEL_OK;
}

/* What this machine has of the variables, to the device: all that has changed; of tables that are not here the rows
 * that are, where the graph reads them. */
static artel_status send_variables(artel__device_execution *e, const artel__step *step)
{
    const artel__graph *graph = e->x->graph;
    ARTEL_TRY(artel__device_home_update(e->home, e->state, step->held));
    for (int i = 0; i < graph->values && step->held; i++) {
        int variable = graph->value[i].variable;
        if (variable >= 0 && e->x->last[i] >= 0 && step->held[variable].row)
            ARTEL_TRY(artel__device_home_place(e->home, e->state, variable, &step->held[variable]));
    }
    return ARTEL_OK;
}

static artel_status compute_all(artel__device_execution *e, const artel__step *step, const void *const *inputs)
{
    artel__step_ahead_begin(e, step);
    ARTEL_TRY(artel__step_agree(e, step));
    ARTEL_TRY(e->central ? artel__step_central_send(e) : send_variables(e, step));
    ARTEL_TRY(artel__step_put_inputs(e, step, inputs));
    ARTEL_TRY(run_stages(e, step));
    ARTEL_TRY(begin_kept(e, step));
    if (e->scan) return ARTEL_OK;
    artel__step_launch_ahead(e);
    if (e->meanwhile) e->meanwhile(e->meanwhile_user);
    return ARTEL_OK;
}

static artel_status compute(void *self, const artel__step *step, const void *const *inputs)
{
    artel__device_execution *e = self;
    e->fault = (artel__fault){.row = INT64_MAX, .node = -1};
    artel__step_release_all(e);
    e->used = 0;
    e->later = 0;
    artel_status status = artel__step_await_copies(e, compute_all(e, step, inputs));
    artel__step_read_faults(e, step, status);
    return status;
}

static void apply_central(artel__device_execution *e, const artel__step *step)
{
    artel_status status = artel__step_central_apply(e, step);
    if (status < 0) {
        e->home->failed = status; /* nobody reads the variables as if the step had been taken */
        artel__state_leave(e->state);
    }
    artel__step_release_all(e);
}

static void apply(void *self, const artel__step *step)
{
    artel__device_execution *e = self;
    const artel__step_program *p = NULL;
    if (e->central) {
        apply_central(e, step);
        return;
    }
    bool taken = artel__step_commit(e);
    artel_status status =
        taken ? ARTEL_OK : artel__step_program_find(e->x, 0, ARTEL__PART_APPLY, 0, step->fold->batch, false, &p);
    if (status == ARTEL_OK && p) status = artel__step_launch(e, p, step, -1);
    if (status < 0) e->home->failed = status; /* nobody reads the variables as if the step had been taken */
    e->home->changes += taken || p;
    if (status < 0 || p || taken) artel__state_leave(e->state);
    artel__step_release_all(e);
}

/* -- an execution -- */

static int most_arguments(const artel__device_executable *x)
{
    int most = x->cut.apply.ins + x->cut.apply.outs + x->writes + x->cut.step.ins + x->cut.step.outs;
    int all = x->graph->inputs + x->graph->variable_values + x->graph->kept_count + x->writes;
    most = x->all && most < all ? all : most;
    for (int s = 0; s < x->cut.stages; s++) {
        const artel__cut_stage *stage = &x->cut.stage[s];
        int here = stage->common.ins + stage->common.outs + stage->rows.ins + stage->rows.outs;
        int leaves = stage->collectives * x->options.shards;
        int group = (here + stage->collectives) * (x->options.shards + ARTEL__MAX_NODES);
        most = most < here ? here : most;
        most = most < leaves ? leaves : most;
        most = most < group && x->grouped[s] ? group : most;
    }
    return most + 2;
}

static int most_collectives(const artel__device_executable *x)
{
    int most = 0;
    for (int s = 0; s < x->cut.stages; s++)
        most = x->cut.stage[s].collectives > most ? x->cut.stage[s].collectives : most;
    return most;
}

static artel_status make_room(artel__device_execution *e)
{
    const artel__graph *graph = e->x->graph;
    size_t values = (size_t)graph->values + 1, most = (size_t)most_arguments(e->x);
    e->one = artel__arena_alloc(&e->arena, values, sizeof *e->one);
    e->shard = artel__arena_alloc(&e->arena, values * (size_t)e->x->options.shards, sizeof *e->shard);
    e->in = artel__arena_alloc(&e->arena, most, sizeof *e->in);
    e->out = artel__arena_alloc(&e->arena, most, sizeof *e->out);
    e->kept = artel__arena_alloc(&e->arena, (size_t)graph->kept_count + 1, sizeof *e->kept);
    e->node = artel__arena_alloc(&e->arena, (size_t)most_collectives(e->x) * ARTEL__MAX_NODES + 1, sizeof *e->node);
    ARTEL_TRY(artel__arena_status(&e->arena));
    e->nodes = most_collectives(e->x) * ARTEL__MAX_NODES;
    for (int k = 0; k < graph->kept_count; k++) {
        artel__domain domain = graph->value[graph->kept[k]].domain;
        int64_t rows = domain == ARTEL__DOMAIN_ROW || domain == ARTEL__DOMAIN_BATCH ? e->x->options.batch_size : 1;
        e->kept[k] = artel__arena_alloc(&e->arena, (size_t)rows * artel__step_element_bytes(e, graph->kept[k]) + 64, 1);
    }
    return artel__arena_status(&e->arena);
}

static void destroy(void *self)
{
    artel__device_execution *e = self;
    artel_context *ctx = e->ctx;
    e->later = 0;
    artel__step_await_copies(e, ARTEL_OK);
    artel__step_drop_sent(e);
    artel__step_ahead_drop(e);
    artel__free(ctx, e->ahead.word);
    if (e->one && e->shard) artel__step_release_all(e);
    for (int i = 0; i < e->blocks; i++) artel__free(ctx, e->words[i].word);
    artel__free(ctx, e->words);
    artel__free(ctx, e->pending);
    artel__free(ctx, e->copy);
    artel__free(ctx, e->agreed);
    artel__free(ctx, e->time);
    if (e->central) artel__step_central_destroy(e);
    artel__arena_fini(&e->arena);
    artel__free(ctx, e);
}

static artel_status create(void *executable, const artel__execution_options *options, void **out)
{
    artel__device_executable *x = executable;
    void *block;
    ARTEL_TRY(artel__calloc(x->ctx, 1, sizeof(artel__device_execution), "device", &block));
    artel__device_execution *e = block;
    *e = (artel__device_execution){.ctx = x->ctx,
                                   .x = x,
                                   .device = x->place->device[options->index % x->place->count],
                                   .index = options->index,
                                   .central = x->options.common,
                                   .leads = options->index == 0,
                                   .state = options->state,
                                   .comm = options->comm,
                                   .meanwhile = options->meanwhile,
                                   .meanwhile_user = options->meanwhile_user};
    e->fault = (artel__fault){.row = INT64_MAX, .node = -1};
    artel__arena_init(&e->arena, x->ctx);
    artel_status status = make_room(e);
    if (status == ARTEL_OK) status = artel__step_sent_prepare(e);
    if (status == ARTEL_OK) status = artel__step_ahead_prepare(e);
    if (status == ARTEL_OK)
        status = e->central ? artel__step_central_create(e)
                            : artel__device_home_settle(x->ctx, x->place->platform, e->device, e->state, &e->home);
    if (status == ARTEL_OK)
        *out = e;
    else
        destroy(e);
    return status;
}

/* -- the interface -- */

static artel_status compile(artel_context *ctx, void *device, const artel__graph *graph,
                            const artel__plan_options *options, void **out)
{
    artel__device_executable *x;
    ARTEL_TRY(artel__device_executable_create(ctx, device, graph, options, &x));
    *out = x;
    return ARTEL_OK;
}

static void release(void *executable)
{
    artel__device_executable_destroy(executable);
}

static const char *kernel(const void *executable, int32_t node, int64_t rows, double *operations)
{
    const artel__device_executable *x = executable;
    *operations = (double)artel__node_operations(x->graph, &x->graph->node[node], rows);
    return x->graph->node[node].op->collective ? "collective" : "device";
}

static void dump(const void *executable, artel__text *out)
{
    const artel__device_executable *x = executable;
    artel__cut_dump(x->graph, &x->cut, out);
    artel__step_programs_dump(x, out);
}

/* One behind each stage that ends in collectives. */
static bool exchange(const void *executable, int index, artel__exchange *out)
{
    const artel__device_executable *x = executable;
    const artel__cut_stage *stage = x->cut.stage, *end = stage + x->cut.stages;
    while (stage < end && (stage->collectives == 0 || index-- > 0)) stage++;
    if (stage == end) return false;
    *out = (artel__exchange){.by_device = x->joint != NULL};
    for (int i = 0; i < stage->collectives; i++) {
        const artel__node *node = &x->graph->node[stage->collective[i]];
        const artel__value *in = &x->graph->value[node->input[0]];
        artel__exchange_add(out, node->op->collective,
                            artel_shape_count(&in->shape) * (int64_t)artel_dtype_size(in->dtype));
    }
    return true;
}

static void summary(const void *executable, artel__text *out)
{
    artel__step_summary(executable, out);
}

/* Of a full batch, and of training: that is what a checkpoint stands on. */
static bool programs(const void *executable, char out[65])
{
    artel__device_executable *x = (void *)(uintptr_t)executable;
    return artel__step_programs_hash(x, out);
}

/* What replicas have in common is this machine's, and nothing of it is on a device between steps. */
static artel_status join(void *const *executions, int count)
{
    (void)executions;
    (void)count;
    return ARTEL_OK;
}

static void stop_when(void *self, const atomic_bool *stop)
{
    ((artel__device_execution *)self)->stop = stop;
}

static int sends(const void *self)
{
    return ((const artel__device_execution *)self)->x->ahead;
}

static bool send(void *self, const artel__fold_plan *fold, const void *const *inputs)
{
    artel__device_execution *e = self;
    if (!fold) {
        e->later = 0;
        artel__step_await_copies(e, ARTEL_OK);
        artel__step_drop_next(e);
        artel__step_drop_sent(e);
        return false;
    }
    if (!artel__step_send_inputs(e, fold, inputs)) return false;
    if (e->sents == 1) artel__step_launch_ahead(e);
    return true;
}

static const void *read_kept(const void *self, int kept)
{
    return ((const artel__device_execution *)self)->kept[kept];
}

static const artel__fault *fault_of(const void *self)
{
    return &((const artel__device_execution *)self)->fault;
}

static bool find_nonfinite(void *self, const artel__step *step, const void *const *inputs, artel__nonfinite *out)
{
    artel__device_execution *e = self;
    *out = (artel__nonfinite){.node = -1, .first_row = -1, .last_row = -1};
    e->scan = out;
    artel_status status = compute(e, step, inputs);
    e->scan = NULL;
    return status == ARTEL_OK && out->node >= 0;
}

static artel_status profile(void *self)
{
    artel__device_execution *e = self;
    size_t nodes = (size_t)e->x->graph->nodes + 1;
    void *block = e->time;
    if (!block) ARTEL_TRY(artel__calloc(e->ctx, nodes, sizeof *e->time, "profile", &block));
    e->time = memset(block, 0, nodes * sizeof *e->time);
    return ARTEL_OK;
}

static const artel__node_time *times(const void *self)
{
    return ((const artel__device_execution *)self)->time;
}

const artel__device_ops artel__pjrt_device_ops = {
    .compile = compile,
    .release = release,
    .kernel = kernel,
    .dump = dump,
    .exchange = exchange,
    .summary = summary,
    .programs = programs,
    .create = create,
    .destroy = destroy,
    .join = join,
    .stop_when = stop_when,
    .compute = compute,
    .apply = apply,
    .sends = sends,
    .send = send,
    .read = read_kept,
    .fault = fault_of,
    .find_nonfinite = find_nonfinite,
    .profile = profile,
    .times = times,
};
