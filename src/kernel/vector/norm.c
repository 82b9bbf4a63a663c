/* SPDX-License-Identifier: Apache-2.0 */
/* Batch and layer normalisation; see simd.h for how this file is compiled, kernel/norm.h for the contracts.
 *
 * Per-channel constants are laid out in scratch over a period of whole positions of at least 512 elements, so that
 * passes over few channels run as long loops. Sums per channel are made on tiles of columns, see norm_sums.h.
 */
#include "kernel/simd/simd.h"

#include "kernel/fold_tree.h"
#include "kernel/half.h"
#include "kernel/moments.h"
#include "kernel/norm_formula.h"
#include "kernel/vector/norm_sums.h"
#include "kernel/simd/stream.h"

#include <string.h>

enum {
    TILE = 128,
    COLUMNS = 16,
    ROW_TASKS = 16,
    PERIOD = 512,
    POSITION_TASK = 4096
};

/* -- sums of a row for each channel -- */

enum {
    SUMS_ROOM = 2048 /* floats of an operand that are widened at once: a few positions of a tile */
};

/* The gradient's sums of operands of which some are stored as bfloat16, by runs of positions. */
ARTEL__INLINE void sums_mixed(artel__norm_activation activation, const sums_input *in, const bool *half,
                              int64_t positions, int64_t width, double *sum, double *product)
{
    float room[3][SUMS_ROOM];
    int64_t most = SUMS_ROOM / width;
    for (int64_t c = 0; c < width; c++) sum[c] = product[c] = 0.0;
    for (int64_t i = 0; i < positions; i += most) {
        int64_t count = positions - i < most ? positions - i : most, at = i * in->stride;
        sums_input run = {
            .x = room[0], .y = room[1], .dy = room[2], .mean = in->mean, .inverse = in->inverse, .stride = width};
        artel__half_gather(in->x, half[0], at, in->stride, count, width, room[0]);
        if (activation != ARTEL__NORM_LINEAR) artel__half_gather(in->y, half[1], at, in->stride, count, width, room[1]);
        artel__half_gather(in->dy, half[2], at, in->stride, count, width, room[2]);
        sums_chunks(SUMS_GRADIENT, activation, false, false, SUMS_POSITIONS, &run, count, width, sum, product);
    }
}

/* A run of neighbouring tasks of (row or node, tile of columns) that are done as one, at most `most` columns. */
typedef struct tiles {
    int64_t outer, column, width, count;
} tiles;

static tiles tiles_at(int64_t channels, int64_t size, int64_t task, int64_t end, int64_t most)
{
    int64_t each = artel__pieces(channels, size), tile = task % each;
    int64_t more = each - tile < end - task ? each - tile : end - task;
    if (more > most / size) more = most / size;
    int64_t column = tile * size;
    return (tiles){task / each, column, artel__piece_end(channels, size, tile + more) - column, more};
}

/* Columns of a task of sums: whole positions when there are rows enough to share out. Threads that each read parts of
 * the same positions were slower than one thread: the parts are shared out together where that is possible. */
static int64_t sums_size(int64_t rows, int64_t channels)
{
    int64_t size = SUMS_TILE;
    while (size > COLUMNS && (size >= 2 * channels || rows * artel__pieces(channels, size) < ROW_TASKS)) size /= 2;
    return size;
}

static int64_t sums_grain(int64_t rows, int64_t channels)
{
    return artel__pieces(channels, sums_size(rows, channels));
}

static int64_t batch_moments_rows_tasks(const void *params)
{
    const artel__batch_moments_rows *p = params;
    return p->rows * sums_grain(p->rows, p->channels);
}

static int64_t batch_moments_rows_grain(const void *params)
{
    const artel__batch_moments_rows *p = params;
    return sums_grain(p->rows, p->channels);
}

