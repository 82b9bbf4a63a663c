/* SPDX-License-Identifier: Apache-2.0 */
/* Python's spelling of floats, JSON strings, the numbers of the progress bar.
 *
 * Digits come from base/text.h and base/json.h. Strings are written here and not through jansson, because names of
 * hosts, paths and causes of faults need not be valid UTF-8 and an event must go out all the same.
 */
#include "observe/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/listed.h"

bool artel__logs_next(artel__logs logs, artel__log_group *group)
{
    int64_t number;
    size_t first = group->first + group->count, count = 1;
    if (first >= logs.count) return false;
    const char *name = logs.item[first].name;
    size_t length = artel__list_element(name, &number);
    for (; number >= 0 && first + count < logs.count; count++) {
        const char *next = logs.item[first + count].name;
        if (artel__list_element(next, &number) != length || number != (int64_t)count ||
            strncmp(name, next, length) != 0)
            break;
    }
    (void)artel__list_element(name, &number);
    *group = (artel__log_group){.first = first, .count = count, .list = number >= 0};
    snprintf(group->name, sizeof group->name, "%.*s", (int)length, name);
    return true;
}

const artel__log_value *artel__logs_find(artel__logs logs, const char *name)
{
    for (size_t i = 0; i < logs.count; i++) {
        if (strcmp(logs.item[i].name, name) == 0) return &logs.item[i];
    }
    return NULL;
}

char *artel__python_float(char buffer[ARTEL__PYTHON_FLOAT_SIZE], double value)
{
    return artel__format_double(buffer, ARTEL__PYTHON_FLOAT_SIZE, value);
}

void artel__put_json_float(artel__text *text, double value)
{
    char buffer[ARTEL__PYTHON_FLOAT_SIZE];
    artel__text_append(text, artel__json_format(buffer, sizeof buffer, value));
}

/* The length of the UTF-8 sequence at `s` (NUL-terminated), or 0 when it is none (overlong forms, surrogates, too
 * large values and stray bytes included). */
static size_t utf8_length(const unsigned char *s)
{
    if (s[0] < 0x80) return 1;
    size_t length = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
                    : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                    : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
    }
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f)) return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)) return 0;
    return length;
}

static void append_escape(artel__text *text, unsigned char c)
{
    switch (c) {
    case '"': artel__text_append(text, "\\\""); break;
    case '\\': artel__text_append(text, "\\\\"); break;
    case '\n': artel__text_append(text, "\\n"); break;
    case '\r': artel__text_append(text, "\\r"); break;
    case '\t': artel__text_append(text, "\\t"); break;
    default: artel__text_printf(text, "\\u%04x", c);
    }
}

void artel__put_json_string(artel__text *text, const char *string)
{
    const unsigned char *s = (const unsigned char *)string;
    artel__text_append(text, "\"");
    while (*s) {
        const unsigned char *plain = s;
        size_t length;
        while (*s >= 0x20 && *s != '"' && *s != '\\' && *s != 0x7f && (length = utf8_length(s)) > 0) s += length;
        if (s > plain) artel__text_append_bytes(text, plain, (size_t)(s - plain));
        if (!*s) break;
        if (*s >= 0x80) {
            artel__text_append(text, "\xef\xbf\xbd");
        } else {
            append_escape(text, *s);
        }
        s++;
    }
    artel__text_append(text, "\"");
}

char *artel__progress_number(char *buffer, size_t size, double value, bool by_magnitude)
{
    if (isnan(value)) {
        snprintf(buffer, size, "nan");
    } else if (isinf(value)) {
        snprintf(buffer, size, value < 0 ? "-inf" : "inf");
    } else if ((by_magnitude ? fabs(value) : value) > 1e-3 && fabs(value) < 1e15) {
        snprintf(buffer, size, "%.4f", value);
    } else {
        snprintf(buffer, size, "%.4e", value);
    }
    return buffer;
}
