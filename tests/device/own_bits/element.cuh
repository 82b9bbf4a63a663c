/* SPDX-License-Identifier: Apache-2.0 */
/* One output element (or one position, one channel of a row) of each kernel kind, for host and device, in the order that the header of
 * the kind prescribes: compute(p, i) for i below elements(p). The parameters are those of artel's kernels. */
#ifndef OWN_BITS_ELEMENT_CUH
#define OWN_BITS_ELEMENT_CUH

#include "artel.cuh"
#include "ported.cuh"

/* -- sums -- */

/* The tree over the shards of a node; leaf(v) is normalised by the caller, add(left, right) gives the inner node. */
template <class Value, class Leaf, class Add> HD Value fold_tree(artel__fold_node node, Leaf leaf, Add add)
{
    Value waiting[13];
    int top = 0;
    for (int32_t v = 0; v < node.count; v++) {
        Value sum = leaf(node.first + v);
        for (int32_t full = v; full & 1; full >>= 1) sum = add(waiting[--top], sum);
        waiting[top++] = sum;
    }
    return waiting[0];
}

template <class Value> struct plus {
    HD Value operator()(Value left, Value right) const
    {
        return left + right;
    }
};

/* 16 lanes and their tree. */
struct lanes {
    float lane[16] = {0};
    HD void add(int64_t i, float v)
    {
        lane[i % 16] = lane[i % 16] + v;
    }
    HD float total()
    {
        for (int half = 8; half > 0; half /= 2)
            for (int i = 0; i < half; i++) lane[i] = lane[i] + lane[i + half];
        return lane[0];
    }
};

/* -- element-wise -- */

HD int64_t elements(const artel__unary_forward &p)
{
    return p.count;
}

HD void compute(const artel__unary_forward &p, int64_t i)
{
    float y = 0.0f;
    switch (p.op) {
#define UNARY(name, function, reads, formula)          \
    case ARTEL__UNARY_##name:                          \
        y = forward_##function(p.x[i], p.a, p.b, p.c); \
        break;
#include "kernel/unary.list"
#undef UNARY
    default: break;
    }
    p.y[i] = y;
}

HD int64_t elements(const artel__unary_gradient &p)
{
    return p.count;
}

/* What the gradient reads beside dy. */
#define READ_NONE p.dy[i]
#define READ_X p.x[i]
#define READ_Y p.y[i]

HD void compute(const artel__unary_gradient &p, int64_t i)
{
    float dx = 0.0f;
    switch (p.op) {
#define UNARY(name, function, reads, formula)                           \
    case ARTEL__UNARY_##name:                                           \
        dx = backward_##function(READ_##reads, p.dy[i], p.a, p.b, p.c); \
        break;
#include "kernel/unary.list"
#undef UNARY
    default: break;
    }
    p.dx[i] = dx;
}

/* Dense operands only. */
HD int64_t elements(const artel__binary_forward &p)
{
    return p.loop.dim[0];
}

HD void compute(const artel__binary_forward &p, int64_t i)
{
    float y = 0.0f;
    switch (p.op) {
#define BINARY(name, function)                 \
    case ARTEL__BINARY_##name:                 \
        y = binary_##function(p.a[i], p.b[i]); \
        break;
#include "kernel/binary.list"
#undef BINARY
    default: break;
    }
    p.out[i] = y;
}

HD int64_t elements(const artel__binary_gradient &p)
{
    return p.loop.dim[0];
}

HD void compute(const artel__binary_gradient &p, int64_t i)
{
    float y = 0.0f, a = p.a[i], b = p.b[i], d = p.dout[i];
    switch (p.op) {
#define BINARY(name, function)                                                       \
    case ARTEL__BINARY_##name:                                                       \
        y = p.wrt ? binary_##function##_b(a, b, d) : binary_##function##_a(a, b, d); \
        break;
#include "kernel/binary.list"
#undef BINARY
    default: break;
    }
    p.gradient[i] = y;
}

