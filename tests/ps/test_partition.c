/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting and placing. The table of pieces was printed by TensorFlow 2's partitioners; test_partition.py asks the one
 * that is installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ps/part.h"

static const struct {
    artel__partition_rule rule;
    int64_t shape[2];
    int rank;
    int64_t pieces;
} table[] = {
    {{ARTEL__PARTITION_FIXED, 0, 1}, {13, 4}, 2, 1},
    {{ARTEL__PARTITION_FIXED, 0, 5}, {13, 4}, 2, 5},
    {{ARTEL__PARTITION_FIXED, 0, 8}, {13, 4}, 2, 8},
    {{ARTEL__PARTITION_MIN, 262144, 1}, {13, 4}, 2, 1},
    {{ARTEL__PARTITION_MIN, 4, 100}, {13, 4}, 2, 13},
    {{ARTEL__PARTITION_MAX, 4, 0}, {13, 4}, 2, 13},
    {{ARTEL__PARTITION_MAX, 1024, 0}, {13, 4}, 2, 1},
    {{ARTEL__PARTITION_FIXED, 0, 1}, {1000000, 16}, 2, 1},
    {{ARTEL__PARTITION_FIXED, 0, 5}, {1000000, 16}, 2, 5},
    {{ARTEL__PARTITION_FIXED, 0, 8}, {1000000, 16}, 2, 8},
    {{ARTEL__PARTITION_MIN, 262144, 1}, {1000000, 16}, 2, 1},
    {{ARTEL__PARTITION_MIN, 262144, 2}, {1000000, 16}, 2, 2},
    {{ARTEL__PARTITION_MIN, 262144, 8}, {1000000, 16}, 2, 8},
    {{ARTEL__PARTITION_MIN, 4, 100}, {1000000, 16}, 2, 100},
    {{ARTEL__PARTITION_MIN, 1000, 3}, {1000000, 16}, 2, 3},
    {{ARTEL__PARTITION_MAX, 4, 0}, {1000000, 16}, 2, 1000000},
    {{ARTEL__PARTITION_MAX, 1024, 0}, {1000000, 16}, 2, 62500},
    {{ARTEL__PARTITION_MAX, 1048576, 0}, {1000000, 16}, 2, 62},
    {{ARTEL__PARTITION_MAX, 1000, 3}, {1000000, 16}, 2, 3},
    {{ARTEL__PARTITION_MAX, 100000, 4}, {1000000, 16}, 2, 4},
    {{ARTEL__PARTITION_FIXED, 0, 1}, {7}, 1, 1},
    {{ARTEL__PARTITION_FIXED, 0, 5}, {7}, 1, 5},
    {{ARTEL__PARTITION_FIXED, 0, 8}, {7}, 1, 7},
    {{ARTEL__PARTITION_MIN, 262144, 1}, {7}, 1, 1},
    {{ARTEL__PARTITION_MIN, 4, 100}, {7}, 1, 7},
    {{ARTEL__PARTITION_MAX, 4, 0}, {7}, 1, 7},
    {{ARTEL__PARTITION_MAX, 1024, 0}, {7}, 1, 1},
    {{ARTEL__PARTITION_FIXED, 0, 1}, {65537, 1}, 2, 1},
    {{ARTEL__PARTITION_FIXED, 0, 5}, {65537, 1}, 2, 5},
    {{ARTEL__PARTITION_FIXED, 0, 8}, {65537, 1}, 2, 8},
    {{ARTEL__PARTITION_MIN, 262144, 1}, {65537, 1}, 2, 1},
    {{ARTEL__PARTITION_MIN, 262144, 2}, {65537, 1}, 2, 2},
    {{ARTEL__PARTITION_MIN, 262144, 8}, {65537, 1}, 2, 2},
    {{ARTEL__PARTITION_MIN, 4, 100}, {65537, 1}, 2, 100},
    {{ARTEL__PARTITION_MIN, 1000, 3}, {65537, 1}, 2, 3},
    {{ARTEL__PARTITION_MAX, 4, 0}, {65537, 1}, 2, 65537},
    {{ARTEL__PARTITION_MAX, 1024, 0}, {65537, 1}, 2, 257},
    {{ARTEL__PARTITION_MAX, 1000, 3}, {65537, 1}, 2, 3},
    {{ARTEL__PARTITION_MAX, 100000, 4}, {65537, 1}, 2, 3},
    {{ARTEL__PARTITION_FIXED, 0, 1}, {5, 70000}, 2, 1},
    {{ARTEL__PARTITION_FIXED, 0, 5}, {5, 70000}, 2, 5},
    {{ARTEL__PARTITION_FIXED, 0, 8}, {5, 70000}, 2, 5},
    {{ARTEL__PARTITION_MIN, 262144, 1}, {5, 70000}, 2, 1},
    {{ARTEL__PARTITION_MIN, 262144, 2}, {5, 70000}, 2, 2},
    {{ARTEL__PARTITION_MIN, 262144, 8}, {5, 70000}, 2, 5},
    {{ARTEL__PARTITION_MIN, 4, 100}, {5, 70000}, 2, 5},
    {{ARTEL__PARTITION_MIN, 1000, 3}, {5, 70000}, 2, 3},
    {{ARTEL__PARTITION_MAX, 4, 0}, {5, 70000}, 2, 5},
    {{ARTEL__PARTITION_MAX, 1024, 0}, {5, 70000}, 2, 5},
    {{ARTEL__PARTITION_MAX, 1048576, 0}, {5, 70000}, 2, 2},
    {{ARTEL__PARTITION_MAX, 1000, 3}, {5, 70000}, 2, 3},
    {{ARTEL__PARTITION_MAX, 100000, 4}, {5, 70000}, 2, 4},
    {{ARTEL__PARTITION_FIXED, 0, 4}, {0, 4}, 2, 1},
    {{ARTEL__PARTITION_FIXED, 0, 4}, {0}, 0, 1},
    {{ARTEL__PARTITION_NONE, 0, 0}, {13, 4}, 2, 1},
};

