/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions: fast against reference bit for bit over random and edge shapes, the adjoint identities in float64,
 * folds under any distribution of shards. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/conv.h"
#include "kernel/narrow.h"

typedef artel__conv2d_shape shape;

/* Three before the last five: pointwise with strides, deep, with pixels that collide in the cache, both. The last five
 * have lines so long that weight gradients read them in place: padded, strided, with taps apart, without padding,
 * beyond the image. */
static const shape cases[] = {
    /* images ih iw ic oh ow oc kh kw sh sw dh dw top left groups */
    {2, 28, 28, 1, 26, 26, 32, 3, 3, 1, 1, 1, 1, 0, 0, 1},  {3, 14, 14, 32, 14, 14, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1},
    {2, 33, 31, 3, 17, 16, 64, 7, 7, 2, 2, 1, 1, 3, 3, 1},  {5, 7, 7, 20, 7, 7, 33, 3, 3, 1, 1, 1, 1, 1, 1, 1},
    {4, 7, 7, 64, 7, 7, 48, 1, 1, 1, 1, 1, 1, 0, 0, 1},     {2, 15, 15, 24, 8, 8, 36, 1, 1, 2, 2, 1, 1, 0, 0, 1},
    {3, 17, 17, 18, 17, 17, 16, 1, 7, 1, 1, 1, 1, 0, 3, 1}, {3, 17, 17, 18, 17, 17, 16, 7, 1, 1, 1, 1, 1, 3, 0, 1},
    {2, 12, 13, 6, 8, 9, 10, 3, 3, 1, 1, 2, 2, 0, 0, 1},    {2, 9, 8, 12, 9, 8, 20, 3, 3, 1, 1, 1, 1, 1, 1, 4},
    {2, 9, 8, 80, 5, 4, 80, 3, 3, 2, 2, 1, 1, 1, 1, 2},     {1, 3, 2, 5, 9, 10, 7, 2, 2, 1, 1, 1, 1, 4, 5, 1},
    {1, 2, 2, 3, 1, 1, 4, 5, 5, 1, 1, 1, 1, 1, 1, 1},       {2, 1, 300, 4, 1, 296, 9, 1, 5, 1, 1, 1, 1, 0, 0, 1},
    {2, 6, 6, 4, 2, 2, 5, 2, 2, 3, 4, 1, 1, 0, 0, 1},       {2, 10, 10, 4, 3, 4, 5, 3, 2, 3, 2, 2, 3, 1, 1, 1},
    {0, 5, 5, 2, 3, 3, 4, 3, 3, 1, 1, 1, 1, 0, 0, 1},       {2, 2, 2, 3, 0, 0, 4, 3, 3, 1, 1, 1, 1, 0, 0, 1},
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1},       {2, 4, 4, 0, 4, 4, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1},
    {3, 5, 3, 7, 5, 3, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1},       {16, 7, 7, 12, 7, 7, 33, 3, 3, 1, 1, 1, 1, 1, 1, 1},
    {1, 1, 40, 600, 1, 40, 20, 1, 3, 1, 1, 1, 1, 0, 1, 1},  {2, 5, 9, 1030, 3, 5, 20, 1, 1, 2, 2, 1, 1, 0, 0, 1},
    {1, 3, 5, 512, 2, 3, 1024, 1, 1, 2, 2, 1, 1, 0, 0, 1},  {1, 1, 37, 8, 1, 19, 2048, 1, 1, 2, 2, 1, 1, 0, 0, 1},
    {2, 5, 50, 14, 5, 50, 20, 3, 3, 1, 1, 1, 1, 1, 1, 1},   {3, 7, 100, 28, 4, 50, 40, 3, 5, 2, 2, 1, 1, 1, 2, 1},
    {2, 6, 60, 9, 4, 56, 17, 3, 3, 1, 1, 1, 2, 0, 0, 1},    {2, 4, 52, 32, 2, 50, 33, 3, 3, 1, 1, 1, 1, 0, 0, 1},
    {2, 3, 49, 17, 7, 53, 8, 3, 3, 1, 1, 2, 1, 4, 3, 1},
};

static int64_t depth_of(const shape *s)
{
    return s->kh * s->kw * (s->ic / s->groups);
}

