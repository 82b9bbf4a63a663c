/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over axes of a row, softmax and its relatives, ranks as programs of devices.
 *
 * What kernel/reduce.h and kernel/softmax.h compute, in the device's order of summation. Running sums of sparsemax are
 * made by shifts of 1, 2, 4 ..., ranks by two sorts, the place of a largest element by a minimum over the places that
 * hold it.
 */
#include "op/lower_reduce.h"

#include <float.h>
#include <math.h>

#include "kernel/softmax.h"
#include "op/lower_formula.h"
#include "op/reduce_attributes.h"

/* -- reductions -- */

typedef struct lower_space {
    artel__hlo_type full, kept; /* of the operand; without the axes that go */
    uint32_t gone;
    int axes[ARTEL__HLO_RANK]; /* of `full`, by axis of `kept` */
    double count;
} lower_space;

static lower_space space_of_lowered(artel__lower *lower)
{
    const artel__reduce_attributes *a = lower->attributes;
    lower_space s = {.full = artel__lower_in_type(lower, 0), .count = 1};
    int ahead = s.full.rank - lower->graph->value[lower->node->input[0]].shape.rank;
    s.gone = a->axes << ahead;
    s.kept.dtype = s.full.dtype;
    for (int i = 0; i < s.full.rank; i++) {
        if (s.gone >> i & 1) {
            s.count *= (double)s.full.dim[i];
        } else {
            s.axes[s.kept.rank] = i;
            s.kept.dim[s.kept.rank++] = s.full.dim[i];
        }
    }
    return s;
}

/* A value of the result, everywhere it came from. */
static artel__hlo_value widen(artel__hlo *h, const lower_space *s, artel__hlo_value a)
{
    return artel__hlo_broadcast(h, artel__hlo_reshape(h, a, &s->kept), &s->full, s->axes);
}

static artel__hlo_value sum_over(artel__hlo *h, const lower_space *s, artel__hlo_value a)
{
    return widen(h, s, artel__hlo_reduce(h, "add", 0, a, s->gone));
}

/* Without a zero y / x; a single zero gets the product of the others. */
static artel__hlo_value lower_product_gradient(artel__hlo *h, const lower_space *s, artel__hlo_value x,
                                               artel__formula *f)
{
    artel__hlo_value one = artel__hlo_number(h, 1, x), zero = artel__hlo_number(h, 0, x);
    artel__hlo_value is_zero = artel__hlo_compare(h, "EQ", x, zero);
    artel__formula_set(f, 'k', sum_over(h, s, artel__hlo_select(h, is_zero, one, zero)));
    artel__hlo_value others = artel__hlo_reduce(h, "multiply", 1, artel__hlo_select(h, is_zero, one, x), s->gone);
    artel__formula_set(f, 'o', widen(h, s, others));
    return artel__formula_write(f, "k 0 == d y x / * k 1 == x 0 == and d o * 0 ? ?");
}

void artel__lower_reduce_gradient(artel__lower *lower)
{
    const artel__reduce_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    lower_space s = space_of_lowered(lower);
    artel__hlo_value d = widen(h, &s, lower->in[2]);
    artel__formula f;
    artel__formula_init(&f, h, d);
    artel__formula_set(&f, 'd', d);
    artel__formula_number(&f, 'n', s.count);
    if (a->function == ARTEL__REDUCE_SUM || a->function == ARTEL__REDUCE_MEAN) {
        lower->out[0] = artel__formula_write(&f, a->function == ARTEL__REDUCE_SUM ? "d" : "d n /");
        return;
    }
    artel__formula_set(&f, 'x', lower->in[0]);
    artel__formula_set(&f, 'y', widen(h, &s, lower->in[1]));
    if (a->function == ARTEL__REDUCE_PROD) {
        lower->out[0] = lower_product_gradient(h, &s, lower->in[0], &f);
        return;
    }
    artel__formula_set(&f, 't', sum_over(h, &s, artel__formula_write(&f, "x y == 1 0 ?")));
    lower->out[0] = artel__formula_write(&f, "y y == x y == d t / 0 ? y ?");
}

