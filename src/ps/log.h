/* SPDX-License-Identifier: Apache-2.0 */
/* One part's log at one of its holders: updates in one order, sent along a chain, applied once each.
 *
 *     PUSH at the head -> append -> LOG to the next holder -> append, apply -> ... the last answers HAVE -> back to the
 * head: apply, acknowledge. So the head reads what is committed, and an acknowledgement says that every holder has the
 * update.
 *
 * Pure: no clock and no socket. Messages go out through one function and come in by artel__part_log_receive, as structs
 * that ps/call.h puts into bytes. The chain and its epoch come from the view machine (cluster/holding.h): between fence
 * and serve nothing is appended or acknowledged, and messages of another epoch are dropped. One log belongs to one
 * thread. Memory: that of creation, and payloads, which are handed in and given back by `release`.
 *
 * Duplicates. An item (a batch of a pass) is applied at most once: a bit each of the present pass and of the one
 * before, in the state, so copied and saved with it. Words without an item count by the sequence of their client. The
 * table changes when an entry is appended, at every holder alike.
 *
 * Levelling. After a view is accepted each holder but the head asks the one before it for what it lacks; it is answered
 * when that one is level itself, so the links of the chain are tried before they are needed. A holder's log begins as
 * the one's before it: nothing is ever taken back. Who lacks more than the window keeps is told to copy.
 *
 * H7 of the view machine: LOG out of order, a fresh connection (artel__part_log_again) or a time without progress
 * (artel__part_log_nudge) make the predecessor send again from what the successor has.
 */
#ifndef ARTEL_PS_LOG_H
#define ARTEL_PS_LOG_H

#include "base/context.h"

enum {
    ARTEL__LOG_WINDOW = 64,       /* entries that are kept, and that may be unconfirmed */
    ARTEL__LOG_DIGEST_EVERY = 64, /* positions */
    ARTEL__LOG_CLIENTS = 512,
    ARTEL__LOG_BATCH_BITS = 40
};

#define ARTEL__LOG_WINDOW_BYTES ((uint64_t)256 << 20)
#define ARTEL__NO_ITEM UINT64_MAX

/* An item's number. */
static inline uint64_t artel__item(uint64_t pass, uint64_t batch)
{
    return pass << ARTEL__LOG_BATCH_BITS | batch;
}

/* Values are part of the wire format: append only. */
typedef enum artel__log_kind {
    ARTEL__LOG_GRADIENT = 1,
    ARTEL__LOG_ROWS = 2,
    ARTEL__LOG_AVERAGE = 3,
    ARTEL__LOG_ASSIGN = 4,
    ARTEL__LOG_RATE = 5,
    ARTEL__LOG_PREPARE = 6,
    ARTEL__LOG_COMMIT = 7,
    ARTEL__LOG_CLOCK = 8, /* bounded reads: a client has finished rounds */
    ARTEL__LOG_JOIN = 9,
    ARTEL__LOG_LEAVE = 10,
    ARTEL__LOG_RESULT = 11,
    ARTEL__LOG_POSITION = 12,
    ARTEL__LOG_KINDS
} artel__log_kind;

/* Flags of an entry. */
enum {
    ARTEL__LOG_STEP = 1 /* it is an update of the part: the next one's iteration is higher by one */
};

typedef struct artel__log_entry {
    uint64_t position; /* 1 is the first */
    uint64_t epoch;    /* of the view in which it was appended first */
    uint64_t client, sequence;
    uint64_t item;     /* or ARTEL__NO_ITEM */
    int64_t iteration; /* entries with ARTEL__LOG_STEP before this one; counted by the head, the same at every holder */
    uint32_t length;   /* of the payload */
    uint8_t kind, flags;
    uint16_t source; /* task of the client */
    uint32_t hash;   /* CRC-32C of the payload; 0: not taken */
} artel__log_entry;

typedef enum artel__log_word {
    ARTEL__LOG_APPEND = 1, /* predecessor: entry and payload */
    ARTEL__LOG_HAVE = 2,   /* successor: it and all behind it have `position` */
    ARTEL__LOG_ASK =
        3, /* successor, in an accepted view: I have `position`, send the rest (entry.flags not 0: I have nothing) */
    ARTEL__LOG_UPTO = 4, /* predecessor: `position` is my last; what lies between follows (APPEND) or has come */
    ARTEL__LOG_COPY = 5, /* predecessor: more than the window is lacking; copy the part */
    ARTEL__LOG_GAP = 6,  /* successor, in a view in force: I have `position`, send again from there */
    ARTEL__LOG_WORDS
} artel__log_word;

typedef struct artel__log_message {
    artel__log_word word;
    uint32_t part;
    uint64_t epoch, position;
    uint64_t digest_at, digest; /* with APPEND: the sender's state after that position; 0: none */
    artel__log_entry entry;     /* of APPEND */
    const void *payload;
} artel__log_message;

