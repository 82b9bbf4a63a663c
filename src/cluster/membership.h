/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in a job, and from which step on: the membership protocol of a cluster as a state machine.
 *
 * The machine is pure. Time, links, messages and the progress of the local training go in; actions come out, through
 * one function that the caller gives. It has no thread, no socket, no clock, and takes no memory after its creation;
 * equal inputs give equal actions. The same code runs a cluster (a driver joins it to sockets and to the training) and
 * a simulation (tests/cluster/help_simulator.h). One machine belongs to one thread.
 *
 * Why there are no votes. In a synchronous run the state after s steps is a function of s alone: whoever holds step s
 * holds the same bits. So any set of tasks that reach one another may go on; a wrong suspicion costs work and never the
 * result, two halves of a partition compute the same, and "the highest step wins" is a complete rule for merging.
 *
 * One generation, from trouble to the next step:
 *   suspect   a link is reset or silent for `suspect_after`, the data path complains, or a member asks (leave, join).
 *   propose   the lowest task that its fellows reach coordinates: PROPOSE(counter above all it knows, its incarnation).
 * Who notices a loss and is not the lowest tells the lowest that answers (SUSPECT), and after a limit the next one. Of
 * two coordinators the lower one goes on; a task that still sees a lower one than the proposer asks that one first, and
 * follows when it does not answer. stop      each task brings its training to rest (ACTION_STOP); a step in flight is
 * dropped unless it is applied. report    step, hash, replicas, and who answered a probe since the proposal.
 * Reachability is therefore two-way and fresh. record    the members (all mutually reachable, former members first),
 * shard map, T = the highest step, donors. copy      who is behind T copies the state from a donor (ACTION_COPY,
 * ACTION_SERVE); donors are at rest, nothing is snapshotted. Who holds T is READY. start     all are ready: START;
 * ACTION_START carries the generation, and the next step is T. A loss while collecting leaves the lost one out; a loss
 * after the record begins again with the next counter. If the coordinator is lost, the lowest of the rest begins again.
 * Nothing needs undoing: until START nobody's state has changed but by copying a later step.
 *
 * Newcomers. A task without a generation that sees one running probes all its members, and asks its coordinator to join
 * when all answer. So a join that cannot succeed disturbs nobody, and a task that keeps failing is let in ever more
 * rarely. A task whose generation went on without it (a stopped process that wakes, the smaller side of a healed
 * partition) is refused by whoever it speaks to; it begins a new incarnation, keeps its parameters as a possible donor,
 * and joins like a newcomer. When two running generations meet, members of the smaller one (at equal size: of the one
 * with the higher lowest task) leave it for the larger, if they reach all of that; T is the highest step of both, so
 * the one behind copies, whichever it is. Sizes only grow that way, so two groups never swap members for ever.
 *
 * Arithmetic. Products of two bfloat16 operands are added in one of two orders (base/context.h), in a whole run in one
 * of them. A record states which: that of the state of T, or, where no state has one yet, the one that every member's
 * machine is made for. So it is decided once, when the job begins, and whoever joins later computes in it, too.
 *
 * Equal steps with unequal hashes end the job with the culprit's name: in reports, and every `hash_every` steps.
 *
 * What cannot heal. A task that differs in its facts (version, model, data, seed ...) or uses another's index ends all
 * tasks while the job has not begun, and only itself when it has. What may heal is waited for, said by name every five
 * seconds, up to `wait_for_cluster`.
 *
 * The end. When all members have FINISHED the same step, all save what is theirs to save, the lowest one the results
 * (ACTION_SAVE); END is said when all have, and nobody drops its state before: who has not heard END yet still holds
 * its own. If the writer dies, the next generation does it again.
 *
 * Links. A link is its driver's connection; who is at its other end says HELLO. A link that breaks, or is replaced by a
 * second one, has lost messages and counts as a loss, however short: nothing is ever sent again. A link on which nobody
 * says HELLO for `suspect_after` is closed.
 *
 * Messages on one link arrive in order or the link breaks (TCP); between links there is no order. Every handler is
 * idempotent: a message about another generation than the one in hand, or a second copy, changes nothing. Only local
 * durations are measured; clocks of different hosts are never compared. A process that finds that it has itself slept
 * suspects nobody for that.
 *
 * Cost in a steady run: each member and the coordinator exchange a heartbeat every suspect_after / 4, 2 (n - 1)
 * messages in all; other pairs are probed only while one of them waits for the other. Forming a generation costs O(n^2)
 * small probes.
 */
