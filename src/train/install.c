/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator's side of the servers: gives them their parts, looks whether they still have them, takes the whole state back. */
#include "train/install.h"

#include <string.h>
#include <sys/random.h>

void artel__installed_fini(artel__installed *c)
{
    for (int i = 0; i < c->servers + c->idle; i++) artel__slot_fini(c->fit->ctx, &c->server[i].call);
    artel__arena_fini(&c->arena);
    c->servers = c->idle = 0;
    c->number = 0;
}

static artel_status make_room(artel__installed *c)
{
    artel__installed_fini(c);
    artel__arena_init(&c->arena, c->fit->ctx);
    c->server = artel__arena_alloc(&c->arena, ARTEL__MOST_SERVERS, sizeof *c->server);
    return artel__arena_status(&c->arena);
}

static artel_status make_division(artel__installed *c, const artel__service *s)
{
    ARTEL_TRY(make_room(c));
    ARTEL_TRY(artel__division_make(&c->arena, c->fit->session, s->partitioner, s->servers, &c->division));
    size_t most = (size_t)artel__division_most(&c->division);
    c->piece = artel__arena_alloc(&c->arena, most, sizeof *c->piece);
    ARTEL_TRY(artel__arena_status(&c->arena));
    for (int i = 0; i < s->servers; i++) {
        artel__installed_part *p = &c->server[i];
        *p = (artel__installed_part){.task = s->task[s->server[i]], .state = artel__arena_alloc(&c->arena, most, sizeof *p->state)};
        if (!p->state) return ARTEL_ERROR_NO_MEMORY;
        p->count = artel__division_list(&c->division, i, ARTEL__PART_STATE, p->state);
        p->bytes = artel__entries_bytes(p->state, p->count);
        p->taken = artel__arena_alloc(&c->arena, p->bytes + 8, 1);
        if (!p->taken) return ARTEL_ERROR_NO_MEMORY;
    }
    c->servers = s->servers;
    return ARTEL_OK;
}

static void *place_here(void *user, const artel__entry *entry)
{
    artel__installed *c = user;
    return artel__division_locate(&c->division, c->fit->session, entry, NULL);
}

/* Calls server i, with its part's state if `data`. */
static artel_status call_server(artel__installed *c, int i, artel__lane_head *head, bool data)
{
    artel__installed_part *p = &c->server[i];
    head->part = (uint32_t)i | (uint32_t)c->servers << 16;
    if (data) artel__entries_list(p->state, p->count, place_here, c, c->piece);
    return artel__service_judge(artel__lane_call(&p->lane, &p->call, head, c->piece, data ? p->count : 0, p->bytes + 8));
}

static artel_status await_server(const artel__service *s, artel__installed_part *p, artel__lane_head *out)
{
    artel_status status = artel__service_move(s);
    while (status == ARTEL_OK && !artel__slot_arrived(&p->call)) status = artel__service_wait(s);
    return status == ARTEL_OK ? artel__lane_take(&p->lane, &p->call, out) : status;
}

typedef artel_status answer_fn(artel__installed *c, artel__installed_part *p, const artel__lane_head *answer);

/* The same call to the first `count` servers, and what is to be done with each answer. */
static artel_status call_all(artel__installed *c, const artel__service *s, int count, const artel__lane_head *head, bool data,
                             answer_fn *take)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < count && status == ARTEL_OK; i++) {
        artel__lane_head mine = *head;
        status = call_server(c, i, &mine, data);
    }
    for (int i = 0; i < count && status == ARTEL_OK; i++) {
        artel__lane_head answer;
        status = await_server(s, &c->server[i], &answer);
        if (status == ARTEL_OK && take) status = take(c, &c->server[i], &answer);
        if (status == ARTEL_OK) status = artel__service_judge(artel__lane_done(&c->server[i].lane, &c->server[i].call));
    }
    for (int i = 0; i < count; i++) artel__lane_withdraw(&c->server[i].lane, &c->server[i].call);
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
    uint8_t *at = p->taken;
    if (answer->flags != ARTEL__ANSWER_OK || !artel__entries_take(p->state, p->count, &p->call, place_aside, &at))
        return artel__fail(c->fit->ctx, ARTEL_ERROR_INVALID, "parameter servers", "run the same artel, model and options everywhere",
                           "what a server sent does not fit its part of the variables");
    if ((int64_t)answer->position != c->fit->iteration)
        return artel__fail(c->fit->ctx, ARTEL_ERROR_INTERNAL, "parameter servers", "please report this",
                           "a server has applied %llu updates, and there were %lld", (unsigned long long)answer->position,
                           (long long)c->fit->iteration);
    return ARTEL_OK;
}

static artel_status see_state(artel__installed *c, artel__installed_part *p, const artel__lane_head *answer)
{
    (void)p;
    if (answer->install != c->number) c->number = 0;
    return ARTEL_OK;
}

