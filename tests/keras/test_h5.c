/* SPDX-License-Identifier: Apache-2.0 */
/* HDF5 through the helper: round trips of every type, and what a helper may do wrong: hang, crash, lie, be missing.
 * Against h5py and Keras: test_h5_keras.py. Mutants of files: a few here, thousands in test_h5_mutants.sh. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "keras/h5.h"
#include "keras/h5_helper.h"
#include "keras/h5_tree.h"
#include "keras/h5_wire.h"
#include "tensor/shape.h"

typedef struct fixture {
    artel_context *ctx;
    artel__arena arena;
} fixture;

static int start(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || artel_context_create(NULL, &f->ctx) < 0) return 1;
    artel__arena_init(&f->arena, f->ctx);
    return 0;
}

static int stop(void **state)
{
    fixture *f = *state;
    artel__arena_fini(&f->arena);
    artel_context_destroy(f->ctx);
    free(f);
    return 0;
}

static const uint64_t pattern[64] = {
    0x3ff0000000000001, 0x4008000040490fdb, 2, 3, 0xffffffffffffffff, 0x8000000000000000, 7, 8, 9, 10};

/* One dataset of each type, attributes of each kind, an empty group, a scalar, an empty array. */
static artel__h5_node *make_tree(fixture *f)
{
    artel__arena *a = &f->arena;
    artel__h5_node *root = artel__h5_root(a), *types = artel__h5_groups(a, root, "all/types"),
                   *vars = artel__h5_groups(a, root, "layers/dense/vars");
    artel_shape matrix = artel__shape(2, (int64_t)3, (int64_t)5), scalar = artel__shape(0),
                empty = artel__shape(2, (int64_t)0, (int64_t)4);
    for (artel_dtype d = ARTEL_DTYPE_FLOAT32; d < ARTEL_DTYPE_BOOL; d++)
        artel__h5_dataset(a, types, artel_dtype_name(d), d, &matrix, pattern);
    static const uint8_t bools[15] = {1, 0, 1};
    artel__h5_dataset(a, types, "bool", ARTEL_DTYPE_BOOL, &matrix, bools);
    artel__h5_dataset(a, vars, "0", ARTEL_DTYPE_FLOAT32, &matrix, pattern);
    artel__h5_dataset(a, vars, "1", ARTEL_DTYPE_INT64, &scalar, pattern);
    artel__h5_dataset(a, vars, "10", ARTEL_DTYPE_FLOAT32, &empty, NULL);
    artel__h5_group(a, root, "gr\xc3\xb6\xc3\x9f");
    static const char *const names[] = {"dense", "", "gr\xc3\xb6\xc3\x9f"};
    static const int64_t ints[] = {-1, INT64_MAX};
    static const double real = 0.1;
    assert_true(artel__h5_set_text(a, vars, "name", "dense"));
    assert_true(artel__h5_set_strings(a, root, "layer_names", names, 3));
    assert_true(artel__h5_set_strings(a, root, "none", NULL, 0));
    assert_true(artel__h5_set_ints(a, root, "ints", ints, 2, false));
    assert_true(artel__h5_set_doubles(a, root, "real", &real, 1, true));
    assert_int_equal(artel__arena_status(a), ARTEL_OK);
    return root;
}

static artel__mapping write_tree(fixture *f, const artel__h5_node *root)
{
    artel__mapping bytes = {0};
    artel_status status = artel__h5_write(f->ctx, "out.h5", root, &bytes);
    if (status < 0) fail_msg("%s", artel_context_error(f->ctx)->what);
    return bytes;
}

static void assert_same_attribute(const artel__h5_attribute *a, const artel__h5_attribute *b)
{
    assert_non_null(b);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->scalar, b->scalar);
    if (a->count == 0) return;
    assert_int_equal(a->kind, b->kind);
    for (size_t i = 0; i < a->count; i++) {
        if (a->kind == ARTEL__H5_STRINGS)
            assert_string_equal(a->strings[i], b->strings[i]);
        else
            assert_int_equal(a->ints[i], b->ints[i]);
    }
}

