/* SPDX-License-Identifier: Apache-2.0 */
/* artel data: options, actions and what they share. */
#ifndef ARTEL_CLI_DATA_H
#define ARTEL_CLI_DATA_H

#include "cli/cli.h"
#include "data/rows.h"

typedef struct artel__data_command {
    const char *output, *fractions, *names;
    int compression; /* artel__record_compression */
    int64_t shards, seed, bins, rows;
    bool index, shuffle, json;
} artel__data_command;

/* Data opened for reading rows. */
typedef struct artel__data_opened {
    artel_data *data;
    artel__rows rows;
    void *row; /* room for a row of all columns, or of one */
} artel__data_opened;

/* The text, or a bare file as one of records; NULL: no memory. */
const char *artel__data_specification(artel__invocation *call, const char *text);
/* Opens a specification; a bare file is taken for records. `texts`: columns of text, too (data/rows.h). */
artel_status artel__data_open_rows(artel__invocation *call, const char *text, bool texts, artel__data_opened *out);
void artel__data_close_rows(artel__invocation *call, artel__data_opened *opened);

artel_status artel__data_make(artel__invocation *call);
artel_status artel__data_split(artel__invocation *call);
artel_status artel__data_index(artel__invocation *call);
artel_status artel__data_inspect(artel__invocation *call);
artel_status artel__data_verify(artel__invocation *call);
artel_status artel__data_stats(artel__invocation *call);
artel_status artel__data_bench(artel__invocation *call);

#endif
