/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU, SimpleRNN, and RNN around one of their cells.
 *
 * The input is projected for all steps at once, a product with a bias; the rest is one operation over the sequence (op/recurrent.h).
 * Variables belong to a sublayer "cell", as in Keras: kernel, recurrent_kernel, bias. A mask of dropout is drawn once for a row and
 * holds for all its steps. Beside recurrent_dropout the gates of LSTM and GRU draw masks of their own, of the state and of the input
 * (Keras' implementation 1, which it forces then); else all gates see one input. Settings that only choose how Keras computes
 * (implementation, which no file holds, unroll, use_cudnn) are passed over. After keras/src/layers/rnn.
 */
#include "nn/layer_recurrent.h"

#include <string.h>

#include "nn/row_state.h"
#include "op/elementwise.h"
#include "op/recurrent.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

typedef artel__recurrent_config recurrent_config;

/* A cell as it will be computed; the `own` of the sublayer "cell". */
typedef struct cell_parts {
    artel__cell cell;
    const recurrent_config *config;
    artel__cell_activation activation, recurrent;
    artel__weight_parts kernel, recurrent_kernel, bias;
    int state[2]; /* variables of a stateful layer */
} cell_parts;

#define CONFIG(field) offsetof(recurrent_config, field)
#define CELL_OPTIONS                                                                                                                      \
    {"units", "number of outputs", ARTEL__OPTION_INT, CONFIG(units), NULL, 1, INT32_MAX / 4, NULL},                                       \
        {"use_bias", "whether biases are added", ARTEL__OPTION_BOOL, CONFIG(use_bias), "true", 0, 0, NULL},                               \
        {"dropout", "share of the inputs dropped", ARTEL__OPTION_FLOAT, CONFIG(dropout), "0", 0, 1, NULL},                                \
        {"recurrent_dropout", "share of the states dropped", ARTEL__OPTION_FLOAT, CONFIG(recurrent_dropout), "0", 0, 1, NULL},            \
        ARTEL__PART("activation", "activation: a name or a record"), ARTEL__PART("seed", "accepted; --seed decides"),                     \
        ARTEL__PART("implementation", "accepted; chooses nothing here"), ARTEL__WEIGHT_PARTS("kernel"), ARTEL__WEIGHT_PARTS("recurrent"), \
        ARTEL__WEIGHT_PARTS("bias")
#define GATE_OPTIONS ARTEL__PART("recurrent_activation", "activation of the gates: a name or a record")
#define LSTM_OPTIONS                                                                                                              \
    GATE_OPTIONS,                                                                                                                 \
    {                                                                                                                             \
        "unit_forget_bias", "start the forget gate's bias at 1", ARTEL__OPTION_BOOL, CONFIG(unit_forget_bias), "true", 0, 0, NULL \
    }
#define GRU_OPTIONS                                                                                            \
    GATE_OPTIONS,                                                                                              \
    {                                                                                                          \
        "reset_after", "reset behind the product", ARTEL__OPTION_BOOL, CONFIG(reset_after), "true", 0, 0, NULL \
    }
#define LAYER_OPTIONS                                                                                                             \
    {"return_sequences", "give every step, not the last", ARTEL__OPTION_BOOL, CONFIG(return_sequences), "false", 0, 0, NULL},     \
        {"return_state", "give the last states too", ARTEL__OPTION_BOOL, CONFIG(return_state), "false", 0, 0, NULL},              \
        {"go_backwards", "from the last step to the first", ARTEL__OPTION_BOOL, CONFIG(go_backwards), "false", 0, 0, NULL},       \
        {"stateful", "keep states between batches", ARTEL__OPTION_BOOL, CONFIG(stateful), "false", 0, 0, NULL},                   \
        {"zero_output_for_mask", "zeros at masked steps", ARTEL__OPTION_BOOL, CONFIG(zero_output_for_mask), "false", 0, 0, NULL}, \
        ARTEL__PART("unroll", "accepted; chooses nothing here"), ARTEL__PART("use_cudnn", "accepted; chooses nothing here"),      \
        ARTEL__PART("time_major", "accepted when false"), ARTEL__PART("input_length", "accepted"), ARTEL__PART("input_dim", "accepted")

static const artel__option lstm_options[] = {CELL_OPTIONS, LSTM_OPTIONS, LAYER_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option gru_options[] = {CELL_OPTIONS, GRU_OPTIONS, LAYER_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option simple_options[] = {CELL_OPTIONS, LAYER_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option lstm_cell_options[] = {CELL_OPTIONS, LSTM_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option gru_cell_options[] = {CELL_OPTIONS, GRU_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option simple_cell_options[] = {CELL_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option rnn_options[] = {ARTEL__PART("cell", "record of the cell"), LAYER_OPTIONS, ARTEL__OPTIONS_END};

/* -- cells -- */

static artel_status read_activation(artel__layer *layer, const char *key, const char *fallback, artel__cell_activation *out)
{
    artel__activation_config activation = {0};
    json_t *config = json_object_get(layer->record, "config");
    if (json_object_get(config, key)) {
        ARTEL_TRY(artel__layer_activation(layer, key, &activation));
    } else {
        json_t *name = json_string(fallback);
        if (!name) return artel__fail_memory(layer->arena->ctx, layer->name, 1);
        artel_status status = artel__activation_read(layer->arena, layer->name, name, &activation);
        json_decref(name);
        ARTEL_TRY(status);
    }
    int function = artel__activation_unary(&activation);
    if (function < 0)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "use an element-wise activation", "the activation \"%s\" is not supported",
                                 artel__activation_name(&activation));
    *out = (artel__cell_activation){.function = (artel__unary)function};
    memcpy(out->parameter, activation.parameter, sizeof out->parameter);
    return ARTEL_OK;
}

/* Reads a cell from the settings of `layer`, a cell or a layer that has its settings. */
static artel_status read_cell(artel__layer *layer, artel__cell cell, cell_parts **out)
{
    cell_parts *parts = *out = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    parts->cell = cell;
    parts->config = layer->config;
    ARTEL_TRY(read_activation(layer, "activation", "tanh", &parts->activation));
    if (cell != ARTEL__CELL_SIMPLE) ARTEL_TRY(read_activation(layer, "recurrent_activation", "sigmoid", &parts->recurrent));
    ARTEL_TRY(artel__layer_weight_parts(layer, "kernel", "glorot_uniform", &parts->kernel));
    ARTEL_TRY(artel__layer_weight_parts(layer, "recurrent", "orthogonal", &parts->recurrent_kernel));
    ARTEL_TRY(artel__layer_weight_parts(layer, "bias", "zeros", &parts->bias));
    if (cell == ARTEL__CELL_LSTM && parts->config->unit_forget_bias) artel__initializer_forget_bias(&parts->bias.initializer);
    return ARTEL_OK;
}

static artel_status configure_cell(artel__layer *layer, artel__cell cell)
{
    cell_parts *parts;
    ARTEL_TRY(read_cell(layer, cell, &parts));
    layer->own = parts;
    return ARTEL_OK;
}

static artel_status configure_lstm_cell(artel__layer *layer)
{
    return configure_cell(layer, ARTEL__CELL_LSTM);
}

static artel_status configure_gru_cell(artel__layer *layer)
{
    return configure_cell(layer, ARTEL__CELL_GRU);
}

static artel_status configure_simple_cell(artel__layer *layer)
{
    return configure_cell(layer, ARTEL__CELL_SIMPLE);
}

static artel_status call_cell(artel__layer *layer, artel__call *call)
{
    (void)call;
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "put the cell into an RNN layer", "a cell called by itself is not supported");
}

#define CELL(symbol, name, table, configuration, sentence) \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(recurrent_config),           \
        .options = table,                                  \
        .mask = ARTEL__MASK_OWN,                           \
        .configure = configuration,                        \
        .call = call_cell,                                 \
    }

CELL(lstm_cell, "LSTMCell", lstm_cell_options, configure_lstm_cell, "One step of an LSTM, inside RNN.");
CELL(gru_cell, "GRUCell", gru_cell_options, configure_gru_cell, "One step of a GRU, inside RNN.");
CELL(simple_rnn_cell, "SimpleRNNCell", simple_cell_options, configure_simple_cell, "One step of a SimpleRNN, inside RNN.");

static artel_status hold_nothing(artel__layer *layer, artel__call *call)
{
    (void)layer, (void)call;
    return ARTEL_OK;
}

static const artel__layer_def holder_def = {.class_name = "variables", .doc = "Variables of a layer.", .call = hold_nothing};

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
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "put the batch first", "the setting \"time_major\" is not supported");
    return ARTEL_OK;
}

static artel_status configure_layer(artel__layer *layer, artel__cell cell, const char *name)
{
    cell_parts *parts;
    artel__layer *held;
    ARTEL_TRY(refuse_settings(layer));
    ARTEL_TRY(read_cell(layer, cell, &parts));
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

static artel_status configure_rnn(artel__layer *layer)
{
    json_t *record = artel__layer_setting(layer, "cell");
    artel__layer *cell;
    ARTEL_TRY(refuse_settings(layer));
    if (!json_is_object(record))
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "give it one LSTMCell, GRUCell or SimpleRNNCell",
                                 "a list of cells is not supported");
    ARTEL_TRY(artel__layer_add_child(layer, record, "cell", &cell));
    if (cell->def->call != call_cell)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "give it one LSTMCell, GRUCell or SimpleRNNCell",
                                 "the cell class %s is not supported", cell->def->class_name);
    if (cell->activity.l1 != 0 || cell->activity.l2 != 0)
        return artel__layer_fail(cell, ARTEL_ERROR_UNSUPPORTED, "give it to the layer around the cell",
                                 "the setting \"activity_regularizer\" of a cell is not supported");
    layer->own = cell->own;
    return ARTEL_OK;
}

/* The batch that a stateful layer was built for; graphs do not know it, but Keras writes down what it built from. */
static int64_t built_batch(const artel__layer *layer)
{
    int64_t batch = -1;
    json_t *shape = json_object_get(json_object_get(layer->record, "build_config"), "input_shape");
    return artel__json_integer(json_array_get(shape, 0), &batch) ? batch : -1;
}

/* They belong to no layer as far as files are concerned: Keras saves none. */
static artel_status declare_states(artel__layer *layer)
{
    const recurrent_config *c = layer->config;
    cell_parts *parts = layer->own;
    if (!c->stateful) return ARTEL_OK;
    artel_shape shape = artel__shape(2, built_batch(layer), parts->config->units);
    if (shape.dim[0] < 1 || shape.dim[0] > INT32_MAX)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "build it with Input(batch_shape=...) and save the model again with Keras 3",
                                 "it is stateful, and its record does not say for which batch size");
    for (int i = 0; i < artel__recurrent_states(layer); i++) {
        char *name = artel__arena_printf(layer->arena, "%s/rnn_state_%d", layer->scope, i);
        if (!name) return ARTEL_ERROR_NO_MEMORY;
        parts->state[i] = artel__variables_add(layer->variables, name, ARTEL__VARIABLE_ROW_STATE, ARTEL_DTYPE_FLOAT32, &shape, 0);
        if (parts->state[i] < 0) return (artel_status)parts->state[i];
    }
    return ARTEL_OK;
}

