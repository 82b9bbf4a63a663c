/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling, the reference. See kernel/resample.h; the inner loops run over channels and leave vectors to the compiler,
 * which may not contract them. */
#include "kernel/resample.h"

#include <string.h>

#include "kernel/math.h"

/* -- bands -- */

static int64_t band_tasks(const void *params)
{
    const artel__band *p = params;
    return p->outer * p->outputs;
}

static void band_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__band *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t o = task % p->outputs;
        const float *x = p->x + (task / p->outputs * p->extent + p->first[o]) * p->inner,
                    *weight = p->weight + o * p->taps;
        float *y = p->y + task * p->inner;
        for (int64_t b = 0; b < p->inner; b++) y[b] = weight[0] * x[b];
        for (int64_t k = 1; k < p->taps; k++) {
            const float *from = x + k * p->inner;
            for (int64_t b = 0; b < p->inner; b++) y[b] = y[b] + weight[k] * from[b];
        }
    }
}

static const artel__kernel band = {.name = "reference band", .tasks = band_tasks, .run = band_run};

/* -- affine maps -- */

static float floor_of(float x)
{
    float whole = (float)(int64_t)x;
    return whole > x ? whole - 1.0f : whole;
}

/* Far outside everything is the same; 64-bit integers must hold what is cut off below. */
static float in_bounds(float at)
{
    return at > 0x1p40f ? 0x1p40f : at < -0x1p40f ? -0x1p40f : at == at ? at : -1.0f;
}

/* A position along an axis of `extent` places, brought back into it. */
static float bring_back(float at, int64_t extent, artel__warp_fill mode)
{
    float last = (float)(extent - 1), length = (float)extent, twice = (float)(2 * extent);
    if (mode == ARTEL__WARP_CONSTANT) return at;
    if (extent <= 1) return 0;
    if (mode == ARTEL__WARP_REFLECT && at < 0) {
        if (at < twice) at = twice * (float)(int64_t)(-at / twice) + at;
        at = at < -length ? at + twice : -at - 1.0f;
    } else if (mode == ARTEL__WARP_REFLECT && at > last) {
        at -= twice * (float)(int64_t)(at / twice);
        if (at >= length) at = twice - at - 1.0f;
    } else if (mode == ARTEL__WARP_WRAP && at < 0) {
        at += length * (float)((int64_t)(-at / last) + 1);
    } else if (mode == ARTEL__WARP_WRAP && at > last) {
        at -= length * (float)(int64_t)(at / last);
    }
    return at < 0 ? 0 : at > last ? last : at;
}

/* Up to four places of an image and their weights; a place outside has the index -1. */
typedef struct places {
    int count;
    int64_t index[4];
    float across[4], down[4];
} places;

static int64_t place(const artel__warp *p, float line, float column)
{
    bool inside = line >= 0 && line < (float)p->in_h && column >= 0 && column < (float)p->in_w;
    return inside ? ((int64_t)line * p->in_w + (int64_t)column) * p->channels : -1;
}

static places places_of(const artel__warp *p, const float *map, int64_t i, int64_t j)
{
    float column = map[0] * (float)j + map[1] * (float)i + map[2],
          line = map[3] * (float)j + map[4] * (float)i + map[5];
    if (p->numbers == 8) {
        float depth = map[6] * (float)j + map[7] * (float)i + 1.0f;
        if (depth == 0.0f) return (places){.count = 1, .index = {-1}, .across = {1}, .down = {1}};
        column = column / depth;
        line = line / depth;
    }
    column = in_bounds(bring_back(in_bounds(column), p->in_w, p->mode));
    line = in_bounds(bring_back(in_bounds(line), p->in_h, p->mode));
    if (!p->bilinear) {
        float above = line < 0 ? -floor_of(0.5f - line) : floor_of(line + 0.5f);
        float left = column < 0 ? -floor_of(0.5f - column) : floor_of(column + 0.5f);
        return (places){.count = 1, .index = {place(p, above, left)}, .across = {1}, .down = {1}};
    }
    float above = floor_of(line), left = floor_of(column), below = above + 1.0f, right = left + 1.0f;
    places found = {
        .count = 4,
        .index = {place(p, above, left), place(p, above, right), place(p, below, left), place(p, below, right)},
        .across = {right - column, column - left, right - column, column - left},
        .down = {below - line, below - line, line - above, line - above}};
    return found;
}

static int64_t warp_tasks(const void *params)
{
    const artel__warp *p = params;
    return p->rows * p->out_h;
}

static float value_at(const artel__warp *p, const float *image, int64_t index, int64_t c)
{
    return index < 0 ? p->fill : image[index + c];
}

static float sample(const artel__warp *p, const float *image, const places *at, int64_t c)
{
    if (at->count == 1) return value_at(p, image, at->index[0], c);
    float above =
        at->across[0] * value_at(p, image, at->index[0], c) + at->across[1] * value_at(p, image, at->index[1], c);
    float below =
        at->across[2] * value_at(p, image, at->index[2], c) + at->across[3] * value_at(p, image, at->index[3], c);
    return at->down[0] * above + at->down[2] * below;
}

static void warp_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__warp *p = params;
    (void)scratch;
    for (int64_t task = begin; task < end; task++) {
        int64_t row = task / p->out_h, i = task % p->out_h;
        const float *image = p->x + row * p->in_h * p->in_w * p->channels;
        float *y = p->y + task * p->out_w * p->channels;
        for (int64_t j = 0; j < p->out_w; j++) {
            places at = places_of(p, p->map + row * p->numbers, i, j);
            for (int64_t c = 0; c < p->channels; c++) y[j * p->channels + c] = sample(p, image, &at, c);
        }
    }
}

static const artel__kernel warp = {.name = "reference warp", .tasks = warp_tasks, .run = warp_run};

static int64_t warp_gradient_tasks(const void *params)
{
    const artel__warp_gradient *p = params;
    return p->as.rows;
}

static void scatter(const places *at, const float *dy, float *dx, int64_t channels)
{
    for (int k = 0; k < at->count; k++) {
        if (at->index[k] < 0) continue;
        float weight = at->across[k] * at->down[k];
        for (int64_t c = 0; c < channels; c++) dx[at->index[k] + c] += weight * dy[c];
    }
}

static void warp_gradient_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__warp_gradient *g = params;
    const artel__warp *p = &g->as;
    int64_t size = p->in_h * p->in_w * p->channels;
    (void)scratch;
    for (int64_t row = begin; row < end; row++) {
        float *dx = g->dx + row * size;
        memset(dx, 0, (size_t)size * sizeof *dx);
        for (int64_t k = 0; k < p->out_h * p->out_w; k++) {
            places at = places_of(p, p->map + row * p->numbers, k / p->out_w, k % p->out_w);
            scatter(&at, g->dy + (row * p->out_h * p->out_w + k) * p->channels, dx, p->channels);
        }
    }
}

static const artel__kernel warp_gradient = {
    .name = "reference warp_gradient", .tasks = warp_gradient_tasks, .run = warp_gradient_run};

const artel__kernel *const artel__band_kernels[] = {&band, NULL};
const artel__kernel *const artel__warp_kernels[] = {&warp, NULL};
const artel__kernel *const artel__warp_gradient_kernels[] = {&warp_gradient, NULL};
