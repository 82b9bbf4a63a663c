/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer rules, one element at a time, shared by the reference and the fast kernels.
 *
 * Each rule follows update_step of keras/src/optimizers/<rule>.py (3.15) in its order of operations. The scalars that
 * artel__apply_prepare makes stand beside each rule; rate is the learning rate, g the gradient after clipping. Numbers
 * are of one type (kernel/real.h); whose parameters clipping reads, says who includes this for float64 (APPLY_PARAMS).
 */
#ifndef ARTEL_KERNEL_OPTIMIZE_FORMULA_H
#define ARTEL_KERNEL_OPTIMIZE_FORMULA_H

#include "kernel/narrow_formula.h"
#include "kernel/optimize.h"
#include "kernel/real.h"

#ifndef APPLY_PARAMS
#define APPLY_PARAMS artel__apply
#endif

/* The state of one element; slots that a rule does not use are neither read nor written. */
typedef struct element {
    artel__real w, g, gg; /* gg: g squared, see artel__apply.squares */
    artel__real slot[ARTEL__APPLY_SLOTS];
} element;

/* Which options of a rule are on: constants in the fast kernels. */
typedef struct rule_flags {
    bool momentum, nesterov, centered, amsgrad;
    artel_dtype held; /* see artel__apply.held */
} rule_flags;

/* As a slot holds it, before the rule goes on with it. */
ARTEL__MATH artel__real as_held(rule_flags f, artel__real x)
{
    return f.held == ARTEL_DTYPE_BFLOAT16  ? (artel__real)narrow_to_bfloat16((float)x)
           : f.held == ARTEL_DTYPE_FLOAT16 ? (artel__real)narrow_to_float16((float)x)
                                           : x;
}

/* The weight after its decay. */
ARTEL__MATH artel__real apply_decay(rule_flags f, artel__real w, artel__real decay, artel__real rate)
{
    return as_held(f, w - w * decay * rate);
}

ARTEL__MATH artel__real apply_clip(const APPLY_PARAMS *p, artel__real g)
{
    switch (p->clip) {
    case ARTEL__CLIP_VALUE: return real_min(real_max(g, -p->clip_a), p->clip_a);
    case ARTEL__CLIP_NORM: return g * p->clip_a / p->clip_b;
    case ARTEL__CLIP_SCALE: return g * p->clip_a;
    case ARTEL__CLIP_NARROW: return (artel__real)narrow_to_bfloat16((float)g);
    case ARTEL__CLIP_NONE: break;
    }
    return g;
}

/* The square of a gradient after clipping: a sum of squares is scaled twice. */
ARTEL__MATH artel__real apply_clip_square(const APPLY_PARAMS *p, artel__real gg)
{
    return p->clip == ARTEL__CLIP_VALUE ? gg : apply_clip(p, apply_clip(p, gg));
}

/* scalar: 0 momentum */
ARTEL__MATH element apply_sgd(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    if (!f.momentum) {
        e.w = e.w - e.g * rate;
        return e;
    }
    e.slot[0] = as_held(f, e.slot[0] * s[0] - e.g * rate);
    e.w = e.w + (f.nesterov ? e.slot[0] * s[0] - e.g * rate : e.slot[0]);
    return e;
}

/* scalar: 0 rho, 1 1 - rho, 2 epsilon, 3 momentum */
ARTEL__MATH element apply_rmsprop(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    e.slot[0] = as_held(f, s[0] * e.slot[0] + s[1] * (e.gg));
    artel__real denominator = e.slot[0] + s[2];
    if (f.centered) {
        e.slot[2] = as_held(f, s[0] * e.slot[2] + s[1] * e.g);
        denominator = (e.slot[0] - e.slot[2] * e.slot[2]) + s[2];
    }
    artel__real increment = rate * e.g / real_sqrt(denominator);
    if (f.momentum) {
        e.slot[1] = as_held(f, s[3] * e.slot[1] + increment);
        increment = e.slot[1];
    }
    e.w = e.w - increment;
    return e;
}

