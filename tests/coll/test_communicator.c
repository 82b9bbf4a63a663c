/* SPDX-License-Identifier: Apache-2.0 */
/* The public collectives among threads: each of them once, in subsets of any order, many together, and what follows a
 * failure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "help_members.h"

static void each_of_them(void *user, int r)
{
    help_members *s = user;
    artel_communicator *c = s->c[r];
    int32_t in[2 * MEMBERS], out[2 * MEMBERS];
    int destination[MEMBERS] = {1, 2, 3, 4, 0};
    artel_collective call = {
        .dtype = ARTEL_DTYPE_INT32, .count = 2, .in = in, .out = out, .root = 3, .destination = destination};
    EXPECT(artel_communicator_position(c) == r && artel_communicator_members(c) == MEMBERS);
    for (int i = 0; i < 2 * MEMBERS; i++) in[i] = 100 * r + i;
    EXPECT(artel_communicator_barrier(c) == ARTEL_OK);
    EXPECT(artel_communicator_broadcast(c, &call) == ARTEL_OK && out[0] == 300 && out[1] == 301);
    EXPECT(artel_communicator_reduce(c, &call) == ARTEL_OK && (r != 3 || (out[0] == 1000 && out[1] == 1005)));
    EXPECT(artel_communicator_all_reduce(c, &call) == ARTEL_OK && out[0] == 1000 && out[1] == 1005);
    EXPECT(artel_communicator_reduce_scatter(c, &call) == ARTEL_OK && out[0] == 1000 + 10 * r &&
           out[1] == 1005 + 10 * r);
    EXPECT(artel_communicator_gather(c, &call) == ARTEL_OK && (r != 3 || (out[2] == 100 && out[9] == 401)));
    EXPECT(artel_communicator_all_gather(c, &call) == ARTEL_OK && out[0] == 0 && out[2] == 100 && out[9] == 401);
    EXPECT(artel_communicator_all_to_all(c, &call) == ARTEL_OK && out[0] == 2 * r && out[2] == 100 + 2 * r &&
           out[9] == 401 + 2 * r);
    EXPECT(artel_communicator_permute(c, &call) == ARTEL_OK && out[0] == (r + 4) % MEMBERS * 100);
    call.reduction = ARTEL_REDUCTION_MEAN;
    EXPECT(artel_communicator_all_reduce(c, &call) == ARTEL_OK && out[0] == 200 && out[1] == 201);
    EXPECT(artel_communicator_finish(c) == ARTEL_OK);
}

static void all_calls(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, each_of_them, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    help_close_members(&s);
}

/* Three subsets that share members, one of them made twice, one within another; calls of all of them in turn. */
static void in_subsets(void *user, int r)
{
    static const int list[3][MEMBERS] = {{4, 0, 2}, {2, 4, 1, 3}, {4, 0, 2}}, size[3] = {3, 4, 3};
    help_members *s = user;
    artel_communicator *sub[3] = {NULL}, *inner = NULL;
    int64_t one = 1 << r, sum;
    artel_collective call = {.dtype = ARTEL_DTYPE_INT64, .count = 1, .in = &one, .out = &sum};
    for (int i = 0; i < 3; i++) {
        int own = -1, total = 0;
        for (int k = 0; k < size[i]; k++) {
            if (list[i][k] == r) own = k;
            total |= 1 << list[i][k];
        }
        artel_status status = artel_communicator_subset(s->c[r], list[i], size[i], &sub[i]);
        EXPECT(status == (own < 0 ? ARTEL_ERROR_INVALID : ARTEL_OK));
        if (own < 0) EXPECT(strstr(artel_context_error(s->ctx[r])->what, "is not among") != NULL);
        if (own < 0) continue;
        EXPECT(artel_communicator_position(sub[i]) == own);
        EXPECT(artel_communicator_all_reduce(sub[i], &call) == ARTEL_OK && sum == total);
    }
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 3; i++) {
            one = (int64_t)(i + 1) * 1000 + round;
            if (sub[i]) EXPECT(artel_communicator_all_reduce(sub[i], &call) == ARTEL_OK && sum == one * size[i]);
        }
    }
    if (r == 4 || r == 1) { /* positions 1 and 2 of the second one, turned round */
        EXPECT(artel_communicator_subset(sub[1], (int[]){2, 1}, 2, &inner) == ARTEL_OK);
        one = r;
        EXPECT(artel_communicator_broadcast(inner, &call) == ARTEL_OK && sum == 1);
        EXPECT(artel_communicator_renew(inner) == ARTEL_ERROR_INVALID);
    }
    artel_communicator_destroy(inner);
    for (int i = 0; i < 3; i++) artel_communicator_destroy(sub[i]);
}

