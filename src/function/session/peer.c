/* SPDX-License-Identifier: Apache-2.0 */
/* The other tasks: lanes to and from each, and waiting for them. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "function/closure.h"
#include "function/session/session_impl.h"

#define SAY_NS INT64_C(5000000000)

artel_status artel__placed_broken(artel_session *s, artel_status status)
{
    s->lost = true;
    artel__placed_stand(s);
    bool lost = status == ARTEL_ERROR_CANCELLED && !artel__cancelled(s->ctx);
    return artel__coll_seat_fail(s->communicator, lost ? ARTEL_ERROR_RUN : status);
}

artel_status artel__placed_misfit(artel_session *s, int task)
{
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "session", "run the same program everywhere",
                       "what %s sent does not fit this program's functions and variables", s->task[task].text);
}

artel_status artel__placed_move(const artel_session *s)
{
    return artel__net_progress(s->seat.endpoint);
}

artel_status artel__placed_wait(const artel_session *s, int64_t since, int64_t *said, int whom)
{
    artel__net_wait(s->seat.endpoint);
    int64_t now = artel__now_ns();
    const char *name = whom >= 0 ? s->task[whom].text : "the other tasks";
    if (artel__cancelled(s->ctx)) return ARTEL_ERROR_CANCELLED;
    if (said && s->seat.limit_ns > 0 && now - since > s->seat.limit_ns)
        return artel__fail(s->ctx, ARTEL_ERROR_RUN, "session",
                           "let it call artel_session_serve(), or allow more time: artel_communicator_set_timeout()",
                           "%s has not answered for %.3g s", name, (double)(now - since) * 1e-9);
    if (said && now - *said > SAY_NS) {
        artel__log(s->ctx, ARTEL_LOG_NOTE, "session: has waited %lld s for %s", (long long)((now - since) / 1000000000),
                   name);
        *said = now;
    }
    return artel__placed_move(s);
}

/* -- seats -- */

static artel__lane lane_to(const artel_session *s, int task)
{
    return (artel__lane){
        .endpoint = s->seat.endpoint, .peer = task, .job = ARTEL__PLACED_JOB, .generation = s->seat.generation};
}

static void sit_with(artel_session *s, int task)
{
    s->peer[task].ask = lane_to(s, task);
    s->peer[task].hear = lane_to(s, task);
    s->peer[task].turn = 0;
    s->peer[task].listening = false;
    s->peer[task].plan = NULL;
}

artel_status artel__placed_sit(artel_session *s)
{
    artel__coll_seat seat;
    if (s->alone) return ARTEL_OK;
    s->lost = true; /* unless all are here */
    ARTEL_TRY(artel__coll_seat_take(s->communicator, &seat));
    if (seat.members != s->tasks || seat.position != s->self)
        return artel__fail(s->ctx, ARTEL_ERROR_RUN, "session",
                           "set .min_workers of the cluster to the number of its tasks", "of %d tasks there are %d",
                           s->tasks, seat.members);
    bool same = s->seated && seat.generation == s->seat.generation;
    s->seat = seat;
    s->seated = true;
    s->lost = false;
    for (int t = 0; t < s->tasks && !same; t++) sit_with(s, t);
    return ARTEL_OK;
}

static void leave_peer(artel_session *s, artel__placed_peer *peer)
{
    artel__lane_slot *const slot[] = {&peer->call, &peer->verdict, &peer->slot[0], &peer->slot[1]};
    for (size_t i = 0; i < sizeof slot / sizeof *slot; i++) {
        if (s->seat.endpoint) artel__lane_withdraw(&peer->ask, slot[i]);
    }
    peer->listening = false;
    peer->plan = NULL;
}

void artel__placed_stand(artel_session *s)
{
    if (!s->seated) return;
    if (!artel__coll_seat_holds(s->communicator, &s->seat)) s->seat.endpoint = NULL; /* what was posted went with it */
    for (artel__placed_plan *p = s->plan; p; p = p->after) {
        if (p->active) artel__placed_drop(p);
    }
    for (int t = 0; t < s->tasks; t++) leave_peer(s, &s->peer[t]);
    s->seated = false;
}

/* -- variables -- */

int artel__placed_variables(artel_session *s, int task, artel__net_piece *piece)
{
    const artel__variables *all = &s->strategy->variables;
    int count = 0;
    for (int i = 0; i < all->count; i++) {
        if (artel__placed_host(s, s->owner[i]) != task) continue;
        size_t bytes = (size_t)all->item[i].count * artel_dtype_size(artel__variable_held(&all->item[i]));
        if (piece) piece[count] = (artel__net_piece){artel__state_lend(s->strategy->state[0], i), bytes};
        count++;
    }
    return count;
}

size_t artel__placed_most(const artel_session *s)
{
    const artel_strategy *strategy = s->strategy;
    size_t most = strategy->variables.bytes + (size_t)strategy->variables.count * 64;
    for (const artel_function *f = strategy->function; f; f = f->next) {
        size_t bytes = (size_t)f->outputs + 8;
        for (int i = 0; i < f->arguments; i++)
            bytes += artel__placed_feed_bytes(f, i, strategy->options.batch_size) + 8;
        for (int i = 0; i < f->outputs; i++) bytes += artel__output_bytes(f, i, strategy->options.batch_size) + 8;
        most = bytes > most ? bytes : most;
    }
    return most + (1 << 16);
}
