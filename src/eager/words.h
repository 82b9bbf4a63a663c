/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that look into strings, after tf.strings and tf.lookup: what words.c, which has their table, hands to the
 * functions of words_each.c, words_parts.c, words_unicode.c, words_number.c and words_pattern.c. */
#ifndef ARTEL_EAGER_WORDS_H
#define ARTEL_EAGER_WORDS_H

#include "eager/eager_impl.h"

enum {
    ARTEL__NGRAM_WIDTHS = 16,
    ARTEL__MOST_DIGITS = 1000 /* of a number's text: behind its point, and its width */
};

/* Of n-grams. */
typedef struct artel__ngram_settings {
    int64_t width[ARTEL__NGRAM_WIDTHS];
    int widths;
    int64_t padding; /* -1: one less than the width */
    bool padded, keep_short;
    artel_string pad[2]; /* before, and after */
} artel__ngram_settings;

/* What was not given is as words.c says. */
typedef struct artel__string_settings {
    artel_string separator, pattern, rewrite; /* without bytes: not given */
    int64_t axis, most, missing;              /* most: parts but one; -1: all */
    int64_t position, length;                 /* length: -1: not given */
    int64_t buckets;                          /* 0: not given */
    uint64_t key[2];
    int64_t precision, width; /* of numbers that are written; -1: not given, width 0 */
    artel_string fill;        /* one character in front of them, or none */
    bool scientific, shortest;
    artel_dtype dtype; /* of numbers that are read */
    bool all;          /* no axis: of all elements */
    bool characters;   /* lengths count these, not bytes */
    bool first;        /* the first match alone */
    bool keyed;        /* `key` was given */
    artel__ngram_settings ngrams;
} artel__string_settings;

typedef struct artel__string_call {
    artel_eager *e;
    const char *name;
    const artel__string_settings *settings;
    artel_ndarray *const *inputs;
    const artel_string *const *in; /* their elements, dense; NULL: the operand is numbers */
    int count;
    artel_ndarray **out; /* is given on success alone */
} artel__string_call;

/* Strings that are written one behind another; each ends where the next begins. */
typedef struct artel__string_writer {
    artel__text text; /* which remembers that it could not grow */
    size_t *end;      /* of each */
    int64_t count;
} artel__string_writer;

typedef artel_status artel__string_fn(const artel__string_call *call);

/* words_result.c */
artel_status artel__string_wrong(const artel__string_call *call, const char *advice, const char *what);
/* The result: an array of these strings, which are copied. */
artel_status artel__string_give(const artel__string_call *call, const artel_shape *shape, const artel_string *from);

/* Room for `most` strings; to be ended whatever happens. */
artel_status artel__string_begin(artel_context *ctx, int64_t most, artel__string_writer *out);
void artel__string_write(artel__string_writer *to, const char *bytes, size_t length);
void artel__string_next(artel__string_writer *to);
/* Gives an array of this shape of what was written, where `status` is ARTEL_OK, and frees it in any case. */
artel_status artel__string_end(artel__string_writer *of, const artel__string_call *call, const artel_shape *shape,
                               artel_status status);

/* words_each.c: one element for each of the first operand. */
artel__string_fn artel__string_hash, artel__string_keyed_hash, artel__string_length, artel__string_number,
    artel__string_lower, artel__string_upper, artel__string_strip, artel__string_lookup, artel__string_part;

/* words_parts.c: of other shapes than their operands. */
artel__string_fn artel__string_join, artel__string_reduce_join, artel__string_split, artel__string_ngrams;

/* words_unicode.c: characters. */
artel__string_fn artel__string_decode, artel__string_characters, artel__string_encode;

/* words_number.c: of numbers. */
artel__string_fn artel__string_as_string;

/* words_pattern.c: regular expressions. */
artel__string_fn artel__string_full_match, artel__string_replace;

#endif
