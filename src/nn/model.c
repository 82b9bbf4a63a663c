/* SPDX-License-Identifier: Apache-2.0 */
/* Models: made from a record, called into graphs.
 *
 * Creation builds an inference graph once, so that every layer declares its variables with the shapes it will see, in
 * a graph that is then thrown away. Open axes (None) get stand-in extents for that purpose; no Keras layer's weights
 * depend on an axis that its file leaves open. Where a model cannot take the usual ones, those are tried that its
 * record names.
 */
#include "nn/model.h"

#include <stdio.h>
#include <string.h>

#include "base/failures.h"
#include "base/json.h"
#include "nn/ahead.h"
#include "nn/layer_ops.h"
#include "op/elementwise.h"
#include "op/ops.h"

/* Large enough for every keras.applications network to shrink its images as often as it does. */
#define STAND_IN_IMAGE 96
#define STAND_IN_SEQUENCE 16
#define MOST_STAND_INS 16

artel_status artel__model_fail(const artel__model *model, artel_status status, const char *advice, const char *format,
                               ...)
{
    char what[512], where[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(where, sizeof where, "model \"%s\"", model->name ? model->name : "?");
    return artel__fail(model->ctx, status, where, advice, "%s", what);
}

artel_status artel__model_add_layer(artel__model *model, json_t *record, artel__layer **out)
{
    ARTEL_TRY(artel__layer_create(model->arena, model->variables, record, out));
    if (model->layers == model->layer_capacity) {
        int capacity = model->layer_capacity ? model->layer_capacity * 2 : 32;
        artel__layer **wider = artel__arena_alloc(model->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (model->layers) memcpy(wider, model->layer, (size_t)model->layers * sizeof *wider);
        model->layer = wider;
        model->layer_capacity = capacity;
    }
    bool named = json_is_string(json_object_get(json_object_get(record, "config"), "name"));
    if (named && artel__names_find(&model->layer_names, (*out)->name))
        return artel__model_fail(model, ARTEL_ERROR_INVALID, "give every layer a name of its own",
                                 "two layers are named \"%s\"", (*out)->name);
    const int *same = artel__names_find(&model->class_counts, (*out)->def->class_name);
    (*out)->same_before = same ? *same : 0;
    model->class_counts.arena = model->arena;
    ARTEL_TRY(artel__names_set(&model->class_counts, (*out)->def->class_name, (*out)->same_before + 1));
    model->layer[model->layers++] = *out;
    return artel__model_name_layer(model, model->layers - 1, (*out)->name);
}

artel_status artel__model_name_layer(artel__model *model, int layer, const char *name)
{
    const int *known = artel__names_find(&model->layer_names, name);
    model->layer[layer]->name = name;
    model->layer_names.arena = model->arena;
    return artel__names_set(&model->layer_names, name, known && *known != layer ? ARTEL__SEVERAL_LAYERS : layer);
}

artel__model_call_site *artel__model_add_site(artel__model *model)
{
    if (model->sites == model->site_capacity) {
        int capacity = model->site_capacity ? model->site_capacity * 2 : 32;
        artel__model_call_site *wider = artel__arena_alloc(model->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return NULL;
        if (model->sites) memcpy(wider, model->site, (size_t)model->sites * sizeof *wider);
        model->site = wider;
        model->site_capacity = capacity;
    }
    return &model->site[model->sites++];
}

static void release_layer(artel__layer *layer);

/* The recorded arguments of a model's calls, and of those inside it. */
static void release_arguments(artel__model *model)
{
    for (int i = 0; i < model->sites; i++) json_decref(model->site[i].arguments);
    model->sites = 0;
    for (int i = 0; i < model->layers; i++) release_layer(model->layer[i]);
}

static void release_layer(artel__layer *layer)
{
    if (layer->model) release_arguments(layer->model);
    for (int i = 0; i < layer->child_count; i++) release_layer(layer->child[i].layer);
}

static artel_status read_model(artel__model *model, json_t *record)
{
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    json_t *config = json_object_get(record, "config");
    model->record = record;
    model->class_name = class_name ? class_name : "?";
    const char *name = json_string_value(json_object_get(config, "name"));
    model->name = name ? name : "model";
    if (!class_name || !json_is_object(config))
        return artel__model_fail(model, ARTEL_ERROR_CORRUPT, "save the model again with Keras",
                                 "the record has no class_name and config");
    bool layers = json_is_array(json_object_get(config, "layers")),
         ends = json_object_get(config, "input_layers") != NULL;
    if (strcmp(class_name, "Sequential") == 0 ||
        (layers && !ends && artel__model_is_custom(model))) /* a class made of it, too */
        return artel__model_parse_sequential(model, config);
    if (layers) return artel__model_parse(model, config);
    return artel__model_fail(model, ARTEL_ERROR_UNSUPPORTED,
                             "rebuild it as a Sequential or Functional model and save that",
                             "the class %s is not Sequential or Functional", class_name);
}

static artel_status missing_tensor(const artel__model *model, const artel__model_tensor *tensor)
{
    const artel__layer *layer = model->site[tensor->call].layer;
    return artel__model_fail(model, ARTEL_ERROR_INVALID, "count the outputs of a layer from 0",
                             "the layer \"%s\" has no output %d",
                             layer ? layer->name : model->input[model->site[tensor->call].input].name, tensor->output);
}

/* Between float32 and float64 an inner model's inputs are converted, as Keras does. */
static artel__tensor as_input(artel__graph *graph, artel__tensor in, artel_dtype dtype)
{
    if (graph->status < 0 || in.value < 0) return in;
    artel_dtype given = graph->value[in.value].dtype;
    bool floats = dtype <= ARTEL_DTYPE_FLOAT64 && given <= ARTEL_DTYPE_FLOAT64;
    return floats ? (artel__tensor){artel__op_cast(graph, in.value, dtype), in.mask} : in;
}

/* Whether a keyword of a call that its layer has not asked for is none to pass over: Keras has these, and they choose
 * nothing here; and the only operand may be given by its name. */
static bool is_idle(const artel__layer *layer, json_t *arguments, const char *name, json_t *value)
{
    static const char *const idle[] = {"training",     "dtype",     "sorted",    "assume_unique",
                                       "synchronized", "fill_mode", "fill_value"};
    bool operation = artel__is_operation(layer->def->class_name);
    for (size_t i = 0; i < (operation ? ARTEL__COUNT(idle) : 1); i++)
        if (strcmp(name, idle[i]) == 0) return true;
    if (json_is_null(value)) return true;
    return artel__flatten_tensors(value, NULL, 0) > 0 &&
           (operation || json_array_size(json_object_get(arguments, "args")) == 0);
}

/* A keyword that nobody asked for, misspelt as a rule, would be passed over in silence. */
static artel_status refuse_unasked(const artel__layer *layer, json_t *arguments, uint64_t asked)
{
    const char *key;
    json_t *value, *kwargs = json_object_get(arguments, "kwargs");
    json_object_foreach(kwargs, key, value)
    {
        if (!(asked & 1) && !is_idle(layer, arguments, key, value))
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "see Keras' page of the layer for what its call takes",
                                     "its call is given '%.64s', which it does not take", key);
        asked >>= 1;
    }
    return ARTEL_OK;
}

artel_status artel__model_call(artel__model *model, artel__graph *graph, const artel__tensor *in, artel__tensor *out)
{
    enum {
        MOST = 16
    };
    artel__tensor *made = artel__arena_alloc(graph->arena, (size_t)model->sites * MOST + 1, sizeof *made);
    if (!made) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < model->sites * MOST; i++) made[i].value = ARTEL__NO_VALUE;
    for (int i = 0; i < model->sites; i++) {
        const artel__model_call_site *site = &model->site[i];
        if (!site->layer) {
            made[i * MOST] = as_input(graph, in[site->input], model->input[site->input].dtype);
            continue;
        }
        artel__tensor *operands = artel__arena_alloc(graph->arena, (size_t)site->inputs + 1, sizeof *operands);
        if (!operands) return ARTEL_ERROR_NO_MEMORY;
        for (int k = 0; k < site->inputs; k++) {
            operands[k] = made[site->in[k].call * MOST + site->in[k].output];
            if (operands[k].value == ARTEL__NO_VALUE) return missing_tensor(model, &site->in[k]);
            if (artel__model_mask_is_taken(model, &site->in[k], i, graph->training)) operands[k].mask = ARTEL__NO_VALUE;
        }
        uint64_t asked = 0;
        artel__call call = {.graph = graph,
                            .in = operands,
                            .inputs = site->inputs,
                            .arguments = site->arguments,
                            .out = &made[i * MOST],
                            .asked = &asked};
        ARTEL_TRY(artel__layer_call(site->layer, &call));
        ARTEL_TRY(artel__model_note_operands(model, i, graph, operands, &call));
        ARTEL_TRY(refuse_unasked(site->layer, site->arguments, asked));
    }
    for (int i = 0; i < model->outputs; i++) {
        out[i] = made[model->result[i].call * MOST + model->result[i].output];
        if (out[i].value == ARTEL__NO_VALUE) return missing_tensor(model, &model->result[i]);
        if (artel__model_mask_is_taken(model, &model->result[i], -1, graph->training)) out[i].mask = ARTEL__NO_VALUE;
    }
    return ARTEL_OK;
}

/* `extent` 0: one that most models take. */
static artel_shape stand_in(const artel_shape *shape, int64_t extent)
{
    artel_shape full = *shape;
    int64_t usual = full.rank == 3 ? STAND_IN_IMAGE : STAND_IN_SEQUENCE;
    for (int i = 0; i < full.rank; i++) {
        if (full.dim[i] < 0) full.dim[i] = extent ? extent : usual;
    }
    return full;
}

/* Whether an index comes straight from an input: moved and converted on the way, at most. */
static bool comes_from(const artel__graph *graph, artel__value_id value, artel__value_id input)
{
    static const artel__op_def *const passing[] = {&artel__op_cast_def,          &artel__op_reshape_def,
                                                   &artel__op_slice_def,         &artel__op_transpose_def,
                                                   &artel__op_stop_gradient_def, &artel__op_repeat_def};
    while (value != input) {
        if (value < 0 || graph->value[value].node < 0) return false;
        const artel__node *node = &graph->node[graph->value[value].node];
        bool passes = false;
        for (size_t i = 0; i < ARTEL__COUNT(passing); i++) passes = passes || node->op == passing[i];
        if (!passes) return false;
        value = node->input[0];
    }
    return true;
}

/* Integers that feed an embedding lie below the size of its table. */
static void find_limit(const artel__graph *graph, artel__value_id input, artel__model_input *out)
{
    for (int i = 0; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        bool table = node->op == &artel__op_embedding_def || node->op == &artel__op_wide_lookup_def;
        if (!table || !comes_from(graph, node->input[1], input)) continue;
        int64_t size = graph->value[node->input[0]].shape.dim[0];
        if (!out->limit || size < out->limit) out->limit = size;
    }
}

static artel_status check_outputs(const artel__model *model)
{
    for (int i = 0; i < model->outputs; i++) {
        if (model->output[i].dtype == ARTEL_DTYPE_STRING)
            return artel__model_fail(model, ARTEL_ERROR_UNSUPPORTED, "end the model where its results are numbers",
                                     "the output \"%s\" holds strings", model->output[i].name);
    }
    return ARTEL_OK;
}

const artel__program *artel__model_program(const artel__model *model)
{
    return model->program.steps > 0 ? &model->program : NULL;
}

/* Declares the variables; learns the shapes of the outputs, the limits of the inputs, and what is computed ahead. */
static artel_status build_once(artel__model *model, int64_t extent)
{
    artel__arena arena;
    artel__arena_init(&arena, model->ctx);
    artel__graph graph;
    artel__graph_init(&graph, &arena, model->variables,
                      true); /* RandomCrop has another shape in training, and counts */
    artel__tensor *in = artel__arena_alloc(&arena, (size_t)model->inputs + 1, sizeof *in);
    artel__tensor *out = artel__arena_alloc(&arena, (size_t)model->outputs + 1, sizeof *out);
    artel_status status = artel__arena_status(&arena);
    artel__ahead ahead;
    model->program = (artel__program){.arena = model->arena, .inputs = model->inputs};
    if (status == ARTEL_OK) status = artel__ahead_record(&graph, &model->program, &ahead);
    for (int i = 0; i < model->inputs && status == ARTEL_OK; i++) {
        artel_shape shape = stand_in(&model->input[i].shape, extent);
        in[i] = (artel__tensor){artel__graph_input(&graph, ARTEL__DOMAIN_ROW, model->input[i].dtype, &shape),
                                ARTEL__NO_VALUE};
        artel__ahead_set(&ahead, i, in[i].value);
    }
    if (status == ARTEL_OK) status = artel__model_call(model, &graph, in, out);
    for (int i = 0; i < model->outputs && status == ARTEL_OK; i++) {
        model->output[i].shape = graph.value[out[i].value].shape;
        model->output[i].dtype = graph.value[out[i].value].dtype;
    }
    if (status == ARTEL_OK) status = check_outputs(model);
    for (int i = 0; i < model->variables->count; i++)
        model->wide = model->wide || model->variables->item[i].dtype == ARTEL_DTYPE_FLOAT64;
    for (int i = 0; i < model->outputs; i++) model->wide = model->wide || model->output[i].dtype == ARTEL_DTYPE_FLOAT64;
    if (status == ARTEL_OK) status = artel__ahead_deliver(&graph, out, model->outputs);
    for (int i = 0; i < model->inputs && status == ARTEL_OK; i++) find_limit(&graph, in[i].value, &model->input[i]);
    artel__arena_fini(&arena);
    return status;
}

artel_status artel__model_make(artel__arena *arena, artel__variables *variables, json_t *record, artel__model **out)
{
    artel__model *model = artel__arena_alloc(arena, 1, sizeof *model);
    if (!model) return ARTEL_ERROR_NO_MEMORY;
    model->ctx = arena->ctx;
    model->arena = arena;
    model->variables = variables;
    model->nested = true;
    artel_status status = read_model(model, record);
    if (status < 0) {
        release_arguments(model);
        return status;
    }
    *out = model;
    return ARTEL_OK;
}

static artel_status create(artel_context *ctx, const char *where, json_t *record, int64_t extent, artel__model **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__model), where, &block));
    artel__model *model = block;
    model->ctx = ctx;
    artel__arena_init(&model->storage, ctx);
    model->arena = &model->storage;
    artel__variables_init(&model->own_variables, model->arena);
    model->variables = &model->own_variables;
    model->record = json_incref(record);
    artel_status status = read_model(model, record);
    if (status == ARTEL_OK) status = build_once(model, extent);
    if (status == ARTEL_OK) status = artel__model_settle_masks(model);
    if (status < 0) {
        artel__model_destroy(model);
        return status;
    }
    *out = model;
    return ARTEL_OK;
}

