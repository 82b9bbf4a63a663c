/* SPDX-License-Identifier: Apache-2.0 */
/* Samples and labels of a data source, all of them in memory, in the order of fit, and batches of any of them: for
 * loop.c and custom_loop.c. */
#ifndef ROWS_H
#define ROWS_H

#include <artel/artel.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH 32

/* A column of the data, all of it, and the batch of the moment. */
typedef struct column {
    artel_dtype dtype;
    artel_shape shape; /* of an element, as the model takes it */
    char *all, *batch;
    size_t bytes; /* of an element */
} column;

typedef struct rows {
    column column[2]; /* samples, labels */
    int64_t count;
    uint64_t *order; /* numbers of samples */
    artel_data *data;
    artel_trainer *trainer; /* knows the order of fit */
} rows;

static artel_status rows_make_room(rows *r, artel_reader *reader, int c)
{
    column *to = &r->column[c];
    artel_data_array is;
    artel_status status = artel_reader_describe(reader, c, &is);
    if (status < 0) return status;
    to->dtype = is.dtype;
    to->bytes = artel_reader_bytes(reader, c);
    to->all = malloc(to->bytes * (size_t)r->count);
    to->batch = malloc(to->bytes * BATCH);
    return to->all && to->batch ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
}

/* Of a model that is compiled; close them in any case. */
static artel_status rows_open(rows *r, artel_context *ctx, artel_model *model, const char *specification)
{
    artel_reader *reader = NULL;
    artel_status status = artel_data_open(ctx, specification, &r->data);
    if (status == ARTEL_OK) status = artel_trainer_create(model, r->data, NULL, &r->trainer);
    if (status == ARTEL_OK) status = artel_reader_create(r->data, &reader);
    if (status < 0) return status;
    r->count = artel_data_count(r->data);
    r->order = malloc((size_t)r->count * sizeof *r->order);
    if (!r->order) status = ARTEL_ERROR_NO_MEMORY;
    for (int c = 0; c < 2 && status == ARTEL_OK; c++) status = rows_make_room(r, reader, c);
    if (status == ARTEL_OK) status = artel_model_input(model, 0, NULL, NULL, &r->column[0].shape);
    for (int64_t i = 0; i < r->count && status == ARTEL_OK; i++) {
        void *const at[2] = {r->column[0].all + (size_t)i * r->column[0].bytes,
                             r->column[1].all + (size_t)i * r->column[1].bytes};
        status = artel_reader_next(reader, at);
    }
    artel_reader_destroy(reader);
    return status;
}

/* As `artel fit --seed 0` takes them in pass 0, 1, ... */
static artel_status rows_order(rows *r, int64_t pass)
{
    return artel_trainer_order(r->trainer, pass, r->order, r->count);
}

/* Those of these numbers, at most BATCH of them: inputs of a function, until the next call. */
static void rows_take(rows *r, const uint64_t *number, int64_t count, artel_array in[2])
{
    for (int c = 0; c < 2; c++) {
        const column *from = &r->column[c];
        in[c] = (artel_array){from->dtype, {from->shape.rank + 1, {count}}, from->batch};
        for (int k = 0; k < from->shape.rank; k++) in[c].shape.dim[k + 1] = from->shape.dim[k];
        for (int64_t i = 0; i < count; i++)
            memcpy(from->batch + (size_t)i * from->bytes, from->all + number[i] * from->bytes, from->bytes);
    }
}

typedef struct rows_rank {
    float number;
    int64_t place;
} rows_rank;

/* The largest first, with what is no number among them; equal ones by place, so that the order is one. */
static inline int rows_compare(const void *a, const void *b)
{
    const rows_rank *x = a, *y = b;
    if (x->number != y->number) return x->number < y->number ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Leaves so many in `order`, those of the largest numbers, in the order they had. */
static inline artel_status rows_keep(rows *r, const float *number, int64_t count)
{
    size_t all = (size_t)r->count;
    int64_t left = 0;
    rows_rank *rank = malloc(all * sizeof *rank);
    char *chosen = calloc(all, 1);
    for (int64_t i = 0; rank && chosen && i < r->count; i++)
        rank[i] = (rows_rank){isnan(number[i]) ? HUGE_VALF : number[i], i};
    if (rank && chosen) qsort(rank, all, sizeof *rank, rows_compare);
    for (int64_t i = 0; rank && chosen && i < count; i++) chosen[rank[i].place] = 1;
    for (int64_t i = 0; rank && chosen && i < r->count; i++) {
        if (chosen[i]) r->order[left++] = r->order[i];
    }
    artel_status status = rank && chosen ? ARTEL_OK : ARTEL_ERROR_NO_MEMORY;
    free(chosen);
    free(rank);
    return status;
}

static void rows_close(rows *r)
{
    for (int c = 0; c < 2; c++) {
        free(r->column[c].all);
        free(r->column[c].batch);
    }
    free(r->order);
    artel_trainer_destroy(r->trainer);
    artel_data_destroy(r->data);
}

#endif
