/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas of one process at work together: the caller is the first, each further one has a thread that waits for the
 * next call. */
#ifndef ARTEL_STRATEGY_CREW_H
#define ARTEL_STRATEGY_CREW_H

#include "base/context.h"

typedef struct artel__crew artel__crew;
typedef void artel__crew_fn(void *user, int member);

/* `poll`: every thread has a core, so waiting may be done without sleeping for a while. */
artel_status artel__crew_create(artel_context *ctx, int members, bool poll, artel__crew **out);
void artel__crew_destroy(artel__crew *crew);
/* Every member works once, each in its thread; returns when all have. */
void artel__crew_work(artel__crew *crew, artel__crew_fn *work, void *user);

#endif
