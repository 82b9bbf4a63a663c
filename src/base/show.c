/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of tables with foreign words in them, each made fit to be shown (clean.c). */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

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

/* Cleans a word piece by piece, none of them within a character; counts the bytes, and puts them where `s` is not NULL.
 */
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
    size_t length = strnlen(word, c->precision >= 0 ? (size_t)c->precision : SIZE_MAX),
           made = put_clean(NULL, word, length);
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
    int made = whole ? snprintf(number, sizeof number, form, take_integer(c, args))
                     : snprintf(number, sizeof number, form, va_arg(*args, double));
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
