/* SPDX-License-Identifier: Apache-2.0 */
/* What the coordinator has given to the servers, and who holds what.
 *
 * Its own session holds the last whole state: of the start, or of the last phase of training. A state that is installed
 * has a number, which all messages about it name. A part has a head and, with copies, servers that have the same; an
 * epoch, which the coordinator gives them with their roles, tells holders of now from those of before. In a new
 * generation each part is given to those that still have it, a copy is made where one is missing, and nothing is lost.
 * Where nobody has a part any more, the whole state is installed anew, under another number, and the phase begins
 * again.
 */
#ifndef ARTEL_TRAIN_INSTALL_H
#define ARTEL_TRAIN_INSTALL_H

#include "train/coordinate.h"

typedef struct artel__installed_part {
    artel__lane_slot call;
    artel__entry *state;
    int count;
    artel__entry *given; /* what of it is sent when it is installed */
    int gives;
    uint8_t *taken; /* what was fetched last, until all have come */
    size_t bytes;
    int task;                                 /* the head */
    int copies, copy[ARTEL__MOST_COPIES - 1]; /* tasks that have one */
    int rank;                                 /* of the head, in this generation */
    uint64_t epoch;                           /* of the last assignment that all have heard */
} artel__installed_part;

typedef struct artel__installed {
    artel__fit *fit;
    artel__arena arena; /* of the division */
    artel__division division;
    artel__net_piece *piece;
    artel__installed_part *part; /* by number */
    int parts;
    uint64_t number;                /* 0: nothing has been installed */
    uint64_t chief;                 /* this life of it, for votes; 0: not drawn yet */
    uint64_t reign;                 /* chiefs that have had a majority, with this one; 0: it has had none yet */
    uint64_t epoch;                 /* the last one that was given */
    bool told_placement, explained; /* how it is; with the plan */
    uint64_t *traffic;              /* by piece: of what was fetched last, since step `since` */
    int64_t since;
    /* balance.c: the loads of pieces by which they are placed; NULL: by bytes. */
    uint64_t *load;
    int loads;
    uint8_t *placed;       /* part of each piece; NULL: as artel__division_make says */
    double before, after;  /* traffic of the fullest server over the mean; 0: nothing has moved */
    bool weighed;          /* it has been decided */
    bool moves;            /* the state that was fetched last is to be installed so, in the next generation */
    artel__lane lane[256]; /* by rank, of this generation */
    artel__lane_slot call; /* to one server */
} artel__installed;

void artel__installed_init(artel__installed *installed, artel__fit *fit);
void artel__installed_fini(artel__installed *installed);
/* Begins a generation: before all calls. */
void artel__installed_enter(artel__installed *installed, const artel__service *service);
/* meet.c: ARTEL_OK when there is a majority of servers, and they know it; else waits for one until the generation is
 * over. */
artel_status artel__installed_meet(artel__installed *installed, const artel__service *service);
/* In a new generation: the parts are there, or are made anew and the phase begins again. Here and below ARTEL_AGAIN:
 * that is over, too. */
artel_status artel__installed_look_after(artel__installed *installed, const artel__service *service,
                                         artel__phase_run *phase);
/* Takes the state of all parts, which must have applied fit->at.iteration updates: all of it, or nothing. */
artel_status artel__installed_fetch(artel__installed *installed, const artel__service *service);
/* Tells all servers of the generation that nothing follows. */
artel_status artel__installed_end(artel__installed *installed, const artel__service *service);

/* balance.c: at the end of an epoch, when its state was fetched: whether the first one that was seen whole says that
 * pieces lie better elsewhere. ARTEL_AGAIN: they do, and move in the next generation. */
artel_status artel__installed_balance(artel__installed *installed, const artel__service *service);
/* Of a division that has just been made. */
artel_status artel__installed_place(artel__installed *installed);

/* hold.c: gives each part to servers of this generation that have it, and makes copies. *lost: nobody has it (a part),
 * else -1. */
artel_status artel__installed_hold(artel__installed *installed, const artel__service *service, int *lost);
/* Only looks for one that nobody has. */
artel_status artel__installed_find(artel__installed *installed, const artel__service *service, int *lost);
/* Roles of parts that have just been installed at heads and copies. */
artel_status artel__installed_assign(artel__installed *installed, const artel__service *service);

/* One call to the server of that rank, and its answer; until artel__installed_done. */
artel_status artel__installed_ask(artel__installed *installed, const artel__service *service, int rank,
                                  const artel__lane_head *head, artel__lane_head *answer);
artel_status artel__installed_done(artel__installed *installed, artel_status status, int rank);

#endif
