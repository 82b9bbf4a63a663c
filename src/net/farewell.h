/* SPDX-License-Identifier: Apache-2.0 */
/* Telling others that this task will not come: its certificate is its own and of the cluster's authority, but out of
 * its dates, or another task's.
 *
 * Who waits for a task that can never join should not wait for minutes. It is told as everything else is: over TLS,
 * with that very certificate, which shows who speaks; the others refuse it, and know why. Who cannot even show that is
 * a stranger, and is waited for.
 */
#ifndef ARTEL_NET_FAREWELL_H
#define ARTEL_NET_FAREWELL_H

#include "net/connection.h"

/* Greets all of `to` (with the names in `task`) until each has refused it or the time is over, trying again those that
 * do not listen yet. Blocks. Failures are nobody's business. */
void artel__farewell(artel__site *site, const artel__net_address *to, const char *const *task, int count,
                     int64_t limit_ns);

#endif
