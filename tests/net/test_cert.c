/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster's certificates as files: made, read, renewed, verified; what must be refused, and full disks. Skipped
 * where libartel-tls.so was not built. */
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

#include "base/clock.h"
#include "base/file.h"
#include "net/cert.h"
#include "net/tls.h"

#define DAY ((int64_t)86400)

typedef struct bench {
    artel_context *ctx;
    artel__cert_maker maker;
    artel__arena arena;
    char dir[64];
    int64_t now;
    bool able;
} bench;

static int set_up(void **state)
{
    bench *b = calloc(1, sizeof *b);
    if (!b || artel_context_create(NULL, &b->ctx) != ARTEL_OK) return -1;
    artel__arena_init(&b->arena, b->ctx);
    strcpy(b->dir, "/tmp/artel-cert-XXXXXX");
    if (!mkdtemp(b->dir)) return -1;
    b->now = (int64_t)artel__wall_seconds();
    b->able = artel__cert_open(b->ctx, &b->maker) == ARTEL_OK;
    artel_context_clear(b->ctx);
    *state = b;
    return 0;
}

static int tear_down(void **state)
{
    bench *b = *state;
    artel__remove_tree(b->ctx, b->dir);
    artel__cert_close(&b->maker);
    artel__arena_fini(&b->arena);
    artel_context_destroy(b->ctx);
    free(b);
    return 0;
}

static const char *at(bench *b, const char *below)
{
    return artel__arena_printf(&b->arena, "%s/%s", b->dir, below);
}

static void init(bench *b, const char *folder)
{
    const artel__cert_request request = {.job = "mnist", .days = 1000};
    assert_int_equal(artel__cert_init(&b->maker, at(b, folder), &request), ARTEL_OK);
}

static artel_status issue(bench *b, const char *folder, const char *name, int days)
{
    static const char *const hosts[] = {"node1.example.com", "10.0.0.1", "fe80::1"};
    const artel__cert_request request = {.name = name, .days = days, .host = hosts, .hosts = 3};
    return artel__cert_issue(&b->maker, at(b, folder), &request);
}

static artel__tls_files files_of(bench *b, const char *folder, const char *name)
{
    artel__tls_files files = {0};
    assert_int_equal(artel__cert_locate(&b->arena, at(b, folder), name, &files), ARTEL_OK);
    return files;
}

static void refuse(bench *b, const artel__tls_files *files, const char *name, int64_t when, const char *reason)
{
    artel__operation_begin(b->ctx);
    artel_status status = artel__cert_verify(&b->maker, files, (artel__cert_owner){name, NULL}, when);
    const artel_error *error = artel_context_error(b->ctx);
    if (status >= 0 || !strstr(error->what, reason)) fail_msg("expected \"%s\", found \"%s\"", reason, error->what);
    assert_true(error->advice[0] != '\0');
    artel__operation_begin(b->ctx);
}

static void assert_mode(const char *path, mode_t mode)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 0777, mode);
}

static void test_life(void **state)
{
    bench *b = *state;
    artel__cert_info *info = artel__arena_alloc(&b->arena, 1, sizeof *info);
    if (!b->able) skip();
    init(b, "c");
    assert_int_equal(issue(b, "c", "worker-0", 100), ARTEL_OK);
    artel__tls_files files = files_of(b, "c", "worker-0");
    assert_string_equal(files.certificate, at(b, "c/worker-0/tls.crt"));
    files = files_of(b, "c/worker-0", "worker-0"); /* the folder itself */
    assert_int_equal(artel__cert_verify(&b->maker, &files, (artel__cert_owner){"worker-0", NULL}, b->now), ARTEL_OK);
    assert_int_equal(artel__cert_verify(&b->maker, &files, (artel__cert_owner){NULL, NULL}, b->now + 99 * DAY),
                     ARTEL_OK);
    assert_mode(at(b, "c/ca.key"), 0600);
    assert_mode(files.key, 0600);
    assert_int_equal(artel__cert_read(&b->maker, files.certificate, info), ARTEL_OK);
    assert_string_equal(info->name, "worker-0");
    assert_string_equal(info->job, "mnist");
    assert_false(info->authority);
    assert_int_equal(info->hosts, 3);
    assert_string_equal(info->host[0], "node1.example.com");
    assert_string_equal(info->host[1], "10.0.0.1");
    assert_string_equal(info->host[2], "fe80::1");
    assert_true(info->not_before <= b->now && info->not_before >= b->now - 600);
    assert_true(labs((long)(info->not_after - b->now - 100 * DAY)) < 60);
    assert_int_equal(strlen(info->fingerprint), 64);
    assert_int_equal(artel__cert_read(&b->maker, at(b, "c/ca.crt"), info), ARTEL_OK);
    assert_true(info->authority);
    assert_string_equal(info->name, "");
    assert_int_equal(issue(b, "c", "worker-1", 36500), ARTEL_OK); /* not beyond the authority's own end */
    int64_t end = info->not_after;
    assert_int_equal(artel__cert_read(&b->maker, at(b, "c/worker-1/tls.crt"), info), ARTEL_OK);
    assert_int_equal(info->not_after, end);
}

