/* SPDX-License-Identifier: Apache-2.0 */
/* Foreign words made fit to be shown: names from files, what other tasks say, paths.
 *
 * A terminal takes control characters for commands, a reader a line break for the end of a message, and marks that turn
 * the direction of writing let a text look like another one. All of those, and bytes that are no UTF-8, are shown as
 * what they are: "\n", "\x1b",
 * "\u009b". The rest stays as it is. Everything that a person is shown goes through here: errors and log lines as a
 * whole (error.c, context.c), tables word by word (artel__text_show). JSON has escapes of its own.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/utf8.h"

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
        int32_t code = artel__utf8_take(text + i, length - i, &bytes);
        bool fit = code >= 0 && !is_unfit(code);
        size_t wanted = fit ? bytes : (size_t)write_escape(escape, code, (uint8_t)text[i]);
        if (used + wanted >= size) break;
        memcpy(out + used, fit ? text + i : escape, wanted);
        used += wanted;
    }
    out[used] = '\0';
    return used;
}
