/* SPDX-License-Identifier: Apache-2.0 */
/* CSVLogger: columns, appending, what a resumed run writes again. */
#include "observe/help_observe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "observe/csv_log.h"

static void log_epochs(scratch *s, const artel__csv_log_options *options, int64_t from, int64_t to, artel__logs logs)
{
    artel__csv_log *log;
    assert_int_equal(artel__csv_log_create(s->ctx, scratch_path(s, "log.csv"), options, &log), ARTEL_OK);
    for (int64_t epoch = from; epoch < to; epoch++) assert_int_equal(artel__csv_log_epoch(log, epoch, logs), ARTEL_OK);
    assert_int_equal(artel__csv_log_destroy(log), ARTEL_OK);
}

static void check_log(scratch *s, const char *expected)
{
    char *text = slurp(scratch_path(s, "log.csv"), NULL);
    assert_string_equal(text, expected);
    free(text);
}

static const artel__log_value two[] = {{"loss", (double)0.25f}, {"accuracy", 1}};
static const artel__log_value validated[] = {
    {"loss", 1e-5}, {"accuracy", NAN}, {"val_loss", 3}, {"val_accuracy", INFINITY}};

static void columns_are_sorted_and_get_val_ones(void **state)
{
    (void)state;
    scratch s;
    scratch_init(&s);
    log_epochs(&s, &(artel__csv_log_options){0}, 0, 2, (artel__logs){2, two});
    check_log(&s, "epoch,accuracy,loss,val_accuracy,val_loss\r\n0,1.0,0.25,NA,NA\r\n1,1.0,0.25,NA,NA\r\n");
    log_epochs(&s, &(artel__csv_log_options){.separator = ';'}, 5, 6, (artel__logs){4, validated});
    check_log(&s, "epoch;accuracy;loss;val_accuracy;val_loss\r\n5;nan;1e-05;inf;3.0\r\n");
    scratch_fini(&s);
}

static void later_columns_are_left_out(void **state)
{
    (void)state;
    scratch s;
    artel__csv_log *log;
    scratch_init(&s);
    assert_int_equal(artel__csv_log_create(s.ctx, scratch_path(&s, "log.csv"), &(artel__csv_log_options){0}, &log),
                     ARTEL_OK);
    assert_int_equal(artel__csv_log_epoch(log, 0, (artel__logs){1, two}), ARTEL_OK);
    assert_int_equal(artel__csv_log_epoch(log, 1, (artel__logs){4, validated}), ARTEL_OK);
    assert_int_equal(artel__csv_log_destroy(log), ARTEL_OK);
    check_log(&s, "epoch,loss,val_loss\r\n0,0.25,NA\r\n1,1e-05,3.0\r\n");
    scratch_fini(&s);
}

static void fields_are_quoted_where_needed(void **state)
{
    (void)state;
    scratch s;
    const artel__log_value odd[] = {{"a,b", 0.5}, {"c\"d", 1.5}, {"val_x", 2}};
    scratch_init(&s);
    log_epochs(&s, &(artel__csv_log_options){0}, 0, 1, (artel__logs){3, odd});
    check_log(&s, "epoch,\"a,b\",\"c\"\"d\",val_x\r\n0,0.5,1.5,2.0\r\n");
    scratch_fini(&s);
}

static void appending_leaves_the_header_out(void **state)
{
    (void)state;
    scratch s;
    scratch_init(&s);
    const artel__csv_log_options append = {.append = true, .keep_below = -1};
    log_epochs(&s, &append, 0, 1, (artel__logs){4, validated});
    log_epochs(&s, &append, 1, 2, (artel__logs){4, validated});
    check_log(&s, "epoch,accuracy,loss,val_accuracy,val_loss\r\n0,nan,1e-05,inf,3.0\r\n1,nan,1e-05,inf,3.0\r\n");
    scratch_fini(&s);
}

static artel__csv_log *go_on(scratch *s, int64_t epoch)
{
    artel__csv_log *log;
    const artel__csv_log_options options = {.append = true, .keep_below = epoch};
    assert_int_equal(artel__csv_log_create(s->ctx, scratch_path(s, "log.csv"), &options, &log), ARTEL_OK);
    return log;
}

static void resuming_writes_again_what_differs(void **state)
{
    (void)state;
    scratch s;
    scratch_init(&s);
    log_epochs(&s, &(artel__csv_log_options){0}, 0, 4, (artel__logs){1, two});
    log_epochs(&s, &(artel__csv_log_options){.append = true, .keep_below = 1}, 1, 2, (artel__logs){1, validated});
    check_log(&s, "epoch,loss,val_loss\r\n0,0.25,NA\r\n1,1e-05,NA\r\n");
    log_epochs(&s, &(artel__csv_log_options){.append = true, .keep_below = 7}, 2, 3, (artel__logs){1, two});
    check_log(&s, "epoch,loss,val_loss\r\n0,0.25,NA\r\n1,1e-05,NA\r\n2,0.25,NA\r\n");
    scratch_fini(&s);
}

