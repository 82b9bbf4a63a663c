/* SPDX-License-Identifier: Apache-2.0 */
/* The two drawings of artel plot. */
#ifndef ARTEL_CLI_PLOT_H
#define ARTEL_CLI_PLOT_H

#include <jansson.h>

#include "base/text.h"
#include "cli/cli.h"

/* Layers from the top down with their shapes, and what is connected with what (plot_model.c). */
artel_status artel__plot_model(artel__invocation *call, const char *path, artel__text *out);

/* The scalars in a log directory of TensorBoard as a History (new, to be let go by the caller), values in the order of
 * their steps (plot_logs.c). Failures are recorded; *out is NULL then. */
artel_status artel__read_logs(artel__invocation *call, const char *folder, json_t **out);

/* Curves of a History: each metric with its val_ partner; `axis` is what each value is of, "epoch" (plot_history.c). */
artel_status artel__plot_history(artel__invocation *call, const char *path, const json_t *history, const char *axis,
                                 artel__text *out);
/* The same for a terminal: a line of bars for each key. */
artel_status artel__show_history(artel__invocation *call, const char *path, const json_t *history);

#endif
