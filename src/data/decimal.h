/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal numbers that one rounding settles, read where they stand in a text. */
#ifndef ARTEL_DATA_DECIMAL_H
#define ARTEL_DATA_DECIMAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A decimal number whose digits fit into 53 bits and whose power of ten is exact: what artel__parse_double() gives,
 * without a copy. False for everything else, which is left to that function. */
static inline bool artel__short_decimal(const char *text, size_t length, double *out)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *at = text, *end = text + length;
    bool negative = at < end && *at == '-';
    uint64_t digits = 0;
    int count = 0, exponent = 0;
    at += negative;
    for (; at < end && *at >= '0' && *at <= '9'; at++, count++) digits = digits * 10 + (uint64_t)(*at - '0');
    if (at < end && *at == '.') {
        const char *point = ++at;
        for (; at < end && *at >= '0' && *at <= '9'; at++, count++) digits = digits * 10 + (uint64_t)(*at - '0');
        exponent = (int)(point - at);
    }
    if (count == 0 || count > 18 || digits > (uint64_t)1 << 53) return false;
    if (at < end && (*at == 'e' || *at == 'E') && end - at >= 2 && end - at <= 4) {
        bool minus = *++at == '-';
        at += minus || *at == '+';
        int power = 0;
        if (at == end) return false;
        for (; at < end && *at >= '0' && *at <= '9'; at++) power = power * 10 + (*at - '0');
        exponent += minus ? -power : power;
    }
    if (at != end || exponent < -22 || exponent > 22) return false;
    double value = exponent < 0 ? (double)digits / powers[-exponent] : (double)digits * powers[exponent];
    *out = negative ? -value : value;
    return true;
}

#endif
