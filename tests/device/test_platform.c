/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Arrays and programs on XLA's plug-in for the CPU, as the tests' virtual environment brings it; skipped where there is
 * none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "help_device.h"

enum {
    DEVICES = 2
};

static struct {
    artel_context *ctx;
    artel__arena arena;
    artel__platform *platform;
} t;

static const char add_text[] =
    "module @add attributes {mhlo.num_replicas = 1 : i32, mhlo.num_partitions = 1 : i32} {\n"
    "  func.func public @main(%0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32}, %1: tensor<2x3xf32>) -> "
    "tensor<2x3xf32> {\n"
    "    %2 = stablehlo.add %0, %1 : tensor<2x3xf32>\n"
    "    return %2 : tensor<2x3xf32>\n  }\n}\n";

static const artel_shape two_by_three = {.rank = 2, .dim = {2, 3}};

static artel__buffer *put(int device, const float *host)
{
    artel__buffer *out;
    assert_int_equal(artel__buffer_put(t.platform, device, ARTEL_DTYPE_FLOAT32, &two_by_three, host, &out), ARTEL_OK);
    return out;
}

static void expect(artel__buffer *buffer, const float *host)
{
    float found[6];
    assert_int_equal(artel__buffer_get(t.platform, buffer, found, sizeof found), ARTEL_OK);
    assert_memory_equal(found, host, sizeof found);
}

static void launch_on(artel__program *program, int device)
{
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {10, 20, 30, 40, 50, 60}, sum[] = {11, 22, 33, 44, 55, 66};
    artel__buffer *in[] = {put(device, a), put(device, b)}, *out;
    assert_int_equal(artel__program_launch(program, device, in, 2, &out), ARTEL_OK);
    expect(out, sum);
    expect(in[1], b);
    artel__buffer *again; /* the first argument was given away */
    assert_int_equal(artel__program_launch(program, device, in, 2, &again), ARTEL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(artel_context_error(t.ctx)->what, "donated"));
    artel__operation_begin(t.ctx);
    artel__buffer_release(t.platform, in[0]);
    artel__buffer_release(t.platform, in[1]);
    artel__buffer_release(t.platform, out);
}

static artel__program *compile(void)
{
    artel__program *program;
    artel_status status = artel__program_compile(
        t.platform, &(artel__program_source){"add", add_text, strlen(add_text), NULL, 0}, &program);
    if (status < 0) fail_msg("%s", artel_context_error(t.ctx)->what);
    assert_int_equal(artel__program_results(program), 1);
    return program;
}

/* One compiled program serves every device. */
static void test_launch(void **state)
{
    (void)state;
    artel__program *program = compile();
    artel__program_memory memory;
    artel__program_memory_read(program, &memory);
    assert_int_equal(memory.arguments, 48);
    assert_int_equal(memory.shared, 24);
    for (int i = 0; i < DEVICES; i++) launch_on(program, i);
    artel__program_release(program);
}

static void test_stored(void **state)
{
    (void)state;
    artel__text bytes;
    artel__program *program = compile(), *loaded;
    artel__text_init(&bytes, t.ctx);
    assert_int_equal(artel__program_store(program, &bytes), ARTEL_OK);
    artel__program_release(program);
    assert_int_equal(artel__program_load(t.platform, "add", bytes.data, bytes.length, &loaded), ARTEL_OK);
    launch_on(loaded, 1);
    artel__program_release(loaded);
    artel__text_fini(&bytes);
}

static void test_copy(void **state)
{
    (void)state;
    static const float a[] = {1, -2, 3, -4, 5, -6};
    artel__buffer *from = put(0, a), *to;
    assert_int_equal(artel__buffer_copy(t.platform, from, 1, &to), ARTEL_OK);
    artel__buffer_release(t.platform, from);
    expect(to, a);
    artel__buffer_release(t.platform, to);
}

/* However the device keeps an array, it is row-major here. */
static void test_row_major(void **state)
{
    (void)state;
    static const char text[] = "module @turned {\n  func.func public @main(%0: tensor<2x3xf32>) -> (tensor<2x3xf32> "
                               "{mhlo.layout_mode = \"{0,1}\"}) {\n    %1 = stablehlo.add %0, %0 : tensor<2x3xf32>\n"
                               "    return %1 : tensor<2x3xf32>\n  }\n}\n";
    static const float a[] = {1, 2, 3, 4, 5, 6}, twice[] = {2, 4, 6, 8, 10, 12};
    artel__program *program;
    artel__buffer *in = put(0, a), *out;
    assert_int_equal(
        artel__program_compile(t.platform, &(artel__program_source){"turned", text, strlen(text), NULL, 0}, &program),
        ARTEL_OK);
    assert_int_equal(artel__program_launch(program, 0, &in, 1, &out), ARTEL_OK);
    expect(out, twice);
    artel__buffer_release(t.platform, in);
    artel__buffer_release(t.platform, out);
    artel__program_release(program);
}

/* What the plug-in refuses is an error in its words. */
static void test_refused(void **state)
{
    (void)state;
    static const char text[] =
        "module @bad {\n  func.func public @main(%0: tensor<f32>) -> tensor<f32> {\n    %1 = stablehlo.nonsense %0 : "
        "tensor<f32>\n    return %1 : tensor<f32>\n  }\n}\n";
    artel__program *program;
    assert_int_equal(
        artel__program_compile(t.platform, &(artel__program_source){"bad", text, strlen(text), NULL, 0}, &program),
        ARTEL_ERROR_UNSUPPORTED);
    assert_string_equal(artel_context_error(t.ctx)->where, "bad");
    assert_non_null(strstr(artel_context_error(t.ctx)->what, "nonsense"));
    artel__operation_begin(t.ctx);
    static const float a[6];
    float few[2];
    artel__buffer *buffer = put(0, a), *out;
    assert_int_equal(artel__buffer_get(t.platform, buffer, few, sizeof few), ARTEL_ERROR_INTERNAL);
    artel__operation_begin(t.ctx);
    program = compile();
    assert_int_equal(artel__program_launch(program, 0, &buffer, 1, &out), ARTEL_ERROR_UNSUPPORTED);
    artel__operation_begin(t.ctx);
    artel_shape huge = {.rank = 1, .dim = {INT64_C(1) << 20}};
    assert_int_equal(artel__buffer_put(t.platform, DEVICES, ARTEL_DTYPE_FLOAT32, &huge, a, &out), ARTEL_ERROR_INTERNAL);
    artel__operation_begin(t.ctx);
    artel__program_release(program);
    artel__buffer_release(t.platform, buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_launch), cmocka_unit_test(test_stored),
                                       cmocka_unit_test(test_copy), cmocka_unit_test(test_row_major),
                                       cmocka_unit_test(test_refused)};
    int failed = device_open(DEVICES, &t.ctx, &t.arena, &t.platform);
    if (!failed) {
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        device_close(t.ctx, &t.arena, t.platform);
    }
    return failed;
}
