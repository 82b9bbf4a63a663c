/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* Votes: three processes that take themselves for the chief, and ps tasks that are with one of them, with another, or
 * restarted. All states that can be reached are gone through; in none of them two have a majority. And who is left when
 * one is lost goes on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ps/majority.h"

enum {
    MOST = 4,  /* ps tasks */
    CHIEFS = 3 /* numbers 1 to 3 */
};

typedef struct world {
    uint8_t with[MOST], remembers[MOST]; /* by ps task: a chief; 0: none */
    bool holds[CHIEFS + 1];
} world;

typedef struct search {
    int servers, chiefs;
    bool *seen;
    uint32_t *queue;
    uint32_t states, begin, end;
} search;

static uint32_t pack(const search *s, const world *w)
{
    uint32_t n = 0;
    for (int i = 0; i < s->servers; i++)
        n = (n * (uint32_t)(s->chiefs + 1) + w->with[i]) * (uint32_t)(s->chiefs + 1) + w->remembers[i];
    for (int c = 1; c <= s->chiefs; c++) n = n * 2 + w->holds[c];
    return n;
}

static world unpack(const search *s, uint32_t n)
{
    world w = {.with = {0}};
    for (int c = s->chiefs; c >= 1; c--, n /= 2) w.holds[c] = n & 1;
    for (int i = s->servers - 1; i >= 0; i--) {
        w.remembers[i] = (uint8_t)(n % (uint32_t)(s->chiefs + 1));
        n /= (uint32_t)(s->chiefs + 1);
        w.with[i] = (uint8_t)(n % (uint32_t)(s->chiefs + 1));
        n /= (uint32_t)(s->chiefs + 1);
    }
    return w;
}

static void visit(search *s, const world *w)
{
    int holders = 0;
    for (int c = 1; c <= s->chiefs; c++) holders += w->holds[c];
    if (holders > 1) fail_msg("%d chiefs have a majority of %d ps tasks and the chief", holders, s->servers);
    uint32_t n = pack(s, w);
    if (s->seen[n]) return;
    s->seen[n] = true;
    s->queue[s->end++] = n;
}

/* The chief asks those that are with it. When it has a majority all of them forget another chief, and then all remember
 * this one; it may be cut off after each. */
static void ask(search *s, const world *from, int chief)
{
    world w = *from;
    uint64_t remembers[MOST];
    int present = 0;
    for (int i = 0; i < s->servers; i++)
        if (w.with[i] == chief) remembers[present++] = w.remembers[i];
    bool holds = artel__majority_holds(s->servers, (uint64_t)chief, remembers, present);
    w.holds[chief] = false;
    for (int k = 0; k < 2 * s->servers && holds; k++) {
        int i = k % s->servers;
        if (w.with[i] != chief || w.remembers[i] == chief) continue;
        w.remembers[i] = k < s->servers ? 0 : (uint8_t)chief;
        visit(s, &w);
    }
    w.holds[chief] = holds;
    visit(s, &w);
}

/* The members that a ps task leaves, and those it comes to, have to ask anew. `again`: it has been started anew. */
static void move(search *s, const world *from, int server, int to, bool again)
{
    world w = *from;
    w.holds[w.with[server]] = w.holds[to] = false;
    w.with[server] = (uint8_t)to;
    if (again) w.remembers[server] = 0;
    w.holds[0] = false;
    visit(s, &w);
}

static uint32_t walk(int servers, int chiefs)
{
    search s = {.servers = servers, .chiefs = chiefs, .states = 1};
    const world nothing = {.with = {0}};
    for (int i = 0; i < servers; i++) s.states *= (uint32_t)((chiefs + 1) * (chiefs + 1));
    for (int c = 0; c < chiefs; c++) s.states *= 2;
    s.seen = calloc(s.states, sizeof *s.seen);
    s.queue = malloc(s.states * sizeof *s.queue);
    visit(&s, &nothing);
    while (s.begin < s.end) {
        world w = unpack(&s, s.queue[s.begin++]);
        for (int c = 1; c <= chiefs; c++) ask(&s, &w, c);
        for (int i = 0; i < servers; i++)
            for (int to = 0; to <= chiefs; to++)
                for (int again = 0; again < 2; again++) move(&s, &w, i, to, again);
    }
    uint32_t reached = s.end;
    free(s.seen);
    free(s.queue);
    return reached;
}

static void never_two(void **state)
{
    (void)state;
    for (int servers = 1; servers <= 3; servers++) assert_true(walk(servers, 3) > 8);
    assert_true(walk(4, 3) > 1000);
}

/* How many ps tasks must be there: beside the chief that they know, and beside one that they do not. */
static void who_is_left_goes_on(void **state)
{
    (void)state;
    static const struct {
        int servers, known, fresh;
    } least[] = {{1, 1, 1}, {2, 1, 2}, {3, 1, 3}, {4, 2, 3}, {5, 2, 4}, {8, 4, 5}};
    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        int servers = least[i].servers;
        for (int present = 0; present <= servers; present++) {
            uint64_t same[8], other[8], none[8] = {0};
            for (int k = 0; k < 8; k++) {
                same[k] = 1;
                other[k] = 2;
            }
            assert_int_equal(artel__majority_holds(servers, 1, same, present), present >= least[i].known);
            assert_int_equal(artel__majority_beside(servers), least[i].known);
            assert_int_equal(artel__majority_fresh(servers), least[i].fresh);
            assert_int_equal(artel__majority_holds(servers, 1, none, present), present >= least[i].fresh);
            assert_int_equal(artel__majority_holds(servers, 1, other, present), present >= least[i].fresh);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(never_two), cmocka_unit_test(who_is_left_goes_on)};
    return cmocka_run_group_tests_name("majority", tests, NULL, NULL);
}
