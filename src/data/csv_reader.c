/* SPDX-License-Identifier: Apache-2.0 */
/* Delimited text, after RFC 4180: fields in quotes may hold delimiters, line ends and doubled quotes.
 *
 * Lines end in LF, CR LF or with the file; empty lines are passed over. As pandas reads them, NA, NaN, null and the
 * like are empty fields, True and False are 1 and 0, and blanks in front of an opening quote do not count. What RFC
 * 4180 forbids is an error with its line and column, because guessing would shift every later field: a quote inside a
 * bare field, text after a closing quote, a quote that is never closed.
 */
#include "data/csv_reader.h"

#include <string.h>

#include "data/decimal.h"

void artel__csv_init(artel__csv_reader *reader, artel_context *ctx, const char *path, const void *bytes, size_t size,
                     char delimiter)
{
    memset(reader, 0, sizeof *reader);
    reader->ctx = ctx;
    reader->path = path;
    reader->at = size > 0 ? bytes : "";
    reader->end = reader->at + size;
    reader->delimiter = delimiter;
    reader->next_line = 1;
    artel__text_init(&reader->unquoted, ctx);
    if (size >= 3 && memcmp(reader->at, "\xef\xbb\xbf", 3) == 0) reader->at += 3;
}

void artel__csv_fini(artel__csv_reader *reader)
{
    artel__text_fini(&reader->unquoted);
}

/* Steps over a line end. False when there is none here. */
static bool take_line_end(artel__csv_reader *reader)
{
    size_t left = (size_t)(reader->end - reader->at);
    size_t length = left >= 2 && reader->at[0] == '\r' && reader->at[1] == '\n' ? 2
                    : left >= 1 && reader->at[0] == '\n'                        ? 1
                                                                                : 0;
    if (length == 0 && left == 1 && reader->at[0] == '\r') length = 1; /* the last byte of the file */
    reader->at += length;
    reader->next_line += length > 0;
    return length > 0;
}

bool artel__csv_next_record(artel__csv_reader *reader)
{
    while (take_line_end(reader)) {
    }
    reader->line = reader->next_line;
    reader->column = 0;
    reader->in_record = reader->at < reader->end;
    return reader->in_record;
}

static artel_status bad_quote(artel__csv_reader *reader, const char *what)
{
    static const char advice[] = "quote fields as RFC 4180 says (\"\" for a quote inside quotes)";
    reader->in_record = false;
    if (reader->apart)
        return artel__fail(reader->ctx, ARTEL_ERROR_CORRUPT, reader->path, advice,
                           "record %lld (counted from 0) at byte %llu, column %lld: %s", (long long)reader->record,
                           (unsigned long long)reader->offset, (long long)reader->column, what);
    return artel__fail(reader->ctx, ARTEL_ERROR_CORRUPT, reader->path, advice, "line %lld, column %lld: %s",
                       (long long)reader->line, (long long)reader->column, what);
}

/* What may follow a field: a delimiter, a line end, the end of the file. */
static bool end_field(artel__csv_reader *reader)
{
    if (reader->at < reader->end && *reader->at == reader->delimiter) {
        reader->at++;
        return true;
    }
    if (reader->at < reader->end && !take_line_end(reader)) return false;
    reader->in_record = false;
    return true;
}

static artel_status read_quoted(artel__csv_reader *reader, artel__csv_field *out)
{
    const char *start = ++reader->at;
    bool doubled = false;
    artel__text_clear(&reader->unquoted);
    for (;;) {
        const char *quote = memchr(reader->at, '"', (size_t)(reader->end - reader->at));
        if (quote == NULL) return bad_quote(reader, "the quote that opens this field is never closed");
        for (const char *c = reader->at; c < quote; c++) reader->next_line += *c == '\n';
        reader->at = quote + 1;
        bool again = reader->at < reader->end && *reader->at == '"';
        if (again || doubled) artel__text_append_bytes(&reader->unquoted, start, (size_t)(quote - start) + again);
        if (!again) {
            *out = (artel__csv_field){doubled ? reader->unquoted.data : start,
                                      doubled ? reader->unquoted.length : (size_t)(quote - start), true};
            break;
        }
        doubled = true;
        start = ++reader->at;
    }
    if (!end_field(reader)) return bad_quote(reader, "text follows the closing quote of this field");
    return doubled ? artel__text_status(&reader->unquoted) : ARTEL_OK;
}

