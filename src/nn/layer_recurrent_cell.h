/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent cells: what one needs to run over a sequence. For layer_recurrent.c, which makes layers of them. */
#ifndef ARTEL_NN_LAYER_RECURRENT_CELL_H
#define ARTEL_NN_LAYER_RECURRENT_CELL_H

#include "nn/layer_recurrent.h"
#include "op/recurrent.h"

/* A cell as it will be computed; the `own` of a cell, and of the sublayer "cell" of LSTM, GRU, SimpleRNN. */
typedef struct artel__recurrent_cell {
    artel__cell cell;
    const artel__recurrent_config *config;
    artel__cell_activation activation, recurrent;
    artel__weight_parts kernel, recurrent_kernel, bias;
    int state[2]; /* variables of a stateful layer */
} artel__recurrent_cell;

#define ARTEL__RECURRENT_CONFIG(field) offsetof(artel__recurrent_config, field)
#define ARTEL__CELL_OPTIONS                                                                                           \
    {"units", "number of outputs", ARTEL__OPTION_INT, ARTEL__RECURRENT_CONFIG(units), NULL, 1, INT32_MAX / 4, NULL},  \
        {"use_bias", "whether biases are added", ARTEL__OPTION_BOOL, ARTEL__RECURRENT_CONFIG(use_bias), "true", 0, 0, \
         NULL},                                                                                                       \
        {"dropout", "share of the inputs dropped", ARTEL__OPTION_FLOAT, ARTEL__RECURRENT_CONFIG(dropout), "0", 0, 1,  \
         NULL},                                                                                                       \
        {"recurrent_dropout",                                                                                         \
         "share of the states dropped",                                                                               \
         ARTEL__OPTION_FLOAT,                                                                                         \
         ARTEL__RECURRENT_CONFIG(recurrent_dropout),                                                                  \
         "0",                                                                                                         \
         0,                                                                                                           \
         1,                                                                                                           \
         NULL},                                                                                                       \
        ARTEL__PART("activation", "activation: a name or a record"),                                                  \
        ARTEL__PART("seed", "accepted; the run's seed decides"),                                                      \
        ARTEL__PART("implementation", "accepted; chooses nothing here"), ARTEL__WEIGHT_PARTS("kernel"),               \
        ARTEL__WEIGHT_PARTS("recurrent"), ARTEL__WEIGHT_PARTS("bias")
#define ARTEL__GATE_OPTIONS ARTEL__PART("recurrent_activation", "activation of the gates: a name or a record")
#define ARTEL__LSTM_OPTIONS                                                          \
    ARTEL__GATE_OPTIONS,                                                             \
    {                                                                                \
        "unit_forget_bias", "start the forget gate's bias at 1", ARTEL__OPTION_BOOL, \
            ARTEL__RECURRENT_CONFIG(unit_forget_bias), "true", 0, 0, NULL            \
    }
#define ARTEL__GRU_OPTIONS                                                                                           \
    ARTEL__GATE_OPTIONS,                                                                                             \
    {                                                                                                                \
        "reset_after", "reset behind the product", ARTEL__OPTION_BOOL, ARTEL__RECURRENT_CONFIG(reset_after), "true", \
            0, 0, NULL                                                                                               \
    }

/* Reads a cell from the settings of `layer`, a cell or a layer that has its settings. */
artel_status artel__cell_read(artel__layer *layer, artel__cell cell, artel__recurrent_cell **out);
/* Whether a layer is a cell; StackedRNNCells is none, its children are. */
bool artel__is_cell(const artel__layer *layer);
bool artel__is_stack(const artel__layer *layer);
/* Declares the variables of a cell for inputs of `width`. */
artel_status artel__cell_build(artel__layer *cell, int64_t width);
static inline int artel__cell_states(const artel__layer *cell)
{
    return ((const artel__recurrent_cell *)cell->own)->cell == ARTEL__CELL_LSTM ? 2 : 1;
}

/* One cell over the sequence x [t][k]; `state` ROW [u] or none. The result is that of artel__op_recurrent; last: the
 * states behind it. */
typedef struct artel__cell_run {
    artel__value_id x, mask, state[2];
    bool go_backwards, zero_output_for_mask, sequences;
} artel__cell_run;
artel__value_id artel__cell_over(artel__layer *cell, artel__graph *graph, const artel__cell_run *run,
                                 artel__value_id last[2]);

#endif
