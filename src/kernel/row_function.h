/* SPDX-License-Identifier: Apache-2.0 */
/* A function of rows (text/row_function.h) over the rows of a batch.
 *
 * Row r of the result is the function of row r of the inputs; an input without rows is the same for all. A row that the
 * function cannot take is reported in the fault slot with the integer found there, and its result is undefined. A task
 * is a row.
 */
#ifndef ARTEL_KERNEL_ROW_FUNCTION_H
#define ARTEL_KERNEL_ROW_FUNCTION_H

#include "kernel/fault_slot.h"
#include "kernel/kernel.h"
#include "text/row_function.h"

enum {
    ARTEL__ROWS_OF = 8 /* operands at most */
};

typedef struct artel__rows_of {
    const artel__row_function *function;
    const void *settings;
    int64_t rows;
    int inputs;
    artel__cells in[ARTEL__ROWS_OF], out; /* of one row, in row-major order; data: the first row */
    bool has_rows[ARTEL__ROWS_OF];
    artel__fault_slot fault;
} artel__rows_of;

extern const artel__kernel *const artel__row_function_kernels[];

#endif
