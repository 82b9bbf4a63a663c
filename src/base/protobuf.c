/* SPDX-License-Identifier: Apache-2.0 */
/* A field is its tag, number << 3 | type, and its value; varints have seven bits a byte, the lowest first. */
#include "base/protobuf.h"

#include <string.h>

#include "base/bytes.h"

enum {
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_BYTES = 2,
    WIRE_FIXED32 = 5
};

/* -- reading -- */

static bool damage(artel__proto *message)
{
    message->damaged = true;
    message->at = message->end;
    return false;
}

bool artel__proto_long_varint(artel__proto *message, uint64_t *out)
{
    const uint8_t *at = message->at;
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && at < message->end; shift += 7) {
        uint8_t byte = *at++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte > 127) continue;
        message->at = at;
        *out = value;
        return true;
    }
    return damage(message);
}

static bool read_fixed(artel__proto *message, int size, uint64_t *out)
{
    if (message->end - message->at < size) return damage(message);
    *out = artel__bytes_take(&message->at, size);
    return true;
}

bool artel__proto_other(artel__proto *message, artel__proto_field *out)
{
    switch (out->wire) {
    case WIRE_VARINT: return artel__proto_long_varint(message, &out->value);
    case WIRE_FIXED64: return read_fixed(message, 8, &out->value);
    case WIRE_FIXED32: return read_fixed(message, 4, &out->value);
    default: return damage(message);
    }
}

bool artel__proto_next(artel__proto *message, artel__proto_field *out)
{
    return artel__proto_next_here(message, out);
}

bool artel__proto_find(artel__proto message, int number, artel__proto_field *out)
{
    while (artel__proto_next(&message, out))
        if (out->number == number) return true;
    *out = (artel__proto_field){0};
    return false;
}

const char *artel__proto_string(artel__proto bytes, char *buffer, size_t size)
{
    size_t n = 0;
    for (; bytes.at < bytes.end && n + 1 < size; bytes.at++)
        buffer[n++] = *bytes.at < 32 || *bytes.at == 127 ? '?' : (char)*bytes.at;
    buffer[n] = '\0';
    return buffer;
}

float artel__proto_float(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

/* -- writing -- */

void artel__put_varint(artel__text *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    artel__text_append_bytes(out, bytes, count);
}

void artel__put_integer(artel__text *out, unsigned field, uint64_t value)
{
    artel__put_varint(out, field << 3 | WIRE_VARINT);
    artel__put_varint(out, value);
}

void artel__put_bytes(artel__text *out, unsigned field, const void *bytes, size_t count)
{
    artel__put_varint(out, field << 3 | WIRE_BYTES);
    artel__put_varint(out, count);
    if (count > 0) artel__text_append_bytes(out, bytes, count);
}

void artel__put_string(artel__text *out, unsigned field, const char *string)
{
    artel__put_bytes(out, field, string, strlen(string));
}

void artel__put_message(artel__text *out, unsigned field, const artel__text *message)
{
    artel__put_bytes(out, field, message->data, message->length);
    out->failed = out->failed || message->failed;
}
