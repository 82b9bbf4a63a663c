/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching: rows of a feed into the caller's buffers.
 *
 * Nothing here writes to the feed, so any number of threads may fetch at once, and those of a pool share the rows of a
 * call, unless their source delivers several at a time. Rows that lie in memory are converted from where they lie. Rows
 * that are produced (images, planar pixels) go through a scratch block: on the stack when small, else from the heap,
 * and straight into the buffer when nothing is to be converted. The floating-point state is pinned, since foreign
 * callers may have set another, and a denormal would then depend on who fetched it.
 */
#include <string.h>

#include "base/threads.h"
#include "data/feed.h"
#include "data/stage.h"
#include "data/texts.h"

#define STACK_BYTES 4096
#define SHARED_BYTES 65536 /* from which on waking other threads pays */
#define WANTED 64          /* arrays that are read together at most */
#define TOLD 512           /* rows that a source is told of before they are asked for one by one */

/* The row of the core that row `row` of the feed stands for. */
static int64_t core_row(const artel__feed *feed, uint64_t numbered)
{
    uint64_t row = artel__row_number(numbered);
    return feed->rows != NULL ? (int64_t)feed->rows[row] : feed->first + (int64_t)row;
}

static const artel__segment *find_segment(const artel__binding *binding, int64_t row)
{
    return &binding->segments[artel__find_run(&binding->segments[0].first, sizeof *binding->segments,
                                              binding->segment_count, row)];
}

static artel_status bad_label(const artel__feed *feed, const artel__binding *binding, int64_t row, double value)
{
    char text[32];
    if (value > -9e15 && value < 9e15 && (double)(int64_t)value != value)
        return artel__fail(feed->core->ctx, ARTEL_ERROR_INVALID, feed->core->data->specification,
                           "give whole class numbers; Keras would cut the fraction off in silence",
                           "record %lld (counted from 0): the label %s in '%s' is no class number", (long long)row,
                           artel__format_double(text, sizeof text, value), binding->public.name);
    return artel__fail(feed->core->ctx, ARTEL_ERROR_INVALID, feed->core->data->specification,
                       "correct the record, or give the model an output for every class",
                       "record %lld (counted from 0): the label %s in '%s' is outside the classes 0 to %lld of '%s'",
                       (long long)row, artel__format_double(text, sizeof text, value), binding->public.name,
                       (long long)binding->conversion.classes - 1, binding->layer);
}

static artel_status convert_row(const artel__feed *feed, const artel__binding *binding, int64_t row, const void *source,
                                void *target)
{
    double bad = 0;
    return artel__conversion_run(&binding->conversion, source, target, &bad) ? ARTEL_OK
                                                                             : bad_label(feed, binding, row, bad);
}

/* One row that its source has to produce. */
static artel_status produce_row(const artel__feed *feed, const artel__binding *binding, int64_t row, void *scratch,
                                void *target)
{
    if (binding->is_synthetic) {
        artel__synthetic_row(&binding->synthetic, row, target);
        return ARTEL_OK;
    }
    const artel__segment *segment = find_segment(binding, row);
    bool direct = binding->conversion.kind == ARTEL__CONVERT_COPY;
    const artel__source *source = segment->source;
    ARTEL_TRY(source->format->fetch_row(source, binding->array, &binding->source_row, row - segment->first,
                                        direct ? target : scratch));
    return direct ? ARTEL_OK : convert_row(feed, binding, row, scratch, target);
}