/* Noise of the row's own shape, of one axis. */
HD int64_t elements(const artel__noise &p)
{
    return p.rows * p.dim[0];
}

HD void compute(const artel__noise &p, int64_t i)
{
    noise_constants k = {p.rate, p.scale, p.shift, p.other};
    int64_t logical = i % p.dim[0];
    uint32_t word[4];
    float pair[2], draw;
    ported::ported_rng_block(p.key, p.batch, p.node, (uint32_t)(p.first_row + i / p.dim[0]), (uint64_t)logical / 4, word);
    if (noise_is_normal(p.op)) {
        ported::ported_rng_normal_pair(word[(logical % 4) & ~1], word[(logical % 4) | 1], pair);
        draw = pair[logical % 2];
    } else {
        draw = artel__rng_uniform(word[logical % 4]);
    }
    p.y[i] = noise_element(p.op, p.op == ARTEL__NOISE_UNIFORM ? 0.0f : p.x[i], draw, &k);
}

/* -- products -- */

HD float finish(artel__fused activation, artel_dtype narrow, float x)
{
    if (activation == ARTEL__FUSED_RELU && x < 0.0f) x = 0.0f;
    return narrow == ARTEL_DTYPE_BFLOAT16 ? narrow_to_bfloat16(x) : narrow == ARTEL_DTYPE_FLOAT16 ? narrow_to_float16(x) : x;
}

HD int64_t elements(const artel__product_forward &p)
{
    return p.m * p.n;
}

HD void compute(const artel__product_forward &p, int64_t o)
{
    int64_t i = o / p.n, j = o % p.n;
    const float *a = p.a + i * p.lda, *w = p.w + artel__product_weight(&p, 0, j);
    int64_t next = p.turned ? 1 : artel__panel_width(p.n, j / ARTEL__PANEL);
    float acc = 0.0f;
    if (p.arithmetic == ARTEL__ARITHMETIC_TILES || p.turned) {
        artel__terms sum = {.arithmetic = p.arithmetic};
        for (int64_t r = 0; r < p.k; r++) artel__terms_add(&sum, a[r], p.w[artel__product_weight(&p, r, j)]);
        acc = artel__terms_end(&sum);
    } else {
        for (int64_t r = 0; r < p.k; r++) acc = fmaf(a[r], w[r * next], acc);
    }
    if (p.bias) acc += p.bias[j];
    p.out[i * p.ldo + j] = finish(p.activation, p.narrow, acc);
}

/* The transposed form of panels: element (row k, column n) of the result. */
HD int64_t elements(const artel__product_pack &p)
{
    return artel__pack_transposed_floats(p.taps, p.rows, p.columns, p.groups);
}

HD void compute(const artel__product_pack &p, int64_t at)
{
    int64_t wide = p.columns / p.groups, depth = p.taps * wide, n = p.rows * p.groups;
    int64_t panel = at / (ARTEL__PANEL * depth), width = artel__panel_width(n, panel), rest = at - panel * ARTEL__PANEL * depth;
    int64_t k = rest / width, column = panel * ARTEL__PANEL + rest % width, tap = p.taps - 1 - k / wide;
    int64_t from = artel__panels_offset(p.taps * p.rows, p.columns, tap * p.rows + column % p.rows, column / p.rows * wide + k % wide);
    p.to[at] = column < n ? p.from[from] : 0.0f;
}

HD int64_t elements(const artel__product_weight_gradient &p)
{
    return p.fold->nodes * (p.k * artel__panels_floats(1, p.n) + (p.dbias ? p.n : 0));
}

