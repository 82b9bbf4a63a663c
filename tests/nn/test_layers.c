/* SPDX-License-Identifier: Apache-2.0 */
/* Every layer in a small model: the shape of the result, and the gradient of every variable and of the input against
 * finite differences. Layers with kinks get slopes or values away from them; pooling sees distinct values. */
#include "help_layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct layer_row {
    const char *class_name, *config, *batch_shape, *expected; /* the result as Python prints it, batch included */
} layer_row;

static const layer_row rows[] = {
    {"Dense", "\"units\": 3", "[null, 4]", "(None, 3)"},
    {"Dense", "\"units\": 35, \"activation\": \"tanh\"", "[null, 2, 4]", "(None, 2, 35)"},
    {"Dense", "\"units\": 3, \"use_bias\": false, \"activation\": \"silu\"", "[null, 4]", "(None, 3)"},
    {"Dense", "\"units\": 3, \"activation\": \"tanh\", \"lora_rank\": 2, \"lora_alpha\": 3", "[null, 4]", "(None, 3)"},
    {"EinsumDense", "\"equation\": \"ab,bc->ac\", \"output_shape\": 3, \"bias_axes\": \"c\"", "[null, 4]", "(None, 3)"},
    {"EinsumDense", "\"equation\": \"abc,cde->abde\", \"output_shape\": [null, 2, 3], \"bias_axes\": \"de\"",
     "[null, 5, 4]", "(None, 5, 2, 3)"},
    {"EinsumDense", "\"equation\": \"abcd,cde->abe\", \"output_shape\": [null, 6], \"bias_axes\": \"e\"",
     "[null, 5, 2, 3]", "(None, 5, 6)"},
    {"EinsumDense", "\"equation\": \"abc,bd->adc\", \"output_shape\": [3, null], \"bias_axes\": \"d\"", "[null, 5, 2]",
     "(None, 3, 2)"},
    {"EinsumDense", "\"equation\": \"...x,xy->...y\", \"output_shape\": 3, \"bias_axes\": \"y\"", "[null, 2, 5, 4]",
     "(None, 2, 5, 3)"},
    {"EinsumDense", "\"equation\": \"abc,cd->abd\", \"output_shape\": [null, 3], \"bias_axes\": \"bd\"", "[null, 5, 4]",
     "(None, 5, 3)"},
    {"Conv1D", "\"filters\": 3, \"kernel_size\": [3], \"padding\": \"causal\", \"dilation_rate\": [2]", "[null, 6, 2]",
     "(None, 6, 3)"},
    {"Conv1D", "\"filters\": 4, \"kernel_size\": 3, \"strides\": 2, \"groups\": 2", "[null, 7, 2]", "(None, 3, 4)"},
    {"Conv2D", "\"filters\": 3, \"kernel_size\": [3, 2], \"padding\": \"same\", \"strides\": [2, 1]", "[null, 5, 4, 2]",
     "(None, 3, 4, 3)"},
    {"Conv2D", "\"filters\": 17, \"kernel_size\": 2, \"activation\": \"elu\"", "[null, 3, 3, 2]", "(None, 2, 2, 17)"},
    {"Conv2D",
     "\"filters\": 4, \"kernel_size\": [2, 3], \"strides\": [1, 2], \"activation\": \"tanh\", \"data_format\": "
     "\"channels_first\"",
     "[null, 2, 4, 5]", "(None, 4, 3, 2)"},
    {"Conv2D", "\"filters\": 3, \"kernel_size\": 2, \"activation\": \"softmax\", \"data_format\": \"channels_first\"",
     "[null, 2, 3, 4]", "(None, 3, 2, 3)"},
    {"Conv1D", "\"filters\": 3, \"kernel_size\": 2, \"padding\": \"causal\", \"data_format\": \"channels_first\"",
     "[null, 2, 5]", "(None, 3, 5)"},
    {"DepthwiseConv2D", "\"kernel_size\": 2, \"depth_multiplier\": 2, \"data_format\": \"channels_first\"",
     "[null, 2, 3, 4]", "(None, 4, 2, 3)"},
    {"SeparableConv2D", "\"filters\": 3, \"kernel_size\": 2, \"data_format\": \"channels_first\"", "[null, 2, 3, 4]",
     "(None, 3, 2, 3)"},
    {"Conv3D",
     "\"filters\": 2, \"kernel_size\": 2, \"strides\": [1, 2, 1], \"padding\": \"same\", \"activation\": \"tanh\"",
     "[null, 3, 3, 2, 2]", "(None, 3, 2, 2, 2)"},
    {"Conv3D", "\"filters\": 4, \"kernel_size\": [2, 1, 2], \"groups\": 2", "[null, 3, 2, 2, 2]", "(None, 2, 2, 1, 4)"},
    {"Conv3DTranspose", "\"filters\": 2, \"kernel_size\": 2, \"strides\": [2, 1, 1]", "[null, 2, 2, 2, 2]",
     "(None, 4, 3, 3, 2)"},
    {"ConvLSTM1D", "\"filters\": 2, \"kernel_size\": 2, \"padding\": \"same\", \"return_sequences\": true",
     "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"ConvLSTM2D", "\"filters\": 2, \"kernel_size\": 2, \"dropout\": 0.3, \"recurrent_dropout\": 0.4",
     "[null, 3, 3, 3, 2]", "(None, 2, 2, 2)"},
    {"ConvLSTM3D", "\"filters\": 2, \"kernel_size\": 2, \"padding\": \"same\"", "[null, 2, 2, 2, 2, 2]",
     "(None, 2, 2, 2, 2)"},
    {"AdaptiveAveragePooling1D", "\"output_size\": 3", "[null, 5, 2]", "(None, 3, 2)"},
    {"AdaptiveAveragePooling2D", "\"output_size\": [2, 3]", "[null, 3, 4, 2]", "(None, 2, 3, 2)"},
    {"AdaptiveAveragePooling3D", "\"output_size\": 2", "[null, 3, 2, 3, 2]", "(None, 2, 2, 2, 2)"},
    {"AdaptiveMaxPooling1D", "\"output_size\": 3", "[null, 5, 2]", "(None, 3, 2)"},
    {"AdaptiveMaxPooling2D", "\"output_size\": [2, 3]", "[null, 3, 4, 2]", "(None, 2, 3, 2)"},
    {"AdaptiveMaxPooling3D", "\"output_size\": 2", "[null, 3, 2, 3, 2]", "(None, 2, 2, 2, 2)"},
    {"Conv1DTranspose", "\"filters\": 3, \"kernel_size\": 2, \"strides\": 3", "[null, 4, 2]", "(None, 12, 3)"},
    {"Conv2DTranspose",
     "\"filters\": 3, \"kernel_size\": [3, 2], \"padding\": \"same\", \"strides\": [2, 1], \"activation\": \"elu\"",
     "[null, 3, 4, 2]", "(None, 6, 4, 3)"},
    {"Conv2DTranspose",
     "\"filters\": 2, \"kernel_size\": 3, \"strides\": 2, \"output_padding\": 1, \"data_format\": \"channels_first\"",
     "[null, 5, 3, 2]", "(None, 2, 8, 6)"},
    {"Conv2DTranspose",
     "\"filters\": 2, \"kernel_size\": 2, \"dilation_rate\": 2, \"padding\": \"same\", \"use_bias\": false",
     "[null, 3, 3, 2]", "(None, 3, 3, 2)"},
    {"DepthwiseConv1D", "\"kernel_size\": 3, \"depth_multiplier\": 2", "[null, 6, 2]", "(None, 4, 4)"},
    {"DepthwiseConv2D", "\"kernel_size\": 2, \"padding\": \"same\", \"depth_multiplier\": 2", "[null, 3, 3, 2]",
     "(None, 3, 3, 4)"},
    {"SeparableConv1D", "\"filters\": 3, \"kernel_size\": 2", "[null, 5, 2]", "(None, 4, 3)"},
    {"SeparableConv2D", "\"filters\": 3, \"kernel_size\": 2, \"strides\": 2, \"padding\": \"same\"", "[null, 3, 3, 2]",
     "(None, 2, 2, 3)"},
    {"MaxPooling1D", "\"pool_size\": [2]", "[null, 5, 2]", "(None, 2, 2)"},
    {"MaxPooling2D", "\"pool_size\": [2, 3], \"strides\": [1, 1]", "[null, 4, 4, 2]", "(None, 3, 2, 2)"},
    {"MaxPooling2D", "\"data_format\": \"channels_first\"", "[null, 2, 5, 6]", "(None, 2, 2, 3)"},
    {"AveragePooling1D", "\"padding\": \"same\", \"data_format\": \"channels_first\"", "[null, 2, 5]", "(None, 2, 3)"},
    {"MaxPooling3D", "\"pool_size\": 2, \"padding\": \"same\"", "[null, 3, 2, 3, 1]", "(None, 2, 1, 2, 1)"},
    {"AveragePooling1D", "\"pool_size\": 3, \"strides\": 2, \"padding\": \"same\"", "[null, 5, 2]", "(None, 3, 2)"},
    {"AveragePooling2D", "", "[null, 4, 5, 2]", "(None, 2, 2, 2)"},
    {"AveragePooling3D", "\"pool_size\": [1, 2, 1], \"strides\": null", "[null, 2, 4, 2, 1]", "(None, 2, 2, 2, 1)"},
    {"GlobalAveragePooling1D", "", "[null, 4, 3]", "(None, 3)"},
    {"GlobalAveragePooling2D", "\"keepdims\": true", "[null, 2, 3, 3]", "(None, 1, 1, 3)"},
    {"GlobalAveragePooling3D", "", "[null, 2, 3, 2, 3]", "(None, 3)"},
    {"GlobalMaxPooling1D", "\"data_format\": \"channels_first\"", "[null, 4, 3]", "(None, 4)"},
    {"GlobalMaxPooling2D", "", "[null, 2, 3, 3]", "(None, 3)"},
    {"GlobalMaxPooling3D", "\"keepdims\": true", "[null, 2, 3, 2, 3]", "(None, 1, 1, 1, 3)"},
    {"Flatten", "", "[null, 2, 3]", "(None, 6)"},
    {"Flatten", "\"data_format\": \"channels_first\"", "[null, 2, 3]", "(None, 6)"},
    {"Reshape", "\"target_shape\": [2, -1, 3]", "[null, 12]", "(None, 2, 2, 3)"},
    {"Permute", "\"dims\": [3, 1, 2]", "[null, 2, 3, 4]", "(None, 4, 2, 3)"},
    {"RepeatVector", "\"n\": 3", "[null, 4]", "(None, 3, 4)"},
    {"ZeroPadding1D", "\"padding\": [1, 2]", "[null, 3, 2]", "(None, 6, 2)"},
    {"ZeroPadding2D", "\"padding\": [[1, 0], [2, 3]]", "[null, 3, 2, 2]", "(None, 4, 7, 2)"},
    {"ZeroPadding3D", "\"padding\": 1", "[null, 1, 2, 3, 1]", "(None, 3, 4, 5, 1)"},
    {"Cropping1D", "\"cropping\": [1, 2]", "[null, 5, 2]", "(None, 2, 2)"},
    {"Cropping2D", "\"cropping\": [[1, 0], [0, 2]]", "[null, 3, 4, 2]", "(None, 2, 2, 2)"},
    {"Cropping3D", "", "[null, 3, 4, 5, 1]", "(None, 1, 2, 3, 1)"},
    {"UpSampling1D", "\"size\": 3", "[null, 2, 2]", "(None, 6, 2)"},
    {"UpSampling2D", "\"size\": [2, 1]", "[null, 2, 3, 2]", "(None, 4, 3, 2)"},
    {"UpSampling2D", "\"interpolation\": \"bilinear\"", "[null, 2, 3, 2]", "(None, 4, 6, 2)"},
    {"UpSampling2D", "\"interpolation\": \"bilinear\", \"size\": [3, 2], \"data_format\": \"channels_first\"",
     "[null, 2, 1, 3]", "(None, 2, 3, 6)"},
    {"UpSampling3D", "", "[null, 1, 2, 1, 2]", "(None, 2, 4, 2, 2)"},
    {"Activation", "\"activation\": \"swish\"", "[null, 4]", "(None, 4)"},
    {"ReLU", "\"negative_slope\": 0.5", "[null, 4]", "(None, 4)"},
    {"LeakyReLU", "\"alpha\": 0.5", "[null, 4]", "(None, 4)"},
    {"PReLU", "\"shared_axes\": [1]", "[null, 2, 4]", "(None, 2, 4)"},
    {"ELU", "", "[null, 4]", "(None, 4)"},
    {"Softmax", "\"axis\": [1, 2]", "[null, 2, 3, 2]", "(None, 2, 3, 2)"},
    {"Softmax", "\"axis\": 1", "[null, 2, 3]", "(None, 2, 3)"},
    {"Dropout", "\"rate\": 0.5, \"seed\": 3, \"noise_shape\": [null, 1, 4]", "[null, 3, 4]", "(None, 3, 4)"},
    {"SpatialDropout1D", "\"rate\": 0.5", "[null, 3, 4]", "(None, 3, 4)"},
    {"SpatialDropout2D", "\"rate\": 0.5", "[null, 2, 3, 4]", "(None, 2, 3, 4)"},
    {"SpatialDropout3D", "\"rate\": 0.5", "[null, 2, 2, 2, 2]", "(None, 2, 2, 2, 2)"},
    {"ActivityRegularization", "\"l1\": 0.1, \"l2\": 0.2", "[null, 4]", "(None, 4)"},
    {"GaussianNoise", "\"stddev\": 0.5", "[null, 4]", "(None, 4)"},
    {"GaussianDropout", "\"rate\": 0.5", "[null, 4]", "(None, 4)"},
    {"AlphaDropout", "\"rate\": 0.3", "[null, 4]", "(None, 4)"},
    {"BatchNormalization", "\"epsilon\": 0.1", "[null, 3]", "(None, 3)"},
    {"BatchNormalization", "\"axis\": 1, \"epsilon\": 0.1", "[null, 3, 2, 4]", "(None, 3, 2, 4)"},
    {"BatchNormalization", "\"center\": false, \"scale\": false, \"epsilon\": 0.1", "[null, 2, 4]", "(None, 2, 4)"},
    {"BatchNormalization", "\"trainable\": false", "[null, 2, 4]", "(None, 2, 4)"},
    {"LayerNormalization", "\"epsilon\": 0.1", "[null, 2, 4]", "(None, 2, 4)"},
    {"LayerNormalization", "\"axis\": [1, 3], \"epsilon\": 0.1", "[null, 2, 3, 2]", "(None, 2, 3, 2)"},
    {"LayerNormalization", "\"rms_scaling\": true, \"epsilon\": 0.1", "[null, 4]", "(None, 4)"},
    {"RMSNormalization", "\"axis\": 1, \"epsilon\": 0.1", "[null, 3, 3]", "(None, 3, 3)"},
    {"UnitNormalization", "", "[null, 3, 4]", "(None, 3, 4)"},
    {"GroupNormalization", "\"groups\": 2, \"epsilon\": 0.1", "[null, 2, 2, 4]", "(None, 2, 2, 4)"},
    {"GroupNormalization", "\"groups\": -1, \"axis\": 1, \"epsilon\": 0.1", "[null, 2, 4]", "(None, 2, 4)"},
    {"Resizing", "\"height\": 3, \"width\": 5, \"interpolation\": \"bicubic\"", "[null, 4, 4, 2]", "(None, 3, 5, 2)"},
    {"Resizing", "\"height\": 3, \"width\": 5, \"pad_to_aspect_ratio\": true", "[null, 4, 4, 2]", "(None, 3, 5, 2)"},
    {"CenterCrop", "\"height\": 2, \"width\": 3", "[null, 4, 4, 2]", "(None, 2, 3, 2)"},
    {"RandomFlip", "", "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"RandomTranslation", "\"height_factor\": 0.3, \"width_factor\": [-0.2, 0.4], \"fill_mode\": \"wrap\"",
     "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"RandomZoom", "\"height_factor\": 0.3", "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"RandomRotation", "\"factor\": 0.2, \"data_format\": \"channels_first\"", "[null, 2, 3, 4]", "(None, 2, 3, 4)"},
    {"RandomShear", "\"x_factor\": 0.3, \"y_factor\": 0.2", "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"RandomCrop", "\"height\": 2, \"width\": 3", "[null, 4, 5, 2]", "(None, 2, 3, 2)"},
    {"RandomBrightness", "\"factor\": 0.2, \"value_range\": [-9, 9]", "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"RandomContrast", "\"factor\": 0.4, \"value_range\": [-9, 9]", "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"RandomSaturation", "\"factor\": [0.3, 0.8], \"value_range\": [0, 1]", "[null, 3, 4, 3]", "(None, 3, 4, 3)"},
    {"RandomHue", "\"factor\": 0.3, \"value_range\": [-9, 9]", "[null, 3, 4, 3]", "(None, 3, 4, 3)"},
    {"RandomColorDegeneration", "\"factor\": 0.7, \"value_range\": [-9, 9]", "[null, 3, 4, 3]", "(None, 3, 4, 3)"},
    {"RandomSharpness", "\"factor\": 0.4, \"value_range\": [-9, 9]", "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"RandomPosterization", "\"factor\": [2, 6]", "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"RandomColorJitter", "\"brightness_factor\": 0.1, \"contrast_factor\": 0.2, \"value_range\": [-9, 9]",
     "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"RandomGrayscale", "\"factor\": 0.5, \"data_format\": \"channels_first\"", "[null, 3, 3, 4]", "(None, 3, 3, 4)"},
    {"RandomInvert", "\"factor\": 0.5, \"value_range\": [0, 1]", "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"Solarization", "\"addition_factor\": 0.1, \"threshold_factor\": 0.0, \"value_range\": [-9, 9]", "[null, 3, 4, 2]",
     "(None, 3, 4, 2)"},
    {"AutoContrast", "\"value_range\": [0, 1]", "[null, 1, 2, 2]", "(None, 1, 2, 2)"},
    {"RandomErasing", "\"scale\": [0.2, 0.4], \"fill_value\": [1, 2, 3], \"value_range\": [-9, 9]", "[null, 4, 5, 3]",
     "(None, 4, 5, 3)"},
    {"RandomGaussianBlur", "\"factor\": 0.7, \"kernel_size\": [3, 5], \"value_range\": [-9, 9]", "[null, 4, 5, 2]",
     "(None, 4, 5, 2)"},
    {"RandomPerspective", "\"scale\": 0.6, \"fill_value\": 0.5", "[null, 4, 5, 2]", "(None, 4, 5, 2)"},
    {"RandomPerspective", "\"interpolation\": \"nearest\", \"data_format\": \"channels_first\"", "[null, 2, 4, 5]",
     "(None, 2, 4, 5)"},
    {"RandomElasticTransform", "\"value_range\": [-9, 9]", "[null, 4, 5, 2]", "(None, 4, 5, 2)"},
    {"RandomElasticTransform", "\"scale\": [0.5, 1], \"fill_mode\": \"constant\", \"value_range\": [-9, 9]",
     "[null, 20, 21, 1]", "(None, 20, 21, 1)"},
    {"Pipeline",
     "\"layers\": [{\"class_name\": \"Dense\", \"config\": {\"units\": 3}}, {\"class_name\": \"Dense\", \"config\": "
     "{\"units\": "
     "2}}]",
     "[null, 4]", "(None, 2)"},
    {"MaxNumBoundingBoxes", "\"max_number\": 3", "[null, 3, 4, 2]", "(None, 3, 4, 2)"},
    {"Rescaling", "\"scale\": [1, 2, 3], \"offset\": 0.5", "[null, 2, 3]", "(None, 2, 3)"},
    {"Normalization", "\"axis\": -1, \"mean\": [1, 2, 3], \"variance\": [1, 2, 3]", "[null, 2, 3]", "(None, 2, 3)"},
    {"Normalization", "\"axis\": 1, \"mean\": null, \"variance\": null, \"invert\": true", "[null, 2, 3]",
     "(None, 2, 3)"},
    {"Identity", "", "[null, 2]", "(None, 2)"},
    {"LayerScale", "\"init_values\": 0.5, \"projection_dim\": 3", "[null, 2, 3]", "(None, 2, 3)"},
    {"StochasticDepth", "\"drop_path_rate\": 0.25", "[null, 2, 3]", "(None, 2, 3)"},
    {"TimeDistributed", "\"layer\": {\"class_name\": \"Dense\", \"config\": {\"units\": 3}}", "[null, 2, 4]",
     "(None, 2, 3)"},
    {"TimeDistributed", "\"layer\": {\"class_name\": \"Conv2D\", \"config\": {\"filters\": 2, \"kernel_size\": 2}}",
     "[null, 3, 3, 3, 1]", "(None, 3, 2, 2, 2)"},
    {"TimeDistributed", "\"layer\": {\"class_name\": \"BatchNormalization\", \"config\": {\"epsilon\": 0.1}}",
     "[null, 2, 3]", "(None, 2, 3)"},
    {"TimeDistributed", "\"layer\": {\"class_name\": \"Flatten\", \"config\": {}}", "[null, 2, 3, 2]", "(None, 2, 6)"},
    {"Sequential",
     "\"layers\": [{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4], \"name\": \"i\"}}, "
     "{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 3}}]",
     "[null, 4]", "(None, 3)"},
};