static void PS5_PS7_pieces_are_tensorflows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int64_t pieces = artel__partition_count(&table[i].rule, table[i].shape, table[i].rank, 4);
        if (pieces != table[i].pieces) fail_msg("row %zu: %d pieces", i, (int)pieces);
    }
}

static void PS6_the_first_pieces_are_one_longer(void **state)
{
    (void)state;
    static const int64_t expected[] = {0, 3, 6, 9, 11, 13};
    for (int64_t i = 0; i <= 5; i++) assert_int_equal(artel__partition_offset(13, 5, i), expected[i]);
    for (int64_t rows = 1; rows < 70; rows++)
        for (int64_t pieces = 1; pieces <= rows; pieces++)
            for (int64_t row = 0; row < rows; row++) {
                int64_t p = artel__partition_find(rows, pieces, row);
                assert_true(row >= artel__partition_offset(rows, pieces, p) &&
                            row < artel__partition_offset(rows, pieces, p + 1));
            }
}

static void texts_are_read(void **state)
{
    artel_context *ctx = *state;
    artel__partition_rule r;
    assert_int_equal(artel__partition_read(ctx, "fixed:3", 2, &r), ARTEL_OK);
    assert_true(r.kind == ARTEL__PARTITION_FIXED && r.shards == 3);
    assert_int_equal(artel__partition_read(ctx, "auto", 3, &r), ARTEL_OK);
    assert_true(r.kind == ARTEL__PARTITION_MIN && r.bytes == 256 << 10 && r.shards == 3);
    assert_int_equal(artel__partition_read(ctx, "min", 2, &r), ARTEL_OK);
    assert_true(r.kind == ARTEL__PARTITION_MIN && r.bytes == 256 << 10 && r.shards == 2);
    assert_int_equal(artel__partition_read(ctx, "min:64K:7", 2, &r), ARTEL_OK);
    assert_true(r.bytes == 64 << 10 && r.shards == 7);
    assert_int_equal(artel__partition_read(ctx, "max:3M", 2, &r), ARTEL_OK);
    assert_true(r.kind == ARTEL__PARTITION_MAX && r.bytes == 3 << 20 && r.shards == 0);
    static const char *const bad[] = {"",          "fixed",   "fixed:",  "fixed:0", "fixed:2:2",
                                      "min:0",     "min:1:0", "min:",    "max",     "max:-1",
                                      "max:1:2:3", "max:1T",  "minimal", "none:1",  "fixed:99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(artel__partition_read(ctx, bad[i], 2, &r), ARTEL_ERROR_INVALID);
}

/* The wide model: 8 tables of a million rows of 16, in so many pieces, and small dense layers. */
static void loads_are_level(void **state)
{
    (void)state;
    uint64_t load[70];
    int place[70], order[70], heaviest, pieces = 0;
    for (int t = 0; t < 8; t++)
        for (int p = 0; p < 8; p++) load[pieces++] = 8000000;
    load[pieces++] = 8 * 16 * 64 * 4;
    load[pieces++] = 64 * 4;
    load[pieces++] = 64 * 4;
    load[pieces++] = 4;
    for (int servers = 1; servers <= 7; servers++) {
        artel__place_by_load(load, pieces, servers, place, order);
        assert_true(artel__place_skew(load, pieces, servers, place, &heaviest) <= 1.1);
        int turn[70];
        artel__place_in_turn(0, pieces, servers, turn);
        assert_int_equal(turn[pieces - 1], (pieces - 1) % servers);
    }
}

static void measured_traffic_moves_few(void **state)
{
    (void)state;
    uint64_t load[40];
    int place[40], before[40], scratch[120], moved = 0;
    for (int i = 0; i < 40; i++) load[i] = i % 4 == 0 ? 900 : 100;
    artel__place_in_turn(0, 40, 4, place);
    for (int i = 0; i < 40; i++) before[i] = place[i];
    assert_true(artel__place_skew(load, 40, 4, place, NULL) > 2);
    int said = artel__place_correct(load, 40, 4, 1.1, place, scratch);
    for (int i = 0; i < 40; i++) moved += place[i] != before[i];
    assert_true(artel__place_skew(load, 40, 4, place, NULL) <= 1.1);
    assert_int_equal(moved, said);
    assert_in_range(moved, 7, 30);
    load[0] = 2000; /* one has become more: a few moves do */
    said = artel__place_correct(load, 40, 4, 1.1, place, scratch);
    assert_in_range(said, 1, 12);
    assert_true(artel__place_skew(load, 40, 4, place, NULL) <= 1.1);
    uint64_t one[2] = {1000, 1};
    int there[2] = {0, 0}, heaviest;
    artel__place_correct(one, 2, 2, 1.1, there, scratch);
    assert_true(artel__place_skew(one, 2, 2, there, &heaviest) > 1.1 && heaviest == 0);
}

static int begin(void **state)
{
    artel_context *ctx;
    int failed = artel_context_create(NULL, &ctx) < 0;
    *state = ctx;
    return failed;
}

static int end(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(PS5_PS7_pieces_are_tensorflows),
        cmocka_unit_test(PS6_the_first_pieces_are_one_longer),
        cmocka_unit_test(texts_are_read),
        cmocka_unit_test(loads_are_level),
        cmocka_unit_test(measured_traffic_moves_few),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
