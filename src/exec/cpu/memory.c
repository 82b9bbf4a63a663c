/* SPDX-License-Identifier: Apache-2.0 */
/* Which values share memory.
 *
 * Every value that is computed lives from the action that makes it to the last one that reads it (kept values to the
 * end); an operand of which only the shape matters need not live for that. Views share their input's buffer; operations
 * that allow it overwrite an input when it dies there. Buffers are then placed one after another at the lowest offset
 * where nothing alive at the same time lies, largest first: mostly that needs hardly more than the most bytes alive at
 * once. Where it does, they are placed longest life first, then again and again with the one that ended highest in
 * front, and the best is taken. Thousands are placed in the order of time (lifetime.c), which costs no square, as long
 * as that needs hardly more, either. Sums that tasks of one host read from one another lie in a block of their own,
 * placed in the same way.
 */
#include <stdlib.h>
#include <string.h>

#include "exec/cpu/lifetime.h"
#include "exec/cpu/plan_impl.h"

#define ROUNDS 24 /* of trying to do better */
#define MANY_BUFFERS \
    4096 /* from which on they are placed in the order of time: each round costs the square of their number */

typedef artel__lifetime lifetime;

static size_t own_bytes(const artel__plan *plan, artel__value_id id)
{
    const artel__value *value = &plan->graph->value[id];
    size_t item =
        plan->half && plan->half[id] ? artel_dtype_size(ARTEL_DTYPE_BFLOAT16) : artel_dtype_size(value->dtype);
    size_t block = (size_t)value->storage * item;
    if (value->domain == ARTEL__DOMAIN_ROW) block *= (size_t)plan->max_rows;
    if (value->domain == ARTEL__DOMAIN_NODES) block *= (size_t)plan->max_nodes;
    if (value->domain == ARTEL__DOMAIN_BATCH) block *= (size_t)plan->options.batch_size;
    return block;
}

size_t artel__plan_value_bytes(const artel__plan *plan, artel__value_id id)
{
    return (own_bytes(plan, id) + 63) / 64 * 64;
}

static bool external(const artel__graph *graph, int32_t id)
{
    return graph->value[id].node < 0;
}

static void extend(lifetime *life, int32_t action)
{
    if (life->from < 0 || action < life->from) life->from = action;
    if (action > life->to) life->to = action;
}

static void touch_node(const artel__plan *plan, lifetime *life, int32_t index, int32_t action)
{
    const artel__node *node = &plan->graph->node[index];
    for (int k = 0; k < node->inputs; k++) {
        if (artel__node_reads(node, k)) extend(&life[plan->root[node->input[k]]], action);
    }
    for (int k = 0; k < node->outputs; k++) {
        if (k > 0 || !plan->node[index].step)
            extend(&life[plan->root[node->output[k]]], action); /* else it is never written */
    }
}

/* First and last action of every buffer. */
static void measure(const artel__plan *plan, lifetime *life)
{
    const artel__graph *graph = plan->graph;
    for (int i = 0; i < graph->values; i++) life[i] = (lifetime){.value = i, .from = -1, .to = -1};
    for (int a = 0; a < plan->actions; a++) {
        const artel__action *action = &plan->action[a];
        if (action->node >= 0) touch_node(plan, life, action->node, a);
        /* What has been begun is touched again by the action that waits for it. */
        for (int c = 0; c < action->count; c++) touch_node(plan, life, plan->collective[action->first + c], a);
    }
    for (int i = 0; i < graph->kept_count; i++) extend(&life[plan->root[graph->kept[i]]], plan->actions);
    for (int i = 0; i < graph->nodes; i++) { /* others may read it as long as they apply */
        if (plan->node[i].lazy) extend(&life[plan->root[graph->node[i].input[0]]], plan->actions);
    }
}

/* The buffer that a value has come to lie in; shortens the way there. */
static int32_t find_root(int32_t *root, int32_t id)
{
    while (root[id] != root[root[id]]) root[id] = root[root[id]];
    return root[id];
}

