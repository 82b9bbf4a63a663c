/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over the nodes, values and their layouts, and the model at the end. */
#include "keras/onnx_import.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "keras/build.h"
#include "keras/load.h"

artel_status artel__onnx_import_refuse(artel__onnx_import *m, const artel__onnx_operator *node, const char *what)
{
    return artel__fail(m->arena->ctx, ARTEL_ERROR_UNSUPPORTED, m->file.path,
                       "see docs/formats.md for what is read, or convert the model that it came from",
                       "ONNX import does not know %s%s%s (node %.80s)", node->type, *what ? ": " : "", what,
                       node->label);
}

float *artel__onnx_floats(artel__onnx_import *m, int64_t count)
{
    return artel__arena_alloc(m->arena, (size_t)count + 1, sizeof(float));
}

/* -- values -- */

artel_status artel__onnx_give(artel__onnx_import *m, const char *name, const artel__onnx_held *value)
{
    for (int i = 0; i < value->shape.rank; i++) { /* what nodes reckon with extents then stays a number */
        if (value->shape.dim[i] > INT32_MAX)
            return artel__fail(m->arena->ctx, ARTEL_ERROR_UNSUPPORTED, m->file.path, "export it again",
                               "%.80s is too large", name);
    }
    m->held[m->count] = *value;
    return artel__names_set(&m->by_name, name, m->count++);
}

const artel__onnx_numbers *artel__onnx_fixed(const artel__onnx_import *m, const artel__onnx_operator *node, int k)
{
    return k < node->inputs ? artel__onnx_numbers_of(&m->file, node->input[k]) : NULL;
}

artel_status artel__onnx_optional(artel__onnx_import *m, const artel__onnx_operator *node, int k,
                                  const artel__onnx_numbers **out)
{
    bool absent = k >= node->inputs || !*node->input[k];
    const artel__onnx_numbers *c = absent ? NULL : artel__onnx_fixed(m, node, k);
    if (!absent && (!c || !c->f || c->count < 1))
        return artel__onnx_import_refuse(m, node, "an input that is no constant of floats, where one is wanted");
    *out = c;
    return ARTEL_OK;
}

int artel__onnx_list_of(const artel__onnx_import *m, const artel__onnx_operator *node, const char *name, int k,
                        int64_t *out, int room)
{
    const artel__onnx_numbers *given = artel__onnx_fixed(m, node, k);
    if (!given || !given->i) return artel__onnx_ints_of(node, name, out, room);
    int count = given->count < room ? (int)given->count : room;
    memcpy(out, given->i, (size_t)count * sizeof *out);
    return count;
}

artel_status artel__onnx_take_any(artel__onnx_import *m, const artel__onnx_operator *node, int k, artel__onnx_held *out)
{
    const int *number = k < node->inputs ? artel__names_find(&m->by_name, node->input[k]) : NULL;
    if (number) {
        *out = m->held[*number];
        return ARTEL_OK;
    }
    if (artel__onnx_fixed(m, node, k)) return artel__onnx_import_refuse(m, node, "a constant in this place");
    if (k < node->inputs && artel__names_find(&m->zeros, node->input[k]))
        return artel__onnx_import_refuse(m, node, "zeros that are made, where they are no initial states");
    return artel__onnx_import_refuse(m, node, "an input that nothing computes");
}

artel_status artel__onnx_take(artel__onnx_import *m, const artel__onnx_operator *node, int k, artel__onnx_held *out)
{
    ARTEL_TRY(artel__onnx_take_any(m, node, k, out));
    if (out->batch) return artel__onnx_import_refuse(m, node, "a value whose first axis is not the batch");
    return artel__onnx_settle(m, out);
}

int artel__onnx_axis_in(const artel__onnx_held *value, int axis)
{
    if (!value->last) return axis;
    return axis == 0 ? value->shape.rank - 1 : axis - 1;
}

