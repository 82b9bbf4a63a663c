/* SPDX-License-Identifier: Apache-2.0 */
#include "help_check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xmmintrin.h>

#include "kernel/narrow.h"
#include "support/sanitized.h"

enum {
    CUTS = 3,
    SMALL = 4 << 10 /* bytes of results for which references are run once more, or at all under sanitizers */
};

static bool only_wide; /* of the programs kernel.<x>_wide: their other kernels are those of kernel.<x> */

void check_setup(void)
{
    only_wide = getenv("ARTEL_ONLY_WIDE") != NULL;
    _mm_setcsr((_mm_getcsr() & ~0x6000u) | 0x8040u | 0x1f80u); /* nearest, FTZ, DAZ, exceptions masked */
}

bool check_values(void)
{
    return !SUPPORT_SANITIZED;
}

int check_rounds(int whole)
{
    return check_values() ? whole : (whole + 3) / 4;
}

bool check_isa_runs(artel__isa isa)
{
    return only_wide ? isa == ARTEL__ISA_AVX2 && artel__isa_of_machine() >= isa : isa <= artel__isa_of_machine();
}

bool check_can_run(const artel__kernel *kernel, const void *params)
{
    if (only_wide && kernel->isa != ARTEL__ISA_AVX2) return false;
    return check_isa_runs(kernel->isa) && !(kernel->refuses && kernel->refuses(params));
}

static void *scratch_for(const artel__kernel *kernel, const void *params, void **block)
{
    size_t bytes = kernel->scratch_bytes ? kernel->scratch_bytes(params) : 0;
    *block = check_alloc(bytes + 64);
    memset(*block, 0xa5, bytes + 64);
    return (void *)(((uintptr_t)*block + 63) & ~(uintptr_t)63);
}

static void run_cut(const artel__kernel *kernel, const void *params, int cut)
{
    void *block, *scratch = scratch_for(kernel, params, &block);
    int64_t tasks = kernel->tasks(params);
    if (cut == 0 && tasks > 0) kernel->run(params, 0, tasks, scratch);
    if (cut == 1)
        for (int64_t i = tasks; i-- > 0;) kernel->run(params, i, i + 1, scratch);
    if (cut == 2)
        for (int64_t i = 0, n = 1; i < tasks; i += n, n = n % 5 + 2)
            kernel->run(params, i, i + n < tasks ? i + n : tasks, scratch);
    check_free(block);
}

static const artel__kernel *reference_of(const artel__kernel *const *list)
{
    const artel__kernel *last = NULL;
    for (; *list; list++) last = *list;
    return last;
}

void check_run(const artel__kernel *kernel, const void *params)
{
    run_cut(kernel, params, 0);
}

void check_run_reference(const artel__kernel *const *list, const void *params)
{
    check_run(reference_of(list), params);
}

static void compare(const artel__kernel *kernel, int cut, const check_buffer *buffer, const void *expected)
{
    if (memcmp(buffer->data, expected, buffer->bytes) == 0) return;
    const uint32_t *got = buffer->data, *want = expected;
    for (size_t i = 0; i < buffer->bytes / 4; i++) {
        float g, w;
        memcpy(&g, &got[i], 4);
        memcpy(&w, &want[i], 4);
        if (got[i] != want[i])
            fail_msg("%s, cut %d: word %zu is %08x (%.9g), expected %08x (%.9g)", kernel->name, cut, i, got[i], g,
                     want[i], w);
    }
    fail_msg("%s, cut %d: the last bytes differ", kernel->name, cut);
}

/* The first buffer is the first result: the last task leaves everything of it in front of its elements alone, the first
 * one what is behind. */
static void check_elements(const artel__kernel *kernel, const void *params, const check_buffer *first,
                           const void *before)
{
    int64_t tasks = kernel->tasks(params);
    size_t bytes = kernel->elements && tasks > 0 ? (size_t)kernel->elements(params) * sizeof(float) : 0,
           front = (size_t)(tasks - 1) * bytes;
    void *block, *scratch = scratch_for(kernel, params, &block);
    if (tasks > 1 && bytes > 0) {
        assert_true(front < first->bytes && first->bytes <= front + bytes);
        memcpy(first->data, before, first->bytes);
        kernel->run(params, tasks - 1, tasks, scratch);
        assert_memory_equal(first->data, before, front);
        memcpy(first->data, before, first->bytes);
        kernel->run(params, 0, 1, scratch);
        assert_memory_equal((char *)first->data + bytes, (const char *)before + bytes, first->bytes - bytes);
    }
    check_free(block);
}

static size_t bytes_of(const check_buffer *buffers, int count)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += buffers[i].bytes;
    return bytes;
}

/* What the others are compared with: the reference. Under sanitizers, which make it take minutes, it is run on small
 * results alone, and the fastest kernel stands for it. */
static const artel__kernel *judge_of(const artel__kernel *const *list, const void *params, size_t bytes)
{
    bool spared = !check_values() && (only_wide || bytes > SMALL);
    while (list[1] && !(spared && check_can_run(*list, params))) list++;
    return *list;
}

