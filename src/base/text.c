/* SPDX-License-Identifier: Apache-2.0 */
/* Growing text.
 *
 * An empty text points at a constant empty string, so `data` can be printed at any time and an unused text costs no
 * heap call. A failed growth is remembered instead of returned: code that prints many pieces stays readable, and the
 * one check at the end sees it.
 */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Never written: capacity 0 says that nothing is owned. */
static const char empty[1] = "";

void artel__text_init(artel__text *text, artel_context *ctx)
{
    *text = (artel__text){.ctx = ctx, .data = (char *)empty};
}

void artel__text_fini(artel__text *text)
{
    if (text->capacity) artel__free(text->ctx, text->data);
    artel__text_init(text, text->ctx);
}

void artel__text_clear(artel__text *text)
{
    text->length = 0;
    if (text->capacity) text->data[0] = '\0';
}

/* Makes room for `more` bytes and the NUL. */
static bool reserve(artel__text *text, size_t more)
{
    if (text->failed) return false;
    if (more < text->capacity && text->length < text->capacity - more) return true;
    size_t need = 0, capacity = text->capacity ? text->capacity * 2 : 64;
    if (__builtin_add_overflow(text->length, more, &need) || need > PTRDIFF_MAX - 1) need = PTRDIFF_MAX - 1;
    if (capacity < need + 1) capacity = need + 1;
    void *block = text->capacity ? text->data : NULL;
    if (artel__realloc(text->ctx, capacity, "text", &block) < 0) {
        text->failed = true;
        return false;
    }
    text->data = block;
    text->capacity = capacity;
    text->data[text->length] = '\0';
    return true;
}

void artel__text_append_bytes(artel__text *text, const void *bytes, size_t count)
{
    if (!count || !reserve(text, count)) return;
    memcpy(text->data + text->length, bytes, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void artel__text_append_text(artel__text *text, const artel__text *other)
{
    artel__text_append_bytes(text, other->data, other->length);
    text->failed = text->failed || other->failed;
}

void artel__text_append(artel__text *text, const char *string)
{
    artel__text_append_bytes(text, string, strlen(string));
}

void artel__text_pad(artel__text *text, size_t ahead, size_t multiple)
{
    size_t beyond = (ahead + text->length) % multiple;
    artel__text_printf(text, "%*s", (int)(beyond ? multiple - beyond : 0), "");
}

void artel__text_vprintf(artel__text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length > 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void artel__text_append_quoted(artel__text *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+@%=-";
    if (*word && strspn(word, plain) == strlen(word)) {
        artel__text_append(text, word);
        return;
    }
    artel__text_append(text, "'");
    for (const char *c = word; *c; c++) {
        if (*c == '\'')
            artel__text_append(text, "'\\''");
        else
            artel__text_append_bytes(text, c, 1);
    }
    artel__text_append(text, "'");
}

static void append_json_escape(artel__text *text, int32_t code)
{
    static const char plain[] = "\"\\\n\r\t", escaped[] = "\"\\nrt";
    const char *found = code > 0 ? strchr(plain, code) : NULL;
    if (found)
        artel__text_printf(text, "\\%c", escaped[found - plain]);
    else if (code >= 0)
        artel__text_printf(text, "\\u%04x", (unsigned)code);
    else
        artel__text_append(text, "\xef\xbf\xbd"); /* U+FFFD */
}

/* Names of hosts and paths, and causes of faults, need not be UTF-8 and go out in an event all the same, which jansson
 * would refuse. (json_write.c spells values that jansson holds, byte for byte as Python does.) */
void artel__text_append_json(artel__text *text, const char *word)
{
    const char *end = word + strlen(word), *plain = word;
    size_t bytes;
    artel__text_append(text, "\"");
    for (const char *at = word; at < end; at += bytes) {
        int32_t code = artel__utf8_take(at, (size_t)(end - at), &bytes);
        if (code >= 0x20 && code != '"' && code != '\\' && code != 0x7f) continue;
        artel__text_append_bytes(text, plain, (size_t)(at - plain));
        append_json_escape(text, code);
        plain = at + bytes;
    }
    artel__text_append_bytes(text, plain, (size_t)(end - plain));
    artel__text_append(text, "\"");
}

void artel__text_printf(artel__text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    artel__text_vprintf(text, format, args);
    va_end(args);
}

artel_status artel__text_status(const artel__text *text)
{
    return text->failed ? ARTEL_ERROR_NO_MEMORY : ARTEL_OK;
}

bool artel__starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool artel__ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && memcmp(text + length - tail, suffix, tail) == 0;
}

#define LONGEST_WORD 48

static int fold_case(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c == '-' ? '_' : c;
}

/* Edit distance with transpositions (optimal string alignment); letters of either case and - and _ are the same. */
static int edit_distance(const char *a, const char *b)
{
    int rows[3][LONGEST_WORD + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2];
    int m = (int)strlen(a), n = (int)strlen(b);
    if (m > LONGEST_WORD || n > LONGEST_WORD) return 2 * LONGEST_WORD;
    for (int j = 0; j <= n; j++) last[j] = j;
    for (int i = 1; i <= m; i++) {
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            int best = last[j - 1] + (fold_case(a[i - 1]) != fold_case(b[j - 1]));
            if (last[j] + 1 < best) best = last[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && fold_case(a[i - 1]) == fold_case(b[j - 2]) &&
                           fold_case(a[i - 2]) == fold_case(b[j - 1]);
            if (swapped && before[j - 2] + 1 < best) best = before[j - 2] + 1;
            row[j] = best;
        }
        int *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[n];
}

/* The first name that begins with the word: an abbreviation. */
static const char *completed(const char *word, const char *const *names)
{
    for (; *names; names++)
        if (artel__starts_with(*names, word)) return *names;
    return NULL;
}

/* The word is the first letters of the name's parts: "lr" of "learning_rate". */
static bool abbreviates(const char *word, const char *name)
{
    bool begins = true;
    for (; *name; name++) {
        if (*name == '_' || *name == '-') {
            begins = true;
            continue;
        }
        if (begins && fold_case(*word++) != fold_case(*name)) return false;
        begins = false;
    }
    return !*word;
}

static const char *abbreviated(const char *word, const char *const *names)
{
    for (; word[1] && *names; names++)
        if (abbreviates(word, *names)) return *names;
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Conv3D is no slip of the pen for Conv1D: both have digits, and they differ. */
static bool other_digits(const char *a, const char *b)
{
    a += strcspn(a, "0123456789");
    b += strcspn(b, "0123456789");
    if (!*a || !*b) return false;
    while (*a && *b) {
        if (*a != *b) return true;
        do a++;
        while (*a && !is_digit(*a));
        do b++;
        while (*b && !is_digit(*b));
    }
    return *a != *b;
}

const char *artel__nearest_name(const char *word, const char *const *names)
{
    const char *nearest = NULL;
    int length = (int)strlen(word);
    int best = length < 8 ? 2 : length / 4 + 1; /* a quarter of the word may be wrong: Resizing is no Rescaling */
    if (!length) return NULL;
    for (const char *const *name = names; *name; name++) {
        if (other_digits(word, *name)) continue;
        int distance = edit_distance(word, *name);
        if (distance >= best) continue;
        best = distance;
        nearest = *name;
    }
    if (!nearest) nearest = completed(word, names);
    return nearest ? nearest : abbreviated(word, names);
}
