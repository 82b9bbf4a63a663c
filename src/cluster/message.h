/* SPDX-License-Identifier: Apache-2.0 */
/* The control messages of a cluster, and their bytes.
 *
 * One struct holds every message; a kind uses the fields named beside it, and all of them carry the sender's own state,
 * so that whoever receives anything from a peer knows where it stands. Fields at zero are not sent.
 *
 * The bytes are the wire format of Protocol Buffers (message.proto beside this file is the schema, for other readers),
 * so that a field can be added without breaking older builds: unknown fields are skipped. They are read and written
 * here from one table and not through libprotobuf-c, which takes heap memory for every message that it reads; the state
 * machine takes none, and the program links little. Golden bytes: tests/cluster/test_message.c; any bytes:
 * tests/fuzz/fuzz_message.c.
 */
#ifndef ARTEL_CLUSTER_MESSAGE_H
#define ARTEL_CLUSTER_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ARTEL__PROTOCOL_VERSION = 1, /* in HELLO; another version is refused there */
    ARTEL__TEXT_MAX = 255,       /* bytes of a text, a name or a key */
    ARTEL__FACTS_MAX = 1000,     /* bytes of the facts of a HELLO */
    ARTEL__VALUE_MAX = 1000      /* bytes of a value of the key-value store */
};

/* Values are part of the wire format: append only. "About" is the generation in `about`. */
typedef enum artel__message_kind {
    ARTEL__MESSAGE_HELLO = 1,   /* first on every link, again when the sender begins a new incarnation:
                                   protocol, facts, life, sequence = how often it has done so */
    ARTEL__MESSAGE_STATUS = 2,  /* heartbeat, probe and answer: ping, pong */
    ARTEL__MESSAGE_SUSPECT = 3, /* member to the lowest task it reaches: subject, reason; please propose */
    ARTEL__MESSAGE_PROPOSE = 4, /* coordinator: about, reason, subject, bits = tasks it does not reach any more */
    ARTEL__MESSAGE_REPORT = 5,  /* answer: about, step, hash, replicas, memory, arithmetic = of that state, best = that
                                   the sender's  machine is made for, bits = tasks that answer the sender */
    ARTEL__MESSAGE_DECLINE = 6, /* answer: about, subject = the coordinator whom the sender follows */
    ARTEL__MESSAGE_RECORD =
        7, /* coordinator: about, purpose, target step, member[], arithmetic of all, best = that all are made for */
    ARTEL__MESSAGE_READY = 8,     /* member: about; it holds the state of the target step */
    ARTEL__MESSAGE_START = 9,     /* coordinator: about; all are ready */
    ARTEL__MESSAGE_REFUSE = 10,   /* about, reason: the receiver has no part in that generation (any more) */
    ARTEL__MESSAGE_JOIN = 11,     /* to a generation's coordinator: about; the sender reaches all its members */
    ARTEL__MESSAGE_FINISHED = 12, /* member to coordinator: about, step, hash; no more steps to do */
    ARTEL__MESSAGE_SAVE = 13,     /* coordinator: about; all are at the same step, write the results */
    ARTEL__MESSAGE_SAVED = 14, /* member: about, target = digest of what was written, 0 when it had nothing to write */
    ARTEL__MESSAGE_FAIL = 15,  /* to all: the job has failed: status, subject, cause_*, text */
    ARTEL__MESSAGE_END = 16,   /* last on every link: status, text; purpose 1: the whole job ends, target = digest */
    ARTEL__MESSAGE_ENTER = 17, /* member to coordinator: name, sequence: it waits at the barrier */
    ARTEL__MESSAGE_RELEASE = 18, /* coordinator: name, sequence: all have come */
    ARTEL__MESSAGE_PUT = 19,     /* member to coordinator: name, value, sequence = 1 to overwrite */
    ARTEL__MESSAGE_SET = 20,     /* coordinator: name, value, sequence: the entry's version */
    ARTEL__MESSAGE_ADDRESS =
        21, /* of a link's driver, not of the machine: subject listens at `value`, or the sender at port target */
    ARTEL__MESSAGE_ENDED = 22, /* passed on: subject has said END, alone: status, cause_incarnation = as which, text */
    ARTEL__MESSAGE_KINDS
} artel__message_kind;

