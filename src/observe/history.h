/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' History.history: a list of values for each metric, and the JSON file of it (--history).
 *
 * A metric that is not there in every epoch (val_ with validation_freq) has a shorter list, as in Keras. The JSON
 * text is also what a checkpoint keeps, so that a run that is taken up again continues the same lists:
 * parse what the checkpoint holds, append, write whole. Floats as Python's json.dumps writes them. One thread.
 */
#ifndef ARTEL_OBSERVE_HISTORY_H
#define ARTEL_OBSERVE_HISTORY_H

#include "observe/number.h"

typedef struct artel__run_history artel__run_history;

artel_status artel__run_history_create(artel_context *ctx, artel__run_history **out);
void artel__run_history_destroy(artel__run_history *history); /* NULL is accepted */

/* Appends each value to the list of its name; new names come last. */
artel_status artel__run_history_append(artel__run_history *history, artel__logs logs);

/* The lists, in the order in which they first appeared. Pointers are valid until the next append or parse. */
size_t artel__run_history_count(const artel__run_history *history);
const char *artel__run_history_name(const artel__run_history *history, size_t index);
const double *artel__run_history_values(const artel__run_history *history, size_t index, size_t *count);

/* Cuts every list to at most `epochs` values. */
void artel__run_history_truncate(artel__run_history *history, size_t epochs);

/* {"loss": [0.5, 0.25], "val_loss": [0.6, 0.3]} without a newline. */
void artel__run_history_print(const artel__run_history *history, artel__text *out);

/* Replaces the contents by what print wrote (or Python's json.dump of an object of lists of numbers; null is NaN).
 * `where` names the source in messages. Errors: ARTEL_ERROR_CORRUPT, which leaves the history empty. */
artel_status artel__run_history_parse(artel__run_history *history, const char *where, const char *json);

/* Writes the file whole or not at all, with a final newline. */
artel_status artel__run_history_write(const artel__run_history *history, const char *path);

#endif
