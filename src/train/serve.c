/* SPDX-License-Identifier: Apache-2.0 */
/* The server: answers one call after another, of each peer one at a time. An update is applied whole between two calls, so what a
 * worker reads of a part is always the state after some number of updates; and by its item's number at most once. */
#include <string.h>

#include "train/servers.h"

typedef struct client {
    artel__lane lane;
    artel__lane_slot call;
    uint8_t *values; /* a copy of the variables on its way */
    enum {
        IDLE,
        EXPECTED,
        LEAVING
    } state;
} client;

typedef struct server {
    artel__fit *fit;
    artel__arena arena; /* of the division */
    artel__division division;
    artel__store *store;
    artel__entry *list[3]; /* by artel__part_list */
    int count[3];
    size_t bytes[3];
    int part;
    uint64_t install, base; /* which state; number of its first item */
    int64_t begun;          /* updates it had then */
    uint8_t *applied;       /* a bit an item from `base` on */
    size_t applied_bytes;
    client *client; /* by rank, of this generation */
    artel__net_piece *piece;
    bool ended;
} server;

/* -- the part -- */

static void drop_part(server *s)
{
    artel__store_destroy(s->store);
    s->store = NULL;
    artel__arena_fini(&s->arena);
    artel__free(s->fit->ctx, s->piece);
    artel__free(s->fit->ctx, s->applied);
    s->piece = NULL;
    s->applied = NULL;
    s->applied_bytes = 0;
    s->install = 0;
}

static artel_status list_entries(server *s)
{
    int most = artel__division_most(&s->division);
    void *block;
    for (int l = 0; l < 3; l++) {
        s->list[l] = artel__arena_alloc(&s->arena, (size_t)most, sizeof *s->list[l]);
        if (!s->list[l]) return ARTEL_ERROR_NO_MEMORY;
        s->count[l] = artel__division_list(&s->division, s->part, (artel__part_list)l, s->list[l]);
        s->bytes[l] = artel__entries_bytes(s->list[l], s->count[l]);
    }
    ARTEL_TRY(artel__calloc(s->fit->ctx, (size_t)most, sizeof *s->piece, "parameter server", &block));
    s->piece = block;
    return ARTEL_OK;
}

static artel_status make_part(server *s, const artel__service *service, int part, int parts)
{
    artel__fit *fit = s->fit;
    drop_part(s);
    artel__arena_init(&s->arena, fit->ctx);
    s->part = part;
    ARTEL_TRY(artel__division_make(&s->arena, fit->session, service->partitioner, parts, &s->division));
    ARTEL_TRY(list_entries(s));
    return artel__store_create(fit->ctx, &s->division, &fit->settings, part, artel__session_threads(fit->session), &s->store);
}

static artel_status misfit(const server *s)
{
    return artel__fail(s->fit->ctx, ARTEL_ERROR_INVALID, "parameter servers", "run the same artel, model and options everywhere",
                       "what another task sent does not fit this part of the variables");
}

static void *place_here(void *user, const artel__entry *entry)
{
    return artel__store_locate(user, entry);
}

/* Copies a message into the part. */
static artel_status take(server *s, const artel__lane_slot *call, artel__part_list list)
{
    return artel__entries_take(s->list[list], s->count[list], call, place_here, s->store) ? ARTEL_OK : misfit(s);
}

static void list_pieces(server *s, artel__part_list list)
{
    artel__entries_list(s->list[list], s->count[list], place_here, s->store, s->piece);
}

/* The pieces as they are now. */
static void copy_pieces(server *s, artel__part_list list, uint8_t *copy)
{
    for (int i = 0; i < s->count[list]; i++) {
        artel__net_piece *p = &s->piece[i];
        p->data = memcpy(copy, p->data, p->bytes);
        copy += artel__net_padded(p->bytes);
    }
}

/* -- items -- */

static bool was_applied(const server *s, uint64_t item)
{
    uint64_t bit = item - s->base;
    return bit / 8 < s->applied_bytes && s->applied[bit / 8] >> (bit % 8) & 1;
}

