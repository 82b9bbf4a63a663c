/* SPDX-License-Identifier: Apache-2.0 */
/* A filter in front of a driver: fewer ranks, all else as it is. */
#include "net/subset.h"

static artel__subset *subset_of(artel__endpoint *endpoint)
{
    return (artel__subset *)endpoint;
}

static artel_status post_send(artel__endpoint *endpoint, artel__net_request *request)
{
    artel__endpoint *whole = subset_of(endpoint)->whole;
    return whole->ops->post_send(whole, request);
}

static artel_status post_receive(artel__endpoint *endpoint, artel__net_request *request)
{
    artel__endpoint *whole = subset_of(endpoint)->whole;
    return whole->ops->post_receive(whole, request);
}

/* Both have the same ranks. */
static void copy_blame(artel__endpoint *from, artel__endpoint *to)
{
    artel_status status;
    int rank = artel__net_blamed(from, &status);
    if (rank >= 0) artel__net_blame(to, rank, status);
}

static artel_status progress(artel__endpoint *endpoint)
{
    artel__endpoint *whole = subset_of(endpoint)->whole;
    artel_status status = whole->ops->progress(whole);
    if (status < 0) copy_blame(whole, endpoint);
    return status;
}

static void wait(artel__endpoint *endpoint)
{
    artel__endpoint *whole = subset_of(endpoint)->whole;
    whole->ops->wait(whole);
}

static artel_status release(artel__endpoint *endpoint, artel__net_request *request)
{
    artel__endpoint *whole = subset_of(endpoint)->whole;
    return whole->ops->release(whole, request);
}

static void withdraw(artel__endpoint *endpoint, artel__net_request *request)
{
    artel__endpoint *whole = subset_of(endpoint)->whole;
    whole->ops->withdraw(whole, request);
}

static void cancel(artel__endpoint *endpoint)
{
    artel__endpoint *whole = subset_of(endpoint)->whole;
    copy_blame(endpoint, whole);
    whole->ops->cancel(whole);
}

static void resume(artel__endpoint *endpoint)
{
    artel__endpoint *whole = subset_of(endpoint)->whole;
    artel__net_resume(whole);
}

static bool has_borrower(artel__endpoint *endpoint)
{
    return artel__net_has_borrower(subset_of(endpoint)->whole);
}

static void close(artel__endpoint *endpoint)
{
    (void)endpoint;
}

void artel__subset_init(artel__subset *subset, artel__endpoint *whole, int ranks)
{
    *subset = (artel__subset){.base = {.ctx = whole->ctx, .rank = whole->rank, .ranks = ranks}, .whole = whole};
    subset->ops = (artel__transport_ops){.name = whole->ops->name,
                                         .caps = whole->ops->caps,
                                         .post_send = post_send,
                                         .post_receive = post_receive,
                                         .progress = progress,
                                         .wait = wait,
                                         .release = release,
                                         .withdraw = withdraw,
                                         .cancel = cancel,
                                         .resume = resume,
                                         .has_borrower = has_borrower,
                                         .close = close};
    subset->base.ops = &subset->ops;
}
