/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of sessions (artel/session.h): from a function to parts on tasks.
 *
 *   place.c    which task has a variable, which task computes a node
 *   plan.c     what is needed for what is fetched, in which order tasks wait for one another, what goes from whom to
 * whom part.c     this task's parts: graphs made of the function's nodes, compiled run.c      one run of this task's
 * parts, as far as it gets without waiting peer.c     calls between tasks; client.c asks, serve.c answers All tasks
 * make the same plan of the same function; a client says with a hash which one it means. A run has two phases as a run
 * of a function has: all parts compute, the client hears of it, then variables are written. A task that serves several
 * clients has a plan with memory of its own for each, and never waits inside a run.
 */
#ifndef ARTEL_FUNCTION_SESSION_SESSION_IMPL_H
#define ARTEL_FUNCTION_SESSION_SESSION_IMPL_H

#include "artel/session.h"
#include "coll/seat.h"
#include "function/function_impl.h"
#include "function/session/session.h"
#include "ps/lane.h"

enum {
    ARTEL__PLACED_MOST_TASKS = 256,
    ARTEL__PLACED_FREE = -1 /* a place that nobody has named */
};
#define ARTEL__PLACED_JOB UINT64_C(0x6e6f6973736573) /* of calls; of values the next one */

typedef struct artel__placed_task {
    artel__device_name name;
    char text[ARTEL__DEVICE_TEXT];
} artel__placed_task;

/* A value, or a variable, that one task has and another one needs. */
typedef struct artel__placed_edge {
    int from, to;
    artel__value_id value;
    int variable; /* -1: it is computed */
    int level;    /* of who computes it; of a variable 0: it goes at the beginning */
    int kept;     /* by the sender's part */
    /* Of a task that sends or receives it. */
    void *memory; /* where a variable is staged, or what has come lies */
    size_t room;
    artel__net_request request;
    artel__net_piece piece;
    bool posted, arrived;
} artel__placed_edge;

/* Where a part finds a value that it does not compute. */
typedef struct artel__placed_source {
    enum {
        ARTEL__SOURCE_NONE, /* nobody reads it: of its operand only the shape matters */
        ARTEL__SOURCE_FEED,
        ARTEL__SOURCE_PART, /* an earlier one of this task */
        ARTEL__SOURCE_EDGE
    } kind;
    int index, kept;
} artel__placed_source;

/* What a task computes without waiting in between. */
typedef struct artel__placed_part {
    int level;
    artel__graph graph;
    artel__executable *executable;
    artel__execution *run;
    artel__placed_source *source; /* by input of its graph */
    const void **input;
    bool applies;
} artel__placed_part;

typedef struct artel__placed_plan {
    artel_session *session;
    artel_function *function;
    int client;
    bool *wanted; /* by output */
    bool updates;
    artel__arena arena;
    int *place, *level;      /* by node; place -1: it is not needed */
    bool *fed;               /* by task and argument: it needs this one */
    bool *involved;          /* by task */
    bool *asked, *due;       /* by task: what its client has asked it in the run of the moment, and waits for */
    artel__net_piece *piece; /* for messages: room for all arguments, or all outputs, and one more */
    artel__placed_edge *edge;
    int edges, edge_room;
    artel__placed_part *part; /* of this task, by level */
    int parts;
    int *kept; /* by output: by which kept value of which part this task has it; -1: another task has it, or nobody */
    int *kept_part;
    void **feed; /* by argument: memory of this task */
    size_t *feed_bytes;
    int64_t *start;
    uint64_t hash;
    bool writes; /* something, on some task */
    /* The run of the moment. */
    bool active, computed, answered;
    uint64_t run;
    int64_t rows;
    int next; /* part */
    artel__fold_plan fold;
    artel__step step;
    struct artel__placed_plan *after;
} artel__placed_plan;

/* What has to be known of a run to begin it; equal on all tasks. */
typedef struct artel__placed_start {
    uint64_t run, batch;
    int64_t rows, iteration;
    double rate; /* 0: the schedule's */
} artel__placed_start;

/* Another task. */
typedef struct artel__placed_peer {
    artel__lane ask, hear;          /* calls to it, calls from it */
    artel__lane_slot call, verdict; /* of a run by this client */
    artel__lane_slot slot[2];       /* of what it asks; by turns */
    int turn;
    bool listening;
    artel__placed_plan *plan; /* of its run that is going on here; NULL: none */
    artel__lane_slot *unanswered;
    artel_error error; /* of an answer, as the next two */
    void *staged;
    artel__net_piece *piece;
} artel__placed_peer;

