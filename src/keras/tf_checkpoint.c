/* SPDX-License-Identifier: Apache-2.0 */
/* Reading checkpoints: the index into a list of arrays, the object graph into names, arrays out of the mapped shards.
 */
#include "keras/tf_checkpoint.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "keras/tf_table.h"

#define GRAPH_KEY "_CHECKPOINTABLE_OBJECT_GRAPH"

enum {
    TYPE_STRING = 7,
    MOST_SHARDS = 65536,
    NAME_MOST = 4096
};

static artel_status damaged(const artel__tf_checkpoint *c, const char *key, const char *what)
{
    return artel__fail(c->arena.ctx, ARTEL_ERROR_CORRUPT, c->prefix, "copy or save the checkpoint again", "%s%s%s", key,
                       *key ? ": " : "", what);
}

static bool find_dtype(int type, artel_dtype *out)
{
    static const struct {
        int type;
        artel_dtype dtype;
    } types[] = {{1, ARTEL_DTYPE_FLOAT32}, {2, ARTEL_DTYPE_FLOAT64},  {3, ARTEL_DTYPE_INT32},
                 {4, ARTEL_DTYPE_UINT8},   {5, ARTEL_DTYPE_INT16},    {6, ARTEL_DTYPE_INT8},
                 {9, ARTEL_DTYPE_INT64},   {10, ARTEL_DTYPE_BOOL},    {14, ARTEL_DTYPE_BFLOAT16},
                 {17, ARTEL_DTYPE_UINT16}, {19, ARTEL_DTYPE_FLOAT16}, {22, ARTEL_DTYPE_UINT32},
                 {23, ARTEL_DTYPE_UINT64}};
    for (size_t i = 0; i < ARTEL__COUNT(types); i++) {
        if (types[i].type != type) continue;
        *out = types[i].dtype;
        return true;
    }
    return false;
}

/* -- index -- */

/* BundleHeaderProto: num_shards 1, endianness 2 (0 little). */
static artel_status read_header(artel__tf_checkpoint *c, artel__proto header)
{
    artel__proto_field f;
    uint64_t shards = artel__proto_find(header, 1, &f) ? f.value : 0;
    if (artel__proto_find(header, 2, &f) && f.value != 0)
        return artel__fail(c->arena.ctx, ARTEL_ERROR_UNSUPPORTED, c->prefix, "save it on a little-endian machine",
                           "its numbers are big-endian");
    if (shards < 1 || shards > MOST_SHARDS || c->shards)
        return damaged(c, "", "the number of its data files is damaged");
    c->shards = (int)shards;
    c->shard = artel__arena_alloc(&c->arena, (size_t)shards, sizeof *c->shard);
    return artel__arena_status(&c->arena);
}

/* TensorShapeProto: dim 2 {size 1}. */
static bool read_shape(artel__proto message, artel_shape *out)
{
    artel__proto_field dim, size;
    *out = (artel_shape){.rank = 0};
    while (artel__proto_next(&message, &dim)) {
        if (dim.number != 2) continue;
        int64_t extent = artel__proto_find(dim.bytes, 1, &size) ? (int64_t)size.value : 0;
        if (out->rank == ARTEL_MAX_RANK || extent < 0 || extent > INT32_MAX) return false;
        out->dim[out->rank++] = extent;
    }
    return !message.damaged;
}

