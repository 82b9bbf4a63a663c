/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes inside the library: building, comparing, printing, broadcasting. */
#ifndef ARTEL_TENSOR_SHAPE_H
#define ARTEL_TENSOR_SHAPE_H

#include <stdbool.h>

#include "artel/tensor.h"
#include "base/context.h"

artel_shape artel__shape(int rank, ...); /* extents as int64_t */
bool artel__shape_equal(const artel_shape *a, const artel_shape *b);
/* "(3, 4)", "(5,)", "()" as Python prints it; with `batch` a leading None. Returns `buffer`. */
char *artel__shape_text(const artel_shape *shape, bool batch, char *buffer, size_t size);
/* NumPy broadcasting, trailing extents aligned; false when the two do not fit. */
bool artel__shape_broadcast(const artel_shape *a, const artel_shape *b, artel_shape *out);
/* The product of extents [from, to). */
int64_t artel__shape_product(const artel_shape *shape, int from, int to);

/* Conversions between storage types, round to nearest even; element counts. */
uint16_t artel__float_to_half(float value);
float artel__half_to_float(uint16_t bits);
uint16_t artel__float_to_bfloat16(float value);
float artel__bfloat16_to_float(uint16_t bits);
static inline bool artel__is_floating(artel_dtype dtype)
{
    return dtype <= ARTEL_DTYPE_BFLOAT16; /* they come first */
}

/* Converts numeric arrays between any two numeric dtypes, bool included. Floats to integers truncate and saturate, NaN
 * gives 0; integers that do not fit saturate too; bool is "not zero". The arrays must not overlap. */
void artel__convert(artel_dtype from, const void *source, artel_dtype to, void *target, int64_t count);

#endif
