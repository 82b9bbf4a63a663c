/* SPDX-License-Identifier: Apache-2.0 */
/* A job with parameter servers: who does what, and what they say to one another.
 *
 * - coordinator (chief): deals out items (a batch each; in sync:K a share of one), adds results up in the order of
 *   items, and owns epochs, callbacks, checkpoints;
 * - worker: computes an item with the variables it has, sends the update to the servers and takes their values, with
 *   the answer, or in bounded:S and sync:K before each item;
 * - server (ps): owns a part of the variables and of the optimizer's state (part.h), and applies each item once.
 *
 * All are members of the mesh (cluster/mesh.h), in a generation at a time. When somebody comes or goes, everybody drops
 * what is under way and meets again: items without a result are dealt out again, servers know by their number those
 * they have applied, and the coordinator looks whether all parts are still there. If one is not, it gives all servers
 * the state it took last, at the end of an epoch or at a checkpoint, and goes on from there. Nobody goes on without a
 * coordinator, and none without a majority of the servers (ps/majority.h): so no two parts of a divided job do. A
 * message's head names the state it is about (`install`): one of an older life is refused.
 */
#ifndef ARTEL_TRAIN_SERVERS_H
#define ARTEL_TRAIN_SERVERS_H

#include "ps/chain.h"
#include "train/fit_impl.h"
#include "train/part.h"

enum {
    ARTEL__MOST_SERVERS = 64,
    ARTEL__MOST_SHARES = 256, /* of a step: workers, or K of sync:K */
    ARTEL__MOST_COPIES = ARTEL__CHAIN_HOLDERS,
    ARTEL__MOST_TICKETS = 2,      /* items that a worker holds or waits for */
    ARTEL__MOST_PLACED = 1 << 20, /* pieces that are moved by their traffic */
    ARTEL__WORTH = 64 << 10       /* bytes a step that the fullest server has more than the mean, for which they are */
};

/* Operations and answers. Values are part of the wire format. */
typedef enum artel__serve_op {
    ARTEL__SERVE_ASK = 1,     /* coordinator -> server: which parts have you? Answer: a of artel__held_part */
    ARTEL__SERVE_INSTALL = 2, /* the state of a part: `part` its number and, above, how many there are; a: iteration; b:
                                epoch; item: the first; position, of a copy: iteration then */
    ARTEL__SERVE_FETCH = 3,   /* give it back */
    ARTEL__SERVE_END = 4,     /* nothing follows */
    ARTEL__SERVE_PULL = 5,    /* worker -> server: variables; b: sync:K: 1 + an item: as they were before it, if it
                                 has been applied */
    ARTEL__SERVE_PUSH = 6,    /* an update; the answer has the variables, without FLAG_ONLY. b: K of sync:K, a: rows it
                                 is of and, above 32 bits, the number of its share */
    ARTEL__SERVE_TICKET = 7,  /* worker -> coordinator: give me an item */
    ARTEL__SERVE_RESULT = 8,  /* an item's values; and give me the next one. a: mode; position: the item's serial; b:
                                 sync:K: it came too late, no part took it */
    ARTEL__SERVE_ASSIGN =
        9, /* coordinator -> server: head or copy of a part; a: epoch; b: 1 + rank of each copy, 16 bits each */
    ARTEL__SERVE_COPY = 10,    /* coordinator -> head: give the part to the server of rank a, for epoch b */
    ARTEL__SERVE_DROP = 11,    /* coordinator -> server: the part is of no use any more */
    ARTEL__SERVE_FORWARD = 12, /* head -> copy: an update; position: the updates before it */
    ARTEL__SERVE_MEET = 13,    /* coordinator -> server: a: which chief this is; b: artel__meet; position: of HOLDS, how
                                  many have had a majority. Answer: a, position: those of the last majority */
    ARTEL__SERVE_NUMBERS = 14  /* head of a part -> server: what an update wants of all parts (numbers.h) */
} artel__serve_op;

/* Of calls. */
enum {
    ARTEL__FLAG_WAIT = 1,   /* PULL: when `a` updates have been applied */
    ARTEL__FLAG_ASSIGN = 2, /* PUSH: averages are given, not differences */
    ARTEL__FLAG_ROWS = 4,   /* PULL: rows of tables, by tokens that follow (rows.h) */
    ARTEL__FLAG_ONLY = 8,   /* PULL: nothing but these; PUSH: the answer has no variables */
    ARTEL__FLAG_COPY = 16, /* INSTALL: from a server; in sync:K what artel__served_keep has kept follows, then a bit for
                              each item from the first one on: it has been applied */
    ARTEL__FLAG_HEAD = 32, /* ASSIGN */
    ARTEL__FLAG_DRAW =
        64, /* INSTALL: the state is that of the seed; large variables are not given but drawn by who owns them */
    ARTEL__FLAG_PLACED = 128 /* INSTALL: before the state, a byte for each piece: the number of its part */
};

enum {
    ARTEL__ANSWER_OK = 0,
    ARTEL__ANSWER_STALE = 1,   /* another state is installed */
    ARTEL__ANSWER_ALREADY = 2, /* the item has been applied */
    ARTEL__ANSWER_END = 3      /* to a ticket: there are no more items */
};

/* What a coordinator says of its majority. Values are part of the wire format. */
typedef enum artel__meet {
    ARTEL__MEET_ASKS = 0,
    ARTEL__MEET_HOLDS = 1, /* it has one, and is to be remembered */
    ARTEL__MEET_WAITS = 2, /* it has none */
    ARTEL__MEET_LEAVES = 3 /* it has one: another chief is not to be remembered any more */
} artel__meet;

