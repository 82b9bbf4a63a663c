/* SPDX-License-Identifier: Apache-2.0 */
/* Carrying out a schedule, and agreeing on it meanwhile.
 *
 * Post: check the call, begin to agree. What costs the receiver no memory, or little, leaves at once; otherwise when
 * all have agreed, so that members who differ never wait behind data that nobody asks for. All receives are posted
 * before the first send. Progress: take receives in order; combine what is complete; send what that allows.
 *
 * A message of another length stops the data of this rank, not the agreement: that gives the better message.
 */
#include "coll/algo/call_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define SAY_NS INT64_C(5000000000)

static artel__call *self_of(artel__coll_task *task)
{
    return (artel__call *)task;
}

/* -- memory -- */

/* Where `in` may stay although results arrive in it: a slice is written only after its reader has answered. */
static bool may_overlap(const artel__call *t)
{
    const artel__coll_shape *s = &t->shape;
    const char *in = t->what.in, *out = t->what.out,
               *block_out = out + (size_t)artel__coll_start(s, s->position) * artel__call_element(t);
    bool sliced = s->way == ARTEL__COLL_SLICED;
    if (t->kind == ARTEL__COLL_BROADCAST) return in == out;
    if (t->kind == ARTEL__COLL_ALL_REDUCE || t->kind == ARTEL__COLL_REDUCE) return sliced && in == out;
    return (t->kind == ARTEL__COLL_ALL_GATHER || t->kind == ARTEL__COLL_GATHER) && in == block_out;
}

static artel_status place_input(artel__call *t)
{
    int64_t in, out;
    artel__call_extents(t, &in, &out);
    uintptr_t from = (uintptr_t)t->what.in, to = (uintptr_t)t->what.out;
    size_t in_bytes = (size_t)in * artel__call_element(t), out_bytes = (size_t)out * artel__call_element(t);
    t->in = t->what.in;
    if (!in || !out || from >= to + out_bytes || to >= from + in_bytes || may_overlap(t)) return ARTEL_OK;
    ARTEL_TRY(artel__coll_reserve(t->team->ctx, &t->copy, in_bytes, 1));
    memcpy(t->copy.data, t->what.in, in_bytes);
    t->in = t->copy.data;
    return ARTEL_OK;
}

static char *memory_at(const artel__call *t, artel__coll_memory memory, int64_t first)
{
    char *base = memory == ARTEL__COLL_IN    ? (char *)(uintptr_t)t->in
                 : memory == ARTEL__COLL_OUT ? t->what.out
                                             : t->room.data;
    return first ? base + (size_t)first * artel__call_element(t) : base;
}

static artel_status list(artel__call *t)
{
    artel__coll_schedule *s = &t->schedule;
    artel_context *ctx = t->team->ctx;
    *s = (artel__coll_schedule){.sends = 0};
    if (artel__call_relays(t)) return artel__call_relay_prepare(t);
    artel__coll_schedule_make(&t->shape, s);
    size_t transfers = (size_t)s->sends + (size_t)s->receives;
    size_t bytes = transfers * sizeof(artel__coll_transfer) + (size_t)s->combines * sizeof(artel__coll_combine_step);
    ARTEL_TRY(artel__coll_reserve(ctx, &t->lists, bytes, 1));
    s->send = t->lists.data;
    s->receive = s->send + s->sends;
    s->combine = (artel__coll_combine_step *)(s->receive + s->receives);
    artel__coll_schedule_make(&t->shape, s);
    ARTEL_TRY(artel__coll_reserve(ctx, &t->pieces, transfers, sizeof(artel__net_piece)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->requests, transfers, sizeof(artel__net_request)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->room, (size_t)s->room, artel__call_element(t)));
    ARTEL_TRY(artel__coll_reserve(ctx, &t->operands, (size_t)t->team->members, sizeof(void *)));
    if (s->combines) ARTEL_TRY(artel__coll_reserve(ctx, &t->scratch, artel__coll_combine_scratch(t->team->members), 1));
    t->request = t->requests.data;
    return place_input(t);
}

/* -- posting -- */

static artel__net_request *fill(artel__call *t, int32_t index, const artel__coll_transfer *transfer)
{
    artel__net_request *request = &t->request[index];
    *request = (artel__net_request){.peer = t->team->rank[transfer->peer], .frame = t->base.frame};
    request->frame.kind = ARTEL__FRAME_ROWS;
    request->frame.collective = transfer->stage;
    request->frame.slice = transfer->number;
    t->requests_posted = index + 1;
    return request;
}