typedef enum artel__log_answer {
    ARTEL__LOG_ACK,     /* applied at `position`, at every holder */
    ARTEL__LOG_ALREADY, /* that item (or sequence) has been applied at every holder; `position` 0: no longer known */
    ARTEL__LOG_STALE,   /* the view named is not the one in force here, or this is not the head */
    ARTEL__LOG_BUSY,    /* the window is full or the part pauses: come again */
    ARTEL__LOG_WAIT     /* it will be answered when it is committed */
} artel__log_answer;

/* Applies an entry to the part's state. The same entries in the same order must give the same bits. */
typedef void artel__part_apply_fn(void *user, const artel__log_entry *entry, const void *payload);

typedef struct artel__part_log_ops {
    artel__part_apply_fn *apply;
    uint64_t (*digest)(void *user); /* of the state; NULL: digests are not compared */
    void (*send)(void *user, uint32_t task, const artel__log_message *message); /* lent for the call */
    /* To the client of an entry of this log, when it is committed: ACK. Also for entries that another head had
     * appended. */
    void (*answer)(void *user, const artel__log_entry *entry, artel__log_answer answer);
    void (*level)(void *user, uint64_t epoch); /* level with the holder before it */
    void (*copy)(void *user, uint64_t epoch,
                 uint32_t from); /* must copy the part from its predecessor, then artel__part_log_load */
    void (*differ)(void *user, uint64_t position); /* this holder's state is not its predecessor's: it must stop */
    void (*release)(void *user, void *payload);    /* a payload that was handed in is not needed any more */
} artel__part_log_ops;

typedef struct artel__part_log_config {
    uint32_t part, self;
    uint64_t batches; /* items of a pass: their batch numbers are below this */
    uint64_t
        keep_bytes; /* payloads kept beyond what is needed, for holders that come back; 0: ARTEL__LOG_WINDOW_BYTES */
    const artel__part_log_ops *ops;
    void *user;
} artel__part_log_config;

typedef struct artel__part_log artel__part_log;

artel_status artel__part_log_create(artel_context *ctx, const artel__part_log_config *config, artel__part_log **out);
void artel__part_log_destroy(artel__part_log *log); /* NULL accepted; payloads are given back */

/* -- orders of the view machine -- */

/* Position 0, no items: a job begins, and the state is that of the checkpoint or the seed. */
void artel__part_log_reset(artel__part_log *log);
void artel__part_log_fence(artel__part_log *log);
/* A view is accepted; `task[0..holders)` is the chain, head first. The head is level at once; others when `level` says
 * so. A task that is not in the chain is fenced. */
void artel__part_log_accept(artel__part_log *log, uint64_t epoch, const uint16_t *task, int holders);
/* The accepted view is in force: the head commits what it finds, and serves. */
void artel__part_log_serve(artel__part_log *log, uint64_t epoch);

/* -- updates -- */

/* At the head. `entry`: client, sequence, item, iteration, length, kind, flags, source, hash; the rest is filled in.
 * `epoch`: of the client's view. WAIT: the payload is the log's until release, and `answer` follows. Any other answer:
 * it is still the caller's. An item that is on its way already is answered BUSY, and ALREADY later. */
artel__log_answer artel__part_log_push(artel__part_log *log, uint64_t epoch, const artel__log_entry *entry,
                                       void *payload, uint64_t *position);
/* A message of another holder. `payload` of an APPEND is handed in as `owned` (which may be the same memory); it is
 * given back by `release`, at once when it is of no use. */
void artel__part_log_receive(artel__part_log *log, uint32_t from, const artel__log_message *message, void *owned);
/* A connection to the task is new: what was on its way to it may be lost. */
void artel__part_log_again(artel__part_log *log, uint32_t task);
/* From time to time: what has been without progress since the last call is sent again. True: nothing has moved for two
 * calls or more,
 * `*task` (or NULL) is who does not answer. */
bool artel__part_log_nudge(artel__part_log *log, uint32_t *task);

/* -- copies -- */

/* While it pauses, the head takes no pushes. */
void artel__part_log_pause(artel__part_log *log, bool pause);
/* Nothing is under way: state and table belong to one position. */
bool artel__part_log_is_still(const artel__part_log *log);
/* The table beside the state: position, items, sequences. Only while it is still. */
size_t artel__part_log_bytes(const artel__part_log *log);
void artel__part_log_save(const artel__part_log *log, uint8_t *out);
/* A copy of the state and this table are there. NULL, or what is wrong with the bytes (a constant text; nothing has
 * changed). In an accepted view the log goes on to level itself. */
const char *artel__part_log_load(artel__part_log *log, const uint8_t *bytes, size_t count);

/* -- what it knows -- */

uint64_t artel__part_log_applied(const artel__part_log *log); /* at the head: committed */
bool artel__part_log_serves(const artel__part_log *log);      /* the head of a view in force */
bool artel__part_log_has_item(const artel__part_log *log, uint64_t item);

#endif
