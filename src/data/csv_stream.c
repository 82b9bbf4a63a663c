/* SPDX-License-Identifier: Apache-2.0 */
/* csv: with stream=yes: tables larger than memory, read where their rows are wanted.
 *
 * Opening looks for the ends of lines (quotes are minded) and keeps where every eighth record begins, or one in 16, 32,
 * ... where there are so many that this would fill memory; the first records say which columns hold whole numbers. A
 * row is found from there and its fields are converted each time: in the mapped text where rows follow one another,
 * whose pages are given back after some 32 MiB; elsewhere in a part that is read for it, since a fault maps far more
 * than a row. So the process stays small however rows are asked for. There are two arrays: `x`, the input columns side
 * by side, and `y`, the labels; where some of the inputs are text, each input is an array by the name of its column. A
 * column of whole numbers among the labels is held to be one in every row.
 */
#include "data/csv_stream_impl.h"

#include <math.h>
#include <string.h>

#include "base/pages.h"
#include "data/csv_pieces.h"
#include "data/part_index.h"
#include "data/remote.h"

enum {
    SAMPLE = 1000,  /* records that settle what the columns are */
    MOST_OPEN = 256 /* files that parts are read of; the others are only mapped */
};

/* Of a compressed file: what is read together, at first for the head and the sample, and the longest record. */
#define CHUNK_BYTES ((size_t)256 << 10)
#define MOST_RECORD ((size_t)256 << 20)
#define SAMPLE_BYTES ((size_t)16 << 20) /* that fewer records may settle the columns, too */

/* ---- finding records ---- */

/* Behind the end of the record at `at`; line ends within quotes do not count. */
const char *artel__csv_record_end(const char *at, const char *end)
{
    bool quoted = false;
    for (;;) {
        const char *line = memchr(at, '\n', (size_t)(end - at)), *stop = line != NULL ? line : end;
        for (const char *quote = at; (quote = memchr(quote, '"', (size_t)(stop - quote))) != NULL; quote++)
            quoted = !quoted;
        if (line == NULL) return end;
        at = line + 1;
        if (!quoted) return at;
    }
}

const char *artel__csv_skip_empty(const char *at, const char *end)
{
    while (at < end && (*at == '\n' || (*at == '\r' && (end - at == 1 || at[1] == '\n')))) at++;
    return at;
}

void artel__csv_touch(stream_state *state, const artel__blob *blob, uint64_t bytes)
{
    uint64_t before = atomic_fetch_add_explicit(&state->touched, bytes, memory_order_relaxed);
    if (before / FORGET_BYTES == (before + bytes) / FORGET_BYTES) return;
    artel__forget_pages(&blob->mapping);
    for (int f = 0; f < state->file_count; f++)
        if (state->files[f].blob != NULL) artel__forget_pages(&state->files[f].blob->mapping);
}

/* Leaves every other offset of each file; `current` is the one whose records are being found. */
static void thin_offsets(stream_state *state, stream_file *current)
{
    size_t kept = 0;
    for (stream_file *file = state->files; file <= current; file++) {
        size_t end = file < current ? file[1].offset0 : state->offset_count, begin = kept;
        for (size_t i = file->offset0; i < end; i += 2) state->offsets[kept++] = state->offsets[i];
        file->offset0 = begin;
    }
    state->offset_count = kept;
    state->every *= 2;
}

static artel_status keep_offset(artel__source *source, stream_state *state, uint64_t offset)
{
    if (state->offset_count == state->offset_room) {
        size_t room = state->offset_room > 0 ? state->offset_room * 2 : 1024;
        if (room > MOST_OFFSETS && state->offset_count < MOST_OFFSETS) room = MOST_OFFSETS;
        void *block = state->offsets;
        ARTEL_TRY(artel__realloc(source->ctx, room * sizeof *state->offsets, source->target, &block));
        state->offsets = block;
        state->offset_room = room;
    }
    state->offsets[state->offset_count++] = offset;
    return ARTEL_OK;
}

