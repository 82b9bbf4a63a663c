/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of what clients and servers, and the holders of a part, say to one another.
 *
 * Each message begins with a head of 48 bytes, little-endian:
 *
 *   op 1, flags 1, pieces 2, part 4, epoch 8, client 8, item 8, position 8, rows 4, hash 4
 *
 * Behind it lies what the operation carries: of a log's APPEND an entry of 64 bytes and a digest of 16, then the
 * payload; of others what their users put there. Nothing is read before its length is known; what a head says is judged
 * by artel__ps_head_read against the op's row in a table, so a server refuses by one place what no client may say. Pure
 * functions; any thread.
 */
#ifndef ARTEL_PS_CALL_H
#define ARTEL_PS_CALL_H

#include "ps/log.h"

enum {
    ARTEL__PS_HEAD_BYTES = 48,
    ARTEL__PS_ENTRY_BYTES = 64,
    ARTEL__PS_LOG_BYTES = ARTEL__PS_HEAD_BYTES + ARTEL__PS_ENTRY_BYTES + 16, /* of APPEND, before its payload */
    ARTEL__PS_MOST_PIECES = 4096
};

/* Values are part of the wire format: append only. */
typedef enum artel__ps_op {
    ARTEL__PS_PULL = 1,
    ARTEL__PS_PULL_ROWS = 2, /* ids ascending */
    ARTEL__PS_PUSH = 3,
    ARTEL__PS_PUSH_ROWS = 4,
    ARTEL__PS_PUSH_NODE = 5, /* client: the trainer; item: the step; clock: generation << 32 | node */
    ARTEL__PS_COMMIT = 6,
    ARTEL__PS_AVERAGE = 7,
    ARTEL__PS_ASSIGN = 8,
    ARTEL__PS_RATE = 9,
    ARTEL__PS_KEEP = 10,
    ARTEL__PS_SNAP = 11,
    ARTEL__PS_CLOCK = 12,
    ARTEL__PS_ISSUE = 13,
    ARTEL__PS_RESULT = 14,
    ARTEL__PS_RECALL = 15,
    ARTEL__PS_LOG = 16,    /* flags: artel__log_word */
    ARTEL__PS_COPY = 17,   /* a holder asks for state and table of a part */
    ARTEL__PS_ANSWER = 18, /* flags: artel__log_answer */
    ARTEL__PS_OPS
} artel__ps_op;

/* Who may say an op. */
enum {
    ARTEL__PS_CLIENT = 1,
    ARTEL__PS_COORDINATOR = 2,
    ARTEL__PS_HOLDER = 4
};

typedef struct artel__ps_head {
    uint8_t op, flags;
    uint16_t pieces; /* pieces that follow */
    uint32_t part;
    uint64_t epoch; /* artel__view.epoch */
    uint64_t client, item;
    uint64_t position; /* at which a gradient was computed; of a log's word; or a clock */
    uint32_t rows;
    uint32_t hash; /* CRC-32C of what follows; 0: not taken */
} artel__ps_head;

void artel__ps_head_write(const artel__ps_head *head, uint8_t out[ARTEL__PS_HEAD_BYTES]);
/* NULL, or what is wrong (a constant text): too short, an unknown op or flags, a part at or above `parts`, more pieces
 * than there may be, an op that `role` (of ARTEL__PS_CLIENT ...) may not use. */
const char *artel__ps_head_read(const uint8_t *bytes, size_t count, uint32_t parts, unsigned role, artel__ps_head *out);

/* Checks `count` ids of 8 bytes: ascending, each below `limit`. NULL, or what is wrong. */
const char *artel__ps_ids_check(const uint8_t *bytes, size_t count, uint64_t limit);

/* A log's message without its payload; returns the bytes, at most ARTEL__PS_LOG_BYTES. */
size_t artel__ps_log_write(const artel__log_message *message, uint8_t out[ARTEL__PS_LOG_BYTES]);
/* `count` bytes with the payload, to which message->payload points then (NULL: none). NULL, or what is wrong; where the
 * entry has a hash, the payload's is compared. */
const char *artel__ps_log_read(const uint8_t *bytes, size_t count, uint32_t parts, artel__log_message *message);

const char *artel__ps_op_name(unsigned op);

#endif
