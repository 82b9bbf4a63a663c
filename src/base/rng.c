/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 and what is drawn from it.
 *
 * Salmon et al. 2011, section 3.2: ten rounds of two 32x32 -> 64 multiplications, the key bumped by Weyl constants
 * between rounds. The packing of key and counter is written in rng.h and pinned by golden values.
 */
#include "base/rng.h"

#include "base/scalar_math.h"

__extension__ typedef unsigned __int128 wide;

#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

void artel__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)PHILOX_M0 * c0, p1 = (uint64_t)PHILOX_M1 * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c0 = n0;
        c1 = (uint32_t)p1;
        c2 = n2;
        c3 = (uint32_t)p0;
        k0 += PHILOX_W0;
        k1 += PHILOX_W1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

artel__rng_key artel__rng_make_key(uint64_t seed, artel__stream stream)
{
    return (artel__rng_key){{(uint32_t)seed, (uint32_t)(seed >> 32) ^ (uint32_t)stream * 0x9E3779B9u}};
}

void artel__rng_block(artel__rng_key key, uint64_t batch, uint32_t node, uint32_t row, uint64_t block, uint32_t out[4])
{
    const uint32_t top = (uint32_t)(batch >> 32) << 24;
    const uint32_t counter[4] = {(uint32_t)block, row, node | top, (uint32_t)batch};
    artel__philox(counter, key.word, out);
}

void artel__rng_normal_pair(uint32_t word0, uint32_t word1, float out[2])
{
    double s = 0, c = 0;
    double radius = artel__sqrt64(-2.0 * artel__log64(((double)word0 + 1.0) * 0x1p-32)); /* of (0, 1] */
    artel__sincos_turns64((double)word1 * 0x1p-32, &s, &c);
    out[0] = (float)(radius * c);
    out[1] = (float)(radius * s);
}

/* Uniform in [0, bound) from a 64-bit word; the bias is below bound / 2^64. */
static uint64_t below(uint64_t word, uint64_t bound)
{
    return (uint64_t)(((wide)word * bound) >> 64);
}

void artel__rng_permutation(uint64_t seed, artel__stream stream, uint64_t pass, uint64_t count, uint64_t *out)
{
    artel__rng_key key = artel__rng_make_key(seed, stream);
    uint32_t node = (uint32_t)(pass & 0xFFFFFFu), word[4];
    for (uint64_t i = 0; i < count; i++) out[i] = i;
    for (uint64_t i = count; i-- > 1;) {
        artel__rng_block(key, pass >> 24, node, (uint32_t)(i >> 32), i, word);
        uint64_t j = below((uint64_t)word[1] << 32 | word[0], i + 1);
        uint64_t moved = out[i];
        out[i] = out[j];
        out[j] = moved;
    }
}
