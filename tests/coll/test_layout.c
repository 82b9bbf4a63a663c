/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* Owners and merge programs: the nodes tile the tree, and the program computes exactly the tree, whatever R and V.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "coll/pattern/layout.h"

static int set_up(void **state)
{
    return artel_context_create(NULL, (artel_context **)state);
}

static int tear_down(void **state)
{
    artel_context_destroy(*state);
    return 0;
}

static void check_nodes(const artel__coll_layout *l)
{
    int32_t next = 0;
    for (int32_t r = 0; r < l->ranks; r++) {
        assert_int_equal(next, l->start[r]);
        for (int32_t n = l->first[r]; n < l->first[r + 1]; n++) {
            const artel__coll_node *node = &l->node[n];
            assert_int_equal(node->owner, r);
            assert_int_equal(node->shards.first, next);
            assert_int_equal(node->shards.first % node->shards.count, 0);
            assert_int_equal(artel__coll_node_number(l, n), (l->shards + next) / node->shards.count);
            next += node->shards.count;
        }
    }
    assert_int_equal(next, l->shards);
    assert_int_equal(l->first[l->ranks], l->nodes);
}

/* Runs the program on intervals instead of values. */
static void check_program(const artel__coll_layout *l)
{
    artel__fold_node place[ARTEL__MAX_NODES] = {{0, 0}};
    assert_int_equal(l->steps, l->nodes - 1);
    assert_true(l->places <= 13);
    for (int32_t i = 0; i < l->steps; i++) {
        const artel__coll_merge_step *s = &l->step[i];
        assert_true(s->to >= 0 && s->to < l->places && s->right != s->to);
        assert_true(s->left < 0 || s->left == s->to);
        artel__fold_node left = s->left < 0 ? l->node[-1 - s->left].shards : place[s->left];
        artel__fold_node right = s->right < 0 ? l->node[-1 - s->right].shards : place[s->right];
        assert_int_equal(left.count, right.count);
        assert_int_equal(left.first + left.count, right.first);
        assert_int_equal(left.first % (2 * left.count), 0);
        place[s->to] = (artel__fold_node){left.first, 2 * left.count};
    }
    artel__fold_node root = l->steps ? place[0] : l->node[0].shards;
    assert_int_equal(root.first, 0);
    assert_int_equal(root.count, l->shards);
}

static void check(artel_context *ctx, int32_t shards, int32_t ranks)
{
    artel__coll_layout layout;
    assert_int_equal(artel__coll_layout_init(ctx, shards, ranks, &layout), ARTEL_OK);
    for (int32_t r = 0; r <= ranks; r++)
        assert_int_equal(layout.start[r], artel__replica_first_shard(shards, ranks, r));
    check_nodes(&layout);
    check_program(&layout);
    artel__coll_layout_fini(ctx, &layout);
}

/* Every way to cut eight shards into runs. */
static void runs_of_any_length(void **state)
{
    for (int cuts = 0; cuts < 1 << 7; cuts++) {
        artel__coll_layout layout;
        int32_t start[9] = {0}, ranks = 1;
        for (int32_t v = 1; v < 8; v++) {
            if (cuts >> (v - 1) & 1) start[ranks++] = v;
        }
        start[ranks] = 8;
        assert_int_equal(artel__coll_layout_init_runs(*state, 8, ranks, start, &layout), ARTEL_OK);
        assert_memory_equal(layout.start, start, ((size_t)ranks + 1) * sizeof *start);
        check_nodes(&layout);
        check_program(&layout);
        artel__coll_layout_fini(*state, &layout);
    }
}

/* The tree over leaves that are no power of two: as many of them as can be one stand on the left. */
static int32_t left_of(int32_t count)
{
    int32_t left = 1;
    while (2 * left < count) left *= 2;
    return left;
}

