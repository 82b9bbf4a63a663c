/* SPDX-License-Identifier: Apache-2.0 */
/* What a room above keeps with a context, for as long as that lives. For the context's thread. */
#ifndef ARTEL_BASE_ATTACHMENT_H
#define ARTEL_BASE_ATTACHMENT_H

#include "base/context.h"

/* Called first of all when the context ends, while it can still be used. */
typedef void artel__attachment_end(artel_context *ctx, void *block);
void artel__context_attach(artel_context *ctx, void *block, artel__attachment_end *end);
/* NULL: nothing is kept. */
void *artel__context_attached(const artel_context *ctx);

#endif
