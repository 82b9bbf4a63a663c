/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 (RFC 3629): code points of bytes that may be none of it (overlong forms, surrogates, what is cut off and stray
 * bytes are none), and bytes of code points. Pure functions, thread-safe. */
#ifndef ARTEL_BASE_UTF8_H
#define ARTEL_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The code point at `at`, of which `left` bytes (at least one) are there, and its bytes in *count; -1 with one byte
 * when it is no UTF-8. */
int32_t artel__utf8_take(const char *at, size_t left, size_t *count);
/* The bytes of well-formed UTF-8 that a text begins with: `length` when all of it is. */
size_t artel__utf8_valid(const char *bytes, size_t length);
/* Writes a code point (at most 0x10ffff; a surrogate as if it were none) and returns its bytes, 1 to 4. */
size_t artel__utf8_put(uint32_t code, char *out);
/* Whether a character of well-formed UTF-8 begins with this byte; how many begin in a text. */
static inline bool artel__utf8_begins(char byte)
{
    return ((uint8_t)byte & 0xc0) != 0x80;
}
size_t artel__utf8_count(const char *bytes, size_t length);

#endif