static float *filled(int64_t count, float value)
{
    float *x = check_alloc((size_t)count * sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = value;
    return x;
}

typedef struct operands {
    float *x, *dy, *w, *wt;
    int64_t inputs, outputs, weights;
    artel_dtype held;
    artel__arithmetic arithmetic;
} operands;

static operands operands_make(check_random *random, const shape *s)
{
    operands o = {.inputs = s->images * s->ih * s->iw * s->ic,
                  .outputs = s->images * s->oh * s->ow * s->oc,
                  .weights = artel__panels_floats(depth_of(s), s->oc)};
    int64_t rows = s->ic / s->groups;
    o.x = check_floats(random, o.inputs, -1, 1);
    o.dy = check_floats(random, o.outputs, -1, 1);
    o.w = filled(o.weights, 0);
    for (int64_t k = 0; k < depth_of(s); k++) {
        for (int64_t n = 0; n < s->oc; n++)
            o.w[artel__panels_offset(depth_of(s), s->oc, k, n)] = check_uniform(random, -1, 1);
    }
    o.wt = filled(artel__pack_transposed_floats(s->kh * s->kw, rows, s->oc, s->groups), 0);
    artel__product_pack pack = {ARTEL__PACK_TRANSPOSE, s->kh * s->kw, rows, s->oc, s->groups, o.w, o.wt};
    check_run_reference(artel__product_pack_kernels, &pack);
    return o;
}

static int64_t turned_weights(const shape *s)
{
    return artel__pack_transposed_floats(s->kh * s->kw, s->ic / s->groups, s->oc, s->groups);
}

static void operands_narrow(const shape *s, operands *o, artel_dtype to)
{
    o->held = to;
    check_narrow(to, o->x, o->x, o->inputs);
    check_narrow(to, o->dy, o->dy, o->outputs);
    check_narrow(to, o->w, o->w, o->weights);
    check_narrow(to, o->wt, o->wt, turned_weights(s));
}

static void operands_free(operands *o)
{
    check_free(o->x);
    check_free(o->dy);
    check_free(o->w);
    check_free(o->wt);
}

/* <a, b> in float64. */
static double dot(const float *a, const float *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

/* <dy, conv(x, w)> = <dx, x> = <dw, w>: any wrong index in one of the three breaks it. */
static void check_adjoint(const shape *s, const operands *o, const float *out, const float *dx, const float *dw)
{
    double forward = dot(o->dy, out, o->outputs), data = dot(dx, o->x, o->inputs), weight = dot(dw, o->w, o->weights);
    double size = 1 + sqrt((double)o->outputs * (double)(depth_of(s) + 1));
    assert_true(fabs(forward - data) < 1e-4 * size);
    assert_true(fabs(forward - weight) < 1e-4 * size);
}

/* With `bias` a ReLU follows it, and results are rounded. */
static void sweep_case(const shape *s, const operands *o, const float *bias, float *out, float *dx)
{
    artel__fused activation = bias ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE;
    check_buffer buffer = {out, (size_t)o->outputs * sizeof(float)};
    artel__conv2d_forward f = {
        *s,      o->x,          o->w,  bias,  activation, out, bias ? ARTEL_DTYPE_BFLOAT16 : ARTEL_DTYPE_FLOAT32,
        o->held, o->arithmetic, false, false, false};
    check_kernels(artel__conv2d_forward_kernels, &f, &buffer, 1);
    buffer = (check_buffer){dx, (size_t)o->inputs * sizeof(float)};
    artel__conv2d_data_gradient d = {
        *s,      o->dy,         o->wt, bias,  activation, dx, bias ? ARTEL_DTYPE_FLOAT16 : ARTEL_DTYPE_FLOAT32,
        o->held, o->arithmetic, false, false, false};
    check_kernels(artel__conv2d_data_gradient_kernels, &d, &buffer, 1);
}

/* The gradient of the images that one replica owns, `each` of them a row. */
static void weight_part(const shape *s, int64_t each, const operands *o, int32_t shards, int32_t first, int32_t count,
                        check_part *part)
{
    int64_t block = o->weights + s->oc;
    check_plan_init(&part->plan, shards, first, count, s->images / each);
    part->block_bytes = (size_t)block * sizeof(float);
    float *out = filled(block * part->plan.nodes, 7.0f);
    part->blocks = out;
    artel__conv2d_weight_gradient p = {*s,
                                       &part->plan,
                                       o->x + part->plan.row * each * s->ih * s->iw * s->ic,
                                       o->dy + part->plan.row * each * s->oh * s->ow * s->oc,
                                       out,
                                       block,
                                       out + o->weights,
                                       block,
                                       o->held,
                                       {0},
                                       o->arithmetic,
                                       false,
                                       false};
    p.shape.images = part->plan.rows * each;
    check_buffer buffer = {out, part->block_bytes * (size_t)part->plan.nodes};
    check_kernels(artel__conv2d_weight_gradient_kernels, &p, &buffer, 1);
    p.dw = NULL;
    check_followed(artel__conv2d_weight_gradient_kernels, &p, &p.follow, out, o->weights);
}

static void weight_root(const shape *s, int64_t each, const operands *o, int32_t shards, int replicas, float *root)
{
    check_part part[8] = {0};
    for (int r = 0; r < replicas; r++) {
        int32_t first = artel__replica_first_shard(shards, replicas, r);
        weight_part(s, each, o, shards, first, artel__replica_first_shard(shards, replicas, r + 1) - first, &part[r]);
    }
    check_finish(part, replicas, o->weights + s->oc, check_add_floats, root);
    for (int r = 0; r < replicas; r++) {
        check_plan_fini(&part[r].plan);
        check_free(part[r].blocks);
    }
}

static void all_of(check_random *random, const shape *s)
{
    operands o = operands_make(random, s);
    float *out = filled(o.outputs, 7), *dx = filled(o.inputs, 7), *dw = filled(o.weights + s->oc, 7),
          *again = filled(o.weights + s->oc, 8);
    float *bias = check_floats(random, s->oc + s->ic, -1, 1);
    sweep_case(s, &o, bias, out, dx);
    sweep_case(s, &o, NULL, out, dx);
    weight_root(s, 1, &o, 8, 1, dw);
    weight_root(s, 1, &o, 8, 3, again);
    assert_memory_equal(dw, again, (size_t)(o.weights + s->oc) * sizeof(float));
    check_adjoint(s, &o, out, dx, dw);
    if (s->images > 1) { /* rows that are several images */
        int64_t each = s->images % 2 ? s->images : 2;
        weight_root(s, each, &o, 8, 1, dw);
        weight_root(s, each, &o, 8, 3, again);
        assert_memory_equal(dw, again, (size_t)(o.weights + s->oc) * sizeof(float));
        check_adjoint(s, &o, out, dx, dw);
    }
    operands_narrow(s, &o, ARTEL_DTYPE_BFLOAT16);
    sweep_case(s, &o, bias, out, dx);
    sweep_case(s, &o, NULL, out, dx);
    weight_root(s, 1, &o, 8, 1, dw);
    weight_root(s, 1, &o, 4, 2, again);
    o.arithmetic = ARTEL__ARITHMETIC_TILES;
    if (s->groups > 1 || s->sh > 1) sweep_case(s, &o, bias, out, dx); /* else as products have it */
    sweep_case(s, &o, NULL, out, dx);
    weight_root(s, s->images % 2 || !s->images ? 1 : 2, &o, 8, s->images > 2 ? 3 : 1, dw);
    check_adjoint(s, &o, out, dx, dw);
    operands_free(&o);
    check_free(out);
    check_free(dx);
    check_free(dw);
    check_free(again);
    check_free(bias);
}

static void test_shapes(void **state)
{
    check_random random = {1};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) all_of(&random, &cases[i]);
}

static void test_random(void **state)
{
    check_random random = {2};
    (void)state;
    for (int i = 0; i < check_rounds(80); i++) {
        int64_t groups = i % 3 == 0 ? 1 + check_below(&random, 5) : 1, bottom = check_below(&random, 4),
                right = check_below(&random, 4);
        shape s = {.images = 1 + check_below(&random, 4),
                   .ih = 1 + check_below(&random, 18),
                   .iw = 1 + check_below(&random, 18),
                   .ic = groups * (1 + check_below(&random, 12)),
                   .oc = groups * (1 + check_below(&random, 24)),
                   .kh = 1 + check_below(&random, 5),
                   .kw = 1 + check_below(&random, 5),
                   .sh = 1 + check_below(&random, 3),
                   .sw = 1 + check_below(&random, 3),
                   .dh = 1 + check_below(&random, 3),
                   .dw = 1 + check_below(&random, 3),
                   .top = check_below(&random, 5),
                   .left = check_below(&random, 5),
                   .groups = groups};
        s.oh = artel__conv_extent(s.ih, s.kh, s.sh, s.dh, s.top, bottom);
        s.ow = artel__conv_extent(s.iw, s.kw, s.sw, s.dw, s.left, right);
        all_of(&random, &s);
    }
}

/* Taps so deep that those outside the image are left out one by one: pairs of short lines, tiles with one end of a line
 * and with both, groups, taps apart, strides, taps that reach nothing, a reduction that is cut, lines that end in the
 * middle of the kernel. */
static const shape deep[] = {
    {3, 7, 7, 64, 7, 7, 48, 3, 3, 1, 1, 1, 1, 1, 1, 1},    {2, 14, 14, 128, 14, 14, 40, 3, 3, 1, 1, 1, 1, 1, 1, 1},
    {1, 5, 31, 130, 5, 31, 70, 3, 3, 1, 1, 1, 1, 1, 1, 1}, {2, 8, 8, 192, 8, 8, 60, 3, 3, 1, 1, 1, 1, 1, 1, 2},
    {2, 9, 9, 100, 9, 9, 33, 3, 3, 1, 1, 2, 2, 2, 2, 1},   {2, 13, 15, 64, 7, 8, 40, 3, 3, 2, 2, 1, 1, 1, 1, 1},
    {2, 2, 2, 128, 2, 2, 20, 5, 5, 1, 1, 1, 1, 2, 2, 1},   {1, 5, 6, 1500, 5, 6, 20, 3, 3, 1, 1, 1, 1, 1, 1, 1},
    {3, 6, 5, 90, 10, 9, 16, 5, 4, 1, 1, 1, 2, 4, 6, 1},   {2, 4, 17, 192, 4, 17, 33, 1, 7, 1, 1, 1, 1, 0, 3, 1},
};

/* Products of such operands vanish, with either sign, beside others that do not: a pixel outside the image may change
 * the sign of a zero. */
static void make_tiny(check_random *random, float *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) x[i] *= check_below(random, 8) == 0 ? 1e-16f : 1e-20f;
}

