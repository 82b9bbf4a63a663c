/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of planning ask of the nodes chosen so far. */
#include <string.h>

#include "exec/cpu/plan_impl.h"

/* Where a value is in a run; without one, some address: kernels take NULL for what is not there, and ask for less
 * scratch then. */
static void *address(const artel__run *run, artel__value_id id)
{
    static const _Alignas(64) uint8_t anywhere[64];
    if (id < 0) return NULL;
    return run ? run->pointer[id] : (void *)(uintptr_t)anywhere;
}

void artel__plan_args(const artel__plan *plan, const artel__run *run, int32_t index, const artel__step *step, void **in,
                      void **out, artel__run_args *args)
{
    const artel__node *node = &plan->graph->node[index];
    for (int k = 0; k < node->inputs; k++) in[k] = address(run, node->input[k]);
    for (int k = 0; k < node->outputs; k++) out[k] = address(run, node->output[k]);
    *args = (artel__run_args){.graph = plan->graph,
                              .node = node,
                              .node_index = index,
                              .attributes = node->attributes,
                              .step = artel__step_of(step, node),
                              .in = in,
                              .out = out,
                              .half = plan->half,
                              .raw = plan->raw,
                              .isa = plan->options.isa};
}

/* The step that a plan is made for: a full batch, as replica `rank` sees it. */
static artel__step full_step(const artel__plan *plan, int rank)
{
    return (artel__step){.fold = &plan->fold[rank], .training = plan->graph->training};
}

void artel__plan_params(const artel__plan *plan, int32_t index, int rank, void *params)
{
    void *in[ARTEL__MAX_OPERANDS], *out[ARTEL__MAX_OPERANDS];
    const artel__op_exec *exec = plan->node[index].exec;
    artel__step step = full_step(plan, rank);
    artel__run_args args;
    artel__plan_args(plan, NULL, index, &step, in, out, &args);
    memset(params, 0, exec->params_size);
    exec->fill(&args, params);
}

artel__value_id artel__plan_source(const artel__plan *plan, artel__value_id value)
{
    const artel__graph *graph = plan->graph;
    while (value >= 0 && graph->value[value].node >= 0 && plan->node[graph->value[value].node].view)
        value = graph->node[graph->value[value].node].input[0];
    return value;
}
