/* SPDX-License-Identifier: Apache-2.0 */
/* The server of parts as it runs in a job (train/serve.c), told by hand what a chief, a worker and another server
 * say: what is of an older state, or of variables that it does not have, is refused; an item counts once; nothing is
 * answered before copies have it; memory that is not to be had is named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>

#include "help_fit.h"
#include "help_lane.h"
#include "net/inproc.h"
#include "train/numbers.h"
#include "train/servers.h"

enum {
    CHIEF,
    WORKER,
    SERVER, /* the one that is tested */
    OTHER,
    RANKS,
    ROWS = 96,
    BATCH = 16,
    INSTALLED = 77, /* the number of the state */
    MOST = 64       /* entries of a message */
};

typedef struct bench {
    fit_bench fit_bench;
    artel_context *ctx; /* of what speaks to the server */
    artel_cluster *cluster;
    artel__fit fit;
    artel__service service;
    void *server;
    artel__fabric *fabric;
    artel__lane lane[RANKS]; /* to the server, by who speaks */
    artel__lane forward;     /* of the server, to OTHER */
    artel__arena arena;
    artel__division division;
    artel__entry entry[MOST];
    artel__net_piece piece[MOST];
    artel_status status; /* that the server ended with */
    bool runs;
    pthread_t thread;
} bench;

/* -- the server -- */

static void *serve(void *user)
{
    bench *b = user;
    b->status = artel__serve(&b->service, b->server);
    if (b->status < 0) artel__net_cancel(b->service.endpoint); /* so that nobody waits for it */
    return NULL;
}

static void begin_generation(bench *b)
{
    for (int r = 0; r < RANKS; r++)
        b->lane[r] = (artel__lane){.endpoint = artel__fabric_endpoint(b->fabric, r),
                                   .peer = SERVER,
                                   .job = 9,
                                   .generation = b->service.seat.generation};
    b->forward = b->lane[OTHER];
    assert_int_equal(pthread_create(&b->thread, NULL, serve, b), 0);
    b->runs = true;
}

static artel_status await_server(bench *b)
{
    assert_int_equal(pthread_join(b->thread, NULL), 0);
    for (int r = 0; r < RANKS; r++) artel__net_resume(artel__fabric_endpoint(b->fabric, r));
    b->service.seat.generation++;
    b->runs = false;
    return b->status;
}

static void end_generation(bench *b)
{
    artel__net_cancel(artel__fabric_endpoint(b->fabric, SERVER));
    assert_int_equal(await_server(b), ARTEL_AGAIN);
}

/* The members have changed: what is under way is dropped, and all meet again. */
static void change_generation(bench *b)
{
    end_generation(b);
    begin_generation(b);
}

/* Steps of some workers from the next generation on. */
static void take_some(bench *b, int workers)
{
    end_generation(b);
    b->service.some = workers;
    begin_generation(b);
}

static void open_service(bench *b)
{
    b->service = (artel__service){.fit = &b->fit,
                                  .cluster = b->cluster,
                                  .seat = {.ranks = RANKS, .job = 9, .generation = 1},
                                  .endpoint = artel__fabric_endpoint(b->fabric, SERVER),
                                  .type = {[CHIEF] = ARTEL__TASK_CHIEF,
                                           [WORKER] = ARTEL__TASK_WORKER,
                                           [SERVER] = ARTEL__TASK_PS,
                                           [OTHER] = ARTEL__TASK_PS},
                                  .task = {0, 1, 2, 3},
                                  .chief = CHIEF,
                                  .servers = 2,
                                  .workers = 1,
                                  .server = {SERVER, OTHER},
                                  .staleness = -1,
                                  .rule = {.partitioner = "none"},
                                  .copies = 1};
}

