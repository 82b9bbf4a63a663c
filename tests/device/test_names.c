/* SPDX-License-Identifier: Apache-2.0 */
/* Names of devices: which of them mean devices, which the cores, and which nothing; artel's words and TensorFlow's.
 * Nothing is opened. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "artel/context.h"
#include "device/select.h"

static void expect_of(const char *text, bool mixed, artel_status wanted, bool device)
{
    artel_context *ctx;
    bool named = !device;
    assert_int_equal(artel_context_create(NULL, &ctx), ARTEL_OK);
    artel__device_request request = {.device = text, .mixed = mixed};
    artel_status status = artel__devices_named(ctx, &request, &named);
    if (status != wanted || (status == ARTEL_OK && named != device))
        print_error("\"%s\": status %d, %s\n", text ? text : "NULL", status, named ? "devices" : "cores");
    assert_int_equal(status, wanted);
    if (status == ARTEL_OK) assert_int_equal(named, device);
    artel_context_destroy(ctx);
}

static void expect(const char *text, artel_status wanted, bool device)
{
    expect_of(text, false, wanted, device);
}

static void devices(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "gpu",
        "cuda:0",
        "rocm:1",
        "oneapi",
        "tpu",
        "cpu:xla",
        "cpu:xla:7",
        "GPU:0",
        "/gpu:0",
        "/GPU:1",
        "/device:GPU:0",
        "/device:TPU:3",
        "device:gpu:2",
        "/job:worker/task:1/device:GPU:0",
        "/job:worker/task:1/gpu:0",
        "/job:worker/replica:0/task:12/device:GPU:4095",
        "/job:localhost/device:GPU:0",
        "/task:3/GPU:0",
        "gpu:*",
        "/device:GPU:*",
        "/job:worker/task:0/device:GPU:*",
        "gpu:1,gpu:0",
        "/gpu:0,/gpu:1",
        "/job:worker/task:0/device:GPU:0,/job:worker/task:0/device:GPU:1",
        "cpu:xla:5,cpu:xla:2",
        "/gpu:0,GPU:1,gpu:2",
        "/gpu:0, /gpu:1",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect(texts[i], ARTEL_OK, true);
}

static void cores(void **state)
{
    (void)state;
    static const char *const texts[] = {NULL,     "",       "cpu",           "CPU",
                                        "cpu:0",  "/cpu:0", "/device:CPU:0", "/job:worker/task:1/device:CPU:0",
                                        "/CPU:*", "CPU:0"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect(texts[i], ARTEL_OK, false);
}

static void nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "gpus",
        "/",
        "gpu:",
        "gpu:x",
        "gpu:-1",
        "gpu:4096",
        "gpu:0:1",
        "cpu:banana",
        "cpu:xlab",
        "auto:3",
        "/jbo:worker/gpu:0",
        "/job:/gpu:0",
        "/task:x/gpu:0",
        "/task:-1/gpu:0",
        "/replica/gpu:0",
        "/job:a:b/gpu:0",
        "/gpu:0/task:1",
        "/job:worker/task:1",
        "/job:worker/task:1/",
        "gpu:0,",
        ",gpu:0",
        "gpu:0,,gpu:1",
        "cuda:0,tpu:1",
        "gpu:0,gpu:0",
        "/gpu:0,/device:GPU:0",
        "device:device:gpu:0",
        " gpu:0",
        "gpu:0, ",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) expect(texts[i], ARTEL_ERROR_INVALID, false);
    expect("cpu,gpu:0", ARTEL_ERROR_UNSUPPORTED, false);
    expect("gpu,gpu:1", ARTEL_ERROR_UNSUPPORTED, false);
    expect("/cpu:0,/cpu:1", ARTEL_ERROR_UNSUPPORTED, false);
    expect("gpu:*,gpu:1", ARTEL_ERROR_UNSUPPORTED, false);
}

/* `count` times `name`, and `last` behind. */
static const char *list(const char *name, int count, const char *last)
{
    static char text[1024];
    size_t length = 0;
    for (int i = 0; i < count; i++) length += (size_t)snprintf(text + length, sizeof text - length, "%s,", name);
    snprintf(text + length, sizeof text - length, "%s", last);
    return text;
}

static void long_lists(void **state)
{
    (void)state;
    expect_of(list("cpu", 63, "cuda:0"), true, ARTEL_OK, true);
    expect_of(list("cpu", 64, "cuda:0"), true, ARTEL_ERROR_INVALID, false);
    expect_of(list("cuda:0,cpu", 32, "cpu"), true, ARTEL_ERROR_INVALID, false);
    expect_of(list("cpu", 64, "cpu"), true, ARTEL_ERROR_INVALID, false);
    expect_of(list("gpu", 64, "auto"), false, ARTEL_ERROR_INVALID, false);
    expect_of(list("cpu", 63, "cuda:0"), false, ARTEL_ERROR_UNSUPPORTED, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(devices), cmocka_unit_test(cores), cmocka_unit_test(nothing),
                                       cmocka_unit_test(long_lists)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
