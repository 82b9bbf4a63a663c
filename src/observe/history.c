/* SPDX-License-Identifier: Apache-2.0 */
/* History.history and its JSON.
 *
 * A result that is a list is kept as a series for each element, and written as a list an epoch.
 * A handful of metrics and a value an epoch: lists are searched by name from the front. NaN, Infinity and -Infinity,
 * which Python writes and strict JSON does not know, survive the way through the file.
 */
#include "observe/history.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"

typedef struct series {
    char *name;
    double *values;
    size_t count, capacity;
} series;

struct artel__run_history {
    artel_context *ctx;
    series *items;
    size_t count, capacity;
};

artel_status artel__run_history_create(artel_context *ctx, artel__run_history **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__run_history), "history", &block));
    *out = block;
    (*out)->ctx = ctx;
    return ARTEL_OK;
}

static void clear(artel__run_history *history)
{
    for (size_t i = 0; i < history->count; i++) {
        artel__free(history->ctx, history->items[i].name);
        artel__free(history->ctx, history->items[i].values);
    }
    history->count = 0;
}

void artel__run_history_destroy(artel__run_history *history)
{
    if (!history) return;
    clear(history);
    artel__free(history->ctx, history->items);
    artel__free(history->ctx, history);
}

/* Makes room for one more item of `size` bytes in *block. */
static artel_status grow(artel_context *ctx, size_t count, size_t *capacity, size_t size, void **block)
{
    if (count < *capacity) return ARTEL_OK;
    size_t wanted = *capacity ? 2 * *capacity : 8;
    ARTEL_TRY(artel__realloc(ctx, wanted * size, "history", block));
    *capacity = wanted;
    return ARTEL_OK;
}

/* The list of that name, made when it is new. The pointer is valid until the next call. */
static artel_status list_of(artel__run_history *history, const char *name, series **out)
{
    for (size_t i = 0; i < history->count; i++) {
        if (strcmp(history->items[i].name, name) == 0) {
            *out = &history->items[i];
            return ARTEL_OK;
        }
    }
    void *items = history->items;
    ARTEL_TRY(grow(history->ctx, history->count, &history->capacity, sizeof(series), &items));
    history->items = items;
    series fresh = {NULL, NULL, 0, 0};
    ARTEL_TRY(artel__strdup(history->ctx, name, &fresh.name));
    history->items[history->count] = fresh;
    *out = &history->items[history->count++];
    return ARTEL_OK;
}

static artel_status push(artel__run_history *history, series *list, double value)
{
    void *values = list->values;
    ARTEL_TRY(grow(history->ctx, list->count, &list->capacity, sizeof(double), &values));
    list->values = values;
    list->values[list->count++] = value;
    return ARTEL_OK;
}

artel_status artel__run_history_append(artel__run_history *history, artel__logs logs)
{
    for (size_t i = 0; i < logs.count; i++) {
        series *list;
        ARTEL_TRY(list_of(history, logs.item[i].name, &list));
        ARTEL_TRY(push(history, list, logs.item[i].value));
    }
    return ARTEL_OK;
}

size_t artel__run_history_count(const artel__run_history *history)
{
    return history->count;
}

const char *artel__run_history_name(const artel__run_history *history, size_t index)
{
    return history->items[index].name;
}

const double *artel__run_history_values(const artel__run_history *history, size_t index, size_t *count)
{
    *count = history->items[index].count;
    return history->items[index].values;
}

void artel__run_history_truncate(artel__run_history *history, size_t epochs)
{
    for (size_t i = 0; i < history->count; i++) {
        if (history->items[i].count > epochs) history->items[i].count = epochs;
    }
}

/* The value of one epoch: a number, or a list of what the elements have. */
static void print_value(const series *item, const artel__log_group *group, size_t epoch, artel__text *out)
{
    if (group->list) artel__text_append(out, "[");
    for (size_t i = 0; i < group->count; i++) {
        if (i > 0) artel__text_append(out, ", ");
        artel__put_json_float(out, epoch < item[i].count ? item[i].values[epoch] : NAN);
    }
    if (group->list) artel__text_append(out, "]");
}