static int open_bench(void **state)
{
    bench *b = calloc(1, sizeof *b);
    const artel_cluster_options alone = ARTEL_CLUSTER_OPTIONS_INIT;
    fit_open_mlp(&b->fit_bench, ROWS);
    assert_int_equal(artel_context_create(NULL, &b->ctx), ARTEL_OK);
    assert_int_equal(artel_cluster_open(b->fit_bench.ctx, &alone, &b->cluster), ARTEL_OK);
    assert_int_equal(artel__fabric_create(b->ctx, RANKS, false, &b->fabric), ARTEL_OK);
    b->fit = (artel__fit){.ctx = b->fit_bench.ctx,
                          .model = b->fit_bench.model,
                          .options = fit_options(&b->fit_bench, BATCH, 1, 1),
                          .role = ARTEL__ROLE_SERVER};
    artel__arena_init(&b->fit.arena, b->fit.ctx);
    fit_expect(&b->fit_bench, artel__fit_open(&b->fit, b->fit_bench.data), ARTEL_OK);
    assert_int_equal(artel__server_create(&b->fit, &b->server), ARTEL_OK);
    artel__arena_init(&b->arena, b->fit.ctx);
    assert_int_equal(artel__division_make(&b->arena, b->fit.session, &(artel__division_rule){.partitioner = "none"}, 1,
                                          &b->division),
                     ARTEL_OK);
    assert_in_range(artel__division_most(&b->division), 1, MOST);
    open_service(b);
    begin_generation(b);
    *state = b;
    return 0;
}

/* -- what others say -- */

/* The pieces of a message about all variables, of zeros. */
static int list_pieces(bench *b, artel__part_list list)
{
    return lane_list_zeros(&b->division, 0, list, b->entry, b->piece);
}

static void call(bench *b, int from, artel__lane_slot *slot, artel__lane_head head, int pieces)
{
    assert_int_equal(artel__lane_call(&b->lane[from], slot, &head, b->piece, pieces, 0), ARTEL_OK);
}

static artel__lane_head say(bench *b, int from, artel__lane_head head, int pieces)
{
    artel__lane_slot slot = {.room = 0};
    call(b, from, &slot, head, pieces);
    return lane_hear(b->ctx, &b->lane[from], &slot, NULL);
}

/* Says it to a server that ends because of it. */
static artel_status end_by(bench *b, int from, artel__lane_head head, int pieces)
{
    artel__lane_slot slot = {.room = 0};
    call(b, from, &slot, head, pieces);
    artel_status status = await_server(b);
    artel__lane_withdraw(&b->lane[from], &slot);
    artel__slot_fini(b->ctx, &slot);
    return status;
}

static int close_bench(void **state)
{
    bench *b = *state;
    if (b->runs) {
        say(b, CHIEF, (artel__lane_head){.op = ARTEL__SERVE_END}, 0);
        assert_int_equal(await_server(b), ARTEL_OK);
    }
    artel__server_destroy(&b->fit, b->server);
    artel__arena_fini(&b->arena);
    artel__fit_close(&b->fit);
    artel__fabric_destroy(b->fabric);
    artel_cluster_close(b->cluster);
    artel_context_destroy(b->ctx);
    fit_close(&b->fit_bench);
    free(b);
    return 0;
}

static const artel__lane_head install = {.op = ARTEL__SERVE_INSTALL, .part = 1 << 16, .install = INSTALLED, .b = 1};
static const artel__lane_head head_of_part = {
    .op = ARTEL__SERVE_ASSIGN, .flags = ARTEL__FLAG_HEAD, .part = 1 << 16, .install = INSTALLED, .a = 2};

/* All variables are one part, of which the server is the head. */
static void give_part(bench *b, artel__lane_head assign)
{
    artel__lane_head answer = say(b, CHIEF, install, list_pieces(b, ARTEL__PART_STATE));
    assert_true(answer.flags == ARTEL__ANSWER_OK && answer.install == INSTALLED);
    assert_int_equal(say(b, CHIEF, assign, 0).flags, ARTEL__ANSWER_OK);
}

static artel__lane_head push_of(uint64_t item)
{
    return (artel__lane_head){.op = ARTEL__SERVE_PUSH, .install = INSTALLED, .item = item, .rate = 0.1};
}

/* Updates that the part has. */
static uint64_t position(bench *b)
{
    artel__lane_head answer = say(b, WORKER, (artel__lane_head){.op = ARTEL__SERVE_PULL, .install = INSTALLED}, 0);
    assert_int_equal(answer.flags, ARTEL__ANSWER_OK);
    return answer.position;
}

/* -- tests -- */