static artel_status build_recurrent(artel__layer *layer, const artel__call *call)
{
    const cell_parts *parts = layer->own;
    artel__layer *cell = layer->child[0].layer;
    int64_t u = parts->config->units, g = artel__cell_gates(parts->cell) * u;
    const artel_shape *in = call->inputs ? artel__call_shape(call, 0) : NULL;
    if (!in || in->rank != 2)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "feed sequences of vectors", "its input has %d axes, expected 3",
                                 in ? in->rank + 1 : 0);
    artel_shape kernel = artel__shape(2, in->dim[1], g), recurrent = artel__shape(2, u, g), bias = artel__shape(1, g);
    if (parts->cell == ARTEL__CELL_GRU && parts->config->reset_after) bias = artel__shape(2, 2, g);
    ARTEL_TRY(artel__layer_declare(cell, "kernel", &kernel, kernel.dim[0], true, &parts->kernel));
    ARTEL_TRY(artel__layer_declare(cell, "recurrent_kernel", &recurrent, u, true, &parts->recurrent_kernel));
    if (parts->config->use_bias) ARTEL_TRY(artel__layer_declare(cell, "bias", &bias, 0, true, &parts->bias));
    cell->built = true;
    return declare_states(layer);
}

int artel__recurrent_initial(const artel__call *call, artel__tensor *out, int room)
{
    json_t *args = json_object_get(call->arguments, "args"), *given = artel__call_argument(call, "initial_state");
    int count = 0;
    if (!given || json_is_null(given)) given = json_array_get(args, 1);
    if (given && !json_is_null(given)) {
        bool list = json_is_array(given);
        count = list ? (int)json_array_size(given) : 1;
        for (int i = 0; i < count && i < room; i++) {
            out[i] = artel__call_tensor(call, list ? json_array_get(given, (size_t)i) : given);
            if (out[i].value < 0) return -1;
        }
        return count > room ? -1 : count;
    }
    if (call->arguments && !json_is_array(json_array_get(args, 0))) return 0;
    count = call->inputs - 1;
    for (int i = 0; i < count && i < room; i++) out[i] = call->in[i + 1];
    return count > room ? -1 : count;
}

