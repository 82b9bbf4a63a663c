/* SPDX-License-Identifier: Apache-2.0 */
/* The operations: for each a constructor that adds a node, one file a family.
 *
 * A constructor takes the graph first and returns the first output; on failure the graph remembers it and every later
 * call is a no-op that returns ARTEL__NO_VALUE. Those that gradients are made of are in constructors.c. Shapes are
 * those of one row for ROW values. ops.list is the only registration of the definitions; it feeds the documentation and
 * the test matrix.
 */
#ifndef ARTEL_OP_OP_H
#define ARTEL_OP_OP_H

#include "graph/op_exec.h"
#include "kernel/conv.h"
#include "kernel/fault_slot.h"

/* Shorthands for the op files. */
artel_status artel__op_fail(const artel__infer *infer, const char *format, ...) ARTEL__PRINTF(2, 3);
/* Output `n` with the same domain as `like`. */
void artel__infer_output(artel__infer *infer, int n, artel__domain domain, artel_dtype dtype, const artel_shape *shape);
/* For artel__op_def.moves: true. */
bool artel__op_always_moves(const void *attributes);
/* Rows of a value in this step: owned rows for ROW, those of the global batch for BATCH, 1 for GLOBAL. */
int64_t artel__args_rows(const artel__run_args *args, artel__value_id id);
static inline const artel__value *artel__args_in(const artel__run_args *args, int k)
{
    return &args->graph->value[args->node->input[k]];
}
static inline const artel__value *artel__args_out(const artel__run_args *args, int k)
{
    return &args->graph->value[args->node->output[k]];
}
/* Whether a node computes in float64: it has a result, or where `by_input` an operand, of that. */
static inline bool artel__node_wide(const artel__graph *graph, const artel__node *node, bool by_input)
{
    return graph->value[by_input ? node->input[0] : node->output[0]].dtype == ARTEL_DTYPE_FLOAT64;
}
static inline bool artel__args_wide(const artel__run_args *args)
{
    return artel__node_wide(args->graph, args->node, false);
}
/* The larger of two parameter structs, of which a node fills one. */
#define ARTEL__EITHER_SIZE(a, b) (sizeof(a) > sizeof(b) ? sizeof(a) : sizeof(b))
/* Whether input k is stored as bfloat16; output k. */
static inline bool artel__args_half_in(const artel__run_args *args, int k)
{
    return args->half && k < args->node->inputs && args->node->input[k] >= 0 && args->half[args->node->input[k]];
}
/* Whether input k is weights that are still to be rounded to bfloat16. */
static inline bool artel__args_raw_in(const artel__run_args *args, int k)
{
    return args->raw && args->raw[args->node->input[k]];
}
static inline bool artel__args_half_out(const artel__run_args *args, int k)
{
    return args->half && k < args->node->outputs && args->half[args->node->output[k]];
}
/* The precision of both values; FLOAT32 where they differ. */
static inline artel_dtype artel__args_held(const artel__run_args *args, int first, int second)
{
    artel_dtype held = artel__args_in(args, first)->precision;
    return artel__args_in(args, second)->precision == held ? held : ARTEL_DTYPE_FLOAT32;
}

/* How a product of operands that hold `held` is added up. */
static inline artel__arithmetic artel__args_arithmetic(const artel__run_args *args, artel_dtype held)
{
    return held == ARTEL_DTYPE_BFLOAT16 ? args->graph->arithmetic : ARTEL__ARITHMETIC_CHAIN;
}

/* Where a kernel of this node reports an element that is out of range. */
artel__fault_slot artel__args_fault_slot(const artel__run_args *args);

/* The table of all operations, NULL-terminated, in the order of ops.list. */
extern const artel__op_def *const artel__ops[];

/* -- collectives (collective.c) -- */
/* Finishes the tree of sums: NODES -> GLOBAL. Gradient: none (it only occurs behind folds whose op differentiates). */
artel__value_id artel__op_all_reduce(artel__graph *graph, artel__value_id nodes);
/* Merges float64 (count, mean, M2) blocks after Chan. */
artel__value_id artel__op_all_reduce_moments(artel__graph *graph, artel__value_id nodes);
artel__value_id artel__op_all_reduce_max(artel__graph *graph, artel__value_id nodes);
/* The rows of all replicas in order of the batch: ROW -> BATCH. */
artel__value_id artel__op_all_gather(artel__graph *graph, artel__value_id rows);

/* -- products (product.c) -- */
/* out[..., n] = activation(x[..., k] * w[k][n] + bias[n]); x ROW, w GLOBAL panels, bias GLOBAL or none. The last
 * `contracted` axes of x (1 for Dense, 2 for the output projection of attention) are the reduction; `columns` gives the
 * trailing output shape. */
artel__value_id artel__op_product(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                  int contracted, const artel_shape *columns, artel__fused activation);

/* NODES: dw = panels(k, n) of the products x^T dy, and as output 1, when asked, the sums of dy. x [..., k] and dy [...,
 * n] ROW. */
artel__value_id artel__op_weight_gradient(artel__graph *graph, artel__value_id x, artel__value_id dy, int64_t k,
                                          int64_t n, bool bias);

/* -- convolution (conv.c) -- */
/* `shape.images`: images that a row of x is, x [images][ih][iw][ic]; 0: one, x [ih][iw][ic]. w: panels(kh*kw*ic/groups,
 * oc). */
artel__value_id artel__op_conv2d(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                 const artel__conv2d_shape *shape, artel__fused activation);
/* The gradient of a convolution's data as a forward pass: `shape` is that of the convolution whose output is x
 * [oh][ow][oc] and whose input is the result [ih][iw][ic]; w: panels(kh*kw*ic, oc), groups 1; bias of ic channels. */
artel__value_id artel__op_conv2d_transpose(artel__graph *graph, artel__value_id x, artel__value_id w,
                                           artel__value_id bias, const artel__conv2d_shape *shape,
                                           artel__fused activation);
/* w plain [kh][kw][c][multiplier]. */
artel__value_id artel__op_depthwise(artel__graph *graph, artel__value_id x, artel__value_id w, artel__value_id bias,
                                    const artel__conv2d_shape *shape, artel__fused activation);

/* The TRANSPOSE of kernel/product.h: panels for data gradients. */
artel__value_id artel__op_transpose_weights(artel__graph *graph, artel__value_id w, int64_t taps, int64_t rows,
                                            int64_t columns, int64_t groups);

/* -- panels (panels.c) -- */
/* Plain weights [..][columns], GLOBAL, as the panels that products and convolutions read. */
artel__value_id artel__op_panels(artel__graph *graph, artel__value_id x);
/* Panels of so many rows, whatever the axes; and back: x itself when it is no panels. */
artel__value_id artel__op_panels_of(artel__graph *graph, artel__value_id x, int64_t rows);
artel__value_id artel__op_plain(artel__graph *graph, artel__value_id x, int64_t rows);

/* -- views (view.c) -- */
artel__value_id artel__op_reshape(artel__graph *graph, artel__value_id x, const artel_shape *shape);

#endif
