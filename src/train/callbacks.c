/* SPDX-License-Identifier: Apache-2.0 */
/* The list of callbacks of a run: made from records, called in order, saved and restored. */
#include "train/callbacks.h"
#include "base/json_written.h"
#include "base/listed.h"
#include "train/checkpoint_file.h"
#include "train/left.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Keras' classes that are options of artel, or nothing to do; the advice says which. */
static const struct {
    const char *class_name, *advice;
} elsewhere[] = {
    {"CSVLogger", "use events of the C API; artel fit writes such a file by itself"},
    {"TensorBoard", "use events of the C API; artel fit writes such files by itself"},
    {"LambdaCallback", "use events of the C API"},
    {"RemoteMonitor", "take the events of the run and send them on"},
};

/* One that gives a list is watched by element: "val_f1_score[2]". */
static const artel__metric *metric_of(const artel__fit *fit, const char *name)
{
    const artel__objective *objective = artel__session_objective(fit->session, ARTEL__MODE_TRAIN);
    int64_t number;
    size_t length = artel__list_element(name, &number);
    for (int i = 0; i < objective->slots; i++) {
        const artel__metric_slot *slot = &objective->slot[i];
        if (strncmp(slot->name, name, length) != 0 || slot->name[length]) continue;
        if (number < (slot->metric->values ? slot->metric->values : 0) && (number >= 0) == (slot->metric->values > 0))
            return slot->metric;
    }
    return NULL;
}

/* "loss", or with several outputs NAME_loss. */
static bool is_loss(const artel__fit *fit, const char *name)
{
    bool found = strcmp(name, "loss") == 0;
    for (int i = 0; fit->settings.outputs > 1 && i < fit->settings.outputs; i++) {
        const char *output = fit->model->nn->output[i].name;
        size_t length = strlen(output);
        found = found || (strncmp(name, output, length) == 0 && strcmp(name + length, "_loss") == 0);
    }
    return found;
}

static const char *without_val(const char *monitor)
{
    return monitor + (artel__starts_with(monitor, "val_") ? 4 : 0);
}

bool artel__monitor_exists(const artel__fit *fit, const char *monitor)
{
    const char *name = without_val(monitor);
    if (name != monitor && !fit->validation.feed) return false;
    return strcmp(monitor, "learning_rate") == 0 || is_loss(fit, name) || metric_of(fit, name);
}

/* 1: rises, -1: falls; 0 when nobody knows. */
static int direction_of(const artel__fit *fit, const char *monitor)
{
    const char *name = without_val(monitor);
    const artel__metric *metric = metric_of(fit, name);
    if (is_loss(fit, name)) return -1;
    return metric ? artel__metric_direction(metric) : 0;
}

artel_status artel__monitor_direction(artel__fit *fit, artel__callback *callback, const char *mode, const char *monitor)
{
    bool up = strcmp(mode, "max") == 0, down = strcmp(mode, "min") == 0;
    if (!up && !down && strcmp(mode, "auto") != 0)
        artel__log(fit->ctx, ARTEL_LOG_WARNING, "%s: mode \"%s\" is none of auto, min, max; auto is taken",
                   callback->def->class_name, mode);
    int direction = up ? 1 : down ? -1 : direction_of(fit, monitor);
    callback->state.up = direction > 0;
    if (direction != 0) return ARTEL_OK;
    artel__text names;
    artel__text_init(&names, fit->ctx);
    const artel__objective *objective = artel__session_objective(fit->session, ARTEL__MODE_TRAIN);
    artel__text_append(&names, "loss");
    for (int i = 0; i < objective->slots; i++) artel__text_printf(&names, ", %s", objective->slot[i].name);
    artel_status status = artel__fail(
        fit->ctx, ARTEL_ERROR_INVALID, callback->def->class_name, "give \"mode\": \"max\" or \"mode\": \"min\"",
        "it is not known whether more or less of \"%s\" is better (the run has %s, each with val_ too)", monitor,
        names.data ? names.data : "");
    artel__text_fini(&names);
    return status;
}

