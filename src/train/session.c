/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: replicas that step together.
 *
 * All replicas execute the same plan on their own variables, which the collectives inside keep bit-equal, or on common
 * ones. This is how a session is made, and made ready for a mode; how it steps is in session_step.c.
 */
#include <string.h>

#include "base/threads.h"
#include "strategy/devices.h"
#include "train/mixed.h"
#include "train/content.h"
#include "train/left.h"

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
    session->slots =
        (artel__optimizer_slots){.scale = -1, .steps = -1, .product = -1, .count = c.count, .trainable = c.index};
    if (session->options.cache)
        return artel__optimizer_declare_scale(&session->options.settings->optimizer, &session->variables,
                                              &session->slots);
    if (c.count == 0)
        artel__log(session->ctx, ARTEL_LOG_WARNING,
                   "the model does not have any trainable weights: training changes nothing but statistics");
    return artel__optimizer_declare(&session->options.settings->optimizer, &session->variables, c.index, c.count,
                                    &session->slots);
}

/* -- devices -- */

/* Also in models within it. */
static bool has_convolutions(const artel__model *nn)
{
    for (int i = 0; i < nn->layers; i++) {
        const artel__layer *layer = nn->layer[i];
        if (strstr(layer->def->class_name, "Conv") || (layer->model && has_convolutions(layer->model))) return true;
    }
    return false;
}

static artel_status open_devices(artel__session *session, const artel__strategy_def *strategy)
{
    artel__session_options *o = &session->options;
    o->device.convolutions = has_convolutions(o->model->nn);
    ARTEL_TRY(artel__strategy_open_devices(session->ctx, strategy, &o->device, o->cluster, &session->devices));
    if (session->devices) session->device = &session->devices->device;
    return ARTEL_OK;
}

/* Of the fast class as many as replicas, unless groups of them have to be parts of a tree. */
static void default_shards(artel__session_options *o, const artel__device_share *share)
{
    int32_t shards = artel__strategy_shards(share), whole = 1;
    while (whole < shards) whole *= 2;
    o->shards = o->batch_groups > 1 ? whole : shards;
}

/* The fast class takes any number, so that other replicas can go on with the shards of a checkpoint; but in groups. */
static artel_status check_shards(artel__session *session)
{
    const artel__session_options *o = &session->options;
    bool any = session->devices && session->devices->place.fast && o->batch_groups <= 1;
    if (o->shards < 1 || o->shards > ARTEL__MAX_SHARDS || (!any && (o->shards & (o->shards - 1))))
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, ".shards", "give 1, 2, 4, 8, ... up to 4096",
                           "%d virtual shards: not a power of two in range", o->shards);
    if (o->batch_groups < 0 || (o->batch_groups > 1 && o->shards % o->batch_groups))
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, ".batch_norm_groups",
                           "give a power of two up to the number of shards",
                           "%d groups do not divide the %d virtual shards of a batch of %lld", o->batch_groups,
                           o->shards, (long long)o->batch_size);
    return ARTEL_OK;
}

static artel_status resolve(artel__session *session)
{
    artel__session_options *o = &session->options;
    const artel__strategy_def *strategy;
    bool single = artel__mesh_is_single(o->cluster);
    if (o->batch_size < 1)
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, ".batch_size", "give a number of at least 1",
                           "the batch size is %lld", (long long)o->batch_size);
    ARTEL_TRY(artel__strategy_by_name(session->ctx, o->strategy, !single, &strategy));
    ARTEL_TRY(open_devices(session, strategy));
    artel__device_share share = {strategy, session->devices, o->replicas, o->shards, o->batch_size, o->cluster};
    if (o->shards == 0 && !single && o->device.mixed)
        o->shards = artel__mixed_shards(o->batch_size, artel_cluster_size(o->cluster));
    if (o->shards == 0) default_shards(o, &share);
    ARTEL_TRY(check_shards(session));
    share.shards = o->shards;
    ARTEL_TRY(artel__strategy_divide(session->ctx, &share, o->threads, o->all_reduce, &session->strategy));
    session->cluster = single || o->alone ? NULL : o->cluster;
    if (session->strategy.note[0] && single) artel__log(session->ctx, ARTEL_LOG_NOTE, "%s", session->strategy.note);
    session->replicas = session->ranks = session->strategy.replicas;
    ARTEL_TRY(artel__mixed_check(session));
    artel__device_sums sums = {session->replicas, !single, session->strategy.all_reduce != NULL};
    if (o->train) ARTEL_TRY(artel__devices_sum(session->devices, &sums));
    session->common = session->strategy.common && single && session->replicas > 1 &&
                      (!session->devices || session->strategy.held_once);
    return ARTEL_OK;
}

