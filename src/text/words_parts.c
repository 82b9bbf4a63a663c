/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on strings whose results have other shapes than their operands, after tf.strings: joining, splitting,
 * n-grams. words.c has their table.
 *
 * Splitting gives what tf.strings.split(x).to_tensor("") does: arrays are dense, so elements with fewer parts than the
 * one with the most end in empty strings. */
#include <string.h>

#include "text/words.h"

/* -- joining -- */

typedef struct joining joining;

struct joining {
    const artel__string_call *call;
    int64_t parts; /* of each element of the result */
    int64_t inner; /* how far apart they lie, where they are of one array */
    const artel_string *(*part)(const joining *j, int64_t i, int64_t part); /* of element `i` of the result */
};

static artel_status join_parts(const joining *j, const artel_shape *shape)
{
    artel_context *ctx = j->call->ctx;
    int64_t count = artel_shape_count(shape);
    const artel_string *between = &j->call->settings->separator;
    size_t bytes = 1;
    void *list, *block;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t p = 0; p < j->parts; p++) {
            size_t more = j->part(j, i, p)->length + (p ? between->length : 0);
            if (__builtin_add_overflow(bytes, more, &bytes)) return artel__fail_memory(ctx, "strings", SIZE_MAX);
        }
    }
    ARTEL_TRY(artel__alloc(ctx, (size_t)count * sizeof(artel_string) + 1, "strings", &list));
    artel_status status = artel__alloc(ctx, bytes, "strings", &block);
    artel_string *made = list;
    char *at = status < 0 ? NULL : block;
    for (int64_t i = 0; i < count && at; i++) {
        made[i] = (artel_string){at, 0};
        for (int64_t p = 0; p < j->parts; p++) {
            const artel_string *pieces[2] = {between, j->part(j, i, p)};
            for (int k = p ? 0 : 1; k < 2; k++) {
                if (pieces[k]->length) memcpy(at, pieces[k]->bytes, pieces[k]->length);
                at += pieces[k]->length;
            }
        }
        made[i].length = (size_t)(at - made[i].bytes);
    }
    if (status == ARTEL_OK) {
        status = artel__string_give(j->call, shape, made);
        artel__free(ctx, block);
    }
    artel__free(ctx, list);
    return status;
}

static const artel_string *operand(const joining *j, int64_t i, int64_t part)
{
    return &artel__string_in(j->call, part)[j->call->in[part].shape.rank ? i : 0];
}

artel_status artel__string_infer_join(const artel__string_call *c, artel_dtype *dtype, artel_shape *out)
{
    const artel_shape *shape = &c->in[0].shape;
    for (int i = 1; i < c->count; i++) {
        const artel_shape *other = &c->in[i].shape;
        if (shape->rank == 0) shape = other;
        if (other->rank && !artel__shape_equal(other, shape))
            return artel__string_wrong(c, "give arrays of one shape, or scalars", "the shapes differ");
    }
    *dtype = ARTEL_DTYPE_STRING;
    *out = *shape;
    return ARTEL_OK;
}

artel_status artel__string_join(const artel__string_call *c)
{
    artel_dtype dtype;
    artel_shape shape;
    ARTEL_TRY(artel__string_infer_join(c, &dtype, &shape));
    return join_parts(&(joining){.call = c, .parts = c->count, .part = operand}, &shape);
}

static const artel_string *along(const joining *j, int64_t i, int64_t part)
{
    return &artel__string_in(j->call, 0)[(i / j->inner * j->parts + part) * j->inner + i % j->inner];
}

/* The axis; -1: all. */
static artel_status axis_of(const artel__string_call *c, int *axis)
{
    int rank = c->in[0].shape.rank;
    int64_t given = c->settings->axis < 0 ? c->settings->axis + rank : c->settings->axis;
    *axis = -1;
    if (c->settings->all) return ARTEL_OK;
    *axis = (int)given;
    if (given >= 0 && given < rank) return ARTEL_OK;
    return artel__string_wrong(c, "give an axis of the array", "there is no such axis");
}