static void a_stale_view_is_refused(void **state)
{
    bench *b = *state;
    artel__lane_head pull = {.op = ARTEL__SERVE_PULL, .install = INSTALLED}, push = push_of(0),
                     fetch = {.op = ARTEL__SERVE_FETCH, .install = INSTALLED};
    assert_int_equal(say(b, WORKER, pull, 0).flags, ARTEL__ANSWER_STALE); /* nothing has been installed */
    give_part(b, head_of_part);
    pull.install = push.install = fetch.install = INSTALLED - 1;
    assert_int_equal(say(b, WORKER, pull, 0).flags, ARTEL__ANSWER_STALE);
    assert_int_equal(say(b, WORKER, push, list_pieces(b, ARTEL__PART_UPDATE)).flags, ARTEL__ANSWER_STALE);
    assert_int_equal(say(b, CHIEF, fetch, 0).flags, ARTEL__ANSWER_STALE);
    pull.install = INSTALLED;
    pull.part = 1; /* of which it has nothing */
    assert_int_equal(say(b, WORKER, pull, 0).flags, ARTEL__ANSWER_STALE);
    assert_int_equal(position(b), 0);
    assert_int_equal(say(b, CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).a, 1);
    assert_int_equal(say(b, CHIEF, (artel__lane_head){.op = ARTEL__SERVE_DROP}, 0).flags, ARTEL__ANSWER_OK);
    assert_int_equal(say(b, CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).a, 0); /* what it had is void */
    push.install = INSTALLED;
    assert_int_equal(say(b, WORKER, push, list_pieces(b, ARTEL__PART_UPDATE)).flags, ARTEL__ANSWER_STALE);
}

static void an_unknown_variable_is_refused(void **state)
{
    bench *b = *state;
    give_part(b, head_of_part);
    int count = list_pieces(b, ARTEL__PART_UPDATE);
    b->piece[count] = (artel__net_piece){lane_zeros, 40}; /* of a variable that this model does not have */
    assert_int_equal(end_by(b, WORKER, push_of(0), count + 1), ARTEL_ERROR_INVALID);
    assert_non_null(strstr(artel_context_error(b->fit.ctx)->what, "does not fit this part of the variables"));
    assert_non_null(
        strstr(artel_context_error(b->fit.ctx)->advice, "run the same artel, model and options everywhere"));
}

/* What nobody says who runs the same program: each ends the server with the same words. */
static void what_fits_nothing_is_refused(void **state)
{
    bench *b = *state;
    static const struct {
        int from;
        artel__lane_head head;
    } odd[] = {
        {WORKER, {.op = ARTEL__SERVE_PUSH, .install = INSTALLED}},               /* without a gradient */
        {WORKER, {.op = ARTEL__SERVE_PUSH, .install = INSTALLED, .item = 1000}}, /* of a later epoch */
        {WORKER,
         {.op = ARTEL__SERVE_PULL, .install = INSTALLED, .part = ARTEL__MOST_SERVERS}}, /* of a part that cannot be */
        {WORKER, {.op = ARTEL__SERVE_INSTALL, .install = INSTALLED, .part = 1 << 16}},  /* the chief's word */
        {WORKER, {.op = ARTEL__SERVE_FORWARD, .install = INSTALLED}},                   /* a server's */
        {WORKER, {.op = ARTEL__SERVE_TICKET, .install = INSTALLED}},                    /* to the chief */
        {WORKER, {.op = 99, .install = INSTALLED}},                                     /* nobody's */
        {OTHER, {.op = ARTEL__SERVE_PUSH, .install = INSTALLED}},                       /* a worker's */
        {OTHER, {.op = ARTEL__SERVE_FORWARD, .install = INSTALLED}},                    /* to a copy */
        {CHIEF, {.op = ARTEL__SERVE_INSTALL, .install = INSTALLED, .part = 1 << 16}},   /* without a state */
        {CHIEF, {.op = ARTEL__SERVE_INSTALL, .install = INSTALLED, .part = 0}},         /* of no parts */
        {CHIEF,
         {.op = ARTEL__SERVE_ASSIGN, .install = INSTALLED, .b = 1 + WORKER, .part = 1 << 16}}, /* a copy at a worker */
        {CHIEF, {.op = ARTEL__SERVE_MEET, .b = ARTEL__MEET_HOLDS}},                            /* nobody */
        {WORKER, {.op = ARTEL__SERVE_MEET, .a = 5, .b = ARTEL__MEET_HOLDS}},
        {WORKER, {.op = ARTEL__SERVE_NUMBERS, .install = INSTALLED, .part = 1 << 16}}, /* a server's */
        {OTHER, {.op = ARTEL__SERVE_NUMBERS, .install = INSTALLED, .part = 1 << 16}}, /* of which no update wants any */
        {CHIEF, {.op = ARTEL__SERVE_COPY, .install = INSTALLED, .a = RANKS}},         /* to nobody */
        {CHIEF, {.op = ARTEL__SERVE_COPY, .install = INSTALLED, .a = SERVER}},        /* to itself */
        {CHIEF,
         {.op = ARTEL__SERVE_ASSIGN, .install = INSTALLED, .b = 1 + SERVER, .part = 1 << 16}}, /* a copy at itself */
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        if (!b->runs) begin_generation(b);
        give_part(b, head_of_part);
        artel__operation_begin(b->fit.ctx);
        assert_int_equal(end_by(b, odd[i].from, odd[i].head, 0), ARTEL_ERROR_INVALID);
        assert_non_null(strstr(artel_context_error(b->fit.ctx)->what, "does not fit this part of the variables"));
    }
}

