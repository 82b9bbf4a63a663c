/* SPDX-License-Identifier: Apache-2.0 */
/* Attention: fast against reference bit for bit, the forward pass against a plain one in float64, gradients by
 * differences. */
#include "help_check.h"

#include <math.h>
#include <string.h>

#include "kernel/attention.h"
#include "kernel/narrow.h"

typedef struct arrays {
    int64_t q, k, v, out, probs; /* floats of each */
    float *query, *key, *value, *result, *scores, *dresult, *dscores, *dq, *dk, *dv;
    uint8_t *mask;
} arrays;

static void arrays_init(arrays *a, const artel__attention_shape *s, check_random *random)
{
    a->q = s->rows * s->queries * s->heads * s->depth, a->k = s->rows * s->keys * s->key_heads * s->depth;
    a->v = s->rows * s->keys * s->key_heads * s->value_depth, a->out = s->rows * s->queries * s->heads * s->value_depth;
    a->probs = s->rows * s->heads * s->queries * s->keys;
    a->query = check_floats(random, a->q, -2, 2), a->key = check_floats(random, a->k, -2, 2),
    a->value = check_floats(random, a->v, -1, 1);
    a->result = check_floats(random, a->out, 0, 1), a->scores = check_floats(random, a->probs, 0, 1);
    a->dresult = check_floats(random, a->out, -1, 1), a->dscores = check_floats(random, a->probs, -1, 1);
    a->dq = check_floats(random, a->q, 0, 1), a->dk = check_floats(random, a->k, 0, 1),
    a->dv = check_floats(random, a->v, 0, 1);
    a->mask = check_alloc((size_t)(s->rows * s->queries * s->keys) + 1);
    for (int64_t i = 0; i < s->rows * s->queries * s->keys; i++) a->mask[i] = check_below(random, 4) > 0;
    for (int64_t i = 0; i < s->keys && s->rows > 0; i++)
        a->mask[i] = 0; /* the first query of the first row attends to nothing */
}

static void arrays_fini(arrays *a)
{
    check_free(a->query), check_free(a->key), check_free(a->value), check_free(a->result), check_free(a->scores),
        check_free(a->dresult);
    check_free(a->dscores), check_free(a->dq), check_free(a->dk), check_free(a->dv), check_free(a->mask);
}

static bool attends(const artel__attention_shape *s, int64_t row, int64_t i, int64_t j)
{
    bool masked = s->mask && !s->mask[row / s->inner * s->mask_row + i * s->mask_query + j * s->mask_key];
    return !masked && !(s->causal && j > i);
}

/* One query's probabilities. */
static void plain_probs(const artel__attention_shape *s, const arrays *a, int64_t row, int64_t head, int64_t i,
                        double *p)
{
    int64_t group = head * s->key_heads / s->heads;
    double top = -INFINITY, sum = 0;
    for (int64_t j = 0; j < s->keys; j++) {
        p[j] = 0;
        for (int64_t d = 0; d < s->depth; d++)
            p[j] += (double)a->query[((row * s->queries + i) * s->heads + head) * s->depth + d] *
                    (double)a->key[((row * s->keys + j) * s->key_heads + group) * s->depth + d];
        p[j] = attends(s, row, i, j) ? p[j] * (double)s->scale : -1e30;
        top = fmax(top, p[j]);
    }
    for (int64_t j = 0; j < s->keys; j++) sum += p[j] = exp(p[j] - top);
    for (int64_t j = 0; j < s->keys; j++) p[j] /= sum;
}

