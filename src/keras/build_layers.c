/* SPDX-License-Identifier: Apache-2.0 */
/* Layers by option structs: for each struct one table from fields to the keys of Keras' config.
 *
 * A field that is zero or NULL is not written, so that Keras' default holds; required ones always are.
 */
#include <math.h>
#include <string.h>

#include "keras/build.h"

typedef enum field_type {
    FIELD_TEXT,  /* const char *: a name, or JSON */
    FIELD_INT,   /* int64_t */
    FIELD_FLOAT, /* double */
    FIELD_TRUE,  /* bool: true is written */
    FIELD_NOT,   /* bool: false is written when it is set */
    FIELD_PAIR,  /* int64_t[2] */
    FIELD_SHAPE, /* artel_shape */
    FIELD_REQUIRED_INT,
    FIELD_REQUIRED_FLOAT,
    FIELD_REQUIRED_TEXT,
    FIELD_REQUIRED_PAIR
} field_type;

typedef struct field {
    const char *key; /* NULL ends a table */
    field_type type;
    size_t offset;
} field;

#define AT(type, name) offsetof(artel_##type##_options, name)

static const field dense[] = {{"units", FIELD_REQUIRED_INT, AT(dense, units)},
                              {"activation", FIELD_TEXT, AT(dense, activation)},
                              {"use_bias", FIELD_NOT, AT(dense, no_bias)},
                              {"kernel_initializer", FIELD_TEXT, AT(dense, kernel_initializer)},
                              {"bias_initializer", FIELD_TEXT, AT(dense, bias_initializer)},
                              {"kernel_regularizer", FIELD_TEXT, AT(dense, kernel_regularizer)},
                              {"bias_regularizer", FIELD_TEXT, AT(dense, bias_regularizer)},
                              {"name", FIELD_TEXT, AT(dense, name)},
                              {.key = NULL}};

/* What all convolutions have. */
#define CONV_FIELDS                                                                                             \
    {"kernel_size", FIELD_REQUIRED_PAIR, AT(conv2d, kernel)}, {"strides", FIELD_PAIR, AT(conv2d, strides)},     \
        {"dilation_rate", FIELD_PAIR, AT(conv2d, dilation)}, {"padding", FIELD_TEXT, AT(conv2d, padding)},      \
        {"activation", FIELD_TEXT, AT(conv2d, activation)}, {"use_bias", FIELD_NOT, AT(conv2d, no_bias)},       \
        {"bias_initializer", FIELD_TEXT, AT(conv2d, bias_initializer)},                                         \
        {"bias_regularizer", FIELD_TEXT, AT(conv2d, bias_regularizer)}, {"name", FIELD_TEXT, AT(conv2d, name)}, \
    {                                                                                                           \
        .key = NULL                                                                                             \
    }

static const field conv2d[] = {{"filters", FIELD_REQUIRED_INT, AT(conv2d, filters)},
                               {"groups", FIELD_INT, AT(conv2d, groups)},
                               {"kernel_initializer", FIELD_TEXT, AT(conv2d, kernel_initializer)},
                               {"kernel_regularizer", FIELD_TEXT, AT(conv2d, kernel_regularizer)},
                               CONV_FIELDS};

static const field depthwise[] = {{"depth_multiplier", FIELD_INT, AT(conv2d, depth_multiplier)},
                                  {"depthwise_initializer", FIELD_TEXT, AT(conv2d, kernel_initializer)},
                                  {"depthwise_regularizer", FIELD_TEXT, AT(conv2d, kernel_regularizer)},
                                  CONV_FIELDS};

