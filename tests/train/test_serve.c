/* SPDX-License-Identifier: Apache-2.0 */
/* The server of parts as it runs in a job (train/serve.c), told by hand what a chief, a worker and another server
 * say: what is of an older state, or of variables that it does not have, is refused; an item counts once; memory
 * that is not to be had is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "help_serve.h"
#include "train/numbers.h"

static void a_stale_view_is_refused(void **state)
{
    serve_bench *b = *state;
    artel__lane_head pull = {.op = ARTEL__SERVE_PULL, .install = SERVE_INSTALLED}, push = serve_push_of(0),
                     fetch = {.op = ARTEL__SERVE_FETCH, .install = SERVE_INSTALLED};
    assert_int_equal(serve_say(b, SERVE_WORKER, pull, 0).flags, ARTEL__ANSWER_STALE); /* nothing has been installed */
    serve_give_part(b, serve_head_of_part);
    pull.install = push.install = fetch.install = SERVE_INSTALLED - 1;
    assert_int_equal(serve_say(b, SERVE_WORKER, pull, 0).flags, ARTEL__ANSWER_STALE);
    assert_int_equal(serve_say(b, SERVE_WORKER, push, serve_list(b, ARTEL__PART_UPDATE)).flags, ARTEL__ANSWER_STALE);
    assert_int_equal(serve_say(b, SERVE_CHIEF, fetch, 0).flags, ARTEL__ANSWER_STALE);
    pull.install = SERVE_INSTALLED;
    pull.part = 1; /* of which it has nothing */
    assert_int_equal(serve_say(b, SERVE_WORKER, pull, 0).flags, ARTEL__ANSWER_STALE);
    assert_int_equal(serve_position(b), 0);
    assert_int_equal(serve_say(b, SERVE_CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).a, 1);
    assert_int_equal(serve_say(b, SERVE_CHIEF, (artel__lane_head){.op = ARTEL__SERVE_DROP}, 0).flags, ARTEL__ANSWER_OK);
    assert_int_equal(serve_say(b, SERVE_CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).a,
                     0); /* what it had is void */
    push.install = SERVE_INSTALLED;
    assert_int_equal(serve_say(b, SERVE_WORKER, push, serve_list(b, ARTEL__PART_UPDATE)).flags, ARTEL__ANSWER_STALE);
}

static void an_unknown_variable_is_refused(void **state)
{
    serve_bench *b = *state;
    serve_give_part(b, serve_head_of_part);
    int count = serve_list(b, ARTEL__PART_UPDATE);
    b->piece[count] = (artel__net_piece){lane_zeros, 40}; /* of a variable that this model does not have */
    assert_int_equal(serve_end_by(b, SERVE_WORKER, serve_push_of(0), count + 1), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(b->fit.ctx)->what, "does not fit this part of the variables"));
    assert_non_null(
        strstr(artel_context_error(b->fit.ctx)->advice, "run the same artel, model and options everywhere"));
}

