/* SPDX-License-Identifier: Apache-2.0 */
/* The progress bar with a clock that the test moves: terminal and pipe, time left, redrawing. */
#include "observe/help_observe.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "observe/progress.h"

typedef struct bar {
    scratch s;
    int fd;
    int64_t now;
    artel__progress *progress;
} bar;

static int64_t bar_clock(void *user)
{
    return ((bar *)user)->now;
}

static void bar_init(bar *b, int verbose, int terminal, int columns)
{
    scratch_init(&b->s);
    b->fd = capture_open();
    b->now = 1000000000;
    const artel__progress_options options = {
        .fd = b->fd, .verbose = verbose, .terminal = terminal, .columns = columns, .clock = bar_clock, .clock_user = b};
    assert_int_equal(artel__progress_create(b->s.ctx, &options, &b->progress), ARTEL_OK);
}

static void bar_fini(bar *b, const char *expected)
{
    artel__progress_destroy(b->progress);
    char *text = capture_text(b->fd);
    assert_string_equal(text, expected);
    free(text);
    close(b->fd);
    scratch_fini(&b->s);
}

static void pass(bar *b, double seconds)
{
    b->now += (int64_t)(seconds * 1e9);
}

static const artel__log_value items[] = {{"accuracy", 0.77}, {"loss", 0.00066}};
static const artel__logs logs = {2, items};

#define CELLS5 "━━━━━"
#define CELLS10 CELLS5 CELLS5
#define CELLS20 CELLS10 CELLS10

static void draws_on_a_terminal(void **state)
{
    (void)state;
    bar b;
    bar_init(&b, 1, 1, 100);
    artel__progress_begin(b.progress, 0, 5, 10);
    pass(&b, 2);
    artel__progress_update(b.progress, 1, logs);
    pass(&b, 0.01);
    artel__progress_update(b.progress, 2, logs); /* too early to be drawn */
    pass(&b, 0.39);
    artel__progress_update(b.progress, 5, logs);
    pass(&b, 0.5);
    artel__progress_end(b.progress, logs);
    bar_fini(&b,
             "Epoch 1/5\n"
             "\r\x1b[1m 1/10\x1b[0m \x1b[32m━━\x1b[0m\x1b[37m" CELLS10 CELLS5 "━━━\x1b[0m \x1b[1m18s\x1b[0m 2s/step"
             " - accuracy: 0.7700 - loss: 6.6000e-04\x1b[K"
             "\r\x1b[1m 5/10\x1b[0m \x1b[32m" CELLS10 "\x1b[0m\x1b[37m" CELLS10 "\x1b[0m \x1b[1m0s\x1b[0m 100ms/step"
             " - accuracy: 0.7700 - loss: 6.6000e-04\x1b[K"
             "\r\x1b[1m10/10\x1b[0m \x1b[32m" CELLS20 "\x1b[0m\x1b[37m\x1b[0m \x1b[1m3s\x1b[0m 100ms/step"
             " - accuracy: 0.7700 - loss: 6.6000e-04\x1b[K\n");
}

static void a_pipe_gets_the_last_state_plain(void **state)
{
    (void)state;
    bar b;
    bar_init(&b, 1, -1, 0);
    for (int epoch = 0; epoch < 2; epoch++) {
        artel__progress_begin(b.progress, epoch, 2, 469);
        for (int i = 1; i <= 469; i++) {
            pass(&b, 0.017);
            artel__progress_update(b.progress, i, logs);
        }
        artel__progress_end(b.progress, logs);
    }
    bar_fini(&b, "Epoch 1/2\n469/469 " CELLS20 " 8s 17ms/step - accuracy: 0.7700 - loss: 6.6000e-04\n"
                 "Epoch 2/2\n469/469 " CELLS20 " 8s 17ms/step - accuracy: 0.7700 - loss: 6.6000e-04\n");
}

static void verbose_two_is_a_line_an_epoch(void **state)
{
    (void)state;
    bar b;
    bar_init(&b, 2, 1, 0);
    artel__progress_begin(b.progress, 0, 1, 469);
    artel__progress_update(b.progress, 1, logs);
    pass(&b, 8.2);
    artel__progress_end(b.progress, logs);
    bar_fini(&b, "469/469 - 8s - 17ms/step - accuracy: 0.7700 - loss: 6.6000e-04\n");
}

/* The time is that of the steps made here, the count that of the epoch. */
static void goes_on_in_the_middle(void **state)
{
    (void)state;
    for (int verbose = 1; verbose <= 2; verbose++) {
        bar b;
        bar_init(&b, verbose, 0, 0);
        artel__progress_go_on(b.progress, 1, 3, 10, 6);
        for (int i = 7; i <= 10; i++) {
            pass(&b, 2);
            artel__progress_update(b.progress, i, logs);
        }
        artel__progress_end(b.progress, logs);
        bar_fini(&b, verbose == 1 ? "Epoch 2/3\n10/10 " CELLS20 " 8s 2s/step - accuracy: 0.7700 - loss: 6.6000e-04\n"
                                  : "Epoch 2/3\n10/10 - 8s - 2s/step - accuracy: 0.7700 - loss: 6.6000e-04\n");
    }
}

static void verbose_zero_is_silent(void **state)
{
    (void)state;
    bar b;
    bar_init(&b, 0, 1, 0);
    artel__progress_begin(b.progress, 0, 3, 4);
    artel__progress_update(b.progress, 1, logs);
    artel__progress_end(b.progress, logs);
    bar_fini(&b, "");
    artel__progress_begin(NULL, 0, 1, 1);
    artel__progress_update(NULL, 1, logs);
    artel__progress_end(NULL, logs);
    artel__progress_destroy(NULL);
}

