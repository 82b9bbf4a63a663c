/* SPDX-License-Identifier: Apache-2.0 */
/* Hashing of integers, texts, shapes and the ends of files, for fingerprints; see fingerprint.c for the encoding. */
#ifndef ARTEL_DATA_FINGERPRINT_H
#define ARTEL_DATA_FINGERPRINT_H

#include "base/hash.h"
#include "data/source.h"

void artel__hash_integer(artel__sha256 *hash, uint64_t value);
void artel__hash_text(artel__sha256 *hash, const char *text); /* NULL differs from "" */
void artel__hash_shape(artel__sha256 *hash, const artel_shape *shape);
/* The size and the first and last 64 KiB. */
void artel__hash_ends(artel__sha256 *hash, const void *bytes, size_t size);

#endif