/* However often, and after a change of the members, too. */
static void an_item_counts_once(void **state)
{
    bench *b = *state;
    int count;
    give_part(b, head_of_part);
    for (uint64_t item = 0; item < 3; item++) {
        count = list_pieces(b, ARTEL__PART_UPDATE);
        artel__lane_head answer = say(b, WORKER, push_of(item), count);
        assert_true(answer.flags == ARTEL__ANSWER_OK && answer.item == item && answer.position == item + 1);
        answer = say(b, WORKER, push_of(item), count);
        assert_true(answer.flags == ARTEL__ANSWER_ALREADY && answer.position == item + 1);
    }
    change_generation(b);
    for (uint64_t item = 0; item < 3; item++)
        assert_int_equal(say(b, WORKER, push_of(item), count).flags, ARTEL__ANSWER_ALREADY);
    assert_int_equal(position(b), 3);
    assert_int_equal(say(b, WORKER, push_of(3), count).flags, ARTEL__ANSWER_OK);
    assert_int_equal(position(b), 4);
}

/* The same number twice at once, as of a worker that is slow and of the one that was given its batch. */
static void of_two_at_once_one_counts(void **state)
{
    bench *b = *state;
    artel__lane_slot slot[2] = {{.room = 0}};
    give_part(b, head_of_part);
    int count = list_pieces(b, ARTEL__PART_UPDATE), already = 0;
    for (int i = 0; i < 2; i++) call(b, WORKER, &slot[i], push_of(2), count);
    for (int i = 0; i < 2; i++)
        already += lane_hear(b->ctx, &b->lane[WORKER], &slot[i], NULL).flags == ARTEL__ANSWER_ALREADY;
    assert_int_equal(already, 1);
    assert_int_equal(position(b), 1);
}

/* Whether all variables that a worker is given are 0, as they were installed; `item`: before which one, + 1; 0: now. */
static bool gives_zeros(bench *b, uint64_t item)
{
    artel__lane_slot slot = {.room = 0};
    artel__lane *lane = &b->lane[WORKER];
    artel__lane_head head;
    int count = list_pieces(b, ARTEL__PART_VALUES);
    call(b, WORKER, &slot, (artel__lane_head){.op = ARTEL__SERVE_PULL, .install = INSTALLED, .b = item}, 0);
    lane_await(lane, &slot);
    assert_int_equal(artel__lane_take(lane, &slot, &head), ARTEL_OK);
    bool same = true;
    artel__entries_at at = {0, 0};
    for (int i = 0; i < count; i++) {
        const void *values = artel__entries_next(&slot, &at, b->piece[i].bytes);
        assert_non_null(values);
        same = same && memcmp(values, b->piece[i].data, b->piece[i].bytes) == 0;
    }
    lane_hear(b->ctx, lane, &slot, NULL);
    return same;
}

/* sync:2. The generation ends when this part has the step and another one has not: its shares are made again of the
 * variables before it, and add nothing here. What there is of a step that lacks one goes with the generation. */
