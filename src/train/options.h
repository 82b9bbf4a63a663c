/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of options in artel/fit.h: their sizes, the ranges of their numbers, and what texts say. */
#ifndef ARTEL_TRAIN_OPTIONS_H
#define ARTEL_TRAIN_OPTIONS_H

#include "base/argument.h"

extern const artel__options_kind artel__fit_kind, artel__evaluate_kind;

/* .save_every: "500steps" or "2epochs"; NULL is "1epoch"; the other number is 0. INVALID: it is neither. */
artel_status artel__save_interval(artel_context *ctx, const char *text, int64_t *steps, int64_t *epochs);

#endif
