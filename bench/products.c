/* SPDX-License-Identifier: Apache-2.0 */
/* artel's matrix products beside those of oneDNN, OpenBLAS and BLIS, one core, as shares of the FMA peak.
 *
 * products [ROUNDS [FILTER]] (7 rounds): C = A B in float32, squares of 64 to 4096 and the shapes of the bench models.
 * Every contender is a process of its own with one thread, pinned to the first core allowed; they take turns, call by
 * call, in each round, and the peak is measured in the same rounds. Figures are medians. A peer comes once for each
 * choice of kernels that its own variables allow, since detection may miss new processors; the best one counts. Peers
 * are opened with dlopen and left out, with a word, where they are not installed (Debian: libdnnl-dev,
 * libopenblas0-pthread, libblis4-openmp). Their weights are row-major and packed in each call; artel's lie in panels,
 * as they do in training. No product may have more than 4096^3 multiply-adds.
 *
 * Built by hand, after artel: cc -O2 -D_GNU_SOURCE -Isrc -Iinclude bench/products.c build/libartel_static.a -ljansson
 * -lz -lm -lpthread -ldl -o build/products
 */
#include <dlfcn.h>
#include <immintrin.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "kernel/product.h"

typedef struct shape {
    int m, n, k;
} shape;

static const shape shapes[] = {
    {64, 64, 64},       {128, 128, 128},   {256, 256, 256},   {512, 512, 512},   {1024, 1024, 1024}, {2048, 2048, 2048},
    {4096, 4096, 4096}, {64, 512, 784},    {256, 512, 784},   {256, 10, 512},    {64, 128, 21632},   {6400, 256, 128},
    {2048, 256, 256},   {2048, 1024, 256}, {2048, 256, 1024}, {2048, 96, 256},   {50176, 64, 64},    {50176, 256, 64},
    {50176, 64, 256},   {12544, 512, 128}, {12544, 128, 512}, {3136, 1024, 256}, {3136, 256, 1024},  {784, 2048, 512},
    {784, 512, 2048},   {2312, 192, 768},  {512, 320, 2048},
};

/* Which library, and the variable that makes it take certain kernels. */
typedef struct contender {
    const char *name, *library, *variable, *value;
} contender;

static const contender contenders[] = {
    {"artel", NULL, NULL, NULL},
    {"oneDNN", "libdnnl.so.2", "ONEDNN_MAX_CPU_ISA", "ALL"},
    {"OpenBLAS", "libopenblas.so.0", NULL, NULL},
    {"OpenBLAS", "libopenblas.so.0", "OPENBLAS_CORETYPE", "SKYLAKEX"},
    {"OpenBLAS", "libopenblas.so.0", "OPENBLAS_CORETYPE", "ZEN"},
    {"BLIS", "libblis.so.4", NULL, NULL},
    {"BLIS", "libblis.so.4", "BLIS_ARCH_TYPE", "0"}, /* its number of skx */
};

enum {
    CONTENDERS = sizeof contenders / sizeof *contenders,
    MOST_ROUNDS = 99,
    ROW_MAJOR = 101,
    PLAIN = 111
};

typedef int dnnl_sgemm_fn(char, char, int64_t, int64_t, int64_t, float, const float *, int64_t, const float *, int64_t,
                          float, float *, int64_t);
typedef void cblas_sgemm_fn(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *,
                            int);

/* A contender's side: what it multiplies with, and its buffers. */
typedef struct side {
    dnnl_sgemm_fn *dnnl;
    cblas_sgemm_fn *cblas;
    float *a, *b, *c;
    void *scratch; /* artel's */
} side;

static artel__isa isa(void)
{
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) return ARTEL__ISA_AVX512;
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? ARTEL__ISA_AVX2 : ARTEL__ISA_BASELINE;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static float *floats(int64_t count)
{
    size_t large = 2 << 20, bytes = ((size_t)count * sizeof(float) + large) / large * large;
    float *x = aligned_alloc(large, bytes);
    if (!x) exit(1);
    madvise(x, bytes, MADV_HUGEPAGE);
    for (int64_t i = 0; i < count; i++) x[i] = (float)(i * 37 % 101) * 0.01f - 0.5f;
    return x;
}

