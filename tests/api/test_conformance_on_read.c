/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* Variables that are synchronised when they are read, under every strategy (as test_conformance.c, with its arguments):
 * rows write their own parts, and what is read is the aggregate, in exact numbers and with the same bits under all
 * strategies (VA2); saved and restored it is the same total for any number of replicas (VA3); what cannot be is refused
 * by the variable's name (VA4). And the same of mirrored ones (VA1). */
#include "api/help_conformance_rows.h"

#include <math.h>

enum {
    WAYS = 3, /* sum, mean, only_first_replica */
    ROUNDS = 4
};

static const char *const ways[WAYS] = {"sum", "mean", "only_first_replica"};

typedef enum kind {
    ADD,
    SUBTRACT,
    ASSIGN,
    ADD_SHARED, /* to those that take it */
    KINDS
} kind;

typedef struct parts {
    rows_stage stage; /* first: rows_make() takes it for the whole */
    artel_variable *variable[WAYS];
    artel_function *function[KINDS];
    kind kind; /* that is traced */
    bool exact;
    bool mirrored; /* on_write: whatever adds is taken */
} parts;

static void write(const parts *p, artel_graph *g, int way, artel_value value)
{
    if (p->kind == SUBTRACT)
        artel_graph_assign_sub(g, p->variable[way], value);
    else if (p->kind == ASSIGN)
        artel_graph_assign(g, p->variable[way], value);
    else
        artel_graph_assign_add(g, p->variable[way], value);
}

/* Each row its own numbers, or, of 1, 2 and 3, all alike. */
static artel_status trace_parts(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    static const float all[WIDTH] = {1, 2, 3};
    const parts *p = user;
    artel_value value = p->exact ? in[0] : artel_graph_unary(g, "tanh", in[0]);
    if (p->kind == ADD_SHARED) value = artel_graph_constant(g, ARTEL_DTYPE_FLOAT32, &(artel_shape){1, {WIDTH}}, all);
    for (int way = p->kind == ADD_SHARED && !p->mirrored; way < WAYS; way++) write(p, g, way, value);
    out[0] = artel_graph_variable(g, p->variable[0]); /* what it was before the run */
    return artel_graph_status(g);
}

static parts begin_as(const conformance_form *f, bool exact, const char *synchronization)
{
    parts p = {.stage = rows_begin(f), .exact = exact, .mirrored = strcmp(synchronization, "on_read") != 0};
    artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
    o.shape = (artel_shape){1, {WIDTH}};
    o.synchronization = synchronization;
    for (int i = 0; i < WAYS; i++) {
        o.name = o.aggregation = ways[i];
        api_ok(p.stage.ctx, artel_variable_create(p.stage.strategy, &o, &p.variable[i]));
    }
    return p;
}

static parts begin(const conformance_form *f, bool exact)
{
    return begin_as(f, exact, "on_read");
}

static void trace_all(parts *p)
{
    for (p->kind = ADD; p->kind < KINDS; p->kind++)
        api_ok(p->stage.ctx, rows_make(&p->stage, trace_parts, 1, false, &p->function[p->kind]));
}

static void read_all(parts *p, float out[WAYS][WIDTH])
{
    for (int i = 0; i < WAYS; i++) api_ok(p->stage.ctx, artel_variable_read(p->variable[i], out[i], WIDTH));
}

static float number_of(int i)
{
    return (float)(i * 37 % 53) / 8 - 3;
}

/* What the parts of so many rows are together. */
static void together(int rows, float out[WAYS][WIDTH])
{
    for (int c = 0; c < WIDTH; c++) {
        float sum = 0;
        for (int r = 0; r < rows; r++) sum += number_of(r * WIDTH + c);
        out[0][c] = sum;
        out[1][c] = sum / (float)rows; /* a power of two: exact */
        out[2][c] = number_of(c);
    }
}

static void follow(const parts *p, kind k, int rows, float wanted[WAYS][WIDTH])
{
    float by[WAYS][WIDTH];
    together(rows, by);
    for (int i = 0; i < WAYS; i++) {
        for (int c = 0; c < WIDTH; c++) {
            float *at = &wanted[i][c];
            if (k == ADD_SHARED)
                *at += i || p->mirrored ? (float)(c + 1) : 0;
            else
                *at = k == ADD ? *at + by[i][c] : k == SUBTRACT ? *at - by[i][c] : by[i][c];
        }
    }
}

/* -- VA2: rows write, and what is read is the aggregate -- */

