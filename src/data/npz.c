/* SPDX-License-Identifier: Apache-2.0 */
/* npz: a zip archive of npy arrays, as numpy.savez and savez_compressed write; `npz:FILE[#a,b[,c]]`.
 *
 * Opening looks at the first bytes of each member only; a member is read when a model is bound to it, so that the
 * test arrays of Keras' mnist.npz cost nothing while training. Stored members are used where they are mapped, deflated
 * ones are inflated once. Members whose names do not end in .npy are no arrays and are passed over.
 */
#include <string.h>

#include "base/zip.h"
#include "data/source.h"

/* What numpy.save writes as header is 128 bytes; a record's dictionary may be longer. */

typedef struct npz_member {
    const artel__zip_member *member;
    artel__npy_header header;
    artel__zip_content content;
    char *where; /* "file.npz: x_train" */
} npz_member;

typedef struct npz_state {
    artel__zip zip;
    npz_member *members;
} npz_state;

/* The first bytes of a member, at most ARTEL__NPY_HEAD_BYTES; the archive has checked that they lie inside it. */
static size_t peek_member(const artel__zip *zip, const artel__zip_member *member, uint8_t *head)
{
    const uint8_t *stored = zip->bytes + member->data_offset;
    size_t size = member->size < ARTEL__NPY_HEAD_BYTES ? (size_t)member->size : ARTEL__NPY_HEAD_BYTES;
    if (member->method == 8) return artel__inflate_prefix(stored, (size_t)member->stored_size, head, size);
    if (member->method != 0 || member->stored_size < size) return 0;
    memcpy(head, stored, size);
    return size;
}

static artel_status open_member(artel__source *source, npz_state *state, int index, const artel__zip_member *zip_member,
                                uint8_t *head)
{
    npz_member *member = &state->members[index];
    artel__source_array *array = &source->arrays[index];
    size_t length = strlen(zip_member->name) - 4;
    char *name = artel__arena_strdup(&source->arena, zip_member->name);
    if (name == NULL) return ARTEL_ERROR_NO_MEMORY;
    name[length] = '\0';
    array->name = name;
    array->item = index;
    member->member = zip_member;
    member->where = artel__arena_printf(&source->arena, "%s: %s", source->target, name);
    if (member->where == NULL) return ARTEL_ERROR_NO_MEMORY;
    if (zip_member->method != 0 && zip_member->method != 8)
        return artel__fail(source->ctx, ARTEL_ERROR_UNSUPPORTED, member->where,
                           "write it with numpy.savez or numpy.savez_compressed",
                           "compression method %d (stored, 0, and deflated, 8, can be read)", zip_member->method);
    artel__npy_input input = {member->where, head, peek_member(&state->zip, zip_member, head), zip_member->size};
    ARTEL_TRY(artel__npy_parse(source->ctx, &input, &member->header));
    artel__npy_describe(&member->header, array);
    return ARTEL_OK;
}

static bool is_array(const artel__zip_member *member)
{
    return strlen(member->name) > 4 && artel__ends_with(member->name, ".npy");
}

static artel_status open_members(artel__source *source, npz_state *state)
{
    int64_t count = 0;
    int index = 0;
    void *head;
    for (size_t i = 0; i < state->zip.count; i++) count += is_array(&state->zip.members[i]);
    if (count == 0) {
        return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, source->target,
                           "write it with numpy.savez(FILE, x=..., y=...)",
                           "the archive holds no arrays (names ending in .npy) among %zu members", state->zip.count);
    }
    ARTEL_TRY(artel__source_add_arrays(source, count));
    state->members = artel__arena_alloc(&source->arena, (size_t)count, sizeof *state->members);
    if (state->members == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__alloc(source->ctx, ARTEL__NPY_HEAD_BYTES, source->target, &head));
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < state->zip.count && status == ARTEL_OK; i++) {
        if (is_array(&state->zip.members[i]))
            status = open_member(source, state, index++, &state->zip.members[i], head);
    }
    artel__free(source->ctx, head);
    return status;
}

static artel_status npz_open(artel__source *source)
{
    artel__blob *blob;
    npz_state *state = artel__arena_alloc(&source->arena, 1, sizeof *state);
    if (state == NULL) return ARTEL_ERROR_NO_MEMORY;
    ARTEL_TRY(artel__blob_open(source, source->target, &blob));
    ARTEL_TRY(artel__zip_open_bytes(source->ctx, source->target, blob->bytes, blob->size, &state->zip));
    source->state = state;
    return open_members(source, state);
}

/* Makes the bytes of a member's values available. */
static artel_status extract(artel__source *source, npz_member *member, const uint8_t **out)
{
    npz_state *state = source->state;
    if (member->content.bytes == NULL) ARTEL_TRY(artel__zip_extract(&state->zip, member->member, 0, &member->content));
    if (member->content.size != member->header.data_offset + member->header.data_bytes) {
        return artel__fail(source->ctx, ARTEL_ERROR_CORRUPT, member->where, "fetch or write the file again",
                           "%zu bytes (expected %zu)", member->content.size,
                           member->header.data_offset + member->header.data_bytes);
    }
    *out = member->content.bytes + member->header.data_offset;
    return ARTEL_OK;
}

static artel_status npz_load(artel__source *source, int index)
{
    artel__source_array *array = &source->arrays[index];
    npz_member *member = &((npz_state *)source->state)->members[array->item];
    const uint8_t *values = NULL;
    if (array->base != NULL) return ARTEL_OK;
    ARTEL_TRY(extract(source, member, &values));
    return artel__npy_place(source, &member->header, values, array);
}

static artel_status npz_load_text(artel__source *source, int index, const artel__string **out)
{
    npz_member *member = &((npz_state *)source->state)->members[source->arrays[index].item];
    const uint8_t *values = NULL;
    ARTEL_TRY(extract(source, member, &values));
    return artel__npy_strings(source, &member->header, values, out);
}

static void npz_close(artel__source *source)
{
    npz_state *state = source->state;
    for (int i = 0; state->members != NULL && i < source->array_count; i++)
        artel__zip_release(&state->zip, &state->members[i].content);
    artel__zip_close(&state->zip);
}

const artel__data_format artel__data_npz = {
    .name = "npz",
    .syntax = "npz:FILE[#x,y]",
    .options = "scale shift names",
    .open = npz_open,
    .load = npz_load,
    .load_text = npz_load_text,
    .close = npz_close,
};
