/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the TCP driver: an endpoint, its peers, and message buffers.
 *
 * tcp.c has the interface, tcp_wait.c events and waiting, tcp_send.c and tcp_receive.c one direction each, tcp_pool.c
 * the buffers. Everything is guarded by the endpoint's mutex, which is never held while waiting; it is contended only
 * by cancel and lose from other threads.
 */
#ifndef ARTEL_NET_TCP_IMPL_H
#define ARTEL_NET_TCP_IMPL_H

#include <pthread.h>

#include "net/tcp.h"

enum {
    ARTEL__TCP_CHUNK = 256 << 10,
    ARTEL__TCP_PREFIX = 8,
    ARTEL__TCP_STAGE = 64 << 10,   /* headers and small messages on their way out */
    ARTEL__TCP_INBOX = 64 << 10,   /* bytes that have arrived and are not sorted yet */
    ARTEL__TCP_COPIED = 8 << 10,   /* messages up to here are copied into the stage */
    ARTEL__TCP_CLASSES = 47,       /* buffers of 2^k bytes, to ARTEL__FRAME_LONGEST */
    ARTEL__TCP_SMALLEST = 12,      /* k of the smallest */
    ARTEL__TCP_MESSAGE_COST = 256, /* counted for each held message beside its payload */
    ARTEL__TCP_LOOKS = 32,         /* at shared memory, for each at the sockets */
    ARTEL__TCP_WAKE = -1,          /* of an event, in place of a rank: the endpoint's own */
    ARTEL__TCP_ROUSED = -2         /* the same: a peer that shares memory has moved something */
};

/* A message that arrives or has arrived. */
typedef struct artel__tcp_message {
    struct artel__tcp_message *next;
    artel__frame frame;
    artel__net_request *request; /* who asked for it; NULL: nobody yet */
    bool complete;
    int class;
    void *data; /* 2^class bytes */
    artel__net_piece piece;
    const artel__net_piece
        *list; /* where its bytes are: `piece`, or the pieces of the request that wanted them there */
    int pieces;
    bool unwanted;              /* it arrives only to be returned */
    artel__shared_block *block; /* it lies in the sender's memory; NULL: in `data` */
    uint64_t recalls, loan;     /* what its description said */
} artel__tcp_message;

/* A place in a message that lies in pieces: each padded to 8 bytes. */
typedef struct artel__tcp_place {
    int piece;
    size_t offset;
} artel__tcp_place;

static inline void artel__tcp_advance(const artel__net_piece *list, int pieces, artel__tcp_place *place, size_t bytes)
{
    place->offset += bytes;
    while (place->piece < pieces && place->offset >= artel__net_padded(list[place->piece].bytes)) {
        place->offset -= artel__net_padded(list[place->piece].bytes);
        place->piece++;
    }
}

typedef struct artel__tcp_pool {
    artel_context *ctx;
    artel__tcp_message *free[ARTEL__TCP_CLASSES];
} artel__tcp_pool;

void artel__tcp_pool_init(artel__tcp_pool *pool, artel_context *ctx);
void artel__tcp_pool_fini(artel__tcp_pool *pool); /* all messages must have been given back */
artel_status artel__tcp_pool_take(artel__tcp_pool *pool, size_t bytes, artel__tcp_message **out);
void artel__tcp_pool_give(artel__tcp_pool *pool, artel__tcp_message *message);

typedef struct artel__tcp_queue {
    artel__net_request *head, *tail;
} artel__tcp_queue;

/* Where sending stands in a message whose bytes are read from the lender's memory. */
typedef struct artel__tcp_cursor {
    artel__net_request *request; /* NULL: no such message */
    int piece;
    size_t offset;      /* within the padded piece */
    size_t chunk, rest; /* bytes left of this chunk, and after it */
} artel__tcp_cursor;

typedef enum artel__tcp_reading {
    ARTEL__TCP_HEADER,
    ARTEL__TCP_WAITING, /* for somebody to ask for the message of this header */
    ARTEL__TCP_PREFIXED,
    ARTEL__TCP_PAYLOAD
} artel__tcp_reading;

typedef struct artel__tcp_peer {
    artel__connection *connection; /* NULL: none yet */
    artel__net_stream *stream;
    uint32_t out_mask, in_mask, out_count, in_count;
    bool readable, writable, ending, lost, sums, cancel_due;
    bool starved; /* lost, for want of memory here */
    char why[512];
    /* Out: the stage leaves first, then the chunk under the cursor; then the stage is filled again. */
    artel__tcp_queue urgent, sends, leaving; /* urgent: what others wait for to go on, and what the cache still has */
    artel__tcp_cursor cursor;
    uint8_t *stage;
    size_t stage_begin, stage_end, stage_bytes;
    uint64_t taken;              /* bytes that the stream has taken */
    artel__tcp_queue lent;       /* sends that the peer reads where they lie */
    artel__tcp_message *returns; /* what this end has read so and has yet to say */
    uint64_t loans;              /* so far */
    bool deep;                   /* a socket to another host, which keeps as much unsent as the system likes */
    /* In. */
    artel__tcp_reading reading;
    uint8_t *inbox;
    size_t in_begin, in_end;
    artel__frame frame;                     /* of the message that arrives */
    artel__tcp_message *into;               /* where it goes; NULL: it is dropped */
    artel__net_request *longer;             /* a receive whose message is longer than it may be */
    artel__tcp_place in_place, chunk_place; /* in `into`: of the next byte, of the running chunk */
    uint8_t pad[8];                         /* padding that is read away */
    size_t in_chunk, in_rest, in_done;      /* bytes left of this chunk, after it; bytes of the message that are here */
    uint32_t chunk_crc;
    artel__tcp_queue receives;
    artel__tcp_message *held; /* in order of arrival */
    size_t held_bytes;
} artel__tcp_peer;

