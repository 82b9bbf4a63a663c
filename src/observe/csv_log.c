/* SPDX-License-Identifier: Apache-2.0 */
/* keras.callbacks.CSVLogger.
 *
 * Columns are fixed by the first epoch that is logged through this object, also when it appends to a file: Keras does
 * not read the header of what it appends to either. A run that continues its own log keeps the columns of its header:
 * whether the epoch it continues with was validated must not move them.
 *
 * Such a run writes some lines again, and they are the same bytes: they stay where they are, and only when one differs
 * is the rest cut off. A task that believes for a while to be the last one of its cluster, and takes the log over
 * although others have gone on, so takes nothing away that they have written.
 */
#include "observe/csv_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "observe/stream.h"

enum {
    MAX_LOG_BYTES = 1 << 30
};

struct artel__csv_log {
    artel_context *ctx;
    artel__stream stream;
    artel__arena names;
    artel__text line, field;
    const char **keys; /* without "epoch"; NULL until the first epoch */
    size_t key_count;
    char separator;
    bool header;
    char *old;             /* the file that is continued, or NULL; what lies there behind stream.at comes again */
    size_t old_size, same; /* up to `same` the file is as it was read */
};

/* Where the first line of epoch `keep_below` or later begins, or one that was not written to its end; else the end.
 * Lines that do not begin with a number (the header) are kept, and so are those of earlier runs that a file was
 * appended to: where epochs do not rise, another run begins. */
static size_t kept_bytes(const char *text, size_t size, int64_t keep_below)
{
    size_t at = 0, cut = size;
    int64_t last = -1;
    while (at < size) {
        const char *end = memchr(text + at, '\n', size - at);
        if (!end) return cut < at ? cut : at;
        if (text[at] >= '0' && text[at] <= '9') {
            int64_t epoch = strtoll(text + at, NULL, 10);
            if (epoch <= last) cut = size;
            if (epoch >= keep_below && cut == size) cut = at;
            last = epoch;
        }
        at = (size_t)(end - text) + 1;
    }
    return cut;
}

/* One field of a line, without its quotes; *at goes to the separator behind it. */
static char *read_field(artel__csv_log *log, const char *line, size_t size, size_t *at)
{
    char *field = artel__arena_alloc(&log->names, size - *at + 1, 1);
    size_t length = 0;
    bool quoted = false;
    for (; field && *at < size && (quoted || line[*at] != log->separator); ++*at) {
        bool quote = line[*at] == '"';
        if (quote && !(quoted && *at + 1 < size && line[*at + 1] == '"')) {
            quoted = !quoted;
            continue;
        }
        if (quote) ++*at;
        field[length++] = line[*at];
    }
    return field;
}

/* Takes the columns from a header "epoch,..."; leaves them open when the file begins with something else. */
static artel_status read_header(artel__csv_log *log, const char *text, size_t kept)
{
    const char *end = memchr(text, '\n', kept);
    if (!end) return ARTEL_OK;
    size_t size = (size_t)(end - text) - (end > text && end[-1] == '\r'), at = 0, count = 0;
    const char **keys = artel__arena_alloc(&log->names, size + 1, sizeof *keys);
    ARTEL_TRY(artel__arena_status(&log->names));
    for (; at <= size; at++) keys[count++] = read_field(log, text, size, &at);
    ARTEL_TRY(artel__arena_status(&log->names));
    if (strcmp(keys[0], "epoch") != 0) return ARTEL_OK;
    log->keys = keys + 1;
    log->key_count = count - 1;
    return ARTEL_OK;
}

/* Finds out how the file to be continued begins, and where it goes on. */
static artel_status prepare_append(artel__csv_log *log, const char *path, int64_t keep_below)
{
    if (!artel__file_exists(path)) return ARTEL_OK;
    ARTEL_TRY(artel__read_file(log->ctx, path, MAX_LOG_BYTES, &log->old, &log->old_size));
    log->same = keep_below < 0 ? log->old_size : kept_bytes(log->old, log->old_size, keep_below);
    log->header = log->same == 0;
    return keep_below < 0 ? ARTEL_OK : read_header(log, log->old, log->same);
}

artel_status artel__csv_log_create(artel_context *ctx, const char *path, const artel__csv_log_options *options,
                                   artel__csv_log **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__csv_log), "CSV log", &block));
    artel__csv_log *log = block;
    log->ctx = ctx;
    log->separator = options->separator ? options->separator : ',';
    log->header = true;
    artel__arena_init(&log->names, ctx);
    artel__text_init(&log->line, ctx);
    artel__text_init(&log->field, ctx);
    artel_status status = options->append ? prepare_append(log, path, options->keep_below) : ARTEL_OK;
    if (status == ARTEL_OK) status = artel__stream_open(ctx, path, ARTEL__STREAM_PLACE, &log->stream);
    if (status == ARTEL_OK && log->stream.at >= 0) log->stream.at = (int64_t)log->same;
    if (status == ARTEL_OK && !log->old) status = artel__stream_cut(&log->stream);
    if (status < 0) {
        (void)artel__csv_log_destroy(log);
        return status;
    }
    *out = log;
    return ARTEL_OK;
}

