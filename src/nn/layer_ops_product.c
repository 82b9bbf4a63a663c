/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that multiply and sum along named axes: einsum, matmul, dot, inner, tensordot. See layer_ops.h.
 *
 * A term is a tensor with a letter for each axis, digits for those of an ellipsis, counted from the right. Two terms at
 * a time become [shared][own][summed] each; with a constant on one side that is a product with weights, else all
 * products are made and summed (artel__row_products). The batch has the letter that stands first in every tensor and in
 * the result; values without rows have none.
 */
#include <ctype.h>
#include <string.h>

#include "nn/layer_ops.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"
#include "op/wide_product.h"

enum {
    LETTERS = 32,
    TERMS = 16
};

typedef struct term {
    artel__value_id value;
    char axis[LETTERS]; /* as many letters as the value has axes */
    bool shared;        /* nothing in the whole call has rows */
} term;

static bool has(const char *letters, char letter)
{
    return letter && strchr(letters, letter) != NULL;
}

static int64_t extent_of(const artel__graph *graph, const term *t, char letter)
{
    return graph->value[t->value].shape.dim[strchr(t->axis, letter) - t->axis];
}

/* The axes in another order, which names each once. */
static void permute(artel__graph *graph, term *t, const char *order)
{
    int axes[ARTEL_MAX_RANK], n = (int)strlen(order);
    bool same = strcmp(t->axis, order) == 0;
    for (int i = 0; i < n; i++) axes[i] = (int)(strchr(t->axis, order[i]) - t->axis);
    if (!same) t->value = artel__op_transpose(graph, t->value, axes);
    memmove(t->axis, order, (size_t)n + 1);
}

static void reshape(artel__graph *graph, term *t, const artel_shape *shape)
{
    t->value = artel__op_reshape(graph, t->value, shape);
}

/* Takes the diagonal of two axes with one letter. */
static void take_diagonal(artel__graph *graph, term *t, int first, int second)
{
    int axes[ARTEL_MAX_RANK], n = 0, rank = (int)strlen(t->axis);
    char order[LETTERS], letter = t->axis[first];
    for (int i = 0; i < rank; i++) {
        if (i == first || i == second) continue;
        order[n] = t->axis[i];
        axes[n++] = i;
    }
    axes[n] = first;
    axes[n + 1] = second;
    t->value = artel__op_transpose(graph, t->value, axes);
    if (graph->status < 0) return;
    artel_shape shape = graph->value[t->value].shape;
    int64_t extent = shape.dim[n];
    shape.dim[n] = extent * extent;
    shape.rank = n + 1;
    reshape(graph, t, &shape);
    t->value = artel__op_slice(graph, t->value, n, 0, extent, extent + 1);
    order[n] = letter;
    order[n + 1] = 0;
    memcpy(t->axis, order, (size_t)n + 2);
}

/* Leaves each letter once, and only those that somebody wants. */
static void simplify(artel__graph *graph, term *t, const char *wanted, const char *also)
{
    for (int i = 0; t->axis[i] && graph->status >= 0; i++) {
        const char *again = strchr(t->axis + i + 1, t->axis[i]);
        if (again) {
            take_diagonal(graph, t, i, (int)(again - t->axis));
            i = -1;
        }
    }
    uint32_t gone = 0;
    char left[LETTERS];
    int n = 0;
    for (int i = 0; t->axis[i]; i++) {
        if (has(wanted, t->axis[i]) || has(also, t->axis[i]))
            left[n++] = t->axis[i];
        else
            gone |= 1u << i;
    }
    left[n] = 0;
    if (gone) t->value = artel__op_reduce(graph, ARTEL__REDUCE_SUM, t->value, gone, false);
    memcpy(t->axis, left, (size_t)n + 1);
}

/* The letters of a that are in b or not, in `keep` or not. */
static void choose(const char *a, const char *b, bool in_b, const char *keep, bool kept, char *out)
{
    int n = 0;
    for (; *a; a++) {
        if (has(b, *a) == in_b && has(keep, *a) == kept) out[n++] = *a;
    }
    out[n] = 0;
}

static artel_shape extents(const artel__graph *graph, const term *t, const char *letters)
{
    artel_shape shape = {.rank = 0};
    for (; *letters && shape.rank < ARTEL_MAX_RANK; letters++) shape.dim[shape.rank++] = extent_of(graph, t, *letters);
    return shape;
}

static void append_extents(artel_shape *shape, const artel_shape *more)
{
    for (int i = 0; i < more->rank && shape->rank < ARTEL_MAX_RANK; i++) shape->dim[shape->rank++] = more->dim[i];
}

