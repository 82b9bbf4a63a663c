/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is read or written soon: the processor is asked to fetch its lines while something else is computed.
 *
 * gcc takes a function that does nothing but __builtin_prefetch for one without effects, and leaves out all calls of
 * it; the empty statement tells it otherwise, and costs no instruction. tests/house/test_fetches.sh looks for what must
 * be there. Addresses need not be valid.
 */
#ifndef ARTEL_BASE_FETCH_SOON_H
#define ARTEL_BASE_FETCH_SOON_H

#include <stddef.h>

#if defined(__GNUC__) || defined(__clang__)

enum {
    ARTEL__FETCH_LINE = 64
};

/* The line that holds `at`. */
static inline __attribute__((always_inline)) void artel__fetch_line(const void *at)
{
    __builtin_prefetch(at, 0, 3);
    __asm__ volatile("");
}

/* The lines of so many bytes from `at` on. */
static inline __attribute__((always_inline)) void artel__fetch_soon(const void *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += ARTEL__FETCH_LINE) artel__fetch_line((const char *)at + i);
}

#else

static inline void artel__fetch_line(const void *at)
{
    (void)at;
}

static inline void artel__fetch_soon(const void *at, size_t bytes)
{
    (void)at;
    (void)bytes;
}

#endif
#endif
