/* SPDX-License-Identifier: Apache-2.0 */
/* What losses of tasks leave. */
#include "help_promises.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "help_chief.h"

void promise_survives_workers(void)
{
    float before = chief_counted();
    int64_t done = chief_look().done;
    for (int kills = 0; kills < 2; kills++) {
        chief_many(3000);
        while (chief_look().done < done + 1000)
            check(artel_coordinator_done(job.coordinator, NULL) == ARTEL_OK, "done");
        chief_kill("worker", kills);
        chief_join();
        done = chief_look().done;
    }
    check(chief_counted() == before + 6000, "%g closures counted", (double)(chief_counted() - before));
}

void promise_survives_a_storm(int kills)
{
    float before = chief_counted();
    int killed[2] = {0, 0}, total = 0;
    for (int k = 0; k < kills; k++) {
        while (chief_process_of("worker", k % 2) == killed[k % 2]) {
            chief_many(20);
            chief_join();
            total += 20;
        }
        chief_many(300);
        total += 300;
        killed[k % 2] = chief_process_of("worker", k % 2);
        check(kill(killed[k % 2], SIGKILL) == 0, "kill");
        chief_join();
    }
    check(chief_counted() == before + (float)total, "%g of %d closures counted", (double)(chief_counted() - before),
          total);
}

/* Closures run when a server is lost: they are scheduled while it stands still, and one at least is dealt out, unless
 * the server is missed before. No more is waited for: a worker that is being started again takes none. */
static void lose_while_closures_run(int server)
{
    chief_join();
    int here = chief_look().servers;
    chief_stop("ps", server);
    chief_many(5);
    while (chief_look().queued > 0 && chief_look().in_flight == 0 && chief_look().servers >= here)
        check(artel_coordinator_done(job.coordinator, NULL) == ARTEL_OK, "done");
    chief_kill("ps", server);
}

void promise_loses_no_server(int kills)
{
    float before = chief_counted(), w[200], kept[200];
    int total = 5, rounds = 1;
    chief_await_servers();
    lose_while_closures_run(0); /* a copy lacks what they write */
    chief_join();
    check(chief_look().recover.count >= 1, "recovery is measured");
    for (int i = 0; i < 200; i++) w[i] = (float)i;
    check(artel_variable_assign(job.weights, w, 200) == ARTEL_OK, "assign");
    for (int k = 0; k < kills; k++) {
        chief_await_servers();
        int64_t done = chief_look().done, again = chief_look().again;
        chief_many(2000);
        total += 2000;
        while (chief_look().done < done + 500) check(artel_coordinator_done(job.coordinator, NULL) == ARTEL_OK, "done");
        chief_kill("ps", (k + 1) % 2);
        chief_join();
        rounds += chief_look().again > again; /* else the last one was done before */
        check(chief_counted() == before + (float)total, "%g of %d closures counted", (double)(chief_counted() - before),
              total);
    }
    check(artel_variable_read(job.weights, kept, 200) == ARTEL_OK && memcmp(w, kept, sizeof w) == 0, "weights");
    chief_await_servers();
    check(artel_coordinator_keep(job.coordinator) == ARTEL_OK, "keep");
    chief_many(5);
    chief_join();
    chief_kill("ps", 0);
    check(artel_coordinator_go_back(job.coordinator) == ARTEL_OK && chief_counted() == before + (float)total,
          "back to what was kept");
    check(chief_look().recover.count >= rounds, "recovery is measured");
}

void promise_takes_back_a_stale_server(void)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    float before = chief_counted();
    int total = 0;
    for (int i = 0; i < 2; i++) {
        chief_await_servers();
        int process = chief_process_of("ps", i);
        chief_many(50);
        check(kill(process, SIGSTOP) == 0, "signal");
        for (; chief_look().servers == 2; nanosleep(&pause, NULL))
            check(artel_coordinator_done(job.coordinator, NULL) == ARTEL_OK, "done");
        chief_many(50); /* which the sleeper has nothing of */
        chief_join();
        check(kill(process, SIGCONT) == 0, "signal");
        chief_await_servers();
        chief_many(50);
        chief_join();
        total += 150;
        check(chief_counted() == before + (float)total, "%g of %d closures counted", (double)(chief_counted() - before),
              total);
        check(chief_process_of("ps", i) == process, "it was started again");
    }
}

void promise_survives_servers(void)
{
    float before;
    chief_many(10);
    chief_join();
    before = chief_counted();
    check(artel_coordinator_keep(job.coordinator) == ARTEL_OK, "keep");
    int64_t runs = artel_strategy_runs(job.strategy), steps = artel_optimizer_iterations(job.counts);
    chief_many(20);
    chief_join();
    check(artel_strategy_runs(job.strategy) == runs + 20 && artel_optimizer_iterations(job.counts) == steps + 20,
          "counters");
    for (int i = 0; i < 2; i++) {
        artel_status status = ARTEL_OK;
        lose_while_closures_run(i); /* one of the servers has what they write */
        for (int k = 0; k < 100000 && status == ARTEL_OK; k++)
            status = artel_coordinator_schedule(job.coordinator, job.count_up, NULL, 0, NULL, NULL);
        if (status == ARTEL_OK) status = artel_coordinator_join(job.coordinator);
        check(status == ARTEL_ERROR_RUN && strstr(artel_context_error(job.ctx)->what, "what it had is lost"), "%d",
              (int)status);
        check(artel_coordinator_go_back(job.coordinator) == ARTEL_OK && chief_counted() == before, "back to %g: %g",
              (double)before, (double)chief_counted());
        check(artel_strategy_runs(job.strategy) == runs && artel_optimizer_iterations(job.counts) == steps,
              "counters that have not gone back");
        chief_many(5);
        chief_join();
        check(chief_counted() == before + 5, "it goes on");
    }
    check(chief_look().recover.count >= 1, "recovery is measured");
}