static void batch_moments_rows_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_moments_rows *p = params;
    int64_t size = sums_size(p->rows, p->channels);
    (void)scratch;
    for (int64_t task = begin; task < end;) {
        tiles t = tiles_at(p->channels, size, task, end, SUMS_TILE);
        const float *x = artel__half_at(p->x, p->x_half, t.outer * p->inner * p->channels + t.column);
        double sum[SUMS_TILE], square[SUMS_TILE];
        sums_input in = {.x = x, .stride = p->channels};
        if (p->x_half)
            sums_run(SUMS_MOMENTS, ARTEL__NORM_LINEAR, true, &in, p->inner, t.width, sum, square);
        else
            sums_run(SUMS_MOMENTS, ARTEL__NORM_LINEAR, false, &in, p->inner, t.width, sum, square);
        double *part = p->part + t.outer * 2 * p->channels + t.column;
        memcpy(part, sum, (size_t)t.width * sizeof *sum);
        memcpy(part + p->channels, square, (size_t)t.width * sizeof *square);
        task += t.count;
    }
}

static int64_t batch_norm_gradient_rows_tasks(const void *params)
{
    const artel__batch_norm_gradient_rows *p = params;
    return p->rows * sums_grain(p->rows, p->channels);
}

static int64_t batch_norm_gradient_rows_grain(const void *params)
{
    const artel__batch_norm_gradient_rows *p = params;
    return sums_grain(p->rows, p->channels);
}

ARTEL__INLINE void gradient_sums(artel__norm_activation activation, const artel__batch_norm_gradient_rows *p,
                                 const tiles *t)
{
    int64_t at = t->outer * p->inner * p->channels + t->column, n = t->width;
    const bool half[3] = {p->x_half, p->y_half, p->dy_half};
    sums_input in = {.x = artel__half_at(p->x, p->x_half, at),
                     .y = activation == ARTEL__NORM_LINEAR ? NULL : artel__half_at(p->y, p->y_half, at),
                     .dy = artel__half_at(p->dy, p->dy_half, at),
                     .mean = p->mean + t->column,
                     .inverse = p->inverse + t->column,
                     .stride = p->channels};
    double sum[SUMS_TILE], product[SUMS_TILE];
    bool masked = activation != ARTEL__NORM_LINEAR;
    if (p->x_half && p->dy_half && (!masked || p->y_half))
        sums_run(SUMS_GRADIENT, activation, true, &in, p->inner, n, sum, product);
    else if (p->x_half || p->dy_half || (masked && p->y_half))
        sums_mixed(activation, &in, half, p->inner, n, sum, product);
    else
        sums_run(SUMS_GRADIENT, activation, false, &in, p->inner, n, sum, product);
    double *part = p->part + t->outer * 2 * p->channels + t->column;
    memcpy(part, sum, (size_t)n * sizeof *sum);
    memcpy(part + p->channels, product, (size_t)n * sizeof *product);
}

static void batch_norm_gradient_rows_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_norm_gradient_rows *p = params;
    int64_t size = sums_size(p->rows, p->channels);
    (void)scratch;
    for (int64_t task = begin; task < end;) {
        tiles t = tiles_at(p->channels, size, task, end, SUMS_TILE);
        switch (p->activation) {
        case ARTEL__NORM_LINEAR: gradient_sums(ARTEL__NORM_LINEAR, p, &t); break;
        case ARTEL__NORM_RELU: gradient_sums(ARTEL__NORM_RELU, p, &t); break;
        case ARTEL__NORM_RELU6: gradient_sums(ARTEL__NORM_RELU6, p, &t); break;
        }
        task += t.count;
    }
}

/* -- the fold of moments: blocks of [3][width] -- */

static int64_t batch_moments_fold_tasks(const void *params)
{
    const artel__batch_moments_fold *p = params;
    return p->fold->nodes * artel__pieces(p->channels, COLUMNS);
}

