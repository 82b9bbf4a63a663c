/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the data room: a source is what one specification opened; an artel_data is one source or several joined end
 * to end; a format is the vtable that knows how to open and read it.
 *
 * A source lists arrays. An array's rows either lie in memory (base, stride; native byte order, row-major), at once or
 * after load(), or are produced one by one by fetch_row(), or several arrays at a time by fetch_rows(). Everything
 * small belongs to the source's arena, files to its list of blobs.
 */
#ifndef ARTEL_DATA_SOURCE_H
#define ARTEL_DATA_SOURCE_H

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/option.h"
#include "data/data.h"
#include "data/unfold.h"

#define ARTEL__DATA_MAX_ARRAYS 65536 /* columns of a table included */

/* ---- specifications (spec.c) ---- */

typedef enum artel__data_header {
    ARTEL__DATA_HEADER_AUTO,
    ARTEL__DATA_HEADER_YES,
    ARTEL__DATA_HEADER_NO
} artel__data_header;
typedef enum artel__data_tokens {
    ARTEL__DATA_CHARS,
    ARTEL__DATA_BYTES
} artel__data_tokens;
typedef enum artel__data_interpolation {
    ARTEL__DATA_BILINEAR,
    ARTEL__DATA_NEAREST
} artel__data_interpolation;

typedef enum artel__data_decode {
    ARTEL__DATA_EXACT,
    ARTEL__DATA_SCALED
} artel__data_decode;

/* `#options` of a specification. Numbers that are not given are 0, texts NULL. */
typedef struct artel__data_options {
    const char *scale_text, *shift_text, *size_text; /* as given */
    bool has_scale, has_shift;
    float scale_by, scale_over, shift; /* value * by / over + shift, in float32 */
    int64_t height, width, channels;
    int interpolation; /* artel__data_interpolation */
    int decode;        /* artel__data_decode */
    int header;        /* artel__data_header */
    const char *label, *columns, *delimiter, *missing;
    const char *names; /* "#a,b,c" */
    const char *features;
    bool stream;
    const char *types, *defaults;
    int64_t skip_errors;
    const char *layout;
    int64_t file_header, file_footer;
    int64_t length, step; /* of windows of text and of sounds */
    int tokens;           /* artel__data_tokens */
    /* of a data service */
    const char *cert_dir, *cert_name;
    bool insecure_network;
    int64_t wait, consumers, consumer; /* seconds; which of how many */
} artel__data_options;

typedef struct artel__data_format artel__data_format;

/* One `format:target` of a specification. */
typedef struct artel__data_part {
    const artel__data_format *format;
    const char *target;
} artel__data_part;

typedef struct artel__data_spec {
    artel__data_part *parts;
    int part_count;
    artel__data_options options; /* hold for all parts */
} artel__data_spec;

artel_status artel__data_spec_parse(artel__arena *arena, const char *text, artel__data_spec *out);
/* Fails (UNSUPPORTED) where a specification or a file's name is of a known format that is not read, with how to convert
 * it. */
artel_status artel__data_refuse_foreign(artel_context *ctx, const char *text);
/* The comma-separated pieces of a list; *out in the arena. */
artel_status artel__data_list_parse(artel__arena *arena, const char *text, char ***out, int *out_count);
/* The same for names of files: a comma inside the name of a file that exists separates nothing. */
artel_status artel__data_files_parse(artel__arena *arena, const char *text, char ***out, int *out_count);

/* ---- files (blob.c) ---- */

/* A file of a source: mapped; when it is gzipped, `bytes` is the inflated copy once there is one. */
typedef struct artel__blob {
    const char *path;
    artel__mapping mapping;
    void *inflated;
    const uint8_t *bytes;
    size_t size;
    bool gzip; /* and not inflated yet: bytes and size are those of the compressed file */
    struct artel__blob *next;
} artel__blob;

typedef struct artel__source artel__source;

/* Maps a file and adds it to the source. */
artel_status artel__blob_open(artel__source *source, const char *path, artel__blob **out);
/* The first bytes of the content, at most `size`; fewer when it ends before. */
artel_status artel__blob_peek(artel__source *source, const artel__blob *blob, void *out, size_t size, size_t *out_size);
/* Makes `bytes` the content: does nothing for files that are not gzipped, inflates the others. With `size` the content
 * must have exactly that size (ARTEL_ERROR_CORRUPT says what was found); 0 takes what comes, within the limits of
 * zip.h. */
artel_status artel__blob_inflate(artel__source *source, artel__blob *blob, size_t size);
/* Instead, of a compressed file: the content by blocks (unfold.h), which is borrowed; bytes and size stay those of the
 * compressed file. */
