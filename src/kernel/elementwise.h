/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise kernels: functions of one, two and many arrays, with their gradients.
 *
 * Every output element is one fixed sequence of IEEE operations without fused multiply-adds, with the functions of
 * kernel/math.h; so all kernels of a kind give the same bits. Tasks are runs of ARTEL__ELEMENT_TASK output elements. A
 * result may be the same array as an input with the same strides, and may not overlap it in any other way. Counts of 0
 * are legal.
 */
#ifndef ARTEL_KERNEL_ELEMENTWISE_H
#define ARTEL_KERNEL_ELEMENTWISE_H

#include "kernel/kernel.h"

enum {
    ARTEL__ELEMENT_TASK = 4096
};

/* -- functions of one argument: the rows of unary.list -- */

typedef enum artel__unary {
#define UNARY(name, function, reads, formula) ARTEL__UNARY_##name,
#include "kernel/unary.list"
#undef UNARY
    ARTEL__UNARY_COUNT
} artel__unary;

typedef enum artel__reads {
    ARTEL__READS_NONE,
    ARTEL__READS_X,
    ARTEL__READS_Y
} artel__reads;

typedef struct artel__unary_info {
    const char *name;   /* as in keras.activations or keras.ops */
    artel__reads reads; /* what the gradient needs beside dy */
    const char *formula;
} artel__unary_info;

extern const artel__unary_info artel__unary_table[ARTEL__UNARY_COUNT];

/* y = f(x). Flags ..._half here and below: that operand is stored as bfloat16 (artel__kernel.halves). */
typedef struct artel__unary_forward {
    artel__unary op;
    int64_t count;
    const float *x;
    float *y;
    float a, b, c; /* as the row of unary.list says */
    bool x_half, y_half;
} artel__unary_forward;

/* dx = dy * f'(x). At a kink the side that TensorFlow takes: relu'(0) = 0. x or y may be NULL where not read. */
typedef struct artel__unary_gradient {
    artel__unary op;
    int64_t count;
    const float *x, *y, *dy;
    float *dx;
    float a, b, c;
    bool v_half, dy_half, dx_half; /* v: x or y, whichever is read */
} artel__unary_gradient;

extern const artel__kernel *const artel__unary_forward_kernels[];
extern const artel__kernel *const artel__unary_gradient_kernels[];

/* -- loops over broadcast operands -- */

enum {
    ARTEL__LOOP_RANK = 9,
    ARTEL__LOOP_OPERANDS = 3
}; /* eight axes of a row and the batch */

/* An index space, row-major, and where each operand lies in it: element strides, 0 along broadcast axes. */
typedef struct artel__loop {
    int rank;
    int64_t dim[ARTEL__LOOP_RANK];
    int64_t stride[ARTEL__LOOP_OPERANDS][ARTEL__LOOP_RANK];
} artel__loop;

/* The loop over `rows` rows of shape `out` (rows < 0: no batch axis) with operands that broadcast to it after NumPy's
 * rules: operand k has shape *shape[k], trailing extents aligned within the row, with a batch axis in front when
 * has_rows[k]. Axes of extent 1 are dropped and neighbours merged, so equal shapes become one axis. At most
 * ARTEL__LOOP_OPERANDS. The shapes must have been checked with artel__shape_broadcast. */
void artel__loop_broadcast(artel__loop *loop, int64_t rows, const artel_shape *out, int operands,
                           const artel_shape *const *shape, const bool *has_rows);
int64_t artel__loop_count(const artel__loop *loop);

/* -- functions of two arguments -- */

/* ADD, SUB, MUL, DIV, MAX (a >= b ? a : b), MIN, POW, SQUARED_DIFFERENCE, DIV_NO_NAN (0 where b is 0): rows of
 * binary.list. max and min give the gradient of a tie to a alone, as TensorFlow; pow(a, b) has db = 0 where a <= 0. */
typedef enum artel__binary {
#define BINARY(name, function) ARTEL__BINARY_##name,
#include "kernel/binary.list"
#undef BINARY
    ARTEL__BINARY_COUNT
} artel__binary;

/* out = op(a, b); loop operands 0 and 1, out dense. */
typedef struct artel__binary_forward {
    artel__binary op;
    artel__loop loop;
    const float *a, *b;
    float *out;
    bool a_half, b_half, out_half;
} artel__binary_forward;

/* gradient = dout * d op / d a (wrt 0) or d b (wrt 1), over the whole index space, dense; where the operand was
 * broadcast the caller sums it back (kernel/reduce.h). Loop operands 0, 1; dout dense. a, b may be NULL for ADD and
 * SUB. */
typedef struct artel__binary_gradient {
    artel__binary op;
    int wrt;
    artel__loop loop;
    const float *a, *b, *dout;
    float *gradient;
    bool a_half, b_half, dout_half, gradient_half;
} artel__binary_gradient;

typedef enum artel__comparison {
    ARTEL__COMPARE_EQUAL,
    ARTEL__COMPARE_NOT_EQUAL,
    ARTEL__COMPARE_LESS,
    ARTEL__COMPARE_LESS_EQUAL,
    ARTEL__COMPARE_GREATER,
    ARTEL__COMPARE_GREATER_EQUAL
} artel__comparison;

/* out = a ? b as bool bytes 0 and 1; operands float32, float64 or int32 (both of `dtype`). */
typedef struct artel__compare {
    artel__comparison op;
    artel_dtype dtype;
    artel__loop loop;
    const void *a, *b;
    uint8_t *out;
} artel__compare;

typedef enum artel__logic {
    ARTEL__LOGIC_AND,
    ARTEL__LOGIC_OR,
    ARTEL__LOGIC_XOR,
    ARTEL__LOGIC_NOT
} artel__logic;

/* On bool bytes; NOT ignores b. */
typedef struct artel__logical {
    artel__logic op;
    artel__loop loop;
    const uint8_t *a, *b;
    uint8_t *out;
} artel__logical;

/* out = condition ? a : b; loop operands condition, a, b. A NULL a or b stands for zeros. */
typedef struct artel__select {
    artel__loop loop;
    const uint8_t *condition;
    const float *a, *b;
    float *out;
} artel__select;

extern const artel__kernel *const artel__binary_forward_kernels[];
extern const artel__kernel *const artel__binary_gradient_kernels[];
extern const artel__kernel *const artel__compare_kernels[];
extern const artel__kernel *const artel__logical_kernels[];
extern const artel__kernel *const artel__select_kernels[];

/* -- sums of whole arrays -- */

enum {
    ARTEL__ADD_N_MAX = 32
};

/* out = (in[0] + in[1]) + in[2] ...; out may be any of them. n >= 1. */
typedef struct artel__add_n {
    int64_t count;
    int n;
    const float *in[ARTEL__ADD_N_MAX];
    float *out;
} artel__add_n;

/* y = y + a * x. */
typedef struct artel__axpy {
    int64_t count;
    float a;
    const float *x;
    float *y;
} artel__axpy;

extern const artel__kernel *const artel__add_n_kernels[];
extern const artel__kernel *const artel__axpy_kernels[];

#endif
