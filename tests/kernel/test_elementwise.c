/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise kernels: fast against reference, gradients against finite differences, broadcasting against plain loops.
 */
#include "help_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/elementwise.h"

static const int64_t counts[] = {0, 1, 7, 16, 1000, 4096, 9001};

/* Constants that make sense for the op, and the range of its argument. */
static void unary_setting(artel__unary op, float *a, float *b, float *c, float *low, float *high)
{
    *a = 0.3f, *b = 0.8f, *c = 0.0f, *low = -4, *high = 4;
    if (op == ARTEL__UNARY_RELU) *a = 0.1f, *b = 2.0f, *c = 0.25f;
    if (op == ARTEL__UNARY_CLIP) *a = -0.5f, *b = 1.5f;
    if (op == ARTEL__UNARY_POWER) *a = 1.7f;
    if (op == ARTEL__UNARY_LOG || op == ARTEL__UNARY_SQRT || op == ARTEL__UNARY_RSQRT || op == ARTEL__UNARY_POWER ||
        op == ARTEL__UNARY_RECIPROCAL || op == ARTEL__UNARY_LOG1P)
        *low = 0.1f;
}

static void test_unary_same_bits(void **state)
{
    check_random random = {1};
    (void)state;
    for (int op = 0; op < ARTEL__UNARY_COUNT; op++) {
        for (size_t k = 0; k < ARTEL__COUNT(counts); k++) {
            int64_t n = counts[k];
            float a, b, c, low, high;
            unary_setting((artel__unary)op, &a, &b, &c, &low, &high);
            float *x = check_floats(&random, n, 2 * low, 2 * high), *y = check_floats(&random, n, -1, 1);
            float *dy = check_floats(&random, n, -1, 1), *dx = check_floats(&random, n, -1, 1);
            artel__unary_forward f = {(artel__unary)op, n, x, y, a, b, c, false, false};
            check_kernels(artel__unary_forward_kernels, &f, &(check_buffer){y, (size_t)n * 4}, 1);
            artel__unary_gradient g = {(artel__unary)op, n, x, y, dy, dx, a, b, c, false, false, false};
            check_kernels(artel__unary_gradient_kernels, &g, &(check_buffer){dx, (size_t)n * 4}, 1);
            g.dx = dy; /* in place */
            check_kernels(artel__unary_gradient_kernels, &g, &(check_buffer){dy, (size_t)n * 4}, 1);
            f.y = x;
            check_kernels(artel__unary_forward_kernels, &f, &(check_buffer){x, (size_t)n * 4}, 1);
            check_free(x), check_free(y), check_free(dy), check_free(dx);
        }
    }
}

/* sin and cos have two forms: stretches in which all, some and none are near. */
static void test_far_sines_same_bits(void **state)
{
    enum {
        COUNT = 9001
    };
    static const artel__unary ops[] = {ARTEL__UNARY_SIN, ARTEL__UNARY_COS};
    check_random random = {4};
    (void)state;
    float *x = check_floats(&random, COUNT, -100, 100), *y = check_floats(&random, COUNT, -1, 1),
          *dy = check_floats(&random, COUNT, -1, 1);
    for (int i = 2000; i < COUNT; i++) {
        if (i < 5000 || i % 701 == 0) x[i] = ldexpf(x[i], i % 120);
        if (i % 1999 == 0) x[i] = i % 2 ? INFINITY : -NAN;
    }
    for (size_t k = 0; k < ARTEL__COUNT(ops); k++) {
        artel__unary_forward f = {ops[k], COUNT, x, y, 0, 0, 0, false, false};
        artel__unary_gradient g = {ops[k], COUNT, x, NULL, dy, y, 0, 0, 0, false, false, false};
        check_kernels(artel__unary_forward_kernels, &f, &(check_buffer){y, COUNT * 4}, 1);
        check_kernels(artel__unary_gradient_kernels, &g, &(check_buffer){y, COUNT * 4}, 1);
    }
    check_free(x), check_free(y), check_free(dy);
}

static bool piecewise_constant(artel__unary op)
{
    return op == ARTEL__UNARY_SIGN || op == ARTEL__UNARY_ROUND || op == ARTEL__UNARY_FLOOR ||
           op == ARTEL__UNARY_ZERO_TEST;
}

static float unary_at(artel__unary op, float x, float a, float b, float c)
{
    float y;
    artel__unary_forward f = {op, 1, &x, &y, a, b, c, false, false};
    check_run_reference(artel__unary_forward_kernels, &f);
    return y;
}