/* What nobody says who runs the same program: each ends the server with the same words. */
static void what_fits_nothing_is_refused(void **state)
{
    serve_bench *b = *state;
    static const struct {
        int from;
        artel__lane_head head;
    } odd[] = {
        {SERVE_WORKER, {.op = ARTEL__SERVE_PUSH, .install = SERVE_INSTALLED}},               /* without a gradient */
        {SERVE_WORKER, {.op = ARTEL__SERVE_PUSH, .install = SERVE_INSTALLED, .item = 1000}}, /* of a later epoch */
        {SERVE_WORKER,
         {.op = ARTEL__SERVE_PULL,
          .install = SERVE_INSTALLED,
          .part = ARTEL__MOST_SERVERS}}, /* of a part that cannot be */
        {SERVE_WORKER,
         {.op = ARTEL__SERVE_INSTALL, .install = SERVE_INSTALLED, .part = 1 << 16}},              /* the chief's word */
        {SERVE_WORKER, {.op = ARTEL__SERVE_FORWARD, .install = SERVE_INSTALLED}},                 /* a server's */
        {SERVE_WORKER, {.op = ARTEL__SERVE_TICKET, .install = SERVE_INSTALLED}},                  /* to the chief */
        {SERVE_WORKER, {.op = 99, .install = SERVE_INSTALLED}},                                   /* nobody's */
        {SERVE_OTHER, {.op = ARTEL__SERVE_PUSH, .install = SERVE_INSTALLED}},                     /* a worker's */
        {SERVE_OTHER, {.op = ARTEL__SERVE_FORWARD, .install = SERVE_INSTALLED}},                  /* to a copy */
        {SERVE_CHIEF, {.op = ARTEL__SERVE_INSTALL, .install = SERVE_INSTALLED, .part = 1 << 16}}, /* without a state */
        {SERVE_CHIEF, {.op = ARTEL__SERVE_INSTALL, .install = SERVE_INSTALLED, .part = 0}},       /* of no parts */
        {SERVE_CHIEF,
         {.op = ARTEL__SERVE_ASSIGN,
          .install = SERVE_INSTALLED,
          .b = 1 + SERVE_WORKER,
          .part = 1 << 16}},                                              /* a copy at a worker */
        {SERVE_CHIEF, {.op = ARTEL__SERVE_MEET, .b = ARTEL__MEET_HOLDS}}, /* nobody */
        {SERVE_WORKER, {.op = ARTEL__SERVE_MEET, .a = 5, .b = ARTEL__MEET_HOLDS}},
        {SERVE_WORKER, {.op = ARTEL__SERVE_NUMBERS, .install = SERVE_INSTALLED, .part = 1 << 16}}, /* a server's */
        {SERVE_OTHER,
         {.op = ARTEL__SERVE_NUMBERS, .install = SERVE_INSTALLED, .part = 1 << 16}}, /* of which no update wants any */
        {SERVE_CHIEF, {.op = ARTEL__SERVE_COPY, .install = SERVE_INSTALLED, .a = SERVE_RANKS}},  /* to nobody */
        {SERVE_CHIEF, {.op = ARTEL__SERVE_COPY, .install = SERVE_INSTALLED, .a = SERVE_SERVER}}, /* to itself */
        {SERVE_CHIEF,
         {.op = ARTEL__SERVE_ASSIGN,
          .install = SERVE_INSTALLED,
          .b = 1 + SERVE_SERVER,
          .part = 1 << 16}}, /* a copy at itself */
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        if (!b->runs) serve_begin_generation(b);
        serve_give_part(b, serve_head_of_part);
        artel__operation_begin(b->fit.ctx);
        assert_int_equal(serve_end_by(b, odd[i].from, odd[i].head, 0), ARTEL_ERROR_INVALID);
        assert_non_null(strstr(artel_context_error(b->fit.ctx)->what, "does not fit this part of the variables"));
    }
}

/* A state whose numbers cannot be: the server would take items of any number then, and make room for all before them.
 */
static void a_state_of_impossible_numbers_is_refused(void **state)
{
    serve_bench *b = *state;
    static const struct {
        int from;
        uint8_t flags;
        uint64_t iteration, begun, item;
    } odd[] = {{SERVE_OTHER, ARTEL__FLAG_COPY, 13, 0, 0}, /* the run has twelve items */
               {SERVE_OTHER, ARTEL__FLAG_COPY, (uint64_t)1 << 40, 0, 0},
               {SERVE_OTHER, ARTEL__FLAG_COPY, 0, 1, 0},
               {SERVE_OTHER, ARTEL__FLAG_COPY, 0, UINT64_MAX, 0},
               {SERVE_OTHER, ARTEL__FLAG_COPY, UINT64_MAX, UINT64_MAX, 0},
               {SERVE_CHIEF, 0, UINT64_MAX, 0, 0},
               {SERVE_CHIEF, 0, (uint64_t)1 << 62, 0, 0},
               {SERVE_CHIEF, 0, 0, 0, UINT64_MAX}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        artel__lane_head head = serve_install;
        if (!b->runs) serve_begin_generation(b);
        head.flags = odd[i].flags;
        head.a = odd[i].iteration;
        head.position = odd[i].begun;
        head.item = odd[i].item;
        artel__operation_begin(b->fit.ctx);
        assert_int_equal(serve_end_by(b, odd[i].from, head, serve_list(b, ARTEL__PART_STATE)), ARTEL_ERROR_INVALID);
        assert_non_null(strstr(artel_context_error(b->fit.ctx)->what, "does not fit this part of the variables"));
    }
    serve_begin_generation(b);
    artel__lane_head copy = serve_install; /* it may have all twelve */
    copy.flags = ARTEL__FLAG_COPY;
    copy.a = 112;
    copy.position = 100;
    assert_int_equal(serve_say(b, SERVE_OTHER, copy, serve_list(b, ARTEL__PART_STATE)).flags, ARTEL__ANSWER_OK);
}

