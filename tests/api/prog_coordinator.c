/* SPDX-License-Identifier: Apache-2.0 */
/* A coordinator's promises, one after another, in one job (PS10-PS21): every task runs this program; the chief checks,
 * and ends with 1 after the first promise that is broken.
 *
 *   artel launch --chief -n 3 --ps 2 --restarts 9 --program prog_coordinator -- FOLDER CASES [OPTIMIZER]
 *
 * Tasks write their process numbers into the folder, so that the chief may kill them. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "help_coordinator.h"

static artel_cluster *cluster;
static artel_coordinator *coordinator;
static const char *folder;

/* -- small things -- */

static float counted(void)
{
    float value = -1;
    check(artel_variable_read(job.counter, &value, 1) == ARTEL_OK, "read");
    return value;
}

static void schedule(artel_function *f, const artel_array *in, int inputs, artel_worker_data *data, artel_remote **out)
{
    check(artel_coordinator_schedule(coordinator, f, in, inputs, data, out) == ARTEL_OK, "schedule");
}

static void many(int count)
{
    for (int i = 0; i < count; i++) schedule(job.count_up, NULL, 0, NULL, NULL);
}

static void join(void)
{
    check(artel_coordinator_join(coordinator) == ARTEL_OK, "join");
}

static float fetch_number(artel_remote *r)
{
    float value = -1;
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &value};
    check(artel_remote_fetch(r, &out, 1, NULL) == ARTEL_OK, "fetch");
    artel_remote_release(r);
    return value;
}

static artel_coordinator_metrics look(void)
{
    artel_coordinator_metrics m = {.struct_size = sizeof m};
    check(artel_coordinator_look(coordinator, &m) == ARTEL_OK, "look");
    return m;
}

static void name_file(char out[512], const char *type, int index)
{
    snprintf(out, 512, "%s/%s-%d", folder, type, index);
}

static void tell_process(void)
{
    char path[512], whole[520];
    name_file(path, artel_cluster_role(cluster), artel_cluster_index(cluster));
    snprintf(whole, sizeof whole, "%s.new", path);
    FILE *file = fopen(whole, "w");
    check(file && fprintf(file, "%d", (int)getpid()) > 0 && fclose(file) == 0 && rename(whole, path) == 0, "%s", path);
}

static int process_of(const char *type, int index)
{
    char path[512];
    int process = 0;
    name_file(path, type, index);
    FILE *file = fopen(path, "r");
    check(file && fscanf(file, "%d", &process) == 1 && fclose(file) == 0, "%s", path);
    return process;
}

static void kill_task(const char *type, int index)
{
    check(kill(process_of(type, index), SIGKILL) == 0, "kill");
}

/* -- promises -- */

/* Every closure's update counts, and all before it was scheduled are seen. */
static void runs_closures(void)
{
    float before = counted();
    artel_remote *last;
    bool done = true;
    many(500);
    check(artel_coordinator_done(coordinator, &done) == ARTEL_OK, "done");
    join();
    check(artel_coordinator_done(coordinator, &done) == ARTEL_OK && done, "done");
    schedule(job.count_up, NULL, 0, NULL, &last);
    check(fetch_number(last) == before + 500, "what a closure reads");
    join();
    check(counted() == before + 501, "%g", (double)counted());
    artel_coordinator_metrics m = look();
    check(m.done >= 501 && m.queued == 0 && m.in_flight == 0 && m.run.count == m.done && m.build.count >= 1, "metrics");
    check(m.run.half > 0 && m.run.half <= m.run.ninety && m.run.ninety <= m.run.most && m.fetch.count >= 1, "times");
    artel_coordinator_metrics older = {.struct_size = offsetof(artel_coordinator_metrics, workers), .workers = -1},
                              unsized = {0};
    check(artel_coordinator_look(coordinator, &older) == ARTEL_OK && older.done == m.done && older.workers == -1,
          "a shorter struct");
    check(artel_coordinator_look(coordinator, &unsized) == ARTEL_ERROR_INVALID && unsized.done == 0,
          "struct_size is not set");
}

