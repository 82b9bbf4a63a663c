/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation and prediction: one pass over data in its own order, on any number of replicas. */
#include <string.h>

#include "base/argument.h"
#include "train/content.h"
#include "train/options.h"

/* What evaluation and prediction share: settings, session, order of rows. */
typedef struct pass {
    artel__fit fit; /* only what logs and sessions need is used */
    artel__feed *feed;
    uint64_t *order;
    artel__batch_cut cut;
    int64_t *place; /* with buckets, by batch: where it begins in the order */
    void *scratch;  /* with buckets: an output of a batch */
    int64_t rows, batch_size;
    artel__mode mode;
    artel_predictions *predictions; /* PREDICT */
    artel_history *history;         /* EVALUATE, when it is over */
    artel_pass_result_fn *on_result;
} pass;

/* Where batches have no size in common: a pass may be taken up at any of them. */
static artel_status find_places(pass *p)
{
    int64_t batches = artel__batch_count(&p->cut);
    p->place = artel__arena_alloc(&p->fit.arena, (size_t)batches + 1, sizeof *p->place);
    if (!p->place) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < batches; i++) p->place[i + 1] = artel__batch_behind(&p->cut, p->order, p->place[i], 1);
    return ARTEL_OK;
}

static artel__batch_rows rows_of(const pass *p, int64_t unit)
{
    return artel__batch_at(&p->cut, p->order, p->place ? p->place[unit] : unit * p->batch_size);
}

static artel_status open_pass(pass *p, artel_data *data, artel__mode mode, const artel_evaluate_options *options)
{
    artel__fit *fit = &p->fit;
    artel__data_wants wants;
    if (artel__model_is_custom(fit->model->nn) && fit->writes)
        artel__log(
            fit->ctx, ARTEL_LOG_NOTE,
            "the model's class %s is the user's own: a test_step, predict_step or call of its own is not in the file",
            fit->model->nn->class_name);
    if (mode == ARTEL__MODE_EVALUATE)
        ARTEL_TRY(artel__settings_read(
            &fit->arena,
            &(artel__settings_source){
                .model = fit->model, .data = data, .replicas = 1, .batch_size = options->batch_size},
            &fit->settings));
    if (mode == ARTEL__MODE_EVALUATE) artel__settings_warn(fit->model, &fit->settings);
    ARTEL_TRY(artel__objective_wants(&fit->arena, fit->model->nn, &fit->settings, mode, &wants));
    wants.buckets = true;
    ARTEL_TRY(artel__data_bind(data, &wants, &p->feed));
    p->batch_size = fit->input.batch_size = artel__batch_size_of(data, options->batch_size);
    artel__session_options session = {.model = fit->model,
                                      .settings = &fit->settings,
                                      .strategy = options->strategy,
                                      .all_reduce = options->all_reduce,
                                      .replicas = options->replicas,
                                      .threads = options->threads,
                                      .batch_size = p->batch_size,
                                      .shards = (int32_t)options->shards,
                                      .cluster = options->cluster,
                                      .device = ARTEL__DEVICE_REQUEST(options, options->allow_mixed_arithmetic, true),
                                      .arithmetic = options->arithmetic};
    ARTEL_TRY(artel__session_create(fit->ctx, &session, &fit->session));
    p->rows = artel__feed_count(p->feed);
    p->mode = mode;
    ARTEL_TRY(artel__batch_cut_init(&fit->arena, p->feed, options->batch_size, &p->cut));
    fit->at.units = artel__batch_count(&p->cut);
    if (options->steps > fit->at.units && fit->writes)
        artel__log(fit->ctx, ARTEL_LOG_WARNING, "the pass ends after %lld of %lld steps, with the data, as in Keras",
                   (long long)fit->at.units, (long long)options->steps);
    if (options->steps > 0 && options->steps < fit->at.units) fit->at.units = options->steps;
    ARTEL_TRY(artel__content_begin(fit, p->feed, NULL, NULL));
    ARTEL_TRY(artel__session_prepare(fit->session, mode, p->feed, artel__batch_room(p->feed, p->batch_size)));
    ARTEL_TRY(artel__batch_order(&fit->arena, &p->cut, &p->order));
    return p->cut.buckets ? find_places(p) : ARTEL_OK;
}

