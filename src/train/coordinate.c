/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinator: looks after the servers' state, deals out the items of a phase to the workers that ask, and takes
 * the state back when a phase is done. It computes nothing. */
#include <string.h>

#include "base/clock.h"
#include "ps/staleness.h"
#include "train/install.h"
#include "train/shares.h"
#include "ps/tell.h"

#define SECOND INT64_C(1000000000)
#define REMIND_NS (5 * SECOND)

/* A call of a worker. */
typedef struct held {
    artel__lane_slot call;
    artel__item item; /* the answer */
    uint64_t arrived; /* when, in the order of arrival */
    enum {
        IDLE,
        EXPECTED,
        HELD,
        LEAVING
    } state;
} held;

typedef struct client {
    artel__lane lane;
    held held[ARTEL__MOST_TICKETS];
    bool works;            /* it has asked */
    int told;              /* tickets that were answered with the end */
    int64_t finished;      /* items of this generation, for bounds */
    int64_t serial, next;  /* sync: of the phase; the item that it is given next */
    int64_t owes;          /* sync:K: 1 + the item of whose shares it has one; 0: none */
    int share;             /* that one's number */
    int64_t out, since_ns; /* items that it has; since when it has been given and has given back none */
} client;

typedef struct coordinator {
    artel__fit *fit;
    artel__installed installed;
    artel__phase_run phase;
    client *client; /* by rank, of this generation */
    uint64_t arrivals;
    artel__telling telling;
    artel__staleness staleness, former; /* of the updates of this epoch, and of the one before */
    artel__shares shares;               /* of the step in work; sync:K */
    bool met;                           /* it has a majority in this generation */
    int64_t heard_ns;                   /* the last result came, or who is waited for was said */
} coordinator;

/* -- items -- */

static void fill_item(const coordinator *c, const artel__service *s, int64_t i, artel__item *out)
{
    const artel__phase_item *item = &c->phase.item[i];
    const artel__fit *fit = c->fit;
    uint64_t number = c->phase.first + (uint64_t)i;
    *out = (artel__item){.number = number,
                         .mode = c->phase.mode,
                         .serial = c->phase.serial,
                         .fresh = (s->staleness >= 0 || s->some) && c->phase.mode == ARTEL__MODE_TRAIN,
                         .pass = item->pass,
                         .cursor = item->cursor,
                         .count = item->count,
                         .iteration = fit->at.iteration + i - c->phase.added,
                         .ordinal = fit->options.initial_epoch * fit->input.steps_per_epoch + (int64_t)number,
                         .rate = fit->learning_rate,
                         .servers = c->installed.parts,
                         .placed = c->installed.placed ? c->installed.division.pieces : 0};
    for (int k = 0; k < c->installed.parts; k++) out->rank[k] = c->installed.part[k].rank;
}

/* Whether this is the result of the share that the worker was given: a second one of the same adds nothing. */
static bool settles(client *who, uint64_t item)
{
    bool owed = who->owes == (int64_t)item + 1;
    if (owed) who->owes = 0;
    return owed;
}

/* Whether a worker may begin another item: not too many more than the slowest. */
static bool may_begin(const coordinator *c, const artel__service *s, const client *who)
{
    if (s->staleness < 0 || c->phase.mode != ARTEL__MODE_TRAIN) return true;
    int64_t least = who->finished;
    for (int r = 0; r < s->seat.ranks; r++) {
        if (c->client[r].works && c->client[r].finished < least) least = c->client[r].finished;
    }
    return who->finished - least <= s->staleness;
}

/* The ticket that has waited longest of those that may be answered. */
static held *next_ticket(const coordinator *c, const artel__service *s, client **whose)
{
    held *first = NULL;
    for (int r = 0; r < s->seat.ranks; r++) {
        client *who = &c->client[r];
        for (int t = 0; who->works && t < ARTEL__MOST_TICKETS; t++) {
            held *h = &who->held[t];
            if (h->state != HELD || (first && first->arrived <= h->arrived) || !may_begin(c, s, who)) continue;
            first = h;
            *whose = who;
        }
    }
    return first;
}

