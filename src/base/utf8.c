/* SPDX-License-Identifier: Apache-2.0 */
/* Reading UTF-8 that may be none, and writing it. See the header. */
#include "base/utf8.h"

int32_t artel__utf8_take(const char *at, size_t left, size_t *count)
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

size_t artel__utf8_valid(const char *bytes, size_t length)
{
    size_t at = 0, step = 1;
    for (; at < length; at += step, step = 1) /* most are ASCII */
        if ((unsigned char)bytes[at] >= 0x80 && artel__utf8_take(bytes + at, length - at, &step) < 0) break;
    return at;
}

size_t artel__utf8_put(uint32_t code, char *out)
{
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = bytes - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(lead[bytes] | code);
    return bytes;
}

size_t artel__utf8_count(const char *bytes, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += artel__utf8_begins(bytes[i]);
    return count;
}
