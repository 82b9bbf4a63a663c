/* SPDX-License-Identifier: Apache-2.0 */
/* A strategy over servers within one process: what a worker reads and sends (as function/work.c does), and the parts
 * that servers own (function/owned.c), with messages between them as they travel, without tasks, threads or a network.
 */
#ifndef ARTEL_TESTS_FUNCTION_HELP_CLOSURES_H
#define ARTEL_TESTS_FUNCTION_HELP_CLOSURES_H

#include "function/owned.h"
#include "net/inproc.h"

enum {
    CLOSURES_PARTS = 5,
    CLOSURES_MOST = 512 /* pieces of a message */
};

typedef struct closures {
    artel_context *ctx;
    artel_strategy *strategy;
    artel__fabric *fabric;
    artel__owned_part *part[CLOSURES_PARTS];
    artel__row_lists rows[CLOSURES_PARTS]; /* of the worker, of the function in work */
    artel__chain_client client;            /* of each part, at a server */
    uint64_t known[CLOSURES_PARTS];        /* the version that was read last of each part; 0: none */
    uint64_t number;                       /* of the next closure */
    size_t read, written;                  /* bytes, behind heads, of all closures */
    artel__lane_slot slot;                 /* the message that was said last */
    artel__net_piece piece[CLOSURES_MOST]; /* its pieces; the first is its head */
} closures;

/* A strategy whose variables so many servers will own; 0: the process itself does. `cut`: as ps_partitioner. */
void closures_open(closures *c, int servers, const char *cut);
/* What was declared is final; servers have the values of the beginning. */
void closures_begin(closures *c);
void closures_close(closures *c); /* but for its context */

/* A model of one table, whose rows are its outputs for so many tokens; and the table. */
artel_model *closures_add_table(closures *c, int rows, int width, int tokens, artel_variable **table);

/* A message of `count` pieces, from c->piece[1] on. */
const artel__lane_slot *closures_say(closures *c, int count);
/* Has the part apply a message; ARTEL_ERROR_INVALID as a server ends by it. */
artel_status closures_apply(closures *c, int part, const artel__lane_head *head, int count);
/* Reads of a part what the function wants, with c->piece as tokens; *out: the pieces of the answer, count of them. */
artel_status closures_read(closures *c, int part, const artel__lane_head *head, int count, const artel__net_piece **out,
                           int *pieces);

/* A closure, from its reading to what it writes; in a strategy without servers the function is run. */
void closures_run(closures *c, artel_function *f, const artel_array *in, const artel_array *out, int64_t rows);
/* The elements of a variable, wherever they lie, in the order of memory. */
void closures_fetch(closures *c, const artel_variable *variable, float *out);

#endif
