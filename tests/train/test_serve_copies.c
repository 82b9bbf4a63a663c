/* SPDX-License-Identifier: Apache-2.0 */
/* A part of the server that has a copy at another one, or is one: nothing is answered before copies have it, they apply
 * in order, and what goes with a copy is all that a head needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "help_serve.h"

/* What the server sends on, at SERVE_OTHER; in `slot` until it is answered. */
static artel__lane_head take_forward(serve_bench *b, artel__lane_slot *slot)
{
    artel__lane_head head;
    assert_int_equal(artel__lane_expect(&b->forward, slot, 0), ARTEL_OK);
    lane_await(&b->forward, slot);
    assert_int_equal(artel__lane_take(&b->forward, slot, &head), ARTEL_OK);
    return head;
}

/* sync:2. What a server has kept goes with a copy of the part, from which a share is then made again; and it gives it
 * away with a copy, in its turn. */
static void what_was_kept_goes_with_a_copy(void **state)
{
    serve_bench *b = *state;
    artel__lane_slot asked = {.room = 0}, given = {.room = 0};
    artel__lane_head copy = serve_install,
                     give = {.op = ARTEL__SERVE_COPY, .install = SERVE_INSTALLED, .a = SERVE_OTHER, .b = 3};
    static struct kept {
        uint64_t number;
        float value[1 << 12];
    } kept = {1, {0}};
    static float twos[1 << 12];
    for (size_t i = 0; i < sizeof twos / sizeof *twos; i++) twos[i] = 2;
    serve_take_some(b, 2);
    size_t bytes =
        sizeof kept.number + artel__entries_bytes(b->entry, serve_list(b, ARTEL__PART_VALUES)); /* all are 0 */
    assert_in_range(bytes, sizeof kept.number + 1, sizeof kept);
    int count = serve_list(b, ARTEL__PART_STATE);
    copy.flags = ARTEL__FLAG_COPY;
    copy.a = 1;
    for (int i = 0; i < count; i++) b->piece[i].data = twos; /* what it is now */
    b->piece[count] = (artel__net_piece){&kept, bytes};
    assert_int_equal(serve_say(b, SERVE_OTHER, copy, count + 1).flags, ARTEL__ANSWER_OK);
    assert_int_equal(serve_say(b, SERVE_CHIEF, serve_head_of_part, 0).flags, ARTEL__ANSWER_OK);
    assert_false(serve_gives_zeros(b, 0));
    assert_true(serve_gives_zeros(b, 1));
    assert_false(serve_gives_zeros(b, 2));
    serve_call(b, SERVE_CHIEF, &asked, give, 0);
    artel__lane_head head = take_forward(b, &given);
    assert_true(head.op == ARTEL__SERVE_INSTALL && head.flags == ARTEL__FLAG_COPY && head.a == 1);
    artel__slot_at at = {0, 0};
    count = serve_list(b, ARTEL__PART_STATE);
    for (int i = 0; i < count; i++) assert_non_null(artel__slot_next(&given, &at, b->entry[i].bytes));
    const void *again = artel__slot_next(&given, &at, bytes);
    assert_true(again && memcmp(again, &kept, bytes) == 0 && at.offset == given.length);
    assert_int_equal(artel__lane_answer(&b->forward, &given, &(artel__lane_head){.op = ARTEL__SERVE_INSTALL}, NULL, 0),
                     ARTEL_OK);
    lane_hear(b->ctx, &b->lane[SERVE_CHIEF], &asked, NULL);
    artel__lane_withdraw(&b->forward, &given);
    artel__slot_fini(b->ctx, &given);
}

/* Whether artel status names the copy that the part waits for, as it was told last. */
static bool names_awaited(serve_bench *b)
{
    pthread_mutex_lock(&b->cluster.mutex);
    bool names = strstr(b->cluster.status.told, "\"waits_for\": \"an answer of ps 1\"") != NULL;
    pthread_mutex_unlock(&b->cluster.mutex);
    return names;
}

static void a_head_answers_when_its_copy_has_it(void **state)
{
    serve_bench *b = *state;
    artel__lane_slot push = {.room = 0}, pull = {.room = 0}, copy = {.room = 0};
    artel__lane_head assign = serve_head_of_part;
    assign.b = 1 + SERVE_OTHER;
    serve_give_part(b, assign);
    serve_call(b, SERVE_WORKER, &push, serve_push_of(0), serve_list(b, ARTEL__PART_UPDATE));
    artel__lane_head head = take_forward(b, &copy);
    assert_true(head.op == ARTEL__SERVE_FORWARD && head.item == 0 && head.position == 0 &&
                head.install == SERVE_INSTALLED);
    serve_call(b, SERVE_WORKER, &pull, (artel__lane_head){.op = ARTEL__SERVE_PULL, .install = SERVE_INSTALLED}, 0);
    assert_int_equal(serve_say(b, SERVE_CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).a,
                     1); /* so it has looked at all that came before */
    assert_int_equal(artel__net_progress(b->lane[SERVE_WORKER].endpoint), ARTEL_OK);
    assert_false(artel__slot_arrived(&push) || artel__slot_arrived(&pull));
    while (!names_awaited(b)) serve_say(b, SERVE_CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0);
    assert_int_equal(artel__lane_answer(&b->forward, &copy, &(artel__lane_head){.op = ARTEL__SERVE_FORWARD}, NULL, 0),
                     ARTEL_OK);
    assert_int_equal(lane_hear(b->ctx, &b->lane[SERVE_WORKER], &push, NULL).position, 1);
    assert_int_equal(lane_hear(b->ctx, &b->lane[SERVE_WORKER], &pull, NULL).position, 1);
    artel__lane_withdraw(&b->forward, &copy);
    artel__slot_fini(b->ctx, &copy);
}

