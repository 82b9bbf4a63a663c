/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing, as far as one replica is concerned: what it holds, told to all ranks; the rows of a batch that lie on
 * another machine than they are computed on.
 *
 * Both sides of a parcel know from the batch which rows it has. In it the arrays stand one behind another, each
 * beginning at a multiple of 64 bytes.
 */
#include <string.h>

#include "train/deal.h"

enum {
    ALIGN = 64
};

/* What this task holds. */
static void own_words(const artel__deal *deal, double *out)
{
    static const artel__mode modes[] = {ARTEL__MODE_TRAIN, ARTEL__MODE_EVALUATE};
    for (size_t k = 0; k < ARTEL__COUNT(modes); k++) {
        const artel__deal_mode *mode = &deal->mode[modes[k]];
        for (int first = 0; first < mode->parts; first += ARTEL__DEAL_WORD) {
            uint64_t bits = 0;
            for (int i = first; i < mode->parts && i < first + ARTEL__DEAL_WORD; i++)
                bits |= (uint64_t)artel__feed_part(mode->feed, i).here << (i - first);
            *out++ = (double)bits;
        }
    }
}

artel_status artel__deal_exchange_held(artel__replica *replica)
{
    artel__session *session = replica->session;
    int32_t shards = session->options.shards, rank = session->first + replica->index;
    int32_t first = artel__replica_first_shard(shards, session->ranks, rank);
    size_t words = (size_t)artel__deal_words(session->deal), count = words * (size_t)session->ranks;
    const artel__comm *comm = session->group ? artel__group_comm(session->group, replica->index) : NULL;
    void *block;
    artel__fold_plan_make(&replica->fold, shards, first,
                          artel__replica_first_shard(shards, session->ranks, rank + 1) - first, shards, replica->start);
    ARTEL_TRY(artel__calloc(session->ctx, count * (size_t)(replica->fold.nodes + 1) + 1, sizeof(double), "files held",
                            &block));
    double *give = block, *take = give + count * (size_t)replica->fold.nodes;
    for (size_t i = 0; i < count; i++) give[i] = -1;
    own_words(session->deal, give + words * (size_t)rank);
    for (int i = 1; i < replica->fold.nodes; i++) memcpy(give + (size_t)i * count, give, count * sizeof(double));
    memcpy(take, give, count * sizeof(double));
    artel__step step = {.fold = &replica->fold};
    artel__comm_segment segment = {
        .kind = ARTEL__COLLECTIVE_MAX, .dtype = ARTEL_DTYPE_FLOAT64, .count = (int64_t)count, .in = give, .out = take};
    artel_status status = comm ? comm->ops->all_reduce(comm->self, &step, 0, &segment, 1) : ARTEL_OK;
    if (status == ARTEL_OK && replica->index == 0) memcpy(session->deal->held, take, count * sizeof(double));
    artel__free(session->ctx, block);
    return status;
}

int64_t artel__deal_own_rows(const artel__replica *replica, const artel__batch *batch)
{
    int rank = replica->session->first + replica->index;
    int64_t rows = replica->fold.rows;
    for (int64_t i = 0; i < batch->moves; i++) rows -= batch->move[i].to == rank;
    return rows;
}

/* -- parcels -- */

typedef struct packing {
    artel__replica *replica;
    artel__replica_mode *mode;
    const artel__feed *feed;
    const artel__feed_array *array;
    int arrays, rank;
    const artel__batch *batch;
} packing;

static int64_t rows_between(const artel__batch *batch, int from, int to)
{
    int64_t rows = 0;
    for (int64_t i = 0; i < batch->moves; i++) rows += batch->move[i].from == from && batch->move[i].to == to;
    return rows;
}