static artel__product_forward product(const side *s, shape p)
{
    return (artel__product_forward){
        .m = p.m, .n = p.n, .k = p.k, .a = s->a, .lda = p.k, .w = s->b, .out = s->c, .ldo = p.n};
}

static void multiply(const side *s, shape p)
{
    if (s->dnnl) {
        s->dnnl('N', 'N', p.m, p.n, p.k, 1, s->a, p.k, s->b, p.n, 0, s->c, p.n);
    } else if (s->cblas) {
        s->cblas(ROW_MAJOR, PLAIN, PLAIN, p.m, p.n, p.k, 1, s->a, p.k, s->b, p.n, 0, s->c, p.n);
    } else {
        artel__product_forward f = product(s, p);
        const artel__kernel *kernel = artel__kernel_choose(artel__product_forward_kernels, isa(), &f);
        kernel->run(&f, 0, kernel->tasks(&f), s->scratch);
    }
}

static void *scratch_for(const side *s, shape p)
{
    artel__product_forward f = product(s, p);
    const artel__kernel *kernel = artel__kernel_choose(artel__product_forward_kernels, isa(), &f);
    return floats((int64_t)((kernel->scratch_bytes ? kernel->scratch_bytes(&f) : 0) / sizeof(float)));
}

/* GFLOP/s of calls that take a hundredth of a second together, or of one. */
static double rate(const side *s, shape p)
{
    double flop = 2.0 * p.m * p.n * p.k, start = seconds(), time;
    int64_t calls = 0;
    do {
        multiply(s, p);
        calls++;
        time = seconds() - start;
    } while (time < 0.01);
    return flop * (double)calls / time * 1e-9;
}

/* The rate of a shape, in buffers of its own. */
static double serve_one(side *s, shape p)
{
    s->a = floats((int64_t)p.m * p.k), s->b = floats((int64_t)p.k * (p.n + 32)), s->c = floats((int64_t)p.m * p.n);
    s->scratch = scratch_for(s, p);
    multiply(s, p);
    double answer = rate(s, p);
    free(s->a);
    free(s->b);
    free(s->c);
    free(s->scratch);
    return answer;
}

/* Answers shapes on `in` with rates on `out`; the first answer is 0 or, where there is no such library, -1. There is
 * none at all where the kernels asked for use instructions that this processor does not have. */
static void serve(const contender *c, int in, int out)
{
    side s = {0};
    double answer = 0;
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("BLIS_NUM_THREADS", "1", 1);
    if (c->variable) setenv(c->variable, c->value, 1);
    if (c->library) {
        void *library = dlopen(c->library, RTLD_NOW | RTLD_LOCAL);
        if (library) {
            *(void **)&s.dnnl = dlsym(library, "dnnl_sgemm"); /* as POSIX has it */
            *(void **)&s.cblas = dlsym(library, "cblas_sgemm");
        }
        if (!s.dnnl && !s.cblas) answer = -1;
    }
    if (answer == 0) serve_one(&s, shapes[0]);
    if (write(out, &answer, sizeof answer) != sizeof answer || answer < 0) _exit(0);
    for (shape p; read(in, &p, sizeof p) == sizeof p;) {
        answer = serve_one(&s, p);
        if (write(out, &answer, sizeof answer) != sizeof answer) _exit(1);
    }
    _exit(0);
}

__attribute__((target("avx512f"))) static double peak_avx512(void)
{
    __m512 a[12], x = _mm512_set1_ps(1.0000001f), y = _mm512_set1_ps(1e-9f);
    double start = seconds();
    for (int i = 0; i < 12; i++) a[i] = _mm512_set1_ps((float)i);
    for (int k = 0; k < 300000; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) a[i] = _mm512_fmadd_ps(a[i], x, y);
    }
    double time = seconds() - start;
    for (int i = 1; i < 12; i++) a[0] = _mm512_add_ps(a[0], a[i]);
    return (12.0 * 32 * 300000 + (_mm512_reduce_add_ps(a[0]) == 42.0f)) / time * 1e-9;
}

