/* SPDX-License-Identifier: Apache-2.0 */
/* A graph as a program. */
#include "graph/lower.h"

#include <string.h>

artel__hlo_type artel__lower_type(const artel__graph *graph, artel__value_id id, int64_t rows)
{
    const artel__value *value = &graph->value[id];
    artel__hlo_type type = {.dtype = value->dtype};
    if (value->domain == ARTEL__DOMAIN_ROW || value->domain == ARTEL__DOMAIN_BATCH) type.dim[type.rank++] = rows;
    for (int i = 0; i < value->shape.rank; i++) type.dim[type.rank++] = value->shape.dim[i];
    return type;
}

artel__hlo_type artel__lower_out_type(const artel__lower *lower, int k)
{
    return artel__lower_type(lower->graph, lower->node->output[k], lower->rows);
}

/* Whether the list has this very entry. */
static bool has_entry(const char *list, const char *entry)
{
    size_t length = strlen(entry);
    for (const char *at = strstr(list, entry); at; at = strstr(at + 1, entry)) {
        if ((at == list || at[-1] == ' ') && (at[length] == '\0' || at[length] == ',')) return true;
    }
    return false;
}

void artel__lower_refuse(artel__lower *lower, const char *detail)
{
    char entry[96];
    snprintf(entry, sizeof entry, "%s%s%s", lower->node->op->name, detail[0] ? ":" : "", detail);
    if (!has_entry(lower->refused->data, entry)) artel__text_printf(lower->refused, "%s%s", lower->refused->length ? ", " : "", entry);
}

typedef struct writing {
    const artel__graph *graph;
    artel__hlo hlo;
    artel__hlo_value *value; /* by value of the graph; -1: none yet */
    artel__text refused;
    int64_t rows;
} writing;

static void write_node(writing *w, const artel__node *node)
{
    artel__lower lower = {
        .graph = w->graph, .node = node, .attributes = node->attributes, .hlo = &w->hlo, .rows = w->rows, .refused = &w->refused};
    for (int i = 0; i < ARTEL__MAX_OPERANDS; i++) lower.in[i] = lower.out[i] = -1;
    bool known = true; /* what reads a refused value is not written */
    for (int i = 0; i < node->inputs; i++) {
        if (node->input[i] >= 0) lower.in[i] = w->value[node->input[i]];
        known = known && (node->input[i] < 0 || lower.in[i] >= 0);
    }
    if (!node->op->lower)
        artel__lower_refuse(&lower, "");
    else if (known)
        node->op->lower(&lower);
    for (int i = 0; i < node->outputs; i++) {
        if (w->graph->value[node->output[i]].rounds) artel__lower_refuse(&lower, "16 bits");
        w->value[node->output[i]] = lower.out[i];
    }
}

static void write_arguments(writing *w)
{
    const artel__graph *graph = w->graph;
    for (int i = 0; i < graph->inputs; i++) {
        artel__hlo_type type = artel__lower_type(graph, graph->input[i], w->rows);
        w->value[graph->input[i]] = artel__hlo_argument(&w->hlo, &type, -1);
    }
    for (int i = 0; i < graph->variable_values; i++) {
        if (graph->variable_value[i] < 0) continue;
        artel__hlo_type type = artel__lower_type(graph, graph->variable_value[i], w->rows);
        w->value[graph->variable_value[i]] = artel__hlo_argument(&w->hlo, &type, -1);
    }
}

static artel_status write_graph(writing *w, artel__hlo_value *result, artel__text *out)
{
    const artel__graph *graph = w->graph;
    for (int i = 0; i < graph->values; i++) w->value[i] = -1;
    write_arguments(w);
    for (int i = 0; i < graph->nodes; i++) write_node(w, &graph->node[i]);
    ARTEL_TRY(artel__text_status(&w->refused));
    if (w->refused.length)
        return artel__fail(artel__graph_context(graph), ARTEL_ERROR_UNSUPPORTED, "device", "train on processors; see docs/devices.md",
                           "devices do not compute these operations in this version: %s", w->refused.data);
    for (int i = 0; i < graph->kept_count; i++) result[i] = w->value[graph->kept[i]];
    return artel__hlo_finish(&w->hlo, result, graph->kept_count, out);
}

artel_status artel__lower_graph(const artel__graph *graph, int64_t rows, artel__text *out)
{
    artel_context *ctx = artel__graph_context(graph);
    writing w = {.graph = graph, .rows = rows};
    void *block;
    ARTEL_TRY(artel__calloc(ctx, (size_t)(graph->values + graph->kept_count) + 1, sizeof(artel__hlo_value), "device", &block));
    w.value = block;
    artel__hlo_init(&w.hlo, ctx);
    artel__text_init(&w.refused, ctx);
    artel_status status = write_graph(&w, w.value + graph->values, out);
    artel__text_fini(&w.refused);
    artel__hlo_fini(&w.hlo);
    artel__free(ctx, block);
    return status;
}
