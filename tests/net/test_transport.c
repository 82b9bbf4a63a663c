/* SPDX-License-Identifier: Apache-2.0 */
/* What every transport must do, run over each driver in the table below, and over every transport between
 * hosts (net/far.h) as it is listed, and once more behind another table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "net/inproc.h"
#include "net/subset.h"
#include "support/net_mesh.h"
#include "support/relay.h"

/* A driver opens all endpoints of a group in this process. */
typedef struct driver driver;
struct driver {
    const char *name;
    artel_status (*open)(const driver *how, artel_context *ctx, int ranks, void **place, artel__endpoint **endpoints);
    void (*close)(void *place);
    const artel__far_transport *far; /* of a transport between hosts */
    bool secure, shares;
};

static artel_status open_fabric(artel_context *ctx, int ranks, bool spin, void **place, artel__endpoint **endpoints)
{
    artel__fabric *fabric;
    ARTEL_TRY(artel__fabric_create(ctx, ranks, spin, &fabric));
    for (int r = 0; r < ranks; r++) endpoints[r] = artel__fabric_endpoint(fabric, r);
    *place = fabric;
    return ARTEL_OK;
}

static artel_status open_sleeping(const driver *how, artel_context *ctx, int ranks, void **place,
                                  artel__endpoint **endpoints)
{
    (void)how;
    return open_fabric(ctx, ranks, false, place, endpoints);
}

static artel_status open_spinning(const driver *how, artel_context *ctx, int ranks, void **place,
                                  artel__endpoint **endpoints)
{
    (void)how;
    return open_fabric(ctx, ranks, true, place, endpoints);
}

static void close_fabric(void *place)
{
    artel__fabric_destroy(place);
}

/* All but the last of a fabric's ranks. */
typedef struct part {
    artel__fabric *fabric;
    artel__subset *subset;
} part;

static artel_status open_part(const driver *how, artel_context *ctx, int ranks, void **place,
                              artel__endpoint **endpoints)
{
    (void)how;
    artel__fabric *fabric;
    ARTEL_TRY(artel__fabric_create(ctx, ranks + 1, false, &fabric));
    part *p = calloc(1, sizeof *p);
    p->fabric = fabric;
    p->subset = calloc((size_t)ranks, sizeof *p->subset);
    for (int r = 0; r < ranks; r++) {
        artel__subset_init(&p->subset[r], artel__fabric_endpoint(p->fabric, r), ranks);
        endpoints[r] = &p->subset[r].base;
    }
    *place = p;
    return ARTEL_OK;
}

static void close_part(void *place)
{
    part *p = place;
    artel__fabric_destroy(p->fabric);
    free(p->subset);
    free(p);
}

static artel_status open_mesh(const driver *how, artel_context *ctx, int ranks, void **place,
                              artel__endpoint **endpoints)
{
    support_mesh *mesh = calloc(1, sizeof *mesh);
    mesh->ctx = ctx;
    mesh->ranks = ranks;
    mesh->transport = how->far;
    mesh->secure = how->secure;
    mesh->shares = how->shares;
    artel_status status = support_mesh_open(mesh);
    if (status < 0) {
        free(mesh);
        return status;
    }
    for (int r = 0; r < ranks; r++) endpoints[r] = mesh->endpoint[r];
    *place = mesh;
    return ARTEL_OK;
}

static void close_mesh(void *place)
{
    support_mesh_close(place);
    free(place);
}

enum {
    MOST_DRIVERS = 64
};

static driver drivers[MOST_DRIVERS] = {
    {.name = "inproc", .open = open_sleeping, .close = close_fabric},
    {.name = "inproc, spinning", .open = open_spinning, .close = close_fabric},
    {.name = "a part of inproc", .open = open_part, .close = close_part},
};
static size_t driver_count = 3;

/* Plain, encrypted, and both where the ranks share memory. */
static void add_far(const artel__far_transport *far)
{
    for (int way = 0; way < 4 && driver_count < MOST_DRIVERS; way++)
        drivers[driver_count++] = (driver){.name = far->name,
                                           .open = open_mesh,
                                           .close = close_mesh,
                                           .far = far,
                                           .secure = way % 2 == 1,
                                           .shares = way >= 2};
}

enum {
    RANKS = 4
};

typedef struct group {
    artel_context *ctx;
    const driver *driver;
    void *place;
    artel__endpoint *endpoint[RANKS];
} group;

static void open_group(group *g, size_t which)
{
    assert_int_equal(artel_context_create(NULL, &g->ctx), ARTEL_OK);
    g->driver = &drivers[which];
    assert_int_equal(g->driver->open(g->driver, g->ctx, RANKS, &g->place, g->endpoint), ARTEL_OK);
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(g->endpoint[r]->rank, r);
        assert_int_equal(g->endpoint[r]->ranks, RANKS);
    }
}

