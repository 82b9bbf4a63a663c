/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign words: what commands a terminal, breaks a line or turns the direction is shown as what it is, the rest as it
 * stands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void words(void **state)
{
    static const char *const pair[][2] = {
        {"dense_1/kernel", "dense_1/kernel"},
        {"größe → 層", "größe → 層"},
        {"a\x1b[2J\x07", "a\\x1b[2J\\x07"},
        {"a\nartel: note: all good", "a\\nartel: note: all good"},
        {"\r\t\x7f", "\\r\\t\\x7f"},
        {"\xc2\x9b", "\\u009b"},
        {"a\xe2\x80\xae"
         "b\xe2\x80\xa8\xe2\x81\xa6\xef\xbb\xbf",
         "a\\u202eb\\u2028\\u2066\\ufeff"},
        {"\xff\xc3\xe4\xb8", "\\xff\\xc3\\xe4\\xb8"}, /* no UTF-8: bytes */
        {"\xc0\x80\xed\xa0\x80", "\\xc0\\x80\\xed\\xa0\\x80"},
        {"C:\\path", "C:\\path"},
    };
    char out[128];
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(pair); i++) {
        size_t length = artel__clean(pair[i][0], strlen(pair[i][0]), out, sizeof out);
        assert_string_equal(out, pair[i][1]);
        assert_int_equal(length, strlen(out));
    }
    for (size_t size = 1; size < 12; size++) { /* whole characters and escapes only */
        static const size_t fits[] = {0, 0, 0, 2, 3, 3, 3, 3, 7, 7, 7, 7};
        assert_int_equal(artel__clean("ö!\x1b", 4, out, size), fits[size]);
    }
}

/* Each conversion as printf makes it, but for the words. */
static void lines(void **state)
{
    artel_context *ctx;
    artel__text text;
    char wanted[512];
    (void)state;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__text_init(&text, ctx);
#define EACH                                                                                                           \
    "%s|%-6s|%6s|%.2s|%-*s|%*.*f|%d|%5lld|%-5ld|%05.1f|%zu|%x|%c|100%%|%.7g|%u\n", "ab", "ab", "ab", "abc", 4, "x", 8, \
        2, 3.14159, -7, (long long)1 << 40, -5L, 2.25, (size_t)9, 255u, 'z', 0.1, 4000000000u
    artel__text_show(&text, EACH);
    snprintf(wanted, sizeof wanted, EACH);
    assert_string_equal(text.data, wanted);
    artel__text_clear(&text);
    artel__text_show(&text, "[%-8s][%8.3s]\n", "a\nb", "\x1b[31m");
    assert_string_equal(text.data, "[a\\nb    ][  \\x1b[3]\n");
    artel__text_clear(&text);
    char *longest = malloc(3001); /* cut between characters, wherever that is */
    for (size_t i = 0; i < 3000; i++) longest[i] = "\xe5\xb1\xa4"[i % 3];
    longest[3000] = '\0';
    artel__text_show(&text, "%s", longest);
    assert_string_equal(text.data, longest);
    free(longest);
    artel__text_fini(&text);
    artel_context_destroy(ctx);
}

static void keep(void *user, artel_log_level level, const char *message)
{
    (void)level;
    strcpy(user, message);
}

/* Errors and the log are cleaned as a whole. */
static void errors_and_log(void **state)
{
    char line[1024] = "";
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    artel_context *ctx;
    (void)state;
    options.log = keep;
    options.log_user = line;
    assert_int_equal(artel_context_create(&options, &ctx), ARTEL_OK);
    artel__log(ctx, ARTEL_LOG_NOTE, "layer %s", "a\x1b[2J\nartel: error: no");
    assert_string_equal(line, "layer a\\x1b[2J\\nartel: error: no");
    artel__fail(ctx, ARTEL_ERROR_INVALID, "m\r.json", "use \n", "an activation %s", "relu\nartel: note: all good");
    const artel_error *error = artel_context_error(ctx);
    assert_string_equal(error->where, "m\\r.json");
    assert_string_equal(error->what, "an activation relu\\nartel: note: all good");
    assert_string_equal(error->advice, "use \\n");
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(lines),
                                       cmocka_unit_test(errors_and_log)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
