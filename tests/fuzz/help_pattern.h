/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions by trying one way after the other, to compare text/pattern.h with: a tree is read from the
 * pattern, linked backwards into nodes that know what follows, and walked along the text. Sets are looked up in the
 * pattern's own characters. That is slow and plain, and shares nothing with the other but the decoder of UTF-8 and
 * RE2's rule that a node is not tried at one place twice, so that what repeats nothing ends. */
#ifndef ARTEL_TESTS_FUZZ_HELP_PATTERN_H
#define ARTEL_TESTS_FUZZ_HELP_PATTERN_H

#include "text/pattern.h"

typedef struct naive_pattern naive_pattern;

/* Of a well-formed pattern, whose characters are borrowed; NULL: it is too large. There is one at a time. */
naive_pattern *naive_read(const char *text, size_t length);
/* As artel__pattern_matches() and artel__pattern_find(), of texts of up to 96 bytes. */
bool naive_matches(naive_pattern *pattern, const char *text, size_t length);
bool naive_find(naive_pattern *pattern, const char *text, size_t length, size_t from, artel__match *out);

#endif
