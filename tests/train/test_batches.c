/* SPDX-License-Identifier: Apache-2.0 */
/* The order of batches: what is looked at ahead is what comes, over passes, short last batches and restored
 * places; batches of like length are those of a model that fills lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "train/batches.h"

enum {
    ROWS = 23,
    STEPS = 40
};

static artel__batches open_batches(artel__arena *arena, bool shuffle, int64_t batch_size, bool peeks)
{
    artel__batches b = {.rows = ROWS, .batch_size = batch_size, .seed = 5, .shuffle = shuffle};
    assert_int_equal(artel__batches_init(arena, &b, 0, peeks), ARTEL_OK);
    return b;
}

static artel__batch_rows step(artel__batches *b)
{
    if (b->cursor >= b->rows) artel__batches_begin_pass(b);
    artel__batch_rows next = artel__batches_next(b);
    b->cursor += next.count;
    return next;
}

/* Peeking never changes what comes, and sees it. */
static void peeks_what_comes(void **state)
{
    artel_context *ctx = *state;
    for (int64_t size = 1; size <= ROWS + 1; size++) {
        for (int shuffle = 0; shuffle < 2; shuffle++) {
            artel__arena arena;
            artel__arena_init(&arena, ctx);
            artel__batches plain = open_batches(&arena, shuffle, size, false),
                           b = open_batches(&arena, shuffle, size, true);
            uint64_t told[STEPS + 1 + ARTEL__PREFETCH_AHEAD][ROWS];
            int64_t counts[STEPS + 1 + ARTEL__PREFETCH_AHEAD] = {0};
            for (int i = 0; i < STEPS; i++) {
                if (b.cursor >= b.rows) artel__batches_begin_pass(&b);
                artel__batch_rows next = artel__batches_next(&b), expected = step(&plain);
                assert_int_equal(next.count, expected.count);
                assert_memory_equal(next.rows, expected.rows, (size_t)next.count * sizeof *next.rows);
                if (counts[i]) {
                    assert_int_equal(next.count, counts[i]);
                    assert_memory_equal(next.rows, told[i], (size_t)next.count * sizeof *next.rows);
                } else
                    assert_true(i < 2 || size >= ROWS); /* only what lies two passes ahead is not known */
                for (int k = 0; k < ARTEL__PREFETCH_AHEAD; k++) {
                    artel__batch_rows ahead = artel__batches_peek(&b, k);
                    counts[i + 1 + k] = ahead.count;
                    if (ahead.count) memcpy(told[i + 1 + k], ahead.rows, (size_t)ahead.count * sizeof *ahead.rows);
                }
                assert_true(counts[i + 1] > 0);
                b.cursor += next.count;
            }
            artel__arena_fini(&arena);
        }
    }
}

/* Every row once a pass, and passes differ. */
static void each_row_once(void **state)
{
    artel_context *ctx = *state;
    artel__arena arena;
    artel__arena_init(&arena, ctx);
    artel__batches b = open_batches(&arena, true, 5, true);
    uint64_t first[ROWS], at = 0;
    for (int pass = 0; pass < 3; pass++) {
        uint64_t seen[ROWS];
        int64_t met = 0;
        for (int k = 0; k < 5; k++) {
            artel__batch_rows next = step(&b);
            memcpy(seen + met, next.rows, (size_t)next.count * sizeof *seen);
            met += next.count;
        }
        assert_int_equal(met, ROWS);
        uint32_t mask = 0;
        for (int i = 0; i < ROWS; i++) mask |= 1u << seen[i];
        assert_int_equal(mask, (1u << ROWS) - 1);
        if (pass == 0) memcpy(first, seen, sizeof first);
        at += pass > 0 && memcmp(first, seen, sizeof first) == 0;
    }
    assert_int_equal(at, 0);
    artel__arena_fini(&arena);
}

/* A place taken from elsewhere gives what would have come there, also after the next pass was looked into. */
static void restores(void **state)
{
    artel_context *ctx = *state;
    artel__arena arena;
    artel__arena_init(&arena, ctx);
    artel__batches b = open_batches(&arena, true, 5, true), c = open_batches(&arena, true, 5, true);
    for (int i = 0; i < 12; i++) step(&b);
    for (int i = 0; i < 4; i++) {
        step(&c);
        artel__batches_peek(&c, 1);
    }
    artel__batches_restore(&c, b.pass, b.cursor);
    for (int i = 0; i < 12; i++) {
        artel__batch_rows x = step(&b), y = step(&c);
        assert_int_equal(x.count, y.count);
        assert_memory_equal(x.rows, y.rows, (size_t)x.count * sizeof *x.rows);
    }
    artel__arena_fini(&arena);
}

