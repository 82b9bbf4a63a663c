/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO text, one operation a line: what devices are handed. Only operations of StableHLO 1.0, and chlo.erf, which
 * every plug-in takes.
 *
 * Values are numbered; a function writes one operation and returns its result. After a failure (memory, a wrong shape)
 * every later call does nothing, and artel__hlo_finish says so. Operands of one operation have one type unless said
 * otherwise. Not thread-safe.
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
    artel__text head, body, functions; /* of @main; beside it */
    artel__hlo_type *type;             /* by value */
    int values, capacity, arguments;
    const char *precision; /* of products: HIGHEST, or DEFAULT, which is the device's fastest */
    bool narrow;           /* float32 operands of products are rounded to bfloat16; sums are float32 */
    int replicas;          /* 0, 1: one; else as many run it together, each on a device of its own */
    artel_status status;
} artel__hlo;

void artel__hlo_init(artel__hlo *h, artel_context *ctx);
void artel__hlo_fini(artel__hlo *h);
const artel__hlo_type *artel__hlo_type_of(const artel__hlo *h, artel__hlo_value a);
/* Elements of a type. */
int64_t artel__hlo_count(const artel__hlo_type *type);
bool artel__hlo_same_shape(const artel__hlo_type *a, const artel__hlo_type *b);

/* The next argument. `aliased`: the result whose place it gives its memory to; -1: none. All arguments come first. */
artel__hlo_value artel__hlo_argument(artel__hlo *h, const artel__hlo_type *type, int aliased);

/* -- numbers -- */

/* Every element the same; exact. `like` gives type and shape. */
artel__hlo_value artel__hlo_number(artel__hlo *h, double number, artel__hlo_value like);
artel__hlo_value artel__hlo_splat(artel__hlo *h, double number, const artel__hlo_type *type);
/* The same of an integer type. */
artel__hlo_value artel__hlo_integer(artel__hlo *h, uint64_t number, const artel__hlo_type *type);
/* `data`: the elements in row-major order, of a type that is not BOOL. */
artel__hlo_value artel__hlo_table(artel__hlo *h, const void *data, const artel__hlo_type *type);
/* Every element is its index on one axis. */
artel__hlo_value artel__hlo_iota(artel__hlo *h, const artel__hlo_type *type, int axis);

/* -- element by element -- */

/* `op`: "tanh", "chlo.erf". */
artel__hlo_value artel__hlo_unary(artel__hlo *h, const char *op, artel__hlo_value a);
artel__hlo_value artel__hlo_binary(artel__hlo *h, const char *op, artel__hlo_value a, artel__hlo_value b);
/* "EQ", "NE", "LT", "LE", "GT", "GE": BOOL. */
artel__hlo_value artel__hlo_compare(artel__hlo *h, const char *how, artel__hlo_value a, artel__hlo_value b);
/* BOOL: whether a float is neither infinite nor NaN. */
artel__hlo_value artel__hlo_is_finite(artel__hlo *h, artel__hlo_value a);
artel__hlo_value artel__hlo_select(artel__hlo *h, artel__hlo_value condition, artel__hlo_value a, artel__hlo_value b);
/* To another type, by value: floats to integers towards zero, BOOL to 0 and 1. The value itself when it has the type.
 */
artel__hlo_value artel__hlo_convert(artel__hlo *h, artel__hlo_value a, artel_dtype to);
/* The same bits as another type of the same size. */
artel__hlo_value artel__hlo_bitcast(artel__hlo *h, artel__hlo_value a, artel_dtype to);
/* float32 rounded to what FLOAT16 or BFLOAT16 holds; it stays float32. */
artel__hlo_value artel__hlo_round(artel__hlo *h, artel__hlo_value a, artel_dtype to);
/* Computed as written: what lies before is not merged with what comes after. */
artel__hlo_value artel__hlo_barrier(artel__hlo *h, artel__hlo_value a);

/* -- moves -- */

/* The same elements in row-major order; the value itself when the shape is its own. */
artel__hlo_value artel__hlo_reshape(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to);
/* Broadcasts: axis i of `a` is axis axes[i] of the result. */
artel__hlo_value artel__hlo_broadcast(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to, const int *axes);
/* NumPy's: trailing axes aligned, extents of 1 repeated. */
artel__hlo_value artel__hlo_broadcast_trailing(artel__hlo *h, artel__hlo_value a, const artel__hlo_type *to);
/* Axis i of the result is axis axes[i] of `a`. */
artel__hlo_value artel__hlo_transpose(artel__hlo *h, artel__hlo_value a, const int *axes);
/* Elements first, first + step, ... below end, on each axis. */
artel__hlo_value artel__hlo_slice(artel__hlo *h, artel__hlo_value a, const int64_t *first, const int64_t *end,
                                  const int64_t *step);
/* One axis of it with step 1. */
artel__hlo_value artel__hlo_slice_axis(artel__hlo *h, artel__hlo_value a, int axis, int64_t first, int64_t end);
/* `value`: a scalar; `low` and `high` of them before and behind each axis (negative: cut off), `inside` between two
 * elements. */
artel__hlo_value artel__hlo_pad(artel__hlo *h, artel__hlo_value a, artel__hlo_value value, const int64_t *low,
                                const int64_t *high, const int64_t *inside);