typedef struct extents {
    int64_t found[MOST_STAND_INS];
    int count;
    bool open; /* an input has an axis without an extent */
} extents;

static void add_extent(extents *e, int64_t extent)
{
    for (int i = 0; i < e->count; i++) {
        if (e->found[i] == extent) return;
    }
    if (extent > 1 && e->count < MOST_STAND_INS) e->found[e->count++] = extent;
}

/* The extents between batch and channels of the shapes that a model's record names. */
static void find_extents(json_t *json, const char *key, extents *e)
{
    const char *name;
    size_t i;
    json_t *item;
    int64_t extent;
    bool outside = key && strcmp(key, "batch_shape") == 0;
    if (outside || (key && strcmp(key, "shape") == 0)) {
        for (i = 1; i < json_array_size(json); i++) {
            item = json_array_get(json, i);
            e->open = e->open || (outside && json_is_null(item));
            if (i + 1 < json_array_size(json) && artel__json_integer(item, &extent)) add_extent(e, extent);
        }
    }
    json_object_foreach(json, name, item) find_extents(item, name, e);
    json_array_foreach(json, i, item) if (json_is_object(item) || json_is_array(item)) find_extents(item, NULL, e);
}

/* A model with open axes may yet want one extent alone, as that of positions which are constants. */
artel_status artel__model_create(artel_context *ctx, const char *where, json_t *record, artel__model **out)
{
    extents e = {.count = 0};
    find_extents(record, NULL, &e);
    if (!e.open || !e.count) return create(ctx, where, record, 0, out);
    bool before = artel__failures_forget(true);
    artel_status status = create(ctx, where, record, 0, out);
    for (int i = 0; i < e.count && status == ARTEL_ERROR_INVALID; i++)
        status = create(ctx, where, record, e.found[i], out);
    artel__failures_forget(before);
    if (status == ARTEL_ERROR_NO_MEMORY) return artel__fail_memory(ctx, where, sizeof(artel__model));
    return status < 0 ? create(ctx, where, record, 0, out) : status;
}

