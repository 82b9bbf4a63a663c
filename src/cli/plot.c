/* SPDX-License-Identifier: Apache-2.0 */
/* artel plot: a model's layers, or the curves of a History or of TensorBoard's logs. */
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/plot.h"

typedef struct plot_options {
    const char *output;
    const char *extensions;
} plot_options;

static const artel__option options[] = {
    {"output", "FILE.svg; without it curves are shown on the terminal", ARTEL__OPTION_STRING,
     offsetof(plot_options, output), "null", 0, 0, NULL},
    ARTEL__EXTENSION_OPTION(plot_options),
    {.name = NULL},
};

/* The History in a file or in a folder of logs, or NULL when the file is something else; models in JSON have a class.
 */
static artel_status read_history(artel__invocation *call, const char *path, json_t **out)
{
    *out = NULL;
    if (artel__is_directory(path)) return artel__read_logs(call, path, out);
    if (!artel__ends_with(path, ".json")) return ARTEL_OK;
    ARTEL_TRY(artel__json_load_file(call->ctx, path, out));
    if (json_is_object(*out) && !json_object_get(*out, "class_name")) return ARTEL_OK;
    json_decref(*out);
    *out = NULL;
    return ARTEL_OK;
}

static artel_status write_svg(artel__invocation *call, const char *path, const json_t *history)
{
    const plot_options *o = call->options;
    artel__text text;
    const char *axis = artel__is_directory(path) ? "value" : "epoch"; /* logs may be of batches */
    artel__text_init(&text, call->ctx);
    artel_status status =
        history ? artel__plot_history(call, path, history, axis, &text) : artel__plot_model(call, path, &text);
    if (status == ARTEL_OK) status = artel__write_file(call->ctx, o->output, text.data, text.length);
    artel__text_fini(&text);
    return status;
}

/* What is no History: a model, or not there at all. */
static artel_status needs_output(artel__invocation *call, const char *path)
{
    if (artel__file_exists(path))
        return artel__cli_usage(call, "--output", "a model is drawn into a file: --output model.svg");
    return artel__fail(call->ctx, ARTEL_ERROR_NOT_FOUND, path, "give a model, a History or a folder of logs",
                       "there is no such file or folder");
}

static artel_status run_plot(artel__invocation *call)
{
    const plot_options *o = call->options;
    const char *path = call->argument[0];
    json_t *history;
    ARTEL_TRY(artel__cli_check_source(call, path));
    if (o->output && !artel__ends_with(o->output, ".svg"))
        return artel__cli_usage(call, "--output", "give a file that ends in .svg");
    if (o->output) ARTEL_TRY(artel__cli_check_target(call, o->output));
    ARTEL_TRY(read_history(call, path, &history));
    artel_status status = o->output ? write_svg(call, path, history)
                          : history ? artel__show_history(call, path, history)
                                    : needs_output(call, path);
    json_decref(history);
    return status;
}

const artel__command artel__command_plot = {
    .name = "plot",
    .summary = "layers of a model, or curves of a History or of logs, as SVG; curves in the terminal, too",
    .usage = "MODEL|HISTORY.json|LOGS [--output FILE.svg]",
    .more =
        "Of a model each call of a layer is a box with shapes and parameters, as Keras' plot_model draws it. Of a "
        "History\n"
        "(fit --history) each metric is a chart, with its values in validation; so it is of TensorBoard's logs (fit\n"
        "--log-dir, or those that Keras or others have written): scalars in all event files below the folder.\n",
    .examples = "  artel plot model.keras -o model.svg\n"
                "  artel fit model.keras --data npz:train.npz --epochs 20 --history h.json && artel plot h.json\n"
                "  artel plot h.json --output curves.svg\n"
                "  artel plot logs/ -o curves.svg\n",
    .options = options,
    .options_size = sizeof(plot_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .letter = "o=output",
    .run = run_plot,
};