/* Whether all that hold parts are in this generation: as which ranks. */
static bool find_servers(artel__installed *c, const artel__service *s)
{
    for (int i = 0; i < c->servers; i++) {
        int rank = -1;
        for (int k = 0; k < s->servers; k++) {
            if (s->task[s->server[k]] == c->server[i].task) rank = s->server[k];
        }
        if (rank < 0) return false;
        c->server[i].lane = artel__service_lane(s, rank);
    }
    return c->servers > 0;
}

/* Servers that came when the parts had been given out: they are told the end, too. */
static void find_idle(artel__installed *c, const artel__service *s)
{
    for (int i = 0; i < c->idle; i++) artel__slot_fini(c->fit->ctx, &c->server[c->servers + i].call);
    c->idle = 0;
    for (int k = 0; k < s->servers; k++) {
        bool has = false;
        for (int i = 0; i < c->servers; i++) has = has || c->server[i].task == s->task[s->server[k]];
        if (!has)
            c->server[c->servers + c->idle++] =
                (artel__installed_part){.task = s->task[s->server[k]], .lane = artel__service_lane(s, s->server[k])};
    }
}

/* What going back costs. */
static void say_cost(const artel__installed *c, const artel__phase_run *phase, const char *why)
{
    int64_t done = phase->open && phase->mode == ARTEL__MODE_TRAIN ? phase->done : 0;
    artel__log(c->fit->ctx, ARTEL_LOG_WARNING, "%s: all go back to step %lld; %lld updates that were applied since are made again", why,
               (long long)(phase->open ? phase->saved.step : c->fit->step), (long long)done);
}

static artel_status tell_placement(artel__installed *c, const artel__service *s)
{
    artel__text text;
    if (c->told_placement) return ARTEL_OK;
    c->told_placement = true;
    for (int i = 0; i < c->servers; i++)
        artel__log(c->fit->ctx, ARTEL_LOG_NOTE, "%s owns %lld bytes of variables", artel__mesh_title(s->cluster, c->server[i].task),
                   (long long)artel__division_bytes(&c->division, i));
    if (!c->fit->options.on_plan) return ARTEL_OK;
    artel__text_init(&text, c->fit->ctx);
    artel__session_explain(c->fit->session, &text);
    artel__text_printf(&text, "# parts\n");
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
        if (getrandom(&number, sizeof number, 0) < 0) return artel__fail_errno(c->fit->ctx, "parameter servers", "take a random number");
    }
    find_servers(c, s);
    artel__phase_go_back(c->fit, phase);
    artel__lane_head head = {
        .op = ARTEL__SERVE_INSTALL, .install = number, .item = (uint64_t)c->fit->step, .a = (uint64_t)c->fit->iteration};
    artel_status status = call_all(c, s, c->servers, &head, true, NULL);
    if (status != ARTEL_OK) return status;
    c->number = number;
    return tell_placement(c, s);
}

/* In a new generation: the parts are there, or are made anew. */
artel_status artel__installed_look_after(artel__installed *c, const artel__service *s, artel__phase_run *phase)
{
    bool had = c->number != 0;
    bool halfway = s->sync && phase->open && phase->mode == ARTEL__MODE_TRAIN; /* parts may be a step apart */
    if (had && !halfway && find_servers(c, s)) {
        artel__lane_head head = {.op = ARTEL__SERVE_ASK};
        artel_status status = call_all(c, s, c->servers, &head, false, see_state);
        if (status != ARTEL_OK) return status;
    } else
        c->number = 0;
    if (c->number) find_idle(c, s);
    if (c->number) return ARTEL_OK;
    if (had) say_cost(c, phase, halfway ? "the members have changed within a step" : "a parameter server is gone or has lost its part");
    return install(c, s, phase);
}

artel_status artel__installed_leave(artel__installed *c, const artel__service *s)
{
    ARTEL_TRY(make_room(c));
    find_idle(c, s);
    return ARTEL_OK;
}

artel_status artel__installed_fetch(artel__installed *c, const artel__service *s)
{
    artel__lane_head head = {.op = ARTEL__SERVE_FETCH, .install = c->number};
    artel_status status = call_all(c, s, c->servers, &head, false, take_state);
    for (int i = 0; i < c->servers && status == ARTEL_OK; i++) {
        const artel__installed_part *p = &c->server[i];
        const uint8_t *from = p->taken;
        for (int k = 0; k < p->count; k++) {
            memcpy(place_here(c, &p->state[k]), from, p->state[k].bytes);
            from += p->state[k].bytes;
        }
    }
    return status;
}

artel_status artel__installed_end(artel__installed *c, const artel__service *s)
{
    artel__lane_head head = {.op = ARTEL__SERVE_END};
    return call_all(c, s, c->servers + c->idle, &head, false, NULL);
}

void artel__installed_init(artel__installed *c, artel__fit *fit)
{
    *c = (artel__installed){.fit = fit};
    artel__arena_init(&c->arena, fit->ctx);
}
