/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions as programs of devices.
 *
 * All six are one StableHLO convolution. With x [n][ih][iw][ic], dy [n][oh][ow][oc], K = (k - 1) * dilation:
 *   forward   x by w [kh][kw][ic / groups][oc], window stride and dilation
 *   data      dy spread out by the stride, by the transposed weights, of which the taps are turned; K - top zeros in
 * front weights   x by dy, a dilated filter of oh x ow taps, images are summed over; strides and dilations change
 * places What lies behind the image follows from the extents; a remainder that no window reads is left there. A
 * depthwise convolution has a group for each channel.
 */
#include "op/lower_conv.h"

#include "op/conv_attributes.h"

#define FORWARD "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
#define WEIGHTS "[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]"

typedef struct conv {
    artel__lower *lower;
    const artel__conv_attributes *attributes;
    const artel__conv2d_shape *shape;
    int64_t images;
} conv;

static artel__hlo_type image(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (artel__hlo_type){.dtype = ARTEL_DTYPE_FLOAT32, .rank = 4, .dim = {a, b, c, d}};
}

/* `of_output`: input 0 is of the form of what the convolution gives. */
static conv begin(artel__lower *lower, bool of_output)
{
    const artel__conv_attributes *a = lower->attributes;
    const artel__conv2d_shape *s = &a->shape;
    int64_t each = of_output ? s->oh * s->ow * s->oc : s->ih * s->iw * s->ic;
    artel__hlo_type type = *artel__hlo_type_of(lower->hlo, lower->in[0]);
    return (conv){lower, a, s, each ? artel__hlo_count(&type) / each : lower->rows};
}

static artel__hlo_value in_image(const conv *c, int k)
{
    const artel__conv2d_shape *s = c->shape;
    return artel__hlo_reshape(c->lower->hlo, c->lower->in[k],
                              &(artel__hlo_type){.rank = 4, .dim = {c->images, s->ih, s->iw, s->ic}});
}

static artel__hlo_value out_image(const conv *c, int k)
{
    const artel__conv2d_shape *s = c->shape;
    return artel__hlo_reshape(c->lower->hlo, c->lower->in[k],
                              &(artel__hlo_type){.rank = 4, .dim = {c->images, s->oh, s->ow, s->oc}});
}

/* Elements behind the last one that windows read; what is left over is not cut off. */
static int64_t behind(int64_t in, int64_t low, int64_t out, int64_t stride, int64_t reach)
{
    int64_t high = (out - 1) * stride + reach - in - low;
    return high < 0 && high > -stride ? 0 : high;
}

static int64_t reach_of(int64_t taps, int64_t step)
{
    return (taps - 1) * step + 1;
}

/* Products of bfloat16 numbers are exact in what devices are fastest with. A convolution of bfloat16 arrays gives one,
 * for devices have no other. */
static artel__hlo_value convolve(const conv *c, artel__hlo_value a, artel__hlo_value b, const artel__hlo_window *window,
                                 const artel__hlo_type *to)
{
    artel__hlo *h = c->lower->hlo;
    const char *precision = h->precision;
    bool narrow = h->narrow, held = artel__lower_held(c->lower, 0, 1) == ARTEL_DTYPE_BFLOAT16;
    if (held) h->precision = "DEFAULT";
    h->narrow = narrow || (held && artel__lower_halves(c->lower));
    artel__hlo_value out = artel__hlo_conv(h, a, b, window, to);
    h->precision = precision;
    h->narrow = narrow;
    return out;
}

/* Bias and activation. */
static void finish(const conv *c, artel__hlo_value y, artel__hlo_value bias)
{
    artel__hlo *h = c->lower->hlo;
    artel__hlo_type type = *artel__hlo_type_of(h, y), channels = {.rank = 1, .dim = {type.dim[3]}};
    artel__hlo_type out = artel__lower_out_type(c->lower, 0);
    if (bias >= 0)
        y = artel__hlo_binary(h, "add", y,
                              artel__hlo_broadcast_trailing(h, artel__hlo_reshape(h, bias, &channels), &type));
    if (c->attributes->activation == ARTEL__FUSED_RELU)
        y = artel__hlo_binary(h, "maximum", y, artel__hlo_number(h, 0, y));
    c->lower->out[0] = artel__hlo_reshape(h, y, &out);
}

static void forward(artel__lower *lower, int64_t groups)
{
    conv c = begin(lower, false);
    const artel__conv2d_shape *s = c.shape;
    artel__hlo_type weights = image(s->kh, s->kw, s->ic / groups, s->oc), out = image(c.images, s->oh, s->ow, s->oc);
    artel__hlo_window window = {.numbers = FORWARD,
                                .axes = 2,
                                .stride = {s->sh, s->sw},
                                .dilate = {s->dh, s->dw},
                                .low = {s->top, s->left},
                                .high = {behind(s->ih, s->top, s->oh, s->sh, reach_of(s->kh, s->dh)),
                                         behind(s->iw, s->left, s->ow, s->sw, reach_of(s->kw, s->dw))},
                                .groups = groups};
    artel__hlo_value w = artel__hlo_reshape(lower->hlo, lower->in[1], &weights);
    finish(&c, convolve(&c, in_image(&c, 0), w, &window, &out), c.attributes->bias ? lower->in[2] : -1);
}

