/* SPDX-License-Identifier: Apache-2.0 */
/* artel summary: Keras' table. */
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "keras/summary.h"
#include "observe/table.h"

typedef struct summary_options {
    bool expand, show_trainable;
    int64_t width;
    const char *extensions;
} summary_options;

static const artel__option options[] = {
    {"expand-nested", "show the layers of nested models", ARTEL__OPTION_BOOL, offsetof(summary_options, expand),
     "false", 0, 0, NULL},
    {"show-trainable", "a column that says which layers are trained", ARTEL__OPTION_BOOL,
     offsetof(summary_options, show_trainable), "false", 0, 0, NULL},
    {"width", "columns of the table; 0: the terminal's", ARTEL__OPTION_INT, offsetof(summary_options, width), "0", 0,
     1000, NULL},
    ARTEL__EXTENSION_OPTION(summary_options),
    {.name = NULL},
};

static int terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* A name as it may be shown; NULL: no memory. */
static const char *clean(artel__arena *arena, const char *name)
{
    artel__text text;
    artel__text_init(&text, arena->ctx);
    artel__text_show(&text, "%s", name ? name : "");
    const char *result = artel__text_status(&text) < 0 ? NULL : artel__arena_strdup(arena, text.data);
    artel__text_fini(&text);
    return result;
}

static artel_status print_summary(artel__invocation *call, const artel__model_summary *summary)
{
    const summary_options *o = call->options;
    artel__summary_row *rows = artel__arena_alloc(&call->arena, (size_t)summary->rows + 1, sizeof *rows);
    if (!rows) return ARTEL_ERROR_NO_MEMORY;
    for (int i = 0; i < summary->rows; i++) {
        const artel__layer_row *row = &summary->row[i];
        rows[i] = (artel__summary_row){.name = clean(&call->arena, row->name),
                                       .class_name = clean(&call->arena, row->class_name),
                                       .output_shape = row->output_shape,
                                       .connected_to = row->connected_to,
                                       .params = row->params,
                                       .depth = row->depth,
                                       .trainable = !row->has_weights ? '-'
                                                    : row->trainable  ? 'Y'
                                                                      : 'N'};
        if (!rows[i].name || !rows[i].class_name) return ARTEL_ERROR_NO_MEMORY;
    }
    artel__summary table = {.model_name = clean(&call->arena, summary->name),
                            .rows = rows,
                            .row_count = (size_t)summary->rows,
                            .connections = summary->connections,
                            .show_trainable = o->show_trainable,
                            .columns = o->width ? (int)o->width : terminal_columns(),
                            .trainable = {summary->trainable, summary->trainable_bytes},
                            .non_trainable = {summary->frozen, summary->frozen_bytes},
                            .has_optimizer = summary->optimizer > 0,
                            .optimizer = {summary->optimizer, summary->optimizer_bytes}};
    if (!table.model_name) return ARTEL_ERROR_NO_MEMORY;
    artel__text text;
    artel__text_init(&text, call->ctx);
    artel_status status = artel__summary_render(call->ctx, &table, &text);
    if (status == ARTEL_OK) fputs(text.data, stdout);
    artel__text_fini(&text);
    return status;
}

static artel_status run_summary(artel__invocation *call)
{
    const summary_options *o = call->options;
    artel_model *model;
    artel__model_summary summary;
    ARTEL_TRY(artel__cli_load_model(call, call->argument[0], &model));
    artel_status status = artel__keras_summary(model, o->expand, &summary);
    if (status == ARTEL_OK) {
        status = print_summary(call, &summary);
        artel__keras_summary_fini(&summary);
    }
    artel_model_destroy(model);
    return status;
}

const artel__command artel__command_summary = {
    .name = "summary",
    .summary = "Keras' table: layer, output shape, parameters",
    .usage = "MODEL [options]",
    .examples = "  artel summary model.keras\n  artel summary model.json --width 100\n",
    .options = options,
    .options_size = sizeof(summary_options),
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_summary,
};
