/* SPDX-License-Identifier: Apache-2.0 */
/* A program on rows in the caller's memory: where no feed fetches them. */
#ifndef ARTEL_TEXT_PROGRAM_ROWS_H
#define ARTEL_TEXT_PROGRAM_ROWS_H

#include "text/program.h"

typedef struct artel__program_rows {
    const artel__program *program;
    artel__cells *values; /* by value, as they were inferred; their data is written over */
    void **base;          /* by value: where its row 0 lies, in its element type; NULL, of a step: in `block` */
    void *block;          /* room for a row of these: artel__program_block */
    const char **name;    /* by input, for messages */
    artel__row_scratch scratch;
} artel__program_rows;

/* INVALID, of a row of `where`: a string has no bytes, or is no UTF-8. */
artel_status artel__program_check_text(artel_context *ctx, const char *where, const artel__string *word, int64_t row);
size_t artel__program_block(const artel__program_rows *rows);
/* Computes rows 0 to `count` - 1. ARTEL_ERROR_INVALID, with a record that names the row: an input is no UTF-8, or holds
 * what a step cannot take. */
artel_status artel__program_run_rows(artel__program_rows *rows, int64_t count);

#endif