/* scalar: 0 1 - beta_1, 1 1 - beta_2, 2 epsilon, 3 alpha */
ARTEL__MATH element apply_adam(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    (void)rate;
    e.slot[0] = as_held(f, e.slot[0] + (e.g - e.slot[0]) * s[0]);
    e.slot[1] = as_held(f, e.slot[1] + (e.gg - e.slot[1]) * s[1]);
    artel__real v = e.slot[1];
    if (f.amsgrad) {
        e.slot[2] = e.slot[2] > v ? e.slot[2] : v;
        v = e.slot[2];
    }
    e.w = e.w - e.slot[0] * s[3] / (real_sqrt(v) + s[2]);
    return e;
}

/* scalar: 2 epsilon */
ARTEL__MATH element apply_adagrad(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    e.slot[0] = as_held(f, e.slot[0] + e.gg);
    e.w = e.w - rate * e.g / real_sqrt(e.slot[0] + s[2]);
    return e;
}

/* scalar: 0 rho, 1 1 - rho, 2 epsilon */
ARTEL__MATH element apply_adadelta(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    e.slot[0] = as_held(f, s[0] * e.slot[0] + s[1] * (e.gg));
    artel__real delta = -(real_sqrt(e.slot[1] + s[2]) * e.g / real_sqrt(e.slot[0] + s[2]));
    e.slot[1] = as_held(f, s[0] * e.slot[1] + s[1] * (delta * delta));
    e.w = e.w + rate * delta;
    return e;
}

/* scalar: 0 1 - beta_1, 1 beta_2, 2 epsilon, 3 1 - beta_1^t */
ARTEL__MATH element apply_adamax(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    artel__real decayed = s[1] * e.slot[1], size = real_abs(e.g);
    e.slot[0] = as_held(f, e.slot[0] + (e.g - e.slot[0]) * s[0]);
    e.slot[1] = as_held(f, decayed > size ? decayed : size);
    e.w = e.w - rate * e.slot[0] / (s[3] * (e.slot[1] + s[2]));
    return e;
}

/* scalar: 0 1 - beta_1, 1 1 - beta_2, 2 epsilon, 3 u_{t+1}, 4 1 - u_product_{t+1}, 5 1 - u_t, 6 1 - u_product_t, 7 1 -
 * beta_2^t */
ARTEL__MATH element apply_nadam(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    e.slot[0] = as_held(f, e.slot[0] + (e.g - e.slot[0]) * s[0]);
    e.slot[1] = as_held(f, e.slot[1] + (e.gg - e.slot[1]) * s[1]);
    artel__real m_hat = s[3] * e.slot[0] / s[4] + s[5] * e.g / s[6];
    e.w = e.w - m_hat * rate / (real_sqrt(e.slot[1] / s[7]) + s[2]);
    return e;
}

/* x^power for x >= 0: the square root for 0.5, as anything else through artel__real64. */
ARTEL__MATH artel__real ftrl_power(artel__real x, artel__real power)
{
    return power == (artel__real)0.5 ? real_sqrt(x) : real_pow(x, power);
}

/* scalar: 0 -learning_rate_power, 1 l1, 2 2 * (l2 + beta / (2 * rate)), 3 2 * l2_shrinkage */
ARTEL__MATH element apply_ftrl(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    artel__real used = e.g + s[3] * e.w, accumulator = as_held(f, e.slot[0] + e.gg),
                grown = ftrl_power(accumulator, s[0]);
    e.slot[1] = as_held(f, e.slot[1] + (used - (grown - ftrl_power(e.slot[0], s[0])) / rate * e.w));
    artel__real quadratic = grown / rate + s[2];
    artel__real clipped = e.slot[1] < -s[1] ? -s[1] : e.slot[1] > s[1] ? s[1] : e.slot[1];
    e.w = quadratic == 0
              ? 0
              : (clipped - e.slot[1]) / quadratic; /* 0 where nothing was ever accumulated: padding of panels */
    e.slot[0] = accumulator;
    return e;
}

