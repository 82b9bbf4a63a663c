/* SPDX-License-Identifier: Apache-2.0 */
/* Several operands into one, block by block, so that what lies between leaves and root stays in the cache.
 *
 * The members are pushed from left to right on a stack of partial values; after member i, as many pairs are merged as i
 * + 1 has trailing zeros: that makes exactly the aligned intervals. What is left at the end is merged from the right.
 * 16-bit leaves are widened when they are pushed, and the root is divided, normalised and rounded once when it is
 * stored.
 */
#include "coll/combine.h"

#include <string.h>

#include "tensor/shape.h"

enum {
    BLOCK = 512, /* elements */
    SLOT = BLOCK * 8,
    REDUCTIONS = 5
};

/* -- merges of two blocks; sums and means are in merge.c -- */

static void product_float32(void *out, const void *left, const void *right, int64_t count)
{
    float *o = out;
    const float *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = l[i] * r[i];
}

static void product_float64(void *out, const void *left, const void *right, int64_t count)
{
    double *o = out;
    const double *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = l[i] * r[i];
}

static void product_int32(void *out, const void *left, const void *right, int64_t count)
{
    uint32_t *o = out;
    const uint32_t *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = l[i] * r[i];
}

static void product_int64(void *out, const void *left, const void *right, int64_t count)
{
    uint64_t *o = out;
    const uint64_t *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = l[i] * r[i];
}

/* The right one only where it is smaller, or the only NaN. */
static void min_float32(void *out, const void *left, const void *right, int64_t count)
{
    float *o = out;
    const float *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = r[i] < l[i] || (r[i] != r[i] && l[i] == l[i]) ? r[i] : l[i];
}

static void min_float64(void *out, const void *left, const void *right, int64_t count)
{
    double *o = out;
    const double *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = r[i] < l[i] || (r[i] != r[i] && l[i] == l[i]) ? r[i] : l[i];
}

static void min_int32(void *out, const void *left, const void *right, int64_t count)
{
    int32_t *o = out;
    const int32_t *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = r[i] < l[i] ? r[i] : l[i];
}

static void min_int64(void *out, const void *left, const void *right, int64_t count)
{
    int64_t *o = out;
    const int64_t *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = r[i] < l[i] ? r[i] : l[i];
}

static void max_float32(void *out, const void *left, const void *right, int64_t count)
{
    float *o = out;
    const float *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = r[i] > l[i] || (r[i] != r[i] && l[i] == l[i]) ? r[i] : l[i];
}

static void max_float64(void *out, const void *left, const void *right, int64_t count)
{
    double *o = out;
    const double *l = left, *r = right;
    for (int64_t i = 0; i < count; i++) o[i] = r[i] > l[i] || (r[i] != r[i] && l[i] == l[i]) ? r[i] : l[i];
}

/* -- leaves and roots -- */

static void load_float16(void *out, const void *in, int64_t count)
{
    float *o = out;
    const uint16_t *x = in;
    for (int64_t i = 0; i < count; i++) o[i] = artel__half_to_float(x[i]);
}

static void load_bfloat16(void *out, const void *in, int64_t count)
{
    float *o = out;
    const uint16_t *x = in;
    for (int64_t i = 0; i < count; i++) o[i] = artel__bfloat16_to_float(x[i]);
}

/* Root values of `members` members, in their place: what sums and means end with. */
typedef void finish_fn(void *value, int64_t count, int32_t members);

static void finish_float32(void *value, int64_t count, int32_t members)
{
    float *v = value, n = (float)members;
    for (int64_t i = 0; i < count; i++) v[i] = v[i] / n + 0.0f;
}

static void finish_float64(void *value, int64_t count, int32_t members)
{
    double *v = value, n = (double)members;
    for (int64_t i = 0; i < count; i++) v[i] = v[i] / n + 0.0;
}

static void finish_int32(void *value, int64_t count, int32_t members)
{
    int32_t *v = value;
    for (int64_t i = 0; i < count; i++) v[i] /= members;
}

static void finish_int64(void *value, int64_t count, int32_t members)
{
    int64_t *v = value;
    for (int64_t i = 0; i < count; i++) v[i] /= members;
}

static void store_float16(void *out, const void *in, int64_t count)
{
    uint16_t *o = out;
    const float *x = in;
    for (int64_t i = 0; i < count; i++) o[i] = artel__float_to_half(x[i]);
}

/* A quotient may have been rounded to a negative zero. */
static void make_zeros_positive(void *out, int64_t count)
{
    uint16_t *o = out;
    for (int64_t i = 0; i < count; i++) o[i] = o[i] == 0x8000 ? 0 : o[i];
}

static void store_bfloat16(void *out, const void *in, int64_t count)
{
    uint16_t *o = out;
    const float *x = in;
    for (int64_t i = 0; i < count; i++) o[i] = artel__float_to_bfloat16(x[i]);
}

/* -- the table -- */

typedef void convert_fn(void *out, const void *in, int64_t count);

typedef struct type_row {
    artel_dtype dtype, working; /* working: the type of partial values */
    convert_fn *load, *store;   /* NULL: the types are the same */
    finish_fn *finish;
    artel__coll_merge_fn *product, *min, *max;
} type_row;

