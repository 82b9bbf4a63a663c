/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes over images and sequences with channels: ONNX' [channels][space...] is Keras' [space...][channels]. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "keras/onnx_import.h"

typedef artel__onnx_import import;
typedef artel__onnx_operator operator;

/* A window over 1 to 3 axes of space. */
typedef struct window {
    int rank;
    int64_t size[3], stride[3], dilation[3], before[3], after[3];
    bool same, padded;
} window;

/* "[3, 3]" of an array. */
typedef struct list {
    char text[96];
} list;

static list list_of(const int64_t *values, int count)
{
    list l = {"["};
    for (int i = 0; i < count; i++)
        snprintf(l.text + strlen(l.text), sizeof l.text - strlen(l.text), "%s%lld", i ? ", " : "",
                 (long long)values[i]);
    strcat(l.text, "]");
    return l;
}

static bool fill(const operator* node, const char *name, int64_t *out, int rank, int64_t fallback)
{
    int count = artel__onnx_ints_of(node, name, out, rank);
    for (int i = 0; count < 0 && i < rank; i++) out[i] = fallback;
    return count < 0 || count == rank;
}

/* Where ONNX' paddings are those of Keras' "same" at this extent. */
static bool is_same(const window *w, const artel__onnx_held *x)
{
    for (int i = 0; i < w->rank; i++) {
        int64_t in = x->shape.dim[i + 1], reach = (w->size[i] - 1) * w->dilation[i] + 1, stride = w->stride[i];
        int64_t total = (in + stride - 1) / stride * stride - stride + reach - in;
        if (in < 0 && stride != 1) return false;
        if (in < 0) total = reach - 1;
        if (total < 0) total = 0;
        if (w->before[i] != total / 2 || w->after[i] != total - total / 2) return false;
    }
    return true;
}

static artel_status read_window(import *m, const operator* node, const artel__onnx_held *x, const int64_t *size,
                                window *w)
{
    int64_t pads[6];
    *w = (window){.rank = x->shape.rank - 1};
    if (w->rank < 1 || w->rank > 3) return artel__onnx_import_refuse(m, node, "this number of axes");
    if (size) memcpy(w->size, size, (size_t)w->rank * sizeof *size);
    if (!size && !fill(node, "kernel_shape", w->size, w->rank, 0))
        return artel__onnx_import_refuse(m, node, "this kernel_shape");
    if (!fill(node, "strides", w->stride, w->rank, 1) || !fill(node, "dilations", w->dilation, w->rank, 1) ||
        !fill(node, "pads", pads, 2 * w->rank, 0))
        return artel__onnx_import_refuse(m, node, "strides, dilations or pads of another rank");
    for (int i = 0; i < w->rank; i++) {
        w->before[i] = pads[i];
        w->after[i] = pads[w->rank + i];
        if (w->size[i] < 1 || w->stride[i] < 1 || w->dilation[i] < 1 || pads[i] < 0 || pads[w->rank + i] < 0)
            return artel__onnx_import_refuse(m, node, "numbers of windows below 1, or pads that cut off");
        if ((w->size[i] | w->stride[i] | w->dilation[i] | pads[i] | pads[w->rank + i]) > INT32_MAX)
            return artel__onnx_import_refuse(m, node, "windows as large");
        w->padded = w->padded || pads[i] || pads[w->rank + i];
    }
    if (artel__onnx_text_is(node, "auto_pad", "NOTSET", "SAME_LOWER"))
        return artel__onnx_import_refuse(m, node, "SAME_LOWER");
    w->same = artel__onnx_text_is(node, "auto_pad", "NOTSET", "SAME_UPPER");
    if (w->same || artel__onnx_text_is(node, "auto_pad", "NOTSET", "VALID")) w->padded = false;
    if (w->padded && is_same(w, x)) {
        w->same = true;
        w->padded = false;
    }
    return ARTEL_OK;
}

/* Zeros around, as a layer of their own. */
static artel_status put_padding(import *m, artel__onnx_held *x, const window *w)
{
    char text[128] = "[";
    if (!w->padded) return ARTEL_OK;
    if (w->rank == 1)
        return artel__onnx_over(m, x, "ZeroPadding1D", NULL, "\"padding\": [%lld, %lld]", (long long)w->before[0],
                                (long long)w->after[0]);
    for (int i = 0; i < w->rank; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s[%lld, %lld]", i ? ", " : "",
                 (long long)w->before[i], (long long)w->after[i]);
    return artel__onnx_over(m, x, w->rank == 2 ? "ZeroPadding2D" : "ZeroPadding3D", NULL, "\"padding\": %s]", text);
}

