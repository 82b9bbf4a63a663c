/* SPDX-License-Identifier: Apache-2.0 */
/* Late steps: blocks of rows are taken through the steps that the oldest of them lacks; who is ahead joins when its
 * turn comes. A block stays in the nearest cache meanwhile, where a walk of the table for each step would read all of
 * it from memory. */
#include "exec/deferred.h"

#include <string.h>

enum {
    BLOCK = 256 /* rows */
};
#define ASLEEP UINT32_MAX /* remembers nothing: no step without a gradient changes it */

struct artel__deferred {
    artel_context *ctx;
    artel__deferred_table table;
    artel__pool *pool;
    const artel__kernel *kernel;
    uint32_t *taken; /* by row: steps */
    float *zeros;    /* a block's gradient */
};

artel_status artel__deferred_reserve(artel__deferred_steps *steps)
{
    void *wider = steps->step;
    if (steps->count < steps->room) return ARTEL_OK;
    uint32_t room = 2 * steps->room + 256;
    ARTEL_TRY(artel__realloc(steps->ctx, (size_t)room * sizeof *steps->step, "parameter server", &wider));
    steps->step = wider;
    steps->room = room;
    return ARTEL_OK;
}

void artel__deferred_note(artel__deferred_steps *steps, float rate, float product)
{
    steps->step[steps->count].rate = rate;
    steps->step[steps->count++].product = product;
}

/* -- which rows sleep -- */

static bool remembers(const artel__deferred *d, int64_t row)
{
    const artel__deferred_table *t = &d->table;
    for (int k = 0; k < ARTEL__APPLY_SLOTS; k++) {
        const float *slot = t->slot[k] ? t->slot[k] + row * t->width : NULL;
        for (int64_t i = 0; slot && i < t->width; i++) {
            uint32_t bits;
            memcpy(&bits, slot + i, sizeof bits);
            if (bits) return true;
        }
    }
    return false;
}

static void begin_rows(void *user, int64_t begin, int64_t end, int thread)
{
    artel__deferred *d = user;
    int64_t to = end * BLOCK < d->table.rows ? end * BLOCK : d->table.rows;
    bool sleeps = !artel__rule_changes_idle(d->table.options, true);
    (void)thread;
    for (int64_t row = begin * BLOCK; row < to; row++) d->taken[row] = sleeps && !remembers(d, row) ? ASLEEP : 0;
}

static int64_t blocks_of(int64_t rows)
{
    return (rows + BLOCK - 1) / BLOCK;
}

void artel__deferred_begin(artel__deferred *d)
{
    artel__pool_run(d->pool, blocks_of(d->table.rows), ARTEL__POOL_ALONE, begin_rows, d);
}

/* -- steps -- */

static uint32_t first_lacking(const artel__deferred *d, const int32_t *token, int32_t count, uint32_t all)
{
    uint32_t first = all;
    for (int32_t k = 0; k < count; k++) {
        if (d->taken[token[k]] < first) first = d->taken[token[k]];
    }
    return first;
}

/* A block of at most BLOCK rows. */
static void take_steps(artel__deferred *d, const artel__deferred_steps *steps, const int32_t *token, int32_t count)
{
    const artel__deferred_table *t = &d->table;
    int32_t behind[BLOCK], lacking = 0;
    artel__apply_rows p = {.width = t->width, .most = BLOCK, .token = behind, .count = &lacking};
    p.apply = (artel__apply){.count = t->rows * t->width, .variable = t->variable, .gradient = d->zeros};
    p.apply.squares = t->squares ? d->zeros : NULL;
    memcpy(p.apply.slot, t->slot, sizeof p.apply.slot);
    for (uint32_t k = first_lacking(d, token, count, steps->count); k < steps->count; k++) {
        lacking = 0;
        for (int32_t i = 0; i < count; i++) {
            if (d->taken[token[i]] <= k) behind[lacking++] = token[i];
        }
        p.most = lacking;
        artel__apply_prepare(&p.apply, t->options, steps->step[k].rate, steps->first + (int64_t)k,
                             steps->step[k].product);
        d->kernel->run(&p, 0, d->kernel->tasks(&p), NULL);
    }
    for (int32_t i = 0; i < count; i++) {
        if (d->taken[token[i]] != ASLEEP) d->taken[token[i]] = steps->count;
    }
}

typedef struct job {
    artel__deferred *deferred;
    const artel__deferred_steps *steps;
    const int32_t *token; /* NULL: all rows */
    int64_t count;
} job;

static void take_blocks(void *user, int64_t begin, int64_t end, int thread)
{
    const job *j = user;
    (void)thread;
    for (int64_t b = begin; b < end; b++) {
        int64_t first = b * BLOCK, rest = j->count - first;
        int32_t all[BLOCK], count = rest < BLOCK ? (int32_t)rest : BLOCK;
        for (int32_t i = 0; i < count && !j->token; i++) all[i] = (int32_t)(first + i);
        take_steps(j->deferred, j->steps, j->token ? j->token + first : all, count);
    }
}

static void take_all(const job *j)
{
    uint32_t state = artel__fp_enter();
    int64_t blocks = blocks_of(j->count), grain = blocks > 1 ? ARTEL__POOL_ALONE : ARTEL__POOL_CALLER;
    if (j->steps->count) artel__pool_run(j->deferred->pool, blocks, grain, take_blocks, (void *)(uintptr_t)j);
    artel__fp_leave(state);
}

void artel__deferred_rows(artel__deferred *d, const artel__deferred_steps *steps, const int32_t *token, int32_t count)
{
    take_all(&(job){d, steps, token, count});
}

void artel__deferred_all(artel__deferred *d, const artel__deferred_steps *steps)
{
    take_all(&(job){d, steps, NULL, d->table.rows});
}

void artel__deferred_mark(artel__deferred *d, const artel__deferred_steps *steps, const int32_t *token, int32_t count)
{
    for (int32_t k = 0; k < count; k++) d->taken[token[k]] = steps->count;
}

/* -- life -- */

artel_status artel__deferred_create(artel_context *ctx, const artel__deferred_table *table, artel__pool *pool,
                                    artel__deferred **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__deferred), "parameter server", &block));
    artel__deferred *d = block;
    d->ctx = ctx;
    d->table = *table;
    d->pool = pool;
    const artel__apply_rows like = {.width = table->width};
    d->kernel = artel__kernel_choose(artel__apply_rows_kernels, artel__context_isa(ctx), &like);
    artel_status status = artel__calloc(ctx, (size_t)table->rows + 1, sizeof *d->taken, "parameter server", &block);
    if (status == ARTEL_OK) {
        d->taken = block;
        status = artel__calloc(ctx, (size_t)(BLOCK * table->width) + 1, sizeof *d->zeros, "parameter server", &block);
    }
    if (status < 0) {
        artel__deferred_destroy(d);
        return status;
    }
    d->zeros = block;
    *out = d;
    return ARTEL_OK;
}

void artel__deferred_destroy(artel__deferred *d)
{
    if (!d) return;
    artel__free(d->ctx, d->taken);
    artel__free(d->ctx, d->zeros);
    artel__free(d->ctx, d);
}
