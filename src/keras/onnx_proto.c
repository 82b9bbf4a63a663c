/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX' messages in protobuf's wire format. */
#include "keras/onnx_proto.h"

#include <stdio.h>

/* Wraps a finished inner message and releases it. */
static void wrap(artel__text *message, int field, artel__text *inner)
{
    artel__put_message(message, field, inner);
    artel__text_fini(inner);
}

/* AttributeProto: name 1, f 2, i 3, s 4, g 6, floats 7, ints 8, strings 9, type 20; it is field 5 of a node. */
static artel__text start_attribute(artel__text *node, const char *name)
{
    artel__text attribute;
    artel__text_init(&attribute, node->ctx);
    artel__put_string(&attribute, 1, name);
    return attribute;
}

static void end_attribute(artel__text *node, artel__text *attribute, int type)
{
    artel__put_integer(attribute, 20, type);
    wrap(node, 5, attribute);
}

void artel__onnx_int(artel__text *node, const char *name, int64_t value)
{
    artel__text attribute = start_attribute(node, name);
    artel__put_integer(&attribute, 3, value);
    end_attribute(node, &attribute, 2);
}

void artel__onnx_float(artel__text *node, const char *name, double value)
{
    artel__text attribute = start_attribute(node, name);
    float single = (float)value;
    artel__put_varint(&attribute, 2 << 3 | 5); /* four bytes */
    artel__text_append_bytes(&attribute, &single, sizeof single);
    end_attribute(node, &attribute, 1);
}

void artel__onnx_string(artel__text *node, const char *name, const char *value)
{
    artel__text attribute = start_attribute(node, name);
    artel__put_string(&attribute, 4, value);
    end_attribute(node, &attribute, 3);
}

void artel__onnx_ints(artel__text *node, const char *name, const int64_t *values, int count)
{
    artel__text attribute = start_attribute(node, name);
    for (int i = 0; i < count; i++) artel__put_integer(&attribute, 8, values[i]);
    end_attribute(node, &attribute, 7);
}

void artel__onnx_strings(artel__text *node, const char *name, const char *const *values, int count)
{
    artel__text attribute = start_attribute(node, name);
    for (int i = 0; i < count; i++) artel__put_string(&attribute, 9, values[i]);
    end_attribute(node, &attribute, 8);
}

void artel__onnx_graph_attribute(artel__text *node, const char *name, const artel__text *graph)
{
    artel__text attribute = start_attribute(node, name);
    artel__put_message(&attribute, 6, graph);
    end_attribute(node, &attribute, 5);
}

int artel__onnx_data_type(artel_dtype dtype)
{
    static const int types[] = {
        [ARTEL_DTYPE_FLOAT32] = 1, [ARTEL_DTYPE_FLOAT64] = 11, [ARTEL_DTYPE_FLOAT16] = 10, [ARTEL_DTYPE_BFLOAT16] = 16,
        [ARTEL_DTYPE_INT8] = 3,    [ARTEL_DTYPE_INT16] = 5,    [ARTEL_DTYPE_INT32] = 6,    [ARTEL_DTYPE_INT64] = 7,
        [ARTEL_DTYPE_UINT8] = 2,   [ARTEL_DTYPE_UINT16] = 4,   [ARTEL_DTYPE_UINT32] = 12,  [ARTEL_DTYPE_UINT64] = 13,
        [ARTEL_DTYPE_BOOL] = 9,    [ARTEL_DTYPE_STRING] = 8};
    return types[dtype];
}

void artel__onnx_initializer(artel__text *graph, const char *name, artel_dtype dtype, const artel_shape *shape,
                             const void *data)
{
    artel__text tensor;
    artel__text_init(&tensor, graph->ctx);
    for (int i = 0; i < shape->rank; i++) artel__put_integer(&tensor, 1, shape->dim[i]);
    artel__put_integer(&tensor, 2, artel__onnx_data_type(dtype));
    artel__put_string(&tensor, 8, name);
    artel__put_bytes(&tensor, 9, data, (size_t)artel_shape_count(shape) * artel_dtype_size(dtype));
    wrap(graph, 5, &tensor);
}

void artel__onnx_value_info(artel__text *graph, int field, const char *name, artel_dtype dtype,
                            const artel_shape *shape, const char *prefix)
{
    artel__text dims, type, tensor, value;
    artel__text_init(&dims, graph->ctx);
    for (int i = -1; i < shape->rank; i++) {
        artel__text dim;
        char open[64];
        artel__text_init(&dim, graph->ctx);
        if (i >= 0 && shape->dim[i] >= 0) {
            artel__put_integer(&dim, 1, shape->dim[i]);
        } else {
            snprintf(open, sizeof open, "%s_%d", prefix, i);
            artel__put_string(&dim, 2, i < 0 ? "batch" : open);
        }
        wrap(&dims, 1, &dim);
    }
    artel__text_init(&tensor, graph->ctx);
    artel__put_integer(&tensor, 1, artel__onnx_data_type(dtype));
    wrap(&tensor, 2, &dims);
    artel__text_init(&type, graph->ctx);
    wrap(&type, 1, &tensor);
    artel__text_init(&value, graph->ctx);
    artel__put_string(&value, 1, name);
    wrap(&value, 2, &type);
    wrap(graph, field, &value);
}