void artel__model_destroy(artel__model *model)
{
    if (!model) return;
    artel_context *ctx = model->ctx;
    release_arguments(model);
    json_decref(model->record);
    artel__arena_fini(&model->storage);
    artel__free(ctx, model);
}

static bool is_scaling(const artel__layer *layer)
{
    return strcmp(layer->def->class_name, "Rescaling") == 0 || strcmp(layer->def->class_name, "Normalization") == 0;
}

/* Whether the result of a site is an input, moved or resized at most. */
static bool is_raw(const artel__model *model, int site)
{
    for (int steps = 0; steps <= model->sites; steps++) {
        const artel__model_call_site *s = &model->site[site];
        if (!s->layer) return true;
        bool plain =
            s->layer->variable_count == 0 && s->layer->child_count == 0 && !s->layer->model && !is_scaling(s->layer);
        if (!plain || s->inputs != 1) return false;
        site = s->in[0].call;
    }
    return false;
}

const artel__layer *artel__model_scaling(const artel__model *model)
{
    for (int i = 0; i < model->sites; i++) {
        const artel__model_call_site *site = &model->site[i];
        if (!site->layer || site->inputs < 1 || !is_raw(model, site->in[0].call)) continue;
        if (is_scaling(site->layer)) return site->layer;
        const artel__layer *inside = site->layer->model ? artel__model_scaling(site->layer->model) : NULL;
        if (inside) return inside;
    }
    return NULL;
}

bool artel__model_is_custom(const artel__model *model)
{
    static const char *const known[] = {"Functional", "Sequential", "Model"};
    bool custom = true;
    for (size_t i = 0; i < ARTEL__COUNT(known); i++) custom = custom && strcmp(model->class_name, known[i]) != 0;
    return custom;
}
