/* SPDX-License-Identifier: Apache-2.0 */
/* Data as columns of features, labels and weights, and batches of it. */
#include "estimator/input.h"

#include <pthread.h>
#include <string.h>

#include "base/argument.h"
#include "base/failures.h"
#include "base/text.h"
#include "base/threads.h"
#include "data/data.h"
#include "data/read.h"

/* The batch behind the one that was read last, and the thread that reads it. */
struct artel__input_ahead {
    const artel__input *in;
    void **data, **cursor; /* by column; the thread's while it reads */
    pthread_t thread;
    bool started;
    pthread_mutex_t mutex; /* guards the rest; innermost */
    pthread_cond_t changed;
    int64_t wanted; /* batch; -1: none */
    bool done, failed, quit;
};
typedef struct artel__input_ahead artel__input_ahead;

static artel__input_role role_of(const artel_data_array *column)
{
    static const char *const labels[] = {"y", "label", "labels", "target", "targets"};
    const char *name = column->name ? column->name : "";
    if (column->role == ARTEL_DATA_ROLE_TARGET) return ARTEL__INPUT_LABEL;
    if (column->role == ARTEL_DATA_ROLE_WEIGHT || strcmp(name, "sample_weight") == 0) return ARTEL__INPUT_WEIGHT;
    if (column->role == ARTEL_DATA_ROLE_INPUT) return ARTEL__INPUT_FEATURE;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        if (strcmp(name, labels[i]) == 0) return ARTEL__INPUT_LABEL;
    }
    return artel__starts_with(name, "y_") ? ARTEL__INPUT_LABEL : ARTEL__INPUT_FEATURE;
}

static artel_dtype dtype_of(const artel__input *in, artel_dtype dtype)
{
    if (dtype == ARTEL_DTYPE_BOOL || dtype == ARTEL_DTYPE_STRING) return dtype;
    bool real = dtype == ARTEL_DTYPE_FLOAT32 || dtype == ARTEL_DTYPE_FLOAT64 || dtype == ARTEL_DTYPE_FLOAT16 ||
                dtype == ARTEL_DTYPE_BFLOAT16;
    return real ? in->given.floats : ARTEL_DTYPE_INT32;
}

static artel_status take_column(artel__input *in, int i, artel__arena *arena)
{
    artel_data_array column;
    ARTEL_TRY(artel_reader_describe(in->reader, i, &column));
    const char *name = column.name ? column.name : "";
    in->role[i] = role_of(&column);
    in->bytes[i] = artel_reader_bytes(in->reader, i);
    in->argument[i] =
        (artel_argument){artel__arena_strdup(arena, name), dtype_of(in, column.dtype), false, column.shape};
    in->array[i] = (artel_array){.dtype = column.dtype, .shape = {.rank = column.shape.rank + 1}};
    memcpy(in->array[i].shape.dim + 1, column.shape.dim, sizeof *column.shape.dim * (size_t)column.shape.rank);
    in->array[i].data = artel__arena_alloc(arena, (size_t)in->given.batch_size, in->bytes[i] + 1);
    in->ahead->data[i] = artel__arena_alloc(arena, (size_t)in->given.batch_size, in->bytes[i] + 1);
    return artel__arena_status(arena);
}

static artel_status open_ahead(artel__input *in, size_t count, artel__arena *arena)
{
    artel__input_ahead *a = artel__arena_alloc(arena, 1, sizeof *a);
    if (!a) return ARTEL_ERROR_NO_MEMORY;
    a->data = artel__arena_alloc(arena, count + 1, sizeof *a->data);
    a->cursor = artel__arena_alloc(arena, count + 1, sizeof *a->cursor);
    ARTEL_TRY(artel__arena_status(arena));
    a->wanted = -1;
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->changed, NULL);
    in->ahead = a;
    return ARTEL_OK;
}

static void close_ahead(artel__input_ahead *a)
{
    if (!a) return;
    pthread_mutex_lock(&a->mutex);
    a->quit = true;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
    if (a->started) pthread_join(a->thread, NULL);
    pthread_cond_destroy(&a->changed);
    pthread_mutex_destroy(&a->mutex);
}

static artel_status take_columns(artel__input *in, artel__arena *arena)
{
    size_t count = (size_t)artel_reader_columns(in->reader);
    in->role = artel__arena_alloc(arena, count + 1, sizeof *in->role);
    in->argument = artel__arena_alloc(arena, count + 1, sizeof *in->argument);
    in->array = artel__arena_alloc(arena, count + 1, sizeof *in->array);
    in->cursor = artel__arena_alloc(arena, count + 1, sizeof *in->cursor);
    in->bytes = artel__arena_alloc(arena, count + 1, sizeof *in->bytes);
    in->now = artel__arena_alloc(arena, count + 1, sizeof *in->now);
    ARTEL_TRY(open_ahead(in, count, arena));
    in->columns = (int)count;
    for (int i = 0; i < in->columns; i++) ARTEL_TRY(take_column(in, i, arena));
    return ARTEL_OK;
}

