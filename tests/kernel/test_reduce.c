/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and folds: fast against reference, truth in float64, gradients, and folds under any distribution of
 * shards. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/reduce.h"

typedef struct reduction_case {
    int rank;
    int64_t dim[4];
    bool reduced[4];
} reduction_case;

static const reduction_case cases[] = {
    {2, {5, 1000}, {false, true}},
    {3, {3, 49, 70}, {false, true, false}},
    {4, {2, 7, 5, 200}, {false, true, true, false}},
    {4, {3, 5, 6, 19}, {false, true, false, true}},
    {4, {3, 5, 6, 7}, {false, false, true, false}},
    {1, {17}, {true}},
    {2, {4, 1}, {false, true}},
    {3, {0, 4, 5}, {false, true, false}},
    {3, {2, 0, 5}, {false, true, false}},
    {3, {2, 3, 0}, {false, false, true}},
    {2, {900, 3}, {false, true}},
    {3, {4, 3, 300}, {true, false, true}},
};

static int64_t counts(const reduction_case *c, int64_t *outputs)
{
    int64_t all = 1;
    *outputs = 1;
    for (int d = 0; d < c->rank; d++) {
        all *= c->dim[d];
        if (!c->reduced[d]) *outputs *= c->dim[d];
    }
    return all;
}

/* The output that element i belongs to. */
static int64_t output_of(const reduction_case *c, int64_t i)
{
    int64_t out = 0, stride = 1;
    for (int d = c->rank - 1; d >= 0; d--) {
        if (!c->reduced[d]) {
            out += i % c->dim[d] * stride;
            stride *= c->dim[d];
        }
        i /= c->dim[d];
    }
    return out;
}

static void test_reduce(void **state)
{
    check_random random = {1};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(cases); k++) {
        const reduction_case *c = &cases[k];
        int64_t outputs, all = counts(c, &outputs);
        float *x = check_floats(&random, all, -1, 1), *y = check_floats(&random, outputs, 0, 1),
              *dx = check_floats(&random, all, 0, 1);
        float *dy = check_floats(&random, outputs, -1, 1);
        double *truth = check_alloc((size_t)outputs * sizeof *truth);
        for (int op = 0; op <= ARTEL__REDUCE_PROD; op++) {
            artel__reduce r = {.op = (artel__reduction)op, .rank = c->rank, .x = x, .y = y};
            memcpy(r.dim, c->dim, sizeof c->dim);
            memcpy(r.reduced, c->reduced, sizeof c->reduced);
            check_kernels(artel__reduce_kernels, &r, &(check_buffer){y, (size_t)outputs * 4}, 1);
            artel__reduce_gradient g = {.op = r.op, .rank = c->rank, .x = x, .y = y, .dy = dy, .dx = dx};
            memcpy(g.dim, c->dim, sizeof c->dim);
            memcpy(g.reduced, c->reduced, sizeof c->reduced);
            check_kernels(artel__reduce_gradient_kernels, &g, &(check_buffer){dx, (size_t)all * 4}, 1);
            for (int64_t o = 0; o < outputs; o++) truth[o] = op == ARTEL__REDUCE_MAX ? -INFINITY : 0;
            for (int64_t i = 0; i < all; i++) {
                double *t = &truth[output_of(c, i)];
                if (op == ARTEL__REDUCE_SUM) *t += (double)x[i];
                if (op == ARTEL__REDUCE_MAX) *t = fmax(*t, (double)x[i]);
            }
            for (int64_t o = 0; o < outputs && op == ARTEL__REDUCE_SUM; o++)
                assert_true(fabs(truth[o] - (double)y[o]) < 1e-4);
            for (int64_t o = 0; o < outputs && op == ARTEL__REDUCE_MAX; o++) assert_true(truth[o] == (double)y[o]);
            for (int64_t i = 0; i < all && op == ARTEL__REDUCE_SUM; i++) assert_true(dx[i] == dy[output_of(c, i)]);
        }
        check_free(x), check_free(y), check_free(dx), check_free(dy), check_free(truth);
    }
}

/* A NaN is not lost among the numbers, whichever lane it comes to. */
static void test_reduce_nan(void **state)
{
    float x[3][37], y[3];
    (void)state;
    for (int op = ARTEL__REDUCE_SUM; op <= ARTEL__REDUCE_PROD; op++) {
        for (int at = 0; at < 37; at++) {
            for (int i = 0; i < 3 * 37; i++) x[i / 37][i % 37] = (float)(i % 5 + 1);
            x[1][at] = NAN;
            artel__reduce r = {
                .op = (artel__reduction)op, .rank = 2, .dim = {3, 37}, .reduced = {false, true}, .x = x[0], .y = y};
            check_kernels(artel__reduce_kernels, &r, &(check_buffer){y, sizeof y}, 1);
            assert_true(!isnan(y[0]) && isnan(y[1]) && !isnan(y[2]));
        }
    }
}

