/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of this machine. Each figure is the best or the median of several short runs, so that a busy machine
 * disturbs it less: twelve independent chains of multiply-adds in registers; a buffer read or copied again and again; a
 * file and a socket used as training uses them.
 */
#include "cli/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

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

/* Pairs of bfloat16, whose products are added to float32. */
__attribute__((target("avx512f,avx512bf16"))) static double chains_avx512_bf16(void)
{
    __m512 a[CHAINS], sum = _mm512_setzero_ps();
    __m512i x = _mm512_set1_epi32(0x3f803f80), y = _mm512_set1_epi32(0x2f802f80);
    for (int i = 0; i < CHAINS; i++) a[i] = _mm512_set1_ps((float)i);
    for (int k = 0; k < STEPS; k++) {
#pragma GCC unroll 12
        for (int i = 0; i < CHAINS; i++) a[i] = _mm512_dpbf16_ps(a[i], (__m512bh)x, (__m512bh)y);
    }
    for (int i = 0; i < CHAINS; i++) sum = _mm512_add_ps(sum, a[i]);
    return 64.0 * CHAINS * STEPS + (_mm512_reduce_add_ps(sum) == 42.0f);
}

/* Products of tiles of bfloat16. */
__attribute__((target("amx-tile,amx-bf16"))) static double chains_amx(void)
{
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.bytes[i] = 64;
        config.rows[i] = 16;
    }
    _tile_loadconfig(&config);
    for (int k = 0; k < STEPS / 8; k++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_release();
    return 4.0 * 2 * 16 * 16 * 32 * (STEPS / 8);
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

static double chains(artel__isa isa)
{
    if (isa == ARTEL__ISA_AMX) return chains_amx();
    if (isa == ARTEL__ISA_AVX512_BF16) return chains_avx512_bf16();
    return isa == ARTEL__ISA_AVX512 ? chains_avx512() : isa == ARTEL__ISA_AVX2 ? chains_avx2() : 0;
}

static bool has(artel__isa isa)
{
    if (isa == ARTEL__ISA_AMX) return artel__isa_of_machine() == ARTEL__ISA_AMX;
    if (isa == ARTEL__ISA_AVX512_BF16) return __builtin_cpu_supports("avx512bf16");
    if (isa == ARTEL__ISA_AVX512) return __builtin_cpu_supports("avx512f");
    return isa == ARTEL__ISA_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
static double chains(artel__isa isa)
{
    (void)isa;
    return 0;
}

static bool has(artel__isa isa)
{
    (void)isa;
    return false;
}
#endif

enum {
    RUNS = 7,
    ROUNDS = 3,
    ROUND = 128, /* runs of the chains a core */
    TRIPS = 1000,
    SYNCS = 21
};

static double processor_seconds(void)
{
    return (double)artel__thread_time_ns() * 1e-9;
}

double artel__machine_peak(artel__isa isa)
{
    double best = 0;
    if (!has(isa)) return 0;
    for (int r = 0; r < RUNS; r++) {
        double before = processor_seconds(), done = chains(isa), rate = done / (processor_seconds() - before);
        if (rate > best) best = rate;
    }
    return best;
}

typedef struct peak_run {
    artel__isa isa;
    double *done; /* by thread, a cache line apart */
} peak_run;

static void run_peak(void *user, int64_t begin, int64_t end, int thread)
{
    const peak_run *run = user;
    for (int64_t i = begin; i < end; i++) run->done[thread * 8] += chains(run->isa);
}

/* In wall time, and all that was done together: what the threads take from one another counts, a core that several
 * share too. */
double artel__machine_peak_of(artel__pool *pool, artel__isa isa)
{
    int threads = artel__pool_threads(pool), cores = artel__usable_cores();
    peak_run run = {.isa = isa, .done = has(isa) ? calloc((size_t)threads * 8, sizeof *run.done) : NULL};
    double best = 0, before_this = 0;
    for (int r = 0; r < ROUNDS && run.done; r++) {
        int64_t before = artel__now_ns();
        artel__pool_run(pool, (int64_t)(threads < cores ? threads : cores) * ROUND, ARTEL__POOL_ALONE, run_peak, &run);
        double seconds = (double)(artel__now_ns() - before) * 1e-9, done = 0;
        for (int i = 0; i < threads; i++) done += run.done[i * 8];
        if ((done - before_this) / seconds > best) best = (done - before_this) / seconds;
        before_this = done;
    }
    free(run.done);
    return best;
}

/* Reads as a search that finds nothing does: in the widest vectors the C library knows. */
static double sweep(char *from, char *to, size_t bytes)
{
    int64_t before = artel__now_ns();
    const void *found = to ? memcpy(to, from, bytes) : memchr(from, 0, bytes);
    __asm__ volatile("" : : "r"(found) : "memory");
    return (double)(artel__now_ns() - before) * 1e-9;
}

static double bandwidth(size_t bytes, bool copy)
{
    char *from = aligned_alloc(64, bytes / 64 * 64), *to = copy ? aligned_alloc(64, bytes / 64 * 64) : NULL;
    double best = 0;
    int rounds = bytes < ((size_t)64 << 20) ? (int)(((size_t)256 << 20) / (bytes + 1)) + 1 : 5;
    if (from && (to || !copy)) {
        memset(from, 1, bytes / 64 * 64);
        if (to) memset(to, 2, bytes / 64 * 64);
        for (int r = 0; r < rounds; r++) {
            double rate = (double)(bytes / 64 * 64) / (sweep(from, to, bytes / 64 * 64) + 1e-12);
            if (rate > best) best = rate;
        }
    }
    free(from);
    free(to);
    return best;
}

double artel__machine_read(size_t bytes)
{
    return bandwidth(bytes, false);
}

double artel__machine_copy(size_t bytes)
{
    return bandwidth(bytes, true);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

artel_status artel__machine_fsync(artel_context *ctx, const char *folder, double *seconds)
{
    char path[PATH_MAX], block[4096] = {1};
    double took[SYNCS];
    snprintf(path, sizeof path, "%s/artel-bench-%ld", folder, (long)getpid());
    int file = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (file < 0) return artel__fail_errno(ctx, path, "create a file");
    bool well = true;
    for (int i = 0; i < SYNCS && well; i++) {
        int64_t before = artel__now_ns();
        well = pwrite(file, block, sizeof block, (off_t)i * (off_t)sizeof block) == (ssize_t)sizeof block &&
               fsync(file) == 0;
        took[i] = (double)(artel__now_ns() - before) * 1e-9;
    }
    artel_status status = well ? ARTEL_OK : artel__fail_errno(ctx, path, "write and sync the file");
    close(file);
    unlink(path);
    if (!well) return status;
    qsort(took, SYNCS, sizeof *took, by_value);
    *seconds = took[SYNCS / 2];
    return ARTEL_OK;
}

static void *echo(void *argument)
{
    int socket = *(int *)argument;
    char byte;
    while (recv(socket, &byte, 1, 0) == 1 && send(socket, &byte, 1, MSG_NOSIGNAL) == 1) {
    }
    return NULL;
}

/* Two ends of a connection; false when there is none to be had. */
static bool loopback_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    const int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ends[1] = -1;
    bool well = listener >= 0 && ends[0] >= 0 && bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
                listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&address, &length) == 0 &&
                connect(ends[0], (struct sockaddr *)&address, sizeof address) == 0;
    if (well) ends[1] = accept(listener, NULL, NULL);
    if (listener >= 0) close(listener);
    for (int i = 0; i < 2 && ends[i] >= 0; i++) setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (ends[1] >= 0) return true;
    if (ends[0] >= 0) close(ends[0]);
    return false;
}

double artel__machine_round_trip(void)
{
    int ends[2];
    pthread_t thread;
    static const int trips = TRIPS;
    double took[TRIPS], median = 0;
    if (!loopback_pair(ends)) return 0;
    if (pthread_create(&thread, NULL, echo, &ends[1]) == 0) {
        char byte = 1;
        int done = 0;
        for (; done < trips; done++) {
            int64_t before = artel__now_ns();
            if (send(ends[0], &byte, 1, MSG_NOSIGNAL) != 1 || recv(ends[0], &byte, 1, 0) != 1) break;
            took[done] = (double)(artel__now_ns() - before) * 1e-9;
        }
        shutdown(ends[0], SHUT_RDWR);
        pthread_join(thread, NULL);
        qsort(took, (size_t)done, sizeof *took, by_value);
        median = done == trips ? took[trips / 2] : 0;
    }
    close(ends[0]);
    close(ends[1]);
    return median;
}