typedef struct artel__tcp {
    artel__endpoint base;
    pthread_mutex_t mutex;
    bool has_mutex;
    int epoll, wake;
    size_t window;
    int64_t spin_ns;
    artel__tcp_pool pool;
    artel__tcp_peer *peer;         /* [ranks] */
    uint64_t own, cancelled, told; /* generation << 32 | resumes; `cancelled` and `told` one more, 0: never */
    bool told_any;                 /* what was told holds for any generation */
    int64_t settle_until;          /* a cancellation has to leave before this time; 0: none */
    bool posted;
    bool cancelled_here; /* by this rank, or by one that knew of no generation yet: until resumed */
    bool polled;         /* events have been looked at since the last progress */
    int sockets;         /* peers whose messages come through the socket */
    uint32_t skipped;    /* progresses since the sockets were asked for events */
    uint64_t changes, looked;
} artel__tcp;

/* A queue of requests. */
void artel__tcp_append(artel__tcp_queue *queue, artel__net_request *request);
void artel__tcp_prepend(artel__tcp_queue *queue, artel__net_request *request);
bool artel__tcp_take_out(artel__tcp_queue *queue, const artel__net_request *request);

/* Marks a peer lost, with the reason. */
void artel__tcp_fail_peer(artel__tcp *tcp, artel__tcp_peer *peer, const char *reason);
void artel__tcp_finish(artel__tcp *tcp, artel__net_request *request, artel__net_state state);
uint32_t artel__tcp_seal(uint32_t crc, uint32_t mask, uint32_t number);
/* What has this number (as `own`) or a lower one is cancelled; so a frame of a peer says. */
void artel__tcp_raise_cancelled(artel__tcp *tcp, uint64_t to);
void artel__tcp_be_cancelled(artel__tcp *tcp, const artel__frame *frame);

bool artel__tcp_is_cancelled(const artel__tcp *tcp);

/* Events and waiting: the mutex is held. How many events there were; to sleep is until something happens, or for so
 * many milliseconds, and without the mutex. */
int artel__tcp_poll(artel__tcp *tcp);
int artel__tcp_sleep(artel__tcp *tcp, int milliseconds);
int artel__tcp_unheard(artel__endpoint *endpoint, int64_t limit_ns); /* of far.h */
bool artel__tcp_look(artel__tcp *tcp); /* whether there is something to be moved through shared memory */
/* The driver's wait: takes the mutex. */
void artel__tcp_wait(artel__endpoint *endpoint);

/* Out. */
void artel__tcp_queue_send(artel__tcp_peer *peer, artel__net_request *send);
bool artel__tcp_is_sending(const artel__tcp_peer *peer); /* a send is not done */
bool artel__tcp_has_output(const artel__tcp_peer *peer);
void artel__tcp_pump_out(artel__tcp *tcp, artel__tcp_peer *peer);
void artel__tcp_take_back(artel__tcp *tcp, artel__tcp_peer *peer, artel__net_request *send);

/* Lending; tcp_lend.c. */
size_t artel__tcp_carried(const artel__frame *frame); /* bytes that come behind a header */
/* What is wrong with a header in this; NULL: nothing. */
const char *artel__tcp_check_lent(const artel__tcp_peer *peer, const artel__frame *frame);
bool artel__tcp_may_lend(const artel__tcp_peer *peer,
                         const artel__net_request *send); /* it is long, and the peer shares memory */
/* Finds the block that a send lies in and hands it over; false: it is to be copied. */
bool artel__tcp_hand_block(const artel__tcp *tcp, const artel__tcp_peer *peer, const artel__net_request *send,
                           artel__lendable *block);
/* Writes the description, at most ARTEL__TCP_COPIED bytes; the send is lent from here on. How many bytes. */
size_t artel__tcp_describe(artel__tcp_peer *peer, artel__net_request *send, const artel__lendable *block, uint8_t *out);
void artel__tcp_be_returned(artel__tcp *tcp, artel__tcp_peer *peer, uint64_t number);
void artel__tcp_recall(artel__tcp_peer *peer, const artel__net_request *send); /* if it is lent */
/* A description has arrived: finds the pieces. What is wrong with it; NULL: nothing. */
const char *artel__tcp_borrow(const artel__tcp_peer *peer, artel__tcp_message *message);
bool artel__tcp_is_void(const artel__tcp_message *message); /* what was read may be anything; NULL: not */
/* A message that nobody reads any more: to the pool, if need be after the word to its lender. */
void artel__tcp_discard(artel__tcp *tcp, artel__tcp_peer *peer, artel__tcp_message *message);
bool artel__tcp_next_return(artel__tcp *tcp, artel__tcp_peer *peer, artel__frame *out);
void artel__tcp_drop_returns(artel__tcp *tcp, artel__tcp_peer *peer);

/* In. */
bool artel__tcp_has_input(const artel__tcp_peer *peer);
void artel__tcp_pump_in(artel__tcp *tcp, artel__tcp_peer *peer);
bool artel__tcp_ask(artel__tcp *tcp, artel__tcp_peer *peer,
                    artel__net_request *receive); /* true: matched what is here */
void artel__tcp_unask(artel__tcp *tcp, artel__tcp_peer *peer, artel__net_request *receive);
void artel__tcp_forget_old(artel__tcp *tcp, artel__tcp_peer *peer);
/* What has not wholly arrived; `all`: held messages too. */
void artel__tcp_drop_input(artel__tcp *tcp, artel__tcp_peer *peer, bool all);

/* tcp.c */
extern const artel__far_transport artel__far_tcp;

#endif
