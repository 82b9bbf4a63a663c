/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a mesh. Each file calls those below it, none calls one above it:
 *
 *   mesh.c              opening and closing
 *   mesh_order.c        what the caller's thread asks and answers
 *   mesh_shared.c       keys and named barriers for programs
 *   mesh_report.c       what this task knows of its job: for programs, and the file of one that has ended badly
 *   mesh_io.c           the thread: listener, links, the clock
 *   mesh_status.c       answers to questions from outside the job
 *   mesh_certificate.c  this task's certificate
 *   mesh_admit.c        who is let in, what is refused, and what that means
 *   mesh_act.c          the machine's actions
 *   mesh_data.c         a generation's endpoints and their connections; streams of state
 *   mesh_name.c         looking up names of hosts, in a thread of its own
 *   mesh_who.c          who is who: this task, the others by name and rank, their hosts
 *   mesh_wake.c         between the two threads: waking, waiting, what is answered at once
 *   mesh_state.c        which state may follow which
 *
 * Everything is guarded by `mutex`; `changed` is signalled when the caller may go on. The machine is called by both
 * sides, under the mutex. Control connections are opened, moved and closed by the mesh's thread alone: actions only
 * mark and queue, and wake it. Connections for data and endpoints are opened and moved by it, too; whichever thread
 * stops or ends something closes them, under the mutex. A poll that is going on then may tell of a descriptor that is
 * closed or another's by now, which does not matter: what it tells is not looked at, everything is tried. A stream of
 * state belongs to the caller once it has been handed out. Incidents may be reported by any thread, also one that holds
 * an endpoint's lock: they have a lock of their own, taken last.
 */
#ifndef ARTEL_CLUSTER_MESH_IMPL_H
#define ARTEL_CLUSTER_MESH_IMPL_H

#include <pthread.h>

#include "base/arena.h"
#include "cluster/mesh.h"
#include "cluster/mesh_state.h"
#include "cluster/status.h"
#include "net/far.h"
#include "net/listener.h"

enum {
    ARTEL__MESH_NAME = 64,
    ARTEL__MESH_TITLE = 160,
    ARTEL__MESH_WHY = 256,
    ARTEL__MESH_DIALS = 16, /* data connections that are being made at a time */
    ARTEL__MESH_MOST_RANKS = 256,
    ARTEL__MESH_PREFACE = 16,
    ARTEL__MESH_HASH_EVERY = 64
};

#define ARTEL__MESH_SECOND INT64_C(1000000000)

typedef enum artel__mesh_lookup {
    ARTEL__MESH_UNKNOWN,
    ARTEL__MESH_WANTED, /* the name thread looks */
    ARTEL__MESH_KNOWN,
    ARTEL__MESH_NO_HOST
} artel__mesh_lookup;

/* Another task (or this one: it is not dialled for control). */
typedef struct artel__mesh_peer {
    const artel__task *task;
    char name[ARTEL__MESH_NAME];        /* on the network and in certificates: "worker-1" */
    char title[ARTEL__MESH_TITLE];      /* for messages: "worker 1 (host:port)" */
    char address[ARTEL__HOST_MAX + 16]; /* "": not known yet */
    char host[ARTEL__HOST_MAX + 1];     /* its DNS name in the cluster's description; "": none */
    bool shared_host;                   /* other tasks are there, too */
    artel__mesh_lookup lookup;
    artel__net_address resolved;
    char why[ARTEL__MESH_WHY]; /* it could not be reached last time */
    bool wanted;               /* the machine waits for a link to it */
    artel__connection *dialled;
    int64_t dial_until;
    artel__mesh_known known;
    int first, replicas; /* in the generation; replicas 0: not a member */
} artel__mesh_peer;

/* A control connection with its number at the machine. */
typedef struct artel__mesh_link {
    artel__connection *connection;
    int peer;     /* rank of the task at its other end */
    bool closing; /* the machine has closed it */
} artel__mesh_link;

