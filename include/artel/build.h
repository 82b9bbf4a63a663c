/* SPDX-License-Identifier: Apache-2.0 */
/* Building models layer by layer, as Keras' Sequential and Functional APIs do.
 *
 * Sequential: create, add layers, finish.
 *
 *     artel_builder *b;
 *     artel_sequential_create(ctx, "mnist", ARTEL_DTYPE_FLOAT32, &(artel_shape){3, {28, 28, 1}}, &b);
 *     artel_layer_conv2d(b, &(artel_conv2d_options){.filters = 32, .kernel = {3, 3}, .activation = "relu"});
 *     artel_layer_flatten(b, NULL);
 *     artel_layer_dense(b, &(artel_dense_options){.units = 10, .activation = "softmax"});
 *     status = artel_sequential_finish(b, &model);
 *
 * Functional: create, make inputs, apply layers to tensors, finish with the tensors that are inputs and outputs.
 *
 * Layers are those of Keras, under Keras' names and with its defaults: a field that is 0 or NULL says "Keras' default".
 * Every text field takes a name ("relu", "he_normal") or a JSON record as Keras writes it. What the option structs
 * leave out goes through artel_layer_add and artel_apply, which take any supported layer with its config as JSON.
 *
 * A builder remembers its first failure: later calls return it, and so does finish, so that only finish need be
 * checked. Finish ends the builder in any case. A finished model has no weights yet: artel_model_initialise, or the
 * seed of its first use, fills them. A builder belongs to one thread.
 */
#ifndef ARTEL_BUILD_H
#define ARTEL_BUILD_H

#include <stdbool.h>

#include "artel/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_builder artel_builder;

/* A Sequential model with one input; `shape` leaves the batch axis out, -1 is an open axis. `name` may be NULL. */
ARTEL_API artel_status artel_sequential_create(artel_context *context, const char *name, artel_dtype dtype,
                                               const artel_shape *shape, artel_builder **out);
/* Any layer by its Keras class, with its config as JSON ("{\"units\": 10}"; NULL: none). */
ARTEL_API artel_status artel_layer_add(artel_builder *builder, const char *class_name, const char *config);
ARTEL_API artel_status artel_sequential_finish(artel_builder *builder, artel_model **out);
/* Gives up; NULL is accepted. */
ARTEL_API void artel_builder_destroy(artel_builder *builder);

/* -- layers of Sequential models. Options may be NULL where no field is required. -- */

typedef struct artel_dense_options {
    int64_t units; /* required */
    const char *activation;
    bool no_bias;
    const char *kernel_initializer, *bias_initializer, *kernel_regularizer, *bias_regularizer;
    const char *name;
} artel_dense_options;
ARTEL_API artel_status artel_layer_dense(artel_builder *builder, const artel_dense_options *options);

typedef struct artel_conv2d_options {
    int64_t filters;   /* required; not for depthwise */
    int64_t kernel[2]; /* required; height, width */
    int64_t strides[2], dilation[2];
    int64_t groups;           /* conv2d */
    int64_t depth_multiplier; /* depthwise and separable */
    const char *padding;      /* "valid", "same" */
    const char *activation;
    bool no_bias;
    const char *kernel_initializer, *kernel_regularizer; /* of all kernels the layer has, where it has one */
    const char *bias_initializer, *bias_regularizer;
    const char *name;
} artel_conv2d_options;
ARTEL_API artel_status artel_layer_conv2d(artel_builder *builder, const artel_conv2d_options *options);
ARTEL_API artel_status artel_layer_depthwise_conv2d(artel_builder *builder, const artel_conv2d_options *options);
ARTEL_API artel_status artel_layer_separable_conv2d(artel_builder *builder, const artel_conv2d_options *options);

typedef struct artel_pooling2d_options {
    int64_t pool[2]; /* {2, 2} */
    int64_t strides[2];
    const char *padding;
    const char *name;
} artel_pooling2d_options;
ARTEL_API artel_status artel_layer_max_pooling2d(artel_builder *builder, const artel_pooling2d_options *options);
ARTEL_API artel_status artel_layer_average_pooling2d(artel_builder *builder, const artel_pooling2d_options *options);

typedef struct artel_plain_options {
    const char *name;
} artel_plain_options;
ARTEL_API artel_status artel_layer_flatten(artel_builder *builder, const artel_plain_options *options);
ARTEL_API artel_status artel_layer_global_average_pooling2d(artel_builder *builder, const artel_plain_options *options);
ARTEL_API artel_status artel_layer_global_max_pooling2d(artel_builder *builder, const artel_plain_options *options);

