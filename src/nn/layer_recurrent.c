/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU, SimpleRNN, and RNN around one of their cells or a stack of them (layer_recurrent_cell.c).
 *
 * Variables belong to a sublayer "cell", as in Keras: kernel, recurrent_kernel, bias. Stacked cells run over the whole
 * sequence one after the other, which is what they do step by step. Settings that only choose how Keras computes
 * (implementation, which no file holds, unroll, use_cudnn) are passed over. After keras/src/layers/rnn.
 */
#include "nn/layer_recurrent.h"

#include <string.h>

#include "nn/layer_recurrent_cell.h"
#include "nn/row_state.h"
#include "op/elementwise.h"
#include "op/shape_ops.h"

typedef artel__recurrent_config recurrent_config;

#define CONFIG ARTEL__RECURRENT_CONFIG
#define LAYER_OPTIONS                                                                                                 \
    {"return_sequences",                                                                                              \
     "give every step, not the last",                                                                                 \
     ARTEL__OPTION_BOOL,                                                                                              \
     CONFIG(return_sequences),                                                                                        \
     "false",                                                                                                         \
     0,                                                                                                               \
     0,                                                                                                               \
     NULL},                                                                                                           \
        {"return_state", "give the last states too", ARTEL__OPTION_BOOL, CONFIG(return_state), "false", 0, 0, NULL},  \
        {"go_backwards",                                                                                              \
         "from the last step to the first",                                                                           \
         ARTEL__OPTION_BOOL,                                                                                          \
         CONFIG(go_backwards),                                                                                        \
         "false",                                                                                                     \
         0,                                                                                                           \
         0,                                                                                                           \
         NULL},                                                                                                       \
        {"stateful", "keep states between batches", ARTEL__OPTION_BOOL, CONFIG(stateful), "false", 0, 0, NULL},       \
        {"zero_output_for_mask",                                                                                      \
         "zeros at masked steps",                                                                                     \
         ARTEL__OPTION_BOOL,                                                                                          \
         CONFIG(zero_output_for_mask),                                                                                \
         "false",                                                                                                     \
         0,                                                                                                           \
         0,                                                                                                           \
         NULL},                                                                                                       \
        ARTEL__PART("unroll", "accepted; chooses nothing here"),                                                      \
        ARTEL__PART("use_cudnn", "accepted; chooses nothing here"), ARTEL__PART("time_major", "accepted when false"), \
        ARTEL__PART("input_length", "accepted"), ARTEL__PART("input_dim", "accepted")

static const artel__option lstm_options[] = {ARTEL__CELL_OPTIONS, ARTEL__LSTM_OPTIONS, LAYER_OPTIONS,
                                             ARTEL__OPTIONS_END};
