/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling: fast against reference, values by hand, gradients by finite differences, that of a ReLU in front, Keras'
 * padding. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/elementwise.h"
#include "kernel/pool.h"

static artel__pool_shape shape_of(int64_t channels, const int64_t *in, int64_t window, int64_t stride, bool same)
{
    artel__pool_shape s = {.channels = channels};
    for (int d = 0; d < 3; d++) artel__pool_axis(&s, d, in[d], in[d] == 1 ? 1 : window, in[d] == 1 ? 1 : stride, same);
    return s;
}

static int64_t product(const int64_t *x)
{
    return x[0] * x[1] * x[2];
}

static double loss_of(artel__pool_forward *f, const float *dy, int64_t n)
{
    double loss = 0;
    check_run_reference(artel__pool_forward_kernels, f);
    for (int64_t i = 0; i < n; i++) loss += (double)f->y[i] * (double)dy[i];
    return loss;
}

static void pool_case(artel__pool_op op, int64_t rows, artel__pool_shape s, check_random *random)
{
    int64_t in = rows * product(s.in) * s.channels, out = rows * product(s.out) * s.channels;
    float *x = check_floats(random, in, -1, 1), *y = check_floats(random, out, 0, 1),
          *dy = check_floats(random, out, -1, 1);
    float *dx = check_floats(random, in, 0, 1);
    for (int64_t i = 0; i < in; i++) x[i] = roundf(x[i] * 50) / 50; /* so that there are ties */
    artel__pool_forward f = {op, rows, s, x, y, false, false};
    artel__pool_gradient g = {op, rows, s, x, y, dy, dx, false, false, false, false, false};
    check_kernels(artel__pool_forward_kernels, &f, &(check_buffer){y, (size_t)out * 4}, 1);
    check_kernels(artel__pool_gradient_kernels, &g, &(check_buffer){dx, (size_t)in * 4}, 1);
    double left = in > 0 ? loss_of(&f, dy, out) : 0;
    int trials = s.channels < 64 ? 10 : 2; /* what is wrong with a slope is so in each channel */
    for (int trial = 0; trial < trials && in > 0; trial++) {
        int64_t at = check_below(random, in);
        float before = x[at];
        x[at] = before + 0.004f;
        double up = loss_of(&f, dy, out);
        x[at] = before - 0.004f;
        double down = loss_of(&f, dy, out);
        x[at] = before;
        double slope = (up - down) / 0.008;
        if (fabs((up - left) - (left - down)) > 1e-4) continue; /* a tie */
        assert_true(fabs(slope - (double)dx[at]) < 2e-2);
    }
    check_free(x), check_free(y), check_free(dy), check_free(dx);
}

static void test_pool(void **state)
{
    static const int64_t ins[][3] = {{1, 7, 9}, {1, 1, 20}, {3, 5, 6}, {1, 8, 8}, {1, 2, 2}};
    static const int64_t channels[] = {1, 5, 64, 130, 530};
    check_random random = {1};
    (void)state;
    for (int op = 0; op < 2; op++)
        for (size_t i = 0; i < ARTEL__COUNT(ins); i++)
            for (size_t c = 0; c < ARTEL__COUNT(channels); c++)
                for (int64_t k = 0; k < 8; k++)
                    pool_case((artel__pool_op)op, k == 7 ? 0 : 2,
                              shape_of(channels[c], ins[i], 2 + k % 2, 1 + k / 2 % 2, k >= 4), &random);
}

static artel__pool_shape plane_of(int64_t channels, int64_t extent, int64_t window, int64_t stride, bool same)
{
    return shape_of(channels, (int64_t[]){1, extent, extent}, window, stride, same);
}

/* What a convolution with a fused ReLU leaves: many zeros of either sign, and what it lets pass. */
static float *rectified(check_random *random, int64_t count)
{
    static const float odd[] = {NAN, INFINITY, -0.0f, 1e-42f};
    float *x = check_floats(random, count, -1, 1);
    for (int64_t i = 0; i < count; i++) {
        x[i] = roundf(x[i] * 20) / 20;
        if (x[i] < 0) x[i] = 0;
        if (check_below(random, 8) == 0) x[i] = odd[check_below(random, ARTEL__COUNT(odd))];
    }
    return x;
}

/* With `relu` the gradient is that of the pool and then of the ReLU, dx may be x where windows lie apart, and all
 * kernels agree. */