/* Whatever the number of shards, and whoever owns them, the merges are those of that tree. */
static void check_any(artel_context *ctx, int32_t shards, int32_t ranks)
{
    artel__coll_layout l;
    artel__fold_node place[ARTEL__MAX_NODES] = {{0, 0}};
    assert_int_equal(artel__coll_layout_init_runs(ctx, shards, ranks, NULL, &l), ARTEL_OK);
    assert_int_equal(l.steps, l.nodes - 1);
    assert_true(l.width >= shards && l.width < 2 * shards + (shards == 1));
    for (int32_t i = 0; i < l.steps; i++) {
        const artel__coll_merge_step *s = &l.step[i];
        artel__fold_node left = s->left < 0 ? l.node[-1 - s->left].shards : place[s->left];
        artel__fold_node right = s->right < 0 ? l.node[-1 - s->right].shards : place[s->right];
        assert_true(s->to >= 0 && s->to < l.places && (s->left < 0 || s->left == s->to) && s->right != s->to);
        assert_int_equal(left.first + left.count, right.first);
        assert_int_equal(left.count, left_of(left.count + right.count));
        place[s->to] = (artel__fold_node){left.first, left.count + right.count};
    }
    artel__fold_node root = l.steps ? place[0] : l.node[0].shards;
    assert_true(root.first == 0 && root.count == shards);
    for (int32_t n = 1; n < l.nodes; n++)
        for (int32_t k = 0; k < n; k++)
            assert_int_not_equal(artel__coll_node_number(&l, n), artel__coll_node_number(&l, k));
    artel__coll_layout_fini(ctx, &l);
}

static void any_number_of_shards(void **state)
{
    for (int32_t shards = 1; shards <= 40; shards++) {
        for (int32_t ranks = 1; ranks <= shards; ranks++) check_any(*state, shards, ranks);
    }
}

static void every_layout(void **state)
{
    for (int32_t shards = 1; shards <= 64; shards *= 2) {
        for (int32_t ranks = 1; ranks <= shards; ranks++) check(*state, shards, ranks);
    }
    static const int32_t many[] = {1, 2, 3, 64, 100, 255, 256, 512, 1000, 4095, 4096};
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) check(*state, 4096, many[i]);
    check(*state, 256, 100);
    check(*state, 512, 512);
}

static void rows_follow_the_shards(void **state)
{
    artel__coll_layout layout;
    assert_int_equal(artel__coll_layout_init(*state, 8, 3, &layout), ARTEL_OK);
    assert_int_equal(artel__coll_first_row(&layout, 100, 0), 0);
    assert_int_equal(artel__coll_first_row(&layout, 100, 1), 25); /* shards 0, 1 */
    assert_int_equal(artel__coll_first_row(&layout, 100, 2), 62); /* shards 2, 3, 4 */
    assert_int_equal(artel__coll_first_row(&layout, 100, 3), 100);
    artel__coll_layout_fini(*state, &layout);
}

static void dump_is_stable(void **state)
{
    artel__coll_layout layout;
    artel__text text;
    assert_int_equal(artel__coll_layout_init(*state, 8, 3, &layout), ARTEL_OK);
    artel__text_init(&text, *state);
    artel__coll_layout_dump(&layout, &text);
    assert_string_equal(text.data, "all-reduce: 8 shards, 3 ranks, 5 nodes\n"
                                   "  rank 0: [0+2)\n"
                                   "  rank 1: [2+2) [4+1)\n"
                                   "  rank 2: [5+1) [6+2)\n"
                                   "  p0 = [0+2) + [2+2)\n"
                                   "  p1 = [4+1) + [5+1)\n"
                                   "  p1 = p1 + [6+2)\n"
                                   "  p0 = p0 + p1\n");
    artel__text_fini(&text);
    artel__coll_layout_fini(*state, &layout);
}

static void refusals(void **state)
{
    static const int32_t bad[][2] = {{0, 1}, {3, 1}, {8, 0}, {8, 9}, {8192, 2}, {-4, 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        artel__coll_layout layout = {.nodes = 77};
        artel__operation_begin(*state);
        assert_int_equal(artel__coll_layout_init(*state, bad[i][0], bad[i][1], &layout), ARTEL_ERROR_INVALID);
        assert_string_equal(artel_context_error(*state)->where, ".shards");
        assert_int_equal(layout.nodes, 77);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_layout, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_number_of_shards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(runs_of_any_length, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_follow_the_shards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dump_is_stable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refusals, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
