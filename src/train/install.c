/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator's side of the servers: gives them their parts, looks whether they still have them, takes the whole
 * state back. */
#include "train/install.h"
#include "train/left.h"

#include <string.h>
#include <sys/random.h>

static void drop_parts(artel__installed *c)
{
    for (int i = 0; i < c->parts; i++) artel__slot_fini(c->fit->ctx, &c->part[i].call);
    artel__slot_fini(c->fit->ctx, &c->call);
    artel__arena_fini(&c->arena);
    c->placed = NULL;
    c->parts = 0;
    c->number = 0;
}

void artel__installed_fini(artel__installed *c)
{
    drop_parts(c);
    artel__free(c->fit->ctx, c->load);
    c->load = NULL;
}

static artel_status make_division(artel__installed *c, const artel__service *s)
{
    drop_parts(c);
    artel__arena_init(&c->arena, c->fit->ctx);
    c->part = artel__arena_alloc(&c->arena, ARTEL__MOST_SERVERS, sizeof *c->part);
    ARTEL_TRY(artel__arena_status(&c->arena));
    ARTEL_TRY(artel__division_make(&c->arena, c->fit->session, &s->rule, s->servers, &c->division));
    ARTEL_TRY(artel__installed_place(c));
    size_t most = (size_t)artel__division_most(&c->division);
    c->piece = artel__arena_alloc(&c->arena, most + 1, sizeof *c->piece);
    c->traffic = artel__arena_alloc(&c->arena, (size_t)c->division.pieces + 1, sizeof *c->traffic);
    ARTEL_TRY(artel__arena_status(&c->arena));
    for (int i = 0; i < s->servers; i++) {
        artel__installed_part *p = &c->part[i];
        *p = (artel__installed_part){.task = s->task[s->server[i]],
                                     .rank = s->server[i],
                                     .state = artel__arena_alloc(&c->arena, most, sizeof *p->state)};
        p->given = artel__arena_alloc(&c->arena, most, sizeof *p->given);
        ARTEL_TRY(artel__arena_status(&c->arena));
        for (int k = 1; k < s->copies && k < s->servers; k++)
            p->copy[p->copies++] = s->task[s->server[(i + k) % s->servers]];
        p->count = artel__division_list(&c->division, i, ARTEL__PART_STATE, p->state);
        p->gives = artel__division_list(&c->division, i, ARTEL__PART_GIVEN, p->given);
        p->bytes = artel__entries_bytes(p->state, p->count);
        p->taken = artel__arena_alloc(&c->arena, p->bytes + 8, 1);
        if (!p->taken) return ARTEL_ERROR_NO_MEMORY;
    }
    c->parts = s->servers;
    return ARTEL_OK;
}

static void *place_here(void *user, const artel__entry *entry)
{
    artel__installed *c = user;
    return artel__division_locate(&c->division, c->fit->session, entry, NULL);
}

/* Calls the server of that rank about part i, with its state if `data`. */
static artel_status call_server(artel__installed *c, int i, int rank, artel__lane_head *head, bool data)
{
    artel__installed_part *p = &c->part[i];
    size_t pieces = (size_t)c->division.pieces;
    int first = data && c->placed;
    head->part = (uint32_t)i | (uint32_t)c->parts << 16;
    if (first) head->flags |= ARTEL__FLAG_PLACED;
    if (first) c->piece[0] = (artel__net_piece){c->placed, pieces};
    if (data) artel__entries_list(p->given, p->gives, place_here, c, c->piece + first);
    return artel__lane_judge(artel__lane_call(&c->lane[rank], &p->call, head, c->piece, data ? first + p->gives : 0,
                                              p->bytes + artel__division_traffic_bytes(&c->division) + 8));
}

static artel_status await_call(const artel__service *s, const artel__lane *lane, artel__lane_slot *call,
                               artel__lane_head *out)
{
    artel_status status = artel__service_move(s);
    int64_t since = 0;
    while (status == ARTEL_OK && !artel__slot_arrived(call)) status = artel__service_wait_for(s, lane->peer, &since);
    return status == ARTEL_OK ? artel__lane_take(lane, call, out) : status;
}

