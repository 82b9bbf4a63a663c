/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed content at any place, with any budget: held against the content itself; members, damage, threads, lack of
 * memory. */
#include <pthread.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/budget.h"
#include "data/help_data.h"
#include "data/unfold.h"

#define CONTENT ((size_t)6 << 20)

static uint8_t content[CONTENT], packed[2 * CONTENT];
static uint32_t word;

static uint32_t next_word(void)
{
    word = word * 1664525u + 1013904223u;
    return word >> 8;
}

/* Lines of numbers, and some noise that does not shrink. */
static void make_content(void)
{
    size_t at = 0;
    word = 7;
    while (at + 64 < CONTENT) {
        at += (size_t)sprintf((char *)content + at, "%u,%u\n", next_word() % 1000, next_word());
        if (next_word() % 16 == 0)
            for (int i = 0; i < 24; i++) content[at++] = (uint8_t)next_word();
    }
    while (at < CONTENT) content[at++] = '.';
}

static size_t pack(uint8_t *out, const void *bytes, size_t size, int window)
{
    z_stream stream = {.zalloc = NULL};
    assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY), Z_OK);
    stream.next_in = (z_const Bytef *)(uintptr_t)bytes;
    stream.avail_in = (uInt)size;
    stream.next_out = out;
    stream.avail_out = (uInt)(sizeof packed - (size_t)(out - packed));
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    size_t used = stream.total_out;
    deflateEnd(&stream);
    return used;
}

typedef struct opened {
    artel__unfold_pool *pool;
    artel__unfold *file;
} opened;

static opened open_packed(artel_context *ctx, size_t size)
{
    opened o;
    assert_int_equal(artel__unfold_pool_create(ctx, &o.pool), ARTEL_OK);
    assert_int_equal(artel__unfold_add(o.pool, "some.gz", packed, size, &o.file), ARTEL_OK);
    return o;
}

/* Reads from `at` on, which must be what the content is there. */
static void expect_piece(artel__unfold *file, size_t at, size_t size)
{
    static _Thread_local uint8_t found[200000];
    size_t got, there = at >= CONTENT ? 0 : CONTENT - at < size ? CONTENT - at : size;
    assert_true(size <= sizeof found);
    assert_int_equal(artel__unfold_read(file, at, found, size, &got), ARTEL_OK);
    assert_int_equal(got, there);
    if (there > 0) assert_memory_equal(found, content + at, there);
}

static void any_place(void **state)
{
    static const uint64_t budgets[] = {1, 2 << 20, (uint64_t)1 << 40};
    bench *b = *state;
    make_content();
    for (int kind = 0; kind < 2; kind++) {
        size_t size = pack(packed, content, CONTENT, kind == 0 ? 15 + 16 : 15);
        for (size_t i = 0; i < ARTEL__COUNT(budgets); i++) {
            artel__budget_set(b->ctx, budgets[i]);
            opened o = open_packed(b->ctx, size);
            uint64_t whole;
            for (size_t at = 0; at < CONTENT + 1000; at += 100000) expect_piece(o.file, at, 100000);
            assert_int_equal(artel__unfold_size(o.file, &whole), ARTEL_OK);
            assert_int_equal(whole, CONTENT);
            for (int k = 0; k < 40; k++)
                expect_piece(o.file, (size_t)next_word() % CONTENT, (size_t)1 << next_word() % 17);
            for (int k = 0; k < 15; k++)
                expect_piece(o.file, CONTENT - 40000 * (size_t)(k + 1), 50000); /* from the end */
            if (budgets[i] < CONTENT) assert_true(artel__unfold_pool_bytes(o.pool) < budgets[i] + ((uint64_t)3 << 19));
            assert_int_equal(artel__budget_used(b->ctx), artel__unfold_pool_bytes(o.pool));
            artel__unfold_pool_destroy(o.pool);
            assert_int_equal(artel__budget_used(b->ctx), 0);
        }
    }
}

