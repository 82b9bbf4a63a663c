/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on strings that make one element of each, after tf.strings and tf.lookup: lengths, buckets, numbers,
 * letters, parts, and places in a vocabulary. words.c has their table. */
#include <stdlib.h>

#include "base/utf8.h"
#include "eager/words.h"
#include "text/hash.h"

static artel_status new_result(const artel__string_call *c, artel_dtype dtype, artel_ndarray **made)
{
    return artel__ndarray_new(c->e, dtype, &c->inputs[0]->shape, made);
}

/* The bucket of each: by the fingerprint, or by the hash with a key. */
static artel_status hash(const artel__string_call *c, const uint64_t *key)
{
    artel_ndarray *made;
    if (c->settings->buckets == 0)
        return artel__string_wrong(c, "say how many buckets there are", "the setting 'num_buckets' is missing");
    ARTEL_TRY(new_result(c, ARTEL_DTYPE_INT64, &made));
    int64_t *out = (int64_t *)(void *)made->data;
    for (int64_t i = 0; i < made->count; i++) {
        artel_string s = c->in[0][i];
        const char *bytes = s.length ? s.bytes : "";
        uint64_t number = key ? artel__keyed_hash(key, bytes, s.length) : artel__fingerprint(bytes, s.length);
        out[i] = (int64_t)(number % (uint64_t)c->settings->buckets);
    }
    *c->out = made;
    return ARTEL_OK;
}

artel_status artel__string_hash(const artel__string_call *c)
{
    return hash(c, NULL);
}

artel_status artel__string_keyed_hash(const artel__string_call *c)
{
    if (!c->settings->keyed)
        return artel__string_wrong(c, "give two numbers that are kept secret", "the setting 'key' is missing");
    return hash(c, c->settings->key);
}

artel_status artel__string_length(const artel__string_call *c)
{
    artel_ndarray *made;
    ARTEL_TRY(new_result(c, ARTEL_DTYPE_INT32, &made));
    int32_t *out = (int32_t *)(void *)made->data;
    for (int64_t i = 0; i < made->count; i++) {
        artel_string s = c->in[0][i];
        size_t count = c->settings->characters ? artel__utf8_count(s.bytes, s.length) : s.length;
        out[i] = count > INT32_MAX ? INT32_MAX : (int32_t)count;
    }
    *c->out = made;
    return ARTEL_OK;
}

artel_status artel__string_number(const artel__string_call *c)
{
    artel_ndarray *made;
    artel_dtype dtype = c->settings->dtype;
    ARTEL_TRY(new_result(c, dtype, &made));
    artel_status status = artel__ndarray_convert(c->e, ARTEL_DTYPE_STRING, c->in[0], dtype, made->data, made->count);
    if (status < 0)
        artel_ndarray_release(made);
    else
        *c->out = made;
    return status;
}

/* The letters of ASCII in place, in the block that the result owns. */
static artel_status change_case(const artel__string_call *c, char first, char last)
{
    ARTEL_TRY(artel__string_give(c, &c->inputs[0]->shape, c->in[0]));
    artel_ndarray *made = *c->out;
    const artel_string *of = (const artel_string *)(const void *)made->data;
    for (int64_t i = 0; i < made->count; i++) {
        char *at = made->text + (of[i].bytes - made->text);
        for (size_t b = 0; b < of[i].length; b++) {
            if (at[b] >= first && at[b] <= last) at[b] ^= 0x20;
        }
    }
    return ARTEL_OK;
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
    int64_t count = c->inputs[0]->count;
    void *block;
    ARTEL_TRY(artel__alloc(c->e->ctx, (size_t)count * sizeof(artel_string) + 1, "strings", &block));
    artel_string *part = block;
    for (int64_t i = 0; i < count; i++) part[i] = artel__strip(c->in[0][i]);
    artel_status status = artel__string_give(c, &c->inputs[0]->shape, part);
    artel__free(c->e->ctx, block);
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
    artel_string s = c->in[0][i];
    int64_t units = (int64_t)s.length, begin = by->position;
    for (size_t b = 0; by->characters && b < s.length; b++) units -= (s.bytes[b] & 0xC0) == 0x80;
    if (begin < -units || begin > units)
        return artel__fail(c->e->ctx, ARTEL_ERROR_INVALID, c->name, "give a place in every string",
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
    int64_t count = c->inputs[0]->count;
    artel_status status = ARTEL_OK;
    void *block;
    if (c->settings->length < 0)
        return artel__string_wrong(c, "say how much of each is wanted", "the setting 'len' is missing");
    ARTEL_TRY(artel__alloc(c->e->ctx, (size_t)count * sizeof(artel_string) + 1, "strings", &block));
    artel_string *part = block;
    for (int64_t i = 0; i < count && status == ARTEL_OK; i++) status = cut(c, i, &part[i]);
    if (status == ARTEL_OK) status = artel__string_give(c, &c->inputs[0]->shape, part);
    artel__free(c->e->ctx, block);
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
    artel_ndarray *made;
    for (int64_t i = 0; i < entries; i++) table[i] = (placed){c->in[1][i], i};
    if (entries > 1) qsort(table, (size_t)entries, sizeof *table, by_word);
    for (int64_t i = 1; i < entries; i++) {
        if (by_word(&table[i - 1], &table[i]) == 0)
            return artel__fail(c->e->ctx, ARTEL_ERROR_INVALID, c->name, "give each word once",
                               "\"%.*s\" is in the vocabulary twice",
                               (int)(table[i].word.length < 100 ? table[i].word.length : 100), table[i].word.bytes);
    }
    ARTEL_TRY(new_result(c, ARTEL_DTYPE_INT64, &made));
    int64_t *place = (int64_t *)(void *)made->data;
    for (int64_t i = 0; i < made->count; i++) {
        const placed wanted = {c->in[0][i], 0};
        const placed *found = entries > 0 ? bsearch(&wanted, table, (size_t)entries, sizeof *table, by_word) : NULL;
        place[i] = found ? found->place : c->settings->missing;
    }
    *c->out = made;
    return ARTEL_OK;
}

artel_status artel__string_lookup(const artel__string_call *c)
{
    void *table;
    if (c->inputs[1]->shape.rank != 1)
        return artel__string_wrong(c, "give words in a row", "the vocabulary has not one axis");
    ARTEL_TRY(artel__calloc(c->e->ctx, (size_t)c->inputs[1]->count + 1, sizeof(placed), "vocabulary", &table));
    artel_status status = look_up(c, table, c->inputs[1]->count);
    artel__free(c->e->ctx, table);
    return status;
}
