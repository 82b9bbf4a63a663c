/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the membership machine, shared by its files. Each calls those below it, none calls one above it:
 *
 *   membership.c          creation, inputs, views; looks at the whole after an input
 *   membership_link.c     links, probes, heartbeats, what a peer says about itself
 *   membership_end.c      joining, leaving and finishing while a generation goes on; who has ended
 *   membership_greet.c    HELLO: who is at the other end of a link, and which link is the peer's; its loss
 *   membership_join.c     without a generation; other groups in sight
 *   membership_record.c   reports, record, copying
 *   membership_start.c    the first message of a generation
 *   membership_form.c     from a broken generation to a proposal: who coordinates, who follows
 *   membership_shared.c   barriers and keys
 *   membership_fail.c     failing, and the last word
 *   membership_state.c    changes of state that several files make; tables of which may follow which
 *   membership_act.c      what comes out: actions, lines for the user, messages
 *   membership_choose.c   members from reports, a pure function
 *
 * Functions of these files begin with artel__ms_. None blocks; each may be called whenever the machine has not ended,
 * unless it says more. After an input membership.c looks at the whole and does what is due.
 */
#ifndef ARTEL_CLUSTER_MEMBERSHIP_IMPL_H
#define ARTEL_CLUSTER_MEMBERSHIP_IMPL_H

#include "cluster/membership.h"
#include "cluster/membership_choose.h"
#include "cluster/moves.h"

enum {
    ARTEL__MS_RECENT = 4, /* own hashes kept for comparison */
    ARTEL__MS_LINE = 512  /* bytes of a line for the user */
};

#define ARTEL__MS_MILLISECOND 1000000LL
#define ARTEL__MS_SECOND 1000000000LL
#define ARTEL__MS_REPORT_EVERY (5 * ARTEL__MS_SECOND) /* who is missing, said again */
#define ARTEL__MS_BACKOFF_MIN (50 * ARTEL__MS_MILLISECOND)
#define ARTEL__MS_BACKOFF_MAX (500 * ARTEL__MS_MILLISECOND)
#define ARTEL__MS_AGAIN_MAX (1 * ARTEL__MS_SECOND)
#define ARTEL__MS_UPHILL (1 * ARTEL__MS_SECOND) /* a lower task dials a higher one after so long without a link */
#define ARTEL__MS_WINDOW (100 * ARTEL__MS_MILLISECOND) /* newcomers within it are let in together */
#define ARTEL__MS_PENALTY_MAX (16 * ARTEL__MS_SECOND)
#define ARTEL__MS_PROBATION (20 * ARTEL__MS_SECOND)
#define ARTEL__MS_FAIL_GRACE (200 * ARTEL__MS_MILLISECOND) /* other causes of a failure are awaited so long */

/* A peer's part in the proposal that this task coordinates. */
typedef enum artel__ms_stage {
    ARTEL__MS_OUTSIDE, /* not asked, lost, declined */
    ARTEL__MS_PENDING, /* asked */
    ARTEL__MS_REPORTED,
    ARTEL__MS_READY /* holds the target state */
} artel__ms_stage;

/* As what a process is known. */
typedef struct artel__ms_who {
    uint64_t incarnation; /* the last one known; of the process `life`, which has had `sequence` before */
    uint64_t life;
    uint32_t sequence;
} artel__ms_who;

/* A second link to a peer, which waits until the first one answers a probe or does not. */
typedef struct artel__ms_rival {
    int link;             /* -1: none */
    uint64_t probe, ping; /* asked of the first link and of this one */
    bool answered;
    artel__ms_who said;
    int64_t since;
} artel__ms_rival;

/* Whether a peer lives. Probe numbers of this machine only grow. */
typedef struct artel__ms_live {
    int64_t heard, watched, beat_at, bound_at;
    uint64_t ping, pong;         /* the highest number sent; sent back */
    int64_t ping_since, pong_at; /* the first one without answer was sent then; the last answer came then */
    int64_t asked_at;            /* the highest one was sent then; -1: its answer measures nothing */
    int64_t trip; /* of this incarnation: from a question, the last one then, to its answer; 0: unknown */
} artel__ms_live;

/* What a peer said of itself last. */
typedef struct artel__ms_said {
    uint32_t flags;
    artel__generation_id generation;
    uint32_t size, lowest;
    uint64_t step;
    artel__member_phase phase;
    int64_t phase_since;
    uint32_t busy;
    uint64_t hash, hash_step;
} artel__ms_said;

