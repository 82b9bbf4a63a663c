/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of any length on a control connection.
 *
 * A control message of net/connection.h has 64 KiB at the most, and arrives whole, once and in order. A message here is
 * a head {u8 kind, 7 zero bytes, u64 bytes} and as many bytes, cut into control messages; one follows the other. The
 * receiver says how long a message may be, and takes memory as it arrives. A line belongs to one thread.
 */
#ifndef ARTEL_SERVICE_LINE_H
#define ARTEL_SERVICE_LINE_H

#include "base/json.h"
#include "net/connection.h"

typedef enum artel__line_kind {
    ARTEL__LINE_JSON = 1,  /* an object with a member "say" */
    ARTEL__LINE_ASK = 2,   /* {u64 call, u64 row ...}: rows that are wanted */
    ARTEL__LINE_ROWS = 3,  /* {u64 call, rows, texts of theirs}: the answer (texts.h) */
    ARTEL__LINE_FAILED = 4 /* {u64 call, i64 status, text}: or why there is none */
} artel__line_kind;

enum {
    ARTEL__LINE_HEAD = 16,
    ARTEL__LINE_JSON_MOST = 8 << 20 /* bytes of a JSON message */
};

/* A message to be sent; `bytes` begins with the head. */
typedef struct artel__line_block {
    struct artel__line_block *next;
    size_t size, sent; /* head included */
    uint8_t *bytes;    /* behind this struct, aligned to 16 */
} artel__line_block;

typedef struct artel__line {
    artel_context *ctx;
    artel__connection *connection; /* NULL: none */
    artel__line_block *first, *last;
    artel__text in;    /* of the message that arrives */
    uint64_t expected; /* its bytes */
    uint64_t most;     /* and how many there may be */
    uint8_t kind;
    bool arriving, lent;
    int64_t heard_ns; /* when something came last */
} artel__line;

/* Takes the connection. `most`: the longest message that is taken in. */
void artel__line_open(artel__line *line, artel_context *ctx, artel__connection *connection, uint64_t most);
void artel__line_close(artel__line *line); /* a cleared one is accepted */

/* A message whose `size` bytes the caller fills in at artel__line_body(); given to artel__line_send, or freed. */
artel_status artel__line_block_create(artel_context *ctx, artel__line_kind kind, size_t size, artel__line_block **out);
void artel__line_block_free(artel_context *ctx, artel__line_block *block);
uint8_t *artel__line_body(artel__line_block *block);
/* Takes the block; it leaves as the connection does. */
void artel__line_send(artel__line *line, artel__line_block *block);
/* Messages that have not left wholly: many of them, of a peer that asks and does not read. */
int artel__line_waiting(const artel__line *line);
/* The reference is taken, also when it fails. NULL, for want of memory, fails. */
artel_status artel__line_say(artel__line *line, json_t *value);

/* Sends and receives what can be; the connection's state. */
artel__connection_state artel__line_progress(artel__line *line);
/* The next message that is whole, lent until the next call: ARTEL_OK, ARTEL_AGAIN (none), ARTEL_ERROR_INVALID (longer
 * than allowed, or none of this protocol: close the line), ARTEL_ERROR_NO_MEMORY. Nothing is recorded but the latter.
 */
artel_status artel__line_hear(artel__line *line, artel__line_kind *kind, const uint8_t **bytes, size_t *size);

#endif