static artel_status mark(server *s, uint64_t item)
{
    uint64_t bit = item - s->base;
    size_t wanted = (size_t)(bit / 8) + 1;
    if (wanted > s->applied_bytes) {
        size_t bytes = 2 * wanted + 1024;
        void *wider = s->applied;
        ARTEL_TRY(artel__realloc(s->fit->ctx, bytes, "parameter server", &wider));
        s->applied = wider;
        memset(s->applied + s->applied_bytes, 0, bytes - s->applied_bytes);
        s->applied_bytes = bytes;
    }
    s->applied[bit / 8] |= (uint8_t)(1u << (bit % 8));
    return ARTEL_OK;
}

/* -- operations -- */

static artel_status answer(client *c, const artel__lane_head *head, const artel__net_piece *piece, int count)
{
    c->state = LEAVING;
    return artel__service_judge(artel__lane_answer(&c->lane, &c->call, head, piece, count));
}

static artel_status answer_values(server *s, client *c, artel__lane_head *head)
{
    void *block;
    head->install = s->install;
    head->position = (uint64_t)artel__store_iteration(s->store);
    if (!c->values) {
        ARTEL_TRY(artel__alloc(s->fit->ctx, s->bytes[ARTEL__PART_VALUES] + 8, "parameter server", &block));
        c->values = block;
    }
    list_pieces(s, ARTEL__PART_VALUES);
    copy_pieces(s, ARTEL__PART_VALUES, c->values);
    return answer(c, head, s->piece, s->count[ARTEL__PART_VALUES]);
}

static artel_status install(server *s, const artel__service *service, client *c, const artel__lane_head *in)
{
    int part = (int)(in->part & 0xffff), parts = (int)(in->part >> 16);
    if (parts < 1 || parts > ARTEL__MOST_SERVERS || part >= parts) return misfit(s);
    ARTEL_TRY(make_part(s, service, part, parts));
    for (int r = 0; r < service->seat.ranks; r++) { /* no worker is answered while the coordinator installs */
        artel__free(s->fit->ctx, s->client[r].values);
        s->client[r].values = NULL;
    }
    ARTEL_TRY(take(s, &c->call, ARTEL__PART_STATE));
    artel__store_set_iteration(s->store, (int64_t)in->a);
    s->install = in->install;
    s->base = in->item;
    s->begun = artel__store_iteration(s->store);
    artel__lane_head out = {.op = in->op, .install = s->install};
    return answer(c, &out, NULL, 0);
}

static artel_status push(server *s, const artel__service *service, client *c, const artel__lane_head *in)
{
    artel__lane_head out = {.op = in->op, .flags = ARTEL__ANSWER_ALREADY, .item = in->item};
    /* Items of an epoch are dealt out when all of those before have been applied. */
    uint64_t most = (uint64_t)(artel__store_iteration(s->store) - s->begun) + (uint64_t)s->fit->steps_per_epoch;
    if (in->item < s->base || in->item - s->base >= most) return misfit(s);
    if (!was_applied(s, in->item)) {
        int64_t now = artel__store_iteration(s->store);
        ARTEL_TRY(take(s, &c->call, ARTEL__PART_UPDATE));
        ARTEL_TRY(mark(s, in->item));
        artel__store_apply(s->store, in->rate, in->flags & ARTEL__FLAG_ASSIGN);
        artel__mesh_stepped(service->cluster, (uint64_t)now + 1, 0); /* for artel status */
        out.flags = ARTEL__ANSWER_OK;
        out.a = (uint64_t)(now - (int64_t)in->position);
    }
    return answer_values(s, c, &out);
}

