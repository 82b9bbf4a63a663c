/* SPDX-License-Identifier: Apache-2.0 */
/* A file of values at fixed places, each kept when it is first made, by any number of threads and processes at once.
 *
 * A place holds a mark, the CRC-32C of its position and value, and the value. Whoever writes a place writes what
 * everybody else would, so nobody locks; a place that is empty, half written or damaged is one whose value is made
 * anew. Nothing has to be synced for that. The file is sparse, and is used on the machine's own byte order: the head
 * says which.
 *
 * Head, 4096 bytes: "ARTELSL1", u64 0x0102030405060708, u64 places, u64 stride, 32 bytes key, u32 CRC-32C of what
 * stands before it.
 */
#ifndef ARTEL_BASE_SLOTS_H
#define ARTEL_BASE_SLOTS_H

#include <stdatomic.h>

#include "base/context.h"

typedef struct artel__slots {
    artel_context *ctx;
    char *path;
    int fd; /* -1: none */
    bool writes;
    atomic_bool told; /* that no more can be kept */
    uint64_t count, stride;
} artel__slots;

/* Bytes that a value takes in its place's stride. */
static inline uint64_t artel__slots_room(size_t bytes)
{
    return 8 + ((uint64_t)bytes + 7) / 8 * 8;
}

/* Opens the file, or makes it, for `count` places of `stride` bytes. A file that may only be read is only read. Errors:
 * INVALID (it is no such file, or one of another key: nothing is overwritten), CORRUPT (its head), IO. */
artel_status artel__slots_open(artel_context *ctx, const char *path, const uint8_t key[32], uint64_t count,
                               uint64_t stride, artel__slots *out);
void artel__slots_close(artel__slots *slots); /* a cleared one is accepted */
/* A value that begins `at` bytes into place `index`. False: it is not there, and *out is anything. Thread-safe. */
bool artel__slots_read(const artel__slots *slots, uint64_t index, uint64_t at, void *out, size_t bytes);
/* Whether something has been written there; what it is may be damaged. Thread-safe. */
bool artel__slots_written(const artel__slots *slots, uint64_t index, uint64_t at);
/* Keeps it where that can be done; what cannot (a full disk) is said once. Thread-safe. */
void artel__slots_write(artel__slots *slots, uint64_t index, uint64_t at, const void *value, size_t bytes);

#endif