static void check_row(const layer_row *row)
{
    char text[1024], shape[128];
    snprintf(text, sizeof text, "{\"class_name\": \"%s\", \"config\": {\"name\": \"it\"%s%s}}", row->class_name,
             *row->config ? ", " : "", row->config);
    layer_bench bench;
    layer_result *result = malloc(sizeof *result);
    layer_open(&bench, row->batch_shape, "float32", text);
    enum {
        ROWS = 9
    };
    static float x[ROWS * 1024];
    layer_numbers(x, ROWS * 1024, 5);
    static const char *const kinks[] = {"Max",           "ReLU",         "Saturation",  "Hue",
                                        "Posterization", "Solarization", "AutoContrast"};
    bool kinked = false;
    for (size_t k = 0; k < ARTEL__COUNT(kinks); k++) kinked = kinked || strstr(row->class_name, kinks[k]);
    for (int i = 0; kinked && i < ROWS * 1024; i++)
        x[i] = ((float)(i * 41 % 101) - 50.5f) / 20.0f; /* 0.05 apart, none near 0 */
    const void *in[] = {x};
    layer_run(&bench, in, ROWS, true, false, result);
    assert_string_equal(artel__shape_text(&result->shape, true, shape, sizeof shape), row->expected);
    layer_check_gradients(&bench, in, ROWS, true);
    layer_check_gradients(&bench, in, 3, false);
    free(result);
    layer_close(&bench);
}