static char *content(bench *b, const char *path)
{
    char *text = NULL;
    assert_int_equal(artel__read_file(b->ctx, path, 1 << 20, &text, NULL), ARTEL_OK);
    char *copy = artel__arena_strdup(&b->arena, text);
    artel__free(b->ctx, text);
    return copy;
}

static void test_renewing(void **state)
{
    bench *b = *state;
    artel__cert_info *info = artel__arena_alloc(&b->arena, 1, sizeof *info);
    if (!b->able) skip();
    init(b, "c");
    assert_int_equal(issue(b, "c", "worker-0", 1), ARTEL_OK);
    artel__tls_files files = files_of(b, "c", "worker-0");
    const char *key = content(b, files.key), *old = content(b, files.certificate);
    refuse(b, &files, "worker-0", b->now + 2 * DAY, "expired");
    assert_int_equal(artel__cert_renew(&b->maker, at(b, "c"), "worker-0", 50), ARTEL_OK);
    assert_int_equal(artel__cert_verify(&b->maker, &files, (artel__cert_owner){"worker-0", NULL}, b->now + 49 * DAY),
                     ARTEL_OK);
    assert_string_equal(content(b, files.key), key);
    assert_string_not_equal(content(b, files.certificate), old);
    assert_int_equal(artel__cert_read(&b->maker, files.certificate, info), ARTEL_OK);
    assert_int_equal(info->hosts, 3);
    assert_int_equal(artel__cert_renew(&b->maker, at(b, "c"), "worker-9", 50), ARTEL_ERROR_NOT_FOUND);
    artel__operation_begin(b->ctx);
    assert_int_equal(issue(b, "c", "worker-0", 9), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(b->ctx)->what, "exists already"));
    const artel__cert_request request = {.name = "worker-0", .days = 9, .kind = ARTEL__CERT_ED25519, .force = true};
    assert_int_equal(artel__cert_issue(&b->maker, at(b, "c"), &request), ARTEL_OK);
    assert_string_not_equal(content(b, files.key), key);
    assert_int_equal(artel__cert_verify(&b->maker, &files, (artel__cert_owner){"worker-0", NULL}, b->now), ARTEL_OK);
    artel__operation_begin(b->ctx);
    const artel__cert_request again = {.job = "other", .days = 9};
    assert_int_equal(artel__cert_init(&b->maker, at(b, "c"), &again), ARTEL_ERROR_INVALID);
}

