/* SPDX-License-Identifier: Apache-2.0 */
/* What the op files share: failing with the layer's name, filling outputs, counting rows, reporting faults. */
#include <stdarg.h>
#include <stdio.h>

#include "op/op.h"

artel_status artel__op_fail(const artel__infer *infer, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return artel__fail(artel__graph_context(infer->graph), ARTEL_ERROR_INVALID, infer->graph->scope,
                       "check the settings of this layer and the shapes of its inputs", "%s: %s", infer->op->name,
                       what);
}

void artel__infer_output(artel__infer *infer, int n, artel__domain domain, artel_dtype dtype, const artel_shape *shape)
{
    infer->out[n] = (artel__value){.domain = domain, .dtype = dtype, .shape = *shape};
    if (n >= infer->outputs) infer->outputs = n + 1;
}

int64_t artel__args_rows(const artel__run_args *args, artel__value_id id)
{
    artel__domain domain = args->graph->value[id].domain;
    if (domain == ARTEL__DOMAIN_BATCH) return args->step->fold->batch;
    return domain == ARTEL__DOMAIN_ROW ? args->step->fold->rows : 1;
}

artel__fault_slot artel__args_fault_slot(const artel__run_args *args)
{
    if (!args->fault) return (artel__fault_slot){NULL, NULL, 0};
    return (artel__fault_slot){&args->fault->row, &args->fault->value, args->step->fold->row};
}