struct artel_session {
    artel_strategy *strategy;
    artel_context *ctx;
    artel_session_options options;
    artel_communicator *communicator;
    artel__arena arena;
    artel__placed_task *task;
    int tasks, self;
    bool alone;  /* this process is all tasks */
    bool serves; /* it is no client */
    int *owner;  /* by variable: its task */
    artel__placed_plan *plan;
    artel__coll_seat seat;
    bool seated;
    bool lost;                /* the last exchange failed, or found fewer tasks */
    artel__placed_peer *peer; /* by task */
    uint64_t runs;
    bool *wanted; /* by output, of the run that begins */
    int wanted_room;
    artel__text text;
    artel__placed_around_fn *around; /* of a monitored session; with around_user */
    void *around_user;
    artel__placed_time_fn *watch; /* with watch_user */
    void *watch_user;
};

/* Who computes what belongs to a task. */
static inline int artel__placed_host(const artel_session *s, int task)
{
    return s->alone ? 0 : task;
}

/* -- place.c -- */

artel_status artel__placed_place_variables(artel_session *session);
/* plan->place, of nodes that are not -1 there. */
artel_status artel__placed_place_nodes(artel__placed_plan *plan);
/* Whether a node reads its operand `k`. */
bool artel__placed_reads(const artel__node *node, int k);

/* -- plan.c -- */

/* Whether a session can run it at all. Errors: UNSUPPORTED. */
artel_status artel__placed_check_function(const artel_session *session, const artel_function *function);
/* The one for this client and these outputs; made where there is none. */
artel_status artel__placed_plan_get(artel_session *session, artel_function *function, int client, const bool *wanted,
                                    bool updates, artel__placed_plan **out);
void artel__placed_plan_destroy(artel__placed_plan *plan);
size_t artel__placed_bytes(const artel__placed_plan *plan, artel__value_id value, int64_t rows);
void artel__placed_plan_dump(const artel__placed_plan *plan, artel__text *out);
/* part.c: this task's; each part compiled when it runs first. */
artel_status artel__placed_parts_make(artel__placed_plan *plan);
artel_status artel__placed_part_open(artel__placed_plan *plan, artel__placed_part *part);

/* Room in session->wanted for the outputs of a function. */
artel_status artel__placed_wanted(artel_session *session, const artel_function *function);
extern const artel__options_kind artel__placed_call_kind;

/* -- run.c -- */

/* The memory of an argument, for as many rows. */
artel_status artel__placed_feed(artel__placed_plan *plan, int argument, int64_t rows, void **out);
size_t artel__placed_feed_bytes(const artel_function *function, int argument, int64_t rows);
/* Feeds are there. Errors: of the exchange. */
artel_status artel__placed_begin(artel__placed_plan *plan, const artel__placed_start *start);
/* Goes on as far as it can; plan->computed when it is done. `*moved`: it did something. Failures are those of the
 * graph. */
artel_status artel__placed_advance(artel__placed_plan *plan, bool *moved);
/* All tasks have computed: writes variables. */
void artel__placed_commit(artel__placed_plan *plan);
/* The run is over, or given up: nothing is posted any more. */
void artel__placed_drop(artel__placed_plan *plan);
/* Tells the session's watcher of each node of this task's. */
void artel__placed_tell_times(const artel__placed_plan *plan);
/* Where this task has an output that it has computed; NULL: it has not. */
const void *artel__placed_output(const artel__placed_plan *plan, int output);

/* -- peer.c -- */

typedef enum artel__placed_op { /* values are part of the wire format */
    /* part: function, item: run, position: rows, rate, a: batch, b: iteration, install: hash; pieces: wanted, feeds.
     * Answer: outputs, or an error */
    ARTEL__PLACED_RUN = 1,
    ARTEL__PLACED_COMMIT = 2, /* answer, b: steps of the optimizer */
    ARTEL__PLACED_DROP = 3,
    ARTEL__PLACED_PULL = 4, /* answer: the task's variables */
    ARTEL__PLACED_PUSH = 5, /* pieces: steps of all optimizers, the task's variables */
    ARTEL__PLACED_CLOSE = 6
} artel__placed_op;

enum {
    ARTEL__PLACED_UPDATES = 1, /* flag of RUN */
    ARTEL__PLACED_FAILED = 2   /* flag of an answer: an artel_error follows */
};

/* A seat among the others, the one there is or a new one after a renewal; plans that were going on are dropped. */
artel_status artel__placed_sit(artel_session *session);
void artel__placed_stand(artel_session *session);
artel_status artel__placed_move(const artel_session *session);
/* Waits for something to happen. `since`, `said`: as times of waiting for task `whom` (-1: nobody in particular); NULL:
 * for ever. */
artel_status artel__placed_wait(const artel_session *session, int64_t since, int64_t *said, int whom);
/* The exchange itself has failed; the communicator is to be renewed. */
artel_status artel__placed_broken(artel_session *session, artel_status status);
size_t artel__placed_most(const artel_session *session);
/* The variables of a task as pieces, in their memory; `piece` NULL: counts them. */
int artel__placed_variables(artel_session *session, int task, artel__net_piece *piece);
artel_status artel__placed_misfit(artel_session *session, int task);

#endif
