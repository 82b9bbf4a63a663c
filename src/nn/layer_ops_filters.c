/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that filter or move images: blurs, edges, likeness, affine maps, scaling. See layer_ops.h.
 * After keras/src/ops/image.py and keras/src/backend/tensorflow/image.py.
 */
#include <math.h>
#include <string.h>

#include "base/scalar_math.h"
#include "nn/augment.h"
#include "nn/layer_ops_formula.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

static artel_status read_image(const artel__layer *layer, const artel__call *call, int argument, artel__value_id *x,
                               bool *first)
{
    artel__graph *graph = call->graph;
    *x = artel__call_tensor(call, artel__raw_argument(call, argument)).value;
    if (*x < 0) return artel__raw_refuse(layer, "a constant as its image");
    *x = artel__as_float(graph, *x);
    ARTEL_TRY(graph->status);
    *first = strcmp(artel__raw_name(layer, call, "data_format", "channels_last"), "channels_first") == 0;
    if (graph->value[*x].shape.rank != 3) return artel__raw_refuse(layer, "anything but a batch of images");
    *x = artel__channels_last(graph, *x, *first);
    return graph->status;
}

/* One filter of kh by kw for all channels; same: with a border of zeros. */
static artel__value_id filtered(artel__graph *graph, artel__value_id x, const float *weight, int64_t kh, int64_t kw,
                                bool same)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    artel_shape in = graph->value[x].shape, shape = artel__shape(4, kh, kw, in.dim[2], (int64_t)1);
    artel__conv2d_shape s = {.ih = in.dim[0],
                             .iw = in.dim[1],
                             .ic = in.dim[2],
                             .oh = in.dim[0] - kh + 1,
                             .ow = in.dim[1] - kw + 1,
                             .oc = in.dim[2],
                             .kh = kh,
                             .kw = kw,
                             .sh = 1,
                             .sw = 1,
                             .dh = 1,
                             .dw = 1,
                             .groups = in.dim[2]};
    if (same) {
        s.oh = artel__conv_extent_same(s.ih, kh, 1, 1, &s.top);
        s.ow = artel__conv_extent_same(s.iw, kw, 1, 1, &s.left);
    }
    float *all = artel__arena_alloc(graph->arena, (size_t)(kh * kw * s.ic) + 1, sizeof *all);
    if (!all) return ARTEL__NO_VALUE;
    for (int64_t i = 0; i < kh * kw * s.ic; i++) all[i] = weight[i / s.ic];
    return artel__op_depthwise(graph, x, artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &shape, all), ARTEL__NO_VALUE,
                               &s, ARTEL__FUSED_NONE);
}

/* A normal curve over `size` places, whose sum is 1. */
static void bell(float *out, int64_t size, double sigma)
{
    double sum = 0;
    for (int64_t i = 0; i < size; i++) {
        double at = ((double)i - (double)(size - 1) / 2) / sigma;
        out[i] = (float)artel__exp64(-0.5 * at * at);
        sum += (double)out[i];
    }
    for (int64_t i = 0; i < size; i++) out[i] = (float)((double)out[i] / sum);
}

/* weight[i][j] = down[i] across[j]. */
static float *outer_product(artel__graph *graph, int64_t h, double sigma_h, int64_t w, double sigma_w)
{
    float *down = artel__arena_alloc(graph->arena, (size_t)(h + w + h * w) + 1, sizeof *down);
    if (!down) return NULL;
    float *across = down + h, *all = across + w;
    bell(down, h, sigma_h);
    bell(across, w, sigma_w);
    for (int64_t i = 0; i < h * w; i++) all[i] = down[i / w] * across[i % w];
    return all;
}

artel_status artel__raw_gaussian_blur(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    bool first;
    int64_t size[2];
    double sigma[2] = {1, 1};
    json_t *given = artel__raw_setting(layer, call, "sigma", 0);
    ARTEL_TRY(read_image(layer, call, 0, &x, &first));
    if (!artel__raw_integers(layer, call, "kernel_size", 2, 1, 3, size) || size[0] > 1024 || size[1] > 1024)
        return artel__raw_refuse(layer, "this size");
    for (size_t i = 0; i < 2; i++) {
        if (given && (!artel__json_number(json_is_array(given) ? json_array_get(given, i) : given, &sigma[i]) ||
                      !(sigma[i] > 0)))
            return artel__raw_refuse(layer, "this sigma");
    }
    /* Keras makes [w][h] of its two numbers and reads it as [h][w]. */
    const float *weight = outer_product(graph, size[1], sigma[1], size[0], sigma[0]);
    if (!weight) return ARTEL_ERROR_NO_MEMORY;
    artel__call_return(call, artel__channels_back(graph, filtered(graph, x, weight, size[0], size[1], true), first));
    return graph->status;
}