/* The record at so many bytes of its file. */
static artel_status add_record(artel__source *source, stream_file *file, uint64_t offset)
{
    stream_state *state = source->state;
    int64_t record = state->rows++ - file->first;
    if (record % state->every == 0 && state->offset_count == MOST_OFFSETS) thin_offsets(state, file);
    return record % state->every == 0 ? keep_offset(source, state, offset) : ARTEL_OK;
}

/* Records of a file, from `at` on. */
static artel_status find_records(artel__source *source, stream_file *file, const char *at)
{
    stream_state *state = source->state;
    if (file->blob->size == 0) return ARTEL_OK; /* nothing is mapped */
    const char *begin = (const char *)file->blob->bytes, *end = begin + file->blob->size, *told = at;
    while ((at = artel__csv_skip_empty(at, end)) < end) {
        ARTEL_TRY(add_record(source, file, (uint64_t)(at - begin)));
        at = artel__csv_record_end(at, end);
        if ((uint64_t)(at - told) < FORGET_BYTES / 4) continue;
        artel__csv_touch(state, file->blob, (uint64_t)(at - told));
        told = at;
        ARTEL_TRY(artel__data_go_on(source->ctx, file->blob->path));
    }
    return ARTEL_OK;
}

/* The same in a compressed file; `behind`: where its first record begins. */
static artel_status find_unfolded(artel__source *source, stream_file *file, uint64_t behind)
{
    artel__csv_pieces pieces = {
        .ctx = source->ctx, .path = file->blob->path, .unfold = file->unfold, .at = behind, .begun = true};
    artel__csv_piece piece = {.size = 1};
    artel_status status = ARTEL_OK;
    while (piece.size > 0 && status == ARTEL_OK) {
        status = artel__csv_pieces_next(&pieces, &piece);
        if (status < 0) break;
        const char *next = piece.text, *end = next + piece.size;
        while (status == ARTEL_OK && (next = artel__csv_skip_empty(next, end)) < end) {
            status = add_record(source, file, piece.at + (uint64_t)(next - piece.text));
            next = artel__csv_record_end(next, end);
        }
    }
    artel__csv_pieces_fini(&pieces);
    return status;
}

/* ---- columns ---- */

typedef struct sample {
    bool text, fraction, any;
    bool gap; /* it does not hold 0, 1, 2, ... */
    int64_t last;
} sample;

static void look_at(const artel__csv_field *field, sample *out)
{
    int64_t integer = 0;
    double number;
    artel__csv_kind kind = artel__csv_classify(field, &integer, &number);
    out->text |= kind == ARTEL__CSV_TEXT;
    out->fraction |= kind == ARTEL__CSV_FLOAT;
    out->any |= kind != ARTEL__CSV_EMPTY;
    out->gap = out->gap || kind != ARTEL__CSV_INTEGER || (integer != 0 && integer != out->last + 1);
    out->last = integer;
}

static artel_status sample_columns(const artel__source *source, artel__csv_reader *reader, sample *out)
{
    const stream_state *state = source->state;
    for (int64_t record = 0; record < SAMPLE && artel__csv_next_record(reader); record++) {
        const char *begin = reader->at;
        artel__csv_field field;
        artel_status status;
        int64_t i = 0;
        while ((status = artel__csv_next_field(reader, &field)) == ARTEL_OK) {
            if (i < state->head.columns) look_at(&field, &out[i++]);
        }
        if (status < 0 && (source->skips == NULL || !artel__is_damage(status))) return status;
        if (status == ARTEL_AGAIN) continue;
        artel__operation_begin(source->ctx); /* it is left out when it is read as a row, or refused then */
        reader->at = artel__csv_record_end(begin, reader->end);
    }
    return ARTEL_OK;
}

