/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluation and prediction: one pass over data in its own order, on any number of replicas. */
#include <string.h>

#include "train/fit_impl.h"

/* What evaluation and prediction share: settings, session, order of rows. */
typedef struct pass {
    artel__fit fit; /* only what logs and sessions need is used */
    artel__feed *feed;
    uint64_t *order;
    int64_t rows, batch_size, steps;
} pass;

static artel_status open_pass(pass *p, artel_data *data, artel__mode mode, const artel_evaluate_options *options)
{
    artel__fit *fit = &p->fit;
    artel__data_wants wants;
    if (mode == ARTEL__MODE_EVALUATE)
        ARTEL_TRY(artel__settings_read(&fit->arena, fit->model, false, 1, options->batch_size, &fit->settings));
    ARTEL_TRY(artel__objective_wants(&fit->arena, fit->model->nn, &fit->settings, mode, &wants));
    ARTEL_TRY(artel__data_bind(data, &wants, &p->feed));
    artel__session_options session = {.model = fit->model,
                                      .settings = &fit->settings,
                                      .strategy = options->strategy,
                                      .replicas = options->replicas,
                                      .threads = options->threads,
                                      .batch_size = options->batch_size,
                                      .shards = (int32_t)options->shards};
    ARTEL_TRY(artel__session_create(fit->ctx, &session, &fit->session));
    ARTEL_TRY(artel__session_prepare(fit->session, mode, p->feed, artel__batch_room(p->feed, options->batch_size)));
    p->rows = artel__feed_count(p->feed);
    p->batch_size = options->batch_size;
    p->steps = (p->rows + p->batch_size - 1) / p->batch_size;
    if (options->steps > 0 && options->steps < p->steps) p->steps = options->steps;
    p->order = artel__arena_alloc(&fit->arena, (size_t)p->rows + 1, sizeof *p->order);
    if (!p->order) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < p->rows; i++) p->order[i] = (uint64_t)i;
    return ARTEL_OK;
}

static void init_pass(pass *p, artel_model *model, const artel_evaluate_options *options)
{
    *p = (pass){.fit = {.ctx = model->ctx, .model = model}};
    p->fit.options.on_event = options->on_event;
    p->fit.options.event_user = options->event_user;
    p->fit.options.epochs = 1;
    artel__operation_begin(model->ctx);
    artel__arena_init(&p->fit.arena, model->ctx);
}

/* The caller's options, completed with defaults where its struct is an older, shorter one. */
static artel_status take_options(artel_model *model, const artel_evaluate_options *given, artel_evaluate_options *out)
{
    *out = (artel_evaluate_options)ARTEL_EVALUATE_OPTIONS_INIT;
    if (!given) return ARTEL_OK;
    artel__operation_begin(model->ctx);
    if (given->struct_size < sizeof given->struct_size)
        return artel__fail(model->ctx, ARTEL_ERROR_INVALID, "evaluate options", "begin with ARTEL_EVALUATE_OPTIONS_INIT",
                           "struct_size is not set");
    memcpy(out, given, given->struct_size < sizeof *out ? given->struct_size : sizeof *out);
    return ARTEL_OK;
}

static void close_pass(pass *p)
{
    artel__session_destroy(p->fit.session);
    artel__feed_destroy(p->feed);
    artel__arena_fini(&p->fit.arena);
}

/* The n-th batch; cancelled runs end here. */
static artel_status step_pass(pass *p, artel__mode mode, int64_t step, artel__batch *batch)
{
    artel__fit *fit = &p->fit;
    if (artel__cancelled(fit->ctx) || artel__preempted(fit->ctx))
        return artel__fail(fit->ctx, ARTEL_ERROR_CANCELLED, "the pass over the data", "start the same command again for the whole result",
                           "stopped on request after %lld of %lld batches", (long long)step, (long long)p->steps);
    int64_t row = step * p->batch_size;
    *batch = (artel__batch){.rows = p->order + row, .count = p->rows - row < p->batch_size ? p->rows - row : p->batch_size};
    return artel__session_step(fit->session, mode, batch);
}

