/* SPDX-License-Identifier: Apache-2.0 */
/* Reading rows as their sources hold them, over all joined sources. */
#include "data/rows.h"

#include <string.h>

#define OPEN_SIDE 64
#define WANTED 64 /* columns that are read together at most */
#define TOLD 512  /* rows that a source is told of at a time */

/* The columns that the specification names; all when it names none. */
typedef struct naming {
    char **names;
    int count;
} naming;

static naming read_names(artel_data *data, artel__arena *arena)
{
    naming all = {NULL, 0}, some;
    const char *list = data->sources[0].options.names;
    if (list == NULL || artel__data_list_parse(arena, list, &some.names, &some.count) < 0) return all;
    return some;
}

static bool is_named(const naming *those, const char *name)
{
    for (int i = 0; i < those->count; i++) {
        if (strcmp(those->names[i], name) == 0) return true;
    }
    return those->names == NULL;
}

static void settle_extents(const artel__source *source, artel__rows_column *column)
{
    const artel__data_options *options = &source->options;
    for (int i = 0; i < column->row.rank; i++) column->resized |= column->row.dim[i] < 0;
    if (!column->resized) return;
    column->open = options->height == 0 || options->width == 0;
    column->row.dim[0] = options->height > 0 ? options->height : OPEN_SIDE;
    column->row.dim[1] = options->width > 0 ? options->width : OPEN_SIDE;
    column->row.dim[2] = options->channels > 0 ? options->channels : 3;
}

/* Of each source what a column reads. */
static artel_status load_column(artel_data *data, artel__arena *arena, artel__rows_column *column)
{
    const artel__string **strings = NULL;
    bool text = column->dtype == ARTEL_DTYPE_STRING;
    if (text && data->sources[0].format->load_text != NULL) {
        strings = artel__arena_alloc(arena, (size_t)data->source_count, sizeof *strings);
        if (strings == NULL) return ARTEL_ERROR_NO_MEMORY;
    }
    for (int s = 0; s < data->source_count; s++) {
        artel__source *source = &data->sources[s];
        if (strings != NULL)
            ARTEL_TRY(artel__source_strings(source, column->array, &strings[s]));
        else if (!text && source->format->load != NULL)
            ARTEL_TRY(source->format->load(source, column->array));
    }
    column->strings = strings;
    return ARTEL_OK;
}

static artel_status add_column(artel_data *data, artel__arena *arena, int array, artel__rows *out)
{
    const artel__source *source = &data->sources[0];
    const artel__source_array *from = &source->arrays[array];
    artel__rows_column *column = &out->columns[out->column_count];
    *column = (artel__rows_column){.name = from->name,
                                   .role = from->role,
                                   .dtype = from->dtype,
                                   .row = from->row,
                                   .pixels = from->pixels,
                                   .array = array};
    settle_extents(source, column);
    column->elements = artel_shape_count(&column->row);
    column->bytes = (size_t)column->elements * artel__cell_size(column->dtype);
    column->at = out->row_bytes;
    if (column->bytes > SIZE_MAX / 4 - out->row_bytes)
        return artel__fail(data->ctx, ARTEL_ERROR_INVALID, data->specification, "name fewer arrays",
                           "a row is too large");
    out->row_bytes += (column->bytes + 15) / 16 * 16;
    column->has_encoded = source->format->encoded_row != NULL && column->resized;
    int64_t rows = artel__data_rows(data, array);
    if (out->column_count == 0) out->count = rows;
    if (rows != out->count) {
        return artel__fail(data->ctx, ARTEL_ERROR_INVALID, data->specification,
                           "name the arrays that go together: #x_train,y_train",
                           "array '%s' has %lld rows (array '%s' has %lld)", column->name, (long long)rows,
                           out->columns[0].name, (long long)out->count);
    }
    ARTEL_TRY(load_column(data, arena, column));
    out->column_count++;
    return ARTEL_OK;
}

/* Why an array is no column, or NULL. */
static const char *why_left_out(const artel__source_array *array, bool texts)
{
    bool text = artel__array_is_text(array);
    return text && texts ? NULL : text ? "it holds text" : array->refusal;
}