/* ---- buckets ---- */

enum {
    BUCKETS = 3
};

/* A list for each bucket, given out when it is full, and at the end by its number. */
static int fill_lists(const artel__batch_cut *cut, const uint64_t *drawn, artel__batch_rows *out, uint64_t *rows)
{
    uint64_t list[BUCKETS][ROWS];
    int64_t length[BUCKETS] = {0};
    int batches = 0;
    for (int64_t i = 0; i < ROWS + BUCKETS; i++) {
        int k = i < ROWS ? cut->bucket[drawn[i]] : (int)(i - ROWS);
        if (i < ROWS) list[k][length[k]++] = drawn[i];
        if (length[k] == 0 || (i < ROWS && length[k] < cut->size[k])) continue;
        memcpy(rows, list[k], (size_t)length[k] * sizeof *rows);
        out[batches++] = (artel__batch_rows){.rows = rows, .count = length[k], .bucket = k};
        rows += length[k];
        length[k] = 0;
    }
    return batches;
}

static void check_batch(artel__batch_rows found, const artel__batch_rows *wanted)
{
    assert_int_equal(found.count, wanted->count);
    assert_int_equal(found.bucket, wanted->bucket);
    assert_memory_equal(found.rows, wanted->rows, (size_t)found.count * sizeof *found.rows);
}

/* Passes of batches, looked ahead at, and every place of the order that a batch begins at. */
static void check_buckets(artel_context *ctx, bool shuffle, const uint8_t *bucket, const int64_t *size)
{
    artel__arena arena;
    artel__arena_init(&arena, ctx);
    artel__batches b = {.rows = ROWS, .batch_size = 9, .seed = 5, .shuffle = shuffle},
                   drawn = open_batches(&arena, shuffle, ROWS, false);
    b.cut = (artel__batch_cut){.buckets = BUCKETS, .bucket = bucket, .size = size};
    assert_int_equal(artel__batches_init(&arena, &b, 0, true), ARTEL_OK);
    for (int pass = 0; pass < 3; pass++) {
        artel__batch_rows wanted[ROWS + ARTEL__PREFETCH_AHEAD];
        uint64_t rows[ROWS];
        int count = fill_lists(&b.cut, step(&drawn).rows, wanted, rows);
        assert_int_equal(artel__batch_count(&b.cut), count);
        for (int i = 0; i < count; i++) {
            if (b.cursor >= b.rows) artel__batches_begin_pass(&b);
            for (int k = 0; k < ARTEL__PREFETCH_AHEAD && i + 1 + k < count; k++)
                check_batch(artel__batches_peek(&b, k), &wanted[i + 1 + k]);
            check_batch(artel__batches_next(&b), &wanted[i]);
            assert_int_equal(artel__batch_behind(&b.cut, b.order[0], 0, i), b.cursor);
            b.cursor += wanted[i].count;
        }
        assert_int_equal(b.cursor, ROWS);
        assert_int_equal(artel__batch_behind(&b.cut, b.order[0], 0, count + 1), ROWS);
    }
    artel__arena_fini(&arena);
}

static void fills_buckets(void **state)
{
    for (int turn = 0; turn < 40; turn++) {
        uint8_t bucket[ROWS];
        int64_t size[BUCKETS];
        for (int i = 0; i < ROWS; i++) bucket[i] = (uint8_t)((i * i + i * turn) % 7 % (1 + turn % BUCKETS));
        for (int k = 0; k < BUCKETS; k++) size[k] = 1 + (turn + 3 * k) % 9;
        check_buckets(*state, turn % 2, bucket, size);
    }
}

static int open_context(void **state)
{
    artel_context *ctx;
    if (artel_context_create(NULL, &ctx) != ARTEL_OK) return -1;
    *state = ctx;
    return 0;
}

static int close_context(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(peeks_what_comes, open_context, close_context),
        cmocka_unit_test_setup_teardown(each_row_once, open_context, close_context),
        cmocka_unit_test_setup_teardown(restores, open_context, close_context),
        cmocka_unit_test_setup_teardown(fills_buckets, open_context, close_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
