/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), for digests and identities, and CRC-32C (Castagnoli, RFC 3720) for records. */
#ifndef ARTEL_BASE_HASH_H
#define ARTEL_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct artel__sha256 {
    uint32_t state[8];
    uint64_t length;
    uint8_t block[64];
} artel__sha256;

void artel__sha256_init(artel__sha256 *hash);
void artel__sha256_update(artel__sha256 *hash, const void *bytes, size_t count);
void artel__sha256_final(artel__sha256 *hash, uint8_t out[32]);
/* As 64 hex digits and a NUL. */
void artel__sha256_hex(artel__sha256 *hash, char out[65]);

/* A fast hash of many bytes, not made to withstand anybody: the same on every machine. Never 0. */
uint64_t artel__hash64(const void *bytes, size_t count);

uint32_t artel__crc32c(uint32_t crc, const void *bytes, size_t count); /* start with 0 */

/* The masked form that record and event files carry. */
static inline uint32_t artel__crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

#endif
