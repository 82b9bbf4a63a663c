/* SPDX-License-Identifier: Apache-2.0 */
/* The flat form, written through one buffer; large data go out directly. The limit is checked before every write, so
 * that a file that declares more than it holds ends with a message and not with a full memory.
 */
#include <string.h>
#include <unistd.h>

#include "helper.h"

static void write_all(const void *bytes, size_t count)
{
    const uint8_t *p = bytes;
    while (count > 0) {
        ssize_t done = write(ARTEL__WIRE_OUTPUT, p, count < (1u << 30) ? count : 1u << 30);
        if (done <= 0) helper_fail(HELPER_MEMORY, false, "no memory for the contents");
        p += done;
        count -= (size_t)done;
    }
}

uint64_t helper_room(const helper_output *out)
{
    return out->limit - out->written;
}

void helper_put(helper_output *out, const void *bytes, size_t count)
{
    if (count > helper_room(out))
        helper_fail(HELPER_CORRUPT, false, "the file declares more than %llu MiB of contents",
                    (unsigned long long)(out->limit >> 20));
    out->written += count;
    if (count > sizeof out->buffer - out->used) {
        write_all(out->buffer, out->used);
        out->used = 0;
    }
    if (count > sizeof out->buffer) {
        write_all(bytes, count);
    } else if (count > 0) {
        memcpy(out->buffer + out->used, bytes, count);
        out->used += count;
    }
}

void helper_pad(helper_output *out, size_t alignment)
{
    static const uint8_t zeros[ARTEL__WIRE_ALIGN];
    helper_put(out, zeros, (alignment - out->written % alignment) % alignment);
}

void helper_put_word(helper_output *out, uint64_t word)
{
    helper_put(out, &word, sizeof word);
}

void helper_put_string(helper_output *out, const char *text, size_t length)
{
    helper_put_word(out, length);
    helper_put(out, text, length);
    helper_pad(out, 8);
}

void helper_begin(helper_output *out, uint64_t limit)
{
    static const artel__wire_header empty;
    out->written = 0;
    out->used = 0;
    out->limit = limit;
    helper_put(out, &empty, sizeof empty);
}

void helper_end(helper_output *out)
{
    write_all(out->buffer, out->used);
    artel__wire_header header = {.magic = ARTEL__WIRE_MAGIC, .complete = ARTEL__WIRE_COMPLETE, .length = out->written};
    if (pwrite(ARTEL__WIRE_OUTPUT, &header, sizeof header, 0) != sizeof header)
        helper_fail(HELPER_MEMORY, false, "no memory for the contents");
}
