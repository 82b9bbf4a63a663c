/* SPDX-License-Identifier: Apache-2.0 */
/* The group as a run sees it: sums, moments, maxima and gathers in one call, equal to the naive tree on every rank;
 * barriers; cancellation at random points by ranks and by strangers, after which reset leaves nothing behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "comm/group.h"
#include "kernel/moments.h"
#include "net/tcp.h"
#include "support/net_mesh.h"

enum {
    MOST_RANKS = 16,
    SHARDS = 16,
    BATCH = 37,
    COLUMNS = 5,
    GATHERED = 3
};
#define MOST_GRADIENT 70001  /* float32: above the latency path */
#define LONG_GRADIENT 500001 /* in several parts where messages are copied, at up to three ranks */

typedef struct scene scene;

typedef struct rank {
    scene *scene;
    int number;
    pthread_t thread;
    artel__fold_plan fold;
    int64_t start[SHARDS + 1];
    float *in, *out, *before;
    double moments_in[ARTEL__MAX_NODES * 3 * COLUMNS], moments_out[3 * COLUMNS];
    int64_t most_in[ARTEL__MAX_NODES], most_out;
    float rows_in[BATCH * GATHERED], rows_out[BATCH * GATHERED];
    artel_status status;
    int wrong;
} rank;

struct scene {
    artel_context *ctx;
    artel__group *group;
    support_mesh mesh; /* of a group whose messages are copied */
    int ranks;
    const int32_t *runs; /* of shards, by rank and behind the last; NULL: even ones */
    int64_t gradient;
    int steps;
    int failing_rank, failing_step, failing_place; /* -1: nobody */
    atomic_int progressed;
    float *truth;
    double moments_truth[3 * COLUMNS];
    int64_t most_truth;
    float rows_truth[BATCH * GATHERED];
    artel__mesh_activity activity[MOST_RANKS];
    rank rank[MOST_RANKS];
};

static float leaf(int32_t v, int64_t i)
{
    uint32_t x = (uint32_t)v * 2654435761u + (uint32_t)i * 40503u;
    x ^= x >> 13;
    return (float)(int32_t)(x * 2246822519u) * 1e-6f * (float)(1 << (x & 15));
}

/* The value of a node, element by element, by the definition. */
static float tree(int32_t first, int32_t count, int64_t i)
{
    return count == 1 ? leaf(first, i) : tree(first, count / 2, i) + tree(first + count / 2, count / 2, i);
}

static void moments_tree(int32_t first, int32_t count, double *out)
{
    double right[3 * COLUMNS];
    if (count > 1) {
        moments_tree(first, count / 2, out);
        moments_tree(first + count / 2, count / 2, right);
        artel__moments_merge(out, right, COLUMNS);
        return;
    }
    for (int c = 0; c < COLUMNS; c++) {
        out[c] = (first + c) % 3;
        out[COLUMNS + c] = first % 3 || c ? first * 0.37 - c : 0;
        out[2 * COLUMNS + c] = first * 0.11;
    }
}

static int64_t most_tree(int32_t first, int32_t count)
{
    int64_t most = INT64_MIN;
    for (int32_t v = first; v < first + count; v++) {
        int64_t value = (v * 7919) % 101 - 50;
        most = value > most ? value : most;
    }
    return most;
}

static void make_rank(scene *s, int r)
{
    rank *k = &s->rank[r];
    int32_t first = s->runs ? s->runs[r] : artel__replica_first_shard(SHARDS, s->ranks, r),
            end = s->runs ? s->runs[r + 1] : artel__replica_first_shard(SHARDS, s->ranks, r + 1);
    k->scene = s;
    k->number = r;
    artel__fold_plan_make(&k->fold, SHARDS, first, end - first, BATCH, k->start);
    size_t floats = (size_t)(s->gradient * k->fold.nodes) + 1;
    k->in = malloc(floats * sizeof *k->in);
    k->before = malloc(floats * sizeof *k->in);
    k->out = malloc((size_t)(s->gradient + 1) * sizeof *k->out);
    for (int n = 0; n < k->fold.nodes; n++) {
        artel__fold_node node = k->fold.node[n];
        for (int64_t i = 0; i < s->gradient; i++) k->in[n * s->gradient + i] = tree(node.first, node.count, i);
        moments_tree(node.first, node.count, k->moments_in + n * 3 * COLUMNS);
        k->most_in[n] = most_tree(node.first, node.count);
    }
    memcpy(k->before, k->in, (size_t)(s->gradient * k->fold.nodes) * sizeof *k->in);
    memcpy(k->rows_in, s->rows_truth + k->fold.row * GATHERED, (size_t)k->fold.rows * GATHERED * sizeof(float));
}

