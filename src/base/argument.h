/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller of the C API may hand in by mistake, refused in one place and one form: pointers that are NULL, structs
 * of options whose size is not set, numbers out of range. Costs a few comparisons a call. */
#ifndef ARTEL_BASE_ARGUMENT_H
#define ARTEL_BASE_ARGUMENT_H

#include "base/context.h"

/* Begins a public function (artel__operation_begin) and refuses pointers that are NULL: `names` are the arguments'
 * names with one space between two, and a pointer to an object follows for each. `function` is __func__. Whatever the
 * context would be taken from comes first, so that it may be NULL: `artel__enter(model ? model->ctx : NULL, __func__,
 * "model path", model, path)`. */
artel_status artel__enter(artel_context *ctx, const char *function, const char *names, ...);
/* The same in the midst of an operation, whose first failure stands. */
artel_status artel__need(artel_context *ctx, const char *function, const char *names, ...);

/* Whether `what` ("the data") was made in this context; it is refused by that name otherwise. */
artel_status artel__need_context(artel_context *ctx, const artel_context *other, const char *what);

#define ARTEL__MOST_COUNTED ((int64_t)1 << 53) /* runs, units, steps that lie behind: none overflows from there */
/* Whether `number` of them is one, from 0 to the most; refused as "-1 runs" at `where` otherwise. */
artel_status artel__need_count(artel_context *ctx, const char *where, int64_t number, const char *of);

typedef enum artel__range_type {
    ARTEL__RANGE_INT,
    ARTEL__RANGE_INT64,
    ARTEL__RANGE_DOUBLE
} artel__range_type;

/* The range of a number in a struct of options; infinities and NaN are in none. */
typedef struct artel__range {
    const char *name; /* as messages call it; NULL ends a table */
    artel__range_type type;
    size_t offset;
    double least, most;
    const char *advice; /* NULL: to give a number in range */
} artel__range;

/* A struct of options, which begins with its own size. */
typedef struct artel__options_kind {
    const char *where;  /* "fit options" */
    const char *advice; /* "begin with ARTEL_FIT_OPTIONS_INIT" */
    size_t size;
    const artel__range *range;
} artel__options_kind;

/* Copies the caller's options over `chosen`, which holds the defaults: the tail that an older, shorter struct lacks
 * keeps them, that of a newer, longer one must be zero. `given` NULL changes nothing. Then every number of the table
 * must be in its range. `chosen` ends with the size that it has here. */
artel_status artel__take_options(artel_context *ctx, const artel__options_kind *kind, const void *given, void *chosen);

#endif
