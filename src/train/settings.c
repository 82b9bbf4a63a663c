/* SPDX-License-Identifier: Apache-2.0 */
/* Compile settings against a model: which loss and which metrics belong to which output.
 *
 * Follows keras/src/trainers/compile_utils.py: a single loss or metric list goes to the single output; lists go by
 * position, objects by output name, and what is nested as the outputs are by the place of an output; null means none.
 * Weighted metrics are metrics that also see sample weights.
 */
#include "train/session.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

static bool is_nothing(json_t *json)
{
    return !json || json_is_null(json);
}

/* A record or name, as opposed to a list or an object by output. */
static bool is_one(json_t *json)
{
    return json_is_string(json) || (json_is_object(json) && json_object_get(json, "class_name"));
}

static artel_status wrong_count(artel_context *ctx, const char *what, size_t found, int outputs)
{
    return artel__fail(ctx, ARTEL_ERROR_INVALID, what, "give one for each output, or an object by output name",
                       "%zu entries for a model with %d outputs", found, outputs);
}

/* The next key or position of a path, and what lies behind it. */
static json_t *step_into(json_t *json, const char *path, size_t length)
{
    char word[256];
    int64_t position;
    if (length >= sizeof word) return NULL;
    memcpy(word, path, length);
    word[length] = 0;
    if (json_is_object(json)) return json_object_get(json, word);
    return artel__parse_int64(word, &position) && position >= 0 ? json_array_get(json, (size_t)position) : NULL;
}

/* What lies in `json` where output i lies in the nesting of the outputs; NULL: it is not nested like them. */
static json_t *at_place(const artel_model *model, json_t *json, int i)
{
    const char *path = model->nn->output[i].path;
    while (path && *path && json && (json_is_array(json) || (json_is_object(json) && !is_one(json)))) {
        size_t length = strcspn(path, "/");
        json = step_into(json, path, length);
        path += length + (path[length] == '/');
    }
    return path && !*path ? json : NULL;
}

static bool is_nested(const artel_model *model)
{
    bool nested = false;
    for (int i = 0; i < model->nn->outputs; i++)
        nested = nested || (model->nn->output[i].path && strchr(model->nn->output[i].path, '/'));
    return nested;
}

/* The same, when what is given is nested too: a list holds one entry for each outermost place, not for each output. */
static bool fits_nesting(const artel_model *model, json_t *json)
{
    int64_t last;
    char word[24];
    if (!is_nested(model) || is_one(json)) return false;
    if (!json_is_array(json)) return true;
    const char *path = model->nn->output[model->nn->outputs - 1].path;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(path, "/"), path);
    return artel__parse_int64(word, &last) && json_array_size(json) == (size_t)last + 1;
}

/* The part of `json` that belongs to output i: for one output the whole, else by position or by name. */
static artel_status part_of(const artel_model *model, const char *what, json_t *json, int i, bool lists, json_t **out)
{
    int outputs = model->nn->outputs;
    *out = NULL;
    if (is_nothing(json)) return ARTEL_OK;
    if (outputs > 1 && fits_nesting(model, json)) *out = at_place(model, json, i);
    if (*out) return ARTEL_OK;
    if (json_is_object(json) && !is_one(json)) {
        *out = json_object_get(json, model->nn->output[i].name);
        return ARTEL_OK;
    }
    if (is_one(json)) {
        *out = json;
        return ARTEL_OK;
    }
    if (!json_is_array(json))
        return artel__fail(model->ctx, ARTEL_ERROR_INVALID, what, "give a name, a record, a list or an object",
                           "the value is none of these");
    if (lists && outputs == 1) {
        *out = json;
        return ARTEL_OK;
    }
    if (json_array_size(json) != (size_t)outputs) return wrong_count(model->ctx, what, json_array_size(json), outputs);
    *out = json_array_get(json, (size_t)i);
    return ARTEL_OK;
}

