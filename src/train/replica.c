/* SPDX-License-Identifier: Apache-2.0 */
/* One replica of a session: its variables, its threads, and what it does in a step.
 *
 * In a step a replica fetches the rows of its shards, computes (collectives join it with the others), agrees with the
 * others that all went well, and applies. Between these nothing changes, so a failed step leaves every replica where
 * it was.
 */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "train/audit.h"
#include "train/content.h"
#include "train/deal.h"
#include "train/mixed.h"

/* Ownership may change between two steps (artel__session_seat), so nobody keeps what this says. */
static int32_t first_shard(const artel__replica *replica, int after)
{
    return artel__session_first_shard(replica->session, replica->session->first + replica->index + after);
}

artel_status artel__replica_open(artel__session *session, int index)
{
    artel__replica *replica = &session->replica[index];
    replica->session = session;
    replica->index = index;
    replica->start = artel__arena_alloc(&session->arena, (size_t)session->options.shards + 1, sizeof *replica->start);
    if (!replica->start) return ARTEL_ERROR_NO_MEMORY;
    if (session->common && index > 0)
        replica->state = session->replica[0].state;
    else
        ARTEL_TRY(artel__state_create(session->ctx, &session->variables, &replica->state));
    return artel__pool_create(session->ctx, session->strategy.threads_of[index], &replica->pool);
}

void artel__replica_unprepare(artel__replica *replica, artel__mode m)
{
    artel_context *ctx = replica->session->ctx;
    artel__replica_mode *mode = &replica->mode[m];
    artel__execution_destroy(mode->run);
    for (int i = 0; i < mode->buffers; i++) {
        if (mode->bytes[i]) artel__free_aligned(ctx, mode->buffer[i], mode->bytes[i]);
    }
    for (int k = 0; k < mode->most_nexts; k++) {
        for (int i = 0; i < mode->buffers; i++) {
            if (mode->bytes[i]) artel__free_aligned(ctx, mode->next[k].buffer[i], mode->bytes[i]);
        }
    }
    artel__prefetch_destroy(mode->prefetch);
    artel__free_aligned(ctx, mode->parcels.data, mode->parcels.bytes);
    artel__free_aligned(ctx, mode->mixed.image, mode->mixed.image_bytes);
    for (int i = 0; i < mode->gathers; i++) artel__free_aligned(ctx, mode->gathered[i], mode->gathered_bytes[i]);
    artel__arena_fini(&mode->arena);
    *mode = (artel__replica_mode){.run = NULL};
}

void artel__replica_close(artel__replica *replica)
{
    if (!replica->session) return;
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) artel__replica_unprepare(replica, (artel__mode)m);
    artel__pool_destroy(replica->pool);
    if (!replica->session->common || replica->index == 0) artel__state_destroy(replica->state);
}

/* Room for the predictions of all ranks. */
static artel_status prepare_gathers(artel__replica *replica)
{
    artel__session *session = replica->session;
    artel__replica_mode *mode = &replica->mode[ARTEL__MODE_PREDICT];
    const artel__session_mode *shared = &session->mode[ARTEL__MODE_PREDICT];
    const artel__objective *o = shared->objective;
    int outputs = session->options.model->nn->outputs;
    mode->gathered = artel__arena_alloc(&mode->arena, (size_t)outputs + 1, sizeof *mode->gathered);
    mode->gathered_bytes = artel__arena_alloc(&mode->arena, (size_t)outputs + 1, sizeof *mode->gathered_bytes);
    ARTEL_TRY(artel__arena_status(&mode->arena));
    for (int i = 0; i < outputs; i++) {
        const artel__value *value = &o->graph.value[o->graph.kept[o->prediction_kept[i]]];
        mode->gathered_bytes[i] = (size_t)(value->storage * shared->batch_size) * artel_dtype_size(value->dtype) + 64;
        ARTEL_TRY(artel__alloc_aligned(session->ctx, mode->gathered_bytes[i], "predictions", &mode->gathered[i]));
        mode->gathers = i + 1;
    }
    return ARTEL_OK;
}

/* The most rows of this replica in a batch of so many. */
static int64_t rows_of_replica(const artel__replica *replica, int64_t batch_size)
{
    int32_t shards = replica->session->options.shards, own = first_shard(replica, 1) - first_shard(replica, 0);
    return ((int64_t)own * batch_size + shards - 1) / shards;
}