static artel_status open_session(artel__session *session)
{
    ARTEL_TRY(resolve(session));
    ARTEL_TRY(artel__session_read_arithmetic(session));
    ARTEL_TRY(copy_variables(session));
    if (session->options.train) ARTEL_TRY(declare_slots(session));
    if (session->replicas > 1 && !session->cluster) {
        ARTEL_TRY(artel__group_create_runs(session->ctx, session->replicas, session->options.shards,
                                           artel__session_runs(session), &session->group));
        ARTEL_TRY(artel__group_choose(session->group, session->strategy.all_reduce, NULL));
    }
    session->replica = artel__arena_alloc(&session->arena, (size_t)session->replicas, sizeof *session->replica);
    if (!session->replica) return ARTEL_ERROR_NO_MEMORY;
    for (int r = 0; r < session->replicas; r++) ARTEL_TRY(artel__replica_open(session, r));
    artel_model *model = session->options.model;
    if (!model->initialised) ARTEL_TRY(artel__session_initialise(session));
    artel__session_copy_drawn(session, session->replica[0].state, model->weights, model->nn->variables->count);
    if (session->options.train && !session->options.cache) ARTEL_TRY(artel__session_take_up(session));
    artel__session_broadcast(session);
    return artel__crew_create(session->ctx, session->replicas, session->strategy.threads <= artel__usable_cores(),
                              &session->crew);
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
    artel_status status = open_session(session);
    if (status < 0) {
        artel__session_destroy(session);
        return status;
    }
    *out = session;
    return ARTEL_OK;
}

/* Of all its buckets. */
static void unprepare(artel__session *session, artel__mode m)
{
    for (int k = 0; k < artel__session_variants(session, m); k++) {
        artel__session_choose(session, m, k);
        for (int r = 0; r < session->replicas; r++) artel__replica_unprepare(&session->replica[r], m);
    }
}

void artel__session_destroy(artel__session *session)
{
    if (!session) return;
    artel_context *ctx = session->ctx;
    artel__crew_destroy(session->crew);
    for (int m = 0; m < ARTEL__MODE_COUNT; m++)
        if (session->buckets[m].count) unprepare(session, (artel__mode)m);
    for (int r = 0; session->replica && r < session->replicas; r++) artel__replica_close(&session->replica[r]);
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) {
        for (int k = 0; k < artel__session_variants(session, (artel__mode)m); k++) {
            const artel__session_mode *mode = artel__session_variant(session, (artel__mode)m, k);
            artel__executable_destroy(mode->plan);
            artel__objective_destroy(mode->objective);
        }
    }
    artel__devices_close(session->devices);
    artel__group_destroy(session->group);
    artel__arena_fini(&session->arena);
    artel__free(ctx, session);
}

void artel__session_release(artel__session *session)
{
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) unprepare(session, (artel__mode)m);
}

/* The graph of a mode, or of one of its buckets. */
static artel_status build(artel__session *session, artel__mode m, const artel__feed *feed, int bucket)
{
    artel__session_mode *mode = &session->mode[m];
    mode->feed = feed;
    mode->weighted = m == ARTEL__MODE_TRAIN && session->options.class_weight;
    if (mode->weighted) ARTEL_TRY(artel__class_weight_find(session, mode));
    artel__executable_destroy(mode->plan);
    artel__objective_destroy(mode->objective);
    mode->plan = NULL;
    mode->objective = NULL;
    artel__objective_request request = {
        .nn = session->options.model->nn,
        .settings = session->options.settings,
        .variables = &session->variables,
        .feed = feed,
        .mode = m,
        .weighted = mode->weighted,
        .slots = &session->slots,
        .recompute = {.rows = mode->batch_size, .extra_time = session->options.recompute},
        .bucket = bucket,
        .batch_size = mode->batch_size,
        .batch_groups = session->options.batch_groups,
        .elsewhere = session->options.elsewhere,
        .whole = session->options.whole,
        .training = session->mode[ARTEL__MODE_TRAIN].objective};
    ARTEL_TRY(artel__objective_create(session->ctx, &request, &mode->objective));
    artel__session_find_products(session, mode->objective);
    return ARTEL_OK;
}

