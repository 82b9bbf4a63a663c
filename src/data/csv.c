/* SPDX-License-Identifier: Apache-2.0 */
/* csv: tables as text; `csv:GLOB#label=COL[,COL]`.
 *
 * All files are read when the data is opened, since the dtype of a column is known only at its end: int64 while every
 * field is an integer, float64 from the first other number on, text from the first field that is no number. Columns
 * are kept as cells of 8 bytes, side by side in memory each for itself; binding packs the chosen ones into rows. Text
 * and columns with empty fields (unless `missing` says what stands for them) are refused when a model wants numbers of
 * them, with the place of the first such field, so that columns nobody uses do no harm. For an input of strings the
 * files are read once more: every column is text then, as it stands there. Compressed files are read piece by piece
 * both times; nothing is kept of them but cells and texts.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/csv_head.h"
#include "data/csv_pieces.h"
#include "data/csv_stream.h"
#include "data/remote.h"
#include "data/source.h"

typedef union cell {
    int64_t integer;
    double number;
} cell;

typedef enum column_type {
    COLUMN_EMPTY,
    COLUMN_INTEGER,
    COLUMN_FLOAT,
    COLUMN_TEXT
} column_type;

typedef struct column {
    column_type type;
    cell *cells;
    const char *trouble; /* where the first text or empty field stands; NULL: none */
    bool trouble_is_text;
    bool counts; /* its fields are 0, 1, 2, ..., from 0 on again in each file */
    bool has_value;
    int64_t last;
} column;

typedef struct table {
    artel_context *ctx;
    artel__csv_head head;
    column *columns; /* as many as the head has */
    int64_t rows, capacity;
    char delimiter;
    artel__csv_kind missing_kind; /* ARTEL__CSV_EMPTY: not given */
    cell missing;
} table;

/* ---- records ---- */

static artel_status grow(table *t)
{
    int64_t capacity = t->capacity == 0 ? 16 : t->capacity * 2;
    for (int64_t i = 0; i < t->head.columns; i++) {
        void *block = t->columns[i].cells;
        if (t->columns[i].type == COLUMN_TEXT) continue;
        ARTEL_TRY(artel__realloc(t->ctx, (size_t)capacity * sizeof(cell), "csv columns", &block));
        t->columns[i].cells = block;
    }
    t->capacity = capacity;
    return ARTEL_OK;
}

static artel_status note_trouble(artel__source *source, column *c, const artel__csv_reader *reader,
                                 const artel__csv_field *field, bool is_text)
{
    if (c->trouble != NULL && (c->trouble_is_text || !is_text)) return ARTEL_OK;
    c->trouble_is_text = is_text;
    if (is_text) {
        c->trouble = artel__arena_printf(&source->arena, "it holds text, first '%.*s' in line %lld, column %lld of %s",
                                         (int)(field->length < 60 ? field->length : 60), field->text,
                                         (long long)reader->line, (long long)reader->column, reader->path);
    } else {
        c->trouble = artel__arena_printf(
            &source->arena, "the field in line %lld, column %lld of %s is empty or says NA (#missing=0 would read 0)",
            (long long)reader->line, (long long)reader->column, reader->path);
    }
    return c->trouble != NULL ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
}

/* From the first fraction on, a column of integers is one of floats. */
static void make_float(column *c, int64_t rows)
{
    for (int64_t i = 0; i < rows && c->type == COLUMN_INTEGER; i++) c->cells[i].number = (double)c->cells[i].integer;
    c->type = COLUMN_FLOAT;
}

static void make_text(table *t, column *c)
{
    artel__free(t->ctx, c->cells);
    c->cells = NULL;
    c->type = COLUMN_TEXT;
}

static artel_status store_field(artel__source *source, table *t, column *c, const artel__csv_reader *reader,
                                const artel__csv_field *field)
{
    cell value = {0};
    double number = 0;
    int64_t integer = 0;
    if (c->type == COLUMN_TEXT) return ARTEL_OK;
    artel__csv_kind kind = artel__csv_classify(field, &integer, &number);
    if (kind == ARTEL__CSV_TEXT) {
        make_text(t, c);
        return note_trouble(source, c, reader, field, true);
    }
    c->has_value = c->has_value || kind != ARTEL__CSV_EMPTY;
    c->counts = c->counts && kind == ARTEL__CSV_INTEGER && (integer == 0 || integer == c->last + 1);
    c->last = integer;
    if (kind == ARTEL__CSV_INTEGER) value.integer = integer;
    if (kind == ARTEL__CSV_FLOAT) value.number = number;
    if (kind == ARTEL__CSV_EMPTY && t->missing_kind == ARTEL__CSV_EMPTY)
        ARTEL_TRY(note_trouble(source, c, reader, field, false));
    if (kind == ARTEL__CSV_EMPTY) {
        kind = t->missing_kind;
        value = t->missing;
    }
    if (kind == ARTEL__CSV_FLOAT && c->type != COLUMN_FLOAT) make_float(c, t->rows);
    if (kind == ARTEL__CSV_INTEGER && c->type == COLUMN_EMPTY) c->type = COLUMN_INTEGER;
    if (kind == ARTEL__CSV_INTEGER && c->type == COLUMN_FLOAT) value.number = (double)value.integer;
    c->cells[t->rows] = value;
    return ARTEL_OK;
}

