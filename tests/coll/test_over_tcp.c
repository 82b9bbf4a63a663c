/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives over TCP, plain and encrypted, and through shared memory, give the bits that they give over inproc;
 * steady calls take no memory; a rank that fails or dies ends the call on the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/lend.h"
#include "help_ranks.h"
#include "net/tcp.h"
#include "support/net_mesh.h"

enum {
    SHARDS = 8,
    SEGMENTS = 3,
    MOST = 4,
    ROWS = 37
};

static const int64_t counts[SEGMENTS] = {300007, 5, 12289};

typedef struct scene {
    artel_context *ctx;
    int ranks, calls;
    artel__coll_algorithm algorithm;
    artel__coll_layout layout;
    artel__endpoint *endpoint[MOST];
    artel__all_reduce reduce[MOST];
    artel__all_gather gather[MOST];
    artel__barrier barrier[MOST];
    artel__coll_segment segment[MOST][SEGMENTS], rows[MOST];
    bool lendable, in_place;
    float *block[MOST]; /* all that a rank adds up lies in it; lendable, if so */
    size_t block_bytes[MOST];
    float *in[MOST][SEGMENTS], *out[MOST][SEGMENTS], *row_in[MOST], *row_out[MOST];
    artel_status status[MOST];
    uint64_t step;
    uint32_t generation;
    int silent; /* this rank closes its endpoint instead of taking part; -1: none */
} scene;

static float value_of(int r, int c, int64_t i)
{
    uint64_t bits = help_mix((uint64_t)(r * 16 + c), (uint64_t)i);
    return ((float)(bits & 0xffffff) - 8388608.0f) * (float)(1u << (bits >> 24 & 15)) * 0.37f;
}

static void fill_in(scene *s, int r)
{
    int32_t nodes = artel__coll_owned(&s->layout, r);
    for (int c = 0; c < SEGMENTS; c++) {
        for (int64_t i = 0; i < counts[c] * nodes; i++) s->in[r][c][i] = value_of(r, c, i);
    }
}

/* The input of a segment, then its output. */
static void take_block(scene *s, int r)
{
    int32_t nodes = artel__coll_owned(&s->layout, r);
    void *block;
    for (int c = 0; c < SEGMENTS; c++) s->block_bytes[r] += (size_t)(counts[c] * (nodes + 1)) * 4;
    artel_status status = s->lendable ? artel__alloc_lendable(s->ctx, s->block_bytes[r], "test", &block)
                                      : artel__alloc_aligned(s->ctx, s->block_bytes[r], "test", &block);
    assert_int_equal(status, ARTEL_OK);
    float *at = s->block[r] = block;
    for (int c = 0; c < SEGMENTS; c++) {
        s->in[r][c] = at;
        s->out[r][c] = at + counts[c] * nodes;
        at += counts[c] * (nodes + 1);
    }
    fill_in(s, r);
}

static void make_scene(scene *s, int ranks, bool lendable)
{
    memset(s, 0, sizeof *s);
    s->lendable = lendable;
    s->ranks = ranks;
    s->calls = 1;
    s->silent = -1;
    assert_int_equal(artel_context_create(NULL, &s->ctx), ARTEL_OK);
    assert_int_equal(artel__coll_layout_init(s->ctx, SHARDS, ranks, &s->layout), ARTEL_OK);
    for (int r = 0; r < ranks; r++) {
        take_block(s, r);
        s->row_in[r] = malloc(ROWS * 4 * 3);
        s->row_out[r] = calloc(ROWS * 3, 4);
        for (int i = 0; i < ROWS * 3; i++) s->row_in[r][i] = (float)(r * 1000 + i);
    }
}

static void join_scene(scene *s, int r, artel__endpoint *endpoint)
{
    s->endpoint[r] = endpoint;
    artel__all_reduce_init(&s->reduce[r], endpoint, &s->layout);
    artel__all_gather_init(&s->gather[r], endpoint, &s->layout);
    artel__barrier_init(&s->barrier[r], endpoint);
}

static void leave_scene(scene *s)
{
    for (int r = 0; r < s->ranks; r++) {
        artel__all_reduce_fini(&s->reduce[r]);
        artel__all_gather_fini(&s->gather[r]);
    }
}

static void free_scene(scene *s)
{
    for (int r = 0; r < s->ranks; r++) {
        if (s->lendable)
            artel__free_lendable(s->ctx, s->block[r], s->block_bytes[r]);
        else
            artel__free_aligned(s->ctx, s->block[r], s->block_bytes[r]);
        free(s->row_in[r]);
        free(s->row_out[r]);
    }
    artel__coll_layout_fini(s->ctx, &s->layout);
    artel_context_destroy(s->ctx);
}

