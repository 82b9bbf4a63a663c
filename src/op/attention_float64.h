/* SPDX-License-Identifier: Apache-2.0 */
/* The core of attention in float64, put together from operations. */
#ifndef ARTEL_OP_ATTENTION_FLOAT64_H
#define ARTEL_OP_ATTENTION_FLOAT64_H

#include "op/recurrent.h"

typedef struct artel__attention_float64 {
    artel__attention attention; /* as for artel__op_attention, of float64; its scale is not read */
    double scale;
    artel__value_id factor; /* of the scores, GLOBAL, or none */
    bool of_float32;        /* lowered scores are rounded as kernel/attention.h rounds them: what it computed is written
                               anew */
} artel__attention_float64;

/* The result; probs [..][h][t][s]: the probabilities before dropout. */
artel__value_id artel__attend_float64(artel__graph *graph, const artel__attention_float64 *how, artel__value_id *probs);

/* The softmax of scores [..][t][s] of either type, behind a mask or none. */
artel__value_id artel__attention_probabilities(artel__graph *graph, artel__value_id scores, artel__value_id mask,
                                               artel__hidden hidden);
/* i >= j as a constant [t][s]. */
artel__value_id artel__causal_mask(artel__graph *graph, int64_t t, int64_t s);
/* Two masks joined by AND; either may be none. */
artel__value_id artel__attention_both(artel__graph *graph, artel__value_id a, artel__value_id b);

#endif
