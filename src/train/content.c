/* SPDX-License-Identifier: Apache-2.0 */
/* What content.h promises. Hashes are added up by virtual shard, which every task cuts a batch into in the same way, so
 * that any two that looked at the rows of a shard have one number to compare: a maximum of it and of its negative, over
 * all ranks, shows whether they agree. Sums are kept below 2^52, exact in the float64 that exchanges carry.
 */
#include "train/content.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "train/options.h"

#define OPTION ".check_data"
#define NOTHING (-1e300)                /* of a shard that a rank does not look at */
#define MASK (((uint64_t)1 << 52) - 1)  /* sums of hashes are exact in a float64 */
#define SMALL_BYTES ((int64_t)64 << 20) /* hashed whole before the first step: some milliseconds */
enum {
    EVERY = 64 /* steps after which tasks compare at the latest */
};

/* -- before the first step -- */

static artel_status hash_whole(const artel__feed *feed, char out[32])
{
    uint64_t hash = 0;
    if (feed) ARTEL_TRY(artel__feed_content(feed, &hash));
    snprintf(out, 32, feed ? "%016llx" : "none", (unsigned long long)hash);
    return ARTEL_OK;
}

static bool is_small(const artel__feed *feed)
{
    int64_t bytes = feed ? artel__feed_content_bytes(feed) : 0;
    return bytes >= 0 && bytes <= SMALL_BYTES;
}

artel_status artel__content_begin(artel__fit *fit, const artel__feed *feed, const artel__feed *validation,
                                  const char *check_data)
{
    static const char *const words[] = {"auto", "start", "reading", "off"};
    artel__fit_content *c = &fit->content;
    bool cluster = artel__session_cluster(fit->session) != NULL,
         saves = fit->options.checkpoint_dir && !fit->options.dry_run;
    size_t word = 0;
    while (check_data && word < ARTEL__COUNT(words) && strcmp(words[word], check_data) != 0) word++;
    if (word == ARTEL__COUNT(words))
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, OPTION, "give auto, start, reading or off",
                           "\"%.60s\" is none of these", check_data);
    c->whole = true;
    int64_t epochs;
    ARTEL_TRY(artel__save_interval(fit->ctx, fit->options.save_every, &c->saving_steps, &epochs));
    if (!saves) c->saving_steps = 0;
    if (word == 3 || (!cluster && !saves) || !artel__feed_has_content(feed)) return ARTEL_OK;
    bool before = word == 1 || (word == 0 && is_small(feed) && is_small(validation));
    c->reads = !before;
    artel__session_read_content(fit->session, c->reads);
    if (!before) return ARTEL_OK;
    ARTEL_TRY(hash_whole(feed, c->data));
    return hash_whole(validation, c->validation);
}

/* -- while it is read -- */

bool artel__content_is_due(const artel__fit *fit, bool last)
{
    int64_t step = fit->at.step + 1, every = fit->content.saving_steps;
    return fit->content.reads && (last || step % EVERY == 0 || (every > 0 && step % every == 0));
}

/* The pass is through: what it read is what the run that a checkpoint was taken of has read. Within one run a caller
 * may change the rows it keeps in memory. */
static artel_status end_pass(artel__fit *fit)
{
    artel__fit_content *c = &fit->content;
    bool compares = c->has_known && c->whole && c->restored, same = c->known == c->sum;
    if (c->whole) c->known = c->sum;
    if (compares) c->restored = false;
    c->has_known = c->has_known || c->whole;
    c->whole = true;
    c->sum = 0;
    if (!compares || same) return ARTEL_OK;
    return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, ".data", "put the data back as it was, or begin anew with .fresh",
                       "the rows of pass %lld are not those that this run was trained on before",
                       (long long)fit->input.batches.pass + 1);
}

artel_status artel__content_stepped(artel__fit *fit)
{
    artel__fit_content *c = &fit->content;
    uint64_t sum;
    if (!c->reads) return ARTEL_OK;
    if (artel__session_content(fit->session, &sum)) {
        c->sum = (c->sum + sum) & MASK;
        c->covered = fit->input.batches.cursor;
    }
    return fit->input.batches.cursor >= fit->input.batches.rows ? end_pass(fit) : ARTEL_OK;
}

void artel__content_begin_pass(artel__fit *fit)
{
    fit->content.covered = 0;
}

/* What tasks had read and not compared when they stopped is lost: this pass cannot be compared with others. */
void artel__content_seated(artel__fit *fit)
{
    if (fit->content.covered != fit->input.batches.cursor) fit->content.whole = false;
    fit->content.covered = fit->input.batches.cursor;
}

