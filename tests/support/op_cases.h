/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation of ops.list in small graphs, for whoever computes them. */
#ifndef ARTEL_TESTS_SUPPORT_OP_CASES_H
#define ARTEL_TESTS_SUPPORT_OP_CASES_H

#include "kernel/conv.h"
#include "support/op_bench.h"

/* `gradients`: those alone whose gradients are compared with differences. */
void op_each(void (*check)(const op_case *c), bool gradients);

/* Parameter i builds op_conv_shapes[i]. */
extern const artel__conv2d_shape op_conv_shapes[];
enum {
    OP_CONV_SHAPES = 5
};
artel__value_id op_build_conv(op_graph *g);

#endif
