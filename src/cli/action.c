/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of actions that there are not, and of arguments that do not fit. */
#include "cli/action.h"

#include <string.h>

#include "base/text.h"

enum {
    MOST_ACTIONS = 15
};

static artel_status unknown(artel__invocation *call, const artel__action *actions)
{
    const char *names[MOST_ACTIONS + 1];
    char all[256] = "they are ";
    int count = 0;
    for (; count < MOST_ACTIONS && actions[count].name; count++) {
        size_t used = strlen(all);
        names[count] = actions[count].name;
        snprintf(all + used, sizeof all - used, "%s%s", count ? ", " : "", names[count]);
    }
    names[count] = NULL;
    const char *near = artel__nearest_name(call->argument[0], names);
    return artel__cli_usage(call, call->argument[0], "no such action; %s%s", near ? "the nearest is " : all,
                            near ? near : "");
}

artel_status artel__action_find(artel__invocation *call, const artel__action *actions, const artel__action **out)
{
    const artel__action *action = actions;
    while (action->name && strcmp(call->argument[0], action->name) != 0) action++;
    if (!action->name) return unknown(call, actions);
    if (call->arguments < action->least)
        return artel__cli_usage(call, action->name, "an argument is missing; usage: artel %s %s", call->command->name,
                                action->usage);
    if (call->arguments > action->most)
        return artel__cli_usage(call, call->argument[action->most], "one argument too many; usage: artel %s %s",
                                call->command->name, action->usage);
    *out = action;
    return ARTEL_OK;
}