static artel__net_piece *piece_of(const artel__call *t, int32_t index, const artel__coll_transfer *transfer)
{
    artel__net_piece *piece = (artel__net_piece *)t->pieces.data + index;
    bool held = transfer->memory == ARTEL__COLL_HELD;
    *piece = (artel__net_piece){held ? NULL : memory_at(t, transfer->memory, transfer->first),
                                (size_t)transfer->count * artel__call_element(t)};
    return piece;
}

static artel_status receive_all(artel__call *t)
{
    for (int32_t i = 0; i < t->schedule.receives; i++) {
        const artel__coll_transfer *transfer = &t->schedule.receive[i];
        artel__net_request *request = fill(t, i, transfer);
        artel__net_piece *piece = piece_of(t, i, transfer);
        request->most = artel__coll_most(artel__net_padded(piece->bytes));
        if (piece->data) {
            request->into = piece;
            request->intos = 1;
        }
        ARTEL_TRY(artel__net_receive(t->team->endpoint, request));
    }
    return ARTEL_OK;
}

static artel_status send_ready(artel__call *t)
{
    while (t->sent < t->schedule.sends && t->schedule.send[t->sent].needs <= t->received) {
        const artel__coll_transfer *transfer = &t->schedule.send[t->sent];
        int32_t index = t->schedule.receives + t->sent++;
        artel__net_request *request = fill(t, index, transfer);
        request->piece = piece_of(t, index, transfer);
        request->pieces = 1;
        ARTEL_TRY(artel__net_send(t->team->endpoint, request));
    }
    return ARTEL_OK;
}

static artel_status post_data(artel__call *t)
{
    const artel__coll_schedule *s = &t->schedule;
    t->posted = true;
    if (artel__call_relays(t)) return artel__call_relay_post(t);
    ARTEL_TRY(receive_all(t));
    if (s->own) {
        char *to = memory_at(t, s->own_to_memory, s->own_to), *from = memory_at(t, ARTEL__COLL_IN, s->own_from);
        if (to && to != from) memcpy(to, from, (size_t)s->own * artel__call_element(t));
    }
    return send_ready(t);
}

/* Whether the data may leave before all have agreed. */
static bool is_eager(const artel__call *t)
{
    if (!t->team->endpoint || t->team->endpoint->ops->caps & ARTEL__NET_LENDS) return true;
    if (artel__call_relays(t)) return false;
    int64_t most = ARTEL__CALL_EAGER / (int64_t)artel__call_element(t);
    for (int32_t i = 0; i < t->schedule.sends; i++) {
        if (t->schedule.send[i].count > most) return false;
    }
    return true;
}

static artel_status prepare(artel__call *t)
{
    if (t->refused < 0) return t->refused;
    ARTEL_TRY(artel__call_check(t));
    return list(t);
}

static artel_status post(artel__coll_task *task)
{
    artel__call *t = self_of(task);
    t->agreed = t->posted = t->stuck = false;
    t->requests_posted = t->received = t->combined = t->sent = t->left = 0;
    artel_status status = t->own = prepare(t);
    task->frame = (artel__frame){.job = t->team->id, .generation = t->team->generation, .step = t->team->calls++};
    t->agreement.team = t->team;
    t->agreement.frame = task->frame;
    t->agreement.first.call = artel__call_signature(t, status);
    ARTEL_TRY(artel__agreement_post(&t->agreement));
    return status == ARTEL_OK && is_eager(t) ? post_data(t) : ARTEL_OK;
}

/* -- progress -- */

/* A message is here: where it belongs, or held until it is combined. */
static artel_status take(artel__call *t, int32_t index)
{
    artel__net_request *request = &t->request[index];
    const artel__net_piece *piece = (const artel__net_piece *)t->pieces.data + index;
    if (request->frame.length != artel__net_padded(piece->bytes)) {
        t->stuck = true;
        t->wrong = index;
        return ARTEL_OK;
    }
    if (!piece->data && t->schedule.receive[index].memory == ARTEL__COLL_HELD) return ARTEL_OK;
    if (piece->bytes && request->piece != request->into)
        memcpy((char *)(uintptr_t)piece->data, artel__net_part(request, 0, 0), piece->bytes);
    return artel__net_release(t->team->endpoint, request);
}

static artel_status combine(artel__call *t, const artel__coll_combine_step *step)
{
    const void **operand = t->operands.data;
    int32_t at = step->receive;
    for (int32_t i = 0; i < t->team->members; i++)
        operand[i] = i == t->team->position ? memory_at(t, ARTEL__COLL_IN, step->first)
                                            : artel__net_part(&t->request[at++], 0, 0);
    artel__coll_combination c = {.dtype = t->what.dtype, .reduction = t->what.reduction, .members = t->team->members};
    c.operand = operand;
    c.count = step->count;
    c.out = memory_at(t, step->memory, step->to);
    c.scratch = t->scratch.data;
    artel__coll_combine(&c);
    for (int32_t i = step->receive; i < at; i++) ARTEL_TRY(artel__net_release(t->team->endpoint, &t->request[i]));
    return ARTEL_OK;
}

