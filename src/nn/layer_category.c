/* SPDX-License-Identifier: Apache-2.0 */
/* Discretization, CategoryEncoding, Hashing, HashedCrossing: categories without a vocabulary.
 *
 * After keras/src/layers/preprocessing. Each is a function of a row (text/functions.h), with the output modes of
 * text/encode.h; the layer reads the settings and passes them on.
 */
#include "nn/layer_category.h"

#include <math.h>
#include <string.h>

const char *const artel__output_modes[] = {"int", "one_hot", "multi_hot", "count", "tf_idf", "binary", "tf-idf", NULL};

/* The dtype of vectors: the layer's own when that is a type of integers. */
static artel_dtype vector_dtype(const artel__layer *layer)
{
    artel_dtype dtype;
    bool known = artel_dtype_parse(layer->dtype, &dtype) == ARTEL_OK && dtype != ARTEL_DTYPE_STRING &&
                 dtype > ARTEL_DTYPE_BFLOAT16;
    return known ? dtype : ARTEL_DTYPE_FLOAT32;
}

artel_status artel__layer_encoding(const artel__layer *layer, int mode, uint32_t allowed, artel_dtype whole,
                                   artel__encoding *out)
{
    if (mode == ARTEL__ENCODE_TF_IDF + 1) mode = ARTEL__ENCODE_MULTI_HOT;
    if (mode == ARTEL__ENCODE_TF_IDF + 2) mode = ARTEL__ENCODE_TF_IDF;
    if (!(allowed >> mode & 1))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use a mode that Keras knows for this layer",
                                 "the output_mode \"%s\" is not possible here", artel__output_modes[mode]);
    out->mode = (artel__encoding_mode)mode;
    out->dtype = mode == ARTEL__ENCODE_INT ? whole : vector_dtype(layer);
    return ARTEL_OK;
}

artel_status artel__layer_salt(const artel__layer *layer, bool *salted, uint64_t salt[2])
{
    json_t *given = artel__layer_setting(layer, "salt");
    int64_t key[2];
    *salted = given != NULL;
    if (!given) return ARTEL_OK;
    bool pair = json_is_array(given) && json_array_size(given) == 2;
    for (size_t i = 0; i < 2; i++) {
        if (artel__json_integer(pair ? json_array_get(given, i) : given, &key[i])) continue;
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use an integer or two",
                                 "the salt is neither an integer nor two");
    }
    for (int i = 0; i < 2; i++) salt[i] = (uint64_t)key[i];
    return ARTEL_OK;
}

#define MODE(type, fallback)                                                                                       \
    {                                                                                                              \
        "output_mode", "what is made of the categories", ARTEL__OPTION_ENUM, offsetof(type, mode), fallback, 0, 0, \
            artel__output_modes                                                                                    \
    }

/* -- Discretization -- */

typedef struct discretization_config {
    artel__floats boundaries;
    int64_t bins;
    int mode;
} discretization_config;

static const artel__option discretization_options[] = {
    {"bin_boundaries", "ascending; the last bin has no end", ARTEL__OPTION_FLOATS,
     offsetof(discretization_config, boundaries), "null", 0, 0, NULL},
    {"num_bins", "bins that adapt() looks for", ARTEL__OPTION_INT, offsetof(discretization_config, bins), "null", 0, 0,
     NULL},
    ARTEL__PART("epsilon", "accuracy of adapt()"),
    MODE(discretization_config, "int"),
    ARTEL__PART("sparse", "accepted; results are dense"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_discretization(artel__layer *layer)
{
    const discretization_config *c = layer->config;
    artel__discretize *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    float *boundary = artel__arena_alloc(layer->arena, (size_t)c->boundaries.count + 1, sizeof *boundary);
    if (!own || !boundary) return ARTEL_ERROR_NO_MEMORY;
    uint32_t allowed = ARTEL__MODES_INT | ARTEL__MODES_ONE_HOT | ARTEL__MODES_COUNTS;
    ARTEL_TRY(artel__layer_encoding(layer, c->mode, allowed, ARTEL_DTYPE_INT32, &own->encoding));
    if (!artel__layer_setting(layer, "bin_boundaries"))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "adapt the layer before saving, or give bin_boundaries",
                                 "its boundaries are not known");
    for (int i = 0; i < c->boundaries.count; i++) {
        boundary[i] = (float)c->boundaries.item[i];
        if (isnan(boundary[i]) || (i > 0 && boundary[i] < boundary[i - 1]))
            return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "sort them", "its bin_boundaries do not ascend");
    }
    own->boundary = boundary;
    own->boundaries = c->boundaries.count;
    own->encoding.depth = c->boundaries.count + 1;
    return ARTEL_OK;
}

static artel_status call_discretization(artel__layer *layer, artel__call *call)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    return artel__call_row_function(layer, call, &artel__discretize_function, layer->own);
}

const artel__layer_def artel__layer_discretization_def = {
    .class_name = "Discretization",
    .doc = "Numbers into bins.",
    .config_size = sizeof(discretization_config),
    .options = discretization_options,
    .mask = ARTEL__MASK_STOP,
    .cast = ARTEL__CAST_RESULT,
    .configure = configure_discretization,
    .call = call_discretization,
};

/* -- CategoryEncoding -- */

typedef struct encoding_config {
    int64_t tokens;
    int mode;
} encoding_config;

