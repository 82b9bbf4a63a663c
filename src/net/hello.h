/* SPDX-License-Identifier: Apache-2.0 */
/* The first bytes of every connection, in both directions: who speaks, for which job, to whom; or a refusal.
 *
 * Both are 224 bytes, little-endian, so that a reader needs to know nothing to take one in:
 *
 *   offset  0 magic u32       4 version u16    6 kind u8         7 purpose or fault u8
 *           8 job u64        16 incarnation u64  24 generation u32  28 zero u32
 *          32 identity [32]  64 nonce [16]    80 task [64]     144 to [64]     208 host u64    216 zero u32
 *         220 crc32c u32
 *
 * A refusal has its reason as text from offset 8 on, at most 200 bytes. The crc covers the first 220 bytes. Texts are
 * printable ASCII and end with a zero byte. Who connects says hello first; `to` is the task it believes to reach.
 * On a data connection who connects may say which host it is on; who accepts repeats that when it has handed over
 * memory to share (net/shared.h), and then who connects says hello once more, with the host when it has taken the
 * memory. Golden bytes are in tests/net/test_hello.c; another version is refused.
 */
#ifndef ARTEL_NET_HELLO_H
#define ARTEL_NET_HELLO_H

#include "base/context.h"

enum {
    ARTEL__HELLO_BYTES = 224,
    ARTEL__HELLO_MAGIC = 0x48747261, /* "artH" */
    ARTEL__HELLO_VERSION = 3,        /* 2: messages whose lengths have 64 bits; 3: lent messages */
    ARTEL__HELLO_NAME = 64,
    ARTEL__HELLO_REASON = 200
};

/* What a connection is for. Values are part of the wire format. */
typedef enum artel__net_purpose {
    ARTEL__NET_DATA = 1,   /* messages of a transport */
    ARTEL__NET_CONTROL = 2 /* small byte strings between members */
} artel__net_purpose;

/* Why a connection came to nothing or ended. Values are part of the wire format (in refusals). */
typedef enum artel__net_fault {
    ARTEL__FAULT_NONE = 0,
    ARTEL__FAULT_UNREACHABLE = 1, /* nobody listens, no route: may heal */
    ARTEL__FAULT_LOST = 2,        /* reset, or ended by the peer */
    ARTEL__FAULT_SLOW = 3,        /* no greeting within the time for it */
    ARTEL__FAULT_CROWDED = 4,     /* too many unfinished connections: may heal */
    ARTEL__FAULT_GARBAGE = 5,     /* not artel's protocol, or damaged, or replayed */
    ARTEL__FAULT_VERSION = 6,
    ARTEL__FAULT_PLAINTEXT = 7, /* encrypted on one side only, or plain off loopback */
    ARTEL__FAULT_CERTIFICATE = 8,
    ARTEL__FAULT_NAME = 9,      /* the certificate is another task's, or the task that was asked for is another */
    ARTEL__FAULT_JOB = 10,      /* another job */
    ARTEL__FAULT_IDENTITY = 11, /* another model, data or options */
    ARTEL__FAULT_REJECTED = 12  /* by the member's own rule (an unknown task, an old generation) */
} artel__net_fault;

/* Short and stable, for logs: "certificate". */
const char *artel__net_fault_name(artel__net_fault fault);

typedef struct artel__hello {
    artel__net_purpose purpose;
    uint64_t job; /* 0: none is known; a control connection with a question */
    uint64_t incarnation;
    uint32_t generation;
    uint8_t identity[32]; /* of the run; all zero: not known yet, and then not compared */
    uint8_t nonce[16];
    uint64_t host;                                       /* artel__shared_host; 0: no memory is shared */
    char task[ARTEL__HELLO_NAME], to[ARTEL__HELLO_NAME]; /* `to` empty: whoever answers */
} artel__hello;

typedef struct artel__refusal {
    artel__net_fault fault;
    char reason[ARTEL__HELLO_REASON];
} artel__refusal;

void artel__hello_encode(const artel__hello *hello, uint8_t out[ARTEL__HELLO_BYTES]);
/* Characters that cannot be shown become '?'. */
void artel__refusal_encode(const artel__refusal *refusal, uint8_t out[ARTEL__HELLO_BYTES]);

/* What 224 bytes from a peer are: FAULT_NONE and a hello; a refusal (*refused set); or the fault with the reason in
 * refusal->reason. */
artel__net_fault artel__hello_decode(const uint8_t in[ARTEL__HELLO_BYTES], artel__hello *hello, artel__refusal *refusal,
                                     bool *refused);

/* Compares a peer's hello with one's own: job, identity, and that it wants this task. FAULT_NONE, or the fault and its
 * reason. */
artel__net_fault artel__hello_check(const artel__hello *self, const artel__hello *peer,
                                    char reason[ARTEL__HELLO_REASON]);

#endif
