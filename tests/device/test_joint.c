/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* Programs of several replicas on XLA's plug-in for the CPU: sums, what all have, on devices in any order, compiled and
 * loaded again; many launches on their way, beside those of single devices, on all of a plug-in's devices; what is
 * asked of more devices than it has. Skipped without it. With ARTEL_TEST_PJRT=FOLDER, laid out as site-packages, also
 * whether the compilers for an H100 and for a TPU take them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/joint.h"
#include "graph/hlo.h"
#include "help_device.h"

enum {
    REPLICAS = 3,
    COUNT = 5,
    ALL = 8,   /* devices */
    WIDE = 64, /* matrices of many launches */
    CHAIN = 4, /* sums of one of them */
    LAUNCHES = 400
};

static struct {
    artel_context *ctx;
    artel__arena arena;
    artel__platform *platform;
} t;

static const int devices[REPLICAS] = {5, 2, 7};

static void write_text(int replicas, artel__text *out)
{
    static const artel_dtype types[] = {ARTEL_DTYPE_FLOAT32, ARTEL_DTYPE_FLOAT64, ARTEL_DTYPE_INT64};
    artel__hlo_value in[3], result[4];
    artel__hlo h;
    artel__hlo_init(&h, t.ctx);
    h.replicas = replicas;
    for (int i = 0; i < 3; i++)
        in[i] = artel__hlo_argument(&h, &(artel__hlo_type){.dtype = types[i], .rank = 1, .dim = {COUNT}}, -1);
    for (int i = 0; i < 2; i++) result[i] = artel__hlo_all_sum(&h, in[i]);
    for (int i = 1; i < 3; i++) result[i + 1] = artel__hlo_all_gather(&h, in[i]);
    artel__text_init(out, t.ctx);
    assert_int_equal(artel__hlo_finish(&h, result, 4, out), ARTEL_OK);
    artel__hlo_fini(&h);
}

static void *put(artel_dtype dtype, int device, const void *host)
{
    artel_shape shape = {.rank = 1, .dim = {COUNT}};
    artel__buffer *out;
    assert_int_equal(artel__buffer_put(t.platform, device, dtype, &shape, host, &out), ARTEL_OK);
    return out;
}

/* Replica r has r + 1, with a fraction that float64 keeps, and the integers from 10 r. */
static void put_all(artel__buffer *in[REPLICAS][3])
{
    for (int r = 0; r < REPLICAS; r++) {
        float narrow[COUNT];
        double wide[COUNT];
        int64_t whole[COUNT];
        for (int i = 0; i < COUNT; i++) {
            narrow[i] = (float)(r + 1 + i);
            wide[i] = r + 1 + i + 0x1p-40;
            whole[i] = 10 * r + i;
        }
        in[r][0] = put(ARTEL_DTYPE_FLOAT32, devices[r], narrow);
        in[r][1] = put(ARTEL_DTYPE_FLOAT64, devices[r], wide);
        in[r][2] = put(ARTEL_DTYPE_INT64, devices[r], whole);
    }
}

static void expect_replica(artel__buffer *const out[4])
{
    float narrow[COUNT];
    double wide[COUNT], wides[REPLICAS][COUNT];
    int64_t whole[REPLICAS][COUNT];
    assert_int_equal(artel__buffer_get(t.platform, out[0], narrow, sizeof narrow), ARTEL_OK);
    assert_int_equal(artel__buffer_get(t.platform, out[1], wide, sizeof wide), ARTEL_OK);
    assert_int_equal(artel__buffer_get(t.platform, out[2], wides, sizeof wides), ARTEL_OK);
    assert_int_equal(artel__buffer_get(t.platform, out[3], whole, sizeof whole), ARTEL_OK);
    for (int i = 0; i < COUNT; i++) {
        assert_true(narrow[i] == (float)(6 + 3 * i));
        assert_true(wide[i] == 6 + 3 * i + 3 * 0x1p-40);
        for (int r = 0; r < REPLICAS; r++) {
            assert_true(wides[r][i] == r + 1 + i + 0x1p-40);
            assert_int_equal(whole[r][i], 10 * r + i);
        }
    }
}

