/* SPDX-License-Identifier: Apache-2.0 */
/* Synchronous collection: nodes that tile the tree, PREPARE and COMMIT under deaths of trainers and clerks, first K of
 * N. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "ps/collect.h"

enum {
    SHARDS = 64,
    PARTS = 5,
    TRAINERS = 4,
    STEPS = 40
};

static artel__fold_node node(int32_t first, int32_t count)
{
    return (artel__fold_node){first, count};
}

static void nodes_tile_the_tree(void **state)
{
    (void)state;
    artel__collection c;
    artel__collection_init(&c, 8, 3);
    assert_int_equal(artel__collection_offer(&c, 3, 1, node(0, 4)), ARTEL__COLLECT_APPLIED);
    assert_int_equal(artel__collection_offer(&c, 5, 1, node(0, 4)), ARTEL__COLLECT_AHEAD);
    assert_int_equal(artel__collection_offer(&c, 4, 1, node(0, 3)), ARTEL__COLLECT_WRONG);
    assert_int_equal(artel__collection_offer(&c, 4, 1, node(2, 4)), ARTEL__COLLECT_WRONG);
    assert_int_equal(artel__collection_offer(&c, 4, 1, node(8, 1)), ARTEL__COLLECT_WRONG);
    assert_int_equal(artel__collection_offer(&c, 4, 1, node(0, 16)), ARTEL__COLLECT_WRONG);
    assert_int_equal(artel__collection_offer(&c, 4, 2, node(4, 2)), ARTEL__COLLECT_KEPT);
    assert_int_equal(artel__collection_offer(&c, 4, 2, node(4, 2)), ARTEL__COLLECT_TWICE);
    assert_int_equal(artel__collection_offer(&c, 4, 2, node(4, 4)), ARTEL__COLLECT_WRONG);
    assert_int_equal(artel__collection_offer(&c, 4, 1, node(0, 4)), ARTEL__COLLECT_OLD);
    assert_int_equal(artel__collection_offer(&c, 4, 3, node(0, 4)), ARTEL__COLLECT_RESTART);
    assert_int_equal(artel__collection_offer(&c, 4, 3, node(6, 2)), ARTEL__COLLECT_KEPT);
    assert_int_equal(artel__collection_offer(&c, 4, 3, node(4, 2)), ARTEL__COLLECT_COMPLETE);
    assert_int_equal(artel__collection_offer(&c, 4, 4, node(0, 8)), ARTEL__COLLECT_PREPARED);
    artel__collection_forget(&c); /* a view in between: PREPARE did not get into the log */
    assert_int_equal(artel__collection_offer(&c, 4, 3, node(0, 4)), ARTEL__COLLECT_KEPT);
    assert_int_equal(artel__collection_offer(&c, 4, 4, node(0, 8)), ARTEL__COLLECT_RESTART_COMPLETE);
    assert_false(artel__collection_commit(&c, 4));
    assert_false(artel__collection_prepare(&c, 5));
    assert_true(artel__collection_prepare(&c, 4));
    assert_false(artel__collection_prepare(&c, 4));
    assert_true(artel__collection_commit(&c, 4));
    assert_false(artel__collection_commit(&c, 4));
    assert_int_equal(c.applied, 4);
}

/* A job in which a trainer dies now and then: all begin the step anew in the next generation, the clerk starts without
 * memory, some parts forget what was on its way. Whatever happens, no two parts are more than one step apart, no part
 * takes a step before all are prepared, and each takes every step once. */
typedef struct job {
    artel__collection part[PARTS];
    uint8_t state[PARTS];
    artel__clerk clerk;
    uint32_t generation, deaths;
} job;

static void push_some(job *j, uint64_t step, int chances)
{
    for (int i = 0; i < chances; i++) {
        artel__fold_node out[ARTEL__MAX_NODES];
        int trainer = rand() % TRAINERS;
        int32_t first = artel__replica_first_shard(SHARDS, TRAINERS, trainer);
        int count = artel__fold_nodes(first, artel__replica_first_shard(SHARDS, TRAINERS, trainer + 1) - first, out);
        artel__collection *c = &j->part[rand() % PARTS];
        artel__collected got = artel__collection_offer(c, step, j->generation, out[rand() % count]);
        assert_true(got != ARTEL__COLLECT_WRONG && got != ARTEL__COLLECT_AHEAD);
        if (got == ARTEL__COLLECT_COMPLETE || got == ARTEL__COLLECT_RESTART_COMPLETE)
            assert_true(artel__collection_prepare(c, step));
    }
}

static void tell(job *j, bool commit)
{
    for (uint32_t p = 0; p < PARTS; p++) {
        artel__collection *c = &j->part[p];
        if (commit && artel__clerk_owes(&j->clerk, p) && rand() % 2) {
            for (uint32_t q = 0; q < PARTS; q++)
                assert_true(j->part[q].prepared || j->part[q].applied == j->clerk.step);
            artel__collection_commit(c, j->clerk.step);
        }
        if (rand() % 3) assert_true(artel__clerk_hear(&j->clerk, p, c->applied, c->prepared));
    }
}

