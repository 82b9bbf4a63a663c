/* SPDX-License-Identifier: Apache-2.0 */
/* Losses: values and gradients recorded from Keras 3.15 on TensorFlow, fast against reference, finite differences,
 * faults. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/loss.h"

static const float probability[] = {0.1f, 0.2f, 0.3f, 0.25f, 0.05f, 0.7f, 0.9f, 0.01f,
                                    0.0f, 0.6f, 0.5f, 0.3f,  0.2f,  0.4f, 0.8f};
static const float positive[] = {0.1f,  0.2f, 0.3f, 0.25f, 0.05f, 0.7f, 0.9f, 0.01f,
                                 0.01f, 0.6f, 0.5f, 0.3f,  0.2f,  0.4f, 0.8f};
static const float logit[] = {1, -2, 0.5f, 3, 0, -1, -1, 2, 0.1f, 0.3f, 0.5f, 0.25f, -3, 4, 1};
static const float truth[] = {0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0.2f, 0.3f, 0.1f, 0.4f, 0};
static const float shifted[] = {0.5f, 1.5f, 0.5f, 0.5f, 0.5f, 1.5f, 0.5f, 0.5f,
                                1.5f, 1.5f, 0.7f, 0.8f, 0.6f, 0.9f, 0.5f};
static const float normalised[] = {0, 1, 0, 0, 0, 1 / 3.0f, 0, 0, 1 / 3.0f, 1 / 3.0f, 0.2f, 0.3f, 0.1f, 0.4f, 0};
static const float binary[] = {0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 0};
static const int32_t class[] = {1, 4, 2};

typedef struct recorded {
    artel__loss op;
    const void *target;
    const float *prediction;
    float a, b, c;
    float value[3], gradient[15];
} recorded;

/* What Keras 3.15.1 on TensorFlow 2.21 gives for these inputs. */
static const recorded table[] = {
    {ARTEL__LOSS_MEAN_SQUARED_ERROR,
     truth,
     probability,
     0,
     0,
     0,
     {0.160999998f, 0.412020028f, 0.148000017f},
     {0.0400000028f, -0.320000023f, 0.120000005f, 0.100000001f, 0.0200000014f, -0.120000005f, 0.359999985f,
      0.00400000019f, -0.400000006f, -0.159999996f, 0.120000005f, -0, 0.0400000028f, -0, 0.320000023f}},
    {ARTEL__LOSS_MEAN_ABSOLUTE_ERROR,
     truth,
     probability,
     0,
     0,
     0,
     {0.300000012f, 0.522000015f, 0.24000001f},
     {0.200000003f, -0.200000003f, 0.200000003f, 0.200000003f, 0.200000003f, -0.200000003f, 0.200000003f, 0.200000003f,
      -0.200000003f, -0.200000003f, 0.200000003f, -0, 0.200000003f, -0, 0.200000003f}},
    {ARTEL__LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR,
     shifted,
     probability,
     0,
     0,
     0,
     {69.3333359f, 78.2666626f, 54.6587296f},
     {-40, -13.333333f, -40, -40, -40, -13.333333f, 40, -40, -13.333333f, -13.333333f, -28.5714283f, -25, -33.3333321f,
      -22.2222233f, 40}},
    {ARTEL__LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR,
     truth,
     probability,
     0,
     0,
     0,
     {0.0782070309f, 0.193746716f, 0.0805713981f},
     {0.0346582159f, -0.170275196f, 0.0807274133f, 0.0714058951f, 0.0185866691f, -0.0382397324f, 0.135127112f,
      0.00394067401f, 0, -0.0557858869f, 0.0595049374f, 0, 0.0290037971f, 0, 0.130619228f}},
    {ARTEL__LOSS_HUBER,
     truth,
     probability,
     0.3f,
     0,
     0,
     {0.0555000007f, 0.120010003f, 0.0490000024f},
     {0.0200000014f, -0.0600000024f, 0.0600000024f, 0.0500000007f, 0.0100000007f, -0.0600000024f, 0.0600000024f,
      0.00200000009f, -0.0600000024f, -0.0600000024f, 0.0600000024f, 0, 0.0200000014f, 0, 0.0600000024f}},
    {ARTEL__LOSS_LOG_COSH,
     truth,
     probability,
     0,
     0,
     0,
     {0.0744530559f, 0.183191076f, 0.0680172071f},
     {0.0199336261f, -0.132807359f, 0.0582625121f, 0.0489837229f, 0.00999167562f, -0.0582625419f, 0.143259585f,
      0.00199992955f, -0.15231885f, -0.0759897977f, 0.058262527f, 0, 0.0199336112f, 0, 0.132807359f}},
    {ARTEL__LOSS_BINARY_CROSSENTROPY,
     truth,
     probability,
     0.1f,
     0,
     0,
     {0.539102554f, 3.734972f, 0.791074336f},
     {0.111111104f, -0.9375f, 0.238095254f, 0.213333309f, -1.49011612e-08f, -0.238095239f, 1.88888848f, -0.808080912f,
      0, -0.291666657f, 0.215999991f, -0.0190476328f, 0.075000003f, -0.00833334029f, 0.937500119f}},
    {ARTEL__LOSS_BINARY_CROSSENTROPY_LOGITS,
     truth,
     logit,
     0.1f,
     0,
     0,
     {1.56620026f, 0.974440575f, 1.14300311f},
     {0.136211708f, -0.166159421f, 0.114491858f, 0.180514827f, 0.0900000036f, -0.136211708f, 0.0437882878f,
      0.166159421f, -0.0850041583f, -0.0751114935f, 0.0784918591f, 0.048435308f, -0.0185148269f, 0.114402756f,
      0.136211708f}},
    {ARTEL__LOSS_CATEGORICAL_CROSSENTROPY,
     truth,
     probability,
     0.1f,
     0,
     0,
     {1.53309405f, 17.2117844f, 1.80593038f},
     {0.911111176f, -3.48888874f, 1.04444456f, 1.03111112f, 0.711111188f, -0.463607073f, 0.828456461f, -1.14932132f,
      0.850678682f, -0.6826545f, 0.0545454621f, -0.51212126f, -0.0954545736f, -0.49545449f, 0.429545432f}},
    {ARTEL__LOSS_CATEGORICAL_CROSSENTROPY_LOGITS,
     normalised,
     logit,
     0.1f,
     0,
     0,
     {4.99211836f, 2.53095078f, 2.71681499f},
     {0.0862331986f, -0.914710939f, 0.0444336869f, 0.764963031f, 0.0190810114f, -0.285228282f, 0.0147717297f,
      0.678408861f, -0.215539977f, -0.192412242f, -0.172657549f, -0.268705696f, -0.109174326f, 0.525457501f,
      0.0250800736f}},
    {ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY,
     class,
     probability,
     0,
     0,
     0,
     {1.50407743f, 1.30381811f, 2.39789534f},
     {1.11111104f, -3.88888884f, 1.11111116f, 1.11111093f, 1.11111104f, 0.452488661f, 0.452488691f, 0.452488661f, 0,
      -1.21417797f, 0.454545468f, 0.454545408f, -4.5454545f, 0.454545468f, 0.454545468f}},
    {ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS,
     class,
     logit,
     0,
     0,
     0,
     {5.24211884f, 2.05895066f, 7.09931517f},
     {0.106233194f, -0.994710982f, 0.0644336864f, 0.784963012f, 0.039081011f, 0.0347717293f, 0.0347717293f,
      0.698408842f, 0.104460046f, -0.872412205f, 0.0273424461f, 0.02129432f, -0.999174356f, 0.905457497f,
      0.0450800732f}},
    {ARTEL__LOSS_HINGE,
     binary,
     probability,
     0,
     0,
     0,
     {1.10000002f, 0.922000051f, 1.16000009f},
     {0.200000003f, -0.200000003f, 0.200000003f, 0.200000003f, 0.200000003f, -0.200000003f, 0.200000003f, 0.200000003f,
      -0.200000003f, -0.200000003f, 0.200000003f, -0.200000003f, 0.200000003f, -0.200000003f, 0.200000003f}},
    {ARTEL__LOSS_SQUARED_HINGE,
     binary,
     probability,
     0,
     0,
     0,
     {1.24099994f, 1.17601991f, 1.55599999f},
     {0.440000027f, -0.320000023f, 0.519999981f, 0.5f, 0.419999987f, -0.120000005f, 0.75999999f, 0.404000014f,
      -0.400000006f, -0.159999996f, 0.600000024f, -0.280000001f, 0.480000019f, -0.24000001f, 0.719999969f}},
    {ARTEL__LOSS_CATEGORICAL_HINGE,
     truth,
     probability,
     0,
     0,
     0,
     {1.10000002f, 0.600000024f, 1.43000007f},
     {0, -1, 1, 0, 0, -1, 1, 0, -1, -1, -0.200000003f, -0.300000012f, -0.100000001f, -0.400000006f, 1}},
    {ARTEL__LOSS_KL_DIVERGENCE,
     truth,
     probability,
     0,
     0,
     0,
     {1.60943222f, 16.9855938f, -0.252574444f},
     {-9.99999997e-07f, -4.99999952f, -3.33333332e-07f, -4.00000005e-07f, -1.99999999e-06f, -1.42857134f,
      -1.11111127e-07f, -9.99999975e-06f, 0, -1.66666663f, -0.400000006f, -1, -0.5f, -1, -1.25e-07f}},
    {ARTEL__LOSS_POISSON,
     truth,
     probability,
     0,
     0,
     0,
     {0.501887441f, 3.83911896f, 0.645456195f},
     {0.200000003f, -0.799999535f, 0.200000003f, 0.200000003f, 0.200000003f, -0.0857142359f, 0.200000003f, 0.200000003f,
      -1999999.75f, -0.133333251f, 0.12000002f, 5.96046448e-08f, 0.100000054f, 2.98023224e-08f, 0.200000003f}},
    {ARTEL__LOSS_COSINE_SIMILARITY,
     truth,
     probability,
     0,
     0,
     0,
     {-0.441726059f, -0.582526386f, -0.621870756f},
     {0.215476081f, -1.77767813f, 0.646428287f, 0.538690209f, 0.10773804f, -0.202468365f, 0.315808535f, 0.00350898388f,
      -0.448097229f, -0.237558186f, -0.0726417899f, -0.346116751f, -0.0626713485f, -0.461489022f, 0.421607256f}},
    {ARTEL__LOSS_BINARY_FOCAL_CROSSENTROPY,
     truth,
     positive,
     0.1f,
     0.25f,
     2,
     {0.0607759953f, 0.455519825f, 0.189705327f},
     {0.00944309589f, -0.270260602f, 0.0510040112f, 0.0362876952f, 0.00492218742f, -0.0193463527f, 1.50501966f,
      0.00165340421f, -5.03178787f, -0.0350403264f, 0.0818260312f, 0.0207703467f, 0.0273188949f, 0.0117506795f,
      0.712505281f}},
    {ARTEL__LOSS_CATEGORICAL_FOCAL_CROSSENTROPY,
     truth,
     positive,
     0.1f,
     0.25f,
     2,
     {0.236624181f, 1.54449928f, 0.316934764f},
     {0.25063476f, -0.981754184f, 0.296296656f, 0.291130722f, 0.192313343f, 0.00286877155f, 0.316264093f, -0.19908607f,
      -23.5870457f, -0.0813073814f, 0.0217701718f, -0.160142735f, -0.0346132368f, -0.145926312f, 0.128063634f}},
};

