/* SPDX-License-Identifier: Apache-2.0 */
/* A part of the variables at a server: what it has, what closures read of it and do to it. Who may say what, and when,
 * is the server's (own.c). */
#ifndef ARTEL_FUNCTION_OWNED_H
#define ARTEL_FUNCTION_OWNED_H

#include "function/closure.h"
#include "ps/applied.h"
#include "ps/chain.h"

typedef struct artel__owned_part {
    artel__chain chain;
    artel_strategy *strategy;
    artel__arena arena;
    artel__book *book;
    int number;
    uint64_t life;          /* of the values of the beginning that it goes back to: another one, other values */
    uint64_t epoch;         /* of the chief's last word about who holds it; 0: there was none */
    uint64_t updates;       /* of closures */
    uint64_t version;       /* all changes, from 1 on: the same at each holder */
    uint64_t read, written; /* bytes that workers have read, and sent as updates, here */
    artel__applied applied; /* by number of the closure; those before its base are done */
    artel__row_lists *rows; /* by function */
    int32_t *asked;         /* rows of a piece that are asked for */
    int32_t asked_room;
    artel__net_piece *piece; /* of the message in work */
} artel__owned_part;

/* With the values of the beginning. */
artel_status artel__owned_create(artel_strategy *strategy, int number, artel__owned_part **out);
void artel__owned_destroy(artel__owned_part *part); /* NULL accepted */

/* An update of the message `call` (APPLY, STORE, RESTORE) is put in its place; part->piece are its pieces, *count of
 * them, where they lie in the message. Errors: ARTEL_ERROR_INVALID. */
artel_status artel__owned_put(artel__owned_part *part, unsigned op, const artel__lane_head *in,
                              const artel__lane_slot *call, int *count);
/* What was put becomes part of the state. */
artel_status artel__owned_apply(artel__owned_part *part, unsigned op, const artel__lane_head *in,
                                const artel__lane_slot *call);
/* Answers, copied into the room of the call: *count pieces of part->piece. READ: what a function reads, unless `in`
 * says that it is known. FETCH: a piece. */
artel_status artel__owned_read(artel__owned_part *part, artel__chain_client *client, artel__chain_call *at,
                               const artel__lane_head *in, artel__lane_head *out, int *count);
artel_status artel__owned_fetch(artel__owned_part *part, artel__chain_client *client, artel__chain_call *at,
                                const artel__lane_head *in, int *count);
/* KEEP; and the whole part, which a server that has none takes: the same, and which closures it has. */
artel_status artel__owned_keep(artel__owned_part *part, artel__chain_client *client, artel__chain_call *at,
                               artel__lane_head *out, int *count);
artel_status artel__owned_copy(artel__owned_part *part, artel__chain_client *client, artel__chain_call *at,
                               artel__lane_head *out, int *count);
artel_status artel__owned_install(artel__owned_part *part, const artel__lane_head *in, const artel__lane_slot *call);

#endif