typedef struct split {
    char shared[LETTERS], summed[LETTERS], own_a[LETTERS], own_b[LETTERS];
} split;

/* A tensor with constant weights. */
static void multiply_weights(artel__graph *graph, term *a, term *b, const split *s)
{
    char order[2 * LETTERS];
    artel_shape columns = extents(graph, b, s->own_b), own = extents(graph, a, s->own_a),
                summed = extents(graph, a, s->summed);
    strcat(strcpy(order, s->own_a), s->summed);
    permute(graph, a, order);
    strcat(strcpy(order, s->summed), s->own_b);
    permute(graph, b, order);
    artel_shape matrix = artel__shape(2, artel_shape_count(&summed), artel_shape_count(&columns));
    reshape(graph, b, &matrix);
    artel_shape wide = artel__shape(1, matrix.dim[1]);
    a->value = artel__op_product(graph, a->value, artel__op_panels(graph, b->value), ARTEL__NO_VALUE, summed.rank,
                                 &wide, ARTEL__FUSED_NONE);
    append_extents(&own, &columns);
    reshape(graph, a, &own);
    strcat(strcpy(a->axis, s->own_a), s->own_b);
}

static void multiply_rows(artel__graph *graph, term *a, term *b, const split *s)
{
    char order[2 * LETTERS];
    artel_shape whole = extents(graph, a, s->shared), own_a = extents(graph, a, s->own_a),
                own_b = extents(graph, b, s->own_b);
    artel_shape summed = extents(graph, a, s->summed);
    int64_t shared = artel_shape_count(&whole), k = artel_shape_count(&summed);
    strcat(strcat(strcpy(order, s->shared), s->own_a), s->summed);
    permute(graph, a, order);
    strcat(strcat(strcpy(order, s->shared), s->own_b), s->summed);
    permute(graph, b, order);
    artel_shape left = artel__shape(3, shared, artel_shape_count(&own_a), k),
                right = artel__shape(3, shared, artel_shape_count(&own_b), k);
    reshape(graph, a, &left);
    reshape(graph, b, &right);
    bool wide = graph->status == ARTEL_OK && graph->value[a->value].dtype == ARTEL_DTYPE_FLOAT64;
    a->value =
        wide ? artel__op_wide_product(graph, a->value, b->value) : artel__row_products(graph, a->value, b->value);
    append_extents(&whole, &own_a);
    append_extents(&whole, &own_b);
    reshape(graph, a, &whole);
    strcat(strcat(strcpy(a->axis, s->shared), s->own_a), s->own_b);
}

/* a becomes the sum of products of both over the letters that are in neither `keep`. */
static artel_status contract(const artel__layer *layer, artel__graph *graph, term *a, term *b, const char *keep)
{
    split s;
    simplify(graph, a, keep, b->axis);
    simplify(graph, b, keep, a->axis);
    if (graph->status < 0) return graph->status;
    for (const char *at = a->axis; *at; at++) {
        if (has(b->axis, *at) && extent_of(graph, a, *at) != extent_of(graph, b, *at))
            return artel__raw_refuse(layer, "extents that do not fit");
    }
    choose(a->axis, b->axis, true, keep, true, s.shared);
    choose(a->axis, b->axis, true, keep, false, s.summed);
    choose(a->axis, b->axis, false, keep, true, s.own_a);
    choose(b->axis, a->axis, false, keep, true, s.own_b);
    if (strlen(s.shared) + strlen(s.own_a) + strlen(s.own_b) > ARTEL_MAX_RANK)
        return artel__raw_refuse(layer, "so many axes");
    bool a_rows = graph->value[a->value].domain == ARTEL__DOMAIN_ROW,
         b_rows = graph->value[b->value].domain == ARTEL__DOMAIN_ROW;
    bool wide = graph->value[a->value].dtype == ARTEL_DTYPE_FLOAT64;
    if (!wide && (a_rows != b_rows || a->shared) && !s.shared[0] && s.summed[0]) {
        term swapped = *a;
        char own[LETTERS];
        if (b_rows) {
            *a = *b;
            *b = swapped;
            memcpy(own, s.own_a, sizeof own);
            memcpy(s.own_a, s.own_b, sizeof own);
            memcpy(s.own_b, own, sizeof own);
        }
        multiply_weights(graph, a, b, &s);
    } else {
        multiply_rows(graph, a, b, &s);
    }
    return graph->status;
}