#ifndef ARTEL_CLUSTER_MEMBERSHIP_H
#define ARTEL_CLUSTER_MEMBERSHIP_H

#include "base/context.h"
#include "cluster/message.h"

#define ARTEL__MEMBERSHIP_TICK_NS 20000000LL /* tick at least this often */

enum {
    ARTEL__MAX_TASKS = 4096,
    ARTEL__MAX_KEYS = 64,
    ARTEL__MAX_BARRIERS = 16
};

/* What a task's training does. The order is that of a step. */
typedef enum artel__member_phase {
    ARTEL__MEMBER_IDLE,
    ARTEL__MEMBER_COMPUTE,
    ARTEL__MEMBER_EXCHANGE, /* messages of a step with other members */
    ARTEL__MEMBER_APPLY,
    ARTEL__MEMBER_COPY, /* of state, to or from another member */
    ARTEL__MEMBER_SAVE,
    ARTEL__MEMBER_PHASES
} artel__member_phase;

/* Where the machine is; for `status`, health lines and tests. */
typedef enum artel__membership_state {
    ARTEL__MEMBERSHIP_JOINING,    /* no generation: waiting for tasks, or asking to join one */
    ARTEL__MEMBERSHIP_RUNNING,    /* a member; steps may be computed */
    ARTEL__MEMBERSHIP_SUSPECTING, /* its generation is broken; a lower task is to propose the next */
    ARTEL__MEMBERSHIP_FORMING,    /* a proposal is under way */
    ARTEL__MEMBERSHIP_COPYING,    /* the record is known; state is copied */
    ARTEL__MEMBERSHIP_LEAVING,    /* a member that will leave with the next generation */
    ARTEL__MEMBERSHIP_ENDED
} artel__membership_state;

/* Why a generation is formed. */
typedef enum artel__purpose {
    ARTEL__PURPOSE_TRAIN,
    ARTEL__PURPOSE_SAVE /* no more steps: all save step T and end preempted */
} artel__purpose;

/* Why something was suspected, refused or begun. Values are part of the wire format: append only. */
typedef enum artel__reason {
    ARTEL__REASON_NONE,
    ARTEL__REASON_START,       /* the first generation */
    ARTEL__REASON_RESET,       /* a connection was reset or closed */
    ARTEL__REASON_SILENT,      /* nothing heard for suspect_after */
    ARTEL__REASON_DATA,        /* the data path lost it */
    ARTEL__REASON_RESTARTED,   /* the task is there as another incarnation */
    ARTEL__REASON_STUCK,       /* alive, but did not come to rest in time */
    ARTEL__REASON_LEFT,        /* left in order */
    ARTEL__REASON_JOIN,        /* a task joins */
    ARTEL__REASON_SAVE,        /* all save and end */
    ARTEL__REASON_PASSIVE,     /* did not coordinate although it was the lowest */
    ARTEL__REASON_STALE,       /* that generation is over */
    ARTEL__REASON_UNREACHABLE, /* not mutually reachable with the other members */
    ARTEL__REASON_FULL,        /* more replicas than virtual shards */
    ARTEL__REASON_TOO_FEW,     /* fewer tasks than min_members */
    ARTEL__REASON_WITHDRAWN,   /* the coordinator gave its proposal up */
    ARTEL__REASON_FACTS,       /* version, model, data or settings differ */
    ARTEL__REASON_DUPLICATE,   /* two processes with one task index */
    ARTEL__REASON_RENEW,       /* what the members did together has failed, and nobody is lost */
    ARTEL__REASONS
} artel__reason;

