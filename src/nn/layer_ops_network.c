/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations that networks are made of: pooling, convolutions with constant weights, normalisation,
 * attention. See layer_ops.h. Windows are those of the layers (kernel/pool.h, nn/conv_any.h); normalisation and
 * attention are put together as keras/src/ops/nn.py and keras/src/backend/tensorflow/nn.py do.
 */
#include <math.h>
#include <string.h>

#include "nn/conv_any.h"
#include "nn/filter.h"
#include "nn/layer_ops_formula.h"
#include "nn/window_float64.h"
#include "op/norm.h"
#include "op/recurrent.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

/* -- windows -- */

typedef struct window {
    artel__value_id x; /* channels last */
    artel_shape in;
    int rank; /* spatial axes */
    bool first, same;
} window;

static artel_status read_window(const artel__layer *layer, const artel__call *call, int most, window *w)
{
    artel__graph *graph = call->graph;
    const char *padding = artel__raw_name(layer, call, "padding", "valid");
    ARTEL_TRY(artel__raw_float(layer, call, &w->x));
    ARTEL_TRY(graph->status);
    w->first = strcmp(artel__raw_name(layer, call, "data_format", "channels_last"), "channels_first") == 0;
    w->same = strcmp(padding, "same") == 0 || strcmp(padding, "SAME") == 0;
    if (!w->same && strcmp(padding, "valid") != 0 && strcmp(padding, "VALID") != 0)
        return artel__raw_refuse(layer, "this padding");
    w->rank = graph->value[w->x].shape.rank - 1;
    if (w->rank < 1 || w->rank > most) return artel__raw_refuse(layer, "an input of so many axes");
    w->x = artel__channels_last(graph, w->x, w->first);
    ARTEL_TRY(graph->status);
    w->in = graph->value[w->x].shape;
    return ARTEL_OK;
}

static artel_status return_window(artel__call *call, const window *w, artel__value_id y)
{
    artel__call_return(call, artel__channels_back(call->graph, y, w->first));
    return call->graph->status;
}

static bool is_wide(const artel__call *call)
{
    return call->graph->real == ARTEL_DTYPE_FLOAT64;
}

static artel_status pool_float64(const artel__layer *layer, artel__call *call, const window *w, bool most,
                                 const int64_t *size, const int64_t *stride)
{
    artel__conv_any any = {.rank = w->rank, .groups = 1};
    for (int i = 0; i < w->rank; i++) {
        any.axis[i] = (artel__conv_axis){
            .kernel = size[i], .stride = stride[i] > 0 ? stride[i] : size[i], .dilation = 1, .in = w->in.dim[i]};
        artel__conv_any_lay(&any.axis[i], w->same);
        if (any.axis[i].out < 1) return artel__raw_refuse(layer, "a window larger than its input");
    }
    return return_window(call, w, artel__pool_float64(call->graph, &any, most, w->x));
}

/* "MaxPool" and "AveragePool". */
artel_status artel__raw_max_pool(artel__layer *layer, artel__call *call)
{
    window w;
    int64_t size[3], stride[3];
    bool most = strcmp(layer->def->class_name, "ops.MaxPool") == 0;
    ARTEL_TRY(read_window(layer, call, 3, &w));
    bool fits = artel__raw_integers(layer, call, "pool_size", w.rank, 1, 0, size) && size[0] > 0;
    fits = fits && artel__raw_integers(layer, call, "strides", w.rank, 1, 0, stride);
    if (!fits) return artel__raw_refuse(layer, "this window or stride");
    if (is_wide(call)) return pool_float64(layer, call, &w, most, size, stride);
    artel__pool_shape shape = {.channels = w.in.dim[w.rank]};
    for (int i = 0; i < 3; i++) {
        int from = i - (3 - w.rank);
        int64_t step = from < 0 ? 1 : stride[from] > 0 ? stride[from] : size[from];
        artel__pool_axis(&shape, i, from < 0 ? 1 : w.in.dim[from], from < 0 ? 1 : size[from], step,
                         from >= 0 && w.same);
        if (shape.out[i] < 1) return artel__raw_refuse(layer, "a window larger than its input");
    }
    return return_window(call, &w,
                         artel__op_pool(call->graph, most ? ARTEL__POOL_MAX : ARTEL__POOL_AVERAGE, w.x, &shape));
}

