/* SPDX-License-Identifier: Apache-2.0 */
/* The dissemination of barrier.c, with two calls in each message: that of the lowest position heard of, and that of the
 * lowest one that differs from it. Of two such pairs comes that of both sets: the lower of the lowest; and the lowest
 * of the four that differs from it. Hearing something twice changes nothing, so the number of members need not be a
 * power of two.
 */
#include "coll/algo/agree.h"

#include <string.h>

#include "base/bytes.h"

/* -- messages -- */

static uint8_t *put_seen(uint8_t *at, const artel__call_seen *seen)
{
    at = artel__bytes_put(at, (uint32_t)seen->position, 4);
    at = artel__bytes_put(at, seen->call.kind, 1);
    at = artel__bytes_put(at, seen->call.reduction, 1);
    at = artel__bytes_put(at, seen->call.dtype, 1);
    at = artel__bytes_put(at, seen->call.refused, 1);
    at = artel__bytes_put(at, (uint32_t)seen->call.root, 4);
    at = artel__bytes_put(at, 0, 4);
    at = artel__bytes_put(at, (uint64_t)seen->call.count, 8);
    return artel__bytes_put(at, seen->call.detail, 8);
}

static artel__call_seen take_seen(const uint8_t **at)
{
    artel__call_seen seen = {.position = (int32_t)artel__bytes_take(at, 4)};
    seen.call.kind = (uint8_t)artel__bytes_take(at, 1);
    seen.call.reduction = (uint8_t)artel__bytes_take(at, 1);
    seen.call.dtype = (uint8_t)artel__bytes_take(at, 1);
    seen.call.refused = (uint8_t)artel__bytes_take(at, 1);
    seen.call.root = (int32_t)artel__bytes_take(at, 4);
    artel__bytes_take(at, 4);
    seen.call.count = (int64_t)artel__bytes_take(at, 8);
    seen.call.detail = artel__bytes_take(at, 8);
    return seen;
}

/* -- what is known -- */

static bool equal(const artel__coll_signature *a, const artel__coll_signature *b)
{
    return a->kind == b->kind && a->reduction == b->reduction && a->dtype == b->dtype && a->refused == b->refused &&
           a->root == b->root && a->count == b->count && a->detail == b->detail;
}

static void consider(artel__agreement *a, const artel__call_seen *seen)
{
    bool differs = seen->position >= 0 && !equal(&seen->call, &a->first.call);
    if (differs && (a->other.position < 0 || seen->position < a->other.position)) a->other = *seen;
}

static void learn(artel__agreement *a, const artel__call_seen *first, const artel__call_seen *other)
{
    const artel__call_seen known[4] = {a->first, a->other, *first, *other};
    if (first->position < a->first.position) a->first = *first;
    a->other = (artel__call_seen){.position = -1};
    for (int i = 0; i < 4; i++) consider(a, &known[i]);
}

/* -- rounds -- */

static void fill(const artel__agreement *a, int32_t round, int32_t position, artel__net_request *request)
{
    *request = (artel__net_request){.peer = a->team->rank[position], .frame = a->frame};
    request->frame.kind = ARTEL__FRAME_BARRIER;
    request->frame.slice = (uint32_t)round;
}

static artel_status say(artel__agreement *a)
{
    int32_t k = a->round, members = a->team->members;
    put_seen(put_seen(a->said[k], &a->first), &a->other);
    a->piece[k] = (artel__net_piece){a->said[k], ARTEL__AGREEMENT_BYTES};
    fill(a, k, (int32_t)((a->team->position + ((int64_t)1 << k)) % members), &a->send[k]);
    a->send[k].piece = &a->piece[k];
    a->send[k].pieces = 1;
    a->posted = k + 1;
    return artel__net_send(a->team->endpoint, &a->send[k]);
}

