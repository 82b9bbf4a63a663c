/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of shards: nodes of every run, rows of every shard, sums that no distribution changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/rng.h"
#include "kernel/fold.h"

static bool is_node(artel__fold_node node)
{
    return node.count > 0 && (node.count & (node.count - 1)) == 0 && node.first % node.count == 0;
}

/* Every run of 64 shards: aligned nodes, in order, covering the run, and no two of them halves of one larger node. */
static void test_nodes_of_every_run(void **state)
{
    enum {
        V = 64
    };
    (void)state;
    for (int32_t first = 0; first <= V; first++) {
        for (int32_t count = 0; first + count <= V; count++) {
            artel__fold_node node[ARTEL__MAX_NODES];
            int nodes = artel__fold_nodes(first, count, node);
            int32_t at = first;
            assert_in_range(nodes, count ? 1 : 0, 12);
            for (int i = 0; i < nodes; i++) {
                assert_true(is_node(node[i]));
                assert_int_equal(node[i].first, at);
                at += node[i].count;
                artel__fold_node parent = {node[i].first / (2 * node[i].count) * 2 * node[i].count, 2 * node[i].count};
                assert_true(parent.first < first || parent.first + parent.count > first + count); /* maximal */
            }
            assert_int_equal(at, first + count);
        }
    }
}

static void test_most_nodes(void **state)
{
    artel__fold_node node[ARTEL__MAX_NODES];
    (void)state;
    assert_int_equal(artel__fold_nodes(1, ARTEL__MAX_SHARDS - 2, node), 22);
    assert_int_equal(artel__fold_nodes(0, ARTEL__MAX_SHARDS, node), 1);
    assert_int_equal(node[0].count, ARTEL__MAX_SHARDS);
}

/* Rows and shards are dealt out completely for batches that divide nothing, and for fewer rows than shards. */
static void test_rows(void **state)
{
    static const int64_t batches[] = {0, 1, 7, 32, 96, 100, 1001, (int64_t)1 << 40};
    (void)state;
    for (size_t b = 0; b < sizeof(batches) / sizeof(batches[0]); b++) {
        for (int32_t replicas = 1; replicas <= 8; replicas++) {
            int64_t row = 0, start[9];
            for (int32_t r = 0; r < replicas; r++) {
                artel__fold_plan plan;
                int32_t first = artel__replica_first_shard(8, replicas, r),
                        end = artel__replica_first_shard(8, replicas, r + 1);
                artel__fold_plan_make(&plan, 8, first, end - first, batches[b], start);
                assert_int_equal(plan.row, row);
                assert_int_equal(plan.batch, batches[b]);
                assert_ptr_equal(plan.start, start);
                for (int32_t v = 0; v < plan.count; v++) {
                    assert_int_equal(plan.row + start[v], batches[b] * (first + v) / 8);
                    assert_true(start[v] <= start[v + 1]);
                }
                assert_int_equal(start[plan.count], plan.rows);
                assert_int_equal(plan.nodes, artel__fold_nodes(first, end - first, plan.node));
                row += plan.rows;
            }
            assert_int_equal(row, batches[b]);
        }
    }
}

/* The value of a node over 16 leaves, as the head of fold.h defines it. */
static float fold(const float *leaf, int32_t first, int32_t count)
{
    if (count == 1) return leaf[first] + 0.0f;
    return fold(leaf, first, count / 2) + fold(leaf, first + count / 2, count / 2);
}

/* Finishes the tree from the nodes that the replicas hand in. */
static float finish(const artel__fold_node *node, const float *value, int nodes, int32_t first, int32_t count)
{
    for (int i = 0; i < nodes; i++)
        if (node[i].first == first && node[i].count == count) return value[i];
    return finish(node, value, nodes, first, count / 2) + finish(node, value, nodes, first + count / 2, count / 2);
}

static void test_no_distribution_changes_the_root(void **state)
{
    float leaf[16];
    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t word[4];
        artel__rng_block(artel__rng_make_key(1, ARTEL__STREAM_INIT), 0, 0, 0, i, word);
        leaf[i] = (artel__rng_uniform(word[0]) - 0.5f) * (float)(1u << (word[1] & 15));
    }
    float root = fold(leaf, 0, 16);
    for (int32_t replicas = 1; replicas <= 16; replicas++) {
        artel__fold_node node[16 * ARTEL__MAX_NODES];
        float value[16 * ARTEL__MAX_NODES];
        int nodes = 0;
        for (int32_t r = 0; r < replicas; r++) {
            int32_t first = artel__replica_first_shard(16, replicas, r),
                    end = artel__replica_first_shard(16, replicas, r + 1);
            int added = artel__fold_nodes(first, end - first, node + nodes);
            for (int i = nodes; i < nodes + added; i++) value[i] = fold(leaf, node[i].first, node[i].count);
            nodes += added;
        }
        float sum = finish(node, value, nodes, 0, 16);
        assert_memory_equal(&sum, &root, sizeof(sum));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nodes_of_every_run),
        cmocka_unit_test(test_most_nodes),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_no_distribution_changes_the_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