static artel_status produce_rows(const artel__feed *feed, const artel__binding *binding, const uint64_t *rows,
                                 int64_t count, uint8_t *buffer)
{
    uint64_t stack[STACK_BYTES / 8];
    void *scratch = stack, *heap = NULL;
    bool needed = !binding->is_synthetic && binding->conversion.kind != ARTEL__CONVERT_COPY;
    if (needed && binding->source_bytes > sizeof stack) {
        ARTEL_TRY(artel__alloc(feed->core->ctx, binding->source_bytes, feed->core->data->specification, &heap));
        scratch = heap;
    }
    artel_status status = ARTEL_OK;
    for (int64_t i = 0; i < count && status == ARTEL_OK; i++) {
        if (feed->core->draws) artel__stage_set_pass(rows[i] >> 44);
        status = produce_row(feed, binding, core_row(feed, rows[i]), scratch,
                             buffer + (size_t)i * binding->public.row_bytes);
    }
    if (feed->core->draws) artel__stage_set_pass(0);
    artel__free(feed->core->ctx, heap);
    return status;
}

/* ---- rows that are read as a whole ---- */

/* Bindings of which rows are read together. */
typedef struct record_job {
    const artel__binding *binding[WANTED];
    uint8_t *buffer[WANTED];
    size_t scratch_at[WANTED];
    int count;
    size_t scratch_bytes;
} record_job;

static bool is_direct(const artel__binding *binding)
{
    return binding->conversion.kind == ARTEL__CONVERT_COPY;
}

static void add_to_job(record_job *job, const artel__binding *binding, uint8_t *buffer)
{
    job->binding[job->count] = binding;
    job->buffer[job->count] = buffer;
    job->scratch_at[job->count++] = job->scratch_bytes;
    if (!is_direct(binding)) job->scratch_bytes += (binding->source_bytes + 15) / 16 * 16;
}

static artel_status produce_record(const artel__feed *feed, const record_job *job, int64_t row, int64_t i,
                                   uint8_t *scratch)
{
    artel__row_want wants[WANTED];
    uint8_t *targets[WANTED];
    const artel__segment *segment = find_segment(job->binding[0], row); /* all arrays of a row lie in one source */
    for (int b = 0; b < job->count; b++) {
        const artel__binding *binding = job->binding[b];
        targets[b] = job->buffer[b] + (size_t)i * binding->public.row_bytes;
        wants[b] = (artel__row_want){binding->array, &binding->source_row,
                                     is_direct(binding) ? targets[b] : scratch + job->scratch_at[b]};
    }
    ARTEL_TRY(artel__source_fetch(segment->source, row - segment->first, wants, job->count));
    for (int b = 0; b < job->count; b++) {
        if (!is_direct(job->binding[b]))
            ARTEL_TRY(convert_row(feed, job->binding[b], row, scratch + job->scratch_at[b], targets[b]));
    }
    return ARTEL_OK;
}

static artel_status produce_records(const artel__feed *feed, const record_job *job, const uint64_t *rows, int64_t count)
{
    uint64_t stack[STACK_BYTES / 8];
    void *scratch = stack, *heap = NULL;
    if (job->scratch_bytes > sizeof stack) {
        ARTEL_TRY(artel__alloc(feed->core->ctx, job->scratch_bytes, feed->core->data->specification, &heap));
        scratch = heap;
    }
    artel_status status = ARTEL_OK;
    for (int64_t i = 0; i < count && status == ARTEL_OK; i++) {
        if (feed->core->draws) artel__stage_set_pass(rows[i] >> 44);
        status = produce_record(feed, job, core_row(feed, rows[i]), i, scratch);
    }
    if (feed->core->draws) artel__stage_set_pass(0);
    artel__free(feed->core->ctx, heap);
    return status;
}

/* ---- */

/* Rows of one block of memory that are taken as they are. */
static void copy_rows(const artel__feed *feed, const artel__binding *binding, const uint64_t *rows, int64_t count,
                      uint8_t *buffer)
{
    const artel__segment *segment = &binding->segments[0];
    size_t bytes = binding->public.row_bytes;
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *source = segment->base + (size_t)(core_row(feed, rows[i]) - segment->first) * segment->stride;
        if (bytes == sizeof(uint32_t)) /* labels and indices: a call for each would cost more than the row */
            memcpy(buffer + (size_t)i * sizeof(uint32_t), source, sizeof(uint32_t));
        else
            memcpy(buffer + (size_t)i * bytes, source, bytes);
    }
}