void artel__lower_reduce(artel__lower *lower)
{
    static const struct {
        const char *op;
        double init;
    } how[] = {[ARTEL__REDUCE_SUM] = {"add", 0},
               [ARTEL__REDUCE_MEAN] = {"add", 0},
               [ARTEL__REDUCE_MAX] = {"maximum", -INFINITY},
               [ARTEL__REDUCE_MIN] = {"minimum", INFINITY},
               [ARTEL__REDUCE_PROD] = {"multiply", 1}};
    const artel__reduce_attributes *a = lower->attributes;
    artel__hlo *h = lower->hlo;
    lower_space s = space_of_lowered(lower);
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    artel__hlo_value y = artel__hlo_reduce(h, how[a->function].op, how[a->function].init, lower->in[0], s.gone);
    if (a->function == ARTEL__REDUCE_MEAN) y = artel__hlo_binary(h, "divide", y, artel__hlo_number(h, s.count, y));
    lower->out[0] = artel__hlo_reshape(h, y, &out);
}

/* -- softmax -- */

/* `k`: the operand that lies as the result. */
static void begin_axis(artel__lower *lower, int k, artel__formula *f)
{
    const artel__axis_attributes *a = lower->attributes;
    artel__formula_init(f, lower->hlo, lower->in[k]);
    f->axis += a->axis - lower->graph->value[lower->node->input[k]].shape.rank + 1;
}

/* Sets z, x sorted downwards, s its running sums, k the places 1 .. n; `rank`, if not NULL, becomes the place of each
 * element of x. */
static void write_sorted(artel__formula *f, artel__hlo_value x, artel__hlo_value *rank)
{
    artel__hlo *h = f->hlo;
    artel__hlo_type type = *artel__hlo_type_of(h, x), index = type, scalar = {.dtype = type.dtype};
    int64_t low[ARTEL__HLO_RANK] = {0}, high[ARTEL__HLO_RANK] = {0}, inside[ARTEL__HLO_RANK] = {0};
    index.dtype = ARTEL_DTYPE_INT32;
    artel__hlo_value place = artel__hlo_iota(h, &index, f->axis), in[] = {x, place}, sorted[2], back[2];
    artel__hlo_sort(h, "GT", in, 2, f->axis, sorted);
    artel__hlo_value sum = sorted[0], zero = artel__hlo_splat(h, 0, &scalar);
    for (int64_t step = 1; step < type.dim[f->axis]; step *= 2) {
        low[f->axis] = step;
        high[f->axis] = -step;
        sum = artel__hlo_binary(h, "add", sum, artel__hlo_pad(h, sum, zero, low, high, inside));
    }
    artel__formula_set(f, 'z', sorted[0]);
    artel__formula_set(f, 's', sum);
    artel__formula_set(f, 'k', artel__hlo_convert(h, place, type.dtype));
    artel__formula_write(f, "k 1 + =k");
    if (!rank) return;
    artel__hlo_sort(h, "LT", (artel__hlo_value[]){sorted[1], artel__formula_get(f, 'k')}, 2, f->axis, back);
    *rank = back[1];
}

#define SUPPORT "z s 1 - k / - 0 > =i i 1 0 ? sum =n " /* inside, how many */

void artel__lower_softmax_gradient(artel__lower *lower)
{
    const artel__axis_attributes *a = lower->attributes;
    artel__hlo_value rank;
    artel__formula f;
    begin_axis(lower, 0, &f);
    artel__formula_set(&f, 'd', lower->in[0]);
    artel__formula_set(&f, 'y', lower->in[1]);
    if (a->function == (int)ARTEL__SOFTMAX) {
        lower->out[0] = artel__formula_write(&f, "d d y * sum - y *");
    } else if (a->function == (int)ARTEL__LOG_SOFTMAX) {
        lower->out[0] = artel__formula_write(&f, "d y exp d sum * -");
    } else {
        write_sorted(&f, lower->in[2], &rank);
        artel__formula_set(&f, 'r', rank);
        lower->out[0] = artel__formula_write(&f, SUPPORT "y 0 > d 0 ? =p p r n <= p sum n r - 1 + n / * 0 ? -");
    }
}

void artel__lower_softmax(artel__lower *lower)
{
    const artel__axis_attributes *a = lower->attributes;
    artel__formula f;
    begin_axis(lower, 0, &f);
    artel__formula_set(&f, 'x', lower->in[0]);
    if (a->function == (int)ARTEL__SOFTMAX) {
        lower->out[0] = artel__formula_write(&f, "x x most - exp =e e 1 e sum / *");
    } else if (a->function == (int)ARTEL__LOG_SOFTMAX) {
        lower->out[0] = artel__formula_write(&f, "x x most - =z z z exp sum log -");
    } else {
        write_sorted(&f, lower->in[0], NULL);
        lower->out[0] = artel__formula_write(&f, SUPPORT "x i s 0 ? sum 1 - n / - 0 max");
    }
}

/* -- glu -- */

