/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts: options, the error record, the log, cancelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static void test_first_failure_wins(void **state)
{
    artel_context *ctx = *state;
    const artel_error *error = artel_context_error(ctx);
    assert_int_equal(error->status, ARTEL_OK);
    assert_int_equal(
        artel__fail(ctx, ARTEL_ERROR_CORRUPT, "a.keras", "fetch it again", "found %d bytes, expected %d", 3, 7), -3);
    assert_int_equal(artel__fail(ctx, ARTEL_ERROR_RUN, "later", "", "a consequence"), ARTEL_ERROR_RUN);
    assert_int_equal(error->status, ARTEL_ERROR_CORRUPT);
    assert_string_equal(error->where, "a.keras");
    assert_string_equal(error->what, "found 3 bytes, expected 7");
    assert_string_equal(error->advice, "fetch it again");
    artel__operation_begin(ctx);
    assert_int_equal(artel_context_error(ctx)->status, ARTEL_OK);
    assert_string_equal(artel_context_error(ctx)->what, "");
    artel__fail(ctx, ARTEL_ERROR_RUN, "now", "", "the next operation");
    assert_string_equal(artel_context_error(ctx)->where, "now");
    assert_int_equal(artel__fail(NULL, ARTEL_ERROR_RUN, "x", "", "y"), ARTEL_ERROR_RUN);
    assert_int_equal(artel_context_error(NULL)->status, ARTEL_ERROR_RUN); /* of this thread */
    assert_string_equal(artel_context_error(NULL)->what, "y");
    artel_context_clear(NULL);
    assert_int_equal(artel_context_error(NULL)->status, ARTEL_OK);
}

static void test_errno(void **state)
{
    artel_context *ctx = *state;
    errno = ENOENT;
    assert_int_equal(artel__fail_errno(ctx, "nowhere", "open"), ARTEL_ERROR_NOT_FOUND);
    assert_string_equal(artel_context_error(ctx)->what, "cannot open: No such file or directory");
    errno = ENOMEM;
    assert_int_equal(artel__fail_errno(ctx, "x", "map"), ARTEL_ERROR_NO_MEMORY);
    errno = ENOSPC;
    assert_int_equal(artel__fail_errno(ctx, "x", "write"), ARTEL_ERROR_IO);
    errno = EROFS;
    assert_int_equal(artel__fail_errno(ctx, "x", "create"), ARTEL_ERROR_INVALID);
}

static void test_long_text_is_cut_whole(void **state)
{
    artel_context *ctx = *state;
    char where[400];
    memset(where, 'a', sizeof(where));
    where[254] = '\xC3'; /* an e acute across the end of the field */
    where[255] = '\xA9';
    where[399] = '\0';
    artel__fail(ctx, ARTEL_ERROR_IO, where, NULL, "%s", where);
    assert_int_equal(strlen(artel_context_error(ctx)->where), 254);
    assert_string_equal(artel_context_error(ctx)->advice, "");
}

static void test_cancel(void **state)
{
    artel_context *ctx = *state;
    assert_false(artel__cancelled(ctx));
    artel_context_cancel(ctx);
    assert_true(artel__cancelled(ctx));
    assert_false(artel__preempted(ctx));
    artel_context_preempt(ctx);
    assert_true(artel__preempted(ctx));
    artel__operation_begin(ctx);
    assert_true(artel__cancelled(ctx)); /* a request made before the call counts for the call */
    artel_context_clear(ctx);
    assert_false(artel__cancelled(ctx));
    assert_false(artel__preempted(ctx));
    artel_context_cancel(NULL);
}

typedef struct lines {
    int count;
    artel_log_level level;
    char last[64];
} lines;

static void keep_line(void *user, artel_log_level level, const char *message)
{
    lines *kept = user;
    kept->count++;
    kept->level = level;
    strncpy(kept->last, message, sizeof(kept->last) - 1);
}

static void test_log_levels(void **state)
{
    (void)state;
    artel_context *ctx = NULL;
    lines kept = {0};
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    options.log = keep_line;
    options.log_user = &kept;
    options.log_level = ARTEL_LOG_WARNING;
    assert_int_equal(artel_context_create(&options, &ctx), ARTEL_OK);
    artel__log(ctx, ARTEL_LOG_NOTE, "not this");
    assert_int_equal(kept.count, 0);
    artel__log(ctx, ARTEL_LOG_WARNING, "this %d", 1);
    assert_int_equal(kept.count, 1);
    assert_string_equal(kept.last, "this 1");
    assert_int_equal(kept.level, ARTEL_LOG_WARNING);
    artel__log_limit(ctx, ARTEL_LOG_DEBUG);
    artel__log(ctx, ARTEL_LOG_DEBUG, "and this");
    assert_int_equal(kept.count, 2);
    assert_int_equal(kept.level, ARTEL_LOG_DEBUG);
    artel_context_destroy(ctx);
}

#ifndef ARTEL__ISA_MOST /* cmake/flags.cmake, where others are not built to run */
#define ARTEL__ISA_MOST ARTEL__ISA_AMX
#endif