static void subsets(void **state)
{
    (void)state;
    help_members s;
    artel_communicator *sub;
    help_open_members(&s);
    help_run_ranks(MEMBERS, in_subsets, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_int_equal(artel_communicator_subset(s.c[0], (int[]){0, 0}, 2, &sub), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_communicator_subset(s.c[0], (int[]){0, 5}, 2, &sub), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_communicator_subset(s.c[0], NULL, 0, &sub), ARTEL_ERROR_INVALID);
    help_close_members(&s);
}

/* Types mixed, packs that fill, one that is large, some without elements. */
static void many_together(void *user, int r)
{
    enum {
        CALLS = 40,
        MOST = 90001
    };
    help_members *s = user;
    float *in = malloc(CALLS * MOST * sizeof *in), *out = malloc(CALLS * MOST * sizeof *out),
          *one = malloc(MOST * sizeof *one);
    artel_collective calls[CALLS];
    for (int i = 0; i < CALLS; i++) {
        calls[i] = (artel_collective){.count = i == 7       ? MOST
                                               : i % 9 == 0 ? 0
                                                            : i * 977,
                                      .in = in + i * MOST,
                                      .out = out + i * MOST};
        if (i % 11 > 7) calls[i].dtype = ARTEL_DTYPE_INT32;
        if (i % 13 > 7) calls[i].reduction = ARTEL_REDUCTION_MAX;
        for (int64_t k = 0; k < MOST; k++) {
            uint64_t bits = help_mix((uint64_t)(i + 100 * r), (uint64_t)k);
            float value = (float)(bits & 0xffff) * 0.37f - 10000.0f;
            memcpy(&in[i * MOST + k], calls[i].dtype == ARTEL_DTYPE_INT32 ? (void *)&bits : (void *)&value, 4);
        }
    }
    EXPECT(artel_communicator_all_reduce_many(s->c[r], calls, CALLS) == ARTEL_OK);
    for (int i = 0; i < CALLS; i++) {
        artel_collective single = calls[i];
        single.out = one;
        EXPECT(artel_communicator_all_reduce(s->c[r], &single) == ARTEL_OK);
        EXPECT(single.count == 0 || memcmp(one, calls[i].out, (size_t)single.count * 4) == 0);
    }
    EXPECT(artel_communicator_all_reduce_many(s->c[r], calls, 0) == ARTEL_OK);
    free(in);
    free(out);
    free(one);
}

static void many(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, many_together, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    help_close_members(&s);
}

/* -- failures -- */

static void differ_and_renew(void *user, int r)
{
    help_members *s = user;
    float in[9] = {(float)r}, out[9];
    artel_collective call = {.count = r == 2 ? 9 : 8, .in = in, .out = out};
    EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_ERROR_INVALID);
    const artel_error *error = artel_context_error(s->ctx[r]);
    EXPECT(strcmp(error->where, "all-reduce") == 0);
    EXPECT(strstr(error->what,
                  "member 0 called all-reduce (sum) of 8 x float32, member 2 all-reduce (sum) of 9 x float32") != NULL);
    EXPECT(artel_communicator_barrier(s->c[r]) == ARTEL_ERROR_INVALID);
    EXPECT(strstr(artel_context_error(s->ctx[r])->what, "a call before has failed") != NULL);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    call.count = 8;
    EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_OK && out[0] == 10.0f);
    /* Cancelled by one of them, which does not come. Not before all have left the last call. */
    pthread_barrier_wait(&s->all);
    if (r == 1) {
        artel_communicator_cancel(s->c[r]);
    } else {
        EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_ERROR_CANCELLED);
        EXPECT(strcmp(artel_context_error(s->ctx[r])->what, "ended by member 1: cancelled") == 0);
    }
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_OK && out[0] == 10.0f);
}

static void failures_are_over_after_renewing(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    pthread_barrier_init(&s.all, NULL, MEMBERS);
    help_run_ranks(MEMBERS, differ_and_renew, &s);
    pthread_barrier_destroy(&s.all);
    assert_int_equal(atomic_load(&s.wrong), 0);
    help_close_members(&s);
}

