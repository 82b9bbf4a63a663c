/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO text, one operation a line: what devices are handed. Only operations of StableHLO 1.0, and chlo.erf, which every plug-in takes.
 *
 * Values are numbered; a function writes one operation and returns its result. After a failure (memory, a wrong shape) every later call does
 * nothing, and artel__hlo_finish says so. Operands of one operation have one type unless said otherwise. Not thread-safe.
 */
#ifndef ARTEL_GRAPH_HLO_H
#define ARTEL_GRAPH_HLO_H

#include "base/text.h"
#include "tensor/shape.h"

#define ARTEL__HLO_RANK (ARTEL_MAX_RANK + 2)

typedef int32_t artel__hlo_value;

typedef struct artel__hlo_type {
    artel_dtype dtype; /* BOOL: i1 */
    int rank;
    int64_t dim[ARTEL__HLO_RANK];
} artel__hlo_type;

typedef struct artel__hlo {
    artel_context *ctx;
    artel__text head, body; /* of @main */
    artel__hlo_type *type;  /* by value */
    int values, capacity, arguments;
    artel_status status;
} artel__hlo;

void artel__hlo_init(artel__hlo *h, artel_context *ctx);
void artel__hlo_fini(artel__hlo *h);
const artel__hlo_type *artel__hlo_type_of(const artel__hlo *h, artel__hlo_value a);

/* The next argument. `aliased`: the result whose place it gives its memory to; -1: none. All arguments come first. */
artel__hlo_value artel__hlo_argument(artel__hlo *h, const artel__hlo_type *type, int aliased);
/* `op`: "tanh", "chlo.erf". */
artel__hlo_value artel__hlo_unary(artel__hlo *h, const char *op, artel__hlo_value a);
artel__hlo_value artel__hlo_binary(artel__hlo *h, const char *op, artel__hlo_value a, artel__hlo_value b);
/* Every element the same; exact. `like` gives type and shape, float32 or float64. */
artel__hlo_value artel__hlo_number(artel__hlo *h, double number, artel__hlo_value like);
/* "EQ", "NE", "LT", "LE", "GT", "GE": BOOL. */
artel__hlo_value artel__hlo_compare(artel__hlo *h, const char *how, artel__hlo_value a, artel__hlo_value b);
artel__hlo_value artel__hlo_select(artel__hlo *h, artel__hlo_value condition, artel__hlo_value a, artel__hlo_value b);
/* The same elements in row-major order; the value itself when the shape is its own. */
artel__hlo_value artel__hlo_reshape(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to);
/* Broadcasts: axis i of `a` is axis axes[i] of the result. */
artel__hlo_value artel__hlo_broadcast(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to, const int *axes);
/* NumPy's: trailing axes aligned, extents of 1 repeated. */
artel__hlo_value artel__hlo_broadcast_trailing(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to);
/* Matrices; which axis of each is contracted. Highest precision. */
artel__hlo_value artel__hlo_dot(artel__hlo *h, artel__hlo_value a, artel__hlo_value b, int axis_a, int axis_b);

/* The module. Errors: what failed first. */
artel_status artel__hlo_finish(artel__hlo *h, const artel__hlo_value *results, int count, artel__text *out);

#endif
