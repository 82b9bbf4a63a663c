/* SPDX-License-Identifier: Apache-2.0 */
/* What a rank asks of its group: exec's collectives carried out by coll.
 *
 * What coll cannot know is filled in here: which merge a collective means (sums, maxima, moments), and that the ranks
 * of one step agree on shards and rows. A long sum that is waited for goes in parts, each a task of its own: what has
 * arrived of one is merged while the cache has it, and its result leaves while the next part arrives. So do sums in the
 * background, and what is waited for meanwhile overtakes them between two parts. A call that fails
 * cancels the group, and before it returns it has taken back everything it lent or borrowed.
 */
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "coll/local.h"
#include "coll/select.h"
#include "comm/group_impl.h"
#include "kernel/moments.h"

enum {
    PART_SHIFT = 24 /* of a part's number in a frame's collective */
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
    bool moments =
        segment->kind == ARTEL__COLLECTIVE_MOMENTS && segment->dtype == ARTEL_DTYPE_FLOAT64 && segment->count % 3 == 0;
    return moments ? merge_moments : NULL;
}

/* Reductions from the front, gathers from the back. */
static artel_status translate(artel_context *ctx, artel__coll_buffer *out, const artel__comm_segment *segments,
                              int count, int *gathered)
{
    ARTEL_TRY(artel__coll_reserve(ctx, out, (size_t)count, sizeof(artel__coll_segment)));
    artel__coll_segment *to = out->data;
    int reductions = 0, gathers = 0;
    for (int i = 0; i < count; i++) {
        const artel__comm_segment *from = &segments[i];
        bool gather = from->kind == ARTEL__COLLECTIVE_GATHER;
        artel__coll_merge_fn *merge = gather ? NULL : merge_of(from);
        if (!gather && !merge)
            return artel__fail(ctx, ARTEL_ERROR_INTERNAL, "all-reduce", "please report this",
                               "no collective of kind %d for %lld x %s", (int)from->kind, (long long)from->count,
                               artel_dtype_name(from->dtype));
        int at = gather ? count - ++gathers : reductions++;
        to[at] = (artel__coll_segment){.merge = merge,
                                       .count = from->count,
                                       .element = (int32_t)artel_dtype_size(from->dtype),
                                       .whole = from->kind == ARTEL__COLLECTIVE_MOMENTS,
                                       .in = from->in,
                                       .out = from->out};
    }
    *gathered = gathers;
    return ARTEL_OK;
}

static artel_status check_fold(const artel__group_member *m, const artel__fold_plan *fold)
{
    const artel__coll_layout *layout = &m->group->layout;
    int rank = m->comm.rank;
    int32_t first = layout->start[rank];
    if (fold->shards == layout->shards && fold->first == first && fold->nodes == artel__coll_owned(layout, rank))
        return ARTEL_OK;
    return artel__fail(m->group->ctx, ARTEL_ERROR_INTERNAL, "all-reduce", "please report this",
                       "rank %d owns shards from %d of %d, the group expects %d of %d", rank, fold->first, fold->shards,
                       first, layout->shards);
}

static artel__frame frame_of(const artel__group_member *m, const artel__step *step, uint32_t collective)
{
    return (artel__frame){
        .job = m->group->job, .generation = m->group->generation, .step = step->batch, .collective = collective};
}

/* -- parts -- */

/* Cuts the segments into m->spans: part i has those from begin[i] to begin[i + 1]. */
static artel_status cut_parts(artel__group_member *m, const artel__coll_segment *whole, int32_t segments, int parts,
                              int32_t *begin)
{
    ARTEL_TRY(artel__coll_reserve(m->group->ctx, &m->spans, (size_t)(segments + parts), sizeof(artel__coll_span)));
    artel__coll_cut(whole, segments, parts, m->spans.data, begin);
    return ARTEL_OK;
}

