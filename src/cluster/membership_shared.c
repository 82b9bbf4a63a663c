/* SPDX-License-Identifier: Apache-2.0 */
/* Named barriers and the key-value store.
 *
 * Both live at every member and are put in order by the coordinator of the running generation; before a generation
 * starts its coordinator merges what all members hold, by the highest number, and gives it back to all, so that neither
 * is lost with a coordinator. What a member still waits for it asks again of the new one. Numbers only grow, so a
 * second copy of a message changes nothing.
 *
 * Barrier: a task's n-th entry is (name, n), told to all; the coordinator releases the lowest number that all members
 * have entered. Key: the coordinator gives each write the next version of its entry.
 */
#include "cluster/membership_impl.h"

#include <string.h>

static artel__message_bytes bytes_of(const void *data, size_t count)
{
    return (artel__message_bytes){data, (uint32_t)count};
}

/* A name as it arrives: not empty, no NUL inside. False when it is not one. */
static bool name_of(artel__message_bytes bytes, char out[ARTEL__TEXT_MAX + 1])
{
    if (!bytes.count || bytes.count > ARTEL__TEXT_MAX || memchr(bytes.data, 0, bytes.count)) return false;
    memcpy(out, bytes.data, bytes.count);
    out[bytes.count] = '\0';
    return true;
}

/* -- barriers -- */

static artel__ms_barrier *find_barrier(artel__membership *m, const char *name, bool make)
{
    artel__ms_barrier *spare = NULL;
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++) {
        artel__ms_barrier *b = &m->barrier[i];
        if (b->used && strcmp(b->name, name) == 0) return b;
        if (!b->used && !spare) spare = b;
    }
    if (!make || !spare) return NULL;
    strcpy(spare->name, name);
    spare->used = true;
    return spare;
}

static void say_barrier(artel__membership *m, const artel__ms_barrier *b, uint32_t task, artel__message_kind kind,
                        uint32_t sequence)
{
    artel__ms_send(m, task,
                   &(artel__message){.kind = kind, .name = bytes_of(b->name, strlen(b->name)), .sequence = sequence});
}

static void released(artel__membership *m, artel__ms_barrier *b, uint32_t sequence)
{
    if (sequence > b->released) b->released = sequence;
    if (!b->waiting && b->entered < b->released) b->entered = b->released; /* passed before this task came */
    if (!b->waiting || b->entered > b->released) return;
    b->waiting = false;
    artel__ms_act(m, &(artel__action){.kind = ARTEL__ACTION_RELEASED, .name = b->name});
}

/* The coordinator: how far all have come. */
static void settle(artel__membership *m, artel__ms_barrier *b)
{
    uint32_t all = UINT32_MAX;
    for (uint32_t i = 0; i < m->group.members; i++) {
        uint32_t t = m->group.member[i].task, seen = t == m->config.self ? b->entered : b->seen[t];
        if (seen < b->released) seen = b->released;
        if (seen < all) all = seen;
    }
    if (all <= b->released) return;
    for (uint32_t i = 0; i < m->group.members; i++)
        say_barrier(m, b, m->group.member[i].task, ARTEL__MESSAGE_RELEASE, all);
    released(m, b, all);
}

/* All hear of it: so each of them can name who is missing. */
static void ask_barrier(artel__membership *m, artel__ms_barrier *b)
{
    if (!artel__ms_running(m)) return;
    b->asked_at = m->now;
    for (uint32_t i = 0; i < m->group.members; i++)
        say_barrier(m, b, m->group.member[i].task, ARTEL__MESSAGE_ENTER, b->entered);
    if (artel__ms_lowest(m) == m->config.self) settle(m, b);
}

bool artel__membership_enter(artel__membership *m, int64_t now, const char *name)
{
    size_t length = strlen(name);
    if (!artel__ms_enter(m, now) || !length || length > ARTEL__TEXT_MAX) return false;
    artel__ms_barrier *b = find_barrier(m, name, true);
    if (!b) return false;
    if (b->waiting) return true;
    b->waiting = true;
    b->entered++;
    b->since = m->now;
    ask_barrier(m, b);
    return true;
}