static void moments_tree(const artel__batch_moments_fold *p, artel__fold_node node, int64_t column, int64_t width,
                         double *block)
{
    double right[3 * TILE];
    int32_t half = node.count / 2;
    if (node.count > 1) {
        moments_tree(p, (artel__fold_node){node.first, half}, column, width, block);
        moments_tree(p, (artel__fold_node){node.first + half, half}, column, width, right);
        artel__moments_merge(block, right, width);
        return;
    }
    int64_t begin = artel__fold_begin(p->fold, node.first), end = artel__fold_end(p->fold, node.first);
    double *sum = block + width, *square = block + 2 * width, n = (double)((end - begin) * p->inner);
    for (int64_t c = 0; c < width; c++) block[c] = n, sum[c] = square[c] = 0.0;
    for (int64_t r = begin; r < end; r++) {
        const double *part = p->part + r * 2 * p->channels + column;
        for (int64_t c = 0; c < width; c++) sum[c] = sum[c] + part[c];
        for (int64_t c = 0; c < width; c++) square[c] = square[c] + part[p->channels + c];
    }
    for (int64_t c = 0; c < width; c++) moments_leaf(n, sum[c], square[c], &sum[c], &square[c]);
}

static void batch_moments_fold_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_moments_fold *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end;) {
        tiles t = tiles_at(p->channels, COLUMNS, task, end, TILE);
        double block[3 * TILE], *to = p->nodes + t.outer * 3 * p->channels + t.column;
        moments_tree(p, p->fold->node[t.outer], t.column, t.width, block);
        for (int k = 0; k < 3; k++) memcpy(to + k * p->channels, block + k * t.width, (size_t)t.width * sizeof *block);
        task += t.count;
    }
}

/* -- element-wise passes -- */

static int64_t repeats(int64_t channels)
{
    return channels >= PERIOD || channels == 0 ? 1 : artel__pieces(PERIOD, channels);
}

static int64_t positions_per_task(int64_t channels)
{
    return channels >= POSITION_TASK || channels == 0 ? 1 : POSITION_TASK / channels;
}

/* Copies the first `channels` floats over the period. */
static void repeat(float *x, int64_t channels, int64_t period)
{
    for (int64_t i = channels; i < period; i++) x[i] = x[i - channels];
}

static int64_t batch_norm_forward_tasks(const void *params)
{
    const artel__batch_norm_forward *p = params;
    return artel__pieces(p->positions, positions_per_task(p->channels));
}

static size_t batch_norm_forward_scratch(const void *params)
{
    const artel__batch_norm_forward *p = params;
    return (size_t)(6 * p->channels * repeats(p->channels)) * sizeof(float);
}

/* What was made in `room`, to where it is stored: past the caches with `stream`. Without, float32 is there already. */
static void give(float *y, bool half, bool stream, int64_t at, int64_t n, const float *room)
{
    if (half && stream)
        artel__half_stream(y, at, n, room);
    else if (half)
        artel__half_store(y, true, at, n, room);
    else if (stream)
        artel__stream(y + at, room, n);
}

ARTEL__INLINE void forward_pass(artel__norm_activation activation, bool residual, const artel__batch_norm_forward *p,
                                int64_t at, int64_t n, float *constants, int64_t period, float *y)
{
    const float *x = artel__half_load(p->x, p->x_half, at, n, constants + 4 * period);
    const float *r = residual ? artel__half_load(p->residual, p->residual_half, at, n, constants + 5 * period) : x;
    const float *mean = constants, *scale = constants + period, *shift = constants + 2 * period;
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float v = norm_forward(x[i], mean[i], scale[i], shift[i]);
        y[i] = norm_activate(activation, residual ? v + r[i] : v);
    }
}

static void forward_dispatch(const artel__batch_norm_forward *p, int64_t at, int64_t n, float *constants,
                             int64_t period, float *y)
{
    switch ((int)p->activation * 2 + (p->residual != NULL)) {
    case 0: forward_pass(ARTEL__NORM_LINEAR, false, p, at, n, constants, period, y); break;
    case 1: forward_pass(ARTEL__NORM_LINEAR, true, p, at, n, constants, period, y); break;
    case 2: forward_pass(ARTEL__NORM_RELU, false, p, at, n, constants, period, y); break;
    case 3: forward_pass(ARTEL__NORM_RELU, true, p, at, n, constants, period, y); break;
    case 4: forward_pass(ARTEL__NORM_RELU6, false, p, at, n, constants, period, y); break;
    case 5: forward_pass(ARTEL__NORM_RELU6, true, p, at, n, constants, period, y); break;
    }
}