/* [h][w][c] to [h][w][c][2]: down and across, of the image with its border mirrored. */
artel_status artel__raw_sobel_edges(artel__layer *layer, artel__call *call)
{
    static const float down[] = {-1, -2, -1, 0, 0, 0, 1, 2, 1}, across[] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};
    artel__graph *graph = call->graph;
    artel__value_id x, part[3];
    bool first;
    ARTEL_TRY(read_image(layer, call, 0, &x, &first));
    for (int axis = 0; axis < 2; axis++) {
        int64_t n = graph->value[x].shape.dim[axis];
        if (n < 2) return artel__raw_refuse(layer, "so small an image");
        part[0] = artel__op_slice(graph, x, axis, 1, 1, 1);
        part[1] = x;
        part[2] = artel__op_slice(graph, x, axis, n - 2, 1, 1);
        x = artel__op_concat(graph, part, 3, axis);
        ARTEL_TRY(graph->status);
    }
    part[0] = filtered(graph, x, down, 3, 3, false);
    part[1] = filtered(graph, x, across, 3, 3, false);
    ARTEL_TRY(graph->status);
    artel_shape shape = graph->value[part[0]].shape;
    shape.dim[shape.rank++] = 1;
    for (int i = 0; i < 2; i++) part[i] = artel__op_reshape(graph, part[i], &shape);
    x = artel__op_concat(graph, part, 2, 3);
    artel__call_return(call, first ? artel__op_transpose(graph, x, (const int[]){2, 0, 1, 3}) : x);
    return graph->status;
}

artel_status artel__raw_ssim(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x[2], mu[2], sigma[2];
    bool first;
    int64_t size;
    for (int i = 0; i < 2; i++) ARTEL_TRY(read_image(layer, call, i, &x[i], &first));
    const artel_shape *in = &graph->value[x[0]].shape;
    if (!artel__raw_integer(layer, call, "filter_size", 0, 11, &size) || size < 1 || size > in->dim[0] ||
        size > in->dim[1])
        return artel__raw_refuse(layer, "this size");
    double width = artel__raw_number(layer, call, "filter_sigma", 1.5),
           most = artel__raw_number(layer, call, "max_val", 1);
    double c1 = artel__raw_number(layer, call, "k1", 0.01) * most,
           c2 = artel__raw_number(layer, call, "k2", 0.03) * most;
    const float *weight = outer_product(graph, size, width, size, width);
    if (!weight) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < 2; i++) {
        mu[i] = filtered(graph, x[i], weight, size, size, false);
        artel__value_id square = filtered(graph, product(graph, x[i], x[i]), weight, size, size, false);
        sigma[i] = binary(graph, ARTEL__BINARY_SUB, square, product(graph, mu[i], mu[i]));
    }
    artel__value_id both = product(graph, mu[0], mu[1]);
    artel__value_id cross =
        binary(graph, ARTEL__BINARY_SUB, filtered(graph, product(graph, x[0], x[1]), weight, size, size, false), both);
    artel__value_id apart = artel__op_affine(graph, cross, 2, (float)(c2 * c2)),
                    top = product(graph, artel__op_affine(graph, both, 2, (float)(c1 * c1)), apart);
    artel__value_id second = product(graph, mu[1], mu[1]),
                    light = artel__op_add(graph, product(graph, mu[0], mu[0]), second);
    artel__value_id rest = artel__op_add(graph, sigma[0], sigma[1]);
    artel__value_id spread = artel__op_affine(graph, rest, 1, (float)(c2 * c2)),
                    bottom = product(graph, artel__op_affine(graph, light, 1, (float)(c1 * c1)), spread);
    artel__call_return(
        call, artel__op_reduce(graph, ARTEL__REDUCE_MEAN, binary(graph, ARTEL__BINARY_DIV, top, bottom), 7, false));
    return graph->status;
}

/* Settings "interpolation" and "fill_mode" of a map. */
static artel_status read_map(const artel__layer *layer, const artel__call *call, artel__value_id x,
                             artel__warp_settings *out)
{
    static const char *const modes[] = {"constant", "reflect", "wrap", "nearest", NULL};
    const char *how = artel__raw_name(layer, call, "interpolation", "bilinear"),
               *mode = artel__raw_name(layer, call, "fill_mode", "constant");
    int fill = 0;
    while (modes[fill] && strcmp(modes[fill], mode) != 0) fill++;
    if (!modes[fill] || (strcmp(how, "bilinear") != 0 && strcmp(how, "nearest") != 0))
        return artel__raw_refuse(layer, "this interpolation or fill_mode");
    *out = (artel__warp_settings){.height = call->graph->value[x].shape.dim[0],
                                  .width = call->graph->value[x].shape.dim[1],
                                  .bilinear = how[0] == 'b',
                                  .mode = (artel__warp_fill)fill,
                                  .fill = (float)artel__raw_number(layer, call, "fill_value", 0)};
    return ARTEL_OK;
}