static void launch(artel__program *program)
{
    artel__buffer *in[REPLICAS][3], *out[REPLICAS][4];
    artel__buffer *const *const arguments[] = {in[0], in[1], in[2]};
    artel__buffer **const results[] = {out[0], out[1], out[2]};
    put_all(in);
    assert_int_equal(artel__program_launch_all(program, arguments, 3, results), ARTEL_OK);
    for (int r = 0; r < REPLICAS; r++) {
        expect_replica(out[r]);
        for (int i = 0; i < 3; i++) artel__buffer_release(t.platform, in[r][i]);
        for (int i = 0; i < 4; i++) artel__buffer_release(t.platform, out[r][i]);
    }
}

static void test_values(void **state)
{
    (void)state;
    artel__text text;
    artel__program *program, *known;
    uint8_t key[2][ARTEL__PROGRAM_KEY];
    static const int others[REPLICAS] = {5, 2, 6};
    write_text(REPLICAS, &text);
    artel__program_source source = {"sums", text.data, text.length, devices, REPLICAS}, other = source;
    other.device = others;
    artel__program_key(t.platform, &source, key[0]);
    artel__program_key(t.platform, &other, key[1]);
    assert_memory_not_equal(key[0], key[1], sizeof key[0]); /* it is not for other devices */
    if (artel__program_obtain(t.platform, &source, &program) < 0) fail_msg("%s", artel_context_error(t.ctx)->what);
    assert_int_equal(artel__program_results(program), 4);
    for (int i = 0; i < 3; i++) launch(program);
    assert_int_equal(artel__program_obtain(t.platform, &source, &known), ARTEL_OK);
    assert_ptr_equal(known, program);
    artel__text_fini(&text);
}

static void test_tried(void **state)
{
    (void)state;
    static const int all[] = {0, 1, 2, 3, 4, 5, 6, 7}, twice[] = {3, 3};
    char why[256];
    for (int n = 2; n <= 8; n++) assert_true(artel__device_sums_try(t.platform, all, n, why));
    assert_true(artel__device_sums_try(t.platform, devices, REPLICAS, why));
    assert_false(artel__device_sums_try(t.platform, twice, 2, why));
    assert_true(why[0] != '\0');
    assert_int_equal(artel_context_error(t.ctx)->status, ARTEL_OK); /* no failure of the run */
}

/* A product and a sum over all replicas, several times; of one replica the product alone. */
static artel__program *make_chain(int replicas)
{
    static const int all[ALL] = {0, 1, 2, 3, 4, 5, 6, 7};
    artel__hlo_type type = {.dtype = ARTEL_DTYPE_FLOAT32, .rank = 2, .dim = {WIDE, WIDE}};
    artel__text text;
    artel__program *out;
    artel__hlo h;
    artel__hlo_init(&h, t.ctx);
    artel__text_init(&text, t.ctx);
    h.replicas = replicas;
    artel__hlo_value start = artel__hlo_argument(&h, &type, -1), x = start;
    artel__hlo_value share = artel__hlo_number(&h, 1.0 / (replicas * WIDE), x);
    for (int i = 0; i < CHAIN; i++) {
        artel__hlo_value product = artel__hlo_dot(&h, x, start, 1, 0);
        x = artel__hlo_binary(&h, "multiply", replicas > 1 ? artel__hlo_all_sum(&h, product) : product, share);
    }
    assert_int_equal(artel__hlo_finish(&h, &x, 1, &text), ARTEL_OK);
    artel__program_source source = {"chain", text.data, text.length, replicas > 1 ? all : NULL,
                                    replicas > 1 ? replicas : 0};
    if (artel__program_compile(t.platform, &source, &out) < 0) fail_msg("%s", artel_context_error(t.ctx)->what);
    artel__text_fini(&text);
    artel__hlo_fini(&h);
    return out;
}