static void one_leaves(void *user, int r)
{
    help_members *s = user;
    if (r == 0) {
        artel_communicator_destroy(s->c[0]);
        s->c[0] = NULL;
        return;
    }
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_ERROR_RUN);
}

static void nobody_waits_for_one_that_has_left(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, one_leaves, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    help_close_members(&s);
}

/* One does not come, and goes: the others, who wait for it, are told, and so is who calls later. */
static void one_goes_without_a_word(void *user, int r)
{
    help_members *s = user;
    artel_status status = r == 0 ? ARTEL_ERROR_RUN : artel_communicator_barrier(s->c[r]);
    EXPECT(status == ARTEL_ERROR_RUN || status == ARTEL_ERROR_CANCELLED);
    if (status == ARTEL_ERROR_RUN && r > 0) EXPECT(strstr(artel_context_error(s->ctx[r])->what, "has left it") != NULL);
    artel_communicator_destroy(s->c[r]);
    s->c[r] = NULL;
}

static void nobody_waits_for_one_that_goes(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, one_goes_without_a_word, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    help_close_members(&s);
}

/* Members of a subset differ while the others wait for them in a call of all: each of the subset learns why, the others
 * that it is over. */
static void differ_in_a_subset(void *user, int r)
{
    help_members *s = user;
    artel_communicator *sub = NULL;
    float x[8] = {0};
    if (r < 3) {
        EXPECT(artel_communicator_subset(s->c[r], (int[]){2, 1, 0}, 3, &sub) == ARTEL_OK);
        EXPECT(artel_communicator_all_reduce(sub, &(artel_collective){.count = 7 + r % 2, .in = x, .out = x}) ==
               ARTEL_ERROR_INVALID);
        EXPECT(strstr(artel_context_error(s->ctx[r])->what, "member 1 all-reduce (sum) of 8 x float32") != NULL);
        EXPECT(artel_communicator_barrier(s->c[r]) == ARTEL_ERROR_INVALID);
        artel_communicator_destroy(sub);
    } else {
        EXPECT(artel_communicator_barrier(s->c[r]) == ARTEL_ERROR_CANCELLED);
    }
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    EXPECT(artel_communicator_finish(s->c[r]) == ARTEL_OK);
}

static void a_subset_that_fails_ends_other_calls(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    for (int i = 0; i < 20; i++) help_run_ranks(MEMBERS, differ_in_a_subset, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    help_close_members(&s);
}

/* The context of one that waits is cancelled, as a signal handler does it; then the one of a member that waits for the
 * others to renew. */
static void cancel_a_context(void *user, int r)
{
    help_members *s = user;
    if (r == 0)
        artel_context_cancel(s->ctx[3]);
    else
        EXPECT(artel_communicator_barrier(s->c[r]) == ARTEL_ERROR_CANCELLED);
    if (r != 0 && r != 3) EXPECT(strcmp(artel_context_error(s->ctx[r])->what, "ended by member 3: cancelled") == 0);
    if (r == 3) {
        EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_ERROR_CANCELLED);
        EXPECT(strstr(artel_context_error(s->ctx[r])->what, "waited for the others to renew") != NULL);
        artel_context_clear(s->ctx[r]);
    }
    if (r == 3 || r == 0)
        pthread_barrier_wait(&s->all); /* so that not all others have renewed before it was cancelled */
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    EXPECT(artel_communicator_finish(s->c[r]) == ARTEL_OK);
}

static void a_cancelled_context_ends_a_wait(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    pthread_barrier_init(&s.all, NULL, 2);
    help_run_ranks(MEMBERS, cancel_a_context, &s);
    pthread_barrier_destroy(&s.all);
    assert_int_equal(atomic_load(&s.wrong), 0);
    help_close_members(&s);
}

/* A member that does not come is named by who waits for its word, and the call ends on all that are there; then the
 * same of renewing. */
