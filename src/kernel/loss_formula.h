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

static inline loss_constants loss_constants_of(const artel__loss_input *in)
{
    loss_constants k = {.a = in->a, .b = in->b, .c = in->c, .keep = 1.0f, .add = 0.0f, .binary = in->labels_binary};
    bool two = in->op == ARTEL__LOSS_BINARY_CROSSENTROPY || in->op == ARTEL__LOSS_BINARY_CROSSENTROPY_LOGITS ||
               in->op == ARTEL__LOSS_BINARY_FOCAL_CROSSENTROPY;
    bool many = in->op == ARTEL__LOSS_CATEGORICAL_CROSSENTROPY ||
                in->op == ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS ||
                in->op == ARTEL__LOSS_CATEGORICAL_FOCAL_CROSSENTROPY;
    if ((two || many) && in->a != 0.0f) {
        k.keep = (float)(1.0 - (double)in->a);
        k.add = two ? 0.5f * in->a : in->a / (float)in->length;
    }
    return k;
}

static inline bool loss_is_element(artel__loss op)
{
    return op <= ARTEL__LOSS_BINARY_CROSSENTROPY_LOGITS || op == ARTEL__LOSS_HINGE || op == ARTEL__LOSS_SQUARED_HINGE ||
           op == ARTEL__LOSS_KL_DIVERGENCE || op == ARTEL__LOSS_POISSON || op == ARTEL__LOSS_BINARY_FOCAL_CROSSENTROPY;
}

ARTEL__MATH float loss_factor(artel__loss op)
{
    return op == ARTEL__LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR ? 100.0f : 1.0f;
}

ARTEL__MATH float loss_divisor(const artel__loss_input *in)
{
    return in->op == ARTEL__LOSS_KL_DIVERGENCE ? 1.0f : (float)in->length;
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

ARTEL__MATH float loss_focal_weight(const loss_constants *k, float t)
{
    return k->b < 0.0f ? 1.0f : t * k->b + (1.0f - t) * (1.0f - k->b);
}

ARTEL__MATH float loss_element(artel__loss op, float t, float p, const loss_constants *k)
{
    float e = p - t, s = t * k->keep + k->add, h = k->binary ? 2.0f * t - 1.0f : t;
    float c = loss_clip(p, LOSS_EPSILON, LOSS_ALMOST_ONE), size = artel__absf(e);
    float margin = artel__maxf(1.0f - h * p, 0.0f);
    switch (op) {
    case ARTEL__LOSS_MEAN_SQUARED_ERROR: return e * e;
    case ARTEL__LOSS_MEAN_ABSOLUTE_ERROR: return size;
    case ARTEL__LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR:
        return artel__absf((t - p) / artel__maxf(artel__absf(t), LOSS_EPSILON));
    case ARTEL__LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR: {
        float d = artel__logf(artel__maxf(p, LOSS_EPSILON) + 1.0f) - artel__logf(artel__maxf(t, LOSS_EPSILON) + 1.0f);
        return d * d;
    }
    case ARTEL__LOSS_HUBER: return size <= k->a ? 0.5f * (e * e) : k->a * size - 0.5f * (k->a * k->a);
    case ARTEL__LOSS_LOG_COSH: return (e + artel__softplusf(e * -2.0f)) - 0.69314718f;
    case ARTEL__LOSS_BINARY_CROSSENTROPY: return loss_binary(s, c);
    case ARTEL__LOSS_BINARY_CROSSENTROPY_LOGITS:
        return (artel__maxf(p, 0.0f) - p * s) + artel__log1pf(artel__expf(-artel__absf(p)));
    case ARTEL__LOSS_HINGE: return margin;
    case ARTEL__LOSS_SQUARED_HINGE: return margin * margin;
    case ARTEL__LOSS_KL_DIVERGENCE: {
        float truth = loss_clip(t, LOSS_EPSILON, 1.0f);
        return truth * artel__logf(truth / loss_clip(p, LOSS_EPSILON, 1.0f));
    }
    case ARTEL__LOSS_POISSON: return p - t * artel__logf(p + LOSS_EPSILON);
    case ARTEL__LOSS_BINARY_FOCAL_CROSSENTROPY: {
        float right = s * p + (1.0f - s) * (1.0f - p);
        return loss_focal_weight(k, s) * (artel__powf(1.0f - right, k->c) * loss_binary(s, c));
    }
    default: return 0.0f;
    }
}

ARTEL__MATH float loss_focal_slope(float s, float p, float c, const loss_constants *k)
{
    float wrong = 1.0f - (s * p + (1.0f - s) * (1.0f - p));
    float bend = -k->c * artel__powf(wrong, k->c - 1.0f) * (2.0f * s - 1.0f);
    return loss_focal_weight(k, s) * (bend * loss_binary(s, c) + artel__powf(wrong, k->c) * loss_binary_slope(s, p, c));
}

ARTEL__MATH float loss_element_slope(artel__loss op, float t, float p, const loss_constants *k)
{
    float e = p - t, s = t * k->keep + k->add, h = k->binary ? 2.0f * t - 1.0f : t, margin = 1.0f - h * p;
    float c = loss_clip(p, LOSS_EPSILON, LOSS_ALMOST_ONE);
    switch (op) {
    case ARTEL__LOSS_MEAN_SQUARED_ERROR: return 2.0f * e;
    case ARTEL__LOSS_MEAN_ABSOLUTE_ERROR: return loss_sign(e);
    case ARTEL__LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR: return loss_sign(e) / artel__maxf(artel__absf(t), LOSS_EPSILON);
    case ARTEL__LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR: {
        float q = artel__maxf(p, LOSS_EPSILON) + 1.0f;
        float d = artel__logf(q) - artel__logf(artel__maxf(t, LOSS_EPSILON) + 1.0f);
        return p >= LOSS_EPSILON ? 2.0f * d / q : 0.0f;
    }
    case ARTEL__LOSS_HUBER: return artel__absf(e) <= k->a ? e : k->a * loss_sign(e);
    case ARTEL__LOSS_LOG_COSH: return artel__tanhf(e);
    case ARTEL__LOSS_BINARY_CROSSENTROPY: return loss_binary_slope(s, p, c);
    case ARTEL__LOSS_BINARY_CROSSENTROPY_LOGITS: return artel__sigmoidf(p) - s;
    case ARTEL__LOSS_HINGE: return margin >= 0.0f ? -h : 0.0f;
    case ARTEL__LOSS_SQUARED_HINGE: return margin >= 0.0f ? 2.0f * margin * -h : 0.0f;
    case ARTEL__LOSS_KL_DIVERGENCE:
        return ((p >= LOSS_EPSILON) & (p <= 1.0f)) ? -(loss_clip(t, LOSS_EPSILON, 1.0f) / p) : 0.0f;
    case ARTEL__LOSS_POISSON: return 1.0f - t / (p + LOSS_EPSILON);
    case ARTEL__LOSS_BINARY_FOCAL_CROSSENTROPY: return loss_focal_slope(s, p, c, k);
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