static void test_refusals(void **state)
{
    bench *b = *state;
    if (!b->able) skip();
    init(b, "c");
    init(b, "d");
    assert_int_equal(issue(b, "c", "worker-0", 10), ARTEL_OK);
    assert_int_equal(issue(b, "c", "worker-1", 10), ARTEL_OK);
    assert_int_equal(issue(b, "d", "worker-0", 10), ARTEL_OK);
    const artel__tls_files own = files_of(b, "c", "worker-0"), other = files_of(b, "c", "worker-1"),
                           foreign = files_of(b, "d", "worker-0");
    refuse(b, &own, "worker-1", b->now, "another task");
    refuse(b, &own, "worker-0", b->now + 11 * DAY, "expired");
    refuse(b, &own, "worker-0", b->now - DAY, "not yet valid");
    refuse(b, &(artel__tls_files){foreign.authority, own.certificate, own.key}, NULL, b->now, "it does not hold");
    refuse(b, &(artel__tls_files){own.authority, foreign.certificate, foreign.key}, NULL, b->now, "it does not hold");
    refuse(b, &(artel__tls_files){own.authority, own.certificate, other.key}, NULL, b->now,
           "key is another certificate's");
    refuse(b, &(artel__tls_files){own.authority, at(b, "c/ca.crt"), at(b, "c/ca.key")}, NULL, b->now,
           "it does not hold");
    refuse(b, &(artel__tls_files){own.certificate, other.certificate, other.key}, NULL, b->now, "it does not hold");
    refuse(b, &(artel__tls_files){own.authority, own.key, own.key}, NULL, b->now, "it is no certificate");
    refuse(b, &(artel__tls_files){own.key, own.certificate, own.key}, NULL, b->now,
           "the authority's certificate cannot be read");
    refuse(b, &(artel__tls_files){own.authority, own.certificate, own.certificate}, NULL, b->now,
           "the key cannot be read");
    refuse(b, &(artel__tls_files){own.authority, own.certificate, at(b, "none")}, NULL, b->now, "cannot open");
    /* the wrong authority's key signs nothing */
    assert_int_equal(artel__write_private_file(b->ctx, at(b, "c/ca.key"), content(b, at(b, "d/ca.key")),
                                               strlen(content(b, at(b, "d/ca.key")))),
                     ARTEL_OK);
    assert_int_equal(issue(b, "c", "worker-2", 10), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(b->ctx)->what, "key is another one's"));
}

