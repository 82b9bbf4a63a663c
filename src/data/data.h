/* SPDX-License-Identifier: Apache-2.0 */
/* Data as training sees it: an artel_data bound to what a model feeds, called a feed.
 *
 * Life: artel_data_open() -> artel__data_bind(data, wants, &feed) -> [artel__feed_split()] -> artel__feed_fetch() for
 * any rows in any order -> artel__feed_destroy(). All sources are indexable: the order of samples is the caller's
 * affair (artel__rng_permutation), a row number always means the same sample. A feed keeps its data alive, so the two
 * may be destroyed in either order.
 *
 * Threads: binding, splitting and destroying belong to the context's thread; artel__feed_fetch may be called by any
 * number of threads at once. It takes no memory from the heap for sources that lie in memory (idx, npy, npz, csv,
 * cifar10, memory, small synthetic data); images and callbacks that need converting take and give back some.
 */
#ifndef ARTEL_DATA_DATA_H
#define ARTEL_DATA_DATA_H

#include "artel/data.h"
#include "base/text.h"
#include "base/threads.h"
#include "tensor/shape.h"
#include "text/program.h"

/* Which arrays of a file with training and test parts are meant, and whether targets are needed. */
typedef enum artel__data_purpose {
    ARTEL__DATA_PURPOSE_TRAIN,
    ARTEL__DATA_PURPOSE_EVALUATE, /* validation too */
    ARTEL__DATA_PURPOSE_PREDICT   /* inputs only: targets and weights are not bound; *_test before *_train */
} artel__data_purpose;

/* What the loss of an output wants to be given. */
typedef enum artel__data_target_kind {
    ARTEL__DATA_TARGET_VALUES,  /* numbers of the shape `row` */
    ARTEL__DATA_TARGET_INDICES, /* class numbers 0 .. classes-1; `row` is the prediction's shape without the class axis
                                 */
    ARTEL__DATA_TARGET_ONE_HOT /* `row` ends in the class axis; class numbers are expanded, ready rows are taken as they
                                  are */
} artel__data_target_kind;

typedef struct artel__data_want_input {
    const char *name;  /* of the input layer */
    artel_dtype dtype; /* delivered: float32, int32, int64, uint8, bool, ...; strings only with a program */
    artel_shape row;   /* extents of one row, -1 where the model leaves them open; rank -1: anything */
    int64_t limit;     /* exclusive upper limit of integers fed here (vocabulary), for synthetic data; 0: none known */
} artel__data_want_input;

typedef struct artel__data_want_target {
    const char *name;  /* of the output layer (Keras' output name) */
    artel_dtype dtype; /* delivered: float32 for values and one-hot, int32 or int64 for indices */
    artel_shape row;   /* see the kinds; -1 open; rank -1: anything */
    artel__data_target_kind kind;
    int64_t classes;  /* exclusive limit of class numbers; 0 for values (and unknown) */
    bool has_ignored; /* indices: one value outside the classes is let through (ignore_class) */
    int64_t ignored;
} artel__data_want_target;

/* A piece of data, which lies on this machine or not: a file. */
typedef struct artel__data_piece {
    const char *name;
    int64_t rows;
    bool here;
    const struct artel__blob *blob; /* of formats that have FILE.index (part_index.h): the file; NULL: it is not here */
} artel__data_piece;

/* Batches of rows of like length: what a pipeline may end with (stage_bucket.c). */
typedef struct artel__data_buckets {
    int count;
    const int64_t *length;     /* by bucket, growing: the first extent that its rows are cut to */
    const int64_t *batch_size; /* by bucket; NULL: that of the run */
    const uint8_t *of;         /* by row of the data */
    const bool *cut;           /* by array of the data */
} artel__data_buckets;

