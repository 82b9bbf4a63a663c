/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the messages of help_message.h, a line each: the bytes in hex. With arguments: reads such lines from stdin and
 * prints "same" for each that decodes to the message of its number. */
#include <stdio.h>
#include <string.h>

#include "help_message.h"

static size_t read_hex(const char *line, uint8_t *out, size_t capacity)
{
    size_t count = 0;
    for (unsigned byte; count < capacity && sscanf(line + 2 * count, "%2x", &byte) == 1; count++)
        out[count] = (uint8_t)byte;
    return count;
}

int main(int argc, char **argv)
{
    uint8_t bytes[8192];
    char line[2 * sizeof bytes];
    (void)argv;
    for (uint32_t i = 0; i < HELP_MESSAGES; i++) {
        artel__member member[HELP_MEMBERS], read[HELP_MEMBERS];
        artel__message m = help_message(i, member), back = {.member = read, .member_capacity = HELP_MEMBERS};
        if (argc > 1) {
            if (!fgets(line, sizeof line, stdin)) return 1;
            const char *wrong = artel__message_decode(bytes, read_hex(line, bytes, sizeof bytes), &back);
            puts(wrong ? wrong : help_message_same(&m, &back) ? "same" : "different");
            continue;
        }
        size_t count = artel__message_encode(&m, bytes, sizeof bytes);
        for (size_t k = 0; k < count; k++) printf("%02x", bytes[k]);
        putchar('\n');
    }
    return 0;
}
