/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: replicas that step together.
 *
 * The caller's thread is replica 0; each further replica has a thread that waits for the next step. All of them execute
 * the same plan on their own variables, which the collectives inside keep bit-equal, or on common ones. The first failure of a step
 * cancels the group, so nobody waits for a replica that will not come; the step is then reported and nothing has changed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "nn/row_state.h"
#include "train/content.h"

int32_t artel__default_shards(int64_t batch_size)
{
    int32_t shards = 8;
    while (shards < 256 && (int64_t)shards * 2 <= batch_size / 32) shards *= 2;
    return shards;
}

/* -- threads -- */

/* The next generation after `seen`; `seen` itself when there will be none. */
static unsigned await_work(artel__session *session, unsigned seen)
{
    if (session->polls && artel__poll_change(&session->generation, seen)) return atomic_load(&session->generation);
    pthread_mutex_lock(&session->mutex);
    while (!session->quit && atomic_load(&session->generation) == seen) pthread_cond_wait(&session->work, &session->mutex);
    pthread_mutex_unlock(&session->mutex);
    return atomic_load(&session->generation);
}

static void await_replicas(artel__session *session)
{
    unsigned left;
    while (session->polls && (left = atomic_load(&session->unfinished)) > 0 && artel__poll_change(&session->unfinished, left)) {
    }
    if (atomic_load(&session->unfinished) == 0) return;
    pthread_mutex_lock(&session->mutex);
    while (atomic_load(&session->unfinished) > 0) pthread_cond_wait(&session->done, &session->mutex);
    pthread_mutex_unlock(&session->mutex);
}

static void wake(artel__session *session, pthread_cond_t *sleepers)
{
    pthread_mutex_lock(&session->mutex);
    pthread_cond_broadcast(sleepers);
    pthread_mutex_unlock(&session->mutex);
}

static void *replica_main(void *user)
{
    artel__replica *replica = user;
    artel__session *session = replica->session;
    unsigned seen = 0, next;
    while ((next = await_work(session, seen)) != seen) {
        seen = next;
        artel__replica_step(replica, session->current, session->batch);
        if (atomic_fetch_sub(&session->unfinished, 1) == 1) wake(session, &session->done);
    }
    return NULL;
}

static void stop_threads(artel__session *session)
{
    pthread_mutex_lock(&session->mutex);
    session->quit = true;
    pthread_cond_broadcast(&session->work);
    pthread_mutex_unlock(&session->mutex);
    for (int r = 1; r < session->replicas; r++) {
        if (session->replica[r].started) pthread_join(session->replica[r].thread, NULL);
    }
}

static artel_status start_threads(artel__session *session)
{
    for (int r = 1; r < session->replicas; r++) {
        if (pthread_create(&session->replica[r].thread, NULL, replica_main, &session->replica[r]) != 0)
            return artel__fail(session->ctx, ARTEL_ERROR_RUN, "session", "use fewer replicas or raise the limit of threads",
                               "a thread for replica %d could not be started", r);
        session->replica[r].started = true;
    }
    return ARTEL_OK;
}

/* -- making -- */

static artel_status copy_variables(artel__session *session)
{
    const artel__variables *from = session->options.model->nn->variables;
    artel__variables_init(&session->variables, &session->arena);
    session->variables.item = artel__arena_alloc(&session->arena, (size_t)from->count + 1, sizeof *from->item);
    if (!session->variables.item) return ARTEL_ERROR_NO_MEMORY;
    if (from->count) memcpy(session->variables.item, from->item, (size_t)from->count * sizeof *from->item);
    session->variables.count = session->variables.capacity = from->count;
    session->variables.bytes = from->bytes;
    return ARTEL_OK;
}

typedef struct collector {
    int *index;
    int count;
} collector;

static artel_status collect_trainable(void *user, const artel__model_variable *variable)
{
    collector *c = user;
    if (variable->trainable) c->index[c->count++] = variable->variable->index;
    return ARTEL_OK;
}

static artel_status declare_slots(artel__session *session)
{
    collector c = {artel__arena_alloc(&session->arena, (size_t)session->variables.count + 1, sizeof(int)), 0};
    if (!c.index) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__model_visit(session->options.model->nn, collect_trainable, &c));
    session->slots = (artel__optimizer_slots){.scale = -1, .steps = -1, .product = -1, .count = c.count, .trainable = c.index};
    if (session->options.cache) return ARTEL_OK;
    return artel__optimizer_declare(&session->options.settings->optimizer, &session->variables, c.index, c.count, &session->slots);
}

