/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a compressed table: what is cut off at the end of one stands in front of the next. Most pieces hold no
 * quote, and then the last line end tells where the last record ends. */
#include "data/csv_pieces.h"

#include <string.h>

#include "data/csv_head.h"
#include "data/csv_stream_impl.h"

/* What is read at a time, and the longest record. */
#define PIECE_BYTES ((size_t)256 << 10)
#define MOST_RECORD ((size_t)256 << 20)

void artel__csv_pieces_fini(artel__csv_pieces *pieces)
{
    artel__free(pieces->ctx, pieces->bytes);
}

static artel_status read_more(artel__csv_pieces *p, size_t size)
{
    size_t got;
    if (p->have + size > p->room) {
        void *block = p->bytes;
        ARTEL_TRY(artel__realloc(p->ctx, p->have + size, p->path, &block));
        p->bytes = block;
        p->room = p->have + size;
    }
    ARTEL_TRY(p->pass ? artel__unfold_pass_read(p->pass, p->bytes + p->have, size, &got)
                      : artel__unfold_read(p->unfold, p->at + p->have, p->bytes + p->have, size, &got));
    p->have += got;
    p->ended = got < size;
    return ARTEL_OK;
}

const char *artel__csv_behind_comments(const char *at, const char *end)
{
    if (end - at >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    while ((at = artel__csv_skip_empty(at, end)) < end && *at == '#') {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        at = line ? line + 1 : end;
    }
    return at;
}

/* Back to the end of a line, at `text` or behind it. */
static const char *line_before(const char *text, const char *at)
{
    while (at > text && at[-1] != '\n') at--;
    return at;
}

/* How much of the text is whole records and empty lines; more may follow it. `at`: behind its comments. */
static size_t whole_part(const char *text, const char *at, const char *end)
{
    const char *whole = line_before(text, at), *next;
    if (!memchr(at, '"', (size_t)(end - at))) return (size_t)(line_before(text, end) - text);
    for (;;) {
        while (at < end && *at == '\n') whole = ++at;
        next = artel__csv_record_end(at, end);
        if (next == end) return (size_t)(whole - text);
        whole = at = next;
    }
}

artel_status artel__csv_pieces_next(artel__csv_pieces *p, artel__csv_piece *out)
{
    size_t whole = 0, rest = p->have - p->given;
    if (rest > 0 && p->given > 0) memmove(p->bytes, p->bytes + p->given, rest);
    p->at += p->given;
    p->have = rest;
    p->given = 0;
    for (size_t size = PIECE_BYTES; whole == 0 && !p->ended; size = p->have) {
        if (p->have >= MOST_RECORD)
            return artel__fail(p->ctx, ARTEL_ERROR_CORRUPT, p->path, "look for a quote that is never closed",
                               "the record at byte %llu of what it unfolds to is longer than %zu MiB",
                               (unsigned long long)p->at, MOST_RECORD >> 20);
        ARTEL_TRY(read_more(p, size));
        if (p->at == 0 && size == PIECE_BYTES) ARTEL_TRY(artel__csv_check_text(p->ctx, p->path, p->bytes, p->have));
        const char *end = p->bytes + p->have, *at = p->begun ? p->bytes : artel__csv_behind_comments(p->bytes, end);
        whole = whole_part(p->bytes, at, end);
        p->begun = p->begun || p->bytes + whole > at;
    }
    if (p->ended) whole = p->have;
    p->given = whole;
    *out = (artel__csv_piece){p->bytes, whole, p->at};
    return ARTEL_OK;
}