static const artel__option encoding_options[] = {
    {"num_tokens", "categories are 0 .. num_tokens - 1", ARTEL__OPTION_INT, offsetof(encoding_config, tokens), NULL, 1,
     INT32_MAX, NULL},
    MODE(encoding_config, "multi_hot"),
    ARTEL__PART("sparse", "accepted; results are dense"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_encoding(artel__layer *layer)
{
    const encoding_config *c = layer->config;
    artel__categories *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    if (!own) return ARTEL_ERROR_NO_MEMORY;
    own->encoding.depth = c->tokens;
    return artel__layer_encoding(layer, c->mode, ARTEL__MODES_ONE_HOT | ARTEL__MODES_COUNTS, ARTEL_DTYPE_INT64,
                                 &own->encoding);
}

static artel_status call_encoding(artel__layer *layer, artel__call *call)
{
    json_t *weights = artel__call_argument(call, "count_weights");
    if (weights && !json_is_null(weights) && artel__call_tensor(call, weights).value < 0)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "feed the weights as an input",
                                 "constant count_weights are not supported");
    if (call->inputs != 1 && call->inputs != 2)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "call the layer with one tensor",
                                 "it is called with %d tensors", call->inputs);
    return artel__call_row_function(layer, call, &artel__categories_function, layer->own);
}

const artel__layer_def artel__layer_category_encoding_def = {
    .class_name = "CategoryEncoding",
    .doc = "Categories into vectors.",
    .config_size = sizeof(encoding_config),
    .options = encoding_options,
    .mask = ARTEL__MASK_STOP,
    .cast = ARTEL__CAST_RESULT,
    .configure = configure_encoding,
    .call = call_encoding,
};

/* -- Hashing -- */

typedef struct hashing_config {
    int64_t bins;
    int mode;
} hashing_config;

static const artel__option hashing_options[] = {
    {"num_bins", "buckets", ARTEL__OPTION_INT, offsetof(hashing_config, bins), NULL, 1, INT32_MAX, NULL},
    ARTEL__PART("mask_value", "a value that has bucket 0 for itself"),
    ARTEL__PART("salt", "null: FarmHash64; an integer or two: SipHash64 with this key"),
    MODE(hashing_config, "int"),
    ARTEL__PART("sparse", "accepted; results are dense"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_hashing(artel__layer *layer)
{
    const hashing_config *c = layer->config;
    artel__hashing *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    if (!own) return ARTEL_ERROR_NO_MEMORY;
    uint32_t allowed = ARTEL__MODES_INT | ARTEL__MODES_ONE_HOT | ARTEL__MODES_COUNTS;
    json_t *mask = artel__layer_setting(layer, "mask_value");
    own->bins = own->encoding.depth = c->bins;
    own->masked = mask != NULL;
    own->mask_word = (artel__string){"", 0};
    own->mask_number = NAN;
    if (json_is_string(mask))
        own->mask_word = (artel__string){json_string_value(mask), json_string_length(mask)};
    else if (mask && !artel__json_number(mask, &own->mask_number))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "use a string or a number", "the mask_value is neither");
    ARTEL_TRY(artel__layer_salt(layer, &own->salted, own->salt));
    return artel__layer_encoding(layer, c->mode, allowed, ARTEL_DTYPE_INT32, &own->encoding);
}

static artel_status call_hashing(artel__layer *layer, artel__call *call)
{
    const artel__hashing *own = layer->own;
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    bool words = call->graph->value[call->in[0].value].dtype == ARTEL_DTYPE_STRING;
    if (own->masked && words == !isnan(own->mask_number))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give a mask_value of the kind of the input",
                                 "the mask_value is a %s, the input holds %s", words ? "number" : "string",
                                 words ? "strings" : "numbers");
    return artel__call_row_function(layer, call, &artel__hashing_function, own);
}

const artel__layer_def artel__layer_hashing_def = {
    .class_name = "Hashing",
    .doc = "Words and integers into buckets by a hash.",
    .config_size = sizeof(hashing_config),
    .options = hashing_options,
    .mask = ARTEL__MASK_STOP,
    .cast = ARTEL__CAST_RESULT,
    .strings = true,
    .configure = configure_hashing,
    .call = call_hashing,
};

/* -- HashedCrossing -- */

static const artel__option crossing_options[] = {
    {"num_bins", "buckets", ARTEL__OPTION_INT, offsetof(hashing_config, bins), NULL, 1, INT32_MAX, NULL},
    MODE(hashing_config, "int"),
    ARTEL__PART("sparse", "accepted; results are dense"),
    ARTEL__OPTIONS_END,
};

static artel_status configure_crossing(artel__layer *layer)
{
    const hashing_config *c = layer->config;
    artel__crossing *own = layer->own = artel__arena_alloc(layer->arena, 1, sizeof *own);
    if (!own) return ARTEL_ERROR_NO_MEMORY;
    own->bins = own->encoding.depth = c->bins;
    return artel__layer_encoding(layer, c->mode, ARTEL__MODES_INT | ARTEL__MODES_ONE_HOT, ARTEL_DTYPE_INT32,
                                 &own->encoding);
}

static artel_status call_crossing(artel__layer *layer, artel__call *call)
{
    if (call->inputs < 2 || call->inputs > ARTEL__ROW_INPUTS)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "cross two features or more",
                                 "it is called with %d tensors, possible are 2 to %d", call->inputs, ARTEL__ROW_INPUTS);
    return artel__call_row_function(layer, call, &artel__crossing_function, layer->own);
}

const artel__layer_def artel__layer_hashed_crossing_def = {
    .class_name = "HashedCrossing",
    .doc = "Combinations of features into buckets by a hash.",
    .config_size = sizeof(hashing_config),
    .options = crossing_options,
    .mask = ARTEL__MASK_STOP,
    .cast = ARTEL__CAST_RESULT,
    .strings = true,
    .configure = configure_crossing,
    .call = call_crossing,
};