static artel__buffer *put_ones(int device)
{
    float host[WIDE * WIDE];
    artel_shape shape = {.rank = 2, .dim = {WIDE, WIDE}};
    artel__buffer *out;
    for (int i = 0; i < WIDE * WIDE; i++) host[i] = 1;
    assert_int_equal(artel__buffer_put(t.platform, device, ARTEL_DTYPE_FLOAT32, &shape, host, &out), ARTEL_OK);
    return out;
}

static void expect_ones(artel__buffer *buffer)
{
    float host[WIDE * WIDE];
    assert_int_equal(artel__buffer_get(t.platform, buffer, host, sizeof host), ARTEL_OK);
    for (int i = 0; i < WIDE * WIDE; i++) assert_true(host[i] == 1);
}

static void put_in_place(artel__buffer **slot, artel__buffer *buffer)
{
    artel__buffer_release(t.platform, *slot);
    *slot = buffer;
}

/* Launches for all devices wait for each other's replicas on threads of the plug-in: no number of them that is on its
 * way, with whatever else the devices have to do, may use up the threads that the last replica needs. */
static void test_many(void **state)
{
    (void)state;
    artel__program *together = make_chain(ALL), *alone = make_chain(1);
    artel__buffer *x[ALL], *y[ALL], *next[ALL];
    artel__buffer *const *in[ALL];
    artel__buffer **out[ALL];
    for (int d = 0; d < ALL; d++) {
        x[d] = put_ones(d);
        y[d] = put_ones(d);
        in[d] = &x[d];
        out[d] = &next[d];
    }
    for (int i = 0; i < LAUNCHES; i++) {
        for (int d = 0; d < ALL; d++) { /* of some devices more than of others */
            for (int k = 0; k < (i + d) % 3; k++) {
                artel__buffer *made;
                assert_int_equal(artel__program_launch(alone, d, &y[d], 1, &made), ARTEL_OK);
                put_in_place(&y[d], made);
            }
        }
        assert_int_equal(artel__program_launch_all(together, in, 1, out), ARTEL_OK);
        for (int d = 0; d < ALL; d++) put_in_place(&x[d], next[d]);
    }
    for (int d = 0; d < ALL; d++) {
        expect_ones(x[d]);
        expect_ones(y[d]);
        artel__buffer_release(t.platform, x[d]);
        artel__buffer_release(t.platform, y[d]);
    }
    artel__program_release(together);
    artel__program_release(alone);
}

static void compile_for(const char *kind, const char *file, const char *target)
{
    static const int four[] = {0, 1, 2, 3};
    artel__text text;
    artel__program *program;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", getenv("ARTEL_TEST_PJRT"), file);
    FILE *there = fopen(path, "rb");
    if (!there) return;
    fclose(there);
    artel__platform *here = t.platform;
    if (artel__platform_open_target(t.ctx, &(artel__plugin){kind, path}, target, &t.platform) < 0)
        fail_msg("%s: %s", target, artel_context_error(t.ctx)->what);
    write_text(4, &text);
    if (artel__program_compile(t.platform, &(artel__program_source){target, text.data, text.length, four, 4},
                               &program) < 0)
        fail_msg("%s: %s", target, artel_context_error(t.ctx)->what);
    assert_int_equal(artel__program_results(program), 4);
    artel__program_release(program);
    artel__text_fini(&text);
    artel__platform_close(t.platform);
    t.platform = here;
}

static void test_targets(void **state)
{
    (void)state;
    if (!getenv("ARTEL_TEST_PJRT")) return;
    compile_for("cuda", "jax_plugins/xla_cuda12/xla_cuda_plugin.so", "h100");
    compile_for("tpu", "libtpu/libtpu.so", "v5e:2x2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_tried),
                                       cmocka_unit_test(test_many), cmocka_unit_test(test_targets)};
    int failed = device_open(8, &t.ctx, &t.arena, &t.platform);
    if (!failed) {
        failed = cmocka_run_group_tests(tests, NULL, NULL);
        device_close(t.ctx, &t.arena, t.platform);
    }
    return failed;
}
