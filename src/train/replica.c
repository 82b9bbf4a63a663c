/* SPDX-License-Identifier: Apache-2.0 */
/* One replica of a session: its variables, its threads, and what it does in a step.
 *
 * In a step a replica fetches the rows of its shards, computes (collectives join it with the others), agrees with the
 * others that all went well, and applies. Between these nothing changes, so a failed step leaves every replica where
 * it was.
 */
#include <math.h>
#include <string.h>

#include "train/session_impl.h"

static int32_t first_shard(const artel__session *session, int rank)
{
    return artel__replica_first_shard(session->options.shards, session->replicas, rank);
}

artel_status artel__replica_open(artel__session *session, int rank)
{
    artel__replica *replica = &session->replica[rank];
    int32_t shards = first_shard(session, rank + 1) - first_shard(session, rank);
    replica->session = session;
    replica->rank = rank;
    replica->start = artel__arena_alloc(&session->arena, (size_t)shards + 1, sizeof *replica->start);
    if (!replica->start) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__state_init(session->ctx, &session->variables, &replica->state));
    return artel__pool_create(session->ctx, session->strategy.threads_of[rank], &replica->pool);
}

static void close_mode(artel__replica *replica, artel__replica_mode *mode)
{
    artel_context *ctx = replica->session->ctx;
    artel__run_destroy(mode->run);
    for (int i = 0; i < mode->buffers; i++) {
        if (mode->buffer[i]) artel__free_aligned(ctx, mode->buffer[i], mode->bytes[i]);
    }
    *mode = (artel__replica_mode){.run = NULL};
}

void artel__replica_close(artel__replica *replica)
{
    if (!replica->session) return;
    for (int m = 0; m < ARTEL__MODE_COUNT; m++) close_mode(replica, &replica->mode[m]);
    artel__pool_destroy(replica->pool);
    artel__state_fini(&replica->state);
}

artel_status artel__replica_prepare(artel__replica *replica, artel__mode m)
{
    artel__session *session = replica->session;
    const artel__session_mode *shared = &session->mode[m];
    const artel__graph *graph = &shared->objective->graph;
    artel__replica_mode *mode = &replica->mode[m];
    close_mode(replica, mode);
    int32_t shards = first_shard(session, replica->rank + 1) - first_shard(session, replica->rank);
    int64_t rows = ((int64_t)shards * shared->batch_size + session->options.shards - 1) / session->options.shards;
    mode->buffer = artel__arena_alloc(&session->arena, (size_t)graph->inputs + 1, sizeof *mode->buffer);
    mode->bytes = artel__arena_alloc(&session->arena, (size_t)graph->inputs + 1, sizeof *mode->bytes);
    ARTEL_TRY(artel__arena_status(&session->arena));
    for (int i = 0; i < graph->inputs; i++) {
        const artel__value *value = &graph->value[graph->input[i]];
        mode->bytes[i] = (size_t)(value->storage * rows) * artel_dtype_size(value->dtype) + 64;
        ARTEL_TRY(artel__alloc_aligned(session->ctx, mode->bytes[i], "batch", &mode->buffer[i]));
        mode->buffers = i + 1;
    }
    const artel__comm *comm = session->group ? artel__group_comm(session->group, replica->rank) : NULL;
    return artel__run_create(shared->plan, &replica->state, replica->pool, comm, &mode->run);
}

/* Sample weights from class weights: the weight of the class that the target names. */
static void weigh_classes(const artel__replica *replica, artel__mode m)
{
    const artel__session *session = replica->session;
    const artel__session_mode *shared = &session->mode[m];
    const artel__graph *graph = &shared->objective->graph;
    const artel__value *target = &graph->value[graph->input[shared->target]];
    float *weight = replica->mode[m].buffer[shared->weight];
    for (int64_t r = 0; r < replica->fold.rows; r++) {
        int64_t class = 0;
        if (target->dtype == ARTEL_DTYPE_INT32) {
            class = ((const int32_t *)replica->mode[m].buffer[shared->target])[r * target->storage];
        } else {
            const float *row = (const float *)replica->mode[m].buffer[shared->target] + r * target->storage;
            if (target->storage == 1)
                class = (int64_t)row[0];
            else
                for (int64_t c = 1; c < target->storage; c++) {
                    if (row[c] > row[class]) class = c;
                }
        }
        bool known = class >= 0 && class < session->options.classes;
        weight[r] = known ? (float)session->options.class_weight[class] : 1.0f;
    }
}

static artel_status fetch(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    artel__session *session = replica->session;
    const artel__session_mode *shared = &session->mode[m];
    int32_t first = first_shard(session, replica->rank), count = first_shard(session, replica->rank + 1) - first;
    artel__fold_plan_make(&replica->fold, session->options.shards, first, count, batch->count, replica->start);
    ARTEL_TRY(artel__feed_fetch(shared->feed, batch->rows + replica->fold.row, replica->fold.rows, replica->mode[m].buffer));
    if (shared->weighted) weigh_classes(replica, m);
    return ARTEL_OK;
}

/* Looks where a loss that is not finite came from. Every replica sees the same loss, so all look or none. */
static artel_status look_for_nonfinite(artel__replica *replica, artel__mode m, const artel__step *step)
{
    artel__session *session = replica->session;
    if (isfinite(artel__session_replica_loss(session, m, replica->rank, NULL))) return ARTEL_OK;
    if (session->fault_reported && !session->options.stop_on_nan) return ARTEL_OK;
    artel__run_find_nonfinite(replica->mode[m].run, step, (const void *const *)replica->mode[m].buffer, &replica->nonfinite);
    return session->options.stop_on_nan ? ARTEL_ERROR_RUN : ARTEL_OK;
}

static artel_status compute(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    artel__session *session = replica->session;
    artel__run *run = replica->mode[m].run;
    artel__step step = {.fold = &replica->fold,
                        .seed = session->options.seed,
                        .batch = batch->ordinal,
                        .iteration = batch->iteration,
                        .learning_rate = batch->learning_rate,
                        .training = m == ARTEL__MODE_TRAIN};
    ARTEL_TRY(artel__run_compute(run, &step, (const void *const *)replica->mode[m].buffer));
    replica->faulted = artel__run_fault(run)->node >= 0;
    const artel__comm *comm = session->group ? artel__group_comm(session->group, replica->rank) : NULL;
    artel_status status = replica->faulted ? ARTEL_ERROR_INVALID : ARTEL_OK;
    if (comm) {
        artel_status agreed = comm->ops->barrier(comm->self, status == ARTEL_OK);
        if (status == ARTEL_OK) status = agreed;
    }
    if (status < 0) return status;
    if (m == ARTEL__MODE_TRAIN) ARTEL_TRY(look_for_nonfinite(replica, m, &step));
    artel__run_apply(run, &step);
    return ARTEL_OK;
}

void artel__replica_step(artel__replica *replica, artel__mode mode, const artel__batch *batch)
{
    replica->faulted = false;
    replica->nonfinite.node = -1;
    replica->status = fetch(replica, mode, batch);
    if (replica->status == ARTEL_OK) replica->status = compute(replica, mode, batch);
    if (replica->status < 0 && replica->session->group) artel__group_cancel(replica->session->group);
}