typedef struct artel__data_wants {
    artel__data_purpose purpose;
    bool buckets; /* batches may be of like length: whoever makes them asks for artel__feed_buckets. Otherwise such data
                     is refused */
    bool apart;   /* pieces may lie on other machines: whoever fetches rows asks for those that are here. Otherwise all
                     must be here */
    const artel__data_want_input *inputs;
    int input_count;
    const artel__data_want_target *targets; /* ignored for predict */
    int target_count;
    artel_dtype weight; /* of sample weights: FLOAT32 or FLOAT64 */
    const artel__program
        *program;  /* computed of the inputs row by row; NULL: they are delivered as they are. Borrowed by the feed */
    uint64_t seed; /* of synthetic data and of the split of sorted sources */
    bool scales_itself;    /* the model starts with Rescaling or Normalization: no note about unscaled bytes */
    const char *rescaling; /* name of the Rescaling it starts with, or NULL: a note when the data is scaled, too */
} artel__data_wants;

/* One array as delivered. Order in a feed: inputs in the model's order, targets in the model's order, then the
 * weight if the data has one, or one for each target that has one. With a program the values that it delivers stand for
 * the inputs, in their order. */
typedef struct artel__feed_array {
    const char *name;     /* as the data calls it; borrowed from the feed */
    artel_data_role role; /* never AUTO */
    int index; /* among the inputs or targets of the wants; with a program, of an input: among its values; 0: the weight
                * of all targets, 1 and on: of target 0 and on */
    artel_dtype dtype; /* as wanted */
    artel_shape row;   /* extents of one row, all known */
    size_t row_bytes;
    bool without; /* a target like its output, which the data has without the last axis, of 1 */
    bool cut;     /* its first extent, in a batch, is the length of the batch's bucket */
} artel__feed_array;

typedef struct artel__feed artel__feed;

/* Matches arrays to the model by the rules of artel/data.h, checks shapes (an axis of 1 at the end is added or dropped
 * as Keras does), settles conversions and loads what needs loading. The wants are copied.
 * Errors: ARTEL_ERROR_INVALID when the data does not fit the model (what was found, what was expected, what to do),
 * ARTEL_ERROR_UNSUPPORTED for strings where numbers are wanted, ARTEL_ERROR_CORRUPT and ARTEL_ERROR_IO for damaged
 * files. */
artel_status artel__data_bind(artel_data *data, const artel__data_wants *wants, artel__feed **out);
void artel__feed_destroy(artel__feed *feed); /* NULL accepted */
/* The shape of a row of what would feed target `index` of the wants, as the data has it; of the wants the purpose and
 * the names are read. Rank -1: synthetic data, which has the shape that is wanted. Errors: as of matching in
 * artel__data_bind. */
artel_status artel__data_target_row(artel_data *data, const artel__data_wants *wants, int index, artel_shape *out);

/* Rows (at least 1). */
int64_t artel__feed_count(const artel__feed *feed);
/* The arrays; borrowed. */
const artel__feed_array *artel__feed_arrays(const artel__feed *feed, int *out_count);
/* The array of a role and index, or NULL; *out_position is its place in buffers[] (may be NULL). */
const artel__feed_array *artel__feed_find(const artel__feed *feed, artel_data_role role, int index, int *out_position);

/* Of data whose batches are of like length (NULL: they are of any rows), and the bucket of a row. */
const artel__data_buckets *artel__data_buckets_of(const artel_data *data);
const artel__data_buckets *artel__feed_buckets(const artel__feed *feed);
int artel__feed_bucket_of(const artel__feed *feed, uint64_t row);
/* An array's row in that bucket; of none (-1) the whole. */
artel_shape artel__feed_row(const artel__feed *feed, const artel__feed_array *array, int bucket);

/* Where random stages of a pipeline draw anew in each pass over the data, a row's number may carry the pass (0 unless
 * it does). */
bool artel__feed_draws(const artel__feed *feed);
static inline uint64_t artel__row_in_pass(uint64_t row, int64_t pass)
{
    return row | (uint64_t)pass << 44;
}
static inline uint64_t artel__row_number(uint64_t row)
{
    return row & (((uint64_t)1 << 44) - 1);
}

/* The program of the wants, and what its values are in this data; NULL when there is none. */
const artel__program *artel__feed_program(const artel__feed *feed);
const artel__cells *artel__feed_values(const artel__feed *feed);

