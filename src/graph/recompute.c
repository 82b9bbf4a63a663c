/* SPDX-License-Identifier: Apache-2.0 */
/* The recomputation pass: rewriting a graph after a choice, and the account of it.
 *
 * The log of the chosen trial is the new order of nodes. A node that runs again is copied with outputs of its own;
 * readers behind the turn of the step, original or copied, take the copies of what was dropped. Operands of which only
 * the shape matters stay.
 */
#include "graph/recompute.h"

#include <string.h>

#include "graph/recompute_impl.h"

typedef struct rewriter {
    artel__graph *graph;
    const artel__step_model *model;
    const bool *drop;
    artel__value_id *copy; /* by value: made again; ARTEL__NO_VALUE */
    artel__node *node;     /* the new order */
    int nodes;
} rewriter;

static void redirect(const rewriter *w, const artel__node *from, artel__value_id *input)
{
    for (int k = 0; k < from->inputs; k++) {
        artel__value_id id = from->input[k];
        bool dropped = artel__node_reads(from, k) && w->model->buffer[id] >= 0 && w->drop[w->model->buffer[id]];
        input[k] = dropped && w->copy[id] >= 0 ? w->copy[id] : id;
    }
}

static artel_status add_copy(rewriter *w, const artel__node *original)
{
    artel__value_id *ids =
        artel__arena_alloc(w->graph->arena, (size_t)(original->inputs + original->outputs) + 1, sizeof *ids);
    if (!ids) return w->graph->status = ARTEL_ERROR_NO_MEMORY;
    artel__node *node = &w->node[w->nodes];
    *node = *original;
    node->phase = ARTEL__PHASE_BACKWARD;
    node->again = true;
    node->input = ids;
    node->output = ids + original->inputs;
    redirect(w, original, node->input);
    for (int k = 0; k < node->outputs; k++) {
        artel__value value = w->graph->value[original->output[k]];
        node->output[k] = artel__graph_add_value(w->graph, &value);
        if (node->output[k] < 0) return w->graph->status;
        w->copy[original->output[k]] = node->output[k];
    }
    w->nodes++;
    return ARTEL_OK;
}

artel_status artel__recompute_rewrite(artel__step_model *model, const bool *drop)
{
    const artel__trial *trial = model->trial;
    artel__graph *graph = model->graph;
    rewriter w = {.graph = graph,
                  .model = model,
                  .drop = drop,
                  .copy = artel__arena_alloc(graph->arena, (size_t)graph->values + 1, sizeof *w.copy),
                  .node = artel__arena_alloc(graph->arena, (size_t)trial->count + 1, sizeof *w.node)};
    if (!w.copy || !w.node) return graph->status = ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < graph->values; i++) w.copy[i] = ARTEL__NO_VALUE;
    for (int32_t p = 0; p < trial->count; p++) {
        bool again = trial->log[p] < 0;
        int32_t event = again ? ~trial->log[p] : trial->log[p];
        const artel__node *original = &graph->node[model->node[event]];
        if (again) {
            ARTEL_TRY(add_copy(&w, original));
            continue;
        }
        w.node[w.nodes] = *original;
        if (event >= model->turn) redirect(&w, original, original->input);
        w.nodes++;
    }
    graph->node = w.node;
    graph->nodes = w.nodes;
    graph->node_capacity = trial->count + 1;
    for (int i = 0; i < w.nodes; i++) {
        for (int k = 0; k < w.node[i].outputs; k++) graph->value[w.node[i].output[k]].node = i;
    }
    return artel__graph_prune(graph);
}

/* -- the account -- */

static bool is_work(const artel__node *node)
{
    return node->op->placement != ARTEL__PLACE_VIEW;
}

