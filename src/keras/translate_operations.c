/* SPDX-License-Identifier: Apache-2.0 */
/* The functions by name. Arguments are named as TensorFlow's signatures name them, for that is how Keras 2 writes them;
 * what a function has by default and Keras 3 has not is given.
 */
#include "keras/translate_operations.h"

#include <string.h>

#include "base/context.h"

#define NUMPY "keras.src.ops.numpy"
#define NN "keras.src.ops.nn"
#define MATH "keras.src.ops.math"
#define CORE "keras.src.ops.core"

#define BINARY(function, name)                                  \
    {                                                           \
        function, NUMPY, name, {"x", "y"}, {{NULL}}, NULL, NULL \
    }
#define UNARY(function, module, name, argument)                  \
    {                                                            \
        function, module, name, {argument}, {{NULL}}, NULL, NULL \
    }
#define REDUCTION(function, module, name)                                                                  \
    {                                                                                                      \
        function, module, name, {"input_tensor"}, {{"axis", "axis"}, {"keepdims", "keepdims"}}, NULL, NULL \
    }
#define PRODUCT(subscripts)                                                        \
    NUMPY, "Einsum", {"a", "b"}, {{NULL}}, "{\"subscripts\": \"" subscripts "\"}", \
        "{\"transpose_a\": true, \"transpose_b\": true}"
#define PADDING(mode, there)                                                           \
    NUMPY, "Pad", {"tensor"}, {{"paddings", "pad_width"}}, "{\"mode\": \"" mode "\"}", \
        "{\"mode\": \"" there "\", \"constant_values\": 0}"
#define AXIS_0 "{\"axis\": 0}" /* TensorFlow's default, where Keras has another */

