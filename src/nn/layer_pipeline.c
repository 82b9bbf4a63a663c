/* SPDX-License-Identifier: Apache-2.0 */
/* Pipeline: layers one after another under one name; MaxNumBoundingBoxes, which leaves images as they are. */
#include <stdio.h>
#include <string.h>

#include "nn/layer_support.h"
#include "nn/model.h"

static const artel__option pipeline_options[] = {
    {"layers", "records of the layers", ARTEL__OPTION_IGNORED, 0, NULL, 0, 0, NULL},
    ARTEL__OPTIONS_END,
};
static const artel__option boxes_options[] = {ARTEL__PART("max_number", "of boxes, of which an image has none"),
                                              ARTEL__PART("fill_value", "accepted"),
                                              ARTEL__PART("factor", "accepted"),
                                              ARTEL__PART("bounding_box_format", "accepted"),
                                              ARTEL__PART("data_format", "accepted"),
                                              ARTEL__OPTIONS_END};

/* Keras writes no policy of a Pipeline; where all inside have float64, it was built under that. */
static void take_policy(artel__layer *layer)
{
    bool wide = layer->child_count > 0;
    for (int i = 0; i < layer->child_count; i++) wide = wide && layer->child[i].layer->real == ARTEL_DTYPE_FLOAT64;
    if (wide) layer->real = layer->variables_in = ARTEL_DTYPE_FLOAT64;
}

static artel_status configure_pipeline(artel__layer *layer)
{
    json_t *records = artel__layer_setting(layer, "layers"), *record;
    size_t i;
    if (!json_is_array(records) || json_array_size(records) == 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "save the model again with Keras",
                                 "the layers inside are missing");
    json_array_foreach(records, i, record)
    {
        artel__layer *child;
        char snake[96], path[128];
        int same = 0;
        const char *class_name = json_string_value(json_object_get(record, "class_name"));
        artel__snake_case(class_name ? class_name : "", snake, sizeof snake);
        for (int k = 0; k < layer->child_count; k++)
            same += class_name && strcmp(layer->child[k].layer->def->class_name, class_name) == 0;
        if (same)
            snprintf(path, sizeof path, "layers/%s_%d", snake, same);
        else
            snprintf(path, sizeof path, "layers/%s", snake);
        ARTEL_TRY(artel__layer_add_child(layer, record, path, &child));
    }
    if (!artel__layer_setting(layer, "dtype")) take_policy(layer);
    return ARTEL_OK;
}

static artel_status call_pipeline(artel__layer *layer, artel__call *call)
{
    artel__tensor now[ARTEL__LAYER_OUTPUTS], next[ARTEL__LAYER_OUTPUTS];
    int count = 1;
    if (call->inputs != 1)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "feed one tensor", "it has %d inputs", call->inputs);
    now[0] = call->in[0];
    for (int i = 0; i < layer->child_count; i++) {
        artel__call inner = {.graph = call->graph, .in = now, .inputs = count, .out = next};
        ARTEL_TRY(artel__layer_call(layer->child[i].layer, &inner));
        count = inner.outputs;
        for (int k = 0; k < count; k++) now[k] = next[k];
    }
    for (int k = 0; k < count; k++) call->out[k] = now[k];
    call->outputs = count;
    return call->graph->status;
}

static artel_status call_boxes(artel__layer *layer, artel__call *call)
{
    ARTEL_TRY(artel__layer_check_input(layer, call, 3, 3));
    artel__call_return(call, artel__as_float(call->graph, call->in[0].value));
    return call->graph->status;
}

const artel__layer_def artel__layer_pipeline_def = {
    .class_name = "Pipeline",
    .doc = "Layers one after another.",
    .config_size = 1,
    .options = pipeline_options,
    .mask = ARTEL__MASK_OWN,
    .configure = configure_pipeline,
    .call = call_pipeline,
};
const artel__layer_def artel__layer_max_num_bounding_boxes_def = {
    .class_name = "MaxNumBoundingBoxes",
    .doc = "Leaves images as they are.",
    .config_size = 1,
    .options = boxes_options,
    .mask = ARTEL__MASK_STOP,
    .call = call_boxes,
};