/* -- devices -- */

enum {
    DEVICE_ROWS = 32, /* of a shard: fewer starve a large device */
    DEVICE_SHARDS = 8
};

/* A function of the batch alone, as for cores, so that 1, 2, 4, 8 devices give the same bits. */
static int32_t device_shards(int64_t batch_size)
{
    int32_t shards = 1;
    while (shards < DEVICE_SHARDS && batch_size / (2 * shards) >= DEVICE_ROWS) shards *= 2;
    return shards;
}

/* One each, as far as there are shards; one for XLA's CPU, whose devices are the same cores. */
static int replicas_of_devices(const artel__session *session)
{
    const artel__session_options *o = &session->options;
    bool one = o->strategy && strcmp(o->strategy, "one-device") == 0;
    if (one || strcmp(session->devices->place.kind, "cpu") == 0) return 1;
    return session->devices->count < o->shards ? session->devices->count : o->shards;
}

static artel_status open_devices(artel__session *session)
{
    const artel__session_options *o = &session->options;
    ARTEL_TRY(artel__devices_open(session->ctx, &o->device, &session->devices));
    if (!session->devices) return ARTEL_OK;
    session->device = &session->devices->device;
    if (o->elsewhere || o->alone)
        return artel__fail(session->ctx, ARTEL_ERROR_UNSUPPORTED, "device", "use multi-worker, or processors",
                           "workers of parameter-server compute on processors in this version");
    return ARTEL_OK;
}

static artel_status resolve(artel__session *session)
{
    artel__session_options *o = &session->options;
    if (o->batch_size < 1)
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, "--batch-size", "give a number of at least 1", "the batch size is %lld",
                           (long long)o->batch_size);
    ARTEL_TRY(open_devices(session));
    if (o->shards == 0) o->shards = session->devices ? device_shards(o->batch_size) : artel__default_shards(o->batch_size);
    if (o->shards < 1 || o->shards > ARTEL__MAX_SHARDS || (o->shards & (o->shards - 1)))
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, "--shards", "give 1, 2, 4, 8, ... up to 4096",
                           "%d virtual shards: not a power of two in range", o->shards);
    if (o->batch_groups < 0 || (o->batch_groups > 1 && o->shards % o->batch_groups))
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, "--batch-norm", "give a power of two up to the number of shards",
                           "%d groups do not divide the %d virtual shards of a batch of %lld", o->batch_groups, o->shards,
                           (long long)o->batch_size);
    artel__strategy_request request = {o->replicas, o->threads, o->shards, o->batch_size};
    if (session->devices && request.replicas == 0) request.replicas = replicas_of_devices(session);
    bool single = artel__mesh_is_single(o->cluster), any = !o->strategy || strcmp(o->strategy, "auto") == 0;
    int cores = artel__usable_cores() / artel__mesh_tasks_here(o->cluster);
    if (request.threads == 0 && !single) request.threads = cores > 1 ? cores : 1;
    const char *strategy = !any ? o->strategy : single ? "auto" : "multi-worker";
    ARTEL_TRY(artel__strategy_make_plan(session->ctx, strategy, &request, &session->strategy));
    if (!single && !session->strategy.cluster)
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, "--strategy", "use multi-worker, or give no cluster",
                           "%s does not work with the other tasks of a cluster", session->strategy.name);
    session->cluster = single || o->alone ? NULL : o->cluster;
    if (session->strategy.note[0] && single) artel__log(session->ctx, ARTEL_LOG_NOTE, "%s", session->strategy.note);
    session->replicas = session->ranks = session->strategy.replicas;
    session->polls = session->strategy.threads <= artel__usable_cores();
    session->common = session->strategy.common && single && session->replicas > 1 && !session->devices;
    return ARTEL_OK;
}

