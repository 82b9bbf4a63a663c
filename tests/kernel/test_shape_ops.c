/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, padding, conversions, resizing and noise: fast against reference, and against plain loops and the generator
 * itself. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/shape_ops.h"

static const size_t items[] = {1, 2, 4, 8};

static uint8_t *bytes_of(check_random *random, int64_t count)
{
    uint8_t *x = check_alloc((size_t)count);
    for (int64_t i = 0; i < count; i++) x[i] = (uint8_t)check_next(random);
    return x;
}

static int64_t dense(int rank, const int64_t *dim, const int64_t *index)
{
    int64_t at = 0;
    for (int d = 0; d < rank; d++) at = at * dim[d] + index[d];
    return at;
}

/* The next index in row-major order; false after the last. */
static bool next_index(int rank, const int64_t *dim, int64_t *index)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++index[d] < dim[d]) return true;
        index[d] = 0;
    }
    return false;
}

static void test_transpose(void **state)
{
    static const struct {
        int rank;
        int64_t dim[4];
        int permutation[4];
    } cases[] = {{3, {3, 50, 70}, {0, 2, 1}},     {4, {2, 5, 7, 16}, {0, 2, 1, 3}},
                 {4, {2, 3, 4, 5}, {3, 2, 1, 0}}, {1, {9}, {0}},
                 {3, {0, 2, 3}, {1, 0, 2}},       {3, {1, 1, 1}, {2, 0, 1}}};
    check_random random = {1};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        int rank = cases[k].rank;
        int64_t n = 1, to[4], index[4] = {0}, from[4];
        for (int d = 0; d < rank; d++) n *= cases[k].dim[d], to[d] = cases[k].dim[cases[k].permutation[d]];
        for (size_t i = 0; i < 4; i++) {
            size_t item = items[i];
            uint8_t *x = bytes_of(&random, n * (int64_t)item), *y = bytes_of(&random, n * (int64_t)item);
            artel__strided_copy p = {.item = item, .x = x, .y = y};
            artel__copy_transpose(&p, rank, cases[k].dim, cases[k].permutation);
            check_kernels(artel__strided_copy_kernels, &p, &(check_buffer){y, (size_t)n * item}, 1);
            for (bool more = n > 0; more; more = next_index(rank, to, index)) {
                for (int d = 0; d < rank; d++) from[cases[k].permutation[d]] = index[d];
                assert_memory_equal(y + (size_t)dense(rank, to, index) * item,
                                    x + (size_t)dense(rank, cases[k].dim, from) * item, item);
            }
            check_free(x), check_free(y);
        }
    }
}

static void test_slice_and_insert(void **state)
{
    const int64_t dim[] = {6, 10, 30}, start[] = {1, 9, 3}, step[] = {1, -2, 3}, count[] = {4, 5, 9};
    check_random random = {2};
    int64_t n = 6 * 10 * 30, m = 4 * 5 * 9, index[3] = {0};
    float *x = check_floats(&random, n, -1, 1), *y = check_floats(&random, m, -1, 1),
          *z = check_floats(&random, n, -1, 1);
    artel__strided_copy p = {.item = 4, .x = x, .y = y};
    (void)state;
    artel__copy_slice(&p, 3, dim, start, step, count);
    check_kernels(artel__strided_copy_kernels, &p, &(check_buffer){y, (size_t)m * 4}, 1);
    memset(z, 0, (size_t)n * 4);
    artel__strided_copy q = {.item = 4, .x = y, .y = z};
    artel__copy_insert(&q, 3, dim, start, step, count);
    check_kernels(artel__strided_copy_kernels, &q, &(check_buffer){z, (size_t)n * 4}, 1);
    int64_t hit = 0;
    do {
        int64_t from[] = {start[0] + step[0] * index[0], start[1] + step[1] * index[1], start[2] + step[2] * index[2]},
                at = dense(3, dim, from);
        assert_true(y[dense(3, count, index)] == x[at] && z[at] == x[at]);
        hit++;
    } while (next_index(3, count, index));
    for (int64_t i = 0; i < n; i++) hit -= z[i] != 0;
    assert_true(hit == 0);
    check_free(x), check_free(y), check_free(z);
}

