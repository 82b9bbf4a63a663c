/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of row functions on rows in memory. See the header. */
#include "text/program_rows.h"

#include "base/utf8.h"

static size_t value_bytes(const artel__cells *value)
{
    return (size_t)value->count * artel__cell_size(value->dtype);
}

size_t artel__program_block(const artel__program_rows *rows)
{
    size_t used = 64;
    for (int v = 0; v < artel__program_values(rows->program); v++) {
        if (!rows->base[v]) used += (value_bytes(&rows->values[v]) + 63) / 64 * 64;
    }
    return used;
}

artel_status artel__program_check_text(artel_context *ctx, const char *where, const artel__string *word, int64_t row)
{
    bool missing = word->length > 0 && !word->bytes;
    size_t good = word->length == 0 || missing ? 0 : artel__utf8_valid(word->bytes, word->length);
    if (good == word->length) return ARTEL_OK;
    if (missing)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "give the bytes, or length 0",
                           "row %lld: a string is NULL with %zu bytes", (long long)row, word->length);
    return artel__fail(ctx, ARTEL_ERROR_INVALID, where, "write the text in UTF-8",
                       "row %lld: byte %zu of the text is no UTF-8", (long long)row, good);
}

static artel_status check_text(const artel__program_rows *rows, int64_t row, int input)
{
    const artel__cells *cells = &rows->values[input];
    const artel__string *word = cells->data;
    for (int64_t i = 0; cells->dtype == ARTEL_DTYPE_STRING && i < cells->count; i++)
        ARTEL_TRY(artel__program_check_text(rows->scratch.ctx, rows->name[input], &word[i], row));
    return ARTEL_OK;
}

static artel_status run_row(artel__program_rows *rows, int64_t row)
{
    const artel__program *program = rows->program;
    artel__row_fault fault = {NULL, 0, 0};
    char what[160], *block = rows->block;
    int at = 0;
    for (int v = 0; v < artel__program_values(program); v++) {
        size_t bytes = value_bytes(&rows->values[v]);
        rows->values[v].data = rows->base[v] ? (char *)rows->base[v] + (size_t)row * bytes : block;
        if (!rows->base[v]) block += (bytes + 63) / 64 * 64;
        if (v < program->inputs && rows->base[v]) ARTEL_TRY(check_text(rows, row, v));
    }
    artel_status status = artel__program_run(program, rows->values, &rows->scratch, &fault, &at);
    if (status != ARTEL_ERROR_INVALID || !fault.why) return status;
    const artel__program_step *step = &program->step[at];
    artel__cell_quote(&rows->values[step->in[fault.input]], fault.element, what, sizeof what);
    return artel__fail(rows->scratch.ctx, ARTEL_ERROR_INVALID, step->layer, "correct the row, or the layer",
                       "row %lld: %s %s", (long long)row, what, fault.why);
}

artel_status artel__program_run_rows(artel__program_rows *rows, int64_t count)
{
    artel_status status = ARTEL_OK;
    for (int64_t row = 0; row < count && status == ARTEL_OK; row++) status = run_row(rows, row);
    return status;
}
