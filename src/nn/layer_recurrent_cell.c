/* SPDX-License-Identifier: Apache-2.0 */
/* LSTMCell, GRUCell, SimpleRNNCell and StackedRNNCells, inside RNN; and a cell over a sequence, which LSTM, GRU and
 * SimpleRNN are too.
 *
 * The input is projected for all steps at once, a product with a bias; the rest is one operation over the sequence
 * (op/recurrent.h). A mask of dropout is drawn once for a row and holds for all its steps. Beside recurrent_dropout the
 * gates of LSTM and GRU draw masks of their own, of the state and of the input (Keras' implementation 1, which it
 * forces then); else all gates see one input. After keras/src/layers/rnn.
 */
#include "nn/layer_recurrent_cell.h"
#include "op/recurrent_float64.h"

#include <stdio.h>
#include <string.h>

#include "nn/model.h"
#include "op/elementwise.h"
#include "op/reduce.h"
#include "op/shape_ops.h"

static const artel__option lstm_cell_options[] = {ARTEL__CELL_OPTIONS, ARTEL__LSTM_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option gru_cell_options[] = {ARTEL__CELL_OPTIONS, ARTEL__GRU_OPTIONS, ARTEL__OPTIONS_END};
static const artel__option simple_cell_options[] = {ARTEL__CELL_OPTIONS, ARTEL__OPTIONS_END};
enum {
    MOST_CELLS = 7 /* their states are outputs of a layer */
};

static const artel__option stack_options[] = {ARTEL__PART("cells", "list of records of cells"), ARTEL__OPTIONS_END};

static artel_status read_activation(artel__layer *layer, const char *key, const char *fallback,
                                    artel__cell_activation *out)
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
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "use an element-wise activation",
                                 "the activation \"%s\" is not supported", artel__activation_name(&activation));
    for (int i = 0; i < 3 && layer->real == ARTEL_DTYPE_FLOAT64; i++) {
        if ((double)activation.parameter[i] != activation.exact[i])
            return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "use an activation without settings",
                                     "the activation \"%s\" of a cell does not compute in float64 with these settings",
                                     artel__activation_name(&activation));
    }
    *out = (artel__cell_activation){.function = (artel__unary)function};
    memcpy(out->parameter, activation.parameter, sizeof out->parameter);
    return ARTEL_OK;
}

artel_status artel__cell_read(artel__layer *layer, artel__cell cell, artel__recurrent_cell **out)
{
    artel__recurrent_cell *parts = *out = artel__arena_alloc(layer->arena, 1, sizeof *parts);
    if (!parts) return ARTEL_ERROR_NO_MEMORY;
    parts->cell = cell;
    parts->config = layer->config;
    ARTEL_TRY(read_activation(layer, "activation", "tanh", &parts->activation));
    if (cell != ARTEL__CELL_SIMPLE)
        ARTEL_TRY(read_activation(layer, "recurrent_activation", "sigmoid", &parts->recurrent));
    ARTEL_TRY(artel__layer_weight_parts(layer, "kernel", "glorot_uniform", &parts->kernel));
    ARTEL_TRY(artel__layer_weight_parts(layer, "recurrent", "orthogonal", &parts->recurrent_kernel));
    ARTEL_TRY(artel__layer_weight_parts(layer, "bias", "zeros", &parts->bias));
    if (cell == ARTEL__CELL_LSTM && parts->config->unit_forget_bias)
        artel__initializer_forget_bias(&parts->bias.initializer);
    return ARTEL_OK;
}

static artel_status configure_cell(artel__layer *layer, artel__cell cell)
{
    artel__recurrent_cell *parts;
    ARTEL_TRY(artel__cell_read(layer, cell, &parts));
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
    return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "put the cell into an RNN layer",
                             "a cell called by itself is not supported");
}

#define CELL(symbol, name, table, configuration, sentence) \
    const artel__layer_def artel__layer_##symbol##_def = { \
        .class_name = name,                                \
        .doc = sentence,                                   \
        .config_size = sizeof(artel__recurrent_config),    \
        .options = table,                                  \
        .mask = ARTEL__MASK_OWN,                           \
        .configure = configuration,                        \
        .call = call_cell,                                 \
    }