/* Row `n` of a (2, 3u) bias. */
static artel__value_id bias_row(artel__graph *graph, artel__value_id bias, int64_t n)
{
    if (graph->status < 0 || bias < 0) return ARTEL__NO_VALUE;
    artel_shape row = artel__shape(1, graph->value[bias].shape.dim[1]);
    return artel__op_reshape(graph, artel__op_slice(graph, bias, 0, n, 1, 1), &row);
}

artel__value_id artel__recurrent_mask(const artel__call *call, bool states)
{
    bool dropped = states && call->arguments && !artel__call_argument(call, "mask");
    return dropped ? ARTEL__NO_VALUE : call->in[0].mask;
}

static artel_status check_call(const artel__layer *layer, const artel__call *call, artel__tensor *state)
{
    int states = artel__recurrent_states(layer), given = artel__recurrent_initial(call, state, states);
    if (given != 0 && given != states)
        return artel__layer_fail(layer, ARTEL_ERROR_INVALID, "give one tensor for each state", "its initial_state is not %d tensor%s",
                                 states, states > 1 ? "s" : "");
    return ARTEL_OK;
}

/* -- dropout -- */

/* Ones of [gates][width] and a drawn mask over them, 0 or 1 / (1 - rate). `like` is ROW, of any shape. */
static artel__value_id draw_factors(artel__graph *graph, artel__value_id like, double rate, const artel_shape *shape)
{
    if (graph->status < 0 || like < 0) return ARTEL__NO_VALUE;
    artel_shape one = artel__shape(1, (int64_t)1);
    artel__value_id x = artel__op_reduce(graph, ARTEL__REDUCE_SUM, like, (1u << graph->value[like].shape.rank) - 1u, false);
    x = artel__op_broadcast_to(graph, artel__op_reshape(graph, x, &one), shape);
    return artel__op_dropout(graph, artel__op_fill_like(graph, x, 1), rate, NULL);
}

