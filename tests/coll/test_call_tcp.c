/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives of teams over TCP, plain and encrypted: the same random calls and truths as over inproc; large ones;
 * members that differ by much more than the window; a member that dies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "help_calls.h"
#include "net/tcp.h"
#include "support/net_mesh.h"

static void open_mesh(support_mesh *mesh, artel_context *ctx, int ranks, bool secure)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->ctx = ctx;
    mesh->ranks = ranks;
    mesh->secure = secure;
    assert_int_equal(support_mesh_open(mesh), ARTEL_OK);
    for (int r = 0; r < ranks; r++) artel__tcp_set_generation(mesh->endpoint[r], 3);
}

static void random_calls(void **state)
{
    (void)state;
    for (uint64_t seed = 100; seed < 112; seed++) {
        artel_context *ctx;
        support_mesh mesh;
        help_scene *s = malloc(sizeof *s);
        int ranks = 2 + (int)(seed % (HELP_RANKS - 1));
        assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
        open_mesh(&mesh, ctx, ranks, seed % 4 == 3);
        help_scene_make(s, ctx, ranks, seed);
        s->generation = 3;
        for (int r = 0; r < ranks; r++) s->endpoint[r] = mesh.endpoint[r];
        help_scene_run(s);
        if (atomic_load(&s->wrong_status) || atomic_load(&s->wrong_bits)) print_message("seed %d\n", (int)seed);
        assert_int_equal(atomic_load(&s->wrong_status), 0);
        assert_int_equal(atomic_load(&s->wrong_bits), 0);
        support_mesh_close(&mesh);
        artel_context_destroy(ctx);
        free(s);
    }
}

/* -- one team of all -- */

enum {
    MEMBERS = 4,
    LARGE = 1500007
};

typedef struct bench {
    artel_context *ctx;
    support_mesh mesh;
    int32_t rank[MEMBERS];
    artel__team team[MEMBERS];
    float *in[MEMBERS], *out[MEMBERS];
    artel_status status[MEMBERS];
    artel__coll_kind kind, odd_kind;
    int64_t odd_count;
    int odd;
} bench;

static void make_bench(bench *b)
{
    memset(b, 0, sizeof *b);
    b->odd = -1;
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    open_mesh(&b->mesh, b->ctx, MEMBERS, false);
    for (int r = 0; r < MEMBERS; r++) {
        b->rank[r] = r;
        b->team[r] =
            (artel__team){.ctx = b->ctx, .members = MEMBERS, .position = r, .rank = b->rank, .id = 3, .generation = 3};
        b->team[r].endpoint = b->mesh.endpoint[r];
        b->in[r] = malloc((size_t)LARGE * MEMBERS * 4);
        b->out[r] = malloc((size_t)LARGE * MEMBERS * 4);
        for (int64_t i = 0; i < LARGE * MEMBERS; i++) b->in[r][i] = (float)(r + 1) + (float)(i % 1000);
    }
}

static void free_bench(bench *b)
{
    for (int r = 0; r < MEMBERS; r++) {
        free(b->in[r]);
        free(b->out[r]);
    }
    support_mesh_close(&b->mesh);
    artel_context_destroy(b->ctx);
    free(b);
}

static void run_member(void *user, int r)
{
    bench *b = user;
    artel__call call;
    artel__call_init(&call, &b->team[r]);
    uint32_t fp = artel__fp_enter();
    call.kind = r == b->odd ? b->odd_kind : b->kind;
    call.what = (artel_collective){.count = r == b->odd ? b->odd_count : LARGE, .in = b->in[r], .out = b->out[r]};
    b->status[r] = artel__call_run(&call);
    artel__fp_leave(fp);
    artel__call_fini(&call);
}

static const artel__coll_kind kinds[] = {ARTEL__COLL_BROADCAST,      ARTEL__COLL_REDUCE, ARTEL__COLL_ALL_REDUCE,
                                         ARTEL__COLL_REDUCE_SCATTER, ARTEL__COLL_GATHER, ARTEL__COLL_ALL_GATHER,
                                         ARTEL__COLL_ALL_TO_ALL};

/* Several messages for each range, in both directions at once. */
static void large_calls(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(kinds); k++) {
        bench *b = malloc(sizeof *b);
        make_bench(b);
        b->kind = kinds[k];
        help_run_ranks(MEMBERS, run_member, b);
        for (int r = 0; r < MEMBERS; r++) assert_int_equal(b->status[r], ARTEL_OK);
        for (int64_t i = 0; i < LARGE; i += 997) {
            float own = (float)(i % 1000), sum = 10 + 4 * own;
            if (kinds[k] == ARTEL__COLL_BROADCAST) assert_true(b->out[3][i] == 1 + own);
            if (kinds[k] == ARTEL__COLL_REDUCE) assert_true(b->out[0][i] == sum);
            if (kinds[k] == ARTEL__COLL_ALL_REDUCE) assert_true(b->out[1][i] == sum);
            if (kinds[k] == ARTEL__COLL_REDUCE_SCATTER)
                assert_true(b->out[2][i] == 10 + 4 * (float)((i + 2 * LARGE) % 1000));
            if (kinds[k] == ARTEL__COLL_GATHER) assert_true(b->out[0][2 * LARGE + i] == 3 + own);
            if (kinds[k] == ARTEL__COLL_ALL_GATHER) assert_true(b->out[2][LARGE + i] == 2 + own);
            if (kinds[k] == ARTEL__COLL_ALL_TO_ALL)
                assert_true(b->out[2][3 * LARGE + i] == 4 + (float)((i + 2 * LARGE) % 1000));
        }
        free_bench(b);
    }
}

/* Megabytes that nobody asks for do not keep the reason from anybody. */
static void members_that_differ(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(kinds); k++) {
        for (int other = 0; other < 2; other++) {
            bench *b = malloc(sizeof *b);
            make_bench(b);
            b->kind = kinds[k];
            b->odd = (int)k % MEMBERS;
            b->odd_kind = other ? ARTEL__COLL_BARRIER : kinds[k];
            b->odd_count = 5;
            help_run_ranks(MEMBERS, run_member, b);
            for (int r = 0; r < MEMBERS; r++) assert_int_equal(b->status[r], ARTEL_ERROR_INVALID);
            assert_non_null(strstr(artel_context_error(b->ctx)->what, other ? "barrier" : " of 5 x float32"));
            free_bench(b);
        }
    }
}

static void run_but_one(void *user, int r)
{
    bench *b = user;
    if (r != b->odd) run_member(user, r);
}

/* One member is gone: each kind of call ends on all others, and one of them at least says who it was. */
static void a_death_ends_the_call(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARTEL__COUNT(kinds); k++) {
        bench *b = malloc(sizeof *b);
        make_bench(b);
        b->kind = kinds[k];
        b->odd = (int)(k + 1) % MEMBERS;
        artel__net_close(b->mesh.endpoint[b->odd]);
        b->mesh.endpoint[b->odd] = NULL;
        help_run_ranks(MEMBERS, run_but_one, b);
        bool named = false;
        for (int r = 0; r < MEMBERS; r++) {
            if (r == b->odd) continue;
            assert_true(b->status[r] == ARTEL_ERROR_RUN || b->status[r] == ARTEL_ERROR_CANCELLED);
            named = named || b->status[r] == ARTEL_ERROR_RUN;
        }
        assert_true(named);
        assert_true(strncmp(artel_context_error(b->ctx)->where, "worker-", 7) == 0);
        free_bench(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls),
        cmocka_unit_test(large_calls),
        cmocka_unit_test(members_that_differ),
        cmocka_unit_test(a_death_ends_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