static artel__loss_input input_of(artel__loss op, int64_t positions, int64_t length, const void *target,
                                  const float *prediction)
{
    artel__loss_input in = {.op = op,
                            .positions = positions,
                            .length = length,
                            .per_row = 1,
                            .target_dtype = ARTEL_DTYPE_FLOAT32,
                            .target = target,
                            .prediction = prediction,
                            .labels_binary = true};
    if (artel__loss_is_sparse(op)) in.target_dtype = ARTEL_DTYPE_INT32;
    return in;
}

static void test_recorded(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(table); k++) {
        const recorded *r = &table[k];
        float value[3], gradient[15], upstream[] = {1, 1, 1};
        artel__loss_forward f = {input_of(r->op, 3, 5, r->target, r->prediction), value};
        f.in.a = r->a, f.in.b = r->b, f.in.c = r->c;
        artel__loss_gradient g = {f.in, upstream, gradient};
        check_kernels(artel__loss_forward_kernels, &f, &(check_buffer){value, sizeof value}, 1);
        check_kernels(artel__loss_gradient_kernels, &g, &(check_buffer){gradient, sizeof gradient}, 1);
        for (int i = 0; i < 3; i++)
            if (!(fabsf(value[i] - r->value[i]) <= 3e-6f * (1 + fabsf(r->value[i]))))
                fail_msg("loss %d: value %d is %.9g, Keras has %.9g", r->op, i, (double)value[i], (double)r->value[i]);
        for (int i = 0; i < 15; i++)
            if (!(fabsf(gradient[i] - r->gradient[i]) <= 3e-6f * (1 + fabsf(r->gradient[i]))))
                fail_msg("loss %d: gradient %d is %.9g, Keras has %.9g", r->op, i, (double)gradient[i],
                         (double)r->gradient[i]);
    }
}

