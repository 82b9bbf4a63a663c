/* SPDX-License-Identifier: Apache-2.0 */
/* The stage "function" on several threads: a file is loaded once; a further time when a thread finds all that are
 * loaded computing, as far as there is memory for data, and never when the file has been written anew meanwhile. What
 * is asked for together of an element takes one run and one reading of what is below.
 */
#include <pthread.h>

#include "artel/extend.h"
#include "artel/saved.h"
#include "base/budget.h"
#include "base/file.h"
#include "base/threads.h"
#include "data/help_data.h"
#include "data/record_write.h"
#include "data/stage.h"

enum {
    ROWS = 24,
    WIDTH = 4
};

/* Whoever computes waits until `wanted` have begun to. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int inside, wanted;
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static void set_gate(int wanted)
{
    pthread_mutex_lock(&gate.mutex);
    gate.inside = 0;
    gate.wanted = wanted;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

static void wait_until_inside(int count)
{
    pthread_mutex_lock(&gate.mutex);
    while (gate.inside < count) pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
}

static artel_status infer_meet(void *user, const artel_shape *inputs, int count, artel_shape *output)
{
    (void)user, (void)count;
    *output = inputs[0];
    return ARTEL_OK;
}

static void compute_meet(void *user, int64_t rows, int64_t row, const float *const *inputs, float *output)
{
    (void)user;
    pthread_mutex_lock(&gate.mutex);
    gate.inside++;
    pthread_cond_broadcast(&gate.changed);
    while (gate.inside < gate.wanted) pthread_cond_wait(&gate.changed, &gate.mutex);
    pthread_mutex_unlock(&gate.mutex);
    for (int64_t i = 0; i < rows * row; i++) output[i] = inputs[0][i];
}

static const artel_operation meet = {
    .struct_size = sizeof meet, .name = "meet", .infer = infer_meet, .compute = compute_meet};

static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_value met = artel_graph_custom(g, &meet, in, 1);
    out[0] = artel_graph_binary(g, "multiply", met, artel_graph_number(g, *(const float *)user));
    return artel_graph_status(g);
}

static artel_status trace_two(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    out[1] = artel_graph_binary(g, "add", in[0], artel_graph_number(g, 1));
    return trace(user, g, in, out);
}

/* What multiplies by `factor`, and, with `adds`, adds 1. */
static const char *write_one(bench *b, float factor, bool adds)
{
    artel_strategy *s;
    artel_function *f;
    artel_strategy_options options = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument x = {.name = "x", .dtype = ARTEL_DTYPE_FLOAT32, .shape = {1, {WIDTH}}};
    o.name = "times";
    o.arguments = &x;
    o.argument_count = 1;
    o.output_count = adds ? 2 : 1;
    assert_int_equal(artel_strategy_create(b->ctx, &options, &s), ARTEL_OK);
    assert_int_equal(artel_function_create(s, &o, adds ? trace_two : trace, &factor, &f), ARTEL_OK);
    assert_int_equal(artel_functions_save(s, NULL, 0, bench_path(b, "f.artel")), ARTEL_OK);
    artel_strategy_destroy(s);
    return bench_path(b, "f.artel");
}

static const char *write_function(bench *b, float factor)
{
    return write_one(b, factor, false);
}

typedef struct built {
    artel__arena arena;
    artel__stage *top;
} built;

static const char *write_rows(bench *b, const char *name, int times)
{
    uint8_t file[4096];
    float values[ROWS][WIDTH];
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < WIDTH; k++) values[i][k] = (float)(times * (i * WIDTH + k));
    size_t size = make_npy(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (24, 4), }", values, sizeof values);
    return bench_write(b, name, file, size);
}

static void build_text(bench *b, const char *text, built *out)
{
    json_t *value;
    artel__sha256 hash;
    const char *path = bench_text(b, "p.json", text);
    artel__arena_init(&out->arena, b->ctx);
    assert_int_equal(artel__json_load_file(b->ctx, path, &value), ARTEL_OK);
    artel__sha256_init(&hash);
    assert_int_equal(artel__pipeline_build(b->ctx, &out->arena, path, value, &hash, &out->top), ARTEL_OK);
    json_decref(value);
}

static void build(bench *b, built *out)
{
    char text[2048];
    assert_int_equal(artel_context_add_operation(b->ctx, &meet), ARTEL_OK);
    snprintf(text, sizeof text, "{\"from\": \"npy:%s\", \"stages\": [{\"stage\": \"function\", \"file\": \"%s\"}]}",
             write_rows(b, "x.npy", 1), write_function(b, 3));
    build_text(b, text, out);
}

static void drop(built *p)
{
    artel__stage_close(p->top);
    artel__arena_fini(&p->arena);
}

