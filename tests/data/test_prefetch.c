/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ahead: whatever was told before, rows are those that a fetch gives, and what fails ahead of time is told only
 * when wanted. */
#include <sched.h>
#include <stdlib.h>

#include "base/budget.h"
#include "data/help_data.h"
#include "data/prefetch.h"

enum {
    ROWS = 200,
    WIDTH = 3000, /* a piece is a row or two, so that a batch has many */
    MOST = 24,
    STEPS = 300,
    BAD_ROW = 137
};

typedef struct source {
    artel_data *data;
    artel__feed *feed;
    artel__prefetch *prefetch;
    artel__pool *pool;
} source;

static float floats[ROWS * WIDTH];
static uint8_t labels[ROWS];

static void open_source(bench *b, source *s, bool damaged)
{
    simple_wants w;
    wants_init(&w, 1, (int64_t)WIDTH);
    for (int i = 0; i < ROWS * WIDTH; i++) floats[i] = (float)i;
    for (int i = 0; i < ROWS; i++) labels[i] = (uint8_t)(i % 10);
    if (damaged) labels[BAD_ROW] = 77; /* no such class */
    const artel_data_array arrays[2] = {{NULL, ARTEL_DATA_ROLE_INPUT, ARTEL_DTYPE_FLOAT32, {2, {ROWS, WIDTH}}, floats},
                                        {NULL, ARTEL_DATA_ROLE_TARGET, ARTEL_DTYPE_UINT8, {1, {ROWS}}, labels}};
    assert_int_equal(artel_data_from_memory(b->ctx, arrays, 2, &s->data), ARTEL_OK);
    s->feed = bench_bind(b, s->data, &w.wants);
    assert_int_equal(artel__pool_create(b->ctx, 2, &s->pool), ARTEL_OK);
    assert_int_equal(artel__prefetch_create(b->ctx, s->feed, MOST, &s->prefetch), ARTEL_OK);
}

static void close_source(source *s)
{
    artel__prefetch_destroy(s->prefetch);
    artel__pool_destroy(s->pool);
    artel__feed_destroy(s->feed);
    artel_data_destroy(s->data);
}

static void check_rows(void *const *buffers, const uint64_t *rows, int64_t count)
{
    const float *x = buffers[0];
    const int32_t *y = buffers[1];
    for (int64_t i = 0; i < count; i++) {
        if (memcmp(x + i * WIDTH, floats + rows[i] * WIDTH, WIDTH * sizeof *x) != 0)
            fail_msg("row %d of the batch", (int)i);
        assert_int_equal(y[i], labels[rows[i]]);
    }
}

/* Batches in an order of their own, of which the next ones are told rightly, wrongly, or not at all. */
static void any_order(void **state)
{
    bench *b = *state;
    source s;
    open_source(b, &s, false);
    uint64_t rows[STEPS + 3][MOST];
    int64_t count[STEPS + 3];
    uint32_t random = 1;
    for (int i = 0; i < STEPS + 3; i++) {
        random = random * 1664525 + 1013904223;
        count[i] = (random >> 20) % (MOST + 1);
        for (int64_t k = 0; k < MOST; k++) rows[i][k] = (uint64_t)(i * 7 + k * 3) % ROWS;
    }
    for (int i = 0; i < STEPS; i++) {
        void *buffers[2];
        assert_int_equal(artel__prefetch_take(s.prefetch, s.pool, rows[i], count[i], buffers), ARTEL_OK);
        int told = i % 4, wrong = i % 5 == 0;
        for (int k = 0; k < told; k++)
            artel__prefetch_tell(s.prefetch, k, rows[i + 1 + k] + wrong,
                                 count[i + 1 + k] - (count[i + 1 + k] > 0 && wrong));
        check_rows(buffers, rows[i], count[i]); /* while the next ones are being read */
    }
    close_source(&s);
}

/* A batch that is there is shown before it is taken, where it will be then; others, and those that have failed, are
 * not. */
static void peek(void **state)
{
    bench *b = *state;
    source s;
    open_source(b, &s, true);
    uint64_t rows[3][8];
    void *buffers[2], *shown[2];
    for (int i = 0; i < 24; i++) rows[i / 8][i % 8] = (uint64_t)(i / 8 == 2 ? BAD_ROW - 4 + i % 8 : i);
    assert_false(artel__prefetch_peek(s.prefetch, 0, rows[0], 8, shown));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(artel__prefetch_take(s.prefetch, s.pool, rows[0], 8, buffers), ARTEL_OK);
        assert_false(artel__prefetch_peek(s.prefetch, 0, rows[1], 8, shown)); /* nothing was told */
        artel__prefetch_tell(s.prefetch, 0, rows[1], 8);
        artel__prefetch_tell(s.prefetch, 1, rows[2], 8);
        while (!artel__prefetch_peek(s.prefetch, 0, rows[1], 8, shown)) sched_yield();
        assert_false(artel__prefetch_peek(s.prefetch, 0, rows[0], 8, shown));
        assert_false(artel__prefetch_peek(s.prefetch, 0, rows[1], 7, shown));
        assert_false(artel__prefetch_peek(s.prefetch, 1, rows[1], 8, shown)); /* it is not the one behind the next */
        check_rows(shown, rows[1], 8);
        check_rows(buffers, rows[0], 8);
        assert_int_equal(artel__prefetch_take(s.prefetch, s.pool, rows[1], 8, buffers), ARTEL_OK);
        assert_memory_equal(buffers, shown, sizeof buffers);
        assert_false(artel__prefetch_peek(s.prefetch, 0, rows[2], 8, shown)); /* whether it was tried by now, or not */
    }
    close_source(&s);
}