/* Rows, shared values, conversion of arguments; whoever does not want an output gives no room for it. */
static void brings_outputs(void)
{
    double x[COORDINATOR_BATCH][3];
    float made[COORDINATOR_BATCH][COORDINATOR_CLASSES], loss;
    int64_t y[COORDINATOR_BATCH], rows = 0;
    for (int i = 0; i < COORDINATOR_BATCH; i++) {
        for (int k = 0; k < 3; k++) x[i][k] = 0.1 * (i + k);
        y[i] = i % COORDINATOR_CLASSES;
    }
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT64, {2, {5, 3}}, x}, {ARTEL_DTYPE_INT64, {1, {5}}, y}};
    const artel_array out[2] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = made},
                                {.dtype = ARTEL_DTYPE_FLOAT32, .data = &loss}};
    const artel_array wrong[2] = {{.dtype = ARTEL_DTYPE_INT32, .data = made}, {.data = NULL}},
                      none[2] = {{.data = NULL}, {.data = NULL}};
    artel_remote *r;
    schedule(job.judge, in, 2, NULL, &r);
    check(artel_remote_fetch(r, out, 2, &rows) == ARTEL_OK && rows == 5, "rows");
    for (int i = 0; i < 5; i++)
        check(fabsf(made[i][0] + made[i][1] + made[i][2] + made[i][3] - 1) < 1e-5f, "row %d", i);
    check(loss > 0 && artel_remote_fetch(r, none, 2, NULL) == ARTEL_OK &&
              artel_remote_fetch(r, NULL, 0, NULL) == ARTEL_OK,
          "again");
    check(artel_remote_fetch(r, wrong, 2, NULL) == ARTEL_ERROR_INVALID, "an array of another type");
    check(artel_remote_fetch(r, out, 1, NULL) == ARTEL_ERROR_INVALID, "one array of two");
    artel_remote_release(r);
    check(artel_coordinator_schedule(coordinator, job.judge, in, 1, NULL, NULL) == ARTEL_ERROR_INVALID,
          "one argument of two");
    check(artel_coordinator_schedule(coordinator, job.count_batch, in, 2, job.few, NULL) == ARTEL_ERROR_INVALID,
          "too many");
    check(artel_function_run(job.judge, in, 2, out, 2) == ARTEL_ERROR_INVALID, "functions are not run by the chief");
    join();
}

/* Assignments, from closures and from the chief. */
static void assigns(void)
{
    static float w[200], back[200];
    artel_remote *r;
    for (int i = 0; i < 200; i++) w[i] = (float)i / 7;
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {5, 40}}, w}, out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = back};
    schedule(job.put, &in, 1, NULL, NULL);
    join();
    check(artel_variable_read(job.weights, back, 200) == ARTEL_OK && memcmp(w, back, sizeof w) == 0, "assigned");
    for (int i = 0; i < 200; i++) w[i] = -w[i];
    check(artel_variable_assign(job.weights, w, 200) == ARTEL_OK, "assign");
    schedule(job.put, &in, 1, NULL, &r);
    check(artel_remote_fetch(r, &out, 1, NULL) == ARTEL_OK && memcmp(w, back, sizeof w) == 0,
          "a closure reads what was assigned");
    artel_remote_release(r);
}

/* The first error once, by whoever comes first; the rest is dropped; then all is as before. */
static void raises_once(void)
{
    const float x[3] = {1, 2, 3};
    const int bad = COORDINATOR_CLASSES;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {1, 3}}, (void *)(uintptr_t)x},
                               {ARTEL_DTYPE_INT32, {1, {1}}, (void *)(uintptr_t)&bad}};
    artel_remote *failed, *dropped = NULL;
    artel_status status = ARTEL_OK;
    int64_t before = look().failed;
    schedule(job.judge, in, 2, NULL, &failed);
    for (int i = 0; i < 3000 && status == ARTEL_OK; i++) {
        artel_remote_release(dropped);
        dropped = NULL;
        status = artel_coordinator_schedule(coordinator, job.count_up, NULL, 0, NULL, &dropped);
    }
    if (status == ARTEL_OK) status = artel_coordinator_join(coordinator);
    check(status == ARTEL_ERROR_INVALID && strstr(artel_context_error(job.ctx)->what, "out of range"), "raised");
    check(look().in_flight == 0 && look().queued == 0, "nothing runs when it is raised");
    check(artel_remote_fetch(failed, NULL, 0, NULL) == ARTEL_ERROR_INVALID, "who fetches hears it, too");
    join();
    check(look().failed == before + 1, "failed");
    float now = counted();
    many(10);
    join();
    check(counted() == now + 10, "it goes on");
    artel_remote_release(failed);
    artel_remote_release(dropped);
}

