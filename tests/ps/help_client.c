/* SPDX-License-Identifier: Apache-2.0 */
/* Clients, and the truth that everybody is measured by. */
#include "help_world_impl.h"

#include "base/bytes.h"

static bool in_hand(const world *w, uint32_t item)
{
    for (uint32_t t = w->options.voters; t < w->tasks; t++)
        if (w->process[t].alive && w->process[t].item == 1 + item) return true;
    return false;
}

static void choose_item(world *w, process *p)
{
    p->done = 0;
    for (uint32_t i = 0; i < w->options.items; i++)
        if (!w->finished[i] && (!in_hand(w, i) || world_draw(w, 8) == 0)) {
            p->item = 1 + i;
            for (uint32_t k = 0; k < w->options.parts; k++) p->asked[k] = -WORLD_SECOND;
            return;
        }
}

static void push(world *w, uint32_t task)
{
    process *p = &w->process[task];
    const artel__view *v = artel__holding_known(p->holding);
    for (uint32_t i = 0; v && i < w->options.parts; i++) {
        if (p->done >> i & 1 || w->now - p->asked[i] < 60 * WORLD_MS) continue;
        p->asked[i] = w->now;
        uint8_t bytes[16], *at = artel__bytes_put(bytes, WORD_PUSH, 1);
        at = artel__bytes_put(at, i, 1);
        at = artel__bytes_put(at, v->epoch, 8);
        at = artel__bytes_put(at, p->item - 1, 4);
        world_send(w, 1, task, v->chain[i].task[0], bytes, (size_t)(at - bytes));
    }
}

void client_tick(world *w, uint32_t task)
{
    process *p = &w->process[task];
    if (!p->item) choose_item(w, p);
    if (p->item) push(w, task);
}

void client_answer(world *w, uint32_t task, uint32_t part, uint32_t item, artel__log_answer answer, uint64_t position)
{
    (void)position;
    process *p = &w->process[task];
    if (p->item != 1 + item) return;
    if (answer == ARTEL__LOG_STALE || answer == ARTEL__LOG_BUSY) {
        p->asked[part] = w->now - 50 * WORLD_MS;
        return;
    }
    if (!w->truth[part].position[item])
        world_fail(w, "client %u is told of item %u, which nobody has acknowledged", task, item);
    p->done |= (uint8_t)(1 << part);
    if (p->done + 1 != 1 << w->options.parts) return;
    w->finished[item] = 1;
    p->item = 0;
    client_tick(w, task);
}

/* `again`: it says that it has been acknowledged before, which may be under a start that is over elsewhere. */
void world_acknowledge(world *w, uint32_t task, uint32_t part, uint32_t item, uint64_t position, bool again)
{
    truth *t = &w->truth[part];
    const store *s = &w->process[task].part[part];
    if (artel__ballot_compare(w->process[task].holding->start, w->start) != 0) {
        if (!again) world_fail(w, "task %u part %u acknowledges under another start", task, part);
        return;
    }
    if (position == 0 || position >= WORLD_LONGEST) {
        world_fail(w, "task %u part %u acknowledges item %u nowhere", task, part, item);
        return;
    }
    if (t->position[item] && t->position[item] != position)
        world_fail(w, "part %u item %u is acknowledged at %u and at %u", part, item, t->position[item],
                   (unsigned)position);
    if (t->at[position] && t->at[position] != 1 + item)
        world_fail(w, "part %u position %u has items %u and %u", part, (unsigned)position, t->at[position] - 1, item);
    if (w->options.mistake == WORLD_RIGHT && (s->length < position || s->list[position - 1] != item))
        world_fail(w, "task %u part %u acknowledges item %u at %u, where it is not", task, part, item,
                   (unsigned)position);
    if (!t->position[item]) w->sum.acknowledged++;
    t->position[item] = (uint32_t)position;
    t->at[position] = 1 + item;
}

bool world_is_done(world *w)
{
    for (uint32_t i = 0; i < w->options.items; i++)
        if (!w->finished[i]) return false;
    return true;
}

static void check_head(world *w, uint32_t task, uint32_t part)
{
    const store *s = &w->process[task].part[part];
    const truth *t = &w->truth[part];
    uint8_t seen[WORLD_ITEMS] = {0};
    for (uint32_t i = 0; i < s->length; i++) {
        if (seen[s->list[i]]++) world_fail(w, "task %u part %u has item %u twice", task, part, s->list[i]);
        if (t->position[s->list[i]] && t->position[s->list[i]] != i + 1)
            world_fail(w, "task %u part %u has item %u at %u, acknowledged at %u", task, part, s->list[i], i + 1,
                       t->position[s->list[i]]);
    }
    for (uint32_t i = 0; i < w->options.items; i++)
        if (t->position[i] && !seen[i]) world_fail(w, "task %u part %u has lost item %u", task, part, i);
}

/* It serves the newest view; a deposed head that does not know yet may have less. */
static bool is_in_force(const world *w, uint32_t task)
{
    const artel__view *v = artel__holding_serving(w->process[task].holding);
    return v && v->epoch == w->last_view;
}

const char *world_wrong(world *w)
{
    for (uint32_t t = 0; t < w->options.voters && !w->wrong[0]; t++)
        for (uint32_t p = 0; p < w->options.parts && w->process[t].alive; p++)
            if (artel__part_log_serves(w->process[t].part[p].log) && is_in_force(w, t)) check_head(w, t, p);
    return w->wrong[0] ? w->wrong : NULL;
}
