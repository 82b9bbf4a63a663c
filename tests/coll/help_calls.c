/* SPDX-License-Identifier: Apache-2.0 */
#include "help_calls.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "tensor/shape.h"

static const artel_dtype dtypes[] = {ARTEL_DTYPE_FLOAT32,  ARTEL_DTYPE_FLOAT64, ARTEL_DTYPE_FLOAT16,
                                     ARTEL_DTYPE_BFLOAT16, ARTEL_DTYPE_INT32,   ARTEL_DTYPE_INT64};
static const int64_t sizes[] = {0, 1, 2, 3, 17, 64, 100, 513, 1000, 3001};

/* -- the naive definition -- */

typedef struct value {
    double real; /* of floats; those of 32 bits and fewer are rounded to float32 after every operation */
    int64_t whole;
} value;

static value load(artel_dtype dtype, const void *at)
{
    value v = {.real = 0};
    uint16_t half;
    float single;
    int32_t number;
    if (dtype == ARTEL_DTYPE_FLOAT64) memcpy(&v.real, at, 8);
    if (dtype == ARTEL_DTYPE_INT64) memcpy(&v.whole, at, 8);
    memcpy(&half, at, 2);
    if (dtype == ARTEL_DTYPE_FLOAT16) v.real = (double)artel__half_to_float(half);
    if (dtype == ARTEL_DTYPE_BFLOAT16) v.real = (double)artel__bfloat16_to_float(half);
    if (artel_dtype_size(dtype) < 4) return v;
    memcpy(&single, at, 4);
    memcpy(&number, at, 4);
    if (dtype == ARTEL_DTYPE_FLOAT32) v.real = (double)single;
    if (dtype == ARTEL_DTYPE_INT32) v.whole = number;
    return v;
}

static void store(artel_dtype dtype, value v, void *at)
{
    float single = (float)v.real;
    uint16_t half = dtype == ARTEL_DTYPE_FLOAT16 ? artel__float_to_half(single) : artel__float_to_bfloat16(single);
    int32_t number = (int32_t)v.whole;
    if (dtype == ARTEL_DTYPE_FLOAT64) memcpy(at, &v.real, 8);
    if (dtype == ARTEL_DTYPE_INT64) memcpy(at, &v.whole, 8);
    if (dtype == ARTEL_DTYPE_FLOAT32) memcpy(at, &single, 4);
    if (dtype == ARTEL_DTYPE_INT32) memcpy(at, &number, 4);
    if (artel_dtype_size(dtype) == 2) memcpy(at, &half, 2);
}

static value apply(artel_dtype dtype, artel_reduction reduction, value l, value r)
{
    bool right = isnan(r.real) ? !isnan(l.real) : false;
    bool less = r.real < l.real || r.whole<l.whole, more = r.real> l.real || r.whole > l.whole;
    if (reduction == ARTEL_REDUCTION_MIN) return right || less ? r : l;
    if (reduction == ARTEL_REDUCTION_MAX) return right || more ? r : l;
    bool product = reduction == ARTEL_REDUCTION_PRODUCT;
    uint64_t whole = product ? (uint64_t)l.whole * (uint64_t)r.whole : (uint64_t)l.whole + (uint64_t)r.whole;
    value v = {.real = product ? l.real * r.real : l.real + r.real, .whole = (int64_t)whole};
    if (dtype != ARTEL_DTYPE_FLOAT64) v.real = (double)(float)v.real;
    if (dtype == ARTEL_DTYPE_INT32) v.whole = (int32_t)(uint32_t)whole;
    return v;
}

/* The value of the node [first, first + size), of which the first member exists. */
static value node(artel_dtype dtype, artel_reduction reduction, int members, const char *values, int first, int size)
{
    if (size == 1) return load(dtype, values + (size_t)first * artel_dtype_size(dtype));
    value left = node(dtype, reduction, members, values, first, size / 2);
    if (first + size / 2 >= members) return left;
    return apply(dtype, reduction, left, node(dtype, reduction, members, values, first + size / 2, size / 2));
}

