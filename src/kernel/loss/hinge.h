/* SPDX-License-Identifier: Apache-2.0 */
/* Hinge: max(1 - t p, 0), labels being -1 and 1. The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(HINGE, hinge, .factor = 1)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_hinge(float t, float p, const loss_constants *k)
{
    return artel__maxf(0.0f, 1.0f - loss_label(t, k) * p); /* a NaN stays one */
}

ARTEL__MATH float slope_of_hinge(float t, float p, const loss_constants *k)
{
    float h = loss_label(t, k);
    return 1.0f - h * p >= 0.0f ? -h : 0.0f;
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(HINGE, "1 y p * - 0 max", "1 y p * - 0 >= y neg 0 ?")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_hinge(const operands *o)
{
    return margin(o);
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(HINGE, .class_name = "Hinge", .function = "hinge", .form = ARTEL__LOSS_TAKES_SIGNS,
           .options = OPTIONS(REDUCTION))
#endif
