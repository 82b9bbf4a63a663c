/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer steps over flat ranges, norms by blocks, regularisers and constraints.
 *
 * Each rule is a file of kernel/optimizer, listed in optimizers.list: the formulas of keras/src/optimizers (3.15) in
 * their order of operations, in float32. Scalars that depend on the step are computed once by artel__apply_prepare, in
 * float32 as Keras computes them, with our own power and square root. Padding that holds zeros in variable, gradient
 * and slots (accumulators excepted) stays zero under every rule.
 */
#ifndef ARTEL_KERNEL_OPTIMIZE_H
#define ARTEL_KERNEL_OPTIMIZE_H

#include "kernel/kernel.h"
#include "kernel/occurrence.h"

enum {
    ARTEL__NORM_BLOCK = 4096,
    ARTEL__APPLY_SLOTS = 3
};

typedef enum artel__rule {
#define RULE(NAME, name, ...) ARTEL__RULE_##NAME,
#include "kernel/optimizers.list"
#undef RULE
    ARTEL__RULE_COUNT
} artel__rule;

/* The optimizer's arguments, by Keras' names; those a rule does not know are ignored. */
typedef struct artel__apply_options {
    artel__rule rule;
    double momentum, rho, beta_1, beta_2, epsilon;
    double initial_accumulator_value; /* what slots start at that are accumulators */
    bool nesterov, centered, amsgrad;
#define RULE_FIELDS
#include "kernel/optimizers.list"
#undef RULE_FIELDS
    artel_dtype held;    /* FLOAT16, BFLOAT16: that of the variable, which scalars are rounded to as well */
    double weight_decay; /* 0: none. variable -= variable * weight_decay * rate, before the step */
} artel__apply_options;

/* -- what a rule says of itself -- */

/* Options that choose another form of the formula: each combination has a loop of its own. NESTEROV counts with
 * MOMENTUM. */
enum {
    ARTEL__FLAG_MOMENTUM = 1, /* momentum is not 0 */
    ARTEL__FLAG_NESTEROV = 2,
    ARTEL__FLAG_CENTERED = 4,
    ARTEL__FLAG_AMSGRAD = 8
};

/* What a step does whose gradient is 0, and without weight decay. */
typedef enum artel__idle {
    ARTEL__IDLE_CHANGES, /* the variable changes */
    ARTEL__IDLE_FADES,   /* it changes by what the slots hold, which fades: not where they are 0 */
    ARTEL__IDLE_STAYS    /* neither it nor a slot changes */
} artel__idle;

/* Whether a slot exists. */
typedef enum artel__slot_when {
    ARTEL__SLOT_NEVER,
    ARTEL__SLOT_ALWAYS,
    ARTEL__SLOT_COPY,     /* always; it starts as the variable */
    ARTEL__SLOT_MOMENTUM, /* momentum is not 0 */
    ARTEL__SLOT_CENTERED,
    ARTEL__SLOT_AMSGRAD,
    ARTEL__SLOT_SCRATCH /* of one step; in no file */
} artel__slot_when;

/* Which variables have a slot, and its shape. */
typedef enum artel__slot_form {
    ARTEL__SLOT_LIKE,    /* that of the variable: all slots of rules */
    ARTEL__SLOT_LINES,   /* without the last axis; of variables of two axes or more */
    ARTEL__SLOT_COLUMNS, /* without the axis before it; likewise */
    ARTEL__SLOT_OF_RULE  /* that of the variable; of those that an optimizer of matrices leaves to its rule */
} artel__slot_form;

/* Slots of one group are written to files variable by variable, groups one after another. */
typedef struct artel__slot_row {
    const char *name; /* the end of Keras' path: "momentum" */
    artel__slot_when when;
    int group;
    bool accumulator; /* starts at initial_accumulator_value; else at `start` */
    artel__slot_form form;
    float start;
} artel__slot_row;