static void assert_same(const artel__h5_node *a, const artel__h5_node *b)
{
    assert_non_null(b);
    assert_int_equal(a->child_count, b->child_count);
    assert_int_equal(a->attribute_count, b->attribute_count);
    for (const artel__h5_attribute *x = a->attributes; x; x = x->next)
        assert_same_attribute(x, artel__h5_attribute_find(b, x->name));
    if (a->is_dataset) {
        assert_true(b->is_dataset && b->readable);
        assert_int_equal(a->dtype, b->dtype);
        assert_true(artel__shape_equal(&a->shape, &b->shape));
        assert_int_equal(a->bytes, b->bytes);
        if (a->bytes > 0) assert_memory_equal(a->data, b->data, a->bytes);
    }
    for (const artel__h5_node *child = a->first; child; child = child->next)
        assert_same(child, artel__h5_child(b, child->name));
}

static void test_round_trip(void **state)
{
    fixture *f = *state;
    artel__h5_node *root = make_tree(f);
    artel__mapping bytes = write_tree(f, root), again = write_tree(f, root);
    assert_int_equal(bytes.size, again.size);
    assert_memory_equal(bytes.bytes, again.bytes, bytes.size);
    artel__h5_file file;
    assert_int_equal(artel__h5_read(&f->arena, "in.h5", bytes.bytes, bytes.size, &file), ARTEL_OK);
    artel__h5_release(&bytes);
    artel__h5_release(&again);
    assert_same(root, file.root);
    artel__h5_close(&file);
    artel__h5_close(&file);
}

static void test_lookup(void **state)
{
    fixture *f = *state;
    artel__h5_node *root = make_tree(f);
    const artel__h5_node *vars = artel__h5_find(root, "/layers/dense/vars");
    assert_ptr_equal(artel__h5_find(root, "layers//dense/vars/"), vars);
    assert_ptr_equal(artel__h5_find(root, ""), root);
    assert_string_equal(artel__h5_attribute_text(vars, "name"), "dense");
    assert_null(artel__h5_attribute_text(root, "layer_names"));
    assert_null(artel__h5_find(root, "layers/dens"));
    assert_null(artel__h5_find(root, "layers/dense/vars/0/x"));
    assert_null(artel__h5_find(NULL, "x"));
    assert_null(artel__h5_groups(&f->arena, root, "layers/dense/vars/0/x"));
    assert_ptr_equal(artel__h5_groups(&f->arena, root, "layers/dense"), artel__h5_find(root, "layers/dense"));
}

/* A helper that was taken over could otherwise cut off what the program has mapped. */
static void test_memory_file_can_be_sealed(void **state)
{
    fixture *f = *state;
    int fd = -1;
    assert_int_equal(artel__memory_file(f->ctx, "x.h5", &fd), ARTEL_OK);
    assert_int_equal(artel__memory_write(f->ctx, "x.h5", fd, "1234", 4), ARTEL_OK);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    assert_int_equal(ftruncate(fd, 1), -1);
    assert_int_equal(write(fd, "5", 1), -1);
    close(fd);
}

/* Float64 after a one-byte array lies at an odd address in the file, and is pointed to there. */
static void test_unaligned(void **state)
{
    fixture *f = *state;
    artel__h5_node *root = artel__h5_root(&f->arena);
    artel_shape three = artel__shape(1, (int64_t)3);
    artel__h5_dataset(&f->arena, root, "a", ARTEL_DTYPE_INT8, &three, pattern);
    for (int i = 0; i < 4; i++)
        artel__h5_dataset(&f->arena, root,
                          i == 0   ? "b"
                          : i == 1 ? "c"
                          : i == 2 ? "d"
                                   : "e",
                          ARTEL_DTYPE_FLOAT64, &three, pattern);
    artel__mapping bytes = write_tree(f, root);
    artel__h5_file file;
    assert_int_equal(artel__h5_read(&f->arena, "in.h5", bytes.bytes, bytes.size, &file), ARTEL_OK);
    const uint8_t *data = artel__h5_child(file.root, "b")->data;
    assert_true(data >= file.image.bytes && data < file.image.bytes + file.image.size);
    assert_int_not_equal((uintptr_t)data % sizeof(double), 0);
    assert_same(root, file.root);
    artel__h5_close(&file);
    artel__h5_release(&bytes);
}