json_t *artel__content_save(const artel__fit *fit)
{
    const artel__fit_content *c = &fit->content;
    char sum[24], known[24];
    snprintf(sum, sizeof sum, "%llx", (unsigned long long)c->sum);
    snprintf(known, sizeof known, "%llx", (unsigned long long)c->known);
    return json_pack("{s:s, s:s, s:b, s:b, s:I}", "sum", sum, "known", known, "has_known", c->has_known, "whole",
                     c->whole && c->reads, "covered", (json_int_t)c->covered);
}

static uint64_t number_of(const json_t *saved, const char *key)
{
    unsigned long long number = 0;
    const char *text = json_string_value(json_object_get(saved, key));
    if (text) sscanf(text, "%llx", &number);
    return number & MASK;
}

void artel__content_restore(artel__fit *fit, const json_t *saved)
{
    artel__fit_content *c = &fit->content;
    c->sum = number_of(saved, "sum");
    c->known = number_of(saved, "known");
    c->has_known = json_is_true(json_object_get(saved, "has_known"));
    c->restored = true;
    c->covered = json_integer_value(json_object_get(saved, "covered"));
    c->whole = json_is_true(json_object_get(saved, "whole"));
    if (fit->input.batches.cursor <= 0 ||
        fit->input.batches.cursor >= fit->input.batches.rows) { /* between two passes */
        c->whole = true;
        c->covered = fit->input.batches.cursor;
        c->sum = 0;
    }
    artel__content_seated(fit);
}

/* -- of one replica -- */

typedef struct run_of_shards {
    int32_t first, end;
} run_of_shards;

static run_of_shards shards_of(const artel__session *session, int rank)
{
    return (run_of_shards){artel__session_first_shard(session, rank), artel__session_first_shard(session, rank + 1)};
}

/* The shards that a replica hashes: [0] its own, [1] those of a replica of the next task, none of which is its own. */
static void looked_after(const artel__replica *replica, run_of_shards out[2])
{
    const artel__session *session = replica->session;
    int rank = session->first + replica->index;
    out[0] = shards_of(session, rank);
    out[1] = (run_of_shards){0, 0};
    if (session->ranks > session->replicas) out[1] = shards_of(session, (rank + session->replicas) % session->ranks);
}

artel_status artel__content_prepare(artel__replica *replica, artel__mode m)
{
    const artel__session *session = replica->session;
    artel__replica_mode *mode = &replica->mode[m];
    size_t shards = (size_t)session->options.shards, blocks = session->cluster ? ARTEL__MAX_NODES : 0;
    if (!session->reads_content) return ARTEL_OK;
    mode->content.sum = artel__arena_alloc(&mode->arena, shards, sizeof *mode->content.sum);
    mode->content.step = artel__arena_alloc(&mode->arena, shards, sizeof *mode->content.step);
    mode->content.give = artel__arena_alloc(&mode->arena, 2 * shards * blocks + 1, sizeof *mode->content.give);
    mode->content.take = artel__arena_alloc(&mode->arena, 2 * shards, sizeof *mode->content.take);
    return artel__arena_status(&mode->arena);
}

artel_status artel__content_read(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    const artel__session *session = replica->session;
    artel__replica_content *content = &replica->mode[m].content;
    int32_t shards = session->options.shards;
    run_of_shards run[2];
    if (!session->reads_content || !content->sum) return ARTEL_OK;
    content->differs = content->compared = false;
    content->total = 0;
    looked_after(replica, run);
    for (int k = 0; k < 2; k++) {
        for (int32_t v = run[k].first; v < run[k].end; v++) {
            int64_t begin = artel__shard_start(batch->count, shards, v),
                    end = artel__shard_start(batch->count, shards, v + 1);
            content->step[v] = 0;
            ARTEL_TRY(
                artel__feed_hash_rows(session->mode[m].feed, batch->rows + begin, end - begin, &content->step[v]));
            if (k == 0) content->total += content->step[v];
        }
    }
    return ARTEL_OK;
}

/* A session whose replicas are all there are: nobody looks at another task's rows. */
static bool is_alone(const artel__session *session)
{
    return !session->cluster || session->ranks == session->replicas;
}

