/* SPDX-License-Identifier: Apache-2.0 */
/* Words behind a subcommand that say what it does: artel data make, artel cert issue. */
#ifndef ARTEL_CLI_ACTION_H
#define ARTEL_CLI_ACTION_H

#include "cli/cli.h"

typedef struct artel__action {
    const char *name;
    int least, most; /* arguments, the action among them */
    const char *usage;
    artel_status (*run)(artel__invocation *call);
} artel__action;

/* The action that the first argument names, of a table that ends with one without a name. A usage error when there is
 * none of that name, when the arguments are too few or too many for it, or when a word gives an option whose help says
 * that it is for others ("make, split: number of files"). */
artel_status artel__action_find(artel__invocation *call, const artel__action *actions, const artel__action **out);

#endif