typedef struct artel__rule_def {
    unsigned flags; /* those that its formula knows */
    artel__slot_row slot[ARTEL__APPLY_SLOTS];
    artel__idle idle;
    bool divides;            /* by what is 0 where there never was a gradient, and epsilon */
    artel__occurrence reads; /* beside the gradient, see artel__apply.squares; ITSELF: nothing */
    bool corrects;           /* 1 - beta_2^t, of numbers of the variable's type, is a factor or a divisor of the step */
    bool product;            /* a scalar goes with it, see artel__nadam_product */
    const char *layerwise;   /* the formula leaves the variable and writes a direction to slot 2, by which
                                artel__lamb_step then goes: why a table is read whole. NULL: it makes the step */
} artel__rule_def;

extern const artel__rule_def artel__rules[ARTEL__RULE_COUNT];

/* Whether a slot exists under these options. */
bool artel__slot_exists(artel__slot_when when, const artel__apply_options *options);
/* Whether a step changes rows of a table that have no gradient; with `empty` those whose slots are all 0. */
bool artel__rule_changes_idle(const artel__apply_options *options, bool empty);

/* -- a step -- */

/* What is done to the gradient before the rule, in the same pass: artel__clip in Keras' three forms. */
typedef enum artel__clip {
    ARTEL__CLIP_NONE,
    ARTEL__CLIP_VALUE, /* min(max(g, -clip_a), clip_a) */
    ARTEL__CLIP_NORM,  /* g * clip_a / clip_b; clip_a = clipnorm, clip_b = max(norm, clipnorm): see artel__clip_by_norm
                        */
    ARTEL__CLIP_SCALE, /* g * clip_a: global_clipnorm (artel__clip_by_global_norm) */
    ARTEL__CLIP_NARROW /* g rounded to bfloat16: the gradient of weights that a layer reads in that type
                          (kernel/narrow.h) */
} artel__clip;

/* Tasks: runs of ARTEL__NORM_BLOCK elements. The gradient is not written. */
typedef struct artel__apply {
    artel__rule rule;
    int64_t count;
    float *variable;
    const float *gradient;
    const float *squares; /* or NULL: what stands for the gradient's square, or for its size in rules that read that.
                           * Embeddings on Keras' TensorFlow backend: the sum over the occurrences of a token of their
                           * squares, instead of the square of their sum (kernel/occurrence.h) */
    float *slot[ARTEL__APPLY_SLOTS];
    artel__clip clip;
    float clip_a, clip_b;
    bool has_momentum, nesterov, centered, amsgrad; /* from here on: set by artel__apply_prepare */
    bool sizes;                                     /* `squares` are sizes */
    artel_dtype held; /* FLOAT16, BFLOAT16: what a step makes of a slot is rounded to it before the variable changes;
                         the variable is not */
    float rate, decay;
    float scalar[8]; /* meaning: in the file of each rule */
} artel__apply;

/* Sets rule, flags, rate, decay and scalars of `apply` for one variable and step; pointers, count and clip are left
 * alone. iteration: optimizer steps made before this one (Keras' iterations). u_product: of rules with a product, the
 * one after this step's update (artel__nadam_product); 1 otherwise. Does not decide whether the variable decays: pass
 * weight_decay 0 for excluded ones. */
void artel__apply_prepare(artel__apply *apply, const artel__apply_options *options, float rate, int64_t iteration,
                          float u_product);

/* u_product of the next step: u_product * beta_1 * (1 - 0.5 * 0.96^(iteration + 1)), in float32 as Keras. */
float artel__nadam_product(float u_product, double beta_1, int64_t iteration);

extern const artel__kernel *const artel__apply_kernels[];

/* The same on a table: row k of `gradient` (and `squares`) belongs to row token[k] of variable and slots, k < *count,
 * tokens ascending. With `others` all other rows take their step too, their gradient and squares being +0.0f; without,
 * they stay as they are. Tasks: runs of k below `most`; with `others` runs of rows of the table. */
typedef struct artel__apply_rows {
    artel__apply apply; /* its count is that of the table's elements */
    int64_t width, most;
    const int32_t *token, *count;
    bool others;
} artel__apply_rows;

