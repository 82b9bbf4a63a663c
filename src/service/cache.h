/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that a worker has computed, for the next one that asks: several trainings on the same data compute each of
 * them once, as long as they are not too far apart. Of a fixed size, in sets of eight, of which the one used longest
 * ago gives way. Any thread. */
#ifndef ARTEL_SERVICE_CACHE_H
#define ARTEL_SERVICE_CACHE_H

#include "base/context.h"

typedef struct artel__service_cache artel__service_cache;

/* For elements of `bytes` bytes, within `limit` bytes in all. *out stays NULL when not one set fits: no cache. */
artel_status artel__service_cache_create(artel_context *ctx, size_t bytes, uint64_t limit, artel__service_cache **out);
void artel__service_cache_destroy(artel_context *ctx, artel__service_cache *cache); /* NULL accepted, here and below */
/* Whether the element (a row's number, with its pass) is there; copied to `out`. */
bool artel__service_cache_find(artel__service_cache *cache, uint64_t row, void *out);
void artel__service_cache_keep(artel__service_cache *cache, uint64_t row, const void *bytes);

#endif
