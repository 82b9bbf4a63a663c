/* SPDX-License-Identifier: Apache-2.0 */
/* States, and which may follow which: a table for each kind. What is in one state after another is moved by functions
 * that look into the table (mesh_state.h, membership_impl.h). */
#ifndef ARTEL_CLUSTER_MOVES_H
#define ARTEL_CLUSTER_MOVES_H

#include <stdbool.h>
#include <stdint.h>

#define ARTEL__MOVE_TO(state) (UINT32_C(1) << (state))

typedef struct artel__move_state {
    const char *name;
    uint32_t to; /* ARTEL__MOVE_TO each state that may follow; staying is no move and always may be */
} artel__move_state;

typedef struct artel__moves {
    const char *of;
    const artel__move_state *state;
    int states; /* the first is the one that zeroed memory is in */
} artel__moves;

bool artel__may_move(const artel__moves *moves, int from, int to);
/* Asserts it, in debug builds: a move that the table lacks is a fault of this program, whatever peers do. */
void artel__check_move(const artel__moves *moves, int from, int to);

#endif