artel_status artel__rows_open(artel_data *data, artel__arena *arena, bool texts, artel__rows *out)
{
    const artel__source *source = &data->sources[0];
    memset(out, 0, sizeof *out);
    out->data = data;
    if (artel__data_is_synthetic(data)) {
        return artel__fail(data->ctx, ARTEL_ERROR_UNSUPPORTED, data->specification, "name files",
                           "synthetic data has the shape of a model");
    }
    if (source->options.has_scale || source->options.has_shift)
        return artel__fail(data->ctx, ARTEL_ERROR_UNSUPPORTED, data->specification,
                           "leave it out, or use the stage \"scale\" of a pipeline",
                           "%s is for the inputs of a model; rows are read here as their source holds them",
                           source->options.has_scale ? "scale" : "shift");
    out->columns = artel__arena_alloc(arena, (size_t)source->array_count, sizeof *out->columns);
    if (out->columns == NULL) return ARTEL_ERROR_NO_MEMORY;
    out->has_records = source->format->has_records;
    const naming named = read_names(data, arena);
    for (int i = 0; i < source->array_count; i++) {
        if (!is_named(&named, source->arrays[i].name)) continue;
        const char *why = why_left_out(&source->arrays[i], texts);
        if (why != NULL) {
            artel__log(data->ctx, ARTEL_LOG_NOTE, "%s: '%s' is left out: %s", data->specification,
                       source->arrays[i].name, why);
            if (out->column_count == 0) out->count = artel__data_rows(data, i);
            continue;
        }
        ARTEL_TRY(add_column(data, arena, i, out));
    }
    if (out->column_count > 0 || out->has_records) return artel__arena_status(arena);
    return artel__fail(data->ctx, ARTEL_ERROR_INVALID, data->specification, "check the names after #",
                       "no array is left to read");
}

const artel__source *artel__rows_source(const artel__rows *rows, int64_t *row)
{
    int array = rows->column_count > 0 ? rows->columns[0].array : 0, s = 0;
    while (s + 1 < rows->data->source_count && *row >= rows->data->sources[s].arrays[array].count)
        *row -= rows->data->sources[s++].arrays[array].count;
    return &rows->data->sources[s];
}

/* Where a row of the column lies in memory; NULL: it has to be fetched. */
static const void *find_row(const artel__rows *rows, const artel__rows_column *column, const artel__source *source,
                            int64_t row)
{
    const artel__source_array *array = &source->arrays[column->array];
    if (column->strings != NULL) return column->strings[source - rows->data->sources] + row * column->elements;
    if (array->base == NULL || column->dtype == ARTEL_DTYPE_STRING) return NULL;
    return array->base + (size_t)row * array->stride;
}

artel_status artel__rows_fetch(const artel__rows *rows, int column, int64_t row, void *out)
{
    const artel__rows_column *c = &rows->columns[column];
    const artel__source *source = artel__rows_source(rows, &row);
    const void *from = find_row(rows, c, source, row);
    if (from == NULL) return source->format->fetch_row(source, c->array, &c->row, row, out);
    if (c->bytes > 0) memcpy(out, from, c->bytes);
    return ARTEL_OK;
}

/* What has to be fetched of a row is asked for several columns at a time. */
typedef struct gathering {
    const artel__rows *rows;
    const artel__source *source;
    int64_t row;
    artel__row_want wants[WANTED];
    int count;
} gathering;

/* `wants` is written as columns come. */
static void begin_gathering(gathering *g, const artel__rows *rows, int64_t row)
{
    g->rows = rows;
    g->source = artel__rows_source(rows, &row);
    g->row = row;
    g->count = 0;
}

static artel_status fetch_gathered(gathering *g)
{
    int count = g->count;
    g->count = 0;
    return count > 0 ? artel__source_fetch(g->source, g->row, g->wants, count) : ARTEL_OK;
}

static artel_status gather_column(gathering *g, int column, void *out)
{
    const artel__rows_column *c = &g->rows->columns[column];
    const void *from = find_row(g->rows, c, g->source, g->row);
    if (from == NULL) {
        g->wants[g->count++] = (artel__row_want){c->array, &c->row, out};
        return g->count == WANTED ? fetch_gathered(g) : ARTEL_OK;
    }
    if (c->bytes > 0) memcpy(out, from, c->bytes);
    return ARTEL_OK;
}

artel_status artel__rows_fetch_some(const artel__rows *rows, const int *columns, int count, int64_t row,
                                    void *const *out)
{
    gathering g;
    begin_gathering(&g, rows, row);
    for (int i = 0; i < count; i++) ARTEL_TRY(gather_column(&g, columns[i], out[i]));
    return fetch_gathered(&g);
}

artel_status artel__rows_fetch_all(const artel__rows *rows, int64_t row, void *out)
{
    gathering g;
    begin_gathering(&g, rows, row);
    for (int c = 0; c < rows->column_count; c++) ARTEL_TRY(gather_column(&g, c, (uint8_t *)out + rows->columns[c].at));
    return fetch_gathered(&g);
}

int64_t artel__rows_expect(const artel__rows *rows, const int64_t *row, int64_t first, int64_t count)
{
    int64_t number[TOLD];
    if (rows->data->source_count != 1 || !rows->data->sources[0].far) return count;
    if (count > TOLD) count = TOLD;
    for (int64_t i = 0; i < count; i++) number[i] = row ? row[i] : first + i;
    return artel__source_expect(&rows->data->sources[0], number, count);
}

artel_status artel__rows_encoded(const artel__rows *rows, int column, int64_t row, artel__text *out)
{
    const artel__source *source = artel__rows_source(rows, &row);
    ARTEL_TRY(source->format->encoded_row(source, column < 0 ? -1 : rows->columns[column].array, row, out));
    return artel__text_status(out);
}
