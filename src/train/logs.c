/* SPDX-License-Identifier: Apache-2.0 */
/* Logs and history: weighted means of losses, results of metrics, in Keras' names and order.
 *
 * keras/src/trainers/trainer.py: "loss" is a mean over batches weighted by their rows; the losses of several outputs
 * are plain means over batches (Keras' trackers see no static batch size), by rows only where a loss is not reduced, or
 * where the model is compiled with run_eagerly, which sees it;
 * metrics are results of accumulated sums; names are sorted, those of validation with their "val_" among the others.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/listed.h"
#include "train/fit_impl.h"

void artel__tally_clear(artel__tally *tally)
{
    tally->loss = tally->weight = tally->batches = 0;
    memset(tally->output_loss, 0, (size_t)tally->outputs * sizeof(double));
    memset(tally->sums, 0, (size_t)tally->sum_count * sizeof(double));
}

artel_status artel__tally_init(artel__arena *arena, const artel__settings *settings, const artel__objective *objective,
                               artel__tally *out)
{
    out->settings = settings;
    out->outputs = settings->outputs;
    out->sum_count = objective->sums;
    out->output_loss = artel__arena_alloc(arena, (size_t)out->outputs + 1, sizeof(double));
    out->sums = artel__arena_alloc(arena, (size_t)out->sum_count + 1, sizeof(double));
    ARTEL_TRY(artel__arena_status(arena));
    artel__tally_clear(out);
    return ARTEL_OK;
}

/* What a batch of `rows` rows counts in the mean of an output's loss. */
static double output_share(const artel__tally *tally, int i, double rows, double batches)
{
    bool by_rows = tally->settings->eagerly || tally->settings->output[i].loss.reduction == ARTEL__REDUCTION_NONE;
    return by_rows ? rows : batches;
}

static void add_losses(artel__tally *tally, double loss, const double *by_output, int64_t rows)
{
    tally->loss += loss * (double)rows;
    tally->weight += (double)rows;
    tally->batches++;
    for (int i = 0; i < tally->outputs && i < 64; i++)
        tally->output_loss[i] += by_output[i] * output_share(tally, i, (double)rows, 1);
}

void artel__tally_add(artel__tally *tally, const artel__session *session, artel__mode mode, int64_t rows)
{
    double by_output[64] = {0};
    add_losses(tally, artel__session_loss(session, mode, tally->outputs <= 64 ? by_output : NULL), by_output, rows);
    artel__session_add_sums(session, mode, tally->sums);
}

void artel__tally_add_values(artel__tally *tally, const double *values, int64_t rows)
{
    const double *by_output = values + 1, *sums = by_output + tally->outputs;
    add_losses(tally, values[0], by_output, rows);
    for (int i = 0; i < tally->sum_count; i++) tally->sums[i] += sums[i];
}

void artel__tally_read(const artel__tally *tally, const artel__session *session, artel__mode mode, double *values)
{
    double by_output[64] = {0};
    values[0] = artel__session_loss(session, mode, tally->outputs <= 64 ? by_output : NULL);
    for (int i = 0; i < tally->outputs; i++) values[1 + i] = i < 64 ? by_output[i] : 0;
    double *sums = values + 1 + tally->outputs;
    memset(sums, 0, (size_t)tally->sum_count * sizeof *sums);
    artel__session_add_sums(session, mode, sums);
}

/* The fit's own copy of a name: one for all epochs and steps. */
static const char *keep_name(artel__fit *fit, const char *name)
{
    for (int i = 0; i < fit->logs.names; i++) {
        if (strcmp(fit->logs.name[i], name) == 0) return fit->logs.name[i];
    }
    const char **wider = artel__arena_alloc(&fit->arena, (size_t)fit->logs.names + 1, sizeof *wider);
    char *copy = artel__arena_strdup(&fit->arena, name);
    if (!wider || !copy) return NULL;
    if (fit->logs.names) memcpy(wider, fit->logs.name, (size_t)fit->logs.names * sizeof *wider);
    wider[fit->logs.names++] = copy;
    fit->logs.name = wider;
    return copy;
}

