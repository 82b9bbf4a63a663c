/* SPDX-License-Identifier: Apache-2.0 */
/* Values as Keras' users know them: Python's spelling of a float, and the logs of one epoch.
 *
 * CSV logs, history files and JSON events are read by scripts written for Keras, so a float is spelled exactly as
 * Python's repr() does (and as json.dumps does, NaN and Infinity included). Pure functions, thread-safe; the decimal
 * point is a point in every locale.
 */
#ifndef ARTEL_OBSERVE_NUMBER_H
#define ARTEL_OBSERVE_NUMBER_H

#include "base/text.h"

/* One metric of one epoch (or batch). A value that Keras computes in float32 should have been rounded to float32, so
 * that it is printed as Keras prints it: 0.3610169291496277. */
typedef struct artel__log_value {
    const char *name; /* as in Keras' History: "loss", "val_accuracy" */
    double value;
} artel__log_value;

/* Keras' `logs`; borrowed by whoever receives it, in the order in which things are to be shown (Keras sorts by name).
 */
typedef struct artel__logs {
    size_t count;
    const artel__log_value *item;
} artel__logs;

/* What stands in the logs from `first` on: one number, or the `count` elements of a list (base/listed.h). */
typedef struct artel__log_group {
    char name[512]; /* of the list */
    size_t first, count;
    bool list;
} artel__log_group;

/* Goes to the next group; begin with a group of zeros. False when there is none. */
bool artel__logs_next(artel__logs logs, artel__log_group *group);

/* The entry of that name, or NULL. */
const artel__log_value *artel__logs_find(artel__logs logs, const char *name);

#define ARTEL__PYTHON_FLOAT_SIZE 32

/* Python's repr(float): the shortest decimal form that reads back as the same double, "1.0", "1e-05", "1e+16",
 * "nan", "inf", "-inf". Returns `buffer`. */
char *artel__python_float(char buffer[ARTEL__PYTHON_FLOAT_SIZE], double value);

/* The same as json.dumps writes it: NaN, Infinity, -Infinity (which strict JSON does not know). */
void artel__put_json_float(artel__text *text, double value);

/* A metric as Keras' progress bar shows it: four decimals, or 1.2345e-04 when it is small. `by_magnitude` compares
 * |value| with 0.001 (verbose 1), else the value itself (verbose 2). At least 32 bytes. Returns `buffer`. */
char *artel__progress_number(char *buffer, size_t size, double value, bool by_magnitude);

#endif