static void what_comes_again_as_it_was_stays(void **state)
{
    (void)state;
    scratch s;
    static const char *const whole = "epoch,loss,val_loss\r\n0,0.25,NA\r\n1,0.25,NA\r\n2,0.25,NA\r\n3,0.25,NA\r\n";
    scratch_init(&s);
    log_epochs(&s, &(artel__csv_log_options){0}, 0, 4, (artel__logs){1, two});
    artel__csv_log *log = go_on(&s, 1);
    assert_int_equal(artel__csv_log_epoch(log, 1, (artel__logs){1, two}), ARTEL_OK);
    check_log(&s, whole); /* stopped here, it has taken nothing away */
    assert_int_equal(artel__csv_log_epoch(log, 2, (artel__logs){1, two}), ARTEL_OK);
    assert_int_equal(artel__csv_log_finish(log), ARTEL_OK); /* ended here, it was the shorter run */
    check_log(&s, "epoch,loss,val_loss\r\n0,0.25,NA\r\n1,0.25,NA\r\n2,0.25,NA\r\n");
    assert_int_equal(artel__csv_log_destroy(log), ARTEL_OK);
    scratch_fini(&s);
}

/* Both halves of a cluster that fell apart write it. */
static void two_that_write_the_same_write_it_once(void **state)
{
    (void)state;
    scratch s;
    artel__csv_log *log[2];
    scratch_init(&s);
    assert_int_equal(artel__csv_log_create(s.ctx, scratch_path(&s, "log.csv"), &(artel__csv_log_options){0}, &log[0]),
                     ARTEL_OK);
    assert_int_equal(artel__csv_log_epoch(log[0], 0, (artel__logs){1, two}), ARTEL_OK);
    log[1] = go_on(&s, 1);
    for (int i = 0; i < 6; i++) {
        static const int writer[] = {0, 1, 0, 0, 1, 1}, epoch[] = {1, 1, 2, 3, 2, 3};
        assert_int_equal(artel__csv_log_epoch(log[writer[i]], epoch[i], (artel__logs){1, two}), ARTEL_OK);
    }
    check_log(&s, "epoch,loss,val_loss\r\n0,0.25,NA\r\n1,0.25,NA\r\n2,0.25,NA\r\n3,0.25,NA\r\n");
    for (int i = 0; i < 2; i++) assert_int_equal(artel__csv_log_destroy(log[i]), ARTEL_OK);
    scratch_fini(&s);
}

static void a_run_that_goes_on_keeps_its_columns(void **state)
{
    (void)state;
    scratch s;
    const artel__log_value odd[] = {{"a,b", 0.5}, {"c\"d", 1.5}};
    const artel__log_value later[] = {{"val_a,b", 2}, {"a,b", 0.5}, {"c\"d", 1.5}};
    scratch_init(&s);
    log_epochs(&s, &(artel__csv_log_options){0}, 0, 1, (artel__logs){2, odd});
    log_epochs(&s, &(artel__csv_log_options){.append = true, .keep_below = 1}, 1, 2, (artel__logs){3, later});
    check_log(&s, "epoch,\"a,b\",\"c\"\"d\",\"val_a,b\",\"val_c\"\"d\"\r\n0,0.5,1.5,NA,NA\r\n1,0.5,1.5,2.0,NA\r\n");
    scratch_fini(&s);
}

static void write_log(scratch *s, const char *text)
{
    FILE *file = fopen(scratch_path(s, "log.csv"), "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void earlier_runs_and_torn_lines(void **state)
{
    (void)state;
    scratch s;
    scratch_init(&s);
    write_log(&s, "epoch,loss\r\n0,7.0\r\n1,7.0\r\n0,8.0\r\n1,8.0\r\n2,8"); /* two runs; the second was torn off */
    log_epochs(&s, &(artel__csv_log_options){.append = true, .keep_below = 2}, 2, 3, (artel__logs){1, two});
    check_log(&s, "epoch,loss\r\n0,7.0\r\n1,7.0\r\n0,8.0\r\n1,8.0\r\n2,0.25\r\n");
    artel__csv_log *log = go_on(&s, 3);
    write_log(&s, "");
    assert_int_equal(artel__csv_log_epoch(log, 3, (artel__logs){1, two}), ARTEL_OK);
    check_log(&s, "3,0.25\r\n"); /* emptied by somebody else: no hole */
    assert_int_equal(artel__csv_log_destroy(log), ARTEL_OK);
    scratch_fini(&s);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    scratch s;
    artel__csv_log *log = NULL;
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    scratch_init(&s);
    for (uint64_t n = 1; status < 0; n++) {
        artel_context_clear(s.ctx);
        artel__fail_allocation_after(s.ctx, n);
        status = artel__csv_log_create(s.ctx, scratch_path(&s, "log.csv"), &(artel__csv_log_options){0}, &log);
        if (status == ARTEL_OK) {
            status = artel__csv_log_epoch(log, 0, (artel__logs){4, validated});
            (void)artel__csv_log_destroy(log);
        }
        if (status < 0) assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
    }
    artel__fail_allocation_after(s.ctx, 0);
    scratch_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_sorted_and_get_val_ones),   cmocka_unit_test(later_columns_are_left_out),
        cmocka_unit_test(fields_are_quoted_where_needed),        cmocka_unit_test(appending_leaves_the_header_out),
        cmocka_unit_test(resuming_writes_again_what_differs),    cmocka_unit_test(what_comes_again_as_it_was_stays),
        cmocka_unit_test(two_that_write_the_same_write_it_once), cmocka_unit_test(a_run_that_goes_on_keeps_its_columns),
        cmocka_unit_test(earlier_runs_and_torn_lines),           cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