bool artel__monitor_value(artel__fit *fit, const artel__callback *callback, const char *monitor, double *out)
{
    for (int i = 0; i < fit->logs.epoch.count; i++) {
        if (strcmp(fit->logs.epoch.item[i].name, monitor) != 0) continue;
        *out = fit->logs.epoch.item[i].value;
        return true;
    }
    artel__text names;
    artel__text_init(&names, fit->ctx);
    for (int i = 0; i < fit->logs.epoch.count; i++)
        artel__text_printf(&names, "%s%s", i ? ", " : "", fit->logs.epoch.item[i].name);
    artel__log(fit->ctx, ARTEL_LOG_WARNING, "%s monitors \"%s\", which this epoch does not have; available: %s",
               callback->def->class_name, monitor, names.data);
    artel__text_fini(&names);
    return false;
}

artel_status artel__callback_keep_weights(artel__fit *fit, artel__callback *callback)
{
    artel__variable_range weights = artel__all_of(fit->model->nn->variables);
    if (!callback->weights) {
        void *block;
        ARTEL_TRY(artel__alloc(fit->ctx, artel__image_bytes(fit->model->nn->variables, weights) + 1,
                               callback->def->class_name, &block));
        callback->weights = block;
    }
    ARTEL_TRY(artel__state_bring(artel__session_state(fit->session)));
    ARTEL_TRY(artel__session_complete(fit->session));
    artel__state_image(artel__session_state(fit->session), weights, callback->weights);
    return ARTEL_OK;
}

/* -- making -- */

static const artel__callback_def *find(const char *class_name)
{
    for (const artel__callback_def *const *def = artel__callback_defs; *def; def++) {
        if (strcmp((*def)->class_name, class_name) == 0) return *def;
    }
    return NULL;
}

bool artel__callback_tells_rate(const char *class_name)
{
    const artel__callback_def *def = find(class_name);
    return def && def->tells_rate;
}

static artel_status unknown(artel__fit *fit, const char *class_name)
{
    for (size_t i = 0; i < ARTEL__COUNT(elsewhere); i++) {
        if (strcmp(elsewhere[i].class_name, class_name) == 0)
            return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, class_name, elsewhere[i].advice,
                               "this callback is not done here");
    }
    const char *names[32];
    int count = 0;
    while (artel__callback_defs[count] && count < 31) {
        names[count] = artel__callback_defs[count]->class_name;
        count++;
    }
    names[count] = NULL;
    const char *near = artel__nearest_name(class_name, names);
    return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, class_name, "see docs/callbacks.md", "unknown callback%s%s",
                       near ? "; the nearest is " : "", near ? near : "");
}

static artel_status set_option(artel__fit *fit, const artel__callback *callback, const char *key, json_t *value)
{
    const artel__option *option = artel__options_find(callback->def->options, key);
    if (!option)
        return artel__options_set(&fit->arena, callback->def->options, callback->config, callback->def->class_name, key,
                                  "");
    if (json_is_null(value) && option->type != ARTEL__OPTION_JSON) return ARTEL_OK;
    char *text;
    if (json_is_string(value))
        return artel__options_set(&fit->arena, callback->def->options, callback->config, callback->def->class_name, key,
                                  json_string_value(value));
    ARTEL_TRY(artel__json_dump_string(fit->ctx, value, ARTEL__JSON_PYTHON, &text));
    artel_status status =
        artel__options_set(&fit->arena, callback->def->options, callback->config, callback->def->class_name, key, text);
    artel__free(fit->ctx, text);
    return status;
}

static artel_status add(artel__fit *fit, json_t *record, artel__callback *out)
{
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    if (!class_name)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, ".callbacks",
                           "for example [{\"class_name\": \"EarlyStopping\", \"config\": {\"patience\": 3}}]",
                           "an entry is not a record with class_name and config");
    const artel__callback_def *def = find(class_name);
    if (!def) return unknown(fit, class_name);
    *out = (artel__callback){.def = def, .state = {.best = NAN}};
    out->config = artel__arena_alloc(&fit->arena, 1, def->config_size + 1);
    if (!out->config) return ARTEL_ERROR_NO_MEMORY;
    if (!def->options) return ARTEL_OK;
    ARTEL_TRY(artel__options_default(&fit->arena, def->options, out->config));
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(record, "config"), key, value) ARTEL_TRY(set_option(fit, out, key, value));
    return ARTEL_OK;
}

