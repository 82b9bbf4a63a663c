/* SPDX-License-Identifier: Apache-2.0 */
/* What deal.h promises, as far as the whole task is concerned: options, who holds what, the dealing of a batch.
 *
 * Held files are told as bits, 48 in a float64, exact in an exchange of maxima. A row goes to the rank with the most
 * room of those that hold its file, the lowest of them; what has no place goes to the lowest rank with room, from the
 * holder that has sent the least.
 */
#include "train/deal.h"

#include <stdio.h>
#include <string.h>

#define OPTION ".auto_shard"

/* -- options -- */

bool artel__deal_is_file(const artel__fit *fit)
{
    return fit->options.auto_shard && strcmp(fit->options.auto_shard, "file") == 0;
}

static artel_status open_mode(artel__fit *fit, artel__mode m, const artel__feed *feed, int64_t batch_size)
{
    artel__deal_mode *mode = &fit->input.deal.mode[m];
    size_t room = (size_t)artel__batch_room(feed, batch_size);
    mode->feed = feed;
    mode->parts = artel__feed_parts(feed);
    for (int i = 0; i <= ARTEL__PREFETCH_AHEAD; i++) {
        mode->rows[i] = artel__arena_alloc(&fit->arena, room, sizeof **mode->rows);
        mode->move[i] = artel__arena_alloc(&fit->arena, room, sizeof **mode->move);
    }
    mode->left = artel__arena_alloc(&fit->arena, room, sizeof *mode->left);
    return artel__arena_status(&fit->arena);
}

artel_status artel__deal_open(artel__fit *fit)
{
    if (!artel__deal_is_file(fit)) return ARTEL_OK;
    if (fit->role != ARTEL__ROLE_NONE)
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, OPTION,
                           "give every task all files, or use the strategy multi-worker",
                           "workers of parameter servers take batches of any rows");
    ARTEL_TRY(open_mode(fit, ARTEL__MODE_TRAIN, fit->input.train, fit->input.batch_size));
    if (fit->validation.feed)
        ARTEL_TRY(open_mode(fit, ARTEL__MODE_EVALUATE, fit->validation.feed, artel__fit_validation_batch(fit)));
    fit->session->deal = &fit->input.deal;
    return ARTEL_OK;
}

void artel__deal_unseat(artel__fit *fit)
{
    fit->input.deal.shared = false;
}

/* -- who holds what -- */

static double *words_at(const artel__deal *deal, artel__mode m, int rank)
{
    return deal->held + (size_t)rank * (size_t)artel__deal_words(deal) +
           (m == ARTEL__MODE_TRAIN ? 0 : artel__deal_words_of(deal, ARTEL__MODE_TRAIN));
}

static bool holds(const artel__deal *deal, artel__mode m, int rank, int part)
{
    return ((uint64_t)words_at(deal, m, rank)[part / ARTEL__DEAL_WORD] >> (part % ARTEL__DEAL_WORD)) & 1;
}

/* Every part must be held by somebody; whether all are by all. */
static artel_status check_cover(artel__fit *fit, artel__mode m)
{
    artel__deal *deal = &fit->input.deal;
    artel__deal_mode *mode = &deal->mode[m];
    int missing = 0, first = 0;
    mode->whole = true;
    for (int p = 0; p < mode->parts; p++) {
        int holders = 0;
        for (int r = 0; r < fit->session->ranks; r++) holders += holds(deal, m, r, p);
        mode->whole = mode->whole && holders == fit->session->ranks;
        if (holders == 0 && artel__feed_part(mode->feed, p).rows > 0 && missing++ == 0) first = p;
    }
    if (missing == 0) return ARTEL_OK;
    fit->session->interrupted = false;
    fit->session->common_fault = true;
    return artel__fail(fit->ctx, ARTEL_ERROR_NOT_FOUND, artel__feed_part(mode->feed, first).name,
                       "start a task where it is; with .checkpoint_dir the run then goes on from its last checkpoint",
                       "no task that takes part holds this file (%d of %d files are missing)", missing, mode->parts);
}

/* One of a task's replicas speaks for all. */
static bool is_repeated(const artel__fit *fit, int rank)
{
    artel_cluster *cluster = artel__session_cluster(fit->session);
    return cluster && rank > 0 && artel__mesh_task_of(cluster, rank) >= 0 &&
           artel__mesh_task_of(cluster, rank - 1) == artel__mesh_task_of(cluster, rank);
}

static void say_rank(artel__fit *fit, artel__mode m, int rank, artel__text *text)
{
    const artel__deal_mode *mode = &fit->input.deal.mode[m];
    artel_cluster *cluster = artel__session_cluster(fit->session);
    int task = cluster ? artel__mesh_task_of(cluster, rank) : -1;
    int64_t rows = 0, files = 0;
    if (is_repeated(fit, rank)) return;
    for (int p = 0; p < mode->parts; p++) {
        if (!holds(&fit->input.deal, m, rank, p)) continue;
        files++;
        rows += artel__feed_part(mode->feed, p).rows;
    }
    artel__text_printf(text, "; %s has %lld files (%lld records)",
                       task < 0 ? "this task" : artel__mesh_title(cluster, task), (long long)files, (long long)rows);
}

