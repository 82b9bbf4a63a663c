/* SPDX-License-Identifier: Apache-2.0 */
/* Finding lines: eight bytes of memory for each; the text stays where it is mapped, or is unfolded when a line is
 * wanted. */
#include "data/lines.h"

#include <string.h>

#include "base/foreign.h"
#include "data/part_index.h"

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r') return false;
    }
    return true;
}

/* Of a compressed file: what is read together, and the longest line. */
#define CHUNK ((size_t)64 << 10)
#define MOST_LINE ((size_t)256 << 20)

/* The line at the beginning of a text; `offset`: in its file. */
static artel__line line_from(const char *path, const char *text, size_t size, uint64_t offset)
{
    artel__line line = {.text = text, .path = path, .offset = offset};
    const char *end = size > 0 ? memchr(text, '\n', size) : NULL;
    line.length = end != NULL ? (size_t)(end - text) : size;
    if (line.length > 0 && text[line.length - 1] == '\r') line.length--;
    return line;
}

/* What finding needs besides. */
typedef struct finding {
    artel__source *source;
    artel__line_check_fn *check;
    void *user;
    int64_t room;
} finding;

static artel_status add_offset(finding *f, artel__lines *lines, uint64_t offset)
{
    if (lines->offset_count == f->room) {
        void *offsets = lines->offsets;
        int64_t room = f->room > 0 ? f->room * 2 : 1024;
        ARTEL_TRY(artel__realloc(f->source->ctx, (size_t)room * sizeof *lines->offsets, f->source->target, &offsets));
        lines->offsets = offsets;
        f->room = room;
    }
    lines->offsets[lines->offset_count++] = offset;
    lines->count++;
    return ARTEL_OK;
}

static artel_status add_line(finding *f, artel__lines *lines, const artel__line *line)
{
    bool keep = true;
    ARTEL_TRY(artel__data_go_on(f->source->ctx, line->path));
    if (f->check != NULL) ARTEL_TRY(f->check(f->user, line, &keep));
    return keep ? add_offset(f, lines, line->offset) : ARTEL_OK;
}

static size_t mark_of_utf8(const void *text, size_t size)
{
    return size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* The lines of a text that lies at `offset` in its file; *rest: where the last of them begins, unless the text ends the
 * file. */
static artel_status add_lines(finding *f, artel__lines *lines, const char *path, const char *text, size_t size,
                              uint64_t offset, bool last, int64_t *number, size_t *rest)
{
    size_t at = 0;
    while (at < size) {
        const char *end = memchr(text + at, '\n', size - at);
        if (end == NULL && !last) break;
        artel__line line = line_from(path, text + at, size - at, offset + at);
        at = end != NULL ? (size_t)(end + 1 - text) : size;
        if (is_blank(line.text, line.length)) continue;
        line.number = (*number)++;
        ARTEL_TRY(add_line(f, lines, &line));
    }
    *rest = at;
    return ARTEL_OK;
}

/* The lines of a compressed file, chunk by chunk: a line that is cut off stands in front of the next one. */
static artel_status add_unfolded(finding *f, artel__lines *lines, artel__unfold *unfold, const char *path,
                                 artel__unfold_room *room)
{
    uint64_t at = 0;
    int64_t number = 0;
    size_t size = CHUNK, got, rest;
    for (bool last = false; !last;) {
        ARTEL_TRY(artel__data_go_on(f->source->ctx, path));
        ARTEL_TRY(artel__unfold_into(unfold, at, size, room, &got));
        last = got < size;
        size_t skip = at == 0 ? mark_of_utf8(room->bytes, got) : 0;
        ARTEL_TRY(
            add_lines(f, lines, path, (const char *)room->bytes + skip, got - skip, at + skip, last, &number, &rest));
        size = rest > 0 ? CHUNK : size * 2; /* a line that is longer than the chunk */
        if (size > MOST_LINE)
            return artel__fail(f->source->ctx, ARTEL_ERROR_CORRUPT, path, "uncompress the file, or write shorter lines",
                               "line %lld (counted from 0) at byte %llu of what it unfolds to is longer than %zu MiB",
                               (long long)number, (unsigned long long)at, MOST_LINE >> 20);
        at += skip + rest;
    }
    return ARTEL_OK;
}

/* A file that is elsewhere: its lines have numbers all the same. */
static artel_status add_absent(finding *f, artel__lines *lines, artel__lines_file *file, const artel__part_index *index)
{
    char *head = artel__arena_alloc(&f->source->arena, index->length + 1, 1);
    if (head == NULL) return ARTEL_ERROR_NO_MEMORY;
    if (index->length > 0) memcpy(head, index->beginning, index->length);
    file->head = head;
    file->head_bytes = index->length;
    lines->count += (int64_t)index->head.rows;
    return ARTEL_OK;
}

static artel_status add_file(finding *f, artel__lines *lines, const char *path)
{
    artel__blob *blob;
    artel__part_index index;
    artel__unfold_room room = {NULL, 0};
    bool absent;
    artel__lines_file *file = &lines->files[lines->file_count++];
    *file = (artel__lines_file){
        .path = artel__arena_strdup(&f->source->arena, path), .first = lines->count, .place = lines->offset_count};
    if (file->path == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__part_stand_in(f->source->ctx, path, &index, &absent));
    if (absent) {
        artel_status status = add_absent(f, lines, file, &index);
        artel__part_index_close(&index);
        return status;
    }
    ARTEL_TRY(artel__blob_open(f->source, path, &blob));
    file->blob = blob;
    if (blob->gzip) {
        ARTEL_TRY(artel__blob_unfold(f->source, blob, &file->unfold));
        artel_status status = add_unfolded(f, lines, file->unfold, blob->path, &room);
        artel__unfold_room_fini(f->source->ctx, &room);
        return status;
    }
    size_t skip = mark_of_utf8(blob->bytes, blob->size), rest;
    int64_t number = 0;
    ARTEL_TRY(artel__check_foreign(f->source->ctx, blob->path, blob->bytes, blob->size));
    return add_lines(f, lines, blob->path, (const char *)blob->bytes + skip, blob->size - skip, skip, true, &number,
                     &rest);
}

artel_status artel__lines_open(artel__source *source, artel__line_check_fn *check, void *user, artel__lines *out)
{
    finding f = {.source = source, .check = check, .user = user};
    artel__paths paths;
    ARTEL_TRY(artel__parts_find(source->ctx, source->target, &paths));
    out->files = artel__arena_alloc(&source->arena, paths.count, sizeof *out->files);
    artel_status status = out->files != NULL ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < paths.count && status == ARTEL_OK; i++) status = add_file(&f, out, paths.items[i]);
    artel__paths_fini(&paths);
    return status;
}

