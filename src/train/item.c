/* SPDX-License-Identifier: Apache-2.0 */
/* The worker: asks for items, computes each with the variables it has, and sends the update to all servers. Variables
 * here are a cache, which a new phase begins by pulling. In async and sync the values come with the answer to an
 * update, and the next item is asked for while one is computed, so the coordinator is not waited for. In bounded:S and
 * sync:K (`fresh`) each item pulls the values, one is asked for at a time, and the answer has none. Of tables whose
 * rows travel alone each item begins by finding out which rows it reads (a step in a mode of tokens), and pulls these.
 */
#include <string.h>

#include "base/clock.h"
#include "net/subset.h"
#include "train/row_cache.h"
#include "train/rows.h"
#include "train/servers.h"

typedef struct peer { /* a part; `lane` that to its head */
    artel__lane *lane;
    artel__lane_slot call;
    artel__entry *list[3]; /* by artel__part_list; VALUES and UPDATE only */
    int count[3];
    size_t bytes[3];
    artel__row_list tables;
    uint64_t position; /* of the values here */
} peer;

typedef struct ticket {
    artel__lane_slot call;
    double *values; /* of the result on its way */
} ticket;

typedef struct worker {
    artel__fit *fit;
    artel__arena arena; /* of the division */
    artel__division division;
    artel__row_cache rows;
    artel__net_piece *piece;
    float **difference; /* by piece: of averages */
    peer *server;       /* by number of the part */
    int servers;
    uint64_t install;
    int64_t serial;               /* of the variables */
    artel__mode tokens;           /* of the item in work */
    bool taken;                   /* a part has taken the update of the item in work */
    artel__item of;               /* whose update the session keeps */
    uint64_t computed;            /* in which state; 0: of none */
    artel__lane chief, lane[256]; /* to servers, by rank, of this generation */
    artel__subset subset;         /* the workers, of this generation; sync */
    artel__endpoint *endpoint;
    ticket ticket[ARTEL__MOST_TICKETS];
} worker;

static artel_status no_item(worker *w)
{
    return artel__fail(w->fit->ctx, ARTEL_ERROR_INVALID, "parameter servers",
                       "run the same artel, model and options everywhere", "the coordinator sent what is no item");
}

/* -- the servers of an item -- */

static void drop_division(worker *w)
{
    for (int i = 0; i < w->servers; i++) artel__slot_fini(w->fit->ctx, &w->server[i].call);
    artel__row_cache_drop(&w->rows, w->fit->session);
    artel__arena_fini(&w->arena);
    w->servers = 0;
    w->install = 0;
}

static artel_status list_entries(worker *w, int server)
{
    peer *p = &w->server[server];
    int most = artel__division_most(&w->division);
    *p = (peer){.position = 0};
    for (int l = ARTEL__PART_VALUES; l <= ARTEL__PART_UPDATE; l++) {
        p->list[l] = artel__arena_alloc(&w->arena, (size_t)most, sizeof *p->list[l]);
        if (!p->list[l]) return ARTEL_ERROR_NO_MEMORY;
        p->count[l] = artel__division_list(&w->division, server, (artel__part_list)l, p->list[l]);
        p->bytes[l] = artel__entries_bytes(p->list[l], p->count[l]);
    }
    return artel__row_list_make(&w->arena, &w->division, server, &p->tables);
}

static artel_status make_differences(worker *w)
{
    for (int i = 0; i < w->division.pieces; i++) {
        const artel__piece *p = &w->division.piece[i];
        w->difference[i] = NULL;
        if (p->trainable >= 0) continue;
        w->difference[i] = artel__arena_alloc(&w->arena, (size_t)p->count + 1, sizeof(float));
        if (!w->difference[i]) return ARTEL_ERROR_NO_MEMORY;
    }
    return ARTEL_OK;
}

