/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds that are texts. Apart from help_fuzz.c, whose main() libFuzzer brings itself. */
#include <string.h>

#include "fuzz/help_fuzz.h"

size_t artel_fuzz_text(const char *const *text, size_t count, unsigned number, uint8_t *out, size_t room)
{
    if (number >= count) return 0;
    size_t n = strlen(text[number]);
    memcpy(out, text[number], n < room ? n : room);
    return n < room ? n : room;
}
