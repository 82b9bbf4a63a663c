/* SPDX-License-Identifier: Apache-2.0 */
/* Parcels: every pair of ranks that agreed on one gets its bytes, whatever their lengths, call after call; ranks
 * without any need not call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "coll/algo/parcels.h"
#include "help_ranks.h"

enum {
    MOST_RANKS = 16,
    CALLS = 4
};

typedef struct scene {
    artel__coll_layout layout;
    artel__fabric *fabric;
    int ranks;
    artel__parcels task[MOST_RANKS];
    int wrong[MOST_RANKS];
} scene;

/* Bytes of the parcel from one rank to another in a call; 0: none. Rank 1 has none at all. */
static size_t length_of(int call, int from, int to)
{
    uint64_t chance = help_mix((uint64_t)call, (uint64_t)(from * MOST_RANKS + to));
    if (from == to || from == 1 || to == 1 || chance % 3 == 0) return 0;
    return chance % 5 == 0 ? (size_t)(chance >> 8) % 200000 + 1 : (size_t)(chance >> 8) % 50 + 1;
}

static uint8_t byte_of(int call, int from, int to, size_t i)
{
    return (uint8_t)help_mix((uint64_t)(call * 1000 + from * MOST_RANKS + to), i);
}

static int list(const scene *s, int call, int r, artel__coll_parcel *parcel)
{
    int count = 0;
    for (int k = 0; k < 2 * s->ranks; k++) {
        int peer = k / 2;
        bool sends = k % 2 == 1;
        size_t bytes = sends ? length_of(call, r, peer) : length_of(call, peer, r);
        if (bytes == 0) continue;
        parcel[count] = (artel__coll_parcel){peer, sends, calloc(1, bytes), bytes};
        for (size_t i = 0; sends && i < bytes; i++) ((uint8_t *)parcel[count].data)[i] = byte_of(call, r, peer, i);
        count++;
    }
    return count;
}

static void run_calls(void *user, int r)
{
    scene *s = user;
    artel__parcels *t = &s->task[r];
    artel__coll_task *tasks[] = {&t->base};
    for (int call = 0; call < CALLS; call++) {
        artel__coll_parcel parcel[2 * MOST_RANKS];
        int count = list(s, call, r, parcel);
        t->parcel = parcel;
        t->count = count;
        t->base.frame.step = (uint64_t)call;
        if (count > 0 && artel__coll_run(t->base.endpoint, tasks, 1) != ARTEL_OK) s->wrong[r]++;
        for (int k = 0; k < count; k++) {
            int from = parcel[k].sends ? r : parcel[k].peer, to = parcel[k].sends ? parcel[k].peer : r;
            for (size_t i = 0; i < parcel[k].bytes; i++)
                s->wrong[r] += ((uint8_t *)parcel[k].data)[i] != byte_of(call, from, to, i);
            free(parcel[k].data);
        }
    }
}

static void every_rank_count(void **state)
{
    static const int ranks[] = {2, 3, 5, 8, 16};
    (void)state;
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++) {
        artel_context *ctx;
        scene *s = calloc(1, sizeof *s);
        s->ranks = ranks[k];
        assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
        assert_int_equal(artel__coll_layout_init(ctx, 16, s->ranks, &s->layout), ARTEL_OK);
        assert_int_equal(artel__fabric_create(ctx, s->ranks, false, &s->fabric), ARTEL_OK);
        for (int r = 0; r < s->ranks; r++)
            artel__parcels_init(&s->task[r], artel__fabric_endpoint(s->fabric, r), &s->layout);
        help_run_ranks(s->ranks, run_calls, s);
        for (int r = 0; r < s->ranks; r++) {
            assert_int_equal(s->wrong[r], 0);
            artel__parcels_fini(&s->task[r]);
        }
        artel__fabric_destroy(s->fabric);
        artel__coll_layout_fini(ctx, &s->layout);
        artel_context_destroy(ctx);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_rank_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