/* Extents of 1 under a digit, or of a constant under the batch's letter, meet anything: such an axis goes. */
static void squeeze(artel__graph *graph, term *t, const term *all, int count, char batch)
{
    if (graph->status < 0) return;
    artel_shape in = graph->value[t->value].shape, out = {.rank = 0};
    char left[LETTERS];
    for (int i = 0; i < in.rank; i++) {
        bool meets = t->axis[i] == batch;
        for (int k = 0; k < count && isdigit((unsigned char)t->axis[i]); k++)
            meets =
                meets || (&all[k] != t && has(all[k].axis, t->axis[i]) && extent_of(graph, &all[k], t->axis[i]) > 1);
        if (in.dim[i] == 1 && meets) continue;
        left[out.rank] = t->axis[i];
        out.dim[out.rank++] = in.dim[i];
    }
    left[out.rank] = 0;
    if (out.rank == in.rank) return;
    reshape(graph, t, &out);
    memcpy(t->axis, left, (size_t)out.rank + 1);
}

/* Terms with all their letters, that of the batch first in those with rows; `out` likewise, unless nothing has rows.
 * The first becomes the result. */
static artel_status sum_terms(const artel__layer *layer, const artel__call *call, term *terms, int count,
                              const char *out)
{
    artel__graph *graph = call->graph;
    char batch = call->shared ? 0 : out[0], keep[LETTERS * TERMS];
    const char *kept = call->shared ? out : out + 1;
    if (graph->status < 0) return graph->status;
    for (int i = 0; i < count; i++) {
        bool rows = graph->value[terms[i].value].domain == ARTEL__DOMAIN_ROW;
        terms[i].shared = call->shared;
        if (rows && (terms[i].axis[0] != batch || has(terms[i].axis + 1, batch)))
            return artel__raw_refuse(layer, "the batch anywhere but first in its tensors and in the result");
        if (rows) memmove(terms[i].axis, terms[i].axis + 1, strlen(terms[i].axis));
        if ((int)strlen(terms[i].axis) != graph->value[terms[i].value].shape.rank)
            return artel__raw_refuse(layer, "so many axes");
        terms[i].value = artel__as_float(graph, terms[i].value);
    }
    for (int i = 0; i < count; i++) {
        squeeze(graph, &terms[i], terms, count, batch);
        if (has(terms[i].axis, batch)) return artel__raw_refuse(layer, "a constant with a batch");
    }
    for (int i = 1; i < count; i++) {
        strcpy(keep, kept);
        for (int k = i + 1; k < count; k++) strcat(keep, terms[k].axis);
        ARTEL_TRY(contract(layer, graph, &terms[0], &terms[i], keep));
    }
    simplify(graph, &terms[0], kept, "");
    if (strlen(terms[0].axis) != strlen(kept)) return artel__raw_refuse(layer, "a letter that no operand has");
    permute(graph, &terms[0], kept);
    return graph->status;
}

static artel_status sum_of_products(const artel__layer *layer, artel__call *call, term *terms, int count,
                                    const char *out)
{
    ARTEL_TRY(sum_terms(layer, call, terms, count, out));
    artel__call_return(call, terms[0].value);
    return ARTEL_OK;
}

artel_status artel__raw_sum_of_products(const artel__layer *layer, const artel__call *call,
                                        const artel__value_id value[2], const char *const axes[3], artel__value_id *out)
{
    term terms[2];
    for (int i = 0; i < 2; i++) {
        if (strlen(axes[i]) >= LETTERS / 2) return artel__raw_refuse(layer, "so many axes");
        terms[i].value = value[i];
        strcpy(terms[i].axis, axes[i]);
    }
    ARTEL_TRY(sum_terms(layer, call, terms, 2, axes[2]));
    *out = terms[0].value;
    return ARTEL_OK;
}

static bool has_rows(const artel__call *call, artel__value_id x)
{
    return call->graph->value[x].domain == ARTEL__DOMAIN_ROW;
}

/* Axes with the batch. */
static int full_rank(const artel__call *call, artel__value_id x)
{
    return call->graph->value[x].shape.rank + (has_rows(call, x) ? 1 : 0);
}

/* -- einsum -- */

/* Letters of one operand; those of an ellipsis are digits, the last one '0'. False when they do not fit. */
static bool read_letters(const char **at, int rank, char *out)
{
    int n = 0, given = 0;
    for (const char *look = *at; *look && *look != ',' && *look != '-'; look++)
        given += isalpha((unsigned char)*look) != 0;
    for (; **at && **at != ',' && **at != '-'; (*at)++) {
        if (**at == ' ') continue;
        if (strncmp(*at, "...", 3) == 0) {
            for (int i = rank - given - 1; i >= 0 && n < LETTERS - 1; i--) out[n++] = (char)('0' + i);
            *at += 2;
        } else if (isalpha((unsigned char)**at) && n < LETTERS - 1)
            out[n++] = **at;
        else
            return false;
    }
    out[n] = 0;
    return rank < 10 && (rank < 0 || n == rank);
}

