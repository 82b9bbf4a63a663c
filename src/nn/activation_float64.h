/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of float64 that are one kernel in float32, put together from operations. They know operations alone, so
 * that activation.c can call them. Axes are those of a row. */
#ifndef ARTEL_NN_ACTIVATION_FLOAT64_H
#define ARTEL_NN_ACTIVATION_FLOAT64_H

#include "graph/graph.h"

/* The first half times the sigmoid of the second; the extent is even. */
artel__value_id artel__wide_glu(artel__graph *graph, artel__value_id x, int axis);
artel__value_id artel__wide_sparsemax(artel__graph *graph, artel__value_id x, int axis);
/* Running sums along an axis. */
artel__value_id artel__wide_running_sum(artel__graph *graph, artel__value_id x, int axis);

#endif
