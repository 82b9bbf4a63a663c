/* SPDX-License-Identifier: Apache-2.0 */
/* text: of compressed files: windows are unfolded where they are wanted, in memory that does not depend on how long the
 * text is, but for eight bytes in a thousand characters. Rows are those of the same files uncompressed, bit for bit.
 *
 * Opening goes through the text once: it numbers the characters, and notes where every 1024th begins.
 */
#include "data/text_stream.h"

#include <string.h>

#include "base/utf8.h"

enum {
    EVERY = 1024,           /* characters from one kept place to the next */
    POINTS = 0x110000,      /* of Unicode */
    CHUNK_BYTES = 64 << 10, /* that opening reads at a time */
    MOST_CHARACTER = 4      /* bytes */
};

typedef struct text_file {
    const artel__blob *blob;
    artel__unfold *unfold; /* of a compressed one */
    int64_t first;         /* byte of the whole text */
} text_file;

typedef struct stream_state {
    text_file *files;
    int file_count;
    uint64_t size;    /* of the whole text */
    int32_t *numbers; /* of code points; NULL: tokens are bytes */
    uint64_t *places; /* of every EVERY-th character */
    size_t place_count, place_room;
    int64_t count, step;
} stream_state;

/* Bytes of the whole text; *got is less than `size` only where it ends. */
static artel_status read_text(const stream_state *state, uint64_t at, uint8_t *out, size_t size, size_t *got)
{
    *got = 0;
    for (int f = artel__find_run(&state->files[0].first, sizeof *state->files, state->file_count, (int64_t)at);
         f < state->file_count && *got < size; f++) {
        const text_file *file = &state->files[f];
        uint64_t place = at + *got - (uint64_t)file->first;
        size_t more = size - *got;
        if (file->unfold) {
            ARTEL_TRY(artel__unfold_read(file->unfold, place, out + *got, size - *got, &more));
        } else {
            if (more > file->blob->size - place) more = (size_t)(file->blob->size - place);
            if (more > 0) memcpy(out + *got, file->blob->bytes + place, more);
        }
        *got += more;
    }
    return ARTEL_OK;
}

/* ---- opening ---- */

static artel_status open_files(artel__source *source, stream_state *state)
{
    int count = 0;
    for (const artel__blob *blob = source->blobs; blob != NULL; blob = blob->next) count++;
    state->files = artel__arena_alloc(&source->arena, (size_t)count, sizeof *state->files);
    if (state->files == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (const artel__blob *blob = source->blobs; blob != NULL; blob = blob->next) {
        text_file *file = &state->files[state->file_count++];
        uint64_t size = blob->size;
        *file = (text_file){.blob = blob, .first = (int64_t)state->size};
        if (blob->gzip) {
            uint8_t last;
            size_t got;
            ARTEL_TRY(artel__blob_unfold(source, blob, &file->unfold));
            ARTEL_TRY(artel__unfold_size(file->unfold, &size));
            ARTEL_TRY(artel__unfold_read(file->unfold, size, &last, 1, &got)); /* says what ended it */
        }
        state->size += size;
    }
    return ARTEL_OK;
}

static artel_status keep_place(artel__source *source, stream_state *state, uint64_t place)
{
    if (state->place_count == state->place_room) {
        size_t room = state->place_room > 0 ? state->place_room * 2 : 64;
        void *block = state->places;
        ARTEL_TRY(artel__realloc(source->ctx, room * sizeof *state->places, source->target, &block));
        state->places = block;
        state->place_room = room;
    }
    state->places[state->place_count++] = place;
    return ARTEL_OK;
}

/* The characters of a piece of the text, but for one that is cut off: *used bytes. */
static artel_status look_through(artel__source *source, stream_state *state, const uint8_t *bytes, size_t size,
                                 uint64_t at, size_t *used)
{
    bool last = at + size == state->size;
    for (*used = 0; *used < size && (last || size - *used >= MOST_CHARACTER); state->count++) {
        size_t length;
        int32_t point = artel__utf8_take((const char *)bytes + *used, size - *used, &length);
        if (point < 0)
            return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, source->target,
                               "convert it (iconv -t utf-8), or use tokens=bytes", "byte %llu is no UTF-8",
                               (unsigned long long)(at + *used));
        if (state->count % EVERY == 0) ARTEL_TRY(keep_place(source, state, at + *used));
        state->numbers[point] = 1;
        *used += length;
    }
    return ARTEL_OK;
}

