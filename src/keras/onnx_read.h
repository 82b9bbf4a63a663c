/* SPDX-License-Identifier: Apache-2.0 */
/* An ONNX file as lists: nodes with attributes, tensors with numbers, inputs and outputs. No knowledge of models.
 *
 * Field numbers: onnx/onnx.proto. Everything is checked as if it came from an enemy; nothing outside of the file is
 * opened.
 */
#ifndef ARTEL_KERAS_ONNX_READ_H
#define ARTEL_KERAS_ONNX_READ_H

#include "base/file.h"
#include "base/names.h"
#include "base/protobuf.h"
#include "tensor/shape.h"

/* Numbers of a tensor: floats (float32, float64) or whole ones (every other dtype that is read); the other is NULL. */
typedef struct artel__onnx_numbers {
    const char *name;
    artel_shape shape;
    int64_t count;
    const float *f;
    const int64_t *i;
} artel__onnx_numbers;

typedef struct artel__onnx_operator {
    const char *type, *label;     /* label: for messages */
    const char **input, **output; /* "": absent */
    int inputs, outputs;
    artel__proto *attribute; /* AttributeProto */
    int attributes;
} artel__onnx_operator;

typedef struct artel__onnx_port {
    const char *name;
    artel_dtype dtype;
    artel_shape shape; /* with the batch in front; -1: open */
} artel__onnx_port;

typedef struct artel__onnx_file {
    artel__arena *arena;
    const char *path;
    artel__mapping mapping;
    const char *name; /* of the graph */
    int64_t opset;
    artel__onnx_operator *node;
    artel__onnx_port *input; /* without those that are tensors */
    const char **output;
    artel__onnx_numbers *tensor;
    int nodes, inputs, outputs, tensors;
    artel__names by_name; /* of tensors */
} artel__onnx_file;

/* Whether the fields of a ModelProto are in it, whole. */
bool artel__onnx_is(const uint8_t *bytes, size_t size);
/* Errors: NOT_FOUND, CORRUPT, UNSUPPORTED (external data, dtypes that are not read). Close it also after a failure. */
artel_status artel__onnx_read(artel__arena *arena, const char *path, artel__onnx_file *out);
void artel__onnx_close(artel__onnx_file *file);

const artel__onnx_numbers *artel__onnx_numbers_of(const artel__onnx_file *file,
                                                  const char *name); /* NULL: it is none */

/* Attributes. */
int64_t artel__onnx_int_of(const artel__onnx_operator *node, const char *name, int64_t fallback);
double artel__onnx_float_of(const artel__onnx_operator *node, const char *name, double fallback);
/* At most `room`; how many there are, -1: there is no such attribute. */
int artel__onnx_ints_of(const artel__onnx_operator *node, const char *name, int64_t *out, int room);
int artel__onnx_doubles_of(const artel__onnx_operator *node, const char *name, double *out, int room);
/* Text k of a list; "": there is none, or it is longer than `size` - 1. */
const char *artel__onnx_text_of(const artel__onnx_operator *node, const char *name, int k, char *out, size_t size);
bool artel__onnx_text_is(const artel__onnx_operator *node, const char *name, const char *fallback, const char *wanted);
/* The numbers of a Constant's attribute "value", "value_int" or "value_float", with an s or without; of other
 * attributes UNSUPPORTED. */
artel_status artel__onnx_constant_of(artel__onnx_file *file, const artel__onnx_operator *node,
                                     artel__onnx_numbers *out);

#endif