artel_status artel__installed_ask(artel__installed *c, const artel__service *s, int rank, const artel__lane_head *head,
                                  artel__lane_head *answer)
{
    size_t most = ARTEL__MOST_SERVERS * sizeof(artel__held_part);
    artel_status status = artel__lane_judge(artel__lane_call(&c->lane[rank], &c->call, head, NULL, 0, most));
    return status == ARTEL_OK ? await_call(s, &c->lane[rank], &c->call, answer) : status;
}

artel_status artel__installed_done(artel__installed *c, artel_status status, int rank)
{
    if (status == ARTEL_OK) status = artel__lane_judge(artel__lane_done(&c->lane[rank], &c->call));
    artel__lane_withdraw(&c->lane[rank], &c->call);
    return status;
}

typedef artel_status answer_fn(artel__installed *c, artel__installed_part *p, const artel__lane_head *answer);

/* The same call about all parts, to their heads or to who has their copies, and what is to be done with each answer. */
static artel_status call_all(artel__installed *c, const artel__service *s, const int *rank,
                             const artel__lane_head *head, bool data, answer_fn *take)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < c->parts && status == ARTEL_OK; i++) {
        artel__lane_head mine = *head;
        if (rank[i] >= 0) status = call_server(c, i, rank[i], &mine, data);
    }
    for (int i = 0; i < c->parts && status == ARTEL_OK; i++) {
        artel__lane_head answer;
        if (rank[i] < 0) continue;
        status = await_call(s, &c->lane[rank[i]], &c->part[i].call, &answer);
        if (status == ARTEL_OK && take) status = take(c, &c->part[i], &answer);
        if (status == ARTEL_OK) status = artel__lane_judge(artel__lane_done(&c->lane[rank[i]], &c->part[i].call));
    }
    for (int i = 0; i < c->parts; i++) artel__lane_withdraw(&c->lane[0], &c->part[i].call);
    return status;
}

static void *place_aside(void *user, const artel__entry *entry)
{
    uint8_t **at = user, *place = *at;
    *at += entry->bytes;
    return place;
}

static artel_status take_state(artel__installed *c, artel__installed_part *p, const artel__lane_head *answer)
{
    uint8_t *to = p->taken;
    int pieces = c->division.pieces;
    artel__slot_at at = {0, 0};
    bool fits =
        answer->flags == ARTEL__ANSWER_OK && artel__entries_take(p->state, p->count, &p->call, &at, place_aside, &to);
    const uint64_t *traffic =
        fits ? artel__slot_next(&p->call, &at, artel__division_traffic_bytes(&c->division)) : NULL;
    for (int i = 0; traffic && i < pieces; i++) c->traffic[i] += traffic[i];
    if (!traffic || at.offset != p->call.length)
        return artel__fail(c->fit->ctx, ARTEL_ERROR_INVALID, "parameter servers",
                           "run the same artel, model and options everywhere",
                           "what a server sent does not fit its part of the variables");
    int64_t expected = c->fit->at.iteration + *c->division.untaken;
    if ((int64_t)answer->position != expected)
        return artel__fail(c->fit->ctx, ARTEL_ERROR_INTERNAL, "parameter servers", "please report this",
                           "a server has applied %llu updates, and there were %lld",
                           (unsigned long long)answer->position, (long long)expected);
    return ARTEL_OK;
}

/* What going back costs. */
static void say_cost(const artel__installed *c, const artel__phase_run *phase, const char *why)
{
    int64_t done = phase->open && phase->mode == ARTEL__MODE_TRAIN ? phase->done : 0;
    artel__log(c->fit->ctx, ARTEL_LOG_WARNING,
               "%s: all go back to step %lld; %lld updates that were applied since are made again", why,
               (long long)(phase->open ? phase->saved.step : c->fit->at.step), (long long)done);
}