/* Whether each gate draws masks of its own. */
static bool gates_apart(const cell_parts *parts)
{
    return parts->config->recurrent_dropout > 0 && parts->cell != ARTEL__CELL_SIMPLE;
}

/* Keras drops nothing at a rate of 1 where the gates are apart. */
static bool drops(const artel__graph *graph, const cell_parts *parts, double rate)
{
    return graph->training && rate > 0 && (rate < 1 || !gates_apart(parts));
}

/* x kernel + bias for all gates; under dropout. */
static artel__value_id project(artel__layer *layer, artel__graph *graph, artel__value_id x, artel__value_id bias)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    const cell_parts *parts = layer->own;
    int64_t u = parts->config->units, gates = artel__cell_gates(parts->cell);
    artel_shape columns = artel__shape(1, gates * u), noise = artel__shape(2, (int64_t)1, graph->value[x].shape.dim[1]);
    artel__value_id kernel = artel__layer_weight(layer->child[0].layer, graph, 0), gate[4];
    if (!drops(graph, parts, parts->config->dropout)) return artel__op_product(graph, x, kernel, bias, 1, &columns, ARTEL__FUSED_NONE);
    for (int k = 0; k < (gates_apart(parts) ? gates : 1); k++) {
        gate[k] = artel__op_dropout(graph, x, parts->config->dropout, &noise);
        gate[k] = artel__op_product(graph, gate[k], kernel, bias, 1, &columns, ARTEL__FUSED_NONE);
        if (gates_apart(parts)) gate[k] = artel__op_slice(graph, gate[k], 1, k * u, u, 1);
    }
    return gates_apart(parts) ? artel__op_concat(graph, gate, (int)gates, 1) : gate[0];
}

