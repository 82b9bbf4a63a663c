/* SPDX-License-Identifier: Apache-2.0 */
/* Compile settings by calls: names, short forms ("sgd:momentum=0.9") or JSON, kept in the form of Keras'
 * compile_config. */
#include <ctype.h>
#include <string.h>

#include "base/argument.h"
#include "base/json_written.h"
#include "base/threads.h"
#include "keras/model.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/spec.h"

/* JSON when it looks like it, else the short form. */
static artel_status read_setting(artel_context *ctx, const char *what, const char *text, bool list, json_t **out)
{
    while (isspace((unsigned char)*text)) text++;
    if (*text == '{' || *text == '[' || *text == '"' || strcmp(text, "null") == 0)
        return artel__json_load_written(ctx, what, text, strlen(text), out);
    return list ? artel__spec_read_list(ctx, what, text, out) : artel__spec_read(ctx, what, text, out);
}

/* Replaces the optimizer by its full record, as Keras would save it. Tables by replicas and batch size stay: the run is
 * not known. */
static artel_status set_optimizer(artel_context *ctx, json_t *compile, const char *text, bool wide)
{
    json_t *given;
    artel__arena arena;
    artel__optimizer optimizer = {.record = NULL};
    ARTEL_TRY(read_setting(ctx, "optimizer", text, false, &given));
    artel__arena_init(&arena, ctx);
    artel_status status = artel__optimizer_read(&arena, given, 0, 0, &optimizer);
    if (status == ARTEL_OK && wide) status = artel__optimizer_widen(&optimizer);
    if (status == ARTEL_OK && json_object_set(compile, "optimizer", optimizer.record ? optimizer.record : given) < 0)
        status = artel__fail_memory(ctx, "optimizer", 0);
    json_decref(optimizer.record);
    json_decref(given);
    artel__arena_fini(&arena);
    return status;
}

/* Every loss in a name, a record, a list or an object of these can be read. */
static artel_status check_loss(artel__arena *arena, json_t *json, int depth)
{
    artel__loss_config config;
    size_t i;
    const char *key;
    json_t *item;
    if (json_is_null(json) || depth > 8 || artel__loss_is_by_shape(json)) return ARTEL_OK;
    if (json_is_array(json)) {
        json_array_foreach(json, i, item) ARTEL_TRY(check_loss(arena, item, depth + 1));
        return ARTEL_OK;
    }
    if (json_is_object(json) && !json_object_get(json, "class_name")) {
        json_object_foreach(json, key, item) ARTEL_TRY(check_loss(arena, item, depth + 1));
        return ARTEL_OK;
    }
    return artel__loss_read(arena, json, &config);
}

static artel_status set_loss(artel_context *ctx, json_t *compile, const char *text)
{
    json_t *given;
    artel__arena arena;
    ARTEL_TRY(read_setting(ctx, "loss", text, false, &given));
    artel__arena_init(&arena, ctx);
    artel_status status = check_loss(&arena, given, 0);
    if (status == ARTEL_OK && json_object_set(compile, "loss", given) < 0) status = artel__fail_memory(ctx, "loss", 0);
    json_decref(given);
    artel__arena_fini(&arena);
    return status;
}

static artel_status set_metrics(artel_context *ctx, json_t *compile, const char *text)
{
    json_t *given;
    ARTEL_TRY(read_setting(ctx, "metrics", text, true, &given));
    if (json_is_object(given) && json_object_get(given, "class_name")) given = json_pack("[o]", given);
    artel_status status =
        given && json_object_set(compile, "metrics", given) == 0 ? ARTEL_OK : artel__fail_memory(ctx, "metrics", 0);
    json_decref(given);
    return status;
}

/* Keras' defaults for a model that was never compiled. */
static json_t *start_settings(const artel_model *model)
{
    if (model->compile_config) return artel__json_copy(model->compile_config);
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:i, s:b}", "optimizer", "rmsprop", "loss", "loss_weights",
                     "metrics", "weighted_metrics", "run_eagerly", 0, "steps_per_execution", 1, "jit_compile", 0);
}