/* A peer as a newcomer. */
typedef struct artel__ms_joining {
    bool active;
    int64_t since, admit_at, penalty, admitted_at;
} artel__ms_joining;

/* A peer in a proposal of this task: how far it is, and what it has reported. */
typedef struct artel__ms_part {
    artel__ms_stage stage;
    int64_t since;
    uint64_t step, hash, memory;
    uint32_t replicas, arithmetic, best;
} artel__ms_part;

/* A peer in the running generation. */
typedef struct artel__ms_member {
    uint64_t incarnation; /* as which it became a member */
    uint64_t failed_as;   /* as which it has failed alone, so that it is said once; 0: it has not */
    artel__generation_id finished_in, saved_in; /* by id: what it says may come before START does */
    int64_t passive_until;                      /* it did not coordinate when it should have */
} artel__ms_member;

typedef struct artel__ms_peer {
    int link;                     /* on which its HELLO has come; -1: none */
    bool dialled;                 /* this side opened it */
    char own[ARTEL__OWN_MAX + 1]; /* artel__membership_own */
    struct {
        bool waits; /* OPEN is not answered yet */
        int64_t at, backoff;
    } dial;
    artel__ms_who who;
    artel__ms_rival rival;
    artel__ms_live live;
    artel__ms_said said;
    artel__ms_joining joining;
    artel__ms_part part;
    artel__ms_member member;
} artel__ms_peer;

typedef struct artel__ms_link {
    bool open;
    int task; /* dialled or greeted; -1 unknown */
    bool dialled;
    int64_t since;
} artel__ms_link;

/* A generation with the memory of its members. */
typedef struct artel__ms_group {
    artel__generation_id id; /* counter 0: none */
    artel__purpose purpose;
    uint64_t step;
    uint32_t arithmetic, best; /* as in its RECORD */
    artel__member *member;
    uint32_t members;
    uint64_t *set;
} artel__ms_group;

typedef struct artel__ms_proposal {
    bool active;
    artel__generation_id id;
    uint32_t coordinator;
    artel__reason reason;
    uint32_t subject;
    int64_t since;
    uint64_t round;      /* answers to probes from this number on count */
    int64_t probe_until; /* who has not answered by then is not reached */
    bool reported;
    bool recorded; /* m->next is the record */
    bool ready;
} artel__ms_proposal;

/* A PROPOSE that waits until a lower task has been asked whether it is alive. */
typedef struct artel__ms_held {
    bool active;
    uint32_t from, lower;
    artel__generation_id id;
    artel__reason reason;
    uint32_t subject;
    uint64_t probe;
    int64_t until;
} artel__ms_held;

/* -- states, with tables of moves (membership_state.c) -- */

typedef enum artel__ms_training_state {
    ARTEL__MS_REST,
    ARTEL__MS_GOING,    /* computing, copying or saving */
    ARTEL__MS_STOPPING, /* STOP has not been answered */
    ARTEL__MS_TRAININGS
} artel__ms_training_state;

/* How far a generation's last step is behind this task. */
typedef enum artel__ms_ending {
    ARTEL__MS_STEPPING,
    ARTEL__MS_FINISHED,  /* this task has */
    ARTEL__MS_WRITING,   /* all have: SAVE was ordered, and is being done */
    ARTEL__MS_WRITTEN,   /* is done */
    ARTEL__MS_UNWRITTEN, /* was broken off: the generation is over */
    ARTEL__MS_ENDINGS
} artel__ms_ending;

/* Of the machine. */
typedef enum artel__ms_course {
    ARTEL__MS_LIVES,
    ARTEL__MS_FAILING, /* a moment, for other causes */
    ARTEL__MS_ENDED,
    ARTEL__MS_COURSES
} artel__ms_course;

/* What this task was asked for from outside (artel__membership_drain). */
typedef enum artel__ms_leave {
    ARTEL__MS_STAY,
    ARTEL__MS_LEAVE, /* alone */
    ARTEL__MS_SAVE,  /* all save and end */
    ARTEL__MS_LEAVES
} artel__ms_leave;

extern const artel__moves artel__ms_trainings, artel__ms_endings, artel__ms_courses, artel__ms_leaves;

typedef struct artel__ms_barrier {
    char name[ARTEL__TEXT_MAX + 1];
    bool used, waiting;
    uint32_t entered, released;
    int64_t since, asked_at;
    uint32_t *seen; /* by task: the highest entered, at the coordinator */
} artel__ms_barrier;