static void batch_norm_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_norm_forward *p = params;
    int64_t channels = p->channels, period = channels * repeats(channels), size = positions_per_task(channels);
    int64_t to = artel__piece_end(p->positions, size, end) * channels;
    float *mean = scratch, *scale = mean + period, *shift = scale + period;
    for (int64_t c = 0; c < channels; c++) {
        mean[c] = p->mean[c];
        scale[c] = p->gamma ? p->inverse[c] * p->gamma[c] : p->inverse[c];
        shift[c] = p->beta ? p->beta[c] : 0.0f;
    }
    repeat(mean, channels, period), repeat(scale, channels, period), repeat(shift, channels, period);
    bool stream = p->y != p->x && p->y != p->residual && artel__streams(p->positions * channels / (p->y_half ? 2 : 1));
    for (int64_t at = begin * size * channels; at < to; at += period) {
        int64_t n = to - at < period ? to - at : period;
        forward_dispatch(p, at, n, scratch, period, stream || p->y_half ? shift + period : p->y + at);
        give(p->y, p->y_half, stream, at, n, shift + period);
    }
    artel__stream_end();
}

static int64_t batch_norm_gradient_tasks(const void *params)
{
    const artel__batch_norm_gradient *p = params;
    return artel__pieces(p->positions, positions_per_task(p->channels));
}

static size_t batch_norm_gradient_scratch(const void *params)
{
    const artel__batch_norm_gradient *p = params;
    return (size_t)(10 * p->channels * repeats(p->channels)) * sizeof(float);
}

ARTEL__INLINE void gradient_pass(artel__norm_activation activation, bool residual, const artel__batch_norm_gradient *p,
                                 int64_t at, int64_t n, float *constants, int64_t period, float *dx, float *dr)
{
    const float *x = artel__half_load(p->x, p->x_half, at, n, constants + 7 * period);
    const float *dy = artel__half_load(p->dy, p->dy_half, at, n, constants + 8 * period);
    const float *y =
        activation == ARTEL__NORM_LINEAR ? x : artel__half_load(p->y, p->y_half, at, n, constants + 9 * period);
    const float *mean = constants, *inverse = mean + period, *scale = inverse + period, *mean_d = scale + period;
    const float *mean_dx = mean_d + period;
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < n; i++) {
        float d = norm_mask(activation, y[i], dy[i]);
        dx[i] = norm_backward(x[i], d, mean[i], inverse[i], scale[i], mean_d[i], mean_dx[i]);
        if (residual) dr[i] = d;
    }
}

static void gradient_dispatch(const artel__batch_norm_gradient *p, int64_t at, int64_t n, float *constants,
                              int64_t period, float *dx, float *dr)
{
    switch ((int)p->activation * 2 + (p->dresidual != NULL)) {
    case 0: gradient_pass(ARTEL__NORM_LINEAR, false, p, at, n, constants, period, dx, dr); break;
    case 1: gradient_pass(ARTEL__NORM_LINEAR, true, p, at, n, constants, period, dx, dr); break;
    case 2: gradient_pass(ARTEL__NORM_RELU, false, p, at, n, constants, period, dx, dr); break;
    case 3: gradient_pass(ARTEL__NORM_RELU, true, p, at, n, constants, period, dx, dr); break;
    case 4: gradient_pass(ARTEL__NORM_RELU6, false, p, at, n, constants, period, dx, dr); break;
    case 5: gradient_pass(ARTEL__NORM_RELU6, true, p, at, n, constants, period, dx, dr); break;
    }
}

