/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: from what compile settings say to a row of the tables.
 *
 * Names follow keras/src/trainers/compile_utils.py: a string is the metric's name in History as it stands, a record's
 * own name counts, else its class' default. "accuracy" and "acc" choose binary, sparse or categorical accuracy by the
 * output's last axis and by what the loss takes as target; "crossentropy" and "ce" do the same.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nn/custom.h"
#include "nn/metric_table.h"

static const artel__metric_def *const lists[] = {artel__metrics_of_accuracy, artel__metrics_of_losses,
                                                 artel__metrics_of_confusion, artel__metrics_of_scores,
                                                 artel__metrics_of_overlap};

const artel__metric_def *artel__metric_find(const char *name)
{
    for (size_t i = 0; i < ARTEL__COUNT(lists); i++) {
        for (const artel__metric_def *def = lists[i]; def->class_name; def++) {
            if (strcmp(def->class_name, name) == 0 || artel__name_in(name, def->aliases)) return def;
        }
    }
    return NULL;
}

static artel_status unknown(artel_context *ctx, const char *name)
{
    const char *names[256];
    size_t count = 0;
    for (size_t i = 0; i < ARTEL__COUNT(lists); i++) {
        for (const artel__metric_def *def = lists[i]; def->class_name && count < 252; def++) {
            for (int k = 0; k < 2 && def->aliases[k]; k++) names[count++] = def->aliases[k];
            names[count++] = def->class_name;
        }
    }
    names[count] = NULL;
    return artel__record_unknown(ctx, "metrics", "metric", name, names, "docs/metrics.md");
}

artel_status artel__metric_configure(const artel__metric_def *def, const char *name, artel__metric_setup *setup)
{
    artel__arena *arena = setup->arena;
    artel__metric *metric = setup->metric;
    *metric = (artel__metric){.def = def, .target = def->target, .sums = 2};
    metric->name = artel__arena_strdup(arena, name ? name : def->name);
    metric->config = artel__arena_alloc(arena, 1, def->config_size + 1);
    ARTEL_TRY(artel__arena_status(arena));
    if (def->options)
        ARTEL_TRY(artel__record_options(arena, metric->name, def->options, setup->config, metric->config));
    return def->configure ? def->configure(setup) : ARTEL_OK;
}

/* -- "accuracy" and "crossentropy" -- */

typedef struct by_shape {
    const char *words[2];
    const char *binary, *sparse, *categorical;
} by_shape;

static const by_shape shorthands[] = {
    {{"accuracy", "acc"}, "BinaryAccuracy", "SparseCategoricalAccuracy", "CategoricalAccuracy"},
    {{"crossentropy", "ce"}, "BinaryCrossentropy", "SparseCategoricalCrossentropy", "CategoricalCrossentropy"},
};

/* The class that a shorthand means, or NULL. */
static const char *resolve(const artel__record *record, const artel_shape *prediction, const artel__loss_config *loss)
{
    for (size_t i = 0; record->by_name && i < ARTEL__COUNT(shorthands); i++) {
        const by_shape *s = &shorthands[i];
        if (strcasecmp(record->name, s->words[0]) != 0 && strcasecmp(record->name, s->words[1]) != 0) continue;
        if (prediction->rank == 0 || prediction->dim[prediction->rank - 1] == 1) return s->binary;
        return loss && loss->target == ARTEL__TARGET_INDEX ? s->sparse : s->categorical;
    }
    return NULL;
}

/* -- means of functions: {"class_name": "function"} and MeanMetricWrapper -- */

static artel_status read_function(artel__metric_setup *setup, const char *function, const char *name)
{
    const artel__metric_def *mean = artel__metric_find("MeanMetricWrapper"), *same = artel__metric_find(function);
    const artel__loss_def *loss = artel__loss_find(function);
    if (!loss && !same) return unknown(setup->arena->ctx, function);
    if (!loss) return artel__metric_configure(same, name ? name : function, setup);
    ARTEL_TRY(artel__metric_configure(mean, name ? name : function, setup));
    artel__loss_config *config = setup->metric->config;
    ARTEL_TRY(artel__loss_configure(setup->arena, loss, setup->metric->name, setup->config, config));
    setup->metric->target = config->target;
    return ARTEL_OK;
}