/* BundleEntryProto: dtype 1, shape 2, shard_id 3, offset 4, size 5, crc32c 6, slices 7. */
static artel_status read_entry(artel__tf_checkpoint *c, const char *key, artel__proto entry)
{
    artel__proto_field f;
    artel__tf_tensor t = {.key = artel__arena_strdup(&c->arena, key)};
    bool good = true;
    while (artel__proto_next(&entry, &f)) {
        if (f.number == 1) t.type = (int)f.value;
        if (f.number == 2) good = good && read_shape(f.bytes, &t.shape);
        if (f.number == 3) good = good && f.value < (uint64_t)c->shards;
        if (f.number == 3 && good) t.shard = (int)f.value;
        if (f.number == 4) t.offset = f.value;
        if (f.number == 5) t.size = f.value;
        if (f.number == 6) t.checksum = (uint32_t)f.value;
        if (f.number == 7) t.sliced = true;
    }
    if (!good || entry.damaged || !c->shards) return damaged(c, key, "its record is damaged");
    if (c->count == c->capacity) {
        int capacity = c->capacity ? 2 * c->capacity : 64;
        artel__tf_tensor *wider = artel__arena_alloc(&c->arena, (size_t)capacity, sizeof *wider);
        if (!wider) return ARTEL_ERROR_NO_MEMORY;
        if (c->count) memcpy(wider, c->tensor, (size_t)c->count * sizeof *wider);
        c->tensor = wider;
        c->capacity = capacity;
    }
    c->tensor[c->count] = t;
    ARTEL_TRY(artel__arena_status(&c->arena));
    return artel__names_set(&c->by_key, t.key, c->count++);
}

static artel_status take_entry(void *user, const char *key, size_t key_size, artel__proto value)
{
    artel__tf_checkpoint *c = user;
    return key_size ? read_entry(c, key, value) : read_header(c, value);
}

/* -- data -- */

static artel_status bytes_of(artel__tf_checkpoint *c, const artel__tf_tensor *t, const uint8_t **out)
{
    artel__mapping *shard = &c->shard[t->shard];
    if (!shard->bytes) {
        const char *path = artel__arena_printf(&c->arena, "%s.data-%05d-of-%05d", c->prefix, t->shard, c->shards);
        if (!path) return ARTEL_ERROR_NO_MEMORY;
        ARTEL_TRY(artel__map_file(c->arena.ctx, path, shard));
    }
    if (t->offset > shard->size || t->size > shard->size - t->offset)
        return damaged(c, t->key, "its data lie outside of the file");
    *out = shard->bytes ? shard->bytes + t->offset : (const uint8_t *)"";
    return ARTEL_OK;
}

/* Strings begin with their lengths, then a checksum of those; the record's checksum covers the lengths as numbers of 4
 * bytes. */
static artel_status read_text(artel__tf_checkpoint *c, const artel__tf_tensor *t, artel__proto *out)
{
    const uint8_t *bytes;
    uint64_t length;
    uint8_t number[4];
    ARTEL_TRY(bytes_of(c, t, &bytes));
    artel__proto text = artel__proto_of(bytes, (size_t)t->size);
    if (t->type != TYPE_STRING || !artel__proto_varint(&text, &length) || length > UINT32_MAX ||
        text.end - text.at < 4 || (uint64_t)(text.end - text.at) - 4 != length)
        return damaged(c, t->key, "it is no text");
    artel__bytes_put(number, length, 4);
    uint32_t crc = artel__crc32c(0, number, 4);
    if (artel__crc32c_mask(crc) != artel__bytes_get(text.at, 4))
        return damaged(c, t->key, "the checksum of its length does not match");
    crc = artel__crc32c(crc, text.at, (size_t)length + 4);
    if (artel__crc32c_mask(crc) != t->checksum) return damaged(c, t->key, "its checksum does not match");
    *out = artel__proto_of(text.at + 4, (size_t)length);
    return ARTEL_OK;
}

/* -- names -- */

static artel_status text_of(artel__tf_checkpoint *c, artel__proto_field f, const char **out)
{
    if (f.wire != 2 || f.value > NAME_MOST) return damaged(c, GRAPH_KEY, "a name is damaged");
    *out = artel__arena_printf(&c->arena, "%.*s", (int)f.value, (const char *)f.bytes.at);
    return artel__arena_status(&c->arena);
}

/* SerializedTensor: full_name 2, checkpoint_key 3. The first of a name counts: SavedModel lists variables twice. */
static artel_status read_attribute(artel__tf_checkpoint *c, artel__proto attribute)
{
    artel__proto_field name, key;
    const char *text = NULL;
    if (!artel__proto_find(attribute, 2, &name) || !artel__proto_find(attribute, 3, &key)) return ARTEL_OK;
    ARTEL_TRY(text_of(c, key, &text));
    const int *number = artel__names_find(&c->by_key, text);
    ARTEL_TRY(text_of(c, name, &text));
    return number && !artel__names_find(&c->by_name, text) ? artel__names_set(&c->by_name, text, *number) : ARTEL_OK;
}