/* `turned`: [kh][kw][oc / groups][ic], taps in the order of the forward weights. */
static artel__hlo_value data(const conv *c, artel__hlo_value turned, int64_t groups)
{
    const artel__conv2d_shape *s = c->shape;
    artel__hlo_type out = image(c->images, s->ih, s->iw, s->ic);
    int64_t reach_h = reach_of(s->kh, s->dh), reach_w = reach_of(s->kw, s->dw), low_h = reach_h - 1 - s->top,
            low_w = reach_w - 1 - s->left;
    int64_t tall = s->oh > 0 ? reach_of(s->oh, s->sh) : 0, wide = s->ow > 0 ? reach_of(s->ow, s->sw) : 0;
    artel__hlo_window window = {
        .numbers = FORWARD,
        .axes = 2,
        .spread = {s->sh, s->sw},
        .dilate = {s->dh, s->dw},
        .low = {low_h, low_w},
        .high = {behind(tall, low_h, s->ih, 1, reach_h), behind(wide, low_w, s->iw, 1, reach_w)},
        .reverse = s->kh * s->kw > 1,
        .groups = groups};
    return convolve(c, out_image(c, 0), turned, &window, &out);
}

void artel__lower_conv(artel__lower *lower)
{
    forward(lower, ((const artel__conv_attributes *)lower->attributes)->shape.groups);
}

/* The transposed weights come with their taps turned; the window turns them, which devices know as a gradient. */
static artel__hlo_value data_of(const conv *c)
{
    const artel__conv2d_shape *s = c->shape;
    artel__hlo *h = c->lower->hlo;
    artel__hlo_type taps = {.rank = 3, .dim = {s->kh * s->kw, s->oc / s->groups, s->ic}};
    artel__hlo_type turned = image(s->kh, s->kw, s->oc / s->groups, s->ic);
    artel__hlo_value w = artel__hlo_reshape(h, c->lower->in[1], &taps);
    if (taps.dim[0] > 1) w = artel__hlo_reverse(h, w, 0);
    return data(c, artel__hlo_reshape(h, w, &turned), s->groups);
}

/* Bias and activation of the node are the forward one's. */
void artel__lower_conv_data(artel__lower *lower)
{
    conv c = begin(lower, true);
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, data_of(&c), &out);
}

void artel__lower_conv_transpose(artel__lower *lower)
{
    conv c = begin(lower, true);
    finish(&c, data_of(&c), c.attributes->bias ? lower->in[3] : -1);
}

static void weights(artel__lower *lower, int64_t groups)
{
    conv c = begin(lower, false);
    const artel__conv2d_shape *s = c.shape;
    artel__hlo *h = lower->hlo;
    artel__hlo_type to = image(s->kh, s->kw, s->ic / groups, s->oc), out = artel__lower_out_type(lower, 0);
    artel__hlo_value dy = out_image(&c, 1);
    artel__hlo_window window = {.numbers = WEIGHTS,
                                .axes = 2,
                                .stride = {s->dh, s->dw},
                                .dilate = {s->sh, s->sw},
                                .low = {s->top, s->left},
                                .high = {behind(s->ih, s->top, s->kh, s->dh, reach_of(s->oh, s->sh)),
                                         behind(s->iw, s->left, s->kw, s->dw, reach_of(s->ow, s->sw))},
                                .batch_groups = groups};
    lower->out[0] = artel__hlo_reshape(h, convolve(&c, in_image(&c, 0), dy, &window, &to), &out);
    if (c.attributes->bias) lower->out[1] = artel__hlo_reduce(h, "add", 0, dy, 7);
}

void artel__lower_conv_weights(artel__lower *lower)
{
    weights(lower, ((const artel__conv_attributes *)lower->attributes)->shape.groups);
}

/* -- depthwise: as many groups as channels -- */

void artel__lower_depthwise(artel__lower *lower)
{
    forward(lower, ((const artel__conv_attributes *)lower->attributes)->shape.ic);
}

void artel__lower_depthwise_data(artel__lower *lower)
{
    conv c = begin(lower, true);
    const artel__conv2d_shape *s = c.shape;
    artel__hlo_type plain = image(s->kh, s->kw, s->ic, s->oc / s->ic);
    artel__hlo_value w = artel__hlo_reshape(lower->hlo, lower->in[1], &plain);
    artel__hlo_value y = data(&c, artel__hlo_transpose(lower->hlo, w, (int[]){0, 1, 3, 2}), s->ic);
    artel__hlo_type out = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, y, &out);
}

void artel__lower_depthwise_weights(artel__lower *lower)
{
    weights(lower, ((const artel__conv_attributes *)lower->attributes)->shape.ic);
}
