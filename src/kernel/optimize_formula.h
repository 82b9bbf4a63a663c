/* SPDX-License-Identifier: Apache-2.0 */
/* The optimizer rules, one element at a time, shared by the reference and the fast kernels.
 *
 * Each rule (optimizers.list) follows update_step of keras/src/optimizers/<rule>.py (3.15) in its order of operations.
 * The scalars that artel__apply_prepare makes are named in the head of its file; rate is the learning rate, g the
 * gradient after clipping. Numbers are of one type (kernel/real.h); whose parameters clipping reads, says who includes
 * this for float64 (APPLY_PARAMS).
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
    artel__real w, g, gg; /* gg: g squared, or what artel__apply.squares has */
    artel__real slot[ARTEL__APPLY_SLOTS];
} element;

/* Which options of a rule are on: constants in the fast kernels. */
typedef struct rule_flags {
    bool momentum, nesterov, centered, amsgrad;
    artel_dtype held; /* see artel__apply.held */
    bool occurrences; /* gg is that of artel__apply.squares */
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

/* What artel__apply.squares has after clipping: a sum of squares is scaled twice, one of sizes once. */
ARTEL__MATH artel__real apply_clip_square(const APPLY_PARAMS *p, artel__real gg)
{
    if (p->clip == ARTEL__CLIP_VALUE) return gg;
    artel__real once = apply_clip(p, gg);
    return p->sizes ? once : apply_clip(p, once);
}

/* apply_<name> of each rule; s: its scalars. */
#define RULE_FORMULA
#include "kernel/optimizers.list"
#undef RULE_FORMULA

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