artel_status artel__replica_prepare(artel__replica *replica, artel__mode m)
{
    artel__session *session = replica->session;
    const artel__session_mode *shared = &session->mode[m];
    const artel__graph *graph = &shared->objective->graph;
    artel__replica_mode *mode = &replica->mode[m];
    int64_t rows = rows_of_replica(replica, shared->batch_size);
    artel__arena_init(&mode->arena, session->ctx);
    mode->buffer = artel__arena_alloc(&mode->arena, (size_t)graph->inputs + 1, sizeof *mode->buffer);
    mode->bytes = artel__arena_alloc(&mode->arena, (size_t)graph->inputs + 1, sizeof *mode->bytes);
    if (artel__feed_draws(shared->feed))
        mode->numbers =
            artel__arena_alloc(&mode->arena, (size_t)rows_of_replica(replica, shared->most) + 1, sizeof *mode->numbers);
    ARTEL_TRY(artel__arena_status(&mode->arena));
    bool first = !mode->prefetch; /* of the buckets, if there are some: the others have its reader */
    int own = 0;
    const artel__feed_array *arrays = artel__feed_arrays(shared->feed, &own);
    if (!artel__feed_reads_ahead(shared->feed))
        own = 0;
    else if (first)
        ARTEL_TRY(artel__prefetch_create(session->ctx, shared->feed, rows_of_replica(replica, shared->most),
                                         &mode->prefetch));
    if (session->buckets[m].count) {
        mode->whole = artel__arena_alloc(&mode->arena, (size_t)own + 1, sizeof *mode->whole);
        ARTEL_TRY(artel__arena_status(&mode->arena));
    }
    for (int i = 0; i < graph->inputs; i++) {
        const artel__value *value = &graph->value[graph->input[i]];
        bool cut = session->buckets[m].count && i < own && arrays[i].cut;
        if (i < own && !cut) continue; /* as the reader has it */
        size_t bytes = (size_t)(value->storage * rows) * artel_dtype_size(value->dtype) + 64;
        ARTEL_TRY(artel__alloc_aligned(session->ctx, bytes, "batch", &mode->buffer[i]));
        mode->bytes[i] = bytes;
        mode->buffers = i + 1;
    }
    if (m == ARTEL__MODE_PREDICT && session->seat.ranks > 1) ARTEL_TRY(prepare_gathers(replica));
    artel__execution_options options = {.state = replica->state,
                                        .pool = replica->pool,
                                        .comm =
                                            session->group ? artel__group_comm(session->group, replica->index) : NULL,
                                        .index = replica->index,
                                        .meanwhile = artel__ahead_meanwhile,
                                        .meanwhile_user = replica};
    ARTEL_TRY(artel__execution_create(shared->plan, &options, &mode->run));
    if (session->cluster) artel__execution_stop_when(mode->run, artel__mesh_stop_flag(session->cluster));
    ARTEL_TRY(artel__mixed_prepare(replica, m));
    ARTEL_TRY(artel__ahead_prepare(replica, m, rows));
    if (session->buckets[m].count && !first) return ARTEL_OK;
    ARTEL_TRY(artel__audit_prepare(replica, m));
    return artel__content_prepare(replica, m);
}

const uint64_t *artel__replica_in_pass(const artel__replica_mode *mode, const uint64_t *rows, int64_t count,
                                       int64_t pass)
{
    if (!mode->numbers || pass == 0) return rows;
    for (int64_t i = 0; i < count; i++) mode->numbers[i] = artel__row_in_pass(rows[i], pass);
    return mode->numbers;
}

/* What this replica will want of the next batches. */
static void tell_ahead(const artel__replica *replica, const artel__replica_mode *mode, const artel__batch *batch)
{
    int32_t shards = replica->session->options.shards, first = first_shard(replica, 0), end = first_shard(replica, 1);
    int rank = replica->session->first + replica->index;
    for (int i = 0; i < ARTEL__PREFETCH_AHEAD && batch->ahead[i].count; i++) {
        const artel__batch_rows *ahead = &batch->ahead[i];
        int64_t row = artel__shard_start(ahead->count, shards, first),
                rows = artel__shard_start(ahead->count, shards, end) - row;
        for (int64_t k = 0; k < ahead->moves; k++) rows -= ahead->move[k].to == rank;
        artel__prefetch_tell(mode->prefetch, i, artel__replica_in_pass(mode, ahead->rows + row, rows, ahead->pass),
                             rows);
    }
}

static artel_status fetch_rows(artel__replica *replica, const artel__feed *feed, artel__replica_mode *mode,
                               const artel__batch *batch)
{
    int64_t count = artel__deal_own_rows(replica, batch);
    const uint64_t *rows = artel__replica_in_pass(mode, batch->rows + replica->fold.row, count, batch->pass);
    if (!mode->prefetch) return artel__feed_fetch(feed, replica->pool, rows, count, mode->buffer);
    ARTEL_TRY(
        artel__prefetch_take(mode->prefetch, replica->pool, rows, count, mode->whole ? mode->whole : mode->buffer));
    tell_ahead(replica, mode, batch);
    return ARTEL_OK;
}

