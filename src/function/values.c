/* SPDX-License-Identifier: Apache-2.0 */
/* Distributed values: which are this process's, whose they are, and rows made of them.
 *
 * A process owns a run of shards, and so an interval of any number of rows; its values are those whose part of the
 * batch meets that interval. Which interval it is may change from unit to unit, so values are made when they are
 * wanted. */
#include "artel/values.h"

#include <string.h>

#include "function/function_impl.h"

struct artel_values {
    artel_strategy *strategy;
    artel_values_options options;
    size_t bytes; /* of a value */
    bool making;
    int64_t first, count, all;
    uint8_t *value; /* those; NULL: none are made yet */
    uint8_t *row;   /* of batch_size rows */
    artel_values *next;
};

static const artel__range ranges[] = {
    {".count", ARTEL__RANGE_INT64, offsetof(artel_values_options, count), 0, 1e9, NULL}, {.name = NULL}};
static const artel__options_kind kind = {"values options", "begin with ARTEL_VALUES_OPTIONS_INIT",
                                         sizeof(artel_values_options), ranges};

static artel_status check(const artel_strategy *s, const artel_values_options *o)
{
    if (!o->make)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "values options", "give a function",
                           "nothing makes the values");
    if (artel_dtype_size(o->dtype) == 0)
        return artel__fail(s->ctx, ARTEL_ERROR_UNSUPPORTED, "values options", "give a numeric element type",
                           "values of %s", artel_dtype_name(o->dtype));
    if (o->shape.rank < 0 || o->shape.rank >= ARTEL_MAX_RANK || artel_shape_count(&o->shape) < 1)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "values options", "give 0 to 7 axes of at least 1",
                           "this shape has no elements");
    if (o->count <= s->options.batch_size) return ARTEL_OK;
    return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "values options", "give at most one for each row of batch_size",
                       "%lld values for %lld rows", (long long)o->count, (long long)s->options.batch_size);
}

artel_status artel_values_create(artel_strategy *s, const artel_values_options *options, artel_values **out)
{
    artel_values_options chosen = ARTEL_VALUES_OPTIONS_INIT;
    void *block, *row;
    ARTEL_TRY(artel__enter(s ? s->ctx : NULL, __func__, "strategy options out", s, options, out));
    ARTEL_TRY(artel__take_options(s->ctx, &kind, options, &chosen));
    ARTEL_TRY(check(s, &chosen));
    size_t bytes;
    if (__builtin_mul_overflow((size_t)artel_shape_count(&chosen.shape), artel_dtype_size(chosen.dtype), &bytes))
        return artel__fail_memory(s->ctx, "values", SIZE_MAX);
    ARTEL_TRY(artel__calloc(s->ctx, (size_t)s->options.batch_size, bytes, "values", &row));
    artel_status status = artel__calloc(s->ctx, 1, sizeof(artel_values), "values", &block);
    if (status < 0) {
        artel__free(s->ctx, row);
        return status;
    }
    artel_values *v = block;
    *v = (artel_values){.strategy = s, .options = chosen, .bytes = bytes, .row = row, .next = s->values};
    s->values = v;
    *out = v;
    return ARTEL_OK;
}

void artel_values_destroy(artel_values *v)
{
    if (!v) return;
    artel_values **at = &v->strategy->values;
    while (*at != v) at = &(*at)->next;
    *at = v->next;
    artel__free(v->strategy->ctx, v->value);
    artel__free(v->strategy->ctx, v->row);
    artel__free(v->strategy->ctx, v);
}

/* -- whose they are -- */

/* One a replica: those of this process's replicas. */
static bool by_replica(const artel_values *v)
{
    return v->options.count == 0;
}

static void find_mine(const artel_values *v, int64_t *first, int64_t *count, int64_t *all)
{
    const artel_strategy *s = v->strategy;
    int64_t shards = s->options.shards;
    *all = by_replica(v) ? s->ranks : v->options.count;
    *first = by_replica(v) ? s->first : artel__strategy_first_shard(s, 0) * *all / shards;
    int64_t end = (artel__strategy_first_shard(s, s->plan.replicas) * *all + shards - 1) / shards;
    *count = by_replica(v) ? s->plan.replicas : end - *first;
}

