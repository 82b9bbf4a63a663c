/* SPDX-License-Identifier: Apache-2.0 */
/* Closures over parameter servers: what the chief, workers and servers of a strategy say to one another, and what a
 * server owns.
 *
 * The chief (coordinate.c) deals closures out to workers that ask, asks servers for variables, and gives them back. A
 * worker (work.c) reads variables from servers, runs, sends what is to be written to servers, then the outputs to the
 * chief. A server (own.c, book.c) owns variables and slots, and applies each closure's updates once.
 *
 * All are members of the mesh, in a generation at a time (closure_job.c). When somebody comes or goes all drop what is
 * under way and meet again: closures without a result are dealt out again, and servers know by their numbers those that
 * they have applied.
 */
#ifndef ARTEL_FUNCTION_CLOSURE_H
#define ARTEL_FUNCTION_CLOSURE_H

#include "function/function_impl.h"
#include "ps/rows.h"

enum {
    ARTEL__MOST_IN_FLIGHT = 64, /* closures that a worker has at a time */
    ARTEL__MOST_MEMBERS = 256,
    ARTEL__CLOSURES_APART = 1 << 26, /* numbers from the oldest closure that is out on: none beyond is dealt out */
    ARTEL__CLOSURES_KNOWN = 1 << 16  /* that are done everywhere, before a part forgets them together */
};

/* Values are part of the wire format. Of calls about a part its number is in the lowest 8 bits of b; above them, of
 * COPY and INSTALL, the epoch. `install` is the number of the coordinator's life in all but ASK and those of workers to
 * the chief. */
typedef enum artel__closure_op {
    ARTEL__CLOSURE_TICKET = 1, /* worker -> chief: give me one. Answer: part: the function; item: its number; a: rows;
                                  b: 1 + data; inputs, the number of the run, heads */
    ARTEL__CLOSURE_RESULT =
        2, /* outputs, or a failure; and give me the next. a: ns it took, b: ns to plan it; position: rows */
    ARTEL__CLOSURE_ASK = 3, /* chief -> server: a: its life; b: 0: it begins. Answer: a of artel__owned_held */
    ARTEL__CLOSURE_READ =
        4, /* worker -> server: what a function reads; position: known already; tokens of tables. Answer: position, the
              variables that are no tables, unless they are known; rows of tables */
    ARTEL__CLOSURE_APPLY = 5,   /* worker -> server: updates of closure `item` */
    ARTEL__CLOSURE_FETCH = 6,   /* chief -> server: piece `part` */
    ARTEL__CLOSURE_STORE = 7,   /* piece `part` is now this */
    ARTEL__CLOSURE_KEEP = 8,    /* all that it owns. Answer: a: bytes */
    ARTEL__CLOSURE_RESTORE = 9, /* all that it owns is now this */
    ARTEL__CLOSURE_END = 10,
    ARTEL__CLOSURE_ASSIGN = 11,  /* chief -> server: head (position: 1) or copy of a part; a: epoch; item: 1 + rank of
                                    each  copy, 16 bits each */
    ARTEL__CLOSURE_COPY = 12,    /* chief -> head: give the part to the server of rank `item`, for the epoch in b */
    ARTEL__CLOSURE_INSTALL = 13, /* head -> server: all of a part. item: its life; position: version; a: updates; rate:
                                    the number before which all closures are done, in its bits */
    ARTEL__CLOSURE_FORWARD = 14, /* head -> copy: what `flags` says, at version `position` */
    ARTEL__CLOSURE_DROP = 15     /* chief -> server: others hold the part: what it has of it is void */
} artel__closure_op;

enum {
    ARTEL__CLOSURE_OK = 0,
    ARTEL__CLOSURE_STALE = 1, /* of another coordinator's life */
    ARTEL__CLOSURE_SAME = 2,  /* nothing is newer than what is known: rows alone follow */
    ARTEL__CLOSURE_OVER = 3,  /* there are no more closures */
    ARTEL__CLOSURE_FAILED = 4 /* RESULT: an artel_error follows */
};

/* A part that a server has: an answer. */
typedef struct artel__owned_held {
    uint64_t part, life, epoch, version, updates;
} artel__owned_held;

/* This task among those of a generation. */
typedef struct artel__closure_job {
    artel_strategy *strategy;
    artel_context *ctx;
    artel_cluster *cluster;
    artel__mesh_seat seat;
    artel__endpoint *endpoint;
    artel__task_type type[ARTEL__MOST_MEMBERS]; /* by rank */
    int index[ARTEL__MOST_MEMBERS];             /* within its type */
    int server[ARTEL__MOST_MEMBERS];            /* rank by index; -1: it is not here */
    int chief, servers, workers;                /* rank; how many are here */
    int64_t chiefless_ns;                       /* since when the chief is not here; 0: it is */
    bool last;                                  /* asked to end */
    bool aside; /* in a thread beside that of the context, whose failures are its own affair */
} artel__closure_job;

