/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' TensorBoard callback on top of event files.
 *
 * Only the naming of tags and the choice of run and moment are here; everything about bytes is in tfevents.c. The
 * file numbers (train 0, validation 1) are those that a process with one callback has in Keras.
 */
#include "observe/tensorboard.h"

#include <math.h>
#include <string.h>

#include "base/listed.h"
#include "observe/tfevents.h"

typedef enum run {
    RUN_TRAIN,
    RUN_VALIDATION,
    RUN_COUNT
} run;
static const char *const run_names[RUN_COUNT] = {"train", "validation"};

struct artel__tensorboard {
    artel_context *ctx;
    char *log_dir;
    artel__tensorboard_options options;
    artel__tfevents *files[RUN_COUNT]; /* NULL until first used */
    artel__text scratch;               /* for tags and paths */
};

artel_status artel__tensorboard_create(artel_context *ctx, const char *log_dir,
                                       const artel__tensorboard_options *options, artel__tensorboard **out)
{
    if (options->update_freq < 0 || options->histogram_freq < 0) {
        return artel__fail(ctx, ARTEL_ERROR_INVALID, "TensorBoard", "give 0 or a positive number", "%s is negative",
                           options->update_freq < 0 ? "update_freq" : "histogram_freq");
    }
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__tensorboard), "TensorBoard", &block));
    artel__tensorboard *board = block;
    board->ctx = ctx;
    board->options = *options;
    artel__text_init(&board->scratch, ctx);
    artel_status status = artel__strdup(ctx, log_dir, &board->log_dir);
    if (status < 0) {
        (void)artel__tensorboard_destroy(board);
        return status;
    }
    *out = board;
    return ARTEL_OK;
}

artel_status artel__tensorboard_destroy(artel__tensorboard *board)
{
    if (!board) return ARTEL_OK;
    artel_status status = ARTEL_OK;
    for (int r = 0; r < RUN_COUNT; r++) {
        artel_status closed = artel__tfevents_destroy(board->files[r]);
        if (status == ARTEL_OK) status = closed;
    }
    artel__text_fini(&board->scratch);
    artel__free(board->ctx, board->log_dir);
    artel__free(board->ctx, board);
    return status;
}

static artel_status file_of(artel__tensorboard *board, run r, artel__tfevents **out)
{
    if (!board->files[r]) {
        artel__text_clear(&board->scratch);
        artel__text_printf(&board->scratch, "%s/%s", board->log_dir, run_names[r]);
        ARTEL_TRY(artel__text_status(&board->scratch));
        ARTEL_TRY(artel__tfevents_create(board->ctx, board->scratch.data, (int)r, &board->files[r]));
    }
    *out = board->files[r];
    return ARTEL_OK;
}

/* One scalar named prefix + name + suffix; the elements of a list are name/0, name/1 and on, which TensorBoard shows
 * side by side. */
static artel_status write_scalar(artel__tensorboard *board, run r, int64_t step, const char *const name[3],
                                 double value)
{
    artel__tfevents *file;
    ARTEL_TRY(file_of(board, r, &file));
    artel__text_clear(&board->scratch);
    int64_t number;
    size_t length = artel__list_element(name[1], &number);
    artel__text_append(&board->scratch, name[0]);
    artel__text_append_bytes(&board->scratch, name[1], length);
    if (number >= 0) artel__text_printf(&board->scratch, "/%lld", (long long)number);
    artel__text_append(&board->scratch, name[2]);
    ARTEL_TRY(artel__text_status(&board->scratch));
    return artel__tfevents_scalar(file, board->scratch.data, step, (float)value);
}

static artel_status flush_all(artel__tensorboard *board)
{
    for (int r = 0; r < RUN_COUNT; r++) {
        if (board->files[r]) ARTEL_TRY(artel__tfevents_flush(board->files[r]));
    }
    return ARTEL_OK;
}

artel_status artel__tensorboard_graph(artel__tensorboard *board, const char *model_json)
{
    artel__tfevents *file;
    if (!board->options.write_graph) return ARTEL_OK;
    ARTEL_TRY(file_of(board, RUN_TRAIN, &file));
    ARTEL_TRY(artel__tfevents_keras_graph(file, model_json));
    return artel__tfevents_flush(file);
}

