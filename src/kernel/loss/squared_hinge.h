/* SPDX-License-Identifier: Apache-2.0 */
/* Squared hinge: max(1 - t p, 0)^2, labels being -1 and 1. The sections: kernel/losses.list. */

#ifdef ELEMENT_LOSS
ELEMENT_LOSS(SQUARED_HINGE, squared_hinge, .factor = 1)
#endif

#ifdef LOSS_FORMULA
ARTEL__MATH float term_of_squared_hinge(float t, float p, const loss_constants *k)
{
    float margin = artel__maxf(0.0f, 1.0f - loss_label(t, k) * p); /* a NaN stays one */
    return margin * margin;
}

ARTEL__MATH float slope_of_squared_hinge(float t, float p, const loss_constants *k)
{
    float h = loss_label(t, k), margin = 1.0f - h * p;
    return margin >= 0.0f ? 2.0f * margin * -h : 0.0f;
}
#endif

#ifdef LOSS_PROGRAM
LOSS_PROGRAM(SQUARED_HINGE, "1 y p * - 0 max =m m m *", "1 y p * - =m m 0 >= 2 m * y neg * 0 ?")
#endif

#ifdef LOSS_OPERATIONS
static artel__value_id float64_squared_hinge(const operands *o)
{
    return square(o->graph, margin(o));
}
#endif

#ifdef LOSS_CLASS
LOSS_CLASS(SQUARED_HINGE, .class_name = "SquaredHinge", .function = "squared_hinge", .form = ARTEL__LOSS_TAKES_SIGNS,
           .options = OPTIONS(REDUCTION))
#endif
