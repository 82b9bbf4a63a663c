/* SPDX-License-Identifier: Apache-2.0 */
/* A CSV file with a line for each epoch, as keras.callbacks.CSVLogger writes it.
 *
 * The header is "epoch" and the names of the first epoch's logs, sorted; when none of them begins with val_, a val_
 * column is added for each, as Keras does (its values are "NA" until they appear). Floats as Python's repr, fields
 * quoted only where needed, lines end in CR LF (Python's csv.excel dialect). Every line is written at once, so the
 * file can be followed and survives a crash. A log belongs to one thread.
 */
#ifndef ARTEL_OBSERVE_CSV_LOG_H
#define ARTEL_OBSERVE_CSV_LOG_H

#include "observe/number.h"

typedef struct artel__csv_log artel__csv_log;

typedef struct artel__csv_log_options {
    char separator;     /* 0: ',' */
    bool append;        /* continue the file; the header is left out when it holds anything */
    int64_t keep_below; /* with append: a run goes on with this epoch; lines of it and later ones stay as long as the
                         * run writes the same again, and the columns are those of the header; negative: keep all */
} artel__csv_log_options;

artel_status artel__csv_log_create(artel_context *ctx, const char *path, const artel__csv_log_options *options,
                                   artel__csv_log **out);
/* NULL is accepted. */
artel_status artel__csv_log_destroy(artel__csv_log *log);

/* One line; `epoch` from 0. Logs that were not there in the first epoch are left out. */
artel_status artel__csv_log_epoch(artel__csv_log *log, int64_t epoch, artel__logs logs);

/* The run has come to its end: lines of later epochs, from an earlier and longer run, are cut off. */
artel_status artel__csv_log_finish(artel__csv_log *log);

#endif
