/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation: fast against reference, batch moments under any distribution of shards, gradients by finite
 * differences. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/moments.h"
#include "kernel/norm.h"
#include "kernel/reduce.h"

typedef struct batch {
    int64_t rows, inner, channels;
} batch;

static const batch batches[] = {{5, 1, 3},    {20, 9, 16},  {64, 4, 33},   {3, 50, 200},
                                {4, 11, 600}, {33, 2, 130}, {16, 3, 1100}, {0, 3, 4}};

static void merge_moments(void *left, const void *right, int64_t columns)
{
    artel__moments_merge(left, right, columns);
}

/* The root of the moments under `replicas` replicas. */
static void moments_root(const batch *b, const float *x, int32_t replicas, double *root)
{
    check_part part[8] = {0};
    for (int32_t r = 0; r < replicas; r++) {
        artel__fold_plan *plan = &part[r].plan;
        int32_t first = artel__replica_first_shard(8, replicas, r),
                next = artel__replica_first_shard(8, replicas, r + 1);
        check_plan_init(plan, 8, first, next - first, b->rows);
        size_t rows_bytes = (size_t)(plan->rows * 2 * b->channels) * 8;
        double *sums = check_alloc(rows_bytes);
        artel__batch_moments_rows m = {plan->rows, b->inner, b->channels, x + plan->row * b->inner * b->channels,
                                       sums,       false};
        check_kernels(artel__batch_moments_rows_kernels, &m, &(check_buffer){sums, rows_bytes}, 1);
        part[r].block_bytes = (size_t)(3 * b->channels) * 8;
        part[r].blocks = check_alloc((size_t)plan->nodes * part[r].block_bytes);
        artel__batch_moments_fold f = {plan, b->inner, b->channels, sums, part[r].blocks};
        check_kernels(artel__batch_moments_fold_kernels, &f,
                      &(check_buffer){part[r].blocks, (size_t)plan->nodes * part[r].block_bytes}, 1);
        check_free(sums);
    }
    check_finish(part, replicas, b->channels, merge_moments, root);
    for (int32_t r = 0; r < replicas; r++) {
        check_free(part[r].blocks);
        check_plan_fini(&part[r].plan);
    }
}

static void check_truth(const batch *b, const float *x, const double *root)
{
    int64_t n = b->rows * b->inner;
    for (int64_t c = 0; c < b->channels; c++) {
        double mean = 0, m2 = 0;
        for (int64_t i = 0; i < n; i++) mean += (double)x[i * b->channels + c];
        mean = n ? mean / (double)n : 0;
        for (int64_t i = 0; i < n; i++) m2 += pow((double)x[i * b->channels + c] - mean, 2);
        assert_true(root[c] == (double)n);
        assert_true(fabs(root[b->channels + c] - mean) < 1e-10 &&
                    fabs(root[2 * b->channels + c] - m2) < 1e-8 * (1 + m2));
    }
}

static void test_moments(void **state)
{
    check_random random = {1};
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(batches); k++) {
        const batch *b = &batches[k];
        float *x = check_floats(&random, b->rows * b->inner * b->channels, 9, 11);
        size_t bytes = (size_t)(3 * b->channels) * 8;
        double *root = check_alloc(bytes), *other = check_alloc(bytes);
        moments_root(b, x, 1, root);
        check_truth(b, x, root);
        for (int32_t replicas = 2; replicas <= 8; replicas++) {
            moments_root(b, x, replicas, other);
            assert_memory_equal(root, other, bytes);
        }
        check_free(x), check_free(root), check_free(other);
    }
}

/* -- batch normalisation, whole chain on one replica -- */

typedef struct chain {
    batch b;
    artel__norm_activation activation;
    float *x, *residual, *gamma, *beta, *dy, *y, *dx, *dresidual, *mean, *variance, *inverse;
    double *root, *part, *sums;
    artel__fold_plan plan;
} chain;

static void chain_init(chain *k, const batch *b, artel__norm_activation activation, check_random *random)
{
    int64_t n = b->rows * b->inner * b->channels, c = b->channels;
    *k = (chain){.b = *b, .activation = activation};
    k->x = check_floats(random, n, -2, 3), k->residual = check_floats(random, n, -1, 1),
    k->dy = check_floats(random, n, -1, 1);
    k->gamma = check_floats(random, c, 0.5f, 1.5f), k->beta = check_floats(random, c, -1, 1);
    k->y = check_floats(random, n, 0, 1), k->dx = check_floats(random, n, 0, 1),
    k->dresidual = check_floats(random, n, 0, 1);
    k->mean = check_floats(random, c, 0, 1), k->variance = check_floats(random, c, 0, 1),
    k->inverse = check_floats(random, c, 0, 1);
    k->root = check_alloc((size_t)c * 24), k->sums = check_alloc((size_t)c * 16),
    k->part = check_alloc((size_t)(b->rows * 2 * c) * 8);
    check_plan_init(&k->plan, 8, 0, 8, b->rows);
}

