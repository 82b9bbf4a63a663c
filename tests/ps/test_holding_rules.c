/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the view machine one by one: H1 and H5 on a single machine, message by message, the others as scenarios.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cluster/holding_impl.h"
#include "help_world.h"

/* -- one machine: task 1 of three, a server -- */

typedef struct single {
    artel_context *ctx;
    artel__holding *h;
    int fences, accepts, serves, drops, learns;
    artel__holding_message sent; /* the last */
    uint64_t member[3];
    artel__chain chain[1];
    uint8_t state[1];
    artel__view view;
} single;

static void act(void *user, const artel__holding_action *a)
{
    single *s = user;
    s->fences += a->kind == ARTEL__HOLDING_FENCE;
    s->accepts += a->kind == ARTEL__HOLDING_ACCEPT;
    s->serves += a->kind == ARTEL__HOLDING_SERVE;
    s->drops += a->kind == ARTEL__HOLDING_DROP;
    s->learns += a->kind == ARTEL__HOLDING_LEARN;
    if (a->kind != ARTEL__HOLDING_SEND) return;
    s->sent = (artel__holding_message){.view = &s->view, .state = s->state};
    assert_null(artel__holding_decode(a->bytes, a->count, 3, 1, &s->sent));
}

static void begin(single *s, uint32_t counter)
{
    static const uint8_t votes[] = {1, 1, 1}, server[] = {0, 1, 1};
    static const uint16_t first[] = {1};
    *s = (single){.ctx = NULL};
    s->view = (artel__view){.member = s->member, .chain = s->chain};
    assert_int_equal(artel_context_create(NULL, &s->ctx), ARTEL_OK);
    artel__holding_config c = {.tasks = 3,
                               .self = 1,
                               .parts = 1,
                               .incarnation = 11,
                               .votes = votes,
                               .server = server,
                               .first = first,
                               .copies = 2,
                               .suspect_after_ns = WORLD_SECOND,
                               .counter = counter,
                               .act = act,
                               .user = s};
    assert_int_equal(artel__holding_create(s->ctx, &c, &s->h), ARTEL_OK);
    artel__holding_link_up(s->h, 1, 0, 10);
    artel__holding_link_up(s->h, 1, 2, 12);
}

static void end(single *s)
{
    artel__holding_destroy(s->h);
    artel_context_destroy(s->ctx);
}

static void hear(single *s, uint32_t from, artel__holding_kind kind, uint32_t counter, const artel__view *view)
{
    uint8_t bytes[400];
    artel__holding_message m = {
        .kind = (uint8_t)kind, .task = (uint16_t)from, .from = 10 + from, .to = 11, .about = {counter, 10 + from}};
    m.view = (artel__view *)(uintptr_t)view;
    size_t count = artel__holding_encode(&m, 3, 1, bytes);
    s->sent = (artel__holding_message){0};
    artel__holding_receive(s->h, 2, from, bytes, count);
}

static const artel__view *make_view(uint32_t counter, uint32_t candidate, uint16_t head, uint16_t next)
{
    static uint64_t member[] = {10, 11, 12};
    static artel__chain chain[1];
    static artel__view v;
    chain[0] = (artel__chain){{head, next, 0}, 2};
    v = (artel__view){.ballot = {counter, 10 + candidate}, .start = {1, 10}, .member = member, .chain = chain};
    return &v;
}

static void h1_ballots_only_rise(void **state)
{
    (void)state;
    single s;
    begin(&s, 3);
    hear(&s, 0, ARTEL__HOLDING_BALLOT, 3,
         NULL); /* not above what this life begins at: its incarnation is, its counter not */
    assert_int_equal(s.sent.kind, ARTEL__HOLDING_PROMISE);
    hear(&s, 0, ARTEL__HOLDING_BALLOT, 2, NULL);
    assert_int_equal(s.sent.kind, ARTEL__HOLDING_HIGHER);
    hear(&s, 0, ARTEL__HOLDING_BALLOT, 5, NULL);
    assert_int_equal(s.sent.kind, ARTEL__HOLDING_PROMISE);
    assert_false(s.sent.flags & ARTEL__HOLDING_REMEMBERS);
    hear(&s, 2, ARTEL__HOLDING_BALLOT, 5, NULL); /* the same counter of a higher incarnation */
    assert_int_equal(s.sent.kind, ARTEL__HOLDING_PROMISE);
    hear(&s, 0, ARTEL__HOLDING_BALLOT, 5, NULL);
    assert_int_equal(s.sent.kind, ARTEL__HOLDING_HIGHER);
    assert_true(s.sent.about.counter == 5 && s.sent.about.incarnation == 12);
    hear(&s, 0, ARTEL__HOLDING_VIEW, 5, make_view(5, 0, 1, 2)); /* of a ballot that is not followed any more */
    assert_int_equal(s.sent.kind, ARTEL__HOLDING_HIGHER);
    hear(&s, 2, ARTEL__HOLDING_VIEW, 6, make_view(6, 2, 1, 2)); /* of one that was never promised */
    assert_int_equal(s.accepts, 0);
    hear(&s, 2, ARTEL__HOLDING_VIEW, 5, make_view(5, 2, 1, 2));
    assert_int_equal(s.accepts, 1);
    end(&s);
}

