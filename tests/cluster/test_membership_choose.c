/* SPDX-License-Identifier: Apache-2.0 */
/* Members, target step, shard map, donors and culprits from reports, each by an example; and what must hold for any
 * reports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/context.h"
#include "cluster/membership_choose.h"
#include "kernel/fold.h"

enum {
    MOST = 12
};

typedef struct reports {
    artel__candidate candidate[MOST];
    uint64_t reach[MOST];
    artel__member member[MOST];
    uint32_t order[MOST], count, turn;
    artel__choice choice;
} reports;

/* All reach all, at step 10 with hash 7, one replica each, former members. */
static void init(reports *r, uint32_t count)
{
    *r = (reports){.count = count};
    for (uint32_t t = 0; t < count; t++) {
        r->reach[t] = (1u << count) - 1;
        r->candidate[t] = (artel__candidate){.task = t,
                                             .incarnation = 100 + t,
                                             .step = 10,
                                             .hash = 7,
                                             .replicas = 1,
                                             .former = true,
                                             .reach = &r->reach[t]};
    }
}

static void choose(reports *r, uint32_t coordinator, uint32_t shards)
{
    artel__membership_choose(&(artel__choice_request){.candidate = r->candidate,
                                                      .count = r->count,
                                                      .coordinator = coordinator,
                                                      .shards = shards,
                                                      .turn = r->turn,
                                                      .order = r->order,
                                                      .member = r->member},
                             &r->choice);
}

static void everybody(void **state)
{
    (void)state;
    reports r;
    init(&r, 3);
    r.candidate[2].replicas = 2;
    choose(&r, 0, 8);
    assert_int_equal(r.choice.members, 3);
    assert_int_equal(r.choice.replicas, 4);
    assert_int_equal(r.choice.step, 10);
    static const uint32_t first[] = {0, 2, 4}, shards[] = {2, 2, 4};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(r.member[i].task, i);
        assert_int_equal(r.member[i].incarnation, 100 + i);
        assert_int_equal(r.member[i].shard, first[i]);
        assert_int_equal(r.member[i].shards, shards[i]);
        assert_int_equal(r.member[i].donor, 0);
    }
}

static void cut(reports *r, uint32_t a, uint32_t b)
{
    artel__bit_clear(&r->reach[a], b);
}

/* One direction is enough to part two; the coordinator, then former members, then the better connected stay. */
static void not_mutually_reachable(void **state)
{
    (void)state;
    reports r;
    init(&r, 4);
    cut(&r, 2, 1);
    choose(&r, 0, 8);
    assert_int_equal(r.choice.members, 3);
    assert_true(r.candidate[1].chosen && !r.candidate[2].chosen && r.candidate[3].chosen);

    init(&r, 4);
    r.candidate[1].former = false;
    cut(&r, 2, 1);
    choose(&r, 0, 8);
    assert_true(!r.candidate[1].chosen && r.candidate[2].chosen);

    init(&r, 5);
    cut(&r, 1, 2);
    cut(&r, 1, 3);
    cut(&r, 1, 4);
    choose(&r, 0, 8);
    assert_int_equal(r.choice.members, 4);
    assert_false(r.candidate[1].chosen);
}

/* T is the highest step; those behind copy, in turn from those who hold it. A leaver gives its state. */
static void target_and_donors(void **state)
{
    (void)state;
    reports r;
    init(&r, 5);
    r.candidate[1].step = r.candidate[3].step = 11;
    r.candidate[1].hash = r.candidate[3].hash = 8;
    choose(&r, 0, 8);
    assert_int_equal(r.choice.step, 11);
    static const uint32_t donor[] = {2, 0, 4, 0, 2};
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(r.member[i].donor, donor[i]);
    static const uint32_t next[] = {4, 0, 2, 0, 4};
    r.turn = 1;
    choose(&r, 0, 8);
    for (uint32_t i = 0; i < 5; i++) assert_int_equal(r.member[i].donor, next[i]);

    init(&r, 3);
    r.candidate[1].step = 12;
    r.candidate[1].leaving = true;
    choose(&r, 0, 8);
    assert_int_equal(r.choice.members, 2);
    assert_int_equal(r.choice.step, 12);
    assert_int_equal(r.member[0].donor, 2);
    assert_int_equal(r.member[1].donor, 2);
    assert_int_equal(r.member[1].task, 2);

    init(&r, 3); /* who is left out is no donor */
    r.candidate[2].step = 12;
    cut(&r, 1, 2);
    choose(&r, 0, 8);
    assert_int_equal(r.choice.members, 2);
    assert_int_equal(r.choice.step, 10);
}

enum {
    CHAIN = 1 + ARTEL__ARITHMETIC_CHAIN,
    TILES = 1 + ARTEL__ARITHMETIC_TILES
};

/* The state of T says in which arithmetic to go on, whatever machines come; where it is open, tiles need AMX in every
 * member. */
