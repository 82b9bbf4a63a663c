/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX' protobuf messages, written by hand: the few that an export needs.
 *
 * A message is bytes in a growing text; an inner message is written first and then wrapped. Field numbers are those of
 * onnx.proto (IR version 8).
 */
#ifndef ARTEL_KERAS_ONNX_PROTO_H
#define ARTEL_KERAS_ONNX_PROTO_H

#include "artel/tensor.h"
#include "base/protobuf.h"

/* AttributeProto appended to a NodeProto. */
void artel__onnx_int(artel__text *node, const char *name, int64_t value);
void artel__onnx_float(artel__text *node, const char *name, double value);
void artel__onnx_string(artel__text *node, const char *name, const char *value);
void artel__onnx_ints(artel__text *node, const char *name, const int64_t *values, int count);
void artel__onnx_strings(artel__text *node, const char *name, const char *const *values, int count);

void artel__onnx_graph_attribute(artel__text *node, const char *name, const artel__text *graph);

/* TensorProto.DataType. */
int artel__onnx_data_type(artel_dtype dtype);
/* TensorProto appended to a GraphProto as an initializer. */
void artel__onnx_initializer(artel__text *graph, const char *name, artel_dtype dtype, const artel_shape *shape,
                             const void *data);
/* ValueInfoProto appended to a GraphProto under `field` (11 input, 12 output). Row shape; the batch axis is "batch".
 * Open axes are numbered by `prefix`. */
void artel__onnx_value_info(artel__text *graph, int field, const char *name, artel_dtype dtype,
                            const artel_shape *shape, const char *prefix);

#endif
