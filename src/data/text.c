/* SPDX-License-Identifier: Apache-2.0 */
/* text:GLOB#tokens=chars&length=N: windows of N tokens, and the same one token on: what a model of the next token is
 * trained with.
 *
 * Tokens are bytes (0..255), or characters: code points of UTF-8, numbered in the order of their code points among
 * those that the files hold. Files stand one behind another. Window i begins at token i * step (step is N unless
 * given); x holds N tokens from there, y those from the next one on. Windows overlap in memory instead of being copied;
 * those of compressed files are unfolded when they are wanted (text_stream.c).
 */
#include <string.h>

#include "base/file.h"
#include "base/utf8.h"
#include "data/record_file.h"
#include "data/text_stream.h"

typedef struct text_state {
    uint8_t *bytes; /* of all files */
    size_t size;
    int32_t *tokens;
    int64_t count;
} text_state;

/* *packed: some of them are compressed. */
static artel_status open_files(artel__source *source, bool *packed)
{
    artel__paths paths;
    *packed = false;
    ARTEL_TRY(artel__shards_find(source->ctx, source->target, &paths));
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < paths.count && status == ARTEL_OK; i++) {
        artel__blob *blob;
        status = artel__blob_open(source, paths.items[i], &blob);
        *packed = *packed || (status == ARTEL_OK && blob->gzip);
    }
    artel__paths_fini(&paths);
    return status;
}

static artel_status read_files(artel__source *source, text_state *state)
{
    size_t at = 0;
    for (const artel__blob *blob = source->blobs; blob != NULL; blob = blob->next) state->size += blob->size;
    void *bytes;
    ARTEL_TRY(artel__source_alloc(source, state->size, &bytes));
    state->bytes = bytes;
    for (const artel__blob *blob = source->blobs; blob != NULL; blob = blob->next) {
        if (blob->size > 0) memcpy(state->bytes + at, blob->bytes, blob->size);
        at += blob->size;
    }
    return ARTEL_OK;
}

/* Marks the characters that occur, numbers them, then writes the numbers. */
static artel_status number_characters(artel__source *source, text_state *state, int32_t *kinds)
{
    void *numbers_block, *tokens_block;
    int64_t characters = 0;
    int32_t next = 0;
    ARTEL_TRY(artel__calloc(source->ctx, 0x110000, sizeof(int32_t), source->target, &numbers_block));
    int32_t *numbers = numbers_block;
    artel_status status = ARTEL_OK;
    for (size_t at = 0; at < state->size && status == ARTEL_OK; characters++) {
        size_t size;
        if (characters % 65536 == 0) status = artel__data_go_on(source->ctx, source->target);
        int32_t point = artel__utf8_take((const char *)state->bytes + at, state->size - at, &size);
        if (point < 0) {
            status = artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, source->target,
                                 "convert it (iconv -t utf-8), or use tokens=bytes", "byte %zu is no UTF-8", at);
            break;
        }
        numbers[point] = 1;
        at += size;
    }
    for (int32_t point = 0; point < 0x110000; point++) numbers[point] = numbers[point] ? next++ : -1;
    if (status == ARTEL_OK) status = artel__source_alloc(source, (size_t)characters * sizeof(int32_t), &tokens_block);
    if (status == ARTEL_OK) {
        state->tokens = tokens_block;
        for (size_t at = 0, size; at < state->size; at += size)
            state->tokens[state->count++] =
                numbers[artel__utf8_take((const char *)state->bytes + at, state->size - at, &size)];
    }
    artel__free(source->ctx, numbers_block);
    *kinds = next;
    return status;
}

/* The text in memory. */
static artel_status load(artel__source *source, text_state *state, artel__text_opened *out)
{
    out->kinds = 256;
    ARTEL_TRY(read_files(source, state));
    if (source->options.tokens == ARTEL__DATA_BYTES)
        state->count = (int64_t)state->size;
    else
        ARTEL_TRY(number_characters(source, state, &out->kinds));
    out->tokens = state->count;
    return ARTEL_OK;
}

static artel_status text_open(artel__source *source)
{
    int64_t length = source->options.length, step = source->options.step > 0 ? source->options.step : length;
    bool bytes = source->options.tokens == ARTEL__DATA_BYTES, packed;
    text_state state = {0};
    artel__text_opened opened;
    if (length < 1) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "write #tokens=chars&length=100",
                           "the length of a window is not given");
    }
    ARTEL_TRY(open_files(source, &packed));
    ARTEL_TRY(packed ? artel__text_stream_open(source, &opened) : load(source, &state, &opened));
    if (!bytes)
        artel__log(source->ctx, ARTEL_LOG_NOTE, "%s: %lld characters, %d different ones: the vocabulary has %d entries",
                   source->target, (long long)opened.tokens, opened.kinds, opened.kinds);
    if (opened.tokens < length + 1) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "choose a shorter window",
                           "%lld tokens make no window of %lld + 1", (long long)opened.tokens, (long long)length);
    }
    size_t size = bytes ? 1 : sizeof(int32_t);
    const uint8_t *base = bytes ? state.bytes : (const uint8_t *)state.tokens;
    ARTEL_TRY(artel__source_add_arrays(source, 2));
    for (int i = 0; i < 2; i++) {
        source->arrays[i] = (artel__source_array){.name = i == 0 ? "x" : "y",
                                                  .role = i == 0 ? ARTEL_DATA_ROLE_INPUT : ARTEL_DATA_ROLE_TARGET,
                                                  .dtype = bytes ? ARTEL_DTYPE_UINT8 : ARTEL_DTYPE_INT32,
                                                  .row = {1, {length}},
                                                  .count = (opened.tokens - length - 1) / step + 1,
                                                  .base = packed ? NULL : base + (size_t)i * size,
                                                  .stride = packed ? 0 : (size_t)step * size,
                                                  .item = i};
    }
    return ARTEL_OK;
}

const artel__data_format artel__data_text = {
    .name = "text",
    .syntax = "text:GLOB#tokens=chars&length=N",
    .options = "tokens length step",
    .open = text_open,
};