static void test_unary_finite_differences(void **state)
{
    check_random random = {2};
    (void)state;
    for (int i = 0; i < ARTEL__UNARY_COUNT; i++) {
        artel__unary op = (artel__unary)i;
        float a, b, c, low, high;
        unary_setting(op, &a, &b, &c, &low, &high);
        for (int k = 0; k < 200; k++) {
            float x = check_uniform(&random, low, high), h = 1e-2f, y = unary_at(op, x, a, b, c), dy = 0.7f, dx;
            float up = unary_at(op, x + h, a, b, c), down = unary_at(op, x - h, a, b, c);
            artel__unary_gradient g = {op, 1, &x, &y, &dy, &dx, a, b, c, false, false, false};
            check_run_reference(artel__unary_gradient_kernels, &g);
            if (piecewise_constant(op)) {
                assert_true(dx == 0);
                continue;
            }
            float right = (up - y) / h, left = (y - down) / h, slope = 0.7f * (up - down) / (2 * h);
            if (fabsf(right - left) > 0.2f * (1 + fabsf(right))) continue; /* a kink nearby */
            bool fits = fabsf(slope - dx) <= 2e-2f * (1 + fabsf(slope)) || fabsf(right - left) > 2e-2f;
            if (!fits) fail_msg("%s at %g: gradient %g, difference %g", artel__unary_table[op].name, x, dx, slope);
        }
    }
}

static void test_unary_values(void **state)
{
    (void)state;
    assert_true(unary_at(ARTEL__UNARY_RELU, -2, 0, INFINITY, 0) == 0);
    assert_true(unary_at(ARTEL__UNARY_RELU, 5, 0, 3, 0) == 3);
    assert_true(unary_at(ARTEL__UNARY_HARD_SIGMOID, 0, 0, 0, 0) == 0.5f);
    assert_true(unary_at(ARTEL__UNARY_ROUND, 2.5f, 0, 0, 0) == 2 && unary_at(ARTEL__UNARY_ROUND, -3.5f, 0, 0, 0) == -4);
    assert_true(unary_at(ARTEL__UNARY_FLOOR, -0.5f, 0, 0, 0) == -1 &&
                unary_at(ARTEL__UNARY_FLOOR, 1e20f, 0, 0, 0) == 1e20f);
    assert_true(fabsf(unary_at(ARTEL__UNARY_GELU, 1, 0, 0, 0) - 0.8413447f) < 2e-7f);
    assert_true(fabsf(unary_at(ARTEL__UNARY_GELU_TANH, -3, 0, 0, 0) + 0.00363752f) < 5e-7f);
    assert_true(fabsf(unary_at(ARTEL__UNARY_SELU, -1, 0, 0, 0) + 1.1113307f) < 2e-7f);
    assert_true(isnan(unary_at(ARTEL__UNARY_TANH, NAN, 0, 0, 0)));
    assert_true(unary_at(ARTEL__UNARY_RELU, -INFINITY, 0, INFINITY, 0) == 0 &&
                unary_at(ARTEL__UNARY_RELU, -INFINITY, 0.5f, 3, 0) == -INFINITY);
    static const float blocked[] = {-2, -0.0f, 0, -INFINITY, -1e-30f};
    for (size_t i = 0; i < ARTEL__COUNT(blocked); i++) { /* +0 */
        assert_true(1 / unary_at(ARTEL__UNARY_RELU, blocked[i], 0, INFINITY, 0) == INFINITY);
        assert_true(1 / unary_at(ARTEL__UNARY_RELU, blocked[i], 0, 6, 0.5f) == INFINITY);
    }
    assert_true(1 / unary_at(ARTEL__UNARY_RELU, NAN, 0, INFINITY, 0.5f) == INFINITY);
    static const artel__unary odd[] = {ARTEL__UNARY_EXPM1, ARTEL__UNARY_ELU, ARTEL__UNARY_SELU};
    for (size_t i = 0; i < ARTEL__COUNT(odd); i++) assert_true(1 / unary_at(odd[i], -0.0f, 1, 0, 0) == -INFINITY);
    assert_true(1 / unary_at(ARTEL__UNARY_SIGN, -0.0f, 0, 0, 0) == INFINITY &&
                isnan(unary_at(ARTEL__UNARY_SIGN, NAN, 0, 0, 0)));
    static const artel__unary bounded[] = {ARTEL__UNARY_RELU, ARTEL__UNARY_RELU6,     ARTEL__UNARY_HARD_SIGMOID,
                                           ARTEL__UNARY_CELU, ARTEL__UNARY_HARD_TANH, ARTEL__UNARY_CLIP};
    for (size_t i = 0; i < ARTEL__COUNT(bounded); i++) assert_true(isnan(unary_at(bounded[i], NAN, 1, 2, 0)));
}

static float slope_at(artel__unary op, float x, float a, float b, float c)
{
    float dy = 1, dx;
    artel__unary_gradient g = {op, 1, &x, &x, &dy, &dx, a, b, c, false, false, false};
    check_run_reference(artel__unary_gradient_kernels, &g);
    return dx;
}