/* A few words for each, such as "connection lost". */
const char *artel__reason_text(artel__reason reason);
const char *artel__member_phase_name(artel__member_phase phase);
const char *artel__membership_state_name(artel__membership_state state);

/* Why a job or a task fails. "First" among several is the earliest by (step, phase, task). */
typedef struct artel__cause {
    artel_status status;
    uint32_t task;
    uint64_t incarnation, step;
    artel__member_phase phase;
    char text[ARTEL__TEXT_MAX + 1];
} artel__cause;

/* A generation, as ACTION_START gives it. Lives until the next START. */
typedef struct artel__generation {
    artel__generation_id id;
    artel__purpose purpose;
    uint64_t step; /* T: the next step to compute */
    uint32_t arithmetic,
        best; /* that all compute in, and that all machines are made for: 1 + artel__arithmetic; 0: not agreed */
    const artel__member *member; /* ascending by task; rank r of the generation is member[r] */
    uint32_t members, rank;      /* this task's */
    uint32_t replicas;           /* of all members */
    uint32_t joined, left;       /* compared with this task's generation before */
    artel__reason reason;        /* why it was formed */
    uint32_t subject;            /* because of which task */
    int64_t pause_ns;            /* this task's training was at rest for so long */
} artel__generation;

typedef enum artel__action_kind {
    /* To the network. Links have numbers of the driver's choice, below `links`. */
    ARTEL__ACTION_OPEN,  /* connect to `task`; answered by link_up or, after a second at the most, by dial_failed */
    ARTEL__ACTION_CLOSE, /* close `link` at once; the number is free again, no link_down follows */
    ARTEL__ACTION_SEND,  /* `bytes` on `link`, in order; the bytes are lent for the call */
    /* To the training. */
    ARTEL__ACTION_STOP,  /* cancel collectives, copies and saving, come to rest, then artel__membership_stopped */
    ARTEL__ACTION_COPY,  /* copy the state of `step` from `task`, then artel__membership_copied */
    ARTEL__ACTION_SERVE, /* let `task` copy the state of `step`; it does not change before START, however often this is
                            said */
    ARTEL__ACTION_START, /* train from `generation->step`; only then may collectives of that generation begin */
    ARTEL__ACTION_SAVE,  /* write the results at `step` (`writer`: the shared ones too), then artel__membership_saved */
    /* To whoever waits. */
    ARTEL__ACTION_RELEASED, /* the barrier `name` has been passed */
    ARTEL__ACTION_KEY,      /* the key `name` has the value `bytes` now (0 bytes: deleted) */
    ARTEL__ACTION_REPORT,   /* a line for the user in `text`; `task` and `reason` when it is about one */
    ARTEL__ACTION_END, /* the last action: `cause` (status ARTEL_OK: finished), `digest` of what was written. Send what
                          was given to the links, then close them */
    ARTEL__ACTIONS
} artel__action_kind;

typedef struct artel__action {
    artel__action_kind kind;
    int link;
    uint32_t task;
    const uint8_t *bytes;
    size_t count;
    uint64_t step;
    bool writer;
    bool whole; /* END: the job has ended, and not this task alone */
    artel__purpose purpose;
    artel__reason reason;
    const artel__generation *generation;
    const artel__cause *cause;
    uint64_t digest;
    const char *name, *text;
} artel__action;

/* Performs an action. Must not call the machine that it comes from; all pointers are lent for the call. */
typedef void artel__membership_act_fn(void *user, const artel__action *action);

enum {
    ARTEL__OWN_MAX = 47 /* bytes of a fact that is not compared */
};

