/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 240 */
/* Loops by hand whose tasks come and go (FT7, FT8, FT12, FT13): one leaves and comes back while the others work, one
 * comes for the first time, one leaves for good, one is asked to and all save and end; who goes on later, with another
 * number of tasks, has the bits of a loop that was never interrupted. Each task is a thread with a context of its own.
 * One unit is not done before the change has come, so nothing depends on who is fast. */
#include "api/help_api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "artel/cluster.h"
#include "artel/values.h"
#include "support/ports.h"

enum {
    MOST_TASKS = 3,
    ROWS = 8,
    WIDTH = 5,
    UNITS = 100,
    ASKED_AT = 4,        /* the unit in which a task is asked to end */
    WAITS_AT = 20,       /* the unit that waits for what follows from that */
    WAIT_SECONDS = 60,   /* only where it does not come */
    PAUSE = 5 * 1000000, /* ns between two looks */
    TALL = 3,            /* runs of a unit: what it has written is taken back when it is interrupted */
    RUNS = UNITS * TALL, /* that write, which is what random numbers are of */
    STORY = 60           /* bytes */
};

typedef struct scene {
    char file[80], other[80], folder[64];
    int held[MOST_TASKS]; /* sockets on the tasks' ports */
    int tasks;            /* 0: one that has no cluster */
    int asked;            /* the task that is asked to end; -1: none */
    bool returns;         /* it comes back */
    bool late;            /* the last task comes for the first time when the others are at work */
    bool unknown;         /* it is not in the others' cluster */
    bool save;            /* who is asked makes all save and end */
    atomic_bool at_work;  /* those who began have */
    atomic_bool here;     /* who has come, or come back, has worked */
    atomic_bool gone;     /* who was asked has ended, and does not come back */
} scene;

typedef struct task {
    scene *scene;
    int index;
    int life;
    artel_status status;
    artel_error error;
    int64_t units, runs;
    bool writes;
    float value, parts_read, lengths_read;
    char story_read[STORY + 1];
    /* Its program. */
    artel_context *ctx;
    artel_cluster *cluster;
    artel_strategy *strategy;
    artel_variable *total, *parts; /* the second is on_read: each row adds its own (VA2) */
    artel_variable *lengths;       /* of all that was told */
    artel_variable *story;         /* text: the last of what the runs have told */
    artel_values *scales;          /* of three parts of a batch, whoever has them (ST8) */
    artel_function *step, *look;
} task;

/* With random numbers of the run: who comes back and counts its runs from 0 has other bits. */
static artel_status trace(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    const task *t = user;
    artel_value noise = artel_graph_uniform(g, in[0], &(artel_shape){1, {WIDTH}}, -0.5, 0.5, false);
    artel_value old = artel_graph_variable(g, t->total),
                y = artel_graph_unary(g, "tanh", artel_graph_binary(g, "add", in[0], noise));
    y = artel_graph_binary(g, "multiply", y, in[1]);
    artel_value rows = artel_graph_op(g, "sum", &y, 1, "{\"axis\": 1}"),
                sum = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, rows);
    artel_graph_assign_add(g, t->parts, rows);
    out[0] = artel_graph_binary(g, "add", artel_graph_binary(g, "multiply", old, artel_graph_number(g, 0.97)), sum);
    artel_graph_assign(g, t->total, out[0]);
    artel_value told[2] = {artel_graph_variable(g, t->story),
                           artel_graph_op(g, "string_as_string", out, 1, "{\"precision\": 3}")};
    artel_value length = artel_graph_unary(g, "string_length", told[1]); /* which counts in the graph again */
    length = artel_graph_op(g, "cast", &length, 1, "{\"dtype\": \"float32\"}");
    artel_graph_assign_add(g, t->lengths, length);
    told[0] = artel_graph_op(g, "string_join", told, 2, NULL);
    artel_graph_assign(g, t->story, artel_graph_op(g, "string_substr", told, 1, "{\"pos\": -60, \"len\": 60}"));
    return artel_graph_status(g);
}