artel_status artel__onnx_permute(artel__onnx_import *m, artel__onnx_held *value, const int *dims)
{
    char list[64] = "";
    for (int i = 0; i < value->shape.rank; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%d", i ? ", " : "", dims[i] + 1);
    return artel__onnx_over(m, value, "Permute", NULL, "\"dims\": [%s]", list);
}

static artel_status lay(artel__onnx_import *m, artel__onnx_held *value, bool last)
{
    ARTEL_TRY(artel__onnx_settle(m, value));
    int dims[ARTEL_MAX_RANK], rank = value->shape.rank;
    bool moved = value->last != last && rank > 1;
    for (int i = 0; i < rank; i++) dims[i] = last ? (i + 1) % rank : (i + rank - 1) % rank;
    if (moved) ARTEL_TRY(artel__onnx_permute(m, value, dims));
    value->last = last && rank > 1;
    return ARTEL_OK;
}

artel_status artel__onnx_to_last(artel__onnx_import *m, artel__onnx_held *value)
{
    return lay(m, value, true);
}

/* Where only channels have an extent, both are the same numbers. */
artel_status artel__onnx_to_plain(artel__onnx_import *m, artel__onnx_held *value)
{
    return lay(m, value, false);
}

/* -- layers -- */

artel_status artel__onnx_layer(artel__onnx_import *m, const char *class_name, const artel_tensor *tensors, int count,
                               const char *config, artel_tensor *out, const char **name)
{
    char snake[128];
    artel__snake_case(class_name, snake, sizeof snake);
    const char *called = artel__arena_printf(m->arena, "%s_%d", snake, m->layers++);
    const char *text =
        artel__arena_printf(m->arena, "{\"name\": \"%s\"%s%s}", called ? called : "", *config ? ", " : "", config);
    if (!called || !text) return ARTEL_ERROR_NO_MEMORY;
    if (name) *name = called;
    return artel_apply(m->builder, class_name, text, tensors, count, out);
}

artel_status artel__onnx_over(artel__onnx_import *m, artel__onnx_held *value, const char *class_name, const char **name,
                              const char *format, ...)
{
    char config[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(config, sizeof config, format, args);
    va_end(args);
    artel_tensor from = value->tensor;
    return artel__onnx_layer(m, class_name, &from, 1, config, &value->tensor, name);
}

artel_status artel__onnx_weight_is(artel__onnx_import *m, const char *layer, const char *variable, const float *data,
                                   int64_t count)
{
    if (!data) return ARTEL_ERROR_NO_MEMORY;
    if (m->weights == m->room) {
        int room = m->room ? 2 * m->room : 64;
        struct artel__onnx_weight *wider = artel__arena_alloc(m->arena, (size_t)room, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (m->weights) memcpy(wider, m->weight, (size_t)m->weights * sizeof *wider);
        m->weight = wider;
        m->room = room;
    }
    m->weight[m->weights++] =
        (struct artel__onnx_weight){artel__arena_printf(m->arena, "%s/%s", layer, variable), data, count};
    return artel__arena_status(m->arena);
}

/* -- the walk -- */

static const artel__onnx_import_row *find_row(const char *type)
{
    const artel__onnx_import_row *const tables[] = {artel__onnx_imports_images,    artel__onnx_imports_plain,
                                                    artel__onnx_imports_shapes,    artel__onnx_imports_views,
                                                    artel__onnx_imports_recurrent, artel__onnx_imports_sizes};
    for (size_t t = 0; t < ARTEL__COUNT(tables); t++) {
        for (const artel__onnx_import_row *row = tables[t]; row->type; row++) {
            if (strcmp(row->type, type) == 0) return row;
        }
    }
    return NULL;
}

static artel_status add_constant(artel__onnx_import *m, const artel__onnx_operator *node)
{
    artel__onnx_file *f = &m->file;
    ARTEL_TRY(artel__onnx_constant_of(f, node, &f->tensor[f->tensors]));
    return artel__names_set(&f->by_name, node->output[0], f->tensors++);
}

/* Operators that nothing knows come first among the reasons to give up, before forms of those that are known. */
static artel_status check_operators(artel__onnx_import *m)
{
    for (int i = 0; i < m->file.nodes; i++) {
        const artel__onnx_operator *node = &m->file.node[i];
        if (strcmp(node->type, "Constant") != 0 && !find_row(node->type)) return artel__onnx_import_refuse(m, node, "");
    }
    return ARTEL_OK;
}

static artel_status read_nodes(artel__onnx_import *m)
{
    ARTEL_TRY(check_operators(m));
    for (m->at = 0; m->at < m->file.nodes; m->at++) {
        const artel__onnx_operator *node = &m->file.node[m->at];
        const artel__onnx_import_row *row = find_row(node->type);
        bool done = false;
        if (row) ARTEL_TRY(artel__onnx_reckon(m, node, &done));
        if (!done) ARTEL_TRY(row ? row->read(m, node) : add_constant(m, node));
    }
    return ARTEL_OK;
}

/* Names of layers hold no slashes, which Keras would take for scopes. */
static char *plain_name(artel__onnx_import *m, const char *name)
{
    char *plain = artel__arena_strdup(m->arena, *name ? name : "onnx");
    for (char *c = plain; c && *c; c++) {
        if (!isalnum((unsigned char)*c) && !strchr("_-.", *c)) *c = '_';
    }
    return plain;
}

static artel_status add_inputs(artel__onnx_import *m)
{
    for (int i = 0; i < m->file.inputs; i++) {
        const artel__onnx_port *port = &m->file.input[i];
        artel__onnx_held held = {.whole = port->dtype != ARTEL_DTYPE_FLOAT32};
        const char *name = plain_name(m, port->name);
        if (!name) return ARTEL_ERROR_NO_MEMORY;
        if (port->shape.rank < 1)
            return artel__fail(m->arena->ctx, ARTEL_ERROR_UNSUPPORTED, m->file.path,
                               "export it with the batch as first axis", "input %s is one number, without a batch",
                               port->name);
        held.batch = port->shape.rank > 1 && artel__names_find(&m->behind, port->name) ? 1 : 0;
        for (int d = 0; d < port->shape.rank; d++) {
            if (d != held.batch) held.shape.dim[held.shape.rank++] = port->shape.dim[d];
        }
        ARTEL_TRY(artel_input(m->builder, name, port->dtype, &held.shape, &held.tensor));
        ARTEL_TRY(artel__onnx_give(m, port->name, &held));
    }
    return ARTEL_OK;
}

static artel_status count_uses(artel__onnx_import *m, int *outputs)
{
    *outputs = m->file.inputs + 1;
    for (int n = 0; n < m->file.nodes; n++) {
        const artel__onnx_operator *node = &m->file.node[n];
        *outputs += node->outputs;
        for (int k = 0; k < node->inputs; k++) {
            const int *before = artel__names_find(&m->uses, node->input[k]);
            ARTEL_TRY(artel__names_set(&m->uses, node->input[k], before ? *before + 1 : 1));
        }
    }
    for (int i = 0; i < m->file.outputs; i++)
        ARTEL_TRY(artel__names_set(&m->uses, m->file.output[i], 2)); /* seen from outside */
    return ARTEL_OK;
}

/* -- the model -- */

static artel_status finish(artel__onnx_import *m, artel_model **out)
{
    artel_tensor *outputs = artel__arena_alloc(m->arena, (size_t)m->file.outputs, sizeof *outputs);
    if (!outputs) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < m->file.outputs; i++) {
        const int *number = artel__names_find(&m->by_name, m->file.output[i]);
        if (!number)
            return artel__fail(m->arena->ctx, ARTEL_ERROR_CORRUPT, m->file.path, "export it again",
                               "output %s is computed by no node", m->file.output[i]);
        artel__onnx_held value = m->held[*number];
        ARTEL_TRY(artel__onnx_to_plain(m, &value));
        outputs[i] = value.tensor;
    }
    artel_builder *builder = m->builder;
    m->builder = NULL; /* ended in any case */
    return artel_functional_finish(builder, outputs, m->file.outputs, out);
}

static artel_status store_weights(artel__onnx_import *m, artel_model *model)
{
    artel__names places = {.arena = m->arena};
    const artel__variables *variables = model->nn->variables;
    for (int i = 0; i < variables->count; i++) ARTEL_TRY(artel__names_set(&places, variables->item[i].name, i));
    for (int i = 0; i < m->weights; i++) {
        const int *place = artel__names_find(&places, m->weight[i].name);
        int64_t wanted = place ? artel_shape_count(&variables->item[*place].shape) : -1;
        if (wanted != m->weight[i].count)
            return artel__fail(m->arena->ctx, ARTEL_ERROR_CORRUPT, m->file.path, "export it again",
                               "%s has %lld numbers, expected %lld", m->weight[i].name, (long long)m->weight[i].count,
                               (long long)wanted);
    }
    ARTEL_TRY(artel_model_initialise(model, 0)); /* only now: variables are no larger than what the file holds */
    for (int i = 0; i < m->weights; i++)
        artel__state_store(model->weights, *artel__names_find(&places, m->weight[i].name), m->weight[i].data);
    return ARTEL_OK;
}

static artel_status import(artel__onnx_import *m, const char *path, artel_model **out)
{
    int outputs;
    m->by_name.arena = m->uses.arena = m->zeros.arena = m->behind.arena = m->arena;
    ARTEL_TRY(artel__onnx_read(m->arena, path, &m->file));
    ARTEL_TRY(count_uses(m, &outputs));
    ARTEL_TRY(artel__onnx_find_batches(m));
    m->held = artel__arena_alloc(m->arena, (size_t)outputs, sizeof *m->held);
    const char *name = plain_name(m, m->file.name);
    ARTEL_TRY(artel__arena_status(m->arena));
    ARTEL_TRY(artel_functional_create(m->arena->ctx, name, &m->builder));
    ARTEL_TRY(add_inputs(m));
    ARTEL_TRY(read_nodes(m));
    ARTEL_TRY(finish(m, out));
    return store_weights(m, *out);
}

artel_status artel__keras_load_onnx(artel_context *ctx, const char *path, artel_model **out)
{
    artel__arena arena;
    artel_model *model = NULL;
    artel__arena_init(&arena, ctx);
    artel__onnx_import m = {.arena = &arena};
    artel_status status = import(&m, path, &model);
    artel_builder_destroy(m.builder);
    artel__onnx_close(&m.file);
    artel__arena_fini(&arena);
    if (status == ARTEL_OK)
        *out = model;
    else
        artel_model_destroy(model);
    return status;
}
