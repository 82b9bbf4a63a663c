/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and their data gradients as products in blocks: one for each group of channels and each phase of the
 * strides. */
#ifndef ARTEL_KERNEL_SIMD_TILES_CONV_H
#define ARTEL_KERNEL_SIMD_TILES_CONV_H

#include "kernel/conv.h"
#include "kernel/simd/tiles_sweep.h"

/* Whether pixels are rows of a matrix as they lie. */
static inline bool tiles_pointwise(const artel__conv2d_shape *s)
{
    return s->kh * s->kw == 1 && s->sh == 1 && s->sw == 1 && s->top == 0 && s->left == 0 && s->oh == s->ih &&
           s->ow == s->iw;
}

/* Part `part` of a call. */
typedef tiles_product tiles_part_fn(const void *params, int64_t part);

static tiles_product tiles_forward_part(const void *params, int64_t group)
{
    const artel__conv2d_forward *f = params;
    const artel__conv2d_shape *s = &f->shape;
    tiles_product p = {
        .rows = {.walk = conv_walk_forward(s, f->x), .group = group * (s->ic / s->groups), .half = f->x_half},
        .m = s->images * s->oh * s->ow,
        .n = s->oc / s->groups,
        .k = s->kh * s->kw * (s->ic / s->groups),
        .column = group * (s->oc / s->groups),
        .w = f->w,
        .raw = f->w_raw,
        .depth = s->kh * s->kw * (s->ic / s->groups),
        .columns = s->oc,
        .bias = f->bias,
        .activation = f->activation,
        .narrow = f->narrow,
        .normalise = artel__conv_normalises(s),
        .out = f->out,
        .half = f->out_half,
        .lines = 1,
        .pixels = s->images * s->oh * s->ow + 1,
        .so_pixel = s->oc};
    if (tiles_pointwise(s)) {
        p.rows.walk.ny = 0;
        p.rows.a = artel__half_at(f->x, f->x_half, p.rows.group);
        p.rows.lda = s->ic;
    }
    return p;
}

static tiles_product tiles_data_part(const void *params, int64_t part)
{
    const artel__conv2d_data_gradient *d = params;
    const artel__conv2d_shape *s = &d->shape;
    int64_t phase = part % (s->sh * s->sw), group = part / (s->sh * s->sw), py = phase / s->sw, px = phase % s->sw;
    tiles_product p = {
        .rows = {.walk = conv_walk_data(s, d->dy, py, px), .group = group * (s->oc / s->groups), .half = d->dy_half},
        .n = s->ic / s->groups,
        .column = group * (s->ic / s->groups),
        .w = d->wt,
        .raw = d->wt_raw,
        .depth = s->kh * s->kw * (s->oc / s->groups),
        .columns = s->ic,
        .bias = d->bias,
        .activation = d->activation,
        .narrow = d->narrow,
        .normalise = artel__conv_normalises(s),
        .out = artel__half_at(d->dx, d->dx_half, (py * s->iw + px) * s->ic),
        .half = d->dx_half,
        .so_image = s->ih * s->iw * s->ic,
        .so_line = s->sh * s->iw * s->ic,
        .so_pixel = s->sw * s->ic};
    const conv_walk *w = &p.rows.walk;
    p.m = s->images * w->valid * w->pixels;
    p.k = w->ny * w->nx * w->depth;
    p.lines = w->valid > 0 ? w->valid : 1;
    p.pixels = w->pixels > 0 ? w->pixels : 1;
    if (tiles_pointwise(s)) {
        p.rows.walk.ny = 0;
        p.rows.a = artel__half_at(d->dy, d->dy_half, p.rows.group);
        p.rows.lda = s->oc;
    }
    return p;
}

static int64_t tiles_parts_tasks(tiles_part_fn *part, int64_t parts, const void *params)
{
    int64_t tasks = 0;
    for (int64_t i = 0; i < parts; i++) {
        tiles_product p = part(params, i);
        tasks += tiles_tasks(&p);
    }
    return tasks;
}

static size_t tiles_parts_scratch(tiles_part_fn *part, int64_t parts, const void *params)
{
    size_t most = 0;
    for (int64_t i = 0; i < parts; i++) {
        tiles_product p = part(params, i);
        size_t bytes = tiles_lay(&p, NULL).bytes;
        if (bytes > most) most = bytes;
    }
    return most;
}

/* Tasks are numbered part by part. */
static void tiles_parts_run(tiles_part_fn *part, int64_t parts, const void *params, int64_t begin, int64_t end,
                            void *scratch)
{
    int64_t first = 0;
    tiles_begin();
    for (int64_t i = 0; i < parts && first < end; i++) {
        tiles_product p = part(params, i);
        int64_t tasks = tiles_tasks(&p), from = begin > first ? begin - first : 0,
                to = end - first < tasks ? end - first : tasks;
        if (from < to) tiles_run(&p, from, to, scratch);
        first += tasks;
    }
    tiles_end();
    vec_leave();
}

static const char *tiles_forward_refuses(const void *params)
{
    return tiles_refuses(((const artel__conv2d_forward *)params)->arithmetic);
}

static int64_t tiles_forward_parts(const void *params)
{
    return ((const artel__conv2d_forward *)params)->shape.groups;
}

static int64_t tiles_forward_tasks(const void *params)
{
    return tiles_parts_tasks(tiles_forward_part, tiles_forward_parts(params), params);
}

static size_t tiles_forward_scratch(const void *params)
{
    return tiles_parts_scratch(tiles_forward_part, tiles_forward_parts(params), params);
}

static void tiles_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    tiles_parts_run(tiles_forward_part, tiles_forward_parts(params), params, begin, end, scratch);
}

static const char *tiles_data_refuses(const void *params)
{
    return tiles_refuses(((const artel__conv2d_data_gradient *)params)->arithmetic);
}

static int64_t tiles_data_parts(const void *params)
{
    const artel__conv2d_shape *s = &((const artel__conv2d_data_gradient *)params)->shape;
    return s->groups * s->sh * s->sw;
}

static int64_t tiles_data_tasks(const void *params)
{
    return tiles_parts_tasks(tiles_data_part, tiles_data_parts(params), params);
}

static size_t tiles_data_scratch(const void *params)
{
    return tiles_parts_scratch(tiles_data_part, tiles_data_parts(params), params);
}

static void tiles_data_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    tiles_parts_run(tiles_data_part, tiles_data_parts(params), params, begin, end, scratch);
}

#endif
