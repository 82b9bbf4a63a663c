/* SPDX-License-Identifier: Apache-2.0 */
/* Binary crossentropy, of probabilities and of logits. a: label smoothing. The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(BINARY_CROSSENTROPY, binary_crossentropy, .factor = 1, .smoothing = ARTEL__SMOOTHING_TWO)
ELEMENT_LOSS(BINARY_CROSSENTROPY_LOGITS, binary_crossentropy_logits, .factor = 1, .smoothing = ARTEL__SMOOTHING_TWO)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_binary_crossentropy(float t, float p, const loss_constants *k)
{
    return loss_binary(loss_smoothed(t, k), loss_probability(p));
}

ARTEL__MATH float slope_of_binary_crossentropy(float t, float p, const loss_constants *k)
{
    return loss_binary_slope(loss_smoothed(t, k), p, loss_probability(p));
}

ARTEL__MATH float term_of_binary_crossentropy_logits(float t, float p, const loss_constants *k)
{
    return (artel__maxf(p, 0.0f) - p * loss_smoothed(t, k)) + artel__log1pf(artel__expf(-artel__absf(p)));
}

ARTEL__MATH float slope_of_binary_crossentropy_logits(float t, float p, const loss_constants *k)
{
    return artel__sigmoidf(p) - loss_smoothed(t, k);
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(BINARY_CROSSENTROPY, SMOOTHED CLIPPED BINARY, SMOOTHED CLIPPED BINARY_SLOPE)
LOSS_PROGRAM(BINARY_CROSSENTROPY_LOGITS, SMOOTHED "p 0 max p s * - p abs neg exp log1p +", SMOOTHED "p logistic s -")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_binary_crossentropy(const operands *o)
{
    return two_classes(o->graph, smoothed(o, 0.5), o->p);
}

/* max(x, 0) - x t + log(1 + exp(-|x|)), where the first two cancel exactly. */
static artel__value_id float64_binary_crossentropy_logits(const operands *o)
{
    artel__graph *graph = o->graph;
    artel__value_id t = smoothed(o, 0.5), x = o->p;
    artel__value_id left = below(graph, x, 0), apart = where(graph, left, x, negative(graph, x));
    artel__value_id tail = unary(graph, ARTEL__UNARY_LOG1P, unary(graph, ARTEL__UNARY_EXPONENTIAL, apart));
    artel__value_id over = where(graph, left, ARTEL__NO_VALUE, x);
    return artel__op_add(graph, difference(graph, over, product(graph, x, t)), tail);
}
#endif

#ifdef LOSS_CURVE
static artel__value_id curve_of_binary_crossentropy_logits(const curve *c)
{
    artel__value_id s = artel__op_unary(c->graph, ARTEL__UNARY_SIGMOID, NULL, c->p);
    return product(c->graph, s, artel__op_affine(c->graph, s, -1, 1));
}
#endif

#ifdef CURVED_LOSS
CURVED_LOSS(BINARY_CROSSENTROPY_LOGITS, binary_crossentropy_logits)
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(BINARY_CROSSENTROPY, .class_name = "BinaryCrossentropy", .function = "binary_crossentropy",
           .aliases = {"bce", "BCE"}, .form = ARTEL__LOSS_TAKES_LOGITS,
           .options = OPTIONS(REDUCTION, LOGITS, SMOOTHING, AXIS), .constant = {SETTING(label_smoothing)})
#endif
