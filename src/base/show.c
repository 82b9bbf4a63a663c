/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign words made fit to be shown: names from files, what other tasks say, paths.
 *
 * A terminal takes control characters for commands, a reader a line break for the end of a message, and marks that turn the direction of
 * writing let a text look like another one. All of those, and bytes that are no UTF-8, are shown as what they are: "\n", "\x1b",
 * "\u009b". The rest stays as it is. Everything that a person is shown goes through here: errors and log lines as a whole
 * (context.c), tables word by word (artel__text_show). JSON has escapes of its own.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* -- one word -- */

/* The code point at `at` and its bytes in *count; -1 with one byte when it is no UTF-8. */
static int32_t take(const char *at, size_t left, size_t *count)
{
    static const int32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = (uint8_t)at[0];
    size_t bytes = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    int32_t code = bytes == 1 ? first : first & (0x7f >> bytes);
    *count = 1;
    if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || bytes > left) return -1;
    for (size_t i = 1; i < bytes; i++) {
        uint8_t next = (uint8_t)at[i];
        if ((next & 0xc0) != 0x80) return -1;
        code = code << 6 | (next & 0x3f);
    }
    if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return -1;
    *count = bytes;
    return code;
}

/* Controls, breaks of lines and paragraphs, marks of direction, and the mark of byte order. */
static bool is_unfit(int32_t code)
{
    static const int32_t range[][2] = {{0, 0x1f},        {0x7f, 0x9f},     {0x61c, 0x61c},  {0x200e, 0x200f},
                                       {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}};
    for (size_t i = 0; i < ARTEL__COUNT(range); i++) {
        if (code >= range[i][0] && code <= range[i][1]) return true;
    }
    return false;
}

