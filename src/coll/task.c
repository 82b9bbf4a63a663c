/* SPDX-License-Identifier: Apache-2.0 */
/* Running tasks to their end, and what tasks share.
 *
 * The loop looks at everything, then sleeps until something has happened. It is the only place where a rank waits.
 */
#include "coll/task.h"

artel_status artel__coll_post(artel__coll_task *const *tasks, int count)
{
    for (int i = 0; i < count; i++) ARTEL_TRY(tasks[i]->ops->post(tasks[i]));
    return ARTEL_OK;
}

artel_status artel__coll_poll(artel__endpoint *endpoint, artel__coll_task *const *tasks, int count, int needed)
{
    ARTEL_TRY(artel__net_progress(endpoint));
    artel_status status = ARTEL_OK;
    for (int i = 0; i < count; i++) {
        artel_status one = tasks[i]->ops->progress(tasks[i]);
        if (one < 0) return one;
        if (one == ARTEL_AGAIN && i < needed) status = ARTEL_AGAIN;
    }
    return status;
}

artel_status artel__coll_wait(artel__endpoint *endpoint, artel__coll_task *const *tasks, int count, int needed)
{
    artel_status status = artel__coll_poll(endpoint, tasks, count, needed);
    while (status == ARTEL_AGAIN) {
        artel__net_wait(endpoint);
        status = artel__coll_poll(endpoint, tasks, count, needed);
    }
    return status;
}

void artel__coll_finalize(artel__coll_task *const *tasks, int count)
{
    for (int i = 0; i < count; i++) tasks[i]->ops->finalize(tasks[i]);
}

artel_status artel__coll_run(artel__endpoint *endpoint, artel__coll_task *const *tasks, int count)
{
    artel_status status = artel__coll_post(tasks, count);
    if (status == ARTEL_OK) status = artel__coll_wait(endpoint, tasks, count, count);
    /* Before withdrawing: a peer that holds this rank's messages must stop waiting for the rest. */
    if (status < 0) artel__net_cancel(endpoint);
    artel__coll_finalize(tasks, count);
    return status;
}

artel_status artel__coll_reserve(artel_context *ctx, artel__coll_buffer *buffer, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / 2 / size) return artel__fail_memory(ctx, "collectives", SIZE_MAX);
    size_t bytes = count * size;
    if (bytes <= buffer->bytes && buffer->data) return ARTEL_OK;
    artel__coll_buffer_fini(ctx, buffer);
    ARTEL_TRY(artel__alloc_aligned(ctx, bytes + 64, "collectives", &buffer->data));
    buffer->bytes = bytes;
    return ARTEL_OK;
}

void artel__coll_buffer_fini(artel_context *ctx, artel__coll_buffer *buffer)
{
    if (buffer->data) artel__free_aligned(ctx, buffer->data, buffer->bytes + 64);
    *buffer = (artel__coll_buffer){.data = NULL};
}

artel_status artel__coll_check(const artel__coll_task *task, const artel__net_request *request, int parts,
                               size_t length)
{
    if (request->frame.length == length && (request->pieces == parts || request->pieces == 1)) return ARTEL_OK;
    return artel__fail(
        task->endpoint->ctx, ARTEL_ERROR_RUN, task->ops->name, "run the same model and options on every replica",
        "rank %d sent %llu bytes to rank %d in collective %u of step %llu, %zu in %d parts were expected",
        request->peer, (unsigned long long)request->frame.length, task->endpoint->rank,
        (unsigned)request->frame.collective, (unsigned long long)request->frame.step, length, parts);
}