static void on_barrier(artel__membership *m, uint32_t from, const artel__message *message, const char *name)
{
    artel__ms_barrier *b = find_barrier(m, name, true);
    if (!b) return;
    if (message->kind == ARTEL__MESSAGE_RELEASE) {
        released(m, b, message->sequence);
        return;
    }
    if (message->sequence > b->seen[from]) b->seen[from] = message->sequence;
    if (!b->waiting) b->since = m->now;
    if (artel__ms_running(m) && artel__ms_lowest(m) == m->config.self && artel__ms_in_group(m, from)) settle(m, b);
}

/* -- keys -- */

static artel__ms_key *find_key(artel__membership *m, const char *name, bool make)
{
    artel__ms_key *spare = NULL;
    for (int i = 0; i < ARTEL__MAX_KEYS; i++) {
        artel__ms_key *k = &m->key[i];
        bool used = k->version || k->wanted;
        if (used && strcmp(k->name, name) == 0) return k;
        if (!spare && !used) spare = k;
    }
    for (int i = 0; i < ARTEL__MAX_KEYS && !spare; i++)
        if (!m->key[i].count && !m->key[i].wanted) spare = &m->key[i]; /* a deleted entry gives way */
    if (!make || !spare) return NULL;
    *spare = (artel__ms_key){0};
    strcpy(spare->name, name);
    return spare;
}

static void say_key(artel__membership *m, const artel__ms_key *k, uint32_t task)
{
    artel__ms_send(m, task,
                   &(artel__message){.kind = ARTEL__MESSAGE_SET,
                                     .name = bytes_of(k->name, strlen(k->name)),
                                     .value = bytes_of(k->value, k->count),
                                     .sequence = k->version});
}

static void set_key(artel__membership *m, artel__ms_key *k, const uint8_t *value, uint32_t count, uint32_t version)
{
    /* A wish is fulfilled when it is in order, or when what is there stays; not while a new coordinator merges. */
    bool same = count == k->wish_count && (!count || memcmp(value, k->wish, count) == 0);
    bool own = k->wanted && artel__ms_running(m) && (same || (!k->overwrite && count));
    if (version <= k->version && !own) return;
    if (own) k->wanted = false;
    if (version > k->version) {
        if (count) memcpy(k->value, value, count);
        k->count = count;
        k->version = version;
    }
    artel__ms_act(m,
                  &(artel__action){.kind = ARTEL__ACTION_KEY, .name = k->name, .bytes = k->value, .count = k->count});
}

/* The coordinator orders a write and tells all; a write that may not overwrite is answered with what is there. */
static void order_key(artel__membership *m, artel__ms_key *k, uint32_t from, artel__message_bytes value, bool overwrite)
{
    if (k->count && !overwrite) {
        if (from != m->config.self)
            say_key(m, k, from);
        else
            set_key(m, k, k->value, k->count, k->version);
        return;
    }
    set_key(m, k, value.data, value.count, k->version + 1);
    for (uint32_t i = 0; i < m->group.members; i++) say_key(m, k, m->group.member[i].task);
}

static void ask_key(artel__membership *m, artel__ms_key *k)
{
    if (!artel__ms_running(m)) return;
    uint32_t lowest = artel__ms_lowest(m);
    artel__message_bytes wish = bytes_of(k->wish, k->wish_count);
    k->asked_at = m->now;
    if (lowest == m->config.self)
        order_key(m, k, lowest, wish, k->overwrite);
    else
        artel__ms_send(m, lowest,
                       &(artel__message){.kind = ARTEL__MESSAGE_PUT,
                                         .name = bytes_of(k->name, strlen(k->name)),
                                         .value = wish,
                                         .sequence = k->overwrite});
}

bool artel__membership_put(artel__membership *m, int64_t now, const artel__membership_entry *entry)
{
    size_t length = strlen(entry->key);
    if (!artel__ms_enter(m, now) || !length || length > ARTEL__TEXT_MAX || entry->count > ARTEL__VALUE_MAX)
        return false;
    artel__ms_key *k = find_key(m, entry->key, true);
    if (!k) return false;
    k->wanted = true;
    k->overwrite = entry->overwrite;
    k->wish_count = (uint32_t)entry->count;
    if (entry->count) memcpy(k->wish, entry->value, entry->count);
    ask_key(m, k);
    return true;
}

const uint8_t *artel__membership_get(const artel__membership *m, const char *key, size_t *count)
{
    for (int i = 0; i < ARTEL__MAX_KEYS; i++) {
        const artel__ms_key *k = &m->key[i];
        if (!k->count || strcmp(k->name, key) != 0) continue;
        *count = k->count;
        return k->value;
    }
    return NULL;
}

