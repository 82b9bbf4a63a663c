/* SPDX-License-Identifier: Apache-2.0 */
/* Mean squared logarithmic error: (log(p + 1) - log(t + 1))^2. The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(MEAN_SQUARED_LOGARITHMIC_ERROR, mean_squared_logarithmic_error, .factor = 1)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_mean_squared_logarithmic_error(float t, float p, const loss_constants *k)
{
    (void)k;
    float d = artel__logf(artel__maxf(LOSS_EPSILON, p) + 1.0f) - artel__logf(artel__maxf(LOSS_EPSILON, t) + 1.0f);
    return d * d;
}

ARTEL__MATH float slope_of_mean_squared_logarithmic_error(float t, float p, const loss_constants *k)
{
    (void)k;
    float q = artel__maxf(LOSS_EPSILON, p) + 1.0f;
    float d = artel__logf(q) - artel__logf(artel__maxf(LOSS_EPSILON, t) + 1.0f);
    return p >= LOSS_EPSILON ? 2.0f * d / q : 0.0f;
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(MEAN_SQUARED_LOGARITHMIC_ERROR, "p 1e-7 max 1 + log t 1e-7 max 1 + log - =e e e *",
             "p 1e-7 max 1 + =q p 1e-7 >= 2 q log t 1e-7 max 1 + log - * q / 0 ?")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id logarithmic(const operands *o, artel__value_id x)
{
    return logarithm(o->graph, artel__op_affine(o->graph, at_least(o->graph, x, EPSILON), 1, 1));
}

static artel__value_id float64_mean_squared_logarithmic_error(const operands *o)
{
    artel__value_id of_truth = logarithmic(o, o->t);
    return square(o->graph, difference(o->graph, logarithmic(o, o->p), of_truth));
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(MEAN_SQUARED_LOGARITHMIC_ERROR, .class_name = "MeanSquaredLogarithmicError",
           .function = "mean_squared_logarithmic_error", .aliases = {"msle", "MSLE"}, .options = OPTIONS(REDUCTION))
#endif
