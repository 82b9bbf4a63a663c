/* SPDX-License-Identifier: Apache-2.0 */
/* Python's format specification, https://docs.python.org/3/library/string.html#formatspec:
 * [[fill]align][sign][#][0][width][separator][.precision][type]. */
#include "base/format_spec.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DIGITS = 512 /* 309 in front of the point, 99 behind it, separators */
};

typedef struct format_spec {
    char fill, align, sign, separator, type; /* 0: not given */
    bool alternate, zeros;
    int width, precision; /* precision: -1: not given */
} format_spec;

static bool is_align(char c)
{
    return c == '<' || c == '>' || c == '=' || c == '^';
}

/* At most two digits; false for more. */
static bool read_count(const char **at, const char *end, int *out)
{
    const char *begin = *at;
    for (*out = 0; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        if (*at - begin == 2) return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool take(const char **at, const char *end, const char *accepted, char *out)
{
    if (*at >= end || !**at || !strchr(accepted, **at)) return false;
    *out = *(*at)++;
    return true;
}

static bool read_spec(const char *spec, size_t length, bool whole, format_spec *f)
{
    const char *at = spec, *end = spec + length;
    char flag;
    *f = (format_spec){.precision = -1};
    if (length >= 2 && is_align(spec[1])) f->fill = *at++;
    if (at < end && is_align(*at)) f->align = *at++;
    take(&at, end, "+- ", &f->sign);
    f->alternate = take(&at, end, "#", &flag);
    f->zeros = take(&at, end, "0", &flag);
    if (!read_count(&at, end, &f->width)) return false;
    take(&at, end, ",_", &f->separator);
    if (take(&at, end, ".", &flag)) {
        const char *digits = at;
        if (!read_count(&at, end, &f->precision) || at == digits) return false;
    }
    take(&at, end, whole ? "bdoxXneEfFgG%" : "neEfFgG%", &f->type);
    bool integer = whole && (!f->type || strchr("bdoxXn", f->type));
    bool radix = f->type && strchr("boxX", f->type), local = f->type == 'n';
    bool zeros = f->zeros || (f->fill == '0' && f->align == '=');
    return at == end && (unsigned char)f->fill < 128 && !(integer && f->precision >= 0) &&
           !(f->alternate && !integer) && !(f->separator && (zeros || local || (radix && f->separator == ',')));
}

/* Digits in base 2, 8, 10, 16. */
static void write_whole(const format_spec *f, unsigned long long value, char *out, size_t room)
{
    char bits[72];
    size_t at = sizeof bits - 1;
    if (f->type == 'b') {
        bits[at] = '\0';
        for (unsigned long long rest = value; at == sizeof bits - 1 || rest; rest >>= 1) bits[--at] = '0' + (rest & 1);
        snprintf(out, room, "%s%s", f->alternate ? "0b" : "", bits + at);
    } else if (f->type == 'o') {
        snprintf(out, room, "%s%llo", f->alternate ? "0o" : "", value);
    } else if (f->type == 'x') {
        snprintf(out, room, "%s%llx", f->alternate ? "0x" : "", value);
    } else if (f->type == 'X') {
        snprintf(out, room, "%s%llX", f->alternate ? "0X" : "", value);
    } else {
        snprintf(out, room, "%llu", value);
    }
}

/* No type but a precision: as g, but with an exponent from one place earlier on, and a point in any case. */
static void write_general(const format_spec *f, double value, char *out, size_t room)
{
    int digits = f->precision > 0 ? f->precision : 1;
    snprintf(out, room, "%.*e", digits - 1, value);
    char *power = strchr(out, 'e');
    int exponent = power ? atoi(power + 1) : 0;
    if (power && (exponent < -4 || exponent >= digits - 1)) {
        char *kept = power;
        while (memchr(out, '.', (size_t)(power - out)) && kept > out && kept[-1] == '0') kept--;
        if (kept > out && kept[-1] == '.') kept--;
        memmove(kept, power, strlen(power) + 1);
        return;
    }
    snprintf(out, room, "%.*g", digits, value);
    size_t length = strlen(out);
    if (!strchr(out, '.') && length + 3 <= room) memcpy(out + length, ".0", 3);
}

static void write_real(const format_spec *f, double value, char *out, size_t room)
{
    int precision = f->precision < 0 ? 6 : f->precision;
    bool upper = f->type == 'E' || f->type == 'F' || f->type == 'G';
    if (!isfinite(value)) {
        const char *word = isnan(value) ? upper ? "NAN" : "nan" : upper ? "INF" : "inf";
        snprintf(out, room, "%s%s", word, f->type == '%' ? "%" : "");
        return;
    }
    switch (f->type) {
    case 'e': snprintf(out, room, "%.*e", precision, value); return;
    case 'E': snprintf(out, room, "%.*E", precision, value); return;
    case 'f':
    case 'F': snprintf(out, room, "%.*f", precision, value); return;
    case 'n':
    case 'g': snprintf(out, room, "%.*g", precision, value); return;
    case 'G': snprintf(out, room, "%.*G", precision, value); return;
    case '%': snprintf(out, room, "%.*f%%", precision, value * 100); return;
    default:
        if (f->precision < 0)
            artel__format_double(out, room, value);
        else
            write_general(f, value, out, room);
    }
}

/* Separators between groups of the digits in front: of three, of four in other bases than ten. */
static void write_separators(const format_spec *f, const char *digits, char *out)
{
    size_t group = f->type && strchr("boxX", f->type) ? 4 : 3;
    size_t prefix = group == 4 && f->alternate ? 2 : 0;
    size_t front = prefix + strspn(digits + prefix, group == 4 ? "0123456789abcdefABCDEF" : "0123456789");
    for (size_t i = 0; digits[i]; i++) {
        if (f->separator && i > prefix && i < front && (front - i) % group == 0) *out++ = f->separator;
        *out++ = digits[i];
    }
    *out = '\0';
}

static void append_fill(artel__text *out, char fill, int count)
{
    for (int i = 0; i < count; i++) artel__text_append_bytes(out, &fill, 1);
}

bool artel__format_number(artel__text *out, const char *spec, size_t length, double value, bool whole)
{
    format_spec f;
    char digits[MOST_DIGITS], body[2 * MOST_DIGITS];
    if (!read_spec(spec, length, whole, &f)) return false;
    double size = signbit(value) && !isnan(value) ? -value : value;
    if (whole && (!f.type || strchr("bdoxXn", f.type)))
        write_whole(&f, (unsigned long long)size, digits, sizeof digits);
    else
        write_real(&f, size, digits, sizeof digits);
    write_separators(&f, digits, body);
    bool minus = size != value && !isnan(value);
    minus = minus || (!whole && value == 0 && signbit(value));
    const char *sign = minus ? "-" : f.sign == '+' ? "+" : f.sign == ' ' ? " " : "";
    bool based = whole && f.alternate && f.type && strchr("boxX", f.type);
    int prefix = based ? 2 : 0; /* what zeros go behind */
    int missing = f.width - (int)strlen(sign) - (int)strlen(body);
    char align = f.align ? f.align : f.zeros ? '=' : '>', fill = f.fill ? f.fill : f.zeros ? '0' : ' ';
    if (missing < 0) missing = 0;
    int before = align == '>' ? missing : align == '^' ? missing / 2 : 0;
    append_fill(out, fill, before);
    artel__text_append(out, sign);
    artel__text_append_bytes(out, body, (size_t)prefix);
    append_fill(out, fill, align == '=' ? missing : 0);
    artel__text_append(out, body + prefix);
    append_fill(out, fill, align == '<' || align == '^' ? missing - before : 0);
    return true;
}