/* The last batch of a unit is one in part. */
static artel_status run(const task *t, int64_t number, int part)
{
    float x[ROWS * WIDTH], y;
    int rows = part == TALL - 1 ? 3 : ROWS;
    for (int i = 0; i < rows * WIDTH; i++) x[i] = (float)((i * 7 + (int)number + part) % 11) / 8 - 0.5f;
    artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, x}};
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &y};
    artel_status status = artel_values_rows(t->scales, rows, &in[1]);
    return status < 0 ? status : artel_function_run(t->step, in, 2, &out, 1);
}

/* The sum over the rows of a batch, of which every task has some. */
static artel_status trace_look(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    out[0] = artel_graph_reduce(g, ARTEL_REDUCTION_SUM, in[0]);
    return artel_graph_status(g);
}

/* Whether a task has seen the change: all ask at once and get the same answer. Where tasks come or go, the unit is
 * interrupted in it. */
static artel_status look(const task *t, bool seen, bool *out)
{
    float x[ROWS], y;
    for (int i = 0; i < ROWS; i++) x[i] = seen;
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {1, {ROWS}}, x};
    const artel_array sum = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &y};
    artel_status status = artel_function_run(t->look, &in, 1, &sum, 1);
    *out = status == ARTEL_OK && y > 0;
    return status;
}

static bool is_late(const task *t)
{
    return t->scene->late && t->index == t->scene->tasks - 1;
}

static artel_status wait_for_change(task *t, int64_t number)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    scene *s = t->scene;
    struct timespec begin, now;
    bool seen = false;
    artel_status status = ARTEL_OK;
    if (t->life > 0 || is_late(t)) atomic_store(&s->here, true);
    if ((s->asked < 0 && !s->late) || s->tasks == 0 || number != WAITS_AT) return ARTEL_OK;
    atomic_store(&s->at_work, true);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (status == ARTEL_OK && !seen) {
        status = look(t, atomic_load(&s->here) || atomic_load(&s->gone), &seen);
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - begin.tv_sec > WAIT_SECONDS) return ARTEL_ERROR_INTERNAL;
        if (status == ARTEL_OK && !seen) nanosleep(&pause, NULL);
    }
    return status;
}

static artel_status unit(void *user, int64_t number)
{
    task *t = user;
    artel_status status = wait_for_change(t, number);
    for (int part = 0; part < TALL && status == ARTEL_OK; part++) {
        status = run(t, number, part);
        if (t->index == t->scene->asked && t->life == 0 && number == ASKED_AT && part == 0)
            artel_context_preempt(t->ctx);
    }
    return status;
}

static artel_status make_scale(void *user, const artel_value_context *context, void *elements)
{
    (void)user;
    for (int i = 0; i < WIDTH; i++) ((float *)elements)[i] = 1 + (float)context->id / 8;
    return ARTEL_OK;
}