static const struct {
    int64_t positions, length;
} sizes[] = {{1, 1}, {300, 1}, {7, 10}, {5, 100}, {0, 10}, {2, 5000}};

static void one_case(artel__loss op, int64_t positions, int64_t length, check_random *random)
{
    int64_t n = positions * length;
    float *t = check_floats(random, n, 0.1f, 0.9f), *x = check_floats(random, n, 0.1f, 0.9f),
          *upstream = check_floats(random, positions, -1, 1);
    float *value = check_floats(random, positions, 0, 1), *gradient = check_floats(random, n, 0, 1);
    int32_t *classes = check_alloc((size_t)positions * sizeof *classes);
    for (int64_t i = 0; i < positions; i++) classes[i] = (int32_t)check_below(random, length);
    artel__loss_forward f = {input_of(op, positions, length, artel__loss_is_sparse(op) ? (void *)classes : t, x),
                             value};
    f.in.a = op == ARTEL__LOSS_HUBER ? 0.2f : 0.1f, f.in.b = 0.25f, f.in.c = 2;
    artel__loss_gradient g = {f.in, upstream, gradient};
    check_kernels(artel__loss_forward_kernels, &f, &(check_buffer){value, (size_t)positions * 4}, 1);
    check_kernels(artel__loss_gradient_kernels, &g, &(check_buffer){gradient, (size_t)n * 4}, 1);
    float *kept = check_alloc((size_t)n * 4);
    memcpy(kept, x, (size_t)n * 4);
    g.gradient = x; /* in place */
    check_kernels(artel__loss_gradient_kernels, &g, &(check_buffer){x, (size_t)n * 4}, 1);
    assert_memory_equal(x, gradient, (size_t)n * 4);
    check_free(kept);
    check_free(t), check_free(x), check_free(upstream), check_free(value), check_free(gradient), check_free(classes);
}

