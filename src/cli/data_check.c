/* SPDX-License-Identifier: Apache-2.0 */
/* artel data index, inspect, verify: files of records, and whether any data can be read to its end. */
#include <string.h>

#include "base/file.h"
#include "base/text.h"
#include "cli/data.h"
#include "data/features.h"
#include "data/part_index.h"
#include "data/record_file.h"
#include "observe/number.h"

enum {
    MOST_SAID = 100 /* damaged records told one by one */
};

/* A source to open files with, outside of any specification. */
static void open_shell(artel__invocation *call, artel__source *shell)
{
    *shell = (artel__source){.ctx = call->ctx, .format = &artel__data_tfrecord, .target = "records"};
    artel__arena_init(&shell->arena, call->ctx);
}

typedef artel_status file_fn(artel__invocation *call, const char *path, artel__record_file *file, void *user);

/* For each file that the names stand for. */
static artel_status each_file(artel__invocation *call, const char *name, file_fn *visit, void *user)
{
    artel__paths paths;
    ARTEL_TRY(artel__shards_find(call->ctx, name, &paths));
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < paths.count && status == ARTEL_OK; i++) {
        artel__source shell;
        artel__record_file file;
        if (artel__is_beside_records(name, paths.items[i])) continue;
        open_shell(call, &shell);
        status = artel__record_file_map(&shell, paths.items[i], &file);
        status =
            status == ARTEL_OK ? visit(call, paths.items[i], &file, user) : visit(call, paths.items[i], NULL, user);
        artel__source_close(&shell);
    }
    artel__paths_fini(&paths);
    return status;
}

/* ---- index ---- */

static artel_status index_file(artel__invocation *call, const char *path, artel__record_file *file, void *user)
{
    int64_t none = 0;
    (void)user;
    if (!file) return artel_context_error(call->ctx)->status;
    if (file->compressed) {
        artel__show(stdout, "%s: compressed: no index, for it has to be unfolded from its beginning anyway\n", path);
        return ARTEL_OK;
    }
    artel_status status = artel__record_file_find(call->ctx, file, &none);
    if (status == ARTEL_OK) status = artel__record_index_write(call->ctx, file);
    if (status == ARTEL_OK) artel__show(stdout, "%s.index: %lld records\n", path, (long long)file->count);
    artel__record_file_close(call->ctx, file);
    return status;
}

/* Of lines, tables and records of one size: what stands for a file where it is not. */
static artel_status index_source(artel__invocation *call, const artel__source *source)
{
    if (!source->format->parts || source->skips || source->format == &artel__data_tfrecord)
        return artel__fail(call->ctx, ARTEL_ERROR_UNSUPPORTED, source->target,
                           "name files of records without tfrecord:, or make records of it (artel data make)",
                           "an index is for files of records, jsonl, csv with stream=yes, fixed and cifar10, without "
                           "skip-errors");
    for (int p = 0; p < source->format->parts(source); p++) {
        artel__data_piece piece = source->format->part(source, p);
        ARTEL_TRY(artel__data_go_on(call->ctx, piece.name));
        if (!piece.here) continue;
        ARTEL_TRY(artel__part_index_write(source, p));
        artel__show(stdout, "%s.index: %lld rows\n", piece.name, (long long)piece.rows);
    }
    return ARTEL_OK;
}

static artel_status index_data(artel__invocation *call, const char *text)
{
    artel_data *data;
    ARTEL_TRY(artel_data_open(call->ctx, text, &data));
    artel_status status = ARTEL_OK;
    for (int s = 0; s < data->source_count && status == ARTEL_OK; s++) status = index_source(call, &data->sources[s]);
    artel_data_destroy(data);
    return status;
}

artel_status artel__data_index(artel__invocation *call)
{
    for (int i = 1; i < call->arguments; i++) {
        const char *text = call->argument[i];
        ARTEL_TRY(artel__cli_is_specification(text) ? index_data(call, text) : each_file(call, text, index_file, NULL));
    }
    return ARTEL_OK;
}

/* ---- verify ---- */

typedef struct tally {
    int64_t files, records, bytes, damaged;
    bool json;
} tally;

/* One damaged record; of the first so many. */
static artel_status say_damage(artel_context *ctx, tally *t, const char *path, int64_t record, size_t at,
                               const char *what)
{
    artel__text line;
    if (t->damaged++ >= MOST_SAID) return ARTEL_OK;
    if (!t->json) {
        artel__show(stdout, "%s: record %lld at byte %zu: %s\n", path, (long long)record, at, what);
        return ARTEL_OK;
    }
    artel__text_init(&line, ctx);
    artel__text_append(&line, "{\"file\": ");
    artel__text_append_json(&line, path);
    artel__text_printf(&line, ", \"record\": %lld, \"byte\": %zu, \"what\": ", (long long)record, at);
    artel__text_append_json(&line, what);
    artel__text_append(&line, "}\n");
    artel_status status = artel__text_status(&line);
    if (status == ARTEL_OK) fputs(line.data, stdout); /* JSON: nothing in it commands a terminal */
    artel__text_fini(&line);
    return status;
}

/* The same of what has failed because the file is damaged; another failure is passed on. */
static artel_status say_failure(artel_context *ctx, tally *t, const char *path, int64_t record, size_t at)
{
    artel_status status = artel_context_error(ctx)->status;
    if (status != ARTEL_ERROR_CORRUPT) return status;
    status = say_damage(ctx, t, path, record, at, artel_context_error(ctx)->what);
    artel__operation_begin(ctx);
    return status;
}