HD void compute(const artel__product_weight_gradient &p, int64_t at)
{
    int64_t stored = artel__panels_floats(1, p.n), each = p.k * stored + (p.dbias ? p.n : 0), node = at / each, k = at % each / stored;
    int64_t n = at % each % stored;
    float sum = 0.0f;
    if (n < p.n) {
        auto leaf = [&](int32_t v) {
            artel__terms terms = {.arithmetic = p.arithmetic};
            for (int64_t r = artel__fold_begin(p.fold, v) * p.inner; r < artel__fold_end(p.fold, v) * p.inner; r++) {
                float dy = p.dy[r * p.ldy + n];
                if (k == p.k)
                    terms.acc += dy;
                else
                    artel__terms_add(&terms, p.x[r * p.ldx + k], dy);
            }
            return artel__terms_end(&terms) + 0.0f;
        };
        sum = fold_tree<float>(p.fold->node[node], leaf, plus<float>());
    }
    if (k == p.k)
        p.dbias[node * p.dbias_stride + n] = sum;
    else
        p.dw[node * p.dw_stride + artel__panels_offset(p.k, p.n, k, n)] = sum;
}

/* -- convolutions -- */

HD float pixel(const float *image, int64_t height, int64_t width, int64_t channels, int64_t y, int64_t x, int64_t c)
{
    return y < 0 || y >= height || x < 0 || x >= width ? 0.0f : image[(y * width + x) * channels + c];
}

/* Behind the chain of a convolution. */
HD float conv_finish(const artel__conv2d_shape &s, const float *bias, int64_t c, artel__fused activation, artel_dtype narrow, float acc)
{
    if (artel__conv_normalises(&s)) acc += 0.0f;
    if (bias) acc += bias[c];
    return finish(activation, narrow, acc);
}

HD int64_t elements(const artel__conv2d_forward &p)
{
    return p.shape.images * p.shape.oh * p.shape.ow * p.shape.oc;
}

HD void compute(const artel__conv2d_forward &p, int64_t o)
{
    const artel__conv2d_shape &s = p.shape;
    int64_t c = o % s.oc, x = o / s.oc % s.ow, y = o / s.oc / s.ow % s.oh, n = o / s.oc / s.ow / s.oh;
    int64_t group_in = s.ic / s.groups, first = c / (s.oc / s.groups) * group_in, depth = s.kh * s.kw * group_in, k = 0;
    const float *image = p.x + n * s.ih * s.iw * s.ic;
    artel__terms sum = {.arithmetic = p.arithmetic};
    for (int64_t kh = 0; kh < s.kh; kh++)
        for (int64_t kw = 0; kw < s.kw; kw++)
            for (int64_t i = 0; i < group_in; i++, k++)
                artel__terms_add(&sum,
                                 pixel(image, s.ih, s.iw, s.ic, y * s.sh - s.top + kh * s.dh, x * s.sw - s.left + kw * s.dw, first + i),
                                 p.w[artel__panels_offset(depth, s.oc, k, c)]);
    p.out[o] = conv_finish(s, p.bias, c, p.activation, p.narrow, artel__terms_end(&sum));
}

HD int64_t elements(const artel__conv2d_data_gradient &p)
{
    return p.shape.images * p.shape.ih * p.shape.iw * p.shape.ic;
}

HD void compute(const artel__conv2d_data_gradient &p, int64_t at)
{
    const artel__conv2d_shape &s = p.shape;
    int64_t c = at % s.ic, x = at / s.ic % s.iw, y = at / s.ic / s.iw % s.ih, n = at / s.ic / s.iw / s.ih;
    int64_t group_out = s.oc / s.groups, first = c / (s.ic / s.groups) * group_out, depth = s.kh * s.kw * group_out;
    const float *image = p.dy + n * s.oh * s.ow * s.oc;
    artel__terms sum = {.arithmetic = p.arithmetic};
    for (int64_t kh = s.kh - 1; kh >= 0; kh--) {
        int64_t up = y + s.top - kh * s.dh;
        for (int64_t kw = s.kw - 1; kw >= 0 && up % s.sh == 0; kw--) {
            int64_t across = x + s.left - kw * s.dw, k = ((s.kh - 1 - kh) * s.kw + s.kw - 1 - kw) * group_out;
            if (across % s.sw != 0) continue;
            for (int64_t o = 0; o < group_out; o++, k++)
                artel__terms_add(&sum, pixel(image, s.oh, s.ow, s.oc, up / s.sh, across / s.sw, first + o),
                                 p.wt[artel__panels_offset(depth, s.ic, k, c)]);
        }
    }
    p.dx[at] = conv_finish(s, p.bias, c, p.activation, p.narrow, artel__terms_end(&sum));
}