static bool is_right(const artel__stage *top, int64_t i)
{
    float found[WIDTH];
    if (artel__stage_at(top, 0, i, found) != ARTEL_OK) return false;
    for (int k = 0; k < WIDTH; k++)
        if (found[k] != 3 * (float)(i * WIDTH + k)) return false;
    return true;
}

/* NULL, or the stage: something was wrong. */
static void *read_first(void *top)
{
    return is_right(top, 0) ? NULL : top;
}

static void *read_all(void *top)
{
    for (int64_t i = 0; i < ROWS; i++)
        if (!is_right(top, i)) return top;
    return NULL;
}

static void one_thread_needs_one(void **state)
{
    bench *b = *state;
    built p;
    set_gate(0);
    build(b, &p);
    assert_null(read_all(p.top));
    assert_int_equal(artel__budget_used(b->ctx), 0);
    drop(&p);
}

static void two_that_compute_need_two(void **state)
{
    bench *b = *state;
    built p;
    pthread_t other;
    void *wrong;
    if (artel__usable_cores() < 2) skip();
    set_gate(2);
    build(b, &p);
    assert_int_equal(pthread_create(&other, NULL, read_first, p.top), 0);
    assert_true(is_right(p.top, 1));
    pthread_join(other, &wrong);
    assert_null(wrong);
    uint64_t one = artel__budget_used(b->ctx);
    assert_true(one >= sizeof(float) * WIDTH);
    set_gate(0);
    assert_null(read_all(p.top));
    assert_int_equal(artel__budget_used(b->ctx), one);
    drop(&p);
    assert_int_equal(artel__budget_used(b->ctx), 0);
}

/* The second thread waits for the first one, which computes. */
static void waits_beside_one_that_computes(bench *b, built *p)
{
    pthread_t first, second;
    void *wrong[2];
    assert_int_equal(pthread_create(&first, NULL, read_first, p->top), 0);
    wait_until_inside(1);
    assert_int_equal(pthread_create(&second, NULL, read_all, p->top), 0);
    set_gate(0);
    pthread_join(first, &wrong[0]);
    pthread_join(second, &wrong[1]);
    assert_true(!wrong[0] && !wrong[1]);
    assert_int_equal(artel__budget_used(b->ctx), 0);
}

static void without_memory_it_stays_at_one(void **state)
{
    bench *b = *state;
    built p;
    artel__budget_set(b->ctx, 1);
    set_gate(2);
    build(b, &p);
    waits_beside_one_that_computes(b, &p);
    drop(&p);
}

static void another_file_is_not_loaded(void **state)
{
    bench *b = *state;
    built p;
    set_gate(2);
    build(b, &p);
    write_function(b, 5);
    waits_beside_one_that_computes(b, &p);
    drop(&p);
}

/* Whether a further one was loaded though the n-th allocation failed. Where not, that is the element's error, and the
 * next one is made. */
static bool loads_without(uint64_t n)
{
    pthread_t first;
    void *wrong, *at;
    float row[WIDTH];
    built p;
    bench_setup(&at);
    bench *b = at;
    set_gate(2);
    build(b, &p);
    assert_int_equal(pthread_create(&first, NULL, read_first, p.top), 0);
    wait_until_inside(1);
    artel__fail_allocation_after(b->ctx, n);
    artel_status status = artel__stage_at(p.top, 0, 1, row);
    artel__fail_allocation_after(b->ctx, 0);
    set_gate(0);
    pthread_join(first, &wrong);
    assert_null(wrong);
    assert_true(status == ARTEL_OK || status == ARTEL_ERROR_NO_MEMORY);
    assert_int_equal(artel__budget_used(b->ctx) > 0, status == ARTEL_OK);
    assert_true(is_right(p.top, 1));
    drop(&p);
    assert_int_equal(artel__budget_used(b->ctx), 0);
    bench_teardown(&at);
    return status == ARTEL_OK;
}

static void memory_that_runs_out(void **state)
{
    (void)state;
    uint64_t n = 1;
    if (artel__usable_cores() < 2) skip();
    while (!loads_without(n)) n++;
    assert_true(n > 10); /* each of them has failed once */
}

/* ---- several columns ---- */

/* A stage that is put below another one, and counts what it is asked. While it is asked, `above` is asked for another
 * element, as another thread may. */
static struct {
    artel__stage *above;
    int64_t other;
    int readings, columns, interrupted;
} below;

static artel_status counted_at_some(const artel__stage *stage, const artel__stage_want *wants, int count, int64_t index)
{
    float x[WIDTH];
    if (index != below.other) {
        below.readings++;
        below.columns += count;
        below.interrupted += artel__stage_at(below.above, 0, below.other, x) == ARTEL_OK;
    }
    return artel__stage_at_some(stage->inputs[0], wants, count, index);
}

