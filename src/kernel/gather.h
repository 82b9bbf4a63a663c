/* SPDX-License-Identifier: Apache-2.0 */
/* Elements by index along one axis: in which order they are, which of them are taken, and where their gradients go.
 * Arithmetic of integers, which indices are made with.
 */
#ifndef ARTEL_KERNEL_GATHER_H
#define ARTEL_KERNEL_GATHER_H

#include "kernel/elementwise.h"
#include "kernel/fault_slot.h"

/* y[a][i] = the place in x[a] of its i-th smallest element: equals in the order of their places, NaN behind all others.
 * Tasks: outer. */
typedef struct artel__order {
    int64_t outer, length; /* length < 2^31 */
    const float *x;
    int32_t *y;
} artel__order;

/* y[a][i][b] = x[a][index[a][i]][b]; `shared`: index has one row for all. An index outside 0 .. extent - 1 gives zeros
 * and is a fault of row a / per_row. Tasks: outer times picks. */
typedef struct artel__take {
    int64_t outer, extent, picks, inner, per_row;
    bool shared;
    const int32_t *index;
    const float *x;
    float *y;
    artel__fault_slot fault;
} artel__take;

/* dx from 0, adding dy in the order of the picks; indices outside are passed over. Tasks: outer. */
typedef struct artel__take_gradient {
    artel__take as; /* x, y and fault are not read */
    const float *dy;
    float *dx;
} artel__take_gradient;

/* Two's complement, wrapping. Shifts by less than 0 or more than 31 (63) are those by 0 or 31 (63); a right shift keeps
 * the sign. DIV is rounded towards minus infinity, MOD has the sign of the divisor; by 0 both are 0. GCD and LCM are
 * never negative but for overflow. */
typedef enum artel__integer_op {
    ARTEL__INTEGER_AND,
    ARTEL__INTEGER_OR,
    ARTEL__INTEGER_XOR,
    ARTEL__INTEGER_SHIFT_LEFT,
    ARTEL__INTEGER_SHIFT_RIGHT,
    ARTEL__INTEGER_DIV,
    ARTEL__INTEGER_MOD,
    ARTEL__INTEGER_GCD,
    ARTEL__INTEGER_LCM,
    ARTEL__INTEGER_ADD, /* these three wrap around */
    ARTEL__INTEGER_SUBTRACT,
    ARTEL__INTEGER_MULTIPLY,
    ARTEL__INTEGER_COUNT
} artel__integer_op;

/* out = a op b; loop operands a, b; out dense: int32, or int64. Tasks: elements. */
typedef struct artel__integer {
    artel__integer_op op;
    artel__loop loop;
    const void *a, *b;
    void *out;
    bool is_long;
} artel__integer;

extern const artel__kernel *const artel__order_kernels[];
extern const artel__kernel *const artel__take_kernels[];
extern const artel__kernel *const artel__take_gradient_kernels[];
extern const artel__kernel *const artel__integer_kernels[];

#endif
