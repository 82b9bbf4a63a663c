/* SPDX-License-Identifier: Apache-2.0 */
/* What a server's driver does around a holder (ps/holder.h): carries messages, keeps the state, moves copies, answers
 * clients; and the mistakes. */
#include "help_world_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

typedef struct place {
    world *w;
    uint32_t task;
} place;

static place *place_of(world *w, uint32_t task)
{
    static place all[WORLD_TASKS];
    all[task] = (place){w, task};
    return &all[task];
}

/* -- a holder's functions -- */

static void apply(void *user, uint32_t part, const artel__log_entry *entry, const void *payload)
{
    (void)payload;
    place *at = user;
    world *w = at->w;
    store *s = &w->process[at->task].part[part];
    uint32_t item = (uint32_t)entry->client;
    if (entry->position != s->length + 1 || s->length == WORLD_LONGEST) {
        world_fail(w, "task %u part %u applies position %u after %u", at->task, part, (unsigned)entry->position,
                   s->length);
        return;
    }
    s->list[s->length++] = item;
}

static uint64_t digest(void *user, uint32_t part)
{
    place *at = user;
    const store *s = &at->w->process[at->task].part[part];
    return artel__hash64(s->list, s->length * sizeof *s->list);
}

static void send_control(void *user, uint32_t task, const uint8_t *bytes, size_t count)
{
    place *at = user;
    world_send(at->w, 0, at->task, task, bytes, count);
}

static void send_data(void *user, uint32_t task, const artel__log_message *message)
{
    place *at = user;
    uint8_t bytes[1 + ARTEL__PS_LOG_BYTES] = {WORD_LOG};
    world_send(at->w, 1, at->task, task, bytes, 1 + artel__ps_log_write(message, bytes + 1));
}

static void answer_client(world *w, uint32_t task, uint32_t client, uint32_t part, uint32_t item,
                          artel__log_answer answer)
{
    uint8_t bytes[32], *at = artel__bytes_put(bytes, WORD_ANSWER, 1);
    at = artel__bytes_put(at, part, 1);
    at = artel__bytes_put(at, item, 4);
    at = artel__bytes_put(at, answer, 1);
    at = artel__bytes_put(at, w->process[task].holding->start.counter, 4);
    at = artel__bytes_put(at, w->process[task].holding->start.incarnation, 8);
    world_send(w, 1, task, client, bytes, (size_t)(at - bytes));
}

static void answer(void *user, uint32_t part, const artel__log_entry *entry, artel__log_answer answer)
{
    place *at = user;
    uint32_t item = (uint32_t)entry->client;
    world_acknowledge(at->w, at->task, part, item, entry->position, false);
    answer_client(at->w, at->task, entry->source, part, item, answer);
}

static void ask_copy(void *user, uint32_t part, uint32_t from, uint64_t epoch, bool levelling)
{
    place *p = user;
    uint8_t bytes[16], *at = artel__bytes_put(bytes, WORD_COPY, 1);
    at = artel__bytes_put(at, part, 1);
    at = artel__bytes_put(at, levelling, 1);
    at = artel__bytes_put(at, epoch, 8);
    world_send(p->w, 1, p->task, from, bytes, (size_t)(at - bytes));
}

/* The checkpoint is the empty list; loading it takes a while. */
static void begin(void *user, uint32_t part, uint64_t epoch, uint64_t origin)
{
    (void)origin;
    place *at = user;
    event *e = world_post(at->w, at->w->now + (int64_t)world_draw(at->w, 3 * WORLD_MS), EVENT_BEGUN, at->task);
    e->from = part;
    e->a = epoch;
}

static void drop(void *user, uint32_t part)
{
    place *at = user;
    at->w->process[at->task].part[part].length = 0;
}

static void differ(void *user, uint32_t part, uint64_t position)
{
    place *at = user;
    world_fail(at->w, "task %u part %u differs at position %u", at->task, part, (unsigned)position);
}

static void release(void *user, void *payload)
{
    (void)user, (void)payload;
}