/* Keras' values are float32, and of a model in float64 that. */
static double as_logged(const artel__fit *fit, double value)
{
    return fit->model && fit->model->nn->wide ? value : (double)(float)value;
}

artel_status artel__logs_set(artel__fit *fit, artel__log_list *logs, const char *name, double value)
{
    for (int i = 0; i < logs->count; i++) {
        if (strcmp(logs->item[i].name, name) != 0) continue;
        logs->item[i].value = as_logged(fit, value);
        return ARTEL_OK;
    }
    if (logs->count == logs->capacity) {
        int capacity = logs->capacity ? logs->capacity * 2 : 16;
        artel_metric_value *wider = artel__arena_alloc(&fit->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (logs->count) memcpy(wider, logs->item, (size_t)logs->count * sizeof *wider);
        logs->item = wider;
        logs->capacity = capacity;
    }
    const char *kept = keep_name(fit, name);
    if (!kept) return ARTEL_ERROR_NO_MEMORY;
    logs->item[logs->count++] = (artel_metric_value){kept, as_logged(fit, value)};
    return ARTEL_OK;
}

bool artel__logs_has(const artel__log_list *logs, const char *name)
{
    for (int i = 0; i < logs->count; i++) {
        if (strcmp(logs->item[i].name, name) == 0) return true;
    }
    return false;
}

double artel__logs_get(const artel__log_list *logs, const char *name)
{
    for (int i = 0; i < logs->count; i++) {
        if (strcmp(logs->item[i].name, name) == 0) return logs->item[i].value;
    }
    return NAN;
}

/* Elements of a list, "name[0]" and on, where "name" alone would stand, by their numbers. */
static int by_name(const void *a, const void *b)
{
    const char *x = ((const artel_metric_value *)a)->name, *y = ((const artel_metric_value *)b)->name;
    int64_t i, k;
    size_t n = artel__list_element(x, &i), m = artel__list_element(y, &k), shorter = n < m ? n : m;
    int order = strncmp(x, y, shorter);
    if (order == 0 && n != m) order = n < m ? -1 : 1;
    return order != 0 ? order : (i > k) - (i < k);
}

static artel_status set_prefixed(artel__fit *fit, artel__log_list *logs, const char *prefix, const char *name,
                                 double value)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return artel__logs_set(fit, logs, full, value);
}

/* One number, or those of a list as name[0], name[1] and on, which whoever writes them joins again (observe/number.h).
 */
static artel_status set_metric(artel__fit *fit, artel__log_list *logs, const char *prefix,
                               const artel__metric_slot *slot, const double *sums)
{
    const artel__metric *metric = slot->metric;
    if (!metric->values) return set_prefixed(fit, logs, prefix, slot->name, artel__metric_result(metric, sums, 0));
    for (int i = 0; i < metric->values; i++) {
        char name[512];
        snprintf(name, sizeof name, "%s[%d]", slot->name, i);
        ARTEL_TRY(set_prefixed(fit, logs, prefix, name, artel__metric_result(metric, sums, i)));
    }
    return ARTEL_OK;
}

artel_status artel__tally_logs(artel__fit *fit, const artel__tally *tally, const artel__objective *objective,
                               const char *prefix, artel__log_list *out)
{
    double weight = tally->weight > 0 ? tally->weight : 1, batches = tally->batches > 0 ? tally->batches : 1;
    ARTEL_TRY(set_prefixed(fit, out, prefix, "loss", tally->loss / weight));
    int losses = 0;
    for (int i = 0; i < tally->outputs; i++) losses += fit->settings.output[i].has_loss;
    for (int i = 0; tally->outputs > 1 && losses > 1 && i < tally->outputs; i++) {
        char name[512];
        if (!fit->settings.output[i].has_loss) continue;
        snprintf(name, sizeof name, "%s_loss", fit->model->nn->output[i].loss_name);
        ARTEL_TRY(
            set_prefixed(fit, out, prefix, name, tally->output_loss[i] / output_share(tally, i, weight, batches)));
    }
    for (int k = 0; k < objective->slots; k++) {
        ARTEL_TRY(set_metric(fit, out, prefix, &objective->slot[k], tally->sums + objective->slot[k].first));
    }
    qsort(out->item, (size_t)out->count, sizeof *out->item, by_name);
    return ARTEL_OK;
}