static void close_group(group *g)
{
    g->driver->close(g->place);
    artel_context_destroy(g->ctx);
}

static void over_drivers(void (*check)(group *))
{
    for (size_t i = 0; i < driver_count; i++) {
        group g;
        open_group(&g, i);
        check(&g);
        close_group(&g);
    }
}

static artel__net_request request_of(int peer, uint32_t slice, const artel__net_piece *piece, int pieces)
{
    artel__net_request r = {.peer = peer, .piece = piece, .pieces = pieces};
    r.frame = (artel__frame){
        .kind = ARTEL__FRAME_NODES, .generation = 1, .step = 2, .collective = 3, .node = 4, .slice = slice};
    return r;
}

/* All ranks belong to this thread, so all are moved. */
static void progress_until_done(group *g, artel__net_request *request)
{
    int64_t until = artel__now_ns() + INT64_C(120000000000);
    while (!artel__net_done(request) && artel__now_ns() < until) {
        for (int r = 0; r < RANKS; r++) assert_int_equal(artel__net_progress(g->endpoint[r]), ARTEL_OK);
    }
    assert_true(artel__net_done(request));
}

/* Both orders of posting; the bytes, the length, the padding of parts; a send is not done before the release. */
static void check_delivery(group *g)
{
    const char text[] = "thirteen byte", more[] = "and others";
    artel__net_piece pieces[] = {{text, 13}, {more, 10}};
    for (int receive_first = 0; receive_first < 2; receive_first++) {
        artel__net_request send = request_of(2, 0, pieces, 2), receive = request_of(1, 0, NULL, 0);
        if (receive_first) assert_int_equal(artel__net_receive(g->endpoint[2], &receive), ARTEL_OK);
        assert_int_equal(artel__net_send(g->endpoint[1], &send), ARTEL_OK);
        if (!receive_first) assert_int_equal(artel__net_receive(g->endpoint[2], &receive), ARTEL_OK);
        progress_until_done(g, &receive);
        assert_int_equal(receive.frame.length, 16 + 16);
        assert_memory_equal(artel__net_part(&receive, 0, 0), text, 13);
        assert_memory_equal(artel__net_part(&receive, 1, artel__net_padded(13)), more, 10);
        if (g->endpoint[2]->ops->caps & ARTEL__NET_LENDS) {
            assert_ptr_equal(artel__net_part(&receive, 0, 0), text);
            assert_false(artel__net_done(&send));
        }
        artel__net_release(g->endpoint[2], &receive);
        progress_until_done(g, &send);
    }
}

/* Larger than any buffer of a driver, in pieces of odd lengths, both ways at once. */
static void check_large(group *g)
{
    enum {
        BYTES = 3000001
    };
    static uint8_t memory[2][BYTES];
    for (int i = 0; i < BYTES; i++) {
        memory[0][i] = (uint8_t)(i * 31 >> 3);
        memory[1][i] = (uint8_t)(i * 17 >> 5);
    }
    artel__net_piece piece[2][3];
    artel__net_request send[2], receive[2];
    for (int r = 0; r < 2; r++) {
        piece[r][0] = (artel__net_piece){memory[r], 1000003};
        piece[r][1] = (artel__net_piece){memory[r] + 1000003, 5};
        piece[r][2] = (artel__net_piece){memory[r] + 1000008, BYTES - 1000008};
        send[r] = request_of(1 - r, 0, piece[r], 3);
        receive[r] = request_of(1 - r, 0, NULL, 0);
        assert_int_equal(artel__net_receive(g->endpoint[r], &receive[r]), ARTEL_OK);
        assert_int_equal(artel__net_send(g->endpoint[r], &send[r]), ARTEL_OK);
    }
    for (int r = 0; r < 2; r++) {
        const uint8_t *truth = memory[1 - r];
        progress_until_done(g, &receive[r]);
        assert_memory_equal(artel__net_part(&receive[r], 0, 0), truth, 1000003);
        assert_memory_equal(artel__net_part(&receive[r], 1, 1000008), truth + 1000003, 5);
        assert_memory_equal(artel__net_part(&receive[r], 2, 1000016), truth + 1000008, BYTES - 1000008);
        artel__net_release(g->endpoint[r], &receive[r]);
    }
    for (int r = 0; r < 2; r++) progress_until_done(g, &send[r]);
}

