/* SPDX-License-Identifier: Apache-2.0 */
/* Which of Keras' operations have float64: those that are put together from kernels of kernel/wide.h and movements,
 * with constants that are not rounded to float32 on the way. The one table; docs/eager.md lists it, and every other
 * operation refuses float64 by name.
 */
#include <string.h>

#include "nn/layer_ops.h"

/* clang-format off */
static const char *const names[] = {
    /* one argument */
    "Abs", "Absolute", "Angle", "Arccos", "Arccosh", "Arcsin", "Arcsinh", "Arctan", "Arctanh", "Cbrt", "Ceil", "Celu",
    "Clip", "Cos", "Cosh", "Deg2rad", "Elu", "Erf", "Erfc", "Erfinv", "Exp", "Exp2", "Expm1", "Fabs", "Floor", "Gelu",
    "Glu",
    "HardShrink", "HardSigmoid", "HardSilu", "HardTanh", "I0", "Isfinite", "Isinf", "Isnan", "Isneginf", "Isposinf",
    "Isreal", "LeakyRelu", "Log", "Log10", "Log1p", "Log2", "LogSigmoid", "Mish", "NanToNum", "Negative",
    "Rad2deg", "Reciprocal", "Relu", "Relu6", "Round", "Rsqrt", "Selu", "Sigmoid", "Sign", "Signbit", "Silu",
    "Sin", "Sinc", "Sinh", "SoftShrink", "Softplus", "Softsign", "SparsePlus", "SparseSigmoid", "Sparsemax", "Sqrt",
    "Square",
    "Squareplus", "Tan", "Tanh", "TanhShrink", "Threshold", "Trunc",
    /* two */
    "Add", "Arctan2", "Divide", "DivideNoNan", "Equal", "FloorDivide", "Fmax", "Fmin", "Fmod", "Greater",
    "GreaterEqual", "Heaviside", "Hypot", "Isclose", "Ldexp", "Less", "LessEqual", "Logaddexp", "Logaddexp2",
    "LogicalAnd", "LogicalNot", "LogicalOr", "LogicalXor", "Maximum", "Minimum", "Mod", "Multiply", "Nextafter",
    "NotEqual",
    "Power", "Subtract", "TrueDivide",
    /* along axes */
    "All", "Amax", "Amin", "Any", "Argmax", "Argmin", "Average", "CountNonzero", "Cumprod", "Cumsum", "Diff",
    "LogSoftmax", "Logsumexp", "Max", "Mean", "Median", "Min", "Moments", "Nanargmax", "Nanargmin", "Nancumprod",
    "Nancumsum", "Nanmax", "Nanmean", "Nanmedian", "Nanmin", "Nanpercentile", "Nanprod", "Nanquantile", "Nanstd",
    "Nansum", "Nanvar", "Norm", "Percentile", "Prod", "Ptp", "Quantile", "Softmax", "Std", "Sum", "Trapezoid",
    "Var",
    /* products */
    "CDist", "Cross", "Dot", "Einsum", "Inner", "Kron", "Matmul", "Tensordot",
    /* of small matrices */
    "Cholesky", "CholeskyInverse", "Det", "Eigh", "Inv", "Logdet", "MatrixRank", "Pinv", "Qr", "SVD", "Slogdet",
    "Solve", "SolveTriangular",
    /* windows */
    "AdaptiveAveragePool", "AdaptiveMaxPool", "AveragePool", "Conv", "ConvTranspose", "DepthwiseConv", "MaxPool",
    "SeparableConv",
    /* losses by element and by row */
    "BinaryCrossentropy", "CategoricalCrossentropy", "SparseCategoricalCrossentropy",
    /* normalisation, attention, frequencies */
    "BatchNorm", "DotProductAttention", "FFT", "FFT2", "IFFT2", "IRFFT", "LayerNorm", "Normalize",
    "RFFT", "RMSNorm", "STFT",
    /* order and selection */
    "Argsort", "Digitize", "IsIn", "SearchSorted", "Select", "Sort", "Take", "TakeAlongAxis", "TopK", "Where",
    /* colours */
    "HSVToRGB", "RGBToGrayscale", "RGBToHSV",
    /* movement */
    "Append", "Array", "ArraySplit", "Cast", "Concatenate", "Conj", "Conjugate", "ConvertToTensor", "Copy",
    "CropImages", "DepthToSpace", "Diagonal", "Dsplit", "Dstack", "EmptyLike", "ExpandDims", "ExtractPatches",
    "ExtractSequences", "Flip", "Fliplr", "Fold", "FullLike", "GetItem", "Hsplit", "Hstack", "Imag", "Moveaxis",
    "OnesLike", "Pad", "PadImages", "Real", "Repeat", "Reshape", "Roll", "Rot90", "SaturateCast", "SliceUpdate",
    "SpaceToDepth", "Split",
    "Squeeze", "Stack", "StopGradient", "Swapaxes", "Tile", "Trace", "Transpose", "Tril", "Triu", "Unfold",
    "Unstack", "ZerosLike",
    NULL};
/* clang-format on */

bool artel__raw_has_float64(const char *class_name)
{
    const char *const *at = names;
    while (*at && strcmp(*at, class_name) != 0) at++;
    return *at != NULL;
}
