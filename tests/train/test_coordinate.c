/* SPDX-License-Identifier: Apache-2.0 */
/* The chief of parameter servers as it runs in a job (train/coordinate.c), and a worker (train/item.c), beside a server
 * that runs too: told by hand what other tasks say, also what nobody says who runs the same program. A result counts
 * once, in the phase that it is of; who does not ask is named; an item that does not fit the state is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "cluster/mesh_impl.h"
#include "help_fit.h"
#include "help_lane.h"
#include "net/inproc.h"
#include "train/servers.h"

enum {
    MOST_WORKERS = 6,
    MOST_RANKS = MOST_WORKERS + 2,
    ROWS = 96, /* half of them for validation */
    BATCH = 16,
    STEPS = 3, /* of an epoch */
    CHECKED = 8,
    CHECKS = 6, /* batches of validation */
    MOST = 64,  /* entries of a message */
    EPOCHS = 2
};

typedef struct bench bench;

/* A task that runs. */
typedef struct runner {
    bench *of;
    fit_bench fit_bench;
    artel__fit fit;
    artel__service service;
    void *user;
    artel_status status;
    pthread_t thread;
    bool runs;
} runner;

struct bench {
    int workers, ranks, chief, server; /* ranks: workers are the first */
    artel_cluster cluster;
    artel__task task[MOST_RANKS];
    artel__mesh_peer peer[MOST_RANKS];
    artel__mesh_activity activity;
    artel_context *ctx; /* of who is told by hand */
    artel__fabric *fabric;
    runner role[MOST_RANKS];
    artel__lane lane[MOST_RANKS], to_server[MOST_RANKS]; /* of who is told by hand, to the chief */
    artel__arena arena;
    artel__division division;
    artel__entry entry[MOST];
    artel__net_piece piece[MOST];
    pthread_mutex_t mutex;
    double loss[STEPS * EPOCHS + 1], checked[EPOCHS + 1]; /* of steps, from 1; of validation, by epoch */
    bool stopped;
    bool named;     /* who has asked for no batch */
    char said[128]; /* of an epoch: shares that came too late */
};

/* -- tasks that run -- */

static void note_event(void *user, const artel_event *event)
{
    bench *b = user;
    if (event->kind == ARTEL_EVENT_STEP && !event->validation) b->loss[event->step] = event->loss;
    for (int i = 0; event->kind == ARTEL_EVENT_EPOCH_END && i < event->metric_count; i++)
        if (strcmp(event->metrics[i].name, "val_loss") == 0) b->checked[event->epoch] = event->metrics[i].value;
}

static void note_log(void *user, artel_log_level level, const char *text)
{
    bench *b = user;
    (void)level;
    pthread_mutex_lock(&b->mutex);
    if (strstr(text, "waiting for task 1, which has asked for no batch for ")) b->named = true;
    if (strstr(text, "gradients of workers came too late")) snprintf(b->said, sizeof b->said, "%s", text);
    pthread_mutex_unlock(&b->mutex);
}

static bool was_named(bench *b)
{
    pthread_mutex_lock(&b->mutex);
    bool named = b->named;
    pthread_mutex_unlock(&b->mutex);
    return named;
}

static void *run(void *user)
{
    runner *r = user;
    artel__service *s = &r->service;
    r->status = r->fit.role == ARTEL__ROLE_COORDINATOR ? artel__coordinate(s, r->user)
                : r->fit.role == ARTEL__ROLE_SERVER    ? artel__serve(s, r->user)
                                                       : artel__work(s, r->user);
    if (r->status < 0) artel__net_cancel(s->endpoint); /* so that nobody waits for it */
    return NULL;
}

static void open_service(bench *b, runner *r, int rank)
{
    artel__service *s = &r->service;
    *s = (artel__service){.fit = &r->fit, .cluster = &b->cluster};
    fit_expect(&r->fit_bench, artel__service_read_options(s), ARTEL_OK);
    s->seat = (artel__mesh_seat){.ranks = b->ranks, .job = 9, .generation = 1, .activity = &b->activity, .first = rank};
    s->endpoint = artel__fabric_endpoint(b->fabric, rank);
    s->workers = b->workers;
    s->servers = 1;
    s->server[0] = b->server;
    s->chief = b->chief;
    for (int k = 0; k < b->ranks; k++) {
        s->task[k] = k;
        s->type[k] = b->task[k].type;
    }
}

