/* SPDX-License-Identifier: Apache-2.0 */
/* What the reader of patterns (pattern_parse.c) and that of their atoms (pattern_atom.c) share. */
#ifndef ARTEL_TEXT_PATTERN_PARSE_H
#define ARTEL_TEXT_PATTERN_PARSE_H

#include "text/pattern_impl.h"

typedef struct artel__pattern_flags {
    bool fold, lines, dot_all, lazy; /* i, m, s, U */
} artel__pattern_flags;

typedef struct artel__pattern_reader {
    artel_context *ctx;
    const char *where;
    artel__pattern *pattern;
    const char *text;
    size_t length, at;
    artel__pattern_flags flags;
    int depth;
    artel_status status; /* where a function returned false */
} artel__pattern_reader;

/* Both return false. */
bool artel__pattern_wrong(artel__pattern_reader *reader, artel_status status, size_t at, const char *what);
bool artel__pattern_memory(artel__pattern_reader *reader);

bool artel__pattern_emit(artel__pattern_reader *reader, artel__pattern_step_kind kind, int32_t a, int32_t b);
/* A character, an escape, a class or an assertion at `reader->at`. *start: where what may be repeated begins, the last
 * of quoted characters; *atom: there is such a thing. */
bool artel__pattern_atom(artel__pattern_reader *reader, int32_t *start, bool *atom);

#endif