static const artel__option gru_options[] = {ARTEL__CELL_OPTIONS, ARTEL__GRU_OPTIONS, LAYER_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option simple_options[] = {ARTEL__CELL_OPTIONS, LAYER_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option rnn_options[] = {ARTEL__PART("cell", "record of the cell"), LAYER_OPTIONS,
                                            ARTEL__OPTIONS_END};

static artel_status hold_nothing(artel__layer *layer, artel__call *call)
{
    (void)layer, (void)call;
    return ARTEL_OK;
}

static const artel__layer_def holder_def = {
    .class_name = "variables", .doc = "Variables of a layer.", .call = hold_nothing};

artel_status artel__layer_add_holder(artel__layer *layer, const char *path, const char *name, artel__layer **out)
{
    artel__layer *held = artel__arena_alloc(layer->arena, 1, sizeof *held);
    artel__layer_child *wider = artel__arena_alloc(layer->arena, (size_t)layer->child_count + 1, sizeof *wider);
    if (!held || !wider) return ARTEL_ERROR_NO_MEMORY;
    *held = (artel__layer){.def = &holder_def,
                           .arena = layer->arena,
                           .variables = layer->variables,
                           .name = name,
                           .dtype = layer->dtype,
                           .variables_in = layer->variables_in,
                           .record = layer->record,
                           .trainable = true,
                           .built = true};
    held->scope = artel__arena_printf(layer->arena, "%s/%s", layer->scope, name);
    if (layer->child_count) memcpy(wider, layer->child, (size_t)layer->child_count * sizeof *wider);
    wider[layer->child_count++] = (artel__layer_child){path, held};
    layer->child = wider;
    *out = held;
    return artel__arena_status(layer->arena);
}

/* -- layers -- */

static artel_status refuse_settings(const artel__layer *layer)
{
    json_t *time_major = artel__layer_setting(layer, "time_major");
    if (time_major && !json_is_false(time_major))
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "put the batch first",
                                 "the setting \"time_major\" is not supported");
    return ARTEL_OK;
}

static artel_status configure_layer(artel__layer *layer, artel__cell cell, const char *name)
{
    artel__recurrent_cell *parts;
    artel__layer *held;
    ARTEL_TRY(refuse_settings(layer));
    ARTEL_TRY(artel__cell_read(layer, cell, &parts));
    ARTEL_TRY(artel__layer_add_holder(layer, "cell", name, &held));
    held->own = layer->own = parts;
    return ARTEL_OK;
}

static artel_status configure_lstm(artel__layer *layer)
{
    return configure_layer(layer, ARTEL__CELL_LSTM, "lstm_cell");
}

static artel_status configure_gru(artel__layer *layer)
{
    return configure_layer(layer, ARTEL__CELL_GRU, "gru_cell");
}

static artel_status configure_simple(artel__layer *layer)
{
    return configure_layer(layer, ARTEL__CELL_SIMPLE, "simple_rnn_cell");
}

static artel_status check_cell(const artel__layer *cell)
{
    if (artel__regularizer_is_none(&cell->activity)) return ARTEL_OK;
    return artel__layer_fail(cell, ARTEL_ERROR_UNSUPPORTED, "give it to the layer around the cell",
                             "the setting \"activity_regularizer\" of a cell is not supported");
}

static artel_status configure_rnn(artel__layer *layer)
{
    json_t *record = artel__layer_setting(layer, "cell");
    artel__layer *cell;
    ARTEL_TRY(refuse_settings(layer));
    if (!json_is_object(record))
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "save the model again with Keras",
                                 "the record of its cell is missing");
    ARTEL_TRY(artel__layer_add_child(layer, record, "cell", &cell));
    if (!artel__is_cell(cell) && !artel__is_stack(cell))
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED,
                                 "give it LSTMCell, GRUCell, SimpleRNNCell or StackedRNNCells",
                                 "the cell class %s is not supported", cell->def->class_name);
    if (artel__is_stack(cell) && ((const recurrent_config *)layer->config)->stateful)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "give a stateful layer one cell",
                                 "a stateful stack of cells is not supported");
    ARTEL_TRY(check_cell(cell));
    for (int i = 0; i < cell->child_count; i++) ARTEL_TRY(check_cell(cell->child[i].layer));
    return ARTEL_OK;
}

/* -- cells of a layer: one, or those of a stack -- */

static int cells_of(const artel__layer *layer)
{
    const artel__layer *cell = layer->child[0].layer;
    return artel__is_stack(cell) ? cell->child_count : 1;
}

static artel__layer *cell_of(const artel__layer *layer, int i)
{
    artel__layer *cell = layer->child[0].layer;
    return artel__is_stack(cell) ? cell->child[i].layer : cell;
}

static int states_of(const artel__layer *layer)
{
    int count = 0;
    for (int i = 0; i < cells_of(layer); i++) count += artel__cell_states(cell_of(layer, i));
    return count;
}

/* Graphs do not know it, but Keras writes down what it built from. */
artel_status artel__recurrent_batch(const artel__layer *layer, int64_t *out)
{
    json_t *shape = json_object_get(json_object_get(layer->record, "build_config"), "input_shape");
    bool said = artel__json_integer(json_array_get(shape, 0), out) && *out >= 1 && *out <= INT32_MAX;
    if (said) return ARTEL_OK;
    return artel__layer_fail(layer, ARTEL_ERROR_INVALID,
                             "build it with Input(batch_shape=...) and save the model again with Keras 3",
                             "it is stateful, and its record does not say for which batch size");
}