/* What waits when a closure fails is told so. */
static void drops_what_waits(void)
{
    const float x[3] = {1, 2, 3};
    const int bad = COORDINATOR_CLASSES;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {1, 3}}, (void *)(uintptr_t)x},
                               {ARTEL_DTYPE_INT32, {1, {1}}, (void *)(uintptr_t)&bad}};
    artel_remote *r[400] = {NULL};
    int dropped = 0, count = 0;
    artel_status status = ARTEL_OK;
    for (; count < 400 && status == ARTEL_OK; count++)
        status = artel_coordinator_schedule(coordinator, job.judge, in, 2, NULL, &r[count]);
    if (status == ARTEL_OK) status = artel_coordinator_join(coordinator);
    check(status == ARTEL_ERROR_INVALID, "raised");
    for (int i = 0; i < count && r[i]; i++) {
        artel_status one = artel_remote_fetch(r[i], NULL, 0, NULL);
        check(one == ARTEL_ERROR_INVALID || one == ARTEL_ERROR_CANCELLED, "%d", (int)one);
        dropped += one == ARTEL_ERROR_CANCELLED;
        artel_remote_release(r[i]);
    }
    join();
    check(dropped == 0 || look().cancelled >= dropped, "cancelled");
}

/* Each worker has data of its own, in order; when it ends, the closure that wants more fails. */
static void gives_data(void)
{
    int next[2] = {0, 0};
    artel_status status = ARTEL_OK;
    artel_remote *r[COORDINATOR_BATCHES];
    for (int i = 0; i < COORDINATOR_BATCHES; i++) schedule(job.count_batch, NULL, 0, job.few, &r[i]);
    for (int i = 0; i < COORDINATOR_BATCHES; i++) {
        int value = (int)fetch_number(r[i]), worker = value / 1000;
        check((worker == 0 || worker == 1) && value % 1000 < COORDINATOR_BATCHES, "batch %d", value);
        next[worker]++;
    }
    check(next[0] + next[1] == COORDINATOR_BATCHES, "%d and %d", next[0], next[1]);
    while (status == ARTEL_OK)
        status = artel_coordinator_schedule(coordinator, job.count_batch, NULL, 0, job.few, NULL);
    check(status == ARTEL_ERROR_NOT_FOUND && strstr(artel_context_error(job.ctx)->what, "no more batches"), "%d",
          (int)status);
}

/* What the values of ps_values.py are to TensorFlow (VA7). A variable that replicas write is written by what they agree
 * on, once a closure (aggregating); a closure reads each variable once, however often others write it meanwhile
 * (caching); a worker keeps what it has opened (per worker); a table is on each worker (distributed). */
static void keeps_values_of_workers(void)
{
    enum {
        ROUNDS = 20
    };
    float before = counted(), last[2] = {-1, -1};
    artel_remote *r[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        schedule(job.caching, NULL, 0, job.few, &r[i]);
        many(20);
    }
    for (int i = 0; i < ROUNDS; i++) {
        float first = -1, found[1] = {-1}, second = -2;
        const artel_array out[3] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = &first},
                                    {.dtype = ARTEL_DTYPE_FLOAT32, .data = found},
                                    {.dtype = ARTEL_DTYPE_FLOAT32, .data = &second}};
        check(artel_remote_fetch(r[i], out, 3, NULL) == ARTEL_OK, "fetch");
        check(first == second && first >= before, "%g and %g in one closure", (double)first, (double)second);
        check(found[0] == 0 || found[0] == 5 || found[0] == 7, "%g is not in the table", (double)found[0]);
        if (found[0] > 0) last[found[0] > 5] = first;
        artel_remote_release(r[i]);
    }
    join();
    check(last[0] >= 0 && last[1] >= 0, "no worker has read on in its own data");
    check(counted() == before + 20 * ROUNDS, "%g closures counted", (double)(counted() - before));
}

