/* SPDX-License-Identifier: Apache-2.0 */
/* Input pipelines: data, and stages on it, as pipeline files (docs/data.md) hold them, made in C; and reading elements
 * one by one.
 *
 *     artel_pipeline *p;
 *     artel_pipeline_create(ctx, "images:photos#size=40x40", &p);
 *     artel_pipeline_add(p, "random_crop", "{\"column\": \"x\", \"height\": 32, \"width\": 32}");
 *     artel_pipeline_map(p, &(artel_pipeline_function){.column = "x", .name = "whiten 1", .dtype = ARTEL_DTYPE_FLOAT32,
 *                                                      .shape = {3, {32, 32, 3}}, .function = whiten});
 *     artel_pipeline_open(p, &data);              then artel_model_fit(model, data, ...), or a reader
 *
 * A pipeline is a description: nothing is read before it is opened, and it can be opened more than once. An element is
 * a function of its number and the pass over the data, so order and values do not depend on threads, replicas or tasks.
 * Objects belong to one thread at a time, like their context.
 */
#ifndef ARTEL_PIPELINE_H
#define ARTEL_PIPELINE_H

#include "artel/data.h"
#include "artel/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct artel_pipeline artel_pipeline;

/* Begins with data by specification (artel/data.h). Whether it is there is seen when the pipeline is opened. */
ARTEL_API artel_status artel_pipeline_create(artel_context *context, const char *specification, artel_pipeline **out);
/* Begins with what a JSON text describes: the content of a pipeline file. */
ARTEL_API artel_status artel_pipeline_from_json(artel_context *context, const char *text, artel_pipeline **out);
/* Begins with others, which stay as they are and may be destroyed: `join` is "concatenate", "zip", "interleave",
 * "sample"; `settings` a JSON object of the join's settings, or NULL. */
ARTEL_API artel_status artel_pipeline_join(artel_context *context, const char *join, artel_pipeline *const *inputs,
                                           int count, const char *settings, artel_pipeline **out);
/* Adds a stage by name; `settings` is a JSON object, or NULL. Names and settings are checked when the pipeline is
 * opened. Errors: CORRUPT (no JSON), INVALID (no object). */
ARTEL_API artel_status artel_pipeline_add(artel_pipeline *pipeline, const char *stage, const char *settings);

/* Makes a column's value of element `index` from that in front of the stage, both packed, in their dtypes. Must give
 * the same value each time. Called by any number of threads at once. A negative status ends the reading; `message` (512
 * bytes, empty at first) may say why. */
typedef artel_status artel_pipeline_map_fn(void *user, int64_t index, const void *in, void *out, char *message);

typedef struct artel_pipeline_function {
    const char *column;
    const char
        *name; /* what it is, with its version: part of what identifies the data; checkpoints and caches go by it */
    artel_dtype dtype; /* of what it makes; no strings */
    artel_shape shape; /* of one element */
    artel_pipeline_map_fn *function;
    void *user; /* must stay as long as the pipeline and data that was opened from it */
} artel_pipeline_function;

/* Adds a function of one's own. The description is copied. */
ARTEL_API artel_status artel_pipeline_map(artel_pipeline *pipeline, const artel_pipeline_function *function);

/* The content of a pipeline file, borrowed until the pipeline changes; NULL when memory is out. Functions of one's own
 * stand in it by number and name, and cannot be read back. */
ARTEL_API const char *artel_pipeline_json(artel_pipeline *pipeline);
/* Data to train on, or to read. The pipeline may be destroyed meanwhile. Errors: those of artel_data_open. */
ARTEL_API artel_status artel_pipeline_open(artel_pipeline *pipeline, artel_data **out);
ARTEL_API void artel_pipeline_destroy(artel_pipeline *pipeline); /* NULL is accepted */

/* ---- reading elements ---- */

/* Goes through the elements of any data whose arrays are of one length, in their order. */
typedef struct artel_reader artel_reader;

/* The data is borrowed until the reader is destroyed. Errors: INVALID (arrays of several lengths; nothing but strings),
 * UNSUPPORTED (`scale` or `shift` in its specification: pipelines have a stage for it; synthetic data; data from a
 * function). */
ARTEL_API artel_status artel_reader_create(artel_data *data, artel_reader **out);
/* The same with columns of text, which it leaves out: their elements are artel_string, whose bytes stay until the data
 * is destroyed. */
ARTEL_API artel_status artel_reader_create_with_text(artel_data *data, artel_reader **out);
ARTEL_API void artel_reader_destroy(artel_reader *reader); /* NULL is accepted */
/* Columns, and what one is: shape is that of one element, values NULL; the name is borrowed. */
ARTEL_API int artel_reader_columns(const artel_reader *reader);
ARTEL_API artel_status artel_reader_describe(const artel_reader *reader, int column, artel_data_array *out);
/* Bytes of one element of a column; 0: there is no such column. */
ARTEL_API size_t artel_reader_bytes(const artel_reader *reader, int column);
/* The next element: buffers[i] receives column i, NULL: it is not wanted. ARTEL_AGAIN: the pass is over, and the next
 * call begins the next one. A failure leaves the position. */
ARTEL_API artel_status artel_reader_next(artel_reader *reader, void *const *buffers);
/* Where it stands: passes that are over, and elements read of the running one. What it was told is where it goes on:
 * two numbers are all that a checkpoint needs; either may be NULL. Errors: INVALID (no such place). */
ARTEL_API void artel_reader_position(const artel_reader *reader, int64_t *pass, int64_t *element);
ARTEL_API artel_status artel_reader_seek(artel_reader *reader, int64_t pass, int64_t element);

#ifdef __cplusplus
}
#endif
#endif