/* What all rows have in common, for each of them. */
static artel__value_id by_row(artel__graph *graph, artel__value_id x, artel__value_id common)
{
    if (graph->status < 0 || common < 0) return ARTEL__NO_VALUE;
    artel_shape one = {.rank = graph->value[common].shape.rank};
    for (int i = 0; i < one.rank; i++) one.dim[i] = 1;
    artel__value_id zero = artel__op_reduce(graph, ARTEL__REDUCE_SUM, artel__op_fill_like(graph, x, 0), 7, false);
    return artel__op_add(graph, artel__op_reshape(graph, zero, &one), common);
}

/* Eight numbers, constant, of all rows or of each; the last two are of perspective. Nothing flows back to them, as in
 * TensorFlow.
 */
static artel_status read_transform(const artel__layer *layer, const artel__call *call, artel__value_id x,
                                   artel__value_id *out)
{
    artel_shape shape;
    const float *given;
    artel__graph *graph = call->graph;
    json_t *json = artel__raw_setting(layer, call, "transform", 1);
    artel__value_id own = artel__call_tensor(call, json).value;
    if (own >= 0) {
        const artel_shape *numbers = &graph->value[own].shape;
        if (numbers->rank != 1 || numbers->dim[0] != 8)
            return artel__raw_refuse(layer, "a transform that is not eight numbers for each image");
        own = artel__op_stop_gradient(graph, artel__op_cast(graph, artel__as_float(graph, own), ARTEL_DTYPE_FLOAT32));
        ARTEL_TRY(graph->status);
        *out = graph->value[own].domain == ARTEL__DOMAIN_GLOBAL ? by_row(graph, x, own) : own;
        return graph->status;
    }
    if (!artel__raw_constant(call, json, &shape, &given) || artel_shape_count(&shape) != 8)
        return artel__raw_refuse(layer, "a transform that is not eight numbers, for all images or for each");
    artel_shape numbers = artel__shape(1, (int64_t)(given[6] != 0 || given[7] != 0 ? 8 : 6));
    *out = by_row(graph, x, artel__op_constant(graph, ARTEL_DTYPE_FLOAT32, &numbers, given));
    return graph->status;
}

artel_status artel__raw_affine_transform(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__warp_settings warp;
    artel__value_id x, map = ARTEL__NO_VALUE;
    bool first;
    ARTEL_TRY(read_image(layer, call, 0, &x, &first));
    ARTEL_TRY(read_transform(layer, call, x, &map));
    ARTEL_TRY(read_map(layer, call, x, &warp));
    artel__call_return(call, artel__channels_back(graph, artel__op_warp(graph, x, map, &warp), first));
    return graph->status;
}

/* Four corners, constant, of all rows or of each. */
static artel_status read_corners(const artel__layer *layer, const artel__call *call, const char *key, int position,
                                 artel__value_id x, artel__value_id *out)
{
    artel_shape shape, corners = artel__shape(2, (int64_t)4, (int64_t)2);
    const float *given;
    json_t *json = artel__raw_setting(layer, call, key, position);
    *out = artel__call_tensor(call, json).value;
    if (*out >= 0) {
        *out = artel__as_float(call->graph, *out);
        ARTEL_TRY(call->graph->status);
        const artel__value *own = &call->graph->value[*out];
        if (artel__shape_equal(&own->shape, &corners)) {
            if (own->domain == ARTEL__DOMAIN_GLOBAL) *out = by_row(call->graph, x, *out);
            return call->graph->status;
        }
    } else if (artel__raw_constant(call, json, &shape, &given) && artel_shape_count(&shape) == 8) {
        *out = by_row(call->graph, x, artel__op_constant(call->graph, ARTEL_DTYPE_FLOAT32, &corners, given));
        return call->graph->status;
    }
    return artel__raw_refuse(layer, "corners that are no four points for all images, or for each");
}

artel_status artel__raw_perspective_transform(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__warp_settings warp;
    artel__value_id x, from, to;
    bool first;
    ARTEL_TRY(read_image(layer, call, 0, &x, &first));
    ARTEL_TRY(read_corners(layer, call, "start_points", 1, x, &from));
    ARTEL_TRY(read_corners(layer, call, "end_points", 2, x, &to));
    ARTEL_TRY(read_map(layer, call, x, &warp));
    artel__call_return(call, artel__channels_back(graph, artel__augment_perspective(graph, x, from, to, &warp), first));
    return graph->status;
}
