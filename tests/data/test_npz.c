/* SPDX-License-Identifier: Apache-2.0 */
/* npz: stored and deflated members, the names that decide what feeds what, archives that are damaged. */
#include <stdio.h>
#include <stdlib.h>

#include "data/help_data.h"

#define X "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }"
#define Y "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"

static const float x[6] = {1, 2, 3, 4, 5, 6};
static const float x_test[6] = {10, 20, 30, 40, 50, 60};
static const uint8_t y[3] = {7, 8, 9};
static const uint8_t y_test[3] = {1, 2, 3};

/* Writes an archive of x-like and y-like arrays under the given names ("a,b" alternating x and y). */
static const char *write_npz(bench *b, const char *const *names, int count, bool deflated)
{
    uint8_t members[4][512], archive[8192];
    char paths[4][64];
    zip_part parts[4];
    for (int i = 0; i < count; i++) {
        const void *values = i == 0   ? (const void *)x
                             : i == 1 ? (const void *)y
                             : i == 2 ? (const void *)x_test
                                      : (const void *)y_test;
        parts[i].size = make_npy(members[i], i % 2 == 0 ? X : Y, values, i % 2 == 0 ? sizeof x : sizeof y);
        snprintf(paths[i], sizeof paths[i], "%s.npy", names[i]);
        parts[i].name = paths[i];
        parts[i].bytes = members[i];
    }
    return bench_write(b, "a.npz", archive, make_zip(archive, parts, count, deflated));
}

static void check(bench *b, const char *spec, artel__data_purpose purpose, float first_x, int32_t first_y)
{
    simple_wants w;
    float values[6];
    int32_t labels[3] = {-1, -1, -1};
    void *buffers[2] = {values, labels};
    artel_data *data = bench_open(b, "%s", spec);
    wants_init(&w, 1, (int64_t)2);
    w.wants.purpose = purpose;
    artel__feed *feed = bench_bind(b, data, &w.wants);
    bench_fetch(b, feed, 0, 3, buffers);
    assert_true(values[0] == first_x && values[5] == 6 * first_x);
    assert_int_equal(labels[0], first_y);
    artel__feed_destroy(feed);
    artel_data_destroy(data);
}

static void stored_and_deflated(void **state)
{
    static const char *const names[] = {"x", "y"};
    bench *b = *state;
    for (int deflated = 0; deflated < 2; deflated++) {
        char spec[600];
        snprintf(spec, sizeof spec, "npz:%s", write_npz(b, names, 2, deflated));
        check(b, spec, ARTEL__DATA_PURPOSE_TRAIN, 1, 7);
        check(b, spec, ARTEL__DATA_PURPOSE_EVALUATE, 1, 7);
        check(b, spec, ARTEL__DATA_PURPOSE_PREDICT, 1, -1);
    }
}

static void train_and_test(void **state)
{
    static const char *const names[] = {"x_train", "y_train", "x_test", "y_test"};
    bench *b = *state;
    char spec[600];
    snprintf(spec, sizeof spec, "npz:%s", write_npz(b, names, 4, true));
    check(b, spec, ARTEL__DATA_PURPOSE_TRAIN, 1, 7);
    check(b, spec, ARTEL__DATA_PURPOSE_EVALUATE, 10, 1);
    check(b, spec, ARTEL__DATA_PURPOSE_PREDICT, 10, -1);
    artel_data *data = bench_open(b, "%s", spec);
    assert_int_equal(artel_data_array_count(data), 4);
    assert_int_equal(artel_data_count(data), 3);
    artel_data_destroy(data);
}