static artel_status declare(task *t)
{
    const artel_argument x[2] = {{.name = "x", .shape = {1, {WIDTH}}}, {.name = "scale", .shape = {1, {WIDTH}}}},
                         seen = {.name = "seen"};
    artel_values_options values = ARTEL_VALUES_OPTIONS_INIT;
    artel_strategy_options strategy = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options variable = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_function_options function = ARTEL_FUNCTION_OPTIONS_INIT;
    strategy.threads = 1;
    strategy.batch_size = ROWS;
    strategy.cluster = t->cluster;
    variable.name = "total";
    function.arguments = x;
    function.argument_count = 2;
    function.output_count = 1;
    values.shape = (artel_shape){1, {WIDTH}};
    values.count = 3;
    values.make = make_scale;
    artel_status status = artel_strategy_create(t->ctx, &strategy, &t->strategy);
    if (status == ARTEL_OK) status = artel_variable_create(t->strategy, &variable, &t->total);
    variable.name = "parts";
    variable.synchronization = "on_read";
    variable.aggregation = "sum";
    if (status == ARTEL_OK) status = artel_variable_create(t->strategy, &variable, &t->parts);
    const artel_string nothing = {"............................................................", STORY};
    variable = (artel_variable_options)ARTEL_VARIABLE_OPTIONS_INIT;
    variable.name = "lengths";
    if (status == ARTEL_OK) status = artel_variable_create(t->strategy, &variable, &t->lengths);
    variable.name = "story";
    variable.dtype = ARTEL_DTYPE_STRING;
    variable.initial = &nothing;
    if (status == ARTEL_OK) status = artel_variable_create(t->strategy, &variable, &t->story);
    if (status == ARTEL_OK) status = artel_function_create(t->strategy, &function, trace, t, &t->step);
    if (status == ARTEL_OK) status = artel_values_create(t->strategy, &values, &t->scales);
    function.arguments = &seen;
    function.argument_count = 1;
    return status == ARTEL_OK ? artel_function_create(t->strategy, &function, trace_look, t, &t->look) : status;
}

static artel_status program(task *t)
{
    int64_t step;
    artel_status status = declare(t);
    if (status == ARTEL_OK) status = artel_strategy_restore(t->strategy, t->scene->folder, &step);
    if (status == ARTEL_OK) status = artel_strategy_loop(t->strategy, UNITS, unit, t);
    t->error = *artel_context_error(t->ctx);
    t->units = artel_strategy_units(t->strategy);
    t->runs = artel_strategy_runs(t->strategy);
    t->writes = artel_strategy_writes(t->strategy);
    if (t->index == t->scene->asked && !t->scene->returns && status == ARTEL_ERROR_PREEMPTED)
        atomic_store(&t->scene->gone, true);
    bool saves = t->scene->save && t->writes && status == ARTEL_ERROR_PREEMPTED;
    artel_status after = saves ? artel_strategy_save(t->strategy, t->scene->folder, t->units, 1) : ARTEL_OK;
    if (after == ARTEL_OK) after = artel_variable_read(t->total, &t->value, 1);
    if (after == ARTEL_OK) after = artel_variable_read(t->parts, &t->parts_read, 1);
    if (after == ARTEL_OK) after = artel_variable_read(t->lengths, &t->lengths_read, 1);
    artel_string story = {"", 0};
    if (after == ARTEL_OK) after = artel_variable_read_as(t->story, ARTEL_DTYPE_STRING, &story, 1);
    if (after == ARTEL_OK) snprintf(t->story_read, sizeof t->story_read, "%s", story.bytes);
    if (after < 0) t->error = *artel_context_error(t->ctx);
    return after < 0 ? after : status;
}

static artel_status join(task *t)
{
    char name[16];
    artel_cluster_options options = ARTEL_CLUSTER_OPTIONS_INIT;
    if (t->scene->tasks == 0) return ARTEL_OK;
    snprintf(name, sizeof name, "worker:%d", t->index);
    options.resolver = "file";
    options.file = is_late(t) ? t->scene->other : t->scene->file;
    options.task = name;
    options.save_on_preempt = t->scene->save;
    options.suspect_after = 60; /* nobody is lost */
    if (t->scene->late) {
        options.min_workers = t->scene->unknown ? 0 : t->scene->tasks - 1;
        options.wait_for_cluster = 5; /* time enough for these to meet, on any machine */
    }
    return artel_cluster_open(t->ctx, &options, &t->cluster);
}

static void live_once(task *t)
{
    t->ctx = api_context();
    t->status = join(t);
    if (t->status == ARTEL_OK) t->status = program(t);
    if (is_late(t) && t->status < 0) atomic_store(&t->scene->gone, true);
    if (t->cluster) artel_cluster_finish(t->cluster, t->status == ARTEL_ERROR_PREEMPTED ? ARTEL_OK : t->status);
    artel_strategy_destroy(t->strategy);
    artel_cluster_close(t->cluster);
    artel_context_destroy(t->ctx);
}