static artel_status gather_rows(const artel__feed *feed, const artel__binding *binding, const uint64_t *rows,
                                int64_t count, uint8_t *buffer)
{
    if (binding->conversion.kind == ARTEL__CONVERT_COPY && binding->segment_count == 1) {
        copy_rows(feed, binding, rows, count, buffer);
        return ARTEL_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t row = core_row(feed, rows[i]);
        const artel__segment *segment = find_segment(binding, row);
        const uint8_t *source = segment->base + (size_t)(row - segment->first) * segment->stride;
        ARTEL_TRY(convert_row(feed, binding, row, source, buffer + (size_t)i * binding->public.row_bytes));
    }
    return ARTEL_OK;
}

/* ---- sources that deliver several arrays at a time ---- */

/* What a call of fetch_rows needs: a buffer for each array of the source, and the rows in its own numbers. */
typedef struct delivery {
    void *block; /* one heap block for all of this */
    void **buffers;
    uint64_t *rows;
} delivery;

static artel_status prepare_delivery(const artel__feed *feed, const artel__source *source, const uint64_t *rows,
                                     int64_t count, delivery *out)
{
    size_t arrays = (size_t)source->array_count, total = arrays * sizeof(void *) + (size_t)count * sizeof(uint64_t);
    for (size_t i = 0; i < arrays; i++) {
        const artel__source_array *array = &source->arrays[i];
        total += ((size_t)artel_shape_count(&array->row) * artel__cell_size(array->dtype) * (size_t)count + 15) / 8 * 8;
    }
    ARTEL_TRY(artel__alloc(feed->core->ctx, total, source->target, &out->block));
    out->buffers = out->block;
    out->rows = (uint64_t *)(void *)(out->buffers + arrays);
    uint8_t *at = (uint8_t *)(out->rows + count);
    for (size_t i = 0; i < arrays; i++) {
        const artel__source_array *array = &source->arrays[i];
        out->buffers[i] = at;
        at += ((size_t)artel_shape_count(&array->row) * artel__cell_size(array->dtype) * (size_t)count + 15) / 8 * 8;
    }
    for (int64_t i = 0; i < count; i++)
        out->rows[i] =
            artel__row_in_pass((uint64_t)core_row(feed, rows[i]), feed->core->draws ? (int64_t)(rows[i] >> 44) : 0);
    return ARTEL_OK;
}

/* Where row `begin` of a call goes; NULL: the array is left out. */
static uint8_t *target_of(const artel__feed_core *core, void *const *buffers, int b, int64_t begin)
{
    return buffers[b] ? (uint8_t *)buffers[b] + (size_t)begin * core->bindings[b].public.row_bytes : NULL;
}

static artel_status convert_delivery(const artel__feed *feed, const delivery *delivered, int64_t begin, int64_t count,
                                     void *const *buffers)
{
    const artel__feed_core *core = feed->core;
    for (int b = 0; b < core->binding_count; b++) {
        const artel__binding *binding = &core->bindings[b];
        const uint8_t *from = delivered->buffers[binding->array];
        uint8_t *target = target_of(core, buffers, b, begin);
        if (target == NULL || from == target) continue;
        for (int64_t i = 0; i < count; i++) {
            ARTEL_TRY(convert_row(feed, binding, (int64_t)artel__row_number(delivered->rows[i]),
                                  from + (size_t)i * binding->source_bytes,
                                  target + (size_t)i * binding->public.row_bytes));
        }
    }
    return ARTEL_OK;
}

