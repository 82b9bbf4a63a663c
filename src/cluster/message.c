/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding and decoding of control messages: one table a message type, one loop each way.
 *
 * The wire format of Protocol Buffers: a field is a varint key (number << 3 | wire type) and a value: a varint, 8
 * bytes, or a varint length and as many bytes (https://protobuf.dev/programming-guides/encoding). What arrives is
 * hostile: every length is compared with what is left before it is used, and nothing is copied but numbers.
 */
#include "cluster/message.h"

#include <string.h>

typedef enum wire {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
} wire;

typedef enum field_type {
    U32,     /* varint */
    S32,     /* varint, zigzag */
    U64,     /* varint */
    FIXED,   /* 8 bytes */
    BYTES,   /* artel__message_bytes */
    MEMBERS, /* repeated artel__member */
    TYPES
} field_type;

typedef struct field {
    uint8_t number, type;
    uint16_t offset;
    uint16_t limit; /* of BYTES; 0: bounded by the tasks of the cluster */
} field;

#define FIELD(number, type, name, limit)                              \
    {                                                                 \
        number, type, (uint16_t)offsetof(artel__message, name), limit \
    }
static const field message_field[] = {
    FIELD(1, U32, kind, 0),
    FIELD(2, U32, task, 0),
    FIELD(3, FIXED, incarnation, 0),
    FIELD(4, U32, flags, 0),
    FIELD(5, U32, counter, 0),
    FIELD(6, U32, generation.counter, 0),
    FIELD(7, FIXED, generation.incarnation, 0),
    FIELD(8, U32, size, 0),
    FIELD(9, U32, lowest, 0),
    FIELD(10, U64, step, 0),
    FIELD(11, U32, phase, 0),
    FIELD(12, U32, phase_ms, 0),
    FIELD(13, FIXED, hash, 0),
    FIELD(14, U64, hash_step, 0),
    FIELD(15, U32, protocol, 0),
    FIELD(16, FIXED, ping, 0),
    FIELD(17, FIXED, pong, 0),
    FIELD(18, U32, about.counter, 0),
    FIELD(19, FIXED, about.incarnation, 0),
    FIELD(20, U32, reason, 0),
    FIELD(21, U32, subject, 0),
    FIELD(22, U32, purpose, 0),
    FIELD(23, U64, target, 0),
    FIELD(24, U32, replicas, 0),
    FIELD(25, U64, memory, 0),
    FIELD(26, S32, status, 0),
    FIELD(27, FIXED, cause_incarnation, 0),
    FIELD(28, U64, cause_step, 0),
    FIELD(29, U32, cause_phase, 0),
    FIELD(30, U32, sequence, 0),
    FIELD(31, BYTES, bits, 0),
    FIELD(32, BYTES, facts, ARTEL__FACTS_MAX),
    FIELD(33, BYTES, name, ARTEL__TEXT_MAX),
    FIELD(34, BYTES, value, ARTEL__VALUE_MAX),
    FIELD(35, BYTES, text, ARTEL__TEXT_MAX),
    FIELD(36, MEMBERS, member, 0),
    FIELD(37, FIXED, life, 0),
    FIELD(38, U32, busy, 0),
    FIELD(39, U32, arithmetic, 0),
    FIELD(40, U32, best, 0),
};
#undef FIELD
#define FIELD(number, type, name)                                \
    {                                                            \
        number, type, (uint16_t)offsetof(artel__member, name), 0 \
    }
static const field member_field[] = {
    FIELD(1, U32, task),  FIELD(2, FIXED, incarnation), FIELD(3, U32, replicas),
    FIELD(4, U32, shard), FIELD(5, U32, shards),        FIELD(6, U32, donor),
};
#undef FIELD

enum {
    MESSAGE_FIELDS = sizeof message_field / sizeof *message_field,
    MEMBER_FIELDS = sizeof member_field / sizeof *member_field,
    MEMBER_BOUND = 48 /* bytes of an encoded member at the most: six keys, five varints of 5, 8 bytes, key and length */
};

static const uint8_t type_wire[TYPES] = {[U32] = WIRE_VARINT,    [S32] = WIRE_VARINT,  [U64] = WIRE_VARINT,
                                         [FIXED] = WIRE_FIXED64, [BYTES] = WIRE_BYTES, [MEMBERS] = WIRE_BYTES};

size_t artel__message_bound(uint32_t tasks)
{
    return 12 * (size_t)MESSAGE_FIELDS + ARTEL__FACTS_MAX + 2 * ARTEL__TEXT_MAX + ARTEL__VALUE_MAX + tasks / 8 + 1 +
           (size_t)tasks * MEMBER_BOUND;
}

/* -- writing -- */

static uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 128; value >>= 7) *at++ = (uint8_t)(value | 128);
    *at++ = (uint8_t)value;
    return at;
}

