/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow inside functions: choices, loops and scans that depend on values (artel/graph.h).
 *
 * A graph has no branches at run time: both sides of a choice are computed, and a loop is written out as often as it
 * may go round. So every strategy, device and gradient of any order works as on straight code, and a condition may
 * differ from row to row: each row then takes its own side, or goes round as often as its own condition says. C's own
 * `if` and `for` are enough where nothing depends on values.
 *
 * A condition is a bool scalar, shared or one a row ("less" of two scalars gives one). Values may be float32, float64,
 * int32, int64, bool and strings, but for what a scan goes along or stacks; operations on strings may fail on the side
 * that is not taken, too. A number (artel_graph_number) with which a state begins is float64 where another of the
 * state, or a sequence, is, and float32 does not hold it. A body's inputs are values of their own: gradients by one of
 * them are not by another that began as the same. Nothing that a side computes can fail, but a number that is not
 * finite on the side that is not taken makes gradients NaN, as under any selection: keep its operands in range there.
 * What writes a variable (an assignment, a metric, a step of an optimizer) stands outside of these, and is
 * ARTEL_ERROR_UNSUPPORTED within; moving statistics of a model that is called within are written whichever side is
 * taken.
 *
 * Each of the structs begins with its size: artel_choice choice = {.struct_size = sizeof choice, .condition = ...}; */
#ifndef ARTEL_CONTROL_H
#define ARTEL_CONTROL_H

#include "artel/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What tf.cond is. Both functions get `inputs` as they stand here and give `output_count` values of like shapes. */
typedef struct artel_choice {
    size_t struct_size;
    artel_value condition;
    artel_trace_fn *then, *otherwise;
    void *user;
    const artel_value *inputs; /* NULL: none */
    int output_count;          /* 1 to 256 */
} artel_choice;
/* Errors: ARTEL_ERROR_INVALID (a condition that is none, shapes that differ), those of the two functions. */
ARTEL_API artel_status artel_graph_choose(artel_graph *graph, const artel_choice *choice, artel_value *outputs);

/* What tf.while_loop with maximum_iterations is. */
typedef struct artel_loop {
    size_t struct_size;
    artel_trace_fn *condition; /* of the state: writes one condition */
    artel_trace_fn *body;      /* of the state: writes the next one, of the same shapes and element types */
    void *user;
    int state_count; /* 1 to 256 */
    int most;        /* 1 to 10000: how often it goes round at most; that often it is written out */
} artel_loop;
/* `state`: in, where it begins; out, where it has ended. Errors: as above. */
ARTEL_API artel_status artel_graph_loop(artel_graph *graph, const artel_loop *loop, artel_value *state);

/* A function along an axis of sequences, what jax.lax.scan is: its inputs are the state and one position of each
 * sequence, without the axis; its outputs the next state and results, which are stacked along that axis. */
typedef struct artel_scan {
    size_t struct_size;
    artel_trace_fn *body;
    void *user;
    const artel_value *sequences; /* of one length along the axis, at least 1 and at most 10000 */
    int sequence_count;           /* 1 to 64 */
    int state_count;              /* 0 to 256 */
    int result_count;             /* 0 to 64 */
    int axis;     /* as of operations: of rows the batch is axis 0, so time is 1; of shared values from 0 */
    bool reverse; /* from the last position to the first; results stay in their places */
} artel_scan;
/* `state` as above, `results`: one stacked value each; either may be NULL where there is none. Errors: as above. */
ARTEL_API artel_status artel_graph_scan(artel_graph *graph, const artel_scan *scan, artel_value *state,
                                        artel_value *results);

#ifdef __cplusplus
}
#endif
#endif
