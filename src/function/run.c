/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of functions: rows to their replicas, a step on each, results back.
 *
 * As a step of fit: every replica copies its rows, computes (collectives join it with the others), agrees with the
 * others that all went well, hands out its results and applies. Between these nothing changes, so a failed run leaves
 * every variable as it was.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "function/function_impl.h"

/* What the replicas of a run see. */
typedef struct call {
    artel_function *function;
    const artel_array *in, *out;
    int64_t rows;
} call;

/* -- arguments -- */

/* Text is given as such, and numbers as any of them. */
static bool is_kind(artel_dtype wanted, artel_dtype given)
{
    return wanted == ARTEL_DTYPE_STRING ? given == wanted : artel_dtype_size(given) > 0;
}

artel_status artel__function_check_one(const artel_function *f, int i, const artel_array *given, int64_t *rows)
{
    artel_context *ctx = f->strategy->ctx;
    const artel__function_argument *a = &f->argument[i];
    artel_shape wanted = {.rank = a->shape.rank + (a->shared ? 0 : 1)};
    char text[128], has[128];
    for (int d = 0; d < a->shape.rank; d++) wanted.dim[d + (a->shared ? 0 : 1)] = a->shape.dim[d];
    if (!a->shared) wanted.dim[0] = given->shape.rank > 0 && *rows < 0 ? given->shape.dim[0] : *rows;
    if (!given->data || !is_kind(a->dtype, given->dtype))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, a->name,
                           a->dtype == ARTEL_DTYPE_STRING ? "give strings (artel_string)" : "give numbers",
                           given->data ? "its element type is none of these" : "its data is NULL");
    if (!artel__shape_equal(&wanted, &given->shape) || (!a->shared && given->shape.dim[0] < 0)) {
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
        artel_dtype dtype;
        artel_shape shape;
        bool rows_of_it;
        artel__function_describe(f, i, &dtype, &shape, &rows_of_it);
        if (out[i].data && out[i].dtype != dtype)
            return artel__fail(ctx, ARTEL_ERROR_INVALID, f->name, "give outputs their own element type",
                               "output %d is %s, the array %s", i, artel_dtype_name(dtype),
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
    for (int i = f->arguments; i < f->fed; i++) {
        const artel__function_argument *a = &f->argument[i];
        size_t row = (size_t)artel_shape_count(&a->shape) * artel_dtype_size(a->dtype);
        size_t first = a->shared ? 0 : (size_t)replica->fold.row, rows = a->shared ? 1 : (size_t)replica->fold.rows;
        memcpy(replica->buffer[i], (const char *)artel__texts_fed(f, i) + first * row, rows * row);
    }
    for (int i = 0; i < f->arguments; i++) {
        const artel__function_argument *a = &f->argument[i];
        if (a->dtype == ARTEL_DTYPE_STRING) continue;
        int64_t row = artel_shape_count(&a->shape), first = a->shared ? 0 : replica->fold.row,
                rows = a->shared ? 1 : replica->fold.rows;
        const char *from = (const char *)c->in[i].data + (size_t)(first * row) * artel_dtype_size(c->in[i].dtype);
        if (c->in[i].dtype == a->dtype && a->dtype != ARTEL_DTYPE_BOOL)
            memcpy(replica->buffer[i], from, (size_t)(rows * row) * artel_dtype_size(a->dtype));
        else
            artel__convert(c->in[i].dtype, from, a->dtype, replica->buffer[i], rows * row);
    }
}

/* Where a result of the graph goes behind a pass (texts.h); NULL: nobody wants it. */
static void *target(const call *c, const artel__function_result *result, int pass)
{
    bool last = pass > artel__texts_passes(c->function);
    if (result->text) return artel__text_late(result->text) == pass ? artel__text_target(result->text) : NULL;
    return last ? c->out[result->output].data : NULL;
}

static void copy_out(const call *c, const artel__function_replica *replica, int index, int pass)
{
    const artel_function *f = c->function;
    for (int i = 0; i < f->results; i++) {
        const artel__function_result *result = &f->result[i];
        const artel__value *value = &f->graph.value[f->graph.kept[result->kept]];
        bool rows = value->domain == ARTEL__DOMAIN_ROW, far = f->strategy->ranks > f->strategy->plan.replicas;
        char *to = target(c, result, pass);
        if (!to || (rows ? far : index > 0)) continue; /* rows of several tasks are gathered */
        size_t bytes = (size_t)artel_shape_count(&value->shape) * artel_dtype_size(value->dtype);
        if (rows) to += (size_t)replica->fold.row * bytes;
        memcpy(to, artel__execution_read(replica->run, result->kept), bytes * (size_t)(rows ? replica->fold.rows : 1));
    }
}

/* In a cluster every task gets the rows of all. */
static artel_status gather(const call *c, artel__function_replica *replica, int index, int pass,
                           const artel__step *step)
{
    artel_function *f = c->function;
    const artel__comm *comm = artel__group_comm(f->strategy->group, index);
    for (int i = 0; i < f->results; i++) {
        const artel__function_result *result = &f->result[i];
        const artel__value *value = &f->graph.value[f->graph.kept[result->kept]];
        void *to = target(c, result, pass);
        if (value->domain != ARTEL__DOMAIN_ROW || !to) continue;
        artel__comm_segment segment = {.kind = ARTEL__COLLECTIVE_GATHER,
                                       .dtype = value->dtype,
                                       .count = value->storage,
                                       .in = artel__execution_read(replica->run, result->kept),
                                       .out = index == 0 ? to : replica->gathered[i]};
        ARTEL_TRY(comm->ops->all_reduce(comm->self, step, f->graph.nodes + i, &segment, 1));
    }
    return ARTEL_OK;
}

static artel_status hand_out(const call *c, artel__function_replica *replica, int index, int pass,
                             const artel__step *step)
{
    artel_strategy *s = c->function->strategy;
    copy_out(c, replica, index, pass);
    return s->group && s->ranks > s->plan.replicas ? gather(c, replica, index, pass, step) : ARTEL_OK;
}

/* That all are well so far. */
static artel_status agree(const artel__comm *comm, const artel__function_replica *replica, artel_status status)
{
    if (!comm || (status < 0 && !replica->faulted)) return status;
    artel_status agreed = comm->ops->barrier(comm->self, status == ARTEL_OK);
    return status == ARTEL_OK ? agreed : status;
}

static void enter(const artel_strategy *s, int index, artel__member_phase phase)
{
    artel__mesh_activity *activity = artel__loop_activity(s, index);
    if (activity) artel__mesh_enter(activity, phase, artel__now_ns());
}

/* The step as an optimizer sees it; NULL: as a function without any. */
static artel__step step_of(const call *c, const artel__function_replica *replica, const artel_optimizer *o)
{
    const artel_strategy *s = c->function->strategy;
    return (artel__step){.fold = &replica->fold,
                         .seed = s->options.seed,
                         .batch = (uint64_t)s->runs,
                         .iteration = o ? o->iterations : 0,
                         .learning_rate = !o            ? 0
                                          : o->rate > 0 ? o->rate
                                                        : artel__schedule_rate(&o->rule.schedule, o->iterations),
                         .training = c->function->training};
}

/* What numbers that come back from text are made of. An index that is out of range may be one of those; one that is
 * not stays it, and ends the last pass, unless the text is no text because of it. */
static artel_status settle(const call *c, artel__function_replica *replica, int index, const artel__step *step,
                           const artel__comm *comm)
{
    artel_function *f = c->function;
    for (int pass = 1; pass <= artel__texts_passes(f); pass++) {
        artel_status status = artel__execution_compute(replica->run, step, (const void *const *)replica->buffer);
        bool faulted = status == ARTEL_OK && artel__execution_fault(replica->run)->node >= 0;
        if (status == ARTEL_OK) status = hand_out(c, replica, index, pass, step);
        ARTEL_TRY(agree(comm, replica, status));
        status = index == 0 ? artel__texts_run_pass(f, pass, c->rows) : ARTEL_OK;
        replica->faulted = status < 0 && faulted;
        ARTEL_TRY(agree(comm, replica, status));
        copy_in(c, replica);
    }
    return ARTEL_OK;
}

static artel_status compute(const call *c, artel__function_replica *replica, int index)
{
    artel_function *f = c->function;
    artel_strategy *s = f->strategy;
    int32_t first = artel__strategy_first_shard(s, index), count = artel__strategy_first_shard(s, index + 1) - first;
    artel__fold_plan_make(&replica->fold, (int32_t)s->options.shards, first, count, c->rows, replica->start);
    copy_in(c, replica);
    enter(s, index, ARTEL__MEMBER_COMPUTE);
    artel__step step = step_of(c, replica, f->applies > 0 ? f->applied[0] : NULL);
    for (int i = 1; i < f->applies; i++) replica->step[i - 1] = step_of(c, replica, f->applied[i]);
    step.others = replica->step;
    const artel__comm *comm = s->group ? artel__group_comm(s->group, index) : NULL;
    ARTEL_TRY(settle(c, replica, index, &step, comm));
    artel_status status = artel__execution_compute(replica->run, &step, (const void *const *)replica->buffer);
    replica->faulted = status == ARTEL_OK && artel__execution_fault(replica->run)->node >= 0;
    if (replica->faulted) status = ARTEL_ERROR_INVALID;
    if (status == ARTEL_OK) status = hand_out(c, replica, index, artel__texts_passes(f) + 1, &step);
    if (artel__texts_follow(f)) {
        ARTEL_TRY(agree(comm, replica, status));
        status = index == 0 ? artel__texts_run_late(f, c->rows) : ARTEL_OK; /* of all results, once a task */
    }
    ARTEL_TRY(agree(comm, replica, status));
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
                       "row %lld holds the index %lld, which is out of range", (long long)(f->first_row + first->row),
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
        f->replica[r].status = artel__state_bring(s->state[from]);
        if (f->replica[r].status < 0) return;
        artel__state_copy(s->state[r], s->state[from], artel__all_of(&s->variables));
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
    ARTEL_TRY(artel__texts_run(f, in, rows));
    for (int r = 0; r < f->strategy->plan.replicas; r++) f->replica[r].faulted = f->replica[r].applied = false;
    artel__crew_work(f->strategy->crew, run_replica, &c);
    ARTEL_TRY(join_status(f));
    artel__texts_hand_out(f, out, rows);
    const artel_strategy *s = f->strategy;
    return f->writes ? artel__mixture_make_equal(s->devices, &s->variables, s->state) : ARTEL_OK;
}

/* Alone, as workers of parameter servers are. */
static artel_status look(artel_function *f, const artel_array *in, int64_t rows)
{
    artel_strategy *s = f->strategy;
    call c = {.function = f, .in = in, .rows = rows};
    artel__function_replica *replica = &f->replica[0];
    int32_t shards = (int32_t)s->options.shards;
    artel__fold_plan_make(&replica->fold, shards, 0, shards, rows, replica->start);
    copy_in(&c, replica);
    artel__step step = {.fold = &replica->fold, .seed = s->options.seed, .batch = (uint64_t)s->runs};
    return artel__execution_compute(f->tables.run, &step, (const void *const *)replica->buffer);
}

artel_status artel__function_look(artel_function *f, const artel_array *in, int64_t rows)
{
    ARTEL_TRY(artel__function_open(f));
    ARTEL_TRY(artel__tables_open(f));
    if (f->tables.count == 0) return ARTEL_OK;
    uint32_t caller = artel__fp_enter();
    artel_status status = look(f, in, rows);
    artel__fp_leave(caller);
    return status;
}

/* -- memory that is measured -- */

static artel_status check_bytes(const artel_function *f, const char *what, int i, size_t has, size_t needed)
{
    if (has >= needed) return ARTEL_OK;
    return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, f->name, "give room for the whole array",
                       "%s %d has %zu bytes and takes %zu", what, i, has, needed);
}

