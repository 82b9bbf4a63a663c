/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: which follow from the promises (H3, H4, H6), those of a first view, and who makes which copy.
 *
 * Placing copies is a function of the view alone, so every member finds out by itself what it is to copy: parts in
 * order, each to the member server with the least load (of all parts whose chain has it, and of the copies given out so
 * far; equal loads: the lowest).
 */
#include "cluster/holding_impl.h"

#include <string.h>

static uint64_t load_of(const artel__holding *h, uint32_t part)
{
    return h->config.load ? h->config.load[part] : 1;
}

/* Loads of the members by the chains of `view`. */
static void measure(artel__holding *h, const artel__view *view)
{
    memset(h->load, 0, h->config.tasks * sizeof *h->load);
    for (uint32_t p = 0; p < h->config.parts; p++)
        for (int i = 0; i < view->chain[p].holders; i++) h->load[view->chain[p].task[i]] += load_of(h, p);
}

/* The member server with the least load that does not hold the part; -1: none. */
static int find_server(const artel__holding *h, const artel__view *view, const artel__chain *chain)
{
    int found = -1;
    for (uint32_t t = 0; t < h->config.tasks; t++) {
        if (!h->config.server[t] || !view->member[t] || artel__chain_find(chain, t) >= 0) continue;
        if (found < 0 || h->load[t] < h->load[found]) found = (int)t;
    }
    return found;
}

static void add(artel__holding *h, artel__chain *chain, uint32_t part, uint32_t task)
{
    chain->task[chain->holders++] = (uint16_t)task;
    h->load[task] += load_of(h, part);
}

bool artel__holding_place_chains(artel__holding *h)
{
    artel__view *v = &h->next;
    memset(h->load, 0, h->config.tasks * sizeof *h->load);
    memset(v->chain, 0, h->config.parts * sizeof *v->chain);
    for (uint32_t p = 0; p < h->config.parts; p++) {
        uint32_t first = h->config.first[p];
        if (v->member[first]) add(h, &v->chain[p], p, first);
    }
    for (uint32_t p = 0; p < h->config.parts; p++)
        while (v->chain[p].holders < h->config.copies) {
            int server = find_server(h, v, &v->chain[p]);
            if (server < 0 && !v->chain[p].holders) return false;
            if (server < 0) break;
            add(h, &v->chain[p], p, (uint32_t)server);
        }
    return true;
}

static uint8_t state_of(const artel__holding *h, uint32_t task, uint32_t part)
{
    return h->states[(size_t)task * h->config.parts + part];
}

/* It promised, as the process that the best view names, and is level. */
static bool survives(const artel__holding *h, uint32_t task, uint32_t part)
{
    const artel__holding_peer *p = &h->peer[task];
    return p->promised && p->life == h->best.member[task] && state_of(h, task, part) == ARTEL__HOLDING_LEVEL;
}

/* That process will not come back with what it had. */
static bool is_dead(const artel__holding *h, uint32_t task)
{
    const artel__holding_peer *p = &h->peer[task];
    uint64_t life = h->best.member[task];
    if (p->promised || (p->incarnation && p->incarnation != life) || (life && p->gone == life)) return true;
    return h->config.lost_after_ns > 0 && !artel__holding_lately(h, task) &&
           h->now - p->heard > h->config.lost_after_ns && h->now - h->began > h->config.lost_after_ns;
}

static artel__chain_result keep_survivors(artel__holding *h, uint32_t part, artel__chain *to)
{
    const artel__chain *from = &h->best.chain[part];
    bool dead = true;
    *to = (artel__chain){0};
    for (int pass = 0; pass < 2 && !to->holders; pass++) /* those left out count when nobody else is there */
        for (int i = 0; i < from->holders; i++) {
            uint32_t t = from->task[i];
            if (survives(h, t, part) && (pass || !h->peer[t].excluded)) to->task[to->holders++] = (uint16_t)t;
            dead &= is_dead(h, t);
        }
    if (to->holders) return ARTEL__CHAIN_MADE;
    return dead ? ARTEL__CHAIN_LOST : ARTEL__CHAIN_WAIT;
}

/* Those who have made a copy. */
static void add_newcomers(artel__holding *h, uint32_t part)
{
    artel__chain *chain = &h->next.chain[part];
    while (chain->holders < h->config.copies) {
        int found = -1;
        for (uint32_t t = 0; t < h->config.tasks; t++) {
            const artel__holding_peer *p = &h->peer[t];
            bool copy = p->promised && h->config.server[t] && state_of(h, t, part) == ARTEL__HOLDING_COPY &&
                        h->now >= p->shun_until;
            if (!copy || artel__chain_find(chain, t) >= 0) continue;
            if (found < 0 || h->load[t] < h->load[found]) found = (int)t;
        }
        if (found < 0) return;
        add(h, chain, part, (uint32_t)found);
    }
}

artel__chain_result artel__holding_make_chains(artel__holding *h, uint32_t *part)
{
    artel__chain_result result = ARTEL__CHAIN_MADE;
    for (uint32_t p = 0; p < h->config.parts; p++) {
        artel__chain_result r = keep_survivors(h, p, &h->next.chain[p]);
        if (r == ARTEL__CHAIN_MADE || result == ARTEL__CHAIN_WAIT)
            continue; /* a holder that lives may still acknowledge alone */
        result = r;
        *part = p;
    }
    if (result != ARTEL__CHAIN_MADE) return result;
    measure(h, &h->next);
    for (uint32_t p = 0; p < h->config.parts; p++) add_newcomers(h, p);
    return result;
}

void artel__holding_assign(artel__holding *h)
{
    const artel__view *v = &h->known;
    bool waits = false, copied = false;
    measure(h, v);
    memset(h->assigned, 0, h->config.parts);
    for (uint32_t p = 0; p < h->config.parts; p++) {
        artel__chain chain = v->chain[p];
        while (chain.holders < h->config.copies) {
            int server = find_server(h, v, &chain);
            if (server < 0) break;
            add(h, &chain, p, (uint32_t)server);
            if ((uint32_t)server != h->config.self) continue;
            h->assigned[p] = h->part[p] == ARTEL__HOLDING_NONE;
            waits |= h->assigned[p];
            copied |= h->part[p] == ARTEL__HOLDING_COPY;
        }
    }
    h->want_copied = copied && !waits;
    for (uint32_t p = 0; p < h->config.parts; p++)
        if (h->assigned[p])
            artel__holding_act(
                h, &(artel__holding_action){
                       .kind = ARTEL__HOLDING_COPY_FROM, .task = v->chain[p].task[0], .part = p, .view = v});
}
