/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one row: what makes numbers of words and categories.
 *
 * A function takes the elements of one row of one or several tensors and makes those of another; it sees no other row,
 * so its results do not depend on how rows are divided among replicas. It is run in two places: where rows are fetched,
 * for tensors that depend on the model's inputs alone (strings are in no graph), and as an operation of the graph
 * (op/row_function.c) behind other layers.
 *
 * A function and its settings are read-only and may be used by any number of threads; each brings a scratch of its own.
 */
#ifndef ARTEL_TEXT_ROW_FUNCTION_H
#define ARTEL_TEXT_ROW_FUNCTION_H

#include "artel/text.h"
#include "tensor/shape.h"

#define ARTEL__ROW_INPUTS 16 /* of one function */

/* One element of a tensor of strings, as callers have them; the bytes belong to whoever made it. */
typedef artel_string artel__string;

/* Bytes of one element in memory: as artel_dtype_size, and that of artel__string for strings. */
size_t artel__cell_size(artel_dtype dtype);

/* The elements of one row of a tensor, in row-major order. */
typedef struct artel__cells {
    artel_dtype dtype;
    artel_shape shape;
    int64_t count;
    void *data; /* NULL while shapes are inferred */
} artel__cells;

/* Why a row could not be computed. */
typedef struct artel__row_fault {
    const char *why; /* constant text that follows the element's value: "is not in the vocabulary" */
    int input;
    int64_t element; /* of that input */
} artel__row_fault;

/* Memory that a function may use while it computes a row; grows and is kept from row to row. */
typedef struct artel__row_scratch {
    artel_context *ctx;
    void *bytes;
    size_t size;
} artel__row_scratch;

/* At least `size` bytes, aligned for anything, whose content is lost at the next call; NULL when memory is out, which
 * is recorded. */
void *artel__row_scratch_take(artel__row_scratch *scratch, size_t size);
void artel__row_scratch_fini(artel__row_scratch *scratch);

typedef struct artel__row_function {
    const char *name; /* of the layer's class */
    /* Sets dtype, shape and count of the result; returns NULL, or why the inputs do not fit: a constant text that
     * follows "its input". */
    const char *(*infer)(const void *settings, const artel__cells *in, int inputs, artel__cells *out);
    /* Fills out->data. ARTEL_ERROR_INVALID with *fault set when the row holds what the function cannot take (no record
     * is written); ARTEL_ERROR_NO_MEMORY, recorded. Functions that take no strings need no scratch. */
    artel_status (*run)(const void *settings, const artel__cells *in, int inputs, artel__cells *out,
                        artel__row_scratch *scratch, artel__row_fault *fault);
} artel__row_function;

/* The elements as numbers. Strings have none. */
int64_t artel__cell_integer(const artel__cells *cells, int64_t i);
double artel__cell_number(const artel__cells *cells, int64_t i);
/* "'word'", shortened and cleaned, or a number. */
void artel__cell_quote(const artel__cells *cells, int64_t i, char *out, size_t size);
void artel__cell_set_integer(artel__cells *cells, int64_t i, int64_t value);

/* Sets dtype, shape and count. */
void artel__cells_describe(artel__cells *cells, artel_dtype dtype, const artel_shape *shape);

#endif