static artel_status read_metrics(artel__arena *arena, const artel_model *model, json_t *json, int i, bool weighted,
                                 artel__output_settings *output)
{
    if (is_nothing(json)) return ARTEL_OK;
    size_t count = json_is_array(json) ? json_array_size(json) : 1;
    for (size_t k = 0; k < count; k++) {
        json_t *item = json_is_array(json) ? json_array_get(json, k) : json;
        if (is_nothing(item)) continue;
        if (json_is_array(item)) {
            ARTEL_TRY(read_metrics(arena, model, item, i, weighted, output));
            continue;
        }
        artel__metric *metric = artel__arena_alloc(arena, (size_t)output->metrics + 1, sizeof *metric);
        bool *flags = artel__arena_alloc(arena, (size_t)output->metrics + 1, sizeof *flags);
        if (!metric || !flags) return ARTEL_ERROR_NO_MEMORY;
        if (output->metrics) {
            memcpy(metric, output->metric, (size_t)output->metrics * sizeof *metric);
            memcpy(flags, output->weighted, (size_t)output->metrics * sizeof *flags);
        }
        ARTEL_TRY(artel__metric_read(arena, item, &model->nn->output[i].shape, output->has_loss ? &output->loss : NULL,
                                     &metric[output->metrics]));
        flags[output->metrics] = weighted;
        output->metric = metric;
        output->weighted = flags;
        output->metrics++;
    }
    return ARTEL_OK;
}

/* Metrics of one output with the same name, as keras/src/trainers/compile_utils.py names them: a repeated metric gets
 * _1, _2; a weighted one whose name is taken gets "weighted_" in front, and then _1, _2. Compiled metrics come before
 * weighted ones. */
static artel_status number_names(artel__arena *arena, artel__output_settings *output)
{
    const char **name = artel__arena_alloc(arena, (size_t)output->metrics + 1, sizeof *name);
    if (!name) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < output->metrics; i++) {
        int same = 0, same_weighted = 0;
        for (int k = 0; k < i; k++) {
            if (strcmp(output->metric[k].name, output->metric[i].name) != 0) continue;
            same_weighted += output->weighted[k] && same > 0;
            same++;
        }
        const char *front = output->weighted[i] && same ? "weighted_" : "";
        int index = output->weighted[i] ? same_weighted : same;
        name[i] = index ? artel__arena_printf(arena, "%s%s_%d", front, output->metric[i].name, index)
                        : artel__arena_printf(arena, "%s%s", front, output->metric[i].name);
    }
    ARTEL_TRY(artel__arena_status(arena));
    for (int i = 0; i < output->metrics; i++) output->metric[i].name = name[i];
    return ARTEL_OK;
}

/* The loss of output i; NULL: it has none. */
static artel_status loss_of(const artel_model *model, int i, json_t **out)
{
    ARTEL_TRY(part_of(model, "loss", json_object_get(model->compile_config, "loss"), i, false, out));
    if (json_is_array(*out) && json_array_size(*out) == 1) *out = json_array_get(*out, 0);
    return ARTEL_OK;
}

/* Whether there is anything in it: as read_metrics goes through it, and read_output. */
static bool names_something(json_t *json)
{
    bool any = !is_nothing(json) && !json_is_array(json);
    for (size_t k = 0; k < json_array_size(json); k++) any = any || names_something(json_array_get(json, k));
    return any;
}

static bool is_wanted(const artel_model *model, int i)
{
    static const char *const keys[] = {"loss", "metrics", "weighted_metrics"};
    json_t *part;
    bool wanted = false;
    for (size_t k = 0; k < ARTEL__COUNT(keys); k++) {
        artel_status status = part_of(model, keys[k], json_object_get(model->compile_config, keys[k]), i, k > 0, &part);
        wanted = wanted || (status == ARTEL_OK && names_something(part));
    }
    return wanted;
}