static void a_share_is_made_again_of_the_variables_before(void **state)
{
    bench *b = *state;
    static float ones[1 << 16];
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) ones[i] = 1;
    take_some(b, 2);
    give_part(b, head_of_part);
    int count = list_pieces(b, ARTEL__PART_UPDATE);
    for (int i = 0; i < count; i++) {
        assert_in_range(b->piece[i].bytes, 0, sizeof ones);
        b->piece[i].data = ones;
    }
    artel__net_piece update[MOST];
    memcpy(update, b->piece, sizeof update);
    for (int times = 0; times < 2; times++) {
        for (uint64_t share = 0; share < 2; share++) {
            artel__lane_head push = push_of(0);
            push.a = BATCH / 2 | share << 32;
            push.b = 2;
            memcpy(b->piece, update, sizeof update);
            assert_int_equal(say(b, WORKER, push, count).flags, times ? ARTEL__ANSWER_ALREADY : ARTEL__ANSWER_OK);
            if (times == 0 && share == 0) {
                assert_true(gives_zeros(b, 0) && position(b) == 0);
                change_generation(b);
                memcpy(b->piece, update, sizeof update);
                assert_int_equal(say(b, WORKER, push, count).flags, ARTEL__ANSWER_OK);
            }
        }
        assert_int_equal(position(b), 1);
        assert_false(gives_zeros(b, 0));
        assert_true(gives_zeros(b, 1));
        assert_false(gives_zeros(b, 2));
        change_generation(b);
    }
}

/* Which chief had a majority last: one that waits for one is not remembered, whatever it says. */
static void a_chief_with_a_majority_is_remembered(void **state)
{
    bench *b = *state;
    static const struct {
        uint64_t chief, what, before;
    } said[] = {{5, ARTEL__MEET_ASKS, 0}, {5, ARTEL__MEET_WAITS, 0}, {5, ARTEL__MEET_HOLDS, 0},
                {6, ARTEL__MEET_ASKS, 5}, {6, ARTEL__MEET_WAITS, 5}, {6, ARTEL__MEET_HOLDS, 5}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        assert_int_equal(
            say(b, CHIEF, (artel__lane_head){.op = ARTEL__SERVE_MEET, .a = said[i].chief, .b = said[i].what}, 0).a,
            said[i].before);
        change_generation(b);
    }
    assert_int_equal(say(b, CHIEF, (artel__lane_head){.op = ARTEL__SERVE_MEET, .a = 7}, 0).a, 6);
}

/* What the server sends on, at OTHER; in `slot` until it is answered. */
static artel__lane_head take_forward(bench *b, artel__lane_slot *slot)
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
    bench *b = *state;
    artel__lane_slot asked = {.room = 0}, given = {.room = 0};
    artel__lane_head copy = install, give = {.op = ARTEL__SERVE_COPY, .install = INSTALLED, .a = OTHER, .b = 3};
    static struct kept {
        uint64_t number;
        float value[1 << 12];
    } kept = {1, {0}};
    static float twos[1 << 12];
    for (size_t i = 0; i < sizeof twos / sizeof *twos; i++) twos[i] = 2;
    take_some(b, 2);
    size_t bytes =
        sizeof kept.number + artel__entries_bytes(b->entry, list_pieces(b, ARTEL__PART_VALUES)); /* all are 0 */
    assert_in_range(bytes, sizeof kept.number + 1, sizeof kept);
    int count = list_pieces(b, ARTEL__PART_STATE);
    copy.flags = ARTEL__FLAG_COPY;
    copy.a = 1;
    for (int i = 0; i < count; i++) b->piece[i].data = twos; /* what it is now */
    b->piece[count] = (artel__net_piece){&kept, bytes};
    assert_int_equal(say(b, OTHER, copy, count + 1).flags, ARTEL__ANSWER_OK);
    assert_int_equal(say(b, CHIEF, head_of_part, 0).flags, ARTEL__ANSWER_OK);
    assert_false(gives_zeros(b, 0));
    assert_true(gives_zeros(b, 1));
    assert_false(gives_zeros(b, 2));
    call(b, CHIEF, &asked, give, 0);
    artel__lane_head head = take_forward(b, &given);
    assert_true(head.op == ARTEL__SERVE_INSTALL && head.flags == ARTEL__FLAG_COPY && head.a == 1);
    artel__entries_at at = {0, 0};
    count = list_pieces(b, ARTEL__PART_STATE);
    for (int i = 0; i < count; i++) assert_non_null(artel__entries_next(&given, &at, b->entry[i].bytes));
    const void *again = artel__entries_next(&given, &at, bytes);
    assert_true(again && memcmp(again, &kept, bytes) == 0 && at.offset == given.length);
    assert_int_equal(artel__lane_answer(&b->forward, &given, &(artel__lane_head){.op = ARTEL__SERVE_INSTALL}, NULL, 0),
                     ARTEL_OK);
    lane_hear(b->ctx, &b->lane[CHIEF], &asked, NULL);
    artel__lane_withdraw(&b->forward, &given);
    artel__slot_fini(b->ctx, &given);
}

