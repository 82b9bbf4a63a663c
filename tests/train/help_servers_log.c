/* SPDX-License-Identifier: Apache-2.0 */
/* What servers have written down, and whether each acknowledged item counts once in it: tests/cli/applied.py in C. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "help_servers_impl.h"

enum {
    MOST_ITEMS = 4096
};

/* Of a part of a state, through all epochs: the items in the order in which they count. */
typedef struct history {
    uint64_t item[MOST_ITEMS], begin, first; /* begin: updates it was installed with; first: its first item */
    int count;
    bool here[MOST_ITEMS], told[MOST_ITEMS]; /* by item - first */
} history;

void storm_note(process *p, const char *text)
{
    storm *w = p->world;
    log_line l = {.life = p->id};
    int used = 0;
    if (p->killed ||
        sscanf(text, "part %d of state %" SCNx64 ", epoch %" SCNu64 ": %n", &l.part, &l.state, &l.epoch, &used) != 3)
        return;
    text += used;
    if (sscanf(text, "item %" SCNu64 " is update %" SCNu64, &l.item, &l.update) == 2)
        l.kind = LOG_APPLIED;
    else if (sscanf(text, "installed with %" SCNu64 " updates, items from %" SCNu64, &l.update, &l.item) == 2)
        l.kind = LOG_INSTALLED;
    else if (sscanf(text, "item %" SCNu64 " is acknowledged", &l.item) == 1)
        l.kind = LOG_ACKNOWLEDGED;
    else
        storm_accuse(w, "a line of the log is not understood: %s", text);
    if (w->lines == w->line_room) {
        w->line_room = w->line_room ? 2 * w->line_room : 1024;
        w->log = realloc(w->log, (size_t)w->line_room * sizeof *w->log);
    }
    w->log[w->lines++] = l;
}

static bool is_of(const log_line *l, log_kind kind, uint64_t state, int part, uint64_t epoch)
{
    return l->kind == kind && l->state == state && l->part == part && l->epoch == epoch;
}

/* The updates of one life in an epoch must follow one another and be those of the others; *first is the number of the
 * first one, item[] all that anybody has. */
static int agree(storm *w, uint64_t state, int part, uint64_t epoch, uint64_t *first, uint64_t *item)
{
    int most = 0;
    *first = 0;
    for (int life = 0; life < w->processes; life++) {
        int mine = 0;
        for (int i = 0; i < w->lines; i++) {
            const log_line *l = &w->log[i];
            if (l->life != life || !is_of(l, LOG_APPLIED, state, part, epoch)) continue;
            if (*first == 0) *first = l->update;
            bool next = l->update == *first + (uint64_t)mine, same = mine >= most || item[mine] == l->item;
            if (!next || !same || mine >= MOST_ITEMS)
                storm_accuse(w, "part %d, epoch %" PRIu64 ": process %d has item %" PRIu64 " as update %" PRIu64 ", %s",
                             part, epoch, life, l->item, l->update, next ? "and others another one" : "out of turn");
            if (*w->result->wrong) return 0;
            item[mine++] = l->item;
        }
        if (mine > most) most = mine;
    }
    return most;
}

/* What the epoch's holders have takes the place of what a lost head had alone, of which nothing may have been told. */
static void replace(storm *w, history *h, int part, uint64_t epoch, uint64_t first, const uint64_t *item, int count)
{
    uint64_t keep = first - h->begin - 1;
    if (first <= h->begin || keep > (uint64_t)h->count) {
        storm_accuse(w, "part %d, epoch %" PRIu64 ": update %" PRIu64 " follows update %" PRIu64, part, epoch, first,
                     h->begin + (uint64_t)h->count);
        return;
    }
    bool was[MOST_ITEMS];
    memcpy(was, h->told, sizeof was);
    for (int i = (int)keep; i < h->count; i++) h->here[h->item[i] - h->first] = false;
    h->count = (int)keep;
    for (int i = 0; i < count && h->count < MOST_ITEMS; i++) {
        uint64_t at = item[i] - h->first;
        if (at >= MOST_ITEMS || h->here[at])
            storm_accuse(w, "part %d, epoch %" PRIu64 ": item %" PRIu64 " %s", part, epoch, item[i],
                         at >= MOST_ITEMS ? "is of before the state" : "was applied twice");
        if (*w->result->wrong) return;
        h->here[at] = true;
        h->item[h->count++] = item[i];
    }
    for (int at = 0; at < MOST_ITEMS; at++)
        if (was[at] && !h->here[at])
            storm_accuse(w, "part %d, epoch %" PRIu64 ": item %" PRIu64 " was acknowledged and is lost", part, epoch,
                         h->first + (uint64_t)at);
}

/* The next epoch of the part above this one, in which anything was applied or acknowledged; 0: none. */
static uint64_t next_epoch(const storm *w, uint64_t state, int part, uint64_t above)
{
    uint64_t found = 0;
    for (int i = 0; i < w->lines; i++) {
        const log_line *l = &w->log[i];
        bool mine = l->state == state && l->part == part && l->kind != LOG_INSTALLED && l->epoch > above;
        if (mine && (!found || l->epoch < found)) found = l->epoch;
    }
    return found;
}

static void tell(storm *w, history *h, uint64_t state, int part, uint64_t epoch)
{
    for (int i = 0; i < w->lines; i++) {
        const log_line *l = &w->log[i];
        if (!is_of(l, LOG_ACKNOWLEDGED, state, part, epoch)) continue;
        uint64_t at = l->item - h->first;
        if (at >= MOST_ITEMS || !h->here[at])
            storm_accuse(w, "part %d, epoch %" PRIu64 ": item %" PRIu64 " was acknowledged and not applied", part,
                         epoch, l->item);
        if (*w->result->wrong) return;
        w->result->acknowledged += !h->told[at];
        h->told[at] = true;
    }
}

/* The part's log from its first installation on. */
static void follow(storm *w, const log_line *installed, history *h)
{
    static uint64_t item[MOST_ITEMS];
    uint64_t state = installed->state, first;
    int part = installed->part;
    memset(h, 0, sizeof *h);
    h->begin = installed->update;
    h->first = installed->item;
    for (uint64_t e = next_epoch(w, state, part, 0); e && !*w->result->wrong; e = next_epoch(w, state, part, e)) {
        int count = agree(w, state, part, e, &first, item);
        if (count && !*w->result->wrong) replace(w, h, part, e, first, item, count);
        if (!*w->result->wrong) tell(w, h, state, part, e);
    }
}

static bool is_first(const storm *w, int line, bool of_state)
{
    for (int i = 0; i < line; i++) {
        const log_line *a = &w->log[i], *b = &w->log[line];
        if (a->kind == LOG_INSTALLED && a->state == b->state && (of_state || a->part == b->part)) return false;
    }
    return true;
}

void storm_check(storm *w, bool end, uint64_t items)
{
    static history h;
    w->result->states = w->result->acknowledged = 0;
    for (int i = 0; i < w->lines; i++) w->result->states += w->log[i].kind == LOG_INSTALLED && is_first(w, i, true);
    for (int i = 0; i < w->lines && !*w->result->wrong; i++) {
        const log_line *l = &w->log[i];
        if (l->kind != LOG_INSTALLED || !is_first(w, i, false)) continue;
        follow(w, l, &h);
        for (uint64_t item = h.first; end && l->state == w->last && item < items && !*w->result->wrong; item++)
            if (!h.here[item - h.first]) storm_accuse(w, "part %d lacks item %" PRIu64 " at the end", l->part, item);
    }
}
