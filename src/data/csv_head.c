/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a table, the same for tables that are read at once (csv.c) and row by row (csv_stream.c). */
#include "data/csv_head.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign.h"

/* Counts the fields of the first record and says whether names could be written there: text, and no number. pandas
 * leaves the name of an index empty, others that behind a last delimiter. */
static artel_status measure_record(artel__csv_reader reader, int64_t *out_count, bool *out_all_text)
{
    artel__csv_field field;
    artel_status status;
    int64_t integer, texts = 0, numbers = 0;
    double number;
    *out_count = 0;
    artel__text_init(&reader.unquoted, reader.ctx);
    while ((status = artel__csv_next_field(&reader, &field)) == ARTEL_OK) {
        (*out_count)++;
        artel__csv_kind kind = artel__csv_classify(&field, &integer, &number);
        texts += kind == ARTEL__CSV_TEXT;
        numbers += kind == ARTEL__CSV_INTEGER || kind == ARTEL__CSV_FLOAT;
    }
    *out_all_text = texts > 0 && numbers == 0;
    artel__text_fini(&reader.unquoted);
    return status < 0 ? status : ARTEL_OK;
}

/* A name without the blanks around it, which stand there for the eye. */
static void trim(artel__csv_field *field)
{
    while (!field->quoted && field->length > 0 && (*field->text == ' ' || *field->text == '\t'))
        field->text++, field->length--;
    while (!field->quoted && field->length > 0 && strchr(" \t", field->text[field->length - 1])) field->length--;
}

static artel_status read_names(artel__source *source, artel__csv_reader *reader, artel__csv_head *head)
{
    artel__csv_field field;
    for (int64_t i = 0; i < head->columns; i++) {
        artel__csv_name *name = &head->names[i];
        if (head->given) {
            ARTEL_TRY(artel__csv_next_field(reader, &field));
            trim(&field);
            name->unnamed = field.length == 0;
        }
        name->text = !head->given ? artel__arena_printf(&source->arena, "%lld", (long long)i)
                     : name->unnamed /* as pandas calls it */
                         ? artel__arena_printf(&source->arena, "Unnamed: %lld", (long long)i)
                         : artel__arena_printf(&source->arena, "%.*s", (int)(field.length < 4096 ? field.length : 4096),
                                               field.text);
        name->written = name->text;
    }
    return artel__arena_status(&source->arena);
}

/* ---- names that stand twice ---- */

static int by_written(const void *a, const void *b)
{
    const artel__csv_name *one = *(artel__csv_name *const *)a, *other = *(artel__csv_name *const *)b;
    int order = strcmp(one->written, other->written);
    return order != 0 ? order : (one > other) - (one < other);
}

static int find_written(const void *text, const void *name)
{
    return strcmp(text, (*(artel__csv_name *const *)name)->written);
}

/* Gives the second and further columns of a name the first one with a number that is free, as pandas does: a, a.1, a.2.
 */
static artel_status part_names(artel__source *source, artel__csv_head *head)
{
    size_t count = (size_t)head->columns, twice = 0;
    const char *first = NULL;
    void *block;
    ARTEL_TRY(artel__alloc(source->ctx, (count + 1) * sizeof(artel__csv_name *), "names of columns", &block));
    artel__csv_name **sorted = block;
    for (size_t i = 0; i < count; i++) sorted[i] = &head->names[i];
    qsort(sorted, count, sizeof *sorted, by_written);
    long long number = 0;
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i]->written, sorted[i - 1]->written) != 0) {
            number = 0;
            continue;
        }
        const char *text;
        do text = artel__arena_printf(&source->arena, "%s.%lld", sorted[i]->written, ++number);
        while (text != NULL && bsearch(text, sorted, count, sizeof *sorted, find_written) != NULL);
        sorted[i]->text = text;
        if (twice++ == 0) first = sorted[i]->written;
    }
    if (twice > 0)
        artel__log(source->ctx, ARTEL_LOG_NOTE,
                   "%s: several columns are called '%s'%s; those behind the first are %s.1 and so on here",
                   source->target, first, twice > 1 ? ", or alike" : "", first);
    artel__free(source->ctx, block);
    return artel__arena_status(&source->arena);
}

