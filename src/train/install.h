/* SPDX-License-Identifier: Apache-2.0 */
/* What the coordinator has given to the servers.
 *
 * Its own session holds the last whole state: of the start, or of the last phase of training. A state that is installed has a number,
 * which all messages about it name. Where a part of it is lost, the whole state is installed anew, under another number, and the phase
 * begins again.
 */
#ifndef ARTEL_TRAIN_INSTALL_H
#define ARTEL_TRAIN_INSTALL_H

#include "train/coordinate.h"

typedef struct artel__installed_part {
    artel__lane lane; /* to the server that has it */
    artel__lane_slot call;
    artel__entry *state;
    int count;
    uint8_t *taken; /* what was fetched last, until all have come */
    size_t bytes;
    int task;
} artel__installed_part;

typedef struct artel__installed {
    artel__fit *fit;
    artel__arena arena; /* of the division */
    artel__division division;
    artel__net_piece *piece;
    artel__installed_part *server; /* those that have parts, then others of this generation */
    int servers, idle;
    uint64_t number; /* 0: nothing has been installed */
    bool told_placement;
} artel__installed;

void artel__installed_init(artel__installed *installed, artel__fit *fit);
void artel__installed_fini(artel__installed *installed);
/* In a new generation: the parts are there, or are made anew and the phase begins again. Here and below ARTEL_AGAIN: that is over, too. */
artel_status artel__installed_look_after(artel__installed *installed, const artel__service *service, artel__phase_run *phase);
/* The same when training is over: nobody needs a part any more. */
artel_status artel__installed_leave(artel__installed *installed, const artel__service *service);
/* Takes the state of all parts, which must have applied fit->iteration updates: all of it, or nothing. */
artel_status artel__installed_fetch(artel__installed *installed, const artel__service *service);
/* Tells all servers of the generation that nothing follows. */
artel_status artel__installed_end(artel__installed *installed, const artel__service *service);

#endif