static artel_status give(coordinator *c, client *who, held *h)
{
    artel__lane_head head = {.op = ARTEL__SERVE_TICKET, .install = c->installed.number};
    artel__net_piece piece[] = {{&h->item, sizeof h->item}, {c->installed.placed, (size_t)h->item.placed}};
    h->state = LEAVING;
    who->out++;
    who->since_ns = artel__now_ns();
    return artel__lane_judge(artel__lane_answer(&who->lane, &h->call, &head, piece, h->item.placed ? 2 : 1));
}

static held *oldest(client *who)
{
    held *first = NULL;
    for (int t = 0; t < ARTEL__MOST_TICKETS; t++) {
        held *h = &who->held[t];
        if (h->state == HELD && (!first || h->arrived < first->arrived)) first = h;
    }
    return first;
}

/* In sync nothing is begun that a callback may yet leave out. */
static bool may_follow(const coordinator *c, const client *who)
{
    return c->phase.mode != ARTEL__MODE_TRAIN || who->next <= c->phase.added || !artel__callbacks_may_end(c->fit);
}

/* Every worker is given every item, in the same order. */
static artel_status deal_to(coordinator *c, const artel__service *s, client *who)
{
    artel_status status = ARTEL_OK;
    if (who->serial != c->phase.serial) who->next = 0;
    who->serial = c->phase.serial;
    for (held *h;
         status == ARTEL_OK && who->next < c->phase.items && may_follow(c, who) && (h = oldest(who)) != NULL;) {
        artel__phase_item *item = &c->phase.item[who->next];
        if (item->state == ARTEL__ITEM_NEW) item->state = ARTEL__ITEM_OUT;
        fill_item(c, s, who->next++, &h->item);
        status = give(c, who, h);
    }
    return status;
}

/* Share k of the step in work; one without rows is left out. */
static artel_status give_share(coordinator *c, const artel__service *s, client *who, held *h, int k)
{
    int64_t i = c->phase.added, first, rows = artel__shares_rows(s, c->phase.item[i].count, k, &first);
    if (rows == 0) return ARTEL_OK;
    c->phase.item[i].state = ARTEL__ITEM_OUT;
    fill_item(c, s, i, &h->item);
    h->item.cursor += first;
    h->item.count = rows;
    h->item.ordinal = h->item.ordinal * artel__shares_count(s) + k;
    h->item.some = artel__shares_wanted(s, c->phase.item[i].count);
    h->item.share = k;
    who->owes = i + 1;
    who->share = k;
    c->shares.given++;
    return give(c, who, h);
}

/* Every worker is given its share of the step in work, once. */
static artel_status deal_share(coordinator *c, const artel__service *s, int rank)
{
    client *who = &c->client[rank];
    int k = 0;
    held *h = oldest(who);
    for (int r = 0; r < rank; r++) k += s->type[r] == ARTEL__TASK_WORKER;
    if (who->serial != c->phase.serial) who->next = 0;
    who->serial = c->phase.serial;
    if (!h || c->phase.added >= c->phase.items || who->next > c->phase.added) return ARTEL_OK;
    who->next = c->phase.added + 1;
    who->owes = 0;
    return give_share(c, s, who, h, k);
}

/* There are more shares than workers: the next one is for whoever has waited longest. */
static artel_status deal_shares(coordinator *c, const artel__service *s)
{
    artel_status status = ARTEL_OK;
    client *who;
    for (held *h; status == ARTEL_OK && c->phase.added < c->phase.items && c->shares.next < s->some &&
                  (h = next_ticket(c, s, &who)) != NULL;)
        status = give_share(c, s, who, h, c->shares.next++);
    return status;
}

