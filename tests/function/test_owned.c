/* SPDX-License-Identifier: Apache-2.0 */
/* What a server of closures takes and gives (function/owned.c), told by hand what nobody says who runs the same
 * program: numbers that would have it make room for what cannot be, closures and pieces that there are not, rows that
 * are no table's. Each is refused with the words that say so, and changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "function/driver.h"
#include "function/help_closures.h"

enum {
    ROWS = 40,
    WIDTH = 3,
    TOKENS = 2
};

static closures c;
static artel_model *words;
static artel_variable *sums, *table;
static artel_function *adds, *looks;

static artel_status trace_add(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_graph_assign_add(g, sums, in[0]);
    out[0] = in[0];
    return artel_graph_status(g);
}

static artel_status trace_look(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    artel_graph_call(g, words, in, 1, out, 1);
    return artel_graph_status(g);
}

static int open_server(void **state)
{
    static const artel_argument number = {"x", ARTEL_DTYPE_FLOAT32, true, {1, {10}}},
                                token = {"token", ARTEL_DTYPE_INT32, false, {1, {TOKENS}}};
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    closures_open(&c, 2, "fixed:2");
    v.name = "sums";
    v.shape = (artel_shape){1, {10}};
    assert_int_equal(artel_variable_create(c.strategy, &v, &sums), ARTEL_OK);
    words = closures_add_table(&c, ROWS, WIDTH, TOKENS, &table);
    f.argument_count = f.output_count = 1;
    f.name = "add";
    f.arguments = &number;
    assert_int_equal(artel_function_create(c.strategy, &f, trace_add, NULL, &adds), ARTEL_OK);
    f.name = "look";
    f.arguments = &token;
    assert_int_equal(artel_function_create(c.strategy, &f, trace_look, NULL, &looks), ARTEL_OK);
    assert_int_equal(looks->tables.count, 1);
    closures_begin(&c);
    *state = &c;
    return 0;
}

static int close_server(void **state)
{
    (void)state;
    closures_close(&c);
    artel_model_destroy(words);
    artel_context_destroy(c.ctx);
    return 0;
}

static const float ones[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

/* The update of five elements of `sums`, which a part has of it. */
static artel__lane_head add_of(uint64_t item, uint64_t floor)
{
    c.piece[1] = (artel__net_piece){(void *)(uintptr_t)ones, 5 * sizeof *ones};
    return (artel__lane_head){
        .op = ARTEL__CLOSURE_APPLY, .part = (uint32_t)adds->number, .item = item, .a = floor, .rate = -1};
}

static float sum_now(void)
{
    float now[10];
    closures_fetch(&c, sums, now);
    assert_true(now[0] == now[4] && now[5] == now[9]);
    return now[0] + now[5];
}

static void refuses(artel_status status)
{
    assert_int_equal(status, ARTEL_ERROR_INVALID);
    assert_string_equal(artel_context_error(c.ctx)->what,
                        "what a task sent does not fit this program's functions and variables");
    assert_string_equal(artel_context_error(c.ctx)->advice, "run the same program everywhere");
    artel__operation_begin(c.ctx);
}

/* By its number; all before the floor are done, and one of them that comes once more adds nothing. */
static void a_closure_counts_once(void **state)
{
    (void)state;
    for (uint64_t times = 0; times < 2; times++) {
        for (uint64_t item = 0; item < 3; item++) {
            artel__lane_head head = add_of(item, 0);
            assert_int_equal(closures_apply(&c, 0, &head, 1), ARTEL_OK);
        }
        assert_true(sum_now() == 3 && c.part[0]->updates == 3);
    }
    uint64_t far = (uint64_t)1 << 40; /* of a part that nobody has written for long */
    artel__lane_head head = add_of(far + 5, far);
    assert_int_equal(closures_apply(&c, 0, &head, 1), ARTEL_OK);
    assert_true(sum_now() == 4);
    assert_true(c.part[0]->applied.base <= far && far - c.part[0]->applied.base < 8);
    assert_true(c.part[0]->applied.bytes <= 4096);
    for (uint64_t item = 2; item <= far; item *= 3) {
        head = add_of(item - 1, 0);
        assert_int_equal(closures_apply(&c, 0, &head, 1), ARTEL_OK);
    }
    assert_true(sum_now() == 4);
}

