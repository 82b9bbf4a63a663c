/* SPDX-License-Identifier: Apache-2.0 */
/* Dealing closures out to workers that ask, and taking their results.
 *
 * A result of a generation before counts when nobody has begun the closure anew; otherwise whoever is first wins. */
#include <string.h>

#include "base/clock.h"
#include "function/driver.h"

static artel__closure *find(artel_coordinator *c, uint64_t number, artel__closure_list **in)
{
    artel__closure_list *lists[2] = {&c->running, &c->waiting};
    for (int k = 0; k < 2; k++) {
        artel__closure *x = lists[k]->first;
        while (x && x->number < number && (k == 0 || x->dealt))
            x = x->next; /* behind those that come again nothing was ever dealt */
        *in = lists[k];
        if (x && x->number == number && x->dealt) return x;
    }
    return NULL;
}

/* The outputs of a closure, for who wants them. False: they are none of this function's. */
static bool take_outputs(artel_coordinator *c, const artel__driver_held *h, const artel__closure *x, int64_t rows)
{
    const artel_function *f = x->function;
    artel__slot_at at = {0, 0};
    void *block;
    size_t bytes = 8;
    if (!x->remote || x->remote->released) return true;
    for (int i = 0; i < f->outputs; i++) bytes += artel__net_padded(artel__output_bytes(f, i, rows));
    if (artel__alloc(c->ctx, bytes, "closure", &block) < 0) return false;
    x->remote->values = block;
    x->remote->rows = rows;
    for (int i = 0; i < f->outputs; i++) {
        size_t one = artel__output_bytes(f, i, rows);
        uint8_t *to = x->remote->values + at.offset;
        const void *data = artel__slot_next(&h->call, &at, one);
        if (!data) return false;
        memcpy(to, data, one);
    }
    return true;
}

static void take_failure(artel_coordinator *c, const artel__driver_held *h, artel__closure *x)
{
    artel_error error = {.status = ARTEL_ERROR_INTERNAL, .where = "closure", .what = "it failed"};
    const artel_error *sent = artel__slot_data(&h->call, 0, 0, sizeof error);
    if (sent) error = *sent;
    if (error.status >= 0) error.status = ARTEL_ERROR_INTERNAL;
    error.where[sizeof error.where - 1] = error.what[sizeof error.what - 1] = error.advice[sizeof error.advice - 1] =
        '\0';
    if (x->remote) x->remote->error = error;
    c->metrics.failed++;
    artel__closure_end(c, x, ARTEL__CLOSURE_DONE);
    artel__coordinator_raise(c, &error);
}

/* Without data of the worker's own the rows are those that were sent, and whoever fetches has made room for so many. */
static bool may_have_rows(const artel_coordinator *c, const artel__closure *x, int64_t rows)
{
    return x->data ? rows >= 0 && rows <= c->strategy->options.batch_size : rows == x->rows;
}

static artel_status take_result(artel__driver *d, artel__driver_client *who, const artel__driver_held *h,
                                const artel__lane_head *head)
{
    artel_coordinator *c = d->c;
    static const artel_error unfit = {.status = ARTEL_ERROR_INVALID,
                                      .where = "closure",
                                      .what = "what a worker sent does not fit this program's functions",
                                      .advice = "run the same program everywhere"};
    artel__closure_list *list;
    bool fits = true;
    pthread_mutex_lock(&c->mutex);
    if (who->out > 0) who->out--;
    artel__closure *x = head->install == c->session ? find(c, head->item, &list) : NULL;
    if (x) {
        artel__closure_remove(list, x);
        artel__times_add(&c->run, (int64_t)head->a);
        if (head->b) artel__times_add(&c->build, (int64_t)head->b);
        int64_t rows = (int64_t)head->position;
        c->heard_ns = artel__now_ns();
        fits = head->flags == ARTEL__CLOSURE_FAILED || (may_have_rows(c, x, rows) && take_outputs(c, h, x, rows));
        if (head->flags == ARTEL__CLOSURE_FAILED)
            take_failure(c, h, x);
        else {
            if (!fits && x->remote) x->remote->error = unfit; /* who fetches it is not given what has not come */
            c->metrics.done++;
            artel__closure_end(c, x, ARTEL__CLOSURE_DONE);
        }
        pthread_cond_broadcast(&c->changed);
    }
    pthread_mutex_unlock(&c->mutex);
    return fits ? ARTEL_OK : artel__driver_misfit(d, "a worker");
}

static artel_status hear(artel__driver *d, artel__driver_client *who, artel__driver_held *h)
{
    artel__lane_head head;
    if (artel__lane_take(&who->lane, &h->call, &head) < 0) return artel__driver_misfit(d, "a worker");
    h->state = ARTEL__HELD_HELD;
    h->arrived = d->arrivals++;
    return head.op == ARTEL__CLOSURE_RESULT ? take_result(d, who, h, &head) : ARTEL_OK;
}

void artel__deal_left(artel__driver *d, artel__driver_held *h)
{
    pthread_mutex_lock(&d->c->mutex);
    if (h->closure) {
        h->closure->leaving = false;
        if (h->closure->state != ARTEL__CLOSURE_RUNS && h->closure->state != ARTEL__CLOSURE_WAITS)
            artel__closure_end(d->c, h->closure, h->closure->state);
    }
    h->closure = NULL;
    pthread_mutex_unlock(&d->c->mutex);
    h->state = ARTEL__HELD_IDLE;
}