/* Gathers `count` rows of every array: buffers[i] receives count * arrays[i].row_bytes bytes; a NULL buffer leaves its
 * array out. rows[] below artel__feed_count, with a pass or without. Thread-safe. `pool`: threads that share the rows;
 * NULL: the caller alone. Errors name a record and the value (a label outside the classes, a damaged image); then the
 * buffers are undefined. */
artel_status artel__feed_fetch(const artel__feed *feed, artel__pool *pool, const uint64_t *rows, int64_t count,
                               void *const *buffers);

/* Divides as Keras' validation_split does: the first floor(n * (1 - fraction)) rows train, the rest validate. Sources
 * sorted by class (images) give a random subset instead, a function of the seed, and a note says so. Both parts are
 * feeds of their own and must be destroyed. ARTEL_ERROR_INVALID unless both get rows. */
artel_status artel__feed_split(const artel__feed *feed, double fraction, artel__feed **out_train,
                               artel__feed **out_validation);

/* What the identity of a run needs: sizes and the ends of each file in order, options, arrays bound, rows chosen. A
 * function of content, not of paths. The first reads file ends and can fail. */
artel_status artel__data_fingerprint(const artel_data *data, uint8_t out[32]);
artel_status artel__feed_fingerprint(const artel__feed *feed, uint8_t out[32]);

/* artel_data_open() with skip-errors=N (0: as the specification says) where its format knows that; *skips becomes true
 * then. Data that is used in memory as it lies in its files has no rows that could be left out. */
artel_status artel__data_open_skipping(artel_context *ctx, const char *specification, int64_t skip_errors, bool *skips,
                                       artel_data **out);

/* -- pipelines of workers (divide.c) -- */

/* Makes the data that of `workers` workers, one behind another, where a pipeline says which part is a worker's; worker
 * i's are rows [first[i], first[i + 1]). Before the data is bound. Errors: UNSUPPORTED (no pipeline), INVALID (it does
 * not say; it is in use). */
artel_status artel__data_divide(artel_data *data, int workers, int64_t *first);

artel_context *artel__data_context(const artel_data *data);

/* -- pieces that lie apart (feed_parts.c) -- */

/* Whether data can be bound `apart`: it has such pieces, of lines and the like with an index beside each. */
bool artel__data_can_lie_apart(const artel_data *data);
/* How many pieces there are; 0 unless the data was bound `apart`. */
int artel__feed_parts(const artel__feed *feed);
artel__data_piece artel__feed_part(const artel__feed *feed, int part);
/* The piece that a row lies in. */
int artel__feed_part_of(const artel__feed *feed, uint64_t row);

/* -- content (content.c): hashes of rows as their source holds them, their numbers included -- */

/* False when no row lies in a file or in memory: synthetic data, data from a function. */
bool artel__feed_has_content(const artel__feed *feed);
/* Bytes of all rows in memory; -1 when rows have to be read one by one (images). */
int64_t artel__feed_content_bytes(const artel__feed *feed);
/* Of all rows of the data behind the feed, in order. */
artel_status artel__feed_content(const artel__feed *feed, uint64_t *out);
/* Adds the hash of each of these rows: a sum that does not depend on their order. Thread-safe. */
artel_status artel__feed_hash_rows(const artel__feed *feed, const uint64_t *rows, int64_t count, uint64_t *sum);

/* Whether the file at `path` is one that the specification reads, by whatever name or pattern, those of folders and of
 * pipelines, shards and descriptions of features included (reads.c); false, too, for what is no specification. Fails
 * only without memory, and records nothing else. */
artel_status artel__data_reads(artel_context *ctx, const char *specification, const char *path, bool *out);

/* For `artel inspect`: format, files, rows, one line for each array (name, dtype, shape, what it is). */
void artel__data_describe(const artel_data *data, artel__text *out);
/* For `artel check` and --explain: one line for each array: what it is, what it becomes and which layer it feeds. */
void artel__feed_describe(const artel__feed *feed, artel__text *out);

#endif
