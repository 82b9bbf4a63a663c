/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* long form: 900 */
/* A task whose memory ends, at any of its allocations, from the making of its strategy to the end of its loops: both
 * ends return, with a status and a cause. The other one goes on alone to the same bits or, where the loop had not
 * begun, ends with the name of the task and what it lacked. Two tasks, each a thread with a context of its own;
 * waiting would take ten minutes, which the time of the test does not give. A sample of the allocations; all with
 * ARTEL_LONG=1. Losses of memory are for sanitizers to see. */
#include "api/help_api.h"

#include <pthread.h>
#include <unistd.h>

#include "artel/cluster.h"
#include "artel/control.h"
#include "base/context.h"
#include "support/ports.h"

enum {
    TASKS = 2,
    ROWS = 8,
    WIDTH = 5,
    UNITS = 3,
    MOST_ALLOCATIONS = 5000
};

/* Where the allocations that fail begin. */
typedef enum moment {
    BEFORE_THE_FIRST_LOOP, /* of one */
    BEFORE_THE_SECOND      /* of two */
} moment;

typedef struct scene {
    char file[64];
    int held[TASKS]; /* sockets on the tasks' ports */
    moment place;
    int victim;
    uint64_t n;
    double patience; /* 0: that of the defaults, and all tasks come */
} scene;

typedef struct task {
    const scene *scene;
    int index;
    artel_status status;
    artel_error error;
    uint64_t before; /* allocations until then */
    bool spared;     /* fewer were made than the one that was to fail */
    float value;
    /* Its program. */
    artel_context *ctx;
    artel_cluster *cluster;
    artel_strategy *strategy;
    artel_variable *total;
    artel_function *step;
} task;

/* total += the sum of tanh(x), with its gradient; what comes back has rows of both tasks. */
static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const task *t = user;
    artel_value old = artel_graph_variable(g, t->total), y = artel_graph_unary(g, "tanh", in[0]);
    artel_value rows = artel_graph_op(g, "sum", &y, 1, "{\"axis\": 1}"),
                sum = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, rows);
    artel_graph_assign(g, t->total, artel_graph_binary(g, "add", old, sum));
    out[0] = y;
    return artel_graph_gradients(g, sum, in, 1, &out[1]);
}

static artel_status unit(void *user, int64_t number)
{
    const task *t = user;
    float x[ROWS * WIDTH], y[ROWS * WIDTH], gradient[ROWS * WIDTH];
    for (int i = 0; i < ROWS * WIDTH; i++) x[i] = (float)((i * 7 + (int)number) % 11) / 8 - 0.5f;
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {ROWS, WIDTH}}, x};
    const artel_array out[2] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = y},
                                {.dtype = ARTEL_DTYPE_FLOAT32, .data = gradient}};
    return artel_function_run(t->step, &in, 1, out, 2);
}

static artel_status declare(task *t)
{
    const artel_argument x = {.name = "x", .shape = {1, {WIDTH}}};
    artel_strategy_options strategy = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options variable = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_function_options function = ARTEL_FUNCTION_OPTIONS_INIT;
    strategy.strategy = "multi-worker";
    strategy.threads = 1;
    strategy.batch_size = ROWS;
    strategy.cluster = t->cluster;
    variable.name = "total";
    function.arguments = &x;
    function.argument_count = 1;
    function.output_count = 2;
    artel_status status = artel_strategy_create(t->ctx, &strategy, &t->strategy);
    if (status == ARTEL_OK) status = artel_variable_create(t->strategy, &variable, &t->total);
    return status == ARTEL_OK ? artel_function_create(t->strategy, &function, trace, t, &t->step) : status;
}

static void arm(task *t, moment place)
{
    if (t->index != t->scene->victim || place != t->scene->place) return;
    t->before = artel__heap_calls(t->ctx);
    artel__fail_allocation_after(t->ctx, t->scene->n);
}

static artel_status program(task *t)
{
    artel_status status;
    arm(t, BEFORE_THE_FIRST_LOOP);
    status = declare(t);
    if (status == ARTEL_OK) status = artel_strategy_loop(t->strategy, UNITS, unit, t);
    if (status == ARTEL_OK && t->scene->place == BEFORE_THE_SECOND) {
        arm(t, BEFORE_THE_SECOND);
        status = artel_strategy_loop(t->strategy, 2 * UNITS, unit, t);
    }
    return status == ARTEL_OK ? artel_variable_read(t->total, &t->value, 1) : status;
}

static artel_status join(task *t)
{
    char name[16];
    artel_cluster_options options = ARTEL_CLUSTER_OPTIONS_INIT;
    snprintf(name, sizeof name, "worker:%d", t->index);
    options.resolver = "file";
    options.file = t->scene->file;
    options.task = name;
    if (t->scene->patience > 0) options.wait_for_cluster = t->scene->patience;
    return artel_cluster_open(t->ctx, &options, &t->cluster);
}

