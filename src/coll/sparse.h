/* SPDX-License-Identifier: Apache-2.0 */
/* Rows with ids: those of equal id become one. Without I/O: the sparse all-reduce is a gather and this.
 *
 * A row that a part does not have counts as zeros, so the result is, to the bit, what the dense reduction of arrays
 * that are zero elsewhere gives for these rows (coll/combine.h).
 */
#ifndef ARTEL_COLL_SPARSE_H
#define ARTEL_COLL_SPARSE_H

#include "coll/combine.h"
#include "coll/task.h"

/* Parts one behind the other: part p holds rows start[p] .. start[p + 1] - 1. */
typedef struct artel__sparse_rows {
    artel_dtype dtype;
    artel_reduction reduction; /* sum or mean */
    int64_t width;             /* elements of a row */
    int32_t parts;        /* 0: a single one whose repeated ids are summed, along the tree over their occurrences */
    const int64_t *start; /* [parts + 1]; of a single one: {0, count} */
    const int64_t *id;    /* parts >= 1: each at most once in a part */
    const void *row;
} artel__sparse_rows;

/* Memory that is kept from call to call; zeroed at first. */
typedef struct artel__sparse_room {
    artel__coll_buffer order, operands, scratch, zeros, ids, rows;
} artel__sparse_room;

/* Ids in ascending order, each once, and their rows: `out` points into `room`. In compute state. */
typedef struct artel__sparse_result {
    int64_t count;
    const int64_t *id;
    const void *row;
} artel__sparse_result;
artel_status artel__sparse_combine(artel_context *ctx, const artel__sparse_rows *rows, artel__sparse_room *room,
                                   artel__sparse_result *out);
void artel__sparse_room_fini(artel_context *ctx, artel__sparse_room *room);

#endif