/* Whether the kernel has all these flags of the processor, and lets programs use them; " name " each. */
static bool has_flags(const char *flags, const char *const *name)
{
    for (; *name; name++) {
        if (!strstr(flags, *name)) return false;
    }
    return true;
}

/* What /proc/cpuinfo names; ARTEL__ISA_COUNT: there is none to be read, or of another architecture. */
static artel__isa isa_of_cpuinfo(void)
{
    static const char *const avx2[] = {" avx2 ", " fma ", " f16c ", NULL};
    static const char *const avx512[] = {" avx512f ", " avx512bw ", " avx512dq ", " avx512vl ", NULL};
    static const char *const bf16[] = {" avx512_bf16 ", NULL}, *const amx[] = {" amx_bf16 ", " amx_tile ", NULL};
    char line[16384];
    FILE *file = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file)) found = strncmp(line, "flags", 5) == 0;
    if (file) fclose(file);
    if (!found) return ARTEL__ISA_COUNT;
    line[strcspn(line, "\n")] = ' ';
    if (!has_flags(line, avx2)) return ARTEL__ISA_BASELINE;
    if (!has_flags(line, avx512)) return ARTEL__ISA_AVX2;
    if (!has_flags(line, bf16)) return ARTEL__ISA_AVX512;
    return has_flags(line, amx) ? ARTEL__ISA_AMX : ARTEL__ISA_AVX512_BF16;
}

/* The best is what the kernel says of the machine. */
static void test_isa_of_machine(void **state)
{
    (void)state;
    artel__isa best = artel__isa_of_machine(), wanted = isa_of_cpuinfo();
    if (wanted == ARTEL__ISA_COUNT) skip();
    if (wanted > ARTEL__ISA_MOST) wanted = ARTEL__ISA_MOST;
    if (best != wanted) fail_msg("%s, and /proc/cpuinfo has %s", artel__isa_name(best), artel__isa_name(wanted));
}

static void test_isa(void **state)
{
    (void)state;
    artel_context *ctx = NULL;
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    options.isa = "mmx";
    assert_int_equal(artel_context_create(&options, &ctx), ARTEL_ERROR_INVALID);
    assert_null(ctx);
    options.isa = "baseline";
    assert_int_equal(artel_context_create(&options, &ctx), ARTEL_OK);
    assert_int_equal(artel__context_isa(ctx), ARTEL__ISA_BASELINE);
    artel_context_destroy(ctx);
    options.isa = "auto";
    assert_int_equal(artel_context_create(&options, &ctx), ARTEL_OK);
    artel__isa best = artel__context_isa(ctx);
    artel_context_destroy(ctx);
    for (int i = 0; i < ARTEL__ISA_COUNT; i++) { /* every name up to the best is accepted, none beyond */
        options.isa = artel__isa_name((artel__isa)i);
        artel_status status = artel_context_create(&options, &ctx);
        assert_int_equal(status, i <= (int)best ? ARTEL_OK : ARTEL_ERROR_UNSUPPORTED);
        if (status == ARTEL_OK) artel_context_destroy(ctx);
    }
    assert_string_equal(artel__isa_name(ARTEL__ISA_COUNT), "unknown");
}

static void test_short_options(void **state)
{
    (void)state;
    artel_context *ctx = NULL;
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    options.struct_size = offsetof(artel_context_options, isa); /* an older caller, whose struct ends before isa */
    options.isa = "mmx";
    assert_int_equal(artel_context_create(&options, &ctx), ARTEL_OK);
    artel_context_destroy(ctx);
    options.struct_size = 0;
    assert_int_equal(artel_context_create(&options, &ctx), ARTEL_ERROR_INVALID);
    artel_context_destroy(NULL);
}

typedef struct kept {
    int count;
    char text[3][64];
} kept;

static void keep(void *user, artel_log_level level, int64_t age_ns, const char *text)
{
    kept *k = user;
    assert_true(age_ns >= 0 && level <= ARTEL_LOG_NOTE);
    if (k->count < 3) snprintf(k->text[k->count], sizeof k->text[0], "%.60s", text);
    k->count++;
}

static void test_last_lines_are_kept(void **state)
{
    artel_context *ctx = *state;
    kept k = {0};
    artel__log(ctx, ARTEL_LOG_NOTE, "before");
    assert_int_equal(artel__log_keep(ctx, 2), ARTEL_OK);
    artel__log_kept(ctx, keep, &k);
    assert_int_equal(k.count, 0);
    for (int i = 0; i < 5; i++) artel__log(ctx, i == 3 ? ARTEL_LOG_DEBUG : ARTEL_LOG_NOTE, "line %d%300s", i, "");
    assert_int_equal(artel__log_keep(ctx, 10), ARTEL_OK); /* there are some already */
    artel__log_kept(ctx, keep, &k);
    assert_int_equal(k.count, 2);
    assert_memory_equal(k.text[0], "line 2 ", 7);
    assert_memory_equal(k.text[1], "line 4 ", 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_first_failure_wins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_errno, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_text_is_cut_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cancel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_last_lines_are_kept, set_up, tear_down),
        cmocka_unit_test(test_log_levels),
        cmocka_unit_test(test_isa),
        cmocka_unit_test(test_isa_of_machine),
        cmocka_unit_test(test_short_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