static artel_status number_characters(artel__source *source, stream_state *state, int32_t *kinds)
{
    uint8_t bytes[CHUNK_BYTES];
    void *block;
    ARTEL_TRY(artel__calloc(source->ctx, POINTS, sizeof(int32_t), source->target, &block));
    state->numbers = block;
    for (uint64_t at = 0; at < state->size;) {
        size_t got, used;
        ARTEL_TRY(artel__data_go_on(source->ctx, source->target));
        ARTEL_TRY(read_text(state, at, bytes, sizeof bytes, &got));
        ARTEL_TRY(look_through(source, state, bytes, got, at, &used));
        at += used;
    }
    *kinds = 0;
    for (int32_t point = 0; point < POINTS; point++) state->numbers[point] = state->numbers[point] ? (*kinds)++ : -1;
    return ARTEL_OK;
}

artel_status artel__text_stream_open(artel__source *source, artel__text_opened *out)
{
    stream_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    source->format = &artel__data_text_stream;
    source->state = state;
    state->step = source->options.step > 0 ? source->options.step : source->options.length;
    ARTEL_TRY(open_files(source, state));
    out->kinds = 256;
    if (source->options.tokens == ARTEL__DATA_BYTES)
        state->count = (int64_t)state->size;
    else
        ARTEL_TRY(number_characters(source, state, &out->kinds));
    out->tokens = state->count;
    return ARTEL_OK;
}

/* ---- rows ---- */

/* `count` characters from `token` on, as numbers; `room` is for their bytes. */
static artel_status read_characters(const artel__source *source, int64_t token, int64_t count, artel__unfold_room *room,
                                    int32_t *out)
{
    const stream_state *state = source->state;
    size_t behind = (size_t)((token + count + EVERY - 1) / EVERY), got;
    uint64_t at = state->places[token / EVERY], end = behind < state->place_count ? state->places[behind] : state->size;
    ARTEL_TRY(artel__realloc(source->ctx, (size_t)(end - at), source->target, &room->bytes));
    ARTEL_TRY(read_text(state, at, room->bytes, (size_t)(end - at), &got));
    const uint8_t *bytes = room->bytes;
    size_t place = 0;
    for (int64_t i = -(token % EVERY); i < count; i++) {
        size_t length;
        int32_t point = place < got ? artel__utf8_take((const char *)bytes + place, got - place, &length) : -1;
        if (point < 0 || state->numbers[point] < 0)
            return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, source->target, "read files that stay as they are",
                               "byte %llu is another than when the text was opened", (unsigned long long)(at + place));
        if (i >= 0) out[i] = state->numbers[point];
        place += length;
    }
    return ARTEL_OK;
}

static artel_status fetch(const artel__source *source, int array, const artel_shape *row_shape, int64_t row, void *out)
{
    const stream_state *state = source->state;
    int64_t token = row * state->step + source->arrays[array].item, length = source->options.length;
    artel__unfold_room room = {NULL, 0};
    size_t got;
    (void)row_shape;
    if (state->numbers == NULL) return read_text(state, (uint64_t)token, out, (size_t)length, &got);
    artel_status status = read_characters(source, token, length, &room, out);
    artel__unfold_room_fini(source->ctx, &room);
    return status;
}

/* That of the values, as of text in memory. */
static artel_status hash_row(const artel__source *source, int array, int64_t row, uint64_t *out)
{
    const stream_state *state = source->state;
    size_t bytes = (size_t)source->options.length * (state->numbers ? sizeof(int32_t) : 1);
    void *values;
    ARTEL_TRY(artel__alloc(source->ctx, bytes, source->target, &values));
    artel_status status = fetch(source, array, NULL, row, values);
    if (status == ARTEL_OK) *out = artel__hash64(values, bytes);
    artel__free(source->ctx, values);
    return status;
}

static void stream_close(artel__source *source)
{
    stream_state *state = source->state;
    artel__free(source->ctx, state->numbers);
    artel__free(source->ctx, state->places);
}

const artel__data_format artel__data_text_stream = {
    .name = "text",
    .syntax = "text:GLOB.gz#tokens=chars&length=N",
    .options = "",
    .fetch_row = fetch,
    .hash_row = hash_row,
    .close = stream_close,
};