typedef enum carrier {
    LENDING,
    SOCKETS,
    SHARED_MEMORY
} carrier;

/* A generation on the connections there are. */
static void seat_group(scene *s, uint32_t generation)
{
    artel__mesh_seat seat = {
        .generation = generation, .job = 7, .ranks = s->ranks, .endpoint = s->mesh.endpoint, .activity = s->activity};
    for (int r = 0; r < s->ranks; r++) artel__tcp_set_generation(s->mesh.endpoint[r], generation);
    assert_int_equal(artel__group_create_seated(s->ctx, s->ranks, SHARDS, &seat, &s->group), ARTEL_OK);
}

static void open_group(scene *s, carrier over)
{
    if (over == LENDING) {
        assert_int_equal(artel__group_create_runs(s->ctx, s->ranks, SHARDS, s->runs, &s->group), ARTEL_OK);
        return;
    }
    s->mesh = (support_mesh){.ctx = s->ctx, .ranks = s->ranks, .shares = over == SHARED_MEMORY};
    assert_int_equal(support_mesh_open(&s->mesh), ARTEL_OK);
    seat_group(s, 1);
}

static scene *make_scene_of(carrier over, int ranks, int64_t gradient, const int32_t *runs)
{
    scene *s = calloc(1, sizeof *s);
    s->ranks = ranks;
    s->runs = runs;
    s->gradient = gradient;
    s->failing_rank = -1;
    s->steps = 3;
    assert_int_equal(artel_context_create(NULL, &s->ctx), ARTEL_OK);
    open_group(s, over);
    uint32_t fp = artel__fp_enter();
    s->truth = malloc((size_t)(gradient + 1) * sizeof *s->truth);
    for (int64_t i = 0; i < gradient; i++) s->truth[i] = tree(0, SHARDS, i);
    moments_tree(0, SHARDS, s->moments_truth);
    s->most_truth = most_tree(0, SHARDS);
    for (int i = 0; i < BATCH * GATHERED; i++) s->rows_truth[i] = (float)i * 0.5f;
    for (int r = 0; r < ranks; r++) make_rank(s, r);
    artel__fp_leave(fp);
    return s;
}

static scene *make_scene_over(carrier over, int ranks, int64_t gradient)
{
    return make_scene_of(over, ranks, gradient, NULL);
}

static scene *make_scene(int ranks, int64_t gradient)
{
    return make_scene_over(LENDING, ranks, gradient);
}

static void free_scene(scene *s)
{
    for (int r = 0; r < s->ranks; r++) {
        free(s->rank[r].in);
        free(s->rank[r].before);
        free(s->rank[r].out);
    }
    free(s->truth);
    artel__group_destroy(s->group);
    support_mesh_close(&s->mesh);
    artel_context_destroy(s->ctx);
    free(s);
}

static bool right(const rank *k)
{
    const scene *s = k->scene;
    return memcmp(k->out, s->truth, (size_t)s->gradient * sizeof *k->out) == 0 &&
           memcmp(k->moments_out, s->moments_truth, sizeof k->moments_out) == 0 && k->most_out == s->most_truth &&
           memcmp(k->rows_out, s->rows_truth, sizeof k->rows_out) == 0 &&
           memcmp(k->in, k->before, (size_t)(s->gradient * k->fold.nodes) * sizeof *k->in) == 0;
}

static void forget_results(rank *k)
{
    memset(k->out, 0x77, (size_t)k->scene->gradient * sizeof *k->out);
    memset(k->moments_out, 0x77, sizeof k->moments_out);
    memset(k->rows_out, 0x77, sizeof k->rows_out);
    k->most_out = 77;
}

static bool fails(const rank *k, int step, int place)
{
    const scene *s = k->scene;
    return k->number == s->failing_rank && step == s->failing_step && place == s->failing_place;
}

/* How every step of a rank begins. */
static artel_status begin_step(rank *k, int number, const artel__comm **out_comm, artel__step *out_step)
{
    *out_comm = artel__group_comm(k->scene->group, k->number);
    *out_step = (artel__step){.fold = &k->fold, .batch = (uint64_t)number};
    atomic_fetch_add(&k->scene->progressed, 1);
    return fails(k, number, 0) ? ARTEL_ERROR_IO : ARTEL_OK;
}