static void set_extents(artel__onnx_held *x, const window *w, int64_t channels)
{
    for (int i = 0; i < w->rank; i++) {
        int64_t *d = &x->shape.dim[i + 1], reach = (w->size[i] - 1) * w->dilation[i] + 1;
        if (*d < 0) continue;
        *d = w->same ? (*d + w->stride[i] - 1) / w->stride[i]
                     : (*d + (w->padded ? w->before[i] + w->after[i] : 0) - reach) / w->stride[i] + 1;
    }
    x->shape.dim[0] = channels;
}

/* -- convolutions -- */

/* w [major][minor][space] -> [space][a][b], where a and b are minor and major, or major and minor. */
static float *turn(import *m, const float *w, int64_t major, int64_t minor, int64_t space, bool swap)
{
    float *out = artel__onnx_floats(m, major * minor * space);
    for (int64_t i = 0; out && i < major; i++) {
        for (int64_t j = 0; j < minor; j++) {
            for (int64_t s = 0; s < space; s++)
                out[(s * minor * major) + (swap ? j * major + i : i * minor + j)] = w[(i * minor + j) * space + s];
        }
    }
    return out;
}

static artel_status put_weights(import *m, const char *layer, const float *turned, int64_t count,
                                const artel__onnx_numbers *bias)
{
    ARTEL_TRY(artel__onnx_weight_is(m, layer, "kernel", turned, count));
    return bias ? artel__onnx_weight_is(m, layer, "bias", bias->f, bias->count) : ARTEL_OK;
}

static artel_status take_kernel(import *m, const operator* node, artel__onnx_held *x, const artel__onnx_numbers **out,
                                const artel__onnx_numbers **bias)
{
    const artel__onnx_numbers *w = artel__onnx_fixed(m, node, 1);
    ARTEL_TRY(artel__onnx_take(m, node, 0, x));
    if (!w || !w->f || w->shape.rank != x->shape.rank + 1 || w->count < 1)
        return artel__onnx_import_refuse(m, node, "kernels that are computed");
    ARTEL_TRY(artel__onnx_optional(m, node, 2, bias));
    *out = w;
    return artel__onnx_to_last(m, x);
}

static artel_status read_conv(import *m, const operator* node)
{
    artel__onnx_held x;
    const artel__onnx_numbers *w, *bias;
    window win;
    const char *name;
    char class_name[32], grouped[48] = "";
    ARTEL_TRY(take_kernel(m, node, &x, &w, &bias));
    ARTEL_TRY(read_window(m, node, &x, w->shape.dim + 2, &win));
    int64_t filters = w->shape.dim[0], each = w->shape.dim[1], groups = artel__onnx_int_of(node, "group", 1),
            space = w->count / (filters * each);
    bool depth = groups > 1 && each == 1 && win.rank < 3 && filters % groups == 0;
    for (int i = 1; depth && i < win.rank; i++) depth = win.stride[i] == win.stride[0];
    ARTEL_TRY(put_padding(m, &x, &win));
    if (!depth && groups != 1) snprintf(grouped, sizeof grouped, ", \"groups\": %lld", (long long)groups);
    snprintf(class_name, sizeof class_name, "%sConv%dD", depth ? "Depthwise" : "", win.rank);
    ARTEL_TRY(artel__onnx_over(m, &x, class_name, &name,
                               "\"%s\": %lld, \"kernel_size\": %s, \"strides\": %s, \"dilation_rate\": %s, "
                               "\"use_bias\": %s, \"padding\": \"%s\"%s",
                               depth ? "depth_multiplier" : "filters", (long long)(depth ? filters / groups : filters),
                               list_of(win.size, win.rank).text, list_of(win.stride, win.rank).text,
                               list_of(win.dilation, win.rank).text, bias ? "true" : "false",
                               win.same ? "same" : "valid", grouped));
    ARTEL_TRY(put_weights(m, name, turn(m, w->f, filters, each, space, !depth), w->count, bias));
    set_extents(&x, &win, filters);
    x.positive = false;
    return artel__onnx_give(m, node->output[0], &x);
}

