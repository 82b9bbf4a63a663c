/* SPDX-License-Identifier: Apache-2.0 */
/* The stage "function" on several threads: a file is loaded once; a further time when a thread finds all that are
 * loaded computing, as far as there is memory for data, and never when the file has been written anew meanwhile.
 */
#include <pthread.h>

#include "artel/extend.h"
#include "artel/saved.h"
#include "base/budget.h"
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

/* What multiplies by `factor`. */
static const char *write_function(bench *b, float factor)
{
    artel_strategy *s;
    artel_function *f;
    artel_strategy_options options = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
    const artel_argument x = {.name = "x", .dtype = ARTEL_DTYPE_FLOAT32, .shape = {1, {WIDTH}}};
    o.name = "times";
    o.arguments = &x;
    o.argument_count = o.output_count = 1;
    assert_int_equal(artel_strategy_create(b->ctx, &options, &s), ARTEL_OK);
    assert_int_equal(artel_function_create(s, &o, trace, &factor, &f), ARTEL_OK);
    assert_int_equal(artel_functions_save(s, NULL, 0, bench_path(b, "f.artel")), ARTEL_OK);
    artel_strategy_destroy(s);
    return bench_path(b, "f.artel");
}

typedef struct built {
    artel__arena arena;
    artel__stage *top;
} built;

static void build(bench *b, built *out)
{
    uint8_t file[4096];
    char text[2048];
    float values[ROWS][WIDTH];
    json_t *value;
    artel__sha256 hash;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < WIDTH; k++) values[i][k] = (float)(i * WIDTH + k);
    size_t size = make_npy(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (24, 4), }", values, sizeof values);
    const char *rows = bench_write(b, "x.npy", file, size);
    assert_int_equal(artel_context_add_operation(b->ctx, &meet), ARTEL_OK);
    snprintf(text, sizeof text, "{\"from\": \"npy:%s\", \"stages\": [{\"stage\": \"function\", \"file\": \"%s\"}]}",
             rows, write_function(b, 3));
    const char *path = bench_text(b, "p.json", text);
    artel__arena_init(&out->arena, b->ctx);
    assert_int_equal(artel__json_load_file(b->ctx, path, &value), ARTEL_OK);
    artel__sha256_init(&hash);
    assert_int_equal(artel__pipeline_build(b->ctx, &out->arena, path, value, &hash, &out->top), ARTEL_OK);
    json_decref(value);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_thread_needs_one, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(two_that_compute_need_two, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(without_memory_it_stays_at_one, bench_setup, bench_teardown),
        cmocka_unit_test_setup_teardown(another_file_is_not_loaded, bench_setup, bench_teardown),
        cmocka_unit_test(memory_that_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
