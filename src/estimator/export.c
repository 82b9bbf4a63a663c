/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters: MODEL_DIR/export/NAME/STEP, each whole or not there. What is best so far lies beside them, in best.json,
 * so that a run that is taken up again does not take a worse one for it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "estimator/estimator_impl.h"
#include "function/snapshot.h"
#include "keras/model.h"

typedef struct exporting {
    const artel__evaluator *evaluator;
    const artel_exporter *exporter;
    artel_context *ctx;
    char folder[ARTEL__ESTIMATOR_PATH]; /* of this exporter */
} exporting;

/* -- what is best -- */

static double value_of(const exporting *x)
{
    const char *metric = x->exporter->metric ? x->exporter->metric : "loss";
    return artel_history_values(x->evaluator->history, metric, NULL)[0];
}

static artel_status read_best(const exporting *x, double *best)
{
    char path[ARTEL__ESTIMATOR_PATH + 16];
    json_t *json;
    *best = NAN;
    snprintf(path, sizeof path, "%s/best.json", x->folder);
    if (artel__file_missing(path)) return ARTEL_OK;
    ARTEL_TRY(artel__json_load_file(x->ctx, path, &json));
    bool good = artel__json_number(json_object_get(json, "value"), best);
    json_decref(json);
    if (good) return ARTEL_OK;
    return artel__fail(x->ctx, ARTEL_ERROR_CORRUPT, path, "remove it to begin anew",
                       "it does not say what is best so far");
}

/* The evaluation that was best, as it was kept; NULL: none was. */
static artel_status read_best_values(const exporting *x, artel_history **out)
{
    char path[ARTEL__ESTIMATOR_PATH + 16];
    artel_metric_value metric[ARTEL__ESTIMATOR_VALUES + 1];
    int count = 0;
    const char *name;
    json_t *json, *value;
    *out = NULL;
    snprintf(path, sizeof path, "%s/best.json", x->folder);
    if (artel__file_missing(path)) return ARTEL_OK;
    ARTEL_TRY(artel__json_load_file(x->ctx, path, &json));
    json_t *values = json_object_get(json, "metrics");
    bool good = json_object_size(values) > 0 && json_object_size(values) <= ARTEL__ESTIMATOR_VALUES + 1;
    if (good) json_object_foreach(values, name, value)
        {
            good = good && artel__json_number(value, &metric[count].value);
            metric[count++].name = name;
        }
    artel_status status = good ? artel__history_create(x->ctx, out)
                               : artel__fail(x->ctx, ARTEL_ERROR_CORRUPT, path, "remove it to begin anew",
                                             "it does not say what is best so far");
    if (status == ARTEL_OK) status = artel__history_append(*out, &(artel__log_list){metric, count, count});
    json_decref(json);
    return status;
}

static artel_status compare(const exporting *x, bool *wanted)
{
    artel_history *best = NULL;
    artel_status status = read_best_values(x, &best);
    if (status == ARTEL_OK) *wanted = !best || x->exporter->better(x->exporter->user, best, x->evaluator->history);
    artel_history_destroy(best);
    return status;
}

static artel_status add_values(const exporting *x, json_t *json)
{
    const artel_history *now = x->evaluator->history;
    json_t *values = json_object();
    bool good = json && values;
    for (int k = 0; good && k < artel_history_keys(now); k++) {
        const char *key = artel_history_key(now, k);
        good = json_object_set_new(values, key, artel__json_real(artel_history_values(now, key, NULL)[0])) == 0;
    }
    if (good) good = json_object_set(json, "metrics", values) == 0;
    json_decref(values);
    if (good) return ARTEL_OK;
    json_decref(json);
    return artel__fail_memory(x->ctx, "export", 0);
}

static artel_status write_best(const exporting *x)
{
    char path[ARTEL__ESTIMATOR_PATH + 16], *text = NULL;
    snprintf(path, sizeof path, "%s/best.json", x->folder);
    json_t *json = json_pack("{s:s, s:o, s:I}", "metric", x->exporter->metric ? x->exporter->metric : "loss", "value",
                             artel__json_real(value_of(x)), "step", (json_int_t)x->evaluator->found.step);
    ARTEL_TRY(add_values(x, json));
    artel_status status = artel__json_dump_string(x->ctx, json, ARTEL__JSON_PYTHON, &text);
    json_decref(json);
    if (status == ARTEL_OK) status = artel__write_file(x->ctx, path, text, strlen(text));
    artel__free(x->ctx, text);
    return status;
}