/* An item is one from the first of the state on, of this epoch or, when its items have all been applied, of the next.
 */
static void items_of_the_state_alone_may_come(void **state)
{
    serve_bench *b = *state;
    enum {
        FIRST = 60,
        ITEMS = SERVE_ROWS / SERVE_BATCH /* of an epoch */
    };
    static const uint64_t odd[] = {FIRST - 1, 0, FIRST + ITEMS + 1, (uint64_t)1 << 32, UINT64_MAX};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        artel__lane_head install = serve_install;
        if (!b->runs) serve_begin_generation(b);
        install.item = FIRST;
        assert_int_equal(serve_say(b, SERVE_CHIEF, install, serve_list(b, ARTEL__PART_STATE)).flags, ARTEL__ANSWER_OK);
        assert_int_equal(serve_say(b, SERVE_CHIEF, serve_head_of_part, 0).flags, ARTEL__ANSWER_OK);
        int count = serve_list(b, ARTEL__PART_UPDATE);
        assert_int_equal(serve_say(b, SERVE_WORKER, serve_push_of(FIRST), count).position, 1);
        artel__operation_begin(b->fit.ctx);
        assert_int_equal(serve_end_by(b, SERVE_WORKER, serve_push_of(odd[i]), count), ARTEL_ERROR_INVALID);
    }
}

/* In async there are no shares; in sync:2 nothing else, and none that more than two make. */
static void a_step_has_the_shares_of_its_mode(void **state)
{
    serve_bench *b = *state;
    for (int some = 0; some <= 2; some += 2) {
        for (uint64_t shares = 0; shares <= 3; shares++) {
            artel__lane_head push = serve_push_of(0);
            if (shares == (uint64_t)some) continue;
            if (!b->runs) serve_begin_generation(b);
            serve_take_some(b, some);
            serve_give_part(b, serve_head_of_part);
            push.a = 1;
            push.b = shares;
            if (some && shares == 1) continue; /* of a batch of one row */
            artel__operation_begin(b->fit.ctx);
            assert_int_equal(serve_end_by(b, SERVE_WORKER, push, serve_list(b, ARTEL__PART_UPDATE)),
                             ARTEL_ERROR_INVALID);
        }
    }
}

/* However often, and after a change of the members, too. */
static void an_item_counts_once(void **state)
{
    serve_bench *b = *state;
    int count;
    serve_give_part(b, serve_head_of_part);
    for (uint64_t item = 0; item < 3; item++) {
        count = serve_list(b, ARTEL__PART_UPDATE);
        artel__lane_head answer = serve_say(b, SERVE_WORKER, serve_push_of(item), count);
        assert_true(answer.flags == ARTEL__ANSWER_OK && answer.item == item && answer.position == item + 1);
        answer = serve_say(b, SERVE_WORKER, serve_push_of(item), count);
        assert_true(answer.flags == ARTEL__ANSWER_ALREADY && answer.position == item + 1);
    }
    serve_change_generation(b);
    for (uint64_t item = 0; item < 3; item++)
        assert_int_equal(serve_say(b, SERVE_WORKER, serve_push_of(item), count).flags, ARTEL__ANSWER_ALREADY);
    assert_int_equal(serve_position(b), 3);
    assert_int_equal(serve_say(b, SERVE_WORKER, serve_push_of(3), count).flags, ARTEL__ANSWER_OK);
    assert_int_equal(serve_position(b), 4);
}