/* The bits of a process that does it all: one worker, one closure at a time. */
static void has_the_bits(const char *rule)
{
    float x[COORDINATOR_BATCH][3];
    int y[COORDINATOR_BATCH];
    char ours[65], truth[65];
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    coordinator_training t = {.model = coordinator_model()};
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    o.strategy = "one-device";
    o.batch_size = COORDINATOR_BATCH;
    o.seed = 3;
    check(artel_strategy_create(job.ctx, &o, &t.strategy) == ARTEL_OK, "one-device");
    t.optimizer = coordinator_train_with(t.strategy, t.model, rule);
    f.name = "step";
    f.arguments = coordinator_labelled;
    f.argument_count = 2;
    f.output_count = 1;
    f.training = true;
    check(artel_function_create(t.strategy, &f, coordinator_trace_step, &t, &t.step) == ARTEL_OK, "step");
    for (int i = 0; i < 20; i++) {
        for (int k = 0; k < COORDINATOR_BATCH; k++) {
            for (int d = 0; d < 3; d++) x[k][d] = (float)((i * 7 + k * 3 + d * 5) % 11) / 11;
            y[k] = (i + k) % COORDINATOR_CLASSES;
        }
        const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {COORDINATOR_BATCH, 3}}, x},
                                   {ARTEL_DTYPE_INT32, {1, {COORDINATOR_BATCH}}, y}};
        float alone = 0, elsewhere = 0;
        const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &alone},
                          far = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &elsewhere};
        artel_remote *r;
        check(artel_function_run(t.step, in, 2, &out, 1) == ARTEL_OK, "run");
        schedule(job.step, in, 2, NULL, &r);
        check(artel_remote_fetch(r, &far, 1, NULL) == ARTEL_OK && memcmp(&alone, &elsewhere, 4) == 0,
              "step %d: loss %.9g, not %.9g", i, (double)elsewhere, (double)alone);
        artel_remote_release(r);
    }
    join();
    check(artel_strategy_store(job.strategy, job.model) == ARTEL_OK &&
              artel_strategy_store(t.strategy, t.model) == ARTEL_OK,
          "store");
    check(artel_model_digest(job.model, ours) == ARTEL_OK && artel_model_digest(t.model, truth) == ARTEL_OK, "digest");
    check(strcmp(ours, truth) == 0, "%s: %s, not %s", rule, ours, truth);
    artel_strategy_destroy(t.strategy);
    artel_model_destroy(t.model);
}

/* A worker that is killed loses nothing, and nothing counts twice. */
static void survives_workers(void)
{
    float before = counted();
    int64_t done = look().done;
    for (int kills = 0; kills < 2; kills++) {
        many(3000);
        while (look().done < done + 1000) check(artel_coordinator_done(coordinator, NULL) == ARTEL_OK, "done");
        kill_task("worker", kills);
        join();
        done = look().done;
    }
    check(counted() == before + 6000, "%g closures counted", (double)(counted() - before));
}

/* One worker after another, while closures run: each kill waits until whoever it kills has come back from the one
 * before. */
static void survives_a_storm(int kills)
{
    float before = counted();
    int killed[2] = {0, 0}, total = 0;
    for (int k = 0; k < kills; k++) {
        while (process_of("worker", k % 2) == killed[k % 2]) {
            many(20);
            join();
            total += 20;
        }
        many(300);
        total += 300;
        killed[k % 2] = process_of("worker", k % 2);
        check(kill(killed[k % 2], SIGKILL) == 0, "kill");
        join();
    }
    check(counted() == before + (float)total, "%g of %d closures counted", (double)(counted() - before), total);
}

