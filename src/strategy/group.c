/* SPDX-License-Identifier: Apache-2.0 */
/* The replicas of one process as the ranks of a group: exec's collectives carried out by coll over the inproc transport.
 *
 * What coll cannot know is filled in here: which merge a collective means (sums, maxima, moments), and that the ranks
 * of one step agree on shards and rows. A call that fails cancels the group, and before it returns it has taken back
 * everything it lent or borrowed; so once all ranks have returned, the fabric is empty and reset has only to end the
 * cancellation. Messages carry the generation, which reset advances.
 */
#include <string.h>

#include "coll/algo/all_gather.h"
#include "coll/algo/all_reduce.h"
#include "coll/algo/barrier.h"
#include "coll/select.h"
#include "kernel/moments.h"
#include "base/threads.h"
#include "net/inproc.h"
#include "strategy/strategy.h"

typedef struct member {
    artel__group *group;
    artel__comm comm;
    artel__endpoint *endpoint;
    artel__all_reduce all_reduce;
    artel__all_gather all_gather;
    artel__barrier barrier;
    artel__coll_buffer segments; /* reductions from the front, gathers from the back */
    uint32_t barriers;           /* passed in this generation */
} member;

struct artel__group {
    artel_context *ctx;
    int replicas;
    uint32_t generation;
    artel__fabric *fabric;
    artel__coll_layout layout;
    member *member;
};

/* -- collectives -- */

/* Blocks of [3][columns] (kernel/moments.h). */
static void merge_moments(void *out, const void *left, const void *right, int64_t count)
{
    if (out != left) memcpy(out, left, (size_t)count * sizeof(double));
    artel__moments_merge(out, right, count / 3);
}

static artel__coll_merge_fn *merge_of(const artel__comm_segment *segment)
{
    if (segment->kind == ARTEL__COLLECTIVE_SUM) return artel__coll_sum(segment->dtype);
    if (segment->kind == ARTEL__COLLECTIVE_MAX) return artel__coll_max(segment->dtype);
    bool moments = segment->kind == ARTEL__COLLECTIVE_MOMENTS && segment->dtype == ARTEL_DTYPE_FLOAT64 && segment->count % 3 == 0;
    return moments ? merge_moments : NULL;
}

static artel_status translate(member *m, const artel__comm_segment *segments, int count)
{
    artel_context *ctx = m->group->ctx;
    ARTEL_TRY(artel__coll_reserve(ctx, &m->segments, (size_t)count, sizeof(artel__coll_segment)));
    artel__coll_segment *to = m->segments.data;
    int reductions = 0, gathers = 0;
    for (int i = 0; i < count; i++) {
        const artel__comm_segment *from = &segments[i];
        bool gather = from->kind == ARTEL__COLLECTIVE_GATHER;
        artel__coll_merge_fn *merge = gather ? NULL : merge_of(from);
        if (!gather && !merge)
            return artel__fail(ctx, ARTEL_ERROR_INTERNAL, "all-reduce", "please report this", "no collective of kind %d for %lld x %s",
                               (int)from->kind, (long long)from->count, artel_dtype_name(from->dtype));
        int at = gather ? count - ++gathers : reductions++;
        to[at] = (artel__coll_segment){.merge = merge,
                                       .count = from->count,
                                       .element = (int32_t)artel_dtype_size(from->dtype),
                                       .whole = from->kind == ARTEL__COLLECTIVE_MOMENTS,
                                       .in = from->in,
                                       .out = from->out};
    }
    m->all_reduce.segment = to;
    m->all_reduce.segments = reductions;
    m->all_gather.segment = to + reductions;
    m->all_gather.segments = gathers;
    return ARTEL_OK;
}

static artel_status check_fold(const member *m, const artel__fold_plan *fold)
{
    const artel__coll_layout *layout = &m->group->layout;
    int rank = m->comm.rank;
    int32_t first = artel__replica_first_shard(layout->shards, layout->ranks, rank);
    if (fold->shards == layout->shards && fold->first == first && fold->nodes == artel__coll_owned(layout, rank)) return ARTEL_OK;
    return artel__fail(m->group->ctx, ARTEL_ERROR_INTERNAL, "all-reduce", "please report this",
                       "rank %d owns shards from %d of %d, the group expects %d of %d", rank, fold->first, fold->shards, first,
                       layout->shards);
}

static artel_status prepare(member *m, const artel__step *step, const artel__comm_segment *segments, int count)
{
    ARTEL_TRY(check_fold(m, step->fold));
    return translate(m, segments, count);
}