void help_combine(artel_dtype dtype, artel_reduction reduction, int members, const void *values, void *out)
{
    int size = 1;
    while (size < members) size *= 2;
    value v = node(dtype, reduction, members, values, 0, size);
    if (reduction == ARTEL_REDUCTION_MEAN) {
        v.real /= members;
        v.whole /= members;
        if (dtype != ARTEL_DTYPE_FLOAT64) v.real = (double)(float)v.real;
    }
    if ((reduction == ARTEL_REDUCTION_MEAN || reduction == ARTEL_REDUCTION_SUM) && v.real == 0) v.real = 0;
    store(dtype, v, out);
}

/* -- random calls -- */

void help_scene_make(help_scene *s, artel_context *ctx, int ranks, uint64_t seed)
{
    memset(s, 0, sizeof *s);
    s->ctx = ctx;
    s->ranks = ranks;
    s->seed = seed;
    for (int t = 0; t < HELP_TEAMS; t++) {
        int32_t order[HELP_RANKS];
        for (int r = 0; r < ranks; r++) order[r] = r;
        for (int r = ranks - 1; r > 0; r--) {
            int k = (int)(help_mix(seed + 17, (uint64_t)(t * 16 + r)) % (uint64_t)(r + 1));
            int32_t swap = order[r];
            order[r] = order[k];
            order[k] = swap;
        }
        s->members[t] = t == 0 ? ranks : 1 + (int)(help_mix(seed + 18, (uint64_t)t) % (uint64_t)ranks);
        for (int i = 0; i < s->members[t]; i++) s->rank[t][i] = order[i];
    }
}

static void choose_counts(const help_scene *s, int n, help_call *c)
{
    int members = s->members[c->team];
    for (int i = 0; i < members; i++) {
        for (int k = 0; k < members; k++)
            c->counts[i][k] = sizes[help_mix(s->seed + 5, (uint64_t)(n * 100 + i * 10 + k)) % ARTEL__COUNT(sizes)] / 3;
        c->destination[i] = (i * (members > 1 && members != 3 && members != 6 && members != 9 ? 3 : 1) + n) % members;
    }
    c->what.count = sizes[help_mix(s->seed + 4, (uint64_t)n) % ARTEL__COUNT(sizes)];
}

void help_make_call(const help_scene *s, int n, help_call *c)
{
    static const int64_t chunks[] = {0, 0, 16, 100, 640};
    uint64_t bits = help_mix(s->seed, (uint64_t)n);
    memset(c, 0, sizeof *c);
    c->team = (int)(bits % HELP_TEAMS);
    c->kind = (artel__coll_kind)((bits >> 8) % ARTEL__COLL_KINDS);
    c->what.dtype = dtypes[(bits >> 16) % ARTEL__COUNT(dtypes)];
    c->what.reduction = (artel_reduction)((bits >> 24) % 5);
    c->what.root = (int)((bits >> 32) % (uint64_t)s->members[c->team]);
    c->force_way = bits >> 40 & 1;
    bool reduction = c->kind == ARTEL__COLL_REDUCE || c->kind == ARTEL__COLL_ALL_REDUCE, tree = bits >> 41 & 1;
    c->way = c->kind == ARTEL__COLL_BROADCAST || (c->kind == ARTEL__COLL_GATHER && tree) ? ARTEL__COLL_TREE
             : reduction && tree                                                         ? ARTEL__COLL_WHOLE
                                                                                         : ARTEL__COLL_SLICED;
    c->chunk = chunks[(bits >> 44) % ARTEL__COUNT(chunks)];
    c->in_place = bits >> 50 & 1;
    c->blocks = bits >> 51 & 1;
    choose_counts(s, n, c);
    if (c->kind == ARTEL__COLL_BARRIER) c->what.count = 0;
}