static artel_status wrong_width(const table *t, const artel__csv_reader *reader, int64_t found)
{
    char advice[96] = "complete the line; quote fields that hold the delimiter";
    artel__csv_head_advise(&t->head, advice, sizeof advice);
    return artel__fail(t->ctx, ARTEL_ERROR_CORRUPT, reader->path, advice, "line %lld has %lld field%s (expected %lld)",
                       (long long)reader->line, (long long)found, found == 1 ? "" : "s", (long long)t->head.columns);
}

static artel_status read_record(artel__source *source, table *t, artel__csv_reader *reader)
{
    artel__csv_field field;
    artel_status status;
    int64_t at = 0;
    if (t->rows == t->capacity) ARTEL_TRY(grow(t));
    while ((status = artel__csv_next_field(reader, &field)) == ARTEL_OK) {
        if (at == t->head.columns && !reader->in_record && artel__csv_is_blank(&field))
            break; /* behind a last delimiter */
        if (at < t->head.columns) ARTEL_TRY(store_field(source, t, &t->columns[at], reader, &field));
        at++;
    }
    if (status < 0) return status;
    if (at != t->head.columns) return wrong_width(t, reader, at);
    t->rows++;
    return ARTEL_OK;
}

/* What a first file with a record settles. */
static artel_status start_table(artel__source *source, table *t)
{
    t->columns = artel__arena_alloc(&source->arena, (size_t)t->head.columns, sizeof *t->columns);
    if (t->columns == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < t->head.columns; i++) t->columns[i].counts = true;
    return ARTEL_OK;
}

typedef artel_status records_fn(artel__source *source, artel__csv_reader *reader, void *user);

/* The records of a compressed file, whose head is that of the first piece that has a record. */
static artel_status walk_pieces(artel__source *source, artel__csv_reader *reader, artel__csv_pieces *pieces,
                                records_fn *records, void *user)
{
    table *t = source->state;
    artel__csv_piece piece;
    for (bool begun = false, first = true;; first = false) {
        ARTEL_TRY(artel__csv_pieces_next(pieces, &piece));
        if (piece.size == 0) return ARTEL_OK;
        if (first) artel__csv_init(reader, source->ctx, pieces->path, piece.text, piece.size, t->delimiter);
        if (!first) reader->at = piece.text;
        reader->end = piece.text + piece.size;
        if (!begun) {
            artel_status status = artel__csv_head_read(source, reader, &t->head);
            if (status < 0) return status;
            begun = status != ARTEL_AGAIN;
        }
        ARTEL_TRY(records(source, reader, user));
    }
}

/* The records of a file, in one go where its text lies in memory. */
static artel_status walk_file(artel__source *source, const artel__blob *blob, records_fn *records, void *user)
{
    table *t = source->state;
    artel__csv_reader reader;
    artel__csv_pieces pieces = {.ctx = source->ctx, .path = blob->path};
    artel_status status;
    artel__csv_init(&reader, source->ctx, blob->path, blob->bytes, blob->size, t->delimiter);
    if (blob->gzip) {
        status = artel__unfold_pass_create(source->ctx, blob->path, blob->bytes, blob->size, &pieces.pass);
        if (status == ARTEL_OK) status = walk_pieces(source, &reader, &pieces, records, user);
    } else {
        status = artel__csv_head_read(source, &reader, &t->head);
        if (status >= 0) status = records(source, &reader, user);
    }
    artel__unfold_pass_destroy(pieces.pass);
    artel__csv_pieces_fini(&pieces);
    artel__csv_fini(&reader);
    return status;
}

static artel_status read_records(artel__source *source, artel__csv_reader *reader, void *user)
{
    table *t = user;
    if (t->columns == NULL && t->head.columns > 0) ARTEL_TRY(start_table(source, t));
    while (artel__csv_next_record(reader)) {
        ARTEL_TRY(artel__data_go_on(t->ctx, reader->path));
        ARTEL_TRY(read_record(source, t, reader));
    }
    return ARTEL_OK;
}

