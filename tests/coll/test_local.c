/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over memory of one process: the bits of the naive tree for any shards, ranks and range, and nothing else is
 * written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "coll/local.h"
#include "help_ranks.h"

enum {
    ELEMENTS = 1100, /* two blocks and a part of one */
    MOST_SHARDS = 64
};

static float leaf_value(int32_t shard, int64_t i)
{
    return (float)(int32_t)help_mix((uint64_t)shard, (uint64_t)i) * 1e-7f;
}

/* Memory of all ranks, rank by rank: the node blocks of each. */
static void fill_nodes(const artel__coll_layout *layout, const help_tree *tree, float *nodes, const void **in)
{
    char *scratch = malloc(8 * sizeof(float) * ELEMENTS);
    assert_non_null(scratch);
    for (int32_t n = 0; n < layout->nodes; n++) {
        const artel__coll_node *node = &layout->node[n];
        help_tree_value(tree, node->shards.first, node->shards.count, (char *)(nodes + (int64_t)n * ELEMENTS), scratch);
    }
    for (int32_t r = 0; r < layout->ranks; r++) in[r] = nodes + (int64_t)layout->first[r] * ELEMENTS;
    free(scratch);
}

static void check_range(const artel__coll_layout *layout, const void *const *in, const float *root, int64_t first,
                        int64_t count)
{
    float out[ELEMENTS];
    for (int64_t i = 0; i < ELEMENTS; i++) out[i] = 99;
    artel__coll_local_sum sum = {.in = in, .stride = ELEMENTS, .first = first, .count = count, .out = out};
    artel__coll_sum_local(layout, &sum);
    assert_memory_equal(out + first, root + first, (size_t)count * sizeof(float));
    for (int64_t i = 0; i < ELEMENTS; i++) assert_true((i >= first && i < first + count) || out[i] == 99);
}

/* Into a rank's own first block, as replicas do that share a sum out. */
static void check_in_place(const artel__coll_layout *layout, float *nodes, const void *const *in, const float *root)
{
    for (int32_t r = 0; r < layout->ranks; r++) {
        int64_t first = (int64_t)ELEMENTS * r / layout->ranks, end = (int64_t)ELEMENTS * (r + 1) / layout->ranks;
        float *out = nodes + (int64_t)layout->first[r] * ELEMENTS;
        artel__coll_local_sum sum = {.in = in, .stride = ELEMENTS, .first = first, .count = end - first, .out = out};
        artel__coll_sum_local(layout, &sum);
        assert_memory_equal(out + first, root + first, (size_t)(end - first) * sizeof(float));
    }
}

static void check(artel_context *ctx, int32_t shards, int32_t ranks)
{
    static float leaf[MOST_SHARDS * ELEMENTS], nodes[MOST_SHARDS * ELEMENTS], root[ELEMENTS];
    static char scratch[8 * sizeof root];
    const void *in[MOST_SHARDS];
    artel__coll_layout layout;
    assert_int_equal(artel__coll_layout_init(ctx, shards, ranks, &layout), ARTEL_OK);
    for (int32_t v = 0; v < shards; v++) {
        for (int64_t i = 0; i < ELEMENTS; i++) leaf[v * ELEMENTS + i] = leaf_value(v, i);
    }
    help_tree tree = {artel__coll_sum(ARTEL_DTYPE_FLOAT32), ELEMENTS, sizeof(float), (const char *)leaf};
    help_tree_value(&tree, 0, shards, (char *)root, scratch);
    fill_nodes(&layout, &tree, nodes, in);
    check_range(&layout, in, root, 0, ELEMENTS);
    check_range(&layout, in, root, 3, 0);
    check_range(&layout, in, root, 511, 2);
    check_range(&layout, in, root, 37, 1025);
    check_in_place(&layout, nodes, in, root);
    artel__coll_layout_fini(ctx, &layout);
}

static void every_layout(void **state)
{
    artel_context *ctx;
    (void)state;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    for (int32_t shards = 1; shards <= 16; shards *= 2) {
        for (int32_t ranks = 1; ranks <= shards; ranks++) check(ctx, shards, ranks);
    }
    check(ctx, MOST_SHARDS, 5);
    check(ctx, MOST_SHARDS, MOST_SHARDS);
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_layout)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
