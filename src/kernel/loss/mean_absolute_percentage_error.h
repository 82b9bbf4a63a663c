/* SPDX-License-Identifier: Apache-2.0 */
/* Mean absolute percentage error: 100 |t - p| / |t|. The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(MEAN_ABSOLUTE_PERCENTAGE_ERROR, mean_absolute_percentage_error, .factor = 100)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_mean_absolute_percentage_error(float t, float p, const loss_constants *k)
{
    (void)k;
    return artel__absf((t - p) / artel__maxf(artel__absf(t), LOSS_EPSILON));
}

ARTEL__MATH float slope_of_mean_absolute_percentage_error(float t, float p, const loss_constants *k)
{
    (void)k;
    return loss_sign(p - t) / artel__maxf(artel__absf(t), LOSS_EPSILON);
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(MEAN_ABSOLUTE_PERCENTAGE_ERROR, "t p - t abs 1e-7 max / abs", "p t - sign t abs 1e-7 max /")
#endif

#ifdef LOSS_OPERATIONS
/* The other way round: t - p by the size of t. */
static artel__value_id float64_mean_absolute_percentage_error(const operands *o)
{
    artel__value_id error = difference(o->graph, o->p, o->t);
    artel__value_id size = at_least(o->graph, magnitude(o->graph, o->t), EPSILON);
    return times(o->graph, magnitude(o->graph, binary(o->graph, ARTEL__BINARY_DIV, error, size)), 100);
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(MEAN_ABSOLUTE_PERCENTAGE_ERROR, .class_name = "MeanAbsolutePercentageError",
           .function = "mean_absolute_percentage_error", .aliases = {"mape", "MAPE"}, .options = OPTIONS(REDUCTION))
#endif
