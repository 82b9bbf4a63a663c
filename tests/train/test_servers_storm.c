/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 240 */
/* long form: 3600 */
/* one thread */
/* Storms over the code of parameter servers that runs use (help_servers.h): processes die, sleep and are cut off in the
 * midst of updates, copies, changes of the members and moves of pieces by their traffic. No acknowledged update is
 * lost, doubled or at two positions, the job ends, and in sync, and in sync:K where no share is dropped, with the bits
 * of an undisturbed run. Mistakes planted on the network are found.
 *
 * test_servers_storm SHAPE SEED [MISTAKE]   replays one and prints what happens */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "help_servers.h"
#include "support/sanitized.h"

/* Begins with a scale at which gradients are not finite. */
#define SCALED(config)                                                                               \
    "LossScaleOptimizer:initial_scale=1e38,dynamic_growth_steps=3,inner_optimizer={\"class_name\": " \
    "\"Adam\", \"config\": {" config "}}"

static const storm_options shapes[] = {
    {.workers = 2, .servers = 2, .copies = 2, .consistency = "async", .partitioner = "none", .faults = 5},
    {.workers = 2, .servers = 3, .copies = 3, .consistency = "async", .partitioner = "fixed:2", .faults = 6},
    {.workers = 2,
     .servers = 3,
     .copies = 2,
     .consistency = "bounded:1",
     .partitioner = "none",
     .faults = 6,
     .chiefs = true},
    {.workers = 1, .servers = 2, .copies = 1, .consistency = "async", .partitioner = "none", .faults = 3},
    {.workers = 3, .servers = 2, .copies = 2, .consistency = "sync:2", .partitioner = "fixed:2", .faults = 5},
    {.workers = 2, .servers = 2, .copies = 2, .consistency = "sync", .partitioner = "none", .faults = 4},
    {.workers = 2,
     .servers = 4,
     .copies = 2,
     .consistency = "async",
     .partitioner = "fixed:3",
     .faults = 8,
     .chiefs = true},
    {.workers = 2,
     .servers = 2,
     .copies = 2,
     .consistency = "async",
     .partitioner = "none",
     .faults = 5,
     .tables = true,
     .moves = true},
    {.workers = 2,
     .servers = 3,
     .copies = 2,
     .consistency = "sync",
     .partitioner = "fixed:3",
     .faults = 4,
     .tables = true,
     .moves = true},
    {.workers = 2,
     .servers = 3,
     .copies = 1,
     .consistency = "bounded:1",
     .partitioner = "fixed:6",
     .faults = 6,
     .tables = true,
     .moves = true,
     .chiefs = true},
    {.workers = 2,
     .servers = 4,
     .copies = 3,
     .consistency = "sync:2",
     .partitioner = "fixed:4",
     .faults = 5,
     .tables = true,
     .moves = true},
    {.workers = 3,
     .servers = 2,
     .copies = 1,
     .consistency = "async",
     .partitioner = "none",
     .faults = 8,
     .validates = true},
    {.workers = 2,
     .servers = 2,
     .copies = 2,
     .consistency = "sync",
     .partitioner = "fixed:2",
     .faults = 6,
     .validates = true},
    {.workers = 2, .servers = 2, .copies = 2, .consistency = "sync:3", .partitioner = "fixed:2", .faults = 5},
    {.workers = 2,
     .servers = 3,
     .copies = 2,
     .consistency = "sync:3",
     .partitioner = "fixed:2",
     .optimizer = SCALED("\"global_clipnorm\": 0.05"),
     .faults = 5},
    {.workers = 3,
     .servers = 3,
     .copies = 2,
     .consistency = "async",
     .partitioner = "fixed:2",
     .optimizer = SCALED("\"global_clipnorm\": 0.05"),
     .faults = 6},
    {.workers = 3,
     .servers = 3,
     .copies = 2,
     .consistency = "sync:2",
     .partitioner = "fixed:2",
     .optimizer = SCALED("\"global_clipnorm\": 0.05, \"gradient_accumulation_steps\": 2"),
     .faults = 6},
    {.workers = 2,
     .servers = 2,
     .copies = 2,
     .consistency = "sync",
     .partitioner = "none",
     .optimizer = SCALED("\"global_clipnorm\": 0.05, \"gradient_accumulation_steps\": 2"),
     .faults = 4},
    {.workers = 3,
     .servers = 3,
     .copies = 2,
     .consistency = "async",
     .partitioner = "none",
     .optimizer = "adam:gradient_accumulation_steps=3,global_clipnorm=0.05",
     .faults = 5,
     .chiefs = true},
    {.workers = 2,
     .servers = 2,
     .copies = 1,
     .consistency = "bounded:1",
     .partitioner = "none",
     .optimizer = SCALED("\"global_clipnorm\": 0.05, \"gradient_accumulation_steps\": 2"),
     .faults = 5},
};

