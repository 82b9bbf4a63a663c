/* SPDX-License-Identifier: Apache-2.0 */
/* Operands stored as bfloat16: whichever of a call are, a kernel gives what it gives for the same numbers as float32,
 * rounded. */
#include "help_check.h"

#include <string.h>

#include "kernel/attention.h"
#include "kernel/conv.h"
#include "kernel/half.h"
#include "kernel/narrow.h"
#include "kernel/norm.h"
#include "kernel/pool.h"
#include "kernel/product.h"
#include "kernel/reduce.h"
#include "kernel/shape_ops.h"

enum {
    OPERANDS = 8,
    MASKS = 4, /* choices of operands for a case */
    GUARD = 32 /* elements behind an array that nobody may write */
};

/* An array of a call: where its params point to it and, if it may be stored so, say that it is. */
typedef struct operand {
    size_t pointer, flag; /* flag 0: float32 always */
    int64_t count;
    bool output;
} operand;

#define IN(type, field, count)                                              \
    {                                                                       \
        offsetof(type, field), offsetof(type, field##_half), (count), false \
    }
#define OUT(type, field, count)                                            \
    {                                                                      \
        offsetof(type, field), offsetof(type, field##_half), (count), true \
    }
#define SUMS(type, field, count)                \
    {                                           \
        offsetof(type, field), 0, (count), true \
    }

static float *held(check_random *random, int64_t count)
{
    float *x = check_floats(random, count, -1, 1);
    for (int64_t i = 0; i < count; i++) x[i] = artel__narrow_one(ARTEL_DTYPE_BFLOAT16, x[i]);
    return x;
}

static void run(const artel__kernel *kernel, const void *params, bool apart)
{
    size_t bytes = kernel->scratch_bytes ? kernel->scratch_bytes(params) : 0;
    void *block = check_alloc(bytes + 64), *scratch = (void *)(((uintptr_t)block + 63) & ~(uintptr_t)63);
    int64_t tasks = kernel->tasks(params);
    memset(block, 0xa5, bytes + 64);
    if (!apart && tasks > 0) kernel->run(params, 0, tasks, scratch);
    for (int64_t i = tasks; apart && i-- > 0;) kernel->run(params, i, i + 1, scratch);
    check_free(block);
}

/* Gives operand o of `params` an array of its own, as bfloat16 or not; an output's is filled with `mark`. */
static void *place(char *params, const operand *o, const float *from, bool half, int mark)
{
    size_t item = half ? 2 : 4;
    void *block = check_alloc((size_t)(o->count + GUARD) * item);
    memset(block, mark, (size_t)(o->count + GUARD) * item);
    for (int64_t i = 0; !o->output && i < o->count; i++) {
        if (half)
            ((uint16_t *)block)[i] = artel__half_round(from[i]);
        else
            ((float *)block)[i] = from[i];
    }
    memcpy(params + o->pointer, &block, sizeof block);
    if (o->flag) memcpy(params + o->flag, &half, sizeof half);
    return block;
}

static void expect(const artel__kernel *kernel, const operand *o, const float *wanted, const void *got, bool half,
                   unsigned mask)
{
    for (int64_t i = 0; i < o->count; i++) {
        float w = half ? artel__narrow_one(ARTEL_DTYPE_BFLOAT16, wanted[i]) : wanted[i];
        float g = half ? artel__half_widen(((const uint16_t *)got)[i]) : ((const float *)got)[i];
        if (memcmp(&w, &g, sizeof w) != 0)
            fail_msg("%s, operands %x: element %lld is %.9g, expected %.9g", kernel->name, mask, (long long)i,
                     (double)g, (double)w);
    }
    const uint8_t *guard = (const uint8_t *)got + o->count * (half ? 2 : 4);
    for (int i = 0; i < GUARD * (half ? 2 : 4); i++) assert_int_equal(guard[i], 0x5a);
}

/* The operands that are chosen by `mask` are stored as bfloat16; `wanted`: of each output. */
static void check_mask(const artel__kernel *kernel, const void *params, size_t size, const operand *o, int count,
                       float *const *wanted, unsigned mask, bool apart)
{
    _Alignas(64) char changed[1024];
    void *block[OPERANDS];
    memcpy(changed, params, size);
    for (int k = 0; k < count; k++) {
        const float *from;
        memcpy(&from, (const char *)params + o[k].pointer, sizeof from);
        block[k] = place(changed, &o[k], from, o[k].flag && (mask >> k & 1), 0x5a);
    }
    run(kernel, changed, apart);
    for (int k = 0; k < count; k++) {
        if (o[k].output) expect(kernel, &o[k], wanted[k], block[k], o[k].flag && (mask >> k & 1), mask);
        check_free(block[k]);
    }
}

/* `params` points at float32 arrays throughout, of which outputs are overwritten. At least one kernel must be able to;
 * or none of this machine's. */
static void check_halves(const artel__kernel *const *list, const void *params, size_t size, const operand *o, int count,
                         check_random *random)
{
    int checked = 0;
    for (; *list; list++) {
        float *wanted[OPERANDS] = {0};
        if (!check_can_run(*list, params) || !(*list)->halves || !(*list)->halves(params)) continue;
        run(*list, params, false);
        for (int k = 0; k < count; k++) {
            if (o[k].output) memcpy(&wanted[k], (const char *)params + o[k].pointer, sizeof wanted[k]);
        }
        for (int i = 0; i < MASKS; i++) {
            unsigned mask = i == 0 ? UINT32_MAX : (unsigned)check_next(random);
            check_mask(*list, params, size, o, count, wanted, mask, i % 2 == 1);
        }
        checked++;
    }
    assert_true(checked > 0 || !check_isa_runs(ARTEL__ISA_AVX2));
}

#define CHECK(list, params, ...)                                                  \
    check_halves(list, &(params), sizeof(params), (const operand[]){__VA_ARGS__}, \
                 (int)(sizeof((const operand[]){__VA_ARGS__}) / sizeof(operand)), &random)

static const int64_t counts[] = {0, 1, 5, 511, 512, 513, 4096, 5001};

static void test_functions(void **state)
{
    static const artel__unary ops[] = {ARTEL__UNARY_RELU, ARTEL__UNARY_GELU, ARTEL__UNARY_TANH, ARTEL__UNARY_SIN};
    check_random random = {1};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(counts) * ARTEL__COUNT(ops); i++) {
        artel__unary op = ops[i % ARTEL__COUNT(ops)];
        int64_t n = counts[i / ARTEL__COUNT(ops)];
        float *x = held(&random, n), *y = held(&random, n), *dy = held(&random, n);
        artel__unary_forward f = {.op = op, .count = n, .x = x, .y = y, .b = INFINITY};
        CHECK(artel__unary_forward_kernels, f, IN(artel__unary_forward, x, n), OUT(artel__unary_forward, y, n));
        artel__unary_gradient g = {.op = op, .count = n, .x = x, .dy = dy, .dx = y, .b = INFINITY};
        bool reads_y = artel__unary_table[op].reads == ARTEL__READS_Y;
        size_t read = reads_y ? offsetof(artel__unary_gradient, y) : offsetof(artel__unary_gradient, x);
        if (reads_y) g.y = x;
        CHECK(artel__unary_gradient_kernels, g, {read, offsetof(artel__unary_gradient, v_half), n, false},
              IN(artel__unary_gradient, dy, n), OUT(artel__unary_gradient, dx, n));
        artel__narrow narrow = {.to = ARTEL_DTYPE_BFLOAT16, .count = n, .x = x, .y = y};
        for (int64_t k = 0; k < n; k++) x[k] *= k % 7 == 0 ? 0x1p-130f : k % 11 == 0 ? INFINITY : 1.0001f;
        CHECK(artel__narrow_kernels, narrow, OUT(artel__narrow, y, n));
        check_free(x), check_free(y), check_free(dy);
    }
}

static void test_two_arguments(void **state)
{
    static const struct {
        artel_shape a, b, out;
        bool a_rows, b_rows;
    } cases[] = {
        {{.rank = 1, .dim = {700}}, {.rank = 1, .dim = {700}}, {.rank = 1, .dim = {700}}, true, true},
        {{.rank = 2, .dim = {5, 130}}, {.rank = 1, .dim = {130}}, {.rank = 2, .dim = {5, 130}}, true, false},
        {{.rank = 2, .dim = {9, 1}}, {.rank = 2, .dim = {9, 70}}, {.rank = 2, .dim = {9, 70}}, true, true},
        {{.rank = 1, .dim = {1}}, {.rank = 2, .dim = {3, 600}}, {.rank = 2, .dim = {3, 600}}, false, true},
    };
    check_random random = {2};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) {
        int64_t rows = 3, n = rows * artel_shape_count(&cases[i].out);
        int64_t na = artel_shape_count(&cases[i].a) * (cases[i].a_rows ? rows : 1);
        int64_t nb = artel_shape_count(&cases[i].b) * (cases[i].b_rows ? rows : 1);
        float *a = held(&random, na), *b = held(&random, nb), *d = held(&random, n), *out = held(&random, n);
        artel__loop loop;
        artel__loop_broadcast(&loop, rows, &cases[i].out, 2, (const artel_shape *const[]){&cases[i].a, &cases[i].b},
                              (bool[]){cases[i].a_rows, cases[i].b_rows});
        for (int op = 0; op < 2 * ARTEL__BINARY_COUNT; op++) {
            artel__binary_forward f = {.op = (artel__binary)(op / 2), .loop = loop, .a = a, .b = b, .out = out};
            if (op % 2 == 0)
                CHECK(artel__binary_forward_kernels, f, IN(artel__binary_forward, a, na),
                      IN(artel__binary_forward, b, nb), OUT(artel__binary_forward, out, n));
            artel__binary_gradient g = {
                .op = f.op, .wrt = op % 2, .loop = loop, .a = a, .b = b, .dout = d, .gradient = out};
            CHECK(artel__binary_gradient_kernels, g, IN(artel__binary_gradient, a, na),
                  IN(artel__binary_gradient, b, nb), IN(artel__binary_gradient, dout, n),
                  OUT(artel__binary_gradient, gradient, n));
        }
        check_free(a), check_free(b), check_free(d), check_free(out);
    }
}