static artel_status check_inputs(const artel_function *f, const artel_function_call *given)
{
    for (int i = 0; i < given->input_count; i++) {
        const artel_array *in = &given->inputs[i];
        size_t size = artel__cell_size(in->dtype);
        ARTEL_TRY(check_bytes(f, "input", i, given->input_bytes[i], (size_t)artel_shape_count(&in->shape) * size));
    }
    return ARTEL_OK;
}

static artel_status check_outputs(const artel_function *f, const artel_function_call *given, int64_t rows)
{
    for (int i = 0; i < given->output_count; i++) {
        artel_dtype dtype;
        artel_shape shape;
        bool by_row;
        artel__function_describe(f, i, &dtype, &shape, &by_row);
        size_t one = (size_t)artel_shape_count(&shape) * artel__cell_size(dtype),
               needed = by_row ? one * (size_t)rows : one;
        if (given->outputs[i].data) ARTEL_TRY(check_bytes(f, "output", i, given->output_bytes[i], needed));
    }
    return ARTEL_OK;
}

static const artel__range call_ranges[] = {{.name = NULL}};
static const artel__options_kind call_kind = {"function call", "begin with ARTEL_FUNCTION_CALL_INIT",
                                              sizeof(artel_function_call), call_ranges};

artel_status artel_function_run_checked(artel_function *f, const artel_function_call *given)
{
    artel_function_call chosen = ARTEL_FUNCTION_CALL_INIT;
    int64_t rows;
    ARTEL_TRY(artel__enter(f ? f->strategy->ctx : NULL, __func__, "function call", f, given));
    ARTEL_TRY(artel__take_options(f->strategy->ctx, &call_kind, given, &chosen));
    const artel_function_call *c = &chosen;
    if ((c->input_count > 0 && !c->input_bytes) || (c->output_count > 0 && !c->output_bytes))
        return artel__fail(f->strategy->ctx, ARTEL_ERROR_INVALID, f->name, "give input_bytes and output_bytes",
                           "the sizes of its memory are missing");
    ARTEL_TRY(check_call(f, c->inputs, c->input_count, c->outputs, c->output_count, &rows));
    ARTEL_TRY(check_inputs(f, c));
    ARTEL_TRY(check_outputs(f, c, rows));
    return artel_function_run(f, c->inputs, c->input_count, c->outputs, c->output_count);
}

/* Whether the optimizer that scales its loss has stepped: its gradients were finite. */
static bool took_step(const artel_function *f)
{
    for (int r = 0; r < f->strategy->plan.replicas; r++) {
        if (f->replica[r].applied) return isfinite(*(const double *)artel__execution_read(f->replica[r].run, f->gate));
    }
    return true;
}

static void count_steps(const artel_function *f)
{
    for (int i = 0; i < f->applies; i++) f->applied[i]->iterations += f->applied[i] != f->scaling || took_step(f);
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
    count_steps(f);
    if (f->writes) artel__loop_ran(f->strategy);
    return ARTEL_OK;
}