artel_status artel__blob_unfold(artel__source *source, const artel__blob *blob, artel__unfold **out);
/* The first bytes of a raw deflate stream, as many as come out up to `size`; damage gives fewer. */
size_t artel__inflate_prefix(const uint8_t *packed, size_t packed_size, void *out, size_t size);

/* ---- sources ---- */

/* An array that is wanted of a row, in its own dtype; `shape` is the shape bound. */
typedef struct artel__row_want {
    int array;
    const artel_shape *shape;
    void *out;
} artel__row_want;

typedef struct artel__source_array {
    const char *name;
    artel_data_role role;
    artel_dtype dtype;
    artel_shape row; /* extents of one row; -1 where the model decides (images) */
    int64_t count;
    const uint8_t *base; /* first row, or NULL */
    size_t stride;       /* bytes from row to row */
    bool text;           /* strings may be made of it, whatever it is for numbers (`refusal` concerns those alone) */
    bool pixels;         /* bytes of images: `scale` is likely to be meant */
    const char *refusal; /* why no model can be fed with it; NULL usually */
    artel_status refusal_status; /* 0: ARTEL_ERROR_UNSUPPORTED */
    int64_t item;                /* for the format: member, column, file ... */
} artel__source_array;

struct artel__source {
    artel_context *ctx;
    artel__arena arena;
    const artel__data_format *format;
    const char *target;
    artel__data_options options;
    artel__source_array *arrays;
    int array_count;
    const char *const *classes;         /* where folders are classes: their names by number, ended by NULL; else NULL */
    bool sorted_by_class;               /* a validation split must be random */
    bool draws;                         /* rows have other values in each pass over the data */
    bool far;                           /* rows come over a network: many are asked for at once */
    bool apart;                         /* tasks need not hold all of it: it is identified by what each of them has */
    const artel__data_buckets *buckets; /* of rows of like length; NULL: batches have any */
    artel__blob *blobs;                 /* in the order of opening */
    artel__unfold_pool *unfold;         /* of those that are unfolded by blocks; or NULL */
    int64_t *skips; /* with skip-errors: rows that may still be left out, by all joined parts; else NULL */
    uint64_t *kept; /* rows that skip-errors leaves, or NULL: all */
    const artel__data_format *inner; /* the format whose rows they are */
    void *state;                     /* the format's own; close is called when it is not NULL */
    struct artel__source_block *blocks;
};

/* How fast those that read ahead (prefetch.h) would go if they never waited for rows: what they take, and the time that
 * passes from when a batch is there until the next one is asked for. */
typedef struct artel__pace {
    _Atomic int64_t rows, ns; /* of all readers, since the source was opened */
    _Atomic int readers;      /* that there are */
    _Atomic int at_work;      /* that have taken rows in this turn */
    _Atomic uint32_t turn;    /* whoever looks begins another */
} artel__pace;

struct artel__data_format {
    const char *name;
    const char *syntax;  /* "idx:IMAGES,LABELS" */
    const char *options; /* names accepted, separated by blanks; "names" stands for `#a,b` */
    bool table;          /* arrays are columns of single numbers, which together make vectors */
    bool reads_ahead;    /* rows cost so much (decoding, files) that those of the next batches are fetched while a step
                            computes */

