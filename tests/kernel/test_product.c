/* SPDX-License-Identifier: Apache-2.0 */
/* Products: fast against reference bit for bit over random and edge shapes, truth in float64, layouts, folds under any
 * distribution of shards. */
#include "help_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/micro.h"
#include "kernel/narrow.h"

static float *filled(int64_t count, float value)
{
    float *x = check_alloc((size_t)count * sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = value;
    return x;
}

/* Random panels(k, n), padding cleared. */
static float *panels(check_random *random, int64_t k, int64_t n)
{
    float *w = filled(artel__panels_floats(k, n), 0.0f);
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < n; j++) w[artel__panels_offset(k, n, i, j)] = check_uniform(random, -1, 1);
    }
    return w;
}

static void check_truth(const artel__product_forward *p)
{
    for (int64_t i = 0; i < p->m; i++) {
        for (int64_t j = 0; j < p->n; j++) {
            double sum = p->bias ? (double)p->bias[j] : 0, size = 1;
            for (int64_t k = 0; k < p->k; k++) {
                double term = (double)p->a[i * p->lda + k] * (double)p->w[artel__product_weight(p, k, j)];
                sum += term;
                size += fabs(term);
            }
            if (p->activation == ARTEL__FUSED_RELU && sum < 0) sum = 0;
            assert_true(fabs(sum - (double)p->out[i * p->ldo + j]) <= 1e-6 * size);
        }
    }
}

/* Results rounded in the kernel are those rounded behind it: of the fast kernels, which the reference has just agreed
 * with, and of itself where it does not take long. */
static void check_rounded(artel__product_forward *p, const check_buffer *buffer)
{
    int64_t count = (int64_t)(buffer->bytes / sizeof(float));
    float *plain = check_alloc(buffer->bytes), *rounded = check_alloc(buffer->bytes);
    memcpy(plain, buffer->data, buffer->bytes);
    for (artel_dtype to = ARTEL_DTYPE_FLOAT16; to <= ARTEL_DTYPE_BFLOAT16; to++) {
        p->narrow = to;
        check_narrow(to, plain, rounded, count);
        for (const artel__kernel *const *kernel = artel__product_forward_kernels; *kernel; kernel++) {
            bool dear = !kernel[1] && p->m * p->n * p->k > 20000;
            if (dear || !check_can_run(*kernel, p)) continue;
            check_run(*kernel, p);
            for (int64_t i = 0; i < p->m; i++)
                assert_memory_equal(p->out + i * p->ldo, rounded + i * p->ldo, (size_t)p->n * sizeof(float));
        }
    }
    check_free(plain);
    check_free(rounded);
}

static void forward_held(check_random *random, int64_t m, int64_t n, int64_t k, int options, artel_dtype held,
                         artel__arithmetic arithmetic)
{
    int64_t lda = k + (options & 1 ? 3 : 0), ldo = n + (options & 2 ? 5 : 0);
    bool turned = options & 16;
    float *a = check_floats(random, m * lda, -1, 1), *w = turned ? panels(random, n, k) : panels(random, k, n);
    float *bias = check_floats(random, n, -1, 1);
    float *out = filled(m * ldo, 7.0f);
    check_narrow(held, a, a, m * lda);
    check_narrow(held, w, w, (turned ? artel__panels_floats(n, k) : artel__panels_floats(k, n)));
    artel__product_forward p = {m,
                                n,
                                k,
                                a,
                                lda,
                                w,
                                options & 4 ? bias : NULL,
                                options & 8 ? ARTEL__FUSED_RELU : ARTEL__FUSED_NONE,
                                out,
                                ldo,
                                turned,
                                ARTEL_DTYPE_FLOAT32,
                                held,
                                arithmetic,
                                false,
                                false,
                                false};
    check_buffer buffer = {out, (size_t)(m * ldo) * sizeof(float)};
    check_kernels(artel__product_forward_kernels, &p, &buffer, 1);
    if (check_values()) check_truth(&p);
    check_rounded(&p, &buffer);
    check_free(a);
    check_free(w);
    check_free(bias);
    check_free(out);
}