artel_status artel__deal_look(artel__driver *d, artel__driver_client *who, bool *did)
{
    for (int t = 0; t < d->c->options.in_flight; t++) {
        artel__driver_held *h = &who->held[t];
        if (h->state == ARTEL__HELD_EXPECTED && artel__slot_arrived(&h->call)) {
            *did = true;
            artel_status status = hear(d, who, h);
            if (status != ARTEL_OK) return status;
        }
        if (h->state == ARTEL__HELD_LEAVING && artel__slot_left(&h->call)) {
            *did = true;
            artel__deal_left(d, h);
        }
        if (h->state != ARTEL__HELD_IDLE) continue;
        h->state = ARTEL__HELD_EXPECTED;
        artel_status status = artel__lane_judge(artel__lane_expect(&who->lane, &h->call, d->most));
        if (status != ARTEL_OK) return status;
    }
    return ARTEL_OK;
}

/* Workers may begin one after another. */
static bool may_begin(const artel_coordinator *c, int worker)
{
    double delay = worker * c->options.start_delay, most = c->options.start_delay_most;
    if (most > 0 && delay > most) delay = most;
    return delay <= 0 || (double)(artel__now_ns() - c->opened_ns) * 1e-9 >= delay;
}

artel__driver_held *artel__deal_next(const artel__driver *d, artel__driver_client **whose)
{
    artel__driver_held *best = NULL;
    for (int r = 0; r < d->j->seat.ranks; r++) {
        artel__driver_client *who = &d->client[r];
        bool begins = who->held && may_begin(d->c, d->j->index[r]);
        for (int t = 0; begins && t < d->c->options.in_flight; t++) {
            artel__driver_held *h = &who->held[t];
            if (h->state != ARTEL__HELD_HELD) continue;
            if (best && (who->out > (*whose)->out || (who->out == (*whose)->out && h->arrived > best->arrived)))
                continue;
            best = h;
            *whose = who;
        }
    }
    return best;
}

bool artel__deal_may(const artel_coordinator *c)
{
    const artel__closure *next = c->waiting.first, *oldest = c->running.first;
    return next && (!oldest || next->number < oldest->number + ARTEL__CLOSURES_APART);
}

/* Takes the next closure from the queue, for that worker; *floor: all before that number are done. */
static artel__closure *take_next(artel_coordinator *c, int worker, uint64_t *floor)
{
    pthread_mutex_lock(&c->mutex);
    artel__closure *x = artel__deal_may(c) ? c->waiting.first : NULL;
    if (x) {
        artel__closure_remove(&c->waiting, x);
        if (x->dealt) c->metrics.again++;
        x->state = ARTEL__CLOSURE_RUNS;
        x->leaving = x->dealt = true;
        x->worker = worker;
        x->dealt_ns = c->heard_ns = artel__now_ns();
        artel__closure_append(&c->running, x);
        if (c->lost_ns) artel__times_add(&c->recover, artel__now_ns() - c->lost_ns);
        c->lost_ns = 0;
        pthread_cond_broadcast(&c->changed); /* there is room in the queue */
    }
    *floor = c->running.first ? c->running.first->number : c->next_number;
    pthread_mutex_unlock(&c->mutex);
    return x;
}

artel_status artel__deal(artel__driver *d)
{
    artel__driver_client *who;
    artel_status status = ARTEL_OK;
    for (artel__driver_held *h; status == ARTEL_OK && (h = artel__deal_next(d, &who)) != NULL;) {
        uint64_t floor;
        artel__closure *x = take_next(d->c, d->j->index[who - d->client], &floor);
        if (!x) return ARTEL_OK;
        artel__lane_head head = {.op = ARTEL__CLOSURE_TICKET,
                                 .part = (uint32_t)x->function->number,
                                 .install = d->c->session,
                                 .item = x->number,
                                 .position = floor,
                                 .rate = x->rate,
                                 .a = (uint64_t)x->rows,
                                 .b = (x->data ? (uint64_t)x->data->number + 1 : 0) | (uint64_t)d->c->options.in_flight
                                                                                          << 32};
        h->closure = x;
        h->state = ARTEL__HELD_LEAVING;
        who->out++;
        status = artel__lane_judge(artel__lane_answer(&who->lane, &h->call, &head, x->piece, x->pieces));
    }
    return status;
}

/* -- the end -- */

artel_status artel__deal_end(artel__driver *d, bool *all)
{
    *all = true;
    for (int r = 0; r < d->j->seat.ranks; r++) {
        artel__driver_client *who = &d->client[r];
        bool left = false;
        for (int t = 0; who->held && t < d->c->options.in_flight; t++) {
            artel__driver_held *h = &who->held[t];
            if (h->state == ARTEL__HELD_HELD && !who->told) {
                artel__lane_head head = {
                    .op = ARTEL__CLOSURE_TICKET, .flags = ARTEL__CLOSURE_OVER, .install = d->c->session};
                who->told = true;
                h->state = ARTEL__HELD_LEAVING;
                artel_status status = artel__lane_judge(artel__lane_answer(&who->lane, &h->call, &head, NULL, 0));
                if (status != ARTEL_OK) return status;
            }
            left = left || h->state == ARTEL__HELD_LEAVING;
        }
        *all = *all && (!who->held || (who->told && !left));
    }
    return ARTEL_OK;
}
