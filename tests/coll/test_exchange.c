/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* The schedules at up to 512 simulated ranks: what is sent is what is awaited, everyone ends with every slice, and
 * messages, bytes and connections are as the closed form says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "coll/pattern/slices.h"
#include "coll/select.h"

typedef struct wire {
    int32_t from, to, node, slice;
} wire;

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(wire));
}

typedef struct scene {
    artel_context *ctx;
    artel__coll_layout layout;
    artel__coll_exchange exchange;
    int32_t *begin;
    int64_t *slice_bytes;
    wire *sent, *awaited;
    int64_t sends, receives;
} scene;

static void cut(scene *s, int64_t elements)
{
    int32_t slices = s->exchange.algorithm == ARTEL__COLL_DIRECT ? s->layout.ranks : 1;
    artel__coll_segment segment = {.count = elements, .element = 4};
    artel__coll_span *span = calloc((size_t)slices + 1, sizeof *span);
    s->begin = calloc((size_t)slices + 1, sizeof *s->begin);
    s->slice_bytes = calloc((size_t)slices, sizeof *s->slice_bytes);
    artel__coll_cut(&segment, 1, slices, span, s->begin);
    for (int32_t i = 0; i < slices; i++) {
        for (int32_t k = s->begin[i]; k < s->begin[i + 1]; k++) s->slice_bytes[i] += span[k].count * 4;
    }
    s->exchange.begin = s->begin;
    free(span);
}

static void check_load(const scene *s, int32_t rank, const artel__coll_lists *lists)
{
    int64_t bytes = 0;
    uint8_t *met = calloc((size_t)s->layout.ranks, 1);
    int32_t connections = 0;
    for (int32_t i = 0; i < lists->node_sends + lists->result_sends; i++) {
        bytes += s->slice_bytes[lists->send[i].slice];
        if (!met[lists->send[i].peer]++) connections++;
    }
    artel__coll_load load = artel__coll_rank_load(&s->layout, s->exchange.algorithm, s->slice_bytes, rank);
    assert_int_equal(load.messages, lists->node_sends + lists->result_sends);
    assert_int_equal(load.bytes, bytes);
    assert_true(connections <= load.connections);
    free(met);
}

static void list_rank(scene *s, int32_t rank)
{
    int32_t most = artel__coll_most_messages(&s->layout, rank);
    artel__coll_lists lists = {.send = calloc((size_t)most, sizeof *lists.send),
                               .receive = calloc((size_t)most, sizeof *lists.receive)};
    artel__coll_list_messages(&s->exchange, rank, &lists);
    assert_true(lists.node_sends + lists.result_sends <= most && lists.node_receives + lists.result_receives <= most);
    check_load(s, rank, &lists);
    for (int32_t i = 0; i < lists.node_sends + lists.result_sends; i++) {
        const artel__coll_message *m = &lists.send[i];
        if (m->node >= 0) assert_int_equal(s->layout.node[m->node].owner, rank);
        assert_true((m->node < 0) == (i >= lists.node_sends));
        s->sent[s->sends++] = (wire){rank, m->peer, m->node, m->slice};
    }
    for (int32_t i = 0; i < lists.node_receives + lists.result_receives; i++) {
        const artel__coll_message *m = &lists.receive[i];
        assert_true(i == 0 || i >= lists.node_receives || m->node > m[-1].node);
        s->awaited[s->receives++] = (wire){m->peer, rank, m->node, m->slice};
    }
    free(lists.send);
    free(lists.receive);
}

static void check(artel_context *ctx, int32_t shards, int32_t ranks, artel__coll_algorithm algorithm, int64_t elements)
{
    scene s = {.ctx = ctx};
    assert_int_equal(artel__coll_layout_init(ctx, shards, ranks, &s.layout), ARTEL_OK);
    s.exchange = (artel__coll_exchange){.layout = &s.layout, .algorithm = algorithm};
    cut(&s, elements);
    size_t most = ((size_t)s.layout.nodes + (size_t)ranks) * (size_t)ranks;
    s.sent = calloc(most, sizeof *s.sent);
    s.awaited = calloc(most, sizeof *s.awaited);
    for (int32_t r = 0; r < ranks; r++) list_rank(&s, r);
    assert_int_equal(s.sends, s.receives);
    qsort(s.sent, (size_t)s.sends, sizeof *s.sent, compare);
    qsort(s.awaited, (size_t)s.receives, sizeof *s.awaited, compare);
    assert_memory_equal(s.sent, s.awaited, (size_t)s.sends * sizeof *s.sent);
    for (int64_t i = 1; i < s.sends; i++) assert_int_not_equal(compare(&s.sent[i - 1], &s.sent[i]), 0);
    free(s.sent);
    free(s.awaited);
    free(s.begin);
    free(s.slice_bytes);
    artel__coll_layout_fini(ctx, &s.layout);
}

static void simulated_ranks(void **state)
{
    artel_context *ctx;
    (void)state;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    static const int32_t ranks[] = {1, 2, 3, 5, 64, 100, 512};
    static const int64_t elements[] = {0, 1, 100000, 25600000};
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++) {
        for (size_t e = 0; e < sizeof elements / sizeof *elements; e++) {
            int32_t shards = 512;
            check(ctx, shards, ranks[r], ARTEL__COLL_DIRECT, elements[e]);
            check(ctx, shards, ranks[r], ARTEL__COLL_REDUNDANT, elements[e]);
        }
    }
    artel_context_destroy(ctx);
}

/* The figures the documentation gives: 25.6 million float32 (ResNet-50) over 512 ranks with one node each. */
static void figures(void **state)
{
    (void)state;
    artel_context *ctx;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    static const int32_t ranks[] = {64, 512};
    for (size_t i = 0; i < 2; i++) {
        int32_t n = ranks[i];
        scene s = {.ctx = ctx};
        assert_int_equal(artel__coll_layout_init(ctx, 512, n, &s.layout), ARTEL_OK);
        s.exchange = (artel__coll_exchange){.layout = &s.layout, .algorithm = ARTEL__COLL_DIRECT};
        cut(&s, (int64_t)512 * 4096 * 12);
        int64_t total = (int64_t)512 * 4096 * 12 * 4;
        artel__coll_load load = artel__coll_rank_load(&s.layout, ARTEL__COLL_DIRECT, s.slice_bytes, n / 2);
        assert_int_equal(load.messages, 2 * (n - 1));
        assert_int_equal(load.bytes, 2 * (total - total / n));
        assert_int_equal(load.connections, n - 1);
        free(s.begin);
        free(s.slice_bytes);
        artel__coll_layout_fini(ctx, &s.layout);
    }
    artel_context_destroy(ctx);
}

static void selection(void **state)
{
    (void)state;
    assert_int_equal(artel__coll_select(0, 2), ARTEL__COLL_REDUNDANT);
    assert_int_equal(artel__coll_select(1024, 2), ARTEL__COLL_REDUNDANT);
    assert_int_equal(artel__coll_select((int64_t)1 << 40, 2), ARTEL__COLL_DIRECT);
    assert_int_equal(artel__coll_select(16, 4096), ARTEL__COLL_DIRECT);
    assert_string_equal(artel__coll_algorithm_name(ARTEL__COLL_DIRECT), "direct");
    assert_string_equal(artel__coll_algorithm_name(ARTEL__COLL_REDUNDANT), "redundant");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simulated_ranks),
        cmocka_unit_test(figures),
        cmocka_unit_test(selection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
