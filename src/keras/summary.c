/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a summary.
 *
 * Output shapes are learnt by building the inference graph call by call. Open axes get two different stand-ins in two
 * passes: what differs between the passes is open too. Counts and connections follow keras/src/utils/summary_utils.py.
 */
#include "keras/summary.h"

#include "keras/variables.h"
#include "nn/ahead.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST = 16
}; /* outputs of a call, as in nn/layer.h */

typedef struct seen {
    artel_shape shape[MOST];
    int count;
} seen;

artel_shape artel__keras_fill_open(const artel_shape *shape, int pass)
{
    artel_shape full = *shape;
    for (int i = 0; i < full.rank; i++) {
        if (full.dim[i] < 0) full.dim[i] = full.rank == 3 ? (pass ? 160 : 96) : (pass ? 24 : 16);
    }
    return full;
}

/* One call of the model; site[i] receives the shapes of call i. */
static artel_status trace_sites(const artel__model *model, artel__graph *graph, int pass, seen *sites)
{
    artel__tensor *made = artel__arena_alloc(graph->arena, (size_t)model->sites * MOST + 1, sizeof *made);
    if (!made) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < model->sites; i++) {
        const artel__model_call_site *site = &model->site[i];
        if (!site->layer) {
            artel_shape shape = artel__keras_fill_open(&model->input[site->input].shape, pass);
            artel__value_id value =
                artel__graph_input(graph, ARTEL__DOMAIN_ROW, model->input[site->input].dtype, &shape);
            made[i * MOST] = (artel__tensor){value, ARTEL__NO_VALUE};
            artel__ahead_set(graph->ahead, site->input, value);
            sites[i] = (seen){.shape = {shape}, .count = 1};
            continue;
        }
        artel__tensor *in = artel__arena_alloc(graph->arena, (size_t)site->inputs + 1, sizeof *in);
        if (!in) return ARTEL_ERROR_NO_MEMORY;
        for (int k = 0; k < site->inputs; k++) in[k] = made[site->in[k].call * MOST + site->in[k].output];
        artel__call call = {
            .graph = graph, .in = in, .inputs = site->inputs, .arguments = site->arguments, .out = &made[i * MOST]};
        ARTEL_TRY(artel__layer_call(site->layer, &call));
        sites[i].count = call.outputs;
        for (int k = 0; k < call.outputs; k++) sites[i].shape[k] = graph->value[call.out[k].value].shape;
    }
    return ARTEL_OK;
}

static artel_status trace(const artel__model *model, int pass, seen *sites)
{
    artel__arena arena;
    artel__graph graph;
    artel__arena_init(&arena, model->ctx);
    artel__graph_init(&graph, &arena, model->variables, true);
    artel__program program = {.arena = &arena, .inputs = model->inputs};
    artel__ahead ahead;
    artel_status status = artel__ahead_record(&graph, &program, &ahead);
    if (status == ARTEL_OK) status = trace_sites(model, &graph, pass, sites);
    artel__arena_fini(&arena);
    return status;
}

static bool has_open_axis(const artel__model *model)
{
    for (int i = 0; i < model->inputs; i++) {
        for (int d = 0; d < model->input[i].shape.rank; d++) {
            if (model->input[i].shape.dim[d] < 0) return true;
        }
    }
    return false;
}

/* Shapes of all calls, open axes as -1. */
static artel_status learn_shapes(const artel__model *model, artel__arena *arena, seen **out)
{
    seen *first = artel__arena_alloc(arena, (size_t)model->sites + 1, sizeof *first);
    seen *second = artel__arena_alloc(arena, (size_t)model->sites + 1, sizeof *second);
    if (!first || !second) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(trace(model, 0, first));
    *out = first;
    if (!has_open_axis(model)) return ARTEL_OK;
    ARTEL_TRY(trace(model, 1, second));
    for (int i = 0; i < model->sites; i++) {
        for (int k = 0; k < first[i].count; k++) {
            for (int d = 0; d < first[i].shape[k].rank; d++) {
                if (first[i].shape[k].dim[d] != second[i].shape[k].dim[d]) first[i].shape[k].dim[d] = -1;
            }
        }
    }
    return ARTEL_OK;
}

static const char *shapes_text(artel__arena *arena, const seen *site)
{
    artel__text text;
    artel__text_init(&text, arena->ctx);
    for (int k = 0; k < site->count; k++) {
        artel__text_show(&text, "%s(None", k ? ", " : site->count > 1 ? "[" : "");
        for (int d = 0; d < site->shape[k].rank; d++) {
            if (site->shape[k].dim[d] < 0)
                artel__text_append(&text, ", None");
            else
                artel__text_show(&text, ", %lld", (long long)site->shape[k].dim[d]);
        }
        artel__text_append(&text, site->shape[k].rank ? ")" : ",)");
    }
    if (site->count > 1) artel__text_append(&text, "]");
    const char *result = text.failed ? NULL : artel__arena_strdup(arena, text.data);
    artel__text_fini(&text);
    return result;
}

/* Which call of its layer a site is. An input counts as the first and only one of its InputLayer. */
static int call_number(const artel__model *model, int site)
{
    int number = 0;
    for (int i = 0; i < site; i++) number += model->site[i].layer && model->site[i].layer == model->site[site].layer;
    return number;
}

static const char *site_name(const artel__model *model, int site)
{
    const artel__model_call_site *s = &model->site[site];
    return s->layer ? s->layer->name : model->input[s->input].name;
}

static bool is_site_of(const artel__model *model, int site, const artel__layer *layer)
{
    const artel__model_call_site *s = &model->site[site];
    if (s->layer) return s->layer == layer;
    return strcmp(layer->def->class_name, "InputLayer") == 0 && strcmp(model->input[s->input].name, layer->name) == 0;
}

