/* SPDX-License-Identifier: Apache-2.0 */
/* What every index beside a file has. See the header. */
#include "data/index_file.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "data/remote.h"

#define ENDS ((size_t)4 << 10)

const char artel__index_advice[] = "fetch it, or train where it lies: .auto_shard file of fit";

bool artel__index_name(const char *path, char out[ARTEL__INDEX_NAME])
{
    return snprintf(out, ARTEL__INDEX_NAME, "%s.index", path) < ARTEL__INDEX_NAME;
}

bool artel__index_find(const char *path, char out[ARTEL__INDEX_NAME])
{
    return !artel__is_remote(path) && artel__index_name(path, out) && artel__file_exists(out);
}

bool artel__index_take(const artel__mapping *index, const char kind[ARTEL__INDEX_KIND], artel__index_head *out)
{
    if (index->size < ARTEL__INDEX_HEAD || memcmp(index->bytes, kind, ARTEL__INDEX_KIND) != 0) return false;
    const uint8_t *at = index->bytes + ARTEL__INDEX_KIND;
    out->size = artel__bytes_take(&at, 8);
    out->rows = artel__bytes_take(&at, 8);
    out->ends = artel__bytes_take(&at, 8);
    out->sum = artel__bytes_take(&at, 8);
    return true;
}

void artel__index_put(uint8_t out[ARTEL__INDEX_HEAD], const char kind[ARTEL__INDEX_KIND], const artel__index_head *head)
{
    memcpy(out, kind, ARTEL__INDEX_KIND);
    uint8_t *at = artel__bytes_put(out + ARTEL__INDEX_KIND, head->size, 8);
    at = artel__bytes_put(at, head->rows, 8);
    at = artel__bytes_put(at, head->ends, 8);
    artel__bytes_put(at, head->sum, 8);
}

bool artel__index_fits(const artel__index_head *head, const uint8_t *bytes, size_t size)
{
    return head->size == size && head->ends == artel__sum_ends(bytes, size);
}

uint32_t artel__sum_ends(const uint8_t *bytes, size_t size)
{
    size_t count = size < ENDS ? size : ENDS;
    if (count == 0) return artel__crc32c(0, bytes, 0);
    return artel__crc32c(artel__crc32c(0, bytes, count), bytes + size - count, count);
}
