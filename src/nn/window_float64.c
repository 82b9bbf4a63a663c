/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. A tap is what all windows see at one of their places: a slice with the stride for its step. Taps
 * beside one another are a matrix, whose product with the weights is the convolution: a chain over taps, then channels.
 */
#include "nn/window_float64.h"

#include <math.h>

#include "op/elementwise.h"
#include "op/shape_ops.h"
#include "op/wide_product.h"

static int64_t taps_of(const artel__conv_any *conv)
{
    int64_t taps = 1;
    for (int i = 0; i < conv->rank; i++) taps *= conv->axis[i].kernel;
    return taps;
}

static int64_t places_of(const artel__conv_any *conv)
{
    int64_t places = 1;
    for (int i = 0; i < conv->rank; i++) places *= conv->axis[i].out;
    return places;
}

/* Tap number n of x, which is padded already. */
static artel__value_id tap(artel__graph *graph, const artel__conv_any *conv, artel__value_id x, int64_t n)
{
    for (int i = conv->rank - 1; i >= 0; i--) {
        const artel__conv_axis *a = &conv->axis[i];
        x = artel__op_slice(graph, x, i, n % a->kernel * a->dilation, a->out, a->stride);
        n /= a->kernel;
    }
    return x;
}

static bool fits(artel__graph *graph, const artel__conv_any *conv, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return false;
    if (taps_of(conv) <= ARTEL__WINDOW_MOST) return true;
    graph->status = artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, graph->scope,
                                "cast it to float32, or use a smaller window",
                                "a window of more than %d places has no float64", ARTEL__WINDOW_MOST);
    return false;
}

/* [in..][groups * channels] as [groups][places][taps * channels]. */
static artel__value_id patches(artel__graph *graph, const artel__conv_any *conv, artel__value_id x, int64_t channels)
{
    static const int group_first[] = {2, 0, 1, 3};
    int64_t taps = taps_of(conv), places = places_of(conv);
    artel__value_id *all = artel__arena_alloc(graph->arena, (size_t)taps, sizeof *all);
    if (!all) return ARTEL__NO_VALUE;
    x = artel__conv_any_pad(graph, conv, x, 0);
    artel_shape one = artel__shape(4, places, (int64_t)1, conv->groups, channels),
                matrix = artel__shape(3, conv->groups, places, taps * channels);
    for (int64_t i = 0; i < taps; i++) all[i] = artel__op_reshape(graph, tap(graph, conv, x, i), &one);
    x = taps > 1 ? artel__op_concat(graph, all, (int)taps, 1) : all[0];
    return artel__op_reshape(graph, artel__op_transpose(graph, x, group_first), &matrix);
}

artel__value_id artel__conv_float64(artel__graph *graph, const artel__conv_any *conv, artel__value_id x,
                                    artel__value_id kernel)
{
    static const int filters_first[] = {2, 3, 0, 1}, place_first[] = {1, 0, 2};
    if (!fits(graph, conv, x) || kernel < 0) return ARTEL__NO_VALUE;
    const artel_shape *given = &graph->value[kernel].shape;
    int64_t taps = taps_of(conv), channels = given->dim[given->rank - 2],
            filters = given->dim[given->rank - 1] / conv->groups;
    artel_shape apart = artel__shape(4, taps, channels, conv->groups, filters),
                matrix = artel__shape(3, conv->groups, filters, taps * channels), out = {.rank = conv->rank + 1};
    for (int i = 0; i < conv->rank; i++) out.dim[i] = conv->axis[i].out;
    out.dim[conv->rank] = conv->groups * filters;
    artel__value_id weights = artel__op_transpose(graph, artel__op_reshape(graph, kernel, &apart), filters_first);
    weights = artel__op_reshape(graph, weights, &matrix);
    artel__value_id y = artel__op_wide_product(graph, patches(graph, conv, x, channels), weights);
    return artel__op_reshape(graph, artel__op_transpose(graph, y, place_first), &out);
}

/* A convolution with the turned window over places that the stride keeps apart. */
artel__value_id artel__conv_back_float64(artel__graph *graph, const artel__conv_any *conv, artel__value_id x,
                                         artel__value_id kernel)
{
    int order[ARTEL_MAX_RANK];
    artel__conv_any back = {.rank = conv->rank, .groups = 1};
    if (!fits(graph, conv, x) || kernel < 0) return ARTEL__NO_VALUE;
    for (int i = 0; i < conv->rank; i++) {
        const artel__conv_axis *a = &conv->axis[i];
        int64_t reach = (a->kernel - 1) * a->dilation, before = reach - a->before;
        x = artel__conv_any_spread(graph, x, i, a->stride);
        kernel = artel__op_slice(graph, kernel, i, a->kernel - 1, a->kernel, -1);
        order[i] = i;
        back.axis[i] = (artel__conv_axis){.kernel = a->kernel,
                                          .stride = 1,
                                          .dilation = a->dilation,
                                          .in = a->out * a->stride,
                                          .before = before,
                                          .after = a->in + reach - a->out * a->stride - before,
                                          .out = a->in};
    }
    order[conv->rank] = conv->rank + 1;
    order[conv->rank + 1] = conv->rank;
    return artel__conv_float64(graph, &back, x, artel__op_transpose(graph, kernel, order));
}

/* -- pooling -- */

