/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a step as values of the graph: the rate, and what formulas make of the rate and of the count of updates.
 *
 *   RATE        the learning rate
 *   RATE_DOWN   the smaller one of it and 1 / sqrt(t)
 *   KEPT        1 - t^parameter
 *   COUNT       t
 * t is 1 at the first update; where gradients are accumulated an update is a period of steps. Of float32, or of what
 * graph->real says, as Keras computes them.
 */
#include "op/step_number.h"

#include <math.h>
#include <string.h>

#include "base/scalar_math.h"
#include "graph/lower.h"
#include "kernel/math.h"
#include "kernel/shape_ops.h"

typedef struct number_attributes {
    artel__step_number kind;
    bool wide;
    double parameter;
} number_attributes;

static artel_status infer_number(artel__infer *infer)
{
    const number_attributes *a = infer->attributes;
    artel_shape scalar = {.rank = 0};
    artel__infer_output(infer, 0, ARTEL__DOMAIN_GLOBAL, a->wide ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_FLOAT32, &scalar);
    return ARTEL_OK;
}

static uint64_t wide_number(const artel__run_args *args)
{
    const number_attributes *a = args->attributes;
    double t = (double)(args->step->iteration / args->node->period + 1), number = args->step->learning_rate;
    uint64_t bits;
    if (a->kind == ARTEL__STEP_RATE_DOWN) number = fmin(number, 1 / artel__sqrt64(t));
    if (a->kind == ARTEL__STEP_KEPT) number = 1 - artel__pow64(t, a->parameter);
    if (a->kind == ARTEL__STEP_COUNT) number = t;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static void fill_number(const artel__run_args *args, void *params)
{
    const number_attributes *a = args->attributes;
    if (a->wide) {
        *(artel__fill *)params = (artel__fill){.count = 1, .item = 8, .bits = wide_number(args), .y = args->out[0]};
        return;
    }
    float t = (float)(args->step->iteration / args->node->period + 1), number = (float)args->step->learning_rate;
    if (a->kind == ARTEL__STEP_RATE_DOWN) number = artel__minf(number, 1.0f / artel__sqrtf(t));
    if (a->kind == ARTEL__STEP_KEPT) number = 1.0f - artel__powf(t, (float)a->parameter);
    if (a->kind == ARTEL__STEP_COUNT) number = t;
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    *(artel__fill *)params = (artel__fill){.count = 1, .item = 4, .bits = bits, .y = args->out[0]};
}

static void lower_number(artel__lower *lower)
{
    artel_dtype dtype = artel__lower_out_type(lower, 0).dtype;
    lower->out[0] = artel__lower_scalar_of(lower, offsetof(artel__fill, bits), dtype);
}

const artel__op_def artel__op_step_number_def = {
    .name = "step_number",
    .doc = "A number that follows from the learning rate and the count of updates.",
    .attribute_size = sizeof(number_attributes),
    .infer = infer_number,
    .lower = lower_number,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__fill_kernels,
            .params_size = sizeof(artel__fill),
            .fill = fill_number,
        },
};

artel__value_id artel__op_step_number(artel__graph *graph, artel__step_number kind, double parameter)
{
    number_attributes attributes = {kind, graph->real == ARTEL_DTYPE_FLOAT64, parameter};
    return artel__graph_add(graph, &artel__op_step_number_def, &attributes, NULL, 0);
}