/* Weights before they are rounded: what kernels that can take them make of them is what they make of the rounded ones,
 * which `params` points at. */
static void check_raw(const artel__kernel *const *list, const void *params, size_t size, size_t pointer, size_t flag,
                      int64_t weights, size_t output, int64_t count, check_random *random)
{
    const bool raw = true;
    int checked = 0;
    float *rounded, *out, *wanted = check_alloc((size_t)count * 4 + 1), *given = check_alloc((size_t)weights * 4 + 1);
    memcpy(&rounded, (const char *)params + pointer, sizeof rounded);
    memcpy(&out, (const char *)params + output, sizeof out);
    for (int64_t i = 0; i < weights;
         i++) { /* numbers on either side, at most half way; few have other bits there than nothing */
        uint32_t bits;
        memcpy(&bits, &rounded[i], sizeof bits);
        bits += (uint32_t)(check_next(random) % 0x10000) - 0x8000;
        memcpy(&given[i], &bits, sizeof bits);
        rounded[i] = artel__narrow_one(ARTEL_DTYPE_BFLOAT16, given[i]);
    }
    for (; *list; list++) {
        _Alignas(64) char changed[1024];
        if (!check_can_run(*list, params) || !(*list)->halves || !(*list)->halves(params)) continue;
        run(*list, params, false);
        memcpy(wanted, out, (size_t)count * 4);
        memset(out, 0x5a, (size_t)count * 4);
        memcpy(changed, params, size);
        memcpy(changed + pointer, &given, sizeof given);
        memcpy(changed + flag, &raw, sizeof raw);
        run(*list, changed, true);
        if (memcmp(out, wanted, (size_t)count * 4) != 0)
            fail_msg("%s: other results from weights that it rounds", (*list)->name);
        checked++;
    }
    assert_true(checked > 0 || !check_isa_runs(ARTEL__ISA_AVX2));
    check_free(wanted), check_free(given);
}