static void h5_nothing_is_served_before_hold(void **state)
{
    (void)state;
    single s;
    begin(&s, 0);
    hear(&s, 0, ARTEL__HOLDING_BALLOT, 1, NULL);
    hear(&s, 0, ARTEL__HOLDING_VIEW, 1, make_view(1, 0, 1, 2));
    assert_null(artel__holding_serving(s.h));
    artel__holding_level(s.h, 3, (artel__generation_id){1, 10}, 0);
    assert_int_equal(s.sent.kind, ARTEL__HOLDING_IS_LEVEL);
    assert_null(artel__holding_serving(s.h));
    assert_false(artel__holding_remembers(s.h));
    hear(&s, 0, ARTEL__HOLDING_HOLD, 1, NULL);
    assert_non_null(artel__holding_serving(s.h));
    assert_true(artel__holding_remembers(s.h) && s.serves == 1);
    hear(&s, 2, ARTEL__HOLDING_BALLOT, 2, NULL); /* promised: it goes on serving */
    assert_true(s.sent.kind == ARTEL__HOLDING_PROMISE && s.sent.flags & ARTEL__HOLDING_REMEMBERS &&
                s.state[0] == ARTEL__HOLDING_LEVEL);
    assert_non_null(artel__holding_serving(s.h));
    assert_int_equal(s.fences, 0);
    hear(&s, 2, ARTEL__HOLDING_VIEW, 2, make_view(2, 2, 2, 1)); /* accepted: over */
    assert_int_equal(s.fences, 1);
    assert_null(artel__holding_serving(s.h));
    hear(&s, 0, ARTEL__HOLDING_HOLD, 1, NULL); /* late */
    assert_null(artel__holding_serving(s.h));
    artel__holding_level(s.h, 3, (artel__generation_id){1, 10}, 0); /* of the view before */
    hear(&s, 2, ARTEL__HOLDING_HOLD, 2, NULL);
    assert_true(s.serves == 2);
    end(&s);
}

static void h6_what_is_not_named_is_void(void **state)
{
    (void)state;
    single s;
    begin(&s, 0);
    hear(&s, 0, ARTEL__HOLDING_BALLOT, 1, NULL);
    hear(&s, 0, ARTEL__HOLDING_VIEW, 1, make_view(1, 0, 1, 2));
    artel__holding_level(s.h, 3, (artel__generation_id){1, 10}, 0);
    hear(&s, 0, ARTEL__HOLDING_HOLD, 1, NULL);
    assert_int_equal(artel__holding_part(s.h, 0), ARTEL__HOLDING_LEVEL);
    artel__view v = *make_view(4, 2, 2, 0); /* in force without this task, which has heard of it later */
    v.member = (uint64_t[]){10, 0, 12};
    hear(&s, 2, ARTEL__HOLDING_TELL, 4, &v);
    assert_int_equal(artel__holding_part(s.h, 0), ARTEL__HOLDING_NONE);
    assert_true(s.drops == 1 && s.learns == 1 && s.fences == 1);
    assert_null(artel__holding_serving(s.h));
    assert_true(artel__holding_known(s.h)->ballot.counter == 4);
    end(&s);
}

static void messages_for_another_life_are_dropped(void **state)
{
    (void)state;
    single s;
    begin(&s, 0);
    uint8_t bytes[400];
    artel__holding_message m = {.kind = ARTEL__HOLDING_BALLOT, .task = 0, .from = 10, .to = 99, .about = {7, 10}};
    artel__holding_receive(s.h, 2, 0, bytes, artel__holding_encode(&m, 3, 1, bytes));
    m.to = 11;
    m.from = 9;
    artel__holding_receive(s.h, 2, 0, bytes, artel__holding_encode(&m, 3, 1, bytes));
    m.from = 10;
    artel__holding_receive(s.h, 2, 2, bytes, artel__holding_encode(&m, 3, 1, bytes)); /* another sender's link */
    assert_true(s.sent.kind != ARTEL__HOLDING_PROMISE);
    artel__holding_receive(s.h, 2, 0, bytes, artel__holding_encode(&m, 3, 1, bytes));
    assert_int_equal(s.sent.kind, ARTEL__HOLDING_PROMISE);
    end(&s);
}

/* -- scenarios -- */

