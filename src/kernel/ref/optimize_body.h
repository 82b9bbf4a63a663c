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

/* NADAM's u_t: beta_1 * (1 - 0.5 * 0.96^t). */
static artel__real nadam_u(artel__real beta_1, artel__real t)
{
    return beta_1 * (1 - (artel__real)0.5 * real_pow(as_cast(0.96), t));
}

static void prepare_nadam(APPLY_PARAMS *apply, const artel__apply_options *o, int64_t iteration, artel__real u_product)
{
    artel__real beta_1 = as_cast(o->beta_1), beta_2 = as_cast(o->beta_2), t = (artel__real)(iteration + 1);
    artel__real u_next = nadam_u(beta_1, (artel__real)(iteration + 2));
    apply->scalar[0] = 1 - beta_1;
    apply->scalar[1] = 1 - beta_2;
    apply->scalar[3] = u_next;
    apply->scalar[4] = 1 - u_product * u_next;
    apply->scalar[5] = 1 - nadam_u(beta_1, t);
    apply->scalar[6] = 1 - u_product;
    apply->scalar[7] = 1 - real_pow(beta_2, t);
}

static void prepare_rho(APPLY_PARAMS *apply, const artel__apply_options *o)
{
    apply->scalar[0] = (artel__real)o->rho;
    apply->scalar[1] = (artel__real)(1.0 - o->rho);
    apply->scalar[3] = (artel__real)o->momentum;
}

/* 1 - beta^(iteration + 1), each number rounded to the variable's type. */
static artel__real rest_of(const artel__apply_options *o, double beta, int64_t iteration)
{
    artel__real t = as_type(o->held, (artel__real)(iteration + 1));
    artel__real power = as_type(o->held, real_pow(as_type(o->held, as_cast(beta)), t));
    return as_type(o->held, 1 - power);
}

static void prepare_betas(APPLY_PARAMS *apply, const artel__apply_options *o, artel__real rate, int64_t iteration)
{
    if (o->rule == ARTEL__RULE_ADAM && o->rate_ratio != 0) rate = rate * (artel__real)o->rate_ratio;
    artel__real rest_1 = rest_of(o, o->beta_1, iteration), rest_2 = rest_of(o, o->beta_2, iteration);
    artel__real root = as_type(o->held, real_sqrt(rest_2));
    apply->scalar[0] = (artel__real)(1.0 - o->beta_1);
    apply->scalar[1] = o->rule == ARTEL__RULE_ADAMAX ? (artel__real)o->beta_2 : (artel__real)(1.0 - o->beta_2);
    apply->scalar[3] = o->rule == ARTEL__RULE_ADAM ? as_type(o->held, rate * root) / rest_1 : rest_1;
    apply->scalar[4] = rest_2;
}

static void prepare_ftrl(APPLY_PARAMS *apply, const artel__apply_options *o, artel__real rate)
{
    artel__real l2 = (artel__real)o->l2 + (artel__real)o->beta / (2 * rate);
    apply->scalar[0] = (artel__real)-o->learning_rate_power;
    apply->scalar[1] = (artel__real)o->l1;
    apply->scalar[2] = 2 * l2;
    apply->scalar[3] = (artel__real)(2.0 * o->l2_shrinkage);
}

static void prepare_lion(APPLY_PARAMS *apply, const artel__apply_options *o)
{
    apply->scalar[0] = as_cast(o->beta_1);
    apply->scalar[1] = 1 - as_cast(o->beta_1);
    apply->scalar[2] = as_cast(o->beta_2);
    apply->scalar[3] = 1 - as_cast(o->beta_2);
}

static void prepare_schedule_free(APPLY_PARAMS *apply, const artel__apply_options *o, artel__real rate,
                                  int64_t iteration)
{
    artel__real t = (artel__real)(iteration + 1), beta_1 = as_cast(o->beta_1), beta_2 = as_cast(o->beta_2);
    if (o->warmup_steps > 0) rate = rate * real_min(t / (artel__real)o->warmup_steps, 1);
    apply->scalar[0] = 1 - beta_1;
    apply->scalar[1] = 1 - beta_2;
    apply->scalar[2] = as_cast(o->epsilon);
    apply->scalar[3] = rate;
    apply->scalar[4] = 1 - real_pow(beta_2, t);
    apply->scalar[5] = 1 / t;
    apply->scalar[6] = 1 - 1 / t;
    apply->scalar[7] = beta_1;
}

void APPLY_PREPARE(APPLY_PARAMS *apply, const artel__apply_options *options, artel__real rate, int64_t iteration,
                   artel__real u_product)
{
    rate = as_type(options->held, rate);
    apply->rule = options->rule;
    apply->has_momentum = options->momentum != 0.0;
    apply->nesterov = options->nesterov;
    apply->centered = options->centered;
    apply->amsgrad = options->amsgrad;
    apply->held = options->held;
    apply->rate = rate;
    apply->decay = as_type(options->held, as_cast(options->weight_decay));
    for (int i = 0; i < 8; i++) apply->scalar[i] = 0;
    apply->scalar[2] = (artel__real)options->epsilon;
    switch (options->rule) {
    case ARTEL__RULE_SGD: apply->scalar[0] = as_cast(options->momentum); break;
    case ARTEL__RULE_RMSPROP:
    case ARTEL__RULE_ADADELTA: prepare_rho(apply, options); break;
    case ARTEL__RULE_ADAM:
    case ARTEL__RULE_ADAMAX:
    case ARTEL__RULE_LAMB: prepare_betas(apply, options, rate, iteration); break;
    case ARTEL__RULE_ADAGRAD: break;
    case ARTEL__RULE_NADAM: prepare_nadam(apply, options, iteration, u_product); break;
    case ARTEL__RULE_FTRL: prepare_ftrl(apply, options, rate); break;
    case ARTEL__RULE_LION: prepare_lion(apply, options); break;
    case ARTEL__RULE_SCHEDULE_FREE: prepare_schedule_free(apply, options, rate, iteration); break;
    }
    for (int i = 0; i < 8; i++) apply->scalar[i] = as_type(options->held, apply->scalar[i]);
}

/* -- kernels; a task is an element -- */

static element rule_of(const APPLY_PARAMS *p, rule_flags flags, element e)
{
    switch (p->rule) {
    case ARTEL__RULE_SGD: return apply_sgd(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_RMSPROP: return apply_rmsprop(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_ADAM: return apply_adam(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_ADAGRAD: return apply_adagrad(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_ADADELTA: return apply_adadelta(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_ADAMAX: return apply_adamax(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_NADAM: return apply_nadam(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_FTRL: return apply_ftrl(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_LION: return apply_lion(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_LAMB: return apply_lamb(p->scalar, p->rate, flags, e);
    case ARTEL__RULE_SCHEDULE_FREE: return apply_schedule_free(p->scalar, p->rate, flags, e);
    }
    return e;
}

static int64_t apply_tasks(const void *params)
{
    return ((const APPLY_PARAMS *)params)->count;
}

/* Element i of the variable, with its gradient and what stands for the gradient's square. */
static void apply_element(const APPLY_PARAMS *p, int64_t i, artel__real gradient, const artel__real *square)
{
    rule_flags flags = {p->has_momentum, p->nesterov, p->centered, p->amsgrad, p->held};
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