static artel_status verify_file(artel__invocation *call, const char *path, artel__record_file *file, void *user)
{
    tally *t = user;
    int64_t record = 0;
    artel__proto payload;
    t->files++;
    if (!file) return say_failure(call->ctx, t, path, 0, 0);
    artel__record_walk walk = artel__record_file_walk(file, call->ctx);
    for (;; record++) {
        size_t at = walk.at;
        ARTEL_TRY(artel__data_go_on(call->ctx, path));
        artel__record_fault fault = artel__record_step(&walk, true, &payload);
        if (fault == ARTEL__RECORD_END) break;
        if (fault == ARTEL__RECORD_GOOD) continue;
        if (fault == ARTEL__RECORD_FAILED) { /* the compressed file is damaged here: nothing of it follows */
            ARTEL_TRY(say_failure(call->ctx, t, path, record++, at));
            break;
        }
        ARTEL_TRY(say_damage(call->ctx, t, path, record, at, artel__record_fault_text(fault)));
        if (fault != ARTEL__RECORD_BAD_PAYLOAD && !artel__record_resync(&walk)) {
            record++;
            break;
        }
    }
    t->records += record;
    t->bytes += (int64_t)walk.size;
    return artel__data_go_on(call->ctx, path); /* resynchronising may have been broken off */
}

/* Reads every row of data of any format; of records what their features hold. */
static artel_status verify_rows(artel__invocation *call, const char *text, tally *t)
{
    artel__data_opened opened;
    artel_status status = artel__data_open_rows(call, text, false, &opened);
    if (status < 0) return status;
    for (int64_t row = 0; row < opened.rows.count && status == ARTEL_OK; row++) {
        status = artel__data_go_on(call->ctx, text);
        if (status == ARTEL_OK) status = artel__rows_fetch_all(&opened.rows, row, opened.row);
        if (!artel__is_damage(status)) continue;
        const artel_error *error = artel_context_error(call->ctx);
        status = say_damage(call->ctx, t, error->where, row, 0, error->what);
        artel__operation_begin(call->ctx);
    }
    t->records += opened.rows.count;
    artel__data_close_rows(call, &opened);
    return status;
}

artel_status artel__data_verify(artel__invocation *call)
{
    tally t = {.json = ((const artel__data_command *)call->options)->json};
    for (int i = 1; i < call->arguments; i++) {
        const char *text = call->argument[i];
        ARTEL_TRY(artel__cli_is_specification(text) ? verify_rows(call, text, &t)
                                                    : each_file(call, text, verify_file, &t));
    }
    if (t.json) {
        artel__show(stdout, "{\"files\": %lld, \"records\": %lld, \"bytes\": %lld, \"damaged\": %lld}\n",
                    (long long)t.files, (long long)t.records, (long long)t.bytes, (long long)t.damaged);
    } else {
        if (t.damaged > MOST_SAID) artel__show(stdout, "and %lld more\n", (long long)t.damaged - MOST_SAID);
        artel__show(stdout, "%lld records, %lld damaged\n", (long long)t.records, (long long)t.damaged);
    }
    call->exit_code = t.damaged > 0 ? 1 : 0;
    return ARTEL_OK;
}

/* ---- inspect ---- */

static void say_files(const artel_data *data)
{
    for (int s = 0; s < data->source_count; s++) {
        int count;
        const artel__source *source = &data->sources[s];
        const artel__record_file *files = artel__tfrecord_files(source, &count);
        for (int i = 0; !files && source->format->parts && i < source->format->parts(source); i++) {
            artel__data_piece piece = source->format->part(source, i);
            if (!piece.here)
                artel__show(stdout, "  %s: %lld rows, not here (its index is)\n", piece.name, (long long)piece.rows);
        }
        for (int i = 0; i < count; i++) {
            if (files[i].absent)
                artel__show(stdout, "  %s: %lld records, not here (its index is)\n", files[i].path,
                            (long long)files[i].count);
            else
                artel__show(stdout, "  %s: %lld records, %zu bytes%s%s\n", files[i].path, (long long)files[i].count,
                            files[i].blob->mapping.size, files[i].compressed ? ", compressed" : "",
                            files[i].index.bytes ? ", indexed" : "");
        }
    }
}

static artel_status say_features(artel__invocation *call, const artel_data *data)
{
    const artel__features *features = artel__tfrecord_features(&data->sources[0]);
    json_t *value;
    char *text;
    if (!features) return ARTEL_OK;
    ARTEL_TRY(artel__features_write(call->ctx, features, &value));
    artel_status status = artel__json_dump_string(call->ctx, value, ARTEL__JSON_INDENT, &text);
    json_decref(value);
    if (status < 0) return status;
    artel__show(stdout, "features (%s):\n", features->where);
    fputs(text, stdout); /* JSON: nothing in it commands a terminal */
    putchar('\n');
    artel__free(call->ctx, text);
    return ARTEL_OK;
}

artel_status artel__data_inspect(artel__invocation *call)
{
    const char *spec = call->argument[1];
    artel_data *data;
    artel__text text;
    if (!artel__ends_with(spec, ".tfrecord")) ARTEL_TRY(artel__cli_check_bare_data(call, "SPEC", spec, true));
    if (!artel__cli_is_specification(spec)) spec = artel__arena_printf(&call->arena, "tfrecord:%s", spec);
    if (!spec) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel_data_open(call->ctx, spec, &data));
    artel__text_init(&text, call->ctx);
    artel__data_describe(data, &text);
    artel_status status = artel__text_status(&text);
    if (status == ARTEL_OK) fputs(text.data, stdout);
    artel__text_fini(&text);
    if (status == ARTEL_OK) say_files(data);
    if (status == ARTEL_OK) status = say_features(call, data);
    artel_data_destroy(data);
    return status;
}
