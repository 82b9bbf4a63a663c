/* SPDX-License-Identifier: Apache-2.0 */
/* Message buffers of the TCP driver: powers of two, kept for the next message of their size. What a step needed once is
 * there for every later step.
 */
#include "net/tcp_impl.h"

void artel__tcp_pool_init(artel__tcp_pool *pool, artel_context *ctx)
{
    *pool = (artel__tcp_pool){.ctx = ctx};
}

static void destroy(artel__tcp_pool *pool, artel__tcp_message *message)
{
    artel__free_aligned(pool->ctx, message->data, (size_t)1 << message->class);
    artel__free(pool->ctx, message);
}

void artel__tcp_pool_fini(artel__tcp_pool *pool)
{
    for (int k = 0; k < ARTEL__TCP_CLASSES; k++) {
        while (pool->free[k]) {
            artel__tcp_message *message = pool->free[k];
            pool->free[k] = message->next;
            destroy(pool, message);
        }
    }
}

static artel_status create(artel__tcp_pool *pool, int class, artel__tcp_message **out)
{
    void *block, *data;
    ARTEL_TRY(artel__alloc_aligned(pool->ctx, (size_t)1 << class, "messages", &data));
    artel_status status = artel__alloc(pool->ctx, sizeof(artel__tcp_message), "messages", &block);
    if (status < 0) {
        artel__free_aligned(pool->ctx, data, (size_t)1 << class);
        return status;
    }
    *out = block;
    **out = (artel__tcp_message){.class = class, .data = data};
    return ARTEL_OK;
}

artel_status artel__tcp_pool_take(artel__tcp_pool *pool, size_t bytes, artel__tcp_message **out)
{
    int class = ARTEL__TCP_SMALLEST;
    while (((size_t)1 << class) < bytes) class ++;
    artel__tcp_message *message = pool->free[class];
    if (!message)
        ARTEL_TRY(create(pool, class, &message));
    else
        pool->free[class] = message->next;
    *message = (artel__tcp_message){.class = class, .data = message->data};
    *out = message;
    return ARTEL_OK;
}

void artel__tcp_pool_give(artel__tcp_pool *pool, artel__tcp_message *message)
{
    message->next = pool->free[message->class];
    pool->free[message->class] = message;
}
