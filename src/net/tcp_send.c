/* SPDX-License-Identifier: Apache-2.0 */
/* The sending side of the TCP driver.
 *
 * Headers and small messages are gathered in the stage, so that many leave with one system call; the chunks of larger
 * messages go from the lender's memory. The stage holds what precedes the chunk under the cursor, and is filled only
 * when there is no such chunk: the order of the bytes is that order. A send is done when its bytes have left this
 * process, so nobody has to progress for it any more. A chunk is summed just before it is sent, while the cache keeps
 * it.
 *
 * Nothing overtakes what a socket holds. Once something that overtakes is sent to another host, the socket is told to
 * keep no more than BACKLOG unsent: enough for a wire of 1 Gbit/s while this rank computes a node and does not look.
 */
#include "net/tcp_impl.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/hash.h"

enum {
    PIECES = 60,
    BACKLOG = 512 << 10,
    RECORD_MOST = 2 * ARTEL__FRAME_BYTES + ARTEL__TCP_PREFIX +
                  ARTEL__TCP_COPIED /* a word about memory may come before a message */
};

static const uint8_t zeros[8];

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* -- the cursor -- */

/* The next run of bytes under the cursor, at most `most`: data, then its padding. */
static struct iovec run_at(const artel__tcp_cursor *c, size_t most)
{
    const artel__net_piece *piece = &c->request->piece[c->piece];
    if (c->offset < piece->bytes)
        return (struct iovec){(char *)(uintptr_t)piece->data + c->offset, least(piece->bytes - c->offset, most)};
    return (struct iovec){(void *)(uintptr_t)zeros, least(artel__net_padded(piece->bytes) - c->offset, most)};
}

static void advance(artel__tcp_cursor *c, size_t bytes)
{
    c->offset += bytes;
    while (c->piece < c->request->pieces && c->offset == artel__net_padded(c->request->piece[c->piece].bytes)) {
        c->piece++;
        c->offset = 0;
    }
}

static uint32_t sum_chunk(uint32_t crc, artel__tcp_cursor c, size_t bytes)
{
    while (bytes) {
        struct iovec run = run_at(&c, bytes);
        crc = artel__crc32c(crc, run.iov_base, run.iov_len);
        advance(&c, run.iov_len);
        bytes -= run.iov_len;
    }
    return crc;
}

/* -- the queues -- */

/* Nothing overtakes what the socket holds. Where the system refuses, all is as if it had not been asked. */
static void limit_backlog(artel__tcp_peer *p)
{
    if (p->deep && !p->lost)
        setsockopt(p->stream->socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &(int){BACKLOG}, sizeof(int));
    p->deep = false;
}

/* Behind those that overtake already. */
static void insert_overtaking(artel__tcp_queue *q, artel__net_request *send)
{
    artel__net_request *before = NULL;
    for (artel__net_request *at = q->head; at && at->overtakes; at = at->next) before = at;
    if (!before) {
        artel__tcp_prepend(q, send);
        return;
    }
    send->next = before->next;
    before->next = send;
    if (q->tail == before) q->tail = send;
}

/* Results and barriers overtake the nodes of later collectives: their receives were posted with those of the nodes that
 * led to them, so they never wait at the other end. What overtakes may wait there, until the peer gets to where this
 * rank is; what it has overtaken nobody needs before that. */
void artel__tcp_queue_send(artel__tcp_peer *p, artel__net_request *send)
{
    if (send->overtakes) {
        limit_backlog(p);
        insert_overtaking(&p->urgent, send);
        return;
    }
    bool urgent = send->frame.kind == ARTEL__FRAME_RESULT || send->frame.kind == ARTEL__FRAME_BARRIER;
    artel__tcp_append(urgent ? &p->urgent : &p->sends, send);
}

static artel__net_request *next_send(artel__tcp_peer *p)
{
    artel__tcp_queue *q = p->urgent.head ? &p->urgent : &p->sends;
    artel__net_request *request = q->head;
    if (request) artel__tcp_take_out(q, request);
    return request;
}

/* A send whose bytes, or the word of where they lie, have not all left. */
static bool has_sends(const artel__tcp_peer *p)
{
    return p->urgent.head || p->sends.head || p->cursor.request || p->leaving.head;
}

bool artel__tcp_is_sending(const artel__tcp_peer *p)
{
    return has_sends(p) || p->lent.head;
}

/* -- filling the stage -- */

static size_t room(const artel__tcp_peer *p)
{
    return p->stage_bytes - p->stage_end;
}

static void stage_header(artel__tcp_peer *p, artel__frame frame)
{
    uint8_t *at = p->stage + p->stage_end;
    artel__frame_encode(&frame, at);
    artel__bytes_put(at + ARTEL__FRAME_BYTES - 4,
                     artel__tcp_seal(artel__crc32c(0, at, ARTEL__FRAME_BYTES - 4), p->out_mask, p->out_count++), 4);
    p->stage_end += ARTEL__FRAME_BYTES;
}

