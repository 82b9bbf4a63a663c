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
