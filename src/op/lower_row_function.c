/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rows as programs of devices: bins, categories, hashes, places of integers in vocabularies.
 *
 * All rows at once; operands are [rows][elements], one row where nothing has rows. A place in a sorted table is found
 * by halving: each turn asks whether that many more entries are passed. What a row cannot take is a fault, as on
 * processors. Strings are in no graph, so what is left are integers and numbers.
 */
#include "op/lower_row_function.h"

#include <stdlib.h>

#include "op/lower_elementwise.h"
#include "op/lower_hash.h"
#include "text/functions.h"

typedef struct rows_of {
    artel__lower *lower;
    artel__hlo *h;
    int64_t rows, count; /* `count` elements of an operand in a row */
    artel_shape shape;   /* of operand 0 in a row */
} rows_of;

static artel__hlo_type table_of(const rows_of *r, artel_dtype dtype)
{
    return (artel__hlo_type){.dtype = dtype, .rank = 2, .dim = {r->rows, r->count}};
}

static bool has_rows(const artel__lower *lower, artel__value_id id)
{
    return lower->graph->value[id].domain == ARTEL__DOMAIN_ROW;
}

static rows_of rows_of_node(artel__lower *lower)
{
    const artel__node *node = lower->node;
    const artel__value *in = &lower->graph->value[node->input[0]];
    return (rows_of){.lower = lower,
                     .h = lower->hlo,
                     .rows = has_rows(lower, node->output[0]) ? lower->rows : 1,
                     .count = artel_shape_count(&in->shape),
                     .shape = in->shape};
}

/* Operand `k`, in its own type; what has no rows is the same in all. */
static artel__hlo_value operand(const rows_of *r, int k)
{
    artel__hlo_value x = r->lower->in[k];
    artel__hlo_type all = table_of(r, artel__hlo_type_of(r->h, x)->dtype),
                    one = {.dtype = all.dtype, .rank = 1, .dim = {r->count}};
    if (has_rows(r->lower, r->lower->node->input[k])) return artel__hlo_reshape(r->h, x, &all);
    return artel__hlo_broadcast(r->h, artel__hlo_reshape(r->h, x, &one), &all, (const int[]){1});
}

static artel__hlo_value integers(const rows_of *r, int k)
{
    return artel__lower_convert(r->h, operand(r, k), ARTEL_DTYPE_INT64);
}

/* -- encodings (text/encode.h) -- */

/* Where the place is the index on the last axis; the axes before it, `axes` of them, are those of the places. */
static artel__hlo_value is_met(const rows_of *r, artel__hlo_value places, const artel__hlo_type *wide, int axes)
{
    artel__hlo_type whole = *wide, part = *wide;
    const int axis[] = {0, 1, 2};
    whole.dtype = part.dtype = ARTEL_DTYPE_INT64;
    part.rank = axes;
    artel__hlo_value index = artel__hlo_iota(r->h, &whole, wide->rank - 1);
    places = artel__hlo_broadcast(r->h, artel__hlo_reshape(r->h, places, &part), &whole, axis);
    return artel__hlo_compare(r->h, "EQ", index, places);
}

/* How often each place occurs over the first axis of the row, or the sum of the weights there. */
static artel__hlo_value counted(const rows_of *r, artel__hlo_value met, artel__hlo_value weights,
                                const artel__hlo_type *wide, artel_dtype to)
{
    artel__hlo *h = r->h;
    artel_dtype dtype = to == ARTEL_DTYPE_FLOAT32 ? to : ARTEL_DTYPE_INT64;
    artel__hlo_type part = *wide;
    if (weights < 0) return artel__hlo_reduce(h, "add", 0, artel__hlo_convert(h, met, dtype), 1u << 1);
    part.rank = 3;
    part.dtype = dtype;
    weights = artel__hlo_reshape(h, artel__lower_convert(h, weights, dtype), &part);
    part = *wide;
    part.dtype = dtype;
    weights = artel__hlo_broadcast(h, weights, &part, (const int[]){0, 1, 2});
    return artel__hlo_reduce(h, "add", 0, artel__hlo_select(h, met, weights, artel__hlo_splat(h, 0, &part)), 1u << 1);
}

