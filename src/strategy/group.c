/* SPDX-License-Identifier: Apache-2.0 */
/* The replicas of one process as ranks of a group: exec's collectives carried out by coll, over the inproc transport when
 * all ranks are here, else over the endpoints of a mesh.
 *
 * What coll cannot know is filled in here: which merge a collective means (sums, maxima, moments), and that the ranks
 * of one step agree on shards and rows. A long sum that is waited for goes in parts, each a task of its own: what has
 * arrived of one is merged while the cache has it, and its result leaves while the next part arrives. So do sums in the
 * background, and what is waited for meanwhile overtakes them between two parts. A call that fails
 * cancels the group, and before it returns it has taken back everything it lent or borrowed; so once all ranks have
 * returned, the fabric is empty and reset has only to end the cancellation. Messages carry the generation, which reset
 * advances.
 */
#include <string.h>

#include "coll/algo/all_gather.h"
#include "coll/algo/all_reduce.h"
#include "coll/algo/barrier.h"
#include "coll/local.h"
#include "coll/select.h"
#include "kernel/moments.h"
#include "base/clock.h"
#include "base/threads.h"
#include "net/inproc.h"
#include "strategy/strategy.h"

enum {
    PART_BYTES = 256 << 10, /* of a part, for each rank */
    MOST_PARTS = 16,
    MOST_BEGUN = 128, /* parts of a sum in the background */
    PART_SHIFT = 24,  /* of a part's number in a frame's collective */
    OWN_TASKS = MOST_PARTS + 1
};

/* A sum in the background, or a part of one that is waited for. */
typedef struct flight {
    artel__all_reduce all_reduce;
    artel__coll_buffer segments;
} flight;

typedef struct member {
    artel__group *group;
    artel__comm comm;
    artel__endpoint *endpoint;
    artel__all_reduce all_reduce;
    artel__all_gather all_gather;
    artel__barrier barrier;
    artel__coll_buffer segments, begun, spans; /* of what is waited for; of what begins; scratch of either */
    artel__coll_task *own[OWN_TASKS];          /* the first `owns` are posted, and waited for */
    int owns;
    flight **flight;                /* kept from step to step; the first `flying` are under way */
    int flights, flying, landed;    /* the first `landed` of those under way are done */
    flight *part[MOST_PARTS];       /* kept, too */
    artel__coll_task **task;        /* scratch: room for those that are waited for and all flights */
    uint32_t barriers;              /* passed in this generation */
    artel__mesh_activity *activity; /* what it is doing, for whoever watches; NULL: nobody does */
} member;