static artel_status deal(coordinator *c, const artel__service *s)
{
    client *who;
    artel_status status = ARTEL_OK;
    bool some = s->some && c->phase.mode == ARTEL__MODE_TRAIN;
    if (some && s->some > s->workers) return deal_shares(c, s);
    for (int r = 0; some && r < s->seat.ranks && status == ARTEL_OK; r++) {
        if (c->client[r].works) status = deal_share(c, s, r);
    }
    if (some) return status;
    for (int r = 0; s->sync && r < s->seat.ranks && status == ARTEL_OK; r++) {
        if (c->client[r].works) status = deal_to(c, s, &c->client[r]);
    }
    for (held *h; !s->sync && status == ARTEL_OK && (h = next_ticket(c, s, &who)) != NULL;) {
        int64_t i = artel__phase_deal(&c->phase);
        if (i < 0) i = artel__phase_deal_again(&c->phase);
        if (i < 0) return ARTEL_OK;
        fill_item(c, s, i, &h->item);
        status = give(c, who, h);
    }
    return status;
}

static artel_status take_result(coordinator *c, const artel__service *s, client *who, held *h,
                                const artel__lane_head *head)
{
    bool drops = artel__shares_count(s) > s->some; /* else it had been taken, and was sent again */
    c->shares.late += drops && head->install == c->installed.number && head->b != 0;
    bool now = c->phase.open && head->install == c->installed.number && (artel__mode)head->a == c->phase.mode &&
               head->position == (uint64_t)c->phase.serial;
    if (!now) return ARTEL_OK; /* late: of a phase that is over, whose items may have the numbers of this one's */
    const double *values =
        artel__slot_data(&h->call, 0, 0, (size_t)(ARTEL__RESULT_VALUES + c->phase.stride) * sizeof(double));
    if (!values)
        return artel__fail(c->fit->ctx, ARTEL_ERROR_INVALID, "parameter servers",
                           "run the same artel, model and options everywhere",
                           "a worker's result does not fit this model's losses and metrics");
    const double *result = values + ARTEL__RESULT_VALUES;
    uint64_t i = head->item - c->phase.first;
    bool trains = c->phase.mode == ARTEL__MODE_TRAIN,
         fresh = i < (uint64_t)c->phase.items && c->phase.item[i].state != ARTEL__ITEM_DONE;
    if (trains && s->some && fresh) {
        bool whole = settles(who, i) && artel__shares_add(&c->shares, s, c->phase.item[i].count, who->share, result);
        if (!whole) return ARTEL_OK;
        result = c->shares.sum;
    }
    if (trains && fresh) {
        double updates = values[ARTEL__RESULT_STALENESS];
        artel__staleness_add(&c->staleness, updates > 0 && updates < 1e18 ? (uint64_t)updates : 0);
        who->finished++;
    }
    artel_status status = artel__phase_take(c->fit, &c->phase, head->item, result);
    if (c->shares.sum && result == c->shares.sum) artel__shares_clear(&c->shares);
    artel__mesh_stepped(s->cluster, (uint64_t)c->fit->at.step, 0); /* for artel status */
    return status;
}

static artel_status hear(coordinator *c, const artel__service *s, client *who, held *h)
{
    artel__lane_head head;
    ARTEL_TRY(artel__lane_take(&who->lane, &h->call, &head));
    h->state = HELD;
    h->arrived = c->arrivals++;
    if (!who->works) { /* one that comes later is not waited for as if it had been here */
        for (int r = 0; r < s->seat.ranks; r++) {
            if (c->client[r].works && (!who->works || c->client[r].finished < who->finished))
                who->finished = c->client[r].finished;
            who->works = who->works || c->client[r].works;
        }
        who->works = true;
    }
    if (head.op != ARTEL__SERVE_RESULT) return ARTEL_OK;
    who->out--;
    who->since_ns = c->heard_ns = artel__now_ns();
    return take_result(c, s, who, h, &head);
}

/* Nothing has come back for long, though nobody is lost: the worker that has had what it has for longest, or has asked
 * for nothing. */