static artel_status open_session(artel__session *session)
{
    ARTEL_TRY(resolve(session));
    ARTEL_TRY(artel__session_read_arithmetic(session));
    ARTEL_TRY(copy_variables(session));
    if (session->options.train) ARTEL_TRY(declare_slots(session));
    if (session->replicas > 1 && !session->cluster)
        ARTEL_TRY(artel__group_create(session->ctx, session->replicas, session->options.shards, &session->group));
    session->replica = artel__arena_alloc(&session->arena, (size_t)session->replicas, sizeof *session->replica);
    if (!session->replica) return ARTEL_ERROR_NO_MEMORY;
    for (int r = 0; r < session->replicas; r++) ARTEL_TRY(artel__replica_open(session, r));
    artel_model *model = session->options.model;
    if (!model->initialised) ARTEL_TRY(artel__keras_initialise(model, session->options.seed));
    artel__state_copy(session->replica[0].state, model->weights, artel__all_of(model->nn->variables));
    if (session->options.train && !session->options.cache) ARTEL_TRY(artel__session_take_up(session));
    artel__session_broadcast(session);
    return start_threads(session);
}

artel_status artel__session_create(artel_context *ctx, const artel__session_options *options, artel__session **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__session), "session", &block));
    artel__session *session = block;
    session->ctx = ctx;
    session->options = *options;
    session->device = &artel__cpu;
    artel__arena_init(&session->arena, ctx);
    pthread_mutex_init(&session->mutex, NULL);
    pthread_cond_init(&session->work, NULL);
    pthread_cond_init(&session->done, NULL);
    artel_status status = open_session(session);
    if (status < 0) {
        artel__session_destroy(session);
        return status;
    }
    *out = session;
    return ARTEL_OK;
}

void artel__session_destroy(artel__session *session)
{
    if (!session) return;
    artel_context *ctx = session->ctx;
    if (session->replica) stop_threads(session);
    for (int r = 0; session->replica && r < session->replicas; r++) artel__replica_close(&session->replica[r]);
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
        artel__executable_destroy(session->mode[m].plan);
        artel__objective_destroy(session->mode[m].objective);
    }
    artel__devices_close(session->devices);
    artel__group_destroy(session->group);
    pthread_cond_destroy(&session->done);
    pthread_cond_destroy(&session->work);
    pthread_mutex_destroy(&session->mutex);
    artel__arena_fini(&session->arena);
    artel__free(ctx, session);
}

void artel__session_release(artel__session *session)
{
    for (int r = 0; r < session->replicas; r++) {
        for (int m = 0; m < ARTEL__MODE_COUNT; m++) artel__replica_unprepare(&session->replica[r], (artel__mode)m);
    }
}

artel_status artel__session_prepare(artel__session *session, artel__mode m, const artel__feed *feed, int64_t batch_size)
{
    artel__session_mode *mode = &session->mode[m];
    mode->feed = feed;
    mode->batch_size = batch_size;
    mode->weighted = m == ARTEL__MODE_TRAIN && session->options.class_weight;
    if (mode->weighted) ARTEL_TRY(artel__class_weight_find(session, mode));
    artel__executable_destroy(mode->plan);
    artel__objective_destroy(mode->objective);
    mode->plan = NULL;
    mode->objective = NULL;
    artel__objective_request request = {.nn = session->options.model->nn,
                                        .settings = session->options.settings,
                                        .variables = &session->variables,
                                        .feed = feed,
                                        .mode = m,
                                        .weighted = mode->weighted,
                                        .slots = &session->slots,
                                        .recompute = {.rows = batch_size, .extra_time = session->options.recompute},
                                        .batch_size = batch_size,
                                        .batch_groups = session->options.batch_groups,
                                        .elsewhere = session->options.elsewhere};
    ARTEL_TRY(artel__objective_create(session->ctx, &request, &mode->objective));
    artel__session_find_products(session, mode->objective);
    bool placed = !session->options.unplaced && (!session->cluster || session->seat.ranks > 0);
    return placed ? artel__session_place(session, m) : ARTEL_OK;
}

static artel_status join_runs(artel__session *session, artel__mode m)
{
    void *block;
    ARTEL_TRY(artel__calloc(session->ctx, (size_t)session->replicas, sizeof(artel__execution *), "session", &block));
    artel__execution **all = block;
    for (int r = 0; r < session->replicas; r++) all[r] = session->replica[r].mode[m].run;
    artel_status status = artel__execution_join(all, session->replicas);
    artel__free(session->ctx, all);
    return status;
}

