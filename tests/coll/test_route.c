/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* Routes at up to 100 simulated ranks: everybody ends with everything, what is sent is what is awaited, and what a rank
 * sends is as the documents say. Numbers are carried along symbolically: a block is the list of shards that it is the
 * sum of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "coll/select.h"

enum {
    SHARDS = 128
};

typedef struct scene {
    artel_context *ctx;
    const artel__all_reduce_def *def;
    int32_t start[SHARDS + 1];
    int host[SHARDS];
    artel_all_reduce_route route;
    artel__coll_tree tree;
    artel__coll_itinerary *itinerary;
} scene;

static void make_scene(scene *s, artel_context *ctx, const artel__all_reduce_def *def, int ranks, int per_host)
{
    memset(s, 0, sizeof *s);
    s->ctx = ctx;
    s->def = def;
    for (int r = 0; r <= ranks; r++) s->start[r] = artel__replica_first_shard(SHARDS, ranks, r);
    for (int r = 0; r < ranks; r++) s->host[r] = r / per_host;
    s->tree = (artel__coll_tree){.shards = SHARDS, .ranks = ranks, .start = s->start};
    artel_all_reduce_group group = {ranks, s->host};
    assert_int_equal(artel__coll_route_make(ctx, &def->route, &group, &s->route), ARTEL_OK);
    assert_int_equal(artel__coll_route_check(&s->route, &s->tree, def->name), ARTEL_OK);
    s->itinerary = calloc((size_t)ranks, sizeof *s->itinerary);
    for (int r = 0; r < ranks; r++)
        assert_int_equal(artel__coll_itinerary_make(&s->route, &s->tree, def->name, r, &s->itinerary[r]), ARTEL_OK);
}

static void free_scene(scene *s)
{
    for (int r = 0; r < s->tree.ranks; r++) artel__coll_itinerary_fini(&s->itinerary[r]);
    free(s->itinerary);
    artel__coll_route_fini(&s->route);
}

/* Messages by name: with what a sender lists a receiver has one of as many blocks. */
static void check_pairs(const scene *s)
{
    int32_t *blocks = calloc((size_t)s->route.hops, sizeof *blocks);
    for (int r = 0; r < s->tree.ranks; r++) {
        const artel__coll_itinerary *it = &s->itinerary[r];
        for (int32_t i = 0; i < it->legs; i++) {
            if (it->leg[i].kind == ARTEL__COLL_SEND) blocks[it->leg[i].number] += it->leg[i].nodes;
            if (it->leg[i].kind == ARTEL__COLL_RECEIVE) blocks[it->leg[i].number] -= it->leg[i].nodes;
        }
    }
    for (int32_t i = 0; i < s->route.hops; i++) assert_int_equal(blocks[i], 0);
    free(blocks);
}

/* Every rank, in every slice: the merges use what is there, and the last one, or a message, gives the result. */
static void check_results(const scene *s)
{
    for (int r = 0; r < s->tree.ranks; r++) {
        const artel__coll_itinerary *it = &s->itinerary[r];
        for (int32_t slice = 0; slice < it->slices; slice++) {
            bool *there = calloc((size_t)it->places[slice] + 1, 1);
            int results = 0;
            for (int32_t i = it->begin[slice]; i < it->begin[slice + 1]; i++) {
                const artel__coll_leg *leg = &it->leg[i];
                for (int32_t n = 0; n < leg->nodes; n++) {
                    int32_t at = it->operand[leg->first + n];
                    if (leg->kind == ARTEL__COLL_SEND)
                        assert_true(at < 0 || (at == ARTEL__COLL_RESULT ? results == 1 : there[at]));
                    if (leg->kind == ARTEL__COLL_RECEIVE && at == ARTEL__COLL_RESULT) results++;
                    if (leg->kind == ARTEL__COLL_RECEIVE && at != ARTEL__COLL_RESULT) there[at] = true;
                }
                if (leg->kind != ARTEL__COLL_MERGE) continue;
                assert_true((leg->left < 0 || there[leg->left]) && (leg->right < 0 || there[leg->right]));
                if (leg->to == ARTEL__COLL_RESULT)
                    results++;
                else
                    there[leg->to] = true;
            }
            assert_int_equal(results, 1);
            free(there);
        }
    }
}

static void simulated_ranks(void **state)
{
    (void)state;
    artel_context *ctx;
    static const int ranks[] = {2, 3, 5, 8, 64, 100, 128}, per_host[] = {1, 3, 8, 128};
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (int a = 0; artel__all_reduces[a]; a++) {
        if (artel__all_reduces[a]->ops != &artel__all_reduce_relay_ops) continue;
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
            for (size_t h = 0; h < sizeof per_host / sizeof *per_host; h++) {
                scene s;
                make_scene(&s, ctx, artel__all_reduces[a], ranks[i], per_host[h]);
                check_pairs(&s);
                check_results(&s);
                free_scene(&s);
            }
        }
    }
    artel_context_destroy(ctx);
}

static const artel__all_reduce_def *named(artel_context *ctx, const char *name)
{
    const artel__all_reduce_def *def;
    assert_int_equal(artel__all_reduce_find(ctx, name, &def), ARTEL_OK);
    return def;
}

/* What docs/strategies.md says. */
static void figures(void **state)
{
    (void)state;
    artel_context *ctx;
    scene s;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    make_scene(&s, ctx, named(ctx, "RING"), 64, 1);
    for (int r = 0; r < 64; r++) {
        artel__coll_load load = artel__coll_itinerary_load(&s.itinerary[r], NULL);
        assert_int_equal(load.messages, 2 * 63);
        assert_int_equal(load.connections, 2);
        assert_true(load.bytes < 8 * 64); /* in slices, of which there are 64 */
    }
    free_scene(&s);
    make_scene(&s, ctx, named(ctx, "HierarchicalCopyAllReduce"), 64, 8);
    for (int r = 0; r < 64; r++) {
        artel__coll_load load = artel__coll_itinerary_load(&s.itinerary[r], NULL);
        assert_int_equal(load.connections, r % 8 ? 1 : 7 + 7);
        assert_int_equal(load.messages, r % 8 ? 8 : 7 + 7 + 7 * 8);
    }
    free_scene(&s);
    artel_context_destroy(ctx);
}

static void names(void **state)
{
    (void)state;
    artel_context *ctx;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    static const char *const pairs[][2] = {{"ring", "ring"},
                                           {"NcclAllReduce", "ring"},
                                           {"NCCL", "ring"},
                                           {"direct", "direct"},
                                           {"redundant", "redundant"},
                                           {"hierarchical", "hierarchical"},
                                           {"HierarchicalCopyAllReduce", "hierarchical"},
                                           {"ReductionToOneDevice", "hierarchical"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_string_equal(named(ctx, pairs[i][0])->name, pairs[i][1]);
    assert_null(named(ctx, "AUTO"));
    assert_null(named(ctx, NULL));
    const artel__all_reduce_def *def;
    assert_int_equal(artel__all_reduce_find(ctx, "Nccl", &def), ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(ctx)->where, "all_reduce");
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulated_ranks),
        cmocka_unit_test(figures),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