static const char *connections_text(const artel__model *model, artel__arena *arena, const artel__layer *layer)
{
    artel__text text;
    artel__text_init(&text, arena->ctx);
    for (int i = 0; i < model->sites; i++) {
        if (!is_site_of(model, i, layer)) continue;
        for (int k = 0; k < model->site[i].inputs; k++) {
            int source = model->site[i].in[k].call;
            artel__text_show(&text, "%s%s[%d][%d]", text.length ? ", " : "", site_name(model, source),
                             call_number(model, source), model->site[i].in[k].output);
        }
    }
    const char *result = text.failed ? NULL : artel__arena_strdup(arena, text.data);
    artel__text_fini(&text);
    return result;
}

/* A chain: every call takes one tensor, every call feeds at most one other, no layer is called twice. */
static bool is_chain(const artel__model *model)
{
    if (artel__keras_is_sequential(model)) return true;
    for (int i = 0; i < model->sites; i++) {
        int users = 0;
        if (model->site[i].inputs > 1 || call_number(model, i) > 0) return false;
        for (int k = 0; k < model->sites; k++) {
            for (int n = 0; n < model->site[k].inputs; n++) users += model->site[k].in[n].call == i;
        }
        if (users > 1) return false;
    }
    return model->inputs == 1;
}

static void count_params(const artel__layer *layer, int64_t *count)
{
    for (int i = 0; i < layer->variable_count; i++) {
        const artel__layer_variable *own = &layer->variable[i];
        if (!own->alias) *count += artel_shape_count(&layer->variables->item[own->index].shape);
    }
    for (int i = 0; i < layer->child_count; i++) count_params(layer->child[i].layer, count);
    for (int i = 0; layer->model && i < layer->model->layers; i++) count_params(layer->model->layer[i], count);
}

static artel__layer_row *add_row(artel__model_summary *summary, const artel__layer *layer, int depth)
{
    if (summary->rows % 64 == 0) {
        artel__layer_row *wider = artel__arena_alloc(&summary->arena, (size_t)summary->rows + 64, sizeof *wider);
        if (!wider) return NULL;
        if (summary->rows) memcpy(wider, summary->row, (size_t)summary->rows * sizeof *wider);
        summary->row = wider;
    }
    artel__layer_row *row = &summary->row[summary->rows++];
    const char *class_name =
        json_string_value(json_object_get(layer->record, "class_name")); /* raw operations: without "ops." */
    *row = (artel__layer_row){.name = layer->name,
                              .class_name = class_name ? class_name : layer->def->class_name,
                              .output_shape = "?",
                              .connected_to = "",
                              .trainable = layer->trainable,
                              .depth = depth};
    count_params(layer, &row->params);
    row->has_weights = row->params > 0;
    return row;
}

static artel_status add_nested(artel__model_summary *summary, const artel__model *model, int depth)
{
    for (int i = 0; i < model->layers; i++) {
        if (artel__keras_is_sequential(model) && strcmp(model->layer[i]->def->class_name, "InputLayer") == 0) continue;
        if (!add_row(summary, model->layer[i], depth)) return ARTEL_ERROR_NO_MEMORY;
        if (model->layer[i]->model) ARTEL_TRY(add_nested(summary, model->layer[i]->model, depth + 1));
    }
    return ARTEL_OK;
}

static artel_status add_rows(artel__model_summary *summary, const artel__model *model, bool expand)
{
    seen *sites;
    ARTEL_TRY(learn_shapes(model, &summary->arena, &sites));
    for (int i = 0; i < model->layers; i++) {
        const artel__layer *layer = model->layer[i];
        if (artel__keras_is_sequential(model) && strcmp(layer->def->class_name, "InputLayer") == 0) continue;
        artel__layer_row *row = add_row(summary, layer, 0);
        if (!row) return ARTEL_ERROR_NO_MEMORY;
        for (int s = 0; s < model->sites; s++) {
            if (is_site_of(model, s, layer)) row->output_shape = shapes_text(&summary->arena, &sites[s]);
        }
        if (summary->connections) row->connected_to = connections_text(model, &summary->arena, layer);
        if (!row->output_shape || !row->connected_to) return ARTEL_ERROR_NO_MEMORY;
        if (expand && layer->model) ARTEL_TRY(add_nested(summary, layer->model, 1));
    }
    return ARTEL_OK;
}

artel_status artel__keras_summary(const artel_model *model, bool expand, artel__model_summary *out)
{
    artel__model_summary summary = {.name = model->nn->name, .connections = !is_chain(model->nn)};
    artel__arena_init(&summary.arena, model->ctx);
    artel__keras_count(model, &summary.trainable, &summary.frozen);
    summary.trainable_bytes = (double)summary.trainable * 4;
    summary.frozen_bytes = (double)summary.frozen * 4;
    for (int i = 0; i < model->optimizer.count; i++) {
        int64_t count = artel_shape_count(&model->optimizer.array[i].shape);
        summary.optimizer += count;
        summary.optimizer_bytes += (double)count * (double)artel_dtype_size(model->optimizer.array[i].dtype);
    }
    artel_status status = add_rows(&summary, model->nn, expand);
    if (status < 0) {
        artel__arena_fini(&summary.arena);
        return status;
    }
    *out = summary;
    return ARTEL_OK;
}

void artel__keras_summary_fini(artel__model_summary *summary)
{
    if (summary->arena.ctx) artel__arena_fini(&summary->arena);
    *summary = (artel__model_summary){.rows = 0};
}
