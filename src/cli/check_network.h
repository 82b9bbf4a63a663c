/* SPDX-License-Identifier: Apache-2.0 */
/* artel check --network: the speed between every pair of tasks. */
#ifndef ARTEL_CLI_CHECK_NETWORK_H
#define ARTEL_CLI_CHECK_NETWORK_H

#include "cli/cli.h"
#include "cluster/measure.h"

/* Measures and prints a line for each other task, or one JSON object. Exit code 2 when some were not reached. */
artel_status artel__cli_check_network(artel__invocation *call, const artel__cluster *cluster,
                                      const artel__measure_options *options, bool json);

#endif