/* States that are kept, unless others were given. Two calls in one graph would have to follow one another. */
static artel_status read_states(artel__layer *layer, artel__graph *graph, artel__recurrent *r)
{
    const cell_parts *parts = layer->own;
    if (parts->state[0] < graph->variable_values && graph->variable_value[parts->state[0]] >= 0)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "call it once", "a stateful layer that is called twice is not supported");
    artel__value_id h = artel__row_state_read(graph, artel__graph_variable(graph, parts->state[0]));
    if (r->h0 < 0) r->h0 = h;
    if (parts->cell == ARTEL__CELL_LSTM && r->c0 < 0) r->c0 = artel__row_state_read(graph, artel__graph_variable(graph, parts->state[1]));
    return graph->status;
}

static artel_status call_recurrent(artel__layer *layer, artel__call *call)
{
    const recurrent_config *c = layer->config;
    const cell_parts *parts = layer->own;
    const artel__layer *cell = layer->child[0].layer;
    artel__graph *graph = call->graph;
    artel__tensor state[2] = {{ARTEL__NO_VALUE, ARTEL__NO_VALUE}, {ARTEL__NO_VALUE, ARTEL__NO_VALUE}};
    ARTEL_TRY(check_call(layer, call, state));
    artel_shape factors = artel__shape(2, artel__cell_gates(parts->cell), parts->config->units);
    artel__value_id x = artel__as_float(graph, call->in[0].value), bias = ARTEL__NO_VALUE, recurrent_bias = ARTEL__NO_VALUE;
    if (parts->config->use_bias) bias = artel__layer_weight(cell, graph, 2);
    if (parts->cell == ARTEL__CELL_GRU && parts->config->reset_after) {
        recurrent_bias = bias_row(graph, bias, 1);
        bias = bias_row(graph, bias, 0);
    }
    artel__recurrent r = {.settings = {.cell = parts->cell,
                                       .units = parts->config->units,
                                       .activation = parts->activation,
                                       .recurrent = parts->recurrent,
                                       .reset_after = parts->config->reset_after,
                                       .go_backwards = c->go_backwards,
                                       .zero_output_for_mask = c->zero_output_for_mask,
                                       .sequences = c->return_sequences},
                          .projected = project(layer, graph, x, bias),
                          .weights = artel__layer_weight(cell, graph, 1),
                          .bias = recurrent_bias,
                          .mask = artel__recurrent_mask(call, state[0].value >= 0),
                          .h0 = state[0].value >= 0 ? artel__as_float(graph, state[0].value) : ARTEL__NO_VALUE,
                          .c0 = state[1].value >= 0 ? artel__as_float(graph, state[1].value) : ARTEL__NO_VALUE,
                          .keep = ARTEL__NO_VALUE};
    if (drops(graph, parts, parts->config->recurrent_dropout)) r.keep = draw_factors(graph, x, parts->config->recurrent_dropout, &factors);
    if (c->stateful) ARTEL_TRY(read_states(layer, graph, &r));
    artel__value_id out = artel__op_recurrent(graph, &r);
    ARTEL_TRY(graph->status);
    for (int i = 0; c->stateful && i < artel__recurrent_states(layer); i++)
        artel__row_state_write(graph, artel__graph_variable(graph, parts->state[i]), artel__graph_output(graph, out, i + 1));
    call->outputs = 1 + (c->return_state ? artel__recurrent_states(layer) : 0);
    for (int i = 0; i < call->outputs; i++) call->out[i] = (artel__tensor){artel__graph_output(graph, out, i), ARTEL__NO_VALUE};
    if (c->return_sequences) call->out[0].mask = call->in[0].mask;
    return ARTEL_OK;
}

artel__recurrent_config *artel__recurrent_config_of(const artel__layer *layer)
{
    return layer->def->call == call_recurrent ? layer->config : NULL;
}

int artel__recurrent_states(const artel__layer *layer)
{
    return ((const cell_parts *)layer->own)->cell == ARTEL__CELL_LSTM ? 2 : 1;
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
