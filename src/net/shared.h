/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes between two processes of one host through memory that both have mapped: a ring for each direction.
 *
 * A data connection whose two ends are of one host, one network namespace and one user agrees on a segment while it
 * greets (net/connection.c). The socket stays: it has proved who the peer is, and its end is how a lost peer is
 * noticed. The bytes of a transport then go through the rings, in the same order and form as they would through the
 * socket; they are not encrypted, because they never leave the memory of these two processes.
 *
 * How they meet: who connects listens on a socket of the abstract Unix namespace that is named by the nonce of its
 * greeting; who accepts connects there, sees that it is the same user's, and hands over the segment (a sealed memfd, so
 * it has no name and is gone with the two processes, however they end) and two event descriptors. The segment begins
 * with both nonces: so it is known to come from whoever has answered on the authenticated connection.
 *
 * Waking: an end that is about to sleep says so, looks once more, then polls the descriptor of artel__shared_fd; the
 * other end writes to it, once, when it has put bytes in, or has made room where that was waited for.
 *
 * Long messages that lie in lendable memory (base/lend.h) do not go through the rings: the other end maps that memory
 * and reads them where they are (below, and net/tcp_lend.c). Two workers of a dense model of 64 rows: 0.71 of two apart
 * before, 0.92 since.
 *
 * What the peer writes into the segment is not trusted: positions are compared with what can be, bytes are copied
 * before they are judged, and the segment cannot shrink. A peer can only break its own connection.
 *
 * Why rings: 0.8 MB that the other core has just written are copied at 45 GB/s when mapped, at 12.5 GB/s by
 * process_vm_readv (which also needs the right to trace the peer), at 3 GB/s through a loopback socket, sending
 * included.
 *
 * Threads: one at a time.
 */
#ifndef ARTEL_NET_SHARED_H
#define ARTEL_NET_SHARED_H

#include <sys/uio.h>

#include "base/lend.h"
#include "net/tls.h"

typedef struct artel__shared artel__shared;
typedef struct artel__shared_block artel__shared_block;

enum {
    ARTEL__SHARED_BLOCKS = 32, /* of lendable memory that an end hands over at the most */
    /* Bytes in flight in each direction. Longer than a core's own cache, so that the other core finds most of it in the
     * common one: bench/coll_bench.c, 2 ranks, 1.6 MB: 440 us with 128 KiB, 340 with 256, 210 with 512, 135 with 1024,
     * 155 with 2048. */
    ARTEL__SHARED_RING = 1024 << 10,
    ARTEL__SHARED_PROOF = 32 /* the connecting end's nonce, then the accepting end's */
};

/* A number that two processes have in common when they may share memory: of the running kernel, the network namespace
 * and the user. 0: this cannot be found out, or there is no such memory. */
uint64_t artel__shared_host(void);

/* The connecting end: a descriptor at which the other end can meet it, to be closed by the caller; -1: none. */
int artel__shared_listen(const uint8_t nonce[16]);

/* The accepting end: makes a segment and hands it over. False: it cannot be; nothing has happened then. Does not block.
 */
bool artel__shared_offer(artel_context *ctx, const uint8_t proof[ARTEL__SHARED_PROOF], artel__shared **out);

/* The connecting end, when it has heard that a segment was handed over: takes it. False: it is not what it should be.
 */
bool artel__shared_take(artel_context *ctx, int listening, const uint8_t proof[ARTEL__SHARED_PROOF],
                        artel__shared **out);

void artel__shared_destroy(artel__shared *shared); /* NULL accepted */

/* Bytes moved, ARTEL__NET_STREAM_AGAIN or _FAILED. What has been moved can be used by the other end before this
 * returns. */
int64_t artel__shared_read(artel__shared *shared, const struct iovec *to, int count, artel__net_why *why);
int64_t artel__shared_write(artel__shared *shared, const struct iovec *from, int count, artel__net_why *why);

/* Bytes to be read: there are some (or the peer has broken the ring, which reading will tell). */
bool artel__shared_has_bytes(const artel__shared *shared);
/* Room to write: a part of the ring that is worth it. */
bool artel__shared_has_room(const artel__shared *shared);

/* Says that this end is about to sleep (and whether it waits for room, too) or that it is awake again. */
void artel__shared_sleep(artel__shared *shared, bool for_room);
void artel__shared_wake(artel__shared *shared);

/* Says on which core this end waits; whether the other end was on another one when it last said so. Who waits for
 * somebody on a core of his own may poll, who may be in his way should sleep. A hint: nothing depends on its being
 * right. */
void artel__shared_say_core(artel__shared *shared, int core);
bool artel__shared_is_apart(const artel__shared *shared, int core);

/* Becomes readable when the other end wakes this one; watched edge-triggered, it need not be read. */
int artel__shared_fd(const artel__shared *shared);

/* Lending: instead of a copy, the other end may be told where a message lies in this one's lendable memory
 * (base/lend.h). It is handed the block's descriptor before its first message from there, maps it, and reads it in
 * place until it says that it has done.
 *
 * Who has lent cannot wait for a borrower that may have been stopped. So he may recall: he counts that up, then the
 * memory is his again. A borrower looks at the count when a loan begins and again when he has read: where it has
 * changed, what he has read may be anything, and he must not use it. One count serves all loans of an end: who takes
 * one back has given up the whole attempt. */

/* The lender: hands the block over, unless the other end has it. False: it cannot be now; the message is to be copied.
 */
bool artel__shared_hand(artel__shared *shared, const artel__lendable *block);
/* The id of a block that was handed over and has been freed since, once; 0: none. The other end is to be told. */
uint64_t artel__shared_next_freed(artel__shared *shared);
uint64_t artel__shared_recalls(const artel__shared *shared); /* this end's own count */
void artel__shared_recall(artel__shared *shared);

/* The borrower: the block of that id, held for the caller; NULL: it was not handed over, or is not what it should be.
 * Drop it with artel__shared_drop, if need be after the connection has ended. */
artel__shared_block *artel__shared_borrow(artel__shared *shared, uint64_t id);
void artel__shared_drop(artel__shared_block *block);
/* Whether it is of this connection, which has not ended. */
bool artel__shared_is_from(const artel__shared_block *block, const artel__shared *shared);
/* NULL: these bytes do not lie in it. */
const uint8_t *artel__shared_at(const artel__shared_block *block, uint64_t offset, uint64_t bytes);
/* Whether nothing has been recalled since the lender's count was that; after the reading. False, too, once the
 * connection is gone. */
bool artel__shared_is_intact(const artel__shared_block *block, uint64_t recalls);
/* The lender has freed the block. */
void artel__shared_forget(artel__shared *shared, uint64_t id);

#endif