/* The bits that say which closures a part has take no more memory than those that can be out want. */
static void a_number_out_of_reach_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t item, floor;
    } odd[] = {{ARTEL__CLOSURES_APART, 0},
               {((uint64_t)1 << 32) - 1, 0},
               {(uint64_t)1 << 32, 0},
               {UINT64_MAX, 0},
               {UINT64_MAX, 1},
               {4, 5},
               {0, UINT64_MAX},
               {((uint64_t)1 << 40) + ARTEL__CLOSURES_APART, (uint64_t)1 << 40}};
    artel__lane_head head = add_of(3, 0);
    assert_int_equal(closures_apply(&c, 0, &head, 1), ARTEL_OK);
    size_t bytes = c.part[0]->applied.bytes;
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        head = add_of(odd[i].item, odd[i].floor);
        refuses(closures_apply(&c, 0, &head, 1));
    }
    assert_true(sum_now() == 1 && c.part[0]->applied.bytes == bytes && c.part[0]->applied.base == 0);
    head = add_of(ARTEL__CLOSURES_APART - 1, 0);
    assert_int_equal(closures_apply(&c, 0, &head, 1), ARTEL_OK);
    assert_true(sum_now() == 2 && c.part[0]->applied.bytes < ARTEL__CLOSURES_APART / 2);
    assert_true(c.part[0]->applied.bytes < artel__closure_most(c.strategy)); /* so a copy hears of all of them */
}

/* Who deals out does not go further than servers follow. */
static void what_is_out_of_reach_is_not_dealt_out(void **state)
{
    (void)state;
    artel__closure first = {.number = 7}, next = {.number = 8};
    artel_coordinator dealer = {.strategy = c.strategy};
    assert_false(artel__deal_may(&dealer));
    dealer.waiting.first = &next;
    assert_true(artel__deal_may(&dealer));
    dealer.running.first = &first;
    next.number = first.number + ARTEL__CLOSURES_APART - 1;
    assert_true(artel__deal_may(&dealer));
    next.number++;
    assert_false(artel__deal_may(&dealer));
    dealer.running.first = NULL;
    assert_true(artel__deal_may(&dealer));
}

static void what_fits_nothing_is_refused(void **state)
{
    (void)state;
    artel__lane_head head = add_of(1, 0);
    head.part = 77; /* a function that there is not */
    refuses(closures_apply(&c, 0, &head, 1));
    head = add_of(1, 0);
    refuses(closures_apply(&c, 0, &head, 0)); /* without what it adds */
    head = add_of(1, 0);
    c.piece[2] = c.piece[1];
    refuses(closures_apply(&c, 0, &head, 2)); /* with more */
    head = add_of(1, 0);
    c.piece[1].bytes = 4 * sizeof *ones;
    refuses(closures_apply(&c, 0, &head, 1)); /* with less */
    for (uint32_t piece = 0; piece < 5; piece++) {
        bool here = piece < (uint32_t)c.strategy->pieces && c.strategy->piece[piece].part == 0;
        head = add_of(1, 0);
        head.op = ARTEL__CLOSURE_STORE;
        head.part = piece == 4 ? UINT32_MAX : piece;
        if (here) c.piece[1].bytes--; /* else of another part, or of none */
        refuses(closures_apply(&c, 0, &head, 1));
    }
    head = add_of(1, 0);
    head.op = ARTEL__CLOSURE_RESTORE;
    refuses(closures_apply(&c, 0, &head, 1)); /* an image of another size */
    assert_true(sum_now() == 0 && c.part[0]->version == 1 && c.part[0]->updates == 0);
}

