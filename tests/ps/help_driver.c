/* SPDX-License-Identifier: Apache-2.0 */
/* What a server's driver does: joins the view machine to the logs, moves copies, answers clients. */
#include "help_world_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

typedef struct place {
    world *w;
    uint32_t task, part;
} place;

static place *place_of(world *w, uint32_t task, uint32_t part)
{
    static place all[WORLD_TASKS][WORLD_PARTS];
    all[task][part] = (place){w, task, part};
    return &all[task][part];
}

/* -- a log's functions -- */

static void apply(void *user, const artel__log_entry *entry, const void *payload)
{
    (void)payload;
    place *at = user;
    world *w = at->w;
    store *s = &w->process[at->task].part[at->part];
    uint32_t item = (uint32_t)entry->client;
    if (entry->position != s->length + 1 || s->length == WORLD_LONGEST) {
        world_fail(w, "task %u part %u applies position %u after %u", at->task, at->part, (unsigned)entry->position, s->length);
        return;
    }
    s->list[s->length++] = item;
}

static uint64_t digest(void *user)
{
    place *at = user;
    const store *s = &at->w->process[at->task].part[at->part];
    return artel__hash64(s->list, s->length * sizeof *s->list);
}

static void send_log(void *user, uint32_t task, const artel__log_message *message)
{
    place *at = user;
    uint8_t bytes[1 + ARTEL__PS_LOG_BYTES] = {WORD_LOG};
    world_send(at->w, 1, at->task, task, bytes, 1 + artel__ps_log_write(message, bytes + 1));
}

static void answer_client(world *w, uint32_t task, uint32_t client, uint32_t part, uint32_t item, artel__log_answer answer)
{
    uint8_t bytes[32], *at = artel__bytes_put(bytes, WORD_ANSWER, 1);
    at = artel__bytes_put(at, part, 1);
    at = artel__bytes_put(at, item, 4);
    at = artel__bytes_put(at, answer, 1);
    at = artel__bytes_put(at, w->process[task].holding->start.counter, 4);
    at = artel__bytes_put(at, w->process[task].holding->start.incarnation, 8);
    world_send(w, 1, task, client, bytes, (size_t)(at - bytes));
}

static void answer(void *user, const artel__log_entry *entry, artel__log_answer answer)
{
    place *at = user;
    uint32_t item = (uint32_t)entry->client;
    world_acknowledge(at->w, at->task, at->part, item, entry->position, false);
    answer_client(at->w, at->task, entry->source, at->part, item, answer);
}

static void level(void *user, uint64_t epoch)
{
    place *at = user;
    store *s = &at->w->process[at->task].part[at->part];
    if (s->serve_epoch == epoch) artel__part_log_serve(s->log, epoch);
    artel__generation_id ballot = at->w->process[at->task].accepted;
    event *e = world_post(at->w, at->w->now, EVENT_LEVEL, at->task);
    e->from = at->part;
    e->a = ballot.counter;
    e->b = ballot.incarnation;
}

static void ask_copy(world *w, uint32_t task, uint32_t part)
{
    const store *s = &w->process[task].part[part];
    uint8_t bytes[16], *at = artel__bytes_put(bytes, WORD_COPY, 1);
    at = artel__bytes_put(at, part, 1);
    at = artel__bytes_put(at, s->copy_levelling, 1);
    at = artel__bytes_put(at, s->copy_epoch, 8);
    world_send(w, 1, task, s->copy_from, bytes, (size_t)(at - bytes));
}

static void copy(void *user, uint64_t epoch, uint32_t from)
{
    place *at = user;
    store *s = &at->w->process[at->task].part[at->part];
    s->copy_epoch = epoch;
    s->copy_from = from;
    s->copy_levelling = true;
    ask_copy(at->w, at->task, at->part);
}

static void differ(void *user, uint64_t position)
{
    place *at = user;
    world_fail(at->w, "task %u part %u differs at position %u", at->task, at->part, (unsigned)position);
}

static void release(void *user, void *payload)
{
    (void)user, (void)payload;
}

static const artel__part_log_ops ops = {.apply = apply,
                                        .digest = digest,
                                        .send = send_log,
                                        .answer = answer,
                                        .level = level,
                                        .copy = copy,
                                        .differ = differ,
                                        .release = release};

/* -- orders of the view machine -- */

static void accept_view(world *w, uint32_t task, const artel__holding_action *a)
{
    process *p = &w->process[task];
    p->accepted = a->view->ballot;
    for (uint32_t i = 0; i < w->options.parts; i++) {
        store *s = &p->part[i];
        const artel__chain *c = &a->view->chain[i];
        s->copy_epoch = 0;
        if (a->fresh) {
            s->length = 0;
            artel__part_log_reset(s->log);
        }
        s->late = w->options.mistake == WORLD_NO_FENCE && p->holding->part[i] == ARTEL__HOLDING_LEVEL && artel__chain_find(c, task) >= 0;
        if (s->late)
            level(place_of(w, task, i), a->view->epoch);
        else
            artel__part_log_accept(s->log, a->view->epoch, c->task, c->holders);
    }
}

