/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* A peer that greets in order and then says on the same link that it is something else: the link is over, its task is
 * lost, and nothing is ever sent on that link's number again, which may be another connection's by then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cluster/membership.h"

enum {
    TASKS = 3,
    LINK = 5,
    SECOND_LINK = 6
};

typedef struct wire {
    bool open[32];
    int sent, closed;
} wire;

static void act(void *user, const artel__action *a)
{
    wire *w = user;
    if (a->kind != ARTEL__ACTION_SEND && a->kind != ARTEL__ACTION_CLOSE) return;
    assert_true(w->open[a->link]);
    w->sent += a->kind == ARTEL__ACTION_SEND;
    w->closed += a->kind == ARTEL__ACTION_CLOSE;
    if (a->kind == ARTEL__ACTION_CLOSE) w->open[a->link] = false;
}

static const artel__message honest = {.kind = ARTEL__MESSAGE_HELLO,
                                      .task = 1,
                                      .incarnation = 11,
                                      .life = 11,
                                      .protocol = ARTEL__PROTOCOL_VERSION,
                                      .facts = {(const uint8_t *)"v=1", 3}};

static void hear(artel__membership *m, int64_t now, int link, const artel__message *message)
{
    uint8_t bytes[8192];
    size_t count = artel__message_encode(message, bytes, sizeof bytes);
    assert_true(count > 0);
    artel__membership_receive(m, now, link, bytes, count);
}

static artel__membership *begin(artel_context *ctx, wire *w)
{
    static const char *const name[TASKS] = {"worker 0", "worker 1", "worker 2"};
    artel__membership_config c = ARTEL__MEMBERSHIP_CONFIG_INIT;
    artel__membership *m;
    c.tasks = TASKS;
    c.name = name;
    c.incarnation = 99;
    c.facts = "v=1";
    c.links = 32;
    c.shards = 8;
    c.act = act;
    c.user = w;
    assert_int_equal(artel__membership_create(ctx, &c, &m), ARTEL_OK);
    artel__membership_tick(m, 1000);
    return m;
}

/* The honest greeting, perhaps one of a rival on another link, then `second` on `link`. */
static void check(const artel__message *second, bool rival)
{
    artel_context *ctx;
    wire w = {.sent = 0};
    int64_t now = 2000;
    int link = rival ? SECOND_LINK : LINK;
    artel__message twin = honest;
    twin.incarnation = twin.life = 12;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__membership *m = begin(ctx, &w);
    for (int i = 0; i <= rival; i++) {
        w.open[LINK + i] = true;
        artel__membership_link_up(m, now, LINK + i, -1);
        hear(m, now, LINK + i, i ? &twin : &honest);
        assert_true(w.open[LINK + i]);
    }
    hear(m, now, link, second);
    assert_false(w.open[link]);
    assert_int_equal(artel__membership_peer(m, 1).linked, rival);
    for (int i = 0; i < 100; i++) artel__membership_tick(m, now += ARTEL__MEMBERSHIP_TICK_NS); /* `act` looks */
    artel__membership_destroy(m);
    artel_context_destroy(ctx);
}

static void a_second_greeting_that_differs(void **state)
{
    (void)state;
    for (int rival = 0; rival < 2; rival++) {
        artel__message other_task = honest, nobody = honest, other_version = honest, other_facts = honest;
        other_task.task = 2;
        nobody.incarnation = 0;
        other_version.protocol = 7;
        other_facts.facts = (artel__message_bytes){(const uint8_t *)"v=2", 3};
        check(&other_task, rival);
        check(&nobody, rival);
        check(&other_version, rival);
        check(&other_facts, rival);
    }
    artel__message other_life = honest;
    other_life.life = 12;
    check(&other_life, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_second_greeting_that_differs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