static void see_view(void *user, const artel__view *view, bool serves)
{
    place *at = user;
    world *w = at->w;
    if (!serves) return;
    int order = artel__ballot_compare(view->start, w->start);
    if (order < 0) world_fail(w, "task %u serves a view of an old start", at->task);
    if (order > 0) {
        if (w->start.counter) w->sum.fallbacks++;
        w->start = view->start;
        memset(w->truth, 0, sizeof w->truth);
        memset(w->finished, 0, sizeof w->finished);
        for (uint32_t t = 0; t < w->tasks; t++) w->process[t].item = w->process[t].done = 0;
    }
    if (view->epoch > w->last_view) {
        w->last_view = view->epoch;
        w->sum.views++;
    }
    world_post(w, w->now, EVENT_SERVED, at->task);
}

static void report(void *user, artel__holding_action_kind kind, uint32_t part, const char *text)
{
    (void)user, (void)kind, (void)part, (void)text;
}

/* -- mistakes -- */

/* PROMISE: bytes as on the wire (holding_wire.c). */
static void plant(world *w, uint32_t task, const artel__holding_action *a)
{
    uint32_t length = 0;
    uint8_t bytes[MESSAGE_MOST];
    if (a->count > sizeof bytes) abort();
    memcpy(bytes, a->bytes, a->count);
    if (w->options.mistake == WORLD_AMNESIA) bytes[1] |= ARTEL__HOLDING_REMEMBERS;
    for (uint32_t i = 0; i < w->options.parts; i++) length += w->process[task].part[i].length;
    if (w->options.mistake == WORLD_LONGEST_WINS && a->count > ARTEL__HOLDING_HEAD_BYTES + ARTEL__HOLDING_VIEW_BYTES)
        artel__bytes_put(bytes + ARTEL__HOLDING_HEAD_BYTES, 1 + length, 4);
    world_send(w, 0, task, a->task, bytes, a->count);
}

/* Says that it is level, and goes on in the old view until the new one is in force. Newcomers level as they should. */
static bool accept_late(world *w, uint32_t task, const artel__holding_action *a)
{
    process *p = &w->process[task];
    for (uint32_t i = 0; i < w->options.parts; i++)
        if (artel__chain_find(&a->view->chain[i], task) >= 0 &&
            (a->fresh || p->holding->part[i] != ARTEL__HOLDING_LEVEL))
            return false;
    for (uint32_t i = 0; i < w->options.parts; i++) {
        if (artel__chain_find(&a->view->chain[i], task) < 0) continue;
        event *e = world_post(w, w->now, EVENT_LEVEL, task);
        e->from = i;
        e->a = a->view->ballot.counter;
        e->b = a->view->ballot.incarnation;
    }
    return true;
}

static void trace(const world *w, uint32_t task, const artel__holding_action *a)
{
    static const char *const name[] = {"send", "fence", "accept", "serve",     "drop",
                                       "copy", "learn", "lost",   "fall back", "report"};
    if (a->kind == ARTEL__HOLDING_SEND) return;
    printf("%9.3f task %u %s part %u %s\n", (double)w->now / 1e6, task, name[a->kind], a->part, a->text ? a->text : "");
    for (uint32_t i = 0; a->view && i < w->options.parts; i++)
        printf("            ballot %u part %u: %u of %u\n", a->view->ballot.counter, i, a->view->chain[i].task[0],
               a->view->chain[i].holders);
}

/* False: the order is not performed. */
static bool filter(void *user, const artel__holding_action *a)
{
    place *at = user;
    world *w = at->w;
    process *p = &w->process[at->task];
    world_mistake m = w->options.mistake;
    if (w->options.trace) trace(w, at->task, a);
    if (a->kind == ARTEL__HOLDING_SEND && (m == WORLD_AMNESIA || m == WORLD_LONGEST_WINS) &&
        a->bytes[0] == ARTEL__HOLDING_PROMISE) {
        plant(w, at->task, a);
        return false;
    }
    for (uint32_t i = 0; i < w->options.parts && a->kind == ARTEL__HOLDING_ACCEPT && a->fresh; i++)
        p->part[i].length = 0;
    if (m == WORLD_STALE_COPY && a->kind == ARTEL__HOLDING_COPY_FROM) p->stale |= (uint8_t)(1 << a->part);
    if (m == WORLD_STALE_COPY) return a->kind != ARTEL__HOLDING_DROP && a->kind != ARTEL__HOLDING_COPY_FROM;
    if (m != WORLD_NO_FENCE) return true;
    if (a->kind == ARTEL__HOLDING_FENCE) return false;
    if (a->kind == ARTEL__HOLDING_ACCEPT) return !(p->late = accept_late(w, at->task, a));
    if (a->kind == ARTEL__HOLDING_SERVE && p->late) {
        p->late = false;
        artel__holder_perform(p->holder, &(artel__holding_action){.kind = ARTEL__HOLDING_ACCEPT, .view = a->view});
    }
    return true;
}

