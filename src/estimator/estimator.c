/* SPDX-License-Identifier: Apache-2.0 */
/* Estimators as a caller holds them, and the two sides of one: input, strategy, traced model function. */
#include <stdio.h>
#include <string.h>

#include "estimator/estimator_impl.h"
#include "function/snapshot.h"
#include "function/spec.h"
#include "text/row_function.h"
#include "train/checkpoint_file.h"

#define OPTION(field) offsetof(artel_estimator_options, field)
static const artel__range ranges[] = {
    {"save_checkpoints_steps", ARTEL__RANGE_INT64, OPTION(save_checkpoints_steps), 0, 1e15, NULL},
    {"save_checkpoints_secs", ARTEL__RANGE_DOUBLE, OPTION(save_checkpoints_secs), 0, 1e9, NULL},
    {"keep_checkpoint_max", ARTEL__RANGE_INT64, OPTION(keep_checkpoint_max), 1, 1e6, NULL},
    {"save_summary_steps", ARTEL__RANGE_INT64, OPTION(save_summary_steps), 0, 1e15, NULL},
    {.name = NULL}};
static const artel__options_kind kind = {"estimator options", "begin with ARTEL_ESTIMATOR_OPTIONS_INIT",
                                         sizeof(artel_estimator_options), ranges};

artel_status artel_estimator_create(artel_context *ctx, const artel_estimator_options *options, artel_estimator **out)
{
    artel_estimator_options chosen = ARTEL_ESTIMATOR_OPTIONS_INIT;
    void *block;
    ARTEL_TRY(artel__enter(ctx, __func__, "context options out", ctx, options, out));
    ARTEL_TRY(artel__take_options(ctx, &kind, options, &chosen));
    if (!chosen.model_dir || !chosen.model_dir[0] || strlen(chosen.model_dir) > 4000 || !chosen.model)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "estimator options", "set model_dir and model",
                           chosen.model ? "there is no directory" : "there is no model function");
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_estimator), "estimator", &block));
    artel_estimator *e = block;
    e->ctx = ctx;
    e->options = chosen;
    artel_status status = artel__strategy_take_options(ctx, chosen.strategy, &e->strategy);
    if (status == ARTEL_OK) status = artel__warm_start_take(ctx, chosen.warm_start, &e->warm);
    if (status < 0)
        artel_estimator_destroy(e);
    else
        *out = e;
    return status;
}

void artel_estimator_destroy(artel_estimator *e)
{
    if (e) artel__free(e->ctx, e);
}

artel_status artel_estimator_latest_checkpoint(const artel_estimator *e, int64_t *step)
{
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "estimator step", e, step));
    return artel__checkpoint_newest(e->ctx, e->options.model_dir, step);
}

void artel__estimator_event(const artel_estimator *e, const artel_event *event)
{
    if (e->options.on_event) e->options.on_event(e->options.event_user, event);
}

/* -- tracing -- */

static artel_status misuse(const artel__estimator_side *side, const char *advice, const char *what)
{
    return artel__fail(side->estimator->ctx, ARTEL_ERROR_INVALID, "model function", advice, "%s", what);
}

static artel_status list_columns(artel__estimator_side *side, const artel_value *in, artel_estimator_batch *batch)
{
    size_t count = (size_t)side->input.columns + 1;
    artel_value *value = artel__arena_alloc(&side->arena, 2 * count, sizeof *value);
    const char **name = artel__arena_alloc(&side->arena, 2 * count, sizeof *name);
    ARTEL_TRY(artel__arena_status(&side->arena));
    for (int i = 0; i < side->input.columns; i++) {
        const char *its = side->input.argument[i].name;
        switch (side->input.role[i]) {
        case ARTEL__INPUT_FEATURE:
            name[batch->feature_count] = its;
            value[batch->feature_count++] = in[i];
            break;
        case ARTEL__INPUT_LABEL:
            name[count + (size_t)batch->label_count] = its;
            value[count + (size_t)batch->label_count++] = in[i];
            break;
        case ARTEL__INPUT_WEIGHT: batch->weight = in[i]; break;
        }
    }
    batch->features = value;
    batch->labels = value + count;
    batch->feature_names = name;
    batch->label_names = name + count;
    return ARTEL_OK;
}

