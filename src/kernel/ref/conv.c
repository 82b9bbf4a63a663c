/* SPDX-License-Identifier: Apache-2.0 */
/* Reference convolutions in plain C, one element at a time, in the order conv.h prescribes.
 *
 * A pixel outside the image is read as +0.0f and multiplied like any other.
 */
#include "kernel/conv.h"

#include "kernel/ref/conv_rows.h"
#include "kernel/ref/product_fold.h"
#include "kernel/tiles.h"

static float pixel(const float *image, int64_t height, int64_t width, int64_t channels, int64_t y, int64_t x, int64_t c)
{
    return y < 0 || y >= height || x < 0 || x >= width ? 0.0f : image[(y * width + x) * channels + c];
}

int64_t artel__conv_extent(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t before, int64_t after)
{
    int64_t free = in + before + after - ((kernel - 1) * dilation + 1);
    return free < 0 ? 0 : free / stride + 1;
}

int64_t artel__conv_extent_same(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t *before)
{
    int64_t out = (in + stride - 1) / stride;
    int64_t total = (out - 1) * stride + (kernel - 1) * dilation + 1 - in;
    *before = total > 0 ? total / 2 : 0;
    return out;
}

static float forward_element(const artel__conv2d_forward *p, const float *image, int64_t y, int64_t x, int64_t c)
{
    const artel__conv2d_shape *s = &p->shape;
    int64_t group_in = s->ic / s->groups, first = c / (s->oc / s->groups) * group_in;
    int64_t depth = s->kh * s->kw * group_in, k = 0;
    artel__terms sum = {.arithmetic = p->arithmetic};
    for (int64_t kh = 0; kh < s->kh; kh++) {
        for (int64_t kw = 0; kw < s->kw; kw++) {
            for (int64_t i = 0; i < group_in; i++, k++) {
                float value = pixel(image, s->ih, s->iw, s->ic, y * s->sh - s->top + kh * s->dh,
                                    x * s->sw - s->left + kw * s->dw, first + i);
                artel__terms_add(&sum, value, p->w[artel__panels_offset(depth, s->oc, k, c)]);
            }
        }
    }
    float acc = artel__terms_end(&sum);
    if (artel__conv_normalises(s)) acc += 0.0f;
    if (p->bias) acc += p->bias[c];
    return artel__ref_finish(p->activation, p->narrow, acc);
}

static void forward_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    (void)scratch;
    artel__ref_conv_rows(params, begin, end, forward_element);
}

const artel__kernel artel__ref_conv2d_forward = {
    .name = "ref conv2d_forward", .isa = ARTEL__ISA_BASELINE, .tasks = artel__ref_conv_tasks, .run = forward_run};

static int64_t data_tasks(const void *params)
{
    const artel__conv2d_shape *s = &((const artel__conv2d_data_gradient *)params)->shape;
    return s->images * s->ih;
}

static float data_element(const artel__conv2d_data_gradient *p, const float *image, int64_t y, int64_t x, int64_t c)
{
    const artel__conv2d_shape *s = &p->shape;
    int64_t group_out = s->oc / s->groups, first = c / (s->ic / s->groups) * group_out;
    int64_t depth = s->kh * s->kw * group_out;
    artel__terms sum = {.arithmetic = p->arithmetic};
    for (int64_t kh = s->kh - 1; kh >= 0; kh--) {
        int64_t up = y + s->top - kh * s->dh;
        if (up % s->sh != 0) continue;
        for (int64_t kw = s->kw - 1; kw >= 0; kw--) {
            int64_t across = x + s->left - kw * s->dw;
            if (across % s->sw != 0) continue;
            int64_t k = ((s->kh - 1 - kh) * s->kw + s->kw - 1 - kw) * group_out;
            for (int64_t o = 0; o < group_out; o++, k++) {
                float value = pixel(image, s->oh, s->ow, s->oc, up / s->sh, across / s->sw, first + o);
                artel__terms_add(&sum, value, p->wt[artel__panels_offset(depth, s->ic, k, c)]);
            }
        }
    }
    float acc = artel__terms_end(&sum);
    if (artel__conv_normalises(s)) acc += 0.0f;
    if (p->bias) acc += p->bias[c];
    return artel__ref_finish(p->activation, p->narrow, acc);
}

static void data_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__conv2d_data_gradient *p = params;
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

const artel__kernel artel__ref_conv2d_data_gradient = {
    .name = "ref conv2d_data_gradient", .isa = ARTEL__ISA_BASELINE, .tasks = data_tasks, .run = data_run};

typedef struct weight_at {
    const artel__conv2d_weight_gradient *p;
    int64_t kh, kw, channel, n; /* kh = shape.kh stands for the bias */
} weight_at;

static float weight_leaf(const void *user, int64_t begin, int64_t end)
{
    const weight_at *at = user;
    const artel__conv2d_shape *s = &at->p->shape;
    artel__terms sum = {.arithmetic = at->p->arithmetic};
    int64_t each = artel__conv_images_a_row(s->images, at->p->fold->rows);
    for (int64_t image = begin * each; image < end * each; image++) {
        const float *images = at->p->x + image * s->ih * s->iw * s->ic,
                    *dy = at->p->dy + image * s->oh * s->ow * s->oc + at->n;
        for (int64_t y = 0; y < s->oh; y++) {
            for (int64_t x = 0; x < s->ow; x++, dy += s->oc) {
                if (at->kh == s->kh) {
                    sum.acc += *dy;
                    continue;
                }
                artel__terms_add(&sum,
                                 pixel(images, s->ih, s->iw, s->ic, y * s->sh - s->top + at->kh * s->dh,
                                       x * s->sw - s->left + at->kw * s->dw, at->channel),
                                 *dy);
            }
        }
    }
    return artel__terms_end(&sum);
}

static int64_t weight_tasks(const void *params)
{
    const artel__conv2d_weight_gradient *p = params;
    return p->shape.kh * p->shape.kw * (p->shape.ic / p->shape.groups) + (p->dbias ? 1 : 0);
}

static void weight_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__conv2d_weight_gradient *p = params;
    const artel__conv2d_shape *s = &p->shape;
    int64_t group_in = s->ic / s->groups, depth = s->kh * s->kw * group_in, stored = artel__panels_floats(1, s->oc);
    (void)scratch;
    for (int64_t k = begin; k < end; k++) {
        for (int32_t i = 0; i < p->fold->nodes; i++) {
            for (int64_t n = 0; n < (k < depth ? stored : s->oc); n++) {
                weight_at at = {p, s->kh, 0, 0, n};
                if (k < depth) {
                    at = (weight_at){p, k / (s->kw * group_in), k / group_in % s->kw, 0, n};
                    at.channel = n / (s->oc / s->groups) * group_in + k % group_in;
                }
                float sum = n < s->oc ? artel__ref_fold(p->fold, p->fold->node[i], weight_leaf, &at) : 0.0f;
                if (k == depth)
                    p->dbias[i * p->dbias_stride + n] = sum;
                else
                    p->dw[i * p->dw_stride + artel__panels_offset(depth, s->oc, k, n)] = sum;
            }
        }
    }
}

const artel__kernel artel__ref_conv2d_weight_gradient = {
    .name = "ref conv2d_weight_gradient", .isa = ARTEL__ISA_BASELINE, .tasks = weight_tasks, .run = weight_run};