static void call(void *user, int r)
{
    scene *s = user;
    if (r == s->silent) return;
    for (int c = 0; c < SEGMENTS; c++) {
        s->segment[r][c] =
            (artel__coll_segment){.merge = artel__coll_sum(ARTEL_DTYPE_FLOAT32), .count = counts[c], .element = 4};
        s->segment[r][c].in = s->in[r][c];
        s->segment[r][c].out = s->in_place ? s->in[r][c] : s->out[r][c];
    }
    s->rows[r] = (artel__coll_segment){.count = 3, .element = 4, .in = s->row_in[r], .out = s->row_out[r]};
    s->reduce[r].segment = s->segment[r];
    s->reduce[r].segments = SEGMENTS;
    s->reduce[r].algorithm = s->algorithm;
    s->gather[r].segment = &s->rows[r];
    s->gather[r].segments = 1;
    s->gather[r].batch = ROWS;
    artel__coll_task *both[] = {&s->reduce[r].base, &s->gather[r].base}, *barrier = &s->barrier[r].base;
    for (int i = 0; i < s->calls && s->status[r] == ARTEL_OK; i++) {
        artel__frame frame = {.generation = s->generation, .step = s->step + (uint64_t)i, .collective = 7};
        s->reduce[r].base.frame = s->gather[r].base.frame = frame;
        barrier->frame = frame;
        s->barrier[r].ok = true;
        s->status[r] = artel__coll_run(s->endpoint[r], both, 2);
        if (s->status[r] == ARTEL_OK) s->status[r] = artel__coll_run(s->endpoint[r], &barrier, 1);
        if (s->status[r] == ARTEL_OK && !s->barrier[r].ok) s->status[r] = ARTEL_ERROR_RUN;
    }
}

static void run_scene(scene *s, int calls)
{
    s->calls = calls;
    help_run_ranks(s->ranks, call, s);
    s->step += (uint64_t)calls;
}

/* The bits that inproc gives, of every rank and segment, one behind the other. */
static char *truth_of(scene *s, size_t *out_bytes)
{
    artel__fabric *fabric;
    assert_int_equal(artel__fabric_create(s->ctx, s->ranks, false, &fabric), ARTEL_OK);
    for (int r = 0; r < s->ranks; r++) join_scene(s, r, artel__fabric_endpoint(fabric, r));
    run_scene(s, 1);
    size_t bytes = ROWS * 3 * 4;
    for (int c = 0; c < SEGMENTS; c++) bytes += (size_t)counts[c] * 4;
    char *truth = malloc(bytes), *at = truth;
    for (int c = 0; c < SEGMENTS; c++) {
        memcpy(at, s->out[0][c], (size_t)counts[c] * 4);
        at += (size_t)counts[c] * 4;
    }
    memcpy(at, s->row_out[0], ROWS * 3 * 4);
    leave_scene(s);
    artel__fabric_destroy(fabric);
    *out_bytes = bytes;
    return truth;
}

static void compare(const scene *s, const char *truth)
{
    for (int r = 0; r < s->ranks; r++) {
        const char *at = truth;
        assert_int_equal(s->status[r], ARTEL_OK);
        for (int c = 0; c < SEGMENTS; c++) {
            assert_memory_equal(s->in_place ? s->in[r][c] : s->out[r][c], at, (size_t)counts[c] * 4);
            memset(s->out[r][c], 0xa5, (size_t)counts[c] * 4);
            at += (size_t)counts[c] * 4;
        }
        assert_memory_equal(s->row_out[r], at, ROWS * 3 * 4);
        memset(s->row_out[r], 0xa5, ROWS * 3 * 4);
    }
}

static void run_and_compare(scene *s, const char *truth)
{
    s->in_place = false;
    run_scene(s, 3);
    compare(s, truth);
    s->in_place = true;
    run_scene(s, 1);
    compare(s, truth);
    for (int r = 0; r < s->ranks; r++) fill_in(s, r);
    s->in_place = false;
}

/* What a membership does before every attempt. */
static void begin_generation(scene *s, uint32_t generation)
{
    s->generation = generation;
    for (int r = 0; r < s->ranks; r++) artel__tcp_set_generation(s->endpoint[r], generation);
}

typedef enum way {
    PLAIN,
    ENCRYPTED,
    SHARED,
    LENT, /* the same, from memory that the peers can map */
    WAYS
} way;

