/* SPDX-License-Identifier: Apache-2.0 */
#include "api/help_forms.h"

const api_form api_forms[API_FORMS] = {{"default", 0, 1},  {"one-device", 1, 1}, {"one-device", 1, 3},
                                       {"mirrored", 2, 2}, {"mirrored", 3, 3},   {"central-storage", 3, 3},
                                       {"mirrored", 8, 2}};

artel_strategy *api_strategy(artel_context *ctx, const api_form *form, int64_t batch)
{
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_strategy *s = NULL;
    o.strategy = form->strategy;
    o.replicas = form->replicas;
    o.threads = form->threads;
    o.batch_size = batch;
    o.seed = 11;
    api_ok(ctx, artel_strategy_create(ctx, &o, &s));
    return s;
}
