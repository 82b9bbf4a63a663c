/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that a program is told at each step. */
#ifndef ARTEL_DEVICE_WORDS_H
#define ARTEL_DEVICE_WORDS_H

#include "graph/lower.h"
#include "graph/op_exec.h"

/* Fills `words`, one for each scalar: what the nodes' `fill` writes for this step, whose fold is that of the shard. */
void artel__words_fill(const artel__graph *graph, const artel__lower_scalar *scalar, int count, const artel__step *step,
                       int64_t *words);

#endif
