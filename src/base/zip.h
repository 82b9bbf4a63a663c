/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives: the container of `.keras` and `.npz`, read from memory and written whole or not at all.
 *
 * Only what those files use: members stored or deflated, zip64, data descriptors, bytes in front of the archive.
 * An archive is hostile until proven otherwise: every offset is checked against the bytes that are there, members must
 * not overlap, local and central headers must agree, the CRC-32 is always verified, and declared sizes are held against
 * what deflate can produce before memory is taken. A plain directory is read through the same functions.
 * Format: PKWARE APPNOTE 6.3.10. Not thread-safe.
 */
#ifndef ARTEL_BASE_ZIP_H
#define ARTEL_BASE_ZIP_H

#include "base/arena.h"
#include "base/file.h"

/* Past this size a member (and all extracted members together) must not be larger than 100 times what is stored.
 * Keras draws the same line at 4 GiB; unpacking that much would take longer than a refusal may. */
#define ARTEL__ZIP_FREE_SIZE ((uint64_t)1 << 30)
#define ARTEL__ZIP_MAX_RATIO 100u

typedef struct artel__zip_member {
    const char *name;       /* as in the file; directories end in '/' */
    uint64_t size;          /* of the content */
    uint64_t stored_size;   /* of what lies in the archive */
    uint64_t header_offset; /* of the local header */
    uint64_t data_offset;   /* of the stored bytes */
    uint32_t crc;
    uint16_t method; /* 0 stored, 8 deflated */
} artel__zip_member;

typedef struct artel__zip {
    artel_context *ctx;
    artel__arena arena;
    const char *where;    /* for messages */
    const uint8_t *bytes; /* of the archive; NULL for a directory */
    size_t size;
    artel__mapping mapping; /* when the archive was opened by path */
    bool is_directory;
    artel__zip_member *members; /* in the order of the central directory; of names that occur twice the last counts */
    size_t count;
    uint64_t extracted; /* bytes of content handed out so far */
} artel__zip;

/* Opens the file or directory `path`. Errors: NOT_FOUND, IO, CORRUPT (not a zip archive, truncated, inconsistent),
 * UNSUPPORTED (encrypted, split over disks). */
artel_status artel__zip_open(artel_context *ctx, const char *path, artel__zip *out);
/* The same for bytes in memory, which must outlive the archive. */
artel_status artel__zip_open_bytes(artel_context *ctx, const char *where, const void *bytes, size_t size,
                                   artel__zip *out);
/* Also valid on a zeroed struct. */
void artel__zip_close(artel__zip *zip);

/* The member of that name, or NULL. */
const artel__zip_member *artel__zip_find(const artel__zip *zip, const char *name);

/* The content of a member: borrowed from the archive where it is stored as it is, else memory of its own. */
typedef struct artel__zip_content {
    const uint8_t *bytes; /* not NULL, not NUL-terminated, not aligned */
    size_t size;
    void *heap;
    artel__mapping mapping;
} artel__zip_content;

/* Refuses content of more than `limit` bytes (0: no limit but the archive's own). Errors: CORRUPT, UNSUPPORTED
 * (compression method), NO_MEMORY. The content must be released before the archive is closed. */
artel_status artel__zip_extract(artel__zip *zip, const artel__zip_member *member, uint64_t limit,
                                artel__zip_content *out);
void artel__zip_release(artel__zip *zip, artel__zip_content *content);

/* An archive being written: members stored, in the order of the calls, as Python's zipfile does. The same calls give
 * the same bytes. */
typedef struct artel__zip_writer {
    artel__output output;
    artel__arena arena;
    struct artel__zip_entry *first, *last;
    uint64_t count;
    uint16_t date, time; /* in DOS form, for all members; 1980-01-01 00:00 unless set after create */
} artel__zip_writer;

artel_status artel__zip_create(artel_context *ctx, const char *path, artel__zip_writer *out);
artel_status artel__zip_add(artel__zip_writer *writer, const char *name, const void *bytes, size_t size);
/* Writes the directory and renames the file into place; the writer is finished in any case. */
artel_status artel__zip_commit(artel__zip_writer *writer);
/* Leaves no file behind; after a commit it does nothing. */
void artel__zip_abandon(artel__zip_writer *writer);

#endif