/* The metrics of an evaluation that is over, told once. */
static artel_status take_metrics(pass *p)
{
    artel__fit *fit = &p->fit;
    if (p->mode != ARTEL__MODE_EVALUATE || p->history) return ARTEL_OK;
    ARTEL_TRY(artel__tally_logs(fit, &fit->tally, artel__session_objective(fit->session, ARTEL__MODE_EVALUATE), "",
                                &fit->logs.epoch));
    artel_history *history;
    ARTEL_TRY(artel__history_create(fit->ctx, &history));
    artel_status status = artel__history_append(history, &fit->logs.epoch);
    if (status < 0) {
        artel_history_destroy(history);
        return status;
    }
    p->history = history;
    artel_event event = {.kind = ARTEL_EVENT_EVALUATE,
                         .metrics = fit->logs.epoch.item,
                         .metric_count = fit->logs.epoch.count,
                         .loss = artel__logs_get(&fit->logs.epoch, "loss")};
    artel__fit_event(fit, &event);
    return ARTEL_OK;
}

/* In a cluster: all hold the whole result, and stay until the one that writes has written it. */
static artel_status conclude(artel__fit *fit, bool preempted)
{
    pass *p = (pass *)fit; /* its first member */
    if (preempted) return ARTEL_OK;
    ARTEL_TRY(take_metrics(p));
    if (!p->on_result || !fit->writes) return ARTEL_OK;
    artel_status status = p->on_result(fit->options.event_user, p->history, p->predictions);
    if (status >= 0) return ARTEL_OK;
    return artel__fail(fit->ctx, status, "results", "see what it has found",
                       "the function that writes them has failed");
}

static void init_pass(pass *p, artel_model *model, const artel_evaluate_options *options)
{
    *p = (pass){.fit = {.ctx = model->ctx, .model = model}};
    p->fit.options.on_event = options->on_event;
    p->fit.options.event_user = options->event_user;
    p->fit.options.cluster = options->cluster;
    p->fit.options.epochs = 1;
    p->fit.writes = !options->cluster || artel_cluster_writes(options->cluster);
    p->fit.result.conclude = conclude;
    p->on_result = options->on_result;
    artel__arena_init(&p->fit.arena, model->ctx);
}

static artel_status close_pass(pass *p, artel_status status)
{
    status = artel__fit_end(&p->fit, status);
    artel__session_destroy(p->fit.session);
    artel__feed_destroy(p->feed);
    artel__arena_fini(&p->fit.arena);
    return status;
}

/* The next batch; cancelled passes end here. */
static artel_status step_pass(pass *p, artel__batch *batch)
{
    artel__fit *fit = &p->fit;
    if (artel__cancelled(fit->ctx) || artel__preempted(fit->ctx))
        return artel__fail(fit->ctx, ARTEL_ERROR_CANCELLED, "the pass over the data",
                           "start the same command again for the whole result",
                           "stopped on request after %lld of %lld batches", (long long)fit->at.unit,
                           (long long)fit->at.units);
    artel__batch_rows next = rows_of(p, fit->at.unit);
    *batch = (artel__batch){.rows = next.rows, .count = next.count, .bucket = next.bucket};
    for (int i = 0; i < ARTEL__PREFETCH_AHEAD && fit->at.unit + i + 1 < fit->at.units; i++)
        batch->ahead[i] = rows_of(p, fit->at.unit + i + 1);
    batch->compares = fit->content.reads && (fit->at.unit + 1 == fit->at.units || fit->at.unit % 64 == 63);
    return artel__session_step(fit->session, p->mode, batch);
}

/* All batches, alone or with the other tasks, and the result. */
static artel_status run_pass(pass *p, artel__fit_unit_fn *unit)
{
    p->fit.at.ended = p->fit.at.units == 0;
    ARTEL_TRY(artel__pass_join(&p->fit, p->mode, p->feed, p->fit.at.units));
    ARTEL_TRY(artel__fit_run(&p->fit, unit));
    return artel__session_cluster(p->fit.session) ? take_metrics(p) : conclude(&p->fit, false);
}

