/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on strings by name while a function is traced: those that look into strings, those that move them
 * (text_moves.c), layers of words; constants and variables of strings. See texts.h. */
#include <stdio.h>
#include <string.h>

#include "artel/build.h"
#include "function/direct.h"
#include "function/tape.h"
#include "function/text_moves.h"
#include "function/texts.h"
#include "nn/layer.h"
#include "text/functions.h"

static int failed(artel_graph *g, artel_status status)
{
    if (g->graph->status == ARTEL_OK) g->graph->status = status;
    return g->graph->status;
}

/* -- layers of words -- */

/* A layer on an input for each value; the first failure is kept by the builder. */
static artel_status build_layer(artel_graph *g, const char *class_name, const char *settings, const artel_value *inputs,
                                int count, artel_builder **out, artel_tensor *made)
{
    artel_tensor in[ARTEL__ROW_INPUTS];
    ARTEL_TRY(artel_functional_create(g->ctx, NULL, out));
    for (int i = 0; i < count; i++) {
        artel_dtype dtype;
        artel_shape shape;
        ARTEL_TRY(artel_graph_describe(g, inputs[i], &dtype, &shape, NULL));
        ARTEL_TRY(artel_input(*out, NULL, dtype, &shape, &in[i]));
    }
    return artel_apply(*out, class_name, settings, in, count, made);
}

/* A model of a layer alone, which ends with the strategy. */
static artel_status make_model(artel_graph *g, const char *class_name, const char *settings, const artel_value *inputs,
                               int count, artel__adopted **out)
{
    artel_builder *builder = NULL;
    artel_tensor last;
    const artel_shape *row = &g->place[inputs[0]].shape;
    artel__adopted *made = artel__arena_alloc(&g->strategy->arena, 1, sizeof *made);
    if (!made) return ARTEL_ERROR_NO_MEMORY;
    if (count == 1) {
        ARTEL_TRY(artel_sequential_create(g->ctx, NULL, ARTEL_DTYPE_STRING, row, &builder));
        (void)artel_layer_add(builder, class_name, settings);
        ARTEL_TRY(artel_sequential_finish(builder, &made->model));
    } else {
        artel_status status = build_layer(g, class_name, settings, inputs, count, &builder, &last);
        if (status < 0) artel_builder_destroy(builder);
        ARTEL_TRY(status);
        ARTEL_TRY(artel_functional_finish(builder, &last, 1, &made->model));
    }
    made->next = g->strategy->text_layer;
    g->strategy->text_layer = made;
    if (made->model->nn->variables->count > 0)
        return artel__fail(g->ctx, ARTEL_ERROR_UNSUPPORTED, class_name, "call it in a model",
                           "a layer of text with variables of its own is no operation");
    *out = made;
    return ARTEL_OK;
}

static int call_layer(artel_graph *g, const char *class_name, const char *settings, const artel_value *inputs,
                      int count, artel_value *outputs)
{
    artel__adopted *made = NULL;
    if (count > ARTEL__ROW_INPUTS) {
        artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, class_name, "cross fewer of them",
                            "a layer of text takes at most %d values, and was given %d", ARTEL__ROW_INPUTS, count);
        return g->graph->status;
    }
    artel_status status = make_model(g, class_name, settings, inputs, count, &made);
    if (status == ARTEL_OK) status = artel__graph_call_model(g, made, inputs, outputs);
    return status < 0 ? failed(g, status) : 1;
}

/* The record of a layer; NULL: a failure. */
static json_t *record_of(artel_graph *g, const char *class_name, const char *settings)
{
    json_t *config = NULL;
    if (artel__json_load(g->ctx, class_name, settings, strlen(settings), &config) < 0) return NULL;
    bool good = json_is_object(config) &&
                (json_object_get(config, "name") || json_object_set_new(config, "name", json_string(class_name)) == 0);
    if (good && !json_object_get(config, "oov_token"))
        good = json_object_set_new(config, "oov_token", json_string("[UNK]")) == 0;
    json_t *record = good ? json_pack("{s:s, s:O}", "class_name", class_name, "config", config) : NULL;
    json_decref(config);
    if (!record) (void)artel__fail(g->ctx, ARTEL_ERROR_INVALID, class_name, "give a JSON object", "no settings");
    return record;
}

