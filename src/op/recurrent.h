/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells over whole sequences, and the core of attention. Rows are independent of one another. Formulas and
 * orders of operations: kernel/recurrent.h and kernel/attention.h. */
#ifndef ARTEL_OP_RECURRENT_H
#define ARTEL_OP_RECURRENT_H

#include "kernel/attention.h"
#include "kernel/recurrent.h"
#include "op/op.h"

/* x ROW [t][k] projected to [t][g*u] already (artel__op_product), recurrent weights GLOBAL panels(u, g*u), optional
 * recurrent bias GLOBAL [g*u] (GRU with reset_after), mask ROW [t] BOOL or none, initial states ROW [u] or none
 * (zeros), keep ROW [g][u], factors of h in the products of the steps (no gradient of its own), or none (ones).
 * Outputs: 0 the sequence [t][u], or the last output [u] without settings.sequences; 1 the last h [u]; 2 the last c [u]
 * (LSTM). */
typedef struct artel__recurrent {
    artel__recurrent_settings settings; /* keeps follows from keep */
    artel__value_id projected, weights, bias, mask, h0, c0, keep;
} artel__recurrent;
artel__value_id artel__op_recurrent(artel__graph *graph, const artel__recurrent *recurrent);

/* query [t][h][d], key [s][g][d], value [s][g][v] ROW, g dividing h; mask ROW or GLOBAL BOOL, broadcastable to
 * [axes in front as one][h][t][s], or none (1 = attend). out [t][h][v] = softmax(scale * q k^T) v, per head; causal: s
 * <= t. Output 1: the probabilities [h][t][s] before dropout. Dropout with `rate` when the graph trains. Axes in front
 * of these, the same in all three, count as more rows. */
typedef struct artel__attention {
    artel__value_id query, key, value, mask;
    float scale;
    bool causal;
    double rate;
    artel__hidden hidden;
} artel__attention;
artel__value_id artel__op_attention(artel__graph *graph, const artel__attention *attention);

#endif
