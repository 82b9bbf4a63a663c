/* SPDX-License-Identifier: Apache-2.0 */
/* A number for each of many names, found in constant time. */
#ifndef ARTEL_BASE_NAMES_H
#define ARTEL_BASE_NAMES_H

#include "base/arena.h"

/* Zero it, with the arena that its table is taken from. Names are borrowed. */
typedef struct artel__names {
    artel__arena *arena;
    struct artel__names_entry {
        const char *name; /* NULL: free */
        int number;
    } * entry;
    int count, capacity; /* capacity: a power of two, at least twice the count */
} artel__names;

/* Where the name's number is; NULL when there is none. Valid until the next set. */
int *artel__names_find(const artel__names *names, const char *name);
/* Sets the number of a name, new or not. */
artel_status artel__names_set(artel__names *names, const char *name, int number);

#endif