/* What a step exchanges: in the background, and waited for. */
typedef struct segments {
    artel__comm_segment gradient, most, soon[2];
} segments;

static segments list_segments(rank *k)
{
    return (segments){
        .gradient = {ARTEL__COLLECTIVE_SUM, ARTEL_DTYPE_FLOAT32, k->scene->gradient, k->in, k->out},
        .most = {ARTEL__COLLECTIVE_MAX, ARTEL_DTYPE_INT64, 1, k->most_in, &k->most_out},
        .soon = {{ARTEL__COLLECTIVE_MOMENTS, ARTEL_DTYPE_FLOAT64, 3 * COLUMNS, k->moments_in, k->moments_out},
                 {ARTEL__COLLECTIVE_GATHER, ARTEL_DTYPE_FLOAT32, GATHERED, k->rows_in, k->rows_out}}};
}

/* The same with sums under way while others are waited for; the rank is somewhere else for a moment now and then. */
static artel_status background_step(rank *k, int number)
{
    const artel__comm *comm;
    artel__step step;
    segments of = list_segments(k);
    ARTEL_TRY(begin_step(k, number, &comm, &step));
    ARTEL_TRY(comm->ops->begin(comm->self, &step, 0, &of.gradient, 1));
    if (fails(k, number, 1)) return ARTEL_ERROR_IO;
    ARTEL_TRY(comm->ops->all_reduce(comm->self, &step, 1, of.soon, 2));
    if (k->number % 2) sched_yield();
    ARTEL_TRY(comm->ops->begin(comm->self, &step, 2, &of.most, 1));
    ARTEL_TRY(comm->ops->progress(comm->self));
    if (fails(k, number, 3)) return ARTEL_ERROR_IO;
    ARTEL_TRY(comm->ops->finish(comm->self));
    return comm->ops->barrier(comm->self, !fails(k, number, 2));
}

/* The same with what is waited for posted first: sums in the background begin, and end partly, before it is waited for.
 */
static artel_status posted_step(rank *k, int number)
{
    const artel__comm *comm;
    artel__step step;
    segments of = list_segments(k);
    ARTEL_TRY(begin_step(k, number, &comm, &step));
    ARTEL_TRY(comm->ops->begin(comm->self, &step, 0, &of.most, 1));
    ARTEL_TRY(comm->ops->post(comm->self, &step, 1, of.soon, 2));
    if (fails(k, number, 1)) return ARTEL_ERROR_IO;
    if (k->number % 2) sched_yield();
    ARTEL_TRY(comm->ops->progress(comm->self));
    ARTEL_TRY(comm->ops->begin(comm->self, &step, 2, &of.gradient, 1));
    ARTEL_TRY(comm->ops->progress(comm->self));
    ARTEL_TRY(comm->ops->await(comm->self));
    if (fails(k, number, 3)) return ARTEL_ERROR_IO;
    ARTEL_TRY(comm->ops->finish(comm->self));
    return comm->ops->barrier(comm->self, !fails(k, number, 2));
}

/* A step as train does it: collectives, then the barrier. */
static artel_status one_step(rank *k, int number)
{
    if (number % 3 == 1) return background_step(k, number);
    if (number % 3 == 2) return posted_step(k, number);
    const artel__comm *comm;
    artel__step step;
    artel__comm_segment first[] = {
        {ARTEL__COLLECTIVE_MOMENTS, ARTEL_DTYPE_FLOAT64, 3 * COLUMNS, k->moments_in, k->moments_out}};
    artel__comm_segment second[] = {{ARTEL__COLLECTIVE_SUM, ARTEL_DTYPE_FLOAT32, k->scene->gradient, k->in, k->out},
                                    {ARTEL__COLLECTIVE_GATHER, ARTEL_DTYPE_FLOAT32, GATHERED, k->rows_in, k->rows_out},
                                    {ARTEL__COLLECTIVE_MAX, ARTEL_DTYPE_INT64, 1, k->most_in, &k->most_out}};
    ARTEL_TRY(begin_step(k, number, &comm, &step));
    ARTEL_TRY(comm->ops->all_reduce(comm->self, &step, 0, first, 1));
    if (fails(k, number, 1)) return ARTEL_ERROR_IO;
    ARTEL_TRY(comm->ops->all_reduce(comm->self, &step, 1, second, 3));
    if (fails(k, number, 3)) return ARTEL_ERROR_IO;
    return comm->ops->barrier(comm->self, !fails(k, number, 2));
}