static artel_status fetch_delivered(const artel__feed *feed, const uint64_t *rows, int64_t begin, int64_t end,
                                    void *const *buffers)
{
    const artel__feed_core *core = feed->core;
    const artel__source *source = &core->data->sources[0];
    delivery delivered;
    int64_t count = end - begin;
    ARTEL_TRY(prepare_delivery(feed, source, rows + begin, count, &delivered));
    for (int b = 0; b < core->binding_count; b++) {
        const artel__binding *binding = &core->bindings[b];
        uint8_t *target = target_of(core, buffers, b, begin);
        if (target != NULL && binding->conversion.kind == ARTEL__CONVERT_COPY)
            delivered.buffers[binding->array] = target;
    }
    artel_status status = source->format->fetch_rows(source, delivered.rows, count, delivered.buffers);
    if (status == ARTEL_OK) status = convert_delivery(feed, &delivered, begin, count, buffers);
    artel__free(core->ctx, delivered.block);
    return status;
}

/* ---- */

typedef struct fetch_job {
    const artel__feed *feed;
    const uint64_t *rows;
    void *const *buffers;
    artel__texts *keeper; /* of who fetches */
    atomic_int status;    /* of a piece that failed */
} fetch_job;

/* Rows [begin, end) of the call, of a source that reads them as a whole. */
static artel_status fetch_records(const fetch_job *job, int64_t begin, int64_t end)
{
    const artel__feed_core *core = job->feed->core;
    record_job together = {.count = 0};
    for (int b = 0; b < core->binding_count; b++) {
        uint8_t *buffer = target_of(core, job->buffers, b, begin);
        if (buffer != NULL) add_to_job(&together, &core->bindings[b], buffer);
        if (together.count < WANTED && (together.count == 0 || b + 1 < core->binding_count)) continue;
        ARTEL_TRY(produce_records(job->feed, &together, job->rows + begin, end - begin));
        together = (record_job){.count = 0};
    }
    return ARTEL_OK;
}

/* Rows [begin, end) of the call, one after another. */
static artel_status fetch_one_by_one(const fetch_job *job, int64_t begin, int64_t end)
{
    const artel__feed_core *core = job->feed->core;
    const uint64_t *rows = job->rows + begin;
    if (core->data->sources[0].format->fetch_record != NULL) return fetch_records(job, begin, end);
    for (int b = 0; b < core->binding_count; b++) {
        const artel__binding *binding = &core->bindings[b];
        uint8_t *buffer = target_of(core, job->buffers, b, begin);
        if (buffer == NULL) continue;
        bool in_memory = binding->segment_count > 0 && binding->segments[0].base != NULL;
        if (in_memory)
            ARTEL_TRY(gather_rows(job->feed, binding, rows, end - begin, buffer));
        else
            ARTEL_TRY(produce_rows(job->feed, binding, rows, end - begin, buffer));
    }
    return ARTEL_OK;
}

/* Tells a source that is far which rows follow: the end of those that it has been told, all of one pass. */
static int64_t expect_rows(const fetch_job *job, int64_t begin, int64_t end)
{
    const artel__feed_core *core = job->feed->core;
    int64_t numbers[TOLD], count = 0;
    uint64_t pass = job->rows[begin] >> 44;
    for (; begin + count < end && count < TOLD && job->rows[begin + count] >> 44 == pass; count++)
        numbers[count] = core_row(job->feed, job->rows[begin + count]);
    if (core->draws) artel__stage_set_pass(pass);
    count = artel__source_expect(&core->data->sources[0], numbers, count);
    if (core->draws) artel__stage_set_pass(0);
    return begin + count;
}

/* Rows [begin, end) of the call. */
static artel_status fetch_piece(const fetch_job *job, int64_t begin, int64_t end)
{
    const artel__feed_core *core = job->feed->core;
    if (core->data->source_count != 1 || !core->data->sources[0].far) return fetch_one_by_one(job, begin, end);
    while (begin < end) {
        int64_t told = expect_rows(job, begin, end);
        ARTEL_TRY(fetch_one_by_one(job, begin, told));
        begin = told;
    }
    return ARTEL_OK;
}