static const artel__holder_ops ops = {.control = send_control,
                                      .data = send_data,
                                      .ask_copy = ask_copy,
                                      .apply = apply,
                                      .digest = digest,
                                      .answer = answer,
                                      .begin = begin,
                                      .drop = drop,
                                      .differ = differ,
                                      .release = release,
                                      .view = see_view,
                                      .report = report,
                                      .filter = filter};

/* -- life -- */

void driver_begin(world *w, uint32_t task)
{
    static uint8_t alone[WORLD_TASKS][WORLD_TASKS];
    process *p = &w->process[task];
    artel__holder_config c = {
        .batches = WORLD_ITEMS, .nudge_ns = 40 * WORLD_MS, .ops = &ops, .user = place_of(w, task)};
    c.holding = (artel__holding_config){.tasks = w->tasks,
                                        .self = task,
                                        .parts = w->options.parts,
                                        .incarnation = p->life,
                                        .counter = (uint32_t)(w->now / WORLD_MS),
                                        .votes = w->votes,
                                        .server = w->server,
                                        .first = w->first,
                                        .copies = w->options.copies,
                                        .suspect_after_ns = 200 * WORLD_MS};
    if (w->options.mistake == WORLD_NO_MAJORITY && w->votes[task]) {
        memset(alone[task], 0, sizeof alone[task]);
        alone[task][task] = 1;
        c.holding.votes = alone[task];
    }
    if (artel__holder_create(w->ctx, &c, &p->holder) < 0) abort();
    p->holding = artel__holder_views(p->holder);
    p->heard = 0;
    p->item = p->done = p->stale = 0;
    p->late = false;
    memset(p->asked, 0, sizeof p->asked);
    for (uint32_t i = 0; i < w->options.parts; i++) p->part[i] = (store){.log = artel__holder_log(p->holder, i)};
}

void driver_end(world *w, uint32_t task)
{
    process *p = &w->process[task];
    artel__holder_destroy(p->holder);
    p->holder = NULL;
    p->holding = NULL;
}

void driver_tick(world *w, uint32_t task)
{
    process *p = &w->process[task];
    const artel__view *known;
    artel__holder_tick(p->holder, w->now);
    known = artel__holding_known(p->holding);
    for (uint32_t i = 0; i < w->options.parts; i++) {
        if (p->stale >> i & 1) artel__holding_copied(p->holding, w->now, known->ballot, i);
        if (w->options.mistake == WORLD_NO_FENCE && !p->late && artel__holding_serving(p->holding))
            artel__part_log_serve(p->part[i].log, artel__holding_serving(p->holding)->epoch);
    }
    p->stale = 0;
}

void driver_begun(world *w, uint32_t task, uint32_t part, uint64_t epoch)
{
    process *p = &w->process[task];
    if (p->holding->accepted.epoch == epoch) p->part[part].length = 0;
    artel__holder_begun(p->holder, w->now, part, epoch);
}

/* Whoever comes into service has at each position what was acknowledged there. A holder that does not serve may have an
 * entry that nobody else has. */
void driver_served(world *w, uint32_t task)
{
    for (uint32_t part = 0; part < w->options.parts; part++) {
        const store *s = &w->process[task].part[part];
        for (uint32_t i = 0; i < s->length && artel__part_log_serves(s->log); i++) {
            uint32_t known = w->truth[part].at[i + 1];
            if (known && known != 1 + s->list[i])
                world_fail(w, "task %u part %u serves item %u at position %u, where %u was acknowledged", task, part,
                           s->list[i], i + 1, known - 1);
        }
    }
}

/* -- data -- */

