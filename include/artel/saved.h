/* SPDX-License-Identifier: Apache-2.0 */
/* Traced functions in files: what SavedModel is to tf.function.
 *
 *   artel_functions_save(strategy, functions, count, path)
 *       functions, the variables, models and optimizers that they use, and counters
 *   artel_functions_load(context, path, options, &strategy)
 *       the same in another process, without the C code that was traced
 *   artel_strategy_function(strategy, "step", &function) ... artel_function_run()
 *       as if it had been traced here
 *
 * A function is kept as the calls of artel/graph.h that it was traced into, and is traced again from these. So a loaded
 * function gives the bits of the saved one, goes on learning, runs under every strategy but parameter-server, and may
 * be loaded by later versions.
 *
 * A file is a zip archive: functions.json, values.bin (elements, little-endian), digest (SHA-256 of both). It is data,
 * and never code: everything in it is checked as calls of a program are. Operations, layers and losses of a program's
 * own (artel/extend.h) are in it by name, and must have been added to the context that loads it. */
#ifndef ARTEL_SAVED_H
#define ARTEL_SAVED_H

#include "artel/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Saves `count` functions of different names (NULL, 0: all of the strategy's) with what they use: variables as they are
 * between two runs, models, optimizers that they apply with their state, the number of runs and units. The file appears
 * whole or not at all; equal strategies give equal files. The strategy's variables are final from here on. In a cluster
 * any task may save, between runs: artel_strategy_writes() says which should. Errors: ARTEL_ERROR_INVALID (no function,
 * two of one name, another strategy's), ARTEL_ERROR_UNSUPPORTED (variables that servers own), ARTEL_ERROR_IO. */
ARTEL_API artel_status artel_functions_save(artel_strategy *strategy, artel_function *const *functions, int count,
                                            const char *path);

/* Makes a strategy with all that the file holds. Of `options` (NULL: defaults) batch_size, shards, seed and arithmetic
 * are the file's, for results depend on them; who computes is the caller's choice. Models of the file belong to the
 * strategy. Errors: ARTEL_ERROR_NOT_FOUND, ARTEL_ERROR_CORRUPT (a file that is damaged, or was changed),
 * ARTEL_ERROR_UNSUPPORTED (an operation, a layer or a loss that this context does not have; a newer version;
 * parameter-server), those of artel_strategy_create(). */
ARTEL_API artel_status artel_functions_load(artel_context *context, const char *path,
                                            const artel_strategy_options *options, artel_strategy **out);

/* -- what a strategy has, loaded or not; owned by it -- */

/* By name, of variables a model's too: the first that was made. ARTEL_ERROR_NOT_FOUND: there is none. */
ARTEL_API artel_status artel_strategy_function(artel_strategy *strategy, const char *name, artel_function **out);
ARTEL_API artel_status artel_strategy_variable(artel_strategy *strategy, const char *name, artel_variable **out);
/* In the order of their making, from 0. ARTEL_ERROR_NOT_FOUND: there is none of this number. */
ARTEL_API artel_status artel_strategy_model(artel_strategy *strategy, int index, artel_model **out);
ARTEL_API artel_status artel_strategy_optimizer(artel_strategy *strategy, int index, artel_optimizer **out);
/* How many arguments and outputs a function has; 0 for NULL. */
ARTEL_API int artel_function_arguments(const artel_function *function);
ARTEL_API int artel_function_outputs(const artel_function *function);
/* What argument `index` is, as it was declared; its name belongs to the function. ARTEL_ERROR_INVALID: there is no such
 * argument. */
ARTEL_API artel_status artel_function_argument(const artel_function *function, int index, artel_argument *out);

#ifdef __cplusplus
}
#endif
#endif
