/* SPDX-License-Identifier: Apache-2.0 */
/* The segment, for shared.c (the rings) and shared_meet.c (how two processes come to have it). */
#ifndef ARTEL_NET_SHARED_IMPL_H
#define ARTEL_NET_SHARED_IMPL_H

#include <stdatomic.h>

#include "net/shared.h"

/* One direction. Counts of bytes since the beginning, each written by one end only, on cache lines of their own. */
typedef struct artel__shared_ring {
    _Alignas(128) _Atomic uint64_t head; /* put in */
    _Alignas(128) _Atomic uint64_t tail; /* taken out */
} artel__shared_ring;

/* What an end tells the other about itself. */
typedef struct artel__shared_side {
    _Alignas(128) _Atomic uint32_t asleep; /* 0, or 1 for bytes | 2 for room; taken back by whoever wakes it */
    _Atomic uint32_t core;                 /* where it was when it last waited, and 1 more; 0: it has not */
    _Atomic uint64_t recalls;              /* how often it has taken back what it had lent */
} artel__shared_side;

typedef struct artel__shared_segment {
    uint64_t magic, ring_bytes;
    uint8_t proof[ARTEL__SHARED_PROOF];
    artel__shared_side side[2]; /* 0: who accepted, 1: who connected */
    artel__shared_ring ring[2]; /* written by that side */
    _Alignas(4096) uint8_t bytes[2][ARTEL__SHARED_RING];
} artel__shared_segment;

struct artel__shared {
    artel_context *ctx;
    artel__shared_segment *segment;
    int side;
    uint64_t head, tail; /* of the ring that is written, of the one that is read: as this end knows them */
    int wake, wake_peer;
    int pass;                              /* descriptors are handed over there */
    uint64_t handed[ARTEL__SHARED_BLOCKS]; /* ids of the blocks that the other end has been handed */
    int handeds;
    uint64_t frees_seen;        /* frees of the context when all of them were there */
    artel__shared_block *block; /* those that it has handed to this one */
    int blocks;
};

/* A block of the other end's, mapped here. Messages that lie in it outlive the connection, so it is counted. */
struct artel__shared_block {
    artel__shared_block *next;
    artel_context *ctx;
    artel__shared *owner; /* NULL: the connection is gone, or the block was forgotten */
    uint64_t id;
    const uint8_t *memory;
    size_t bytes;
    int users;
};

/* Ends the lists of blocks when the connection ends. */
void artel__shared_end_lending(artel__shared *shared);
/* One message with descriptors over a socket of shared_meet.c; true: it has gone, or come. Descriptors that come are
 * put into `fd` also with a message that is not what it should be: the caller closes them. */
bool artel__shared_send_descriptors(int socket, uint64_t what, const int *fd, int count);
bool artel__shared_receive_descriptors(int socket, uint64_t *what, int *fd, int count);

enum {
    ARTEL__SHARED_FOR_BYTES = 1,
    ARTEL__SHARED_FOR_ROOM = 2
};

#endif
