/* SPDX-License-Identifier: Apache-2.0 */
/* artel data bench: how fast data can be read, in order and in a random one, by one thread. */
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/text.h"
#include "cli/data.h"
#include "data/features.h"
#include "data/record_file.h"

enum {
    AT_ONCE = 64 /* records */
};

static void say(const artel__data_command *o, const char *key, const char *label, double seconds, int64_t rows,
                double bytes)
{
    double rate = seconds > 0 ? 1 / seconds : 0;
    if (o->json)
        artel__show(stdout,
                    "{\"what\": \"%s\", \"rows\": %lld, \"seconds\": %.6g, \"rows_per_second\": %.6g, "
                    "\"bytes_per_second\": %.6g}\n",
                    key, (long long)rows, seconds, (double)rows * rate, bytes * rate);
    else
        artel__show(stdout, "%-36s %12.4g rows/s %10.4g GB/s\n", label, (double)rows * rate, bytes * rate * 1e-9);
}

static artel_status walk_file(artel_context *ctx, const artel__record_file *file)
{
    artel__unfold_room room = {NULL, 0};
    artel__proto payload;
    artel_status status = ARTEL_OK;
    for (int64_t i = 0; i < file->count && status == ARTEL_OK; i++) {
        status = artel__data_go_on(ctx, file->path);
        if (status == ARTEL_OK) status = artel__record_file_at(ctx, file, i, &room, &payload);
    }
    artel__unfold_room_fini(ctx, &room);
    return status;
}

/* The framing alone: every record of every file, both checksums. */
static artel_status walk_records(const artel__data_command *o, const artel__data_opened *opened)
{
    int64_t begin = artel__now_ns(), records = 0;
    double bytes = 0;
    for (int s = 0; s < opened->data->source_count; s++) {
        int count;
        const artel__record_file *files = artel__tfrecord_files(&opened->data->sources[s], &count);
        for (int f = 0; f < count; f++) {
            ARTEL_TRY(walk_file(opened->data->ctx, &files[f]));
            records += files[f].count;
            bytes += (double)files[f].size;
        }
    }
    if (records > 0)
        say(o, "records", "records, both checksums", (double)(artel__now_ns() - begin) * 1e-9, records, bytes);
    return ARTEL_OK;
}

/* Parsing alone: the columns of records that have just been verified, a few records at a time, as fit reads them. */
typedef struct parsing {
    const artel__data_opened *opened;
    const artel__features *features;
    artel__row_want *wants;
    int count;
    artel__unfold_room rooms[AT_ONCE];
    int64_t took, rows; /* in nanoseconds */
    double bytes;
} parsing;

/* All but images, each at its place in a row. */
static artel_status want_columns(parsing *p)
{
    void *wants;
    ARTEL_TRY(artel__alloc(p->opened->data->ctx, (size_t)p->opened->rows.column_count * sizeof *p->wants,
                           "the columns of records", &wants));
    p->wants = wants;
    for (int c = 0; c < p->opened->rows.column_count; c++) {
        const artel__rows_column *column = &p->opened->rows.columns[c];
        const artel__feature *feature = &p->features->item[column->array];
        if (feature->decode == ARTEL__DECODE_IMAGE) continue;
        p->wants[p->count++] = (artel__row_want){column->array, &feature->row, (uint8_t *)p->opened->row + column->at};
    }
    return ARTEL_OK;
}

static artel_status parse_some(parsing *p, const char *path, const artel__proto *records, int count)
{
    artel__example_reader reader = {.ctx = p->opened->data->ctx, .path = path};
    int64_t begin = artel__now_ns();
    for (int r = 0; r < count; r++)
        ARTEL_TRY(artel__example_rows(&reader, records[r], p->features, p->wants, p->count));
    p->took += artel__now_ns() - begin;
    return ARTEL_OK;
}

static artel_status parse_file(parsing *p, const artel__record_file *file)
{
    artel__proto records[AT_ONCE];
    for (int64_t row = 0; row < file->count;) {
        int some = 0;
        ARTEL_TRY(artel__data_go_on(p->opened->data->ctx, file->path));
        for (; some < AT_ONCE && row < file->count; some++, row++)
            ARTEL_TRY(artel__record_file_at(p->opened->data->ctx, file, row, &p->rooms[some], &records[some]));
        ARTEL_TRY(parse_some(p, file->path, records, some));
    }
    p->rows += file->count;
    p->bytes += (double)file->size;
    return ARTEL_OK;
}

