/* SPDX-License-Identifier: Apache-2.0 */
/* Parameter servers that do not exist: production view machines, logs and codec, a model of the driver, of clients, and
 * of a network.
 *
 * Time is a number; the next event in (time, order of creation) happens next; everything random comes from the seed, so
 * a failing seed replays. Tasks talk over two planes, as drivers do (control and data): each pair and plane keeps its
 * order, loses what it carries over a cut, and on a reset. A killed process loses its memory, with or without word to
 * its peers.
 *
 * The state of a part is the list of the items applied to it, so loss, doubling and order show at once. Clients push
 * every item to every part until it is acknowledged; items of a client that dies are issued to others, and now and then
 * an item is issued twice.
 */
#ifndef HELP_WORLD_H
#define HELP_WORLD_H

#include "cluster/holding.h"
#include "ps/log.h"

enum {
    WORLD_TASKS = 10,
    WORLD_PARTS = 3,
    WORLD_ITEMS = 256,
    WORLD_LONGEST = 768
};

#define WORLD_MS 1000000LL
#define WORLD_SECOND 1000000000LL

/* Ways to do it wrong. */
typedef enum world_mistake {
    WORLD_RIGHT,
    WORLD_ACK_EARLY,    /* the head acknowledges before the others have it */
    WORLD_NO_TABLE,     /* every push counts as new */
    WORLD_LONGEST_WINS, /* the next view is made from the longest log, not from the highest ballot */
    WORLD_STALE_COPY,   /* what was dropped is said to be a fresh copy */
    WORLD_NO_MAJORITY,  /* each task thinks that it is the only voter */
    WORLD_NO_FENCE,     /* who has accepted a later view goes on in the old one until that is in force */
    WORLD_AMNESIA,      /* voters without memory vote */
    WORLD_MISTAKES
} world_mistake;

typedef struct world_options {
    uint32_t voters, servers, clients; /* servers are the last of the voters; clients come behind them */
    uint32_t parts, items;
    int copies;
    uint64_t seed;
    int64_t storm_ns; /* faults happen until then */
    int64_t fault_ns; /* between two faults, on average; 0: none */
    bool gentle;      /* one fault at a time, the next when all parts have their copies */
    bool lossy;       /* single messages are lost, too */
    bool incomplete;  /* a run may end while parts lack copies: somebody does not come back */
    world_mistake mistake;
    bool trace;
} world_options;

#define WORLD_OPTIONS_INIT                                                                                       \
    {                                                                                                            \
        .voters = 3, .servers = 2, .clients = 2, .parts = 2, .items = 30, .copies = 2, .seed = 1, .storm_ns = 0, \
    }

typedef struct world world;

world *world_create(const world_options *options);
void world_destroy(world *w);
void world_start(world *w, uint32_t task);
void world_start_all(world *w);
/* Until all items are acknowledged by all parts and every part has its copies, or until `limit`. True: that happened.
 */
bool world_run(world *w, int64_t limit);
/* For directed scenarios: until the time, however far the items are. */
void world_pass(world *w, int64_t until);

void world_kill(world *w, uint32_t task, bool silent);
void world_cut(world *w, uint32_t from, uint32_t to, bool cut);
void world_heal(world *w); /* no cuts, all run */
/* Kills the task before its n-th message (of both planes) and starts it again after `restart_ns`; 0: never. */
void world_kill_at(world *w, uint32_t task, uint32_t message, int64_t restart_ns);
uint32_t world_heard(const world *w, uint32_t task); /* messages so far */

void world_dump(world *w, uint32_t task); /* for a failing seed */
artel__holding *world_holding(world *w, uint32_t task);
artel__part_log *world_log(world *w, uint32_t task, uint32_t part);
/* The seed chooses voters, servers and copies, too. */
typedef enum world_shape {
    WORLD_STORM, /* anything at any time */
    WORLD_LARGE, /* the same with five voters, four servers, three parts, and more faults */
    WORLD_GENTLE /* one fault, and the next when all parts have their copies again */
} world_shape;
world_options world_storm(uint64_t seed, world_shape shape);
int64_t world_now(const world *w);

typedef struct world_sum {
    uint32_t acknowledged, views, deaths, fallbacks;
    uint64_t events;
} world_sum;
world_sum world_count(const world *w);
/* NULL, or what is wrong: an acknowledged update lost, doubled, or at two positions; two of them at one. */
const char *world_wrong(world *w);

#endif