artel__hlo_value artel__hlo_concatenate(artel__hlo *h, const artel__hlo_value *in, int count, int axis);
artel__hlo_value artel__hlo_reverse(artel__hlo *h, artel__hlo_value a, int axis);
/* The part of extents `size` that begins at `first` (scalars of one integer type, by axis), moved to lie inside. */
artel__hlo_value artel__hlo_dynamic_slice(artel__hlo *h, artel__hlo_value a, const artel__hlo_value *first,
                                          const int64_t *size);
/* `a` with `part` in that place. */
artel__hlo_value artel__hlo_dynamic_update(artel__hlo *h, artel__hlo_value a, artel__hlo_value part,
                                           const artel__hlo_value *first);
/* Rows of `a` by `index`, an integer vector: result row i is row index[i]. Indices outside are moved inside. */
artel__hlo_value artel__hlo_gather_rows(artel__hlo *h, artel__hlo_value a, artel__hlo_value index);
/* `a` with row index[i] replaced by row i of `rows`; indices outside are passed over. No two may be equal; `ascending`:
 * they are sorted. */
artel__hlo_value artel__hlo_scatter_rows(artel__hlo *h, artel__hlo_value a, artel__hlo_value index,
                                         artel__hlo_value rows, bool ascending);
/* All operands ordered along the axis as the first one is, `how` "LT": ascending; equals keep their order. */
void artel__hlo_sort(artel__hlo *h, const char *how, const artel__hlo_value *in, int count, int axis,
                     artel__hlo_value *out);

/* -- sums and products -- */

/* `op` "add", "multiply", "maximum", "minimum", "and", "or", from `init`; bit i of `axes`: axis i goes. The order is
 * the device's. */
artel__hlo_value artel__hlo_reduce(artel__hlo *h, const char *op, double init, artel__hlo_value a, uint32_t axes);
/* Matrices; which axis of each is contracted. */
artel__hlo_value artel__hlo_dot(artel__hlo *h, artel__hlo_value a, artel__hlo_value b, int axis_a, int axis_b);
/* The result has the batch axes, the free ones of `a`, those of `b`. Products of 16-bit types give float32. */
typedef struct artel__hlo_dims {
    int batch, contracted;
    int batch_a[ARTEL__HLO_RANK], batch_b[ARTEL__HLO_RANK], contracted_a[ARTEL__HLO_RANK],
        contracted_b[ARTEL__HLO_RANK];
} artel__hlo_dims;
artel__hlo_value artel__hlo_dot_general(artel__hlo *h, artel__hlo_value a, artel__hlo_value b,
                                        const artel__hlo_dims *dims);
typedef struct artel__hlo_window {
    const char *numbers; /* "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" */
    int axes;
    int64_t stride[3], low[3], high[3], dilate[3], spread[3]; /* `dilate` the filter, `spread` the image; 0: 1 */
    bool reverse;
    int64_t groups, batch_groups; /* 0: 1 */
} artel__hlo_window;
/* `to` gives the shape of the result, which must follow from the window. */
artel__hlo_value artel__hlo_conv(artel__hlo *h, artel__hlo_value a, artel__hlo_value b, const artel__hlo_window *window,
                                 const artel__hlo_type *to);

/* -- across replicas (artel__hlo.replicas) -- */

/* The sum of what all replicas have, in the order of the plug-in; the same bits on all of them. */
artel__hlo_value artel__hlo_all_sum(artel__hlo *h, artel__hlo_value a);
/* What all replicas have, by replica: a new first axis. */
artel__hlo_value artel__hlo_all_gather(artel__hlo *h, artel__hlo_value a);

/* -- loops -- */

#define ARTEL__HLO_CARRIED 16

/* Turns 0 to trips - 1 (a scalar INT32). What is written between begin and end belongs to a turn; it may read values
 * from outside. */
typedef struct artel__hlo_loop {
    artel__hlo_value turn;                        /* scalar INT32 */
    artel__hlo_value carried[ARTEL__HLO_CARRIED]; /* what the turn before has left; behind the end: the last one */
    int count;
    artel__hlo_value result; /* the first of them */
} artel__hlo_loop;
void artel__hlo_loop_begin(artel__hlo *h, artel__hlo_value trips, const artel__hlo_value *init, int count,
                           artel__hlo_loop *loop);
void artel__hlo_loop_end(artel__hlo *h, artel__hlo_loop *loop, const artel__hlo_value *next);

/* -- functions -- */

/* The @main of another module, as a function of this one. */
void artel__hlo_add_function(artel__hlo *h, const char *name, const char *module);
/* Its results on these operands. */
void artel__hlo_call(artel__hlo *h, const char *name, const artel__hlo_value *in, int ins, const artel__hlo_type *type,
                     int outs, artel__hlo_value *out);
/* As artel__hlo_barrier, for all of them at once and in place: nothing behind them begins to be merged with what is
 * before any of them. */
void artel__hlo_barriers(artel__hlo *h, artel__hlo_value *values, int count);

/* The module. Errors: what failed first. */
artel_status artel__hlo_finish(artel__hlo *h, const artel__hlo_value *results, int count, artel__text *out);

#endif
