/* SPDX-License-Identifier: Apache-2.0 */
/* Fingerprints and keyed hashes. See the header.
 *
 * FarmHash's Fingerprint64 chooses by length: up to 16, 32 and 64 bytes have mixing functions of their own, longer
 * texts are read in blocks of 64 into a state of seven words and end with their last 64 bytes. SipHash-2-4 is that of
 * Aumasson and Bernstein, "SipHash: a fast short-input PRF". All words are little-endian.
 */
#include "text/hash.h"

#define K0 0xc3a5c85c97cb3127u
#define K1 0xb492b66fbe98f273u
#define K2 0x9ae16a3b2f90404fu

static uint64_t read_word(const uint8_t *at, size_t bytes)
{
    uint64_t word = 0;
    for (size_t i = 0; i < bytes; i++) word |= (uint64_t)at[i] << (8 * i);
    return word;
}

static uint64_t fetch64(const uint8_t *at)
{
    return read_word(at, 8);
}

static uint64_t rotate_right(uint64_t x, int by)
{
    return by == 0 ? x : x >> by | x << (64 - by);
}

static uint64_t shift_mix(uint64_t x)
{
    return x ^ x >> 47;
}

static uint64_t mix_two(uint64_t u, uint64_t v, uint64_t factor)
{
    uint64_t a = (u ^ v) * factor;
    a ^= a >> 47;
    uint64_t b = (v ^ a) * factor;
    b ^= b >> 47;
    return b * factor;
}

static uint64_t hash_to_16(const uint8_t *s, size_t n)
{
    uint64_t factor = K2 + n * 2;
    if (n >= 8) {
        uint64_t a = fetch64(s) + K2, b = fetch64(s + n - 8);
        uint64_t c = rotate_right(b, 37) * factor + a, d = (rotate_right(a, 25) + b) * factor;
        return mix_two(c, d, factor);
    }
    if (n >= 4) return mix_two(n + (read_word(s, 4) << 3), read_word(s + n - 4, 4), factor);
    if (n == 0) return K2;
    uint32_t y = (uint32_t)s[0] + ((uint32_t)s[n >> 1] << 8), z = (uint32_t)n + ((uint32_t)s[n - 1] << 2);
    return shift_mix(y * K2 ^ z * K0) * K2;
}

static uint64_t hash_to_32(const uint8_t *s, size_t n)
{
    uint64_t factor = K2 + n * 2, a = fetch64(s) * K1, b = fetch64(s + 8), c = fetch64(s + n - 8) * factor,
             d = fetch64(s + n - 16) * K2;
    return mix_two(rotate_right(a + b, 43) + rotate_right(c, 30) + d, a + rotate_right(b + K2, 18) + c, factor);
}

static uint64_t hash_to_64(const uint8_t *s, size_t n)
{
    uint64_t factor = K2 + n * 2, a = fetch64(s) * K2, b = fetch64(s + 8), c = fetch64(s + n - 8) * factor,
             d = fetch64(s + n - 16) * K2;
    uint64_t y = rotate_right(a + b, 43) + rotate_right(c, 30) + d;
    uint64_t z = mix_two(y, a + rotate_right(b + K2, 18) + c, factor);
    uint64_t e = fetch64(s + 16) * factor, f = fetch64(s + 24);
    uint64_t g = (y + fetch64(s + n - 32)) * factor, h = (z + fetch64(s + n - 24)) * factor;
    return mix_two(rotate_right(e + f, 43) + rotate_right(g, 30) + h, e + rotate_right(f + a, 18) + g, factor);
}

typedef struct pair {
    uint64_t first, second;
} pair;

/* 32 bytes into two seeds. */
static pair weak_mix(const uint8_t *s, uint64_t a, uint64_t b)
{
    uint64_t w = fetch64(s), x = fetch64(s + 8), y = fetch64(s + 16), z = fetch64(s + 24);
    a += w;
    b = rotate_right(b + a + z, 21);
    uint64_t c = a;
    a += x + y;
    b += rotate_right(a, 44);
    return (pair){a + z, b + c};
}