/* A connection on its way into an endpoint, or to a stream: 16 bytes tell which ranks of which generation it joins. */
typedef struct artel__mesh_data {
    artel__connection *connection; /* NULL: to be dialled, or gone */
    artel__mesh_way way;
    bool accepted; /* made by the other side */
    int64_t dial_at, pause_ns, since_ns, dialled_ns;
    artel__generation_id generation;
    uint32_t from, to; /* ranks; of an accepted one once they are read. from ARTEL__MESH_STATE: a stream of state */
    uint8_t preface[ARTEL__MESH_PREFACE];
    size_t moved; /* of it */
} artel__mesh_data;

#define ARTEL__MESH_STATE UINT32_MAX

/* Endpoints of this process's replicas in one generation. */
typedef struct artel__mesh_table {
    artel__endpoint **endpoint;
    artel__mesh_activity *activity;
    int count, ranks;
} artel__mesh_table;

struct artel__mesh_stream {
    artel_cluster *mesh;
    artel__connection *connection;
    int peer;
    uint64_t serial; /* of the orders when it was handed out: another one ends it */
    uint32_t crc;
};

typedef struct artel__mesh_note artel__mesh_note;

/* -- the parts of a mesh -- */

typedef struct artel__mesh_threads {
    artel__mesh_life life;
    int wake; /* eventfd: ends a poll of the first one */
    pthread_t mover, namer;
    pthread_cond_t names; /* the second one has work */
} artel__mesh_threads;

/* This task's certificate. */
typedef struct artel__mesh_certificate {
    artel__tls tls;
    int64_t look_ns; /* it is looked at next */
    int64_t warned;  /* the end that was warned of */
} artel__mesh_certificate;

/* Control connections, and what the thread waits for. */
typedef struct artel__mesh_links {
    artel__mesh_link *link;
    int count;
    struct pollfd *poll;
    int room; /* in `poll` */
} artel__mesh_links;

/* Answers to questions from outside. */
typedef struct artel__mesh_status {
    artel__status_desk desk;
    artel__status_task *view;    /* of the peers */
    char told[ARTEL__MESH_TOLD]; /* of artel__mesh_tell; "": nothing */
} artel__mesh_status;

/* The last refusal that cannot heal, until the mesh's thread has judged it. */
typedef struct artel__mesh_incident {
    pthread_mutex_t mutex;
    bool unwanted;               /* it is refused for what it says it is, wherever it comes from */
    char task[ARTEL__MESH_NAME]; /* who it says it is */
    char address[ARTEL__NET_ADDRESS_TEXT], text[ARTEL__MESH_WHY]; /* text "": there is none */
} artel__mesh_incident;

/* A pass: a fit, an evaluation, a prediction, a communicator. */
typedef struct artel__mesh_pass {
    artel__mesh_course course;
    artel__mesh_leave leave;
    uint32_t number;
    char facts[ARTEL__FACTS_MAX + 1];
    char owed[ARTEL__MAX_BARRIERS]
             [ARTEL__TEXT_MAX + 1]; /* barriers that were entered and not waited for to the end; "" free */
    artel__cause cause;             /* of its end */
    artel__text report;             /* how the job was when it failed; empty: it did not, or had not begun */
} artel__mesh_pass;

/* The caller's thread. */
typedef struct artel__mesh_training {
    artel__mesh_work work;
    uint64_t rest_step, rest_hash; /* of the state it holds at rest */
    _Atomic uint64_t step;
    atomic_bool stopping;                  /* said to it: the generation is over */
    atomic_int saving;                     /* artel__mesh_saving */
    int64_t measured_ns, measured_busy_ns; /* when the seat's share of work was measured last; its work until then */
    int64_t way_ns;                        /* the ways to the others were looked at last */
} artel__mesh_training;

/* What the machine has ordered. */
typedef struct artel__mesh_orders {
    artel__mesh_due due;
    _Atomic uint64_t serial; /* of orders: another one ends a stream that was handed out */
    bool last;               /* of START and SAVE: no more steps, all save this one and end */
    int copy_from;           /* of COPY */
    uint64_t copy_step;
    artel__mesh_stream *stream; /* of COPY or SERVE, handed out */
    uint8_t *serve;             /* by rank: it may copy this task's state */
} artel__mesh_orders;

