/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions in the syntax of RE2 (https://github.com/google/re2/wiki/Syntax), which tf.strings takes: of
 * two matches the one that begins first, of those the one that comes first in the order of alternatives.
 *
 * A pattern is a program for Pike's machine (R. Cox, "Regular Expression Matching: the Virtual Machine Approach",
 * 2009): all alternatives go along the text together, so the time of one match is at most that of the text's length
 * times the pattern's, whatever both hold, and a run takes no memory. Texts are well-formed UTF-8, characters are code
 * points.
 *
 * Not here: classes of Unicode (\p, \pN), upper and lower case beyond ASCII under (?i), single bytes (\C): UNSUPPORTED.
 */
#ifndef ARTEL_TEXT_PATTERN_H
#define ARTEL_TEXT_PATTERN_H

#include "base/context.h"

typedef struct artel__pattern artel__pattern;

enum {
    ARTEL__PATTERN_GROUPS = 10 /* places that are told: of the match and of its first nine groups */
};

typedef struct artel__match {
    size_t begin[ARTEL__PATTERN_GROUPS], end[ARTEL__PATTERN_GROUPS]; /* bytes; SIZE_MAX: not in the match */
} artel__match;

/* INVALID, UNSUPPORTED: with the place, in bytes, and what is wrong with it. A pattern belongs to one thread. */
artel_status artel__pattern_create(artel_context *ctx, const char *where, const char *text, size_t length,
                                   artel__pattern **out);
void artel__pattern_destroy(artel_context *ctx, artel__pattern *pattern);
/* How many groups in parentheses it has. */
int artel__pattern_groups(const artel__pattern *pattern);
/* Is the whole text one match? */
bool artel__pattern_matches(artel__pattern *pattern, const char *text, size_t length);
/* The first match at byte `from` or behind it; false: there is none. What is before `from` counts for ^ and \b. */
bool artel__pattern_find(artel__pattern *pattern, const char *text, size_t length, size_t from, artel__match *out);

#endif