static artel_status fetch(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    artel__session *session = replica->session;
    const artel__session_mode *shared = &session->mode[m];
    bool timed = artel__execution_times(replica->mode[m].run) != NULL;
    replica->fetch_begin_ns = timed ? artel__now_ns() : 0;
    int32_t first = first_shard(replica, 0), count = first_shard(replica, 1) - first;
    artel__fold_plan_make(&replica->fold, session->options.shards, first, count, batch->count, replica->start);
    bool sent = artel__ahead_take(replica, m, batch);
    if (!sent || replica->mode[m].prefetch) /* of what was sent the reader is told, too */
        ARTEL_TRY(fetch_rows(replica, shared->feed, &replica->mode[m], batch));
    if (replica->mode[m].whole) artel__replica_cut(replica, m, replica->fold.rows);
    ARTEL_TRY(artel__deal_exchange_rows(replica, m, batch));
    ARTEL_TRY(artel__content_read(replica, m, batch));
    artel__audit_read(replica, m, batch);
    if (shared->weighted && !sent)
        ARTEL_TRY(artel__class_weight_apply(replica, m, replica->mode[m].buffer, batch->rows + replica->fold.row,
                                            replica->fold.rows));
    replica->fetch_ns = timed ? artel__now_ns() - replica->fetch_begin_ns : 0;
    return ARTEL_OK;
}

enum {
    ROW_BITS = 36 /* of a row's number in a float64 beside a node's: 2^53 is exact */
};

#define NOTHING (-1e300)

/* The largest value at every place, over all ranks. */
static artel_status take_largest(const artel__replica *replica, const artel__step *step, int32_t collective,
                                 double value[2])
{
    const artel__session *session = replica->session;
    const artel__comm *comm = artel__group_comm(session->group, replica->index);
    double in[ARTEL__MAX_NODES][2];
    for (int i = 0; i < replica->fold.nodes; i++) memcpy(in[i], value, sizeof in[i]);
    artel__comm_segment segment = {
        .kind = ARTEL__COLLECTIVE_MAX, .dtype = ARTEL_DTYPE_FLOAT64, .count = 2, .in = in, .out = value};
    return comm->ops->all_reduce(comm->self, step, collective, &segment, 1);
}

/* The earliest finding of all ranks: by node, then by row. */
static artel_status share_nonfinite(artel__replica *replica, artel__mode m, const artel__step *step)
{
    const artel__session *session = replica->session;
    const artel__graph *graph = &session->mode[m].objective->graph;
    artel__nonfinite *own = &replica->nonfinite;
    double scale = (double)((int64_t)1 << ROW_BITS);
    if (session->ranks == 1) return ARTEL_OK;
    double key = own->node < 0 ? NOTHING : -((double)own->node * scale + (double)(own->first_row + 1));
    double best[2] = {key, NOTHING}, rest[2] = {NOTHING, NOTHING};
    ARTEL_TRY(take_largest(replica, step, graph->nodes + 1, best));
    if (key == best[0] && own->node >= 0) {
        rest[0] = (double)own->last_row;
        rest[1] = isnan(own->value) ? 0 : own->value > 0 ? 1 : 2;
    }
    ARTEL_TRY(take_largest(replica, step, graph->nodes + 2, rest));
    if (best[0] == NOTHING) return ARTEL_OK;
    double node = (double)(int64_t)(-best[0] / scale);
    const artel__node *found = &graph->node[(int32_t)node];
    *own = (artel__nonfinite){.node = (int32_t)node,
                              .name = found->name,
                              .op = found->op->name,
                              .first_row = (int64_t)(-best[0] - node * scale) - 1,
                              .last_row = (int64_t)rest[0],
                              .value = rest[1] == 0   ? NAN
                                       : rest[1] == 1 ? INFINITY
                                                      : -INFINITY};
    return ARTEL_OK;
}

/* Looks where a loss that is not finite came from. Every replica sees the same loss, so all look or none. */
static artel_status look_for_nonfinite(artel__replica *replica, artel__mode m, const artel__step *step)
{
    artel__session *session = replica->session;
    if (isfinite(artel__session_replica_loss(session, m, replica->index, NULL))) return ARTEL_OK;
    if (session->fault_reported && !session->options.stop_on_nan) return ARTEL_OK;
    replica->looked = true;
    artel__ahead_drop(replica, m); /* computing once more leaves them out */
    artel__execution_find_nonfinite(replica->mode[m].run, step, (const void *const *)replica->mode[m].buffer,
                                    &replica->nonfinite);
    ARTEL_TRY(share_nonfinite(replica, m, step));
    replica->failed_here = session->options.stop_on_nan;
    return session->options.stop_on_nan ? ARTEL_ERROR_RUN : ARTEL_OK;
}