static artel_status read_file(artel__source *source, table *t, const char *path)
{
    artel__blob *blob;
    ARTEL_TRY(artel__blob_open(source, path, &blob));
    return walk_file(source, blob, read_records, t);
}

/* ---- options ---- */

static artel_status read_options(artel__source *source, table *t)
{
    const char *delimiter = source->options.delimiter != NULL ? source->options.delimiter : ",";
    if (strcmp(delimiter, "tab") == 0 || strcmp(delimiter, "\\t") == 0) delimiter = "\t";
    t->delimiter = delimiter[0];
    if (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "delimiter", "write delimiter=; or delimiter=tab",
                           "'%s' is not one character", delimiter);
    }
    t->missing_kind = ARTEL__CSV_EMPTY;
    if (source->options.missing == NULL) return ARTEL_OK;
    artel__csv_field field = {source->options.missing, strlen(source->options.missing), false};
    int64_t integer = 0;
    double number = 0;
    t->missing_kind = artel__csv_classify(&field, &integer, &number);
    if (t->missing_kind == ARTEL__CSV_EMPTY && strcmp(field.text, "nan") == 0) {
        t->missing_kind = ARTEL__CSV_FLOAT;
        number = NAN;
    }
    if (t->missing_kind == ARTEL__CSV_INTEGER) t->missing.integer = integer;
    if (t->missing_kind == ARTEL__CSV_FLOAT) t->missing.number = number;
    if (t->missing_kind == ARTEL__CSV_INTEGER || t->missing_kind == ARTEL__CSV_FLOAT) return ARTEL_OK;
    return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "missing", "write missing=0", "'%s' is not a number",
                       field.text);
}

/* ---- arrays ---- */

static void add_array(artel__source *source, const table *t, int64_t index, artel_data_role role, int *at)
{
    const column *c = &t->columns[index];
    artel__source_array *array = &source->arrays[(*at)++];
    array->name = t->head.names[index].text;
    array->role = role;
    array->count = t->rows;
    array->item = index;
    array->stride = sizeof(cell);
    array->base = (const uint8_t *)c->cells;
    array->dtype = c->type == COLUMN_TEXT    ? ARTEL_DTYPE_STRING
                   : c->type == COLUMN_FLOAT ? ARTEL_DTYPE_FLOAT64
                                             : ARTEL_DTYPE_INT64;
    array->text = true;
    array->refusal = c->trouble;
    if (c->trouble != NULL && !c->trouble_is_text) array->refusal_status = ARTEL_ERROR_INVALID;
}

/* Columns chosen by name, in the order of the list. */
typedef struct selection {
    int64_t *columns;
    int count;
} selection;

/* Reads a list of names; `taken` marks columns, so that none is chosen twice. */
static artel_status select_columns(artel__source *source, const table *t, const char *list, bool *taken, selection *out)
{
    char **names;
    *out = (selection){NULL, 0};
    if (list == NULL) return ARTEL_OK;
    ARTEL_TRY(artel__data_list_parse(&source->arena, list, &names, &out->count));
    out->columns = artel__arena_alloc(&source->arena, (size_t)out->count, sizeof *out->columns);
    if (out->columns == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < out->count; i++) {
        ARTEL_TRY(artel__csv_head_find(source, &t->head, names[i], &out->columns[i]));
        if (taken[out->columns[i]]) {
            return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "name each column once",
                               "column '%s' is listed twice", names[i]);
        }
        taken[out->columns[i]] = true;
    }
    return ARTEL_OK;
}

static bool is_left_out(const artel__source *source, const table *t, int64_t i)
{
    const column *c = &t->columns[i];
    return artel__csv_head_leaves_out(source, &t->head, i, c->counts && c->type == COLUMN_INTEGER,
                                      c->has_value || c->type == COLUMN_TEXT);
}

