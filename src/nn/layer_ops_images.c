/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' raw operations on images: colours, borders, patches, blurs, edges, maps. See layer_ops.h.
 *
 * Filters with fixed weights are depthwise convolutions; patches are places taken by index from the image with its
 * border; affine maps are those of the augmenting layers (op/resample.c). Colours after
 * tensorflow/core/kernels/image/colorspace_op.h.
 */
#include <math.h>
#include <string.h>

#include "base/scalar_math.h"
#include "nn/conv_any.h"
#include "nn/layer_ops_formula.h"
#include "op/gather.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct picture {
    artel__value_id x; /* [h][w][c] */
    int64_t h, w, c;
    bool first;
} picture;

static artel_status read_picture(const artel__layer *layer, const artel__call *call, int argument, picture *p)
{
    artel__graph *graph = call->graph;
    p->x = artel__call_tensor(call, artel__raw_argument(call, argument)).value;
    if (p->x < 0) return artel__raw_refuse(layer, "a constant as its image");
    p->x = artel__as_float(graph, p->x);
    ARTEL_TRY(graph->status);
    p->first = strcmp(artel__raw_name(layer, call, "data_format", "channels_last"), "channels_first") == 0;
    if (graph->value[p->x].shape.rank != 3) return artel__raw_refuse(layer, "anything but a batch of images");
    p->x = artel__channels_last(graph, p->x, p->first);
    ARTEL_TRY(graph->status);
    const artel_shape *shape = &graph->value[p->x].shape;
    p->h = shape->dim[0];
    p->w = shape->dim[1];
    p->c = shape->dim[2];
    return ARTEL_OK;
}

static artel_status return_picture(artel__call *call, const picture *p, artel__value_id y)
{
    artel__call_return(call, artel__channels_back(call->graph, y, p->first));
    return call->graph->status;
}

/* -- colours -- */

static artel__value_id channel(artel__graph *graph, artel__value_id x, int c)
{
    return artel__op_slice(graph, x, 2, c, 1, 1);
}

artel_status artel__raw_rgb_to_grayscale(artel__layer *layer, artel__call *call)
{
    static const float weight[] = {0.2989f, 0.5870f, 0.1140f};
    static const double exact[] = {0.2989, 0.5870, 0.1140};
    artel__graph *graph = call->graph;
    picture p;
    ARTEL_TRY(read_picture(layer, call, 0, &p));
    if (p.c != 1 && p.c != 3) return artel__raw_refuse(layer, "so many channels");
    if (p.c == 1) return return_picture(call, &p, p.x);
    artel_shape shape = artel__shape(1, (int64_t)3);
    bool wide = graph->real == ARTEL_DTYPE_FLOAT64;
    artel__value_id by = artel__op_constant(graph, graph->real, &shape, wide ? (const void *)exact : weight),
                    parts = binary(graph, ARTEL__BINARY_MUL, p.x, by);
    return return_picture(call, &p, artel__op_reduce(graph, ARTEL__REDUCE_SUM, parts, 4, true));
}

static artel__value_id choose(artel__graph *graph, artel__value_id condition, artel__value_id a, artel__value_id b)
{
    return where(graph, condition, a, b);
}

/* Hue is 0 where there is no colour, saturation where there is no light. */
artel_status artel__raw_rgb_to_hsv(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    picture p;
    ARTEL_TRY(read_picture(layer, call, 0, &p));
    if (p.c != 3) return artel__raw_refuse(layer, "so many channels");
    artel__value_id r = channel(graph, p.x, 0), g = channel(graph, p.x, 1), b = channel(graph, p.x, 2);
    artel__value_id value = artel__op_reduce(graph, ARTEL__REDUCE_MAX, p.x, 4, true);
    artel__value_id range =
        binary(graph, ARTEL__BINARY_SUB, value, artel__op_reduce(graph, ARTEL__REDUCE_MIN, p.x, 4, true));
    artel__value_id saturation =
        where(graph, above(graph, value, 0), binary(graph, ARTEL__BINARY_DIV_NO_NAN, range, value), number(graph, 0));
    artel__value_id by[] = {binary(graph, ARTEL__BINARY_SUB, g, b), binary(graph, ARTEL__BINARY_SUB, b, r),
                            binary(graph, ARTEL__BINARY_SUB, r, g)};
    for (int i = 0; i < 3; i++)
        by[i] = artel__op_affine(graph, times(graph, binary(graph, ARTEL__BINARY_DIV_NO_NAN, by[i], range), 1.0 / 6), 1,
                                 i / 3.0);
    artel__value_id is_r = artel__op_compare(graph, ARTEL__COMPARE_EQUAL, r, value),
                    is_g = artel__op_compare(graph, ARTEL__COMPARE_EQUAL, g, value);
    artel__value_id hue = choose(graph, is_r, by[0], choose(graph, is_g, by[1], by[2]));
    hue = where(graph, above(graph, range, 0), hue, number(graph, 0));
    hue = where(graph, below(graph, hue, 0), artel__op_affine(graph, hue, 1, 1), hue);
    artel__value_id all[] = {hue, saturation, value};
    return return_picture(call, &p, artel__op_concat(graph, all, 3, 2));
}

