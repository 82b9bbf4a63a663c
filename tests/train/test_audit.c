/* SPDX-License-Identifier: Apache-2.0 */
/* Who says an epoch's account when the task that was to say it is lost at the epoch's end: whoever writes next, also
 * where it had not come so far and has copied the position of one that had; once, and of no other epoch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/context.h"
#include "train/audit.h"

typedef struct told {
    int count;
    int64_t epoch, elements, pass_elements, rows;
    char digest[16], order[16];
    int once;
    int64_t ended; /* the epoch; its metrics */
    int metrics;
    double value[2];
} told;

static void on_event(void *user, const artel_event *event)
{
    told *t = user;
    if (event->kind == ARTEL_EVENT_EPOCH_END) {
        t->ended = event->epoch;
        t->metrics = event->metric_count;
        for (int i = 0; i < 2 && i < event->metric_count; i++) t->value[i] = event->metrics[i].value;
        assert_true(event->loss == t->value[0]);
    }
    if (event->kind != ARTEL_EVENT_AUDIT) return;
    t->count++;
    t->epoch = event->epoch;
    t->elements = event->examples;
    t->pass_elements = event->pass_examples;
    t->rows = event->rows;
    t->once = event->each_once;
    strcpy(t->digest, event->digest);
    strcpy(t->order, event->text);
}

/* A task behind the end of epoch 4, of 10 elements of which 7 are of this pass. */
static artel__fit task(artel_context *ctx, told *t)
{
    artel__fit fit = {.ctx = ctx, .at = {.epoch = 5, .unit = 32}};
    fit.options.on_event = on_event;
    fit.options.event_user = t;
    fit.audit = (artel__fit_audit){.on = true, .whole = true, .pass_whole = true};
    fit.audit.last = (artel__audit_account){.unit = 32,
                                            .epoch = 4,
                                            .elements = 10,
                                            .pass_elements = 7,
                                            .rows = 40,
                                            .times = 1,
                                            .digest = 0xabcdef0123456,
                                            .order = 0x42,
                                            .whole = true};
    return fit;
}

static void expect_told(const told *t)
{
    assert_true(t->count == 1 && t->epoch == 4 && t->elements == 10 && t->pass_elements == 7 && t->rows == 40);
    assert_string_equal(t->digest, "abcdef0123456");
    assert_string_equal(t->order, "0000000000042");
    assert_int_equal(t->once, -1);
}

static void an_heir_says_it_once(void **state)
{
    told t = {0};
    artel__fit heir = task(*state, &t);
    artel__audit_take_over(&heir);
    assert_int_equal(t.count, 0); /* another one writes */
    heir.writes = true;
    artel__audit_take_over(&heir);
    expect_told(&t);
    assert_int_equal(heir.at.epoch, 5);
    artel__audit_take_over(&heir);
    assert_int_equal(t.count, 1);
}

static void an_heir_that_has_copied_says_it(void **state)
{
    told t = {0};
    artel__fit ahead = task(*state, &t), heir = task(*state, &t);
    heir.audit.last = (artel__audit_account){.unit = 0};
    json_t *saved = artel__audit_save(&ahead);
    artel__audit_restore(&heir, saved);
    json_decref(saved);
    heir.writes = true;
    artel__audit_take_over(&heir);
    expect_told(&t);
    saved = artel__audit_save(&heir); /* it has been said */
    assert_null(json_object_get(saved, "last"));
    json_decref(saved);
}

/* A step of the next epoch has been agreed on since, so the one that wrote had come further. */
static void what_was_said_before_is_not_said_again(void **state)
{
    told t = {0};
    artel__fit heir = task(*state, &t);
    heir.writes = true;
    heir.at.unit++;
    artel__audit_take_over(&heir);
    assert_int_equal(t.count, 0);
}

/* The epoch's values are those of the history that has been copied with the position. */
static void an_end_that_was_copied_is_told(void **state)
{
    told t = {0};
    char *keys[] = {"loss", "accuracy"};
    double loss[] = {0.5, 0.25}, accuracy[] = {0.75, 0.875}, *values[] = {loss, accuracy};
    artel_history history = {.ctx = *state, .key = keys, .values = values, .keys = 2, .epochs = 2, .capacity = 2};
    artel__fit fit = task(*state, &t);
    fit.at.epoch = 2;
    fit.learning_rate = 0.1;
    artel__arena_init(&fit.arena, *state);
    fit.history = &history;
    assert_int_equal(artel__fit_tell_passed_epoch(&fit), ARTEL_OK);
    assert_true(t.ended == 1 && t.metrics == 2 && t.value[0] == 0.25 && t.value[1] == 0.875 && fit.at.epoch == 2);
    artel__arena_fini(&fit.arena);
}

static int open_context(void **state)
{
    return artel_context_create(NULL, (artel_context **)state) == ARTEL_OK ? 0 : -1;
}

static int close_context(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_heir_says_it_once), cmocka_unit_test(an_heir_that_has_copied_says_it),
        cmocka_unit_test(what_was_said_before_is_not_said_again), cmocka_unit_test(an_end_that_was_copied_is_told)};
    return cmocka_run_group_tests_name("audit", tests, open_context, close_context);
}
