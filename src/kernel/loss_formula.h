/* SPDX-License-Identifier: Apache-2.0 */
/* The element-wise losses, one element at a time, shared by the reference and the fast kernels.
 *
 * loss_element is the term of one element, loss_element_slope its derivative with respect to the prediction. The value
 * of a position is the sum of its terms times `factor`, divided by `divisor`. With a constant op all selection
 * disappears, for which both must be inlined.
 */
#ifndef ARTEL_KERNEL_LOSS_FORMULA_H
#define ARTEL_KERNEL_LOSS_FORMULA_H

#include "kernel/loss.h"
#include "kernel/math.h"

#define LOSS_EPSILON 1e-7f
#define LOSS_ALMOST_ONE 0.99999988f /* 1 - 1e-7 in float32 */

typedef struct loss_constants {
    float a, b, c;
    float keep, add; /* label smoothing: t * keep + add */
    bool binary;     /* labels 0, 1 become -1, 1 */
} loss_constants;

ARTEL__MATH artel__loss_form loss_form_of(artel__loss op)
{
    switch (op) {
#define LOSS(NAME, ...)                              \
    case ARTEL__LOSS_##NAME: {                       \
        const artel__loss_form form = {__VA_ARGS__}; \
        return form;                                 \
    }
#define ELEMENT_LOSS(NAME, name, ...) LOSS(NAME, __VA_ARGS__)
#define ROW_LOSS(NAME, name, ...) LOSS(NAME, __VA_ARGS__)
#include "kernel/losses.list"
#undef LOSS
#undef ELEMENT_LOSS
#undef ROW_LOSS
    case ARTEL__LOSS_COUNT: break;
    }
    const artel__loss_form none = {.factor = 1};
    return none;
}

static inline loss_constants loss_constants_of(const artel__loss_input *in)
{
    loss_constants k = {.a = in->a, .b = in->b, .c = in->c, .keep = 1.0f, .add = 0.0f, .binary = in->labels_binary};
    artel__smoothing smoothing = loss_form_of(in->op).smoothing;
    if (smoothing && in->a != 0.0f) {
        k.keep = (float)(1.0 - (double)in->a);
        k.add = smoothing == ARTEL__SMOOTHING_TWO ? 0.5f * in->a : in->a / (float)in->length;
    }
    return k;
}

static inline bool loss_is_element(artel__loss op)
{
    switch (op) {
#define ELEMENT_LOSS(NAME, name, ...) case ARTEL__LOSS_##NAME:
#include "kernel/losses.list"
#undef ELEMENT_LOSS
        return true;
    default: return false;
    }
}

ARTEL__MATH float loss_factor(artel__loss op)
{
    return loss_form_of(op).factor;
}

ARTEL__MATH float loss_divisor(const artel__loss_input *in)
{
    return loss_form_of(in->op).sums ? 1.0f : (float)in->length;
}

ARTEL__MATH float loss_clip(float p, float low, float high)
{
    return p < low ? low : p > high ? high : p;
}

ARTEL__MATH float loss_sign(float x)
{
    return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
}

ARTEL__MATH float loss_binary(float t, float c)
{
    return -(t * artel__logf(c) + (1.0f - t) * artel__logf(1.0f - c));
}

/* d loss_binary / d p where p was clipped to c. */
ARTEL__MATH float loss_binary_slope(float t, float p, float c)
{
    return p == c ? (1.0f - t) / (1.0f - c) - t / c : 0.0f;
}

ARTEL__MATH float loss_smoothed(float t, const loss_constants *k)
{
    return t * k->keep + k->add;
}

/* The label of a hinge. */
ARTEL__MATH float loss_label(float t, const loss_constants *k)
{
    return k->binary ? 2.0f * t - 1.0f : t;
}

ARTEL__MATH float loss_probability(float p)
{
    return loss_clip(p, LOSS_EPSILON, LOSS_ALMOST_ONE);
}

/* term_of_<name> and slope_of_<name> of each element-wise loss. */
#define LOSS_FORMULA
#include "kernel/losses.list"
#undef LOSS_FORMULA

ARTEL__MATH float loss_element(artel__loss op, float t, float p, const loss_constants *k)
{
    switch (op) {
#define ELEMENT_LOSS(NAME, name, ...) \
    case ARTEL__LOSS_##NAME:          \
        return term_of_##name(t, p, k);
#include "kernel/losses.list"
#undef ELEMENT_LOSS
    default: return 0.0f;
    }
}

ARTEL__MATH float loss_element_slope(artel__loss op, float t, float p, const loss_constants *k)
{
    switch (op) {
#define ELEMENT_LOSS(NAME, name, ...) \
    case ARTEL__LOSS_##NAME:          \
        return slope_of_##name(t, p, k);
#include "kernel/losses.list"
#undef ELEMENT_LOSS
    default: return 0.0f;
    }
}

/* -- sparse targets -- */

/* The class of a position: -1 when it is ignored, -2 when it is out of range (reported once, by the forward kernel). */
static inline int64_t loss_class(const artel__loss_input *in, int64_t position)
{
    int64_t t = in->target_dtype == ARTEL_DTYPE_INT32 ? (int64_t)((const int32_t *)in->target)[position] : 0;
    if (in->target_dtype != ARTEL_DTYPE_INT32) {
        float v = ((const float *)in->target)[position];
        t = v > -1.0f && v < 2147483648.0f  ? (int64_t)v
            : v == (float)in->ignored_class ? (int64_t)in->ignored_class
                                            : INT64_MAX;
    }
    if (in->has_ignored_class && t == in->ignored_class) return -1;
    return t >= 0 && t < in->length ? t : -2;
}

static inline void loss_report(const artel__loss_input *in, int64_t position)
{
    int64_t value = in->target_dtype == ARTEL_DTYPE_INT32 ? ((const int32_t *)in->target)[position] : 0;
    float v = in->target_dtype == ARTEL_DTYPE_INT32 ? 0.0f : ((const float *)in->target)[position];
    if (in->target_dtype != ARTEL_DTYPE_INT32) value = v > -9e18f && v < 9e18f ? (int64_t)v : INT64_MAX;
    artel__fault_slot_report(&in->fault, position / (in->per_row > 0 ? in->per_row : 1), value);
}

#endif
