/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds of clients, bounded reads, staleness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "ps/clock.h"
#include "ps/staleness.h"

static const char *apply(artel__roster *r, artel__log_kind kind, uint64_t client, uint64_t clock)
{
    uint8_t payload[8];
    artel__bytes_put(payload, clock, 8);
    artel__log_entry e = {
        .kind = (uint8_t)kind, .client = client, .length = kind == ARTEL__LOG_LEAVE ? 0 : 8, .item = ARTEL__NO_ITEM};
    return artel__roster_apply(r, &e, payload);
}

static void a_read_waits_for_the_slowest(void **state)
{
    (void)state;
    artel__roster r = {0};
    uint64_t slowest = 0;
    assert_true(artel__roster_allows(&r, 100, 0, &slowest));
    for (uint64_t c = 30; c >= 10; c -= 10) assert_null(apply(&r, ARTEL__LOG_JOIN, c, 0));
    assert_true(artel__roster_allows(&r, 0, 0, &slowest)); /* the first round needs nothing */
    assert_false(artel__roster_allows(&r, 1, 0, &slowest));
    assert_int_equal(slowest, 10);
    assert_true(artel__roster_allows(&r, 1, 1, &slowest));
    apply(&r, ARTEL__LOG_CLOCK, 10, 3);
    apply(&r, ARTEL__LOG_CLOCK, 20, 2);
    apply(&r, ARTEL__LOG_CLOCK, 20, 1); /* never back */
    assert_false(artel__roster_allows(&r, 3, 2, &slowest));
    assert_int_equal(slowest, 30);
    assert_null(apply(&r, ARTEL__LOG_LEAVE, 30, 0));
    assert_int_equal(artel__roster_least(&r), 2);
    assert_true(artel__roster_allows(&r, 4, 2, &slowest));
    assert_false(artel__roster_allows(&r, 5, 2, &slowest));
    apply(&r, ARTEL__LOG_CLOCK, 30, 9); /* one that has left moves nobody */
    assert_int_equal(r.members, 2);
    apply(&r, ARTEL__LOG_JOIN, 40, artel__roster_least(&r));
    apply(&r, ARTEL__LOG_GRADIENT, 50, 1);
    assert_int_equal(r.members, 3);
}

/* Clients at random speeds: no read ever lacks more than S rounds of anybody, and the slowest never waits. */
static void the_bound_holds(void **state)
{
    (void)state;
    srand(5);
    for (uint64_t bound = 0; bound < 4; bound++) {
        artel__roster r = {0};
        uint64_t round[5] = {0}, most = 0;
        for (uint64_t c = 0; c < 5; c++) apply(&r, ARTEL__LOG_JOIN, c, 0);
        for (int i = 0; i < 4000; i++) {
            uint64_t c = (uint64_t)(rand() % 5), least = artel__roster_least(&r);
            if (c == 4 && rand() % 5) continue; /* a slow one */
            bool may = artel__roster_allows(&r, round[c], bound, NULL);
            assert_int_equal(may, round[c] <= least + bound);
            if (round[c] == least) assert_true(may);
            if (!may) continue;
            if (round[c] - least > most) most = round[c] - least;
            apply(&r, ARTEL__LOG_CLOCK, c, ++round[c]);
        }
        assert_int_equal(most, bound);
        assert_true(round[4] > 100);
    }
}

static void rosters_are_copied(void **state)
{
    (void)state;
    artel__roster a = {0}, b = {0};
    for (uint64_t c = 0; c < ARTEL__LOG_CLIENTS; c++) assert_null(apply(&a, ARTEL__LOG_JOIN, 7919 * c % 1000003, c));
    assert_non_null(apply(&a, ARTEL__LOG_JOIN, 2000000, 1));
    size_t count = artel__roster_bytes(&a);
    uint8_t *bytes = malloc(count);
    artel__roster_save(&a, bytes);
    assert_null(artel__roster_load(&b, bytes, count));
    assert_memory_equal(&a, &b, sizeof a);
    assert_non_null(artel__roster_load(&b, bytes, count - 1));
    assert_non_null(artel__roster_load(&b, bytes, 4));
    memcpy(bytes + 8, bytes + 24, 8);
    assert_non_null(artel__roster_load(&b, bytes, count)); /* a client twice */
    free(bytes);
    artel__log_entry bad = {.kind = ARTEL__LOG_CLOCK, .client = 1, .length = 4};
    assert_non_null(artel__roster_apply(&a, &bad, "abcd"));
}

static void staleness_is_counted(void **state)
{
    (void)state;
    artel__staleness s = {0};
    for (uint64_t i = 0; i < 100; i++) artel__staleness_add(&s, i % 5);
    assert_int_equal(artel__staleness_at(&s, 0.5), 2);
    assert_int_equal(artel__staleness_at(&s, 0.9), 4);
    for (uint64_t i = 0; i < 100; i++) artel__staleness_add(&s, 155 + i);
    assert_int_equal(artel__staleness_at(&s, 0.75), 204);
    artel__staleness_add(&s, 3000);
    assert_int_equal(s.count, 201);
    assert_int_equal(artel__staleness_at(&s, 0.99), 253);
    assert_int_equal(artel__staleness_at(&s, 1), 3000);
    artel__staleness_add(&s, UINT64_MAX);
    assert_true(artel__staleness_at(&s, 1) == UINT64_MAX && s.most == UINT64_MAX);
    assert_int_equal(artel__staleness_at(&(artel__staleness){0}, 0.5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_waits_for_the_slowest),
        cmocka_unit_test(the_bound_holds),
        cmocka_unit_test(rosters_are_copied),
        cmocka_unit_test(staleness_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