static artel_status step_event(pass *p, int64_t step)
{
    artel__fit *fit = &p->fit;
    fit->at.step = fit->at.step_in_epoch = step + 1;
    fit->input.steps_per_epoch = fit->at.units;
    if (!fit->options.on_event) return ARTEL_OK;
    artel_event event = {.kind = ARTEL_EVENT_STEP};
    if (p->mode == ARTEL__MODE_EVALUATE) {
        ARTEL_TRY(artel__tally_logs(fit, &fit->tally, artel__session_objective(fit->session, ARTEL__MODE_EVALUATE), "",
                                    &fit->logs.step));
        event.loss = fit->logs.step.count ? artel__logs_get(&fit->logs.step, "loss") : 0;
        event.metrics = fit->logs.step.item;
        event.metric_count = fit->logs.step.count;
    }
    artel__fit_event(fit, &event);
    return ARTEL_OK;
}

static artel_status evaluate_batch(artel__fit *fit)
{
    pass *p = (pass *)fit; /* its first member */
    artel__batch batch;
    ARTEL_TRY(step_pass(p, &batch));
    artel__tally_add(&fit->tally, fit->session, ARTEL__MODE_EVALUATE, batch.count);
    fit->at.ended = fit->at.unit + 1 == fit->at.units;
    return step_event(p, fit->at.unit);
}

static artel_status run_evaluate(pass *p)
{
    artel__fit *fit = &p->fit;
    const artel__objective *objective = artel__session_objective(fit->session, ARTEL__MODE_EVALUATE);
    ARTEL_TRY(artel__tally_init(&fit->arena, &fit->settings, objective, &fit->tally));
    return run_pass(p, evaluate_batch);
}

artel_status artel_model_evaluate(artel_model *model, artel_data *data, const artel_evaluate_options *options,
                                  artel_history **out)
{
    artel_evaluate_options chosen = ARTEL_EVALUATE_OPTIONS_INIT;
    pass p;
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model data", model, data));
    ARTEL_TRY(artel__take_options(model->ctx, &artel__evaluate_kind, options, &chosen));
    ARTEL_TRY(artel__fit_need_context(model->ctx, data, chosen.cluster));
    init_pass(&p, model, &chosen);
    artel_status status = open_pass(&p, data, ARTEL__MODE_EVALUATE, &chosen);
    if (status == ARTEL_OK) status = run_evaluate(&p);
    status = close_pass(&p, status);
    if (status == ARTEL_OK && out)
        *out = p.history;
    else
        artel_history_destroy(p.history);
    return status;
}

/* -- prediction -- */

struct artel_predictions {
    artel_context *ctx;
    artel__arena arena;
    int outputs;
    const char **name;
    artel_shape *shape;
    artel_dtype *dtype;
    void **native;  /* values of an output that is not float32 in its own type, else NULL; in `block`, in front of all
                       `values` */
    float **values; /* in `block` */
    void *block;
};

void artel_predictions_destroy(artel_predictions *predictions)
{
    if (!predictions) return;
    artel_context *ctx = predictions->ctx;
    artel__free(ctx, predictions->block);
    artel__arena_fini(&predictions->arena);
    artel__free(ctx, predictions);
}

static const artel__value *output_value(const pass *p, int i)
{
    const artel__objective *o = artel__session_objective(p->fit.session, ARTEL__MODE_PREDICT);
    return &o->graph.value[o->graph.kept[o->prediction_kept[i]]];
}

/* What the model computes an output in. Nothing holds bfloat16 outside, and float32 holds all of it. */
static artel_dtype native_type(const pass *p, int i)
{
    const artel__value *value = output_value(p, i);
    return value->dtype == ARTEL_DTYPE_FLOAT32 && value->precision == ARTEL_DTYPE_FLOAT16 ? ARTEL_DTYPE_FLOAT16
                                                                                          : value->dtype;
}

/* To whole doubles, so that what follows is aligned. */
static size_t native_bytes(const artel_predictions *predictions, int i)
{
    size_t bytes = (size_t)artel_shape_count(&predictions->shape[i]) * artel_dtype_size(predictions->dtype[i]);
    return predictions->dtype[i] == ARTEL_DTYPE_FLOAT32 ? 0 : (bytes + 7) / 8 * 8;
}