/* `placed`: the part of each piece, or NULL. */
static artel_status make_division(worker *w, const artel__service *s, const artel__item *item, const uint8_t *placed,
                                  uint64_t install)
{
    drop_division(w);
    artel__arena_init(&w->arena, w->fit->ctx);
    ARTEL_TRY(artel__division_make(&w->arena, w->fit->session, &s->rule, (int)item->servers, &w->division));
    bool fits = !placed || (item->placed == w->division.pieces && artel__division_place(&w->division, placed));
    if (!fits) return no_item(w);
    size_t most = (size_t)artel__division_most(&w->division) + 3 * (size_t)w->division.tables + 1;
    w->piece = artel__arena_alloc(&w->arena, most, sizeof *w->piece);
    w->difference = artel__arena_alloc(&w->arena, (size_t)w->division.pieces + 1, sizeof *w->difference);
    w->server = artel__arena_alloc(&w->arena, (size_t)item->servers, sizeof *w->server);
    ARTEL_TRY(artel__arena_status(&w->arena));
    ARTEL_TRY(make_differences(w));
    if (w->division.tables) ARTEL_TRY(artel__row_cache_make(&w->arena, w->fit->session, &w->rows));
    for (int i = 0; i < (int)item->servers; i++) ARTEL_TRY(list_entries(w, i));
    w->servers = (int)item->servers;
    w->install = install;
    w->serial = -1;
    return ARTEL_OK;
}

/* -- calls to all servers -- */

static void *place_here(void *user, const artel__entry *entry)
{
    worker *w = user;
    return artel__division_locate(&w->division, w->fit->session, entry, w->difference);
}

static artel_status send_call(worker *w, int i, const artel__lane_head *head, artel__part_list list)
{
    peer *p = &w->server[i];
    bool pushes = head->op == ARTEL__SERVE_PUSH, rows = pushes || (head->flags & ARTEL__FLAG_ROWS);
    int count = pushes ? p->count[list] : 0;
    artel__entries_list(p->list[list], count, place_here, w, w->piece);
    if (rows) {
        artel__mode mode = pushes ? ARTEL__MODE_TRAIN : w->tokens;
        artel__row_list_look(&p->tables, &w->division, w->fit->session, mode, pushes);
        count += artel__row_list_write(&p->tables, pushes, w->piece + count);
    }
    size_t most = p->bytes[ARTEL__PART_VALUES] + artel__row_list_answer_bytes(&p->tables) + 8;
    return artel__lane_judge(artel__lane_call(p->lane, &p->call, head, w->piece, count, most));
}

/* Rows of tables, behind the values. */
static bool take_rows(worker *w, peer *p, artel__slot_at *at)
{
    for (int i = 0; i < p->tables.count; i++) {
        const artel__row_piece *t = &p->tables.item[i];
        size_t bytes = (size_t)t->count * (size_t)t->width * sizeof(float);
        const uint8_t *from = t->count ? artel__slot_next(&p->call, at, bytes) : NULL;
        if (t->count && !from) return false;
        if (t->count) memcpy(w->rows.row[t->table] + t->from * t->width, from, bytes);
    }
    return true;
}

static bool take_answer(worker *w, peer *p, unsigned asked)
{
    artel__slot_at at = {0, 0};
    int values = asked & ARTEL__FLAG_ONLY ? 0 : p->count[ARTEL__PART_VALUES];
    if (!artel__entries_take(p->list[ARTEL__PART_VALUES], values, &p->call, &at, place_here, w)) return false;
    return (!(asked & ARTEL__FLAG_ROWS) || take_rows(w, p, &at)) && at.offset == p->call.length;
}

static artel_status take_values(worker *w, peer *p, unsigned asked, double *staleness)
{
    artel__lane_head head;
    ARTEL_TRY(artel__lane_take(p->lane, &p->call, &head));
    if (head.flags == ARTEL__ANSWER_STALE) return ARTEL_AGAIN;
    w->taken = w->taken || head.flags == ARTEL__ANSWER_OK;
    if (!take_answer(w, p, asked))
        return artel__fail(w->fit->ctx, ARTEL_ERROR_INVALID, "parameter servers",
                           "run the same artel, model and options everywhere",
                           "what a server sent does not fit the variables");
    ARTEL_TRY(artel__lane_judge(artel__lane_done(p->lane, &p->call))); /* what was read may turn out to be void */
    if (!(asked & ARTEL__FLAG_ONLY)) p->position = head.position;      /* else of what is oldest here */
    if ((double)head.a > *staleness) *staleness = (double)head.a;
    return ARTEL_OK;
}