static void chain_fini(chain *k)
{
    float *floats[] = {k->x,  k->residual,  k->dy,   k->gamma,    k->beta,   k->y,
                       k->dx, k->dresidual, k->mean, k->variance, k->inverse};
    for (size_t i = 0; i < ARTEL__COUNT(floats); i++) check_free(floats[i]);
    check_free(k->root), check_free(k->sums), check_free(k->part);
    check_plan_fini(&k->plan);
}

static void chain_forward(chain *k)
{
    const batch *b = &k->b;
    int64_t n = b->rows * b->inner * b->channels;
    moments_root(b, k->x, 1, k->root);
    artel__batch_norm_finalize f = {b->channels, 1e-3, k->root, k->mean, k->variance, k->inverse};
    check_run_reference(artel__batch_norm_finalize_kernels, &f);
    artel__batch_norm_forward p = {b->rows * b->inner, b->channels,   k->x, k->mean, k->inverse, k->gamma, k->beta,
                                   k->residual,        k->activation, k->y, false,   false,      false};
    check_kernels(artel__batch_norm_forward_kernels, &p, &(check_buffer){k->y, (size_t)n * 4}, 1);
}

static void chain_backward(chain *k)
{
    const batch *b = &k->b;
    size_t bytes = (size_t)(b->rows * b->inner * b->channels) * 4;
    artel__batch_norm_gradient_rows r = {b->rows,    b->inner,      b->channels, k->x,  k->y,  k->dy, k->mean,
                                         k->inverse, k->activation, k->part,     false, false, false};
    check_kernels(artel__batch_norm_gradient_rows_kernels, &r,
                  &(check_buffer){k->part, (size_t)(b->rows * 2 * b->channels) * 8}, 1);
    artel__fold_columns f = {.fold = &k->plan,
                             .from = ARTEL_DTYPE_FLOAT64,
                             .to = ARTEL_DTYPE_FLOAT64,
                             .inner = 1,
                             .columns = 2 * b->channels,
                             .x = k->part,
                             .y = k->sums,
                             .y_stride = 2 * b->channels};
    check_run_reference(artel__fold_columns_kernels, &f);
    artel__batch_norm_gradient g = {b->rows * b->inner,
                                    b->channels,
                                    (double)(b->rows * b->inner),
                                    k->x,
                                    k->y,
                                    k->dy,
                                    k->mean,
                                    k->inverse,
                                    k->gamma,
                                    k->sums,
                                    k->activation,
                                    k->dx,
                                    k->dresidual,
                                    false,
                                    false,
                                    false,
                                    false,
                                    false};
    check_buffer buffers[] = {{k->dx, bytes}, {k->dresidual, bytes}};
    check_kernels(artel__batch_norm_gradient_kernels, &g, buffers, 2);
    g.sums = NULL, g.dresidual = NULL, g.dx = k->dresidual; /* frozen; only that the kernels agree */
    float *kept = check_alloc(bytes);
    memcpy(kept, k->dresidual, bytes);
    check_kernels(artel__batch_norm_gradient_kernels, &g, buffers + 1, 1);
    memcpy(k->dresidual, kept, bytes);
    check_free(kept);
}

/* The loss sum(y * dy) of the whole chain in float64. */
static double chain_truth(const chain *k)
{
    int64_t n = k->b.rows * k->b.inner, channels = k->b.channels;
    double loss = 0;
    for (int64_t c = 0; c < channels; c++) {
        double mean = 0, m2 = 0;
        for (int64_t i = 0; i < n; i++) mean += (double)k->x[i * channels + c] / (double)n;
        for (int64_t i = 0; i < n; i++) m2 += pow((double)k->x[i * channels + c] - mean, 2);
        for (int64_t i = 0; i < n; i++) {
            int64_t at = i * channels + c;
            double v = ((double)k->x[at] - mean) / sqrt(m2 / (double)n + 1e-3) * (double)k->gamma[c] +
                       (double)k->beta[c] + (double)k->residual[at];
            if (k->activation && v < 0) v = 0;
            if (k->activation == ARTEL__NORM_RELU6 && v > 6) v = 6;
            loss += v * (double)k->dy[at];
        }
    }
    return loss;
}

static void check_difference(chain *k, float *at, double gradient)
{
    float before = *at, h = 1.0f / 1024;
    *at = before + h;
    double up = chain_truth(k);
    *at = before - h;
    double down = chain_truth(k);
    *at = before;
    double slope = (up - down) / (2 * (double)h), middle = chain_truth(k);
    if (fabs(up + down - 2 * middle) > 1e-3 * (double)h * (1 + fabs(slope))) return; /* across a kink */
    if (fabs(slope - gradient) > 2e-3 * (1 + fabs(slope))) fail_msg("gradient %g, difference %g", gradient, slope);
}