static void die(job *j)
{
    uint64_t step = j->clerk.step;
    j->generation++;
    j->deaths++;
    artel__clerk_init(&j->clerk, j->state, PARTS, step);
    for (int p = 0; p < PARTS; p++)
        if (rand() % 3 == 0) artel__collection_forget(&j->part[p]);
}

static void every_step_is_taken_once(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        job j = {.generation = 1};
        srand(seed);
        for (int p = 0; p < PARTS; p++) artel__collection_init(&j.part[p], SHARDS, 0);
        artel__clerk_init(&j.clerk, j.state, PARTS, 1);
        for (int turn = 0; j.clerk.step <= STEPS; turn++) {
            assert_true(turn < 100000);
            push_some(&j, j.clerk.step, 10);
            artel__clerk_word word = artel__clerk_decide(&j.clerk);
            tell(&j, word == ARTEL__CLERK_COMMIT);
            if (rand() % 4 == 0) artel__clerk_pass(&j.clerk, j.clerk.step);
            uint64_t low = UINT64_MAX, high = 0;
            for (int p = 0; p < PARTS; p++) {
                low = j.part[p].applied < low ? j.part[p].applied : low;
                high = j.part[p].applied > high ? j.part[p].applied : high;
            }
            assert_true(high - low <= 1);
            if (artel__clerk_decide(&j.clerk) == ARTEL__CLERK_DONE) {
                assert_int_equal(low, j.clerk.step);
                artel__clerk_next(&j.clerk);
            }
            if (rand() % 20 == 0) die(&j);
        }
        assert_true(j.deaths > 2);
    }
}

static void a_clerk_finishes_what_another_began(void **state)
{
    (void)state;
    uint8_t memory[3];
    artel__clerk c;
    artel__clerk_init(&c, memory, 3, 8);
    assert_true(artel__clerk_hear(&c, 0, 7, true));
    assert_true(artel__clerk_hear(&c, 1, 7, true));
    assert_int_equal(artel__clerk_decide(&c), ARTEL__CLERK_WAIT);
    assert_true(artel__clerk_hear(&c, 2, 8,
                                  false)); /* it has taken the step, so all were prepared and the barrier was passed */
    assert_int_equal(artel__clerk_decide(&c), ARTEL__CLERK_COMMIT);
    assert_true(artel__clerk_owes(&c, 0) && !artel__clerk_owes(&c, 2));
    assert_false(artel__clerk_hear(&c, 0, 6, false));
    assert_false(artel__clerk_hear(&c, 0, 9, false));
    assert_false(artel__clerk_hear(&c, 3, 8, false));
    artel__clerk_init(&c, memory, 3, 8);
    for (uint32_t p = 0; p < 3; p++) artel__clerk_hear(&c, p, 7, true);
    artel__clerk_pass(&c, 7); /* another step's barrier */
    assert_int_equal(artel__clerk_decide(&c), ARTEL__CLERK_WAIT);
    artel__clerk_pass(&c, 8);
    assert_int_equal(artel__clerk_decide(&c), ARTEL__CLERK_COMMIT);
}

static void the_first_k_count(void **state)
{
    (void)state;
    artel__some s;
    artel__some_init(&s, 3, 1);
    assert_int_equal(artel__some_arrive(&s, 2, 0), ARTEL__SOME_WRONG);
    assert_int_equal(artel__some_arrive(&s, 1, 0), ARTEL__SOME_KEPT);
    assert_int_equal(artel__some_arrive(&s, 1, 0), ARTEL__SOME_TWICE);
    assert_int_equal(artel__some_arrive(&s, 1, 3), ARTEL__SOME_KEPT);
    assert_int_equal(artel__some_arrive(&s, 1, 2), ARTEL__SOME_FULL);
    assert_int_equal(s.member[0], 13);
    assert_int_equal(artel__some_arrive(&s, 1, 1), ARTEL__SOME_LATE);
    artel__some_next(&s);
    assert_int_equal(artel__some_arrive(&s, 1, 1), ARTEL__SOME_LATE);
    assert_int_equal(s.dropped[1], 2);
    assert_int_equal(artel__some_arrive(&s, 2, 1), ARTEL__SOME_KEPT);
    assert_false(artel__some_shrink(&s, 2));
    assert_true(artel__some_shrink(&s, 1)); /* only one lives: it is waited for nobody */
    assert_int_equal(artel__some_arrive(&s, 2, ARTEL__COLLECT_WORKERS), ARTEL__SOME_WRONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_tile_the_tree),
        cmocka_unit_test(every_step_is_taken_once),
        cmocka_unit_test(a_clerk_finishes_what_another_began),
        cmocka_unit_test(the_first_k_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