#define CHECK_RAW(list, params, type, w, weights, out, count)                                       \
    check_raw(list, &(params), sizeof(params), offsetof(type, w), offsetof(type, w##_raw), weights, \
              offsetof(type, out), (count), &random)

static void test_products(void **state)
{
    static const int64_t shapes[][3] = {{1, 1, 1},      {5, 7, 3}, {33, 65, 40}, {100, 96, 1056},
                                        {70, 33, 2100}, {4, 5, 0}, {0, 3, 3},    {200, 16, 64}};
    check_random random = {3};
    (void)state;
    for (size_t i = 0; i < 2 * ARTEL__COUNT(shapes); i++) {
        int64_t m = shapes[i / 2][0], n = shapes[i / 2][1], k = shapes[i / 2][2], floats = artel__panels_floats(k, n);
        bool turned = i % 2 == 1;
        if (turned) floats = artel__panels_floats(n, k);
        float *a = held(&random, m * k), *w = held(&random, floats), *bias = held(&random, n),
              *out = held(&random, m * n);
        artel__product_forward f = {
            .m = m, .n = n, .k = k, .a = a, .lda = k, .w = w, .bias = bias, .out = out, .ldo = n, .turned = turned};
        f.activation = turned ? ARTEL__FUSED_NONE : ARTEL__FUSED_RELU;
        f.held = ARTEL_DTYPE_BFLOAT16;
        f.arithmetic = ARTEL__ARITHMETIC_TILES;
        CHECK(artel__product_forward_kernels, f, IN(artel__product_forward, a, m * k),
              OUT(artel__product_forward, out, m * n));
        CHECK_RAW(artel__product_forward_kernels, f, artel__product_forward, w, floats, out, m * n);
        check_free(a), check_free(w), check_free(bias), check_free(out);
    }
}

static void test_weight_gradients(void **state)
{
    static const int64_t shapes[][4] = {{7, 1, 3, 5}, {7, 9, 33, 65}, {20, 40, 70, 40}, {3, 1, 600, 300}, {0, 1, 4, 4}};
    check_random random = {4};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(shapes); i++) {
        artel__fold_plan plan;
        int64_t rows = shapes[i][0], inner = shapes[i][1], k = shapes[i][2], n = shapes[i][3],
                floats = artel__panels_floats(k, n);
        check_plan_init(&plan, 4, 1, 3, rows);
        int64_t xs = plan.rows * inner * k, dys = plan.rows * inner * n, nodes = plan.nodes;
        float *x = held(&random, xs), *dy = held(&random, dys), *dw = held(&random, nodes * floats),
              *dbias = held(&random, nodes * n);
        artel__product_weight_gradient g = {
            .fold = &plan, .inner = inner, .k = k, .n = n, .x = x, .ldx = k, .dy = dy, .ldy = n, .dw = dw};
        g.dw_stride = floats;
        g.dbias = dbias;
        g.dbias_stride = n;
        g.held = ARTEL_DTYPE_BFLOAT16;
        g.arithmetic = ARTEL__ARITHMETIC_TILES;
        CHECK(artel__product_weight_gradient_kernels, g, IN(artel__product_weight_gradient, x, xs),
              IN(artel__product_weight_gradient, dy, dys), SUMS(artel__product_weight_gradient, dw, nodes * floats),
              SUMS(artel__product_weight_gradient, dbias, nodes * n));
        check_free(x), check_free(dy), check_free(dw), check_free(dbias);
        check_plan_fini(&plan);
    }
}

