/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of keras.ops beside those of nn/layer_ops.list (graph_more.c has the table). */
#ifndef ARTEL_FUNCTION_GRAPH_MORE_H
#define ARTEL_FUNCTION_GRAPH_MORE_H

#include "function/function_impl.h"

enum {
    ARTEL__MORE_INPUTS = 32
};

bool artel__graph_has_more(const char *class_name);
/* As artel_graph_op_all(), of a class that the table has: 1, or the failure. */
int artel__graph_more(artel_graph *g, const char *class_name, json_t *settings, const artel_value *inputs, int count,
                      artel_value *output);

#endif
