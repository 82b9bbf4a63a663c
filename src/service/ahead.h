/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are read one by one, as stages and tools read them, asked of the workers many at a time.
 *
 * A few blocks of elements are held. Who says what comes next (expect) has it fetched in one call, dealt to all
 * workers; who reads in order without a word has the block that follows fetched by a thread meanwhile. Anything else is
 * fetched as it is asked for. Nothing but time depends on what is held: an element's number says what it is, and a
 * failure ahead of time is forgotten until the element itself is wanted.
 *
 * Memory: at most ARTEL__AHEAD_BLOCKS blocks, and one for each thread that is fetching, of 4 MiB (or one element, where
 * that is larger).
 */
#ifndef ARTEL_SERVICE_AHEAD_H
#define ARTEL_SERVICE_AHEAD_H

#include "service/client.h"

enum {
    ARTEL__AHEAD_BLOCKS = 8
};

/* Row r of those that are read is element r * stride + offset of the dataset. */
typedef struct artel__service_rows {
    int64_t count, stride, offset;
} artel__service_rows;

typedef struct artel__service_ahead artel__service_ahead;

/* Of a client that outlives it. */
artel_status artel__service_ahead_create(artel_context *ctx, artel__service_client *client,
                                         const artel__service_rows *rows, artel__service_ahead **out);
void artel__service_ahead_destroy(artel__service_ahead *ahead); /* NULL accepted; what is being fetched is given up */
/* Hands the row to `take` (at 0). Errors: those of fetching it. Thread-safe. */
artel_status artel__service_ahead_take(artel__service_ahead *ahead, int64_t row, int64_t pass,
                                       artel__service_take_fn *take, void *user);
/* artel__data_format.expect. Thread-safe. */
int64_t artel__service_ahead_expect(artel__service_ahead *ahead, const int64_t *rows, int64_t count, int64_t pass);

#endif
