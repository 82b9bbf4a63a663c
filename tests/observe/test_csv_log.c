/* SPDX-License-Identifier: Apache-2.0 */
/* CSVLogger: columns, appending, what a resumed run writes again. */
#include "observe/help_observe.h"

#include <math.h>
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
static const artel__log_value validated[] = {{"loss", 1e-5}, {"accuracy", NAN}, {"val_loss", 3}, {"val_accuracy", INFINITY}};

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
    assert_int_equal(artel__csv_log_create(s.ctx, scratch_path(&s, "log.csv"), &(artel__csv_log_options){0}, &log), ARTEL_OK);
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

static void resuming_cuts_what_comes_again(void **state)
{
    (void)state;
    scratch s;
    scratch_init(&s);
    log_epochs(&s, &(artel__csv_log_options){0}, 0, 12, (artel__logs){1, two});
    log_epochs(&s, &(artel__csv_log_options){.append = true, .keep_below = 2}, 2, 3, (artel__logs){1, two});
    check_log(&s, "epoch,loss,val_loss\r\n0,0.25,NA\r\n1,0.25,NA\r\n2,0.25,NA\r\n");
    log_epochs(&s, &(artel__csv_log_options){.append = true, .keep_below = 7}, 3, 4, (artel__logs){1, two});
    check_log(&s, "epoch,loss,val_loss\r\n0,0.25,NA\r\n1,0.25,NA\r\n2,0.25,NA\r\n3,0.25,NA\r\n");
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
        cmocka_unit_test(columns_are_sorted_and_get_val_ones), cmocka_unit_test(later_columns_are_left_out),
        cmocka_unit_test(fields_are_quoted_where_needed),      cmocka_unit_test(appending_leaves_the_header_out),
        cmocka_unit_test(resuming_cuts_what_comes_again),      cmocka_unit_test(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
