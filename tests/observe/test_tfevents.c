/* SPDX-License-Identifier: Apache-2.0 */
/* Event files: framing, bytes equal to TensorFlow's, buckets. test_tensorboard.py reads them with TensorBoard. */
#include "observe/help_observe.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "observe/tfevents.h"

static uint64_t load_le(const char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++) value |= (uint64_t)(uint8_t)bytes[i] << (8 * i);
    return value;
}

/* Checks the frame at *at and steps over it; returns the message. */
static const char *next_record(const char *file, size_t size, size_t *at, size_t *length)
{
    assert_true(*at + 16 <= size);
    const char *frame = file + *at;
    *length = (size_t)load_le(frame, 8);
    assert_true(*length <= size - *at - 16);
    assert_int_equal(load_le(frame + 8, 4), artel__crc32c_mask(artel__crc32c(0, frame, 8)));
    assert_int_equal(load_le(frame + 12 + *length, 4), artel__crc32c_mask(artel__crc32c(0, frame + 12, *length)));
    *at += 16 + *length;
    return frame + 12;
}

static void check_hex(const char *bytes, size_t count, const char *hex)
{
    char text[1024] = "";
    assert_true(2 * count < sizeof text);
    for (size_t i = 0; i < count; i++) snprintf(text + 2 * i, 3, "%02x", (uint8_t)bytes[i]);
    assert_string_equal(text, hex);
}

static void records_are_tensorflows(void **state)
{
    (void)state;
    scratch s;
    artel__tfevents *events;
    size_t size, at = 0, length;
    float loss;
    const uint32_t loss_bits = 0x3eb8d736;
    memcpy(&loss, &loss_bits, sizeof loss);
    scratch_init(&s);
    assert_int_equal(artel__tfevents_create(s.ctx, scratch_path(&s, "logs/train"), 0, &events), ARTEL_OK);
    assert_int_equal(artel__tfevents_scalar(events, "epoch_loss", 0, loss), ARTEL_OK);
    assert_int_equal(artel__tfevents_scalar(events, "batch_loss", 300, loss), ARTEL_OK);
    assert_int_equal(artel__tfevents_keras_graph(events, "{}"), ARTEL_OK);
    assert_int_equal(artel__tfevents_text(events, "t", 1, "**hi**"), ARTEL_OK);
    char *path = strdup(artel__tfevents_path(events));
    assert_int_equal(artel__tfevents_destroy(events), ARTEL_OK);
    char *file = slurp(path, &size);
    const char *record = next_record(file, size, &at, &length);
    /* Each begins with its time: a tag byte and a double. Steps of 0 are left out. */
    check_hex(record + 9, length - 9, "1a0d627261696e2e4576656e743a3252070a05617274656c");
    record = next_record(file, size, &at, &length);
    assert_int_equal(record[0], 0x09);
    check_hex(
        record + 9, length - 9,
        "2a270a250a0a65706f63685f6c6f7373420a08011200220436d7b83e4a0b0a090a077363616c617273"); /* Keras 3.15's bytes */
    record = next_record(file, size, &at, &length);
    check_hex(record + 9, length - 9,
              "10ac022a270a250a0a62617463685f6c6f7373420a08011200220436d7b83e4a0b0a090a077363616c617273");
    record = next_record(file, size, &at, &length);
    check_hex(record + 9, length - 9,
              "2a2d0a2b0a056b657261734208080712004202"
              "7b7d4a180a160a1167726170685f6b657261735f6d6f64656c120131");
    (void)next_record(file, size, &at, &length);
    assert_int_equal(at, size);
    free(file);
    free(path);
    scratch_fini(&s);
}

static void file_names_do_not_collide(void **state)
{
    (void)state;
    scratch s;
    artel__tfevents *first, *second;
    scratch_init(&s);
    assert_int_equal(artel__tfevents_create(s.ctx, scratch_path(&s, "a"), 0, &first), ARTEL_OK);
    assert_int_equal(artel__tfevents_create(s.ctx, scratch_path(&s, "a"), 0, &second), ARTEL_OK);
    assert_string_not_equal(artel__tfevents_path(first), artel__tfevents_path(second));
    char host[256] = "", part[512];
    (void)gethostname(host, sizeof host - 1);
    snprintf(part, sizeof part, ".%s.%ld.", host, (long)getpid());
    assert_non_null(strstr(artel__tfevents_path(first), "/events.out.tfevents."));
    assert_non_null(strstr(artel__tfevents_path(first), part));
    assert_string_equal(artel__tfevents_path(first) + strlen(artel__tfevents_path(first)) - 5, ".0.v2");
    assert_int_equal(artel__tfevents_destroy(first), ARTEL_OK);
    assert_int_equal(artel__tfevents_destroy(second), ARTEL_OK);
    scratch_fini(&s);
}

