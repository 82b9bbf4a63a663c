/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rows (text/functions.h) as programs of devices. */
#ifndef ARTEL_OP_LOWER_ROW_FUNCTION_H
#define ARTEL_OP_LOWER_ROW_FUNCTION_H

#include "graph/lower.h"
#include "text/row_function.h"

void artel__lower_row_function(artel__lower *lower, const artel__row_function *function, const void *settings);

#endif