    /* Fills arrays from source->target and options; reads headers only. What it registered is released by close. */
    artel_status (*open)(artel__source *source);
    /* Optional: makes base and stride of an array valid. Called before an array is bound; must be repeatable. */
    artel_status (*load)(artel__source *source, int array);
    /* Optional, for arrays that are `text`: all their elements as strings, row by row, which live as long as the
     * source. Without it fetch_row and fetch_record deliver artel__string. */
    artel_status (*load_text)(artel__source *source, int array, const artel__string **out);
    /* For arrays without base: one row in the array's dtype; `row_shape` is the shape bound. Thread-safe. */
    artel_status (*fetch_row)(const artel__source *source, int array, const artel_shape *row_shape, int64_t row,
                              void *out);
    /* Optional, beside fetch_row: several arrays of one row, where a row is read as a whole. Thread-safe. */
    artel_status (*fetch_record)(const artel__source *source, int64_t row, const artel__row_want *wants, int count);
    /* Instead of fetch_row, or where many rows at a time are better asked for at once: rows of all arrays in their own
     * dtypes; a row's number carries its pass where the data draws. Such data cannot be joined. Thread-safe. */
    artel_status (*fetch_rows)(const artel__source *source, const uint64_t *rows, int64_t count, void *const *buffers);
    /* Optional, of a source that is far: rows that this thread fetches next, one by one, so that they are asked for
     * together; of how many (at least 1, from the first on) that can be done. What fails here fails again when the row
     * is fetched. Thread-safe. */
    int64_t (*expect)(const artel__source *source, const int64_t *rows, int64_t count);
    /* Optional: where those that read ahead write down how fast they go; it lives as long as the source. */
    artel__pace *(*pace)(const artel__source *source);
    /* Optional: a hash of the row, for formats with fetch_row. Thread-safe. */
    artel_status (*hash_row)(const artel__source *source, int array, int64_t row, uint64_t *out);
    /* Optional: appends a row's bytes as its file holds them: of an encoded image, or (array -1, `has_records`) the
     * whole record. */
    artel_status (*encoded_row)(const artel__source *source, int array, int64_t row, artel__text *out);
    bool has_records;
    /* Optional: adds what identifies the content; default: size and ends of each blob. */
    artel_status (*fingerprint)(const artel__source *source, artel__sha256 *hash);
    /* Optional: the fingerprint of the whole data, when the source stands for other data as it is; false: it does not.
     */
    bool (*whole_print)(const artel__source *source, uint8_t out[32]);
    /* Optional: makes the source the data of `workers` workers, one behind another, where each has a pipeline of its
     * own; worker i's are rows [first[i], first[i + 1]). */
    artel_status (*divide)(artel__source *source, int workers, int64_t *first);
    /* Optional, together: pieces of the data (files) that need not all lie on this machine (feed_parts.c). */
    int (*parts)(const artel__source *source);
    artel__data_piece (*part)(const artel__source *source, int part);
    int (*part_of)(const artel__source *source, int64_t row);
    /* Optional, of formats with pieces: the text that a piece begins with, uncompressed, as much of it as says what the
     * arrays are (part_index.h). */
    artel_status (*beginning)(const artel__source *source, int part, artel__text *out);
    /* Optional: releases the state. */
    void (*close)(artel__source *source);
};

extern const artel__data_format *const artel__data_formats[]; /* NULL-terminated; formats.c */

extern const artel__data_format artel__data_idx, artel__data_npy, artel__data_npz, artel__data_csv, artel__data_cifar10,
    artel__data_images, artel__data_synthetic, artel__data_memory, artel__data_callback, artel__data_tfrecord,
    artel__data_audio, artel__data_jsonl, artel__data_text, artel__data_pipeline, artel__data_fixed;
/* Made by the room `service`, since data knows no network: the one format that is asked of other machines. */
extern const artel__data_format artel__data_service;

/* Space for `count` arrays, cleared, in the source's arena. Errors: INVALID beyond ARTEL__DATA_MAX_ARRAYS, NO_MEMORY.
 */
artel_status artel__source_add_arrays(artel__source *source, int64_t count);
/* Arrays of one row, none of which has a base: at once where the format can, else one after another. Thread-safe. */
artel_status artel__source_fetch(const artel__source *source, int64_t row, const artel__row_want *wants, int count);
/* format->expect where the source is far, else all of them. */
int64_t artel__source_expect(const artel__source *source, const int64_t *rows, int64_t count);
/* Whether rows of the array are strings: then they can be read as artel__string, and as nothing else. */
bool artel__array_is_text(const artel__source_array *array);
/* Makes an array of dtype string one whose rows are read as such; others stay as they are. */
void artel__array_set_text(artel__source_array *array);
/* The strings of all rows of an array, those that skip-errors leaves; NULL where they are read row by row. */
artel_status artel__source_strings(artel__source *source, int array, const artel__string **out);
/* Of texts, as their bytes are (content.c). */
uint64_t artel__strings_hash(const artel__string *strings, int64_t count);
/* Heap memory freed with the source. `bytes` has been checked against what the file can hold. */
artel_status artel__source_alloc(artel__source *source, size_t bytes, void **out);
void artel__source_close(artel__source *source);
/* Reads all rows and leaves out as many of those that cannot be read as source->skips allows (skip.c). */
artel_status artel__source_skip_errors(artel__source *source);
/* Whether reading a row failed by what the row holds, and not by what it is read with: then it may be left out. */
bool artel__is_damage(artel_status status);

/* Which of `count` (at least 1) runs of rows, in ascending order, a row lies in: the last that begins at it or before,
 * of runs without rows the last. `first`: where the first one begins; the next such number lies `stride` bytes further.
 */
