/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells over whole sequences in float64, put together from operations. */
#ifndef ARTEL_OP_RECURRENT_FLOAT64_H
#define ARTEL_OP_RECURRENT_FLOAT64_H

#include "op/recurrent.h"

/* As artel__op_recurrent, of plain weights [u][g*u]; last: the last h, and c of LSTM. */
artel__value_id artel__recurrent_float64(artel__graph *graph, const artel__recurrent *recurrent,
                                         artel__value_id last[2]);

enum {
    ARTEL__RECURRENT_MOST_STEPS = 4096
};

/* What is wanted of the steps beside: by time, as kernel/recurrent.h keeps it. */
typedef struct artel__recurrent_trace {
    artel__value_id nudge; /* of a GRU, ROW [t][3u]: added to its products with the recurrent weights; or none */
    artel__value_id before, extra; /* ROW [t][u]: the states before; of a GRU without reset_after: what meets R_n */
} artel__recurrent_trace;
artel__value_id artel__recurrent_traced(artel__graph *graph, const artel__recurrent *recurrent, artel__value_id last[2],
                                        artel__recurrent_trace *trace);

#endif
