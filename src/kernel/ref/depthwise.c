/* SPDX-License-Identifier: Apache-2.0 */
/* Reference depthwise convolutions in plain C, one element at a time. Taps outside the image are left out. */
#include "kernel/depthwise.h"

#include "kernel/ref/conv_rows.h"
#include "kernel/ref/product_fold.h"

static float forward_element(const artel__depthwise_forward *p, const float *image, int64_t oy, int64_t ox, int64_t c)
{
    const artel__conv2d_shape *s = &p->shape;
    int64_t channel = c / (s->oc / s->ic);
    float acc = 0.0f;
    for (int64_t kh = 0; kh < s->kh; kh++) {
        for (int64_t kw = 0; kw < s->kw; kw++) {
            int64_t y = oy * s->sh - s->top + kh * s->dh, x = ox * s->sw - s->left + kw * s->dw;
            if (y < 0 || y >= s->ih || x < 0 || x >= s->iw) continue;
            acc = __builtin_fmaf(image[(y * s->iw + x) * s->ic + channel], p->w[(kh * s->kw + kw) * s->oc + c], acc);
        }
    }
    if (p->bias) acc += p->bias[c];
    return artel__ref_finish(p->activation, ARTEL_DTYPE_FLOAT32, acc);
}

static void forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    (void)scratch;
    artel__ref_conv_rows(params, begin, end, forward_element);
}

const artel__kernel artel__ref_depthwise_forward = {
    .name = "ref depthwise_forward", .isa = ARTEL__ISA_BASELINE, .tasks = artel__ref_conv_tasks, .run = forward_run};

static int64_t data_tasks(const void *params)
{
    const artel__conv2d_shape *s = &((const artel__depthwise_data_gradient *)params)->shape;
    return s->images * s->ih;
}

static float data_element(const artel__depthwise_data_gradient *p, const float *image, int64_t y, int64_t x, int64_t c)
{
    const artel__conv2d_shape *s = &p->shape;
    int64_t multiplier = s->oc / s->ic;
    float acc = 0.0f;
    for (int64_t kh = 0; kh < s->kh; kh++) {
        int64_t up = y + s->top - kh * s->dh;
        if (up < 0 || up % s->sh != 0 || up / s->sh >= s->oh) continue;
        for (int64_t kw = 0; kw < s->kw; kw++) {
            int64_t across = x + s->left - kw * s->dw;
            if (across < 0 || across % s->sw != 0 || across / s->sw >= s->ow) continue;
            for (int64_t o = c * multiplier; o < (c + 1) * multiplier; o++) {
                acc = __builtin_fmaf(image[(up / s->sh * s->ow + across / s->sw) * s->oc + o],
                                     p->w[(kh * s->kw + kw) * s->oc + o], acc);
            }
        }
    }
    return acc;
}

static void data_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__depthwise_data_gradient *p = params;
    const artel__conv2d_shape *s = &p->shape;
    (void)scratch;
    for (int64_t row = begin; row < end; row++) {
        const float *image = p->dy + row / s->ih * s->oh * s->ow * s->oc;
        float *dx = p->dx + row * s->iw * s->ic;
        for (int64_t x = 0; x < s->iw; x++) {
            for (int64_t c = 0; c < s->ic; c++) dx[x * s->ic + c] = data_element(p, image, row % s->ih, x, c);
        }
    }
}

const artel__kernel artel__ref_depthwise_data_gradient = {
    .name = "ref depthwise_data_gradient", .isa = ARTEL__ISA_BASELINE, .tasks = data_tasks, .run = data_run};

typedef struct weight_at {
    const artel__depthwise_weight_gradient *p;
    int64_t kh, kw, c; /* kh = shape.kh stands for the bias */
} weight_at;

static float weight_leaf(const void *user, int64_t begin, int64_t end)
{
    const weight_at *at = user;
    const artel__conv2d_shape *s = &at->p->shape;
    float acc = 0.0f;
    for (int64_t r = begin * s->oh * s->ow; r < end * s->oh * s->ow; r++) {
        int64_t image = r / (s->oh * s->ow);
        float dy = at->p->dy[r * s->oc + at->c];
        if (at->kh == s->kh) {
            acc += dy;
            continue;
        }
        int64_t y = r / s->ow % s->oh * s->sh - s->top + at->kh * s->dh,
                x = r % s->ow * s->sw - s->left + at->kw * s->dw;
        if (y < 0 || y >= s->ih || x < 0 || x >= s->iw) continue;
        acc = __builtin_fmaf(at->p->x[((image * s->ih + y) * s->iw + x) * s->ic + at->c / (s->oc / s->ic)], dy, acc);
    }
    return acc;
}

/* One task is one tap, and one more the bias. */
static int64_t weight_tasks(const void *params)
{
    const artel__depthwise_weight_gradient *p = params;
    return p->shape.kh * p->shape.kw + (p->dbias ? 1 : 0);
}

static void weight_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__depthwise_weight_gradient *p = params;
    const artel__conv2d_shape *s = &p->shape;
    (void)scratch;
    for (int64_t tap = begin; tap < end; tap++) {
        for (int32_t i = 0; i < p->fold->nodes; i++) {
            for (int64_t c = 0; c < s->oc; c++) {
                weight_at at = {p, tap / s->kw, tap % s->kw, c};
                if (tap == s->kh * s->kw) at.kh = s->kh;
                float sum = artel__ref_fold(p->fold, p->fold->node[i], weight_leaf, &at);
                if (at.kh == s->kh)
                    p->dbias[i * p->dbias_stride + c] = sum;
                else
                    p->dw[i * p->dw_stride + tap * s->oc + c] = sum;
            }
        }
    }
}

const artel__kernel artel__ref_depthwise_weight_gradient = {
    .name = "ref depthwise_weight_gradient", .isa = ARTEL__ISA_BASELINE, .tasks = weight_tasks, .run = weight_run};
