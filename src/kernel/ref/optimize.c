/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer steps, the reference: one element at a time. Also the lists, the scalars of a step, and the constraints. */
#include "kernel/optimize.h"

#include "kernel/narrow.h"
#include "kernel/optimize_formula.h"
#include "kernel/simd/optimize_tables.h"

/* -- the scalars of a step, in float32 as Keras computes them -- */

/* NADAM's u_t: beta_1 * (1 - 0.5 * 0.96^t). */
static float nadam_u(float beta_1, float t)
{
    return beta_1 * (1.0f - 0.5f * artel__powf(0.96f, t));
}

static void prepare_nadam(artel__apply *apply, const artel__apply_options *o, int64_t iteration, float u_product)
{
    float beta_1 = (float)o->beta_1, beta_2 = (float)o->beta_2, t = (float)(iteration + 1);
    float u_next = nadam_u(beta_1, (float)(iteration + 2));
    apply->scalar[0] = 1.0f - beta_1;
    apply->scalar[1] = 1.0f - beta_2;
    apply->scalar[3] = u_next;
    apply->scalar[4] = 1.0f - u_product * u_next;
    apply->scalar[5] = 1.0f - nadam_u(beta_1, t);
    apply->scalar[6] = 1.0f - u_product;
    apply->scalar[7] = 1.0f - artel__powf(beta_2, t);
}

static void prepare_rho(artel__apply *apply, const artel__apply_options *o)
{
    apply->scalar[0] = (float)o->rho;
    apply->scalar[1] = (float)(1.0 - o->rho);
    apply->scalar[3] = (float)o->momentum;
}

/* 1 - beta^(iteration + 1), each number rounded to the variable's type. */
static float rest_of(const artel__apply_options *o, double beta, int64_t iteration)
{
    float t = artel__narrow_one(o->held, (float)(iteration + 1));
    float power = artel__narrow_one(o->held, artel__powf(artel__narrow_one(o->held, (float)beta), t));
    return artel__narrow_one(o->held, 1.0f - power);
}

static void prepare_betas(artel__apply *apply, const artel__apply_options *o, float rate, int64_t iteration)
{
    if (o->rule == ARTEL__RULE_ADAM && o->rate_ratio != 0) rate = rate * (float)o->rate_ratio;
    float rest_1 = rest_of(o, o->beta_1, iteration), rest_2 = rest_of(o, o->beta_2, iteration);
    float root = artel__narrow_one(o->held, artel__sqrtf(rest_2));
    apply->scalar[0] = (float)(1.0 - o->beta_1);
    apply->scalar[1] = o->rule == ARTEL__RULE_ADAMAX ? (float)o->beta_2 : (float)(1.0 - o->beta_2);
    apply->scalar[3] = o->rule == ARTEL__RULE_ADAM ? artel__narrow_one(o->held, rate * root) / rest_1 : rest_1;
    apply->scalar[4] = rest_2;
}

static void prepare_ftrl(artel__apply *apply, const artel__apply_options *o, float rate)
{
    float l2 = (float)o->l2 + (float)o->beta / (2.0f * rate);
    apply->scalar[0] = (float)-o->learning_rate_power;
    apply->scalar[1] = (float)o->l1;
    apply->scalar[2] = 2.0f * l2;
    apply->scalar[3] = (float)(2.0 * o->l2_shrinkage);
}

static void prepare_lion(artel__apply *apply, const artel__apply_options *o)
{
    apply->scalar[0] = (float)o->beta_1;
    apply->scalar[1] = 1.0f - (float)o->beta_1;
    apply->scalar[2] = (float)o->beta_2;
    apply->scalar[3] = 1.0f - (float)o->beta_2;
}

static void prepare_schedule_free(artel__apply *apply, const artel__apply_options *o, float rate, int64_t iteration)
{
    float t = (float)(iteration + 1), beta_1 = (float)o->beta_1, beta_2 = (float)o->beta_2;
    if (o->warmup_steps > 0) rate = rate * artel__minf(t / (float)o->warmup_steps, 1.0f);
    apply->scalar[0] = 1.0f - beta_1;
    apply->scalar[1] = 1.0f - beta_2;
    apply->scalar[3] = rate;
    apply->scalar[4] = 1.0f - artel__powf(beta_2, t);
    apply->scalar[5] = 1.0f / t;
    apply->scalar[6] = 1.0f - 1.0f / t;
    apply->scalar[7] = beta_1;
}

