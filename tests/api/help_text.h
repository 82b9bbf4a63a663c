/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of strings share: a context with an eager object, texts of constants. */
#ifndef TESTS_API_HELP_TEXT_H
#define TESTS_API_HELP_TEXT_H

#include "api/help_api.h"

#include "artel/eager.h"

#define WORD(text)             \
    {                          \
        text, sizeof(text) - 1 \
    }

typedef struct scene {
    artel_context *ctx;
    artel_eager *e;
} scene;

scene begin(void);
void end(scene *s);

#endif
