/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the simulated job, shared by help_servers.c (processes, generations, faults), help_servers_network.c
 * and help_servers_log.c. */
#ifndef HELP_SERVERS_IMPL_H
#define HELP_SERVERS_IMPL_H

#include <pthread.h>
#include <stdio.h>

#include "cluster/mesh_impl.h"
#include "help_fit.h"
#include "help_servers.h"
#include "train/servers.h"

enum {
    STORM_PROCESSES = 96, /* in all lives */
    STORM_SIDES = 2       /* of a cut */
};

typedef struct storm storm;
typedef struct generation generation;
typedef struct process process;
typedef struct storm_turn storm_turn;

typedef struct message {
    struct message *next;
    int from, to; /* ranks */
    artel__frame frame;
    artel__net_piece piece; /* all of it */
    uint8_t *bytes;
} message;

/* A process's endpoint in a generation. */
typedef struct port {
    artel__endpoint base;
    generation *of;
    process *owner;
    artel__net_request *out[STORM_TASKS], *last_out[STORM_TASKS]; /* by receiver: not on their way yet */
    artel__net_request *receives;
    message *arrived, *last_arrived;
    int64_t leaves[STORM_TASKS], arrives[STORM_TASKS]; /* the last one of each way does */
    bool cancelled;
    uint64_t events, seen;
} port;

struct generation {
    generation *next;
    storm *world;
    uint32_t number;
    int side, ranks;
    process *member[STORM_TASKS]; /* by rank */
    port port[STORM_TASKS];
};

typedef enum process_state {
    PROCESS_RESTS,
    PROCESS_WORKS, /* it may be given its turn */
    PROCESS_WAITS, /* in the network */
    PROCESS_OVER
} process_state;

struct process {
    storm *world;
    int id, task, side;
    bool alive, asleep, killed, woken;
    int dies_after; /* messages sent; -1: it does not */
    process_state state;
    storm_turn *turn;
    generation *seat, *seated, *last; /* given; in; that it has been in */
    fit_bench bench;
    artel__fit fit;
    artel_cluster cluster;
    artel__mesh_peer peer[STORM_TASKS];
    artel__mesh_activity activity;
    artel__service service;
    void *user;
    artel_status status;
    uint64_t fetched, installed; /* by a chief: the state that it has taken back, and given, last */
};

typedef enum event_kind {
    EVENT_LEAVE,  /* a message of port `at` to rank `a` */
    EVENT_ARRIVE, /* message `at` */
    EVENT_RUN,
    EVENT_NOTICE, /* the process hears that generation `at` is over */
    EVENT_FORM,   /* on side `a` */
    EVENT_FAULT,
    EVENT_WAKE,
    EVENT_RESTART, /* task `a` */
    EVENT_HEAL
} event_kind;

typedef struct event {
    int64_t when;
    uint64_t order;
    event_kind kind;
    process *who;
    void *at;
    generation *of;
    int a;
} event;

typedef enum log_kind {
    LOG_INSTALLED,
    LOG_APPLIED,
    LOG_ACKNOWLEDGED
} log_kind;

typedef struct log_line {
    log_kind kind;
    int life; /* the process */
    int part;
    uint64_t state, epoch, item, update; /* INSTALLED: updates; items from `item` on */
} log_line;

struct storm {
    storm_options o;
    storm_result *result;
    uint64_t random, order;
    int64_t now;
    event *heap;
    int events, room;
    process *process[STORM_PROCESSES];
    int processes, tasks;
    generation *generations, *current[STORM_SIDES];
    artel__task task[STORM_TASKS];
    uint32_t counter;
    uint64_t last; /* the state that the job has ended with */
    bool forms[STORM_SIDES], over;
    int faults_left;
    log_line *log;
    int lines, line_room;
};

uint64_t storm_random(storm *w, uint64_t below);
void storm_push(storm *w, int64_t after, event e);
void storm_accuse(storm *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
void storm_trace(const storm *w, const process *p, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* What a process does in its turns, until it is over. */
void storm_live(process *p);
/* Something has happened to a process that waits. */
void storm_wake(process *p);

/* help_servers_turns.c: a process has its turn until it gives it back, or is over. One that is over has none. */
void storm_turn_create(process *p);
void storm_turn_give(process *p);
void storm_yield(process *p, process_state state);
void storm_turn_destroy(process *p);

/* help_servers_network.c */
void storm_open_port(generation *g, int rank);
void storm_close_generation(generation *g);
void storm_leave(storm *w, port *from, int to);
void storm_arrive(storm *w, generation *g, message *m);
void storm_cancel(port *p);

/* help_servers_log.c */
void storm_note(process *p, const char *line);
/* Of all that has been said; `end`: the job has ended, with so many items. */
void storm_check(storm *w, bool end, uint64_t items);

#endif