/* Gives the columns of a list their places in an array. */
static artel_status place_columns(artel__source *source, const char *list, int item, int64_t *count)
{
    stream_state *state = source->state;
    char **names;
    int listed;
    if (list == NULL) return ARTEL_OK;
    ARTEL_TRY(artel__data_list_parse(&source->arena, list, &names, &listed));
    for (int i = 0; i < listed; i++) {
        int64_t column;
        ARTEL_TRY(artel__csv_head_find(source, &state->head, names[i], &column));
        if (state->targets[column].item >= 0)
            return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "name each column once",
                               "column '%s' is listed twice", names[i]);
        state->targets[column].item = item;
        state->targets[column].place = (*count)++;
    }
    return ARTEL_OK;
}

static bool parse_number(const char *text, double *out)
{
    return artel__parse_double(text, out) || (strcmp(text, "nan") == 0 && (*out = NAN, true));
}

/* missing=V for all columns, defaults=A:V,B:V for some. */
static artel_status set_defaults(artel__source *source)
{
    stream_state *state = source->state;
    const artel__data_options *o = &source->options;
    double value = 0;
    if (o->missing != NULL && !parse_number(o->missing, &value))
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "missing", "write missing=0", "'%s' is not a number",
                           o->missing);
    for (int64_t i = 0; i < state->head.columns && o->missing != NULL; i++) {
        state->targets[i].has_default = true;
        state->targets[i].fallback = value;
    }
    char **pairs;
    int count = 0;
    if (o->defaults != NULL) ARTEL_TRY(artel__data_list_parse(&source->arena, o->defaults, &pairs, &count));
    for (int i = 0; i < count; i++) {
        int64_t column;
        char *colon = strrchr(pairs[i], ':');
        if (colon != NULL) *colon = '\0';
        if (colon == NULL || !parse_number(colon + 1, &value))
            return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "defaults", "write defaults=A:0,B:1.5",
                               "'%s' is no column and number", pairs[i]);
        ARTEL_TRY(artel__csv_head_find(source, &state->head, pairs[i], &column));
        state->targets[column].has_default = true;
        state->targets[column].fallback = value;
    }
    return ARTEL_OK;
}

/* types=A:int,B:float,C:text, where the first records mislead. */
static artel_status set_types(artel__source *source, sample *samples)
{
    const stream_state *state = source->state;
    char **pairs;
    int count = 0;
    if (source->options.types != NULL)
        ARTEL_TRY(artel__data_list_parse(&source->arena, source->options.types, &pairs, &count));
    for (int i = 0; i < count; i++) {
        int64_t column;
        char *colon = strrchr(pairs[i], ':');
        if (colon != NULL) *colon = '\0';
        bool whole = colon != NULL && strcmp(colon + 1, "int") == 0,
             fraction = colon != NULL && strcmp(colon + 1, "float") == 0;
        bool text = colon != NULL && strcmp(colon + 1, "text") == 0;
        if (!whole && !fraction && !text)
            return artel__fail(source->ctx, ARTEL_ERROR_INVALID, "types", "write types=A:int,B:float,C:text",
                               "'%s' is no column and type", pairs[i]);
        ARTEL_TRY(artel__csv_head_find(source, &state->head, pairs[i], &column));
        samples[column] = (sample){.fraction = fraction, .text = text, .any = true};
    }
    return ARTEL_OK;
}

/* Inputs some of which are text stand alone: no row of one dtype holds them all. */
static artel_status part_inputs(artel__source *source, const sample *samples)
{
    stream_state *state = source->state;
    bool texts = false;
    for (int64_t i = 0; i < state->head.columns; i++) {
        target *to = &state->targets[i];
        to->whole = !samples[i].fraction;
        to->text = samples[i].text;
        texts = texts || (to->item == ITEM_INPUTS && to->text);
        if (to->item == ITEM_LABELS && to->text)
            return artel__fail(source->ctx, ARTEL_ERROR_UNSUPPORTED, source->target, "write the classes as numbers",
                               "column '%s' holds text, which is no label", state->head.names[i].text);
    }
    for (int64_t i = 0; texts && i < state->head.columns; i++) {
        target *to = &state->targets[i];
        if (to->item != ITEM_INPUTS) continue;
        to->item = ITEM_COLUMN + to->place;
        to->place = 0;
    }
    if (texts) state->alone = state->inputs;
    if (texts) state->inputs = 0;
    return ARTEL_OK;
}

