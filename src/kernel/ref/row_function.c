/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of rows, one row after another; what they do is theirs, so there is no faster form. */
#include "kernel/row_function.h"

#include <string.h>

static int64_t row_function_tasks(const void *params)
{
    return ((const artel__rows_of *)params)->rows;
}

static void move_to(artel__cells *cells, const artel__cells *first, int64_t row)
{
    cells->data = (char *)first->data + (size_t)(row * first->count) * artel_dtype_size(first->dtype);
}

static void row_function_run(const void *params, int64_t begin, int64_t end, void *scratch)
{
    const artel__rows_of *p = params;
    artel__cells in[ARTEL__COUNT(p->in)], out = p->out;
    memcpy(in, p->in, sizeof in);
    (void)scratch;
    for (int64_t row = begin; row < end; row++) {
        artel__row_fault fault = {NULL, 0, 0};
        for (int k = 0; k < p->inputs; k++) move_to(&in[k], &p->in[k], p->has_rows[k] ? row : 0);
        move_to(&out, &p->out, row);
        if (p->function->run(p->settings, in, p->inputs, &out, NULL, &fault) < 0)
            artel__fault_slot_report(&p->fault, row, artel__cell_integer(&in[fault.input], fault.element));
    }
}

static const artel__kernel row_function_kernel = {
    .name = "ref row_function", .isa = ARTEL__ISA_BASELINE, .tasks = row_function_tasks, .run = row_function_run};
const artel__kernel *const artel__row_function_kernels[] = {&row_function_kernel, NULL};
