/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that follow their gradient part by part.
 *
 * The gradient of a weight is mostly read once, by the optimizer's step on that weight. Where one replica computes it,
 * the step can be taken on each part as soon as the kernel has computed it, while it is near: the gradient is never
 * written to memory, nor read from it, and has no buffer. Since no variable may change before the APPLY phase, such a
 * gradient is put off until then, so that what it is computed from must be kept for that long. This is done where that
 * is no larger than the gradient is: small batches and large layers. The step is elementwise, so no bit changes.
 */
#include "exec/cpu/plan_impl.h"

/* The node that has made a value, or what it is a view of; -1: none. */
static int32_t maker(const artel__plan *plan, artel__value_id value)
{
    artel__value_id source = artel__plan_source(plan, value);
    return source < 0 ? -1 : plan->graph->value[source].node;
}

/* Whether input k of node `index` is a gradient of which it needs no more than a part at a time. */
static bool takes_parts(const artel__plan *plan, int32_t index, int k)
{
    const artel__graph *graph = plan->graph;
    const artel__node *node = &graph->node[index];
    const artel__op_exec *exec = plan->node[index].exec;
    if (!exec->part || k != exec->summed || node->period > 1 || (node->gated && graph->gate >= 0)) return false;
    for (int i = k + 1; i < node->inputs; i++) {
        if (node->input[i] >= 0) return false; /* a norm, for one, is of the whole gradient */
    }
    return true;
}

/* Who reads what a node has made, views looked through; found once for all nodes, or planning takes the square of their
 * number. */
typedef struct readers {
    int32_t *first, *last; /* by node: entries; -1: none */
    int32_t *next;         /* by entry: the next one of the same node */
    int32_t *node, *input; /* the reader, and which of its inputs */
    bool *kept;            /* by node: what it has made outlives the step */
} readers;

static artel_status find_readers(const artel__plan *plan, artel__arena *arena, readers *out)
{
    const artel__graph *graph = plan->graph;
    size_t nodes = (size_t)graph->nodes + 1, inputs = 1;
    for (int32_t i = 0; i < graph->nodes; i++) inputs += (size_t)graph->node[i].inputs;
    int32_t **by_node[] = {&out->first, &out->last}, **by_entry[] = {&out->next, &out->node, &out->input};
    for (size_t i = 0; i < ARTEL__COUNT(by_node); i++) *by_node[i] = artel__arena_alloc(arena, nodes, sizeof(int32_t));
    for (size_t i = 0; i < ARTEL__COUNT(by_entry); i++)
        *by_entry[i] = artel__arena_alloc(arena, inputs, sizeof(int32_t));
    out->kept = artel__arena_alloc(arena, nodes, sizeof *out->kept);
    ARTEL_TRY(artel__arena_status(arena));
    for (int32_t i = 0; i < graph->nodes; i++) out->first[i] = -1;
    int32_t entries = 0;
    for (int32_t i = 0; i < graph->nodes; i++) {
        for (int k = 0; k < graph->node[i].inputs && !plan->node[i].view; k++) {
            int32_t made = maker(plan, graph->node[i].input[k]), entry = entries++;
            if (made < 0) continue;
            out->node[entry] = i;
            out->input[entry] = k;
            out->next[entry] = -1;
            if (out->first[made] < 0)
                out->first[made] = entry;
            else
                out->next[out->last[made]] = entry;
            out->last[made] = entry;
        }
    }
    for (int i = 0; i < graph->kept_count; i++) {
        int32_t made = maker(plan, graph->kept[i]);
        if (made >= 0) out->kept[made] = true;
    }
    return ARTEL_OK;
}

/* The only reader of the first result of node `index`, if that is a step which can follow it and nothing needs the
 * others before; -1. */
static int32_t find_step(const artel__plan *plan, const readers *all, int32_t index)
{
    const artel__graph *graph = plan->graph;
    int32_t step = -1;
    if (all->kept[index]) return -1;
    for (int32_t entry = all->first[index]; entry >= 0; entry = all->next[entry]) {
        int32_t i = all->node[entry], k = all->input[entry];
        bool first = artel__plan_source(plan, graph->node[i].input[k]) == graph->node[index].output[0];
        if (graph->node[i].phase != ARTEL__PHASE_APPLY) return -1;
        if (first ? step >= 0 || !takes_parts(plan, i, k) : step < 0) return -1;
        if (first) step = i;
    }
    return step;
}

/* Whether the gradient can be computed in the APPLY phase, and what it is computed from is no larger than itself. A
 * variable may have been written by then; values that are fed are there anyway. */
static bool can_wait(const artel__plan *plan, int32_t index)
{
    const artel__node *node = &plan->graph->node[index];
    size_t bytes = 0;
    for (int k = 0; k < node->inputs; k++) {
        artel__value_id from = artel__plan_source(plan, node->input[k]);
        if (from < 0) continue;
        if (plan->graph->value[from].variable >= 0) return false;
        if (plan->graph->value[from].node >= 0) bytes += artel__plan_value_bytes(plan, from);
    }
    return bytes <= artel__plan_value_bytes(plan, node->output[0]);
}

static bool can_be_followed(const artel__plan *plan, int32_t index)
{
    const artel__node *node = &plan->graph->node[index];
    const artel__kernel *kernel = plan->node[index].kernel;
    if (!plan->node[index].exec->follow || !kernel || !kernel->follows || node->phase == ARTEL__PHASE_APPLY ||
        node->period > 1)
        return false;
    if (plan->graph->value[node->output[0]].rounds || !can_wait(plan, index)) return false;
    _Alignas(64) uint8_t params[ARTEL__MAX_PARAMS];
    artel__plan_params(plan, index, 0, params);
    return kernel->follows(params);
}

artel_status artel__plan_follow(artel__plan *plan)
{
    readers all;
    artel__arena arena;
    if (plan->options.replicas > 1) return ARTEL_OK; /* others' sums are added to it */
    artel__arena_init(&arena, artel__graph_context(plan->graph));
    artel_status status = find_readers(plan, &arena, &all);
    for (int32_t i = 0; status == ARTEL_OK && i < plan->graph->nodes; i++) {
        if (!can_be_followed(plan, i)) continue;
        int32_t step = find_step(plan, &all, i);
        if (step >= 0) plan->node[i].step = step;
    }
    artel__arena_fini(&arena);
    return status;
}

bool artel__plan_puts_off(const artel__plan *plan, int32_t node)
{
    int32_t made = plan->graph->node[node].outputs > 0 ? maker(plan, plan->graph->node[node].output[0]) : -1;
    return made >= 0 && plan->node[made].step > 0;
}

int32_t artel__plan_followed(const artel__plan *plan, int32_t node)
{
    const artel__op_exec *exec = plan->node[node].exec;
    if (!exec->part) return -1;
    int32_t made = maker(plan, plan->graph->node[node].input[exec->summed]);
    return made >= 0 && plan->node[made].step == node ? made : -1;
}
