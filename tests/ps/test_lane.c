/* SPDX-License-Identifier: Apache-2.0 */
/* Calls over lanes: their bytes, several under way at once, answers in another order, an end in the middle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/context.h"
#include "base/lend.h"
#include "net/inproc.h"
#include "ps/lane.h"

typedef struct pair {
    artel_context *ctx;
    artel__fabric *fabric;
    artel__lane client, server;
} pair;

static int open_pair(void **state)
{
    static pair p;
    assert_int_equal(artel_context_create(NULL, &p.ctx), ARTEL_OK);
    assert_int_equal(artel__fabric_create(p.ctx, 2, false, &p.fabric), ARTEL_OK);
    p.client = (artel__lane){.endpoint = artel__fabric_endpoint(p.fabric, 0), .peer = 1, .job = 7, .generation = 1};
    p.server = (artel__lane){.endpoint = artel__fabric_endpoint(p.fabric, 1), .peer = 0, .job = 7, .generation = 1};
    *state = &p;
    return 0;
}

static int close_pair(void **state)
{
    pair *p = *state;
    artel__fabric_destroy(p->fabric);
    artel_context_destroy(p->ctx);
    return 0;
}

static void heads_have_these_bytes(void **state)
{
    (void)state;
    const artel__lane_head head = {
        .op = 6, .flags = 2, .part = 0x30001, .install = 1, .item = 2, .position = 3, .rate = -1, .a = 4, .b = 5};
    static const uint8_t golden[ARTEL__LANE_HEAD] = {6, 2, 0, 0, 1,    0,    3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2,
                                                     0, 0, 0, 0, 0,    0,    0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                     0, 0, 0, 0, 0xf0, 0xbf, 4, 0, 0, 0, 0, 0, 0, 0, 5};
    uint8_t bytes[ARTEL__LANE_HEAD];
    artel__lane_head back;
    artel__slot_encode(&head, bytes);
    assert_memory_equal(bytes, golden, sizeof golden);
    artel__slot_decode(bytes, &back);
    assert_true(back.op == 6 && back.flags == 2 && back.part == 0x30001 && back.install == 1 && back.item == 2 &&
                back.position == 3);
    assert_true(back.rate == -1 && back.a == 4 && back.b == 5);
}

static void move(pair *p)
{
    for (int i = 0; i < 4; i++) {
        assert_int_equal(artel__net_progress(p->client.endpoint), ARTEL_OK);
        assert_int_equal(artel__net_progress(p->server.endpoint), ARTEL_OK);
    }
}

/* Two calls wait; the second is answered first, each with what it has sent, and more. */
static void answers_come_in_any_order(void **state)
{
    pair *p = *state;
    artel__lane_slot ask[2] = {{.room = 0}}, hear[2] = {{.room = 0}};
    const char *word[] = {"first", "the second"};
    char said[2][32];
    for (int i = 0; i < 2; i++) {
        const artel__lane_head head = {.op = 5, .item = 40 + (uint64_t)i};
        artel__net_piece piece[] = {{word[i], strlen(word[i]) + 1}, {"more", 5}};
        assert_int_equal(artel__lane_call(&p->client, &ask[i], &head, piece, 2, 64), ARTEL_OK);
        assert_int_equal(artel__lane_expect(&p->server, &hear[i], 64), ARTEL_OK);
    }
    move(p);
    for (int i = 1; i >= 0; i--) {
        artel__lane_head head;
        assert_true(artel__slot_arrived(&hear[i]) && !artel__slot_arrived(&ask[i]));
        assert_int_equal(artel__lane_take(&p->server, &hear[i], &head), ARTEL_OK);
        assert_int_equal(head.item, 40 + i);
        size_t long_as = strlen(word[i]) + 1;
        strcpy(said[i], artel__slot_data(&hear[i], 0, 0, long_as));
        assert_string_equal(said[i], word[i]);
        assert_string_equal(artel__slot_data(&hear[i], 1, artel__net_padded(long_as), 5), "more");
        assert_null(artel__slot_data(&hear[i], 1, artel__net_padded(long_as), 500)); /* it has not been sent */
        assert_null(artel__slot_data(&hear[i], 0, SIZE_MAX - 7, 8));
        head.a = 9;
        artel__net_piece piece = {said[i], sizeof said[i]};
        assert_int_equal(artel__lane_answer(&p->server, &hear[i], &head, &piece, 1), ARTEL_OK);
        move(p);
        assert_true(artel__slot_arrived(&ask[i]));
        assert_int_equal(artel__lane_take(&p->client, &ask[i], &head), ARTEL_OK);
        assert_true(head.a == 9 && head.item == 40 + (uint64_t)i && ask[i].length == sizeof said[i]);
        assert_string_equal(artel__slot_data(&ask[i], 0, 0, sizeof said[i]), word[i]);
        assert_int_equal(artel__lane_done(&p->client, &ask[i]), ARTEL_OK);
        move(p);
        assert_true(artel__slot_left(&hear[i]));
        artel__lane_withdraw(&p->server, &hear[i]);
    }
    for (int i = 0; i < 2; i++) {
        artel__slot_fini(p->ctx, &ask[i]);
        artel__slot_fini(p->ctx, &hear[i]);
    }
}