/* Whoever comes into service has at each position what was acknowledged there. A holder that does not serve may have an entry that nobody
 * else has. */
static void check_served(world *w, uint32_t task, uint32_t part)
{
    const store *s = &w->process[task].part[part];
    for (uint32_t i = 0; i < s->length; i++) {
        uint32_t known = w->truth[part].at[i + 1];
        if (known && known != 1 + s->list[i])
            world_fail(w, "task %u part %u serves item %u at position %u, where %u was acknowledged", task, part, s->list[i], i + 1,
                       known - 1);
    }
}

static void serve_view(world *w, uint32_t task, const artel__holding_action *a)
{
    int order = artel__ballot_compare(a->view->start, w->start);
    if (order < 0) world_fail(w, "task %u serves a view of an old start", task);
    if (order > 0) {
        if (w->start.counter) w->sum.fallbacks++;
        w->start = a->view->start;
        memset(w->truth, 0, sizeof w->truth);
        memset(w->finished, 0, sizeof w->finished);
        for (uint32_t t = 0; t < w->tasks; t++) w->process[t].item = w->process[t].done = 0;
    }
    if (a->view->epoch > w->last_view) {
        w->last_view = a->view->epoch;
        w->sum.views++;
    }
    for (uint32_t i = 0; i < w->options.parts; i++) {
        store *s = &w->process[task].part[i];
        const artel__chain *c = &a->view->chain[i];
        s->serve_epoch = s->late ? a->view->epoch : 0;
        if (s->late) artel__part_log_accept(s->log, a->view->epoch, c->task, c->holders);
        s->late = false;
        artel__part_log_serve(w->process[task].part[i].log, a->view->epoch);
        if (artel__part_log_serves(w->process[task].part[i].log)) check_served(w, task, i);
    }
}

/* PROMISE: bytes as on the wire (holding_wire.c). */
static void plant(world *w, uint32_t task, uint8_t *bytes, size_t count)
{
    uint32_t length = 0;
    if (bytes[0] != ARTEL__HOLDING_PROMISE) return;
    if (w->options.mistake == WORLD_AMNESIA) bytes[1] |= ARTEL__HOLDING_REMEMBERS;
    for (uint32_t i = 0; i < w->options.parts; i++) length += w->process[task].part[i].length;
    if (w->options.mistake == WORLD_LONGEST_WINS && count > ARTEL__HOLDING_HEAD_BYTES + ARTEL__HOLDING_VIEW_BYTES)
        artel__bytes_put(bytes + ARTEL__HOLDING_HEAD_BYTES, 1 + length, 4);
}

static void act(void *user, const artel__holding_action *a)
{
    place *at = user;
    world *w = at->w;
    uint32_t task = at->task;
    process *p = &w->process[task];
    uint8_t bytes[MESSAGE_MOST];
    if (w->options.trace && a->kind != ARTEL__HOLDING_SEND) {
        static const char *const name[] = {"send", "fence", "accept", "serve", "drop", "copy", "learn", "lost", "fall back", "report"};
        printf("%9.3f task %u %s part %u %s\n", (double)w->now / 1e6, task, name[a->kind], a->part, a->text ? a->text : "");
        for (uint32_t i = 0; a->view && i < w->options.parts; i++)
            printf("            ballot %u part %u: %u of %u\n", a->view->ballot.counter, i, a->view->chain[i].task[0],
                   a->view->chain[i].holders);
    }
    switch (a->kind) {
    case ARTEL__HOLDING_SEND:
        if (a->count > sizeof bytes) abort();
        memcpy(bytes, a->bytes, a->count);
        plant(w, task, bytes, a->count);
        world_send(w, 0, task, a->task, bytes, a->count);
        break;
    case ARTEL__HOLDING_FENCE:
        for (uint32_t i = 0; i < w->options.parts && w->options.mistake != WORLD_NO_FENCE; i++) artel__part_log_fence(p->part[i].log);
        break;
    case ARTEL__HOLDING_ACCEPT: accept_view(w, task, a); break;
    case ARTEL__HOLDING_SERVE: serve_view(w, task, a); break;
    case ARTEL__HOLDING_DROP:
        if (w->options.mistake == WORLD_STALE_COPY) break;
        p->part[a->part].length = 0;
        artel__part_log_fence(p->part[a->part].log);
        artel__part_log_reset(p->part[a->part].log);
        break;
    case ARTEL__HOLDING_COPY_FROM:
        p->part[a->part].copy_epoch = a->view->epoch;
        p->part[a->part].copy_from = a->task;
        p->part[a->part].copy_levelling = false;
        ask_copy(w, task, a->part);
        break;
    default: break;
    }
}

/* -- life -- */