/* As many digits as the widest ellipsis of the operands has. */
static int widest(const term *terms, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++) {
        int n = 0;
        for (const char *at = terms[i].axis; *at; at++) n += isdigit((unsigned char)*at) != 0;
        if (n > most) most = n;
    }
    return most;
}

artel_status artel__raw_einsum(artel__layer *layer, artel__call *call)
{
    term terms[TERMS];
    char out[LETTERS];
    int count = (int)json_array_size(json_object_get(call->arguments, "args"));
    const char *at = json_string_value(artel__raw_setting(layer, call, "subscripts", 0));
    if (!at || count < 1 || count > TERMS) return artel__raw_refuse(layer, "these operands");
    for (int i = 0; i < count; i++) {
        ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, i), &terms[i].value));
        if (call->graph->status < 0) return call->graph->status;
        if (!read_letters(&at, full_rank(call, terms[i].value), terms[i].axis))
            return artel__raw_refuse(layer, "this equation");
        if (*at == ',') at++;
    }
    if (strncmp(at, "->", 2) != 0)
        return artel__raw_refuse(layer, "an equation without its result, of which Keras and NumPy disagree");
    int letters = 0;
    at += 2;
    for (const char *look = at; *look; look++) letters += isalpha((unsigned char)*look) != 0;
    if (!read_letters(&at, strchr(at, '.') ? letters + widest(terms, count) : letters, out) || *at)
        return artel__raw_refuse(layer, "this equation");
    return sum_of_products(layer, call, terms, count, out);
}

/* -- products of two operands -- */

static artel_status read_two(const artel__layer *layer, const artel__call *call, term terms[2])
{
    for (int i = 0; i < 2; i++) {
        ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, i), &terms[i].value));
        if (call->graph->status < 0) return call->graph->status;
        if (full_rank(call, terms[i].value) >= LETTERS / 4) return artel__raw_refuse(layer, "so many axes");
        terms[i].axis[0] = 0;
    }
    return ARTEL_OK;
}

/* "3210mk": digits for the axes in front of the matrix, the batch in front of all. */
static void name_matrix(const artel__call *call, term *t, char row, char column)
{
    int rank = full_rank(call, t->value), n = 0;
    bool rows = has_rows(call, t->value);
    if (rows) t->axis[n++] = 'B';
    for (int i = rank - 3 - (rows ? 1 : 0); i >= 0; i--) t->axis[n++] = (char)('0' + i);
    if (rank >= (rows ? 3 : 2)) t->axis[n++] = row;
    t->axis[n++] = column;
    t->axis[n] = 0;
}

/* A constant with as many axes as the batch makes has the batch's letter, if its extent there is 1. */
static void name_leading(const artel__call *call, term *constant, const term *rows)
{
    if (full_rank(call, constant->value) == full_rank(call, rows->value) && constant->axis[0] != 'B' &&
        isdigit((unsigned char)constant->axis[0]))
        constant->axis[0] = 'B';
}

artel_status artel__raw_matmul(artel__layer *layer, artel__call *call)
{
    term t[2];
    char out[LETTERS] = "B";
    ARTEL_TRY(read_two(layer, call, t));
    int rank[2] = {full_rank(call, t[0].value), full_rank(call, t[1].value)};
    bool rows[2] = {has_rows(call, t[0].value), has_rows(call, t[1].value)};
    if (rank[0] < 1 || rank[1] < 1) return artel__raw_refuse(layer, "a number");
    if ((rows[1] && rank[1] < 3) || (rows[0] && rows[1] && rank[0] != rank[1]) ||
        (!rows[0] && !rows[1] && !call->shared))
        return artel__raw_refuse(layer, "operands that mix the rows of the batch");
    name_matrix(call, &t[0], 'm', 'k');
    name_matrix(call, &t[1], 'k', 'n');
    if (rank[1] == 1) strcpy(t[1].axis, "k");
    if (!rows[0] && rows[1]) name_leading(call, &t[0], &t[1]);
    if (!rows[1] && rows[0]) name_leading(call, &t[1], &t[0]);
    size_t n = call->shared ? 0 : 1;
    for (int i = 9; i >= 0; i--) {
        if (has(t[0].axis, (char)('0' + i)) || has(t[1].axis, (char)('0' + i))) out[n++] = (char)('0' + i);
    }
    if (rows[0] && rank[0] == 2 && n > 1) return artel__raw_refuse(layer, "operands that mix the rows of the batch");
    if (has(t[0].axis, 'm')) out[n++] = 'm';
    if (has(t[1].axis, 'n')) out[n++] = 'n';
    out[n] = 0;
    return sum_of_products(layer, call, t, 2, out);
}

