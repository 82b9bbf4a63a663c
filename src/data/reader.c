/* SPDX-License-Identifier: Apache-2.0 */
/* artel/pipeline.h: elements one by one, for loops of a program's own. */
#include <string.h>

#include "artel/pipeline.h"
#include "base/argument.h"
#include "data/read.h"
#include "data/stage.h"

struct artel_reader {
    artel_context *ctx;
    artel__arena arena;
    artel__rows rows;
    artel__row_want *wants;
    int64_t pass, element;
};

static artel_status create(artel_data *data, bool texts, artel_reader **out)
{
    void *block;
    if (data->source_count > 0 && !data->sources[0].format->fetch_row && data->sources[0].format->fetch_rows)
        return artel__fail(data->ctx, ARTEL_ERROR_UNSUPPORTED, "reader", "call the function, or name files",
                           "data from a function has no rows to be read one by one");
    ARTEL_TRY(artel__calloc(data->ctx, 1, sizeof(artel_reader), "reader", &block));
    artel_reader *reader = block;
    reader->ctx = data->ctx;
    artel__arena_init(&reader->arena, data->ctx);
    artel_status status = artel__rows_open(data, &reader->arena, texts, &reader->rows);
    if (status < 0) {
        artel_reader_destroy(reader);
        return status;
    }
    *out = reader;
    return ARTEL_OK;
}

artel_status artel_reader_create(artel_data *data, artel_reader **out)
{
    ARTEL_TRY(artel__enter(data ? data->ctx : NULL, __func__, "data out", data, out));
    return create(data, false, out);
}

artel_status artel_reader_create_with_text(artel_data *data, artel_reader **out)
{
    ARTEL_TRY(artel__enter(data ? data->ctx : NULL, __func__, "data out", data, out));
    return create(data, true, out);
}

void artel_reader_destroy(artel_reader *reader)
{
    if (!reader) return;
    artel__arena_fini(&reader->arena);
    artel__free(reader->ctx, reader);
}

int artel_reader_columns(const artel_reader *reader)
{
    return reader ? reader->rows.column_count : 0;
}

artel_status artel_reader_describe(const artel_reader *reader, int column, artel_data_array *out)
{
    ARTEL_TRY(artel__enter(reader ? reader->ctx : NULL, __func__, "reader out", reader, out));
    if (column < 0 || column >= reader->rows.column_count)
        return artel__fail(reader->ctx, ARTEL_ERROR_INVALID, __func__, "count from 0", "there is no column %d", column);
    const artel__rows_column *c = &reader->rows.columns[column];
    *out = (artel_data_array){.name = c->name, .role = c->role, .dtype = c->dtype, .shape = c->row};
    return ARTEL_OK;
}

size_t artel_reader_bytes(const artel_reader *reader, int column)
{
    return reader && column >= 0 && column < reader->rows.column_count ? reader->rows.columns[column].bytes : 0;
}

artel_status artel__reader_fetch(const artel_reader *reader, int64_t pass, int64_t element, void *const *buffers)
{
    artel_status status = ARTEL_OK;
    uint64_t before = artel__stage_set_pass((uint64_t)pass);
    int columns[ARTEL__STAGE_TOGETHER], some = 0;
    void *out[ARTEL__STAGE_TOGETHER];
    for (int c = 0; c < reader->rows.column_count && status == ARTEL_OK; c++) {
        if (buffers[c]) {
            columns[some] = c;
            out[some++] = buffers[c];
        }
        if (some < ARTEL__STAGE_TOGETHER && c + 1 < reader->rows.column_count) continue;
        status = artel__rows_fetch_some(&reader->rows, columns, some, element, out);
        some = 0;
    }
    artel__stage_set_pass(before);
    return status;
}

artel_status artel_reader_next(artel_reader *reader, void *const *buffers)
{
    ARTEL_TRY(artel__enter(reader ? reader->ctx : NULL, __func__, "reader buffers", reader, buffers));
    if (reader->element >= reader->rows.count) {
        reader->pass++;
        reader->element = 0;
        return ARTEL_AGAIN;
    }
    artel_status status = artel__reader_fetch(reader, reader->pass, reader->element, buffers);
    reader->element += status == ARTEL_OK;
    return status;
}

void artel_reader_position(const artel_reader *reader, int64_t *pass, int64_t *element)
{
    if (pass) *pass = reader ? reader->pass : 0;
    if (element) *element = reader ? reader->element : 0;
}

artel_status artel_reader_seek(artel_reader *reader, int64_t pass, int64_t element)
{
    ARTEL_TRY(artel__enter(reader ? reader->ctx : NULL, __func__, "reader", reader));
    if (pass < 0 || pass >= (int64_t)1 << 20 || element < 0 || element > reader->rows.count)
        return artel__fail(reader->ctx, ARTEL_ERROR_INVALID, __func__, "give what artel_reader_position has told",
                           "no place %lld in pass %lld (there are %lld elements)", (long long)element, (long long)pass,
                           (long long)reader->rows.count);
    reader->pass = pass;
    reader->element = element;
    return ARTEL_OK;
}
