/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on strings that make one element of each, after tf.strings and tf.lookup: lengths, buckets, numbers,
 * letters, parts, and places in a vocabulary. words.c has their table. */
#include <stdlib.h>

#include "base/utf8.h"
#include "text/hash.h"
#include "text/words.h"

/* -- types and shapes -- */

static artel_status like(const artel__string_call *c, artel_dtype to, artel_dtype *dtype, artel_shape *shape)
{
    *dtype = to;
    *shape = c->in[0].shape;
    return ARTEL_OK;
}

artel_status artel__string_infer_same(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    return like(c, ARTEL_DTYPE_STRING, dtype, shape);
}

artel_status artel__string_infer_length(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    return like(c, ARTEL_DTYPE_INT32, dtype, shape);
}

artel_status artel__string_infer_number(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    return like(c, c->settings->dtype, dtype, shape);
}

artel_status artel__string_infer_bucket(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    if (c->settings->buckets == 0)
        return artel__string_wrong(c, "say how many buckets there are", "the setting 'num_buckets' is missing");
    if (c->operation->run == artel__string_keyed_hash && !c->settings->keyed)
        return artel__string_wrong(c, "give two numbers that are kept secret", "the setting 'key' is missing");
    return like(c, ARTEL_DTYPE_INT64, dtype, shape);
}

artel_status artel__string_infer_part(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    if (c->settings->length < 0)
        return artel__string_wrong(c, "say how much of each is wanted", "the setting 'len' is missing");
    return like(c, ARTEL_DTYPE_STRING, dtype, shape);
}

artel_status artel__string_infer_lookup(const artel__string_call *c, artel_dtype *dtype, artel_shape *shape)
{
    if (c->in[1].shape.rank != 1)
        return artel__string_wrong(c, "give words in a row", "the vocabulary has not one axis");
    return like(c, ARTEL_DTYPE_INT64, dtype, shape);
}

/* Checks the settings, and takes room for the numbers. */
static artel_status begin_numbers(const artel__string_call *c, void **out)
{
    artel_dtype dtype;
    artel_shape shape;
    ARTEL_TRY(c->operation->infer(c, &dtype, &shape));
    return artel__string_like(c, dtype, out);
}

/* -- numbers -- */

typedef uint64_t hash_fn(const artel__string_settings *s, const char *bytes, size_t length);

static uint64_t fast(const artel__string_settings *s, const char *bytes, size_t length)
{
    (void)s;
    return artel__fingerprint(bytes, length);
}

static uint64_t old(const artel__string_settings *s, const char *bytes, size_t length)
{
    (void)s;
    return artel__old_hash(bytes, length);
}

static uint64_t keyed(const artel__string_settings *s, const char *bytes, size_t length)
{
    return artel__keyed_hash(s->key, bytes, length);
}

/* The bucket of each. */
static artel_status put_into_buckets(const artel__string_call *c, hash_fn *hash)
{
    void *block;
    ARTEL_TRY(begin_numbers(c, &block));
    int64_t *out = block;
    for (int64_t i = 0; i < c->in[0].count; i++) {
        artel_string s = artel__string_in(c, 0)[i];
        out[i] = (int64_t)(hash(c->settings, s.length ? s.bytes : "", s.length) % (uint64_t)c->settings->buckets);
    }
    return ARTEL_OK;
}

artel_status artel__string_hash(const artel__string_call *c)
{
    return put_into_buckets(c, fast);
}

artel_status artel__string_old_hash(const artel__string_call *c)
{
    return put_into_buckets(c, old);
}

artel_status artel__string_keyed_hash(const artel__string_call *c)
{
    return put_into_buckets(c, keyed);
}

artel_status artel__string_length(const artel__string_call *c)
{
    void *block;
    ARTEL_TRY(begin_numbers(c, &block));
    int32_t *out = block;
    for (int64_t i = 0; i < c->in[0].count; i++) {
        artel_string s = artel__string_in(c, 0)[i];
        size_t count = c->settings->characters ? artel__utf8_count(s.bytes, s.length) : s.length;
        out[i] = count > INT32_MAX ? INT32_MAX : (int32_t)count;
    }
    return ARTEL_OK;
}

artel_status artel__string_number(const artel__string_call *c)
{
    void *out;
    ARTEL_TRY(begin_numbers(c, &out));
    return artel__string_parse(c->ctx, c->operation->name, artel__string_in(c, 0), c->settings->dtype, out,
                               c->in[0].count);
}

/* -- strings -- */

/* The letters of ASCII between two. */
static artel_status change_case(const artel__string_call *c, char first, char last)
{
    artel__string_writer to;
    artel_status status = artel__string_begin(c->ctx, c->in[0].count, &to);
    for (int64_t i = 0; i < c->in[0].count && status == ARTEL_OK; i++) {
        artel_string s = artel__string_in(c, 0)[i];
        size_t from = to.text.length;
        artel__string_write(&to, s.bytes, s.length);
        for (size_t b = from; b < to.text.length; b++) {
            if (to.text.data[b] >= first && to.text.data[b] <= last) to.text.data[b] ^= 0x20;
        }
        artel__string_next(&to);
    }
    return artel__string_end(&to, c, &c->in[0].shape, status);
}