static void begin(bench *b, int rank, const char *consistency)
{
    static const artel__fit_role roles[] = {[ARTEL__TASK_CHIEF] = ARTEL__ROLE_COORDINATOR,
                                            [ARTEL__TASK_WORKER] = ARTEL__ROLE_WORKER,
                                            [ARTEL__TASK_PS] = ARTEL__ROLE_SERVER};
    const artel_context_options log = {
        .struct_size = sizeof log, .isa = "auto", .log = note_log, .log_user = b, .log_level = ARTEL_LOG_NOTE};
    runner *r = &b->role[rank];
    r->of = b;
    fit_open_logged(&r->fit_bench, ROWS, &log);
    r->fit = (artel__fit){.ctx = r->fit_bench.ctx,
                          .model = r->fit_bench.model,
                          .options = fit_options(&r->fit_bench, BATCH, 1, 1),
                          .role = roles[b->task[rank].type]};
    r->fit.options.epochs = EPOCHS;
    r->fit.options.consistency = consistency;
    r->fit.options.validation_split = 0.5;
    r->fit.options.validation_batch_size = CHECKED;
    r->fit.options.on_event = note_event;
    r->fit.options.event_user = b;
    r->fit.options.ps_copies = 1;
    r->fit.writes = rank == b->chief;
    artel__arena_init(&r->fit.arena, r->fit.ctx);
    fit_expect(&r->fit_bench, artel__fit_open(&r->fit, r->fit_bench.data), ARTEL_OK);
    r->fit.options.cluster = &b->cluster;
    r->fit.options.strategy = "parameter-server";
    atomic_store(&r->fit.job.forsaken, true); /* whether it is the chief still is asked of nobody */
    open_service(b, r, rank);
    artel_status status = rank == b->chief    ? artel__coordinator_create(&r->fit, &r->user)
                          : rank == b->server ? artel__server_create(&r->fit, &r->user)
                                              : artel__worker_create(&r->fit, &r->user);
    fit_expect(&r->fit_bench, status, ARTEL_OK);
    assert_int_equal(pthread_create(&r->thread, NULL, run, r), 0);
    r->runs = true;
}

static artel_status end(bench *b, int rank)
{
    runner *r = &b->role[rank];
    assert_int_equal(pthread_join(r->thread, NULL), 0);
    r->runs = false;
    return r->status;
}

static void destroy(bench *b, int rank)
{
    runner *r = &b->role[rank];
    if (!r->of) return;
    if (rank == b->chief) artel__coordinator_destroy(&r->fit, r->user);
    if (rank == b->server) artel__server_destroy(&r->fit, r->user);
    if (rank < b->chief) artel__worker_destroy(&r->fit, r->user);
    r->fit.options.cluster = NULL;
    artel__fit_close(&r->fit);
    fit_close(&r->fit_bench);
}

/* -- the bench -- */

/* `runs`: the rank of a worker that runs beside a chief that is told by hand; -1: the chief runs, and workers are told
 * by hand. */
static bench *open_bench(int workers, const char *consistency, int runs)
{
    bench *b = calloc(1, sizeof *b);
    b->workers = workers;
    b->chief = workers;
    b->server = workers + 1;
    b->ranks = workers + 2;
    for (int r = 0; r < b->ranks; r++) {
        bool works = r < workers;
        b->task[r].type = works ? ARTEL__TASK_WORKER : r == b->chief ? ARTEL__TASK_CHIEF : ARTEL__TASK_PS;
        b->task[r].index = works ? r : 0;
        snprintf(b->peer[r].title, sizeof b->peer[r].title, "task %d", r);
    }
    b->cluster.cluster.task = b->task;
    b->cluster.cluster.tasks = b->cluster.peers = b->ranks;
    b->cluster.cluster.count[ARTEL__TASK_CHIEF] = b->cluster.cluster.count[ARTEL__TASK_PS] = 1;
    b->cluster.cluster.count[ARTEL__TASK_WORKER] = workers;
    b->cluster.options.wait_for_cluster = 1e6;
    b->cluster.peer = b->peer;
    pthread_mutex_init(&b->cluster.mutex, NULL);
    pthread_mutex_init(&b->mutex, NULL);
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    assert_int_equal(artel__fabric_create(b->ctx, b->ranks, false, &b->fabric), ARTEL_OK);
    begin(b, b->server, consistency);
    begin(b, runs < 0 ? b->chief : runs, consistency);
    const runner *server = &b->role[b->server];
    artel__arena_init(&b->arena, b->ctx);
    assert_int_equal(artel__division_make(&b->arena, server->fit.session, &server->service.rule, 1, &b->division),
                     ARTEL_OK);
    assert_in_range(artel__division_most(&b->division), 1, MOST);
    for (int r = 0; r < b->ranks; r++) {
        artel__lane lane = {
            .endpoint = artel__fabric_endpoint(b->fabric, r), .peer = b->chief, .job = 9, .generation = 1};
        b->lane[r] = b->to_server[r] = lane;
        b->to_server[r].peer = b->server;
    }
    return b;
}