static artel_status add_all(artel__fit *fit, json_t *list)
{
    if (!json_is_array(list))
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, ".callbacks", "put the records into a list",
                           "expected a JSON list");
    size_t i, count = json_array_size(list);
    json_t *record;
    fit->callbacks.list = artel__arena_alloc(&fit->arena, count + 1, sizeof *fit->callbacks.list);
    fit->callbacks.told = artel__arena_alloc(&fit->arena, count + 1, sizeof *fit->callbacks.told);
    if (!fit->callbacks.list || !fit->callbacks.told) return ARTEL_ERROR_NO_MEMORY;
    json_array_foreach(list, i, record)
    {
        artel__callback *callback = &fit->callbacks.list[fit->callbacks.count];
        ARTEL_TRY(add(fit, record, callback));
        fit->callbacks.count++;
        if (callback->def->set) ARTEL_TRY(callback->def->set(fit, callback));
    }
    return ARTEL_OK;
}

artel_status artel__callbacks_read(artel__fit *fit)
{
    const char *text = fit->options.callbacks;
    json_t *list;
    if (!text) return ARTEL_OK;
    ARTEL_TRY(artel__json_load_written(fit->ctx, ".callbacks", text, strlen(text), &list));
    artel_status status = add_all(fit, list);
    json_decref(list);
    return status;
}

void artel__callbacks_destroy(artel__fit *fit)
{
    for (int i = 0; i < fit->callbacks.count; i++) artel__free(fit->ctx, fit->callbacks.list[i].weights);
    fit->callbacks.count = 0;
}

/* -- calling -- */

artel_status artel__callbacks_begin(artel__fit *fit)
{
    for (int i = 0; i < fit->callbacks.count; i++) {
        artel__callback *callback = &fit->callbacks.list[i];
        if (callback->def->begin) ARTEL_TRY(callback->def->begin(fit, callback));
    }
    return ARTEL_OK;
}

artel_status artel__callbacks_epoch_begin(artel__fit *fit)
{
    for (int i = 0; i < fit->callbacks.count; i++) {
        artel__callback *callback = &fit->callbacks.list[i];
        if (callback->def->epoch_begin) ARTEL_TRY(callback->def->epoch_begin(fit, callback));
    }
    return ARTEL_OK;
}

artel_status artel__callbacks_batch_end(artel__fit *fit, double loss)
{
    for (int i = 0; i < fit->callbacks.count; i++) {
        artel__callback *callback = &fit->callbacks.list[i];
        if (callback->def->batch_end) ARTEL_TRY(callback->def->batch_end(fit, callback, loss));
    }
    return ARTEL_OK;
}

bool artel__callbacks_read_at(const artel__fit *fit, int64_t step)
{
    bool read = false;
    for (int i = 0; i < fit->callbacks.count; i++) {
        const artel__callback *callback = &fit->callbacks.list[i];
        read = read || (callback->def->reads_at && callback->def->reads_at(callback, step));
    }
    return read;
}

bool artel__callbacks_may_end(const artel__fit *fit)
{
    bool may = false;
    for (int i = 0; i < fit->callbacks.count; i++) may = may || fit->callbacks.list[i].def->ends_at_batches;
    return may;
}

void artel__callbacks_around_test(artel__fit *fit, bool begins)
{
    for (int i = 0; i < fit->callbacks.count; i++) {
        artel__callback *callback = &fit->callbacks.list[i];
        if (callback->def->around_test) callback->def->around_test(fit, callback, begins);
    }
}

artel_status artel__callbacks_epoch_end(artel__fit *fit)
{
    for (int i = 0; i < fit->callbacks.count; i++) {
        artel__callback *callback = &fit->callbacks.list[i];
        if (callback->def->epoch_end) ARTEL_TRY(callback->def->epoch_end(fit, callback));
    }
    return ARTEL_OK;
}

artel_status artel__callbacks_take_over(artel__fit *fit)
{
    for (int i = 0; i < fit->callbacks.count && fit->writes; i++) {
        artel__callback *callback = &fit->callbacks.list[i];
        bool owed = callback->owed[0] && callback->owed_unit == fit->at.unit;
        if (owed && callback->def->take_over) ARTEL_TRY(callback->def->take_over(fit, callback));
    }
    return ARTEL_OK;
}

