/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of a part: append, forward, commit, level; see log.h for the rules.
 *
 * Three positions move upwards: `last` (appended), `applied`, and `have` (everybody behind has it). A follower applies
 * what it appends; a head that serves applies what is committed, so that readers see nothing that could vanish. Between
 * a view's acceptance and its service nothing is read, and the head applies all that it has: a view in force commits
 * it, and if this view never comes into force its entries are still the beginning of whatever this holder is asked to
 * continue.
 */
#include "ps/log_impl.h"

#include <string.h>

static artel__log_slot *kept_at(artel__part_log *log, uint64_t position)
{
    return &log->kept[position % ARTEL__LOG_WINDOW];
}

static bool is_last_holder(const artel__part_log *log)
{
    return log->place == log->holders - 1;
}

static void give_back(artel__part_log *log, void *payload)
{
    if (payload) log->config.ops->release(log->config.user, payload);
}

static void forget_first(artel__part_log *log)
{
    artel__log_slot *k = kept_at(log, log->first++);
    log->kept_bytes -= k->entry.length;
    give_back(log, k->payload);
    k->payload = NULL;
}

static void forget_all(artel__part_log *log)
{
    while (log->first <= log->last) forget_first(log);
}

/* Entries that everybody behind has, and that have been applied and answered, go when they are too many bytes. */
static void trim(artel__part_log *log)
{
    uint64_t done = log->have < log->applied ? log->have : log->applied;
    if (log->told < done && log->place == 0) done = log->told;
    while (log->first <= done && log->first <= log->last && log->kept_bytes > log->config.keep_bytes) forget_first(log);
}

void artel__log_begin_at(artel__part_log *log, uint64_t position);

artel_status artel__part_log_create(artel_context *ctx, const artel__part_log_config *config, artel__part_log **out)
{
    void *block;
    size_t words = (size_t)(config->batches + 63) / 64;
    if (config->batches < 1 || config->batches >> ARTEL__LOG_BATCH_BITS)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "parameter servers", "",
                           "a pass of so many items cannot be told from others");
    ARTEL_TRY(
        artel__calloc(ctx, 1, sizeof(artel__part_log) + 2 * words * sizeof(uint64_t), "parameter servers", &block));
    artel__part_log *log = block;
    log->ctx = ctx;
    log->config = *config;
    if (!log->config.keep_bytes) log->config.keep_bytes = ARTEL__LOG_WINDOW_BYTES;
    log->table.batches = config->batches;
    log->table.words = words;
    log->table.bits = (uint64_t *)(log + 1);
    log->fenced = true;
    log->place = -1;
    log->first = 1;
    *out = log;
    return ARTEL_OK;
}

void artel__part_log_destroy(artel__part_log *log)
{
    if (!log) return;
    forget_all(log);
    artel__free(log->ctx, log);
}

/* -- sending -- */

static void send(artel__part_log *log, int place, artel__log_message *message)
{
    message->part = log->config.part;
    message->epoch = log->epoch;
    log->config.ops->send(log->config.user, log->task[place], message);
}

static void say(artel__part_log *log, int place, artel__log_word word, uint64_t position)
{
    send(log, place, &(artel__log_message){.word = word, .position = position});
}

static void forward(artel__part_log *log, uint64_t position)
{
    const artel__log_slot *k = kept_at(log, position);
    artel__log_message message = {
        .word = ARTEL__LOG_APPEND, .position = position, .entry = k->entry, .payload = k->payload};
    for (int i = 0; i < ARTEL__LOG_DIGESTS; i++)
        if (log->digest[i].at > message.digest_at) {
            message.digest_at = log->digest[i].at;
            message.digest = log->digest[i].value;
        }
    send(log, log->place + 1, &message);
}

/* From behind `position` on, as far as it is kept. */
static void forward_from(artel__part_log *log, uint64_t position)
{
    if (is_last_holder(log)) return;
    for (uint64_t p = position + 1 > log->first ? position + 1 : log->first; p <= log->last; p++) forward(log, p);
}