/* In a cluster every task gets the predictions of all. */
static artel_status gather_predictions(artel__replica *replica, const artel__step *step, const artel__comm *comm)
{
    const artel__objective *o = replica->session->mode[ARTEL__MODE_PREDICT].objective;
    artel__replica_mode *mode = &replica->mode[ARTEL__MODE_PREDICT];
    for (int i = 0; i < mode->gathers; i++) {
        const artel__value *value = &o->graph.value[o->graph.kept[o->prediction_kept[i]]];
        artel__comm_segment segment = {.kind = ARTEL__COLLECTIVE_GATHER,
                                       .dtype = value->dtype,
                                       .count = value->storage,
                                       .in = artel__execution_read(mode->run, o->prediction_kept[i]),
                                       .out = mode->gathered[i]};
        ARTEL_TRY(comm->ops->all_reduce(comm->self, step, o->graph.nodes + i, &segment, 1));
    }
    return ARTEL_OK;
}

static void enter(const artel__replica *replica, artel__member_phase phase)
{
    const artel__session *session = replica->session;
    if (session->seat.activity) artel__mesh_enter(&session->seat.activity[replica->index], phase, artel__now_ns());
}

static artel_status compute(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    artel__session *session = replica->session;
    artel__execution *run = replica->mode[m].run;
    artel__step step = {.fold = &replica->fold,
                        .seed = session->options.seed,
                        .batch = batch->ordinal,
                        .iteration = batch->iteration,
                        .learning_rate = batch->learning_rate,
                        .training = m == ARTEL__MODE_TRAIN,
                        .held = session->held};
    ARTEL_TRY(artel__execution_compute(run, &step, (const void *const *)replica->mode[m].buffer));
    ARTEL_TRY(artel__audit_exchange(replica, m, batch, &step));
    replica->faulted = artel__execution_fault(run)->node >= 0;
    const artel__comm *comm = session->group ? artel__group_comm(session->group, replica->index) : NULL;
    replica->failed_here = replica->faulted;
    artel_status status = replica->faulted ? ARTEL_ERROR_INVALID : ARTEL_OK;
    if (comm) {
        artel_status agreed = comm->ops->barrier(comm->self, status == ARTEL_OK);
        if (status == ARTEL_OK) status = agreed;
    }
    if (status < 0) return status;
    status = artel__content_compare(replica, m, batch, &step);
    replica->failed_here = replica->mode[m].content.differs;
    if (status < 0) return status;
    ARTEL_TRY(artel__mixed_share_kept(replica, m, &step));
    if (m == ARTEL__MODE_PREDICT && session->seat.ranks > 1) ARTEL_TRY(gather_predictions(replica, &step, comm));
    if (m == ARTEL__MODE_TRAIN) ARTEL_TRY(look_for_nonfinite(replica, m, &step));
    enter(replica, ARTEL__MEMBER_APPLY);
    if (session->mixed_tasks && m == ARTEL__MODE_TRAIN) {
        ARTEL_TRY(artel__mixed_update(replica, &step));
    } else {
        artel__execution_apply(run, &step);
        replica->applied = true;
    }
    artel__content_apply(replica, m, batch);
    return ARTEL_OK;
}

/* What an exchange fails with when another rank is lost, or has failed. */
static bool is_elsewhere(artel_status status)
{
    return status == ARTEL_ERROR_CANCELLED || status == ARTEL_ERROR_RUN;
}

void artel__replica_step(artel__replica *replica, artel__mode mode, const artel__batch *batch)
{
    replica->faulted = replica->looked = replica->applied = false;
    replica->nonfinite.node = -1;
    enter(replica, ARTEL__MEMBER_COMPUTE);
    replica->computing = mode;
    replica->batch = batch;
    replica->status = batch ? fetch(replica, mode, batch) : artel__deal_exchange_held(replica);
    replica->failed_here = replica->status < 0 && !(replica->session->deal && is_elsewhere(replica->status));
    if (replica->status == ARTEL_OK && batch) {
        replica->status = compute(replica, mode, batch);
        if (replica->status < 0 && !is_elsewhere(replica->status)) replica->failed_here = true;
    }
    if (replica->status < 0 && replica->session->group) artel__group_cancel(replica->session->group);
    if (replica->status < 0) artel__ahead_drop(replica, mode);
    enter(replica, ARTEL__MEMBER_IDLE);
}
