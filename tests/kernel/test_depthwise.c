/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolutions: fast against reference bit for bit, the adjoint identities, folds under any distribution of
 * shards. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/depthwise.h"

typedef artel__conv2d_shape shape;

static double dot(const float *a, const float *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

static void weight_root(const shape *s, const float *x, const float *dy, int32_t shards, int replicas, float *root)
{
    check_part part[8] = {0};
    int64_t weights = s->kh * s->kw * s->oc, block = weights + s->oc;
    for (int r = 0; r < replicas; r++) {
        int32_t first = artel__replica_first_shard(shards, replicas, r);
        check_plan_init(&part[r].plan, shards, first, artel__replica_first_shard(shards, replicas, r + 1) - first,
                        s->images);
        part[r].block_bytes = (size_t)block * sizeof(float);
        float *out = check_alloc(part[r].block_bytes * (size_t)part[r].plan.nodes);
        memset(out, 1, part[r].block_bytes * (size_t)part[r].plan.nodes);
        part[r].blocks = out;
        artel__depthwise_weight_gradient p = {*s,
                                              &part[r].plan,
                                              x + part[r].plan.row * s->ih * s->iw * s->ic,
                                              dy + part[r].plan.row * s->oh * s->ow * s->oc,
                                              out,
                                              block,
                                              out + weights,
                                              block,
                                              ARTEL_DTYPE_FLOAT32,
                                              {0},
                                              ARTEL__ARITHMETIC_CHAIN,
                                              false,
                                              false};
        p.shape.images = part[r].plan.rows;
        check_buffer buffer = {out, part[r].block_bytes * (size_t)part[r].plan.nodes};
        check_kernels(artel__depthwise_weight_gradient_kernels, &p, &buffer, 1);
    }
    check_finish(part, replicas, block, check_add_floats, root);
    for (int r = 0; r < replicas; r++) {
        check_plan_fini(&part[r].plan);
        check_free(part[r].blocks);
    }
}

static void all_of(check_random *random, const shape *s, bool fused)
{
    int64_t inputs = s->images * s->ih * s->iw * s->ic, outputs = s->images * s->oh * s->ow * s->oc,
            weights = s->kh * s->kw * s->oc;
    float *x = check_floats(random, inputs, -1, 1), *dy = check_floats(random, outputs, -1, 1),
          *w = check_floats(random, weights, -1, 1);
    float *bias = check_floats(random, s->oc, -1, 1), *out = check_floats(random, outputs, 7, 8),
          *dx = check_floats(random, inputs, 7, 8);
    float *dw = check_floats(random, weights + s->oc, 0, 1), *again = check_floats(random, weights + s->oc, 0, 1);
    artel__depthwise_forward f = {*s,
                                  x,
                                  w,
                                  fused ? bias : NULL,
                                  fused ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE,
                                  out,
                                  ARTEL_DTYPE_FLOAT32,
                                  ARTEL_DTYPE_FLOAT32,
                                  ARTEL__ARITHMETIC_CHAIN,
                                  false,
                                  false,
                                  false};
    artel__depthwise_data_gradient d = {*s, dy, w, dx};
    check_buffer buffer = {out, (size_t)outputs * sizeof(float)};
    check_kernels(artel__depthwise_forward_kernels, &f, &buffer, 1);
    buffer = (check_buffer){dx, (size_t)inputs * sizeof(float)};
    check_kernels(artel__depthwise_data_gradient_kernels, &d, &buffer, 1);
    weight_root(s, x, dy, 8, 1, dw);
    weight_root(s, x, dy, 8, 3, again);
    assert_memory_equal(dw, again, (size_t)(weights + s->oc) * sizeof(float));
    double data = dot(dx, x, inputs), weight = dot(dw, w, weights),
           size = 1 + sqrt((double)outputs * (double)(s->kh * s->kw + 1));
    assert_true(fabs(data - weight) < 1e-4 * size);
    if (!fused) assert_true(fabs(dot(dy, out, outputs) - data) < 1e-4 * size);
    float *all[] = {x, dy, w, bias, out, dx, dw, again};
    for (size_t i = 0; i < ARTEL__COUNT(all); i++) check_free(all[i]);
}

static void test_random(void **state)
{
    check_random random = {1};
    (void)state;
    for (int i = 0; i < 80; i++) {
        int64_t multiplier = i % 4 == 0 ? 1 + check_below(&random, 3) : 1, bottom = check_below(&random, 4),
                right = check_below(&random, 4);
        shape s = {.images = check_below(&random, 4),
                   .ih = 1 + check_below(&random, 14),
                   .iw = 1 + check_below(&random, 14),
                   .ic = 1 + check_below(&random, i % 5 == 0 ? 150 : 40),
                   .kh = 1 + check_below(&random, 5),
                   .kw = 1 + check_below(&random, 5),
                   .sh = 1 + check_below(&random, 3),
                   .sw = 1 + check_below(&random, 3),
                   .dh = 1 + check_below(&random, 2),
                   .dw = 1 + check_below(&random, 2),
                   .top = check_below(&random, 6),
                   .left = check_below(&random, 6)};
        s.oc = s.ic * multiplier;
        s.groups = s.ic;
        s.oh = artel__conv_extent(s.ih, s.kh, s.sh, s.dh, s.top, bottom);
        s.ow = artel__conv_extent(s.iw, s.kw, s.sw, s.dw, s.left, right);
        all_of(&random, &s, i % 2 == 0);
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, setup, NULL);
}
