/* SPDX-License-Identifier: Apache-2.0 */
/* The public collectives among the tasks of a cluster (each a thread with a context of its own, connected over
 * loopback): they find one another, call, end in order; a lost one ends a call on the others, which renew and go on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artel/communicator.h"
#include "help_ranks.h"
#include "support/ports.h"

enum {
    TASKS = 3
};

typedef struct scene {
    char file[64];
    atomic_int wrong;
    int leaver;
    atomic_int timed_out;
    pthread_barrier_t all;
    int held[TASKS]; /* sockets on the tasks' ports */
} scene;

static void make_scene(scene *s)
{
    memset(s, 0, sizeof *s);
    s->leaver = -1;
    snprintf(s->file, sizeof s->file, "/tmp/artel-communicator-XXXXXX");
    int fd = mkstemp(s->file);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    for (int r = 0; r < TASKS; r++) fprintf(file, "127.0.0.1:%d\n", support_port_hold(&s->held[r]));
    fclose(file);
}

static void end_scene(scene *s)
{
    unlink(s->file);
    for (int r = 0; r < TASKS; r++) close(s->held[r]);
}

static void expect(scene *s, bool right, artel_context *ctx, int line)
{
    if (right) return;
    const artel_error *error = artel_context_error(ctx);
    print_message("line %d: %s: %s: %s\n", line, artel_status_name(error->status), error->where, error->what);
    atomic_fetch_add(&s->wrong, 1);
}
#define EXPECT(right) expect(s, right, ctx, __LINE__)

static artel_cluster *join(scene *s, artel_context *ctx, int r)
{
    char name[16];
    artel_cluster *cluster = NULL;
    artel_cluster_options options = ARTEL_CLUSTER_OPTIONS_INIT;
    snprintf(name, sizeof name, "worker:%d", r);
    options.resolver = "file";
    options.file = s->file;
    options.task = name;
    options.wait_for_cluster = 60;
    EXPECT(artel_cluster_open(ctx, &options, &cluster) == ARTEL_OK);
    return cluster;
}

/* 200 calls, a large one, some in a subset. */
static void work(scene *s, artel_context *ctx, artel_communicator *c)
{
    enum {
        LARGE = 700001
    };
    int position = artel_communicator_position(c), members = artel_communicator_members(c);
    float *in = malloc(LARGE * sizeof *in), *out = malloc(LARGE * sizeof *out);
    artel_communicator *pair = NULL;
    for (int i = 0; i < LARGE; i++) in[i] = (float)(position + i % 97);
    for (int i = 0; i < 200; i++) {
        artel_collective call = {.count = i, .in = in, .out = out};
        EXPECT(artel_communicator_all_reduce(c, &call) == ARTEL_OK);
        for (int k = 0; k < i; k++) EXPECT(out[k] == (float)(members * (members - 1) / 2 + members * (k % 97)));
    }
    artel_collective large = {.count = LARGE, .in = in, .out = out, .root = members - 1};
    EXPECT(artel_communicator_broadcast(c, &large) == ARTEL_OK &&
           out[LARGE - 1] == (float)(members - 1 + (LARGE - 1) % 97));
    if (position != 1) {
        EXPECT(artel_communicator_subset(c, (int[]){members - 1, 0}, 2, &pair) == ARTEL_OK);
        large.reduction = ARTEL_REDUCTION_MAX;
        EXPECT(artel_communicator_all_reduce(pair, &large) == ARTEL_OK && out[5] == (float)(members - 1 + 5));
        artel_communicator_destroy(pair);
    }
    free(in);
    free(out);
}

static void run_task(void *user, int r)
{
    scene *s = user;
    artel_context *ctx = NULL;
    artel_communicator *c = NULL;
    if (artel_context_create(NULL, &ctx) < 0) return;
    artel_cluster *cluster = join(s, ctx, r);
    EXPECT(artel_communicator_open(ctx, cluster, &c) == ARTEL_OK);
    if (c) {
        EXPECT(artel_communicator_position(c) == r && artel_communicator_members(c) == TASKS);
        work(s, ctx, c);
        EXPECT(artel_communicator_finish(c) == ARTEL_OK);
        EXPECT(artel_communicator_barrier(c) == ARTEL_ERROR_INVALID);
        artel_communicator_destroy(c);
    }
    EXPECT(artel_cluster_finish(cluster, ARTEL_OK) == ARTEL_OK);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
}