/* Which column goes where. */
static artel_status settle_columns(artel__source *source, sample *samples)
{
    stream_state *state = source->state;
    ARTEL_TRY(place_columns(source, source->options.label, ITEM_LABELS, &state->labels));
    ARTEL_TRY(place_columns(source, source->options.columns, ITEM_INPUTS, &state->inputs));
    for (int64_t i = 0; i < state->head.columns && source->options.columns == NULL; i++) {
        if (state->targets[i].item < 0 &&
            !artel__csv_head_leaves_out(source, &state->head, i, !samples[i].gap, samples[i].any))
            state->targets[i] = (target){.item = ITEM_INPUTS, .place = state->inputs++};
    }
    ARTEL_TRY(set_defaults(source));
    ARTEL_TRY(set_types(source, samples));
    ARTEL_TRY(part_inputs(source, samples));
    if (state->inputs + state->alone > 0) return ARTEL_OK;
    return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "name fewer labels",
                       "no column is left for the inputs");
}

/* Settles the columns by the records that follow. */
static artel_status start_table(artel__source *source, const artel__csv_reader *reader)
{
    stream_state *state = source->state;
    size_t columns = (size_t)state->head.columns;
    target *targets = artel__arena_alloc(&source->arena, columns, sizeof *targets);
    sample *samples = artel__arena_alloc(&source->arena, columns, sizeof *samples);
    ARTEL_TRY(artel__arena_status(&source->arena));
    for (size_t i = 0; i < columns; i++) targets[i].item = -1;
    state->targets = targets;
    artel__csv_reader from = *reader;
    artel__text_init(&from.unquoted, source->ctx);
    artel_status status = sample_columns(source, &from, samples);
    artel__csv_fini(&from);
    return status < 0 ? status : settle_columns(source, samples);
}

/* ---- opening ---- */

/* Reads the head from a text that the file begins with, and settles the columns; *behind: where the first record
 * begins. */
static artel_status read_head(artel__source *source, const char *path, const void *bytes, size_t size, size_t *behind)
{
    stream_state *state = source->state;
    artel__csv_reader reader;
    artel__csv_init(&reader, source->ctx, path, bytes, size, state->delimiter);
    artel_status status = artel__csv_head_read(source, &reader, &state->head);
    bool any = status == ARTEL_OK && artel__csv_next_record(&reader);
    if (any && state->targets == NULL) status = start_table(source, &reader);
    *behind = any ? size - (size_t)(reader.end - reader.at) : size;
    artel__csv_fini(&reader);
    return status < 0 ? status : ARTEL_OK;
}

/* Where a compressed file begins behind its first empty lines. */
static artel_status pass_empty(const stream_file *file, artel__unfold_room *room, uint64_t *out)
{
    for (size_t got;; *out += got) {
        ARTEL_TRY(artel__unfold_into(file->unfold, *out, CHUNK_BYTES, room, &got));
        const char *text = room->bytes, *end = text + got;
        if (got < CHUNK_BYTES || artel__csv_skip_empty(text, end) < end) return ARTEL_OK;
    }
}

