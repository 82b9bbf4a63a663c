/* SPDX-License-Identifier: Apache-2.0 */
/* Counter-based random numbers: Philox 4x32-10.
 *
 * J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. A number is a pure function of a key
 * and a counter, so it does not matter which replica or thread asks for it.
 *
 * The packing, fixed for ever by golden values in tests/base/test_rng.c:
 *   key      {seed low 32, seed high 32 ^ stream * 0x9E3779B9}
 *   counter  {logical index / 4 low 32, row in the global batch, node index in the sealed graph, batches consumed low
 * 32} with bits 32..39 of the batch count in the top byte of the node word (a graph has fewer than 2^24 nodes) and the
 * logical index of a row limited to 2^34. Word i of the four results belongs to logical index 4 * block + i.
 */
#ifndef ARTEL_BASE_RNG_H
#define ARTEL_BASE_RNG_H

#include <stdint.h>

/* Independent uses of one seed. Values are part of saved runs: append only. */
typedef enum artel__stream {
    ARTEL__STREAM_INIT = 0,      /* initial weights: node word = variable index, row 0 */
    ARTEL__STREAM_DROPOUT = 1,   /* masks and noise inside the graph */
    ARTEL__STREAM_SHUFFLE = 2,   /* order of samples: node word = pass over the data */
    ARTEL__STREAM_SYNTHETIC = 3, /* synthetic data: node word = array index, row = record */
    ARTEL__STREAM_SPLIT = 4,     /* validation split of sorted sources */
    ARTEL__STREAM_AUGMENT = 5    /* random stages of an input pipeline */
} artel__stream;

typedef struct artel__rng_key {
    uint32_t word[2];
} artel__rng_key;

/* The bare generator: ten rounds on any counter and key. */
void artel__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

artel__rng_key artel__rng_make_key(uint64_t seed, artel__stream stream);

/* Four random words for one counter block. */
void artel__rng_block(artel__rng_key key, uint64_t batch, uint32_t node, uint32_t row, uint64_t block, uint32_t out[4]);

/* Uniform in [0, 1): the top 24 bits, exact in float32. */
static inline float artel__rng_uniform(uint32_t word)
{
    return (float)(int32_t)(word >> 8) * 0x1p-24f; /* signed: one instruction everywhere */
}

/* Two standard normals from two words (Box and Muller 1958), with artel's own log, sin and cos: r cos, r sin
 * with r = sqrt(-2 log((word0 + 1) / 2^32)) and the angle word1 / 2^32 turns. The caller rounds to nearest. */
void artel__rng_normal_pair(uint32_t word0, uint32_t word1, float out[2]);

/* A permutation of 0..count-1 that is a pure function of (seed, stream, pass): Fisher and Yates with one block per
 * swap. For i = count-1 .. 1: counter {i low, i high, pass low 24, pass >> 24}, j = (word1:word0 * (i + 1)) >> 64, swap
 * i, j. */
void artel__rng_permutation(uint64_t seed, artel__stream stream, uint64_t pass, uint64_t count, uint64_t *out);

#endif
