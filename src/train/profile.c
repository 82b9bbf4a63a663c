/* SPDX-License-Identifier: Apache-2.0 */
/* The time of each node, step by step, from the counters of replica 0's run. */
#include <string.h>

#include "train/fit_impl.h"

static const char *const phases[] = {"forward", "backward", "apply"};

/* Plans change when ranks come or go, and what computes with them. */
void artel__fit_profile_step(artel__fit *fit)
{
    const artel__graph *graph = &artel__session_objective(fit->session, ARTEL__MODE_TRAIN)->graph;
    const artel__executable *plan = artel__session_plan(fit->session, ARTEL__MODE_TRAIN);
    int64_t rows, begin;
    bool ahead;
    int64_t input = artel__session_input_time(fit->session, &begin, &ahead);
    const artel__node_time *time = artel__session_times(fit->session, &rows);
    int count = 0;
    if (time)
        fit->pace.profile[count++] = (artel_profile_node){.layer = "",
                                                          .operation = "input",
                                                          .kernel = ahead ? "ahead" : "fetch",
                                                          .phase = "input",
                                                          .ns = input,
                                                          .begin_ns = begin,
                                                          .longest_ns = input};
    if (time && ahead)
        fit->pace.profile[count++] = (artel_profile_node){.layer = "",
                                                          .operation = "read",
                                                          .kernel = "ahead",
                                                          .phase = "ahead",
                                                          .ns = artel__session_reading_time(fit->session),
                                                          .begin_ns = begin};
    for (int i = 0; time && i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        double operations;
        const char *kernel = artel__executable_kernel(plan, i, rows, &operations);
        if (strcmp(kernel, "view") == 0) continue;
        fit->pace.profile[count++] = (artel_profile_node){.layer = node->name ? node->name : "",
                                                          .operation = node->op->name,
                                                          .kernel = kernel,
                                                          .phase = phases[node->phase],
                                                          .ns = time[i].ns,
                                                          .begin_ns = time[i].begin_ns,
                                                          .longest_ns = time[i].longest_ns,
                                                          .operations = operations};
    }
    if (count > 1 + ahead) fit->options.on_profile(fit->options.event_user, fit->at.step + 1, fit->pace.profile, count);
}