/* With variables in float32: under the policy float16 Keras scales no loss. */
static bool computes_in_float16(const artel__layer *layer)
{
    bool found = layer->precision == ARTEL_DTYPE_FLOAT16 && layer->variables_in == ARTEL_DTYPE_FLOAT32;
    for (int i = 0; i < layer->child_count && !found; i++) found = computes_in_float16(layer->child[i].layer);
    for (int i = 0; layer->model && i < layer->model->layers && !found; i++)
        found = computes_in_float16(layer->model->layer[i]);
    return found;
}

json_t *artel__keras_optimizer_record(artel_context *ctx, json_t *name)
{
    artel__arena arena;
    artel__optimizer optimizer = {.record = NULL};
    artel__arena_init(&arena, ctx);
    if (artel__optimizer_read(&arena, name, 0, 0, &optimizer) < 0) artel__operation_begin(ctx);
    artel__arena_fini(&arena);
    return optimizer.record;
}

static bool wants_scale(const artel_model *model)
{
    bool wanted = false;
    for (int i = 0; i < model->nn->layers; i++) wanted = wanted || computes_in_float16(model->nn->layer[i]);
    return wanted;
}

artel_status artel__keras_unscale_loss(artel_model *model)
{
    json_t *optimizer = json_object_get(model->compile_config, "optimizer"), *inner = artel__optimizer_inner(optimizer);
    json_t *config = json_object_get(optimizer, "config");
    if (!inner || wants_scale(model) || json_number_value(json_object_get(config, "initial_scale")) != 32768 ||
        json_number_value(json_object_get(config, "dynamic_growth_steps")) != 2000)
        return ARTEL_OK;
    json_incref(inner);
    if (json_object_set_new(model->compile_config, "optimizer", inner) == 0) return ARTEL_OK;
    return artel__fail_memory(model->ctx, "optimizer", 0);
}

artel_status artel__keras_scale_loss(artel_model *model)
{
    json_t *optimizer = json_object_get(model->compile_config, "optimizer");
    if (!wants_scale(model) || !optimizer || json_is_null(optimizer) || artel__optimizer_inner(optimizer))
        return ARTEL_OK;
    json_t *inner =
        json_is_string(optimizer) ? artel__keras_optimizer_record(model->ctx, optimizer) : json_incref(optimizer);
    if (!inner) return ARTEL_OK;
    json_t *wrapped = artel__optimizer_wrap(inner);
    json_decref(inner);
    if (wrapped && json_object_set_new(model->compile_config, "optimizer", wrapped) == 0) return ARTEL_OK;
    return artel__fail_memory(model->ctx, "optimizer", 64);
}

static artel_status compile(artel_model *model, const char *optimizer, const char *loss, const char *metrics)
{
    artel_context *ctx = model->ctx;
    json_t *compile = start_settings(model);
    if (!compile) return artel__fail_memory(ctx, "compile", 0);
    artel_status status = ARTEL_OK;
    if (!optimizer && !model->compile_config) optimizer = "rmsprop";
    if (optimizer) status = set_optimizer(ctx, compile, optimizer, model->nn->wide);
    if (status == ARTEL_OK && loss) status = set_loss(ctx, compile, loss);
    if (status == ARTEL_OK && metrics) status = set_metrics(ctx, compile, metrics);
    if (status < 0) {
        json_decref(compile);
        return status;
    }
    if (optimizer) artel__saved_optimizer_fini(ctx, &model->optimizer);
    json_decref(model->compile_config);
    model->compile_config = compile;
    return artel__keras_scale_loss(model);
}

artel_status artel_model_compile(artel_model *model, const char *optimizer, const char *loss, const char *metrics)
{
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model", model));
    uint32_t caller = artel__fp_enter(); /* numbers of texts round to nearest, whatever the caller has set */
    artel_status status = compile(model, optimizer, loss, metrics);
    artel__fp_leave(caller);
    return status;
}