/* Nothing for data of other formats. */
static artel_status parse_records(const artel__data_command *o, const artel__data_opened *opened)
{
    parsing p = {.opened = opened, .features = artel__tfrecord_features(&opened->data->sources[0])};
    int count = 0;
    if (p.features == NULL) return ARTEL_OK;
    const artel__record_file *files = artel__tfrecord_files(&opened->data->sources[0], &count);
    artel_status status = want_columns(&p);
    for (int f = 0; f < count && status == ARTEL_OK; f++) status = parse_file(&p, &files[f]);
    for (int i = 0; i < AT_ONCE; i++) artel__unfold_room_fini(opened->data->ctx, &p.rooms[i]);
    artel__free(opened->data->ctx, p.wants);
    if (p.rows > 0 && status == ARTEL_OK) say(o, "parse", "features, parsed", (double)p.took * 1e-9, p.rows, p.bytes);
    return status;
}

static artel_status read_rows(const artel__data_command *o, const artel__data_opened *opened, const uint64_t *order,
                              int64_t count)
{
    int64_t begin = artel__now_ns();
    double bytes = 0;
    int64_t told = 0; /* data of another machine, what comes next */
    for (int64_t i = 0; i < count; i++) {
        ARTEL_TRY(artel__data_go_on(opened->data->ctx, "bench"));
        if (i >= told)
            told = i + artel__rows_expect(&opened->rows, order ? (const int64_t *)order + i : NULL, i, count - i);
        ARTEL_TRY(artel__rows_fetch_all(&opened->rows, order ? (int64_t)order[i] : i, opened->row));
    }
    for (int c = 0; c < opened->rows.column_count; c++) bytes += (double)opened->rows.columns[c].bytes * (double)count;
    say(o, order ? "random" : "in_order", order ? "rows, in random order" : "rows, in order",
        (double)(artel__now_ns() - begin) * 1e-9, count, bytes);
    return ARTEL_OK;
}

/* All rows in a random order, or as many random ones as are read. */
static artel_status choose_rows(const artel__data_command *o, const artel__data_opened *opened, int64_t rows,
                                void **out)
{
    uint64_t all = (uint64_t)opened->rows.count;
    ARTEL_TRY(artel__alloc(opened->data->ctx, ((size_t)rows + 1) * sizeof(uint64_t), "the order of rows", out));
    if (rows == opened->rows.count) artel__rng_permutation((uint64_t)o->seed, ARTEL__STREAM_SHUFFLE, 0, all, *out);
    for (int64_t i = 0; i < rows && rows < opened->rows.count; i++) {
        uint32_t words[4];
        artel__rng_block(artel__rng_make_key((uint64_t)o->seed, ARTEL__STREAM_SHUFFLE), 0, 0, (uint32_t)(i >> 32),
                         (uint64_t)i & 0xffffffff, words);
        ((uint64_t *)*out)[i] = ((uint64_t)words[1] << 32 | words[0]) % all;
    }
    return ARTEL_OK;
}

artel_status artel__data_bench(artel__invocation *call)
{
    const artel__data_command *o = call->options;
    artel__data_opened opened;
    int64_t begin = artel__now_ns();
    void *order = NULL;
    ARTEL_TRY(artel__data_open_rows(call, call->argument[1], false, &opened));
    int64_t rows = o->rows > 0 && o->rows < opened.rows.count ? o->rows : opened.rows.count;
    say(o, "open", "opening", (double)(artel__now_ns() - begin) * 1e-9, opened.rows.count, 0);
    artel_status status = walk_records(o, &opened);
    if (status == ARTEL_OK) status = parse_records(o, &opened);
    if (status == ARTEL_OK && opened.rows.column_count > 0) {
        status = choose_rows(o, &opened, rows, &order);
        if (status == ARTEL_OK) status = read_rows(o, &opened, NULL, rows);
        if (status == ARTEL_OK) status = read_rows(o, &opened, order, rows);
    }
    artel__free(call->ctx, order);
    artel__data_close_rows(call, &opened);
    return status;
}
