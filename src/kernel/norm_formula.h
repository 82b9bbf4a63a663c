/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas of norm.h, one element at a time, shared by the reference and the fast kernels. */
#ifndef ARTEL_KERNEL_NORM_FORMULA_H
#define ARTEL_KERNEL_NORM_FORMULA_H

#include "kernel/math.h"
#include "kernel/norm.h"

/* NaN passes, -0 stays, as product.h. */
ARTEL__MATH float norm_activate(artel__norm_activation activation, float v)
{
    float positive = v < 0.0f ? 0.0f : v;
    if (activation == ARTEL__NORM_LINEAR) return v;
    return activation == ARTEL__NORM_RELU6 && positive > 6.0f ? 6.0f : positive;
}

/* dy where the activation passed, else 0; y is not read for LINEAR. */
ARTEL__MATH float norm_mask(artel__norm_activation activation, float y, float dy)
{
    if (activation == ARTEL__NORM_LINEAR) return dy;
    if (activation == ARTEL__NORM_RELU) return y > 0.0f ? dy : 0.0f;
    return ((y > 0.0f) & (y < 6.0f)) ? dy : 0.0f;
}

ARTEL__MATH float norm_forward(float x, float mean, float scale, float shift)
{
    return (x - mean) * scale + shift;
}

/* d: masked dy; mean_d and mean_dx: the means of d and of d * xhat over the batch. */
ARTEL__MATH float norm_backward(float x, float d, float mean, float inverse, float scale, float mean_d, float mean_dx)
{
    float xhat = (x - mean) * inverse;
    return scale * ((d - mean_d) - xhat * mean_dx);
}

/* Scalars of one position of a layer normalisation, for its gradient. */
typedef struct layer_scalars {
    float inverse;
    float product_mean; /* subtracted from x where x meets dy in the sum */
    float slope_mean;   /* subtracted from x where the sum is distributed */
    float divisor;      /* the sums are divided by it; 0: they do not act */
} layer_scalars;

static inline layer_scalars layer_scalars_of(const artel__layer_norm_gradient *p, float mean, float inverse)
{
    layer_scalars s = {inverse, 0.0f, 0.0f, (float)p->length};
    if (p->mode == ARTEL__LAYER_NORM_LAYER) s.product_mean = s.slope_mean = mean;
    if (p->mode == ARTEL__LAYER_NORM_RMS_SCALED) s.slope_mean = mean;
    if (p->mode == ARTEL__LAYER_NORM_UNIT) s.divisor = inverse == 1.0f / p->epsilon ? 0.0f : 1.0f;
    return s;
}

/* The inverse of a position from the sum of squares (centred or not). */
ARTEL__MATH float layer_inverse(const artel__layer_norm_forward *p, float squares)
{
    if (p->mode == ARTEL__LAYER_NORM_UNIT) {
        float inverse = 1.0f / artel__sqrtf(squares), limit = 1.0f / p->epsilon;
        return inverse > limit ? limit : inverse; /* NaN stays */
    }
    return 1.0f / artel__sqrtf(squares / (float)p->length + p->epsilon);
}

static inline bool layer_is_centred(artel__layer_norm_mode mode)
{
    return mode == ARTEL__LAYER_NORM_LAYER || mode == ARTEL__LAYER_NORM_RMS_SCALED;
}

/* The leaf of moments from sums S of x and Q of x * x over n elements. */
static inline void moments_leaf(double n, double s, double q, double *mean, double *m2)
{
    double m = n > 0 ? s / n : 0.0, rest = q - s * m;
    *mean = m + 0.0;
    *m2 = (rest > 0.0 ? rest : 0.0) + 0.0;
}

#endif
