/* SPDX-License-Identifier: Apache-2.0 */
/* Control messages: {u32 length, u32 crc} and the bytes, little-endian.
 *
 * The crc covers length and bytes and is masked with the number of the message and the connection's mask, so that a
 * message which is damaged, repeated, left out or from another connection is not taken. Both queues are bounded: 256
 * KiB to send, one message of the largest size and a few small ones to read.
 */
#include "net/connection_impl.h"

#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/hash.h"

enum {
    HEAD = 8,
    OUT_BYTES = 256 << 10,
    IN_BYTES = 2 * (ARTEL__CONTROL_MOST + HEAD)
};

struct artel__control {
    size_t out_begin, out_end, in_begin, in_end, heard; /* `heard`: bytes of the message lent out last */
    uint32_t said_count, heard_count;
    bool parted; /* this side says no more */
    bool mute;   /* nothing more can be sent, for `why`; what has arrived is still to be read */
    artel__net_why why;
    uint8_t out[OUT_BYTES], in[IN_BYTES];
};

static uint32_t sum(const uint8_t *message, size_t count, uint32_t mask, uint32_t number)
{
    uint32_t crc = artel__crc32c(mask, message, 4);
    crc = artel__crc32c(crc, message + HEAD, count);
    return crc ^ (number * 0x9e3779b9u);
}

static artel_status reserve(artel__connection *c)
{
    void *block;
    if (c->control) return ARTEL_OK;
    ARTEL_TRY(artel__alloc(c->site->ctx, sizeof(artel__control), "connection", &block));
    c->control = block;
    memset(c->control, 0, offsetof(artel__control, out));
    return ARTEL_OK;
}

bool artel__control_decode(const uint8_t in[8], artel__control_header *out)
{
    *out = (artel__control_header){(uint32_t)artel__bytes_get(in, 4), (uint32_t)artel__bytes_get(in + 4, 4)};
    return out->length >= 1 && out->length <= ARTEL__CONTROL_MOST;
}

bool artel__control_waits(const artel__connection *c)
{
    const artel__control *q = c->control;
    if (q && q->mute) return false;
    return (q && q->out_begin < q->out_end) || artel__net_stream_unsent(&c->stream);
}

static void lose(artel__connection *c, int64_t result, const char *text)
{
    if (result == ARTEL__NET_STREAM_DAMAGED)
        artel__connection_condemn(c, text);
    else
        artel__connection_lose(c, ARTEL__FAULT_LOST,
                               result == ARTEL__NET_STREAM_END ? "it ended the connection" : text);
}

/* The other end has gone, and the first to notice is who sends. What it said before it went is here, and its last words
 * matter most: the connection is lost once they have been read. */
static void fall_mute(artel__connection *c, int64_t result, const artel__net_why *why)
{
    artel__control *q = c->control;
    if (result == ARTEL__NET_STREAM_DAMAGED) {
        lose(c, result, why->text);
        return;
    }
    q->out_begin = q->out_end = 0;
    q->mute = true;
    q->why = *why;
}

static void send_some(artel__connection *c)
{
    artel__control *q = c->control;
    artel__net_why why = {""};
    if (q->mute) return;
    while (q->out_begin < q->out_end) {
        struct iovec piece = {q->out + q->out_begin, q->out_end - q->out_begin};
        int64_t n = artel__net_stream_write(&c->stream, &piece, 1, &why);
        if (n == ARTEL__NET_STREAM_AGAIN) return;
        if (n < 0) {
            fall_mute(c, n, &why);
            return;
        }
        q->out_begin += (size_t)n;
    }
    q->out_begin = q->out_end = 0;
    int flushed = artel__net_stream_flush(&c->stream, &why);
    if (flushed < 0 && flushed != ARTEL__NET_STREAM_AGAIN) fall_mute(c, flushed, &why);
}