/* .ps_loss "stop": nothing is made again, and the job ends. */
static artel_status refuse_loss(const artel__installed *c, const artel__service *s, const artel__phase_run *phase)
{
    const artel_fit_options *o = &c->fit->options;
    int64_t done = phase->open && phase->mode == ARTEL__MODE_TRAIN ? phase->done : 0;
    artel_status status =
        artel__fail(c->fit->ctx, ARTEL_ERROR_RUN, "parameter servers",
                    o->checkpoint_dir ? "start the job again: it goes on from its newest checkpoint"
                                      : "set .checkpoint_dir, so that a job that is started again goes on",
                    "a parameter server is gone or has lost its part, which no other has: %lld updates since step %lld "
                    "are lost, and .ps_loss is \"stop\"",
                    (long long)done, (long long)(phase->open ? phase->saved.step : c->fit->at.step));
    artel__mesh_fail(s->cluster, true, status);
    return status;
}

static artel_status tell_placement(artel__installed *c, const artel__service *s)
{
    artel__text text;
    if (c->told_placement) return ARTEL_OK;
    c->told_placement = true;
    for (int i = 0; i < c->parts; i++) {
        const artel__installed_part *p = &c->part[i];
        artel__text_init(&text, c->fit->ctx);
        for (int k = 0; k < p->copies; k++)
            artel__text_printf(&text, ", and %s has a copy", artel__mesh_title(s->cluster, p->copy[k]));
        artel_status status = artel__text_status(&text);
        if (status == ARTEL_OK)
            artel__log(c->fit->ctx, ARTEL_LOG_NOTE, "%s owns %lld bytes of variables%s",
                       artel__mesh_title(s->cluster, p->task), (long long)artel__division_bytes(&c->division, i),
                       p->copies ? text.data : "");
        artel__text_fini(&text);
        ARTEL_TRY(status);
    }
    if (!c->fit->options.on_plan) return ARTEL_OK;
    artel__text_init(&text, c->fit->ctx);
    if (!c->explained) artel__session_explain(c->fit->session, &text);
    c->explained = true;
    if (artel__fit_workers_class(c->fit))
        artel__text_printf(&text, "# arithmetic: %s; parts are updated on processors\n",
                           artel__session_arithmetic(c->fit->session));
    artel__text_printf(&text, "# parts, placed by %s%s; the fullest server has %.2f times the mean bytes\n",
                       artel__part_placing_name(s->placing),
                       s->placing != ARTEL__PLACING_TRAFFIC ? ""
                       : c->placed                          ? " that was measured"
                                                            : " once it is measured, until then by bytes",
                       artel__division_skew(&c->division));
    artel__division_dump(&c->division, &text);
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) c->fit->options.on_plan(c->fit->options.event_user, text.data);
    artel__text_fini(&text);
    return status;
}

/* Gives all servers the state that this task took last. */
static artel_status install(artel__installed *c, const artel__service *s, artel__phase_run *phase)
{
    uint64_t number = 0;
    ARTEL_TRY(make_division(c, s));
    while (number == 0) {
        if (getrandom(&number, sizeof number, 0) < 0)
            return artel__fail_errno(c->fit->ctx, "parameter servers", "take a random number");
    }
    artel__phase_go_back(c->fit, phase);
    c->since = c->fit->at.step;
    artel__lane_head head = {.op = ARTEL__SERVE_INSTALL,
                             .install = number,
                             .item = (uint64_t)c->fit->at.step,
                             .a = (uint64_t)c->fit->at.iteration,
                             .b = ++c->epoch};
    if (artel__session_leaves(c->fit->session)) head.flags = ARTEL__FLAG_DRAW;
    int rank[ARTEL__MOST_SERVERS];
    artel_status status = ARTEL_OK;
    for (int k = 0; k < s->copies && k < s->servers && status == ARTEL_OK; k++) { /* heads, then copies */
        for (int i = 0; i < c->parts; i++) rank[i] = s->server[(i + k) % s->servers];
        status = call_all(c, s, rank, &head, true, NULL);
    }
    for (int i = 0; i < c->parts; i++) c->part[i].epoch = c->epoch;
    if (status != ARTEL_OK) return status;
    c->number = number;
    status = artel__installed_assign(c, s);
    if (status != ARTEL_OK) c->number = 0;
    c->moves = c->moves && status != ARTEL_OK;
    return status == ARTEL_OK ? tell_placement(c, s) : status;
}