/* A server that is killed has lost its variables: one error, and back to what was kept. */
static void survives_servers(void)
{
    float before;
    many(10);
    join();
    before = counted();
    check(artel_coordinator_keep(coordinator) == ARTEL_OK, "keep");
    many(20);
    join();
    for (int i = 0; i < 2; i++) {
        artel_status status = ARTEL_OK;
        kill_task("ps", i);
        for (int k = 0; k < 100000 && status == ARTEL_OK; k++)
            status = artel_coordinator_schedule(coordinator, job.count_up, NULL, 0, NULL, NULL);
        if (status == ARTEL_OK) status = artel_coordinator_join(coordinator);
        check(status == ARTEL_ERROR_RUN && strstr(artel_context_error(job.ctx)->what, "what it had is lost"), "%d",
              (int)status);
        check(artel_coordinator_go_back(coordinator) == ARTEL_OK && counted() == before, "back to %g: %g",
              (double)before, (double)counted());
        many(5);
        join();
        check(counted() == before + 5, "it goes on");
    }
    check(look().recover.count >= 1, "recovery is measured");
}

/* A chief that is killed finds the servers as they were. */
static void resumes(void)
{
    char path[512];
    name_file(path, "first", 0);
    FILE *first = fopen(path, "r");
    if (first) {
        float value = 0;
        check(fscanf(first, "%f", &value) == 1 && fclose(first) == 0, "%s", path);
        check(counted() >= value + 40 && look().resumed >= 40, "resumed at %g of %g", (double)counted(), (double)value);
        float now = counted();
        many(10);
        join();
        check(counted() == now + 10, "it goes on");
        return;
    }
    first = fopen(path, "w");
    check(first && fprintf(first, "%g", (double)counted()) > 0 && fclose(first) == 0, "%s", path);
    many(40);
    join();
    raise(SIGKILL);
}

/* -- what goes on beside the chief's thread -- */

static void *kill_soon(void *user)
{
    const struct timespec pause = {.tv_nsec = 700000000};
    const int *process = user;
    nanosleep(&pause, NULL);
    kill(*process, SIGKILL);
    return NULL;
}

static void check_void(artel_status status, const char *what)
{
    check(status == ARTEL_ERROR_RUN && strstr(artel_context_error(job.ctx)->what, "what it had is lost"), "%s: %d",
          what, (int)status);
}

static void fill(float *w, float value)
{
    for (int i = 0; i < 200; i++) w[i] = value;
}

static void check_state(float counter, float weight)
{
    float w[200];
    check(counted() == counter, "the counter is %g, not %g", (double)counted(), (double)counter);
    check(artel_variable_read(job.weights, w, 200) == ARTEL_OK && w[0] == weight && w[199] == weight,
          "weights are %g, not %g", (double)w[0], (double)weight);
}

/* A server has come back without its variables, and nobody has been told: what it has now is not kept, and not read. */
static void keeps_nothing_void(void)
{
    float w[200], value;
    fill(w, 1);
    check(artel_variable_assign(job.weights, w, 200) == ARTEL_OK, "assign");
    many(7);
    join();
    float before = counted();
    check(artel_coordinator_keep(coordinator) == ARTEL_OK, "keep");
    for (int i = 0; i < 2; i++) {
        kill_task("ps", i);
        check_void(artel_coordinator_keep(coordinator), "keep");
        check(artel_coordinator_go_back(coordinator) == ARTEL_OK, "go back");
        check_state(before, 1);
        kill_task("ps", i);
        artel_status status =
            ARTEL_OK; /* a variable of the other server is read until it is known that this one is lost */
        while (status == ARTEL_OK) status = artel_variable_read(job.counter, &value, 1);
        check_void(status, "read");
        check(artel_coordinator_go_back(coordinator) == ARTEL_OK, "go back");
        check_state(before, 1);
    }
}

/* A closure has failed that nobody fetches, and before that is raised a server has come back without its variables: the
 * loss is raised, and what the closure said is in the log. So is what is not raised before the coordinator closes. */
static void says_what_is_not_raised(void)
{
    const float x[3] = {1, 2, 3};
    const int bad = COORDINATOR_CLASSES;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {1, 3}}, (void *)(uintptr_t)x},
                               {ARTEL_DTYPE_INT32, {1, {1}}, (void *)(uintptr_t)&bad}};
    const struct timespec pause = {.tv_nsec = 1000000};
    many(1);
    join();
    check(artel_coordinator_keep(coordinator) == ARTEL_OK, "keep");
    for (int k = 0; k < 2; k++) {
        int64_t before = look().failed;
        schedule(job.judge, in, 2, NULL, NULL);
        while (look().failed == before) nanosleep(&pause, NULL);
        if (k == 1) return;
        kill_task("ps", 0);
        check_void(artel_coordinator_keep(coordinator), "keep");
        check(artel_coordinator_go_back(coordinator) == ARTEL_OK, "go back");
        join();
    }
}

