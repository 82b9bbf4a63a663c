/* SPDX-License-Identifier: Apache-2.0 */
/* See the header. */
#include "help_serve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* -- the server -- */

static void *serve(void *user)
{
    serve_bench *b = user;
    b->status = artel__serve(&b->service, b->server);
    if (b->status < 0) artel__net_cancel(b->service.endpoint); /* so that nobody waits for it */
    return NULL;
}

void serve_begin_generation(serve_bench *b)
{
    for (int r = 0; r < SERVE_RANKS; r++)
        b->lane[r] = (artel__lane){.endpoint = artel__fabric_endpoint(b->fabric, r),
                                   .peer = SERVE_SERVER,
                                   .job = 9,
                                   .generation = b->service.seat.generation};
    b->forward = b->lane[SERVE_OTHER];
    assert_int_equal(pthread_create(&b->thread, NULL, serve, b), 0);
    b->runs = true;
}

artel_status serve_await(serve_bench *b)
{
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    for (int r = 0; r < SERVE_RANKS; r++) artel__net_resume(artel__fabric_endpoint(b->fabric, r));
    b->service.seat.generation++;
    b->runs = false;
    return b->status;
}

void serve_end_generation(serve_bench *b)
{
    artel__net_cancel(artel__fabric_endpoint(b->fabric, SERVE_SERVER));
    assert_int_equal(serve_await(b), ARTEL_AGAIN);
}

void serve_change_generation(serve_bench *b)
{
    serve_end_generation(b);
    serve_begin_generation(b);
}

void serve_take_some(serve_bench *b, int workers)
{
    serve_end_generation(b);
    b->service.some = workers;
    serve_begin_generation(b);
}

static void open_service(serve_bench *b)
{
    b->service = (artel__service){.fit = &b->fit,
                                  .cluster = &b->cluster,
                                  .seat = {.ranks = SERVE_RANKS, .job = 9, .generation = 1},
                                  .endpoint = artel__fabric_endpoint(b->fabric, SERVE_SERVER),
                                  .type = {[SERVE_CHIEF] = ARTEL__TASK_CHIEF,
                                           [SERVE_WORKER] = ARTEL__TASK_WORKER,
                                           [SERVE_SERVER] = ARTEL__TASK_PS,
                                           [SERVE_OTHER] = ARTEL__TASK_PS},
                                  .task = {0, 1, 2, 3},
                                  .chief = SERVE_CHIEF,
                                  .servers = 2,
                                  .workers = 1,
                                  .server = {SERVE_SERVER, SERVE_OTHER},
                                  .staleness = -1,
                                  .rule = {.partitioner = "none"},
                                  .copies = 1};
}

int serve_open(void **state)
{
    serve_bench *b = calloc(1, sizeof *b);
    fit_open_mlp(&b->fit_bench, SERVE_ROWS);
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    pthread_mutex_init(&b->cluster.mutex, NULL);
    b->cluster.peer = b->peer;
    b->cluster.peers = SERVE_RANKS;
    for (int r = 0; r < SERVE_RANKS; r++)
        strcpy(b->peer[r].title, (const char *[]){"chief 0", "worker 0", "ps 0", "ps 1"}[r]);
    assert_int_equal(artel__fabric_create(b->ctx, SERVE_RANKS, false, &b->fabric), ARTEL_OK);
    b->fit = (artel__fit){.ctx = b->fit_bench.ctx,
                          .model = b->fit_bench.model,
                          .options = fit_options(&b->fit_bench, SERVE_BATCH, 1, 1),
                          .role = ARTEL__ROLE_SERVER};
    artel__arena_init(&b->fit.arena, b->fit.ctx);
    fit_expect(&b->fit_bench, artel__fit_open(&b->fit, b->fit_bench.data), ARTEL_OK);
    assert_int_equal(artel__server_create(&b->fit, &b->server), ARTEL_OK);
    artel__arena_init(&b->arena, b->fit.ctx);
    assert_int_equal(artel__division_make(&b->arena, b->fit.session, &(artel__division_rule){.partitioner = "none"}, 1,
                                          &b->division),
                     ARTEL_OK);
    assert_in_range(artel__division_most(&b->division), 1, SERVE_MOST);
    open_service(b);
    serve_begin_generation(b);
    *state = b;
    return 0;
}

