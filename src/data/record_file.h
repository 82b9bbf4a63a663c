/* SPDX-License-Identifier: Apache-2.0 */
/* Files of records as TensorFlow writes them (TFRecord): framing, compression, and where each record begins.
 *
 * A record is its length (8 bytes, little-endian), the masked CRC-32C of those, the payload, the masked CRC-32C of the
 * payload. The whole stream may lie in one gzip or zlib stream; which it is is told by content. Opening finds the
 * beginning of every record, in an index beside the file (FILE.index) where there is one that fits, else by walking
 * from length to length; after that any record is read on its own, both checksums verified each time.
 */
#ifndef ARTEL_DATA_RECORD_FILE_H
#define ARTEL_DATA_RECORD_FILE_H

#include "base/pages.h"
#include "base/protobuf.h"
#include "data/source.h"

#define ARTEL__RECORD_HEAD 12  /* bytes in front of a payload */
#define ARTEL__RECORD_FRAME 16 /* bytes around a payload */

/* Bytes being walked, record by record. */
typedef struct artel__record_walk {
    const uint8_t *bytes;
    size_t size, at;          /* `at`: the record to come */
    const artel_context *ctx; /* looking for a record ends when it is cancelled; may be NULL */
    artel__unfold
        *unfold; /* where they lie in a compressed file: instead of `bytes` and, until the end is reached, `size` */
    artel_status status; /* of a walk that failed */
} artel__record_walk;

typedef enum artel__record_fault {
    ARTEL__RECORD_GOOD,
    ARTEL__RECORD_END,         /* the bytes end where a record would begin */
    ARTEL__RECORD_SHORT,       /* they end within a record */
    ARTEL__RECORD_BAD_LENGTH,  /* the checksum of the length is wrong: nothing is known of what follows */
    ARTEL__RECORD_BAD_PAYLOAD, /* that of the payload is wrong: the next record begins behind it all the same */
    ARTEL__RECORD_FAILED, /* the bytes cannot be had: walk->status; the compressed file is damaged here, and nothing
                             follows */
} artel__record_fault;

/* What a fault is, for messages. */
const char *artel__record_fault_text(artel__record_fault fault);

/* The record at walk->at, and goes behind it where its length is known. `payload`: with or without its checksum being
 * verified; of a compressed file nothing. */
artel__record_fault artel__record_step(artel__record_walk *walk, bool verify, artel__proto *payload);
/* Moves on, from behind walk->at, to the next place where a record seems to begin (the checksum of its length is right,
 * and it ends within the bytes); false when there is none, or when looking was cancelled. */
bool artel__record_resync(artel__record_walk *walk);

typedef struct artel__record_file {
    const char *path;
    artel__blob *blob;
    const uint8_t *bytes;    /* NULL: compressed */
    size_t size;             /* of the content; of a compressed file, once its records have been found */
    artel__unfold *unfold;   /* of a compressed file */
    const uint64_t *offsets; /* of records, as many as `count` */
    int64_t count;
    artel__mapping index; /* where offsets lie, or nothing */
    void *found;          /* where they lie otherwise; on the heap */
    bool compressed;
    bool absent;         /* another task's: known by its index alone, and without bytes */
    artel__pages *pages; /* of a file that memory does not hold; NULL: it does */
} artel__record_file;

/* Maps a file, without looking for records. */
artel_status artel__record_file_map(artel__source *source, const char *path, artel__record_file *out);
/* A walk from its beginning. */
artel__record_walk artel__record_file_walk(const artel__record_file *file, const artel_context *ctx);
/* Finds the records of a mapped file. With `skip` damaged ones are left out and counted down in *skip; when that
 * reaches 0, and without it, they are an error that names file, record and byte. */
artel_status artel__record_file_find(artel_context *ctx, artel__record_file *file, int64_t *skip);
/* Frees what finding took; the blob is the source's. */
void artel__record_file_close(artel_context *ctx, artel__record_file *file);

/* The payload of a record, both checksums verified: in the file, or in the room until that is used again. Thread-safe.
 */
artel_status artel__record_file_at(artel_context *ctx, const artel__record_file *file, int64_t row,
                                   artel__unfold_room *room, artel__proto *out);

/* The files of a source of records (borrowed), or none. */
const artel__record_file *artel__tfrecord_files(const artel__source *source, int *count);

/* ---- record_index.c ---- */

/* FILE.index: a head (index_file.h) of the kind "ARTELRI1" with a checksum of what follows, the offsets, little-endian,
 * 8 bytes each. */
artel_status artel__record_index_write(artel_context *ctx, const artel__record_file *file);
/* A file that is not here, by the index that is: false when there is none. Errors: CORRUPT when it is damaged. */
artel_status artel__record_index_stand_in(artel_context *ctx, const char *path, artel__record_file *out, bool *found);
/* What an index says of its file, wherever that lies: size, checksum of its ends, of the offsets. INVALID when none is
 * in use. */
artel_status artel__record_index_facts(artel_context *ctx, const artel__record_file *file, uint64_t out[3]);
/* Uses the index beside the file: true when there is one that fits the file; a note is logged about one that does not.
 */
bool artel__record_index_read(artel_context *ctx, artel__record_file *file);

/* ---- shards.c ---- */

/* The files that a target names: a pattern; a list; NAME@N or NAME@* for NAME-00000-of-0000N and so on, all of them; a
 * name that is no file but the beginning of such. A file of a set or a list may be absent where its index is not.
 * Errors: NOT_FOUND (names the shard that is missing, or the pattern). */
artel_status artel__shards_find(artel_context *ctx, const char *target, artel__paths *out);
/* Whether a file that `target` has found only lies beside records: an index, a feature specification, checksums. What
 * `target` names by its very name is meant. */
bool artel__is_beside_records(const char *target, const char *path);
/* NAME of NAME-00003-of-00016, for files that lie beside the shards; any other name as it is. Copies into `buffer`;
 * NULL: too long. */
const char *artel__shards_base(const char *path, char *buffer, size_t size);

#endif
