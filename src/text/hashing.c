/* SPDX-License-Identifier: Apache-2.0 */
/* Hashing and HashedCrossing: buckets as TensorFlow finds them. See functions.h. */
#include <stdio.h>
#include <string.h>

#include "text/functions.h"
#include "text/hash.h"

static const char *infer_hashing(const void *settings, const artel__cells *in, int inputs, artel__cells *out)
{
    const artel__hashing *s = settings;
    if (inputs != 1) return "is not one tensor";
    return artel__encoding_infer(&s->encoding, &in[0].shape, out);
}

static bool is_mask(const artel__hashing *s, const artel__cells *in, int64_t i)
{
    if (in->dtype != ARTEL_DTYPE_STRING) return artel__cell_number(in, i) == s->mask_number;
    const artel__string *word = &((const artel__string *)in->data)[i];
    return word->length == s->mask_word.length &&
           (word->length == 0 || memcmp(word->bytes, s->mask_word.bytes, word->length) == 0);
}

static artel_status run_hashing(const void *settings, const artel__cells *in, int inputs, artel__cells *out,
                                artel__row_scratch *scratch, artel__row_fault *fault)
{
    const artel__hashing *s = settings;
    bool masked = s->masked && s->bins > 1;
    uint64_t bins = (uint64_t)s->bins - masked;
    (void)inputs;
    (void)scratch;
    (void)fault;
    artel__encoding_begin(&s->encoding, out);
    for (int64_t i = 0; i < in[0].count; i++) {
        char digits[24];
        artel__string word = {digits, 0};
        if (in[0].dtype == ARTEL_DTYPE_STRING)
            word = ((const artel__string *)in[0].data)[i];
        else
            word.length = (size_t)snprintf(digits, sizeof digits, "%lld", (long long)artel__cell_integer(&in[0], i));
        uint64_t hash = s->salted ? artel__keyed_hash(s->salt, word.bytes, word.length)
                                  : artel__fingerprint(word.bytes, word.length);
        int64_t bin = masked && is_mask(s, &in[0], i) ? 0 : (int64_t)(hash % bins) + masked;
        artel__encoding_put(&s->encoding, &in[0].shape, i, bin, 1, out);
    }
    artel__encoding_end(&s->encoding, out);
    return ARTEL_OK;
}

const artel__row_function artel__hashing_function = {"Hashing", infer_hashing, run_hashing};

static const char *infer_crossing(const void *settings, const artel__cells *in, int inputs, artel__cells *out)
{
    const artel__crossing *s = settings;
    if (inputs < 2) return "is not two tensors or more";
    if (in[0].shape.rank > 1 || (in[0].shape.rank == 1 && in[0].shape.dim[0] != 1))
        return "has more than one element in a row";
    for (int k = 0; k < inputs; k++) {
        if (!artel__shape_equal(&in[0].shape, &in[k].shape)) return "has tensors of different shapes";
        if (artel__is_floating(in[k].dtype)) return "has a tensor that is neither of integers nor of strings";
    }
    return artel__encoding_infer(&s->encoding, &in[0].shape, out);
}

static artel_status run_crossing(const void *settings, const artel__cells *in, int inputs, artel__cells *out,
                                 artel__row_scratch *scratch, artel__row_fault *fault)
{
    const artel__crossing *s = settings;
    uint64_t hash = 0xDECAFCAFFEu; /* the key of tf.sparse.cross_hashed */
    (void)scratch;
    (void)fault;
    for (int k = 0; k < inputs; k++) {
        const artel__string *word = in[k].data;
        bool text = in[k].dtype == ARTEL_DTYPE_STRING;
        hash = artel__fingerprint_chain(hash, text ? artel__fingerprint(word->bytes, word->length)
                                                   : (uint64_t)artel__cell_integer(&in[k], 0));
    }
    artel__encoding_begin(&s->encoding, out);
    artel__encoding_put(&s->encoding, &in[0].shape, 0, (int64_t)(hash % (uint64_t)s->bins), 1, out);
    artel__encoding_end(&s->encoding, out);
    return ARTEL_OK;
}

const artel__row_function artel__crossing_function = {"HashedCrossing", infer_crossing, run_crossing};