/* A number of float32 or float64, a row or shared. */
static artel_value take_number(artel__estimator_side *side, artel_graph *g, artel_value value, const char *name,
                               bool *rows)
{
    artel_dtype dtype;
    artel_shape shape;
    if (artel_graph_status(g) < 0) return ARTEL_NO_VALUE;
    if (value == ARTEL_NO_VALUE) misuse(side, "set it in the spec", name);
    if (value == ARTEL_NO_VALUE || artel_graph_describe(g, value, &dtype, &shape, rows) < 0) return ARTEL_NO_VALUE;
    if (shape.rank > 0) {
        misuse(side, "give one number a row, or a shared scalar; \"mean\" over the other axes makes it one", name);
        return ARTEL_NO_VALUE;
    }
    bool real = dtype == ARTEL_DTYPE_FLOAT32 || dtype == ARTEL_DTYPE_FLOAT64;
    return real ? value : artel_graph_op(g, "cast", &value, 1, "{\"dtype\": \"float32\"}");
}

static artel_status trace_training(artel__estimator_side *side, artel_graph *g, const artel_estimator_spec *spec,
                                   artel_value *out)
{
    bool rows;
    artel_value loss = take_number(side, g, spec->loss, "loss", &rows);
    if (loss == ARTEL_NO_VALUE) return ARTEL_ERROR_INVALID;
    side->values = 1;
    *out = rows ? artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, loss) : loss;
    if (spec->optimizer) artel_graph_minimise(g, spec->optimizer, *out);
    return artel_graph_status(g);
}

/* What is not there is a constant: a function says beforehand how many outputs it has. */
static artel_status trace_evaluation(artel__estimator_side *side, artel_graph *g, const artel_estimator_spec *spec,
                                     artel_value *out)
{
    if (spec->metric_count < 0 || spec->metric_count > ARTEL_ESTIMATOR_METRICS)
        return misuse(side, "give 0 to 16", "this many metrics");
    side->values = 1 + spec->metric_count;
    for (int i = 0; i < side->values; i++) {
        const char *name = i ? spec->metrics[i - 1].name : "loss";
        if (!name || !name[0]) return misuse(side, "name each", "a metric has no name");
        side->name[i] = name;
        out[i] = take_number(side, g, i ? spec->metrics[i - 1].value : spec->loss, name, &side->rows[i]);
        if (out[i] == ARTEL_NO_VALUE) return ARTEL_ERROR_INVALID;
    }
    for (int i = side->values; i < ARTEL__ESTIMATOR_VALUES; i++) out[i] = artel_graph_number(g, 0);
    return artel_graph_status(g);
}

static artel_status trace_prediction(artel__estimator_side *side, artel_graph *g, const artel_estimator_spec *spec,
                                     artel_value *out)
{
    if (spec->prediction_count < 1 || spec->prediction_count > ARTEL_ESTIMATOR_METRICS)
        return misuse(side, "give 1 to 16 where the mode is ARTEL_ESTIMATOR_PREDICT", "no predictions, or this many");
    side->values = spec->prediction_count;
    for (int i = 0; i < side->values; i++) {
        const artel_estimator_prediction *made = &spec->predictions[i];
        if (!made->name || !made->name[0]) return misuse(side, "name each", "a prediction has no name");
        side->name[i] = made->name;
        ARTEL_TRY(artel_graph_describe(g, out[i] = made->value, NULL, NULL, &side->rows[i]));
        if (!side->rows[i]) return misuse(side, "predict rows", "a prediction is a shared value");
    }
    for (int i = side->values; i < ARTEL__ESTIMATOR_VALUES; i++) out[i] = artel_graph_number(g, 0);
    return artel_graph_status(g);
}

static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel__estimator_side *side = user;
    const artel_estimator_options *o = &side->estimator->options;
    artel_estimator_batch batch = {.mode = side->mode, .strategy = side->strategy, .weight = ARTEL_NO_VALUE};
    artel_estimator_spec spec = {.loss = ARTEL_NO_VALUE};
    ARTEL_TRY(list_columns(side, in, &batch));
    ARTEL_TRY(o->model(o->user, g, &batch, &spec));
    ARTEL_TRY(artel_graph_status(g));
    if (side->mode == ARTEL_ESTIMATOR_PREDICT) return trace_prediction(side, g, &spec, out);
    return side->mode == ARTEL_ESTIMATOR_TRAIN ? trace_training(side, g, &spec, out)
                                               : trace_evaluation(side, g, &spec, out);
}

