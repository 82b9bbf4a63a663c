/* SPDX-License-Identifier: Apache-2.0 */
/* timeout: 300 */
/* What tf.distribute promises of a strategy, one test a row of its semantics, under every strategy of one process, on
 * processors and on a device: the same values, and the same bits. Each test is named by the row: ST strategies, VA
 * variables; of models (VA9, IN6, KE3): test_conformance_models.c. Rows that have no counterpart here:
 * docs/tf-distribute.md.
 *
 * Given a number of tasks, it is one of so many (test_conformance_tasks.sh): multi-worker, and the bits of one process.
 * Given "servers" and a file, it is a chief, a worker or a server of closures, as each run is; the server makes the
 * file when it is through. */
#include "api/help_conformance_rows.h"

#include <math.h>

#include "artel/control.h"
#include "artel/extend.h"

/* -- ST1, ST2, ST10: a strategy owns what is made from it; without any there is a default one; replicas in sync -- */

static artel_variable *foreign;

static artel_status trace_foreign(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user, (void)in;
    out[0] = artel_graph_variable(g, foreign);
    return artel_graph_status(g);
}

static void ST1_scope(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage one = rows_begin(&conformance_forms[f]), two = rows_begin(&conformance_forms[f]);
        artel_variable_options again = ARTEL_VARIABLE_OPTIONS_INIT;
        rows_add_variable(&one, "v", NULL);
        rows_add_variable(&two, "v", NULL);
        foreign = one.variable;
        rows_refused(&two, trace_foreign, "another strategy");
        artel_optimizer *optimizer;
        assert_int_equal(artel_optimizer_create(two.strategy, "sgd", &one.variable, 1, &optimizer),
                         ARTEL_ERROR_INVALID);
        again.name = "v";
        assert_int_equal(artel_variable_create(one.strategy, &again, &foreign), ARTEL_ERROR_INVALID);
        rows_end(&one);
        rows_end(&two);
    }
}

/* A second strategy beside the first, with variables of the same name: each keeps its own. Over parameter servers each
 * would need the cluster for itself. */
static void ST1_two_at_once(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        const conformance_form *other =
            &conformance_forms[conformance_forms[f].together ? f : conformance_count - 1 - f];
        if (conformance_has_servers(&conformance_forms[f]) || other->together != conformance_forms[f].together)
            continue;
        rows_stage one = rows_begin(&conformance_forms[f]), two = rows_begin(other);
        artel_function *first, *second;
        const float start[2] = {1, -2};
        rows_add_variable(&one, "total", &start[0]);
        rows_add_variable(&two, "total", &start[1]);
        api_ok(one.ctx, rows_make(&one, rows_trace_total, 1, false, &first));
        api_ok(two.ctx, rows_make(&two, rows_trace_total, 1, false, &second));
        const float by = 11.5f; /* the sum of all numbers of a batch: eighths, so exact in any order */
        assert_true(rows_step_total(&one, first) == start[0] + by);
        for (int i = 1; i < 4; i++) {
            assert_true(rows_step_total(&two, second) == start[1] + by * (float)i);
            assert_true(rows_step_total(&one, first) == start[0] + by * (float)(i + 1));
        }
        rows_end(&two);
        assert_true(rows_step_total(&one, first) == start[0] + 5 * by);
        rows_end(&one);
    }
}

static void ST2_default_and_ST10_replicas(void **state)
{
    (void)state;
    artel_context *ctx = api_context();
    artel_strategy *s;
    api_ok(ctx, artel_strategy_create(ctx, NULL, &s));
    assert_true(artel_strategy_replicas(s) >= 1);
    artel_strategy_destroy(s);
    artel_context_destroy(ctx);
    for (int f = 0; f < conformance_count; f++) {
        rows_stage one = rows_begin(&conformance_forms[f]);
        assert_string_equal(artel_strategy_name(one.strategy), conformance_forms[f].resolved);
        int replicas = conformance_forms[f].replicas ? conformance_forms[f].replicas : 1;
        assert_int_equal(artel_strategy_replicas(one.strategy),
                         one.on.form->together ? replicas * conformance_tasks : replicas);
        rows_end(&one);
    }
}