typedef struct artel__mesh_generation {
    artel__generation_id id;
    int ranks;
    bool writes;                 /* this task does, what is written while the generation runs */
    artel__mesh_seat seat;       /* what START told of it */
    uint64_t start_step;         /* the next step to compute */
    int64_t start_ns;            /* connecting began, or somebody was last found missing */
    artel__mesh_table now, next; /* handed out; being connected */
} artel__mesh_generation;

/* Connections that are being made. */
typedef struct artel__mesh_data_list {
    artel__mesh_data *list;
    int count, room;
    int attached; /* given to the endpoints of the next generation */
} artel__mesh_data_list;

/* Files, memory or sockets that this task lacks. */
typedef struct artel__mesh_lack {
    int64_t since, deaf_since; /* since then no connection can be made here; none be accepted; 0: they can */
    char what[ARTEL__MESH_WHY];
} artel__mesh_lack;

struct artel_cluster {
    artel_context *ctx, *quiet; /* quiet: for failures that are ordinary here and nobody's record */
    artel_cluster_options options;
    artel__cluster cluster;  /* who is who, as described */
    bool single;             /* this task works alone, as described */
    artel__mesh_note *notes; /* keys of a task that is alone */
    /* Everything below is for clusters of several tasks, and guarded by the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* the caller may go on */
    artel__mesh_threads threads;
    /* What this task is on the network. */
    const artel__far_transport *transport; /* between endpoints; the same in all tasks */
    artel__site site;
    artel__mesh_certificate certificate;
    artel__listener *listener;
    artel__net_address own; /* where this process reaches itself */
    int crowd;              /* by which limits of connecting are multiplied: 1 unless many tasks share this machine */
    /* The tasks. */
    artel__mesh_peer *peer; /* by rank of the task */
    int peers, self;
    const char **title; /* of the peers, for the machine */
    const char **named; /* lists of titles, for a seat */
    artel__mesh_links links;
    artel__mesh_status status;
    artel__mesh_incident incident;
    /* What they do together. */
    artel__membership *machine; /* of the pass; NULL: none runs */
    artel__mesh_pass pass;
    artel__mesh_training training;
    artel__mesh_orders orders;
    artel__mesh_generation generation;
    artel__mesh_data_list data;
    artel__mesh_lack lack;
    artel__mesh_say_fn *say; /* NULL: what messages name is said as it is */
};

/* -- looking at states; the mutex is held -- */

/* The pass has ended; its machine may be there yet. */
static inline bool artel__mesh_is_over(const artel_cluster *mesh)
{
    artel__mesh_course c = mesh->pass.course;
    return c == ARTEL__MESH_ENDED || c == ARTEL__MESH_UNFORMED || c == ARTEL__MESH_HOPELESS;
}

/* The pass has had a generation. */
static inline bool artel__mesh_has_formed(const artel_cluster *mesh)
{
    return mesh->pass.course == ARTEL__MESH_FORMED || mesh->pass.course == ARTEL__MESH_ENDED;
}

/* There is a machine, and it has not ended. */
static inline bool artel__mesh_is_running(const artel_cluster *mesh)
{
    return mesh->machine && !artel__mesh_is_over(mesh);
}

/* The caller computes, and has not been stopped. */
static inline bool artel__mesh_is_training(const artel_cluster *mesh)
{
    return mesh->training.work == ARTEL__MESH_TRAINS && mesh->orders.due != ARTEL__MESH_STOP;
}

/* The machine knows that this task is to leave. */
static inline bool artel__mesh_is_leaving(const artel_cluster *mesh)
{
    return mesh->pass.leave == ARTEL__MESH_NOTICED || mesh->pass.leave == ARTEL__MESH_HEEDED;
}