static artel_status handle(server *s, const artel__service *service, client *c)
{
    artel__lane_head in, out;
    ARTEL_TRY(artel__lane_take(&c->lane, &c->call, &in));
    out = (artel__lane_head){.op = in.op, .install = s->install};
    bool asks_state = in.op == ARTEL__SERVE_FETCH || in.op == ARTEL__SERVE_PULL || in.op == ARTEL__SERVE_PUSH;
    bool right = c->lane.peer == service->chief ? in.op <= ARTEL__SERVE_END : in.op == ARTEL__SERVE_PULL || in.op == ARTEL__SERVE_PUSH;
    if (!right) return misfit(s);
    if (asks_state && (!s->store || in.install != s->install)) {
        out.flags = ARTEL__ANSWER_STALE;
        return answer(c, &out, NULL, 0);
    }
    switch ((artel__serve_op)in.op) {
    case ARTEL__SERVE_INSTALL: return install(s, service, c, &in);
    case ARTEL__SERVE_FETCH:
        out.position = (uint64_t)artel__store_iteration(s->store);
        list_pieces(s, ARTEL__PART_STATE);
        return answer(c, &out, s->piece, s->count[ARTEL__PART_STATE]);
    case ARTEL__SERVE_PULL:
        if ((in.flags & ARTEL__FLAG_WAIT) && (uint64_t)artel__store_iteration(s->store) < in.a) return ARTEL_OK; /* looked at again */
        return answer_values(s, c, &out);
    case ARTEL__SERVE_PUSH: return push(s, service, c, &in);
    case ARTEL__SERVE_END: s->ended = true; return answer(c, &out, NULL, 0);
    default: return answer(c, &out, NULL, 0);
    }
}

/* -- the loop -- */

/* Whether anything was done. */
static artel_status look_at(server *s, const artel__service *service, client *c, size_t most, bool *did)
{
    if (c->state == EXPECTED && artel__slot_arrived(&c->call)) {
        artel_status status = handle(s, service, c);
        if (status != ARTEL_OK) return status;
        *did = *did || c->state != EXPECTED; /* else it waits for another one's update */
    }
    if (c->state == LEAVING && artel__slot_left(&c->call)) {
        *did = true;
        c->state = IDLE;
    }
    if (c->state == IDLE && !s->ended) {
        c->state = EXPECTED;
        ARTEL_TRY(artel__service_judge(artel__lane_expect(&c->lane, &c->call, most)));
    }
    return ARTEL_OK;
}

static artel_status loop(server *s, const artel__service *service)
{
    size_t most = s->fit->model->nn->variables->bytes * (ARTEL__APPLY_SLOTS + 3) + (1 << 20);
    artel_status status = artel__service_move(service);
    while (status == ARTEL_OK) {
        bool did = false, leaving = false;
        for (int r = 0; r < service->seat.ranks && status == ARTEL_OK; r++) {
            bool calls = service->type[r] == ARTEL__TASK_CHIEF || service->type[r] == ARTEL__TASK_WORKER;
            if (calls) status = look_at(s, service, &s->client[r], most, &did);
            leaving = leaving || s->client[r].state == LEAVING;
        }
        if (status == ARTEL_OK && s->ended && !leaving) return ARTEL_OK;
        if (status == ARTEL_OK) status = did ? artel__service_move(service) : artel__service_wait(service);
    }
    return status;
}

artel_status artel__serve(artel__service *service, void *user)
{
    server *s = user;
    void *block;
    int ranks = service->seat.ranks;
    ARTEL_TRY(artel__calloc(s->fit->ctx, (size_t)ranks, sizeof *s->client, "parameter server", &block));
    s->client = block;
    s->ended = false;
    for (int r = 0; r < ranks; r++) s->client[r].lane = artel__service_lane(service, r);
    artel_status status = loop(s, service);
    for (int r = 0; r < ranks; r++) {
        artel__lane_withdraw(&s->client[r].lane, &s->client[r].call);
        artel__slot_fini(s->fit->ctx, &s->client[r].call);
        artel__free(s->fit->ctx, s->client[r].values);
    }
    artel__free(s->fit->ctx, s->client);
    s->client = NULL;
    return status;
}

artel_status artel__server_create(artel__fit *fit, void **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(fit->ctx, 1, sizeof(server), "parameter server", &block));
    server *s = block;
    s->fit = fit;
    artel__arena_init(&s->arena, fit->ctx);
    *out = s;
    return ARTEL_OK;
}

void artel__server_destroy(artel__fit *fit, void *user)
{
    server *s = user;
    if (!s) return;
    drop_part(s);
    artel__free(fit->ctx, s);
}
