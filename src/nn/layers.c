/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all layers, made from layers.list, and of Keras' raw operations, from layer_ops.list. */
#include "nn/layer.h"

#define LAYER(name) extern const artel__layer_def artel__layer_##name##_def;
#define UNARY(name, class_name, function, a, b, c) extern const artel__layer_def artel__layer_op_##name##_def;
#define BINARY(name, class_name, function) extern const artel__layer_def artel__layer_op_##name##_def;
#define COMPARE(name, class_name, function) extern const artel__layer_def artel__layer_op_##name##_def;
#define REDUCE(name, class_name, function) extern const artel__layer_def artel__layer_op_##name##_def;
#define OTHER(name, class_name) extern const artel__layer_def artel__layer_op_##name##_def;
#define OTHER(name, class_name) extern const artel__layer_def artel__layer_op_##name##_def;
#define ALSO(name, class_name, function) extern const artel__layer_def artel__layer_op_##name##_def;
#define FORMULA(name, class_name) extern const artel__layer_def artel__layer_op_##name##_def;
#include "nn/layer_ops.list"
#include "nn/layers.list"
#undef LAYER
#undef UNARY
#undef BINARY
#undef COMPARE
#undef REDUCE
#undef OTHER
#undef ALSO
#undef FORMULA

const artel__layer_def *const artel__layers[] = {
#define LAYER(name) &artel__layer_##name##_def,
#define UNARY(name, class_name, function, a, b, c) &artel__layer_op_##name##_def,
#define BINARY(name, class_name, function) &artel__layer_op_##name##_def,
#define COMPARE(name, class_name, function) &artel__layer_op_##name##_def,
#define REDUCE(name, class_name, function) &artel__layer_op_##name##_def,
#define OTHER(name, class_name) &artel__layer_op_##name##_def,
#define OTHER(name, class_name) &artel__layer_op_##name##_def,
#define ALSO(name, class_name, function) &artel__layer_op_##name##_def,
#define FORMULA(name, class_name) &artel__layer_op_##name##_def,
#include "nn/layers.list"
#include "nn/layer_ops.list"
    NULL,
};
