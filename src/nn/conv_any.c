/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. Three dimensions: the slices of the volume that a window meets become channels of one image, of which
 * there is one for each place along the depth. So the convolution itself is that of images, with its kernels for every
 * processor.
 */
#include "nn/conv_any.h"

#include <string.h>

#include "op/shape_ops.h"

void artel__conv_any_lay(artel__conv_axis *axis, bool same)
{
    int64_t window = (axis->kernel - 1) * axis->dilation + 1;
    axis->before = axis->after = 0;
    if (!same) {
        axis->out = axis->in < window ? 0 : (axis->in - window) / axis->stride + 1;
        return;
    }
    axis->out = (axis->in + axis->stride - 1) / axis->stride;
    int64_t missing = (axis->out - 1) * axis->stride + window - axis->in;
    axis->before = missing > 0 ? missing / 2 : 0;
    axis->after = missing > 0 ? missing - axis->before : 0;
}

artel__value_id artel__conv_any_weights(artel__graph *graph, const artel__conv_any *conv, artel__value_id plain)
{
    static const int depth_inside[] = {1, 2, 0, 3, 4};
    if (conv->rank == 3 && conv->axis[0].kernel > 1) plain = artel__op_transpose(graph, plain, depth_inside);
    return artel__op_panels(graph, plain);
}

/* The images' part of it, `images` of a row; 0: a row is one. */
static artel__conv2d_shape image_of(const artel__conv_any *conv, int64_t images, int64_t channels, int64_t filters)
{
    const artel__conv_axis *w = &conv->axis[conv->rank - 1], *h = conv->rank > 1 ? w - 1 : NULL;
    return (artel__conv2d_shape){.images = images,
                                 .ih = h ? h->in + h->before + h->after : 1,
                                 .iw = w->in + w->before + w->after,
                                 .ic = channels,
                                 .oh = h ? h->out : 1,
                                 .ow = w->out,
                                 .oc = filters,
                                 .kh = h ? h->kernel : 1,
                                 .kw = w->kernel,
                                 .sh = h ? h->stride : 1,
                                 .sw = w->stride,
                                 .dh = h ? h->dilation : 1,
                                 .dw = w->dilation,
                                 .groups = conv->groups};
}

/* [d][h][w][c] to [places][h][w][taps * c], channels of a group together. */
static artel__value_id stack_depth(artel__graph *graph, const artel__conv_any *conv, artel__value_id x)
{
    const artel__conv_axis *d = &conv->axis[0];
    artel__value_id *tap = artel__arena_alloc(graph->arena, (size_t)d->kernel, sizeof *tap);
    if (!tap || graph->status < 0) return ARTEL__NO_VALUE;
    for (int64_t k = 0; k < d->kernel; k++) {
        tap[k] = artel__op_slice(graph, x, 0, k * d->dilation, d->out, d->stride);
        if (graph->status < 0) return ARTEL__NO_VALUE;
        artel_shape in = graph->value[tap[k]].shape;
        artel_shape apart =
            artel__shape(6, in.dim[0], in.dim[1], in.dim[2], conv->groups, (int64_t)1, in.dim[3] / conv->groups);
        if (conv->groups > 1) tap[k] = artel__op_reshape(graph, tap[k], &apart);
    }
    if (d->kernel == 1) return conv->groups > 1 ? artel__op_slice(graph, x, 0, 0, d->out, d->stride) : tap[0];
    artel__value_id all = artel__op_concat(graph, tap, (int)d->kernel, conv->groups > 1 ? 4 : 3);
    if (graph->status < 0 || conv->groups == 1) return all;
    artel_shape in = graph->value[all].shape;
    artel_shape joined = artel__shape(4, in.dim[0], in.dim[1], in.dim[2], in.dim[3] * in.dim[4] * in.dim[5]);
    return artel__op_reshape(graph, all, &joined);
}

artel__value_id artel__conv_any_pad(artel__graph *graph, const artel__conv_any *conv, artel__value_id x, double number)
{
    int64_t before[ARTEL_MAX_RANK] = {0}, after[ARTEL_MAX_RANK] = {0};
    bool any = false;
    for (int i = 0; i < conv->rank; i++) {
        before[i] = conv->axis[i].before;
        after[i] = conv->axis[i].after;
        any = any || before[i] || after[i];
    }
    return any ? artel__op_pad(graph, x, before, after, number) : x;
}

artel__value_id artel__conv_any_spread(artel__graph *graph, artel__value_id x, int axis, int64_t stride)
{
    if (graph->status < 0 || x < 0 || stride == 1) return x;
    int64_t before[ARTEL_MAX_RANK] = {0}, after[ARTEL_MAX_RANK] = {0};
    artel_shape shape = graph->value[x].shape, joined = shape;
    joined.dim[axis] *= stride;
    for (int i = shape.rank++; i > axis + 1; i--) shape.dim[i] = shape.dim[i - 1];
    shape.dim[axis + 1] = 1;
    after[axis + 1] = stride - 1;
    x = artel__op_pad(graph, artel__op_reshape(graph, x, &shape), before, after, 0);
    return artel__op_reshape(graph, x, &joined);
}

artel__value_id artel__conv_any_run(artel__graph *graph, const artel__conv_any *conv, artel__value_id x,
                                    artel__value_id weights, artel__value_id bias, artel__fused activation)
{
    x = artel__conv_any_pad(graph, conv, x, 0);
    if (conv->rank == 3) x = stack_depth(graph, conv, x);
    if (graph->status < 0 || x < 0 || weights < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape;
    const artel_shape *kernel = &graph->value[weights].shape;
    artel__conv2d_shape shape =
        image_of(conv, conv->rank == 3 ? in.dim[0] : 0, in.dim[in.rank - 1], kernel->dim[kernel->rank - 1]);
    artel_shape image = artel__shape(3, shape.ih, shape.iw, shape.ic), line = artel__shape(2, shape.ow, shape.oc);
    if (conv->rank == 1) x = artel__op_reshape(graph, x, &image);
    artel__value_id y = artel__op_conv2d(graph, x, weights, bias, &shape, activation);
    return conv->rank == 1 ? artel__op_reshape(graph, y, &line) : y;
}
