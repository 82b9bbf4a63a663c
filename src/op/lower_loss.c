/* SPDX-License-Identifier: Apache-2.0 */
/* Losses as programs of devices.
 *
 * Formulas (op/lower_formula.h) over [..][length]: target t, prediction p, upstream gradient d, constants A B G (a, b
 * and gamma of kernel/loss.h), label smoothing t K + O, y the label of a hinge, h 1 at the class and 0 elsewhere, v
 * whether there is a class. A value is the sum of its terms over the last axis, or their maximum where all are the
 * same, times the factor over the divisor.
 */
#include "op/lower_loss.h"

#include <math.h>

#include "kernel/loss_formula.h"
#include "op/lower_formula.h"
#include "op/op.h"

#define SMOOTHED "t K * O + =s "
#define CLIPPED "p 1e-7 max 0.99999988 min =c "
#define BINARY "s c log * 1 s - 1 c - log * + neg "
#define BINARY_SLOPE "p c == 1 s - 1 c - / s c / - 0 ? "
#define SHARE "p p sum / =o o 1e-7 max 0.99999988 min =c "
#define THROUGH_SHARE "=i d i i o * sum - p sum / *"
#define EXPONENTIALS "p p most - =z z exp =e "

typedef struct loss_row {
    const char *value, *slope;
} loss_row;

/* Slopes of the element-wise ones are to be multiplied by d, factor and divisor. */
static const loss_row losses[ARTEL__LOSS_COUNT] = {
#define LOSS_PROGRAM(NAME, value, slope) [ARTEL__LOSS_##NAME] = {value, slope},
#include "kernel/losses.list"
#undef LOSS_PROGRAM
};

/* What a node has beside its formula; `first`: the input that is the target. */
typedef struct position {
    artel__formula f;
    artel__loss_input in;
    artel__hlo_type full, rows; /* of the prediction, of the values */
} position;

/* -- the class of a position -- */

/* An integer target, or a float one that stands for it: INT64; what is no number of a class becomes INT64_MAX. */
static artel__hlo_value integer_target(artel__hlo *h, artel__hlo_value target, const artel__loss_input *in,
                                       artel__hlo_value *told)
{
    artel__hlo_type wide = *artel__hlo_type_of(h, target);
    wide.dtype = ARTEL_DTYPE_INT64;
    if (in->target_dtype == ARTEL_DTYPE_INT32) return *told = artel__hlo_convert(h, target, ARTEL_DTYPE_INT64);
    artel__hlo_value zero = artel__hlo_number(h, 0, target), none = artel__hlo_integer(h, INT64_MAX, &wide);
    artel__hlo_value near =
        artel__hlo_compare(h, "LT", artel__hlo_unary(h, "abs", target), artel__hlo_number(h, 9e18, target));
    artel__hlo_value number = artel__hlo_convert(h, artel__hlo_select(h, near, target, zero), ARTEL_DTYPE_INT64);
    *told = artel__hlo_select(h, near, number, none);
    artel__hlo_value low = artel__hlo_compare(h, "GT", target, artel__hlo_number(h, -1, target));
    artel__hlo_value high = artel__hlo_compare(h, "LT", target, artel__hlo_number(h, 2147483648.0, target));
    artel__hlo_value ignored =
        artel__hlo_compare(h, "EQ", target, artel__hlo_number(h, (double)(float)in->ignored_class, target));
    artel__hlo_value other =
        artel__hlo_select(h, ignored, artel__hlo_integer(h, (uint64_t)(int64_t)in->ignored_class, &wide), none);
    return artel__hlo_select(h, artel__hlo_binary(h, "and", low, high), number, other);
}

static artel__hlo_value widen(const position *p, artel__hlo_value rows)
{
    int axes[ARTEL__HLO_RANK];
    for (int i = 0; i < ARTEL__HLO_RANK; i++) axes[i] = i;
    return artel__hlo_broadcast(p->f.hlo, rows, &p->full, axes);
}