/* The sender's state, in every message. */
enum {
    ARTEL__FLAG_RUNNING = 1,  /* it is a member of a generation that goes on */
    ARTEL__FLAG_FORMING = 2,  /* it takes part in forming one, or its own is broken */
    ARTEL__FLAG_HAS_RUN = 4,  /* it has been a member of a generation: its state may be ahead of the start */
    ARTEL__FLAG_LEAVING = 8,  /* it wants to leave in order */
    ARTEL__FLAG_SAVING = 16,  /* it wants all to save the same step and end */
    ARTEL__FLAG_YOURS = 32,   /* the receiver is a member of that generation, too */
    ARTEL__FLAG_FINISHED = 64 /* it has no more steps to do */
};

/* Names a generation. A coordinator never uses a counter twice in one incarnation; two coordinators may use the same.
 */
typedef struct artel__generation_id {
    uint32_t counter;     /* 0: none */
    uint64_t incarnation; /* of the task that proposed it */
} artel__generation_id;

static inline bool artel__generation_same(artel__generation_id a, artel__generation_id b)
{
    return a.counter == b.counter && a.incarnation == b.incarnation;
}

/* Bytes elsewhere: the sender's until encoded; in a decoded message they lie in the bytes that were decoded. */
typedef struct artel__message_bytes {
    const uint8_t *data;
    uint32_t count;
} artel__message_bytes;

/* A member in a RECORD. */
typedef struct artel__member {
    uint32_t task;
    uint64_t incarnation;
    uint32_t replicas; /* replicas of the member; they follow those of the members before it */
    uint32_t shard;    /* owns virtual shards [shard, shard + shards) */
    uint32_t shards;
    uint32_t donor; /* 1 + the task from which it copies the state; 0: it has it */
} artel__member;

typedef struct artel__message {
    uint32_t kind;
    /* The sender, in every message. */
    uint32_t task;
    uint64_t incarnation;
    uint32_t flags;
    uint32_t counter;                /* the highest generation counter it has seen */
    artel__generation_id generation; /* of which it is a member */
    uint32_t size, lowest;           /* members of it, the lowest of them */
    uint64_t step;                   /* steps applied */
    uint32_t phase, phase_ms;        /* what its training does, for how long */
    uint32_t busy;            /* 1 + thousandths of the last seconds that it worked and did not wait; 0: not known */
    uint64_t hash, hash_step; /* of its parameters, after that many steps */
    /* By kind. */
    uint32_t protocol;
    uint64_t life;       /* the first incarnation of the process */
    uint64_t ping, pong; /* a number to be sent back; one that is */
    artel__generation_id about;
    uint32_t reason, subject, purpose;
    uint64_t target;
    uint32_t replicas;
    uint64_t memory;
    uint32_t arithmetic, best; /* 1 + artel__arithmetic; 0: open, or the job does not have it */
    int32_t status;
    uint64_t cause_incarnation, cause_step;
    uint32_t cause_phase;
    uint32_t sequence;
    artel__message_bytes bits; /* a set of tasks: task t is bit t % 8 of byte t / 8 */
    artel__message_bytes facts, name, value, text;
    artel__member *member; /* the caller's, both ways */
    uint32_t members, member_capacity;
} artel__message;

/* Upper bound of the bytes of any message about a cluster of `tasks` tasks. */
size_t artel__message_bound(uint32_t tasks);

/* Writes a message; `capacity` at least artel__message_bound. Returns the bytes written, 0 when they do not fit. Texts
 * that are too long are cut. */
size_t artel__message_encode(const artel__message *message, uint8_t *out, size_t capacity);

/* Reads any bytes. `message->member` and `member_capacity` are the caller's to set before; all else is overwritten.
 * Returns NULL, or what is wrong (a constant text). Values are not judged here but for the kind and the lengths above.
 */
const char *artel__message_decode(const uint8_t *bytes, size_t count, artel__message *message);

/* A constant name such as "hello". */
const char *artel__message_name(uint32_t kind);

#endif
