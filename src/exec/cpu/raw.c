/* SPDX-License-Identifier: Apache-2.0 */
/* Which weights are rounded to bfloat16 by the kernels that read them, instead of by a pass that writes all of them
 * once more.
 *
 * Products and convolutions in blocks pack their weights anyway, element by element, and round them for nothing on the
 * way. Where all readers of a rounded variable can, also of its transpose, which only moves elements, the rounding is a
 * view of the variable. Variables change behind all reading (follow.c), and rounding twice is rounding once, so no bit
 * changes.
 */
#include "exec/cpu/plan_impl.h"
#include "op/elementwise.h"

/* Whether the node rounds a variable to bfloat16. */
static bool rounds_variable(const artel__plan *plan, const artel__node *node)
{
    const artel__graph *graph = plan->graph;
    if (node->op != &artel__op_narrow_def || graph->value[node->output[0]].precision != ARTEL_DTYPE_BFLOAT16)
        return false;
    artel__value_id from = artel__plan_source(plan, node->input[0]);
    return from >= 0 && graph->value[from].node < 0 && graph->value[from].variable >= 0;
}

static bool moves(const artel__plan *plan, int32_t index)
{
    return plan->node[index].exec->raw_alike && !plan->node[index].view;
}

/* Inputs that the node, which is no view, can round itself. */
static uint32_t can_round(const artel__plan *plan, int32_t index)
{
    const artel__node_plan *chosen = &plan->node[index];
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    if (!chosen->exec->raw_in || !chosen->kernel || !chosen->kernel->halves) return 0;
    artel__plan_params(plan, index, 0, params);
    return chosen->kernel->halves(params) ? chosen->exec->raw_in : 0;
}

static void forbid(artel__plan *plan, artel__value_id id)
{
    artel__value_id source = artel__plan_source(plan, id);
    if (source >= 0) plan->raw[source] = false;
}

/* What the node reads may be raw only where it can round that, or moves it to where all can. Readers are asked before
 * what they read is made. */
static void ask_reader(artel__plan *plan, int32_t index, uint32_t can)
{
    const artel__node *node = &plan->graph->node[index];
    if (plan->node[index].view) return;
    if (moves(plan, index) && plan->raw[node->output[0]]) can |= 1;
    for (int k = 0; k < node->inputs; k++) {
        if (artel__node_reads(node, k) && !(can >> k & 1)) forbid(plan, node->input[k]);
    }
}

/* What the node makes, once that is known of what it reads: as its input it is where the node shows or moves that. */
static void settle(artel__plan *plan, int32_t index)
{
    const artel__node *node = &plan->graph->node[index];
    artel__node_plan *chosen = &plan->node[index];
    if (chosen->view) {
        plan->raw[node->output[0]] = plan->raw[node->input[0]];
    } else if (moves(plan, index)) {
        plan->raw[node->output[0]] = plan->raw[node->output[0]] && plan->raw[node->input[0]];
    } else if (rounds_variable(plan, node) && plan->raw[node->output[0]]) {
        chosen->view = true;
        chosen->kernel = NULL;
    }
}

artel_status artel__plan_round_late(artel__plan *plan)
{
    const artel__graph *graph = plan->graph;
    bool *raw = artel__arena_alloc(&plan->arena, (size_t)graph->values + 1, sizeof *raw);
    uint32_t *can = artel__arena_alloc(&plan->arena, (size_t)graph->nodes + 1, sizeof *can);
    ARTEL_TRY(artel__arena_status(&plan->arena));
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        can[i] = can_round(plan, i);
        if (rounds_variable(plan, node) || moves(plan, i)) raw[node->output[0]] = true;
    }
    plan->raw = raw;
    for (int i = 0; i < graph->kept_count; i++) forbid(plan, graph->kept[i]);
    for (int i = graph->nodes - 1; i >= 0; i--) ask_reader(plan, i, can[i]);
    for (int i = 0; i < graph->nodes; i++) settle(plan, i);
    return ARTEL_OK;
}