static const field separable[] = {{"filters", FIELD_REQUIRED_INT, AT(conv2d, filters)},
                                  {"depth_multiplier", FIELD_INT, AT(conv2d, depth_multiplier)},
                                  {"depthwise_initializer", FIELD_TEXT, AT(conv2d, kernel_initializer)},
                                  {"pointwise_initializer", FIELD_TEXT, AT(conv2d, kernel_initializer)},
                                  {"depthwise_regularizer", FIELD_TEXT, AT(conv2d, kernel_regularizer)},
                                  {"pointwise_regularizer", FIELD_TEXT, AT(conv2d, kernel_regularizer)},
                                  CONV_FIELDS};

static const field pooling[] = {{"pool_size", FIELD_PAIR, AT(pooling2d, pool)},
                                {"strides", FIELD_PAIR, AT(pooling2d, strides)},
                                {"padding", FIELD_TEXT, AT(pooling2d, padding)},
                                {"name", FIELD_TEXT, AT(pooling2d, name)},
                                {.key = NULL}};

static const field plain[] = {{"name", FIELD_TEXT, AT(plain, name)}, {.key = NULL}};

static const field dropout[] = {
    {"rate", FIELD_REQUIRED_FLOAT, AT(dropout, rate)}, {"name", FIELD_TEXT, AT(dropout, name)}, {.key = NULL}};

static const field batch_normalization[] = {{"axis", FIELD_INT, AT(normalization, axis)},
                                            {"momentum", FIELD_FLOAT, AT(normalization, momentum)},
                                            {"epsilon", FIELD_FLOAT, AT(normalization, epsilon)},
                                            {"center", FIELD_NOT, AT(normalization, no_center)},
                                            {"scale", FIELD_NOT, AT(normalization, no_scale)},
                                            {"name", FIELD_TEXT, AT(normalization, name)},
                                            {.key = NULL}};

static const field layer_normalization[] = {
    {"axis", FIELD_INT, AT(normalization, axis)},        {"epsilon", FIELD_FLOAT, AT(normalization, epsilon)},
    {"center", FIELD_NOT, AT(normalization, no_center)}, {"scale", FIELD_NOT, AT(normalization, no_scale)},
    {"name", FIELD_TEXT, AT(normalization, name)},       {.key = NULL}};

static const field activation[] = {{"activation", FIELD_REQUIRED_TEXT, AT(activation, activation)},
                                   {"name", FIELD_TEXT, AT(activation, name)},
                                   {.key = NULL}};

static const field rescaling[] = {{"scale", FIELD_REQUIRED_FLOAT, AT(rescaling, scale)},
                                  {"offset", FIELD_REQUIRED_FLOAT, AT(rescaling, offset)},
                                  {"name", FIELD_TEXT, AT(rescaling, name)},
                                  {.key = NULL}};

static const field reshape[] = {
    {"target_shape", FIELD_SHAPE, AT(reshape, shape)}, {"name", FIELD_TEXT, AT(reshape, name)}, {.key = NULL}};

static const field embedding[] = {{"input_dim", FIELD_REQUIRED_INT, AT(embedding, input_dim)},
                                  {"output_dim", FIELD_REQUIRED_INT, AT(embedding, output_dim)},
                                  {"mask_zero", FIELD_TRUE, AT(embedding, mask_zero)},
                                  {"embeddings_initializer", FIELD_TEXT, AT(embedding, embeddings_initializer)},
                                  {"name", FIELD_TEXT, AT(embedding, name)},
                                  {.key = NULL}};

#define RECURRENT_FIELDS                                                                                             \
    {"units", FIELD_REQUIRED_INT, AT(recurrent, units)}, {"activation", FIELD_TEXT, AT(recurrent, activation)},      \
        {"use_bias", FIELD_NOT, AT(recurrent, no_bias)},                                                             \
        {"return_sequences", FIELD_TRUE, AT(recurrent, return_sequences)},                                           \
        {"go_backwards", FIELD_TRUE, AT(recurrent, go_backwards)}, {"dropout", FIELD_FLOAT, AT(recurrent, dropout)}, \
        {"recurrent_dropout", FIELD_FLOAT, AT(recurrent, recurrent_dropout)},                                        \
    {                                                                                                                \
        "name", FIELD_TEXT, AT(recurrent, name)                                                                      \
    }