static void test_same_bits(void **state)
{
    check_random random = {1};
    (void)state;
    for (int op = 0; op < ARTEL__LOSS_COUNT; op++)
        for (size_t k = 0; k < ARTEL__COUNT(sizes); k++)
            one_case((artel__loss)op, sizes[k].positions, sizes[k].length, &random);
}

static void test_integer_labels(void **state)
{
    int32_t labels[] = {1, 0, 1};
    float same[] = {1, 0, 1}, x[] = {0.3f, 0.6f, 0.9f}, one[3], two[3];
    artel__loss_forward f = {input_of(ARTEL__LOSS_BINARY_CROSSENTROPY, 3, 1, labels, x), one};
    (void)state;
    f.in.target_dtype = ARTEL_DTYPE_INT32;
    check_kernels(artel__loss_forward_kernels, &f, &(check_buffer){one, sizeof one}, 1);
    f.in.target_dtype = ARTEL_DTYPE_FLOAT32, f.in.target = same, f.value = two;
    check_kernels(artel__loss_forward_kernels, &f, &(check_buffer){two, sizeof two}, 1);
    assert_memory_equal(one, two, sizeof one);
}

static void test_faults(void **state)
{
    int32_t classes[] = {0, -1, 7, 2, 255, 1};
    float labels[] = {0, NAN, 7, 2, 255, 1}, x[18], value[6], gradient[18], upstream[] = {1, 1, 1, 1, 1, 1};
    _Atomic int64_t row = INT64_MAX, found = 0;
    for (int i = 0; i < 18; i++) x[i] = 0.3f;
    (void)state;
    for (int op = ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY; op <= ARTEL__LOSS_SPARSE_CATEGORICAL_CROSSENTROPY_LOGITS;
         op++) {
        for (int k = 0; k < 2; k++) {
            artel__loss_forward f = {input_of((artel__loss)op, 6, 3, k ? (void *)labels : classes, x), value};
            f.in.target_dtype = k ? ARTEL_DTYPE_FLOAT32 : ARTEL_DTYPE_INT32;
            f.in.per_row = 2, f.in.has_ignored_class = true, f.in.ignored_class = 255;
            f.in.fault = (artel__fault_slot){&row, &found, 100};
            artel__loss_gradient g = {f.in, upstream, gradient};
            atomic_store(&row, INT64_MAX);
            check_kernels(artel__loss_forward_kernels, &f, &(check_buffer){value, sizeof value}, 1);
            check_kernels(artel__loss_gradient_kernels, &g, &(check_buffer){gradient, sizeof gradient}, 1);
            assert_true(atomic_load(&row) == 100 && value[1] == 0 && value[2] == 0 && value[4] == 0 && value[3] > 1);
            assert_true(gradient[4] == 0 && gradient[12] == 0 && gradient[0] != 0);
        }
    }
}

