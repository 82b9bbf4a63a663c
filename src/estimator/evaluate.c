/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluating side: checkpoints are taken up, evaluated, told and exported. Metrics are means over rows, added up in
 * float64 in the order of the data: the same under every strategy, in every process. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "estimator/estimator_impl.h"
#include "train/watch.h"

enum {
    MOST_EXPORTERS = 64
};

/* -- opening -- */

static artel_status wrong(const artel_estimator *e, const char *where, const char *advice, const char *what)
{
    return artel__fail(e->ctx, ARTEL_ERROR_INVALID, where, advice, "%s", what);
}

static artel_status check_exporter(const artel__evaluator *v, const artel_exporter *x)
{
    const artel_estimator *e = v->side.estimator;
    if (x->kind < ARTEL_EXPORTER_LATEST || x->kind > ARTEL_EXPORTER_FINAL)
        return wrong(e, "exporter", "latest, best or final", "no such kind");
    if (x->keep < 0)
        return wrong(e, "exporter", "keep at least 1, or 0 for the default", "it keeps a negative number of exports");
    if (x->name && (!x->name[0] || strlen(x->name) > 200 || strchr(x->name, '/') || x->name[0] == '.'))
        return wrong(e, "exporter", "give the name of a folder", "the name is none");
    for (int i = 0; i < v->side.values; i++) {
        if (!x->metric || strcmp(x->metric, v->side.name[i]) == 0) return ARTEL_OK;
    }
    return wrong(e, x->metric, "name \"loss\" or one of the model function's metrics",
                 "there is no such metric to be best by");
}

static const artel__range no_ranges[] = {{.name = NULL}};
static const artel__options_kind exporter_kind = {"exporter", "begin with ARTEL_EXPORTER_INIT", sizeof(artel_exporter),
                                                  no_ranges};

static artel_status take_exporters(artel__evaluator *v)
{
    const artel_eval_spec *spec = v->spec;
    v->exporter = artel__arena_alloc(&v->side.arena, (size_t)spec->exporter_count + 1, sizeof *v->exporter);
    if (!v->exporter) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(
        artel__take_list(v->side.estimator->ctx, &exporter_kind, spec->exporters, spec->exporter_count, v->exporter));
    for (int i = 0; i < spec->exporter_count; i++) ARTEL_TRY(check_exporter(v, &v->exporter[i]));
    return artel__side_take_hooks(&v->side, spec->hooks, spec->hook_count);
}

artel_status artel__evaluator_open(artel_estimator *e, const artel_eval_spec *spec, int64_t max_steps,
                                   artel__evaluator *out)
{
    *out = (artel__evaluator){.spec = spec, .directory = e->options.model_dir, .max_steps = max_steps, .evaluated = -1};
    if (spec->exporter_count < 0 || spec->exporter_count > MOST_EXPORTERS ||
        (spec->exporter_count > 0 && !spec->exporters))
        return wrong(e, "evaluation", "give a list, and how many there are", "the exporters are no list");
    if (spec->name && (strlen(spec->name) > 200 || strchr(spec->name, '/')))
        return wrong(e, "evaluation", "give the name of a folder", "the name is none");
    ARTEL_TRY(artel__side_open(e, ARTEL_ESTIMATOR_EVALUATE, spec->input, spec->user, NULL, &out->side));
    artel_status status = take_exporters(out);
    if (status < 0) artel__evaluator_close(out);
    return status;
}

void artel__evaluator_close(artel__evaluator *v)
{
    artel_history_destroy(v->history);
    v->history = NULL;
    artel__side_close(&v->side);
}

/* -- a pass -- */

static artel_status add_batch(artel__estimator_side *side, int64_t batch, double *sum, int64_t *total)
{
    int64_t rows;
    artel_array out[ARTEL__ESTIMATOR_VALUES] = {{.data = NULL}};
    for (int i = 0; i < side->values; i++) out[i] = artel__side_room(side, i);
    ARTEL_TRY(artel__input_read(&side->input, batch, &rows));
    ARTEL_TRY(artel_function_run(side->function, side->input.array, side->input.columns, out, ARTEL__ESTIMATOR_VALUES));
    for (int i = 0; i < side->values; i++) {
        for (int64_t r = 0; r < rows; r++) sum[i] += artel__side_number(side, i, side->rows[i] ? r : 0);
    }
    *total += rows;
    return ARTEL_OK;
}

static int64_t batches_of(const artel__evaluator *v)
{
    const artel__input *in = &v->side.input;
    int64_t all = artel__input_batches(in), steps = v->spec->steps;
    if (steps == 0) return in->given.passes == 0 ? in->per_pass : all;
    return steps < all ? steps : all;
}

