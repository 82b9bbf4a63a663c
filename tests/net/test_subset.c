/* SPDX-License-Identifier: Apache-2.0 */
/* The first ranks of an endpoint as an endpoint of their own: who belongs to it, what goes through to the endpoint
 * behind it, and that both can be used side by side. That it does all that a transport must do is tested by
 * test_transport.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "net/inproc.h"
#include "net/subset.h"

enum {
    RANKS = 4,
    PART = 3 /* ranks of the subset */
};

typedef struct group {
    artel_context *ctx;
    artel__fabric *fabric;
    artel__endpoint *whole[RANKS];
    artel__subset part[PART];
} group;

static void open_group(group *g)
{
    assert_int_equal(artel_context_create(NULL, &g->ctx), ARTEL_OK);
    assert_int_equal(artel__fabric_create(g->ctx, RANKS, false, &g->fabric), ARTEL_OK);
    for (int r = 0; r < RANKS; r++) g->whole[r] = artel__fabric_endpoint(g->fabric, r);
    for (int r = 0; r < PART; r++) artel__subset_init(&g->part[r], g->whole[r], PART);
}

static void close_group(group *g)
{
    artel__fabric_destroy(g->fabric);
    artel_context_destroy(g->ctx);
}

static artel__net_request request_of(int peer, uint32_t slice, const artel__net_piece *piece)
{
    artel__net_request r = {.peer = peer, .piece = piece, .pieces = piece ? 1 : 0};
    r.frame = (artel__frame){
        .kind = ARTEL__FRAME_NODES, .generation = 1, .step = 2, .collective = 3, .node = 4, .slice = slice};
    return r;
}

/* Both sides of one message of one byte. */
typedef struct message {
    uint8_t byte;
    artel__net_piece piece;
    artel__net_request send, receive;
    artel__endpoint *from, *to;
} message;

static void post(message *m, artel__endpoint *from, artel__endpoint *to, uint32_t slice, uint8_t byte)
{
    *m = (message){.byte = byte, .from = from, .to = to};
    m->piece = (artel__net_piece){&m->byte, 1};
    m->send = request_of(to->rank, slice, &m->piece);
    m->receive = request_of(from->rank, slice, NULL);
    assert_int_equal(artel__net_send(from, &m->send), ARTEL_OK);
    assert_int_equal(artel__net_receive(to, &m->receive), ARTEL_OK);
}

static void arrive(message *m)
{
    for (int i = 0; i < 100 && !artel__net_done(&m->receive); i++) {
        assert_int_equal(artel__net_progress(m->from), ARTEL_OK);
        assert_int_equal(artel__net_progress(m->to), ARTEL_OK);
    }
    assert_true(artel__net_done(&m->receive));
    assert_int_equal(*(const uint8_t *)artel__net_part(&m->receive, 0, 0), m->byte);
    assert_int_equal(artel__net_release(m->to, &m->receive), ARTEL_OK);
    assert_true(artel__net_done(&m->send));
}

static void deliver(artel__endpoint *from, artel__endpoint *to)
{
    message m;
    post(&m, from, to, 77, 9);
    arrive(&m);
}

static void looks_like_what_is_behind(void **state)
{
    (void)state;
    group g;
    open_group(&g);
    for (int r = 0; r < PART; r++) {
        const artel__endpoint *part = &g.part[r].base, *whole = g.whole[r];
        assert_int_equal(part->rank, r);
        assert_int_equal(part->ranks, PART);
        assert_ptr_equal(part->ctx, g.ctx);
        assert_string_equal(part->ops->name, whole->ops->name);
        assert_int_equal(part->ops->caps, whole->ops->caps);
    }
    close_group(&g);
}

/* Ranks of the whole that do not belong to it are strangers, and nothing is posted to them. */
static void others_are_no_peers(void **state)
{
    (void)state;
    group g;
    open_group(&g);
    uint8_t byte = 1;
    artel__net_piece piece = {&byte, 1};
    artel__net_request send = request_of(PART, 0, &piece), receive = request_of(PART, 0, NULL);
    assert_int_equal(artel__net_send(&g.part[0].base, &send), ARTEL_ERROR_INTERNAL);
    artel__operation_begin(g.ctx);
    assert_int_equal(artel__net_receive(&g.part[0].base, &receive), ARTEL_ERROR_INTERNAL);
    artel__operation_begin(g.ctx);
    assert_int_equal(atomic_load(&send.state), ARTEL__NET_IDLE);
    assert_int_equal(atomic_load(&receive.state), ARTEL__NET_IDLE);
    deliver(g.whole[0], g.whole[PART]);
    close_group(&g);
}