/* What the backward pass, as it was, reads of the forward pass. */
static artel_status list_items(const artel__step_model *model, const bool *drop, artel__recompute_report *report)
{
    artel__recompute_item *item = artel__arena_alloc(model->graph->arena, (size_t)model->buffers + 1, sizeof *item);
    bool *read = artel__arena_alloc(model->graph->arena, (size_t)model->buffers + 1, sizeof *read);
    if (!item || !read) return model->graph->status = ARTEL_ERROR_NO_MEMORY;
    for (int32_t i = model->reads.start[model->turn]; i < model->reads.start[model->events]; i++)
        read[model->reads.item[i]] = true;
    for (int32_t b = 0; b < model->buffers; b++) {
        if (!read[b] || model->makers.start[b] == model->makers.start[b + 1]) continue;
        artel__retention kept = model->retention[b] ? model->retention[b] : ARTEL__RETENTION_CHECKPOINT;
        item[report->count++] = (artel__recompute_item){.value = model->value[b],
                                                        .retention = drop[b] ? ARTEL__RETENTION_DROPPED : kept,
                                                        .bytes = (double)model->bytes[b]};
    }
    report->items = item;
    return ARTEL_OK;
}

static artel_status choose_and_rewrite(artel__step_model *model, const artel__recompute_options *options,
                                       artel__recompute_report *report)
{
    artel__outcome outcome;
    bool *drop = artel__arena_alloc(&model->arena, (size_t)model->buffers + 1, sizeof *drop);
    if (!drop) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__recompute_choose(model, options->extra_time, drop, &outcome));
    if (outcome.events == model->events) memset(drop, 0, (size_t)model->buffers); /* nothing runs again */
    *report = (artel__recompute_report){.peak_before = (double)(model->trial->base - model->fixed),
                                        .peak_after = (double)(outcome.peak - model->fixed),
                                        .extra_time = outcome.extra};
    for (int32_t e = 0; e < model->turn; e++) report->forward_nodes += is_work(&model->graph->node[model->node[e]]);
    ARTEL_TRY(list_items(model, drop, report));
    if (outcome.events == model->events) return ARTEL_OK;
    ARTEL_TRY(artel__recompute_rewrite(model, drop));
    for (int i = 0; i < model->graph->nodes; i++)
        report->nodes += model->graph->node[i].again && is_work(&model->graph->node[i]);
    return ARTEL_OK;
}

artel_status artel__graph_recompute(artel__graph *graph, const artel__recompute_options *options,
                                    artel__recompute_report *report)
{
    artel__step_model model;
    if (graph->status < 0) return graph->status;
    ARTEL_TRY(artel__graph_prune(graph));
    artel_status status = artel__step_model_init(&model, graph, options);
    if (status == ARTEL_OK) status = choose_and_rewrite(&model, options, report);
    artel__step_model_fini(&model);
    if (status < 0 && graph->status == ARTEL_OK) graph->status = status;
    return status;
}

void artel__recompute_dump(const artel__graph *graph, const artel__recompute_report *report, artel__text *out)
{
    static const char *const fates[] = {
        [ARTEL__RETENTION_DROPPED] = "dropped, computed again",
        [ARTEL__RETENTION_CHECKPOINT] = "kept: others are computed from it, or it is dear to compute",
        [ARTEL__RETENTION_RESULT] = "kept: a result of the step",
        [ARTEL__RETENTION_NOT_REPEATED] = "kept: made by a fold, which is not repeated"};
    double dropped = 0, kept = 0;
    for (int i = 0; i < report->count; i++) *(report->items[i].retention ? &kept : &dropped) += report->items[i].bytes;
    artel__text_printf(out,
                       "%d of %d forward operations run again, about %.0f %% more time; of what the backward pass "
                       "reads, %.0f bytes are kept "
                       "and %.0f dropped; most bytes alive at once %.0f, without recomputation %.0f\n",
                       report->nodes, report->forward_nodes, report->extra_time * 100, kept, dropped,
                       report->peak_after, report->peak_before);
    for (int i = 0; i < report->count; i++) {
        const artel__recompute_item *item = &report->items[i];
        const artel__node *node = &graph->node[graph->value[item->value].node];
        artel__text_printf(out, "  %%%d %s, %.0f bytes, %s  ; %s\n", (int)item->value, node->op->name, item->bytes,
                           fates[item->retention], node->name);
    }
}
