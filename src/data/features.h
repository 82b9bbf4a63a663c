/* SPDX-License-Identifier: Apache-2.0 */
/* What a record holds, by name: the feature specification of `tfrecord:` and `jsonl:`.
 *
 * A JSON object: name in the record -> {"dtype", "shape", "role", "input", "decode", ...} (docs/data.md lists the
 * settings). Each feature becomes one array of the source. Without a specification features are taken from the first
 * record.
 */
#ifndef ARTEL_DATA_FEATURES_H
#define ARTEL_DATA_FEATURES_H

#include "base/json.h"
#include "data/image_decode.h"
#include "base/protobuf.h"
#include "data/source.h"
#include "data/texts.h"

/* The kind of a feature's list in tf.train.Example, by the number of its field. */
typedef enum artel__feature_kind {
    ARTEL__FEATURE_NONE,
    ARTEL__FEATURE_BYTES,
    ARTEL__FEATURE_FLOAT32,
    ARTEL__FEATURE_INT64
} artel__feature_kind;

typedef enum artel__feature_decode {
    ARTEL__DECODE_NONE,
    ARTEL__DECODE_RAW,    /* numbers of `dtype` as they lie in memory, little-endian */
    ARTEL__DECODE_IMAGE,  /* JPEG, PNG, BMP or GIF */
    ARTEL__DECODE_STRING, /* text, for inputs of strings */
    ARTEL__DECODE_WORDS   /* strings that become their places in a vocabulary: int64 */
} artel__feature_decode;

/* Words, sorted by their bytes, each with its place in the list that was given. */
typedef struct artel__vocabulary {
    struct artel__word {
        const char *text;
        size_t length;
        int64_t place;
    } * words;
    int64_t count;
} artel__vocabulary;

/* The place of a word, or -1. */
int64_t artel__vocabulary_find(const artel__vocabulary *vocabulary, const char *text, size_t length);
/* From a JSON list of strings, or the name of a file with one in each line. Errors name a word that is there twice. */
artel_status artel__vocabulary_read(artel__arena *arena, const char *where, json_t *value, artel__vocabulary *out);

typedef struct artel__feature {
    const char *name;  /* in the record */
    size_t length;     /* of the name */
    const char *array; /* what its array is called: the layer it is for, else the name */
    artel_data_role role;
    artel__feature_kind kind; /* of its list; of its values for sparse ones */
    artel__feature_decode decode;
    artel_dtype dtype; /* delivered */
    artel_shape row;   /* extents of -1: images as large as the model wants */
    int64_t count;     /* elements of a row */
    bool ragged;       /* any number of values up to `count`, the rest is filled */
    bool truncate;     /* longer lists are cut instead of refused */
    bool sequence;     /* in the feature lists of a SequenceExample, one step after another */
    bool has_default;  /* for records without the feature */
    double fill;       /* the default, and what fills ragged and sparse rows; 0 unless given */
    int64_t fill_int;
    artel__vocabulary vocabulary;
    const char *index[ARTEL_MAX_RANK]; /* sparse: features that hold the place along each axis, outermost first */
    int index_count;
} artel__feature;

typedef struct artel__features {
    artel__feature *item;
    int count;
    const char *where; /* the file of the specification, or of the first record */
} artel__features;

/* From the file, here or elsewhere; everything in the arena. With `optional` a file that is not there gives none. */
artel_status artel__features_read(artel__arena *arena, const char *path, bool optional, artel__features *out);
/* The same from a value; `where` names it in messages. */
artel_status artel__features_parse(artel__arena *arena, const char *where, json_t *root, artel__features *out);
/* From a first record of tf.train.Example. */
artel_status artel__features_infer(artel__arena *arena, const char *where, artel__proto record, artel__features *out);
/* Makes them the arrays of a source of `count` rows. */
artel_status artel__features_publish(artel__source *source, const artel__features *features, int64_t count);
/* Adds how each feature is read to a fingerprint. */
void artel__features_hash(const artel__features *features, artel__sha256 *hash);
bool artel__features_have_images(const artel__features *features);
/* Writes `count` elements of what fills a feature's rows. */
void artel__feature_fill(const artel__feature *feature, void *out, int64_t count);
/* The specification as JSON, as artel__features_read() reads it. Borrowed nothing; the caller owns *out. */
artel_status artel__features_write(artel_context *ctx, const artel__features *features, json_t **out);

/* Those of a source of records (borrowed); NULL for other sources. */
const artel__features *artel__tfrecord_features(const artel__source *source);

/* ---- example.c ---- */

/* A feature found in a record. */
typedef struct artel__example_list {
    artel__feature_kind kind;
    artel__proto values; /* the message of the list */
} artel__example_list;

/* The feature of that name; kind NONE when the record lacks it (or holds an empty one). False when the record is
 * damaged. */
bool artel__example_find(artel__proto record, const char *name, size_t length, artel__example_list *out);
/* Of up to ARTEL__EXAMPLE_TOGETHER features of these the values (Features) by name, in one pass over the record; empty
 * where it lacks one. False when the record is damaged. */
enum {
    ARTEL__EXAMPLE_TOGETHER = 64
};
bool artel__example_find_all(artel__proto record, const artel__features *features, const artel__row_want *wants,
                             int count, artel__proto *out);
/* The steps (Features in field 1) of the feature list of that name in a SequenceExample; empty when it lacks it. */
bool artel__example_find_steps(artel__proto record, const char *name, size_t length, artel__proto *out);
/* The list in a Feature: in one of a step. */
bool artel__example_open(artel__proto feature, artel__example_list *out);
/* Calls for each feature of the record, in its order; false when it is damaged. */
typedef void artel__example_visit_fn(void *user, artel__proto name, const artel__example_list *list);
bool artel__example_visit(artel__proto record, artel__example_visit_fn *visit, void *user);

/* The values of a list: as many as there are are counted, up to `room` are written. False when the list is damaged. */
bool artel__example_floats(artel__proto values, float *out, int64_t room, int64_t *count);
bool artel__example_ints(artel__proto values, int64_t *out, int64_t room, int64_t *count);
bool artel__example_bytes(artel__proto values, artel__proto *out, int64_t room, int64_t *count);

/* What an example is read with. */
typedef struct artel__example_reader {
    artel_context *ctx;
    artel__image_how images; /* cleared when no feature is an image */
    const char *path;        /* of the record, for messages */
    int64_t row;             /* in its file */
    uint64_t offset;         /* of the record in bytes; of the line for text */
    artel__texts *texts;     /* where strings are kept that do not outlive the record; NULL: they stay where they lie */
} artel__example_reader;

/* Rows of features from a record, each in its dtype; wants[i].array: which feature. Thread-safe. */
artel_status artel__example_rows(const artel__example_reader *reader, artel__proto record,
                                 const artel__features *features, const artel__row_want *wants, int count);

#endif
