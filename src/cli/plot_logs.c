/* SPDX-License-Identifier: Apache-2.0 */
/* The scalars in a log directory of TensorBoard, as a History has them.
 *
 * A folder with event files is a run, named by its path below the directory, as TensorBoard names it. Keras writes the
 * value of each epoch as epoch_KEY into the runs train and validation: these are KEY and val_KEY of a History, behind
 * the run's own name where runs lie deeper. Whatever else was written goes by run and tag. A run that was resumed has
 * files with the same steps: the last value of a step counts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/file.h"
#include "base/protobuf.h"
#include "cli/plot.h"
#include "data/record_file.h"
#include "observe/tfevents_fields.h"

enum {
    MOST_DEPTH = 8,
    MOST_CURVES = 1000,
    MOST_VALUES = 1 << 20
};

typedef struct point {
    int64_t step;
    int order; /* in which it was read */
    double value;
} point;

typedef struct curve {
    const char *key;
    point *point;
    int count, room;
} curve;

typedef struct logs {
    artel__invocation *call;
    curve *curve;
    int curves, files;
} logs;

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A tensor without axes, of float32 or float64; false for anything else, such as a histogram. */
static bool scalar_of(artel__proto tensor, double *out)
{
    artel__proto_field dtype, shape, dim, field;
    if (artel__proto_find(tensor, ARTEL__TENSOR_SHAPE, &shape) &&
        artel__proto_find(shape.bytes, ARTEL__SHAPE_DIM, &dim))
        return false;
    if (!artel__proto_find(tensor, ARTEL__TENSOR_DTYPE, &dtype) ||
        (dtype.value != ARTEL__DT_FLOAT && dtype.value != ARTEL__DT_DOUBLE))
        return false;
    int size = dtype.value == ARTEL__DT_FLOAT ? 4 : 8;
    if (!artel__proto_find(tensor, ARTEL__TENSOR_CONTENT, &field) &&
        !artel__proto_find(tensor, dtype.value == ARTEL__DT_FLOAT ? ARTEL__TENSOR_FLOATS : ARTEL__TENSOR_DOUBLES,
                           &field)) {
        *out = 0; /* as it is left out */
        return true;
    }
    if (field.wire == 2 && field.bytes.end - field.bytes.at < size) return false;
    uint64_t bits = field.wire == 2 ? artel__bytes_get(field.bytes.at, size) : field.value;
    *out = size == 4 ? (double)artel__proto_float(bits) : double_of(bits);
    return true;
}

/* The last part of a run's name, and how long what stands before it is, with the slash. */
static const char *last_part(const char *run, int *before)
{
    const char *slash = strrchr(run, '/');
    *before = slash ? (int)(slash + 1 - run) : 0;
    return run + *before;
}

static const char *key_of(artel__invocation *call, const char *run, const char *tag)
{
    int before;
    const char *last = last_part(run, &before);
    bool train = strcmp(last, "train") == 0, validation = strcmp(last, "validation") == 0;
    if (artel__starts_with(tag, "epoch_") && (train || validation))
        return artel__arena_printf(&call->arena, "%s%.*s%s", validation ? "val_" : "", before, run,
                                   tag + strlen("epoch_"));
    return artel__arena_printf(&call->arena, "%s%s%s", run, run[0] ? "/" : "", tag);
}

static artel_status curve_of(logs *l, const char *run, const char *tag, const char *path, curve **out)
{
    const char *key = key_of(l->call, run, tag);
    if (!key) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < l->curves; i++) {
        *out = &l->curve[i];
        if (strcmp(l->curve[i].key, key) == 0) return ARTEL_OK;
    }
    if (l->curves == MOST_CURVES)
        return artel__fail(l->call->ctx, ARTEL_ERROR_UNSUPPORTED, path, "give the folder of one run",
                           "the logs have more than %d curves", MOST_CURVES);
    *out = &l->curve[l->curves++];
    **out = (curve){.key = key};
    return ARTEL_OK;
}

static artel_status add_point(logs *l, curve *c, const char *path, int64_t step, double value)
{
    if (c->count == MOST_VALUES)
        return artel__fail(l->call->ctx, ARTEL_ERROR_UNSUPPORTED, path, "look at it with TensorBoard",
                           "\"%.60s\" has more than %d values", c->key, MOST_VALUES);
    if (c->count == c->room) {
        int room = c->room ? 2 * c->room : 32;
        point *more = artel__arena_alloc(&l->call->arena, (size_t)room, sizeof *more);
        if (!more) return ARTEL_ERROR_NO_MEMORY;
        if (c->count > 0) memcpy(more, c->point, (size_t)c->count * sizeof *more);
        c->point = more;
        c->room = room;
    }
    c->point[c->count] = (point){step, c->count, value};
    c->count++;
    return ARTEL_OK;
}

