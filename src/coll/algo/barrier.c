/* SPDX-License-Identifier: Apache-2.0 */
/* The dissemination barrier (D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization", 1988).
 *
 * In round k rank r tells rank r + 2^k what it knows and hears rank r - 2^k. After ceil(log2 R) rounds everyone has
 * heard, directly or not, from everyone. "All well" is a conjunction, which hearing twice does not change, so R need
 * not be a power of two.
 */
#include "coll/algo/barrier.h"

static artel__barrier *self_of(artel__coll_task *task)
{
    return (artel__barrier *)task;
}

static void fill(const artel__barrier *t, int32_t round, int32_t peer, artel__net_request *request)
{
    *request = (artel__net_request){.peer = peer, .frame = t->base.frame};
    request->frame.kind = ARTEL__FRAME_BARRIER;
    request->frame.slice = (uint32_t)round;
}

static artel_status say(artel__barrier *t)
{
    int32_t k = t->round, ranks = t->base.endpoint->ranks;
    t->said[k] = t->ok;
    t->piece[k] = (artel__net_piece){&t->said[k], 1};
    fill(t, k, (t->base.endpoint->rank + (1 << k)) % ranks, &t->send[k]);
    t->send[k].piece = &t->piece[k];
    t->send[k].pieces = 1;
    return artel__net_send(t->base.endpoint, &t->send[k]);
}

static artel_status post(artel__coll_task *task)
{
    artel__barrier *t = self_of(task);
    int32_t ranks = task->endpoint->ranks;
    t->round = t->rounds = 0;
    while (((int64_t)1 << t->rounds) < ranks) {
        int32_t k = t->rounds++;
        t->send[k] = (artel__net_request){.peer = 0};
        fill(t, k, (task->endpoint->rank + ranks - (1 << k)) % ranks, &t->receive[k]);
        t->receive[k].most = artel__net_padded(1);
        ARTEL_TRY(artel__net_receive(task->endpoint, &t->receive[k]));
    }
    return t->rounds ? say(t) : ARTEL_OK;
}

static artel_status progress(artel__coll_task *task)
{
    artel__barrier *t = self_of(task);
    while (t->round < t->rounds) {
        artel__net_request *heard = &t->receive[t->round];
        if (!artel__net_done(heard)) return ARTEL_AGAIN;
        ARTEL_TRY(artel__coll_check(task, heard, 1, artel__net_padded(1)));
        t->ok = *(const uint8_t *)artel__net_part(heard, 0, 0) == 1 && t->ok;
        ARTEL_TRY(artel__net_release(task->endpoint, heard));
        if (++t->round < t->rounds) ARTEL_TRY(say(t));
    }
    for (int32_t k = 0; k < t->rounds; k++) {
        if (!artel__net_done(&t->send[k])) return ARTEL_AGAIN;
    }
    return ARTEL_OK;
}

static void finalize(artel__coll_task *task)
{
    artel__barrier *t = self_of(task);
    for (int32_t k = 0; k < t->rounds; k++) artel__net_withdraw(task->endpoint, &t->receive[k]);
    for (int32_t k = 0; k < t->rounds; k++) artel__net_withdraw(task->endpoint, &t->send[k]);
    t->rounds = 0;
}

static const artel__coll_task_ops barrier_ops = {"barrier", post, progress, finalize};

void artel__barrier_init(artel__barrier *task, artel__endpoint *endpoint)
{
    *task = (artel__barrier){.base = {.ops = &barrier_ops, .endpoint = endpoint}};
}