/* sync:2. A head that has agreed with all parts about an update, and whose generation ends before it has applied it,
 * does not tell that again: the shares are made anew. Neither does it stay where another state has been installed. */
static void what_was_told_is_void_where_it_is_not_applied(void **state)
{
    fit_bench b;
    artel__served_part *p = NULL;
    artel__endpoint endpoint = {.rank = 0};
    artel__numbers n = {.count = 0};
    artel__served_call at = {.room = 0};
    bool ready = false;
    (void)state;
    fit_open_mlp(&b, ROWS);
    fit_expect(&b, artel_model_compile(b.model, "adam:global_clipnorm=0.1", NULL, NULL), ARTEL_OK);
    artel__fit fit = {
        .ctx = b.ctx, .model = b.model, .options = fit_options(&b, BATCH, 1, 1), .role = ARTEL__ROLE_SERVER};
    fit.options.consistency = "sync:2";
    artel__arena_init(&fit.arena, fit.ctx);
    fit_expect(&b, artel__fit_open(&fit, b.data), ARTEL_OK);
    artel__service service = {
        .fit = &fit, .endpoint = &endpoint, .servers = 1, .some = 2, .rule = {.partitioner = "none", .mean = true}};
    assert_int_equal(artel__numbers_begin(&n, &service), ARTEL_OK);
    assert_int_equal(artel__served_make(&fit, &service, 0, 1, NULL, &p), ARTEL_OK);
    p->install = INSTALLED;
    size_t half = (size_t)n.count + 1;
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
    artel__served_drop(p);
    artel__numbers_fini(&n);
    artel__fit_close(&fit);
    fit_close(&b);
}

static void a_head_answers_when_its_copy_has_it(void **state)
{
    bench *b = *state;
    artel__lane_slot push = {.room = 0}, pull = {.room = 0}, copy = {.room = 0};
    artel__lane_head assign = head_of_part;
    assign.b = 1 + OTHER;
    give_part(b, assign);
    call(b, WORKER, &push, push_of(0), list_pieces(b, ARTEL__PART_UPDATE));
    artel__lane_head head = take_forward(b, &copy);
    assert_true(head.op == ARTEL__SERVE_FORWARD && head.item == 0 && head.position == 0 && head.install == INSTALLED);
    call(b, WORKER, &pull, (artel__lane_head){.op = ARTEL__SERVE_PULL, .install = INSTALLED}, 0);
    assert_int_equal(say(b, CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).a,
                     1); /* so it has looked at all that came before */
    assert_int_equal(artel__net_progress(b->lane[WORKER].endpoint), ARTEL_OK);
    assert_false(artel__slot_arrived(&push) || artel__slot_arrived(&pull));
    assert_int_equal(artel__lane_answer(&b->forward, &copy, &(artel__lane_head){.op = ARTEL__SERVE_FORWARD}, NULL, 0),
                     ARTEL_OK);
    assert_int_equal(lane_hear(b->ctx, &b->lane[WORKER], &push, NULL).position, 1);
    assert_int_equal(lane_hear(b->ctx, &b->lane[WORKER], &pull, NULL).position, 1);
    artel__lane_withdraw(&b->forward, &copy);
    artel__slot_fini(b->ctx, &copy);
}

