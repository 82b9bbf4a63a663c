/* SPDX-License-Identifier: Apache-2.0 */
/* Who does what: alone everything, in a cluster by this task's role (tf.estimator.train_and_evaluate). */
#include <string.h>

#include "estimator/estimator_impl.h"

#define TRAIN(field) offsetof(artel_train_spec, field)
#define EVAL(field) offsetof(artel_eval_spec, field)
static const artel__range train_ranges[] = {{"max_steps", ARTEL__RANGE_INT64, TRAIN(max_steps), 0, 1e15, NULL},
                                            {"steps", ARTEL__RANGE_INT64, TRAIN(steps), 0, 1e15, NULL},
                                            {.name = NULL}};
static const artel__range eval_ranges[] = {
    {"steps", ARTEL__RANGE_INT64, EVAL(steps), 0, 1e15, NULL},
    {"start_delay_secs", ARTEL__RANGE_DOUBLE, EVAL(start_delay_secs), 0, 1e9, NULL},
    {"throttle_secs", ARTEL__RANGE_DOUBLE, EVAL(throttle_secs), 0, 1e9, NULL},
    {.name = NULL}};
static const artel__options_kind train_kind = {"train spec", "begin with ARTEL_TRAIN_SPEC_INIT",
                                               sizeof(artel_train_spec), train_ranges};
static const artel__options_kind eval_kind = {"eval spec", "begin with ARTEL_EVAL_SPEC_INIT", sizeof(artel_eval_spec),
                                              eval_ranges};

static artel_status take_train(artel_estimator *e, const artel_train_spec *given, artel_train_spec *out)
{
    *out = (artel_train_spec)ARTEL_TRAIN_SPEC_INIT;
    ARTEL_TRY(artel__take_options(e->ctx, &train_kind, given, out));
    if (!out->input)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "train spec", "set input", "there is no input function");
    if (out->steps && out->max_steps)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "train spec", "give one of them",
                           "both steps and max_steps are given");
    return ARTEL_OK;
}

static artel_status take_eval(artel_estimator *e, const artel_eval_spec *given, artel_eval_spec *out)
{
    *out = (artel_eval_spec)ARTEL_EVAL_SPEC_INIT;
    ARTEL_TRY(artel__take_options(e->ctx, &eval_kind, given, out));
    if (!out->input)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "eval spec", "set input", "there is no input function");
    return ARTEL_OK;
}

artel_status artel_estimator_train(artel_estimator *e, const artel_train_spec *spec)
{
    artel_train_spec chosen;
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "estimator spec", e, spec));
    ARTEL_TRY(take_train(e, spec, &chosen));
    return artel__estimator_train(e, &chosen, NULL);
}

artel_status artel_estimator_evaluate(artel_estimator *e, const artel_eval_spec *spec, artel_history **out)
{
    artel_eval_spec chosen;
    artel__evaluator v;
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "estimator spec out", e, spec, out));
    ARTEL_TRY(take_eval(e, spec, &chosen));
    ARTEL_TRY(artel__evaluator_open(e, &chosen, 0, &v));
    if (chosen.checkpoint) v.directory = chosen.checkpoint;
    artel_status status = artel__evaluator_look(&v);
    if (status == ARTEL_OK && v.evaluated < 0)
        status = artel__fail(e->ctx, ARTEL_ERROR_NOT_FOUND, v.directory, "train first", "there is no whole checkpoint");
    if (status == ARTEL_OK) artel__evaluator_give(&v, out);
    artel__evaluator_close(&v);
    return status;
}

static artel_status train_and_evaluate(artel_estimator *e, const artel_train_spec *train, const artel_eval_spec *eval,
                                       bool trains, artel_history **out)
{
    artel__evaluator v;
    ARTEL_TRY(artel__evaluator_open(e, eval, train->max_steps, &v));
    v.exports = true;
    artel_status status = trains ? artel__estimator_train(e, train, &v) : artel__evaluator_follow(&v);
    if (status == ARTEL_OK && trains) status = artel__evaluator_look(&v); /* of the end, throttled or not */
    if (status == ARTEL_OK) artel__evaluator_give(&v, out);
    artel__evaluator_close(&v);
    return status;
}

artel_status artel_train_and_evaluate(artel_estimator *e, const artel_train_spec *train, const artel_eval_spec *eval,
                                      artel_history **out)
{
    artel_train_spec trained;
    artel_eval_spec evaluated;
    ARTEL_TRY(artel__enter(e ? e->ctx : NULL, __func__, "estimator train eval", e, train, eval));
    ARTEL_TRY(take_train(e, train, &trained));
    ARTEL_TRY(take_eval(e, eval, &evaluated));
    if (evaluated.checkpoint)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "eval spec", "leave .checkpoint to artel_estimator_evaluate",
                           "a checkpoint is named, and all of the training are evaluated");
    if (trained.steps)
        return artel__fail(e->ctx, ARTEL_ERROR_INVALID, "train spec", "give max_steps",
                           "steps of a call say nothing to an evaluator");
    if (out) *out = NULL;
    const artel_cluster *cluster = e->strategy.cluster;
    bool beside = cluster && strcmp(artel_cluster_role(cluster), "evaluator") == 0;
    if (beside || artel_cluster_size(cluster) <= 1) return train_and_evaluate(e, &trained, &evaluated, !beside, out);
    return artel__estimator_train(e, &trained, NULL);
}