HD int64_t elements(const artel__conv2d_weight_gradient &p)
{
    const artel__conv2d_shape &s = p.shape;
    int64_t depth = s.kh * s.kw * (s.ic / s.groups);
    return p.fold->nodes * (depth * artel__panels_floats(1, s.oc) + (p.dbias ? s.oc : 0));
}

HD void compute(const artel__conv2d_weight_gradient &p, int64_t at)
{
    const artel__conv2d_shape &s = p.shape;
    int64_t group_in = s.ic / s.groups, depth = s.kh * s.kw * group_in, stored = artel__panels_floats(1, s.oc);
    int64_t each = depth * stored + (p.dbias ? s.oc : 0), node = at / each, k = at % each / stored, n = at % each % stored;
    int64_t kh = k / (s.kw * group_in), kw = k / group_in % s.kw, c = n / (s.oc / s.groups) * group_in + k % group_in;
    float sum = 0.0f;
    if (n < s.oc) {
        auto leaf = [&](int32_t v) {
            artel__terms terms = {.arithmetic = p.arithmetic};
            for (int64_t i = artel__fold_begin(p.fold, v); i < artel__fold_end(p.fold, v); i++) {
                const float *image = p.x + i * s.ih * s.iw * s.ic, *dy = p.dy + i * s.oh * s.ow * s.oc + n;
                for (int64_t y = 0; y < s.oh; y++) {
                    for (int64_t x = 0; x < s.ow; x++, dy += s.oc) {
                        if (k == depth)
                            terms.acc += *dy;
                        else
                            artel__terms_add(&terms,
                                             pixel(image, s.ih, s.iw, s.ic, y * s.sh - s.top + kh * s.dh, x * s.sw - s.left + kw * s.dw, c),
                                             *dy);
                    }
                }
            }
            return artel__terms_end(&terms) + 0.0f;
        };
        sum = fold_tree<float>(p.fold->node[node], leaf, plus<float>());
    }
    if (k == depth)
        p.dbias[node * p.dbias_stride + n] = sum;
    else
        p.dw[node * p.dw_stride + artel__panels_offset(depth, s.oc, k, n)] = sum;
}

/* -- pooling -- */

HD artel__window window_of(const artel__pool_shape &s, int64_t o)
{
    return artel__window_at(&s, o / (s.out[1] * s.out[2]), o / s.out[2] % s.out[1], o % s.out[2]);
}

/* The i-th position of a window in row-major order, counted in positions. */
HD int64_t window_position(const artel__pool_shape &s, const artel__window &w, int64_t i)
{
    int64_t width = w.end[2] - w.begin[2], height = w.end[1] - w.begin[1];
    return ((w.begin[0] + i / width / height) * s.in[1] + w.begin[1] + i / width % height) * s.in[2] + w.begin[2] + i % width;
}

HD int64_t elements(const artel__pool_forward &p)
{
    return p.rows * artel__pool_out(&p.shape) * p.shape.channels;
}

HD void compute(const artel__pool_forward &p, int64_t at)
{
    const artel__pool_shape &s = p.shape;
    int64_t out = artel__pool_out(&s), o = at / s.channels % out, row = at / s.channels / out;
    const float *x = p.x + row * artel__pool_in(&s) * s.channels + at % s.channels;
    artel__window w = window_of(s, o);
    int64_t count = artel__window_count(&w);
    float y = p.op == ARTEL__POOL_MAX ? -INFINITY : 0.0f;
    for (int64_t i = 0; i < count; i++) {
        float v = x[window_position(s, w, i) * s.channels];
        y = p.op == ARTEL__POOL_MAX ? (v > y ? v : y) : y + v;
    }
    p.y[at] = p.op == ARTEL__POOL_MAX ? y : y / (float)count;
}