/* The generation is over: what was said by hand is withdrawn, while those that run withdraw what they have said. */
static void stop(bench *b)
{
    b->stopped = true;
    for (int r = 0; r < b->ranks; r++) artel__net_cancel(artel__fabric_endpoint(b->fabric, r));
}

static void close_bench(bench *b)
{
    for (int r = 0; r < b->ranks; r++) {
        if (b->role[r].runs) assert_int_equal(end(b, r), b->stopped ? ARTEL_AGAIN : ARTEL_OK);
    }
    for (int r = 0; r < b->ranks; r++) destroy(b, r);
    artel__arena_fini(&b->arena);
    artel__fabric_destroy(b->fabric);
    artel_context_destroy(b->ctx);
    pthread_mutex_destroy(&b->cluster.mutex);
    pthread_mutex_destroy(&b->mutex);
    free(b);
}

/* -- what is said by hand -- */

static void ask(bench *b, int worker, artel__lane_slot *slot)
{
    const artel__lane_head head = {.op = ARTEL__SERVE_TICKET};
    *slot = (artel__lane_slot){.room = 0};
    assert_int_equal(artel__lane_call(&b->lane[worker], slot, &head, NULL, 0, 0), ARTEL_OK);
}

/* What a worker has made of an item: every number is `value`. `values` stays until the answer is here. */
static void give(bench *b, int worker, artel__lane_slot *slot, uint64_t state, const artel__item *item, double value,
                 double *values)
{
    const artel__fit *fit = &b->role[b->chief].fit;
    const artel__tally *tally = item->mode == ARTEL__MODE_TRAIN ? &fit->tally : &fit->validation.tally;
    int count = ARTEL__RESULT_VALUES + artel__tally_values(tally);
    artel__net_piece piece = {values, (size_t)count * sizeof *values};
    const artel__lane_head head = {.op = ARTEL__SERVE_RESULT,
                                   .install = state,
                                   .item = item->number,
                                   .position = (uint64_t)item->serial,
                                   .a = (uint64_t)item->mode};
    assert_in_range(count, 1, MOST);
    for (int i = 0; i < count; i++) values[i] = i < ARTEL__RESULT_VALUES ? 0 : value;
    *slot = (artel__lane_slot){.room = 0};
    assert_int_equal(artel__lane_call(&b->lane[worker], slot, &head, &piece, 1, 0), ARTEL_OK);
}

static void push(bench *b, int worker, artel__lane_slot *slot, uint64_t state, const artel__item *item)
{
    int count = lane_list_zeros(&b->division, 0, ARTEL__PART_UPDATE, b->entry, b->piece);
    artel__lane_head head = {.op = ARTEL__SERVE_PUSH, .install = state, .item = item->number, .rate = 0.1};
    if (item->some) head.a = (uint64_t)item->count | (uint64_t)item->share << 32;
    if (item->some) head.b = (uint64_t)item->some;
    *slot = (artel__lane_slot){.room = 0};
    assert_int_equal(artel__lane_call(&b->to_server[worker], slot, &head, b->piece, count, 0), ARTEL_OK);
}

typedef struct given {
    artel__lane_slot call;
    artel__item item;
    uint64_t state;
    double values[MOST];
    bool over;
} given;

static void take(bench *b, int worker, given *g)
{
    artel__lane_head head = lane_hear(b->ctx, &b->lane[worker], &g->call, &g->item);
    g->over = head.flags == ARTEL__ANSWER_END;
    g->state = head.install;
}

/* Does what it was given, and is given the next one. */
static void do_item(bench *b, int worker, given *g, double value)
{
    artel__lane_slot sent;
    if (g->item.mode == ARTEL__MODE_TRAIN) {
        push(b, worker, &sent, g->state, &g->item);
        assert_int_equal(lane_hear(b->ctx, &b->to_server[worker], &sent, NULL).flags, ARTEL__ANSWER_OK);
    }
    give(b, worker, &g->call, g->state, &g->item, value, g->values);
    take(b, worker, g);
}