static const artel__keras_operation operations[] = {
    BINARY("math.add", "Add"),
    BINARY("__operators__.add", "Add"),
    BINARY("math.subtract", "Subtract"),
    BINARY("math.multiply", "Multiply"),
    BINARY("math.truediv", "TrueDivide"),
    BINARY("math.divide", "Divide"),
    BINARY("math.maximum", "Maximum"),
    BINARY("math.minimum", "Minimum"),
    BINARY("math.pow", "Power"),
    BINARY("math.floordiv", "FloorDivide"),
    BINARY("math.floormod", "Mod"),
    BINARY("math.equal", "Equal"),
    BINARY("math.not_equal", "NotEqual"),
    BINARY("math.less", "Less"),
    BINARY("math.less_equal", "LessEqual"),
    BINARY("math.greater", "Greater"),
    BINARY("math.greater_equal", "GreaterEqual"),
    UNARY("nn.relu", NN, "Relu", "features"),
    UNARY("nn.relu6", NN, "Relu6", "features"),
    UNARY("nn.elu", NN, "Elu", "features"),
    UNARY("nn.selu", NN, "Selu", "features"),
    UNARY("nn.softplus", NN, "Softplus", "features"),
    UNARY("nn.softsign", NN, "Softsign", "features"),
    UNARY("math.softplus", NN, "Softplus", "features"),
    UNARY("nn.silu", NN, "Silu", "features"),
    UNARY("nn.swish", NN, "Silu", "features"),
    UNARY("nn.sigmoid", NN, "Sigmoid", "x"),
    UNARY("math.sigmoid", NN, "Sigmoid", "x"),
    UNARY("nn.tanh", NUMPY, "Tanh", "x"),
    UNARY("math.tanh", NUMPY, "Tanh", "x"),
    UNARY("math.exp", NUMPY, "Exp", "x"),
    UNARY("math.expm1", NUMPY, "Expm1", "x"),
    UNARY("math.log", NUMPY, "Log", "x"),
    UNARY("math.log1p", NUMPY, "Log1p", "x"),
    UNARY("math.sqrt", NUMPY, "Sqrt", "x"),
    UNARY("math.rsqrt", MATH, "Rsqrt", "x"),
    UNARY("math.square", NUMPY, "Square", "x"),
    UNARY("math.abs", NUMPY, "Absolute", "x"),
    UNARY("math.negative", NUMPY, "Negative", "x"),
    UNARY("math.reciprocal", NUMPY, "Reciprocal", "x"),
    UNARY("math.sin", NUMPY, "Sin", "x"),
    UNARY("math.cos", NUMPY, "Cos", "x"),
    UNARY("math.sign", NUMPY, "Sign", "x"),
    UNARY("math.floor", NUMPY, "Floor", "x"),
    {"nn.leaky_relu", NN, "LeakyRelu", {"features"}, {{"alpha", "negative_slope"}}, NULL, NULL},
    {"nn.gelu", NN, "Gelu", {"features"}, {{"approximate", "approximate"}}, "{\"approximate\": false}", NULL},
    {"nn.softmax", NN, "Softmax", {"logits"}, {{"axis", "axis"}}, NULL, NULL},
    {"nn.log_softmax", NN, "LogSoftmax", {"logits"}, {{"axis", "axis"}}, NULL, NULL},
    {"clip_by_value", NUMPY, "Clip", {"t"}, {{"clip_value_min", "x_min"}, {"clip_value_max", "x_max"}}, NULL, NULL},
    REDUCTION("math.reduce_sum", NUMPY, "Sum"),
    REDUCTION("math.reduce_mean", NUMPY, "Mean"),
    REDUCTION("math.reduce_max", NUMPY, "Max"),
    REDUCTION("math.reduce_min", NUMPY, "Min"),
    REDUCTION("math.reduce_prod", NUMPY, "Prod"),
    REDUCTION("math.reduce_std", NUMPY, "Std"),
    REDUCTION("math.reduce_variance", NUMPY, "Var"),
    {"reshape", NUMPY, "Reshape", {"tensor"}, {{"shape", "newshape"}}, NULL, NULL},
    {"expand_dims", NUMPY, "ExpandDims", {"input"}, {{"axis", "axis"}}, NULL, NULL},
    {"squeeze", NUMPY, "Squeeze", {"input"}, {{"axis", "axis"}}, NULL, NULL},
    {"transpose", NUMPY, "Transpose", {"a"}, {{"perm", "axes"}}, NULL, NULL},
    {"concat", NUMPY, "Concatenate", {"values"}, {{"axis", "axis"}}, NULL, NULL},
    {"stack", NUMPY, "Stack", {"values"}, {{"axis", "axis"}}, NULL, NULL},
    {"linalg.matmul", NUMPY, "Matmul", {"a", "b"}, {{NULL}}, NULL, NULL},
    {"linalg.matmul of a transposed", PRODUCT("...ji,...jk->...ik")},
    {"linalg.matmul by b transposed", PRODUCT("...ij,...kj->...ik")},
    {"linalg.matmul of a transposed by b transposed", PRODUCT("...ji,...kj->...ik")},
    {"stop_gradient", CORE, "StopGradient", {"input"}, {{NULL}}, NULL, NULL},
    {"__operators__.getitem", NUMPY, "GetItem", {"tensor", "slice_spec"}, {{NULL}}, NULL, NULL},
    BINARY("math.divide_no_nan", "DivideNoNan"),
    BINARY("compat.v1.floor_div", "FloorDivide"),
    BINARY("math.logical_and", "LogicalAnd"),
    BINARY("math.logical_or", "LogicalOr"),
    BINARY("math.logical_xor", "LogicalXor"),
    UNARY("math.logical_not", NUMPY, "LogicalNot", "x"),
    UNARY("math.ceil", NUMPY, "Ceil", "x"),
    UNARY("math.round", NUMPY, "Round", "x"),
    UNARY("math.erf", MATH, "Erf", "x"),
    UNARY("math.tan", NUMPY, "Tan", "x"),
    UNARY("math.asin", NUMPY, "Arcsin", "x"),
    UNARY("math.acos", NUMPY, "Arccos", "x"),
    UNARY("math.atan", NUMPY, "Arctan", "x"),
    UNARY("math.sinh", NUMPY, "Sinh", "x"),
    UNARY("math.cosh", NUMPY, "Cosh", "x"),
    UNARY("zeros_like", NUMPY, "ZerosLike", "input"),
    UNARY("ones_like", NUMPY, "OnesLike", "input"),
    UNARY("identity", NUMPY, "Copy", "input"),
    REDUCTION("math.reduce_logsumexp", MATH, "Logsumexp"),
    REDUCTION("math.reduce_any", NUMPY, "Any"),
    REDUCTION("math.reduce_all", NUMPY, "All"),
    {"cast", CORE, "Cast", {"x"}, {{"dtype", "dtype"}}, NULL, NULL},
    {"where", NUMPY, "Where", {"condition", "x", "y"}, {{NULL}}, NULL, NULL},
    {"math.l2_normalize",
     NN,
     "Normalize",
     {"x"},
     {{"axis", "axis"}},
     "{\"order\": 2, \"epsilon\": 1e-6}",
     "{\"epsilon\": 1e-12}"},
    {"compat.v1.norm",
     "keras.src.ops.linalg",
     "Norm",
     {"tensor"},
     {{"axis", "axis"}, {"keepdims", "keepdims"}},
     NULL,
     "{\"ord\": \"euclidean\"}"},
    {"math.cumsum", NUMPY, "Cumsum", {"x"}, {{"axis", "axis"}}, AXIS_0, NULL},
    {"math.argmax", NUMPY, "Argmax", {"input"}, {{"axis", "axis"}}, AXIS_0, NULL},
    {"math.argmin", NUMPY, "Argmin", {"input"}, {{"axis", "axis"}}, AXIS_0, NULL},
    {"math.top_k", MATH, "TopK", {"input"}, {{"k", "k"}, {"sorted", "sorted"}}, "{\"k\": 1}", NULL},
    {"split", NUMPY, "Split", {"value"}, {{"num_or_size_splits", "indices_or_sections"}, {"axis", "axis"}}, NULL, NULL},
    {"unstack", CORE, "Unstack", {"value"}, {{"num", "num"}, {"axis", "axis"}}, AXIS_0, NULL},
    {"compat.v1.pad", PADDING("constant", "CONSTANT")},
    {"compat.v1.pad by REFLECT", PADDING("reflect", "REFLECT")},
    {"compat.v1.pad by SYMMETRIC", PADDING("symmetric", "SYMMETRIC")},
    {"tile", NUMPY, "Tile", {"input"}, {{"multiples", "repeats"}}, NULL, NULL},
    {"repeat", NUMPY, "Repeat", {"input"}, {{"repeats", "repeats"}, {"axis", "axis"}}, NULL, NULL},
    {"compat.v1.gather", NUMPY, "Take", {"params", "indices"}, {{"axis", "axis"}}, NULL, "{\"batch_dims\": 0}"},
    {"sort", NUMPY, "Sort", {"values"}, {{"axis", "axis"}}, NULL, "{\"direction\": \"ASCENDING\"}"},
    {"reverse", NUMPY, "Flip", {"tensor"}, {{"axis", "axis"}}, NULL, NULL},
    {"one_hot", NN, "OneHot", {"indices"}, {{"depth", "num_classes"}, {"axis", "axis"}}, NULL, NULL},
    {"compat.v1.transpose", NUMPY, "Transpose", {"a"}, {{"perm", "axes"}}, NULL, NULL},
    {"compat.v1.squeeze", NUMPY, "Squeeze", {"input"}, {{"axis", "axis"}}, NULL, NULL},
    {"image.resize",
     "keras.src.ops.image",
     "Resize",
     {"images"},
     {{"size", "size"}, {"method", "interpolation"}, {"antialias", "antialias"}},
     NULL,
     NULL},
    {"nn.depth_to_space",
     NN,
     "DepthToSpace",
     {"input"},
     {{"block_size", "block_size"}},
     NULL,
     "{\"data_format\": \"NHWC\"}"},
    {"nn.space_to_depth",
     NN,
     "SpaceToDepth",
     {"input"},
     {{"block_size", "block_size"}},
     NULL,
     "{\"data_format\": \"NHWC\"}"},
};

const artel__keras_operation *artel__keras_find_operation(const char *function)
{
    for (size_t i = 0; function && i < ARTEL__COUNT(operations); i++) {
        if (strcmp(operations[i].function, function) == 0) return &operations[i];
    }
    return NULL;
}
