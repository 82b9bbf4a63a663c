/* SPDX-License-Identifier: Apache-2.0 */
/* Writing StableHLO: sums, products, loops. */
#include "graph/hlo_impl.h"

#include <inttypes.h>

artel__hlo_value artel__hlo_reduce(artel__hlo *h, const char *op, double init, artel__hlo_value a, uint32_t axes)
{
    artel__hlo_type from = *artel__hlo_type_of(h, a), type = {.dtype = from.dtype};
    artel__hlo_type scalar = {.dtype = from.dtype};
    int gone[ARTEL__HLO_RANK], count = 0;
    for (int i = 0; i < from.rank; i++) {
        if (axes >> i & 1)
            gone[count++] = i;
        else
            type.dim[type.rank++] = from.dim[i];
    }
    if (count == 0) return a;
    artel__hlo_value in[] = {a, artel__hlo_splat(h, init, &scalar)}, out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body,
                       "    %%%d = stablehlo.reduce(%%%d init: %%%d) applies stablehlo.%s across dimensions = ", out, a,
                       in[1], op);
    artel__hlo_write_axes(&h->body, gone, count);
    artel__hlo_write_signature(h, in, 2, out);
    return out;
}

artel__hlo_value artel__hlo_dot(artel__hlo *h, artel__hlo_value a, artel__hlo_value b, int axis_a, int axis_b)
{
    return artel__hlo_dot_general(
        h, a, b, &(artel__hlo_dims){.contracted = 1, .contracted_a = {axis_a}, .contracted_b = {axis_b}});
}

static bool is_free(const int *batch, int batches, const int *contracted, int contractions, int axis)
{
    for (int i = 0; i < batches; i++) {
        if (batch[i] == axis) return false;
    }
    for (int i = 0; i < contractions; i++) {
        if (contracted[i] == axis) return false;
    }
    return true;
}

static bool pairs_fit(const artel__hlo_type *a, const artel__hlo_type *b, const int *axis_a, const int *axis_b,
                      int count)
{
    for (int i = 0; i < count; i++) {
        if (axis_a[i] < 0 || axis_a[i] >= a->rank || axis_b[i] < 0 || axis_b[i] >= b->rank) return false;
        if (a->dim[axis_a[i]] != b->dim[axis_b[i]]) return false;
    }
    return true;
}

static artel__hlo_value narrowed(artel__hlo *h, artel__hlo_value a)
{
    return h->narrow && artel__hlo_type_of(h, a)->dtype == ARTEL_DTYPE_FLOAT32
               ? artel__hlo_convert(h, a, ARTEL_DTYPE_BFLOAT16)
               : a;
}

artel__hlo_value artel__hlo_dot_general(artel__hlo *h, artel__hlo_value a, artel__hlo_value b, const artel__hlo_dims *d)
{
    a = narrowed(h, a);
    b = narrowed(h, b);
    artel__hlo_type left = *artel__hlo_type_of(h, a), right = *artel__hlo_type_of(h, b), type = {.dtype = left.dtype};
    bool narrow = left.dtype == ARTEL_DTYPE_BFLOAT16 || left.dtype == ARTEL_DTYPE_FLOAT16;
    if (left.dtype != right.dtype || !pairs_fit(&left, &right, d->batch_a, d->batch_b, d->batch) ||
        !pairs_fit(&left, &right, d->contracted_a, d->contracted_b, d->contracted))
        return artel__hlo_wrong(h, "dot_general");
    if (narrow) type.dtype = ARTEL_DTYPE_FLOAT32;
    for (int i = 0; i < d->batch; i++) type.dim[type.rank++] = left.dim[d->batch_a[i]];
    for (int i = 0; i < left.rank; i++) {
        if (is_free(d->batch_a, d->batch, d->contracted_a, d->contracted, i)) type.dim[type.rank++] = left.dim[i];
    }
    for (int i = 0; i < right.rank; i++) {
        if (!is_free(d->batch_b, d->batch, d->contracted_b, d->contracted, i)) continue;
        if (type.rank == ARTEL__HLO_RANK) return artel__hlo_wrong(h, "dot_general");
        type.dim[type.rank++] = right.dim[i];
    }
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.dot_general %%%d, %%%d, ", out, a, b);
    if (d->batch) {
        artel__text_append(&h->body, "batching_dims = ");
        artel__hlo_write_axes(&h->body, d->batch_a, d->batch);
        artel__text_append(&h->body, " x ");
        artel__hlo_write_axes(&h->body, d->batch_b, d->batch);
        artel__text_append(&h->body, ", ");
    }
    artel__text_append(&h->body, "contracting_dims = ");
    artel__hlo_write_axes(&h->body, d->contracted_a, d->contracted);
    artel__text_append(&h->body, " x ");
    artel__hlo_write_axes(&h->body, d->contracted_b, d->contracted);
    const char *precision = narrow ? "DEFAULT" : h->precision;
    artel__text_printf(&h->body, ", precision = [%s, %s]", precision, precision);
    artel__hlo_write_signature(h, (artel__hlo_value[]){a, b}, 2, out);
    return out;
}

/* ", name = [1, 2]", 0 standing for 1, unless all are 1. */
static void write_steps(artel__text *to, const char *name, const int64_t *item, int count)
{
    int64_t step[3];
    bool plain = true;
    for (int i = 0; i < count; i++) {
        step[i] = item[i] ? item[i] : 1;
        plain = plain && step[i] == 1;
    }
    if (plain) return;
    artel__text_printf(to, ", %s = ", name);
    artel__hlo_write_list(to, step, count);
}

