/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of functions: rows to their replicas, a step on each, results back.
 *
 * As a step of fit: every replica copies its rows, computes (collectives join it with the others), agrees with the
 * others that all went well, hands out its results and applies. Between these nothing changes, so a failed run leaves
 * every variable as it was.
 */
#include <string.h>

#include "base/clock.h"
#include "function/function_impl.h"

/* What the replicas of a run see. */
typedef struct call {
    artel_function *function;
    const artel_array *in, *out;
    int64_t rows;
} call;

/* -- the plan, once -- */

static int32_t first_shard(const artel_strategy *s, int index)
{
    return artel__replica_first_shard((int32_t)s->options.shards, s->ranks, s->first + index);
}

static int64_t rows_of_replica(const artel_strategy *s, int index)
{
    int64_t shards = s->options.shards, owned = first_shard(s, index + 1) - first_shard(s, index);
    return (owned * s->options.batch_size + shards - 1) / shards;
}

/* Among several tasks every rank gets the rows of all; the first replica's go to the caller. */
static artel_status open_gathers(artel_function *f, artel__function_replica *replica)
{
    artel_strategy *s = f->strategy;
    replica->gathered = artel__arena_alloc(&f->place, (size_t)f->outputs + 1, sizeof *replica->gathered);
    replica->gathered_bytes = artel__arena_alloc(&f->place, (size_t)f->outputs + 1, sizeof *replica->gathered_bytes);
    ARTEL_TRY(artel__arena_status(&f->place));
    for (int i = 0; i < f->outputs; i++) {
        const artel__value *value = &f->graph.value[f->graph.kept[i]];
        if (value->domain != ARTEL__DOMAIN_ROW) continue;
        size_t bytes = (size_t)(value->storage * s->options.batch_size) * artel_dtype_size(value->dtype) + 64;
        ARTEL_TRY(artel__alloc_aligned(s->ctx, bytes, "outputs", &replica->gathered[i]));
        replica->gathered_bytes[i] = bytes;
    }
    return ARTEL_OK;
}

static artel_status open_replica(artel_function *f, int index)
{
    artel_strategy *s = f->strategy;
    artel__function_replica *replica = &f->replica[index];
    int64_t rows = rows_of_replica(s, index);
    replica->buffer = artel__arena_alloc(&f->place, (size_t)f->arguments + 1, sizeof *replica->buffer);
    replica->bytes = artel__arena_alloc(&f->place, (size_t)f->arguments + 1, sizeof *replica->bytes);
    replica->start = artel__arena_alloc(&f->place, (size_t)s->options.shards + 1, sizeof *replica->start);
    ARTEL_TRY(artel__arena_status(&f->place));
    for (int i = 0; i < f->arguments; i++) {
        const artel__function_argument *a = &f->argument[i];
        size_t bytes =
            (size_t)artel_shape_count(&a->shape) * (size_t)(a->shared ? 1 : rows) * artel_dtype_size(a->dtype) + 64;
        ARTEL_TRY(artel__alloc_aligned(s->ctx, bytes, a->name, &replica->buffer[i]));
        replica->bytes[i] = bytes;
    }
    artel__execution_options options = {.state = s->state[index],
                                        .pool = s->pool[index],
                                        .comm = s->group ? artel__group_comm(s->group, index) : NULL,
                                        .index = index};
    if (s->ranks > s->plan.replicas && index > 0) ARTEL_TRY(open_gathers(f, replica));
    ARTEL_TRY(artel__execution_create(f->plan, &options, &replica->run));
    artel__execution_stop_when(replica->run, artel__loop_stop_flag(s));
    return ARTEL_OK;
}

static artel_status join_replicas(artel_function *f)
{
    artel_strategy *s = f->strategy;
    artel__execution **all = artel__arena_alloc(&f->place, (size_t)s->plan.replicas, sizeof *all);
    if (!all) return ARTEL_ERROR_NO_MEMORY;
    for (int r = 0; r < s->plan.replicas; r++) all[r] = f->replica[r].run;
    return artel__execution_join(all, s->plan.replicas);
}

void artel__function_unplace(artel_function *f)
{
    artel_strategy *s = f->strategy;
    for (int r = 0; f->replica && r < s->plan.replicas; r++) {
        artel__function_replica *replica = &f->replica[r];
        artel__execution_destroy(replica->run);
        for (int i = 0; replica->bytes && i < f->arguments; i++) {
            if (replica->bytes[i]) artel__free_aligned(s->ctx, replica->buffer[i], replica->bytes[i]);
        }
        for (int i = 0; replica->gathered_bytes && i < f->outputs; i++) {
            if (replica->gathered_bytes[i])
                artel__free_aligned(s->ctx, replica->gathered[i], replica->gathered_bytes[i]);
        }
    }
    artel__executable_destroy(f->plan);
    artel__arena_fini(&f->place);
    artel__arena_init(&f->place, s->ctx);
    f->replica = NULL;
    f->plan = NULL;
}