/* Messages find their receives by header and source, in the order of sending where headers are equal. */
static void check_matching(group *g)
{
    static const uint8_t value[6] = {10, 11, 12, 13, 14, 15};
    static const int source[6] = {1, 1, 1, 2, 2, 3};
    static const uint32_t slice[6] = {7, 8, 7, 7, 8, 7};
    artel__net_piece piece[6];
    artel__net_request send[6], receive[6];
    for (int i = 0; i < 6; i++) {
        piece[i] = (artel__net_piece){&value[i], 1};
        send[i] = request_of(0, slice[i], &piece[i], 1);
        assert_int_equal(artel__net_send(g->endpoint[source[i]], &send[i]), ARTEL_OK);
    }
    static const int order[6] = {5, 4, 1, 3, 0, 2}; /* 0 before 2: equal headers */
    for (int k = 0; k < 6; k++) {
        int i = order[k];
        receive[i] = request_of(source[i], slice[i], NULL, 0);
        assert_int_equal(artel__net_receive(g->endpoint[0], &receive[i]), ARTEL_OK);
    }
    for (int i = 0; i < 6; i++) {
        progress_until_done(g, &receive[i]);
        assert_int_equal(*(const uint8_t *)artel__net_part(&receive[i], 0, 0), value[i]);
        artel__net_release(g->endpoint[0], &receive[i]);
    }
    for (int i = 0; i < 6; i++) progress_until_done(g, &send[i]);
}

/* Withdrawn requests meet nobody; withdrawing is allowed in every state. */
static void check_withdrawal(group *g)
{
    uint8_t old = 1, new = 2;
    artel__net_piece old_piece = {&old, 1}, new_piece = {&new, 1};
    artel__net_request never = request_of(1, 0, NULL, 0);
    artel__net_withdraw(g->endpoint[0], &never);
    artel__net_request send = request_of(0, 0, &old_piece, 1), receive = request_of(1, 0, NULL, 0);
    assert_int_equal(artel__net_send(g->endpoint[1], &send), ARTEL_OK);
    artel__net_withdraw(g->endpoint[1], &send);
    assert_int_equal(artel__net_receive(g->endpoint[0], &receive), ARTEL_OK);
    assert_false(artel__net_done(&receive));
    artel__net_withdraw(g->endpoint[0], &receive);
    send.piece = &new_piece;
    assert_int_equal(artel__net_send(g->endpoint[1], &send), ARTEL_OK);
    assert_int_equal(artel__net_receive(g->endpoint[0], &receive), ARTEL_OK);
    progress_until_done(g, &receive);
    assert_int_equal(*(const uint8_t *)artel__net_part(&receive, 0, 0), 2);
    artel__net_withdraw(g->endpoint[0], &receive);
    progress_until_done(g, &send);
    artel__net_withdraw(g->endpoint[1], &send);
    assert_int_equal(atomic_load(&send.state), ARTEL__NET_IDLE);
}

static void check_refusals(group *g)
{
    artel__net_request request = request_of(1, 0, NULL, 0);
    assert_int_equal(artel__net_send(g->endpoint[1], &request), ARTEL_ERROR_INTERNAL);
    request.peer = RANKS;
    assert_int_equal(artel__net_receive(g->endpoint[1], &request), ARTEL_ERROR_INTERNAL);
    artel__net_piece huge = {"", ARTEL__FRAME_LONGEST + 1};
    request = request_of(2, 0, &huge, 1);
    artel__operation_begin(g->ctx);
    assert_int_equal(artel__net_send(g->endpoint[1], &request), ARTEL_ERROR_INTERNAL);
}

/* Where memory is lent, a length costs nothing: around 4 GiB none becomes another. */
static void check_lengths(group *g)
{
    const uint64_t around = (uint64_t)UINT32_MAX + 1;
    const uint64_t length[] = {around - 8, around, around + 8, ARTEL__FRAME_LONGEST};
    for (size_t i = 0; i < sizeof length / sizeof *length && g->endpoint[1]->ops->caps & ARTEL__NET_LENDS; i++) {
        artel__net_piece piece[2] = {{"", 8}, {"", length[i] - 8}};
        artel__net_request send = request_of(2, 0, piece, 2), receive = request_of(1, 0, NULL, 0);
        assert_int_equal(artel__net_receive(g->endpoint[2], &receive), ARTEL_OK);
        assert_int_equal(artel__net_send(g->endpoint[1], &send), ARTEL_OK);
        progress_until_done(g, &receive);
        assert_true(receive.frame.length == length[i]);
        assert_true(artel__net_length(receive.piece, receive.pieces) == length[i]);
        artel__net_release(g->endpoint[2], &receive);
        progress_until_done(g, &send);
    }
}

typedef struct waiter {
    artel__endpoint *endpoint;
    artel_status status;
    pthread_t thread;
} waiter;

/* Waits for a message that never comes. */
static void *wait_for_nothing(void *user)
{
    waiter *w = user;
    artel__net_request receive = request_of(0, 99, NULL, 0);
    artel__net_receive(w->endpoint, &receive);
    while ((w->status = artel__net_progress(w->endpoint)) == ARTEL_OK) artel__net_wait(w->endpoint);
    artel__net_withdraw(w->endpoint, &receive);
    return NULL;
}

