/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON byte for byte as Python's json.dumps does, so that files written here and there can be compared.
 *
 * jansson's own writer has other separators and other digits. The digits come from base/text.h, which writes Python's
 * repr(float).
 */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    artel__text *out;
    unsigned flags;
    int depth;
} writer;

static artel_status write_value(writer *w, const json_t *value);

char *artel__json_format(char *buffer, size_t size, double number)
{
    if (isfinite(number)) return artel__format_double(buffer, size, number);
    snprintf(buffer, size, "%s", isnan(number) ? "NaN" : number > 0 ? "Infinity" : "-Infinity");
    return buffer;
}

/* The next code point; jansson guarantees valid UTF-8. */
static uint32_t next_point(const unsigned char **p, const unsigned char *end)
{
    uint32_t c = *(*p)++;
    int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
    if (more > 0) c &= 0x3fu >> more;
    for (; more > 0 && *p < end; more--) c = c << 6 | (*(*p)++ & 0x3fu);
    return c;
}

static void write_point(writer *w, uint32_t c, const unsigned char *raw, size_t length)
{
    static const char plain[] = "\"\\\b\f\n\r\t", escaped[] = "\"\\bfnrt";
    const char *found = c > 0 && c < 128 ? strchr(plain, (int)c) : NULL;
    if (found)
        artel__text_printf(w->out, "\\%c", escaped[found - plain]);
    else if ((c >= 0x20 && c < 0x7f) || (c >= 0x7f && (w->flags & ARTEL__JSON_UTF8)))
        artel__text_append_bytes(w->out, raw, length);
    else if (c < 0x10000)
        artel__text_printf(w->out, "\\u%04x", (unsigned)c);
    else
        artel__text_printf(w->out, "\\u%04x\\u%04x", 0xd800u + (unsigned)((c - 0x10000) >> 10),
                           0xdc00u + (unsigned)(c & 0x3ff));
}

static void write_string(writer *w, const char *text, size_t length)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + length;
    artel__text_append(w->out, "\"");
    while (p < end) {
        const unsigned char *start = p;
        while (p < end && *p >= 0x20 && *p < 0x7f && *p != '"' && *p != '\\') p++;
        artel__text_append_bytes(w->out, start, (size_t)(p - start));
        if (p == end) break;
        start = p;
        uint32_t c = next_point(&p, end);
        write_point(w, c, start, (size_t)(p - start));
    }
    artel__text_append(w->out, "\"");
}

static void write_separator(writer *w, bool first)
{
    if (!first) artel__text_append(w->out, w->flags & (ARTEL__JSON_COMPACT | ARTEL__JSON_INDENT) ? "," : ", ");
    if (!(w->flags & ARTEL__JSON_INDENT)) return;
    artel__text_append(w->out, "\n");
    for (int i = 0; i < w->depth; i++) artel__text_append(w->out, "  ");
}

static void write_close(writer *w, const char *bracket)
{
    w->depth--;
    if (w->flags & ARTEL__JSON_INDENT) write_separator(w, true);
    artel__text_append(w->out, bracket);
}

static artel_status write_array(writer *w, const json_t *array)
{
    size_t count = json_array_size(array);
    artel__text_append(w->out, "[");
    w->depth++;
    for (size_t i = 0; i < count; i++) {
        write_separator(w, i == 0);
        ARTEL_TRY(write_value(w, json_array_get(array, i)));
    }
    if (count > 0) {
        write_close(w, "]");
    } else {
        w->depth--;
        artel__text_append(w->out, "]");
    }
    return ARTEL_OK;
}

static artel_status write_entry(writer *w, const char *key, const json_t *value, bool first)
{
    write_separator(w, first);
    write_string(w, key, strlen(key));
    artel__text_append(w->out, (w->flags & ARTEL__JSON_COMPACT) && !(w->flags & ARTEL__JSON_INDENT) ? ":" : ": ");
    return write_value(w, value);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static artel_status write_sorted(writer *w, const json_t *object)
{
    size_t count = json_object_size(object), at = 0;
    void *block;
    ARTEL_TRY(artel__calloc(w->out->ctx, count, sizeof(const char *), "JSON", &block));
    const char **keys = block, *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) keys[at++] = key;
    qsort(keys, count, sizeof *keys, by_bytes);
    artel_status status = ARTEL_OK;
    for (size_t i = 0; i < count && status >= 0; i++)
        status = write_entry(w, keys[i], json_object_get(object, keys[i]), i == 0);
    artel__free(w->out->ctx, block);
    return status;
}

static artel_status write_object(writer *w, const json_t *object)
{
    if (json_object_size(object) == 0) {
        artel__text_append(w->out, "{}");
        return ARTEL_OK;
    }
    artel__text_append(w->out, "{");
    w->depth++;
    if (w->flags & ARTEL__JSON_SORTED) {
        ARTEL_TRY(write_sorted(w, object));
    } else {
        const char *key;
        json_t *value;
        bool first = true;
        json_object_foreach((json_t *)object, key, value)
        {
            ARTEL_TRY(write_entry(w, key, value, first));
            first = false;
        }
    }
    write_close(w, "}");
    return ARTEL_OK;
}

static void write_scalar(writer *w, const json_t *value)
{
    char number[40];
    double special;
    switch (json_typeof(value)) {
    case JSON_STRING:
        if (artel__json_number(value, &special))
            artel__text_append(w->out, json_string_value(value) + 1);
        else
            write_string(w, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER: artel__text_printf(w->out, "%lld", (long long)json_integer_value(value)); break;
    case JSON_REAL:
        artel__text_append(w->out, artel__json_format(number, sizeof number, json_real_value(value)));
        break;
    case JSON_TRUE: artel__text_append(w->out, "true"); break;
    case JSON_FALSE: artel__text_append(w->out, "false"); break;
    default: artel__text_append(w->out, "null"); break;
    }
}

static artel_status write_value(writer *w, const json_t *value)
{
    if (w->depth > ARTEL__JSON_MAX_DEPTH)
        return artel__fail(w->out->ctx, ARTEL_ERROR_INVALID, "JSON", "", "a value is nested deeper than %d",
                           ARTEL__JSON_MAX_DEPTH);
    if (json_is_array(value)) return write_array(w, value);
    if (json_is_object(value)) return write_object(w, value);
    write_scalar(w, value);
    return ARTEL_OK;
}

artel_status artel__json_dump(const json_t *value, unsigned flags, artel__text *out)
{
    writer w = {.out = out, .flags = flags};
    ARTEL_TRY(write_value(&w, value));
    return artel__text_status(out);
}

artel_status artel__json_dump_string(artel_context *ctx, const json_t *value, unsigned flags, char **out)
{
    artel__text text;
    artel__text_init(&text, ctx);
    artel_status status = artel__json_dump(value, flags, &text);
    if (status >= 0) status = artel__strdup(ctx, text.data, out);
    artel__text_fini(&text);
    return status;
}
