/* SPDX-License-Identifier: Apache-2.0 */
/* Philox against its published vectors; the packing, the normals and the permutation by golden values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

/* Known answers of the Random123 distribution (kat_vectors, philox4x32 10). */
static void test_known_answers(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], answer[4];
    } cases[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t out[4];
        artel__philox(cases[i].counter, cases[i].key, out);
        assert_memory_equal(out, cases[i].answer, sizeof(out));
    }
}

/* Part of every saved run: these values may never change. Computed by an independent program. */
static void test_packing(void **state)
{
    static const uint32_t golden[4] = {0x01dc6a01, 0x4774c3ec, 0x1e910879, 0x127d9bab};
    uint32_t packed[4], bare[4];
    (void)state;
    artel__rng_key key = artel__rng_make_key(0x123456789abcdef0u, ARTEL__STREAM_DROPOUT);
    assert_int_equal(key.word[0], 0x9abcdef0u);
    assert_int_equal(key.word[1], 0x12345678u ^ 0x9E3779B9u);
    artel__rng_block(key, 0x1200000005u, 7, 11, 13, packed);
    const uint32_t counter[4] = {13, 11, 7 | 0x12u << 24, 5};
    artel__philox(counter, key.word, bare);
    assert_memory_equal(packed, bare, sizeof(bare));
    assert_memory_equal(packed, golden, sizeof(golden));
}

static void test_uniform(void **state)
{
    (void)state;
    assert_true(artel__rng_uniform(0) == 0.0f);
    assert_true(artel__rng_uniform(0xffffffffu) == 1.0f - 0x1p-24f);
    assert_true(artel__rng_uniform(0x80000000u) == 0.5f);
}

static void test_normal_golden(void **state)
{
    float pair[2];
    (void)state;
    artel__rng_normal_pair(0x12345678u, 0x9abcdef0u, pair);
    assert_true(pair[0] == -0x1.d25e7p+0f && pair[1] == -0x1.672702p+0f);
    artel__rng_normal_pair(0, 0, pair);
    assert_true(pair[0] == 0x1.aa449ap+2f && pair[1] == 0.0f);
    artel__rng_normal_pair(0xffffffffu, 0xffffffffu, pair);
    assert_true(pair[0] == 0.0f && pair[1] == 0.0f);
}

/* Against libm in double, within one float32 unit; and the first moments. */
static void test_normal_values(void **state)
{
    enum {
        PAIRS = 100000
    };
    double sum = 0, squares = 0, fourth = 0;
    (void)state;
    for (uint64_t i = 0; i < PAIRS; i++) {
        uint32_t word[4];
        float pair[2];
        artel__rng_block(artel__rng_make_key(9, ARTEL__STREAM_INIT), 0, 1, 0, i, word);
        artel__rng_normal_pair(word[0], word[1], pair);
        double radius = sqrt(-2 * log(((double)word[0] + 1) * 0x1p-32)),
               angle = 2 * 3.14159265358979323846 * ((double)word[1] * 0x1p-32);
        assert_true(fabs(pair[0] - radius * cos(angle)) < 6e-8 * (fabs((double)pair[0]) + 1e-6));
        assert_true(fabs(pair[1] - radius * sin(angle)) < 6e-8 * (fabs((double)pair[1]) + 1e-6));
        for (int k = 0; k < 2; k++) {
            double square = (double)pair[k] * (double)pair[k];
            sum += (double)pair[k];
            squares += square;
            fourth += square * square;
        }
    }
    assert_true(fabs(sum / (2 * PAIRS)) < 0.01);
    assert_true(fabs(squares / (2 * PAIRS) - 1) < 0.02);
    assert_true(fabs(fourth / (2 * PAIRS) - 3) < 0.15);
}

static void test_permutation_golden(void **state)
{
    static const uint64_t first[10] = {6, 1, 2, 8, 7, 0, 9, 3, 5, 4}, other[10] = {9, 4, 7, 1, 5, 0, 2, 3, 8, 6};
    uint64_t order[10];
    (void)state;
    artel__rng_permutation(0, ARTEL__STREAM_SHUFFLE, 0, 10, order);
    assert_memory_equal(order, first, sizeof(first));
    artel__rng_permutation(42, ARTEL__STREAM_SHUFFLE, 3, 10, order);
    assert_memory_equal(order, other, sizeof(other));
    artel__rng_permutation(0, ARTEL__STREAM_SHUFFLE, 0, 1, order);
    assert_int_equal(order[0], 0);
    artel__rng_permutation(0, ARTEL__STREAM_SHUFFLE, 0, 0, NULL);
}

static void test_permutation_is_one(void **state)
{
    enum {
        COUNT = 60000
    };
    uint64_t *order = calloc(COUNT, sizeof(*order));
    bool *seen = calloc(COUNT, sizeof(*seen));
    size_t fixed = 0;
    (void)state;
    assert_true(order && seen);
    artel__rng_permutation(5, ARTEL__STREAM_SHUFFLE, 1, COUNT, order);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(order[i] < COUNT && !seen[order[i]]);
        seen[order[i]] = true;
        fixed += order[i] == i;
    }
    assert_true(fixed < 10);
    free(seen);
    free(order);
}

/* All 24 orders of four things, about equally often. */
static void test_permutation_is_fair(void **state)
{
    int count[256] = {0}, kinds = 0;
    (void)state;
    for (uint64_t pass = 0; pass < 24000; pass++) {
        uint64_t order[4];
        artel__rng_permutation(1, ARTEL__STREAM_SHUFFLE, pass, 4, order);
        count[order[0] << 6 | order[1] << 4 | order[2] << 2 | order[3]]++;
    }
    for (int i = 0; i < 256; i++) {
        if (!count[i]) continue;
        kinds++;
        assert_in_range(count[i], 850, 1150);
    }
    assert_int_equal(kinds, 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_packing),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_normal_golden),
        cmocka_unit_test(test_normal_values),
        cmocka_unit_test(test_permutation_golden),
        cmocka_unit_test(test_permutation_is_one),
        cmocka_unit_test(test_permutation_is_fair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
