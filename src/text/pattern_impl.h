/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of patterns: the program that pattern_parse.c writes, with the sets of pattern_set.c, and pattern_run.c
 * runs. */
#ifndef ARTEL_TEXT_PATTERN_IMPL_H
#define ARTEL_TEXT_PATTERN_IMPL_H

#include "text/pattern.h"

enum {
    ARTEL__PATTERN_LAST = 0x10FFFF, /* of the code points */
    ARTEL__PATTERN_STEPS = 1 << 17, /* most in a program */
    ARTEL__PATTERN_REPEATS = 1000,  /* most of one atom, also of those around it together, as in RE2 */
    ARTEL__PATTERN_DEPTH = 1000     /* most parentheses in one another */
};

typedef enum artel__pattern_step_kind {
    ARTEL__STEP_SET,    /* a character of ranges `a` to `a` + `b` - 1 */
    ARTEL__STEP_SPLIT,  /* `a` steps on, or else `b` */
    ARTEL__STEP_JUMP,   /* `a` steps on */
    ARTEL__STEP_SAVE,   /* the place is slot `a`: 2 g and 2 g + 1 of group g */
    ARTEL__STEP_ASSERT, /* `a`: an artel__assertion */
    ARTEL__STEP_MATCH
} artel__pattern_step_kind;

typedef enum artel__assertion {
    ARTEL__BEGIN_TEXT,
    ARTEL__END_TEXT,
    ARTEL__BEGIN_LINE,
    ARTEL__END_LINE,
    ARTEL__WORD_BOUNDARY,
    ARTEL__NO_WORD_BOUNDARY
} artel__assertion;

/* Steps to others are relative, so that pieces of a program can be moved and copied. */
typedef struct artel__pattern_step {
    artel__pattern_step_kind kind;
    int32_t a, b;
} artel__pattern_step;

typedef struct artel__pattern_range {
    int32_t low, high;
} artel__pattern_range;

/* An array that grows: of ranges or of steps. */
typedef struct artel__grown {
    void *block;
    int32_t count, room;
} artel__grown;

/* The alternatives at one place of the text, best first. */
typedef struct artel__threads {
    int32_t count;
    int32_t *step;
    size_t *slot;   /* of each, pattern->slots */
    uint64_t *mark; /* by step: the turn in which it came in */
} artel__threads;

typedef struct artel__todo {
    int32_t step; /* -1: slot `slot` is `value` again */
    int32_t slot;
    size_t value;
} artel__todo;

struct artel__pattern {
    artel__grown steps, ranges;
    int groups;
    int32_t slots; /* that a thread carries */
    uint64_t turn;
    artel__threads threads[2];
    artel__todo *todo;
    void *memory; /* of the threads */
};

/* A letter, a digit or "_": what \w means, and what names of groups are of. */
static inline bool artel__pattern_is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

/* pattern_set.c. A set is ranges that lie behind one another in `ranges`, from `first` on; these make more of it.
 * `fold`: and the characters that differ in case alone; false: memory. */
bool artel__set_add(artel_context *ctx, artel__grown *ranges, int32_t low, int32_t high, bool fold);
/* Sorted, without overlaps; what is not in it instead. */
void artel__set_tidy(artel__grown *ranges, int32_t first);
bool artel__set_negate(artel_context *ctx, artel__grown *ranges, int32_t first);
/* A class by name: "alpha" of [:alpha:], or "d", "s", "w". 1: added, 0: no such class, -1: memory. */
int artel__set_class(artel_context *ctx, artel__grown *ranges, const char *name, size_t length, bool negated,
                     bool fold);
/* Room for one more of `size` bytes; NULL: memory. */
void *artel__grow(artel_context *ctx, artel__grown *array, size_t size);

#endif