/* Whether parts of a phase that was broken off cannot go on as they are. In sync they may be a step apart. In async and
 * bounded:S each has other updates than the next one; where a step wants numbers of all parts, one of which waits for
 * updates that no worker is given before the first part answers, nothing would go on: as all items of an epoch reach
 * all parts, that cannot be in a generation that was there from the beginning. In sync:K a step in work is kept. */
static bool is_halfway(const artel__service *s, const artel__phase_run *phase)
{
    bool asks = artel__store_may_ask(artel__session_optimizer(s->fit->session), s->rule.mean);
    bool trains = phase->open && phase->mode == ARTEL__MODE_TRAIN;
    return trains && (s->sync || (asks && s->some == 0));
}

/* In a new generation: the parts are there, or are made anew. */
artel_status artel__installed_look_after(artel__installed *c, const artel__service *s, artel__phase_run *phase)
{
    bool had = c->number != 0;
    bool halfway = is_halfway(s, phase);
    int lost = -1;
    if (had && !halfway && !c->moves) {
        artel_status status = artel__installed_hold(c, s, &lost);
        c->since = c->fit->at.step;
        if (status != ARTEL_OK || lost < 0) return status;
    } else if (had && halfway && s->stops) {
        artel_status status = artel__installed_find(c, s, &lost);
        if (status != ARTEL_OK) return status;
    }
    if (lost >= 0 && s->stops) return refuse_loss(c, s, phase);
    c->number = 0;
    if (had && !c->moves)
        say_cost(c, phase,
                 halfway && s->sync ? "the members have changed within a step"
                 : halfway          ? "the members have changed while gradients of several steps were added up"
                                    : "a parameter server is gone or has lost its part");
    return install(c, s, phase);
}

void artel__installed_enter(artel__installed *c, const artel__service *s)
{
    for (int r = 0; r < s->seat.ranks; r++) c->lane[r] = artel__service_lane(s, r);
}

artel_status artel__installed_fetch(artel__installed *c, const artel__service *s)
{
    artel__lane_head head = {.op = ARTEL__SERVE_FETCH, .install = c->number};
    int rank[ARTEL__MOST_SERVERS];
    for (int i = 0; i < c->parts; i++) rank[i] = c->part[i].rank;
    memset(c->traffic, 0, (size_t)c->division.pieces * sizeof *c->traffic);
    artel_status status = call_all(c, s, rank, &head, false, take_state);
    int64_t untaken = *c->division.untaken;
    for (int i = 0; i < c->parts && status == ARTEL_OK; i++) {
        const artel__installed_part *p = &c->part[i];
        const uint8_t *from = p->taken;
        for (int k = 0; k < p->count; k++) {
            memcpy(place_here(c, &p->state[k]), from, p->state[k].bytes);
            from += p->state[k].bytes;
        }
    }
    c->fit->at.iteration -= *c->division.untaken - untaken; /* which counted them as steps */
    if (status == ARTEL_OK) artel__session_has_all(c->fit->session);
    return status;
}

artel_status artel__installed_end(artel__installed *c, const artel__service *s)
{
    artel__lane_head head = {.op = ARTEL__SERVE_END}, answer;
    artel_status status = ARTEL_OK;
    for (int i = 0; i < s->servers && status == ARTEL_OK; i++)
        status = artel__installed_done(c, artel__installed_ask(c, s, s->server[i], &head, &answer), s->server[i]);
    return status;
}

void artel__installed_init(artel__installed *c, artel__fit *fit)
{
    *c = (artel__installed){.fit = fit};
    artel__arena_init(&c->arena, fit->ctx);
}
