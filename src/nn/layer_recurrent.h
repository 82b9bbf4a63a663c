/* SPDX-License-Identifier: Apache-2.0 */
/* What recurrent layers and Bidirectional share. */
#ifndef ARTEL_NN_LAYER_RECURRENT_H
#define ARTEL_NN_LAYER_RECURRENT_H

#include "nn/layer_support.h"

/* The config of LSTM, GRU, SimpleRNN and RNN, and of their cells, which use the first half. */
typedef struct artel__recurrent_config {
    int64_t units;
    bool use_bias, unit_forget_bias, reset_after;
    double dropout, recurrent_dropout;
    bool return_sequences, return_state, go_backwards, stateful, zero_output_for_mask;
} artel__recurrent_config;

/* What runs over a sequence, as Bidirectional sees it: settings, and how many states it has. */
typedef struct artel__recurrent_view {
    bool *return_sequences, *return_state, *go_backwards, *zero_output_for_mask;
    int states;
} artel__recurrent_view;
/* Whether a layer is one of these four, or ConvLSTM; then its view. */
bool artel__recurrent_view_of(const artel__layer *layer, artel__recurrent_view *out);
bool artel__conv_lstm_view_of(const artel__layer *layer, artel__recurrent_view *out);
/* The batch that a stateful layer was built for; fails where the record does not say it. */
artel_status artel__recurrent_batch(const artel__layer *layer, int64_t *out);

/* A sublayer that only holds variables, under `path` in weights files; `name` in the names of variables. */
artel_status artel__layer_add_holder(artel__layer *layer, const char *path, const char *name, artel__layer **out);

/* The tensors given as `initial_state`, by keyword, as the second argument, or behind the first input; at most `room`.
 * Returns how many, or -1 when one is no tensor or there are too many. */
int artel__recurrent_initial(const artel__call *call, artel__tensor *out, int room);

/* The mask that a call works with. Keras hands the mask of its input to a layer only when that is the one tensor it is
 * called with: beside initial states it must be named. */
artel__value_id artel__recurrent_mask(const artel__call *call, bool states);

#endif
