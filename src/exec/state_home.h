/* SPDX-License-Identifier: Apache-2.0 */
/* States whose values a device keeps in a memory of its own.
 *
 * A device that steps makes itself the home of the state it was created with. From then on there are two copies, of
 * which one may be newer: the device's after an apply (artel__state_leave), this machine's after somebody has stored
 * something (artel__state_return says so, once). Whoever reads a state brings what is newer home first; all executions
 * of one device share its copy.
 */
#ifndef ARTEL_EXEC_STATE_HOME_H
#define ARTEL_EXEC_STATE_HOME_H

#include "exec/state.h"

typedef struct artel__state_home {
    /* Writes the image of all variables, from the device's copy. */
    artel_status (*bring)(void *self, const artel__state *state, void *image);
    void (*drop)(void *self); /* the state goes, or finds another home */
} artel__state_home;

/* `self` belongs to the state from here on. What an earlier home holds is brought first; when that fails, nothing has
 * changed. */
artel_status artel__state_settle_at(artel__state *state, const artel__state_home *home, void *self);
/* What was given for this home; NULL: it is not the state's. */
void *artel__state_at(const artel__state *state, const artel__state_home *home);
/* The device's copy has changed. */
void artel__state_leave(artel__state *state);
/* Whether this machine's copy has changed since the last call, so that the device has to take it. */
bool artel__state_return(artel__state *state);

#endif
