/* SPDX-License-Identifier: Apache-2.0 */
/* Element types and shapes, as they appear in every public signature that takes arrays. */
#ifndef ARTEL_TENSOR_H
#define ARTEL_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "artel/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ARTEL_MAX_RANK 8

typedef enum artel_dtype {
    ARTEL_DTYPE_FLOAT32 = 0,
    ARTEL_DTYPE_FLOAT64 = 1,
    ARTEL_DTYPE_FLOAT16 = 2,
    ARTEL_DTYPE_BFLOAT16 = 3,
    ARTEL_DTYPE_INT8 = 4,
    ARTEL_DTYPE_INT16 = 5,
    ARTEL_DTYPE_INT32 = 6,
    ARTEL_DTYPE_INT64 = 7,
    ARTEL_DTYPE_UINT8 = 8,
    ARTEL_DTYPE_UINT16 = 9,
    ARTEL_DTYPE_UINT32 = 10,
    ARTEL_DTYPE_UINT64 = 11,
    ARTEL_DTYPE_BOOL = 12,
    ARTEL_DTYPE_STRING = 13 /* artel_string (artel/text.h); who takes it says so */
} artel_dtype;

/* Bytes of one number; 0 for strings (artel_string) and unknown values. */
ARTEL_API size_t artel_dtype_size(artel_dtype dtype);
/* The NumPy and Keras name: "float32", "bfloat16", "bool"; "?" for unknown values. */
ARTEL_API const char *artel_dtype_name(artel_dtype dtype);
/* The inverse; ARTEL_ERROR_NOT_FOUND when no dtype has this name. */
ARTEL_API artel_status artel_dtype_parse(const char *name, artel_dtype *out);

/* Extents, outermost first. Rank 0 is a scalar. */
typedef struct artel_shape {
    int rank;
    int64_t dim[ARTEL_MAX_RANK];
} artel_shape;

/* The number of elements, 1 for a scalar; -1 when a negative extent or an overflow is found. */
ARTEL_API int64_t artel_shape_count(const artel_shape *shape);

#ifdef __cplusplus
}
#endif
#endif