/* They belong to no layer as far as files are concerned: Keras saves none. */
static artel_status declare_states(artel__layer *layer, int i, int *number)
{
    const recurrent_config *c = layer->config;
    artel__recurrent_cell *parts = cell_of(layer, i)->own;
    if (!c->stateful) return ARTEL_OK;
    artel_shape shape = artel__shape(2, (int64_t)0, parts->config->units);
    ARTEL_TRY(artel__recurrent_batch(layer, &shape.dim[0]));
    for (int k = 0; k < artel__cell_states(cell_of(layer, i)); k++) {
        char *name = artel__arena_printf(layer->arena, "%s/rnn_state_%d", layer->scope, (*number)++);
        if (!name) return ARTEL_ERROR_NO_MEMORY;
        parts->state[k] =
            artel__variables_add(layer->variables, name, ARTEL__VARIABLE_ROW_STATE, layer->real, &shape, 0);
        if (parts->state[k] < 0) return (artel_status)parts->state[k];
    }
    return ARTEL_OK;
}

static artel_status build_recurrent(artel__layer *layer, const artel__call *call)
{
    const artel_shape *in = call->inputs ? artel__call_shape(call, 0) : NULL;
    int states = 0;
    if (!in || in->rank != 2)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "feed sequences of vectors",
                                 "its input has %d axes, expected 3", in ? in->rank + 1 : 0);
    int64_t width = in->dim[1];
    for (int i = 0; i < cells_of(layer); i++) {
        ARTEL_TRY(artel__cell_build(cell_of(layer, i), width));
        width = ((const artel__recurrent_cell *)cell_of(layer, i)->own)->config->units;
    }
    for (int i = 0; i < cells_of(layer); i++) ARTEL_TRY(declare_states(layer, i, &states));
    return ARTEL_OK;
}

/* -- calls -- */

/* Lists within a list, as many as there are cells, follow one another. */
static int take_states(const artel__call *call, json_t *given, artel__tensor *out, int room)
{
    if (!json_is_array(given)) {
        if (room < 1) return -1;
        out[0] = artel__call_tensor(call, given);
        return out[0].value < 0 ? -1 : 1;
    }
    int count = 0;
    for (size_t i = 0; i < json_array_size(given); i++) {
        int more = take_states(call, json_array_get(given, i), out + count, room - count);
        if (more < 0) return -1;
        count += more;
    }
    return count;
}

int artel__recurrent_initial(const artel__call *call, artel__tensor *out, int room)
{
    json_t *args = json_object_get(call->arguments, "args"), *given = artel__call_argument(call, "initial_state");
    if (!given || json_is_null(given)) given = json_array_get(args, 1);
    if (given && !json_is_null(given)) return take_states(call, given, out, room);
    if (call->arguments && !json_is_array(json_array_get(args, 0))) return 0;
    int count = call->inputs - 1;
    for (int i = 0; i < count && i < room; i++) out[i] = call->in[i + 1];
    return count > room ? -1 : count;
}

artel__value_id artel__recurrent_mask(const artel__call *call, bool states)
{
    bool dropped = states && call->arguments && !artel__call_argument(call, "mask");
    return dropped ? ARTEL__NO_VALUE : call->in[0].mask;
}

static artel_status check_call(const artel__layer *layer, const artel__call *call, artel__tensor *state)
{
    int states = states_of(layer), given = artel__recurrent_initial(call, state, states);
    if (given != 0 && given != states)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give one tensor for each state",
                                 "its initial_state is not %d tensor%s", states, states > 1 ? "s" : "");
    return ARTEL_OK;
}

/* States that are kept, unless others were given. Two calls in one graph would have to follow one another. */
static artel_status read_states(artel__layer *layer, artel__graph *graph, int i, artel__value_id *state)
{
    const artel__layer *cell = cell_of(layer, i);
    const artel__recurrent_cell *parts = cell->own;
    if (parts->state[0] < graph->variable_values && graph->variable_value[parts->state[0]] >= 0)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "call it once",
                                 "a stateful layer that is called twice is not supported");
    for (int k = 0; k < artel__cell_states(cell); k++) {
        artel__value_id kept = artel__graph_variable(graph, parts->state[k]);
        if (k == 0 || state[k] < 0) kept = artel__row_state_read(graph, kept);
        if (state[k] < 0) state[k] = kept;
    }
    return graph->status;
}