typedef struct artel__ms_key {
    char name[ARTEL__TEXT_MAX + 1];
    uint32_t version; /* 0: unused; the higher one is newer */
    uint32_t count;   /* 0: deleted */
    bool wanted;      /* a put of this task that is not confirmed: wish, wish_count */
    bool overwrite;
    uint32_t wish_count;
    int64_t asked_at;
    uint8_t value[ARTEL__VALUE_MAX], wish[ARTEL__VALUE_MAX];
} artel__ms_key;

/* -- the parts of the machine -- */

typedef struct artel__ms_limits {
    int64_t quantum;
    int64_t heartbeat, probe, stop, appeal; /* durations from suspect_after */
    int64_t again; /* what came to nothing or may be lost is tried again after so long, however patient the user is */
} artel__ms_limits;

/* As what this process is known: incarnations follow one another while it lives. */
typedef struct artel__ms_life {
    uint64_t incarnation, nonce;
    uint32_t sequence; /* of incarnations */
} artel__ms_life;

/* The training as it was told of last. */
typedef struct artel__ms_training {
    artel__ms_training_state state;
    artel__member_phase phase;
    int64_t phase_since, rest_since, stop_since;
    int waiting_for;
    uint32_t busy;
} artel__ms_training;

/* Own hashes, kept for comparison. */
typedef struct artel__ms_hashes {
    uint64_t step[ARTEL__MS_RECENT], hash[ARTEL__MS_RECENT];
    uint32_t next; /* to be overwritten */
} artel__ms_hashes;

/* Why the generation cannot go on. */
typedef struct artel__ms_trouble {
    bool active;
    artel__reason reason;
    uint32_t subject;
    int64_t since;
} artel__ms_trouble;

/* Scratch of deciding upon members. */
typedef struct artel__ms_deciding {
    uint64_t *reach; /* tasks x words: the sets in the reports */
    artel__candidate *candidate;
    uint32_t *order;
    artel__ms_group choice;
} artel__ms_deciding;

/* Without a generation. */
typedef struct artel__ms_alone {
    int64_t since, settle, retry_at;
    int64_t wait_said, few_said; /* lines for the user */
    uint32_t linked;
    artel__generation_id wish; /* asked to join it */
    int64_t wish_at;
} artel__ms_alone;

typedef struct artel__ms_buffers {
    uint8_t *out, *bits;
    size_t room;           /* in `out` */
    artel__member *member; /* of a message that comes in */
    char line[ARTEL__MS_LINE];
} artel__ms_buffers;

struct artel__membership {
    artel__membership_config config;
    artel_context *ctx;
    uint32_t words; /* of a set of tasks */
    int64_t now, begun;
    artel__ms_limits limits;
    artel__ms_life life;
    uint32_t counter; /* the highest generation counter seen */
    artel__ms_course course;
    struct {
        int64_t since;
        artel__cause cause;
    } failing;
    artel__ms_leave leave;
    uint64_t leave_round; /* answers to probes from this number on know that it leaves; 0: nobody was asked */
    bool has_run;         /* it has been in a generation */

    artel__ms_peer *peer; /* by task; its own entry carries its own reports */
    artel__ms_link *link;
    struct {
        uint32_t flags;
        artel__generation_id generation;
    } said; /* what was announced last */

    artel__ms_training training;
    uint64_t step, hash;
    uint32_t arithmetic; /* in which that state was computed; 0: open */
    struct {
        uint64_t step;
        uint32_t arithmetic; /* 0: none */
    } copy;                  /* the state that was to be copied: it may be there although its generation never began */
    artel__ms_hashes recent;

    artel__ms_group group, next;
    artel__generation view;
    artel__ms_trouble trouble;
    int64_t started; /* the generation, here */
    artel__ms_ending ending;
    uint64_t digest; /* of what was written */
    struct {
        uint64_t round; /* answers to probes from this number on count */
        int64_t until;
        bool active;
    } search; /* for a lower task that lives */
    struct {
        uint32_t task;
        int64_t until;
        bool active;
    } appeal; /* to the lowest task, to propose */
    struct {
        uint32_t a, b;
        uint64_t step, life; /* b's */
        uint32_t times;
        int64_t at;
    } blame; /* who complained of whom last, and how often without a step in between */

