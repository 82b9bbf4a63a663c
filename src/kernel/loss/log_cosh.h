/* SPDX-License-Identifier: Apache-2.0 */
/* LogCosh: log(cosh(p - t)). The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(LOG_COSH, log_cosh, .factor = 1)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_log_cosh(float t, float p, const loss_constants *k)
{
    float e = p - t;
    (void)k;
    return (e + artel__softplusf(e * -2.0f)) - 0.69314718f;
}

ARTEL__MATH float slope_of_log_cosh(float t, float p, const loss_constants *k)
{
    (void)k;
    return artel__tanhf(p - t);
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(LOG_COSH, "p t - =e e -2 * =q e q 0 max q abs neg exp log1p + + 0.69314718 -", "p t - tanh")
#endif

#ifdef LOSS_OPERATIONS
/* e + log(1 + exp(-2 e)) - log 2 */
static artel__value_id float64_log_cosh(const operands *o)
{
    artel__value_id error = difference(o->graph, o->p, o->t);
    artel__value_id tail = unary(o->graph, ARTEL__UNARY_SOFTPLUS, times(o->graph, error, -2));
    return artel__op_affine(o->graph, artel__op_add(o->graph, error, tail), 1, -LOG_2);
}
#endif

#ifdef LOSS_CURVE
static artel__value_id curve_of_log_cosh(const curve *c)
{
    artel__value_id slope = artel__op_unary(c->graph, ARTEL__UNARY_TANH, NULL, c->error);
    return artel__op_affine(c->graph, artel__op_unary(c->graph, ARTEL__UNARY_SQUARE, NULL, slope), -1, 1);
}
#endif

#ifdef CURVED_LOSS
CURVED_LOSS(LOG_COSH, log_cosh)
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(LOG_COSH, .class_name = "LogCosh", .function = "log_cosh", .aliases = {"logcosh"},
           .options = OPTIONS(REDUCTION))
#endif
