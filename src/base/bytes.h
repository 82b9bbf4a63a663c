/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian numbers of 1 to 8 bytes in messages. */
#ifndef ARTEL_BASE_BYTES_H
#define ARTEL_BASE_BYTES_H

#include <stdint.h>

/* Returns the place behind it. */
static inline uint8_t *artel__bytes_put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> (8 * i));
    return at + bytes;
}

static inline uint64_t artel__bytes_get(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* The same, and moves *at behind it. */
static inline uint64_t artel__bytes_take(const uint8_t **at, int bytes)
{
    uint64_t value = artel__bytes_get(*at, bytes);
    *at += bytes;
    return value;
}

#endif