static void unknown_length_is_counted(void **state)
{
    (void)state;
    bar b;
    bar_init(&b, 1, 0, 0);
    artel__progress_begin(b.progress, 0, 1, 0);
    for (int i = 1; i <= 3; i++) {
        pass(&b, 0.0001);
        artel__progress_update(b.progress, i, logs);
    }
    artel__progress_end(b.progress, (artel__logs){0, NULL});
    bar_fini(&b, "3/3 " CELLS20 " 0s 100us/step\n");
}

static void time_left_above_minutes_and_hours(void **state)
{
    (void)state;
    bar b;
    bar_init(&b, 1, 1, 80);
    artel__progress_begin(b.progress, 0, 1, 3000);
    pass(&b, 1.5);
    artel__progress_update(b.progress, 1, (artel__logs){0, NULL});
    pass(&b, 0.25);
    artel__progress_update(b.progress, 2, (artel__logs){0, NULL});
    artel__progress_destroy(b.progress);
    char *text = capture_text(b.fd);
    assert_non_null(strstr(text, "\x1b[1m1:14:58\x1b[0m 2s/step"));
    assert_non_null(strstr(text, "\x1b[1m12:29\x1b[0m 250ms/step"));
    assert_true(text[strlen(text) - 1] == '\n'); /* the open line was ended */
    free(text);
    close(b.fd);
    scratch_fini(&b.s);
}

static void a_narrow_terminal_cuts_the_running_line(void **state)
{
    (void)state;
    bar b;
    bar_init(&b, 1, 1, 60);
    artel__progress_begin(b.progress, 0, 1, 10);
    pass(&b, 1);
    artel__progress_update(b.progress, 1, logs);
    pass(&b, 1);
    artel__progress_pause(b.progress);
    artel__progress_end(b.progress, logs);
    bar_fini(&b, "\r\x1b[1m 1/10\x1b[0m \x1b[32m━━\x1b[0m\x1b[37m" CELLS10 CELLS5 "━━━\x1b[0m \x1b[1m9s\x1b[0m 1s/step"
                 " - accuracy: 0.7700\x1b[K"
                 "\r\x1b[K"
                 "\r\x1b[1m10/10\x1b[0m \x1b[32m" CELLS20 "\x1b[0m\x1b[37m\x1b[0m \x1b[1m2s\x1b[0m 111ms/step"
                 " - accuracy: 0.7700 - loss: 6.6000e-04\x1b[K\n");
}

static void rows_stand_below_on_a_terminal(void **state)
{
    (void)state;
    bar b;
    bar_init(&b, 1, 1, 40);
    artel__progress_begin(b.progress, 0, 1, 10);
    pass(&b, 1);
    assert_true(artel__progress_wants_rows(b.progress));
    artel__progress_rows(b.progress, "one\ntwo, which is longer than the terminal is wide\n");
    assert_false(artel__progress_wants_rows(b.progress));
    artel__progress_update(b.progress, 5, (artel__logs){0, NULL});
    pass(&b, 1);
    artel__progress_rows(b.progress, "one\n");
    artel__progress_update(b.progress, 10, (artel__logs){0, NULL});
    artel__progress_pause(b.progress);
    artel__progress_update(b.progress, 10, (artel__logs){0, NULL});
    artel__progress_end(b.progress, (artel__logs){0, NULL});
    bar_fini(&b, "\r\x1b[1m 5/10\x1b[0m \x1b[32m" CELLS10 "\x1b[0m\x1b[37m" CELLS10
                 "\x1b[0m \x1b[1m1s\x1b[0m 200ms/step\x1b[K"
                 "\none\x1b[K\ntwo, which is longer than the terminal \x1b[K\x1b[2A\r"
                 "\r\x1b[1m10/10\x1b[0m \x1b[32m" CELLS20 "\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 200ms/step\x1b[K"
                 "\none\x1b[K\n\x1b[J\x1b[A\x1b[1A\r"
                 "\r\x1b[J"
                 "\r\x1b[1m10/10\x1b[0m \x1b[32m" CELLS20 "\x1b[0m\x1b[37m\x1b[0m \x1b[1m0s\x1b[0m 200ms/step\x1b[K"
                 "\none\x1b[K\x1b[1A\r"
                 "\r\x1b[1m10/10\x1b[0m \x1b[32m" CELLS20
                 "\x1b[0m\x1b[37m\x1b[0m \x1b[1m2s\x1b[0m 200ms/step\x1b[K\n\x1b[J");
}

static void a_pipe_gets_no_rows(void **state)
{
    (void)state;
    bar b;
    bar_init(&b, 1, 0, 40);
    artel__progress_begin(b.progress, 0, 1, 10);
    assert_false(artel__progress_wants_rows(b.progress));
    artel__progress_rows(b.progress, "one\n");
    pass(&b, 2);
    artel__progress_update(b.progress, 10, (artel__logs){0, NULL});
    artel__progress_end(b.progress, (artel__logs){0, NULL});
    bar_fini(&b, "10/10 " CELLS20 " 2s 200ms/step\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_on_a_terminal),
        cmocka_unit_test(a_pipe_gets_the_last_state_plain),
        cmocka_unit_test(verbose_two_is_a_line_an_epoch),
        cmocka_unit_test(goes_on_in_the_middle),
        cmocka_unit_test(verbose_zero_is_silent),
        cmocka_unit_test(unknown_length_is_counted),
        cmocka_unit_test(time_left_above_minutes_and_hours),
        cmocka_unit_test(a_narrow_terminal_cuts_the_running_line),
        cmocka_unit_test(rows_stand_below_on_a_terminal),
        cmocka_unit_test(a_pipe_gets_no_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
