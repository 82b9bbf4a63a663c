/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank sends in a collective, in closed form: the figures of schedule.h, with chunks. */
#include "coll/pattern/schedule_impl.h"

typedef artel__coll_shape shape;
typedef artel__coll_load load;

/* Elements sent are kept in `bytes` until the end. */
static load times(const shape *s, int64_t ranges, int64_t count)
{
    return (load){.messages = ranges * ((count + s->chunk - 1) / s->chunk), .bytes = ranges * count};
}

static void include(load *sum, load part)
{
    sum->messages += part.messages;
    sum->bytes += part.bytes;
}

static load to_slices(const shape *s)
{
    load sum = {.connections = s->members - 1};
    for (int32_t i = 0; i < s->members; i++) {
        if (i != s->position)
            include(&sum, times(s, 1, artel__coll_slice_start(s, i + 1) - artel__coll_slice_start(s, i)));
    }
    return sum;
}

static load reduction(const shape *s)
{
    int64_t others = s->members - 1,
            slice = artel__coll_slice_start(s, s->position + 1) - artel__coll_slice_start(s, s->position);
    bool root = s->kind == ARTEL__COLL_REDUCE && s->position == s->root;
    load sum = to_slices(s);
    if (s->kind == ARTEL__COLL_REDUCE_SCATTER) return sum;
    if (s->way == ARTEL__COLL_WHOLE) {
        bool all = s->kind == ARTEL__COLL_ALL_REDUCE;
        sum = times(s, all ? others : root ? 0 : 1, s->count);
        sum.connections = all || root ? (int32_t)others : 1;
        return sum;
    }
    include(&sum, times(s, s->kind == ARTEL__COLL_ALL_REDUCE ? others : root ? 0 : 1, slice));
    return sum;
}

static load tree(const shape *s)
{
    int32_t v = artel__coll_tree_place(s), children = artel__coll_children(s, v);
    load sum = {.messages = 0};
    if (s->kind == ARTEL__COLL_BROADCAST)
        sum = times(s, children, s->count);
    else if (v)
        sum.bytes = artel__coll_subtree_elements(s, v, &sum.messages);
    sum.connections = children + (v ? 1 : 0);
    return sum;
}

static load move(const shape *s)
{
    int64_t others = s->members - 1, own = artel__coll_start(s, s->position + 1) - artel__coll_start(s, s->position);
    bool root = s->position == s->root;
    load sum = {.messages = 0};
    if (s->kind == ARTEL__COLL_GATHER) {
        sum = times(s, root ? 0 : 1, own);
        sum.connections = root ? (int32_t)others : 1;
    } else if (s->kind == ARTEL__COLL_PERMUTE) {
        sum = times(s, s->destination[s->position] == s->position ? 0 : 1, s->count);
        sum.connections = 2;
    } else if (s->kind == ARTEL__COLL_ALL_GATHER) {
        sum = times(s, others, own);
        sum.connections = (int32_t)others;
    } else {
        for (int32_t i = 0; i < s->members; i++) {
            int64_t count = artel__coll_start(s, i + 1) - artel__coll_start(s, i);
            if (i != s->position)
                include(&sum, s->receive ? (load){.messages = 1, .bytes = count} : times(s, 1, count));
        }
        sum.connections = (int32_t)others;
    }
    return sum;
}

load artel__coll_schedule_load(const shape *s, int32_t element)
{
    load sum = {.messages = 0};
    if (s->kind == ARTEL__COLL_BARRIER || s->members == 1) return sum;
    if (s->kind == ARTEL__COLL_REDUCE || s->kind == ARTEL__COLL_ALL_REDUCE || s->kind == ARTEL__COLL_REDUCE_SCATTER)
        sum = reduction(s);
    else
        sum = s->way == ARTEL__COLL_TREE ? tree(s) : move(s);
    sum.bytes *= element;
    return sum;
}