HD int64_t elements(const artel__pool_gradient &p)
{
    return p.rows * p.shape.channels;
}

/* A channel of a row; dx is not x here. */
HD void compute(const artel__pool_gradient &p, int64_t task)
{
    const artel__pool_shape &s = p.shape;
    int64_t in = artel__pool_in(&s), out = artel__pool_out(&s), c = task % s.channels, row = task / s.channels;
    const float *dy = p.dy + row * out * s.channels + c;
    bool max = p.op == ARTEL__POOL_MAX;
    const float *x = max ? p.x + row * in * s.channels + c : NULL, *y = max ? p.y + row * out * s.channels + c : NULL;
    float *dx = p.dx + row * in * s.channels + c;
    for (int64_t i = 0; i < in; i++) dx[i * s.channels] = 0.0f;
    for (int64_t o = 0; o < out; o++) {
        artel__window w = window_of(s, o);
        int64_t count = artel__window_count(&w), to = o * s.channels;
        for (int64_t i = 0; i < count; i++) {
            int64_t from = window_position(s, w, i) * s.channels;
            if (max && x[from] != y[to]) continue;
            dx[from] += max ? dy[to] : dy[to] / (float)count;
            if (max) break;
        }
    }
    for (int64_t i = 0; max && p.relu && i < in; i++)
        if (!(x[i * s.channels] > 0.0f)) dx[i * s.channels] = 0.0f * dx[i * s.channels];
}

/* -- batch normalisation -- */

HD int64_t elements(const artel__batch_moments_rows &p)
{
    return p.rows * p.channels;
}

HD void compute(const artel__batch_moments_rows &p, int64_t task)
{
    int64_t row = task / p.channels, c = task % p.channels;
    double sum = 0.0, square = 0.0;
    for (int64_t i = 0; i < p.inner; i++) {
        double v = (double)p.x[(row * p.inner + i) * p.channels + c];
        sum = sum + v;
        square = square + v * v;
    }
    p.part[row * 2 * p.channels + c] = sum;
    p.part[(row * 2 + 1) * p.channels + c] = square;
}

HD int64_t elements(const artel__batch_moments_fold &p)
{
    return p.fold->nodes * p.channels;
}

struct moments {
    double of[3];
};

HD void compute(const artel__batch_moments_fold &p, int64_t task)
{
    int64_t k = task / p.channels, c = task % p.channels;
    auto leaf = [&](int32_t v) {
        int64_t from = artel__fold_begin(p.fold, v), to = artel__fold_end(p.fold, v);
        double sum = 0.0, square = 0.0;
        for (int64_t r = from; r < to; r++) {
            sum = sum + p.part[r * 2 * p.channels + c];
            square = square + p.part[(r * 2 + 1) * p.channels + c];
        }
        moments block = {{(double)((to - from) * p.inner), 0.0, 0.0}};
        moments_leaf(block.of[0], sum, square, &block.of[1], &block.of[2]);
        return block;
    };
    auto merge = [](moments left, moments right) {
        artel__moments_merge(left.of, right.of, 1);
        return left;
    };
    moments block = fold_tree<moments>(p.fold->node[k], leaf, merge);
    for (int i = 0; i < 3; i++) p.nodes[(k * 3 + i) * p.channels + c] = block.of[i];
}

HD int64_t elements(const artel__batch_norm_finalize &p)
{
    return p.channels;
}

HD void compute(const artel__batch_norm_finalize &p, int64_t c)
{
    double n = p.root[c], variance = n > 0 ? p.root[2 * p.channels + c] / n : 0.0;
    if (p.mean) p.mean[c] = (float)p.root[p.channels + c];
    if (p.variance) p.variance[c] = (float)variance;
    if (p.inverse) p.inverse[c] = (float)(1.0 / sqrt(variance + p.epsilon));
}

HD int64_t elements(const artel__batch_norm_moving &p)
{
    return p.channels;
}

