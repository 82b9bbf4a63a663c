/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the simulator, shared by its files: help_simulator.c (events, the run, views), help_network.c,
 * help_training.c, help_process.c (processes and faults). */
#ifndef HELP_SIMULATOR_IMPL_H
#define HELP_SIMULATOR_IMPL_H

#include "help_simulator.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINKS = 4 * SIM_MAX_TASKS + 64,
    FACTS = 96,
    SIM_LINE = 600 /* of what is said, behind the number of the task; longer than any */
};

typedef enum item_kind {
    ITEM_ACCEPT,
    ITEM_BYTES,
    ITEM_DATA,
    ITEM_CLOSED
} item_kind;

/* What travels on a connection, in order. */
typedef struct item {
    struct item *next;
    item_kind kind;
    int64_t ready;
    size_t count;
    uint8_t *bytes;
} item;

/* A connection; side 0 dialled. A data connection has no link numbers and lives as long as both processes. */
typedef struct connection {
    uint32_t task[2], life[2];
    bool open[2];
    int link[2];
    bool data;
    item *head[2], *tail[2]; /* towards side i */
    int64_t last[2];
} connection;

typedef struct data_message {
    artel__generation_id generation;
    uint64_t step, sum;
    uint32_t shards;
} data_message;

typedef enum event_kind {
    EVENT_TICK,
    EVENT_DELIVER,  /* a = connection, b = side */
    EVENT_DIAL,     /* a = target: the answer */
    EVENT_TRAINING, /* the training's timer; a = token */
    EVENT_START,    /* a process */
} event_kind;

typedef struct event {
    int64_t at;
    uint64_t order;
    event_kind kind;
    uint32_t task, life;
    uint32_t a, b;
} event;

typedef enum work {
    WORK_REST,
    WORK_FINISHED, /* nothing to do but to say so */
    WORK_COMPUTE,
    WORK_EXCHANGE,
    WORK_APPLY,
    WORK_COPY,
    WORK_SAVE,
    WORK_WAIT /* finished, or saved */
} work;

typedef struct caller {
    sim *s;
    uint32_t task;
} caller;

typedef struct process {
    caller who;
    bool alive, paused, ended, stranger;
    bool dark;            /* its host is gone, too: nothing answers */
    uint32_t life, index; /* index: as which task */
    artel__membership *m;
    char facts[FACTS];
    int link[LINKS]; /* connection * 2 + side, or -1 */
    event deferred[4096];
    uint32_t deferred_count;
    uint32_t inputs;
    /* Training. */
    work work;
    bool stopping;
    uint32_t token;
    uint64_t step, chain;
    uint8_t ledger[SIM_MAX_STEPS];
    uint32_t kept_step; /* it starts with the state after this step */
    uint32_t used;      /* the arithmetic of the state's steps; 0: none yet */
    uint32_t arithmetic;
    artel__generation_id generation;
    artel__purpose purpose;
    artel__member member[SIM_MAX_TASKS];
    uint32_t members, first, shards;
    bool sent;
    data_message inbox[SIM_MAX_TASKS][2];
    uint64_t copy_step;
    uint32_t copy_from;
    bool writer;
    /* Facts. */
    artel_status status;
    char text[256];
    uint32_t cause_task, released, saves;
    int64_t ended_at, stepped_at;
} process;

struct sim {
    sim_options o;
    artel_context *ctx;
    uint64_t random, order;
    int64_t now;
    event *heap;
    uint32_t events, event_capacity;
    connection **connection;
    uint32_t connections, connection_capacity;
    process p[SIM_MAX_TASKS + 2];
    uint32_t processes;
    bool cut[SIM_MAX_TASKS + 2][SIM_MAX_TASKS + 2], copy_broken[SIM_MAX_TASKS + 2][SIM_MAX_TASKS + 2];
    uint32_t best[SIM_MAX_TASKS], held[SIM_MAX_TASKS];
    char names[SIM_MAX_TASKS][32];
    const char *name[SIM_MAX_TASKS];
    uint64_t expected[SIM_MAX_STEPS + 1];
    struct {
        bool active, by_input;
        uint32_t task, input;
        uint64_t step;
        artel__member_phase phase;
        int64_t restart;
    } trap;
    uint32_t writes;
    uint64_t sent;
    char wrong[256];
    char *said;
    size_t said_count, said_capacity;
};

uint64_t sim_mix(uint64_t x, uint64_t y);
uint64_t sim_shard_sum(uint64_t chain, uint64_t step, uint32_t first, uint32_t count);
void sim_accuse(sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sim_trace(const sim *s, uint32_t task, const char *format, ...) __attribute__((format(printf, 3, 4)));
void sim_push(sim *s, event e);
void sim_schedule(sim *s, int64_t after, event_kind kind, uint32_t task, uint32_t a, uint32_t b);
int64_t sim_delay(sim *s);
bool sim_there(const sim *s, const connection *c, int side);
void sim_put_item(sim *s, uint32_t number, int side, item_kind kind, const void *bytes, size_t count);
item *sim_take_item(connection *c, int side);
bool sim_input(sim *s, uint32_t task);
void sim_deliver(sim *s, uint32_t number, int side);
void sim_deliver_held(sim *s);
void sim_send_on(sim *s, uint32_t task, int link, item_kind kind, const void *bytes, size_t count);
void sim_close_link(sim *s, uint32_t task, int link);
void sim_dial_answer(sim *s, uint32_t task, uint32_t target);
uint32_t sim_data_connection(sim *s, uint32_t from, uint32_t to);
void sim_check_exchange(sim *s, uint32_t task);
void sim_reset_state(sim *s, process *p);
void sim_training(sim *s, uint32_t task);
void sim_act(void *user, const artel__action *a);
void sim_start_process(sim *s, uint32_t number, uint32_t index, const char *facts);

#endif