void artel__apply_prepare(artel__apply *apply, const artel__apply_options *options, float rate, int64_t iteration,
                          float u_product)
{
    rate = artel__narrow_one(options->held, rate);
    apply->rule = options->rule;
    apply->has_momentum = options->momentum != 0.0;
    apply->nesterov = options->nesterov;
    apply->centered = options->centered;
    apply->amsgrad = options->amsgrad;
    apply->held = options->held;
    apply->rate = rate;
    apply->decay = artel__narrow_one(options->held, (float)options->weight_decay);
    for (int i = 0; i < 8; i++) apply->scalar[i] = 0.0f;
    apply->scalar[2] = (float)options->epsilon;
    switch (options->rule) {
    case ARTEL__RULE_SGD: apply->scalar[0] = (float)options->momentum; break;
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
    for (int i = 0; i < 8; i++) apply->scalar[i] = artel__narrow_one(options->held, apply->scalar[i]);
}

float artel__nadam_product(float u_product, double beta_1, int64_t iteration)
{
    return u_product * (float)beta_1 * (1.0f - 0.5f * artel__powf(0.96f, (float)(iteration + 1)));
}

float artel__lamb_ratio(float variable_norm, float direction_norm)
{
    return variable_norm > 0.0f && direction_norm > 0.0f ? variable_norm / direction_norm : 1.0f;
}

void artel__clip_by_norm(artel__apply *apply, double squared_norm, float clipnorm)
{
    float norm = artel__sqrtf((float)squared_norm);
    apply->clip = ARTEL__CLIP_NORM;
    apply->clip_a = clipnorm;
    apply->clip_b = artel__maxf(norm, clipnorm);
}

float artel__clip_by_global_norm(double squared_norm, float clipnorm)
{
    float norm = artel__sqrtf((float)squared_norm);
    return clipnorm * artel__minf(1.0f / norm, 1.0f / clipnorm) + (norm - norm);
}

double artel__norm_combine(double *blocks, int64_t count)
{
    if (count == 0) return 0.0;
    for (; count > 1; count = (count + 1) / 2)
        for (int64_t i = 0; i < (count + 1) / 2; i++)
            blocks[i] = 2 * i + 1 < count ? blocks[2 * i] + blocks[2 * i + 1] : blocks[2 * i];
    return blocks[0];
}

/* -- kernels; a task is an element -- */

static element rule_of(const artel__apply *p, rule_flags flags, element e)
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
    return ((const artel__apply *)params)->count;
}

/* Element i of the variable, with its gradient and what stands for the gradient's square. */
static void apply_element(const artel__apply *p, int64_t i, float gradient, const float *square)
{
    rule_flags flags = {p->has_momentum, p->nesterov, p->centered, p->amsgrad, p->held};
    float g = apply_clip(p, gradient);
    element e = {p->variable[i], g, square ? apply_clip_square(p, *square) : g * g, {0}};
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) e.slot[k] = p->slot[k] ? p->slot[k][i] : 0.0f;
    if (p->decay != 0.0f) e.w = apply_decay(flags, e.w, p->decay, p->rate);
    e = rule_of(p, flags, e);
    p->variable[i] = e.w;
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++)
        if (p->slot[k]) p->slot[k][i] = e.slot[k];
}

static void apply_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__apply *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) apply_element(p, i, p->gradient[i], p->squares ? p->squares + i : NULL);
}

static int64_t apply_rows_tasks(const void *params)
{
    const artel__apply_rows *p = params;
    return !p->others ? p->most : p->width > 0 ? p->apply.count / p->width : 0;
}

/* Row `row` of the table; k < 0: without a gradient. */
static void apply_row(const artel__apply_rows *p, int64_t row, int64_t k)
{
    const float zero = 0.0f;
    for (int64_t c = 0; c < p->width; c++) {
        int64_t from = k * p->width + c;
        const float *squares = !p->apply.squares ? NULL : k < 0 ? &zero : p->apply.squares + from;
        apply_element(&p->apply, row * p->width + c, k < 0 ? zero : p->apply.gradient[from], squares);
    }
}

static int64_t find_token(const artel__apply_rows *p, int64_t row)
{
    for (int64_t k = 0; k < *p->count; k++)
        if (p->token[k] == row) return k;
    return -1;
}

