/* SPDX-License-Identifier: Apache-2.0 */
/* The time of each node, step by step, from the counters of replica 0's run: what a step added to them. */
#include <string.h>

#include "train/fit_impl.h"

static const char *const phases[] = {"forward", "backward", "apply"};

artel_status artel__fit_profile_open(artel__fit *fit)
{
    const artel__graph *graph = &artel__session_objective(fit->session, ARTEL__MODE_TRAIN)->graph;
    const artel__plan *plan = artel__session_plan(fit->session, ARTEL__MODE_TRAIN);
    size_t room = (size_t)graph->nodes + 1;
    ARTEL_TRY(artel__session_profile(fit->session, true));
    fit->profile = artel__arena_alloc(&fit->arena, room, sizeof *fit->profile);
    fit->profile_node = artel__arena_alloc(&fit->arena, room, sizeof *fit->profile_node);
    fit->profile_ns = artel__arena_alloc(&fit->arena, room, sizeof *fit->profile_ns);
    ARTEL_TRY(artel__arena_status(&fit->arena));
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        double operations;
        const char *kernel = artel__plan_kernel(plan, i, &operations);
        if (strcmp(kernel, "view") == 0) continue;
        fit->profile_node[fit->profile_count] = i;
        fit->profile[fit->profile_count++] = (artel_profile_node){
            .layer = node->name ? node->name : "", .operation = node->op->name, .kernel = kernel, .phase = phases[node->phase]};
    }
    return ARTEL_OK;
}

void artel__fit_profile_step(artel__fit *fit, int64_t rows)
{
    const artel__node_time *time = artel__session_times(fit->session);
    const artel__plan *plan = artel__session_plan(fit->session, ARTEL__MODE_TRAIN);
    for (int i = 0; i < fit->profile_count; i++) {
        const artel__node_time *now = &time[fit->profile_node[i]];
        double operations;
        artel__plan_kernel(plan, fit->profile_node[i], &operations);
        fit->profile[i].ns = now->ns - fit->profile_ns[i];
        fit->profile[i].begin_ns = now->begin_ns;
        fit->profile[i].operations = operations * (double)rows / (double)fit->batch_size;
        fit->profile_ns[i] = now->ns;
    }
    fit->options.on_profile(fit->options.event_user, fit->step + 1, fit->profile, fit->profile_count);
}