static void every_layer_has_shape_and_gradient(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        if (getenv("LAYER_TRACE")) fprintf(stderr, "%s %s\n", rows[i].class_name, rows[i].config);
        check_row(&rows[i]);
    }
}

/* Every class of the table that can be built alone is among the rows. */
static void every_class_is_tried(void **state)
{
    (void)state;
    static const char *const elsewhere[] = {
        "InputLayer",
        "RandAugment",
        "MixUp",
        "CutMix",
        "STFTSpectrogram",
        "MelSpectrogram",
        "AugMix",
        "Equalization",
        "ContrastLimitedAdaptiveHistogramEqualization",
        "SpectralNormalization",
        "ReversibleEmbedding", /* without derivatives, or of the functions of others; against Keras in tests/oracle */
        "Embedding",
        "Masking",
        "Add",
        "CustomScaleLayer",
        "Subtract",
        "Multiply",
        "Average",
        "Maximum",
        "Minimum",
        "Concatenate",
        "Dot",
        "Functional",
        "Model",
        "LSTM",
        "GRU",
        "SimpleRNN",
        "Bidirectional",
        "MultiHeadAttention",
        "LSTMCell",
        "GRUCell",
        "SimpleRNNCell",
        "RNN",
        "StackedRNNCells",
        "Attention",
        "AdditiveAttention",
        "GroupQueryAttention",
        "TFDIdentity",
        "TFDConcat",
        "Discretization",
        "CategoryEncoding",
        "Hashing",
        "HashedCrossing",
        "IntegerLookup",
        "StringLookup",
        "TextVectorization",
        NULL};
    for (int i = 0; artel__layers[i]; i++) {
        const char *name = artel__layers[i]->class_name;
        bool found = strncmp(name, "ops.", 4) == 0;
        for (int k = 0; elsewhere[k]; k++) found = found || strcmp(name, elsewhere[k]) == 0;
        for (size_t k = 0; k < ARTEL__COUNT(rows); k++) found = found || strcmp(name, rows[k].class_name) == 0;
        if (!found) fail_msg("no row tries %s", name);
        for (int k = 0; k < i; k++) assert_string_not_equal(artel__layers[k]->class_name, name);
    }
}