/* Drivers that lend hand over pieces as the sender had them: there must be as many, each as long as was expected. */
static void pieces_are_those_that_were_expected(void **state)
{
    (void)state;
    uint8_t head[ARTEL__LANE_HEAD] = {0}, first[16], second[8];
    artel__net_piece piece[] = {{head, sizeof head}, {first, sizeof first}, {second, sizeof second}};
    artel__lane_slot slot = {.receive = {.piece = piece, .pieces = 3}, .length = sizeof first + sizeof second};
    assert_ptr_equal(artel__slot_data(&slot, 0, 0, 16), first);
    assert_ptr_equal(artel__slot_data(&slot, 1, 16, 8), second);
    assert_null(artel__slot_data(&slot, 0, 0, 24));
    assert_null(artel__slot_data(&slot, 1, 16, 16));
    assert_null(artel__slot_data(&slot, 2, 24, 8));
}

static bool one_borrows(artel__endpoint *endpoint)
{
    (void)endpoint;
    return true;
}

/* What is said from a large room lies, head and all, in one block that other processes can be handed, if one borrows;
 * the room is kept, and grows. */
static void a_room_is_lent_with_its_head(void **state)
{
    pair *p = *state;
    artel__lane_slot ask = {.room = 0}, hear = {.room = 0};
    const artel__transport_ops *own = p->server.endpoint->ops;
    artel__transport_ops lending = *own;
    lending.has_borrower = one_borrows;
    int file = artel__sealed_file(1);
    bool has_files = file >= 0;
    if (has_files) close(file);
    const uint8_t *last = NULL;
    for (int i = 0; i < 5; i++) {
        size_t bytes = i < 2 ? 100000 : i == 2 ? 300000 : i == 3 ? 0 : 600000;
        bool lends = has_files && i < 4;
        p->server.endpoint->ops = lends ? &lending : own;
        artel__lane_head head = {.op = 5, .item = 7};
        artel__lendable block;
        uint8_t *room;
        assert_int_equal(artel__lane_call(&p->client, &ask, &head, NULL, 0, 0), ARTEL_OK);
        assert_int_equal(artel__lane_expect(&p->server, &hear, 8), ARTEL_OK);
        move(p);
        assert_int_equal(artel__lane_take(&p->server, &hear, &head), ARTEL_OK);
        assert_int_equal(artel__slot_room(&p->server, &hear, bytes, &room), ARTEL_OK);
        assert_true((room == last) == (i == 1 || i == 3)); /* there was room enough */
        last = room;
        memset(room, i + 1, bytes);
        artel__net_piece piece[] = {{room, bytes / 4}, {room + bytes / 4, bytes - bytes / 4}};
        assert_int_equal(artel__lane_answer(&p->server, &hear, &head, piece, bytes ? 2 : 0), ARTEL_OK);
        const artel__net_piece *sent = hear.send.piece;
        assert_true(!bytes || artel__find_lendable(p->ctx, room, bytes, &block) == lends);
        if (bytes && lends) assert_true(artel__lendable_holds(&block, sent->data, sent->bytes));
        assert_true(bytes ? sent->data == room - ARTEL__LANE_HEAD : sent->data == hear.head);
        move(p);
        assert_int_equal(artel__lane_take(&p->client, &ask, &head), ARTEL_OK);
        assert_true(head.item == 7 && ask.length == bytes);
        const uint8_t *second = bytes ? artel__slot_data(&ask, 1, bytes / 4, bytes - bytes / 4) : NULL;
        assert_true(!bytes || (second && second[0] == i + 1 && second[bytes / 2] == i + 1));
        assert_int_equal(artel__lane_done(&p->client, &ask), ARTEL_OK);
        move(p);
        assert_true(artel__slot_left(&hear));
        artel__lane_withdraw(&p->server, &hear);
    }
    artel__slot_fini(p->ctx, &ask);
    artel__slot_fini(p->ctx, &hear);
}

static void longer_ones_are_refused_and_waiting_ends(void **state)
{
    pair *p = *state;
    artel__lane_slot ask = {.room = 0}, hear = {.room = 0};
    artel__lane_head head = {.op = 5};
    char many[100] = "";
    artel__net_piece piece = {many, sizeof many};
    assert_int_equal(artel__lane_call(&p->client, &ask, &head, &piece, 1, 0), ARTEL_OK);
    assert_int_equal(artel__lane_expect(&p->server, &hear, 50), ARTEL_OK);
    move(p);
    assert_true(artel__slot_arrived(&hear));
    assert_int_equal(artel__lane_take(&p->server, &hear, &head), ARTEL_ERROR_INVALID);
    artel__lane_withdraw(&p->server, &hear);
    artel__lane_withdraw(&p->client, &ask);
    move(p);
    assert_false(artel__slot_arrived(&ask));
    artel__slot_fini(p->ctx, &ask);
    artel__slot_fini(p->ctx, &hear);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_have_these_bytes),
        cmocka_unit_test_setup_teardown(answers_come_in_any_order, open_pair, close_pair),
        cmocka_unit_test(pieces_are_those_that_were_expected),
        cmocka_unit_test_setup_teardown(a_room_is_lent_with_its_head, open_pair, close_pair),
        cmocka_unit_test_setup_teardown(longer_ones_are_refused_and_waiting_ends, open_pair, close_pair),
    };
    return cmocka_run_group_tests_name("lane", tests, NULL, NULL);
}