static artel_status make_plan(artel_function *f)
{
    artel_strategy *s = f->strategy;
    artel__plan_options options = {.batch_size = s->options.batch_size,
                                   .shards = (int32_t)s->options.shards,
                                   .replicas = s->ranks,
                                   .isa = artel__context_isa(s->ctx),
                                   .common = s->common,
                                   .lends = s->group && artel__group_lends(s->group)};
    ARTEL_TRY(artel__compile(s->ctx, &artel__cpu, &f->graph, &options, &f->plan));
    f->replica = artel__arena_alloc(&f->place, (size_t)s->plan.replicas, sizeof *f->replica);
    if (!f->replica) return ARTEL_ERROR_NO_MEMORY;
    for (int r = 0; r < s->plan.replicas; r++) ARTEL_TRY(open_replica(f, r));
    return s->common ? join_replicas(f) : ARTEL_OK;
}

artel_status artel__function_open(artel_function *f)
{
    if (f->replica) return ARTEL_OK;
    ARTEL_TRY(artel__strategy_open(f->strategy));
    artel_status status = make_plan(f);
    if (status < 0) artel__function_unplace(f);
    return status;
}

void artel__function_destroy(artel_function *f)
{
    artel_context *ctx = f->strategy->ctx;
    artel__function_unplace(f);
    artel__arena_fini(&f->place);
    artel__text_fini(&f->text);
    artel__arena_fini(&f->arena);
    artel__free(ctx, f);
}

/* -- arguments -- */

static bool is_number(artel_dtype dtype)
{
    return artel_dtype_size(dtype) > 0;
}

artel_status artel__function_check_one(const artel_function *f, int i, const artel_array *given, int64_t *rows)
{
    artel_context *ctx = f->strategy->ctx;
    const artel__function_argument *a = &f->argument[i];
    artel_shape wanted = {.rank = a->shape.rank + (a->shared ? 0 : 1)};
    char text[128], has[128];
    for (int d = 0; d < a->shape.rank; d++) wanted.dim[d + (a->shared ? 0 : 1)] = a->shape.dim[d];
    if (!a->shared) wanted.dim[0] = given->shape.rank > 0 && *rows < 0 ? given->shape.dim[0] : *rows;
    if (!given->data || !is_number(given->dtype))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, a->name, "give numbers",
                           given->data ? "its element type is none" : "its data is NULL");
    if (!artel__shape_equal(&wanted, &given->shape)) {
        bool rank = given->shape.rank >= 0 && given->shape.rank <= ARTEL_MAX_RANK;
        return artel__fail(ctx, ARTEL_ERROR_INVALID, a->name,
                           "rows have the batch as their first axis, the same for all", "an array of %s for %s",
                           rank ? artel__shape_text(&given->shape, false, has, sizeof has) : "no shape",
                           artel__shape_text(&a->shape, !a->shared, text, sizeof text));
    }
    if (!a->shared) *rows = wanted.dim[0];
    return ARTEL_OK;
}

artel_status artel__function_check_rows(const artel_function *f, int64_t rows)
{
    if (rows >= 1 && rows <= f->strategy->options.batch_size) return ARTEL_OK;
    return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, f->name, "set batch_size when the strategy is made",
                       "%lld rows (1 to %lld are possible)", (long long)rows,
                       (long long)f->strategy->options.batch_size);
}

artel_status artel__function_check(const artel_function *f, const artel_array *in, int inputs, int64_t *rows)
{
    *rows = -1;
    for (int i = 0; i < inputs; i++) ARTEL_TRY(artel__function_check_one(f, i, &in[i], rows));
    if (*rows < 0) *rows = 1;
    return artel__function_check_rows(f, *rows);
}

static artel_status check_call(const artel_function *f, const artel_array *in, int inputs, const artel_array *out,
                               int outputs, int64_t *rows)
{
    artel_context *ctx = f->strategy->ctx;
    if (inputs != f->arguments || outputs != f->outputs || (inputs > 0 && !in) || (outputs > 0 && !out))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, f->name, "give what was declared",
                           "%d inputs and %d outputs; it has %d and %d", inputs, outputs, f->arguments, f->outputs);
    ARTEL_TRY(artel__function_check(f, in, inputs, rows));
    for (int i = 0; i < outputs; i++) {
        const artel__value *value = &f->graph.value[f->graph.kept[i]];
        if (out[i].data && out[i].dtype != value->dtype)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, f->name, "give outputs their own element type",
                               "output %d is %s, the array %s", i, artel_dtype_name(value->dtype),
                               artel_dtype_name(out[i].dtype));
    }
    if (artel__cancelled(ctx))
        return artel__fail(ctx, ARTEL_ERROR_CANCELLED, f->name, "call artel_context_clear to go on",
                           "the run was cancelled");
    return ARTEL_OK;
}

