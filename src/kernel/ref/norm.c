/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and layer normalisation, the reference: one channel or one position at a time. Also the lists, and the kernels
 * over channels alone, which have no fast form. */
#include "kernel/norm.h"

#include <math.h>

#include "kernel/fold_tree.h"
#include "kernel/moments.h"
#include "kernel/norm_formula.h"

/* -- moments; a task is a channel of a row, or of a node -- */

static int64_t batch_moments_rows_tasks(const void *params)
{
    const artel__batch_moments_rows *p = params;
    return p->rows * p->channels;
}

static void batch_moments_rows_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_moments_rows *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t row = task / p->channels, c = task % p->channels;
        double sum = 0.0, square = 0.0;
        for (int64_t i = 0; i < p->inner; i++) {
            double v = (double)p->x[(row * p->inner + i) * p->channels + c];
            sum = sum + v;
            square = square + v * v;
        }
        p->part[row * 2 * p->channels + c] = sum;
        p->part[(row * 2 + 1) * p->channels + c] = square;
    }
}

static int64_t batch_moments_fold_tasks(const void *params)
{
    const artel__batch_moments_fold *p = params;
    return p->fold->nodes * p->channels;
}

static void moments_tree(const artel__batch_moments_fold *p, int32_t first, int32_t count, int64_t c, double *block)
{
    if (count > 1) {
        double right[3];
        moments_tree(p, first, count / 2, c, block);
        moments_tree(p, first + count / 2, count / 2, c, right);
        artel__moments_merge(block, right, 1);
        return;
    }
    int64_t from = artel__fold_begin(p->fold, first), to = artel__fold_end(p->fold, first);
    double sum = 0.0, square = 0.0;
    for (int64_t r = from; r < to; r++) {
        sum = sum + p->part[r * 2 * p->channels + c];
        square = square + p->part[(r * 2 + 1) * p->channels + c];
    }
    block[0] = (double)((to - from) * p->inner);
    moments_leaf(block[0], sum, square, &block[1], &block[2]);
}

static void batch_moments_fold_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_moments_fold *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t k = task / p->channels, c = task % p->channels;
        double block[3];
        moments_tree(p, p->fold->node[k].first, p->fold->node[k].count, c, block);
        for (int i = 0; i < 3; i++) p->nodes[(k * 3 + i) * p->channels + c] = block[i];
    }
}

static const artel__kernel moments_rows = {
    .name = "reference batch_moments_rows", .tasks = batch_moments_rows_tasks, .run = batch_moments_rows_run};
static const artel__kernel moments_fold = {
    .name = "reference batch_moments_fold", .tasks = batch_moments_fold_tasks, .run = batch_moments_fold_run};

/* -- over channels; one task -- */

static int64_t one_task(const void *params)
{
    (void)params;
    return 1;
}

static void finalize_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_norm_finalize *p = params;
    (void)scratch;
    for (int64_t c = 0; begin < end && c < p->channels; c++) {
        double n = p->root[c], variance = n > 0 ? p->root[2 * p->channels + c] / n : 0.0;
        if (p->mean) p->mean[c] = (float)p->root[p->channels + c];
        if (p->variance) p->variance[c] = (float)variance;
        if (p->inverse) p->inverse[c] = (float)(1.0 / sqrt(variance + p->epsilon));
    }
}

static void moving_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_norm_moving *p = params;
    float keep = (float)p->momentum, take = (float)(1.0 - p->momentum);
    (void)scratch;
    for (int64_t c = 0; begin < end && c < p->channels; c++) {
        p->moving_mean[c] = p->moving_mean[c] * keep + p->mean[c] * take;
        p->moving_variance[c] = p->moving_variance[c] * keep + p->variance[c] * take;
    }
}

static void inverse_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_norm_inverse *p = params;
    (void)scratch;
    for (int64_t c = 0; begin < end && c < p->channels; c++)
        p->inverse[c] = 1.0f / artel__sqrtf(p->variance[c] + p->epsilon);
}

static const artel__kernel finalize = {.name = "reference batch_norm_finalize", .tasks = one_task, .run = finalize_run};
static const artel__kernel moving = {.name = "reference batch_norm_moving", .tasks = one_task, .run = moving_run};
static const artel__kernel inverse = {.name = "reference batch_norm_inverse", .tasks = one_task, .run = inverse_run};

/* -- batch normalisation; a task is a position -- */

static int64_t batch_norm_forward_tasks(const void *params)
{
    return ((const artel__batch_norm_forward *)params)->positions;
}

