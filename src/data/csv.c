/* SPDX-License-Identifier: Apache-2.0 */
/* csv: tables as text; `csv:GLOB#label=COL[,COL]`.
 *
 * All files are read when the data is opened, since the dtype of a column is known only at its end: int64 while every
 * field is an integer, float64 from the first other number on, text from the first field that is no number. Columns
 * are kept as cells of 8 bytes, side by side in memory each for itself; binding packs the chosen ones into rows. Text
 * and columns with empty fields (unless `missing` says what stands for them) are refused when a model wants them, with
 * the place of the first such field, so that columns nobody uses do no harm.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/csv_reader.h"
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
    const char *name;
    column_type type;
    cell *cells;
    const char *trouble; /* where the first text or empty field stands; NULL: none */
    bool trouble_is_text;
    bool unnamed; /* the header leaves its name empty */
    bool counts;  /* its fields are 0, 1, 2, ..., from 0 on again in each file */
    bool has_value;
    int64_t last;
} column;

typedef struct table {
    artel_context *ctx;
    column *columns;
    int64_t column_count;
    int64_t rows, capacity;
    char delimiter;
    bool has_header;
    artel__csv_kind missing_kind; /* ARTEL__CSV_EMPTY: not given */
    cell missing;
} table;

/* ---- the first record ---- */

/* Counts the fields of the first record and says whether names could be written there: text, and no number. pandas leaves the name of
 * an index empty, others that behind a last delimiter. */
static artel_status measure_record(artel__csv_reader reader, int64_t *out_count, bool *out_all_text)
{
    artel__csv_field field;
    artel_status status;
    int64_t integer, texts = 0, numbers = 0;
    double number;
    *out_count = 0;
    artel__text_init(&reader.unquoted, reader.ctx);
    while ((status = artel__csv_next_field(&reader, &field)) == ARTEL_OK) {
        (*out_count)++;
        artel__csv_kind kind = artel__csv_classify(&field, &integer, &number);
        texts += kind == ARTEL__CSV_TEXT;
        numbers += kind == ARTEL__CSV_INTEGER || kind == ARTEL__CSV_FLOAT;
    }
    *out_all_text = texts > 0 && numbers == 0;
    artel__text_fini(&reader.unquoted);
    return status < 0 ? status : ARTEL_OK;
}

/* A name without the blanks around it, which stand there for the eye. */
static void trim(artel__csv_field *field)
{
    while (!field->quoted && field->length > 0 && (*field->text == ' ' || *field->text == '\t')) field->text++, field->length--;
    while (!field->quoted && field->length > 0 && strchr(" \t", field->text[field->length - 1])) field->length--;
}

static artel_status read_names(artel__source *source, table *t, artel__csv_reader *reader)
{
    artel__csv_field field;
    for (int64_t i = 0; i < t->column_count; i++) {
        ARTEL_TRY(artel__csv_next_field(reader, &field));
        trim(&field);
        t->columns[i].unnamed = field.length == 0;
        t->columns[i].name =
            t->columns[i].unnamed /* as pandas calls it */
                ? artel__arena_printf(&source->arena, "Unnamed: %lld", (long long)i)
                : artel__arena_printf(&source->arena, "%.*s", (int)(field.length < 4096 ? field.length : 4096), field.text);
        if (t->columns[i].name == NULL) return ARTEL_ERROR_NO_MEMORY;
    }
    return ARTEL_OK;
}