struct artel__group {
    artel_context *ctx;
    int replicas; /* of this process */
    int first;    /* rank of its first one */
    int ranks;
    uint32_t generation;
    uint64_t job;
    artel__fabric *fabric; /* NULL: the endpoints are a mesh's */
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

/* Reductions from the front, gathers from the back. */
static artel_status translate(artel_context *ctx, artel__coll_buffer *out, const artel__comm_segment *segments, int count, int *gathered)
{
    ARTEL_TRY(artel__coll_reserve(ctx, out, (size_t)count, sizeof(artel__coll_segment)));
    artel__coll_segment *to = out->data;
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
    *gathered = gathers;
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

static artel__frame frame_of(const member *m, const artel__step *step, uint32_t collective)
{
    return (artel__frame){.job = m->group->job, .generation = m->group->generation, .step = step->batch, .collective = collective};
}

/* -- parts -- */

/* Memory that is lent is neither copied nor waited for. */
static int count_parts(const member *m, int64_t bytes, int most)
{
    int64_t parts = m->endpoint->ops->caps & ARTEL__NET_LENDS ? 1 : bytes / PART_BYTES / m->group->ranks;
    return parts < 1 ? 1 : parts < most ? (int)parts : most;
}

/* Cuts the segments into m->spans: part i has those from begin[i] to begin[i + 1]. */
static artel_status cut_parts(member *m, const artel__coll_segment *whole, int32_t segments, int parts, int32_t *begin)
{
    ARTEL_TRY(artel__coll_reserve(m->group->ctx, &m->spans, (size_t)(segments + parts), sizeof(artel__coll_span)));
    artel__coll_cut(whole, segments, parts, m->spans.data, begin);
    return ARTEL_OK;
}

/* The segments of one part: each lies within one of the whole. */
static artel_status list_part(const member *m, const artel__coll_segment *whole, flight *f, int32_t first, int32_t spans)
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

static void prepare(member *m, artel__all_reduce *task, const artel__step *step, uint32_t collective, const artel__coll_segment *segment,
                    int segments)
{
    task->segment = segment;
    task->segments = segments;
    task->base.frame = frame_of(m, step, collective);
    task->algorithm = artel__coll_select(artel__coll_bytes(segment, segments), m->group->ranks);
}

/* A part of a sum, which has spans. */
static artel_status prepare_part(member *m, const artel__coll_segment *whole, flight *f, const artel__step *step, int32_t collective,
                                 int part, const int32_t *begin)
{
    int32_t spans = begin[part + 1] - begin[part];
    ARTEL_TRY(list_part(m, whole, f, begin[part], spans));
    prepare(m, &f->all_reduce, step, (uint32_t)collective | (uint32_t)part << PART_SHIFT, f->segments.data, spans);
    return ARTEL_OK;
}

/* -- in the background -- */

/* What is under way into m->task: what is waited for, then those in the background that are not done; how many. */
static int list_tasks(member *m)
{
    int count = m->owns;
    memcpy(m->task, m->own, (size_t)m->owns * sizeof *m->own);
    for (int i = m->landed; i < m->flying; i++) m->task[count++] = &m->flight[i]->all_reduce.base;
    return count;
}

/* Ends all in the background, done or not. */
static void land(member *m)
{
    for (int i = 0; i < m->flying; i++) {
        artel__coll_task *task = &m->flight[i]->all_reduce.base;
        artel__coll_finalize(&task, 1);
    }
    m->landed = m->flying = 0;
}

/* Ends what is waited for. */
static void finalize_own(member *m)
{
    artel__coll_finalize(m->own, m->owns);
    m->owns = 0;
}

static artel_status end_if_failed(member *m, artel_status status)
{
    if (status >= 0) return status;
    artel__net_cancel(m->endpoint); /* before withdrawing: peers must stop waiting for the rest */
    finalize_own(m);
    land(m);
    return status;
}

static artel_status make_flight(const member *m, flight **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(m->group->ctx, 1, sizeof(flight), "group", &block));
    *out = block;
    artel__all_reduce_init(&(*out)->all_reduce, m->endpoint, &m->group->layout);
    return ARTEL_OK;
}

static artel_status add_flight(member *m)
{
    artel_context *ctx = m->group->ctx;
    void *list = m->flight, *tasks = m->task;
    ARTEL_TRY(artel__realloc(ctx, (size_t)(m->flights + 1) * sizeof *m->flight, "group", &list));
    m->flight = list;
    ARTEL_TRY(artel__realloc(ctx, (size_t)(m->flights + 1 + OWN_TASKS) * sizeof *m->task, "group", &tasks));
    m->task = tasks;
    ARTEL_TRY(make_flight(m, &m->flight[m->flights]));
    m->flights++;
    return ARTEL_OK;
}

static artel_status take_off_part(member *m, const artel__step *step, int32_t collective, int part, const int32_t *begin)
{
    if (begin[part] == begin[part + 1]) return ARTEL_OK;
    if (m->flying == m->flights) ARTEL_TRY(add_flight(m));
    flight *f = m->flight[m->flying];
    ARTEL_TRY(prepare_part(m, m->begun.data, f, step, collective, part, begin));
    artel__coll_task *task = &f->all_reduce.base;
    m->flying++;
    return artel__coll_post(&task, 1);
}

static artel_status take_off(member *m, const artel__step *step, int32_t collective, const artel__comm_segment *segments, int count)
{
    int gathers;
    int32_t begin[MOST_BEGUN + 1];
    ARTEL_TRY(check_fold(m, step->fold));
    ARTEL_TRY(translate(m->group->ctx, &m->begun, segments, count, &gathers));
    const artel__coll_segment *whole = m->begun.data;
    int parts = count_parts(m, artel__coll_bytes(whole, count - gathers), MOST_BEGUN);
    ARTEL_TRY(cut_parts(m, whole, count - gathers, parts, begin));
    for (int i = 0; i < parts; i++) ARTEL_TRY(take_off_part(m, step, collective, i, begin));
    return ARTEL_OK;
}

static artel_status group_begin(void *comm, const artel__step *step, int32_t collective, const artel__comm_segment *segments, int count)
{
    member *m = comm;
    return end_if_failed(m, take_off(m, step, collective, segments, count));
}

/* Many parts may be under way: those that are done are not looked at again. */
static void pass_landed(member *m)
{
    while (m->landed < m->flying) {
        artel__coll_task *task = &m->flight[m->landed]->all_reduce.base;
        if (task->ops->progress(task) != ARTEL_OK) return;
        m->landed++;
    }
}

static artel_status group_progress(void *comm)
{
    member *m = comm;
    uint32_t fp = artel__fp_enter();
    artel_status status = artel__coll_poll(m->endpoint, m->task, list_tasks(m), 0);
    if (status >= 0) pass_landed(m);
    artel__fp_leave(fp);
    return end_if_failed(m, status);
}

/* -- waited for -- */

/* Waits for what is posted, and moves what flies meanwhile; with nothing posted, waits for all that flies. The only place where a
 * rank waits for others. */
static artel_status await(member *m)
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
    member *m = comm;
    artel_status status = end_if_failed(m, await(m));
    if (status >= 0) land(m);
    return status;
}

