/* SPDX-License-Identifier: Apache-2.0 */
/* Which of Keras' layers compute in float64 under the dtype policy of that name: those that are put together from
 * operations which have it. The one table; docs/precision.md lists it, and every other layer refuses the policy by name
 * when a model is read.
 */
#include <string.h>

#include "graph/op_def.h"
#include "nn/layer.h"

/* clang-format off */
static const char *const names[] = {
    "InputLayer", "Sequential", "Functional", "Model", "Identity",
    /* products, tables, attention */
    "Dense", "EinsumDense", "Embedding", "ReversibleEmbedding",
    "AdditiveAttention", "Attention", "GroupQueryAttention", "MultiHeadAttention",
    /* activations */
    "Activation", "ELU", "LeakyReLU", "PReLU", "ReLU", "Softmax",
    /* convolutions and pools */
    "Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose",
    "DepthwiseConv1D", "DepthwiseConv2D", "SeparableConv1D", "SeparableConv2D",
    "AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D", "AdaptiveAveragePooling3D", "AdaptiveMaxPooling1D",
    "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D", "AveragePooling1D", "AveragePooling2D", "AveragePooling3D",
    "GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D", "GlobalMaxPooling1D",
    "GlobalMaxPooling2D", "GlobalMaxPooling3D", "MaxPooling1D", "MaxPooling2D", "MaxPooling3D",
    /* normalisation, scaling, dropout */
    "BatchNormalization", "GroupNormalization", "LayerNormalization", "Normalization", "RMSNormalization",
    "Rescaling", "UnitNormalization",
    "ActivityRegularization", "AlphaDropout", "CustomScaleLayer", "Dropout", "GaussianDropout", "GaussianNoise",
    "LayerScale", "SpectralNormalization", "StochasticDepth", "SpatialDropout1D", "SpatialDropout2D",
    "SpatialDropout3D",
    /* changes of images, signals */
    "AugMix", "AutoContrast", "ContrastLimitedAdaptiveHistogramEqualization", "CutMix", "Equalization",
    "MaxNumBoundingBoxes", "MelSpectrogram", "MixUp", "Pipeline", "RandAugment", "RandomBrightness",
    "RandomColorDegeneration", "RandomColorJitter", "RandomContrast", "RandomCrop", "RandomElasticTransform",
    "RandomErasing", "RandomFlip", "RandomGaussianBlur", "RandomGrayscale", "RandomHue", "RandomInvert",
    "RandomPerspective", "RandomPosterization", "RandomRotation", "RandomSaturation", "RandomSharpness", "RandomShear",
    "RandomTranslation", "RandomZoom", "STFTSpectrogram", "Solarization",
    /* recurrent */
    "Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D", "GRU", "GRUCell", "LSTM", "LSTMCell",
    "Masking", "RNN", "SimpleRNN", "SimpleRNNCell", "StackedRNNCells", "TimeDistributed",
    /* movement, several inputs */
    "CenterCrop", "Cropping1D", "Cropping2D", "Cropping3D", "Flatten", "Permute", "RepeatVector", "Reshape", "Resizing",
    "UpSampling1D", "UpSampling2D", "UpSampling3D", "ZeroPadding1D", "ZeroPadding2D",
    "ZeroPadding3D",
    "Add", "Average", "Concatenate", "Dot", "Maximum", "Minimum", "Multiply", "Subtract",
    NULL};
/* clang-format on */

/* Operations that take float64 operands: they compute in that type, or move elements of any. What else a layer asks for
 * with some setting of its own would read them as float32. */
/* clang-format off */
static const char *const operations[] = {
    "all_gather", "all_reduce", "all_reduce_max", "batch_max", "batch_sum", "binary", "cast", "compare", "concat",
    "constant", "decompose", "fill", "fold_max", "fold_sum", "insert", "blank", "concat_insert", "matrix", "order",
    "pad", "place_rows", "reduce", "repeat", "reshape", "select", "shuffle", "slice", "stand_in", "stop_gradient",
    "take", "take_rows", "transpose", "unary", "uniform", "wide_lookup", "wide_product", "flat_update",
    NULL};
/* clang-format on */

static bool is_among(const char *const *list, const char *name)
{
    while (*list && strcmp(*list, name) != 0) list++;
    return *list != NULL;
}

bool artel__layer_has_float64(const char *class_name)
{
    return is_among(names, class_name);
}

artel_status artel__layer_check_float64(const artel__layer *layer, const artel__graph *graph, int first)
{
    for (int i = first; i < graph->nodes; i++) {
        const artel__node *node = &graph->node[i];
        bool wide = false;
        for (int k = 0; k < node->inputs; k++)
            wide = wide || (node->input[k] >= 0 && graph->value[node->input[k]].dtype == ARTEL_DTYPE_FLOAT64);
        if (!wide || is_among(operations, node->op->name)) continue;
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "give it other settings, or the dtype policy float32",
                                 "with these settings it does not compute in float64 (operation %s)", node->op->name);
    }
    return ARTEL_OK;
}
