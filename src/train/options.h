/* SPDX-License-Identifier: Apache-2.0 */
/* The structs of options in artel/fit.h: their sizes, and the ranges of their numbers. */
#ifndef ARTEL_TRAIN_OPTIONS_H
#define ARTEL_TRAIN_OPTIONS_H

#include "base/argument.h"

extern const artel__options_kind artel__fit_kind, artel__evaluate_kind;

#endif
