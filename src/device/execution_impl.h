/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an execution on a device, for the files that make a step: values and copies (step_values.c), launches (step_launch.c),
 * exchanges (step_exchange.c), and the step itself (execution.c).
 *
 * `s` is a shard of those that the replica owns in the step, or -1 for what all shards have in common.
 */
#ifndef ARTEL_DEVICE_EXECUTION_IMPL_H
#define ARTEL_DEVICE_EXECUTION_IMPL_H

#include "device/home.h"

typedef struct artel__pending_fault {
    artel__buffer *buffer;
    const artel__lowered *lowered;
    int64_t first_row; /* of the shard, in the global batch */
} artel__pending_fault;

typedef struct artel__word_block {
    int64_t *word;
    int count;
} artel__word_block;

typedef struct artel__device_execution {
    artel_context *ctx;
    artel__device_executable *x;
    int device;
    artel__state *state;
    artel__device_home *home;
    const artel__comm *comm;
    const atomic_bool *stop;
    artel__arena arena;
    artel__buffer **one;   /* by value: GLOBAL, BATCH */
    artel__buffer **shard; /* by value and shard of the step: ROW, NODES */
    artel__buffer **in, **out;
    artel__word_block *words; /* by launch of the step */
    int used, blocks;
    void **kept; /* by kept value, in this machine's memory */
    size_t *kept_bytes;
    artel__copy **copy; /* on their way */
    int copies, most_copies;
    artel__pending_fault *pending;
    int pendings, most_pending;
    artel__fault fault;
    artel__node_time *time;
    artel__nonfinite *scan; /* looked for; NULL: not */
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
artel_status artel__step_begin_put(artel__device_execution *e, artel_dtype dtype, const artel_shape *shape, const void *host,
                                   artel__buffer **out);
artel_status artel__step_put(artel__device_execution *e, artel__value_id id, int64_t rows, const void *host, artel__buffer **slot);
artel_status artel__step_begin_rows(artel__device_execution *e, artel__value_id id, const artel__fold_plan *fold, uint8_t *to);
artel_status artel__step_await_copies(artel__device_execution *e, artel_status status);

/* -- launches and exchanges -- */

artel_status artel__step_launch(artel__device_execution *e, const artel__step_program *p, const artel__step *step, int s);
artel_status artel__step_launch_rows(artel__device_execution *e, int stage, const artel__step *step);
/* What the launches since the last call have met. */
artel_status artel__step_read_faults(artel__device_execution *e);
/* The collectives behind a stage. */
artel_status artel__step_exchange(artel__device_execution *e, int stage, const artel__step *step);

#endif
