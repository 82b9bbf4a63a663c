/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the whole batch as an axis, for formulas of pairs of rows that are made of plain operations. */
#ifndef ARTEL_OP_ALL_ROWS_H
#define ARTEL_OP_ALL_ROWS_H

#include "op/op.h"

/* GLOBAL [graph->batch_size][...] of `gathered`, BATCH, with zeros behind the batch; graph->batch_size is known. What
 * comes back goes to `rows`, ROW, of which `gathered` is all; none: nowhere. */
artel__value_id artel__op_all_rows_of(artel__graph *graph, artel__value_id gathered, artel__value_id rows);
/* The same of ROW rows, gathered. */
artel__value_id artel__op_all_rows(artel__graph *graph, artel__value_id rows);

#endif