static uint64_t hash_long(const uint8_t *s, size_t n)
{
    const uint64_t seed = 81;
    uint64_t x = seed * K2 + fetch64(s), y = seed * K1 + 113, z = shift_mix(y * K2 + 113) * K2, t;
    pair v = {0, 0}, w = {0, 0};
    const uint8_t *end = s + (n - 1) / 64 * 64, *last = end + ((n - 1) & 63) - 63;
    do {
        x = rotate_right(x + y + v.first + fetch64(s + 8), 37) * K1;
        y = rotate_right(y + v.second + fetch64(s + 48), 42) * K1;
        x ^= w.second;
        y += v.first + fetch64(s + 40);
        z = rotate_right(z + w.first, 33) * K1;
        v = weak_mix(s, v.second * K1, x + w.first);
        w = weak_mix(s + 32, z + w.second, y + fetch64(s + 16));
        t = z;
        z = x;
        x = t;
        s += 64;
    } while (s != end);
    uint64_t factor = K1 + ((z & 0xff) << 1);
    s = last;
    w.first += (n - 1) & 63;
    v.first += w.first;
    w.first += v.first;
    x = rotate_right(x + y + v.first + fetch64(s + 8), 37) * factor;
    y = rotate_right(y + v.second + fetch64(s + 48), 42) * factor;
    x ^= w.second * 9;
    y += v.first * 9 + fetch64(s + 40);
    z = rotate_right(z + w.first, 33) * factor;
    v = weak_mix(s, v.second * factor, x + w.first);
    w = weak_mix(s + 32, z + w.second, y + fetch64(s + 16));
    t = z;
    z = x;
    x = t;
    return mix_two(mix_two(v.first, w.first, factor) + shift_mix(y) * K0 + z, mix_two(v.second, w.second, factor) + x,
                   factor);
}

uint64_t artel__fingerprint(const void *bytes, size_t length)
{
    if (length <= 16) return hash_to_16(bytes, length);
    if (length <= 32) return hash_to_32(bytes, length);
    return length <= 64 ? hash_to_64(bytes, length) : hash_long(bytes, length);
}

static uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static void sip_rounds(uint64_t v[4], int rounds)
{
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[1] = rotate_left(v[1], 13) ^ v[0];
        v[0] = rotate_left(v[0], 32);
        v[2] += v[3];
        v[3] = rotate_left(v[3], 16) ^ v[2];
        v[0] += v[3];
        v[3] = rotate_left(v[3], 21) ^ v[0];
        v[2] += v[1];
        v[1] = rotate_left(v[1], 17) ^ v[2];
        v[2] = rotate_left(v[2], 32);
    }
}

uint64_t artel__keyed_hash(const uint64_t key[2], const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                     key[1] ^ 0x7465646279746573u};
    size_t whole = length / 8;
    for (size_t i = 0; i <= whole; i++) {
        uint64_t word =
            i < whole ? fetch64(at + 8 * i) : (uint64_t)length << 56 | read_word(at + 8 * whole, length % 8);
        v[3] ^= word;
        sip_rounds(v, 2);
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t artel__old_hash(const void *bytes, size_t length)
{
    const uint64_t factor = 0xc6a4a7935bd1e995u;
    const uint8_t *at = bytes;
    uint64_t hash = 0xDECAFCAFFEu ^ length * factor;
    for (; length >= 8; length -= 8, at += 8) {
        hash ^= shift_mix(fetch64(at) * factor) * factor;
        hash *= factor;
    }
    if (length > 0) hash = (hash ^ read_word(at, length)) * factor;
    return shift_mix(shift_mix(hash) * factor);
}

uint64_t artel__fingerprint_chain(uint64_t first, uint64_t second)
{
    const uint64_t factor = 0xc6a4a7935bd1e995u;
    uint64_t result = first ^ factor;
    result ^= shift_mix(second * factor) * factor;
    result *= factor;
    result = shift_mix(result) * factor;
    return shift_mix(result);
}