/* What stands there: its head and the sample, whole records. */
static artel_status read_beginning(const stream_file *file, uint64_t at, artel__unfold_room *room, size_t *out)
{
    for (size_t size = CHUNK_BYTES, got;; size *= 4) {
        ARTEL_TRY(artel__unfold_into(file->unfold, at, size, room, &got));
        const char *text = room->bytes, *end = text + got, *whole = artel__csv_behind_comments(text, end);
        *out = got;
        if (got < size || size >= MOST_RECORD) return ARTEL_OK;
        int64_t records = 0;
        for (const char *next; (next = artel__csv_record_end(whole, end)) < end; records++) whole = next;
        *out = (size_t)(whole - text);
        if (records > 2 * SAMPLE || (records > 1 && size >= SAMPLE_BYTES)) return ARTEL_OK;
    }
}

static artel_status open_unfolded(artel__source *source, stream_file *file)
{
    artel__unfold_room room = {NULL, 0};
    size_t size = 0, behind = 0;
    uint64_t at = 0;
    artel_status status = pass_empty(file, &room, &at);
    if (status == ARTEL_OK) status = read_beginning(file, at, &room, &size);
    if (status == ARTEL_OK) status = read_head(source, file->blob->path, room.bytes, size, &behind);
    if (status == ARTEL_OK) status = find_unfolded(source, file, at + behind);
    artel__unfold_room_fini(source->ctx, &room);
    return status;
}

/* A file that is elsewhere: its beginning says what the columns are, as it does there. */
static artel_status open_absent(artel__source *source, const char *path, const artel__part_index *index)
{
    stream_state *state = source->state;
    size_t behind;
    ARTEL_TRY(read_head(source, path, index->beginning, index->length, &behind));
    state->rows += (int64_t)index->head.rows;
    return ARTEL_OK;
}

static artel_status open_file(artel__source *source, const char *path)
{
    stream_state *state = source->state;
    stream_file *file = &state->files[state->file_count];
    artel__blob *blob;
    artel__part_index index;
    size_t behind;
    bool absent;
    *file = (stream_file){.path = artel__arena_strdup(&source->arena, path),
                          .file = -1,
                          .first = state->rows,
                          .offset0 = state->offset_count};
    if (file->path == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__part_stand_in(source->ctx, path, &index, &absent));
    if (absent) {
        state->file_count++;
        artel_status status = open_absent(source, path, &index);
        artel__part_index_close(&index);
        return status;
    }
    ARTEL_TRY(artel__blob_open(source, path, &blob));
    file->blob = blob;
    if (blob->gzip) {
        ARTEL_TRY(artel__blob_unfold(source, blob, &file->unfold));
        state->file_count++;
        return open_unfolded(source, file);
    }
    if (state->file_count++ < MOST_OPEN && !artel__is_remote(path))
        ARTEL_TRY(artel__open_parts(source->ctx, path, &file->file));
    ARTEL_TRY(read_head(source, path, blob->bytes, blob->size, &behind));
    return find_records(source, file, (const char *)blob->bytes + behind);
}

static void publish_column(const stream_state *state, int64_t column, artel__source_array *out)
{
    const target *to = &state->targets[column];
    *out = (artel__source_array){.name = state->head.names[column].text,
                                 .role = ARTEL_DATA_ROLE_INPUT,
                                 .dtype = to->text ? ARTEL_DTYPE_STRING : ARTEL_DTYPE_FLOAT64,
                                 .count = state->rows,
                                 .item = to->item};
    artel__array_set_text(out);
}