static artel_status combine_ready(artel__call *t)
{
    while (t->combined < t->schedule.combines && t->schedule.combine[t->combined].needs <= t->received)
        ARTEL_TRY(combine(t, &t->schedule.combine[t->combined++]));
    return ARTEL_OK;
}

/* After each message that another step may wait for. */
static artel_status progress_data(artel__call *t)
{
    const artel__coll_schedule *s = &t->schedule;
    if (artel__call_relays(t)) return artel__call_relay_progress(t);
    ARTEL_TRY(combine_ready(t));
    ARTEL_TRY(send_ready(t));
    while (t->received < s->receives && artel__net_done(&t->request[t->received])) {
        ARTEL_TRY(take(t, t->received));
        if (t->stuck) return ARTEL_AGAIN;
        t->received++;
        ARTEL_TRY(combine_ready(t));
        ARTEL_TRY(send_ready(t));
    }
    if (t->received < s->receives) return ARTEL_AGAIN;
    while (t->left < s->sends && artel__net_done(&t->request[s->receives + t->left])) t->left++;
    return t->left < s->sends ? ARTEL_AGAIN : ARTEL_OK;
}

static artel_status explain_difference(const artel__call *t)
{
    const artel__agreement *a = &t->agreement;
    bool memory = a->first.call.refused == -ARTEL_ERROR_NO_MEMORY ||
                  (a->other.position >= 0 && a->other.call.refused == -ARTEL_ERROR_NO_MEMORY);
    artel__text text;
    if (t->own < 0) return t->own;
    artel__text_init(&text, t->team->ctx);
    artel__text_printf(&text, "call %llu: member %d called ", (unsigned long long)t->base.frame.step,
                       a->first.position);
    artel__coll_signature_text(&a->first.call, &text);
    if (a->other.position >= 0) {
        artel__text_printf(&text, ", member %d ", a->other.position);
        artel__coll_signature_text(&a->other.call, &text);
    }
    artel_status status =
        artel__fail(t->team->ctx, memory ? ARTEL_ERROR_RUN : ARTEL_ERROR_INVALID, artel__coll_kind_name(t->kind),
                    "make the same calls in the same order on every member", "%s", text.data);
    artel__text_fini(&text);
    return status;
}

static artel_status explain_length(const artel__call *t)
{
    const artel__net_request *request = &t->request[t->wrong];
    const artel__coll_transfer *transfer = &t->schedule.receive[t->wrong];
    return artel__fail(t->team->ctx, ARTEL_ERROR_RUN, artel__coll_kind_name(t->kind),
                       "give each pair of members the same count at both ends",
                       "member %d sent %llu bytes to member %d in call %llu, %zu were expected (padded to 8)",
                       transfer->peer, (unsigned long long)request->frame.length, t->team->position,
                       (unsigned long long)t->base.frame.step,
                       artel__net_padded((size_t)transfer->count * artel__call_element(t)));
}

static artel_status progress(artel__coll_task *task)
{
    artel__call *t = self_of(task);
    artel_status data = t->posted && !t->stuck ? progress_data(t) : ARTEL_AGAIN;
    if (data < 0) return data;
    if (!t->agreed) {
        artel_status agreement = artel__agreement_progress(&t->agreement);
        if (agreement != ARTEL_OK) return agreement;
        t->agreed = true;
        if (t->agreement.other.position >= 0 || t->agreement.first.call.refused) return explain_difference(t);
        if (!t->posted) ARTEL_TRY(post_data(t));
        if (!t->stuck) data = progress_data(t);
    }
    return t->stuck ? explain_length(t) : data;
}

/* Receives come first among the requests, as withdrawing wants it. */
static void finalize(artel__coll_task *task)
{
    artel__call *t = self_of(task);
    if (t->team->endpoint) artel__agreement_finalize(&t->agreement);
    artel__call_relay_finalize(t);
    for (int32_t i = 0; i < t->requests_posted; i++) artel__net_withdraw(t->team->endpoint, &t->request[i]);
    t->requests_posted = 0;
}

static const artel__coll_task_ops call_ops = {"collective", post, progress, finalize};

void artel__call_init(artel__call *call, artel__team *team)
{
    *call = (artel__call){.base = {.ops = &call_ops, .endpoint = team->endpoint}, .team = team};
}