artel_status artel__agreement_post(artel__agreement *a)
{
    int32_t members = a->team->members;
    a->first.position = a->team->position;
    a->other = (artel__call_seen){.position = -1};
    a->round = a->rounds = a->posted = 0;
    while (((int64_t)1 << a->rounds) < members) {
        int32_t k = a->rounds++;
        fill(a, k, (int32_t)((a->team->position + members - ((int64_t)1 << k)) % members), &a->receive[k]);
        a->receive[k].most = ARTEL__AGREEMENT_BYTES;
        ARTEL_TRY(artel__net_receive(a->team->endpoint, &a->receive[k]));
    }
    return a->rounds ? say(a) : ARTEL_OK;
}

static artel_status hear(artel__agreement *a)
{
    artel__net_request *heard = &a->receive[a->round];
    if (heard->frame.length != ARTEL__AGREEMENT_BYTES)
        return artel__fail(a->team->ctx, ARTEL_ERROR_RUN, "collective", "run the same version of artel everywhere",
                           "rank %d sent %llu bytes to agree on a call, %d were expected", heard->peer,
                           (unsigned long long)heard->frame.length, ARTEL__AGREEMENT_BYTES);
    const uint8_t *at = artel__net_part(heard, 0, 0);
    artel__call_seen first = take_seen(&at), other = take_seen(&at);
    ARTEL_TRY(artel__net_release(a->team->endpoint, heard));
    learn(a, &first, &other);
    return ARTEL_OK;
}

artel_status artel__agreement_progress(artel__agreement *a)
{
    while (a->round < a->rounds) {
        if (!artel__net_done(&a->receive[a->round])) return ARTEL_AGAIN;
        ARTEL_TRY(hear(a));
        if (++a->round < a->rounds) ARTEL_TRY(say(a));
    }
    for (int32_t k = 0; k < a->rounds; k++) {
        if (!artel__net_done(&a->send[k])) return ARTEL_AGAIN;
    }
    return ARTEL_OK;
}

void artel__agreement_finalize(artel__agreement *a)
{
    for (int32_t k = 0; k < a->rounds; k++) artel__net_withdraw(a->team->endpoint, &a->receive[k]);
    for (int32_t k = 0; k < a->posted; k++) artel__net_withdraw(a->team->endpoint, &a->send[k]);
    a->rounds = a->posted = 0;
}

int artel__agreement_waits_for(const artel__agreement *a)
{
    if (a->round < a->rounds) return a->receive[a->round].peer;
    for (int32_t k = 0; k < a->posted; k++) {
        if (!artel__net_done(&a->send[k]))
            return a->send[k].peer; /* who has not taken this member's word is not here */
    }
    return -1;
}

/* -- words -- */

static bool has(uint8_t kind, artel__coll_kind a, artel__coll_kind b, artel__coll_kind c)
{
    return kind == a || kind == b || kind == c;
}

void artel__coll_signature_text(const artel__coll_signature *call, artel__text *out)
{
    if (call->refused) {
        artel__text_printf(out, "nothing that can be done (%s)", artel_status_name((artel_status)-call->refused));
        return;
    }
    artel__text_append(out, artel__coll_kind_name((artel__coll_kind)call->kind));
    if (has(call->kind, ARTEL__COLL_REDUCE, ARTEL__COLL_ALL_REDUCE, ARTEL__COLL_REDUCE_SCATTER))
        artel__text_printf(out, " (%s)", artel__coll_reduction_name((artel_reduction)call->reduction));
    if (call->kind == ARTEL__COLL_BARRIER) return;
    if (call->count < 0)
        artel__text_printf(out, " of %s in blocks of their own (%08x)", artel_dtype_name((artel_dtype)call->dtype),
                           (unsigned)(call->detail & 0xffffffff));
    else
        artel__text_printf(out, " of %lld x %s", (long long)call->count, artel_dtype_name((artel_dtype)call->dtype));
    if (call->count >= 0 && call->detail)
        artel__text_printf(out, " in parts or an order (%08x)", (unsigned)(call->detail & 0xffffffff));
    if (has(call->kind, ARTEL__COLL_BROADCAST, ARTEL__COLL_REDUCE, ARTEL__COLL_GATHER))
        artel__text_printf(out, " with root %d", (int)call->root);
}
