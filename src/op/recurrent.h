/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells over whole sequences, and the core of attention. Rows are independent of one another. */
#ifndef ARTEL_OP_RECURRENT_H
#define ARTEL_OP_RECURRENT_H

#include "kernel/attention.h"
#include "kernel/recurrent.h"
#include "op/op.h"

/* x ROW [t][k] projected to [t][g*u] already (artel__op_product), recurrent weights GLOBAL panels(u, g*u), optional recurrent
 * bias [g*u] (GRU reset_after), mask ROW [t] BOOL or none, initial states ROW [u] or none.
 * Outputs: 0 the sequence [t][u], 1 the last h [u], 2 the last c [u] (LSTM only). */
typedef struct artel__recurrent {
    artel__recurrent_settings settings; /* cell kind, units, activations, reset_after, go_backwards, zero_output_for_mask */
    artel__value_id projected, weights, bias, mask, h0, c0;
} artel__recurrent;
artel__value_id artel__op_recurrent(artel__graph *graph, const artel__recurrent *recurrent);

/* query [t][h][d], key [s][h][d], value [s][h][v] ROW; mask ROW or GLOBAL BOOL, broadcastable to [h][t][s], or none (1 = attend).
 * out [t][h][v] = softmax(scale * q k^T + (mask ? 0 : -1e9)) v, per head; causal: s <= t. Output 1: the scores [h][t][s] when
 * `scores`. Dropout on the scores with `rate` in training. */
typedef struct artel__attention {
    artel__value_id query, key, value, mask;
    float scale;
    bool causal, scores;
    double rate;
} artel__attention;
artel__value_id artel__op_attention(artel__graph *graph, const artel__attention *attention);

#endif
