/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a state: one block, in which each variable has its offset, and the device that may have newer values.
 * For this room and tests. */
#ifndef ARTEL_EXEC_STATE_IMPL_H
#define ARTEL_EXEC_STATE_IMPL_H

#include "exec/state_home.h"

struct artel__state {
    artel_context *ctx;
    const artel__variables *variables;
    uint8_t *block; /* variables->bytes long */
    const artel__state_home *home;
    void *self;   /* of the home */
    bool ahead;   /* the values at home are newer than the block */
    bool written; /* so is the block than those at home */
};

/* A variable in its layout. */
static inline void *artel__state_data(const artel__state *state, int variable)
{
    return state->block + state->variables->item[variable].offset;
}

#endif