/* What is asked for first, before anything has been gone through. */
static void beyond(void **state)
{
    bench *b = *state;
    size_t size = pack(packed, content, CONTENT, 31), got = 9;
    opened o = open_packed(b->ctx, size);
    uint8_t one;
    assert_int_equal(artel__unfold_read(o.file, (uint64_t)1 << 60, &one, 1, &got), ARTEL_OK);
    assert_int_equal(got, 0);
    expect_piece(o.file, 4 << 20, 1000);
    expect_piece(o.file, 100, 1000);
    artel__unfold_pool_destroy(o.pool);
}

static void members(void **state)
{
    static const char garbage[] = "what is no member";
    static const size_t cuts[] = {0, 1, 65536, 1 << 20, (1 << 20) + 1, CONTENT};
    bench *b = *state;
    size_t size = 0;
    artel__budget_set(b->ctx, 1 << 20);
    for (size_t i = 0; i + 1 < ARTEL__COUNT(cuts); i++) {
        size += pack(packed + size, content + cuts[i], cuts[i + 1] - cuts[i], 31);
        size += pack(packed + size, "", 0, 31); /* one that holds nothing */
    }
    for (int behind = 0; behind < 3; behind++) { /* nothing, zeros, something else: passed over, as gzip does */
        memset(packed + size, 0, 600);
        if (behind == 2) memcpy(packed + size, garbage, sizeof garbage);
        opened o = open_packed(b->ctx, size + (behind > 0 ? 600 : 0));
        for (size_t at = 0; at < CONTENT + 1; at += 65000) expect_piece(o.file, at, 65000);
        for (int k = 0; k < 20; k++) expect_piece(o.file, (size_t)next_word() % CONTENT, 3000);
        artel__unfold_pool_destroy(o.pool);
    }
    packed[size] = 0x1f; /* a member that is cut off within its header */
    packed[size + 1] = 0x8b;
    opened o = open_packed(b->ctx, size + 2);
    uint64_t whole;
    uint8_t one[2];
    size_t got;
    assert_int_equal(artel__unfold_size(o.file, &whole), ARTEL_OK);
    assert_int_equal(whole, CONTENT);
    assert_int_equal(artel__unfold_read(o.file, CONTENT - 1, one, 2, &got), ARTEL_ERROR_CORRUPT);
    bench_failed(b, ARTEL_ERROR_CORRUPT, "the compressed data ends too early");
    artel__unfold_pool_destroy(o.pool);
}

/* Reads all of it in steps; the first failure, and how far it came. */
static artel_status read_all(artel__unfold *file, size_t step, size_t *reached)
{
    static uint8_t found[1 << 20];
    size_t got = step;
    for (*reached = 0; got == step; *reached += got) {
        ARTEL_TRY(artel__unfold_read(file, *reached, found, step, &got));
        assert_true(*reached + got <= CONTENT && memcmp(found, content + *reached, got) == 0);
    }
    return ARTEL_OK;
}

static void cut_off(void **state)
{
    bench *b = *state;
    size_t size = pack(packed, content, 3 << 20, 31), reached, got;
    uint8_t one;
    artel__budget_set(b->ctx, 1);
    for (size_t cut = 1; cut < 400; cut = cut * 3 / 2 + 1) {
        size_t left = cut % 2 ? size - cut : size / cut + 18;
        opened o = open_packed(b->ctx, left);
        uint64_t whole;
        char what[200];
        assert_int_equal(read_all(o.file, 10007, &reached), ARTEL_ERROR_CORRUPT);
        bench_failed(b, ARTEL_ERROR_CORRUPT, "the compressed data ends too early at byte");
        assert_int_equal(artel__unfold_size(o.file, &whole), ARTEL_OK);
        assert_true(whole >= reached && whole <= 3 << 20);
        snprintf(what, sizeof what, "at byte %zu, %llu bytes into the content", left, (unsigned long long)whole);
        assert_int_equal(artel__unfold_read(o.file, whole, &one, 1, &got),
                         ARTEL_ERROR_CORRUPT); /* each time, from anywhere */
        bench_failed(b, ARTEL_ERROR_CORRUPT, what);
        for (uint64_t at = 0; at + 9000 < whole; at += whole / 5 + 1) { /* what comes before is there */
            uint8_t piece[9000];
            assert_int_equal(artel__unfold_read(o.file, at, piece, sizeof piece, &got), ARTEL_OK);
            assert_memory_equal(piece, content + at, sizeof piece);
        }
        artel__unfold_pool_destroy(o.pool);
    }
}