static void forward_case(check_random *random, int64_t m, int64_t n, int64_t k, int options)
{
    forward_held(random, m, n, k, options, ARTEL_DTYPE_FLOAT32, ARTEL__ARITHMETIC_CHAIN);
    if (m * n * k >= 25000000) return; /* the largest are about what float32 fetches */
    forward_held(random, m, n, k, options, ARTEL_DTYPE_BFLOAT16, ARTEL__ARITHMETIC_CHAIN);
    if (m * n * k < 4000000) forward_held(random, m, n, k, options, ARTEL_DTYPE_BFLOAT16, ARTEL__ARITHMETIC_TILES);
}

static void test_forward(void **state)
{
    static const int64_t shapes[][3] = {
        {0, 5, 3},
        {3, 0, 3},
        {3, 5, 0},
        {1, 1, 1},
        {1, 40, 7},
        {14, 32, 64},
        {15, 33, 65},
        {29, 16, 31},
        {64, 10, 512},
        {3, 513, 33},
        {17, 100, 1537},
        {5, 70, 3500},
        {130, 65, 12},
        {1, 2100, 1600},
        /* rows far enough apart in memory to be fetched ahead: one cut and several, few panels */
        {2000, 20, 400},
        {12400, 70, 65},
        {800, 17, 1030},
        /* tasks numbered by rows, more panels than the cache holds together */
        {301, 200, 1030},
        /* rows of A that collide in the cache */
        {33, 70, 1024},
        {20, 100, 3069},
        {20, 100, 3072},
        {29, 50, 1021},
        /* blocks of rows under many panels: one and several blocks and cuts, more panels than pass at once */
        {5, 353, 1030},
        {110, 360, 1024},
        {99, 353, 2048},
        {30, 380, 2100},
        {770, 353, 1030},
        {16, 4150, 1040}};
    check_random random = {1};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(shapes); i++) {
        forward_case(&random, shapes[i][0], shapes[i][1], shapes[i][2], (int)i % 16);
        if (shapes[i][0] < 300) forward_case(&random, shapes[i][0], shapes[i][1], shapes[i][2], (int)i % 16 + 16);
    }
    for (int64_t n = 1; n <= 70; n++) {
        forward_case(&random, 1 + check_below(&random, 40), n, check_below(&random, 50), (int)n % 16);
        forward_case(&random, 1 + check_below(&random, 40), n, check_below(&random, 90), (int)n % 16 + 16);
    }
}

/* So much output that it goes past the caches gives the bits of the same product with rows that cannot. */
static void test_forward_past_the_caches(void **state)
{
    static const int64_t shapes[][3] = {{800, 4000, 70}, {800, 4000, 1030}};
    check_random random = {6};
    size_t count = check_values() ? ARTEL__COUNT(shapes) : 1; /* deeper products touch no other memory */
    (void)state;
    for (size_t i = 0; i < count; i++) {
        int64_t m = shapes[i][0], n = shapes[i][1], k = shapes[i][2], apart = n + 5;
        float *a = check_floats(&random, m * k, -1, 1), *w = panels(&random, k, n);
        float *out = filled(m * n + 16, 7.0f), *other = filled(m * apart, 7.0f),
              *whole = out + (64 - (uintptr_t)out % 64) % 64 / sizeof *out;
        for (const artel__kernel *const *kernel = artel__product_forward_kernels; *kernel; kernel++) {
            artel__product_forward p = {.m = m, .n = n, .k = k, .a = a, .lda = k, .w = w, .out = whole, .ldo = n},
                                   q = p;
            if ((*kernel)->isa == ARTEL__ISA_BASELINE || !check_can_run(*kernel, &p)) continue;
            q.out = other;
            q.ldo = apart;
            check_run(*kernel, &p);
            check_run(*kernel, &q);
            for (int64_t row = 0; row < m; row++)
                assert_memory_equal(whole + row * n, other + row * apart, (size_t)n * sizeof(float));
        }
        check_free(a);
        check_free(w);
        check_free(out);
        check_free(other);
    }
}

