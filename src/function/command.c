/* SPDX-License-Identifier: Apache-2.0 */
/* What the coordinator asks of servers, one call at a time: of itself, and for its caller, who waits for it.
 *
 * A caller may cease to wait at any moment (artel_context_cancel) and then be about something else, so what is shared
 * with it is touched with the mutex held, and only while it waits for this very command. */
#include <string.h>

#include "function/driver.h"

artel_status artel__driver_ask(artel__driver *d, int rank, const artel__lane_head *head, const artel__net_piece *piece,
                               artel__lane_head *answer)
{
    const artel__closure_job *j = d->j;
    artel__lane *lane = &d->client[rank].lane;
    artel__lane_head mine = *head;
    if (mine.op != ARTEL__CLOSURE_ASK) mine.install = d->c->session;
    artel_status status = artel__lane_judge(artel__lane_call(lane, &d->call, &mine, piece, piece != NULL, d->most));
    if (status == ARTEL_OK) status = artel__closure_move(j);
    while (status == ARTEL_OK && !artel__slot_arrived(&d->call)) status = artel__closure_wait(j);
    if (status != ARTEL_OK) return status;
    if (artel__lane_take(lane, &d->call, answer) < 0) return artel__driver_misfit(d, "a server");
    if (answer->flags == ARTEL__CLOSURE_STALE)
        return artel__driver_fatal(d->c, ARTEL_ERROR_RUN, "another chief has taken the ps tasks over: this one ends");
    if (answer->flags != ARTEL__CLOSURE_OK) return artel__driver_misfit(d, "a server");
    return ARTEL_OK;
}

artel_status artel__driver_asked(artel__driver *d, int rank, artel_status status)
{
    artel__lane *lane = &d->client[rank].lane;
    if (status == ARTEL_OK) status = artel__lane_judge(artel__lane_done(lane, &d->call));
    artel__lane_withdraw(lane, &d->call);
    return status;
}

/* -- commands -- */

/* Whether the caller waits for this still; with the mutex held. */
static bool waits_for(const artel_coordinator *c, artel__command_kind kind, uint64_t order)
{
    return c->command == kind && c->order == order;
}

/* Where a piece lies in the memory of the chief. */
static float *place_of(const artel_coordinator *c, const artel__owned_piece *p)
{
    return (float *)artel__state_lend(c->strategy->state[0], p->variable) + p->first;
}

/* Where the caller, who waits, looks for it; who waits no longer has given the place to something else, perhaps. */
static void put_piece(artel__driver *d, const artel__owned_piece *p, const void *data, uint64_t order)
{
    artel_coordinator *c = d->c;
    pthread_mutex_lock(&c->mutex);
    bool waits = waits_for(c, ARTEL__COMMAND_READ, order);
    if (waits) memcpy(place_of(c, p), data, (size_t)p->count * sizeof(float));
    pthread_mutex_unlock(&c->mutex);
}

static artel_status read_piece(artel__driver *d, int piece, uint64_t order)
{
    const artel__owned_piece *p = &d->c->strategy->piece[piece];
    int rank = d->c->heads[p->part];
    artel__lane_head answer, head = {.op = ARTEL__CLOSURE_FETCH, .part = (uint32_t)piece, .b = (uint64_t)p->part};
    artel_status status = artel__driver_ask(d, rank, &head, NULL, &answer);
    const void *data = status == ARTEL_OK ? artel__slot_data(&d->call, 0, 0, (size_t)p->count * sizeof(float)) : NULL;
    if (data) put_piece(d, p, data, order);
    if (status == ARTEL_OK && !data) status = artel__driver_misfit(d, "a server");
    return artel__driver_asked(d, rank, status);
}

/* What the caller, who waits, has put there; false: it waits no longer. */
static bool get_piece(artel__driver *d, const artel__owned_piece *p, void *to, uint64_t order)
{
    artel_coordinator *c = d->c;
    pthread_mutex_lock(&c->mutex);
    bool waits = waits_for(c, ARTEL__COMMAND_WRITE, order);
    if (waits) memcpy(to, place_of(c, p), (size_t)p->count * sizeof(float));
    pthread_mutex_unlock(&c->mutex);
    return waits;
}

/* A copy is sent, for the caller may have other values there before it has left. */
static artel_status write_piece(artel__driver *d, int piece, uint64_t order)
{
    artel_coordinator *c = d->c;
    const artel__owned_piece *p = &c->strategy->piece[piece];
    size_t bytes = (size_t)p->count * sizeof(float);
    artel_status status = ARTEL_OK;
    void *copy;
    if (artel__alloc(c->ctx, bytes + 1, "coordinator", &copy) < 0)
        return artel__driver_fatal(c, ARTEL_ERROR_NO_MEMORY, "no memory for what is assigned");
    if (get_piece(d, p, copy, order)) {
        artel__net_piece all = {copy, bytes};
        int rank = c->heads[p->part];
        artel__lane_head answer, head = {.op = ARTEL__CLOSURE_STORE, .part = (uint32_t)piece, .b = (uint64_t)p->part};
        status = artel__driver_asked(d, rank, artel__driver_ask(d, rank, &head, &all, &answer));
    }
    artel__free(c->ctx, copy);
    return status;
}