static void fetch_task(void *user, int64_t begin, int64_t end, int thread)
{
    fetch_job *job = user;
    (void)thread;
    artel__texts *before = artel__texts_set_keeper(job->keeper);
    artel_status status = fetch_piece(job, begin, end);
    artel__texts_set_keeper(before);
    if (status < 0) atomic_store(&job->status, status);
}

static artel_status fetch_bindings(const artel__feed *feed, artel__pool *pool, const uint64_t *rows, int64_t count,
                                   void *const *buffers)
{
    const artel__feed_core *core = feed->core;
    fetch_job job = {.feed = feed, .rows = rows, .buffers = buffers, .keeper = artel__texts_keeper()};
    size_t bytes = 0;
    for (int b = 0; b < core->binding_count; b++)
        bytes += buffers[b] ? core->bindings[b].public.row_bytes * (size_t)count : 0;
    if (!pool || bytes < SHARED_BYTES) return fetch_piece(&job, 0, count);
    artel__pool_run(pool, count, ARTEL__POOL_ALONE, fetch_task, &job);
    return (artel_status)atomic_load(&job.status);
}

/* The same rows of every array of a call that begins at `begin`. */
static artel_status fetch_piece_ahead(const artel__feed *feed, const uint64_t *rows, int64_t begin, int64_t end,
                                      void *const *buffers)
{
    const artel__feed_core *core = feed->core;
    void **at;
    ARTEL_TRY(artel__alloc(core->ctx, (size_t)core->array_count * sizeof *at, core->data->specification, (void **)&at));
    for (int i = 0; i < core->array_count; i++)
        at[i] = buffers[i] ? (uint8_t *)buffers[i] + (size_t)begin * core->arrays[i].row_bytes : NULL;
    artel_status status = artel__feed_fetch_ahead(feed, NULL, rows + begin, end - begin, at);
    artel__free(core->ctx, at);
    return status;
}

artel_status artel__feed_fetch_piece(const artel__feed *feed, const uint64_t *rows, int64_t begin, int64_t end,
                                     void *const *buffers)
{
    if (feed->core->program) return fetch_piece_ahead(feed, rows, begin, end, buffers);
    const fetch_job job = {.feed = feed, .rows = rows, .buffers = buffers};
    uint32_t state = artel__fp_enter();
    bool delivers = feed->core->data->sources[0].format->fetch_rows != NULL;
    artel_status status = delivers ? fetch_delivered(feed, rows, begin, end, buffers) : fetch_piece(&job, begin, end);
    artel__fp_leave(state);
    return status;
}

artel_status artel__feed_fetch(const artel__feed *feed, artel__pool *pool, const uint64_t *rows, int64_t count,
                               void *const *buffers)
{
    const artel__feed_core *core = feed->core;
    for (int64_t i = 0; i < count; i++) {
        if (artel__row_number(rows[i]) < (uint64_t)feed->count) continue;
        return artel__fail(core->ctx, ARTEL_ERROR_INVALID, core->data->specification, "",
                           "no row %llu (there are %lld)", (unsigned long long)rows[i], (long long)feed->count);
    }
    if (count <= 0) return ARTEL_OK;
    return core->program ? artel__feed_fetch_ahead(feed, pool, rows, count, buffers)
                         : artel__feed_fetch_bound(feed, pool, rows, count, buffers);
}

artel_status artel__feed_fetch_bound(const artel__feed *feed, artel__pool *pool, const uint64_t *rows, int64_t count,
                                     void *const *buffers)
{
    const artel__feed_core *core = feed->core;
    uint32_t state = artel__fp_enter();
    artel_status status = core->data->sources[0].format->fetch_rows != NULL
                              ? fetch_delivered(feed, rows, 0, count, buffers)
                              : fetch_bindings(feed, pool, rows, count, buffers);
    artel__fp_leave(state);
    return status;
}