/* What server i is asked. In sync all workers have the same gradients: one sends them, the others wait for what comes
 * of them. */
static artel__lane_head head_for(const worker *w, const artel__service *s, int i, const artel__lane_head *all)
{
    artel__lane_head head = *all;
    head.install = w->install;
    head.part = (uint32_t)i;
    head.position = w->server[i].position;
    if (all->op != ARTEL__SERVE_PUSH || !s->sync) return head;
    head.flags = ARTEL__FLAG_ASSIGN;
    if (i % s->workers == s->endpoint->rank) return head;
    return (artel__lane_head){.op = ARTEL__SERVE_PULL,
                              .flags = ARTEL__FLAG_WAIT,
                              .part = (uint32_t)i,
                              .install = w->install,
                              .a = w->server[i].position + 1};
}

/* The same call to each; takes the values of whoever answers first. */
static artel_status exchange(worker *w, const artel__service *s, const artel__lane_head *all, double *staleness)
{
    artel_status status = ARTEL_OK;
    int left = w->servers, slow = 0;
    int64_t since = 0;
    bool taken[ARTEL__MOST_SERVERS] = {false};
    artel__mesh_enter(s->seat.activity, ARTEL__MEMBER_EXCHANGE, artel__now_ns());
    for (int i = 0; i < w->servers && status == ARTEL_OK; i++) {
        artel__lane_head head = head_for(w, s, i, all);
        status = send_call(w, i, &head, ARTEL__PART_UPDATE);
    }
    if (status == ARTEL_OK) status = artel__service_move(s);
    if (all->flags & ARTEL__FLAG_ROWS) artel__row_cache_begin(&w->rows, w->fit->session, w->tokens);
    while (left > 0 && status == ARTEL_OK) {
        int before = left;
        for (int i = 0; i < w->servers && status == ARTEL_OK; i++) {
            if (taken[i] || !artel__slot_arrived(&w->server[i].call)) continue;
            status = take_values(w, &w->server[i], all->flags, staleness);
            taken[i] = true;
            left--;
        }
        while (slow + 1 < w->servers && taken[slow]) slow++;
        if (left > 0 && status == ARTEL_OK && left == before)
            status = artel__service_wait_for(s, w->server[slow].lane->peer, &since);
    }
    for (int i = 0; i < w->servers; i++) artel__lane_withdraw(&w->chief, &w->server[i].call);
    artel__mesh_enter(s->seat.activity, ARTEL__MEMBER_IDLE, artel__now_ns());
    return status;
}

/* All variables, or with tokens nothing but the rows of tables if `only`. */
static artel_status pull(worker *w, const artel__service *s, const artel__item *item, bool rows, bool only)
{
    unsigned flags = (rows ? ARTEL__FLAG_ROWS : 0) | (only ? ARTEL__FLAG_ONLY : 0);
    artel__lane_head head = {.op = ARTEL__SERVE_PULL, .flags = (uint8_t)flags};
    if (item->some) head.b = item->number + 1;
    double staleness = 0;
    return exchange(w, s, &head, &staleness);
}

/* -- an item -- */

static float *average_of(const worker *w, int piece)
{
    const artel__piece *p = &w->division.piece[piece];
    return (float *)artel__state_lend(artel__session_state(w->fit->session), p->variable) + p->first;
}

/* Averages as they were, then what the step has added to them; or, in sync, what they are. */
static void note_averages(worker *w, const artel__service *s, bool after)
{
    for (int i = 0; i < w->division.pieces; i++) {
        float *kept = w->difference[i];
        int64_t count = w->division.piece[i].count;
        if (!kept) continue;
        const float *now = average_of(w, i);
        for (int64_t k = 0; k < count; k++) kept[k] = after && !s->sync ? now[k] - kept[k] : now[k];
    }
}