/* StringLookup from places to words: the one layer that makes strings. */
static int invert_lookup(artel_graph *g, const char *settings, artel_value input, artel_value *output)
{
    static const char class_name[] = "StringLookup";
    artel__layer *layer = NULL;
    artel__program *program = artel__arena_alloc(g->graph->arena, 1, sizeof *program);
    artel__text_value *in = artel__text_operand(g, input);
    json_t *record = in && program ? record_of(g, class_name, settings) : NULL;
    if (!record) return failed(g, program ? ARTEL_ERROR_INVALID : ARTEL_ERROR_NO_MEMORY);
    *program = (artel__program){.arena = g->graph->arena, .inputs = 1};
    artel_status status = artel__layer_create(g->graph->arena, NULL, record, &layer);
    const artel__program_step step = {.function = &artel__lookup_function,
                                      .settings = status == ARTEL_OK ? layer->own : NULL,
                                      .layer = class_name,
                                      .in = {0},
                                      .inputs = 1};
    if (status == ARTEL_OK) status = artel__program_add(program, &step);
    if (status == ARTEL_OK) status = artel__program_close(program);
    if (status < 0) {
        json_decref(record);
        return failed(g, status);
    }
    *output = artel__text_give(g, artel__texts_program(g, program, in, class_name, record));
    return g->graph->status < 0 ? g->graph->status : 1;
}

static bool inverts(artel_graph *g, const char *class_name, const char *settings)
{
    json_t *json = NULL;
    if (!settings || strcmp(class_name, "StringLookup") != 0) return false;
    bool is = artel__json_load(g->ctx, class_name, settings, strlen(settings), &json) == ARTEL_OK &&
              json_is_true(json_object_get(json, "invert"));
    json_decref(json);
    return is;
}

/* -- operations that look into strings -- */

/* A value as the whole array that it is in a run of so many rows. */
static artel__cells whole(const artel__text_value *v, int64_t rows)
{
    artel__cells cells = v->row;
    if (!v->rows) return cells;
    cells.shape.rank = v->row.shape.rank + 1;
    cells.shape.dim[0] = rows;
    for (int d = 0; d < v->row.shape.rank; d++) cells.shape.dim[d + 1] = v->row.shape.dim[d];
    cells.count = v->row.count * rows;
    return cells;
}

static artel_status run_operation(artel_function *f, artel__text_step *step, int64_t rows)
{
    artel__cells in[ARTEL__STRING_OPERANDS];
    artel__text_sink sink;
    artel_context *ctx = f->strategy->ctx;
    for (int i = 0; i < step->inputs; i++) in[i] = whole(step->in[i], rows);
    artel__text_sink_begin(&sink, step->out[0]);
    const artel__string_call call = {ctx, step->operation, &step->settings, in, step->inputs, &sink.sink};
    artel_status status = artel__string_run(&call);
    return artel__text_sink_end(&sink, ctx, status, artel__text_count(step->out[0], rows));
}

/* What would mix rows of the batch, or has no fixed shape; NULL: nothing. */
static const char *refusal(const artel__text_step *s, bool rows, artel_dtype dtype, const artel_shape *shape)
{
    const artel__string_settings *by = &s->settings;
    int rank = s->in[0]->row.shape.rank + 1;
    bool batch = by->all || by->axis == 0 || by->axis == -rank;
    bool last = s->operation->run == artel__string_ngrams || s->operation->run == artel__string_encode;
    if (rows && s->operation->run == artel__string_reduce_join && batch)
        return "this operation mixes the rows of the batch";
    if (rows && last && rank == 1) return "this operation mixes the rows of the batch";
    if (s->operation->run == artel__string_lookup && s->in[1]->rows) return "the vocabulary has rows";
    if (shape->rank > 0 && shape->dim[shape->rank - 1] < 0)
        return "how many parts there are depends on the elements: give \"parts\"";
    if (by->buckets > INT32_MAX) return "more than 2147483647 buckets, and whole numbers of functions are int32";
    if (s->operation->run == artel__string_lookup && (by->missing < INT32_MIN || by->missing > INT32_MAX))
        return "the default_value is no int32";
    if (s->operation->run == artel__string_number && (!artel__computes_with(dtype) || dtype == ARTEL_DTYPE_INT64))
        return "text becomes float32, float64 and int32 in functions";
    return NULL;
}

