/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the world: events and processes. */
#ifndef HELP_WORLD_IMPL_H
#define HELP_WORLD_IMPL_H

#include "cluster/holding_impl.h"
#include "help_world.h"
#include "ps/call.h"
#include "ps/holder.h"

enum {
    MESSAGE_MOST = 4096,
    EVENT_BYTES = MESSAGE_MOST
};

typedef enum event_kind {
    EVENT_TICK,
    EVENT_CONTROL, /* bytes of a view machine */
    EVENT_DATA,    /* a log's message, or a word of the driver or a client */
    EVENT_LINK_UP,
    EVENT_LINK_DOWN,
    EVENT_LEVEL,
    EVENT_BEGUN,
    EVENT_SERVED,
    EVENT_START,
    EVENT_FAULT,
    EVENT_HEAL
} event_kind;

typedef struct event {
    int64_t at;
    uint64_t order;
    event_kind kind;
    uint32_t task, from;
    uint64_t life, link; /* of the receiver; of the connection: 0: any */
    uint64_t a, b;       /* by kind */
    uint32_t count;
    uint8_t *bytes;
} event;

/* First byte of a data message. */
typedef enum word {
    WORD_LOG = 1,
    WORD_PUSH,   /* epoch, item, part */
    WORD_ANSWER, /* part, item, answer, position */
    WORD_COPY,   /* part, epoch, levelling */
    WORD_STATE   /* part, epoch, levelling, table, list */
} word;

typedef struct store {
    artel__part_log *log;
    uint32_t list[WORLD_LONGEST];
    uint32_t length;
} store;

typedef struct process {
    bool alive;
    uint64_t life; /* incarnation; 0: never */
    artel__holder *holder;
    artel__holding *holding; /* its view machine */
    store part[WORLD_PARTS];
    uint8_t stale; /* WORLD_STALE_COPY: parts to be called copied; bit by part */
    bool late;     /* WORLD_NO_FENCE: goes on in the old view until the new one is in force */
    uint32_t heard;
    uint32_t kill_at; /* 0: not */
    int64_t restart_ns;
    /* A client. */
    uint32_t item; /* 1 + the one in hand; 0: none */
    uint8_t done;  /* bit by part */
    int64_t asked[WORLD_PARTS];
    uint64_t tries;
} process;

typedef struct truth {
    uint32_t at[WORLD_LONGEST]; /* 1 + item acknowledged at the position */
    uint32_t position[WORLD_ITEMS];
} truth;

struct world {
    world_options options;
    artel_context *ctx;
    uint32_t tasks;
    int64_t now;
    uint64_t order, random, lives;
    event **heap;
    size_t events, room;
    process process[WORLD_TASKS];
    uint64_t link[WORLD_TASKS][WORLD_TASKS]; /* number of the connection of a pair; 0: none */
    bool cut[WORLD_TASKS][WORLD_TASKS];
    int64_t busy_until[2][WORLD_TASKS][WORLD_TASKS];
    uint8_t votes[WORLD_TASKS], server[WORLD_TASKS];
    uint16_t first[WORLD_PARTS];
    artel__generation_id start; /* of the view in force */
    truth truth[WORLD_PARTS];
    uint8_t issued[WORLD_ITEMS]; /* to so many clients */
    uint8_t finished[WORLD_ITEMS];
    uint64_t last_view;
    bool faults_over;
    world_sum sum;
    char wrong[300];
};

uint64_t world_draw(world *w, uint64_t below);
void world_fail(world *w, const char *format, ...) ARTEL__PRINTF(2, 3);
event *world_post(world *w, int64_t at, event_kind kind, uint32_t task);
void world_send(world *w, int plane, uint32_t from, uint32_t to, const uint8_t *bytes, size_t count);

/* help_driver.c */
void driver_begin(world *w, uint32_t task);
void driver_end(world *w, uint32_t task);
void driver_data(world *w, uint32_t task, uint32_t from, const uint8_t *bytes, size_t count);
void driver_tick(world *w, uint32_t task);
void driver_begun(world *w, uint32_t task, uint32_t part, uint64_t epoch);
void driver_served(world *w, uint32_t task);
/* help_client.c */
void client_tick(world *w, uint32_t task);
void client_answer(world *w, uint32_t task, uint32_t part, uint32_t item, artel__log_answer answer, uint64_t position);
void world_acknowledge(world *w, uint32_t task, uint32_t part, uint32_t item, uint64_t position, bool again);
bool world_is_done(world *w);

#endif
