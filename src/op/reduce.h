/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: over axes of a row, and over rows (folds). */
#ifndef ARTEL_OP_REDUCE_H
#define ARTEL_OP_REDUCE_H

#include "kernel/reduce.h"
#include "kernel/softmax.h"
#include "op/op.h"

/* Over the row axes whose bit is set in `axes` (bit 0 = first axis of a row); `keep` leaves extents of 1. */
artel__value_id artel__op_reduce(artel__graph *graph, artel__reduction function, artel__value_id x, uint32_t axes,
                                 bool keep);

/* softmax, log_softmax or sparsemax along one row axis; glu halves that axis. */
artel__value_id artel__op_softmax(artel__graph *graph, artel__softmax_op function, artel__value_id x, int axis);
artel__value_id artel__op_glu(artel__graph *graph, artel__value_id x, int axis);
/* 1 where the class number target[..] is among the k largest of x[.., n], else 0: float32 [..]. */
artel__value_id artel__op_in_top_k(artel__graph *graph, artel__value_id x, artel__value_id target, int k);
/* Index of the first largest element along the last axis, int32. */
artel__value_id artel__op_argmax(artel__graph *graph, artel__value_id x);

/* Fold over rows: ROW [..] -> NODES of the same row shape, float32: the sum over the rows of each node. */
artel__value_id artel__op_fold_sum(artel__graph *graph, artel__value_id x);
/* sum of value * weight and sum of weight over all elements -> NODES float64 [2]. weight: ROW, of one element a row or
 * of the value's shape, or none (1, so that the second number is the count). For losses and metrics; no gradient. */
artel__value_id artel__op_fold_weighted(artel__graph *graph, artel__value_id value, artel__value_id weight);
/* ROW -> GLOBAL: the greatest of all rows, element by element. Differentiates. */
artel__value_id artel__op_batch_max(artel__graph *graph, artel__value_id rows);
/* ROW [.., k] -> NODES float64 [k]: sums over rows and inner axes. For metrics with many bins; no gradient. */
artel__value_id artel__op_fold_columns64(artel__graph *graph, artel__value_id x);

#endif
