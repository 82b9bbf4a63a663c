/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a table by index in float64. */
#ifndef ARTEL_OP_WIDE_EMBED_H
#define ARTEL_OP_WIDE_EMBED_H

#include "op/elementwise.h"

/* table GLOBAL [n][d], index int32 [..]: [..][d]. Differentiates in the table. */
artel__value_id artel__op_wide_lookup(artel__graph *graph, artel__value_id table, artel__value_id index);

/* Whether a value is the whole gradient of such a table, and nothing else; the same of what a function of one argument
 * makes of each occurrence (op/embed.h says why). */
bool artel__op_is_wide_lookup_gradient(const artel__graph *graph, artel__value_id gradient);
artel__value_id artel__op_wide_lookup_again(artel__graph *graph, artel__value_id gradient, artel__unary function,
                                            const double parameter[3]);

#endif