/* Goes on until it hears that there is nothing more, with each ticket that it may have. */
static void go_on(bench *b, int worker, given *g, double value)
{
    while (!g->over) do_item(b, worker, g, value);
    ask(b, worker, &g->call);
    take(b, worker, g);
    assert_true(g->over);
}

static void drop(bench *b, int worker, artel__lane_slot *slot)
{
    artel__lane_withdraw(&b->lane[worker], slot);
    artel__slot_fini(b->ctx, slot);
}

/* -- tests -- */

/* Each of these workers is given a share when it asks. An answer comes behind one look around of the chief, that of the
 * second behind another: by then it has looked at all that was said to it before. */
static void look_around(bench *b, int first, given *g)
{
    for (int worker = first; worker < first + 2; worker++) {
        ask(b, worker, &g[worker].call);
        take(b, worker, &g[worker]);
        assert_false(g[worker].over);
    }
}

/* sync:2 of six workers. One says twice what it has made of its share: the step is not whole by that. */
static void a_share_counts_once(void **state)
{
    bench *b = open_bench(MOST_WORKERS, "sync:2", -1);
    given g[MOST_WORKERS] = {{.over = false}}, again;
    artel__lane_slot sent[2];
    (void)state;
    for (int k = 0; k < 2; k++) {
        ask(b, k, &g[k].call);
        take(b, k, &g[k]);
        assert_true(g[k].item.number == 0 && g[k].item.some == 2);
    }
    for (int k = 0; k < 2; k++) push(b, k, &sent[k], g[k].state, &g[k].item);
    for (int k = 0; k < 2; k++)
        assert_int_equal(lane_hear(b->ctx, &b->to_server[k], &sent[k], NULL).flags, ARTEL__ANSWER_OK);
    again = g[0];
    give(b, 0, &g[0].call, g[0].state, &g[0].item, 1, g[0].values);
    look_around(b, 2, g);
    give(b, 0, &again.call, again.state, &again.item, 1, again.values);
    look_around(b, 4, g);
    give(b, 1, &g[1].call, g[1].state, &g[1].item, 5, g[1].values);
    take(b, 0, &g[0]); /* the next step */
    assert_int_equal(g[0].item.number, 1);
    double first = (double)again.item.count, second = (double)g[1].item.count;
    assert_true(b->loss[1] == (first * 1 + second * 5) / (first + second));
    stop(b);
    drop(b, 0, &again.call);
    drop(b, 1, &g[1].call);
    close_bench(b);
}

/* What a worker has made of a share that no part has taken. */
static void give_late(bench *b, int worker, given *g, double value)
{
    const artel__tally *tally = &b->role[b->chief].fit.tally;
    int count = ARTEL__RESULT_VALUES + artel__tally_values(tally);
    artel__net_piece piece = {g->values, (size_t)count * sizeof *g->values};
    const artel__lane_head head = {.op = ARTEL__SERVE_RESULT,
                                   .install = g->state,
                                   .item = g->item.number,
                                   .position = (uint64_t)g->item.serial,
                                   .a = (uint64_t)g->item.mode,
                                   .b = 1};
    for (int i = 0; i < count; i++) g->values[i] = value;
    g->call = (artel__lane_slot){.room = 0};
    assert_int_equal(artel__lane_call(&b->lane[worker], &g->call, &head, &piece, 1, 0), ARTEL_OK);
}

/* sync:2 of three workers, of which one is too late in each step: its gradients change nothing, its losses are not
 * among those of the step, and it is counted. */