static artel_status is_wanted(const exporting *x, bool last, bool *wanted)
{
    double best, value = value_of(x);
    *wanted = x->exporter->kind == ARTEL_EXPORTER_LATEST || (x->exporter->kind == ARTEL_EXPORTER_FINAL && last);
    if (x->exporter->kind != ARTEL_EXPORTER_BEST) return ARTEL_OK;
    if (x->exporter->better) return compare(x, wanted);
    ARTEL_TRY(read_best(x, &best));
    *wanted = !isnan(value) && (isnan(best) || (x->exporter->greatest ? value > best : value < best));
    return ARTEL_OK;
}

/* -- writing -- */

static artel_status write_models(const exporting *x, const char *folder)
{
    char path[ARTEL__ESTIMATOR_PATH + 512];
    artel_strategy *strategy = x->evaluator->side.strategy;
    artel_model *model = artel__snapshot_model(strategy, 0);
    if (!model)
        return artel__fail(x->ctx, ARTEL_ERROR_INVALID, "exporter", "give it a function that writes what is wanted",
                           "the strategy holds variables, and no model that could be saved");
    for (int k = 0; model; model = artel__snapshot_model(strategy, ++k)) {
        snprintf(path, sizeof path, "%s/%.200s.keras", folder, model->nn->name);
        if (artel__file_exists(path)) snprintf(path, sizeof path, "%s/%.200s_%d.keras", folder, model->nn->name, k);
        ARTEL_TRY(artel_strategy_store(strategy, model));
        ARTEL_TRY(artel_model_save(model, path));
    }
    return ARTEL_OK;
}

static artel_status publish(const exporting *x, const char *temporary)
{
    char folder[ARTEL__ESTIMATOR_PATH + 32];
    snprintf(folder, sizeof folder, "%s/%lld", x->folder, (long long)x->evaluator->found.step);
    ARTEL_TRY(artel__remove_tree(x->ctx, folder)); /* of an earlier run that came this far */
    return rename(temporary, folder) == 0 ? ARTEL_OK : artel__fail_errno(x->ctx, folder, "rename");
}

static artel_status write(const exporting *x)
{
    char temporary[ARTEL__ESTIMATOR_PATH + 256], mark[ARTEL__WRITER_MARK];
    artel__writer_mark(mark);
    snprintf(temporary, sizeof temporary, "%s/tmp-%s", x->folder, mark);
    ARTEL_TRY(artel__remove_tree(x->ctx, temporary));
    ARTEL_TRY(artel__make_directory(x->ctx, temporary));
    artel_status status = x->exporter->write
                              ? x->exporter->write(x->exporter->user, x->evaluator->side.strategy, temporary)
                              : write_models(x, temporary);
    if (status < 0)
        artel__fail(x->ctx, status, x->folder, "see what it has found", "what writes the export has failed");
    else
        status = publish(x, temporary);
    if (status < 0) artel__remove_tree(x->ctx, temporary);
    return status;
}

/* Removes the oldest one if there are too many; *more: there may be others. */
static artel_status thin(const exporting *x, int keep, bool *more)
{
    char path[ARTEL__ESTIMATOR_PATH + 32];
    int64_t step, oldest = INT64_MAX;
    artel__paths names;
    int count = 0;
    ARTEL_TRY(artel__list_directory(x->ctx, x->folder, &names));
    for (size_t i = 0; i < names.count; i++) {
        if (!artel__parse_int64(names.items[i], &step)) continue;
        count++;
        if (step < oldest) oldest = step;
    }
    artel__paths_fini(&names);
    *more = count > keep;
    if (!*more) return ARTEL_OK;
    snprintf(path, sizeof path, "%s/%lld", x->folder, (long long)oldest);
    return artel__remove_tree(x->ctx, path);
}

static artel_status run(exporting *x, bool last)
{
    static const char *const names[] = {"latest", "best", "final"};
    const artel_exporter *e = x->exporter;
    int keep = e->keep ? e->keep : e->kind == ARTEL_EXPORTER_FINAL ? INT32_MAX : 5;
    bool wanted, more = true;
    snprintf(x->folder, sizeof x->folder, "%.4000s/export/%.200s", x->evaluator->side.estimator->options.model_dir,
             e->name ? e->name : names[e->kind]);
    ARTEL_TRY(is_wanted(x, last, &wanted));
    if (!wanted) return ARTEL_OK;
    ARTEL_TRY(write(x));
    if (e->kind == ARTEL_EXPORTER_BEST) ARTEL_TRY(write_best(x));
    while (more) ARTEL_TRY(thin(x, keep, &more));
    return ARTEL_OK;
}

artel_status artel__export(const artel__evaluator *v, bool last)
{
    artel_status status = ARTEL_OK;
    for (int i = 0; i < v->spec->exporter_count && status == ARTEL_OK; i++) {
        exporting x = {.evaluator = v, .exporter = &v->exporter[i], .ctx = v->side.estimator->ctx};
        status = run(&x, last);
    }
    return status;
}