static void batch_norm_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__batch_norm_gradient *p = params;
    int64_t channels = p->channels, period = channels * repeats(channels), size = positions_per_task(channels);
    int64_t to = artel__piece_end(p->positions, size, end) * channels;
    float *constant[7];
    for (int k = 0; k < 7; k++) constant[k] = (float *)scratch + k * period;
    for (int64_t c = 0; c < channels; c++) {
        constant[0][c] = p->mean[c];
        constant[1][c] = p->inverse[c];
        constant[2][c] = p->gamma ? p->gamma[c] * p->inverse[c] : p->inverse[c];
        constant[3][c] = p->sums ? (float)(p->sums[c] / p->count) : 0.0f;
        constant[4][c] = p->sums ? (float)(p->sums[channels + c] / p->count) : 0.0f;
    }
    for (int k = 0; k < 5; k++) repeat(constant[k], channels, period);
    bool stream_dx = p->dx != p->dy && artel__streams(p->positions * channels / (p->dx_half ? 2 : 1));
    bool stream_residual =
        p->dresidual && p->dresidual != p->dy && artel__streams(p->positions * channels / (p->dresidual_half ? 2 : 1));
    for (int64_t at = begin * size * channels; at < to; at += period) {
        int64_t n = to - at < period ? to - at : period;
        float *dx = stream_dx || p->dx_half ? constant[5] : p->dx + at;
        float *dr = stream_residual || p->dresidual_half ? constant[6] : p->dresidual ? p->dresidual + at : NULL;
        gradient_dispatch(p, at, n, scratch, period, dx, dr);
        give(p->dx, p->dx_half, stream_dx, at, n, constant[5]);
        if (dr) give(p->dresidual, p->dresidual_half, stream_residual, at, n, constant[6]);
    }
    artel__stream_end();
}

/* -- layer normalisation -- */

static size_t layer_norm_forward_scratch(const void *params)
{
    const artel__layer_norm_forward *p = params;
    return (size_t)(p->x_half || p->y_half ? 2 * p->length : 0) * sizeof(float);
}

static int64_t layer_norm_forward_tasks(const void *params)
{
    const artel__layer_norm_forward *p = params;
    return artel__pieces(p->positions, positions_per_task(p->length));
}

/* Lanes of x - mean, or of its square. */
ARTEL__INLINE float lanes_of(bool square, const float *x, int64_t n, float mean)
{
    float lane[ARTEL__LANES] = {0};
    int64_t i = 0;
    for (; i + ARTEL__LANES <= n; i += ARTEL__LANES) {
        for (int k = 0; k < ARTEL__LANES; k++) {
            float v = x[i + k] - mean;
            lane[k] = lane[k] + (square ? v * v : v);
        }
    }
    for (int k = 0; i + k < n; k++) {
        float v = x[i + k] - mean;
        lane[k] = lane[k] + (square ? v * v : v);
    }
    return artel__lanes_sum(lane);
}

static void layer_apply(const artel__layer_norm_forward *p, const float *x, float *y, float mean, float inverse)
{
    const float *gamma = p->gamma, *beta = p->beta;
    int64_t n = p->length;
    if (gamma && beta) {
        ARTEL__INDEPENDENT
        for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * inverse * gamma[i] + beta[i];
        return;
    }
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < n; i++) y[i] = (x[i] - mean) * inverse;
    for (int64_t i = 0; gamma && i < n; i++) y[i] = y[i] * gamma[i];
    for (int64_t i = 0; beta && i < n; i++) y[i] = y[i] + beta[i];
}

static void layer_norm_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__layer_norm_forward *p = params;
    int64_t size = positions_per_task(p->length), to = artel__piece_end(p->positions, size, end);
    float *room = scratch;
    for (int64_t at = begin * size; at < to; at++) {
        const float *x = artel__half_load(p->x, p->x_half, at * p->length, p->length, room);
        float *y = artel__half_make(p->y, p->y_half, at * p->length, room + p->length);
        float mean = layer_is_centred(p->mode) ? lanes_of(false, x, p->length, 0.0f) / (float)p->length : 0.0f;
        float inverse = layer_inverse(p, lanes_of(true, x, p->length, mean));
        layer_apply(p, x, y, p->mode == ARTEL__LAYER_NORM_LAYER ? mean : 0.0f, inverse);
        artel__half_store(p->y, p->y_half, at * p->length, p->length, y);
        p->mean[at] = mean;
        p->inverse[at] = inverse;
    }
}