static artel_status step_event(pass *p, int64_t step)
{
    artel__fit *fit = &p->fit;
    fit->step = fit->step_in_epoch = step + 1;
    fit->steps_per_epoch = p->steps;
    if (!fit->options.on_event) return ARTEL_OK;
    ARTEL_TRY(artel__tally_logs(fit, &fit->tally, artel__session_objective(fit->session, ARTEL__MODE_EVALUATE), "", &fit->step_logs));
    artel_event event = {.kind = ARTEL_EVENT_STEP,
                         .loss = fit->step_logs.count ? artel__logs_get(&fit->step_logs, "loss") : 0,
                         .metrics = fit->step_logs.item,
                         .metric_count = fit->step_logs.count};
    artel__fit_event(fit, &event);
    return ARTEL_OK;
}

static artel_status run_evaluate(pass *p, artel_history **out)
{
    artel__fit *fit = &p->fit;
    const artel__objective *objective = artel__session_objective(fit->session, ARTEL__MODE_EVALUATE);
    artel__batch batch;
    ARTEL_TRY(artel__tally_init(&fit->arena, &fit->settings, objective, &fit->tally));
    for (int64_t step = 0; step < p->steps; step++) {
        ARTEL_TRY(step_pass(p, ARTEL__MODE_EVALUATE, step, &batch));
        artel__tally_add(&fit->tally, fit->session, ARTEL__MODE_EVALUATE, batch.count);
        ARTEL_TRY(step_event(p, step));
    }
    ARTEL_TRY(artel__tally_logs(fit, &fit->tally, objective, "", &fit->logs));
    artel_event event = {.kind = ARTEL_EVENT_EVALUATE,
                         .metrics = fit->logs.item,
                         .metric_count = fit->logs.count,
                         .loss = artel__logs_get(&fit->logs, "loss")};
    artel__fit_event(fit, &event);
    artel_history *history;
    ARTEL_TRY(artel__history_create(fit->ctx, &history));
    artel_status status = artel__history_append(history, &fit->logs);
    if (status < 0) {
        artel_history_destroy(history);
        return status;
    }
    *out = history;
    return ARTEL_OK;
}

artel_status artel_model_evaluate(artel_model *model, artel_data *data, const artel_evaluate_options *options, artel_history **out)
{
    artel_evaluate_options chosen;
    pass p;
    ARTEL_TRY(take_options(model, options, &chosen));
    init_pass(&p, model, &chosen);
    artel_history *history = NULL;
    artel_status status = open_pass(&p, data, ARTEL__MODE_EVALUATE, &chosen);
    if (status == ARTEL_OK) status = run_evaluate(&p, &history);
    close_pass(&p);
    if (status == ARTEL_OK && out)
        *out = history;
    else
        artel_history_destroy(history);
    return status;
}

/* -- prediction -- */

struct artel_predictions {
    artel_context *ctx;
    artel__arena arena;
    int count;
    const char **name;
    artel_shape *shape;
    float **values;
};

void artel_predictions_destroy(artel_predictions *predictions)
{
    if (!predictions) return;
    artel_context *ctx = predictions->ctx;
    for (int i = 0; i < predictions->count; i++) artel__free(ctx, predictions->values[i]);
    artel__arena_fini(&predictions->arena);
    artel__free(ctx, predictions);
}