static void *live(void *user)
{
    task *t = user;
    if (t->scene->patience > 0 && t->index == t->scene->victim) return NULL; /* a program that ends at once */
    t->status = artel_context_create(NULL, &t->ctx);
    if (t->status == ARTEL_OK) t->status = join(t);
    if (t->status == ARTEL_OK) t->status = program(t);
    if (t->ctx) t->error = *artel_context_error(t->ctx);
    t->spared = t->ctx && artel__heap_calls(t->ctx) - t->before < t->scene->n;
    if (t->ctx) artel__fail_allocation_after(t->ctx, 0);
    if (t->cluster) t->status = artel_cluster_finish(t->cluster, t->status);
    artel_strategy_destroy(t->strategy);
    artel_cluster_close(t->cluster);
    artel_context_destroy(t->ctx);
    return NULL;
}

static void open_scene(scene *s)
{
    snprintf(s->file, sizeof s->file, "/tmp/artel-failing-XXXXXX");
    int fd = mkstemp(s->file);
    assert_true(fd >= 0);
    for (int i = 0; i < TASKS; i++) dprintf(fd, "worker 127.0.0.1:%d\n", support_port_hold(&s->held[i]));
    close(fd);
}

static void close_scene(scene *s)
{
    for (int i = 0; i < TASKS; i++) close(s->held[i]);
    unlink(s->file);
}

static void play(scene *s, task tasks[TASKS])
{
    pthread_t thread[TASKS];
    for (int i = 0; i < TASKS; i++) {
        tasks[i] = (task){.scene = s, .index = i};
        assert_int_equal(pthread_create(&thread[i], NULL, live, &tasks[i]), 0);
    }
    for (int i = 0; i < TASKS; i++) pthread_join(thread[i], NULL);
}

static void tell(const task *t)
{
    print_error("allocation %d of task %d, place %d: task %d: %s: %s: %s\n", (int)t->scene->n, t->scene->victim,
                (int)t->scene->place, t->index, artel_status_name(t->status), t->error.where, t->error.what);
}

/* The victim fails for memory or not at all, for much of what connects tries again; the other one knows why. */
static bool judge(const task *victim, const task *other, float expected)
{
    char name[16];
    snprintf(name, sizeof name, "worker %d", victim->index);
    bool failed = victim->status == ARTEL_ERROR_NO_MEMORY && strstr(victim->error.what, "memory");
    bool well = victim->status == ARTEL_OK && victim->value == expected;
    bool alone = other->status == ARTEL_OK && other->value == expected;
    bool told = other->status < 0 && strstr(other->error.where, name) && strstr(other->error.what, "memory");
    return well ? alone : failed && (alone || told);
}

static void try_all(moment place, int victim, uint64_t stride)
{
    task tasks[TASKS];
    scene s = {.place = place, .victim = victim};
    open_scene(&s);
    play(&s, tasks); /* nothing fails */
    float expected = tasks[0].value;
    for (int i = 0; i < TASKS; i++) {
        if (tasks[i].status < 0) tell(&tasks[i]);
        assert_true(tasks[i].status == ARTEL_OK && tasks[i].value == expected);
    }
    s.n = 1 + (uint64_t)victim * stride / 2;
    for (bool spared = false; !spared; s.n += stride) {
        assert_true(s.n < MOST_ALLOCATIONS);
        play(&s, tasks);
        if (!judge(&tasks[victim], &tasks[1 - victim], expected)) {
            tell(&tasks[victim]);
            tell(&tasks[1 - victim]);
            fail_msg("a task whose memory ends");
        }
        spared = tasks[victim].spared;
    }
    assert_true(s.n > 2 * stride);
    close_scene(&s);
}

static uint64_t stride_of(uint64_t sampled)
{
    return getenv("ARTEL_LONG") ? 1 : sampled;
}

static void one_loop(void **state)
{
    (void)state;
    for (int victim = 0; victim < TASKS; victim++) try_all(BEFORE_THE_FIRST_LOOP, victim, stride_of(37));
}

static void the_second_of_two(void **state)
{
    (void)state;
    for (int victim = 0; victim < TASKS; victim++) try_all(BEFORE_THE_SECOND, victim, stride_of(11));
}

/* Nobody starts it again: the other one waits as long as its option says, names it, and ends. */
static void never_opened(void **state)
{
    (void)state;
    for (int victim = 0; victim < TASKS; victim++) {
        task tasks[TASKS];
        char name[16];
        scene s = {.victim = victim, .patience = 0.4};
        open_scene(&s);
        play(&s, tasks);
        const task *other = &tasks[1 - victim];
        snprintf(name, sizeof name, "worker %d", victim);
        if (other->status != ARTEL_ERROR_RUN || !strstr(other->error.what, "missing: ") ||
            !strstr(other->error.what, name) || !strstr(other->error.what, "wait_for_cluster")) {
            tell(other);
            fail_msg("a task that never comes");
        }
        close_scene(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(never_opened), cmocka_unit_test(one_loop),
                                       cmocka_unit_test(the_second_of_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