static void assert_fails(fixture *f, artel_status status, artel_status expected, const char *part)
{
    assert_int_equal(status, expected);
    if (!strstr(artel_context_error(f->ctx)->what, part)) fail_msg("%s", artel_context_error(f->ctx)->what);
    artel_context_clear(f->ctx);
}

static void test_refused_trees(void **state)
{
    fixture *f = *state;
    artel__mapping bytes;
    artel__h5_node *root = artel__h5_root(&f->arena);
    artel__h5_group(&f->arena, root, "a");
    artel__h5_group(&f->arena, root, "a");
    assert_fails(f, artel__h5_write(f->ctx, "out.h5", root, &bytes), ARTEL_ERROR_INVALID,
                 "the group a cannot be written");
    root = artel__h5_root(&f->arena);
    artel__h5_group(&f->arena, root, "a/b");
    assert_fails(f, artel__h5_write(f->ctx, "out.h5", root, &bytes), ARTEL_ERROR_INVALID, "cannot be a name");
    root = artel__h5_root(&f->arena);
    static int64_t many[9000];
    artel__h5_set_ints(&f->arena, root, "many", many, 9000, false);
    assert_fails(f, artel__h5_write(f->ctx, "out.h5", root, &bytes), ARTEL_ERROR_INVALID, "many");
    artel__h5_node *deep = root = artel__h5_root(&f->arena);
    for (int i = 0; i < 70; i++) deep = artel__h5_group(&f->arena, deep, "d");
    assert_fails(f, artel__h5_write(f->ctx, "out.h5", root, &bytes), ARTEL_ERROR_INVALID, "nested deeper");
}

static void test_not_hdf5(void **state)
{
    fixture *f = *state;
    artel__h5_file file;
    assert_fails(f, artel__h5_read(&f->arena, "x.h5", "PK", 2, &file), ARTEL_ERROR_CORRUPT, "not an HDF5 file");
    assert_fails(f, artel__h5_read(&f->arena, "x.h5", NULL, 0, &file), ARTEL_ERROR_CORRUPT, "not an HDF5 file");
    assert_int_equal(artel__h5_read_file(&f->arena, "/nonexistent/x.h5", &file), ARTEL_ERROR_NOT_FOUND);
}

static void test_truncated(void **state)
{
    fixture *f = *state;
    artel__mapping bytes = write_tree(f, make_tree(f));
    for (size_t size = 8; size < bytes.size; size += 1 + bytes.size / 23) {
        artel__h5_file file;
        assert_int_equal(artel__h5_read(&f->arena, "x.h5", bytes.bytes, size, &file), ARTEL_ERROR_CORRUPT);
        assert_string_equal(artel_context_error(f->ctx)->where, "x.h5");
        artel_context_clear(f->ctx);
    }
    artel__h5_release(&bytes);
}

static uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static void test_mutants(void **state)
{
    fixture *f = *state;
    artel__mapping bytes = write_tree(f, make_tree(f));
    uint8_t *copy = malloc(bytes.size);
    uint64_t seed = 2;
    for (int i = 0; i < 200; i++) {
        artel__arena arena;
        artel__h5_file file;
        artel__arena_init(&arena, f->ctx);
        memcpy(copy, bytes.bytes, bytes.size);
        for (uint32_t n = 1 + next_random(&seed) % 3; n > 0; n--)
            copy[next_random(&seed) % bytes.size] = (uint8_t)next_random(&seed);
        artel_status status = artel__h5_read(&arena, "mutant", copy, bytes.size, &file);
        if (status >= 0)
            artel__h5_close(&file);
        else if (status != ARTEL_ERROR_CORRUPT && status != ARTEL_ERROR_NO_MEMORY)
            fail_msg("mutant %d: %s", i, artel_context_error(f->ctx)->what);
        artel_context_clear(f->ctx);
        artel__arena_fini(&arena);
    }
    free(copy);
    artel__h5_release(&bytes);
}