static artel_status publish(artel__source *source)
{
    const stream_state *state = source->state;
    bool whole = true;
    if (state->rows == 0 || state->targets == NULL)
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "give at least one line of values",
                           "the table has no records");
    for (int64_t i = 0; i < state->head.columns; i++)
        whole = whole && (state->targets[i].item != ITEM_LABELS || state->targets[i].whole);
    ARTEL_TRY(artel__source_add_arrays(source, (state->inputs > 0) + (state->labels > 0) + state->alone));
    artel__source_array *next = source->arrays;
    if (state->inputs > 0)
        *next++ = (artel__source_array){.name = "x",
                                        .role = ARTEL_DATA_ROLE_INPUT,
                                        .dtype = ARTEL_DTYPE_FLOAT64,
                                        .row = {1, {state->inputs}},
                                        .count = state->rows};
    if (state->labels > 0)
        *next++ = (artel__source_array){.name = "y",
                                        .role = ARTEL_DATA_ROLE_TARGET,
                                        .dtype = whole ? ARTEL_DTYPE_INT64 : ARTEL_DTYPE_FLOAT64,
                                        .row = {state->labels > 1, {state->labels}},
                                        .count = state->rows,
                                        .item = ITEM_LABELS};
    for (int64_t i = 0; i < state->head.columns; i++) {
        if (state->targets[i].item >= ITEM_COLUMN)
            publish_column(state, i, next + (state->targets[i].item - ITEM_COLUMN));
    }
    return ARTEL_OK;
}

artel_status artel__csv_stream_open(artel__source *source, char delimiter)
{
    artel__paths paths;
    stream_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->format = &artel__data_csv_stream;
    source->state = state;
    state->delimiter = delimiter;
    state->memo.row = -1;
    state->every = EVERY;
    artel__texts_init(&state->kept, source->ctx, MOST_TEXT_BYTES);
    ARTEL_TRY(artel__parts_find(source->ctx, source->target, &paths));
    state->files = artel__arena_alloc(&source->arena, paths.count, sizeof *state->files);
    artel_status status = state->files != NULL ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < paths.count && status == ARTEL_OK; i++) status = open_file(source, paths.items[i]);
    artel__paths_fini(&paths);
    return status < 0 ? status : publish(source);
}

static void stream_close(artel__source *source)
{
    stream_state *state = source->state;
    for (int f = 0; f < state->file_count; f++) artel__close_parts(state->files[f].file);
    artel__free(source->ctx, state->offsets);
    artel__texts_fini(&state->kept);
}

/* ---- pieces ---- */

static int stream_parts(const artel__source *source)
{
    return ((const stream_state *)source->state)->file_count;
}

static artel__data_piece stream_part(const artel__source *source, int part)
{
    const stream_state *state = source->state;
    const stream_file *file = &state->files[part];
    int64_t end = part + 1 < state->file_count ? file[1].first : state->rows;
    return (artel__data_piece){file->path, end - file->first, file->blob != NULL, file->blob};
}

/* The head, and the records that settle the columns. */
static const char *behind_sample(const char *text, const char *end)
{
    const char *at = artel__csv_behind_comments(text, end);
    for (int i = 0; i <= SAMPLE && at < end; i++) at = artel__csv_record_end(artel__csv_skip_empty(at, end), end);
    return at;
}

static artel_status stream_beginning(const artel__source *source, int part, artel__text *out)
{
    const stream_file *file = &((const stream_state *)source->state)->files[part];
    artel__unfold_room room = {NULL, 0};
    const char *text = (const char *)file->blob->bytes;
    size_t size = file->blob->size;
    uint64_t at = 0;
    artel_status status = ARTEL_OK;
    if (file->unfold) status = pass_empty(file, &room, &at);
    if (file->unfold && status == ARTEL_OK) status = read_beginning(file, at, &room, &size);
    if (file->unfold) text = room.bytes;
    if (status == ARTEL_OK && size > 0)
        artel__text_append_bytes(out, text, (size_t)(behind_sample(text, text + size) - text));
    artel__unfold_room_fini(source->ctx, &room);
    return status;
}

const artel__data_format artel__data_csv_stream = {
    .name = "csv",
    .syntax = "csv:GLOB#stream=yes&label=COL",
    .options = "",
    .fetch_row = artel__csv_stream_fetch,
    .fetch_record = artel__csv_stream_record,
    .hash_row = artel__csv_stream_hash,
    .fingerprint = artel__parts_fingerprint,
    .parts = stream_parts,
    .part = stream_part,
    .part_of = artel__csv_stream_file_of,
    .beginning = stream_beginning,
    .close = stream_close,
};