static void apply_rows_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__apply_rows *p = params;
    (void)scratch;
    for (int64_t row = begin; p->others && row < end; row++) apply_row(p, row, find_token(p, row));
    for (int64_t k = begin; !p->others && k < end && k < *p->count; k++) apply_row(p, p->token[k], k);
}

static int64_t lamb_step_tasks(const void *params)
{
    return ((const artel__lamb_step *)params)->count;
}

static void lamb_step_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__lamb_step *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++) p->variable[i] = p->variable[i] - p->ratio * p->rate * p->direction[i];
}

static int64_t block_norm_tasks(const void *params)
{
    return artel__norm_blocks(((const artel__block_norm *)params)->count);
}

static void block_norm_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__block_norm *p = params;
    (void)scratch;
    for (int64_t block = begin; block < end; block++) {
        double lane[16] = {0};
        for (int64_t i = block * ARTEL__NORM_BLOCK; i < (block + 1) * ARTEL__NORM_BLOCK && i < p->count; i++) {
            double v = (double)p->x[i];
            lane[i % 16] += p->kind == ARTEL__NORM_SQUARES ? v * v : (double)artel__absf(p->x[i]);
        }
        for (int half = 8; half > 0; half /= 2)
            for (int i = 0; i < half; i++) lane[i] = lane[i] + lane[i + half];
        p->blocks[block] = lane[0];
    }
}

static int64_t flat_tasks(const void *params)
{
    return ((const artel__flat *)params)->count;
}

static void flat_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__flat *p = params;
    (void)scratch;
    for (int64_t i = begin; i < end; i++)
        p->y[i] = flat_element(p->op, p->x[i], p->op <= ARTEL__FLAT_AVERAGE ? p->y[i] : 0.0f, p->a, p->b);
}

/* -- constraints; a task is an outer index -- */

static int64_t constrain_tasks(const void *params)
{
    return ((const artel__constrain *)params)->outer;
}

static void constrain_column(const artel__constrain *p, float *w)
{
    float squares = 0.0f;
    for (int64_t i = 0; i < p->length; i++) squares = squares + w[i * p->inner] * w[i * p->inner];
    float factor = constrain_factor(p, squares);
    for (int64_t i = 0; i < p->length; i++) w[i * p->inner] = constrain_element(p->op, w[i * p->inner], factor);
}

static void constrain_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__constrain *p = params;
    int64_t size = p->length * p->inner;
    (void)scratch;
    for (int64_t o = begin; o < end; o++) {
        float *w = p->variable + o * size;
        if (p->op == ARTEL__CONSTRAINT_NON_NEG)
            for (int64_t i = 0; i < size; i++) w[i] = w[i] > 0.0f ? w[i] : 0.0f;
        else
            for (int64_t i = 0; i < p->inner; i++) constrain_column(p, w + i);
    }
}

static const artel__kernel apply = {.name = "reference apply", .tasks = apply_tasks, .run = apply_run};
static const artel__kernel apply_rows = {
    .name = "reference apply_rows", .tasks = apply_rows_tasks, .run = apply_rows_run};
static const artel__kernel lamb_step = {.name = "reference lamb_step", .tasks = lamb_step_tasks, .run = lamb_step_run};
static const artel__kernel block_norm = {
    .name = "reference block_norm", .tasks = block_norm_tasks, .run = block_norm_run};
static const artel__kernel flat = {.name = "reference flat", .tasks = flat_tasks, .run = flat_run};
static const artel__kernel constrain = {.name = "reference constrain", .tasks = constrain_tasks, .run = constrain_run};

/* -- the lists -- */

#define FAST(row) &artel__optimize_avx512[row], &artel__optimize_avx2[row], &artel__optimize_baseline[row]

const artel__kernel *const artel__apply_kernels[] = {FAST(ARTEL__OPTIMIZE_APPLY), &apply, NULL};
const artel__kernel *const artel__apply_rows_kernels[] = {FAST(ARTEL__OPTIMIZE_APPLY_ROWS), &apply_rows, NULL};
const artel__kernel *const artel__lamb_step_kernels[] = {FAST(ARTEL__OPTIMIZE_LAMB_STEP), &lamb_step, NULL};
const artel__kernel *const artel__block_norm_kernels[] = {FAST(ARTEL__OPTIMIZE_BLOCK_NORM), &block_norm, NULL};
const artel__kernel *const artel__flat_kernels[] = {FAST(ARTEL__OPTIMIZE_FLAT), &flat, NULL};
const artel__kernel *const artel__constrain_kernels[] = {&constrain, NULL};
