/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a row and their settings, one family a file. Formulas are those of keras/src/layers/preprocessing.
 */
#ifndef ARTEL_TEXT_FUNCTIONS_H
#define ARTEL_TEXT_FUNCTIONS_H

#include "text/encode.h"
#include "text/table.h"

/* -- discretize.c -- */

/* Discretization: the number of boundaries that are not above the element, compared as float32. */
typedef struct artel__discretize {
    const float *boundary; /* ascending */
    int64_t boundaries;
    artel__encoding encoding;
} artel__discretize;
extern const artel__row_function artel__discretize_function;

/* CategoryEncoding: the elements are the places. A second input: weights of the elements, for counts. */
typedef struct artel__categories {
    artel__encoding encoding;
} artel__categories;
extern const artel__row_function artel__categories_function;

/* -- hashing.c -- */

/* Hashing: the bucket of each element's text; integers as decimal digits. */
typedef struct artel__hashing {
    int64_t bins;
    bool salted, masked; /* masked: mask_word or mask_number goes to bucket 0, everyone else to those behind it */
    uint64_t salt[2];
    artel__string mask_word;
    double mask_number;
    artel__encoding encoding;
} artel__hashing;
extern const artel__row_function artel__hashing_function;

/* HashedCrossing: the bucket of the elements of all inputs at a place together. */
typedef struct artel__crossing {
    int64_t bins;
    artel__encoding encoding;
} artel__crossing;
extern const artel__row_function artel__crossing_function;

/* -- lookup.c -- */

/* IntegerLookup, StringLookup: places in a vocabulary, and back. */
typedef struct artel__lookup {
    const artel__table *table; /* of the terms without the special ones; NULL: not known yet */
    bool inverse;              /* from places to terms */
    int64_t oov;               /* places for terms that are not in it */
    int64_t first_oov;         /* the first of them: 1 behind a mask, else 0 */
    bool masked;               /* the mask becomes 0, or nothing where places are counted */
    artel__string mask_word, oov_word;
    int64_t mask_integer, oov_integer;
    bool fingerprints,
        salted; /* how integers share several such places: by hashes instead of by remainders; words always by hashes */
    uint64_t salt[2];
    artel__encoding encoding;
} artel__lookup;
extern const artel__row_function artel__lookup_function;

/* The place of a term; -1 when it has none, -2 when it is the mask and nothing is to be counted. */
int64_t artel__lookup_word(const artel__lookup *lookup, const char *bytes, size_t length);

/* -- vectorize.c -- */

#define ARTEL__NGRAM_WIDTHS 16

/* TextVectorization: texts into tokens, and those into places. */
typedef struct artel__vectorize {
    bool lower, strip; /* ASCII letters become small; ASCII punctuation is dropped */
    enum {
        ARTEL__SPLIT_NONE,
        ARTEL__SPLIT_SPACES,
        ARTEL__SPLIT_CHARACTERS
    } split;
    int64_t width[ARTEL__NGRAM_WIDTHS]; /* of n-grams, in the order of the result; `widths` 0: the tokens themselves */
    int widths;
    int64_t length; /* of the result with places; 0: that of the input, for texts that are not split */
    artel__lookup lookup;
} artel__vectorize;
extern const artel__row_function artel__vectorize_function;

#endif