/* Without padding, then cut: pads are what is cut off. ONNX' kernel is [in][out][space], Keras' [space][out][in]. */
static artel_status read_conv_transpose(import *m, const operator* node)
{
    artel__onnx_held x;
    const artel__onnx_numbers *w, *bias;
    window win;
    const char *name;
    int64_t more[3];
    ARTEL_TRY(take_kernel(m, node, &x, &w, &bias));
    ARTEL_TRY(read_window(m, node, &x, w->shape.dim + 2, &win));
    bool plain = artel__onnx_int_of(node, "group", 1) == 1 &&
                 artel__onnx_text_is(node, "auto_pad", "NOTSET", "NOTSET") &&
                 fill(node, "output_padding", more, win.rank, 0);
    for (int i = 0; plain && i < win.rank; i++) plain = more[i] == 0 && win.dilation[i] == 1;
    if (!plain || win.rank == 3 || artel__onnx_ints_of(node, "output_shape", more, 3) >= 0)
        return artel__onnx_import_refuse(m, node, "groups, dilations, automatic pads, output_padding and output_shape");
    int64_t in = w->shape.dim[0], out = w->shape.dim[1];
    ARTEL_TRY(artel__onnx_over(m, &x, win.rank == 1 ? "Conv1DTranspose" : "Conv2DTranspose", &name,
                               "\"filters\": %lld, \"kernel_size\": %s, \"strides\": %s, \"use_bias\": %s",
                               (long long)out, list_of(win.size, win.rank).text, list_of(win.stride, win.rank).text,
                               bias ? "true" : "false"));
    ARTEL_TRY(put_weights(m, name, turn(m, w->f, in, out, w->count / (in * out), true), w->count, bias));
    bool cut = false;
    for (int i = 0; i < win.rank; i++) {
        int64_t *d = &x.shape.dim[i + 1], whole = win.size[i] > win.stride[i] ? win.size[i] : win.stride[i];
        if (whole != win.size[i]) return artel__onnx_import_refuse(m, node, "strides beyond the kernel");
        if (*d > 0) *d = (*d - 1) * win.stride[i] + win.size[i] - win.before[i] - win.after[i];
        cut = cut || win.before[i] || win.after[i];
    }
    if (cut && win.rank == 1)
        ARTEL_TRY(artel__onnx_over(m, &x, "Cropping1D", NULL, "\"cropping\": [%lld, %lld]", (long long)win.before[0],
                                   (long long)win.after[0]));
    if (cut && win.rank == 2)
        ARTEL_TRY(artel__onnx_over(m, &x, "Cropping2D", NULL, "\"cropping\": [[%lld, %lld], [%lld, %lld]]",
                                   (long long)win.before[0], (long long)win.after[0], (long long)win.before[1],
                                   (long long)win.after[1]));
    x.shape.dim[0] = out;
    x.positive = false;
    return artel__onnx_give(m, node->output[0], &x);
}

/* -- pooling -- */

/* Zeros stand for the lowest number only where nothing is below them. */
static artel_status read_pool(import *m, const operator* node)
{
    artel__onnx_held x;
    window w;
    char class_name[32];
    bool max = strcmp(node->type, "MaxPool") == 0, counts = artel__onnx_int_of(node, "count_include_pad", 0) != 0;
    ARTEL_TRY(artel__onnx_take(m, node, 0, &x));
    ARTEL_TRY(artel__onnx_to_last(m, &x));
    ARTEL_TRY(read_window(m, node, &x, NULL, &w));
    for (int i = 0; i < w.rank; i++) {
        if (w.dilation[i] != 1) return artel__onnx_import_refuse(m, node, "dilations");
    }
    if (artel__onnx_int_of(node, "ceil_mode", 0)) return artel__onnx_import_refuse(m, node, "ceil_mode");
    if (node->outputs > 1) return artel__onnx_import_refuse(m, node, "its places");
    if (!max && counts && artel__onnx_text_is(node, "auto_pad", "NOTSET", "SAME_UPPER"))
        return artel__onnx_import_refuse(m, node, "automatic pads that count");
    if (!max && counts && w.same) {
        w.same = false;
        w.padded = true;
    }
    if (w.padded && max && !x.positive)
        return artel__onnx_import_refuse(m, node, "these pads over numbers that may be negative");
    if (w.padded && !max && !counts) return artel__onnx_import_refuse(m, node, "these pads, which do not count");
    ARTEL_TRY(put_padding(m, &x, &w));
    snprintf(class_name, sizeof class_name, "%sPooling%dD", max ? "Max" : "Average", w.rank);
    ARTEL_TRY(artel__onnx_over(m, &x, class_name, NULL, "\"pool_size\": %s, \"strides\": %s, \"padding\": \"%s\"",
                               list_of(w.size, w.rank).text, list_of(w.stride, w.rank).text,
                               w.same ? "same" : "valid"));
    set_extents(&x, &w, x.shape.dim[0]);
    return artel__onnx_give(m, node->output[0], &x);
}