/* -- sides -- */

static artel_status make_function(artel__estimator_side *side)
{
    bool trains = side->mode == ARTEL_ESTIMATOR_TRAIN;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    o.name = trains ? "train" : side->mode == ARTEL_ESTIMATOR_PREDICT ? "predict" : "evaluate";
    o.arguments = side->input.argument;
    o.argument_count = side->input.columns;
    o.output_count = trains ? 1 : ARTEL__ESTIMATOR_VALUES;
    o.training = trains;
    ARTEL_TRY(artel_function_create(side->strategy, &o, trace, side, &side->function));
    if (trains && !artel__function_writes(side->function))
        return misuse(side, "set the spec's optimizer, or write variables by artel_graph_apply()", "it trains nothing");
    for (int i = 0; i < side->values; i++) {
        artel_shape shape;
        ARTEL_TRY(artel_function_output(side->function, i, &side->dtype[i], &shape, NULL));
        size_t rows = side->rows[i] ? (size_t)side->input.given.batch_size : 1;
        side->value[i] = artel__arena_alloc(&side->arena, rows,
                                            (size_t)artel_shape_count(&shape) * artel__cell_size(side->dtype[i]) + 1);
    }
    return artel__arena_status(&side->arena);
}

artel_array artel__side_room(const artel__estimator_side *side, int index)
{
    return (artel_array){.dtype = side->dtype[index], .data = side->value[index]};
}

double artel__side_number(const artel__estimator_side *side, int index, int64_t row)
{
    bool wide = side->dtype[index] == ARTEL_DTYPE_FLOAT64;
    return wide ? ((const double *)side->value[index])[row] : (double)((const float *)side->value[index])[row];
}

static artel_status make_strategy(artel__estimator_side *side, artel_cluster *cluster)
{
    const artel_estimator_options *o = &side->estimator->options;
    artel_strategy_options s = side->estimator->strategy;
    s.cluster = cluster;
    s.batch_size = side->input.given.batch_size;
    if (side->mode != ARTEL_ESTIMATOR_TRAIN) s.shards = 0;
    bool together =
        s.strategy && (strcmp(s.strategy, "multi-worker") == 0 || strcmp(s.strategy, "parameter-server") == 0);
    if (side->mode != ARTEL_ESTIMATOR_TRAIN && together) s.strategy = NULL;
    ARTEL_TRY(artel_strategy_create(side->estimator->ctx, &s, &side->strategy));
    artel_status status = o->build ? o->build(o->user, side->strategy, side->mode) : ARTEL_OK;
    if (status >= 0) return ARTEL_OK;
    return artel__fail(side->estimator->ctx, status, "estimator", "see what it has found",
                       "the function that builds the model has failed");
}

artel_status artel__side_open(artel_estimator *e, artel_estimator_mode mode, artel_estimator_input_fn *input,
                              void *user, artel_cluster *cluster, artel__estimator_side *out)
{
    *out = (artel__estimator_side){.estimator = e, .mode = mode};
    artel__arena_init(&out->arena, e->ctx);
    artel_status status = artel__input_open(e->ctx, input, user, &out->arena, &out->input);
    if (status == ARTEL_OK) status = make_strategy(out, cluster);
    if (status == ARTEL_OK) status = make_function(out);
    if (status < 0) artel__side_close(out);
    return status;
}

void artel__side_close(artel__estimator_side *side)
{
    artel__tfevents_destroy(side->events);
    artel_strategy_destroy(side->strategy);
    artel__input_close(&side->input);
    artel__arena_fini(&side->arena);
    side->events = NULL;
    side->strategy = NULL;
}

artel_status artel__side_point(artel__estimator_side *side, const char *folder, const char *tag, int64_t step,
                               double value)
{
    char path[ARTEL__ESTIMATOR_PATH];
    artel_estimator *e = side->estimator;
    snprintf(path, sizeof path, "%s%s%s", e->options.model_dir, folder[0] ? "/" : "", folder);
    if (!side->events) ARTEL_TRY(artel__tfevents_create(e->ctx, path, 0, &side->events));
    return artel__tfevents_scalar(side->events, tag, step, (float)value);
}