static void *live(void *user)
{
    const struct timespec pause = {.tv_nsec = PAUSE};
    task *t = user;
    for (int i = 0; is_late(t) && !atomic_load(&t->scene->at_work) && i < WAIT_SECONDS * (1000000000 / PAUSE); i++)
        nanosleep(&pause, NULL);
    live_once(t);
    if (t->index != t->scene->asked || !t->scene->returns || t->status != ARTEL_ERROR_PREEMPTED) return NULL;
    *t = (task){.scene = t->scene, .index = t->index, .life = 1};
    live_once(t);
    return NULL;
}

/* For those who begin, and for who comes late. */
static void write_addresses(scene *s)
{
    snprintf(s->file, sizeof s->file, "%s/tasks", s->folder);
    snprintf(s->other, sizeof s->other, "%s/others", s->folder);
    FILE *file = fopen(s->file, "w"), *other = fopen(s->other, "w");
    assert_true(file && other);
    for (int i = 0; i < s->tasks; i++) {
        int port = support_port_hold(&s->held[i]);
        fprintf(other, "worker 127.0.0.1:%d\n", port);
        if (!s->unknown || i < s->tasks - 1) fprintf(file, "worker 127.0.0.1:%d\n", port);
    }
    assert_true(fclose(file) == 0 && fclose(other) == 0);
}

static void play(scene *s, task made[MOST_TASKS])
{
    pthread_t thread[MOST_TASKS];
    int count = s->tasks ? s->tasks : 1;
    write_addresses(s);
    for (int i = 0; i < count; i++) {
        made[i] = (task){.scene = s, .index = i};
        assert_int_equal(pthread_create(&thread[i], NULL, live, &made[i]), 0);
    }
    for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
    for (int i = 0; i < s->tasks; i++) close(s->held[i]);
}

static void expect(const task *t, artel_status status)
{
    if (t->status != status) fail_msg("task %d: %s: %s", t->index, artel_status_name(t->status), t->error.what);
    assert_int_equal(t->runs, t->units * TALL);
}

static const task *truth(void);

static void expect_whole(const task *t)
{
    expect(t, ARTEL_OK);
    assert_int_equal(t->runs, RUNS);
    assert_true(t->value == truth()->value && t->parts_read == truth()->parts_read);
    assert_true(t->lengths_read == truth()->lengths_read && t->lengths_read > RUNS);
    assert_string_equal(t->story_read, truth()->story_read);
}

/* What a loop makes that nobody interrupts. */
static const task *truth(void)
{
    static task t[MOST_TASKS];
    scene s = {.asked = -1};
    if (t[0].units == UNITS) return &t[0];
    api_folder_make(s.folder);
    play(&s, t);
    expect(&t[0], ARTEL_OK);
    assert_int_equal(t[0].units, UNITS);
    api_folder_remove(s.folder);
    return &t[0];
}

static void FT12_FT13_one_comes_back(void **state)
{
    (void)state;
    scene s = {.tasks = 3, .asked = 2, .returns = true};
    task t[MOST_TASKS];
    api_folder_make(s.folder);
    play(&s, t);
    for (int i = 0; i < 3; i++) expect_whole(&t[i]);
    assert_true(atomic_load(&s.here));
    assert_int_equal(t[0].writes + t[1].writes + t[2].writes, 1);
    api_folder_remove(s.folder);
}

/* Who was never there is waited for, then the others begin; it takes their state and works with them to the end. */
static void FT13_one_comes_for_the_first_time(void **state)
{
    (void)state;
    scene s = {.tasks = 3, .asked = -1, .late = true};
    task t[MOST_TASKS];
    api_folder_make(s.folder);
    play(&s, t);
    for (int i = 0; i < 3; i++) expect_whole(&t[i]);
    assert_true(atomic_load(&s.at_work) && atomic_load(&s.here));
    api_folder_remove(s.folder);
}