artel_status artel__string_lower(const artel__string_call *c)
{
    return change_case(c, 'A', 'Z');
}

artel_status artel__string_upper(const artel__string_call *c)
{
    return change_case(c, 'a', 'z');
}

artel_status artel__string_strip(const artel__string_call *c)
{
    int64_t count = c->in[0].count;
    void *block;
    ARTEL_TRY(artel__alloc(c->ctx, (size_t)count * sizeof(artel_string) + 1, "strings", &block));
    artel_string *part = block;
    for (int64_t i = 0; i < count; i++) part[i] = artel__strip(artel__string_in(c, 0)[i]);
    artel_status status = artel__string_give(c, &c->in[0].shape, part);
    artel__free(c->ctx, block);
    return status;
}

/* -- parts -- */

/* The byte at which a character begins, or the text's end. */
static size_t byte_of(artel_string s, int64_t character)
{
    size_t at = 0;
    for (; at < s.length; at++) {
        if (artel__utf8_begins(s.bytes[at]) && character-- == 0) break;
    }
    return at;
}

static artel_status cut(const artel__string_call *c, int64_t i, artel_string *out)
{
    const artel__string_settings *by = c->settings;
    artel_string s = artel__string_in(c, 0)[i];
    int64_t units = (int64_t)s.length, begin = by->position;
    for (size_t b = 0; by->characters && b < s.length; b++) units -= (s.bytes[b] & 0xC0) == 0x80;
    if (begin < -units || begin > units)
        return artel__fail(c->ctx, ARTEL_ERROR_INVALID, c->operation->name, "give a place in every string",
                           "element %lld has %lld of them, and 'pos' is %lld", (long long)i, (long long)units,
                           (long long)begin);
    if (begin < 0) begin += units;
    int64_t end = by->length < units - begin ? begin + by->length : units;
    size_t from = by->characters ? byte_of(s, begin) : (size_t)begin;
    size_t to = by->characters ? byte_of(s, end) : (size_t)end;
    *out = to > from ? (artel_string){s.bytes + from, to - from} : (artel_string){NULL, 0};
    return ARTEL_OK;
}

artel_status artel__string_part(const artel__string_call *c)
{
    int64_t count = c->in[0].count;
    artel_status status = ARTEL_OK;
    void *block;
    artel_dtype dtype;
    artel_shape shape;
    ARTEL_TRY(artel__string_infer_part(c, &dtype, &shape));
    ARTEL_TRY(artel__alloc(c->ctx, (size_t)count * sizeof(artel_string) + 1, "strings", &block));
    artel_string *part = block;
    for (int64_t i = 0; i < count && status == ARTEL_OK; i++) status = cut(c, i, &part[i]);
    if (status == ARTEL_OK) status = artel__string_give(c, &c->in[0].shape, part);
    artel__free(c->ctx, block);
    return status;
}

/* -- places in a vocabulary -- */

typedef struct placed {
    artel_string word;
    int64_t place;
} placed;

static int by_word(const void *a, const void *b)
{
    return artel__string_compare(&((const placed *)a)->word, &((const placed *)b)->word);
}

static artel_status look_up(const artel__string_call *c, placed *table, int64_t entries)
{
    void *block;
    for (int64_t i = 0; i < entries; i++) table[i] = (placed){artel__string_in(c, 1)[i], i};
    if (entries > 1) qsort(table, (size_t)entries, sizeof *table, by_word);
    for (int64_t i = 1; i < entries; i++) {
        if (by_word(&table[i - 1], &table[i]) == 0)
            return artel__fail(c->ctx, ARTEL_ERROR_INVALID, c->operation->name, "give each word once",
                               "\"%.*s\" is in the vocabulary twice",
                               (int)(table[i].word.length < 100 ? table[i].word.length : 100), table[i].word.bytes);
    }
    ARTEL_TRY(begin_numbers(c, &block));
    int64_t *place = block;
    for (int64_t i = 0; i < c->in[0].count; i++) {
        const placed wanted = {artel__string_in(c, 0)[i], 0};
        const placed *found = entries > 0 ? bsearch(&wanted, table, (size_t)entries, sizeof *table, by_word) : NULL;
        place[i] = found ? found->place : c->settings->missing;
    }
    return ARTEL_OK;
}

artel_status artel__string_lookup(const artel__string_call *c)
{
    void *table;
    artel_dtype dtype;
    artel_shape shape;
    ARTEL_TRY(artel__string_infer_lookup(c, &dtype, &shape));
    ARTEL_TRY(artel__calloc(c->ctx, (size_t)c->in[1].count + 1, sizeof(placed), "vocabulary", &table));
    artel_status status = look_up(c, table, c->in[1].count);
    artel__free(c->ctx, table);
    return status;
}