/* The rows of an item; they stay where they are until the next one. */
static artel_status find_batch(worker *w, const artel__item *item, artel__batch *out)
{
    artel__fit *fit = w->fit;
    bool trains = item->mode == ARTEL__MODE_TRAIN;
    int64_t rows =
        trains ? fit->input.batches.rows : fit->validation.rows; /* and no more at a time than buffers were made for */
    int64_t most = trains ? artel__batch_room(fit->input.train, fit->input.batch_size)
                          : artel__batch_room(fit->validation.feed, artel__fit_validation_batch(fit));
    if (item->cursor < 0 || item->count < 1 || item->count > most || item->count > rows ||
        item->cursor > rows - item->count)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, "parameter servers",
                           "run the same artel, model and options everywhere",
                           "the coordinator deals out rows that there are not");
    const uint64_t *order = fit->validation.order;
    if (trains) {
        artel__batches_restore(&fit->input.batches, item->pass, item->cursor);
        order = artel__batches_next(&fit->input.batches).rows - item->cursor;
    }
    *out = (artel__batch){.rows = order + item->cursor,
                          .count = item->count,
                          .pass = item->mode == ARTEL__MODE_TRAIN ? item->pass : 0,
                          .ordinal = (uint64_t)item->ordinal,
                          .iteration = item->iteration,
                          .learning_rate = item->rate};
    return ARTEL_OK;
}

/* Whether the others would fail of it, too: what is wrong with the data, which all read; and what will not heal, where
 * nobody else computes. */
static bool is_for_all(const artel__service *s, artel_status status)
{
    return status == ARTEL_ERROR_INVALID || (status < 0 && artel_status_exit_code(status) == 1 && s->workers == 1);
}

static artel_status step(worker *w, const artel__service *s, artel__mode mode, const artel__batch *batch)
{
    artel__session *session = w->fit->session;
    artel__mesh_enter(s->seat.activity, ARTEL__MEMBER_COMPUTE, artel__now_ns());
    artel_status status = artel__session_step(session, mode, batch);
    artel__mesh_enter(s->seat.activity, ARTEL__MEMBER_IDLE, artel__now_ns());
    if (status == ARTEL_ERROR_CANCELLED && artel__mesh_stopping(s->cluster)) return ARTEL_AGAIN;
    if (is_for_all(s, status)) artel__service_fail_job(s, status);
    bool elsewhere = artel__session_interrupted(session) || !artel__session_is_common_fault(session);
    return s->sync && elsewhere ? artel__lane_judge(status) : status; /* another worker's, or lost */
}

/* The variables that an item wants. */
static artel_status pull_for(worker *w, const artel__service *s, const artel__item *item, const artel__batch *batch)
{
    bool all = w->serial != item->serial || item->fresh, rows = w->division.tables > 0;
    w->tokens = item->mode == ARTEL__MODE_TRAIN ? ARTEL__MODE_TRAIN_TOKENS : ARTEL__MODE_EVALUATE_TOKENS;
    artel_status status = rows ? step(w, s, w->tokens, batch) : ARTEL_OK;
    if (status == ARTEL_OK && (all || rows)) status = pull(w, s, item, rows, !all);
    if (status == ARTEL_OK) w->serial = item->serial;
    return status;
}

static artel_status compute(worker *w, const artel__service *s, const artel__item *item, const artel__batch *batch)
{
    bool trains = item->mode == ARTEL__MODE_TRAIN;
    if (trains) note_averages(w, s, false);
    artel_status status = step(w, s, (artel__mode)item->mode, batch);
    if (status != ARTEL_OK) return status;
    ARTEL_TRY(artel__state_bring(artel__session_state(w->fit->session))); /* lending cannot fail */
    if (trains) note_averages(w, s, true);
    return artel__fit_report_fault(w->fit);
}

static artel_status make_item(worker *w, const artel__service *s, const artel__item *item)
{
    artel__batch batch;
    w->computed = 0;
    ARTEL_TRY(find_batch(w, item, &batch));
    artel_status status = pull_for(w, s, item, &batch);
    if (status == ARTEL_OK) status = compute(w, s, item, &batch);
    if (status != ARTEL_OK || s->sync || item->mode != ARTEL__MODE_TRAIN) return status;
    w->computed = w->install;
    w->of = *item;
    return status;
}

static bool is_same(const artel__item *a, const artel__item *b)
{
    return a->number == b->number && a->pass == b->pass && a->cursor == b->cursor && a->count == b->count &&
           a->ordinal == b->ordinal;
}

