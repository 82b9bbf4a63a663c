/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms by channel, and tables that are read by them; no gradients. The bin of a number: kernel/histogram.h. */
#ifndef ARTEL_OP_HISTOGRAM_H
#define ARTEL_OP_HISTOGRAM_H

#include "op/op.h"

/* ROW [..][c] -> ROW [c][bins]. */
artel__value_id artel__op_histogram(artel__graph *graph, artel__value_id x, int64_t bins);
/* ROW [..][c] by GLOBAL [c][bins] -> ROW [..][c]. */
artel__value_id artel__op_lookup(artel__graph *graph, artel__value_id x, artel__value_id table);

#endif