static void *steps(void *user)
{
    rank *k = user;
    scene *s = k->scene;
    k->status = ARTEL_OK;
    for (int i = 0; i < s->steps && k->status == ARTEL_OK; i++) {
        forget_results(k);
        k->status = one_step(k, i);
        if (k->status == ARTEL_OK && !right(k)) k->wrong++;
        if (k->status < 0) artel__group_cancel(s->group);
        if (k->status < 0)
            artel__group_comm(s->group, k->number)->ops->abandon(artel__group_comm(s->group, k->number)->self);
    }
    return NULL;
}

static void start(scene *s)
{
    for (int r = 0; r < s->ranks; r++)
        assert_int_equal(pthread_create(&s->rank[r].thread, NULL, steps, &s->rank[r]), 0);
}

static void join(scene *s)
{
    for (int r = 0; r < s->ranks; r++) {
        pthread_join(s->rank[r].thread, NULL);
        assert_int_equal(s->rank[r].wrong, 0);
    }
}

static void check_all(scene *s, artel_status status)
{
    start(s);
    join(s);
    for (int r = 0; r < s->ranks; r++) assert_int_equal(s->rank[r].status, status);
}

static const int rank_counts[] = {2, 3, 5, 8, 16};

static void equal_to_the_tree(void **state)
{
    (void)state;
    static const int64_t gradients[] = {0, 1, 333, 4096, MOST_GRADIENT};
    for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++) {
        for (size_t g = 0; g < sizeof gradients / sizeof *gradients; g++) {
            scene *s = make_scene(rank_counts[i], gradients[g]);
            check_all(s, ARTEL_OK);
            uint64_t before = artel__heap_calls(s->ctx);
            s->steps = 5;
            check_all(s, ARTEL_OK);
            assert_int_equal(artel__heap_calls(s->ctx), before);
            free_scene(s);
        }
    }
}

/* The same bits of shards that are shared out unevenly. */
static void equal_in_runs(void **state)
{
    (void)state;
    static const int32_t two[] = {0, 1, SHARDS}, three[] = {0, 11, 12, SHARDS}, four[] = {0, 3, 5, 14, SHARDS};
    static const int32_t *const runs[] = {two, three, four};
    for (int i = 0; i < 3; i++) {
        scene *s = make_scene_of(LENDING, 2 + i, 4096, runs[i]);
        check_all(s, ARTEL_OK);
        free_scene(s);
    }
}

/* Where messages are copied a long sum goes in parts: several at two and three ranks, one at five; nodes lie apart at
 * three. */
static void equal_in_parts(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 5; ranks += ranks == 3 ? 2 : 1) {
        for (int over = SOCKETS; over <= SHARED_MEMORY; over++) {
            scene *s = make_scene_over((carrier)over, ranks, LONG_GRADIENT);
            check_all(s, ARTEL_OK);
            check_all(s, ARTEL_OK);
            free_scene(s);
        }
    }
}

/* A rank fails while the others are in the middle of the parts; they end, and the next generation is right. */
static void failing_in_parts(void **state)
{
    (void)state;
    for (int over = SOCKETS; over <= SHARED_MEMORY; over++) {
        scene *s = make_scene_over((carrier)over, 3, LONG_GRADIENT);
        s->failing_rank = 1;
        s->failing_place = 1;
        for (s->failing_step = 0; s->failing_step < 3; s->failing_step++) {
            start(s);
            join(s);
            for (int r = 0; r < s->ranks; r++)
                assert_int_equal(s->rank[r].status, r == 1 ? ARTEL_ERROR_IO : ARTEL_ERROR_CANCELLED);
            artel__group_destroy(s->group);
            seat_group(s, (uint32_t)s->failing_step + 2);
        }
        s->failing_rank = -1;
        check_all(s, ARTEL_OK);
        free_scene(s);
    }
}

/* A rank fails before, between or behind collectives, or in the barrier: everybody ends, and the next run is right. */
static void failing_ranks(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++) {
        scene *s = make_scene(rank_counts[i], 5000);
        s->steps = 4;
        for (int round = 0; round < 12; round++) {
            int place = round % 4;
            s->failing_rank = place % s->ranks;
            s->failing_step = (round + round / 4) % 3;
            s->failing_place = place;
            start(s);
            join(s);
            for (int r = 0; r < s->ranks; r++) {
                artel_status status = s->rank[r].status;
                if (place != 2 && r == s->failing_rank)
                    assert_int_equal(status, ARTEL_ERROR_IO);
                else
                    assert_true(status == ARTEL_ERROR_CANCELLED || (place == 2 && status == ARTEL_ERROR_RUN));
            }
            if (place == 2) assert_int_equal(s->rank[s->failing_rank].status < 0, 1);
            artel__group_reset(s->group);
            s->failing_rank = -1;
            check_all(s, ARTEL_OK);
        }
        free_scene(s);
    }
}

