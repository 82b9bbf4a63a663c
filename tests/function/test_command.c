/* SPDX-License-Identifier: Apache-2.0 */
/* What a coordinator's thread does for a caller (function/command.c) who ceases to wait, or when the generation ends in
 * the middle: servers are played by hand, so each stops where the test wants it to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/context.h"
#include "function/driver.h"
#include "net/inproc.h"
#include "support/lane.h"

enum {
    SERVERS = 2,
    RANKS = SERVERS + 1, /* the chief is the first */
    COUNT = 64,          /* of a variable; server i owns variable i */
    SESSION = 5
};

typedef struct bench {
    artel_context *ctx;
    artel__fabric *fabric;
    artel_strategy *strategy;
    artel_variable *variable[SERVERS];
    artel_coordinator c;
    int32_t heads[SERVERS]; /* by part: the rank that answers for it */
    artel__kept kept[SERVERS], taken[SERVERS];
    artel__closure_job job;
    artel__driver_client client[RANKS];
    artel__driver driver;
    artel__lane lane[SERVERS]; /* of servers, to the chief */
    artel__lane_slot heard[SERVERS];
    pthread_t caller, thread;
    artel_status asked, did; /* what became of the caller's command; of the thread's round */
    float value;
} bench;

static int open_bench(void **state)
{
    static bench b;
    b = (bench){.heads = {1, 2}};
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    o.strategy = "one-device";
    o.threads = 1;
    v.shape = (artel_shape){1, {COUNT}};
    assert_int_equal(artel_context_create(NULL, &b.ctx), ARTEL_OK);
    assert_int_equal(artel__fabric_create(b.ctx, RANKS, false, &b.fabric), ARTEL_OK);
    assert_int_equal(artel_strategy_create(b.ctx, &o, &b.strategy), ARTEL_OK);
    for (int i = 0; i < SERVERS; i++) {
        v.name = i == 0 ? "first" : "second";
        assert_int_equal(artel_variable_create(b.strategy, &v, &b.variable[i]), ARTEL_OK);
    }
    assert_int_equal(artel__strategy_open(b.strategy), ARTEL_OK);
    b.strategy->servers = SERVERS;
    assert_int_equal(artel__elsewhere_place(b.strategy), ARTEL_OK);
    for (int i = 0; i < SERVERS; i++) assert_int_equal(b.strategy->piece[i].part, i);
    b.strategy->coordinator = &b.c;
    b.c = (artel_coordinator){
        .strategy = b.strategy, .ctx = b.ctx, .session = SESSION, .heads = b.heads, .kept = b.kept, .taken = b.taken};
    pthread_mutex_init(&b.c.mutex, NULL);
    artel__cond_init(&b.c.changed);
    b.job = (artel__closure_job){
        .strategy = b.strategy, .ctx = b.ctx, .endpoint = artel__fabric_endpoint(b.fabric, 0), .server = {1, 2}};
    for (int r = 0; r < RANKS; r++)
        b.client[r].lane = (artel__lane){.endpoint = b.job.endpoint, .peer = r, .job = 9, .generation = 1};
    for (int i = 0; i < SERVERS; i++)
        b.lane[i] = (artel__lane){.endpoint = artel__fabric_endpoint(b.fabric, 1 + i), .job = 9, .generation = 1};
    b.driver = (artel__driver){.c = &b.c, .j = &b.job, .client = b.client};
    *state = &b;
    return 0;
}

static int close_bench(void **state)
{
    bench *b = *state;
    artel__slot_fini(b->ctx, &b->driver.call);
    for (int i = 0; i < SERVERS; i++) {
        artel__lane_withdraw(&b->lane[i], &b->heard[i]);
        artel__slot_fini(b->ctx, &b->heard[i]);
        artel__free(b->ctx, b->c.kept[i].image);
        artel__free(b->ctx, b->c.taken[i].image);
    }
    artel__free(b->ctx, b->c.counters);
    pthread_cond_destroy(&b->c.changed);
    pthread_mutex_destroy(&b->c.mutex);
    b->strategy->servers = 0;
    b->strategy->coordinator = NULL;
    artel_strategy_destroy(b->strategy);
    artel__fabric_destroy(b->fabric);
    artel_context_destroy(b->ctx);
    return 0;
}