artel_status artel__tensorboard_operations(artel__tensorboard *board, artel__graph_def *graph)
{
    artel__tfevents *file;
    if (!board->options.write_graph) return ARTEL_OK;
    ARTEL_TRY(file_of(board, RUN_TRAIN, &file));
    return artel__tfevents_graph(file, graph);
}

bool artel__tensorboard_wants_batch(const artel__tensorboard *board, int64_t step)
{
    return board->options.update_freq > 0 && step % board->options.update_freq == 0;
}

artel_status artel__tensorboard_batch_end(artel__tensorboard *board, int64_t step, artel__logs logs, double seconds)
{
    if (!artel__tensorboard_wants_batch(board, step)) return ARTEL_OK;
    if (board->options.write_steps_per_second && seconds > 0) {
        ARTEL_TRY(
            write_scalar(board, RUN_TRAIN, step, (const char *[]){"batch_", "steps_per_second", ""}, 1 / seconds));
    }
    for (size_t i = 0; i < logs.count; i++) {
        ARTEL_TRY(write_scalar(board, RUN_TRAIN, step, (const char *[]){"batch_", logs.item[i].name, ""},
                               logs.item[i].value));
    }
    return ARTEL_OK;
}

artel_status artel__tensorboard_test_end(artel__tensorboard *board, int64_t iterations, artel__logs logs)
{
    for (size_t i = 0; i < logs.count; i++) {
        const char *name[] = {"evaluation_", logs.item[i].name, "_vs_iterations"};
        ARTEL_TRY(write_scalar(board, RUN_VALIDATION, iterations, name, logs.item[i].value));
    }
    return flush_all(board);
}

static artel_status write_epoch_logs(artel__tensorboard *board, const artel__tensorboard_epoch *epoch, artel__logs logs,
                                     bool validation)
{
    for (size_t i = 0; i < logs.count; i++) {
        const artel__log_value *log = &logs.item[i];
        if (artel__starts_with(log->name, "val_") != validation) continue;
        /* ReduceLROnPlateau puts the rate into the logs; the optimizer's present one takes its place, as in Keras. */
        if (strcmp(log->name, "learning_rate") == 0 && !isnan(epoch->learning_rate)) continue;
        const char *name[] = {"epoch_", log->name + (validation ? strlen("val_") : 0), ""};
        ARTEL_TRY(write_scalar(board, validation ? RUN_VALIDATION : RUN_TRAIN, epoch->epoch, name, log->value));
    }
    return ARTEL_OK;
}

artel_status artel__tensorboard_epoch_end(artel__tensorboard *board, const artel__tensorboard_epoch *epoch,
                                          artel__logs logs)
{
    ARTEL_TRY(write_epoch_logs(board, epoch, logs, false));
    if (!isnan(epoch->learning_rate)) {
        ARTEL_TRY(write_scalar(board, RUN_TRAIN, epoch->epoch, (const char *[]){"epoch_", "learning_rate", ""},
                               epoch->learning_rate));
    }
    if (board->options.write_steps_per_second) {
        const char *name[] = {"epoch_", "steps_per_second", ""};
        ARTEL_TRY(write_scalar(board, RUN_TRAIN, epoch->epoch, name, epoch->steps_per_second));
    }
    ARTEL_TRY(write_epoch_logs(board, epoch, logs, true));
    return flush_all(board);
}

bool artel__tensorboard_wants_weights(const artel__tensorboard *board, int64_t epoch)
{
    return board->options.histogram_freq > 0 && epoch % board->options.histogram_freq == 0;
}

artel_status artel__tensorboard_weight(artel__tensorboard *board, int64_t epoch, const char *path, artel_dtype dtype,
                                       const void *values, int64_t count)
{
    artel__tfevents *file;
    ARTEL_TRY(file_of(board, RUN_TRAIN, &file));
    artel__text_clear(&board->scratch);
    artel__text_append(&board->scratch, path);
    for (size_t i = 0; i < board->scratch.length; i++) {
        if (board->scratch.data[i] == ':') board->scratch.data[i] = '_';
    }
    artel__text_append(&board->scratch, "/histogram");
    ARTEL_TRY(artel__text_status(&board->scratch));
    return artel__tfevents_histogram(file, board->scratch.data, epoch, dtype, values, count);
}

artel_status artel__tensorboard_text(artel__tensorboard *board, const char *tag, int64_t step, const char *markdown)
{
    artel__tfevents *file;
    ARTEL_TRY(file_of(board, RUN_TRAIN, &file));
    return artel__tfevents_text(file, tag, step, markdown);
}