void promise_resumes(void)
{
    char path[512];
    chief_name_file(path, "first", 0);
    FILE *first = fopen(path, "r");
    if (first) {
        float value = 0;
        check(fscanf(first, "%f", &value) == 1 && fclose(first) == 0, "%s", path);
        check(chief_counted() >= value + 40 && chief_look().resumed >= 40, "resumed at %g of %g",
              (double)chief_counted(), (double)value);
        float now = chief_counted();
        chief_many(10);
        chief_join();
        check(chief_counted() == now + 10, "it goes on");
        return;
    }
    first = fopen(path, "w");
    check(first && fprintf(first, "%g", (double)chief_counted()) > 0 && fclose(first) == 0, "%s", path);
    chief_many(40);
    chief_join();
    raise(SIGKILL);
}

/* The chief and a server are gone together: whoever reads is told so before it gets what the server begins with. */
void promise_hears_what_was_lost(void)
{
    char path[512];
    const float zero = 0;
    chief_name_file(path, "lost", 0);
    FILE *before = fopen(path, "r");
    if (!before) {
        before = fopen(path, "w");
        check(before && fclose(before) == 0, "%s", path);
        chief_many(40);
        chief_join();
        chief_end("ps", 0);
        raise(SIGKILL);
    }
    check(fclose(before) == 0, "%s", path);
    float value = -1;
    artel_status status = artel_variable_read(job.counter, &value, 1);
    check(status == ARTEL_ERROR_RUN && value == -1 && strstr(artel_context_error(job.ctx)->what, "what it had is lost"),
          "%d", (int)status);
    check(artel_variable_assign(job.counter, &zero, 1) == ARTEL_OK, "assign");
    chief_many(10);
    chief_join();
    check(chief_counted() == 10, "it goes on");
}

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
    check(chief_counted() == counter, "the counter is %g, not %g", (double)chief_counted(), (double)counter);
    check(artel_variable_read(job.weights, w, 200) == ARTEL_OK && w[0] == weight && w[199] == weight,
          "weights are %g, not %g", (double)w[0], (double)weight);
}

void promise_keeps_nothing_void(void)
{
    float w[200], value;
    fill(w, 1);
    check(artel_variable_assign(job.weights, w, 200) == ARTEL_OK, "assign");
    chief_many(7);
    chief_join();
    float before = chief_counted();
    check(artel_coordinator_keep(job.coordinator) == ARTEL_OK, "keep");
    for (int i = 0; i < 2; i++) {
        chief_kill("ps", i);
        check_void(artel_coordinator_keep(job.coordinator), "keep");
        check(artel_coordinator_go_back(job.coordinator) == ARTEL_OK, "go back");
        check_state(before, 1);
        chief_kill("ps", i);
        artel_status status =
            ARTEL_OK; /* a variable of the other server is read until it is known that this one is lost */
        while (status == ARTEL_OK) status = artel_variable_read(job.counter, &value, 1);
        check_void(status, "read");
        check(artel_coordinator_go_back(job.coordinator) == ARTEL_OK, "go back");
        check_state(before, 1);
    }
}

void promise_says_what_is_not_raised(void)
{
    const float x[3] = {1, 2, 3};
    const int bad = COORDINATOR_CLASSES;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {1, 3}}, (void *)(uintptr_t)x},
                               {ARTEL_DTYPE_INT32, {1, {1}}, (void *)(uintptr_t)&bad}};
    const struct timespec pause = {.tv_nsec = 1000000};
    chief_many(1);
    chief_join();
    check(artel_coordinator_keep(job.coordinator) == ARTEL_OK, "keep");
    for (int k = 0; k < 2; k++) {
        int64_t before = chief_look().failed;
        chief_schedule(job.judge, in, 2, NULL, NULL);
        while (chief_look().failed == before) nanosleep(&pause, NULL);
        if (k == 1) return;
        chief_kill("ps", 0);
        check_void(artel_coordinator_keep(job.coordinator), "keep");
        check(artel_coordinator_go_back(job.coordinator) == ARTEL_OK, "go back");
        chief_join();
    }
}

void promise_keeps_all_or_nothing(void)
{
    float w[200];
    fill(w, 1);
    check(artel_variable_assign(job.weights, w, 200) == ARTEL_OK, "assign");
    chief_many(7);
    chief_join();
    float before = chief_counted();
    check(artel_coordinator_keep(job.coordinator) == ARTEL_OK, "keep");
    fill(w, 2);
    check(artel_variable_assign(job.weights, w, 200) == ARTEL_OK, "assign");
    chief_many(7);
    chief_join();
    check_state(before + 7, 2);
    int process = chief_process_of("ps", 1);
    pthread_t killer;
    check(kill(process, SIGSTOP) == 0, "signal");
    check(pthread_create(&killer, NULL, kill_soon, &process) == 0, "a thread");
    check_void(artel_coordinator_keep(job.coordinator), "keep");
    check(pthread_join(killer, NULL) == 0, "join");
    check(artel_coordinator_go_back(job.coordinator) == ARTEL_OK, "go back");
    check_state(before, 1);
}