HD void compute(const artel__batch_norm_moving &p, int64_t c)
{
    float keep = (float)p.momentum, take = (float)(1.0 - p.momentum);
    p.moving_mean[c] = p.moving_mean[c] * keep + p.mean[c] * take;
    p.moving_variance[c] = p.moving_variance[c] * keep + p.variance[c] * take;
}

HD int64_t elements(const artel__batch_norm_forward &p)
{
    return p.positions * p.channels;
}

HD void compute(const artel__batch_norm_forward &p, int64_t i)
{
    int64_t c = i % p.channels;
    float scale = p.gamma ? p.inverse[c] * p.gamma[c] : p.inverse[c];
    float v = norm_forward(p.x[i], p.mean[c], scale, p.beta ? p.beta[c] : 0.0f);
    p.y[i] = norm_activate(p.activation, p.residual ? v + p.residual[i] : v);
}

HD int64_t elements(const artel__batch_norm_gradient_rows &p)
{
    return p.rows * p.channels;
}

HD void compute(const artel__batch_norm_gradient_rows &p, int64_t task)
{
    int64_t row = task / p.channels, c = task % p.channels;
    double sum = 0.0, product = 0.0;
    for (int64_t k = 0; k < p.inner; k++) {
        int64_t i = (row * p.inner + k) * p.channels + c;
        float d = norm_mask(p.activation, p.activation ? p.y[i] : 0.0f, p.dy[i]), xhat = (p.x[i] - p.mean[c]) * p.inverse[c];
        sum = sum + (double)d;
        product = product + (double)d * (double)xhat;
    }
    p.part[row * 2 * p.channels + c] = sum;
    p.part[(row * 2 + 1) * p.channels + c] = product;
}

HD int64_t elements(const artel__batch_norm_gradient &p)
{
    return p.positions * p.channels;
}

HD void compute(const artel__batch_norm_gradient &p, int64_t i)
{
    int64_t c = i % p.channels;
    float d = norm_mask(p.activation, p.activation ? p.y[i] : 0.0f, p.dy[i]);
    float mean_d = p.sums ? (float)(p.sums[c] / p.count) : 0.0f;
    float mean_dx = p.sums ? (float)(p.sums[p.channels + c] / p.count) : 0.0f;
    float scale = p.gamma ? p.gamma[c] * p.inverse[c] : p.inverse[c];
    p.dx[i] = norm_backward(p.x[i], d, p.mean[c], p.inverse[c], scale, mean_d, mean_dx);
    if (p.dresidual) p.dresidual[i] = d;
}

/* -- softmax -- */

/* 16 lanes along the last axis, one chain along another. */
struct row_sum {
    lanes l;
    bool last;
    HD void add(int64_t i, float v)
    {
        l.add(last ? i : 0, v);
    }
    HD float total()
    {
        return last ? l.total() : l.lane[0];
    }
};

HD int64_t elements(const artel__softmax_forward &p)
{
    return p.outer * p.inner;
}

HD void compute(const artel__softmax_forward &p, int64_t task)
{
    int64_t at = task / p.inner * p.length * p.inner + task % p.inner, stride = p.inner;
    const float *x = p.x + at;
    float *y = p.y + at, m = x[0];
    row_sum s = {{}, p.inner == 1};
    for (int64_t i = 0; i < p.length; i++) m = artel__maxf(x[i * stride], m);
    for (int64_t i = 0; i < p.length; i++) s.add(i, artel__expf(x[i * stride] - m));
    float all = s.total();
    for (int64_t i = 0; i < p.length; i++) {
        float v = x[i * stride] - m;
        y[i * stride] = p.op == ARTEL__SOFTMAX ? artel__expf(v) * (1.0f / all) : v - artel__logf(all);
    }
}

HD int64_t elements(const artel__softmax_gradient &p)
{
    return p.outer * p.inner;
}