static artel_status read_event(logs *l, const char *run, const char *path, artel__proto event)
{
    artel__proto_field step, summary, item, tag, field;
    if (!artel__proto_find(event, ARTEL__EVENT_SUMMARY, &summary)) return ARTEL_OK;
    (void)artel__proto_find(event, ARTEL__EVENT_STEP, &step);
    while (artel__proto_next(&summary.bytes, &item)) {
        char name[256];
        curve *c;
        double value = 0;
        if (item.number != ARTEL__SUMMARY_VALUE || !artel__proto_find(item.bytes, ARTEL__VALUE_TAG, &tag)) continue;
        bool simple = artel__proto_find(item.bytes, ARTEL__VALUE_SIMPLE, &field);
        if (simple) value = (double)artel__proto_float(field.value);
        if (!simple && !(artel__proto_find(item.bytes, ARTEL__VALUE_TENSOR, &field) && scalar_of(field.bytes, &value)))
            continue;
        artel__proto_string(tag.bytes, name, sizeof name);
        ARTEL_TRY(curve_of(l, run, name, path, &c));
        ARTEL_TRY(add_point(l, c, path, (int64_t)step.value, value));
    }
    return ARTEL_OK;
}

/* A record that is cut off at the end is one that is being written. */
static artel_status read_events(logs *l, const char *run, const char *path)
{
    artel_context *ctx = l->call->ctx;
    artel__mapping mapping;
    ARTEL_TRY(artel__map_file(ctx, path, &mapping));
    artel__record_walk walk = {.bytes = mapping.bytes, .size = mapping.size, .ctx = ctx};
    artel_status status = ARTEL_OK;
    artel__record_fault fault = ARTEL__RECORD_GOOD;
    size_t at = 0;
    while (status == ARTEL_OK && fault == ARTEL__RECORD_GOOD) {
        artel__proto event;
        at = walk.at;
        fault = artel__record_step(&walk, true, &event);
        if (fault == ARTEL__RECORD_GOOD) status = read_event(l, run, path, event);
    }
    if (status == ARTEL_OK && fault != ARTEL__RECORD_END && fault != ARTEL__RECORD_SHORT)
        status = artel__fail(ctx, ARTEL_ERROR_INVALID, path, "remove the file, or what is no event file of TensorBoard",
                             "the record at byte %zu is damaged: %s", at, artel__record_fault_text(fault));
    artel__unmap_file(&mapping);
    l->files++;
    return status;
}

static artel_status read_folder(logs *l, const char *folder, const char *run, int depth)
{
    artel__paths names;
    ARTEL_TRY(artel__list_directory(l->call->ctx, folder, &names));
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < names.count && status == ARTEL_OK; i++) {
        const char *name = names.items[i], *path = artel__arena_printf(&l->call->arena, "%s/%s", folder, name),
                   *below = artel__arena_printf(&l->call->arena, "%s%s%s", run, run[0] ? "/" : "", name);
        if (!path || !below)
            status = ARTEL_ERROR_NO_MEMORY;
        else if (artel__is_directory(path))
            status = depth < MOST_DEPTH ? read_folder(l, path, below, depth + 1) : ARTEL_OK;
        else if (strstr(name, ".tfevents."))
            status = read_events(l, run, path);
    }
    artel__paths_fini(&names);
    return status;
}

static int by_step(const void *a, const void *b)
{
    const point *x = a, *y = b;
    return x->step != y->step ? (x->step > y->step) - (x->step < y->step)
                              : (x->order > y->order) - (x->order < y->order);
}

/* The last value of each step, in their order; null for what is no number. */
static artel_status add_curve(curve *c, json_t *history)
{
    json_t *list = json_array();
    bool failed = json_object_set_new(history, c->key, list) != 0;
    qsort(c->point, (size_t)c->count, sizeof *c->point, by_step);
    for (int i = 0; i < c->count && !failed; i++) {
        if (i + 1 < c->count && c->point[i + 1].step == c->point[i].step) continue;
        failed =
            json_array_append_new(list, isfinite(c->point[i].value) ? json_real(c->point[i].value) : json_null()) != 0;
    }
    return failed ? ARTEL_ERROR_NO_MEMORY : ARTEL_OK;
}

artel_status artel__read_logs(artel__invocation *call, const char *folder, json_t **out)
{
    logs l = {.call = call, .curve = artel__arena_alloc(&call->arena, MOST_CURVES, sizeof *l.curve)};
    if (!l.curve) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(read_folder(&l, folder, "", 0));
    if (l.curves == 0)
        return artel__fail(call->ctx, ARTEL_ERROR_INVALID, folder, "give a folder of fit --log-dir",
                           l.files ? "its event files have no scalar" : "there is no event file of TensorBoard in it");
    *out = json_object();
    artel_status status = *out ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < l.curves && status == ARTEL_OK; i++) status = add_curve(&l.curve[i], *out);
    if (status == ARTEL_OK) return status;
    json_decref(*out);
    *out = NULL;
    return artel__fail_memory(call->ctx, "curves", sizeof(point));
}