static const field gated[] = {
    RECURRENT_FIELDS, {"recurrent_activation", FIELD_TEXT, AT(recurrent, recurrent_activation)}, {.key = NULL}};
static const field simple_rnn[] = {RECURRENT_FIELDS, {.key = NULL}};

static json_t *pair(const int64_t *values)
{
    return json_pack("[I, I]", (json_int_t)values[0], (json_int_t)values[1]);
}

static artel_status shape_value(artel_builder *builder, const char *key, const artel_shape *shape, json_t **out)
{
    if (shape->rank < 0 || shape->rank > ARTEL_MAX_RANK)
        return artel__builder_fail(
            builder, artel__fail(builder->ctx, ARTEL_ERROR_INVALID, key, "give the shape of one row",
                                 "%d axes are not possible (expected 0 to %d)", shape->rank, ARTEL_MAX_RANK));
    *out = json_array();
    bool made = *out != NULL;
    for (int i = 0; i < shape->rank; i++) made = made && json_array_append_new(*out, json_integer(shape->dim[i])) == 0;
    return made ? ARTEL_OK : artel__builder_fail(builder, artel__fail_memory(builder->ctx, key, 64));
}

/* NaN and infinities are no settings of a layer, and would train to a model of NaN. */
static artel_status number_value(artel_builder *builder, const char *key, double number, json_t **out)
{
    if (!isfinite(number))
        return artel__builder_fail(builder, artel__fail(builder->ctx, ARTEL_ERROR_INVALID, key, "give a finite number",
                                                        "the value does not fit (found %g)", number));
    *out = artel__json_real(number);
    return ARTEL_OK;
}

/* A name becomes a string, JSON what it says. */
static artel_status text_value(artel_builder *builder, const char *key, const char *text, json_t **out)
{
    if (*text != '{' && *text != '[' && *text != '"') {
        *out = json_string(text);
        return ARTEL_OK;
    }
    return artel__builder_fail(builder, artel__json_load(builder->ctx, key, text, strlen(text), out));
}

/* Whether a field is left at Keras' default. */
static bool is_left(const field *f, const void *at)
{
    const int64_t *integer = at;
    const char *text;
    switch (f->type) {
    case FIELD_TEXT:
    case FIELD_REQUIRED_TEXT: memcpy(&text, at, sizeof text); return text == NULL;
    case FIELD_INT: return *integer == 0;
    case FIELD_FLOAT: return *(const double *)at == 0;
    case FIELD_TRUE:
    case FIELD_NOT: return !*(const bool *)at;
    case FIELD_PAIR: return integer[0] == 0 && integer[1] == 0;
    default: return false;
    }
}

/* The value of a field that is not left; NULL when memory is out. */
static artel_status field_value(artel_builder *builder, const field *f, const void *at, json_t **out)
{
    const int64_t *integer = at;
    const double *number = at;
    const char *text;
    *out = NULL;
    switch (f->type) {
    case FIELD_TEXT:
    case FIELD_REQUIRED_TEXT: memcpy(&text, at, sizeof text); return text_value(builder, f->key, text, out);
    case FIELD_INT:
    case FIELD_REQUIRED_INT: *out = json_integer(*integer); break;
    case FIELD_FLOAT:
    case FIELD_REQUIRED_FLOAT: return number_value(builder, f->key, *number, out);
    case FIELD_TRUE: *out = json_true(); break;
    case FIELD_NOT: *out = json_false(); break;
    case FIELD_PAIR:
    case FIELD_REQUIRED_PAIR: *out = pair(integer); break;
    case FIELD_SHAPE: return shape_value(builder, f->key, at, out);
    }
    return ARTEL_OK;
}

