/* SPDX-License-Identifier: Apache-2.0 */
/* Work to do while an exchange is on its way.
 *
 * In the backward pass of a convolution below a batch normalisation, the gradient of x comes first, then that of the
 * weights, then the normalisation's sums, for which all replicas wait. Nothing before that wait needs the weight
 * gradient. So it changes places with what follows it: the sums are posted, the weight gradient is computed, then they
 * are waited for. This hides the way there and back, what queues before it on the wire, and the replicas' being early
 * or late by a few milliseconds.
 *
 * Before: weight gradient, [begin,] sums, exchange. After: sums, post, weight gradient, [begin,] await. No value
 * changes, only when it is made. One node for each exchange: more would keep more alive, and one is long enough.
 */
#include <string.h>

#include "exec/cpu/plan_impl.h"

static bool touches(const artel__plan *plan, int32_t index, int32_t made)
{
    const artel__node *node = &plan->graph->node[index];
    for (int k = 0; k < node->inputs; k++) {
        if (node->input[k] >= 0 && plan->graph->value[node->input[k]].node == made) return true;
    }
    return false;
}

/* Whether an action uses what node `made` has computed. */
static bool uses(const artel__plan *plan, const artel__action *action, int32_t made)
{
    if (action->node >= 0) return touches(plan, action->node, made);
    for (int32_t c = 0; c < action->count; c++) {
        if (touches(plan, plan->collective[action->first + c], made)) return true;
    }
    return false;
}

/* The last long computation before the exchange at `end`, if nothing up to that one, background sums apart, needs it;
 * -1: none.
 * `*begin`: where between them background sums begin, or -1. */
static int find_cover(const artel__plan *plan, int end, int *begin)
{
    *begin = -1;
    for (int a = end - 1; a >= 0; a--) {
        const artel__action *action = &plan->action[a];
        if (action->node == ARTEL__ACTION_BEGIN && *begin < 0) {
            *begin = a;
            continue;
        }
        if (action->node < 0) return -1;
        if (!plan->node[action->node].kernel || !plan->graph->node[action->node].op->cost) continue;
        for (int b = a + 1; b <= end; b++) {
            if (b != *begin && uses(plan, &plan->action[b], action->node)) return -1;
        }
        return a;
    }
    return -1;
}

/* Takes an action out of the list, up to `end` exclusive, and closes the gap. */
static artel__action take(artel__plan *plan, int at, int end)
{
    artel__action action = plan->action[at];
    memmove(&plan->action[at], &plan->action[at + 1], (size_t)(end - at - 1) * sizeof action);
    return action;
}

/* The list becomes one longer: an exchange is now two actions. */
static void cover(artel__plan *plan, int at, int begin, int end)
{
    artel__action exchange = plan->action[end], background = {0};
    memmove(&plan->action[end + 2], &plan->action[end + 1], (size_t)(plan->actions - end - 1) * sizeof exchange);
    plan->actions++;
    plan->apply_action++;
    int to = end + 1; /* where the waiting goes; what covers it lies before */
    plan->action[to] = exchange;
    plan->action[to].node = ARTEL__ACTION_AWAIT;
    if (begin >= 0) background = take(plan, begin, to);
    artel__action node = take(plan, at, begin >= 0 ? to - 1 : to);
    if (begin >= 0) plan->action[--to] = background;
    plan->action[--to] = node;
    plan->action[--to].node = ARTEL__ACTION_POST;
}

void artel__plan_overlap(artel__plan *plan)
{
    for (int e = 0; e < plan->apply_action; e++) {
        int begin;
        if (plan->action[e].node != ARTEL__ACTION_EXCHANGE) continue;
        int at = find_cover(plan, e, &begin);
        if (at >= 0) cover(plan, at, begin, e++);
    }
}