/* Messages of the whole and of the part at once, in every combination of who is progressed; they differ in their
 * frames. */
static void both_at_once(void **state)
{
    (void)state;
    group g;
    open_group(&g);
    message m[4];
    post(&m[0], &g.part[0].base, &g.part[2].base, 0, 10);
    post(&m[1], g.whole[0], g.whole[2], 1, 11);
    post(&m[2], &g.part[0].base, g.whole[2], 2, 12);
    post(&m[3], g.whole[0], &g.part[2].base, 3, 13);
    for (int i = 3; i >= 0; i--) arrive(&m[i]);
    deliver(g.whole[3], g.whole[0]);
    close_group(&g);
}

/* One that is withdrawn meets nobody. */
static void withdrawn(void **state)
{
    (void)state;
    group g;
    open_group(&g);
    message m;
    post(&m, &g.part[1].base, &g.part[0].base, 5, 1);
    artel__net_withdraw(&g.part[0].base, &m.receive);
    artel__net_withdraw(&g.part[1].base, &m.send);
    assert_int_equal(atomic_load(&m.send.state), ARTEL__NET_IDLE);
    post(&m, &g.part[1].base, &g.part[0].base, 5, 2);
    arrive(&m);
    close_group(&g);
}

static void assert_all_progress(const group *g, artel_status status)
{
    for (int r = 0; r < RANKS; r++) assert_int_equal(artel__net_progress(g->whole[r]), status);
    for (int r = 0; r < PART; r++)
        assert_int_equal(artel__net_progress((artel__endpoint *)(uintptr_t)&g->part[r].base), status);
}

/* Whichever of the two is cancelled, the other is, and either ends it. */
static void cancelled_together(void **state)
{
    (void)state;
    group g;
    open_group(&g);
    for (int way = 0; way < 4; way++) {
        artel__net_cancel(way & 1 ? g.whole[1] : &g.part[1].base);
        artel__net_wait(&g.part[0].base); /* does not block: something has happened */
        assert_all_progress(&g, ARTEL_ERROR_CANCELLED);
        for (int r = 0; r < RANKS; r++) artel__net_resume(way & 2 || r >= PART ? g.whole[r] : &g.part[r].base);
        assert_all_progress(&g, ARTEL_OK);
        deliver(&g.part[2].base, &g.part[0].base);
    }
    close_group(&g);
}

/* It owns nothing; a subset of a subset is one. */
static void closed_and_nested(void **state)
{
    (void)state;
    group g;
    open_group(&g);
    artel__subset inner[2];
    for (int r = 0; r < 2; r++) artel__subset_init(&inner[r], &g.part[r].base, 2);
    deliver(&inner[0].base, &inner[1].base);
    artel__net_request stranger = request_of(2, 0, NULL);
    assert_int_equal(artel__net_receive(&inner[0].base, &stranger), ARTEL_ERROR_INTERNAL);
    artel__operation_begin(g.ctx);
    for (int r = 0; r < 2; r++) artel__net_close(&inner[r].base);
    deliver(&g.part[0].base, &g.part[1].base);
    for (int r = 0; r < PART; r++) artel__net_close(&g.part[r].base);
    deliver(g.whole[0], g.whole[1]);
    close_group(&g);
}

static bool always(artel__endpoint *endpoint)
{
    (void)endpoint;
    return true;
}

static void borrowers_are_those_behind(void **state)
{
    (void)state;
    artel__transport_ops ops = {.name = "fake"};
    artel__endpoint whole = {.ops = &ops, .rank = 0, .ranks = RANKS};
    artel__subset part;
    artel__subset_init(&part, &whole, PART);
    assert_false(artel__net_has_borrower(&part.base)); /* the slot is optional */
    ops.has_borrower = always;
    assert_true(artel__net_has_borrower(&part.base));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_like_what_is_behind),
        cmocka_unit_test(others_are_no_peers),
        cmocka_unit_test(both_at_once),
        cmocka_unit_test(withdrawn),
        cmocka_unit_test(cancelled_together),
        cmocka_unit_test(closed_and_nested),
        cmocka_unit_test(borrowers_are_those_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