/* While a copy has not answered, an answer waits that speaks of the part: whoever takes that away fits nothing. */
static void a_busy_part_is_not_dropped(void **state)
{
    serve_bench *b = *state;
    static const artel__lane_head away[] = {
        {.op = ARTEL__SERVE_DROP},
        {.op = ARTEL__SERVE_INSTALL, .install = SERVE_INSTALLED, .part = 1 << 16},
        {.op = ARTEL__SERVE_INSTALL, .install = SERVE_INSTALLED + 1, .part = 1 | 2 << 16}};
    for (size_t i = 0; i < sizeof away / sizeof *away; i++) {
        artel__lane_slot push = {.room = 0}, copy = {.room = 0};
        artel__lane_head assign = serve_head_of_part;
        assign.b = 1 + SERVE_OTHER;
        if (!b->runs) serve_begin_generation(b);
        serve_give_part(b, assign);
        serve_call(b, SERVE_WORKER, &push, serve_push_of(0), serve_list(b, ARTEL__PART_UPDATE));
        assert_int_equal(take_forward(b, &copy).op, ARTEL__SERVE_FORWARD);
        artel__lane_withdraw(&b->forward, &copy); /* unanswered */
        artel__operation_begin(b->fit.ctx);
        assert_int_equal(serve_end_by(b, SERVE_CHIEF, away[i], 0), ARTEL_ERROR_INVALID);
        assert_non_null(strstr(artel_context_error(b->fit.ctx)->what, "does not fit this part of the variables"));
        artel__lane_withdraw(&b->lane[SERVE_WORKER], &push);
        artel__slot_fini(b->ctx, &push);
        artel__slot_fini(b->ctx, &copy);
    }
}

static void a_copy_applies_in_order(void **state)
{
    serve_bench *b = *state;
    artel__lane_slot slot[2] = {{.room = 0}};
    artel__lane_head assign = serve_head_of_part,
                     forward = {
                         .op = ARTEL__SERVE_FORWARD, .install = SERVE_INSTALLED, .item = 1, .rate = 0.1, .position = 1};
    assign.flags = 0;
    serve_give_part(b, assign);
    int count = serve_list(b, ARTEL__PART_UPDATE);
    serve_call(b, SERVE_OTHER, &slot[0], forward, count);
    forward.item = forward.position = 0;
    serve_call(b, SERVE_OTHER, &slot[1], forward, count);
    assert_int_equal(lane_hear(b->ctx, &b->lane[SERVE_OTHER], &slot[1], NULL).position, 1);
    assert_int_equal(lane_hear(b->ctx, &b->lane[SERVE_OTHER], &slot[0], NULL).position, 2);
}

/* After many updates the bits that say which ones a part has are more than its variables. */
static void a_copy_has_the_bits_of_a_long_run(void **state)
{
    serve_bench *b = *state;
    enum {
        EPOCHS = 10000000,
        BITS = 6 << 20
    };
    serve_end_generation(b); /* the server reads the epochs */
    b->fit.options.epochs = EPOCHS;
    serve_begin_generation(b);
    uint8_t *bits = calloc(1, BITS);
    artel__lane_head copy = serve_install;
    int count = serve_list(b, ARTEL__PART_STATE);
    copy.flags = ARTEL__FLAG_COPY;
    bits[0] = 1;
    b->piece[count] = (artel__net_piece){bits, BITS};
    assert_int_equal(serve_say(b, SERVE_OTHER, copy, count + 1).flags, ARTEL__ANSWER_OK);
    assert_int_equal(serve_say(b, SERVE_CHIEF, serve_head_of_part, 0).flags, ARTEL__ANSWER_OK);
    count = serve_list(b, ARTEL__PART_UPDATE);
    assert_int_equal(serve_say(b, SERVE_WORKER, serve_push_of(0), count).flags, ARTEL__ANSWER_ALREADY);
    assert_int_equal(serve_say(b, SERVE_WORKER, serve_push_of(1), count).flags, ARTEL__ANSWER_OK);
    free(bits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_kept_goes_with_a_copy, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(a_head_answers_when_its_copy_has_it, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(a_busy_part_is_not_dropped, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(a_copy_applies_in_order, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(a_copy_has_the_bits_of_a_long_run, serve_open, serve_close),
    };
    return cmocka_run_group_tests_name("serve copies", tests, NULL, NULL);
}
