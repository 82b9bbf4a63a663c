/* SPDX-License-Identifier: Apache-2.0 */
/* Stores past the caches, where there are such: see net/shared_copy.h. */
#include "net/shared_copy.h"

#include <stdint.h>
#include <string.h>

enum {
    LINE = 64,
    WORTH = 4 << 10 /* below this the other core had better find it in a cache */
};

#if defined(__x86_64__)
#include <emmintrin.h>

/* Whole lines, so that nothing of the old ones is asked for. */
static void stream(char *to, const char *from, size_t lines)
{
    for (; lines; lines--, to += LINE, from += LINE) {
        for (int i = 0; i < LINE; i += 16)
            _mm_stream_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
    }
    _mm_sfence();
}
#else
static void stream(char *to, const char *from, size_t lines)
{
    memcpy(to, from, lines * LINE);
}
#endif

void artel__shared_copy(void *to, const void *from, size_t bytes)
{
    char *at = to;
    const char *source = from;
    if (bytes >= WORTH) {
        size_t before = (LINE - (uintptr_t)at % LINE) % LINE, lines = (bytes - before) / LINE;
        memcpy(at, source, before);
        stream(at + before, source + before, lines);
        at += before + lines * LINE;
        source += before + lines * LINE;
        bytes -= before + lines * LINE;
    }
    memcpy(at, source, bytes);
}