static void check_exact(const conformance_form *f, const char *synchronization)
{
    static const struct {
        kind kind;
        int rows;
    } step[] = {{ADD, 16}, {ADD, 8}, {ADD_SHARED, 16}, {SUBTRACT, 4}, {ASSIGN, 8}, {SUBTRACT, 16}, {ADD, 1}};
    parts p = begin_as(f, true, synchronization);
    float wanted[WAYS][WIDTH] = {{0}}, got[WAYS][WIDTH], before[WIDTH];
    const float set[WIDTH] = {0.5f, -2, 8};
    trace_all(&p);
    bool here = conformance_start(&p.stage.on);
    for (size_t i = 0; i < sizeof step / sizeof *step && here; i++) {
        rows_run(&p.stage, p.function[step[i].kind], step[i].rows, (float *[]){before}, 1);
        assert_memory_equal(before, wanted[0], sizeof before);
        follow(&p, step[i].kind, step[i].rows, wanted);
        read_all(&p, got);
        assert_memory_equal(got, wanted, sizeof got);
    }
    for (int i = 0; i < WAYS && here;
         i++) { /* what is assigned to it is what is read, whatever the number of replicas */
        api_ok(p.stage.ctx, artel_variable_assign(p.variable[i], set, WIDTH));
        memcpy(wanted[i], set, sizeof set);
    }
    if (here) {
        rows_run(&p.stage, p.function[ADD], 4, (float *[]){before}, 1);
        follow(&p, ADD, 4, wanted);
        read_all(&p, got);
        assert_memory_equal(got, wanted, sizeof got);
    }
    rows_end(&p.stage);
}

/* Numbers that no order of additions leaves alone; false: this task only serves. */
static bool add_up(const conformance_form *f, float out[WAYS][WIDTH])
{
    parts p = begin(f, false);
    float before[WIDTH];
    trace_all(&p);
    bool here = conformance_start(&p.stage.on);
    for (int i = 0; i < ROUNDS && here; i++)
        rows_run(&p.stage, p.function[i == 2 ? SUBTRACT : ADD], BATCH - 5 * i + (i == 3), (float *[]){before}, 1);
    if (here) read_all(&p, out);
    rows_end(&p.stage);
    return here;
}

static void VA2_on_read(void **state)
{
    float first[WAYS][WIDTH], got[WAYS][WIDTH];
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        check_exact(&conformance_forms[f], "on_read");
        if (!add_up(&conformance_forms[f], got)) continue;
        if (conformance_leads(f)) memcpy(first, got, sizeof first);
        assert_memory_equal(first, got, sizeof first);
    }
}

/* -- VA1: added to a mirrored variable: rows as its aggregation says, what all have alike as it is -- */

static void VA1_assign_add(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) check_exact(&conformance_forms[f], "on_write");
}

/* -- VA2 over parameter servers: parts of closures that run at once all count -- */

static void VA2_closures_at_once(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        if (!conformance_has_servers(&conformance_forms[f])) continue;
        parts p = begin(&conformance_forms[f], true);
        float got[WAYS][WIDTH], by[WAYS][WIDTH];
        trace_all(&p);
        for (int i = 0; i < BATCH * WIDTH; i++) rows_of[i] = number_of(i);
        const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {BATCH, WIDTH}}, rows_of};
        if (conformance_start(&p.stage.on)) {
            for (int i = 0; i < 24; i++)
                api_ok(p.stage.ctx,
                       artel_coordinator_schedule(p.stage.on.coordinator, p.function[ADD], &in, 1, NULL, NULL));
            api_ok(p.stage.ctx, artel_coordinator_join(p.stage.on.coordinator));
            read_all(&p, got);
            together(BATCH, by);
            for (int c = 0; c < WIDTH; c++) assert_true(got[0][c] == 24 * by[0][c]);
        }
        rows_end(&p.stage);
    }
}

/* -- VA3: saved as the aggregate, and the same total for whoever restores it -- */

/* Runs behind what is restored from the folder; then, where this task writes, what there is is saved. */
static bool go_on(const conformance_form *f, const char *folder, int runs, float out[WAYS][WIDTH])
{
    parts p = begin(f, false);
    float before[WIDTH];
    int64_t step = -2;
    trace_all(&p);
    bool has_servers = conformance_has_servers(f);
    if (!has_servers) api_ok(p.stage.ctx, artel_strategy_restore(p.stage.strategy, folder, &step));
    if (!conformance_start(&p.stage.on)) {
        rows_end(&p.stage);
        return false;
    }
    if (has_servers) api_ok(p.stage.ctx, artel_strategy_restore(p.stage.strategy, folder, &step));
    for (int i = 0; i < runs; i++) rows_run(&p.stage, p.function[ADD], BATCH - 5 * (i % 2), (float *[]){before}, 1);
    if (p.stage.on.coordinator) api_ok(p.stage.ctx, artel_coordinator_join(p.stage.on.coordinator));
    read_all(&p, out);
    if (artel_strategy_writes(p.stage.strategy))
        api_ok(p.stage.ctx, artel_strategy_save(p.stage.strategy, folder, step + runs + 1, 1));
    rows_end(&p.stage);
    return true;
}

