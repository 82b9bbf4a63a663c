/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions for one instruction set; included behind a micro_vec_*.h.
 *
 * Vectors run over channels. Forward and data gradient take a pixel at a time: its taps that exist are listed once
 * and reused while the list stays the same (inside the image), then swept for blocks of channels. The weight gradient
 * takes a tap and a block of channels a task, the chains in registers, the fold over shards in the task. Multipliers
 * above one use scalars.
 */
#ifndef ARTEL_KERNEL_SIMD_DEPTHWISE_BODY_H
#define ARTEL_KERNEL_SIMD_DEPTHWISE_BODY_H

#include <stdbool.h>

#include "kernel/depthwise.h"

enum {
    DEPTH_VECTORS = 4,
    DEPTH_BLOCK = DEPTH_VECTORS * VEC_LANES
};

/* A tap that exists for a pixel: where its channels start, relative to the image and to the weights. */
typedef struct depth_tap {
    int64_t in, w;
} depth_tap;

typedef struct depth_pixel {
    const float *in, *w;
    const depth_tap *tap;
    int64_t taps, multiplier;
    const float *bias;
    bool relu;
    float *out;
} depth_pixel;

VEC_INLINE void depth_block(int nv, const depth_pixel *p, int64_t c, vec_mask last)
{
    vec acc[DEPTH_VECTORS];
    VEC_UNROLL
    for (int v = 0; v < nv; v++) acc[v] = vec_zero();
    for (const depth_tap *t = p->tap, *end = t + p->taps; t < end; t++) {
        const float *x = p->in + t->in + c, *w = p->w + t->w + c;
        VEC_UNROLL
        for (int v = 0; v < nv; v++) {
            vec a = nv == 1 ? vec_load_part(x, last) : vec_load(x + v * VEC_LANES);
            vec b = nv == 1 ? vec_load_part(w, last) : vec_load(w + v * VEC_LANES);
            acc[v] = vec_fma(a, b, acc[v]);
        }
    }
    VEC_UNROLL
    for (int v = 0; v < nv; v++) {
        float *out = p->out + c + v * VEC_LANES;
        if (p->bias) {
            const float *bias = p->bias + c + v * VEC_LANES;
            acc[v] = vec_add(acc[v], nv == 1 ? vec_load_part(bias, last) : vec_load(bias));
        }
        if (p->relu) acc[v] = vec_relu(acc[v]);
        if (nv == 1)
            vec_store_part(out, last, acc[v]);
        else
            vec_store(out, acc[v]);
    }
}

/* One pixel, multiplier one. */
static void depth_channels(const depth_pixel *p, int64_t channels)
{
    int64_t c = 0;
    vec_mask all = vec_range(0, VEC_LANES);
    for (; c + DEPTH_BLOCK <= channels; c += DEPTH_BLOCK) depth_block(DEPTH_VECTORS, p, c, all);
    for (; c + 2 * VEC_LANES <= channels; c += 2 * VEC_LANES) depth_block(2, p, c, all);
    for (; c < channels; c += VEC_LANES)
        depth_block(1, p, c, vec_range(0, channels - c < VEC_LANES ? (int)(channels - c) : VEC_LANES));
}

/* One output pixel, any multiplier. */
static void depth_forward_scalar(const depth_pixel *p, int64_t outputs)
{
    for (int64_t o = 0; o < outputs; o++) {
        float acc = 0.0f;
        for (int64_t t = 0; t < p->taps; t++) {
            acc = __builtin_fmaf(p->in[p->tap[t].in + o / p->multiplier], p->w[p->tap[t].w + o], acc);
        }
        if (p->bias) acc += p->bias[o];
        p->out[o] = p->relu && acc < 0.0f ? 0.0f : acc;
    }
}

static void depth_data_scalar(const depth_pixel *p, int64_t channels)
{
    for (int64_t c = 0; c < channels; c++) {
        float acc = 0.0f;
        for (int64_t t = 0; t < p->taps; t++) {
            for (int64_t o = c * p->multiplier; o < (c + 1) * p->multiplier; o++) {
                acc = __builtin_fmaf(p->in[p->tap[t].in + o], p->w[p->tap[t].w + o], acc);
            }
        }
        p->out[c] = acc;
    }
}