artel_status artel__session_place(artel__session *session, artel__mode m)
{
    artel__session_mode *mode = &session->mode[m];
    artel__plan_options options = {.batch_size = mode->batch_size,
                                   .shards = session->options.shards,
                                   .replicas = session->ranks,
                                   .isa = artel__context_isa(session->ctx),
                                   .common = session->common,
                                   .lends = session->group && artel__group_lends(session->group)};
    artel__executable *plan;
    ARTEL_TRY(artel__compile(session->ctx, session->device, &mode->objective->graph, &options, &plan));
    for (int r = 0; r < session->replicas; r++) artel__replica_unprepare(&session->replica[r], m);
    artel__executable_destroy(mode->plan);
    mode->plan = plan;
    for (int r = 0; r < session->replicas; r++) ARTEL_TRY(artel__replica_prepare(&session->replica[r], m));
    return session->common ? join_runs(session, m) : ARTEL_OK;
}

/* -- stepping -- */

static artel_status report_fault(artel__session *session, artel__mode m, const artel__batch *batch)
{
    const artel__fault *first = NULL;
    for (int r = 0; r < session->replicas; r++) {
        if (!session->replica[r].faulted) continue;
        const artel__fault *fault = artel__execution_fault(session->replica[r].mode[m].run);
        if (!first || fault->node < first->node || (fault->node == first->node && fault->row < first->row)) first = fault;
    }
    const artel__node *node = &session->mode[m].objective->graph.node[first->node];
    int64_t row = first->row, whole;
    if (artel__row_state_fault(&session->mode[m].objective->graph, node, &whole))
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, node->name, "choose that batch size, and a number of records that it divides",
                           "a stateful layer was built for batches of %lld and got one of %lld", (long long)whole, (long long)first->value);
    return artel__fail(session->ctx, ARTEL_ERROR_INVALID, node->name,
                       "correct the data, or enlarge the vocabulary or the number of classes",
                       "record %llu of the data holds the index %lld, which is out of range", (unsigned long long)batch->rows[row],
                       (long long)first->value);
}

/* One line about the earliest value that was not finite, over all replicas. */
static void describe_nonfinite(artel__session *session, const artel__batch *batch)
{
    const artel__nonfinite *first = NULL;
    for (int r = 0; r < session->replicas; r++) {
        const artel__nonfinite *one = &session->replica[r].nonfinite;
        if (one->node < 0) continue;
        bool earlier = !first || one->node < first->node || (one->node == first->node && one->first_row < first->first_row);
        if (earlier) first = one;
    }
    if (!first || session->fault_reported || session->fault[0]) return;
    char rows[96] = "";
    if (first->first_row >= 0)
        snprintf(rows, sizeof rows, ", samples %lld to %lld of the batch", (long long)first->first_row, (long long)first->last_row);
    snprintf(session->fault, sizeof session->fault, "step %lld: the first value that is not finite (%g) came out of layer \"%s\" (%s)%s",
             (long long)batch->iteration + 1, first->value, first->name, first->op, rows);
}

/* Who came through the barrier knows that all did, so those of this process who were stopped behind it take the result over. */
static bool complete_step(artel__session *session, artel__mode m)
{
    int from = -1;
    for (int r = 0; r < session->replicas; r++) {
        if (session->replica[r].applied) from = r;
    }
    if (from < 0 || m != ARTEL__MODE_TRAIN) return from >= 0;
    for (int r = 0; r < session->replicas; r++) {
        if (session->replica[r].applied) continue;
        artel__state_copy(session->replica[r].state, session->replica[from].state, artel__all_of(&session->variables));
        session->replica[r].status = ARTEL_OK;
    }
    return true;
}

/* In a cluster: whether the step failed for nothing that was found here. */
static void judge_failure(artel__session *session, bool faulted)
{
    bool here = false;
    for (int r = 0; r < session->replicas; r++) here = here || session->replica[r].failed_here;
    session->interrupted = session->cluster && !here;
    session->common_fault = faulted || session->replica[0].looked;
}