/* All outputs lie in one block, so that another task can take over what has been predicted. */
static artel_status make_values(pass *p, artel_predictions *predictions, int64_t rows)
{
    size_t total = 0, native = 0;
    void *block;
    for (int i = 0; i < predictions->outputs; i++) {
        predictions->dtype[i] = native_type(p, i);
        total += (size_t)artel_shape_count(&predictions->shape[i]);
        native += native_bytes(predictions, i);
    }
    size_t bytes = native + total * sizeof(float);
    ARTEL_TRY(artel__calloc(p->fit.ctx, bytes + 1, 1, "predictions", &block));
    predictions->block = block;
    uint8_t *at = block;
    float *floats = (float *)(void *)(at + native);
    for (int i = 0; i < predictions->outputs; i++) {
        predictions->values[i] = floats;
        floats += artel_shape_count(&predictions->shape[i]);
        if (predictions->dtype[i] != ARTEL_DTYPE_FLOAT32) predictions->native[i] = at;
        at += native_bytes(predictions, i);
    }
    p->fit.result.extra = block;
    p->fit.result.extra_bytes = rows ? bytes : 0;
    return ARTEL_OK;
}

static artel_status make_predictions(pass *p, int64_t rows, artel_predictions **out)
{
    const artel__fit *fit = &p->fit;
    int outputs = fit->model->nn->outputs;
    void *block;
    ARTEL_TRY(artel__calloc(fit->ctx, 1, sizeof(artel_predictions), "predictions", &block));
    artel_predictions *predictions = block;
    *out = predictions;
    predictions->ctx = fit->ctx;
    predictions->outputs = outputs;
    artel__arena_init(&predictions->arena, fit->ctx);
    predictions->name = artel__arena_alloc(&predictions->arena, (size_t)outputs, sizeof *predictions->name);
    predictions->shape = artel__arena_alloc(&predictions->arena, (size_t)outputs, sizeof *predictions->shape);
    predictions->values = artel__arena_alloc(&predictions->arena, (size_t)outputs, sizeof *predictions->values);
    predictions->native = artel__arena_alloc(&predictions->arena, (size_t)outputs, sizeof *predictions->native);
    predictions->dtype = artel__arena_alloc(&predictions->arena, (size_t)outputs, sizeof *predictions->dtype);
    ARTEL_TRY(artel__arena_status(&predictions->arena));
    for (int i = 0; i < outputs; i++) {
        const artel__value *value = output_value(p, i);
        predictions->name[i] = artel__arena_strdup(&predictions->arena, fit->model->nn->output[i].name);
        if (value->shape.rank >= ARTEL_MAX_RANK)
            return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, fit->model->nn->output[i].name,
                               "reshape it in the model",
                               "the output has %d axes and the rows make one more than is possible", value->shape.rank);
        predictions->shape[i].rank = value->shape.rank + 1;
        predictions->shape[i].dim[0] = rows;
        for (int d = 0; d < value->shape.rank; d++) predictions->shape[i].dim[d + 1] = value->shape.dim[d];
    }
    ARTEL_TRY(make_values(p, predictions, rows));
    return artel__arena_status(&predictions->arena);
}

/* Rows of a batch to their places: one behind another, or, of buckets, each where the data has it. */
static void take_output(pass *p, const artel__batch *batch, int i, artel_dtype dtype, void *values)
{
    const artel_shape *shape = &p->predictions->shape[i];
    int64_t rows = shape->dim[0] ? shape->dim[0] : 1;
    size_t row_bytes = (size_t)(artel_shape_count(shape) / rows) * artel_dtype_size(dtype);
    if (p->scratch)
        artel__session_scatter(p->fit.session, i, dtype, batch, p->scratch, values);
    else
        artel__session_predictions(p->fit.session, i, dtype,
                                   (uint8_t *)values + (size_t)(p->fit.at.unit * p->batch_size) * row_bytes);
}

static artel_status predict_batch(artel__fit *fit)
{
    pass *p = (pass *)fit; /* its first member */
    artel_predictions *predictions = p->predictions;
    artel__batch batch;
    ARTEL_TRY(step_pass(p, &batch));
    for (int i = 0; i < predictions->outputs; i++) {
        take_output(p, &batch, i, ARTEL_DTYPE_FLOAT32, predictions->values[i]);
        if (predictions->native[i]) take_output(p, &batch, i, predictions->dtype[i], predictions->native[i]);
    }
    fit->at.ended = fit->at.unit + 1 == fit->at.units;
    return step_event(p, fit->at.unit);
}

