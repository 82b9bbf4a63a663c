/* SPDX-License-Identifier: Apache-2.0 */
/* From what a program asks for to a shape: everything that can be wrong with a call is found here, before anything is
 * sent. */
#include "base/hash.h"
#include "coll/algo/call_impl.h"

static artel_status refuse(const artel__call *t, const char *what)
{
    return artel__fail(t->team->ctx, ARTEL_ERROR_INVALID, artel__coll_kind_name(t->kind), "see artel/communicator.h",
                       "%s", what);
}

static bool reduces(artel__coll_kind kind)
{
    return kind == ARTEL__COLL_REDUCE || kind == ARTEL__COLL_ALL_REDUCE || kind == ARTEL__COLL_REDUCE_SCATTER;
}

static bool has_root(artel__coll_kind kind)
{
    return kind == ARTEL__COLL_BROADCAST || kind == ARTEL__COLL_REDUCE || kind == ARTEL__COLL_GATHER;
}

static bool has_blocks(artel__coll_kind kind)
{
    return kind == ARTEL__COLL_REDUCE_SCATTER || kind == ARTEL__COLL_GATHER || kind == ARTEL__COLL_ALL_GATHER ||
           kind == ARTEL__COLL_ALL_TO_ALL;
}

/* Sums up counts; false: one is negative, or the sum is too large. */
static bool sum_up(const int64_t *count, int32_t members, int64_t most, int64_t *start)
{
    start[0] = 0;
    for (int32_t i = 0; i < members; i++) {
        if (count[i] < 0 || count[i] > most - start[i]) return false;
        start[i + 1] = start[i] + count[i];
    }
    return true;
}

static bool is_permutation(const int *destination, int32_t members)
{
    for (int32_t i = 0; i < members; i++) {
        if (destination[i] < 0 || destination[i] >= members) return false;
        for (int32_t k = 0; k < i; k++) {
            if (destination[k] == destination[i]) return false;
        }
    }
    return true;
}

/* Counts become starts. */
static artel_status list_starts(artel__call *t)
{
    int32_t members = t->team->members;
    const artel_collective *w = &t->what;
    int64_t most = INT64_MAX / 16 / (int64_t)artel__call_element(t);
    t->shape.start = t->shape.receive = NULL;
    if (!has_blocks(t->kind) || !w->counts)
        return w->count < 0 || w->count > most / members ? refuse(t, "`count` is negative or too large") : ARTEL_OK;
    bool both = t->kind == ARTEL__COLL_ALL_TO_ALL;
    if (both && !w->receive_counts) return refuse(t, "an all-to-all with `counts` needs `receive_counts`, too");
    ARTEL_TRY(artel__coll_reserve(t->team->ctx, &t->starts, 2 * ((size_t)members + 1), sizeof(int64_t)));
    int64_t *start = t->starts.data, *receive = start + members + 1;
    if (!sum_up(w->counts, members, most, start) || (both && !sum_up(w->receive_counts, members, most, receive)))
        return refuse(t, "a count is negative, or they are too large together");
    if (both && w->counts[t->team->position] != w->receive_counts[t->team->position])
        return refuse(t, "this member sends itself another count than it receives from itself");
    t->shape.start = start;
    if (both) t->shape.receive = receive;
    return ARTEL_OK;
}

static int64_t block(const artel__coll_shape *s, int32_t position)
{
    return artel__coll_start(s, position + 1) - artel__coll_start(s, position);
}

