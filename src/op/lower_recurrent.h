/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells in programs of devices: a loop over the steps. Formulas: kernel/recurrent.h. */
#ifndef ARTEL_OP_LOWER_RECURRENT_H
#define ARTEL_OP_LOWER_RECURRENT_H

#include "graph/lower.h"
#include "kernel/recurrent.h"

/* Operands of `recurrent`. Outputs: the sequence, h, then c (LSTM), then before, gates, extra (none of Simple). */
enum {
    ARTEL__RECURRENT_PROJECTED,
    ARTEL__RECURRENT_WEIGHTS,
    ARTEL__RECURRENT_BIAS,
    ARTEL__RECURRENT_MASK,
    ARTEL__RECURRENT_H0,
    ARTEL__RECURRENT_C0,
    ARTEL__RECURRENT_KEEP,
    ARTEL__RECURRENT_INPUTS
};

/* Of `recurrent_gradient`. Outputs: dprojected, dh0, then dc0 (LSTM) or drecurrent (GRU), drecurrent_n (GRU without
 * reset_after). */
enum {
    ARTEL__RECURRENT_BACK_WEIGHTS, /* turned */
    ARTEL__RECURRENT_BACK_MASK,
    ARTEL__RECURRENT_BACK_C0,
    ARTEL__RECURRENT_BACK_BEFORE,
    ARTEL__RECURRENT_BACK_GATES,
    ARTEL__RECURRENT_BACK_EXTRA,
    ARTEL__RECURRENT_BACK_DOUT,
    ARTEL__RECURRENT_BACK_DH,
    ARTEL__RECURRENT_BACK_DC,
    ARTEL__RECURRENT_BACK_KEEP,
    ARTEL__RECURRENT_BACK_INPUTS
};

void artel__lower_recurrent(artel__lower *lower);
void artel__lower_recurrent_gradient(artel__lower *lower);

#endif