static void tiny_case(check_random *random, const shape *s)
{
    operands o = operands_make(random, s);
    float *out = filled(o.outputs, 7), *dx = filled(o.inputs, 7), *dw = filled(o.weights + s->oc, 7);
    make_tiny(random, o.x, o.inputs);
    make_tiny(random, o.dy, o.outputs);
    make_tiny(random, o.w, o.weights);
    make_tiny(random, o.wt, turned_weights(s));
    sweep_case(s, &o, NULL, out, dx);
    weight_root(s, 1, &o, 8, 1, dw);
    operands_narrow(s, &o, ARTEL_DTYPE_BFLOAT16);
    sweep_case(s, &o, NULL, out, dx);
    weight_root(s, 1, &o, 8, 1, dw);
    o.arithmetic = ARTEL__ARITHMETIC_TILES;
    sweep_case(s, &o, NULL, out, dx);
    weight_root(s, 1, &o, 8, 1, dw);
    operands_free(&o);
    check_free(out);
    check_free(dx);
    check_free(dw);
}

static void test_outside(void **state)
{
    static const shape padded[] = {{3, 5, 5, 1, 5, 5, 20, 3, 3, 1, 1, 1, 1, 1, 1, 1},
                                   {3, 5, 5, 2, 5, 5, 20, 5, 5, 1, 1, 1, 1, 2, 2, 1},
                                   {2, 3, 52, 1, 3, 52, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1},
                                   {3, 4, 4, 2, 6, 6, 33, 3, 3, 1, 1, 1, 1, 2, 2, 1}};
    check_random random = {4};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(deep); i++) all_of(&random, &deep[i]);
    for (size_t i = 0; i < ARTEL__COUNT(padded); i++) tiny_case(&random, &padded[i]);
    tiny_case(&random, &deep[0]);
}