/* -- the caller and the thread -- */

static void *call_keep(void *user)
{
    bench *b = user;
    b->asked = artel_coordinator_keep(&b->c);
    return NULL;
}

static void *call_go_back(void *user)
{
    bench *b = user;
    b->asked = artel_coordinator_go_back(&b->c);
    return NULL;
}

static artel_status assign(bench *b, float value)
{
    float values[COUNT];
    for (int i = 0; i < COUNT; i++) values[i] = value;
    return artel_variable_assign(b->variable[1], values, COUNT);
}

static void *call_assign(void *user)
{
    bench *b = user;
    b->asked = assign(b, b->value);
    return NULL;
}

static void *do_command(void *user)
{
    bench *b = user;
    b->did = artel__driver_command(&b->driver);
    return NULL;
}

static bool is_wanted(bench *b)
{
    pthread_mutex_lock(&b->c.mutex);
    bool wanted = b->c.command != ARTEL__COMMAND_NONE;
    pthread_mutex_unlock(&b->c.mutex);
    return wanted;
}

/* A caller begins to wait; then the thread to do what it wants. */
static void begin(bench *b, void *(*call)(void *user))
{
    const struct timespec pause = {.tv_nsec = 1000000};
    assert_int_equal(pthread_create(&b->caller, NULL, call, b), 0);
    while (!is_wanted(b)) nanosleep(&pause, NULL);
    assert_int_equal(pthread_create(&b->thread, NULL, do_command, b), 0);
}

static void end(bench *b, artel_status asked, artel_status did)
{
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    assert_int_equal(b->did, did);
    assert_int_equal(pthread_join(b->caller, NULL), 0);
    assert_int_equal(b->asked, asked);
}

