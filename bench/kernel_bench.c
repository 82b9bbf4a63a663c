/* SPDX-License-Identifier: Apache-2.0 */
/* Times products and convolutions on the shapes of the bench models, one thread, against the FMA peak of the same core.
 *
 * kernel_bench [FILTER] [avx2|avx512|amx|baseline] [fdw]: rows whose name contains FILTER, amx in blocks of bfloat16;
 * the best of several short runs, so that a busy machine disturbs less. Columns, or those of the letters given:
 * forward, data gradient, weight gradient with 8 shards, each GFLOP/s and share of the peak, which is measured again
 * beside every row. Pin it to a core (taskset). Built by hand, as products.c says; that one compares with other
 * libraries.
 */
#include <immintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "kernel/conv.h"

typedef struct row {
    const char *name;
    artel__conv2d_shape s;
} row;

#define DENSE(m, k, n)                                 \
    {                                                  \
        m, 1, 1, k, 1, 1, n, 1, 1, 1, 1, 1, 1, 0, 0, 1 \
    }
#define CONV(b, h, c, oh, oc, k, st, pad)                       \
    {                                                           \
        b, h, h, c, oh, oh, oc, k, k, st, st, 1, 1, pad, pad, 1 \
    }

static const row rows[] = {
    {"mlp 64x784x512", DENSE(64, 784, 512)},
    {"mlp 256x784x512", DENSE(256, 784, 512)},
    {"mlp 256x512x10", DENSE(256, 512, 10)},
    {"transformer 2048x256x256", DENSE(2048, 256, 256)},
    {"transformer 2048x256x1024", DENSE(2048, 256, 1024)},
    {"transformer 2048x1024x256", DENSE(2048, 1024, 256)},
    {"square 512", DENSE(512, 512, 512)},
    {"square 1024", DENSE(1024, 1024, 1024)},
    {"square 2048", DENSE(2048, 2048, 2048)},
    {"tutorial dense 64x5408x128", DENSE(64, 5408, 128)},
    {"cnn 28x28x1 3x3 32", CONV(64, 28, 1, 26, 32, 3, 1, 0)},
    {"cnn 13x13x32 3x3 64", CONV(64, 13, 32, 11, 64, 3, 1, 0)},
    {"volume 32x32x3 3x3 16", CONV(352, 32, 3, 30, 16, 3, 1, 0)},
    {"volume 15x15x48 3x3 32", CONV(144, 15, 48, 13, 32, 3, 1, 0)},
    {"resnet 224 7x7/2 3-64", CONV(16, 224, 3, 112, 64, 7, 2, 3)},
    {"resnet 56 1x1 64-64", CONV(16, 56, 64, 56, 64, 1, 1, 0)},
    {"resnet 56 3x3 64-64", CONV(16, 56, 64, 56, 64, 3, 1, 1)},
    {"resnet 56 1x1 64-256", CONV(16, 56, 64, 56, 256, 1, 1, 0)},
    {"resnet 56 1x1 256-64", CONV(16, 56, 256, 56, 64, 1, 1, 0)},
    {"resnet 56 1x1/2 256-128", CONV(16, 56, 256, 28, 128, 1, 2, 0)},
    {"resnet 56 1x1/2 256-512", CONV(16, 56, 256, 28, 512, 1, 2, 0)},
    {"resnet 28 3x3 128-128", CONV(16, 28, 128, 28, 128, 3, 1, 1)},
    {"resnet 28 1x1 128-512", CONV(16, 28, 128, 28, 512, 1, 1, 0)},
    {"resnet 28 1x1 512-128", CONV(16, 28, 512, 28, 128, 1, 1, 0)},
    {"resnet 28 1x1/2 512-256", CONV(16, 28, 512, 14, 256, 1, 2, 0)},
    {"resnet 28 1x1/2 512-1024", CONV(16, 28, 512, 14, 1024, 1, 2, 0)},
    {"resnet 14 3x3 256-256", CONV(16, 14, 256, 14, 256, 3, 1, 1)},
    {"resnet 14 1x1 256-1024", CONV(16, 14, 256, 14, 1024, 1, 1, 0)},
    {"resnet 14 1x1 1024-256", CONV(16, 14, 1024, 14, 256, 1, 1, 0)},
    {"resnet 14 1x1/2 1024-512", CONV(16, 14, 1024, 7, 512, 1, 2, 0)},
    {"resnet 14 1x1/2 1024-2048", CONV(16, 14, 1024, 7, 2048, 1, 2, 0)},
    {"resnet 7 3x3 512-512", CONV(16, 7, 512, 7, 512, 3, 1, 1)},
    {"resnet 7 1x1 512-2048", CONV(16, 7, 512, 7, 2048, 1, 1, 0)},
    {"resnet 7 1x1 2048-512", CONV(16, 7, 2048, 7, 512, 1, 1, 0)},
    {"inception 299 3x3/2 3-32", CONV(8, 299, 3, 149, 32, 3, 2, 0)},
    {"inception 147 3x3 32-64", CONV(8, 147, 32, 147, 64, 3, 1, 1)},
    {"inception 35 5x5 48-64", CONV(8, 35, 48, 35, 64, 5, 1, 2)},
    {"inception 17 1x7 192-192", {8, 17, 17, 192, 17, 17, 192, 1, 7, 1, 1, 1, 1, 0, 3, 1}},
    {"inception 17 7x1 192-192", {8, 17, 17, 192, 17, 17, 192, 7, 1, 1, 1, 1, 1, 3, 0, 1}},
    {"inception 8 3x3 448-384", CONV(8, 8, 448, 8, 384, 3, 1, 1)},
    {"inception 8 1x1 2048-320", CONV(8, 8, 2048, 8, 320, 1, 1, 0)},
};