static void test_reduce_gradients(void **state)
{
    float x[] = {2, 3, 0, 3, 1, 1}, y[2], dy[] = {1, 6}, dx[6];
    artel__reduce_gradient g = {.op = ARTEL__REDUCE_MAX,
                                .rank = 2,
                                .dim = {2, 3},
                                .reduced = {false, true},
                                .x = x,
                                .y = y,
                                .dy = dy,
                                .dx = dx};
    artel__reduce r = {.op = ARTEL__REDUCE_MAX, .rank = 2, .dim = {2, 3}, .reduced = {false, true}, .x = x, .y = y};
    (void)state;
    check_run_reference(artel__reduce_kernels, &r);
    check_run_reference(artel__reduce_gradient_kernels, &g);
    assert_memory_equal(dx, ((float[]){0, 1, 0, 6, 0, 0}), sizeof dx);
    r.op = g.op = ARTEL__REDUCE_MIN; /* a tie is shared */
    check_run_reference(artel__reduce_kernels, &r);
    check_run_reference(artel__reduce_gradient_kernels, &g);
    assert_memory_equal(dx, ((float[]){0, 0, 1, 0, 3, 3}), sizeof dx);
    r.op = g.op = ARTEL__REDUCE_PROD; /* one zero: only its own gradient is left */
    check_run_reference(artel__reduce_kernels, &r);
    check_run_reference(artel__reduce_gradient_kernels, &g);
    assert_memory_equal(dx, ((float[]){0, 0, 6, 6, 18, 18}), sizeof dx);
}

static void test_argmax_and_top_k(void **state)
{
    float x[] = {1, 3, 3, 2, -1, NAN, 5, 4, NAN, NAN, -6, -7, NAN, -INFINITY, NAN, NAN}, hit[2];
    int32_t y[4], target[] = {2, 3};
    artel__argmax a = {4, 4, 1, x, y};
    artel__in_top_k t = {2, 4, 1, x, target, hit};
    (void)state;
    check_kernels(artel__argmax_kernels, &a, &(check_buffer){y, sizeof y}, 1);
    assert_int_equal(y[0], 1);
    assert_int_equal(y[1], 2);
    assert_int_equal(y[2], 2);
    assert_int_equal(y[3], 0);
    check_kernels(artel__in_top_k_kernels, &t, &(check_buffer){hit, sizeof hit}, 1);
    assert_true(hit[0] == 1 && hit[1] == 0);
}

/* -- folds -- */

static void fold_once(const artel__fold_columns *like, check_part *part, size_t item)
{
    artel__fold_columns p = *like;
    part->block_bytes = (size_t)p.columns * item;
    part->blocks = check_alloc((size_t)part->plan.nodes * part->block_bytes);
    p.fold = &part->plan;
    p.y = part->blocks;
    p.y_stride = p.columns;
    check_kernels(artel__fold_columns_kernels, &p,
                  &(check_buffer){part->blocks, (size_t)part->plan.nodes * part->block_bytes}, 1);
}

/* The root under `replicas` replicas; x holds the whole batch. */
static void fold_root(artel__fold_columns like, int32_t shards, int32_t replicas, int64_t batch, size_t in_item,
                      size_t item, void *root)
{
    check_part part[8] = {0};
    const char *x = like.x;
    for (int32_t r = 0; r < replicas; r++) {
        int32_t first = artel__replica_first_shard(shards, replicas, r),
                next = artel__replica_first_shard(shards, replicas, r + 1);
        check_plan_init(&part[r].plan, shards, first, next - first, batch);
        like.x = x + (size_t)(part[r].plan.row * like.inner * like.columns) * in_item;
        fold_once(&like, &part[r], item);
    }
    check_finish(part, replicas, like.columns, like.to == ARTEL_DTYPE_FLOAT32 ? check_add_floats : check_add_doubles,
                 root);
    for (int32_t r = 0; r < replicas; r++) {
        check_free(part[r].blocks);
        check_plan_fini(&part[r].plan);
    }
}