/* A header of a later file must say the same as that of the first. */
static artel_status check_names(table *t, artel__csv_reader *reader)
{
    artel__csv_field field;
    int64_t i = 0;
    artel_status status;
    while ((status = artel__csv_next_field(reader, &field)) == ARTEL_OK) {
        trim(&field);
        const char *name = i < t->column_count && !t->columns[i].unnamed ? t->columns[i].name : "";
        bool same = i < t->column_count && strlen(name) == field.length && memcmp(name, field.text, field.length) == 0;
        if (!same) {
            return artel__fail(t->ctx, ARTEL_ERROR_INVALID, reader->path, "join files with the same columns",
                               "column %lld is named '%.*s' (expected %s)", (long long)i + 1, (int)(field.length < 80 ? field.length : 80),
                               field.text, i < t->column_count ? t->columns[i].name : "no more");
        }
        i++;
    }
    if (status < 0) return status;
    if (i == t->column_count) return ARTEL_OK;
    return artel__fail(t->ctx, ARTEL_ERROR_INVALID, reader->path, "join files with the same columns", "%lld columns (expected %lld)",
                       (long long)i, (long long)t->column_count);
}

static artel_status start_table(artel__source *source, table *t, artel__csv_reader *reader)
{
    bool all_text;
    ARTEL_TRY(measure_record(*reader, &t->column_count, &all_text));
    if (t->column_count > ARTEL__DATA_MAX_ARRAYS) {
        return artel__fail(t->ctx, ARTEL_ERROR_INVALID, reader->path, "is the delimiter right?", "%lld columns (at most %d)",
                           (long long)t->column_count, ARTEL__DATA_MAX_ARRAYS);
    }
    int header = source->options.header;
    t->has_header = header == ARTEL__DATA_HEADER_YES || (header == ARTEL__DATA_HEADER_AUTO && all_text);
    t->columns = artel__arena_alloc(&source->arena, (size_t)t->column_count, sizeof *t->columns);
    if (t->columns == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (int64_t i = 0; i < t->column_count; i++) t->columns[i].counts = true;
    if (t->has_header) return read_names(source, t, reader);
    for (int64_t i = 0; i < t->column_count; i++) {
        t->columns[i].name = artel__arena_printf(&source->arena, "%lld", (long long)i);
        if (t->columns[i].name == NULL) return ARTEL_ERROR_NO_MEMORY;
    }
    return ARTEL_OK;
}

/* ---- records ---- */

static artel_status grow(table *t)
{
    int64_t capacity = t->capacity == 0 ? 16 : t->capacity * 2;
    for (int64_t i = 0; i < t->column_count; i++) {
        void *block = t->columns[i].cells;
        if (t->columns[i].type == COLUMN_TEXT) continue;
        ARTEL_TRY(artel__realloc(t->ctx, (size_t)capacity * sizeof(cell), "csv columns", &block));
        t->columns[i].cells = block;
    }
    t->capacity = capacity;
    return ARTEL_OK;
}

static artel_status note_trouble(artel__source *source, column *c, const artel__csv_reader *reader, const artel__csv_field *field,
                                 bool is_text)
{
    if (c->trouble != NULL && (c->trouble_is_text || !is_text)) return ARTEL_OK;
    c->trouble_is_text = is_text;
    if (is_text) {
        c->trouble = artel__arena_printf(&source->arena, "it holds text, first '%.*s' in line %lld, column %lld of %s",
                                         (int)(field->length < 60 ? field->length : 60), field->text, (long long)reader->line,
                                         (long long)reader->column, reader->path);
    } else {
        c->trouble =
            artel__arena_printf(&source->arena, "the field in line %lld, column %lld of %s is empty or says NA (#missing=0 would read 0)",
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

static artel_status store_field(artel__source *source, table *t, column *c, const artel__csv_reader *reader, const artel__csv_field *field)
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
    if (kind == ARTEL__CSV_EMPTY && t->missing_kind == ARTEL__CSV_EMPTY) ARTEL_TRY(note_trouble(source, c, reader, field, false));
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

/* A delimiter at the end of a line makes no column. */
static bool is_blank(const artel__csv_field *field)
{
    size_t i = 0;
    while (i < field->length && (field->text[i] == ' ' || field->text[i] == '\t')) i++;
    return i == field->length && !field->quoted;
}

static artel_status wrong_width(const table *t, const artel__csv_reader *reader, int64_t found)
{
    return artel__fail(t->ctx, ARTEL_ERROR_CORRUPT, reader->path, "complete the line; quote fields that hold the delimiter",
                       "line %lld has %lld field%s (expected %lld)", (long long)reader->line, (long long)found, found == 1 ? "" : "s",
                       (long long)t->column_count);
}

static artel_status read_record(artel__source *source, table *t, artel__csv_reader *reader)
{
    artel__csv_field field;
    artel_status status;
    int64_t at = 0;
    if (t->rows == t->capacity) ARTEL_TRY(grow(t));
    while ((status = artel__csv_next_field(reader, &field)) == ARTEL_OK) {
        if (at == t->column_count && !reader->in_record && is_blank(&field)) break;
        if (at < t->column_count) ARTEL_TRY(store_field(source, t, &t->columns[at], reader, &field));
        at++;
    }
    if (status < 0) return status;
    if (at != t->column_count) return wrong_width(t, reader, at);
    t->rows++;
    return ARTEL_OK;
}

static artel_status read_records(artel__source *source, table *t, artel__csv_reader *reader)
{
    if (!artel__csv_next_record(reader)) return ARTEL_OK; /* an empty file adds nothing */
    bool first = t->columns == NULL;
    if (first)
        ARTEL_TRY(start_table(source, t, reader));
    else if (t->has_header)
        ARTEL_TRY(check_names(t, reader));
    if (!t->has_header) ARTEL_TRY(read_record(source, t, reader));
    while (artel__csv_next_record(reader)) {
        if ((t->rows & 4095) == 0 && artel__cancelled(t->ctx))
            return artel__fail(t->ctx, ARTEL_ERROR_CANCELLED, reader->path, "", "reading was cancelled");
        ARTEL_TRY(read_record(source, t, reader));
    }
    return ARTEL_OK;
}

static artel_status check_encoding(artel_context *ctx, const char *path, const uint8_t *bytes, size_t size)
{
    bool marked = size >= 2 && ((bytes[0] == 0xff && bytes[1] == 0xfe) || (bytes[0] == 0xfe && bytes[1] == 0xff));
    if (!marked && !(size >= 4 && ((bytes[1] == 0 && bytes[3] == 0) || (bytes[0] == 0 && bytes[2] == 0)))) return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path, "save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW", "the text is UTF-16");
}

/* Lines in front of the table that begin with #, as numpy.savetxt writes them; behind its first line such a line is a record. */
static void pass_comments(artel__csv_reader *reader)
{
    int64_t passed = 0;
    while (artel__csv_next_record(reader) && *reader->at == '#') {
        const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
        reader->at = end ? end : reader->end;
        passed++;
    }
    if (passed > 0)
        artel__log(reader->ctx, ARTEL_LOG_NOTE, "%s: %lld line%s in front of the table begin%s with # and are passed over", reader->path,
                   (long long)passed, passed == 1 ? "" : "s", passed == 1 ? "s" : "");
}

static artel_status read_file(artel__source *source, table *t, const char *path)
{
    artel__blob *blob;
    artel__csv_reader reader;
    ARTEL_TRY(artel__blob_open(source, path, &blob));
    ARTEL_TRY(artel__blob_inflate(source, blob, 0));
    ARTEL_TRY(check_encoding(source->ctx, path, blob->bytes, blob->size));
    artel__csv_init(&reader, source->ctx, path, blob->bytes, blob->size, t->delimiter);
    pass_comments(&reader);
    artel_status status = read_records(source, t, &reader);
    artel__csv_fini(&reader);
    return status;
}

/* ---- options ---- */

static artel_status read_options(artel__source *source, table *t)
{
    const char *delimiter = source->options.delimiter != NULL ? source->options.delimiter : ",";
    if (strcmp(delimiter, "tab") == 0 || strcmp(delimiter, "\\t") == 0) delimiter = "\t";
    t->delimiter = delimiter[0];
    if (strlen(delimiter) != 1 || strchr("\"\r\n", delimiter[0]) != NULL) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "delimiter", "write delimiter=; or delimiter=tab", "'%s' is not one character",
                           delimiter);
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
    return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "missing", "write missing=0", "'%s' is not a number", field.text);
}

static artel_status find_column(artel__source *source, const table *t, const char *name, int64_t *out)
{
    for (int64_t i = 0; i < t->column_count; i++) {
        if (strcmp(t->columns[i].name, name) != 0) continue;
        *out = i;
        return ARTEL_OK;
    }
    return artel__fail(source->ctx, ARTEL_ERROR_NOT_FOUND, source->target,
                       t->has_header ? "check the name"
                                     : "#header=yes takes the names from the first line; without a header columns are named 0, 1, ...",
                       "no column '%s' (found %lld, the first '%s', the last '%s')", name, (long long)t->column_count, t->columns[0].name,
                       t->columns[t->column_count - 1].name);
}

/* ---- arrays ---- */

static void add_array(artel__source *source, const table *t, int64_t index, artel_data_role role, int *at)
{
    const column *c = &t->columns[index];
    artel__source_array *array = &source->arrays[(*at)++];
    array->name = c->name;
    array->role = role;
    array->count = t->rows;
    array->item = index;
    array->stride = sizeof(cell);
    array->base = (const uint8_t *)c->cells;
    array->dtype = c->type == COLUMN_TEXT ? ARTEL_DTYPE_STRING : c->type == COLUMN_FLOAT ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_INT64;
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
        ARTEL_TRY(find_column(source, t, names[i], &out->columns[i]));
        if (taken[out->columns[i]]) {
            return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "name each column once", "column '%s' is listed twice",
                               names[i]);
        }
        taken[out->columns[i]] = true;
    }
    return ARTEL_OK;
}