static void stay_away(void *user, int r)
{
    help_members *s = user;
    float x[8] = {0};
    EXPECT(artel_communicator_set_timeout(s->c[r], -1) == ARTEL_ERROR_INVALID);
    EXPECT(artel_communicator_set_timeout(s->c[r], 0.05) == ARTEL_OK);
    if (r != 2) {
        artel_status status =
            artel_communicator_all_reduce(s->c[r], &(artel_collective){.count = 8, .in = x, .out = x});
        const char *what = artel_context_error(s->ctx[r])->what;
        EXPECT(status == ARTEL_ERROR_RUN || status == ARTEL_ERROR_CANCELLED); /* who was first tells the others */
        if (status == ARTEL_ERROR_RUN) EXPECT(strstr(what, "waits for member") != NULL);
        if (r == 3 && status == ARTEL_ERROR_RUN)
            EXPECT(strstr(what, "waits for member 2") != NULL); /* its left neighbour */
        if (status == ARTEL_ERROR_RUN) atomic_fetch_add(&s->timed_out, 1);
        if (r == 0) {
            EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_ERROR_RUN);
            EXPECT(strstr(artel_context_error(s->ctx[r])->what, "have not renewed") != NULL);
        }
    }
    pthread_barrier_wait(&s->all);
    EXPECT(artel_communicator_set_timeout(s->c[r], 0) == ARTEL_OK);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    EXPECT(artel_communicator_finish(s->c[r]) == ARTEL_OK);
}

static void a_wait_has_an_end(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    atomic_store(&s.timed_out, 0);
    pthread_barrier_init(&s.all, NULL, MEMBERS);
    help_run_ranks(MEMBERS, stay_away, &s);
    pthread_barrier_destroy(&s.all);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_true(atomic_load(&s.timed_out) >= 1);
    help_close_members(&s);
}

/* A wait that goes on is told, with whom it is for, before it has an end. */
typedef struct told {
    artel_communicator *c[2];
    pthread_mutex_t mutex;
    pthread_cond_t said;
    bool heard;
    atomic_int wrong;
} told;

static void hear(void *user, artel_log_level level, const char *message)
{
    told *t = user;
    if (level != ARTEL_LOG_NOTE || !strstr(message, "barrier: call 1 has waited") ||
        !strstr(message, "for member 1 of 2"))
        return;
    pthread_mutex_lock(&t->mutex);
    t->heard = true;
    pthread_cond_signal(&t->said);
    pthread_mutex_unlock(&t->mutex);
}

static void come_when_called(void *user, int r)
{
    told *t = user;
    if (r == 1) {
        pthread_mutex_lock(&t->mutex);
        while (!t->heard) pthread_cond_wait(&t->said, &t->mutex);
        pthread_mutex_unlock(&t->mutex);
    }
    if (artel_communicator_barrier(t->c[r]) < 0) atomic_fetch_add(&t->wrong, 1);
}

static void a_wait_is_told(void **state)
{
    (void)state;
    told t = {.heard = false};
    artel_context *ctx[2];
    artel_context_options options = ARTEL_CONTEXT_OPTIONS_INIT;
    options.log = hear;
    options.log_user = &t;
    pthread_mutex_init(&t.mutex, NULL);
    pthread_cond_init(&t.said, NULL);
    assert_int_equal(artel_context_create(&options, &ctx[0]), ARTEL_OK);
    assert_int_equal(artel_context_create(NULL, &ctx[1]), ARTEL_OK);
    assert_int_equal(artel_communicator_create(ctx, 2, t.c), ARTEL_OK);
    help_run_ranks(2, come_when_called, &t);
    assert_int_equal(atomic_load(&t.wrong), 0);
    for (int r = 0; r < 2; r++) {
        artel_communicator_destroy(t.c[r]);
        artel_context_destroy(ctx[r]);
    }
    pthread_cond_destroy(&t.said);
    pthread_mutex_destroy(&t.mutex);
}

/* Whoever asks for what cannot be is told why, the others who it was. */
static void ask_for_nonsense(void *user, int r)
{
    help_members *s = user;
    float x[4] = {0};
    const artel_error *error = artel_context_error(s->ctx[r]);
    artel_collective calls[] = {{.count = 2, .in = x, .out = x}, {.count = 2, .in = x + 2, .out = x + 2}};
    artel_sparse rows = {.width = 2, .count = r == 1 ? -2 : 0}, out;
    EXPECT(artel_communicator_all_reduce_sparse(s->c[r], &rows, &out) == ARTEL_ERROR_INVALID);
    EXPECT(strstr(error->what, r == 1 ? "-2 rows of 2 elements" : "member 1 nothing that can be done") != NULL);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    calls[1].out = r == 1 ? NULL : x + 2;
    EXPECT(artel_communicator_all_reduce_many(s->c[r], calls, 2) == ARTEL_ERROR_INVALID);
    EXPECT(strstr(error->what, r == 1 ? "is missing" : "member 1 nothing that can be done") != NULL);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce_many(s->c[r], calls, r == 1 ? -1 : 2) == ARTEL_ERROR_INVALID);
    EXPECT(strstr(error->what, r == 1 ? "negative" : "member 1 nothing that can be done") != NULL);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    EXPECT(artel_communicator_all_reduce_many(s->c[r], calls, r == 1 ? 0 : 1) == ARTEL_ERROR_INVALID);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
    calls[0].count = INT64_MAX;
    EXPECT(artel_communicator_all_reduce_many(s->c[r], calls, 2) == ARTEL_ERROR_INVALID);
    EXPECT(artel_communicator_renew(s->c[r]) == ARTEL_OK);
}

