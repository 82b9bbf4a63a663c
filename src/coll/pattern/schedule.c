/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules, a function for each collective and way. */
#include "coll/pattern/schedule.h"

#include "coll/pattern/schedule_impl.h"
#include "coll/select.h"

typedef artel__coll_shape shape;
typedef artel__coll_schedule schedule;
typedef artel__coll_transfer transfer;

/* -- ranges -- */

static void add(transfer *list, int32_t *count, transfer t)
{
    if (list) list[*count] = t;
    ++*count;
}

void artel__coll_send_range(const shape *s, schedule *out, transfer t)
{
    for (int64_t left = t.count; left > 0; left -= t.count, t.number++) {
        t.count = left < s->chunk ? left : s->chunk;
        add(out->send, &out->sends, t);
        t.first += t.count;
    }
}

void artel__coll_receive_range(const shape *s, schedule *out, transfer t)
{
    for (int64_t left = t.count; left > 0; left -= t.count, t.number++) {
        t.count = left < s->chunk ? left : s->chunk;
        add(out->receive, &out->receives, t);
        t.first += t.count;
    }
}

/* Chunk `number` of a range: false when it has no such chunk. */
static bool chunk_of(const shape *s, transfer *t, uint32_t number)
{
    int64_t skip = (int64_t)number * s->chunk;
    if (skip >= t->count) return false;
    t->number = number;
    t->first += skip;
    t->count = t->count - skip < s->chunk ? t->count - skip : s->chunk;
    return true;
}

static int32_t next(const shape *s, int32_t step)
{
    return (s->position + step) % s->members;
}

static void keep_own(schedule *out, artel__coll_memory memory, int64_t from, int64_t to, int64_t count)
{
    out->own_to_memory = memory;
    out->own_from = from;
    out->own_to = to;
    out->own = count;
}

/* -- reductions -- */

int64_t artel__coll_slice_start(const shape *s, int32_t i)
{
    if (s->kind == ARTEL__COLL_REDUCE_SCATTER) return artel__coll_start(s, i);
    if (s->way == ARTEL__COLL_WHOLE) return i == 0 ? 0 : s->count;
    int64_t part = ((s->count + s->members - 1) / s->members + 15) / 16 * 16, start = part * i;
    return start < s->count ? start : s->count;
}

static int64_t slice_count(const shape *s, int32_t i)
{
    return artel__coll_slice_start(s, i + 1) - artel__coll_slice_start(s, i);
}

/* This rank combines `count` elements from `first` on: receives and combinations, a chunk after the other, so that the
 * result of the first chunk leaves while the next one arrives. */
static void combine(const shape *s, schedule *out, const artel__coll_combine_step *whole)
{
    for (uint32_t number = 0; (int64_t)number * s->chunk < whole->count; number++) {
        transfer t = {.memory = ARTEL__COLL_HELD, .first = whole->first, .count = whole->count};
        artel__coll_combine_step step = *whole;
        chunk_of(s, &t, number);
        step.first = t.first;
        step.to += t.first - whole->first;
        step.count = t.count;
        step.receive = out->receives;
        for (t.peer = 0; t.peer < s->members; t.peer++) {
            if (t.peer != s->position) add(out->receive, &out->receives, t);
        }
        step.needs = out->receives;
        if (out->combine) out->combine[out->combines] = step;
        out->combines++;
    }
}

static void send_slices(const shape *s, schedule *out)
{
    for (int32_t step = 1; step < s->members; step++) {
        int32_t peer = next(s, step);
        transfer t = {.peer = peer, .first = artel__coll_slice_start(s, peer), .count = slice_count(s, peer)};
        artel__coll_send_range(s, out, t);
    }
}

static void combine_slice(const shape *s, schedule *out, artel__coll_memory memory, int64_t to)
{
    int64_t first = artel__coll_slice_start(s, s->position);
    combine(
        s, out,
        &(artel__coll_combine_step){.first = first, .to = to, .memory = memory, .count = slice_count(s, s->position)});
}

static void reduce_scatter(const shape *s, schedule *out)
{
    send_slices(s, out);
    combine_slice(s, out, ARTEL__COLL_OUT, 0);
}

