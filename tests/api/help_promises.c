/* SPDX-License-Identifier: Apache-2.0 */
/* What closures do and bring. */
#include "help_promises.h"

#include <math.h>
#include <string.h>

#include "help_chief.h"

void promise_runs_closures(void)
{
    float before = chief_counted();
    artel_remote *last;
    bool done = true;
    chief_many(500);
    check(artel_coordinator_done(job.coordinator, &done) == ARTEL_OK, "done");
    chief_join();
    check(artel_coordinator_done(job.coordinator, &done) == ARTEL_OK && done, "done");
    chief_schedule(job.count_up, NULL, 0, NULL, &last);
    check(chief_fetch_number(last) == before + 500, "what a closure reads");
    chief_join();
    check(chief_counted() == before + 501, "%g", (double)chief_counted());
    artel_coordinator_metrics m = chief_look();
    check(m.done >= 501 && m.queued == 0 && m.in_flight == 0 && m.run.count == m.done && m.build.count >= 1, "metrics");
    check(m.run.half > 0 && m.run.half <= m.run.ninety && m.run.ninety <= m.run.most && m.fetch.count >= 1, "times");
    artel_coordinator_metrics older = {.struct_size = offsetof(artel_coordinator_metrics, workers), .workers = -1},
                              unsized = {0};
    check(artel_coordinator_look(job.coordinator, &older) == ARTEL_OK && older.done == m.done && older.workers == -1,
          "a shorter struct");
    check(artel_coordinator_look(job.coordinator, &unsized) == ARTEL_ERROR_INVALID && unsized.done == 0,
          "struct_size is not set");
}

void promise_brings_outputs(void)
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
    chief_schedule(job.judge, in, 2, NULL, &r);
    check(artel_remote_fetch(r, out, 2, &rows) == ARTEL_OK && rows == 5, "rows");
    for (int i = 0; i < 5; i++)
        check(fabsf(made[i][0] + made[i][1] + made[i][2] + made[i][3] - 1) < 1e-5f, "row %d", i);
    check(loss > 0 && artel_remote_fetch(r, none, 2, NULL) == ARTEL_OK &&
              artel_remote_fetch(r, NULL, 0, NULL) == ARTEL_OK,
          "again");
    check(artel_remote_fetch(r, wrong, 2, NULL) == ARTEL_ERROR_INVALID, "an array of another type");
    check(artel_remote_fetch(r, out, 1, NULL) == ARTEL_ERROR_INVALID, "one array of two");
    artel_remote_release(r);
    check(artel_coordinator_schedule(job.coordinator, job.judge, in, 1, NULL, NULL) == ARTEL_ERROR_INVALID,
          "one argument of two");
    check(artel_coordinator_schedule(job.coordinator, job.count_batch, in, 2, job.few, NULL) == ARTEL_ERROR_INVALID,
          "too many");
    check(artel_function_run(job.judge, in, 2, out, 2) == ARTEL_ERROR_INVALID, "functions are not run by the chief");
    chief_join();
}

void promise_assigns(void)
{
    static float w[200], back[200];
    artel_remote *r;
    for (int i = 0; i < 200; i++) w[i] = (float)i / 7;
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {2, {5, 40}}, w}, out = {.dtype = ARTEL_DTYPE_FLOAT32, .data = back};
    chief_schedule(job.put, &in, 1, NULL, NULL);
    chief_join();
    check(artel_variable_read(job.weights, back, 200) == ARTEL_OK && memcmp(w, back, sizeof w) == 0, "assigned");
    for (int i = 0; i < 200; i++) w[i] = -w[i];
    check(artel_variable_assign(job.weights, w, 200) == ARTEL_OK, "assign");
    chief_schedule(job.put, &in, 1, NULL, &r);
    check(artel_remote_fetch(r, &out, 1, NULL) == ARTEL_OK && memcmp(w, back, sizeof w) == 0,
          "a closure reads what was assigned");
    artel_remote_release(r);
}

void promise_raises_once(void)
{
    const float x[3] = {1, 2, 3};
    const int bad = COORDINATOR_CLASSES;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {1, 3}}, (void *)(uintptr_t)x},
                               {ARTEL_DTYPE_INT32, {1, {1}}, (void *)(uintptr_t)&bad}};
    artel_remote *failed, *dropped = NULL;
    artel_status status = ARTEL_OK;
    int64_t before = chief_look().failed;
    chief_schedule(job.judge, in, 2, NULL, &failed);
    for (int i = 0; i < 3000 && status == ARTEL_OK; i++) {
        artel_remote_release(dropped);
        dropped = NULL;
        status = artel_coordinator_schedule(job.coordinator, job.count_up, NULL, 0, NULL, &dropped);
    }
    if (status == ARTEL_OK) status = artel_coordinator_join(job.coordinator);
    check(status == ARTEL_ERROR_INVALID && strstr(artel_context_error(job.ctx)->what, "out of range"), "raised");
    check(chief_look().in_flight == 0 && chief_look().queued == 0, "nothing runs when it is raised");
    check(artel_remote_fetch(failed, NULL, 0, NULL) == ARTEL_ERROR_INVALID, "who fetches hears it, too");
    chief_join();
    check(chief_look().failed == before + 1, "failed");
    float now = chief_counted();
    chief_many(10);
    chief_join();
    check(chief_counted() == now + 10, "it goes on");
    artel_remote_release(failed);
    artel_remote_release(dropped);
}