/* images ih iw ic oc kh kw s top groups dilation */
static const int64_t convolutions[][11] = {
    {3, 9, 7, 5, 40, 3, 3, 1, 1, 1, 1},   {2, 12, 12, 3, 33, 7, 7, 2, 3, 1, 1}, {3, 6, 5, 64, 32, 1, 1, 1, 0, 1, 1},
    {2, 5, 5, 130, 16, 3, 3, 1, 1, 1, 1}, {3, 8, 8, 12, 18, 3, 3, 2, 0, 3, 1},  {2, 9, 9, 32, 64, 3, 3, 1, 2, 1, 2},
    {2, 7, 7, 20, 24, 1, 1, 2, 0, 1, 1},
};

static artel__conv2d_shape convolution(const int64_t *c)
{
    artel__conv2d_shape s = {.images = c[0], .ih = c[1], .iw = c[2], .ic = c[3], .oc = c[4], .kh = c[5], .kw = c[6]};
    s.sh = s.sw = c[7];
    s.top = s.left = c[8];
    s.groups = c[9];
    s.dh = s.dw = c[10];
    s.oh = artel__conv_extent(s.ih, s.kh, s.sh, s.dh, s.top, s.top);
    s.ow = artel__conv_extent(s.iw, s.kw, s.sw, s.dw, s.left, s.left);
    return s;
}

