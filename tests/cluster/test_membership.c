/* SPDX-License-Identifier: Apache-2.0 */
/* The machine's edges: what creation refuses, every allocation of it failed once, a job of one task, inputs at the
 * wrong time, and that equal inputs give equal actions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cluster/membership.h"

typedef struct seen {
    int starts, stops, saves, ends;
    artel_status status;
    uint64_t digest, trace;
} seen;

static void act(void *user, const artel__action *a)
{
    seen *s = user;
    s->starts += a->kind == ARTEL__ACTION_START;
    s->stops += a->kind == ARTEL__ACTION_STOP;
    s->saves += a->kind == ARTEL__ACTION_SAVE;
    if (a->kind == ARTEL__ACTION_END) {
        s->ends++;
        s->status = a->cause->status;
        s->digest = a->digest;
    }
    s->trace = s->trace * 31 + (uint64_t)a->kind + a->step + a->count;
    for (size_t i = 0; i < a->count; i++) s->trace = s->trace * 31 + a->bytes[i];
}

static const char *const names[] = {"worker 0", "worker 1", "worker 2"};

static artel__membership_config make(seen *s, uint32_t tasks)
{
    artel__membership_config c = ARTEL__MEMBERSHIP_CONFIG_INIT;
    c.tasks = tasks;
    c.name = names;
    c.incarnation = 5;
    c.facts = "version=1";
    c.links = 2 * tasks + 8;
    c.shards = 8;
    c.act = act;
    c.user = s;
    return c;
}

static void creation_refuses(void **state)
{
    (void)state;
    artel_context *ctx;
    artel__membership *m = NULL;
    static char facts[ARTEL__FACTS_MAX + 2];
    seen s = {0};
    memset(facts, 'x', sizeof facts - 1);
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (int i = 0; i < 12; i++) {
        artel__membership_config c = make(&s, 3);
        switch (i) {
        case 0: c.tasks = 0; break;
        case 1: c.tasks = ARTEL__MAX_TASKS + 1; break;
        case 2: c.self = 3; break;
        case 3: c.incarnation = 0; break;
        case 4: c.links = 13; break;
        case 5: c.shards = 0; break;
        case 6: c.replicas = 0; break;
        case 7: c.min_members = 4; break;
        case 8: c.suspect_after_ns = ARTEL__MEMBERSHIP_TICK_NS; break;
        case 9: c.facts = facts; break;
        case 10: c.act = NULL; break;
        default: c.collective_timeout_ns = 0; break;
        }
        assert_int_equal(artel__membership_create(ctx, &c, &m), ARTEL_ERROR_INVALID);
        assert_null(m);
    }
    artel_context_destroy(ctx);
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    artel_context *ctx;
    seen s = {0};
    artel__membership_config c = make(&s, 3);
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__membership *m = NULL;
    uint64_t n = 1;
    for (;; n++) {
        artel__fail_allocation_after(ctx, n);
        if (artel__membership_create(ctx, &c, &m) == ARTEL_OK) break;
        assert_null(m);
    }
    artel__fail_allocation_after(ctx, 0);
    assert_true(n > 15);
    artel__membership_destroy(m);
    artel__membership_destroy(NULL);
    artel_context_destroy(ctx);
}

/* A cluster of one begins at once, trains, writes and ends. */
static uint64_t play_alone(void)
{
    artel_context *ctx;
    artel__membership *m;
    seen s = {0};
    artel__membership_config c = make(&s, 1);
    int64_t now = 1000;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_int_equal(artel__membership_create(ctx, &c, &m), ARTEL_OK);
    assert_null(artel__membership_generation(m));
    for (int i = 0; i < 3; i++) artel__membership_tick(m, now += ARTEL__MEMBERSHIP_TICK_NS);
    assert_int_equal(s.starts, 1);
    assert_int_equal(artel__membership_generation(m)->members, 1);
    assert_int_equal(artel__membership_generation(m)->member[0].shards, 8);
    assert_int_equal(artel__membership_state_of(m), ARTEL__MEMBERSHIP_RUNNING);
    assert_true(artel__membership_enter(m, now, "b"));
    assert_true(artel__membership_put(m, now, &(artel__membership_entry){"k", "v", 1, false}));
    artel__membership_progressed(
        m, now += 5, &(artel__membership_progress){.step = 1, .phase = ARTEL__MEMBER_COMPUTE, .waiting_for = -1});
    artel__membership_finished(m, now += 5, 2, 9);
    assert_int_equal(s.saves, 1);
    artel__membership_saved(m, now += 5, 77);
    assert_int_equal(s.ends, 1);
    assert_int_equal(s.status, ARTEL_OK);
    assert_int_equal(s.digest, 77);
    assert_int_equal(artel__membership_state_of(m), ARTEL__MEMBERSHIP_ENDED);
    artel__membership_tick(m, now += 5); /* after the end nothing happens */
    artel__membership_drain(m, now);
    artel__membership_fail(m, now, true, ARTEL_ERROR_RUN, "late");
    assert_int_equal(s.ends, 1);
    artel__membership_destroy(m);
    artel_context_destroy(ctx);
    return s.trace;
}