/* How many places of the window of each output are not padding: [out..][1]. */
static artel__value_id count_places(artel__graph *graph, const artel__conv_any *window)
{
    artel_shape shape = {.rank = window->rank + 1};
    for (int i = 0; i < window->rank; i++) shape.dim[i] = window->axis[i].out;
    shape.dim[window->rank] = 1;
    int64_t count = artel_shape_count(&shape);
    double *counts = artel__arena_alloc(graph->arena, (size_t)count + 1, sizeof *counts);
    for (int64_t o = 0; counts && o < count; o++) {
        int64_t place = o;
        counts[o] = 1;
        for (int i = window->rank - 1; i >= 0; i--) {
            const artel__conv_axis *a = &window->axis[i];
            int64_t first = place % a->out * a->stride - a->before, end = first + a->kernel;
            counts[o] *= (double)((end < a->in ? end : a->in) - (first > 0 ? first : 0));
            place /= a->out;
        }
    }
    return counts ? artel__op_constant(graph, ARTEL_DTYPE_FLOAT64, &shape, counts) : ARTEL__NO_VALUE;
}

artel__value_id artel__pool_float64(artel__graph *graph, const artel__conv_any *window, bool largest, artel__value_id x)
{
    if (!fits(graph, window, x)) return ARTEL__NO_VALUE;
    x = artel__conv_any_pad(graph, window, x, largest ? -(double)INFINITY : 0);
    artel__value_id y = tap(graph, window, x, 0);
    for (int64_t i = 1; i < taps_of(window); i++) {
        artel__value_id next = tap(graph, window, x, i);
        y = artel__op_binary(graph, largest ? ARTEL__BINARY_MAX : ARTEL__BINARY_ADD, y, next);
    }
    return largest ? y : artel__op_binary(graph, ARTEL__BINARY_DIV, y, count_places(graph, window));
}

/* -- of images, in either type -- */

static bool is_wide(const artel__graph *graph, artel__value_id x)
{
    return graph->status == ARTEL_OK && x >= 0 && graph->value[x].dtype == ARTEL_DTYPE_FLOAT64;
}

static artel__conv_axis image_axis(const artel__conv2d_shape *s, bool height)
{
    artel__conv_axis a = height ? (artel__conv_axis){s->kh, s->sh, s->dh, s->ih, s->top, 0, s->oh}
                                : (artel__conv_axis){s->kw, s->sw, s->dw, s->iw, s->left, 0, s->ow};
    a.after = (a.out - 1) * a.stride + (a.kernel - 1) * a.dilation + 1 - a.in - a.before;
    return a;
}

static artel__conv_any of_images(const artel__conv2d_shape *s)
{
    return (artel__conv_any){
        .rank = 2, .axis = {image_axis(s, true), image_axis(s, false)}, .groups = s->groups > 0 ? s->groups : 1};
}

static artel__value_id finish(artel__graph *graph, artel__value_id y, artel__value_id bias, artel__fused activation)
{
    if (bias >= 0) y = artel__op_add(graph, y, bias);
    if (activation != ARTEL__FUSED_RELU) return y;
    return artel__op_unary_exact(graph, ARTEL__UNARY_RELU, (double[]){0, (double)INFINITY, 0}, y);
}

artel__value_id artel__images_conv(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                   const artel__conv2d_shape *shape, artel__fused activation)
{
    if (!is_wide(graph, x)) return artel__op_conv2d(graph, x, w, bias, shape, activation);
    artel__conv_any conv = of_images(shape);
    return finish(graph, artel__conv_float64(graph, &conv, x, w), bias, activation);
}

artel__value_id artel__images_transpose(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                        const artel__conv2d_shape *shape, artel__fused activation)
{
    if (!is_wide(graph, x)) return artel__op_conv2d_transpose(graph, x, w, bias, shape, activation);
    artel__conv_any conv = of_images(shape);
    artel_shape kernel = artel__shape(4, shape->kh, shape->kw, shape->ic, shape->oc);
    conv.groups = 1;
    return finish(graph, artel__conv_back_float64(graph, &conv, x, artel__op_reshape(graph, w, &kernel)), bias,
                  activation);
}

/* One group for each channel. */
artel__value_id artel__images_depthwise(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                        const artel__conv2d_shape *shape, artel__fused activation)
{
    if (!is_wide(graph, x)) return artel__op_depthwise(graph, x, w, bias, shape, activation);
    artel__conv_any conv = of_images(shape);
    artel_shape kernel = artel__shape(4, shape->kh, shape->kw, 1, shape->oc);
    conv.groups = shape->ic;
    return finish(graph, artel__conv_float64(graph, &conv, x, artel__op_reshape(graph, w, &kernel)), bias, activation);
}

/* -- of one to three dimensions, in either type -- */

artel__value_id artel__volumes_weights(artel__graph *graph, const artel__conv_any *conv, artel__value_id plain)
{
    return is_wide(graph, plain) ? plain : artel__conv_any_weights(graph, conv, plain);
}

artel__value_id artel__volumes_conv(artel__graph *graph, const artel__conv_any *conv, artel__value_id x,
                                    artel__value_id weights, artel__value_id bias, artel__fused activation)
{
    if (!is_wide(graph, x)) return artel__conv_any_run(graph, conv, x, weights, bias, activation);
    return finish(graph, artel__conv_float64(graph, conv, x, weights), bias, activation);
}
