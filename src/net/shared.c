/* SPDX-License-Identifier: Apache-2.0 */
/* The rings of a shared segment.
 *
 * Long copies are told to the other end in portions, so that it works on one while the next is copied. Each end keeps
 * its own positions to itself and reads the other's, which may be anything: a distance that cannot be ends the
 * connection. An end that goes to sleep stores that, then looks; the other stores its position, then looks who sleeps:
 * both in one order, so that one of them sees the other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "net/shared_copy.h"
#include "net/shared_impl.h"

enum {
    PORTION = 64 << 10,
    WORTH = ARTEL__SHARED_RING / 4 /* room that a sleeping writer is woken for */
};

static int64_t broken(artel__net_why *why)
{
    snprintf(why->text, sizeof why->text, "the memory shared with it is damaged");
    return ARTEL__NET_STREAM_FAILED;
}

/* Bytes that wait to be read; more than a ring holds: the peer has broken it. */
static uint64_t waiting(const artel__shared *s)
{
    return atomic_load(&s->segment->ring[1 - s->side].head) - s->tail;
}

static uint64_t in_flight(const artel__shared *s)
{
    return s->head - atomic_load(&s->segment->ring[s->side].tail);
}

bool artel__shared_has_bytes(const artel__shared *s)
{
    return waiting(s) != 0;
}

bool artel__shared_has_room(const artel__shared *s)
{
    uint64_t used = in_flight(s);
    return used <= ARTEL__SHARED_RING - WORTH || used > ARTEL__SHARED_RING;
}

static void rouse(artel__shared *s, uint32_t reason)
{
    _Atomic uint32_t *asleep = &s->segment->side[1 - s->side].asleep;
    if (!(atomic_load(asleep) & reason) || !atomic_exchange(asleep, 0)) return;
    uint64_t one = 1;
    while (write(s->wake_peer, &one, sizeof one) < 0 && errno == EINTR) {
    }
}

/* Copies between a run of memory and the ring at a position; at the ring's end the rest goes to its beginning. */
static void put(uint8_t *ring, uint64_t at, const uint8_t *from, size_t bytes)
{
    size_t offset = at % ARTEL__SHARED_RING, first = ARTEL__SHARED_RING - offset;
    if (first > bytes) first = bytes;
    artel__shared_copy(ring + offset, from, first);
    if (bytes > first) artel__shared_copy(ring, from + first, bytes - first);
}

static void get(const uint8_t *ring, uint64_t at, uint8_t *to, size_t bytes)
{
    size_t offset = at % ARTEL__SHARED_RING, first = ARTEL__SHARED_RING - offset;
    if (first > bytes) first = bytes;
    memcpy(to, ring + offset, first);
    if (bytes > first) memcpy(to + first, ring, bytes - first);
}

/* Walks through pieces in runs that end where a portion is full. */
typedef struct walk {
    const struct iovec *piece;
    int count;
    size_t offset;
} walk;

static size_t next_run(walk *w, size_t most, uint8_t **out)
{
    while (w->count && w->offset == w->piece->iov_len) {
        w->piece++;
        w->count--;
        w->offset = 0;
    }
    if (!w->count) return 0;
    size_t run = w->piece->iov_len - w->offset;
    run = run < most ? run : most;
    *out = (uint8_t *)w->piece->iov_base + w->offset;
    w->offset += run;
    return run;
}

/* Tells the other end where this one stands now. */
static void publish(artel__shared *s, bool writing)
{
    if (writing) {
        atomic_store(&s->segment->ring[s->side].head, s->head);
        rouse(s, ARTEL__SHARED_FOR_BYTES);
        return;
    }
    atomic_store(&s->segment->ring[1 - s->side].tail, s->tail);
    if (waiting(s) <= ARTEL__SHARED_RING - WORTH) rouse(s, ARTEL__SHARED_FOR_ROOM);
}

/* A portion at the most; returns how much there was. */
static size_t move_portion(artel__shared *s, walk *w, size_t most, bool writing)
{
    size_t moved = 0, run;
    uint8_t *memory = NULL;
    while (moved < most && (run = next_run(w, most - moved, &memory)) > 0) {
        if (writing)
            put(s->segment->bytes[s->side], s->head, memory, run);
        else
            get(s->segment->bytes[1 - s->side], s->tail, memory, run);
        *(writing ? &s->head : &s->tail) += run;
        moved += run;
    }
    if (moved) publish(s, writing);
    return moved;
}

static int64_t move(artel__shared *s, const struct iovec *piece, int count, bool writing, artel__net_why *why)
{
    walk w = {piece, count, 0};
    int64_t total = 0;
    for (;;) {
        uint64_t there = writing ? in_flight(s) : waiting(s);
        if (there > ARTEL__SHARED_RING) return broken(why);
        uint64_t most = writing ? ARTEL__SHARED_RING - there : there;
        size_t moved = move_portion(s, &w, most < PORTION ? (size_t)most : PORTION, writing);
        if (!moved) return total ? total : ARTEL__NET_STREAM_AGAIN;
        total += (int64_t)moved;
    }
}

int64_t artel__shared_read(artel__shared *s, const struct iovec *to, int count, artel__net_why *why)
{
    return move(s, to, count, false, why);
}

int64_t artel__shared_write(artel__shared *s, const struct iovec *from, int count, artel__net_why *why)
{
    return move(s, from, count, true, why);
}

void artel__shared_sleep(artel__shared *s, bool for_room)
{
    atomic_store(&s->segment->side[s->side].asleep,
                 for_room ? ARTEL__SHARED_FOR_BYTES | ARTEL__SHARED_FOR_ROOM : ARTEL__SHARED_FOR_BYTES);
}

void artel__shared_wake(artel__shared *s)
{
    atomic_store_explicit(&s->segment->side[s->side].asleep, 0, memory_order_relaxed);
}

void artel__shared_say_core(artel__shared *s, int core)
{
    _Atomic uint32_t *said = &s->segment->side[s->side].core;
    if (atomic_load_explicit(said, memory_order_relaxed) != (uint32_t)core + 1)
        atomic_store_explicit(said, (uint32_t)core + 1, memory_order_relaxed);
}

bool artel__shared_is_apart(const artel__shared *s, int core)
{
    uint32_t said = atomic_load_explicit(&s->segment->side[1 - s->side].core, memory_order_relaxed);
    return said && said != (uint32_t)core + 1;
}

int artel__shared_fd(const artel__shared *s)
{
    return s->wake;
}