static void test_convolutions(void **state)
{
    const artel_dtype bfloat16 = ARTEL_DTYPE_BFLOAT16;
    const artel__arithmetic tiles = ARTEL__ARITHMETIC_TILES;
    check_random random = {5};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(convolutions); i++) {
        artel__conv2d_shape s = convolution(convolutions[i]);
        artel__fold_plan plan;
        check_plan_init(&plan, 2, 0, 2, s.images);
        int64_t in = s.images * s.ih * s.iw * s.ic, out = s.images * s.oh * s.ow * s.oc, rows = s.ic / s.groups;
        int64_t weights = artel__panels_floats(s.kh * s.kw * rows, s.oc),
                turned = artel__pack_transposed_floats(s.kh * s.kw, rows, s.oc, s.groups);
        float *x = held(&random, in), *y = held(&random, out), *dx = held(&random, in), *dy = held(&random, out);
        float *w = held(&random, weights), *wt = held(&random, turned), *dw = held(&random, plan.nodes * weights);
        float *bias = held(&random, s.oc), *dbias = held(&random, plan.nodes * s.oc);
        artel__conv2d_forward f = {
            .shape = s, .x = x, .w = w, .bias = bias, .out = y, .held = bfloat16, .arithmetic = tiles};
        CHECK(artel__conv2d_forward_kernels, f, IN(artel__conv2d_forward, x, in), OUT(artel__conv2d_forward, out, out));
        CHECK_RAW(artel__conv2d_forward_kernels, f, artel__conv2d_forward, w, weights, out, out);
        artel__conv2d_data_gradient d = {
            .shape = s, .dy = dy, .wt = wt, .dx = dx, .held = bfloat16, .arithmetic = tiles};
        CHECK(artel__conv2d_data_gradient_kernels, d, IN(artel__conv2d_data_gradient, dy, out),
              OUT(artel__conv2d_data_gradient, dx, in));
        CHECK_RAW(artel__conv2d_data_gradient_kernels, d, artel__conv2d_data_gradient, wt, turned, dx, in);
        artel__conv2d_weight_gradient g = {
            .shape = s, .fold = &plan, .x = x, .dy = dy, .dw = dw, .dw_stride = weights, .dbias = dbias};
        g.dbias_stride = s.oc;
        g.held = bfloat16;
        g.arithmetic = tiles;
        CHECK(artel__conv2d_weight_gradient_kernels, g, IN(artel__conv2d_weight_gradient, x, in),
              IN(artel__conv2d_weight_gradient, dy, out), SUMS(artel__conv2d_weight_gradient, dw, plan.nodes * weights),
              SUMS(artel__conv2d_weight_gradient, dbias, plan.nodes * s.oc));
        check_free(x), check_free(y), check_free(dx), check_free(dy), check_free(w), check_free(wt), check_free(dw),
            check_free(bias);
        check_free(dbias);
        check_plan_fini(&plan);
    }
}

static void batch_norm_case(int64_t rows, int64_t inner, int64_t channels, artel__norm_activation activation,
                            check_random random)
{
    int64_t n = rows * inner * channels, sums = rows * 2 * channels;
    float *x = held(&random, n), *y = held(&random, n), *dy = held(&random, n), *r = held(&random, n),
          *dx = held(&random, n);
    float *c[4];
    double *part = check_alloc((size_t)sums * sizeof *part), *all = check_alloc((size_t)(2 * channels) * sizeof *all);
    for (int k = 0; k < 4; k++) c[k] = check_floats(&random, channels, 0.1f, 2);
    for (int64_t k = 0; k < 2 * channels; k++) all[k] = (double)check_uniform(&random, -3, 3);
    artel__batch_moments_rows m = {.rows = rows, .inner = inner, .channels = channels, .x = x, .part = part};
    CHECK(artel__batch_moments_rows_kernels, m, IN(artel__batch_moments_rows, x, n),
          SUMS(artel__batch_moments_rows, part, 2 * sums));
    artel__batch_norm_forward f = {
        .positions = rows * inner, .channels = channels, .x = x, .mean = c[0], .inverse = c[1]};
    f.gamma = c[2];
    f.beta = c[3];
    f.activation = activation;
    f.y = dx;
    CHECK(artel__batch_norm_forward_kernels, f, IN(artel__batch_norm_forward, x, n),
          OUT(artel__batch_norm_forward, y, n));
    f.residual = r;
    CHECK(artel__batch_norm_forward_kernels, f, IN(artel__batch_norm_forward, x, n),
          IN(artel__batch_norm_forward, residual, n), OUT(artel__batch_norm_forward, y, n));
    artel__batch_norm_gradient_rows g = {
        .rows = rows, .inner = inner, .channels = channels, .x = x, .y = y, .dy = dy, .mean = c[0]};
    g.inverse = c[1];
    g.activation = activation;
    g.part = part;
    CHECK(artel__batch_norm_gradient_rows_kernels, g, IN(artel__batch_norm_gradient_rows, x, n),
          IN(artel__batch_norm_gradient_rows, y, n), IN(artel__batch_norm_gradient_rows, dy, n),
          SUMS(artel__batch_norm_gradient_rows, part, 2 * sums));
    artel__batch_norm_gradient d = {
        .positions = rows * inner, .channels = channels, .count = (double)(rows * inner), .x = x, .y = y};
    d.dy = dy;
    d.mean = c[0];
    d.inverse = c[1];
    d.gamma = c[2];
    d.sums = all;
    d.activation = activation;
    d.dx = dx;
    d.dresidual = r;
    CHECK(artel__batch_norm_gradient_kernels, d, IN(artel__batch_norm_gradient, x, n),
          IN(artel__batch_norm_gradient, y, n), IN(artel__batch_norm_gradient, dy, n),
          OUT(artel__batch_norm_gradient, dx, n), OUT(artel__batch_norm_gradient, dresidual, n));
    for (int k = 0; k < 4; k++) check_free(c[k]);
    check_free(x), check_free(y), check_free(dy), check_free(r), check_free(dx), check_free(part), check_free(all);
}