artel_status artel__string_infer_reduce_join(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    int axis;
    ARTEL_TRY(axis_of(c, &axis));
    *dtype = ARTEL_DTYPE_STRING;
    *shape = axis < 0 ? (artel_shape){.rank = 0} : c->in[0].shape;
    if (axis >= 0) shape->rank--;
    for (int k = axis; axis >= 0 && k < shape->rank; k++) shape->dim[k] = c->in[0].shape.dim[k + 1];
    return ARTEL_OK;
}

artel_status artel__string_reduce_join(const artel__string_call *c)
{
    artel_dtype dtype;
    artel_shape shape;
    int axis;
    ARTEL_TRY(axis_of(c, &axis));
    ARTEL_TRY(artel__string_infer_reduce_join(c, &dtype, &shape));
    joining j = {.call = c, .parts = axis < 0 ? c->in[0].count : c->in[0].shape.dim[axis], .inner = 1, .part = along};
    for (int k = axis; axis >= 0 && k < shape.rank; k++) j.inner *= shape.dim[k];
    return join_parts(&j, &shape);
}

/* -- splitting -- */

/* Where the separator is in a text, and how long; false: nowhere. Without one: spaces in a row. */
static bool find(const artel_string *separator, artel_string s, size_t *at, size_t *length)
{
    *length = separator->length ? separator->length : 1;
    for (*at = 0; *at + *length <= s.length; ++*at) {
        const char *here = s.bytes + *at;
        if (separator->length ? memcmp(here, separator->bytes, separator->length) == 0 : artel__is_space(*here))
            return true;
    }
    return false;
}

/* The parts of one text, at most `room` of which are written; how many there are. */
static int64_t split(const artel__string_settings *by, artel_string s, artel_string *out, int64_t room)
{
    int64_t count = 0;
    size_t at, length;
    for (;;) {
        if (!by->separator.length && by->most != 0) { /* not to be split at all: with its spaces */
            for (; s.length && artel__is_space(*s.bytes); s.length--) s.bytes++;
            if (s.length == 0) return count;
        }
        bool last = count == by->most || !find(&by->separator, s, &at, &length);
        if (count < room) out[count] = last ? s : (artel_string){s.bytes, at};
        count++;
        if (last) return count;
        s = (artel_string){s.bytes + at + length, s.length - at - length};
    }
}

/* With an axis of parts, or of characters. */
artel_status artel__string_infer_split(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    *dtype = ARTEL_DTYPE_STRING;
    *shape = c->in[0].shape;
    if (shape->rank == ARTEL_MAX_RANK)
        return artel__string_wrong(c, "take axes away", "there is no room for another axis");
    shape->dim[shape->rank++] = c->settings->parts;
    return ARTEL_OK;
}

artel_status artel__string_split(const artel__string_call *c)
{
    artel_dtype dtype;
    artel_shape shape;
    int64_t count = c->in[0].count, all;
    const artel_string *from = artel__string_in(c, 0);
    void *list;
    ARTEL_TRY(artel__string_infer_split(c, &dtype, &shape));
    int64_t *most = &shape.dim[shape.rank - 1];
    for (int64_t i = 0; i < count && c->settings->parts < 0; i++) {
        int64_t parts = split(c->settings, from[i], NULL, 0);
        if (parts > *most) *most = parts;
    }
    if (*most < 0) *most = 0;
    ARTEL_TRY(artel__string_check_shape(c, &shape, &all));
    ARTEL_TRY(artel__calloc(c->ctx, (size_t)all + 1, sizeof(artel_string), "strings", &list));
    artel_string *part = list;
    for (int64_t i = 0; i < count; i++) split(c->settings, from[i], part + i * *most, *most);
    artel_status status = artel__string_give(c, &shape, part);
    artel__free(c->ctx, list);
    return status;
}

/* -- n-grams, as tf.strings.ngrams gives them of dense rows -- */

static int64_t padding_of(const artel__ngram_settings *n, int64_t width)
{
    if (!n->padded) return 0;
    return n->padding < 0 || n->padding > width - 1 ? width - 1 : n->padding;
}