static artel_status add(artel_builder *builder, const char *class_name, const field *fields, const void *options)
{
    ARTEL_TRY(artel__builder_enter(builder, class_name));
    if (builder->functional)
        return artel__builder_fail(builder,
                                   artel__fail(builder->ctx, ARTEL_ERROR_INVALID, class_name, "use artel_apply",
                                               "layers of a Functional model are applied to tensors"));
    json_t *config = json_object(), *value;
    for (const field *f = fields; config && options && f->key; f++) {
        const void *at = (const char *)options + f->offset;
        if (is_left(f, at)) continue;
        artel_status status = field_value(builder, f, at, &value);
        if (status == ARTEL_OK && json_object_set_new(config, f->key, value) == 0) continue;
        json_decref(config);
        return artel__builder_fail(builder, status < 0 ? status : artel__fail_memory(builder->ctx, class_name, 0));
    }
    return artel__builder_add(builder, class_name, config);
}

artel_status artel_layer_dense(artel_builder *builder, const artel_dense_options *options)
{
    return add(builder, "Dense", dense, options);
}

artel_status artel_layer_conv2d(artel_builder *builder, const artel_conv2d_options *options)
{
    return add(builder, "Conv2D", conv2d, options);
}

artel_status artel_layer_depthwise_conv2d(artel_builder *builder, const artel_conv2d_options *options)
{
    return add(builder, "DepthwiseConv2D", depthwise, options);
}

artel_status artel_layer_separable_conv2d(artel_builder *builder, const artel_conv2d_options *options)
{
    return add(builder, "SeparableConv2D", separable, options);
}

artel_status artel_layer_max_pooling2d(artel_builder *builder, const artel_pooling2d_options *options)
{
    return add(builder, "MaxPooling2D", pooling, options);
}

artel_status artel_layer_average_pooling2d(artel_builder *builder, const artel_pooling2d_options *options)
{
    return add(builder, "AveragePooling2D", pooling, options);
}

artel_status artel_layer_flatten(artel_builder *builder, const artel_plain_options *options)
{
    return add(builder, "Flatten", plain, options);
}

artel_status artel_layer_global_average_pooling2d(artel_builder *builder, const artel_plain_options *options)
{
    return add(builder, "GlobalAveragePooling2D", plain, options);
}

artel_status artel_layer_global_max_pooling2d(artel_builder *builder, const artel_plain_options *options)
{
    return add(builder, "GlobalMaxPooling2D", plain, options);
}

artel_status artel_layer_dropout(artel_builder *builder, const artel_dropout_options *options)
{
    return add(builder, "Dropout", dropout, options);
}

artel_status artel_layer_batch_normalization(artel_builder *builder, const artel_normalization_options *options)
{
    return add(builder, "BatchNormalization", batch_normalization, options);
}

artel_status artel_layer_layer_normalization(artel_builder *builder, const artel_normalization_options *options)
{
    return add(builder, "LayerNormalization", layer_normalization, options);
}

artel_status artel_layer_activation(artel_builder *builder, const artel_activation_options *options)
{
    return add(builder, "Activation", activation, options);
}

artel_status artel_layer_rescaling(artel_builder *builder, const artel_rescaling_options *options)
{
    return add(builder, "Rescaling", rescaling, options);
}

artel_status artel_layer_reshape(artel_builder *builder, const artel_reshape_options *options)
{
    return add(builder, "Reshape", reshape, options);
}

artel_status artel_layer_embedding(artel_builder *builder, const artel_embedding_options *options)
{
    return add(builder, "Embedding", embedding, options);
}

artel_status artel_layer_lstm(artel_builder *builder, const artel_recurrent_options *options)
{
    return add(builder, "LSTM", gated, options);
}

artel_status artel_layer_gru(artel_builder *builder, const artel_recurrent_options *options)
{
    return add(builder, "GRU", gated, options);
}

artel_status artel_layer_simple_rnn(artel_builder *builder, const artel_recurrent_options *options)
{
    return add(builder, "SimpleRNN", simple_rnn, options);
}
