/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in front of a table's records: the names of its columns, in each of its files. */
#ifndef ARTEL_DATA_CSV_HEAD_H
#define ARTEL_DATA_CSV_HEAD_H

#include "data/csv_reader.h"
#include "data/source.h"

typedef struct artel__csv_name {
    const char *text;    /* of its own: the second of two columns a is a.1 */
    const char *written; /* the same but that several columns may have it */
    bool unnamed;        /* the header leaves it empty */
} artel__csv_name;

/* Starts cleared; the first file with a record settles it. */
typedef struct artel__csv_head {
    artel__csv_name *names; /* by column; 0, 1, ... where the files have none */
    int64_t columns;        /* 0: not settled yet */
    bool given;             /* the files begin with names */
} artel__csv_head;

/* Reads the head of a file with a fresh reader, which stands before the first record then. Lines in front that begin
 * with # are passed over, with a note. ARTEL_AGAIN: there is no record, and an empty file adds nothing. Errors:
 * UNSUPPORTED for UTF-16; INVALID when a later file has other columns than the first. */
artel_status artel__csv_head_read(artel__source *source, artel__csv_reader *reader, artel__csv_head *head);
/* The part of that which looks at the first bytes of a file: UNSUPPORTED for what is no UTF-8 text. */
artel_status artel__csv_check_text(artel_context *ctx, const char *path, const void *text, size_t size);
/* The column of that name; NOT_FOUND says which there are. INVALID when the header has it for several. */
artel_status artel__csv_head_find(const artel__source *source, const artel__csv_head *head, const char *name,
                                  int64_t *out);
/* What helps where lines have other numbers of fields than the first, which may be split by another character. */
void artel__csv_head_advise(const artel__csv_head *head, char *out, size_t size);
/* Whether a column is no input unless it is named: pandas' index (`counts`: it holds 0, 1, 2, ...), with a note, and
 * what stands behind a delimiter at the end of the lines (`any`: it holds something). */
bool artel__csv_head_leaves_out(const artel__source *source, const artel__csv_head *head, int64_t column, bool counts,
                                bool any);
/* Whether a field is what a delimiter at the end of a line leaves. */
bool artel__csv_is_blank(const artel__csv_field *field);

#endif
