/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing every kernel of a list with its reference, bit for bit, under several cuts into tasks. */
#ifndef TESTS_KERNEL_HELP_CHECK_H
#define TESTS_KERNEL_HELP_CHECK_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>

#include "kernel/fold.h"
#include "kernel/kernel.h"

/* What a kernel writes: restored before every run, compared after it. */
typedef struct check_buffer {
    void *data;
    size_t bytes;
} check_buffer;

/* Sets the floating-point state of compute; with ARTEL_ONLY_WIDE in the environment only AVX2's kernels run beside the
 * reference, those that the programs kernel.<x>_wide are built for. */
void check_setup(void);

/* Whether values are compared with float64's, and the reference with itself: not under sanitizers, which look at
 * memory, and for which the plain build has compared them. */
bool check_values(void);

/* Of `whole` random cases those to be tried: under sanitizers a quarter, for the same loops run over the same memory in
 * each, and minutes longer. */
int check_rounds(int whole);

/* Whether this machine has the instruction set, and whether it can run the kernel on these parameters. */
bool check_isa_runs(artel__isa isa);
bool check_can_run(const artel__kernel *kernel, const void *params);

/* Runs the reference, then every kernel that this machine can run: all tasks at once, one by one from the last to the
 * first, in uneven pieces; the reference itself again only one by one, and on small results, for it is what takes the
 * time. On return the buffers hold the reference's result. */
void check_kernels(const artel__kernel *const *list, const void *params, const check_buffer *buffers, int count);

/* Runs every kernel that can be followed with `follow`, a part of `params`, under the same cuts: the parts make up
 * `expected`. */
void check_followed(const artel__kernel *const *list, const void *params, artel__consumer *follow,
                    const float *expected, int64_t count);

/* All tasks of a kernel at once, on whatever the buffers hold. */
void check_run(const artel__kernel *kernel, const void *params);

/* The reference alone, likewise. */
void check_run_reference(const artel__kernel *const *list, const void *params);

/* `rounded` (may be `from`) gets what the type holds of `from`: by the fastest kernel, which narrow's own test
 * compares. */
void check_narrow(artel_dtype to, const float *from, float *rounded, int64_t count);

/* A sequence of numbers that depends on `seed` alone. */
typedef struct check_random {
    uint64_t state;
} check_random;

uint64_t check_next(check_random *random);
int64_t check_below(check_random *random, int64_t limit);
float check_uniform(check_random *random, float low, float high);
/* An array, freed by check_free (NULL accepted). No byte behind it can be read: a page without access follows, or a
 * sanitizer watches. */
void *check_alloc(size_t bytes);
void check_free(void *array);
/* The same of uniform numbers. */
float *check_floats(check_random *random, int64_t count, float low, float high);

/* A fold plan over shards [first, first + count) of V = shards with a batch of `batch` rows; fini frees it. */
void check_plan_init(artel__fold_plan *plan, int32_t shards, int32_t first, int32_t count, int64_t batch);
void check_plan_fini(artel__fold_plan *plan);

/* One replica's blocks: what a fold kernel wrote for the nodes of a plan. */
typedef struct check_part {
    artel__fold_plan plan;
    void *blocks;
    size_t block_bytes;
} check_part;

typedef void check_merge_fn(void *left, const void *right, int64_t columns);
void check_add_floats(void *left, const void *right, int64_t columns);
void check_add_doubles(void *left, const void *right, int64_t columns);

/* Finishes the tree over the blocks of several replicas, as an all-reduce would; root has block_bytes bytes. */
void check_finish(const check_part *parts, int count, int64_t columns, check_merge_fn *merge, void *root);

#endif