/* The side of a kink that TensorFlow takes. */
static void test_unary_kinks(void **state)
{
    (void)state;
    assert_true(slope_at(ARTEL__UNARY_SELU, 0, 0, 0, 0) == 1.05070098f &&
                slope_at(ARTEL__UNARY_SELU, -0.0f, 0, 0, 0) == 1.05070098f);
    assert_true(slope_at(ARTEL__UNARY_RELU, 0, 0.25f, INFINITY, 0) == 0.25f &&
                slope_at(ARTEL__UNARY_RELU, 0, 0.25f, 2, 0) == 0);
    assert_true(slope_at(ARTEL__UNARY_RELU, 0.5f, 0.25f, INFINITY, 0.5f) == 0 &&
                slope_at(ARTEL__UNARY_RELU, 2, 0.25f, 2, 0) == 1);
}

/* -- two arguments -- */

typedef struct pair {
    int64_t rows;
    artel_shape out, a, b;
    bool a_rows, b_rows;
} pair;

static const pair pairs[] = {
    {-1, {1, {1000}}, {1, {1000}}, {1, {1000}}, false, false},
    {5, {2, {30, 40}}, {2, {30, 40}}, {1, {40}}, true, false},
    {5, {2, {30, 40}}, {0, {0}}, {2, {30, 40}}, false, true},
    {3, {3, {4, 5, 17}}, {3, {4, 1, 17}}, {2, {5, 1}}, true, false},
    {3, {3, {4, 5, 6}}, {3, {1, 1, 1}}, {3, {4, 5, 6}}, true, true},
    {0, {1, {7}}, {1, {7}}, {1, {7}}, true, true},
    {700, {1, {11}}, {1, {11}}, {1, {11}}, true, false},
    {2, {2, {3, 0}}, {2, {3, 0}}, {1, {1}}, true, false},
};

static int64_t offset_by_hand(const pair *p, const artel_shape *shape, bool has_rows, int64_t position)
{
    int64_t per_row = artel_shape_count(&p->out), row = per_row ? position / per_row : 0,
            in_row = per_row ? position % per_row : 0;
    int64_t offset = 0, stride = 1;
    for (int d = p->out.rank - 1, s = shape->rank - 1; d >= 0; d--, s--) {
        int64_t index = in_row % p->out.dim[d];
        in_row /= p->out.dim[d];
        if (s < 0) continue;
        if (shape->dim[s] != 1) offset += index * stride;
        stride *= shape->dim[s];
    }
    return offset + (has_rows && p->rows >= 0 ? row * stride : 0);
}

static int64_t operand_count(const pair *p, const artel_shape *shape, bool has_rows)
{
    return artel_shape_count(shape) * (has_rows && p->rows >= 0 ? p->rows : 1);
}

static void test_binary(void **state)
{
    check_random random = {3};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(pairs); k++) {
        const pair *p = &pairs[k];
        int64_t n = artel_shape_count(&p->out) * (p->rows >= 0 ? p->rows : 1);
        float *a = check_floats(&random, operand_count(p, &p->a, p->a_rows), 0.1f, 2);
        float *b = check_floats(&random, operand_count(p, &p->b, p->b_rows), 0.1f, 2);
        float *d = check_floats(&random, n, -1, 1), *out = check_floats(&random, n, 0, 1);
        artel__loop loop;
        artel__loop_broadcast(&loop, p->rows, &p->out, 2, (const artel_shape *const[]){&p->a, &p->b},
                              (bool[]){p->a_rows, p->b_rows});
        assert_int_equal(artel__loop_count(&loop), n);
        for (int op = 0; op < ARTEL__BINARY_COUNT; op++) {
            artel__binary_forward f = {(artel__binary)op, loop, a, b, out, false, false, false};
            check_kernels(artel__binary_forward_kernels, &f, &(check_buffer){out, (size_t)n * 4}, 1);
            for (int64_t i = 0; op == ARTEL__BINARY_SUB && i < n; i++)
                assert_true(out[i] ==
                            a[offset_by_hand(p, &p->a, p->a_rows, i)] - b[offset_by_hand(p, &p->b, p->b_rows, i)]);
            for (int wrt = 0; wrt < 2; wrt++) {
                artel__binary_gradient g = {(artel__binary)op, wrt, loop, a, b, d, out, false, false, false, false};
                check_kernels(artel__binary_gradient_kernels, &g, &(check_buffer){out, (size_t)n * 4}, 1);
            }
        }
        check_free(a), check_free(b), check_free(d), check_free(out);
    }
    assert_true(true);
}