/* Inputs as listed, or all others in the order of the file; then labels as listed. */
static artel_status make_arrays(artel__source *source, const table *t)
{
    selection labels, inputs;
    int at = 0;
    bool *taken = artel__arena_alloc(&source->arena, (size_t)t->head.columns, sizeof *taken);
    if (taken == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(select_columns(source, t, source->options.label, taken, &labels));
    ARTEL_TRY(select_columns(source, t, source->options.columns, taken, &inputs));
    bool all = source->options.columns == NULL;
    int64_t others = 0;
    for (int64_t i = 0; all && i < t->head.columns; i++) {
        taken[i] = taken[i] || is_left_out(source, t, i);
        others += !taken[i];
    }
    ARTEL_TRY(artel__source_add_arrays(source, (all ? others : inputs.count) + labels.count));
    for (int64_t i = 0; all && i < t->head.columns; i++) {
        if (!taken[i]) add_array(source, t, i, ARTEL_DATA_ROLE_INPUT, &at);
    }
    for (int i = 0; i < inputs.count; i++) add_array(source, t, inputs.columns[i], ARTEL_DATA_ROLE_INPUT, &at);
    for (int i = 0; i < labels.count; i++) add_array(source, t, labels.columns[i], ARTEL_DATA_ROLE_TARGET, &at);
    return ARTEL_OK;
}

static artel_status csv_open(artel__source *source)
{
    artel__paths paths;
    table *t = artel__arena_alloc(&source->arena, 1, sizeof *t);
    if (t == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->state = t;
    t->ctx = source->ctx;
    ARTEL_TRY(read_options(source, t));
    if (source->options.stream) return artel__csv_stream_open(source, t->delimiter);
    if (source->skips != NULL)
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "add stream=yes, or leave it out",
                           "lines can be left out of tables that are streamed only");
    if (source->options.types != NULL || source->options.defaults != NULL) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "add stream=yes, or leave them out",
                           "types and defaults are settings of tables that are streamed");
    }
    ARTEL_TRY(artel__data_glob(source->ctx, source->target, &paths));
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < paths.count && status == ARTEL_OK; i++) status = read_file(source, t, paths.items[i]);
    artel__paths_fini(&paths);
    if (status < 0) return status;
    if (t->rows == 0) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "give at least one line of values",
                           "the table has no records%s", t->head.given ? " below its header" : "");
    }
    return make_arrays(source, t);
}

/* -- strings -- */

typedef struct text_column {
    int64_t index;
    artel__string *strings;
    int64_t rows, capacity;
    const artel__blob *blob; /* whose records are read */
} text_column;

/* A field that lies in the file as it is stays there. */
static artel_status keep_field(artel__source *source, const artel__blob *blob, const artel__csv_field *field,
                               artel__string *out)
{
    const char *begin = (const char *)blob->bytes;
    *out = (artel__string){field->text, field->length};
    if (field->length == 0) out->bytes = "";
    if (field->length == 0 || (field->text >= begin && field->text < begin + blob->size)) return ARTEL_OK;
    char *copy = artel__arena_alloc(&source->arena, 1, field->length);
    if (copy == NULL) return ARTEL_ERROR_NO_MEMORY;
    memcpy(copy, field->text, field->length);
    out->bytes = copy;
    return ARTEL_OK;
}

/* The column of records that have been read before: nothing new can be wrong with them. */
static artel_status read_column(artel__source *source, artel__csv_reader *reader, void *user)
{
    text_column *out = user;
    artel__csv_field field;
    artel_status status;
    while (artel__csv_next_record(reader)) {
        int64_t at = 0;
        ARTEL_TRY(artel__data_go_on(source->ctx, reader->path));
        while ((status = artel__csv_next_field(reader, &field)) == ARTEL_OK) {
            if (at++ != out->index || out->rows == out->capacity) continue;
            ARTEL_TRY(keep_field(source, out->blob, &field, &out->strings[out->rows++]));
        }
        if (status < 0) return status;
    }
    return ARTEL_OK;
}

static artel_status csv_load_text(artel__source *source, int array, const artel__string **out)
{
    const table *t = source->state;
    text_column wanted = {.index = source->arrays[array].item, .capacity = t->rows};
    void *block;
    ARTEL_TRY(artel__source_alloc(source, (size_t)t->rows * sizeof(artel__string), &block));
    wanted.strings = block;
    for (wanted.blob = source->blobs; wanted.blob != NULL; wanted.blob = wanted.blob->next)
        ARTEL_TRY(walk_file(source, wanted.blob, read_column, &wanted));
    *out = wanted.strings;
    return ARTEL_OK;
}

static void csv_close(artel__source *source)
{
    table *t = source->state;
    for (int64_t i = 0; t->columns != NULL && i < t->head.columns; i++) artel__free(t->ctx, t->columns[i].cells);
}

const artel__data_format artel__data_csv = {
    .name = "csv",
    .syntax = "csv:GLOB#label=COL",
    .options = "label header delimiter columns missing stream types defaults skip-errors",
    .table = true,
    .open = csv_open,
    .load_text = csv_load_text,
    .close = csv_close,
};
