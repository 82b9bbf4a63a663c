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

/* The length of the name of an action that the text begins with; 0: of none. */
static size_t action_length(const artel__action *actions, const char *text)
{
    size_t length = strcspn(text, ",: ");
    for (; actions->name; actions++)
        if (strlen(actions->name) == length && strncmp(actions->name, text, length) == 0) return length;
    return 0;
}

/* Whether an option is for the action, by a help of the form "make, split: this; stats: that"; without names it is for
 * all. */
static bool is_for(const artel__action *actions, const char *help, const char *name)
{
    bool named = false;
    for (const char *part = help; part; part = strstr(part, "; ")) {
        bool here = false;
        const char *at = part + (part > help ? 2 : 0);
        size_t length;
        part = at;
        while ((length = action_length(actions, at)) > 0) {
            here = here || (strlen(name) == length && strncmp(name, at, length) == 0);
            at += length;
            if (strncmp(at, ", ", 2) != 0) break;
            at += 2;
        }
        if (at == part || *at != ':') continue;
        if (here) return true;
        named = true;
    }
    return !named;
}

static artel_status check_options(artel__invocation *call, const artel__action *actions, const char *name)
{
    const artel__option *options = call->command->options;
    for (int i = 0; options && options[i].name; i++) {
        if (!call->typed[i] || is_for(actions, options[i].help, name)) continue;
        char option[64];
        snprintf(option, sizeof option, "--%s", options[i].name);
        return artel__cli_usage(call, option, "%s takes no such option (%s)", name, options[i].help);
    }
    return ARTEL_OK;
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
    ARTEL_TRY(check_options(call, actions, action->name));
    *out = action;
    return ARTEL_OK;
}
