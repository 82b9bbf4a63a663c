/* SPDX-License-Identifier: Apache-2.0 */
/* Laying out a thread's scratch: one function adds up its parts with a base of NULL, and places them with one. */
#ifndef ARTEL_KERNEL_SIMD_ROOM_H
#define ARTEL_KERNEL_SIMD_ROOM_H

#include <stddef.h>
#include <stdint.h>

/* The next `bytes` of `base`, on whole lines of the cache; NULL while only the sum is wanted. */
static inline void *room_take(size_t *used, char *base, int64_t bytes)
{
    char *at = base ? base + *used : NULL;
    *used += ((size_t)bytes + 63) & ~(size_t)63;
    return at;
}

#endif