static uint64_t get_number(const field *f, const void *object)
{
    const uint8_t *place = (const uint8_t *)object + f->offset;
    uint32_t narrow = 0;
    uint64_t value = 0;
    if (f->type == U64 || f->type == FIXED) {
        memcpy(&value, place, sizeof value);
        return value;
    }
    memcpy(&narrow, place, sizeof narrow);
    if (f->type == S32) return (narrow << 1) ^ (0 - (narrow >> 31));
    return narrow;
}

static uint8_t *put_number(uint8_t *at, const field *f, const void *object)
{
    uint64_t value = get_number(f, object);
    if (!value) return at;
    at = put_varint(at, (uint64_t)f->number << 3 | type_wire[f->type]);
    if (f->type != FIXED) return put_varint(at, value);
    for (int i = 0; i < 8; i++) *at++ = (uint8_t)(value >> (8 * i));
    return at;
}

static uint8_t *put_member(uint8_t *at, const field *f, const artel__member *member)
{
    uint8_t body[MEMBER_BOUND], *end = body;
    for (int i = 0; i < MEMBER_FIELDS; i++) end = put_number(end, &member_field[i], member);
    at = put_varint(at, (uint64_t)f->number << 3 | WIRE_BYTES);
    at = put_varint(at, (uint64_t)(end - body));
    memcpy(at, body, (size_t)(end - body));
    return at + (end - body);
}

size_t artel__message_encode(const artel__message *message, uint8_t *out, size_t capacity)
{
    size_t room = artel__message_bound(message->members);
    if (capacity < room) return 0;
    uint8_t *at = out;
    for (int i = 0; i < MESSAGE_FIELDS; i++) {
        const field *f = &message_field[i];
        if (f->type == MEMBERS) {
            for (uint32_t k = 0; k < message->members; k++) at = put_member(at, f, &message->member[k]);
        } else if (f->type == BYTES) {
            artel__message_bytes bytes;
            memcpy(&bytes, (const uint8_t *)message + f->offset, sizeof bytes);
            if (!bytes.count) continue;
            if (f->limit && bytes.count > f->limit) bytes.count = f->limit;
            if (!f->limit && bytes.count > capacity - room + message->members / 8) return 0;
            at = put_varint(at, (uint64_t)f->number << 3 | WIRE_BYTES);
            at = put_varint(at, bytes.count);
            memcpy(at, bytes.data, bytes.count);
            at += bytes.count;
        } else {
            at = put_number(at, f, message);
        }
    }
    return (size_t)(at - out);
}

/* -- reading -- */

typedef struct reader {
    const uint8_t *at, *end;
} reader;

static bool take_varint(reader *r, uint64_t *out)
{
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
        if (r->at == r->end) return false;
        uint8_t byte = *r->at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *out = value;
            return true;
        }
    }
    return false;
}

