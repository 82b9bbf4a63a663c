/* SPDX-License-Identifier: Apache-2.0 */
/* Records and fields of delimited text, after RFC 4180. */
#ifndef ARTEL_DATA_CSV_READER_H
#define ARTEL_DATA_CSV_READER_H

#include "base/text.h"

typedef struct artel__csv_reader {
    artel_context *ctx;
    const char *path; /* for messages */
    const char *at, *end;
    char delimiter;
    int64_t line; /* of the record being read, from 1 */
    int64_t next_line;
    int64_t column; /* of the field last read, from 1 */
    bool apart; /* the text is one record of a file, `record` from 0 on, at `offset`: messages say that, and no line */
    int64_t record;
    uint64_t offset;
    bool in_record;       /* fields of the record are left */
    artel__text unquoted; /* of the last field that had doubled quotes */
} artel__csv_reader;

/* A field: a piece of the file, or of the reader until the next field is read. Not NUL-terminated. */
typedef struct artel__csv_field {
    const char *text;
    size_t length;
    bool quoted;
} artel__csv_field;

/* The bytes must outlive the reader. A byte order mark is passed over. */
void artel__csv_init(artel__csv_reader *reader, artel_context *ctx, const char *path, const void *bytes, size_t size,
                     char delimiter);
void artel__csv_fini(artel__csv_reader *reader);

/* Goes to the next record; empty lines are passed over. False at the end of the file. */
bool artel__csv_next_record(artel__csv_reader *reader);
/* The next field of the record. ARTEL_AGAIN when there is none; ARTEL_ERROR_CORRUPT for misplaced or open quotes. */
artel_status artel__csv_next_field(artel__csv_reader *reader, artel__csv_field *out);

/* What a field is as a number, blanks around it left out. */
typedef enum artel__csv_kind {
    ARTEL__CSV_EMPTY,
    ARTEL__CSV_INTEGER,
    ARTEL__CSV_FLOAT,
    ARTEL__CSV_TEXT
} artel__csv_kind;

/* Fills *integer for integers and *number for floats (nan and inf included). */
artel__csv_kind artel__csv_classify(const artel__csv_field *field, int64_t *integer, double *number);

#endif