/* Before the chunk that the cursor is at, or (bytes 0) instead of it. */
static void stage_prefix(artel__tcp_peer *p, size_t bytes)
{
    uint8_t *at = p->stage + p->stage_end;
    artel__bytes_put(at + 4, bytes ? 0 : 1, 4);
    uint32_t crc = artel__crc32c(0, at + 4, 4);
    if (bytes && p->sums) crc = sum_chunk(crc, p->cursor, bytes);
    artel__bytes_put(at, artel__tcp_seal(crc, p->out_mask, p->out_count++), 4);
    p->stage_end += ARTEL__TCP_PREFIX;
}

static void leave(artel__tcp_peer *p, artel__net_request *request)
{
    request->mark = p->taken + (p->stage_end - p->stage_begin);
    artel__tcp_append(&p->leaving, request);
}

static void begin_chunk(artel__tcp_peer *p)
{
    artel__tcp_cursor *c = &p->cursor;
    c->chunk = least(c->rest, ARTEL__TCP_CHUNK);
    c->rest -= c->chunk;
    stage_prefix(p, c->chunk);
}

static void copy_chunk(artel__tcp_peer *p)
{
    artel__tcp_cursor *c = &p->cursor;
    while (c->chunk) {
        struct iovec run = run_at(c, c->chunk);
        memcpy(p->stage + p->stage_end, run.iov_base, run.iov_len);
        p->stage_end += run.iov_len;
        c->chunk -= run.iov_len;
        advance(c, run.iov_len);
    }
}

/* False: the message is to be copied. */
static bool lend(const artel__tcp *tcp, artel__tcp_peer *p, artel__net_request *request)
{
    artel__lendable block;
    artel__frame frame = request->frame;
    if (!artel__tcp_may_lend(p, request)) return false;
    if (!artel__tcp_hand_block(tcp, p, request, &block)) return false;
    frame.lent = (uint32_t)request->pieces;
    stage_header(p, frame);
    stage_prefix(p, 1);
    p->stage_end += artel__tcp_describe(p, request, &block, p->stage + p->stage_end);
    return true;
}

static void begin_message(const artel__tcp *tcp, artel__tcp_peer *p, artel__net_request *request)
{
    if (lend(tcp, p, request)) return;
    size_t length = request->frame.length;
    stage_header(p, request->frame);
    p->cursor = (artel__tcp_cursor){.request = request, .rest = length};
    advance(&p->cursor, 0);
    if (length) begin_chunk(p);
    if (length > ARTEL__TCP_COPIED) return;
    copy_chunk(p);
    leave(p, request);
    p->cursor.request = NULL;
}

/* Of the time at which it was cancelled, not of now. */
static void stage_cancel(const artel__tcp *tcp, artel__tcp_peer *p)
{
    uint64_t when = tcp->told - 1;
    artel__frame frame = {.kind = ARTEL__FRAME_CANCEL, .generation = (uint32_t)(when >> 32), .step = (uint32_t)when};
    frame.node = tcp->told_any;
    frame.slice = atomic_load(&tcp->base.blame);
    stage_header(p, frame);
    p->cancel_due = false;
}

/* A word about a block that the peer need not keep any more, before whatever is sent next. */
static bool stage_forget(artel__tcp_peer *p)
{
    artel__frame freed = {.kind = ARTEL__FRAME_FORGET};
    freed.step = p->stream->shared ? artel__shared_next_freed(p->stream->shared) : 0;
    if (freed.step) stage_header(p, freed);
    return freed.step != 0;
}

static void fill_stage(artel__tcp *tcp, artel__tcp_peer *p)
{
    artel__frame word;
    if (p->stage_begin == p->stage_end) p->stage_begin = p->stage_end = 0;
    while (!p->cursor.request && room(p) >= RECORD_MOST) {
        if (p->cancel_due) {
            stage_cancel(tcp, p);
            continue;
        }
        if (artel__tcp_next_return(tcp, p, &word)) {
            stage_header(p, word);
            continue;
        }
        if (stage_forget(p)) continue;
        artel__net_request *request = next_send(p);
        if (!request) return;
        begin_message(tcp, p, request);
    }
}

/* -- sending -- */

static int list_output(artel__tcp_peer *p, struct iovec *to, size_t *out_total)
{
    int count = 0;
    size_t staged = p->stage_end - p->stage_begin, left = p->cursor.request ? p->cursor.chunk : 0;
    *out_total = staged;
    if (staged) to[count++] = (struct iovec){p->stage + p->stage_begin, staged};
    artel__tcp_cursor c = p->cursor;
    while (left && count < PIECES) {
        to[count] = run_at(&c, left);
        advance(&c, to[count].iov_len);
        left -= to[count].iov_len;
        *out_total += to[count++].iov_len;
    }
    return count;
}

