/* SPDX-License-Identifier: Apache-2.0 */
/* What a fit tells of the time of its nodes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "help_fit.h"

/* -- profile -- */

typedef struct profile {
    fit_bench *b; /* the event functions' user is this one */
    int64_t calls;
    double operations;
    bool forward, backward, apply, layer;
} profile;

static void on_profile(void *user, int64_t step, const artel_profile_node *nodes, int count)
{
    profile *p = user;
    assert_int_equal(step, ++p->calls);
    assert_true(count > 0);
    p->operations = 0;
    for (int i = 0; i < count; i++) {
        assert_true(nodes[i].ns > 0 ? nodes[i].begin_ns > 0 : nodes[i].ns == 0);
        assert_true(nodes[i].ns > 0 || strcmp(nodes[i].kernel, "collective") == 0);
        assert_string_not_equal(nodes[i].kernel, "view");
        p->operations += nodes[i].operations;
        p->forward = p->forward || strcmp(nodes[i].phase, "forward") == 0;
        p->backward = p->backward || strcmp(nodes[i].phase, "backward") == 0;
        p->apply = p->apply || strcmp(nodes[i].phase, "apply") == 0;
        p->layer = p->layer || strcmp(nodes[i].layer, "a") == 0;
    }
}

/* Every step is reported, nothing changes, and the operations are those of the rows: of the last, short batch too. */
static void test_profile(void **state)
{
    (void)state;
    char digest[2][65];
    for (int i = 0; i < 2; i++) {
        fit_bench b;
        fit_open_mlp(&b, 40);
        profile p = {.b = &b};
        artel_fit_options o = fit_options(&b, 16, 2, 2);
        if (i) {
            o.on_profile = on_profile;
            o.on_event = NULL;
            o.event_user = &p;
        }
        fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
        assert_int_equal(artel_model_digest(b.model, digest[i]), ARTEL_OK);
        fit_close(&b);
        if (!i) continue;
        assert_int_equal(p.calls, 6);
        assert_true(p.forward && p.backward && p.apply && p.layer);
        /* forward and weight gradients of 9 x 21 and 21 x 4, data gradient of the second; replica 0 has 4 of the 8 rows
         */
        assert_float_equal(p.operations, 2.0 * 4 * (2 * 9 * 21 + 3 * 21 * 4), 0.5);
    }
    assert_string_equal(digest[0], digest[1]);
}

/* The first of five replicas has 3 of 16 shards: 9 of the 48 rows, where others have 12. */
static void test_profile_of_fewer_rows(void **state)
{
    (void)state;
    fit_bench b;
    fit_open_mlp(&b, 48);
    profile p = {.b = &b};
    artel_fit_options o = fit_options(&b, 48, 5, 5);
    o.on_profile = on_profile;
    o.on_event = NULL;
    o.event_user = &p;
    fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    assert_float_equal(p.operations, 2.0 * 9 * (2 * 9 * 21 + 3 * 21 * 4), 0.5);
    fit_close(&b);
}

/* No two spans have anything in common; a collective of two calls has the time of both, and the place of one. */
static void spans_apart(void *user, int64_t step, const artel_profile_node *nodes, int count)
{
    (void)user;
    (void)step;
    for (int i = 0; i < count; i++) {
        assert_true(nodes[i].longest_ns <= nodes[i].ns);
        for (int k = 0; k < count; k++) {
            bool before = nodes[k].begin_ns + nodes[k].longest_ns <= nodes[i].begin_ns;
            bool behind = nodes[i].begin_ns + nodes[i].longest_ns <= nodes[k].begin_ns;
            if (k != i && nodes[i].ns && nodes[k].ns && !before && !behind)
                fail_msg("%s of %s and %s of %s at once", nodes[i].operation, nodes[i].layer, nodes[k].operation,
                         nodes[k].layer);
        }
    }
}

static void test_profile_spans(void **state)
{
    (void)state;
    fit_bench b;
    fit_open(&b, fit_cnn, 96, 72, (artel_shape){.rank = 3, .dim = {6, 6, 2}});
    artel_fit_options o = fit_options(&b, 16, 2, 2);
    o.on_profile = spans_apart;
    fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    fit_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_profile_of_fewer_rows),
        cmocka_unit_test(test_profile_spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