/* Lets nodes write over an input where it dies. `life` describes the buffers before sharing. */
static void share_in_place(artel__plan *plan, lifetime *life)
{
    const artel__graph *graph = plan->graph;
    for (int a = 0; a < plan->actions; a++) {
        int32_t index = plan->action[a].node;
        if (index < 0) continue;
        const artel__node *node = &graph->node[index];
        artel__in_place over = artel__node_in_place(node);
        if (node->op->placement != ARTEL__PLACE_INPLACE || over.input < 0 || node->input[over.input] < 0) continue;
        int32_t from = find_root(plan->root, node->input[over.input]), to = node->output[over.output];
        bool dies = !external(graph, from) && life[from].to == a && plan->root[to] == to;
        for (int k = 0; k < node->inputs; k++)
            dies = dies && (k == over.input || node->input[k] < 0 || find_root(plan->root, node->input[k]) != from);
        if (!dies || plan->half[from] != plan->half[to] || own_bytes(plan, from) != own_bytes(plan, to))
            continue; /* what is broadcast is read again */
        plan->root[to] = from;
        life[from].to = life[to].to;
    }
    for (int i = 0; i < graph->values; i++) plan->root[i] = find_root(plan->root, i);
}

static int by_size(const void *a, const void *b)
{
    const lifetime *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->value < y->value ? -1 : 1;
}

/* Longest life first. */
static int by_length(const void *a, const void *b)
{
    const lifetime *x = a, *y = b;
    if (x->to - x->from != y->to - y->from) return x->to - x->from < y->to - y->from ? 1 : -1;
    return by_size(a, b);
}

/* The lowest offset for `life` among the `count` buffers placed before it, which are listed by offset. */
static size_t place(const lifetime *const *placed, int count, const lifetime *life)
{
    size_t offset = 0;
    for (int i = 0; i < count; i++) {
        const lifetime *other = placed[i];
        if (other->from > life->to || other->to < life->from) continue;
        if (other->offset >= offset + life->bytes) break;
        size_t end = other->offset + other->bytes;
        if (end > offset) offset = end;
    }
    return offset;
}

static void insert(const lifetime **placed, int count, const lifetime *life)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (placed[middle]->offset <= life->offset)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(placed + low + 1, placed + low, (size_t)(count - low) * sizeof *placed);
    placed[low] = life;
}

/* Places all in their order; returns the bytes needed. */
static size_t place_all(lifetime *life, int count, const lifetime **placed)
{
    size_t end = 0;
    for (int i = 0; i < count; i++) {
        life[i].offset = place(placed, i, &life[i]);
        insert(placed, i, &life[i]);
        if (life[i].offset + life[i].bytes > end) end = life[i].offset + life[i].bytes;
    }
    return end;
}

/* The most bytes alive during one action; `change` has room for the actions and two more. */
static size_t most_alive(const lifetime *life, int count, int actions, int64_t *change)
{
    int64_t alive = 0, most = 0;
    for (int i = 0; i < count; i++) {
        change[life[i].from] += (int64_t)life[i].bytes;
        change[life[i].to + 1] -= (int64_t)life[i].bytes;
    }
    for (int a = 0; a <= actions; a++) {
        alive += change[a];
        if (alive > most) most = alive;
    }
    return (size_t)most;
}

/* The one that ends highest goes first. */
static void promote_highest(lifetime *life, int count)
{
    int highest = 0;
    for (int i = 1; i < count; i++) {
        if (life[i].offset + life[i].bytes > life[highest].offset + life[highest].bytes) highest = i;
    }
    lifetime first = life[highest];
    memmove(life + 1, life, (size_t)highest * sizeof *life);
    life[0] = first;
}

static void place_and_compare(artel__plan *plan, lifetime *life, int count, const artel__lifetime_room *room,
                              bool in_time, size_t *best)
{
    size_t end = in_time ? artel__lifetime_place(life, count, room) : place_all(life, count, room->list);
    if (end >= *best) return;
    *best = end;
    for (int i = 0; i < count; i++) plan->offset[life[i].value] = life[i].offset;
}

/* `alive`: what no order can beat. Returns the bytes needed. */
static size_t place_best(artel__plan *plan, lifetime *life, int count, size_t alive, const artel__lifetime_room *room)
{
    bool many = count > MANY_BUFFERS;
    size_t enough = alive + alive / (many ? 32 : 128), best = SIZE_MAX;
    if (many) place_and_compare(plan, life, count, room, true, &best);
    if (best <= enough) return best;
    qsort(life, (size_t)count, sizeof *life, by_size);
    place_and_compare(plan, life, count, room, false, &best);
    if (best <= enough) return best;
    qsort(life, (size_t)count, sizeof *life, by_length);
    for (int round = 0; round < (many ? 1 : ROUNDS) && best > enough; round++) {
        place_and_compare(plan, life, count, room, false, &best);
        promote_highest(life, count);
    }
    return best;
}