/* A shell script in the place of the helper. */
static artel_status run_script(fixture *f, const char *script, double seconds)
{
    char path[] = "/tmp/artel-helper-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_true(write(fd, script, strlen(script)) == (ssize_t)strlen(script));
    assert_int_equal(fchmod(fd, 0700), 0);
    close(fd);
    artel__helper_job job = {.where = "x.h5", .mode = "read", .program = path, .seconds = seconds};
    assert_int_equal(artel__memory_file(f->ctx, "x.h5", &job.input), ARTEL_OK);
    assert_int_equal(artel__memory_file(f->ctx, "x.h5", &job.output), ARTEL_OK);
    artel_status status = artel__helper_run(f->ctx, &job);
    close(job.input);
    close(job.output);
    unlink(path);
    return status;
}

static void test_bad_helpers(void **state)
{
    fixture *f = *state;
    int64_t before = artel__now_ns();
    assert_fails(f, run_script(f, "#!/bin/sh\nexec sleep 1000\n", 0.01), ARTEL_ERROR_CORRUPT, "did not finish");
    assert_fails(f, run_script(f, "#!/bin/sh\nexec sleep 1000 5>&-\n", 0.01), ARTEL_ERROR_CORRUPT, "did not finish");
    assert_true(artel__now_ns() - before < (int64_t)500e9);
    assert_fails(f, run_script(f, "#!/bin/sh\nkill -SEGV $$\n", 20), ARTEL_ERROR_CORRUPT,
                 "crashed on this file (signal 11)");
    assert_fails(f, run_script(f, "#!/bin/sh\nexit 7\n", 20), ARTEL_ERROR_CORRUPT, "exit code 7");
    assert_fails(f, run_script(f, "#!/bin/sh\nprintf 'Cbroken\\033[31m' >&5; exit 2\n", 20), ARTEL_ERROR_CORRUPT,
                 "broken?[31m");
    assert_fails(f, run_script(f, "#!/bin/sh\nhead -c 100000 /dev/zero >&5; exit 2\n", 20), ARTEL_ERROR_CORRUPT, "");
    assert_fails(f, run_script(f, "#!/bin/sh\nprintf Mlittle >&5; exit 2\n", 20), ARTEL_ERROR_NO_MEMORY, "little");
    assert_fails(f, run_script(f, "#!/nonexistent\n", 20), ARTEL_ERROR_UNSUPPORTED, "cannot be started");
}

static void test_missing_helper(void **state)
{
    fixture *f = *state;
    artel__helper_job job = {.where = "x.h5", .mode = "read", .program = "/nonexistent/artel-hdf5", .seconds = 1};
    assert_fails(f, artel__helper_run(f->ctx, &job), ARTEL_ERROR_UNSUPPORTED, "/nonexistent/artel-hdf5");
}

static int count_descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* After successes and failures alike. */
static void test_no_descriptor_leaks(void **state)
{
    fixture *f = *state;
    int before = count_descriptors();
    artel__mapping bytes = write_tree(f, make_tree(f));
    artel__h5_file file;
    assert_int_equal(artel__h5_read(&f->arena, "x.h5", bytes.bytes, bytes.size, &file), ARTEL_OK);
    artel__h5_close(&file);
    assert_int_equal(artel__h5_read(&f->arena, "x.h5", bytes.bytes, bytes.size / 2, &file), ARTEL_ERROR_CORRUPT);
    artel__h5_release(&bytes);
    assert_int_equal(before, count_descriptors());
}

