/* SPDX-License-Identifier: Apache-2.0 */
/* Data that never was a file, callbacks, a log sink.
 *
 *     memory [STRATEGY [REPLICAS]]
 *
 * Trains on arrays in memory, then the same model from a function that makes each row when it is asked for, and prints
 * that both gave the same bits.
 */
#include <artel/build.h>
#include <artel/fit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS = 600,
    WIDTH = 4,
    CLASSES = 3
};

/* Row r of the data: a function of r alone, as artel_data_from_callback asks for. */
static void make_row(uint64_t r, uint8_t x[WIDTH], int32_t *y)
{
    for (int i = 0; i < WIDTH; i++) x[i] = (uint8_t)((r * (uint64_t)(2 * i + 7) + (uint64_t)i) % 23);
    *y = x[0] + x[1] > 27 ? 2 : x[0] > x[1] ? 1 : 0;
}

static artel_status fetch(void *user, const uint64_t *rows, int64_t count, void *const *buffers, char *message)
{
    uint8_t *x = buffers[0];
    int32_t *y = buffers[1];
    (void)user;
    (void)message; /* up to 512 bytes that say why, when the answer is a failure */
    for (int64_t i = 0; i < count; i++) make_row(rows[i], x + i * WIDTH, y + i);
    return ARTEL_OK;
}

static void log_line(void *user, artel_log_level level, const char *message)
{
    int *lines = user;
    ++*lines;
    fprintf(stderr, "log (level %d): %s\n", (int)level, message);
}

static artel_status build(artel_context *ctx, artel_model **out)
{
    artel_builder *b;
    artel_status status = artel_sequential_create(ctx, "memory", ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {WIDTH}}, &b);
    if (status < 0) return status;
    artel_layer_dense(b, &(artel_dense_options){.units = 16, .activation = "relu"});
    artel_layer_dense(b, &(artel_dense_options){.units = CLASSES, .activation = "softmax"});
    status = artel_sequential_finish(b, out);
    return status < 0 ? status : artel_model_compile(*out, "adam", "sparse_categorical_crossentropy", "accuracy");
}

/* Callbacks as Keras records (docs/callbacks.md); what they have to say goes to the log sink. */
static const char callbacks[] = "[{\"class_name\": \"LearningRateScheduler\", \"config\": {\"schedule\": [0.01, 0.01, "
                                "0.005, 0.005, 0.001], \"verbose\": 1}}]";

/* Trains a new model on the data, which it destroys, and gives its digest. */
static artel_status train(artel_context *ctx, artel_data *data, const artel_fit_options *options, char digest[65])
{
    artel_model *model = NULL;
    artel_history *history = NULL;
    artel_status status = build(ctx, &model);
    if (status == ARTEL_OK) status = artel_model_fit(model, data, options, &history);
    if (status == ARTEL_OK) status = artel_model_digest(model, digest);
    if (status == ARTEL_OK)
        printf("loss %.6f, digest %.16s...\n", artel_history_values(history, "loss", NULL)[options->epochs - 1],
               digest);
    artel_history_destroy(history);
    artel_model_destroy(model);
    artel_data_destroy(data);
    return status;
}

static artel_status from_memory(artel_context *ctx, artel_data **out)
{
    static uint8_t x[ROWS * WIDTH];
    static int32_t y[ROWS];
    const artel_data_array arrays[] = {
        {.name = "x",
         .role = ARTEL_DATA_ROLE_INPUT,
         .dtype = ARTEL_DTYPE_UINT8,
         .shape = {2, {ROWS, WIDTH}},
         .values = x},
        {.name = "y", .role = ARTEL_DATA_ROLE_TARGET, .dtype = ARTEL_DTYPE_INT32, .shape = {1, {ROWS}}, .values = y},
    };
    for (int r = 0; r < ROWS; r++) make_row((uint64_t)r, x + r * WIDTH, y + r);
    return artel_data_from_memory(ctx, arrays, 2, out); /* borrows x and y */
}

static artel_status from_function(artel_context *ctx, artel_data **out)
{
    const artel_data_array arrays[] = {
        {.name = "x", .role = ARTEL_DATA_ROLE_INPUT, .dtype = ARTEL_DTYPE_UINT8, .shape = {2, {0, WIDTH}}},
        {.name = "y", .role = ARTEL_DATA_ROLE_TARGET, .dtype = ARTEL_DTYPE_INT32, .shape = {1, {0}}},
    };
    const artel_data_callback callback = {.arrays = arrays, .array_count = 2, .count = ROWS, .fetch = fetch};
    return artel_data_from_callback(ctx, &callback, out);
}

int main(int argc, char **argv)
{
    char one[65] = "", two[65] = "";
    int lines = 0;
    artel_context *ctx;
    artel_data *data;
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    artel_fit_options fit = ARTEL_FIT_OPTIONS_INIT;
    options.log = log_line;
    options.log_user = &lines;
    fit.epochs = 5;
    fit.callbacks = callbacks;
    fit.strategy = argc > 1 ? argv[1] : "auto";
    fit.replicas = argc > 2 ? atoi(argv[2]) : 0;
    if (artel_context_create(&options, &ctx) < 0) return fprintf(stderr, "%s\n", artel_context_error(NULL)->what), 2;
    artel_status status = from_memory(ctx, &data);
    if (status == ARTEL_OK) status = train(ctx, data, &fit, one);
    if (status == ARTEL_OK) status = from_function(ctx, &data);
    if (status == ARTEL_OK) status = train(ctx, data, &fit, two);
    if (status == ARTEL_OK) printf("%s\n", strcmp(one, two) == 0 ? "equal bits" : "the digests differ");
    const artel_error *error = artel_context_error(ctx);
    if (status < 0) fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    fprintf(stderr, "%d lines of log\n", lines);
    artel_context_destroy(ctx);
    return status < 0 ? artel_status_exit_code(status) : strcmp(one, two) != 0;
}