/* How many of a width there are in rows of so many words. */
static int64_t count_ngrams(const artel__ngram_settings *n, int64_t words, int64_t width)
{
    int64_t count = words + 2 * padding_of(n, width) - width + 1;
    return count > 0 ? count : 0;
}

/* Word `k` of a row with its padding. */
static const artel_string *padded(const artel__ngram_settings *n, const artel_string *row, int64_t words, int64_t k)
{
    return k < 0 ? &n->pad[0] : k >= words ? &n->pad[1] : &row[k];
}

static void write_ngrams(const artel__string_call *c, const artel_string *row, int64_t words, int64_t width,
                         int64_t padding, int64_t count, artel__string_writer *to)
{
    const artel__ngram_settings *n = &c->settings->ngrams;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < width; k++) {
            const artel_string *word = padded(n, row, words, i + k - padding);
            if (k > 0) artel__string_write(to, c->settings->separator.bytes, c->settings->separator.length);
            artel__string_write(to, word->bytes, word->length);
        }
        artel__string_next(to);
    }
}

static void write_row(const artel__string_call *c, const artel_string *row, int64_t words, bool whole,
                      artel__string_writer *to)
{
    const artel__ngram_settings *n = &c->settings->ngrams;
    int64_t padding = n->padded && n->padding > 0 ? n->padding : 0;
    if (whole) {
        write_ngrams(c, row, words, words + 2 * padding, padding, 1, to);
        return;
    }
    for (int w = 0; w < n->widths; w++) {
        int64_t width = n->width[w];
        write_ngrams(c, row, words, width, padding_of(n, width), count_ngrams(n, words, width), to);
    }
}

/* A row that is shorter than every width, as one. */
static bool is_whole(const artel__ngram_settings *n, int64_t words, int64_t each)
{
    return each == 0 && n->keep_short && words > 0;
}

artel_status artel__string_infer_ngrams(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    const artel__ngram_settings *n = &c->settings->ngrams;
    int64_t each = 0;
    *dtype = ARTEL_DTYPE_STRING;
    *shape = c->in[0].shape;
    if (n->widths == 0 || shape->rank == 0)
        return artel__string_wrong(c, "give words along the last axis, and how many are taken together",
                                   shape->rank ? "the setting 'ngram_width' is missing" : "the array has no axis");
    if (n->padding > 0 && !n->padded)
        return artel__string_wrong(c, "give 'pad_values'", "there is a 'padding_width' and nothing to pad with");
    int64_t words = shape->dim[shape->rank - 1];
    for (int w = 0; w < n->widths && words > 0;
         w++) { /* of nothing TensorFlow makes nothing, whatever it is padded with */
        if (__builtin_add_overflow(each, count_ngrams(n, words, n->width[w]), &each)) each = INT64_MAX;
    }
    shape->dim[shape->rank - 1] = is_whole(n, words, each) ? 1 : each;
    return ARTEL_OK;
}

artel_status artel__string_ngrams(const artel__string_call *c)
{
    artel_dtype dtype;
    artel_shape shape;
    artel__string_writer writer;
    int64_t most;
    ARTEL_TRY(artel__string_infer_ngrams(c, &dtype, &shape));
    ARTEL_TRY(artel__string_check_shape(c, &shape, &most));
    const artel__ngram_settings *n = &c->settings->ngrams;
    int64_t words = c->in[0].shape.dim[shape.rank - 1], each = 0;
    for (int w = 0; w < n->widths && words > 0; w++) each += count_ngrams(n, words, n->width[w]);
    bool whole = is_whole(n, words, each);
    int64_t rows = most ? most / shape.dim[shape.rank - 1] : 0;
    ARTEL_TRY(artel__string_begin(c->ctx, most, &writer));
    for (int64_t i = 0; i < rows; i++) write_row(c, artel__string_in(c, 0) + i * words, words, whole, &writer);
    return artel__string_end(&writer, c, &shape, ARTEL_OK);
}