static artel_status put_global(import *m, const operator* node, artel__onnx_held *x, bool max, bool keep)
{
    int rank = x->shape.rank - 1;
    char class_name[40];
    if (rank < 1 || rank > 3) return artel__onnx_import_refuse(m, node, "this number of axes");
    snprintf(class_name, sizeof class_name, "Global%sPooling%dD", max ? "Max" : "Average", rank);
    ARTEL_TRY(artel__onnx_over(m, x, class_name, NULL, "\"keepdims\": %s", keep ? "true" : "false"));
    int channels = x->last ? 0 : rank;
    for (int i = 0; i <= rank; i++) x->shape.dim[i] = i == channels ? x->shape.dim[i] : 1;
    if (!keep) x->shape = (artel_shape){1, {x->shape.dim[channels]}};
    x->last = x->last && keep;
    return artel__onnx_give(m, node->output[0], x);
}

static artel_status read_global(import *m, const operator* node)
{
    artel__onnx_held x;
    ARTEL_TRY(artel__onnx_take(m, node, 0, &x));
    ARTEL_TRY(artel__onnx_to_last(m, &x));
    return put_global(m, node, &x, strcmp(node->type, "GlobalMaxPool") == 0, true);
}

/* Means over all of space, whether channels are in front or behind. */
static artel_status read_mean(import *m, const operator* node)
{
    artel__onnx_held x;
    int64_t axes[ARTEL_MAX_RANK];
    ARTEL_TRY(artel__onnx_take(m, node, 0, &x));
    int count = artel__onnx_list_of(m, node, "axes", 1, axes, ARTEL_MAX_RANK), seen = 0;
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + x.shape.rank + 1 : axes[i];
        if (axis < 0 || axis > x.shape.rank) return artel__onnx_import_refuse(m, node, "these axes");
        seen |= 1 << axis;
    }
    bool max = strcmp(node->type, "ReduceMax") == 0, keep = artel__onnx_int_of(node, "keepdims", 1) != 0;
    if (seen == (1 << (x.shape.rank + 1)) - 4 && x.shape.rank > 1) {
        ARTEL_TRY(artel__onnx_to_last(m, &x));
        return put_global(m, node, &x, max, keep);
    }
    if (seen != (1 << x.shape.rank) - 2 || x.shape.rank < 2) return artel__onnx_import_refuse(m, node, "these axes");
    ARTEL_TRY(artel__onnx_to_plain(m, &x));
    return put_global(m, node, &x, max, keep);
}

/* -- others -- */

static artel_status read_batch_normalization(import *m, const operator* node)
{
    static const char *const variable[] = {"gamma", "beta", "moving_mean", "moving_variance"};
    artel__onnx_held x;
    const char *name;
    ARTEL_TRY(artel__onnx_take(m, node, 0, &x));
    ARTEL_TRY(artel__onnx_to_last(m, &x));
    if (artel__onnx_int_of(node, "training_mode", 0)) return artel__onnx_import_refuse(m, node, "training_mode");
    ARTEL_TRY(
        artel__onnx_over(m, &x, "BatchNormalization", &name, "\"axis\": -1, \"epsilon\": %.9g, \"momentum\": %.9g",
                         artel__onnx_float_of(node, "epsilon", 1e-5), artel__onnx_float_of(node, "momentum", 0.9)));
    for (int k = 0; k < 4; k++) {
        const artel__onnx_numbers *v = artel__onnx_fixed(m, node, k + 1);
        if (!v || !v->f) return artel__onnx_import_refuse(m, node, "statistics that are computed");
        ARTEL_TRY(artel__onnx_weight_is(m, name, variable[k], v->f, v->count));
    }
    x.positive = false;
    return artel__onnx_give(m, node->output[0], &x);
}

static artel_status read_pad(import *m, const operator* node)
{
    artel__onnx_held x;
    int64_t pads[2 * ARTEL_MAX_RANK + 3];
    const artel__onnx_numbers *value;
    ARTEL_TRY(artel__onnx_take(m, node, 0, &x));
    ARTEL_TRY(artel__onnx_optional(m, node, 2, &value));
    int axes = x.shape.rank + 1, count = artel__onnx_list_of(m, node, "pads", 1, pads, 2 * axes + 1);
    bool zeros = artel__onnx_text_is(node, "mode", "constant", "constant") && (!value || value->f[0] == 0) &&
                 artel__onnx_float_of(node, "value", 0) == 0;
    if (count != 2 * axes || !zeros || (node->inputs > 3 && *node->input[3]))
        return artel__onnx_import_refuse(m, node, "other than zeros around all axes");
    window w = {.rank = x.shape.rank - 1, .padded = true};
    if (w.rank < 1 || w.rank > 3) return artel__onnx_import_refuse(m, node, "this number of axes");
    bool behind = !x.last && !pads[axes - 1] &&
                  !pads[2 * axes - 1]; /* the axis of channels is the last, as exporters of Keras have it */
    int first = behind ? 1 : 2;
    if (pads[0] || pads[axes] || (!behind && (pads[1] || pads[axes + 1])))
        return artel__onnx_import_refuse(m, node, "of batch or channels");
    for (int i = 0; i < w.rank; i++) {
        int64_t *extent = &x.shape.dim[first - 1 + i];
        w.before[i] = pads[first + i];
        w.after[i] = pads[axes + first + i];
        if (w.before[i] < 0 || w.after[i] < 0 || (w.before[i] | w.after[i]) > INT32_MAX)
            return artel__onnx_import_refuse(m, node, "pads that cut off, or as large");
        if (*extent > 0) *extent += w.before[i] + w.after[i];
    }
    if (!behind) ARTEL_TRY(artel__onnx_to_last(m, &x));
    ARTEL_TRY(put_padding(m, &x, &w));
    return artel__onnx_give(m, node->output[0], &x);
}