static void nonsense_has_a_name(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, ask_for_nonsense, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    help_close_members(&s);
}

/* Of float16, too, a mean that is rounded to zero is +0. */
static void take_a_small_mean(void *user, int r)
{
    help_members *s = user;
    uint16_t x[2] = {r ? 0 : 0x8001, 0x8000};
    artel_collective call = {
        .dtype = ARTEL_DTYPE_FLOAT16, .reduction = ARTEL_REDUCTION_MEAN, .count = 2, .in = x, .out = x};
    EXPECT(artel_communicator_all_reduce(s->c[r], &call) == ARTEL_OK && x[0] == 0 && x[1] == 0);
}

static void zeros_are_positive(void **state)
{
    (void)state;
    help_members s;
    help_open_members(&s);
    help_run_ranks(MEMBERS, take_a_small_mean, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    help_close_members(&s);
}

static void wrong_contexts(void **state)
{
    (void)state;
    help_members s;
    artel_communicator *c[2], *alone;
    float x = 3, y = 0;
    help_open_members(&s);
    artel_context *twice[] = {s.ctx[0], s.ctx[0]};
    assert_int_equal(artel_communicator_create(twice, 2, c), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_communicator_create(NULL, 0, c), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_communicator_create((artel_context *[]){s.ctx[0], NULL}, 2, c), ARTEL_ERROR_INVALID);
    /* One without a cluster is one member. */
    assert_int_equal(artel_communicator_open(s.ctx[0], NULL, &alone), ARTEL_OK);
    assert_int_equal(artel_communicator_members(alone), 1);
    assert_int_equal(artel_communicator_all_reduce(alone, &(artel_collective){.count = 1, .in = &x, .out = &y}),
                     ARTEL_OK);
    assert_true(y == 3);
    assert_int_equal(artel_communicator_all_reduce(alone, &(artel_collective){.count = -1}), ARTEL_ERROR_INVALID);
    assert_int_equal(artel_communicator_finish(alone), ARTEL_OK);
    artel_communicator_destroy(alone);
    artel_communicator_destroy(NULL);
    help_close_members(&s);
}

/* Each allocation of the making fails once. */
static void failing_allocations(void **state)
{
    (void)state;
    artel_context *ctx[3];
    artel_communicator *c[3];
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    for (int r = 0; r < 3; r++) assert_int_equal(artel_context_create(NULL, &ctx[r]), ARTEL_OK);
    for (uint64_t n = 1; status < 0; n++) {
        artel__fail_allocation_after(ctx[1], n);
        status = artel_communicator_create(ctx, 3, c);
        artel__fail_allocation_after(ctx[1], 0);
        assert_true(status == ARTEL_OK || status == ARTEL_ERROR_NO_MEMORY);
    }
    for (int r = 0; r < 3; r++) {
        artel_communicator_destroy(c[r]);
        artel_context_destroy(ctx[r]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_calls),
        cmocka_unit_test(subsets),
        cmocka_unit_test(many),
        cmocka_unit_test(failures_are_over_after_renewing),
        cmocka_unit_test(nobody_waits_for_one_that_has_left),
        cmocka_unit_test(nobody_waits_for_one_that_goes),
        cmocka_unit_test(a_subset_that_fails_ends_other_calls),
        cmocka_unit_test(a_cancelled_context_ends_a_wait),
        cmocka_unit_test(a_wait_has_an_end),
        cmocka_unit_test(a_wait_is_told),
        cmocka_unit_test(nonsense_has_a_name),
        cmocka_unit_test(zeros_are_positive),
        cmocka_unit_test(wrong_contexts),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