static double plain_loss(const artel__attention_shape *s, const arrays *a, bool scores, bool compare)
{
    double loss = 0, p[128];
    for (int64_t at = 0; at < s->rows * s->heads * s->queries; at++) {
        int64_t i = at % s->queries, head = at / s->queries % s->heads, row = at / s->queries / s->heads,
                group = head * s->key_heads / s->heads;
        plain_probs(s, a, row, head, i, p);
        for (int64_t j = 0; j < s->keys; j++) {
            if (compare) assert_true(fabs(p[j] - (double)a->scores[at * s->keys + j]) < 1e-5);
            if (scores) loss += p[j] * (double)a->dscores[at * s->keys + j];
        }
        for (int64_t e = 0; e < s->value_depth; e++) {
            double sum = 0;
            int64_t out = ((row * s->queries + i) * s->heads + head) * s->value_depth + e;
            for (int64_t j = 0; j < s->keys; j++)
                sum += p[j] * (double)a->value[((row * s->keys + j) * s->key_heads + group) * s->value_depth + e];
            if (compare) assert_true(fabs(sum - (double)a->result[out]) < 1e-5);
            loss += sum * (double)a->dresult[out];
        }
    }
    return loss;
}

static void check_slopes(check_random *random, const artel__attention_shape *s, const arrays *a, bool scores, float *x,
                         const float *dx, int64_t n)
{
    for (int trial = 0; trial < 10 && n > 0; trial++) {
        int64_t at = check_below(random, n);
        float before = x[at], h = 1.0f / 512;
        x[at] = before + h;
        double up = plain_loss(s, a, scores, false);
        x[at] = before - h;
        double down = plain_loss(s, a, scores, false);
        x[at] = before;
        assert_true(fabs((up - down) / (2 * (double)h) - (double)dx[at]) < 2e-3);
    }
}

/* Fast against reference. */
static void compare_kernels(const artel__attention_shape *s, const arrays *a, bool scores)
{
    artel__attention_forward f = {*s, a->query, a->key, a->value, a->result, a->scores, false, false, false, false};
    artel__attention_gradient g = {*s,    a->query, a->key, a->value, a->scores, a->dresult, scores ? a->dscores : NULL,
                                   a->dq, a->dk,    a->dv,  false,    false,     false,      false,
                                   false, false,    false};
    check_kernels(artel__attention_forward_kernels, &f,
                  (check_buffer[]){{a->result, (size_t)a->out * 4}, {a->scores, (size_t)a->probs * 4}}, 2);
    check_kernels(artel__attention_gradient_kernels, &g,
                  (check_buffer[]){{a->dq, (size_t)a->q * 4}, {a->dk, (size_t)a->k * 4}, {a->dv, (size_t)a->v * 4}}, 3);
}

/* Of bfloat16 operands in blocks, every kernel gives the bits of the reference, and results are those of chains but for
 * the rounding of probabilities and scores' gradients. */
static void check_blocks(artel__attention_shape s, const arrays *a, bool scores)
{
    float *rounded[] = {a->query, a->key, a->value, a->dresult}, *made[] = {a->result, a->dq, a->dk, a->dv};
    int64_t counts[] = {a->q, a->k, a->v, a->out}, sizes[] = {a->out, a->q, a->k, a->v};
    float *chains[4];
    for (int i = 0; i < 4; i++) {
        for (int64_t k = 0; k < counts[i]; k++) rounded[i][k] = artel__narrow_one(ARTEL_DTYPE_BFLOAT16, rounded[i][k]);
    }
    compare_kernels(&s, a, scores);
    for (int i = 0; i < 4; i++) {
        chains[i] = check_alloc((size_t)sizes[i] * sizeof(float));
        memcpy(chains[i], made[i], (size_t)sizes[i] * sizeof(float));
    }
    s.arithmetic = ARTEL__ARITHMETIC_TILES;
    compare_kernels(&s, a, scores);
    for (int i = 0; i < 4; i++) {
        double most = 0;
        for (int64_t k = 0; k < sizes[i]; k++) most = fmax(most, fabs((double)chains[i][k]));
        for (int64_t k = 0; k < sizes[i]; k++)
            assert_true(fabs((double)made[i][k] - (double)chains[i][k]) <= 0.02 * most);
        check_free(chains[i]);
    }
}

