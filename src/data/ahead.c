/* SPDX-License-Identifier: Apache-2.0 */
/* Delivering what is computed of the inputs where rows are fetched (text/program.h).
 *
 * The rows that are bound go straight to the caller where he wants them as they are, and into a block of their own
 * where only the program reads them. Then each row is run through the program, whose results go to the caller or, when
 * only later steps read them, into the block. Rows are shared out among the threads of the pool; a row depends on
 * nothing but itself, so that nobody can tell. Strings are held against UTF-8 here, for every format alike: what is no
 * text is an error that names the record.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/threads.h"
#include "base/utf8.h"
#include "data/feed.h"
#include "data/texts.h"

#define SHARED_ROWS 16 /* from which on waking other threads pays */

const artel__program *artel__feed_program(const artel__feed *feed)
{
    return feed->core->program;
}

const artel__cells *artel__feed_values(const artel__feed *feed)
{
    return feed->core->values;
}

static void publish(artel__feed_core *core, int slot, const artel__feed_array *array)
{
    core->slot[slot] = core->array_count;
    core->arrays[core->array_count++] = *array;
}

/* Shapes of all values in this data, and those of them that are delivered. */
static artel_status publish_values(artel__feed_core *core)
{
    const artel__program *program = core->program;
    for (int i = 0; i < program->inputs; i++)
        artel__cells_describe(&core->values[i], core->bindings[i].public.dtype, &core->bindings[i].public.row);
    ARTEL_TRY(artel__program_infer(core->ctx, program, core->values));
    for (int i = 0; i < artel__program_values(program); i++) {
        const artel__cells *value = &core->values[i];
        int step = i - program->inputs;
        if (!program->delivered[i]) continue;
        const artel__feed_array array = {.name = step < 0 ? core->bindings[i].public.name : program->step[step].layer,
                                         .role = ARTEL_DATA_ROLE_INPUT,
                                         .index = i,
                                         .dtype = value->dtype,
                                         .row = value->shape,
                                         .row_bytes = (size_t)value->count * artel__cell_size(value->dtype)};
        publish(core, step < 0 ? i : core->binding_count + step, &array);
    }
    return ARTEL_OK;
}

artel_status artel__feed_publish(artel__feed_core *core)
{
    int steps = core->program ? core->program->steps : 0;
    size_t most = (size_t)(core->binding_count + steps);
    core->arrays = artel__arena_alloc(&core->arena, most, sizeof *core->arrays);
    core->slot = artel__arena_alloc(&core->arena, most, sizeof *core->slot);
    core->values = artel__arena_alloc(&core->arena, most, sizeof *core->values);
    if (core->arrays == NULL || core->slot == NULL || core->values == NULL) return ARTEL_ERROR_NO_MEMORY;
    for (size_t i = 0; i < most; i++) core->slot[i] = -1;
    if (core->program) ARTEL_TRY(publish_values(core));
    for (int i = 0; i < core->binding_count; i++) {
        bool computed = core->program && core->bindings[i].public.role == ARTEL_DATA_ROLE_INPUT;
        if (!computed) publish(core, i, &core->bindings[i].public);
    }
    return ARTEL_OK;
}

/* ---- rows ---- */

typedef struct ahead_job {
    const artel__feed *feed;
    const uint64_t *rows;
    uint8_t **base;    /* by value: its row 0 of the call */
    size_t *row_bytes; /* by value */
    int64_t count;
    artel_status status; /* of a row that failed aloud */
    bool quiet;          /* failures are found first and told of afterwards: the same one, whatever thread meets it */
    _Atomic int64_t failed; /* the first row that failed, or `count` */
} ahead_job;

static int64_t record_of(const ahead_job *job, int64_t i)
{
    const artel__feed *feed = job->feed;
    return feed->rows != NULL ? (int64_t)feed->rows[job->rows[i]] : feed->first + (int64_t)job->rows[i];
}

static artel_status check_text(const ahead_job *job, int64_t row, int input, const artel__cells *cells)
{
    const artel__feed_core *core = job->feed->core;
    const artel__string *word = cells->data;
    for (int64_t i = 0; cells->dtype == ARTEL_DTYPE_STRING && i < cells->count; i++) {
        size_t good = artel__utf8_valid(word[i].bytes, word[i].length);
        if (good == word[i].length) continue;
        if (job->quiet) return ARTEL_ERROR_INVALID;
        return artel__fail(core->ctx, ARTEL_ERROR_INVALID, core->data->specification, "write the text in UTF-8",
                           "record %lld (counted from 0): byte %zu of the text in '%s' is no UTF-8",
                           (long long)record_of(job, row), good, core->bindings[input].public.name);
    }
    return ARTEL_OK;
}

