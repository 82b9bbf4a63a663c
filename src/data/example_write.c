/* SPDX-License-Identifier: Apache-2.0 */
/* tf.train.Example, written: numbers packed, lengths computed before anything is appended, features in the order given.
 */
#include <string.h>

#include "base/protobuf.h"
#include "data/record_write.h"

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value > 127; value >>= 7) size++;
    return size;
}

/* The tag of a field of bytes, and their length. */
static void put_head(artel__text *out, int field, uint64_t size)
{
    artel__put_varint(out, (uint64_t)field << 3 | 2);
    artel__put_varint(out, size);
}

static size_t field_size(size_t size)
{
    return 1 + varint_size(size) + size;
}

/* Everything in front of a list of `list` bytes: entry, name, feature. */
static void put_list(artel__text *out, const char *name, artel__feature_kind kind, size_t list)
{
    size_t length = strlen(name), feature = field_size(list);
    put_head(out, 1, field_size(length) + field_size(feature));
    put_head(out, 1, length);
    artel__text_append_bytes(out, name, length);
    put_head(out, 2, feature);
    put_head(out, (int)kind, list);
}

/* The same in front of a list of one value of `size` bytes, of numbers that are packed (none: an empty list). */
static void put_feature(artel__text *out, const char *name, artel__feature_kind kind, size_t size)
{
    size_t list = size > 0 || kind == ARTEL__FEATURE_BYTES ? field_size(size) : 0;
    put_list(out, name, kind, list);
    if (list > 0) put_head(out, 1, size);
}

void artel__example_add_floats(artel__text *features, const char *name, const float *values, int64_t count)
{
    size_t size = (size_t)count * sizeof *values;
    put_feature(features, name, ARTEL__FEATURE_FLOAT32, size);
    if (size > 0) artel__text_append_bytes(features, values, size);
}

void artel__example_add_ints(artel__text *features, const char *name, const int64_t *values, int64_t count)
{
    size_t size = 0;
    for (int64_t i = 0; i < count; i++) size += varint_size((uint64_t)values[i]);
    put_feature(features, name, ARTEL__FEATURE_INT64, size);
    for (int64_t i = 0; i < count; i++) artel__put_varint(features, (uint64_t)values[i]);
}

void artel__example_add_bytes(artel__text *features, const char *name, const void *bytes, size_t size)
{
    put_feature(features, name, ARTEL__FEATURE_BYTES, size);
    if (size > 0) artel__text_append_bytes(features, bytes, size);
}

void artel__example_add_strings(artel__text *features, const char *name, const artel__string *strings, int64_t count)
{
    size_t list = 0;
    for (int64_t i = 0; i < count; i++) list += field_size(strings[i].length);
    put_list(features, name, ARTEL__FEATURE_BYTES, list);
    for (int64_t i = 0; i < count; i++) {
        put_head(features, 1, strings[i].length);
        if (strings[i].length > 0) artel__text_append_bytes(features, strings[i].bytes, strings[i].length);
    }
}

void artel__example_end(const artel__text *features, artel__text *out)
{
    put_head(out, 1, features->length);
    artel__text_append_text(out, features);
}
