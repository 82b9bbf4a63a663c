/* SPDX-License-Identifier: Apache-2.0 */
/* A vocabulary: the place of each of many words or integers, found in constant time. Filled once, then read-only. */
#ifndef ARTEL_TEXT_TABLE_H
#define ARTEL_TEXT_TABLE_H

#include "base/arena.h"
#include "text/row_function.h"

typedef struct artel__table {
    bool strings;
    artel__string *word; /* by place; integers: NULL */
    int64_t *integer;    /* by place; words: NULL */
    int64_t count;
    int32_t *slot; /* 1 + place, 0: free; `slots` of them, a power of two */
    uint64_t slots;
} artel__table;

/* Makes the index of `count` words or integers, which are borrowed. *repeated is the place of one that is there twice,
 * -1 when none is: then the first of them is found. */
artel_status artel__table_words(artel__arena *arena, artel__string *words, int64_t count, artel__table *out,
                                int64_t *repeated);
artel_status artel__table_integers(artel__arena *arena, int64_t *integers, int64_t count, artel__table *out,
                                   int64_t *repeated);

/* The place, or -1. */
int64_t artel__table_find_word(const artel__table *table, const char *bytes, size_t length);
int64_t artel__table_find_integer(const artel__table *table, int64_t integer);

#endif
