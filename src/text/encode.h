/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings of places: the `output_mode` that Keras' layers of categories share (keras/src/utils/numerical_utils.py).
 *
 *   int        the places themselves
 *   one_hot    for each element a vector of `depth`; a last axis of extent 1 gives way to it
 *   multi_hot  over the first axis of the row: 1 where a place occurs
 *   count      over the first axis of the row: how often each occurs, or the sum of the weights there; tf_idf is this
 * times a weight by place Places outside the depth leave zeros.
 */
#ifndef ARTEL_TEXT_ENCODE_H
#define ARTEL_TEXT_ENCODE_H

#include "text/row_function.h"

typedef enum artel__encoding_mode {
    ARTEL__ENCODE_INT,
    ARTEL__ENCODE_ONE_HOT,
    ARTEL__ENCODE_MULTI_HOT,
    ARTEL__ENCODE_COUNT,
    ARTEL__ENCODE_TF_IDF
} artel__encoding_mode;

typedef struct artel__encoding {
    artel__encoding_mode mode;
    int64_t depth;
    artel_dtype dtype;    /* of the result */
    const float *weights; /* tf_idf: by place */
} artel__encoding;

/* The result of places of this shape; NULL, or why there is none. */
const char *artel__encoding_infer(const artel__encoding *encoding, const artel_shape *places, artel__cells *out);

/* Begins a row: clears what is added to. */
void artel__encoding_begin(const artel__encoding *encoding, artel__cells *out);
/* Adds the place of element `i` of a row of shape `places`. `weight` counts with ARTEL__ENCODE_COUNT and is 1 for
 * everyone else. */
void artel__encoding_put(const artel__encoding *encoding, const artel_shape *places, int64_t i, int64_t place,
                         float weight, artel__cells *out);
/* Ends a row: weights by place. */
void artel__encoding_end(const artel__encoding *encoding, artel__cells *out);

#endif