/* -- applying -- */

static void apply_upto(artel__part_log *log, uint64_t position)
{
    const artel__part_log_ops *ops = log->config.ops;
    while (log->applied < position) {
        const artel__log_slot *k = kept_at(log, ++log->applied);
        ops->apply(log->config.user, &k->entry, k->payload);
        if (!ops->digest || log->applied % ARTEL__LOG_DIGEST_EVERY) continue;
        int at = (int)(log->applied / ARTEL__LOG_DIGEST_EVERY % ARTEL__LOG_DIGESTS);
        log->digest[at].at = log->applied;
        log->digest[at].value = ops->digest(log->config.user);
    }
}

/* At the head of a view in force: all holders have everything up to `position`. */
static void commit(artel__part_log *log, uint64_t position)
{
    if (log->told + 1 < log->first) log->told = log->first - 1;
    while (log->told < position) {
        if (log->applied < log->told + 1) apply_upto(log, log->told + 1);
        log->told++;
        log->config.ops->answer(log->config.user, &kept_at(log, log->told)->entry, ARTEL__LOG_ACK);
    }
    trim(log);
}

static void append(artel__part_log *log, const artel__log_entry *entry, void *payload)
{
    if (log->last + 1 - log->first >= ARTEL__LOG_WINDOW) forget_first(log);
    artel__log_slot *k = kept_at(log, ++log->last);
    k->entry = *entry;
    k->payload = payload;
    log->kept_bytes += entry->length;
    artel__log_table_add(&log->table, entry);
}

static bool differs(artel__part_log *log, const artel__log_message *message)
{
    for (int i = 0; i < ARTEL__LOG_DIGESTS; i++)
        if (message->digest_at && log->digest[i].at == message->digest_at && log->digest[i].value != message->digest)
            return true;
    return false;
}

/* -- views -- */

void artel__log_begin_at(artel__part_log *log, uint64_t position)
{
    forget_all(log);
    memset(log->digest, 0, sizeof log->digest);
    log->last = log->applied = log->told = log->have = position;
    log->first = position + 1;
    bool levelling = log->copying && !log->fenced && log->place > 0 && !log->level;
    log->copying = false;
    log->upto = 0;
    if (levelling) say(log, log->place - 1, ARTEL__LOG_ASK, log->last);
}

void artel__part_log_reset(artel__part_log *log)
{
    artel__log_table_clear(&log->table);
    log->copying = false;
    artel__log_begin_at(log, 0);
}

void artel__part_log_fence(artel__part_log *log)
{
    log->fenced = true;
    log->serving = log->level = log->paused = log->copying = false;
    log->ask.waits = false;
}

static void answer_ask(artel__part_log *log, bool copying, uint64_t position)
{
    if (copying || position + 1 < log->first || position > log->last) {
        say(log, log->place + 1, ARTEL__LOG_COPY, log->last);
        return;
    }
    say(log, log->place + 1, ARTEL__LOG_UPTO, log->last);
    forward_from(log, position);
}

static void become_level(artel__part_log *log)
{
    log->level = true;
    log->have = log->last;
    if (log->ask.waits) answer_ask(log, log->ask.copying, log->ask.position);
    log->ask.waits = false;
    log->config.ops->level(log->config.user, log->epoch);
}

static void level_if_there(artel__part_log *log)
{
    if (!log->level && log->upto && log->last + 1 >= log->upto) become_level(log);
}

