/* SPDX-License-Identifier: Apache-2.0 */
/* InputLayer, and the layers that do nothing: what feeds a model.
 *
 * The shape of one row and the dtype are read here; the model turns them into its inputs (layer->own is an
 * artel__model_input). Open axes are -1. Sizes are bounded here, so that everything derived from them is.
 */
#include "nn/layer_support.h"
#include "nn/model.h"

typedef struct input_config {
    const char *unused;
} input_config;

static const artel__option input_options[] = {
    ARTEL__PART("shape", "shape of one row"),
    ARTEL__PART("batch_size", "rows of a batch; artel takes any number"),
    ARTEL__OPTIONS_END,
};

/* Reads extents from `first` on; false when the list is no shape. */
static bool read_extents(json_t *list, size_t first, artel_shape *out)
{
    *out = (artel_shape){.rank = 0};
    if (!json_is_array(list) || json_array_size(list) < first || json_array_size(list) - first > ARTEL_MAX_RANK)
        return false;
    artel_shape known = {.rank = 0};
    for (size_t i = first; i < json_array_size(list); i++) {
        json_t *item = json_array_get(list, i);
        int64_t extent = -1;
        if (!json_is_null(item) && (!artel__json_integer(item, &extent) || extent < 0 || extent > INT32_MAX))
            return false;
        out->dim[out->rank++] = extent;
        if (extent >= 0) known.dim[known.rank++] = extent;
    }
    int64_t count = artel_shape_count(&known);
    return count >= 0 && count <= INT32_MAX;
}

static artel_status read_shape(artel__layer *layer, artel_shape *out)
{
    json_t *batch = artel__layer_setting(layer, "batch_shape"), *row = artel__layer_setting(layer, "shape");
    if (!batch) batch = artel__layer_setting(layer, "batch_input_shape");
    bool fits = batch ? read_extents(batch, 1, out) : row && read_extents(row, 0, out);
    if (fits) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give a row at most eight axes, and 2147483647 values",
                             batch || row ? "its shape is not possible" : "it has no shape");
}

static artel_status configure_input(artel__layer *layer)
{
    artel__model_input *input = artel__arena_alloc(layer->arena, 1, sizeof *input);
    if (!input) return ARTEL_ERROR_NO_MEMORY;
    layer->own = input;
    input->name = layer->name;
    static const char *const special[] = {"sparse", "ragged"};
    for (size_t i = 0; i < ARTEL__COUNT(special); i++) {
        if (json_is_true(artel__layer_setting(layer, special[i])))
            return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "feed dense arrays", "%s inputs are not supported",
                                     special[i]);
    }
    if (artel_dtype_parse(layer->dtype, &input->dtype) < 0)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "feed numbers or strings",
                                 "inputs of dtype \"%s\" are not supported", layer->dtype);
    return read_shape(layer, &input->shape);
}

static artel_status call_identity(artel__layer *layer, artel__call *call)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 0, ARTEL_MAX_RANK));
    artel__call_return(call, call->in[0].value);
    return ARTEL_OK;
}

const artel__layer_def artel__layer_input_def = {
    .class_name = "InputLayer",
    .doc = "An input of the model.",
    .strings = true,
    .config_size = sizeof(input_config),
    .options = input_options,
    .mask = ARTEL__MASK_PASS,
    .configure = configure_input,
    .call = call_identity,
};

const artel__layer_def artel__layer_identity_def = {
    .class_name = "Identity",
    .doc = "Returns its input.",
    .mask = ARTEL__MASK_PASS,
    .strings = true,
    .call = call_identity,
    .returns_input = artel__layer_always,
};

const artel__layer_def artel__layer_feature_identity_def = {
    .class_name = "TFDIdentity",
    .doc = "Identity, as it stands for a plain feature of a FeatureSpace.",
    .mask = ARTEL__MASK_PASS,
    .strings = true,
    .call = call_identity,
    .returns_input = artel__layer_always,
};