/* Forward and data gradient of operands so large that what is read next is fetched; out and dx begin `offset` floats
 * behind a line. */
static void large_case(check_random *random, const shape *s, int offset)
{
    operands o = operands_make(random, s);
    float *block = filled((o.inputs > o.outputs ? o.inputs : o.outputs) + 32, 7);
    float *to = (float *)(((uintptr_t)block + 63) & ~(uintptr_t)63) + offset;
    check_buffer buffer = {to, (size_t)o.outputs * sizeof(float)};
    artel__conv2d_forward f = {*s,
                               o.x,
                               o.w,
                               NULL,
                               ARTEL__FUSED_NONE,
                               to,
                               ARTEL_DTYPE_FLOAT32,
                               ARTEL_DTYPE_FLOAT32,
                               ARTEL__ARITHMETIC_CHAIN,
                               false,
                               false,
                               false};
    check_kernels(artel__conv2d_forward_kernels, &f, &buffer, 1);
    buffer.bytes = (size_t)o.inputs * sizeof(float);
    artel__conv2d_data_gradient d = {*s,
                                     o.dy,
                                     o.wt,
                                     NULL,
                                     ARTEL__FUSED_NONE,
                                     to,
                                     ARTEL_DTYPE_FLOAT32,
                                     ARTEL_DTYPE_FLOAT32,
                                     ARTEL__ARITHMETIC_CHAIN,
                                     false,
                                     false,
                                     false};
    check_kernels(artel__conv2d_data_gradient_kernels, &d, &buffer, 1);
    operands_free(&o);
    check_free(block);
}