CELL(lstm_cell, "LSTMCell", lstm_cell_options, configure_lstm_cell, "One step of an LSTM, inside RNN.");
CELL(gru_cell, "GRUCell", gru_cell_options, configure_gru_cell, "One step of a GRU, inside RNN.");
CELL(simple_rnn_cell, "SimpleRNNCell", simple_cell_options, configure_simple_cell,
     "One step of a SimpleRNN, inside RNN.");

bool artel__is_cell(const artel__layer *layer)
{
    return layer->def->call == call_cell && layer->own;
}

/* -- cells one upon another -- */

/* Which files call "cells/lstm_cell", "cells/lstm_cell_1". */
static artel_status add_cell(artel__layer *layer, json_t *record)
{
    char snake[128], path[192];
    const char *class_name = json_string_value(json_object_get(record, "class_name"));
    artel__layer *cell;
    int same = 0;
    for (int i = 0; i < layer->child_count && class_name; i++)
        same += strcmp(layer->child[i].layer->def->class_name, class_name) == 0;
    artel__snake_case(class_name ? class_name : "", snake, sizeof snake);
    snprintf(path, sizeof path, same ? "cells/%s_%d" : "cells/%s", snake, same);
    ARTEL_TRY(artel__layer_add_child(layer, record, path, &cell));
    if (!artel__is_cell(cell))
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "stack LSTMCell, GRUCell and SimpleRNNCell",
                                 "the cell class %s is not supported", cell->def->class_name);
    return ARTEL_OK;
}

static artel_status configure_stack(artel__layer *layer)
{
    json_t *cells = artel__layer_setting(layer, "cells"), *record;
    size_t i;
    if (!json_is_array(cells) || json_array_size(cells) < 1 || json_array_size(cells) > MOST_CELLS)
        return artel__layer_fail(layer, ARTEL_ERROR_UNSUPPORTED, "stack one to seven cells",
                                 "its cells are no list of one to %d", MOST_CELLS);
    json_array_foreach(cells, i, record) ARTEL_TRY(add_cell(layer, record));
    return ARTEL_OK;
}

const artel__layer_def artel__layer_stacked_rnn_cells_def = {
    .class_name = "StackedRNNCells",
    .doc = "Cells one upon another, inside RNN.",
    .options = stack_options,
    .mask = ARTEL__MASK_OWN,
    .configure = configure_stack,
    .call = call_cell,
};

bool artel__is_stack(const artel__layer *layer)
{
    return layer->def == &artel__layer_stacked_rnn_cells_def;
}

/* -- a cell over a sequence -- */

artel_status artel__cell_build(artel__layer *cell, int64_t width)
{
    const artel__recurrent_cell *parts = cell->own;
    int64_t u = parts->config->units, g = artel__cell_gates(parts->cell) * u;
    artel_shape kernel = artel__shape(2, width, g), recurrent = artel__shape(2, u, g), bias = artel__shape(1, g);
    if (parts->cell == ARTEL__CELL_GRU && parts->config->reset_after) bias = artel__shape(2, 2, g);
    ARTEL_TRY(artel__layer_declare(cell, "kernel", &kernel, kernel.dim[0], true, &parts->kernel));
    ARTEL_TRY(artel__layer_declare(cell, "recurrent_kernel", &recurrent, u, true, &parts->recurrent_kernel));
    if (parts->config->use_bias) ARTEL_TRY(artel__layer_declare(cell, "bias", &bias, 0, true, &parts->bias));
    cell->built = true;
    return ARTEL_OK;
}

/* Row `n` of a (2, 3u) bias. */
static artel__value_id bias_row(artel__graph *graph, artel__value_id bias, int64_t n)
{
    if (graph->status < 0 || bias < 0) return ARTEL__NO_VALUE;
    artel_shape row = artel__shape(1, graph->value[bias].shape.dim[1]);
    return artel__op_reshape(graph, artel__op_slice(graph, bias, 0, n, 1, 1), &row);
}

