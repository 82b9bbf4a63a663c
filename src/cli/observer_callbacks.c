/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' callbacks that write files, CSVLogger and TensorBoard: out of a list of records and into the options of
 * observers. Settings and defaults are those of Keras' constructors. */
#include <stddef.h>
#include <string.h>

#include "base/json_written.h"
#include "cli/observers.h"
#include "nn/record.h"
#include "train/callbacks.h"

typedef struct csv_settings {
    const char *filename, *separator;
    bool append;
} csv_settings;

static const artel__option csv_table[] = {
    {"filename", "the file", ARTEL__OPTION_STRING, offsetof(csv_settings, filename), "null", 0, 0, NULL},
    {"separator", "between columns", ARTEL__OPTION_STRING, offsetof(csv_settings, separator), ",", 0, 0, NULL},
    {"append", "behind what the file holds", ARTEL__OPTION_BOOL, offsetof(csv_settings, append), "false", 0, 0, NULL},
    {.name = NULL},
};

static artel_status take_csv(artel__arena *arena, json_t *config, artel__observer_options *options)
{
    csv_settings s;
    ARTEL_TRY(artel__record_options(arena, "CSVLogger", csv_table, config, &s));
    if (!s.filename || options->csv_log)
        return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, "CSVLogger",
                           "give one CSVLogger with \"filename\", or --csv-log",
                           s.filename ? "there is another CSV log already" : "there is no filename");
    options->csv_log = artel__arena_strdup(arena, s.filename);
    options->csv_separator = s.separator ? s.separator[0] : 0;
    options->csv_append = s.append;
    return artel__arena_status(arena);
}

typedef struct board_settings {
    const char *log_dir, *update_freq, *profile_batch, *metadata;
    int64_t histogram_freq, embeddings_freq;
    bool write_graph, write_images, write_steps_per_second;
} board_settings;

#define BOARD(field) offsetof(board_settings, field)
static const artel__option board_table[] = {
    {"log_dir", "where to write", ARTEL__OPTION_STRING, BOARD(log_dir), "logs", 0, 0, NULL},
    {"histogram_freq", "weights every N epochs; 0: never", ARTEL__OPTION_INT, BOARD(histogram_freq), "0", 0, 1e15,
     NULL},
    {"write_graph", "the model and its operations", ARTEL__OPTION_BOOL, BOARD(write_graph), "true", 0, 0, NULL},
    {"write_images", "weights as images", ARTEL__OPTION_BOOL, BOARD(write_images), "false", 0, 0, NULL},
    {"write_steps_per_second", "how fast", ARTEL__OPTION_BOOL, BOARD(write_steps_per_second), "false", 0, 0, NULL},
    {"update_freq", "epoch, batch, or a number of batches", ARTEL__OPTION_JSON, BOARD(update_freq), "\"epoch\"", 0, 0,
     NULL},
    {"profile_batch", "a batch, or the first and the last of some", ARTEL__OPTION_JSON, BOARD(profile_batch), "0", 0, 0,
     NULL},
    {"embeddings_freq", "tables every N epochs", ARTEL__OPTION_INT, BOARD(embeddings_freq), "0", 0, 1e15, NULL},
    {"embeddings_metadata", "names of what tables hold", ARTEL__OPTION_JSON, BOARD(metadata), "null", 0, 0, NULL},
    {.name = NULL},
};

static artel_status refuse_board(artel__arena *arena, const char *setting, const char *advice)
{
    return artel__fail(arena->ctx, ARTEL_ERROR_UNSUPPORTED, "TensorBoard", advice, "%s is not supported", setting);
}

static artel_status read_update(artel__arena *arena, json_t *given, int64_t *out)
{
    const char *word = json_string_value(given);
    bool epoch = !given || json_is_null(given) || (word && strcmp(word, "epoch") == 0);
    bool batch = word && strcmp(word, "batch") == 0;
    *out = epoch ? 0 : batch ? 1 : json_integer_value(given);
    if (epoch || *out > 0) return ARTEL_OK;
    return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, "TensorBoard",
                       "use \"epoch\", \"batch\" or a number of batches",
                       "the setting \"update_freq\" is none of these");
}

/* 0 and [0, 0] are none. */
static bool profiles(json_t *given)
{
    json_t *last = json_is_array(given) ? json_array_get(given, json_array_size(given) - 1) : given;
    return last && !json_is_null(last) && !(json_is_integer(last) && json_integer_value(last) == 0);
}

static artel_status take_board(artel__arena *arena, json_t *config, artel__observer_options *options)
{
    board_settings s;
    artel__tensorboard_options *board = &options->board;
    ARTEL_TRY(artel__record_options(arena, "TensorBoard", board_table, config, &s));
    if (s.write_images) return refuse_board(arena, "write_images", "leave it away; histogram_freq shows weights");
    if (s.embeddings_freq || s.metadata)
        return refuse_board(arena, "embeddings_freq", "leave it away; ModelCheckpoint keeps tables by epoch");
    if (profiles(json_object_get(config, "profile_batch")))
        return refuse_board(arena, "profile_batch", "leave it away, and use --profile FILE.json");
    if (options->log_dir)
        return artel__fail(arena->ctx, ARTEL_ERROR_INVALID, "TensorBoard", "give one TensorBoard, or --log-dir",
                           "there is another log directory already");
    *board = (artel__tensorboard_options){.histogram_freq = s.histogram_freq,
                                          .write_graph = s.write_graph,
                                          .write_steps_per_second = s.write_steps_per_second};
    options->log_dir = artel__arena_strdup(arena, s.log_dir);
    ARTEL_TRY(read_update(arena, json_object_get(config, "update_freq"), &board->update_freq));
    return artel__arena_status(arena);
}

static artel_status take_records(artel__arena *arena, json_t *list, artel__observer_options *options)
{
    int rates = 0;
    for (size_t i = 0; i < json_array_size(list);) {
        json_t *record = json_array_get(list, i), *config = json_object_get(record, "config");
        const char *class_name = json_string_value(json_object_get(record, "class_name"));
        bool csv = class_name && strcmp(class_name, "CSVLogger") == 0,
             board = class_name && strcmp(class_name, "TensorBoard") == 0;
        if (csv) ARTEL_TRY(take_csv(arena, config, options));
        if (csv) {
            options->csv_by_place = true;
            options->csv_rates = rates;
        }
        rates += class_name && artel__callback_tells_rate(class_name);
        if (board) ARTEL_TRY(take_board(arena, config, options));
        if (csv || board)
            json_array_remove(list, i);
        else
            i++;
    }
    return ARTEL_OK;
}

artel_status artel__observers_take_callbacks(artel__arena *arena, const char *callbacks,
                                             artel__observer_options *options, const char **rest)
{
    json_t *list;
    char *text;
    *rest = callbacks;
    ARTEL_TRY(artel__json_load_written(arena->ctx, "--callbacks", callbacks, strlen(callbacks), &list));
    artel_status status = json_is_array(list) ? take_records(arena, list, options) : ARTEL_OK;
    if (status == ARTEL_OK) status = artel__json_dump_string(arena->ctx, list, ARTEL__JSON_PYTHON, &text);
    json_decref(list);
    ARTEL_TRY(status);
    *rest = artel__arena_strdup(arena, text);
    artel__free(arena->ctx, text);
    return artel__arena_status(arena);
}