static size_t layer_norm_gradient_scratch(const void *params)
{
    const artel__layer_norm_gradient *p = params;
    return (size_t)(p->x_half || p->dy_half || p->dx_half ? 3 * p->length : 0) * sizeof(float);
}

static int64_t layer_norm_gradient_tasks(const void *params)
{
    const artel__layer_norm_gradient *p = params;
    return artel__pieces(p->positions, positions_per_task(p->length));
}

/* The sum of g (product false) or of g * xhat, g = dy * gamma; one at a time, which vectorises where both at once do
 * not. */
ARTEL__INLINE float layer_sum(bool scaled, bool product, const artel__layer_norm_gradient *p, const layer_scalars *s,
                              const float *x, const float *dy)
{
    const float *gamma = scaled ? p->gamma : dy;
    float inverse = s->inverse, mean = s->product_mean, lane[ARTEL__LANES] = {0};
    int64_t n = p->length, i = 0;
    for (; i + ARTEL__LANES <= n; i += ARTEL__LANES) {
        for (int k = 0; k < ARTEL__LANES; k++) {
            float g = scaled ? dy[i + k] * gamma[i + k] : dy[i + k];
            lane[k] = lane[k] + (product ? g * ((x[i + k] - mean) * inverse) : g);
        }
    }
    for (int k = 0; i + k < n; k++) {
        float g = scaled ? dy[i + k] * gamma[i + k] : dy[i + k];
        lane[k] = lane[k] + (product ? g * ((x[i + k] - mean) * inverse) : g);
    }
    return artel__lanes_sum(lane);
}

ARTEL__INLINE void layer_slope(bool scaled, const artel__layer_norm_gradient *p, const layer_scalars *s, const float *x,
                               const float *dy, float *dx)
{
    const float *gamma = scaled ? p->gamma : dy;
    float inverse = s->inverse, mean = s->slope_mean;
    float mean_g = layer_sum(scaled, false, p, s, x, dy), mean_product = layer_sum(scaled, true, p, s, x, dy);
    mean_g = p->mode == ARTEL__LAYER_NORM_LAYER ? mean_g / s->divisor : 0.0f;
    mean_product = s->divisor > 0.0f ? mean_product / s->divisor : 0.0f;
    ARTEL__INDEPENDENT
    for (int64_t i = 0; i < p->length; i++) {
        float g = scaled ? dy[i] * gamma[i] : dy[i];
        dx[i] = inverse * ((g - mean_g) - ((x[i] - mean) * inverse) * mean_product);
    }
}

static void layer_norm_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__layer_norm_gradient *p = params;
    int64_t size = positions_per_task(p->length), to = artel__piece_end(p->positions, size, end);
    float *room = scratch;
    int64_t n = p->length;
    for (int64_t at = begin * size; at < to; at++) {
        const float *x = artel__half_load(p->x, p->x_half, at * n, n, room);
        const float *dy = artel__half_load(p->dy, p->dy_half, at * n, n, room + n);
        float *dx = artel__half_make(p->dx, p->dx_half, at * n, room + 2 * n);
        layer_scalars s = layer_scalars_of(p, p->mean[at], p->inverse[at]);
        if (p->gamma)
            layer_slope(true, p, &s, x, dy, dx);
        else
            layer_slope(false, p, &s, x, dy, dx);
        artel__half_store(p->dx, p->dx_half, at * n, n, dx);
    }
}

/* -- gamma and beta of layer normalisation: blocks of [2][TILE] -- */

static int64_t layer_norm_parameters_tasks(const void *params)
{
    const artel__layer_norm_parameters *p = params;
    return p->fold->nodes * artel__pieces(p->length, COLUMNS);
}

static void parameters_row(const artel__layer_norm_parameters *p, int64_t row, int64_t column, int64_t width,
                           float *restrict gamma, float *restrict beta)
{
    bool centred = p->mode == ARTEL__LAYER_NORM_LAYER;
    for (int64_t c = 0; c < width; c++) gamma[c] = beta[c] = 0.0f;
    for (int64_t i = row * p->inner; i < (row + 1) * p->inner; i++) {
        float room[2][TILE];
        const float *x = artel__half_load(p->x, p->x_half, i * p->length + column, width, room[0]);
        const float *dy = artel__half_load(p->dy, p->dy_half, i * p->length + column, width, room[1]);
        float mean = centred ? p->mean[i] : 0.0f, inverse = p->inverse[i];
        for (int64_t c = 0; c < width; c++) {
            gamma[c] = gamma[c] + dy[c] * ((x[c] - mean) * inverse);
            beta[c] = beta[c] + dy[c];
        }
    }
}