artel_status artel__csv_log_destroy(artel__csv_log *log)
{
    if (!log) return ARTEL_OK;
    artel_status status = artel__stream_close(&log->stream);
    artel__text_fini(&log->line);
    artel__text_fini(&log->field);
    artel__arena_fini(&log->names);
    artel__free(log->ctx, log->old);
    artel__free(log->ctx, log);
    return status;
}

artel_status artel__csv_log_finish(artel__csv_log *log)
{
    return artel__stream_cut(&log->stream);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Takes the columns from the first logs. */
static artel_status choose_keys(artel__csv_log *log, artel__logs logs)
{
    bool validated = false;
    size_t count = 0;
    artel__log_group group = {.first = 0};
    const char **keys = artel__arena_alloc(&log->names, 2 * logs.count + 1, sizeof *keys);
    if (!keys) return artel__arena_status(&log->names);
    for (; artel__logs_next(logs, &group); count++) {
        keys[count] = artel__arena_strdup(&log->names, group.name);
        if (!keys[count]) return artel__arena_status(&log->names);
        validated = validated || artel__starts_with(keys[count], "val_");
    }
    qsort(keys, count, sizeof *keys, compare_names);
    for (size_t i = 0, own = count; i < own && !validated; i++) {
        keys[count++] = artel__arena_printf(&log->names, "val_%s", keys[i]);
    }
    ARTEL_TRY(artel__arena_status(&log->names));
    log->keys = keys;
    log->key_count = count;
    return ARTEL_OK;
}

/* What stands in the column: a number, "[number, number]" in quotes of its own for a list as Keras writes it, or NA. */
static void put_value(artel__text *out, artel__logs logs, const char *key)
{
    char number[ARTEL__PYTHON_FLOAT_SIZE];
    artel__log_group group = {.first = 0};
    while (artel__logs_next(logs, &group)) {
        if (strcmp(group.name, key) != 0) continue;
        if (group.list) artel__text_append(out, "\"[");
        for (size_t i = 0; i < group.count; i++) {
            double value = logs.item[group.first + i].value; /* of a list, numpy's float32 */
            if (group.list)
                artel__format_float(number, sizeof number, (float)value);
            else
                artel__python_float(number, value);
            artel__text_printf(out, "%s%s", i ? ", " : "", number);
        }
        if (group.list) artel__text_append(out, "]\"");
        return;
    }
    artel__text_append(out, "NA");
}

/* A field, in quotes when it holds the separator, a quote or a line break. */
static void append_field(artel__csv_log *log, const char *field)
{
    const char special[] = {log->separator, '"', '\r', '\n', '\0'};
    if (!strpbrk(field, special)) {
        artel__text_append(&log->line, field);
        return;
    }
    artel__text_append(&log->line, "\"");
    for (; *field; field++) {
        if (*field == '"') artel__text_append(&log->line, "\"");
        artel__text_append_bytes(&log->line, field, 1);
    }
    artel__text_append(&log->line, "\"");
}

static void append_header(artel__csv_log *log)
{
    append_field(log, "epoch");
    for (size_t i = 0; i < log->key_count; i++) {
        artel__text_append_bytes(&log->line, &log->separator, 1);
        append_field(log, log->keys[i]);
    }
    artel__text_append(&log->line, "\r\n");
}

/* Writes the line, unless the file that is continued holds it already. */
static artel_status put_line(artel__csv_log *log)
{
    const artel__text *line = &log->line;
    bool again = log->old && log->same + line->length <= log->old_size &&
                 memcmp(log->old + log->same, line->data, line->length) == 0;
    if (again)
        log->same += line->length;
    else if (log->old) {
        artel__free(log->ctx, log->old);
        log->old = NULL;
        ARTEL_TRY(artel__stream_cut(&log->stream));
    }
    return artel__stream_write(&log->stream, line->data, line->length);
}

artel_status artel__csv_log_epoch(artel__csv_log *log, int64_t epoch, artel__logs logs)
{
    artel__text_clear(&log->line);
    if (!log->keys) ARTEL_TRY(choose_keys(log, logs));
    if (log->header) append_header(log);
    log->header = false;
    artel__text_printf(&log->line, "%lld", (long long)epoch);
    for (size_t i = 0; i < log->key_count; i++) {
        artel__text_clear(&log->field);
        put_value(&log->field, logs, log->keys[i]);
        artel__text_append_bytes(&log->line, &log->separator, 1);
        append_field(log, log->field.data);
    }
    artel__text_append(&log->line, "\r\n");
    ARTEL_TRY(artel__text_status(&log->field));
    ARTEL_TRY(artel__text_status(&log->line));
    return put_line(log);
}
