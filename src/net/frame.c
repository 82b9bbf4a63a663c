/* SPDX-License-Identifier: Apache-2.0 */
/* Encoding and decoding of message headers.
 *
 * Bytes are put and taken one by one, so the layout depends neither on the machine nor on the compiler's padding. A
 * header from a peer is hostile until magic, version and kind have been looked at.
 */
#include "net/frame.h"

#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"

bool artel__frame_match(const artel__frame *a, const artel__frame *b)
{
    return a->node == b->node && a->slice == b->slice && a->collective == b->collective && a->step == b->step &&
           a->kind == b->kind && a->generation == b->generation && a->job == b->job;
}

void artel__frame_encode(const artel__frame *frame, uint8_t out[ARTEL__FRAME_BYTES])
{
    uint8_t *at = artel__bytes_put(out, ARTEL__FRAME_MAGIC, 4);
    at = artel__bytes_put(at, ARTEL__FRAME_VERSION, 2);
    at = artel__bytes_put(at, frame->kind, 2);
    at = artel__bytes_put(at, frame->job, 8);
    at = artel__bytes_put(at, frame->generation, 4);
    at = artel__bytes_put(at, frame->step, 8);
    at = artel__bytes_put(at, frame->collective, 4);
    at = artel__bytes_put(at, frame->node, 4);
    at = artel__bytes_put(at, frame->slice, 4);
    at = artel__bytes_put(at, frame->length, 8);
    at = artel__bytes_put(at, frame->lent, 4);
    artel__bytes_put(at, frame->crc32c, 4);
}

uint32_t artel__frame_crc(const artel__frame *frame, const void *payload, size_t bytes)
{
    uint8_t header[ARTEL__FRAME_BYTES];
    artel__frame_encode(frame, header);
    uint32_t crc = artel__crc32c(0, header, ARTEL__FRAME_BYTES - 4);
    return bytes ? artel__crc32c(crc, payload, bytes) : crc;
}

const char *artel__frame_read(const uint8_t in[ARTEL__FRAME_BYTES], artel__frame *out)
{
    const uint8_t *at = in;
    if (artel__bytes_take(&at, 4) != ARTEL__FRAME_MAGIC) return "a message does not begin as messages do";
    if (artel__bytes_take(&at, 2) != ARTEL__FRAME_VERSION) return "a message of another version of the protocol";
    artel__frame frame = {.kind = (uint16_t)artel__bytes_take(&at, 2)};
    if (frame.kind < ARTEL__FRAME_NODES || frame.kind > ARTEL__FRAME_ANSWER || frame.kind == ARTEL__FRAME_NONE)
        return "a message of unknown kind";
    frame.job = artel__bytes_take(&at, 8);
    frame.generation = (uint32_t)artel__bytes_take(&at, 4);
    frame.step = artel__bytes_take(&at, 8);
    frame.collective = (uint32_t)artel__bytes_take(&at, 4);
    frame.node = (uint32_t)artel__bytes_take(&at, 4);
    frame.slice = (uint32_t)artel__bytes_take(&at, 4);
    frame.length = artel__bytes_take(&at, 8);
    if (frame.length > ARTEL__FRAME_LONGEST) return "a message of a length that cannot be";
    frame.lent = (uint32_t)artel__bytes_take(&at, 4);
    frame.crc32c = (uint32_t)artel__bytes_take(&at, 4);
    *out = frame;
    return NULL;
}

artel_status artel__frame_decode(artel_context *ctx, const char *where, const uint8_t in[ARTEL__FRAME_BYTES],
                                 artel__frame *out)
{
    const uint8_t *at = in;
    uint32_t magic = (uint32_t)artel__bytes_take(&at, 4), version = (uint32_t)artel__bytes_take(&at, 2),
             kind = (uint32_t)artel__bytes_take(&at, 2);
    if (!artel__frame_read(in, out)) return ARTEL_OK;
    if (magic != ARTEL__FRAME_MAGIC)
        return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, "check that the peer is an artel task",
                           "a message begins with %08x, not with %08x", (unsigned)magic, (unsigned)ARTEL__FRAME_MAGIC);
    if (version != ARTEL__FRAME_VERSION)
        return artel__fail(ctx, ARTEL_ERROR_UNSUPPORTED, where, "run the same version of artel everywhere",
                           "the peer speaks version %u of the protocol, this build version %d", (unsigned)version,
                           ARTEL__FRAME_VERSION);
    return artel__fail(ctx, ARTEL_ERROR_CORRUPT, where, "run the same version of artel everywhere", "%s (kind %u)",
                       artel__frame_read(in, out), (unsigned)kind);
}