static void batch_norm_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_norm_forward *p = params;
    (void)scratch;
    for (int64_t i = begin * p->channels; i < end * p->channels; i++) {
        int64_t c = i % p->channels;
        float scale = p->gamma ? p->inverse[c] * p->gamma[c] : p->inverse[c];
        float v = norm_forward(p->x[i], p->mean[c], scale, p->beta ? p->beta[c] : 0.0f);
        p->y[i] = norm_activate(p->activation, p->residual ? v + p->residual[i] : v);
    }
}

static int64_t batch_norm_gradient_rows_tasks(const void *params)
{
    const artel__batch_norm_gradient_rows *p = params;
    return p->rows * p->channels;
}

static void batch_norm_gradient_rows_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_norm_gradient_rows *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t row = task / p->channels, c = task % p->channels;
        double sum = 0.0, product = 0.0;
        for (int64_t k = 0; k < p->inner; k++) {
            int64_t i = (row * p->inner + k) * p->channels + c;
            float d = norm_mask(p->activation, p->activation ? p->y[i] : 0.0f, p->dy[i]),
                  xhat = (p->x[i] - p->mean[c]) * p->inverse[c];
            sum = sum + (double)d;
            product = product + (double)d * (double)xhat;
        }
        p->part[row * 2 * p->channels + c] = sum;
        p->part[(row * 2 + 1) * p->channels + c] = product;
    }
}

static int64_t batch_norm_gradient_tasks(const void *params)
{
    return ((const artel__batch_norm_gradient *)params)->positions;
}

static void batch_norm_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_norm_gradient *p = params;
    (void)scratch;
    for (int64_t i = begin * p->channels; i < end * p->channels; i++) {
        int64_t c = i % p->channels;
        float d = norm_mask(p->activation, p->activation ? p->y[i] : 0.0f, p->dy[i]);
        float mean_d = p->sums ? (float)(p->sums[c] / p->count) : 0.0f;
        float mean_dx = p->sums ? (float)(p->sums[p->channels + c] / p->count) : 0.0f;
        float scale = p->gamma ? p->gamma[c] * p->inverse[c] : p->inverse[c];
        p->dx[i] = norm_backward(p->x[i], d, p->mean[c], p->inverse[c], scale, mean_d, mean_dx);
        if (p->dresidual) p->dresidual[i] = d;
    }
}

static const artel__kernel forward = {
    .name = "reference batch_norm_forward", .tasks = batch_norm_forward_tasks, .run = batch_norm_forward_run};
static const artel__kernel gradient_rows = {.name = "reference batch_norm_gradient_rows",
                                            .tasks = batch_norm_gradient_rows_tasks,
                                            .run = batch_norm_gradient_rows_run};
static const artel__kernel gradient = {
    .name = "reference batch_norm_gradient", .tasks = batch_norm_gradient_tasks, .run = batch_norm_gradient_run};

/* -- layer normalisation; a task is a position -- */

static float lanes_tree(float *lane)
{
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lane[i] = lane[i] + lane[i + half];
    return lane[0];
}

static int64_t layer_norm_forward_tasks(const void *params)
{
    return ((const artel__layer_norm_forward *)params)->positions;
}

static void layer_norm_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__layer_norm_forward *p = params;
    (void)scratch;
    for (int64_t at = begin; at < end; at++) {
        const float *x = p->x + at * p->length;
        float sum[16] = {0}, square[16] = {0}, mean = 0.0f;
        for (int64_t i = 0; i < p->length; i++) sum[i % 16] += x[i];
        if (layer_is_centred(p->mode)) mean = lanes_tree(sum) / (float)p->length;
        for (int64_t i = 0; i < p->length; i++) square[i % 16] += (x[i] - mean) * (x[i] - mean);
        p->mean[at] = mean;
        p->inverse[at] = layer_inverse(p, lanes_tree(square));
        for (int64_t i = 0; i < p->length; i++) {
            float y = (x[i] - (p->mode == ARTEL__LAYER_NORM_LAYER ? mean : 0.0f)) * p->inverse[at];
            if (p->gamma) y = y * p->gamma[i];
            p->y[at * p->length + i] = p->beta ? y + p->beta[i] : y;
        }
    }
}

static int64_t layer_norm_gradient_tasks(const void *params)
{
    return ((const artel__layer_norm_gradient *)params)->positions;
}