artel_status artel__raw_adaptive_max_pool(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    window w;
    int64_t outputs[3];
    bool most = strcmp(layer->def->class_name, "ops.AdaptiveMaxPool") == 0;
    ARTEL_TRY(read_window(layer, call, 3, &w));
    if (!artel__raw_integers(layer, call, "output_size", w.rank, 1, 0, outputs) || outputs[0] < 1)
        return artel__raw_refuse(layer, "this size");
    for (int i = 0; i < w.rank; i++) {
        if (outputs[i] > (most ? 512 : w.in.dim[i] * 16)) return artel__raw_refuse(layer, "so many windows");
        if (outputs[i] == w.in.dim[i]) continue;
        w.x = most ? artel__filter_maxima(graph, w.x, i, outputs[i]) : artel__filter_means(graph, w.x, i, outputs[i]);
        ARTEL_TRY(graph->status);
    }
    return return_window(call, &w, w.x);
}

/* The n-th argument as constant weights of rank w->rank + 2. */
static artel_status read_kernel(const artel__layer *layer, const artel__call *call, const window *w, int n,
                                artel__value_id *out, artel_shape *shape)
{
    ARTEL_TRY(artel__raw_operand(layer, call, artel__raw_argument(call, n), out));
    if (is_wide(call)) *out = artel__as_float(call->graph, *out);
    ARTEL_TRY(call->graph->status);
    *shape = call->graph->value[*out].shape;
    if (call->graph->value[*out].domain != ARTEL__DOMAIN_GLOBAL) return artel__raw_refuse(layer, "weights by row");
    return shape->rank == w->rank + 2 ? ARTEL_OK : artel__raw_refuse(layer, "weights of this shape");
}

static artel_status lay_window(const artel__layer *layer, const artel__call *call, const window *w,
                               const artel_shape *kernel, artel__conv_any *conv)
{
    int64_t stride[3], dilation[3];
    if (!artel__raw_integers(layer, call, "strides", w->rank, 1, 1, stride) ||
        !artel__raw_integers(layer, call, "dilation_rate", w->rank, 1, 1, dilation))
        return artel__raw_refuse(layer, "this stride or dilation");
    *conv = (artel__conv_any){.rank = w->rank, .groups = 1};
    for (int i = 0; i < w->rank; i++) {
        conv->axis[i] = (artel__conv_axis){
            .kernel = kernel->dim[i], .stride = stride[i], .dilation = dilation[i], .in = w->in.dim[i]};
        artel__conv_any_lay(&conv->axis[i], w->same);
        if (conv->axis[i].out < 1 || kernel->dim[i] < 1)
            return artel__raw_refuse(layer, "a window larger than its input");
    }
    return ARTEL_OK;
}

artel_status artel__raw_conv(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    window w;
    artel__value_id kernel;
    artel_shape shape;
    artel__conv_any conv;
    ARTEL_TRY(read_window(layer, call, 3, &w));
    ARTEL_TRY(read_kernel(layer, call, &w, 1, &kernel, &shape));
    ARTEL_TRY(lay_window(layer, call, &w, &shape, &conv));
    int64_t own = shape.dim[w.rank], filters = shape.dim[w.rank + 1], channels = w.in.dim[w.rank];
    if (own < 1 || channels % own || filters % (channels / own))
        return artel__raw_refuse(layer, "weights for so many channels");
    conv.groups = channels / own;
    if (is_wide(call)) return return_window(call, &w, artel__conv_float64(graph, &conv, w.x, kernel));
    return return_window(call, &w,
                         artel__conv_any_run(graph, &conv, w.x, artel__conv_any_weights(graph, &conv, kernel),
                                             ARTEL__NO_VALUE, ARTEL__FUSED_NONE));
}