static void open_mesh(scene *s, support_mesh *mesh, way over)
{
    memset(mesh, 0, sizeof *mesh);
    mesh->ctx = s->ctx;
    mesh->ranks = s->ranks;
    mesh->secure = over == ENCRYPTED;
    mesh->shares = over >= SHARED;
    assert_int_equal(support_mesh_open(mesh), ARTEL_OK);
    for (int r = 0; r < s->ranks; r++) join_scene(s, r, mesh->endpoint[r]);
    begin_generation(s, 3);
}

static void same_bits(void **state)
{
    (void)state;
    static const int ranks[] = {2, 3, 4};
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        scene s;
        support_mesh mesh;
        size_t bytes;
        for (int over = 0; over < WAYS; over++) {
            make_scene(&s, ranks[i], over == LENT);
            char *truth = truth_of(&s, &bytes);
            open_mesh(&s, &mesh, (way)over);
            for (int a = 0; a < 2; a++) {
                s.algorithm = a ? ARTEL__COLL_REDUNDANT : ARTEL__COLL_DIRECT;
                run_and_compare(&s, truth);
            }
            leave_scene(&s);
            support_mesh_close(&mesh);
            free(truth);
            free_scene(&s);
        }
    }
}

static void steady_calls_take_no_memory(void **state)
{
    (void)state;
    static const way ways[] = {PLAIN, SHARED, LENT};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        way over = ways[i];
        scene s;
        support_mesh mesh;
        make_scene(&s, 4, over == LENT);
        open_mesh(&s, &mesh, over);
        run_scene(&s, 20);
        uint64_t before = artel__heap_calls(s.ctx);
        run_scene(&s, 30);
        for (int r = 0; r < s.ranks; r++) assert_int_equal(s.status[r], ARTEL_OK);
        /* How many messages are early depends on the scheduler; a buffer now and then, but not one a call. */
        assert_true(artel__heap_calls(s.ctx) - before <= 40);
        leave_scene(&s);
        support_mesh_close(&mesh);
        free_scene(&s);
    }
}

/* Each allocation fails once, on whichever rank it hits; the others are told, and the next attempt works. */
static void failing_allocations(void **state)
{
    (void)state;
    bool failed = true;
    for (uint64_t n = 1; failed; n += 3) {
        scene s;
        support_mesh mesh;
        way over = n % 2 ? PLAIN : n % 4 ? SHARED : LENT;
        make_scene(&s, 3, over == LENT);
        open_mesh(&s, &mesh, over);
        artel__fail_allocation_after(s.ctx, n);
        run_scene(&s, 1);
        artel__fail_allocation_after(s.ctx, 0);
        failed = false;
        for (int r = 0; r < s.ranks; r++) failed = failed || s.status[r] < 0;
        bool lost = false; /* no memory for a message costs its connection */
        for (int r = 0; r < s.ranks; r++) {
            for (int p = 0; p < s.ranks; p++) lost = lost || artel__tcp_is_lost(mesh.endpoint[r], p);
            s.status[r] = ARTEL_OK;
            artel__net_resume(mesh.endpoint[r]);
        }
        if (!lost) {
            begin_generation(&s, 4);
            run_scene(&s, 1);
            for (int r = 0; r < s.ranks; r++) assert_int_equal(s.status[r], ARTEL_OK);
        }
        leave_scene(&s);
        support_mesh_close(&mesh);
        free_scene(&s);
    }
}

static void a_death_ends_the_call(void **state)
{
    (void)state;
    for (int over = 0; over < WAYS; over++) {
        scene s;
        support_mesh mesh;
        make_scene(&s, 4, over == LENT);
        open_mesh(&s, &mesh, (way)over);
        artel__net_close(mesh.endpoint[2]);
        mesh.endpoint[2] = NULL;
        s.silent = 2;
        run_scene(&s, 1);
        bool named = false;
        for (int r = 0; r < s.ranks; r++) {
            if (r == 2) continue;
            assert_true(s.status[r] == ARTEL_ERROR_RUN || s.status[r] == ARTEL_ERROR_CANCELLED);
            named = named || s.status[r] == ARTEL_ERROR_RUN;
        }
        assert_true(named);
        assert_string_equal(artel_context_error(s.ctx)->where, "worker-2");
        for (int r = 0; r < s.ranks; r++) {
            if (r != 2) continue;
            s.reduce[r].base.ops = NULL; /* its endpoint is gone, and nothing was taken */
            s.gather[r].base.ops = NULL;
        }
        leave_scene(&s);
        support_mesh_close(&mesh);
        free_scene(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),
        cmocka_unit_test(steady_calls_take_no_memory),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(a_death_ends_the_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
