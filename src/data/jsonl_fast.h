/* SPDX-License-Identifier: Apache-2.0 */
/* The short way from a JSON line to the numbers of one member. */
#ifndef ARTEL_DATA_JSONL_FAST_H
#define ARTEL_DATA_JSONL_FAST_H

#include "data/features.h"

/* Reads a member of numbers into a row. False, with the row undefined, when the line is to be parsed instead. */
bool artel__jsonl_fast(const char *text, size_t length, const artel__feature *feature, const artel_shape *shape,
                       void *out);

#endif
