/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of compiled programs: what was written is read; what is damaged, of another key, or could be another user's
 * is passed over and told once; the files that were used longest ago go. And on which plug-ins kernels are measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "device/cache.h"
#include "device/select.h"

static struct {
    artel_context *ctx, *files;
    int warnings, notes;
    char place[64], path[96];
} t;

static const uint8_t one[ARTEL__PROGRAM_KEY] = {1, 2, 3}, two[ARTEL__PROGRAM_KEY] = {9};

static void count(void *user, artel_log_level level, const char *text)
{
    (void)user;
    (void)text;
    t.warnings += level == ARTEL_LOG_WARNING;
    t.notes += level == ARTEL_LOG_NOTE;
}

static artel__program_folder folder_of(int64_t most_bytes)
{
    t.warnings = t.notes = 0;
    return (artel__program_folder){
        .ctx = t.ctx, .files = t.files, .path = t.path, .writes = true, .most_bytes = most_bytes};
}

static void file_of(const uint8_t *key, char out[256])
{
    int at = snprintf(out, 256, "%s/", t.path);
    for (int i = 0; i < ARTEL__PROGRAM_KEY; i++) at += snprintf(out + at, (size_t)(256 - at), "%02x", key[i]);
    snprintf(out + at, (size_t)(256 - at), ".program");
}

static void reads(artel__program_folder *folder, const uint8_t *key, const char *expected)
{
    artel__text text;
    artel__text_init(&text, t.ctx);
    artel__text_append(&text, "-");
    assert_int_equal(artel__program_folder_read(folder, key, &text), expected != NULL);
    assert_string_equal(text.data + 1, expected ? expected : "");
    artel__text_fini(&text);
}

static int set_up(void **state)
{
    (void)state;
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    options.log = count;
    options.log_level = ARTEL_LOG_NOTE;
    snprintf(t.place, sizeof t.place, "/tmp/artel-programs-XXXXXX");
    if (artel_context_create(&options, &t.ctx) < 0 || artel_context_create(NULL, &t.files) < 0 || !mkdtemp(t.place))
        return -1;
    snprintf(t.path, sizeof t.path, "%s/made/programs", t.place);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    artel__remove_tree(t.ctx, t.place);
    artel_context_destroy(t.ctx);
    artel_context_destroy(t.files);
    return 0;
}

static void test_kept(void **state)
{
    (void)state;
    artel__program_folder folder = folder_of(0), none = {.ctx = t.ctx, .files = t.files, .writes = true};
    reads(&folder, one, NULL);
    artel__program_folder_write(&folder, one, "program", 7);
    artel__program_folder_write(&folder, two, "", 0);
    reads(&folder, one, "program");
    reads(&folder, two, "");
    artel__program_folder_write(&none, one, "x", 1);
    reads(&none, one, NULL);
    assert_int_equal(t.warnings + t.notes, 0);
}

/* Whatever byte is another one. */
static void test_damaged(void **state)
{
    (void)state;
    char path[256], *text;
    size_t size;
    artel__program_folder folder = folder_of(0);
    artel__program_folder_write(&folder, one, "program", 7);
    file_of(one, path);
    assert_int_equal(artel__read_file(t.ctx, path, 4096, &text, &size), ARTEL_OK);
    folder.writes = false; /* it stays */
    for (size_t i = 0; i < size; i++) {
        text[i] ^= 1;
        assert_int_equal(artel__write_file(t.ctx, path, text, size), ARTEL_OK);
        reads(&folder, one, NULL);
        text[i] ^= 1;
        assert_int_equal(artel__write_file(t.ctx, path, text, i), ARTEL_OK);
        reads(&folder, one, NULL);
    }
    assert_int_equal(t.warnings, 1);
    folder.writes = true;
    reads(&folder, one, NULL);
    assert_int_equal(access(path, F_OK), -1); /* and goes */
    artel__free(t.ctx, text);
}

static void test_planted(void **state)
{
    (void)state;
    char path[256], other[256];
    artel__program_folder folder = folder_of(0);
    artel__program_folder_write(&folder, one, "program", 7);
    file_of(one, path);
    file_of(two, other);
    assert_int_equal(chmod(path, 0666), 0);
    reads(&folder, one, NULL);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(t.path, 0777), 0);
    reads(&folder, one, NULL);
    assert_int_equal(chmod(t.path, 0755), 0);
    reads(&folder, one, "program");
    assert_int_equal(t.warnings, 1);
    assert_int_equal(rename(path, other), 0); /* a program under the name of another one */
    reads(&folder, two, NULL);
}

static void test_thin(void **state)
{
    (void)state;
    char path[256], block[1000] = "";
    uint8_t key[ARTEL__PROGRAM_KEY] = {0};
    artel__program_folder folder = folder_of(5000);
    artel__remove_tree(t.ctx, t.path);
    for (int i = 0; i < 10; i++) {
        key[0] = (uint8_t)i;
        artel__program_folder_write(&folder, key, block, sizeof block);
        file_of(key, path);
        struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    }
    key[0] = 0;
    artel__text text;
    artel__text_init(&text, t.ctx);
    assert_true(artel__program_folder_read(&folder, key, &text)); /* now the youngest */
    artel__text_fini(&text);
    artel__program_folder_thin(&folder);
    for (int i = 0; i < 10; i++) {
        key[0] = (uint8_t)i;
        file_of(key, path);
        assert_int_equal(access(path, F_OK) == 0, i == 0 || i >= 7);
    }
}

/* A folder that cannot be written is told once, and changes nothing else. */
static void test_refused(void **state)
{
    (void)state;
    char file[128];
    artel__program_folder folder = folder_of(0);
    snprintf(file, sizeof file, "%s/file", t.place);
    assert_int_equal(artel__write_file(t.ctx, file, "x", 1), ARTEL_OK);
    snprintf(file, sizeof file, "%s/file/programs", t.place);
    folder.path = file;
    artel__program_folder_write(&folder, one, "program", 7);
    artel__program_folder_write(&folder, two, "program", 7);
    reads(&folder, one, NULL);
    assert_int_equal(t.notes, 1);
    assert_int_equal(artel_context_error(t.ctx)->status, ARTEL_OK);
}

static void test_measured(void **state)
{
    (void)state;
    static const char *const kinds[] = {"cuda", "rocm", "tpu", "oneapi", "cpu"};
    for (int i = 0; i < 5; i++) {
        for (int bits = 0; bits < 4; bits++) {
            artel__device_request request = {.convolutions = bits & 1};
            bool stores = bits & 2;
            assert_int_equal(artel__kernels_are_measured(&request, kinds[i], stores), i < 2 && bits == 3);
            request.kernels = "auto";
            assert_int_equal(artel__kernels_are_measured(&request, kinds[i], stores), i < 2 && bits == 3);
            request.kernels = "fixed";
            assert_false(artel__kernels_are_measured(&request, kinds[i], stores));
            request.kernels = "measured";
            assert_true(artel__kernels_are_measured(&request, kinds[i], stores));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept),    cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_planted), cmocka_unit_test(test_thin),
                                       cmocka_unit_test(test_refused), cmocka_unit_test(test_measured)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
