/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a streamed table (csv_stream.c): where their records are, and what their fields are as numbers. */
#include "data/csv_stream_impl.h"

#include <string.h>

#include "base/pages.h"
#include "data/part_index.h"

enum {
    WANTED = 16,           /* arrays that are read together */
    PART_BYTES = 4096,     /* read at first for a row elsewhere */
    FAULT_BYTES = 64 << 10 /* that one fault maps */
};
#define NEAR_BYTES ((uint64_t)1 << 20) /* from one row to one that follows it, or comes a little before */

/* A record being converted. */
typedef struct record {
    const artel__source *source;
    const char *path;
    int64_t number; /* in its file, from 0, the header left out */
    uint64_t offset;
} record;

static artel_status bad_field(const record *r, int64_t column, const char *what)
{
    const stream_state *state = r->source->state;
    return artel__fail(r->source->ctx, ARTEL_ERROR_CORRUPT, r->path,
                       "correct the field; #missing=V, #defaults=A:V, #types=A:float help",
                       "record %lld (counted from 0) at byte %llu, column '%s': %s", (long long)r->number,
                       (unsigned long long)r->offset,
                       column < state->head.columns ? state->head.names[column].text : "", what);
}

/* A number; `dtype`: float64, or int64 for labels. */
static artel_status convert_field(const record *r, int64_t column, const artel__csv_field *field, artel_dtype dtype,
                                  void *out)
{
    const target *to = &((const stream_state *)r->source->state)->targets[column];
    int64_t integer = 0;
    double number = 0;
    artel__csv_kind kind = artel__csv_classify(field, &integer, &number);
    if (kind == ARTEL__CSV_TEXT) return bad_field(r, column, "text, where numbers stand");
    if (kind == ARTEL__CSV_EMPTY && !to->has_default) return bad_field(r, column, "empty, without a default");
    if (kind == ARTEL__CSV_EMPTY) number = to->fallback;
    if (kind == ARTEL__CSV_INTEGER) number = (double)integer;
    if (dtype != ARTEL_DTYPE_INT64) {
        ((double *)out)[to->place] = number;
        return ARTEL_OK;
    }
    if (kind != ARTEL__CSV_INTEGER) {
        if (!(number > -9e15 && number < 9e15) || (double)(int64_t)number != number)
            return bad_field(r, column, "a fraction among whole numbers (types=NAME:float reads them as such)");
        integer = (int64_t)number;
    }
    ((int64_t *)out)[to->place] = integer;
    return ARTEL_OK;
}

/* What is wanted of a record. */
typedef struct wanted {
    struct want {
        int64_t item;
        artel_dtype dtype;
        void *out;
    } want[WANTED];
    int count;
    const char *at; /* the record, and where it lies in the mapped file */
    const char *mapped;
    bool texts; /* some of it is text */
} wanted;

static void want(const artel__source *source, int array, void *out, wanted *to)
{
    const artel__source_array *a = &source->arrays[array];
    to->want[to->count++] = (struct want){a->item, a->dtype, out};
    to->texts = to->texts || a->dtype == ARTEL_DTYPE_STRING;
}

/* The text where it lies in the mapped file, wherever the record was read; unless it lies in the reader. */
static artel_status place_text(const record *r, const artel__csv_reader *reader, const artel__csv_field *field,
                               const wanted *to, artel__string *out)
{
    *out = (artel__string){"", field->length};
    if (field->length == 0) return ARTEL_OK;
    if (to->mapped == NULL || field->text < to->at || field->text >= reader->end) {
        artel__texts *kept = &((stream_state *)r->source->state)->kept;
        return artel__texts_take(kept, r->source->target, field->text, field->length, out);
    }
    out->bytes = to->mapped + (field->text - to->at);
    return ARTEL_OK;
}

static artel_status place_field(const record *r, const artel__csv_reader *reader, int64_t column,
                                const artel__csv_field *field, const wanted *to)
{
    int64_t item = ((const stream_state *)r->source->state)->targets[column].item;
    for (int w = 0; w < to->count; w++) {
        const struct want *one = &to->want[w];
        if (one->item != item) continue;
        ARTEL_TRY(one->dtype == ARTEL_DTYPE_STRING ? place_text(r, reader, field, to, one->out)
                                                   : convert_field(r, column, field, one->dtype, one->out));
    }
    return ARTEL_OK;
}