static void one_case(artel__attention_shape s, bool masked, bool scores)
{
    check_random random = {9};
    arrays a;
    arrays_init(&a, &s, &random);
    if (masked) s.mask = a.mask, s.mask_row = s.queries * s.keys, s.mask_query = s.keys, s.mask_key = 1;
    compare_kernels(&s, &a, scores);
    if (s.rate == 0) {
        plain_loss(&s, &a, scores, true);
        check_slopes(&random, &s, &a, scores, a.query, a.dq, a.q);
        check_slopes(&random, &s, &a, scores, a.key, a.dk, a.k);
        check_slopes(&random, &s, &a, scores, a.value, a.dv, a.v);
    }
    check_blocks(s, &a, scores);
    arrays_fini(&a);
}

static const artel__attention_shape base = {.rows = 3,
                                            .queries = 7,
                                            .keys = 7,
                                            .inner = 1,
                                            .heads = 2,
                                            .key_heads = 2,
                                            .depth = 5,
                                            .value_depth = 3,
                                            .scale = 0.4f};

static void test_shapes(void **state)
{
    artel__attention_shape s = base;
    (void)state;
    one_case(s, false, false);
    one_case(s, true, true);
    s.causal = true;
    one_case(s, false, false);
    one_case(s, true, false);
    s = base, s.keys = 33, s.queries = 18, s.depth = 17, s.value_depth = 40;
    one_case(s, false, true);
    s.heads = 6, s.rows = 2;
    one_case(s, true, false);
    s = base, s.inner = 3;
    one_case(s, true, false);
    /* Causal beyond a block: as many keys, more, fewer; the last block whole and not. */
    static const int64_t extents[][2] = {{64, 64}, {70, 70}, {40, 97}, {97, 40}, {33, 32}, {1, 65}};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        s = base, s.causal = true, s.queries = extents[i][0], s.keys = extents[i][1], s.rows = 1;
        one_case(s, false, true);
        one_case(s, true, false);
        s.rate = 0.25f, s.keep_scale = 1 / 0.75f, s.key = artel__rng_make_key(5, ARTEL__STREAM_DROPOUT);
        one_case(s, false, false);
    }
    s = base, s.rows = 0;
    one_case(s, false, false);
}

/* Dropped probabilities are 0 or scaled, about as many as asked for, and other rows draw other numbers. */
static void test_dropout(void **state)
{
    check_random random = {4};
    arrays a;
    artel__attention_shape s = base;
    (void)state;
    s.rate = 0.25f, s.keep_scale = 1 / 0.75f, s.key = artel__rng_make_key(5, ARTEL__STREAM_DROPOUT), s.node = 3;
    one_case(s, false, true);
    s.queries = s.keys = s.value_depth = 60, s.depth = 1;
    arrays_init(&a, &s, &random);
    memset(a.query, 0, (size_t)a.q * 4); /* uniform probabilities */
    memset(a.value, 0, (size_t)a.v * 4);
    for (int64_t row = 0; row < s.rows; row++)
        for (int64_t h = 0; h < s.heads; h++)
            for (int64_t j = 0; j < 60; j++)
                a.value[((row * 60 + j) * s.heads + h) * 60 + j] = 60; /* the result is 60 times the probabilities */
    artel__attention_forward f = {s, a.query, a.key, a.value, a.result, a.scores, false, false, false, false};
    check_run_reference(artel__attention_forward_kernels, &f);
    int64_t dropped = 0;
    for (int64_t i = 0; i < a.out; i++) {
        dropped += a.result[i] == 0;
        assert_true(a.result[i] == 0 || fabsf(a.result[i] - 1 / 0.75f) < 1e-5f);
    }
    assert_true(fabs((double)dropped / (double)a.out - 0.25) < 0.02);
    assert_memory_not_equal(a.result, a.result + a.out / s.rows, (size_t)(a.out / s.rows) * 4);
    arrays_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_dropout),
    };
    check_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