    artel__ms_proposal proposal;
    artel__ms_held held;
    artel__ms_deciding deciding;
    artel__ms_alone lone;

    artel__ms_barrier barrier[ARTEL__MAX_BARRIERS];
    artel__ms_key key[ARTEL__MAX_KEYS];
    artel__ms_buffers buffer;
};

static inline bool artel__ms_linked(const artel__membership *m, uint32_t task)
{
    return m->peer[task].link >= 0;
}

static inline bool artel__ms_has_group(const artel__membership *m)
{
    return m->group.id.counter != 0;
}

static inline bool artel__ms_in_group(const artel__membership *m, uint32_t task)
{
    return artel__ms_has_group(m) && artel__bit(m->group.set, task);
}

/* A generation goes on and nothing is wrong with it. */
static inline bool artel__ms_running(const artel__membership *m)
{
    return artel__ms_has_group(m) && !m->trouble.active && !m->proposal.active;
}

static inline bool artel__ms_coordinates(const artel__membership *m)
{
    return m->proposal.active && m->proposal.coordinator == m->config.self;
}

static inline uint32_t artel__ms_lowest(const artel__membership *m)
{
    return m->group.member[0].task;
}

static inline const char *artel__ms_name(const artel__membership *m, uint32_t task)
{
    return task < m->config.tasks ? m->config.name[task] : "an unknown task";
}

/* -- membership_act.c -- */
void artel__ms_act(artel__membership *m, const artel__action *action);
void artel__ms_say(artel__membership *m, uint32_t task, artel__reason reason, const char *format, ...)
    ARTEL__PRINTF(4, 5);
/* "a, b and 3 more" of the tasks of a set, in `out`. */
void artel__ms_list(const artel__membership *m, const uint64_t *set, char *out, size_t size);
/* True every five seconds; *said is the time of the last time. */
bool artel__ms_due(artel__membership *m, int64_t *said);
uint32_t artel__ms_flags(const artel__membership *m);
/* A message to a task (dropped when there is no link to it), to all linked ones, or on a link; the sender's part is
 * filled in. */
void artel__ms_send(artel__membership *m, uint32_t task, artel__message *message);
void artel__ms_send_all(artel__membership *m, artel__message *message);
void artel__ms_send_on(artel__membership *m, int link, artel__message *message);
void artel__ms_probe(artel__membership *m, uint32_t task);
/* How long an answer is waited for before its task counts as one that is not reached: by the way to those that have
 * answered before, however late. */
int64_t artel__ms_probe_time(const artel__membership *m);
void artel__ms_greet(artel__membership *m, int link);
void artel__ms_greet_all(artel__membership *m);
/* Tells those who do not hear it otherwise what this task has become. */
void artel__ms_announce(artel__membership *m);
void artel__ms_close(artel__membership *m, int link);

/* -- membership_state.c -- */
void artel__ms_move_training(artel__membership *m, artel__ms_training_state to);
void artel__ms_move_ending(artel__membership *m, artel__ms_ending to);
void artel__ms_move_course(artel__membership *m, artel__ms_course to);
void artel__ms_move_leave(artel__membership *m, artel__ms_leave to);
/* Notes the time of an input; false when the machine has ended. */
bool artel__ms_enter(artel__membership *m, int64_t now);
void artel__ms_stop(artel__membership *m);
/* The generation cannot go on. The first reason stays. */
void artel__ms_break(artel__membership *m, artel__reason reason, uint32_t subject);
/* Without a generation from here on. */
void artel__ms_set_lone(artel__membership *m);
/* Its generation goes on without it: begins a new incarnation. */
void artel__ms_renounce(artel__membership *m);
typedef struct artel__ms_other {
    artel__generation_id id; /* counter 0: none in sight */
    uint32_t size, lowest;
} artel__ms_other;
/* The best running generation of linked peers other than its own. */
artel__ms_other artel__ms_find_other(const artel__membership *m);
/* Is let in later, and ever later. */
void artel__ms_punish(artel__membership *m, uint32_t task);

/* -- membership_fail.c -- */
void artel__ms_end(artel__membership *m, artel_status status, bool whole, const char *text);
void artel__ms_fail_job(artel__membership *m, const artel__cause *cause);
void artel__ms_tell_failure(artel__membership *m, uint32_t task); /* to one that came while the job was failing */
void artel__ms_fail_here(artel__membership *m, artel_status status, const char *format, ...) ARTEL__PRINTF(3, 4);
void artel__ms_fail_tick(artel__membership *m);
void artel__ms_on_fail(artel__membership *m, uint32_t from, const artel__message *message);

