/* SPDX-License-Identifier: Apache-2.0 */
/* Initial values of a part of a variable (initializer.c): those that artel__initializer_fill gives to these elements.
 * For variables that nobody holds whole. */
#ifndef ARTEL_NN_DRAW_H
#define ARTEL_NN_DRAW_H

#include "nn/parts.h"

/* Whether it can be done: else an element depends on others. */
bool artel__initializer_has_parts(const artel__initializer *initializer);
/* Elements [first, first + count) of a variable of this shape. */
artel_status artel__initializer_fill_part(artel_context *ctx, const artel__initializer *initializer, uint64_t seed,
                                          uint32_t ordinal, const artel_shape *shape, int64_t first, int64_t count,
                                          float *out);

#endif