static void arithmetic(void **state)
{
    (void)state;
    static const struct {
        uint32_t step[3], held[3], best[3];
        bool former[3];
        uint32_t arithmetic, best_of_all;
    } row[] = {
        {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {true, true, true}, 0, 0}, /* a job without such products */
        {{0, 0, 0}, {0, 0, 0}, {TILES, TILES, TILES}, {true, true, true}, TILES, TILES},
        {{0, 0, 0}, {0, 0, 0}, {TILES, TILES, CHAIN}, {true, true, true}, CHAIN, CHAIN},
        {{9, 9, 0}, {TILES, TILES, 0}, {TILES, TILES, CHAIN}, {true, true, false}, TILES, CHAIN}, /* a joiner without
                                                                                                     AMX */
        {{9, 9, 0}, {CHAIN, CHAIN, 0}, {TILES, TILES, TILES}, {true, true, false}, CHAIN, TILES},
        {{0, 0, 7}, {0, 0, CHAIN}, {TILES, TILES, TILES}, {false, false, false}, CHAIN, TILES}, /* a checkpoint */
        {{5, 0, 7}, {TILES, 0, CHAIN}, {TILES, TILES, TILES}, {true, true, false}, CHAIN, TILES},
        {{0, 0, 0}, {0, TILES, CHAIN}, {CHAIN, CHAIN, CHAIN}, {true, false, true}, CHAIN, CHAIN}, /* begun, no step is
                                                                                                     done yet */
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        reports r;
        init(&r, 3);
        for (uint32_t t = 0; t < 3; t++) {
            r.candidate[t].step = r.candidate[t].hash = row[i].step[t];
            r.candidate[t].arithmetic = row[i].held[t];
            r.candidate[t].best = row[i].best[t];
            r.candidate[t].former = row[i].former[t];
        }
        choose(&r, 0, 8);
        assert_int_equal(r.choice.arithmetic, row[i].arithmetic);
        assert_int_equal(r.choice.best, row[i].best_of_all);
    }
    reports r;
    init(&r, 3); /* a leaver's state counts, its machine does not; nothing of who is left out does */
    for (uint32_t t = 0; t < 3; t++) r.candidate[t].best = TILES;
    r.candidate[1].step = r.candidate[1].hash = 12;
    r.candidate[1].arithmetic = r.candidate[1].best = CHAIN;
    r.candidate[1].leaving = true;
    choose(&r, 0, 8);
    assert_int_equal(r.choice.arithmetic, CHAIN);
    assert_int_equal(r.choice.best, TILES);
    cut(&r, 2, 1);
    choose(&r, 0, 8);
    assert_int_equal(r.choice.arithmetic, TILES);
}

static void unequal_hashes(void **state)
{
    (void)state;
    for (uint32_t culprit = 0; culprit < 3; culprit++) {
        reports r;
        init(&r, 3);
        r.candidate[culprit].hash = 9;
        choose(&r, 0, 8);
        assert_true(r.choice.conflict);
        assert_int_equal(r.choice.culprit, culprit);
        assert_int_equal(r.choice.conflict_step, 10);
    }
    reports r;
    init(&r, 2);
    r.candidate[0].hash = 9;
    r.candidate[0].former = false;
    choose(&r, 1, 8);
    assert_true(r.choice.conflict && r.choice.culprit == 0);
}

static void more_replicas_than_shards(void **state)
{
    (void)state;
    reports r;
    init(&r, 3);
    for (uint32_t t = 0; t < 3; t++) r.candidate[t].replicas = 3;
    choose(&r, 0, 8);
    assert_int_equal(r.choice.members, 2);
    assert_true(r.choice.full && r.candidate[2].full && !r.candidate[2].chosen);
    init(&r, 1);
    r.candidate[0].replicas = UINT32_MAX;
    choose(&r, 0, 8);
    assert_int_equal(r.choice.members, 0);
    assert_true(r.choice.full);
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % below;
}

static void check_any(const reports *r, uint32_t shards)
{
    uint32_t shard = 0, replicas = 0;
    for (uint32_t i = 0; i < r->choice.members; i++) {
        const artel__member *m = &r->member[i];
        assert_int_equal(m->shard, shard);
        assert_int_equal(m->shard,
                         artel__replica_first_shard((int32_t)shards, (int32_t)r->choice.replicas, (int32_t)replicas));
        shard += m->shards;
        replicas += m->replicas;
        if (i) assert_true(m->task > r->member[i - 1].task);
        for (uint32_t k = 0; k < r->choice.members; k++) assert_true(artel__bit(&r->reach[m->task], r->member[k].task));
        if (m->donor) {
            assert_int_equal(r->candidate[m->donor - 1].step, r->choice.step);
            for (uint32_t k = 0; k < r->choice.members; k++)
                assert_true(artel__bit(&r->reach[r->member[k].task], m->donor - 1));
        } else {
            assert_int_equal(r->candidate[m->task].step, r->choice.step);
        }
    }
    if (r->choice.members) assert_int_equal(shard, shards);
}

static void any_reports(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int round = 0; round < 20000; round++) {
        reports r;
        init(&r, 1 + draw(&random, MOST));
        for (uint32_t t = 0; t < r.count; t++) {
            artel__candidate *c = &r.candidate[t];
            c->step = draw(&random, 3);
            c->hash = c->step;
            c->replicas = 1 + draw(&random, 3);
            c->former = draw(&random, 2);
            c->leaving = draw(&random, 5) == 0;
            for (uint32_t k = 0; k < r.count; k++)
                if (k != t && draw(&random, 6) == 0) cut(&r, t, k);
        }
        uint32_t coordinator = draw(&random, r.count);
        choose(&r, coordinator, 16);
        assert_false(r.choice.conflict);
        if (!r.candidate[coordinator].leaving) assert_true(r.candidate[coordinator].chosen);
        check_any(&r, 16);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody),         cmocka_unit_test(not_mutually_reachable),
        cmocka_unit_test(target_and_donors), cmocka_unit_test(arithmetic),
        cmocka_unit_test(unequal_hashes),    cmocka_unit_test(more_replicas_than_shards),
        cmocka_unit_test(any_reports),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
