/* SPDX-License-Identifier: Apache-2.0 */
/* one thread */
/* The tables of states of the mesh and of the membership machine: every move, written once more; no state that cannot
 * be reached or left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cluster/membership_impl.h"
#include "cluster/mesh_state.h"

typedef struct expected {
    const artel__moves *moves;
    uint32_t ends;     /* states that nothing leaves */
    const char *legal; /* " from>to " of all, staying left out */
} expected;

static const expected all[] = {
    {&artel__mesh_lives, ARTEL__MOVE_TO(ARTEL__MESH_CLOSING),
     " bare>locked locked>moving moving>naming moving>closing naming>closing "},
    {&artel__mesh_courses, 0,
     " none>begun begun>formed begun>unformed begun>hopeless formed>ended formed>begun ended>begun unformed>begun"
     " hopeless>begun "},
    {&artel__mesh_leaves, 0, " stays>asked stays>noticed asked>heeded noticed>heeded noticed>stays heeded>asked "},
    {&artel__mesh_works, 0, " rests>busy rests>trains busy>rests trains>rests "},
    {&artel__mesh_dues, 0,
     " nothing>stop nothing>fetch nothing>seats nothing>keep stop>nothing fetch>nothing fetch>stop seats>nothing"
     " seats>stop seats>join join>nothing join>stop join>ready ready>nothing ready>stop keep>nothing keep>stop "},
    {&artel__mesh_ways, ARTEL__MOVE_TO(ARTEL__MESH_GONE),
     " to_dial>opening to_dial>gone opening>prefaced opening>to_dial opening>gone prefaced>to_dial prefaced>gone "},
    {&artel__mesh_knowns, 0, " unmet>greeted greeted>met met>greeted "},
    {&artel__mesh_savings, 0,
     " nothing>first first>nothing first>now now>nothing now>first now>later later>nothing later>first later>now "},
    {&artel__ms_trainings, 0, " rest>going going>rest going>stopping stopping>rest "},
    {&artel__ms_endings, 0,
     " stepping>finished finished>writing finished>stepping writing>written writing>unwritten writing>stepping"
     " written>stepping unwritten>stepping "},
    {&artel__ms_courses, ARTEL__MOVE_TO(ARTEL__MS_ENDED), " lives>failing lives>ended failing>ended "},
    {&artel__ms_leaves, ARTEL__MOVE_TO(ARTEL__MS_LEAVE) | ARTEL__MOVE_TO(ARTEL__MS_SAVE), " stay>leave stay>save "},
};

enum {
    KINDS = sizeof all / sizeof *all
};

/* Every pair of states, and those that are none. */
static void test_moves(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        const artel__moves *m = all[k].moves;
        for (int from = 0; from < m->states; from++) {
            assert_true(artel__may_move(m, from, from));
            assert_false(artel__may_move(m, from, m->states) || artel__may_move(m, m->states, from));
            assert_false(artel__may_move(m, from, -1) || artel__may_move(m, -1, from));
            for (int to = 0; to < m->states; to++) {
                char move[64];
                snprintf(move, sizeof move, " %s>%s ", m->state[from].name, m->state[to].name);
                bool legal = strstr(all[k].legal, move) != NULL;
                if (from != to && artel__may_move(m, from, to) != legal) fail_msg("%s:%s", m->of, move);
            }
        }
    }
}

/* From the first state on all are reached; each but the end leads somewhere. */
static void test_whole(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        const artel__moves *m = all[k].moves;
        uint32_t reached = 1;
        for (int round = 0; round < m->states; round++)
            for (int from = 0; from < m->states; from++)
                if (reached >> from & 1) reached |= m->state[from].to;
        assert_int_equal(reached, (UINT32_C(1) << m->states) - 1);
        for (int s = 0; s < m->states; s++) {
            assert_int_equal(m->state[s].to == 0, all[k].ends >> s & 1);
            assert_false(m->state[s].to >> s & 1);
            for (int other = 0; other < s; other++) assert_string_not_equal(m->state[s].name, m->state[other].name);
        }
    }
}

static void test_moving(void **state)
{
    (void)state;
    artel__mesh_due due = ARTEL__MESH_NOTHING;
    artel__mesh_move_due(&due, ARTEL__MESH_SEATS);
    artel__mesh_move_due(&due, ARTEL__MESH_JOIN);
    artel__mesh_move_due(&due, ARTEL__MESH_JOIN);
    assert_int_equal(due, ARTEL__MESH_JOIN);
    artel__mesh_course course = ARTEL__MESH_NO_PASS;
    artel__mesh_move_course(&course, ARTEL__MESH_BEGUN);
    artel__mesh_move_course(&course, ARTEL__MESH_HOPELESS);
    assert_int_equal(course, ARTEL__MESH_HOPELESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves),
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_moving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
