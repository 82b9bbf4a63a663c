/* SPDX-License-Identifier: Apache-2.0 */
/* From a route to what one rank does.
 *
 * Slice by slice the hops are followed, and a list says which nodes the rank has then: its own, those that have come,
 * those that it has merged. What it is to send is looked up there, or merged from the two halves, and so on down the
 * tree.
 */
#include "coll/pattern/route.h"

#include <string.h>

enum {
    MOST_NODES = 2 * ARTEL__MAX_NODES, /* of a run that may pass the last rank */
    NOBODY = INT32_MIN,                /* operand of a node that nobody contributes to */
    MISSING = INT32_MIN + 1
};

typedef struct held {
    artel__fold_node node;
    int32_t operand;
} held;

typedef struct maker {
    const artel__coll_tree *tree;
    artel__coll_itinerary *out;
    held *held; /* of the slice */
    int32_t count, room, places;
    artel_status status;
} maker;

static bool grow(maker *m, int32_t count, int32_t *room, size_t size, void **list)
{
    if (count < *room) return true;
    int32_t wanted = *room ? 2 * *room : 64;
    m->status = artel__realloc(m->out->ctx, (size_t)wanted * size, "collectives", list);
    if (m->status < 0) return false;
    *room = wanted;
    return true;
}

static void hold(maker *m, artel__fold_node node, int32_t operand)
{
    void *list = m->held;
    if (!grow(m, m->count, &m->room, sizeof *m->held, &list)) return;
    m->held = list;
    m->held[m->count++] = (held){node, operand};
}

static void add_leg(maker *m, artel__coll_leg leg)
{
    void *list = m->out->leg;
    if (!grow(m, m->out->legs, &m->out->leg_room, sizeof leg, &list)) return;
    m->out->leg = list;
    m->out->leg[m->out->legs++] = leg;
}

static void add_operand(maker *m, int32_t operand)
{
    void *list = m->out->operand;
    if (!grow(m, m->out->operands, &m->out->operand_room, sizeof operand, &list)) return;
    m->out->operand = list;
    m->out->operand[m->out->operands++] = operand;
}

/* -- nodes -- */

static int32_t present(const artel__coll_tree *tree)
{
    return tree->present ? tree->present : tree->shards;
}

/* Those that somebody contributes to, of ranks first .. end - 1; the last rank's run goes on to the end of the tree. */
static int list_run(const artel__coll_tree *tree, int32_t first, int32_t end, artel__fold_node *out)
{
    artel__fold_node all[ARTEL__MAX_NODES];
    int32_t from = tree->start[first], to = end == tree->ranks ? tree->shards : tree->start[end];
    int count = artel__fold_nodes(from, to - from, all), kept = 0;
    for (int i = 0; i < count; i++) {
        if (all[i].first < present(tree)) out[kept++] = all[i];
    }
    return kept;
}

static int list_nodes(const artel__coll_tree *tree, int32_t first, int32_t count, artel__fold_node *out)
{
    if (count == tree->ranks) {
        out[0] = (artel__fold_node){0, tree->shards};
        return 1;
    }
    int32_t end = first + count;
    if (end <= tree->ranks) return list_run(tree, first, end, out);
    int nodes = list_run(tree, 0, end - tree->ranks, out);
    return nodes + list_run(tree, first, tree->ranks, out + nodes);
}

static int32_t find(const maker *m, artel__fold_node node)
{
    if (node.first >= present(m->tree)) return NOBODY;
    for (int32_t i = 0; i < m->count; i++) {
        if (m->held[i].node.first == node.first && m->held[i].node.count == node.count) return m->held[i].operand;
    }
    return MISSING;
}

/* The tree is at most 12 deep, so this is. */
static int32_t obtain(maker *m, artel__fold_node node)
{
    int32_t operand = find(m, node), half = node.count / 2;
    if (operand != MISSING || half == 0) return operand;
    int32_t left = obtain(m, (artel__fold_node){node.first, half});
    if (left == MISSING) return MISSING;
    int32_t right = obtain(m, (artel__fold_node){node.first + half, half});
    if (right == MISSING) return MISSING;
    operand = left;
    if (right != NOBODY) {
        operand = node.count == m->tree->shards ? ARTEL__COLL_RESULT : m->places++;
        add_leg(m, (artel__coll_leg){.kind = ARTEL__COLL_MERGE, .to = operand, .left = left, .right = right});
    }
    hold(m, node, operand);
    return operand;
}

/* -- hops -- */

static bool receive(maker *m, const artel__coll_hop *hop)
{
    artel__fold_node node[MOST_NODES];
    int nodes = list_nodes(m->tree, hop->first, hop->count, node);
    bool whole = hop->count == m->tree->ranks;
    if (whole && find(m, node[0]) != MISSING) return false;
    add_leg(m, (artel__coll_leg){.kind = ARTEL__COLL_RECEIVE,
                                 .peer = hop->from,
                                 .number = hop->number,
                                 .first = m->out->operands,
                                 .nodes = nodes});
    m->out->receives++;
    for (int i = 0; i < nodes; i++) {
        int32_t operand = whole ? ARTEL__COLL_RESULT : m->places++;
        add_operand(m, operand);
        hold(m, node[i], operand);
    }
    return true;
}

