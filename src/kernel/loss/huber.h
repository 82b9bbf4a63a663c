/* SPDX-License-Identifier: Apache-2.0 */
/* Huber: a parabola up to delta (a), a line behind it. The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(HUBER, huber, .factor = 1)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_huber(float t, float p, const loss_constants *k)
{
    float e = p - t, size = artel__absf(e);
    return size <= k->a ? 0.5f * (e * e) : k->a * size - 0.5f * (k->a * k->a);
}

ARTEL__MATH float slope_of_huber(float t, float p, const loss_constants *k)
{
    float e = p - t;
    return artel__absf(e) <= k->a ? e : k->a * loss_sign(e);
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(HUBER, "p t - =e e abs A <= 0.5 e e * * A e abs * 0.5 A A * * - ?", "p t - =e e abs A <= e A e sign * ?")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_huber(const operands *o)
{
    artel__graph *graph = o->graph;
    double delta = o->loss->a;
    artel__value_id error = difference(graph, o->p, o->t);
    artel__value_id size = magnitude(graph, error), half = times(graph, square(graph, error), 0.5);
    artel__value_id far = artel__op_compare_scalar(graph, ARTEL__COMPARE_GREATER, size, delta);
    return where(graph, far, artel__op_affine(graph, size, delta, -0.5 * delta * delta), half);
}
#endif

#ifdef LOSS_CURVE
static artel__value_id curve_of_huber(const curve *c)
{
    artel__value_id size = artel__op_unary(c->graph, ARTEL__UNARY_ABS, NULL, c->error);
    artel__value_id near = artel__op_compare_scalar(c->graph, ARTEL__COMPARE_LESS_EQUAL, size, c->loss->a);
    return artel__op_where(c->graph, near, artel__op_fill_like(c->graph, c->p, 1), ARTEL__NO_VALUE);
}
#endif

#ifdef CURVED_LOSS
CURVED_LOSS(HUBER, huber)
#endif

#ifdef LOSS_FIELDS
double delta;
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(HUBER, .class_name = "Huber", .function = "huber", .instance = "huber_loss",
           .options = OPTIONS(REDUCTION, NUMBER(delta, "1.0", "where the parabola ends")), .constant = {SETTING(delta)})
#endif
