/* SPDX-License-Identifier: Apache-2.0 */
/* long form: 900 */
/* Messages around and beyond 4 GiB.
 *
 * The memory of a rank is one block, mapped again and again, so that gigabytes take megabytes. The long form moves 4.5
 * GiB over each transport and sums 9 GiB of two ranks; the short one moves megabytes in the same way, and takes
 * messages of 4 GiB back in the middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "help_ranks.h"
#include "support/net_mesh.h"

#define BLOCK ((size_t)16 << 20)
#define GIB ((uint64_t)1 << 30)

static bool in_full(void)
{
    const char *wish = getenv("ARTEL_LONG");
    return wish && *wish && strcmp(wish, "0") != 0;
}

/* `bytes` (a multiple of BLOCK) of memory that repeats after BLOCK. */
static void *map_repeated(size_t bytes)
{
    int fd = memfd_create("repeated", 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)BLOCK), 0);
    uint8_t *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(at, MAP_FAILED);
    for (size_t done = 0; done < bytes; done += BLOCK)
        assert_ptr_equal(mmap(at + done, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0), at + done);
    close(fd);
    return at;
}

/* -- a message over each transport -- */

typedef struct scene {
    support_mesh mesh;
    uint8_t *from, *to, tail[24], tail_to[24];
    size_t bytes; /* of each of the two */
    artel__net_piece piece[2], into[2];
    artel__net_request send, receive;
} scene;

static void open_scene(scene *s, bool secure, bool shares, size_t bytes)
{
    memset(s, 0, sizeof *s);
    assert_int_equal(artel_context_create(NULL, &s->mesh.ctx), ARTEL_OK);
    s->mesh.ranks = 2;
    s->mesh.secure = secure;
    s->mesh.shares = shares;
    assert_int_equal(support_mesh_open(&s->mesh), ARTEL_OK);
    s->bytes = bytes;
    s->from = map_repeated(bytes);
    s->to = map_repeated(bytes);
    for (size_t i = 0; i < BLOCK; i += 8) *(uint64_t *)(void *)(s->from + i) = help_mix(1, i);
    for (size_t i = 0; i < sizeof s->tail; i++) s->tail[i] = (uint8_t)(i + 1);
    s->piece[0] = (artel__net_piece){s->from, bytes};
    s->piece[1] = (artel__net_piece){s->tail, sizeof s->tail};
    s->into[0] = (artel__net_piece){s->to, bytes};
    s->into[1] = (artel__net_piece){s->tail_to, sizeof s->tail_to};
}

static void close_scene(scene *s)
{
    support_mesh_close(&s->mesh);
    munmap(s->from, s->bytes);
    munmap(s->to, s->bytes);
    artel_context_destroy(s->mesh.ctx);
}

/* The large piece is only there when `large`. */
static void post(scene *s, bool large)
{
    const artel__frame frame = {.kind = ARTEL__FRAME_NODES, .generation = 1};
    uint64_t length = sizeof s->tail + (large ? s->bytes : 0);
    s->send = (artel__net_request){.peer = 1, .frame = frame, .piece = s->piece + !large, .pieces = 1 + large};
    s->receive =
        (artel__net_request){.peer = 0, .frame = frame, .into = s->into + !large, .intos = 1 + large, .most = length};
    assert_int_equal(artel__net_receive(s->mesh.endpoint[1], &s->receive), ARTEL_OK);
    assert_int_equal(artel__net_send(s->mesh.endpoint[0], &s->send), ARTEL_OK);
    assert_true(s->send.frame.length == length);
}

static void progress(scene *s)
{
    for (int r = 0; r < 2; r++) assert_int_equal(artel__net_progress(s->mesh.endpoint[r]), ARTEL_OK);
}

static void finish(scene *s, bool large)
{
    int64_t until = artel__now_ns() + INT64_C(280000000000);
    while (!(artel__net_done(&s->send) && artel__net_done(&s->receive)) && artel__now_ns() < until) progress(s);
    assert_true(artel__net_done(&s->send) && artel__net_done(&s->receive));
    assert_true(s->receive.frame.length == sizeof s->tail + (large ? s->bytes : 0));
    assert_memory_equal(artel__net_part(&s->receive, large, large ? s->bytes : 0), s->tail, sizeof s->tail);
    artel__net_release(s->mesh.endpoint[1], &s->receive);
}

