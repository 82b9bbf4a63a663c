/* SPDX-License-Identifier: Apache-2.0 */
/* Times the collectives of a group.
 *
 * coll_bench tcp|tls|shm [REPLICAS [CORE...]]: median times of an all-reduce of 4 B, 64 KiB, 4 MiB and 100 MB (float32)
 * between ranks that are connected over loopback by src/net/tcp.h (shm: through src/net/shared.h), each a thread, bound
 * to the cores named in turn. The sizes and repetitions are those at which gloo was measured. Links tests/support/
 * (which makes the connections and certificates).
 *
 * coll_bench wire SPACE ADDRESS SPACE ADDRESS: the same over TCP, of 256 KiB, 4 MiB and 32 MiB, between two ranks whose
 * sockets are made in the network namespaces of these names; their addresses. bench/wire.py makes them.
 *
 * coll_bench [REPLICAS [WORK_US]]: between replicas of one process: for each size of gradients (float32, one segment of
 * 7/8 and seven small ones, as a model has them) the median time of an all-reduce over calls in which every replica
 * first computes for WORK_US microseconds (0 by default), then of a barrier; beside it the time of one replica's own
 * share of memory traffic, measured with memcpy. Numbers on a machine with fewer free cores than replicas measure the
 * scheduler.
 *
 * Built by hand, after `make test-quick`: cc -O2 -std=c17 -D_GNU_SOURCE -Isrc -Iinclude -Itests bench/coll_bench.c
 * build/tests/libartel_everything.a -ljansson -lz -ljpeg -lpng16 -lssl -lcrypto -lhdf5_serial -lcmocka -lm -ldl
 * -lpthread -o build/coll_bench
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/threads.h"
#include "coll/algo/all_reduce.h"
#include "coll/select.h"
#include "comm/group.h"
#include "support/net_mesh.h"

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
    int32_t first = artel__replica_first_shard(SHARDS, b->replicas, rank),
            end = artel__replica_first_shard(SHARDS, b->replicas, rank + 1);
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

/* -- over the network -- */

enum {
    BUCKET = 512 << 10, /* bytes of a rank's slice that are merged at once */
    MOST_TASKS = 512
};

typedef struct rank {
    artel__endpoint *endpoint;
    const artel__coll_layout *layout;
    int core;
    int64_t bytes;
    int calls;
    double us[CALLS], busy_us; /* of each call; processor time of all */
    artel_status status;
    pthread_t thread;
} rank;