static void test_batch_norm(void **state)
{
    static const int64_t shapes[][3] = {{3, 10, 1},   {2, 9, 5},    {3, 50, 64}, {2, 6, 256},
                                        {2, 3, 1030}, {1, 1, 2048}, {2, 0, 4}};
    check_random random = {6};
    (void)state;
    for (size_t i = 0; i < 3 * ARTEL__COUNT(shapes); i++) {
        const int64_t *s = shapes[i / 3];
        check_next(&random);
        batch_norm_case(s[0], s[1], s[2], (artel__norm_activation)(i % 3), random);
    }
}

/* A result so large that it goes past the caches. */
static void test_streams(void **state)
{
    enum {
        CHANNELS = 63,
        POSITIONS = 100001
    };
    check_random random = {12};
    int64_t n = (int64_t)CHANNELS * POSITIONS;
    float *x = held(&random, n), *y = held(&random, n), *c = held(&random, CHANNELS);
    artel__batch_norm_forward f = {
        .positions = POSITIONS, .channels = CHANNELS, .x = x, .mean = c, .inverse = c, .y = y};
    (void)state;
    CHECK(artel__batch_norm_forward_kernels, f, IN(artel__batch_norm_forward, x, n),
          OUT(artel__batch_norm_forward, y, n));
    check_free(x), check_free(y), check_free(c);
}

static void test_layer_norm(void **state)
{
    static const int64_t shapes[][3] = {{3, 2, 1}, {3, 5, 33}, {2, 7, 600}, {4, 1, 5000}};
    check_random random = {7};
    (void)state;
    for (size_t i = 0; i < 4 * ARTEL__COUNT(shapes); i++) {
        artel__layer_norm_mode mode = (artel__layer_norm_mode)(i % 4);
        artel__fold_plan plan;
        int64_t rows = shapes[i / 4][0], inner = shapes[i / 4][1], length = shapes[i / 4][2], at = rows * inner,
                n = at * length;
        check_plan_init(&plan, 2, 0, 2, rows);
        int64_t sums = plan.nodes * length;
        float *x = held(&random, n), *dy = held(&random, n), *y = held(&random, n), *mean = held(&random, at),
              *inverse = held(&random, at);
        float *gamma = held(&random, length), *beta = held(&random, length), *dgamma = held(&random, sums),
              *dbeta = held(&random, sums);
        artel__layer_norm_forward f = {
            .mode = mode, .positions = at, .length = length, .epsilon = 1e-3f, .x = x, .gamma = gamma, .beta = beta};
        f.y = y;
        f.mean = mean;
        f.inverse = inverse;
        CHECK(artel__layer_norm_forward_kernels, f, IN(artel__layer_norm_forward, x, n),
              OUT(artel__layer_norm_forward, y, n), SUMS(artel__layer_norm_forward, mean, at),
              SUMS(artel__layer_norm_forward, inverse, at));
        artel__layer_norm_gradient g = {
            .mode = mode, .positions = at, .length = length, .epsilon = 1e-3f, .x = x, .dy = dy, .mean = mean};
        g.inverse = inverse;
        g.gamma = i % 3 ? gamma : NULL;
        g.dx = y;
        CHECK(artel__layer_norm_gradient_kernels, g, IN(artel__layer_norm_gradient, x, n),
              IN(artel__layer_norm_gradient, dy, n), OUT(artel__layer_norm_gradient, dx, n));
        artel__layer_norm_parameters p = {
            .mode = mode, .fold = &plan, .inner = inner, .length = length, .x = x, .dy = dy, .mean = mean};
        p.inverse = inverse;
        p.dgamma = dgamma;
        p.dbeta = dbeta;
        p.stride = length;
        CHECK(artel__layer_norm_parameters_kernels, p, IN(artel__layer_norm_parameters, x, n),
              IN(artel__layer_norm_parameters, dy, n), SUMS(artel__layer_norm_parameters, dgamma, sums),
              SUMS(artel__layer_norm_parameters, dbeta, sums));
        check_free(x), check_free(dy), check_free(y), check_free(mean), check_free(inverse), check_free(gamma),
            check_free(beta);
        check_free(dgamma), check_free(dbeta);
        check_plan_fini(&plan);
    }
}

