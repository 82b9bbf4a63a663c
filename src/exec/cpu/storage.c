/* SPDX-License-Identifier: Apache-2.0 */
/* Which values lie in memory as bfloat16, 16 bits an element, instead of as float32 that bfloat16 holds.
 *
 * A value that is rounded to bfloat16 anyway loses nothing by it, and takes half of the memory and of the traffic. It
 * is stored so where the kernel that makes it and all kernels that read it, through views too, say that they can: they
 * widen what they load, compute in float32 and round what they store. All others stay float32: what is fed, variables,
 * what is kept for the outside, what other replicas get, sums. No bit of a result depends on it. A float32 value that
 * nothing reads but its rounding is rounded as it is stored, too: its rounding is a view of it then.
 */
#include <string.h>

#include "exec/cpu/plan_impl.h"
#include "op/elementwise.h"

/* Whether the kernel of a node, as it was chosen, can store output k so. */
static bool can_store(const artel__plan *plan, int32_t index, int k)
{
    const artel__node_plan *chosen = &plan->node[index];
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    if (chosen->view || !chosen->kernel || !chosen->kernel->halves || !(chosen->exec->half_out >> k & 1)) return false;
    artel__plan_params(plan, index, 0, params);
    return chosen->kernel->halves(params);
}

/* Whether the node rounds to bfloat16 what nobody else reads, and who makes that could round it. */
static bool can_fold(const artel__plan *plan, int32_t index, const int32_t *uses)
{
    const artel__graph *graph = plan->graph;
    const artel__node *node = &graph->node[index];
    if (node->op != &artel__op_narrow_def || plan->node[index].view || uses[node->input[0]] != 1) return false;
    const artel__value *in = &graph->value[node->input[0]];
    if (in->node < 0 || in->domain != ARTEL__DOMAIN_ROW || in->precision != ARTEL_DTYPE_FLOAT32) return false;
    const artel__node *made = &graph->node[in->node];
    for (int k = 0; k < made->outputs; k++) {
        if (made->output[k] == node->input[0])
            return graph->value[node->output[0]].precision == ARTEL_DTYPE_BFLOAT16 && can_store(plan, in->node, k);
    }
    return false;
}

static bool can_be_half(const artel__plan *plan, artel__value_id id)
{
    const artel__value *value = &plan->graph->value[id];
    return artel__plan_source(plan, id) == id && value->node >= 0 && value->domain == ARTEL__DOMAIN_ROW &&
           value->dtype == ARTEL_DTYPE_FLOAT32 && value->precision == ARTEL_DTYPE_BFLOAT16;
}

/* Whether that was news. */
static bool forbid(artel__plan *plan, artel__value_id id)
{
    artel__value_id source = artel__plan_source(plan, id);
    if (source < 0 || !plan->half[source]) return false;
    plan->half[source] = false;
    return true;
}

static bool is_half(const artel__plan *plan, artel__value_id id)
{
    artel__value_id source = artel__plan_source(plan, id);
    return source >= 0 && plan->half[source];
}

/* Bit k of the masks: what the node can do with input k, output k. */
static bool limit(artel__plan *plan, const artel__node *node, uint32_t in, uint32_t out)
{
    bool news = false;
    for (int k = 0; k < node->inputs; k++) {
        if (artel__node_reads(node, k) && !(in >> k & 1)) news = forbid(plan, node->input[k]) || news;
    }
    for (int k = 0; k < node->outputs; k++) {
        if (!(out >> k & 1)) news = forbid(plan, node->output[k]) || news;
    }
    return news;
}

/* Values that the node wants as float32 are stored so. */
static void ask_node(artel__plan *plan, int32_t index)
{
    const artel__node_plan *chosen = &plan->node[index];
    const artel__op_exec *exec = chosen->exec;
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    bool can = chosen->kernel && chosen->kernel->halves && (exec->half_in || exec->half_out);
    if (chosen->view) return;
    if (can) {
        artel__plan_params(plan, index, 0, params);
        can = chosen->kernel->halves(params);
    }
    limit(plan, &plan->graph->node[index], can ? exec->half_in : 0, can ? exec->half_out : 0);
}

/* Of a node that moves elements: one operand that is float32 makes all of them that. */
static bool ask_alike(artel__plan *plan, int32_t index)
{
    const artel__node *node = &plan->graph->node[index];
    const artel__op_exec *exec = plan->node[index].exec;
    bool all = true;
    if (!exec->half_alike || plan->node[index].view) return false;
    for (int k = 0; k < node->inputs; k++)
        all = all && (!(exec->half_in >> k & 1) || node->input[k] < 0 || is_half(plan, node->input[k]));
    for (int k = 0; k < node->outputs; k++) all = all && is_half(plan, node->output[k]);
    return !all && limit(plan, node, 0, 0);
}

/* One attempt; `folded`: the nodes that are views of what they round. */
static void store(artel__plan *plan, const bool *folded)
{
    const artel__graph *graph = plan->graph;
    memset(plan->half, 0, (size_t)graph->values * sizeof *plan->half);
    for (int i = 0; i < graph->nodes; i++) { /* values that no node makes any more are none of ours */
        for (int k = 0; k < graph->node[i].outputs; k++)
            plan->half[graph->node[i].output[k]] = can_be_half(plan, graph->node[i].output[k]);
    }
    for (int i = 0; i < graph->nodes; i++) {
        if (folded[i]) plan->half[graph->node[i].input[0]] = true;
    }
    for (int i = 0; i < graph->kept_count; i++) forbid(plan, graph->kept[i]);
    for (int i = 0; i < graph->nodes; i++) ask_node(plan, i);
    for (bool news = true; news;) {
        news = false;
        for (int i = 0; i < graph->nodes; i++) news = ask_alike(plan, i) || news;
    }
}

/* Takes back the views of what is float32 after all; whether there were any. */
static bool unfold(artel__plan *plan, bool *folded)
{
    bool any = false;
    for (int i = 0; i < plan->graph->nodes; i++) {
        if (!folded[i] || plan->half[plan->graph->node[i].input[0]]) continue;
        folded[i] = plan->node[i].view = false;
        any = true;
    }
    return any;
}

artel_status artel__plan_store(artel__plan *plan)
{
    const artel__graph *graph = plan->graph;
    size_t values = (size_t)graph->values + 1;
    bool *half = artel__arena_alloc(&plan->arena, values, sizeof *half);
    bool *folded = artel__arena_alloc(&plan->arena, (size_t)graph->nodes + 1, sizeof *folded);
    int32_t *uses = artel__arena_alloc(&plan->arena, values, sizeof *uses);
    ARTEL_TRY(artel__arena_status(&plan->arena));
    artel__graph_count_uses(graph, uses);
    for (int i = 0; i < graph->nodes; i++) folded[i] = can_fold(plan, i, uses);
    for (int i = 0; i < graph->nodes; i++) plan->node[i].view = plan->node[i].view || folded[i];
    plan->half = half;
    do {
        store(plan, folded);
    } while (unfold(plan, folded));
    for (int i = 0; i < graph->nodes; i++) {
        if (folded[i]) plan->node[i].kernel = NULL;
    }
    for (int i = 0; i < graph->nodes; i++) {
        for (int k = 0; k < graph->node[i].outputs; k++)
            plan->half[graph->node[i].output[k]] = is_half(plan, graph->node[i].output[k]);
    }
    return ARTEL_OK;
}