/* -- history -- */

/* A NaN with a payload of its own: arithmetic never makes it. */
static double absent(void)
{
    uint64_t bits = UINT64_C(0x7ff8000000a47e10);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool artel_history_absent(double value)
{
    double mark = absent();
    return memcmp(&value, &mark, sizeof value) == 0;
}

artel_status artel__history_create(artel_context *ctx, artel_history **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel_history), "history", &block));
    artel_history *history = block;
    history->ctx = ctx;
    artel__arena_init(&history->arena, ctx);
    *out = history;
    return ARTEL_OK;
}

void artel_history_destroy(artel_history *history)
{
    if (!history) return;
    artel_context *ctx = history->ctx;
    artel__arena_fini(&history->arena);
    artel__free(ctx, history);
}

/* Room for `epochs` values of every key; new slots hold NaN. */
static artel_status widen(artel_history *history, int64_t epochs)
{
    if (epochs <= history->capacity) return ARTEL_OK;
    int64_t capacity = history->capacity ? history->capacity * 2 : 16;
    for (int k = 0; k < history->keys; k++) {
        double *wider = artel__arena_alloc(&history->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        memcpy(wider, history->values[k], (size_t)history->capacity * sizeof *wider);
        for (int64_t i = history->capacity; i < capacity; i++) wider[i] = absent();
        history->values[k] = wider;
    }
    history->capacity = capacity;
    return ARTEL_OK;
}

static double *values_of(artel_history *history, const char *key)
{
    for (int k = 0; k < history->keys; k++) {
        if (strcmp(history->key[k], key) == 0) return history->values[k];
    }
    char **keys = artel__arena_alloc(&history->arena, (size_t)history->keys + 1, sizeof *keys);
    double **values = artel__arena_alloc(&history->arena, (size_t)history->keys + 1, sizeof *values);
    double *fresh = artel__arena_alloc(&history->arena, (size_t)history->capacity, sizeof *fresh);
    char *name = artel__arena_strdup(&history->arena, key);
    if (!keys || !values || !fresh || !name) return NULL;
    for (int k = 0; k < history->keys; k++) {
        keys[k] = history->key[k];
        values[k] = history->values[k];
    }
    for (int64_t i = 0; i < history->capacity; i++) fresh[i] = absent();
    keys[history->keys] = name;
    values[history->keys++] = fresh;
    history->key = keys;
    history->values = values;
    return fresh;
}

artel_status artel__history_append(artel_history *history, const artel__log_list *logs)
{
    ARTEL_TRY(widen(history, history->epochs + 1));
    for (int i = 0; i < logs->count; i++) {
        double *values = values_of(history, logs->item[i].name);
        if (!values) return ARTEL_ERROR_NO_MEMORY;
        values[history->epochs] = logs->item[i].value;
    }
    history->epochs++;
    return ARTEL_OK;
}

void artel__history_clear(artel_history *history)
{
    for (int k = 0; k < history->keys; k++) {
        for (int64_t i = 0; i < history->capacity; i++) history->values[k][i] = absent();
    }
    history->epochs = 0;
}

int artel_history_keys(const artel_history *history)
{
    return history ? history->keys : 0;
}

const char *artel_history_key(const artel_history *history, int index)
{
    return history && index >= 0 && index < history->keys ? history->key[index] : NULL;
}

const double *artel_history_values(const artel_history *history, const char *key, int64_t *out_epochs)
{
    for (int k = 0; history && key && k < history->keys; k++) {
        if (strcmp(history->key[k], key) != 0) continue;
        if (out_epochs) *out_epochs = history->epochs;
        return history->values[k];
    }
    return NULL;
}