static size_t depth_tap_bytes(const artel__conv2d_shape *s)
{
    return (size_t)(s->kh * s->kw) * sizeof(depth_tap);
}

static size_t depth_forward_scratch(const void *params)
{
    return depth_tap_bytes(&((const artel__depthwise_forward *)params)->shape);
}

static int64_t depth_forward_tasks(const void *params)
{
    const artel__conv2d_shape *s = &((const artel__depthwise_forward *)params)->shape;
    return s->images * s->oh;
}

/* Taps of output pixel (oy, ox), offsets from the image's start. */
static int64_t depth_forward_taps(const artel__conv2d_shape *s, int64_t oy, int64_t ox, depth_tap *out)
{
    int64_t count = 0;
    for (int64_t kh = 0; kh < s->kh; kh++) {
        int64_t y = oy * s->sh - s->top + kh * s->dh;
        if (y < 0 || y >= s->ih) continue;
        for (int64_t kw = 0; kw < s->kw; kw++) {
            int64_t x = ox * s->sw - s->left + kw * s->dw;
            if (x >= 0 && x < s->iw) out[count++] = (depth_tap){(y * s->iw + x) * s->ic, (kh * s->kw + kw) * s->oc};
        }
    }
    return count;
}

static void depth_forward_line(const artel__depthwise_forward *p, int64_t line, depth_tap *taps)
{
    const artel__conv2d_shape *s = &p->shape;
    int64_t image = line / s->oh, reach = (s->kw - 1) * s->dw;
    depth_pixel pixel = {.w = p->w,
                         .tap = taps,
                         .multiplier = s->oc / s->ic,
                         .bias = p->bias,
                         .relu = p->activation == ARTEL__FUSED_RELU};
    bool inside = false;
    for (int64_t x = 0; x < s->ow; x++) {
        int64_t at = x * s->sw - s->left;
        bool now = at >= 0 && at + reach < s->iw;
        if (now && inside) {
            pixel.in += s->sw * s->ic;
        } else {
            pixel.taps = depth_forward_taps(s, line % s->oh, x, taps);
            pixel.in = p->x + image * s->ih * s->iw * s->ic;
        }
        inside = now;
        pixel.out = p->out + (line * s->ow + x) * s->oc;
        if (pixel.multiplier == 1)
            depth_channels(&pixel, s->oc);
        else
            depth_forward_scalar(&pixel, s->oc);
    }
}

static void depth_forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__depthwise_forward *p = params;
    if (p->shape.ic == 0) return;
    for (int64_t line = begin; line < end; line++) depth_forward_line(p, line, scratch);
    vec_leave();
}

static size_t depth_data_scratch(const void *params)
{
    return depth_tap_bytes(&((const artel__depthwise_data_gradient *)params)->shape);
}

static int64_t depth_data_tasks(const void *params)
{
    const artel__conv2d_shape *s = &((const artel__depthwise_data_gradient *)params)->shape;
    return s->images * s->ih;
}

static int64_t depth_data_taps(const artel__conv2d_shape *s, int64_t y, int64_t x, depth_tap *out)
{
    int64_t count = 0;
    for (int64_t kh = 0; kh < s->kh; kh++) {
        int64_t up = y + s->top - kh * s->dh;
        if (up < 0 || up % s->sh != 0 || up / s->sh >= s->oh) continue;
        for (int64_t kw = 0; kw < s->kw; kw++) {
            int64_t across = x + s->left - kw * s->dw;
            if (across < 0 || across % s->sw != 0 || across / s->sw >= s->ow) continue;
            out[count++] = (depth_tap){(up / s->sh * s->ow + across / s->sw) * s->oc, (kh * s->kw + kw) * s->oc};
        }
    }
    return count;
}