/* Pixels that no tap reaches: strides that divide nothing, taps that end early, and so many that whole lines go past
 * the caches. Then results that do, one of whole panels, one whose last panel is half of one. */
static void test_large(void **state)
{
    static const shape few[] = {{2, 8, 11, 40, 3, 4, 6, 1, 1, 3, 2, 1, 1, 0, 0, 1},
                                {3, 13, 9, 33, 4, 9, 21, 1, 1, 4, 1, 1, 1, 0, 0, 3}},
                       many[] = {{1, 63, 61, 224, 32, 21, 5, 1, 1, 2, 3, 1, 1, 0, 0, 1},
                                 {2, 52, 38, 5, 52, 38, 800, 1, 1, 1, 1, 1, 1, 0, 0, 1},
                                 {2, 52, 38, 816, 52, 37, 3, 1, 2, 1, 1, 1, 1, 0, 0, 1},
                                 {6, 13, 13, 8, 7, 7, 2700, 1, 1, 2, 2, 1, 1, 0, 0, 1},
                                 {3, 7, 61, 8, 4, 31, 2200, 1, 1, 2, 2, 1, 1, 0, 0, 1}};
    check_random random = {3};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(few); i++) all_of(&random, &few[i]);
    for (size_t i = 0; i < ARTEL__COUNT(many); i++) large_case(&random, &many[i], 0);
    large_case(&random, &many[0], 1);
    large_case(&random, &many[1], 1);
}

/* A 3x3 convolution computed in float64, with "same" padding. */
static void test_known(void **state)
{
    float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, w[9 * 16] = {0}, bias[1] = {-50}, out[9];
    int64_t before;
    (void)state;
    for (int i = 0; i < 9; i++) w[i * 16] = (float)(i + 1);
    assert_int_equal(artel__conv_extent_same(3, 3, 1, 1, &before), 3);
    assert_int_equal(before, 1);
    artel__conv2d_forward p = {{1, 3, 3, 1, 3, 3, 1, 3, 3, 1, 1, 1, 1, before, before, 1},
                               x,
                               w,
                               bias,
                               ARTEL__FUSED_RELU,
                               out,
                               ARTEL_DTYPE_FLOAT32,
                               ARTEL_DTYPE_FLOAT32,
                               ARTEL__ARITHMETIC_CHAIN,
                               false,
                               false,
                               false};
    check_buffer buffer = {out, sizeof out};
    check_kernels(artel__conv2d_forward_kernels, &p, &buffer, 1);
    for (int i = 0; i < 9; i++) {
        double sum = -50;
        for (int t = 0; t < 9; t++) {
            int y = i / 3 + t / 3 - 1, z = i % 3 + t % 3 - 1;
            if (y >= 0 && y < 3 && z >= 0 && z < 3) sum += (t + 1) * x[y * 3 + z];
        }
        assert_true((double)out[i] == (sum < 0 ? 0 : sum));
    }
    assert_int_equal(artel__conv_extent_same(7, 3, 2, 1, &before), 4);
    assert_int_equal(before, 1);
    assert_int_equal(artel__conv_extent_same(8, 3, 2, 1, &before), 4);
    assert_int_equal(before, 0);
    assert_int_equal(artel__conv_extent(224, 7, 2, 1, 3, 3), 112);
    assert_int_equal(artel__conv_extent(2, 3, 1, 1, 0, 0), 0);
}

static int setup(void **state)
{
    (void)state;
    check_setup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_shapes),
                                       cmocka_unit_test(test_large), cmocka_unit_test(test_outside),
                                       cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
