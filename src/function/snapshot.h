/* SPDX-License-Identifier: Apache-2.0 */
/* The whole state of a strategy, for whoever keeps it on disk: variables under names that files have, and counters.
 * Between two runs. */
#ifndef ARTEL_FUNCTION_SNAPSHOT_H
#define ARTEL_FUNCTION_SNAPSHOT_H

#include "artel/strategy.h"
#include "base/json.h"
#include "graph/graph.h"

typedef artel_status artel__snapshot_fn(void *user, const char *name, int variable);

/* Every variable once, in the same order each time. Of the only model: Keras' path in its weights tree; of the k-th of
 * several: "model.k/..."; "variable/NAME"; "optimizer.N" in the order of Keras' files, "optimizer.k.N" of several;
 * "rows.N": states of layers that no file of Keras has. Opens the strategy, and brings what the first device holds. */
artel_status artel__snapshot_visit(artel_strategy *strategy, artel__snapshot_fn *visit, void *user);
artel_context *artel__snapshot_context(const artel_strategy *strategy);
/* The table of variables, of an open strategy. */
const artel__variables *artel__snapshot_table(const artel_strategy *strategy);
/* Their image (exec/state.h); and one of them, on all replicas, from its plain form, once what their devices hold has
 * been brought. Errors of that: RUN (a device is lost). */
void artel__snapshot_image(const artel_strategy *strategy, void *image);
artel_status artel__snapshot_begin_store(artel_strategy *strategy);
void artel__snapshot_store(artel_strategy *strategy, int variable, const void *plain);
/* Where servers own the variables: all of them into the memory here, or from here to the servers, by the chief while
 * its coordinator is open. What optimizers keep stays at the servers. Nothing elsewhere. */
artel_status artel__snapshot_pull(artel_strategy *strategy);
artel_status artel__snapshot_push(artel_strategy *strategy);
/* Runs, units and the steps of each optimizer. The second takes all or none; errors: ARTEL_ERROR_CORRUPT, and INVALID
 * in a unit. */
artel_status artel__snapshot_counters(const artel_strategy *strategy, json_t **out);
artel_status artel__snapshot_take_counters(artel_strategy *strategy, const char *where, const json_t *counters);
/* Variables of strings, by name: {"shape", "strings"}. The second sees whether all that the strategy has are there, of
 * its shapes, and takes them with `stores`. Errors: ARTEL_ERROR_CORRUPT. */
artel_status artel__snapshot_words(const artel_strategy *strategy, json_t **out);
artel_status artel__snapshot_take_words(artel_strategy *strategy, const char *where, const json_t *words, bool stores);
/* The models whose weights it holds, in the order in which they were added; NULL: there is no such one. */
artel_model *artel__snapshot_model(const artel_strategy *strategy, int index);
/* Whether a function writes variables. */
bool artel__function_writes(const artel_function *function);

#endif