/* What is no input unless it is named: pandas' index, and what stands behind a delimiter at the end of the lines. */
static bool is_left_out(const artel__source *source, const table *t, int64_t i)
{
    const column *c = &t->columns[i];
    bool index = i == 0 && c->unnamed && c->counts && c->type == COLUMN_INTEGER;
    bool nothing = i + 1 == t->column_count && c->unnamed && !c->has_value && c->type != COLUMN_TEXT;
    if (index)
        artel__log(
            source->ctx, ARTEL_LOG_NOTE,
            "%s: the first column has no name and counts the lines; it is taken for pandas' index and left out (#columns=... names inputs)",
            source->target);
    return index || nothing;
}

/* Inputs as listed, or all others in the order of the file; then labels as listed. */
static artel_status make_arrays(artel__source *source, const table *t)
{
    selection labels, inputs;
    int at = 0;
    bool *taken = artel__arena_alloc(&source->arena, (size_t)t->column_count, sizeof *taken);
    if (taken == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(select_columns(source, t, source->options.label, taken, &labels));
    ARTEL_TRY(select_columns(source, t, source->options.columns, taken, &inputs));
    bool all = source->options.columns == NULL;
    int64_t others = 0;
    for (int64_t i = 0; all && i < t->column_count; i++) {
        taken[i] = taken[i] || is_left_out(source, t, i);
        others += !taken[i];
    }
    ARTEL_TRY(artel__source_add_arrays(source, (all ? others : inputs.count) + labels.count));
    for (int64_t i = 0; all && i < t->column_count; i++) {
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
    if (source->options.skip_errors > 0)
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
                           "the table has no records%s", t->has_header ? " below its header" : "");
    }
    return make_arrays(source, t);
}

static void csv_close(artel__source *source)
{
    table *t = source->state;
    for (int64_t i = 0; t->columns != NULL && i < t->column_count; i++) artel__free(t->ctx, t->columns[i].cells);
}

const artel__data_format artel__data_csv = {
    .name = "csv",
    .syntax = "csv:GLOB#label=COL",
    .options = "label header delimiter columns missing stream types defaults skip-errors",
    .table = true,
    .open = csv_open,
    .close = csv_close,
};