__attribute__((target("avx512f"))) static double peak_avx512(int64_t steps)
{
    __m512 a[12], x = _mm512_set1_ps(1.0000001f), y = _mm512_set1_ps(1e-9f), sum = _mm512_setzero_ps();
    for (int i = 0; i < 12; i++) a[i] = _mm512_set1_ps((float)i);
    for (int64_t k = 0; k < steps; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) a[i] = _mm512_fmadd_ps(a[i], x, y);
    }
    for (int i = 0; i < 12; i++) sum = _mm512_add_ps(sum, a[i]);
    return 12.0 * 32 * (double)steps + (_mm512_reduce_add_ps(sum) == 42.0f);
}

__attribute__((target("avx2,fma"))) static double peak_avx2(int64_t steps)
{
    __m256 a[12], x = _mm256_set1_ps(1.0000001f), y = _mm256_set1_ps(1e-9f), sum = _mm256_setzero_ps();
    for (int i = 0; i < 12; i++) a[i] = _mm256_set1_ps((float)i);
    for (int64_t k = 0; k < steps; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) a[i] = _mm256_fmadd_ps(a[i], x, y);
    }
    for (int i = 0; i < 12; i++) sum = _mm256_add_ps(sum, a[i]);
    return 12.0 * 16 * (double)steps + (_mm256_cvtss_f32(sum) == 42.0f);
}

/* Time that this thread has computed, so that others on the same core disturb less. */
static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double peak(artel__isa isa)
{
    double best = 0;
    for (int r = 0; r < 5; r++) {
        double start = seconds(), flop = isa >= ARTEL__ISA_AVX512 ? peak_avx512(300000) : peak_avx2(300000),
               time = seconds() - start;
        if (flop / time > best) best = flop / time;
    }
    return best * 1e-9;
}

static float *floats(int64_t count)
{
    size_t bytes = (size_t)count * sizeof(float);
    bytes = (bytes + (2 << 20)) & ~(size_t)((2 << 20) - 1);
    float *x = aligned_alloc(2 << 20, bytes);
    madvise(x, bytes, MADV_HUGEPAGE); /* as base/memory.c does */
    for (int64_t i = 0; i < count; i++) x[i] = (float)(i * 37 % 101) * 0.01f - 0.5f;
    return x;
}

/* The best rate of several runs, GFLOP/s. */
static double rate(const artel__kernel *const *list, artel__isa isa, const void *params, double flop)
{
    const artel__kernel *kernel = artel__kernel_choose(list, isa, params);
    size_t bytes = kernel->scratch_bytes ? kernel->scratch_bytes(params) : 0;
    void *scratch = aligned_alloc(4096, (bytes + 4096) & ~(size_t)4095);
    int64_t tasks = kernel->tasks(params);
    double best = 1e30, spent = 0;
    for (int r = 0; r < 3 || (spent < 0.15 && r < 50); r++) {
        double start = seconds();
        kernel->run(params, 0, tasks, scratch);
        double time = seconds() - start;
        spent += time;
        if (time < best) best = time;
    }
    free(scratch);
    return flop / best * 1e-9;
}

