/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving side of the TCP driver.
 *
 * What arrives is read into the inbox, or, when a large message is under way, straight into its buffer, with the
 * prefixes between chunks and the beginning of what follows in the same system call. A header is believed once its sum
 * fits; then the message goes to whoever asked for it (into the caller's own memory, where it is large and the caller
 * named a place), is held for somebody who will, is dropped (an old generation, too long), or waits in the socket until
 * it is asked for. A call ends after a large message, so that it is used while the cache has it.
 */
#include "net/tcp_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

enum {
    LARGE = 128 << 10,
    RUNS = 16,          /* pieces of a message in one system call */
    FOLLOWING = 4 << 10 /* bytes of the inbox offered behind the end of a large message */
};

static uint32_t take(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void condemn(artel__tcp *tcp, artel__tcp_peer *p, const char *reason)
{
    artel__connection_condemn(p->connection, reason);
    artel__tcp_fail_peer(tcp, p, reason);
}

/* -- held messages -- */

static size_t cost(const artel__frame *frame)
{
    return artel__tcp_carried(frame) + ARTEL__TCP_MESSAGE_COST;
}

static void hold(artel__tcp_peer *p, artel__tcp_message *m)
{
    artel__tcp_message **end = &p->held;
    while (*end) end = &(*end)->next;
    m->next = NULL;
    *end = m;
    p->held_bytes += cost(&m->frame);
}

static void unhold(artel__tcp_peer *p, artel__tcp_message *m)
{
    for (artel__tcp_message **at = &p->held; *at; at = &(*at)->next) {
        if (*at != m) continue;
        *at = m->next;
        p->held_bytes -= cost(&m->frame);
        return;
    }
}

/* -- messages -- */

static void give_to(artel__tcp *tcp, artel__tcp_message *m, artel__net_request *request)
{
    request->frame = m->frame;
    request->piece = m->list;
    request->pieces = m->pieces;
    artel__tcp_finish(tcp, request, ARTEL__NET_DONE);
}

static void end_message(artel__tcp *tcp, artel__tcp_peer *p)
{
    artel__tcp_message *m = p->into;
    artel__net_request *longer = p->longer;
    const char *wrong = m && m->frame.lent ? artel__tcp_borrow(p, m) : NULL;
    if (wrong) {
        condemn(tcp, p, wrong);
        return;
    }
    p->reading = ARTEL__TCP_HEADER;
    p->into = NULL;
    p->longer = NULL;
    if (m) {
        m->complete = true;
        if (m->unwanted)
            artel__tcp_discard(tcp, p, m);
        else if (m->request)
            give_to(tcp, m, m->request);
    }
    if (longer) {
        longer->frame = p->frame;
        longer->pieces = 0;
        artel__tcp_finish(tcp, longer, ARTEL__NET_DONE);
    }
}

/* The sender has withdrawn it in the middle: as if it had never come. */
static void abort_message(artel__tcp *tcp, artel__tcp_peer *p)
{
    artel__tcp_message *m = p->into;
    if (p->longer) artel__tcp_prepend(&p->receives, p->longer);
    if (m && m->request) {
        m->request->held = NULL;
        artel__tcp_prepend(&p->receives, m->request);
    } else if (m) {
        unhold(p, m);
    }
    p->reading = ARTEL__TCP_HEADER;
    p->into = NULL;
    p->longer = NULL;
    if (m) artel__tcp_discard(tcp, p, m);
}

static void begin_payload(artel__tcp *tcp, artel__tcp_peer *p)
{
    p->in_rest = artel__tcp_carried(&p->frame);
    p->in_done = 0;
    p->reading = ARTEL__TCP_PREFIXED;
    if (p->in_rest == 0) end_message(tcp, p);
}

static artel__net_request *find_asked(const artel__tcp_peer *p)
{
    artel__net_request *at = p->receives.head;
    while (at && !artel__frame_match(&at->frame, &p->frame)) at = at->next;
    return at;
}

static bool take_buffer(artel__tcp *tcp, artel__tcp_peer *p, size_t bytes, artel__tcp_message **out)
{
    if (artel__tcp_pool_take(&tcp->pool, bytes, out) < 0) {
        p->starved = !p->lost;
        artel__tcp_fail_peer(tcp, p, "no memory for its message");
        return false;
    }
    artel__tcp_message *m = *out;
    m->frame = p->frame;
    m->piece = (artel__net_piece){m->data, artel__tcp_carried(&p->frame)};
    m->list = &m->piece;
    m->pieces = 1;
    return true;
}

/* `wanted` false: only to be returned. */
static bool begin_buffer(artel__tcp *tcp, artel__tcp_peer *p, artel__net_request *request, bool wanted)
{
    bool there = request && request->into && p->frame.length > ARTEL__TCP_COPIED && !p->frame.lent &&
                 artel__net_length(request->into, request->intos) == p->frame.length;
    if (!take_buffer(tcp, p, there ? 0 : artel__tcp_carried(&p->frame), &p->into)) return false;
    if (there) {
        p->into->list = request->into;
        p->into->pieces = request->intos;
    }
    p->into->request = request;
    p->in_place = (artel__tcp_place){0, 0};
    artel__tcp_advance(p->into->list, p->into->pieces, &p->in_place, 0);
    p->into->unwanted = !wanted;
    if (request)
        request->held = p->into;
    else if (wanted)
        hold(p, p->into);
    return true;
}

/* Decides where the message of `frame` goes; false: it has to wait in the socket. */
static bool place(artel__tcp *tcp, artel__tcp_peer *p)
{
    artel__net_request *asked = find_asked(p);
    p->into = NULL;
    p->longer = NULL;
    bool old = p->frame.generation < (uint32_t)(tcp->own >> 32);
    bool too_long = asked && asked->most && p->frame.length > asked->most;
    if (!asked && !old && p->held_bytes + cost(&p->frame) > tcp->window) {
        p->reading = ARTEL__TCP_WAITING;
        return false;
    }
    if (asked) artel__tcp_take_out(&p->receives, asked);
    bool wanted = !too_long && (!old || asked);
    if (too_long) p->longer = asked;
    if ((wanted || p->frame.lent) && !begin_buffer(tcp, p, wanted ? asked : NULL, wanted)) return false;
    begin_payload(tcp, p);
    return true;
}

/* -- sorting what is in the inbox -- */

static bool take_header(artel__tcp *tcp, artel__tcp_peer *p)
{
    const uint8_t *at = p->inbox + p->in_begin;
    if (take(at) == ARTEL__HELLO_MAGIC) {
        condemn(tcp, p, "it refused this task after the greeting");
        return false;
    }
    const char *wrong = artel__frame_read(at, &p->frame);
    uint32_t crc = artel__tcp_seal(artel__crc32c(0, at, ARTEL__FRAME_BYTES - 4), p->in_mask, p->in_count++);
    if (!wrong && crc != p->frame.crc32c) wrong = "a message header that is damaged or repeated";
    if (!wrong && p->frame.length % 8) wrong = "a message of a length that cannot be";
    if (!wrong && artel__frame_is_word(p->frame.kind) && p->frame.length)
        wrong = "a word between drivers with a payload";
    if (!wrong) wrong = artel__tcp_check_lent(p, &p->frame);
    if (wrong) {
        condemn(tcp, p, wrong);
        return false;
    }
    p->in_begin += ARTEL__FRAME_BYTES;
    switch (p->frame.kind) {
    case ARTEL__FRAME_CANCEL: artel__tcp_be_cancelled(tcp, &p->frame); return true;
    case ARTEL__FRAME_RETURN: artel__tcp_be_returned(tcp, p, p->frame.step); return true;
    case ARTEL__FRAME_FORGET: artel__shared_forget(p->stream->shared, p->frame.step); return true;
    default: return place(tcp, p);
    }
}

static bool take_prefix(artel__tcp *tcp, artel__tcp_peer *p, const uint8_t *at)
{
    uint32_t word = take(at + 4);
    p->chunk_crc =
        artel__tcp_seal(take(at), p->in_mask, p->in_count++); /* the mask is an exclusive or: this undoes it */
    uint32_t crc = artel__crc32c(0, at + 4, 4);
    if (word > 1 || ((word == 1 || !p->sums) && crc != p->chunk_crc)) {
        condemn(tcp, p, "a chunk that is damaged or repeated");
        return false;
    }
    if (word == 1) {
        abort_message(tcp, p);
        return true;
    }
    p->in_chunk = least(p->in_rest, ARTEL__TCP_CHUNK);
    p->in_rest -= p->in_chunk;
    p->chunk_place = p->in_place;
    p->reading = ARTEL__TCP_PAYLOAD;
    return true;
}

/* The next run of bytes of a message at a place, at most `most`; padding lies in `pad`. */
static struct iovec run_at(const artel__tcp_message *m, artel__tcp_place at, size_t most, uint8_t pad[8])
{
    const artel__net_piece *piece = &m->list[at.piece];
    if (at.offset < piece->bytes)
        return (struct iovec){(char *)(uintptr_t)piece->data + at.offset, least(piece->bytes - at.offset, most)};
    return (struct iovec){pad, least(artel__net_padded(piece->bytes) - at.offset, most)};
}

static uint32_t sum_chunk(const artel__tcp_peer *p, size_t bytes)
{
    uint8_t zeros[8] = {0}; /* whatever the padding was: nobody looks at it */
    artel__tcp_place at = p->chunk_place;
    uint32_t crc = artel__crc32c(0, zeros, 4);
    while (bytes) {
        struct iovec run = run_at(p->into, at, bytes, zeros);
        crc = artel__crc32c(crc, run.iov_base, run.iov_len);
        artel__tcp_advance(p->into->list, p->into->pieces, &at, run.iov_len);
        bytes -= run.iov_len;
    }
    return crc;
}

/* `bytes` more of the running chunk are where they belong. */
static bool take_payload(artel__tcp *tcp, artel__tcp_peer *p, size_t bytes)
{
    p->in_done += bytes;
    p->in_chunk -= bytes;
    if (p->into) artel__tcp_advance(p->into->list, p->into->pieces, &p->in_place, bytes);
    if (p->in_chunk) return true;
    if (p->into && p->sums) {
        size_t chunk = p->in_done % ARTEL__TCP_CHUNK ? p->in_done % ARTEL__TCP_CHUNK : ARTEL__TCP_CHUNK;
        if (sum_chunk(p, chunk) != p->chunk_crc) {
            condemn(tcp, p, "a chunk that is damaged or repeated");
            return false;
        }
    }
    p->reading = ARTEL__TCP_PREFIXED;
    if (p->in_rest == 0) end_message(tcp, p);
    return true;
}

static bool sort_payload(artel__tcp *tcp, artel__tcp_peer *p)
{
    size_t n = least(p->in_chunk, p->in_end - p->in_begin);
    if (p->into) {
        struct iovec run = run_at(p->into, p->in_place, n, p->pad);
        n = run.iov_len;
        memcpy(run.iov_base, p->inbox + p->in_begin, n);
    }
    p->in_begin += n;
    return take_payload(tcp, p, n);
}

/* Until the inbox has no whole thing any more, or a message has to wait, or the peer is lost. */
static void sort(artel__tcp *tcp, artel__tcp_peer *p)
{
    bool on = !p->lost;
    while (on) {
        size_t have = p->in_end - p->in_begin;
        if (p->reading == ARTEL__TCP_WAITING)
            on = place(tcp, p);
        else if (p->reading == ARTEL__TCP_HEADER)
            on = have >= ARTEL__FRAME_BYTES && take_header(tcp, p);
        else if (p->reading == ARTEL__TCP_PREFIXED) {
            on = have >= ARTEL__TCP_PREFIX && take_prefix(tcp, p, p->inbox + p->in_begin);
            if (on) p->in_begin += ARTEL__TCP_PREFIX;
        } else
            on = have > 0 && sort_payload(tcp, p);
        on = on && !p->lost;
    }
    if (p->in_begin == p->in_end) {
        p->in_begin = p->in_end = 0;
    } else if (p->in_begin > ARTEL__TCP_INBOX / 2) {
        memmove(p->inbox, p->inbox + p->in_begin, p->in_end - p->in_begin);
        p->in_end -= p->in_begin;
        p->in_begin = 0;
    }
}

/* -- reading -- */

/* Straight into the message while one is under way, with the prefix of the next chunk or the beginning of what follows;
 * else into the inbox. */
typedef struct plan {
    struct iovec piece[RUNS + 1];
    int count;
    size_t payload, total; /* bytes offered, for the message and in all */
} plan;

static void make_plan(artel__tcp_peer *p, plan *to)
{
    size_t room = ARTEL__TCP_INBOX - p->in_end, left = 0;
    if (p->stream->shared) room = least(room, FOLLOWING); /* reading again costs nothing, copying twice does */
    *to = (plan){.count = 0};
    if (p->reading == ARTEL__TCP_PAYLOAD && p->into && p->in_begin == p->in_end) {
        artel__tcp_place at = p->in_place;
        for (left = p->in_chunk; left && to->count < RUNS; left -= to->piece[to->count++].iov_len) {
            to->piece[to->count] = run_at(p->into, at, left, p->pad);
            artel__tcp_advance(p->into->list, p->into->pieces, &at, to->piece[to->count].iov_len);
        }
        to->payload = p->in_chunk - left;
        room = p->in_rest ? ARTEL__TCP_PREFIX : FOLLOWING;
    }
    to->total = to->payload;
    if (left) return;
    to->piece[to->count++] = (struct iovec){p->inbox + p->in_end, room};
    to->total += room;
}

static void read_once(artel__tcp *tcp, artel__tcp_peer *p)
{
    plan to;
    artel__net_why why = {""};
    make_plan(p, &to);
    int64_t n = artel__net_stream_read(p->stream, to.piece, to.count, &why);
    bool over = n == ARTEL__NET_STREAM_AGAIN && p->stream->shared && p->ending;
    if (over) n = ARTEL__NET_STREAM_END;
    if (n == ARTEL__NET_STREAM_AGAIN) {
        p->readable = false;
        return;
    }
    if (n == ARTEL__NET_STREAM_DAMAGED) {
        condemn(tcp, p, why.text);
        return;
    }
    if (n < 0) {
        artel__tcp_fail_peer(tcp, p, n == ARTEL__NET_STREAM_END ? "it ended the connection" : why.text);
        return;
    }
    /* A socket that gave less than it could is empty, unless what follows is its end, which wakes nobody again. */
    if ((size_t)n < to.total && !p->ending && !p->stream->secure) p->readable = false;
    size_t got = (size_t)n, part = least(got, to.payload);
    p->in_end += got - part;
    if (part && !take_payload(tcp, p, part)) return;
    sort(tcp, p);
}

bool artel__tcp_has_input(const artel__tcp_peer *p)
{
    return !p->lost && p->readable && p->reading != ARTEL__TCP_WAITING;
}

void artel__tcp_pump_in(artel__tcp *tcp, artel__tcp_peer *p)
{
    while (artel__tcp_has_input(p)) {
        uint64_t changes = tcp->changes;
        read_once(tcp, p);
        if (tcp->changes != changes && p->in_done >= LARGE) return;
    }
}

/* -- asking -- */

static artel__tcp_message *find_held(const artel__tcp_peer *p, const artel__frame *frame)
{
    artel__tcp_message *m = p->held;
    while (m && !artel__frame_match(&m->frame, frame)) m = m->next;
    return m;
}

/* A held message meets a receive that may not be so long. */
static void shorten(artel__tcp *tcp, artel__tcp_peer *p, artel__tcp_message *m, artel__net_request *receive)
{
    if (m->complete) {
        receive->frame = m->frame;
        receive->pieces = 0;
        artel__tcp_finish(tcp, receive, ARTEL__NET_DONE);
    } else {
        p->longer = receive;
        m->unwanted = m->frame.lent > 0;
        if (m->unwanted) return;
        p->into = NULL;
    }
    artel__tcp_discard(tcp, p, m);
}

bool artel__tcp_ask(artel__tcp *tcp, artel__tcp_peer *p, artel__net_request *receive)
{
    artel__tcp_message *m = find_held(p, &receive->frame);
    receive->held = NULL;
    if (m) {
        unhold(p, m);
        if (receive->most && m->frame.length > receive->most) {
            shorten(tcp, p, m, receive);
        } else {
            m->request = receive;
            receive->held = m;
            if (m->complete) give_to(tcp, m, receive);
        }
    } else if (!p->lost) {
        artel__tcp_append(&p->receives, receive);
    }
    if (p->reading == ARTEL__TCP_WAITING) sort(tcp, p);
    return m != NULL;
}

/* What is on its way into a caller's memory goes on into a buffer. False: the peer is lost for want of memory. */
static bool move_here(artel__tcp *tcp, artel__tcp_peer *p)
{
    artel__tcp_message *old = p->into, *new;
    artel__tcp_place at = {0, 0};
    old->request = NULL;
    if (!take_buffer(tcp, p, p->frame.length, &new)) return false;
    artel__tcp_advance(old->list, old->pieces, &at, 0);
    for (size_t done = 0; done < p->in_done;) {
        struct iovec run = run_at(old, at, p->in_done - done, p->pad);
        memcpy((char *)new->data + done, run.iov_base, run.iov_len);
        artel__tcp_advance(old->list, old->pieces, &at, run.iov_len);
        done += run.iov_len;
    }
    artel__tcp_pool_give(&tcp->pool, old);
    p->into = new;
    p->in_place = (artel__tcp_place){0, p->in_done};
    p->chunk_place = (artel__tcp_place){0, p->in_done / ARTEL__TCP_CHUNK * ARTEL__TCP_CHUNK};
    return true;
}

void artel__tcp_unask(artel__tcp *tcp, artel__tcp_peer *p, artel__net_request *receive)
{
    artel__tcp_message *m = receive->held;
    bool done = artel__net_done(receive);
    receive->held = NULL;
    if (done && m) {
        artel__tcp_discard(tcp, p, m);
    } else if (m) { /* on its way: it stays for whoever asks next */
        if (m->list != &m->piece && !move_here(tcp, p)) return;
        p->into->request = NULL;
        hold(p, p->into);
    } else if (!done && !artel__tcp_take_out(&p->receives, receive) && p->longer == receive) {
        p->longer = NULL;
    }
}

void artel__tcp_forget_old(artel__tcp *tcp, artel__tcp_peer *p)
{
    uint32_t generation = (uint32_t)(tcp->own >> 32);
    for (artel__tcp_message *m = p->held, *next; m; m = next) {
        next = m->next;
        if (m->frame.generation >= generation) continue;
        unhold(p, m);
        m->unwanted = p->into == m && m->frame.lent > 0;
        if (m->unwanted) continue;
        if (p->into == m) p->into = NULL;
        artel__tcp_discard(tcp, p, m);
    }
    if (p->reading == ARTEL__TCP_WAITING) sort(tcp, p);
}

void artel__tcp_drop_input(artel__tcp *tcp, artel__tcp_peer *p, bool all)
{
    if (p->reading == ARTEL__TCP_PREFIXED || p->reading == ARTEL__TCP_PAYLOAD) abort_message(tcp, p);
    while (all && p->held) {
        artel__tcp_message *m = p->held;
        unhold(p, m);
        artel__tcp_discard(tcp, p, m);
    }
}

void artel__tcp_fail_peer(artel__tcp *tcp, artel__tcp_peer *p, const char *reason)
{
    if (p->lost) return;
    p->lost = true;
    snprintf(p->why, sizeof p->why, "%s", reason);
    if (p->connection) shutdown(p->stream->socket, SHUT_RDWR); /* so that the other end knows as well */
    artel__tcp_drop_input(tcp, p, false);
    tcp->changes++;
}