static artel__hlo_value gathered(const rows_of *r, const artel__encoding *e, artel__hlo_value places,
                                 artel__hlo_value weights, artel_dtype to)
{
    artel__hlo *h = r->h;
    int64_t inner = artel__shape_product(&r->shape, 1, r->shape.rank);
    artel__hlo_type wide = {.dtype = to, .rank = 4, .dim = {r->rows, r->shape.dim[0], inner, e->depth}};
    artel__hlo_value met = is_met(r, places, &wide, 3);
    if (e->mode == ARTEL__ENCODE_MULTI_HOT) return artel__hlo_reduce(h, "or", 0, met, 1u << 1);
    artel__hlo_value sum = counted(r, met, weights, &wide, to);
    if (e->mode != ARTEL__ENCODE_TF_IDF || to != ARTEL_DTYPE_FLOAT32) return sum;
    artel__hlo_type vector = {.dtype = to, .rank = 1, .dim = {e->depth}}, type = *artel__hlo_type_of(h, sum);
    artel__hlo_value factor =
        artel__hlo_broadcast(h, artel__hlo_table(h, e->weights, &vector), &type, (const int[]){2});
    return artel__hlo_binary(h, "multiply", sum, factor);
}

/* Places (INT64) as the result of the node. `weights`: of the elements; -1: 1 each. */
static void encode(const rows_of *r, const artel__encoding *e, artel__hlo_value places, artel__hlo_value weights)
{
    artel__hlo_type out = artel__lower_out_type(r->lower, 0), wide = {.rank = 3, .dim = {r->rows, r->count, e->depth}};
    artel__hlo_value y = places;
    if (artel__hlo_count(&out) == 0 || r->count == 0)
        y = artel__hlo_splat(r->h, 0, &out);
    else if (e->mode == ARTEL__ENCODE_ONE_HOT)
        y = is_met(r, places, &wide, 2);
    else if (e->mode != ARTEL__ENCODE_INT)
        y = gathered(r, e, places, weights, out.dtype);
    r->lower->out[0] = artel__hlo_reshape(r->h, artel__lower_convert(r->h, y, out.dtype), &out);
}

/* -- places in sorted tables -- */

/* Rows `at` (INT64, of any shape, moved inside) of a vector. */
static artel__hlo_value pick(artel__hlo *h, artel__hlo_value table, artel__hlo_value at)
{
    artel__hlo_type type = *artel__hlo_type_of(h, at), flat = {.dtype = type.dtype, .rank = 1};
    flat.dim[0] = artel__hlo_count(&type);
    type.dtype = artel__hlo_type_of(h, table)->dtype;
    return artel__hlo_reshape(h, artel__hlo_gather_rows(h, table, artel__hlo_reshape(h, at, &flat)), &type);
}

/* How many entries of an ascending vector x passes: those that are not above it with `upper`, those below it without.
 */
static artel__hlo_value passed(artel__hlo *h, artel__hlo_value table, artel__hlo_value x, bool upper)
{
    int64_t count = artel__hlo_type_of(h, table)->dim[0], step = 1;
    artel__hlo_type type = *artel__hlo_type_of(h, x);
    type.dtype = ARTEL_DTYPE_INT64;
    artel__hlo_value found = artel__hlo_splat(h, 0, &type);
    while (step * 2 <= count) step *= 2;
    for (; step > 0; step /= 2) {
        artel__hlo_value next = artel__hlo_binary(h, "add", found, artel__hlo_number(h, (double)step, found));
        artel__hlo_value last = artel__hlo_binary(h, "subtract", next, artel__hlo_number(h, 1, next));
        artel__hlo_value entry = pick(h, table, last);
        artel__hlo_value beyond = upper ? artel__hlo_unary(h, "not", artel__hlo_compare(h, "LT", x, entry))
                                        : artel__hlo_compare(h, "LT", entry, x);
        artel__hlo_value inside = artel__hlo_compare(h, "LE", next, artel__hlo_number(h, (double)count, next));
        found = artel__hlo_select(h, artel__hlo_binary(h, "and", inside, beyond), next, found);
    }
    return found;
}

/* -- the functions -- */

static void lower_discretize(rows_of *r, const void *settings)
{
    const artel__discretize *s = settings;
    artel__hlo *h = r->h;
    artel__hlo_value x = operand(r, 0);
    artel_dtype dtype = artel__hlo_type_of(h, x)->dtype;
    artel__hlo_type places = table_of(r, ARTEL_DTYPE_INT64),
                    vector = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 1, .dim = {s->boundaries}};
    if (dtype == ARTEL_DTYPE_INT64 || dtype == ARTEL_DTYPE_UINT64) x = artel__hlo_convert(h, x, ARTEL_DTYPE_FLOAT64);
    x = artel__hlo_convert(h, x, ARTEL_DTYPE_FLOAT32);
    bool empty = s->boundaries == 0 || r->rows * r->count == 0;
    encode(r, &s->encoding,
           empty ? artel__hlo_splat(h, 0, &places) : passed(h, artel__hlo_table(h, s->boundary, &vector), x, true), -1);
}

static void lower_categories(rows_of *r, const void *settings)
{
    const artel__categories *s = settings;
    artel__hlo_value weights = r->lower->node->inputs == 2 ? operand(r, 1) : -1;
    if (weights >= 0) weights = artel__hlo_convert(r->h, weights, ARTEL_DTYPE_FLOAT32);
    encode(r, &s->encoding, integers(r, 0), weights);
}