static bool parts[3] = {true, true, true}; /* forward, data gradient, weight gradient */

static void measure(const row *row, artel__isa isa, double total[4])
{
    const artel__conv2d_shape *s = &row->s;
    int64_t k = s->kh * s->kw * s->ic, inputs = s->images * s->ih * s->iw * s->ic,
            outputs = s->images * s->oh * s->ow * s->oc, start[9];
    int64_t weights = artel__panels_floats(k, s->oc), transposed = artel__panels_floats(s->kh * s->kw * s->oc, s->ic);
    float *x = floats(inputs), *y = floats(outputs), *w = floats(weights), *wt = floats(transposed),
          *dx = floats(inputs), *dw = floats(weights);
    float *bias = floats(s->oc), *dbias = floats(s->oc);
    double flop = 2.0 * (double)outputs * (double)k, top = peak(isa);
    artel__fold_plan plan;
    artel__fold_plan_make(&plan, 8, 0, 8, s->images, start);
    bool tiles = isa == ARTEL__ISA_AMX;
    artel_dtype held = tiles ? ARTEL_DTYPE_BFLOAT16 : ARTEL_DTYPE_FLOAT32;
    artel__arithmetic arithmetic = tiles ? ARTEL__ARITHMETIC_TILES : ARTEL__ARITHMETIC_CHAIN;
    artel__conv2d_forward forward = {*s, x, w, bias, ARTEL__FUSED_RELU, y, held, held, arithmetic, false, false};
    artel__conv2d_data_gradient data = {*s, y, wt, NULL, ARTEL__FUSED_NONE, dx, held, held, arithmetic, false, false};
    artel__conv2d_weight_gradient weight = {*s,    &plan, x,   y,          dw,    weights, dbias,
                                            s->oc, held,  {0}, arithmetic, false, false};
    double f = parts[0] ? rate(artel__conv2d_forward_kernels, isa, &forward, flop) : NAN;
    double d = parts[1] ? rate(artel__conv2d_data_gradient_kernels, isa, &data, flop) : NAN;
    double g = parts[2] ? rate(artel__conv2d_weight_gradient_kernels, isa, &weight, flop) : NAN;
    double again = peak(isa);
    top = again > top ? again : top;
    printf("%-27s %7.1f %3.0f%%  %7.1f %3.0f%%  %7.1f %3.0f%%   of %.0f\n", row->name, f, 100 * f / top, d,
           100 * d / top, g, 100 * g / top, top);
    fflush(stdout);
    total[0] += flop;
    total[1] += flop / f;
    total[2] += flop / d;
    total[3] += flop / g;
    float *all[] = {x, y, w, wt, dx, dw, bias, dbias};
    for (size_t i = 0; i < ARTEL__COUNT(all); i++) free(all[i]);
}

int main(int argc, char **argv)
{
    const char *filter = argc > 1 ? argv[1] : "", *set = argc > 2 ? argv[2] : "avx512";
    artel__isa isa = strcmp(set, "amx") == 0      ? ARTEL__ISA_AMX
                     : strcmp(set, "avx2") == 0   ? ARTEL__ISA_AVX2
                     : strcmp(set, "avx512") == 0 ? ARTEL__ISA_AVX512
                                                  : ARTEL__ISA_BASELINE;
    double total[4] = {0};
    for (int i = 0; argc > 3 && i < 3; i++) parts[i] = strchr(argv[3], "fdw"[i]) != NULL;
    if (isa == ARTEL__ISA_AMX && artel__isa_of_machine() != isa) isa = ARTEL__ISA_AVX512;
    if (isa == ARTEL__ISA_AVX512 && !__builtin_cpu_supports("avx512bw")) isa = ARTEL__ISA_AVX2;
    _mm_setcsr((_mm_getcsr() & ~0x6000u) | 0x8040u);
    printf("%-27s %12s  %12s  %12s\n", "GFLOP/s, share of peak", "forward", "data grad", "weight grad");
    for (size_t i = 0; i < ARTEL__COUNT(rows); i++) {
        if (strstr(rows[i].name, filter)) measure(&rows[i], isa, total);
    }
    printf("%-27s %7.1f       %7.1f       %7.1f\n", "weighted by work", total[0] / total[1], total[0] / total[2],
           total[0] / total[3]);
    return 0;
}
