/* SPDX-License-Identifier: Apache-2.0 */
/* Training graphs of random operations, for tests that something changes no result. */
#ifndef ARTEL_TESTS_SUPPORT_RANDOM_GRAPH_H
#define ARTEL_TESTS_SUPPORT_RANDOM_GRAPH_H

#include "graph/graph.h"

#define RANDOM_GRAPH_WIDTH 6

/* One fed input, ROW [RANDOM_GRAPH_WIDTH]; two variables, which are declared; views, concatenations, dropout,
 * normalisations and operations that work in place; gradients of all; some values kept; a step of gradient descent. Not
 * sealed. */
void random_graph_build(artel__graph *graph, artel__variables *variables, uint32_t seed);

#endif
