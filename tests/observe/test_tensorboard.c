/* SPDX-License-Identifier: Apache-2.0 */
/* Keras' TensorBoard callback: when something is written and into which run. test_tensorboard.py reads the contents. */
#include "observe/help_observe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "observe/tensorboard.h"

static const artel__log_value items[] = {{"loss", 0.5}, {"val_loss", 0.75}};
static const artel__logs both = {2, items}, train_only = {1, items};

static size_t file_size(const char *directory)
{
    size_t size;
    char *path = only_file(directory, "events.out.tfevents."), *text = slurp(path, &size);
    free(text);
    free(path);
    return size;
}

static void runs_appear_when_they_are_written(void **state)
{
    (void)state;
    scratch s;
    artel__tensorboard *board;
    const artel__tensorboard_options options = {0};
    const artel__tensorboard_epoch epoch = {0, 0.001, 10};
    scratch_init(&s);
    assert_int_equal(artel__tensorboard_create(s.ctx, scratch_path(&s, "logs"), &options, &board), ARTEL_OK);
    assert_int_equal(artel__tensorboard_graph(board, "{}"), ARTEL_OK); /* not asked for */
    assert_int_equal(artel__tensorboard_batch_end(board, 1, train_only, 0.1), ARTEL_OK);
    assert_false(artel__is_directory(scratch_path(&s, "logs")));
    assert_int_equal(artel__tensorboard_epoch_end(board, &epoch, train_only), ARTEL_OK);
    assert_true(artel__is_directory(scratch_path(&s, "logs/train")));
    assert_false(artel__is_directory(scratch_path(&s, "logs/validation")));
    size_t before = file_size(scratch_path(&s, "logs/train"));
    assert_int_equal(artel__tensorboard_epoch_end(board, &epoch, both), ARTEL_OK);
    assert_true(file_size(scratch_path(&s, "logs/validation")) > 0);
    assert_true(file_size(scratch_path(&s, "logs/train")) > before); /* the end of an epoch flushes */
    assert_int_equal(artel__tensorboard_destroy(board), ARTEL_OK);
    scratch_fini(&s);
}

static void frequencies_are_kept(void **state)
{
    (void)state;
    scratch s;
    artel__tensorboard *board;
    scratch_init(&s);
    const artel__tensorboard_options every = {.update_freq = 3, .histogram_freq = 2};
    assert_int_equal(artel__tensorboard_create(s.ctx, scratch_path(&s, "logs"), &every, &board), ARTEL_OK);
    assert_false(artel__tensorboard_wants_batch(board, 1));
    assert_true(artel__tensorboard_wants_batch(board, 3));
    assert_true(artel__tensorboard_wants_weights(board, 0));
    assert_false(artel__tensorboard_wants_weights(board, 1));
    assert_int_equal(artel__tensorboard_destroy(board), ARTEL_OK);
    const artel__tensorboard_options negative = {.update_freq = -1};
    assert_int_equal(artel__tensorboard_create(s.ctx, "logs", &negative, &board), ARTEL_ERROR_INVALID);
    scratch_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_appear_when_they_are_written),
        cmocka_unit_test(frequencies_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