void artel__lines_close(artel_context *ctx, artel__lines *lines)
{
    artel__free(ctx, lines->offsets);
}

/* The line at a place, whole, and some of what follows it up to `most` bytes: lines that were left out may be long. */
static artel_status unfold_line(artel__unfold *unfold, uint64_t at, size_t most, artel__unfold_room *room, size_t *got)
{
    size_t have = 0, more = CHUNK;
    for (;; more = have) {
        size_t size = most - have < more ? most : have + more;
        ARTEL_TRY(artel__unfold_into(unfold, at, size, room, got));
        bool whole = *got > have && memchr((const char *)room->bytes + have, '\n', *got - have);
        have = *got;
        if (whole || have < size || size == most) return ARTEL_OK;
    }
}

int artel__lines_file_of(const artel__lines *lines, int64_t row)
{
    return artel__find_run(&lines->files[0].first, sizeof *lines->files, lines->file_count, row);
}

artel__data_piece artel__lines_piece(const artel__lines *lines, int number)
{
    const artel__lines_file *file = &lines->files[number];
    int64_t end = number + 1 < lines->file_count ? file[1].first : lines->count;
    return (artel__data_piece){file->path, end - file->first, file->blob != NULL, file->blob};
}

artel_status artel__lines_at(const artel__source *source, const artel__lines *lines, int64_t row,
                             artel__unfold_room *room, artel__line *out)
{
    int f = artel__lines_file_of(lines, row);
    const artel__lines_file *file = &lines->files[f];
    if (file->blob == NULL) {
        if (row > file->first) return artel__part_missing(source, file->path);
        *out = line_from(file->path, file->head, file->head_bytes, 0);
        return ARTEL_OK;
    }
    const char *text = (const char *)file->blob->bytes;
    int64_t place = file->place + (row - file->first);
    uint64_t at = lines->offsets[place], end = file->blob->size;
    if (file->unfold != NULL) {
        size_t got;
        ARTEL_TRY(artel__unfold_size(file->unfold, &end));
        if (row + 1 < (f + 1 < lines->file_count ? file[1].first : lines->count)) end = lines->offsets[place + 1];
        ARTEL_TRY(unfold_line(file->unfold, at, (size_t)(end - at), room, &got));
        text = room->bytes;
        end = got;
    } else {
        text += at;
        end -= at;
    }
    *out = line_from(file->blob->path, text, (size_t)end, at);
    out->number = row - file->first;
    return ARTEL_OK;
}
