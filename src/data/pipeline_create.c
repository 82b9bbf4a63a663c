/* SPDX-License-Identifier: Apache-2.0 */
/* artel/pipeline.h: descriptions of pipelines, made by a program. What they mean is found out when they are opened
 * (pipeline.c). */
#include "artel/pipeline.h"

#include <string.h>

#include "base/argument.h"
#include "base/json_written.h"
#include "data/stage.h"

enum {
    MOST_INPUTS = 65535
};

struct artel_pipeline {
    artel_context *ctx;
    json_t *value;
    artel_pipeline_function *functions; /* each with strings of its own, on the heap */
    int function_count;
    char *text;
};

static artel_status create(artel_context *ctx, json_t *value, artel_pipeline **out)
{
    void *block;
    if (!value) return artel__fail_memory(ctx, "pipeline", 64);
    artel_status status = artel__calloc(ctx, 1, sizeof(artel_pipeline), "pipeline", &block);
    if (status < 0) {
        json_decref(value);
        return status;
    }
    *out = block;
    **out = (artel_pipeline){.ctx = ctx, .value = value};
    return ARTEL_OK;
}

artel_status artel_pipeline_create(artel_context *context, const char *specification, artel_pipeline **out)
{
    ARTEL_TRY(artel__enter(context, __func__, "context specification out", context, specification, out));
    return create(context, json_string(specification), out);
}

artel_status artel_pipeline_from_json(artel_context *context, const char *text, artel_pipeline **out)
{
    json_t *value;
    ARTEL_TRY(artel__enter(context, __func__, "context text out", context, text, out));
    ARTEL_TRY(artel__json_load_written(context, "pipeline", text, strlen(text), &value));
    return create(context, value, out);
}

void artel_pipeline_destroy(artel_pipeline *pipeline)
{
    if (!pipeline) return;
    for (int i = 0; i < pipeline->function_count; i++)
        artel__free(pipeline->ctx, (void *)(uintptr_t)pipeline->functions[i].name);
    artel__free(pipeline->ctx, pipeline->functions);
    artel__free(pipeline->ctx, pipeline->text);
    json_decref(pipeline->value);
    artel__free(pipeline->ctx, pipeline);
}

/* ---- functions of one's own ---- */

static artel_status keep_function(artel_pipeline *p, const artel_pipeline_function *f)
{
    void *list = p->functions;
    char *name;
    ARTEL_TRY(artel__realloc(p->ctx, (size_t)(p->function_count + 1) * sizeof *p->functions, "pipeline", &list));
    p->functions = list;
    ARTEL_TRY(artel__strdup(p->ctx, f->name, &name));
    artel_pipeline_function *kept = &p->functions[p->function_count++];
    *kept = *f;
    kept->name = name;
    kept->column = NULL; /* stands in the stage */
    return ARTEL_OK;
}

/* Numbers of functions in stages of a copy, which stand further behind in the list of the whole. */
static bool shift_functions(json_t *value, int by)
{
    json_t *member, *number = json_object_get(value, "function");
    const char *name = json_string_value(json_object_get(value, "stage")), *key;
    bool good = true;
    size_t i;
    if (name && strcmp(name, artel__stage_map.name) == 0 && json_is_integer(number))
        good = json_integer_set(number, json_integer_value(number) + by) == 0;
    json_array_foreach(value, i, member) good = good && shift_functions(member, by);
    json_object_foreach(value, key, member) good = good && shift_functions(member, by);
    return good;
}

/* ---- stages and joins ---- */

/* {"stage" or join: first, settings...}; takes `first`. */
static artel_status make_object(artel_context *ctx, const char *name, json_t *first, const char *settings, json_t **out)
{
    json_t *object = json_object(), *more = NULL;
    artel_status status = ARTEL_OK;
    if (settings) status = artel__json_load_written(ctx, "settings", settings, strlen(settings), &more);
    if (status == ARTEL_OK && more && !json_is_object(more))
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, "settings", "for example {\"seed\": 3}",
                             "settings are no JSON object");
    bool good = json_object_set(object, name, first) == 0 && (!more || json_object_update_missing(object, more) == 0);
    if (status == ARTEL_OK && !good) status = artel__fail_memory(ctx, "pipeline", 64);
    json_decref(first);
    json_decref(more);
    if (status == ARTEL_OK)
        *out = object;
    else
        json_decref(object);
    return status;
}