/* Results of this rank's slice, each chunk as soon as it is combined: the combination of chunk c needs (c + 1) (n - 1)
 * receives. */
static void send_results(const shape *s, schedule *out, artel__coll_memory memory, int64_t at)
{
    int64_t count = slice_count(s, s->position);
    for (uint32_t number = 0; (int64_t)number * s->chunk < count; number++) {
        for (int32_t step = 1; step < s->members; step++) {
            transfer t = {.peer = next(s, step), .stage = 1, .memory = memory, .first = at, .count = count};
            if (s->kind == ARTEL__COLL_REDUCE && t.peer != s->root) continue;
            chunk_of(s, &t, number);
            t.needs = (int32_t)(number + 1) * (s->members - 1);
            add(out->send, &out->sends, t);
        }
    }
}

static void receive_results(const shape *s, schedule *out)
{
    bool more = true;
    for (uint32_t number = 0; more; number++) {
        more = false;
        for (int32_t step = 1; step < s->members; step++) {
            int32_t peer = next(s, step);
            transfer t = {.peer = peer, .stage = 1, .memory = ARTEL__COLL_OUT};
            t.first = artel__coll_slice_start(s, peer);
            t.count = slice_count(s, peer);
            if (!chunk_of(s, &t, number)) continue;
            add(out->receive, &out->receives, t);
            more = true;
        }
    }
}

static void all_reduce_sliced(const shape *s, schedule *out)
{
    int64_t first = artel__coll_slice_start(s, s->position);
    send_slices(s, out);
    combine_slice(s, out, ARTEL__COLL_OUT, first);
    send_results(s, out, ARTEL__COLL_OUT, first);
    receive_results(s, out);
}

static void all_reduce_whole(const shape *s, schedule *out)
{
    for (int32_t step = 1; step < s->members; step++)
        artel__coll_send_range(s, out, (transfer){.peer = next(s, step), .count = s->count});
    combine(s, out, &(artel__coll_combine_step){.memory = ARTEL__COLL_OUT, .count = s->count});
}

static void reduce_sliced(const shape *s, schedule *out)
{
    bool root = s->position == s->root;
    int64_t first = artel__coll_slice_start(s, s->position);
    send_slices(s, out);
    if (!root) out->room = slice_count(s, s->position);
    combine_slice(s, out, root ? ARTEL__COLL_OUT : ARTEL__COLL_ROOM, root ? first : 0);
    if (!root) send_results(s, out, ARTEL__COLL_ROOM, 0);
    if (root) receive_results(s, out);
}

static void reduce_whole(const shape *s, schedule *out)
{
    if (s->position == s->root)
        combine(s, out, &(artel__coll_combine_step){.memory = ARTEL__COLL_OUT, .count = s->count});
    else
        artel__coll_send_range(s, out, (transfer){.peer = s->root, .count = s->count});
}

/* -- moves -- */

static void all_gather(const shape *s, schedule *out)
{
    int64_t first = artel__coll_start(s, s->position), count = artel__coll_start(s, s->position + 1) - first;
    keep_own(out, ARTEL__COLL_OUT, 0, first, count);
    for (int32_t step = 1; step < s->members; step++) {
        int32_t peer = next(s, step);
        int64_t at = artel__coll_start(s, peer), theirs = artel__coll_start(s, peer + 1) - at;
        artel__coll_send_range(s, out, (transfer){.peer = peer, .count = count});
        artel__coll_receive_range(s, out,
                                  (transfer){.peer = peer, .memory = ARTEL__COLL_OUT, .first = at, .count = theirs});
    }
}

static int64_t receive_start(const shape *s, int32_t position)
{
    return s->receive ? s->receive[position] : artel__coll_start(s, position);
}