static size_t array_bytes(const packing *p, int i, int64_t rows)
{
    return ((size_t)rows * p->array[i].row_bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t parcel_bytes(const packing *p, int64_t rows)
{
    size_t bytes = 0;
    for (int i = 0; i < p->arrays; i++) bytes += array_bytes(p, i, rows);
    return bytes;
}

/* Room for all parcels, for their list, for the numbers and places of one. */
static artel_status make_room(const packing *p, int *parcels, int64_t *most)
{
    artel__session *session = p->replica->session;
    artel__replica_parcels *kept = &p->mode->parcels;
    size_t bytes = 0;
    *parcels = 0;
    *most = 0;
    for (int peer = 0; peer < session->ranks; peer++) {
        int64_t rows[2] = {rows_between(p->batch, p->rank, peer), rows_between(p->batch, peer, p->rank)};
        for (int k = 0; k < 2; k++) {
            *parcels += rows[k] > 0;
            bytes += parcel_bytes(p, rows[k]);
            *most = rows[k] > *most ? rows[k] : *most;
        }
    }
    if (bytes > kept->bytes) {
        artel__free_aligned(session->ctx, kept->data, kept->bytes);
        kept->data = NULL;
        kept->bytes = 0;
        ARTEL_TRY(artel__alloc_aligned(session->ctx, bytes, "rows of other tasks", &kept->data));
        kept->bytes = bytes;
    }
    return ARTEL_OK;
}

/* The rows that a peer lacks, read here. */
static artel_status fill(const packing *p, int peer, uint8_t *data, int64_t rows, void *scratch)
{
    uint64_t *numbers = scratch;
    void **places = (void **)(numbers + rows);
    int64_t count = 0;
    for (int64_t i = 0; i < p->batch->moves; i++) {
        const artel__row_move *move = &p->batch->move[i];
        if (move->from == p->rank && move->to == peer) numbers[count++] = p->batch->rows[move->at];
    }
    for (int i = 0; i < p->arrays; i++) {
        places[i] = data;
        data += array_bytes(p, i, rows);
    }
    return artel__feed_fetch(p->feed, p->replica->pool, numbers, count, places);
}

/* Those of a peer to their places in the batch. */
static void unpack(const packing *p, int peer, const uint8_t *data, int64_t rows)
{
    for (int i = 0; i < p->arrays; i++) {
        size_t bytes = p->array[i].row_bytes;
        int64_t taken = 0;
        for (int64_t k = 0; k < p->batch->moves; k++) {
            const artel__row_move *move = &p->batch->move[k];
            if (move->from != peer || move->to != p->rank) continue;
            memcpy((uint8_t *)p->mode->buffer[i] + (size_t)(move->at - p->replica->fold.row) * bytes,
                   data + (size_t)taken++ * bytes, bytes);
        }
        data += array_bytes(p, i, rows);
    }
}

static artel_status list(const packing *p, artel__comm_parcel *parcel, void *scratch)
{
    uint8_t *at = p->mode->parcels.data;
    for (int peer = 0; peer < p->replica->session->ranks; peer++) {
        int64_t sends = rows_between(p->batch, p->rank, peer), takes = rows_between(p->batch, peer, p->rank);
        if (sends > 0) {
            ARTEL_TRY(fill(p, peer, at, sends, scratch));
            *parcel++ = (artel__comm_parcel){peer, true, at, parcel_bytes(p, sends)};
            at += parcel_bytes(p, sends);
        }
        if (takes > 0) {
            *parcel++ = (artel__comm_parcel){peer, false, at, parcel_bytes(p, takes)};
            at += parcel_bytes(p, takes);
        }
    }
    return ARTEL_OK;
}

artel_status artel__deal_exchange_rows(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    artel__session *session = replica->session;
    artel__replica_mode *mode = &replica->mode[m];
    packing p = {.replica = replica,
                 .mode = mode,
                 .feed = session->mode[m].feed,
                 .rank = session->first + replica->index,
                 .batch = batch};
    int parcels;
    int64_t most;
    void *block;
    p.array = artel__feed_arrays(p.feed, &p.arrays);
    if (batch->moves == 0) return ARTEL_OK;
    ARTEL_TRY(make_room(&p, &parcels, &most));
    if (parcels == 0) return ARTEL_OK;
    size_t scratch = (size_t)most * sizeof(uint64_t) + (size_t)p.arrays * sizeof(void *),
           listed = (size_t)parcels * sizeof(artel__comm_parcel);
    ARTEL_TRY(artel__alloc(session->ctx, listed + scratch, "rows of other tasks", &block));
    artel__comm_parcel *parcel = block;
    artel_status status = list(&p, parcel, parcel + parcels);
    const artel__comm *comm = artel__group_comm(session->group, replica->index);
    artel__step step = {.fold = &replica->fold, .batch = batch->ordinal};
    int32_t collective = session->mode[m].objective->graph.nodes + 5 + mode->gathers;
    if (status == ARTEL_OK) status = comm->ops->exchange(comm->self, &step, collective, parcel, parcels);
    for (int i = 0; status == ARTEL_OK && i < parcels; i++) {
        if (!parcel[i].sends) unpack(&p, parcel[i].peer, parcel[i].data, rows_between(batch, parcel[i].peer, p.rank));
    }
    artel__free(session->ctx, block);
    return status;
}
