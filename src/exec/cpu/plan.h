/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of this machine, from a sealed graph to memory and kernels: the plan, read-only and shared, and the run,
 * one for each replica.
 *
 * The plan fixes for a largest batch: which kernel computes each node (and why better ones were refused),
 * which values share memory (by lifetime, in place where an op allows it), and how much scratch a thread needs. The
 * run owns the memory, points at the replica's state block and executes steps; a steady step makes no heap call.
 * A plan may be used from any thread; a run belongs to one thread at a time.
 */
#ifndef ARTEL_EXEC_CPU_PLAN_H
#define ARTEL_EXEC_CPU_PLAN_H

#include "exec/device.h"

typedef struct artel__plan artel__plan;
typedef struct artel__run artel__run;

artel_status artel__plan_create(artel_context *ctx, const artel__graph *graph, const artel__plan_options *options,
                                artel__plan **out);
void artel__plan_destroy(artel__plan *plan);
/* The kernel of a node ("view", "collective" when it has none) and its floating-point operations for `rows` rows of a
 * replica; 0 when the operation does not count them. */
const char *artel__plan_kernel(const artel__plan *plan, int32_t node, int64_t rows, double *operations);
/* Stable text: node, kernel, refused kernels with reasons, tasks at full batch, buffer offsets. */
void artel__plan_dump(const artel__plan *plan, artel__text *out);
/* As artel__executable_exchange. */
bool artel__plan_exchange(const artel__plan *plan, int index, artel__exchange *out);

/* `comm` NULL: one replica. All arguments are borrowed. */
artel_status artel__run_create(const artel__plan *plan, artel__state *state, artel__pool *pool, const artel__comm *comm,
                               artel__run **out);
void artel__run_destroy(artel__run *run);
/* Of a plan with common variables: the run is one of `count`, and meets all of them, itself too, before its first step.
 * They share the APPLY phase out and read one another's gradients in it; so all must have computed before one applies,
 * and none computes again before all have applied. */
artel_status artel__run_join(artel__run *run, int count);
void artel__run_meet(artel__run *run, int rank, const artel__run *peer);

/* Executes forward and backward nodes up to the last collective; no variable changes. `inputs` are the fed values in
 * the graph's order. May be repeated or abandoned. */
artel_status artel__run_compute(artel__run *run, const artel__step *step, const void *const *inputs);
/* Executes the APPLY nodes of the step just computed, or this replica's share of them: no I/O, cannot fail. */
void artel__run_apply(artel__run *run, const artel__step *step);
/* The n-th kept value of the last step. */
const void *artel__run_kept(const artel__run *run, int n);
const artel__fault *artel__run_fault(const artel__run *run);

/* Test seam: compute stops before the node of that index, as if the replica had been lost (-1: never). */
void artel__run_abandon_at(artel__run *run, int32_t node);
/* While `*stop` is true, computing ends at the next node with ARTEL_ERROR_CANCELLED. Lent for the life of the run;
 * NULL: never. */
void artel__run_stop_when(artel__run *run, const atomic_bool *stop);

/* Repeats the computation of the step and finds the first node with a non-finite output, in graph order. False when
 * there is none. */
bool artel__run_find_nonfinite(artel__run *run, const artel__step *step, const void *const *inputs,
                               artel__nonfinite *out);

/* Where the time went since artel__run_profile was called last: nanoseconds and calls by node; NULL: it was not.
 * Collectives that are exchanged together count for the first of them. */
artel_status artel__run_profile(artel__run *run);
const artel__node_time *artel__run_times(const artel__run *run);

#endif