artel_status artel__callbacks_train_end(artel__fit *fit)
{
    for (int i = 0; i < fit->callbacks.count; i++) {
        artel__callback *callback = &fit->callbacks.list[i];
        if (callback->def->train_end) ARTEL_TRY(callback->def->train_end(fit, callback));
    }
    return ARTEL_OK;
}

artel_status artel__callbacks_over(artel__fit *fit)
{
    for (int i = 0; i < fit->callbacks.count; i++) {
        artel__callback *callback = &fit->callbacks.list[i];
        if (callback->def->over) ARTEL_TRY(callback->def->over(fit, callback));
    }
    return ARTEL_OK;
}

const double *artel__callbacks_told(const artel__fit *fit, int *out_count)
{
    int count = 0;
    for (int i = 0; i < fit->callbacks.count; i++) {
        if (fit->callbacks.list[i].def->tells_rate) fit->callbacks.told[count++] = fit->callbacks.list[i].state.told;
    }
    *out_count = count;
    return fit->callbacks.told;
}

/* -- state: doubles as hexadecimal text, so that they come back exactly, NaN included -- */

artel_status artel__callbacks_save(const artel__fit *fit, json_t *out)
{
    for (int i = 0; i < fit->callbacks.count; i++) {
        const artel__callback *callback = &fit->callbacks.list[i];
        json_t *item =
            json_pack("{s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:s}", "class_name",
                      callback->def->class_name, "best", artel__hex_real(callback->state.best), "told",
                      artel__hex_real(callback->state.told), "wait", (json_int_t)callback->state.wait, "cooldown",
                      (json_int_t)callback->state.cooldown, "best_epoch", (json_int_t)callback->state.best_epoch,
                      "stopped_epoch", (json_int_t)callback->state.stopped_epoch, "up", callback->state.up, "weights",
                      callback->weights != NULL, "owed_unit", (json_int_t)callback->owed_unit, "owed", callback->owed);
        if (!item || json_array_append_new(out, item) < 0) return artel__fail_memory(fit->ctx, "callbacks", 256);
    }
    return ARTEL_OK;
}

artel_status artel__callbacks_restore(artel__fit *fit, json_t *in)
{
    if ((int)json_array_size(in) != fit->callbacks.count)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, ".callbacks",
                           "use the callbacks the run was started with, or .fresh",
                           "the checkpoint was written with %zu callbacks, this run has %d", json_array_size(in),
                           fit->callbacks.count);
    for (int i = 0; i < fit->callbacks.count; i++) {
        json_t *item = json_array_get(in, (size_t)i);
        artel__callback *callback = &fit->callbacks.list[i];
        const char *class_name = json_string_value(json_object_get(item, "class_name")),
                   *best = json_string_value(json_object_get(item, "best"));
        if (!class_name || !best || strcmp(class_name, callback->def->class_name) != 0)
            return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, ".callbacks",
                               "use the callbacks the run was started with, or .fresh",
                               "callback %d was %s when the checkpoint was written", i, class_name ? class_name : "?");
        callback->state.best = artel__real_of_hex(json_object_get(item, "best"));
        if (json_object_get(item, "told")) /* earlier versions have not written it */
            callback->state.told = artel__real_of_hex(json_object_get(item, "told"));
        callback->state.wait = json_integer_value(json_object_get(item, "wait"));
        callback->state.cooldown = json_integer_value(json_object_get(item, "cooldown"));
        callback->state.best_epoch = json_integer_value(json_object_get(item, "best_epoch"));
        callback->state.stopped_epoch = json_integer_value(json_object_get(item, "stopped_epoch"));
        callback->state.up = json_is_true(json_object_get(item, "up"));
        const char *owed = json_string_value(json_object_get(item, "owed"));
        callback->owed_unit = json_integer_value(json_object_get(item, "owed_unit"));
        snprintf(callback->owed, sizeof callback->owed, "%s", owed ? owed : "");
        artel__free(fit->ctx, callback->weights);
        callback->weights = NULL;
        if (json_is_true(json_object_get(item, "weights"))) ARTEL_TRY(artel__callback_keep_weights(fit, callback));
    }
    return ARTEL_OK;
}
