/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text, and small helpers on strings. A text remembers a failed growth; check artel__text_status once at
 * the end. Not thread-safe. */
#ifndef ARTEL_BASE_TEXT_H
#define ARTEL_BASE_TEXT_H

#include <stdio.h>

#include "base/context.h"

typedef struct artel__text {
    artel_context *ctx;
    char *data; /* NUL-terminated; never NULL after init, even when empty */
    size_t length, capacity;
    bool failed;
} artel__text;

void artel__text_init(artel__text *text, artel_context *ctx);
void artel__text_fini(artel__text *text);
void artel__text_clear(artel__text *text);
void artel__text_append(artel__text *text, const char *string);
/* A word as a POSIX shell reads it back. */
void artel__text_append_quoted(artel__text *text, const char *word);
/* A word between quotes as JSON has it: escapes for controls, quotes and backslashes; U+FFFD for what is no UTF-8. */
void artel__text_append_json(artel__text *text, const char *word);
void artel__text_append_bytes(artel__text *text, const void *bytes, size_t count);
/* Another text, and its failure. */
void artel__text_append_text(artel__text *text, const artel__text *other);
void artel__text_printf(artel__text *text, const char *format, ...) ARTEL__PRINTF(2, 3);
void artel__text_vprintf(artel__text *text, const char *format, va_list args);
/* Spaces until `ahead` bytes in front of the text and the text itself are a multiple. */
void artel__text_pad(artel__text *text, size_t ahead, size_t multiple);
/* The same for what people are shown: words (%s, %c) are cleaned, so that a name from a file can neither command a
 * terminal nor make up a line; only the format's own line breaks are such. Knows the conversions d i o u x X with l, ll
 * and z, those of double, s, c and %. */
void artel__text_show(artel__text *text, const char *format, ...) ARTEL__PRINTF(2, 3);
void artel__show(FILE *to, const char *format, ...) ARTEL__PRINTF(2, 3);
/* Cleans one word into `out` (as much as fits, no character cut); its length. */
size_t artel__clean(const char *text, size_t length, char *out, size_t size);
artel_status artel__text_status(const artel__text *text);

bool artel__starts_with(const char *text, const char *prefix);
bool artel__ends_with(const char *text, const char *suffix);

/* Strict conversions of a whole string: no spaces, no trailing characters, range checked. False when it is not one.
 * A double may be nan, inf or infinity (any case, signed); the caller refuses them where they make no sense.
 * Locale-free. */
bool artel__parse_int64(const char *text, int64_t *out);
bool artel__parse_double(const char *text, double *out);

/* The entry of `names` (NULL-terminated) nearest to `word` by edit distance, or NULL when none is near. */
const char *artel__nearest_name(const char *word, const char *const *names);

/* Python's repr: the shortest decimal form that reads back as the same float32 (or float64). Returns `buffer`; at least
 * 32 bytes. */
char *artel__format_float(char *buffer, size_t size, float value);
char *artel__format_double(char *buffer, size_t size, double value);

#endif
