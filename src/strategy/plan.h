/* SPDX-License-Identifier: Apache-2.0 */
/* What the strategies of one machine share: counting NUMA nodes, dividing threads, notes. Inside this room only. */
#ifndef ARTEL_STRATEGY_PLAN_H
#define ARTEL_STRATEGY_PLAN_H

#include "strategy/strategy.h"

/* NUMA nodes on whose cores this process may run, at least 1. */
int artel__numa_nodes(void);
/* The same, read from `directory` (as /sys/devices/system/node) for a process that may use the `count` cores of
 * `cores`. */
int artel__numa_nodes_in(const char *directory, const int *cores, int count);

/* Threads of a request: those asked for, or the usable cores. */
int artel__plan_threads(const artel__strategy_request *request);
/* Fills a plan of `replicas` replicas: threads divided evenly, the remainder to the first ranks, at least one each;
 * notes. */
void artel__plan_fill(const artel__strategy_request *request, const char *name, int replicas,
                      artel__strategy_plan *out);

/* The plans of the strategies that others resolve to. */
artel_status artel__plan_one_device(artel_context *ctx, const artel__strategy_request *request,
                                    artel__strategy_plan *out);
artel_status artel__plan_mirrored(artel_context *ctx, const artel__strategy_request *request,
                                  artel__strategy_plan *out);

#endif