extern const artel__kernel *const artel__apply_rows_kernels[];

/* Second half of LAMB: variable -= ratio * rate * direction; ratio = artel__lamb_ratio(w_norm, direction_norm). */
typedef struct artel__lamb_step {
    int64_t count;
    float *variable;
    const float *direction;
    float ratio, rate;
} artel__lamb_step;

float artel__lamb_ratio(float variable_norm, float direction_norm);

extern const artel__kernel *const artel__lamb_step_kernels[];

/* -- norms by blocks -- */

typedef enum artel__norm_kind {
    ARTEL__NORM_SQUARES,
    ARTEL__NORM_ABSOLUTES
} artel__norm_kind;

/* blocks[i] = float64 sum over elements 4096 i .. of x * x or |x|: 16 lanes of float64 and a tree, as in reduce.h,
 * every block alike. One call a variable, so blocks restart there. Tasks: blocks. */
typedef struct artel__block_norm {
    artel__norm_kind kind;
    int64_t count;
    const float *x;
    double *blocks; /* [artel__norm_blocks(count)] */
} artel__block_norm;

static inline int64_t artel__norm_blocks(int64_t count)
{
    return (count + ARTEL__NORM_BLOCK - 1) / ARTEL__NORM_BLOCK;
}

/* The blocks added pairwise: neighbours first, then pairs of pairs; an odd one out moves up unchanged. Overwrites
 * blocks; 0 for none. Norms over several variables then add these values one by one in Keras' order. */
double artel__norm_combine(double *blocks, int64_t count);

extern const artel__kernel *const artel__block_norm_kernels[];

/* Factors for artel__apply from squared norms, in float32 in Keras' order of operations. */
void artel__clip_by_norm(artel__apply *apply, double squared_norm, float clipnorm);
float artel__clip_by_global_norm(double squared_norm, float clipnorm); /* the factor of CLIP_SCALE */

/* -- whole-variable passes -- */

typedef enum artel__flat_op {
    ARTEL__FLAT_REGULARISE, /* y = (y + a * sign(x)) + b * (2 * x): y gradient, x variable, a = l1, b = l2 (0: skipped)
                             */
    ARTEL__FLAT_EMA,        /* y = a * y + b * x: a = momentum (0 at the first step), b = 1 - a */
    ARTEL__FLAT_ACCUMULATE, /* y = y + x */
    ARTEL__FLAT_AVERAGE,    /* y = (x + y) / a: gradient accumulation's last step */
    ARTEL__FLAT_SCALE,      /* y = x * a */
    ARTEL__FLAT_DIVIDE,     /* y = x / a */
    ARTEL__FLAT_CLIP        /* y = min(max(x, a), b) */
} artel__flat_op;

typedef struct artel__flat {
    artel__flat_op op;
    int64_t count;
    const float *x;
    float *y;
    float a, b;
} artel__flat;

extern const artel__kernel *const artel__flat_kernels[];

/* -- constraints (keras/src/constraints), in place on a variable seen as [outer][length][inner], norms along length --
 */

typedef enum artel__constraint {
    ARTEL__CONSTRAINT_MAX_NORM, /* a = max_value */
    ARTEL__CONSTRAINT_NON_NEG,  /* max(w, 0) */
    ARTEL__CONSTRAINT_UNIT_NORM,
    ARTEL__CONSTRAINT_MIN_MAX_NORM /* a = min_value, b = max_value, c = rate */
} artel__constraint;

/* A Dense or Conv kernel in panels with the default axes is outer = panels, length = K, inner = the panel's width, a
 * call for the full panels and one for a narrow last one. Sums: one chain along length in float32. Tasks: outer
 * indices. */
typedef struct artel__constrain {
    artel__constraint op;
    int64_t outer, length, inner;
    float *variable;
    float a, b, c;
} artel__constrain;

extern const artel__kernel *const artel__constrain_kernels[];

#endif
