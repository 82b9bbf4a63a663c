/* SPDX-License-Identifier: Apache-2.0 */
/* Movements of strings in functions (text/moved.h): operations on numbers that stand for them. */
#ifndef ARTEL_FUNCTION_TEXT_MOVES_H
#define ARTEL_FUNCTION_TEXT_MOVES_H

#include "function/texts.h"

/* As artel__texts_op, of an operation that is one. */
int artel__texts_move(artel_graph *graph, const artel__moved *moved, const artel_value *inputs, int count,
                      const char *attributes, artel_value *outputs, int most);
/* Of artel__graph_texts. */
artel_value artel__texts_gather(artel_graph *graph, artel_value rows);
artel_value artel__texts_choose(artel_graph *graph, artel__value_id condition, artel_value a, artel_value b);

#endif
