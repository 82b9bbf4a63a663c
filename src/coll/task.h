/* SPDX-License-Identifier: Apache-2.0 */
/* A collective as a task: post, progress, finalize.
 *
 * A task is one rank's part of a collective. post starts it, progress moves it as far as the messages that are here
 * allow (ARTEL_AGAIN: not done), finalize ends it, done or not: afterwards this rank's memory is its own
 * (net/transport.h) and the task may be posted again. Tasks keep their memory from call to call and take more only when
 * a call needs more, so steady steps make no heap calls. A task belongs to the thread of its endpoint.
 *
 * Adding an algorithm: a file in algo/ with an artel__coll_task_ops; its messages listed in pattern/; a row in
 * select.c.
 */
#ifndef ARTEL_COLL_TASK_H
#define ARTEL_COLL_TASK_H

#include "coll/pattern/layout.h"
#include "coll/pattern/slices.h"
#include "net/transport.h"

struct artel__coll_task;

typedef struct artel__coll_task_ops {
    const char *name;
    artel_status (*post)(struct artel__coll_task *task);
    artel_status (*progress)(struct artel__coll_task *task);
    void (*finalize)(struct artel__coll_task *task);
} artel__coll_task_ops;

/* What every task starts with; the caller fills it before each post. */
typedef struct artel__coll_task {
    const artel__coll_task_ops *ops;
    artel__endpoint *endpoint;
    const artel__coll_layout *layout;
    artel__frame frame; /* job, generation, step, collective of the call */
    bool overtakes;     /* this rank waits for it while others go on: its messages need not queue behind theirs */
} artel__coll_task;

/* Posts the tasks, which must all belong to one endpoint, and blocks until all are done or one fails; all are finalized
 * then. A failure cancels the endpoint's group, so that nobody waits for what will not come. */
artel_status artel__coll_run(artel__endpoint *endpoint, artel__coll_task *const *tasks, int count);

/* The same in parts, for tasks that go on while their rank does something else. Posted ones are polled now and then
 * (ARTEL_AGAIN: some of the first `needed` are not done), or waited for; also when that has failed they must be
 * finalized. */
artel_status artel__coll_post(artel__coll_task *const *tasks, int count);
artel_status artel__coll_poll(artel__endpoint *endpoint, artel__coll_task *const *tasks, int count, int needed);
artel_status artel__coll_wait(artel__endpoint *endpoint, artel__coll_task *const *tasks, int count, int needed);
void artel__coll_finalize(artel__coll_task *const *tasks, int count);

/* Memory that only grows. Contents are lost when it grows. */
typedef struct artel__coll_buffer {
    void *data;
    size_t bytes;
} artel__coll_buffer;
artel_status artel__coll_reserve(artel_context *ctx, artel__coll_buffer *buffer, size_t count, size_t size);
void artel__coll_buffer_fini(artel_context *ctx, artel__coll_buffer *buffer);

/* `most` of a receive for a message of this length: 0 would be any, and lengths are multiples of 8. */
static inline uint64_t artel__coll_most(uint64_t length)
{
    return length ? length : 1;
}

/* A message that has arrived must have the parts and the length that this rank expects, or the ranks are not in the
 * same collective. */
artel_status artel__coll_check(const artel__coll_task *task, const artel__net_request *request, int parts,
                               size_t length);

#endif