/* -- one replica -- */

static void copy_in(const call *c, artel__function_replica *replica)
{
    const artel_function *f = c->function;
    for (int i = 0; i < f->arguments; i++) {
        const artel__function_argument *a = &f->argument[i];
        int64_t row = artel_shape_count(&a->shape), first = a->shared ? 0 : replica->fold.row,
                rows = a->shared ? 1 : replica->fold.rows;
        const char *from = (const char *)c->in[i].data + (size_t)(first * row) * artel_dtype_size(c->in[i].dtype);
        if (c->in[i].dtype == a->dtype && a->dtype != ARTEL_DTYPE_BOOL)
            memcpy(replica->buffer[i], from, (size_t)(rows * row) * artel_dtype_size(a->dtype));
        else
            artel__convert(c->in[i].dtype, from, a->dtype, replica->buffer[i], rows * row);
    }
}

static void copy_out(const call *c, const artel__function_replica *replica, int index)
{
    const artel_function *f = c->function;
    for (int i = 0; i < f->outputs; i++) {
        const artel__value *value = &f->graph.value[f->graph.kept[i]];
        bool rows = value->domain == ARTEL__DOMAIN_ROW, far = f->strategy->ranks > f->strategy->plan.replicas;
        if (!c->out[i].data || (rows ? far : index > 0)) continue; /* rows of several tasks are gathered */
        size_t bytes = (size_t)artel_shape_count(&value->shape) * artel_dtype_size(value->dtype);
        char *to = (char *)c->out[i].data + (rows ? (size_t)replica->fold.row * bytes : 0);
        memcpy(to, artel__execution_read(replica->run, i), bytes * (size_t)(rows ? replica->fold.rows : 1));
    }
}

/* In a cluster every task gets the rows of all. */
static artel_status gather(const call *c, artel__function_replica *replica, int index, const artel__step *step,
                           const artel__comm *comm)
{
    artel_function *f = c->function;
    for (int i = 0; i < f->outputs; i++) {
        const artel__value *value = &f->graph.value[f->graph.kept[i]];
        if (value->domain != ARTEL__DOMAIN_ROW || !c->out[i].data) continue;
        artel__comm_segment segment = {.kind = ARTEL__COLLECTIVE_GATHER,
                                       .dtype = value->dtype,
                                       .count = value->storage,
                                       .in = artel__execution_read(replica->run, i),
                                       .out = index == 0 ? c->out[i].data : replica->gathered[i]};
        ARTEL_TRY(comm->ops->all_reduce(comm->self, step, f->graph.nodes + i, &segment, 1));
    }
    return ARTEL_OK;
}

static artel_status hand_out(const call *c, artel__function_replica *replica, int index, const artel__step *step,
                             const artel__comm *comm)
{
    artel_strategy *s = c->function->strategy;
    copy_out(c, replica, index);
    return comm && s->ranks > s->plan.replicas ? gather(c, replica, index, step, comm) : ARTEL_OK;
}

static void enter(const artel_strategy *s, int index, artel__member_phase phase)
{
    artel__mesh_activity *activity = artel__loop_activity(s, index);
    if (activity) artel__mesh_enter(activity, phase, artel__now_ns());
}

static artel_status compute(const call *c, artel__function_replica *replica, int index)
{
    artel_function *f = c->function;
    artel_strategy *s = f->strategy;
    const artel_optimizer *o = f->applied;
    int32_t first = first_shard(s, index), count = first_shard(s, index + 1) - first;
    artel__fold_plan_make(&replica->fold, (int32_t)s->options.shards, first, count, c->rows, replica->start);
    copy_in(c, replica);
    enter(s, index, ARTEL__MEMBER_COMPUTE);
    artel__step step = {.fold = &replica->fold,
                        .seed = s->options.seed,
                        .batch = (uint64_t)s->runs,
                        .iteration = o ? o->iterations : 0,
                        .learning_rate = !o            ? 0
                                         : o->rate > 0 ? o->rate
                                                       : artel__schedule_rate(&o->rule.schedule, o->iterations),
                        .training = f->training};
    const artel__comm *comm = s->group ? artel__group_comm(s->group, index) : NULL;
    artel_status status = artel__execution_compute(replica->run, &step, (const void *const *)replica->buffer);
    replica->faulted = status == ARTEL_OK && artel__execution_fault(replica->run)->node >= 0;
    if (replica->faulted) status = ARTEL_ERROR_INVALID;
    if (status == ARTEL_OK) status = hand_out(c, replica, index, &step, comm);
    if (comm && (status == ARTEL_OK || replica->faulted)) {
        artel_status agreed = comm->ops->barrier(comm->self, status == ARTEL_OK);
        if (status == ARTEL_OK) status = agreed;
    }
    ARTEL_TRY(status);
    enter(s, index, ARTEL__MEMBER_APPLY);
    artel__execution_apply(replica->run, &step);
    replica->applied = true;
    return ARTEL_OK;
}