/* Leaves unread what does not fit: the peer then waits. */
static void receive_some(artel__connection *c)
{
    artel__control *q = c->control;
    if (q->heard == 0 && q->in_begin > 0) {
        memmove(q->in, q->in + q->in_begin, q->in_end - q->in_begin);
        q->in_end -= q->in_begin;
        q->in_begin = 0;
    }
    while (q->in_end < IN_BYTES) {
        artel__net_why why = {""};
        struct iovec piece = {q->in + q->in_end, IN_BYTES - q->in_end};
        int64_t n = artel__net_stream_read(&c->stream, &piece, 1, &why);
        if (n == ARTEL__NET_STREAM_AGAIN && q->mute) lose(c, ARTEL__NET_STREAM_FAILED, q->why.text);
        if (n == ARTEL__NET_STREAM_AGAIN) return;
        if (n < 0) {
            lose(c, n, why.text);
            return;
        }
        q->in_end += (size_t)n;
    }
}

void artel__control_progress(artel__connection *c)
{
    if (reserve(c) < 0) {
        artel__connection_lose(c, ARTEL__FAULT_LOST, "no memory for control messages");
        return;
    }
    send_some(c);
    if (c->state == ARTEL__CONNECTION_OPEN) receive_some(c);
}

artel_status artel__connection_say(artel__connection *c, const void *bytes, size_t count)
{
    artel_context *ctx = c->site->ctx;
    if (c->state != ARTEL__CONNECTION_OPEN || c->purpose != ARTEL__NET_CONTROL) return ARTEL_ERROR_RUN;
    if (count < 1 || count > ARTEL__CONTROL_MOST)
        return artel__fail(ctx, ARTEL_ERROR_INVALID, c->address, "", "a control message of %zu bytes; 1 to %d", count,
                           ARTEL__CONTROL_MOST);
    ARTEL_TRY(reserve(c));
    artel__control *q = c->control;
    if (q->mute) return ARTEL_ERROR_RUN;
    if (q->out_begin > 0 && q->out_end + HEAD + count > OUT_BYTES) {
        memmove(q->out, q->out + q->out_begin, q->out_end - q->out_begin);
        q->out_end -= q->out_begin;
        q->out_begin = 0;
    }
    if (q->out_end + HEAD + count > OUT_BYTES) return ARTEL_AGAIN;
    uint8_t *at = q->out + q->out_end;
    artel__bytes_put(at, (uint64_t)count, 4);
    memcpy(at + HEAD, bytes, count);
    artel__bytes_put(at + 4, sum(at, count, artel__connection_mask(c, true), q->said_count++), 4);
    q->out_end += HEAD + count;
    send_some(c);
    return c->state == ARTEL__CONNECTION_OPEN && !q->mute ? ARTEL_OK : ARTEL_ERROR_RUN;
}

bool artel__connection_part(artel__connection *c)
{
    artel__control *q = c->control;
    if (c->state != ARTEL__CONNECTION_OPEN || !q) return true;
    if (!q->parted) shutdown(c->stream.socket, SHUT_WR);
    q->parted = true;
    q->in_begin = q->in_end = q->heard = 0;
    receive_some(c);
    return c->state != ARTEL__CONNECTION_OPEN;
}

/* The header of a message that is wholly here. */
static bool next_message(artel__connection *c, artel__control_header *head)
{
    artel__control *q = c->control;
    if (q->in_end - q->in_begin < HEAD) return false;
    if (artel__control_decode(q->in + q->in_begin, head)) return q->in_end - q->in_begin >= HEAD + head->length;
    q->in_begin = q->in_end;
    artel__connection_condemn(c, "a control message of a size that cannot be");
    return false;
}

artel_status artel__connection_hear(artel__connection *c, const void **out_bytes, size_t *out_count)
{
    artel__control *q = c->control;
    artel__control_header head;
    if (!q) return ARTEL_AGAIN;
    q->in_begin += q->heard;
    q->heard = 0;
    if (!next_message(c, &head)) {
        /* What the stream holds back for want of room does not wake anybody. */
        if (c->state == ARTEL__CONNECTION_OPEN) receive_some(c);
        if (!next_message(c, &head)) return ARTEL_AGAIN;
    }
    const uint8_t *at = q->in + q->in_begin;
    if (head.crc != sum(at, head.length, artel__connection_mask(c, false), q->heard_count++)) {
        q->in_begin = q->in_end;
        artel__connection_condemn(c, "a control message that is damaged or repeated");
        return ARTEL_AGAIN;
    }
    q->heard = HEAD + head.length;
    *out_bytes = at + HEAD;
    *out_count = head.length;
    return ARTEL_OK;
}
