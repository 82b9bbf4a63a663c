/* SPDX-License-Identifier: Apache-2.0 */
/* Code points of bytes that may be no UTF-8 (RFC 3629): overlong forms, surrogates, what is cut off and stray bytes are
 * none. A pure function, thread-safe. */
#ifndef ARTEL_BASE_UTF8_H
#define ARTEL_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* The code point at `at`, of which `left` bytes (at least one) are there, and its bytes in *count; -1 with one byte
 * when it is no UTF-8. */
int32_t artel__utf8_take(const char *at, size_t left, size_t *count);
/* The bytes of well-formed UTF-8 that a text begins with: `length` when all of it is. */
size_t artel__utf8_valid(const char *bytes, size_t length);

#endif