static void consume(artel__tcp_peer *p, size_t bytes)
{
    p->taken += bytes;
    size_t staged = least(bytes, p->stage_end - p->stage_begin);
    p->stage_begin += staged;
    bytes -= staged;
    artel__tcp_cursor *c = &p->cursor;
    if (p->stage_begin == p->stage_end) p->stage_begin = p->stage_end = 0;
    if (!c->request) return;
    c->chunk -= bytes;
    while (bytes) {
        struct iovec run = run_at(c, bytes);
        advance(c, run.iov_len);
        bytes -= run.iov_len;
    }
    if (c->chunk || p->stage_end) return;
    if (c->rest) {
        begin_chunk(p);
        return;
    }
    leave(p, c->request);
    c->request = NULL;
}

static void finish_leaving(artel__tcp *tcp, artel__tcp_peer *p)
{
    if (artel__net_stream_unsent(p->stream)) return;
    while (p->leaving.head && p->leaving.head->mark <= p->taken) {
        artel__net_request *request = p->leaving.head;
        artel__tcp_take_out(&p->leaving, request);
        artel__tcp_finish(tcp, request, ARTEL__NET_DONE);
    }
}

bool artel__tcp_has_output(const artel__tcp_peer *p)
{
    return !p->lost && (p->stage_begin < p->stage_end || has_sends(p) || p->returns || p->cancel_due ||
                        artel__net_stream_unsent(p->stream));
}

/* A peer that has ended may have said things before that are still in the socket. */
static void fail_writing(artel__tcp *tcp, artel__tcp_peer *p, const char *reason)
{
    p->writable = false;
    p->readable = p->ending = true;
    while (artel__tcp_has_input(p)) artel__tcp_pump_in(tcp, p);
    artel__tcp_fail_peer(tcp, p, reason);
}

void artel__tcp_pump_out(artel__tcp *tcp, artel__tcp_peer *p)
{
    artel__net_why why = {""};
    while (p->writable) {
        struct iovec list[PIECES];
        size_t total;
        fill_stage(tcp, p);
        int count = list_output(p, list, &total);
        if (!count) break;
        if (p->stream->shared && p->ending) {
            fail_writing(tcp, p, "it ended the connection");
            return;
        }
        int64_t n = artel__net_stream_write(p->stream, list, count, &why);
        if (n < 0 && n != ARTEL__NET_STREAM_AGAIN) {
            fail_writing(tcp, p, n == ARTEL__NET_STREAM_END ? "it ended the connection" : why.text);
            return;
        }
        if (n > 0) consume(p, (size_t)n);
        if (n < (int64_t)total) p->writable = false;
    }
    if (artel__net_stream_unsent(p->stream)) {
        int flushed = artel__net_stream_flush(p->stream, &why);
        if (flushed < 0) p->writable = false;
        if (flushed < 0 && flushed != ARTEL__NET_STREAM_AGAIN) {
            fail_writing(tcp, p, why.text);
            return;
        }
    }
    finish_leaving(tcp, p);
}

/* -- taking back -- */

/* What is begun of a chunk must be ended, from memory of this endpoint. */
static bool keep_chunk(artel__tcp *tcp, artel__tcp_peer *p)
{
    size_t staged = p->stage_end - p->stage_begin, wanted = staged + p->cursor.chunk + ARTEL__TCP_STAGE;
    memmove(p->stage, p->stage + p->stage_begin, staged);
    p->stage_begin = 0;
    p->stage_end = staged;
    if (wanted > p->stage_bytes) {
        void *block = p->stage;
        if (artel__realloc(tcp->base.ctx, wanted, "messages", &block) < 0) return false;
        p->stage = block;
        p->stage_bytes = wanted;
    }
    copy_chunk(p);
    return true;
}

static void break_off(artel__tcp *tcp, artel__tcp_peer *p)
{
    bool rest = p->cursor.rest > 0;
    if (!keep_chunk(tcp, p)) {
        p->starved = !p->lost;
        artel__tcp_fail_peer(tcp, p, "no memory to end a message in order");
        p->cursor.request = NULL;
        return;
    }
    p->cursor.request = NULL;
    if (rest) stage_prefix(p, 0);
    artel__tcp_pump_out(tcp, p);
}

void artel__tcp_take_back(artel__tcp *tcp, artel__tcp_peer *p, artel__net_request *send)
{
    if (artel__tcp_take_out(&p->sends, send) || artel__tcp_take_out(&p->urgent, send) ||
        artel__tcp_take_out(&p->leaving, send))
        return;
    if (p->cursor.request != send) {
        artel__tcp_recall(p, send);
        return;
    }
    if (p->lost)
        p->cursor.request = NULL;
    else
        break_off(tcp, p);
}