static void test_pools(void **state)
{
    static const int64_t cases[][6] = {
        {7, 9, 3, 2, 1, 5}, {8, 8, 2, 2, 0, 64}, {6, 7, 2, 3, 0, 130}, {5, 5, 3, 1, 1, 17}};
    check_random random = {8};
    (void)state;
    for (size_t i = 0; i < 4 * ARTEL__COUNT(cases); i++) {
        const int64_t *c = cases[i / 4];
        artel__pool_shape s = {.channels = c[5], .in = {1}, .out = {1}, .window = {1}, .stride = {1}};
        artel__pool_axis(&s, 1, c[0], c[2], c[3], c[4] > 0);
        artel__pool_axis(&s, 2, c[1], c[2], c[3], c[4] > 0);
        int64_t rows = 3, in = rows * s.in[1] * s.in[2] * s.channels, out = rows * s.out[1] * s.out[2] * s.channels;
        float *x = held(&random, in), *y = held(&random, out), *dy = held(&random, out), *dx = held(&random, in);
        artel__pool_forward f = {
            .op = i % 2 ? ARTEL__POOL_AVERAGE : ARTEL__POOL_MAX, .rows = rows, .shape = s, .x = x, .y = y};
        CHECK(artel__pool_forward_kernels, f, IN(artel__pool_forward, x, in), OUT(artel__pool_forward, y, out));
        artel__pool_gradient g = {.rows = rows, .shape = s, .x = x, .y = y, .dy = dy, .dx = dx, .relu = i % 4 < 2};
        f.op = ARTEL__POOL_MAX;
        check_run_reference(artel__pool_forward_kernels, &f);
        CHECK(artel__pool_gradient_kernels, g, IN(artel__pool_gradient, x, in), IN(artel__pool_gradient, y, out),
              IN(artel__pool_gradient, dy, out), OUT(artel__pool_gradient, dx, in));
        check_free(x), check_free(y), check_free(dy), check_free(dx);
    }
}

static void test_reductions(void **state)
{
    static const struct {
        int rank;
        int64_t dim[3];
        bool reduced[3];
    } cases[] = {{2, {3, 1100}, {0, 1}},
                 {3, {2, 49, 130}, {0, 1}},
                 {3, {3, 4, 600}, {1, 0, 1}},
                 {2, {700, 3}, {0, 1}},
                 {2, {5, 3}, {0}}};
    check_random random = {9};
    (void)state;
    for (size_t i = 0; i < 5 * ARTEL__COUNT(cases); i++) {
        artel__reduce f = {.op = (artel__reduction)(i % 5), .rank = cases[i / 5].rank};
        artel__reduce_gradient g = {.op = i % 2 ? ARTEL__REDUCE_MEAN : ARTEL__REDUCE_SUM, .rank = f.rank};
        int64_t n = 1, kept = 1;
        for (int d = 0; d < f.rank; d++) {
            f.dim[d] = g.dim[d] = cases[i / 5].dim[d];
            f.reduced[d] = g.reduced[d] = cases[i / 5].reduced[d];
            n *= f.dim[d];
            kept *= f.reduced[d] ? 1 : f.dim[d];
        }
        float *x = held(&random, n), *y = held(&random, kept);
        f.x = x, f.y = y;
        CHECK(artel__reduce_kernels, f, IN(artel__reduce, x, n), OUT(artel__reduce, y, kept));
        for (int64_t k = 0; k < kept; k++) y[k] = artel__narrow_one(ARTEL_DTYPE_BFLOAT16, y[k]);
        g.dy = y, g.dx = x;
        CHECK(artel__reduce_gradient_kernels, g, IN(artel__reduce_gradient, dy, kept),
              OUT(artel__reduce_gradient, dx, n));
        check_free(x), check_free(y);
    }
}

