/* SPDX-License-Identifier: Apache-2.0 */
/* What the ways of carrying out an all-reduce share: a task's life, and where a rank's own blocks lie. */
#include "coll/algo/all_reduce.h"

#include <string.h>

/* Where a segment's node blocks are, one `stride` elements behind the other. */
typedef struct source {
    const char *in;
    int64_t stride;
} source;

/* Blocks close behind one another, at `to`; returns where the next ones go. */
static char *copy_blocks(const artel__coll_segment *s, source *from, int32_t nodes, char *to)
{
    size_t bytes = (size_t)(s->count * s->element);
    for (int32_t n = 0; n < nodes; n++) memcpy(to + (size_t)n * bytes, from->in + n * from->stride * s->element, bytes);
    *from = (source){to, s->count};
    return to + artel__net_padded((size_t)nodes * bytes);
}

artel_status artel__all_reduce_find_sources(artel__all_reduce *t, int32_t nodes, bool copies)
{
    artel_context *ctx = t->base.endpoint->ctx;
    size_t bytes = 0;
    ARTEL_TRY(artel__coll_reserve(ctx, &t->sources, (size_t)t->segments, sizeof(source)));
    for (int32_t i = 0; i < t->segments; i++) {
        const artel__coll_segment *s = &t->segment[i];
        ((source *)t->sources.data)[i] = (source){s->in, s->stride ? s->stride : s->count};
        if (copies && s->in == s->out) bytes += artel__net_padded((size_t)(nodes * s->count * s->element));
    }
    ARTEL_TRY(artel__coll_reserve(ctx, &t->copy, bytes, 1));
    char *to = t->copy.data;
    for (int32_t i = 0; i < t->segments; i++) {
        const artel__coll_segment *s = &t->segment[i];
        if (copies && s->in == s->out) to = copy_blocks(s, (source *)t->sources.data + i, nodes, to);
    }
    return ARTEL_OK;
}

const char *artel__all_reduce_place(const artel__all_reduce *t, const artel__coll_span *span, int32_t block)
{
    const source *from = (const source *)t->sources.data + span->segment;
    return from->in + (block * from->stride + span->first) * t->segment[span->segment].element;
}

void artel__all_reduce_init(artel__all_reduce *task, artel__endpoint *endpoint, const artel__coll_layout *layout)
{
    *task =
        (artel__all_reduce){.base = {.ops = &artel__all_reduce_exchange_ops, .endpoint = endpoint, .layout = layout}};
}

void artel__all_reduce_fini(artel__all_reduce *task)
{
    if (!task->base.ops) return;
    artel_context *ctx = task->base.endpoint->ctx;
    artel__coll_buffer *const buffer[] = {&task->sources,  &task->copy,     &task->spans,
                                          &task->begin,    &task->messages, &task->pieces,
                                          &task->requests, &task->operands, &task->stack};
    for (size_t i = 0; i < sizeof buffer / sizeof *buffer; i++) artel__coll_buffer_fini(ctx, buffer[i]);
}
