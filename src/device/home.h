/* SPDX-License-Identifier: Apache-2.0 */
/* Variables in the memory of a device, as exec/state_home.h has it. */
#ifndef ARTEL_DEVICE_HOME_H
#define ARTEL_DEVICE_HOME_H

#include "device/executable.h"
#include "exec/state_home.h"
#include "kernel/held_rows.h"

typedef struct artel__home_table artel__home_table; /* home_rows.c */

typedef struct artel__device_home {
    artel_context *ctx;
    artel__platform *platform;
    int device;
    artel__buffer **variable; /* by index; NULL: not there yet */
    artel__home_table *table; /* by variable: of which rows are placed alone; NULL: there are none */
    int count;
    bool stale;          /* what this machine has changed was not taken whole */
    int64_t changes;     /* how often variables have changed */
    artel_status failed; /* of the last step: the variables are lost */
} artel__device_home;

/* Makes the device the home of the state, unless it is; the home belongs to the state. */
artel_status artel__device_home_settle(artel_context *ctx, artel__platform *platform, int device, artel__state *state,
                                       artel__device_home **out);
/* One that is not the state's: values are taken from it, and newer ones do not come to be here. */
artel_status artel__device_home_create(artel_context *ctx, artel__platform *platform, int device, int count,
                                       artel__device_home **out);
void artel__device_home_destroy(artel__device_home *home);
/* Takes the value that this machine has. */
artel_status artel__device_home_take(artel__device_home *home, const artel__state *state, int variable);
/* Takes what this machine has changed; tables of which it has rows alone (`held`, by variable; NULL: none) are no part
 * of that. */
artel_status artel__device_home_update(artel__device_home *home, artel__state *state, const artel__held_rows *held);
/* Puts the rows that are held of a table into their places there (home_rows.c). */
artel_status artel__device_home_place(artel__device_home *home, const artel__state *state, int variable,
                                      const artel__held_rows *held);
bool artel__device_home_places(const artel__device_home *home, int variable); /* else it is there as it is here */
void artel__device_home_drop_table(artel__device_home *home, int variable);
void artel__device_home_drop_tables(artel__device_home *home);

#endif