/* What comes out of it, once its operands are known: places of buckets and vocabularies are int32, as everywhere in
 * functions. */
static artel__text_value *infer(artel_graph *g, artel__text_step *s)
{
    artel__cells in[ARTEL__STRING_OPERANDS];
    artel_dtype dtype;
    artel_shape shape;
    bool rows = false;
    for (int i = 0; i < s->inputs; i++) {
        in[i] = whole(s->in[i], g->graph->batch_size);
        in[i].data = NULL;
        rows = rows || s->in[i]->rows;
    }
    const artel__string_call call = {g->ctx, s->operation, &s->settings, in, s->inputs, NULL};
    artel_status status = artel__string_infer(&call, &dtype, &shape);
    const char *why = status < 0 ? NULL : refusal(s, rows, dtype, &shape);
    if (status < 0) failed(g, status);
    if (why) artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, s->name, "see docs/functions.md", "%s", why);
    if (g->graph->status < 0) return NULL;
    if (rows) {
        shape.rank--;
        for (int d = 0; d < shape.rank; d++) shape.dim[d] = shape.dim[d + 1];
    }
    artel__text_value *made =
        artel__text_value_new(g, dtype == ARTEL_DTYPE_INT64 ? ARTEL_DTYPE_INT32 : dtype, &shape, rows, s->name);
    if (made) made->late = s->late;
    return s->out[0] = made;
}

static int add_operation(artel_graph *g, const artel__string_operation *op, const artel_value *inputs, int count,
                         const char *attributes, artel_value *output)
{
    artel__text_step *s = artel__text_step_new(g, run_operation, op->name, count, 1);
    if (!s) return g->graph->status;
    s->operation = op;
    s->attributes = attributes ? artel__arena_strdup(g->graph->arena, attributes) : NULL;
    for (int i = 0; i < count; i++) {
        s->in[i] = artel__text_operand(g, inputs[i]);
        if (g->graph->status < 0) return g->graph->status;
    }
    s->late = artel__text_latest(s->in, count);
    artel_status status = artel__string_prepare(g->ctx, op, count, attributes, &s->settings, &s->json);
    if (status < 0) return failed(g, status);
    *output = artel__text_give(g, infer(g, s));
    return g->graph->status < 0 ? g->graph->status : 1;
}

/* A layer, and not an operation on numbers of the same name. */
static bool is_layer(const char *class_name)
{
    char operation[128];
    const artel__layer_def *def = artel__layer_find(class_name);
    snprintf(operation, sizeof operation, "ops.%s", class_name);
    return def && (def->strings || !artel__layer_find(operation));
}

int artel__texts_op(artel_graph *g, const char *name, const char *class_name, const artel_value *inputs, int count,
                    const char *attributes, artel_value *outputs, int most)
{
    bool any = false;
    if (!g->texts) return 0;
    for (int i = 0; i < count; i++) any = any || artel__texts_is(g, inputs[i]);
    const artel__moved *moved = any ? artel__moved_find(name) : NULL;
    if (moved) return artel__texts_move(g, moved, inputs, count, attributes, outputs, most);
    const artel__string_operation *op = artel__makes_words(name) ? artel__string_find(name) : NULL;
    bool layer = op && op->run == artel__string_lookup && count == 1; /* StringLookup, whose name is written alike */
    if (op && !layer && (any || op->numbers)) return add_operation(g, op, inputs, count, attributes, outputs);
    if (any && is_layer(class_name)) return call_layer(g, class_name, attributes, inputs, count, outputs);
    if (!any && count == 1 && inverts(g, class_name, attributes))
        return invert_lookup(g, attributes, inputs[0], outputs);
    return 0;
}

/* -- constants and variables -- */