static artel_status join_status(artel__session *session, artel__mode m, const artel__batch *batch)
{
    artel_status status = ARTEL_OK;
    bool faulted = false, differs = false;
    session->interrupted = session->common_fault = false;
    if (session->cluster && complete_step(session, m)) session->replica[0].failed_here = false;
    for (int r = 0; r < session->replicas; r++) {
        artel_status one = session->replica[r].status;
        faulted = faulted || session->replica[r].faulted;
        differs = differs || (one == ARTEL_ERROR_INVALID && session->replica[r].mode[m].content.differs);
        if (one < 0 && (status == ARTEL_OK || status == ARTEL_ERROR_CANCELLED)) status = one;
    }
    if (status < 0 && session->group) artel__group_reset(session->group);
    describe_nonfinite(session, batch);
    if (faulted) status = report_fault(session, m, batch);
    if (differs) status = artel__content_report(session, m);
    if (status < 0) judge_failure(session, faulted || differs);
    if (faulted || differs || session->interrupted) return status;
    if (status == ARTEL_ERROR_RUN && session->fault[0])
        return artel__fail(session->ctx, ARTEL_ERROR_RUN, "--stop-on-nan",
                           "lower the learning rate, clip gradients, or look at these samples", "%s", session->fault);
    return status;
}

bool artel__session_interrupted(const artel__session *session)
{
    return session->interrupted;
}

bool artel__session_is_common_fault(const artel__session *session)
{
    return session->common_fault;
}

artel_status artel__session_step(artel__session *session, artel__mode mode, const artel__batch *batch)
{
    if (session->replicas == 1) {
        artel__replica_step(&session->replica[0], mode, batch);
        return join_status(session, mode, batch);
    }
    session->current = mode;
    session->batch = batch;
    atomic_store(&session->unfinished, (unsigned)session->replicas - 1);
    atomic_fetch_add(&session->generation, 1);
    wake(session, &session->work);
    artel__replica_step(&session->replica[0], mode, batch);
    await_replicas(session);
    return join_status(session, mode, batch);
}

/* -- results -- */

bool artel__session_took_step(const artel__session *session)
{
    const artel__objective *o = session->mode[ARTEL__MODE_TRAIN].objective;
    return o->gate_kept < 0 ||
           isfinite(*(const double *)artel__execution_read(session->replica[0].mode[ARTEL__MODE_TRAIN].run, o->gate_kept));
}

double artel__session_loss(const artel__session *session, artel__mode m, double *by_output)
{
    return artel__session_replica_loss(session, m, 0, by_output);
}

double artel__session_replica_loss(const artel__session *session, artel__mode m, int index, double *by_output)
{
    const artel__objective *o = session->mode[m].objective;
    const artel__execution *run = session->replica[index].mode[m].run;
    const artel__settings *settings = session->options.settings;
    double total = 0;
    for (int i = 0; i < settings->outputs; i++) {
        double loss = 0;
        if (o->loss_kept[i] >= 0) {
            const double *pair = artel__execution_read(run, o->loss_kept[i]);
            double divisor = o->elements[i] ? (double)session->replica[index].fold.batch * (double)o->elements[i] : 1.0;
            if (o->denominator_kept[i] >= 0) divisor = ((const double *)artel__execution_read(run, o->denominator_kept[i]))[1];
            loss = divisor == 0 ? 0 : pair[0] / divisor;
        }
        if (by_output) by_output[i] = loss;
        total += settings->output[i].loss_weight * loss;
    }
    if (o->extra_kept >= 0) {
        const double *pair = artel__execution_read(run, o->extra_kept);
        total += pair[1] == 0 ? 0 : pair[0] / pair[1];
    }
    if (o->penalty_kept >= 0) total += *(const double *)artel__execution_read(run, o->penalty_kept);
    return total;
}

void artel__session_add_sums(const artel__session *session, artel__mode m, double *sums)
{
    const artel__objective *o = session->mode[m].objective;
    for (int k = 0; k < o->slots; k++) {
        const double *batch = artel__execution_read(session->replica[0].mode[m].run, o->slot[k].kept);
        for (int i = 0; i < o->slot[k].metric->sums; i++) sums[o->slot[k].first + i] += batch[i];
    }
}