typedef struct artel__membership_config {
    uint32_t tasks, self;
    const char *const *name; /* of each task, such as "worker 2 (host:port)"; lent for the life of the machine */
    uint64_t incarnation;    /* not 0, different in each life of a process (random) */
    const char *facts; /* lines "name=value": all that must be equal everywhere (version, arithmetic class, identity by
                          field), but for "own=": what this task says of itself (artel__membership_own), and the words
                          that an "arithmetic=" has beyond another task's; at most
                          ARTEL__FACTS_MAX bytes, lent for the life of the machine */
    uint32_t links;    /* link numbers are below this; at least 2 * tasks + 8 */
    uint32_t shards;   /* V */
    uint32_t replicas; /* of this task, at least 1 */
    uint64_t memory;   /* bytes this task can give; known to the coordinator by its report (artel__peer_view) */
    uint32_t min_members; /* a smaller group waits; at least 1 */
    uint32_t
        start_members; /* once the time for the cluster is over, so many begin the job without the rest; at least 1 */
    bool save_on_preempt; /* drain: all save and end, instead of one leaving */
    uint32_t hash_every;  /* steps; 0: hashes are compared in reports only */
    int64_t suspect_after_ns;
    int64_t wait_for_cluster_ns;
    int64_t collective_timeout_ns; /* training in one local phase for longer: this task fails */
    uint64_t step, hash;           /* the state it starts with: steps applied, hash of the parameters */
    uint32_t arithmetic; /* in which it is to be continued, 1 + artel__arithmetic; 0: open, so that the members agree */
    uint32_t best;       /* the one that this machine is made for; 0: the job does not have products of two kinds */
    artel__membership_act_fn *act;
    void *user;
} artel__membership_config;

/* All time limits at their defaults (2 s, 10 min, 10 min), one member at least, one replica. */
#define ARTEL__MEMBERSHIP_CONFIG_INIT                                                                          \
    {                                                                                                          \
        .replicas = 1, .min_members = 1, .start_members = 1, .hash_every = 16, .suspect_after_ns = 2000000000, \
        .wait_for_cluster_ns = 600000000000, .collective_timeout_ns = 600000000000                             \
    }

typedef struct artel__membership artel__membership;

/* All memory is taken here. Fails for values out of range. The first tick begins. */
artel_status artel__membership_create(artel_context *ctx, const artel__membership_config *config,
                                      artel__membership **out);
void artel__membership_destroy(artel__membership *membership); /* NULL accepted */

/* -- inputs; `now` in ns, of a monotonic clock. After ACTION_END all of them do nothing. -- */

void artel__membership_tick(artel__membership *m, int64_t now);

/* A connection is there: the answer to OPEN of `task`, or accepted (`task` -1: the peer will say). */
void artel__membership_link_up(artel__membership *m, int64_t now, int link, int task);
void artel__membership_link_down(artel__membership *m, int64_t now, int link);
void artel__membership_dial_failed(artel__membership *m, int64_t now, uint32_t task);
/* Any bytes. A link on which something else than a message arrives is closed. */
void artel__membership_receive(artel__membership *m, int64_t now, int link, const uint8_t *bytes, size_t count);

/* The training: it has applied `step` steps and is in `phase`; in EXCHANGE it waits for the task `waiting_for` (-1: for
 * none or several). `hash`: of the parameters after `step` steps, wanted where step is a multiple of hash_every, else
 * 0. */
typedef struct artel__membership_progress {
    uint64_t step, hash;
    artel__member_phase phase;
    int waiting_for;
    uint32_t busy; /* as in messages; 0: as before */
} artel__membership_progress;
void artel__membership_progressed(artel__membership *m, int64_t now, const artel__membership_progress *progress);
/* The answer to STOP: training is at rest, holds a whole state of `step` steps with that hash. A copy that was broken
 * off leaves the state that was there, or that of the start. */
void artel__membership_stopped(artel__membership *m, int64_t now, uint64_t step, uint64_t hash);
/* The answer to COPY: the state of the wanted step is there (and, where the caller wants that, a leaf of the donor's
 * last step has been recomputed to the same bits). A copy that cannot go on is answered with artel__membership_lost. */