static void test_batch_norm(void **state)
{
    check_random random = {2};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(batches); i++) {
        for (int activation = 0; activation < 3; activation++) {
            chain k;
            chain_init(&k, &batches[i], (artel__norm_activation)activation, &random);
            chain_forward(&k);
            chain_backward(&k);
            for (int trial = 0; trial < 10 && batches[i].rows > 0; trial++) {
                int64_t at = check_below(&random, k.b.rows * k.b.inner * k.b.channels), c = at % k.b.channels;
                check_difference(&k, &k.x[at], (double)k.dx[at]);
                check_difference(&k, &k.residual[at], (double)k.dresidual[at]);
                check_difference(&k, &k.beta[c], k.sums[c]);
                check_difference(&k, &k.gamma[c], k.sums[k.b.channels + c]);
            }
            chain_fini(&k);
        }
    }
}

/* Results so large that they go past the caches, of positions and periods that begin within a line. */
static void test_large(void **state)
{
    static const batch large = {2, 40101, 40};
    check_random random = {5};
    (void)state;
    for (int activation = 0; activation < 2; activation++) {
        chain k;
        chain_init(&k, &large, (artel__norm_activation)activation, &random);
        chain_forward(&k);
        chain_backward(&k);
        chain_fini(&k);
    }
}

static void test_channels_only(void **state)
{
    float mean[] = {1, 2}, variance[] = {4, 0.25f}, moving_mean[] = {0, 1}, moving_variance[] = {1, 1}, inverse[2];
    artel__batch_norm_moving m = {2, 0.75, mean, variance, moving_mean, moving_variance};
    artel__batch_norm_inverse i = {2, 0, variance, inverse};
    (void)state;
    check_run_reference(artel__batch_norm_moving_kernels, &m);
    assert_true(moving_mean[0] == 0.25f && moving_mean[1] == 1.25f && moving_variance[0] == 1.75f);
    check_run_reference(artel__batch_norm_inverse_kernels, &i);
    assert_true(inverse[0] == 0.5f && inverse[1] == 2.0f);
}

/* -- layer normalisation -- */

static double layer_truth(artel__layer_norm_mode mode, const float *x, const float *gamma, const float *beta,
                          const float *dy, int64_t n)
{
    double mean = 0, squares = 0, loss = 0, inverse;
    for (int64_t i = 0; i < n; i++) mean += (double)x[i] / (double)n;
    if (mode == ARTEL__LAYER_NORM_RMS || mode == ARTEL__LAYER_NORM_UNIT) mean = 0;
    for (int64_t i = 0; i < n; i++) squares += pow((double)x[i] - mean, 2);
    inverse = mode == ARTEL__LAYER_NORM_UNIT ? 1 / sqrt(squares) : 1 / sqrt(squares / (double)n + 1e-3);
    for (int64_t i = 0; i < n; i++) {
        double y = ((double)x[i] - (mode == ARTEL__LAYER_NORM_LAYER ? mean : 0)) * inverse;
        loss += (y * (gamma ? (double)gamma[i] : 1) + (beta ? (double)beta[i] : 0)) * (double)dy[i];
    }
    return loss;
}

static void layer_case(artel__layer_norm_mode mode, int64_t positions, int64_t length, bool affine,
                       check_random *random)
{
    int64_t n = positions * length;
    float *x = check_floats(random, n, -1, 2), *dy = check_floats(random, n, -1, 1), *y = check_floats(random, n, 0, 1);
    float *dx = check_floats(random, n, 0, 1), *mean = check_floats(random, positions, 0, 1),
          *inverse = check_floats(random, positions, 0, 1);
    float *gamma = affine ? check_floats(random, length, 0.5f, 1.5f) : NULL,
          *beta = affine ? check_floats(random, length, -1, 1) : NULL;
    artel__layer_norm_forward f = {mode, positions, length, 1e-3f, x, gamma, beta, y, mean, inverse, false, false};
    check_buffer written[] = {{y, (size_t)n * 4}, {mean, (size_t)positions * 4}, {inverse, (size_t)positions * 4}};
    check_kernels(artel__layer_norm_forward_kernels, &f, written, 3);
    artel__layer_norm_gradient g = {mode,    positions, length, 1e-3f, x,     dy,   mean,
                                    inverse, gamma,     dx,     false, false, false};
    check_kernels(artel__layer_norm_gradient_kernels, &g, &(check_buffer){dx, (size_t)n * 4}, 1);
    for (int trial = 0; trial < 20 && n > 0; trial++) {
        int64_t at = check_below(random, n), first = at / length * length;
        float before = x[at], h = 1.0f / 1024;
        x[at] = before + h;
        double up = layer_truth(mode, x + first, gamma, beta, dy + first, length);
        x[at] = before - h;
        double down = layer_truth(mode, x + first, gamma, beta, dy + first, length);
        x[at] = before;
        double slope = (up - down) / (2 * (double)h);
        if (length > 1 && fabs(slope - (double)dx[at]) > 1e-3 * (1 + fabs(slope)))
            fail_msg("mode %d: %g, %g", mode, (double)dx[at], slope);
    }
    check_free(x), check_free(dy), check_free(y), check_free(dx), check_free(mean), check_free(inverse);
    if (affine) check_free(gamma), check_free(beta);
}

