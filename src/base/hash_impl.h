/* SPDX-License-Identifier: Apache-2.0 */
/* The two forms of each hash, for hash.c, hash_x86.c and their tests.
 *
 * The fast forms may only be called when the matching has_instructions() says so. State and crc are raw: no padding,
 * no inversion.
 */
#ifndef ARTEL_BASE_HASH_IMPL_H
#define ARTEL_BASE_HASH_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

const uint32_t *artel__sha256_constants(void); /* the 64 of FIPS 180-4 */

void artel__sha256_blocks_plain(uint32_t state[8], const uint8_t *bytes, size_t blocks);
uint32_t artel__crc32c_plain(uint32_t crc, const uint8_t *bytes, size_t count);

bool artel__sha256_has_instructions(void);
bool artel__crc32c_has_instructions(void);
void artel__sha256_blocks_fast(uint32_t state[8], const uint8_t *bytes, size_t blocks);
uint32_t artel__crc32c_fast(uint32_t crc, const uint8_t *bytes, size_t count);
uint32_t artel__crc32c_lanes(uint32_t crc, const uint8_t *bytes, size_t count); /* the same without 512-bit products */

#endif
