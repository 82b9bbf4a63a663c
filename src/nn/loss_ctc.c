/* SPDX-License-Identifier: Apache-2.0 */
/* CTC, over all alignments of a sequence (op/align.h). Keras computes it in float32. */
#include "nn/loss_table.h"
#include "op/align.h"
#include "op/elementwise.h"

typedef struct settings {
    int reduction;
} settings;

static artel__value_id add(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                           artel__value_id prediction)
{
    (void)loss;
    if (graph->status < 0 || prediction < 0) return ARTEL__NO_VALUE;
    bool wide = graph->value[prediction].dtype == ARTEL_DTYPE_FLOAT64;
    if (wide) prediction = artel__op_cast(graph, prediction, ARTEL_DTYPE_FLOAT32);
    artel__value_id value = artel__op_align(graph, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), prediction);
    return wide ? artel__op_cast(graph, value, ARTEL_DTYPE_FLOAT64) : value;
}

#define SETTINGS settings
const artel__loss_def artel__loss_of_ctc = {
    .class_name = "CTC",
    .function = "ctc",
    .target = ARTEL__TARGET_LIST,
    .options = OPTIONS(REDUCTION),
    .size = sizeof(settings),
    .add = add,
};