/* Axes `axis` of both are summed, `summed` of them; the others of the first, then those of the second, are the result.
 */
static artel_status along(artel__layer *layer, artel__call *call, term t[2], int summed, int axis[2][ARTEL_MAX_RANK])
{
    char out[LETTERS];
    int n = 0, rank[2] = {full_rank(call, t[0].value), full_rank(call, t[1].value)};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < rank[i]; k++) t[i].axis[k] = (char)((i ? 'a' : 'A') + k);
        t[i].axis[rank[i]] = 0;
    }
    for (int k = 0; k < summed; k++) {
        if (axis[0][k] < 0 || axis[0][k] >= rank[0] || axis[1][k] < 0 || axis[1][k] >= rank[1])
            return artel__raw_refuse(layer, "these axes");
        if (isupper((unsigned char)t[1].axis[axis[1][k]])) return artel__raw_refuse(layer, "these axes");
        t[1].axis[axis[1][k]] = t[0].axis[axis[0][k]];
    }
    for (int k = 0; k < rank[0]; k++) {
        if (!has(t[1].axis, t[0].axis[k])) out[n++] = t[0].axis[k];
    }
    for (int k = 0; k < rank[1]; k++) {
        if (!isupper((unsigned char)t[1].axis[k])) out[n++] = t[1].axis[k];
    }
    out[n] = 0;
    return sum_of_products(layer, call, t, 2, out);
}

/* dot, and inner, which sums along the last axis of both. */
static artel_status along_last(artel__layer *layer, artel__call *call, bool inner)
{
    term t[2];
    int axis[2][ARTEL_MAX_RANK];
    ARTEL_TRY(read_two(layer, call, t));
    int first = full_rank(call, t[0].value), second = full_rank(call, t[1].value);
    if (first == 0 || second == 0) {
        artel__graph *graph = call->graph;
        artel__value_id factor = artel__as_float(graph, t[1].value);
        artel__call_return(call,
                           artel__op_binary(graph, ARTEL__BINARY_MUL, artel__as_float(graph, t[0].value), factor));
        return graph->status;
    }
    axis[0][0] = first - 1;
    axis[1][0] = inner || second == 1 ? second - 1 : second - 2;
    return along(layer, call, t, 1, axis);
}

artel_status artel__raw_dot(artel__layer *layer, artel__call *call)
{
    return along_last(layer, call, false);
}

artel_status artel__raw_inner(artel__layer *layer, artel__call *call)
{
    return along_last(layer, call, true);
}

static bool read_axes(json_t *given, int rank, int *out, int *count)
{
    *count = json_is_array(given) ? (int)json_array_size(given) : 1;
    if (*count > ARTEL_MAX_RANK) return false;
    for (int i = 0; i < *count; i++) {
        int64_t number;
        if (!artel__json_integer(json_is_array(given) ? json_array_get(given, (size_t)i) : given, &number))
            return false;
        if (number < 0) number += rank;
        if (number < 0 || number >= rank) return false;
        out[i] = (int)number;
    }
    return true;
}

artel_status artel__raw_tensordot(artel__layer *layer, artel__call *call)
{
    term t[2];
    int axis[2][ARTEL_MAX_RANK], count[2];
    int64_t number = 2;
    ARTEL_TRY(read_two(layer, call, t));
    json_t *axes = artel__raw_setting(layer, call, "axes", 2);
    int first = full_rank(call, t[0].value), second = full_rank(call, t[1].value);
    if (!axes || artel__json_integer(axes, &number)) {
        if (number < 0 || number > first || number > second) return artel__raw_refuse(layer, "these axes");
        for (int i = 0; i < (int)number; i++) {
            axis[0][i] = first - (int)number + i;
            axis[1][i] = i;
        }
        return along(layer, call, t, (int)number, axis);
    }
    if (json_array_size(axes) != 2 || !read_axes(json_array_get(axes, 0), first, axis[0], &count[0]) ||
        !read_axes(json_array_get(axes, 1), second, axis[1], &count[1]) || count[0] != count[1])
        return artel__raw_refuse(layer, "these axes");
    return along(layer, call, t, count[0], axis);
}
