/* SPDX-License-Identifier: Apache-2.0 */
/* What the attention layers share: the tensors of a call and what masks become. */
#ifndef ARTEL_NN_LAYER_ATTENTION_H
#define ARTEL_NN_LAYER_ATTENTION_H

#include "nn/layer_support.h"

/* query, value and key; the key is the value when it is not given, and has no mask of its own then. */
artel_status artel__attention_inputs(const artel__layer *layer, const artel__call *call, artel__tensor in[3]);
/* Whether a keyword argument of the call is true. */
bool artel__attention_flag(const artel__call *call, const char *name);
/* A mask [n] by query or key as BOOL [n][1] or [1][n]; none stays none. */
artel__value_id artel__attention_mask(artel__graph *graph, artel__value_id mask, bool by_query);

#endif