void help_fill(const help_scene *s, int n, const help_call *c, int position, void *memory, int64_t count)
{
    size_t size = artel_dtype_size(c->what.dtype);
    bool extreme = c->what.reduction == ARTEL_REDUCTION_MIN || c->what.reduction == ARTEL_REDUCTION_MAX;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = help_mix(s->seed * 64 + (uint64_t)n, (uint64_t)position << 32 | (uint64_t)i);
        double real = ((double)(bits & 0xffff) - 32768.0) * 0.000037 * (double)(1 << (bits >> 20 & 7));
        if ((bits >> 24 & 15) == 0) real = bits >> 28 & 1 ? 0.0 : -0.0;
        if (extreme && (bits >> 30 & 15) == 0) real = (double)NAN;
        store(c->what.dtype, (value){.real = real, .whole = (int64_t)bits}, (char *)memory + (size_t)i * size);
    }
}

/* -- extents -- */

static int64_t block_of(const help_call *c, int position)
{
    return c->blocks ? c->counts[0][position] : c->what.count;
}

static int64_t sum_of(const help_scene *s, const help_call *c, int end)
{
    int64_t sum = 0;
    (void)s;
    for (int i = 0; i < end; i++) sum += block_of(c, i);
    return sum;
}

static int64_t pair_of(const help_call *c, int from, int to)
{
    return c->blocks ? c->counts[from][to] : c->what.count;
}

static int64_t pairs_before(const help_call *c, int from, int end)
{
    int64_t sum = 0;
    for (int i = 0; i < end; i++) sum += pair_of(c, from, i);
    return sum;
}

static int64_t input_count(const help_scene *s, const help_call *c, int position)
{
    int members = s->members[c->team];
    switch (c->kind) {
    case ARTEL__COLL_REDUCE_SCATTER: return sum_of(s, c, members);
    case ARTEL__COLL_ALL_TO_ALL: return pairs_before(c, position, members);
    case ARTEL__COLL_GATHER:
    case ARTEL__COLL_ALL_GATHER: return block_of(c, position);
    default: return c->what.count;
    }
}

/* -- truths -- */

static size_t true_reduction(const help_scene *s, int n, const help_call *c, int64_t first, int64_t count, char *out)
{
    int members = s->members[c->team];
    size_t size = artel_dtype_size(c->what.dtype);
    int64_t whole = input_count(s, c, 0);
    char *all = malloc((size_t)(members * whole) * size + 8), *one = malloc((size_t)members * size);
    for (int p = 0; p < members; p++) help_fill(s, n, c, p, all + (size_t)(p * whole) * size, whole);
    for (int64_t i = 0; i < count; i++) {
        for (int p = 0; p < members; p++)
            memcpy(one + (size_t)p * size, all + (size_t)(p * whole + first + i) * size, size);
        help_combine(c->what.dtype, c->what.reduction, members, one, out + (size_t)i * size);
    }
    free(all);
    free(one);
    return (size_t)count * size;
}

static size_t true_gather(const help_scene *s, int n, const help_call *c, char *out)
{
    size_t at = 0, size = artel_dtype_size(c->what.dtype);
    for (int p = 0; p < s->members[c->team]; p++) {
        help_fill(s, n, c, p, out + at, block_of(c, p));
        at += (size_t)block_of(c, p) * size;
    }
    return at;
}

static size_t true_all_to_all(const help_scene *s, int n, const help_call *c, int position, char *out)
{
    size_t at = 0, size = artel_dtype_size(c->what.dtype);
    for (int p = 0; p < s->members[c->team]; p++) {
        int64_t before = pairs_before(c, p, position), count = pair_of(c, p, position);
        char *all = malloc((size_t)(before + count) * size + 8);
        help_fill(s, n, c, p, all, before + count);
        memcpy(out + at, all + (size_t)before * size, (size_t)count * size);
        at += (size_t)count * size;
        free(all);
    }
    return at;
}