static artel_value make_constant(artel_graph *g, const artel_shape *shape, const artel_string *elements)
{
    int64_t count = artel_shape_count(shape);
    if (!g->texts)
        return artel__graph_refuse(g, ARTEL_ERROR_UNSUPPORTED, "constant", "use strings in functions of a strategy",
                                   "a part of a model has no strings");
    artel_string *copy = artel__arena_alloc(g->graph->arena, (size_t)count + 1, sizeof *copy);
    for (int64_t i = 0; copy && i < count; i++) {
        artel_status status = artel__string_check(g->ctx, "constant", &elements[i], i);
        char *bytes = status < 0 ? NULL : artel__arena_alloc(g->graph->arena, elements[i].length + 1, 1);
        if (!bytes) return failed(g, status < 0 ? status : ARTEL_ERROR_NO_MEMORY), ARTEL_NO_VALUE;
        if (elements[i].length) memcpy(bytes, elements[i].bytes, elements[i].length);
        copy[i] = (artel_string){bytes, elements[i].length};
    }
    artel__text_value *v = artel__text_value_new(g, ARTEL_DTYPE_STRING, shape, false, "constant");
    if (!copy || !v) return failed(g, ARTEL_ERROR_NO_MEMORY), ARTEL_NO_VALUE;
    v->constant = copy;
    const artel__tape_entry asked = {
        .kind = ARTEL__TAPE_CONSTANT, .dtype = ARTEL_DTYPE_STRING, .shape = *shape, .elements = copy};
    artel__tape_entry *entry = artel__tape_begin(g, &asked, NULL, 0);
    return artel__tape_gave(g, entry, artel__text_give(g, v));
}

static artel_value read_variable(artel_graph *g, const artel_variable *variable)
{
    artel__text_value *v = artel__text_value_new(g, ARTEL_DTYPE_STRING, artel__words_shape(variable->words), false,
                                                 artel__words_name(variable->words));
    if (!v) return ARTEL_NO_VALUE;
    v->variable = variable;
    const artel__tape_entry asked = {.kind = ARTEL__TAPE_WORDS, .which = artel__words_number(variable)};
    artel__tape_entry *entry = artel__tape_begin(g, &asked, NULL, 0);
    return artel__tape_gave(g, entry, artel__text_give(g, v));
}

static void assign_variable(artel_graph *g, artel_variable *variable, artel_value value)
{
    const char *name = artel__words_name(variable->words);
    char a[128], b[128];
    if (!artel__graph_may_write(g, name)) return;
    for (const artel__text_write *w = g->texts->write; w; w = w->next) {
        if (w->variable != variable) continue;
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, name, "write each variable once",
                            "the function writes this variable twice");
        return;
    }
    const artel__place *place = value >= 0 && value < g->places ? &g->place[value] : NULL;
    bool strings = artel__texts_is(g, value), rows = strings && place->text->rows;
    const artel_shape none = {.rank = 0}, *wanted = artel__words_shape(variable->words);
    if (!strings || rows || !artel__shape_equal(&place->shape, wanted)) {
        artel__shape_text(place ? &place->shape : &none, rows, a, sizeof a);
        artel__shape_text(wanted, false, b, sizeof b);
        artel__graph_refuse(g, ARTEL_ERROR_INVALID, name, "give shared strings of the variable's shape",
                            "a value of %s%s for a variable of strings of %s", strings ? "" : "numbers, of ", a, b);
        return;
    }
    artel__text_write *w = artel__arena_alloc(g->graph->arena, 1, sizeof *w);
    if (!w) {
        g->graph->status = ARTEL_ERROR_NO_MEMORY;
        return;
    }
    *w = (artel__text_write){.variable = variable, .value = place->text, .next = g->texts->write};
    g->texts->write = w;
    artel__tape_begin(g, &(artel__tape_entry){.kind = ARTEL__TAPE_ASSIGN_WORDS, .which = artel__words_number(variable)},
                      &value, 1);
}

const artel__graph_texts artel__graph_text = {.feed = artel__texts_feed,
                                              .constant = make_constant,
                                              .variable = read_variable,
                                              .assign = assign_variable,
                                              .gather = artel__texts_gather,
                                              .choose = artel__texts_choose};
