/* SPDX-License-Identifier: Apache-2.0 */
/* Bidirectional: a recurrent layer and its mirror over the same sequence, merged.
 *
 * Both sublayers come from the record; where the second is missing (older files) it is the first one, running the other
 * way. The backward sequence is turned round before merging, and masked steps give zeros when sequences are returned,
 * as in Keras. After keras/src/layers/rnn/bidirectional.py.
 */
#include <string.h>

#include "nn/layer_recurrent.h"
#include "op/elementwise.h"
#include "op/op.h"
#include "op/shape_ops.h"

typedef struct both_config {
    int merge_mode;
} both_config;

enum {
    MERGE_CONCAT,
    MERGE_SUM,
    MERGE_MUL,
    MERGE_AVE
};

static const char *const merge_modes[] = {"concat", "sum", "mul", "ave", NULL};

static const artel__option both_options[] = {
    ARTEL__PART("layer", "record of the forward layer"),
    ARTEL__PART("backward_layer", "record of the backward layer"),
    ARTEL__PART("weights", "accepted; weights come from the file"),
    ARTEL__PART("stateful", "as the layers say"),
    ARTEL__PART("return_sequences", "as the layers say"),
    ARTEL__PART("return_state", "as the layers say"),
    {"merge_mode", "how both are merged, or null", ARTEL__OPTION_ENUM, offsetof(both_config, merge_mode), "concat", 0,
     0, merge_modes},
    ARTEL__OPTIONS_END,
};

static void rename_backward(artel__layer *layer, artel__layer *child)
{
    const char *name = child->name, *prefix = "forward_";
    if (strncmp(name, prefix, strlen(prefix)) == 0) name += strlen(prefix);
    child->name = artel__arena_printf(layer->arena, "backward_%s", name);
    child->scope = artel__arena_printf(layer->arena, "%s/%s", layer->scope, child->name);
    for (int i = 0; i < child->child_count; i++) {
        artel__layer *cell = child->child[i].layer;
        cell->scope = artel__arena_printf(layer->arena, "%s/%s", child->scope, cell->name);
    }
}

static bool view_of(const artel__layer *layer, artel__recurrent_view *out)
{
    return artel__recurrent_view_of(layer, out) || artel__conv_lstm_view_of(layer, out);
}

static artel_status configure_both(artel__layer *layer)
{
    json_t *record, *back = artel__layer_setting(layer, "backward_layer");
    artel__layer *child[2];
    artel__recurrent_view v[2];
    ARTEL_TRY(artel__layer_inside(layer, &record));
    ARTEL_TRY(artel__layer_add_child(layer, record, "forward_layer", &child[0]));
    ARTEL_TRY(artel__layer_add_child(layer, back ? back : record, "backward_layer", &child[1]));
    for (int i = 0; i < 2; i++) {
        if (!view_of(child[i], &v[i]))
            return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "wrap LSTM, GRU, SimpleRNN, RNN or ConvLSTM",
                                     "the layer class %s inside is not supported", child[i]->def->class_name);
        *v[i].zero_output_for_mask = *v[i].return_sequences;
    }
    if (!back) {
        rename_backward(layer, child[1]);
        *v[1].go_backwards = !*v[0].go_backwards;
    }
    if (*v[0].go_backwards == *v[1].go_backwards || *v[0].return_sequences != *v[1].return_sequences ||
        *v[0].return_state != *v[1].return_state)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "let both layers differ in go_backwards alone",
                                 "the two layers do not run against one another");
    if (*v[0].return_state && v[0].states + v[1].states + 2 > ARTEL__LAYER_OUTPUTS)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "stack fewer cells, or leave the states out",
                                 "so many states as outputs are not supported");
    return artel__arena_status(layer->arena);
}

static artel__value_id reverse(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int64_t steps = graph->value[x].shape.dim[0];
    return steps < 2 ? x : artel__op_slice(graph, x, 0, steps - 1, steps, -1);
}

static artel__value_id merge(artel__graph *graph, int mode, artel__value_id a, artel__value_id b)
{
    if (mode == MERGE_CONCAT) return artel__op_concat(graph, (artel__value_id[]){a, b}, 2, -1);
    if (mode == MERGE_MUL) return artel__op_binary(graph, ARTEL__BINARY_MUL, a, b);
    artel__value_id sum = artel__op_add(graph, a, b);
    return mode == MERGE_AVE ? artel__op_affine(graph, sum, 0.5f, 0.0f) : sum;
}

/* Both layers over the sequence; the first half of the states given belongs to the first. */
static artel_status run_both(artel__layer *layer, artel__call *call, artel__tensor made[2][ARTEL__LAYER_OUTPUTS])
{
    artel__tensor state[2 * ARTEL__LAYER_OUTPUTS], in[ARTEL__LAYER_OUTPUTS + 1];
    int given = artel__recurrent_initial(call, state, 2 * ARTEL__LAYER_OUTPUTS);
    if (given < 0 || given % 2 != 0)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give the states of both layers",
                                 "its initial_state has the wrong number of tensors");
    for (int i = 0; i < 2; i++) {
        in[0] = (artel__tensor){call->in[0].value, artel__recurrent_mask(call, given > 0)};
        for (int k = 0; k < given / 2; k++) in[k + 1] = state[i * (given / 2) + k];
        artel__call inner = {.graph = call->graph, .in = in, .inputs = 1 + given / 2, .out = made[i]};
        ARTEL_TRY(artel__layer_call(layer->child[i].layer, &inner));
    }
    return ARTEL_OK;
}

static artel_status call_both(artel__layer *layer, artel__call *call)
{
    artel__graph *graph = call->graph;
    artel__recurrent_view v[2];
    artel__tensor made[2][ARTEL__LAYER_OUTPUTS];
    int outputs = 0;
    for (int i = 0; i < 2; i++) view_of(layer->child[i].layer, &v[i]);
    ARTEL_TRY(run_both(layer, call, made));
    artel__value_id a = made[0][0].value, b = made[1][0].value;
    artel__value_id mask = *v[0].return_sequences ? call->in[0].mask : ARTEL__NO_VALUE;
    if (*v[0].return_sequences) b = reverse(graph, b);
    json_t *mode = json_object_get(json_object_get(layer->record, "config"), "merge_mode");
    if (mode && json_is_null(mode)) {
        call->out[outputs++] = (artel__tensor){a, mask};
        call->out[outputs++] = (artel__tensor){b, mask};
    } else {
        call->out[outputs++] =
            (artel__tensor){merge(graph, ((const both_config *)layer->config)->merge_mode, a, b), mask};
    }
    for (int i = 0; i < 2 && *v[0].return_state; i++) {
        for (int k = 1; k <= v[i].states; k++)
            call->out[outputs++] = (artel__tensor){made[i][k].value, ARTEL__NO_VALUE};
    }
    call->outputs = outputs;
    return graph->status;
}

const artel__layer_def artel__layer_bidirectional_def = {
    .class_name = "Bidirectional",
    .doc = "A recurrent layer in both directions.",
    .config_size = sizeof(both_config),
    .options = both_options,
    .mask = ARTEL__MASK_OWN,
    .configure = configure_both,
    .call = call_both,
};
