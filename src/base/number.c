/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, the same in every locale and floating-point mode.
 *
 * Reading is strict and correctly rounded: short decimals by one exact multiplication or division (W. D. Clinger,
 * "How to read floating point numbers accurately", PLDI 1990), others by the C library in the C locale. Writing gives
 * Python's repr: the shortest digits that read back as the same value, exponents from 1e16 on and below 1e-4. Values
 * are compared by their bits, for a caller's denormals-are-zero mode would make all small values equal.
 */
#include <float.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define MOST_DIGITS 17

bool artel__parse_int64(const char *text, int64_t *out)
{
    const char *at = text;
    bool negative = *at == '-';
    uint64_t value = 0, limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    if (*at == '-' || *at == '+') at++;
    if (!*at) return false;
    for (; *at; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';
        if (digit > 9 || value > (limit - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static bool equal_fold(const char *text, const char *lower)
{
    for (; *text && *lower; text++, lower++)
        if ((*text | 0x20) != *lower) return false;
    return *text == *lower;
}

/* "nan", "inf" and "infinity" in any case, without a sign. */
static bool parse_special(const char *text, double *out)
{
    if (equal_fold(text, "nan"))
        *out = __builtin_nan("");
    else if (equal_fold(text, "inf") || equal_fold(text, "infinity"))
        *out = __builtin_inf();
    else
        return false;
    return true;
}

/* A decimal number taken apart: mantissa * 10^exponent, exact unless `truncated`. */
typedef struct decimal {
    uint64_t mantissa;
    int exponent;
    bool truncated;
} decimal;

/* Reads digits and one point; the number of digits read. */
static int scan_mantissa(const char **at, decimal *out)
{
    int digits = 0;
    bool point = false;
    for (;; (*at)++) {
        unsigned digit = (unsigned)(unsigned char)**at - '0';
        if (**at == '.' && !point) {
            point = true;
            continue;
        }
        if (digit > 9) return digits;
        digits++;
        if (out->mantissa > (UINT64_MAX - 9) / 10) {
            out->truncated = true;
            continue;
        }
        out->mantissa = out->mantissa * 10 + digit;
        if (point && out->exponent > -100000) out->exponent--;
    }
}

static bool scan_exponent(const char **at, decimal *out)
{
    if (**at != 'e' && **at != 'E') return true;
    int exponent = 0, digits = 0;
    bool negative = *++*at == '-';
    if (**at == '-' || **at == '+') (*at)++;
    for (; **at >= '0' && **at <= '9'; (*at)++, digits++)
        if (exponent < 100000) exponent = exponent * 10 + (**at - '0');
    out->exponent += negative ? -exponent : exponent;
    return digits > 0;
}

static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static double read_slowly(const char *text)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant of glibc: costs nothing */
    double value = plain ? strtod_l(text, NULL, plain) : strtod(text, NULL);
    if (plain) freelocale(plain);
    return value;
}

bool artel__parse_double(const char *text, double *out)
{
    const char *at = text;
    decimal number = {0, 0, false};
    double value = 0;
    bool negative = *at == '-';
    if (*at == '-' || *at == '+') at++;
    if (parse_special(at, &value)) {
        *out = negative ? -value : value;
        return true;
    }
    if (scan_mantissa(&at, &number) == 0 || !scan_exponent(&at, &number) || *at) return false;
    if (number.mantissa == 0 && !number.truncated) {
        *out = negative ? -0.0 : 0.0;
        return true;
    }
    if (!number.truncated && number.mantissa <= (uint64_t)1 << 53 && number.exponent >= -22 && number.exponent <= 22) {
        value = (double)number.mantissa;
        value = number.exponent < 0 ? value / powers_of_ten[-number.exponent] : value * powers_of_ten[number.exponent];
        *out = negative ? -value : value;
        return true;
    }
    value = read_slowly(text);
    if (value > DBL_MAX || value < -DBL_MAX) return false; /* out of range */
    *out = value;
    return true;
}

/* The value that printed digits have to give back, as the bits of its format. */
typedef struct target {
    double value; /* positive, finite */
    uint64_t bits;
    bool single;
} target;

/* Decimal digits d.ddd * 10^exponent of a positive finite value. */
typedef struct digits {
    char digit[MOST_DIGITS + 1];
    int count, exponent;
} digits;

static void print_digits(digits *out, double value, int count)
{
    char text[40];
    snprintf(text, sizeof(text), "%.*e", count - 1, value);
    out->count = count;
    out->digit[0] = text[0];
    if (count > 1)
        memcpy(out->digit + 1, text + 2, (size_t)count - 1); /* skips the point, whatever the locale writes */
    out->digit[count] = '\0';
    out->exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
}

/* Adds one unit in the last digit. */
static void next_digits(digits *number)
{
    int i = number->count - 1;
    for (; i >= 0 && number->digit[i] == '9'; i--) number->digit[i] = '0';
    if (i >= 0) {
        number->digit[i]++;
    } else {
        number->digit[0] = '1';
        number->exponent++;
    }
}

static bool reads_back(const digits *number, const target *wanted)
{
    char text[48];
    uint64_t bits = 0;
    snprintf(text, sizeof(text), "%se%d", number->digit,
             number->exponent - number->count + 1); /* no point: no locale */
    if (wanted->single) {
        float back = strtof(text, NULL);
        memcpy(&bits, &back, sizeof(back));
    } else {
        double back = strtod(text, NULL);
        memcpy(&bits, &back, sizeof(back));
    }
    return bits == wanted->bits;
}

/* At a power of two the next value above is twice as far as the one below, so the nearest decimal of a length may be
 * just too low while the next decimal still reads back. */
static void shortest_digits(digits *out, const target *wanted)
{
    int most = wanted->single ? 9 : MOST_DIGITS;
    for (int count = 1; count <= most; count++) {
        print_digits(out, wanted->value, count);
        if (reads_back(out, wanted)) break;
        next_digits(out);
        if (reads_back(out, wanted)) break;
    }
    while (out->count > 1 && out->digit[out->count - 1] == '0') out->digit[--out->count] = '\0';
}

/* Python's layout: fixed from 1e-4 to below 1e16, with at least one digit after the point; else an exponent. */
static void lay_out(char *buffer, size_t size, const digits *number, bool negative)
{
    const char *sign = negative ? "-" : "", *digit = number->digit;
    int count = number->count, exponent = number->exponent;
    if (exponent < -4 || exponent >= 16) {
        const char *point = count > 1 ? "." : "";
        char mark = exponent < 0 ? '-' : '+';
        snprintf(buffer, size, "%s%c%s%se%c%02d", sign, digit[0], point, digit + 1, mark,
                 exponent < 0 ? -exponent : exponent);
    } else if (exponent < 0) {
        snprintf(buffer, size, "%s0.%.*s%s", sign, -exponent - 1, "000", digit);
    } else if (count <= exponent + 1) {
        snprintf(buffer, size, "%s%s%.*s.0", sign, digit, exponent + 1 - count, "0000000000000000");
    } else {
        snprintf(buffer, size, "%s%.*s.%s", sign, exponent + 1, digit, digit + exponent + 1);
    }
}

/* `bits` are those of a float64; `own` those of the value's own format, without the sign. */
static char *format_value(char *buffer, size_t size, uint64_t bits, uint64_t own, bool single)
{
    digits number;
    bool negative = bits >> 63;
    uint64_t magnitude = bits & ~((uint64_t)1 << 63);
    target wanted = {0, own, single};
    if (magnitude > 0x7FF0000000000000u) {
        snprintf(buffer, size, "nan");
    } else if (magnitude == 0x7FF0000000000000u) {
        snprintf(buffer, size, "%sinf", negative ? "-" : "");
    } else if (magnitude == 0) {
        snprintf(buffer, size, "%s0.0", negative ? "-" : "");
    } else {
        memcpy(&wanted.value, &magnitude, sizeof(magnitude));
        shortest_digits(&number, &wanted);
        lay_out(buffer, size, &number, negative);
    }
    return buffer;
}

/* The bits of a float32 as a float64; by hand, for under denormals-are-zero the instruction would lose small values. */
static uint64_t widen(uint32_t bits)
{
    uint64_t sign = (uint64_t)(bits >> 31) << 63, fraction = bits & 0x7FFFFFu, exponent = (bits >> 23) & 0xFF;
    if (exponent == 0xFF) return sign | (uint64_t)0x7FF << 52 | fraction << 29;
    if (exponent) return sign | (exponent + 896) << 52 | fraction << 29;
    if (!fraction) return sign;
    int shift = __builtin_clzll(fraction) - 40; /* brings the leading one to bit 23 */
    return sign | (uint64_t)(897 - shift) << 52 | ((fraction << shift) & 0x7FFFFFu) << 29;
}

char *artel__format_float(char *buffer, size_t size, float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return format_value(buffer, size, widen(bits), bits & 0x7FFFFFFFu, true);
}

char *artel__format_double(char *buffer, size_t size, double value)
{
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof(bits));
    return format_value(buffer, size, bits, bits & ~((uint64_t)1 << 63), false);
}
