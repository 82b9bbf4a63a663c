/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move strings, choose among them or put them in order: they are computed of numbers that stand for the
 * strings, of their places where they are only moved, of their ranks where they are compared (by bytes, which in UTF-8
 * is the order of code points). So they are those of numbers, with their settings, shapes and errors; who computes
 * these (arrays, functions) finds here which operations have strings, and the numbers. */
#ifndef ARTEL_TEXT_MOVED_H
#define ARTEL_TEXT_MOVED_H

#include "text/words.h"

typedef struct artel__moved {
    const char *name;
    uint32_t numbers; /* operands, by bit, that are numbers: a condition, places */
    bool order;       /* of ranks */
    bool strings;     /* the results are strings */
} artel__moved;

/* NULL: there is no such operation on strings. */
const artel__moved *artel__moved_find(const char *name);

/* All strings of a call, one array behind another. */
typedef struct artel__moved_words {
    artel_string *word;          /* by place */
    const artel_string **sorted; /* by rank */
    int64_t count;
} artel__moved_words;

/* Room for `count` strings, which follow; none yet. UNSUPPORTED: there are too many. */
artel_status artel__moved_begin(artel_context *ctx, size_t count, artel__moved_words *out);
void artel__moved_end(artel_context *ctx, artel__moved_words *words);
/* The number of each: equal ones have the same rank, which is the first of their places among the sorted. */
void artel__moved_number(const artel__moved *moved, artel__moved_words *words, int32_t *number);
/* The strings that `count` numbers stand for, borrowed. UNSUPPORTED: one is no string of the operands. */
artel_status artel__moved_strings(artel_context *ctx, const artel__moved *moved, const artel__moved_words *words,
                                  const int32_t *number, int64_t count, artel_string *out);

#endif