static void test_forward_keeps_nan(void **state)
{
    float a[2] = {NAN, -1.0f}, w[16] = {1.0f}, out[2];
    artel__product_forward p = {
        .m = 2, .n = 1, .k = 1, .a = a, .lda = 1, .w = w, .activation = ARTEL__FUSED_RELU, .out = out, .ldo = 1};
    (void)state;
    for (const artel__kernel *const *kernel = artel__product_forward_kernels; *kernel; kernel++) {
        if (!check_can_run(*kernel, &p)) continue;
        (*kernel)->run(&p, 0, (*kernel)->tasks(&p), NULL);
        assert_true(isnan(out[0]));
        assert_true(out[1] == 0.0f);
    }
}

/* A short last batch runs the kernel that was chosen for more rows. */
static void test_forward_of_fewer_rows(void **state)
{
    check_random random = {9};
    float *a = check_floats(&random, 8 * 70, -1, 1), *w = panels(&random, 70, 40), out[8 * 40], expected[8 * 40];
    (void)state;
    for (int i = 0; i < 8 * 70; i++) a[i] = artel__narrow_one(ARTEL_DTYPE_BFLOAT16, a[i]);
    for (int64_t i = 0; i < artel__panels_floats(70, 40); i++) w[i] = artel__narrow_one(ARTEL_DTYPE_BFLOAT16, w[i]);
    for (const artel__kernel *const *kernel = artel__product_forward_kernels; *kernel; kernel++) {
        artel__product_forward p = {.m = 8,
                                    .n = 40,
                                    .k = 70,
                                    .a = a,
                                    .lda = 70,
                                    .w = w,
                                    .out = expected,
                                    .ldo = 40,
                                    .held = ARTEL_DTYPE_BFLOAT16};
        if (!check_can_run(*kernel, &p)) continue;
        check_run_reference(artel__product_forward_kernels, &p);
        p.out = out;
        for (p.m = 0; p.m < 8; p.m++) {
            memset(out, 0x55, sizeof out);
            check_run(*kernel, &p);
            assert_memory_equal(out, expected, (size_t)(p.m * p.n) * sizeof *out);
        }
    }
    check_free(a);
    check_free(w);
}

static void pack_case(check_random *random, artel__product_pack p)
{
    int64_t k = p.taps * p.rows, plain = k * p.columns, packed = artel__panels_floats(k, p.columns);
    bool unpack = p.what == ARTEL__PACK_PANELS_TO_PLAIN, turn = p.what == ARTEL__PACK_TRANSPOSE;
    int64_t count = unpack ? plain : turn ? artel__pack_transposed_floats(p.taps, p.rows, p.columns, p.groups) : packed;
    float *from =
        p.what == ARTEL__PACK_PLAIN_TO_PANELS ? check_floats(random, plain, -1, 1) : panels(random, k, p.columns);
    float *to = filled(count, 7.0f);
    check_buffer buffer = {to, (size_t)count * sizeof(float)};
    p.from = from;
    p.to = to;
    check_kernels(artel__product_pack_kernels, &p, &buffer, 1);
    check_free(from);
    check_free(to);
}

static void test_pack(void **state)
{
    check_random random = {2};
    (void)state;
    for (int i = 0; i < check_rounds(60); i++) {
        int64_t rows = 1 + check_below(&random, 70), columns = check_below(&random, 80), groups = 1 + i % 3;
        for (int what = 0; what < 3; what++) {
            int64_t taps = i % 4 == 0 ? 9 : i % 4 == 1 ? 6 : 1;
            pack_case(&random,
                      (artel__product_pack){(artel__pack)what, taps, rows, columns * groups, groups, NULL, NULL});
        }
    }
}