/* What is exchanged at the end of a pass: the buffers of these sums and of what they are made from. */
static void find_lent(artel__plan *plan)
{
    const artel__graph *graph = plan->graph;
    for (int i = 0; i < graph->nodes && plan->options.lends; i++) {
        const artel__node *node = &graph->node[i];
        if (node->op->collective != ARTEL__COLLECTIVE_SUM || plan->node[i].view || plan->node[i].lazy) continue;
        plan->lent[plan->root[node->input[0]]] = plan->lent[plan->root[node->output[0]]] = true;
    }
    for (int i = 0; i < graph->values; i++) plan->lent[i] = plan->lent[plan->root[i]];
}

/* Places the buffers that are lent, or those that are not; returns the bytes needed. */
static size_t place_block(artel__plan *plan, const lifetime *all, bool lent, lifetime *life,
                          const artel__lifetime_room *room, int64_t *change)
{
    int count = 0;
    for (int i = 0; i < plan->graph->values; i++) {
        if (plan->lent[i] != lent || plan->root[i] != i || external(plan->graph, i) || all[i].from < 0) continue;
        life[count] = all[i];
        life[count++].bytes = plan->bytes[i];
    }
    memset(change, 0, ((size_t)plan->actions + 2) * sizeof *change);
    return place_best(plan, life, count, most_alive(life, count, plan->actions, change), room);
}

/* A sum takes the place of the first of the blocks that it is made from, if nobody else reads them. `uses`: of each
 * value. */
static bool is_sum_in_place(const artel__plan *plan, int32_t index, const int32_t *uses)
{
    const artel__node *node = &plan->graph->node[index];
    const artel__value *in = &plan->graph->value[node->input[0]];
    return node->op->collective == ARTEL__COLLECTIVE_SUM && uses[node->input[0]] == 1 && in->node >= 0 &&
           !plan->node[in->node].view;
}

static void make_roots(artel__plan *plan, const int32_t *uses)
{
    const artel__graph *graph = plan->graph;
    for (int i = 0; i < graph->values; i++) plan->root[i] = i;
    for (int i = 0; i < graph->nodes; i++) {
        bool written = graph->node[i].op->placement == ARTEL__PLACE_VIEW_WRITTEN;
        if (plan->node[i].view || plan->node[i].lazy || written || is_sum_in_place(plan, i, uses))
            plan->root[graph->node[i].output[0]] = plan->root[graph->node[i].input[0]];
    }
}

artel_status artel__plan_memory(artel__plan *plan)
{
    const artel__graph *graph = plan->graph;
    size_t values = (size_t)graph->values + 1;
    plan->root = artel__arena_alloc(&plan->arena, values, sizeof *plan->root);
    plan->offset = artel__arena_alloc(&plan->arena, values, sizeof *plan->offset);
    plan->bytes = artel__arena_alloc(&plan->arena, values, sizeof *plan->bytes);
    plan->lent = artel__arena_alloc(&plan->arena, values, sizeof *plan->lent);
    lifetime *life = artel__arena_alloc(&plan->arena, values, sizeof *life),
             *placed = artel__arena_alloc(&plan->arena, values, sizeof *life);
    const lifetime **list = artel__arena_alloc(&plan->arena, values, sizeof(const lifetime *));
    artel__lifetime_gap *gap = artel__arena_alloc(&plan->arena, values, sizeof *gap);
    artel__lifetime_room room = {list, gap};
    int64_t *change = artel__arena_alloc(&plan->arena, (size_t)plan->actions + 2, sizeof *change);
    int32_t *uses = artel__arena_alloc(&plan->arena, values, sizeof *uses);
    ARTEL_TRY(artel__arena_status(&plan->arena));
    artel__graph_count_uses(graph, uses);
    make_roots(plan, uses);
    measure(plan, life);
    share_in_place(plan, life);
    measure(plan, life);
    find_lent(plan);
    for (int i = 0; i < graph->values; i++) {
        plan->bytes[i] = artel__plan_value_bytes(plan, i);
        plan->offset[i] = ARTEL__OFFSET_EXTERNAL;
    }
    plan->block_bytes = place_block(plan, life, false, placed, &room, change);
    plan->lent_bytes = place_block(plan, life, true, placed, &room, change);
    for (int i = 0; i < graph->values; i++) plan->offset[i] = plan->offset[plan->root[i]];
    return ARTEL_OK;
}
