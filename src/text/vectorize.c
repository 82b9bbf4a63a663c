/* SPDX-License-Identifier: Apache-2.0 */
/* TextVectorization, after keras/src/layers/preprocessing/text_vectorization.py. See functions.h.
 *
 * The text of a row is standardised into one buffer in which single spaces separate the tokens. So an n-gram, which
 * Keras joins with spaces, is a piece of the buffer as it lies: nothing is put together and nothing copied twice.
 * `from` holds where each token begins.
 */
#include <string.h>

#include "text/functions.h"

typedef struct tokens {
    char *text;
    size_t used;
    size_t *from; /* one more than tokens: where the next would begin */
    int64_t count;
} tokens;

static bool is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* What `strip_punctuation` drops: every ASCII character that is printed and is neither a letter, a digit nor a space.
 */
static bool is_punctuation(unsigned char c)
{
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

static void begin_token(tokens *t)
{
    if (t->count) t->text[t->used++] = ' ';
    t->from[t->count++] = t->used;
}

static void add_text(const artel__vectorize *s, tokens *t, const artel__string *text)
{
    bool inside = false;
    if (s->split == ARTEL__SPLIT_NONE) begin_token(t);
    for (size_t i = 0; i < text->length; i++) {
        unsigned char c = (unsigned char)text->bytes[i];
        if (s->strip && is_punctuation(c)) continue;
        if (s->lower && c >= 'A' && c <= 'Z') c = (unsigned char)(c + ('a' - 'A'));
        bool space = s->split == ARTEL__SPLIT_SPACES && is_space(c);
        bool begins = s->split == ARTEL__SPLIT_SPACES ? !space && !inside
                                                      : s->split == ARTEL__SPLIT_CHARACTERS && (c & 0xC0) != 0x80;
        inside = !space;
        if (begins) begin_token(t);
        if (!space) t->text[t->used++] = (char)c;
    }
}

/* Tokens [first, first + count) as they lie. */
static artel__string piece(const tokens *t, int64_t first, int64_t count)
{
    size_t end = first + count < t->count ? t->from[first + count] - 1 : t->used;
    return (artel__string){t->text + t->from[first], end - t->from[first]};
}

static const char *infer_vectorize(const void *settings, const artel__cells *in, int inputs, artel__cells *out)
{
    const artel__vectorize *s = settings;
    const artel_shape *shape = &in[0].shape;
    artel_shape places = {.rank = 1, .dim = {s->length}};
    if (inputs != 1 || in[0].dtype != ARTEL_DTYPE_STRING) return "is not one tensor of strings";
    if (s->split != ARTEL__SPLIT_NONE && in[0].count != 1) return "has more than one text in a row";
    if (shape->rank > 1 || (s->split == ARTEL__SPLIT_NONE && shape->rank == 0))
        return "has another number of axes than a row of texts";
    if (s->length == 0 && s->split == ARTEL__SPLIT_NONE && s->widths == 0) places.dim[0] = in[0].count;
    if (s->length == 0 && s->split == ARTEL__SPLIT_NONE && s->widths > 0) {
        places.dim[0] = 0;
        for (int w = 0; w < s->widths; w++)
            places.dim[0] += in[0].count >= s->width[w] ? in[0].count - s->width[w] + 1 : 0;
    }
    return artel__encoding_infer(&s->lookup.encoding, &places, out);
}

/* Reads the texts of a row; false when memory is out. */
static bool read_tokens(const artel__vectorize *s, const artel__cells *in, artel__row_scratch *scratch, tokens *t)
{
    const artel__string *text = in->data;
    size_t bytes = 0;
    for (int64_t i = 0; i < in->count; i++) bytes += text[i].length + 1;
    size_t most = s->split == ARTEL__SPLIT_NONE ? (size_t)in->count : bytes; /* tokens */
    t->from = artel__row_scratch_take(scratch, (most + 1) * sizeof *t->from + bytes * 2);
    if (!t->from) return false;
    t->text = (char *)(t->from + most + 1);
    t->used = 0;
    t->count = 0;
    for (int64_t i = 0; i < in->count; i++) add_text(s, t, &text[i]);
    return true;
}

static artel_status run_vectorize(const void *settings, const artel__cells *in, int inputs, artel__cells *out,
                                  artel__row_scratch *scratch, artel__row_fault *fault)
{
    const artel__vectorize *s = settings;
    const artel__encoding *encoding = &s->lookup.encoding;
    const int64_t tokens_alone = 1;
    bool places = encoding->mode == ARTEL__ENCODE_INT;
    const artel_shape row = {.rank = 1, .dim = {1}};
    int64_t at = 0;
    tokens t;
    (void)inputs;
    (void)fault;
    if (!read_tokens(s, in, scratch, &t)) return ARTEL_ERROR_NO_MEMORY;
    artel__encoding_begin(encoding, out);
    for (int w = 0; w < (s->widths ? s->widths : 1); w++) {
        int64_t width = s->widths ? s->width[w] : tokens_alone;
        for (int64_t first = 0; first + width <= t.count && !(places && at == out->count); first++) {
            artel__string token = piece(&t, first, width);
            artel__encoding_put(encoding, &row, places ? at++ : 0,
                                artel__lookup_word(&s->lookup, token.bytes, token.length), 1, out);
        }
    }
    for (; places && at < out->count; at++) artel__cell_set_integer(out, at, 0);
    artel__encoding_end(encoding, out);
    return ARTEL_OK;
}

const artel__row_function artel__vectorize_function = {"TextVectorization", infer_vectorize, run_vectorize};