static void say_slow(coordinator *c, const artel__service *s)
{
    const client *slow = NULL;
    int64_t now = artel__now_ns();
    if (now - c->heard_ns < REMIND_NS) return;
    for (int r = 0; r < s->seat.ranks; r++) {
        const client *who = &c->client[r];
        bool owes = who->out > 0 || (s->type[r] == ARTEL__TASK_WORKER && !who->works);
        if (owes && (!slow || who->since_ns < slow->since_ns)) slow = who;
    }
    if (!slow || now - slow->since_ns < REMIND_NS) return;
    c->heard_ns = now;
    artel__log(c->fit->ctx, ARTEL_LOG_NOTE, "waiting for %s, which has %s for %lld s",
               artel__mesh_title(s->cluster, s->task[slow->lane.peer]),
               slow->works ? "had a batch" : "asked for no batch", (long long)((now - slow->since_ns) / SECOND));
}

/* Moves the calls of one worker on. */
static artel_status look_at(coordinator *c, const artel__service *s, client *who, bool *did)
{
    bool expects = false;
    held *idle = NULL;
    for (int t = 0; t < ARTEL__MOST_TICKETS; t++) {
        held *h = &who->held[t];
        if (h->state == EXPECTED && artel__slot_arrived(&h->call)) {
            *did = true;
            artel_status status = hear(c, s, who, h);
            if (status != ARTEL_OK) return status;
        }
        if (h->state == LEAVING && artel__slot_left(&h->call)) {
            h->state = IDLE;
            *did = true;
        }
        expects = expects || h->state == EXPECTED;
        if (h->state == IDLE) idle = h;
    }
    if (expects || !idle) return ARTEL_OK;
    idle->state = EXPECTED;
    size_t most = ((size_t)ARTEL__RESULT_VALUES + (size_t)artel__tally_values(&c->fit->tally) +
                   (size_t)artel__tally_values(&c->fit->validation.tally)) *
                      sizeof(double) +
                  64;
    return artel__lane_judge(artel__lane_expect(&who->lane, &idle->call, most));
}

/* One round: hears all workers. Waits when there was nothing. */
static artel_status move(coordinator *c, const artel__service *s, bool wait)
{
    bool did = false;
    artel_status status = artel__service_move(s);
    for (int r = 0; r < s->seat.ranks && status == ARTEL_OK; r++) {
        if (s->type[r] == ARTEL__TASK_WORKER) status = look_at(c, s, &c->client[r], &did);
    }
    if (wait && !did) say_slow(c, s);
    return status == ARTEL_OK && wait && !did ? artel__service_wait(s) : status;
}

/* -- phases -- */

static void tell_staleness(coordinator *c)
{
    const artel__staleness *seen = &c->staleness;
    if (c->phase.mode != ARTEL__MODE_TRAIN || seen->count == 0) return;
    artel_event event = {.kind = ARTEL_EVENT_STALENESS,
                         .updates = (int64_t)seen->count,
                         .staleness_median = (int64_t)artel__staleness_at(seen, 0.5),
                         .staleness_90 = (int64_t)artel__staleness_at(seen, 0.9),
                         .staleness_most = (int64_t)seen->most};
    artel__log(c->fit->ctx, ARTEL_LOG_NOTE,
               "staleness of %lld updates: half at most %lld, 90 %% at most %lld, the most %lld",
               (long long)event.updates, (long long)event.staleness_median, (long long)event.staleness_90,
               (long long)event.staleness_most);
    artel__fit_event(c->fit, &event);
    c->former = c->staleness;
    c->staleness = (artel__staleness){.count = 0};
    if (c->shares.given)
        artel__log(c->fit->ctx, ARTEL_LOG_NOTE, "%lld of %lld gradients of workers came too late and were dropped",
                   (long long)c->shares.late, (long long)c->shares.given);
    c->shares.given = c->shares.late = 0;
}

static void count_items(const artel__phase_run *phase, long long *queue, long long *out)
{
    *queue = *out = 0;
    for (int64_t i = phase->added; i < phase->items; i++) {
        *queue += phase->item[i].state == ARTEL__ITEM_NEW;
        *out += phase->item[i].state == ARTEL__ITEM_OUT;
    }
}

