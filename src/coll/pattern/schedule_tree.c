/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast and gather along the binomial tree.
 *
 * The subtree of v is an interval of the rotated positions, so its blocks are at most two runs in `out`: the second one
 * begins where positions start again at 0. Inner members collect them in room of their own, in rotated order; the root
 * receives every run where it belongs.
 */
#include "coll/pattern/schedule_impl.h"

typedef artel__coll_shape shape;
typedef artel__coll_schedule schedule;
typedef artel__coll_transfer transfer;

int32_t artel__coll_subtree(const shape *s, int32_t v)
{
    int32_t most = s->members - v, low = v & -v;
    return v == 0 || low > most ? most : low;
}

int32_t artel__coll_children(const shape *s, int32_t v)
{
    int32_t count = 0, size = artel__coll_subtree(s, v);
    while (((int64_t)1 << count) < size) count++;
    return count;
}

static int32_t position_of(const shape *s, int32_t v)
{
    return (v + s->root) % s->members;
}

/* -- broadcast -- */

/* A chunk goes on to all children, the one with the largest subtree first, before the next one does. */
void artel__coll_list_broadcast(const shape *s, schedule *out)
{
    int32_t v = artel__coll_tree_place(s), children = artel__coll_children(s, v), chunks = 0;
    bool root = v == 0;
    if (root) out->own = s->count;
    out->own_to_memory = ARTEL__COLL_OUT;
    out->own_from = out->own_to = 0;
    if (!root)
        artel__coll_receive_range(
            s, out, (transfer){.peer = position_of(s, v & (v - 1)), .memory = ARTEL__COLL_OUT, .count = s->count});
    for (int64_t at = 0; at < s->count; at += s->chunk) {
        int64_t count = s->count - at < s->chunk ? s->count - at : s->chunk;
        for (int32_t child = children - 1; child >= 0; child--) {
            transfer t = {
                .peer = position_of(s, v + (1 << child)), .number = (uint32_t)chunks, .first = at, .count = count};
            t.memory = root ? ARTEL__COLL_IN : ARTEL__COLL_OUT;
            t.needs = root ? 0 : chunks + 1;
            artel__coll_send_range(s, out, t);
        }
        chunks++;
    }
}

/* -- gather -- */

typedef struct run {
    int64_t first, count; /* elements in `out` */
} run;

static void runs_of(const shape *s, int32_t v, int32_t size, run out[2])
{
    int32_t begin = position_of(s, v), end = begin + size, first_end = end < s->members ? end : s->members;
    out[0] = (run){artel__coll_start(s, begin), artel__coll_start(s, first_end) - artel__coll_start(s, begin)};
    out[1] = (run){0, end > s->members ? artel__coll_start(s, end - s->members) : 0};
}

static int64_t chunks_of(const shape *s, int64_t count)
{
    return (count + s->chunk - 1) / s->chunk;
}

int64_t artel__coll_subtree_elements(const shape *s, int32_t v, int64_t *messages)
{
    run r[2];
    runs_of(s, v, artel__coll_subtree(s, v), r);
    *messages = chunks_of(s, r[0].count) + chunks_of(s, r[1].count);
    return r[0].count + r[1].count;
}

/* A child's subtree, into `out` at the root, else into room behind the members before it. */
static void receive_subtree(const shape *s, schedule *out, int32_t child)
{
    run r[2], before[2];
    int32_t v = artel__coll_tree_place(s);
    runs_of(s, child, artel__coll_subtree(s, child), r);
    runs_of(s, v, child - v, before);
    transfer t = {.peer = position_of(s, child), .memory = v ? ARTEL__COLL_ROOM : ARTEL__COLL_OUT};
    int64_t place = before[0].count + before[1].count;
    for (int i = 0; i < 2; i++) {
        t.first = v ? place : r[i].first;
        t.count = r[i].count;
        artel__coll_receive_range(s, out, t);
        t.number += (uint32_t)chunks_of(s, r[i].count);
        place += r[i].count;
    }
}

static void send_subtree(const shape *s, schedule *out, int32_t v)
{
    run r[2];
    int32_t size = artel__coll_subtree(s, v);
    runs_of(s, v, size, r);
    transfer t = {.peer = position_of(s, v & (v - 1)),
                  .memory = size > 1 ? ARTEL__COLL_ROOM : ARTEL__COLL_IN,
                  .needs = out->receives};
    for (int i = 0; i < 2; i++) {
        t.count = r[i].count;
        artel__coll_send_range(s, out, t);
        t.first += r[i].count;
        t.number += (uint32_t)chunks_of(s, r[i].count);
    }
}

void artel__coll_list_gather(const shape *s, schedule *out)
{
    int32_t v = artel__coll_tree_place(s), children = artel__coll_children(s, v);
    int64_t first = artel__coll_start(s, s->position), count = artel__coll_start(s, s->position + 1) - first, messages;
    out->own_to_memory = v ? ARTEL__COLL_ROOM : ARTEL__COLL_OUT;
    out->own_from = 0;
    out->own_to = v ? 0 : first;
    out->own = v && children == 0 ? 0 : count;
    if (v && children) out->room = artel__coll_subtree_elements(s, v, &messages);
    for (int32_t child = 0; child < children; child++) receive_subtree(s, out, v + (1 << child));
    if (v) send_subtree(s, out, v);
}