static artel_status say_cover(artel__fit *fit, artel__mode m)
{
    const artel__deal_mode *mode = &fit->input.deal.mode[m];
    int64_t rows = 0, once = 0;
    artel__text text;
    if (!fit->writes || mode->parts == 0) return ARTEL_OK;
    artel__text_init(&text, fit->ctx);
    for (int p = 0; p < mode->parts; p++) {
        int holders = 0;
        rows += artel__feed_part(mode->feed, p).rows;
        for (int r = 0; r < fit->session->ranks; r++)
            holders += holds(&fit->input.deal, m, r, p) && !is_repeated(fit, r);
        once += holders == 1;
    }
    artel__text_printf(&text, "%s: %d files with %lld records, each seen once an epoch",
                       m == ARTEL__MODE_TRAIN ? "training" : "validation", mode->parts, (long long)rows);
    if (mode->whole)
        artel__text_append(&text, "; every task has all of them");
    else if (once > 0)
        artel__text_printf(&text, "; %lld files lie with one task alone, and the run ends when that is lost",
                           (long long)once);
    else
        artel__text_append(&text, "; every file lies with two tasks or more");
    if (!mode->whole)
        for (int r = 0; r < fit->session->ranks && r < 64; r++) say_rank(fit, m, r, &text);
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) artel__log(fit->ctx, ARTEL_LOG_NOTE, "%s", text.data);
    artel__text_fini(&text);
    return status;
}

artel_status artel__deal_share(artel__fit *fit)
{
    artel__deal *deal = &fit->input.deal;
    artel__session *session = fit->session;
    void *block = deal->held;
    if (!session->deal || deal->shared) return ARTEL_OK;
    size_t words = (size_t)artel__deal_words(deal);
    ARTEL_TRY(artel__realloc(fit->ctx, (words * (size_t)session->ranks + 1) * sizeof(double), OPTION, &block));
    deal->held = block;
    ARTEL_TRY(artel__session_share(session));
    ARTEL_TRY(check_cover(fit, ARTEL__MODE_TRAIN));
    ARTEL_TRY(check_cover(fit, ARTEL__MODE_EVALUATE));
    ARTEL_TRY(say_cover(fit, ARTEL__MODE_TRAIN));
    ARTEL_TRY(say_cover(fit, ARTEL__MODE_EVALUATE));
    deal->shared = true;
    return ARTEL_OK;
}

/* -- dealing -- */

typedef struct hand {
    int64_t next, end; /* places of the batch */
    int64_t sends;
} hand;

static void deal_to(const artel__session *session, int64_t count, hand *hands)
{
    int32_t shards = session->options.shards;
    for (int r = 0; r < session->ranks; r++) {
        hands[r].next = artel__shard_start(count, shards, artel__replica_first_shard(shards, session->ranks, r));
        hands[r].end = artel__shard_start(count, shards, artel__replica_first_shard(shards, session->ranks, r + 1));
        hands[r].sends = 0;
    }
}

/* The rank with the most room of those that hold the part; -1: none has any. */
static int find_room(const artel__fit *fit, artel__mode m, int part, const hand *hands)
{
    int best = -1;
    for (int r = 0; r < fit->session->ranks; r++) {
        if (hands[r].next == hands[r].end || !holds(&fit->input.deal, m, r, part)) continue;
        if (best < 0 || hands[r].end - hands[r].next > hands[best].end - hands[best].next) best = r;
    }
    return best;
}

static int find_sender(const artel__fit *fit, artel__mode m, int part, const hand *hands)
{
    int best = -1;
    for (int r = 0; r < fit->session->ranks; r++) {
        if (holds(&fit->input.deal, m, r, part) && (best < 0 || hands[r].sends < hands[best].sends)) best = r;
    }
    return best;
}

artel__batch_rows artel__deal_batch(artel__fit *fit, artel__mode m, int place, artel__batch_rows batch)
{
    artel__deal_mode *mode = &fit->input.deal.mode[m];
    hand hands[ARTEL__MAX_SHARDS];
    int64_t left = 0, moves = 0;
    int to = 0;
    if (!fit->session->deal || mode->whole || batch.count == 0) return batch;
    deal_to(fit->session, batch.count, hands);
    for (int64_t i = 0; i < batch.count; i++) {
        int rank = find_room(fit, m, artel__feed_part_of(mode->feed, batch.rows[i]), hands);
        if (rank < 0)
            mode->left[left++] = batch.rows[i];
        else
            mode->rows[place][hands[rank].next++] = batch.rows[i];
    }
    for (int64_t i = 0; i < left; i++) {
        while (hands[to].next == hands[to].end) to++;
        int from = find_sender(fit, m, artel__feed_part_of(mode->feed, mode->left[i]), hands);
        hands[from].sends++;
        mode->move[place][moves++] = (artel__row_move){hands[to].next, from, to};
        mode->rows[place][hands[to].next++] = mode->left[i];
    }
    fit->input.deal.sent += m == ARTEL__MODE_TRAIN && place == 0 ? moves : 0;
    batch.rows = mode->rows[place];
    batch.move = mode->move[place];
    batch.moves = moves;
    return batch;
}
