/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions of data: made by a worker, read by everybody. */
#include "service/dataset.h"

#include <stdio.h>
#include <string.h>

#include "data/feed.h"

#define MOST_ROWS ((int64_t)1 << 44) /* what a row's number has room for beside its pass */

const char *const artel__service_policies[] = {"dynamic", "data", "file", "off", NULL};
static const char *const roles[] = {"auto", "input", "target", "weight", NULL};

/* ---- made ---- */

static artel_status describe_parts(artel__arena *arena, const artel_data *data, artel__service_dataset *out)
{
    int64_t first = 0;
    for (int s = 0; s < data->source_count; s++) out->part_count += data->sources[s].format->parts(&data->sources[s]);
    out->parts = artel__arena_alloc(arena, (size_t)out->part_count + 1, sizeof *out->parts);
    ARTEL_TRY(artel__arena_status(arena));
    for (int s = 0, at = 0; s < data->source_count; s++) {
        const artel__source *source = &data->sources[s];
        for (int p = 0; p < source->format->parts(source); p++, at++) {
            artel__data_piece piece = source->format->part(source, p);
            const char *slash = strrchr(piece.name, '/');
            out->parts[at] =
                (artel__service_part){artel__arena_strdup(arena, slash ? slash + 1 : piece.name), first, piece.rows};
            first += piece.rows;
        }
    }
    return artel__arena_status(arena);
}

static artel_status check_servable(const artel_data *data, const artel__rows *rows)
{
    const artel__source *source = &data->sources[0];
    const char *what = data->specification;
    if (source->format->table)
        return artel__fail(data->ctx, ARTEL_ERROR_UNSUPPORTED, what, "serve it row by row: add #stream=yes",
                           "a table that is read at once is not served");
    if (source->format->fetch_row == NULL && source->arrays[0].base == NULL && source->format->load == NULL)
        return artel__fail(data->ctx, ARTEL_ERROR_UNSUPPORTED, what, "name files",
                           "data from a function is not served");
    if (artel__data_buckets_of(data))
        return artel__fail(data->ctx, ARTEL_ERROR_UNSUPPORTED, what,
                           "put it behind the service: {\"from\": \"service:HOST:PORT/NAME\", \"stages\": [...]}",
                           "rows are served, not batches of like length (bucket_by_sequence_length)");
    for (int i = 0; i < rows->column_count; i++) {
        const artel__rows_column *c = &rows->columns[i];
        if (c->resized && (source->options.height == 0 || source->options.width == 0))
            return artel__fail(data->ctx, ARTEL_ERROR_INVALID, what, "say how large images are: #size=HxW",
                               "the size of '%s' is open", c->name);
    }
    if (rows->column_count > 0 && rows->count < MOST_ROWS) return ARTEL_OK;
    return artel__fail(data->ctx, ARTEL_ERROR_INVALID, what, "", "no columns, or more than 2^44 rows");
}

artel_status artel__service_describe(artel__arena *arena, artel_data *data, const char *name,
                                     artel__service_policy policy, artel__rows *rows, artel__service_dataset *out)
{
    memset(out, 0, sizeof *out);
    bool apart = policy == ARTEL__SERVICE_FILE;
    ARTEL_TRY(artel__data_check_parts(data, apart));
    ARTEL_TRY(artel__rows_open(data, arena, true, rows));
    ARTEL_TRY(check_servable(data, rows));
    ARTEL_TRY(artel__data_fingerprint(data, out->print));
    out->name = artel__arena_strdup(arena, name);
    out->policy = policy;
    out->rows = rows->count;
    out->row_bytes = rows->row_bytes;
    out->columns = rows->columns;
    out->column_count = rows->column_count;
    for (int s = 0; s < data->source_count; s++) {
        out->draws |= data->sources[s].draws;
        out->sorted_by_class |= data->sources[s].sorted_by_class;
    }
    if (apart) ARTEL_TRY(describe_parts(arena, data, out));
    for (int i = 0; i < out->column_count; i++)
        ARTEL_TRY(artel__service_check_name(data->ctx, "the name of a column", out->columns[i].name));
    for (int i = 0; i < out->part_count; i++)
        ARTEL_TRY(artel__service_check_name(data->ctx, "the name of a file", out->parts[i].name));
    return artel__arena_status(arena);
}