/* An item whose update did not reach all servers, because one was lost, comes back: the update that was made of it is
 * still here. A new one would be made of variables of which some have it already: in async and bounded:S it is where
 * the worker is lost, too. In sync all go back then (install.c); in sync:K servers give the variables as they were
 * before the step, so a share that is made again is the same. */
static artel_status do_item(worker *w, const artel__service *s, const artel__item *item, double *values)
{
    artel__fit *fit = w->fit;
    bool trains = item->mode == ARTEL__MODE_TRAIN;
    values[ARTEL__RESULT_STALENESS] = 0;
    bool again = trains && w->computed == w->install && is_same(&w->of, item);
    artel_status status = again ? ARTEL_OK : make_item(w, s, item);
    if (status != ARTEL_OK) return status;
    artel__tally_read(trains ? &fit->tally : &fit->validation.tally, fit->session, (artel__mode)item->mode,
                      values + ARTEL__RESULT_VALUES);
    artel__mesh_stepped(s->cluster, item->number, 0); /* for artel status */
    if (!trains) return ARTEL_OK;
    artel__lane_head head = {.op = ARTEL__SERVE_PUSH, .item = item->number, .rate = item->rate};
    if (item->fresh) head.flags = ARTEL__FLAG_ONLY; /* the next item pulls what it needs */
    if (item->some) head.a = (uint64_t)item->count | (uint64_t)item->share << 32;
    if (item->some) head.b = (uint64_t)item->some;
    w->taken = false;
    return exchange(w, s, &head, &values[ARTEL__RESULT_STALENESS]);
}

/* -- the loop -- */

static artel_status ask(worker *w, ticket *t, const artel__lane_head *head, size_t bytes)
{
    artel__net_piece piece = {t->values, bytes};
    return artel__lane_judge(
        artel__lane_call(&w->chief, &t->call, head, &piece, bytes > 0, sizeof(artel__item) + ARTEL__MOST_PLACED));
}

/* The answer to a ticket; *ended: there are no more. */
static artel_status await_item(worker *w, const artel__service *s, ticket *t, artel__item *out, bool *ended)
{
    artel__lane_head head;
    artel_status status = artel__service_move(s);
    int64_t since = 0;
    while (status == ARTEL_OK && !artel__slot_arrived(&t->call))
        status = artel__service_wait_for(s, w->chief.peer, &since);
    if (status != ARTEL_OK) return status;
    ARTEL_TRY(artel__lane_take(&w->chief, &t->call, &head));
    *ended = head.flags == ARTEL__ANSWER_END;
    artel__slot_at at = {0, 0};
    const void *sent = *ended ? NULL : artel__slot_next(&t->call, &at, sizeof *out);
    const uint8_t *placed = NULL;
    bool fits = *ended || sent;
    if (sent) memcpy(out, sent, sizeof *out);
    if (sent && out->placed > 0 && out->placed <= ARTEL__MOST_PLACED)
        placed = artel__slot_next(&t->call, &at, (size_t)out->placed);
    fits = fits && (*ended || (at.offset == t->call.length && (out->placed == 0 || placed)));
    fits =
        fits && (*ended ||
                 (out->servers >= 1 && out->servers <= ARTEL__MOST_SERVERS &&
                  (out->mode == ARTEL__MODE_TRAIN || (out->mode == ARTEL__MODE_EVALUATE && w->fit->validation.feed))));
    for (int i = 0; fits && !*ended && i < (int)out->servers; i++)
        fits = out->rank[i] >= 0 && out->rank[i] < s->seat.ranks && s->type[out->rank[i]] == ARTEL__TASK_PS;
    fits = fits && (*ended || head.install != w->install || (int)out->servers == w->servers);
    if (!fits) return no_item(w);
    if (!*ended && head.install != w->install) ARTEL_TRY(make_division(w, s, out, placed, head.install));
    return artel__lane_judge(artel__lane_done(&w->chief, &t->call));
}

/* Ranks of an item's servers are those of the generation. */
static void connect(worker *w, const artel__item *item)
{
    for (int i = 0; i < w->servers; i++) w->server[i].lane = &w->lane[item->rank[i]];
}