/* While a copy has not answered, an answer waits that speaks of the part: whoever takes that away fits nothing. */
static void a_busy_part_is_not_dropped(void **state)
{
    bench *b = *state;
    static const artel__lane_head away[] = {
        {.op = ARTEL__SERVE_DROP},
        {.op = ARTEL__SERVE_INSTALL, .install = INSTALLED, .part = 1 << 16},
        {.op = ARTEL__SERVE_INSTALL, .install = INSTALLED + 1, .part = 1 | 2 << 16}};
    for (size_t i = 0; i < sizeof away / sizeof *away; i++) {
        artel__lane_slot push = {.room = 0}, copy = {.room = 0};
        artel__lane_head assign = head_of_part;
        assign.b = 1 + OTHER;
        if (!b->runs) begin_generation(b);
        give_part(b, assign);
        call(b, WORKER, &push, push_of(0), list_pieces(b, ARTEL__PART_UPDATE));
        assert_int_equal(take_forward(b, &copy).op, ARTEL__SERVE_FORWARD);
        artel__lane_withdraw(&b->forward, &copy); /* unanswered */
        artel__operation_begin(b->fit.ctx);
        assert_int_equal(end_by(b, CHIEF, away[i], 0), ARTEL_ERROR_INVALID);
        assert_non_null(strstr(artel_context_error(b->fit.ctx)->what, "does not fit this part of the variables"));
        artel__lane_withdraw(&b->lane[WORKER], &push);
        artel__slot_fini(b->ctx, &push);
        artel__slot_fini(b->ctx, &copy);
    }
}

static void a_copy_applies_in_order(void **state)
{
    bench *b = *state;
    artel__lane_slot slot[2] = {{.room = 0}};
    artel__lane_head assign = head_of_part,
                     forward = {
                         .op = ARTEL__SERVE_FORWARD, .install = INSTALLED, .item = 1, .rate = 0.1, .position = 1};
    assign.flags = 0;
    give_part(b, assign);
    int count = list_pieces(b, ARTEL__PART_UPDATE);
    call(b, OTHER, &slot[0], forward, count);
    forward.item = forward.position = 0;
    call(b, OTHER, &slot[1], forward, count);
    assert_int_equal(lane_hear(b->ctx, &b->lane[OTHER], &slot[1], NULL).position, 1);
    assert_int_equal(lane_hear(b->ctx, &b->lane[OTHER], &slot[0], NULL).position, 2);
}

/* After many updates the bits that say which ones a part has are more than its variables. */
static void a_copy_has_the_bits_of_a_long_run(void **state)
{
    bench *b = *state;
    enum {
        EPOCHS = 10000000,
        BITS = 6 << 20
    };
    end_generation(b); /* the server reads the epochs */
    b->fit.options.epochs = EPOCHS;
    begin_generation(b);
    uint8_t *bits = calloc(1, BITS);
    artel__lane_head copy = install;
    int count = list_pieces(b, ARTEL__PART_STATE);
    copy.flags = ARTEL__FLAG_COPY;
    bits[0] = 1;
    b->piece[count] = (artel__net_piece){bits, BITS};
    assert_int_equal(say(b, OTHER, copy, count + 1).flags, ARTEL__ANSWER_OK);
    assert_int_equal(say(b, CHIEF, head_of_part, 0).flags, ARTEL__ANSWER_OK);
    count = list_pieces(b, ARTEL__PART_UPDATE);
    assert_int_equal(say(b, WORKER, push_of(0), count).flags, ARTEL__ANSWER_ALREADY);
    assert_int_equal(say(b, WORKER, push_of(1), count).flags, ARTEL__ANSWER_OK);
    free(bits);
}

/* All have gone back, to fewer servers: what the server had of the state before lies in nobody's way. */
static void a_void_part_is_dropped(void **state)
{
    bench *b = *state;
    artel__division two;
    artel__lane_head again = {.op = ARTEL__SERVE_INSTALL, .part = 1 | 2 << 16, .install = INSTALLED + 1, .b = 9};
    give_part(b, head_of_part);
    change_generation(b);
    assert_int_equal(
        artel__division_make(&b->arena, b->fit.session, &(artel__division_rule){.partitioner = "none"}, 2, &two),
        ARTEL_OK);
    int count = lane_list_zeros(&two, 1, ARTEL__PART_STATE, b->entry, b->piece);
    assert_int_equal(say(b, CHIEF, again, count).flags, ARTEL__ANSWER_OK);
    assert_int_equal(say(b, CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).a, 1);
    again.op = ARTEL__SERVE_FETCH;
    assert_int_equal(say(b, CHIEF, again, 0).flags, ARTEL__ANSWER_OK);
}

