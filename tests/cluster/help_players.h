/* SPDX-License-Identifier: Apache-2.0 */
/* Players: tasks of a cluster as threads of one process, each with a mesh of its own and a toy in place of the
 * training.
 *
 * The toy's state after s steps is a function of s alone: a few words, or many, that each step changes everywhere. A
 * step waits for all members at a barrier. Before the step `hold` of a scene players wait until it is raised, so that
 * things happen at known steps. A player's thread owns its fields while it runs; what is atomic may be looked at.
 */
#ifndef ARTEL_TESTS_CLUSTER_PLAYERS_H
#define ARTEL_TESTS_CLUSTER_PLAYERS_H

#include <pthread.h>

#include "cluster/mesh.h"

enum {
    PLAYERS_MOST = 4,
    PLAYER_SEATS = 16
};

/* How a life ends. */
typedef enum player_end {
    PLAYER_ENDS,       /* as the mesh says */
    PLAYER_DIES,       /* before step `at`: closes its cluster in the midst of everything */
    PLAYER_DRAINS,     /* at step `at` it asks to leave */
    PLAYER_FAILS,      /* at step `at` it fails, and the job with it */
    PLAYER_ENDS_EARLY, /* asks to leave before the pass begins */
    PLAYER_CLOSES      /* opens, and closes at once */
} player_end;

typedef struct players_scene players_scene;

typedef struct player {
    players_scene *scene;
    int index;
    player_end end;
    uint64_t at;
    bool common; /* PLAYER_FAILS: for all */
    pthread_t thread;
    bool started;
    /* What became of it. */
    artel_status status;
    char why[256]; /* of the failure */
    artel__mesh_seat seat[PLAYER_SEATS];
    char left[PLAYER_SEATS][64]; /* the first who left, by seat */
    int seats;
    int copies, serves, saves, wrote; /* orders; of the saves those as writer */
    bool last;                        /* the last START or SAVE was that of all who save and end */
    uint64_t step, hash;              /* at the end */
    _Atomic uint64_t now;             /* steps behind it */
    _Atomic int members;              /* of its generation; 0: at rest */
    _Atomic(artel_cluster *) mesh;    /* while it lives */
} player;

struct players_scene {
    char file[64];          /* the cluster's description */
    int held[PLAYERS_MOST]; /* sockets on the players' ports */
    int count;
    uint64_t steps, words;
    artel_cluster_options options; /* of each */
    bool relayed;                  /* over the transport of tests (support/relay.h) */
    _Atomic uint64_t hold;         /* nobody begins this step or a later one */
    player player[PLAYERS_MOST];
};

/* Ports and the description. Holds at step 0. */
void players_open(players_scene *scene, int count, uint64_t steps);
void players_close(players_scene *scene); /* after all have been joined */
void players_start(players_scene *scene, int index, player_end end, uint64_t at);
void players_join(players_scene *scene, int index);
/* Until player `index` has `steps` steps behind it in a generation of `members` (0: of any size). Fails the test after
 * two minutes. */
void players_until(players_scene *scene, int index, uint64_t steps, int members);
/* Player `index` believes that `other` is at an address where nobody is. */
void players_mislead(players_scene *scene, int index, int other);
/* The hash of the state after so many steps. */
uint64_t players_hash(const players_scene *scene, uint64_t steps);

#endif