/* For artel status. At the beginning of an epoch the staleness is still that of the one before. */
static void tell(coordinator *c, const artel__service *s)
{
    artel__telling *t = &c->telling;
    const artel__staleness *seen = c->staleness.count > 0 ? &c->staleness : &c->former;
    const artel__cluster *tasks = artel__mesh_tasks(s->cluster);
    const char *consistency = c->fit->options.consistency;
    long long queue, out;
    if (!artel__tell_due(t)) return;
    count_items(&c->phase, &queue, &out);
    artel__tell_begin(t, c->fit->ctx);
    artel__text_printf(&t->text, "\"consistency\": \"%s\", \"placement\": \"%s\", \"queue\": %lld, \"out\": %lld, ",
                       consistency ? consistency : "async", artel__part_placing_name(s->placing), queue, out);
    artel__text_printf(&t->text, "\"staleness\": {\"updates\": %lld, \"p50\": %lld, \"p90\": %lld, \"max\": %lld}, ",
                       (long long)seen->count, (long long)artel__staleness_at(seen, 0.5),
                       (long long)artel__staleness_at(seen, 0.9), (long long)seen->most);
    artel__text_printf(&t->text, "\"shares\": %lld, \"late\": %lld, ", (long long)c->shares.given,
                       (long long)c->shares.late);
    if (c->fit->job.workers) artel__text_printf(&t->text, "\"arithmetic\": \"%s\", ", c->fit->job.workers);
    if (c->installed.before > 0)
        artel__text_printf(&t->text, "\"traffic\": {\"before\": %.2f, \"after\": %.2f}, ", c->installed.before,
                           c->installed.after);
    artel__tell_parts(t);
    for (int i = 0; i < c->installed.parts; i++) {
        const artel__installed_part *p = &c->installed.part[i];
        artel__told_part told = {
            i,   artel__division_bytes(&c->installed.division, i), NULL, tasks->task[p->task].index, {0}, p->copies, -1,
            NULL};
        for (int k = 0; k < p->copies; k++) told.copy[k] = tasks->task[p->copy[k]].index;
        artel__tell_part(t, &told);
    }
    artel__tell_end(t, s->cluster);
}

static artel_status run_phase(coordinator *c, const artel__service *s)
{
    artel_status status = ARTEL_OK;
    while (status == ARTEL_OK && !artel__phase_is_done(&c->phase)) {
        status = deal(c, s);
        tell(c, s);
        if (status == ARTEL_OK) status = move(c, s, true);
    }
    if (status != ARTEL_OK) return status;
    if (c->phase.mode == ARTEL__MODE_TRAIN) status = artel__installed_fetch(&c->installed, s);
    if (status == ARTEL_OK && c->phase.owes) status = artel__fit_confirm(c->fit);
    if (status != ARTEL_OK) return status;
    ARTEL_TRY(artel__phase_pay(c->fit, &c->phase));
    tell_staleness(c);
    bool steps = c->phase.mode == ARTEL__MODE_TRAIN && c->fit->at.step_in_epoch < c->fit->input.steps_per_epoch;
    bool balances = c->phase.mode == ARTEL__MODE_TRAIN && !steps;
    artel__phase_close(c->fit, &c->phase);
    if (steps) return artel__checkpointer_unit(c->fit);
    return balances ? artel__installed_balance(&c->installed, s) : ARTEL_OK;
}

/* Answers a worker's tickets: there are no more items. Adds to *left what is still to be said or on its way. */
static artel_status end_worker(client *who, int tickets, int *left)
{
    for (int t = 0; t < ARTEL__MOST_TICKETS; t++) {
        held *h = &who->held[t];
        artel__lane_head head = {.op = ARTEL__SERVE_TICKET, .flags = ARTEL__ANSWER_END};
        if (h->state == HELD) {
            h->state = LEAVING;
            who->told++;
            artel_status status = artel__lane_judge(artel__lane_answer(&who->lane, &h->call, &head, NULL, 0));
            if (status != ARTEL_OK) return status;
        }
        *left += h->state == LEAVING;
    }
    *left += tickets - who->told;
    return ARTEL_OK;
}