/* mesh_wake.c */
/* Wakes the mesh's thread. */
void artel__mesh_wake(artel_cluster *mesh);
/* With the mutex held, until something changes, or for that long. */
void artel__mesh_wait(artel_cluster *mesh, int64_t ns);
/* After every input to the machine: answers what needs no caller. */
void artel__mesh_settle(artel_cluster *mesh);

/* mesh_who.c */
/* The task of that name on the network, or -1. */
int artel__mesh_find(const artel_cluster *mesh, const char *name);
/* The task that has this rank in the generation, or -1. */
int artel__mesh_owner(const artel_cluster *mesh, int rank);
/* artel__net_host_fn */
const char *artel__mesh_host(void *mesh, const char *task);

/* mesh_io.c */
void *artel__mesh_main(void *mesh);

/* mesh_name.c */
void *artel__mesh_name_main(void *mesh);
/* Whether the peer's address is known; otherwise it is looked up, and `why` says what is wrong so far. */
bool artel__mesh_locate(artel_cluster *mesh, artel__mesh_peer *peer);
/* What was known led nowhere: it is looked up again. */
void artel__mesh_forget_address(artel__mesh_peer *peer);
void artel__mesh_check_address(artel__mesh_peer *peer, const artel__connection *from);
/* Where only rank 0 is known from the start: tells addresses, learns them. */
void artel__mesh_say_addresses(artel_cluster *mesh, artel__mesh_link *link);
void artel__mesh_hear_address(artel_cluster *mesh, artel__mesh_link *link, const artel__message *message);

/* mesh_admit.c */
artel__net_fault artel__mesh_admit(void *mesh, const artel__hello *peer, char reason[ARTEL__HELLO_REASON]);
void artel__mesh_note_incident(void *mesh, const artel__net_incident *incident);
void artel__mesh_ignore_incident(void *mesh, const artel__net_incident *incident);
/* Whether a connection that came to nothing for this reason never will. */
bool artel__mesh_is_final(artel__net_fault fault);
/* Ends the job over something that cannot heal, while it has not begun. */
void artel__mesh_refuse(artel_cluster *mesh, const char *text);
void artel__mesh_check_incident(artel_cluster *mesh);

/* mesh_shared.c */
void artel__mesh_forget_notes(artel_cluster *mesh);

/* mesh_status.c */
void artel__mesh_answer(artel_cluster *mesh, int64_t now);
/* What is answered to the question of how it is, appended. The mutex is held. */
artel_status artel__mesh_describe(artel_cluster *mesh, artel__text *out);

/* mesh_report.c */
/* The pass ends; the mutex is held, the machine is still there. */
void artel__mesh_keep_report(artel_cluster *mesh);
void artel__mesh_write_report(artel_cluster *mesh, artel_status status);

/* mesh_act.c */
void artel__mesh_act(void *mesh, const artel__action *action);

/* mesh_data.c */
artel_status artel__mesh_take_seats(artel_cluster *mesh, const artel__generation *generation);
/* The pass fails here, with the context's error; `job`: for all (artel__membership_fail). The mutex is held. */
void artel__mesh_fail_machine(artel_cluster *mesh, bool job, artel_status status);
bool artel__mesh_keep(artel_cluster *mesh, artel__connection *connection); /* an accepted one; false: memory is out */
void artel__mesh_move_data(artel_cluster *mesh, int64_t now);
void artel__mesh_drop_data(artel_cluster *mesh, bool accepted); /* those that were dialled; accepted ones too */
void artel__mesh_table_fini(artel_cluster *mesh, artel__mesh_table *table);
void artel__mesh_table_cancel(const artel__mesh_table *table);
/* A connection to the donor of a COPY. */
void artel__mesh_dial_state(artel_cluster *mesh);
/* A connection over which a task that may wants the state; NULL: none. Its rank in *peer. */
artel__connection *artel__mesh_take_state(artel_cluster *mesh, bool accepted, int *peer);

/* mesh_certificate.c */
artel_status artel__mesh_open_certificate(artel_cluster *mesh);
/* Warns of its end, an hour before. Now and then, by the mesh's thread. */
void artel__mesh_watch_certificate(artel_cluster *mesh, int64_t now);

#endif
