/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a message: fixed, little-endian, 56 bytes, the same on every transport.
 *
 *   offset  0 magic u32      4 version u16    6 kind u16      8 job u64      16 generation u32   20 step u64
 *          28 collective u32 32 node u32     36 slice u32    40 length u64   48 lent u32         52 crc32c u32
 *
 * The crc (Castagnoli, RFC 3720) covers the first 52 bytes and then the payload. Drivers that stay inside a process
 * carry the decoded form and neither encode nor sum; a wire carries the 56 bytes and the payload behind them. Messages
 * are matched by (source, kind, job, generation, step, collective, node, slice), in the order of sending where these
 * are equal; length and crc are checked, not matched. Golden bytes are in tests/net/test_frame.c. A driver that sends
 * large payloads in chunks sums the header alone, so that its length can be trusted before the payload comes, and each
 * chunk for itself (net/tcp.h).
 */
#ifndef ARTEL_NET_FRAME_H
#define ARTEL_NET_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

enum {
    ARTEL__FRAME_BYTES = 56,
    ARTEL__FRAME_MAGIC = 0x6c747261, /* "artl" */
    ARTEL__FRAME_VERSION = 3         /* another version is refused; 2: lengths of 64 bits, 3: lent messages */
};

/* Bytes of a payload at the most, half of what a process can map: sums of a few lengths do not overflow. */
#define ARTEL__FRAME_LONGEST ((uint64_t)1 << 46)

/* What a message carries. Values are part of the wire format. */
typedef enum artel__frame_kind {
    ARTEL__FRAME_NODES = 1,   /* a slice of one maximal node, to the rank that merges it */
    ARTEL__FRAME_RESULT = 2,  /* a slice of the root, from the rank that merged it */
    ARTEL__FRAME_ROWS = 3,    /* rows of the sender, of a gather */
    ARTEL__FRAME_BARRIER = 4, /* one byte: 1 when all is well as far as the sender knows */
    /* Between drivers: */
    ARTEL__FRAME_CANCEL = 5, /* the sender's rank has cancelled its group */
    ARTEL__FRAME_RETURN = 6, /* the lent message of number `step` has been read */
    ARTEL__FRAME_FORGET = 7, /* the block of memory of id `step` has been freed */
    ARTEL__FRAME_NONE = 8,   /* was never used */
    /* Between clients and servers (ps/lane.h). */
    ARTEL__FRAME_CALL = 9,
    ARTEL__FRAME_ANSWER = 10
} artel__frame_kind;

typedef struct artel__frame {
    uint16_t kind;
    uint64_t job;
    uint32_t generation;
    uint64_t step;
    uint32_t collective; /* the call within the step */
    uint32_t node;       /* heap number of the fold node: (V + first) / count, so 1 is the root */
    uint32_t slice;
    uint64_t length; /* payload bytes */
    uint32_t lent;   /* pieces in the sender's memory that the payload lies in (net/tcp_lend.c); 0: it follows */
    uint32_t crc32c;
} artel__frame;

/* Whether a message of that kind goes from driver to driver, and is none that a caller has sent. */
static inline bool artel__frame_is_word(uint16_t kind)
{
    return kind >= ARTEL__FRAME_CANCEL && kind <= ARTEL__FRAME_FORGET;
}

/* True when both name the same message. */
bool artel__frame_match(const artel__frame *a, const artel__frame *b);

void artel__frame_encode(const artel__frame *frame, uint8_t out[ARTEL__FRAME_BYTES]);
/* The same with a reason instead of a record: NULL, or what is wrong with the header. */
const char *artel__frame_read(const uint8_t in[ARTEL__FRAME_BYTES], artel__frame *out);
/* The crc of a header (whose own crc field is ignored) and its payload. */
uint32_t artel__frame_crc(const artel__frame *frame, const void *payload, size_t bytes);

/* Reads a header; magic, version and kind are checked (ARTEL_ERROR_CORRUPT, ARTEL_ERROR_UNSUPPORTED for another
 * version). Failures are recorded with `where`, the peer's name. The crc is the caller's to check. */
artel_status artel__frame_decode(artel_context *ctx, const char *where, const uint8_t in[ARTEL__FRAME_BYTES],
                                 artel__frame *out);

#endif