static artel_status stopped(const artel__evaluator *v)
{
    artel_context *ctx = v->side.estimator->ctx;
    if (!artel__cancelled(ctx)) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_CANCELLED, "evaluation", "call artel_context_clear to go on",
                       "the evaluation was cancelled");
}

static artel_status tell(artel__evaluator *v, const artel_metric_value *metric, int count)
{
    char folder[256];
    snprintf(folder, sizeof folder, v->spec->name ? "eval_%s" : "eval", v->spec->name);
    for (int i = 0; i < v->side.values; i++) {
        ARTEL_TRY(artel__side_point(&v->side, folder, metric[i].name, v->found.step, metric[i].value));
        artel__log(v->side.estimator->ctx, ARTEL_LOG_NOTE, "step %lld: %s %.9g", (long long)v->found.step,
                   metric[i].name, metric[i].value);
    }
    ARTEL_TRY(artel__tfevents_flush(v->side.events));
    artel__estimator_event(v->side.estimator, &(artel_event){.kind = ARTEL_EVENT_EVALUATE,
                                                             .step = v->found.step,
                                                             .epoch = v->found.epoch,
                                                             .loss = metric[0].value,
                                                             .metrics = metric,
                                                             .metric_count = count});
    return ARTEL_OK;
}

static artel_status keep(artel__evaluator *v, artel_metric_value *metric, int count)
{
    artel_history *history;
    ARTEL_TRY(artel__history_create(v->side.estimator->ctx, &history));
    artel_status status = artel__history_append(history, &(artel__log_list){metric, count, count});
    if (status < 0) {
        artel_history_destroy(history);
        return status;
    }
    artel_history_destroy(v->history);
    v->history = history;
    return ARTEL_OK;
}

static artel_status evaluate(artel__evaluator *v)
{
    double sum[ARTEL__ESTIMATOR_VALUES] = {0};
    artel_metric_value metric[ARTEL__ESTIMATOR_VALUES + 1];
    int64_t total = 0, batches = batches_of(v);
    int count = v->side.values;
    v->side.stop = false;
    ARTEL_TRY(ARTEL__HOOKS(&v->side, begin, v->found.step, NAN));
    for (int64_t b = 0; b < batches && !(v->side.stop && total > 0); b++) {
        ARTEL_TRY(stopped(v));
        ARTEL_TRY(ARTEL__HOOKS(&v->side, before, v->found.step, NAN));
        ARTEL_TRY(add_batch(&v->side, b, sum, &total));
        ARTEL_TRY(ARTEL__HOOKS(&v->side, after, v->found.step, NAN));
    }
    for (int i = 0; i < count; i++) metric[i] = (artel_metric_value){v->side.name[i], sum[i] / (double)total};
    metric[count] = (artel_metric_value){"global_step", (double)v->found.step};
    ARTEL_TRY(keep(v, metric, count + 1));
    v->evaluated = v->found.step;
    ARTEL_TRY(tell(v, metric, count + 1));
    return ARTEL__HOOKS(&v->side, end, v->found.step, metric[0].value);
}

/* -- checkpoints -- */

static artel_status read_newer(void *user, int64_t newer_than, artel_checkpoint_info *out)
{
    artel__evaluator *v = user;
    return artel__estimator_restore(&v->side, v->directory, newer_than, out, &v->run_steps);
}

/* A run that has ended earlier, with fewer steps, is not the one that is waited for. */
static bool is_over(void *user, const artel_checkpoint_info *found)
{
    const artel__evaluator *v = user;
    return (v->max_steps && found->step >= v->max_steps) || (found->finished && v->run_steps == v->max_steps);
}

static artel_status evaluate_found(void *user, const artel_checkpoint_info *found)
{
    artel__evaluator *v = user;
    v->found = *found;
    ARTEL_TRY(evaluate(v));
    return v->exports ? artel__export(v, is_over(v, found)) : ARTEL_OK;
}

artel_status artel__evaluator_look(artel__evaluator *v)
{
    artel_checkpoint_info found;
    ARTEL_TRY(read_newer(v, v->evaluated, &found));
    return found.step > v->evaluated ? evaluate_found(v, &found) : ARTEL_OK;
}

artel_status artel__evaluator_follow(artel__evaluator *v)
{
    artel__watch watch = {.ctx = v->side.estimator->ctx,
                          .directory = v->side.estimator->options.model_dir,
                          .read = read_newer,
                          .evaluate = evaluate_found,
                          .is_over = is_over,
                          .user = v,
                          .start_delay = v->spec->start_delay_secs,
                          .throttle = v->spec->throttle_secs,
                          .timeout = ARTEL__WATCH_FOR_EVER};
    return artel__watch_run(&watch);
}

void artel__evaluator_give(artel__evaluator *v, artel_history **out)
{
    if (!out) return;
    *out = v->history;
    v->history = NULL;
}