/* Of tasks each has what it restores in a folder of its own, saved by itself alone: all have the same. */
static void VA3_restore(void **state)
{
    float all[WAYS][WIDTH], half[WAYS][WIDTH], rest[WAYS][WIDTH], back[WAYS][WIDTH];
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        const conformance_form *form = &conformance_forms[f], *alone = &conformance_forms[0];
        char whole[64], folder[64];
        if (form->device && !conformance_leads(f)) alone = &conformance_forms[f - 1];
        if (form->device && conformance_leads(f)) alone = form;
        api_folder_make(whole);
        api_folder_make(folder);
        assert_true(go_on(alone, whole, 4, all));
        assert_true(go_on(alone, folder, 2, half));
        if (go_on(form, folder, 2, rest)) assert_memory_equal(rest, all, sizeof all);
        if (!form->together) { /* what it has saved is what the other reads */
            assert_true(go_on(alone, folder, 0, back));
            assert_memory_equal(back, all, sizeof all);
        }
        api_folder_remove(folder);
        api_folder_remove(whole);
    }
}

/* -- VA4: what cannot be is refused by the variable's name -- */

static artel_status trace_shared_part(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const parts *p = user;
    out[0] = in[0];
    write(p, g, 0, artel_graph_reduce(g, ARTEL_REDUCTION_SUM, in[0]));
    return artel_graph_status(g);
}

static artel_status trace_other_shape(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const parts *p = user;
    out[0] = in[0];
    write(p, g, 1, artel_graph_op(g, "sum", in, 1, "{\"axis\": 1}"));
    return artel_graph_status(g);
}

static artel_status trace_scattered(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    parts *p = user;
    artel_value sum = artel_graph_op(g, "sum", in, 1, "{\"axis\": 1}"),
                place = artel_graph_op(g, "zeros_like", &sum, 1, "{\"dtype\": \"int32\"}");
    out[0] = in[0];
    (p->kind == ADD ? artel_graph_scatter_add : artel_graph_scatter_sub)(g, p->variable[1], place, sum);
    return artel_graph_status(g);
}

static void refuse_parts(parts *p)
{
    artel_function *f;
    artel_optimizer *optimizer;
    for (p->kind = ADD; p->kind <= SUBTRACT; p->kind++) {
        api_refused(p->stage.ctx, rows_make(&p->stage, trace_shared_part, 1, false, &f), ARTEL_ERROR_INVALID,
                    "on_read");
        assert_string_equal(artel_context_error(p->stage.ctx)->where, "sum");
        api_refused(p->stage.ctx, rows_make(&p->stage, trace_scattered, 1, false, &f), ARTEL_ERROR_INVALID, "on_read");
        assert_string_equal(artel_context_error(p->stage.ctx)->where, "mean");
        api_refused(p->stage.ctx, rows_make(&p->stage, trace_other_shape, 1, false, &f), ARTEL_ERROR_INVALID, "mean");
    }
    api_refused(p->stage.ctx, artel_optimizer_create(p->stage.strategy, "sgd", &p->variable[2], 1, &optimizer),
                ARTEL_ERROR_INVALID, "only_first_replica");
}

static void VA4_synchronization(void **state)
{
    static const struct {
        const char *synchronization, *aggregation, *word; /* NULL: it is taken */
        artel_dtype dtype;
    } given[] = {{"none", "sum", "'none'", ARTEL_DTYPE_FLOAT32},
                 {"ON_READ", "sum", "'ON_READ'", ARTEL_DTYPE_FLOAT32},
                 {"on_read", NULL, "without an aggregation", ARTEL_DTYPE_FLOAT32},
                 {"on_read", "none", "without an aggregation", ARTEL_DTYPE_FLOAT32},
                 {"on_read", "product", "'product'", ARTEL_DTYPE_FLOAT32},
                 {"on_read", "sum", "strings", ARTEL_DTYPE_STRING},
                 {"auto", NULL, NULL, ARTEL_DTYPE_FLOAT32},
                 {"auto", "sum", NULL, ARTEL_DTYPE_FLOAT32},
                 {"on_write", "none", NULL, ARTEL_DTYPE_FLOAT32},
                 {"on_write", "mean", NULL, ARTEL_DTYPE_FLOAT32}};
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        parts p = begin(&conformance_forms[f], true);
        for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
            char name[16];
            artel_variable *made = NULL;
            artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
            snprintf(name, sizeof name, "v%zu", i);
            o.name = name;
            o.synchronization = given[i].synchronization;
            o.aggregation = given[i].aggregation;
            o.dtype = given[i].dtype;
            artel_status status = artel_variable_create(p.stage.strategy, &o, &made);
            if (!given[i].word) {
                api_ok(p.stage.ctx, status);
                continue;
            }
            api_refused(p.stage.ctx, status, ARTEL_ERROR_INVALID, given[i].word);
            assert_string_equal(artel_context_error(p.stage.ctx)->where, name);
            assert_null(made);
        }
        refuse_parts(&p);
        rows_end(&p.stage);
    }
}

int main(int argc, char **argv)
{
    conformance_open(argc, argv);
    const struct CMUnitTest rows[] = {cmocka_unit_test(VA1_assign_add), cmocka_unit_test(VA2_on_read),
                                      cmocka_unit_test(VA2_closures_at_once), cmocka_unit_test(VA3_restore),
                                      cmocka_unit_test(VA4_synchronization)};
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