/* A header of a later file must say the same as that of the first. */
static artel_status check_names(const artel__csv_head *head, artel__csv_reader *reader)
{
    artel__csv_field field;
    int64_t i = 0;
    artel_status status;
    while ((status = artel__csv_next_field(reader, &field)) == ARTEL_OK) {
        trim(&field);
        const char *name = i < head->columns && !head->names[i].unnamed ? head->names[i].written : "";
        bool same = i < head->columns && strlen(name) == field.length && memcmp(name, field.text, field.length) == 0;
        if (!same) {
            return artel__fail(reader->ctx, ARTEL_ERROR_INVALID, reader->path, "join files with the same columns",
                               "column %lld is named '%.*s' (expected %s)", (long long)i + 1,
                               (int)(field.length < 80 ? field.length : 80), field.text,
                               i < head->columns ? head->names[i].written : "no more");
        }
        i++;
    }
    if (status < 0) return status;
    if (i == head->columns) return ARTEL_OK;
    return artel__fail(reader->ctx, ARTEL_ERROR_INVALID, reader->path, "join files with the same columns",
                       "%lld columns (expected %lld)", (long long)i, (long long)head->columns);
}

static artel_status settle(artel__source *source, artel__csv_reader *reader, artel__csv_head *head)
{
    int64_t columns;
    bool all_text;
    ARTEL_TRY(measure_record(*reader, &columns, &all_text));
    if (columns > ARTEL__DATA_MAX_ARRAYS) {
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, reader->path, "is the delimiter right?",
                           "%lld columns (at most %d)", (long long)columns, ARTEL__DATA_MAX_ARRAYS);
    }
    int wanted = source->options.header;
    head->given = wanted == ARTEL__DATA_HEADER_YES || (wanted == ARTEL__DATA_HEADER_AUTO && all_text);
    head->names = artel__arena_alloc(&source->arena, (size_t)columns, sizeof *head->names);
    if (head->names == NULL) return ARTEL_ERROR_NO_MEMORY;
    head->columns = columns;
    ARTEL_TRY(read_names(source, reader, head));
    return part_names(source, head);
}

artel_status artel__csv_check_text(artel_context *ctx, const char *path, const void *text, size_t size)
{
    const uint8_t *bytes = text;
    ARTEL_TRY(artel__check_foreign(ctx, path, bytes, size));
    bool four = size >= 4 && (memcmp(bytes, "\xff\xfe\0\0", 4) == 0 || memcmp(bytes, "\0\0\xfe\xff", 4) == 0);
    if (four)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path, "save it as UTF-8: iconv -f UTF-32 -t UTF-8 FILE > NEW",
                           "the text is UTF-32");
    bool marked = size >= 2 && ((bytes[0] == 0xff && bytes[1] == 0xfe) || (bytes[0] == 0xfe && bytes[1] == 0xff));
    if (!marked && !(size >= 4 && ((bytes[1] == 0 && bytes[3] == 0) || (bytes[0] == 0 && bytes[2] == 0))))
        return ARTEL_OK;
    return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, path, "save it as UTF-8: iconv -f UTF-16 -t UTF-8 FILE > NEW",
                       "the text is UTF-16");
}

/* Lines of old Macs: the file would be one line. */
static artel_status check_lines(const artel__csv_reader *reader)
{
    size_t left = (size_t)(reader->end - reader->at);
    if (memchr(reader->at, '\n', left)) return ARTEL_OK; /* the rest of a large file is not looked at */
    const char *end = memchr(reader->at, '\r', left);
    if (!end || end + 1 == reader->end) return ARTEL_OK;
    return artel__fail(reader->ctx, ARTEL_ERROR_UNSUPPORTED, reader->path,
                       "write them as line feeds: tr '\\r' '\\n' <FILE >NEW",
                       "its lines end with a carriage return alone");
}

