/* SPDX-License-Identifier: Apache-2.0 */
/* Dice: 1 - 2 I / (T + P + e), with I, T and P the sums of target times prediction, target, and prediction. */
#include "nn/loss_overlap.h"
#include "nn/loss_table.h"

typedef struct settings {
    int reduction;
    artel__ints axis;
} settings;

static artel__value_id add(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                           artel__value_id prediction)
{
    const settings *s = loss->config;
    artel__overlap o;
    if (!artel__overlap_begin(graph, loss, &s->axis, target, prediction, &o)) return ARTEL__NO_VALUE;
    artel__value_id both = artel__overlap_sum(graph, &o, artel__overlap_times(graph, o.target, o.prediction));
    artel__value_id above = artel__op_affine(graph, both, 2, 0), said = artel__overlap_sum(graph, &o, o.prediction);
    artel__value_id below = artel__op_add(graph, artel__overlap_sum(graph, &o, o.target), said);
    return artel__overlap_end(graph, &o, above, below);
}

static bool mixes_rows(const artel__loss_config *loss)
{
    return !((const settings *)loss->config)->axis.count;
}

#define SETTINGS settings
const artel__loss_def artel__loss_of_dice = {
    .class_name = "Dice",
    .function = "dice",
    .options = OPTIONS(REDUCTION, OPTION(axis, INTS, "null", -8, 8, "axes that are summed; null: with the batch, all")),
    .size = sizeof(settings),
    .add = add,
    .mixes_rows = mixes_rows,
};