static artel_status convert_record(const record *r, artel__csv_reader *reader, const wanted *to)
{
    const stream_state *state = r->source->state;
    artel__csv_field field;
    artel_status status;
    int64_t column = 0;
    while ((status = artel__csv_next_field(reader, &field)) == ARTEL_OK) {
        if (column < state->head.columns) ARTEL_TRY(place_field(r, reader, column, &field, to));
        bool last = column == state->head.columns && !reader->in_record && artel__csv_is_blank(&field);
        if (!last) column++; /* a delimiter at the end of a line makes no column */
    }
    if (status < 0) return status;
    if (column == state->head.columns) return ARTEL_OK;
    char what[80];
    snprintf(what, sizeof what, "%lld fields (expected %lld)", (long long)column, (long long)state->head.columns);
    return bad_field(r, column, what);
}

/* A record's text: in the mapping, or in a part that was read. */
typedef struct part {
    char small[PART_BYTES];
    void *heap;
    const char *at, *end; /* from the record on */
    uint64_t offset;      /* of the record */
} part;

/* Goes over `count` records. */
static const char *skip_records(const char *at, const char *end, int64_t count)
{
    for (; count > 0; count--) at = artel__csv_skip_empty(artel__csv_record_end(at, end), end);
    return at;
}

/* Reads more and more from `offset` on until the record is whole. */
static artel_status read_part(const artel__source *source, const stream_file *file, uint64_t offset, int64_t skip,
                              part *out)
{
    size_t size = sizeof out->small, got;
    char *text = out->small;
    for (;;) {
        ARTEL_TRY(file->unfold ? artel__unfold_read(file->unfold, offset, text, size, &got)
                               : artel__read_part(source->ctx, file->blob->path, file->file, offset, text, size, &got));
        out->end = text + got;
        out->at = skip_records(text, out->end, skip);
        out->offset = offset + (uint64_t)(out->at - text);
        if (got < size || artel__csv_record_end(out->at, out->end) < out->end) return ARTEL_OK;
        size *= 8;
        ARTEL_TRY(artel__realloc(source->ctx, size, source->target, &out->heap));
        text = out->heap;
    }
}

/* Behind the row before, when that was the last one: 0 otherwise. */
static uint64_t behind_last(stream_state *state, int64_t row)
{
    row_memo *memo = &state->memo;
    if (atomic_flag_test_and_set_explicit(&memo->busy, memory_order_acquire)) return 0;
    uint64_t next = memo->row + 1 == row ? memo->next : 0;
    atomic_flag_clear_explicit(&memo->busy, memory_order_release);
    return next;
}

static artel_status find_record(const artel__source *source, const stream_file *file, int64_t row, part *out)
{
    stream_state *state = source->state;
    int64_t number = row - file->first;
    out->heap = NULL;
    if (file->blob == NULL) return artel__part_missing(source, file->path);
    const char *begin = (const char *)file->blob->bytes;
    uint64_t offset = state->offsets[file->offset0 + (size_t)(number / state->every)];
    if (file->unfold) return read_part(source, file, offset, number % state->every, out);
    uint64_t last = atomic_load_explicit(&state->last, memory_order_relaxed), before = last / 2;
    bool apart = file->file >= 0 && (offset + NEAR_BYTES / 16 - before > NEAR_BYTES || last == offset * 2 + 1);
    atomic_store_explicit(&state->last, offset * 2 + apart, memory_order_relaxed);
    if (apart) return read_part(source, file, offset, number % state->every, out);
    if (offset > before) artel__csv_touch(state, file->blob, offset - before + last % 2 * FAULT_BYTES);
    uint64_t next = number % state->every ? behind_last(state, row) : 0;
    out->end = begin + file->blob->size;
    out->at = next ? artel__csv_skip_empty(begin + next, out->end)
                   : skip_records(begin + offset, out->end, number % state->every);
    out->offset = (uint64_t)(out->at - begin);
    return ARTEL_OK;
}

int artel__csv_stream_file_of(const artel__source *source, int64_t row)
{
    const stream_state *state = source->state;
    return artel__find_run(&state->files[0].first, sizeof *state->files, state->file_count, row);
}