static void a_job_of_one(void **state)
{
    (void)state;
    assert_int_equal(play_alone(), play_alone());
}

/* Answers that nobody asked for, links and tasks that do not exist, a clock that goes backwards: nothing happens. */
static void inputs_at_the_wrong_time(void **state)
{
    (void)state;
    artel_context *ctx;
    artel__membership *m;
    seen s = {0};
    artel__membership_config c = make(&s, 3);
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_int_equal(artel__membership_create(ctx, &c, &m), ARTEL_OK);
    artel__membership_stopped(m, 1000, 3, 3);
    artel__membership_copied(m, 1001, 3);
    artel__membership_finished(m, 1002, 3, 3);
    artel__membership_saved(m, 1003, 3);
    artel__membership_lost(m, 1004, 99);
    artel__membership_lost(m, 1004, 0);
    artel__membership_dial_failed(m, 1005, 99);
    artel__membership_link_up(m, 900, -1, 0);
    artel__membership_link_up(m, 900, 500, 0);
    artel__membership_link_up(m, 900, 0, 99);
    artel__membership_link_down(m, 900, 500);
    artel__membership_link_down(m, 900, 0);
    artel__membership_receive(m, 900, 3, (const uint8_t *)"x", 1);
    artel__membership_tick(m, 0);
    assert_int_equal(s.starts + s.stops + s.saves + s.ends, 0);
    assert_false(artel__membership_peer(m, 99).linked);
    assert_int_equal(artel__membership_state_of(m), ARTEL__MEMBERSHIP_JOINING);
    artel__membership_destroy(m);
    artel_context_destroy(ctx);
}

/* Training that never leaves a local phase ends its task, by name. */
static void stuck_training_ends_its_task(void **state)
{
    (void)state;
    artel_context *ctx;
    artel__membership *m;
    seen s = {0};
    artel__membership_config c = make(&s, 1);
    c.collective_timeout_ns = 1000000000;
    int64_t now = 1000;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    assert_int_equal(artel__membership_create(ctx, &c, &m), ARTEL_OK);
    artel__membership_tick(m, now);
    artel__membership_progressed(
        m, now, &(artel__membership_progress){.step = 0, .phase = ARTEL__MEMBER_COMPUTE, .waiting_for = -1});
    for (int i = 0; i < 60; i++) artel__membership_tick(m, now += ARTEL__MEMBERSHIP_TICK_NS);
    assert_int_equal(s.ends, 1);
    assert_int_equal(s.status, ARTEL_ERROR_RUN);
    artel__membership_destroy(m);
    artel_context_destroy(ctx);
}

static void names_exist(void **state)
{
    (void)state;
    for (int i = 0; i < ARTEL__REASONS; i++) assert_true(strlen(artel__reason_text((artel__reason)i)) > 0);
    for (int i = 0; i < ARTEL__MEMBER_PHASES; i++)
        assert_true(strlen(artel__member_phase_name((artel__member_phase)i)) > 0);
    for (int i = 0; i <= ARTEL__MEMBERSHIP_ENDED; i++)
        assert_true(strlen(artel__membership_state_name((artel__membership_state)i)) > 0);
    for (uint32_t i = 1; i < ARTEL__MESSAGE_KINDS; i++) assert_true(strlen(artel__message_name(i)) > 0);
    assert_string_equal(artel__reason_text((artel__reason)1000), "another reason");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creation_refuses),
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(a_job_of_one),
        cmocka_unit_test(inputs_at_the_wrong_time),
        cmocka_unit_test(stuck_training_ends_its_task),
        cmocka_unit_test(names_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
