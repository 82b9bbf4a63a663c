/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator's thread: one generation after another, speaks with the servers (command.c); deals closures out
 * (deal.c).
 *
 * When a generation ends, closures under way go back to the front of the queue, in their order. A worker that has
 * finished one says so again in the next generation, and if nobody has begun it anew, that result counts. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/failures.h"
#include "function/driver.h"

#define LOOK_NS 20000000L
#define REMIND_NS INT64_C(5000000000)

static artel_error error_about(const char *who, const char *advice, const char *what)
{
    artel_error error = {.status = ARTEL_ERROR_RUN};
    snprintf(error.where, sizeof error.where, "%s", who);
    snprintf(error.advice, sizeof error.advice, "%s", advice);
    snprintf(error.what, sizeof error.what, "%s", what);
    return error;
}

/* -- the end -- */

static artel_status tell_servers(artel__driver *d)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < d->c->strategy->servers && status == ARTEL_OK; i++) {
        artel__lane_head answer, head = {.op = ARTEL__CLOSURE_END};
        int rank = d->j->server[i];
        if (rank >= 0) status = artel__driver_asked(d, rank, artel__driver_ask(d, rank, &head, NULL, &answer));
    }
    return status;
}

/* -- a generation -- */

static bool is_closing(artel_coordinator *c)
{
    pthread_mutex_lock(&c->mutex);
    bool closing = c->closing && !c->waiting.first && !c->running.first;
    pthread_mutex_unlock(&c->mutex);
    return closing;
}

/* One that begins hears all of them; where parts have copies it goes on without some, later (holders.c). */
static int missing_server(const artel__driver *d)
{
    if (d->c->met && d->c->strategy->copies > 1) return -1;
    for (int i = 0; i < d->c->strategy->servers; i++) {
        if (d->j->server[i] < 0) return i;
    }
    return -1;
}

/* Those who want it wait no longer: closures, and, since all servers are needed for it, a command. */
static void give_up(artel_coordinator *c, const char *who, bool is_server)
{
    char what[128];
    snprintf(what, sizeof what, "it has been lost for %.0f s", c->options.patience);
    artel_error error = error_about(who, "start it again, or wait longer (options: patience)", what);
    pthread_mutex_lock(&c->mutex);
    if (is_server && c->command != ARTEL__COMMAND_NONE) {
        c->vain = error;
        c->command = ARTEL__COMMAND_NONE;
        pthread_cond_broadcast(&c->changed);
    }
    if (c->waiting.first || c->running.first) artel__coordinator_raise(c, &error);
    pthread_mutex_unlock(&c->mutex);
}

/* Says who is waited for, since when; after a time, that it does not come. */
static void remind(artel__driver *d, const char *who, int64_t since, bool is_server)
{
    artel_coordinator *c = d->c;
    int64_t now = artel__now_ns();
    pthread_mutex_lock(&c->mutex);
    bool wanted = c->waiting.first || c->running.first || c->command != ARTEL__COMMAND_NONE;
    pthread_mutex_unlock(&c->mutex);
    if (wanted && now - d->said_ns >= REMIND_NS) {
        artel__log(c->ctx, ARTEL_LOG_NOTE, "waiting for %s, without which closures do not go on", who);
        d->said_ns = now;
    }
    if (wanted && (double)(now - since) * 1e-9 >= c->options.patience) give_up(c, who, is_server);
}

static artel_status await_servers(artel__driver *d, int missing)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    char who[32];
    snprintf(who, sizeof who, "ps %d", missing);
    for (; !artel__mesh_stopping(d->j->cluster) && !is_closing(d->c); nanosleep(&pause, NULL))
        remind(d, who, d->c->serverless_ns, true);
    return artel__mesh_stopping(d->j->cluster) ? ARTEL_AGAIN : ARTEL_OK;
}

static artel_status one_round(artel__driver *d, bool *did)
{
    artel_status status = artel__driver_command(d);
    if (status == ARTEL_OK) status = artel__deal(d);
    if (status == ARTEL_OK) status = artel__closure_move(d->j);
    for (int r = 0; r < d->j->seat.ranks && status == ARTEL_OK; r++) {
        if (d->client[r].held) status = artel__deal_look(d, &d->client[r], did);
    }
    return status;
}

/* Whether the caller wants something that can be done now. */
static bool has_work(artel__driver *d)
{
    artel__driver_client *who;
    pthread_mutex_lock(&d->c->mutex);
    bool command = d->c->command != ARTEL__COMMAND_NONE, closures = artel__deal_may(d->c);
    pthread_mutex_unlock(&d->c->mutex);
    return command || (closures && artel__deal_next(d, &who)) || is_closing(d->c);
}

/* To artel status. */
static void tell(artel__driver *d)
{
    artel_coordinator *c = d->c;
    if (!artel__tell_due(&c->telling)) return;
    pthread_mutex_lock(&c->mutex);
    long long queued = c->waiting.count, out = c->running.count, again = c->metrics.again;
    pthread_mutex_unlock(&c->mutex);
    artel__tell_begin(&c->telling, c->ctx);
    artel__text_printf(&c->telling.text, "\"closures\": true, \"queue\": %lld, \"out\": %lld, \"again\": %lld, ",
                       queued, out, again);
    artel__tell_parts(&c->telling);
    for (int i = 0; i < c->strategy->servers; i++) {
        const artel__part_holders *p = &c->part[i];
        artel__told_part told = {i, artel__part_bytes(c->strategy, i), NULL, p->head, {0}, p->copies, -1, NULL};
        for (int k = 0; k < p->copies; k++) told.copy[k] = p->copy[k];
        artel__tell_part(&c->telling, &told);
    }
    artel__tell_end(&c->telling, d->j->cluster);
}