typedef struct artel_dropout_options {
    double rate; /* required */
    const char *name;
} artel_dropout_options;
ARTEL_API artel_status artel_layer_dropout(artel_builder *builder, const artel_dropout_options *options);

typedef struct artel_normalization_options {
    int64_t axis;    /* -1 */
    double momentum; /* 0.99; batch normalisation */
    double epsilon;  /* 0.001 */
    bool no_center, no_scale;
    const char *name;
} artel_normalization_options;
ARTEL_API artel_status artel_layer_batch_normalization(artel_builder *builder,
                                                       const artel_normalization_options *options);
ARTEL_API artel_status artel_layer_layer_normalization(artel_builder *builder,
                                                       const artel_normalization_options *options);

typedef struct artel_activation_options {
    const char *activation; /* required */
    const char *name;
} artel_activation_options;
ARTEL_API artel_status artel_layer_activation(artel_builder *builder, const artel_activation_options *options);

typedef struct artel_rescaling_options {
    double scale; /* required */
    double offset;
    const char *name;
} artel_rescaling_options;
ARTEL_API artel_status artel_layer_rescaling(artel_builder *builder, const artel_rescaling_options *options);

typedef struct artel_reshape_options {
    artel_shape shape; /* of one row; one extent may be -1 */
    const char *name;
} artel_reshape_options;
ARTEL_API artel_status artel_layer_reshape(artel_builder *builder, const artel_reshape_options *options);

typedef struct artel_embedding_options {
    int64_t input_dim, output_dim; /* required: vocabulary, width */
    bool mask_zero;
    const char *embeddings_initializer;
    const char *name;
} artel_embedding_options;
ARTEL_API artel_status artel_layer_embedding(artel_builder *builder, const artel_embedding_options *options);

typedef struct artel_recurrent_options {
    int64_t units; /* required */
    const char *activation, *recurrent_activation;
    bool no_bias, return_sequences, go_backwards;
    double dropout, recurrent_dropout;
    const char *name;
} artel_recurrent_options;
ARTEL_API artel_status artel_layer_lstm(artel_builder *builder, const artel_recurrent_options *options);
ARTEL_API artel_status artel_layer_gru(artel_builder *builder, const artel_recurrent_options *options);
ARTEL_API artel_status artel_layer_simple_rnn(artel_builder *builder, const artel_recurrent_options *options);

/* -- Functional models -- */

/* What flows between layers: an output of a call, valid in its builder. */
typedef struct artel_tensor {
    int call, output;
} artel_tensor;

ARTEL_API artel_status artel_functional_create(artel_context *context, const char *name, artel_builder **out);
/* An input of the model; `name` names the array that feeds it (NULL: "input_layer", "input_layer_1", ...). */
ARTEL_API artel_status artel_input(artel_builder *builder, const char *name, artel_dtype dtype,
                                   const artel_shape *shape, artel_tensor *out);
/* A new layer called on tensors. One tensor is passed alone; several as a list, as merging layers take them; those of
 * MultiHeadAttention and Attention as separate arguments (query, value[, key]); behind the sequence of a recurrent
 * layer the states that it begins with. *out is the first output; artel_output gives others. */
ARTEL_API artel_status artel_apply(artel_builder *builder, const char *class_name, const char *config,
                                   const artel_tensor *tensors, int count, artel_tensor *out);
/* The layer that made `of`, called again on other tensors: the weights are shared. */
ARTEL_API artel_status artel_apply_again(artel_builder *builder, artel_tensor of, const artel_tensor *tensors,
                                         int count, artel_tensor *out);
/* Switches of the call that made `of`, a JSON object of true and false: {"use_causal_mask": true}. There are
 * use_causal_mask and return_attention_scores (of MultiHeadAttention, GroupQueryAttention, Attention,
 * AdditiveAttention) and reverse (of ReversibleEmbedding). Errors: ARTEL_ERROR_INVALID (another one, or twice),
 * ARTEL_ERROR_CORRUPT (no JSON). */
ARTEL_API artel_status artel_apply_arguments(artel_builder *builder, artel_tensor of, const char *arguments);
ARTEL_API artel_tensor artel_output(artel_tensor of, int output);
/* Inputs are those made by artel_input, in that order. */
ARTEL_API artel_status artel_functional_finish(artel_builder *builder, const artel_tensor *outputs, int count,
                                               artel_model **out);

#ifdef __cplusplus
}
#endif
#endif