/* A server is lost when the one before it has been kept already: what was kept before stays, whole. */
static void keeps_all_or_nothing(void)
{
    float w[200];
    fill(w, 1);
    check(artel_variable_assign(job.weights, w, 200) == ARTEL_OK, "assign");
    many(7);
    join();
    float before = counted();
    check(artel_coordinator_keep(coordinator) == ARTEL_OK, "keep");
    fill(w, 2);
    check(artel_variable_assign(job.weights, w, 200) == ARTEL_OK, "assign");
    many(7);
    join();
    check_state(before + 7, 2);
    int process = process_of("ps", 1);
    pthread_t killer;
    check(kill(process, SIGSTOP) == 0, "signal");
    check(pthread_create(&killer, NULL, kill_soon, &process) == 0, "a thread");
    check_void(artel_coordinator_keep(coordinator), "keep");
    check(pthread_join(killer, NULL) == 0, "join");
    check(artel_coordinator_go_back(coordinator) == ARTEL_OK, "go back");
    check_state(before, 1);
}

static artel_status do_nothing(void *user, int64_t unit)
{
    (void)unit;
    *(bool *)user = true;
    return ARTEL_OK;
}

/* Functions over servers run where they are scheduled, and nowhere else; a loop of units has no place here (PS2). */
static void check_unscheduled(void)
{
    bool ran = false;
    float value = -1;
    const artel_array out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = &value};
    check(artel_function_run(job.count_up, NULL, 0, &out, 1) == ARTEL_ERROR_INVALID &&
              strstr(artel_context_error(job.ctx)->what, "functions over parameter servers are run by workers only") &&
              strstr(artel_context_error(job.ctx)->advice, "artel_coordinator_schedule"),
          "run");
    check(artel_strategy_loop(job.strategy, 1, do_nothing, &ran) < 0 && !ran &&
              strstr(artel_context_error(job.ctx)->what, "parameter servers have none"),
          "loop");
    check(value == -1, "an output");
}

static void runs_where_it_is_scheduled(void)
{
    artel_remote *r;
    float before = counted();
    check_unscheduled();
    check(counted() == before, "it has run all the same");
    schedule(job.count_up, NULL, 0, NULL, &r);
    check(fetch_number(r) == before, "scheduled");
    join();
    check(counted() == before + 1, "its update");
}

/* A task that does not answer for a time is no failure: nothing is raised, and nothing runs again (PS16). */
static void bears_a_pause(void)
{
    static const char *const types[] = {"worker", "ps"};
    const struct timespec pause = {.tv_sec = 1};
    many(1);
    join(); /* all are there */
    float before = counted();
    int64_t again = look().again, failed = look().failed;
    for (int k = 0; k < 4; k++) {
        int process = process_of(types[k % 2], k / 2);
        check(kill(process, SIGSTOP) == 0, "signal");
        many(100);
        nanosleep(&pause, NULL);
        check(artel_coordinator_done(coordinator, NULL) == ARTEL_OK, "done");
        check(kill(process, SIGCONT) == 0, "signal");
        join();
    }
    check(counted() == before + 400, "%g closures counted", (double)(counted() - before));
    check(look().again == again && look().failed == failed, "a closure has run again, or failed");
}

/* With a delay the second worker is given nothing before its time (PS19); with one that may be no longer than half a
 * second, it is. */
static void begins_in_turn(bool most)
{
    many(1);
    join(); /* all are there */
    int64_t done = look().done;
    if (!most) {
        artel_remote *r[COORDINATOR_BATCHES];
        for (int i = 0; i < COORDINATOR_BATCHES; i++) schedule(job.count_batch, NULL, 0, job.few, &r[i]);
        for (int i = 0; i < COORDINATOR_BATCHES; i++) check(fetch_number(r[i]) < 1000, "a batch of worker 1");
        join();
        return;
    }
    check(kill(process_of("worker", 0), SIGSTOP) == 0, "signal");
    many(10);
    while (look().done == done) check(artel_coordinator_done(coordinator, NULL) == ARTEL_OK, "done");
    check(kill(process_of("worker", 0), SIGCONT) == 0, "signal");
    join();
}

