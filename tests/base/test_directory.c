/* SPDX-License-Identifier: Apache-2.0 */
/* Directories: made, removed, listed, matched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

typedef struct place {
    artel_context *ctx;
    char root[64];
    char path[256];
} place;

static int set_up(void **state)
{
    place *made = calloc(1, sizeof(*made));
    if (!made || artel_context_create(NULL, &made->ctx) < 0) return -1;
    snprintf(made->root, sizeof(made->root), "/tmp/artel-dir-XXXXXX");
    if (!mkdtemp(made->root)) return -1;
    *state = made;
    return 0;
}

static int tear_down(void **state)
{
    place *made = *state;
    artel__remove_tree(made->ctx, made->root);
    artel_context_destroy(made->ctx);
    free(made);
    return 0;
}

/* The path of a name below the root; valid until the next call. */
static const char *at(place *made, const char *name)
{
    snprintf(made->path, sizeof(made->path), "%s/%s", made->root, name);
    return made->path;
}

static void touch(place *made, const char *name)
{
    assert_int_equal(artel__write_file(made->ctx, at(made, name), "x", 1), ARTEL_OK);
}

static void test_make_and_remove(void **state)
{
    place *made = *state;
    assert_int_equal(artel__make_directory(made->ctx, at(made, "a/b//c/")), ARTEL_OK);
    assert_int_equal(artel__make_directory(made->ctx, at(made, "a/b/c")), ARTEL_OK);
    assert_true(artel__is_directory(at(made, "a/b/c")));
    touch(made, "a/b/file");
    touch(made, "kept");
    assert_int_equal(symlink("../../kept", at(made, "a/b/link")), 0);
    assert_int_equal(symlink("..", at(made, "a/up")), 0); /* must not be followed */
    assert_false(artel__is_directory(at(made, "a/b/file")));
    assert_int_equal(artel__make_directory(made->ctx, at(made, "a/b/file/x")), ARTEL_ERROR_INVALID);
    assert_int_equal(artel__remove_tree(made->ctx, at(made, "a")), ARTEL_OK);
    assert_false(artel__file_exists(at(made, "a")));
    assert_true(artel__file_exists(at(made, "kept")));
    assert_int_equal(artel__remove_tree(made->ctx, at(made, "a")), ARTEL_OK); /* missing is fine */
    assert_int_equal(artel__remove_tree(made->ctx, at(made, "kept")), ARTEL_OK);
    assert_false(artel__file_exists(at(made, "kept")));
}

static void test_folder_of_a_path(void **state)
{
    static const char *const cases[][2] = {{"a", "."},     {"a/b", "a"},   {"/a", "/"},
                                           {"/a/b", "/a"}, {"a//b", "a/"}, {"a/b/", "a/b"}};
    char buffer[8];
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(cases); i++)
        assert_string_equal(artel__folder_of(cases[i][0], buffer, sizeof buffer), cases[i][1]);
    assert_null(artel__folder_of("12345678/a", buffer, sizeof buffer));
}

static void test_probe_leaves_nothing(void **state)
{
    place *made = *state;
    artel__paths paths;
    assert_int_equal(artel__probe_directory(made->ctx, made->root), ARTEL_OK);
    assert_int_equal(rmdir(made->root), 0); /* hidden names count, too */
    assert_int_equal(artel__probe_directory(made->ctx, made->root), ARTEL_ERROR_NOT_FOUND);
    assert_string_equal(artel_context_error(made->ctx)->where, made->root);
    assert_int_equal(artel__make_directory(made->ctx, made->root), ARTEL_OK);
    touch(made, "file");
    assert_int_equal(artel__probe_directory(made->ctx, at(made, "file")), ARTEL_ERROR_INVALID);
    assert_int_equal(artel__list_directory(made->ctx, made->root, &paths), ARTEL_OK);
    assert_int_equal(paths.count, 1);
    artel__paths_fini(&paths);
}

static void test_lists_in_byte_order(void **state)
{
    static const char *const expected[] = {"B", "a", "a.b", "a10", "a9", "\xC3\xA4"};
    place *made = *state;
    artel__paths paths;
    touch(made, "a9");
    touch(made, "a10");
    touch(made, "\xC3\xA4");
    touch(made, "B");
    touch(made, "a.b");
    touch(made, "a");
    touch(made, ".hidden");
    assert_int_equal(artel__list_directory(made->ctx, made->root, &paths), ARTEL_OK);
    assert_int_equal(paths.count, ARTEL__COUNT(expected));
    for (size_t i = 0; i < paths.count; i++) assert_string_equal(paths.items[i], expected[i]);
    artel__paths_fini(&paths);
    assert_int_equal(paths.count, 0);
    assert_int_equal(artel__list_directory(made->ctx, at(made, "nowhere"), &paths), ARTEL_ERROR_NOT_FOUND);
}

static void test_glob(void **state)
{
    place *made = *state;
    artel__paths paths;
    touch(made, "part-2.csv");
    touch(made, "part-10.csv");
    touch(made, "other.txt");
    touch(made, "odd[1].csv");
    assert_int_equal(artel__glob(made->ctx, at(made, "part-*.csv"), &paths), ARTEL_OK);
    assert_int_equal(paths.count, 2);
    assert_string_equal(paths.items[0], at(made, "part-10.csv"));
    assert_string_equal(paths.items[1], at(made, "part-2.csv"));
    artel__paths_fini(&paths);
    assert_int_equal(artel__glob(made->ctx, at(made, "odd[1].csv"), &paths), ARTEL_OK); /* a name before a pattern */
    assert_int_equal(paths.count, 1);
    artel__paths_fini(&paths);
    assert_int_equal(artel__glob(made->ctx, at(made, "*.npz"), &paths), ARTEL_ERROR_NOT_FOUND);
    assert_string_equal(artel_context_error(made->ctx)->where, at(made, "*.npz"));
    artel_context_clear(made->ctx);
    assert_int_equal(artel__glob(made->ctx, at(made, "plain"), &paths), ARTEL_ERROR_NOT_FOUND);
    assert_string_equal(artel_context_error(made->ctx)->what, "no such file");
}

static void test_allocations_fail(void **state)
{
    place *made = *state;
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    touch(made, "a");
    touch(made, "b");
    touch(made, "c");
    for (uint64_t n = 1; status < 0; n++) {
        artel__paths paths;
        assert_true(n < 20);
        artel_context_clear(made->ctx);
        artel__fail_allocation_after(made->ctx, n);
        status = artel__list_directory(made->ctx, made->root, &paths);
        artel__fail_allocation_after(made->ctx, 0);
        if (status == ARTEL_OK) artel__paths_fini(&paths);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_make_and_remove, set_up, tear_down),
        cmocka_unit_test(test_folder_of_a_path),
        cmocka_unit_test_setup_teardown(test_probe_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lists_in_byte_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_glob, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_allocations_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