/* The shape of the target of output i, by the names that everything is fed by. */
static artel_status target_row(artel__arena *arena, const artel__settings_source *source, int i, artel_shape *out)
{
    const artel__model *nn = source->model->nn;
    artel__data_want_input *inputs = artel__arena_alloc(arena, (size_t)nn->inputs + 1, sizeof *inputs);
    artel__data_want_target *targets = artel__arena_alloc(arena, (size_t)nn->outputs + 1, sizeof *targets);
    artel__data_wants wants = {.purpose = source->train ? ARTEL__DATA_PURPOSE_TRAIN : ARTEL__DATA_PURPOSE_EVALUATE,
                               .inputs = inputs,
                               .input_count = nn->inputs,
                               .targets = targets};
    int index = 0;
    if (!inputs || !targets) return ARTEL_ERROR_NO_MEMORY;
    for (int k = 0; k < nn->inputs; k++) inputs[k].name = nn->input[k].name;
    for (int k = 0; k < nn->outputs; k++) {
        if (k == i) index = wants.target_count;
        if (is_wanted(source->model, k)) targets[wants.target_count++].name = nn->output[k].name;
    }
    return artel__data_target_row(source->data, &wants, index, out);
}

/* "crossentropy" by shapes, all others as they are. */
static artel_status read_loss(artel__arena *arena, const artel__settings_source *source, int i, json_t *json,
                              artel__loss_config *out)
{
    const artel_shape *prediction = &source->model->nn->output[i].shape;
    artel_shape target = {.rank = -1};
    if (artel__loss_is_by_shape(json) && artel__loss_needs_target(prediction) && source->data)
        ARTEL_TRY(target_row(arena, source, i, &target));
    return artel__loss_read_for(arena, json, prediction, &target, out);
}

static artel_status read_output(artel__arena *arena, const artel__settings_source *source, int i,
                                artel__output_settings *output)
{
    const artel_model *model = source->model;
    json_t *compile = model->compile_config, *loss, *weights = json_object_get(compile, "loss_weights"), *metrics;
    output->loss_weight = 1.0;
    ARTEL_TRY(loss_of(model, i, &loss));
    if (weights && fits_nesting(model, weights) && at_place(model, weights, i)) weights = at_place(model, weights, i);
    if (!is_nothing(loss)) {
        ARTEL_TRY(read_loss(arena, source, i, loss, &output->loss));
        output->has_loss = true;
    }
    if (json_is_array(weights)) {
        if (json_array_size(weights) != (size_t)model->nn->outputs)
            return wrong_count(model->ctx, "loss_weights", json_array_size(weights), model->nn->outputs);
        weights = json_array_get(weights, (size_t)i);
    } else if (json_is_object(weights)) {
        weights = json_object_get(weights, model->nn->output[i].name);
    }
    if (!is_nothing(weights) && !artel__json_number(weights, &output->loss_weight))
        return artel__fail(model->ctx, ARTEL_ERROR_INVALID, "loss_weights", "give numbers",
                           "a loss weight is not a number");
    ARTEL_TRY(part_of(model, "metrics", json_object_get(compile, "metrics"), i, true, &metrics));
    ARTEL_TRY(read_metrics(arena, model, metrics, i, false, output));
    ARTEL_TRY(part_of(model, "weighted_metrics", json_object_get(compile, "weighted_metrics"), i, true, &metrics));
    ARTEL_TRY(read_metrics(arena, model, metrics, i, true, output));
    return number_names(arena, output);
}

static artel_status check_names(const artel_model *model, json_t *json, const char *what)
{
    const char *key;
    json_t *value;
    if (!json_is_object(json) || is_one(json)) return ARTEL_OK;
    json_object_foreach(json, key, value)
    {
        bool known = false;
        for (int i = 0; i < model->nn->outputs; i++) {
            const artel__model_output *output = &model->nn->output[i];
            size_t length = strlen(key);
            bool above = is_nested(model) && strncmp(output->path, key, length) == 0 &&
                         (output->path[length] == '/' || !output->path[length]);
            known = known || above || strcmp(key, output->name) == 0;
        }
        if (!known)
            return artel__fail(model->ctx, ARTEL_ERROR_INVALID, what, "use the names of the output layers",
                               "the model has no output \"%s\"", key);
    }
    return ARTEL_OK;
}