/* Sets h and v; a class out of range is a fault when `reports`. */
static void set_class(artel__lower *lower, position *p, artel__hlo_value target, bool reports)
{
    artel__hlo *h = lower->hlo;
    artel__hlo_value told, class = integer_target(h, artel__hlo_reshape(h, target, &p->rows), &p->in, &told);
    artel__hlo_value low = artel__hlo_compare(h, "GE", class, artel__hlo_number(h, 0, class));
    artel__hlo_value high = artel__hlo_compare(h, "LT", class, artel__hlo_number(h, (double)p->in.length, class));
    artel__hlo_value valid = artel__hlo_binary(h, "and", low, high), bad = artel__hlo_unary(h, "not", valid);
    if (p->in.has_ignored_class) {
        artel__hlo_value counts =
            artel__hlo_compare(h, "NE", class, artel__hlo_number(h, (double)p->in.ignored_class, class));
        valid = artel__hlo_binary(h, "and", valid, counts);
        bad = artel__hlo_binary(h, "and", bad, counts);
    }
    if (reports) artel__lower_fault_in(lower, bad, told);
    artel__hlo_type index = p->full;
    index.dtype = ARTEL_DTYPE_INT64;
    artel__hlo_value place = artel__hlo_iota(h, &index, index.rank - 1);
    artel__hlo_value here = artel__hlo_compare(
        h, "EQ", place, widen(p, artel__hlo_select(h, valid, class, artel__hlo_number(h, -1, class))));
    artel__formula_set(&p->f, 'h', artel__hlo_convert(h, here, ARTEL_DTYPE_FLOAT32));
    artel__formula_set(&p->f, 'v', artel__hlo_convert(h, widen(p, valid), ARTEL_DTYPE_FLOAT32));
}

/* -- nodes -- */

static void begin(artel__lower *lower, int first, position *p)
{
    artel__hlo *h = lower->hlo;
    p->full = artel__lower_in_type(lower, first + 1);
    p->rows = p->full;
    p->rows.rank--;
    p->in = *(const artel__loss_input *)lower->attributes;
    p->in.length = p->full.dim[p->full.rank - 1];
    p->in.target_dtype = artel__lower_in_type(lower, first).dtype;
    artel__formula_init(&p->f, h, lower->in[first + 1]);
    artel__formula_set(&p->f, 'p', lower->in[first + 1]);
    if (artel__loss_is_sparse(p->in.op)) {
        set_class(lower, p, lower->in[first], first == 0);
        return;
    }
    loss_constants k = loss_constants_of(&p->in);
    artel__formula_set(&p->f, 't',
                       artel__hlo_convert(h, artel__hlo_reshape(h, lower->in[first], &p->full), ARTEL_DTYPE_FLOAT32));
    artel__formula_number(&p->f, 'A', (double)k.a);
    artel__formula_number(&p->f, 'B', (double)k.b);
    artel__formula_number(&p->f, 'G', (double)k.c);
    artel__formula_number(&p->f, 'K', (double)k.keep);
    artel__formula_number(&p->f, 'O', (double)k.add);
    artel__formula_set(&p->f, 'y', artel__formula_write(&p->f, k.binary ? "2 t * 1 -" : "t"));
}

/* a times the factor over the divisor. */
static artel__hlo_value scale(artel__hlo *h, const artel__loss_input *in, artel__hlo_value a)
{
    if (!loss_is_element(in->op)) return a;
    float factor = loss_factor(in->op), divisor = loss_divisor(in);
    if (factor != 1.0f) a = artel__hlo_binary(h, "multiply", a, artel__hlo_number(h, (double)factor, a));
    return artel__hlo_binary(h, "divide", a, artel__hlo_number(h, (double)divisor, a));
}

void artel__lower_loss(artel__lower *lower)
{
    position p;
    begin(lower, 0, &p);
    const loss_row *row = &losses[p.in.op];
    artel__hlo_value terms = artel__formula_write(&p.f, row->value);
    uint32_t last = 1u << (p.full.rank - 1);
    bool same = loss_form_of(p.in.op).repeats;
    artel__hlo_value value = artel__hlo_reduce(lower->hlo, same ? "maximum" : "add", same ? -INFINITY : 0, terms, last);
    lower->out[0] = scale(lower->hlo, &p.in, value);
}

void artel__lower_loss_gradient(artel__lower *lower)
{
    artel__hlo *h = lower->hlo;
    position p;
    begin(lower, 1, &p);
    artel__hlo_value upstream = artel__hlo_reshape(h, lower->in[0], &p.rows);
    artel__formula_set(&p.f, 'd', widen(&p, scale(h, &p.in, upstream)));
    artel__hlo_value slope = artel__formula_write(&p.f, losses[p.in.op].slope);
    lower->out[0] =
        loss_is_element(p.in.op) ? artel__hlo_binary(h, "multiply", artel__formula_get(&p.f, 'd'), slope) : slope;
}
