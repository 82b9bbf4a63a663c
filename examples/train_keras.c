/* SPDX-License-Identifier: Apache-2.0 */
/* Trains a model that Keras saved, and saves it again for Keras.
 *
 *     train_keras MODEL DATA OUT.keras [EPOCHS [CHECKPOINT_DIR|- [LOSS]]]
 *
 * MODEL is a .keras file, a legacy .h5 or the text of model.to_json(). DATA is a specification as of `artel fit
 * --data`: npz:train.npz, csv:rows.csv#label=price, synthetic:1000 (docs/data.md). What compile() saved in the model is
 * used; a model without compile settings needs LOSS ("mse", "sparse_categorical_crossentropy") and gets Adam. With
 * CHECKPOINT_DIR a run that was stopped by Ctrl-C or kill continues where it stood when it is started again.
 */
#include <artel/fit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static artel_context *volatile running;

/* The library installs no signal handlers; artel_context_preempt may be called from one. */
static void stop(int number)
{
    (void)number;
    artel_context_preempt(running);
}

static void note(void *user, artel_log_level level, const char *message)
{
    (void)user;
    fprintf(stderr, "%s: %s\n", level <= ARTEL_LOG_WARNING ? "warning" : "note", message);
}

static int report(const artel_context *ctx)
{
    const artel_error *error = artel_context_error(ctx);
    fprintf(stderr, "%s: %s; %s\n", error->where, error->what, error->advice);
    return artel_status_exit_code(error->status);
}

static void show_history(const artel_history *history)
{
    for (int k = 0; k < artel_history_keys(history); k++) {
        int64_t epochs;
        const double *values = artel_history_values(history, artel_history_key(history, k), &epochs);
        printf("%s:", artel_history_key(history, k));
        for (int64_t e = 0; e < epochs; e++) {
            if (!artel_history_absent(values[e])) printf(" %.6g", values[e]);
        }
        printf("\n");
    }
}

static artel_status train(artel_model *model, artel_data *data, int argc, char **argv)
{
    artel_history *history;
    artel_fit_options options = ARTEL_FIT_OPTIONS_INIT;
    options.epochs = argc > 4 ? atoi(argv[4]) : 1;
    options.checkpoint_dir = argc > 5 && strcmp(argv[5], "-") != 0 ? argv[5] : NULL;
    artel_status status = argc > 6 ? artel_model_compile(model, "adam", argv[6], NULL) : ARTEL_OK;
    if (status == ARTEL_OK) status = artel_model_fit(model, data, &options, &history);
    if (status < 0) return status;
    show_history(history);
    artel_history_destroy(history);
    return artel_model_save(model, argv[3]);
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc > 7) {
        fprintf(stderr, "usage: train_keras MODEL DATA OUT.keras [EPOCHS [CHECKPOINT_DIR|- [LOSS]]]\n");
        return 1;
    }
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    artel_context *ctx;
    artel_model *model = NULL;
    artel_data *data = NULL;
    options.log = note;
    if (artel_context_create(&options, &ctx) < 0) return fprintf(stderr, "%s\n", artel_context_error(NULL)->what), 2;
    running = ctx;
    signal(SIGINT, stop);
    signal(SIGTERM, stop);
    artel_status status = artel_model_load(ctx, argv[1], &model);
    if (status == ARTEL_OK) status = artel_data_open(ctx, argv[2], &data);
    if (status == ARTEL_OK) status = train(model, data, argc, argv);
    int code = status < 0 ? report(ctx) : 0;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    artel_data_destroy(data);
    artel_model_destroy(model);
    artel_context_destroy(ctx);
    return code;
}
