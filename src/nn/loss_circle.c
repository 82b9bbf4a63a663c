/* SPDX-License-Identifier: Apache-2.0 */
/* Circle, of pairs of rows (op/pairs.h). A row without a partner does not count. */
#include "nn/loss_table.h"
#include "op/elementwise.h"
#include "op/pairs.h"

typedef struct settings {
    int reduction;
    double gamma, margin;
    bool remove_diagonal;
} settings;

static artel__value_id add(artel__graph *graph, const artel__loss_config *loss, artel__value_id target,
                           artel__value_id prediction)
{
    const settings *s = loss->config;
    artel__pairs_settings pairs = {.gamma = s->gamma, .margin = s->margin, .others = s->remove_diagonal};
    return artel__op_pairs(graph, &pairs, artel__op_cast(graph, target, ARTEL_DTYPE_INT32), prediction);
}

#define SETTINGS settings
const artel__loss_def artel__loss_of_circle = {
    .class_name = "Circle",
    .function = "circle",
    .target = ARTEL__TARGET_NUMBER,
    .options = OPTIONS(REDUCTION, NUMBER(gamma, "80.0", "scale"), NUMBER(margin, "0.4", "how far is near enough"),
                       BOOL(remove_diagonal, "true", "a row is no partner of itself")),
    .size = sizeof(settings),
    .add = add,
    .masks_zeros = true,
};