artel_status artel__service_here(artel__arena *arena, const artel_data *data, const artel__service_dataset *dataset,
                                 char **out)
{
    *out = artel__arena_alloc(arena, (size_t)dataset->part_count + 1, 1);
    ARTEL_TRY(artel__arena_status(arena));
    for (int s = 0, at = 0; s < data->source_count && dataset->part_count > 0; s++) {
        const artel__source *source = &data->sources[s];
        for (int p = 0; p < source->format->parts(source); p++)
            (*out)[at++] = source->format->part(source, p).here ? '1' : '0';
    }
    return ARTEL_OK;
}

/* ---- JSON ---- */

void artel__service_list_add(json_t **list, json_t *value)
{
    if (*list && json_array_append_new(*list, value) == 0) return;
    if (!*list) json_decref(value);
    json_decref(*list);
    *list = NULL;
}

artel_status artel__service_check_name(artel_context *ctx, const char *what, const char *name)
{
    json_t *text = json_string(name); /* takes UTF-8 alone */
    json_decref(text);
    if (text != NULL) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_INVALID, name, "give it a name in UTF-8",
                       "%s is no UTF-8, in which processes of a data service talk", what);
}

static json_t *column_json(const artel__rows_column *column)
{
    json_t *shape = json_array();
    for (int i = 0; i < column->row.rank; i++) artel__service_list_add(&shape, json_integer(column->row.dim[i]));
    return json_pack("{s:s, s:s, s:s, s:o, s:b}", "name", column->name, "role", roles[column->role], "dtype",
                     artel_dtype_name(column->dtype), "shape", shape, "pixels", column->pixels);
}

json_t *artel__service_dataset_json(const artel__service_dataset *d)
{
    char print[65];
    json_t *columns = json_array(), *parts = json_array();
    for (int i = 0; i < 32; i++) snprintf(print + 2 * i, 3, "%02x", d->print[i]);
    for (int i = 0; i < d->column_count; i++) artel__service_list_add(&columns, column_json(&d->columns[i]));
    for (int i = 0; i < d->part_count; i++)
        artel__service_list_add(
            &parts, json_pack("{s:s, s:I}", "name", d->parts[i].name, "rows", (json_int_t)d->parts[i].rows));
    return json_pack("{s:s, s:s, s:s, s:I, s:I, s:b, s:b, s:o, s:o}", "name", d->name, "policy",
                     artel__service_policies[d->policy], "print", print, "rows", (json_int_t)d->rows, "row_bytes",
                     (json_int_t)d->row_bytes, "draws", d->draws, "sorted", d->sorted_by_class, "columns", columns,
                     "parts", parts);
}

static int find_word(const char *const *words, const json_t *value)
{
    const char *text = json_string_value(value);
    for (int i = 0; text && words[i]; i++)
        if (strcmp(words[i], text) == 0) return i;
    return -1;
}

static bool read_shape(const json_t *value, artel_shape *out)
{
    if (!json_is_array(value) || json_array_size(value) > ARTEL_MAX_RANK) return false;
    out->rank = (int)json_array_size(value);
    for (int i = 0; i < out->rank; i++) {
        const json_t *extent = json_array_get(value, (size_t)i);
        out->dim[i] = json_integer_value(extent);
        if (!json_is_integer(extent) || out->dim[i] < 0 || out->dim[i] > (int64_t)1 << 40) return false;
    }
    return true;
}