static void test_repeat(void **state)
{
    const int64_t dim[] = {2, 3, 4}, each[] = {1, 2, 1}, whole[] = {2, 1, 3}, to[] = {4, 6, 12};
    check_random random = {3};
    int64_t index[3] = {0};
    float *x = check_floats(&random, 24, -1, 1), *y = check_floats(&random, 4 * 6 * 12, -1, 1);
    artel__strided_copy p = {.item = 4, .x = x, .y = y};
    (void)state;
    artel__copy_repeat(&p, 3, dim, each, whole);
    check_kernels(artel__strided_copy_kernels, &p, &(check_buffer){y, 4 * 6 * 12 * 4}, 1);
    do {
        int64_t from[] = {index[0] % 2, index[1] / 2, index[2] % 4};
        assert_true(y[dense(3, to, index)] == x[dense(3, dim, from)]);
    } while (next_index(3, to, index));
    check_free(x), check_free(y);
}

static void test_pad(void **state)
{
    static const artel__pad cases[] = {
        {.rank = 4, .in = {2, 5, 6, 3}, .out = {2, 8, 9, 3}, .before = {0, 1, 2, 0}, .item = 4},
        {.rank = 4, .in = {2, 5, 6, 3}, .out = {2, 3, 2, 3}, .before = {0, -1, -2, 0}, .item = 4, .bits = 0x3f800000},
        {.rank = 3, .in = {3, 40, 50}, .out = {3, 45, 47}, .before = {0, 4, -1}, .item = 1, .bits = 7},
        {.rank = 2, .in = {3, 4}, .out = {3, 2}, .before = {0, 5}, .item = 8, .bits = 9},
        {.rank = 2, .in = {3, 4}, .out = {3, 2}, .before = {0, -9}, .item = 2, .bits = 9},
        {.rank = 2, .in = {3, 4}, .out = {3, 4}, .before = {0, 0}, .item = 2},
        {.rank = 2, .in = {0, 4}, .out = {0, 7}, .before = {0, 1}, .item = 4},
        {.rank = 2, .in = {2, 0}, .out = {2, 3}, .before = {0, 1}, .item = 4, .bits = 1},
    };
    check_random random = {4};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        artel__pad p = cases[k];
        int64_t in = 1, out = 1, index[4] = {0};
        for (int d = 0; d < p.rank; d++) in *= p.in[d], out *= p.out[d];
        uint8_t *x = bytes_of(&random, in * (int64_t)p.item), *y = bytes_of(&random, out * (int64_t)p.item);
        p.x = x, p.y = y;
        check_kernels(artel__pad_kernels, &p, &(check_buffer){y, (size_t)out * p.item}, 1);
        for (bool more = out > 0; more; more = next_index(p.rank, p.out, index)) {
            int64_t from[4];
            bool inside = true;
            for (int d = 0; d < p.rank; d++)
                from[d] = index[d] - p.before[d], inside = inside && from[d] >= 0 && from[d] < p.in[d];
            const void *want = inside ? (const void *)(x + (size_t)dense(p.rank, p.in, from) * p.item) : &p.bits;
            assert_memory_equal(y + (size_t)dense(p.rank, p.out, index) * p.item, want, p.item);
        }
        check_free(x), check_free(y);
    }
}

static void test_fill_cast_one_hot(void **state)
{
    static const artel_dtype dtypes[] = {ARTEL_DTYPE_FLOAT32, ARTEL_DTYPE_FLOAT64, ARTEL_DTYPE_INT32,
                                         ARTEL_DTYPE_INT64,   ARTEL_DTYPE_UINT8,   ARTEL_DTYPE_BOOL};
    check_random random = {5};
    int64_t n = 9000;
    uint8_t *y = bytes_of(&random, n * 8);
    (void)state;
    artel__fill f = {n, 4, 0x3f000000, y};
    check_kernels(artel__fill_kernels, &f, &(check_buffer){y, (size_t)n * 4}, 1);
    for (int64_t i = 0; i < n; i++) assert_true(((float *)(void *)y)[i] == 0.5f);
    for (size_t a = 0; a < ARTEL__COUNT(dtypes); a++) {
        float *x = check_floats(&random, n, -300, 300);
        uint8_t *source = check_alloc((size_t)n * 8);
        artel__convert(ARTEL_DTYPE_FLOAT32, x, dtypes[a], source, n);
        for (size_t b = 0; b < ARTEL__COUNT(dtypes); b++) {
            artel__cast p = {dtypes[a], dtypes[b], n, source, y};
            check_kernels(artel__cast_kernels, &p, &(check_buffer){y, (size_t)n * artel_dtype_size(dtypes[b])}, 1);
        }
        check_free(x), check_free(source);
    }
    int32_t index[] = {2, -1, 0, 3};
    float hot[12];
    artel__one_hot o = {4, 3, 1, 0, index, hot};
    check_kernels(artel__one_hot_kernels, &o, &(check_buffer){hot, sizeof hot}, 1);
    assert_memory_equal(hot, ((float[]){0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0}), sizeof hot);
    check_free(y);
}

