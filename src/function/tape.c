/* SPDX-License-Identifier: Apache-2.0 */
/* Recording what is asked of a graph. All of it lies in the graph's arena. */
#include "function/tape.h"

#include <string.h>

static const artel_value *copy_values(artel_graph *g, const artel_value *values, int count)
{
    artel_value *copy = artel__arena_alloc(g->graph->arena, (size_t)count + 1, sizeof *copy);
    if (copy && count) memcpy(copy, values, (size_t)count * sizeof *copy);
    if (!copy) g->graph->status = ARTEL_ERROR_NO_MEMORY;
    return copy;
}

static const char *copy_text(artel_graph *g, const char *text)
{
    const char *copy = text ? artel__arena_strdup(g->graph->arena, text) : NULL;
    if (text && !copy) g->graph->status = ARTEL_ERROR_NO_MEMORY;
    return copy;
}

artel__tape_entry *artel__tape_begin(artel_graph *g, const artel__tape_entry *call, const artel_value *inputs,
                                     int count)
{
    if (!g->tape || g->graph->status < 0) return NULL;
    artel__tape_entry *entry = artel__arena_alloc(g->graph->arena, 1, sizeof *entry);
    if (!entry) {
        g->graph->status = ARTEL_ERROR_NO_MEMORY;
        return NULL;
    }
    *entry = *call;
    entry->name = copy_text(g, call->name);
    entry->settings = copy_text(g, call->settings);
    entry->input = copy_values(g, inputs, count);
    entry->inputs = count;
    entry->next = NULL;
    if (g->tape->last)
        g->tape->last->next = entry;
    else
        g->tape->first = entry;
    g->tape->last = entry;
    return g->graph->status < 0 ? NULL : entry;
}

void artel__tape_end(artel_graph *g, artel__tape_entry *entry, const artel_value *outputs, int count)
{
    if (!entry || g->graph->status < 0) return;
    entry->output = copy_values(g, outputs, count);
    entry->outputs = count;
    g->tape->places = g->places;
}

artel_value artel__tape_gave(artel_graph *g, artel__tape_entry *entry, artel_value value)
{
    artel__tape_end(g, entry, &value, 1);
    return g->graph->status < 0 ? ARTEL_NO_VALUE : value;
}
