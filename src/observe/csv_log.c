/* SPDX-License-Identifier: Apache-2.0 */
/* keras.callbacks.CSVLogger.
 *
 * Columns are fixed by the first epoch that is logged through this object, also when it continues a file: Keras does
 * not read the header of what it appends to either.
 */
#include "observe/csv_log.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
    artel__text line;
    const char **keys; /* without "epoch"; NULL until the first epoch */
    size_t key_count;
    char separator;
    bool header;
};

/* Where the first line of epoch `keep_below` or later begins; the end when there is none. Lines that do not begin
 * with a number (the header) are kept. */
static size_t kept_bytes(const char *text, size_t size, int64_t keep_below)
{
    size_t at = 0;
    while (at < size) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t next = end ? (size_t)(end - text) + 1 : size;
        if (text[at] >= '0' && text[at] <= '9' && strtoll(text + at, NULL, 10) >= keep_below) return at;
        at = next;
    }
    return size;
}

/* Finds out whether the file to be continued has a header, and cuts off what the run will write again. */
static artel_status prepare_append(artel__csv_log *log, const char *path, int64_t keep_below)
{
    char *text;
    size_t size;
    if (!artel__file_exists(path)) return ARTEL_OK;
    ARTEL_TRY(artel__read_file(log->ctx, path, MAX_LOG_BYTES, &text, &size));
    size_t kept = keep_below < 0 ? size : kept_bytes(text, size, keep_below);
    artel__free(log->ctx, text);
    log->header = kept == 0;
    if (kept < size && truncate(path, (off_t)kept) != 0) return artel__fail_errno(log->ctx, path, "truncate");
    return ARTEL_OK;
}

artel_status artel__csv_log_create(artel_context *ctx, const char *path, const artel__csv_log_options *options, artel__csv_log **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__csv_log), "CSV log", &block));
    artel__csv_log *log = block;
    log->ctx = ctx;
    log->separator = options->separator ? options->separator : ',';
    log->header = true;
    artel__arena_init(&log->names, ctx);
    artel__text_init(&log->line, ctx);
    artel_status status = options->append ? prepare_append(log, path, options->keep_below) : ARTEL_OK;
    if (status == ARTEL_OK) {
        status = artel__stream_open(ctx, path, options->append ? ARTEL__STREAM_APPEND : ARTEL__STREAM_OVERWRITE, &log->stream);
    }
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
    artel__arena_fini(&log->names);
    artel__free(log->ctx, log);
    return status;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Takes the columns from the first logs. */
static artel_status choose_keys(artel__csv_log *log, artel__logs logs)
{
    bool validated = false;
    const char **keys = artel__arena_alloc(&log->names, 2 * logs.count + 1, sizeof *keys);
    if (!keys) return artel__arena_status(&log->names);
    for (size_t i = 0; i < logs.count; i++) {
        keys[i] = artel__arena_strdup(&log->names, logs.item[i].name);
        if (!keys[i]) return artel__arena_status(&log->names);
        validated = validated || artel__starts_with(keys[i], "val_");
    }
    qsort(keys, logs.count, sizeof *keys, compare_names);
    size_t count = logs.count;
    for (size_t i = 0; i < logs.count && !validated; i++) {
        keys[count++] = artel__arena_printf(&log->names, "val_%s", keys[i]);
    }
    ARTEL_TRY(artel__arena_status(&log->names));
    log->keys = keys;
    log->key_count = count;
    return ARTEL_OK;
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

artel_status artel__csv_log_epoch(artel__csv_log *log, int64_t epoch, artel__logs logs)
{
    char number[ARTEL__PYTHON_FLOAT_SIZE];
    artel__text_clear(&log->line);
    if (!log->keys) {
        ARTEL_TRY(choose_keys(log, logs));
        if (log->header) append_header(log);
    }
    artel__text_printf(&log->line, "%lld", (long long)epoch);
    for (size_t i = 0; i < log->key_count; i++) {
        const artel__log_value *value = artel__logs_find(logs, log->keys[i]);
        artel__text_append_bytes(&log->line, &log->separator, 1);
        append_field(log, value ? artel__python_float(number, value->value) : "NA");
    }
    artel__text_append(&log->line, "\r\n");
    ARTEL_TRY(artel__text_status(&log->line));
    return artel__stream_write(&log->stream, log->line.data, log->line.length);
}