/* TrackableObjectGraph: nodes 1 {attributes 2}. */
static artel_status read_graph(artel__tf_checkpoint *c, artel__proto graph)
{
    artel__proto_field node, attribute;
    while (artel__proto_next(&graph, &node)) {
        while (node.number == 1 && artel__proto_next(&node.bytes, &attribute)) {
            if (attribute.number == 2) ARTEL_TRY(read_attribute(c, attribute.bytes));
        }
    }
    return graph.damaged ? damaged(c, GRAPH_KEY, "the message is damaged") : ARTEL_OK;
}

static artel_status read_names(artel__tf_checkpoint *c)
{
    artel__proto graph;
    const int *number = artel__names_find(&c->by_key, GRAPH_KEY);
    if (!number) return ARTEL_OK;
    ARTEL_TRY(read_text(c, &c->tensor[*number], &graph));
    return read_graph(c, graph);
}

artel_status artel__tf_checkpoint_open(artel_context *ctx, const char *prefix, artel__tf_checkpoint *out)
{
    *out = (artel__tf_checkpoint){.prefix = prefix};
    artel__arena_init(&out->arena, ctx);
    out->by_key.arena = out->by_name.arena = &out->arena;
    const char *path = artel__arena_printf(&out->arena, "%s.index", prefix);
    if (!path) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__map_file(ctx, path, &out->index));
    if (out->index.size > INT32_MAX) return damaged(out, "", "its index is too long");
    ARTEL_TRY(artel__tf_table_read(ctx, path, out->index.bytes, out->index.size, take_entry, out));
    return read_names(out);
}

void artel__tf_checkpoint_close(artel__tf_checkpoint *c)
{
    if (!c->arena.ctx) return;
    for (int i = 0; c->shard && i < c->shards; i++) artel__unmap_file(&c->shard[i]);
    artel__unmap_file(&c->index);
    artel__arena_fini(&c->arena);
    *c = (artel__tf_checkpoint){.count = 0};
}

artel_status artel__tf_checkpoint_array(artel__tf_checkpoint *c, const char *name, artel__keras_array *out)
{
    const uint8_t *bytes;
    const int *number = artel__names_find(&c->by_name, name);
    if (!number && !c->by_name.count) number = artel__names_find(&c->by_key, name);
    *out = (artel__keras_array){.name = NULL};
    if (!number) return ARTEL_OK;
    const artel__tf_tensor *t = &c->tensor[*number];
    *out = (artel__keras_array){.name = t->key, .shape = t->shape};
    if (t->sliced)
        return artel__fail(c->arena.ctx, ARTEL_ERROR_UNSUPPORTED, c->prefix, "save it without partitioned variables",
                           "%s is cut into parts", t->key);
    if (!find_dtype(t->type, &out->dtype))
        return artel__fail(c->arena.ctx, ARTEL_ERROR_UNSUPPORTED, c->prefix, "save numbers",
                           "%s holds no numbers (TensorFlow's type %d)", t->key, t->type);
    ARTEL_TRY(bytes_of(c, t, &bytes));
    uint64_t count = 1;
    for (int d = 0; d < t->shape.rank; d++) {
        if (count > UINT32_MAX) return damaged(c, t->key, "its shape is damaged");
        count *= (uint64_t)t->shape.dim[d];
    }
    uint64_t each = artel_dtype_size(out->dtype);
    if (t->size % each || count != t->size / each) return damaged(c, t->key, "its shape does not match its size");
    if (artel__crc32c_mask(artel__crc32c(0, bytes, (size_t)t->size)) != t->checksum)
        return damaged(c, t->key, "its checksum does not match");
    out->data = bytes;
    return ARTEL_OK;
}