/* Lines in front of the table that begin with #, as numpy.savetxt writes them; behind its first line such a line is a
 * record. */
static void pass_comments(artel__csv_reader *reader)
{
    int64_t passed = 0;
    while (artel__csv_next_record(reader) && *reader->at == '#') {
        const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
        reader->at = end ? end : reader->end;
        passed++;
    }
    if (passed > 0)
        artel__log(reader->ctx, ARTEL_LOG_NOTE,
                   "%s: %lld line%s in front of the table begin%s with # and %s passed over", reader->path,
                   (long long)passed, passed == 1 ? "" : "s", passed == 1 ? "s" : "", passed == 1 ? "is" : "are");
}

artel_status artel__csv_head_read(artel__source *source, artel__csv_reader *reader, artel__csv_head *head)
{
    ARTEL_TRY(artel__csv_check_text(reader->ctx, reader->path, reader->at, (size_t)(reader->end - reader->at)));
    ARTEL_TRY(check_lines(reader));
    pass_comments(reader);
    if (!artel__csv_next_record(reader)) return ARTEL_AGAIN;
    if (head->columns == 0) return settle(source, reader, head);
    return head->given ? check_names(head, reader) : ARTEL_OK;
}

void artel__csv_head_advise(const artel__csv_head *head, char *out, size_t size)
{
    const char *first = head->names[0].text, *other = head->columns == 1 ? strpbrk(first, ";\t|:") : NULL;
    if (strncmp(first, "sep=", 4) == 0)
        snprintf(out, size, "take the first line out, which is for Excel");
    else if (other)
        snprintf(out, size, *other == '\t' ? "#delimiter=tab reads it" : "#delimiter=%c reads it", *other);
}

artel_status artel__csv_head_find(const artel__source *source, const artel__csv_head *head, const char *name,
                                  int64_t *out)
{
    int64_t found = 0, written = 0;
    for (int64_t i = 0; i < head->columns; i++) {
        written += strcmp(head->names[i].written, name) == 0;
        if (strcmp(head->names[i].text, name) != 0) continue;
        *out = i;
        found++;
    }
    if (written > 1)
        return artel__fail(source->ctx, ARTEL_ERROR_INVALID, source->target, "give each column a name of its own",
                           "%lld columns are called '%s'", (long long)written, name);
    if (found > 0) return ARTEL_OK;
    char advice[96] = "check the name";
    if (!head->given)
        snprintf(advice, sizeof advice,
                 "#header=yes takes the names from the first line; without a header columns are named 0, 1, ...");
    artel__csv_head_advise(head, advice, sizeof advice);
    return artel__fail(source->ctx, ARTEL_ERROR_NOT_FOUND, source->target, advice,
                       "no column '%s' (found %lld, the first '%s', the last '%s')", name, (long long)head->columns,
                       head->names[0].text, head->names[head->columns - 1].text);
}

bool artel__csv_head_leaves_out(const artel__source *source, const artel__csv_head *head, int64_t column, bool counts,
                                bool any)
{
    bool unnamed = head->names[column].unnamed, index = column == 0 && unnamed && counts;
    if (index)
        artel__log(source->ctx, ARTEL_LOG_NOTE,
                   "%s: the first column has no name and counts the lines; it is taken for pandas' index and left out "
                   "(#columns=... names inputs)",
                   source->target);
    return index || (column + 1 == head->columns && unnamed && !any);
}

bool artel__csv_is_blank(const artel__csv_field *field)
{
    size_t i = 0;
    while (i < field->length && (field->text[i] == ' ' || field->text[i] == '\t')) i++;
    return i == field->length && !field->quoted;
}