static void test_layer_norm(void **state)
{
    static const int64_t lengths[] = {1, 2, 16, 37, 400};
    check_random random = {3};
    (void)state;
    for (int mode = 0; mode < 4; mode++)
        for (size_t k = 0; k < ARTEL__COUNT(lengths); k++)
            for (int affine = 0; affine < 2; affine++)
                layer_case((artel__layer_norm_mode)mode, k == 3 ? 0 : 30, lengths[k], affine != 0, &random);
}

static void test_unit_of_zero(void **state)
{
    float x[3] = {0}, y[3], dy[] = {1, 2, 3}, dx[3], mean, inverse;
    artel__layer_norm_forward f = {
        ARTEL__LAYER_NORM_UNIT, 1, 3, 1e-12f, x, NULL, NULL, y, &mean, &inverse, false, false};
    artel__layer_norm_gradient g = {
        ARTEL__LAYER_NORM_UNIT, 1, 3, 1e-12f, x, dy, &mean, &inverse, NULL, dx, false, false, false};
    (void)state;
    check_run_reference(artel__layer_norm_forward_kernels, &f);
    check_run_reference(artel__layer_norm_gradient_kernels, &g);
    assert_true(y[0] == 0 && inverse == 1.0f / 1e-12f && dx[1] == 2.0f * inverse);
}

static void test_layer_parameters(void **state)
{
    check_random random = {4};
    enum {
        ROWS = 21,
        INNER = 3,
        LENGTH = 150,
        N = ROWS * INNER
    };
    float *x = check_floats(&random, N * LENGTH, -1, 1), *dy = check_floats(&random, N * LENGTH, -1, 1);
    float *mean = check_floats(&random, N, -1, 1), *inverse = check_floats(&random, N, 1, 2), root[2][2 * LENGTH];
    (void)state;
    for (int32_t replicas = 1; replicas <= 3; replicas += 2) {
        check_part part[3] = {0};
        for (int32_t r = 0; r < replicas; r++) {
            artel__fold_plan *plan = &part[r].plan;
            int32_t first = artel__replica_first_shard(8, replicas, r),
                    next = artel__replica_first_shard(8, replicas, r + 1);
            check_plan_init(plan, 8, first, next - first, ROWS);
            int64_t at = plan->row * INNER;
            part[r].block_bytes = 2 * LENGTH * 4;
            float *blocks = part[r].blocks = check_alloc((size_t)plan->nodes * part[r].block_bytes);
            artel__layer_norm_parameters p = {ARTEL__LAYER_NORM_LAYER,
                                              plan,
                                              INNER,
                                              LENGTH,
                                              x + at * LENGTH,
                                              dy + at * LENGTH,
                                              mean + at,
                                              inverse + at,
                                              blocks,
                                              blocks + LENGTH,
                                              2 * LENGTH,
                                              false,
                                              false};
            check_kernels(artel__layer_norm_parameters_kernels, &p,
                          &(check_buffer){blocks, (size_t)plan->nodes * part[r].block_bytes}, 1);
        }
        check_finish(part, replicas, 2 * LENGTH, check_add_floats, root[replicas / 2]);
        for (int32_t r = 0; r < replicas; r++) {
            check_free(part[r].blocks);
            check_plan_fini(&part[r].plan);
        }
    }
    assert_memory_equal(root[0], root[1], sizeof root[0]);
    double gamma = 0, beta = 0;
    for (int64_t i = 0; i < N; i++) {
        gamma += (double)dy[i * LENGTH + 7] * ((double)x[i * LENGTH + 7] - (double)mean[i]) * (double)inverse[i];
        beta += (double)dy[i * LENGTH + 7];
    }
    assert_true(fabs(gamma - (double)root[0][7]) < 1e-4 && fabs(beta - (double)root[0][LENGTH + 7]) < 1e-4);
    check_free(x), check_free(dy), check_free(mean), check_free(inverse);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),          cmocka_unit_test(test_batch_norm),
        cmocka_unit_test(test_channels_only),    cmocka_unit_test(test_large),
        cmocka_unit_test(test_layer_norm),       cmocka_unit_test(test_unit_of_zero),
        cmocka_unit_test(test_layer_parameters),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
