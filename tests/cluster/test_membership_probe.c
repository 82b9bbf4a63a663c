/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* How long an answer takes, by which the machine knows how long to wait for one: of the last question, whatever was
 * asked before it; of the process that is there now; never of a time in which this process has not run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cluster/membership_impl.h"

enum {
    LINK = 3
};

#define MS 1000000LL

typedef struct bench {
    artel_context *ctx;
    artel__membership *m;
    uint64_t asked[32];
    int count;
} bench;

static void act(void *user, const artel__action *a)
{
    bench *b = user;
    artel__member member[2];
    artel__message message = {.member = member, .member_capacity = 2};
    if (a->kind != ARTEL__ACTION_SEND || a->link != LINK) return;
    assert_null(artel__message_decode(a->bytes, a->count, &message));
    if (message.ping && b->count < 32) b->asked[b->count++] = message.ping;
}

static void hear(bench *b, int64_t now, artel__message message)
{
    uint8_t bytes[4096];
    message.task = 0;
    artel__membership_receive(b->m, now, LINK, bytes, artel__message_encode(&message, bytes, sizeof bytes));
}

static void greet(bench *b, int64_t now, uint64_t incarnation)
{
    b->count = 0;
    artel__membership_link_up(b->m, now, LINK, -1);
    hear(b, now,
         (artel__message){.kind = ARTEL__MESSAGE_HELLO,
                          .incarnation = incarnation,
                          .life = incarnation,
                          .protocol = ARTEL__PROTOCOL_VERSION,
                          .facts = {(const uint8_t *)"v=1", 3}});
    assert_int_equal(b->count, 1);
}

static void answer(bench *b, int64_t now, int question)
{
    assert_true(question < b->count);
    hear(b, now,
         (artel__message){
             .kind = ARTEL__MESSAGE_STATUS, .incarnation = b->m->peer[0].who.incarnation, .pong = b->asked[question]});
}

static void begin(bench *b)
{
    static const char *const name[] = {"worker 0", "worker 1"};
    artel__membership_config c = ARTEL__MEMBERSHIP_CONFIG_INIT;
    *b = (bench){.count = 0};
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    c.tasks = 2;
    c.self = 1;
    c.name = name;
    c.incarnation = 99;
    c.facts = "v=1";
    c.links = 12;
    c.shards = 8;
    c.act = act;
    c.user = b;
    assert_int_equal(artel__membership_create(b->ctx, &c, &b->m), ARTEL_OK);
    artel__membership_tick(b->m, 1000 * MS);
}

static void end(bench *b)
{
    artel__membership_destroy(b->m);
    artel_context_destroy(b->ctx);
}

static void of_the_last_question(void **state)
{
    bench b;
    (void)state;
    begin(&b);
    greet(&b, 1000 * MS, 11);
    artel__membership_tick(b.m, 1050 * MS);
    artel__ms_probe(b.m, 0);
    answer(&b, 1060 * MS, 0); /* one of those before it says nothing of the last one */
    assert_int_equal(b.m->peer[0].live.trip, 0);
    answer(&b, 1080 * MS, 1);
    assert_int_equal(b.m->peer[0].live.trip, 30 * MS);
    artel__membership_tick(b.m, 1090 * MS);
    artel__ms_probe(b.m, 0);
    answer(&b, 1094 * MS, 2);
    assert_int_equal(b.m->peer[0].live.trip, 4 * MS);
    end(&b);
}

/* A connection that is made anew to the same process is not a new host. */
static void of_the_process_that_is_there(void **state)
{
    (void)state;
    for (uint64_t another = 0; another < 2; another++) {
        bench b;
        begin(&b);
        greet(&b, 1000 * MS, 11);
        answer(&b, 1300 * MS, 0);
        assert_int_equal(b.m->peer[0].live.trip, 300 * MS);
        assert_int_equal(artel__ms_probe_time(b.m), 600 * MS);
        artel__membership_link_down(b.m, 1310 * MS, LINK);
        greet(&b, 1320 * MS, 11 + another);
        assert_int_equal(b.m->peer[0].live.trip, another ? 0 : 300 * MS);
        assert_int_equal(artel__ms_probe_time(b.m), another ? b.m->limits.probe : 600 * MS);
        end(&b);
    }
}

static void not_of_a_time_in_which_it_has_not_run(void **state)
{
    bench b;
    (void)state;
    begin(&b);
    greet(&b, 1000 * MS, 11);
    answer(&b, 1020 * MS, 0);
    artel__ms_probe(b.m, 0);
    artel__membership_tick(b.m, 60000 * MS);
    answer(&b, 60000 * MS, 1);
    assert_int_equal(b.m->peer[0].live.trip, 20 * MS);
    end(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_last_question),
        cmocka_unit_test(of_the_process_that_is_there),
        cmocka_unit_test(not_of_a_time_in_which_it_has_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
