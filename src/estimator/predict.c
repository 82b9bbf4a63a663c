/* SPDX-License-Identifier: Apache-2.0 */
/* The predicting side: rows in the order of the data, batch by batch, by what the newest checkpoint holds. */
#include <math.h>
#include <string.h>

#include "estimator/estimator_impl.h"

static const artel__range no_ranges[] = {{.name = NULL}};
static const artel__options_kind kind = {"predict spec", "begin with ARTEL_PREDICT_SPEC_INIT",
                                         sizeof(artel_predict_spec), no_ranges};

static artel_status stopped(const artel__estimator_side *side)
{
    artel_context *ctx = side->estimator->ctx;
    if (!artel__cancelled(ctx)) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_CANCELLED, "prediction", "call artel_context_clear to go on",
                       "the prediction was cancelled");
}

/* What the model function has made of one batch. */
static artel_status predict_batch(artel__estimator_side *side, int64_t batch, artel_array *out, int64_t *rows)
{
    for (int i = 0; i < ARTEL__ESTIMATOR_VALUES; i++)
        out[i] = i < side->values ? artel__side_room(side, i) : (artel_array){.data = NULL};
    ARTEL_TRY(artel__input_read(&side->input, batch, rows));
    ARTEL_TRY(artel_function_run(side->function, side->input.array, side->input.columns, out, ARTEL__ESTIMATOR_VALUES));
    for (int i = 0; i < side->values; i++) {
        artel_shape shape;
        ARTEL_TRY(artel_function_output(side->function, i, NULL, &shape, NULL));
        out[i].shape.rank = shape.rank + 1;
        out[i].shape.dim[0] = *rows;
        memcpy(out[i].shape.dim + 1, shape.dim, (size_t)shape.rank * sizeof *shape.dim);
    }
    return ARTEL_OK;
}

static artel_status predict_all(artel__estimator_side *side, const artel_predict_spec *spec, int64_t step)
{
    int64_t batches = artel__input_batches(&side->input);
    artel_array out[ARTEL__ESTIMATOR_VALUES];
    artel_predicted_batch made = {.step = step, .names = side->name, .arrays = out, .count = side->values};
    ARTEL_TRY(ARTEL__HOOKS(side, begin, step, NAN));
    for (int64_t b = 0; b < batches && !side->stop && !made.stop; b++) {
        ARTEL_TRY(stopped(side));
        ARTEL_TRY(ARTEL__HOOKS(side, before, step, NAN));
        ARTEL_TRY(predict_batch(side, b, out, &made.rows));
        artel_status status = spec->predict(spec->user, &made);
        if (status < 0)
            return artel__fail(side->estimator->ctx, status, "predict function", "see what it has found",
                               "it has failed");
        made.first += made.rows;
        ARTEL_TRY(ARTEL__HOOKS(side, after, step, NAN));
    }
    return ARTEL__HOOKS(side, end, step, NAN);
}

static artel_status predict(artel__estimator_side *side, const artel_predict_spec *spec)
{
    artel_checkpoint_info found;
    const char *directory = spec->checkpoint ? spec->checkpoint : side->estimator->options.model_dir;
    ARTEL_TRY(artel__side_take_hooks(side, spec->hooks, spec->hook_count));
    ARTEL_TRY(artel__estimator_restore(side, directory, -1, &found, NULL));
    if (found.step < 0)
        return artel__fail(side->estimator->ctx, ARTEL_ERROR_NOT_FOUND, directory, "train first",
                           "there is no whole checkpoint");
    return predict_all(side, spec, found.step);
}

artel_status artel_estimator_predict(artel_estimator *e, const artel_predict_spec *spec)
{
    artel_predict_spec chosen = ARTEL_PREDICT_SPEC_INIT;
    artel__estimator_side side;
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "estimator spec", e, spec));
    ARTEL_TRY(artel__take_options(e->ctx, &kind, spec, &chosen));
    if (!chosen.input || !chosen.predict)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "predict spec", "set input and predict",
                           "there is no %s function", chosen.input ? "predict" : "input");
    ARTEL_TRY(artel__side_open(e, ARTEL_ESTIMATOR_PREDICT, chosen.input, chosen.user, NULL, &side));
    artel_status status = predict(&side, &chosen);
    artel__side_close(&side);
    return status;
}