/* The number of a varint, a fixed64 or a fixed32 field, or the length of a bytes field with the bytes still to come. */
static bool take_value(reader *r, uint32_t type, uint64_t *out)
{
    size_t width = type == WIRE_FIXED64 ? 8 : 4;
    switch (type) {
    case WIRE_VARINT: return take_varint(r, out);
    case WIRE_BYTES: return take_varint(r, out) && *out <= (uint64_t)(r->end - r->at);
    case WIRE_FIXED64:
    case WIRE_FIXED32:
        if ((size_t)(r->end - r->at) < width) return false;
        *out = 0;
        for (size_t i = 0; i < width; i++) *out |= (uint64_t)r->at[i] << (8 * i);
        r->at += width;
        return true;
    default: return false;
    }
}

static bool set_number(const field *f, void *object, uint64_t value)
{
    uint8_t *place = (uint8_t *)object + f->offset;
    if (f->type == U64 || f->type == FIXED) {
        memcpy(place, &value, sizeof value);
        return true;
    }
    if (value > UINT32_MAX) return false;
    uint32_t narrow = (uint32_t)value;
    if (f->type == S32) narrow = (narrow >> 1) ^ (0 - (narrow & 1));
    memcpy(place, &narrow, sizeof narrow);
    return true;
}

static const field *find(const field *table, int count, uint64_t number)
{
    for (int i = 0; i < count; i++)
        if (table[i].number == number) return &table[i];
    return NULL;
}

static const char *read_member(reader r, artel__member *out)
{
    *out = (artel__member){0};
    while (r.at < r.end) {
        uint64_t key, value;
        if (!take_varint(&r, &key) || !take_value(&r, key & 7, &value)) return "a member is cut short";
        const field *f = find(member_field, MEMBER_FIELDS, key >> 3);
        if ((key & 7) == WIRE_BYTES) r.at += value;
        if (!f) continue;
        if (type_wire[f->type] != (key & 7) || !set_number(f, out, value))
            return "a member has a field of another type";
    }
    return NULL;
}

static const char *read_bytes(const field *f, artel__message *message, const uint8_t *data, uint64_t count)
{
    if (f->type == MEMBERS) {
        if (message->members == message->member_capacity) return "more members than tasks";
        return read_member((reader){data, data + count}, &message->member[message->members++]);
    }
    if (f->limit && count > f->limit) return "a text is too long";
    if (count > UINT32_MAX) return "a field is too long";
    artel__message_bytes bytes = {data, (uint32_t)count};
    memcpy((uint8_t *)message + f->offset, &bytes, sizeof bytes);
    return NULL;
}

const char *artel__message_decode(const uint8_t *bytes, size_t count, artel__message *message)
{
    reader r = {bytes, bytes + count};
    *message = (artel__message){.member = message->member, .member_capacity = message->member_capacity};
    while (r.at < r.end) {
        uint64_t key, value;
        if (!take_varint(&r, &key) || !take_value(&r, key & 7, &value)) return "it is cut short";
        const field *f = find(message_field, MESSAGE_FIELDS, key >> 3);
        const uint8_t *data = r.at;
        if ((key & 7) == WIRE_BYTES) r.at += value;
        if (!f) continue;
        if (type_wire[f->type] != (key & 7)) return "a field has another type";
        const char *wrong = NULL;
        if (type_wire[f->type] == WIRE_BYTES)
            wrong = read_bytes(f, message, data, value);
        else if (!set_number(f, message, value))
            wrong = "a number is too large";
        if (wrong) return wrong;
    }
    if (message->kind < ARTEL__MESSAGE_HELLO || message->kind >= ARTEL__MESSAGE_KINDS)
        return "it is of an unknown kind";
    return NULL;
}

const char *artel__message_name(uint32_t kind)
{
    static const char *const name[ARTEL__MESSAGE_KINDS] = {
        "",      "hello", "status",  "suspect", "propose",  "report",  "decline", "record",
        "ready", "start", "refuse",  "join",    "finished", "save",    "saved",   "fail",
        "end",   "enter", "release", "put",     "set",      "address", "ended"};
    return kind < ARTEL__MESSAGE_KINDS ? name[kind] : "";
}