static void layer_names_and_lists(void **state)
{
    static const char *const by_layer[] = {"in", "out"}, *const others[] = {"pictures", "answers"};
    bench *b = *state;
    char spec[600];
    simple_wants w;
    snprintf(spec, sizeof spec, "npz:%s", write_npz(b, by_layer, 2, false));
    check(b, spec, ARTEL__DATA_PURPOSE_TRAIN, 1, 7);
    snprintf(spec, sizeof spec, "npz:%s#pictures,answers", write_npz(b, others, 2, false));
    check(b, spec, ARTEL__DATA_PURPOSE_TRAIN, 1, 7);
    check(b, spec, ARTEL__DATA_PURPOSE_PREDICT, 1, -1);
    wants_init(&w, 1, (int64_t)2);
    artel_data *data = bench_open(b, "npz:%s", bench_path(b, "a.npz"));
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "found: pictures, answers");
    artel_data_destroy(data);
    data = bench_open(b, "npz:%s#pictures,nothing", bench_path(b, "a.npz"));
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_NOT_FOUND, "nothing");
    artel_data_destroy(data);
    data = bench_open(b, "npz:%s#pictures", bench_path(b, "a.npz"));
    bench_bind_fails(b, data, &w.wants, ARTEL_ERROR_INVALID, "expected 2");
    artel_data_destroy(data);
}

/* Values of stored members lie wherever the archive put them, misaligned too. */
static void misaligned_member(void **state)
{
    static const char *const names[] = {"x", "y"}, *const longer[] = {"xx", "y"};
    bench *b = *state;
    char spec[600];
    snprintf(spec, sizeof spec, "npz:%s#scale=1/1", write_npz(b, names, 2, false));
    check(b, spec, ARTEL__DATA_PURPOSE_TRAIN, 1, 7);
    snprintf(spec, sizeof spec, "npz:%s#xx,y&scale=2", write_npz(b, longer, 2, false));
    check(b, spec, ARTEL__DATA_PURPOSE_TRAIN, 2, 7);
}

static void damaged(void **state)
{
    static const char *const names[] = {"x", "y"};
    bench *b = *state;
    uint8_t archive[8192];
    char *bytes;
    size_t size;
    int opened = 0;
    assert_int_equal(artel__read_file(b->ctx, write_npz(b, names, 2, true), sizeof archive, &bytes, &size), ARTEL_OK);
    for (size_t cut = 0; cut < size; cut += 7) {
        bench_write(b, "cut.npz", bytes, cut);
        bench_open_fails(b, ARTEL_ERROR_CORRUPT, "cut.npz", "npz:%s", bench_path(b, "cut.npz"));
    }
    for (size_t at = 0; at < size; at++) {
        memcpy(archive, bytes, size);
        archive[at] ^= (uint8_t)(1u << (at % 8));
        bench_write(b, "flip.npz", archive, size);
        artel_data *data = NULL;
        artel__feed *feed = NULL;
        char spec[600];
        simple_wants w;
        snprintf(spec, sizeof spec, "npz:%s", bench_path(b, "flip.npz"));
        wants_init(&w, 1, (int64_t)2);
        artel_status status = artel_data_open(b->ctx, spec, &data);
        opened += status == ARTEL_OK;
        if (status == ARTEL_OK) status = artel__data_bind(data, &w.wants, &feed);
        if (status == ARTEL_OK) {
            float values[6];
            int32_t labels[3];
            void *buffers[2] = {values, labels};
            bench_fetch(b, feed, 0, 3, buffers);
            assert_memory_equal(values, x, sizeof x); /* a changed byte never changes values unseen */
        }
        artel__feed_destroy(feed);
        artel_data_destroy(data);
        artel_context_clear(b->ctx);
    }
    assert_true(opened > 0);
    artel__free(b->ctx, bytes);
    bench_text(b, "t.npz", "abc abc abc");
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "t.npz", "npz:%s", bench_path(b, "t.npz"));
    size = make_zip(archive, (const zip_part[]){{"readme.txt", "hello", 5}}, 1, false);
    bench_write(b, "n.npz", archive, size);
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "no arrays", "npz:%s", bench_path(b, "n.npz"));
}

/* The member's size in the archive and the shape in its header must agree before anything is read. */
static void shape_against_member(void **state)
{
    bench *b = *state;
    uint8_t member[512], archive[2048];
    zip_part part = {"x.npy", member, 0};
    part.size = make_npy(member, "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 2), }", x, sizeof x);
    bench_write(b, "h.npz", archive, make_zip(archive, &part, 1, true));
    bench_open_fails(b, ARTEL_ERROR_CORRUPT, "h.npz: x", "npz:%s", bench_path(b, "h.npz"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stored_and_deflated, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(train_and_test, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(layer_names_and_lists, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(misaligned_member, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(damaged, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(shape_against_member, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