artel_status artel__raw_hsv_to_rgb(artel__layer *layer, artel__call *call)
{
    static const float middle[] = {3, 2, 4}, sign[] = {1, -1, -1}, offset[] = {-1, 2, 2};
    artel__graph *graph = call->graph;
    picture p;
    ARTEL_TRY(read_picture(layer, call, 0, &p));
    if (p.c != 3) return artel__raw_refuse(layer, "so many channels");
    artel__value_id hue = times(graph, channel(graph, p.x, 0), 6), part[3];
    for (int i = 0; i < 3; i++) {
        artel__value_id apart = unary(graph, ARTEL__UNARY_ABS, artel__op_affine(graph, hue, 1, -middle[i]));
        part[i] = clip(graph, artel__op_affine(graph, apart, sign[i], offset[i]), 0, 1);
    }
    artel__value_id saturation = channel(graph, p.x, 1), share = artel__op_concat(graph, part, 3, 2);
    artel__value_id coloured = binary(graph, ARTEL__BINARY_MUL, saturation, share);
    share = artel__op_add(graph, artel__op_affine(graph, saturation, -1, 1), coloured);
    return return_picture(call, &p, binary(graph, ARTEL__BINARY_MUL, share, channel(graph, p.x, 2)));
}

/* -- borders -- */

/* The two amounts of an axis, one of which the target may say. */
static bool read_border(const artel__layer *layer, const artel__call *call, const char *before, const char *after,
                        const char *target, int64_t extent, int sign, int64_t out[2])
{
    int64_t wanted;
    bool given[2] = {artel__raw_setting(layer, call, before, 0) != NULL,
                     artel__raw_setting(layer, call, after, 0) != NULL};
    if (!artel__raw_integer(layer, call, before, 0, 0, &out[0]) ||
        !artel__raw_integer(layer, call, after, 0, 0, &out[1]) ||
        !artel__raw_integer(layer, call, target, 0, -1, &wanted))
        return false;
    if (given[0] + given[1] + (wanted >= 0) != 2) return false;
    int64_t rest = sign * (wanted - extent);
    if (!given[0]) out[0] = rest - out[1];
    if (!given[1]) out[1] = rest - out[0];
    return out[0] >= 0 && out[1] >= 0 && out[0] <= INT32_MAX && out[1] <= INT32_MAX &&
           (sign > 0 || out[0] + out[1] < extent);
}

/* "PadImages" and "CropImages". */
artel_status artel__raw_pad_images(artel__layer *layer, artel__call *call)
{
    static const char *const names[2][4] = {{"top_padding", "bottom_padding", "left_padding", "right_padding"},
                                            {"top_cropping", "bottom_cropping", "left_cropping", "right_cropping"}};
    picture p;
    int64_t down[2], across[2], before[3] = {0}, after[3] = {0};
    int crop = strcmp(layer->def->class_name, "ops.CropImages") == 0, sign = crop ? -1 : 1;
    ARTEL_TRY(read_picture(layer, call, 0, &p));
    if (!read_border(layer, call, names[crop][0], names[crop][1], "target_height", p.h, sign, down) ||
        !read_border(layer, call, names[crop][2], names[crop][3], "target_width", p.w, sign, across))
        return artel__raw_refuse(layer, "these borders");
    before[0] = sign * down[0], after[0] = sign * down[1];
    before[1] = sign * across[0], after[1] = sign * across[1];
    return return_picture(call, &p, artel__op_pad(call->graph, p.x, before, after, 0));
}

/* -- patches -- */

typedef struct patches {
    int rank;
    artel__conv_axis axis[3];
    int64_t channels;
} patches;