/* A variable, piece by piece: where closures run meanwhile, each piece is as it is when it is read. */
static artel_status each_piece(artel__driver *d, bool reads, int variable, uint64_t order)
{
    const artel_strategy *s = d->c->strategy;
    artel_status status = ARTEL_OK;
    for (int i = s->first_piece[variable]; i < s->first_piece[variable + 1] && status == ARTEL_OK; i++)
        status = reads ? read_piece(d, i, order) : write_piece(d, i, order);
    return status;
}

static artel_status take_image(artel__driver *d, int part, size_t bytes)
{
    artel_coordinator *c = d->c;
    const void *data = artel__slot_data(&d->call, 0, 0, bytes);
    void *block = c->taken[part].image;
    if (!data) return artel__driver_misfit(d, "a server");
    if (artel__realloc(c->ctx, bytes, "coordinator", &block) < 0)
        return artel__driver_fatal(c, ARTEL_ERROR_NO_MEMORY, "no memory for what is kept");
    c->taken[part] = (artel__kept){block, bytes};
    memcpy(block, data, bytes);
    return ARTEL_OK;
}

/* With the mutex held. It is done at once: a caller that ceased to wait behind this would be told that it is not. */
static void swap_kept(artel_coordinator *c)
{
    artel__kept *before = c->kept;
    c->kept = c->taken;
    c->taken = before;
    c->keeps = true;
    c->command = ARTEL__COMMAND_NONE;
}

/* All of it while the caller waits for it, or what was kept before stays. */
static artel_status keep_all(artel__driver *d, uint64_t order)
{
    artel_coordinator *c = d->c;
    artel_status status = ARTEL_OK;
    for (int i = 0; i < c->strategy->servers && status == ARTEL_OK; i++) {
        artel__lane_head answer, head = {.op = ARTEL__CLOSURE_KEEP, .b = (uint64_t)i};
        status = artel__driver_ask(d, c->heads[i], &head, NULL, &answer);
        if (status == ARTEL_OK) status = take_image(d, i, (size_t)answer.a);
        status = artel__driver_asked(d, c->heads[i], status);
    }
    pthread_mutex_lock(&c->mutex);
    if (status == ARTEL_OK && waits_for(c, ARTEL__COMMAND_KEEP, order)) swap_kept(c);
    pthread_mutex_unlock(&c->mutex);
    for (int i = 0; i < c->strategy->servers; i++) { /* of the one before, or of this one */
        artel__free(c->ctx, c->taken[i].image);
        c->taken[i] = (artel__kept){NULL, 0};
    }
    return status;
}

static artel_status restore_all(artel__driver *d)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < d->c->strategy->servers && status == ARTEL_OK; i++) {
        artel__net_piece piece = {d->c->kept[i].image, d->c->kept[i].bytes};
        int rank = d->c->heads[i];
        artel__lane_head answer, head = {.op = ARTEL__CLOSURE_RESTORE, .b = (uint64_t)i};
        status = artel__driver_asked(d, rank, artel__driver_ask(d, rank, &head, &piece, &answer));
    }
    return status;
}

artel_status artel__driver_command(artel__driver *d)
{
    artel_coordinator *c = d->c;
    artel_status status = ARTEL_OK;
    pthread_mutex_lock(&c->mutex);
    bool refused = c->lost && artel__command_reads(c->command); /* the caller raises the loss */
    artel__command_kind kind = refused ? ARTEL__COMMAND_NONE : c->command;
    int variable = c->variable;
    uint64_t order = c->order;
    if (refused) c->command = ARTEL__COMMAND_NONE;
    if (refused) pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    switch (kind) {
    case ARTEL__COMMAND_NONE: return ARTEL_OK;
    case ARTEL__COMMAND_READ: status = each_piece(d, true, variable, order); break;
    case ARTEL__COMMAND_WRITE: status = each_piece(d, false, variable, order); break;
    case ARTEL__COMMAND_KEEP: status = keep_all(d, order); break;
    case ARTEL__COMMAND_GO_BACK: status = restore_all(d); break;
    }
    if (status != ARTEL_OK) return status;
    pthread_mutex_lock(&c->mutex);
    if (c->order == order) c->command = ARTEL__COMMAND_NONE; /* else the caller wants another by now */
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    return ARTEL_OK;
}