static artel_status group_all_reduce(void *comm, const artel__step *step, int32_t collective, const artel__comm_segment *segments,
                                     int count)
{
    member *m = comm;
    artel_status status = prepare(m, step, segments, count);
    if (status < 0) {
        artel__group_cancel(m->group);
        return status;
    }
    artel__frame frame = {.generation = m->group->generation, .step = step->batch, .collective = (uint32_t)collective};
    artel__coll_task *tasks[2];
    int count_tasks = 0;
    if (m->all_reduce.segments) tasks[count_tasks++] = &m->all_reduce.base;
    if (m->all_gather.segments) tasks[count_tasks++] = &m->all_gather.base;
    m->all_reduce.base.frame = m->all_gather.base.frame = frame;
    m->all_reduce.algorithm = artel__coll_select(artel__coll_bytes(m->all_reduce.segment, m->all_reduce.segments), m->group->replicas);
    m->all_gather.batch = step->fold->batch;
    uint32_t fp = artel__fp_enter();
    status = artel__coll_run(m->endpoint, tasks, count_tasks);
    artel__fp_leave(fp);
    return status;
}

/* Who is not well has recorded why, or will; nothing is recorded here. */
static artel_status group_barrier(void *comm, bool ok)
{
    member *m = comm;
    artel__coll_task *task = &m->barrier.base;
    task->frame = (artel__frame){.generation = m->group->generation, .step = m->barriers++};
    m->barrier.ok = ok;
    artel_status status = artel__coll_run(m->endpoint, &task, 1);
    if (status < 0) return status;
    return m->barrier.ok ? ARTEL_OK : ARTEL_ERROR_RUN;
}

static const artel__comm_ops group_ops = {.all_reduce = group_all_reduce, .barrier = group_barrier};

/* -- the group -- */

static artel_status connect_members(artel__group *group, int32_t shards)
{
    void *block;
    ARTEL_TRY(artel__coll_layout_init(group->ctx, shards, group->replicas, &group->layout));
    bool spin = artel__usable_cores() >= group->replicas;
    ARTEL_TRY(artel__fabric_create(group->ctx, group->replicas, spin, &group->fabric));
    ARTEL_TRY(artel__calloc(group->ctx, (size_t)group->replicas, sizeof(member), "group", &block));
    group->member = block;
    for (int r = 0; r < group->replicas; r++) {
        member *m = &group->member[r];
        m->group = group;
        m->comm = (artel__comm){.ops = &group_ops, .self = m, .rank = r, .size = group->replicas};
        m->endpoint = artel__fabric_endpoint(group->fabric, r);
        artel__all_reduce_init(&m->all_reduce, m->endpoint, &group->layout);
        artel__all_gather_init(&m->all_gather, m->endpoint, &group->layout);
        artel__barrier_init(&m->barrier, m->endpoint);
    }
    return ARTEL_OK;
}

artel_status artel__group_create(artel_context *ctx, int replicas, int32_t shards, artel__group **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__group), "group", &block));
    artel__group *group = block;
    *group = (artel__group){.ctx = ctx, .replicas = replicas};
    artel_status status = connect_members(group, shards);
    if (status < 0) {
        artel__group_destroy(group);
        return status;
    }
    *out = group;
    return ARTEL_OK;
}

void artel__group_destroy(artel__group *group)
{
    if (!group) return;
    for (int r = 0; group->member && r < group->replicas; r++) {
        artel__all_reduce_fini(&group->member[r].all_reduce);
        artel__all_gather_fini(&group->member[r].all_gather);
        artel__coll_buffer_fini(group->ctx, &group->member[r].segments);
    }
    artel__free(group->ctx, group->member);
    artel__fabric_destroy(group->fabric);
    artel__coll_layout_fini(group->ctx, &group->layout);
    artel__free(group->ctx, group);
}

const artel__comm *artel__group_comm(artel__group *group, int rank)
{
    return group->replicas > 1 ? &group->member[rank].comm : NULL;
}

void artel__group_dump(const artel__group *group, artel__text *out)
{
    artel__coll_layout_dump(&group->layout, out);
}

void artel__group_cancel(artel__group *group)
{
    artel__net_cancel(group->member[0].endpoint);
}

void artel__group_reset(artel__group *group)
{
    group->generation++;
    for (int r = 0; r < group->replicas; r++) {
        group->member[r].barriers = 0;
        artel__net_resume(group->member[r].endpoint);
    }
}