void promise_drops_what_waits(void)
{
    const float x[3] = {1, 2, 3};
    const int bad = COORDINATOR_CLASSES;
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {1, 3}}, (void *)(uintptr_t)x},
                               {ARTEL_DTYPE_INT32, {1, {1}}, (void *)(uintptr_t)&bad}};
    artel_remote *r[400] = {NULL};
    int dropped = 0, count = 0;
    artel_status status = ARTEL_OK;
    for (; count < 400 && status == ARTEL_OK; count++)
        status = artel_coordinator_schedule(job.coordinator, job.judge, in, 2, NULL, &r[count]);
    if (status == ARTEL_OK) status = artel_coordinator_join(job.coordinator);
    check(status == ARTEL_ERROR_INVALID, "raised");
    for (int i = 0; i < count && r[i]; i++) {
        artel_status one = artel_remote_fetch(r[i], NULL, 0, NULL);
        check(one == ARTEL_ERROR_INVALID || one == ARTEL_ERROR_CANCELLED, "%d", (int)one);
        dropped += one == ARTEL_ERROR_CANCELLED;
        artel_remote_release(r[i]);
    }
    chief_join();
    check(dropped == 0 || chief_look().cancelled >= dropped, "cancelled");
}

void promise_gives_data(void)
{
    int next[2] = {0, 0};
    artel_status status = ARTEL_OK;
    artel_remote *r[COORDINATOR_BATCHES];
    for (int i = 0; i < COORDINATOR_BATCHES; i++) chief_schedule(job.count_batch, NULL, 0, job.few, &r[i]);
    for (int i = 0; i < COORDINATOR_BATCHES; i++) {
        int value = (int)chief_fetch_number(r[i]), worker = value / 1000;
        check((worker == 0 || worker == 1) && value % 1000 < COORDINATOR_BATCHES, "batch %d", value);
        next[worker]++;
    }
    check(next[0] + next[1] == COORDINATOR_BATCHES, "%d and %d", next[0], next[1]);
    while (status == ARTEL_OK)
        status = artel_coordinator_schedule(job.coordinator, job.count_batch, NULL, 0, job.few, NULL);
    check(status == ARTEL_ERROR_NOT_FOUND && strstr(artel_context_error(job.ctx)->what, "no more batches"), "%d",
          (int)status);
}

void promise_keeps_values_of_workers(void)
{
    enum {
        ROUNDS = 20
    };
    float before = chief_counted(), last[2] = {-1, -1};
    artel_remote *r[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        chief_schedule(job.caching, NULL, 0, job.few, &r[i]);
        chief_many(20);
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
    chief_join();
    check(last[0] >= 0 && last[1] >= 0, "no worker has read on in its own data");
    check(chief_counted() == before + 20 * ROUNDS, "%g closures counted", (double)(chief_counted() - before));
}

void promise_has_the_bits(const char *rule, bool kills)
{
    float x[COORDINATOR_BATCH][3];
    int y[COORDINATOR_BATCH];
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    coordinator_training t = {.model = coordinator_model()};
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    o.strategy = "one-device";
    o.batch_size = COORDINATOR_BATCH;
    o.seed = 3;
    o.device = chief_device();
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
        if (kills && (i == 7 || i == 14)) chief_await_servers();
        if (kills && (i == 7 || i == 14)) chief_end("ps", i == 14);
        check(artel_function_run(t.step, in, 2, &out, 1) == ARTEL_OK, "run");
        if (i % 3 == 0) chief_schedule(job.judge, in, 2, NULL, NULL); /* what only reads draws nothing */
        chief_schedule(job.step, in, 2, NULL, &r);
        check(artel_remote_fetch(r, &far, 1, NULL) == ARTEL_OK && chief_agree(elsewhere, alone),
              "step %d: loss %.9g, not %.9g", i, (double)elsewhere, (double)alone);
        artel_remote_release(r);
    }
    chief_join();
    check(artel_strategy_store(job.strategy, job.model) == ARTEL_OK &&
              artel_strategy_store(t.strategy, t.model) == ARTEL_OK,
          "store");
    chief_check_model(job.model, t.model, rule);
    artel_strategy_destroy(t.strategy);
    artel_model_destroy(t.model);
}