/* Plain -> panels -> plain is the identity; the transpose of the transpose is, too. */
static void test_pack_returns(void **state)
{
    enum {
        TAPS = 6,
        ROWS = 10,
        WIDE = 7,
        GROUPS = 3,
        COLUMNS = WIDE * GROUPS,
        K = TAPS * ROWS
    };
    check_random random = {3};
    float *plain = check_floats(&random, K * COLUMNS, -1, 1), *back = filled(K * COLUMNS, 0);
    float *packed = filled(artel__panels_floats(K, COLUMNS), 0), *again = filled(artel__panels_floats(K, COLUMNS), 1);
    float *turned = filled(artel__pack_transposed_floats(TAPS, ROWS, COLUMNS, GROUPS), 0);
    (void)state;
    artel__product_pack p = {ARTEL__PACK_PLAIN_TO_PANELS, TAPS, ROWS, COLUMNS, GROUPS, plain, packed};
    check_run_reference(artel__product_pack_kernels, &p);
    p = (artel__product_pack){ARTEL__PACK_TRANSPOSE, TAPS, ROWS, COLUMNS, GROUPS, packed, turned};
    check_run_reference(artel__product_pack_kernels, &p);
    p = (artel__product_pack){ARTEL__PACK_TRANSPOSE, TAPS, WIDE, ROWS * GROUPS, GROUPS, turned, again};
    check_run_reference(artel__product_pack_kernels, &p);
    assert_memory_equal(packed, again, (size_t)artel__panels_floats(K, COLUMNS) * sizeof(float));
    p = (artel__product_pack){ARTEL__PACK_PANELS_TO_PLAIN, TAPS, ROWS, COLUMNS, GROUPS, again, back};
    check_run_reference(artel__product_pack_kernels, &p);
    assert_memory_equal(plain, back, K * COLUMNS * sizeof(float));
    check_free(plain);
    check_free(back);
    check_free(packed);
    check_free(again);
    check_free(turned);
}

typedef struct gradient_case {
    int64_t batch, inner, k, n;
    int32_t shards;
    bool bias;
} gradient_case;

/* The gradient of the rows that one replica owns, checked against the reference. */
static void gradient_part(const gradient_case *c, artel_dtype held, artel__arithmetic arithmetic, const float *x,
                          const float *dy, int32_t first, int32_t count, check_part *part)
{
    int64_t ldx = c->k + 2, ldy = c->n + 1, dw = artel__panels_floats(c->k, c->n), block = dw + c->n;
    check_plan_init(&part->plan, c->shards, first, count, c->batch);
    part->block_bytes = (size_t)block * sizeof(float);
    float *out = filled(block * part->plan.nodes, 7.0f);
    part->blocks = out;
    artel__product_weight_gradient p = {&part->plan,
                                        c->inner,
                                        c->k,
                                        c->n,
                                        x + part->plan.row * c->inner * ldx,
                                        ldx,
                                        dy + part->plan.row * c->inner * ldy,
                                        ldy,
                                        out,
                                        block,
                                        c->bias ? out + dw : NULL,
                                        block,
                                        held,
                                        {0},
                                        arithmetic,
                                        false,
                                        false};
    check_buffer buffer = {out, part->block_bytes * (size_t)part->plan.nodes};
    check_kernels(artel__product_weight_gradient_kernels, &p, &buffer, 1);
    p.dw = NULL;
    check_followed(artel__product_weight_gradient_kernels, &p, &p.follow, out, dw);
}

static void gradient_truth(const gradient_case *c, const float *x, const float *dy, const float *root)
{
    int64_t rows = c->batch * c->inner;
    for (int64_t k = 0; k <= c->k; k++) {
        for (int64_t n = 0; n < c->n; n++) {
            double sum = 0, size = 1;
            for (int64_t r = 0; r < rows; r++) {
                double term = (k < c->k ? (double)x[r * (c->k + 2) + k] : 1.0) * (double)dy[r * (c->n + 1) + n];
                sum += term;
                size += fabs(term);
            }
            if (k == c->k && !c->bias) continue;
            float got = root[k < c->k ? artel__panels_offset(c->k, c->n, k, n) : artel__panels_floats(c->k, c->n) + n];
            assert_true(fabs(sum - (double)got) <= 1e-6 * size);
        }
    }
}

