/* SPDX-License-Identifier: Apache-2.0 */
/* A value that is read in the place of a variable: what a layer makes of its weights before it uses them.
 *
 *   out = value;  the gradient of the variable is that of out, the value has none
 * As if the variable had been assigned before the step: the layer adds that assignment to the APPLY phase, in front of
 * the optimizer, whose gradient is then that at the assigned value. Nothing is copied.
 */
#include "op/stand_in.h"

#include "graph/lower.h"

static artel_status infer_stand_in(artel__infer *infer)
{
    const artel__value *value = infer->in[0], *variable = infer->in[1];
    if (value->storage != variable->storage || value->layout != variable->layout || value->domain != variable->domain)
        return artel__op_fail(infer, "expected a value that lies as the variable does");
    artel__infer_output(infer, 0, variable->domain, variable->dtype, &variable->shape);
    infer->out[0].storage = variable->storage;
    infer->out[0].layout = variable->layout;
    return ARTEL_OK;
}

static artel_status grad_stand_in(artel__gradient *g)
{
    g->in_gradient[1] = g->out_gradient[0];
    return ARTEL_OK;
}

static void lower_stand_in(artel__lower *lower)
{
    artel__hlo_type to = artel__lower_out_type(lower, 0);
    lower->out[0] = artel__hlo_reshape(lower->hlo, lower->in[0], &to);
}

const artel__op_def artel__op_stand_in_def = {
    .name = "stand_in",
    .doc = "A value in the place of a variable.",
    .placement = ARTEL__PLACE_VIEW,
    .infer = infer_stand_in,
    .grad = grad_stand_in,
    .lower = lower_stand_in,
};

/* Room for all variables that there are by now. */
static artel_status make_room(artel__graph *graph)
{
    int count = graph->variable_values;
    if (count <= graph->stand_ins) return ARTEL_OK;
    artel__value_id *wider = artel__arena_alloc(graph->arena, (size_t)count, sizeof *wider);
    if (!wider) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < count; i++) wider[i] = i < graph->stand_ins ? graph->stand_in[i] : ARTEL__NO_VALUE;
    graph->stand_in = wider;
    graph->stand_ins = count;
    return ARTEL_OK;
}

artel__value_id artel__op_stand_in(artel__graph *graph, artel__value_id value, artel__value_id variable)
{
    artel__value_id operand[] = {value, variable};
    if (graph->status == ARTEL_OK) graph->status = make_room(graph);
    artel__value_id out = artel__graph_add(graph, &artel__op_stand_in_def, NULL, operand, 2);
    if (graph->status == ARTEL_OK) graph->stand_in[graph->value[variable].variable] = out;
    return out;
}

artel__value_id artel__op_with_gradient(artel__graph *graph, artel__value_id value, artel__value_id x)
{
    return artel__graph_add(graph, &artel__op_stand_in_def, NULL, (artel__value_id[]){value, x}, 2);
}

artel__value_id artel__op_stood_in(const artel__graph *graph, artel__value_id variable)
{
    int index = variable < 0 ? -1 : graph->value[variable].variable;
    bool found = index >= 0 && index < graph->stand_ins && graph->stand_in[index] != ARTEL__NO_VALUE;
    return found ? graph->stand_in[index] : variable;
}

bool artel__op_stands_in(const artel__graph *graph)
{
    return graph->stand_in != NULL;
}
