/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizer steps, the reference: one element at a time. Also the lists, the scalars of a step, and the constraints. */
#include "kernel/optimize.h"

#define FLAT_PARAMS artel__flat
#define APPLY_PREPARE artel__apply_prepare
#define APPLY_KIND "reference"
#include "kernel/ref/optimize_body.h"

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

/* -- kernels; a task is an element, or a row -- */

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

static const artel__kernel apply_rows = {
    .name = "reference apply_rows", .tasks = apply_rows_tasks, .run = apply_rows_run};
static const artel__kernel lamb_step = {.name = "reference lamb_step", .tasks = lamb_step_tasks, .run = lamb_step_run};
static const artel__kernel block_norm = {
    .name = "reference block_norm", .tasks = block_norm_tasks, .run = block_norm_run};
static const artel__kernel constrain = {.name = "reference constrain", .tasks = constrain_tasks, .run = constrain_run};

/* -- the lists -- */

ARTEL__KERNEL_LIST(apply, apply_elements);
ARTEL__KERNEL_LIST(apply_rows, apply_rows);
ARTEL__KERNEL_LIST(lamb_step, lamb_step);
ARTEL__KERNEL_LIST(block_norm, block_norm);
ARTEL__KERNEL_LIST(flat, flat_elements);
const artel__kernel *const artel__constrain_kernels[] = {&constrain, NULL};