static artel__value_id turned(artel__graph *graph, artel__value_id x)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    int64_t steps = graph->value[x].shape.dim[0];
    return steps < 2 ? x : artel__op_slice(graph, x, 0, steps - 1, steps, -1);
}

/* Cell by cell: all but the last give sequences. The first may go backwards; what it hands on is turned round already.
 */
static artel_status call_recurrent(artel__layer *layer, artel__call *call)
{
    const recurrent_config *c = layer->config;
    artel__graph *graph = call->graph;
    artel__tensor state[ARTEL__LAYER_OUTPUTS];
    int states = states_of(layer), seen = 0, cells = cells_of(layer);
    for (int i = 0; i < states; i++) state[i] = (artel__tensor){ARTEL__NO_VALUE, ARTEL__NO_VALUE};
    ARTEL_TRY(check_call(layer, call, state));
    artel__cell_run run = {.x = artel__as_float(graph, call->in[0].value),
                           .mask = artel__recurrent_mask(call, state[0].value >= 0)};
    for (int i = 0; i < cells; i++) {
        artel__layer *cell = cell_of(layer, i);
        int own = artel__cell_states(cell);
        for (int k = 0; k < 2; k++)
            run.state[k] =
                k < own && state[seen + k].value >= 0 ? artel__as_float(graph, state[seen + k].value) : ARTEL__NO_VALUE;
        run.go_backwards = c->go_backwards && i == 0;
        if (c->go_backwards && i == 1) run.mask = turned(graph, run.mask);
        run.zero_output_for_mask = c->zero_output_for_mask && i + 1 == cells;
        run.sequences = c->return_sequences || i + 1 < cells;
        if (c->stateful) ARTEL_TRY(read_states(layer, graph, i, run.state));
        artel__value_id last[2] = {ARTEL__NO_VALUE, ARTEL__NO_VALUE};
        run.x = artel__cell_over(cell, graph, &run, last);
        ARTEL_TRY(graph->status);
        for (int k = 0; k < own; k++) {
            if (c->stateful)
                artel__row_state_write(
                    graph, artel__graph_variable(graph, ((artel__recurrent_cell *)cell->own)->state[k]), last[k]);
            if (c->return_state) call->out[1 + seen + k] = (artel__tensor){last[k], ARTEL__NO_VALUE};
        }
        seen += own;
    }
    call->outputs = 1 + (c->return_state ? states : 0);
    call->out[0] = (artel__tensor){run.x, c->return_sequences ? call->in[0].mask : ARTEL__NO_VALUE};
    return ARTEL_OK;
}

bool artel__recurrent_view_of(const artel__layer *layer, artel__recurrent_view *out)
{
    recurrent_config *c = layer->config;
    if (layer->def->call != call_recurrent) return false;
    *out = (artel__recurrent_view){&c->return_sequences, &c->return_state, &c->go_backwards, &c->zero_output_for_mask,
                                   states_of(layer)};
    return true;
}

#define RECURRENT(symbol, name, table, configuration, sentence) \
    const artel__layer_def artel__layer_##symbol##_def = {      \
        .class_name = name,                                     \
        .doc = sentence,                                        \
        .config_size = sizeof(recurrent_config),                \
        .options = table,                                       \
        .mask = ARTEL__MASK_OWN,                                \
        .configure = configuration,                             \
        .build = build_recurrent,                               \
        .call = call_recurrent,                                 \
    }

RECURRENT(lstm, "LSTM", lstm_options, configure_lstm, "Long short-term memory over a sequence.");
RECURRENT(gru, "GRU", gru_options, configure_gru, "Gated recurrent units over a sequence.");
RECURRENT(simple_rnn, "SimpleRNN", simple_options, configure_simple, "A fully connected recurrence over a sequence.");
RECURRENT(rnn, "RNN", rnn_options, configure_rnn, "One of the cells over a sequence.");
