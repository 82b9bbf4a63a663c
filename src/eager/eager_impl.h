/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of eager objects and their arrays.
 *
 * An array is a struct of one size; small ones have their elements inside, so making a result is taking a struct from
 * the free list. A view holds a reference to the array that owns the elements.
 */
#ifndef ARTEL_EAGER_EAGER_IMPL_H
#define ARTEL_EAGER_EAGER_IMPL_H

#include "artel/eager.h"
#include "base/argument.h"
#include "base/threads.h"
#include "function/direct.h"
#include "text/words.h"

enum {
    ARTEL__SMALL = 256,   /* bytes of elements inside an array */
    ARTEL__OPERANDS = 32, /* most inputs or outputs of a call */
    ARTEL__CHUNK = 32,    /* arrays that are made at once */
    ARTEL__BUCKETS = 512
};

struct artel_ndarray {
    artel_eager *eager;
    artel_dtype dtype;
    bool dense; /* row-major without gaps */
    int32_t references;
    artel_shape shape;
    int64_t stride[ARTEL_MAX_RANK]; /* bytes */
    int64_t count;
    char *data;
    artel_ndarray *owner; /* of the elements; NULL: itself */
    size_t bytes;         /* of the block behind `data`; 0: inside, or an owner's */
    char *text;           /* of an owner of strings: the block with the bytes of all of them; NULL: none yet */
    artel_ndarray *next;  /* among the free */
    _Alignas(64) char small[ARTEL__SMALL];
};

typedef struct artel__chunk {
    struct artel__chunk *next;
    artel_ndarray array[ARTEL__CHUNK];
} artel__chunk;

/* A strategy of one replica for functions on so many rows; 0: on shared values alone. Ends with the last of its
 * functions. */
typedef struct artel__batch {
    int64_t rows, functions;
    artel_strategy *strategy;
    struct artel__batch *next;
} artel__batch;

/* What a result is. */
typedef struct artel__made {
    artel_dtype dtype;
    artel_shape shape; /* the batch included */
} artel__made;

/* An operation, or a function of the program's, with the shapes that it was traced for. */
typedef struct artel__entry {
    struct artel__entry *next; /* in its bucket */
    uint64_t hash;
    uint64_t used; /* when: the tick of the eager object */
    const char *name, *attributes;
    const artel_eager_function *owner; /* NULL: an operation */
    int inputs, outputs;
    int declared; /* outputs of the function that is being traced: first more than there are */
    artel__made *input, *output;
    bool rows;           /* the first axis of the first input is the batch's */
    uint32_t has_rows;   /* by input */
    artel_dtype narrow;  /* what float32 results are rounded to; FLOAT32: nothing */
    artel__batch *batch; /* that the function is of */
    artel_function *function;
    artel__direct *direct; /* NULL: by artel_function_run */
    artel__arena arena;
} artel__entry;

struct artel_eager_function {
    artel_eager *eager;
    const char *name;
    artel_trace_fn *trace;
    void *user;
    int outputs;
    artel_eager_function *next;
};

struct artel_eager {
    artel_context *ctx;
    artel_eager_options options;
    artel__arena arena;
    artel__batch *batch;
    artel__chunk *chunk;
    artel_ndarray *unused;
    artel_eager_function *function;
    artel__entry *bucket[ARTEL__BUCKETS];
    int64_t entries;
    uint64_t tick, draws;
    int tracing; /* functions, each within the one before */
};

/* An array of uninitialised elements. */
artel_status artel__ndarray_new(artel_eager *eager, artel_dtype dtype, const artel_shape *shape, artel_ndarray **out);
/* A view of an array's elements, to be filled in: shape, stride, data. Then artel__ndarray_settle. */
artel_status artel__ndarray_view(artel_ndarray *of, artel_ndarray **out);
void artel__ndarray_settle(artel_ndarray *view);
/* The elements in row-major order, as they are. */
void artel__ndarray_gather(const artel_ndarray *array, void *to);
/* Whether a shape and a type can be an array's. */
artel_status artel__ndarray_check(artel_eager *eager, artel_dtype dtype, const artel_shape *shape);

/* text.c. Gives an owner (or an array without elements) strings of its own, which are copies of `from`; NULL: empty
 * ones. On failure it is as it was. ARTEL_ERROR_INVALID: one is no UTF-8. */
artel_status artel__ndarray_take_text(artel_ndarray *array, const artel_string *from);
/* Elements of a type into another, strings among them; numbers do not become strings here, for nobody would own these.
 */
artel_status artel__ndarray_convert(artel_eager *eager, artel_dtype from, const void *source, artel_dtype to,
                                    void *target, int64_t count);
/* Strings of numbers, in a new array of this shape. */
artel_status artel__ndarray_print(artel_eager *eager, artel_dtype from, const void *source, const artel_shape *shape,
                                  artel_ndarray **out);

/* strings.c: an operation on strings: how many results it has, of which at most `most` are handed out, or a negative
 * status. 0: none of its operands is a string. */
int artel__eager_strings(artel_eager *eager, const char *name, artel_ndarray *const *inputs, int count,
                         const char *attributes, artel_ndarray **outputs, int most);
/* arithmetic.c: two operands of a type that graphs do not compute in; ARTEL_AGAIN: no such operation. */
artel_status artel__eager_arithmetic(artel_eager *eager, const char *name, artel_ndarray *const *inputs, int count,
                                     artel_ndarray **out);

/* The entry for these inputs, traced now if there is none. */
artel_status artel__eager_find(artel_eager *eager, const artel_eager_function *function, const char *name,
                               artel_ndarray *const *inputs, int count, const char *attributes, artel__entry **out);
/* The same where it has been traced; NULL: it has not. */
artel__entry *artel__eager_known(artel_eager *eager, const artel_eager_function *function, const char *name,
                                 artel_ndarray *const *inputs, int count, const char *attributes);
/* Runs it: at most `most` outputs are handed out. */
artel_status artel__eager_run(artel_eager *eager, artel__entry *entry, artel_ndarray *const *inputs,
                              artel_ndarray **outputs, int most);
void artel__eager_forget(artel_eager *eager); /* all entries */

#endif
