/* SPDX-License-Identifier: Apache-2.0 */
/* Rows about the hosts of a cluster, for the progress display. */
#ifndef ARTEL_CLI_HEALTH_H
#define ARTEL_CLI_HEALTH_H

#include "artel/cluster.h"
#include "base/text.h"

enum {
    ARTEL__HEALTH_ROWS = 8
};

/* A row for each of `count` tasks: what it does, and how long it works at a step that takes `step_seconds` (0: not
 * known). Of more than ARTEL__HEALTH_ROWS those that need a look: the silent, then the slowest. May reorder `tasks`. */
void artel__health_rows(artel_cluster_task *tasks, int count, double step_seconds, artel__text *out);

#endif