artel__hlo_value artel__hlo_conv(artel__hlo *h, artel__hlo_value a, artel__hlo_value b, const artel__hlo_window *w,
                                 const artel__hlo_type *to)
{
    a = narrowed(h, a);
    b = narrowed(h, b);
    artel__hlo_type left = *artel__hlo_type_of(h, a), type = *to;
    bool narrow = left.dtype == ARTEL_DTYPE_BFLOAT16 || left.dtype == ARTEL_DTYPE_FLOAT16;
    if (left.dtype != artel__hlo_type_of(h, b)->dtype || left.rank != w->axes + 2 || type.rank != left.rank)
        return artel__hlo_wrong(h, "convolution");
    type.dtype = left.dtype;
    artel__hlo_value out = artel__hlo_add(h, &type);
    if (out < 0) return -1;
    artel__text_printf(&h->body, "    %%%d = stablehlo.convolution(%%%d, %%%d) dim_numbers = %s, window = {pad = [",
                       out, a, b, w->numbers);
    for (int i = 0; i < w->axes; i++)
        artel__text_printf(&h->body, "%s[%" PRId64 ", %" PRId64 "]", i ? ", " : "", w->low[i], w->high[i]);
    artel__text_append(&h->body, "]");
    write_steps(&h->body, "stride", w->stride, w->axes);
    write_steps(&h->body, "lhs_dilate", w->spread, w->axes);
    write_steps(&h->body, "rhs_dilate", w->dilate, w->axes);
    for (int i = 0; i < w->axes && w->reverse; i++) artel__text_append(&h->body, i ? ", true" : ", reverse = [true");
    const char *precision = narrow ? "DEFAULT" : h->precision;
    artel__text_printf(&h->body,
                       "%s} {batch_group_count = %" PRId64 " : i64, feature_group_count = %" PRId64
                       " : i64, precision_config = [#stablehlo<precision %s>, #stablehlo<precision %s>]}",
                       w->reverse ? "]" : "", w->batch_groups ? w->batch_groups : 1, w->groups ? w->groups : 1,
                       precision, precision);
    artel__hlo_write_signature(h, (artel__hlo_value[]){a, b}, 2, out);
    return artel__hlo_convert(h, out, to->dtype);
}

/* -- loops -- */

void artel__hlo_loop_begin(artel__hlo *h, artel__hlo_value trips, const artel__hlo_value *init, int count,
                           artel__hlo_loop *loop)
{
    artel__hlo_type scalar = {.dtype = ARTEL_DTYPE_INT32};
    *loop = (artel__hlo_loop){.count = count, .turn = -1, .result = -1};
    if (count > ARTEL__HLO_CARRIED) artel__hlo_wrong(h, "while");
    artel__hlo_value zero = artel__hlo_splat(h, 0, &scalar), end = artel__hlo_add(h, &scalar);
    for (int i = 0; i < count && h->status >= 0; i++) {
        artel__hlo_value result = artel__hlo_add(h, artel__hlo_type_of(h, init[i]));
        if (i == 0) loop->result = result;
    }
    loop->turn = artel__hlo_add(h, &scalar);
    for (int i = 0; i < count && h->status >= 0; i++)
        loop->carried[i] = artel__hlo_add(h, artel__hlo_type_of(h, init[i]));
    if (h->status < 0) return;
    artel__text_printf(&h->body, "    %%%d", end);
    for (int i = 0; i < count; i++) artel__text_printf(&h->body, ", %%%d", loop->result + i);
    artel__text_printf(&h->body, " = stablehlo.while(%%%d = %%%d", loop->turn, zero);
    for (int i = 0; i < count; i++) artel__text_printf(&h->body, ", %%%d = %%%d", loop->carried[i], init[i]);
    artel__text_append(&h->body, ") : tensor<i32>");
    for (int i = 0; i < count; i++) {
        artel__text_append(&h->body, ", ");
        artel__hlo_write_type(&h->body, artel__hlo_type_of(h, init[i]));
    }
    artel__text_append(&h->body, "\n    cond {\n");
    artel__hlo_value more = artel__hlo_compare(h, "LT", loop->turn, trips);
    artel__text_printf(&h->body, "    stablehlo.return %%%d : tensor<i1>\n    } do {\n", more);
}

void artel__hlo_loop_end(artel__hlo *h, artel__hlo_loop *loop, const artel__hlo_value *next)
{
    artel__hlo_value one = artel__hlo_number(h, 1, loop->turn), turn = artel__hlo_binary(h, "add", loop->turn, one);
    if (h->status < 0) return;
    artel__text_printf(&h->body, "    stablehlo.return %%%d", turn);
    for (int i = 0; i < loop->count; i++) artel__text_printf(&h->body, ", %%%d", next[i]);
    artel__text_append(&h->body, " : tensor<i32>");
    for (int i = 0; i < loop->count; i++) {
        artel__text_append(&h->body, ", ");
        artel__hlo_write_type(&h->body, artel__hlo_type_of(h, next[i]));
    }
    artel__text_append(&h->body, "\n    }\n");
    for (int i = 0; i < loop->count; i++) loop->carried[i] = loop->result + i;
}