artel_status artel__csv_next_field(artel__csv_reader *reader, artel__csv_field *out)
{
    if (!reader->in_record) return ARTEL_AGAIN;
    reader->column++;
    const char *quote = reader->at;
    while (quote < reader->end && *quote == ' ' && *quote != reader->delimiter) quote++;
    if (quote < reader->end && *quote == '"') {
        reader->at = quote;
        return read_quoted(reader, out);
    }
    const char *start = reader->at, *at = start, *end = reader->end;
    char delimiter = reader->delimiter;
    while (at < end && *at != delimiter && *at != '\n' && *at != '"') at++;
    reader->at = at;
    if (at < end && *at == '"' && delimiter != '"')
        return bad_quote(reader, "a quote stands inside a field that does not begin with one");
    if (reader->at > start && reader->at[-1] == '\r' && (reader->at == reader->end || *reader->at == '\n'))
        reader->at--;
    *out = (artel__csv_field){start, (size_t)(reader->at - start), false};
    end_field(reader);
    return ARTEL_OK;
}

/* Up to 18 digits with a sign: no overflow, no copy; nearly every field of a table of pixels. */
static bool short_integer(const char *text, size_t length, int64_t *out)
{
    size_t sign = length > 0 && (text[0] == '-' || text[0] == '+');
    int64_t value = 0;
    if (length == sign || length - sign > 18) return false;
    for (size_t i = sign; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        value = value * 10 + (text[i] - '0');
    }
    *out = sign && text[0] == '-' ? -value : value;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The words that pandas and R write for what is missing, and pandas for truth. */
static bool known_word(const char *text, size_t length, artel__csv_kind *kind, int64_t *integer)
{
    static const struct {
        const char *text;
        int value; /* -1: missing */
    } words[] = {{"NA", -1},   {"N/A", -1},  {"n/a", -1},  {"#N/A", -1}, {"<NA>", -1}, {"NaN", -1}, {"nan", -1},
                 {"-NaN", -1}, {"-nan", -1}, {"NULL", -1}, {"null", -1}, {"None", -1}, {"NaT", -1}, {"True", 1},
                 {"TRUE", 1},  {"true", 1},  {"False", 0}, {"FALSE", 0}, {"false", 0}};
    for (size_t i = 0; i < ARTEL__COUNT(words); i++) {
        if (strlen(words[i].text) != length || memcmp(words[i].text, text, length) != 0) continue;
        *kind = words[i].value < 0 ? ARTEL__CSV_EMPTY : ARTEL__CSV_INTEGER;
        *integer = words[i].value;
        return true;
    }
    return false;
}

artel__csv_kind artel__csv_classify(const artel__csv_field *field, int64_t *integer, double *number)
{
    char copy[400];
    const char *text = field->text;
    size_t length = field->length;
    while (length > 0 && is_blank(text[0])) text++, length--;
    while (length > 0 && is_blank(text[length - 1])) length--;
    if (length == 0) return ARTEL__CSV_EMPTY;
    artel__csv_kind kind;
    if (short_integer(text, length, integer)) return ARTEL__CSV_INTEGER;
    if (artel__short_decimal(text, length, number)) return ARTEL__CSV_FLOAT;
    if (length <= 5 && known_word(text, length, &kind, integer)) return kind;
    if (length >= sizeof copy || memchr(text, '\0', length) != NULL) return ARTEL__CSV_TEXT;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (artel__parse_int64(copy, integer)) return ARTEL__CSV_INTEGER;
    return artel__parse_double(copy[0] == '+' ? copy + 1 : copy, number) ? ARTEL__CSV_FLOAT : ARTEL__CSV_TEXT;
}