static artel_status loop(worker *w, const artel__service *s, int tickets)
{
    for (int i = 0; i < tickets; i++)
        ARTEL_TRY(ask(w, &w->ticket[i], &(artel__lane_head){.op = ARTEL__SERVE_TICKET}, 0));
    for (int i = 0, ended = 0; ended < tickets; i = (i + 1) % tickets) {
        ticket *t = &w->ticket[i];
        artel__item item;
        bool last;
        artel_status status = await_item(w, s, t, &item, &last);
        if (status != ARTEL_OK) return status;
        ended += last;
        if (last) continue; /* so will the others be */
        connect(w, &item);
        status = do_item(w, s, &item, t->values);
        if (status != ARTEL_OK) return status;
        artel__lane_head head = {.op = ARTEL__SERVE_RESULT,
                                 .install = w->install,
                                 .item = item.number,
                                 .position = (uint64_t)item.serial,
                                 .a = (uint64_t)item.mode,
                                 .b = item.some && !w->taken};
        int values = ARTEL__RESULT_VALUES +
                     artel__tally_values(item.mode == ARTEL__MODE_TRAIN ? &w->fit->tally : &w->fit->validation.tally);
        status = ask(w, t, &head, (size_t)values * sizeof(double));
        if (status != ARTEL_OK) return status;
    }
    return ARTEL_OK;
}

/* All workers step together; theirs are the first ranks. */
static artel_status take_seat(worker *w, const artel__service *s)
{
    artel__mesh_seat seat = s->seat;
    int32_t shards = artel__session_shards(w->fit->session);
    if (s->workers > shards)
        return artel__fail(w->fit->ctx, ARTEL_ERROR_INVALID, ".shards",
                           "start fewer workers, or give more shards (a different run: other bits)",
                           "%d workers cannot share %d virtual shards", s->workers, (int)shards);
    artel__subset_init(&w->subset, s->endpoint, s->workers);
    w->endpoint = &w->subset.base;
    seat.ranks = s->workers;
    seat.endpoint = &w->endpoint;
    ARTEL_TRY(artel__session_seat(w->fit->session, &seat));
    artel__session_stop_when(w->fit->session, artel__mesh_stop_flag(s->cluster));
    return ARTEL_OK;
}

artel_status artel__work(artel__service *s, void *user)
{
    worker *w = user;
    w->chief = artel__service_lane(s, s->chief);
    for (int r = 0; r < s->seat.ranks; r++) w->lane[r] = artel__service_lane(s, r);
    w->serial = -1;
    artel_status status = s->sync ? take_seat(w, s) : ARTEL_OK;
    if (status == ARTEL_OK) status = loop(w, s, artel__service_tickets(s));
    if (s->sync) artel__session_unseat(w->fit->session);
    for (int i = 0; i < ARTEL__MOST_TICKETS; i++) artel__lane_withdraw(&w->chief, &w->ticket[i].call);
    return status;
}

artel_status artel__worker_create(artel__fit *fit, void **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(fit->ctx, 1, sizeof(worker), "worker", &block));
    worker *w = block;
    w->fit = fit;
    *out = w;
    artel__arena_init(&w->arena, fit->ctx);
    int train = artel__tally_values(&fit->tally), most = artel__tally_values(&fit->validation.tally);
    if (train > most || !fit->validation.feed) most = train;
    for (int i = 0; i < ARTEL__MOST_TICKETS; i++) {
        ARTEL_TRY(artel__calloc(fit->ctx, (size_t)(most + ARTEL__RESULT_VALUES), sizeof(double), "worker", &block));
        w->ticket[i].values = block;
    }
    return ARTEL_OK;
}

void artel__worker_destroy(artel__fit *fit, void *user)
{
    worker *w = user;
    if (!w) return;
    for (int i = 0; i < ARTEL__MOST_TICKETS; i++) {
        artel__slot_fini(fit->ctx, &w->ticket[i].call);
        artel__free(fit->ctx, w->ticket[i].values);
    }
    drop_division(w);
    artel__free(fit->ctx, w);
}
