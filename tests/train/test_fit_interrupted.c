/* SPDX-License-Identifier: Apache-2.0 */
/* Fits end in the same bits when they are interrupted anywhere and continued; checkpoints that are not theirs are
 * refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "help_fit.h"

/* -- interruption -- */

static const char callbacks[] =
    "[{\"class_name\": \"EarlyStopping\", \"config\": {\"monitor\": \"loss\", \"patience\": 3, "
    "\"restore_best_weights\": true}}, {\"class_name\": \"ReduceLROnPlateau\", \"config\": {\"monitor\": "
    "\"loss\", \"factor\": 0.5, \"patience\": 0, \"min_delta\": 10.0}}]";

static artel_fit_options long_run(fit_bench *b, int replicas, char *directory)
{
    artel_fit_options o = fit_options(b, 16, replicas, replicas);
    snprintf(directory, 128, "%s/ckpt", b->folder);
    o.epochs = 4; /* of 3 steps */
    o.callbacks = callbacks;
    o.checkpoint_dir = directory;
    o.save_every = "100epochs";
    return o;
}

/* A model as a new process would have it. */
static void renew(fit_bench *b, fit_bench *fresh)
{
    fit_open_mlp(fresh, 40);
    rmdir(fresh->folder);
    strcpy(fresh->folder, b->folder);
}

static void uninterrupted(char digest[65], double last_losses[4])
{
    fit_bench b;
    char directory[128];
    artel_history *history;
    fit_open_mlp(&b, 40);
    artel_fit_options o = long_run(&b, 1, directory);
    fit_expect(&b, artel_model_fit(b.model, b.data, &o, &history), ARTEL_OK);
    int64_t epochs;
    const double *loss = artel_history_values(history, "loss", &epochs);
    assert_int_equal(epochs, 4);
    memcpy(last_losses, loss, 4 * sizeof *loss);
    assert_int_equal(b.steps, 12);
    assert_int_equal(artel_model_digest(b.model, digest), ARTEL_OK);
    artel_history_destroy(history);
    fit_close(&b);
}

static void test_interrupted_at_every_step(void **state)
{
    (void)state;
    char wanted[65], digest[65], directory[128];
    double losses[4];
    uninterrupted(wanted, losses);
    for (int64_t stop = 1; stop < 12; stop++) {
        fit_bench b, again;
        artel_history *history;
        int64_t epochs;
        fit_open_mlp(&b, 40);
        artel_fit_options o = long_run(&b, 1, directory);
        b.stop_at = stop;
        fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_PREEMPTED);
        renew(&b, &again);
        o = long_run(&again, stop % 3 + 1, directory);
        o.recompute = stop % 2 ? 100 : 0; /* no part of what a run is known by */
        fit_expect(&again, artel_model_fit(again.model, again.data, &o, &history), ARTEL_OK);
        assert_int_equal(again.resumed, stop);
        assert_int_equal(artel_model_digest(again.model, digest), ARTEL_OK);
        assert_string_equal(digest, wanted);
        const double *loss = artel_history_values(history, "loss", &epochs);
        assert_int_equal(epochs, 4);
        assert_memory_equal(loss, losses, sizeof losses);
        artel_history_destroy(history);
        fit_close(&again);
        b.folder[0] = 0; /* the other took it over */
        fit_close(&b);
    }
}

static int64_t number_in(json_t *manifest, const char *key)
{
    return json_integer_value(json_object_get(manifest, key));
}

/* A position counts the units that are in the state beside it: those of steps, batches of validation, ends of epochs.
 * Tasks that begin with checkpoints of other moments compare states by it. */
static void check_position(fit_bench *b, const char *directory, int64_t step)
{
    char path[256];
    json_t *manifest;
    snprintf(path, sizeof path, "%s/ckpt-%d/manifest.json", directory, (int)step);
    fit_expect(b, artel__json_load_file(b->ctx, path, &manifest), ARTEL_OK);
    int64_t rows = number_in(manifest, "validation_row"), ended = number_in(manifest, "epoch");
    assert_int_equal(number_in(manifest, "step"), step);
    assert_int_equal(number_in(manifest, "unit"),
                     step + (rows + 15) / 16 + 2 * ended); /* an epoch: one batch of validation, its end */
    json_decref(manifest);
}

static void test_positions(void **state)
{
    (void)state;
    fit_bench b;
    char directory[128];
    fit_open_mlp(&b, 40);
    artel_fit_options o = long_run(&b, 1, directory);
    o.validation_split = 0.2; /* 32 rows in 2 steps, 8 in one batch */
    o.save_every = "1step";
    o.keep = 100;
    fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_OK);
    for (int64_t step = 1; step < 8; step++) check_position(&b, directory, step);
    for (int64_t step = 1; step < 8; step++) {
        fit_bench stopped;
        renew(&b, &stopped);
        char other[160];
        snprintf(other, sizeof other, "%s/stopped-%d", b.folder, (int)step);
        o = long_run(&stopped, 1, directory);
        o.validation_split = 0.2;
        o.checkpoint_dir = other;
        stopped.stop_at = step;
        fit_expect(&stopped, artel_model_fit(stopped.model, stopped.data, &o, NULL), ARTEL_ERROR_PREEMPTED);
        check_position(&stopped, other, step);
        stopped.folder[0] = 0; /* the other's */
        fit_close(&stopped);
    }
    fit_close(&b);
}

/* Cancelled, the newest checkpoint damaged: the older one counts. Only `keep` stay. Another seed is refused by name. */
static void test_damaged_and_foreign(void **state)
{
    (void)state;
    char wanted[65], digest[65], directory[128], path[256];
    double losses[4];
    uninterrupted(wanted, losses);
    fit_bench b, again;
    fit_open_mlp(&b, 40);
    artel_fit_options o = long_run(&b, 1, directory);
    o.save_every = "2steps";
    o.keep = 2;
    b.stop_at = 9;
    b.cancel = true;
    fit_expect(&b, artel_model_fit(b.model, b.data, &o, NULL), ARTEL_ERROR_CANCELLED);
    snprintf(path, sizeof path, "%s/ckpt-4", directory);
    assert_int_not_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/ckpt-6", directory);
    assert_int_equal(access(path, F_OK), 0);
    snprintf(path, sizeof path, "%s/ckpt-8/state.safetensors", directory);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, -5, SEEK_END);
    fputc(0x5a, file);
    fclose(file);
    renew(&b, &again);
    o = long_run(&again, 2, directory);
    o.seed = 6;
    assert_true(artel_model_fit(again.model, again.data, &o, NULL) < 0);
    assert_non_null(strstr(artel_context_error(again.ctx)->what, "seed"));
    assert_null(strstr(artel_context_error(again.ctx)->what, "batch size"));
    again.folder[0] = 0;
    fit_close(&again);
    renew(&b, &again);
    o = long_run(&again, 2, directory);
    fit_expect(&again, artel_model_fit(again.model, again.data, &o, NULL), ARTEL_OK);
    assert_int_equal(again.resumed, 6);
    assert_int_equal(artel_model_digest(again.model, digest), ARTEL_OK);
    assert_string_equal(digest, wanted);
    fit_close(&again);
    b.folder[0] = 0; /* the other took it over */
    fit_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupted_at_every_step),
        cmocka_unit_test(test_positions),
        cmocka_unit_test(test_damaged_and_foreign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