/* A stranger cancels at a moment that differs from round to round. */
static void cancelled_at_random(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++) {
        scene *s = make_scene(rank_counts[i], i % 2 ? 300 : 20000);
        for (int round = 0; round < 25; round++) {
            s->steps = 1000000;
            atomic_store(&s->progressed, 0);
            start(s);
            while (atomic_load(&s->progressed) < round * s->ranks / 2) sched_yield();
            for (volatile int spin = 0; spin < round * 500; spin++) {
            }
            artel__group_cancel(s->group);
            join(s);
            for (int r = 0; r < s->ranks; r++) assert_int_equal(s->rank[r].status, ARTEL_ERROR_CANCELLED);
            s->steps = 1;
            check_all(s, ARTEL_ERROR_CANCELLED);
            artel__group_reset(s->group);
            s->steps = 2;
            check_all(s, ARTEL_OK);
        }
        free_scene(s);
    }
}

static void failing_allocations(void **state)
{
    (void)state;
    bool failed = true;
    for (uint64_t n = 1; failed; n++) {
        scene *s = make_scene(3, 9000);
        artel__fail_allocation_after(s->ctx, n);
        start(s);
        join(s);
        artel__fail_allocation_after(s->ctx, 0);
        failed = false;
        for (int r = 0; r < s->ranks; r++) failed = failed || s->rank[r].status == ARTEL_ERROR_NO_MEMORY;
        if (failed) artel__group_reset(s->group);
        check_all(s, ARTEL_OK);
        free_scene(s);
    }
    artel_context *ctx;
    artel__group *group;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    for (uint64_t n = 1; status < 0; n++) {
        artel__fail_allocation_after(ctx, n);
        status = artel__group_create(ctx, 3, SHARDS, &group);
        assert_true(status == ARTEL_OK || status == ARTEL_ERROR_NO_MEMORY);
    }
    artel__fail_allocation_after(ctx, 0);
    artel__group_destroy(group);
    artel_context_destroy(ctx);
}

static void wrong_calls(void **state)
{
    (void)state;
    scene *s = make_scene(2, 10);
    rank *k = &s->rank[0];
    const artel__comm *comm = artel__group_comm(s->group, 0);
    assert_int_equal(comm->rank, 0);
    assert_int_equal(comm->size, 2);
    artel__step step = {.fold = &s->rank[1].fold};
    artel__comm_segment segment = {ARTEL__COLLECTIVE_SUM, ARTEL_DTYPE_FLOAT32, 10, k->in, k->out};
    assert_int_equal(comm->ops->all_reduce(comm->self, &step, 0, &segment, 1), ARTEL_ERROR_INTERNAL);
    step.fold = &k->fold;
    segment.dtype = ARTEL_DTYPE_UINT8;
    assert_int_equal(comm->ops->all_reduce(comm->self, &step, 0, &segment, 1), ARTEL_ERROR_INTERNAL);
    segment = (artel__comm_segment){ARTEL__COLLECTIVE_MOMENTS, ARTEL_DTYPE_FLOAT64, 10, k->in, k->out};
    assert_int_equal(comm->ops->all_reduce(comm->self, &step, 0, &segment, 1), ARTEL_ERROR_INTERNAL);
    assert_int_equal(comm->ops->barrier(comm->self, true), ARTEL_ERROR_CANCELLED);
    free_scene(s);
    artel_context *ctx;
    artel__group *group = NULL;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_int_equal(artel__group_create(ctx, 9, 8, &group), ARTEL_ERROR_INVALID);
    assert_null(group);
    assert_int_equal(artel__group_create(ctx, 1, 8, &group), ARTEL_OK);
    assert_null(artel__group_comm(group, 0));
    artel__group_destroy(group);
    artel__group_destroy(NULL);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_to_the_tree),   cmocka_unit_test(equal_in_runs), cmocka_unit_test(equal_in_parts),
        cmocka_unit_test(failing_in_parts),    cmocka_unit_test(failing_ranks), cmocka_unit_test(cancelled_at_random),
        cmocka_unit_test(failing_allocations), cmocka_unit_test(wrong_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
