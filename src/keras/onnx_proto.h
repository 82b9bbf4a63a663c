/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX' protobuf messages, written by hand: the few that an export needs.
 *
 * A message is bytes in a growing text; an inner message is written first and then wrapped. Field numbers are those of
 * onnx.proto (IR version 8).
 */
#ifndef ARTEL_KERAS_ONNX_PROTO_H
#define ARTEL_KERAS_ONNX_PROTO_H

#include "artel/tensor.h"
#include "base/text.h"

void artel__proto_int(artel__text *message, int field, int64_t value);
void artel__proto_text(artel__text *message, int field, const char *value);
void artel__proto_bytes(artel__text *message, int field, const void *bytes, size_t count);
/* A finished inner message, and its failure. */
void artel__proto_message(artel__text *message, int field, const artel__text *inner);

/* AttributeProto appended to a NodeProto. */
void artel__onnx_int(artel__text *node, const char *name, int64_t value);
void artel__onnx_float(artel__text *node, const char *name, double value);
void artel__onnx_string(artel__text *node, const char *name, const char *value);
void artel__onnx_ints(artel__text *node, const char *name, const int64_t *values, int count);
void artel__onnx_strings(artel__text *node, const char *name, const char *const *values, int count);

/* TensorProto appended to a GraphProto as an initializer. */
void artel__onnx_initializer(artel__text *graph, const char *name, artel_dtype dtype, const artel_shape *shape, const void *data);
/* ValueInfoProto appended to a GraphProto under `field` (11 input, 12 output). Row shape; the batch axis is "batch". Open axes are
 * numbered by `prefix`. */
void artel__onnx_value_info(artel__text *graph, int field, const char *name, artel_dtype dtype, const artel_shape *shape,
                            const char *prefix);

#endif
