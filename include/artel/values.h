/* SPDX-License-Identifier: Apache-2.0 */
/* Distributed values that a function of yours makes, one for each replica or as many as you say: arguments of functions
 * that run under a strategy.
 *
 * What tf.distribute.Strategy.experimental_distribute_values_from_function() is to TensorFlow. A value is for a part of
 * the rows of a run. By default value i is what the rows of replica i see: then what is computed depends on how many
 * replicas there are, as it does in TensorFlow. With a number of your own the rows of a run are divided evenly among
 * so many values, whoever computes them: then it does not.
 *
 *   artel_values_create -> each run: artel_values_rows, an argument of artel_function_run -> artel_values_destroy
 *
 * Threads: values belong to their strategy, and with it to one thread at a time. */
#ifndef ARTEL_VALUES_H
#define ARTEL_VALUES_H

#include "artel/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_values artel_values;

/* Which value is wanted. */
typedef struct artel_value_context {
    size_t struct_size;
    int64_t id, count; /* of so many values, from 0 */
} artel_value_context;

/* Writes the elements of a value, which are 0, in row-major order. A function of the context alone: it is called once
 * for each value that this process sees rows of, when it first needs one; among tasks, when these come or go, for those
 * that it sees from then on, and for all where their number has changed. Its failure is that of the call that wanted
 * the value. */
typedef artel_status artel_value_fn(void *user, const artel_value_context *context, void *elements);

typedef struct artel_values_options {
    size_t struct_size;
    artel_dtype dtype; /* float32; any numeric one, which functions convert */
    artel_shape shape; /* of a value; a scalar unless set, at most 7 axes */
    int64_t count;     /* 0: one for each replica in sync, artel_strategy_replicas(); else from 1 to batch_size */
    artel_value_fn *make;
    void *user;
} artel_values_options;

#ifdef __cplusplus
static inline artel_values_options artel_values_options_init(void)
{
    artel_values_options options = artel_values_options();
    options.struct_size = sizeof options;
    return options;
}
#define ARTEL_VALUES_OPTIONS_INIT artel_values_options_init()
#else
#define ARTEL_VALUES_OPTIONS_INIT                   \
    {                                               \
        .struct_size = sizeof(artel_values_options) \
    }
#endif

/* Errors: ARTEL_ERROR_INVALID (options; no function), ARTEL_ERROR_UNSUPPORTED (strings), ARTEL_ERROR_NO_MEMORY. */
ARTEL_API artel_status artel_values_create(artel_strategy *strategy, const artel_values_options *options,
                                           artel_values **out);
ARTEL_API void artel_values_destroy(artel_values *values); /* NULL accepted; else they end with the strategy */

/* The values of this process: numbers *first to *first + *count - 1, of *all; *elements: these, one behind another,
 * made by now and borrowed until the next call for these values. A value whose rows lie on two tasks is both's. Over
 * parameter servers there is one replica, and all are the chief's. Any of the pointers may be NULL. Errors: those of
 * the function; ARTEL_ERROR_INVALID (asked by the function itself; of several tasks outside of a unit of
 * artel_strategy_loop(): who is there is known in units). */
ARTEL_API artel_status artel_values_local(artel_values *values, int64_t *first, int64_t *count, int64_t *all,
                                          const void **elements);
/* *out: an argument of rows for a run of so many: each row with its value, [rows][shape], borrowed until the next call
 * for these values. Rows of other processes, which nobody reads, are zeros. With a number n of your own row r
 * has value i where floor(i rows / n) <= r < floor((i + 1) rows / n). Errors: those of artel_values_local();
 * ARTEL_ERROR_INVALID (fewer rows than 1, or more than batch_size). */
ARTEL_API artel_status artel_values_rows(artel_values *values, int64_t rows, artel_array *out);

#ifdef __cplusplus
}
#endif
#endif
