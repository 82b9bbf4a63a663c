/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks are checked by their checksums and then read as if they came from an enemy all the same. */
#include "keras/tf_table.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

#define MAGIC 0xdb4775248b80fb57u

enum {
    FOOTER = 48,
    TRAILER = 5, /* compression, checksum */
    KEY_MOST = 4096,
    KEYS_MOST = 64 /* bytes of all keys for a byte of the file: keys share their beginnings, but not for nothing */
};

typedef struct table {
    artel_context *ctx;
    const char *where;
    const uint8_t *bytes;
    size_t size;
    artel__tf_entry_fn *entry;
    void *user;
    uint64_t least; /* where the next block may begin: blocks lie in order, so none is read twice */
    uint64_t keys;  /* bytes of keys so far */
} table;

static artel_status damaged(const table *t, const char *what)
{
    return artel__fail(t->ctx, ARTEL_ERROR_CORRUPT, t->where, "copy or save the checkpoint again", "%s", what);
}

bool artel__tf_is_table(const uint8_t *bytes, size_t size)
{
    return size >= FOOTER && artel__bytes_get(bytes + size - 8, 8) == MAGIC;
}

/* The contents of the block that a handle (offset, size) names. */
static artel_status open_block(table *t, artel__proto *handle, artel__proto *out)
{
    uint64_t at, size;
    if (!artel__proto_varint(handle, &at) || !artel__proto_varint(handle, &size) || at > t->size ||
        size > t->size - at || t->size - at - size < TRAILER)
        return damaged(t, "a block lies outside of the file");
    if (at < t->least) return damaged(t, "its blocks are not in order");
    t->least = at + size + TRAILER;
    const uint8_t *block = t->bytes + at;
    uint32_t wanted = (uint32_t)artel__bytes_get(block + size + 1, 4);
    if (artel__crc32c_mask(artel__crc32c(0, block, (size_t)size + 1)) != wanted)
        return damaged(t, "the checksum of a block does not match");
    if (block[size])
        return artel__fail(t->ctx, ARTEL_ERROR_UNSUPPORTED, t->where,
                           "save it with TensorFlow's own writer, which does not compress its index",
                           "the index is compressed (kind %d)", block[size]);
    if (size < 4) return damaged(t, "a block is too short");
    uint64_t restarts = artel__bytes_get(block + size - 4, 4);
    if (restarts > (size - 4) / 4) return damaged(t, "a block is too short");
    *out = artel__proto_of(block, (size_t)(size - 4 - 4 * restarts));
    return ARTEL_OK;
}

static artel_status read_block(table *t, artel__proto block, artel__tf_entry_fn *entry, void *user)
{
    char key[KEY_MOST + 1];
    uint64_t length = 0, shared, added, bytes;
    while (block.at < block.end) {
        if (!artel__proto_varint(&block, &shared) || !artel__proto_varint(&block, &added) ||
            !artel__proto_varint(&block, &bytes) || shared > length || added > KEY_MOST - shared ||
            added > (uint64_t)(block.end - block.at) || bytes > (uint64_t)(block.end - block.at) - added)
            return damaged(t, "an entry of the index is damaged");
        memcpy(key + shared, block.at, (size_t)added);
        length = shared + added;
        key[length] = '\0';
        t->keys += length;
        if (t->keys / KEYS_MOST > t->size) return damaged(t, "its keys are too long");
        block.at += added;
        ARTEL_TRY(entry(user, key, (size_t)length, artel__proto_of(block.at, (size_t)bytes)));
        block.at += bytes;
    }
    return ARTEL_OK;
}

static artel_status follow_handle(void *user, const char *key, size_t key_size, artel__proto value)
{
    table *t = user;
    artel__proto block;
    (void)key, (void)key_size;
    ARTEL_TRY(open_block(t, &value, &block));
    return read_block(t, block, t->entry, t->user);
}

artel_status artel__tf_table_read(artel_context *ctx, const char *where, const uint8_t *bytes, size_t size,
                                  artel__tf_entry_fn *entry, void *user)
{
    table t = {.ctx = ctx, .where = where, .bytes = bytes, .size = size, .entry = entry, .user = user};
    artel__proto index;
    uint64_t ignored;
    if (!artel__tf_is_table(bytes, size))
        return damaged(&t, "this is no index of a TensorFlow checkpoint, or it is cut off");
    artel__proto footer = artel__proto_of(bytes + size - FOOTER, FOOTER - 8);
    if (!artel__proto_varint(&footer, &ignored) || !artel__proto_varint(&footer, &ignored))
        return damaged(&t, "its footer is damaged");
    ARTEL_TRY(open_block(&t, &footer, &index));
    t.least = 0; /* the index lies behind all others */
    return read_block(&t, index, follow_handle, &t);
}