/* Tells workers and servers that nothing follows. */
static artel_status say_end(coordinator *c, const artel__service *s)
{
    artel_status status = ARTEL_OK;
    for (int left = 1; status == ARTEL_OK;) {
        left = 0;
        for (int r = 0; r < s->seat.ranks && status == ARTEL_OK; r++) {
            if (s->type[r] == ARTEL__TASK_WORKER) status = end_worker(&c->client[r], artel__service_tickets(s), &left);
        }
        if (status != ARTEL_OK || left == 0) break;
        status = move(c, s, true);
    }
    return status == ARTEL_OK ? artel__installed_end(&c->installed, s) : status;
}

static artel_status coordinate(coordinator *c, const artel__service *s)
{
    artel_status status = ARTEL_OK;
    c->met = false;
    artel__installed_enter(&c->installed, s);
    status = artel__installed_meet(&c->installed, s);
    c->met = status == ARTEL_OK;
    if (!c->fit->at.ended && status == ARTEL_OK) /* else nobody needs a part any more */
        status = artel__installed_look_after(&c->installed, s, &c->phase);
    if (status != ARTEL_OK) return status;
    ARTEL_TRY(artel__checkpointer_again(c->fit));
    artel__phase_recall(&c->phase);
    ARTEL_TRY(artel__shares_begin(&c->shares, c->fit, s));
    artel__fit_say_start(c->fit);
    while (!c->fit->at.ended) {
        if (!c->phase.open) { /* epochs end there, with what callbacks and checkpoints write */
            status = artel__fit_confirm(c->fit);
            if (status != ARTEL_OK) return status;
            ARTEL_TRY(artel__phase_open_next(c->fit, &c->phase));
        }
        if (c->fit->at.ended) break;
        status = run_phase(c, s);
        if (status != ARTEL_OK) return status;
    }
    return say_end(c, s);
}

/* A callback, a file: whoever starts the chief again meets it again. But it is not for one to say that has been
 * replaced.
 */
static void end_job(const coordinator *c, const artel__service *s, artel_status status)
{
    if (c->met && artel__fit_confirm(c->fit) == ARTEL_OK) artel__service_fail_job(s, status);
}

artel_status artel__coordinate(artel__service *s, void *user)
{
    coordinator *c = user;
    void *block;
    ARTEL_TRY(artel__calloc(c->fit->ctx, (size_t)s->seat.ranks, sizeof *c->client, "coordinator", &block));
    c->client = block;
    for (int r = 0; r < s->seat.ranks; r++) {
        c->client[r].lane = artel__service_lane(s, r);
        c->client[r].since_ns = artel__now_ns();
    }
    artel_status status = coordinate(c, s);
    if (status < 0) end_job(c, s, status);
    for (int r = 0; r < s->seat.ranks; r++) {
        for (int t = 0; t < ARTEL__MOST_TICKETS; t++) {
            artel__lane_withdraw(&c->client[r].lane, &c->client[r].held[t].call);
            artel__slot_fini(c->fit->ctx, &c->client[r].held[t].call);
        }
    }
    artel__free(c->fit->ctx, c->client);
    c->client = NULL;
    return status;
}

void artel__coordinator_go_back(artel__fit *fit, void *user)
{
    coordinator *c = user;
    c->installed.number = 0; /* what servers have is newer */
    artel__phase_go_back(fit, &c->phase);
}

artel_status artel__coordinator_create(artel__fit *fit, void **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(fit->ctx, 1, sizeof(coordinator), "coordinator", &block));
    coordinator *c = block;
    c->fit = fit;
    artel__installed_init(&c->installed, fit);
    *out = c;
    return ARTEL_OK;
}

void artel__coordinator_destroy(artel__fit *fit, void *user)
{
    coordinator *c = user;
    if (!c) return;
    artel__phase_close(fit, &c->phase);
    artel__installed_fini(&c->installed);
    artel__shares_fini(&c->shares, fit->ctx);
    artel__free(fit->ctx, c);
}