static void layer_norm_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__layer_norm_gradient *p = params;
    (void)scratch;
    for (int64_t at = begin; at < end; at++) {
        layer_scalars s = layer_scalars_of(p, p->mean[at], p->inverse[at]);
        const float *x = p->x + at * p->length, *dy = p->dy + at * p->length;
        float one[16] = {0}, two[16] = {0};
        for (int64_t i = 0; i < p->length; i++) {
            float g = p->gamma ? dy[i] * p->gamma[i] : dy[i];
            one[i % 16] += g;
            two[i % 16] += g * ((x[i] - s.product_mean) * s.inverse);
        }
        float sum_g = lanes_tree(one), sum_product = lanes_tree(two);
        float mean_g = p->mode == ARTEL__LAYER_NORM_LAYER ? sum_g / s.divisor : 0.0f;
        float mean_product = s.divisor > 0.0f ? sum_product / s.divisor : 0.0f;
        for (int64_t i = 0; i < p->length; i++) {
            float g = p->gamma ? dy[i] * p->gamma[i] : dy[i];
            p->dx[at * p->length + i] = s.inverse * ((g - mean_g) - ((x[i] - s.slope_mean) * s.inverse) * mean_product);
        }
    }
}

/* -- gamma and beta of layer normalisation; a task is a column of a node -- */

static int64_t layer_norm_parameters_tasks(const void *params)
{
    const artel__layer_norm_parameters *p = params;
    return p->fold->nodes * p->length;
}

static void parameters_tree(const artel__layer_norm_parameters *p, int32_t first, int32_t count, int64_t column,
                            float *out)
{
    if (count > 1) {
        float right[2];
        parameters_tree(p, first, count / 2, column, out);
        parameters_tree(p, first + count / 2, count / 2, column, right);
        out[0] = out[0] + right[0];
        out[1] = out[1] + right[1];
        return;
    }
    out[0] = out[1] = 0.0f;
    for (int64_t r = artel__fold_begin(p->fold, first); r < artel__fold_end(p->fold, first); r++) {
        float gamma = 0.0f, beta = 0.0f;
        for (int64_t i = r * p->inner; i < (r + 1) * p->inner; i++) {
            float dy = p->dy[i * p->length + column], x = p->x[i * p->length + column];
            gamma = gamma + dy * ((x - (p->mode == ARTEL__LAYER_NORM_LAYER ? p->mean[i] : 0.0f)) * p->inverse[i]);
            beta = beta + dy;
        }
        out[0] = out[0] + gamma;
        out[1] = out[1] + beta;
    }
    out[0] = out[0] + 0.0f;
    out[1] = out[1] + 0.0f;
}

static void layer_norm_parameters_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__layer_norm_parameters *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t k = task / p->length, column = task % p->length;
        float out[2];
        parameters_tree(p, p->fold->node[k].first, p->fold->node[k].count, column, out);
        if (p->dgamma) p->dgamma[k * p->stride + column] = out[0];
        if (p->dbeta) p->dbeta[k * p->stride + column] = out[1];
    }
}

static const artel__kernel layer_forward = {
    .name = "reference layer_norm_forward", .tasks = layer_norm_forward_tasks, .run = layer_norm_forward_run};
static const artel__kernel layer_gradient = {
    .name = "reference layer_norm_gradient", .tasks = layer_norm_gradient_tasks, .run = layer_norm_gradient_run};
static const artel__kernel layer_parameters = {
    .name = "reference layer_norm_parameters", .tasks = layer_norm_parameters_tasks, .run = layer_norm_parameters_run};

/* -- the lists -- */

ARTEL__KERNEL_LIST(batch_moments_rows, moments_rows);
ARTEL__KERNEL_LIST(batch_moments_fold, moments_fold);
const artel__kernel *const artel__batch_norm_finalize_kernels[] = {&finalize, NULL};
const artel__kernel *const artel__batch_norm_moving_kernels[] = {&moving, NULL};
const artel__kernel *const artel__batch_norm_inverse_kernels[] = {&inverse, NULL};
ARTEL__KERNEL_LIST(batch_norm_forward, forward);
ARTEL__KERNEL_LIST(batch_norm_gradient_rows, gradient_rows);
ARTEL__KERNEL_LIST(batch_norm_gradient, gradient);
ARTEL__KERNEL_LIST(layer_norm_forward, layer_forward);
ARTEL__KERNEL_LIST(layer_norm_gradient, layer_gradient);
ARTEL__KERNEL_LIST(layer_norm_parameters, layer_parameters);