static void check_lost(artel_status status, const char *what)
{
    check(status == ARTEL_ERROR_RUN && strstr(artel_context_error(job.ctx)->where, "ps 0") &&
              strstr(artel_context_error(job.ctx)->what, "been lost for"),
          "%s: %d", what, (int)status);
}

/* A server that does not come back: whoever needs it waits for as long as was said, and hears who it was. */
static void gives_up_on_a_server(void)
{
    float w[200];
    artel_remote *waits;
    artel_status status = ARTEL_OK;
    check(artel_coordinator_keep(coordinator) == ARTEL_OK, "keep");
    kill_task("ps", 0);
    while (status == ARTEL_OK) status = artel_variable_read(job.weights, w, 200);
    check_lost(status, "read");
    join(); /* no closure wanted it */
    check_lost(artel_variable_assign(job.weights, w, 200), "assign");
    check_lost(artel_coordinator_keep(coordinator), "keep");
    check_lost(artel_coordinator_go_back(coordinator), "go back");
    check_lost(artel_strategy_store(job.strategy, job.model), "store");
    schedule(job.count_up, NULL, 0, NULL, &waits);
    check_lost(artel_coordinator_join(coordinator), "join");
    check(artel_remote_fetch(waits, NULL, 0, NULL) == ARTEL_ERROR_CANCELLED, "fetch");
    artel_remote_release(waits);
    join();
}

/* Tasks that never come: what waits for them fails when the time for the cluster is over, closing too. */
static void gives_up_on_all(void)
{
    float value;
    many(3);
    check(artel_coordinator_join(coordinator) == ARTEL_ERROR_RUN &&
              strstr(artel_context_error(job.ctx)->what, "no generation"),
          "join");
    check(artel_variable_read(job.counter, &value, 1) == ARTEL_ERROR_RUN, "read");
    check(artel_coordinator_schedule(coordinator, job.count_up, NULL, 0, NULL, NULL) == ARTEL_ERROR_RUN, "schedule");
    check(artel_coordinator_close(coordinator) == ARTEL_ERROR_RUN &&
              strstr(artel_context_error(job.ctx)->what, "no generation"),
          "close");
    check(artel_coordinator_open(job.strategy, NULL, &coordinator) == ARTEL_OK, "open");
    check(artel_coordinator_close(coordinator) == ARTEL_ERROR_RUN &&
              strstr(artel_context_error(job.ctx)->what, "no generation"),
          "close");
}

/* A worker's data does not come: the worker is named to who waits, and ends as the cluster's collective_timeout says.
 */
static void outlasts_a_stuck_worker(void)
{
    check(artel_coordinator_schedule(coordinator, job.count_batch, NULL, 0, job.few, NULL) == ARTEL_OK, "schedule");
    artel_status status = artel_coordinator_join(coordinator);
    const artel_error *e = artel_context_error(job.ctx);
    check(status == ARTEL_ERROR_RUN && strcmp(e->where, "a worker") == 0 && strstr(e->what, "has been lost"), "join");
    FILE *file = fopen(job.awaits, "w");
    check(file && fclose(file) == 0, "%s", job.awaits);
}

static void open_coordinator(const char *cases)
{
    artel_coordinator_options o = ARTEL_COORDINATOR_OPTIONS_INIT;
    artel_coordinator *second;
    if (strchr(cases, '1')) o.in_flight = 1;
    if (strchr(cases, 'q')) o.queue = 3;
    if (strchr(cases, 'p') || strchr(cases, 'h')) o.patience = 1;
    if (strchr(cases, 'y') || strchr(cases, 'z')) o.start_delay = 1000;
    if (strchr(cases, 'z')) o.start_delay_most = 0.5;
    check(artel_coordinator_open(job.strategy, &o, &coordinator) == ARTEL_OK, "open");
    check(artel_coordinator_open(job.strategy, &o, &second) == ARTEL_ERROR_INVALID, "two coordinators");
    check(artel_coordinator_serve(job.strategy) == ARTEL_ERROR_INVALID, "the chief does not serve");
    check(artel_coordinator_go_back(coordinator) == ARTEL_ERROR_INVALID, "nothing was kept");
}

