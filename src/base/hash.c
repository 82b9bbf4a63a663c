/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and CRC-32C in plain C, with the instructions for them where the processor has them (hash_x86.c).
 *
 * SHA-256 after FIPS 180-4, section 6.2. CRC-32C is the reflected polynomial 0x82F63B78 with all bits inverted before
 * and after; the portable form takes a nibble at a time from a table of 16 words. Both forms give the same answers,
 * which the tests compare.
 */
#include "base/hash.h"

#include <string.h>

#include "base/hash_impl.h"

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

const uint32_t *artel__sha256_constants(void)
{
    return round_constants;
}

static uint32_t rotate(uint32_t x, int n)
{
    return (x >> n) | (x << (32 - n));
}

static void expand(const uint8_t *block, uint32_t w[64])
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3);
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

void artel__sha256_blocks_plain(uint32_t state[8], const uint8_t *bytes, size_t blocks)
{
    uint32_t w[64], v[8];
    for (; blocks; blocks--, bytes += 64) {
        expand(bytes, w);
        memcpy(v, state, sizeof(v));
        for (int i = 0; i < 64; i++) {
            uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
            uint32_t t1 = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_constants[i] + w[i];
            uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
            uint32_t t2 = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            memmove(v + 1, v, 7 * sizeof(v[0]));
            v[4] += t1;
            v[0] = t1 + t2;
        }
        for (int i = 0; i < 8; i++) state[i] += v[i];
    }
}

static void hash_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks)
{
    if (artel__sha256_has_instructions())
        artel__sha256_blocks_fast(state, bytes, blocks);
    else
        artel__sha256_blocks_plain(state, bytes, blocks);
}

void artel__sha256_init(artel__sha256 *hash)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(hash->state, start, sizeof(start));
    hash->length = 0;
}

void artel__sha256_update(artel__sha256 *hash, const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    size_t held = hash->length % 64;
    hash->length += count;
    if (held && count) {
        size_t take = count < 64 - held ? count : 64 - held;
        memcpy(hash->block + held, at, take);
        at += take;
        count -= take;
        if (held + take < 64) return;
        hash_blocks(hash->state, hash->block, 1);
    }
    hash_blocks(hash->state, at, count / 64);
    if (count % 64) memcpy(hash->block, at + count / 64 * 64, count % 64);
}

void artel__sha256_final(artel__sha256 *hash, uint8_t out[32])
{
    static const uint8_t padding[64] = {0x80};
    uint64_t bits = hash->length * 8;
    uint8_t tail[8];
    for (int i = 0; i < 8; i++) tail[i] = (uint8_t)(bits >> (56 - 8 * i));
    artel__sha256_update(hash, padding, 1 + (119 - hash->length % 64) % 64);
    artel__sha256_update(hash, tail, 8);
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)(hash->state[i / 4] >> (24 - 8 * (i % 4)));
}

void artel__sha256_hex(artel__sha256 *hash, char out[65])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[32];
    artel__sha256_final(hash, bytes);
    for (int i = 0; i < 32; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[64] = '\0';
}

uint32_t artel__crc32c_plain(uint32_t crc, const uint8_t *bytes, size_t count)
{
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
                                       0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        crc = table[crc & 15] ^ (crc >> 4);
        crc = table[crc & 15] ^ (crc >> 4);
    }
    return crc;
}

uint32_t artel__crc32c(uint32_t crc, const void *bytes, size_t count)
{
    crc = ~crc;
    crc = artel__crc32c_has_instructions() ? artel__crc32c_fast(crc, bytes, count)
                                           : artel__crc32c_plain(crc, bytes, count);
    return ~crc;
}

/* -- 64 bits: eight lanes of multiply and add (a polynomial in an odd constant, modulo 2^64), mixed at the end -- */

static uint64_t mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u; /* the finisher of splitmix64 (Steele, Lea, Flood 2014) */
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t artel__hash64(const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t lane[8] = {1, 2, 3, 4, 5, 6, 7, 8}, word[8], sum = count;
    for (size_t left = count; left;) {
        size_t take = left < sizeof word ? left : sizeof word;
        memset(word, 0, sizeof word);
        memcpy(word, at, take);
        for (int i = 0; i < 8; i++) lane[i] = (lane[i] ^ word[i]) * 0x9e3779b97f4a7c15u + (lane[i] >> 32);
        at += take;
        left -= take;
    }
    for (int i = 0; i < 8; i++) sum = mix64(sum ^ lane[i]) + 0x9e3779b97f4a7c15u;
    return sum ? sum : 1;
}