/* Places of all windows over [in..], each window's places together, in the flattened image with its border; x is
 * flattened so. */
static artel__value_id take_windows(artel__graph *graph, artel__value_id x, const patches *p)
{
    int64_t before[ARTEL_MAX_RANK] = {0}, after[ARTEL_MAX_RANK] = {0}, windows = 1, taps = 1, places = 1;
    for (int i = 0; i < p->rank; i++) {
        before[i] = p->axis[i].before;
        after[i] = p->axis[i].after;
        windows *= p->axis[i].out;
        taps *= p->axis[i].kernel;
        places *= p->axis[i].in + before[i] + after[i];
    }
    int32_t *index = artel__arena_alloc(graph->arena, (size_t)(windows * taps) + 1, sizeof *index);
    if (!index) return ARTEL__NO_VALUE;
    for (int64_t n = 0; n < windows * taps; n++) {
        int64_t window = n / taps, tap = n % taps, stride = 1, at = 0;
        for (int i = p->rank - 1; i >= 0; i--) {
            const artel__conv_axis *a = &p->axis[i];
            at += (window % a->out * a->stride + tap % a->kernel * a->dilation) * stride;
            stride *= a->in + a->before + a->after;
            window /= a->out;
            tap /= a->kernel;
        }
        index[n] = (int32_t)at;
    }
    artel_shape flat = artel__shape(2, places, p->channels), all = artel__shape(1, windows * taps);
    x = artel__op_reshape(graph, artel__op_pad(graph, x, before, after, 0), &flat);
    return artel__op_take(graph, x, artel__op_constant(graph, ARTEL_DTYPE_INT32, &all, index), 0);
}

/* Strides as a number, a list, or the size. */
static bool read_size(const artel__layer *layer, const artel__call *call, const char *key, int rank,
                      const int64_t *fallback, int64_t *out)
{
    if (!artel__raw_integers(layer, call, key, rank, 1, 0, out)) return false;
    for (int i = 0; i < rank; i++) {
        if (out[i] < 1 && fallback) out[i] = fallback[i];
        if (out[i] < 1) return false;
    }
    return true;
}

artel_status artel__raw_extract_patches(artel__layer *layer, artel__call *call)
{
    static const int64_t ones[] = {1, 1, 1};
    artel__graph *graph = call->graph;
    artel__value_id x;
    artel_shape in, out = {.rank = 0};
    int64_t size[3], stride[3], dilation[3], taps = 1;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    ARTEL_TRY(graph->status);
    bool first = strcmp(artel__raw_name(layer, call, "data_format", "channels_last"), "channels_first") == 0;
    bool same = strcmp(artel__raw_name(layer, call, "padding", "valid"), "same") == 0;
    patches p = {.rank = json_array_size(artel__raw_setting(layer, call, "size", 0)) == 3 ? 3 : 2};
    if (graph->value[x].shape.rank != p.rank + 1) return artel__raw_refuse(layer, "an input of so many axes");
    x = artel__channels_last(graph, x, first);
    ARTEL_TRY(graph->status);
    in = graph->value[x].shape;
    p.channels = in.dim[p.rank];
    if (!read_size(layer, call, "size", p.rank, NULL, size) ||
        !read_size(layer, call, "strides", p.rank, size, stride) ||
        !read_size(layer, call, "dilation_rate", p.rank, ones, dilation))
        return artel__raw_refuse(layer, "this size, stride or dilation");
    for (int i = 0; i < p.rank; i++) {
        p.axis[i] =
            (artel__conv_axis){.kernel = size[i], .stride = stride[i], .dilation = dilation[i], .in = in.dim[i]};
        artel__conv_any_lay(&p.axis[i], same);
        if (p.axis[i].out < 1) return artel__raw_refuse(layer, "a patch larger than its image");
        out.dim[out.rank++] = p.axis[i].out;
        taps *= size[i];
    }
    out.dim[out.rank++] = taps * p.channels;
    x = artel__op_reshape(graph, take_windows(graph, x, &p), &out);
    artel__call_return(call, artel__channels_back(graph, x, first));
    return graph->status;
}

static bool read_pair(const artel__layer *layer, const artel__call *call, const char *key, int64_t least,
                      int64_t fallback, int64_t out[2])
{
    return artel__raw_integers(layer, call, key, 2, least, fallback, out);
}