static artel__value_id depthwise(artel__graph *graph, const window *w, const artel__conv_any *conv,
                                 artel__value_id kernel, const artel_shape *shape)
{
    const artel__conv_axis *x = &conv->axis[w->rank - 1], *y = w->rank > 1 ? x - 1 : NULL;
    int64_t channels = w->in.dim[w->rank], multiplier = shape->dim[w->rank + 1];
    artel__conv2d_shape s = {.ih = y ? y->in : 1,
                             .iw = x->in,
                             .ic = channels,
                             .oh = y ? y->out : 1,
                             .ow = x->out,
                             .oc = channels * multiplier,
                             .kh = y ? y->kernel : 1,
                             .kw = x->kernel,
                             .sh = y ? y->stride : 1,
                             .sw = x->stride,
                             .dh = y ? y->dilation : 1,
                             .dw = x->dilation,
                             .top = y ? y->before : 0,
                             .left = x->before,
                             .groups = channels};
    artel_shape image = artel__shape(3, s.ih, s.iw, s.ic), weights = artel__shape(4, s.kh, s.kw, channels, multiplier);
    artel_shape out = y ? artel__shape(3, s.oh, s.ow, s.oc) : artel__shape(2, s.ow, s.oc);
    artel__value_id filters = artel__op_reshape(graph, kernel, &weights),
                    result = artel__op_depthwise(graph, artel__op_reshape(graph, w->x, &image), filters,
                                                 ARTEL__NO_VALUE, &s, ARTEL__FUSED_NONE);
    return artel__op_reshape(graph, result, &out);
}

/* As convolutions: one group for each channel, and a window of one place. */
static artel__value_id depthwise_float64(artel__graph *graph, const window *w, artel__conv_any *conv,
                                         artel__value_id kernel, const artel_shape *shape)
{
    artel_shape grouped = *shape;
    conv->groups = shape->dim[w->rank];
    grouped.dim[w->rank] = 1;
    grouped.dim[w->rank + 1] *= conv->groups;
    return artel__conv_float64(graph, conv, w->x, artel__op_reshape(graph, kernel, &grouped));
}

static artel__value_id mixed_float64(artel__graph *graph, const artel__conv_any *conv, artel__value_id x,
                                     artel__value_id kernel)
{
    artel__conv_any point = {.rank = conv->rank, .groups = 1};
    for (int i = 0; i < conv->rank; i++)
        point.axis[i] = (artel__conv_axis){
            .kernel = 1, .stride = 1, .dilation = 1, .in = conv->axis[i].out, .out = conv->axis[i].out};
    return artel__conv_float64(graph, &point, x, kernel);
}

/* "DepthwiseConv" and "SeparableConv", which has a product over the channels behind it. */
artel_status artel__raw_depthwise_conv(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    window w;
    artel__value_id kernel, point;
    artel_shape shape, mixing;
    artel__conv_any conv;
    ARTEL_TRY(read_window(layer, call, 2, &w));
    ARTEL_TRY(read_kernel(layer, call, &w, 1, &kernel, &shape));
    ARTEL_TRY(lay_window(layer, call, &w, &shape, &conv));
    if (shape.dim[w.rank] != w.in.dim[w.rank] || shape.dim[w.rank] < 1 || shape.dim[w.rank + 1] < 1)
        return artel__raw_refuse(layer, "weights for so many channels");
    artel__value_id y = is_wide(call) ? depthwise_float64(graph, &w, &conv, kernel, &shape)
                                      : depthwise(graph, &w, &conv, kernel, &shape);
    if (strcmp(layer->def->class_name, "ops.SeparableConv") == 0) {
        ARTEL_TRY(read_kernel(layer, call, &w, 2, &point, &mixing));
        int64_t channels = w.in.dim[w.rank] * shape.dim[w.rank + 1];
        if (artel__shape_product(&mixing, 0, w.rank) != 1 || mixing.dim[w.rank] != channels)
            return artel__raw_refuse(layer, "weights of this shape");
        if (is_wide(call)) return return_window(call, &w, mixed_float64(graph, &conv, y, point));
        artel_shape matrix = artel__shape(2, channels, mixing.dim[w.rank + 1]),
                    columns = artel__shape(1, mixing.dim[w.rank + 1]);
        point = artel__op_panels(graph, artel__op_reshape(graph, point, &matrix));
        y = artel__op_product(graph, y, point, ARTEL__NO_VALUE, 1, &columns, ARTEL__FUSED_NONE);
    }
    return return_window(call, &w, y);
}

