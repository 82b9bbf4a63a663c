/* SPDX-License-Identifier: Apache-2.0 */
/* The members of help_members.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "help_members.h"

void help_open_members(help_members *s)
{
    memset(s, 0, sizeof *s);
    for (int r = 0; r < MEMBERS; r++) assert_int_equal(artel_context_create(NULL, &s->ctx[r]), ARTEL_OK);
    assert_int_equal(artel_communicator_create(s->ctx, MEMBERS, s->c), ARTEL_OK);
}

void help_close_members(help_members *s)
{
    for (int r = 0; r < MEMBERS; r++) {
        artel_communicator_destroy(s->c[r]);
        artel_context_destroy(s->ctx[r]);
    }
}

void help_expect(help_members *s, bool right, int line)
{
    if (right) return;
    print_message("line %d\n", line);
    atomic_fetch_add(&s->wrong, 1);
}