/* -- resizing -- */

static void resize_case(artel__resize_method method, int64_t rows, int64_t ih, int64_t iw, int64_t oh, int64_t ow,
                        int64_t channels, check_random *random)
{
    int64_t in = rows * ih * iw * channels, out = rows * oh * ow * channels;
    float *x = check_floats(random, in, -1, 1), *y = check_floats(random, out, -1, 1),
          *dy = check_floats(random, out, -1, 1);
    float *dx = check_floats(random, in, -1, 1);
    artel__resize_forward f = {method, rows, ih, iw, oh, ow, channels, x, y};
    artel__resize_gradient g = {method, rows, ih, iw, oh, ow, channels, dy, dx};
    check_kernels(artel__resize_forward_kernels, &f, &(check_buffer){y, (size_t)out * 4}, 1);
    check_kernels(artel__resize_gradient_kernels, &g, &(check_buffer){dx, (size_t)in * 4}, 1);
    double forward = 0, backward = 0; /* the map is linear: <resize(x), dy> = <x, gradient(dy)> */
    for (int64_t i = 0; i < out; i++) forward += (double)y[i] * (double)dy[i];
    for (int64_t i = 0; i < in; i++) backward += (double)x[i] * (double)dx[i];
    assert_true(fabs(forward - backward) < 1e-4);
    check_free(x), check_free(y), check_free(dy), check_free(dx);
}

static void test_resize(void **state)
{
    check_random random = {6};
    float x[] = {0, 10, 20, 30}, y[16];
    artel__resize_forward f = {ARTEL__RESIZE_BILINEAR, 1, 2, 2, 4, 4, 1, x, y};
    (void)state;
    check_kernels(artel__resize_forward_kernels, &f, &(check_buffer){y, sizeof y}, 1);
    assert_memory_equal(
        y, ((float[]){0, 2.5f, 7.5f, 10, 5, 7.5f, 12.5f, 15, 15, 17.5f, 22.5f, 25, 20, 22.5f, 27.5f, 30}), sizeof y);
    f.method = ARTEL__RESIZE_NEAREST;
    check_kernels(artel__resize_forward_kernels, &f, &(check_buffer){y, sizeof y}, 1);
    assert_memory_equal(y, ((float[]){0, 0, 10, 10, 0, 0, 10, 10, 20, 20, 30, 30, 20, 20, 30, 30}), sizeof y);
    resize_case(ARTEL__RESIZE_NEAREST, 2, 3, 4, 6, 12, 5, &random);
    resize_case(ARTEL__RESIZE_BILINEAR, 2, 3, 4, 6, 12, 40, &random);
    resize_case(ARTEL__RESIZE_BILINEAR, 2, 7, 5, 3, 9, 3, &random);
    resize_case(ARTEL__RESIZE_BILINEAR, 1, 1, 1, 5, 5, 1, &random);
    resize_case(ARTEL__RESIZE_BILINEAR, 0, 3, 3, 6, 6, 2, &random);
}

/* -- noise -- */