static int write_escape(char out[8], int32_t code, uint8_t byte)
{
    static const char named[][2] = {{'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}};
    for (size_t i = 0; i < ARTEL__COUNT(named); i++) {
        if (code == named[i][0]) return snprintf(out, 8, "\\%c", named[i][1]);
    }
    return code < 0x80 ? snprintf(out, 8, "\\x%02x", byte) : snprintf(out, 8, "\\u%04x", (unsigned)code & 0xffff);
}

size_t artel__clean(const char *text, size_t length, char *out, size_t size)
{
    size_t used = 0, bytes;
    for (size_t i = 0; i < length; i += bytes) {
        char escape[8];
        int32_t code = take(text + i, length - i, &bytes);
        bool fit = code >= 0 && !is_unfit(code);
        size_t wanted = fit ? bytes : (size_t)write_escape(escape, code, (uint8_t)text[i]);
        if (used + wanted >= size) break;
        memcpy(out + used, fit ? text + i : escape, wanted);
        used += wanted;
    }
    out[used] = '\0';
    return used;
}

/* -- a table's line -- */

/* Where it is shown: a text, or a file. */
typedef struct sink {
    artel__text *text;
    FILE *to;
} sink;

static void put(const sink *s, const char *bytes, size_t count)
{
    if (s->text)
        artel__text_append_bytes(s->text, bytes, count);
    else
        fwrite(bytes, 1, count, s->to);
}

static void put_spaces(const sink *s, int count)
{
    for (int i = 0; i < count; i++) put(s, " ", 1);
}

/* Cleans a word piece by piece, none of them within a character; counts the bytes, and puts them where `s` is not NULL. */
static size_t put_clean(const sink *s, const char *word, size_t length)
{
    char piece[1024];
    size_t all = 0;
    while (length > 0) {
        size_t some = length < 120 ? length : 120; /* each byte may take 6 */
        while (some < length && some > 110 && ((uint8_t)word[some] & 0xc0) == 0x80) some--;
        size_t made = artel__clean(word, some, piece, sizeof piece);
        if (s) put(s, piece, made);
        all += made;
        word += some;
        length -= some;
    }
    return all;
}

/* A conversion taken apart: "%-*.60s". */
typedef struct conversion {
    char flags[8], kind;
    int width, precision; /* -1: none */
    int longs;            /* letters l; 3: z */
} conversion;

static int take_number(const char **at, va_list *args)
{
    int number = 0;
    if (**at == '*') {
        (*at)++;
        return va_arg(*args, int);
    }
    while (**at >= '0' && **at <= '9') number = 10 * number + (*(*at)++ - '0');
    return number;
}

static conversion take_conversion(const char **at, va_list *args)
{
    conversion c = {.width = -1, .precision = -1};
    for (size_t n = 0; **at && strchr("-+ #0", **at) && n + 1 < sizeof c.flags; (*at)++) c.flags[n++] = **at;
    if (**at == '*' || (**at >= '1' && **at <= '9')) c.width = take_number(at, args);
    if (**at == '.') {
        (*at)++;
        c.precision = take_number(at, args);
    }
    for (; **at == 'l' || **at == 'z'; (*at)++) c.longs = **at == 'z' ? 3 : c.longs + 1;
    c.kind = **at;
    if (c.kind) (*at)++;
    return c;
}

/* Padded as printf pads, behind the cleaning. */
static void show_word(const sink *s, const conversion *c, const char *word)
{
    bool left = strchr(c->flags, '-') != NULL || c->width < -1; /* a negative * */
    int width = c->width < -1 ? -c->width : c->width < 0 ? 0 : c->width;
    word = word ? word : "(null)";
    size_t length = strnlen(word, c->precision >= 0 ? (size_t)c->precision : SIZE_MAX), made = put_clean(NULL, word, length);
    int pad = (size_t)width > made ? width - (int)made : 0;
    if (!left) put_spaces(s, pad);
    put_clean(s, word, length);
    if (left) put_spaces(s, pad);
}

/* The next integer, of whatever width. */
static long long take_integer(const conversion *c, va_list *args)
{
    switch (c->longs) {
    case 0: return strchr("di", c->kind) ? (long long)va_arg(*args, int) : (long long)va_arg(*args, unsigned);
    case 1: return (long long)va_arg(*args, long);
    case 2: return va_arg(*args, long long);
    default: return (long long)va_arg(*args, size_t);
    }
}

/* printf's own conversion of a number, with every integer at its widest. */
static void show_number(const sink *s, const conversion *c, va_list *args)
{
    char form[64], number[512];
    bool whole = strchr("dioxXu", c->kind) != NULL;
    size_t n = (size_t)snprintf(form, sizeof form, "%%%s", c->flags);
    if (c->width >= 0) n += (size_t)snprintf(form + n, sizeof form - n, "%d", c->width);
    if (c->precision >= 0) n += (size_t)snprintf(form + n, sizeof form - n, ".%d", c->precision);
    snprintf(form + n, sizeof form - n, "%s%c", whole ? "ll" : "", c->kind);
    int made =
        whole ? snprintf(number, sizeof number, form, take_integer(c, args)) : snprintf(number, sizeof number, form, va_arg(*args, double));
    put(s, number, made < 0 ? 0 : (size_t)made < sizeof number ? (size_t)made : sizeof number - 1);
}

static void show_all(const sink *s, const char *format, va_list *args)
{
    while (*format) {
        size_t plain = strcspn(format, "%");
        put(s, format, plain);
        format += plain;
        if (!*format++) return;
        conversion c = take_conversion(&format, args);
        char letter[2] = "";
        switch (c.kind) {
        case 's': show_word(s, &c, va_arg(*args, const char *)); break;
        case 'c':
            letter[0] = (char)va_arg(*args, int);
            show_word(s, &c, letter);
            break;
        case '%': put(s, "%", 1); break;
        case '\0': return;
        default: show_number(s, &c, args);
        }
    }
}

void artel__text_show(artel__text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    show_all(&(sink){.text = text}, format, &args);
    va_end(args);
}

void artel__show(FILE *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    show_all(&(sink){.to = to}, format, &args);
    va_end(args);
}