/* A prediction that is no number is no loss of its own row alone, in Keras and here, by every kernel. */
static void test_nan(void **state)
{
    float target[12] = {0}, x[12], value[3];
    int32_t classes[] = {2, 2, 2};
    (void)state;
    for (int i = 0; i < 12; i++) x[i] = i == 5 ? NAN : 0.3f;
    for (int r = 0; r < 3; r++) target[4 * r + 2] = 1;
    for (int op = 0; op < ARTEL__LOSS_COUNT; op++) {
        bool sparse = artel__loss_is_sparse((artel__loss)op);
        artel__loss_forward f = {input_of((artel__loss)op, 3, 4, sparse ? (void *)classes : target, x), value};
        f.in.a = op == ARTEL__LOSS_HUBER ? 0.2f : 0, f.in.b = 0.25f, f.in.c = 2;
        for (const artel__kernel *const *list = artel__loss_forward_kernels; *list; list++) {
            if (!check_can_run(*list, &f)) continue;
            check_run(*list, &f);
            if (!isfinite(value[0]) || !isnan(value[1]) || !isfinite(value[2]))
                fail_msg("loss %d by %s: %g %g %g", op, (*list)->name, (double)value[0], (double)value[1],
                         (double)value[2]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded), cmocka_unit_test(test_same_bits), cmocka_unit_test(test_integer_labels),
        cmocka_unit_test(test_faults),   cmocka_unit_test(test_nan),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
