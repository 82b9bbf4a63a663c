/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire format, and ONNX' messages in it. */
#include "keras/onnx_proto.h"

#include <stdio.h>
#include <string.h>

enum {
    VARINT = 0,
    FIXED32 = 5,
    LENGTH = 2
};

static void put_varint(artel__text *message, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        bytes[count] = (uint8_t)(value & 0x7f);
        value >>= 7;
        if (value) bytes[count] |= 0x80;
        count++;
    } while (value);
    artel__text_append_bytes(message, bytes, count);
}

static void put_key(artel__text *message, int field, int type)
{
    put_varint(message, (uint64_t)field << 3 | (uint64_t)type);
}

void artel__proto_int(artel__text *message, int field, int64_t value)
{
    put_key(message, field, VARINT);
    put_varint(message, (uint64_t)value);
}

void artel__proto_bytes(artel__text *message, int field, const void *bytes, size_t count)
{
    put_key(message, field, LENGTH);
    put_varint(message, count);
    artel__text_append_bytes(message, bytes, count);
}

void artel__proto_text(artel__text *message, int field, const char *value)
{
    artel__proto_bytes(message, field, value, strlen(value));
}

void artel__proto_message(artel__text *message, int field, const artel__text *inner)
{
    artel__proto_bytes(message, field, inner->data, inner->length);
    message->failed = message->failed || inner->failed;
}

/* Wraps a finished inner message and releases it. */
static void wrap(artel__text *message, int field, artel__text *inner)
{
    artel__proto_message(message, field, inner);
    artel__text_fini(inner);
}

/* AttributeProto: name 1, f 2, i 3, s 4, floats 7, ints 8, strings 9, type 20; it is field 5 of a node. */
static artel__text start_attribute(artel__text *node, const char *name)
{
    artel__text attribute;
    artel__text_init(&attribute, node->ctx);
    artel__proto_text(&attribute, 1, name);
    return attribute;
}

static void end_attribute(artel__text *node, artel__text *attribute, int type)
{
    artel__proto_int(attribute, 20, type);
    wrap(node, 5, attribute);
}

void artel__onnx_int(artel__text *node, const char *name, int64_t value)
{
    artel__text attribute = start_attribute(node, name);
    artel__proto_int(&attribute, 3, value);
    end_attribute(node, &attribute, 2);
}

void artel__onnx_float(artel__text *node, const char *name, double value)
{
    artel__text attribute = start_attribute(node, name);
    float single = (float)value;
    put_key(&attribute, 2, FIXED32);
    artel__text_append_bytes(&attribute, &single, sizeof single);
    end_attribute(node, &attribute, 1);
}

void artel__onnx_string(artel__text *node, const char *name, const char *value)
{
    artel__text attribute = start_attribute(node, name);
    artel__proto_text(&attribute, 4, value);
    end_attribute(node, &attribute, 3);
}

void artel__onnx_ints(artel__text *node, const char *name, const int64_t *values, int count)
{
    artel__text attribute = start_attribute(node, name);
    for (int i = 0; i < count; i++) artel__proto_int(&attribute, 8, values[i]);
    end_attribute(node, &attribute, 7);
}

void artel__onnx_strings(artel__text *node, const char *name, const char *const *values, int count)
{
    artel__text attribute = start_attribute(node, name);
    for (int i = 0; i < count; i++) artel__proto_text(&attribute, 9, values[i]);
    end_attribute(node, &attribute, 8);
}

/* TensorProto.DataType. */
static int data_type(artel_dtype dtype)
{
    static const int types[] = {
        [ARTEL_DTYPE_FLOAT32] = 1, [ARTEL_DTYPE_FLOAT64] = 11, [ARTEL_DTYPE_FLOAT16] = 10, [ARTEL_DTYPE_BFLOAT16] = 16,
        [ARTEL_DTYPE_INT8] = 3,    [ARTEL_DTYPE_INT16] = 5,    [ARTEL_DTYPE_INT32] = 6,    [ARTEL_DTYPE_INT64] = 7,
        [ARTEL_DTYPE_UINT8] = 2,   [ARTEL_DTYPE_UINT16] = 4,   [ARTEL_DTYPE_UINT32] = 12,  [ARTEL_DTYPE_UINT64] = 13,
        [ARTEL_DTYPE_BOOL] = 9,    [ARTEL_DTYPE_STRING] = 8};
    return types[dtype];
}

void artel__onnx_initializer(artel__text *graph, const char *name, artel_dtype dtype, const artel_shape *shape, const void *data)
{
    artel__text tensor;
    artel__text_init(&tensor, graph->ctx);
    for (int i = 0; i < shape->rank; i++) artel__proto_int(&tensor, 1, shape->dim[i]);
    artel__proto_int(&tensor, 2, data_type(dtype));
    artel__proto_text(&tensor, 8, name);
    artel__proto_bytes(&tensor, 9, data, (size_t)artel_shape_count(shape) * artel_dtype_size(dtype));
    wrap(graph, 5, &tensor);
}

void artel__onnx_value_info(artel__text *graph, int field, const char *name, artel_dtype dtype, const artel_shape *shape,
                            const char *prefix)
{
    artel__text dims, type, tensor, value;
    artel__text_init(&dims, graph->ctx);
    for (int i = -1; i < shape->rank; i++) {
        artel__text dim;
        char open[64];
        artel__text_init(&dim, graph->ctx);
        if (i >= 0 && shape->dim[i] >= 0) {
            artel__proto_int(&dim, 1, shape->dim[i]);
        } else {
            snprintf(open, sizeof open, "%s_%d", prefix, i);
            artel__proto_text(&dim, 2, i < 0 ? "batch" : open);
        }
        wrap(&dims, 1, &dim);
    }
    artel__text_init(&tensor, graph->ctx);
    artel__proto_int(&tensor, 1, data_type(dtype));
    wrap(&tensor, 2, &dims);
    artel__text_init(&type, graph->ctx);
    wrap(&type, 1, &tensor);
    artel__text_init(&value, graph->ctx);
    artel__proto_text(&value, 1, name);
    wrap(&value, 2, &type);
    wrap(graph, field, &value);
}
