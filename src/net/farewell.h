/* SPDX-License-Identifier: Apache-2.0 */
/* Telling others that this task will not come, when it cannot say so properly: its own certificate is not good.
 *
 * Who waits for a task that can never join should not wait for minutes. What is told is a refusal (net/hello.h) in plaintext, the
 * first and only bytes of a connection. It proves nothing, so that it is believed only as far as any stranger on that host
 * would be: by whoever still misses a task of that host before the job has begun.
 */
#ifndef ARTEL_NET_FAREWELL_H
#define ARTEL_NET_FAREWELL_H

#include "net/address.h"
#include "net/hello.h"

/* Tells all of `to`, trying again those that do not listen yet, for at most `limit_ns`. Blocks. Failures are nobody's business. */
void artel__farewell(artel_context *ctx, const artel__net_address *to, int count, const artel__refusal *refusal, int64_t limit_ns);

#endif
