/* SPDX-License-Identifier: Apache-2.0 */
/* All optimizers that there are, for tests that go through them. */
#ifndef TESTS_SUPPORT_OPTIMIZERS_H
#define TESTS_SUPPORT_OPTIMIZERS_H

#include <string.h>

/* All that make a step element by element, by rule; some rules have a class of another name. */
static const char *const support_rules[] = {
#define RULE(NAME, name, ...) #name,
#include "kernel/optimizers.list"
#undef RULE
};

enum { /* all that see matrices */
#define MATRIX_OPTIMIZER(name) SUPPORT_MATRIX_##name,
#include "nn/matrix_optimizers.list"
#undef MATRIX_OPTIMIZER
    SUPPORT_MATRIX_OPTIMIZERS
};

static inline const char *support_class_of(const char *rule)
{
    return strcmp(rule, "schedule_free") == 0 ? "ScheduleFreeAdamW" : rule;
}

#endif
