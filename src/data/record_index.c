/* SPDX-License-Identifier: Apache-2.0 */
/* The index beside a file of records: opening a large set then costs nothing but mapping.
 *
 * Offsets are used where they are mapped. The index is held against the size of the file and a checksum of its ends, so
 * that one of another file is not taken; a record that does not begin where the index says fails by the checksum of its
 * length when it is read.
 */
#include "base/bytes.h"
#include "data/index_file.h"
#include "data/record_file.h"

static const char kind[ARTEL__INDEX_KIND] = {'A', 'R', 'T', 'E', 'L', 'R', 'I', '1'};

artel_status artel__record_index_write(artel_context *ctx, const artel__record_file *file)
{
    char path[ARTEL__INDEX_NAME];
    uint8_t bytes[ARTEL__INDEX_HEAD], chunk[4096];
    uint32_t sum = 0;
    artel__output out;
    if (!artel__index_name(file->path, path))
        return artel__fail(ctx, ARTEL_ERROR_INVALID, file->path, "use a shorter path",
                           "the name of its index would be too long");
    for (int64_t i = 0; i < file->count; i++) {
        uint8_t one[8];
        artel__bytes_put(one, file->offsets[i], 8);
        sum = artel__crc32c(sum, one, sizeof one);
    }
    artel__index_head head = {file->size, (uint64_t)file->count, artel__sum_ends(file->bytes, file->size), sum};
    artel__index_put(bytes, kind, &head);
    ARTEL_TRY(artel__output_open(ctx, path, &out));
    artel_status status = artel__output_write(&out, bytes, sizeof bytes);
    for (int64_t i = 0; i < file->count && status == ARTEL_OK;) {
        uint8_t *end = chunk;
        for (; end < chunk + sizeof chunk && i < file->count; i++) end = artel__bytes_put(end, file->offsets[i], 8);
        status = artel__output_write(&out, chunk, (size_t)(end - chunk));
    }
    if (status == ARTEL_OK) return artel__output_commit(&out);
    artel__output_abandon(&out);
    return status;
}

/* NULL, or why the mapped index is not one of the file, which may be absent. */
static const char *unfit(const artel__record_file *file)
{
    artel__index_head head;
    if (!artel__index_take(&file->index, kind, &head)) return "it is no index of records";
    if (!file->absent && !artel__index_fits(&head, file->bytes, file->size)) return "the file has changed since";
    if (head.rows > head.size / ARTEL__RECORD_FRAME || file->index.size != ARTEL__INDEX_HEAD + 8 * head.rows)
        return "it is cut off";
    bool whole = artel__crc32c(0, file->index.bytes + ARTEL__INDEX_HEAD, 8 * (size_t)head.rows) == head.sum;
    return whole ? NULL : "its checksum is wrong";
}

static void use_offsets(artel__record_file *file)
{
    file->offsets = (const uint64_t *)(const void *)(file->index.bytes + ARTEL__INDEX_HEAD);
    file->count = (int64_t)((file->index.size - ARTEL__INDEX_HEAD) / 8);
}

artel_status artel__record_index_stand_in(artel_context *ctx, const char *path, artel__record_file *out, bool *found)
{
    char index[ARTEL__INDEX_NAME];
    *found = !artel__file_exists(path) && artel__index_find(path, index);
    if (!*found) return ARTEL_OK;
    *out = (artel__record_file){.path = path, .absent = true};
    ARTEL_TRY(artel__map_file(ctx, index, &out->index));
    const char *why = unfit(out);
    if (why != NULL) {
        artel__unmap_file(&out->index);
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, index, "copy it again from where the file is",
                           "%s, and the file is not here", why);
    }
    use_offsets(out);
    return ARTEL_OK;
}

artel_status artel__record_index_facts(artel_context *ctx, const artel__record_file *file, uint64_t out[3])
{
    if (file->index.bytes == NULL)
        return artel__fail(
            ctx, ARTEL_ERROR_INVALID, file->path,
            "artel data index makes one; every task needs those of all files (of files that are not compressed)",
            ".auto_shard file goes by the index beside each file, and this one has none that fits");
    artel__index_head head = {0};
    artel__index_take(&file->index, kind, &head); /* it was taken before */
    out[0] = head.size;
    out[1] = head.ends;
    out[2] = head.sum;
    return ARTEL_OK;
}

bool artel__record_index_read(artel_context *ctx, artel__record_file *file)
{
    char path[ARTEL__INDEX_NAME];
    if (!artel__index_find(file->path, path)) return false;
    if (artel__map_file(ctx, path, &file->index) < 0) {
        artel__operation_begin(ctx);
        return false;
    }
    const char *why = unfit(file);
    if (why == NULL) {
        use_offsets(file);
        return true;
    }
    artel__log(ctx, ARTEL_LOG_NOTE, "%s: the index is not used: %s; artel data index %s makes it again", path, why,
               file->path);
    artel__unmap_file(&file->index);
    file->index = (artel__mapping){NULL, 0};
    return false;
}