/* A column and its place in a row, as artel__rows_open sets them. */
static bool read_column(artel__arena *arena, const json_t *value, size_t *row_bytes, artel__rows_column *out)
{
    const char *name = json_string_value(json_object_get(value, "name"));
    int role = find_word(roles, json_object_get(value, "role"));
    const char *dtype = json_string_value(json_object_get(value, "dtype"));
    if (!name || role < 0 || !dtype || artel_dtype_parse(dtype, &out->dtype) != ARTEL_OK) return false;
    if (!read_shape(json_object_get(value, "shape"), &out->row)) return false;
    out->elements = artel_shape_count(&out->row);
    if (out->elements < 0 || out->elements > (int64_t)1 << 40) return false;
    out->name = artel__arena_strdup(arena, name);
    out->role = (artel_data_role)role;
    out->pixels = json_is_true(json_object_get(value, "pixels"));
    out->bytes = (size_t)out->elements * artel__cell_size(out->dtype);
    out->at = *row_bytes;
    *row_bytes += (out->bytes + 15) / 16 * 16;
    return *row_bytes < (size_t)1 << 44;
}

static bool read_print(const json_t *value, uint8_t out[32])
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64) return false;
    for (int i = 0; i < 32; i++) {
        char pair[3] = {text[2 * i], text[2 * i + 1], 0};
        unsigned byte;
        if (sscanf(pair, "%2x", &byte) != 1) return false;
        out[i] = (uint8_t)byte;
    }
    return true;
}

static bool read_parts(artel__arena *arena, const json_t *value, artel__service_dataset *out)
{
    int64_t first = 0;
    out->part_count = (int)json_array_size(value);
    out->parts = artel__arena_alloc(arena, (size_t)out->part_count + 1, sizeof *out->parts);
    for (int i = 0; out->parts && i < out->part_count; i++) {
        const json_t *part = json_array_get(value, (size_t)i);
        const char *name = json_string_value(json_object_get(part, "name"));
        int64_t rows = json_integer_value(json_object_get(part, "rows"));
        if (!name || rows < 0 || rows > out->rows - first) return false;
        out->parts[i] = (artel__service_part){artel__arena_strdup(arena, name), first, rows};
        first += rows;
    }
    return out->parts && (out->part_count == 0 || first == out->rows);
}

static bool read_all(artel__arena *arena, const json_t *value, artel__service_dataset *out)
{
    const json_t *columns = json_object_get(value, "columns");
    const char *name = json_string_value(json_object_get(value, "name"));
    int policy = find_word(artel__service_policies, json_object_get(value, "policy"));
    size_t count = json_array_size(columns), bytes = 0;
    out->rows = json_integer_value(json_object_get(value, "rows"));
    if (!name || policy < 0 || out->rows < 0 || out->rows >= MOST_ROWS || count < 1 || count > ARTEL__DATA_MAX_ARRAYS)
        return false;
    if (!read_print(json_object_get(value, "print"), out->print)) return false;
    out->name = artel__arena_strdup(arena, name);
    out->policy = (artel__service_policy)policy;
    out->draws = json_is_true(json_object_get(value, "draws"));
    out->sorted_by_class = json_is_true(json_object_get(value, "sorted"));
    out->column_count = (int)count;
    out->columns = artel__arena_alloc(arena, count, sizeof *out->columns);
    if (!out->columns) return false;
    for (size_t i = 0; i < count; i++)
        if (!read_column(arena, json_array_get(columns, i), &bytes, &out->columns[i])) return false;
    out->row_bytes = bytes;
    return (int64_t)bytes == json_integer_value(json_object_get(value, "row_bytes")) &&
           read_parts(arena, json_object_get(value, "parts"), out);
}

artel_status artel__service_dataset_read(artel__arena *arena, const char *where, const json_t *value,
                                         artel__service_dataset *out)
{
    memset(out, 0, sizeof *out);
    bool good = read_all(arena, value, out);
    ARTEL_TRY(artel__arena_status(arena));
    if (good) return ARTEL_OK;
    return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, where, "use the same artel everywhere",
                       "the description of a dataset is damaged");
}

int artel__service_part_of(const artel__service_dataset *dataset, int64_t row)
{
    return dataset->part_count > 0
               ? artel__find_run(&dataset->parts[0].first, sizeof *dataset->parts, dataset->part_count, row)
               : 0;
}
