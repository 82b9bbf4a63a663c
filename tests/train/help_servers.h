/* SPDX-License-Identifier: Apache-2.0 */
/* A job with parameter servers that does not exist: what runs use (train/coordinate.c, shares.c, install.c, hold.c,
 * balance.c, meet.c, serve.c, served.c, numbers.c, item.c, phase.c, ps/lane.c), on a virtual network with virtual time,
 * with a model that trains.
 *
 * Each process has a stack and runs only when the simulation gives it its turn, and gives it back where it would wait;
 * so a run is a function of its options, but for numbers drawn by getrandom(), which are only ever compared, and for
 * a batch of validation that a chief deals out once more after a second of real time, which changes no result. What the
 * membership machine promises (tests/cluster/help_simulator.h shows that) is assumed: a process is a member of one
 * generation at a time, and one begins when all its members are at rest. Who is cut off or asleep goes on in the
 * generation before with whoever is there, until it notices.
 *
 * The network carries messages between two members in order, after random times; one that is not on its way yet is
 * read from its sender's memory when it leaves, so memory that is not kept until then shows. A process dies between
 * two messages that it sends, or where it waits.
 *
 * What is checked comes from the servers' own logs (as tests/cli/applied.py does): of each state each acknowledged item
 * is applied once at each part, at one position, in one order at head and copies, and is not lost. */
#ifndef HELP_SERVERS_H
#define HELP_SERVERS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum storm_mistake {
    STORM_NO_MISTAKE,
    STORM_EARLY,     /* copies answer for what they do not have yet */
    STORM_TWICE,     /* a copy forgets which items have been applied */
    STORM_LEVEL,     /* how far each holder has come is not told apart */
    STORM_VOID,      /* what was left out counts as a copy */
    STORM_UNAPPLIED, /* some updates are acknowledged and not applied */
    STORM_MISSED,    /* some updates are not sent to a copy, as if it had them */
    STORM_OTHER,     /* what is left of another state counts */
    STORM_MISTAKES
} storm_mistake;

typedef struct storm_options {
    uint64_t seed;
    int workers, servers, copies;
    const char *consistency; /* async, bounded:1, sync, sync:2, sync:3 of two workers */
    const char *partitioner;
    const char *optimizer; /* NULL: adam */
    int epochs;
    int faults;     /* at random times */
    bool tables;    /* the model has a table whose rows travel alone */
    bool moves;     /* pieces move however little is gained */
    bool validates; /* epochs end with a validation */
    bool chiefs;    /* chiefs are lost, too, and replaced on the other side of cuts */
    storm_mistake mistake;
    int dies, message; /* 1 + a task, 0: none; it dies before it sends its message of that number, from 0 on */
    bool trace;
} storm_options;

enum {
    STORM_TASKS = 8 /* chief, workers, ps */
};

typedef struct storm_result {
    char wrong[512]; /* "": nothing */
    char digest[65]; /* of the trained weights */
    double checked;  /* what the last validation has found, and how many epochs have ended with one */
    int checks;
    int states, acknowledged, generations, deaths, cuts;
    int moves;             /* decisions to place pieces by their traffic */
    int sent[STORM_TASKS]; /* messages of the first process of each task */
} storm_result;

void storm_run(const storm_options *options, storm_result *out);

#endif