void check_kernels(const artel__kernel *const *list, const void *params, const check_buffer *buffers, int count)
{
    void *before[8], *expected[8];
    bool again = check_values() && !only_wide && bytes_of(buffers, count) <= SMALL;
    assert_true(count <= 8);
    for (int i = 0; i < count; i++) {
        before[i] = check_alloc(buffers[i].bytes);
        expected[i] = check_alloc(buffers[i].bytes);
        memcpy(before[i], buffers[i].data, buffers[i].bytes);
    }
    const artel__kernel *judge = judge_of(list, params, bytes_of(buffers, count));
    check_run(judge, params);
    for (int i = 0; i < count; i++) memcpy(expected[i], buffers[i].data, buffers[i].bytes);
    for (; *list; list++) {
        bool reference = !list[1];
        if (!check_can_run(*list, params) || (reference && !again)) continue;
        if (count > 0) check_elements(*list, params, &buffers[0], before[0]);
        for (int cut = *list == judge ? 1 : 0; cut < (reference ? 2 : CUTS); cut++) {
            for (int i = 0; i < count; i++) memcpy(buffers[i].data, before[i], buffers[i].bytes);
            run_cut(*list, params, cut);
            for (int i = 0; i < count; i++) compare(*list, cut, &buffers[i], expected[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        check_free(before[i]);
        check_free(expected[i]);
    }
}

typedef struct collected {
    float *all;
    int64_t count;
} collected;

static void collect(void *user, const float *part, int64_t first, int64_t count)
{
    collected *c = user;
    memcpy(c->all + first, part, (size_t)count * sizeof *part);
    c->count += count;
}

void check_followed(const artel__kernel *const *list, const void *params, artel__consumer *follow,
                    const float *expected, int64_t count)
{
    collected got = {.all = check_alloc((size_t)count * sizeof *expected)};
    *follow = (artel__consumer){collect, &got};
    for (; *list; list++) {
        if (!check_can_run(*list, params) || !(*list)->follows || !(*list)->follows(params)) continue;
        for (int cut = 0; cut < CUTS; cut++) {
            memset(got.all, 0x55, (size_t)count * sizeof *expected);
            got.count = 0;
            run_cut(*list, params, cut);
            assert_int_equal(got.count, count);
            assert_memory_equal(got.all, expected, (size_t)count * sizeof *expected);
        }
    }
    check_free(got.all);
}

void check_narrow(artel_dtype to, const float *from, float *rounded, int64_t count)
{
    artel__narrow p = {to, count, from, rounded, false};
    const artel__kernel *const *kernel = artel__narrow_kernels;
    if (to == ARTEL_DTYPE_FLOAT32) {
        if (rounded != from) memcpy(rounded, from, (size_t)count * sizeof *from);
        return;
    }
    while (kernel[1] && !check_can_run(*kernel, &p)) kernel++;
    check_run(*kernel, &p);
}

uint64_t check_next(check_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t check_below(check_random *random, int64_t limit)
{
    return (int64_t)(check_next(random) % (uint64_t)limit);
}

float check_uniform(check_random *random, float low, float high)
{
    return low + (high - low) * ((float)(check_next(random) >> 40) * 0x1p-24f);
}

/* Before each array; what it is freed by. */
typedef struct header {
    void *block;
    size_t bytes;
    void *token; /* of cmocka, which counts what is not freed */
} header;

void *check_alloc(size_t bytes)
{
    if (!check_values()) return test_malloc(bytes ? bytes : 1);
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes + sizeof(header) + page - 1) / page * page;
    header h = {.bytes = room + page, .token = test_malloc(1)};
    h.block = mmap(NULL, h.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(h.block != MAP_FAILED);
    uint8_t *end = (uint8_t *)h.block + room;
    assert_int_equal(mprotect(end, page, PROT_NONE), 0);
    memcpy(end - bytes - sizeof h, &h, sizeof h);
    return end - bytes;
}

void check_free(void *array)
{
    if (!array || !check_values()) {
        test_free(array);
        return;
    }
    header h;
    memcpy(&h, (uint8_t *)array - sizeof h, sizeof h);
    test_free(h.token);
    munmap(h.block, h.bytes);
}

float *check_floats(check_random *random, int64_t count, float low, float high)
{
    float *x = check_alloc((size_t)count * sizeof *x);
    for (int64_t i = 0; i < count; i++) x[i] = check_uniform(random, low, high);
    return x;
}

void check_plan_init(artel__fold_plan *plan, int32_t shards, int32_t first, int32_t count, int64_t batch)
{
    int64_t *start = check_alloc((size_t)(count + 1) * sizeof *start);
    artel__fold_plan_make(plan, shards, first, count, batch, start);
}

void check_plan_fini(artel__fold_plan *plan)
{
    check_free((void *)(uintptr_t)plan->start);
    plan->start = NULL;
}

void check_add_floats(void *left, const void *right, int64_t columns)
{
    for (int64_t i = 0; i < columns; i++) ((float *)left)[i] += ((const float *)right)[i];
}

void check_add_doubles(void *left, const void *right, int64_t columns)
{
    for (int64_t i = 0; i < columns; i++) ((double *)left)[i] += ((const double *)right)[i];
}

static const void *find_block(const check_part *parts, int count, int32_t first, int32_t shards)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < parts[i].plan.nodes; k++)
            if (parts[i].plan.node[k].first == first && parts[i].plan.node[k].count == shards)
                return (const char *)parts[i].blocks + (size_t)k * parts[i].block_bytes;
    return NULL;
}

static void finish(const check_part *parts, int count, int64_t columns, check_merge_fn *merge, int32_t first,
                   int32_t shards, void *out)
{
    const void *block = find_block(parts, count, first, shards);
    if (block) {
        memcpy(out, block, parts[0].block_bytes);
        return;
    }
    assert_true(shards > 1);
    void *right = check_alloc(parts[0].block_bytes);
    finish(parts, count, columns, merge, first, shards / 2, out);
    finish(parts, count, columns, merge, first + shards / 2, shards / 2, right);
    merge(out, right, columns);
    check_free(right);
}

void check_finish(const check_part *parts, int count, int64_t columns, check_merge_fn *merge, void *root)
{
    finish(parts, count, columns, merge, 0, parts[0].plan.shards, root);
}