artel_status artel__settings_read_optimizer(artel__arena *arena, const artel__settings_source *source,
                                            artel__settings *out)
{
    json_t *optimizer = json_object_get(source->model->compile_config, "optimizer");
    artel__optimizer read;
    optimizer = is_nothing(optimizer) ? json_string("rmsprop") : json_incref(optimizer); /* Keras' default */
    if (!optimizer) return artel__fail_memory(source->model->ctx, "optimizer", 64);
    artel_status status = artel__optimizer_read(arena, optimizer, source->replicas, source->batch_size, &read);
    json_decref(optimizer);
    ARTEL_TRY(status);
    if (source->model->nn->wide) status = artel__optimizer_widen(&read);
    if (status < 0) {
        json_decref(read.record);
        return status;
    }
    out->optimizer = read;
    out->has_optimizer = true;
    return ARTEL_OK;
}

artel_status artel__settings_reschedule(artel__arena *arena, const artel__settings_source *source,
                                        artel__settings *settings)
{
    artel__settings again;
    if (!settings->has_optimizer || !settings->optimizer.schedule.tabled) return ARTEL_OK;
    ARTEL_TRY(artel__settings_read_optimizer(arena, source, &again));
    json_decref(settings->optimizer.record);
    settings->optimizer.schedule = again.optimizer.schedule;
    settings->optimizer.record = again.optimizer.record;
    return ARTEL_OK;
}

artel_status artel__settings_read(artel__arena *arena, const artel__settings_source *source, artel__settings *out)
{
    const artel_model *model = source->model;
    json_t *compile = model->compile_config;
    artel__settings settings = {.outputs = model->nn->outputs,
                                .eagerly = json_is_true(json_object_get(compile, "run_eagerly"))};
    settings.output = artel__arena_alloc(arena, (size_t)settings.outputs, sizeof *settings.output);
    if (!settings.output) return ARTEL_ERROR_NO_MEMORY;
    bool any_loss = false;
    ARTEL_TRY(check_names(model, json_object_get(compile, "loss"), "loss"));
    ARTEL_TRY(check_names(model, json_object_get(compile, "metrics"), "metrics"));
    for (int i = 0; i < settings.outputs; i++) {
        ARTEL_TRY(read_output(arena, source, i, &settings.output[i]));
        any_loss = any_loss || settings.output[i].has_loss;
    }
    if (!any_loss)
        return artel__fail(model->ctx, ARTEL_ERROR_INVALID, model->source ? model->source : "model",
                           source->train
                               ? "name them (artel fit --loss NAME --optimizer NAME, or artel_model_compile()), or "
                                 "save the model compiled"
                               : "name one (artel evaluate --loss NAME, or artel_model_compile()), or save the "
                                 "model compiled",
                           "the model has no compile settings that name a loss");
    if (source->train) ARTEL_TRY(artel__settings_read_optimizer(arena, source, &settings));
    *out = settings;
    return ARTEL_OK;
}

/* Of a layer at the top of the model. */
static bool is_softmax_of_one(const artel__layer *layer)
{
    json_t *config = json_object_get(layer->record, "config"), *units = json_object_get(config, "units");
    const char *activation = json_string_value(json_object_get(config, "activation"));
    return activation && strcmp(activation, "softmax") == 0 && json_is_integer(units) && json_integer_value(units) == 1;
}

void artel__settings_warn(const artel_model *model, const artel__settings *settings)
{
    for (int i = 0; i < model->nn->layers; i++) {
        if (is_softmax_of_one(model->nn->layer[i]))
            artel__log(model->ctx, ARTEL_LOG_WARNING,
                       "layer %s: the softmax of one number is always 1; sigmoid says how likely one of two classes is",
                       model->nn->layer[i]->name);
    }
    for (int i = 0; i < settings->outputs; i++) {
        const artel__output_settings *output = &settings->output[i];
        const artel_shape *shape = &model->nn->output[i].shape;
        bool classes = output->has_loss && strncmp(output->loss.name, "categorical_", 12) == 0;
        if (classes && shape->rank > 0 && shape->dim[shape->rank - 1] == 1)
            artel__log(model->ctx, ARTEL_LOG_WARNING,
                       "%s: %s takes a probability for each class, and this output has one number, of which it says 0 "
                       "whatever it is; two classes take binary_crossentropy",
                       model->nn->output[i].name, output->loss.name);
    }
}
