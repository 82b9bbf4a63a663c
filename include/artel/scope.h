/* SPDX-License-Identifier: Apache-2.0 */
/* Which strategy is the current one: for libraries that ask for it instead of being given it.
 *
 * What strategy.scope(), tf.distribute.get_strategy(), has_strategy() and in_cross_replica_context() are to TensorFlow.
 * Scopes belong to a context, and so to the thread that uses it: threads with contexts of their own have scopes of
 * their own. Every call of artel/strategy.h goes on naming its strategy; a scope by itself distributes nothing, and a
 * strategy works outside of its scope as well. */
#ifndef ARTEL_SCOPE_H
#define ARTEL_SCOPE_H

#include "artel/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The strategy is the current one of its context until the artel_strategy_leave() that belongs to this call. Again
 * within its own scope: one more. Errors: ARTEL_ERROR_INVALID (within the scope of another strategy, with the names of
 * both; while a function is traced), ARTEL_ERROR_NO_MEMORY. A strategy that is destroyed is left. */
ARTEL_API artel_status artel_strategy_enter(artel_strategy *strategy);
/* Leaves the innermost scope. Errors: ARTEL_ERROR_INVALID (it is another strategy's, whose name is said; none has been
 * entered; while a function is traced). */
ARTEL_API artel_status artel_strategy_leave(artel_strategy *strategy);
/* Makes the strategy the current one without a scope, in the place of the one that was set before; NULL: none. Errors:
 * ARTEL_ERROR_INVALID (within a scope, while a function is traced, a strategy of another context),
 * ARTEL_ERROR_NO_MEMORY. */
ARTEL_API artel_status artel_strategy_set(artel_context *context, artel_strategy *strategy);

/* The current strategy: that of the function which is traced now, else of the innermost scope, else the one that was
 * set, else the context's default one: one-device, with default options, made when it is first asked for, the same each
 * time. *out is borrowed; the default one ends with the context and is not the caller's to destroy. Errors: those of
 * artel_strategy_create(). */
ARTEL_API artel_status artel_strategy_get(artel_context *context, artel_strategy **out);
/* Whether the current strategy is another than the default one; false for NULL. */
ARTEL_API bool artel_strategy_has(const artel_context *context);
/* Whether the calling code is that of all replicas together: within a scope, or where a strategy was set, and not while
 * a function is traced, which is what a replica does. Else false, as in TensorFlow; false for NULL. */
ARTEL_API bool artel_strategy_across_replicas(const artel_context *context);

#ifdef __cplusplus
}
#endif
#endif