static void cancel(bench *b)
{
    artel_context_cancel(b->ctx);
    while (is_wanted(b)) {
        const struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
}

/* -- servers -- */

static void hear(bench *b, int server, artel__closure_op op)
{
    artel__lane *lane = &b->lane[server];
    artel__lane_slot *slot = &b->heard[server];
    artel__lane_head head;
    assert_int_equal(artel__lane_expect(lane, slot, 0), ARTEL_OK);
    lane_await(lane, slot);
    assert_int_equal(artel__lane_take(lane, slot, &head), ARTEL_OK);
    assert_int_equal(head.op, op);
    assert_int_equal(head.install, SESSION);
}

/* `image` stays until the next thing that this server hears. */
static void answer(bench *b, int server, const char *image)
{
    artel__lane *lane = &b->lane[server];
    artel__lane_slot *slot = &b->heard[server];
    const artel__net_piece piece = {image, image ? strlen(image) + 1 : 0};
    const artel__lane_head head = {.a = piece.bytes};
    assert_int_equal(artel__lane_answer(lane, slot, &head, &piece, image != NULL), ARTEL_OK);
    while (!artel__slot_left(slot)) {
        assert_int_equal(artel__net_progress(lane->endpoint), ARTEL_OK);
        if (!artel__slot_left(slot)) artel__net_wait(lane->endpoint);
    }
    artel__lane_withdraw(lane, slot);
}

static void keep(bench *b, const char *first, const char *second)
{
    begin(b, call_keep);
    hear(b, 0, ARTEL__CLOSURE_KEEP);
    answer(b, 0, first);
    hear(b, 1, ARTEL__CLOSURE_KEEP);
    answer(b, 1, second);
    end(b, ARTEL_OK, ARTEL_OK);
}

static void check_kept(bench *b, const char *first, const char *second)
{
    const char *image[SERVERS] = {first, second};
    for (int i = 0; i < SERVERS; i++) {
        assert_string_equal(b->c.kept[i].image, image[i]);
        assert_null(b->c.taken[i].image);
    }
    begin(b, call_go_back);
    for (int i = 0; i < SERVERS; i++) {
        hear(b, i, ARTEL__CLOSURE_RESTORE);
        const char *sent = artel__slot_data(&b->heard[i], 0, 0, strlen(image[i]) + 1);
        assert_non_null(sent);
        assert_string_equal(sent, image[i]);
        answer(b, i, NULL);
    }
    end(b, ARTEL_OK, ARTEL_OK);
}

/* -- promises -- */

static void what_was_kept_last_is_given_back(void **state)
{
    bench *b = *state;
    keep(b, "one", "two");
    check_kept(b, "one", "two");
    keep(b, "three", "four");
    check_kept(b, "three", "four");
}

/* Servers give all that they have, and nobody wants it any more: what was kept before stays. */
static void a_keep_that_is_cancelled_keeps_nothing(void **state)
{
    bench *b = *state;
    keep(b, "one", "two");
    begin(b, call_keep);
    hear(b, 0, ARTEL__CLOSURE_KEEP);
    answer(b, 0, "void");
    hear(b, 1, ARTEL__CLOSURE_KEEP);
    cancel(b);
    answer(b, 1, "void, too");
    end(b, ARTEL_ERROR_CANCELLED, ARTEL_OK);
    artel_context_clear(b->ctx);
    check_kept(b, "one", "two");
}

static void a_first_keep_that_is_cancelled_is_none(void **state)
{
    bench *b = *state;
    begin(b, call_keep);
    hear(b, 0, ARTEL__CLOSURE_KEEP);
    cancel(b);
    answer(b, 0, "void");
    hear(b, 1, ARTEL__CLOSURE_KEEP);
    answer(b, 1, "void, too");
    end(b, ARTEL_ERROR_CANCELLED, ARTEL_OK);
    artel_context_clear(b->ctx);
    assert_int_equal(artel_coordinator_go_back(&b->c), ARTEL_ERROR_INVALID);
}

/* The generation ends when one server has given what it has: that is not held until the next. */
static void a_keep_that_stops_halfway_holds_nothing(void **state)
{
    bench *b = *state;
    keep(b, "one", "two");
    begin(b, call_keep);
    hear(b, 0, ARTEL__CLOSURE_KEEP);
    answer(b, 0, "void");
    hear(b, 1, ARTEL__CLOSURE_KEEP);
    artel__net_cancel(b->job.endpoint);
    artel__lane_withdraw(&b->lane[1], &b->heard[1]); /* who reads here is waited for */
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    assert_int_equal(b->did, ARTEL_AGAIN);
    for (int i = 0; i < SERVERS; i++) assert_null(b->c.taken[i].image);
    assert_string_equal(b->c.kept[0].image, "one");
    assert_string_equal(b->c.kept[1].image, "two");
    assert_true(is_wanted(b)); /* the next generation does it */
    cancel(b);
    assert_int_equal(pthread_join(b->caller, NULL), 0);
    assert_int_equal(b->asked, ARTEL_ERROR_CANCELLED);
}

/* The server reads what it was sent after the caller has gone on, and has other values in the same place. */
static void an_assignment_is_sent_as_it_was(void **state)
{
    bench *b = *state;
    b->value = 1;
    begin(b, call_assign);
    hear(b, 1, ARTEL__CLOSURE_STORE);
    const float *sent = artel__slot_data(&b->heard[1], 0, 0, COUNT * sizeof *sent);
    assert_non_null(sent);
    cancel(b);
    assert_int_equal(pthread_join(b->caller, NULL), 0);
    assert_int_equal(assign(b, 2), ARTEL_ERROR_CANCELLED);
    for (int i = 0; i < COUNT; i++) assert_true(sent[i] == 1);
    answer(b, 1, NULL);
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    assert_int_equal(b->did, ARTEL_OK);
    assert_int_equal(b->asked, ARTEL_ERROR_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_kept_last_is_given_back, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_keep_that_is_cancelled_keeps_nothing, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_first_keep_that_is_cancelled_is_none, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_keep_that_stops_halfway_holds_nothing, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(an_assignment_is_sent_as_it_was, open_bench, close_bench),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
