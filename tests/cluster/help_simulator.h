/* SPDX-License-Identifier: Apache-2.0 */
/* A cluster that does not exist: production membership machines, a model of their training, a virtual clock and
 * network.
 *
 * Time is a number; the next event in (time, order of creation) happens next; everything random comes from the seed. So
 * a run is a pure function of its options, and a failing seed replays.
 *
 * The network. A connection carries messages in order, each way, after a random delay, or it breaks; what a cut (one
 * way or both) holds up arrives when it heals, as TCP would send it again. A killed process resets its connections,
 * unless it is killed silently (a host without power). A stopped process receives nothing, yet its connections stand.
 * With `twice`, messages are delivered a second time now and then, which no TCP does.
 *
 * The training. A step is compute, exchange, apply. The "weights" are a hash chain: after step t, chain = mix(chain,
 * sum over all shards v of f(chain, t, v)); each member adds its own shards' terms. A lost, doubled or reordered step,
 * a shard computed by nobody or twice, or a wrong state taken over shows in the last digest. A ledger, copied with the
 * state, counts how often each step's samples were used.
 */
#ifndef HELP_SIMULATOR_H
#define HELP_SIMULATOR_H

#include "cluster/membership.h"

enum {
    SIM_MAX_TASKS = 64,
    SIM_MAX_STEPS = 512
};

#define SIM_MS 1000000LL
#define SIM_SECOND 1000000000LL

typedef struct sim_options {
    uint32_t tasks, steps;
    uint64_t seed;
    int64_t compute_ns, copy_ns, save_ns, stop_ns;   /* how long these take */
    int64_t delay_ns;                                /* of a message: from half of it to one and a half */
    uint32_t min_members, start_members, hash_every; /* start_members 0: the machine's default */
    uint32_t shards, replicas;
    bool save_on_preempt;
    bool twice;         /* some messages arrive twice */
    bool copy_destroys; /* a copy broken off leaves the initial state */
    bool copy_outruns;  /* a copy is whole before it can be broken off */
    int64_t wait_ns;    /* wait_for_cluster */
    int64_t suspect_ns; /* suspect_after; 0: the machine's default */
    bool trace;
} sim_options;

#define SIM_OPTIONS_INIT                                                                                             \
    {                                                                                                                \
        .tasks = 3, .steps = 40, .seed = 1, .compute_ns = 10 * SIM_MS, .copy_ns = 5 * SIM_MS, .save_ns = 5 * SIM_MS, \
        .stop_ns = SIM_MS, .delay_ns = SIM_MS / 5, .min_members = 1, .hash_every = 4, .shards = 8, .replicas = 1,    \
        .wait_ns = 20 * SIM_SECOND                                                                                   \
    }

typedef struct sim sim;

sim *sim_create(const sim_options *options);
void sim_destroy(sim *s);

/* Starts a process for the task, with the initial state; `facts` NULL: those of all; "": none, as when it cannot begin.
 */
void sim_start(sim *s, uint32_t task);
void sim_start_with(sim *s, uint32_t task, const char *facts);
void sim_start_all(sim *s);
void sim_start_from(sim *s, uint32_t task, uint32_t step); /* with the state after that step, as from a checkpoint */
/* From its next start on: what the machine of the task is made for, and the arithmetic of the state that it starts
 * with; as in artel__membership_config. */
void sim_set_arithmetic(sim *s, uint32_t task, uint32_t best, uint32_t held);

/* Runs until virtual time `until`, or, sooner, until all living processes have ended or `stop` says true. Returns the
 * time. */
typedef bool sim_stop_fn(sim *s, void *user);
int64_t sim_run(sim *s, int64_t until, sim_stop_fn *stop, void *user);

/* Faults. */
void sim_kill(sim *s, uint32_t task, bool silent);
void sim_pause(sim *s, uint32_t task);                      /* SIGSTOP */
void sim_resume(sim *s, uint32_t task);                     /* SIGCONT */
void sim_cut(sim *s, uint32_t from, uint32_t to, bool cut); /* messages in that direction */
void sim_reset(sim *s, uint32_t a, uint32_t b);             /* their connections break */
void sim_lose_words(sim *s, uint32_t from, uint32_t to); /* their connections break with what is on that way unread */
void sim_heal(sim *s);                                   /* no cuts, everybody runs */
void sim_break_copy(sim *s, uint32_t task, uint32_t donor); /* copies of the one from the other fail, from now on */
void sim_drain(sim *s, uint32_t task);
void sim_fail(sim *s, uint32_t task, bool job, const char *text);
void sim_corrupt(sim *s, uint32_t task); /* its weights change */
/* Somebody connects to the task and sends bytes: random ones, a truncated HELLO, a message without HELLO, nothing (by
 * `kind`), and goes; kind 4: nothing, and stays. */
void sim_stranger(sim *s, uint32_t task, int kind);
bool sim_stranger_linked(const sim *s, uint32_t task); /* one that stays has not been turned out */
/* A second process with a task's index, which dials the others as that task does. Returns its number, to be asked about
 * as a task. */
uint32_t sim_start_twin(sim *s, uint32_t task);

/* Kills (and restarts after `restart_ns`, 0: never) the task when its training enters a phase of a step, or at its n-th
 * input. */
void sim_kill_at(sim *s, uint32_t task, uint64_t step, artel__member_phase phase, int64_t restart_ns);
void sim_kill_at_input(sim *s, uint32_t task, uint32_t input, int64_t restart_ns);

/* What happened. */
typedef struct sim_view {
    bool alive, ended;
    artel_status status; /* of ACTION_END */
    char text[256];      /* its cause */
    uint32_t cause_task;
    uint64_t step, chain; /* of the state it holds */
    uint32_t generation;  /* the counter of the generation it trains in; 0: none */
    uint32_t members;
    uint32_t arithmetic;          /* of the generation it trains in */
    int64_t ended_at, stepped_at; /* it ended; it finished its last step */
    uint32_t inputs, saves;       /* saves completed */
} sim_view;
sim_view sim_look(const sim *s, uint32_t task);
artel__membership *sim_membership(sim *s, uint32_t task);
int64_t sim_now(const sim *s);
uint64_t sim_expected(const sim *s);           /* the chain of the undisturbed run */
uint32_t sim_writes(const sim *s);             /* results written */
uint64_t sim_sent(const sim *s);               /* control messages */
bool sim_said(const sim *s, const char *text); /* some task has said a line with that text in it */
uint32_t sim_said_by(const sim *s, uint32_t task, const char *text); /* how many lines of that task have it in them */
uint32_t sim_released(const sim *s, uint32_t task);                  /* barriers passed */
uint64_t sim_heap_calls(const sim *s);                               /* of the machines */
uint64_t sim_random(sim *s);

/* NULL, or what is wrong with the run so far (a text that lives as long as the simulation): a shard not covered once, a
 * step not applied once, steps of one state in several arithmetics, a wrong digest written, a task that ended with a
 * wrong state. */
const char *sim_wrong(const sim *s);

#endif
