/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer steps, one element at a time, and the scalars of a step, of one type of number (kernel/real.h): the
 * reference of float32, and all there is of float64. Who includes it says whose parameters it takes (APPLY_PARAMS,
 * FLAT_PARAMS), what the scalars are made by (APPLY_PREPARE) and what it is called (APPLY_KIND).
 */
#include "kernel/narrow.h"
#include "kernel/optimize_formula.h"

/* A number as a variable of this type holds it. */
static artel__real as_type(artel_dtype held, artel__real x)
{
    return held == ARTEL_DTYPE_FLOAT32 ? x : (artel__real)artel__narrow_one(held, (float)x);
}

/* -- the scalars of a step, as Keras computes them: what it casts to the variable's type, its TensorFlow backend makes
 * a float32 first -- */

static artel__real as_cast(double number)
{
    return (artel__real)artel__round_to_float32(number);
}

/* What prepare_<name> of a rule is given. */
typedef struct preparing {
    artel__real *scalar; /* 0 all, but [2]: epsilon */
    const artel__apply_options *options;
    artel__real rate, u_product; /* rate: as the variable's type holds it */
    int64_t iteration;
} preparing;

/* 1 - beta^(iteration + 1), each number rounded to the variable's type. */
static artel__real rest_of(const preparing *p, double beta)
{
    artel_dtype held = p->options->held;
    artel__real t = as_type(held, (artel__real)(p->iteration + 1));
    artel__real power = as_type(held, real_pow(as_type(held, as_cast(beta)), t));
    return as_type(held, 1 - power);
}

#define RULE_SCALARS
#include "kernel/optimizers.list"
#undef RULE_SCALARS

void APPLY_PREPARE(APPLY_PARAMS *apply, const artel__apply_options *options, artel__real rate, int64_t iteration,
                   artel__real u_product)
{
    rate = as_type(options->held, rate);
    apply->rule = options->rule;
    apply->has_momentum = options->momentum != 0.0;
    apply->nesterov = options->nesterov;
    apply->centered = options->centered;
    apply->amsgrad = options->amsgrad;
    apply->sizes = artel__rules[options->rule].reads == ARTEL__OCCURRENCE_SIZE;
    apply->held = options->held;
    apply->rate = rate;
    apply->decay = as_type(options->held, as_cast(options->weight_decay));
    for (int i = 0; i < 8; i++) apply->scalar[i] = 0;
    apply->scalar[2] = (artel__real)options->epsilon;
    const preparing p = {apply->scalar, options, rate, u_product, iteration};
    switch (options->rule) {
#define RULE(NAME, name, ...) \
    case ARTEL__RULE_##NAME:  \
        prepare_##name(&p);   \
        break;
#include "kernel/optimizers.list"
#undef RULE
    case ARTEL__RULE_COUNT: break;
    }
    for (int i = 0; i < 8; i++) apply->scalar[i] = as_type(options->held, apply->scalar[i]);
}

/* -- kernels; a task is an element -- */

static element rule_of(const APPLY_PARAMS *p, rule_flags flags, element e)
{
    switch (p->rule) {
#define RULE(NAME, name, ...) \
    case ARTEL__RULE_##NAME:  \
        return apply_##name(p->scalar, p->rate, flags, e);
#include "kernel/optimizers.list"
#undef RULE
    case ARTEL__RULE_COUNT: break;
    }
    return e;
}

static int64_t apply_tasks(const void *params)
{
    return ((const APPLY_PARAMS *)params)->count;
}

/* Element i of the variable, with its gradient and, or NULL, what stands for the gradient's square. */
static void apply_element(const APPLY_PARAMS *p, int64_t i, artel__real gradient, const artel__real *square)
{
    rule_flags flags = {p->has_momentum, p->nesterov, p->centered, p->amsgrad, p->held, square != NULL};
    artel__real g = apply_clip(p, gradient);
    element e = {p->variable[i], g, square ? apply_clip_square(p, *square) : g * g, {0}};
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) e.slot[k] = p->slot[k] ? p->slot[k][i] : 0;
    if (p->decay != 0) e.w = apply_decay(flags, e.w, p->decay, p->rate);
    e = rule_of(p, flags, e);
    p->variable[i] = e.w;
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++)
        if (p->slot[k]) p->slot[k][i] = e.slot[k];
}

static void apply_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const APPLY_PARAMS *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) apply_element(p, i, p->gradient[i], p->squares ? p->squares + i : NULL);
}

static int64_t flat_tasks(const void *params)
{
    return ((const FLAT_PARAMS *)params)->count;
}

static void flat_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const FLAT_PARAMS *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++)
        p->y[i] = flat_element(p->op, p->x[i], p->op <= ARTEL__FLAT_AVERAGE ? p->y[i] : 0, p->a, p->b);
}

static const artel__kernel apply_elements = {.name = APPLY_KIND " apply", .tasks = apply_tasks, .run = apply_run};
static const artel__kernel flat_elements = {.name = APPLY_KIND " flat", .tasks = flat_tasks, .run = flat_run};