/* Calls of a worker take turns in many slots; its answers, of the size of all variables, lie in one room as long as one
 * is under way at a time, and in two when there are two. */
static void answers_share_their_room(void **state)
{
    bench *b = *state;
    enum {
        CALLS = 24, /* more than there are slots */
        TOGETHER = 2
    };
    const void *room[CALLS * TOGETHER];
    int rooms = 0;
    give_part(b, head_of_part);
    for (int together = 1; together <= TOGETHER; together++) {
        for (int n = 0; n < CALLS; n++) {
            artel__lane_slot slot[TOGETHER] = {{.room = 0}};
            artel__lane_head head, pull = {.op = ARTEL__SERVE_PULL, .install = INSTALLED};
            for (int i = 0; i < together; i++) call(b, WORKER, &slot[i], pull, 0);
            for (int i = 0; i < together; i++) {
                lane_await(&b->lane[WORKER], &slot[i]);
                assert_int_equal(artel__lane_take(&b->lane[WORKER], &slot[i], &head), ARTEL_OK);
                const void *at =
                    artel__slot_data(&slot[i], 0, 0, slot[i].receive.piece[1].bytes); /* where it lies there */
                int known = 0;
                while (known < rooms && room[known] != at) known++;
                if (known == rooms) room[rooms++] = at;
            }
            for (int i = 0; i < together; i++) lane_hear(b->ctx, &b->lane[WORKER], &slot[i], NULL);
        }
        assert_in_range(rooms, 1, together);
    }
}

/* Whether the server has given the part a place. Else it has ended. */
static bool installs(bench *b)
{
    artel__lane *lane = &b->lane[CHIEF];
    artel__lane_slot slot = {.room = 0};
    call(b, CHIEF, &slot, install, list_pieces(b, ARTEL__PART_STATE));
    artel_status status = artel__net_progress(lane->endpoint);
    while (status == ARTEL_OK && !artel__slot_arrived(&slot)) {
        artel__net_wait(lane->endpoint);
        status = artel__net_progress(lane->endpoint);
    }
    bool here = artel__slot_arrived(&slot);
    if (!here) assert_int_equal(await_server(b), ARTEL_ERROR_NO_MEMORY);
    artel__lane_withdraw(lane, &slot);
    artel__slot_fini(b->ctx, &slot);
    return here;
}

/* Whichever piece of memory of a part is not to be had: the server ends, and says how much it was. */
static void memory_is_refused_by_name(void **state)
{
    bench *b = *state;
    uint64_t before = artel__heap_calls(b->fit.ctx);
    assert_true(installs(b));
    uint64_t calls = artel__heap_calls(b->fit.ctx) - before, failed = 0;
    for (uint64_t n = 1; n <= calls; n++) {
        if (!b->runs) begin_generation(b);
        assert_int_equal(say(b, CHIEF, (artel__lane_head){.op = ARTEL__SERVE_ASK}, 0).flags,
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
        cmocka_unit_test_setup_teardown(a_stale_view_is_refused, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(an_unknown_variable_is_refused, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(what_fits_nothing_is_refused, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(an_item_counts_once, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(of_two_at_once_one_counts, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_share_is_made_again_of_the_variables_before, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(what_was_kept_goes_with_a_copy, open_bench, close_bench),
        cmocka_unit_test(what_was_told_is_void_where_it_is_not_applied),
        cmocka_unit_test_setup_teardown(a_chief_with_a_majority_is_remembered, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_head_answers_when_its_copy_has_it, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_busy_part_is_not_dropped, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_copy_applies_in_order, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_copy_has_the_bits_of_a_long_run, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(a_void_part_is_dropped, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(answers_share_their_room, open_bench, close_bench),
        cmocka_unit_test_setup_teardown(memory_is_refused_by_name, open_bench, close_bench),
    };
    return cmocka_run_group_tests_name("serve", tests, NULL, NULL);
}
