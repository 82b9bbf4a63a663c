/* SPDX-License-Identifier: Apache-2.0 */
/* IntegerLookup and StringLookup, after keras/src/layers/preprocessing/index_lookup.py. See functions.h.
 *
 * Places: 0 for the mask where there is one and places are the result, then those of unknown terms, then the
 * vocabulary. One place for unknown terms takes all of them; several share them by hash or remainder; none makes an
 * unknown term an error.
 */
#include <stdio.h>
#include <string.h>

#include "text/functions.h"
#include "text/hash.h"

#define NOWHERE (-1)
#define NOT_COUNTED (-2)

static bool counts(const artel__lookup *s)
{
    return s->encoding.mode != ARTEL__ENCODE_INT;
}

static int64_t hashed(const artel__lookup *s, const char *bytes, size_t length)
{
    uint64_t hash = s->salted ? artel__keyed_hash(s->salt, bytes, length) : artel__fingerprint(bytes, length);
    return s->first_oov + (int64_t)(hash % (uint64_t)s->oov);
}

int64_t artel__lookup_word(const artel__lookup *s, const char *bytes, size_t length)
{
    if (s->masked && s->mask_word.length == length && (length == 0 || memcmp(s->mask_word.bytes, bytes, length) == 0))
        return counts(s) ? NOT_COUNTED : 0;
    int64_t place = artel__table_find_word(s->table, bytes, length);
    if (place >= 0) return s->first_oov + s->oov + place;
    return s->oov == 0 ? NOWHERE : s->oov == 1 ? s->first_oov : hashed(s, bytes, length);
}

static int64_t find_integer(const artel__lookup *s, int64_t x)
{
    char digits[24];
    if (s->masked && x == s->mask_integer) return counts(s) ? NOT_COUNTED : 0;
    int64_t place = artel__table_find_integer(s->table, x);
    if (place >= 0) return s->first_oov + s->oov + place;
    if (s->oov <= 1) return s->oov == 0 ? NOWHERE : s->first_oov;
    if (s->fingerprints) return hashed(s, digits, (size_t)snprintf(digits, sizeof digits, "%lld", (long long)x));
    int64_t rest = x % s->oov;
    return s->first_oov + (rest < 0 ? rest + s->oov : rest);
}

static const char *infer_lookup(const void *settings, const artel__cells *in, int inputs, artel__cells *out)
{
    const artel__lookup *s = settings;
    bool words = in[0].dtype == ARTEL_DTYPE_STRING;
    if (inputs != 1) return "is not one tensor";
    if (s->inverse && words) return "holds strings, expected places";
    if (!s->inverse && s->table->strings != words)
        return words ? "holds strings, expected integers" : "holds numbers, expected strings";
    if (!s->inverse) return artel__encoding_infer(&s->encoding, &in[0].shape, out);
    artel__cells_describe(out, s->table->strings ? ARTEL_DTYPE_STRING : ARTEL_DTYPE_INT64, &in[0].shape);
    return NULL;
}

/* The term at a place; those that have none are the one for unknown terms. */
static void put_term(const artel__lookup *s, int64_t place, int64_t i, artel__cells *out)
{
    int64_t term = place - s->first_oov - s->oov;
    bool known = term >= 0 && term < s->table->count, mask = s->masked && place == 0;
    if (s->table->strings)
        ((artel__string *)out->data)[i] = mask ? s->mask_word : known ? s->table->word[term] : s->oov_word;
    else
        ((int64_t *)out->data)[i] = mask ? s->mask_integer : known ? s->table->integer[term] : s->oov_integer;
}

static artel_status run_lookup(const void *settings, const artel__cells *in, int inputs, artel__cells *out,
                               artel__row_scratch *scratch, artel__row_fault *fault)
{
    const artel__lookup *s = settings;
    const artel__string *word = in[0].data;
    (void)inputs;
    (void)scratch;
    if (!s->inverse) artel__encoding_begin(&s->encoding, out);
    for (int64_t i = 0; i < in[0].count; i++) {
        if (s->inverse) {
            put_term(s, artel__cell_integer(&in[0], i), i, out);
            continue;
        }
        int64_t place = s->table->strings ? artel__lookup_word(s, word[i].bytes, word[i].length)
                                          : find_integer(s, artel__cell_integer(&in[0], i));
        if (place == NOWHERE) {
            *fault = (artel__row_fault){"is not in the vocabulary, and num_oov_indices is 0", 0, i};
            return ARTEL_ERROR_INVALID;
        }
        artel__encoding_put(&s->encoding, &in[0].shape, i, place, 1, out);
    }
    if (!s->inverse) artel__encoding_end(&s->encoding, out);
    return ARTEL_OK;
}

const artel__row_function artel__lookup_function = {"Lookup", infer_lookup, run_lookup};