/* One axis of a transposed convolution, after keras/src/backend/common/backend_utils.py: false when nothing fits. */
static bool lay_transposed(artel__conv_axis *axis, int64_t in, bool same, int64_t added)
{
    int64_t reach = (axis->kernel - 1) * axis->dilation + 1, back;
    if (same) {
        axis->in = added < 0 ? in * axis->stride : (in - 1) * axis->stride + reach % 2 + added;
        back = artel__conv_extent_same(axis->in, axis->kernel, axis->stride, axis->dilation, &axis->before);
    } else {
        axis->in = (in - 1) * axis->stride + reach +
                   (added >= 0             ? added
                    : reach < axis->stride ? axis->stride - reach
                                           : 0);
        back = artel__conv_extent(axis->in, axis->kernel, axis->stride, axis->dilation, 0, 0);
    }
    axis->out = in;
    return axis->in > 0 && back == in;
}

artel_status artel__raw_conv_transpose(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    window w;
    artel__value_id kernel;
    artel_shape shape;
    int64_t stride[2], dilation[2], added[2];
    artel__conv_axis axis[2] = {{.in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1}};
    ARTEL_TRY(read_window(layer, call, 2, &w));
    ARTEL_TRY(read_kernel(layer, call, &w, 1, &kernel, &shape));
    if (!artel__raw_integers(layer, call, "strides", w.rank, 1, 1, stride) ||
        !artel__raw_integers(layer, call, "output_padding", w.rank, 0, -1, added) ||
        !artel__raw_integers(layer, call, "dilation_rate", w.rank, 1, 1, dilation) ||
        shape.dim[w.rank + 1] != w.in.dim[w.rank])
        return artel__raw_refuse(layer, "this window, stride or number of channels");
    for (int i = 0; i < w.rank; i++) {
        artel__conv_axis *a = &axis[2 - w.rank + i];
        *a = (artel__conv_axis){.kernel = shape.dim[i], .stride = stride[i], .dilation = dilation[i]};
        if (!lay_transposed(a, w.in.dim[i], w.same, added[i])) return artel__raw_refuse(layer, "this output_padding");
    }
    if (is_wide(call)) {
        artel__conv_any any = {.rank = w.rank, .groups = 1};
        for (int i = 0; i < w.rank; i++) any.axis[i] = axis[2 - w.rank + i];
        return return_window(call, &w, artel__conv_back_float64(graph, &any, w.x, kernel));
    }
    artel__conv2d_shape s = {.ih = axis[0].in,
                             .iw = axis[1].in,
                             .ic = shape.dim[w.rank],
                             .oh = axis[0].out,
                             .ow = axis[1].out,
                             .oc = shape.dim[w.rank + 1],
                             .kh = axis[0].kernel,
                             .kw = axis[1].kernel,
                             .sh = axis[0].stride,
                             .sw = axis[1].stride,
                             .dh = axis[0].dilation,
                             .dw = axis[1].dilation,
                             .top = axis[0].before,
                             .left = axis[1].before,
                             .groups = 1};
    artel_shape image = artel__shape(3, s.oh, s.ow, s.oc),
                out = w.rank > 1 ? artel__shape(3, s.ih, s.iw, s.ic) : artel__shape(2, s.iw, s.ic);
    artel__value_id panels = artel__op_panels(graph, kernel),
                    y = artel__op_conv2d_transpose(graph, artel__op_reshape(graph, w.x, &image), panels,
                                                   ARTEL__NO_VALUE, &s, ARTEL__FUSED_NONE);
    return return_window(call, &w, artel__op_reshape(graph, y, &out));
}
