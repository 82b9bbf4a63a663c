/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions run, what waits, and for how long. */
#include "help_promises.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "help_chief.h"

static artel_status do_nothing(void *user, int64_t unit)
{
    (void)unit;
    *(bool *)user = true;
    return ARTEL_OK;
}

void promise_nothing_is_run_unscheduled(void)
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

void promise_runs_where_it_is_scheduled(void)
{
    artel_remote *r;
    float before = chief_counted();
    promise_nothing_is_run_unscheduled();
    check(chief_counted() == before, "it has run all the same");
    chief_schedule(job.count_up, NULL, 0, NULL, &r);
    check(chief_fetch_number(r) == before, "scheduled");
    chief_join();
    check(chief_counted() == before + 1, "its update");
}

void promise_bears_a_pause(void)
{
    static const char *const types[] = {"worker", "ps"};
    const struct timespec pause = {.tv_sec = 1};
    chief_many(1);
    chief_join(); /* all are there */
    float before = chief_counted();
    int64_t again = chief_look().again, failed = chief_look().failed;
    for (int k = 0; k < 4; k++) {
        int process = chief_process_of(types[k % 2], k / 2);
        check(kill(process, SIGSTOP) == 0, "signal");
        chief_many(100);
        nanosleep(&pause, NULL);
        check(artel_coordinator_done(job.coordinator, NULL) == ARTEL_OK, "done");
        check(kill(process, SIGCONT) == 0, "signal");
        chief_join();
    }
    check(chief_counted() == before + 400, "%g closures counted", (double)(chief_counted() - before));
    check(chief_look().again == again && chief_look().failed == failed, "a closure has run again, or failed");
}

void promise_begins_in_turn(bool most)
{
    chief_many(1);
    chief_join(); /* all are there */
    int64_t done = chief_look().done;
    if (!most) {
        artel_remote *r[COORDINATOR_BATCHES];
        for (int i = 0; i < COORDINATOR_BATCHES; i++) chief_schedule(job.count_batch, NULL, 0, job.few, &r[i]);
        for (int i = 0; i < COORDINATOR_BATCHES; i++) check(chief_fetch_number(r[i]) < 1000, "a batch of worker 1");
        chief_join();
        return;
    }
    check(kill(chief_process_of("worker", 0), SIGSTOP) == 0, "signal");
    chief_many(10);
    while (chief_look().done == done) check(artel_coordinator_done(job.coordinator, NULL) == ARTEL_OK, "done");
    check(kill(chief_process_of("worker", 0), SIGCONT) == 0, "signal");
    chief_join();
}

static void check_lost(artel_status status, const char *what)
{
    check(status == ARTEL_ERROR_RUN && strstr(artel_context_error(job.ctx)->where, "ps 0") &&
              strstr(artel_context_error(job.ctx)->what, "been lost for"),
          "%s: %d", what, (int)status);
}

void promise_gives_up_on_a_server(void)
{
    float w[200];
    artel_remote *waits;
    artel_status status = ARTEL_OK;
    check(artel_coordinator_keep(job.coordinator) == ARTEL_OK, "keep");
    chief_kill("ps", 0);
    while (status == ARTEL_OK) status = artel_variable_read(job.weights, w, 200);
    check_lost(status, "read");
    chief_join(); /* no closure wanted it */
    check_lost(artel_variable_assign(job.weights, w, 200), "assign");
    check_lost(artel_coordinator_keep(job.coordinator), "keep");
    check_lost(artel_coordinator_go_back(job.coordinator), "go back");
    check_lost(artel_strategy_store(job.strategy, job.model), "store");
    chief_schedule(job.count_up, NULL, 0, NULL, &waits);
    check_lost(artel_coordinator_join(job.coordinator), "join");
    check(artel_remote_fetch(waits, NULL, 0, NULL) == ARTEL_ERROR_CANCELLED, "fetch");
    artel_remote_release(waits);
    chief_join();
}

void promise_gives_up_on_all(void)
{
    float value;
    chief_many(3);
    check(artel_coordinator_join(job.coordinator) == ARTEL_ERROR_RUN &&
              strstr(artel_context_error(job.ctx)->what, "no generation"),
          "join");
    check(artel_variable_read(job.counter, &value, 1) == ARTEL_ERROR_RUN, "read");
    check(artel_coordinator_schedule(job.coordinator, job.count_up, NULL, 0, NULL, NULL) == ARTEL_ERROR_RUN,
          "schedule");
    check(artel_coordinator_close(job.coordinator) == ARTEL_ERROR_RUN &&
              strstr(artel_context_error(job.ctx)->what, "no generation"),
          "close");
    check(artel_coordinator_open(job.strategy, NULL, &job.coordinator) == ARTEL_OK, "open");
    check(artel_coordinator_close(job.coordinator) == ARTEL_ERROR_RUN &&
              strstr(artel_context_error(job.ctx)->what, "no generation"),
          "close");
}

/* Closures run until somebody has looked at the job from outside (FOLDER/looked-0). */
static void await_look(void)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    char path[512];
    chief_name_file(path, "looked", 0);
    for (; access(path, F_OK) != 0; nanosleep(&pause, NULL)) {
        chief_many(5);
        chief_join();
    }
}

void promise_outlasts_a_stuck_worker(void)
{
    await_look();
    check(artel_coordinator_schedule(job.coordinator, job.count_batch, NULL, 0, job.few, NULL) == ARTEL_OK, "schedule");
    artel_status status = artel_coordinator_join(job.coordinator);
    const artel_error *e = artel_context_error(job.ctx);
    check(status == ARTEL_ERROR_RUN && strcmp(e->where, "a worker") == 0 && strstr(e->what, "has been lost"), "join");
    FILE *file = fopen(job.awaits, "w");
    check(file && fclose(file) == 0, "%s", job.awaits);
}