/* Of buckets: rows of one shape, all of them, and room for a batch. */
static artel_status prepare_scattering(pass *p)
{
    const artel__fit *fit = &p->fit;
    int64_t most = 0;
    if (!p->cut.buckets) return ARTEL_OK;
    ARTEL_TRY(artel__session_check_outputs(fit->session));
    if (fit->at.units < artel__batch_count(&p->cut))
        return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, ".steps", "leave .steps out, or take some of the data",
                           "the first batches of like length are not the first rows of the data");
    for (int i = 0; i < fit->model->nn->outputs; i++)
        most = output_value(p, i)->storage > most ? output_value(p, i)->storage : most;
    p->scratch = artel__arena_alloc(&p->fit.arena, (size_t)(most * p->batch_size) + 1, sizeof(double));
    return artel__arena_status(&p->fit.arena);
}

static artel_status run_predict(pass *p)
{
    ARTEL_TRY(prepare_scattering(p));
    int64_t rows = p->fit.at.units * p->batch_size < p->rows ? p->fit.at.units * p->batch_size : p->rows;
    ARTEL_TRY(make_predictions(p, rows, &p->predictions));
    return run_pass(p, predict_batch);
}

artel_status artel_model_predict(artel_model *model, artel_data *data, const artel_evaluate_options *options,
                                 artel_predictions **out)
{
    artel_evaluate_options chosen = ARTEL_EVALUATE_OPTIONS_INIT;
    pass p;
    ARTEL_TRY(artel__enter(model ? model->ctx : NULL, __func__, "model data out", model, data, out));
    ARTEL_TRY(artel__take_options(model->ctx, &artel__evaluate_kind, options, &chosen));
    ARTEL_TRY(artel__fit_need_context(model->ctx, data, chosen.cluster));
    init_pass(&p, model, &chosen);
    p.fit.settings.outputs = 0;
    artel_status status = open_pass(&p, data, ARTEL__MODE_PREDICT, &chosen);
    if (status == ARTEL_OK) status = run_predict(&p);
    status = close_pass(&p, status);
    if (status == ARTEL_OK)
        *out = p.predictions;
    else
        artel_predictions_destroy(p.predictions);
    return status;
}

int artel_predictions_count(const artel_predictions *predictions)
{
    return predictions ? predictions->outputs : 0;
}

artel_status artel_predictions_get(const artel_predictions *predictions, int index, const char **name,
                                   artel_shape *shape, const float **values)
{
    ARTEL_TRY(artel__enter(predictions ? predictions->ctx : NULL, __func__, "predictions", predictions));
    if (index < 0 || index >= predictions->outputs)
        return artel__fail(predictions->ctx, ARTEL_ERROR_INVALID, "predictions", "see artel_predictions_count",
                           "there is no output %d", index);
    if (name) *name = predictions->name[index];
    if (shape) *shape = predictions->shape[index];
    if (values) *values = predictions->values[index];
    return ARTEL_OK;
}

artel_status artel_predictions_get_float64(const artel_predictions *predictions, int index, const double **values)
{
    artel_dtype dtype;
    const void *native;
    ARTEL_TRY(artel__enter(predictions ? predictions->ctx : NULL, __func__, "predictions values", predictions, values));
    ARTEL_TRY(artel_predictions_get_native(predictions, index, &dtype, &native));
    *values = dtype == ARTEL_DTYPE_FLOAT64 ? native : NULL;
    return ARTEL_OK;
}

artel_status artel_predictions_get_native(const artel_predictions *predictions, int index, artel_dtype *dtype,
                                          const void **values)
{
    ARTEL_TRY(artel__enter(predictions ? predictions->ctx : NULL, __func__, "predictions dtype values", predictions,
                           dtype, values));
    if (index < 0 || index >= predictions->outputs)
        return artel__fail(predictions->ctx, ARTEL_ERROR_INVALID, "predictions", "see artel_predictions_count",
                           "there is no output %d", index);
    const void *native = predictions->native[index];
    *dtype = predictions->dtype[index];
    *values = native ? native : predictions->values[index];
    return ARTEL_OK;
}