/* Of another number each is another one; else those that were here stay. */
static artel_status make(artel_values *v, int64_t first, int64_t count, int64_t all)
{
    artel_context *ctx = v->strategy->ctx;
    void *block;
    if (v->making)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "values", "make a value of its number alone",
                           "the function that makes the values asks for them");
    v->making = true;
    artel_status status = artel__calloc(ctx, (size_t)count, v->bytes, "values", &block);
    for (int64_t i = first; i < first + count && status == ARTEL_OK; i++) {
        uint8_t *to = (uint8_t *)block + (size_t)(i - first) * v->bytes;
        const artel_value_context context = {sizeof context, i, all};
        if (v->value && all == v->all && i >= v->first && i < v->first + v->count)
            memcpy(to, v->value + (size_t)(i - v->first) * v->bytes, v->bytes);
        else
            status = v->options.make(v->options.user, &context, to);
        if (status > 0) status = ARTEL_OK;
        if (status < 0)
            status = artel__fail(ctx, status, "values", "see what it has found", "value %lld of %lld could not be made",
                                 (long long)i, (long long)all);
    }
    v->making = false;
    if (status < 0) {
        artel__free(ctx, block);
        return status;
    }
    artel__free(ctx, v->value);
    v->value = block;
    v->first = first;
    v->count = count;
    v->all = all;
    return ARTEL_OK;
}

static artel_status make_mine(artel_values *v)
{
    int64_t first, count, all;
    ARTEL_TRY(artel__loop_may_run(v->strategy));
    find_mine(v, &first, &count, &all);
    if (v->value && first == v->first && count == v->count && all == v->all) return ARTEL_OK;
    return make(v, first, count, all);
}

artel_status artel_values_local(artel_values *v, int64_t *first, int64_t *count, int64_t *all, const void **elements)
{
    ARTEL_TRY(artel__enter(v ? v->strategy->ctx : NULL, __func__, "values", v));
    ARTEL_TRY(make_mine(v));
    if (first) *first = v->first;
    if (count) *count = v->count;
    if (all) *all = v->all;
    if (elements) *elements = v->value;
    return ARTEL_OK;
}

/* -- rows -- */

static void fill(artel_values *v, int64_t from, int64_t to, int64_t value)
{
    for (int64_t r = from; r < to; r++)
        memcpy(v->row + (size_t)r * v->bytes, v->value + (size_t)(value - v->first) * v->bytes, v->bytes);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void fill_mine(artel_values *v, int64_t rows)
{
    const artel_strategy *s = v->strategy;
    int32_t shards = (int32_t)s->options.shards;
    memset(v->row, 0, (size_t)rows * v->bytes);
    for (int r = 0; r < s->plan.replicas; r++) {
        int64_t begin = artel__shard_start(rows, shards, artel__strategy_first_shard(s, r)),
                end = artel__shard_start(rows, shards, artel__strategy_first_shard(s, r + 1));
        if (by_replica(v)) fill(v, begin, end, s->first + r);
        for (int64_t i = v->first; i < v->first + v->count && !by_replica(v); i++)
            fill(v, most(begin, i * rows / v->all), least(end, (i + 1) * rows / v->all), i);
    }
}

artel_status artel_values_rows(artel_values *v, int64_t rows, artel_array *out)
{
    ARTEL_TRY(artel__enter(v ? v->strategy->ctx : NULL, __func__, "values out", v, out));
    const artel_strategy *s = v->strategy;
    if (rows < 1 || rows > s->options.batch_size)
        return artel__fail(s->ctx, ARTEL_ERROR_INVALID, "values", "set batch_size when the strategy is made",
                           "%lld rows (1 to %lld are possible)", (long long)rows, (long long)s->options.batch_size);
    ARTEL_TRY(make_mine(v));
    fill_mine(v, rows);
    artel_array made = {.dtype = v->options.dtype, .shape = {.rank = v->options.shape.rank + 1, .dim = {rows}}};
    for (int d = 0; d < v->options.shape.rank; d++) made.shape.dim[d + 1] = v->options.shape.dim[d];
    made.data = v->row;
    *out = made;
    return ARTEL_OK;
}
