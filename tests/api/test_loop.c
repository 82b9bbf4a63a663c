/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 120 */
/* A loop by hand, saved and taken up on other replicas: five units and five more are ten. On processors beside XLA's
 * plug-in for the CPU, and in the fast class of four devices, where it is installed, likewise, near the same loop on
 * processors. */
#include <math.h>

#include "api/help_api.h"
#include "artel/strategy.h"
#include "artel/values.h"

static artel_status one_run(void *user, int64_t unit)
{
    artel_function *step = user;
    float x[3] = {(float)unit, 1, 2};
    const artel_array in = {ARTEL_DTYPE_FLOAT32, {1, {3}}, x};
    return artel_function_run(step, &in, 1, NULL, 0);
}

typedef struct pair {
    artel_variable *w;
    artel_optimizer *optimizer;
} pair;

static artel_status trace_run(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    pair *p = user;
    artel_value noise = artel_graph_normal(g, in[0], &(artel_shape){0, {0}}, 0.1); /* by the number of the run */
    artel_value away =
        artel_graph_binary(g, "subtract", artel_graph_variable(g, p->w), artel_graph_binary(g, "add", in[0], noise));
    (void)out;
    artel_graph_minimise(g, p->optimizer,
                         artel_graph_reduce(g, ARTEL_REDUCTION_MEAN, artel_graph_unary(g, "square", away)));
    return artel_graph_status(g);
}

static float loop(artel_context *ctx, const char *folder, int replicas, const char *device, int64_t units)
{
    pair p;
    int64_t step = -2;
    float w;
    artel_function *function;
    artel_strategy *strategy;
    const artel_argument x = {.name = "x"};
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
    artel_function_options f = ARTEL_FUNCTION_OPTIONS_INIT;
    o.strategy = replicas > 1 ? "mirrored" : "one-device";
    o.replicas = replicas;
    o.device = device;
    o.allow_mixed_arithmetic = device != NULL;
    o.device_reduce = replicas > 3 ? "fast" : NULL;
    api_ok(ctx, artel_strategy_create(ctx, &o, &strategy));
    v.name = "w";
    api_ok(ctx, artel_variable_create(strategy, &v, &p.w));
    api_ok(ctx, artel_optimizer_create(strategy, "adam", &p.w, 1, &p.optimizer));
    f.arguments = &x;
    f.argument_count = 1;
    api_ok(ctx, artel_function_create(strategy, &f, trace_run, &p, &function));
    api_ok(ctx, artel_strategy_restore(strategy, folder, &step));
    assert_int_equal(step, units == 10 && step >= 0 ? 5 : -1);
    api_ok(ctx, artel_strategy_loop(strategy, units, one_run, function));
    api_ok(ctx, artel_strategy_save(strategy, folder, artel_strategy_units(strategy), 1));
    api_ok(ctx, artel_variable_read(p.w, &w, 1));
    artel_strategy_destroy(strategy);
    return w;
}

static void test_loop_by_hand(void **state)
{
    char whole[64], parts[64];
    artel_context *ctx = api_context();
    (void)state;
    api_folder_make(whole);
    api_folder_make(parts);
    float truth = loop(ctx, whole, 1, NULL, 10), half = loop(ctx, parts, 1, NULL, 5),
          rest = loop(ctx, parts, 3, NULL, 10);
    assert_memory_equal(&rest, &truth, sizeof truth);
    assert_memory_not_equal(&half, &truth, sizeof truth);
    artel_context_destroy(ctx);
    api_folder_remove(whole);
    api_folder_remove(parts);
}

static artel_status make_number(void *user, const artel_value_context *context, void *elements)
{
    (void)user;
    *(float *)elements = (float)context->id;
    return ARTEL_OK;
}

static bool has_plugin(artel_context *ctx)
{
    artel_strategy *strategy;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    o.device = "cpu:xla";
    bool has = artel_strategy_create(ctx, &o, &strategy) == ARTEL_OK;
    if (has) artel_strategy_destroy(strategy);
    return has;
}

/* Values by replica follow the shares: of four shards three are the first one's. */
static void check_shares(artel_context *ctx)
{
    artel_strategy *strategy;
    artel_values *values;
    artel_array rows;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    artel_values_options v = ARTEL_VALUES_OPTIONS_INIT;
    o.strategy = "mirrored";
    o.replicas = 2;
    o.device = "cpu:xla:0*3,cpu";
    o.allow_mixed_arithmetic = true;
    o.shards = 4;
    o.batch_size = 8;
    api_ok(ctx, artel_strategy_create(ctx, &o, &strategy));
    v.make = make_number;
    api_ok(ctx, artel_values_create(strategy, &v, &values));
    api_ok(ctx, artel_values_rows(values, 8, &rows));
    for (int r = 0; r < 8; r++) assert_true(((const float *)rows.data)[r] == (r < 6 ? 0 : 1));
    artel_strategy_destroy(strategy);
}

static void test_devices(void **state)
{
    static const char *const device[] = {"cpu,cpu:xla:0", "cpu:xla:0*3,cpu",
                                         "cpu:xla:0,cpu:xla:1,cpu:xla:2,cpu:xla:3"}; /* the last: sums by the plug-in */
    static const int replicas[] = {2, 2, 4};
    artel_context *ctx = api_context();
    (void)state;
    for (int i = 0; i < 3 && has_plugin(ctx); i++) {
        char whole[64], parts[64], cores[64];
        api_folder_make(whole);
        api_folder_make(parts);
        api_folder_make(cores);
        float truth = loop(ctx, whole, replicas[i], device[i], 10), rest, near = loop(ctx, cores, 2, NULL, 10);
        loop(ctx, parts, replicas[i], device[i], 5);
        rest = loop(ctx, parts, replicas[i], device[i], 10);
        assert_memory_equal(&rest, &truth, sizeof truth);
        assert_true(fabsf(near - truth) < 1e-5F);
        api_folder_remove(whole);
        api_folder_remove(parts);
        api_folder_remove(cores);
    }
    if (has_plugin(ctx)) check_shares(ctx);
    artel_context_destroy(ctx);
}

static void test_refused(void **state)
{
    artel_context *ctx = api_context();
    artel_strategy *strategy;
    artel_strategy_options o = ARTEL_STRATEGY_OPTIONS_INIT;
    (void)state;
    o.device = "cpu,cpu:xla:0";
    assert_int_equal(artel_strategy_create(ctx, &o, &strategy), ARTEL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(artel_context_error(ctx)->what, "do not compute together"));
    o.allow_mixed_arithmetic = true;
    o.strategy = "one-device";
    if (has_plugin(ctx)) {
        assert_int_equal(artel_strategy_create(ctx, &o, &strategy), ARTEL_ERROR_UNSUPPORTED);
        assert_non_null(strstr(artel_context_error(ctx)->what, "a replica each"));
    }
    artel_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loop_by_hand), cmocka_unit_test(test_devices),
                                       cmocka_unit_test(test_refused)};
    setenv("TF_CPP_MIN_LOG_LEVEL", "3", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
