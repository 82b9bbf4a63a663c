/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that stay where they are: between processes that share memory, a long one that lies in lendable memory is
 * not copied; its header says in how many pieces it lies, and a description of them follows in place of the bytes:
 *
 *   block u64   recalls u64   number u64   then for each piece: offset u64   bytes u64
 *
 * Who asked for it reads it there, and says so with its number when it is released (ARTEL__FRAME_RETURN); the send is
 * done then. What is withdrawn before that is recalled (net/shared.h), and the borrower's release tells that what it
 * has read is void.
 */
#include <string.h>

#include "base/bytes.h"
#include "net/tcp_impl.h"

enum {
    WORTH = 16 << 10, /* bytes below which a copy is cheaper than the word that comes back */
    FIXED = 24,       /* bytes of a description before its pieces */
    EACH = 16,
    MOST_PIECES = (ARTEL__TCP_COPIED - FIXED) / EACH
};
_Static_assert(sizeof(artel__net_piece) <= EACH, "pieces take the place of their descriptions");

size_t artel__tcp_carried(const artel__frame *frame)
{
    return frame->lent ? FIXED + (size_t)frame->lent * EACH : (size_t)frame->length;
}

const char *artel__tcp_check_lent(const artel__tcp_peer *p, const artel__frame *frame)
{
    bool about_lending = frame->lent || frame->kind == ARTEL__FRAME_RETURN || frame->kind == ARTEL__FRAME_FORGET;
    if (about_lending && !p->stream->shared) return "a message in memory that is not shared";
    if (frame->lent > MOST_PIECES || (frame->lent && (artel__frame_is_word(frame->kind) || !frame->length)))
        return "a message in memory that cannot be";
    return NULL;
}

/* -- the lender -- */

bool artel__tcp_may_lend(const artel__tcp_peer *p, const artel__net_request *request)
{
    return p->stream->shared && request->frame.length >= WORTH && request->pieces <= MOST_PIECES;
}

/* The block that all pieces lie in. */
static bool find_block(const artel__tcp *tcp, const artel__net_request *request, artel__lendable *block)
{
    *block = (artel__lendable){.bytes = 0};
    for (int i = 0; i < request->pieces; i++) {
        const artel__net_piece *piece = &request->piece[i];
        if (!piece->bytes || artel__lendable_holds(block, piece->data, piece->bytes)) continue;
        if (block->bytes || !artel__find_lendable(tcp->base.ctx, piece->data, piece->bytes, block)) return false;
    }
    return block->bytes > 0;
}

bool artel__tcp_hand_block(const artel__tcp *tcp, const artel__tcp_peer *p, const artel__net_request *request,
                           artel__lendable *block)
{
    return find_block(tcp, request, block) && artel__shared_hand(p->stream->shared, block);
}

size_t artel__tcp_describe(artel__tcp_peer *p, artel__net_request *request, const artel__lendable *block, uint8_t *out)
{
    uint8_t *at = artel__bytes_put(out, block->id, 8);
    at = artel__bytes_put(at, artel__shared_recalls(p->stream->shared), 8);
    at = artel__bytes_put(at, ++p->loans, 8);
    for (int i = 0; i < request->pieces; i++) {
        const artel__net_piece *piece = &request->piece[i];
        at = artel__bytes_put(at, piece->bytes ? (uint64_t)((const uint8_t *)piece->data - block->memory) : 0, 8);
        at = artel__bytes_put(at, piece->bytes, 8);
    }
    request->mark = p->loans;
    artel__tcp_append(&p->lent, request);
    return (size_t)(at - out);
}

/* One that is not there has been withdrawn. */
void artel__tcp_be_returned(artel__tcp *tcp, artel__tcp_peer *p, uint64_t number)
{
    artel__net_request *request = p->lent.head;
    while (request && request->mark != number) request = request->next;
    if (!request) return;
    artel__tcp_take_out(&p->lent, request);
    artel__tcp_finish(tcp, request, ARTEL__NET_DONE);
}

void artel__tcp_recall(artel__tcp_peer *p, const artel__net_request *send)
{
    if (artel__tcp_take_out(&p->lent, send)) artel__shared_recall(p->stream->shared);
}

/* -- the borrower -- */

const char *artel__tcp_borrow(const artel__tcp_peer *p, artel__tcp_message *m)
{
    const uint8_t *at = m->data;
    artel__net_piece *piece = (artel__net_piece *)((uint8_t *)m->data + FIXED);
    uint64_t length = 0;
    m->block = artel__shared_borrow(p->stream->shared, artel__bytes_take(&at, 8));
    m->recalls = artel__bytes_take(&at, 8);
    m->loan = artel__bytes_take(&at, 8);
    if (!m->block) return "a message in memory that was not handed over";
    for (uint32_t i = 0; i < m->frame.lent; i++) {
        uint64_t offset = artel__bytes_take(&at, 8), bytes = artel__bytes_take(&at, 8);
        const uint8_t *data = artel__shared_at(m->block, offset, bytes);
        if (!data) return "a message outside of the memory that was handed over";
        piece[i] = (artel__net_piece){data, (size_t)bytes};
        length += artel__net_padded((size_t)bytes);
    }
    if (length != m->frame.length) return "a message whose pieces are not its length";
    m->list = piece;
    m->pieces = (int)m->frame.lent;
    return NULL;
}

bool artel__tcp_is_void(const artel__tcp_message *m)
{
    return m && m->block && !artel__shared_is_intact(m->block, m->recalls);
}

static void free_message(artel__tcp *tcp, artel__tcp_message *m)
{
    if (m->block) artel__shared_drop(m->block);
    m->block = NULL;
    artel__tcp_pool_give(&tcp->pool, m);
}

void artel__tcp_discard(artel__tcp *tcp, artel__tcp_peer *p, artel__tcp_message *m)
{
    bool owed = m->block && !p->lost && artel__shared_is_from(m->block, p->stream->shared);
    if (!owed) {
        free_message(tcp, m);
        return;
    }
    artel__tcp_message **end = &p->returns;
    while (*end) end = &(*end)->next;
    m->next = NULL;
    *end = m;
}

bool artel__tcp_next_return(artel__tcp *tcp, artel__tcp_peer *p, artel__frame *out)
{
    artel__tcp_message *m = p->returns;
    if (!m) return false;
    *out = (artel__frame){.kind = ARTEL__FRAME_RETURN, .step = m->loan};
    p->returns = m->next;
    free_message(tcp, m);
    return true;
}

void artel__tcp_drop_returns(artel__tcp *tcp, artel__tcp_peer *p)
{
    artel__frame unsaid;
    while (artel__tcp_next_return(tcp, p, &unsaid)) {
    }
}