/* The segments of one part: each lies within one of the whole. */
static artel_status list_part(const artel__group_member *m, const artel__coll_segment *whole, artel__flight *f,
                              int32_t first, int32_t spans)
{
    const artel__coll_span *span = (const artel__coll_span *)m->spans.data + first;
    ARTEL_TRY(artel__coll_reserve(m->group->ctx, &f->segments, (size_t)spans, sizeof(artel__coll_segment)));
    artel__coll_segment *to = f->segments.data;
    for (int32_t i = 0; i < spans; i++) {
        const artel__coll_segment *from = &whole[span[i].segment];
        to[i] = *from;
        to[i].count = span[i].count;
        to[i].stride = from->count;
        to[i].in = (const char *)from->in + span[i].first * from->element;
        to[i].out = (char *)from->out + span[i].first * from->element;
    }
    return ARTEL_OK;
}

static void prepare(artel__group_member *m, artel__all_reduce *task, const artel__step *step, uint32_t collective,
                    const artel__coll_segment *segment, int segments)
{
    task->segment = segment;
    task->segments = segments;
    task->base.frame = frame_of(m, step, collective);
    const artel__all_reduce_def *chosen = m->group->all_reduce;
    task->base.ops = chosen ? chosen->ops : &artel__all_reduce_exchange_ops;
    task->itinerary = &m->itinerary;
    task->algorithm =
        chosen ? chosen->exchange : artel__coll_select(artel__coll_bytes(segment, segments), m->group->ranks);
}

/* A part of a sum, which has spans. */
static artel_status prepare_part(artel__group_member *m, const artel__coll_segment *whole, artel__flight *f,
                                 const artel__step *step, int32_t collective, int part, const int32_t *begin)
{
    int32_t spans = begin[part + 1] - begin[part];
    ARTEL_TRY(list_part(m, whole, f, begin[part], spans));
    prepare(m, &f->all_reduce, step, (uint32_t)collective | (uint32_t)part << PART_SHIFT, f->segments.data, spans);
    return ARTEL_OK;
}

/* -- in the background -- */

/* What is under way into m->task: what is waited for, then those in the background that are not done; how many. */
static int list_tasks(artel__group_member *m)
{
    int count = m->owns;
    memcpy(m->task, m->own, (size_t)m->owns * sizeof *m->own);
    for (int i = m->landed; i < m->flying; i++) m->task[count++] = &m->flight[i]->all_reduce.base;
    return count;
}

/* Ends all in the background, done or not. */
static void land(artel__group_member *m)
{
    for (int i = 0; i < m->flying; i++) {
        artel__coll_task *task = &m->flight[i]->all_reduce.base;
        artel__coll_finalize(&task, 1);
    }
    m->landed = m->flying = 0;
}

/* Ends what is waited for. */
static void finalize_own(artel__group_member *m)
{
    artel__coll_finalize(m->own, m->owns);
    m->owns = 0;
}

static artel_status end_if_failed(artel__group_member *m, artel_status status)
{
    if (status >= 0) return status;
    artel__net_cancel(m->endpoint); /* before withdrawing: peers must stop waiting for the rest */
    finalize_own(m);
    land(m);
    return status;
}

static artel_status make_flight(const artel__group_member *m, artel__flight **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(m->group->ctx, 1, sizeof(artel__flight), "group", &block));
    *out = block;
    artel__all_reduce_init(&(*out)->all_reduce, m->endpoint, &m->group->layout);
    return ARTEL_OK;
}

void artel__flight_destroy(artel_context *ctx, artel__flight *f)
{
    if (!f) return;
    artel__all_reduce_fini(&f->all_reduce);
    artel__coll_buffer_fini(ctx, &f->segments);
    artel__free(ctx, f);
}

static artel_status add_flight(artel__group_member *m)
{
    artel_context *ctx = m->group->ctx;
    void *list = m->flight, *tasks = m->task;
    ARTEL_TRY(artel__realloc(ctx, (size_t)(m->flights + 1) * sizeof *m->flight, "group", &list));
    m->flight = list;
    ARTEL_TRY(artel__realloc(ctx, (size_t)(m->flights + 1 + ARTEL__GROUP_TASKS) * sizeof *m->task, "group", &tasks));
    m->task = tasks;
    ARTEL_TRY(make_flight(m, &m->flight[m->flights]));
    m->flights++;
    return ARTEL_OK;
}

static artel_status take_off_part(artel__group_member *m, const artel__step *step, int32_t collective, int part,
                                  const int32_t *begin)
{
    if (begin[part] == begin[part + 1]) return ARTEL_OK;
    if (m->flying == m->flights) ARTEL_TRY(add_flight(m));
    artel__flight *f = m->flight[m->flying];
    ARTEL_TRY(prepare_part(m, m->begun.data, f, step, collective, part, begin));
    artel__coll_task *task = &f->all_reduce.base;
    m->flying++;
    return artel__coll_post(&task, 1);
}