static void print_groups(const artel__run_history *history, artel__logs names, artel__text *out)
{
    artel__log_group group = {.first = 0};
    while (artel__logs_next(names, &group)) {
        const series *item = &history->items[group.first];
        if (group.first > 0) artel__text_append(out, ", ");
        artel__text_append_json(out, group.name);
        artel__text_append(out, ": [");
        for (size_t v = 0; v < item->count; v++) {
            if (v > 0) artel__text_append(out, ", ");
            print_value(item, &group, v, out);
        }
        artel__text_append(out, "]");
    }
}

void artel__run_history_print(const artel__run_history *history, artel__text *out)
{
    void *block;
    if (artel__calloc(history->ctx, history->count + 1, sizeof(artel__log_value), "history", &block) < 0) {
        out->failed = true;
        return;
    }
    artel__log_value *names = block;
    for (size_t i = 0; i < history->count; i++) names[i].name = history->items[i].name;
    artel__text_append(out, "{");
    print_groups(history, (artel__logs){history->count, names}, out);
    artel__text_append(out, "}");
    artel__free(history->ctx, names);
}

artel_status artel__run_history_write(const artel__run_history *history, const char *path)
{
    artel__text text;
    artel__text_init(&text, history->ctx);
    artel__run_history_print(history, &text);
    artel__text_append(&text, "\n");
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) status = artel__write_file(history->ctx, path, text.data, text.length);
    artel__text_fini(&text);
    return status;
}

static artel_status refuse(const artel__run_history *history, const char *where, const char *what, const char *name)
{
    return artel__fail(history->ctx, ARTEL_ERROR_CORRUPT, where,
                       "restore the file, or remove it to begin a new history",
                       "the history should be an object of lists of numbers, but %s%s", what, name);
}

static artel_status take_number(artel__run_history *history, const char *where, const char *name, const json_t *item)
{
    series *list;
    double value = NAN;
    if (!json_is_null(item) && !artel__json_number(item, &value))
        return refuse(history, where, "something else than a number is in ", name);
    ARTEL_TRY(list_of(history, name, &list));
    return push(history, list, value);
}

/* A number, or a list of an epoch. */
static artel_status take_value(artel__run_history *history, const char *where, const char *name, const json_t *item)
{
    char element[512];
    size_t index;
    json_t *part;
    if (!json_is_array(item)) return take_number(history, where, name, item);
    json_array_foreach(item, index, part)
    {
        snprintf(element, sizeof element, "%s[%zu]", name, index);
        ARTEL_TRY(take_number(history, where, element, part));
    }
    return ARTEL_OK;
}

static artel_status take_list(artel__run_history *history, const char *where, const char *name, const json_t *values)
{
    series *list;
    size_t index;
    json_t *item;
    if (!json_is_array(values)) return refuse(history, where, "there is no list for ", name);
    if (json_array_size(values) == 0) return list_of(history, name, &list);
    json_array_foreach(values, index, item) ARTEL_TRY(take_value(history, where, name, item));
    return ARTEL_OK;
}

static artel_status take_object(artel__run_history *history, const char *where, json_t *root)
{
    const char *name;
    json_t *values;
    if (!json_is_object(root)) return refuse(history, where, "it is no object", "");
    json_object_foreach(root, name, values) ARTEL_TRY(take_list(history, where, name, values));
    return ARTEL_OK;
}

artel_status artel__run_history_parse(artel__run_history *history, const char *where, const char *json)
{
    json_t *root;
    clear(history);
    ARTEL_TRY(artel__json_load(history->ctx, where, json, strlen(json), &root));
    artel_status status = take_object(history, where, root);
    json_decref(root);
    if (status < 0) clear(history);
    return status;
}