/* scalar: 0 beta_1, 1 1 - beta_1, 2 beta_2, 3 1 - beta_2 */
ARTEL__MATH element apply_lion(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    artel__real direction = e.slot[0] * s[0] + e.g * s[1];
    e.w = e.w - rate * (direction > 0 ? (artel__real)1 : direction < 0 ? (artel__real)-1 : (artel__real)0);
    e.slot[0] = as_held(f, e.slot[0] * s[2] + e.g * s[3]);
    return e;
}

/* scalar: 0 1 - beta_1, 1 1 - beta_2, 2 epsilon, 3 1 - beta_1^t, 4 1 - beta_2^t */
ARTEL__MATH element apply_lamb(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    (void)rate;
    e.slot[0] = as_held(f, e.slot[0] + (e.g - e.slot[0]) * s[0]);
    e.slot[1] = as_held(f, e.slot[1] + (e.gg - e.slot[1]) * s[1]);
    e.slot[2] = as_held(f, e.slot[0] / s[3] / (real_sqrt(e.slot[1] / s[4]) + s[2]));
    return e;
}

/* scalar: 0 1 - beta_1, 1 1 - beta_2, 2 epsilon, 3 rate with its warmup, 4 1 - beta_2^t, 5 1 / t, 6 1 - 1 / t, 7
 * beta_1. The variable is what gradients are taken at, y; the average x is not kept, it follows from y and z: from the
 * new z, for on TensorFlow what Keras calls the old one is read behind the step. */
ARTEL__MATH element apply_schedule_free(const artel__real *s, artel__real rate, rule_flags f, element e)
{
    (void)rate;
    e.slot[1] = as_held(f, e.slot[1] + (e.gg - e.slot[1]) * s[1]);
    e.slot[0] = as_held(f, e.slot[0] - s[3] * e.g / (real_sqrt(e.slot[1] / s[4]) + s[2]));
    artel__real average = s[6] * ((e.w - s[0] * e.slot[0]) / s[7]) + s[5] * e.slot[0];
    e.w = s[0] * e.slot[0] + s[7] * average;
    return e;
}

/* -- passes over whole variables -- */

ARTEL__MATH artel__real flat_element(artel__flat_op op, artel__real x, artel__real y, artel__real a, artel__real b)
{
    switch (op) {
    case ARTEL__FLAT_REGULARISE: {
        artel__real one = a != 0 ? y + a * (x > 0 ? (artel__real)1 : x < 0 ? (artel__real)-1 : (artel__real)0) : y;
        return b != 0 ? one + b * (2 * x) : one;
    }
    case ARTEL__FLAT_EMA: return a * y + b * x;
    case ARTEL__FLAT_ACCUMULATE: return y + x;
    case ARTEL__FLAT_AVERAGE: return (x + y) / a;
    case ARTEL__FLAT_SCALE: return x * a;
    case ARTEL__FLAT_DIVIDE: return x / a;
    case ARTEL__FLAT_CLIP: return x < a ? a : x > b ? b : x;
    }
    return x;
}

/* What a weight is multiplied by (MAX_NORM, MIN_MAX_NORM) or divided by (UNIT_NORM) under a constraint. */
ARTEL__MATH float constrain_factor(const artel__constrain *p, float squares)
{
    float norm = artel__sqrtf(squares), limited = norm < p->a ? p->a : norm > p->b ? p->b : norm;
    if (p->op == ARTEL__CONSTRAINT_MAX_NORM) return (norm > p->a ? p->a : norm) / (1e-7f + norm);
    if (p->op == ARTEL__CONSTRAINT_UNIT_NORM) return 1e-7f + norm;
    return (p->c * limited + (1.0f - p->c) * norm) / (1e-7f + norm);
}

ARTEL__MATH float constrain_element(artel__constraint op, float w, float factor)
{
    return op == ARTEL__CONSTRAINT_UNIT_NORM ? w / factor : w * factor;
}

#endif