static artel_status take_off(artel__group_member *m, const artel__step *step, int32_t collective,
                             const artel__comm_segment *segments, int count)
{
    int gathers;
    int32_t begin[ARTEL__GROUP_BEGUN + 1];
    ARTEL_TRY(check_fold(m, step->fold));
    ARTEL_TRY(translate(m->group->ctx, &m->begun, segments, count, &gathers));
    const artel__coll_segment *whole = m->begun.data;
    int parts = artel__group_parts(m, artel__coll_bytes(whole, count - gathers), ARTEL__GROUP_BEGUN);
    ARTEL_TRY(cut_parts(m, whole, count - gathers, parts, begin));
    for (int i = 0; i < parts; i++) ARTEL_TRY(take_off_part(m, step, collective, i, begin));
    return ARTEL_OK;
}

static artel_status group_begin(void *comm, const artel__step *step, int32_t collective,
                                const artel__comm_segment *segments, int count)
{
    artel__group_member *m = comm;
    return end_if_failed(m, take_off(m, step, collective, segments, count));
}

/* Many parts may be under way: those that are done are not looked at again. */
static void pass_landed(artel__group_member *m)
{
    while (m->landed < m->flying) {
        artel__coll_task *task = &m->flight[m->landed]->all_reduce.base;
        if (task->ops->progress(task) != ARTEL_OK) return;
        m->landed++;
    }
}

static artel_status group_progress(void *comm)
{
    artel__group_member *m = comm;
    uint32_t fp = artel__fp_enter();
    artel_status status = artel__coll_poll(m->endpoint, m->task, list_tasks(m), 0);
    if (status >= 0) pass_landed(m);
    artel__fp_leave(fp);
    return end_if_failed(m, status);
}

/* -- waited for -- */

/* Waits for what is posted, and moves what flies meanwhile; with nothing posted, waits for all that flies. The only
 * place where a rank waits for others. */
static artel_status await(artel__group_member *m)
{
    int tasks = list_tasks(m);
    int phase = m->activity ? atomic_load_explicit(&m->activity->phase, memory_order_relaxed) : 0;
    if (m->activity) artel__mesh_enter(m->activity, ARTEL__MEMBER_EXCHANGE, artel__now_ns());
    uint32_t fp = artel__fp_enter();
    artel_status status = artel__coll_wait(m->endpoint, m->task, tasks, m->owns ? m->owns : tasks);
    artel__fp_leave(fp);
    if (m->activity) artel__mesh_enter(m->activity, (artel__member_phase)phase, artel__now_ns());
    return status;
}

static artel_status group_finish(void *comm)
{
    artel__group_member *m = comm;
    artel_status status = end_if_failed(m, await(m));
    if (status >= 0) land(m);
    return status;
}

static void group_abandon(void *comm)
{
    end_if_failed(comm, ARTEL_ERROR_CANCELLED);
}

/* Posts m->own. */
static artel_status post_own(artel__group_member *m)
{
    for (int i = 0; i < m->owns; i++) m->own[i]->overtakes = m->flying > 0;
    return artel__coll_post(m->own, m->owns);
}

static artel_status group_await(void *comm)
{
    artel__group_member *m = comm;
    artel_status status = end_if_failed(m, await(m));
    finalize_own(m);
    return status;
}

/* Adds the tasks of a sum to m->own. */
static artel_status list_parts(artel__group_member *m, const artel__step *step, int32_t collective, int32_t segments)
{
    const artel__coll_segment *whole = m->segments.data;
    int parts = artel__group_parts(m, artel__coll_bytes(whole, segments), ARTEL__GROUP_PARTS);
    int32_t begin[ARTEL__GROUP_PARTS + 1];
    if (parts == 1) {
        prepare(m, &m->all_reduce, step, (uint32_t)collective, whole, segments);
        if (segments) m->own[m->owns++] = &m->all_reduce.base;
        return ARTEL_OK;
    }
    ARTEL_TRY(cut_parts(m, whole, segments, parts, begin));
    for (int i = 0; i < parts; i++) {
        if (begin[i] == begin[i + 1]) continue;
        if (!m->part[i]) ARTEL_TRY(make_flight(m, &m->part[i]));
        ARTEL_TRY(prepare_part(m, whole, m->part[i], step, collective, i, begin));
        m->own[m->owns++] = &m->part[i]->all_reduce.base;
    }
    return ARTEL_OK;
}

