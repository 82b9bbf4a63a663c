/* SPDX-License-Identifier: Apache-2.0 */
/* For the Python tests: does with this room what a JSON document on standard input says.
 *
 *   prog_observe table        {"name", "rows": [...], ...}            the summary on standard output
 *   prog_observe progress     {"verbose", "terminal", "calls": [...]} the progress bar on standard output
 *   prog_observe csv          {"path", "separator", "append", "epochs": [[epoch, {logs}], ...]}
 *   prog_observe history      {"path", "epochs": [{logs}, ...]}
 *   prog_observe floats       [numbers]                               one a line, as Python spells them
 *   prog_observe tensorboard  {"log_dir", options, "calls": [{"call": "epoch_end", ...}, ...]}
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "observe/csv_log.h"
#include "observe/history.h"
#include "observe/progress.h"
#include "observe/table.h"
#include "observe/tensorboard.h"

enum {
    MAX_LOGS = 64
};

/* Ends the program with the context's error. */
static void must(artel_context *ctx, artel_status status)
{
    if (status >= 0) return;
    const artel_error *e = artel_context_error(ctx);
    fprintf(stderr, "prog_observe: %s: %s; %s\n", e->where, e->what, e->advice);
    exit(1);
}

static double number(const json_t *object, const char *key)
{
    double value = 0;
    (void)artel__json_number(json_object_get(object, key), &value);
    return value;
}

static int64_t integer(const json_t *object, const char *key)
{
    return (int64_t)number(object, key);
}

static const char *string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool truth(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

static artel__logs logs_of(json_t *object, artel__log_value items[MAX_LOGS])
{
    artel__logs logs = {0, items};
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        if (logs.count == MAX_LOGS) break;
        items[logs.count].name = key;
        (void)artel__json_number(value, &items[logs.count++].value);
    }
    return logs;
}

static artel__summary_total total_of(const json_t *pair)
{
    return (artel__summary_total){(int64_t)json_integer_value(json_array_get(pair, 0)),
                                  json_number_value(json_array_get(pair, 1))};
}

static void run_table(artel_context *ctx, json_t *root)
{
    json_t *rows = json_object_get(root, "rows"), *row;
    size_t index;
    artel__summary_row *items = calloc(json_array_size(rows) + 1, sizeof *items);
    if (!items) abort();
    json_array_foreach(rows, index, row)
    {
        items[index] = (artel__summary_row){.name = string(row, "name"),
                                            .class_name = string(row, "class_name"),
                                            .output_shape = string(row, "output_shape"),
                                            .connected_to = string(row, "connected_to"),
                                            .params = integer(row, "params"),
                                            .unbuilt = truth(row, "unbuilt"),
                                            .trainable = string(row, "trainable") ? string(row, "trainable")[0] : '-',
                                            .depth = (int)integer(row, "depth")};
    }
    const artel__summary summary = {.model_name = string(root, "name"),
                                    .rows = items,
                                    .row_count = json_array_size(rows),
                                    .connections = truth(root, "connections"),
                                    .show_trainable = truth(root, "show_trainable"),
                                    .columns = (int)integer(root, "columns"),
                                    .trainable = total_of(json_object_get(root, "trainable")),
                                    .non_trainable = total_of(json_object_get(root, "non_trainable")),
                                    .has_optimizer = truth(root, "has_optimizer"),
                                    .optimizer = total_of(json_object_get(root, "optimizer"))};
    artel__text text;
    artel__text_init(&text, ctx);
    must(ctx, artel__summary_render(ctx, &summary, &text));
    fwrite(text.data, 1, text.length, stdout);
    artel__text_fini(&text);
    free(items);
}

static int64_t fake_clock(void *user)
{
    return *(int64_t *)user;
}

static void run_progress(artel_context *ctx, json_t *root)
{
    int64_t now = 0;
    json_t *call;
    size_t index;
    artel__progress *progress;
    const artel__progress_options options = {.fd = 1,
                                             .verbose = (int)integer(root, "verbose"),
                                             .terminal = truth(root, "terminal"),
                                             .columns = 1000,
                                             .clock = fake_clock,
                                             .clock_user = &now};
    must(ctx, artel__progress_create(ctx, &options, &progress));
    json_array_foreach(json_object_get(root, "calls"), index, call)
    {
        artel__log_value items[MAX_LOGS];
        artel__logs logs = logs_of(json_object_get(call, "logs"), items);
        const char *what = string(call, "call");
        now = (int64_t)(number(call, "now") * 1e9 + 0.5);
        if (strcmp(what, "begin") == 0) {
            artel__progress_begin(progress, integer(call, "epoch"), integer(call, "epochs"), integer(call, "steps"));
        } else if (strcmp(what, "update") == 0) {
            artel__progress_update(progress, integer(call, "current"), logs);
        } else {
            artel__progress_end(progress, logs);
        }
    }
    artel__progress_destroy(progress);
}

