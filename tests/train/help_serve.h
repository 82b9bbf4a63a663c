/* SPDX-License-Identifier: Apache-2.0 */
/* The server of parts as it runs in a job (train/serve.c), in a thread of its own, and what a chief, a worker and
 * another server say to it by hand. Members change: a generation ends, and the next one begins. */
#ifndef ARTEL_TESTS_TRAIN_HELP_SERVE_H
#define ARTEL_TESTS_TRAIN_HELP_SERVE_H

#include <pthread.h>

#include "cluster/mesh_impl.h"
#include "help_fit.h"
#include "help_lane.h"
#include "net/inproc.h"

enum {
    SERVE_CHIEF,
    SERVE_WORKER,
    SERVE_SERVER, /* the one that is tested */
    SERVE_OTHER,
    SERVE_RANKS,
    SERVE_ROWS = 96,
    SERVE_BATCH = 16,
    SERVE_INSTALLED = 77, /* the number of the state */
    SERVE_MOST = 64       /* entries of a message */
};

typedef struct serve_bench {
    fit_bench fit_bench;
    artel_context *ctx;    /* of what speaks to the server */
    artel_cluster cluster; /* names of tasks */
    artel__mesh_peer peer[SERVE_RANKS];
    artel__fit fit;
    artel__service service;
    void *server;
    artel__fabric *fabric;
    artel__lane lane[SERVE_RANKS]; /* to the server, by who speaks */
    artel__lane forward;           /* of the server, to SERVE_OTHER */
    artel__arena arena;
    artel__division division;
    artel__entry entry[SERVE_MOST];
    artel__net_piece piece[SERVE_MOST];
    artel_status status; /* that the server ended with */
    bool runs;
    pthread_t thread;
} serve_bench;

/* Set-up and tear-down of a test; *state is the bench, whose first generation has begun. */
int serve_open(void **state);
int serve_close(void **state);

void serve_begin_generation(serve_bench *b);
void serve_end_generation(serve_bench *b);
/* The members have changed: what is under way is dropped, and all meet again. */
void serve_change_generation(serve_bench *b);
/* Steps of some workers from the next generation on. */
void serve_take_some(serve_bench *b, int workers);
/* What the server ends with, once it has. */
artel_status serve_await(serve_bench *b);

/* The pieces of a message about all variables, of zeros, in b->piece. */
int serve_list(serve_bench *b, artel__part_list list);
/* Says it, with that many of b->piece; the answer comes into the slot. */
void serve_call(serve_bench *b, int from, artel__lane_slot *slot, artel__lane_head head, int pieces);
/* Says it and hears the answer. */
artel__lane_head serve_say(serve_bench *b, int from, artel__lane_head head, int pieces);
/* Says it to a server that ends because of it. */
artel_status serve_end_by(serve_bench *b, int from, artel__lane_head head, int pieces);

extern const artel__lane_head serve_install, serve_head_of_part;
/* All variables are one part, of which the server is the head. */
void serve_give_part(serve_bench *b, artel__lane_head assign);
artel__lane_head serve_push_of(uint64_t item);
/* Updates that the part has. */
uint64_t serve_position(serve_bench *b);
/* Whether all variables that a worker is given are 0, as they were installed; `item`: before which one, + 1; 0: now. */
bool serve_gives_zeros(serve_bench *b, uint64_t item);

#endif