/* Lists the tasks of an exchange; nothing is posted yet. */
static artel_status list_own(artel__group_member *m, const artel__step *step, int32_t collective,
                             const artel__comm_segment *segments, int count)
{
    int gathers = 0;
    ARTEL_TRY(check_fold(m, step->fold));
    ARTEL_TRY(translate(m->group->ctx, &m->segments, segments, count, &gathers));
    ARTEL_TRY(list_parts(m, step, collective, count - gathers));
    m->all_gather.segment = (const artel__coll_segment *)m->segments.data + (count - gathers);
    m->all_gather.segments = gathers;
    m->all_gather.base.frame = frame_of(m, step, (uint32_t)collective);
    m->all_gather.batch = step->fold->batch;
    if (gathers) m->own[m->owns++] = &m->all_gather.base;
    return ARTEL_OK;
}

static artel_status group_post(void *comm, const artel__step *step, int32_t collective,
                               const artel__comm_segment *segments, int count)
{
    artel__group_member *m = comm;
    artel_status status = list_own(m, step, collective, segments, count);
    if (status < 0) {
        m->owns = 0;
        artel__group_cancel(m->group);
    } else {
        status = post_own(m);
    }
    return end_if_failed(m, status);
}

static artel_status group_all_reduce(void *comm, const artel__step *step, int32_t collective,
                                     const artel__comm_segment *segments, int count)
{
    ARTEL_TRY(group_post(comm, step, collective, segments, count));
    return group_await(comm);
}

static artel_status list_parcels(artel__group_member *m, const artel__step *step, int32_t collective,
                                 const artel__comm_parcel *parcel, int count)
{
    ARTEL_TRY(artel__coll_reserve(m->group->ctx, &m->parcel, (size_t)count, sizeof(artel__coll_parcel)));
    artel__coll_parcel *to = m->parcel.data;
    for (int i = 0; i < count; i++)
        to[i] = (artel__coll_parcel){parcel[i].peer, parcel[i].sends, parcel[i].data, parcel[i].bytes};
    m->parcels.parcel = to;
    m->parcels.count = count;
    m->parcels.base.frame = frame_of(m, step, (uint32_t)collective);
    m->own[m->owns++] = &m->parcels.base;
    return post_own(m);
}

static artel_status group_exchange(void *comm, const artel__step *step, int32_t collective,
                                   const artel__comm_parcel *parcel, int count)
{
    ARTEL_TRY(end_if_failed(comm, list_parcels(comm, step, collective, parcel, count)));
    return group_await(comm);
}

/* Who is not well has recorded why, or will; nothing is recorded here. */
static artel_status group_barrier(void *comm, bool ok)
{
    artel__group_member *m = comm;
    m->own[m->owns++] = &m->barrier.base;
    m->barrier.base.frame =
        (artel__frame){.job = m->group->job, .generation = m->group->generation, .step = m->barriers++};
    m->barrier.ok = ok;
    ARTEL_TRY(end_if_failed(m, post_own(m)));
    ARTEL_TRY(group_await(m));
    return m->barrier.ok ? ARTEL_OK : ARTEL_ERROR_RUN;
}

static void group_sum(void *comm, const artel__comm_sum *sum)
{
    const artel__group_member *m = comm;
    artel__coll_local_sum local = {
        .in = sum->in, .stride = sum->stride, .first = sum->first, .count = sum->count, .out = sum->out};
    artel__coll_sum_local(&m->group->layout, &local);
}

const artel__comm_ops artel__group_ops = {.all_reduce = group_all_reduce,
                                          .post = group_post,
                                          .await = group_await,
                                          .begin = group_begin,
                                          .progress = group_progress,
                                          .finish = group_finish,
                                          .abandon = group_abandon,
                                          .exchange = group_exchange,
                                          .barrier = group_barrier,
                                          .sum = group_sum};
