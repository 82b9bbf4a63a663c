/* SPDX-License-Identifier: Apache-2.0 */
/* Running a kernel's parameters: by artel's own reference on the CPU, by compute() on the host, or by compute() on the device. */
#ifndef OWN_BITS_RUN_CUH
#define OWN_BITS_RUN_CUH

#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#include "tile.cuh"

enum backend {
    REFERENCE, /* the last of artel's kernels of the kind */
    HOST,      /* compute(), compiled for the host: what remains to be tried where there is no GPU */
    DEVICE,    /* compute(), a thread for each element */
    TILED      /* the same, products and convolutions in tiles */
};

static bool have_gpu;

static void check(cudaError_t error, const char *what)
{
    if (error == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorString(error));
    fflush(stdout);
    _Exit(0);
}

/* -- memory: the same arrays at the same offsets on both sides -- */

/* Without a GPU the other side is a second copy on the host, so that moving is tried too. */
static struct arena {
    char *host, *other;
    int64_t size, top;
    std::vector<const void *> plans;
} arena;

/* Of the host, in pages that stay where that is to be had. */
static void *host_memory(int64_t bytes)
{
    void *at = NULL;
    if (have_gpu && cudaMallocHost(&at, (size_t)bytes) == cudaSuccess) return at;
    cudaGetLastError();
    if (posix_memalign(&at, 256, (size_t)bytes) != 0) _Exit(0);
    return at;
}

static void *other_memory(int64_t bytes)
{
    void *at = NULL;
    if (!have_gpu) return host_memory(bytes);
    check(cudaMalloc(&at, (size_t)bytes), "memory");
    return at;
}

static void arena_init(int64_t size)
{
    arena.size = size;
    arena.host = (char *)host_memory(size);
    arena.other = (char *)other_memory(size);
}

/* Zeros, until the scope around ends. */
template <class T> static T *array(int64_t count)
{
    int64_t bytes = (count * (int64_t)sizeof(T) + 255) / 256 * 256;
    char *at = arena.host + arena.top;
    if (bytes > arena.size - arena.top) {
        printf("no room for %lld bytes\n", (long long)bytes);
        fflush(stdout);
        _Exit(0);
    }
    arena.top += bytes;
    memset(at, 0, (size_t)bytes);
    return (T *)at;
}

struct scope {
    int64_t top = arena.top;
    size_t plans = arena.plans.size();
    ~scope()
    {
        arena.top = top;
        arena.plans.resize(plans);
    }
};

static uint64_t moved_address(uint64_t at)
{
    uint64_t offset = at - (uint64_t)arena.host;
    return offset < (uint64_t)arena.size ? (uint64_t)arena.other + offset : at;
}

/* A plan points into the arena itself: behind it lies the one for the other side. */
static artel__fold_plan *plan_of(int32_t shards, int32_t first, int32_t count, int64_t batch)
{
    artel__fold_plan *plan = array<artel__fold_plan>(2);
    artel__fold_plan_make(plan, shards, first, count, batch, array<int64_t>(count + 1));
    plan[1] = plan[0];
    plan[1].start = (const int64_t *)moved_address((uint64_t)plan->start);
    arena.plans.push_back(plan);
    return plan;
}

/* Parameters for the other side: every word that is an address in the arena becomes that of the copy. */
template <class P> static P moved(const P &p)
{
    static_assert(sizeof(P) % sizeof(uint64_t) == 0);
    uint64_t word[sizeof(P) / sizeof(uint64_t)];
    P result;
    memcpy(word, &p, sizeof p);
    for (uint64_t &w : word) {
        if (std::find(arena.plans.begin(), arena.plans.end(), (const void *)w) != arena.plans.end()) w += sizeof(artel__fold_plan);
        w = moved_address(w);
    }
    memcpy(&result, word, sizeof result);
    return result;
}

/* All arrays to the other side. */
static void upload(void)
{
    if (have_gpu)
        check(cudaMemcpy(arena.other, arena.host, (size_t)arena.top, cudaMemcpyHostToDevice), "upload");
    else
        memcpy(arena.other, arena.host, (size_t)arena.top);
}

/* Back from it, when it is done. */
template <class T> static void download(T *at, int64_t count)
{
    const void *from = (const void *)moved_address((uint64_t)at);
    if (have_gpu)
        check(cudaMemcpy(at, from, (size_t)count * sizeof *at, cudaMemcpyDeviceToHost), "download");
    else
        memcpy(at, from, (size_t)count * sizeof *at);
}