static void all_to_all(const shape *s, schedule *out)
{
    int64_t first = artel__coll_start(s, s->position), to = receive_start(s, s->position);
    keep_own(out, ARTEL__COLL_OUT, first, to, artel__coll_start(s, s->position + 1) - first);
    for (int32_t step = 1; step < s->members; step++) {
        int32_t peer = next(s, step);
        transfer send = {.peer = peer, .first = artel__coll_start(s, peer)};
        transfer receive = {.peer = peer, .memory = ARTEL__COLL_OUT, .first = receive_start(s, peer)};
        send.count = artel__coll_start(s, peer + 1) - send.first;
        receive.count = receive_start(s, peer + 1) - receive.first;
        if (s->receive) { /* always one message, also an empty one: so members that disagree about its length notice */
            add(out->send, &out->sends, send);
            add(out->receive, &out->receives, receive);
        } else {
            artel__coll_send_range(s, out, send);
            artel__coll_receive_range(s, out, receive);
        }
    }
}

static void permute(const shape *s, schedule *out)
{
    int32_t to = s->destination[s->position], from = 0;
    while (s->destination[from] != s->position) from++;
    if (to == s->position) {
        keep_own(out, ARTEL__COLL_OUT, 0, 0, s->count);
        return;
    }
    artel__coll_send_range(s, out, (transfer){.peer = to, .count = s->count});
    artel__coll_receive_range(s, out, (transfer){.peer = from, .memory = ARTEL__COLL_OUT, .count = s->count});
}

static void gather_sliced(const shape *s, schedule *out)
{
    int64_t first = artel__coll_start(s, s->position), count = artel__coll_start(s, s->position + 1) - first;
    if (s->position != s->root) {
        artel__coll_send_range(s, out, (transfer){.peer = s->root, .count = count});
        return;
    }
    keep_own(out, ARTEL__COLL_OUT, 0, first, count);
    for (int32_t step = 1; step < s->members; step++) {
        int32_t peer = next(s, step);
        int64_t at = artel__coll_start(s, peer), theirs = artel__coll_start(s, peer + 1) - at;
        artel__coll_receive_range(s, out,
                                  (transfer){.peer = peer, .memory = ARTEL__COLL_OUT, .first = at, .count = theirs});
    }
}

/* -- all of them -- */

void artel__coll_schedule_make(const shape *s, schedule *out)
{
    bool whole = s->way == ARTEL__COLL_WHOLE, tree = s->way == ARTEL__COLL_TREE;
    out->sends = out->receives = out->combines = 0;
    out->room = out->own = 0;
    switch (s->kind) {
    case ARTEL__COLL_BROADCAST: artel__coll_list_broadcast(s, out); break;
    case ARTEL__COLL_REDUCE: whole ? reduce_whole(s, out) : reduce_sliced(s, out); break;
    case ARTEL__COLL_ALL_REDUCE: whole ? all_reduce_whole(s, out) : all_reduce_sliced(s, out); break;
    case ARTEL__COLL_REDUCE_SCATTER: reduce_scatter(s, out); break;
    case ARTEL__COLL_GATHER: tree ? artel__coll_list_gather(s, out) : gather_sliced(s, out); break;
    case ARTEL__COLL_ALL_GATHER: all_gather(s, out); break;
    case ARTEL__COLL_ALL_TO_ALL: all_to_all(s, out); break;
    case ARTEL__COLL_PERMUTE: permute(s, out); break;
    case ARTEL__COLL_BARRIER:
    case ARTEL__COLL_KINDS: break;
    }
}

artel__coll_way artel__coll_choose(artel__coll_kind kind, int32_t members, int64_t bytes)
{
    if (kind == ARTEL__COLL_BROADCAST) return ARTEL__COLL_TREE;
    if (kind == ARTEL__COLL_GATHER)
        return bytes / members <= ARTEL__COLL_TREE_BYTES ? ARTEL__COLL_TREE : ARTEL__COLL_SLICED;
    if (kind != ARTEL__COLL_REDUCE && kind != ARTEL__COLL_ALL_REDUCE) return ARTEL__COLL_SLICED;
    return artel__coll_select(bytes, members) == ARTEL__COLL_REDUNDANT ? ARTEL__COLL_WHOLE : ARTEL__COLL_SLICED;
}

static const char *const names[ARTEL__COLL_KINDS] = {
    "barrier", "broadcast", "reduce", "all-reduce", "reduce-scatter", "gather", "all-gather", "all-to-all", "permute"};

const char *artel__coll_kind_name(artel__coll_kind kind)
{
    return (unsigned)kind < ARTEL__COLL_KINDS ? names[kind] : "?";
}