static artel_status check(const artel__input *in)
{
    const artel_estimator_input *given = &in->given;
    if (!given->data)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, "input function", "let it open data", "it has given no data");
    ARTEL_TRY(artel__need_context(in->ctx, artel__data_context(given->data), "the data"));
    if (given->batch_size < 1 || given->batch_size > 1000000000 || given->passes < 0)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, "input function",
                           "give batches of at least one row, and passes of at least 0",
                           "batches of %lld rows, %lld passes", (long long)given->batch_size, (long long)given->passes);
    if (given->floats != ARTEL_DTYPE_FLOAT32 && given->floats != ARTEL_DTYPE_FLOAT64)
        return artel__fail(in->ctx, ARTEL_ERROR_UNSUPPORTED, "input function", "give float32 or float64",
                           "columns of floating-point numbers as %s", artel_dtype_name(given->floats));
    if (artel_data_count(given->data) < 1)
        return artel__fail(in->ctx, ARTEL_ERROR_INVALID, "input function", "give arrays of one length, with rows",
                           "the data has no rows");
    return ARTEL_OK;
}

artel_status artel__input_open(artel_context *ctx, artel_estimator_input_fn *function, void *user, artel__arena *arena,
                               artel__input *out)
{
    *out = (artel__input){.ctx = ctx, .given = {.struct_size = sizeof out->given, .batch_size = 32, .passes = 1}};
    artel_status status = function(user, ctx, &out->given);
    if (status < 0)
        artel__fail(ctx, status, "input function", "see what it has found", "it has failed");
    else
        status = check(out);
    if (status == ARTEL_OK)
        status = out->given.text ? artel_reader_create_with_text(out->given.data, &out->reader)
                                 : artel_reader_create(out->given.data, &out->reader);
    if (status == ARTEL_OK) status = take_columns(out, arena);
    if (status == ARTEL_OK) {
        int64_t rows = artel_data_count(out->given.data);
        out->per_pass = (rows + out->given.batch_size - 1) / out->given.batch_size;
        return ARTEL_OK;
    }
    artel__input_close(out);
    return status;
}

void artel__input_close(artel__input *in)
{
    close_ahead(in->ahead);
    in->ahead = NULL;
    artel_reader_destroy(in->reader);
    artel_data_destroy(in->given.data);
    in->reader = NULL;
    in->given.data = NULL;
}

int64_t artel__input_batches(const artel__input *in)
{
    return in->given.passes == 0 || in->given.passes > INT64_MAX / in->per_pass ? INT64_MAX
                                                                                : in->given.passes * in->per_pass;
}

/* -- reading -- */

static int64_t rows_of(const artel__input *in, int64_t batch)
{
    int64_t first = batch % in->per_pass * in->given.batch_size, left = artel_data_count(in->given.data) - first;
    return left < in->given.batch_size ? left : in->given.batch_size;
}

/* The rows of a batch into memory of the columns; `cursor` is room for a place in each. */
static artel_status fetch(const artel__input *in, int64_t batch, void *const *data, void **cursor)
{
    int64_t rows = rows_of(in, batch), first = batch % in->per_pass * in->given.batch_size;
    for (int64_t r = 0; r < rows; r++) {
        for (int i = 0; i < in->columns; i++) cursor[i] = (uint8_t *)data[i] + (size_t)r * in->bytes[i];
        ARTEL_TRY(artel__reader_fetch(in->reader, batch / in->per_pass, first + r, cursor));
    }
    return ARTEL_OK;
}

/* Reads what is wanted. A failure is nobody's yet: who comes to that batch reads it again, and fails himself. */
static void *read_ahead(void *user)
{
    artel__input_ahead *a = user;
    artel__failures_forget(true);
    pthread_mutex_lock(&a->mutex);
    while (!a->quit) {
        if (a->wanted < 0 || a->done) {
            pthread_cond_wait(&a->changed, &a->mutex);
            continue;
        }
        int64_t batch = a->wanted;
        pthread_mutex_unlock(&a->mutex);
        uint32_t caller = artel__fp_enter();
        artel_status status = fetch(a->in, batch, a->data, a->cursor);
        artel__fp_leave(caller);
        pthread_mutex_lock(&a->mutex);
        a->failed = status < 0;
        a->done = true;
        pthread_cond_broadcast(&a->changed);
    }
    pthread_mutex_unlock(&a->mutex);
    return NULL;
}

/* Takes what was read ahead, if it is this batch: the memory of the two changes places. The thread then rests. */
static bool take(artel__input *in, int64_t batch)
{
    artel__input_ahead *a = in->ahead;
    if (!a->started) return false;
    pthread_mutex_lock(&a->mutex);
    while (a->wanted >= 0 && !a->done) pthread_cond_wait(&a->changed, &a->mutex);
    bool taken = a->wanted == batch && !a->failed;
    a->wanted = -1;
    pthread_mutex_unlock(&a->mutex);
    for (int i = 0; i < in->columns && taken; i++) {
        void *read = a->data[i];
        a->data[i] = in->array[i].data;
        in->array[i].data = read;
    }
    return taken;
}

static void ask(artel__input *in, int64_t batch)
{
    artel__input_ahead *a = in->ahead;
    if (batch >= artel__input_batches(in)) return;
    a->in = in; /* which lies where it will stay */
    if (!a->started && pthread_create(&a->thread, NULL, read_ahead, a) != 0) return;
    a->started = true;
    pthread_mutex_lock(&a->mutex);
    a->wanted = batch;
    a->done = a->failed = false;
    pthread_cond_broadcast(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}

artel_status artel__input_read(artel__input *in, int64_t batch, int64_t *rows)
{
    *rows = rows_of(in, batch);
    if (!take(in, batch)) {
        for (int i = 0; i < in->columns; i++) in->now[i] = in->array[i].data;
        ARTEL_TRY(fetch(in, batch, in->now, in->cursor));
    }
    for (int i = 0; i < in->columns; i++) in->array[i].shape.dim[0] = *rows;
    ask(in, batch + 1);
    return ARTEL_OK;
}