static artel_status make_predictions(const pass *p, int64_t rows, artel_predictions **out)
{
    const artel__fit *fit = &p->fit;
    const artel__objective *objective = artel__session_objective(fit->session, ARTEL__MODE_PREDICT);
    int outputs = fit->model->nn->outputs;
    void *block;
    ARTEL_TRY(artel__calloc(fit->ctx, 1, sizeof(artel_predictions), "predictions", &block));
    artel_predictions *predictions = block;
    *out = predictions;
    predictions->ctx = fit->ctx;
    artel__arena_init(&predictions->arena, fit->ctx);
    predictions->name = artel__arena_alloc(&predictions->arena, (size_t)outputs, sizeof *predictions->name);
    predictions->shape = artel__arena_alloc(&predictions->arena, (size_t)outputs, sizeof *predictions->shape);
    predictions->values = artel__arena_alloc(&predictions->arena, (size_t)outputs, sizeof *predictions->values);
    ARTEL_TRY(artel__arena_status(&predictions->arena));
    for (int i = 0; i < outputs; i++) {
        const artel__value *value = &objective->graph.value[objective->graph.kept[objective->prediction_kept[i]]];
        predictions->name[i] = artel__arena_strdup(&predictions->arena, fit->model->nn->output[i].name);
        if (value->shape.rank >= ARTEL_MAX_RANK)
            return artel__fail(fit->ctx, ARTEL_ERROR_UNSUPPORTED, fit->model->nn->output[i].name, "reshape it in the model",
                               "the output has %d axes and the rows make one more than is possible", value->shape.rank);
        predictions->shape[i].rank = value->shape.rank + 1;
        predictions->shape[i].dim[0] = rows;
        for (int d = 0; d < value->shape.rank; d++) predictions->shape[i].dim[d + 1] = value->shape.dim[d];
        ARTEL_TRY(artel__alloc(fit->ctx, (size_t)(rows * value->storage + 1) * sizeof(float), "predictions", &block));
        predictions->values[i] = block;
        predictions->count = i + 1;
    }
    return artel__arena_status(&predictions->arena);
}

static artel_status run_predict(pass *p, artel_predictions **out)
{
    int64_t rows = p->steps * p->batch_size < p->rows ? p->steps * p->batch_size : p->rows;
    artel__batch batch;
    ARTEL_TRY(make_predictions(p, rows, out));
    for (int64_t step = 0; step < p->steps; step++) {
        ARTEL_TRY(step_pass(p, ARTEL__MODE_PREDICT, step, &batch));
        for (int i = 0; i < (*out)->count; i++) {
            int64_t row = artel_shape_count(&(*out)->shape[i]) / (rows ? rows : 1);
            artel__session_predictions(p->fit.session, i, (*out)->values[i] + step * p->batch_size * row);
        }
        p->fit.step = p->fit.step_in_epoch = step + 1;
        p->fit.steps_per_epoch = p->steps;
        artel_event event = {.kind = ARTEL_EVENT_STEP};
        artel__fit_event(&p->fit, &event);
    }
    return ARTEL_OK;
}

artel_status artel_model_predict(artel_model *model, artel_data *data, const artel_evaluate_options *options, artel_predictions **out)
{
    artel_evaluate_options chosen;
    pass p;
    ARTEL_TRY(take_options(model, options, &chosen));
    init_pass(&p, model, &chosen);
    artel_predictions *predictions = NULL;
    p.fit.settings.outputs = 0;
    artel_status status = open_pass(&p, data, ARTEL__MODE_PREDICT, &chosen);
    if (status == ARTEL_OK) status = run_predict(&p, &predictions);
    close_pass(&p);
    if (status == ARTEL_OK)
        *out = predictions;
    else
        artel_predictions_destroy(predictions);
    return status;
}

int artel_predictions_count(const artel_predictions *predictions)
{
    return predictions->count;
}

artel_status artel_predictions_get(const artel_predictions *predictions, int index, const char **name, artel_shape *shape,
                                   const float **values)
{
    if (index < 0 || index >= predictions->count)
        return artel__fail(predictions->ctx, ARTEL_ERROR_INVALID, "predictions", "see artel_predictions_count", "there is no output %d",
                           index);
    if (name) *name = predictions->name[index];
    if (shape) *shape = predictions->shape[index];
    if (values) *values = predictions->values[index];
    return ARTEL_OK;
}
