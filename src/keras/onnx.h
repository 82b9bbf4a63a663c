/* SPDX-License-Identifier: Apache-2.0 */
/* Export to ONNX: opset 17, IR version 8, the batch axis free.
 *
 * The calls of a model are walked in order; each class of layer has a row in a table that turns one call into nodes.
 * Values keep Keras' layout: what ONNX wants with channels in front is put between two transpositions, which runtimes
 * cancel against each other. Beside the ONNX nodes the inference graph is built, so that shapes, dtypes and masks are
 * known.
 */
#ifndef ARTEL_KERAS_ONNX_H
#define ARTEL_KERAS_ONNX_H

#include "keras/onnx_proto.h"
#include "keras/variables.h"

typedef struct artel__onnx_value {
    const char *name;     /* in the ONNX graph */
    artel__tensor tensor; /* in the inference graph */
} artel__onnx_value;

typedef struct artel__onnx {
    const artel_model *model;
    artel__arena arena;
    artel__graph graph;
    artel__text nodes, initializers; /* fields of the GraphProto */
    int count;                       /* of names given */
    const artel__layer *layer;       /* being exported */
    const char **value_name; /* by value of the graph: what it is called; NULL: not written yet (onnx_graph.h) */
    int value_room;
    int more; /* added to the stand-ins of open axes */
} artel__onnx;

/* One call of a layer: operands, their names, what it made. */
typedef struct artel__onnx_call {
    artel__onnx *onnx;
    const artel__layer *layer;
    const char *op; /* of the table */
    json_t *config; /* of its record */
    const artel__onnx_value *in;
    int inputs;
    json_t *arguments;
    artel_shape shape; /* of a row of the first input */
    artel_shape out;   /* of a row of the first output */
} artel__onnx_call;

/* Turns a call into nodes; returns the name of its (first) output, or NULL after a failure, which is recorded. */
typedef const char *artel__onnx_export_fn(artel__onnx_call *call);

typedef struct artel__onnx_row {
    const char *class_name;
    artel__onnx_export_fn *export;
    const char *op; /* handed to it as call->op: the ONNX operator, where one function serves several layers */
} artel__onnx_row;
extern const artel__onnx_row artel__onnx_layers[]; /* ends with a NULL name */
extern const artel__onnx_row artel__onnx_images[]; /* these likewise */
extern const artel__onnx_row artel__onnx_recurrent[];
extern const artel__onnx_row artel__onnx_attention[];

/* The k-th operand as float32. */
const char *artel__onnx_operand(artel__onnx_call *call, int k);
/* A new name "t7". */
const char *artel__onnx_name(artel__onnx *onnx);
/* Nodes: start, add attributes, end. Inputs are given as an array ("" for absent ones); the output gets a new name. */
artel__text artel__onnx_start(artel__onnx *onnx, const char *op);
const char *artel__onnx_end(artel__onnx *onnx, artel__text *node, const char *const *inputs, int count);
/* Without attributes. */
const char *artel__onnx_node1(artel__onnx *onnx, const char *op, const char *a);
const char *artel__onnx_node2(artel__onnx *onnx, const char *op, const char *a, const char *b);
const char *artel__onnx_transpose(artel__onnx *onnx, const char *a, const int64_t *perm, int rank);
const char *artel__onnx_cast(artel__onnx *onnx, const char *a, artel_dtype dtype);

/* Whether an input has an axis of any extent: the shapes of calls hold stand-ins then. */
bool artel__onnx_open(const artel__onnx *onnx);

/* Constants. */
const char *artel__onnx_constant(artel__onnx *onnx, artel_dtype dtype, const artel_shape *shape, const void *data);
const char *artel__onnx_ints_constant(artel__onnx *onnx, const int64_t *values, int count);
const char *artel__onnx_scalar(artel__onnx *onnx, double value);
/* The elements of a variable in the arena, those of 16 bits as float32; NULL when memory is out. */
void *artel__onnx_variable(artel__onnx *onnx, int index);
/* The n-th variable of a layer, plain; its shape goes to *shape. NULL when memory is out. */
const float *artel__onnx_weight(artel__onnx *onnx, const artel__layer *layer, int n, artel_shape *shape);
const char *artel__onnx_weight_constant(artel__onnx *onnx, const artel__layer *layer, int n);
/* The sublayer at a path, or NULL. */
const artel__layer *artel__onnx_child(const artel__layer *layer, const char *path);

/* Settings with Keras' defaults. */
int64_t artel__onnx_integer(json_t *config, const char *key, int64_t fallback);
double artel__onnx_number(json_t *config, const char *key, double fallback);
bool artel__onnx_flag(json_t *config, const char *key, bool fallback);
const char *artel__onnx_word(json_t *config, const char *key, const char *fallback);

/* The activation that config[key] names, applied; NULL (with a failure) when ONNX export does not know it. */
const char *artel__onnx_activation(artel__onnx_call *call, const char *key, const char *x);
/* The name of an activation given as text or record; "linear" for none. */
const char *artel__onnx_activation_name(json_t *value);
/* Fails with UNSUPPORTED in the layer's name; returns NULL. */
const char *artel__onnx_refuse(artel__onnx_call *call, const char *what);

artel_status artel__onnx_save(const artel_model *model, const char *path);

#endif