static bool send(maker *m, const artel__coll_hop *hop)
{
    artel__fold_node node[MOST_NODES];
    int32_t operand[MOST_NODES];
    int nodes = list_nodes(m->tree, hop->first, hop->count, node);
    for (int i = 0; i < nodes; i++) {
        operand[i] = obtain(m, node[i]);
        if (operand[i] == MISSING) return false;
    }
    add_leg(m, (artel__coll_leg){.kind = ARTEL__COLL_SEND,
                                 .peer = hop->to,
                                 .number = hop->number,
                                 .first = m->out->operands,
                                 .nodes = nodes});
    m->out->sends++;
    for (int i = 0; i < nodes; i++) add_operand(m, operand[i]);
    return true;
}

static artel_status refuse(const maker *m, const char *name, const artel__coll_hop *hop, int32_t slice)
{
    artel_context *ctx = m->out->ctx;
    if (m->status < 0) return m->status;
    if (!hop)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, name, "let every member have all that it is the sum of",
                           "member %d ends without the result of slice %d", m->out->rank, slice);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, name,
                       "list each hop after those that bring what it carries, and no result twice",
                       "member %d cannot %s slice %d, of %d members from %d on, %s member %d", m->out->rank,
                       hop->from == m->out->rank ? "send" : "take", slice, hop->count, hop->first,
                       hop->from == m->out->rank ? "to" : "from", hop->from == m->out->rank ? hop->to : hop->from);
}

/* The blocks that the rank itself has. */
static int list_own(const artel__coll_tree *tree, int32_t rank, artel__fold_node *out)
{
    int32_t from = tree->start[rank], to = rank + 1 == tree->ranks ? present(tree) : tree->start[rank + 1];
    return artel__fold_nodes(from, to - from, out);
}

static artel_status follow_slice(maker *m, const artel_all_reduce_route *route, const char *name, int32_t slice,
                                 int32_t *at)
{
    artel__fold_node own[ARTEL__MAX_NODES];
    int32_t rank = m->out->rank;
    m->count = m->places = 0;
    m->out->begin[slice] = m->out->legs;
    m->out->own = list_own(m->tree, rank, own);
    for (int32_t b = 0; b < m->out->own; b++) hold(m, own[b], -1 - b);
    for (; *at < route->hops && route->hop[*at].slice == slice; ++*at) {
        const artel__coll_hop *hop = &route->hop[*at];
        bool can = hop->from == rank ? send(m, hop) : hop->to != rank || receive(m, hop);
        if (!can || m->status < 0) return refuse(m, name, hop, slice);
    }
    if (obtain(m, (artel__fold_node){0, m->tree->shards}) != ARTEL__COLL_RESULT || m->status < 0)
        return refuse(m, name, NULL, slice);
    m->out->places[slice] = m->places;
    return ARTEL_OK;
}

artel_status artel__coll_itinerary_make(const artel_all_reduce_route *route, const artel__coll_tree *tree,
                                        const char *name, int32_t rank, artel__coll_itinerary *out)
{
    void *block;
    ARTEL_TRY(artel__calloc(route->ctx, 2 * (size_t)route->slices + 1, sizeof(int32_t), "collectives", &block));
    *out = (artel__coll_itinerary){.ctx = route->ctx, .rank = rank, .slices = route->slices, .begin = block};
    out->places = out->begin + route->slices + 1;
    maker m = {.tree = tree, .out = out};
    int32_t at = 0;
    artel_status status = ARTEL_OK;
    for (int32_t s = 0; s < route->slices && status == ARTEL_OK; s++) status = follow_slice(&m, route, name, s, &at);
    out->begin[route->slices] = out->legs;
    artel__free(route->ctx, m.held);
    if (status < 0) artel__coll_itinerary_fini(out);
    return status;
}

void artel__coll_itinerary_fini(artel__coll_itinerary *itinerary)
{
    if (!itinerary->ctx) return;
    artel__free(itinerary->ctx, itinerary->leg);
    artel__free(itinerary->ctx, itinerary->operand);
    artel__free(itinerary->ctx, itinerary->begin);
    *itinerary = (artel__coll_itinerary){.ctx = NULL};
}

artel_status artel__coll_route_check(const artel_all_reduce_route *route, const artel__coll_tree *tree,
                                     const char *name)
{
    for (int32_t r = 0; r < tree->ranks; r++) {
        artel__coll_itinerary itinerary;
        ARTEL_TRY(artel__coll_itinerary_make(route, tree, name, r, &itinerary));
        artel__coll_itinerary_fini(&itinerary);
    }
    return ARTEL_OK;
}

/* -- cost -- */

static bool meets_first(const artel__coll_itinerary *it, int32_t leg)
{
    for (int32_t i = 0; i < leg; i++) {
        if (it->leg[i].kind != ARTEL__COLL_MERGE && it->leg[i].peer == it->leg[leg].peer) return false;
    }
    return true;
}

artel__coll_load artel__coll_itinerary_load(const artel__coll_itinerary *it, const int64_t *slice_bytes)
{
    artel__coll_load load = {.messages = 0};
    for (int32_t s = 0; s < it->slices; s++) {
        for (int32_t i = it->begin[s]; i < it->begin[s + 1]; i++) {
            const artel__coll_leg *leg = &it->leg[i];
            if (leg->kind == ARTEL__COLL_MERGE) continue;
            if (meets_first(it, i)) load.connections++;
            if (leg->kind != ARTEL__COLL_SEND || (slice_bytes && !slice_bytes[s])) continue;
            load.messages++;
            load.bytes += leg->nodes * (slice_bytes ? slice_bytes[s] : 1);
        }
    }
    return load;
}