/* A part that a server has. */
typedef struct artel__held_part {
    uint64_t part, install, epoch, position;
} artel__held_part;

/* What the coordinator answers to a ticket, behind the head; bytes of machines of one byte order, which share an
 * arithmetic class. */
typedef struct artel__item {
    uint64_t number; /* in the run: one for each batch of training */
    int64_t mode;    /* artel__mode */
    int64_t serial;  /* of the phase: where it changes, variables are pulled */
    int64_t fresh;   /* pull them for each item */
    int64_t pass, cursor, count, ordinal;
    int64_t iteration; /* about which step of the optimizer it is, for what is said of it */
    double rate;       /* negative: the schedule's */
    int64_t some;      /* sync:K: it is a share of a step, which so many shares make; 0: a step */
    int64_t share;     /* its number among the step's */
    int64_t servers;
    int64_t placed; /* so many bytes follow, the part of each piece; 0: it is as artel__division_make says */
    int32_t rank[ARTEL__MOST_SERVERS]; /* of the servers, by number of the part */
} artel__item;

/* Values that stand before those of artel__tally_read in a result. */
enum {
    ARTEL__RESULT_STALENESS, /* updates applied at a part between reading it and this one, the most of all parts */
    ARTEL__RESULT_VALUES
};

/* Which server gets a piece (--ps-placement). */
typedef enum artel__part_placing {
    ARTEL__PLACING_TRAFFIC, /* by bytes, until traffic has been measured (balance.c) */
    ARTEL__PLACING_BYTES,
    ARTEL__PLACING_ROUND_ROBIN /* as TensorFlow */
} artel__part_placing;

/* This task among those of a generation. */
typedef struct artel__service {
    artel__fit *fit;
    artel_cluster *cluster;
    artel__mesh_seat seat;
    artel__endpoint *endpoint;
    artel__task_type type[256]; /* by rank */
    int task[256];
    int chief, servers, workers;     /* rank of the chief, -1: it is not here; how many */
    int server[ARTEL__MOST_SERVERS]; /* their ranks */
    bool sync;                       /* all workers compute each batch together */
    int some;                        /* K of sync:K: a step is the first K shares of a batch (shares.h); 0 */
    int64_t staleness;               /* S of bounded:S; -1: async */
    artel__part_placing placing;
    bool stops; /* where nobody has a part any more, instead of going back */
    artel__division_rule rule;
    int copies;     /* of each part, with its head */
    uint64_t worth; /* ARTEL__WORTH */
} artel__service;

/* What a role does in a generation: ARTEL_OK when all is done, ARTEL_AGAIN when the generation is over; everything that
 * was posted is withdrawn. */
artel_status artel__coordinate(artel__service *service, void *user);
artel_status artel__work(artel__service *service, void *user);
artel_status artel__serve(artel__service *service, void *user);

/* Lives of what these keep from one generation to the next. */
artel_status artel__coordinator_create(artel__fit *fit, void **out);
void artel__coordinator_destroy(artel__fit *fit, void *user);
void artel__coordinator_go_back(artel__fit *fit, void *user); /* to the last whole state, to be saved */
artel_status artel__worker_create(artel__fit *fit, void **out);
void artel__worker_destroy(artel__fit *fit, void *user);
artel_status artel__server_create(artel__fit *fit, void **out);
void artel__server_destroy(artel__fit *fit, void *user);

/* service.c: what the options say, or a refusal of what these modes cannot do, before anything is begun. */
artel_status artel__service_read_options(artel__service *service);
/* computing.c: the coordinator, in a new seat: what its workers compute with, said in the session's arithmetic. Refused
 * where it is not what the run, or its checkpoint, began with. */
artel_status artel__service_know_workers(artel__service *service);
/* Of each part, with its head: what the options say, else two where the job has two ps tasks. */
int64_t artel__service_copies(const artel__fit *fit);
const char *artel__part_placing_name(artel__part_placing placing);
artel__lane artel__service_lane(const artel__service *service, int rank);
/* Items that a worker asks for at a time. */
static inline int artel__service_tickets(const artel__service *service)
{
    return service->staleness < 0 && !service->some ? ARTEL__MOST_TICKETS : 1;
}
/* Moves messages; waits until something has happened. ARTEL_AGAIN: the generation is over, or this task is to save and
 * to leave. */
artel_status artel__service_move(const artel__service *service);
artel_status artel__service_wait(const artel__service *service);
/* The same for an answer of that rank: who it is, is said every 5 s. `since`: 0 before the first wait for it. */
artel_status artel__service_wait_for(const artel__service *service, int rank, int64_t *since);
/* The same for something else, in words. */
artel_status artel__service_wait_till(const artel__service *service, const char *what, int64_t *since);
/* Says for whom this task waits, without which nothing goes on, until the generation is over: ARTEL_AGAIN. Through all
 * generations no longer than tasks are waited for that are not there (.wait_for_cluster): a failure. */
artel_status artel__service_await(const artel__service *service, const char *whom);
/* This task has failed for good, and nobody can go on without what it does: ends the job, with the reason, unless it is
 * asked to end. */
void artel__service_fail_job(const artel__service *service, artel_status status);
/* Nobody is missing: the next wait is a new one. */
void artel__service_is_whole(const artel__service *service);
#endif