void artel__session_predictions(const artel__session *session, int output, float *values)
{
    const artel__objective *o = session->mode[ARTEL__MODE_PREDICT].objective;
    const artel__value *value = &o->graph.value[o->graph.kept[o->prediction_kept[output]]];
    if (session->seat.ranks > 1) { /* every rank has gathered all rows */
        const artel__replica *replica = &session->replica[0];
        artel__convert(value->dtype, replica->mode[ARTEL__MODE_PREDICT].gathered[output], ARTEL_DTYPE_FLOAT32, values,
                       replica->fold.batch * value->storage);
        return;
    }
    for (int r = 0; r < session->replicas; r++) {
        const artel__replica *replica = &session->replica[r];
        const void *rows = artel__execution_read(replica->mode[ARTEL__MODE_PREDICT].run, o->prediction_kept[output]);
        artel__convert(value->dtype, rows, ARTEL_DTYPE_FLOAT32, values + replica->fold.row * value->storage,
                       replica->fold.rows * value->storage);
    }
}

const char *artel__session_take_fault(artel__session *session)
{
    if (session->fault[0] == 0 || session->fault_reported) return "";
    session->fault_reported = true;
    return session->fault;
}

void artel__session_broadcast(artel__session *session)
{
    for (int r = 1; r < session->replicas && !session->common; r++)
        artel__state_copy(session->replica[r].state, session->replica[0].state, artel__all_of(&session->variables));
}

const artel__objective *artel__session_objective(const artel__session *session, artel__mode mode)
{
    return session->mode[mode].objective;
}

const artel__executable *artel__session_plan(const artel__session *session, artel__mode mode)
{
    return session->mode[mode].plan;
}

artel__state *artel__session_state(artel__session *session)
{
    return session->replica[0].state;
}

const artel__optimizer_slots *artel__session_slots(const artel__session *session)
{
    return &session->slots;
}

bool artel__session_is_cache(const artel__session *session)
{
    return session->options.cache;
}

const artel__model *artel__session_network(const artel__session *session)
{
    return session->options.model->nn;
}

const artel__optimizer *artel__session_optimizer(const artel__session *session)
{
    return &session->options.settings->optimizer;
}

void *artel__session_kept(artel__session *session, int n)
{
    return (void *)(uintptr_t)artel__execution_read(session->replica[0].mode[ARTEL__MODE_TRAIN].run, n);
}

void artel__session_stop_when(artel__session *session, const atomic_bool *stop)
{
    for (int r = 0; r < session->replicas; r++) {
        for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
            if (session->replica[r].mode[m].run) artel__execution_stop_when(session->replica[r].mode[m].run, stop);
        }
    }
}

int64_t artel__session_iteration(const artel__session *session)
{
    return session->iteration;
}

const char *artel__session_strategy(const artel__session *session)
{
    return session->strategy.name;
}

int artel__session_replicas(const artel__session *session)
{
    return session->replicas;
}

int artel__session_ranks(const artel__session *session)
{
    return session->ranks;
}

artel_cluster *artel__session_cluster(const artel__session *session)
{
    return session->cluster;
}

int artel__session_threads(const artel__session *session)
{
    return session->strategy.threads;
}

int32_t artel__session_shards(const artel__session *session)
{
    return session->options.shards;
}

void artel__session_explain(const artel__session *session, artel__text *out)
{
    if (session->products.present) artel__text_printf(out, "# arithmetic: %s\n", session->arithmetic);
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
        static const char *const names[] = {"training", "evaluation", "prediction"};
        if (!session->mode[m].plan) continue;
        const artel__objective *o = session->mode[m].objective;
        if (o->recomputes) {
            artel__text_printf(out, "# %s recomputation\n", names[m]);
            artel__recompute_dump(&o->graph, &o->recompute, out);
        }
        artel__text_printf(out, "# %s graph\n", names[m]);
        artel__graph_dump(&o->graph, out);
        artel__text_printf(out, "# %s plan\n", names[m]);
        artel__executable_dump(session->mode[m].plan, out);
    }
}

artel_status artel__session_profile(artel__session *session)
{
    return artel__execution_profile(session->replica[0].mode[ARTEL__MODE_TRAIN].run);
}

const artel__node_time *artel__session_times(const artel__session *session, int64_t *rows)
{
    *rows = session->replica[0].fold.rows;
    return artel__execution_times(session->replica[0].mode[ARTEL__MODE_TRAIN].run);
}

int64_t artel__session_input_time(const artel__session *session, int64_t *begin_ns, bool *ahead)
{
    const artel__replica *replica = &session->replica[0];
    *begin_ns = replica->fetch_begin_ns;
    *ahead = replica->mode[ARTEL__MODE_TRAIN].prefetch != NULL;
    return replica->fetch_ns;
}