/* f(begin, end) over [0, count) on all cores, in the floating-point state of compute. */
template <class F> static void parallel(int64_t count, int64_t least, F f)
{
    int64_t workers = std::max<int64_t>(1, std::min<int64_t>(std::thread::hardware_concurrency(), count / least));
    std::vector<std::thread> threads;
    for (int64_t w = 1; w < workers; w++) {
        threads.emplace_back([=] {
            artel__fp_enter();
            f(count * w / workers, count * (w + 1) / workers);
        });
    }
    uint32_t state = artel__fp_enter();
    f(0, count / workers);
    artel__fp_leave(state);
    for (std::thread &t : threads) t.join();
}

/* -- the references -- */

#define KERNELS(kind)                                                    \
    static const artel__kernel *const *kernels_of(const artel__##kind &) \
    {                                                                    \
        return artel__##kind##_kernels;                                  \
    }
KERNELS(unary_forward)
KERNELS(unary_gradient)
KERNELS(binary_forward)
KERNELS(binary_gradient)
KERNELS(noise)
KERNELS(product_forward)
KERNELS(product_pack)
KERNELS(product_weight_gradient)
KERNELS(conv2d_forward)
KERNELS(conv2d_data_gradient)
KERNELS(conv2d_weight_gradient)
KERNELS(pool_forward)
KERNELS(pool_gradient)
KERNELS(batch_moments_rows)
KERNELS(batch_moments_fold)
KERNELS(batch_norm_finalize)
KERNELS(batch_norm_moving)
KERNELS(batch_norm_forward)
KERNELS(batch_norm_gradient_rows)
KERNELS(batch_norm_gradient)
KERNELS(softmax_forward)
KERNELS(softmax_gradient)
KERNELS(loss_forward)
KERNELS(loss_gradient)
KERNELS(fold_columns)
KERNELS(cast)
KERNELS(apply)
KERNELS(flat)
static const artel__kernel *const *kernels_of(const artel__loss_seed_kernel &)
{
    return artel__loss_seed_kernels;
}

static void run_kernel(const artel__kernel *kernel, const void *p)
{
    int64_t tasks = kernel->tasks(p);
    size_t bytes = kernel->scratch_bytes ? kernel->scratch_bytes(p) : 0;
    parallel(tasks, 1, [=](int64_t begin, int64_t end) {
        void *scratch = NULL;
        if (bytes && posix_memalign(&scratch, 64, bytes) != 0) _Exit(0);
        kernel->run(p, begin, end, scratch);
        free(scratch);
    });
}

template <class P> static void run_reference(const P &p)
{
    const artel__kernel *const *list = kernels_of(p);
    while (list[1]) list++;
    run_kernel(*list, &p);
}

template <class P> static void run_host(const P &p)
{
    parallel(elements(p), 64, [&p](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i++) compute(p, i);
    });
}

/* What is no kernel of artel's: the processor itself is the reference. */
static void run_reference(const plain &p)
{
    run_host(p);
}

/* -- the device -- */

template <class P> __global__ void compute_kernel(P p, int64_t count)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < count; i += (int64_t)gridDim.x * blockDim.x) compute(p, i);
}

template <class P> static void run_device(const P &p, cudaStream_t stream)
{
    int64_t count = elements(p), threads = count >= 65536 ? 256 : 64, blocks = std::min<int64_t>((count + threads - 1) / threads, 65535);
    if (count > 0) compute_kernel<<<(unsigned)blocks, (unsigned)threads, 0, stream>>>(moved(p), count);
}

template <class P> static void run_tiled(const P &p, cudaStream_t stream)
{
    run_device(p, stream);
}

static void run_tiled(const artel__product_forward &p, cudaStream_t stream)
{
    if (p.turned || p.arithmetic == ARTEL__ARITHMETIC_TILES)
        run_device(p, stream);
    else if (p.m * p.n <= 65536)
        tile_launch<tiny_tile<product_source>>({moved(p)}, stream);
    else
        tile_launch<small_tile<product_source>>({moved(p)}, stream);
}

static void run_tiled(const artel__conv2d_forward &p, cudaStream_t stream)
{
    if (p.shape.groups > 1 || p.arithmetic == ARTEL__ARITHMETIC_TILES)
        run_device(p, stream);
    else
        tile_launch<small_tile<conv_source>>({moved(p)}, stream);
}

struct runner {
    backend by;
    cudaStream_t stream = NULL;
    template <class P> void operator()(const P &p) const
    {
        if (by == REFERENCE)
            run_reference(p);
        else if (by == HOST)
            run_host(moved(p));
        else if (by == DEVICE)
            run_device(p, stream);
        else
            run_tiled(p, stream);
    }
};

#endif
