/* SPDX-License-Identifier: Apache-2.0 */
/* The sparse all-reduce: each member sums its repeated ids, all gather all ids and rows, and everyone combines them.
 * Three gathers: how many rows each has, ids, rows.
 */
#include "base/argument.h"
#include "base/hash.h"
#include "base/threads.h"
#include "coll/communicator_impl.h"

static artel_status check(const artel_communicator *c, const artel_sparse *in)
{
    artel_context *ctx = c->home->ctx;
    bool reduction = in->reduction == ARTEL_REDUCTION_SUM || in->reduction == ARTEL_REDUCTION_MEAN;
    if (!reduction || !artel__coll_can_combine(in->dtype, in->reduction))
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, "sparse all-reduce",
                           "use sum or mean of float32, float64, float16, bfloat16, int32 or int64",
                           "no %s of rows of %s", artel__coll_reduction_name(in->reduction),
                           artel_dtype_name(in->dtype));
    bool fits = in->count >= 0 && in->width >= 0 && in->count < INT32_MAX && in->width < (int64_t)1 << 40;
    if (fits && (in->count == 0 || (in->id && (in->width == 0 || in->row)))) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, "sparse all-reduce", "see artel/communicator.h",
                       "%lld rows of %lld elements: a number is out of range, or ids or rows are missing",
                       (long long)in->count, (long long)in->width);
}

/* This member's rows, each id once. */
static artel_status combine_own(artel_communicator *c, const artel_sparse *in, artel__sparse_result *own)
{
    int64_t start[2] = {0, in->count};
    ARTEL_TRY(check(c, in));
    artel__sparse_rows rows = {.dtype = in->dtype, .width = in->width, .start = start, .id = in->id, .row = in->row};
    uint32_t fp = artel__fp_enter();
    artel_status status = artel__sparse_combine(c->home->ctx, &rows, &c->own, own);
    artel__fp_leave(fp);
    return status;
}

/* How many rows each member has, and where they begin. Members whose rows are of different kinds are told here. */
static artel_status gather_counts(artel_communicator *c, const artel_sparse *in, const artel__sparse_result *own,
                                  artel_status status)
{
    size_t members = (size_t)c->team.members;
    uint64_t kind[3] = {(uint64_t)in->dtype, (uint64_t)in->reduction, (uint64_t)in->width};
    if (status == ARTEL_OK) status = artel__coll_reserve(c->home->ctx, &c->counts, 3 * members + 1, sizeof(int64_t));
    artel_collective call = {.dtype = ARTEL_DTYPE_INT64, .count = 1, .in = &own->count, .out = c->counts.data};
    c->call.refused = status;
    status = artel__communicator_continue(c, ARTEL__COLL_ALL_GATHER, &call, artel__hash64(kind, sizeof kind));
    c->call.refused = ARTEL_OK;
    if (status < 0) return status;
    int64_t *count = c->counts.data, *start = count + members, *elements = start + members + 1;
    start[0] = 0;
    for (size_t i = 0; i < members; i++) {
        start[i + 1] = start[i] + count[i];
        elements[i] = count[i] * in->width;
    }
    return ARTEL_OK;
}

static artel_status gather_rows(artel_communicator *c, const artel_sparse *in, const artel__sparse_result *own)
{
    size_t members = (size_t)c->team.members, row_bytes = (size_t)in->width * artel_dtype_size(in->dtype);
    int64_t *count = c->counts.data, *start = count + members, *elements = start + members + 1;
    artel_status status = artel__coll_reserve(c->home->ctx, &c->all_ids, (size_t)start[members], sizeof(int64_t));
    if (status == ARTEL_OK) status = artel__coll_reserve(c->home->ctx, &c->all_rows, (size_t)start[members], row_bytes);
    artel_collective ids = {.dtype = ARTEL_DTYPE_INT64, .counts = count, .in = own->id, .out = c->all_ids.data};
    artel_collective rows = {.dtype = in->dtype, .counts = elements, .in = own->row, .out = c->all_rows.data};
    c->call.refused = status;
    status = artel__communicator_continue(c, ARTEL__COLL_ALL_GATHER, &ids, 0);
    c->call.refused = ARTEL_OK;
    return status < 0 ? status : artel__communicator_continue(c, ARTEL__COLL_ALL_GATHER, &rows, 0);
}

artel_status artel_communicator_all_reduce_sparse(artel_communicator *c, const artel_sparse *in, artel_sparse *out)
{
    artel__sparse_result own = {.count = 0}, all;
    ARTEL_TRY(artel__enter(c ? c->home->ctx : NULL, __func__, "communicator", c));
    artel_status status = artel__need(c->home->ctx, __func__, "in out", in, out);
    if (status < 0) return artel__communicator_refuse(c, ARTEL__COLL_ALL_GATHER, status);
    status = combine_own(c, in, &own);
    ARTEL_TRY(gather_counts(c, in, &own, status));
    ARTEL_TRY(gather_rows(c, in, &own));
    artel__sparse_rows rows = {
        .dtype = in->dtype, .reduction = in->reduction, .width = in->width, .parts = c->team.members};
    rows.start = (int64_t *)c->counts.data + c->team.members;
    rows.id = c->all_ids.data;
    rows.row = c->all_rows.data;
    uint32_t fp = artel__fp_enter();
    status = artel__sparse_combine(c->home->ctx, &rows, &c->combined, &all);
    artel__fp_leave(fp);
    if (status < 0) return status;
    *out = (artel_sparse){.dtype = in->dtype, .reduction = in->reduction, .width = in->width};
    out->count = all.count;
    out->id = all.id;
    out->row = all.row;
    return ARTEL_OK;
}