static void a_late_share_is_dropped_and_counted(void **state)
{
    enum {
        LATE = 2
    };
    bench *b = open_bench(3, "sync:2", -1);
    given g[3] = {{.over = false}};
    artel__lane_slot sent;
    (void)state;
    for (int step = 0; step < STEPS; step++) {
        for (int k = 0; k < 3 && step == 0; k++) ask(b, k, &g[k].call);
        for (int k = 0; k < 3 && step == 0; k++) take(b, k, &g[k]);
        for (int k = 0; k < LATE; k++) {
            assert_true(g[k].item.number == (uint64_t)step && g[k].item.some == 2);
            push(b, k, &sent, g[k].state, &g[k].item);
            assert_int_equal(lane_hear(b->ctx, &b->to_server[k], &sent, NULL).flags, ARTEL__ANSWER_OK);
            give(b, k, &g[k].call, g[k].state, &g[k].item, 1, g[k].values);
        }
        for (int k = 0; k < LATE; k++) take(b, k, &g[k]); /* the next step, or the first batch of validation */
        assert_true(b->loss[step + 1] == 1);
        if (step + 1 == STEPS) break; /* which of an epoch's last step comes too late, is counted in the next one */
        push(b, LATE, &sent, g[LATE].state, &g[LATE].item);
        assert_int_equal(lane_hear(b->ctx, &b->to_server[LATE], &sent, NULL).flags, ARTEL__ANSWER_ALREADY);
        give_late(b, LATE, &g[LATE], 1000);
        take(b, LATE, &g[LATE]);
        assert_true(g[LATE].item.number == (uint64_t)step + 1);
    }
    assert_int_equal(g[0].item.mode, ARTEL__MODE_EVALUATE);
    pthread_mutex_lock(&b->mutex);
    assert_string_equal(b->said, "2 of 9 gradients of workers came too late and were dropped");
    pthread_mutex_unlock(&b->mutex);
    stop(b);
    close_bench(b);
}

/* sync:3 of one worker: it makes all shares of a step, one after another. */
static void one_makes_all_shares(void **state)
{
    bench *b = open_bench(1, "sync:3", -1);
    given g = {.over = false};
    double rows = 0, sum = 0;
    (void)state;
    ask(b, 0, &g.call);
    take(b, 0, &g);
    for (int k = 0; k < 3; k++) {
        assert_true(g.item.number == 0 && g.item.some == 3 && g.item.share == k);
        assert_int_equal(g.item.cursor, rows);
        rows += (double)g.item.count;
        sum += (double)g.item.count * (k + 1);
        do_item(b, 0, &g, k + 1);
    }
    assert_true(g.item.number == 1 && g.item.share == 0);
    assert_true(b->loss[1] == sum / rows);
    stop(b);
    close_bench(b);
}

/* A worker comes so late with a batch of the first validation that the second one goes on, and one of its batches has
 * the same number: its result is of other variables, and does not count. */
static void a_result_counts_in_its_phase(void **state)
{
    enum {
        SLOW,
        QUICK,
        LATE = 4 /* batch of validation whose number is that of another one in the next epoch */
    };
    bench *b = open_bench(2, "async", -1);
    given slow = {.over = false}, quick = {.over = false};
    (void)state;
    ask(b, QUICK, &quick.call);
    take(b, QUICK, &quick);
    while (quick.item.mode == ARTEL__MODE_TRAIN || quick.item.number < STEPS + LATE - 1) do_item(b, QUICK, &quick, 1);
    ask(b, SLOW, &slow.call);
    take(b, SLOW, &slow);
    assert_true(slow.item.mode == ARTEL__MODE_EVALUATE && slow.item.number == STEPS + LATE);
    do { /* once more what the other one has had for a second, and the next epoch's steps */
        do_item(b, QUICK, &quick, 1);
    } while (quick.item.mode == ARTEL__MODE_TRAIN || quick.item.serial == slow.item.serial);
    assert_true(quick.item.number == 2 * STEPS && slow.item.number < 2 * STEPS + CHECKS);
    do_item(b, SLOW, &slow, 1000);
    assert_true(slow.item.serial == quick.item.serial);
    while (!slow.over) do_item(b, SLOW, &slow, 1);
    go_on(b, QUICK, &quick, 1);
    ask(b, SLOW, &slow.call);
    take(b, SLOW, &slow);
    for (int epoch = 0; epoch < EPOCHS; epoch++) assert_true(b->checked[epoch] == 1);
    close_bench(b);
}

/* Nothing comes back, and a worker has not even asked. */
static void who_asks_for_nothing_is_named(void **state)
{
    bench *b = open_bench(2, "bounded:0", -1);
    given g = {.over = false};
    (void)state;
    ask(b, 0, &g.call);
    take(b, 0, &g);
    while (!was_named(b)) artel__net_wait(b->lane[0].endpoint);
    stop(b);
    close_bench(b);
}

/* -- a worker, told by hand -- */

static void expect(bench *b, artel__lane *lane, artel__lane_slot *slot, unsigned op)
{
    artel__lane_head head;
    *slot = (artel__lane_slot){.room = 0};
    assert_int_equal(artel__lane_expect(lane, slot, 0), ARTEL_OK);
    lane_await(lane, slot);
    assert_int_equal(artel__lane_take(lane, slot, &head), ARTEL_OK);
    assert_int_equal(head.op, op);
    (void)b;
}