/* -- membership_shared.c -- */
/* Sends all keys and barriers to a task, which merges them. */
void artel__ms_share(artel__membership *m, uint32_t task);
/* After START: what this task still waits for is asked of the new coordinator. */
void artel__ms_share_again(artel__membership *m);
/* What the peer has entered is not worth anything any more. */
void artel__ms_share_forget(artel__membership *m, uint32_t task);
void artel__ms_shared_tick(artel__membership *m);
void artel__ms_on_shared(artel__membership *m, uint32_t from, const artel__message *message);

/* -- membership_form.c -- */
void artel__ms_regroup(artel__membership *m);
void artel__ms_propose(artel__membership *m, artel__reason reason, uint32_t subject);
/* Asks one more task to take part in the proposal that is being collected, when it may. */
void artel__ms_invite(artel__membership *m, uint32_t task);
void artel__ms_begin(artel__membership *m, artel__generation_id id, uint32_t coordinator, artel__reason reason,
                     uint32_t subject);
/* Ends the proposal; `why` is told to those who follow (REASON_NONE: nothing). */
void artel__ms_give_up(artel__membership *m, artel__reason why);
void artel__ms_held_tick(artel__membership *m);
void artel__ms_on_suspect(artel__membership *m, uint32_t from, const artel__message *message);
void artel__ms_on_propose(artel__membership *m, uint32_t from, const artel__message *message);
void artel__ms_on_decline(artel__membership *m, uint32_t from, const artel__message *message);
void artel__ms_on_refuse(artel__membership *m, uint32_t from, const artel__message *message);
void artel__ms_blame(artel__membership *m, uint32_t a, uint32_t b);
bool artel__ms_blame_stands(const artel__membership *m);

/* -- membership_start.c -- */
void artel__ms_start_all(artel__membership *m);
void artel__ms_on_start(artel__membership *m, uint32_t from, const artel__message *message);
/* What a peer says about itself shows that a proposal in hand has begun or ended without word of it. */
void artel__ms_compare(artel__membership *m, uint32_t from, const artel__message *message);

/* -- membership_record.c -- */
void artel__ms_advance(artel__membership *m);
void artel__ms_on_report(artel__membership *m, uint32_t from, const artel__message *message);
void artel__ms_on_record(artel__membership *m, uint32_t from, const artel__message *message);
void artel__ms_on_ready(artel__membership *m, uint32_t from, const artel__message *message);

/* -- membership_join.c -- */
void artel__ms_lone(artel__membership *m);
void artel__ms_court(artel__membership *m, artel__ms_other other);
void artel__ms_on_join(artel__membership *m, uint32_t from, const artel__message *message);

/* -- membership_greet.c -- */
void artel__ms_on_hello(artel__membership *m, int link, const artel__message *hello);
/* The link is the peer's from here on. */
void artel__ms_bind(artel__membership *m, int link, const artel__message *hello);
/* A message on a link that is not the peer's (yet). */
void artel__ms_hear_rival(artel__membership *m, int link, const artel__message *message);
/* Ends the contest of two links when enough is known. */
void artel__ms_settle(artel__membership *m, uint32_t task);
/* The peer is lost: its link is closed, its part in generation and proposal ends; a rival's link becomes its link. */
void artel__ms_lose(artel__membership *m, uint32_t task, artel__reason reason);
/* The peer is dialled after a pause that grows. */
void artel__ms_back_off(artel__membership *m, artel__ms_peer *peer);

/* -- membership_end.c -- */
void artel__ms_finish_tick(artel__membership *m);
void artel__ms_on_finish(artel__membership *m, uint32_t from, const artel__message *message);
void artel__ms_on_ended(artel__membership *m, uint32_t from, const artel__message *message);
void artel__ms_on_end(artel__membership *m, uint32_t from, const artel__message *message);

/* -- membership_link.c -- */
void artel__ms_link_tick(artel__membership *m);
/* An open link is gone. False: it was nobody's, and nothing follows. */
bool artel__ms_link_lost(artel__membership *m, int link);
/* Any bytes on an open link. False: they were no message, the link was nobody's, and nothing follows. */
bool artel__ms_receive(artel__membership *m, int link, const uint8_t *bytes, size_t count);

#endif