artel_status artel__content_compare(artel__replica *replica, artel__mode m, const artel__batch *batch,
                                    const artel__step *step)
{
    const artel__session *session = replica->session;
    artel__replica_mode *mode = &replica->mode[m];
    artel__replica_content *content = &mode->content;
    int32_t shards = session->options.shards;
    size_t count = 2 * (size_t)shards;
    run_of_shards run[2];
    if (!batch->compares || is_alone(session) || !session->reads_content || !content->sum) return ARTEL_OK;
    for (size_t i = 0; i < count; i++) content->give[i] = NOTHING;
    looked_after(replica, run);
    for (int k = 0; k < 2; k++) {
        for (int32_t v = run[k].first; v < run[k].end; v++) {
            content->give[v] = (double)((content->sum[v] + content->step[v]) & MASK);
            content->give[shards + v] = -content->give[v];
        }
    }
    for (int i = 1; i < replica->fold.nodes; i++)
        memcpy(content->give + (size_t)i * count, content->give, count * sizeof(double));
    const artel__comm *comm = artel__group_comm(session->group, replica->index);
    artel__comm_segment segment = {.kind = ARTEL__COLLECTIVE_MAX,
                                   .dtype = ARTEL_DTYPE_FLOAT64,
                                   .count = (int64_t)count,
                                   .in = content->give,
                                   .out = content->take};
    const artel__graph *graph = &session->mode[m].objective->graph;
    ARTEL_TRY(comm->ops->all_reduce(comm->self, step, graph->nodes + 3 + mode->gathers, &segment, 1));
    content->compared = true;
    content->total = 0;
    for (int32_t v = 0; v < shards; v++)
        if (content->take[v] != NOTHING) content->total += (uint64_t)content->take[v];
    for (int32_t v = shards - 1; v >= 0; v--) {
        if (content->take[v] == NOTHING || content->take[v] == -content->take[shards + v]) continue;
        content->differs = true;
        content->shard = v;
    }
    return content->differs ? ARTEL_ERROR_INVALID : ARTEL_OK;
}

void artel__content_apply(artel__replica *replica, artel__mode m, const artel__batch *batch)
{
    const artel__session *session = replica->session;
    artel__replica_content *content = &replica->mode[m].content;
    int32_t shards = session->options.shards;
    run_of_shards run[2];
    (void)batch;
    if (!session->reads_content || !content->sum) return;
    looked_after(replica, run);
    if (content->compared) {
        memset(content->sum, 0, (size_t)shards * sizeof *content->sum);
        return;
    }
    for (int k = 0; k < 2; k++)
        for (int32_t v = run[k].first; v < run[k].end; v++) content->sum[v] += content->step[v];
}

/* -- of the session -- */

void artel__session_read_content(artel__session *session, bool reads)
{
    session->reads_content = reads;
}

bool artel__session_content(const artel__session *session, uint64_t *sum)
{
    const artel__replica_content *first = &session->replica[0].mode[ARTEL__MODE_TRAIN].content;
    *sum = 0;
    if (!is_alone(session)) {
        *sum = first->total;
        return first->compared;
    }
    for (int r = 0; r < session->replicas; r++) *sum += session->replica[r].mode[ARTEL__MODE_TRAIN].content.total;
    return true;
}

/* The task of a rank; *replicas: how many ranks are its own. */
static int task_of(const artel__session *session, int rank, int *replicas)
{
    int task = artel__mesh_task_of(session->cluster, rank);
    *replicas = 0;
    for (int r = 0; r < session->ranks; r++) *replicas += artel__mesh_task_of(session->cluster, r) == task;
    return task;
}

/* A task that looks after the shards of `rank`, which are another's; -1: none. */
static int checker_of(const artel__session *session, int rank)
{
    int replicas, owner = task_of(session, rank, &replicas);
    for (int r = 0; r < session->ranks; r++) {
        int task = task_of(session, r, &replicas);
        if (task != owner && (r + replicas) % session->ranks == rank) return task;
    }
    return -1;
}

static const char *title_of(const artel__session *session, int task)
{
    return task >= 0 ? artel__mesh_title(session->cluster, task) : "another task";
}

artel_status artel__content_report(artel__session *session, artel__mode m)
{
    const artel__replica_content *content = &session->replica[0].mode[m].content;
    int rank = 0, replicas;
    while (shards_of(session, rank).end <= content->shard) rank++;
    int owner = task_of(session, rank, &replicas), checker = checker_of(session, rank);
    return artel__fail(session->ctx, ARTEL_ERROR_INVALID, m == ARTEL__MODE_TRAIN ? ".data" : "data of the evaluation",
                       "give every task the same files; " OPTION " start compares all of them before the first step",
                       "the data of %s is not that of %s: rows that both have read differ", title_of(session, owner),
                       title_of(session, checker));
}