void artel__membership_copied(artel__membership *m, int64_t now, uint64_t hash);
/* All steps are done. The answer to START of a generation at the last step, and of one with PURPOSE_SAVE, too. */
void artel__membership_finished(artel__membership *m, int64_t now, uint64_t step, uint64_t hash);
/* The answer to SAVE; `digest` 0 when there was nothing to write. */
void artel__membership_saved(artel__membership *m, int64_t now, uint64_t digest);
/* The data path has lost `task` (reset, refused). */
void artel__membership_lost(artel__membership *m, int64_t now, uint32_t task);
/* The same members, and those who have come back, form a new generation: what they did together has failed, though
 * nobody is lost. */
void artel__membership_renew(artel__membership *m, int64_t now);
/* Asks the other members of the running generation whether they still are: answers to this are numbered above what is
 * returned. */
uint64_t artel__membership_ask(artel__membership *m, int64_t now);
/* SIGTERM, a preemption notice, `artel drain`. */
void artel__membership_drain(artel__membership *m, int64_t now);
/* A local failure that the others cannot mend. `job`: it would be the same for whoever computed it (NaN, a damaged
 * record), and all end; otherwise this task ends and the others go on. */
void artel__membership_fail(artel__membership *m, int64_t now, bool job, artel_status status, const char *text);

/* A named barrier of all members. False when there are ARTEL__MAX_BARRIERS names already. Who joins the job later
 * counts as having passed what the others have passed. */
bool artel__membership_enter(artel__membership *m, int64_t now, const char *name);
/* Whether this task has entered it and not all others have. */
bool artel__membership_waits(const artel__membership *m, const char *name);
/* Names of the members that have not entered it as often as this task, as far as it has heard; "": none. */
void artel__membership_missing(artel__membership *m, const char *name, char *out, size_t size);
/* The key-value store, a copy at every member: an entry survives while one member does. `overwrite` false: an entry
 * that is there stays. The write is done when ACTION_KEY says so; around a change of coordinator it may be done twice.
 * False when key or value is too long or the store is full. */
typedef struct artel__membership_entry {
    const char *key;
    const void *value;
    size_t count; /* 0: delete */
    bool overwrite;
} artel__membership_entry;
bool artel__membership_put(artel__membership *m, int64_t now, const artel__membership_entry *entry);
/* The value of a key, or NULL. Lent until the next input. */
const uint8_t *artel__membership_get(const artel__membership *m, const char *key, size_t *count);

/* -- what it knows -- */

artel__membership_state artel__membership_state_of(const artel__membership *m);
/* The running generation, or NULL. */
const artel__generation *artel__membership_generation(const artel__membership *m);
uint64_t artel__membership_incarnation(const artel__membership *m);

/* A task, for `status` and health lines. */
typedef struct artel__peer_view {
    bool linked, member;
    uint64_t step, memory; /* memory: as last reported to this task, 0 when it was not */
    artel__member_phase phase;
    int64_t phase_ns, heard_ns; /* in that phase; since it was last heard */
    uint32_t busy;              /* as in messages */
} artel__peer_view;
artel__peer_view artel__membership_peer(const artel__membership *m, uint32_t task);
/* What a task has said of itself, ARTEL__OWN_MAX bytes at most; "": nothing, or it was never linked. */
void artel__membership_own(const artel__membership *m, uint32_t task, char out[ARTEL__OWN_MAX + 1]);

/* What a member has said to artel__membership_ask. */
typedef enum artel__membership_answer {
    ARTEL__MEMBERSHIP_GONE, /* it is no member of this task's generation any more, or is lost */
    ARTEL__MEMBERSHIP_ASKED,
    ARTEL__MEMBERSHIP_STILL /* it was a member when it answered */
} artel__membership_answer;
artel__membership_answer artel__membership_answered(const artel__membership *m, uint32_t task, uint64_t asked);

#endif
