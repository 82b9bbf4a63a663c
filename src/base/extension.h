/* SPDX-License-Identifier: Apache-2.0 */
/* What a program has added to a context beside what the library brings along, by kind and name ("layer", "Scale").
 *
 * Names may be Keras' registered ones ("package>Scale"): either side without a package matches any. Not thread-safe:
 * added before models are read. */
#ifndef ARTEL_BASE_EXTENSION_H
#define ARTEL_BASE_EXTENSION_H

#include "base/context.h"

#define ARTEL__EXTENSION_OPERATION "operation" /* an artel_operation (artel/extend.h) */

/* Takes `definition`, a block of artel__alloc, which lives as long as the context. INVALID: there is one of this kind
 * and name. */
artel_status artel__extension_add(artel_context *ctx, const char *kind, const char *name, void *definition);
/* NULL: there is none. */
const void *artel__extension_find(const artel_context *ctx, const char *kind, const char *name);
void artel__extensions_fini(artel_context *ctx);

#endif
