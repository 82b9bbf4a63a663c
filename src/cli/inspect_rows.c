/* SPDX-License-Identifier: Apache-2.0 */
/* artel inspect DATA --head N: the first rows, each array as a list of numbers or texts. */
#include "base/text.h"
#include "cli/data.h"
#include "cli/inspect.h"

enum {
    MOST_SHOWN = 8, /* values of one array in a row */
    MOST_TEXT = 60  /* bytes of a text */
};

/* In quotes, which are doubled inside, as are they in a table. */
static void say_string(const artel__string *text)
{
    size_t length = text->length < MOST_TEXT ? text->length : MOST_TEXT, from = 0;
    while (length < text->length && length > 0 && (text->bytes[length] & 0xc0) == 0x80) length--; /* whole characters */
    artel__show(stdout, " \"");
    for (size_t i = 0; i <= length; i++) {
        char next = i < length ? text->bytes[i] : '"';
        if (next != '"' && next != '\0') continue;
        artel__show(stdout, "%.*s%s", (int)(i - from), text->bytes + from,
                    i == length   ? ""
                    : next == '"' ? "\"\""
                                  : "\\x00"); /* a word of C would end here */
        from = i + 1;
    }
    artel__show(stdout, "\"");
    if (length < text->length) artel__show(stdout, "... (%zu bytes)", text->length);
}

/* As many digits as the type needs. */
static void say_value(artel_dtype dtype, const void *value)
{
    char number[32];
    double wide;
    float narrow;
    int64_t whole;
    uint64_t natural;
    switch (dtype) {
    case ARTEL_DTYPE_STRING: say_string(value); break;
    case ARTEL_DTYPE_FLOAT64:
        artel__convert(dtype, value, ARTEL_DTYPE_FLOAT64, &wide, 1);
        artel__show(stdout, " %s", artel__format_double(number, sizeof number, wide));
        break;
    case ARTEL_DTYPE_FLOAT32:
    case ARTEL_DTYPE_FLOAT16:
    case ARTEL_DTYPE_BFLOAT16:
        artel__convert(dtype, value, ARTEL_DTYPE_FLOAT32, &narrow, 1);
        artel__show(stdout, " %s", artel__format_float(number, sizeof number, narrow));
        break;
    case ARTEL_DTYPE_UINT64:
        artel__convert(dtype, value, ARTEL_DTYPE_UINT64, &natural, 1);
        artel__show(stdout, " %llu", (unsigned long long)natural);
        break;
    default: artel__convert(dtype, value, ARTEL_DTYPE_INT64, &whole, 1); artel__show(stdout, " %lld", (long long)whole);
    }
}

static void say_values(const artel__rows_column *column, const void *row)
{
    int64_t shown = column->elements < MOST_SHOWN ? column->elements : MOST_SHOWN;
    artel__show(stdout, "  %s", column->name);
    for (int64_t i = 0; i < shown; i++)
        say_value(column->dtype, (const uint8_t *)row + (size_t)i * artel__cell_size(column->dtype));
    if (shown < column->elements) artel__show(stdout, " ... (%lld in all)", (long long)column->elements);
}

artel_status artel__inspect_rows(artel__invocation *call, const char *specification, int64_t most)
{
    artel__data_opened opened;
    ARTEL_TRY(artel__data_open_rows(call, specification, true, &opened));
    artel_status status = ARTEL_OK;
    for (int64_t row = 0; row < most && row < opened.rows.count && status == ARTEL_OK; row++) {
        status = artel__rows_fetch_all(&opened.rows, row, opened.row);
        if (status < 0) break;
        artel__show(stdout, "row %lld", (long long)row);
        for (int c = 0; c < opened.rows.column_count; c++)
            say_values(&opened.rows.columns[c], (const uint8_t *)opened.row + opened.rows.columns[c].at);
        putchar('\n');
    }
    artel__data_close_rows(call, &opened);
    return status;
}
