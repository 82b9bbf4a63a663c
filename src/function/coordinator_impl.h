/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a coordinator: what its caller's thread and its own share.
 *
 * The caller puts closures into the queue and waits; the coordinator's thread (coordinate.c) deals them out, takes
 * results, and does what the caller asks of the servers. `mutex` guards all but what is said to be the thread's own;
 * nobody talks to the network while holding it.
 */
#ifndef ARTEL_FUNCTION_COORDINATOR_IMPL_H
#define ARTEL_FUNCTION_COORDINATOR_IMPL_H

#include <pthread.h>

#include "function/closure.h"
#include "ps/tell.h"

enum {
    ARTEL__TIME_BINS = 256
};

/* How long something took: in bins that are a tenth apart, from a microsecond on. */
typedef struct artel__times {
    uint64_t bin[ARTEL__TIME_BINS];
    int64_t count;
    double sum, most; /* milliseconds */
} artel__times;
/* times.c */
void artel__times_add(artel__times *times, int64_t ns);
artel_coordinator_times artel__times_read(const artel__times *times);

typedef enum artel__closure_state {
    ARTEL__CLOSURE_WAITS,
    ARTEL__CLOSURE_RUNS,
    ARTEL__CLOSURE_DONE,
    ARTEL__CLOSURE_DROPPED
} artel__closure_state;

typedef struct artel__closure {
    struct artel__closure *before, *next; /* of the list that it is in */
    uint64_t number;
    artel_function *function;
    artel_worker_data *data;
    int64_t rows;
    double rate;
    uint64_t run;            /* of functions that write: what random operations draw by */
    artel__net_piece *piece; /* of the inputs, then `run`; the memory behind them is in the same block */
    int pieces;
    artel_remote *remote; /* NULL: nobody wants the outputs */
    bool leaving, dealt;  /* its message is on its way; it has been with a worker */
    int worker;           /* that has it, since */
    int64_t dealt_ns;
    artel__closure_state state;
} artel__closure;

typedef struct artel__closure_list {
    artel__closure *first, *last;
    int64_t count;
} artel__closure_list;

struct artel_remote {
    artel_context *ctx;
    artel_coordinator *coordinator; /* NULL: it is closed, and this is final */
    artel_remote *before, *next;
    const artel_function *function;
    artel__closure_state state;
    artel_error error; /* of one that is DONE: status ARTEL_OK, or its failure */
    uint8_t *values;
    int64_t rows;
    bool released; /* when its closure ends nobody wants it any more */
};

/* All that a server owns. */
typedef struct artel__kept {
    uint8_t *image;
    size_t bytes;
} artel__kept;

/* Who has a part, by the chief's last word. */
typedef struct artel__part_holders {
    uint64_t life;                                    /* as last heard; 0: never */
    uint64_t epoch;                                   /* of the assignment that all have heard */
    int head, copies, copy[ARTEL__CHAIN_HOLDERS - 1]; /* numbers of servers */
} artel__part_holders;

/* What the caller asks of the servers; it waits for it. */
typedef enum artel__command_kind {
    ARTEL__COMMAND_NONE,
    ARTEL__COMMAND_READ,
    ARTEL__COMMAND_WRITE,
    ARTEL__COMMAND_KEEP,
    ARTEL__COMMAND_GO_BACK
} artel__command_kind;

struct artel_coordinator {
    artel_strategy *strategy;
    artel_context *ctx;
    artel_coordinator_options options;
    uint64_t session; /* the number of its life */
    pthread_t thread;
    pthread_mutex_t mutex; /* outermost: the context's log and error are inside it */
    pthread_cond_t changed;
    bool started, closing, ended;
    artel_error fatal;                    /* the job has failed */
    artel__closure_list waiting, running; /* by number */
    uint64_t next_number;
    bool failed; /* a closure has: raised once, when nothing runs any more */
    bool lost;   /* `error` is that of a server that has come back without its variables */
    artel_error error;
    artel_remote *remote;
    artel__command_kind command;
    int variable;              /* of READ, WRITE */
    uint64_t order;            /* of commands: who waits no longer may have given another one, about the same */
    artel_error vain;          /* why the command is not done: a server is lost for longer than patience */
    artel__endpoint *endpoint; /* of the generation, to wake the thread; NULL: there is none */
    artel__kept *kept;         /* by server, of the last KEEP that was whole */
    artel__kept *taken;        /* of one that is not yet. The thread's own */
    bool keeps;                /* there has been one */
    int64_t *counters;         /* of the strategy at that time (artel__counters_read); NULL: nothing was kept */
    artel__part_holders *part; /* by number. The thread's own */
    uint64_t epoch;            /* the last one that was given. The thread's own */
    int32_t *heads;            /* by part: the rank of its head in this generation; goes to workers. The thread's own */
    bool met;                  /* all servers have been heard in one generation. The thread's own */
    bool whole;                /* each part has a head in this generation */
    artel__telling telling;    /* the thread's own */
    int64_t opened_ns;
    int64_t lost_ns;           /* when a generation ended with work under way; 0 */
    int64_t heard_ns, said_ns; /* a closure was given out or done, or the generation began; who waits has said why */
    int64_t serverless_ns,
        idle_ns; /* since when a server, or every worker, is lost; 0: they are here. The thread's own */
    artel_coordinator_metrics metrics; /* its counts */
    artel__times build, run, fetch, recover;
};

/* queue.c, with the mutex held. A closure that is leaving is freed later (deal.c). */
void artel__closure_append(artel__closure_list *list, artel__closure *closure);
void artel__closure_remove(artel__closure_list *list, artel__closure *closure);
void artel__closure_end(artel_coordinator *coordinator, artel__closure *closure, artel__closure_state state);
void artel__remote_forget(artel_remote *remote);
/* What waits is dropped. */
void artel__coordinator_drop(artel_coordinator *coordinator);
/* The first error counts; what waits is dropped. */
void artel__coordinator_raise(artel_coordinator *coordinator, const artel_error *error);

/* Whether the command brings what servers have to the caller. While a loss has not been raised (`lost`) it is not done:
 * what a server that has come back without its variables has is the values of the beginning. */
static inline bool artel__command_reads(artel__command_kind kind)
{
    return kind == ARTEL__COMMAND_READ || kind == ARTEL__COMMAND_KEEP;
}

/* The thread: user is the coordinator. */
void *artel__closure_coordinate(void *user);

#endif