static void rows_of_no_table_are_refused(void **state)
{
    (void)state;
    static const struct {
        int32_t count, token[2];
        size_t bytes; /* of tokens */
    } odd[] = {{-1, {0, 1}, 8},       {INT32_MIN, {0, 1}, 8}, {INT32_MAX, {0, 1}, 8}, {ROWS + 1, {0, 1}, 8},
               {2, {1, 0}, 8},        {2, {1, 1}, 8},         {2, {-1, 0}, 8},        {2, {0, ROWS}, 8},
               {2, {0, ROWS / 2}, 8}, {2, {0, 1}, 4},         {2, {0, INT32_MAX}, 8}};
    const artel__net_piece *out;
    int pieces;
    artel__lane_head head = {.op = ARTEL__CLOSURE_READ, .part = (uint32_t)looks->number};
    int part = 0;
    while (c.strategy->piece[c.strategy->first_piece[table->index]].part != part) part++; /* of the first rows */
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        c.piece[1] = (artel__net_piece){(void *)(uintptr_t)&odd[i].count, sizeof odd[i].count};
        c.piece[2] = (artel__net_piece){(void *)(uintptr_t)odd[i].token, odd[i].bytes};
        refuses(closures_read(&c, part, &head, 2, &out, &pieces));
    }
    int32_t few = 2, tokens[2] = {0, ROWS / 2 - 1};
    c.piece[1] = (artel__net_piece){&few, sizeof few};
    c.piece[2] = (artel__net_piece){tokens, sizeof tokens};
    assert_int_equal(closures_read(&c, part, &head, 2, &out, &pieces), ARTEL_OK);
    assert_true(pieces == 1 && out[0].bytes == 2 * WIDTH * sizeof(float));
    head.part = 77;
    refuses(closures_read(&c, part, &head, 2, &out, &pieces));
}

/* Whichever piece of memory of a part is not to be had: it says how much that was, and nothing stays. */
static void memory_is_refused_by_name(void **state)
{
    artel__owned_part *part = NULL;
    (void)state;
    uint64_t before = artel__heap_calls(c.ctx);
    assert_int_equal(artel__owned_create(c.strategy, 0, &part), ARTEL_OK);
    uint64_t calls = artel__heap_calls(c.ctx) - before;
    artel__owned_destroy(part);
    assert_in_range(calls, 10, 100000);
    for (uint64_t n = 1; n <= calls; n++) {
        part = NULL;
        artel__operation_begin(c.ctx);
        artel__fail_allocation_after(c.ctx, n);
        assert_int_equal(artel__owned_create(c.strategy, 0, &part), ARTEL_ERROR_NO_MEMORY);
        assert_null(part);
        if (!strstr(artel_context_error(c.ctx)->what, "bytes of memory are not to be had"))
            fail_msg("%llu of %llu: it says: %s", (unsigned long long)n, (unsigned long long)calls,
                     artel_context_error(c.ctx)->what);
    }
    artel__fail_allocation_after(c.ctx, 0);
    assert_int_equal(artel__owned_create(c.strategy, 0, &part), ARTEL_OK);
    artel__owned_destroy(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_closure_counts_once, open_server, close_server),
        cmocka_unit_test_setup_teardown(a_number_out_of_reach_is_refused, open_server, close_server),
        cmocka_unit_test_setup_teardown(what_is_out_of_reach_is_not_dealt_out, open_server, close_server),
        cmocka_unit_test_setup_teardown(what_fits_nothing_is_refused, open_server, close_server),
        cmocka_unit_test_setup_teardown(rows_of_no_table_are_refused, open_server, close_server),
        cmocka_unit_test_setup_teardown(memory_is_refused_by_name, open_server, close_server),
    };
    return cmocka_run_group_tests_name("owned", tests, NULL, NULL);
}
