/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays and operations that are computed at once, without a graph in sight: what NumPy and eager TensorFlow are to
 * Python.
 *
 *   artel_eager_create -> artel_ndarray_create -> artel_eager_op, ... -> artel_ndarray_read
 * Operations are those of keras.ops by name, as in artel/graph.h; every axis of an array counts from 0, the batch
 * included. The first call of an operation with some shapes and settings traces and seals a function; later ones find
 * it. An operation that wants rows of a batch
 * ("conv", "batch_normalization") gets the first axis of its first array as these.
 *
 * Element types: arrays hold and convert all numeric ones, and strings (artel_string). Operations compute in float32,
 * int32 and bool, as graphs do, and many in float64 (docs/eager.md lists them), which operands of other types beside it
 * become; arrays of float16 and bfloat16 are computed in float32 and the result is rounded once; arithmetic,
 * comparisons, minima and maxima of two arrays of one type know all the others, too. Strings are moved, chosen,
 * compared, put in order, joined, split and looked up (docs/eager.md lists how). Everything else is refused by name:
 * cast first.
 *
 * Threads: an eager object and its arrays belong to one thread at a time. Results do not depend on the number of
 * threads. */
#ifndef ARTEL_EAGER_H
#define ARTEL_EAGER_H

#include "artel/strategy.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_eager artel_eager;                   /* computes; of a context */
typedef struct artel_ndarray artel_ndarray;               /* of an eager object; counted references */
typedef struct artel_eager_function artel_eager_function; /* of an eager object */

typedef struct artel_eager_options {
    size_t struct_size;
    int threads;   /* 1; 0: the cores that the process may use */
    uint64_t seed; /* of random arrays */
    int64_t
        most_functions; /* how many operations of given shapes are kept; the least recently used one goes first; 1024 */
} artel_eager_options;

#ifdef __cplusplus
static inline artel_eager_options artel_eager_options_init(void)
{
    artel_eager_options options = artel_eager_options();
    options.struct_size = sizeof options;
    options.threads = 1;
    options.most_functions = 1024;
    return options;
}
#define ARTEL_EAGER_OPTIONS_INIT artel_eager_options_init()
#else
#define ARTEL_EAGER_OPTIONS_INIT                                                         \
    {                                                                                    \
        .struct_size = sizeof(artel_eager_options), .threads = 1, .most_functions = 1024 \
    }
#endif

/* `options` NULL: defaults. Errors: ARTEL_ERROR_INVALID (options), ARTEL_ERROR_NO_MEMORY. On failure *out is untouched.
 */
ARTEL_API artel_status artel_eager_create(artel_context *context, const artel_eager_options *options,
                                          artel_eager **out);
ARTEL_API void artel_eager_destroy(artel_eager *eager); /* NULL accepted; with all its arrays and functions */
/* Functions that are kept at the moment. */
ARTEL_API int64_t artel_eager_functions(const artel_eager *eager);

/* -- arrays: making -- */

/* Dense, row-major; the elements are copied, of strings their bytes too. NULL: zeros, or empty strings. Errors:
 * ARTEL_ERROR_INVALID (a shape or element type that is none, a string that is no UTF-8), ARTEL_ERROR_NO_MEMORY. On
 * failure *out is untouched, as everywhere here. */
ARTEL_API artel_status artel_ndarray_create(artel_eager *eager, artel_dtype dtype, const artel_shape *shape,
                                            const void *elements, artel_ndarray **out);
/* One number everywhere, converted as NumPy does; integers that do not fit saturate. */
ARTEL_API artel_status artel_ndarray_full(artel_eager *eager, artel_dtype dtype, const artel_shape *shape,
                                          double number, artel_ndarray **out);
/* float32 in [low, high), and normal numbers: counter-based, a function of the seed, of how many random arrays were
 * made before, and of the element's place. */
ARTEL_API artel_status artel_ndarray_uniform(artel_eager *eager, const artel_shape *shape, double low, double high,
                                             artel_ndarray **out);
ARTEL_API artel_status artel_ndarray_normal(artel_eager *eager, const artel_shape *shape, double mean, double deviation,
                                            artel_ndarray **out);
/* Another reference; the same array, or NULL for NULL. */
ARTEL_API artel_ndarray *artel_ndarray_retain(artel_ndarray *array);
ARTEL_API void artel_ndarray_release(artel_ndarray *array); /* NULL accepted; the last one frees it */

/* -- arrays: looking -- */

/* Any of the outputs may be NULL. `strides`: ARTEL_MAX_RANK distances between elements, in bytes, as many of them set
 * as there are axes. */
ARTEL_API artel_status artel_ndarray_describe(const artel_ndarray *array, artel_dtype *dtype, artel_shape *shape,
                                              int64_t *strides);