/* Takes the stage. */
static artel_status append(artel_pipeline *p, json_t *stage)
{
    json_t *stages = json_object_get(p->value, "stages");
    artel__free(p->ctx, p->text);
    p->text = NULL;
    if (json_object_get(p->value, "from") && json_is_array(stages))
        return json_array_append_new(stages, stage) == 0 ? ARTEL_OK : artel__fail_memory(p->ctx, "pipeline", 64);
    json_t *whole = json_pack("{s:O, s:[o]}", "from", p->value, "stages", stage);
    if (!whole) return artel__fail_memory(p->ctx, "pipeline", 64);
    json_decref(p->value);
    p->value = whole;
    return ARTEL_OK;
}

artel_status artel_pipeline_add(artel_pipeline *pipeline, const char *stage, const char *settings)
{
    json_t *object;
    ARTEL_TRY(artel__enter(pipeline ? pipeline->ctx : NULL, __func__, "pipeline stage", pipeline, stage));
    ARTEL_TRY(make_object(pipeline->ctx, "stage", json_string(stage), settings, &object));
    return append(pipeline, object);
}

artel_status artel_pipeline_map(artel_pipeline *pipeline, const artel_pipeline_function *function)
{
    ARTEL_TRY(artel__enter(pipeline ? pipeline->ctx : NULL, __func__, "pipeline function", pipeline, function));
    artel_context *ctx = pipeline->ctx;
    if (!function->column || !function->name || !function->function)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, __func__, "set all three", "column, name or function is missing");
    if (artel_dtype_size(function->dtype) == 0 || artel_shape_count(&function->shape) < 0)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, __func__, "give the dtype and the shape of what it makes",
                           "no dtype of numbers, or no shape");
    json_t *stage = json_pack("{s:s, s:s, s:i, s:s}", "stage", artel__stage_map.name, "column", function->column,
                              "function", pipeline->function_count, "name", function->name);
    if (!stage) return artel__fail_memory(ctx, "pipeline", 64);
    artel_status status = keep_function(pipeline, function);
    if (status == ARTEL_OK) return append(pipeline, stage);
    json_decref(stage);
    return status;
}

static artel_status add_input(artel_pipeline *whole, json_t *list, const artel_pipeline *input)
{
    json_t *copy = artel__json_copy_deep(input->value);
    if (!copy || !shift_functions(copy, whole->function_count)) {
        json_decref(copy);
        return artel__fail_memory(whole->ctx, "pipeline", 64);
    }
    if (json_array_append_new(list, copy) < 0) return artel__fail_memory(whole->ctx, "pipeline", 64);
    for (int i = 0; i < input->function_count; i++) ARTEL_TRY(keep_function(whole, &input->functions[i]));
    return ARTEL_OK;
}

artel_status artel_pipeline_join(artel_context *context, const char *join, artel_pipeline *const *inputs, int count,
                                 const char *settings, artel_pipeline **out)
{
    json_t *list = NULL, *object;
    artel_pipeline *whole;
    ARTEL_TRY(artel__enter(context, __func__, "context join inputs out", context, join, inputs, out));
    if (count < 1 || count > MOST_INPUTS)
        return artel__fail(context, ARTEL_ERROR_INVALID, __func__, "give 1 to 65535", "%d inputs", count);
    ARTEL_TRY(create(context, json_null(), &whole));
    list = json_array();
    artel_status status = list ? ARTEL_OK : artel__fail_memory(context, "pipeline", 64);
    for (int i = 0; i < count && status == ARTEL_OK; i++) {
        status = inputs[i] ? add_input(whole, list, inputs[i])
                           : artel__fail(context, ARTEL_ERROR_INVALID, __func__, "", "input %d is NULL", i);
    }
    if (status == ARTEL_OK) status = make_object(context, join, json_incref(list), settings, &object);
    json_decref(list);
    if (status < 0) {
        artel_pipeline_destroy(whole);
        return status;
    }
    whole->value = object; /* in place of null */
    *out = whole;
    return ARTEL_OK;
}

/* ---- use ---- */

const char *artel_pipeline_json(artel_pipeline *pipeline)
{
    if (artel__enter(pipeline ? pipeline->ctx : NULL, __func__, "pipeline", pipeline) < 0) return NULL;
    if (!pipeline->text &&
        artel__json_dump_string(pipeline->ctx, pipeline->value, ARTEL__JSON_INDENT, &pipeline->text) < 0)
        return NULL;
    return pipeline->text;
}

artel_status artel_pipeline_open(artel_pipeline *pipeline, artel_data **out)
{
    ARTEL_TRY(artel__enter(pipeline ? pipeline->ctx : NULL, __func__, "pipeline out", pipeline, out));
    const artel__pipeline_recipe recipe = {
        .value = pipeline->value, .functions = pipeline->functions, .function_count = pipeline->function_count};
    return artel__pipeline_data(pipeline->ctx, &recipe, out);
}
