/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator's thread: one generation after another, speaks with the servers; deals closures out (deal.c).
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

/* -- servers -- */

/* A call to a server, and its answer; `done` when it has been read. */
static artel_status ask(artel__driver *d, int server, const artel__lane_head *head, const artel__net_piece *piece,
                        artel__lane_head *answer)
{
    const artel__closure_job *j = d->j;
    artel__lane *lane = &d->client[j->server[server]].lane;
    artel__lane_head mine = *head;
    if (mine.op != ARTEL__CLOSURE_ASK) mine.install = d->c->session;
    artel_status status = artel__closure_judge(artel__lane_call(lane, &d->call, &mine, piece, piece != NULL, d->most));
    if (status == ARTEL_OK) status = artel__closure_move(j);
    while (status == ARTEL_OK && !artel__slot_arrived(&d->call)) status = artel__closure_wait(j);
    if (status != ARTEL_OK) return status;
    if (artel__lane_take(lane, &d->call, answer) < 0 || answer->flags != ARTEL__CLOSURE_OK)
        return artel__driver_misfit(d, "a server");
    return ARTEL_OK;
}

static artel_status done(artel__driver *d, int server, artel_status status)
{
    artel__lane *lane = &d->client[d->j->server[server]].lane;
    if (status == ARTEL_OK) status = artel__closure_judge(artel__lane_done(lane, &d->call));
    artel__lane_withdraw(lane, &d->call);
    return status;
}

static void raise_lost(artel_coordinator *c, int server)
{
    char who[32];
    snprintf(who, sizeof who, "ps %d", server);
    artel_error error =
        error_about(who, "go back to what was kept (artel_coordinator_go_back), or assign the variables",
                    "this server was started again, and what it had is lost");
    pthread_mutex_lock(&c->mutex);
    artel__coordinator_raise(c, &error);
    c->error = error; /* whatever a closure has said before: whoever fetches that one hears it */
    c->lost = true;
    pthread_mutex_unlock(&c->mutex);
}

/* Whether each server is the one that it was: one that was started again has the values of the beginning. */
static artel_status meet_servers(artel__driver *d)
{
    artel_coordinator *c = d->c;
    int64_t updates = 0;
    for (int i = 0; i < c->strategy->servers; i++) {
        artel__lane_head answer, head = {.op = ARTEL__CLOSURE_ASK, .a = c->session};
        artel_status status = ask(d, i, &head, NULL, &answer);
        if (status == ARTEL_OK) updates += (int64_t)answer.position;
        status = done(d, i, status);
        if (status != ARTEL_OK) return status;
        if (c->life[i] && c->life[i] != answer.a) raise_lost(c, i);
        c->life[i] = answer.a;
    }
    pthread_mutex_lock(&c->mutex);
    if (!c->met) c->metrics.resumed = updates;
    pthread_mutex_unlock(&c->mutex);
    c->met = true;
    return ARTEL_OK;
}

/* Where the caller, who waits, looks for it; who waits no longer has given the place to something else, perhaps. */
static void put_variable(artel__driver *d, int variable, const void *data, size_t bytes, uint64_t order)
{
    artel_coordinator *c = d->c;
    pthread_mutex_lock(&c->mutex);
    bool waits = c->command == ARTEL__COMMAND_READ && c->order == order;
    if (waits) memcpy(artel__state_lend(c->strategy->state[0], variable), data, bytes);
    pthread_mutex_unlock(&c->mutex);
}

static artel_status read_variable(artel__driver *d, int variable, uint64_t order)
{
    artel_strategy *s = d->c->strategy;
    int server = s->owner[variable];
    size_t bytes = (size_t)s->variables.item[variable].count * sizeof(float);
    artel__lane_head answer, head = {.op = ARTEL__CLOSURE_FETCH, .part = (uint32_t)variable};
    artel_status status = ask(d, server, &head, NULL, &answer);
    const void *data = status == ARTEL_OK ? artel__slot_data(&d->call, 0, 0, bytes) : NULL;
    if (data) put_variable(d, variable, data, bytes, order);
    if (status == ARTEL_OK && !data) status = artel__driver_misfit(d, "a server");
    return done(d, server, status);
}

static artel_status write_variable(artel__driver *d, int variable)
{
    artel_strategy *s = d->c->strategy;
    int server = s->owner[variable];
    artel__net_piece piece = {artel__state_lend(s->state[0], variable),
                              (size_t)s->variables.item[variable].count * sizeof(float)};
    artel__lane_head answer, head = {.op = ARTEL__CLOSURE_STORE, .part = (uint32_t)variable};
    return done(d, server, ask(d, server, &head, &piece, &answer));
}