static float binary_at(artel__binary op, float a, float b)
{
    float out;
    artel__binary_forward f = {op, {.rank = 1, .dim = {1}}, &a, &b, &out, false, false, false};
    check_run_reference(artel__binary_forward_kernels, &f);
    return out;
}

static void test_binary_finite_differences(void **state)
{
    check_random random = {4};
    (void)state;
    for (int op = 0; op < ARTEL__BINARY_COUNT; op++) {
        for (int k = 0; k < 100; k++) {
            float a = check_uniform(&random, 0.5f, 2), b = check_uniform(&random, 0.5f, 2), d = 0.6f, h = 1e-3f, got;
            if (fabsf(a - b) < 0.01f) continue;
            for (int wrt = 0; wrt < 2; wrt++) {
                artel__binary_gradient g = {
                    (artel__binary)op, wrt, {.rank = 1, .dim = {1}}, &a, &b, &d, &got, false, false, false, false};
                check_run_reference(artel__binary_gradient_kernels, &g);
                float up = binary_at((artel__binary)op, wrt ? a : a + h, wrt ? b + h : b);
                float down = binary_at((artel__binary)op, wrt ? a : a - h, wrt ? b - h : b);
                assert_true(fabsf(got - d * (up - down) / (2 * h)) < 5e-3f * (1 + fabsf(got)));
            }
        }
    }
}

static void test_select_compare_logic(void **state)
{
    check_random random = {6};
    const artel_shape full = {2, {50, 90}}, row = {1, {90}}, column = {2, {50, 1}};
    const artel_shape *const shapes[] = {&column, &full, &row};
    int64_t n = 50 * 90;
    float *a = check_floats(&random, n, -1, 1), *b = check_floats(&random, 90, -1, 1),
          *out = check_floats(&random, n, 0, 1);
    uint8_t mask[50], bits[50 * 90];
    (void)state;
    for (int i = 0; i < 50; i++) mask[i] = (uint8_t)check_below(&random, 2);
    artel__select s = {.condition = mask, .a = a, .b = b, .out = out};
    artel__loop_broadcast(&s.loop, -1, &full, 3, shapes, (bool[]){false, false, false});
    check_kernels(artel__select_kernels, &s, &(check_buffer){out, (size_t)n * 4}, 1);
    for (int64_t i = 0; i < n; i++) assert_true(out[i] == (mask[i / 90] ? a[i] : b[i % 90]));
    s.b = NULL;
    check_kernels(artel__select_kernels, &s, &(check_buffer){out, (size_t)n * 4}, 1);
    for (int64_t i = 0; i < n; i++) assert_true(out[i] == (mask[i / 90] ? a[i] : 0));
    artel__compare c = {.op = ARTEL__COMPARE_LESS_EQUAL, .dtype = ARTEL_DTYPE_FLOAT32, .a = a, .b = b, .out = bits};
    artel__loop_broadcast(&c.loop, -1, &full, 2, (const artel_shape *const[]){&full, &row}, (bool[]){false, false});
    check_kernels(artel__compare_kernels, &c, &(check_buffer){bits, sizeof bits}, 1);
    for (int64_t i = 0; i < n; i++) assert_true(bits[i] == (a[i] <= b[i % 90]));
    artel__logical l = {
        .op = ARTEL__LOGIC_NOT, .loop = {.rank = 1, .dim = {n}, .stride = {{1}}}, .a = bits, .out = bits};
    check_kernels(artel__logical_kernels, &l, &(check_buffer){bits, sizeof bits}, 1);
    for (int64_t i = 0; i < n; i++) assert_true(bits[i] == !(a[i] <= b[i % 90]));
    check_free(a), check_free(b), check_free(out);
}

static void test_sums(void **state)
{
    check_random random = {7};
    int64_t n = 5001;
    float *x[3];
    (void)state;
    for (int k = 0; k < 3; k++) x[k] = check_floats(&random, n, -1, 1);
    artel__add_n add = {n, 3, {x[0], x[1], x[2]}, x[1]};
    check_kernels(artel__add_n_kernels, &add, &(check_buffer){x[1], (size_t)n * 4}, 1);
    artel__axpy axpy = {n, 0.3f, x[0], x[1]};
    check_kernels(artel__axpy_kernels, &axpy, &(check_buffer){x[1], (size_t)n * 4}, 1);
    for (int k = 0; k < 3; k++) check_free(x[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unary_same_bits),
        cmocka_unit_test(test_far_sines_same_bits),
        cmocka_unit_test(test_unary_finite_differences),
        cmocka_unit_test(test_unary_values),
        cmocka_unit_test(test_unary_kinks),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_binary_finite_differences),
        cmocka_unit_test(test_select_compare_logic),
        cmocka_unit_test(test_sums),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
