/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells over whole sequences in float64, put together from operations. */
#ifndef ARTEL_NN_RECURRENT_FLOAT64_H
#define ARTEL_NN_RECURRENT_FLOAT64_H

#include "op/recurrent.h"

/* As artel__op_recurrent, of plain weights [u][g*u]; last: the last h, and c of LSTM. */
artel__value_id artel__recurrent_float64(artel__graph *graph, const artel__recurrent *recurrent,
                                         artel__value_id last[2]);

#endif