static void gradient_held(check_random *random, const gradient_case *c, artel_dtype held, artel__arithmetic arithmetic,
                          int replicas)
{
    int64_t rows = c->batch * c->inner, columns = artel__panels_floats(c->k, c->n) + c->n;
    float *x = check_floats(random, rows * (c->k + 2), -1, 1), *dy = check_floats(random, rows * (c->n + 1), -1, 1);
    float *whole = filled(columns, 0), *root = filled(columns, 0);
    check_part part[8] = {0};
    check_narrow(held, x, x, rows * (c->k + 2));
    check_narrow(held, dy, dy, rows * (c->n + 1));
    gradient_part(c, held, arithmetic, x, dy, 0, c->shards, &part[0]);
    check_finish(part, 1, columns, check_add_floats, whole);
    if (held == ARTEL_DTYPE_FLOAT32 && check_values()) gradient_truth(c, x, dy, whole);
    check_plan_fini(&part[0].plan);
    check_free(part[0].blocks);
    for (int r = 0; r < replicas; r++) {
        int32_t first = artel__replica_first_shard(c->shards, replicas, r);
        gradient_part(c, held, arithmetic, x, dy, first, artel__replica_first_shard(c->shards, replicas, r + 1) - first,
                      &part[r]);
    }
    check_finish(part, replicas, columns, check_add_floats, root);
    for (int r = 0; r < replicas; r++) {
        check_plan_fini(&part[r].plan);
        check_free(part[r].blocks);
    }
    if (c->bias)
        assert_memory_equal(whole, root, (size_t)columns * sizeof(float));
    else
        assert_memory_equal(whole, root, (size_t)(columns - c->n) * sizeof(float));
    check_free(x);
    check_free(dy);
    check_free(whole);
    check_free(root);
}

static void gradient_all(check_random *random, const gradient_case *c, int replicas)
{
    gradient_held(random, c, ARTEL_DTYPE_FLOAT32, ARTEL__ARITHMETIC_CHAIN, replicas);
    gradient_held(random, c, ARTEL_DTYPE_BFLOAT16, ARTEL__ARITHMETIC_CHAIN, replicas);
    if (c->batch * c->inner * c->k * c->n < 8000000)
        gradient_held(random, c, ARTEL_DTYPE_BFLOAT16, ARTEL__ARITHMETIC_TILES, replicas);
}

static void test_gradient(void **state)
{
    static const gradient_case cases[] = {
        {1, 1, 1, 1, 8, true},
        {0, 1, 5, 4, 8, true},
        {5, 1, 13, 33, 8, true},
        {64, 1, 784, 10, 8, true},
        {100, 1, 30, 70, 8, false},
        {16, 50, 14, 16, 8, true},
        {16, 50, 9, 32, 8, true}, /* a lone tile, cut in two */
        {9, 100, 27, 40, 16, true},
        {33, 7, 0, 20, 8, true},
        {40, 11, 57, 17, 1, true},
        {7, 130, 300, 65, 4, true},
        {3, 300, 15, 129, 8, false},
        {300, 1, 29, 9, 64, true},
        {8, 64, 230, 200, 8, true},
        /* dy in place with several panels, x in place and copied; more panels than are held at once */
        {20, 40, 70, 48, 8, true},
        {20, 40, 300, 64, 8, true},
        {16, 40, 40, 330, 8, true},
        {16, 40, 270, 330, 8, true},
        {16, 40, 70, 336, 8, true},
        {5, 190, 60, 290, 4, true}, /* shards of a chunk and of two */
        {9, 41, 530, 80, 8, true},
        /* a node of 8, of 4 short leaves; the last tile with and without the bias, of 14 and 13 */
        {64, 1, 55, 70, 8, true},
        {121, 1, 111, 64, 8, true},
        {61, 1, 117, 96, 4, false},
        {16, 1, 38, 32, 4, true},
        /* rows of x a page apart */
        {9, 41, 1100, 20, 8, true}};
    check_random random = {4};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++) gradient_all(&random, &cases[i], cases[i].shards < 3 ? 1 : 3);
    for (int i = 0; i < check_rounds(30); i++) {
        gradient_case c = {
            check_below(&random, 60),     1 + check_below(&random, 9),           check_below(&random, 60),
            1 + check_below(&random, 70), (int32_t)1 << check_below(&random, 7), i % 2 == 0};
        int replicas = 1 + (int)check_below(&random, c.shards < 8 ? c.shards : 8);
        gradient_all(&random, &c, replicas);
    }
}

