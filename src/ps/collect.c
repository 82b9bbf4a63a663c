/* SPDX-License-Identifier: Apache-2.0 */
/* Collections of fold nodes, the clerk, and first K of N. */
#include "ps/collect.h"

#include <string.h>

/* -- nodes -- */

void artel__collection_init(artel__collection *c, int32_t shards, uint64_t applied)
{
    memset(c, 0, sizeof *c);
    c->shards = shards;
    c->applied = applied;
}

void artel__collection_forget(artel__collection *c)
{
    memset(c->shard, 0, sizeof c->shard);
    c->covered = 0;
    c->generation = 0;
    c->proposed = false;
}

static bool is_node(const artel__collection *c, artel__fold_node node)
{
    bool power = node.count > 0 && (node.count & (node.count - 1)) == 0;
    return power && node.first >= 0 && node.first % node.count == 0 && node.count <= c->shards &&
           node.first <= c->shards - node.count;
}

static int32_t count_covered(const artel__collection *c, artel__fold_node node)
{
    int32_t covered = 0;
    for (int32_t v = node.first; v < node.first + node.count; v++)
        covered += (int32_t)(c->shard[v / 64] >> (v % 64) & 1);
    return covered;
}

static artel__collected take(artel__collection *c, artel__fold_node node, bool restart)
{
    for (int32_t v = node.first; v < node.first + node.count; v++) c->shard[v / 64] |= UINT64_C(1) << (v % 64);
    c->covered += node.count;
    c->proposed = c->covered == c->shards;
    if (restart) return c->proposed ? ARTEL__COLLECT_RESTART_COMPLETE : ARTEL__COLLECT_RESTART;
    return c->proposed ? ARTEL__COLLECT_COMPLETE : ARTEL__COLLECT_KEPT;
}

artel__collected artel__collection_offer(artel__collection *c, uint64_t step, uint32_t generation,
                                         artel__fold_node node)
{
    if (!is_node(c, node)) return ARTEL__COLLECT_WRONG;
    if (step <= c->applied) return ARTEL__COLLECT_APPLIED;
    if (step > c->applied + 1) return ARTEL__COLLECT_AHEAD;
    if (c->prepared || c->proposed) return ARTEL__COLLECT_PREPARED;
    if (generation < c->generation) return ARTEL__COLLECT_OLD;
    bool restart = generation > c->generation && c->covered > 0;
    if (generation > c->generation) artel__collection_forget(c);
    c->generation = generation;
    int32_t covered = count_covered(c, node);
    if (covered) return covered == node.count ? ARTEL__COLLECT_TWICE : ARTEL__COLLECT_WRONG;
    return take(c, node, restart);
}

bool artel__collection_prepare(artel__collection *c, uint64_t step)
{
    if (step != c->applied + 1 || c->prepared) return false;
    c->prepared = true;
    return true;
}

bool artel__collection_commit(artel__collection *c, uint64_t step)
{
    if (step != c->applied + 1 || !c->prepared) return false;
    c->applied = step;
    c->prepared = false;
    artel__collection_forget(c);
    return true;
}

/* -- the clerk -- */

enum {
    UNHEARD,
    BEFORE, /* it has applied step - 1, and lacks nodes */
    PREPARED,
    APPLIED
};

void artel__clerk_init(artel__clerk *c, uint8_t *state, uint32_t parts, uint64_t step)
{
    *c = (artel__clerk){.parts = parts, .step = step, .state = state};
    memset(state, UNHEARD, parts);
}

bool artel__clerk_hear(artel__clerk *c, uint32_t part, uint64_t applied, bool prepared)
{
    if (part >= c->parts || applied + 1 < c->step || applied > c->step) return false;
    uint8_t state = applied == c->step ? APPLIED : prepared ? PREPARED : BEFORE, old = c->state[part];
    if (state <= old) return true; /* said before, or out of date */
    c->state[part] = state;
    c->heard += old == UNHEARD;
    c->prepared += state >= PREPARED && old < PREPARED;
    c->applied += state == APPLIED;
    return true;
}

void artel__clerk_pass(artel__clerk *c, uint64_t step)
{
    c->passed |= step == c->step;
}

artel__clerk_word artel__clerk_decide(const artel__clerk *c)
{
    if (c->applied == c->parts) return ARTEL__CLERK_DONE;
    if (c->prepared < c->parts) return ARTEL__CLERK_WAIT;
    return c->passed || c->applied > 0 ? ARTEL__CLERK_COMMIT : ARTEL__CLERK_WAIT;
}

bool artel__clerk_owes(const artel__clerk *c, uint32_t part)
{
    return c->state[part] != APPLIED;
}

void artel__clerk_next(artel__clerk *c)
{
    artel__clerk_init(c, c->state, c->parts, c->step + 1);
}

/* -- first K of N -- */

void artel__some_init(artel__some *s, int32_t wanted, uint64_t step)
{
    memset(s, 0, sizeof *s);
    s->wanted = wanted;
    s->step = step;
}

artel__some_word artel__some_arrive(artel__some *s, uint64_t step, uint32_t worker)
{
    if (worker >= ARTEL__COLLECT_WORKERS || step > s->step) return ARTEL__SOME_WRONG;
    uint64_t bit = UINT64_C(1) << (worker % 64), *word = &s->member[worker / 64];
    if (step == s->step && (*word & bit)) return ARTEL__SOME_TWICE;
    if (step < s->step || s->come >= s->wanted) {
        s->dropped[worker]++;
        return ARTEL__SOME_LATE;
    }
    *word |= bit;
    return ++s->come >= s->wanted ? ARTEL__SOME_FULL : ARTEL__SOME_KEPT;
}

bool artel__some_shrink(artel__some *s, int32_t living)
{
    return s->come > 0 && s->come >= living && s->come < s->wanted;
}

void artel__some_next(artel__some *s)
{
    s->step++;
    s->come = 0;
    memset(s->member, 0, sizeof s->member);
}
