/* SPDX-License-Identifier: Apache-2.0 */
/* artel check: everything a model needs that is not there, all at once; and whether data fits it. */
#include <string.h>

#include "cli/cli.h"
#include "keras/load.h"
#include "train/session.h"

typedef struct check_options {
    const char *data;
    int64_t batch_size;
} check_options;

static const artel__option options[] = {
    {"data", "check that this data fits the model", ARTEL__OPTION_STRING, offsetof(check_options, data), "null", 0, 0, NULL},
    {"batch-size", "global batch, for learning rate schedules that depend on it", ARTEL__OPTION_INT, offsetof(check_options, batch_size),
     "32", 1, 1e9, NULL},
    {.name = NULL},
};

/* Prints the recorded failure as one finding and forgets it. */
static void print_finding(artel_context *ctx, int *findings)
{
    const artel_error *error = artel_context_error(ctx);
    printf("missing: %s%s%s%s%s\n", error->where, error->where[0] ? ": " : "", error->what, error->advice[0] ? "; " : "", error->advice);
    artel__operation_begin(ctx);
    ++*findings;
}

/* Tries to make every layer of a config by itself. */
static void check_layers(artel__invocation *call, json_t *config, int *findings)
{
    json_t *record;
    size_t i;
    artel__variables variables;
    json_array_foreach(json_object_get(config, "layers"), i, record)
    {
        json_t *inner = json_object_get(record, "config");
        if (json_is_array(json_object_get(inner, "layers"))) {
            check_layers(call, inner, findings);
            continue;
        }
        artel__layer *layer;
        artel__variables_init(&variables, &call->arena);
        if (artel__layer_create(&call->arena, &variables, record, &layer) < 0) print_finding(call->ctx, findings);
    }
}

/* The record of the model, or NULL when the file itself cannot be read that far. */
static json_t *read_record(artel__invocation *call, const char *path)
{
    artel__keras_kind kind;
    json_t *json = NULL;
    if (artel__keras_sniff(call->ctx, path, &kind) < 0) return NULL;
    if (kind == ARTEL__KERAS_JSON) {
        if (artel__json_load_file(call->ctx, path, &json) < 0) return NULL;
        return json;
    }
    if (kind != ARTEL__KERAS_ARCHIVE) return NULL;
    artel__keras_archive archive;
    memset(&archive, 0, sizeof archive);
    if (artel__keras_archive_open(call->ctx, path, true, &archive) == ARTEL_OK) json = json_incref(archive.config);
    artel__keras_archive_close(&archive);
    return json;
}

static artel_status check_data(artel__invocation *call, artel_model *model, const artel__settings *settings, const char *specification)
{
    artel_data *data;
    artel__data_wants wants;
    artel__feed *feed = NULL;
    ARTEL_TRY(artel_data_open(call->ctx, specification, &data));
    artel_status status = artel__objective_wants(&call->arena, model->nn, settings, ARTEL__MODE_TRAIN, &wants);
    if (status == ARTEL_OK) status = artel__data_bind(data, &wants, &feed);
    if (status == ARTEL_OK) {
        artel__text text;
        artel__text_init(&text, call->ctx);
        artel__feed_describe(feed, &text);
        printf("data: %lld rows fit the model\n%s", (long long)artel__feed_count(feed), text.data);
        artel__text_fini(&text);
    }
    artel__feed_destroy(feed);
    artel_data_destroy(data);
    return status;
}

static void check_model(artel__invocation *call, artel_model *model, int *findings)
{
    const check_options *o = call->options;
    artel__settings settings;
    int64_t trainable, frozen;
    artel__keras_count(model, &trainable, &frozen);
    printf("model: %s, %d layers, %lld parameters\n", model->nn->name, model->nn->layers, (long long)(trainable + frozen));
    memset(&settings, 0, sizeof settings);
    bool settled = artel__settings_read(&call->arena, model, true, 1, o->batch_size, &settings) == ARTEL_OK;
    if (!settled)
        print_finding(call->ctx, findings);
    else
        printf("compile settings: optimizer %s, %d output%s\n", settings.optimizer.class_name, settings.outputs,
               settings.outputs == 1 ? "" : "s");
    if (settled && o->data && check_data(call, model, &settings, o->data) < 0) print_finding(call->ctx, findings);
    json_decref(settings.optimizer.record);
}

static artel_status run_check(artel__invocation *call)
{
    const char *path = call->argument[0];
    artel_model *model = NULL;
    int findings = 0;
    artel_status status = artel_model_load(call->ctx, path, &model);
    if (status == ARTEL_OK) {
        check_model(call, model, &findings);
        artel_model_destroy(model);
    } else {
        artel_error error = *artel_context_error(call->ctx);
        artel__operation_begin(call->ctx);
        json_t *record = read_record(call, path);
        artel__operation_begin(call->ctx);
        if (record) check_layers(call, json_object_get(record, "config"), &findings);
        json_decref(record);
        if (findings == 0) return artel__fail(call->ctx, error.status, error.where, error.advice, "%s", error.what);
    }
    if (findings) {
        call->exit_code = 1;
        printf("%d thing%s missing\n", findings, findings == 1 ? " is" : "s are");
    } else {
        printf("everything is there\n");
    }
    return ARTEL_OK;
}

const artel__command artel__command_check = {
    .name = "check",
    .summary = "everything a model needs that is not there, all at once",
    .usage = "MODEL [--data SPEC]",
    .examples = "  artel check model.keras\n  artel check model.keras --data npz:train.npz\n",
    .options = options,
    .options_size = sizeof(check_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_check,
};
