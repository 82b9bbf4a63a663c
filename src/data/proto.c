/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire format: tag = number << 3 | type. */
#include "data/proto.h"

#include <string.h>

#include "base/bytes.h"

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
    case 0: return artel__proto_long_varint(message, &out->value);
    case 1: return read_fixed(message, 8, &out->value);
    case 5: return read_fixed(message, 4, &out->value);
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
    for (; bytes.at < bytes.end && n + 1 < size; bytes.at++) buffer[n++] = *bytes.at < 32 || *bytes.at == 127 ? '?' : (char)*bytes.at;
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