static artel_status read_wrapper(artel__metric_setup *setup, const char *name)
{
    artel__record function;
    artel_context *ctx = setup->arena->ctx;
    ARTEL_TRY(artel__record_parse(ctx, "metrics", "metric function", json_object_get(setup->config, "fn"), &function));
    json_t *config = artel__json_copy(setup->config);
    if (!config) return artel__fail_memory(ctx, "metrics", 64);
    json_object_del(config, "fn");
    setup->config = config;
    artel_status status = read_function(setup, function.name, name);
    json_decref(config);
    return status;
}

/* One that a program has added: the mean of what it says of each sample. */
static artel_status read_custom(artel__metric_setup *setup, const artel__custom_loss *custom, const char *name)
{
    const char *package = strrchr(name, '>');
    if (package) name = package + 1;
    ARTEL_TRY(artel__metric_configure(artel__metric_find("MeanMetricWrapper"), name, setup));
    ARTEL_TRY(artel__custom_loss_configure(setup->arena, custom, name, setup->config, setup->metric->config));
    setup->metric->target = custom->target;
    return ARTEL_OK;
}

artel_status artel__metric_read(artel__arena *arena, json_t *json, const artel_shape *prediction,
                                const artel__loss_config *loss, artel__metric *out)
{
    artel__record record;
    ARTEL_TRY(artel__record_parse(arena->ctx, "metrics", "metric", json, &record));
    artel__metric_setup setup = {.arena = arena, .metric = out, .config = record.config, .prediction = prediction};
    const char *name = record.by_name ? record.name : json_string_value(json_object_get(record.config, "name"));
    const char *class_name = resolve(&record, prediction, loss);
    if (strcmp(record.name, "MeanMetricWrapper") == 0) return read_wrapper(&setup, name);
    const artel__metric_def *def = record.registered ? NULL : artel__metric_find(class_name ? class_name : record.name);
    if (def) return artel__metric_configure(def, name, &setup);
    const artel__custom_loss *custom =
        artel__extension_find(arena->ctx, ARTEL__EXTENSION_METRIC, record.registered ? record.registered : record.name);
    if (custom) return read_custom(&setup, custom, name ? name : record.name);
    return record.function || (record.by_name && artel__loss_find(record.name))
               ? read_function(&setup, record.name, name)
               : unknown(arena->ctx, record.name);
}

artel__value_id artel__metric_add(artel__graph *graph, const artel__metric *metric, artel__value_id target,
                                  artel__value_id prediction, artel__value_id weight)
{
    if (graph->status < 0 || target < 0 || prediction < 0) return ARTEL__NO_VALUE;
    return metric->def->add(graph, metric, target, artel__with_last_axis(graph, prediction), weight);
}

bool artel__metric_takes_mask(const artel__metric *metric)
{
    return !metric->def->result && !metric->def->result_at; /* a plain mean */
}

bool artel__metric_is_mean(const artel__metric *metric)
{
    return artel__metric_takes_mask(metric) || metric->def->loss; /* a root is of a mean */
}

int artel__metric_direction(const artel__metric *metric)
{
    static const struct {
        const char *class_name;
        int direction;
    } unlike[] = {{"CosineSimilarity", 1},
                  {"TruePositives", 0},
                  {"FalsePositives", 0},
                  {"TrueNegatives", 0},
                  {"FalseNegatives", 0}};
    const artel__metric_def *def = metric->def;
    for (size_t i = 0; i < ARTEL__COUNT(unlike); i++) {
        if (strcmp(unlike[i].class_name, def->class_name) == 0) return unlike[i].direction;
    }
    bool wrapped = strcmp(def->class_name, "MeanMetricWrapper") == 0;
    if (wrapped && ((const artel__loss_config *)metric->config)->custom) return 0;
    return def->loss || wrapped ? -1 : 1; /* means of losses fall */
}

double artel__metric_result(const artel__metric *metric, const double *sums, int place)
{
    if (metric->def->result_at) return metric->def->result_at(metric, sums, place);
    double scale = metric->def->scale == 0 ? 1 : metric->def->scale;
    return metric->def->result ? metric->def->result(metric, sums) : scale * artel__divide_no_nan(sums[0], sums[1]);
}
