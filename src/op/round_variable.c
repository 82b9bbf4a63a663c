/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of float16 and bfloat16, as the policies of these names have them.
 *
 *   round_variable   w = w rounded to the variable's dtype (kernel/narrow.h), in place
 * Such a variable lies in memory as float32 that its type holds (graph/graph.h). Whatever changes it in a step, the
 * optimizer, a moving average, a constraint, computes in float32 with what it was; then it is rounded once, to nearest,
 * ties to even. Rounding twice is rounding once, so a variable that nothing has changed, as behind a gate, stays as it
 * is.
 */
#include "graph/lower.h"
#include "kernel/narrow.h"
#include "op/optimize.h"

static artel_dtype dtype_of(const artel__graph *graph, artel__value_id id)
{
    return graph->variables->item[graph->value[id].variable].dtype;
}

static artel_status infer_nothing(artel__infer *infer)
{
    infer->outputs = 0;
    return ARTEL_OK;
}

static void fill_round(const artel__run_args *args, void *params)
{
    artel__value_id id = args->node->input[0];
    *(artel__narrow *)params = (artel__narrow){
        .to = dtype_of(args->graph, id), .count = args->graph->value[id].storage, .x = args->in[0], .y = args->in[0]};
}

static void lower_round(artel__lower *lower)
{
    lower->written[0] = artel__hlo_round(lower->hlo, lower->in[0], dtype_of(lower->graph, lower->node->input[0]));
}

const artel__op_def artel__op_round_variable_def = {
    .name = "round_variable",
    .doc = "A variable rounded to its 16-bit type.",
    .infer = infer_nothing,
    .lower = lower_round,
    .writes = true,
    .written = 1,
    .exec =
        &(const artel__op_exec){
            .kernels = artel__narrow_kernels,
            .params_size = sizeof(artel__narrow),
            .fill = fill_round,
        },
};

void artel__op_round_variable(artel__graph *graph, artel__value_id variable)
{
    artel__phase phase = graph->phase;
    graph->phase = ARTEL__PHASE_APPLY;
    artel__graph_add(graph, &artel__op_round_variable_def, NULL, &variable, 1);
    graph->phase = phase;
}

/* Whether a node writes the value, which is a variable. */
static void mark_written(const artel__graph *graph, bool *written)
{
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        for (int k = 0; node->op->writes && k < node->op->written && k < node->inputs; k++) {
            if (node->input[k] >= 0 && graph->value[node->input[k]].variable >= 0) written[node->input[k]] = true;
        }
    }
}

void artel__op_round_variables(artel__graph *graph)
{
    if (graph->status < 0) return;
    int values = graph->values;
    bool *written = artel__arena_alloc(graph->arena, (size_t)values + 1, sizeof *written);
    if (!written) {
        graph->status = ARTEL_ERROR_NO_MEMORY;
        return;
    }
    mark_written(graph, written);
    for (int i = 0; i < values; i++) {
        if (written[i] && artel__variable_narrow(&graph->variables->item[graph->value[i].variable]))
            artel__op_round_variable(graph, i);
    }
}