/* Who is in no description but its own is told so, and nobody else is disturbed. */
static void FT13_a_stranger_is_refused(void **state)
{
    (void)state;
    scene s = {.tasks = 3, .asked = -1, .late = true, .unknown = true};
    task t[MOST_TASKS];
    api_folder_make(s.folder);
    play(&s, t);
    for (int i = 0; i < 2; i++) expect_whole(&t[i]);
    assert_true(t[2].status < 0 && t[2].units == 0);
    if (!strstr(t[2].error.what, "they were told other lists of tasks")) fail_msg("%s", t[2].error.what);
    api_folder_remove(s.folder);
}

/* The others go on to the end; who left has a whole state, of some units: without the one in which it was asked, where
 * its leaving has interrupted that. */
static void FT7_one_leaves(void **state)
{
    (void)state;
    scene s = {.tasks = 3, .asked = 1};
    task t[MOST_TASKS];
    api_folder_make(s.folder);
    play(&s, t);
    expect(&t[1], ARTEL_ERROR_PREEMPTED);
    assert_true(t[1].units >= ASKED_AT && t[1].units < UNITS);
    for (int i = 0; i < 3; i += 2) expect_whole(&t[i]);
    assert_int_equal(t[0].writes + t[2].writes, 1);
    api_folder_remove(s.folder);
}

/* All end at the same unit, and one of them writes; then so many go on. */
static void save_and_go_on(int tasks, int then)
{
    task t[MOST_TASKS];
    scene s = {.tasks = tasks, .asked = tasks ? tasks - 1 : 0, .save = true};
    int writers = 0, count = tasks ? tasks : 1;
    api_folder_make(s.folder);
    play(&s, t);
    for (int i = 0; i < count; i++) {
        expect(&t[i], ARTEL_ERROR_PREEMPTED);
        assert_true(t[i].units >= ASKED_AT && t[i].units < UNITS); /* the word may come before the unit is done */
        assert_true(t[i].units == t[0].units && t[i].value == t[0].value && t[i].parts_read == t[0].parts_read);
        writers += t[i].writes;
    }
    assert_int_equal(writers, 1);
    s.tasks = then;
    s.asked = -1;
    play(&s, t);
    for (int i = 0; i < (then ? then : 1); i++) expect_whole(&t[i]);
    api_folder_remove(s.folder);
}

static void FT7_FT8_all_save(void **state)
{
    (void)state;
    save_and_go_on(0, 2);
    save_and_go_on(3, 0);
}

/* How many a launcher says that a program needs is a number; that of its own options goes before it. */
static void FT12_how_many_begin(void **state)
{
    static const char *const wrong[] = {"two", "-1", "2x", " ", "1e3", "1000000000000"};
    scene s = {.tasks = 2, .asked = -1};
    task t = {.scene = &s, .ctx = api_context()};
    (void)state;
    api_folder_make(s.folder);
    write_addresses(&s);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(setenv("ARTEL_MIN_WORKERS", wrong[i], 1), 0);
        api_refused(t.ctx, join(&t), ARTEL_ERROR_INVALID, "ARTEL_MIN_WORKERS");
        assert_non_null(strstr(artel_context_error(t.ctx)->what, wrong[i]));
        assert_null(t.cluster);
    }
    assert_int_equal(unsetenv("ARTEL_MIN_WORKERS"), 0);
    for (int i = 0; i < s.tasks; i++) close(s.held[i]);
    api_folder_remove(s.folder);
    artel_context_destroy(t.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(FT12_how_many_begin),
                                       cmocka_unit_test(FT12_FT13_one_comes_back),
                                       cmocka_unit_test(FT13_one_comes_for_the_first_time),
                                       cmocka_unit_test(FT13_a_stranger_is_refused),
                                       cmocka_unit_test(FT7_one_leaves),
                                       cmocka_unit_test(FT7_FT8_all_save)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
