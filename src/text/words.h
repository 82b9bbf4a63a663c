/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that look into strings, after tf.strings and tf.lookup, on whole arrays: what arrays (eager) and functions
 * (function) compute alike. words.c has their table; the functions are in words_each.c, words_parts.c,
 * words_unicode.c, words_number.c and words_pattern.c. What only moves strings, or puts them in order, is in moved.h.
 *
 * An operation says what it makes of some shapes before it sees an element (`infer`), and hands what it makes to a
 * sink, whose memory that is. Pure functions but for the sink. */
#ifndef ARTEL_TEXT_WORDS_H
#define ARTEL_TEXT_WORDS_H

#include "base/json.h"
#include "base/text.h"
#include "text/row_function.h"

enum {
    ARTEL__NGRAM_WIDTHS = 16,
    ARTEL__STRING_OPERANDS = 32,
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

/* What was not given is as words.c says. Texts are those of the JSON that was read. */
typedef struct artel__string_settings {
    artel_string separator, pattern, rewrite; /* without bytes: not given */
    int64_t axis, most, missing;              /* most: parts but one; -1: all */
    int64_t position, length;                 /* length: -1: not given */
    int64_t parts;                            /* of a new last axis; -1: as many as the element with the most has */
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

typedef struct artel__string_operation artel__string_operation;
typedef struct artel__string_sink artel__string_sink;

/* Who takes what an operation makes; called once for each call. */
struct artel__string_sink {
    /* Room for the elements of a result of numbers. */
    artel_status (*numbers)(artel__string_sink *to, artel_dtype dtype, const artel_shape *shape, void **out);
    /* A result of strings, which are copied, but for their bytes where `from` is an array that lasts. INVALID: one is
     * no UTF-8. */
    artel_status (*strings)(artel__string_sink *to, const artel_shape *shape, const artel_string *from);
};

typedef struct artel__string_call {
    artel_context *ctx;
    const artel__string_operation *operation;
    const artel__string_settings *settings;
    const artel__cells *in; /* whole arrays, dense; without data while shapes are inferred */
    int count;
    artel__string_sink *to;
} artel__string_call;

typedef artel_status artel__string_fn(const artel__string_call *call);
/* Element type and shape of the result. An extent of -1, of the last axis: it depends on the elements. */
typedef artel_status artel__string_infer_fn(const artel__string_call *call, artel_dtype *dtype, artel_shape *shape);

struct artel__string_operation {
    const char *name;
    int least, most_inputs;
    uint32_t keys; /* settings that it has, by bit */
    artel__string_infer_fn *infer;
    artel__string_fn *run;
    bool numbers; /* it takes numbers, and makes strings */
};

/* Whether an operation may be one of these, by its first letters: what is on numbers, which is most, ends here. */
bool artel__makes_words(const char *name);
/* "MaxPool" and "max_pool". */
bool artel__same_operation(const char *a, const char *b);
/* NULL: there is no such operation. */
const artel__string_operation *artel__string_find(const char *name);
/* Settings of JSON text (NULL: none given), which `json` holds: the caller's to release, also after a failure.
 * Errors: INVALID, of the number of operands or a setting. */
artel_status artel__string_prepare(artel_context *ctx, const artel__string_operation *operation, int count,
                                   const char *attributes, artel__string_settings *out, json_t **json);
/* INVALID where an operand is of the wrong kind, or what `infer` and the operation itself say. */
artel_status artel__string_infer(const artel__string_call *call, artel_dtype *dtype, artel_shape *shape);
artel_status artel__string_run(const artel__string_call *call);

/* -- for operations (words_result.c) -- */

static inline const artel_string *artel__string_in(const artel__string_call *call, int operand)
{
    return call->in[operand].data;
}

/* Strings that are written one behind another; each ends where the next begins. */
typedef struct artel__string_writer {
    artel__text text; /* which remembers that it could not grow */
    size_t *end;      /* of each */
    int64_t count;
} artel__string_writer;

artel_status artel__string_wrong(const artel__string_call *call, const char *advice, const char *what);
/* Room for a result of numbers, of the shape of the first operand. */
artel_status artel__string_like(const artel__string_call *call, artel_dtype dtype, void **out);
/* A result of strings, which are copied. */
artel_status artel__string_give(const artel__string_call *call, const artel_shape *shape, const artel_string *from);
/* Whether there can be an array of this shape, and how many elements it has. */
artel_status artel__string_check_shape(const artel__string_call *call, const artel_shape *shape, int64_t *count);

/* Room for `most` strings; to be ended whatever happens. */
artel_status artel__string_begin(artel_context *ctx, int64_t most, artel__string_writer *out);
void artel__string_write(artel__string_writer *to, const char *bytes, size_t length);
void artel__string_next(artel__string_writer *to);
/* Gives an array of this shape of what was written, where `status` is ARTEL_OK, and frees it in any case. */
artel_status artel__string_end(artel__string_writer *of, const artel__string_call *call, const artel_shape *shape,
                               artel_status status);

/* words_each.c: one element for each of the first operand. */
artel__string_fn artel__string_hash, artel__string_old_hash, artel__string_keyed_hash, artel__string_length,
    artel__string_number, artel__string_lower, artel__string_upper, artel__string_strip, artel__string_lookup,
    artel__string_part;
artel__string_infer_fn artel__string_infer_same, artel__string_infer_length, artel__string_infer_bucket,
    artel__string_infer_number, artel__string_infer_lookup, artel__string_infer_part;

/* words_parts.c: of other shapes than their operands. */
artel__string_fn artel__string_join, artel__string_reduce_join, artel__string_split, artel__string_ngrams;
artel__string_infer_fn artel__string_infer_join, artel__string_infer_reduce_join, artel__string_infer_split,
    artel__string_infer_ngrams;

/* words_unicode.c: characters. */
artel__string_fn artel__string_decode, artel__string_characters, artel__string_encode;
artel__string_infer_fn artel__string_infer_decode, artel__string_infer_encode;

/* words_number.c: of numbers. */
artel__string_fn artel__string_as_string;
artel__string_infer_fn artel__string_infer_as_string;

/* words_pattern.c: regular expressions. */
artel__string_fn artel__string_full_match, artel__string_replace;
artel__string_infer_fn artel__string_infer_match, artel__string_infer_replace;

/* -- elements (words_element.c) -- */

/* INVALID, of `where`: element `i` has no bytes, or is no UTF-8. */
artel_status artel__string_check(artel_context *ctx, const char *where, const artel_string *s, int64_t i);
/* By bytes: below 0, 0, above. */
int artel__string_compare(const artel_string *a, const artel_string *b);
/* Spaces, tabs and line breaks; the part of a text between those at both ends. */
bool artel__is_space(char c);
artel_string artel__strip(artel_string text);
/* Numbers as Python's int() and float() read them, but for underscores and digits beyond ASCII. INVALID names the
 * element that is none, or does not fit. */
artel_status artel__string_parse(artel_context *ctx, const char *where, const artel_string *from, artel_dtype to,
                                 void *out, int64_t count);

#endif