/* -- ST3, ST5, ST8, ST9: each row is computed once, by whoever has it, and comes back in its place; tracing happens
 * once -- */

static void ST3_run_ST5_gather_ST8_distribute_ST9_results(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        artel_function *function;
        float y[BATCH * WIDTH];
        api_ok(s.ctx, rows_make(&s, rows_trace_squares, 1, false, &function));
        if (!conformance_start(&s.on)) {
            rows_end(&s);
            continue;
        }
        for (int rows = BATCH; rows > 0; rows -= 5) {
            memset(y, 0, sizeof y);
            rows_run(&s, function, rows, (float *[]){y}, 1);
            for (int i = 0; i < BATCH * WIDTH; i++)
                assert_true(y[i] == (i < rows * WIDTH ? rows_of[i] * rows_of[i] : 0));
        }
        assert_int_equal(s.traces, 1);
        rows_end(&s);
    }
}

/* -- ST4, ST6: reductions over all rows, exact for uneven batches, and their gradients -- */

static artel_status trace_reductions(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    (void)user;
    const artel_reduction all[] = {ARTEL_REDUCTION_SUM, ARTEL_REDUCTION_MEAN, ARTEL_REDUCTION_MIN, ARTEL_REDUCTION_MAX};
    for (int i = 0; i < 4; i++) out[i] = artel_graph_reduce(g, all[i], in[0]);
    artel_value whole = artel_graph_op(g, "mean", &out[1], 1, "{\"axis\": 0}"); /* over an axis of the row, too */
    out[4] = whole;
    artel_graph_gradients(g, artel_graph_unary(g, "square", out[0]), in, 1, &out[5]);
    return artel_graph_gradients(g, out[1], in, 1, &out[6]);
}

static void ST4_reduce_ST6_all_reduce(void **state)
{
    (void)state;
    float first[4 * WIDTH + 1];
    for (int rows = 1; rows <= BATCH; rows += rows == 1 ? 5 : 10) { /* 1, 6, 16 */
        for (int f = 0; f < conformance_count; f++) {
            rows_stage s = rows_begin(&conformance_forms[f]);
            artel_function *function;
            float got[4 * WIDTH + 1], by_sum[BATCH * WIDTH], by_mean[BATCH * WIDTH];
            api_ok(s.ctx, rows_make(&s, trace_reductions, 7, false, &function));
            if (!conformance_start(&s.on)) {
                rows_end(&s);
                continue;
            }
            rows_run(&s, function, rows, (float *[]){got, got + 3, got + 6, got + 9, got + 12, by_sum, by_mean}, 7);
            double whole = 0;
            for (int c = 0; c < WIDTH; c++) {
                double sum = 0;
                float least = INFINITY, most = -INFINITY;
                for (int i = 0; i < rows; i++) {
                    float x = rows_of[i * WIDTH + c];
                    sum += x;
                    least = fminf(least, x);
                    most = fmaxf(most, x);
                }
                assert_true(got[c] == (float)sum && fabs(got[WIDTH + c] - sum / rows) < 1e-6); /* eighths: exact */
                whole += sum / rows / WIDTH;
                if (got[2 * WIDTH + c] != least || got[3 * WIDTH + c] != most)
                    fail_msg("form %d, %d rows: %g to %g, not %g to %g", f, rows, (double)got[2 * WIDTH + c],
                             (double)got[3 * WIDTH + c], (double)least, (double)most);
                for (int i = 0; i < rows; i++) {
                    assert_true(by_sum[i * WIDTH + c] == 2 * (float)sum);
                    assert_true(fabs(by_mean[i * WIDTH + c] - 1.0 / rows) < 1e-7);
                }
            }
            assert_true(fabs(got[4 * WIDTH] - whole) < 1e-6);
            if (conformance_leads(f)) memcpy(first, got, sizeof first);
            assert_memory_equal(first, got, sizeof first);
            rows_end(&s);
        }
    }
}

/* -- ST6: of a table that rows look into a gradient is sparse; it comes beside a dense one, each the sum over all rows
 * --
 */

enum {
    TABLE = 5
};