static void over_transports(void (*check)(scene *s), size_t bytes)
{
    static const bool way[][2] = {{false, false}, {true, false}, {false, true}};
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        scene s;
        open_scene(&s, way[i][0], way[i][1], bytes);
        check(&s);
        close_scene(&s);
    }
}

static void check_arrival(scene *s)
{
    post(s, true);
    finish(s, true);
    assert_memory_equal(s->to, s->from, BLOCK);
}

static void arrive(void **state)
{
    (void)state;
    over_transports(check_arrival, in_full() ? 4 * GIB + GIB / 2 : 3 * BLOCK);
}

/* 4 GiB and 24 bytes are not 24 bytes; the next message is, although it has the same header but for that. */
static void check_taking_back(scene *s)
{
    post(s, true);
    for (int i = 0; i < 50; i++) progress(s);
    assert_false(artel__net_done(&s->receive));
    artel__net_withdraw(s->mesh.endpoint[0], &s->send);
    for (int i = 0; i < 50; i++) progress(s);
    assert_false(artel__net_done(&s->receive));
    artel__net_withdraw(s->mesh.endpoint[1], &s->receive);
    post(s, false);
    finish(s, false);
}

static void taken_back(void **state)
{
    (void)state;
    over_transports(check_taking_back, 4 * GIB);
}

/* -- a sum -- */

enum {
    RANKS = 2
};

typedef struct sum {
    artel_context *ctx;
    artel__coll_layout layout;
    artel__endpoint *endpoint[RANKS];
    artel__all_reduce task[RANKS];
    artel__coll_segment segment[RANKS];
    int64_t count;
    float *in[RANKS], *out[RANKS];
    artel_status status[RANKS];
} sum;

static void add_up(void *user, int rank)
{
    sum *s = user;
    s->segment[rank] =
        (artel__coll_segment){.merge = artel__coll_sum(ARTEL_DTYPE_FLOAT32), .count = s->count, .element = 4};
    s->segment[rank].in = s->in[rank];
    s->segment[rank].out = s->out[rank];
    artel__all_reduce_init(&s->task[rank], s->endpoint[rank], &s->layout);
    s->task[rank].segment = &s->segment[rank];
    s->task[rank].segments = 1;
    s->task[rank].algorithm = ARTEL__COLL_DIRECT;
    s->task[rank].base.frame = (artel__frame){.generation = 1};
    artel__coll_task *task = &s->task[rank].base;
    s->status[rank] = artel__coll_run(s->endpoint[rank], &task, 1);
}

/* Each rank's slice is half of it: more than 4 GiB in the long form. */
static void summed(void **state)
{
    (void)state;
    size_t bytes = in_full() ? 9 * GIB : 2 * BLOCK, period = BLOCK / sizeof(float);
    sum s = {.count = (int64_t)(bytes / sizeof(float))};
    artel__fabric *fabric;
    assert_int_equal(artel_context_create(NULL, &s.ctx), ARTEL_OK);
    assert_int_equal(artel__coll_layout_init(s.ctx, RANKS, RANKS, &s.layout), ARTEL_OK);
    assert_int_equal(artel__fabric_create(s.ctx, RANKS, false, &fabric), ARTEL_OK);
    for (int r = 0; r < RANKS; r++) {
        s.endpoint[r] = artel__fabric_endpoint(fabric, r);
        s.in[r] = map_repeated(bytes);
        s.out[r] = map_repeated(bytes);
        for (size_t i = 0; i < period; i++) s.in[r][i] = (float)(help_mix((uint64_t)r, i) & 0xffffff) * 0.37f;
    }
    help_run_ranks(RANKS, add_up, &s);
    int wrong = 0;
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(s.status[r], ARTEL_OK);
        for (size_t i = 0; i < period; i++) wrong += s.out[r][i] != s.in[0][i] + s.in[1][i];
        artel__all_reduce_fini(&s.task[r]);
    }
    for (int r = 0; r < RANKS; r++) {
        munmap(s.in[r], bytes);
        munmap(s.out[r], bytes);
    }
    assert_int_equal(wrong, 0);
    artel__fabric_destroy(fabric);
    artel__coll_layout_fini(s.ctx, &s.layout);
    artel_context_destroy(s.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(arrive), cmocka_unit_test(taken_back),
                                       cmocka_unit_test(summed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
