/* SPDX-License-Identifier: Apache-2.0 */
/* The option --callbacks: files, and callbacks in one line. */
#ifndef ARTEL_CLI_CALLBACKS_H
#define ARTEL_CLI_CALLBACKS_H

#include "cli/cli.h"

/* Lines, each of them a file with a list of Keras records or NAME[:key=value,...],NAME,... (nn/spec.h), as the text of
 * one list in their order, on the context's heap. What has a folder, or ends in .json, or exists, is a file. */
artel_status artel__cli_read_callbacks(artel__invocation *call, const char *lines, char **out);
/* Refuses `output`, of --output, where a ModelCheckpoint of the list writes that file: the best model would be lost. */
artel_status artel__cli_check_checkpoints(artel__invocation *call, const char *callbacks, const char *output);

#endif
