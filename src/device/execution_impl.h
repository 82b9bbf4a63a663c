/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an execution on a device, for the files that make a step: values and copies (step_values.c), launches
 * (step_launch.c), exchanges (step_exchange.c), and the step itself (execution.c).
 *
 * `s` is a shard of those that the replica owns in the step, or -1 for what all shards have in common.
 */
#ifndef ARTEL_DEVICE_EXECUTION_IMPL_H
#define ARTEL_DEVICE_EXECUTION_IMPL_H

#include "device/home.h"

typedef struct artel__pending_fault {
    const int64_t *word; /* on their way from the device */
    const artel__step_program *program;
    int64_t first_row; /* of the shard, in the global batch; of a group, of its rows */
} artel__pending_fault;

typedef struct artel__word_block {
    int64_t *word;
    int count;
} artel__word_block;

/* Inputs that were sent before their step: a buffer for each and every owned shard, or one for all (step_inputs.c). */
typedef struct artel__sent_inputs {
    const void *const *from;
    int64_t batch;
    int32_t first, count;
    artel__buffer **buffer; /* by input and shard */
} artel__sent_inputs;

/* What was launched before it was asked for (step_ahead.c). */
typedef struct artel__step_ahead {
    artel__step step;         /* that is being computed */
    bool taken;               /* `variable` is there: what it makes of the variables */
    artel__buffer **variable; /* by value */
    /* The computation behind it: its results, and what it was given: the numbers, the state of the variables. */
    const artel__step_program *program; /* NULL: none */
    artel__buffer **out;
    int outs;
    int64_t *word, changes;
    artel__buffer **in, *words; /* of the step of all replicas: what this one has left for it */
} artel__step_ahead;

/* A number of rows whose programs all ranks have. */
typedef struct artel__agreed_batch {
    int64_t batch;
    bool scan;
} artel__agreed_batch;

typedef struct artel__device_execution {
    artel_context *ctx;
    artel__device_executable *x;
    int device, index;   /* the replica of this process */
    bool central, leads; /* variables stay in this machine's memory; this replica updates them */
    artel__state *state;
    artel__device_home *home;
    const artel__comm *comm;
    const atomic_bool *stop;
    artel__arena arena;
    artel__buffer **one;   /* by value: GLOBAL, BATCH */
    artel__buffer **shard; /* by value and shard of the step: ROW, NODES */
    artel__buffer **in, **out;
    artel__buffer *
        *node; /* by node of the fold and collective of the stage: what a group has summed up, until it is handed on */
    int nodes;
    artel__word_block *words; /* by what a step asks room for */
    int used, blocks;
    void **kept; /* by kept value, in this machine's memory */
    size_t *kept_bytes;
    artel__copy **copy;             /* on their way */
    int copies, most_copies, later; /* the last `later` of them are of inputs that are sent ahead: the next step waits
                                       for them when it waits */
    artel__sent_inputs sent[ARTEL__SENT_AHEAD]; /* in the order in which they will be computed with */
    int sents;
    int64_t *sent_start; /* room for the shards of a step that was sent */
    artel__step_ahead ahead;
    void (*meanwhile)(void *user);
    void *meanwhile_user;
    artel__pending_fault *pending;
    int pendings, most_pending;
    artel__fault fault;
    artel__node_time *time;
    artel__nonfinite *scan; /* looked for; NULL: not */
    artel__agreed_batch *agreed;
    int agreed_count;
} artel__device_execution;

/* -- values and copies -- */

artel__platform *artel__step_platform(const artel__device_execution *e);
bool artel__step_is_per_shard(const artel__device_execution *e, artel__value_id id);
/* Bytes of a row, a block, or the whole value. */
size_t artel__step_element_bytes(const artel__device_execution *e, artel__value_id id);
/* Where a value is, for owned shard `s`. */
artel__buffer **artel__step_slot(const artel__device_execution *e, artel__value_id id, int s);
void artel__step_put_into(const artel__device_execution *e, artel__buffer **slot, artel__buffer *buffer);
void artel__step_release_value(const artel__device_execution *e, artel__value_id id);
void artel__step_release_all(const artel__device_execution *e);
/* Copies begin; `host` stays until they have been waited for, which hands on `status` or the first failure. */
artel_status artel__step_begin_copy(artel__device_execution *e, artel__buffer *buffer, void *to, size_t bytes);
artel_status artel__step_begin_put(artel__device_execution *e, artel_dtype dtype, const artel_shape *shape,
                                   const void *host, artel__buffer **out);
artel_status artel__step_put(artel__device_execution *e, artel__value_id id, int64_t rows, const void *host,
                             artel__buffer **slot);
artel_status artel__step_begin_rows(artel__device_execution *e, artel__value_id id, const artel__fold_plan *fold,
                                    uint8_t *to);
artel_status artel__step_await_copies(artel__device_execution *e, artel_status status);
void artel__step_give_up_copies(artel__device_execution *e, int from); /* those that began behind so many */

/* -- inputs (step_inputs.c) -- */

