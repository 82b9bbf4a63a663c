/* SPDX-License-Identifier: Apache-2.0 */
/* Tversky: 1 - I / (I + alpha F + beta N + e), with I the sum of target times prediction, F what the target alone has
 * and N what the prediction alone has. */
#include "nn/loss_overlap.h"
#include "nn/loss_table.h"

typedef struct settings {
    int reduction;
    artel__ints axis;
    double alpha, beta;
} settings;

static artel__value_id add(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                           artel__value_id prediction)
{
    const settings *s = loss->config;
    artel__overlap o;
    if (!artel__overlap_begin(graph, loss, &s->axis, target, prediction, &o)) return ARTEL__NO_VALUE;
    artel__value_id y = o.target, p = o.prediction,
                    both = artel__overlap_sum(graph, &o, artel__overlap_times(graph, y, p));
    artel__value_id missed = artel__overlap_times(graph, artel__op_affine(graph, p, -1, 1), y);
    missed = artel__overlap_sum(graph, &o, missed);
    artel__value_id added = artel__overlap_times(graph, p, artel__op_affine(graph, y, -1, 1));
    added = artel__overlap_sum(graph, &o, added);
    artel__value_id below = artel__op_add(graph, both, artel__op_affine(graph, missed, s->alpha, 0));
    below = artel__op_add(graph, below, artel__op_affine(graph, added, s->beta, 0));
    return artel__overlap_end(graph, &o, both, below);
}

static bool mixes_rows(const artel__loss_config *loss)
{
    return !((const settings *)loss->config)->axis.count;
}

#define SETTINGS settings
const artel__loss_def artel__loss_of_tversky = {
    .class_name = "Tversky",
    .function = "tversky",
    .options =
        OPTIONS(REDUCTION, OPTION(axis, INTS, "null", -8, 8, "axes that are summed; null: with the batch, all"),
                NUMBER(alpha, "0.5", "weight of what is missed"), NUMBER(beta, "0.5", "weight of what is added")),
    .size = sizeof(settings),
    .add = add,
    .mixes_rows = mixes_rows,
};
