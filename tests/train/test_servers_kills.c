/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 240 */
/* long form: 1800 */
/* one thread */
/* Every kill point of a run of 30 updates over the code of parameter servers that runs use (help_servers.h): two
 * servers, each with a copy of the other's part, two workers or one that makes two shares of each step, a chief. Each
 * of them dies before each single message that it sends in an undisturbed run, and comes back. Each acknowledged update
 * is there once, the run ends with all of them, and in sync and sync:K with the bits of the undisturbed run. */
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

enum {
    CHIEF = 0,
    UPDATES = 30
};

typedef struct kind {
    const char *consistency;
    int workers;
    const char *optimizer;
    bool always;
} kind;

/* With norms of all gradients that only servers know, parts wait for one another (train/numbers.h). */
#define TOGETHER "adam:global_clipnorm=0.05"
static const kind kinds[] = {{"async", 2, NULL, true},
                             {"sync:2", 1, NULL, false},
                             {"sync:2", 1, TOGETHER, true},
                             {"sync", 2, NULL, false},
                             {"sync:3", 2, NULL, false},
                             {"sync:3", 2, TOGETHER, false},
                             {"sync", 2, TOGETHER ",gradient_accumulation_steps=2", false},
                             {"sync:3", 2, TOGETHER ",gradient_accumulation_steps=2", false}};

static storm_options options_of(uint64_t seed, const kind *k)
{
    return (storm_options){.seed = seed,
                           .workers = k->workers,
                           .servers = 2,
                           .copies = 2,
                           .consistency = k->consistency,
                           .optimizer = k->optimizer,
                           .partitioner = "none",
                           .epochs = 6};
}

/* Whether it does no harm. A server's or a worker's death costs no update that was made where there are copies, but in
 * sync, so there is one state from beginning to end, once it is installed. */
static bool stands(const storm_options *o, const storm_result *calm, bool keeps)
{
    storm_result r;
    storm_run(o, &r);
    bool same = !calm->digest[0] || strncmp(o->consistency, "sync", 4) != 0 || strcmp(calm->digest, r.digest) == 0;
    bool kept = !keeps || r.states == 1;
    if (*r.wrong || !same || !kept)
        fprintf(stderr, "%s of %d, task %d dies before message %d: %s\n", o->consistency, o->workers, o->dies - 1,
                o->message,
                *r.wrong ? r.wrong
                : !same  ? "other bits"
                         : "all went back");
    return !*r.wrong && same && kept;
}

enum {
    EACH = SUPPORT_SANITIZED ? 6 : 1 /* message is one */
};

/* Points, and how many of them failed. */
static int kill_everywhere(storm_options o, int *points)
{
    storm_result calm;
    int failed = 0;
    bool keeping = strcmp(o.consistency, "sync") != 0;
    storm_run(&o, &calm);
    assert_string_equal(calm.wrong, "");
    assert_int_equal(calm.acknowledged, UPDATES * 2); /* of two parts */
    for (o.dies = 1; o.dies <= 1 + o.workers + o.servers; o.dies++) {
        int sent = calm.sent[o.dies - 1], begun = sent / 5; /* by then parts and copies are installed */
        for (o.message = o.dies % EACH; o.message < sent && failed < 5; o.message += EACH, (*points)++) {
            bool keeps = keeping && o.dies - 1 != CHIEF && o.message > begun;
            failed += !stands(&o, &calm, keeps);
        }
    }
    return failed;
}

static void every_kill_point(void **state)
{
    (void)state;
    bool all = getenv("ARTEL_LONG") != NULL;
    int points = 0, failed = 0;
    for (uint64_t seed = 1; seed <= (all ? 8 : 1); seed++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
            if (all || kinds[k].always) failed += kill_everywhere(options_of(seed, &kinds[k]), &points);
    printf("%d kill points\n", points);
    assert_int_equal(failed, 0);
    assert_true(points > 1000 / EACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kill_point)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