static void test_fold_columns(void **state)
{
    static const int64_t batches[] = {5, 64, 71}, inners[] = {1, 3}, columns[] = {1, 16, 77, 300};
    check_random random = {2};
    (void)state;
    for (int c = 0; c < 3 * 2 * 4; c++) {
        int64_t batch = batches[c % 3], inner = inners[c / 3 % 2], width = columns[c / 6];
        float *x = check_floats(&random, batch * inner * width, -1, 1);
        for (int wide = 0; wide < 2; wide++) {
            size_t item = wide ? 8 : 4;
            artel__fold_columns p = {.from = ARTEL_DTYPE_FLOAT32,
                                     .to = wide ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32,
                                     .inner = inner,
                                     .columns = width,
                                     .x = x};
            void *root = check_alloc((size_t)width * item), *other = check_alloc((size_t)width * item);
            fold_root(p, 16, 1, batch, 4, item, root);
            for (int32_t replicas = 2; replicas <= 8; replicas++) {
                fold_root(p, 16, replicas, batch, 4, item, other);
                assert_memory_equal(root, other, (size_t)width * item);
            }
            double truth = 0;
            for (int64_t i = 0; i < batch * inner; i++) truth += (double)x[i * width];
            assert_true(fabs(truth - (wide ? *(double *)root : (double)*(float *)root)) < 1e-4);
            check_free(root), check_free(other);
        }
        check_free(x);
    }
}

static void test_fold_other_types(void **state)
{
    double x[12];
    int64_t n[12], total = 0, sum = 0;
    uint8_t b[12];
    artel__fold_plan plan;
    (void)state;
    for (int i = 0; i < 12; i++) x[i] = 0.1 * i, n[i] = i - 3, b[i] = (uint8_t)(i % 3), total += n[i];
    check_plan_init(&plan, 8, 0, 8, 12);
    double y = 0;
    artel__fold_columns p = {.fold = &plan,
                             .from = ARTEL_DTYPE_FLOAT64,
                             .to = ARTEL_DTYPE_FLOAT64,
                             .inner = 1,
                             .columns = 1,
                             .x = x,
                             .y = &y,
                             .y_stride = 1};
    check_kernels(artel__fold_columns_kernels, &p, &(check_buffer){&y, 8}, 1);
    assert_true(fabs(y - 6.6) < 1e-12);
    p.from = p.to = ARTEL_DTYPE_INT64, p.x = n, p.y = &sum;
    check_kernels(artel__fold_columns_kernels, &p, &(check_buffer){&sum, 8}, 1);
    assert_true(sum == total);
    p.from = ARTEL_DTYPE_BOOL, p.x = b;
    check_kernels(artel__fold_columns_kernels, &p, &(check_buffer){&sum, 8}, 1);
    assert_true(sum == 8);
    check_plan_fini(&plan);
}

/* A reduction over `inner` followed by a fold gives the bits of the fold with inner. */
static void test_reduce_then_fold(void **state)
{
    check_random random = {3};
    float *x = check_floats(&random, 40 * 9 * 50, -1, 1), *rows = check_floats(&random, 40 * 50, 0, 1), one[50],
          two[50];
    artel__fold_plan plan;
    (void)state;
    check_plan_init(&plan, 8, 0, 8, 40);
    artel__fold_columns p = {.fold = &plan,
                             .from = ARTEL_DTYPE_FLOAT32,
                             .to = ARTEL_DTYPE_FLOAT32,
                             .inner = 9,
                             .columns = 50,
                             .x = x,
                             .y = one,
                             .y_stride = 50};
    check_run_reference(artel__fold_columns_kernels, &p);
    artel__reduce r = {
        .op = ARTEL__REDUCE_SUM, .rank = 3, .dim = {40, 9, 50}, .reduced = {false, true, false}, .x = x, .y = rows};
    check_run_reference(artel__reduce_kernels, &r);
    p.inner = 1, p.x = rows, p.y = two;
    check_run_reference(artel__fold_columns_kernels, &p);
    assert_memory_equal(one, two, sizeof one);
    check_plan_fini(&plan);
    check_free(x), check_free(rows);
}

static void test_fold_weighted(void **state)
{
    float value[] = {1, 2, 3, 4, 5, 6}, weight[] = {1, 0, 2};
    double y[2];
    artel__fold_plan plan;
    (void)state;
    check_plan_init(&plan, 8, 0, 8, 3);
    artel__fold_weighted p = {&plan, 2, 1, value, weight, y};
    check_kernels(artel__fold_weighted_kernels, &p, &(check_buffer){y, sizeof y}, 1);
    assert_true(y[0] == 1 + 2 + 10 + 12 && y[1] == 6);
    p.weight = NULL;
    check_kernels(artel__fold_weighted_kernels, &p, &(check_buffer){y, sizeof y}, 1);
    assert_true(y[0] == 21 && y[1] == 6);
    check_plan_fini(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reduce),           cmocka_unit_test(test_reduce_nan),
        cmocka_unit_test(test_reduce_gradients), cmocka_unit_test(test_argmax_and_top_k),
        cmocka_unit_test(test_fold_columns),     cmocka_unit_test(test_fold_other_types),
        cmocka_unit_test(test_reduce_then_fold), cmocka_unit_test(test_fold_weighted),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
