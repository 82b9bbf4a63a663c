/* SPDX-License-Identifier: Apache-2.0 */
/* Writing files of records, and examples to put into them.
 *
 * A file appears whole or not at all, with its index beside it where it is plain. The bytes are a function of the
 * records alone.
 */
#ifndef ARTEL_DATA_RECORD_WRITE_H
#define ARTEL_DATA_RECORD_WRITE_H

#include <zlib.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/features.h"

typedef enum artel__record_compression {
    ARTEL__RECORDS_PLAIN,
    ARTEL__RECORDS_GZIP,
    ARTEL__RECORDS_ZLIB
} artel__record_compression;

typedef struct artel__record_writer {
    artel_context *ctx;
    artel__output output;
    artel__record_compression compression;
    z_stream stream;
    artel__text pending; /* not compressed or written yet */
    artel__sha256 hash;  /* of the file */
    void *offsets;       /* uint64_t, on the heap; of plain files */
    int64_t count, room;
    uint64_t at;
    bool begun; /* compression has */
} artel__record_writer;

artel_status artel__record_writer_open(artel_context *ctx, const char *path, artel__record_compression compression,
                                       artel__record_writer *out);
artel_status artel__record_writer_add(artel__record_writer *writer, const void *bytes, size_t size);
/* Ends the file, writes its index if that is wanted (plain files only), and gives the SHA-256 of the file as hex
 * digits. */
artel_status artel__record_writer_commit(artel__record_writer *writer, bool index, char digest[65]);
/* Gives up what was not committed; frees. To be called in any case. */
void artel__record_writer_close(artel__record_writer *writer);

/* ---- examples (example_write.c) ---- */

/* Appends a feature to the features of an example being written. Values: float32, int64, one string of bytes, or
 * strings. */
void artel__example_add_floats(artel__text *features, const char *name, const float *values, int64_t count);
void artel__example_add_ints(artel__text *features, const char *name, const int64_t *values, int64_t count);
void artel__example_add_bytes(artel__text *features, const char *name, const void *bytes, size_t size);
void artel__example_add_strings(artel__text *features, const char *name, const artel__string *strings, int64_t count);
/* The whole example from its features. */
void artel__example_end(const artel__text *features, artel__text *out);

#endif
