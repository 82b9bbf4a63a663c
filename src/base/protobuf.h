/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire format: examples, models of ONNX, checkpoints of TensorFlow, event files. (Messages of the network,
 * which have one form: cluster/message.h.)
 *
 * A message is read field by field, bounded by the bytes at hand; damage ends a loop and is told by `damaged`. A
 * message is written by appending fields to a text, which remembers a failure; one that is a field of another is built
 * first.
 */
#ifndef ARTEL_BASE_PROTOBUF_H
#define ARTEL_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* -- reading -- */

/* A message being read. */
typedef struct artel__proto {
    const uint8_t *at, *end;
    bool damaged;
} artel__proto;

/* One field: a number (varint or fixed, little-endian) or bytes. */
typedef struct artel__proto_field {
    int number;
    int wire; /* 0 varint, 1 fixed64, 2 bytes, 5 fixed32 */
    uint64_t value;
    artel__proto bytes;
} artel__proto_field;

/* `bytes` may be NULL when there are none. */
static inline artel__proto artel__proto_of(const void *bytes, size_t size)
{
    return (artel__proto){.at = bytes, .end = size > 0 ? (const uint8_t *)bytes + size : bytes};
}

/* The next field; false at the end or at damage. */
bool artel__proto_next(artel__proto *message, artel__proto_field *out);
/* What it consists of, for loops that count nanoseconds: tags and lengths of a byte or two, and bytes, are read in
 * place. */
bool artel__proto_long_varint(artel__proto *message, uint64_t *out);
bool artel__proto_other(artel__proto *message, artel__proto_field *out);

static inline bool artel__proto_varint(artel__proto *message, uint64_t *out)
{
    const uint8_t *at = message->at;
    if (message->end - at >= 2 && (at[0] & at[1] & 128) == 0) {
        bool two = at[0] > 127;
        *out = two ? (uint64_t)(at[0] & 127) | (uint64_t)at[1] << 7 : at[0];
        message->at = at + 1 + two;
        return true;
    }
    return artel__proto_long_varint(message, out);
}

static inline bool artel__proto_next_here(artel__proto *message, artel__proto_field *out)
{
    uint64_t tag;
    if (message->at == message->end || !artel__proto_varint(message, &tag)) return false;
    *out = (artel__proto_field){.number = (int)(tag >> 3 & 0x1FFFFFFF), .wire = (int)(tag & 7)};
    if (out->wire != 2) return artel__proto_other(message, out);
    if (!artel__proto_varint(message, &out->value)) return false;
    if (out->value > (uint64_t)(message->end - message->at)) out->wire = 7; /* no kind of field: damage */
    if (out->wire == 7) return artel__proto_other(message, out);
    out->bytes = artel__proto_of(message->at, (size_t)out->value);
    message->at += out->value;
    return true;
}

/* The first field of that number, or false and zeros. */
bool artel__proto_find(artel__proto message, int number, artel__proto_field *out);
/* Copies bytes as text, cut to the buffer; control characters become '?'. */
const char *artel__proto_string(artel__proto bytes, char *buffer, size_t size);
float artel__proto_float(uint64_t bits);

/* -- writing -- */

void artel__put_varint(artel__text *out, uint64_t value);
void artel__put_integer(artel__text *out, unsigned field, uint64_t value);
void artel__put_bytes(artel__text *out, unsigned field, const void *bytes, size_t count);
void artel__put_string(artel__text *out, unsigned field, const char *string);
/* With the failure of `message`. */
void artel__put_message(artel__text *out, unsigned field, const artel__text *message);

#endif