static void failure_ahead_is_not_told(void **state)
{
    bench *b = *state;
    source s;
    open_source(b, &s, true);
    uint64_t good[8], bad[8];
    void *buffers[2];
    for (int i = 0; i < 8; i++) {
        good[i] = (uint64_t)i;
        bad[i] = (uint64_t)(BAD_ROW - 4 + i);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(artel__prefetch_take(s.prefetch, s.pool, good, 8, buffers), ARTEL_OK);
        artel__prefetch_tell(s.prefetch, 0, bad, 8);
        artel__prefetch_tell(s.prefetch, 1, good, 8);
        check_rows(buffers, good, 8);
        assert_int_equal(artel_context_error(b->ctx)->status, ARTEL_OK);
    }
    assert_int_equal(artel__prefetch_take(s.prefetch, s.pool, bad, 8, buffers), ARTEL_ERROR_INVALID);
    bench_failed(b, ARTEL_ERROR_INVALID, "record 137");
    close_source(&s);
}

/* What decides whether a run reads ahead. */
static void only_what_costs(void **state)
{
    bench *b = *state;
    source s;
    open_source(b, &s, false);
    assert_false(artel__feed_reads_ahead(s.feed));
    close_source(&s);
    uint8_t png[512], pixels[12] = {0};
    size_t size = make_png(png, sizeof png, pixels, 2, 2, 3);
    bench_write(b, "set/a/1.png", png, size);
    bench_write(b, "set/b/1.png", png, size);
    simple_wants w;
    wants_init(&w, 3, (int64_t)2, (int64_t)2, (int64_t)3);
    artel_data *images = bench_open(b, "images:%s", bench_path(b, "set"));
    artel__feed *feed = bench_bind(b, images, &w.wants);
    assert_true(artel__feed_reads_ahead(feed));
    artel__feed_destroy(feed);
    artel_data_destroy(images);
}

/* How far is read ahead follows the steps and the budget. */
static void IN8_follows_steps(void **state)
{
    static const struct {
        uint64_t budget;
        int batches[3], threads[3]; /* at first, after steps that waited, after many that did not */
    } rows[] = {{1, {1, 1, 1}, {1, 1, 1}},
                {(uint64_t)5 << 19, {2, 4, 2}, {1, 2, 1}},
                {(uint64_t)1 << 40, {2, 4, 2}, {1, 4, 1}}};
    bench *b = *state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        source s;
        uint64_t row[MOST] = {0};
        void *buffers[2];
        assert_int_equal(artel_data_set_memory(b->ctx, rows[i].budget), ARTEL_OK);
        open_source(b, &s, false);
        for (int phase = 0; phase < 3; phase++) {
            int batches, threads;
            for (int k = 0; k < (phase == 0 ? 0 : phase == 1 ? 9 : 9 * 256); k++)
                artel__prefetch_follow(s.prefetch, phase == 1);
            artel__prefetch_reach(s.prefetch, &batches, &threads);
            assert_int_equal(batches, rows[i].batches[phase]);
            assert_int_equal(threads, rows[i].threads[phase]);
            for (uint64_t k = 0; k < 30; k++) { /* whatever is read ahead, and dropped again */
                row[0] = (k + 1) % ROWS;
                row[1] = 7;
                assert_int_equal(artel__prefetch_take(s.prefetch, s.pool, row, 2, buffers), ARTEL_OK);
                for (int place = 0; place < ARTEL__PREFETCH_AHEAD; place++) {
                    const uint64_t next[2] = {(k + 2 + (uint64_t)place) % ROWS, 7};
                    artel__prefetch_tell(s.prefetch, place, next, 2);
                }
                check_rows(buffers, row, 2);
            }
        }
        close_source(&s);
        assert_int_equal(artel__budget_used(b->ctx), 0);
    }
}

/* Processor time is counted from when that is wished, and told once. */
static void counts_time(void **state)
{
    bench *b = *state;
    source s;
    uint64_t row[MOST] = {0};
    void *buffers[2];
    open_source(b, &s, false);
    assert_int_equal(artel__prefetch_take(s.prefetch, s.pool, row, 2, buffers), ARTEL_OK);
    assert_int_equal(artel__prefetch_spent(s.prefetch), 0);
    artel__prefetch_count(s.prefetch);
    assert_int_equal(artel__prefetch_take(s.prefetch, s.pool, row, 2, buffers), ARTEL_OK);
    assert_true(artel__prefetch_spent(s.prefetch) > 0);
    assert_int_equal(artel__prefetch_spent(s.prefetch), 0);
    close_source(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_order, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(peek, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(failure_ahead_is_not_told, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(counts_time, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(IN8_follows_steps, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(only_what_costs, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
