/* SPDX-License-Identifier: Apache-2.0 */
/* What both directions of the TCP driver stand on: queues of requests, their end, seals of frames, and what has been
 * cancelled. */
#include "net/tcp_impl.h"

void artel__tcp_append(artel__tcp_queue *q, artel__net_request *request)
{
    request->next = NULL;
    if (q->tail)
        q->tail->next = request;
    else
        q->head = request;
    q->tail = request;
}

void artel__tcp_prepend(artel__tcp_queue *q, artel__net_request *request)
{
    request->next = q->head;
    q->head = request;
    if (!q->tail) q->tail = request;
}

bool artel__tcp_take_out(artel__tcp_queue *q, const artel__net_request *request)
{
    artel__net_request *before = NULL;
    for (artel__net_request *at = q->head; at; before = at, at = at->next) {
        if (at != request) continue;
        if (before)
            before->next = at->next;
        else
            q->head = at->next;
        if (q->tail == at) q->tail = before;
        return true;
    }
    return false;
}

void artel__tcp_finish(artel__tcp *tcp, artel__net_request *request, artel__net_state state)
{
    atomic_store_explicit(&request->state, (int)state, memory_order_release);
    tcp->changes++;
}

uint32_t artel__tcp_seal(uint32_t crc, uint32_t mask, uint32_t number)
{
    return crc ^ mask ^ (number * 0x9e3779b9u);
}

bool artel__tcp_is_cancelled(const artel__tcp *tcp)
{
    return tcp->cancelled_here || tcp->cancelled > tcp->own;
}

void artel__tcp_raise_cancelled(artel__tcp *tcp, uint64_t to)
{
    if (to + 1 <= tcp->cancelled) return;
    tcp->cancelled = to + 1;
    tcp->changes++;
}

void artel__tcp_be_cancelled(artel__tcp *tcp, const artel__frame *frame)
{
    uint32_t nobody = 0;
    if (frame->node == 1) tcp->cancelled_here = true;
    artel__tcp_raise_cancelled(tcp, (uint64_t)frame->generation << 32 | (uint32_t)frame->step);
    if (artel__tcp_is_cancelled(tcp)) atomic_compare_exchange_strong(&tcp->base.blame, &nobody, frame->slice);
    tcp->changes++;
}