static artel_status loop(artel__driver *d)
{
    artel_status status = ARTEL_OK;
    while (status == ARTEL_OK && !is_closing(d->c)) {
        bool did = false;
        tell(d);
        status = one_round(d, &did);
        if (d->j->workers == 0) remind(d, "a worker", d->c->idle_ns, false);
        if (status == ARTEL_OK && !did && !has_work(d)) status = artel__closure_wait(d->j);
    }
    for (bool all = false; status == ARTEL_OK && !all;) {
        bool did = false;
        status = artel__deal_end(d, &all);
        if (status == ARTEL_OK && !all) status = one_round(d, &did);
        if (status == ARTEL_OK && !all && !did) status = artel__closure_wait(d->j);
    }
    return status == ARTEL_OK ? tell_servers(d) : status;
}

static artel_status open_clients(artel__driver *d)
{
    void *block;
    int ranks = d->j->seat.ranks;
    ARTEL_TRY(artel__calloc(d->c->ctx, (size_t)ranks, sizeof *d->client, "coordinator", &block));
    d->client = block;
    for (int r = 0; r < ranks; r++) {
        d->client[r].lane = artel__closure_lane(d->j, r);
        if (d->j->type[r] != ARTEL__TASK_WORKER) continue;
        ARTEL_TRY(artel__calloc(d->c->ctx, (size_t)d->c->options.in_flight, sizeof(artel__driver_held), "coordinator",
                                &block));
        d->client[r].held = block;
    }
    return ARTEL_OK;
}

static void close_clients(artel__driver *d)
{
    for (int r = 0; d->client && r < d->j->seat.ranks; r++) {
        artel__driver_client *who = &d->client[r];
        for (int t = 0; who->held && t < d->c->options.in_flight; t++) {
            artel__lane_withdraw(&who->lane, &who->held[t].call);
            artel__slot_fini(d->c->ctx, &who->held[t].call);
            artel__deal_left(d, &who->held[t]);
        }
        artel__free(d->c->ctx, who->held);
    }
    artel__free(d->c->ctx, d->client);
    artel__slot_fini(d->c->ctx, &d->call);
}

/* Closures that were under way go before all others; they are older. */
static void take_back(artel_coordinator *c)
{
    pthread_mutex_lock(&c->mutex);
    if (c->running.first && c->lost_ns == 0) c->lost_ns = artel__now_ns();
    while (c->running.last) {
        artel__closure *x = c->running.last;
        artel__closure_remove(&c->running, x);
        x->state = ARTEL__CLOSURE_WAITS;
        x->before = NULL;
        x->next = c->waiting.first;
        if (c->waiting.first) c->waiting.first->before = x;
        c->waiting.first = x;
        if (!c->waiting.last) c->waiting.last = x;
        c->waiting.count++;
    }
    if (c->failed) artel__coordinator_raise(c, &c->error); /* they are dropped, as all that waits */
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
}

static void set_place(artel_coordinator *c, const artel__closure_job *j)
{
    pthread_mutex_lock(&c->mutex);
    c->endpoint = j ? j->endpoint : NULL;
    c->whole = false;
    c->heard_ns = artel__now_ns();
    c->metrics.workers = j ? j->workers : 0;
    c->metrics.servers = j ? j->servers : 0;
    pthread_mutex_unlock(&c->mutex);
}

/* Others may come and go in the meantime: that is no reason to wait longer. */
static void note_lost(int64_t *since, bool lost)
{
    if (!lost)
        *since = 0;
    else if (*since == 0)
        *since = artel__now_ns();
}

static artel_status run(artel__driver *d)
{
    int missing = missing_server(d);
    artel_status status = ARTEL_OK;
    note_lost(&d->c->idle_ns, d->j->workers == 0);
    if (!d->j->endpoint && missing < 0) missing = 0;
    if (d->j->endpoint && open_clients(d) < 0)
        return artel__driver_fatal(d->c, ARTEL_ERROR_NO_MEMORY, "no memory for the calls of workers");
    if (missing < 0) status = artel__driver_hold(d, &missing);
    if (status != ARTEL_OK) return status;
    note_lost(&d->c->serverless_ns, missing >= 0);
    if (missing >= 0) status = await_servers(d, missing);
    return status == ARTEL_OK && d->j->endpoint ? loop(d) : status;
}

static artel_status coordinate(artel__closure_job *j, void *user)
{
    artel_coordinator *c = user;
    artel__driver d = {.c = c, .j = j, .most = artel__closure_most(c->strategy)};
    set_place(c, j);
    bool before = artel__failures_forget(true); /* what fails when a task is lost is no failure of the caller's */
    artel_status status = run(&d);
    artel__failures_forget(before);
    set_place(c, NULL);
    close_clients(&d);
    take_back(c);
    if (status >= 0) return status;
    artel__driver_fatal(c, status, "the exchange with the other tasks failed");
    return artel__fail(c->ctx, status, c->fatal.where, c->fatal.advice, "%s", c->fatal.what);
}

void *artel__closure_coordinate(void *user)
{
    artel_coordinator *c = user;
    artel_status status = artel__closure_run(c->strategy, true, coordinate, c);
    pthread_mutex_lock(&c->mutex);
    if (status < 0 && c->fatal.status == ARTEL_OK) {
        c->fatal = *artel_context_error(c->ctx);
        c->fatal.status = status;
    }
    c->ended = true;
    artel__coordinator_drop(c);
    pthread_mutex_unlock(&c->mutex);
    return NULL;
}
