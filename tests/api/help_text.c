/* SPDX-License-Identifier: Apache-2.0 */
#include "api/help_text.h"

scene begin(void)
{
    scene s = {.ctx = api_context()};
    api_ok(s.ctx, artel_eager_create(s.ctx, NULL, &s.e));
    return s;
}

void end(scene *s)
{
    artel_eager_destroy(s->e);
    artel_context_destroy(s->ctx);
}

void refused(scene *s, artel_status status, artel_status wanted, const char *word)
{
    const artel_error *error = artel_context_error(s->ctx);
    assert_int_equal(status, wanted);
    if (!strstr(error->what, word) && !strstr(error->where, word))
        fail_msg("no %s in: %s: %s", word, error->where, error->what);
}