/* All serve; ten updates are through or more. */
static world *boot(world_options o)
{
    world *w = world_create(&o);
    world_start_all(w);
    while (world_now(w) < WORLD_SECOND && world_count(w).acknowledged < 10 * o.parts)
        world_pass(w, world_now(w) + WORLD_MS / 2);
    assert_true(world_count(w).acknowledged >= 10 * o.parts);
    return w;
}

static void finish(world *w)
{
    bool done = world_run(w, world_now(w) + 20 * WORLD_SECOND);
    if (world_wrong(w)) fail_msg("%s", world_wrong(w));
    assert_true(done);
    world_destroy(w);
}

static world_options plain(void)
{
    world_options o = WORLD_OPTIONS_INIT;
    o.items = 200;
    return o;
}

static void h2_voters_without_memory_do_not_vote(void **state)
{
    (void)state;
    world *w = boot(plain());
    world_kill(w, 2, false); /* one of three: the others remember */
    world_start(w, 2);
    world_pass(w, world_now(w) + 100 * WORLD_MS);
    assert_int_equal(world_count(w).fallbacks, 0);
    assert_true(artel__holding_remembers(world_holding(w, 2)));
    world_kill(w, 0, false); /* two of three at once: no majority remembers, though one holder is still there */
    world_kill(w, 2, false);
    world_start(w, 0);
    world_pass(w, world_now(w) + 2 * WORLD_SECOND);
    assert_null(artel__holding_serving(world_holding(w, 0))); /* not all voters are there */
    world_start(w, 2);
    world_pass(w, world_now(w) + WORLD_SECOND);
    assert_int_equal(world_count(w).fallbacks, 1);
    finish(w);
}

static void h3_the_last_holder_is_waited_for(void **state)
{
    (void)state;
    world_options o = plain();
    o.copies = 1;
    o.parts = 2;
    world *w = boot(o);
    for (uint32_t t = 0; t < 5; t++) { /* part 0 is task 1's; it is cut off from all */
        world_cut(w, 1, t, true);
        world_cut(w, t, 1, true);
    }
    world_pass(w, world_now(w) + WORLD_SECOND);
    assert_int_equal(world_count(w).views, 1);                    /* none without it */
    assert_non_null(artel__holding_serving(world_holding(w, 2))); /* whose part goes on meanwhile */
    assert_int_equal(world_count(w).fallbacks, 0);
    world_heal(w);
    world_pass(w, world_now(w) + WORLD_SECOND);
    assert_non_null(artel__holding_serving(world_holding(w, 0)));
    assert_int_equal(world_count(w).fallbacks, 0);
    world_kill(w, 1, false); /* gone for good only when it comes back without */
    world_pass(w, world_now(w) + WORLD_SECOND);
    assert_int_equal(world_count(w).fallbacks, 0);
    world_start(w, 1);
    world_pass(w, world_now(w) + WORLD_SECOND);
    assert_int_equal(world_count(w).fallbacks, 1);
    finish(w);
}

static void somebody_may_say_that_it_is_gone(void **state)
{
    (void)state;
    world_options o = plain();
    o.copies = 1;
    o.incomplete = true;
    world *w = boot(o);
    world_kill(w, 1, false);
    world_pass(w, world_now(w) + WORLD_SECOND);
    assert_int_equal(world_count(w).fallbacks, 0);
    artel__holding_gone(world_holding(w, 0), world_now(w), 1);
    world_pass(w, world_now(w) + WORLD_SECOND);
    assert_int_equal(world_count(w).fallbacks, 1);
    finish(w);
}

static void h4_the_first_survivor_is_head(void **state)
{
    (void)state;
    world_options o = plain();
    o.voters = 4;
    o.servers = 3;
    o.copies = 3;
    o.parts = 1;
    o.incomplete = true;
    world *w = boot(o);
    artel__chain chain = artel__holding_serving(world_holding(w, 0))->chain[0];
    assert_int_equal(chain.holders, 3);
    world_kill(w, chain.task[0], false);
    int64_t killed = world_now(w);
    while (!artel__part_log_serves(world_log(w, chain.task[1], 0))) world_pass(w, world_now(w) + WORLD_MS / 2);
    assert_true(world_now(w) - killed < 20 * WORLD_MS); /* with messages of 0.2 ms */
    artel__chain next = artel__holding_serving(world_holding(w, 0))->chain[0];
    assert_true(next.holders == 2 && next.task[0] == chain.task[1] && next.task[1] == chain.task[2]);
    finish(w);
}

static void h6_a_newcomer_is_a_holder_when_it_is_level(void **state)
{
    (void)state;
    world *w = boot(plain());
    world_kill(w, 2, false);
    world_pass(w, world_now(w) + 5 * WORLD_MS);
    world_start(w, 2);
    bool copied = false;
    for (int i = 0; i < 4000 && !(copied && artel__holding_part(world_holding(w, 2), 0) == ARTEL__HOLDING_LEVEL); i++) {
        world_pass(w, world_now(w) + WORLD_MS / 10);
        copied |= artel__holding_part(world_holding(w, 2), 0) == ARTEL__HOLDING_COPY;
    }
    assert_true(copied);
    world_pass(w, world_now(w) + 20 * WORLD_MS); /* HOLD */
    assert_int_equal(artel__chain_find(&artel__holding_known(world_holding(w, 0))->chain[0], 2), 1);
    finish(w);
}