HD void compute(const artel__softmax_gradient &p, int64_t task)
{
    int64_t at = task / p.inner * p.length * p.inner + task % p.inner, stride = p.inner;
    const float *y = p.y + at, *dy = p.dy + at;
    bool logarithm = p.op == ARTEL__LOG_SOFTMAX;
    row_sum s = {{}, p.inner == 1};
    for (int64_t i = 0; i < p.length; i++) s.add(i, logarithm ? dy[i * stride] : dy[i * stride] * y[i * stride]);
    float all = s.total();
    for (int64_t i = 0; i < p.length; i++) {
        float v = y[i * stride], d = dy[i * stride];
        p.dx[at + i * stride] = logarithm ? d - artel__expf(v) * all : (d - all) * v;
    }
}

/* -- losses: the element-wise ones, and those with one class a position -- */

HD float loss_target(const artel__loss_input &in, int64_t at)
{
    return in.target_dtype == ARTEL_DTYPE_INT32 ? (float)((const int32_t *)in.target)[at] : ((const float *)in.target)[at];
}

HD bool loss_has_logits(artel__loss op)
{
    return op == ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS;
}

HD float loss_largest(const artel__loss_input &in, const float *x)
{
    float m = x[0];
    for (int64_t i = 0; i < in.length; i++) m = artel__maxf(x[i], m);
    return m;
}

/* The sum of exp(x - m), or of clipped probabilities. */
HD float loss_row_sum(const artel__loss_input &in, const float *x, float m)
{
    lanes l;
    for (int64_t i = 0; i < in.length; i++)
        l.add(i, loss_has_logits(in.op) ? artel__expf(x[i] - m) : loss_clip(x[i], LOSS_EPSILON, LOSS_ALMOST_ONE));
    return l.total();
}

HD int64_t elements(const artel__loss_forward &p)
{
    return p.in.positions;
}

HD void compute(const artel__loss_forward &p, int64_t at)
{
    const artel__loss_input &in = p.in;
    const float *x = in.prediction + at * in.length;
    if (loss_is_element(in.op)) {
        loss_constants k = loss_constants_of(&in);
        lanes l;
        for (int64_t i = 0; i < in.length; i++) l.add(i, loss_element(in.op, loss_target(in, at * in.length + i), x[i], &k));
        p.value[at] = loss_factor(in.op) * l.total() / loss_divisor(&in);
        return;
    }
    int64_t wanted = loss_class(&in, at);
    p.value[at] = 0.0f;
    if (wanted < 0) return;
    if (!loss_has_logits(in.op)) {
        p.value[at] = artel__logf(loss_row_sum(in, x, 0.0f)) - artel__logf(loss_clip(x[wanted], LOSS_EPSILON, LOSS_ALMOST_ONE));
        return;
    }
    float m = loss_largest(in, x);
    p.value[at] = artel__logf(loss_row_sum(in, x, m)) - (x[wanted] - m);
}

HD int64_t elements(const artel__loss_gradient &p)
{
    return p.in.positions;
}

HD void compute(const artel__loss_gradient &p, int64_t at)
{
    const artel__loss_input &in = p.in;
    const float *x = in.prediction + at * in.length;
    float *out = p.gradient + at * in.length, upstream = p.upstream[at];
    if (loss_is_element(in.op)) {
        loss_constants k = loss_constants_of(&in);
        float share = upstream * loss_factor(in.op) / loss_divisor(&in);
        for (int64_t i = 0; i < in.length; i++) out[i] = share * loss_element_slope(in.op, loss_target(in, at * in.length + i), x[i], &k);
        return;
    }
    int64_t wanted = loss_class(&in, at);
    bool logits = loss_has_logits(in.op);
    float m = logits && wanted >= 0 ? loss_largest(in, x) : 0.0f;
    float scale = wanted < 0 ? 0.0f : 1.0f / loss_row_sum(in, x, m);
    for (int64_t i = 0; i < in.length; i++) {
        float c = loss_clip(x[i], LOSS_EPSILON, LOSS_ALMOST_ONE), share = (logits ? artel__expf(x[i] - m) : c) * scale;
        float slope = i == wanted ? share - 1.0f : share;
        if (!logits) slope = c == x[i] ? slope / c : 0.0f;
        out[i] = wanted < 0 ? 0.0f : upstream * slope;
    }
}

