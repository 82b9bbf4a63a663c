/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for a file of rows where the file is not: FILE.index, of lines, tables that are streamed and records of
 * one size. (Records of TensorFlow have one with the place of each: record_file.h.)
 *
 * Its head (index_file.h) is of the kind "ARTELPI1". What follows is the text that FILE begins with, uncompressed, as
 * much of it as says what its columns or members are; the sum is that of the three numbers in front of it and of this.
 */
#ifndef ARTEL_DATA_PART_INDEX_H
#define ARTEL_DATA_PART_INDEX_H

#include "data/index_file.h"
#include "data/source.h"

typedef struct artel__part_index {
    artel__mapping mapping;
    artel__index_head head;
    const char *beginning;
    size_t length;
} artel__part_index;

/* *absent: the file is not here, and its index is: mapped, to be closed. Errors: CORRUPT (it is none, or cut off). */
artel_status artel__part_stand_in(artel_context *ctx, const char *path, artel__part_index *out, bool *absent);
void artel__part_index_close(artel__part_index *index);
bool artel__part_has_index(const char *path); /* of whatever kind */
/* Of a source bound `apart` the facts of the indexes of all its pieces, so that it is the same wherever they are; of
 * another the ends of its files. For formats with `part`. Errors: INVALID (a file without an index that fits, which it
 * names), NOT_FOUND (one that is not here, in a source that is whole). */
artel_status artel__parts_fingerprint(const artel__source *source, artel__sha256 *hash);
/* Writes the index beside a piece that is here. Errors: INVALID (it is on another machine), IO. */
artel_status artel__part_index_write(const artel__source *source, int part);
/* Says that a row of a file is wanted that is not here. */
artel_status artel__part_missing(const artel__source *source, const char *path);
/* The files of a target as artel__shards_find() has them; a pattern stands, too, for files of which only the index is
 * here. */
artel_status artel__parts_find(artel_context *ctx, const char *target, artel__paths *out);

#endif
