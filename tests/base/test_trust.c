/* SPDX-License-Identifier: Apache-2.0 */
/* What other users of the machine could have put somewhere is neither loaded nor followed. What needs a second user is
 * left out where the test does not run as root. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define NOBODY 65534

static artel_context *ctx;
static char folder[64], precious[128], open_folder[128], link_path[160], below[192];

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/artel-trust-XXXXXX");
    if (artel_context_create(NULL, &ctx) != ARTEL_OK || !mkdtemp(folder)) return -1;
    snprintf(precious, sizeof precious, "%s/precious", folder);
    snprintf(open_folder, sizeof open_folder, "%s/open", folder);
    snprintf(link_path, sizeof link_path, "%s/link", open_folder);
    snprintf(below, sizeof below, "%s/below", link_path);
    return artel__write_file(ctx, precious, "precious", 8) == ARTEL_OK && mkdir(open_folder, 0700) == 0 &&
                   chmod(open_folder, 01777) == 0
               ? 0
               : -1;
}

static int tear_down(void **state)
{
    (void)state;
    artel__remove_tree(ctx, folder);
    artel_context_destroy(ctx);
    return 0;
}

/* What would become a folder "s3:" in the working directory. */
static void addresses(void **state)
{
    static const char *const address[] = {"s3://bucket/run", "gs://b/c", "https://a.example/m.keras", "file:///tmp/x",
                                          "git+ssh://a/b"};
    static const char *const path[] = {"://x", "a b://c", "/tmp//s3://x", "s3:/x", "run:1"};
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(address); i++) {
        artel__output output;
        assert_int_equal(artel__make_directory(ctx, address[i]), ARTEL_ERROR_UNSUPPORTED);
        assert_int_equal(artel__output_open(ctx, address[i], &output), ARTEL_ERROR_UNSUPPORTED);
        assert_string_equal(artel_context_error(ctx)->where, address[i]);
        artel_context_clear(ctx);
    }
    for (size_t i = 0; i < ARTEL__COUNT(path); i++) assert_int_equal(artel__check_target(ctx, path[i]), ARTEL_OK);
}

static void files_and_folders(void **state)
{
    static const struct {
        mode_t folder, file;
        bool good;
    } mode[] = {{0700, 0600, true}, {0755, 0644, true}, {0777, 0644, false}, {01777, 0644, false}, {0755, 0666, false}};
    char path[192];
    (void)state;
    snprintf(path, sizeof path, "%s/file", open_folder);
    assert_int_equal(artel__write_file(ctx, path, "x", 1), ARTEL_OK);
    for (size_t i = 0; i < ARTEL__COUNT(mode); i++) {
        assert_int_equal(chmod(open_folder, mode[i].folder), 0);
        assert_int_equal(chmod(path, mode[i].file), 0);
        assert_int_equal(artel__may_trust(path, NULL), mode[i].good);
    }
    assert_false(artel__may_trust(below, NULL)); /* missing */
    if (geteuid() != 0) return;
    assert_int_equal(chmod(open_folder, 0755), 0);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chown(path, NOBODY, NOBODY), 0);
    assert_false(artel__may_trust(path, NULL));
    assert_true(artel__may_trust(path, path)); /* of who owns the program */
}

static void other_links(void **state)
{
    (void)state;
    assert_int_equal(symlink(folder, link_path), 0);
    assert_int_equal(artel__check_target(ctx, below), ARTEL_OK); /* one's own */
    if (geteuid() != 0) skip();
    assert_int_equal(lchown(link_path, NOBODY, NOBODY), 0);
    assert_int_equal(artel__make_directory(ctx, below), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(ctx)->where, link_path);
    assert_int_equal(chmod(open_folder, 0755), 0); /* whoever may write there has put it there */
    artel__operation_begin(ctx);
    assert_int_equal(artel__check_target(ctx, below), ARTEL_OK);
    assert_int_equal(chmod(open_folder, 01777), 0);
    assert_int_equal(unlink(link_path), 0);
    assert_int_equal(symlink(precious, link_path), 0);
    assert_int_equal(lchown(link_path, NOBODY, NOBODY), 0);
    char *text;
    assert_int_equal(artel__write_file(ctx, link_path, "mine", 4), ARTEL_ERROR_INVALID);
    assert_int_equal(artel__read_file(ctx, precious, 100, &text, NULL), ARTEL_OK);
    assert_string_equal(text, "precious");
    artel__free(ctx, text);
}

/* What only its owner may change is so under any umask. */
static void umask_zero(void **state)
{
    struct stat about;
    char path[160], file[224];
    (void)state;
    mode_t before = umask(0);
    snprintf(path, sizeof path, "%s/own", folder);
    snprintf(file, sizeof file, "%s/file", path);
    assert_int_equal(artel__make_own_directory(ctx, path), ARTEL_OK);
    assert_int_equal(artel__write_public_file(ctx, file, "x", 1), ARTEL_OK);
    umask(before);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0755);
    assert_int_equal(stat(file, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0644);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(addresses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_and_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(umask_zero, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
