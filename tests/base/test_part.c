/* SPDX-License-Identifier: Apache-2.0 */
/* Opening parts: one that is not there, one that is no library, and ARTEL_PART_DIR as the only place looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/part.h"

typedef struct bench {
    artel_context *ctx;
    char dir[64];
} bench;

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    if (!b || artel_context_create(NULL, &b->ctx) != ARTEL_OK) return -1;
    strcpy(b->dir, "/tmp/artel-part-XXXXXX");
    if (!mkdtemp(b->dir)) return -1;
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bench *b = *state;
    unsetenv("ARTEL_PART_DIR");
    artel__remove_tree(b->ctx, b->dir);
    artel_context_destroy(b->ctx);
    free(b);
    return 0;
}

static const artel__part_request none = {"libartel-none.so", "artel_part_none", 3, "does nothing", "libnone-dev"};

static void refuse(bench *b, const artel__part_request *request, const char *what, const char *advice)
{
    artel__part part = {NULL, NULL};
    artel__operation_begin(b->ctx);
    assert_int_equal(artel__part_open(b->ctx, request, &part), ARTEL_ERROR_UNSUPPORTED);
    const artel_error *error = artel_context_error(b->ctx);
    assert_string_equal(error->where, request->file);
    if (!strstr(error->what, what) || !strstr(error->advice, advice)) fail_msg("%s; %s", error->what, error->advice);
    assert_null(part.handle);
    artel__part_close(&part);
}

static void test_missing(void **state)
{
    refuse(*state, &none, "the part that does nothing cannot be opened (not found beside artel)",
           "install libnone-dev");
}

static void test_damaged(void **state)
{
    bench *b = *state;
    char path[128] = "";
    strcat(strcat(path, b->dir), "/libartel-none.so");
    assert_int_equal(artel__write_file(b->ctx, path, "not a library", 13), ARTEL_OK);
    refuse(b, &none, "not found beside artel", "install"); /* nobody looks there */
    assert_int_equal(setenv("ARTEL_PART_DIR", b->dir, 1), 0);
    refuse(b, &none, path, "ARTEL_PART_DIR");
}

/* A library of the same name without the entry point: any that the system has will do. */
static void test_foreign(void **state)
{
    bench *b = *state;
    static const char *const places[] = {"/usr/lib/x86_64-linux-gnu/libz.so.1", "/lib/x86_64-linux-gnu/libz.so.1",
                                         "/usr/lib64/libz.so.1", "/usr/lib/aarch64-linux-gnu/libz.so.1"};
    char path[128] = "";
    strcat(strcat(path, b->dir), "/libartel-none.so");
    int linked = -1;
    for (size_t i = 0; i < ARTEL__COUNT(places) && linked != 0; i++)
        if (artel__file_exists(places[i])) linked = symlink(places[i], path);
    if (linked != 0) skip();
    assert_int_equal(setenv("ARTEL_PART_DIR", b->dir, 1), 0);
    refuse(b, &none, "the part has version 0 (expected 3)", "build artel and its parts together");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