static void relu_case(int64_t rows, artel__pool_shape s, check_random *random)
{
    int64_t in = rows * product(s.in) * s.channels, out = rows * product(s.out) * s.channels;
    float *x = rectified(random, in), *y = check_floats(random, out, 0, 1), *dy = check_floats(random, out, -1, 1);
    float *dx = check_floats(random, in, 0, 1), *masked = check_floats(random, in, 0, 1);
    for (int64_t i = 0; i < out; i++) {
        if (check_below(random, 16) == 0) dy[i] = check_below(random, 2) ? -0.0f : INFINITY;
    }
    artel__pool_forward f = {ARTEL__POOL_MAX, rows, s, x, y, false, false};
    artel__pool_gradient g = {ARTEL__POOL_MAX, rows, s, x, y, dy, dx, false, false, false, false, false};
    artel__unary_gradient mask = {.op = ARTEL__UNARY_RELU, .count = in, .x = x, .dy = dx, .dx = masked, .b = INFINITY};
    check_kernels(artel__pool_forward_kernels, &f, &(check_buffer){y, (size_t)out * 4}, 1);
    check_kernels(artel__pool_gradient_kernels, &g, &(check_buffer){dx, (size_t)in * 4}, 1);
    check_run_reference(artel__unary_gradient_kernels, &mask);
    g.relu = true;
    check_kernels(artel__pool_gradient_kernels, &g, &(check_buffer){dx, (size_t)in * 4}, 1);
    assert_memory_equal(dx, masked, (size_t)in * 4);
    if (artel__pool_apart(&s)) {
        g.dx = x;
        check_kernels(artel__pool_gradient_kernels, &g, &(check_buffer){x, (size_t)in * 4}, 1);
        assert_memory_equal(x, masked, (size_t)in * 4);
    }
    check_free(x), check_free(y), check_free(dy), check_free(dx), check_free(masked);
}

static void test_relu(void **state)
{
    static const int64_t windows[][2] = {{2, 2}, {2, 3}, {1, 2}, {3, 2}, {3, 1}, {2, 1}};
    static const int64_t channels[] = {1, 7, 32, 100, 515};
    check_random random = {2};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(windows); i++)
        for (size_t c = 0; c < ARTEL__COUNT(channels); c++)
            for (int same = 0; same < 2; same++) {
                relu_case(2, plane_of(channels[c], 9, windows[i][0], windows[i][1], same), &random);
                relu_case(2, shape_of(channels[c], (int64_t[]){4, 3, 5}, windows[i][0], windows[i][1], same), &random);
            }
}

/* Results that go past the caches: tiles of channels, channels that are no whole vectors. */
static void test_large(void **state)
{
    check_random random = {3};
    (void)state;
    relu_case(1, plane_of(528, 79, 2, 2, false), &random);
    relu_case(1, plane_of(529, 79, 3, 2, true), &random);
    relu_case(2, plane_of(80, 144, 3, 2, false), &random);
}

static void test_values(void **state)
{
    float x[] = {1, 5, 5, 2, 0, 3}, y[2], dy[] = {10, 20}, dx[6];
    artel__pool_shape s = {.channels = 1, .in = {1, 2, 3}, .out = {1, 1, 2}, .window = {1, 2, 2}, .stride = {1, 1, 1}};
    artel__pool_forward f = {ARTEL__POOL_MAX, 1, s, x, y, false, false};
    artel__pool_gradient g = {ARTEL__POOL_MAX, 1, s, x, y, dy, dx, false, false, false, false, false};
    (void)state;
    check_run_reference(artel__pool_forward_kernels, &f);
    check_run_reference(artel__pool_gradient_kernels, &g);
    assert_true(y[0] == 5 && y[1] == 5);
    assert_memory_equal(dx, ((float[]){0, 30, 0, 0, 0, 0}), sizeof dx); /* the first of a tie, twice */
}

static void test_same_padding(void **state)
{
    float x[] = {1, 2, 3}, y[2];
    artel__pool_shape s = {.channels = 1};
    (void)state;
    artel__pool_axis(&s, 0, 1, 1, 1, true);
    artel__pool_axis(&s, 1, 1, 1, 1, true);
    artel__pool_axis(&s, 2, 3, 2, 2, true);
    assert_true(s.out[2] == 2 && s.pad[2] == 0);
    artel__pool_forward f = {ARTEL__POOL_AVERAGE, 1, s, x, y, false, false};
    check_run_reference(artel__pool_forward_kernels, &f);
    assert_true(y[0] == 1.5f && y[1] == 3); /* padding does not count */
    artel__pool_axis(&s, 2, 7, 3, 2, true);
    assert_true(s.out[2] == 4 && s.pad[2] == 1);
    artel__pool_axis(&s, 2, 7, 3, 2, false);
    assert_true(s.out[2] == 3 && s.pad[2] == 0);
    artel__pool_axis(&s, 2, 2, 3, 1, false);
    assert_true(s.out[2] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),   cmocka_unit_test(test_relu),         cmocka_unit_test(test_large),
        cmocka_unit_test(test_values), cmocka_unit_test(test_same_padding),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