static void run_csv(artel_context *ctx, json_t *root)
{
    artel__csv_log *log;
    artel__log_value items[MAX_LOGS];
    json_t *entry;
    size_t index;
    const artel__csv_log_options options = {string(root, "separator")[0], truth(root, "append"), -1};
    must(ctx, artel__csv_log_create(ctx, string(root, "path"), &options, &log));
    json_array_foreach(json_object_get(root, "epochs"), index, entry)
    {
        artel__logs logs = logs_of(json_array_get(entry, 1), items);
        must(ctx, artel__csv_log_epoch(log, (int64_t)json_integer_value(json_array_get(entry, 0)), logs));
    }
    must(ctx, artel__csv_log_destroy(log));
}

static void run_history(artel_context *ctx, json_t *root)
{
    artel__run_history *history;
    artel__log_value items[MAX_LOGS];
    json_t *entry;
    size_t index;
    must(ctx, artel__run_history_create(ctx, &history));
    json_array_foreach(json_object_get(root, "epochs"), index, entry)
    {
        must(ctx, artel__run_history_append(history, logs_of(entry, items)));
    }
    must(ctx, artel__run_history_write(history, string(root, "path")));
    artel__run_history_destroy(history);
}

static void run_floats(json_t *root)
{
    json_t *item;
    size_t index;
    char buffer[ARTEL__PYTHON_FLOAT_SIZE];
    json_array_foreach(root, index, item)
    {
        double value = 0;
        (void)artel__json_number(item, &value);
        puts(artel__python_float(buffer, value));
    }
}

static artel_status board_weight(artel__tensorboard *board, const json_t *call)
{
    json_t *values = json_object_get(call, "values");
    size_t count = json_array_size(values);
    float *block = calloc(count + 1, sizeof *block);
    if (!block) abort();
    for (size_t i = 0; i < count; i++) {
        double value = 0;
        (void)artel__json_number(json_array_get(values, i), &value);
        block[i] = (float)value;
    }
    artel_status status = artel__tensorboard_weight(board, integer(call, "epoch"), string(call, "path"),
                                                    ARTEL_DTYPE_FLOAT32, block, (int64_t)count);
    free(block);
    return status;
}

static artel_status board_call(artel__tensorboard *board, json_t *call)
{
    artel__log_value items[MAX_LOGS];
    artel__logs logs = logs_of(json_object_get(call, "logs"), items);
    const char *what = string(call, "call");
    if (strcmp(what, "graph") == 0) return artel__tensorboard_graph(board, string(call, "json"));
    if (strcmp(what, "batch_end") == 0)
        return artel__tensorboard_batch_end(board, integer(call, "step"), logs, number(call, "seconds"));
    if (strcmp(what, "test_end") == 0) return artel__tensorboard_test_end(board, integer(call, "iterations"), logs);
    if (strcmp(what, "weight") == 0) return board_weight(board, call);
    if (strcmp(what, "text") == 0)
        return artel__tensorboard_text(board, string(call, "tag"), integer(call, "step"), string(call, "text"));
    const artel__tensorboard_epoch epoch = {integer(call, "epoch"), number(call, "learning_rate"),
                                            number(call, "steps_per_second")};
    return artel__tensorboard_epoch_end(board, &epoch, logs);
}

static void run_tensorboard(artel_context *ctx, json_t *root)
{
    artel__tensorboard *board;
    json_t *call;
    size_t index;
    const artel__tensorboard_options options = {integer(root, "update_freq"), integer(root, "histogram_freq"),
                                                truth(root, "write_graph"), truth(root, "write_steps_per_second")};
    must(ctx, artel__tensorboard_create(ctx, string(root, "log_dir"), &options, &board));
    json_array_foreach(json_object_get(root, "calls"), index, call) must(ctx, board_call(board, call));
    must(ctx, artel__tensorboard_destroy(board));
}

int main(int argc, char **argv)
{
    static char input[16 << 20];
    artel_context *ctx;
    json_t *root;
    if (argc != 2 || artel_context_create(NULL, &ctx) < 0) return 1;
    must(ctx, artel__json_load(ctx, "standard input", input, fread(input, 1, sizeof input, stdin), &root));
    if (strcmp(argv[1], "table") == 0) run_table(ctx, root);
    if (strcmp(argv[1], "progress") == 0) run_progress(ctx, root);
    if (strcmp(argv[1], "csv") == 0) run_csv(ctx, root);
    if (strcmp(argv[1], "history") == 0) run_history(ctx, root);
    if (strcmp(argv[1], "floats") == 0) run_floats(root);
    if (strcmp(argv[1], "tensorboard") == 0) run_tensorboard(ctx, root);
    json_decref(root);
    artel_context_destroy(ctx);
    return fflush(stdout) == 0 ? 0 : 1;
}