/* Without weights. */
HD int64_t elements(const artel__loss_seed_kernel &p)
{
    return p.rows * p.inner;
}

HD void compute(const artel__loss_seed_kernel &p, int64_t i)
{
    double divisor = p.denominator ? *p.denominator : p.count;
    float factor = divisor == 0 ? 0.0f : (float)(p.scale / divisor);
    p.out[i] = factor * 1.0f;
}

/* -- folds of columns: float32, and into float64 -- */

HD int64_t elements(const artel__fold_columns &p)
{
    return p.fold->nodes * p.columns;
}

HD double fold_input(const artel__fold_columns &p, int64_t at)
{
    return p.from == ARTEL_DTYPE_FLOAT64 ? ((const double *)p.x)[at] : (double)((const float *)p.x)[at];
}

HD void compute(const artel__fold_columns &p, int64_t task)
{
    int64_t k = task / p.columns, column = task % p.columns, at = k * p.y_stride + column;
    auto narrow = [&](int32_t v) {
        float sum = 0.0f;
        for (int64_t r = artel__fold_begin(p.fold, v); r < artel__fold_end(p.fold, v); r++) {
            float row = 0.0f;
            for (int64_t i = 0; i < p.inner; i++) row = row + ((const float *)p.x)[(r * p.inner + i) * p.columns + column];
            sum = sum + row;
        }
        return sum + 0.0f;
    };
    auto wide = [&](int32_t v) {
        double sum = 0.0;
        for (int64_t r = artel__fold_begin(p.fold, v); r < artel__fold_end(p.fold, v); r++) {
            double row = 0.0;
            for (int64_t i = 0; i < p.inner; i++) row = row + fold_input(p, (r * p.inner + i) * p.columns + column);
            sum = sum + row;
        }
        return sum + 0.0;
    };
    if (p.to == ARTEL_DTYPE_FLOAT32)
        ((float *)p.y)[at] = fold_tree<float>(p.fold->node[k], narrow, plus<float>());
    else
        ((double *)p.y)[at] = fold_tree<double>(p.fold->node[k], wide, plus<double>());
}

/* From float64 to float32 only. */
HD int64_t elements(const artel__cast &p)
{
    return p.count;
}

HD void compute(const artel__cast &p, int64_t i)
{
    ((float *)p.y)[i] = (float)((const double *)p.x)[i];
}

/* -- optimizers -- */

HD int64_t elements(const artel__apply &p)
{
    return p.count;
}

HD struct element rule_of(const artel__apply &p, rule_flags flags, struct element e)
{
    switch (p.rule) {
#define RULE(NAME, name, ...) \
    case ARTEL__RULE_##NAME: return apply_##name(p.scalar, p.rate, flags, e);
#include "kernel/optimizers.list"
#undef RULE
    case ARTEL__RULE_COUNT: break;
    }
    return e;
}

HD void compute(const artel__apply &p, int64_t i)
{
    rule_flags flags = {p.has_momentum, p.nesterov, p.centered, p.amsgrad, p.held, p.squares != nullptr};
    float g = apply_clip(&p, p.gradient[i]);
    struct element e = {p.variable[i], g, p.squares ? apply_clip_square(&p, p.squares[i]) : g * g, {0}};
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) e.slot[k] = p.slot[k] ? p.slot[k][i] : 0.0f;
    if (p.decay != 0.0f) e.w = apply_decay(flags, e.w, p.decay, p.rate);
    e = rule_of(p, flags, e);
    p.variable[i] = e.w;
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++)
        if (p.slot[k]) p.slot[k][i] = e.slot[k];
}

HD int64_t elements(const artel__flat &p)
{
    return p.count;
}

HD void compute(const artel__flat &p, int64_t i)
{
    p.y[i] = flat_element(p.op, p.x[i], p.op <= ARTEL__FLAT_AVERAGE ? p.y[i] : 0.0f, p.a, p.b);
}

#endif