/* Of "Unfold" and "Fold": the windows over an image of h by w. */
static artel_status read_windows(const artel__layer *layer, const artel__call *call, const int64_t extent[2],
                                 patches *p)
{
    int64_t size[2], dilation[2], border[2], stride[2];
    if (!read_pair(layer, call, "kernel_size", 1, 0, size) || size[0] < 1 ||
        !read_pair(layer, call, "dilation", 1, 1, dilation) || !read_pair(layer, call, "padding", 0, 0, border) ||
        !read_pair(layer, call, "stride", 1, 1, stride))
        return artel__raw_refuse(layer, "this window");
    *p = (patches){.rank = 2};
    for (int i = 0; i < 2; i++) {
        int64_t reach = (size[i] - 1) * dilation[i] + 1, whole = extent[i] + 2 * border[i];
        if (whole < reach) return artel__raw_refuse(layer, "a window larger than its image");
        p->axis[i] = (artel__conv_axis){.kernel = size[i],
                                        .stride = stride[i],
                                        .dilation = dilation[i],
                                        .in = extent[i],
                                        .before = border[i],
                                        .after = border[i],
                                        .out = (whole - reach) / stride[i] + 1};
    }
    return ARTEL_OK;
}

/* [c][h][w] to [c kh kw][windows]. */
artel_status artel__raw_unfold(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x;
    patches p;
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    ARTEL_TRY(graph->status);
    artel_shape in = graph->value[x].shape;
    if (in.rank != 3) return artel__raw_refuse(layer, "anything but a batch of images");
    ARTEL_TRY(read_windows(layer, call, in.dim + 1, &p));
    p.channels = in.dim[0];
    int64_t windows = p.axis[0].out * p.axis[1].out, taps = p.axis[0].kernel * p.axis[1].kernel;
    x = take_windows(graph, artel__channels_last(graph, x, 1), &p);
    artel_shape apart = artel__shape(3, windows, taps, p.channels), out = artel__shape(2, p.channels * taps, windows);
    x = artel__op_transpose(graph, artel__op_reshape(graph, x, &apart), (const int[]){2, 1, 0});
    artel__call_return(call, artel__op_reshape(graph, x, &out));
    return graph->status;
}

/* Back: each tap of all windows, spread by the stride and moved to its place, is added. */
artel_status artel__raw_fold(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__value_id x, sum = ARTEL__NO_VALUE;
    patches p;
    int64_t extent[2];
    ARTEL_TRY(artel__raw_float(layer, call, &x));
    ARTEL_TRY(graph->status);
    artel_shape in = graph->value[x].shape;
    if (in.rank != 2 || !read_pair(layer, call, "output_size", 1, 0, extent) || extent[0] < 1)
        return artel__raw_refuse(layer, "this size");
    ARTEL_TRY(read_windows(layer, call, extent, &p));
    const artel__conv_axis *h = &p.axis[0], *w = &p.axis[1];
    int64_t taps = h->kernel * w->kernel;
    if (in.dim[0] % taps || in.dim[1] != h->out * w->out || taps > 1024)
        return artel__raw_refuse(layer, "so many windows");
    artel_shape apart = artel__shape(4, in.dim[0] / taps, taps, h->out, w->out),
                one = artel__shape(5, in.dim[0] / taps, h->out, (int64_t)1, w->out, (int64_t)1);
    artel_shape spread = artel__shape(3, in.dim[0] / taps, h->out * h->stride, w->out * w->stride);
    x = artel__op_reshape(graph, x, &apart);
    for (int64_t tap = 0; tap < taps; tap++) {
        int64_t none[ARTEL_MAX_RANK] = {0}, after[ARTEL_MAX_RANK] = {0, 0, h->stride - 1, 0, w->stride - 1};
        artel__value_id part = artel__op_reshape(graph, artel__op_slice(graph, x, 1, tap, 1, 1), &one);
        part = artel__op_reshape(graph, artel__op_pad(graph, part, none, after, 0), &spread);
        int64_t before[3] = {0}, behind[3] = {0};
        for (int i = 0; i < 2; i++) {
            const artel__conv_axis *a = &p.axis[i];
            before[i + 1] = (i ? tap % w->kernel : tap / w->kernel) * a->dilation - a->before;
            behind[i + 1] = a->in - before[i + 1] - a->out * a->stride;
        }
        part = artel__op_pad(graph, part, before, behind, 0);
        sum = sum < 0 ? part : artel__op_add(graph, sum, part);
        ARTEL_TRY(graph->status);
    }
    artel__call_return(call, sum);
    return graph->status;
}