void artel__part_log_accept(artel__part_log *log, uint64_t epoch, const uint16_t *task, int holders)
{
    artel__part_log_fence(log);
    log->place = -1;
    for (int i = 0; i < holders; i++)
        if (task[i] == log->config.self) log->place = i;
    if (log->place < 0) return;
    memcpy(log->task, task, (size_t)holders * sizeof *task);
    log->holders = holders;
    log->epoch = epoch;
    log->fenced = false;
    log->upto = 0;
    log->stalls = 0;
    log->nudged_have = log->nudged_last = UINT64_MAX;
    if (!is_last_holder(log) && log->early.epoch == epoch && log->early.from == log->task[log->place + 1])
        log->ask = log->early.ask;
    if (log->place > 0) {
        say(log, log->place - 1, ARTEL__LOG_ASK, log->last);
    } else {
        apply_upto(log, log->last);
        become_level(log);
    }
}

void artel__part_log_serve(artel__part_log *log, uint64_t epoch)
{
    if (log->fenced || log->epoch != epoch || !log->level) return;
    log->serving = true;
    if (log->place == 0) commit(log, is_last_holder(log) ? log->last : log->have);
}

/* -- updates -- */

/* Where an entry that the table has lies; 0: no longer known. */
static uint64_t find_position(artel__part_log *log, const artel__log_entry *entry)
{
    bool item = entry->item != ARTEL__NO_ITEM;
    for (uint64_t p = log->first; p <= log->last; p++) {
        const artel__log_entry *e = &kept_at(log, p)->entry;
        if (item ? e->item == entry->item
                 : e->item == ARTEL__NO_ITEM && e->client == entry->client && e->sequence == entry->sequence)
            return p;
    }
    return 0;
}

artel__log_answer artel__part_log_push(artel__part_log *log, uint64_t epoch, const artel__log_entry *entry,
                                       void *payload, uint64_t *position)
{
    *position = 0;
    if (!log->serving || log->place != 0 || log->epoch != epoch) return ARTEL__LOG_STALE;
    if (artel__log_table_has(&log->table, entry)) {
        *position = find_position(log, entry);
        return *position > log->told ? ARTEL__LOG_BUSY : ARTEL__LOG_ALREADY;
    }
    if (log->paused || log->last - log->told >= ARTEL__LOG_WINDOW || !artel__log_table_takes(&log->table, entry))
        return ARTEL__LOG_BUSY;
    artel__log_entry e = *entry;
    e.position = *position = log->last + 1;
    e.epoch = log->epoch;
    e.iteration = (int64_t)log->table.iteration;
    append(log, &e, payload);
    if (is_last_holder(log)) {
        log->have = log->last;
        commit(log, log->last);
    } else {
        forward(log, log->last);
    }
    return ARTEL__LOG_WAIT;
}

/* What everybody from here on has. */
static void say_have(artel__part_log *log)
{
    if (log->level && log->place > 0)
        say(log, log->place - 1, ARTEL__LOG_HAVE, is_last_holder(log) ? log->last : log->have);
}

/* True when the payload has been taken. */
static bool take_entry(artel__part_log *log, const artel__log_message *message, void *owned)
{
    if (log->place <= 0 || log->copying) return false;
    if (message->position <= log->last) {
        say_have(log);
        return false;
    }
    if (message->entry.position != message->position || !artel__log_table_takes(&log->table, &message->entry))
        return false; /* no holder says so */
    if (message->position != log->last + 1) {
        say(log, log->place - 1, log->level ? ARTEL__LOG_GAP : ARTEL__LOG_ASK, log->last);
        return false;
    }
    append(log, &message->entry, owned);
    apply_upto(log, log->last);
    if (is_last_holder(log)) log->have = log->last;
    if (log->level && !is_last_holder(log)) forward(log, log->last);
    if (log->level && is_last_holder(log)) say_have(log);
    if (differs(log, message)) log->config.ops->differ(log->config.user, message->digest_at);
    level_if_there(log);
    trim(log);
    return true;
}

static void hear_have(artel__part_log *log, uint64_t position)
{
    if (!log->level || position > log->last || position <= log->have) return;
    log->have = position;
    if (log->place > 0) {
        say_have(log);
        log->told = log->have;
        trim(log);
    } else if (log->serving) {
        commit(log, log->have);
    }
}