static void parameters_tree(const artel__layer_norm_parameters *p, artel__fold_node node, int64_t column, int64_t width,
                            float *block)
{
    float other[2 * TILE];
    int32_t half = node.count / 2;
    if (node.count > 1) {
        parameters_tree(p, (artel__fold_node){node.first, half}, column, width, block);
        parameters_tree(p, (artel__fold_node){node.first + half, half}, column, width, other);
        for (int64_t c = 0; c < width; c++) block[c] = block[c] + other[c];
        for (int64_t c = TILE; c < TILE + width; c++) block[c] = block[c] + other[c];
        return;
    }
    memset(block, 0, 2 * TILE * sizeof *block);
    for (int64_t r = artel__fold_begin(p->fold, node.first); r < artel__fold_end(p->fold, node.first); r++) {
        parameters_row(p, r, column, width, other, other + TILE);
        for (int64_t c = 0; c < width; c++) block[c] = block[c] + other[c];
        for (int64_t c = TILE; c < TILE + width; c++) block[c] = block[c] + other[c];
    }
    for (int64_t c = 0; c < 2 * TILE; c++) block[c] = block[c] + 0.0f;
}

static void layer_norm_parameters_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__layer_norm_parameters *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end;) {
        tiles t = tiles_at(p->length, COLUMNS, task, end, TILE);
        float block[2 * TILE];
        parameters_tree(p, p->fold->node[t.outer], t.column, t.width, block);
        int64_t at = t.outer * p->stride + t.column;
        if (p->dgamma) memcpy(p->dgamma + at, block, (size_t)t.width * sizeof *block);
        if (p->dbeta) memcpy(p->dbeta + at, block + TILE, (size_t)t.width * sizeof *block);
        task += t.count;
    }
}

ARTEL__SIMD_KERNEL(batch_moments_rows, .tasks = batch_moments_rows_tasks, .grain = batch_moments_rows_grain,
                   .halves = artel__halves_always, .run = batch_moments_rows_run);
ARTEL__SIMD_KERNEL(batch_moments_fold, .tasks = batch_moments_fold_tasks, .run = batch_moments_fold_run);
ARTEL__SIMD_KERNEL(batch_norm_forward, .tasks = batch_norm_forward_tasks, .scratch_bytes = batch_norm_forward_scratch,
                   .halves = artel__halves_always, .run = batch_norm_forward_run);
ARTEL__SIMD_KERNEL(batch_norm_gradient_rows, .tasks = batch_norm_gradient_rows_tasks,
                   .grain = batch_norm_gradient_rows_grain, .halves = artel__halves_always,
                   .run = batch_norm_gradient_rows_run);
ARTEL__SIMD_KERNEL(batch_norm_gradient, .tasks = batch_norm_gradient_tasks,
                   .scratch_bytes = batch_norm_gradient_scratch, .halves = artel__halves_always,
                   .run = batch_norm_gradient_run);
ARTEL__SIMD_KERNEL(layer_norm_forward, .tasks = layer_norm_forward_tasks, .scratch_bytes = layer_norm_forward_scratch,
                   .halves = artel__halves_always, .run = layer_norm_forward_run);
ARTEL__SIMD_KERNEL(layer_norm_gradient, .tasks = layer_norm_gradient_tasks,
                   .scratch_bytes = layer_norm_gradient_scratch, .halves = artel__halves_always,
                   .run = layer_norm_gradient_run);
ARTEL__SIMD_KERNEL(layer_norm_parameters, .tasks = layer_norm_parameters_tasks, .halves = artel__halves_always,
                   .run = layer_norm_parameters_run);