static void a_directory_that_cannot_be_made_is_named(void **state)
{
    (void)state;
    scratch s;
    artel__tfevents *events = NULL;
    scratch_init(&s);
    FILE *file = fopen(scratch_path(&s, "file"), "w");
    assert_non_null(file);
    fclose(file);
    assert_true(artel__tfevents_create(s.ctx, scratch_path(&s, "file/train"), 0, &events) < 0);
    assert_non_null(strstr(artel_context_error(s.ctx)->where, "file"));
    assert_null(events);
    scratch_fini(&s);
}

static void buckets_count_every_value(void **state)
{
    (void)state;
    double rows[ARTEL__HISTOGRAM_BUCKETS][3], total = 0;
    float values[1001];
    for (int i = 0; i <= 1000; i++) values[i] = (float)i / 1000 * 3 - 1;
    artel__histogram_compute(ARTEL_DTYPE_FLOAT32, values, 1001, rows);
    for (int b = 0; b < ARTEL__HISTOGRAM_BUCKETS; b++) {
        assert_true(rows[b][2] >= 32 && rows[b][2] <= 35);
        if (b > 0) assert_true(fabs(rows[b][0] - rows[b - 1][1]) < 1e-15);
        total += rows[b][2];
    }
    assert_true(total == 1001 && rows[0][0] == -1 && rows[29][1] == 2);
}

static void buckets_of_odd_data(void **state)
{
    (void)state;
    double rows[ARTEL__HISTOGRAM_BUCKETS][3];
    const float equal[3] = {2.5f, 2.5f, 2.5f}, odd[5] = {NAN, 1, INFINITY, 2, -INFINITY};
    const double far[2] = {-1.7e308, 1.7e308};
    const int8_t small[2] = {-3, 5};
    artel__histogram_compute(ARTEL_DTYPE_FLOAT32, equal, 3, rows);
    assert_true(rows[0][0] == 2.5 && rows[0][1] == 2.5 && rows[0][2] == 0 && rows[29][0] == 2.5 && rows[29][2] == 3);
    artel__histogram_compute(ARTEL_DTYPE_FLOAT32, equal, 0, rows);
    for (int b = 0; b < ARTEL__HISTOGRAM_BUCKETS; b++)
        assert_true(rows[b][0] == 0 && rows[b][1] == 0 && rows[b][2] == 0);
    artel__histogram_compute(ARTEL_DTYPE_FLOAT32, odd, 5, rows);
    assert_true(rows[0][0] == 1 && rows[0][2] == 1 && rows[29][1] == 2 && rows[29][2] == 1);
    artel__histogram_compute(ARTEL_DTYPE_FLOAT64, far, 2, rows);
    assert_true(rows[0][2] == 1 && rows[29][2] == 1 && isfinite(rows[15][0]));
    artel__histogram_compute(ARTEL_DTYPE_INT8, small, 2, rows);
    assert_true(rows[0][0] == -3 && rows[29][1] == 5 && rows[0][2] == 1 && rows[29][2] == 1);
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    scratch s;
    artel_status status = ARTEL_ERROR_NO_MEMORY;
    const float values[2] = {1, 2};
    scratch_init(&s);
    for (uint64_t n = 1; status < 0; n++) {
        artel__tfevents *events = NULL;
        artel_context_clear(s.ctx);
        artel__fail_allocation_after(s.ctx, n);
        status = artel__tfevents_create(s.ctx, scratch_path(&s, "a"), 0, &events);
        if (status == ARTEL_OK) {
            status = artel__tfevents_histogram(events, "w", 0, ARTEL_DTYPE_FLOAT32, values, 2);
            (void)artel__tfevents_destroy(events);
        }
        if (status < 0) assert_int_equal(status, ARTEL_ERROR_NO_MEMORY);
    }
    artel__fail_allocation_after(s.ctx, 0);
    scratch_fini(&s);
}

static void steady_scalars_take_no_memory(void **state)
{
    (void)state;
    scratch s;
    artel__tfevents *events;
    scratch_init(&s);
    assert_int_equal(artel__tfevents_create(s.ctx, scratch_path(&s, "a"), 0, &events), ARTEL_OK);
    for (int i = 0; i < 2000; i++) assert_int_equal(artel__tfevents_scalar(events, "batch_loss", i, 1), ARTEL_OK);
    uint64_t calls = artel__heap_calls(s.ctx);
    for (int i = 0; i < 2000; i++) assert_int_equal(artel__tfevents_scalar(events, "batch_loss", i, 1), ARTEL_OK);
    assert_int_equal(artel__heap_calls(s.ctx), calls);
    assert_int_equal(artel__tfevents_destroy(events), ARTEL_OK);
    scratch_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_tensorflows),
        cmocka_unit_test(file_names_do_not_collide),
        cmocka_unit_test(a_directory_that_cannot_be_made_is_named),
        cmocka_unit_test(buckets_count_every_value),
        cmocka_unit_test(buckets_of_odd_data),
        cmocka_unit_test(every_failed_allocation_is_reported),
        cmocka_unit_test(steady_scalars_take_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