static void h8_the_lowest_voter_that_is_heard_leads(void **state)
{
    (void)state;
    world *w = boot(plain());
    assert_true(artel__holding_coordinates(world_holding(w, 0)));
    world_kill(w, 0, false);
    world_pass(w, world_now(w) + 50 * WORLD_MS);
    assert_true(artel__holding_coordinates(world_holding(w, 1)));
    world_start(w, 0);
    world_pass(w, world_now(w) + 200 * WORLD_MS);
    assert_true(artel__holding_coordinates(world_holding(w, 0)));
    assert_int_equal(world_count(w).fallbacks, 0);
    finish(w);
}

/* A head on the smaller side with a client: it has not got every holder, so it applies and acknowledges nothing; the
 * others go on. */
static void a_head_alone_acknowledges_nothing(void **state)
{
    (void)state;
    world_options o = plain();
    o.voters = 5;
    o.servers = 4;
    world *w = boot(o);
    artel__chain chain = artel__holding_serving(world_holding(w, 0))->chain[0];
    uint32_t head = chain.task[0];
    for (uint32_t a = 0; a < 7; a++)
        for (uint32_t b = 0; b < 7; b++) world_cut(w, a, b, (a == head || a == 5) != (b == head || b == 5));
    uint64_t applied = artel__part_log_applied(world_log(w, head, 0));
    uint32_t acknowledged = world_count(w).acknowledged;
    world_pass(w, world_now(w) + 2 * WORLD_SECOND);
    assert_int_equal(artel__part_log_applied(world_log(w, head, 0)), applied);
    assert_true(world_count(w).acknowledged > acknowledged + 20);
    assert_true(artel__part_log_serves(world_log(w, chain.task[1], 0)));
    world_heal(w);
    assert_int_equal(world_count(w).fallbacks, 0);
    finish(w);
}

/* Head and follower do not reach one another, and both reach everybody else. */
static void a_cut_between_holders_is_complained_of(void **state)
{
    (void)state;
    world_options o = plain();
    o.parts = 1;
    o.voters = 4;
    o.servers = 3;
    for (int way = 0; way < 3; way++) {
        o.incomplete = true;
        world *w = boot(o);
        artel__chain chain = artel__holding_serving(world_holding(w, 0))->chain[0];
        if (way != 1) world_cut(w, chain.task[0], chain.task[1], true);
        if (way != 0) world_cut(w, chain.task[1], chain.task[0], true);
        assert_true(world_run(w, world_now(w) + 20 * WORLD_SECOND)); /* it goes on while the cut is there */
        assert_int_equal(world_count(w).fallbacks, 0);
        world_heal(w);
        finish(w);
    }
}

static void voters_are_chief_servers_and_workers_up_to_three(void **state)
{
    (void)state;
    static const struct {
        uint8_t role[6], votes[6];
    } table[] = {
        {{3, 1, 1, 2, 0, 0}, {1, 1, 0, 1, 0, 0}},
        {{3, 2, 0, 0, 0, 0}, {2, 1, 0, 0, 0, 0}},
        {{3, 1, 2, 2, 2, 0}, {2, 0, 1, 1, 1, 0}},
        {{3, 1, 1, 2, 2, 0}, {1, 0, 0, 1, 1, 0}},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        uint8_t votes[6] = {9, 9, 9, 9, 9, 9};
        artel__holding_vote(table[i].role, 6, votes);
        assert_memory_equal(votes, table[i].votes, 6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(h1_ballots_only_rise),
        cmocka_unit_test(h2_voters_without_memory_do_not_vote),
        cmocka_unit_test(h3_the_last_holder_is_waited_for),
        cmocka_unit_test(somebody_may_say_that_it_is_gone),
        cmocka_unit_test(h4_the_first_survivor_is_head),
        cmocka_unit_test(h5_nothing_is_served_before_hold),
        cmocka_unit_test(h6_what_is_not_named_is_void),
        cmocka_unit_test(h6_a_newcomer_is_a_holder_when_it_is_level),
        cmocka_unit_test(h8_the_lowest_voter_that_is_heard_leads),
        cmocka_unit_test(messages_for_another_life_are_dropped),
        cmocka_unit_test(a_head_alone_acknowledges_nothing),
        cmocka_unit_test(a_cut_between_holders_is_complained_of),
        cmocka_unit_test(voters_are_chief_servers_and_workers_up_to_three),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