static artel__gemm_fn *micro_function(const artel__micro *micro, int f)
{
    artel__gemm_fn *const functions[] = {micro->panels, micro->nn, micro->nt, micro->tn};
    return functions[f];
}

static void micro_case_of(check_random *random, int64_t m, int64_t n, int64_t k, bool accumulate,
                          artel__arithmetic arithmetic)
{
    int64_t size = (m + 1) * (n + 3), lda = (m > k ? m : k) + 1, ldb = (n > k ? n : k) + 2;
    float *a = check_floats(random, (m > k ? m : k) * lda, -1, 1),
          *b = check_floats(random, (n > k ? n : k) * ldb, -1, 1);
    float *w = panels(random, k, n), *start = check_floats(random, size, -1, 1), *c = filled(size, 0),
          *want = filled(size, 0);
    const artel__micro *reference = artel__micro_for(ARTEL__ISA_BASELINE, arithmetic);
    for (int f = 0; f < 4; f++) {
        artel__gemm g = {
            m, n, k, a, lda, f == 0 ? w : b, ldb, memcpy(want, start, (size_t)size * sizeof(float)), n + 3, accumulate};
        micro_function(reference, f)(&g);
        for (artel__isa isa = ARTEL__ISA_AVX2; isa < ARTEL__ISA_COUNT; isa++) {
            const artel__micro *fast = artel__micro_for(isa, arithmetic);
            if (!check_isa_runs(isa)) continue;
            g.b = f == 0 ? w : b;
            g.c = memcpy(c, start, (size_t)size * sizeof(float));
            micro_function(fast, f)(&g);
            assert_memory_equal(c, want, (size_t)size * sizeof(float));
            if (f > 0 || !fast->pack) continue;
            float *packed = aligned_alloc(64, fast->packed_bytes(k, n) + 64);
            fast->pack(w, k, n, packed);
            g.b = packed;
            g.c = memcpy(c, start, (size_t)size * sizeof(float));
            fast->packed(&g);
            assert_memory_equal(c, want, (size_t)size * sizeof(float));
            free(packed);
        }
    }
    check_free(a);
    check_free(b);
    check_free(w);
    check_free(start);
    check_free(c);
    check_free(want);
}

static void micro_case(check_random *random, int64_t m, int64_t n, int64_t k, bool accumulate)
{
    micro_case_of(random, m, n, k, accumulate, ARTEL__ARITHMETIC_CHAIN);
    micro_case_of(random, m, n, k, accumulate, ARTEL__ARITHMETIC_TILES);
}

static void test_micro(void **state)
{
    check_random random = {5};
    (void)state;
    micro_case(&random, 128, 128, 64, false);
    micro_case(&random, 30, 70, 600, true);
    micro_case(&random, 70, 600, 300, true);
    micro_case(&random, 0, 5, 5, true);
    micro_case(&random, 5, 0, 5, false);
    micro_case(&random, 5, 40, 0, false);
    for (int i = 0; i < check_rounds(60); i++) {
        micro_case(&random, 1 + check_below(&random, 40), 1 + check_below(&random, 70), 1 + check_below(&random, 50),
                   i % 2 == 0);
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
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_forward_past_the_caches),
        cmocka_unit_test(test_forward_keeps_nan),
        cmocka_unit_test(test_forward_of_fewer_rows),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_pack_returns),
        cmocka_unit_test(test_gradient),
        cmocka_unit_test(test_micro),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