void driver_begin(world *w, uint32_t task)
{
    static uint8_t alone[WORLD_TASKS][WORLD_TASKS];
    process *p = &w->process[task];
    artel__holding_config c = {.tasks = w->tasks,
                               .self = task,
                               .parts = w->options.parts,
                               .incarnation = p->life,
                               .counter = (uint32_t)(w->now / WORLD_MS),
                               .votes = w->votes,
                               .server = w->server,
                               .first = w->first,
                               .copies = w->options.copies,
                               .suspect_after_ns = 200 * WORLD_MS,
                               .act = act,
                               .user = place_of(w, task, 0)};
    if (w->options.mistake == WORLD_NO_MAJORITY && w->votes[task]) {
        memset(alone[task], 0, sizeof alone[task]);
        alone[task][task] = 1;
        c.votes = alone[task];
    }
    if (artel__holding_create(w->ctx, &c, &p->holding) < 0) abort();
    p->accepted = (artel__generation_id){0};
    p->heard = 0;
    p->item = p->done = 0;
    memset(p->asked, 0, sizeof p->asked);
    for (uint32_t i = 0; i < w->options.parts; i++) {
        p->part[i] = (store){0};
        artel__part_log_config lc = {.part = i, .self = task, .batches = WORLD_ITEMS, .ops = &ops, .user = place_of(w, task, i)};
        if (artel__part_log_create(w->ctx, &lc, &p->part[i].log) < 0) abort();
    }
}

void driver_end(world *w, uint32_t task)
{
    process *p = &w->process[task];
    artel__holding_destroy(p->holding);
    p->holding = NULL;
    for (uint32_t i = 0; i < w->options.parts; i++) {
        artel__part_log_destroy(p->part[i].log);
        p->part[i].log = NULL;
    }
}

/* A copy that is still wanted is asked for again. */
static void pursue_copy(world *w, uint32_t task, uint32_t part)
{
    process *p = &w->process[task];
    store *s = &p->part[part];
    const artel__view *known = artel__holding_known(p->holding);
    uint64_t epoch = s->copy_levelling ? artel__ballot_epoch(p->accepted) : known ? known->epoch : 0;
    if (s->copy_epoch != epoch) s->copy_epoch = 0;
    if (!s->copy_epoch) return;
    if (w->options.mistake == WORLD_STALE_COPY && !s->copy_levelling) {
        s->copy_epoch = 0;
        artel__holding_copied(p->holding, w->now, known->ballot, part);
        return;
    }
    ask_copy(w, task, part);
}

void driver_tick(world *w, uint32_t task)
{
    process *p = &w->process[task];
    artel__holding_tick(p->holding, w->now);
    bool nudge = w->now - p->nudged >= 40 * WORLD_MS;
    if (nudge) p->nudged = w->now;
    for (uint32_t i = 0; i < w->options.parts; i++) {
        uint32_t silent = 0;
        if (p->part[i].copy_epoch) pursue_copy(w, task, i);
        if (nudge && artel__part_log_nudge(p->part[i].log, &silent)) artel__holding_complain(p->holding, w->now, silent);
    }
}

void driver_control(world *w, uint32_t task, uint32_t from, const uint8_t *bytes, size_t count)
{
    artel__holding_receive(w->process[task].holding, w->now, from, bytes, count);
}

/* -- data -- */

static void on_push(world *w, uint32_t task, uint32_t from, uint32_t part, uint64_t epoch, uint32_t item)
{
    store *s = &w->process[task].part[part];
    uint64_t position;
    artel__log_entry e = {.client = item, .item = item, .kind = ARTEL__LOG_GRADIENT, .flags = ARTEL__LOG_STEP, .source = (uint16_t)from};
    if (w->options.mistake == WORLD_NO_TABLE) {
        e.item = ARTEL__NO_ITEM;
        e.sequence = ++w->order;
    }
    artel__log_answer a = artel__part_log_push(s->log, epoch, &e, NULL, &position);
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
    const artel__view *serving = artel__holding_serving(p->holding);
    uint8_t bytes[MESSAGE_MOST], *at;
    if (levelling ? artel__ballot_epoch(p->accepted) != epoch : !serving || serving->epoch != epoch || !artel__part_log_serves(s->log))
        return;
    if (!artel__part_log_is_still(s->log)) {
        artel__part_log_pause(s->log, true);
        return;
    }
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
    artel__part_log_pause(s->log, false);
}

static void take_copy(world *w, uint32_t task, uint32_t part, bool levelling, uint64_t epoch, const uint8_t *at)
{
    process *p = &w->process[task];
    store *s = &p->part[part];
    const artel__view *known = artel__holding_known(p->holding);
    if (s->copy_epoch != epoch || s->copy_levelling != levelling) return;
    if (!known && !levelling) return;
    if (levelling ? artel__ballot_epoch(p->accepted) != epoch : known->epoch != epoch) return;
    s->copy_epoch = 0;
    size_t table = (size_t)artel__bytes_take(&at, 4);
    const uint8_t *list = at + table;
    s->length = (uint32_t)artel__bytes_take(&list, 4);
    for (uint32_t i = 0; i < s->length; i++) s->list[i] = (uint32_t)artel__bytes_take(&list, 4);
    if (artel__part_log_load(s->log, at, table)) world_fail(w, "task %u: a copy's table is damaged", task);
    if (artel__part_log_applied(s->log) != s->length) world_fail(w, "task %u: a copy's table is of another position", task);
    if (!levelling) artel__holding_copied(p->holding, w->now, known->ballot, part);
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
            artel__part_log_receive(p->part[m.part].log, from, &m, NULL);
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
