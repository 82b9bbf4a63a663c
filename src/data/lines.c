/* SPDX-License-Identifier: Apache-2.0 */
/* Finding lines: eight bytes of memory for each; the text stays where it is mapped. */
#include "data/lines.h"

#include <string.h>

#include "data/record_file.h"

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r') return false;
    }
    return true;
}

static artel__line line_from(const artel__blob *blob, uint64_t at)
{
    artel__line line = {.text = (const char *)blob->bytes + at, .path = blob->path, .offset = at};
    const char *end = memchr(line.text, '\n', blob->size - (size_t)at);
    line.length = end != NULL ? (size_t)(end - line.text) : blob->size - (size_t)at;
    if (line.length > 0 && line.text[line.length - 1] == '\r') line.length--;
    return line;
}

/* What finding needs besides. */
typedef struct finding {
    artel__source *source;
    artel__line_check_fn *check;
    void *user;
    int64_t room;
} finding;

static artel_status add_line(finding *f, artel__lines *lines, const artel__line *line)
{
    bool keep = true;
    ARTEL_TRY(artel__data_go_on(f->source->ctx, line->path));
    if (f->check != NULL) ARTEL_TRY(f->check(f->user, line, &keep));
    if (!keep) return ARTEL_OK;
    if (lines->count == f->room) {
        void *offsets = lines->offsets;
        int64_t room = f->room > 0 ? f->room * 2 : 1024;
        ARTEL_TRY(artel__realloc(f->source->ctx, (size_t)room * sizeof *lines->offsets, f->source->target, &offsets));
        lines->offsets = offsets;
        f->room = room;
    }
    lines->offsets[lines->count++] = line->offset;
    return ARTEL_OK;
}

static artel_status add_file(finding *f, artel__lines *lines, const char *path)
{
    artel__blob *blob;
    ARTEL_TRY(artel__blob_open(f->source, path, &blob));
    ARTEL_TRY(artel__blob_inflate(f->source, blob, 0));
    artel__lines_file *file = &lines->files[lines->file_count++];
    *file = (artel__lines_file){blob, lines->count};
    uint64_t at = blob->size >= 3 && memcmp(blob->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* the mark of UTF-8 */
    for (int64_t number = 0; at < blob->size;) {
        artel__line line = line_from(blob, at);
        const char *end = memchr(line.text + line.length, '\n', blob->size - (size_t)at - line.length);
        at = end != NULL ? (uint64_t)(end + 1 - (const char *)blob->bytes) : blob->size;
        if (is_blank(line.text, line.length)) continue;
        line.number = number++;
        ARTEL_TRY(add_line(f, lines, &line));
    }
    return ARTEL_OK;
}

artel_status artel__lines_open(artel__source *source, artel__line_check_fn *check, void *user, artel__lines *out)
{
    finding f = {.source = source, .check = check, .user = user};
    artel__paths paths;
    ARTEL_TRY(artel__shards_find(source->ctx, source->target, &paths));
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

artel__line artel__lines_at(const artel__lines *lines, int64_t row)
{
    int file = artel__find_run(&lines->files[0].first, sizeof *lines->files, lines->file_count, row);
    artel__line line = line_from(lines->files[file].blob, lines->offsets[row]);
    line.number = row - lines->files[file].first;
    return line;
}
