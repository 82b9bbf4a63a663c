/* SPDX-License-Identifier: Apache-2.0 */
/* Mean squared error: (p - t)^2. The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(MEAN_SQUARED_ERROR, mean_squared_error, .factor = 1)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_mean_squared_error(float t, float p, const loss_constants *k)
{
    (void)k;
    return (p - t) * (p - t);
}

ARTEL__MATH float slope_of_mean_squared_error(float t, float p, const loss_constants *k)
{
    (void)k;
    return 2.0f * (p - t);
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(MEAN_SQUARED_ERROR, "p t - =e e e *", "2 p t - *")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_mean_squared_error(const operands *o)
{
    return square(o->graph, difference(o->graph, o->p, o->t));
}
#endif

#ifdef LOSS_CURVE
static artel__value_id curve_of_mean_squared_error(const curve *c)
{
    return artel__op_fill_like(c->graph, c->p, 2);
}
#endif

#ifdef CURVED_LOSS
CURVED_LOSS(MEAN_SQUARED_ERROR, mean_squared_error)
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(MEAN_SQUARED_ERROR, .class_name = "MeanSquaredError", .function = "mean_squared_error",
           .aliases = {"mse", "MSE"}, .options = OPTIONS(REDUCTION))
#endif