void artel__call_extents(const artel__call *t, int64_t *in, int64_t *out)
{
    const artel__coll_shape *s = &t->shape;
    bool root = s->position == s->root;
    int64_t all = artel__coll_start(s, s->members), own = block(s, s->position);
    *in = *out = t->kind == ARTEL__COLL_BARRIER ? 0 : s->count;
    if (t->kind == ARTEL__COLL_BROADCAST && !root) *in = 0;
    if (t->kind == ARTEL__COLL_BROADCAST && root && !t->what.out) *out = 0;
    if (t->kind == ARTEL__COLL_REDUCE && !root) *out = 0;
    if (t->kind == ARTEL__COLL_REDUCE_SCATTER) *in = all;
    if (t->kind == ARTEL__COLL_REDUCE_SCATTER) *out = own;
    if (t->kind == ARTEL__COLL_GATHER) *out = root ? all : 0;
    if (t->kind == ARTEL__COLL_ALL_GATHER) *out = all;
    if (t->kind == ARTEL__COLL_GATHER || t->kind == ARTEL__COLL_ALL_GATHER) *in = own;
    if (t->kind == ARTEL__COLL_ALL_TO_ALL) *in = all;
    if (t->kind == ARTEL__COLL_ALL_TO_ALL) *out = s->receive ? s->receive[s->members] : all;
}

static artel_status check_what(artel__call *t)
{
    const artel_collective *w = &t->what;
    int32_t members = t->team->members;
    int64_t in, out;
    if (t->kind == ARTEL__COLL_BARRIER) t->what.dtype = ARTEL_DTYPE_UINT8;
    if (artel__call_element(t) == 0) return refuse(t, "values of this type have no size");
    if (reduces(t->kind) && !artel__coll_can_combine(w->dtype, w->reduction))
        return artel__fail(t->team->ctx, ARTEL_ERROR_UNSUPPORTED, artel__coll_kind_name(t->kind),
                           "use float32, float64, float16, bfloat16, int32 or int64", "no %s of %s",
                           artel__coll_reduction_name(w->reduction), artel_dtype_name(w->dtype));
    if (has_root(t->kind) && (w->root < 0 || w->root >= members))
        return refuse(t, "`root` is not the position of a member");
    if (t->kind == ARTEL__COLL_PERMUTE && (!w->destination || !is_permutation(w->destination, members)))
        return refuse(t, "`destination` is not a permutation of the positions");
    t->shape.members = members;
    t->shape.position = t->team->position;
    t->shape.root = has_root(t->kind) ? w->root : 0;
    t->shape.count = t->kind == ARTEL__COLL_BARRIER ? 0 : w->count;
    t->shape.destination = w->destination;
    ARTEL_TRY(list_starts(t));
    artel__call_extents(t, &in, &out);
    if ((in && !w->in) || (out && !w->out)) return refuse(t, "`in` or `out` is missing");
    return ARTEL_OK;
}

artel_status artel__call_check(artel__call *t)
{
    ARTEL_TRY(check_what(t));
    t->shape.kind = t->kind;
    t->shape.chunk = t->chunk ? t->chunk : ARTEL__CALL_CHUNK / (int64_t)artel__call_element(t);
    int64_t bytes =
        artel__coll_start(&t->shape, has_blocks(t->kind) ? t->team->members : 1) * (int64_t)artel__call_element(t);
    if (!t->force_way) t->way = artel__coll_choose(t->kind, t->team->members, bytes);
    t->shape.way = t->way;
    return ARTEL_OK;
}

artel__coll_signature artel__call_signature(const artel__call *t, artel_status status)
{
    artel__coll_signature s = {.refused = (uint8_t)-status};
    int32_t members = t->team->members;
    if (status < 0) return s;
    s.kind = (uint8_t)t->kind;
    s.reduction = (uint8_t)(reduces(t->kind) ? t->what.reduction : 0);
    s.dtype = (uint8_t)t->what.dtype;
    s.root = t->shape.root;
    s.count = t->shape.start ? -1 : t->shape.count;
    if (t->shape.start && t->kind != ARTEL__COLL_ALL_TO_ALL)
        s.detail = artel__hash64(t->shape.start, ((size_t)members + 1) * sizeof(int64_t));
    if (t->kind == ARTEL__COLL_PERMUTE) s.detail = artel__hash64(t->what.destination, (size_t)members * sizeof(int));
    s.detail ^= t->detail;
    return s;
}