static artel_status trace_sparse(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    artel_variable *const *pair = user; /* a table, and a row of as many numbers */
    artel_value wanted[2] = {artel_graph_variable(g, pair[0]), artel_graph_variable(g, pair[1])};
    artel_value found = artel_graph_op(g, "take", (artel_value[]){wanted[0], in[1]}, 2, "{\"axis\": 0}");
    artel_value sum = artel_graph_binary(g, "add", found, wanted[1]);
    artel_value each = artel_graph_binary(g, "multiply", in[0], sum);
    each = artel_graph_op(g, "sum", &each, 1, "{\"axis\": 1}");
    return artel_graph_gradients(g, artel_graph_reduce(g, ARTEL_REDUCTION_SUM, each), wanted, 2, out);
}

static void check_sparse(rows_stage *s, artel_function *f, int rows)
{
    int32_t place[BATCH];
    float sparse[TABLE * WIDTH], dense[WIDTH], all[TABLE * WIDTH] = {0}, total[WIDTH] = {0};
    const artel_array in[2] = {{ARTEL_DTYPE_FLOAT32, {2, {rows, WIDTH}}, rows_of},
                               {ARTEL_DTYPE_INT32, {1, {rows}}, place}},
                      out[2] = {{.dtype = ARTEL_DTYPE_FLOAT32, .data = sparse},
                                {.dtype = ARTEL_DTYPE_FLOAT32, .data = dense}};
    for (int i = 0; i < BATCH * WIDTH; i++) rows_of[i] = (float)(i * 37 % 53) / 8 - 3;
    for (int i = 0; i < BATCH; i++) place[i] = i * i % TABLE; /* 0, 1 and 4: others have no gradient */
    for (int i = 0; i < rows * WIDTH; i++) {
        all[place[i / WIDTH] * WIDTH + i % WIDTH] += rows_of[i];
        total[i % WIDTH] += rows_of[i];
    }
    api_ok(s->ctx, conformance_run(&s->on, f, in, 2, out, 2));
    for (int i = 0; i < TABLE * WIDTH; i++) assert_true(sparse[i] == all[i]);
    for (int i = 0; i < WIDTH; i++) assert_true(dense[i] == total[i]);
}

static void ST6_sparse_and_dense(void **state)
{
    const artel_argument arguments[2] = {{.name = "x", .shape = {1, {WIDTH}}},
                                         {"place", ARTEL_DTYPE_INT32, false, {0, {0}}}};
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        artel_variable *pair[2];
        artel_variable_options v = ARTEL_VARIABLE_OPTIONS_INIT;
        artel_function_options o = ARTEL_FUNCTION_OPTIONS_INIT;
        artel_function *function;
        v.name = "table";
        v.shape = (artel_shape){2, {TABLE, WIDTH}};
        api_ok(s.ctx, artel_variable_create(s.strategy, &v, &pair[0]));
        v.name = "row";
        v.shape = (artel_shape){1, {WIDTH}};
        api_ok(s.ctx, artel_variable_create(s.strategy, &v, &pair[1]));
        o.arguments = arguments;
        o.argument_count = o.output_count = 2;
        api_ok(s.ctx, artel_function_create(s.strategy, &o, trace_sparse, pair, &function));
        bool here = conformance_start(&s.on);
        for (int rows = BATCH; rows > 0 && here; rows -= 5) check_sparse(&s, function, rows);
        rows_end(&s);
    }
}

/* -- ST7, VA1, VA2, VA3: what all replicas have computed is written on all; totals do not depend on their number -- */

/* NAN: this task only serves. */
static float total_after(const conformance_form *f, int runs, float initial)
{
    rows_stage s = rows_begin(f);
    artel_function *function;
    float before, value;
    rows_add_variable(&s, "total", &initial);
    api_ok(s.ctx, rows_make(&s, rows_trace_total, 1, false, &function));
    if (!conformance_start(&s.on)) {
        rows_end(&s);
        return NAN;
    }
    for (int i = 0; i < runs; i++) {
        float expected;
        api_ok(s.ctx, artel_variable_read(s.variable, &expected, 1));
        rows_run(&s, function, 11, (float *[]){&before}, 1);
        assert_true(before == expected); /* the value from before the run */
    }
    api_ok(s.ctx, artel_variable_read(s.variable, &value, 1));
    rows_end(&s);
    return value;
}

