/* SPDX-License-Identifier: Apache-2.0 */
/* Data: named arrays whose first axis counts the samples.
 *
 * Data comes from files named by a specification (docs/data.md: "npz:train.npz", "idx:IMAGES,LABELS#scale=1/255",
 * "csv:rows-*.csv#label=price", "images:DIR", "synthetic:1000"), from arrays in the caller's memory, or from a
 * function that the caller provides. Opening reads headers only; which arrays feed which inputs and outputs of a
 * model is settled when the data meets a model, by these rules: an order given with `#a,b,c`; arrays named like the
 * model's input and output layers; arrays with the roles below, in order; `x`, `y`, `sample_weight`; `x_train` and
 * `y_train` for training, `x_test` and `y_test` for validation and evaluation.
 *
 * Numbers reach the model as NumPy's astype would make them (whole ones that do not fit saturate); bytes stay 0..255
 * unless `scale` is given. Labels become class indices or one-hot rows, whichever the loss wants. Data may be used with
 * several models, one after another, and belongs to one thread at a time, like its context.
 */
#ifndef ARTEL_DATA_H
#define ARTEL_DATA_H

#include "artel/context.h"
#include "artel/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_data artel_data;

/* What an array is for. */
typedef enum artel_data_role {
    ARTEL_DATA_ROLE_AUTO = 0,   /* by its name */
    ARTEL_DATA_ROLE_INPUT = 1,  /* "x": the model's inputs, in the model's order */
    ARTEL_DATA_ROLE_TARGET = 2, /* "y": one for each output, in the model's order */
    ARTEL_DATA_ROLE_WEIGHT = 3  /* "sample_weight": at most one */
} artel_data_role;

/* One array: description, and for artel_data_from_memory also its values. */
typedef struct artel_data_array {
    const char *name; /* may be NULL or empty when the role says enough */
    artel_data_role role;
    artel_dtype dtype;  /* strings (artel_string) from memory, not from a callback */
    artel_shape shape;  /* the leading extent counts the samples */
    const void *values; /* row-major, native byte order; unused in descriptions */
} artel_data_array;

/* Delivers rows: for each array of the description, in order, buffers[i] receives `count` rows of that array, packed,
 * in its dtype. rows[] holds sample indices below the count that was declared; any order, repeats are possible. Must
 * give the same values for the same index every time. Called by one thread at a time, possibly not the caller's own.
 * Returns ARTEL_OK, or a negative status, which ends the run; `message` (512 bytes, empty at first) may say why. */
typedef artel_status artel_data_fetch_fn(void *user, const uint64_t *rows, int64_t count, void *const *buffers,
                                         char *message);

/* Opens data by specification. Headers are read and checked; values are mapped or read when a model needs them.
 * Errors: ARTEL_ERROR_INVALID (specification, option), ARTEL_ERROR_NOT_FOUND (file, pattern without match),
 * ARTEL_ERROR_CORRUPT (damaged file), ARTEL_ERROR_UNSUPPORTED (known, not readable yet), ARTEL_ERROR_IO,
 * ARTEL_ERROR_NO_MEMORY. On failure *out is untouched. */
ARTEL_API artel_status artel_data_open(artel_context *context, const char *specification, artel_data **out);

/* What data of this context may take together, so as to be faster: batches read ahead, blocks of compressed files,
 * `cache` stages of pipelines. Anything works with 1 byte; no result depends on it. 0: a quarter of the memory there
 * is, which holds until this is called. Data that is open keeps what it has. Errors: ARTEL_ERROR_INVALID (the context
 * is missing). */
ARTEL_API artel_status artel_data_set_memory(artel_context *context, uint64_t bytes);

/* Data from arrays in memory. Descriptions are copied; values are borrowed and must stay, unchanged, until the data is
 * destroyed. All arrays that one model uses must have the same leading extent. */
ARTEL_API artel_status artel_data_from_memory(artel_context *context, const artel_data_array *arrays, int array_count,
                                              artel_data **out);

/* A function that delivers data, and what it delivers. */
typedef struct artel_data_callback {
    const artel_data_array *arrays; /* descriptions; shape.dim[0] and values are ignored */
    int array_count;
    int64_t count; /* samples, at least 1 */
    artel_data_fetch_fn *fetch;
    void *user; /* handed to fetch */
} artel_data_callback;

/* Data from a function. The descriptions are copied; `user` must stay valid until the data is destroyed. */
ARTEL_API artel_status artel_data_from_callback(artel_context *context, const artel_data_callback *callback,
                                                artel_data **out);

/* Samples, or -1 when the arrays differ in length (as in Keras' mnist.npz, where training and test arrays lie in one
 * file). */
ARTEL_API int64_t artel_data_count(const artel_data *data);

/* Arrays that were found; 0 for synthetic data, which takes the shape of its model. */
ARTEL_API int artel_data_array_count(const artel_data *data);

/* Describes one array (values NULL); the name is borrowed until the data is destroyed.
 * ARTEL_ERROR_INVALID when there is no such index. */
ARTEL_API artel_status artel_data_array_describe(const artel_data *data, int index, artel_data_array *out);

/* Closes files and frees; NULL is accepted. */
ARTEL_API void artel_data_destroy(artel_data *data);

#ifdef __cplusplus
}
#endif
#endif
