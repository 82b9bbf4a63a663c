/* SPDX-License-Identifier: Apache-2.0 */
/* Mean absolute error: |p - t|. The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(MEAN_ABSOLUTE_ERROR, mean_absolute_error, .factor = 1)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_mean_absolute_error(float t, float p, const loss_constants *k)
{
    (void)k;
    return artel__absf(p - t);
}

ARTEL__MATH float slope_of_mean_absolute_error(float t, float p, const loss_constants *k)
{
    (void)k;
    return loss_sign(p - t);
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(MEAN_ABSOLUTE_ERROR, "p t - abs", "p t - sign")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_mean_absolute_error(const operands *o)
{
    return magnitude(o->graph, difference(o->graph, o->p, o->t));
}
#endif

#ifdef LOSS_CURVE
static artel__value_id curve_of_mean_absolute_error(const curve *c)
{
    (void)c;
    return ARTEL__NO_VALUE;
}
#endif

#ifdef CURVED_LOSS
CURVED_LOSS(MEAN_ABSOLUTE_ERROR, mean_absolute_error)
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(MEAN_ABSOLUTE_ERROR, .class_name = "MeanAbsoluteError", .function = "mean_absolute_error",
           .aliases = {"mae", "MAE"}, .options = OPTIONS(REDUCTION))
#endif