static void test_noise(void **state)
{
    check_random random = {10};
    (void)state;
    for (int i = 0; i < 8; i++) {
        artel__noise p = {
            .op = (artel__noise_op)(i % 4), .batch = 3, .node = 5, .first_row = 2, .rows = 3, .rank = 2, .rate = 0.3f};
        p.dim[0] = 11;
        p.dim[1] = i < 4 ? 130 : 1200;
        p.noise[0] = 11;
        p.noise[1] = i < 4 ? 130 : 1;
        p.scale = 1.25f;
        p.other = -0.5f;
        int64_t n = p.rows * p.dim[0] * p.dim[1];
        float *x = held(&random, n), *y = held(&random, n);
        p.x = x, p.y = y;
        CHECK(artel__noise_kernels, p, IN(artel__noise, x, n), OUT(artel__noise, y, n));
        check_free(x), check_free(y);
    }
}

static void test_attention(void **state)
{
    /* t s heads key_heads depth value_depth */
    static const int64_t cases[][6] = {
        {5, 7, 2, 2, 4, 6}, {40, 40, 4, 2, 8, 8}, {33, 65, 2, 1, 40, 5}, {1, 1, 1, 1, 1, 1}};
    check_random random = {11};
    (void)state;
    for (size_t i = 0; i < 2 * ARTEL__COUNT(cases); i++) {
        const int64_t *c = cases[i / 2];
        artel__attention_shape s = {
            .rows = 3, .queries = c[0], .keys = c[1], .inner = 1, .heads = c[2], .key_heads = c[3], .depth = c[4]};
        s.value_depth = c[5];
        s.scale = 0.5f;
        s.causal = i % 2 == 0;
        s.rate = i % 2 ? 0.2f : 0.0f;
        s.keep_scale = 1.25f;
        s.arithmetic = ARTEL__ARITHMETIC_TILES;
        int64_t q = 3 * c[0] * c[2] * c[4], k = 3 * c[1] * c[3] * c[4], v = 3 * c[1] * c[3] * c[5],
                o = 3 * c[0] * c[2] * c[5];
        int64_t probs = 3 * c[2] * c[0] * c[1];
        float *a[9] = {held(&random, q), held(&random, k), held(&random, v), held(&random, o), held(&random, probs),
                       held(&random, o), held(&random, q), held(&random, k), held(&random, v)};
        artel__attention_forward f = {.shape = s, .q = a[0], .k = a[1], .v = a[2], .out = a[3], .probs = a[4]};
        CHECK(artel__attention_forward_kernels, f, IN(artel__attention_forward, q, q),
              IN(artel__attention_forward, k, k), IN(artel__attention_forward, v, v),
              OUT(artel__attention_forward, out, o), SUMS(artel__attention_forward, probs, probs));
        artel__attention_gradient g = {
            .shape = s, .q = a[0], .k = a[1], .v = a[2], .probs = a[4], .dout = a[5], .dq = a[6], .dk = a[7]};
        g.dv = a[8];
        CHECK(artel__attention_gradient_kernels, g, IN(artel__attention_gradient, q, q),
              IN(artel__attention_gradient, k, k), IN(artel__attention_gradient, v, v),
              IN(artel__attention_gradient, dout, o), OUT(artel__attention_gradient, dq, q),
              OUT(artel__attention_gradient, dk, k), OUT(artel__attention_gradient, dv, v));
        for (int j = 0; j < 9; j++) check_free(a[j]);
    }
}

static int setup(void **state)
{
    (void)state;
    check_setup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions),    cmocka_unit_test(test_two_arguments),
        cmocka_unit_test(test_products),     cmocka_unit_test(test_weight_gradients),
        cmocka_unit_test(test_convolutions), cmocka_unit_test(test_batch_norm),
        cmocka_unit_test(test_streams),      cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_pools),        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_noise),        cmocka_unit_test(test_attention),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
