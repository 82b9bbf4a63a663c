/* SPDX-License-Identifier: Apache-2.0 */
/* Categorical generalised crossentropy, which forgives wrong labels: (1 - p^q) / q, with p the prediction for the
 * class. */
#include "nn/loss_table.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef struct settings {
    int reduction;
    double q;
} settings;

static artel__value_id add(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                           artel__value_id prediction)
{
    double q = ((const settings *)loss->config)->q;
    prediction = artel__with_last_axis(graph, prediction);
    if (graph->status < 0 || target < 0 || prediction < 0) return ARTEL__NO_VALUE;
    artel_shape shape = graph->value[prediction].shape, places = shape;
    places.rank--;
    artel__value_id classes = artel__op_reshape(graph, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), &places);
    artel__value_id chosen = artel__op_one_hot(graph, classes, shape.dim[shape.rank - 1]);
    chosen = artel__op_cast(graph, chosen, graph->value[prediction].dtype);
    artel__value_id p = artel__op_binary(graph, ARTEL__BINARY_MUL, prediction, chosen);
    p = artel__op_reduce(graph, ARTEL__REDUCE_SUM, p, 1u << places.rank, false);
    artel__value_id raised = artel__op_unary_exact(graph, ARTEL__UNARY_POWER, (double[]){q, 0, 0}, p);
    return artel__op_affine(graph, artel__op_affine(graph, raised, -1, 1), 1 / q, 0);
}

#define SETTINGS settings
const artel__loss_def artel__loss_of_generalised = {
    .class_name = "CategoricalGeneralizedCrossEntropy",
    .function = "categorical_generalized_cross_entropy",
    .target = ARTEL__TARGET_INDEX,
    .options = OPTIONS(REDUCTION, OPTION(q, FLOAT, "0.5", 1e-6, 1, "from forgiving no label (0) to many (1)")),
    .size = sizeof(settings),
    .add = add,
};
