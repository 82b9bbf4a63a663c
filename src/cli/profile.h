/* SPDX-License-Identifier: Apache-2.0 */
/* artel fit --profile: a timeline of the first steps for Chrome's viewers, and a table of where the time went in all of
 * them. */
#ifndef ARTEL_CLI_PROFILE_H
#define ARTEL_CLI_PROFILE_H

#include <stdio.h>

#include "artel/fit.h"
#include "base/context.h"

typedef struct artel__profiler artel__profiler;

/* Creates the timeline: `path`, or trace.json in it when it is a directory or ends in a slash. */
artel_status artel__profiler_create(artel_context *ctx, const char *path, artel__profiler **out);
void artel__profiler_start(artel__profiler *profiler, int replicas, int threads);
/* What an artel_profile_fn receives. */
void artel__profiler_step(artel__profiler *profiler, int64_t step, const artel_profile_node *nodes, int count);
/* By operation and by layer: time a step, share, rate, and the share of the multiply-add peak measured now. */
void artel__profiler_print(const artel__profiler *profiler, FILE *out);
/* Ends the timeline; NULL is accepted. */
artel_status artel__profiler_destroy(artel__profiler *profiler);

#endif