static void run_replica(void *user, int index)
{
    const call *c = user;
    artel__function_replica *replica = &c->function->replica[index];
    uint32_t caller = artel__fp_enter();
    replica->status = compute(c, replica, index);
    if (replica->status < 0 && c->function->strategy->group) artel__group_cancel(c->function->strategy->group);
    artel__fp_leave(caller);
}

/* -- the whole -- */

static artel_status report_fault(const artel_function *f)
{
    const artel__fault *first = NULL;
    for (int r = 0; r < f->strategy->plan.replicas; r++) {
        if (!f->replica[r].faulted) continue;
        const artel__fault *fault = artel__execution_fault(f->replica[r].run);
        if (!first || fault->node < first->node || (fault->node == first->node && fault->row < first->row))
            first = fault;
    }
    const char *name = f->graph.node[first->node].name;
    return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, name[0] ? name : f->name,
                       "correct the data, or enlarge the vocabulary or the number of classes",
                       "row %lld holds the index %lld, which is out of range", (long long)first->row,
                       (long long)first->value);
}

/* Who came through the barrier knows that all did, so those of this process who were stopped behind it take the result
 * over. */
static void complete(const artel_function *f)
{
    artel_strategy *s = f->strategy;
    int from = -1;
    for (int r = 0; r < s->plan.replicas; r++) {
        if (f->replica[r].applied) from = r;
    }
    for (int r = 0; r < s->plan.replicas && from >= 0; r++) {
        if (f->replica[r].applied) continue;
        artel__state_copy(s->state[r], s->state[from], artel__all_of(&s->variables));
        f->replica[r].status = ARTEL_OK;
    }
}

/* An exchange is cancelled, or fails, when another rank is lost or cannot go on; whatever else it says was found here,
 * and is the cause. */
static int weight(artel_status status)
{
    return status >= 0 ? 0 : status == ARTEL_ERROR_CANCELLED ? 1 : status == ARTEL_ERROR_RUN ? 2 : 3;
}

static artel_status join_status(const artel_function *f)
{
    artel_strategy *s = f->strategy;
    artel_status status = ARTEL_OK;
    bool faulted = false;
    if (s->loop) complete(f);
    for (int r = 0; r < s->plan.replicas; r++) {
        artel_status one = f->replica[r].status;
        faulted = faulted || f->replica[r].faulted;
        if (weight(one) > weight(status)) status = one;
    }
    if (status < 0 && s->group) artel__group_reset(s->group);
    if (weight(status) > 0 && weight(status) < 3 && !faulted) artel__loop_interrupted(s);
    return faulted ? report_fault(f) : status;
}

artel_status artel__function_execute(artel_function *f, const artel_array *in, const artel_array *out, int64_t rows)
{
    call c = {.function = f, .in = in, .out = out, .rows = rows};
    ARTEL_TRY(artel__function_open(f));
    for (int r = 0; r < f->strategy->plan.replicas; r++) f->replica[r].faulted = f->replica[r].applied = false;
    artel__crew_work(f->strategy->crew, run_replica, &c);
    return join_status(f);
}

artel_status artel_function_run(artel_function *f, const artel_array *inputs, int input_count,
                                const artel_array *outputs, int output_count)
{
    int64_t rows;
    ARTEL_TRY(artel__enter(f ? f->strategy->ctx : NULL, __func__, "function", f));
    if (f->strategy->servers)
        return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, f->name, "schedule it: artel_coordinator_schedule",
                           "functions over parameter servers are run by workers only");
    ARTEL_TRY(check_call(f, inputs, input_count, outputs, output_count, &rows));
    ARTEL_TRY(artel__loop_may_run(f->strategy));
    ARTEL_TRY(artel__function_execute(f, inputs, outputs, rows));
    if (f->writes) f->strategy->runs++;
    if (f->applied) f->applied->iterations++;
    if (f->writes) artel__loop_ran(f->strategy);
    return ARTEL_OK;
}
