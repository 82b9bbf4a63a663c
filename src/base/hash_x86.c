/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and CRC-32C by the instructions of x86-64 (SHA extensions, SSE4.2).
 *
 * The SHA instructions keep the eight words as the pairs ABEF and CDGH; each step of the loop does four rounds and
 * computes the message words needed sixteen rounds later. On other processors the plain forms answer.
 */
#include "base/hash_impl.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#include <string.h>

#define SHA_TARGET __attribute__((target("sha,sse4.1,ssse3")))
#define CRC_TARGET __attribute__((target("sse4.2")))

bool artel__sha256_has_instructions(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1);
}

bool artel__crc32c_has_instructions(void)
{
    return __builtin_cpu_supports("sse4.2");
}

/* Four rounds with the message words `w` (constants not yet added). */
SHA_TARGET static inline void four_rounds(__m128i *abef, __m128i *cdgh, __m128i w, const uint32_t *k)
{
    __m128i wk = _mm_add_epi32(w, _mm_loadu_si128((const __m128i *)(const void *)k));
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, wk);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(wk, 0x0E));
}

/* The message words 16..19 from words 0..15 in four registers. */
SHA_TARGET static inline __m128i next_words(const __m128i w[4])
{
    __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w[0], w[1]), _mm_alignr_epi8(w[3], w[2], 4));
    return _mm_sha256msg2_epu32(sum, w[3]);
}

SHA_TARGET void artel__sha256_blocks_fast(uint32_t state[8], const uint8_t *bytes, size_t blocks)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const uint32_t *k = artel__sha256_constants();
    uint32_t lanes[8] = {state[5], state[4], state[1], state[0], state[7], state[6], state[3], state[2]};
    __m128i abef = _mm_loadu_si128((const __m128i *)(const void *)lanes);
    __m128i cdgh = _mm_loadu_si128((const __m128i *)(const void *)(lanes + 4));
    for (; blocks; blocks--, bytes += 64) {
        __m128i w[4], abef_before = abef, cdgh_before = cdgh;
        for (int i = 0; i < 4; i++) {
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(bytes + 16 * i)), swap);
            four_rounds(&abef, &cdgh, w[i], k + 4 * i);
        }
        for (int i = 4; i < 16; i++) {
            __m128i next = next_words(w);
            four_rounds(&abef, &cdgh, next, k + 4 * i);
            w[0] = w[1];
            w[1] = w[2];
            w[2] = w[3];
            w[3] = next;
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    _mm_storeu_si128((__m128i *)(void *)lanes, abef);
    _mm_storeu_si128((__m128i *)(void *)(lanes + 4), cdgh);
    const uint32_t result[8] = {lanes[3], lanes[2], lanes[7], lanes[6], lanes[1], lanes[0], lanes[5], lanes[4]};
    memcpy(state, result, sizeof(result));
}

CRC_TARGET uint32_t artel__crc32c_fast(uint32_t crc, const uint8_t *bytes, size_t count)
{
    uint64_t wide = crc, word = 0;
    for (; count >= 8; count -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        wide = _mm_crc32_u64(wide, word);
    }
    crc = (uint32_t)wide;
    for (; count; count--) crc = _mm_crc32_u8(crc, *bytes++);
    return crc;
}

#else

bool artel__sha256_has_instructions(void)
{
    return false;
}

bool artel__crc32c_has_instructions(void)
{
    return false;
}

void artel__sha256_blocks_fast(uint32_t state[8], const uint8_t *bytes, size_t blocks)
{
    artel__sha256_blocks_plain(state, bytes, blocks);
}

uint32_t artel__crc32c_fast(uint32_t crc, const uint8_t *bytes, size_t count)
{
    return artel__crc32c_plain(crc, bytes, count);
}

#endif