static const type_row rows[] = {
    {ARTEL_DTYPE_FLOAT32, ARTEL_DTYPE_FLOAT32, NULL, NULL, finish_float32, product_float32, min_float32, max_float32},
    {ARTEL_DTYPE_FLOAT64, ARTEL_DTYPE_FLOAT64, NULL, NULL, finish_float64, product_float64, min_float64, max_float64},
    {ARTEL_DTYPE_FLOAT16, ARTEL_DTYPE_FLOAT32, load_float16, store_float16, finish_float32, product_float32,
     min_float32, max_float32},
    {ARTEL_DTYPE_BFLOAT16, ARTEL_DTYPE_FLOAT32, load_bfloat16, store_bfloat16, finish_float32, product_float32,
     min_float32, max_float32},
    {ARTEL_DTYPE_INT32, ARTEL_DTYPE_INT32, NULL, NULL, finish_int32, product_int32, min_int32, NULL},
    {ARTEL_DTYPE_INT64, ARTEL_DTYPE_INT64, NULL, NULL, finish_int64, product_int64, min_int64, NULL},
};

static const type_row *find(artel_dtype dtype)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].dtype == dtype) return &rows[i];
    }
    return NULL;
}

static artel__coll_merge_fn *merge_of(const type_row *row, artel_reduction reduction)
{
    if (reduction == ARTEL_REDUCTION_MIN) return row->min;
    if (reduction == ARTEL_REDUCTION_MAX) return row->max ? row->max : artel__coll_max(row->working);
    if (reduction == ARTEL_REDUCTION_PRODUCT) return row->product;
    return artel__coll_sum(row->working);
}

static const char *const names[REDUCTIONS] = {"sum", "mean", "min", "max", "product"};

const char *artel__coll_reduction_name(artel_reduction reduction)
{
    return (unsigned)reduction < REDUCTIONS ? names[reduction] : "?";
}

bool artel__coll_can_combine(artel_dtype dtype, artel_reduction reduction)
{
    return find(dtype) && (unsigned)reduction < REDUCTIONS;
}

/* -- the tree -- */

static int32_t slots(int32_t members)
{
    int32_t height = 2;
    while (members > 1) {
        members = (members + 1) / 2;
        height++;
    }
    return height;
}

size_t artel__coll_combine_scratch(int32_t members)
{
    return (size_t)slots(members) * SLOT;
}

typedef struct stack {
    const void *value[34]; /* an operand, or the slot of its place */
    char *slots;
    int32_t height;
    int64_t count;
    artel__coll_merge_fn *merge;
} stack;

static void merge_top(stack *s)
{
    char *slot = s->slots + (size_t)(s->height - 2) * SLOT;
    s->merge(slot, s->value[s->height - 2], s->value[s->height - 1], s->count);
    s->value[s->height - 2] = slot;
    s->height--;
}

static void push(stack *s, const type_row *row, const char *leaf)
{
    s->value[s->height] = leaf;
    if (row->load) {
        char *slot = s->slots + (size_t)s->height * SLOT;
        row->load(slot, leaf, s->count);
        s->value[s->height] = slot;
    }
    s->height++;
}

static bool has_finish(const type_row *row, artel_reduction reduction)
{
    bool floats = row->working == ARTEL_DTYPE_FLOAT32 || row->working == ARTEL_DTYPE_FLOAT64;
    return reduction == ARTEL_REDUCTION_MEAN || (reduction == ARTEL_REDUCTION_SUM && floats);
}

/* `root` is a slot of the stack, or where has_finish says no, an operand. */
static void conclude(const type_row *row, artel_reduction reduction, int32_t members, void *root, void *out,
                     int64_t count)
{
    bool mean = reduction == ARTEL_REDUCTION_MEAN;
    if (has_finish(row, reduction)) row->finish(root, count, mean ? members : 1);
    if (row->store)
        row->store(out, root, count);
    else if (root != out)
        memcpy(out, root, (size_t)count * artel_dtype_size(row->working));
    if (mean && row->dtype == ARTEL_DTYPE_FLOAT16) make_zeros_positive(out, count);
}

static void store(const artel__coll_combination *c, const type_row *row, stack *s, char *out)
{
    size_t bytes = (size_t)s->count * artel_dtype_size(row->working);
    void *root = (void *)(uintptr_t)s->value[0];
    if (has_finish(row, c->reduction) && root != s->slots) root = memcpy(s->slots, root, bytes);
    conclude(row, c->reduction, c->members, root, out, s->count);
}

void artel__coll_combine(const artel__coll_combination *c)
{
    const type_row *row = find(c->dtype);
    size_t element = artel_dtype_size(c->dtype);
    for (int64_t at = 0; at < c->count; at += BLOCK) {
        stack s = {.slots = c->scratch, .merge = merge_of(row, c->reduction)};
        s.count = c->count - at < BLOCK ? c->count - at : BLOCK;
        for (int32_t i = 0; i < c->members; i++) {
            push(&s, row, (const char *)c->operand[i] + (size_t)at * element);
            for (int32_t n = i + 1; n % 2 == 0; n /= 2) merge_top(&s);
        }
        while (s.height > 1) merge_top(&s);
        store(c, row, &s, (char *)c->out + (size_t)at * element);
    }
}

artel_dtype artel__coll_working_type(artel_dtype dtype)
{
    return find(dtype)->working;
}

void artel__coll_widen(artel_dtype dtype, void *out, const void *in, int64_t count)
{
    const type_row *row = find(dtype);
    if (row->load)
        row->load(out, in, count);
    else
        memcpy(out, in, (size_t)count * artel_dtype_size(dtype));
}

artel__coll_merge_fn *artel__coll_merge_of(artel_dtype dtype, artel_reduction reduction)
{
    return merge_of(find(dtype), reduction);
}

void artel__coll_conclude(artel_dtype dtype, artel_reduction reduction, int32_t members, void *root, void *out,
                          int64_t count)
{
    conclude(find(dtype), reduction, members, root, out, count);
}
