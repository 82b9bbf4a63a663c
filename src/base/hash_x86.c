/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and CRC-32C by the instructions of x86-64 (SHA extensions, SSE4.2, carry-less multiplication).
 *
 * A crc instruction takes three cycles and can start every cycle, so long inputs are summed as three lanes side by side
 * (V. Gopal et al., "Fast CRC computation for iSCSI polynomial using CRC32 instruction", 2011). A lane's sum is moved
 * over the n bytes behind it by a product with x^(8n-33) mod P, bits reversed, which the crc instruction reduces.
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
#define CRC_TARGET __attribute__((target("sse4.2,pclmul")))

bool artel__sha256_has_instructions(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __builtin_cpu_supports("sse4.1") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1);
}

bool artel__crc32c_has_instructions(void)
{
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
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

enum {
    CRC_LANE = 1024,
    CRC_OVER_ONE = 0x170076fa,         /* x^(8 * 1024 - 33) */
    CRC_OVER_TWO = (int32_t)0xa51b6135 /* x^(8 * 2048 - 33) */
};

CRC_TARGET static inline uint64_t move_crc(uint64_t crc, uint32_t over)
{
    __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc), _mm_cvtsi64_si128((int64_t)(uint64_t)over), 0);
    return _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

CRC_TARGET static inline uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, 8);
    return word;
}

/* Where 512-bit carry-less products exist: the message is folded 256 bytes at a time. A 128-bit part, first half L,
 * second half H, is the same modulo P as L x^(64+2048-1) + H x^(2048-1), each times x, 256 bytes further on (the x is
 * what the product of reversed numbers is short of). What is left, 256 bytes, is summed by the crc instruction.
 */
#define WIDE_TARGET __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.2")))
enum {
    CRC_FOLD = 256,
    CRC_WIDE = 1024 /* shorter ones are not worth it */
};

WIDE_TARGET static inline __m512i fold(__m512i part, __m512i factors, const uint8_t *next)
{
    __m512i low = _mm512_clmulepi64_epi128(part, factors, 0x00), high = _mm512_clmulepi64_epi128(part, factors, 0x11);
    return _mm512_ternarylogic_epi64(low, high, _mm512_loadu_si512(next), 0x96);
}

/* `count` is a multiple of CRC_FOLD and not 0. */
WIDE_TARGET static uint64_t sum_wide(uint64_t crc, const uint8_t *bytes, size_t count)
{
    const __m512i factors = _mm512_broadcast_i32x4(_mm_set_epi64x(0x1426a81500000000, 0xe9a5d8be00000000));
    __m512i a = _mm512_xor_si512(_mm512_loadu_si512(bytes), _mm512_zextsi128_si512(_mm_cvtsi64_si128((int64_t)crc)));
    __m512i b = _mm512_loadu_si512(bytes + 64), c = _mm512_loadu_si512(bytes + 128),
            d = _mm512_loadu_si512(bytes + 192);
    for (size_t at = CRC_FOLD; at < count; at += CRC_FOLD) {
        a = fold(a, factors, bytes + at);
        b = fold(b, factors, bytes + at + 64);
        c = fold(c, factors, bytes + at + 128);
        d = fold(d, factors, bytes + at + 192);
    }
    uint64_t left[CRC_FOLD / 8], sum = 0;
    _mm512_storeu_si512(left, a);
    _mm512_storeu_si512(left + 8, b);
    _mm512_storeu_si512(left + 16, c);
    _mm512_storeu_si512(left + 24, d);
    for (int i = 0; i < CRC_FOLD / 8; i++) sum = _mm_crc32_u64(sum, left[i]);
    return sum;
}

static bool has_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}

/* The sum over three lanes. */
CRC_TARGET static uint64_t sum_lanes(uint64_t crc, const uint8_t *bytes)
{
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < CRC_LANE; i += 8) {
        crc = _mm_crc32_u64(crc, load_word(bytes + i));
        second = _mm_crc32_u64(second, load_word(bytes + CRC_LANE + i));
        third = _mm_crc32_u64(third, load_word(bytes + 2 * CRC_LANE + i));
    }
    return move_crc(crc, CRC_OVER_TWO) ^ move_crc(second, CRC_OVER_ONE) ^ third;
}

CRC_TARGET uint32_t artel__crc32c_lanes(uint32_t crc, const uint8_t *bytes, size_t count)
{
    uint64_t wide = crc;
    for (; count >= 3 * CRC_LANE; count -= 3 * CRC_LANE, bytes += 3 * CRC_LANE) wide = sum_lanes(wide, bytes);
    for (; count >= 8; count -= 8, bytes += 8) wide = _mm_crc32_u64(wide, load_word(bytes));
    crc = (uint32_t)wide;
    for (; count; count--) crc = _mm_crc32_u8(crc, *bytes++);
    return crc;
}

uint32_t artel__crc32c_fast(uint32_t crc, const uint8_t *bytes, size_t count)
{
    if (count >= CRC_WIDE && has_wide()) {
        size_t folded = count / CRC_FOLD * CRC_FOLD;
        crc = (uint32_t)sum_wide(crc, bytes, folded);
        bytes += folded;
        count -= folded;
    }
    return artel__crc32c_lanes(crc, bytes, count);
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

uint32_t artel__crc32c_lanes(uint32_t crc, const uint8_t *bytes, size_t count)
{
    return artel__crc32c_plain(crc, bytes, count);
}

uint32_t artel__crc32c_fast(uint32_t crc, const uint8_t *bytes, size_t count)
{
    return artel__crc32c_plain(crc, bytes, count);
}

#endif