/* -- what others say -- */

int serve_list(serve_bench *b, artel__part_list list)
{
    return lane_list_zeros(&b->division, 0, list, b->entry, b->piece);
}

void serve_call(serve_bench *b, int from, artel__lane_slot *slot, artel__lane_head head, int pieces)
{
    assert_int_equal(artel__lane_call(&b->lane[from], slot, &head, b->piece, pieces, 0), ARTEL_OK);
}

artel__lane_head serve_say(serve_bench *b, int from, artel__lane_head head, int pieces)
{
    artel__lane_slot slot = {.room = 0};
    serve_call(b, from, &slot, head, pieces);
    return lane_hear(b->ctx, &b->lane[from], &slot, NULL);
}

artel_status serve_end_by(serve_bench *b, int from, artel__lane_head head, int pieces)
{
    artel__lane_slot slot = {.room = 0};
    serve_call(b, from, &slot, head, pieces);
    artel_status status = serve_await(b);
    artel__lane_withdraw(&b->lane[from], &slot);
    artel__slot_fini(b->ctx, &slot);
    return status;
}

int serve_close(void **state)
{
    serve_bench *b = *state;
    if (b->runs) {
        serve_say(b, SERVE_CHIEF, (artel__lane_head){.op = ARTEL__SERVE_END}, 0);
        assert_int_equal(serve_await(b), ARTEL_OK);
    }
    artel__server_destroy(&b->fit, b->server);
    artel__arena_fini(&b->arena);
    artel__fit_close(&b->fit);
    artel__fabric_destroy(b->fabric);
    pthread_mutex_destroy(&b->cluster.mutex);
    artel_context_destroy(b->ctx);
    fit_close(&b->fit_bench);
    free(b);
    return 0;
}

const artel__lane_head serve_install = {
    .op = ARTEL__SERVE_INSTALL, .part = 1 << 16, .install = SERVE_INSTALLED, .b = 1};
const artel__lane_head serve_head_of_part = {
    .op = ARTEL__SERVE_ASSIGN, .flags = ARTEL__FLAG_HEAD, .part = 1 << 16, .install = SERVE_INSTALLED, .a = 2};

void serve_give_part(serve_bench *b, artel__lane_head assign)
{
    artel__lane_head answer = serve_say(b, SERVE_CHIEF, serve_install, serve_list(b, ARTEL__PART_STATE));
    assert_true(answer.flags == ARTEL__ANSWER_OK && answer.install == SERVE_INSTALLED);
    assert_int_equal(serve_say(b, SERVE_CHIEF, assign, 0).flags, ARTEL__ANSWER_OK);
}

artel__lane_head serve_push_of(uint64_t item)
{
    return (artel__lane_head){.op = ARTEL__SERVE_PUSH, .install = SERVE_INSTALLED, .item = item, .rate = 0.1};
}

uint64_t serve_position(serve_bench *b)
{
    artel__lane_head answer =
        serve_say(b, SERVE_WORKER, (artel__lane_head){.op = ARTEL__SERVE_PULL, .install = SERVE_INSTALLED}, 0);
    assert_int_equal(answer.flags, ARTEL__ANSWER_OK);
    return answer.position;
}

bool serve_gives_zeros(serve_bench *b, uint64_t item)
{
    artel__lane_slot slot = {.room = 0};
    artel__lane *lane = &b->lane[SERVE_WORKER];
    artel__lane_head head;
    int count = serve_list(b, ARTEL__PART_VALUES);
    serve_call(b, SERVE_WORKER, &slot,
               (artel__lane_head){.op = ARTEL__SERVE_PULL, .install = SERVE_INSTALLED, .b = item}, 0);
    lane_await(lane, &slot);
    assert_int_equal(artel__lane_take(lane, &slot, &head), ARTEL_OK);
    bool same = true;
    artel__slot_at at = {0, 0};
    for (int i = 0; i < count; i++) {
        const void *values = artel__slot_next(&slot, &at, b->piece[i].bytes);
        assert_non_null(values);
        same = same && memcmp(values, b->piece[i].data, b->piece[i].bytes) == 0;
    }
    lane_hear(b->ctx, lane, &slot, NULL);
    return same;
}