/* Of each shape: of all 3,020, and 100,020 in the long form; sanitizers have a fixed sample of them. */
enum {
    SEEDS = SUPPORT_SANITIZED ? 5 : 151,
    SEEDS_LONG = SUPPORT_SANITIZED ? 144 : 5001,
    SHAPES = sizeof shapes / sizeof *shapes,
    EPOCHS = 4
};

static storm_options options_of(int shape, uint64_t seed, int mistake)
{
    storm_options o = shapes[shape];
    o.seed = seed;
    o.epochs = EPOCHS;
    o.mistake = (storm_mistake)mistake;
    return o;
}

/* Whether all gradients of a step are of the same variables, and none is dropped: sync, and sync:K of K workers or
 * fewer. */
static bool promises_bits(const storm_options *o)
{
    bool some = strncmp(o->consistency, "sync:", 5) == 0;
    return some ? atoi(o->consistency + 5) >= o->workers : strcmp(o->consistency, "sync") == 0;
}

/* Whether a storm does no harm; `calm`: an undisturbed run whose bits it must have, NULL: any. */
static bool stands(int shape, uint64_t seed, const storm_result *calm, storm_result *r)
{
    storm_options o = options_of(shape, seed, STORM_NO_MISTAKE);
    storm_run(&o, r);
    bool same = !calm || (strcmp(calm->digest, r->digest) == 0 && calm->checked == r->checked);
    if (o.validates && !*r->wrong && r->checks < EPOCHS)
        snprintf(r->wrong, sizeof r->wrong, "%d of %d epochs have ended with a validation", r->checks, EPOCHS);
    if (*r->wrong || !same)
        fprintf(stderr, "shape %d, seed %llu: %s\n", shape, (unsigned long long)seed,
                *r->wrong ? r->wrong : "other bits");
    return !*r->wrong && same;
}

static void storms_do_no_harm(void **state)
{
    (void)state;
    bool all = getenv("ARTEL_LONG") != NULL;
    uint64_t seeds = all ? SEEDS_LONG : SEEDS;
    double sum[4] = {0};
    int failed = 0;
    for (int shape = 0; shape < SHAPES; shape++) {
        storm_options calm = options_of(shape, 1, STORM_NO_MISTAKE);
        storm_result r, still;
        calm.faults = 0;
        storm_run(&calm, &still);
        assert_string_equal(still.wrong, "");
        int moves = calm.moves ? 1 : 0;
        assert_true(still.moves == moves && still.states == 1 + moves && still.generations == 1 + moves);
        assert_true(still.acknowledged > 0);
        bool bits = promises_bits(&calm);
        for (uint64_t seed = 1; seed <= seeds && failed < 10; seed++) {
            failed += !stands(shape, seed, bits ? &still : NULL, &r);
            sum[0]++;
            sum[1] += r.acknowledged;
            sum[2] += r.deaths;
            sum[3] += r.moves;
        }
    }
    printf("%.0f storms, %.0f acknowledged updates, %.0f deaths, %.0f moves\n", sum[0], sum[1], sum[2], sum[3]);
    assert_int_equal(failed, 0);
}

/* Each mistake shows in some storm: the checker would see it in the code. */
static void planted_mistakes_are_found(void **state)
{
    (void)state;
    for (int mistake = 1; mistake < STORM_MISTAKES; mistake++) {
        storm_result r = {.states = 0};
        uint64_t seed = 1;
        for (; seed <= 400; seed++) {
            storm_options o = options_of(0, seed, mistake);
            storm_run(&o, &r);
            if (*r.wrong) break;
        }
        printf("mistake %d: seed %llu: %s\n", mistake, (unsigned long long)seed, r.wrong);
        assert_true(*r.wrong);
    }
}

/* The same seed is the same storm. */
static void a_seed_replays(void **state)
{
    (void)state;
    storm_result a, b;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        assert_true(stands(2, seed, NULL, &a) && stands(2, seed, &a, &b));
        assert_true(a.generations == b.generations && a.acknowledged == b.acknowledged && a.deaths == b.deaths);
    }
}

static int replay(char **argv, int argc)
{
    storm_options o = options_of(atoi(argv[1]) % SHAPES, strtoull(argv[2], NULL, 10), argc > 3 ? atoi(argv[3]) : 0);
    storm_result r;
    o.trace = true;
    storm_run(&o, &r);
    printf("%s; %d states, %d acknowledged, %d generations, %d deaths, %d cuts, %d moves; %s\n",
           *r.wrong ? r.wrong : "well", r.states, r.acknowledged, r.generations, r.deaths, r.cuts, r.moves, r.digest);
    return *r.wrong != 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storms_do_no_harm),
        cmocka_unit_test(planted_mistakes_are_found),
        cmocka_unit_test(a_seed_replays),
    };
    if (argc > 2) return replay(argv, argc);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
