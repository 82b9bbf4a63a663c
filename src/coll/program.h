/* SPDX-License-Identifier: Apache-2.0 */
/* The merge program of a layout, carried out on a block of elements: from the leaves to the root. */
#ifndef ARTEL_COLL_PROGRAM_H
#define ARTEL_COLL_PROGRAM_H

#include "coll/merge.h"
#include "coll/pattern/layout.h"

/* Where element 0 of a node lies; only read. */
typedef const char *artel__coll_operand_fn(const void *user, int32_t node);

typedef struct artel__coll_program {
    const artel__coll_layout *layout;
    artel__coll_merge_fn *merge;
    artel__coll_operand_fn *operand;
    const void *user;
    int64_t element;    /* bytes */
    char *stack;        /* layout->places of place_bytes each: what lies between leaves and root */
    size_t place_bytes; /* room for the longest block */
    char *out;          /* where element 0 of the root would lie. It is written last, so with sums it may be a node's */
} artel__coll_program;

/* Elements [first, first + count). */
void artel__coll_program_run(const artel__coll_program *program, int64_t first, int64_t count);

#endif