static void depth_data_line(const artel__depthwise_data_gradient *p, int64_t line, depth_tap *taps)
{
    const artel__conv2d_shape *s = &p->shape;
    int64_t image = line / s->ih, reach = (s->kw - 1) * s->dw;
    depth_pixel pixel = {.w = p->w, .tap = taps, .multiplier = s->oc / s->ic};
    bool inside = false;
    for (int64_t x = 0; x < s->iw; x++) {
        int64_t at = x + s->left;
        bool now = s->sw == 1 && at - reach >= 0 && at < s->ow;
        if (now && inside) {
            pixel.in += s->oc;
        } else {
            pixel.taps = depth_data_taps(s, line % s->ih, x, taps);
            pixel.in = p->dy + image * s->oh * s->ow * s->oc;
        }
        inside = now;
        pixel.out = p->dx + (line * s->iw + x) * s->ic;
        if (pixel.multiplier == 1)
            depth_channels(&pixel, s->ic);
        else
            depth_data_scalar(&pixel, s->ic);
    }
}

static void depth_data_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__depthwise_data_gradient *p = params;
    if (p->shape.ic == 0) return;
    for (int64_t line = begin; line < end; line++) depth_data_line(p, line, scratch);
    vec_leave();
}

/* A run of pixels of one line: acc[c] = fma(x[c], dy[c], acc[c]) in order; x NULL: acc + dy. acc has `block` floats. */
typedef struct depth_run {
    const float *x, *dy;
    int64_t sx, sdy, count, multiplier, channel; /* channel: first output channel of the block */
} depth_run;

VEC_INLINE void depth_accumulate(int nv, const depth_run *r, int64_t c, float *acc, vec_mask last)
{
    const float *x = r->x ? r->x + c : NULL, *dy = r->dy + c;
    vec a[DEPTH_VECTORS];
    VEC_UNROLL
    for (int v = 0; v < nv; v++) a[v] = vec_load(acc + c + v * VEC_LANES);
    for (int64_t i = 0; i < r->count; i++, dy += r->sdy) {
        VEC_UNROLL
        for (int v = 0; v < nv; v++) {
            vec d = nv == 1 ? vec_load_part(dy, last) : vec_load(dy + v * VEC_LANES);
            if (!x)
                a[v] = vec_add(a[v], d);
            else
                a[v] = vec_fma(nv == 1 ? vec_load_part(x, last) : vec_load(x + v * VEC_LANES), d, a[v]);
        }
        if (x) x += r->sx;
    }
    VEC_UNROLL
    for (int v = 0; v < nv; v++) vec_store(acc + c + v * VEC_LANES, a[v]);
}

static void depth_add_run(const depth_run *r, int64_t block, float *acc)
{
    int64_t c = 0;
    vec_mask all = vec_range(0, VEC_LANES);
    if (r->x && r->multiplier > 1) {
        for (int64_t i = 0; i < r->count; i++) {
            for (c = 0; c < block; c++) {
                acc[c] =
                    __builtin_fmaf(r->x[i * r->sx + (r->channel + c) / r->multiplier], r->dy[i * r->sdy + c], acc[c]);
            }
        }
        return;
    }
    for (; c + DEPTH_BLOCK <= block; c += DEPTH_BLOCK) depth_accumulate(DEPTH_VECTORS, r, c, acc, all);
    for (; c + 2 * VEC_LANES <= block; c += 2 * VEC_LANES) depth_accumulate(2, r, c, acc, all);
    for (; c < block; c += VEC_LANES)
        depth_accumulate(1, r, c, acc, vec_range(0, block - c < VEC_LANES ? (int)(block - c) : VEC_LANES));
}

/* First and one past the last output position whose tap at `offset` lies inside [0, in). */
static void depth_inside(int64_t offset, int64_t stride, int64_t in, int64_t out, int64_t *first, int64_t *last)
{
    *first = offset < 0 ? (-offset + stride - 1) / stride : 0;
    *last = in - 1 - offset < 0 ? 0 : (in - 1 - offset) / stride + 1;
    if (*last > out) *last = out;
}