static void tasks_find_one_another(void **state)
{
    (void)state;
    scene s;
    make_scene(&s);
    help_run_ranks(TASKS, run_task, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    end_scene(&s);
}

/* One task leaves between two calls: the others learn it in the next, renew, and go on without it. */
static void run_beside_a_loss(void *user, int r)
{
    scene *s = user;
    artel_context *ctx = NULL;
    artel_communicator *c = NULL;
    int64_t in = 1, out = 0;
    artel_collective call = {.dtype = ARTEL_DTYPE_INT64, .count = 1, .in = &in, .out = &out};
    if (artel_context_create(NULL, &ctx) < 0) return;
    artel_cluster *cluster = join(s, ctx, r);
    EXPECT(artel_communicator_open(ctx, cluster, &c) == ARTEL_OK);
    if (r == s->leaver) {
        EXPECT(artel_communicator_all_reduce(c, &call) == ARTEL_OK && out == TASKS);
        artel_communicator_destroy(c);
        artel_cluster_close(cluster);
        artel_context_destroy(ctx);
        return;
    }
    artel_status status = artel_communicator_all_reduce(c, &call); /* it may leave before this one is done here */
    EXPECT(status < 0 || out == TASKS);
    if (status == ARTEL_OK) status = artel_communicator_all_reduce(c, &call);
    EXPECT(status == ARTEL_ERROR_RUN || status == ARTEL_ERROR_CANCELLED);
    EXPECT(artel_communicator_barrier(c) == status);
    EXPECT(artel_communicator_renew(c) == ARTEL_OK);
    EXPECT(artel_communicator_members(c) == TASKS - 1);
    EXPECT(artel_communicator_all_reduce(c, &call) == ARTEL_OK && out == TASKS - 1);
    EXPECT(artel_communicator_finish(c) == ARTEL_OK);
    artel_communicator_destroy(c);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
}

static void a_lost_task(void **state)
{
    (void)state;
    for (int leaver = 0; leaver < TASKS; leaver += 2) {
        scene s;
        make_scene(&s);
        s.leaver = leaver;
        help_run_ranks(TASKS, run_beside_a_loss, &s);
        assert_int_equal(atomic_load(&s.wrong), 0);
        end_scene(&s);
    }
}

/* A task that is there and does not call: the others do not wait for it for ever. */
static void run_beside_silence(void *user, int r)
{
    scene *s = user;
    artel_context *ctx = NULL;
    artel_communicator *c = NULL;
    int64_t in = 1, out = 0;
    artel_collective call = {.dtype = ARTEL_DTYPE_INT64, .count = 1, .in = &in, .out = &out};
    if (artel_context_create(NULL, &ctx) < 0) return;
    artel_cluster *cluster = join(s, ctx, r);
    EXPECT(artel_communicator_open(ctx, cluster, &c) == ARTEL_OK);
    EXPECT(artel_communicator_set_timeout(c, 0.2) == ARTEL_OK);
    if (r == s->leaver) pthread_barrier_wait(&s->all); /* it calls when the others have given up */
    artel_status status = artel_communicator_all_reduce(c, &call);
    EXPECT(status == ARTEL_ERROR_RUN || status == ARTEL_ERROR_CANCELLED); /* who was first tells the others */
    if (strstr(artel_context_error(ctx)->what, "waits for member") != NULL) atomic_fetch_add(&s->timed_out, 1);
    if (r != s->leaver) pthread_barrier_wait(&s->all);
    EXPECT(artel_communicator_set_timeout(c, 0) == ARTEL_OK);
    EXPECT(artel_communicator_renew(c) == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce(c, &call) == ARTEL_OK && out == TASKS);
    EXPECT(artel_communicator_finish(c) == ARTEL_OK);
    artel_communicator_destroy(c);
    EXPECT(artel_cluster_finish(cluster, ARTEL_OK) == ARTEL_OK);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
}

static void a_wait_has_an_end(void **state)
{
    (void)state;
    scene s;
    make_scene(&s);
    s.leaver = 1;
    atomic_store(&s.timed_out, 0);
    pthread_barrier_init(&s.all, NULL, TASKS);
    help_run_ranks(TASKS, run_beside_silence, &s);
    pthread_barrier_destroy(&s.all);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_true(atomic_load(&s.timed_out) >= 1);
    end_scene(&s);
}

/* Calls that fail although nobody is lost: members differ, in a subset too, or one cancels. All renew, and go on as
 * before. Meanwhile the cluster does nothing else. */
static void run_beside_failures(void *user, int r)
{
    scene *s = user;
    artel_context *ctx = NULL;
    artel_communicator *c = NULL, *other = NULL;
    int64_t in[2] = {1, 1}, out[2] = {0};
    artel_collective call = {.dtype = ARTEL_DTYPE_INT64, .count = 1, .in = in, .out = out};
    if (artel_context_create(NULL, &ctx) < 0) return;
    artel_cluster *cluster = join(s, ctx, r);
    EXPECT(artel_communicator_open(ctx, cluster, &c) == ARTEL_OK);
    EXPECT(artel_communicator_open(ctx, cluster, &other) == ARTEL_ERROR_INVALID);
    EXPECT(strstr(artel_context_error(ctx)->what, "at work") != NULL);
    for (int i = 0; i < 6; i++) {
        artel_status status = ARTEL_OK;
        EXPECT(artel_cluster_barrier(cluster, "all have left the last call", 60) == ARTEL_OK);
        if (i % 3 == 0)
            status = artel_communicator_all_reduce(c, &(artel_collective){.count = 1 + (r == 1), .in = in, .out = out});
        if (i % 3 == 1 && r == 2) artel_communicator_cancel(c);
        if (i % 3 == 2 && r < 2) EXPECT(artel_communicator_subset(c, (int[]){1, 0}, 2, &other) == ARTEL_OK);
        if (i % 3 == 2 && r < 2)
            status =
                artel_communicator_broadcast(other, &(artel_collective){.root = r, .count = 1, .in = in, .out = out});
        EXPECT(status == ARTEL_OK || status == ARTEL_ERROR_INVALID || status == ARTEL_ERROR_CANCELLED);
        if (status == ARTEL_OK) EXPECT(artel_communicator_barrier(c) == ARTEL_ERROR_CANCELLED);
        artel_communicator_destroy(other);
        other = NULL;
        EXPECT(artel_communicator_renew(c) == ARTEL_OK && artel_communicator_members(c) == TASKS);
        EXPECT(artel_communicator_all_reduce(c, &call) == ARTEL_OK && out[0] == TASKS);
    }
    EXPECT(artel_communicator_finish(c) == ARTEL_OK);
    artel_communicator_destroy(c);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
}

static void failures_without_a_loss(void **state)
{
    (void)state;
    scene s;
    make_scene(&s);
    help_run_ranks(TASKS, run_beside_failures, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    end_scene(&s);
}

/* -- keys and named barriers of the cluster -- */

/* A key that one of three puts reaches all; of several that want the same one wins; a deleted one is gone. */
static void share_keys(scene *s, artel_context *ctx, artel_cluster *cluster, artel_communicator *c)
{
    int position = artel_communicator_position(c);
    char value[16], first[TASKS] = {0};
    size_t bytes = 0;
    if (position == 1) EXPECT(artel_cluster_put(cluster, "where", "here", 4, true) == ARTEL_OK);
    EXPECT(artel_cluster_get(cluster, "where", 60, value, sizeof value, &bytes) == ARTEL_OK && bytes == 4 &&
           memcmp(value, "here", 4) == 0);
    EXPECT(artel_cluster_get(cluster, "where", 0, value, 2, &bytes) == ARTEL_OK && bytes == 4);
    char own = (char)('a' + position);
    EXPECT(artel_cluster_put(cluster, "winner", &own, 1, false) == ARTEL_OK);
    EXPECT(artel_cluster_get(cluster, "winner", 60, value, sizeof value, &bytes) == ARTEL_OK && bytes == 1);
    EXPECT(artel_cluster_barrier(cluster, "all have put", 60) == ARTEL_OK); /* orders are told in their order */
    EXPECT(artel_cluster_get(cluster, "winner", 0, value, sizeof value, &bytes) == ARTEL_OK);
    int64_t letter = value[0], all[TASKS];
    EXPECT(artel_communicator_all_gather(
               c, &(artel_collective){.dtype = ARTEL_DTYPE_INT64, .count = 1, .in = &letter, .out = all}) == ARTEL_OK);
    for (int i = 0; i < TASKS; i++) first[i] = (char)all[i];
    for (int i = 0; i < TASKS; i++) EXPECT(first[i] == first[0]);
    EXPECT(artel_cluster_get(cluster, "nobody", 0.05, value, sizeof value, &bytes) == ARTEL_ERROR_NOT_FOUND);
    EXPECT(artel_cluster_get(cluster, "nobody", NAN, value, sizeof value, &bytes) == ARTEL_ERROR_INVALID);
    EXPECT(artel_cluster_get(cluster, "nobody", -1e300, value, sizeof value, &bytes) == ARTEL_ERROR_INVALID);
    EXPECT(artel_cluster_put(cluster, "", "x", 1, true) == ARTEL_ERROR_INVALID);
    char large[1001] = {0};
    EXPECT(artel_cluster_put(cluster, "large", large, sizeof large, true) == ARTEL_ERROR_INVALID);
    if (position == 0) EXPECT(artel_cluster_put(cluster, "where", NULL, 0, true) == ARTEL_OK);
    if (position == 0) EXPECT(artel_cluster_put(cluster, "where is gone", "x", 1, true) == ARTEL_OK);
    EXPECT(artel_cluster_get(cluster, "where is gone", 60, NULL, 0, &bytes) == ARTEL_OK);
    EXPECT(artel_cluster_get(cluster, "where", 0, value, sizeof value, &bytes) == ARTEL_ERROR_NOT_FOUND);
}

/* Task 2 comes late: the others name it, call again, and pass with it; so again, though one of them has given up in
 * between. */
static void wait_by_name(scene *s, artel_context *ctx, artel_cluster *cluster, artel_communicator *c)
{
    bool late = artel_communicator_position(c) == 2;
    for (int round = 0; round < 2; round++) {
        if (!late) {
            EXPECT(artel_cluster_barrier(cluster, "late", 0.3) == ARTEL_ERROR_RUN);
            EXPECT(strstr(artel_context_error(ctx)->what, "worker 2 (") &&
                   !strstr(artel_context_error(ctx)->what, "worker 0"));
        }
        EXPECT(artel_communicator_barrier(c) == ARTEL_OK); /* both have given up */
        if (late) EXPECT(artel_cluster_barrier(cluster, "late", 60) == ARTEL_OK);
        EXPECT(artel_communicator_barrier(c) == ARTEL_OK); /* passed, before the others ask again */
        if (!late) EXPECT(artel_cluster_barrier(cluster, "late", 60) == ARTEL_OK);
    }
}

static void run_with_words(void *user, int r)
{
    scene *s = user;
    artel_context *ctx = NULL;
    artel_communicator *c = NULL;
    size_t bytes;
    if (artel_context_create(NULL, &ctx) < 0) return;
    artel_cluster *cluster = join(s, ctx, r);
    EXPECT(artel_cluster_put(cluster, "early", "x", 1, true) == ARTEL_ERROR_INVALID); /* no job runs */
    EXPECT(artel_cluster_get(cluster, "early", 60, NULL, 0, &bytes) == ARTEL_ERROR_INVALID);
    EXPECT(artel_cluster_barrier(cluster, "early", 60) == ARTEL_ERROR_INVALID);
    EXPECT(artel_communicator_open(ctx, cluster, &c) == ARTEL_OK);
    share_keys(s, ctx, cluster, c);
    wait_by_name(s, ctx, cluster, c);
    EXPECT(artel_communicator_finish(c) == ARTEL_OK);
    artel_communicator_destroy(c);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
}

static void words_among_tasks(void **state)
{
    (void)state;
    scene s;
    make_scene(&s);
    help_run_ranks(TASKS, run_with_words, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    end_scene(&s);
}

/* One leaves while the others wait for it at a barrier: they learn it there, renew, and pass without it; keys stay. */
static void run_words_beside_a_loss(void *user, int r)
{
    scene *s = user;
    artel_context *ctx = NULL;
    artel_communicator *c = NULL;
    char value[8];
    size_t bytes;
    if (artel_context_create(NULL, &ctx) < 0) return;
    artel_cluster *cluster = join(s, ctx, r);
    EXPECT(artel_communicator_open(ctx, cluster, &c) == ARTEL_OK);
    EXPECT(artel_communicator_renew(c) == ARTEL_OK && artel_communicator_members(c) == TASKS); /* nothing has failed */
    if (r == s->leaver) {
        EXPECT(artel_cluster_put(cluster, "will", "all", 3, true) == ARTEL_OK);
        EXPECT(artel_cluster_barrier(cluster, "put", 60) == ARTEL_OK);
        for (int i = 0; i < TASKS; i++) { /* all have heard that they passed */
            char passed[2] = {(char)('0' + i), 0};
            if (i != r) EXPECT(artel_cluster_get(cluster, passed, 60, NULL, 0, &bytes) == ARTEL_OK);
        }
    } else {
        char passed[2] = {(char)('0' + r), 0};
        EXPECT(artel_cluster_barrier(cluster, "put", 60) == ARTEL_OK);
        EXPECT(artel_cluster_put(cluster, passed, "x", 1, true) == ARTEL_OK);
        EXPECT(artel_cluster_barrier(cluster, "left", 60) == ARTEL_ERROR_RUN);
        EXPECT(artel_communicator_renew(c) == ARTEL_OK && artel_communicator_members(c) == TASKS - 1);
        EXPECT(artel_cluster_barrier(cluster, "left", 60) == ARTEL_OK);
        EXPECT(artel_cluster_get(cluster, "will", 0, value, sizeof value, &bytes) == ARTEL_OK && bytes == 3);
        EXPECT(artel_communicator_finish(c) == ARTEL_OK);
    }
    artel_communicator_destroy(c);
    artel_cluster_close(cluster);
    artel_context_destroy(ctx);
}

static void words_outlive_a_task(void **state)
{
    (void)state;
    for (int leaver = 0; leaver < TASKS; leaver++) {
        scene s;
        make_scene(&s);
        s.leaver = leaver;
        help_run_ranks(TASKS, run_words_beside_a_loss, &s);
        assert_int_equal(atomic_load(&s.wrong), 0);
        end_scene(&s);
    }
}

static void words_to_oneself(void **state)
{
    (void)state;
    artel_context *ctx;
    artel_cluster *alone;
    char value[8];
    size_t bytes;
    artel_cluster_options options = ARTEL_CLUSTER_OPTIONS_INIT;
    options.resolver = "none";
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    options.port = 65536;
    assert_int_equal(artel_cluster_open(ctx, &options, &alone), ARTEL_ERROR_INVALID);
    options.port = 0;
    assert_int_equal(artel_cluster_open(ctx, &options, &alone), ARTEL_OK);
    assert_int_equal(artel_cluster_barrier(alone, "b", 0), ARTEL_OK);
    assert_int_equal(artel_cluster_get(alone, "k", 60, value, sizeof value, &bytes),
                     ARTEL_ERROR_NOT_FOUND); /* nobody else could put it */
    assert_int_equal(artel_cluster_put(alone, "k", "one", 3, false), ARTEL_OK);
    assert_int_equal(artel_cluster_put(alone, "k", "two", 3, false), ARTEL_OK);
    assert_int_equal(artel_cluster_put(alone, "l", "x", 1, false), ARTEL_OK);
    assert_int_equal(artel_cluster_get(alone, "k", 0, value, sizeof value, &bytes), ARTEL_OK);
    assert_memory_equal(value, "one", 3);
    assert_int_equal(artel_cluster_put(alone, "k", "three", 5, true), ARTEL_OK);
    assert_int_equal(artel_cluster_get(alone, "k", 0, value, sizeof value, &bytes), ARTEL_OK);
    assert_int_equal(bytes, 5);
    assert_int_equal(artel_cluster_put(alone, "k", NULL, 0, true), ARTEL_OK);
    assert_int_equal(artel_cluster_get(alone, "k", 0, value, sizeof value, &bytes), ARTEL_ERROR_NOT_FOUND);
    artel_cluster_close(alone);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_find_one_another),  cmocka_unit_test(a_lost_task),
        cmocka_unit_test(failures_without_a_loss), cmocka_unit_test(a_wait_has_an_end),
        cmocka_unit_test(words_among_tasks),       cmocka_unit_test(words_outlive_a_task),
        cmocka_unit_test(words_to_oneself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