artel_status artel__step_put_inputs(artel__device_execution *e, const artel__step *step, const void *const *inputs);
/* False: it cannot be sent now, and is put with its step; nothing of it is on its way. */
bool artel__step_send_inputs(artel__device_execution *e, const artel__fold_plan *fold, const void *const *inputs);
void artel__step_drop_sent(artel__device_execution *e);
artel_status artel__step_sent_prepare(artel__device_execution *e);

/* -- ahead (step_ahead.c); nothing is done where a step is cut -- */

artel_status artel__step_ahead_prepare(artel__device_execution *e);
/* A step begins: if the one before was given up, what it made of the variables is gone, and what was computed behind
 * it. */
void artel__step_ahead_begin(artel__device_execution *e, const artel__step *step);
/* The results of STEP that are for variables, and how many: nobody sees them before the commit, which says whether
 * there were any. */
int artel__step_take_variables(artel__device_execution *e, artel__buffer *const *from);
bool artel__step_commit(artel__device_execution *e);
/* Behind a step, the computation of the next one with the inputs that were sent for it, if any were; and whether it is
 * the one that is now wanted: then its results are where a launch would have put them. */
void artel__step_launch_ahead(artel__device_execution *e);
bool artel__step_take_ahead(artel__device_execution *e, const artel__step *step);
void artel__step_drop_next(artel__device_execution *e); /* that computation */
bool artel__step_ahead_is_possible(const artel__device_execution *e);
/* An argument of the next step: what was sent, what a variable has become, or is; NULL: it is not here. */
artel__buffer *artel__step_ahead_argument(artel__device_execution *e, artel__value_id id);

/* -- the step of all replicas of the process, in one launch (step_all.c) -- */

/* Whether the step is one; then all of it, as compute does it. */
bool artel__step_is_all(const artel__device_execution *e, const artel__step *step);
artel_status artel__step_all_run(artel__device_execution *e, const artel__step *step);
/* Leaves what this replica has for the next step, which the last one launches. */
void artel__step_all_leave_next(artel__device_execution *e, const artel__step *next);
/* It is not to be launched with what this replica has left. */
void artel__step_all_take_back(artel__device_execution *e);
void artel__step_ahead_drop(artel__device_execution *e);

/* -- variables that stay in this machine's memory (step_central.c) -- */

artel_status artel__step_central_create(artel__device_execution *e);
void artel__step_central_destroy(artel__device_execution *e);
/* Before a step. */
artel_status artel__step_central_send(artel__device_execution *e);
/* The APPLY phase, by the first replica for all. */
artel_status artel__step_central_apply(artel__device_execution *e, const artel__step *step);

/* -- launches and exchanges -- */

/* Before a step: all ranks have the same programs (agree.c). */
artel_status artel__step_agree(artel__device_execution *e, const artel__step *step);

artel_status artel__step_launch(artel__device_execution *e, const artel__step_program *p, const artel__step *step,
                                int s);
/* A stage at once (step_group.c). */
artel_status artel__step_launch_group(artel__device_execution *e, const artel__step_program *p,
                                      const artel__step *step);
/* The step as owned shard `s` sees it; all of the replica's rows when s < 0. `fold`, `start`: room. */
void artel__step_narrow(const artel__step *step, int s, artel__fold_plan *fold, int64_t start[2], artel__step *out);
/* Room for the numbers of a launch, until the next step is computed; NULL: memory is out. */
int64_t *artel__step_take_words(artel__device_execution *e, int count);
/* The numbers of a launch to the device. */
artel_status artel__step_put_words(artel__device_execution *e, int64_t *words, int count, artel__buffer **out);
/* Takes the buffer. */
artel_status artel__step_note_fault(artel__device_execution *e, const artel__step_program *p, int64_t first_row,
                                    artel__buffer *buffer);
artel_status artel__step_launch_rows(artel__device_execution *e, int stage, const artel__step *step);
/* What the launches since the last call have met; all copies have been waited for, with `status`. */
void artel__step_read_faults(artel__device_execution *e, const artel__step *step, artel_status status);
/* What a block without rows holds, where there are zeros: of the greatest -infinity; of sums and moments these. */
void artel__step_fill_empty(const artel__value *value, bool greatest, void *to);
/* One launch that puts the leaves of so many owned shards together, of all folds of the stage; `first`: the first owned
 * one. `out` by fold. */
artel_status artel__step_combine(artel__device_execution *e, int stage, const artel__fold_node *node, int32_t first,
                                 artel__buffer **out);
/* step_tell.c. `gathers`: the first replica hears of all others, a byte each; else they hear of it. `byte`: own, by
 * replica. */
artel_status artel__step_joint_tell(artel__device_execution *e, const artel__step *step, int32_t message, bool gathers,
                                    uint8_t byte[ARTEL__MAX_JOINT]);
/* The folds of a stage over the replicas of this process, by the plug-in (step_joint.c): results are where the
 * collectives have them. */
artel_status artel__step_joint_sum(artel__device_execution *e, int stage, const artel__step *step);
/* The collectives behind a stage. */
artel_status artel__step_exchange(artel__device_execution *e, int stage, const artel__step *step);

#endif