static void be_chief(const char *cases, const char *rule)
{
    float value;
    check(artel_variable_read(job.counter, &value, 1) == ARTEL_ERROR_INVALID, "no coordinator");
    check_unscheduled();
    open_coordinator(cases);
    if (strchr(cases, 'r')) runs_closures();
    if (strchr(cases, 'o')) brings_outputs();
    if (strchr(cases, 'a')) assigns();
    if (strchr(cases, 'e')) raises_once();
    if (strchr(cases, 'd')) drops_what_waits();
    if (strchr(cases, 'g')) gives_data();
    if (strchr(cases, 'v')) keeps_values_of_workers();
    if (strchr(cases, 'b')) has_the_bits(rule);
    if (strchr(cases, 'w')) survives_workers();
    if (strchr(cases, 'k')) survives_a_storm(60);
    if (strchr(cases, 's')) survives_servers();
    if (strchr(cases, 'f')) runs_where_it_is_scheduled();
    if (strchr(cases, 'l')) keeps_nothing_void();
    if (strchr(cases, 't')) keeps_all_or_nothing();
    if (strchr(cases, 'i')) says_what_is_not_raised();
    if (strchr(cases, 'u')) bears_a_pause();
    if (strchr(cases, 'y') || strchr(cases, 'z')) begins_in_turn(strchr(cases, 'z'));
    if (strchr(cases, 'c')) resumes();
    if (strchr(cases, 'x')) { /* the chief is gone */
        many(1);
        join();
        printf("all promises kept: x\n");
        fflush(stdout);
        _Exit(0);
    }
    if (strchr(cases, 'h'))
        outlasts_a_stuck_worker();
    else if (strchr(cases, 'p'))
        gives_up_on_a_server();
    else if (strchr(cases, 'n'))
        gives_up_on_all();
    else if (!strchr(cases, 'i'))
        many(50); /* those that wait are dropped */
    if (!strchr(cases, 'n')) check(artel_coordinator_close(coordinator) == ARTEL_OK, "close");
    printf("all promises kept: %s\n", cases);
}

static void say(void *user, artel_log_level level, const char *text)
{
    (void)user;
    (void)level;
    fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv)
{
    artel_context_options logged = ARTEL_CONTEXT_OPTIONS_INIT;
    artel_cluster_options co = ARTEL_CLUSTER_OPTIONS_INIT;
    artel_strategy_options so = ARTEL_STRATEGY_OPTIONS_INIT;
    const char *rule = argc > 3 ? argv[3] : "adam";
    logged.log = say;
    if (argc < 3 || artel_context_create(&logged, &job.ctx) < 0) return 2;
    folder = argv[1];
    co.parameter_servers = true;
    if (strchr(argv[2], 'n')) co.wait_for_cluster = 0.5;
    if (strchr(argv[2], 'x')) co.wait_for_cluster = 20;
    if (strpbrk(argv[2], "tuyz")) co.suspect_after = 60; /* who is stopped is not lost */
    if (strchr(argv[2], 'h')) {
        static char released[512];
        co.collective_timeout = 12;
        snprintf(released, sizeof released, "%s/released", folder);
        job.awaits = released;
    }
    check(artel_cluster_open(job.ctx, &co, &cluster) == ARTEL_OK, "cluster");
    tell_process();
    so.strategy = "parameter-server";
    so.batch_size = COORDINATOR_BATCH;
    so.seed = 3;
    so.cluster = cluster;
    so.threads = 1;
    check(artel_strategy_create(job.ctx, &so, &job.strategy) == ARTEL_OK, "strategy");
    coordinator_declare(rule);
    artel_status status = ARTEL_OK;
    if (artel_cluster_writes(cluster))
        be_chief(argv[2], rule);
    else
        status = artel_coordinator_serve(job.strategy);
    check(status == ARTEL_OK, "serve");
    artel_strategy_destroy(job.strategy);
    artel_model_destroy(job.model);
    status = artel_cluster_finish(cluster, status);
    artel_cluster_close(cluster);
    artel_context_destroy(job.ctx);
    return status < 0;
}