/* Where the elements lie in row-major order; NULL for views that are not dense. Numbers may be written to: views of it
 * see that. Of strings: artel_string elements, each with a NUL behind its bytes, to be read until strings are written
 * to the array, or to a view of the same elements, or the last reference to these is gone. */
ARTEL_API void *artel_ndarray_data(artel_ndarray *array);
/* All elements in row-major order, converted; `count` must be their number. Strings become numbers (not bool) as by
 * artel_ndarray_cast(); read as strings they are borrowed, as by artel_ndarray_data(). ARTEL_ERROR_INVALID: the count
 * is another, a string is no such number, or numbers are to be strings (cast them). */
ARTEL_API artel_status artel_ndarray_read(const artel_ndarray *array, artel_dtype dtype, void *elements, int64_t count);
/* The other way: overwrites the elements, which all views of them see. Bytes of strings are copied. A failure leaves
 * them as they were. */
ARTEL_API artel_status artel_ndarray_write(artel_ndarray *array, artel_dtype dtype, const void *elements,
                                           int64_t count);

/* -- arrays: views, which share the elements; ARTEL_ERROR_INVALID: an axis, a shape, an index that does not fit -- */

/* Python's array[begin:end:step] along one axis; negative positions count from the end, INT64_MAX and INT64_MIN are
 * beyond either. */
ARTEL_API artel_status artel_ndarray_slice(artel_ndarray *array, int axis, int64_t begin, int64_t end, int64_t step,
                                           artel_ndarray **out);
/* One position of an axis, which goes. */
ARTEL_API artel_status artel_ndarray_index(artel_ndarray *array, int axis, int64_t position, artel_ndarray **out);
/* At most one extent is -1: what remains. Of an array that is not dense: a copy. */
ARTEL_API artel_status artel_ndarray_reshape(artel_ndarray *array, const artel_shape *shape, artel_ndarray **out);
/* axes[i]: the axis of the array that becomes axis i; as many as it has. NULL: in reverse. */
ARTEL_API artel_status artel_ndarray_transpose(artel_ndarray *array, const int *axes, artel_ndarray **out);
/* Axes of extent 1, and new ones in front, are repeated without taking memory. What is written to such a view is
 * unspecified. */
ARTEL_API artel_status artel_ndarray_broadcast(artel_ndarray *array, const artel_shape *shape, artel_ndarray **out);
/* A dense copy of another element type, or of its own. Numbers to integers truncate and saturate; bool is "not zero".
 * Numbers become the shortest text that reads back as the same element, laid out as Python's str() does: "1.5",
 * "1e-05", "True"; strings the numbers that Python's int() and float() read, which must fit (ARTEL_ERROR_INVALID names
 * the first that is none), but no bool (UNSUPPORTED). */
ARTEL_API artel_status artel_ndarray_cast(const artel_ndarray *array, artel_dtype dtype, artel_ndarray **out);

/* -- operations -- */

/* An operation of keras.ops by name; `attributes` as in artel_graph_op(). *out is a new dense array, the first result.
 * Errors: those of artel_graph_op(); ARTEL_ERROR_UNSUPPORTED (an element type that the operation does not compute in),
 * ARTEL_ERROR_INVALID (arrays of another eager object, an index out of range inside), ARTEL_ERROR_CANCELLED
 * (artel_context_cancel() during string_regex_full_match or string_regex_replace). */
ARTEL_API artel_status artel_eager_op(artel_eager *eager, const char *name, artel_ndarray *const *inputs, int count,
                                      const char *attributes, artel_ndarray **out);
/* All results: writes at most `most` and returns how many there are, or a negative status. */
ARTEL_API int artel_eager_op_all(artel_eager *eager, const char *name, artel_ndarray *const *inputs, int count,
                                 const char *attributes, artel_ndarray **outputs, int most);
ARTEL_API artel_status artel_eager_unary(artel_eager *eager, const char *name, artel_ndarray *x, artel_ndarray **out);
ARTEL_API artel_status artel_eager_binary(artel_eager *eager, const char *name, artel_ndarray *a, artel_ndarray *b,
                                          artel_ndarray **out);

/* -- functions: traced once for each list of shapes and element types -- */

/* `trace` as in artel_function_create(), with shared values; it is called again for shapes that are new, as long as the
 * eager object lives. No variables: what changes goes in and comes out. At most 32 inputs and outputs. Errors:
 * ARTEL_ERROR_INVALID (output_count). */
ARTEL_API artel_status artel_eager_function_create(artel_eager *eager, const char *name, artel_trace_fn *trace,
                                                   void *user, int output_count, artel_eager_function **out);
/* outputs[0 .. output_count - 1] are new arrays. float16 and bfloat16 inputs are seen as float32. Errors: those of
 * tracing and of artel_function_run(). */
ARTEL_API artel_status artel_eager_call(artel_eager_function *function, artel_ndarray *const *inputs, int input_count,
                                        artel_ndarray **outputs, int output_count);

#ifdef __cplusplus
}
#endif
#endif