static void flipped(void **state)
{
    static uint8_t kept[200000];
    bench *b = *state;
    size_t size = pack(packed, content, 300000, 31), reached, refused = 0;
    assert_true(size < sizeof kept);
    memcpy(kept, packed, size);
    artel__budget_set(b->ctx, 1);
    for (int k = 0; k < 60; k++) {
        size_t at = next_word() % size;
        memcpy(packed, kept, size);
        packed[at] ^= (uint8_t)(1u << next_word() % 8);
        opened o = open_packed(b->ctx, size);
        static uint8_t found[1 << 16];
        artel_status status = ARTEL_OK;
        size_t got = sizeof found;
        bool equal = true;
        for (reached = 0; got == sizeof found && status == ARTEL_OK; reached += got) {
            status = artel__unfold_read(o.file, reached, found, sizeof found, &got);
            equal = equal && reached + got <= 300000 && memcmp(found, content + reached, got) == 0;
        }
        refused += status == ARTEL_ERROR_CORRUPT;
        if (status != ARTEL_ERROR_CORRUPT)
            assert_true(status == ARTEL_OK && equal && reached == 300000); /* a time of day in the head */
        if (status < 0) bench_failed(b, ARTEL_ERROR_CORRUPT, "the compressed data");
        artel__unfold_pool_destroy(o.pool);
    }
    assert_true(refused > 40);
}

static void *read_somewhere(void *user)
{
    artel__unfold *file = user;
    static uint8_t found[4][70000];
    static _Atomic int threads;
    int self = threads++ % 4;
    uint32_t mine = (uint32_t)self * 77 + 5;
    for (int k = 0; k < 60; k++) {
        size_t got, size = 1 + mine % 60000, at = k % 3 == 0 ? mine % (CONTENT - 60000) : (size_t)k * 60000;
        if (artel__unfold_read(file, at, found[self], size, &got) != ARTEL_OK || got != size) return file;
        if (memcmp(found[self], content + at, size) != 0) return file;
        mine = mine * 1664525u + 1013904223u;
    }
    return NULL;
}

static void by_threads(void **state)
{
    bench *b = *state;
    size_t size = pack(packed, content, CONTENT, 31);
    for (int budget = 0; budget < 2; budget++) {
        artel__budget_set(b->ctx, budget == 0 ? 1 : 64 << 20);
        opened o = open_packed(b->ctx, size);
        uint64_t whole;
        pthread_t thread[4];
        assert_int_equal(artel__unfold_size(o.file, &whole), ARTEL_OK);
        for (int t = 0; t < 4; t++) assert_int_equal(pthread_create(&thread[t], NULL, read_somewhere, o.file), 0);
        for (int t = 0; t < 4; t++) {
            void *failed;
            pthread_join(thread[t], &failed);
            assert_null(failed);
        }
        artel__unfold_pool_destroy(o.pool);
    }
}

static void without_memory(void **state)
{
    bench *b = *state;
    size_t size = pack(packed, content, 4 << 20, 31), got;
    static uint8_t found[1000];
    for (uint64_t n = 1;; n++) {
        artel__unfold_pool *pool = NULL;
        artel__unfold *file;
        artel__budget_set(b->ctx, 1 << 20);
        artel__fail_allocation_after(b->ctx, n);
        artel_status status = artel__unfold_pool_create(b->ctx, &pool);
        if (status == ARTEL_OK) status = artel__unfold_add(pool, "some.gz", packed, size, &file);
        for (size_t at = 0; status == ARTEL_OK && at < 4 << 20; at += 1 << 18)
            status = artel__unfold_read(file, at, found, sizeof found, &got);
        if (status == ARTEL_OK) status = artel__unfold_read(file, 100, found, sizeof found, &got);
        artel__fail_allocation_after(b->ctx, 0);
        artel__unfold_pool_destroy(pool);
        assert_int_equal(artel__budget_used(b->ctx), 0);
        if (status == ARTEL_OK) break;
        bench_failed(b, ARTEL_ERROR_NO_MEMORY, "");
        assert_true(n < 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(any_place, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(beyond, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(members, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(cut_off, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(flipped, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(by_threads, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(without_memory, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
