/* SPDX-License-Identifier: Apache-2.0 */
/* Where a task listens that others know by some address, and where it reaches itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cluster/listen.h"

static const struct {
    const char *known, *bind, *listens, *reach; /* listens NULL: `bind` is refused */
} rows[] = {
    {"10.0.0.5:2222", NULL, "0.0.0.0:2222", "127.0.0.1:2222"},
    {"node1:2222", NULL, "0.0.0.0:2222", "127.0.0.1:2222"},
    {"localhost:2222", NULL, "127.0.0.1:2222", "127.0.0.1:2222"},
    {"127.0.0.1:2222", NULL, "127.0.0.1:2222", "127.0.0.1:2222"},
    {"127.0.0.2:2222", NULL, "127.0.0.2:2222", "127.0.0.2:2222"},
    {"[::1]:2222", NULL, "[::1]:2222", "[::1]:2222"},
    {"[fd00::5]:2222", NULL, "[::]:2222", "[::1]:2222"},
    {"node1:2222", "10.0.0.5", "10.0.0.5:2222", "10.0.0.5:2222"},
    {"node1:2222", "0.0.0.0", "0.0.0.0:2222", "127.0.0.1:2222"},
    {"node1:2222", "::", "[::]:2222", "[::1]:2222"},
    {"127.0.0.2:2222", "::1", "[::1]:2222", "[::1]:2222"},
    {"node1:2222", "node1", NULL, NULL},
    {"node1:2222", "10.0.0.256", NULL, NULL},
};

static void test_rows(void **state)
{
    artel_context *ctx;
    (void)state;
    assert_int_equal(ARTEL_OK, artel_context_create(NULL, &ctx));
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        artel__host_port known;
        artel__net_address listening, reach;
        char text[ARTEL__NET_ADDRESS_TEXT];
        assert_null(artel__host_port_parse(rows[i].known, &known));
        artel_status status = artel__listen_address(ctx, &known, rows[i].bind, known.port, &listening);
        assert_int_equal(rows[i].listens ? ARTEL_OK : ARTEL_ERROR_INVALID, status);
        if (status < 0) continue;
        assert_string_equal(artel__net_address_text(&listening, text), rows[i].listens);
        artel__listen_reach(&listening, known.port, &reach);
        assert_string_equal(artel__net_address_text(&reach, text), rows[i].reach);
    }
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
