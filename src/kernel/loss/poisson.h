/* SPDX-License-Identifier: Apache-2.0 */
/* Poisson: p - t log(p). The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(POISSON, poisson, .factor = 1)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_poisson(float t, float p, const loss_constants *k)
{
    (void)k;
    return p - t * artel__logf(p + LOSS_EPSILON);
}

ARTEL__MATH float slope_of_poisson(float t, float p, const loss_constants *k)
{
    (void)k;
    return 1.0f - t / (p + LOSS_EPSILON);
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(POISSON, "p t p 1e-7 + log * -", "1 t p 1e-7 + / -")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_poisson(const operands *o)
{
    artel__value_id expected = logarithm(o->graph, artel__op_affine(o->graph, o->p, 1, EPSILON));
    return difference(o->graph, o->p, product(o->graph, o->t, expected));
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(POISSON, .class_name = "Poisson", .function = "poisson", .options = OPTIONS(REDUCTION))
#endif