static const artel__stage_ops counting = {
    .name = "counting", .at = artel__stage_at_one, .at_some = counted_at_some, .same_number = true};

/* Columns x and y, of which x is the argument and what is made goes to the names of `to`, on top of what counts. */
static void build_counted(bench *b, const char *to, built *out, artel__stage *counter, artel__stage **input)
{
    char text[2048];
    const char *x = write_rows(b, "x.npy", 1), *y = write_rows(b, "y.npy", 10);
    assert_int_equal(artel_context_add_operation(b->ctx, &meet), ARTEL_OK);
    snprintf(text, sizeof text,
             "{\"from\": \"npy:%s,%s\", \"stages\": [{\"stage\": \"function\", \"file\": \"%s\", "
             "\"to\": [%s]}]}",
             x, y, write_one(b, 3, true), to);
    build_text(b, text, out);
    *input = out->top->inputs[0];
    *counter = **input;
    counter->ops = &counting;
    counter->inputs = input;
    counter->input_count = 1;
    out->top->inputs[0] = counter;
    below.above = out->top;
    below.other = 7;
    below.readings = below.columns = below.interrupted = 0;
}

static void one_run_for_all_columns(void **state)
{
    bench *b = *state;
    built p;
    artel__stage counter, *input;
    float x[WIDTH], y[WIDTH], z[WIDTH];
    const artel__stage_want wants[] = {{0, x}, {1, y}, {2, z}};
    artel__budget_set(b->ctx, 1); /* one is loaded for all */
    set_gate(0);
    build_counted(b, "\"x\", \"z\"", &p, &counter, &input);
    assert_int_equal(artel__stage_at_some(p.top, wants, 3, 2), ARTEL_OK);
    for (int k = 0; k < WIDTH; k++) {
        float was = (float)(2 * WIDTH + k);
        assert_true(x[k] == 3 * was && y[k] == 10 * was && z[k] == was + 1);
    }
    assert_int_equal(below.readings, 1);
    assert_int_equal(below.columns, 2);
    assert_int_equal(below.interrupted, 1);
    assert_int_equal(gate.inside, 2); /* its own run, and that of the other element */
    p.top->inputs[0] = input;
    drop(&p);
}

/* Two new columns beside the one they are made of. */
static void an_argument_that_passes_by_is_read_once(void **state)
{
    bench *b = *state;
    built p;
    artel__stage counter, *input;
    float x[WIDTH], y[WIDTH], u[WIDTH], z[WIDTH];
    const artel__stage_want wants[] = {{3, z}, {0, x}, {2, u}, {1, y}};
    set_gate(0);
    build_counted(b, "\"u\", \"z\"", &p, &counter, &input);
    assert_int_equal(artel__stage_at_some(p.top, wants, 4, 5), ARTEL_OK);
    for (int k = 0; k < WIDTH; k++) {
        float was = (float)(5 * WIDTH + k);
        assert_true(x[k] == was && y[k] == 10 * was && u[k] == 3 * was && z[k] == was + 1);
    }
    assert_int_equal(below.readings, 1);
    assert_int_equal(below.columns, 2);
    assert_int_equal(gate.inside, 1);
    p.top->inputs[0] = input;
    drop(&p);
}

/* ---- what identifies it ---- */

/* A stage is identified by what its file holds; one that has none leaves no trace of that. */
static void a_file_is_identified_by_its_content(void **state)
{
    bench *b = *state;
    built p;
    artel__mapping file;
    artel__sha256 hash;
    uint8_t content[32];
    const uint8_t none[32] = {0};
    set_gate(0);
    build(b, &p);
    assert_int_equal(artel__map_file(b->ctx, bench_path(b, "f.artel"), &file), ARTEL_OK);
    artel__sha256_init(&hash);
    artel__sha256_update(&hash, file.bytes, file.size);
    artel__sha256_final(&hash, content);
    artel__unmap_file(&file);
    assert_true(p.top->identified);
    assert_memory_equal(p.top->identity, content, sizeof content);
    assert_false(p.top->inputs[0]->identified);
    assert_memory_equal(p.top->inputs[0]->identity, none, sizeof none);
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_thread_needs_one, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(two_that_compute_need_two, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(without_memory_it_stays_at_one, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(another_file_is_not_loaded, bench_setup, bench_teardown),
        cmocka_unit_test(memory_that_runs_out),
        cmocka_unit_test_setup_teardown(one_run_for_all_columns, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(an_argument_that_passes_by_is_read_once, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(a_file_is_identified_by_its_content, bench_setup, bench_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