static void command(bench *b, artel__lane_head head, int pieces)
{
    artel__lane_slot slot = {.room = 0};
    artel__lane *lane = &b->to_server[b->chief];
    assert_int_equal(artel__lane_call(lane, &slot, &head, b->piece, pieces, 0), ARTEL_OK);
    assert_int_equal(lane_hear(b->ctx, lane, &slot, NULL).flags, ARTEL__ANSWER_OK);
}

/* A state has as many parts as it was given with: an item that says otherwise, or that nobody can have made, ends the
 * worker with the words that say what is wrong. */
static void an_item_has_the_servers_of_its_state(void **state)
{
    enum {
        STATE = 77
    };
    static const struct {
        int64_t servers, mode, placed, count;
        bool known; /* the worker has had an item of this state before */
    } odd[] = {
        {2, ARTEL__MODE_TRAIN, 0, BATCH, true},
        {64, ARTEL__MODE_TRAIN, 0, BATCH, true},
        {0, ARTEL__MODE_TRAIN, 0, BATCH, false},
        {-1, ARTEL__MODE_TRAIN, 0, BATCH, false},
        {ARTEL__MOST_SERVERS + 1, ARTEL__MODE_TRAIN, 0, BATCH, false},
        {1, ARTEL__MODE_PREDICT, 0, BATCH, false},
        {1, ARTEL__MODE_TRAIN, 5, BATCH, false},
        {1, ARTEL__MODE_TRAIN, 0, BATCH + 1, true},
        {1, ARTEL__MODE_TRAIN, 0, 0, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        bench *b = open_bench(1, "bounded:0", 0);
        artel__lane from_worker = b->lane[b->chief];
        artel__lane_slot call;
        artel__lane_head head = {.op = ARTEL__SERVE_TICKET, .install = STATE};
        artel__item item = {.count = BATCH, .servers = 1, .rate = 0.1};
        from_worker.peer = 0;
        item.rank[0] = b->server;
        command(b, (artel__lane_head){.op = ARTEL__SERVE_INSTALL, .part = 1 << 16, .install = STATE, .b = 1},
                lane_list_zeros(&b->division, 0, ARTEL__PART_STATE, b->entry, b->piece));
        command(b,
                (artel__lane_head){
                    .op = ARTEL__SERVE_ASSIGN, .flags = ARTEL__FLAG_HEAD, .part = 1 << 16, .install = STATE, .a = 2},
                0);
        expect(b, &from_worker, &call, ARTEL__SERVE_TICKET);
        artel__net_piece piece = {&item, sizeof item};
        if (odd[i].known) {
            artel__lane_slot first = call;
            assert_int_equal(artel__lane_answer(&from_worker, &first, &head, &piece, 1), ARTEL_OK);
            expect(b, &from_worker, &call, ARTEL__SERVE_RESULT);
            artel__lane_withdraw(&from_worker, &first);
            artel__slot_fini(b->ctx, &first);
        }
        item.servers = odd[i].servers;
        item.mode = odd[i].mode;
        item.placed = odd[i].placed;
        item.count = odd[i].count;
        item.number = 1;
        for (int k = 0; k < ARTEL__MOST_SERVERS; k++) item.rank[k] = b->server;
        assert_int_equal(artel__lane_answer(&from_worker, &call, &head, &piece, 1), ARTEL_OK);
        assert_int_equal(end(b, 0), ARTEL_ERROR_INVALID);
        const artel_error *e = artel_context_error(b->role[0].fit.ctx);
        const char *wanted = odd[i].count == BATCH ? "the coordinator sent what is no item"
                                                   : "the coordinator deals out rows that there are not";
        assert_string_equal(e->what, wanted);
        assert_string_equal(e->advice, "run the same artel, model and options everywhere");
        stop(b);
        artel__lane_withdraw(&from_worker, &call);
        artel__slot_fini(b->ctx, &call);
        close_bench(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_counts_once),           cmocka_unit_test(a_late_share_is_dropped_and_counted),
        cmocka_unit_test(one_makes_all_shares),          cmocka_unit_test(a_result_counts_in_its_phase),
        cmocka_unit_test(who_asks_for_nothing_is_named), cmocka_unit_test(an_item_has_the_servers_of_its_state),
    };
    return cmocka_run_group_tests_name("coordinate", tests, NULL, NULL);
}
