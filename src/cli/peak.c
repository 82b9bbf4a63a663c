/* SPDX-License-Identifier: Apache-2.0 */
/* The multiply-add peak of a thread: twelve independent chains in registers, timed in the thread's own processor time. */
#include <time.h>

#include "cli/profile.h"

#ifdef __x86_64__
#include <immintrin.h>

enum {
    CHAINS = 12,
    STEPS = 200000
};

__attribute__((target("avx512f"))) static double chains_avx512(void)
{
    __m512 a[CHAINS], x = _mm512_set1_ps(1.0000001f), y = _mm512_set1_ps(1e-9f), sum = _mm512_setzero_ps();
    for (int i = 0; i < CHAINS; i++) a[i] = _mm512_set1_ps((float)i);
    for (int k = 0; k < STEPS; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) a[i] = _mm512_fmadd_ps(a[i], x, y);
    }
    for (int i = 0; i < CHAINS; i++) sum = _mm512_add_ps(sum, a[i]);
    return 32.0 * CHAINS * STEPS + (_mm512_reduce_add_ps(sum) == 42.0f);
}

__attribute__((target("avx2,fma"))) static double chains_avx2(void)
{
    __m256 a[CHAINS], x = _mm256_set1_ps(1.0000001f), y = _mm256_set1_ps(1e-9f), sum = _mm256_setzero_ps();
    for (int i = 0; i < CHAINS; i++) a[i] = _mm256_set1_ps((float)i);
    for (int k = 0; k < STEPS; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) a[i] = _mm256_fmadd_ps(a[i], x, y);
    }
    for (int i = 0; i < CHAINS; i++) sum = _mm256_add_ps(sum, a[i]);
    return 16.0 * CHAINS * STEPS + (_mm256_cvtss_f32(sum) == 42.0f);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double artel__cli_peak(artel_context *ctx)
{
    artel__isa isa = artel__context_isa(ctx);
    double best = 0;
    if (isa < ARTEL__ISA_AVX2) return 0;
    for (int r = 0; r < 5; r++) {
        double before = seconds(), done = isa == ARTEL__ISA_AVX512 ? chains_avx512() : chains_avx2(), rate = done / (seconds() - before);
        if (rate > best) best = rate;
    }
    return best;
}
#else
double artel__cli_peak(artel_context *ctx)
{
    (void)ctx;
    return 0;
}
#endif
