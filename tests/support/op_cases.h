/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation of ops.list in small graphs, for whoever computes them.
 *
 * To add one: a function that builds it and a row in the table of its family, op_cases_<family>.c.
 */
#ifndef ARTEL_TESTS_SUPPORT_OP_CASES_H
#define ARTEL_TESTS_SUPPORT_OP_CASES_H

#include "kernel/conv.h"
#include "support/op_bench.h"

/* Cases of parameters c.parameter .. c.parameter + count - 1. */
typedef struct op_family {
    op_case c;
    int count;
} op_family;

/* Ended by one without cases. */
extern const op_family op_cases_elementwise[], op_cases_product[], op_cases_shape[], op_cases_reduce[], op_cases_norm[],
    op_cases_recurrent[], op_cases_train[], op_cases_gather[], op_cases_rows[], op_cases_second[], op_cases_wide[],
    op_cases_decompose[];

/* `gradients`: those alone whose gradients are compared with differences. */
void op_each(void (*check)(const op_case *c), bool gradients);

/* Parameter i builds op_conv_shapes[i]. */
extern const artel__conv2d_shape op_conv_shapes[];
enum {
    OP_CONV_SHAPES = 5
};
artel__value_id op_build_conv(op_graph *g);

#endif