static inline int artel__find_run(const int64_t *first, size_t stride, int count, int64_t row)
{
    int low = 0, high = count - 1;
    while (low < high) {
        int middle = (low + high + 1) / 2;
        if (*(const int64_t *)(const void *)((const char *)first + (size_t)middle * stride) <= row)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* ARTEL_ERROR_CANCELLED with a record once the operation is cancelled: for loops over rows. */
artel_status artel__data_go_on(artel_context *ctx, const char *where);

/* artel_data_open() from inside the library: the operation that runs goes on. */
artel_status artel__data_open(artel_context *ctx, const char *specification, artel_data **out);
/* An artel_data without sources. On failure of what follows destroy it. */
artel_status artel__data_create(artel_context *ctx, const char *specification, artel_data **out);
/* Readies the next of data->sources, for which the caller has made room, and opens it; it is counted even when
 * opening fails, so that destroying the data closes it. */
artel_status artel__data_add_source(artel_data *data, const artel__data_format *format, const char *target,
                                    const artel__data_options *options, void *state);
/* The same for data with this one source and no file. */
artel_status artel__data_create_single(artel_context *ctx, const artel__data_format *format, artel_data **out);

struct artel_data {
    artel_context *ctx;
    artel__arena arena;
    char *specification;
    int references; /* the owner's and one for each feed */
    int64_t skips;  /* of all sources (artel__source.skips) */
    artel__source *sources;
    int source_count;
};

/* Whether the arrays are made from what a model wants. */
bool artel__data_is_synthetic(const artel_data *data);
/* Rows of array `index` over all joined sources. */
int64_t artel__data_rows(const artel_data *data, int index);
/* Says what an array is: "x: uint8 (28, 28)". */
void artel__source_array_describe(const artel__source_array *array, int64_t rows, artel__text *out);

/* ---- npy headers, for npy.c and npz.c ---- */

typedef struct artel__npy_header {
    artel_dtype dtype;
    bool swapped, fortran;
    artel_shape shape; /* with the leading extent */
    size_t data_offset;
    size_t data_bytes;
    size_t width;        /* of strings: bytes of each; 0: numbers */
    bool points;         /* of strings: they are code points of four bytes, not bytes */
    const char *refusal; /* constant text: why the dtype cannot be fed; then data_bytes is not checked */
} artel__npy_header;

#define ARTEL__NPY_HEAD_BYTES ((size_t)64 << 10) /* what a header has at most, of arrays that are compressed */

/* The beginning of an array file. */
typedef struct artel__npy_input {
    const char *where; /* for messages */
    const uint8_t *bytes;
    size_t size;
    uint64_t total; /* bytes of the whole file, against which the shape is checked; UINT64_MAX: that is not known yet */
} artel__npy_input;

artel_status artel__npy_parse(artel_context *ctx, const artel__npy_input *input, artel__npy_header *out);
/* Describes the array of a header. */
void artel__npy_describe(const artel__npy_header *header, artel__source_array *out);
/* Points the array at its values: as they lie when native and row-major, else a converted copy. */
artel_status artel__npy_place(artel__source *source, const artel__npy_header *header, const uint8_t *values,
                              artel__source_array *out);

/* All strings of the array, in a block of the source. */
artel_status artel__npy_strings(artel__source *source, const artel__npy_header *header, const uint8_t *values,
                                const artel__string **out);

/* ---- conversions (convert.c) ---- */

/* How one row becomes what the model feeds. */
typedef struct artel__conversion {
    enum {
        ARTEL__CONVERT_COPY,
        ARTEL__CONVERT_CAST,
        ARTEL__CONVERT_SCALE,
        ARTEL__CONVERT_INDICES,
        ARTEL__CONVERT_ONE_HOT
    } kind;
    artel_dtype from, to;
    int64_t count; /* elements of a row of the source */
    float scale_by, scale_over, shift;
    bool has_shift;
    int64_t classes; /* 0: unchecked */
    bool has_ignored;
    int64_t ignored;
} artel__conversion;

/* Converts one row. False when a label lies outside the classes: *out_bad is its value. Any alignment of the
 * source will do; the target is aligned for its dtype. */
bool artel__conversion_run(const artel__conversion *conversion, const void *source, void *target, double *out_bad);

/* ---- images ---- */

typedef struct artel__image_resize {
    const uint8_t *pixels; /* [height][width][channels] */
    const float *floats;   /* the same, instead of pixels */
    int64_t height, width, channels;
    int64_t out_height, out_width;
    artel__data_interpolation interpolation;
} artel__image_resize;

/* tf.image.resize with half-pixel centres and no antialiasing; `out` [out_height][out_width][channels]. */
void artel__image_resize_run(const artel__image_resize *resize, float *out);

/* ---- synthetic ---- */

/* Values of row `row` of an input or target; a pure function of the arguments. `node` numbers the array. */
typedef struct artel__synthetic {
    uint64_t seed;
    uint32_t node;
    artel_dtype dtype;
    int64_t count;                /* elements of a row */
    int64_t limit;                /* exclusive; 0: uniform in [0, 1) */
    int64_t one_hot;              /* > 0: rows end in this many classes */
    const artel__string *strings; /* of 256, that one is taken; NULL: numbers */
    artel__isa isa;               /* draws are the same bits in all */
} artel__synthetic;

void artel__synthetic_row(const artel__synthetic *synthetic, int64_t row, void *out);

#endif