void artel__call_fini(artel__call *call)
{
    if (!call->team) return;
    artel__all_reduce_fini(&call->relay);
    artel__coll_buffer_fini(call->team->ctx, &call->wide);
    artel__coll_buffer *const buffer[] = {&call->starts, &call->lists, &call->pieces,   &call->requests,
                                          &call->room,   &call->copy,  &call->operands, &call->scratch};
    for (size_t i = 0; i < ARTEL__COUNT(buffer); i++) artel__coll_buffer_fini(call->team->ctx, buffer[i]);
}

static artel_status step(artel__call *t)
{
    if (artel__cancelled(t->team->ctx)) return ARTEL_ERROR_CANCELLED;
    if (t->team->endpoint) ARTEL_TRY(artel__net_progress(t->team->endpoint));
    return progress(&t->base);
}

/* Ranks outside the team wait for its members elsewhere, and must hear of a failure that its members have agreed on;
 * not before all of these know it, or some would hear no more than that they are cancelled. */
static void tell_outsiders(artel__call *t)
{
    artel__agreement *a = &t->agreement;
    artel__endpoint *endpoint = t->team->endpoint;
    artel__agreement_finalize(a);
    a->frame.step = t->team->calls++;
    artel_status status = artel__agreement_post(a);
    while (status == ARTEL_OK) {
        status = artel__net_progress(endpoint);
        if (status < 0 || artel__agreement_progress(a) != ARTEL_AGAIN) break;
        artel__net_wait(endpoint);
    }
    artel__net_cancel(endpoint);
}

/* The sender of one of these that is missing; -1: none is. */
static int missing(const artel__net_request *request, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        if (!request[i].sending && !artel__net_done(&request[i]) && atomic_load(&request[i].state) != ARTEL__NET_IDLE)
            return request[i].peer;
    }
    return -1;
}

/* The position of a member whose message is missing; -1: none is, what is left is to be sent. */
static int waits_for(const artel__call *t)
{
    int rank = artel__agreement_waits_for(&t->agreement);
    if (rank < 0) rank = missing(t->request, t->requests_posted);
    if (rank < 0) rank = missing(t->relay.request, t->relay.posted);
    for (int i = 0; i < t->team->members; i++) {
        if (t->team->rank[i] == rank) return i;
    }
    return -1;
}

/* Says now and then for whom this member waits; fails when it has waited for too long. */
static artel_status watch(const artel__call *t, int64_t began, int64_t *said)
{
    int64_t now = artel__now_ns();
    bool over = t->limit_ns > 0 && now - began > t->limit_ns;
    if (!over && now - *said < SAY_NS) return ARTEL_OK;
    int position = waits_for(t);
    char whom[48] = "the network";
    if (position >= 0) snprintf(whom, sizeof whom, "member %d of %d", position, (int)t->team->members);
    *said = now;
    if (over)
        return artel__fail(t->team->ctx, ARTEL_ERROR_RUN, artel__coll_kind_name(t->kind),
                           "make the same calls on all members, or allow more time: artel_communicator_set_timeout()",
                           "call %llu waits for %s, after %.3g s", (unsigned long long)t->team->calls, whom,
                           (double)(now - began) * 1e-9);
    artel__log(t->team->ctx, ARTEL_LOG_NOTE, "%s: call %llu has waited %lld s for %s", artel__coll_kind_name(t->kind),
               (unsigned long long)t->team->calls, (long long)((now - began) / 1000000000), whom);
    return ARTEL_OK;
}

artel_status artel__call_run(artel__call *t)
{
    int64_t began = artel__now_ns(), said = began;
    artel_status status = post(&t->base);
    if (status == ARTEL_OK) status = step(t);
    while (status == ARTEL_AGAIN) {
        artel__net_wait(t->team->endpoint);
        status = step(t);
        if (status == ARTEL_AGAIN && watch(t, began, &said) < 0) status = ARTEL_ERROR_RUN;
    }
    /* Members that differ all know it: none of them waits. Otherwise before withdrawing, as artel__coll_run does. */
    bool known = t->agreed && (t->agreement.other.position >= 0 || t->agreement.first.call.refused);
    if (status < 0 && status != ARTEL_ERROR_CANCELLED && !known && t->team->endpoint)
        artel__net_blame(t->team->endpoint, t->team->endpoint->rank, status);
    if (status < 0 && !known && t->team->endpoint) artel__net_cancel(t->team->endpoint);
    if (known && t->team->endpoint && t->team->members < t->team->endpoint->ranks) tell_outsiders(t);
    finalize(&t->base);
    return status;
}