/* The chain of one tap (kh = shape.kh: the bias) and a block of output channels over images [begin, end). */
static void depth_leaf(const artel__depthwise_weight_gradient *p, int64_t kh, int64_t kw, int64_t channel,
                       int64_t block, int64_t begin, int64_t end, float *acc)
{
    const artel__conv2d_shape *s = &p->shape;
    int64_t multiplier = s->oc / s->ic, x0 = 0, x1 = s->ow, y0 = 0, y1 = s->oh;
    bool bias = kh == s->kh;
    if (!bias) depth_inside(kw * s->dw - s->left, s->sw, s->iw, s->ow, &x0, &x1);
    if (!bias) depth_inside(kh * s->dh - s->top, s->sh, s->ih, s->oh, &y0, &y1);
    for (int64_t i = 0; i < DEPTH_BLOCK; i++) acc[i] = 0.0f;
    for (int64_t image = begin; image < end && x0 < x1; image++) {
        for (int64_t y = y0; y < y1; y++) {
            int64_t iy = y * s->sh - s->top + kh * s->dh, ix = x0 * s->sw - s->left + kw * s->dw;
            depth_run r = {NULL,          p->dy + ((image * s->oh + y) * s->ow + x0) * s->oc + channel,
                           s->sw * s->ic, s->oc,
                           x1 - x0,       multiplier,
                           channel};
            if (!bias) r.x = p->x + ((image * s->ih + iy) * s->iw + ix) * s->ic + (multiplier == 1 ? channel : 0);
            depth_add_run(&r, block, acc);
        }
    }
    for (int64_t i = 0; i < DEPTH_BLOCK; i++) acc[i] += 0.0f;
}

static int64_t depth_blocks(const artel__conv2d_shape *s)
{
    return (s->oc + DEPTH_BLOCK - 1) / DEPTH_BLOCK;
}

static int64_t depth_weight_tasks(const void *params)
{
    const artel__depthwise_weight_gradient *p = params;
    return (p->shape.kh * p->shape.kw + (p->dbias ? 1 : 0)) * depth_blocks(&p->shape);
}

/* A level of the stack for each halving of the shards, and the leaf. */
static size_t depth_weight_scratch(const void *params)
{
    const artel__depthwise_weight_gradient *p = params;
    size_t levels = 2;
    for (int32_t v = p->fold->shards; v > 1; v /= 2) levels++;
    return levels * DEPTH_BLOCK * sizeof(float);
}

static void depth_weight_node(const artel__depthwise_weight_gradient *p, int32_t node, int64_t tap, int64_t channel,
                              float *stack)
{
    const artel__conv2d_shape *s = &p->shape;
    const artel__fold_plan *f = p->fold;
    int64_t block = s->oc - channel < DEPTH_BLOCK ? s->oc - channel : DEPTH_BLOCK, taps = s->kh * s->kw;
    int32_t first = f->node[node].first - f->first, depth = 0;
    for (int32_t j = 0; j < f->node[node].count; j++) {
        float *top = stack + (int64_t)depth * DEPTH_BLOCK;
        depth_leaf(p, tap < taps ? tap / s->kw : s->kh, tap % s->kw, channel, block, f->start[first + j],
                   f->start[first + j + 1], top);
        depth++;
        for (int32_t merges = __builtin_ctz(~(unsigned)j); merges > 0; merges--, depth--) {
            float *left = stack + (int64_t)(depth - 2) * DEPTH_BLOCK;
            for (int i = 0; i < DEPTH_BLOCK; i++) left[i] += left[DEPTH_BLOCK + i];
        }
    }
    float *out =
        tap < taps ? p->dw + node * p->dw_stride + tap * s->oc + channel : p->dbias + node * p->dbias_stride + channel;
    for (int64_t i = 0; i < block; i++) out[i] = stack[i];
}

static void depth_weight_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__depthwise_weight_gradient *p = params;
    int64_t blocks = depth_blocks(&p->shape);
    for (int64_t task = begin; task < end; task++) {
        for (int32_t node = 0; node < p->fold->nodes; node++) {
            depth_weight_node(p, node, task / blocks, task % blocks * DEPTH_BLOCK, scratch);
        }
    }
    vec_leave();
}

#endif