__attribute__((target("avx2,fma"))) static double peak_avx2(void)
{
    __m256 a[12], x = _mm256_set1_ps(1.0000001f), y = _mm256_set1_ps(1e-9f);
    double start = seconds();
    for (int i = 0; i < 12; i++) a[i] = _mm256_set1_ps((float)i);
    for (int k = 0; k < 300000; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < 12; i++) a[i] = _mm256_fmadd_ps(a[i], x, y);
    }
    double time = seconds() - start;
    for (int i = 1; i < 12; i++) a[0] = _mm256_add_ps(a[0], a[i]);
    return (12.0 * 16 * 300000 + (_mm256_cvtss_f32(a[0]) == 42.0f)) / time * 1e-9;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int count)
{
    qsort(x, (size_t)count, sizeof *x, by_size);
    return x[count / 2];
}

typedef struct peer {
    int to, from; /* to < 0: left out */
} peer;

static peer start(const contender *c)
{
    int there[2], back[2];
    double answer = -1;
    if (pipe(there) || pipe(back)) exit(1);
    pid_t child = fork();
    if (child < 0) exit(1);
    if (child == 0) {
        close(there[1]);
        close(back[0]);
        serve(c, there[0], back[1]);
    }
    close(there[0]);
    close(back[1]);
    bool answered = read(back[0], &answer, sizeof answer) == sizeof answer;
    if (answered && answer == 0) return (peer){there[1], back[0]};
    fprintf(stderr, "%s %s: %s %s; left out\n", c->name, c->value ? c->value : "", c->library ? c->library : "it",
            answered ? "is not installed" : "does not run on this processor");
    close(there[1]);
    return (peer){-1, -1};
}

static void measure(peer *peers, shape p, int rounds)
{
    static double got[CONTENDERS + 1][MOST_ROUNDS];
    double best = 0, rates[CONTENDERS] = {0};
    const char *who = "none";
    for (int r = 0; r < rounds; r++) {
        got[CONTENDERS][r] = isa() >= ARTEL__ISA_AVX512 ? peak_avx512() : peak_avx2();
        for (int i = 0; i < CONTENDERS; i++) {
            if (peers[i].to < 0) continue;
            if (write(peers[i].to, &p, sizeof p) != sizeof p ||
                read(peers[i].from, &got[i][r], sizeof(double)) != sizeof(double)) {
                fprintf(stderr, "%s ended at %d x %d x %d\n", contenders[i].name, p.m, p.n, p.k);
                exit(1);
            }
        }
    }
    double peak = median(got[CONTENDERS], rounds);
    printf("%5d x %4d x %5d ", p.m, p.n, p.k);
    for (int i = 0; i < CONTENDERS; i++) {
        if (peers[i].to < 0) continue;
        rates[i] = median(got[i], rounds);
        if (i > 0 && rates[i] > best) best = rates[i], who = contenders[i].name;
        printf(" %8.0f%%", 100 * rates[i] / peak);
    }
    printf("   %.2f of %s\n", best > 0 ? rates[0] / best : 0, who);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 7;
    cpu_set_t set, one;
    peer peers[CONTENDERS];
    if (rounds < 1 || rounds > MOST_ROUNDS || isa() < ARTEL__ISA_AVX2) {
        fprintf(stderr, "usage: products [ROUNDS (1 to %d) [FILTER]], on a processor with AVX2\n", MOST_ROUNDS);
        return 2;
    }
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &set)) CPU_SET(i, &one);
    }
    if (sched_setaffinity(0, sizeof one, &one)) return 1;
    printf("share of FMA peak        ");
    for (int i = 0; i < CONTENDERS; i++) {
        peers[i] = start(&contenders[i]);
        if (peers[i].to < 0) continue;
        printf(" %s%s%s", contenders[i].name, contenders[i].variable ? ":" : "",
               contenders[i].variable ? contenders[i].value : "");
    }
    printf("   artel over the best\n");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char name[64];
        snprintf(name, sizeof name, "%dx%dx%d", shapes[i].m, shapes[i].n, shapes[i].k);
        if (argc < 3 || strstr(name, argv[2])) measure(peers, shapes[i], rounds);
    }
    return 0;
}
