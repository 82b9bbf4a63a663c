/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting messages into control messages and putting them together. */
#include "service/line.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"

void artel__line_open(artel__line *line, artel_context *ctx, artel__connection *connection, uint64_t most)
{
    *line = (artel__line){.ctx = ctx, .connection = connection, .most = most, .heard_ns = artel__now_ns()};
    artel__text_init(&line->in, ctx);
}

void artel__line_close(artel__line *line)
{
    if (!line->ctx) return;
    while (line->first) {
        artel__line_block *next = line->first->next;
        artel__line_block_free(line->ctx, line->first);
        line->first = next;
    }
    artel__connection_close(line->connection);
    artel__text_fini(&line->in);
    memset(line, 0, sizeof *line);
}

artel_status artel__line_block_create(artel_context *ctx, artel__line_kind kind, size_t size, artel__line_block **out)
{
    const size_t front = (sizeof(artel__line_block) + 15) / 16 * 16;
    void *memory;
    if (size > SIZE_MAX / 2) return artel__fail_memory(ctx, "message", size);
    ARTEL_TRY(artel__alloc(ctx, front + ARTEL__LINE_HEAD + size, "message", &memory));
    artel__line_block *block = memory;
    *block = (artel__line_block){.size = ARTEL__LINE_HEAD + size, .bytes = (uint8_t *)memory + front};
    artel__bytes_put(artel__bytes_put(block->bytes, kind, 8), size, 8);
    *out = block;
    return ARTEL_OK;
}

void artel__line_block_free(artel_context *ctx, artel__line_block *block)
{
    artel__free(ctx, block);
}

uint8_t *artel__line_body(artel__line_block *block)
{
    return block->bytes + ARTEL__LINE_HEAD;
}

void artel__line_send(artel__line *line, artel__line_block *block)
{
    if (line->last)
        line->last->next = block;
    else
        line->first = block;
    line->last = block;
}

int artel__line_waiting(const artel__line *line)
{
    int count = 0;
    for (const artel__line_block *block = line->first; block; block = block->next) count++;
    return count;
}

artel_status artel__line_say(artel__line *line, json_t *value)
{
    artel__line_block *block;
    artel__text text;
    if (!value) return artel__fail_memory(line->ctx, "message", 64);
    artel__text_init(&text, line->ctx);
    artel_status status = artel__json_dump(value, ARTEL__JSON_COMPACT, &text);
    json_decref(value);
    if (status == ARTEL_OK) status = artel__text_status(&text);
    if (status == ARTEL_OK) status = artel__line_block_create(line->ctx, ARTEL__LINE_JSON, text.length, &block);
    if (status == ARTEL_OK) {
        memcpy(artel__line_body(block), text.data, text.length);
        artel__line_send(line, block);
    }
    artel__text_fini(&text);
    return status;
}

/* As many pieces as the connection takes. */
static void push(artel__line *line)
{
    for (artel__line_block *block = line->first; block; block = line->first) {
        size_t left = block->size - block->sent, piece = left < ARTEL__CONTROL_MOST ? left : ARTEL__CONTROL_MOST;
        if (artel__connection_say(line->connection, block->bytes + block->sent, piece) != ARTEL_OK) return;
        block->sent += piece;
        if (block->sent < block->size) continue;
        line->first = block->next;
        if (!line->first) line->last = NULL;
        artel__line_block_free(line->ctx, block);
    }
}

artel__connection_state artel__line_progress(artel__line *line)
{
    if (artel__connection_progress(line->connection) == ARTEL__CONNECTION_OPEN) push(line);
    return artel__connection_get_state(line->connection);
}

/* The head of a message, and what comes with it. */
static artel_status begin(artel__line *line, const uint8_t **bytes, size_t *count)
{
    if (*count < ARTEL__LINE_HEAD) return ARTEL_ERROR_INVALID;
    uint64_t kind = artel__bytes_get(*bytes, 8);
    line->expected = artel__bytes_get(*bytes + 8, 8);
    if (kind < ARTEL__LINE_JSON || kind > ARTEL__LINE_FAILED || line->expected > line->most) return ARTEL_ERROR_INVALID;
    line->kind = (uint8_t)kind;
    line->arriving = true;
    artel__text_clear(&line->in);
    *bytes += ARTEL__LINE_HEAD;
    *count -= ARTEL__LINE_HEAD;
    return ARTEL_OK;
}

artel_status artel__line_hear(artel__line *line, artel__line_kind *kind, const uint8_t **bytes, size_t *size)
{
    const void *piece;
    size_t count;
    while (artel__connection_hear(line->connection, &piece, &count) == ARTEL_OK) {
        const uint8_t *at = piece;
        line->heard_ns = artel__now_ns();
        if (!line->arriving) ARTEL_TRY(begin(line, &at, &count));
        if (count > line->expected - line->in.length) return ARTEL_ERROR_INVALID;
        artel__text_append_bytes(&line->in, at, count);
        ARTEL_TRY(artel__text_status(&line->in));
        if (line->in.length < line->expected) continue;
        line->arriving = false;
        *kind = (artel__line_kind)line->kind;
        *bytes = (const uint8_t *)line->in.data;
        *size = line->in.length;
        return ARTEL_OK;
    }
    return ARTEL_AGAIN;
}
