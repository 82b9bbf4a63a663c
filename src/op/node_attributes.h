/* SPDX-License-Identifier: Apache-2.0 */
/* What nodes of several families carry, for who writes a graph in another form (keras/onnx_graph.h). */
#ifndef ARTEL_OP_NODE_ATTRIBUTES_H
#define ARTEL_OP_NODE_ATTRIBUTES_H

#include "graph/graph.h"
#include "kernel/elementwise.h"
#include "kernel/product.h"
#include "op/shape_ops.h"

/* binary; its gradient: by which operand */
typedef struct artel__binary_attributes {
    artel__binary function;
    int wrt;
} artel__binary_attributes;

/* compare: artel__comparison; logical: artel__logic; integer: artel__integer_op */
typedef struct artel__function_attributes {
    int function;
} artel__function_attributes;

/* constant */
typedef struct artel__constant_attributes {
    artel_dtype dtype;
    artel_shape shape;
    const void *data;    /* in the graph's arena */
    const double *exact; /* of a float32 number that was a float64 one: that; else NULL */
} artel__constant_attributes;

/* fill */
typedef struct artel__fill_attributes {
    float number;
    double exact; /* the same, not rounded: of float64 */
} artel__fill_attributes;

/* take, take_gradient */
typedef struct artel__take_attributes {
    int axis;
    int64_t extent; /* of the axis of x */
} artel__take_attributes;

/* product */
typedef struct artel__product_attributes {
    int contracted;
    artel_shape columns;
    artel__fused activation;
    int64_t k, n;
    bool turned; /* the weights are given as their transpose */
} artel__product_attributes;

/* band */
typedef struct artel__band_attributes {
    int axis;
    artel__op_band band;
} artel__band_attributes;

/* attention */
typedef struct artel__attention_attributes {
    float scale, rate, keep_scale;
    bool causal;
    uint8_t hidden; /* artel__hidden */
    uint32_t ordinal;
} artel__attention_attributes;

#endif
