/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers by the time they are alive, and their places in the order of time. */
#ifndef ARTEL_EXEC_CPU_LIFETIME_H
#define ARTEL_EXEC_CPU_LIFETIME_H

#include <stddef.h>
#include <stdint.h>

typedef struct artel__lifetime {
    int32_t value;
    int32_t from, to; /* actions, inclusive */
    size_t bytes, offset;
} artel__lifetime;

typedef struct artel__lifetime_gap {
    size_t begin, end;
} artel__lifetime_gap;

/* What placing needs: room for a pointer a buffer, and a gap a buffer and one more. */
typedef struct artel__lifetime_room {
    const artel__lifetime **list;
    artel__lifetime_gap *gap;
} artel__lifetime_room;

/* Gives each of `count` buffers an offset so that none that are alive at the same time overlap; returns the bytes
 * needed. Orders `life`. */
size_t artel__lifetime_place(artel__lifetime *life, int count, const artel__lifetime_room *room);

#endif
