/* SPDX-License-Identifier: Apache-2.0 */
/* What calls that make strategies, losses and optimizers are given. */
#ifndef ARTEL_FUNCTION_SPEC_H
#define ARTEL_FUNCTION_SPEC_H

#include "artel/strategy.h"
#include "base/json.h"

/* A name, "name:key=value,..." or a JSON record, as Keras' loss or optimizer is given. The JSON is the caller's. */
artel_status artel__read_spec(artel_context *ctx, const char *what, const char *text, json_t **out);
/* The options of a strategy over their defaults, checked; NULL: the defaults. */
artel_status artel__strategy_take_options(artel_context *ctx, const artel_strategy_options *options,
                                          artel_strategy_options *out);

#endif
