/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of a graph: one line a node, stable, used by golden tests and --explain. */
#include "graph/op_def.h"

static const char *const domain_names[] = {"row", "nodes", "global", "batch"};
static const char *const phase_names[] = {"forward", "backward", "apply"};

static void dump_value(const artel__graph *graph, artel__value_id id, artel__text *out)
{
    char shape[128];
    if (id < 0) {
        artel__text_append(out, "-");
        return;
    }
    const artel__value *value = &graph->value[id];
    artel__text_show(out, "%%%d", (int)id);
    if (value->variable >= 0) artel__text_show(out, "{%s}", graph->variables->item[value->variable].name);
    artel__text_show(out, ":%s.%s%s%s%s", domain_names[value->domain], artel_dtype_name(value->dtype),
                     value->precision ? "~" : "", value->precision ? artel_dtype_name(value->precision) : "",
                     artel__shape_text(&value->shape, false, shape, sizeof shape));
}

void artel__graph_dump(const artel__graph *graph, artel__text *out)
{
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        artel__text_show(out, "%4d %-8s %s", i, phase_names[node->phase], node->op->name);
        if (node->op->describe) {
            artel__text_append(out, "[");
            node->op->describe(node, out);
            artel__text_append(out, "]");
        }
        artel__text_append(out, " (");
        for (int k = 0; k < node->inputs; k++) {
            if (k) artel__text_append(out, ", ");
            dump_value(graph, node->input[k], out);
        }
        artel__text_append(out, ") -> ");
        for (int k = 0; k < node->outputs; k++) {
            if (k) artel__text_append(out, ", ");
            dump_value(graph, node->output[k], out);
        }
        artel__text_show(out, "  ; %s%s\n", node->name, node->again ? ", again" : "");
    }
}
