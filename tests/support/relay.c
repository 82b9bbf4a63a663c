/* SPDX-License-Identifier: Apache-2.0 */
#include "support/relay.h"

#include <pthread.h>

#include "base/extension.h"

support_relay_counts support_relay_counted;

static const artel__transport_ops *whole; /* of the transport behind it */
static artel__transport_ops ops;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static artel_status post_send(artel__endpoint *endpoint, artel__net_request *request)
{
    support_relay_counted.sent++;
    return whole->post_send(endpoint, request);
}

static artel_status progress(artel__endpoint *endpoint)
{
    support_relay_counted.progressed++;
    return whole->progress(endpoint);
}

static void close_endpoint(artel__endpoint *endpoint)
{
    support_relay_counted.closed++;
    whole->close(endpoint);
}

/* The table behind it is that of any endpoint of that transport. */
static void make_ops(const artel__transport_ops *behind)
{
    pthread_mutex_lock(&mutex);
    if (!whole) {
        whole = behind;
        ops = *behind;
        ops.name = "relay";
        ops.post_send = post_send;
        ops.progress = progress;
        ops.close = close_endpoint;
        ops.far = &support_relay;
    }
    pthread_mutex_unlock(&mutex);
}

static artel_status create(artel_context *ctx, const artel__far_options *options, artel__endpoint **out)
{
    ARTEL_TRY(artel__far_transports[0]->create(ctx, options, out));
    make_ops((*out)->ops);
    (*out)->ops = &ops;
    support_relay_counted.created++;
    return ARTEL_OK;
}

static artel_status attach(artel__endpoint *endpoint, int peer, artel__connection *connection)
{
    support_relay_counted.attached++;
    return whole->far->attach(endpoint, peer, connection);
}

static bool is_attached(artel__endpoint *endpoint, int peer)
{
    return whole->far->is_attached(endpoint, peer);
}

static bool is_lost(artel__endpoint *endpoint, int peer)
{
    return whole->far->is_lost(endpoint, peer);
}

static void lose(artel__endpoint *endpoint, int peer, const char *reason)
{
    whole->far->lose(endpoint, peer, reason);
}

static void wake(artel__endpoint *endpoint)
{
    whole->far->wake(endpoint);
}

static int awaited(artel__endpoint *endpoint)
{
    return whole->far->awaited(endpoint);
}

const artel__far_transport support_relay = {
    .name = "relay",
    .doc = "The first transport of the list, counted.",
    .create = create,
    .attach = attach,
    .is_attached = is_attached,
    .is_lost = is_lost,
    .lose = lose,
    .wake = wake,
    .awaited = awaited,
};

artel_status support_relay_add(artel_context *ctx)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__far_transport), "relay", &block));
    *(artel__far_transport *)block = support_relay;
    return artel__extension_add(ctx, ARTEL__FAR_EXTENSION, support_relay.name, block);
}
