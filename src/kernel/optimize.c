/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules, and what follows from it. */
#include "kernel/optimize.h"

const artel__rule_def artel__rules[ARTEL__RULE_COUNT] = {
#define RULE(NAME, name, ...) [ARTEL__RULE_##NAME] = {__VA_ARGS__},
#include "kernel/optimizers.list"
#undef RULE
};

bool artel__slot_exists(artel__slot_when when, const artel__apply_options *options)
{
    switch (when) {
    case ARTEL__SLOT_NEVER: return false;
    case ARTEL__SLOT_ALWAYS:
    case ARTEL__SLOT_COPY:
    case ARTEL__SLOT_SCRATCH: return true;
    case ARTEL__SLOT_MOMENTUM: return options->momentum != 0;
    case ARTEL__SLOT_CENTERED: return options->centered;
    case ARTEL__SLOT_AMSGRAD: return options->amsgrad;
    }
    return false;
}

bool artel__rule_changes_idle(const artel__apply_options *options, bool empty)
{
    const artel__rule_def *rule = &artel__rules[options->rule];
    bool kept = false;
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) kept = kept || artel__slot_exists(rule->slot[k].when, options);
    if (options->weight_decay > 0 || rule->idle == ARTEL__IDLE_CHANGES) return true;
    if (rule->divides && !((float)options->epsilon > 0.0f)) return true; /* to NaN, it may be */
    return rule->idle == ARTEL__IDLE_FADES && kept && !empty;
}