/* An answer that was garbled at any word gives a tree or an error, and never reads outside. */
static void test_lying_answers(void **state)
{
    fixture *f = *state;
    artel__helper_job job = {.where = "x.h5", .mode = "read", .seconds = 20};
    artel__mapping bytes = write_tree(f, make_tree(f)), answer;
    assert_int_equal(artel__memory_file(f->ctx, "x.h5", &job.input), ARTEL_OK);
    assert_int_equal(artel__memory_file(f->ctx, "x.h5", &job.output), ARTEL_OK);
    assert_int_equal(artel__memory_write(f->ctx, "x.h5", job.input, bytes.bytes, bytes.size), ARTEL_OK);
    assert_int_equal(artel__helper_run(f->ctx, &job), ARTEL_OK);
    assert_int_equal(artel__memory_map(f->ctx, "x.h5", job.output, &answer), ARTEL_OK);
    static const uint64_t values[] = {
        0, 1, 2, 3, 13, 65, UINT64_MAX, (uint64_t)1 << 32, (uint64_t)1 << 60, (uint64_t)1 << 63};
    int good = 0;
    for (size_t at = 0; at + 8 <= answer.size; at += 8) {
        for (size_t k = 0; k < ARTEL__COUNT(values); k++) {
            artel__arena arena;
            artel__arena_init(&arena, f->ctx);
            uint8_t *copy = malloc(answer.size);
            memcpy(copy, answer.bytes, answer.size);
            memcpy(copy + at, &values[k], 8);
            artel__h5_file file = {.ctx = f->ctx, .image = bytes, .reply = {.bytes = copy, .size = answer.size}};
            if (artel__h5_parse(&arena, "x.h5", &file) >= 0) good++;
            artel_context_clear(f->ctx);
            artel__arena_fini(&arena);
            free(copy);
        }
    }
    assert_true(good > 0);
    close(job.input);
    close(job.output);
    artel__h5_release(&bytes);
    artel__h5_release(&answer);
}

static artel_status write_and_read(fixture *f)
{
    artel__arena arena;
    artel__mapping bytes = {0};
    artel__h5_file file = {0};
    artel_shape shape = artel__shape(1, (int64_t)3);
    artel__arena_init(&arena, f->ctx);
    artel__h5_node *root = artel__h5_root(&arena), *group = artel__h5_groups(&arena, root, "a/b");
    artel__h5_dataset(&arena, group, "c", ARTEL_DTYPE_INT8, &shape, pattern);
    artel__h5_dataset(&arena, group, "d", ARTEL_DTYPE_FLOAT64, &shape, pattern);
    artel__h5_set_text(&arena, group, "name", "x");
    artel_status status = artel__arena_status(&arena);
    if (status >= 0) status = artel__h5_write(f->ctx, "x.h5", root, &bytes);
    if (status >= 0) status = artel__h5_read(&arena, "x.h5", bytes.bytes, bytes.size, &file);
    artel__h5_close(&file);
    artel__h5_release(&bytes);
    artel__arena_fini(&arena);
    return status;
}

/* Each allocation fails once: an answer, no leak, and in the end success. */
static void test_no_memory(void **state)
{
    fixture *f = *state;
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    for (uint64_t n = 1; status == ARTEL_ERROR_NO_MEMORY; n++) {
        artel_context_clear(f->ctx);
        artel__fail_allocation_after(f->ctx, n);
        status = write_and_read(f);
        artel__fail_allocation_after(f->ctx, 0);
        assert_true(n < 100);
    }
    assert_int_equal(status, ARTEL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, start, stop),
        cmocka_unit_test_setup_teardown(test_lookup, start, stop),
        cmocka_unit_test_setup_teardown(test_memory_file_can_be_sealed, start, stop),
        cmocka_unit_test_setup_teardown(test_unaligned, start, stop),
        cmocka_unit_test_setup_teardown(test_refused_trees, start, stop),
        cmocka_unit_test_setup_teardown(test_not_hdf5, start, stop),
        cmocka_unit_test_setup_teardown(test_truncated, start, stop),
        cmocka_unit_test_setup_teardown(test_mutants, start, stop),
        cmocka_unit_test_setup_teardown(test_bad_helpers, start, stop),
        cmocka_unit_test_setup_teardown(test_missing_helper, start, stop),
        cmocka_unit_test_setup_teardown(test_no_descriptor_leaks, start, stop),
        cmocka_unit_test_setup_teardown(test_lying_answers, start, stop),
        cmocka_unit_test_setup_teardown(test_no_memory, start, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