static int64_t rows_of_bucket(const artel__feed *feed, int bucket, int64_t batch_size)
{
    const artel__data_buckets *buckets = artel__feed_buckets(feed);
    int64_t own = buckets->batch_size ? buckets->batch_size[bucket] : batch_size, rows = artel__feed_count(feed);
    return own < rows ? own : rows;
}

static artel_status build_buckets(artel__session *session, artel__mode m, const artel__feed *feed, int64_t batch_size)
{
    const artel__data_buckets *buckets = artel__feed_buckets(feed);
    int64_t most = 0;
    for (int k = 0; k < buckets->count; k++) {
        int64_t own = rows_of_bucket(feed, k, batch_size);
        most = own > most ? own : most;
    }
    for (int k = 0; k < buckets->count; k++) {
        artel__session_choose(session, m, k);
        session->mode[m].batch_size = rows_of_bucket(feed, k, batch_size);
        session->mode[m].most = most;
        ARTEL_TRY(build(session, m, feed, k));
        if (session->mode[m].objective->sums != artel__session_variant(session, m, 0)->objective->sums)
            return artel__fail(session->ctx, ARTEL_ERROR_UNSUPPORTED, "metrics", "leave the metric away",
                               "a metric counts other things in rows of %lld than in rows of %lld",
                               (long long)buckets->length[k], (long long)buckets->length[0]);
    }
    return ARTEL_OK;
}

artel_status artel__session_prepare(artel__session *session, artel__mode m, const artel__feed *feed, int64_t batch_size)
{
    ARTEL_TRY(artel__session_open_buckets(session, m, feed));
    session->mode[m].batch_size = session->mode[m].most = batch_size;
    ARTEL_TRY(session->buckets[m].count ? build_buckets(session, m, feed, batch_size) : build(session, m, feed, -1));
    if (m == ARTEL__MODE_TRAIN) ARTEL_TRY(artel__session_prepare_gradients(session));
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

static artel_status place(artel__session *session, artel__mode m)
{
    artel__session_mode *mode = &session->mode[m];
    artel__plan_options options = {.batch_size = mode->batch_size,
                                   .shards = session->options.shards,
                                   .replicas = session->ranks,
                                   .start = artel__session_runs(session),
                                   .isa = artel__context_isa(session->ctx),
                                   .common = session->common,
                                   .lends =
                                       !session->mixed_tasks && session->group && artel__group_lends(session->group),
                                   .across = session->ranks > session->replicas,
                                   .several = session->buckets[m].count > 1,
                                   .device_sums = m == ARTEL__MODE_TRAIN,
                                   .here = session->replicas,
                                   .staged = session->mixed_tasks};
    artel__executable *plan;
    ARTEL_TRY(artel__compile(session->ctx, session->device, &mode->objective->graph, &options, &plan));
    if (session->buckets[m].count == 0) unprepare(session, m);
    artel__executable_destroy(mode->plan);
    mode->plan = plan;
    for (int r = 0; r < session->replicas; r++) ARTEL_TRY(artel__replica_prepare(&session->replica[r], m));
    return session->common ? join_runs(session, m) : ARTEL_OK;
}

artel_status artel__session_place(artel__session *session, artel__mode m)
{
    if (session->buckets[m].count) unprepare(session, m); /* the buckets read together */
    for (int k = 0; k < artel__session_variants(session, m); k++) {
        artel__session_choose(session, m, k);
        ARTEL_TRY(place(session, m));
    }
    return ARTEL_OK;
}

artel_status artel__session_continue_in(artel__session *session, artel__arithmetic arithmetic)
{
    bool same = artel__session_take_up_arithmetic(session, arithmetic);
    for (int m = 0; m < ARTEL__MODE_COUNT && !same; m++) {
        if (session->mode[m].plan) ARTEL_TRY(artel__session_place(session, (artel__mode)m));
    }
    return ARTEL_OK;
}
