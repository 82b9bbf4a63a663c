/* SPDX-License-Identifier: Apache-2.0 */
/* Row functions: fast against reference, sums, gradients by finite differences, Keras' sparsemax. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/softmax.h"

static const int64_t sizes[][3] = {{1, 1, 1}, {300, 10, 1}, {7, 100, 1}, {3, 5000, 1},
                                   {2, 5, 3}, {4, 9, 200},  {0, 4, 1},   {3, 17, 1}};

static double loss_at(artel__softmax_op op, const int64_t *s, float *x, const float *dy, float *y)
{
    artel__softmax_forward f = {op, s[0], s[1], s[2], x, y};
    double loss = 0;
    check_run_reference(artel__softmax_forward_kernels, &f);
    for (int64_t i = 0; i < s[0] * s[1] * s[2]; i++) loss += (double)y[i] * (double)dy[i];
    return loss;
}

static void softmax_case(artel__softmax_op op, const int64_t *s, check_random *random)
{
    int64_t n = s[0] * s[1] * s[2];
    float *x = check_floats(random, n, -3, 3), *y = check_floats(random, n, 0, 1), *dy = check_floats(random, n, -1, 1);
    float *dx = check_floats(random, n, 0, 1), *other = check_floats(random, n, 0, 1);
    artel__softmax_forward f = {op, s[0], s[1], s[2], x, y};
    artel__softmax_gradient g = {op, s[0], s[1], s[2], y, dy, dx, x};
    check_kernels(artel__softmax_forward_kernels, &f, &(check_buffer){y, (size_t)n * 4}, 1);
    check_kernels(artel__softmax_gradient_kernels, &g, &(check_buffer){dx, (size_t)n * 4}, 1);
    for (int64_t k = 0; k < s[0] * s[2] && op != ARTEL__SPARSEMAX; k++) {
        double sum = 0;
        for (int64_t i = 0; i < s[1]; i++) {
            double v = (double)y[k / s[2] * s[1] * s[2] + i * s[2] + k % s[2]];
            sum += op == ARTEL__SOFTMAX ? v : exp(v);
        }
        assert_true(fabs(sum - 1) < 1e-5);
    }
    for (int trial = 0; trial < 10 && n > 0 && n < 4000; trial++) {
        int64_t at = check_below(random, n);
        float before = x[at], h = 1.0f / 256;
        x[at] = before + h;
        double up = loss_at(op, s, x, dy, other);
        x[at] = before - h;
        double down = loss_at(op, s, x, dy, other);
        x[at] = before;
        double middle = loss_at(op, s, x, dy, other), slope = (up - down) / (2 * (double)h);
        if (fabs(up + down - 2 * middle) > 1e-3 * (double)h) continue; /* a change of support */
        assert_true(fabs(slope - (double)dx[at]) < 5e-3);
    }
    check_free(x), check_free(y), check_free(dy), check_free(dx), check_free(other);
}

static void test_softmax(void **state)
{
    check_random random = {1};
    (void)state;
    for (int op = 0; op <= ARTEL__SPARSEMAX; op++)
        for (size_t k = 0; k < ARTEL__COUNT(sizes); k++) softmax_case((artel__softmax_op)op, sizes[k], &random);
}

static void test_extremes(void **state)
{
    float x[] = {1000, 0, -1000, -INFINITY, 5, 5}, y[6];
    artel__softmax_forward f = {ARTEL__SOFTMAX, 2, 3, 1, x, y};
    (void)state;
    check_kernels(artel__softmax_forward_kernels, &f, &(check_buffer){y, sizeof y}, 1);
    assert_memory_equal(y, ((float[]){1, 0, 0, 0, 0.5f, 0.5f}), sizeof y);
}

/* Recorded from keras.ops.sparsemax of 3.15.1, which is not the published function. */
static void test_sparsemax_of_keras(void **state)
{
    float x[] = {1, 0.9f, 3, 0.1f, 0.2f, 0.3f}, y[6], dx[6], dy[] = {1, 2, 3, 4, 5, 6};
    const float want[] = {0.05f, 0, 1, 0, 0.3f, 0.4f}, slope[] = {0, -0.5f, 0, 0, -0.5f, -5};
    artel__softmax_forward f = {ARTEL__SPARSEMAX, 3, 2, 1, x, y};
    artel__softmax_gradient g = {ARTEL__SPARSEMAX, 3, 2, 1, y, dy, dx, x};
    (void)state;
    check_run_reference(artel__softmax_forward_kernels, &f);
    check_run_reference(artel__softmax_gradient_kernels, &g);
    for (int i = 0; i < 6; i++) assert_true(fabsf(y[i] - want[i]) < 1e-6f && fabsf(dx[i] - slope[i]) < 1e-6f);
}

static void test_glu(void **state)
{
    check_random random = {2};
    static const int64_t cases[][3] = {{3, 5, 1}, {200, 40, 1}, {2, 3, 1500}, {0, 3, 3}};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        int64_t n = cases[k][0] * cases[k][1] * cases[k][2];
        float *x = check_floats(&random, 2 * n, -3, 3), *y = check_floats(&random, n, 0, 1),
              *dy = check_floats(&random, n, -1, 1);
        float *dx = check_floats(&random, 2 * n, 0, 1);
        artel__glu_forward f = {cases[k][0], cases[k][1], cases[k][2], x, y};
        artel__glu_gradient g = {cases[k][0], cases[k][1], cases[k][2], x, dy, dx};
        check_kernels(artel__glu_forward_kernels, &f, &(check_buffer){y, (size_t)n * 4}, 1);
        check_kernels(artel__glu_gradient_kernels, &g, &(check_buffer){dx, (size_t)n * 8}, 1);
        int64_t half = cases[k][1] * cases[k][2];
        for (int64_t i = 0; i < n; i++) {
            int64_t at = i / half * 2 * half + i % half;
            double s = 1 / (1 + exp(-(double)x[at + half]));
            assert_true(fabs((double)y[i] - (double)x[at] * s) < 1e-5 &&
                        fabs((double)dx[at] - (double)dy[i] * s) < 1e-5);
            assert_true(fabs((double)dx[at + half] - (double)dy[i] * (double)x[at] * s * (1 - s)) < 1e-5);
        }
        check_free(x), check_free(y), check_free(dy), check_free(dx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_sparsemax_of_keras),
        cmocka_unit_test(test_glu),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