/* The hash modulo `bins`, behind `first`. */
static artel__hlo_value bucket(artel__hlo *h, artel__hlo_value hash, uint64_t bins, int64_t first)
{
    artel__hlo_type type = *artel__hlo_type_of(h, hash);
    hash = artel__hlo_binary(h, "remainder", hash, artel__hlo_integer(h, bins, &type));
    hash = artel__hlo_convert(h, hash, ARTEL_DTYPE_INT64);
    return artel__hlo_binary(h, "add", hash, artel__hlo_number(h, (double)first, hash));
}

static void lower_hashing(rows_of *r, const void *settings)
{
    const artel__hashing *s = settings;
    artel__hlo *h = r->h;
    bool masked = s->masked && s->bins > 1;
    artel__hlo_value hash = artel__lower_hash_digits(h, integers(r, 0), s->salted ? s->salt : NULL);
    artel__hlo_value bin = bucket(h, hash, (uint64_t)s->bins - masked, masked);
    if (masked) {
        artel__hlo_value x = artel__hlo_convert(h, operand(r, 0), ARTEL_DTYPE_FLOAT64);
        artel__hlo_value mask = artel__hlo_compare(h, "EQ", x, artel__hlo_number(h, s->mask_number, x));
        bin = artel__hlo_select(h, mask, artel__hlo_number(h, 0, bin), bin);
    }
    encode(r, &s->encoding, bin, -1);
}

static void lower_crossing(rows_of *r, const void *settings)
{
    const artel__crossing *s = settings;
    artel__hlo_type type = table_of(r, ARTEL_DTYPE_UINT64);
    artel__hlo_value hash = artel__hlo_integer(r->h, 0xDECAFCAFFEu, &type); /* the key of tf.sparse.cross_hashed */
    for (int k = 0; k < r->lower->node->inputs; k++)
        hash = artel__lower_hash_chain(r->h, hash, artel__hlo_convert(r->h, integers(r, k), ARTEL_DTYPE_UINT64));
    encode(r, &s->encoding, bucket(r->h, hash, (uint64_t)s->bins, 0), -1);
}

/* -- vocabularies -- */

typedef struct term {
    int64_t integer, place;
} term;

