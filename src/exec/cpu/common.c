/* SPDX-License-Identifier: Apache-2.0 */
/* The APPLY phase of replicas that have their variables in common.
 *
 * Replicas of one process need one set of variables, and each step of it is to be taken once. So they share the work
 * out: where tasks of a node touch elements of their own (artel__op_def.divides), each replica does a run of them; all
 * other nodes are the first replica's, in their order. A node is divided only if no other node of the phase has to do
 * with what it writes, so nobody waits for anybody. And a gradient that only such a node reads is not exchanged: each
 * replica adds up the pieces of its own tasks, from the memory of all, while the optimizer needs them.
 */
#include "exec/cpu/plan_impl.h"

/* The variable that a value is or shows; -1: none. */
static int variable_of(const artel__plan *plan, artel__value_id id)
{
    artel__value_id source = artel__plan_source(plan, id);
    return source < 0 ? -1 : plan->graph->value[source].variable;
}

static bool applies(const artel__node *node)
{
    return node->phase == ARTEL__PHASE_APPLY;
}

typedef struct uses {
    int nodes; /* of the phase */
    bool written;
} uses;

static void count_uses(const artel__plan *plan, uses *of)
{
    const artel__graph *graph = plan->graph;
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        for (int k = 0; applies(node) && k < node->inputs; k++) {
            int variable = variable_of(plan, node->input[k]);
            if (variable < 0) continue;
            of[variable].nodes++;
            of[variable].written = of[variable].written || (node->op->writes && k < node->op->written);
        }
    }
}

static bool can_divide(const artel__plan *plan, const artel__node *node, const uses *of)
{
    const artel__graph *graph = plan->graph;
    if (!applies(node) || !artel__node_exec(node)->divides || node->outputs > 0) return false;
    for (int k = 0; k < node->inputs; k++) {
        artel__value_id id = node->input[k];
        if (id < 0) continue;
        int variable = variable_of(plan, id), from = graph->value[id].node;
        if (variable >= 0 && of[variable].written && of[variable].nodes > 1) return false;
        if (variable < 0 && from >= 0 && applies(&graph->node[from])) return false;
    }
    return true;
}

/* `readers`: of each value. */
static void make_lazy(artel__plan *plan, const artel__node *node, const int32_t *readers)
{
    const artel__graph *graph = plan->graph;
    artel__value_id id = node->input[artel__node_exec(node)->summed];
    int32_t from = artel__node_exec(node)->piece > 0 && id >= 0 ? graph->value[id].node : -1;
    if (from < 0 || graph->node[from].op->collective != ARTEL__COLLECTIVE_SUM) return;
    plan->node[from].lazy = graph->value[id].dtype == ARTEL_DTYPE_FLOAT32 && readers[id] == 1;
}

artel_status artel__plan_divide(artel__plan *plan)
{
    const artel__graph *graph = plan->graph;
    int variables = 0;
    for (int i = 0; i < graph->values; i++) {
        if (graph->value[i].variable >= variables) variables = graph->value[i].variable + 1;
    }
    uses *of = artel__arena_alloc(&plan->arena, (size_t)variables + 1, sizeof *of);
    int32_t *readers = artel__arena_alloc(&plan->arena, (size_t)graph->values + 1, sizeof *readers);
    if (!of || !readers) return ARTEL_ERROR_NO_MEMORY;
    count_uses(plan, of);
    artel__graph_count_uses(graph, readers);
    for (int i = 0; i < graph->nodes; i++) {
        plan->node[i].divided = can_divide(plan, &graph->node[i], of);
        if (plan->node[i].divided) make_lazy(plan, &graph->node[i], readers);
    }
    return ARTEL_OK;
}

const artel__node *artel__plan_lazy_input(const artel__plan *plan, int32_t index)
{
    const artel__node *node = &plan->graph->node[index];
    if (!plan->node[index].divided || plan->node[index].exec->piece == 0) return NULL;
    artel__value_id id = node->input[plan->node[index].exec->summed];
    int32_t from = id >= 0 ? plan->graph->value[id].node : -1;
    return from >= 0 && plan->node[from].lazy ? &plan->graph->node[from] : NULL;
}

artel_status artel__run_join(artel__run *run, int count)
{
    void *peer, *blocks;
    ARTEL_TRY(artel__calloc(run->ctx, (size_t)count, sizeof *run->peer, "run", &peer));
    artel__free(run->ctx, run->peer);
    run->peer = peer;
    run->peers = count;
    ARTEL_TRY(artel__calloc(run->ctx, (size_t)count, sizeof *run->blocks, "run", &blocks));
    artel__free(run->ctx, run->blocks);
    run->blocks = blocks;
    return ARTEL_OK;
}

void artel__run_meet(artel__run *run, int rank, const artel__run *peer)
{
    run->peer[rank] = peer;
}

static int rank_of(const artel__run *run)
{
    return run->comm ? run->comm->rank : 0;
}

bool artel__run_leaves(const artel__run *run, int32_t index)
{
    return run->peers > 1 && rank_of(run) > 0 && applies(&run->plan->graph->node[index]) &&
           !run->plan->node[index].divided;
}

void artel__run_share(const artel__run *run, int32_t index, int64_t tasks, int64_t *first, int64_t *count)
{
    *first = 0;
    *count = tasks;
    if (run->peers < 2 || !run->plan->node[index].divided) return;
    *first = tasks * rank_of(run) / run->peers;
    *count = tasks * (rank_of(run) + 1) / run->peers - *first;
}
