/* SPDX-License-Identifier: Apache-2.0 */
/* Times the collectives of a group in one process.
 *
 * coll_bench [REPLICAS [WORK_US]]: for each size of gradients (float32, one segment of 7/8 and seven small ones, as a model has
 * them) the median time of an all-reduce over calls in which every replica first computes for WORK_US microseconds (0 by
 * default), then of a barrier; beside it the time of one replica's own share of memory traffic, measured with memcpy. Numbers on a
 * machine with fewer free cores than replicas measure the scheduler.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/threads.h"
#include "strategy/strategy.h"

enum {
    SHARDS = 8,
    SEGMENTS = 8,
    CALLS = 400,
    MOST_REPLICAS = 16
};

typedef struct bench bench;

typedef struct replica {
    bench *bench;
    int rank;
    pthread_t thread;
    artel__fold_plan fold;
    int64_t start[SHARDS + 1];
    artel__comm_segment segment[SEGMENTS];
    double reduce_us[CALLS], barrier_us[CALLS];
    artel_status status;
} replica;

struct bench {
    artel_context *ctx;
    artel__group *group;
    int replicas;
    int64_t work_ns, bytes;
    replica replica[MOST_REPLICAS];
};

static void work(int64_t ns)
{
    int64_t until = artel__now_ns() + ns;
    while (artel__now_ns() < until) {
    }
}

static void *run(void *user)
{
    replica *r = user;
    const artel__comm *comm = artel__group_comm(r->bench->group, r->rank);
    for (int i = 0; i < CALLS && r->status == ARTEL_OK; i++) {
        artel__step step = {.fold = &r->fold, .batch = (uint64_t)i};
        work(r->bench->work_ns);
        int64_t before = artel__now_ns();
        r->status = comm->ops->all_reduce(comm->self, &step, 0, r->segment, SEGMENTS);
        int64_t between = artel__now_ns();
        if (r->status == ARTEL_OK) r->status = comm->ops->barrier(comm->self, true);
        r->reduce_us[i] = (double)(between - before) * 1e-3;
        r->barrier_us[i] = (double)(artel__now_ns() - between) * 1e-3;
    }
    return NULL;
}

static void make_replica(bench *b, int rank)
{
    replica *r = &b->replica[rank];
    int32_t first = artel__replica_first_shard(SHARDS, b->replicas, rank), end = artel__replica_first_shard(SHARDS, b->replicas, rank + 1);
    *r = (replica){.bench = b, .rank = rank};
    artel__fold_plan_make(&r->fold, SHARDS, first, end - first, 64, r->start);
    for (int i = 0; i < SEGMENTS; i++) {
        int64_t count = b->bytes / 4 * (i == 0 ? 49 : 1) / 56;
        void *in = calloc((size_t)(count * r->fold.nodes) + 16, 4), *out = calloc((size_t)count + 16, 4);
        r->segment[i] = (artel__comm_segment){ARTEL__COLLECTIVE_SUM, ARTEL_DTYPE_FLOAT32, count, in, out};
    }
}

static void free_replica(replica *r)
{
    for (int i = 0; i < SEGMENTS; i++) {
        free((void *)(uintptr_t)r->segment[i].in);
        free(r->segment[i].out);
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, CALLS, sizeof *values, compare);
    return values[CALLS / 2];
}

static double copy_us(int64_t bytes)
{
    char *from = malloc((size_t)bytes + 1), *to = malloc((size_t)bytes + 1);
    double us[CALLS];
    memset(from, 1, (size_t)bytes);
    for (int i = 0; i < CALLS; i++) {
        int64_t before = artel__now_ns();
        memcpy(to, from, (size_t)bytes);
        us[i] = (double)(artel__now_ns() - before) * 1e-3 + (to[bytes / 2] ? 0 : 1);
    }
    free(from);
    free(to);
    return median(us);
}

static int measure(bench *b, int64_t bytes)
{
    b->bytes = bytes;
    for (int r = 0; r < b->replicas; r++) make_replica(b, r);
    for (int r = 1; r < b->replicas; r++) {
        if (pthread_create(&b->replica[r].thread, NULL, run, &b->replica[r]) != 0) return 1;
    }
    run(&b->replica[0]);
    for (int r = 1; r < b->replicas; r++) pthread_join(b->replica[r].thread, NULL);
    printf("%10lld bytes: all-reduce %8.1f us, barrier %6.1f us, memcpy of the same bytes %8.1f us\n", (long long)bytes,
           median(b->replica[0].reduce_us), median(b->replica[0].barrier_us), copy_us(bytes));
    for (int r = 0; r < b->replicas; r++) free_replica(&b->replica[r]);
    return b->replica[0].status < 0;
}

int main(int argc, char **argv)
{
    static const int64_t sizes[] = {448, 4480, 14336, 17920, 44800, 163520, 1626240, 16262400};
    bench b = {.replicas = argc > 1 ? atoi(argv[1]) : 2, .work_ns = argc > 2 ? atoll(argv[2]) * 1000 : 0};
    if (b.replicas < 2 || b.replicas > SHARDS) return fprintf(stderr, "coll_bench: 2 to %d replicas\n", SHARDS), 1;
    if (artel_context_create(NULL, &b.ctx) < 0 || artel__group_create(b.ctx, b.replicas, SHARDS, &b.group) < 0) return 1;
    printf("%d replicas, %d usable cores\n", b.replicas, artel__usable_cores());
    int failed = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !failed; i++) failed = measure(&b, sizes[i]);
    artel__group_destroy(b.group);
    artel_context_destroy(b.ctx);
    return failed;
}