static void on_push(world *w, uint32_t task, uint32_t from, uint32_t part, uint64_t epoch, uint32_t item)
{
    store *s = &w->process[task].part[part];
    uint64_t position;
    artel__log_entry e = {
        .client = item, .item = item, .kind = ARTEL__LOG_GRADIENT, .flags = ARTEL__LOG_STEP, .source = (uint16_t)from};
    if (w->options.mistake == WORLD_NO_TABLE) {
        e.item = ARTEL__NO_ITEM;
        e.sequence = ++w->order;
    }
    artel__log_answer a = artel__holder_push(w->process[task].holder, w->now, part, epoch, &e, NULL, &position);
    if (a == ARTEL__LOG_WAIT && w->options.mistake == WORLD_ACK_EARLY) {
        world_acknowledge(w, task, part, item, position, false);
        answer_client(w, task, from, part, item, ARTEL__LOG_ACK);
    }
    if (a == ARTEL__LOG_WAIT) return;
    if (a == ARTEL__LOG_ALREADY) {
        for (position = 1; position <= s->length && s->list[position - 1] != item;) position++;
        world_acknowledge(w, task, part, item, position, true);
    }
    answer_client(w, task, from, part, item, a);
}

static void give_copy(world *w, uint32_t task, uint32_t from, uint32_t part, bool levelling, uint64_t epoch)
{
    process *p = &w->process[task];
    store *s = &p->part[part];
    uint8_t bytes[MESSAGE_MOST], *at;
    if (!artel__holder_may_copy(p->holder, part, epoch, levelling)) return;
    size_t table = artel__part_log_bytes(s->log);
    if (table + 4 * s->length + 32 > sizeof bytes) abort();
    at = artel__bytes_put(bytes, WORD_STATE, 1);
    at = artel__bytes_put(at, part, 1);
    at = artel__bytes_put(at, levelling, 1);
    at = artel__bytes_put(at, epoch, 8);
    at = artel__bytes_put(at, table, 4);
    artel__part_log_save(s->log, at);
    at += table;
    at = artel__bytes_put(at, s->length, 4);
    for (uint32_t i = 0; i < s->length; i++) at = artel__bytes_put(at, s->list[i], 4);
    world_send(w, 1, task, from, bytes, (size_t)(at - bytes));
}

static void take_copy(world *w, uint32_t task, uint32_t part, bool levelling, uint64_t epoch, const uint8_t *at)
{
    process *p = &w->process[task];
    store *s = &p->part[part];
    if (!artel__holder_wants(p->holder, part, epoch, levelling)) return;
    size_t table = (size_t)artel__bytes_take(&at, 4);
    const uint8_t *list = at + table;
    s->length = (uint32_t)artel__bytes_take(&list, 4);
    for (uint32_t i = 0; i < s->length; i++) s->list[i] = (uint32_t)artel__bytes_take(&list, 4);
    if (artel__holder_copied(p->holder, w->now, part, epoch, levelling, at, table))
        world_fail(w, "task %u: a copy's table is damaged", task);
    if (artel__part_log_applied(s->log) != s->length)
        world_fail(w, "task %u: a copy's table is of another position", task);
}

void driver_data(world *w, uint32_t task, uint32_t from, const uint8_t *bytes, size_t count)
{
    process *p = &w->process[task];
    const uint8_t *at = bytes + 1;
    artel__log_message m;
    if (bytes[0] == WORD_LOG) {
        if (artel__ps_log_read(at, count - 1, w->options.parts, &m))
            world_fail(w, "a log's message cannot be read");
        else
            artel__holder_data(p->holder, w->now, from, &m, NULL);
        return;
    }
    uint32_t part = *at++;
    switch (bytes[0]) {
    case WORD_PUSH: {
        uint64_t epoch = artel__bytes_take(&at, 8);
        on_push(w, task, from, part, epoch, (uint32_t)artel__bytes_take(&at, 4));
        return;
    }
    case WORD_ANSWER: {
        uint32_t item = (uint32_t)artel__bytes_take(&at, 4);
        artel__log_answer a = (artel__log_answer)*at++;
        artel__generation_id start = {.counter = (uint32_t)artel__bytes_take(&at, 4)};
        start.incarnation = artel__bytes_take(&at, 8);
        if (artel__ballot_compare(start, w->start) == 0) client_answer(w, task, part, item, a, 0);
        return;
    }
    case WORD_COPY: {
        bool levelling = *at++;
        give_copy(w, task, from, part, levelling, artel__bytes_take(&at, 8));
        return;
    }
    default: {
        bool levelling = *at++;
        uint64_t epoch = artel__bytes_take(&at, 8);
        take_copy(w, task, part, levelling, epoch, at);
    }
    }
}
