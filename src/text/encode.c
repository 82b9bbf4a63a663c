/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings of places. See the header. */
#include "text/encode.h"

#include <string.h>

const char *artel__encoding_infer(const artel__encoding *encoding, const artel_shape *places, artel__cells *out)
{
    artel_shape shape = *places;
    if (encoding->mode == ARTEL__ENCODE_ONE_HOT) {
        if (shape.rank > 0 && shape.dim[shape.rank - 1] == 1) shape.rank--;
        if (shape.rank == ARTEL_MAX_RANK) return "has too many axes";
        shape.dim[shape.rank++] = encoding->depth;
    } else if (encoding->mode != ARTEL__ENCODE_INT) {
        if (shape.rank == 0) return "has no axis beside the batch, so that the batch would count as one sample";
        for (int i = 1; i < shape.rank; i++) shape.dim[i - 1] = shape.dim[i];
        shape.dim[shape.rank - 1] = encoding->depth;
    }
    artel__cells_describe(out, encoding->dtype, &shape);
    return out->count < 0 ? "would make a result that is too large" : NULL;
}

void artel__encoding_begin(const artel__encoding *encoding, artel__cells *out)
{
    if (encoding->mode != ARTEL__ENCODE_INT) memset(out->data, 0, (size_t)out->count * artel_dtype_size(out->dtype));
}

void artel__encoding_put(const artel__encoding *encoding, const artel_shape *places, int64_t i, int64_t place,
                         float weight, artel__cells *out)
{
    if (encoding->mode == ARTEL__ENCODE_INT) {
        artel__cell_set_integer(out, i, place);
        return;
    }
    if (place < 0 || place >= encoding->depth) return;
    int64_t vector = encoding->mode == ARTEL__ENCODE_ONE_HOT ? i : i % artel__shape_product(places, 1, places->rank);
    int64_t at = vector * encoding->depth + place;
    bool counts = encoding->mode == ARTEL__ENCODE_COUNT || encoding->mode == ARTEL__ENCODE_TF_IDF;
    if (out->dtype == ARTEL_DTYPE_FLOAT32) {
        float *y = out->data;
        y[at] = counts ? y[at] + weight : 1;
    } else {
        artel__cell_set_integer(out, at, counts ? artel__cell_integer(out, at) + (int64_t)weight : 1);
    }
}

void artel__encoding_end(const artel__encoding *encoding, artel__cells *out)
{
    if (encoding->mode != ARTEL__ENCODE_TF_IDF || out->dtype != ARTEL_DTYPE_FLOAT32) return;
    float *y = out->data;
    for (int64_t i = 0; i < out->count; i++) y[i] *= encoding->weights[i % encoding->depth];
}