static void check_cancel(group *g)
{
    waiter waiters[RANKS];
    for (int round = 0; round < 20; round++) {
        for (int r = 1; r < RANKS; r++) {
            waiters[r].endpoint = g->endpoint[r];
            assert_int_equal(pthread_create(&waiters[r].thread, NULL, wait_for_nothing, &waiters[r]), 0);
        }
        artel_status why = round % 2 ? ARTEL_ERROR_NO_MEMORY : ARTEL_OK, said;
        if (why < 0) artel__net_blame(g->endpoint[0], 0, why);
        artel__net_cancel(g->endpoint[0]);
        for (int r = 1; r < RANKS; r++) {
            pthread_join(waiters[r].thread, NULL);
            assert_int_equal(waiters[r].status, ARTEL_ERROR_CANCELLED);
        }
        for (int r = 0; r < RANKS; r++) {
            assert_int_equal(artel__net_progress(g->endpoint[r]), ARTEL_ERROR_CANCELLED);
            assert_true(artel__net_blamed(g->endpoint[r], &said) == 0 && said == why); /* the first, who said it */
            artel__net_resume(g->endpoint[r]);
            assert_int_equal(artel__net_blamed(g->endpoint[r], &said), -1);
            assert_int_equal(artel__net_progress(g->endpoint[r]), ARTEL_OK);
        }
    }
    check_delivery(g);
}

typedef struct player {
    artel__endpoint *endpoint;
    int wrong;
    pthread_t thread;
} player;

/* Ranks 0 and 1 send a number to and fro. */
static void *play(void *user)
{
    player *p = user;
    int rank = p->endpoint->rank;
    for (uint32_t i = 0; i < 2000; i++) {
        uint32_t value = i;
        artel__net_piece piece = {&value, sizeof value};
        artel__net_request request = request_of(1 - rank, i, &piece, 1);
        bool sends = (i & 1) == (uint32_t)rank;
        if (sends)
            artel__net_send(p->endpoint, &request);
        else
            artel__net_receive(p->endpoint, &request);
        while (artel__net_progress(p->endpoint) == ARTEL_OK && !artel__net_done(&request)) artel__net_wait(p->endpoint);
        if (sends) continue;
        if (memcmp(artel__net_part(&request, 0, 0), &i, sizeof i) != 0) p->wrong++;
        artel__net_release(p->endpoint, &request);
    }
    return NULL;
}

static void check_ping_pong(group *g)
{
    player players[2] = {{.endpoint = g->endpoint[0]}, {.endpoint = g->endpoint[1]}};
    uint64_t before = artel__heap_calls(g->ctx);
    for (int r = 0; r < 2; r++) assert_int_equal(pthread_create(&players[r].thread, NULL, play, &players[r]), 0);
    for (int r = 0; r < 2; r++) {
        pthread_join(players[r].thread, NULL);
        assert_int_equal(players[r].wrong, 0);
    }
    assert_int_equal(artel__heap_calls(g->ctx), before);
}

static void delivery(void **state)
{
    (void)state;
    over_drivers(check_delivery);
}

static void large(void **state)
{
    (void)state;
    over_drivers(check_large);
}

static void matching(void **state)
{
    (void)state;
    over_drivers(check_matching);
}

static void withdrawal(void **state)
{
    (void)state;
    over_drivers(check_withdrawal);
}

static void refusals(void **state)
{
    (void)state;
    over_drivers(check_refusals);
}

static void lengths(void **state)
{
    (void)state;
    over_drivers(check_lengths);
}

static void cancelling(void **state)
{
    (void)state;
    over_drivers(check_cancel);
}

static void ping_pong(void **state)
{
    (void)state;
    over_drivers(check_ping_pong);
}

static void failing_allocations(void **state)
{
    (void)state;
    artel_context *ctx;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (size_t i = 0; i < driver_count; i++) {
        void *place;
        artel__endpoint *endpoint[RANKS];
        artel_status status = ARTEL_ERROR_NO_MEMORY;
        for (uint64_t n = 1; status < 0; n++) {
            artel__fail_allocation_after(ctx, n);
            status = drivers[i].open(&drivers[i], ctx, RANKS, &place, endpoint);
            assert_true(status == ARTEL_OK || status == ARTEL_ERROR_NO_MEMORY);
        }
        artel__fail_allocation_after(ctx, 0);
        drivers[i].close(place);
    }
    artel_context_destroy(ctx);
}

int main(void)
{
    for (int i = 0; artel__far_transports[i]; i++) add_far(artel__far_transports[i]);
    add_far(&support_relay);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delivery),   cmocka_unit_test(large),     cmocka_unit_test(matching),
        cmocka_unit_test(withdrawal), cmocka_unit_test(refusals),  cmocka_unit_test(cancelling),
        cmocka_unit_test(lengths),    cmocka_unit_test(ping_pong), cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