static artel__noise noise_of(artel__noise_op op, int64_t rows, int rank, const int64_t *dim, const int64_t *shape,
                             const float *x, float *y)
{
    artel__noise p = {.op = op,
                      .key = artel__rng_make_key(77, ARTEL__STREAM_DROPOUT),
                      .batch = 0x3500000007,
                      .node = 12,
                      .first_row = 1000,
                      .rows = rows,
                      .rank = rank,
                      .rate = 0.3f,
                      .scale = 1.25f,
                      .shift = 0.5f,
                      .other = -2,
                      .x = x,
                      .y = y};
    for (int d = 0; d < rank; d++) p.dim[d] = dim[d], p.noise[d] = shape[d];
    return p;
}

static void test_noise_same_bits(void **state)
{
    static const struct {
        int64_t rows;
        int rank;
        int64_t dim[3], noise[3];
    } cases[] = {{3, 1, {5000}, {5000}},
                 {200, 1, {10}, {10}},
                 {2, 3, {6, 7, 32}, {1, 1, 32}},
                 {2, 3, {6, 7, 32}, {6, 1, 1}},
                 {2, 3, {6, 7, 5}, {1, 7, 1}},
                 {4, 0, {0}, {0}},
                 {0, 1, {8}, {8}},
                 {2, 2, {700, 3}, {700, 3}}};
    check_random random = {7};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        for (int op = 0; op <= ARTEL__NOISE_UNIFORM; op++) {
            int64_t n = cases[k].rows;
            for (int d = 0; d < cases[k].rank; d++) n *= cases[k].dim[d];
            float *x = check_floats(&random, n, -1, 1), *y = check_floats(&random, n, -1, 1);
            artel__noise p =
                noise_of((artel__noise_op)op, cases[k].rows, cases[k].rank, cases[k].dim, cases[k].noise, x, y);
            check_kernels(artel__noise_kernels, &p, &(check_buffer){y, (size_t)n * 4}, 1);
            p.shared_rows = true;
            check_kernels(artel__noise_kernels, &p, &(check_buffer){y, (size_t)n * 4}, 1);
            check_free(x), check_free(y);
        }
    }
}

static void test_dropout(void **state)
{
    enum {
        ROWS = 4,
        SIZE = 2000
    };
    int64_t dim = SIZE, kept = 0;
    check_random random = {8};
    float *x = check_floats(&random, ROWS * SIZE, 1, 2), *y = check_floats(&random, ROWS * SIZE, 0, 1),
          *part = check_floats(&random, SIZE, 0, 1);
    artel__noise p = noise_of(ARTEL__NOISE_DROPOUT, ROWS, 1, &dim, &dim, x, y);
    (void)state;
    check_run_reference(artel__noise_kernels, &p);
    for (int64_t i = 0; i < ROWS * SIZE; i++) {
        assert_true(y[i] == 0 || y[i] == x[i] * 1.25f);
        kept += y[i] != 0;
    }
    assert_true(kept > 0.67 * ROWS * SIZE && kept < 0.73 * ROWS * SIZE);
    p.rows = 1, p.first_row = 1002, p.x = x + 2 * SIZE, p.y = part; /* the mask belongs to the global row */
    check_run_reference(artel__noise_kernels, &p);
    assert_memory_equal(part, y + 2 * SIZE, SIZE * 4);
    check_free(x), check_free(y), check_free(part);
}

static void test_gaussian(void **state)
{
    enum {
        SIZE = 20000
    };
    int64_t dim = SIZE;
    float *x = check_alloc(SIZE * 4), *y = check_alloc(SIZE * 4);
    double sum = 0, squares = 0;
    (void)state;
    memset(x, 0, SIZE * 4);
    artel__noise p = noise_of(ARTEL__NOISE_GAUSSIAN, 1, 1, &dim, &dim, x, y);
    p.scale = 2;
    check_run_reference(artel__noise_kernels, &p);
    for (int i = 0; i < SIZE; i++) sum += (double)y[i], squares += (double)y[i] * (double)y[i];
    assert_true(fabs(sum / SIZE) < 0.06 && fabs(squares / SIZE - 4) < 0.15);
    check_free(x), check_free(y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transpose),
        cmocka_unit_test(test_slice_and_insert),
        cmocka_unit_test(test_repeat),
        cmocka_unit_test(test_pad),
        cmocka_unit_test(test_fill_cast_one_hot),
        cmocka_unit_test(test_resize),
        cmocka_unit_test(test_noise_same_bits),
        cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_gaussian),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
