/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of a strategy, which all give the same bits. */
#ifndef TESTS_API_HELP_FORMS_H
#define TESTS_API_HELP_FORMS_H

#include "api/help_api.h"
#include "artel/strategy.h"

typedef struct api_form {
    const char *strategy;
    int replicas, threads;
} api_form;

enum {
    API_FORMS = 7
};
extern const api_form api_forms[API_FORMS];

/* With seed 11. */
artel_strategy *api_strategy(artel_context *ctx, const api_form *form, int64_t batch);

#endif