static const struct {
    const char *layer, *shape, *word;
    artel_status status;
} refused[] = {
    {"{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\"}}", "[null, 4]", "units", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 0}}", "[null, 4]", "units",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2, \"activity_regularizer\": \"l3\"}}",
     "[null, 4]", "l3", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2, \"lora_rank\": -2}}", "[null, 4]",
     "lora_rank", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2, \"lora_rank\": 2, \"kernel_constraint\": "
     "\"non_neg\"}}",
     "[null, 4]", "constraint", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"c\", \"filters\": 2, \"kernel_size\": 1, \"groups\": 2, "
     "\"lora_rank\": 2}}",
     "[null, 4, 4, 2]", "groups", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2, \"activation\": \"rely\"}}", "[null, 4]",
     "rely", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"c\", \"filters\": 2, \"kernel_size\": 2, \"data_format\": "
     "\"channels_middle\"}}",
     "[null, 4, 4, 1]", "channels_middle", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"c\", \"filters\": 2, \"kernel_size\": 9}}",
     "[null, 4, 4, 1]", "does not fit", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"c\", \"filters\": 3, \"kernel_size\": 1, \"groups\": 2}}",
     "[null, 4, 4, 2]", "groups", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Conv2D\", \"config\": {\"name\": \"c\", \"filters\": 3, \"kernel_size\": [1, 2, 3]}}",
     "[null, 4, 4, 2]", "kernel_size", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"UpSampling2D\", \"config\": {\"name\": \"u\", \"interpolation\": \"cubic\"}}",
     "[null, 4, 4, 2]", "interpolation", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Reshape\", \"config\": {\"name\": \"r\", \"target_shape\": [5, -1]}}", "[null, 12]",
     "target_shape", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Permute\", \"config\": {\"name\": \"p\", \"dims\": [1, 1]}}", "[null, 2, 3]", "dims",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Cropping2D\", \"config\": {\"name\": \"c\", \"cropping\": 2}}", "[null, 4, 4, 1]",
     "nothing would be left", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"EinsumDense\", \"config\": {\"name\": \"e\", \"equation\": \"ab,bc->cd\", \"output_shape\": "
     "3}}",
     "[null, 4]", "ab,bc->cd", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\", \"renorm\": true, \"renorm_clipping\": "
     "{\"rmax\": "
     "\"x\"}}}",
     "[null, 4]", "rmax", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\", \"renorm\": true, "
     "\"moving_variance_initializer\": "
     "\"he_normal\"}}",
     "[null, 4]", "moving_variance_initializer", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"BatchNormalization\", \"config\": {\"name\": \"b\", \"axis\": 3}}", "[null, 4]", "axis",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"LayerNormalization\", \"config\": {\"name\": \"b\", \"axis\": 0}}", "[null, 4]", "axis",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Dropout\", \"config\": {\"name\": \"b\", \"rate\": 1.5}}", "[null, 4]", "rate",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Dropout\", \"config\": {\"name\": \"b\", \"rate\": 0.5, \"noise_shape\": [1, 4]}}",
     "[null, 4]", "noise_shape", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Normalization\", \"config\": {\"name\": \"n\", \"mean\": [1, 2], \"variance\": [1, 2]}}",
     "[null, 4]", "mean", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Discretization\", \"config\": {\"name\": \"d\", \"num_bins\": 3}}", "[null, 4]",
     "boundaries are not known", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Discretization\", \"config\": {\"name\": \"d\", \"bin_boundaries\": [2, 1]}}", "[null, 4]",
     "ascend", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"CategoryEncoding\", \"config\": {\"name\": \"c\"}}", "[null, 4]", "num_tokens",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"CategoryEncoding\", \"config\": {\"name\": \"c\", \"num_tokens\": 3, \"output_mode\": "
     "\"int\"}}",
     "[null, 4]", "output_mode", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Hashing\", \"config\": {\"name\": \"h\", \"num_bins\": 3, \"salt\": [1, 2, 3]}}", "[null, 4]",
     "salt", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Hashing\", \"config\": {\"name\": \"h\", \"num_bins\": 3, \"mask_value\": \"a\"}}",
     "[null, 4]", "the mask_value is a string", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"HashedCrossing\", \"config\": {\"name\": \"h\", \"num_bins\": 3}}", "[null, 1]",
     "called with 1 tensors", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"IntegerLookup\", \"config\": {\"name\": \"l\", \"vocabulary\": null, \"output_mode\": "
     "\"multi_hot\"}}",
     "[null, 4]", "vocabulary is not known", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"IntegerLookup\", \"config\": {\"name\": \"l\", \"vocabulary\": [1, 2, 1]}}", "[null, 4]",
     "there twice", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"IntegerLookup\", \"config\": {\"name\": \"l\", \"vocabulary\": [1, \"b\"]}}", "[null, 4]",
     "no integer", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"IntegerLookup\", \"config\": {\"name\": \"l\", \"vocabulary\": [1, 2], \"output_mode\": "
     "\"tf_idf\"}}",
     "[null, 4]", "0 idf_weights for 2 terms", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"StringLookup\", \"config\": {\"name\": \"l\", \"vocabulary\": [\"a\", \"b\"], \"max_tokens\": "
     "2}}",
     "[null, 4]", "needs 3 places", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"StringLookup\", \"config\": {\"name\": \"l\", \"vocabulary\": [\"a\"]}}", "[null, 4]",
     "expected strings", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"TextVectorization\", \"config\": {\"name\": \"t\", \"vocabulary\": [\"a\"], \"split\": "
     "{\"class_name\": "
     "\"function\"}}}",
     "[null, 4]", "split", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"RandomHue\", \"config\": {\"name\": \"h\", \"factor\": \"much\"}}", "[null, 4, 4, 3]",
     "factor", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"RandomHue\", \"config\": {\"name\": \"h\"}}", "[null, 4, 4, 3]", "factor",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"RandomInvert\", \"config\": {\"name\": \"i\", \"value_range\": [0]}}", "[null, 4, 4, 3]",
     "value_range", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"RandomGrayscale\", \"config\": {\"name\": \"g\", \"factor\": 1.5}}", "[null, 4, 4, 3]",
     "factor", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Equalization\", \"config\": {\"name\": \"e\", \"bins\": 0}}", "[null, 4, 4, 3]", "bins",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Equalization\", \"config\": {\"name\": \"e\"}}", "[null, 4, 4]", "axes", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"ContrastLimitedAdaptiveHistogramEqualization\", \"config\": {\"name\": \"e\"}}",
     "[null, 3, 16, 3]", "too small", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"ContrastLimitedAdaptiveHistogramEqualization\", \"config\": {\"name\": \"e\", "
     "\"tile_grid_size\": [2]}}",
     "[null, 16, 16, 3]", "tile_grid_size", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"ContrastLimitedAdaptiveHistogramEqualization\", \"config\": {\"name\": \"e\", "
     "\"tile_grid_size\": [200, "
     "200]}}",
     "[null, 200, 200, 3]", "tiles and channels", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"RandomGaussianBlur\", \"config\": {\"name\": \"b\", \"kernel_size\": 4}}", "[null, 4, 4, 3]",
     "kernel_size", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"RandAugment\", \"config\": {\"name\": \"r\", \"num_ops\": -1}}", "[null, 4, 4, 3]", "num_ops",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"AugMix\", \"config\": {\"name\": \"m\", \"interpolation\": \"cubic\"}}", "[null, 4, 4, 3]",
     "interpolation", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Pipeline\", \"config\": {\"name\": \"p\", \"layers\": []}}", "[null, 4]", "layers inside",
     ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Pipeline\", \"config\": {\"name\": \"p\", \"layers\": [{\"class_name\": \"Lambda\"}]}}",
     "[null, 4]", "Lambda", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Pipeline\", \"config\": {\"name\": \"p\", \"layers\": [7]}}", "[null, 4]", "class_name",
     ARTEL_ERROR_CORRUPT},
    {"{\"class_name\": \"ReversibleEmbedding\", \"config\": {\"name\": \"r\", \"input_dim\": 3, \"output_dim\": 2, "
     "\"reverse_dtype\": "
     "\"float64\"}}",
     "[null, 4]", "float64", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Densee\", \"config\": {\"name\": \"b\"}}", "[null, 4]", "Dense", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Lambda\", \"config\": {\"name\": \"l\"}}", "[null, 4]", "Lambda", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Dense\", \"module\": \"mine\", \"registered_name\": \"mine>Dense\", \"config\": {\"units\": "
     "2}}",
     "[null, 4]", "mine.Dense", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Conv4D\", \"config\": {\"name\": \"l\"}}", "[null, 4]", "Conv4D", ARTEL_ERROR_UNSUPPORTED},
    {"{\"class_name\": \"Conv1DTranspose\", \"config\": {\"name\": \"c\", \"filters\": 3, \"kernel_size\": 2, "
     "\"padding\": "
     "\"causal\"}}",
     "[null, 4, 2]", "causal", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Conv2DTranspose\", \"config\": {\"name\": \"c\", \"filters\": 3, \"kernel_size\": 2, "
     "\"output_padding\": 1}}",
     "[null, 4, 4, 2]", "does not belong to an input of 4", ARTEL_ERROR_INVALID},
    {"{\"class_name\": \"Dense\", \"config\": {\"name\": \"d\", \"units\": 2147483647}}, {\"class_name\": \"Dense\", "
     "\"config\": "
     "{\"name\": "
     "\"e\", \"units\": 2147483647}}, {\"class_name\": \"Flatten\", \"config\": {}}",
     "[null, 99999999999]", "shape", ARTEL_ERROR_INVALID},
};

static void settings_that_are_wrong_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARTEL__COUNT(refused); i++) {
        char message[1100];
        artel_status status = layer_refused(refused[i].shape, refused[i].layer, message);
        if (status != refused[i].status || !strstr(message, refused[i].word))
            fail_msg("%d %s <- %s", status, message, refused[i].layer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layer_has_shape_and_gradient),
        cmocka_unit_test(every_class_is_tried),
        cmocka_unit_test(settings_that_are_wrong_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