static void on_key(artel__membership *m, uint32_t from, const artel__message *message, const char *name)
{
    artel__ms_key *k = find_key(m, name, true);
    if (!k) return;
    if (message->kind == ARTEL__MESSAGE_SET) {
        set_key(m, k, message->value.data, message->value.count, message->sequence);
    } else if (artel__ms_running(m) && artel__ms_lowest(m) == m->config.self && artel__ms_in_group(m, from)) {
        order_key(m, k, from, message->value, message->sequence != 0);
    }
}

/* -- both -- */

void artel__ms_on_shared(artel__membership *m, uint32_t from, const artel__message *message)
{
    char name[ARTEL__TEXT_MAX + 1];
    if (!name_of(message->name, name)) return;
    if (message->kind == ARTEL__MESSAGE_ENTER || message->kind == ARTEL__MESSAGE_RELEASE)
        on_barrier(m, from, message, name);
    else
        on_key(m, from, message, name);
}

void artel__ms_share(artel__membership *m, uint32_t task)
{
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++)
        if (m->barrier[i].used) say_barrier(m, &m->barrier[i], task, ARTEL__MESSAGE_RELEASE, m->barrier[i].released);
    for (int i = 0; i < ARTEL__MAX_KEYS; i++)
        if (m->key[i].version) say_key(m, &m->key[i], task);
}

void artel__ms_share_again(artel__membership *m)
{
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++) {
        if (m->barrier[i].waiting) ask_barrier(m, &m->barrier[i]);
    }
    for (int i = 0; i < ARTEL__MAX_KEYS; i++)
        if (m->key[i].wanted) ask_key(m, &m->key[i]);
}

void artel__ms_share_forget(artel__membership *m, uint32_t task)
{
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++) m->barrier[i].seen[task] = 0;
}

/* The coordinator names those who keep a barrier waiting. */
static void list_missing(artel__membership *m, const artel__ms_barrier *b, char *out, size_t size)
{
    uint64_t *missing = m->deciding.choice.set;
    memset(missing, 0, m->words * sizeof *missing);
    for (uint32_t t = 0; t < m->config.tasks; t++)
        if (artel__ms_in_group(m, t) && t != m->config.self && b->seen[t] < b->entered) artel__bit_set(missing, t);
    artel__ms_list(m, missing, out, size);
}

static void say_waiting(artel__membership *m, const artel__ms_barrier *b)
{
    char names[ARTEL__MS_LINE / 2];
    list_missing(m, b, names, sizeof names);
    artel__ms_say(m, m->config.self, ARTEL__REASON_NONE, "barrier %.64s: waiting for %s, %lld s", b->name, names,
                  (long long)((m->now - b->since) / ARTEL__MS_SECOND));
}

bool artel__membership_waits(const artel__membership *m, const char *name)
{
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++) {
        const artel__ms_barrier *b = &m->barrier[i];
        if (b->used && strcmp(b->name, name) == 0) return b->waiting;
    }
    return false;
}

void artel__membership_missing(artel__membership *m, const char *name, char *out, size_t size)
{
    const artel__ms_barrier *b = find_barrier(m, name, false);
    out[0] = '\0';
    if (b && b->waiting) list_missing(m, b, out, size);
}

/* A question may have come to the new coordinator before START did: it is asked again. */
void artel__ms_shared_tick(artel__membership *m)
{
    if (!artel__ms_running(m)) return;
    bool coordinator = artel__ms_lowest(m) == m->config.self;
    for (int i = 0; i < ARTEL__MAX_BARRIERS; i++) {
        artel__ms_barrier *b = &m->barrier[i];
        if (b->waiting && m->now - b->asked_at >= 2 * m->limits.again) ask_barrier(m, b);
        if (coordinator && b->waiting && m->now - b->since >= ARTEL__MS_REPORT_EVERY &&
            artel__ms_due(m, &m->lone.wait_said))
            say_waiting(m, b);
    }
    for (int i = 0; i < ARTEL__MAX_KEYS; i++)
        if (m->key[i].wanted && m->now - m->key[i].asked_at >= 2 * m->limits.again) ask_key(m, &m->key[i]);
}
