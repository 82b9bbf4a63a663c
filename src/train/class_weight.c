/* SPDX-License-Identifier: Apache-2.0 */
/* Class weights: one sample weight a record, that of the class its target names, as Keras makes them.
 *
 * Keras refuses them for several outputs and for records of more than one label; so does this, and beyond Keras a class
 * that the model does not have and a target that is no whole number, of which Keras takes the nearest in silence.
 */
#include <math.h>
#include <string.h>

#include "base/json_written.h"
#include "train/fit_impl.h"
#include "train/session_impl.h"

#define MOST_CLASSES 65536
#define OPTION ".class_weight"

/* -- reading -- */

static artel_status wrong_entry(artel_context *ctx, const char *key, bool is_class)
{
    static const char *const advice = "write an object from class numbers to weights: {\"0\": 1, \"1\": 5}";
    if (!is_class)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, OPTION, advice,
                           "\"%.60s\" is not a class (expected an integer from 0 to %d)", key, MOST_CLASSES - 1);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, OPTION, advice,
                       "the weight of class %.60s does not fit (expected a number of at least 0)", key);
}

/* The object {"0": 1, "1": 5} as an array by class; classes left out weigh 1. */
static artel_status fill(artel_context *ctx, json_t *json, double *weight, int *count)
{
    const char *key;
    json_t *value;
    for (int i = 0; i < MOST_CLASSES; i++) weight[i] = 1;
    json_object_foreach(json, key, value)
    {
        int64_t class;
        double number;
        bool is_class = artel__parse_int64(key, &class) && class >= 0 && class < MOST_CLASSES;
        is_class = is_class && key[0] >= '0' &&
                   (key[0] > '0' || !key[1]); /* one name a class, or two entries could be of the same */
        if (!is_class || !artel__json_number(value, &number) || !(number >= 0) || isinf(number))
            return wrong_entry(ctx, key, is_class);
        weight[class] = number;
        if (class >= *count) *count = (int)class + 1;
    }
    return ARTEL_OK;
}

/* How many classes the targets of the model's output can name; 0: not known. */
static int64_t classes_of(const artel__fit *fit)
{
    const artel_shape *shape = &fit->model->nn->output[0].shape;
    const artel__loss_config *loss = &fit->settings.output[0].loss;
    int64_t last = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
    if (!fit->settings.output[0].has_loss) return 0;
    if (loss->target != ARTEL__TARGET_SAME || last > 1) return last;
    return strncmp(loss->name, "binary_", strlen("binary_")) == 0 ? 2 : 0;
}

artel_status artel__class_weight_read(artel__fit *fit, const double **out, int *count)
{
    json_t *json;
    const char *text = fit->options.class_weight;
    double *weight = artel__arena_alloc(&fit->arena, MOST_CLASSES, sizeof *weight);
    if (!weight) return ARTEL_ERROR_NO_MEMORY;
    if (fit->settings.outputs > 1)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, OPTION, "give sample weights in the data instead",
                           "class weights are for models with one output, as in Keras, and this one has %d",
                           fit->settings.outputs);
    if (text[strspn(text, " \t\r\n")] != '{')
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, OPTION, "write {\"0\": 1, \"1\": 5}",
                           "the value is not an object from class numbers to weights");
    ARTEL_TRY(artel__json_load_written(fit->ctx, OPTION, text, strlen(text), &json));
    artel_status status = fill(fit->ctx, json, weight, count);
    json_decref(json);
    int64_t classes = classes_of(fit);
    if (status == ARTEL_OK && classes > 0 && *count > classes)
        return artel__fail(fit->ctx, ARTEL_ERROR_INVALID, OPTION, "give weights of classes that the targets can name",
                           "there is no class %d: the model has %lld, from 0 on", *count - 1, (long long)classes);
    *out = weight;
    return status;
}

/* -- using -- */

artel_status artel__class_weight_find(artel__session *session, artel__session_mode *mode)
{
    int count;
    const artel__feed_array *arrays = artel__feed_arrays(mode->feed, &count);
    mode->target = -1;
    for (int i = count - 1; i >= 0; i--) {
        if (arrays[i].role == ARTEL_DATA_ROLE_TARGET) mode->target = i;
        if (arrays[i].role == ARTEL_DATA_ROLE_WEIGHT)
            return artel__fail(session->ctx, ARTEL_ERROR_INVALID, OPTION, "give one or the other",
                               "class weights and sample weights cannot be combined");
    }
    mode->weight = count;
    if (mode->target < 0)
        return artel__fail(session->ctx, ARTEL_ERROR_INVALID, OPTION, "remove it",
                           "the model has no target that names classes");
    const artel_shape *row = &arrays[mode->target].row;
    bool numbers = session->options.settings->output[0].loss.target == ARTEL__TARGET_INDEX;
    int64_t labels = artel_shape_count(row);
    if (!numbers && row->rank > 0 && row->dim[row->rank - 1] > 0) labels /= row->dim[row->rank - 1];
    if (labels <= 1) return ARTEL_OK;
    return artel__fail(
        session->ctx, ARTEL_ERROR_INVALID, OPTION, "give a sample weight for each label in the data instead",
        "class weights are one number a record, as in Keras, and a record has %lld labels", (long long)labels);
}

/* Element `at` of targets of float32 or float64. */
static double number_at(const artel__value *target, const void *targets, int64_t at)
{
    return target->dtype == ARTEL_DTYPE_FLOAT64 ? ((const double *)targets)[at] : (double)((const float *)targets)[at];
}

/* The class that the target of row r names; negative for none. False when it is no whole number. */
static bool class_of_row(const artel__value *target, const void *targets, int64_t r, int64_t *out)
{
    int64_t class = 0;
    int64_t at = r * target->storage;
    if (target->dtype == ARTEL_DTYPE_INT32)
        class = ((const int32_t *)targets)[at];
    else if (target->storage == 1) {
        double number = number_at(target, targets, at);
        if (!(number > -1e9 && number < 1e9) || (double)(int64_t)number != number) return false;
        class = (int64_t)number;
    }
    for (int64_t c = 1; target->dtype != ARTEL_DTYPE_INT32 && c < target->storage; c++) {
        if (number_at(target, targets, at + c) > number_at(target, targets, at + class)) class = c;
    }
    *out = class;
    return true;
}

artel_status artel__class_weight_apply(const artel__replica *replica, artel__mode m, void *const *buffers,
                                       const uint64_t *rows, int64_t count)
{
    const artel__session *session = replica->session;
    const artel__session_mode *shared = &session->mode[m];
    const artel__graph *graph = &shared->objective->graph;
    const artel__value *target = &graph->value[graph->input[shared->target]];
    const void *targets = buffers[shared->target];
    void *weight = buffers[shared->weight];
    bool wide = graph->value[graph->input[shared->weight]].dtype == ARTEL_DTYPE_FLOAT64;
    for (int64_t r = 0; r < count; r++) {
        int64_t class;
        if (!class_of_row(target, targets, r, &class))
            return artel__fail(session->ctx, ARTEL_ERROR_INVALID, OPTION,
                               "give targets that are class numbers, or sample weights instead",
                               "the target of record %llu is %g, which is no class",
                               (unsigned long long)artel__row_number(rows[r]), number_at(target, targets, r));
        bool known = class >= 0 && class < session->options.classes;
        double own = known ? session->options.class_weight[class] : 1.0;
        if (wide)
            ((double *)weight)[r] = own;
        else
            ((float *)weight)[r] = (float)own;
    }
    return ARTEL_OK;
}
