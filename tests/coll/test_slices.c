/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* Cuts: every element in exactly one span, in order; cuts only at blocks; shares even to a block.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "coll/pattern/slices.h"

/* Late slices are empty when early ones overshoot; nobody exceeds the even share by more than `slack` bytes. */
static void check(const artel__coll_segment *segment, int32_t segments, int32_t slices, int64_t slack)
{
    artel__coll_span *span = calloc((size_t)(segments + slices) + 1, sizeof *span);
    int32_t *begin = calloc((size_t)slices + 1, sizeof *begin);
    int32_t spans = artel__coll_cut(segment, segments, slices, span, begin);
    assert_true(spans <= segments + slices);
    assert_int_equal(begin[0], 0);
    assert_int_equal(begin[slices], spans);
    int32_t at = 0;
    int64_t element = 0, total = artel__coll_bytes(segment, segments);
    for (int32_t i = 0; i < slices; i++) {
        int64_t bytes = 0;
        for (int32_t k = begin[i]; k < begin[i + 1]; k++) {
            while (at < segments && element == segment[at].count) at++, element = 0;
            assert_int_equal(span[k].segment, at);
            assert_int_equal(span[k].first, element);
            assert_true(span[k].count > 0);
            assert_int_equal(span[k].first % ARTEL__COLL_BLOCK, 0);
            if (segment[at].whole) assert_int_equal(span[k].count, segment[at].count);
            element += span[k].count;
            bytes += span[k].count * segment[at].element;
        }
        assert_true(bytes <= total / slices + 1 + slack);
    }
    while (at < segments && element == segment[at].count) at++, element = 0;
    assert_int_equal(at, segments);
    free(begin);
    free(span);
}

static void many_segments(void **state)
{
    (void)state;
    static const int32_t slices[] = {1, 2, 3, 5, 8, 16, 100, 512};
    for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
        artel__coll_segment s[9] = {
            {.count = 784 * 512, .element = 4}, {.count = 512, .element = 4},
            {.count = 0, .element = 4},         {.count = 5120, .element = 4},
            {.count = 10, .element = 4},        {.count = 3 * 1000, .element = 8, .whole = true},
            {.count = 4096, .element = 8},      {.count = 4097, .element = 8},
            {.count = 1, .element = 8}};
        check(s, 9, slices[i], 4096 * 8);
        check(s, 0, slices[i], 0);
        check(s + 2, 1, slices[i], 0);
        check(s + 4, 1, slices[i], 40);
    }
}

static void even_shares(void **state)
{
    (void)state;
    artel__coll_segment s = {.count = 8 * ARTEL__COLL_BLOCK, .element = 4};
    artel__coll_span span[9];
    int32_t begin[9];
    assert_int_equal(artel__coll_cut(&s, 1, 8, span, begin), 8);
    for (int32_t i = 0; i < 8; i++) {
        assert_int_equal(span[i].first, i * ARTEL__COLL_BLOCK);
        assert_int_equal(span[i].count, ARTEL__COLL_BLOCK);
    }
}

static void sizes_near_the_limit(void **state)
{
    (void)state;
    artel__coll_segment s[2] = {{.count = (int64_t)1 << 50, .element = 8},
                                {.count = ((int64_t)1 << 50) + 1, .element = 4}};
    check(s, 2, 512, 4096 * 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_segments),
        cmocka_unit_test(even_shares),
        cmocka_unit_test(sizes_near_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