static void hear_successor(artel__part_log *log, const artel__log_message *message)
{
    switch (message->word) {
    case ARTEL__LOG_HAVE: hear_have(log, message->position); return;
    case ARTEL__LOG_GAP:
        if (log->level) forward_from(log, message->position);
        return;
    case ARTEL__LOG_ASK:
        if (log->level) {
            answer_ask(log, message->entry.flags != 0, message->position);
            return;
        }
        log->ask = (artel__log_ask){true, message->entry.flags != 0, message->position};
        return;
    default: return;
    }
}

/* True when the payload has been taken. */
static bool hear_predecessor(artel__part_log *log, const artel__log_message *message, void *owned)
{
    switch (message->word) {
    case ARTEL__LOG_APPEND: return take_entry(log, message, owned);
    case ARTEL__LOG_UPTO:
        if (log->level || log->copying) return false;
        log->upto = message->position + 1;
        level_if_there(log);
        return false;
    case ARTEL__LOG_COPY:
        if (log->level || log->copying) return false;
        log->copying = true;
        log->config.ops->copy(log->config.user, log->epoch, log->task[log->place - 1]);
        return false;
    default: return false;
    }
}

void artel__part_log_receive(artel__part_log *log, uint32_t from, const artel__log_message *message, void *owned)
{
    bool taken = false;
    if (message->word == ARTEL__LOG_ASK && (log->fenced || message->epoch != log->epoch)) {
        log->early.epoch = message->epoch; /* its sender has accepted a view before this holder */
        log->early.from = from;
        log->early.ask = (artel__log_ask){true, message->entry.flags != 0, message->position};
    }
    if (!log->fenced && message->epoch == log->epoch && message->part == log->config.part) {
        if (log->place > 0 && log->task[log->place - 1] == from)
            taken = hear_predecessor(log, message, owned);
        else if (!is_last_holder(log) && log->task[log->place + 1] == from)
            hear_successor(log, message);
    }
    if (!taken) give_back(log, owned);
}

void artel__part_log_again(artel__part_log *log, uint32_t task)
{
    if (log->fenced) return;
    if (log->place > 0 && log->task[log->place - 1] == task) {
        if (!log->level && !log->copying) say(log, log->place - 1, ARTEL__LOG_ASK, log->last);
        say_have(log);
    }
    if (!is_last_holder(log) && log->task[log->place + 1] == task && log->level) forward_from(log, log->have);
}

bool artel__part_log_nudge(artel__part_log *log, uint32_t *task)
{
    if (log->fenced) return false;
    bool levelling = !log->level && !log->copying, behind = log->level && !is_last_holder(log) && log->have < log->last;
    bool moved = log->nudged_have != log->have || (levelling && log->nudged_last != log->last);
    log->nudged_have = log->have;
    log->nudged_last = log->last;
    if ((!levelling && !behind) || moved) {
        log->stalls = 0;
        return false;
    }
    if (levelling) say(log, log->place - 1, ARTEL__LOG_ASK, log->last);
    if (behind) forward_from(log, log->have);
    if (task) *task = log->task[levelling ? log->place - 1 : log->place + 1];
    return ++log->stalls > 1;
}

/* -- what it knows -- */

void artel__part_log_pause(artel__part_log *log, bool pause)
{
    log->paused = pause;
}

bool artel__part_log_is_still(const artel__part_log *log)
{
    return log->applied == log->last;
}

uint64_t artel__part_log_applied(const artel__part_log *log)
{
    return log->applied;
}

bool artel__part_log_serves(const artel__part_log *log)
{
    return log->serving && log->place == 0;
}

bool artel__part_log_has_item(const artel__part_log *log, uint64_t item)
{
    return artel__log_table_has(&log->table, &(artel__log_entry){.item = item});
}