/* Damaged files of every length are refused, not believed. */
static void test_damage(void **state)
{
    bench *b = *state;
    if (!b->able) skip();
    init(b, "c");
    assert_int_equal(issue(b, "c", "worker-0", 10), ARTEL_OK);
    const artel__tls_files own = files_of(b, "c", "worker-0");
    const char *text = content(b, own.certificate), *bad = at(b, "bad.crt");
    size_t length = strlen(text);
    for (size_t cut = 0; cut + 2 < length; cut += 37) {
        assert_int_equal(artel__write_file(b->ctx, bad, text, cut), ARTEL_OK);
        refuse(b, &(artel__tls_files){own.authority, bad, own.key}, NULL, b->now, "it is no certificate");
    }
    char *flipped = artel__arena_strdup(&b->arena, text);
    for (size_t i = 30; i + 30 < length; i += 13) {
        if (flipped[i] == '\n') continue;
        char was = flipped[i];
        flipped[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(artel__write_file(b->ctx, bad, flipped, length), ARTEL_OK);
        artel_status status = artel__cert_verify(&b->maker, &(artel__tls_files){own.authority, bad, own.key},
                                                 (artel__cert_owner){NULL, NULL}, b->now);
        if (status >= 0) fail_msg("byte %zu flipped, and nobody noticed", i);
        artel__operation_begin(b->ctx);
        flipped[i] = was;
    }
}

static void test_names(void **state)
{
    bench *b = *state;
    static const char *const wrong[] = {"", "..", ".", "a/b", "a b", "-a", "_a", "a.b", "a:0", "a\n", "\xc3\xa4"};
    assert_true(artel__cert_is_name("worker-0"));
    assert_true(artel__cert_is_name("0"));
    for (size_t i = 0; i < ARTEL__COUNT(wrong); i++) assert_false(artel__cert_is_name(wrong[i]));
    char name[100];
    memset(name, 'a', sizeof name);
    name[63] = '\0';
    assert_true(artel__cert_is_name(name));
    name[63] = 'a';
    name[64] = '\0';
    assert_false(artel__cert_is_name(name));
    if (!b->able) skip();
    assert_int_equal(issue(b, "c", "worker-0", 10), ARTEL_ERROR_NOT_FOUND); /* no authority */
    artel__operation_begin(b->ctx);
    init(b, "c");
    static const char *const hosts[] = {"a,b", "", "a/b", "*.example.com", "a b"};
    for (size_t i = 0; i < ARTEL__COUNT(hosts); i++) {
        const artel__cert_request request = {.name = "worker-0", .days = 9, .host = &hosts[i], .hosts = 1};
        assert_int_equal(artel__cert_issue(&b->maker, at(b, "c"), &request), ARTEL_ERROR_INVALID);
        artel__operation_begin(b->ctx);
    }
    assert_int_equal(issue(b, "c", "worker-0", 0), ARTEL_ERROR_INVALID);
    artel__operation_begin(b->ctx);
    assert_int_equal(issue(b, "c", "worker-0", 36501), ARTEL_ERROR_INVALID);
}

/* Each system call and each allocation fails once: a folder is there whole or not at all, and nothing is left beside
 * it. */
static void test_failures(void **state)
{
    bench *b = *state;
    artel__paths names;
    if (!b->able) skip();
    init(b, "c");
    for (int kind = 0; kind < 2; kind++) {
        char name[32];
        snprintf(name, sizeof name, "worker-%d", kind);
        for (uint64_t n = 1;; n++) {
            artel__operation_begin(b->ctx);
            if (kind == 0) artel__fail_file_after(b->ctx, n, 28); /* ENOSPC */
            if (kind == 1) artel__fail_allocation_after(b->ctx, n);
            artel_status status = issue(b, "c", name, 10);
            artel__fail_file_after(b->ctx, 0, 0);
            artel__fail_allocation_after(b->ctx, 0);
            artel__operation_begin(b->ctx);
            assert_int_equal(artel__list_directory(b->ctx, at(b, "c"), &names), ARTEL_OK);
            assert_int_equal(names.count, (status == ARTEL_OK ? 3 : 2) + (size_t)kind);
            artel__paths_fini(&names);
            assert_false(
                artel__file_exists(artel__arena_printf(&b->arena, "%s/c/.%s.%ld.tmp", b->dir, name, (long)getpid())));
            if (status == ARTEL_OK) break;
            assert_true(n < 200);
        }
        const artel__tls_files files = files_of(b, "c", name);
        assert_int_equal(artel__cert_verify(&b->maker, &files, (artel__cert_owner){name, NULL}, b->now), ARTEL_OK);
    }
}

/* A process that runs takes what was renewed, and passes over what is damaged or belongs to another key, until it is
 * whole. */
static void test_taken_while_running(void **state)
{
    bench *b = *state;
    artel__tls tls;
    if (!b->able) skip();
    init(b, "c");
    assert_int_equal(issue(b, "c", "worker-0", 10), ARTEL_OK);
    assert_int_equal(issue(b, "c", "worker-1", 30), ARTEL_OK);
    const artel__tls_files files = files_of(b, "c", "worker-0"), other = files_of(b, "c", "worker-1");
    assert_int_equal(artel__tls_open(b->ctx, &files, &tls), ARTEL_OK);
    int64_t first = tls.part->identity_ends(tls.identity);
    assert_true(first > b->now + 9 * DAY && first < b->now + 11 * DAY);
    assert_int_equal(artel__cert_renew(&b->maker, at(b, "c"), "worker-0", 20), ARTEL_OK);
    int64_t second = tls.part->identity_ends(tls.identity);
    assert_true(second > b->now + 19 * DAY && second < b->now + 21 * DAY);
    artel__mapping whole, foreign;
    assert_int_equal(artel__map_file(b->ctx, files.certificate, &whole), ARTEL_OK);
    assert_int_equal(artel__map_file(b->ctx, other.certificate, &foreign), ARTEL_OK);
    assert_int_equal(artel__write_file(b->ctx, files.certificate, foreign.bytes, foreign.size),
                     ARTEL_OK); /* not this key's */
    assert_int_equal(tls.part->identity_ends(tls.identity), second);
    assert_int_equal(artel__write_file(b->ctx, files.certificate, whole.bytes, whole.size / 2), ARTEL_OK);
    assert_int_equal(tls.part->identity_ends(tls.identity), second);
    assert_int_equal(unlink(files.certificate), 0);
    assert_int_equal(tls.part->identity_ends(tls.identity), second);
    artel__net_why why;
    artel__tls_stream *stream;
    assert_int_equal(tls.part->create(tls.identity, 0, true, &stream, &why), 0); /* by the one that it has */
    tls.part->destroy(stream);
    assert_int_equal(artel__write_file(b->ctx, files.certificate, whole.bytes, whole.size), ARTEL_OK);
    assert_int_equal(artel__cert_renew(&b->maker, at(b, "c"), "worker-0", 40), ARTEL_OK);
    int64_t third = tls.part->identity_ends(tls.identity);
    assert_true(third > b->now + 39 * DAY && third < b->now + 41 * DAY);
    artel__unmap_file(&whole);
    artel__unmap_file(&foreign);
    artel__tls_close(&tls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_life, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_renewing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_taken_while_running, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failures, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