static artel_status run_row(const ahead_job *job, int64_t row, artel__cells *values, artel__row_scratch *scratch)
{
    const artel__feed_core *core = job->feed->core;
    const artel__program *program = core->program;
    artel__row_fault fault = {NULL, 0, 0};
    char what[160];
    int at = 0;
    for (int v = 0; v < artel__program_values(program); v++) {
        values[v].data = job->base[v] + (size_t)row * job->row_bytes[v];
        if (v < program->inputs) ARTEL_TRY(check_text(job, row, v, &values[v]));
    }
    artel_status status = artel__program_run(program, values, scratch, &fault, &at);
    if (status != ARTEL_ERROR_INVALID || !fault.why || job->quiet) return status;
    const artel__program_step *step = &program->step[at];
    artel__cell_quote(&values[step->in[fault.input]], fault.element, what, sizeof what);
    return artel__fail(core->ctx, ARTEL_ERROR_INVALID, core->data->specification, "correct the record, or the layer",
                       "record %lld (counted from 0): layer \"%s\": %s %s", (long long)record_of(job, row), step->layer,
                       what, fault.why);
}

static void run_rows(void *user, int64_t begin, int64_t end, int thread)
{
    ahead_job *job = user;
    const artel__feed_core *core = job->feed->core;
    artel__row_scratch scratch = {.ctx = core->ctx};
    size_t bytes = (size_t)artel__program_values(core->program) * sizeof(artel__cells);
    void *values = NULL;
    (void)thread;
    artel_status status = artel__alloc(core->ctx, bytes, core->data->specification, &values);
    if (status == ARTEL_OK) memcpy(values, core->values, bytes);
    int64_t row = begin;
    while (row < end && status == ARTEL_OK) {
        status = run_row(job, row, values, &scratch);
        row += status == ARTEL_OK;
    }
    artel__row_scratch_fini(&scratch);
    artel__free(core->ctx, values);
    if (status < 0 && !job->quiet) job->status = status;
    int64_t seen = atomic_load(&job->failed);
    while (status < 0 && row < seen && !atomic_compare_exchange_weak(&job->failed, &seen, row)) continue;
}

/* Where every value of the call lies: at the caller's, or in `block`. NULL for the block measures it. */
static size_t place_values(const artel__feed *feed, int64_t count, void *const *buffers, uint8_t *block, ahead_job *job,
                           void **bound)
{
    const artel__feed_core *core = feed->core;
    const artel__program *program = core->program;
    size_t used = 0;
    for (int v = 0; v < artel__program_values(program); v++) {
        int own = v < program->inputs ? v : core->binding_count + v - program->inputs, slot = core->slot[own];
        size_t bytes = (size_t)core->values[v].count * artel__cell_size(core->values[v].dtype);
        bool outside = slot >= 0 && buffers[slot] != NULL;
        if (block) {
            job->base[v] = outside ? buffers[slot] : block + used;
            job->row_bytes[v] = bytes;
            if (v < program->inputs) bound[v] = job->base[v];
        }
        if (!outside) used += (bytes * (size_t)count + 63) / 64 * 64;
    }
    return used;
}

/* What is bound, with texts that last as long as `texts`: what is made of them holds none. */
static artel_status fetch_bound(const artel__feed *feed, artel__pool *pool, const uint64_t *rows, int64_t count,
                                void *const *bound, artel__texts *texts)
{
    artel__texts_init(texts, feed->core->ctx, 0);
    artel__texts *before = artel__texts_set_keeper(texts);
    artel_status status = artel__feed_fetch_bound(feed, pool, rows, count, bound);
    artel__texts_set_keeper(before);
    return status;
}

artel_status artel__feed_fetch_ahead(const artel__feed *feed, artel__pool *pool, const uint64_t *rows, int64_t count,
                                     void *const *buffers)
{
    const artel__feed_core *core = feed->core;
    int values = artel__program_values(core->program);
    ahead_job job = {.feed = feed, .rows = rows, .count = count, .failed = count};
    size_t tables =
        (size_t)values * (sizeof *job.base + sizeof *job.row_bytes) + (size_t)core->binding_count * sizeof(void *);
    size_t head = (tables + 63) / 64 * 64, bytes = head + place_values(feed, count, buffers, NULL, &job, NULL) + 64;
    artel__texts texts;
    void *block;
    ARTEL_TRY(artel__alloc_aligned(core->ctx, bytes, core->data->specification, &block));
    job.base = block;
    job.row_bytes = (size_t *)(void *)(job.base + values);
    void **bound = (void **)(void *)(job.row_bytes + values);
    place_values(feed, count, buffers, (uint8_t *)block + head, &job, bound);
    for (int b = core->program->inputs; b < core->binding_count; b++) bound[b] = buffers[core->slot[b]];
    artel_status status = fetch_bound(feed, pool, rows, count, bound, &texts);
    uint32_t state = artel__fp_enter();
    if (status == ARTEL_OK && pool && count >= SHARED_ROWS) {
        job.quiet = true;
        artel__pool_run(pool, count, ARTEL__POOL_ALONE, run_rows, &job);
        job.quiet = false;
        int64_t failed = atomic_load(&job.failed);
        if (failed < count) run_rows(&job, failed, count, 0);
    } else if (status == ARTEL_OK) {
        run_rows(&job, 0, count, 0);
    }
    artel__fp_leave(state);
    if (status == ARTEL_OK) status = job.status;
    artel__texts_fini(&texts);
    artel__free_aligned(core->ctx, block, bytes);
    return status;
}
