/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as Python writes and reads it, on top of jansson.
 *
 * Python's json module writes NaN, Infinity and -Infinity, which no strict parser accepts. They are read into string
 * values that no ordinary text contains ("\u0001NaN"), so that a document survives reading and writing; use
 * artel__json_number() for every number that may be one of them. Integers beyond 64 bits become reals, reals beyond
 * double become infinite, and of keys that occur twice the last counts, all as in Python.
 * Objects keep the order of their keys.
 */
#ifndef ARTEL_BASE_JSON_H
#define ARTEL_BASE_JSON_H

#include <jansson.h>

#include "base/text.h"

#define ARTEL__JSON_MAX_SIZE ((size_t)256 << 20)
#define ARTEL__JSON_MAX_DEPTH 512

/* Parses `size` bytes (no NUL needed) holding one value of any kind; the caller owns *out (json_decref). `where` names
 * the file or option in messages, which give line and column. Errors: CORRUPT, NO_MEMORY. */
artel_status artel__json_load(artel_context *ctx, const char *where, const char *text, size_t size, json_t **out);
/* The same for a file of at most ARTEL__JSON_MAX_SIZE bytes. */
artel_status artel__json_load_file(artel_context *ctx, const char *path, json_t **out);
/* A value that this program itself spells. Errors: NO_MEMORY. */
artel_status artel__json_literal(const char *text, json_t **out);

enum {
    ARTEL__JSON_PYTHON = 0,       /* json.dumps(value): ", " and ": ", everything beyond ASCII as \uXXXX */
    ARTEL__JSON_SORTED = 1 << 0,  /* keys in byte order; with COMPACT this is the canonical form that is hashed */
    ARTEL__JSON_COMPACT = 1 << 1, /* "," and ":" */
    ARTEL__JSON_INDENT = 1 << 2,  /* json.dumps(value, indent=2) */
    ARTEL__JSON_UTF8 = 1 << 3     /* text beyond ASCII as it is */
};

/* Appends the value to `out`. Errors: INVALID (nested deeper than ARTEL__JSON_MAX_DEPTH), NO_MEMORY. */
artel_status artel__json_dump(const json_t *value, unsigned flags, artel__text *out);
/* The text of a value as a string on the context's heap. */
artel_status artel__json_dump_string(artel_context *ctx, const json_t *value, unsigned flags, char **out);

/* A number of any kind, NaN and infinities included; false for everything else (true and false are no numbers). */
bool artel__json_number(const json_t *value, double *out);
/* An integer, or a real with an integral value that fits; false for everything else. */
bool artel__json_integer(const json_t *value, int64_t *out);
/* A copy of a value, whose members are shared, or copied as well; NULL when memory is out. (jansson's own copies then
 * lack members and say nothing: a setting would be missing.) Of NULL: NULL. */
json_t *artel__json_copy(json_t *value);
json_t *artel__json_copy_deep(json_t *value);
/* A new value for any double; the caller owns it, NULL when memory is out. */
json_t *artel__json_real(double number);

/* Python's repr(float): the shortest digits that read back as the same value ("0.1", "1e-05", "3.0", "nan" as NaN).
 * Returns `buffer`; at least 32 bytes. */
char *artel__json_format(char *buffer, size_t size, double number);

#endif