/* Ones of [gates][width] and a drawn mask over them, 0 or 1 / (1 - rate). `like` is ROW, of any shape. */
static artel__value_id draw_factors(artel__graph *graph, artel__value_id like, double rate, const artel_shape *shape)
{
    if (graph->status < 0 || like < 0) return ARTEL__NO_VALUE;
    artel_shape one = artel__shape(1, (int64_t)1);
    artel__value_id x =
        artel__op_reduce(graph, ARTEL__REDUCE_SUM, like, (1u << graph->value[like].shape.rank) - 1u, false);
    x = artel__op_broadcast_to(graph, artel__op_reshape(graph, x, &one), shape);
    return artel__op_dropout(graph, artel__op_fill_like(graph, x, 1), rate, NULL);
}

/* Whether each gate draws masks of its own. */
static bool gates_apart(const artel__recurrent_cell *parts)
{
    return parts->config->recurrent_dropout > 0 && parts->cell != ARTEL__CELL_SIMPLE;
}

/* Keras drops nothing at a rate of 1 where the gates are apart. */
static bool drops(const artel__graph *graph, const artel__recurrent_cell *parts, double rate)
{
    return graph->training && rate > 0 && (rate < 1 || !gates_apart(parts));
}

/* x kernel + bias for all gates; under dropout. */
static artel__value_id project(artel__layer *cell, artel__graph *graph, artel__value_id x, artel__value_id bias)
{
    if (graph->status < 0 || x < 0) return ARTEL__NO_VALUE;
    const artel__recurrent_cell *parts = cell->own;
    int64_t u = parts->config->units, gates = artel__cell_gates(parts->cell);
    artel_shape columns = artel__shape(1, gates * u), noise = artel__shape(2, (int64_t)1, graph->value[x].shape.dim[1]);
    artel__value_id kernel = artel__layer_weight(cell, graph, 0), gate[4];
    if (!drops(graph, parts, parts->config->dropout))
        return artel__op_product(graph, x, kernel, bias, 1, &columns, ARTEL__FUSED_NONE);
    for (int k = 0; k < (gates_apart(parts) ? gates : 1); k++) {
        gate[k] = artel__op_dropout(graph, x, parts->config->dropout, &noise);
        gate[k] = artel__op_product(graph, gate[k], kernel, bias, 1, &columns, ARTEL__FUSED_NONE);
        if (gates_apart(parts)) gate[k] = artel__op_slice(graph, gate[k], 1, k * u, u, 1);
    }
    return gates_apart(parts) ? artel__op_concat(graph, gate, (int)gates, 1) : gate[0];
}

artel__value_id artel__cell_over(artel__layer *cell, artel__graph *graph, const artel__cell_run *run,
                                 artel__value_id last[2])
{
    const artel__recurrent_cell *parts = cell->own;
    artel_shape factors = artel__shape(2, artel__cell_gates(parts->cell), parts->config->units);
    artel__value_id bias = ARTEL__NO_VALUE, recurrent_bias = ARTEL__NO_VALUE;
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
                                       .go_backwards = run->go_backwards,
                                       .zero_output_for_mask = run->zero_output_for_mask,
                                       .sequences = run->sequences},
                          .projected = project(cell, graph, run->x, bias),
                          .weights = artel__layer_weight(cell, graph, 1),
                          .bias = recurrent_bias,
                          .mask = run->mask,
                          .h0 = run->state[0],
                          .c0 = run->state[1],
                          .keep = ARTEL__NO_VALUE};
    if (drops(graph, parts, parts->config->recurrent_dropout))
        r.keep = draw_factors(graph, run->x, parts->config->recurrent_dropout, &factors);
    if (graph->real == ARTEL_DTYPE_FLOAT64) return artel__recurrent_float64(graph, &r, last);
    artel__value_id y = artel__op_recurrent(graph, &r);
    for (int k = 0; k < artel__cell_states(cell) && graph->status == ARTEL_OK; k++)
        last[k] = artel__graph_output(graph, y, k + 1);
    return y;
}