/* One half of an operand along the axis. */
static artel__hlo_value half_of(artel__lower *lower, int axis, int which)
{
    int64_t half = artel__hlo_type_of(lower->hlo, lower->in[0])->dim[axis] / 2;
    return artel__hlo_slice_axis(lower->hlo, lower->in[0], axis, which * half, (which + 1) * half);
}

/* The axis of an operand as programs have it. */
static int glu_axis(const artel__lower *lower)
{
    const artel__axis_attributes *a = lower->attributes;
    const artel__value *x = &lower->graph->value[lower->node->input[0]];
    return artel__hlo_type_of(lower->hlo, lower->in[0])->rank - x->shape.rank + a->axis;
}

void artel__lower_glu(artel__lower *lower)
{
    int axis = glu_axis(lower);
    artel__hlo_value gate = artel__hlo_unary(lower->hlo, "logistic", half_of(lower, axis, 1));
    lower->out[0] = artel__hlo_binary(lower->hlo, "multiply", half_of(lower, axis, 0), gate);
}

void artel__lower_glu_gradient(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    int axis = glu_axis(lower);
    artel__hlo_value dy = lower->in[1], a = half_of(lower, axis, 0),
                     gate = artel__hlo_unary(h, "logistic", half_of(lower, axis, 1));
    artel__hlo_value slope =
        artel__hlo_binary(h, "multiply", gate, artel__hlo_binary(h, "subtract", artel__hlo_number(h, 1, gate), gate));
    artel__hlo_value d[] = {artel__hlo_binary(h, "multiply", dy, gate),
                            artel__hlo_binary(h, "multiply", artel__hlo_binary(h, "multiply", dy, a), slope)};
    lower->out[0] = artel__hlo_concatenate(h, d, 2, axis);
}

/* -- ranks -- */

/* Along the last axis: a value of the result as the operand lies. */
static artel__hlo_value along_last(artel__hlo *h, artel__hlo_value a, artel__hlo_value like)
{
    artel__hlo_type type = *artel__hlo_type_of(h, like);
    int axes[ARTEL__HLO_RANK];
    for (int i = 0; i < ARTEL__HLO_RANK; i++) axes[i] = i;
    return artel__hlo_broadcast(h, a, &type, axes);
}

static artel__hlo_value last_places(artel__hlo *h, artel__hlo_value like)
{
    artel__hlo_type type = *artel__hlo_type_of(h, like);
    type.dtype = ARTEL_DTYPE_INT32;
    return artel__hlo_iota(h, &type, type.rank - 1);
}

void artel__lower_argmax(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_value x = lower->in[0], least = artel__hlo_number(h, -(double)FLT_MAX, x), place = last_places(h, x);
    artel__hlo_type type = *artel__hlo_type_of(h, x);
    uint32_t last = 1u << (type.rank - 1);
    x = artel__hlo_select(h, artel__hlo_compare(h, "GT", x, least), x, least);
    artel__hlo_value most = along_last(h, artel__hlo_reduce(h, "maximum", -INFINITY, x, last), x);
    artel__hlo_value far = artel__hlo_number(h, (double)type.dim[type.rank - 1], place);
    artel__hlo_value where = artel__hlo_select(h, artel__hlo_compare(h, "EQ", x, most), place, far);
    lower->out[0] = artel__hlo_reduce(h, "minimum", INT32_MAX, where, last);
}

void artel__lower_in_top_k(artel__lower *lower)
{
    const artel__top_attributes *a = lower->attributes;
    artel__hlo_type rows = artel__lower_out_type(lower, 0);
    artel__formula f;
    artel__hlo *h = lower->hlo;
    artel__hlo_value x = lower->in[0], target = artel__hlo_reshape(h, lower->in[1], &rows);
    artel__hlo_value here = artel__hlo_compare(h, "EQ", last_places(h, x), along_last(h, target, x));
    artel__formula_init(&f, h, x);
    artel__formula_set(&f, 'x', x);
    artel__formula_set(&f, 'h', artel__hlo_convert(h, here, ARTEL_DTYPE_FLOAT32));
    artel__formula_set(&f, 'f', artel__hlo_convert(h, artel__hlo_is_finite(h, x), ARTEL_DTYPE_FLOAT32));
    artel__formula_number(&f, 'k', (double)a->k);
    artel__formula_number(&f, 'n', (double)artel__hlo_type_of(h, x)->dim[rows.rank]);
    artel__hlo_value good = artel__formula_write(
        &f, "h 0 != x 0 ? sum =t x t > 1 0 ? sum k < h sum 1 == and f sum n == and h 0 != and 1 0 ?");
    lower->out[0] = artel__hlo_reduce(h, "add", 0, good, 1u << rows.rank);
}
