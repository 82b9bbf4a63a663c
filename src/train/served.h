/* SPDX-License-Identifier: Apache-2.0 */
/* A part of the variables at a server: what it has, takes and answers. What may be done when, and copies, is the
 * server's (serve.c). */
#ifndef ARTEL_TRAIN_SERVED_H
#define ARTEL_TRAIN_SERVED_H

#include "ps/applied.h"
#include "train/rows.h"
#include "train/servers.h"
#include "train/some.h"

typedef struct artel__served_part artel__served_part;

struct artel__served_part {
    artel__chain chain; /* first: a held call leads here */
    artel__fit *fit;
    artel__arena arena; /* of the division */
    artel__division division;
    artel__store *store;
    artel__entry *list[4]; /* by artel__part_list */
    int count[4];
    size_t bytes[4];
    artel__row_list tables;
    int32_t *asked; /* tokens that are asked for, as they lie in a piece */
    int32_t asked_room;
    uint8_t *placed;   /* as it was told; NULL: the division is that of artel__division_make */
    uint64_t *traffic; /* by piece: bytes of updates and values that have come and gone in this generation */
    int number;
    uint64_t install;       /* which state */
    uint64_t epoch;         /* of the coordinator's last word about who holds the part */
    int64_t begun;          /* updates it had then */
    artel__applied applied; /* items, from the first of the state on */
    artel__net_piece *piece;
    artel__some_stage stage;    /* sync:K */
    double *numbers;            /* numbers.h; NULL: no update wants any */
    double squares;             /* of the update that is applied next */
    artel__chain_call *pending; /* whose update is in its place, and waits for other parts */
    bool has_told;              /* they have been told the numbers of one that is not applied yet */
    uint64_t telling;           /* a bit for each server that has not answered yet */
    artel__lane_slot *tell;     /* by number of the server */
    uint8_t *before; /* sync:K: 1 + the item that was applied last (0: none was), and the values before; else NULL */
};

/* NULL accepted. */
void artel__served_drop(artel__served_part *part);
/* In place of what is there; one without a state. `placed`: an installation that says which piece belongs to which
 * part, or NULL. */
artel_status artel__served_make(artel__fit *fit, const artel__service *service, int number, int parts,
                                const artel__lane_slot *placed, artel__served_part **place);
artel_status artel__served_misfit(artel__fit *fit);
/* Where an entry lies: for artel__entries_take and its like, with the part's store. */
void *artel__served_place(void *user, const artel__entry *entry);
artel_status artel__served_take_state(artel__served_part *part, const artel__lane_slot *call,
                                      const artel__lane_head *in);
artel_status artel__served_take_update(artel__served_part *part, const artel__lane_slot *call);
/* Of a step of sync:K: a share of it. *whole: the mean of K shares lies where an update is put. */
artel_status artel__served_collect(artel__served_part *part, const artel__chain_call *at, const artel__lane_head *in,
                                   bool *whole);
/* The part's pieces are those of the update that was taken last, where they lie in its message; returns how many. */
int artel__served_list_update(artel__served_part *part, const artel__lane_slot *call);
/* An update, or values, have come or gone. */
void artel__served_count(artel__served_part *part, artel__part_list list);
/* The part's pieces are those of a list from here on. */
void artel__served_list(artel__served_part *part, artel__part_list list);

/* sync:K: the values are kept as they are before `item` is applied: a share of it may be made again. */
void artel__served_keep(artel__served_part *part, uint64_t item);
/* Bytes of the numbers, which go to copies, too. */
size_t artel__served_number_bytes(const artel__served_part *part);
/* Bytes of what is kept, with the item's number; it goes to copies, too. */
size_t artel__served_kept_bytes(const artel__served_part *part);

/* The log of a server, at ARTEL_LOG_DEBUG: what a part has, and what becomes of an item (docs/parameter-servers.md). */
void artel__served_log_installed(const artel__served_part *part);
void artel__served_log_applied(const artel__served_part *part, uint64_t item);

/* Answers, but not before copies have all that has been sent them. Pieces stay until then. */
artel_status artel__served_reply(artel__served_part *part, artel__chain_client *client, artel__chain_call *at,
                                 const artel__lane_head *head, const artel__net_piece *piece, int count);
artel_status artel__served_let_go(artel__chain_client *client, artel__chain_call *at);
/* Which state it is, and how many updates it has. */
void artel__served_say_state(const artel__served_part *part, artel__lane_head *head);
/* `before`: 1 + an item: the values as they were before it, if it has been applied last; 0: as they are. */
artel_status artel__served_answer_values(artel__served_part *part, artel__chain_client *client, artel__chain_call *at,
                                         uint64_t before, artel__lane_head *head);
artel_status artel__served_answer_rows(artel__served_part *part, artel__chain_client *client, artel__chain_call *at,
                                       const artel__lane_head *in, artel__lane_head *head);

#endif