static void group_abandon(void *comm)
{
    end_if_failed(comm, ARTEL_ERROR_CANCELLED);
}

/* Posts m->own. */
static artel_status post_own(member *m)
{
    for (int i = 0; i < m->owns; i++) m->own[i]->overtakes = m->flying > 0;
    return artel__coll_post(m->own, m->owns);
}

static artel_status group_await(void *comm)
{
    member *m = comm;
    artel_status status = end_if_failed(m, await(m));
    finalize_own(m);
    return status;
}

/* Adds the tasks of a sum to m->own. */
static artel_status list_parts(member *m, const artel__step *step, int32_t collective, int32_t segments)
{
    const artel__coll_segment *whole = m->segments.data;
    int parts = count_parts(m, artel__coll_bytes(whole, segments), MOST_PARTS);
    int32_t begin[MOST_PARTS + 1];
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
static artel_status list_own(member *m, const artel__step *step, int32_t collective, const artel__comm_segment *segments, int count)
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

static artel_status group_post(void *comm, const artel__step *step, int32_t collective, const artel__comm_segment *segments, int count)
{
    member *m = comm;
    artel_status status = list_own(m, step, collective, segments, count);
    if (status < 0) {
        m->owns = 0;
        artel__group_cancel(m->group);
    } else {
        status = post_own(m);
    }
    return end_if_failed(m, status);
}

static artel_status group_all_reduce(void *comm, const artel__step *step, int32_t collective, const artel__comm_segment *segments,
                                     int count)
{
    ARTEL_TRY(group_post(comm, step, collective, segments, count));
    return group_await(comm);
}

/* Who is not well has recorded why, or will; nothing is recorded here. */
static artel_status group_barrier(void *comm, bool ok)
{
    member *m = comm;
    m->own[m->owns++] = &m->barrier.base;
    m->barrier.base.frame = (artel__frame){.job = m->group->job, .generation = m->group->generation, .step = m->barriers++};
    m->barrier.ok = ok;
    ARTEL_TRY(end_if_failed(m, post_own(m)));
    ARTEL_TRY(group_await(m));
    return m->barrier.ok ? ARTEL_OK : ARTEL_ERROR_RUN;
}

static void group_sum(void *comm, const artel__comm_sum *sum)
{
    const member *m = comm;
    artel__coll_local_sum local = {.in = sum->in, .stride = sum->stride, .first = sum->first, .count = sum->count, .out = sum->out};
    artel__coll_sum_local(&m->group->layout, &local);
}

static const artel__comm_ops group_ops = {.all_reduce = group_all_reduce,
                                          .post = group_post,
                                          .await = group_await,
                                          .begin = group_begin,
                                          .progress = group_progress,
                                          .finish = group_finish,
                                          .abandon = group_abandon,
                                          .barrier = group_barrier,
                                          .sum = group_sum};

/* -- the group -- */

static artel_status connect_members(artel__group *group, int32_t shards, const artel__mesh_seat *seat)
{
    void *block;
    ARTEL_TRY(artel__coll_layout_init(group->ctx, shards, group->ranks, &group->layout));
    bool spin = artel__usable_cores() >= group->replicas;
    if (!seat) ARTEL_TRY(artel__fabric_create(group->ctx, group->replicas, spin, &group->fabric));
    ARTEL_TRY(artel__calloc(group->ctx, (size_t)group->replicas, sizeof(member), "group", &block));
    group->member = block;
    for (int r = 0; r < group->replicas; r++) {
        member *m = &group->member[r];
        m->group = group;
        m->comm = (artel__comm){.ops = &group_ops, .self = m, .rank = group->first + r, .size = group->ranks};
        if (group->ranks == 1) continue;
        m->endpoint = seat ? seat->endpoint[r] : artel__fabric_endpoint(group->fabric, r);
        m->activity = seat ? &seat->activity[r] : NULL;
        artel__all_reduce_init(&m->all_reduce, m->endpoint, &group->layout);
        artel__all_gather_init(&m->all_gather, m->endpoint, &group->layout);
        artel__barrier_init(&m->barrier, m->endpoint);
        ARTEL_TRY(artel__calloc(group->ctx, OWN_TASKS, sizeof *m->task, "group", &block));
        m->task = block;
    }
    return ARTEL_OK;
}

static artel_status create(artel_context *ctx, const artel__group *wanted, int32_t shards, const artel__mesh_seat *seat, artel__group **out)
{
    void *block;
    ARTEL_TRY(artel__calloc(ctx, 1, sizeof(artel__group), "group", &block));
    artel__group *group = block;
    *group = *wanted;
    artel_status status = connect_members(group, shards, seat);
    if (status < 0) {
        artel__group_destroy(group);
        return status;
    }
    *out = group;
    return ARTEL_OK;
}

artel_status artel__group_create(artel_context *ctx, int replicas, int32_t shards, artel__group **out)
{
    return create(ctx, &(artel__group){.ctx = ctx, .replicas = replicas, .ranks = replicas}, shards, NULL, out);
}

artel_status artel__group_create_seated(artel_context *ctx, int replicas, int32_t shards, const artel__mesh_seat *seat, artel__group **out)
{
    artel__group wanted = {
        .ctx = ctx, .replicas = replicas, .first = seat->first, .ranks = seat->ranks, .generation = seat->generation, .job = seat->job};
    return create(ctx, &wanted, shards, seat, out);
}

static void destroy_flight(artel_context *ctx, flight *f)
{
    if (!f) return;
    artel__all_reduce_fini(&f->all_reduce);
    artel__coll_buffer_fini(ctx, &f->segments);
    artel__free(ctx, f);
}

static void close_member(artel_context *ctx, member *m)
{
    for (int i = 0; i < m->flights; i++) destroy_flight(ctx, m->flight[i]);
    for (int i = 0; i < MOST_PARTS; i++) destroy_flight(ctx, m->part[i]);
    artel__free(ctx, m->flight);
    artel__free(ctx, m->task);
    artel__all_reduce_fini(&m->all_reduce);
    artel__all_gather_fini(&m->all_gather);
    artel__coll_buffer_fini(ctx, &m->segments);
    artel__coll_buffer_fini(ctx, &m->begun);
    artel__coll_buffer_fini(ctx, &m->spans);
}

void artel__group_destroy(artel__group *group)
{
    if (!group) return;
    for (int r = 0; group->member && r < group->replicas; r++) close_member(group->ctx, &group->member[r]);
    artel__free(group->ctx, group->member);
    artel__fabric_destroy(group->fabric);
    artel__coll_layout_fini(group->ctx, &group->layout);
    artel__free(group->ctx, group);
}

const artel__comm *artel__group_comm(artel__group *group, int index)
{
    return group->ranks > 1 ? &group->member[index].comm : NULL;
}

bool artel__group_lends(const artel__group *group)
{
    bool some = false;
    for (int r = 0; group->ranks > 1 && r < group->replicas; r++) some = some || artel__net_has_borrower(group->member[r].endpoint);
    return some;
}

void artel__group_dump(const artel__group *group, artel__text *out)
{
    artel__coll_layout_dump(&group->layout, out);
}

void artel__group_cancel(artel__group *group)
{
    int endpoints = group->fabric ? 1 : group->replicas; /* a fabric is cancelled as a whole */
    for (int r = 0; group->ranks > 1 && r < endpoints; r++) artel__net_cancel(group->member[r].endpoint);
}

void artel__group_reset(artel__group *group)
{
    if (!group->fabric) return;
    group->generation++;
    for (int r = 0; r < group->replicas; r++) {
        group->member[r].barriers = 0;
        artel__net_resume(group->member[r].endpoint);
    }
}
