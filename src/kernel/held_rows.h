/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a table that are here, where the table is not: those that one batch reads, side by side.
 *
 * Which row is which says a hash table of twice as many places or more, so a look-up meets a free place soon. Its size
 * follows the rows that are held: neither filling it nor reading it depends on the size of the table that they are of.
 */
#ifndef ARTEL_KERNEL_HELD_ROWS_H
#define ARTEL_KERNEL_HELD_ROWS_H

#include <stdint.h>

typedef struct artel__held_place {
    int32_t token, at; /* row `at` of those that are held is row `token` of the table; token -1: the place is free */
} artel__held_place;

typedef struct artel__held_rows {
    const float *row;               /* [held][width]; NULL: the whole table is here */
    const artel__held_place *place; /* as many as a power of two, 2 or more */
    uint32_t mask, shift;           /* how many, less 1; 32 less the bits of that */
} artel__held_rows;

/* Where the search for a token begins. */
static inline uint32_t artel__held_first(uint32_t shift, int32_t token)
{
    return (uint32_t)token * 2654435769u >> shift; /* 2^32 over the golden ratio: Knuth, TAOCP 6.4 */
}

/* Which of the held rows it is; -1: none. */
static inline int32_t artel__held_find(const artel__held_rows *held, int32_t token)
{
    uint32_t i = artel__held_first(held->shift, token);
    while (held->place[i].token != token && held->place[i].token >= 0) i = (i + 1) & held->mask;
    return held->place[i].token == token ? held->place[i].at : -1;
}

#endif
