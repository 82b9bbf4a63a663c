/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point limit of one core: float32 fused multiply-adds a second, for AVX-512 or AVX2, whichever the compiler
 * is told to use (cc -O3 -mavx512f -mfma). Sixteen independent chains hide the latency of four cycles on two ports. */
#include <immintrin.h>
#include <stdio.h>
#include <time.h>

#ifdef __AVX512F__
typedef __m512 vector;
#define SET(x) _mm512_set1_ps(x)
#define FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define SUM(x) _mm512_reduce_add_ps(x)
#define LANES 16
#else
typedef __m256 vector;
#define SET(x) _mm256_set1_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define SUM(x) _mm256_cvtss_f32(x)
#define LANES 8
#endif
enum {
    CHAINS = 12,
    ROUNDS = 8000000
};

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(void)
{
    double best = 0;
    float sink = 0;
    for (int run = 0; run < 9; run++) {
        vector chain[CHAINS], x = SET(0.999999f), y = SET(1e-9f);
        for (int i = 0; i < CHAINS; i++) chain[i] = SET((float)i);
        double start = seconds();
        for (long k = 0; k < ROUNDS; k++) {
            for (int i = 0; i < CHAINS; i++) chain[i] = FMA(chain[i], x, y);
        }
        double rate = 2.0 * LANES * CHAINS * ROUNDS / (seconds() - start);
        for (int i = 0; i < CHAINS; i++) sink += SUM(chain[i]);
        if (rate > best) best = rate;
    }
    printf("%.1f\n", best * 1e-9);
    return sink == 42.0f;
}