/* The same number twice at once, as of a worker that is slow and of the one that was given its batch. */
static void of_two_at_once_one_counts(void **state)
{
    serve_bench *b = *state;
    artel__lane_slot slot[2] = {{.room = 0}};
    serve_give_part(b, serve_head_of_part);
    int count = serve_list(b, ARTEL__PART_UPDATE), already = 0;
    for (int i = 0; i < 2; i++) serve_call(b, SERVE_WORKER, &slot[i], serve_push_of(2), count);
    for (int i = 0; i < 2; i++)
        already += lane_hear(b->ctx, &b->lane[SERVE_WORKER], &slot[i], NULL).flags == ARTEL__ANSWER_ALREADY;
    assert_int_equal(already, 1);
    assert_int_equal(serve_position(b), 1);
}

/* sync:2. The generation ends when this part has the step and another one has not: its shares are made again of the
 * variables before it, and add nothing here. What there is of a step that lacks one goes with the generation. */
static void a_share_is_made_again_of_the_variables_before(void **state)
{
    serve_bench *b = *state;
    static float ones[1 << 16];
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1;
    serve_take_some(b, 2);
    serve_give_part(b, serve_head_of_part);
    int count = serve_list(b, ARTEL__PART_UPDATE);
    for (int i = 0; i < count; i++) {
        assert_in_range(b->piece[i].bytes, 0, sizeof ones);
        b->piece[i].data = ones;
    }
    artel__net_piece update[SERVE_MOST];
    memcpy(update, b->piece, sizeof update);
    for (int times = 0; times < 2; times++) {
        for (uint64_t share = 0; share < 2; share++) {
            artel__lane_head push = serve_push_of(0);
            push.a = SERVE_BATCH / 2 | share << 32;
            push.b = 2;
            memcpy(b->piece, update, sizeof update);
            assert_int_equal(serve_say(b, SERVE_WORKER, push, count).flags,
                             times ? ARTEL__ANSWER_ALREADY : ARTEL__ANSWER_OK);
            if (times == 0 && share == 0) {
                assert_true(serve_gives_zeros(b, 0) && serve_position(b) == 0);
                serve_change_generation(b);
                memcpy(b->piece, update, sizeof update);
                assert_int_equal(serve_say(b, SERVE_WORKER, push, count).flags, ARTEL__ANSWER_OK);
            }
        }
        assert_int_equal(serve_position(b), 1);
        assert_false(serve_gives_zeros(b, 0));
        assert_true(serve_gives_zeros(b, 1));
        assert_false(serve_gives_zeros(b, 2));
        serve_change_generation(b);
    }
}

/* All that the part has, variables and slots. */
static size_t fetch_state(serve_bench *b, uint8_t *out, size_t room)
{
    artel__lane_slot slot = {.room = 0};
    artel__lane *lane = &b->lane[SERVE_CHIEF];
    artel__lane_head head;
    int count = serve_list(b, ARTEL__PART_STATE);
    size_t bytes = 0;
    artel__slot_at at = {0, 0};
    serve_call(b, SERVE_CHIEF, &slot, (artel__lane_head){.op = ARTEL__SERVE_FETCH, .install = SERVE_INSTALLED}, 0);
    lane_await(lane, &slot);
    assert_int_equal(artel__lane_take(lane, &slot, &head), ARTEL_OK);
    for (int i = 0; i < count; i++) {
        const void *values = artel__slot_next(&slot, &at, b->entry[i].bytes);
        assert_non_null(values);
        assert_in_range(b->entry[i].bytes, 1, room - bytes);
        memcpy(out + bytes, values, b->entry[i].bytes);
        bytes += b->entry[i].bytes;
    }
    lane_hear(b->ctx, lane, &slot, NULL);
    return bytes;
}

/* Share `share` of a step of two, of gradients that are all `value`; what the server says to it. */
static unsigned push_share(serve_bench *b, uint64_t item, uint64_t share, float value)
{
    static float values[1 << 12];
    artel__lane_head push = serve_push_of(item);
    int count = serve_list(b, ARTEL__PART_UPDATE);
    push.a = SERVE_BATCH / 3 | share << 32;
    push.b = 2;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) values[i] = value;
    for (int i = 0; i < count; i++) {
        assert_in_range(b->piece[i].bytes, 1, sizeof values);
        b->piece[i].data = values;
    }
    return serve_say(b, SERVE_WORKER, push, count).flags;
}