static void ST7_update_VA1_mirrored_VA2_on_read_VA3_restore(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        float half = total_after(&conformance_forms[f], 3, 0.125f), all = total_after(&conformance_forms[f], 6, 0.125f);
        if (isnan(half)) continue; /* the other form is the one that makes its runs itself */
        float rest = total_after(&conformance_forms[conformance_count - 1 - f], 3, half);
        assert_true(half == 0.125f + 3 * 11 && all == 0.125f + 6 * 11); /* 11 are the numbers of 11 rows together */
        assert_true(rest == all || isnan(rest));                        /* saved by some replicas, restored by others */
    }
}

/* -- ST13: random numbers differ from row to row and run to run, and are those of the run's number -- */

static artel_status trace_random(void *user, artel_graph *g, const artel_value *in, artel_value *out)
{
    rows_stage *s = user;
    out[0] = artel_graph_uniform(g, in[0], &(artel_shape){0}, 0, 1, false);
    artel_graph_assign(g, s->variable, artel_graph_number(g, 0)); /* runs that write count */
    return artel_graph_status(g);
}

static void ST13_random(void **state)
{
    (void)state;
    float first[2 * BATCH], got[BATCH];
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        artel_function *function;
        rows_add_variable(&s, "v", NULL);
        api_ok(s.ctx, rows_make(&s, trace_random, 1, true, &function));
        if (!conformance_start(&s.on)) {
            rows_end(&s);
            continue;
        }
        for (int n = 0; n < 3; n++) {
            if (n == 2) api_ok(s.ctx, artel_strategy_set_runs(s.strategy, 0)); /* restored */
            rows_run(&s, function, BATCH, (float *[]){got}, 1);
            if (f == 0 && n < 2) memcpy(first + n * BATCH, got, sizeof got);
            assert_memory_equal(first + n % 2 * BATCH, got, sizeof got);
        }
        rows_end(&s);
    }
    for (int i = 0; i < 2 * BATCH; i++) { /* a number of its own for each row of each run */
        assert_true(first[i] >= 0 && first[i] < 1);
        for (int k = 0; k < i; k++) assert_true(first[i] != first[k]);
    }
}

/* -- VA4: a variable that cannot be is refused by its name -- */

static void VA4_invalid_variables(void **state)
{
    (void)state;
    for (int f = 0; f < conformance_count; f++) {
        rows_stage s = rows_begin(&conformance_forms[f]);
        artel_variable_options o = ARTEL_VARIABLE_OPTIONS_INIT;
        for (int k = 0; k < 2; k++) {
            o.name = k ? "wide" : "whole";
            o.dtype = k ? ARTEL_DTYPE_FLOAT64 : ARTEL_DTYPE_UINT64;
            artel_status status = artel_variable_create(s.strategy, &o, &s.variable);
            if (k && !conformance_has_servers(&conformance_forms[f])) { /* servers keep float32 alone */
                api_ok(s.ctx, status);
                continue;
            }
            const artel_error *error = artel_context_error(s.ctx);
            assert_int_equal(status, ARTEL_ERROR_UNSUPPORTED);
            assert_true(strstr(error->where, o.name) || strstr(error->what, o.name));
        }
        rows_end(&s);
    }
}

int main(int argc, char **argv)
{
    conformance_open(argc, argv);
    const struct CMUnitTest rows[] = {cmocka_unit_test(ST1_scope),
                                      cmocka_unit_test(ST1_two_at_once),
                                      cmocka_unit_test(ST2_default_and_ST10_replicas),
                                      cmocka_unit_test(ST3_run_ST5_gather_ST8_distribute_ST9_results),
                                      cmocka_unit_test(ST4_reduce_ST6_all_reduce),
                                      cmocka_unit_test(ST6_sparse_and_dense),
                                      cmocka_unit_test(ST7_update_VA1_mirrored_VA2_on_read_VA3_restore),
                                      cmocka_unit_test(ST13_random),
                                      cmocka_unit_test(VA4_invalid_variables)};
    return conformance_close(cmocka_run_group_tests(rows, NULL, NULL));
}