static double busy(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void bind_to(int core)
{
    cpu_set_t set;
    if (core < 0) return;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* Cut into buckets, all under way at once, as gradients are. */
static void *reduce(void *user)
{
    static _Thread_local artel__all_reduce all_reduce[MOST_TASKS];
    static _Thread_local artel__coll_segment segment[MOST_TASKS];
    artel__coll_task *tasks[MOST_TASKS];
    rank *r = user;
    bind_to(r->core);
    int64_t count = r->bytes / 4, most = (int64_t)BUCKET * r->endpoint->ranks / 4;
    int tasks_count = (int)((count + most - 1) / most);
    int32_t nodes = artel__coll_owned(r->layout, r->endpoint->rank);
    size_t in_bytes = (size_t)(r->bytes * nodes) + 64, out_bytes = (size_t)r->bytes + 64;
    void *in_block, *out_block; /* as a run takes them: large pages */
    r->status = artel__alloc_aligned(r->endpoint->ctx, in_bytes, "bench", &in_block);
    if (r->status == ARTEL_OK) r->status = artel__alloc_aligned(r->endpoint->ctx, out_bytes, "bench", &out_block);
    if (r->status < 0) return NULL;
    float *in = in_block, *out = out_block;
    for (int64_t i = 0; i < count * nodes; i++) in[i] = (float)(i % 1000);
    memset(out, 0, (size_t)r->bytes);
    for (int t = 0; t < tasks_count; t++) {
        int64_t first = t * most, n = count - first < most ? count - first : most;
        artel__all_reduce_init(&all_reduce[t], r->endpoint, r->layout);
        /* The blocks of a bucket's nodes lie one behind the other. */
        segment[t] = (artel__coll_segment){.merge = artel__coll_sum(ARTEL_DTYPE_FLOAT32), .count = n, .element = 4};
        segment[t].in = in + first * nodes;
        segment[t].out = out + first;
        all_reduce[t].segment = &segment[t];
        all_reduce[t].segments = 1;
        all_reduce[t].algorithm = artel__coll_select(n * 4, r->endpoint->ranks);
        tasks[t] = &all_reduce[t].base;
    }
    for (int i = -(r->calls / 8 + 2); i < r->calls && r->status == ARTEL_OK; i++) {
        for (int t = 0; t < tasks_count; t++)
            tasks[t]->frame = (artel__frame){.generation = 1, .step = (uint64_t)(i + CALLS), .collective = (uint32_t)t};
        if (i == 0) r->busy_us = busy();
        int64_t before = artel__now_ns();
        r->status = artel__coll_run(r->endpoint, tasks, tasks_count);
        if (i >= 0) r->us[i] = (double)(artel__now_ns() - before) * 1e-3;
    }
    r->busy_us = busy() - r->busy_us;
    for (int t = 0; t < tasks_count; t++) artel__all_reduce_fini(&all_reduce[t]);
    artel__free_aligned(r->endpoint->ctx, in, in_bytes);
    artel__free_aligned(r->endpoint->ctx, out, out_bytes);
    return NULL;
}

typedef struct load {
    int64_t bytes;
    int calls;
} load;

static int time_load(const support_mesh *mesh, const artel__coll_layout *layout, const load *what, const int *core,
                     const char *way)
{
    static rank ranks[SUPPORT_MOST_RANKS];
    for (int r = 0; r < mesh->ranks; r++) {
        ranks[r] = (rank){.endpoint = mesh->endpoint[r],
                          .layout = layout,
                          .core = core[r],
                          .bytes = what->bytes,
                          .calls = what->calls};
        if (pthread_create(&ranks[r].thread, NULL, reduce, &ranks[r]) != 0) return 1;
    }
    for (int r = 0; r < mesh->ranks; r++) pthread_join(ranks[r].thread, NULL);
    if (ranks[0].status < 0) return 1;
    qsort(ranks[0].us, (size_t)what->calls, sizeof(double), compare);
    printf("%s, %d ranks, %10lld bytes: all-reduce %9.1f us (fastest %9.1f), processor time of a rank %9.1f us\n", way,
           mesh->ranks, (long long)what->bytes, ranks[0].us[what->calls / 2], ranks[0].us[0],
           ranks[0].busy_us / what->calls);
    return 0;
}

/* Connects the ranks and times the loads, up to one of no bytes. */
static int time_loads(support_mesh *mesh, const load *loads, const int *core, const char *way)
{
    artel__coll_layout layout = {0};
    if (artel_context_create(NULL, &mesh->ctx) < 0) return 1;
    int failed = artel__coll_layout_init(mesh->ctx, SHARDS, mesh->ranks, &layout) < 0 || support_mesh_open(mesh) < 0;
    for (const load *l = loads; l->bytes && !failed; l++) failed = time_load(mesh, &layout, l, core, way);
    if (failed) fprintf(stderr, "coll_bench: %s %s\n", artel_context_error(mesh->ctx)->what, mesh->reason);
    support_mesh_close(mesh);
    artel__coll_layout_fini(mesh->ctx, &layout);
    artel_context_destroy(mesh->ctx);
    return failed;
}

static int over_network(int argc, char **argv)
{
    static const load loads[] = {{4, 400}, {65536, 400}, {4 << 20, 60}, {100000000, 8}, {0, 0}};
    static support_mesh mesh;
    int core[SUPPORT_MOST_RANKS];
    mesh.ranks = argc > 2 ? atoi(argv[2]) : 2;
    mesh.secure = strcmp(argv[1], "tls") == 0;
    mesh.shares = strcmp(argv[1], "shm") == 0;
    mesh.spin_ns = argc > 2 + mesh.ranks ? 50000 : 0;
    if (mesh.ranks < 2 || mesh.ranks > SHARDS) return fprintf(stderr, "coll_bench: 2 to %d replicas\n", SHARDS), 1;
    for (int r = 0; r < mesh.ranks; r++) core[r] = argc > 3 ? atoi(argv[3 + r % (argc - 3)]) : -1;
    return time_loads(&mesh, loads, core, argv[1]);
}

static int over_wire(int argc, char **argv)
{
    static const load loads[] = {{256 << 10, 200}, {4 << 20, 16}, {32 << 20, 4}, {0, 0}};
    static const int core[] = {-1, -1};
    static support_mesh mesh = {.ranks = 2};
    if (argc != 6) return fprintf(stderr, "usage: coll_bench wire SPACE ADDRESS SPACE ADDRESS\n"), 2;
    for (int r = 0; r < 2; r++) {
        mesh.space[r] = argv[2 + 2 * r];
        mesh.host[r] = argv[3 + 2 * r];
    }
    return time_loads(&mesh, loads, core, argv[1]);
}

int main(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "tcp") == 0 || strcmp(argv[1], "tls") == 0 || strcmp(argv[1], "shm") == 0))
        return over_network(argc, argv);
    if (argc > 1 && strcmp(argv[1], "wire") == 0) return over_wire(argc, argv);
    static const int64_t sizes[] = {448, 4480, 14336, 17920, 44800, 163520, 1626240, 16262400};
    bench b = {.replicas = argc > 1 ? atoi(argv[1]) : 2, .work_ns = argc > 2 ? atoll(argv[2]) * 1000 : 0};
    if (b.replicas < 2 || b.replicas > SHARDS) return fprintf(stderr, "coll_bench: 2 to %d replicas\n", SHARDS), 1;
    if (artel_context_create(NULL, &b.ctx) < 0 || artel__group_create(b.ctx, b.replicas, SHARDS, &b.group) < 0)
        return 1;
    printf("%d replicas, %d usable cores\n", b.replicas, artel__usable_cores());
    int failed = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && !failed; i++) failed = measure(&b, sizes[i]);
    artel__group_destroy(b.group);
    artel_context_destroy(b.ctx);
    return failed;
}