/* sync:2 of three. What comes third is told so and changes nothing: no variable, no slot, no count, and not the step
 * that is being put together meanwhile. */
static void a_late_share_is_dropped(void **state)
{
    serve_bench *b = *state;
    static uint8_t found[2][1 << 15];
    size_t bytes[2];
    serve_take_some(b, 2);
    for (int late = 0; late < 2; late++) {
        if (late) serve_change_generation(b);
        serve_give_part(b, serve_head_of_part);
        for (uint64_t item = 0; item < 3; item++) {
            static uint8_t before[1 << 15], after[1 << 15];
            assert_int_equal(push_share(b, item, 0, 0.5f), ARTEL__ANSWER_OK);
            if (late && item > 0) assert_int_equal(push_share(b, item - 1, 2, 99), ARTEL__ANSWER_ALREADY);
            assert_int_equal(push_share(b, item, 1, -0.25f), ARTEL__ANSWER_OK);
            assert_int_equal(serve_position(b), item + 1);
            if (!late) continue;
            fetch_state(b, before, sizeof before);
            assert_int_equal(push_share(b, item, 2, 99), ARTEL__ANSWER_ALREADY);
            assert_int_equal(push_share(b, item, 0, 99), ARTEL__ANSWER_ALREADY);
            assert_int_equal(serve_position(b), item + 1);
            size_t all = fetch_state(b, after, sizeof after);
            assert_memory_equal(before, after, all);
        }
        bytes[late] = fetch_state(b, found[late], sizeof found[late]);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(found[0], found[1], bytes[0]);
}

/* sync:2. A head that has agreed with all parts about an update, and whose generation ends before it has applied it,
 * does not tell that again: the shares are made anew. Neither does it stay where another state has been installed. */
static void what_was_told_is_void_where_it_is_not_applied(void **state)
{
    fit_bench b;
    artel__served_part *p = NULL;
    artel__endpoint endpoint = {.rank = 0};
    artel__numbers n = {.count = 0};
    artel__chain_call at = {.room = 0};
    bool ready = false;
    (void)state;
    fit_open_mlp(&b, SERVE_ROWS);
    fit_expect(&b, artel_model_compile(b.model, "adam:global_clipnorm=0.1", NULL, NULL), ARTEL_OK);
    artel__fit fit = {
        .ctx = b.ctx, .model = b.model, .options = fit_options(&b, SERVE_BATCH, 1, 1), .role = ARTEL__ROLE_SERVER};
    fit.options.consistency = "sync:2";
    artel__arena_init(&fit.arena, fit.ctx);
    fit_expect(&b, artel__fit_open(&fit, b.data), ARTEL_OK);
    artel__service service = {
        .fit = &fit, .endpoint = &endpoint, .servers = 1, .some = 2, .rule = {.partitioner = "none", .mean = true}};
    assert_int_equal(artel__numbers_begin(&n, &service), ARTEL_OK);
    assert_int_equal(artel__served_make(&fit, &service, 0, 1, NULL, &p), ARTEL_OK);
    p->install = SERVE_INSTALLED;
    size_t half = (size_t)n.count + 1;
    int rank, part;
    for (int i = 0; i < 2; i++) { /* the first time the generation ends */
        assert_int_equal(artel__numbers_agree(&n, p, &at, NULL, &service, &ready), ARTEL_OK);
        assert_true(ready && p->numbers[half] == 1 && n.told[half] == 1);
        if (i == 0) artel__numbers_withdraw(p, NULL, &service);
        assert_true(p->numbers[half] == (i == 0 ? 0 : 1));
        p->install += i == 0; /* all go back */
    }
    p->numbers[half] = 0;
    p->numbers[0] = 2;
    p->install++;
    assert_int_equal(artel__numbers_tell_again(&n, p, NULL, &service), ARTEL_OK);
    assert_true(n.told[0] == 2 && n.told[half] == 0);
    p->has_told = false;
    p->division.servers = 2; /* of the other part nothing is told */
    assert_int_equal(artel__numbers_agree(&n, p, &at, NULL, &service, &ready), ARTEL_OK);
    artel__numbers_awaited(&n, p, &service, &rank, &part);
    assert_true(!ready && rank == -1 && part == 1);
    artel__served_drop(p);
    artel__numbers_fini(&n);
    artel__fit_close(&fit);
    fit_close(&b);
}

/* The numbers of two updates in succession lie apart, also where only each second one has a step, so that a part that
 * is one of them ahead does not write over what others still want. */
static void numbers_of_two_updates_lie_apart(void **state)
{
    fit_bench b;
    artel__served_part *p = NULL;
    (void)state;
    fit_open_mlp(&b, SERVE_ROWS);
    fit_expect(&b, artel_model_compile(b.model, "adam:global_clipnorm=0.1,gradient_accumulation_steps=2", NULL, NULL),
               ARTEL_OK);
    artel__fit fit = {
        .ctx = b.ctx, .model = b.model, .options = fit_options(&b, SERVE_BATCH, 1, 1), .role = ARTEL__ROLE_SERVER};
    fit.options.consistency = "sync:2";
    artel__arena_init(&fit.arena, fit.ctx);
    fit_expect(&b, artel__fit_open(&fit, b.data), ARTEL_OK);
    artel__service service = {.fit = &fit, .servers = 1, .some = 2, .rule = {.partitioner = "none", .mean = true}};
    assert_int_equal(artel__served_make(&fit, &service, 0, 1, NULL, &p), ARTEL_OK);
    for (int i = 0; i < 6; i++) {
        artel__store_set_iteration(p->store, i);
        assert_int_equal(artel__store_ask(p->store), i % 2 ? (i + 1) / 2 : 0);
    }
    artel__served_drop(p);
    artel__fit_close(&fit);
    fit_close(&b);
}

/* Which chief had a majority last: one that waits for one is not remembered, whatever it says. */
static void a_chief_with_a_majority_is_remembered(void **state)
{
    serve_bench *b = *state;
    static const struct {
        uint64_t chief, what, before;
    } said[] = {{5, ARTEL__MEET_ASKS, 0}, {5, ARTEL__MEET_WAITS, 0}, {5, ARTEL__MEET_HOLDS, 0},
                {6, ARTEL__MEET_ASKS, 5}, {6, ARTEL__MEET_WAITS, 5}, {6, ARTEL__MEET_HOLDS, 5}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        assert_int_equal(serve_say(b, SERVE_CHIEF,
                                   (artel__lane_head){.op = ARTEL__SERVE_MEET, .a = said[i].chief, .b = said[i].what},
                                   0)
                             .a,
                         said[i].before);
        serve_change_generation(b);
    }
    assert_int_equal(serve_say(b, SERVE_CHIEF, (artel__lane_head){.op = ARTEL__SERVE_MEET, .a = 7}, 0).a, 6);
}

/* All have gone back, to fewer servers: what the server had of the state before lies in nobody's way. */
static void a_void_part_is_dropped(void **state)
{
    serve_bench *b = *state;
    artel__division two;
    artel__lane_head again = {.op = ARTEL__SERVE_INSTALL, .part = 1 | 2 << 16, .install = SERVE_INSTALLED + 1, .b = 9};
    serve_give_part(b, serve_head_of_part);
    serve_change_generation(b);
    assert_int_equal(
        artel__division_make(&b->arena, b->fit.session, &(artel__division_rule){.partitioner = "none"}, 2, &two),
        ARTEL_OK);
    int count = lane_list_zeros(&two, 1, ARTEL__PART_STATE, b->entry, b->piece);
    assert_int_equal(serve_say(b, SERVE_CHIEF, again, count).flags, ARTEL__ANSWER_OK);
    assert_int_equal(serve_say(b, SERVE_CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).a, 1);
    again.op = ARTEL__SERVE_FETCH;
    assert_int_equal(serve_say(b, SERVE_CHIEF, again, 0).flags, ARTEL__ANSWER_OK);
}

/* Calls of a worker take turns in many slots; its answers, of the size of all variables, lie in one room as long as one
 * is under way at a time, and in two when there are two. */
static void answers_share_their_room(void **state)
{
    serve_bench *b = *state;
    enum {
        CALLS = 24, /* more than there are slots */
        TOGETHER = 2
    };
    const void *room[CALLS * TOGETHER];
    int rooms = 0;
    serve_give_part(b, serve_head_of_part);
    for (int together = 1; together <= TOGETHER; together++) {
        for (int n = 0; n < CALLS; n++) {
            artel__lane_slot slot[TOGETHER] = {{.room = 0}};
            artel__lane_head head, pull = {.op = ARTEL__SERVE_PULL, .install = SERVE_INSTALLED};
            for (int i = 0; i < together; i++) serve_call(b, SERVE_WORKER, &slot[i], pull, 0);
            for (int i = 0; i < together; i++) {
                lane_await(&b->lane[SERVE_WORKER], &slot[i]);
                assert_int_equal(artel__lane_take(&b->lane[SERVE_WORKER], &slot[i], &head), ARTEL_OK);
                const void *at =
                    artel__slot_data(&slot[i], 0, 0, slot[i].receive.piece[1].bytes); /* where it lies there */
                int known = 0;
                while (known < rooms && room[known] != at) known++;
                if (known == rooms) room[rooms++] = at;
            }
            for (int i = 0; i < together; i++) lane_hear(b->ctx, &b->lane[SERVE_WORKER], &slot[i], NULL);
        }
        assert_in_range(rooms, 1, together);
    }
}

/* Whether the server has given the part a place. Else it has ended. */
static bool installs(serve_bench *b)
{
    artel__lane *lane = &b->lane[SERVE_CHIEF];
    artel__lane_slot slot = {.room = 0};
    serve_call(b, SERVE_CHIEF, &slot, serve_install, serve_list(b, ARTEL__PART_STATE));
    artel_status status = artel__net_progress(lane->endpoint);
    while (status == ARTEL_OK && !artel__slot_arrived(&slot)) {
        artel__net_wait(lane->endpoint);
        status = artel__net_progress(lane->endpoint);
    }
    bool here = artel__slot_arrived(&slot);
    if (!here) assert_int_equal(serve_await(b), ARTEL_ERROR_NO_MEMORY);
    artel__lane_withdraw(lane, &slot);
    artel__slot_fini(b->ctx, &slot);
    return here;
}

/* Whichever piece of memory of a part is not to be had: the server ends, and says how much it was. */
static void memory_is_refused_by_name(void **state)
{
    serve_bench *b = *state;
    uint64_t before = artel__heap_calls(b->fit.ctx);
    assert_true(installs(b));
    uint64_t calls = artel__heap_calls(b->fit.ctx) - before, failed = 0;
    for (uint64_t n = 1; n <= calls; n++) {
        if (!b->runs) serve_begin_generation(b);
        assert_int_equal(serve_say(b, SERVE_CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).flags,
                         ARTEL__ANSWER_OK); /* it has begun */
        artel__operation_begin(b->fit.ctx);
        artel__fail_allocation_after(b->fit.ctx, n);
        if (installs(b)) continue; /* a line for artel status has had the memory that is lacking */
        const char *what = artel_context_error(b->fit.ctx)->what;
        if (!strstr(what, "bytes of memory are not to be had")) fail_msg("it says: %s", what);
        failed++;
    }
    artel__fail_allocation_after(b->fit.ctx, 0);
    assert_in_range(failed, calls / 2, calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stale_view_is_refused, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(an_unknown_variable_is_refused, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(what_fits_nothing_is_refused, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(a_state_of_impossible_numbers_is_refused, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(items_of_the_state_alone_may_come, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(a_step_has_the_shares_of_its_mode, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(an_item_counts_once, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(of_two_at_once_one_counts, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(a_share_is_made_again_of_the_variables_before, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(a_late_share_is_dropped, serve_open, serve_close),
        cmocka_unit_test(what_was_told_is_void_where_it_is_not_applied),
        cmocka_unit_test(numbers_of_two_updates_lie_apart),
        cmocka_unit_test_setup_teardown(a_chief_with_a_majority_is_remembered, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(a_void_part_is_dropped, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(answers_share_their_room, serve_open, serve_close),
        cmocka_unit_test_setup_teardown(memory_is_refused_by_name, serve_open, serve_close),
    };
    return cmocka_run_group_tests_name("serve", tests, NULL, NULL);
}