static int by_integer(const void *a, const void *b)
{
    const term *x = a, *y = b;
    if (x->integer != y->integer) return x->integer < y->integer ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* The terms of a table in ascending order, and the place of each, as constants. */
static void write_terms(artel__hlo *h, const artel__table *table, artel__hlo_value *sorted, artel__hlo_value *places)
{
    artel__hlo_type vector = {.dtype = ARTEL_DTYPE_INT64, .rank = 1, .dim = {table->count}};
    size_t count = (size_t)table->count;
    void *block;
    if (h->status < 0) return;
    h->status = artel__calloc(h->ctx, count, sizeof(term) + sizeof(int64_t), "vocabulary", &block);
    if (h->status < 0) return;
    term *list = block;
    int64_t *column = (int64_t *)(list + count);
    for (size_t i = 0; i < count; i++) list[i] = (term){table->integer[i], (int64_t)i};
    qsort(list, count, sizeof *list, by_integer);
    for (size_t i = 0; i < count; i++) column[i] = list[i].integer;
    *sorted = artel__hlo_table(h, column, &vector);
    for (size_t i = 0; i < count; i++) column[i] = list[i].place;
    *places = artel__hlo_table(h, column, &vector);
    artel__free(h->ctx, block);
}

/* Places for terms that are not in the vocabulary. */
static artel__hlo_value unknown(artel__hlo *h, const artel__lookup *s, artel__hlo_value x)
{
    artel__hlo_value first = artel__hlo_number(h, (double)s->first_oov, x),
                     oov = artel__hlo_number(h, (double)s->oov, x);
    if (s->oov <= 1) return first;
    if (s->fingerprints)
        return bucket(h, artel__lower_hash_digits(h, x, s->salted ? s->salt : NULL), (uint64_t)s->oov, s->first_oov);
    artel__hlo_value rest = artel__hlo_binary(h, "remainder", x, oov);
    artel__hlo_value below = artel__hlo_compare(h, "LT", rest, artel__hlo_number(h, 0, rest));
    rest = artel__hlo_select(h, below, artel__hlo_binary(h, "add", rest, oov), rest);
    return artel__hlo_binary(h, "add", rest, first);
}

/* What has no rows is a fault of each. */
static void tell_unknown(const rows_of *r, artel__hlo_value x, artel__hlo_value known)
{
    artel__hlo *h = r->h;
    artel__hlo_type flag = table_of(r, ARTEL_DTYPE_BOOL), value = table_of(r, ARTEL_DTYPE_INT64);
    artel__hlo_value bad = artel__hlo_unary(h, "not", known);
    if (!has_rows(r->lower, r->lower->node->output[0])) {
        flag.dim[0] = value.dim[0] = r->lower->rows;
        bad = artel__hlo_broadcast(h, bad, &flag, (const int[]){0, 1});
        x = artel__hlo_broadcast(h, x, &value, (const int[]){0, 1});
    }
    artel__lower_fault_in(r->lower, bad, x);
}

/* Known terms get their place, the others what they are given; without places for them they are a fault. */
static artel__hlo_value find_terms(const rows_of *r, const artel__lookup *s, artel__hlo_value x, artel__hlo_value mask)
{
    artel__hlo *h = r->h;
    artel__hlo_type flag = table_of(r, ARTEL_DTYPE_BOOL);
    artel__hlo_value known = artel__hlo_integer(h, 0, &flag), out = unknown(h, s, x);
    if (s->table->count > 0) {
        artel__hlo_value sorted = -1, places = -1;
        write_terms(h, s->table, &sorted, &places);
        artel__hlo_value at = passed(h, sorted, x, false);
        known = artel__hlo_compare(h, "EQ", pick(h, sorted, at), x);
        artel__hlo_value place = pick(h, places, at);
        place = artel__hlo_binary(h, "add", place, artel__hlo_number(h, (double)(s->first_oov + s->oov), place));
        out = artel__hlo_select(h, known, place, out);
    }
    if (s->oov > 0) return out;
    tell_unknown(r, x, mask < 0 ? known : artel__hlo_binary(h, "or", known, mask));
    return out;
}

static void lower_inverse(rows_of *r, const artel__lookup *s)
{
    artel__hlo *h = r->h;
    artel__hlo_value place = integers(r, 0), before = artel__hlo_number(h, (double)(s->first_oov + s->oov), place);
    artel__hlo_type out = artel__lower_out_type(r->lower, 0), type = *artel__hlo_type_of(h, place),
                    vector = {.dtype = ARTEL_DTYPE_INT64, .rank = 1, .dim = {s->table->count}};
    artel__hlo_value at = artel__hlo_binary(h, "subtract", place, before), zero = artel__hlo_number(h, 0, place);
    artel__hlo_value y = artel__hlo_integer(h, (uint64_t)s->oov_integer, &type);
    if (s->table->count > 0) {
        artel__hlo_value low = artel__hlo_compare(h, "GE", at, zero),
                         high = artel__hlo_compare(h, "LT", at, artel__hlo_number(h, (double)vector.dim[0], at));
        y = artel__hlo_select(h, artel__hlo_binary(h, "and", low, high),
                              pick(h, artel__hlo_table(h, s->table->integer, &vector), at), y);
    }
    if (s->masked)
        y = artel__hlo_select(h, artel__hlo_compare(h, "EQ", place, zero),
                              artel__hlo_integer(h, (uint64_t)s->mask_integer, &type), y);
    r->lower->out[0] = artel__hlo_reshape(h, y, &out);
}

static void lower_lookup(rows_of *r, const void *settings)
{
    const artel__lookup *s = settings;
    artel__hlo *h = r->h;
    if (s->inverse) {
        lower_inverse(r, s);
        return;
    }
    const int64_t none = s->encoding.mode == ARTEL__ENCODE_INT ? 0 : -1; /* padding is a place, or counted nowhere */
    artel__hlo_value x = integers(r, 0), mask = -1;
    artel__hlo_type type = *artel__hlo_type_of(h, x);
    if (s->masked) mask = artel__hlo_compare(h, "EQ", x, artel__hlo_integer(h, (uint64_t)s->mask_integer, &type));
    artel__hlo_value places = find_terms(r, s, x, mask);
    if (s->masked) places = artel__hlo_select(h, mask, artel__hlo_integer(h, (uint64_t)none, &type), places);
    encode(r, &s->encoding, places, -1);
}

static const struct {
    const artel__row_function *function;
    void (*lower)(rows_of *r, const void *settings);
} functions[] = {
    {&artel__discretize_function, lower_discretize}, {&artel__categories_function, lower_categories},
    {&artel__hashing_function, lower_hashing},       {&artel__crossing_function, lower_crossing},
    {&artel__lookup_function, lower_lookup},
};

void artel__lower_row_function(artel__lower *lower, const artel__row_function *function, const void *settings)
{
    rows_of r = rows_of_node(lower);
    for (size_t i = 0; i < ARTEL__COUNT(functions); i++) {
        if (functions[i].function == function) {
            functions[i].lower(&r, settings);
            return;
        }
    }
    artel__lower_refuse(lower, function->name);
}