static artel_status take_image(artel__driver *d, int server, size_t bytes)
{
    artel_coordinator *c = d->c;
    const void *data = artel__slot_data(&d->call, 0, 0, bytes);
    void *block = c->taken[server].image;
    if (!data) return artel__driver_misfit(d, "a server");
    if (artel__realloc(c->ctx, bytes, "coordinator", &block) < 0)
        return artel__driver_fatal(c, ARTEL_ERROR_NO_MEMORY, "no memory for what is kept");
    c->taken[server] = (artel__kept){block, bytes};
    memcpy(block, data, bytes);
    return ARTEL_OK;
}

/* All of it, or what was kept before stays. */
static artel_status keep_all(artel__driver *d)
{
    artel_coordinator *c = d->c;
    artel_status status = ARTEL_OK;
    for (int i = 0; i < c->strategy->servers && status == ARTEL_OK; i++) {
        artel__lane_head answer, head = {.op = ARTEL__CLOSURE_KEEP};
        status = ask(d, i, &head, NULL, &answer);
        if (status == ARTEL_OK) status = take_image(d, i, (size_t)answer.a);
        status = done(d, i, status);
    }
    if (status != ARTEL_OK) return status;
    pthread_mutex_lock(&c->mutex);
    artel__kept *before = c->kept;
    c->kept = c->taken;
    c->taken = before;
    c->keeps = true;
    pthread_mutex_unlock(&c->mutex);
    for (int i = 0; i < c->strategy->servers; i++) {
        artel__free(c->ctx, before[i].image);
        before[i].image = NULL;
    }
    return ARTEL_OK;
}

static artel_status restore_all(artel__driver *d)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < d->c->strategy->servers && status == ARTEL_OK; i++) {
        artel__net_piece piece = {d->c->kept[i].image, d->c->kept[i].bytes};
        artel__lane_head answer, head = {.op = ARTEL__CLOSURE_RESTORE};
        status = done(d, i, ask(d, i, &head, &piece, &answer));
    }
    return status;
}

/* What the caller waits for. One that a lost task interrupts is done in the next generation. */
static artel_status do_command(artel__driver *d)
{
    artel_coordinator *c = d->c;
    artel_status status = ARTEL_OK;
    pthread_mutex_lock(&c->mutex);
    bool vain = c->lost && artel__command_reads(c->command); /* the caller hears why */
    artel__command_kind kind = vain ? ARTEL__COMMAND_NONE : c->command;
    int variable = c->variable;
    uint64_t order = c->order;
    if (vain) c->command = ARTEL__COMMAND_NONE;
    if (vain) pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    switch (kind) {
    case ARTEL__COMMAND_NONE: return ARTEL_OK;
    case ARTEL__COMMAND_READ: status = read_variable(d, variable, order); break;
    case ARTEL__COMMAND_WRITE: status = write_variable(d, variable); break;
    case ARTEL__COMMAND_KEEP: status = keep_all(d); break;
    case ARTEL__COMMAND_GO_BACK: status = restore_all(d); break;
    }
    if (status != ARTEL_OK) return status;
    pthread_mutex_lock(&c->mutex);
    if (c->order == order) c->command = ARTEL__COMMAND_NONE; /* else the caller wants another by now */
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->mutex);
    return ARTEL_OK;
}

/* -- the end -- */

static artel_status tell_servers(artel__driver *d)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < d->c->strategy->servers && status == ARTEL_OK; i++) {
        artel__lane_head answer, head = {.op = ARTEL__CLOSURE_END};
        if (d->j->server[i] >= 0) status = done(d, i, ask(d, i, &head, NULL, &answer));
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

static int missing_server(const artel__driver *d)
{
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
    artel_status status = do_command(d);
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
    bool command = d->c->command != ARTEL__COMMAND_NONE, closures = d->c->waiting.first != NULL;
    pthread_mutex_unlock(&d->c->mutex);
    return command || (closures && artel__deal_next(d, &who)) || is_closing(d->c);
}

static artel_status loop(artel__driver *d)
{
    artel_status status = ARTEL_OK;
    while (status == ARTEL_OK && !is_closing(d->c)) {
        bool did = false;
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
    note_lost(&d->c->serverless_ns, missing >= 0);
    note_lost(&d->c->idle_ns, d->j->workers == 0);
    if (!d->j->endpoint) return missing >= 0 ? await_servers(d, missing) : ARTEL_OK;
    if (open_clients(d) < 0)
        return artel__driver_fatal(d->c, ARTEL_ERROR_NO_MEMORY, "no memory for the calls of workers");
    artel_status status = missing >= 0 ? await_servers(d, missing) : ARTEL_OK;
    if (status == ARTEL_OK && missing < 0) status = meet_servers(d);
    return status == ARTEL_OK ? loop(d) : status;
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