/* What a role does in a generation: ARTEL_OK when all is done, ARTEL_AGAIN when the generation is over; all that was
 * posted is withdrawn. */
typedef artel_status artel__closure_role_fn(artel__closure_job *job, void *user);

/* From one generation to the next, until the job is done. Any thread, one at a time. */
artel_status artel__closure_run(artel_strategy *strategy, bool aside, artel__closure_role_fn *role, void *user);
artel__lane artel__closure_lane(const artel__closure_job *job, int rank);
artel_status artel__closure_move(const artel__closure_job *job);
artel_status artel__closure_wait(const artel__closure_job *job);
artel_status artel__closure_misfit(artel_context *ctx, const char *who);
/* By its number; NULL: there is none. */
artel_function *artel__closure_function(const artel_strategy *strategy, uint32_t number);

/* Bytes of what an update has of a piece on the wire, in their order: value, squares (of a statistic what it was),
 * norm; returns how many. Updates follow one another, and the pieces of each of them that are in the part. */
int artel__update_parts(const artel__update *update, const artel__owned_piece *piece, size_t bytes[3]);
/* The next piece of a variable, from number *piece on, that is in the part; NULL: there is none. */
const artel__owned_piece *artel__closure_piece(const artel_strategy *strategy, int variable, int part, int *piece);
static inline size_t artel__span_bytes(const artel__span *span)
{
    return (size_t)(span->end - span->first) * sizeof(float);
}
/* The same of what a function reads of its read number `read`: *out of the piece (spans.c). Of a table all of it. */
const artel__owned_piece *artel__closure_read(const artel_function *function, int read, int part, int *piece,
                                              artel__span *out);
/* Rows of tables that a function reads of a part, and those that it writes, by the numbers of reads' tables and of
 * updates (tables.c). They follow what is whole in messages. */
typedef struct artel__row_lists {
    artel__row_list read, update;
} artel__row_lists;
artel_status artel__row_lists_make(artel__arena *arena, const artel_function *function, int part,
                                   artel__row_lists *out);
/* Bytes of an output, of so many rows. */
size_t artel__output_bytes(const artel_function *function, int output, int64_t rows);
/* Behind the inputs of a closure: the number of its run, and the rank of the head of each part. */
static inline size_t artel__closure_heads(const artel_strategy *strategy)
{
    return (size_t)strategy->servers * sizeof(int32_t);
}
/* Most bytes of any message between these tasks. */
size_t artel__closure_most(const artel_strategy *strategy);

/* Of the variables of a part. */
int64_t artel__part_bytes(const artel_strategy *strategy, int part);

/* -- what a server owns (book.c) -- */

typedef struct artel__book artel__book;
artel_status artel__book_create(artel_strategy *strategy, int server, artel__book **out);
void artel__book_destroy(artel__book *book);
/* The memory of a piece that it owns, all of it as new as the part; or where those rows of it are. */
const float *artel__book_rows(artel__book *book, int piece, const int32_t *row, int32_t count);
float *artel__book_piece(artel__book *book, const artel__owned_piece *piece);
/* Where the k-th of what an update has of a piece is put. */
void *artel__book_room(artel__book *book, const artel__update *update, const artel__owned_piece *piece, int k);
/* Puts rows of a table's update in their place. False: a token is none of the piece. */
bool artel__book_put_rows(artel__book *book, const artel__row_piece *rows);
/* Applies what was put there for a function. `rate` negative: the schedule's. ARTEL_ERROR_NO_MEMORY: nothing is done.
 */
artel_status artel__book_apply(artel__book *book, const artel_function *function, double rate);
/* Variables and slots as bytes, and back; updates applied to each optimizer's variables are among them. */
size_t artel__book_bytes(const artel__book *book);
void artel__book_image(artel__book *book, void *image);
void artel__book_restore(artel__book *book, const void *image);

/* -- data of workers (worker_data.c) -- */

/* By its number + 1; NULL: there is none. */
artel_worker_data *artel__worker_data_find(const artel_strategy *strategy, uint64_t number);
artel_status artel__worker_data_open(artel_strategy *strategy, int worker);
artel_status artel__worker_data_next(artel_worker_data *data, int worker, artel_array *arrays);
void artel__worker_data_close(artel_strategy *strategy);

/* Roles of workers and servers. */
artel_status artel__closure_work(artel_strategy *strategy);
artel_status artel__closure_own(artel_strategy *strategy, int server);

#endif
