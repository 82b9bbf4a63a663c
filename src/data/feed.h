/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a feed: what binding settles and fetching reads.
 *
 * A core holds one binding for each array that is delivered; feeds are views of a core (all rows, a run of rows, a list
 * of rows) and share it by count. After binding a core is never written, so any number of threads may fetch.
 */
#ifndef ARTEL_DATA_FEED_H
#define ARTEL_DATA_FEED_H

#include "data/source.h"

/* The rows of one array in one joined source. */
typedef struct artel__segment {
    int64_t first, count; /* rows of the feed [first, first + count) */
    const uint8_t *base;  /* NULL: source->format->fetch_row */
    size_t stride;
    const artel__source *source;
} artel__segment;

typedef struct artel__binding {
    artel__feed_array public;
    const char *layer;      /* what it feeds, for messages */
    int array;              /* in its source; -1 for packed columns and synthetic arrays */
    artel_shape source_row; /* as the source delivers it */
    size_t source_bytes;
    artel__conversion conversion;
    artel__segment *segments;
    int segment_count;
    bool is_synthetic; /* rows are computed */
    artel__synthetic synthetic;
} artel__binding;

typedef struct artel__feed_core {
    artel_context *ctx;
    artel_data *data; /* one reference is held */
    artel__arena arena;
    int references;
    artel__binding *bindings;
    int binding_count;
    artel__feed_array *arrays; /* what is delivered */
    int array_count;
    const artel__program *program; /* NULL: what is bound is delivered */
    artel__cells *values;          /* of the program, without data */
    int *slot;                     /* by binding, then by step of the program: its place among `arrays`, or -1 */
    int64_t count;
    uint64_t seed;
    bool draws;                       /* rows have other values in each pass */
    struct artel__core_block *blocks; /* packed and synthetic values */
} artel__feed_core;

struct artel__feed {
    artel__feed_core *core;
    int64_t first, count;
    uint64_t *rows; /* NULL: rows first .. first + count - 1; else these */
};

/* Settles what is delivered (ahead.c). */
artel_status artel__feed_publish(artel__feed_core *core);
/* Fetches where there is a program. */
artel_status artel__feed_fetch_ahead(const artel__feed *feed, artel__pool *pool, const uint64_t *rows, int64_t count,
                                     void *const *buffers);
/* Rows of everything that is bound, by binding. */
artel_status artel__feed_fetch_bound(const artel__feed *feed, artel__pool *pool, const uint64_t *rows, int64_t count,
                                     void *const *buffers);

/* Aligned memory freed with the core. */
artel_status artel__core_alloc(artel__feed_core *core, size_t bytes, void **out);
void artel__core_release(artel__feed_core *core);

/* Rows [begin, end) of a call of artel__feed_fetch, all of which are in the feed, to their places in the buffers
 * (fetch.c). */
artel_status artel__feed_fetch_piece(const artel__feed *feed, const uint64_t *rows, int64_t begin, int64_t end,
                                     void *const *buffers);

/* feed_parts.c: refuses data of which pieces are elsewhere, unless it is bound `apart`; then what cannot be. */
artel_status artel__data_check_parts(artel_data *data, bool apart);

/* feed_buckets.c: refuses data with buckets where whoever binds it makes batches of any rows, and what does not go with
 * them. */
artel_status artel__data_check_buckets(const artel_data *data, const artel__data_wants *wants);
void artel__feed_describe_buckets(const artel__feed *feed, artel__text *out); /* a line for each; nothing without */

/* ---- match.c: which arrays feed what ---- */

/* Arrays for one input, target or weight: one, or the columns of a table side by side. */
typedef struct artel__match {
    int *arrays;
    int count; /* 0: none (weight only) */
} artel__match;

typedef struct artel__matches {
    artel__match *inputs, *targets; /* as many as wanted; targets NULL for predict */
    artel__match weight;            /* of all targets */
    artel__match *weights;          /* by target; those without arrays have none */
} artel__matches;

artel_status artel__data_match(artel_data *data, const artel__data_wants *wants, artel__arena *arena,
                               artel__matches *out);

/* ---- bind.c ---- */

/* Readies one binding: shape, conversion, values. `pixel_note` is set when bytes reach a float input unscaled. */
typedef struct artel__bind_job {
    artel__feed_core *core;
    artel__match match;
    artel_data_role role;
    int index;
    const char *layer;
    artel_dtype dtype;
    artel_shape row;
    const artel__data_want_target *target; /* NULL for inputs and the weight */
    bool pixel_note;
} artel__bind_job;

artel_status artel__bind_array(artel__bind_job *job, artel__binding *out);

/* Bindings of synthetic data, made from the wants. */
artel_status artel__bind_synthetic(artel__feed_core *core, const artel__data_wants *wants);

#endif