/* Whether each number is just repeated: whether the places from 0 to factor - 1 all take the number at 0. Upsample
 * always does. */
static bool repeats(const operator* node, int64_t factor)
{
    static const char mode[] = "coordinate_transformation_mode", rounding[] = "nearest_mode",
                      nearest[] = "round_prefer_floor";
    bool corner = artel__onnx_text_is(node, mode, "half_pixel", "asymmetric"), good = corner;
    good = good || artel__onnx_text_is(node, mode, "half_pixel", "half_pixel");
    good = good || artel__onnx_text_is(node, mode, "", "half_pixel_symmetric") ||
           artel__onnx_text_is(node, mode, "", "pytorch_half_pixel");
    for (int64_t place = 0; place<factor; place += factor> 1 ? factor - 1 : 1) { /* the first and the last */
        double half = corner ? 0 : 0.5, at = ((double)place + half) / (double)factor - half, from = ceil(at - 0.5);
        if (artel__onnx_text_is(node, rounding, nearest, "floor")) from = floor(at);
        if (artel__onnx_text_is(node, rounding, nearest, "ceil")) from = ceil(at);
        if (artel__onnx_text_is(node, rounding, nearest, "round_prefer_ceil")) from = floor(at + 0.5);
        good = good && from == 0;
    }
    return good || strcmp(node->type, "Upsample") == 0;
}

static artel_status read_resize(import *m, const operator* node)
{
    artel__onnx_held x;
    int64_t factor[3];
    const artel__onnx_numbers *scales = artel__onnx_fixed(m, node, strcmp(node->type, "Upsample") == 0 ? 1 : 2);
    ARTEL_TRY(artel__onnx_take(m, node, 0, &x));
    int rank = x.shape.rank - 1;
    bool good = scales && scales->f && scales->count == rank + 2 && scales->f[0] == 1 && scales->f[1] == 1 &&
                rank >= 1 && rank <= 3 && artel__onnx_text_is(node, "mode", "nearest", "nearest");
    for (int i = 0; good && i < rank; i++) {
        good = scales->f[i + 2] >= 1 && scales->f[i + 2] < 1024;
        factor[i] = good ? (int64_t)scales->f[i + 2] : 0;
        good = good && (float)factor[i] == scales->f[i + 2] && repeats(node, factor[i]);
        if (good && x.shape.dim[i + 1] > 0) x.shape.dim[i + 1] *= factor[i];
    }
    if (!good) return artel__onnx_import_refuse(m, node, "other than whole factors of the nearest number");
    ARTEL_TRY(artel__onnx_to_last(m, &x));
    if (rank == 1)
        ARTEL_TRY(artel__onnx_over(m, &x, "UpSampling1D", NULL, "\"size\": %lld", (long long)factor[0]));
    else
        ARTEL_TRY(artel__onnx_over(m, &x, rank == 2 ? "UpSampling2D" : "UpSampling3D", NULL, "\"size\": %s",
                                   list_of(factor, rank).text));
    return artel__onnx_give(m, node->output[0], &x);
}

const artel__onnx_import_row artel__onnx_imports_images[] = {
    {"Conv", read_conv},
    {"ConvTranspose", read_conv_transpose},
    {"MaxPool", read_pool},
    {"AveragePool", read_pool},
    {"GlobalAveragePool", read_global},
    {"GlobalMaxPool", read_global},
    {"ReduceMean", read_mean},
    {"ReduceMax", read_mean},
    {"BatchNormalization", read_batch_normalization},
    {"Pad", read_pad},
    {"Resize", read_resize},
    {"Upsample", read_resize},
    {NULL, NULL},
};