static bool recall_labels(stream_state *state, int64_t row, void *out)
{
    row_memo *memo = &state->memo;
    if (atomic_flag_test_and_set_explicit(&memo->busy, memory_order_acquire)) return false;
    bool there = memo->row == row && memo->labels;
    if (there) memcpy(out, memo->label, (size_t)state->labels * sizeof *memo->label);
    atomic_flag_clear_explicit(&memo->busy, memory_order_release);
    return there;
}

/* Of a row that was converted; `labels`: NULL when they were not. */
static void remember(stream_state *state, int64_t row, uint64_t next, const void *labels)
{
    row_memo *memo = &state->memo;
    if (atomic_flag_test_and_set_explicit(&memo->busy, memory_order_acquire)) return;
    memo->row = row;
    memo->next = next;
    memo->labels = labels != NULL;
    if (labels) memcpy(memo->label, labels, (size_t)state->labels * sizeof *memo->label);
    atomic_flag_clear_explicit(&memo->busy, memory_order_release);
}

/* The record of a part; *next: where the one behind it begins in the file. */
static artel_status convert_part(const record *r, const part *p, const wanted *to, uint64_t *next)
{
    artel__csv_reader reader;
    artel__csv_init(&reader, r->source->ctx, r->path, p->at, (size_t)(p->end - p->at),
                    ((const stream_state *)r->source->state)->delimiter);
    reader.apart = true;
    reader.record = r->number;
    reader.offset = r->offset;
    artel__csv_next_record(&reader);
    artel_status status = convert_record(r, &reader, to);
    *next = p->offset + (uint64_t)(reader.at - p->at);
    artel__csv_fini(&reader);
    return status;
}

/* A row into what is wanted of it. */
static artel_status fetch_wanted(const artel__source *source, int64_t row, wanted *to, uint64_t *next)
{
    stream_state *state = source->state;
    const stream_file *file = &state->files[artel__csv_stream_file_of(source, row)];
    part p;
    artel_status status = find_record(source, file, row, &p);
    if (status == ARTEL_OK) {
        const record r = {source, file->blob->path, row - file->first, p.offset};
        to->at = p.at;
        to->mapped = file->unfold ? NULL : (const char *)file->blob->bytes + p.offset;
        if (to->texts && to->mapped && to->at != to->mapped) artel__csv_touch(state, file->blob, FAULT_BYTES);
        status = convert_part(&r, &p, to, next);
    }
    artel__free(source->ctx, p.heap);
    return status;
}

artel_status artel__csv_stream_record(const artel__source *source, int64_t row, const artel__row_want *wants, int count)
{
    wanted to = {.count = 0};
    uint64_t next;
    for (int w = 0; w < count; w++) {
        want(source, wants[w].array, wants[w].out, &to);
        if (to.count < WANTED && w + 1 < count) continue;
        ARTEL_TRY(fetch_wanted(source, row, &to, &next));
        to.count = 0;
    }
    remember(source->state, row, next, NULL);
    return ARTEL_OK;
}

artel_status artel__csv_stream_fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                                     void *out)
{
    stream_state *state = source->state;
    int64_t item = source->arrays[array].item, room[MEMO_LABELS];
    wanted to = {.count = 0};
    uint64_t next;
    (void)row_shape;
    if (item == ITEM_LABELS && recall_labels(state, row, out)) return ARTEL_OK;
    want(source, array, out, &to);
    bool labels =
        item == ITEM_INPUTS && state->labels > 0 && state->labels <= MEMO_LABELS; /* they will be asked for next */
    if (labels) want(source, 1, room, &to);
    artel_status status = fetch_wanted(source, row, &to, &next);
    if (status < 0 && labels) {
        labels = false; /* whoever wants the labels is told what is wrong with them */
        to.count = 1;
        artel__operation_begin(source->ctx);
        status = fetch_wanted(source, row, &to, &next);
    }
    if (status == ARTEL_OK) remember(state, row, next, labels ? room : NULL);
    return status;
}

artel_status artel__csv_stream_hash(const artel__source *source, int array, int64_t row, uint64_t *out)
{
    const stream_state *state = source->state;
    const stream_file *file = &state->files[artel__csv_stream_file_of(source, row)];
    part p;
    (void)array;
    artel_status status = find_record(source, file, row, &p);
    if (status == ARTEL_OK) *out = artel__hash64(p.at, (size_t)(artel__csv_record_end(p.at, p.end) - p.at));
    artel__free(source->ctx, p.heap);
    return status;
}