size_t help_truth(const help_scene *s, int n, const help_call *c, int position, void *out)
{
    size_t bytes = (size_t)c->what.count * artel_dtype_size(c->what.dtype);
    bool root = position == c->what.root;
    int from = 0;
    switch (c->kind) {
    case ARTEL__COLL_BROADCAST: help_fill(s, n, c, c->what.root, out, c->what.count); return bytes;
    case ARTEL__COLL_REDUCE: return root ? true_reduction(s, n, c, 0, c->what.count, out) : 0;
    case ARTEL__COLL_ALL_REDUCE: return true_reduction(s, n, c, 0, c->what.count, out);
    case ARTEL__COLL_REDUCE_SCATTER: return true_reduction(s, n, c, sum_of(s, c, position), block_of(c, position), out);
    case ARTEL__COLL_GATHER: return root ? true_gather(s, n, c, out) : 0;
    case ARTEL__COLL_ALL_GATHER: return true_gather(s, n, c, out);
    case ARTEL__COLL_ALL_TO_ALL: return true_all_to_all(s, n, c, position, out);
    case ARTEL__COLL_PERMUTE:
        while (c->destination[from] != position) from++;
        help_fill(s, n, c, from, out, c->what.count);
        return bytes;
    default: return 0;
    }
}

/* -- running -- */

static void run_call(help_scene *s, artel__call *task, int n, const help_call *c)
{
    int position = task->team->position, members = task->team->members;
    size_t size = artel_dtype_size(c->what.dtype);
    int64_t count = input_count(s, c, position), receive[HELP_RANKS];
    char *truth = malloc((size_t)1 << 20), *out = malloc((size_t)1 << 20);
    size_t bytes = help_truth(s, n, c, position, truth), place = 0;
    memset(out, 0xa5, (size_t)1 << 20);
    if (c->kind == ARTEL__COLL_ALL_GATHER || c->kind == ARTEL__COLL_GATHER)
        place = (size_t)sum_of(s, c, position) * size;
    char *in = c->in_place ? out + place : malloc((size_t)count * size + 8);
    help_fill(s, n, c, position, in, count);
    size_t touched = c->in_place && place + (size_t)count * size > bytes ? place + (size_t)count * size : bytes;
    task->kind = c->kind;
    task->what = c->what;
    task->what.in = in;
    task->what.out = out;
    task->what.destination = c->destination;
    task->force_way = c->force_way;
    task->way = c->way;
    task->chunk = c->chunk;
    for (int p = 0; p < members; p++) receive[p] = c->counts[p][position];
    if (c->blocks) task->what.counts = c->kind == ARTEL__COLL_ALL_TO_ALL ? c->counts[position] : c->counts[0];
    if (c->blocks) task->what.receive_counts = receive;
    if (artel__call_run(task) != ARTEL_OK) atomic_fetch_add(&s->wrong_status, 1);
    if (memcmp(out, truth, bytes) != 0 || (uint8_t)out[touched] != 0xa5) atomic_fetch_add(&s->wrong_bits, 1);
    if (!c->in_place) free(in);
    free(out);
    free(truth);
}

static int position_of(const help_scene *s, int team, int rank)
{
    for (int i = 0; i < s->members[team]; i++) {
        if (s->rank[team][i] == rank) return i;
    }
    return -1;
}

static void run_rank(void *user, int rank)
{
    help_scene *s = user;
    artel__team team[HELP_TEAMS];
    artel__call task[HELP_TEAMS];
    help_call *c = malloc(sizeof *c);
    uint32_t fp = artel__fp_enter();
    for (int t = 0; t < HELP_TEAMS; t++) {
        team[t] = (artel__team){
            .ctx = s->ctx, .endpoint = s->members[t] > 1 ? s->endpoint[rank] : NULL, .members = s->members[t]};
        team[t].position = position_of(s, t, rank);
        team[t].rank = s->rank[t];
        team[t].id = (uint64_t)t + 5;
        team[t].generation = s->generation;
        artel__call_init(&task[t], &team[t]);
    }
    for (int n = 0; n < HELP_CALLS; n++) {
        help_make_call(s, n, c);
        if (team[c->team].position >= 0) run_call(s, &task[c->team], n, c);
    }
    for (int t = 0; t < HELP_TEAMS; t++) artel__call_fini(&task[t]);
    artel__fp_leave(fp);
    free(c);
}

void help_scene_run(help_scene *s)
{
    help_run_ranks(s->ranks, run_rank, s);
}
