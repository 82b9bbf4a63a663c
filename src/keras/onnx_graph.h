/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX nodes for the nodes of the inference graph: what layers without a row of their own are exported by.
 *
 * Every layer is a few operations of the op room, and each of those has a row here. So a new layer is exported as soon
 * as it is there, only less briefly than by a row in onnx_layers.c and its kin. Values are written when something reads
 * them: masks that nobody asks for leave no trace. A ROW value has the batch in front, which stays free; GLOBAL ones
 * have their own shape.
 */
#ifndef ARTEL_KERAS_ONNX_GRAPH_H
#define ARTEL_KERAS_ONNX_GRAPH_H

#include "graph/op_def.h"
#include "kernel/elementwise.h"
#include "kernel/product.h"
#include "keras/onnx.h"

/* A node of the graph on its way. */
typedef struct artel__onnx_site {
    artel__onnx *onnx;
    const artel__graph *graph;
    const artel__node *node;
    const char *in[ARTEL__MAX_OPERANDS];  /* NULL: absent */
    const char *out[ARTEL__MAX_OPERANDS]; /* to be filled; NULL: not written */
    const char *refused;                  /* which form of the operation ONNX has not; "": all of them; NULL: none */
} artel__onnx_site;

typedef struct artel__onnx_operation {
    const artel__op_def *op;
    void (*write)(artel__onnx_site *site);
    bool any_size;   /* does not mention extents: right where inputs have open axes */
    uint32_t unread; /* operands that are not read, a bit each */
} artel__onnx_operation;
extern const artel__onnx_operation artel__onnx_elementwise[]; /* these end with a NULL op */
extern const artel__onnx_operation artel__onnx_movements[];
extern const artel__onnx_operation artel__onnx_products[];

/* The name of a value, written with everything that it is made of. NULL after a failure, which is recorded in the name
 * of `layer`. */
const char *artel__onnx_value_of(artel__onnx *onnx, const artel__layer *layer, artel__value_id id);
/* Says what a value is called. */
artel_status artel__onnx_value_is(artel__onnx *onnx, artel__value_id id, const char *name);

/* -- for the rows -- */
static inline const artel__value *artel__onnx_in_value(const artel__onnx_site *s, int k)
{
    return &s->graph->value[s->node->input[k]];
}
static inline const artel__value *artel__onnx_out_value(const artel__onnx_site *s)
{
    return &s->graph->value[s->node->output[0]];
}
/* 1 where the batch lies in front. */
static inline int artel__onnx_ahead(const artel__value *value)
{
    return value->domain == ARTEL__DOMAIN_ROW;
}
/* Input k with as many axes as the output, so that trailing ones meet. */
const char *artel__onnx_spread(artel__onnx_site *s, int k);
/* `x` in the shape of a value; in a shape of one's own, the batch (-1) in front when `rows`. */
const char *artel__onnx_shaped(artel__onnx_site *s, const char *x, const artel__value *like);
const char *artel__onnx_reshaped(artel__onnx_site *s, const char *x, bool rows, const int64_t *dims, int rank);
/* A scalar of a dtype (FLOAT32, FLOAT64, INT32, INT64). */
const char *artel__onnx_number_of(artel__onnx *onnx, artel_dtype dtype, double number);
/* A function of kernel/unary.list with its constants. */
const char *artel__onnx_function(artel__onnx *onnx, artel_dtype dtype, artel__unary function, const float constant[3],
                                 const char *x);
/* max(x, 0) where an operation has that fused. */
const char *artel__onnx_fused(artel__onnx_site *s, artel__fused activation, const char *x);
/* A reduction over axes (of the ONNX value). */
const char *artel__onnx_reduce_over(artel__onnx *onnx, const char *op, const char *x, const int64_t *axes, int count,
                                    bool keep);

/* The recurrent operation: a Scan over the steps (onnx_graph_scan.c). */
void artel__onnx_write_scan(artel__onnx_site *s);

#endif
